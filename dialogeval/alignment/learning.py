"""Values learned from two parallel corpora: names of venues and dishes, which no file of ours translates."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd

from ..exceptions import UsageError
from ..tables import Corpus
from .converters import TABLE_KINDS, value_key
from .mapping import map_states
from .table import Alignment

__all__ = ["learn_values"]


def learn_values(alignment: Alignment, source: Corpus, target: Corpus) -> Alignment:
    """Add value pairs to an alignment that two parallel corpora agree on.

    Values of aligned slots in the same dialogue and turn are pairs. A value that the alignment does
    not map yet takes the target value that it stands beside more than half of the time.

    Parameters
    ----------
    alignment : Alignment
        Of one step.
    source, target : Corpus
        The same dialogues and turns in the two ontologies, such as multiwoz21 and multiwoz_zh.

    Returns
    -------
    Alignment
        Its name ends in ``+learned``; its checksum is another.

    Raises
    ------
    UsageError
        A composed alignment, or corpora that share no turn.

    Examples
    --------
    >>> from dialogeval import table
    >>> from dialogeval.alignment import load_alignment, map_states
    >>> zh = Corpus("zh", states=table("states", [("d", 0, "酒店", "名称", "北京饭店")]))
    >>> en = Corpus("en", states=table("states", [("d", 0, "Hotel", "name", "Beijing Hotel")]))
    >>> learned = learn_values(load_alignment("crosswoz__crosswoz_en"), zh, en)
    >>> learned.name, map_states(zh.states, learned)[0]["value"].tolist()
    ('crosswoz__crosswoz_en+learned', ['Beijing Hotel'])
    """
    if len(alignment.hops) != 1:
        mend = "learn on a step and compose afterwards"
        got = f"{len(alignment.hops)} steps"
        raise UsageError("cannot learn values", expected="an alignment of one step", got=got, mend=mend)
    hop = alignment.hops[0]
    named, _ = map_states(source.states, alignment, "names")
    _, unmapped = map_states(source.states, alignment)
    pairs = named.merge(target.states, on=["dialogue_id", "turn", "domain", "slot"], suffixes=("", "_target"))
    if len(source.states) and not len(pairs):
        got = f"{source.id} and {target.id}"
        raise UsageError("no slot is filled in both corpora", got=got, mend="give parallel corpora")
    pairs = pairs[pairs["row"].isin(unmapped.loc[unmapped["reason"] == "value", "row"])]
    # The same name of a venue may fill any slot that shares the table: they are learned together.
    tables = {}
    for row in hop.rows.to_dict("records"):
        kind, _, name = row["converter"].partition(":")
        if row["converter"] == "open" or kind in TABLE_KINDS[:2]:
            place = (row["target_domain"], row["target_slot"])
            tables[place] = "open" if row["converter"] == "open" else name
    known = pd.Series(
        [tables.get(p, "") for p in zip(pairs["domain"], pairs["slot"], strict=True)], dtype="str"
    )
    keys = pairs["value"].map(value_key)
    pairs = pairs.assign(table=known.to_numpy(), key=keys)[known.to_numpy() != ""]
    counts = pairs.groupby(["table", "key", "value_target"], sort=False).size().rename("n").reset_index()
    counts["share"] = counts["n"] / counts.groupby(["table", "key"])["n"].transform("sum")
    winners = counts[(counts["share"] > 0.5) & counts["value_target"].ne("")]
    winners = winners.sort_values(["table", "n", "key"], ascending=[True, False, True])
    spelled = pairs.drop_duplicates(["table", "key"]).set_index(["table", "key"])["value"]
    values = dict(hop.values)
    for name, group in winners.groupby("table"):
        learned = [
            (str(spelled[name, key]).strip(), v)
            for key, v in zip(group["key"], group["value_target"], strict=True)
        ]
        values[str(name)] = (*values.get(str(name), ()), *(p for p in learned if p[0]))
    name = alignment.name if alignment.name.endswith("+learned") else f"{alignment.name}+learned"
    return replace(alignment, name=name, hops=(replace(hop, values=values),))

"""Gold versions: the same dialogues have several published gold states.

In: a corpus. Out: a `Gold`, the states that count as right, further values that count as right
too, and how many slots each layout knows. A protocol names the version it uses.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import pandas as pd

from .exceptions import UsageError
from .normalize import normalize_states, own_steps
from .tables import Corpus

__all__ = [
    "ENGLISH_MULTIWOZ",
    "GOLDS",
    "Gold",
    "accept_alternatives",
    "gold_of",
    "in_layout",
    "in_version",
    "lay_out",
]

_WHERE = ["dialogue_id", "turn", "domain", "slot"]
_SLOT = ["domain", "slot"]
#: Domains that DSTC9's scorer leaves out of MultiWOZ-zh: police, hospital, bus.
_DSTC9_LEFT_OUT = ("警察机关", "医院", "公共汽车")
#: Domains of MultiWOZ with the 30 slots that TRADE and its successors count.
_TRADE_DOMAINS = frozenset({"attraction", "hotel", "restaurant", "taxi", "train"})
ENGLISH_MULTIWOZ = _TRADE_DOMAINS | {"bus", "hospital", "police"}


@dataclass(frozen=True)
class Gold:
    """What counts as right.

    Parameters
    ----------
    states : pandas.DataFrame
        One value a slot (or several, for a corpus whose states are sets of values).
    alternatives : pandas.DataFrame
        Further values that count as right; same columns.
    layouts : pandas.DataFrame
        layout, domain, slot: the slots that are compared in turns of that layout.
    parts : bool
        Whether a predicted ``a|b`` is right if one of its parts is.
    """

    states: pd.DataFrame
    alternatives: pd.DataFrame
    layouts: pd.DataFrame
    parts: bool = False


def annotated(corpus: Corpus) -> Gold:
    """The states as annotated; alternatives where a filled slot has several acceptable values."""
    offered = corpus.family == "crosswoz"
    return Gold(corpus.states, corpus.alternatives[:0] if offered else corpus.alternatives, corpus.layouts)


def dstc9(corpus: Corpus) -> Gold:
    """DSTC9's gold: any offered name is right where none is stated; some domains are left out."""
    # A file's own gold says it by what it annotates, which in a piece of the file may be nothing.
    known = len(corpus.layouts) and "slots" not in corpus.cautions
    if not known and corpus.family != "pairs":
        raise UsageError(
            f"{corpus.id} does not say which slots are annotated, which DSTC9's scorer needs",
            mend="score against the corpus itself, such as crosswoz_en or multiwoz_zh",
        )
    firsts = corpus.alternatives.drop_duplicates(_WHERE)
    states = pd.concat([corpus.states, firsts], ignore_index=True)
    return _without_domains(Gold(states, corpus.alternatives, corpus.layouts))


def dstc9_corrected(corpus: Corpus) -> Gold:
    """The organisers' later gold: a name that is not stated is the one entity offered before."""
    if corpus.family != "crosswoz":
        raise UsageError(
            f"{corpus.id} has no corrected names",
            mend="protocol dstc9-corrected is for crosswoz and crosswoz_en",
        )
    states = pd.concat([corpus.states, corpus.corrections], ignore_index=True)
    return _without_domains(Gold(states, corpus.alternatives[:0], corpus.layouts))


def mwzeval(corpus: Corpus) -> Gold:
    """One value a slot, and none that says that anything will do: so MultiWOZ_Evaluation reads its gold."""
    states = normalize_states(corpus.states, ("none:drop", "dontcare:drop"))
    return Gold(states, corpus.alternatives[:0], corpus.layouts)


def bars(corpus: Corpus) -> Gold:
    """The states as annotated, where any part of ``a|b`` matches any; all slots that gold lists."""
    plain = annotated(corpus)
    alternatives = pd.concat([_split(corpus.states), plain.alternatives], ignore_index=True)
    layouts = plain.layouts
    listed = corpus.turns["layout"].map(layouts.groupby("layout").size()).sum()
    # A corpus that lists no slot without a value says nothing about empty slots: its ontology does.
    # (What a file's own gold lists is all there is; a schema lists slots, but no state does.)
    fills_all = listed == len(corpus.states.drop_duplicates(_WHERE)) and corpus.family != "pairs"
    if fills_all or corpus.family == "schema_guided":
        known = pd.concat([layouts[_SLOT], corpus.ontology[_SLOT], corpus.states[_SLOT]])
        layouts = _everywhere(corpus, known)
    return Gold(plain.states, alternatives, layouts, parts=True)


def frames(corpus: Corpus) -> Gold:
    """The states of the services that a turn has; free text may be said in any of the ways listed."""
    if not len(corpus.schema):
        raise UsageError(
            f"{corpus.id} has no schema, which says what slots a service has and which are categorical",
            mend="protocol sgd is for the schema-guided format, with schema.json beside the dialogues",
        )
    free = corpus.schema.loc[corpus.schema["kind"] == "free", _SLOT]
    states, others = (
        in_layout(f, corpus.turns, corpus.layouts) for f in (corpus.states, corpus.alternatives)
    )
    return Gold(states, others.merge(free, on=_SLOT), corpus.layouts)


#: Gold versions by the name that signatures use.
GOLDS: dict[str, Callable[[Corpus], Gold]] = {
    "annotated": annotated,
    "dstc9": dstc9,
    "dstc9-corrected": dstc9_corrected,
    "bars": bars,
    "mwzeval": mwzeval,
    "frames": frames,
}


def gold_of(corpus: Corpus, version: str, steps: tuple[str, ...]) -> Gold:
    """Return a gold version with its values normalised.

    Parameters
    ----------
    corpus : Corpus
    version : str
        A key of `GOLDS`.
    steps : tuple of str
        Normalisation of values and slot names.

    Returns
    -------
    Gold

    Raises
    ------
    UsageError
        The corpus does not have this version.

    Examples
    --------
    >>> from dialogeval.tables import Corpus
    >>> len(gold_of(Corpus("toy"), "annotated", ()).states)
    0
    """
    gold, steps = GOLDS[version](corpus), own_steps(steps, corpus.family)
    return replace(
        gold,
        states=normalize_states(gold.states, steps),
        alternatives=normalize_states(gold.alternatives, steps)
        if len(gold.alternatives)
        else gold.alternatives,
        layouts=_rename_slots(gold.layouts, [s for s in steps if s.startswith("slots:")]),
    )


def in_version(corpus: Corpus, version: str) -> Corpus:
    """Return the corpus with the states of a gold version; of several acceptable values the first.

    Parameters
    ----------
    corpus : Corpus
    version : str
        A key of `GOLDS`.

    Returns
    -------
    Corpus

    Raises
    ------
    UsageError
        The corpus does not have this version.

    Examples
    --------
    >>> in_version(Corpus("toy"), "annotated").id
    'toy/all@unknown'
    """
    # The others say what is compared and how; their states are those of the annotation.
    own_states = version.startswith("dstc9") or version == "mwzeval"
    return replace(corpus, states=GOLDS[version](corpus).states) if own_states else corpus


def accept_alternatives(gold: Gold, predicted: pd.DataFrame) -> pd.DataFrame:
    """Replace a predicted value by the first gold value of its slot where it is an alternative of that.

    Parameters
    ----------
    gold : Gold
    predicted : pandas.DataFrame
        Normalised.

    Returns
    -------
    pandas.DataFrame
        After this, equality of triples is the test for being right.

    Examples
    --------
    >>> row = lambda v: pd.DataFrame([("d", 0, "hotel", "area", v)], columns=[*_WHERE, "value"])
    >>> gold = Gold(row("north"), row("the north"), pd.DataFrame())
    >>> accept_alternatives(gold, row("the north"))["value"].tolist()
    ['north']
    """
    if not len(gold.alternatives):
        return predicted
    firsts = gold.states.drop_duplicates(_WHERE).rename(columns={"value": "first"})
    accepted = gold.alternatives.merge(firsts, on=_WHERE).drop_duplicates([*_WHERE, "value"])
    said = predicted.assign(row=range(len(predicted)))
    said = _split(said) if gold.parts else said
    hits = said.merge(accepted, on=[*_WHERE, "value"]).drop_duplicates("row").set_index("row")["first"]
    value = predicted["value"].reset_index(drop=True)
    value.update(hits)
    return predicted.assign(value=value.to_numpy())


def ontology_size(corpus: Corpus) -> int:
    """Return the number of slots for TRADE's slot accuracy.

    Parameters
    ----------
    corpus : Corpus

    Returns
    -------
    int
        30 for MultiWOZ in English, as published; else the slots that the annotation knows.
    """
    slots = corpus.layouts[_SLOT].drop_duplicates()
    domains = set(slots["domain"]) | set(corpus.states["domain"].unique())
    return 30 if domains and domains <= ENGLISH_MULTIWOZ else len(slots)


def lay_out(corpus: Corpus) -> Corpus:
    """Give a corpus that does not say which slots there are those of its ontology and gold states.

    Parameters
    ----------
    corpus : Corpus

    Returns
    -------
    Corpus
        With ``layouts``; without an ontology, a caution says that they are what gold fills.

    Examples
    --------
    >>> from dialogeval.tables import table
    >>> corpus = Corpus("toy", turns=table("turns", [("d", 0, "", "", 0)]),
    ...                 states=table("states", [("d", 0, "cafe", "area", "north")]))
    >>> lay_out(corpus).layouts.values.tolist()
    [[0, 'cafe', 'area']]
    """
    if len(corpus.layouts) or corpus.family == "pairs":
        return corpus
    known = pd.concat([corpus.ontology[_SLOT], corpus.states[_SLOT]]).drop_duplicates()
    cautions = dict(corpus.cautions)
    if not len(corpus.ontology):
        taken = f"the {len(known):,} slots that occur in its gold states are taken for all there are"
        cautions["slots"] = (f"{corpus.id} does not say which slots there are: {taken}",)
    return replace(corpus, layouts=_everywhere(corpus, known), cautions=cautions)


def in_layout(states: pd.DataFrame, turns: pd.DataFrame, layouts: pd.DataFrame) -> pd.DataFrame:
    """Keep the rows whose slot the gold's annotation of that turn knows, filled or not.

    Examples
    --------
    >>> from dialogeval.tables import table
    >>> rows = table("states", [("d", 0, "hotel", "area", "north"), ("d", 0, "hotel", "stars", "4")])
    >>> turns = table("turns", [("d", 0, "", "", 2)])
    >>> in_layout(rows, turns, table("layouts", [(2, "hotel", "stars")]))["slot"].tolist()
    ['stars']
    """
    located = states.merge(turns[["dialogue_id", "turn", "layout"]], on=["dialogue_id", "turn"])
    return located.merge(layouts, on=["layout", "domain", "slot"]).drop(columns="layout")


def _everywhere(corpus: Corpus, slots: pd.DataFrame) -> pd.DataFrame:
    """Make all slots known in every turn."""
    numbers = corpus.turns[["layout"]].drop_duplicates()
    return numbers.merge(slots.drop_duplicates(), how="cross")[["layout", *_SLOT]]


def _split(states: pd.DataFrame) -> pd.DataFrame:
    """Make a row of each part of a value ``a|b``."""
    parts = states.assign(value=states["value"].str.split("|")).explode("value", ignore_index=True)
    return parts.astype({"value": "str"})


def _rename_slots(layouts: pd.DataFrame, steps: list[str]) -> pd.DataFrame:
    if not steps:
        return layouts
    named = normalize_states(layouts.assign(value="?"), steps)[["layout", "domain", "slot"]]
    return named.drop_duplicates(ignore_index=True)


def _without_domains(gold: Gold) -> Gold:
    def keep(frame: pd.DataFrame) -> pd.DataFrame:
        return frame[~frame["domain"].isin(_DSTC9_LEFT_OUT)].reset_index(drop=True)

    return replace(
        gold, states=keep(gold.states), alternatives=keep(gold.alternatives), layouts=keep(gold.layouts)
    )

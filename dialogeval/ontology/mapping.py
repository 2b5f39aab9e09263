"""States written in another ontology: through an alignment, slot by slot and value by value.

In: states, predictions or a corpus, and an alignment. Out: the same in the names and values of its target,
and what could not be mapped, with the reason.
"""

from __future__ import annotations

import os
from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple

import pandas as pd

from dialogeval.exceptions import UnknownNameError, UsageError, show
from dialogeval.normalize import normalize_slot
from dialogeval.ontology.alignment import (
    LANGUAGES,
    SLOT,
    TARGET,
    Alignment,
    Hop,
    check_alignment,
    load_alignment,
    ontology_name,
    slot_key,
)
from dialogeval.ontology.converters import TABLE_KINDS, ValueMapping, is_special, value_key, value_mapping
from dialogeval.predictions.load import load_predictions
from dialogeval.tables import Corpus, Predictions, as_predictions

#: ``names``: slots are renamed; ``values``: and values mapped by steps that do not translate; ``all``: by all.
STAGES = ("names", "values", "all")
#: Why a row is unmapped. Under ``value`` it stands in the mapped table as well, its value as it was.
REASONS = ("no counterpart", "false friend", "value", "target filled twice")
_PLACE = ["dialogue_id", "turn", *SLOT]
_TRIPLE = [*SLOT, "value"]
_STATE = [*_PLACE, "value"]


class _Step(NamedTuple):
    """A row of a hop, ready to run."""

    domain: str
    slot: str
    convert: ValueMapping
    joins: bool  # several values of the target slot are one list


class _Branch(NamedTuple):
    """Where a triple has got to: its value by all hops so far, and by those that do not translate."""

    domain: str
    slot: str
    value: str
    untranslated: str
    failed: int = -1  # the first hop that did not know the value
    joins: bool = False


@lru_cache(maxsize=32)
def _steps(hop: Hop) -> dict[tuple[str, str], list[_Step]]:
    """Return the steps of a hop by slot; none for a false friend."""
    steps: dict[tuple[str, str], list[_Step]] = {}
    for row in hop.rows[(hop.rows["relation"] != "none")].to_dict("records"):
        found = steps.setdefault(slot_key(row["domain"], row["slot"]), [])
        if row["relation"] != "false friend":
            kind = row["converter"].partition(":")[0]
            convert = value_mapping(row["converter"], hop.values, hop.source_language, hop.target_language)
            joins = kind == "list" or (kind == "any" and row["relation"] == "broader")
            found.append(_Step(row["target_domain"], row["target_slot"], convert, joins))
    return steps


def _follow(hops: tuple[Hop, ...], domain: str, slot: str, value: str) -> tuple[list[_Branch], str]:
    """Return all that a triple becomes, and why it becomes nothing."""
    branches, reason = [_Branch(domain, slot, value, value)], ""
    for number, hop in enumerate(hops):
        arrived = []
        for at in branches:
            key, known = slot_key(at.domain, at.slot), _steps(hop)
            if key not in known:
                # Systems say "leave at" and "people" where the corpus says leaveat and bookpeople.
                key = key[0], normalize_slot(key[0], at.slot.strip(), ["slots:multiwoz22"])
            steps = known.get(key, [])
            for step in steps:
                new = step.convert(at.value)
                if new is None and len(steps) > 1:
                    continue  # where values decide between targets, a value that none knows has no target
                kept = None if hop.translates else step.convert(at.untranslated)
                value = at.value if new is None else new
                kept = at.untranslated if kept is None else kept
                failed = number if new is None and at.failed < 0 else at.failed
                arrived.append(_Branch(step.domain, step.slot, value, kept, failed, step.joins))
            reason = reason or ("" if arrived else REASONS[key in known and not steps])
        branches = arrived
    return branches, reason


def map_states(
    states: pd.DataFrame, alignment: Alignment, stage: str = "all"
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Write states in the names, and the values, of another ontology; return what was and was not mapped."""
    if stage not in STAGES:
        raise UnknownNameError("stage of a mapping", stage, STAGES)
    states = states[_STATE].reset_index(drop=True).assign(row=range(len(states)))
    if not alignment.hops:
        return states, states.head(0).assign(reason=pd.Series(dtype="str"))
    counted = {n for n, hop in enumerate(alignment.hops) if stage == "all" or not hop.translates}
    counted = set() if stage == "names" else counted
    found, lost = [], []
    for triple in states[_TRIPLE].drop_duplicates().itertuples(index=False, name=None):
        branches, reason = _follow(alignment.hops, *triple)
        for b in branches:
            value = {"all": b.value, "values": b.untranslated, "names": triple[2]}[stage]
            # Unknown, or "do not care": gives way to another value of the same slot.
            weak = b.failed >= 0 or is_special(b.value)
            found.append((*triple, b.domain, b.slot, value, weak, b.joins and not weak))
        if not branches or any(b.failed in counted for b in branches):
            lost.append((*triple, "value" if branches else reason))
    new = ["new_domain", "new_slot", "new_value"]
    routes = pd.DataFrame(found, columns=[*_TRIPLE, *new, "weak", "joins"])
    routes = routes.astype(dict.fromkeys([*_TRIPLE, *new], "str") | {"weak": bool, "joins": bool})
    reasons = pd.DataFrame(lost, columns=[*_TRIPLE, "reason"]).astype("str")
    mapped = states.merge(routes, on=_TRIPLE).drop(columns=_TRIPLE)
    mapped = mapped.rename(columns=dict(zip(new, _TRIPLE, strict=True)))
    # One value a slot: lists are joined; of other values the first that is not weak counts.
    mapped = mapped.sort_values(["weak", "row"], kind="stable").reset_index(drop=True)
    shared = mapped[mapped.duplicated(_PLACE, keep=False) & mapped["joins"]]
    sign = " " if alignment.target_language == "zh" else ","
    joined = shared.groupby(_PLACE, sort=False)["value"].agg(lambda v: sign.join(dict.fromkeys(v)))
    mapped.loc[shared.drop_duplicates(_PLACE).index, "value"] = joined.to_numpy()
    twice = mapped.duplicated(_PLACE)
    unmapped = states.merge(reasons, on=_TRIPLE)
    second = set(mapped.loc[twice & ~mapped["joins"], "row"]) - set(unmapped["row"])
    again = states[states["row"].isin(second)].assign(reason=REASONS[3])
    unmapped = pd.concat([unmapped, again]).sort_values("row", kind="stable", ignore_index=True)
    mapped = mapped[~twice].sort_values("row", kind="stable", ignore_index=True)
    return mapped[[*_STATE, "row"]], unmapped


def loaded(predictions: Predictions | Corpus | str | os.PathLike[str]) -> Predictions:
    """Return predictions of states, given as such, as a corpus (its annotation) or as a file."""
    if isinstance(predictions, Corpus):
        predictions = as_predictions(predictions)
    elif isinstance(predictions, (str, os.PathLike)):
        predictions = load_predictions(predictions)
    if not isinstance(predictions, Predictions) or predictions.states is None:
        mend = "give predictions that have states"
        raise UsageError("no states to map", got=show(predictions), mend=mend)
    return predictions


def map_predictions(
    predictions: Predictions | Corpus | str | os.PathLike[str],
    alignment: Alignment | str | os.PathLike[str],
    stage: str = "all",
) -> Predictions:
    """Write a system's states in another ontology; responses stay as they are.

    Parameters
    ----------
    predictions : Predictions, Corpus, str or path-like
        Predictions or their file; of a corpus, its annotation.
    alignment : Alignment, str or path-like
        An alignment, its name or its path; see `load_alignment`.
    stage : {"all", "names", "values"}
        Only rename slots (``names``); convert values as well, but do not translate (``values``); or all.

    Returns
    -------
    Predictions
        ``notes`` say how many triples were mapped, and why others were not. Active domains go by the
        domains of the alignment; the gold that the file may carry is left out.

    Raises
    ------
    UsageError
        Predictions without states, or no alignment.

    Examples
    --------
    >>> from dialogeval.tables import table
    >>> p = Predictions("p", states=table("states", [("d", 0, "hotel", "area", "north")]))
    >>> map_predictions(p, "multiwoz__crosswoz_en").notes[0].partition(": ")[2]
    '0 of 1 triples; unmapped by reason: no counterpart: 1'
    """
    predictions, alignment = loaded(predictions), load_alignment(alignment)
    assert predictions.states is not None
    mapped, unmapped = map_states(predictions.states, alignment, stage)
    domains = predictions.active_domains
    if domains is not None and alignment.hops:
        pairs = alignment.aligned[["domain", "target_domain"]]
        pairs = pairs.assign(key=pairs["domain"].str.lower()).drop(columns="domain").drop_duplicates()
        merged = domains.assign(key=domains["domain"].str.lower()).merge(pairs, on="key")
        merged = merged.assign(domain=merged["target_domain"])[list(domains.columns)]
        domains = merged.drop_duplicates(ignore_index=True)
    whole = len(set(mapped["row"]) - set(unmapped["row"]))
    lost = unmapped["reason"].value_counts()
    named = ", ".join(f"{reason}: {lost[reason]:,}" for reason in REASONS if reason in lost)
    note = f"mapped through {alignment.id}: {whole:,} of {len(predictions.states):,} triples"
    return replace(
        predictions,
        states=mapped[_STATE],
        active_domains=domains,
        gold=None,
        notes=(*predictions.notes, f"{note}; unmapped by reason: {named or 'none'}"),
    )


def _known_slots(ontology: str) -> pd.DataFrame:
    """Return the slots of an ontology that the package's own alignments speak of; none for others."""
    order = list(LANGUAGES)
    if ontology not in order:
        return pd.DataFrame(columns=SLOT, dtype="str")
    neighbour = order[order.index(ontology) - 1] if ontology != order[0] else order[1]
    rows = load_alignment(f"{ontology}__{neighbour}").rows[SLOT]
    return rows[rows["slot"] != ""]


def align_predictions(
    gold: Corpus, predictions: Predictions, alignment: Alignment | str | os.PathLike[str]
) -> tuple[Predictions, Alignment]:
    """Write predicted states in the gold's ontology, where the alignment leads there."""
    alignment = load_alignment(alignment)
    source, target, own = map(ontology_name, (alignment.source, alignment.target, gold.name))
    if target != own and {target, own} <= set(LANGUAGES):
        mend = "choose an alignment whose target is the gold's ontology"
        raise UsageError(
            f"alignment {alignment.name} leads into {target}, the gold is {gold.name}", mend=mend
        )
    targets = [_known_slots(target), _known_slots(own), gold.layouts, gold.ontology, gold.states]
    sources = [_known_slots(source)]
    if predictions.states is not None:
        sources.append(predictions.states)
    known = [pd.concat([t[SLOT].drop_duplicates() for t in tables]) for tables in (sources, targets)]
    check_alignment(alignment, known[0] if source in LANGUAGES else None, known[1])
    return map_predictions(predictions, alignment), alignment


def learn_values(alignment: Alignment, source: Corpus, target: Corpus) -> Alignment:
    """Add value pairs to an alignment that two parallel corpora agree on."""
    if len(alignment.hops) != 1:
        got = f"{len(alignment.hops)} steps"
        raise UsageError("cannot learn values", expected="an alignment of one step", got=got)
    (hop,) = alignment.hops
    named, _ = map_states(source.states, alignment, "names")
    _, unmapped = map_states(source.states, alignment)
    pairs = named.merge(target.states, on=_PLACE, suffixes=("", "_target"))
    if len(source.states) and not len(pairs):
        got = f"{source.id} and {target.id}"
        raise UsageError("no slot is filled in both corpora", got=got, mend="give parallel corpora")
    pairs = pairs[pairs["row"].isin(unmapped.loc[unmapped["reason"] == "value", "row"])]
    # The same name of a venue may fill any slot that shares the table: they are learned together.
    cell = hop.rows["converter"].str.partition(":")
    names = cell[2].where(cell[0].isin(TABLE_KINDS[:2]), "").where(cell[0] != "open", "open")
    tables = hop.rows[TARGET].set_axis(SLOT, axis=1).assign(table=names)[names != ""]
    pairs = pairs.merge(tables, on=SLOT).assign(key=lambda p: p["value"].map(value_key))
    counts = (
        pairs.groupby(["table", "key", "value_target"], sort=False)["row"].size().rename("n").reset_index()
    )
    counts["share"] = counts["n"] / counts.groupby(["table", "key"])["n"].transform("sum")
    spelled = pairs.drop_duplicates(["table", "key"])[["table", "key", "value"]]
    counts = counts[(counts["share"] > 0.5) & (counts["value_target"] != "") & (counts["key"] != "")]
    counts = counts.merge(spelled, on=["table", "key"])
    counts = counts.sort_values(["table", "n", "key"], ascending=[True, False, True])
    values = dict(hop.values)
    for table, value, said in counts[["table", "value", "value_target"]].itertuples(index=False, name=None):
        values[table] = (*values.get(table, ()), (value.strip(), said))
    name = alignment.name.removesuffix("+learned") + "+learned"
    return replace(alignment, name=name, hops=(replace(hop, values=values),))

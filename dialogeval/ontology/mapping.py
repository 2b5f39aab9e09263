"""Predictions written in the ontology of the gold that they are scored against.

In: a gold corpus, predictions and an alignment. Out: the predictions mapped through it, once it is sure
that the alignment leads there.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import pandas as pd

from dialogeval.exceptions import Remark, UnknownNameError, UsageError
from dialogeval.normalize import normalize_slot
from dialogeval.ontology.alignment import (
    LANGUAGES,
    TABLE_KINDS,
    Alignment,
    Hop,
    check_alignment,
    is_special,
    known_slots,
    load_alignment,
    ontology_name,
    slot_key,
    value_key,
    value_mapping,
)
from dialogeval.tables import Corpus, Predictions, table


def learn_values(alignment: Alignment, source: Corpus, target: Corpus) -> Alignment:
    """Add value pairs to an alignment that two parallel corpora agree on."""
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


#: ``names``: slots are renamed; ``values``: and values mapped by steps that do not translate; ``all``: by all.
STAGES = ("names", "values", "all")
#: Why a row is unmapped. Under ``value`` it stands in the mapped table as well, its value as it was.
REASONS = ("no counterpart", "false friend", "value", "target filled twice")
_PLACE = ["dialogue_id", "turn", "domain", "slot"]
_STATE = [*_PLACE, "value"]
_TRIPLE = ["domain", "slot", "value"]


@dataclass(frozen=True)
class _Step:
    """A row of a hop, ready to run."""

    domain: str
    slot: str
    convert: Callable[[str], str | None]
    joins: bool  # several values of the target slot are one list


@dataclass(frozen=True)
class _Branch:
    """Where a triple has got to: its value by all hops so far, and by those that do not translate."""

    domain: str
    slot: str
    value: str
    untranslated: str
    failed: int = -1  # the first hop that did not know the value
    joins: bool = False

    @property
    def weak(self) -> bool:
        """Whether the value gives way to another one of the same slot: unknown, or "do not care"."""
        return self.failed >= 0 or is_special(self.value)


class _Router:
    """The steps of one hop by slot."""

    def __init__(self, hop: Hop) -> None:
        self.translates = hop.translates
        self.steps: dict[tuple[str, str], list[_Step]] = {}
        self.false_friends: set[tuple[str, str]] = set()
        languages = (hop.source_language, hop.target_language)
        mappings = {c: value_mapping(c, hop.values, *languages) for c in hop.rows["converter"].unique()}
        for row in hop.rows.to_dict("records"):
            key = slot_key(row["domain"], row["slot"])
            if row["relation"] == "false friend":
                self.false_friends.add(key)
            elif row["relation"] != "none":
                kind = row["converter"].partition(":")[0]
                joins = kind == "list" or (kind == "any" and row["relation"] == "broader")
                step = _Step(row["target_domain"], row["target_slot"], mappings[row["converter"]], joins)
                self.steps.setdefault(key, []).append(step)

    def find(self, domain: str, slot: str) -> tuple[list[_Step], str]:
        """Return the steps of a slot, and why there are none."""
        key = slot_key(domain, slot)
        if key not in self.steps and key not in self.false_friends:
            # Systems say "leave at" and "people" where the corpus says leaveat and bookpeople.
            key = key[0], normalize_slot(key[0], slot.strip(), ["slots:multiwoz22"])
        return self.steps.get(key, []), REASONS[key in self.false_friends]


@lru_cache(maxsize=32)
def _router(hop: Hop) -> _Router:
    return _Router(hop)


def _follow(routers: Sequence[_Router], domain: str, slot: str, value: str) -> tuple[list[_Branch], str]:
    branches, reason = [_Branch(domain, slot, value, value)], ""
    for number, router in enumerate(routers):
        arrived = []
        for at in branches:
            steps, why = router.find(at.domain, at.slot)
            for step in steps:
                new = step.convert(at.value)
                if new is None and len(steps) > 1:
                    # Where values decide between several targets, a value that none knows has no target.
                    continue
                kept = at.untranslated if router.translates else step.convert(at.untranslated)
                arrived.append(
                    _Branch(
                        step.domain,
                        step.slot,
                        at.value if new is None else new,
                        at.untranslated if kept is None else kept,
                        number if new is None and at.failed < 0 else at.failed,
                        step.joins,
                    )
                )
            reason = reason or ("" if arrived else REASONS[0] if steps else why)
        branches = arrived
    return branches, reason


def map_states(
    states: pd.DataFrame, alignment: Alignment, stage: str = "all"
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Write states in the names, and the values, of another ontology."""
    if stage not in STAGES:
        raise UnknownNameError("stage of a mapping", stage, STAGES)
    states = states[_STATE].reset_index(drop=True)
    states["row"] = range(len(states))
    if not alignment.hops:
        return states, states.head(0).assign(reason=pd.Series(dtype="str"))
    triples = states[_TRIPLE].drop_duplicates()
    routers = [_router(hop) for hop in alignment.hops]
    counted = {"all": {*range(len(routers))}, "names": set()}
    counted["values"] = {n for n, router in enumerate(routers) if not router.translates}
    found, lost = [], []
    for triple in triples.itertuples(index=False, name=None):
        branches, reason = _follow(routers, *triple)
        for b in branches:
            value = {"all": b.value, "values": b.untranslated, "names": triple[2]}[stage]
            found.append((*triple, b.domain, b.slot, value, b.weak, b.joins and not b.weak))
        if any(b.failed in counted[stage] for b in branches):
            lost.append((*triple, "value"))
        elif not branches:
            lost.append((*triple, reason))
    new = ["new_domain", "new_slot", "new_value", "weak", "joins"]
    routes = pd.DataFrame(found, columns=[*_TRIPLE, *new]).astype(
        dict.fromkeys([*_TRIPLE, *new[:3]], "str") | {"weak": bool, "joins": bool}
    )
    reasons = pd.DataFrame(lost, columns=[*_TRIPLE, "reason"]).astype("str")
    mapped = states.merge(routes, on=_TRIPLE, how="inner").sort_values("row", kind="stable")
    mapped = mapped.drop(columns=_TRIPLE).rename(columns=dict(zip(new, _TRIPLE, strict=False)))
    mapped, second = _one_value_a_slot(mapped, alignment.target_language)
    unmapped = states.merge(reasons, on=_TRIPLE, how="inner")
    if len(second):
        again = states[states["row"].isin(second) & ~states["row"].isin(unmapped["row"])]
        unmapped = pd.concat([unmapped, again.assign(reason=REASONS[3])])
    unmapped = unmapped.sort_values("row", kind="stable").reset_index(drop=True)
    return mapped[[*_STATE, "row"]], unmapped


def _one_value_a_slot(mapped: pd.DataFrame, language: str) -> tuple[pd.DataFrame, pd.Series]:
    """Join lists and keep the first of other values; return the rows left out as well."""
    if not mapped.duplicated(_PLACE).any():
        return mapped.reset_index(drop=True), mapped["row"].head(0)
    mapped = mapped.sort_values("weak", kind="stable").reset_index(drop=True)
    shared = mapped[mapped.duplicated(_PLACE, keep=False) & mapped["joins"]]
    sign = " " if language == "zh" else ","
    joined = shared.groupby(_PLACE, sort=False)["value"].agg(lambda v: sign.join(dict.fromkeys(v)))
    mapped.loc[shared.drop_duplicates(_PLACE).index, "value"] = joined.to_numpy()
    twice = mapped.duplicated(_PLACE)
    kept = mapped[~twice].sort_values("row", kind="stable").reset_index(drop=True)
    return kept, mapped.loc[twice & ~mapped["joins"], "row"]


def _summary(alignment: Alignment, total: int, mapped: pd.DataFrame, unmapped: pd.DataFrame) -> Remark:
    whole = len(set(mapped["row"]) - set(unmapped["row"]))
    facts = Counter({"mapped": whole, "all": total, **unmapped["reason"].value_counts().to_dict()})
    return Remark(_say_mapped, facts, (alignment.id,))


def _say_mapped(facts: Counter[str], alignment: str) -> list[str]:
    lost = ", ".join(f"{r}: {facts[r]:,}" for r in REASONS if facts[r])
    note = f"mapped through {alignment}: {facts['mapped']:,} of {facts['all']:,} triples"
    return [f"{note}; unmapped by reason: {lost or 'none'}"]


def map_predictions(predictions: Predictions, alignment: Alignment, stage: str = "all") -> Predictions:
    """Write a system's states in another ontology; responses stay as they are.

    Parameters
    ----------
    predictions : Predictions
    alignment : Alignment
    stage : {"all", "names", "values"}
        As for `map_states`.

    Returns
    -------
    Predictions
        ``notes`` say how many triples were mapped, and why others were not. Active domains go by the
        domains of the alignment; the gold that the file may carry is left out.

    Raises
    ------
    UsageError
        Predictions without states.

    Examples
    --------
    >>> from dialogeval.ontology.mapping import load_alignment
    >>> p = Predictions("p", states=table("states", [("d", 0, "hotel", "area", "north")]))
    >>> map_predictions(p, load_alignment("multiwoz__crosswoz_en")).notes[0].partition(": ")[2]
    '0 of 1 triples; unmapped by reason: no counterpart: 1'
    """
    if predictions.states is None:
        raise UsageError("no states to map", got=repr(predictions), mend="give predictions that have states")
    mapped, unmapped = map_states(predictions.states, alignment, stage)
    before = domains = predictions.active_domains
    if before is not None and alignment.hops:
        pairs = _aligned(alignment)[["domain", "target_domain"]].drop_duplicates()
        pairs = pairs.assign(domain=pairs["domain"].str.lower())
        merged = before.assign(domain=before["domain"].str.lower()).merge(pairs, on="domain")
        domains = merged.drop(columns="domain").rename(columns={"target_domain": "domain"})
        domains = domains[list(before.columns)].drop_duplicates(ignore_index=True)
    note = _summary(alignment, len(predictions.states), mapped, unmapped)
    return replace(
        predictions,
        states=mapped[_STATE],
        active_domains=domains,
        gold=None,
        notes=(*predictions.notes, *note.lines),
        remarks=(*predictions.remarks, note),
    )


def _aligned(alignment: Alignment) -> pd.DataFrame:
    rows = alignment.rows
    return rows[~rows["relation"].isin(["none", "false friend"])]


def map_corpus_states(corpus: Corpus, alignment: Alignment, stage: str = "all") -> Corpus:
    """Write the gold states of a corpus in another ontology."""
    mapped, unmapped = map_states(corpus.states, alignment, stage)
    note = _summary(alignment, len(corpus.states), mapped, unmapped)
    layouts = corpus.layouts
    if alignment.hops and len(layouts):
        keys = [slot_key(d, s) for d, s in zip(layouts["domain"], layouts["slot"], strict=True)]
        targets: dict[tuple[str, str], list[tuple[str, str]]] = {}
        for row in _aligned(alignment).to_dict("records"):
            target = (row["target_domain"], row["target_slot"])
            targets.setdefault(slot_key(row["domain"], row["slot"]), []).append(target)
        named = [
            (n, *t) for n, key in zip(layouts["layout"], keys, strict=True) for t in targets.get(key, [])
        ]
        layouts = table("layouts", list(dict.fromkeys(named)))
    old = ("alternatives", "corrections", "goals", "acts", "spans", "bookings", "ontology", "schema")
    empty: dict[str, Any] = {kind: table(kind) for kind in old}
    cautions = dict(corpus.cautions)
    if len(unmapped):
        cautions["state"] = (*cautions.get("state", ()), *note.lines)
    notes = (*corpus.notes, *note.lines)
    return replace(corpus, states=mapped[_STATE], layouts=layouts, notes=notes, cautions=cautions, **empty)


def align_predictions(
    gold: Corpus, predictions: Predictions, alignment: Alignment | str
) -> tuple[Predictions, Alignment]:
    """Write predicted states in the gold's ontology, where the alignment leads there."""
    alignment = load_alignment(alignment) if isinstance(alignment, (str, os.PathLike)) else alignment
    ends = ontology_name(alignment.target), ontology_name(gold.name)
    if ends[0] != ends[1] and set(ends) <= set(LANGUAGES):
        mend = "choose an alignment whose target is the gold's ontology"
        raise UsageError(
            f"alignment {alignment.name} leads into {ends[0]}, the gold is {gold.name}", mend=mend
        )
    where = ["domain", "slot"]
    targets = [*map(known_slots, ends), gold.layouts, gold.ontology, gold.states]
    sources = known_slots(ontology_name(alignment.source))
    if len(sources) and predictions.states is not None:
        sources = pd.concat([sources, predictions.states[where].drop_duplicates()])
    check_alignment(
        alignment, sources if len(sources) else None, pd.concat([t[where].drop_duplicates() for t in targets])
    )
    return map_predictions(predictions, alignment), alignment

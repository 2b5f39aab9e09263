"""Pairing of states: gold and predicted states, normalised by a protocol and coded for counting.

In: a corpus, predictions, a protocol and the turns to score. Out: a `StatePair` and remarks on
what makes the two sides hard to compare.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pandas as pd

from .coverage import Coverage
from .exceptions import CoverageError, UsageError
from .golds import Gold, accept_alternatives, gold_of, ontology_size
from .metrics.states import StatePair, pair_states
from .normalize import SLOT_STEPS, normalize_slot, normalize_states
from .protocols import Protocol
from .remarks import Remark, few
from .tables import Corpus, Predictions

__all__ = ["state_pair"]


def state_pair(
    corpus: Corpus, predictions: Predictions, protocol: Protocol, coverage: Coverage
) -> tuple[StatePair, list[Remark]]:
    """Normalise both sides by the protocol's steps and code them.

    Parameters
    ----------
    corpus : Corpus
    predictions : Predictions
    protocol : Protocol
        Says which gold, which of the predicted slots are looked at, and how values are normalised.
    coverage : Coverage

    Returns
    -------
    StatePair
    list of Remark
        Predicted slots that the gold never has, ``none`` taken for a value.

    Raises
    ------
    UsageError
        The predictions hold no states, or the corpus lacks the protocol's gold.
    CoverageError
        A DSTC9 submission lacks a slot.

    Examples
    --------
    >>> from dialogeval.coverage import match_turns
    >>> from dialogeval.protocols import PROTOCOLS
    >>> from dialogeval.tables import as_predictions, table
    >>> gold = Corpus("toy", turns=table("turns", [("d", 0, "hi", "hello", 0)]),
    ...               states=table("states", [("d", 0, "hotel", "area", "north")]))
    >>> predictions = as_predictions(gold)
    >>> pair, remarks = state_pair(gold, predictions, PROTOCOLS["lin2021"], match_turns(gold, predictions))
    >>> len(pair), [line for remark in remarks for line in remark.lines]
    (1, [])
    """
    if predictions.states is None:
        raise UsageError(
            f"{predictions.path or predictions.name} holds no states, which protocol {protocol.name} scores",
            mend="choose a protocol for responses, such as lai2019",
        )
    gold = gold_of(corpus, protocol.gold, protocol.steps)
    turns = coverage.turns
    if protocol.compare == "annotated-slots" and predictions.format == "dstc9":
        _require_all_slots(predictions, turns, gold.layouts)
    predicted = normalize_states(predictions.states, protocol.steps)
    everywhere = predicted
    if protocol.compare == "annotated-slots":
        predicted = _in_layout(predicted, turns, gold.layouts)
    elif protocol.compare == "gold-domains":
        here = gold.states[["dialogue_id", "turn", "domain"]].drop_duplicates()
        predicted = predicted.merge(here, on=["dialogue_id", "turn", "domain"])
    predicted = accept_alternatives(gold, predicted)
    n_slots: Any
    if protocol.compare == "annotated-slots":
        n_slots = turns["layout"].map(gold.layouts.groupby("layout").size()).fillna(0).to_numpy(dtype="int64")
    else:
        n_slots = ontology_size(corpus)
    pair = pair_states(turns, gold.states, predicted, n_slots)
    counts = _slots_of(pair) if protocol.compare == "all" else _slots(everywhere)
    return pair, _remarks(corpus, gold, pair, counts)


def _in_layout(states: pd.DataFrame, turns: pd.DataFrame, layouts: pd.DataFrame) -> pd.DataFrame:
    """Keep the rows whose slot the gold's annotation of that turn knows, filled or not."""
    located = states.merge(turns[["dialogue_id", "turn", "layout"]], on=["dialogue_id", "turn"])
    return located.merge(layouts, on=["layout", "domain", "slot"]).drop(columns="layout")


def _require_all_slots(predictions: Predictions, turns: pd.DataFrame, layouts: pd.DataFrame) -> None:
    """Refuse a submission that leaves a slot out: DSTC9's format wants every slot, empty ones too."""
    assert predictions.states is not None
    wanted = turns[turns["predicted"]]
    here = _in_layout(predictions.states[["dialogue_id", "turn", "domain", "slot"]], wanted, layouts)
    if len(here) == wanted["layout"].map(layouts.groupby("layout").size()).fillna(0).sum():
        return
    every = wanted.merge(layouts, on="layout")
    missing = every.merge(here, on=["dialogue_id", "turn", "domain", "slot"], how="left", indicator="side")
    missing = missing[missing["side"] == "left_only"]
    if len(missing):
        first = missing.iloc[0]
        raise CoverageError(
            f"slot {first['domain']}-{first['slot']} is missing ({len(missing):,} slots in all)",
            file=predictions.path or predictions.name,
            dialogue=first["dialogue_id"],
            turn=int(first["turn"]),
            mend='give every slot of the gold, with "" where it is empty',
        )


def _remarks(corpus: Corpus, gold: Gold, pair: StatePair, counts: pd.Series) -> list[Remark]:
    """Note what makes a score low for reasons of naming alone; ``counts``: predicted values by slot."""
    foreign: Any = counts
    facts: Counter[Any] = Counter({"all": int(counts.sum())})
    # One after the other: mostly nothing is left for the larger table.
    for known in (gold.layouts, gold.states):
        if len(foreign) or not len(gold.layouts):
            names = _slots(known).index
            facts.update({("known", *slot): 1 for slot in names})
            foreign = foreign[~foreign.index.isin(names)]
    facts.update({("foreign", *slot): int(n) for slot, n in foreign.items()})
    is_none = np.array([v.strip().lower() == "none" for v in pair.values], dtype=bool)
    gold_none, none = (int(is_none[side.value].sum()) for side in (pair.gold, pair.pred))
    # Of a file's own gold only a part may be here; it has no name until all is read.
    whose = "the file's own gold" if corpus.family == "pairs" else corpus.id
    return [
        Remark(_say_foreign, facts, (whose,)),
        Remark(_say_none, Counter({"gold": gold_none, "none": none, "all": len(pair.pred.key)})),
    ]


def _say_foreign(facts: Counter[Any], whose: str) -> list[str]:
    known = {key[1:] for key in facts if key[0] == "known"}
    found = {key[1:]: n for key, n in facts.items() if key[0] == "foreign" and key[1:] not in known}
    if not found:
        return []
    most = sorted(found, key=lambda slot: (-found[slot], slot))
    named = few([f"{domain}-{slot} ×{found[domain, slot]:,}" for domain, slot in most], width=100)
    return [
        f"{sum(found.values()):,} of {facts['all']:,} predicted values stand in {len(found)} slots that "
        f"{whose} does not have: {named}; {_way_out(found, known)}"
    ]


def _way_out(found: dict[tuple[str, str], int], known: set[tuple[str, str]]) -> str:
    """Say how many of the foreign values each step for slot names brings into known slots."""
    reach = {}
    for step in (f"{name}:{choice}" for name, choices in SLOT_STEPS.items() for choice in choices):
        names = {(domain, normalize_slot(domain, slot, [step])) for domain, slot in known}
        reach[step] = sum(n for (d, s), n in found.items() if (d, normalize_slot(d, s, [step])) in names)
    helpful = sorted((step for step in reach if reach[step]), key=lambda step: -reach[step])
    if not helpful:
        return "no step for slot names maps them, an alignment may (--align)"
    counts = ", ".join(f"{step} {reach[step]:,}" for step in helpful)
    return f"of these the steps for slot names map to slots that it has: {counts} (--steps {helpful[0]})"


def _say_none(facts: Counter[str]) -> list[str]:
    if facts["none"] <= 0.05 * max(facts["all"], 1):
        return []
    return [
        f"{facts['none']:,} predicted values are 'none' (gold: {facts['gold']:,}), which this protocol takes for a "
        "value; with the step none:drop they are empty slots (--steps none:drop)"
    ]


def _slots_of(pair: StatePair) -> pd.Series:
    """Count predicted triples by (domain, slot)."""
    n = np.bincount(pair.pred.slot, minlength=len(pair.slots))
    return pd.Series(n, index=pd.MultiIndex.from_frame(pair.slots))[n > 0]


def _slots(states: pd.DataFrame) -> pd.Series:
    """Count rows by (domain, slot), from integer codes: grouping by strings is several times slower."""
    domain, domains = pd.factorize(states["domain"])
    slot, slots = pd.factorize(states["slot"])
    n = np.bincount(domain * len(slots) + slot, minlength=len(domains) * len(slots))
    every = pd.MultiIndex.from_product([domains, slots], names=["domain", "slot"])
    return pd.Series(n, index=every)[n > 0]

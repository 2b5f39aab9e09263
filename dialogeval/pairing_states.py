"""Pairing of states: gold and predicted states, normalised by a protocol and coded for counting.

In: a corpus, predictions, a protocol and the turns to score. Out: a `StatePair` and warnings about
what makes the two sides hard to compare.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from .coverage import Coverage
from .exceptions import CoverageError, UsageError
from .golds import Gold, accept_alternatives, gold_of, ontology_size
from .metrics.states import StatePair, pair_states
from .normalize import normalize_states
from .protocols import Protocol
from .tables import Corpus, Predictions

__all__ = ["state_pair"]


def state_pair(
    corpus: Corpus, predictions: Predictions, protocol: Protocol, coverage: Coverage
) -> tuple[StatePair, tuple[str, ...]]:
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
    tuple of str
        Warnings: predicted slots that the gold never has, ``none`` taken for a value.

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
    >>> pair, warnings = state_pair(gold, predictions, PROTOCOLS["lin2021"], match_turns(gold, predictions))
    >>> len(pair), warnings
    (1, ())
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
    return pair, _warnings(corpus, gold, pair, counts)


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


def _warnings(corpus: Corpus, gold: Gold, pair: StatePair, counts: pd.Series) -> tuple[str, ...]:
    """Say what makes a score low for reasons of naming alone; ``counts``: predicted values by slot."""
    warnings = []
    where = ["domain", "slot"]
    foreign: Any = counts
    # One after the other: mostly nothing is left for the larger table.
    for known in (gold.layouts, gold.states):
        foreign = foreign[~foreign.index.isin(_slots(known).index)] if len(foreign) else foreign
    if len(foreign):
        foreign = foreign.rename("n").reset_index().sort_values(["n", *where], ascending=[False, True, True])
        named = ", ".join(f"{r.domain}-{r.slot} ×{r.n:,}" for r in foreign.head(5).itertuples())
        warnings.append(
            f"{foreign['n'].sum():,} of {counts.sum():,} predicted values stand in {len(foreign)} slots that "
            f"{corpus.id} does not have: {named}{', …' if len(foreign) > 5 else ''}"
        )
    is_none = np.array([v.strip().lower() == "none" for v in pair.values], dtype=bool)
    none = [int(is_none[side.value].sum()) for side in (pair.gold, pair.pred)]
    if none[1] > 0.05 * max(len(pair.pred.key), 1):
        warnings.append(
            f"{none[1]:,} predicted values are 'none' (gold: {none[0]:,}), which this protocol takes for a value; "
            "one with the step none:drop does not"
        )
    return tuple(warnings)


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

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
from .golds import ENGLISH_MULTIWOZ, Gold, accept_alternatives, gold_of, in_layout, ontology_size
from .metrics.slots import count_slot_errors
from .metrics.states import Schema, StatePair, pair_states
from .normalize import NOT_FILLED, normalize_slot, normalize_states, own_steps
from .protocols import Protocol
from .remarks import Remark, few, plain
from .tables import Corpus, Predictions

__all__ = ["state_pair"]

_SLOT = ["domain", "slot"]


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
        Predicted slots that the gold never has, ``none`` taken for a value, gold that is not what the
        protocol takes it for.

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
    if protocol.gold.startswith("dstc9") and predictions.format == "dstc9":
        _require_all_slots(predictions, turns, gold.layouts)
    predicted = normalize_states(predictions.states, own_steps(protocol.steps, corpus.family))
    everywhere = predicted
    layouts, number = gold.layouts.groupby("layout"), turns["layout"]
    n_slots: Any
    if protocol.compare == "annotated-slots":
        predicted = in_layout(predicted, turns, gold.layouts)
        n_slots = number.map(layouts.size()).fillna(0).to_numpy(dtype="int64")
    else:
        n_slots = ontology_size(corpus)
    predicted = accept_alternatives(gold, predicted)
    schema = None
    if protocol.gold == "frames":
        services = number.map(layouts["domain"].nunique()).fillna(0).to_numpy(dtype="int64")
        schema = Schema(services, corpus.schema[corpus.schema["kind"] == "free"], gold.alternatives)
    pair = pair_states(turns, gold.states, predicted, n_slots, schema)
    counts = _slots_of(pair) if protocol.compare == "all" else _slots(everywhere)
    return pair, [*_remarks(corpus, gold, pair, counts), *_of_gold(corpus, gold, protocol, pair)]


def _require_all_slots(predictions: Predictions, turns: pd.DataFrame, layouts: pd.DataFrame) -> None:
    """Refuse a submission that leaves a slot out: DSTC9's format wants every slot, empty ones too."""
    assert predictions.states is not None
    wanted = turns[turns["predicted"]]
    here = in_layout(predictions.states[["dialogue_id", "turn", "domain", "slot"]], wanted, layouts)
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
    is_none = np.array([v.strip().lower() in ("none", *NOT_FILLED) for v in pair.values], dtype=bool)
    gold_none, none = (int(is_none[side.value].sum()) for side in (pair.gold, pair.pred))
    return [
        Remark(_say_foreign, facts, (_whose(corpus),)),
        Remark(_say_none, Counter({"gold": gold_none, "none": none, "all": len(pair.pred.key)})),
    ]


def _whose(corpus: Corpus) -> str:
    # Of a file's own gold only a part may be here; it has no name until all is read.
    return "the file's own gold" if corpus.family == "pairs" else corpus.id


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
    for step in ("slots:plain", "slots:multiwoz22"):
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
        f"{facts['none']:,} predicted values are 'none' or empty (gold: {facts['gold']:,}), which this protocol "
        "takes for values; with the step none:drop they are empty slots (--steps none:drop)"
    ]


def _of_gold(corpus: Corpus, gold: Gold, protocol: Protocol, pair: StatePair) -> list[Remark]:
    """Note where gold is not what the protocol takes it for."""
    said = [Remark(_say_empty, Counter(n=len(pair.gold.key)), (_whose(corpus),))]
    if "map:dstc9" in own_steps(protocol.steps, corpus.family):
        said.append(
            plain(
                "of which corpus the gold is cannot be told, and so of DSTC9's tables of values only none → empty "
                "applies; the steps map:dstc9-crosswoz and map:dstc9-multiwoz are the two tables"
            )
        )
    annotated = protocol.compare == "annotated-slots"
    if annotated or any(m.counts is count_slot_errors for m in protocol.resolve_metrics()):
        facts: Counter[Any] = Counter({tuple(slot): 1 for slot in gold.layouts[_SLOT].to_numpy().tolist()})
        facts["empty"] = int(gold.layouts.groupby("layout").size().reindex(corpus.turns["layout"]).sum())
        facts["empty"] -= len(gold.states)
        about = (annotated, corpus.family == "pairs", corpus.cautions.get("slots", ()))
        said.append(Remark(_say_slots, facts, about))
    return said


def _say_empty(facts: Counter[str], whose: str) -> list[str]:
    if facts["n"]:
        return []
    return [f"no turn of {whose} has a filled slot: its states are empty or not annotated"]


def _say_slots(facts: Counter[Any], annotated: bool, own: bool, cautions: tuple[str, ...]) -> list[str]:
    """Say that the slots are those of the gold states, where nothing else names them."""
    slots = [key for key in facts if key != "empty"]
    if not annotated and slots and {domain for domain, _ in slots} <= ENGLISH_MULTIWOZ:
        return []  # slot accuracy divides by 30, as published
    if not own:
        return list(cautions)
    if facts["empty"] > 0:
        return []
    if not annotated:
        return [
            f"the file's own gold lists filled slots only: these {len(slots):,} are taken for all there are"
        ]
    return ["the file's own gold lists filled slots only: what is predicted in other slots is not looked at"]


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

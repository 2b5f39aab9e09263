"""Scores of what changes between the turns of a dialogue: flexible, turn and granular change accuracy.

In: a `StatePair`. Out: one row of counts a turn, and the table of the metrics made of them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from dialogeval.metrics import Ints, Metric, StatePair, Sums, Triples, by_key, contains, ratio, share, starts

DEY, _AKSU = "Dey et al. 2022, arXiv:2204.03375", "Aksu & Chen 2024, arXiv:2403.11123"
#: Values of λ of flexible goal accuracy that are reported; the metric's default is 0.5.
LAMBDAS = (0.25, 0.5, 0.75, 1.0)
#: Weight of precision and recall of values, against that of labels, in granular change accuracy.
ALPHA = 10 / 11
#: The code of a slot that one side does not fill.
_NONE = -1


def new_triples(pair: StatePair, side: Triples) -> Ints:
    """Tell for each triple whether the previous turn of its dialogue lacked it."""
    return pair.first[side.turn] | ~contains(side.key, side.key - pair.stride)


def judge_turns(pair: StatePair) -> tuple[Ints, Ints]:
    """Tell for each turn whether P = G, and whether it is in error itself."""
    lost, invented = ~pair.gold_in_pred, ~pair.pred_in_gold
    exact = (pair.per_turn(pair.gold, lost) == 0) & (pair.per_turn(pair.pred, invented) == 0)
    own = (pair.per_turn(pair.gold, lost & new_triples(pair, pair.gold)) > 0) | (
        pair.per_turn(pair.pred, invented & new_triples(pair, pair.pred)) > 0
    )
    # An error after an exact turn is new, also where gold alone drops a slot.
    after_exact = pair.first | np.r_[True, exact[:-1]][: len(pair)]
    return exact, ~exact & (after_exact | own)


def count_turn_goal(pair: StatePair) -> pd.DataFrame:
    """Count by turn: ``tga_right``, 1 where flexible goal accuracy is above 0; ``tga_turns``, 1."""
    return pair.counts(tga_right=(~judge_turns(pair)[1]).astype("int64"), tga_turns=1)


def count_flexible(pair: StatePair) -> pd.DataFrame:
    """Count flexible goal accuracy by turn, for every λ of `LAMBDAS`."""
    exact, zero = judge_turns(pair)
    rows = np.arange(len(pair))
    # A wrong turn that does not score 0 follows one that did, in its own dialogue.
    distance = rows - np.maximum.accumulate(np.where(zero, rows, -1))
    sums = {f"fga_sum@{w:g}": np.where(zero, 0.0, 1 - np.exp(-w * distance)) for w in LAMBDAS}
    return pair.counts(fga_turns=1, **{name: np.where(exact, 1.0, s) for name, s in sums.items()})


def count_changes(pair: StatePair) -> pd.DataFrame:
    """Count by turn the changes that were correct, wrong, missed and over-predicted."""
    run, turn, gold, pred, gold_seen, pred_seen = _slot_histories(pair)
    begins = starts(run)
    g = gold_seen & (begins | ~_before(gold_seen) | (gold != _before(gold)))
    p = pred_seen & (begins | ~_before(pred_seen) | (pred != _before(pred)))
    gone, dropped = gold == _NONE, pred == _NONE
    equal = gold_seen & pred_seen & (gold == pred)
    correct = g & ((~pred_seen & gone) | equal)
    wrong = g & pred_seen & ~equal & ~gone
    settled = p & gold_seen
    again = settled & equal & ~correct
    counts = {
        "correct": (correct, again, p & ~gold_seen & dropped),
        "wrong": (wrong, settled & ~again & ~dropped & (gold != pred) & ~wrong),
        "missed": (g & ~pred_seen & ~gone, settled & dropped & ~again),
        "overpredicted": (g & pred_seen & ~equal & gone, p & ~gold_seen & ~dropped),
    }
    return pair.counts(
        **{
            f"gca_{kind}": sum(np.bincount(turn[mask], minlength=len(pair)) for mask in masks)
            for kind, masks in counts.items()
        }
    )


def _before(values: Ints) -> Ints:
    return np.r_[values[:1], values[:-1]]


def _slot_histories(pair: StatePair) -> tuple[Ints, ...]:
    """Lay out every slot's history: one row a turn from its first mention to the dialogue's end."""
    sides = (pair.gold, pair.pred)
    # Triples come in the order of turns, so the first of a (dialogue, slot) is its first mention.
    slots = [pair.dialogue[side.turn] * pair.width + side.slot for side in sides]
    keys, since = np.unique(np.concatenate(slots)), []
    for side, slot in zip(sides, slots, strict=True):
        known, first = np.unique(slot, return_index=True)
        since.append(np.full(len(keys), len(pair)))
        since[-1][np.searchsorted(keys, known)] = side.turn[first]
    start = np.minimum(*since)
    length = np.searchsorted(pair.dialogue, keys // pair.width, side="right") - start
    run = np.repeat(np.arange(len(keys)), length)
    turn = np.arange(len(run)) - np.repeat(np.cumsum(length) - length, length) + start[run]
    spot = turn * pair.width + (keys % pair.width)[run]
    values = (_values(pair, side, spot) for side in sides)
    return run, turn, *values, *(turn >= begin[run] for begin in since)


def _values(pair: StatePair, side: Triples, spot: Ints) -> Ints:
    """Look up the value of (turn, slot) keys; of several values the last one counts."""
    keys = np.r_[-1, pair.slot_key(side)]
    value = np.r_[_NONE, np.where((pair.values != "none")[side.value], side.value, _NONE)]
    at = np.searchsorted(keys, spot, side="right") - 1
    return np.where(keys[at] == spot, value[at], _NONE)


def granular_change_accuracy(sums: Sums) -> Any:
    """Weighted harmonic mean of value and label precision and recall of changes, α = 10/11."""
    correct, wrong = np.asarray(sums["gca_correct"], float), np.asarray(sums["gca_wrong"], float)
    p, r = correct + wrong + sums["gca_overpredicted"], correct + wrong + sums["gca_missed"]
    parts = [ratio(correct, p), ratio(correct, r), ratio(correct + wrong, p), ratio(correct + wrong, r)]
    weights = [ALPHA * p, ALPHA * r, (1 - ALPHA) * p, (1 - ALPHA) * r]
    inverse = sum(w * ratio(1.0, part) for w, part in zip(weights, parts, strict=True))
    return np.where(np.all([part > 0 for part in parts], axis=0), ratio(sum(weights), inverse), 0.0)[()]


def _flexible(weight: float) -> Metric:
    key = "flexible_goal_accuracy" + ("" if weight == 0.5 else f"@{weight:g}")
    value = share(f"fga_sum@{weight:g}", "fga_turns")
    return Metric(key, f"FGA (λ={weight:g})", count_flexible, value, source=DEY)


CHANGE_METRICS = by_key(
    *map(_flexible, LAMBDAS),
    Metric("turn_goal_accuracy", "TGA", count_turn_goal, share("tga_right", "tga_turns"), source=DEY),
    Metric("granular_change_accuracy", "GCA", count_changes, granular_change_accuracy, source=_AKSU),
)

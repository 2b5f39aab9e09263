"""Scores of state tracking that follow change from turn to turn: FGA, turn goal accuracy, GCA.

In: a `StatePair`, whose turns stand in the order of their dialogues. Out: additive counts by turn,
and metrics in [0, 1] made of them. Nothing loops over turns: the previous turn of a triple is its
key less one stride, and the history of a slot is a run of neighbouring rows.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from . import Metric, Sums, ratio
from .states import StatePair, Triples, contains, distinct

__all__ = [
    "CHANGE_METRICS",
    "LAMBDAS",
    "count_changes",
    "count_flexible",
    "count_turn_goal",
    "granular_change_accuracy",
]

#: Values of λ that are reported; the metric's default is 0.5.
LAMBDAS = (0.25, 0.5, 0.75, 1.0)
#: Weight of precision and recall of values, against that of labels, in granular change accuracy.
ALPHA = 10 / 11
DEY = "Dey et al. 2022, arXiv:2204.03375"


def new_triples(pair: StatePair, side: Triples) -> np.ndarray:
    """Tell for each triple whether the previous turn of its dialogue lacked it."""
    return pair.first[side.turn] | ~contains(side.key, side.key - pair.stride)


def judge_turns(pair: StatePair) -> tuple[np.ndarray, np.ndarray]:
    """Tell for each turn whether P = G, and whether it is in error itself; where neither holds, only
    earlier errors remain."""
    lost, invented = ~pair.gold_in_pred, ~pair.pred_in_gold
    exact = (pair.per_turn(pair.gold, lost) == 0) & (pair.per_turn(pair.pred, invented) == 0)
    own = (pair.per_turn(pair.gold, lost & new_triples(pair, pair.gold)) > 0) | (
        pair.per_turn(pair.pred, invented & new_triples(pair, pair.pred)) > 0
    )
    # An error after an exact turn is new, also where gold alone drops a slot.
    after_exact = np.r_[True, exact[:-1]] | pair.first if len(pair) else exact
    return exact, ~exact & (after_exact | own)


def count_turn_goal(pair: StatePair) -> pd.DataFrame:
    """Count by turn: ``tga_right``, 1 where flexible goal accuracy is above 0; ``tga_turns``, 1.

    So a turn is right if P = G or only earlier errors remain. This is how the authors count; a turn in
    which gold only drops a slot that the prediction keeps is wrong.

    Examples
    --------
    >>> from dialogeval.metrics.states import pair_states_from_lists
    >>> a, b = ("hotel", "area", "north"), ("hotel", "stars", "4")
    >>> count_turn_goal(pair_states_from_lists([{a}, {a}, {a}], [{a}, {a, b}, {a, b}]))["tga_right"].tolist()
    [1, 0, 1]
    """
    _, wrong = judge_turns(pair)
    right = (~wrong).astype("int64")
    return pd.DataFrame({"tga_right": right, "tga_turns": np.ones(len(pair), "int64")}, index=pair.index)


def count_flexible(pair: StatePair) -> pd.DataFrame:
    """Count flexible goal accuracy by turn, for every λ of `LAMBDAS`.

    Parameters
    ----------
    pair : StatePair

    Returns
    -------
    pandas.DataFrame
        ``fga_turns``, 1, and ``fga_sum@λ``: 1 where P = G; else 0 where the turn itself errs; else
        1 − exp(−λ·d), d turns after the last turn that scored 0.

    Examples
    --------
    >>> from dialogeval.metrics.states import pair_states_from_lists
    >>> a, b = ("hotel", "area", "north"), ("hotel", "stars", "4")
    >>> counts = count_flexible(pair_states_from_lists([set(), set(), set()], [{a}, {a}, {a}]))
    >>> counts["fga_sum@0.5"].round(3).tolist()
    [0.0, 0.393, 0.632]
    """
    n = len(pair)
    exact, zero = judge_turns(pair)
    rows = np.arange(n)
    # A wrong turn that does not score 0 follows one that did, in its own dialogue.
    distance = rows - np.maximum.accumulate(np.where(zero, rows, -1)) if n else rows
    columns: dict[str, Any] = {"fga_turns": np.ones(n, "int64")}
    for weight in LAMBDAS:
        columns[f"fga_sum@{weight:g}"] = np.where(
            exact, 1.0, np.where(zero, 0.0, 1 - np.exp(-weight * distance))
        )
    return pd.DataFrame(columns, index=pair.index)


def count_changes(pair: StatePair) -> pd.DataFrame:
    """Count by turn the changes that were correct, wrong, missed and over-predicted.

    Parameters
    ----------
    pair : StatePair

    Returns
    -------
    pandas.DataFrame
        ``gca_correct``, ``gca_wrong``, ``gca_missed``, ``gca_overpredicted``. A slot seen earlier
        on a side and absent now has the value "none" on that side.

    Notes
    -----
    As in the authors' code, a slot that both sides drop in the same turn is counted twice, as correct
    and then as missed. So gold against itself does not reach 1 where slots are dropped.

    Examples
    --------
    >>> from dialogeval.metrics.states import pair_states_from_lists
    >>> a, b = ("hotel", "area", "north"), ("hotel", "stars", "4")
    >>> count_changes(pair_states_from_lists([{a}, {a, b}], [{a}, {a}])).sum().tolist()
    [1, 0, 0, 1]
    """
    run, turn, gold, pred, gold_seen, pred_seen = _slot_histories(pair)
    starts = np.r_[True, np.diff(run) != 0] if len(run) else np.zeros(0, bool)
    gold_changed = gold_seen & (starts | ~_before(gold_seen) | (gold != _before(gold)))
    pred_changed = pred_seen & (starts | ~_before(pred_seen) | (pred != _before(pred)))
    gone, dropped = gold == _NONE, pred == _NONE
    equal = gold_seen & pred_seen & (gold == pred)
    g = gold_changed
    correct = g & ((~pred_seen & gone) | equal)
    missed = g & ~pred_seen & ~gone
    over = g & pred_seen & ~equal & gone
    wrong = g & pred_seen & ~equal & ~gone
    p = pred_changed
    settled = p & gold_seen
    again = settled & equal & ~correct
    missed_late = settled & dropped & ~again
    counts = {
        "gca_correct": correct.astype(int) + again + (p & ~gold_seen & dropped),
        "gca_wrong": wrong.astype(int) + (settled & ~again & ~dropped & (gold != pred) & ~wrong),
        "gca_missed": missed.astype(int) + missed_late,
        "gca_overpredicted": over.astype(int) + (p & ~gold_seen & ~dropped),
    }
    sums = {k: np.bincount(turn, weights=v, minlength=len(pair)).astype("int64") for k, v in counts.items()}
    return pd.DataFrame(sums, index=pair.index)


_NONE = -1


def _before(values: np.ndarray) -> np.ndarray:
    return np.r_[values[:1], values[:-1]]


def _slot_histories(pair: StatePair) -> tuple[np.ndarray, ...]:
    """Lay out every slot's history: one row a turn from its first mention to the dialogue's end.

    Returns row arrays: number of the run (one slot in one dialogue), turn, gold value, predicted value (`_NONE` where absent), and whether either side has mentioned the slot by then.
    """
    width = max(len(pair.slots), 1)
    ends = np.searchsorted(
        pair.dialogue, np.arange(pair.dialogue.max() + 1 if len(pair) else 0), side="right"
    )

    def first_mention(side: Triples) -> tuple[np.ndarray, np.ndarray]:
        group = pair.dialogue[side.turn] * width + side.slot
        order = np.argsort(group, kind="stable")  # triples come in the order of turns
        group = group[order]
        first = np.r_[True, group[1:] != group[:-1]] if len(group) else np.zeros(0, bool)
        return group[first], side.turn[order][first]

    gold_keys, gold_from = first_mention(pair.gold)
    pred_keys, pred_from = first_mention(pair.pred)
    keys = distinct(np.concatenate([gold_keys, pred_keys]))
    never = len(pair)
    since = {}
    for name, known, start in (("gold", gold_keys, gold_from), ("pred", pred_keys, pred_from)):
        since[name] = np.full(len(keys), never)
        since[name][np.searchsorted(keys, known)] = start
    start = np.minimum(since["gold"], since["pred"])
    length = ends[keys // width] - start
    run = np.repeat(np.arange(len(keys)), length)
    turn = np.arange(len(run)) - np.repeat(np.cumsum(length) - length, length) + start[run]
    spot = turn * width + (keys % width)[run]
    seen = (turn >= since["gold"][run], turn >= since["pred"][run])
    return run, turn, _values(pair, pair.gold, spot), _values(pair, pair.pred, spot), *seen


def _values(pair: StatePair, side: Triples, spot: np.ndarray) -> np.ndarray:
    """Look up the value of (turn, slot) keys; of several values the last one counts.

    A value ``none``, where a protocol keeps it, is what an absent slot has.
    """
    keys = pair.slot_key(side)
    if not len(keys):
        return np.full(len(spot), _NONE)
    at = np.searchsorted(keys, spot, side="right") - 1
    at[at < 0] = 0
    found = (keys[at] == spot) & (pair.values != "none")[side.value[at]]
    return np.where(found, side.value[at], _NONE)


def granular_change_accuracy(sums: Sums) -> Any:
    """Weighted harmonic mean of value and label precision and recall of changes, α = 10/11.

    Gold against itself is not 1: it gives 0.994 on MultiWOZ 2.1 and 0.935 on CrossWOZ-en. A slot that
    gold and prediction drop in the same turn counts as correct when gold's changes are gone through,
    and as missed when the prediction's are. The authors' code does so, and the score is theirs.

    Examples
    --------
    >>> sums = {"gca_correct": 3.0, "gca_wrong": 1.0, "gca_missed": 0.0, "gca_overpredicted": 0.0}
    >>> round(float(granular_change_accuracy(sums)), 4)
    0.7674
    """
    correct, wrong = np.asarray(sums["gca_correct"], float), np.asarray(sums["gca_wrong"], float)
    p, r = correct + wrong + sums["gca_overpredicted"], correct + wrong + sums["gca_missed"]
    parts = [ratio(correct, p), ratio(correct, r), ratio(correct + wrong, p), ratio(correct + wrong, r)]
    weights = [ALPHA * p, ALPHA * r, (1 - ALPHA) * p, (1 - ALPHA) * r]
    usable = np.all([part > 0 for part in parts], axis=0)
    inverse = sum(w * ratio(1.0, part) for w, part in zip(weights, parts, strict=True))
    return np.where(usable, ratio(sum(weights), inverse), 0.0)[()]


def _mean(sums: Sums, part: str, whole: str) -> Any:
    return ratio(sums[part], sums[whole])


def _flexible(weight: float) -> Metric:
    key = "flexible_goal_accuracy" if weight == 0.5 else f"flexible_goal_accuracy@{weight:g}"
    value = partial(_mean, part=f"fga_sum@{weight:g}", whole="fga_turns")
    return Metric(key, f"FGA (λ={weight:g})", count_flexible, value, source=DEY)


CHANGE_METRICS: dict[str, Metric] = {
    m.key: m
    for m in (
        *(_flexible(weight) for weight in LAMBDAS),
        Metric(
            "turn_goal_accuracy",
            "TGA",
            count_turn_goal,
            partial(_mean, part="tga_right", whole="tga_turns"),
            source=DEY,
        ),
        Metric(
            "granular_change_accuracy",
            "GCA",
            count_changes,
            granular_change_accuracy,
            source="Aksu & Chen 2024, arXiv:2403.11123",
        ),
    )
}

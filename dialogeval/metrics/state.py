"""Scores of state tracking: joint goal accuracy, slot F1 and their relatives.

Each counting function takes a `StatePair` and returns additive counts by turn; METRICS at the end
names the scores made of them. The plain-list functions of the evaluation card stand first. All
scores are in [0, 1].
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache, partial
from typing import Any

import numpy as np
import pandas as pd

from ..exceptions import UnknownNameError
from . import Metric, Sums, ratio
from .states import StatePair, contains, distinct, pair_states_from_lists

__all__ = ["STATE_METRICS", "joint_goal_accuracy", "slot_f1", "slot_f1_metric", "slot_scores"]

States = Sequence[Iterable[tuple[str, str, str]]]
LIN = "Lin & Chen 2021, arXiv:2101.11360"


def joint_goal_accuracy(predictions: States, golds: States) -> float:
    """Share of turns whose predicted state equals the gold state as a set of triples.

    Parameters
    ----------
    predictions, golds : sequence of sets of (domain, slot, value), length n
        Cumulative states, one a turn.

    Returns
    -------
    float
        In [0, 1]; 0 for no turns. A turn with both states empty counts as right.

    Raises
    ------
    UsageError
        Lengths differ, or a state is not a set of triples of strings.

    References
    ----------
    Lin & Chen 2021, arXiv:2101.11360 (evaluation card crosswoz-dst-eval).

    Examples
    --------
    >>> gold = [{("hotel", "area", "north")}, {("hotel", "area", "north"), ("hotel", "stars", "4")}]
    >>> joint_goal_accuracy([gold[0], gold[0]], gold)
    0.5
    """
    return score_lists(STATE_METRICS["joint_goal_accuracy"], predictions, golds)


def slot_f1(
    predictions: States, golds: States, *, slots: str = "gold", keyed: str = "name", empty: str = "0"
) -> float:
    """Mean over turns of the mean over a turn's slots of F1 between gold and predicted values.

    Parameters
    ----------
    predictions, golds : sequence of sets of (domain, slot, value), length n
    slots : {"gold", "union"}
        Average over the slots of the gold state (the card's recipe: what is predicted beside them
        is never looked at), or of both states.
    keyed : {"name", "domain-slot"}
        Take ``area`` of all domains for one slot (the card), or each domain's for its own.
    empty : {"0", "1", "skip"}
        What a turn without any slot to average scores; ``skip`` leaves it out.

    Returns
    -------
    float
        In [0, 1].

    Raises
    ------
    UsageError, UnknownNameError

    References
    ----------
    Evaluation card crosswoz-dst-eval, after Lin & Chen 2021, arXiv:2101.11360.

    Examples
    --------
    >>> slot_f1([{("hotel", "area", "north")}], [{("hotel", "area", "north"), ("hotel", "stars", "4")}])
    0.5
    """
    return score_lists(slot_f1_metric(slots, keyed, empty), predictions, golds)


def slot_scores(predictions: States, golds: States) -> dict[str, float]:
    """Micro-averaged precision, recall and F1 of the triples of all turns.

    Parameters
    ----------
    predictions, golds : sequence of sets of (domain, slot, value), length n

    Returns
    -------
    dict
        ``slot_precision``, ``slot_recall``, ``slot_f1_micro``, each in [0, 1].

    Raises
    ------
    UsageError

    Examples
    --------
    >>> slot_scores([{("hotel", "area", "north")}], [{("hotel", "area", "south")}])["slot_f1_micro"]
    0.0
    """
    keys = ("slot_precision", "slot_recall", "slot_f1_micro")
    return {k: score_lists(STATE_METRICS[k], predictions, golds) for k in keys}


def score_lists(metric: Metric, predictions: States, golds: States, **pairing: Any) -> float:
    """Score plain lists with any state metric; keyword arguments go to the pairing."""
    counts = metric.counts(pair_states_from_lists(predictions, golds, **pairing))
    return float(metric.value(dict(counts.sum())))


# Counting functions ---------------------------------------------------------------------------


def count_triples(pair: StatePair) -> pd.DataFrame:
    """Count by turn: ``turns`` (1), ``exact`` (P = G), ``tp`` = |P∩G|, ``fp`` = |P−G|, ``fn`` = |G−P|."""
    tp = pair.per_turn(pair.gold, pair.gold_in_pred)
    fn = pair.per_turn(pair.gold) - tp
    fp = pair.per_turn(pair.pred) - tp
    exact = ((fn == 0) & (fp == 0)).astype("int64")
    ones = np.ones(len(pair), "int64")
    return pd.DataFrame({"turns": ones, "exact": exact, "tp": tp, "fp": fp, "fn": fn}, index=pair.index)


def count_slot_f1(pair: StatePair, slots: str, keyed: str, empty: str) -> pd.DataFrame:
    """Count by turn: the turn's mean F1 over its slots, and whether the turn is averaged."""
    code = pair.name_codes if keyed == "name" else np.arange(len(pair.slots))
    width = max(len(pair.slots), 1)
    n_values = max(len(pair.values), 1)

    def side(triples: Any) -> tuple[np.ndarray, np.ndarray]:
        # Ignoring the domain may make two triples one, hence the second `distinct`.
        slot = triples.turn * width + code[triples.slot]
        key = slot * n_values + triples.value
        key = distinct(key) if keyed == "name" else key
        return key, key // n_values

    gold_key, gold_slot = side(pair.gold)
    pred_key, pred_slot = side(pair.pred)
    found = distinct(np.concatenate([gold_slot, pred_slot]) if slots == "union" else gold_slot)
    both = gold_key[contains(pred_key, gold_key)] // n_values

    def count(of: np.ndarray) -> np.ndarray:
        here = np.searchsorted(found, of)
        here[here == len(found)] = 0
        return np.bincount(here[found[here] == of], minlength=len(found)) if len(found) else np.zeros(0)

    f1 = ratio(2 * count(both), count(gold_slot) + count(pred_slot))
    turn = found // width
    n = np.bincount(turn, minlength=len(pair))
    mean = ratio(np.bincount(turn, weights=f1, minlength=len(pair)), n, empty=1.0 if empty == "1" else 0.0)
    averaged = (n > 0).astype("int64") if empty == "skip" else np.ones(len(pair), "int64")
    tag = f"slot_f1[{slots},{keyed},{empty}]"
    return pd.DataFrame({f"{tag}_sum": mean * averaged, f"{tag}_turns": averaged}, index=pair.index)


# Values ---------------------------------------------------------------------------------------


def _share(part: str, whole: str, sums: Sums) -> Any:
    return ratio(sums[part], sums[whole])


def precision(sums: Sums, empty: float = 0.0) -> Any:
    """TP / (TP + FP)."""
    return ratio(sums["tp"], sums["tp"] + sums["fp"], empty)


def recall(sums: Sums, empty: float = 0.0) -> Any:
    """TP / (TP + FN)."""
    return ratio(sums["tp"], sums["tp"] + sums["fn"], empty)


def micro_f1(sums: Sums, empty: float = 0.0) -> Any:
    """2 TP / (2 TP + FP + FN)."""
    return ratio(2 * sums["tp"], 2 * sums["tp"] + sums["fp"] + sums["fn"], empty)


@lru_cache
def slot_f1_metric(slots: str = "gold", keyed: str = "name", empty: str = "0") -> Metric:
    """Return the metric ``slot_f1`` with its three switches, which its signature carries.

    Parameters
    ----------
    slots : {"gold", "union"}
    keyed : {"name", "domain-slot"}
    empty : {"0", "1", "skip"}
        See `slot_f1`.

    Returns
    -------
    Metric

    Raises
    ------
    UnknownNameError

    Examples
    --------
    >>> slot_f1_metric(empty="skip").options
    (('slots', 'gold'), ('keyed', 'name'), ('empty', 'skip'))
    """
    switches: dict[str, tuple[str, tuple[str, ...]]] = {
        "slots": (slots, ("gold", "union")),
        "keyed": (keyed, ("name", "domain-slot")),
        "empty": (str(empty), ("0", "1", "skip")),
    }
    for switch, (choice, known) in switches.items():
        if choice not in known:
            raise UnknownNameError(f"choice of slot_f1's {switch}", choice, known)
    tag = f"slot_f1[{slots},{keyed},{empty}]"
    return Metric(
        "slot_f1",
        "Slot F1",
        partial(count_slot_f1, slots=slots, keyed=keyed, empty=str(empty)),
        partial(_share, f"{tag}_sum", f"{tag}_turns"),
        source=f"evaluation card crosswoz-dst-eval, after {LIN}",
        options=tuple((switch, choice) for switch, (choice, _) in switches.items()),
    )


STATE_METRICS: dict[str, Metric] = {
    m.key: m
    for m in (
        Metric("joint_goal_accuracy", "JGA", count_triples, partial(_share, "exact", "turns"), source=LIN),
        slot_f1_metric(),
        Metric("slot_precision", "Slot P", count_triples, precision, source="DSTC9; ConvLab"),
        Metric("slot_recall", "Slot R", count_triples, recall, source="DSTC9; ConvLab"),
        Metric("slot_f1_micro", "Slot F1 (micro)", count_triples, micro_f1, source="DSTC9; ConvLab"),
    )
}

"""Scores of state tracking that look at slots: TRADE's slot accuracy, average goal accuracy, relative slot accuracy.

In: a `StatePair`. Out: additive counts by turn, and metrics in [0, 1] made of them.
"""

from __future__ import annotations

from functools import partial

import numpy as np
import pandas as pd

from . import Metric, Sums, ratio
from .state import STATE_METRICS, count_triples, micro_f1, precision, recall
from .states import StatePair, contains, distinct

__all__ = ["DSTC9_METRICS", "SLOT_METRICS", "count_average_goal", "count_relative_slots", "count_slot_errors"]


def count_slot_errors(pair: StatePair) -> pd.DataFrame:
    """Count as TRADE does: what is missed, and what is wrong elsewhere than in a missed slot.

    Parameters
    ----------
    pair : StatePair
        ``n_slots`` is the number of slots of the ontology.

    Returns
    -------
    pandas.DataFrame
        By turn: ``ontology_slots``, ``slots_missed`` (gold triples that were not predicted) and
        ``slots_wrong`` (predicted triples that are not gold, unless their slot is missed already).

    Examples
    --------
    >>> from dialogeval.metrics.states import pair_states_from_lists
    >>> a, b = ("hotel", "area", "north"), ("hotel", "stars", "4")
    >>> count_slot_errors(pair_states_from_lists([{b}], [{a}], n_slots=30)).to_dict("records")
    [{'ontology_slots': 30, 'slots_missed': 1, 'slots_wrong': 1}]
    """
    missed = pair.gold.take(~pair.gold_in_pred)
    wrong = pair.pred.take(~pair.pred_in_gold)
    fresh = ~contains(distinct(pair.slot_key(missed)), pair.slot_key(wrong))
    return pd.DataFrame(
        {
            "ontology_slots": pair.n_slots,
            "slots_missed": pair.per_turn(missed),
            "slots_wrong": pair.per_turn(wrong, fresh),
        },
        index=pair.index,
    )


def slot_accuracy(sums: Sums) -> np.ndarray:
    """(S − missed − wrong) / S."""
    slots = sums["ontology_slots"]
    return ratio(slots - sums["slots_missed"] - sums["slots_wrong"], slots)


def count_average_goal(pair: StatePair) -> pd.DataFrame:
    """Count by turn: ``aga_sum`` = |P∩G| / |G|, and ``aga_turns``, 1 where G is not empty.

    Examples
    --------
    >>> from dialogeval.metrics.states import pair_states_from_lists
    >>> a, b = ("hotel", "area", "north"), ("hotel", "stars", "4")
    >>> count_average_goal(pair_states_from_lists([{a}, set()], [{a, b}, set()])).to_dict("records")
    [{'aga_sum': 0.5, 'aga_turns': 1}, {'aga_sum': 0.0, 'aga_turns': 0}]
    """
    size = pair.per_turn(pair.gold)
    share = ratio(pair.per_turn(pair.gold, pair.gold_in_pred), size)
    return pd.DataFrame({"aga_sum": share, "aga_turns": (size > 0).astype("int64")}, index=pair.index)


def count_relative_slots(pair: StatePair) -> pd.DataFrame:
    """Count by turn: ``rsa_sum`` = (T − M − W) / T over the slots T of either state, and ``rsa_turns``, 1.

    M counts gold slots that the prediction lacks, W predicted triples that are not gold; a turn with
    both states empty scores 0, as its authors define it.

    Examples
    --------
    >>> from dialogeval.metrics.states import pair_states_from_lists
    >>> a, b = ("hotel", "area", "north"), ("hotel", "stars", "4")
    >>> count_relative_slots(pair_states_from_lists([{a}], [{a, b}]))["rsa_sum"].tolist()
    [0.5]
    """
    gold, pred = distinct(pair.slot_key(pair.gold)), distinct(pair.slot_key(pair.pred))
    width = max(len(pair.slots), 1)
    n = len(pair)
    absent = np.bincount(gold[~contains(pred, gold)] // width, minlength=n)
    total = np.bincount(pred // width, minlength=n) + absent
    wrong = pair.per_turn(pair.pred, ~pair.pred_in_gold)
    return pd.DataFrame(
        {"rsa_sum": ratio(total - absent - wrong, total), "rsa_turns": np.ones(n, "int64")}, index=pair.index
    )


def _mean(sums: Sums, name: str) -> np.ndarray:
    return ratio(sums[f"{name}_sum"], sums[f"{name}_turns"])


SLOT_METRICS: dict[str, Metric] = {
    m.key: m
    for m in (
        Metric(
            "slot_accuracy",
            "Slot accuracy",
            count_slot_errors,
            slot_accuracy,
            source="Wu et al. 2019 (TRADE)",
        ),
        Metric(
            "average_goal_accuracy",
            "AGA",
            count_average_goal,
            partial(_mean, name="aga"),
            source="Rastogi et al. 2020; Dey et al. 2022, arXiv:2204.03375",
        ),
        Metric(
            "relative_slot_accuracy",
            "RSA",
            count_relative_slots,
            partial(_mean, name="rsa"),
            source="Kim et al. 2022, arXiv:2203.03123",
        ),
    )
}


def count_compared(pair: StatePair) -> pd.DataFrame:
    """Count as DSTC9 does: ``compared_slots``, all of the turn's annotation, and ``compared_right`` of them."""
    lost = pair.slot_key(pair.gold.take(~pair.gold_in_pred))
    invented = pair.slot_key(pair.pred.take(~pair.pred_in_gold))
    wrong = distinct(np.concatenate([lost, invented])) // max(len(pair.slots), 1)
    right = pair.n_slots - np.bincount(wrong, minlength=len(pair))
    return pd.DataFrame({"compared_slots": pair.n_slots, "compared_right": right}, index=pair.index)


def _right(sums: Sums) -> np.ndarray:
    return ratio(sums["compared_right"], sums["compared_slots"])


_official = partial(Metric, source="DSTC9 track 2, official scorer")

#: DSTC9's scores, by the keys of the ones they take the place of: precision, recall and F1 are 1
#: where there is nothing to divide by.
DSTC9_METRICS: dict[str, Metric] = {
    m.key: m
    for m in (
        STATE_METRICS["joint_goal_accuracy"],
        _official("slot_accuracy", "Slot accuracy", count_compared, _right),
        _official("slot_precision", "Slot P", count_triples, partial(precision, empty=1.0)),
        _official("slot_recall", "Slot R", count_triples, partial(recall, empty=1.0)),
        _official("slot_f1_micro", "Slot F1 (micro)", count_triples, partial(micro_f1, empty=1.0)),
    )
}

"""Scores of state tracking with fuzzy values, as the MultiWOZ_Evaluation scorer counts them.

In: a `StatePair`. Out: counts by turn where two values match if their classic partial ratio, rounded to
a whole per cent, is above 95. Distinct pairs of values are compared once.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from ..database import alike
from . import Metric, Sums, ratio
from .states import StatePair, contains, distinct

__all__ = ["FUZZY_METRICS", "THRESHOLD", "count_fuzzy"]

#: Two values match from this partial ratio on, in whole per cent: when it is above 95.
THRESHOLD = 96
SOURCE = "Nekvinda & Dušek 2021 (MultiWOZ_Evaluation)"


def count_fuzzy(pair: StatePair) -> pd.DataFrame:
    """Count matching slots by turn.

    Parameters
    ----------
    pair : StatePair
        A slot with several values matches if any of them does.

    Returns
    -------
    pandas.DataFrame
        ``fuzzy_turns``, 1; ``fuzzy_exact``, equal slot sets and all values match; ``fuzzy_tp``,
        predicted slots with a matching gold value; ``fuzzy_fp``, all other predicted slots;
        ``fuzzy_fn``, gold slots without a matching prediction.

    Examples
    --------
    >>> from dialogeval.metrics.states import pair_states_from_lists
    >>> gold, pred = {("hotel", "name", "acorn guest house")}, {("hotel", "name", "the acorn guest house")}
    >>> count_fuzzy(pair_states_from_lists([pred], [gold]))["fuzzy_tp"].tolist()
    [1]
    """
    gold_key, pred_key = pair.slot_key(pair.gold), pair.slot_key(pair.pred)
    both = pd.DataFrame({"key": gold_key, "gold": pair.gold.value}).merge(
        pd.DataFrame({"key": pred_key, "pred": pair.pred.value}), on="key"
    )
    matching = distinct(
        both["key"].to_numpy()[_matches(pair, both["gold"].to_numpy(), both["pred"].to_numpy())]
    )
    gold_slots, pred_slots = distinct(gold_key), distinct(pred_key)
    width, n = max(len(pair.slots), 1), len(pair)

    def per_turn(keys: np.ndarray) -> np.ndarray:
        return np.bincount(keys // width, minlength=n)

    tp = per_turn(matching)
    fp, fn = per_turn(pred_slots) - tp, per_turn(gold_slots) - tp
    same_slots = per_turn(gold_slots[~contains(pred_slots, gold_slots)]) == 0
    columns = {
        "fuzzy_turns": np.ones(n, "int64"),
        "fuzzy_exact": (same_slots & (fp == 0) & (fn == 0)).astype("int64"),
        "fuzzy_tp": tp,
        "fuzzy_fp": fp,
        "fuzzy_fn": fn,
    }
    return pd.DataFrame(columns, index=pair.index)


def _matches(pair: StatePair, gold: np.ndarray, pred: np.ndarray) -> np.ndarray:
    n_values = max(len(pair.values), 1)
    codes, distinct = pd.factorize(gold * n_values + pred)
    verdicts = [
        g == p or alike(pair.values[g], pair.values[p], THRESHOLD)
        for g, p in zip(distinct // n_values, distinct % n_values, strict=True)
    ]
    return np.array(verdicts, dtype=bool)[codes]


def _share(sums: Sums, part: str, *whole: str) -> Any:
    return ratio(sums[part], sum(sums[w] for w in whole))


def _f1(sums: Sums) -> Any:
    tp2 = 2 * sums["fuzzy_tp"]
    return ratio(tp2, tp2 + sums["fuzzy_fp"] + sums["fuzzy_fn"])


def _exact(sums: Sums) -> Any:
    return _share(sums, "fuzzy_exact", "fuzzy_turns")


def _precision(sums: Sums) -> Any:
    return _share(sums, "fuzzy_tp", "fuzzy_tp", "fuzzy_fp")


def _recall(sums: Sums) -> Any:
    return _share(sums, "fuzzy_tp", "fuzzy_tp", "fuzzy_fn")


_metric = partial(Metric, counts=count_fuzzy, source=SOURCE)

#: By the keys of the exact scores, whose place they take in a protocol with fuzzy values.
FUZZY_METRICS: dict[str, Metric] = {
    m.key: m
    for m in (
        _metric("joint_goal_accuracy", "JGA (fuzzy)", value=_exact),
        _metric("slot_precision", "Slot P (fuzzy)", value=_precision),
        _metric("slot_recall", "Slot R (fuzzy)", value=_recall),
        _metric("slot_f1_micro", "Slot F1 (fuzzy)", value=_f1),
    )
}

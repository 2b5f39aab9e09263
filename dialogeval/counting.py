"""Counting and reading off: from pairs to counts, from counts to values with their intervals.

In: metrics, and what is compared, or the counts of it by turn or by dialogue. Out: counts, and a row a
score. Nothing here knows where the counts come from: one process, or many.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from .metrics import Metric
from .resampling import all_dialogue_sums, bootstrap, jackknife, percentile_interval

__all__ = ["count_all", "value_table"]


def count_all(metrics: tuple[Metric, ...], pairs: Mapping[str, Any]) -> dict[Callable, pd.DataFrame]:
    """Run every counting function of the metrics once.

    Parameters
    ----------
    metrics : tuple of Metric
    pairs : mapping of task to pair

    Returns
    -------
    dict of callable to pandas.DataFrame
        The counts by turn or dialogue, by counting function.

    Examples
    --------
    >>> from .metrics.state import STATE_METRICS
    >>> from .metrics.states import pair_states_from_lists
    >>> one = STATE_METRICS["joint_goal_accuracy"]
    >>> len(count_all((one,), {"state": pair_states_from_lists([set()], [set()])})[one.counts])
    1
    """
    parts = {part.counts: part.task for m in metrics for part in m.sources}
    return {function: function(pairs[task]) for function, task in parts.items()}


def value_table(
    metrics: tuple[Metric, ...], counts: Mapping[Callable, pd.DataFrame], resamples: int, seed: int
) -> pd.DataFrame:
    """Read values and intervals off the counts.

    Parameters
    ----------
    metrics : tuple of Metric
    counts : mapping of counting function to counts
    resamples, seed : int

    Returns
    -------
    pandas.DataFrame
        As `Scores.table`.

    Examples
    --------
    >>> metric = Metric("share", "share", len, lambda sums: sums["n"] / 2)
    >>> counts = {len: pd.DataFrame({"n": [1]}, index=pd.Index(["d"], name="dialogue_id"))}
    >>> float(value_table((metric,), counts, 0, 1).loc["share", "value"])
    0.5
    """
    # A score of several parts reads the sums of all of them, side by side.
    sums = {f: dict(frame.sum()) for f, frame in counts.items()}
    intervals: dict[str, tuple[float, float]] = {}
    if resamples:
        single = all_dialogue_sums(counts)
        by_dialogue = {
            which: single[which[0]] if len(which) == 1 else pd.concat([single[f] for f in which], axis=1)
            for which in dict.fromkeys(m.functions for m in metrics)
        }
        tables = {}
        for number, (which, frame) in enumerate(by_dialogue.items()):
            drawn_here = (m for m in metrics if m.functions == which and m.resample == "bootstrap")
            values = {m.key: m.value for m in drawn_here}
            if values:
                tables[str(number)] = (frame, values)
        if tables:
            drawn = bootstrap(tables, resamples, seed)
            intervals = {key: percentile_interval(values) for key, values in drawn.items()}
        for metric in metrics:
            if metric.resample == "jackknife":
                intervals[metric.key] = jackknife(by_dialogue[metric.functions], metric)
    rows = {}
    for metric in metrics:
        low, high = intervals.get(metric.key, (np.nan, np.nan))
        rows[metric.key] = {
            "label": metric.label,
            "value": float(metric.value({c: n for f in metric.functions for c, n in sums[f].items()})),
            "low": low,
            "high": high,
            "unit": metric.unit,
            "better": metric.better,
        }
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("metric")

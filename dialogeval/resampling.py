"""How sure a score is: intervals from the counts that the score itself is made of.

The unit of resampling is the dialogue, because the turns of one dialogue are not independent. A
bootstrap of R resamples is the product of an (R, dialogues) matrix of draw counts and the
(dialogues, columns) matrix of counts; nothing is scored again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd

from .metrics import Metric
from .metrics.diversity import delete_one_sums
from .progress import progress

__all__ = [
    "all_dialogue_sums",
    "bootstrap",
    "dialogue_sums",
    "draw_counts",
    "jackknife",
    "percentile_interval",
]

#: Draws held in memory at once; bounds the memory of large test sets, and never changes a draw.
BLOCK = 4_000_000


def dialogue_sums(counts: pd.DataFrame) -> pd.DataFrame:
    """Sum turn-level counts by dialogue.

    Parameters
    ----------
    counts : pandas.DataFrame
        Indexed by (dialogue_id, turn) or by dialogue_id.

    Returns
    -------
    pandas.DataFrame
        One row a dialogue, sorted by dialogue_id.

    Examples
    --------
    >>> i = pd.MultiIndex.from_tuples([("a", 0), ("a", 1), ("b", 0)], names=["dialogue_id", "turn"])
    >>> dialogue_sums(pd.DataFrame({"n": [1, 1, 1]}, index=i))["n"].tolist()
    [2.0, 1.0]
    """
    return all_dialogue_sums({"": counts})[""]


def all_dialogue_sums(counts: Mapping[Any, pd.DataFrame]) -> dict[Any, pd.DataFrame]:
    """Sum several tables by dialogue; tables that share their index are sorted out once.

    Parameters
    ----------
    counts : mapping of any key to pandas.DataFrame
        Each as for `dialogue_sums`.

    Returns
    -------
    dict
        The sums by the same keys.

    Examples
    --------
    >>> t = pd.DataFrame({"n": [1, 1]}, index=pd.Index(["b", "a"], name="dialogue_id"))
    >>> all_dialogue_sums({"x": t})["x"].index.tolist()
    ['a', 'b']
    """
    coded: dict[int, tuple[np.ndarray, pd.Index]] = {}
    sums = {}
    for key, frame in counts.items():
        if id(frame.index) not in coded:
            codes, ids = pd.factorize(frame.index.get_level_values("dialogue_id"), sort=True)
            coded[id(frame.index)] = codes, pd.Index(ids, name="dialogue_id")
        codes, index = coded[id(frame.index)]
        columns = {c: np.bincount(codes, weights=frame[c].to_numpy(), minlength=len(index)) for c in frame}
        sums[key] = pd.DataFrame(columns, index=index)
    return sums


def draw_counts(n: int, resamples: int, seed: int) -> Iterator[np.ndarray]:
    """Yield, in blocks, how often each of n dialogues is drawn in each resample.

    Parameters
    ----------
    n : int
        Dialogues.
    resamples : int
    seed : int

    Yields
    ------
    ndarray of float64, shape (block, n)
        Rows sum to n.

    Examples
    --------
    >>> next(draw_counts(4, 2, seed=1)).sum(axis=1)
    array([4., 4.])
    """
    rng = np.random.default_rng(seed)
    block = max(1, BLOCK // max(n, 1))
    starts = range(0, resamples if n else 0, block)
    # One block is done at once; only many of them are worth a bar.
    for start in starts if len(starts) < 2 else progress(starts, len(starts), "drawing dialogues", "block"):
        size = min(block, resamples - start)
        drawn = rng.integers(0, n, size=(size, n)) + np.arange(size)[:, None] * n
        yield np.bincount(drawn.ravel(), minlength=size * n).reshape(size, n).astype(float)


def bootstrap(
    tables: Mapping[str, tuple[pd.DataFrame, Mapping[str, Callable]]], resamples: int, seed: int
) -> dict[str, np.ndarray]:
    """Return the values of all metrics in every resample, from the same draws.

    Parameters
    ----------
    tables : mapping
        Any name to (dialogue-level counts, {metric key: value function}); all tables hold the same
        dialogues in the same order.
    resamples : int
    seed : int

    Returns
    -------
    dict of str to ndarray, shape (resamples,)

    Examples
    --------
    >>> t = pd.DataFrame({"hits": [1.0, 1.0], "n": [1.0, 1.0]}, index=["a", "b"])
    >>> bootstrap({"t": (t, {"share": lambda s: s["hits"] / s["n"]})}, 3, seed=1)["share"]
    array([1., 1., 1.])
    """
    n = max((len(counts) for counts, _ in tables.values()), default=0)
    parts: dict[str, list[np.ndarray]] = {key: [] for _, values in tables.values() for key in values}
    # One product for all tables: the matrix of draws is by far the largest thing to read.
    everything = np.hstack(
        [counts.to_numpy(dtype=float) for counts, _ in tables.values()] or [np.zeros((n, 0))]
    )
    for weights in draw_counts(n, resamples, seed):
        drawn = (weights @ everything).T
        start = 0
        for counts, values in tables.values():
            sums = dict(zip(counts.columns, drawn[start : start + counts.shape[1]], strict=True))
            start += counts.shape[1]
            for key, value in values.items():
                parts[key].append(np.broadcast_to(value(sums), (len(weights),)))
    return {key: np.concatenate(chunks) if chunks else np.zeros(0) for key, chunks in parts.items()}


def percentile_interval(values: np.ndarray, level: float = 0.95) -> tuple[float, float]:
    """Return the percentile interval of resampled values.

    Parameters
    ----------
    values : ndarray, shape (resamples,)
    level : float
        Share of the resamples that lie inside.

    Returns
    -------
    tuple of float
        Lower and upper end.

    Examples
    --------
    >>> [round(end, 6) for end in percentile_interval(np.arange(101.0))]
    [2.5, 97.5]
    """
    low, high = np.quantile(values, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def jackknife(counts: pd.DataFrame, metric: Metric) -> tuple[float, float]:
    """Return a 95 % interval from leaving out one dialogue at a time.

    Counts of types shrink when dialogues are drawn with replacement, so that a bootstrap interval
    of distinct-n may lie wholly below the score; leaving one dialogue out hardly moves them.

    Parameters
    ----------
    counts : pandas.DataFrame
        By dialogue.
    metric : Metric

    Returns
    -------
    tuple of float
        Score ± 1.96 jackknife standard errors; NaN for fewer than two dialogues.

    Examples
    --------
    >>> counts = pd.DataFrame({"x": [1.0, 1.0, 1.0]}, index=["a", "b", "c"])
    >>> jackknife(counts, Metric("m", "m", lambda p: p, lambda s: s["x"] / s["x"]))
    (1.0, 1.0)
    """
    n = len(counts)
    if n < 2:
        return float("nan"), float("nan")
    values = np.asarray(metric.value(delete_one_sums(counts)), dtype=float)
    error = 1.959964 * np.sqrt((n - 1) / n * np.square(values - values.mean()).sum())
    value = float(metric.value(dict(counts.sum())))
    return float(value - error), float(value + error)

"""Is a difference significant: paired tests of two systems on the same dialogues.

In: dialogue-level counts of both systems, in the same order. Out: the differences under paired
bootstrap draws and under random exchanges of the systems' labels, and p-values. Nothing is scored
again: a draw is a product of matrices.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from dialogeval.exceptions import UsageError, progress, show
from dialogeval.metrics import Metric
from dialogeval.metrics.text import delete_one_sums

#: Defaults of the intervals; both stand in the signature.
RESAMPLES, SEED = 1000, 12345
#: Draws held in memory at once; bounds the memory of large test sets, and never changes a draw.
BLOCK = 4_000_000


def dialogue_sums(counts: pd.DataFrame) -> pd.DataFrame:
    """Sum turn-level counts by dialogue."""
    return all_dialogue_sums({"": counts})[""]


def all_dialogue_sums(counts: Mapping[Any, pd.DataFrame]) -> dict[Any, pd.DataFrame]:
    """Sum several tables by dialogue; tables that share their index are sorted out once."""
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
    """Yield, in blocks, how often each of n dialogues is drawn in each resample."""
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
    """Return the values of all metrics in every resample, from the same draws."""
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
    """Return the percentile interval of resampled values."""
    low, high = np.quantile(values, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def jackknife(counts: pd.DataFrame, metric: Metric) -> tuple[float, float]:
    """Return a 95 % interval from leaving out one dialogue at a time."""
    n = len(counts)
    if n < 2:
        return float("nan"), float("nan")
    values = np.asarray(metric.value(delete_one_sums(counts)), dtype=float)
    error = 1.959964 * np.sqrt((n - 1) / n * np.square(values - values.mean()).sum())
    value = float(metric.value(dict(counts.sum())))
    return float(value - error), float(value + error)


def count_all(metrics: tuple[Metric, ...], pairs: Mapping[str, Any]) -> dict[Callable, pd.DataFrame]:
    """Run every counting function of the metrics once."""
    parts = {part.counts: part for m in metrics for part in m.sources}
    counts = {function: function(pairs[part.task]) for function, part in parts.items()}
    for function, frame in counts.items():
        if not isinstance(frame, pd.DataFrame) or "dialogue_id" not in frame.index.names:
            expected = "a table of counts, indexed by dialogue_id and turn or by dialogue_id"
            raise UsageError(f"counts of metric {parts[function].key}", expected=expected, got=show(frame))
    return counts


def value_table(
    metrics: tuple[Metric, ...], counts: Mapping[Callable, pd.DataFrame], resamples: int, seed: int
) -> pd.DataFrame:
    """Read values and intervals off the counts."""
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


Values = Mapping[str, Callable]


def paired_bootstrap(
    a: pd.DataFrame, b: pd.DataFrame, values: Values, resamples: int, seed: int
) -> dict[str, np.ndarray]:
    """Return the differences A − B of all metrics when the same dialogues are drawn for both."""
    left, right = a.to_numpy(dtype=float), b.to_numpy(dtype=float)
    parts: dict[str, list[np.ndarray]] = {key: [] for key in values}
    for weights in draw_counts(len(a), resamples, seed):
        _collect(parts, values, a.columns, weights @ left, weights @ right)
    return {key: np.concatenate(chunks) for key, chunks in parts.items()}


def randomisation(
    a: pd.DataFrame, b: pd.DataFrame, values: Values, shuffles: int, seed: int
) -> dict[str, np.ndarray]:
    """Return the differences of all metrics when the systems' labels are exchanged at random."""
    left, right = a.to_numpy(dtype=float), b.to_numpy(dtype=float)
    change = right - left
    total_left, total_right = left.sum(axis=0), right.sum(axis=0)
    parts: dict[str, list[np.ndarray]] = {key: [] for key in values}
    for exchange in exchanges(len(a), shuffles, seed):
        moved = exchange @ change
        _collect(parts, values, a.columns, total_left + moved, total_right - moved)
    return {key: np.concatenate(chunks) for key, chunks in parts.items()}


def exchanges(n: int, shuffles: int, seed: int) -> Iterator[np.ndarray]:
    """Yield, in blocks, which of n dialogues are exchanged in each shuffle: 0 or 1, shape (block, n)."""
    rng = np.random.default_rng(seed)
    block = max(1, BLOCK // max(n, 1))
    for start in range(0, shuffles, block):
        size = min(block, shuffles - start)
        bits = np.unpackbits(
            np.frombuffer(rng.bytes(size * ((n + 7) // 8)), dtype=np.uint8).reshape(size, -1), axis=1
        )
        yield bits[:, :n].astype(float)


def _collect(
    parts: dict[str, list[np.ndarray]], values: Values, columns: pd.Index, left: np.ndarray, right: np.ndarray
) -> None:
    a, b = dict(zip(columns, left.T, strict=True)), dict(zip(columns, right.T, strict=True))
    for key, value in values.items():
        parts[key].append(np.asarray(value(a)) - np.asarray(value(b)))


def p_value(drawn: np.ndarray, observed: float, centre: float = 0.0) -> float:
    """Return the two-sided p-value (c + 1) / (n + 1), c draws at least as far from the centre as observed
    from 0."""
    # Rounding must not make a draw that equals the observation look smaller than it.
    far = np.abs(drawn - centre) >= abs(observed) - 1e-12 * max(1.0, abs(observed))
    return float((far.sum() + 1) / (len(drawn) + 1))


def holm(p: Sequence[float]) -> list[float]:
    """Correct p-values of several tests after Holm (1979)."""
    order = np.argsort(p, kind="stable")
    scaled = np.asarray(p, dtype=float)[order] * np.arange(len(p), 0, -1)
    corrected = np.empty(len(p))
    corrected[order] = np.minimum(np.maximum.accumulate(scaled), 1.0)
    return [float(x) for x in corrected]


def maximal_groups(names: Sequence[str], alike: Callable[[str, str], bool]) -> list[tuple[str, ...]]:
    """Return the largest groups within which no two systems can be told apart."""
    rank = {name: i for i, name in enumerate(names)}
    near = {x: {y for y in names if y != x and alike(x, y)} for x in names}
    found: list[tuple[str, ...]] = []

    def extend(group: set[str], candidates: set[str], done: set[str]) -> None:
        if not candidates and not done:
            found.append(tuple(sorted(group, key=rank.__getitem__)))
            return
        # With a pivot (Bron and Kerbosch), thirty systems that are all alike are one step, not 2^30.
        pivot = max(sorted(candidates | done, key=rank.__getitem__), key=lambda x: len(candidates & near[x]))
        for name in sorted(candidates - near[pivot], key=rank.__getitem__):
            extend(group | {name}, candidates & near[name], done & near[name])
            candidates = candidates - {name}
            done = done | {name}

    extend(set(), set(names), set())
    return sorted(found, key=lambda group: [rank[name] for name in group])

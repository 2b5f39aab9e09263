"""Is a difference significant: paired tests of two systems on the same dialogues.

In: dialogue-level counts of both systems, in the same order. Out: the differences under paired
bootstrap draws and under random exchanges of the systems' labels, and p-values. Nothing is scored
again: a draw is a product of matrices.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np
import pandas as pd

from .resampling import BLOCK, draw_counts

__all__ = ["holm", "maximal_groups", "p_value", "paired_bootstrap", "randomisation"]

Values = Mapping[str, Callable]


def paired_bootstrap(
    a: pd.DataFrame, b: pd.DataFrame, values: Values, resamples: int, seed: int
) -> dict[str, np.ndarray]:
    """Return the differences A − B of all metrics when the same dialogues are drawn for both.

    Parameters
    ----------
    a, b : pandas.DataFrame
        Counts by dialogue, same index and columns.
    values : mapping of str to callable
        Value function by metric key.
    resamples : int
    seed : int

    Returns
    -------
    dict of str to ndarray, shape (resamples,)

    Examples
    --------
    >>> a = pd.DataFrame({"hits": [1.0, 1.0], "n": [1.0, 1.0]}, index=["d", "e"])
    >>> paired_bootstrap(a, a * [0, 1], {"share": lambda s: s["hits"] / s["n"]}, 2, seed=1)["share"]
    array([1., 1.])
    """
    left, right = a.to_numpy(dtype=float), b.to_numpy(dtype=float)
    parts: dict[str, list[np.ndarray]] = {key: [] for key in values}
    for weights in draw_counts(len(a), resamples, seed):
        _collect(parts, values, a.columns, weights @ left, weights @ right)
    return {key: np.concatenate(chunks) for key, chunks in parts.items()}


def randomisation(
    a: pd.DataFrame, b: pd.DataFrame, values: Values, shuffles: int, seed: int
) -> dict[str, np.ndarray]:
    """Return the differences of all metrics when the systems' labels are exchanged at random.

    Parameters
    ----------
    a, b : pandas.DataFrame
        Counts by dialogue, same index and columns.
    values : mapping of str to callable
    shuffles : int
        In each, every dialogue's labels are exchanged or not with equal chance.
    seed : int

    Returns
    -------
    dict of str to ndarray, shape (shuffles,)

    Examples
    --------
    >>> a = pd.DataFrame({"hits": [1.0, 1.0], "n": [1.0, 1.0]}, index=["d", "e"])
    >>> sorted(set(randomisation(a, a * [0, 1], {"s": lambda s: s["hits"] / s["n"]}, 99, seed=1)["s"].tolist()))
    [-1.0, 0.0, 1.0]
    """
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
    """Return the two-sided p-value (c + 1) / (n + 1), c draws at least as far from the centre as observed from 0.

    Parameters
    ----------
    drawn : ndarray
        Differences under the draws.
    observed : float
        The difference of the two systems.
    centre : float
        0 for randomisation; the mean of the draws for a bootstrap, whose draws scatter around the
        difference rather than around 0.

    Returns
    -------
    float
        In (0, 1].

    Examples
    --------
    >>> p_value(np.array([0.1, -0.3, 0.2]), 0.3)
    0.5
    """
    # Rounding must not make a draw that equals the observation look smaller than it.
    far = np.abs(drawn - centre) >= abs(observed) - 1e-12 * max(1.0, abs(observed))
    return float((far.sum() + 1) / (len(drawn) + 1))


def holm(p: Sequence[float]) -> list[float]:
    """Correct p-values of several tests after Holm (1979).

    Parameters
    ----------
    p : sequence of float

    Returns
    -------
    list of float
        In the order given, never below the uncorrected ones, at most 1.

    Examples
    --------
    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    order = np.argsort(p, kind="stable")
    scaled = np.asarray(p, dtype=float)[order] * np.arange(len(p), 0, -1)
    corrected = np.empty(len(p))
    corrected[order] = np.minimum(np.maximum.accumulate(scaled), 1.0)
    return [float(x) for x in corrected]


def maximal_groups(names: Sequence[str], alike: Callable[[str, str], bool]) -> list[tuple[str, ...]]:
    """Return the largest groups within which no two systems can be told apart.

    Parameters
    ----------
    names : sequence of str
        In the order of their rank.
    alike : callable
        Whether two of them cannot be told apart.

    Returns
    -------
    list of tuple of str
        Every name is in at least one; sorted by rank.

    Examples
    --------
    >>> maximal_groups("abc", lambda x, y: {x, y} != {"a", "c"})
    [('a', 'b'), ('b', 'c')]
    """
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

"""Made-up test sets, on which the truth is known: coverage of intervals, false alarms, effects.

In: numbers. Out: small tables for the lesson's figures.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt

import numpy as np
import pandas as pd

from dialogeval.exceptions import UsageError
from dialogeval.leaderboard import published
from dialogeval.stats import draw_counts
from lessons.uncertainty import NORMAL

__all__ = ["coverage", "effects", "false_alarms", "published_intervals", "simulate_turns"]


def published_intervals(column: str = "success", dialogues: int = 1000) -> pd.DataFrame:
    """Return published rates of the leaderboard with the intervals that their size alone gives them.

    Parameters
    ----------
    column : {"success", "inform"}
        A share of dialogues, in per cent: one right or wrong each.
    dialogues : int, default=1000
        Of the test set of MultiWOZ.

    Returns
    -------
    pandas.DataFrame
        Best first, indexed by system: value, low, high; ± 1.96 binomial standard errors.

    Examples
    --------
    >>> published_intervals().round(1).loc["pptod"].tolist()
    [72.7, 69.9, 75.5]
    """
    value = published()[column].sort_values(ascending=False, kind="stable")
    error = NORMAL * np.sqrt(value * (100 - value) / dialogues)
    return pd.DataFrame({"value": value, "low": value - error, "high": value + error})


def simulate_turns(
    correlation: float, shape: tuple[int, ...], turns: int, rate: float, rng: np.random.Generator
) -> np.ndarray:
    """Draw how many turns of each dialogue are right, when turns of one dialogue are correlated.

    Parameters
    ----------
    correlation : float
        Of two turns of one dialogue; from 0 (independent) to below 1.
    shape : tuple of int
        Of the result.
    turns : int
        Of each dialogue.
    rate : float
        Share of turns that are right in the long run.
    rng : numpy.random.Generator

    Returns
    -------
    ndarray of int
        A beta-binomial draw: every dialogue has a difficulty of its own.

    Examples
    --------
    >>> simulate_turns(0.0, (2, 3), 8, 1.0, np.random.default_rng(1)).tolist()
    [[8, 8, 8], [8, 8, 8]]
    """
    if not 0 <= correlation < 1:
        raise UsageError("correlation", expected="from 0 to below 1", got=str(correlation))
    if correlation == 0:
        return rng.binomial(turns, rate, shape)
    spread = 1 / correlation - 1
    return rng.binomial(turns, rng.beta(rate * spread, (1 - rate) * spread, shape))


def coverage(
    correlations: Sequence[float], seed: int, dialogues: int = 100, turns: int = 8, runs: int = 2000
) -> pd.DataFrame:
    """Simulate how often 95 % intervals hold the truth, by the correlation of a dialogue's turns.

    Parameters
    ----------
    correlations : sequence of float
    seed, dialogues, turns : int
    runs : int, default=2000
        Test sets drawn for each correlation, of a system that is right in half of all turns.

    Returns
    -------
    pandas.DataFrame
        Indexed by correlation: shares of ``whole dialogues drawn`` (bootstrap of 1,000 resamples) and ``turns
        taken as independent`` (binomial formula).

    Examples
    --------
    >>> table = coverage([0.5], seed=1, runs=400)
    >>> bool(table.iloc[0, 0] > 0.9 > table.iloc[0, 1])
    True
    """
    rng, rate, rows = np.random.default_rng(seed), 0.5, []
    # The draws do not depend on the test set, so that all runs can share one product.
    weights = np.vstack(list(draw_counts(dialogues, 1000, seed))) / (dialogues * turns)
    for correlation in correlations:
        hits = simulate_turns(correlation, (dialogues, runs), turns, rate, rng)
        low, high = np.quantile(weights @ hits.astype(float), [0.025, 0.975], axis=0)
        value = hits.sum(axis=0) / (dialogues * turns)
        error = NORMAL * np.sqrt(value * (1 - value) / (dialogues * turns))
        rows.append([np.mean((low <= rate) & (rate <= high)), np.mean(np.abs(value - rate) <= error)])
    columns = ["whole dialogues drawn", "turns taken as independent"]
    return pd.DataFrame(rows, index=pd.Index(correlations, name="correlation"), columns=columns)


def false_alarms(
    systems: Sequence[int], seed: int, dialogues: int = 100, turns: int = 8, runs: int = 2000
) -> pd.DataFrame:
    """Simulate how often some pair of equal systems differs "significantly" at 5 %.

    Parameters
    ----------
    systems : sequence of int
        How many equal systems are compared, each with each.
    seed, dialogues, turns, runs : int

    Returns
    -------
    pandas.DataFrame
        By number of systems: shares of runs with at least one such pair, ``every test at 5 %`` and
        ``Holm's correction``.

    Examples
    --------
    >>> table = false_alarms([2, 6], seed=1, runs=500)
    >>> bool(table.loc[6, "every test at 5 %"] > 0.2 > table.loc[6, "Holm's correction"])
    True
    """
    rng, most = np.random.default_rng(seed), max(systems)
    ease = rng.beta(1, 1, (runs, dialogues))  # shared: a hard dialogue is hard for all systems
    hits = rng.binomial(turns, ease[:, None], (runs, most, dialogues)).astype(np.float32)
    means = hits.mean(axis=2)
    centred = hits - means[:, :, None]
    products = centred @ centred.transpose(0, 2, 1) / (dialogues - 1)
    own = np.diagonal(products, axis1=1, axis2=2)
    # Variance of a difference, for all pairs at once; 1 keeps a system and itself from 0 / 0.
    variance = own[:, :, None] + own[:, None] - 2 * products + np.eye(most)
    z = np.abs(means[:, :, None] - means[:, None]) / np.sqrt(variance / dialogues)
    # Holm's first step decides whether any pair is found: the smallest p, times the number of pairs.
    smallest = {k: _two_sided(z[:, :k, :k].max(axis=(1, 2))) for k in systems}
    rows = [[np.mean(p <= 0.05), np.mean(p * (k * (k - 1) / 2) <= 0.05)] for k, p in smallest.items()]
    columns = ["every test at 5 %", "Holm's correction"]
    return pd.DataFrame(rows, index=pd.Index(systems, name="systems"), columns=columns)


def effects(spread: float, cases: Sequence[tuple[float, int]]) -> pd.DataFrame:
    """Return interval and p-value of differences, large and small, on many and few dialogues.

    Parameters
    ----------
    spread : float
        Standard deviation of the difference in one dialogue.
    cases : sequence of (difference, dialogues)

    Returns
    -------
    pandas.DataFrame
        One row a case: value, low, high, p; by the normal approximation.

    Examples
    --------
    >>> effects(0.5, [(0.1, 100)]).round(3).iloc[0].tolist()
    [0.1, 0.002, 0.198, 0.046]
    """
    rows = {}
    for value, dialogues in cases:
        error = spread / sqrt(dialogues)
        ends = value - NORMAL * error, value + NORMAL * error
        p = float(_two_sided(value / error))
        said = "p < 0.001" if p < 0.001 else f"p = {p:.3f}"
        rows[f"{value * 100:g} points, {dialogues:,} dialogues: {said}"] = (value, *ends, p)
    return pd.DataFrame.from_dict(rows, orient="index", columns=["value", "low", "high", "p"])


def _two_sided(z: np.ndarray | float) -> np.ndarray:
    """Return how often a normal number lies at least as far from 0 as z."""
    from scipy.stats import norm

    return 2 * norm.sf(np.abs(z))

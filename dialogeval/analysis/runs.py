"""Unbroken runs: how long something holds, turn after turn, within a dialogue.

In: a `StatePair` and rows of its turns. Out: for each row the first turn of its run.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from ..metrics.states import StatePair

__all__ = ["life_starts", "run_starts"]


def run_starts(pair: StatePair, row: np.ndarray, key: np.ndarray) -> np.ndarray:
    """For each (row, key), the first row of the unbroken run of turns of one dialogue that have the key.

    Parameters
    ----------
    pair : StatePair
    row, key : ndarray of int64, shape (m,)

    Returns
    -------
    ndarray of int64, shape (m,)

    Examples
    --------
    >>> from dialogeval.metrics.states import pair_states_from_lists
    >>> pair = pair_states_from_lists([set()] * 4, [set()] * 4)
    >>> run_starts(pair, np.array([0, 1, 3]), np.array([7, 7, 7])).tolist()
    [0, 0, 3]
    """
    if not len(row):
        return np.zeros(0, "int64")
    order = np.lexsort((row, key))
    r, k = row[order], key[order]
    step = np.diff(r)
    broken = np.r_[True, (np.diff(k) != 0) | (step > 1) | (pair.first[r[1:]] & (step > 0))]
    starts = np.empty(len(r), "int64")
    starts[order] = r[np.maximum.accumulate(np.where(broken, np.arange(len(r)), 0))]
    return starts


def life_starts(pair: StatePair, coded: pd.DataFrame) -> np.ndarray:
    """For each error, the row of the turn from which its slot has been wrong without a break.

    Parameters
    ----------
    pair : StatePair
    coded : pandas.DataFrame
        Errors as codes.

    Returns
    -------
    ndarray of int64, length = rows of ``coded``

    Examples
    --------
    >>> from dialogeval.breakdowns.states import paired_errors
    >>> from dialogeval.metrics.states import pair_states_from_lists
    >>> wrong = {("hotel", "area", "north")}
    >>> pair = pair_states_from_lists([set(), set(), wrong, set()], [wrong, wrong, wrong, wrong])
    >>> life_starts(pair, paired_errors(pair)).tolist()
    [0, 0, 3]
    """
    return run_starts(pair, coded["row"].to_numpy(), coded["code"].to_numpy())

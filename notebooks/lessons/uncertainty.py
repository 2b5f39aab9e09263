"""How sure the scores of real systems are, step by step: halves, intervals by unit, exchanges, power.

In: counts of right turns by dialogue, a comparison, responses. Out: small tables for the lesson's
figures. Nothing here is needed to score: the library's own tests are in `dialogeval.stats`.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from typing import Any

import numpy as np
import pandas as pd

from dialogeval.comparison import Comparison
from dialogeval.exceptions import UsageError
from dialogeval.metrics import TextPair
from dialogeval.metrics.ngrams import encode, ngram_codes, splitter
from dialogeval.stats import draw_counts, percentile_interval

__all__ = [
    "detectable_by_size",
    "distinct_draws",
    "exchanges",
    "halves",
    "interval_by_unit",
    "overlaps",
    "share",
]

#: Standard errors on each side of a 95 % interval; and what a test at 5 % finds four times in five.
NORMAL, DETECTABLE = 1.959964, 1.959964 + 0.841621
#: More exchanges than this are drawn, not listed.
_MOST_LISTED = 16


def share(sums: Any) -> np.ndarray:
    """Return right turns of all turns, from sums or from a table of counts by dialogue.

    Examples
    --------
    >>> share(pd.DataFrame({"right": [1, 2], "turns": [2, 4]}).sum())
    np.float64(0.5)
    """
    return np.asarray(sums["right"]) / np.asarray(sums["turns"])


def halves(counts: pd.DataFrame, times: int, seed: int) -> pd.DataFrame:
    """Cut a test set into two halves at random, and score both; many times.

    Parameters
    ----------
    counts : pandas.DataFrame
        By dialogue: right, turns.
    times, seed : int

    Returns
    -------
    pandas.DataFrame
        One row a cut: ``one half``, ``other half``.

    Examples
    --------
    >>> counts = pd.DataFrame({"right": [0, 2], "turns": [2, 2]})
    >>> sorted(halves(counts, 1, seed=1).iloc[0])
    [0.0, 1.0]
    """
    n = len(counts)
    ranks = np.random.default_rng(seed).random((times, n)).argsort(axis=1)
    first = (ranks < n // 2).astype(float)
    table = counts[["right", "turns"]].to_numpy(dtype=float)
    scores = [part @ table for part in (first, 1 - first)]
    names = ("one half", "other half")
    return pd.DataFrame({name: sums[:, 0] / sums[:, 1] for name, sums in zip(names, scores, strict=True)})


def interval_by_unit(counts: pd.DataFrame, resamples: int, seed: int) -> pd.DataFrame:
    """Return a score's interval twice: from whole dialogues, and as if turns were independent.

    Parameters
    ----------
    counts : pandas.DataFrame
        By dialogue: right, turns.
    resamples, seed : int

    Returns
    -------
    pandas.DataFrame
        Rows ``by dialogue`` (bootstrap), ``by turn`` (binomial formula); columns value, low, high.

    Examples
    --------
    >>> counts = pd.DataFrame({"right": [0, 8] * 20, "turns": [8] * 40})
    >>> width = interval_by_unit(counts, 500, seed=1).eval("high - low")
    >>> bool(width["by dialogue"] > 2 * width["by turn"])
    True
    """
    table = counts[["right", "turns"]].to_numpy(dtype=float)
    drawn = np.vstack([weights @ table for weights in draw_counts(len(counts), resamples, seed)])
    value = float(share(counts.sum()))
    error = NORMAL * sqrt(value * (1 - value) / counts["turns"].sum())
    rows = [(value, *percentile_interval(drawn[:, 0] / drawn[:, 1])), (value, value - error, value + error)]
    return pd.DataFrame(rows, index=["by dialogue", "by turn"], columns=["value", "low", "high"])


def exchanges(a: pd.DataFrame, b: pd.DataFrame) -> np.ndarray:
    """Return the differences of two systems under every exchange of their labels.

    Parameters
    ----------
    a, b : pandas.DataFrame
        By dialogue, the same in both: right, turns; at most 16 dialogues.

    Returns
    -------
    ndarray, length 2 ** dialogues
        The difference as it is stands first.

    Raises
    ------
    UsageError
        Too many dialogues to list, or not the same ones.

    Examples
    --------
    >>> a, b = (pd.DataFrame({"right": r, "turns": [2, 2]}) for r in ([2, 1], [1, 1]))
    >>> exchanges(a, b).tolist()
    [0.25, 0.25, -0.25, -0.25]
    """
    if len(a) > _MOST_LISTED or not a["turns"].equals(b["turns"]):
        raise UsageError("dialogues", expected=f"the same in both, at most {_MOST_LISTED}", got=str(len(a)))
    change = (a["right"] - b["right"]).to_numpy()
    bits = (np.arange(2 ** len(a))[:, None] >> np.arange(len(a))[::-1]) & 1
    return (1 - 2 * bits) @ change / a["turns"].sum()


def overlaps(comparison: Comparison, key: str) -> pd.DataFrame:
    """Put the overlap of two systems' intervals beside the test of their difference.

    Parameters
    ----------
    comparison : Comparison
    key : str
        Of a metric.

    Returns
    -------
    pandas.DataFrame
        One row a pair, the closest first: difference, low, high, ``overlap`` (of the systems'
        own intervals), p (one test), p_holm, detectable.

    Examples
    --------
    >>> from dialogeval import compare, load_corpus
    >>> from lessons.example_trackers import first_slot_lost, one_turn_late
    >>> gold = load_corpus("sample/multiwoz")
    >>> systems = {"late": one_turn_late(gold), "lost": first_slot_lost(gold)}
    >>> overlaps(compare(gold, systems, "lin2021", resamples=50, shuffles=50), "joint_goal_accuracy")["overlap"].item()
    False
    """
    comparison.groups(key)  # refuses an unknown metric
    ends = pd.DataFrame({n: s.table.loc[key, ["low", "high"]] for n, s in comparison.scores.items()}).T
    pairs = comparison.pairs[comparison.pairs["metric"] == key].set_index(["a", "b"])
    a, b = (ends.loc[pairs.index.get_level_values(side)] for side in ("a", "b"))
    overlap = (a["low"].to_numpy() <= b["high"].to_numpy()) & (b["low"].to_numpy() <= a["high"].to_numpy())
    table = pairs[["difference", "low", "high"]].assign(overlap=overlap, p=pairs["p_randomisation"])
    return table.join(pairs[["p_holm", "detectable"]]).sort_values("difference", key=abs, kind="stable")


def detectable_by_size(
    a: pd.DataFrame, b: pd.DataFrame, sizes: Sequence[int], resamples: int, seed: int
) -> pd.Series:
    """Return the smallest detectable difference of two systems on test sets of other sizes.

    Parameters
    ----------
    a, b : pandas.DataFrame
        By dialogue: right, turns.
    sizes : sequence of int
        In dialogues like these.
    resamples, seed : int

    Returns
    -------
    pandas.Series
        By size: 2.80 standard errors of the difference, found four times in five at 5 %.

    Examples
    --------
    >>> a, b = (pd.DataFrame({"right": r, "turns": [4] * 4}) for r in ([4, 3, 1, 0], [4, 2, 1, 1]))
    >>> by_size = detectable_by_size(a, b, [50, 200], 2000, seed=1)
    >>> bool(1.9 < by_size[50] / by_size[200] < 2.1)
    True
    """
    table = np.column_stack([a["right"] - b["right"], a["turns"]]).astype(float)
    rng, found = np.random.default_rng(seed), {}
    for size in sizes:
        drawn = rng.multinomial(size, np.full(len(a), 1 / len(a)), resamples) @ table
        found[size] = DETECTABLE * float((drawn[:, 0] / drawn[:, 1]).std(ddof=1))
    return pd.Series(found, name="smallest detectable difference").rename_axis("dialogues")


def distinct_draws(pair: TextPair, n: int, resamples: int, seed: int) -> np.ndarray:
    """Return distinct-n of resampled dialogues, counted anew each time: what one should not use.

    Parameters
    ----------
    pair : TextPair
    n, resamples, seed : int

    Returns
    -------
    ndarray, length resamples
        Per cent of the n-grams.

    Examples
    --------
    >>> pair = TextPair(["d", "e"], [0, 0], ["", ""], ["a b", "c d"])
    >>> sorted(set(distinct_draws(pair, 1, 20, seed=1).tolist()))
    [50.0, 100.0]
    """
    from scipy.sparse import coo_array

    dialogue, ids = pd.factorize(pd.Series(pair.dialogue_id, dtype="str"))
    grams, text = ngram_codes(*encode(pair.responses, splitter(pair.tokenizer)), n)
    types = pd.factorize(grams)[0]
    owner = dialogue[text]
    present = coo_array((np.ones(len(types), dtype=np.float32), (owner, types))).tocsr()
    total = np.bincount(owner, minlength=len(ids))
    parts = []
    for weights in draw_counts(len(ids), resamples, seed):
        # A type counts once, however often its dialogue was drawn.
        seen = np.concatenate(
            [
                ((rows > 0).astype(np.float32) @ present > 0).sum(axis=1)
                for rows in np.array_split(weights, 20)
            ]
        )
        parts.append(100 * seen / (weights @ total))
    return np.concatenate(parts)

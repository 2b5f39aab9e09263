"""The tests of a comparison: every pair of systems under every score, from the counts of the scores.

In: the scores of several systems. Out: one row a score and pair, with difference, interval and p-values.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from .progress import progress
from .resampling import all_dialogue_sums, percentile_interval
from .scoring import Scores
from .significance import holm, p_value, paired_bootstrap, randomisation

__all__ = ["compare_pairs"]

#: Standard errors of a difference that a test at 5 % finds with 80 % probability.
_DETECTABLE = 1.959964 + 0.841621


def compare_pairs(
    scores: Mapping[str, Scores], resamples: int, shuffles: int, seed: int, level: float
) -> pd.DataFrame:
    """Test every pair of systems on every metric whose counts are additive.

    Parameters
    ----------
    scores : mapping of str to Scores
        Comparable ones.
    resamples, shuffles, seed : int
    level : float
        Of significance, after Holm's correction over the pairs of a metric.

    Returns
    -------
    pandas.DataFrame
        As `Comparison.pairs`.

    Examples
    --------
    >>> import dialogeval as de
    >>> gold = de.load_corpus("sample/crosswoz_en")
    >>> both = {name: de.score(gold, gold, "lin2021", resamples=0) for name in "ab"}
    >>> compare_pairs(both, 10, 99, 1, 0.05)["p_holm"].unique()
    array([1.])
    """
    rows = []
    metrics = next(iter(scores.values())).metrics
    # Metrics of the same counts share their draws; `sums` of one system hold each table once.
    families: dict[tuple, list] = {}
    for metric in metrics:
        families.setdefault(metric.functions, []).append(metric)
    sums = {name: all_dialogue_sums(s.counts) for name, s in scores.items()}
    couples = list(combinations(scores, 2))
    jobs = [(functions, family, *couple) for functions, family in families.items() for couple in couples]
    for functions, family, a, b in progress(jobs, len(jobs), "testing pairs of systems", "pair"):
        values = {m.key: m.value for m in family if m.resample == "bootstrap"}
        left, right = (pd.concat([sums[n][f] for f in functions], axis=1) for n in (a, b))
        left = left.loc[:, ~left.columns.duplicated()]
        right = right.loc[:, ~right.columns.duplicated()]
        drawn = paired_bootstrap(left, right, values, resamples, seed) if values and resamples else {}
        shuffled = randomisation(left, right, values, shuffles, seed) if values and shuffles else {}
        for metric in family:
            rows.append(_row(metric.key, a, b, scores, drawn.get(metric.key), shuffled.get(metric.key)))
    pairs = pd.DataFrame(rows)
    order = {m.key: i for i, m in enumerate(metrics)}
    pairs = pairs.sort_values("metric", key=lambda keys: keys.map(order), kind="stable", ignore_index=True)
    pairs.insert(8, "p_holm", np.nan)
    for _, rows_of in pairs.groupby("metric").groups.items():
        p = pairs.loc[rows_of, "p_randomisation"]
        if p.notna().all():
            pairs.loc[rows_of, "p_holm"] = holm(p.tolist())
    pairs["significant"] = pairs["p_holm"] < level
    return pairs


def _row(
    key: str,
    a: str,
    b: str,
    scores: Mapping[str, Scores],
    drawn: np.ndarray | None,
    shuffled: np.ndarray | None,
) -> dict[str, Any]:
    difference = scores[a][key] - scores[b][key]
    low = high = spread = p_bootstrap = p_randomisation = np.nan
    if drawn is not None:
        (low, high), spread = (
            percentile_interval(drawn),
            float(drawn.std(ddof=1)) if len(drawn) > 1 else np.nan,
        )
        p_bootstrap = p_value(drawn, difference, centre=float(drawn.mean()))
    if shuffled is not None:
        p_randomisation = p_value(shuffled, difference)
    return {
        "metric": key,
        "a": a,
        "b": b,
        "difference": difference,
        "low": low,
        "high": high,
        "p_bootstrap": p_bootstrap,
        "p_randomisation": p_randomisation,
        # Two systems that never differ say nothing on how far other ones have to lie apart.
        "detectable": _DETECTABLE * spread if spread > 0 else np.nan,
    }

"""What uncertainty costs: intervals of a family against scoring it once, and BLEU's paired bootstrap.

Reads real systems below ``$DIALOGEVAL_CASES``. The first lines time 1,000-resample intervals of all
scores of protocol ``trade`` against scoring the same system once, without intervals. The last times
sacreBLEU's paired bootstrap of two systems against ours at the same number of resamples: the resampling
alone, from counts that both have made already, and the whole way from the strings.
"""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd

import dialogeval as de
from dialogeval.metrics import Metric, TextPair
from dialogeval.stats import all_dialogue_sums, paired_bootstrap, value_table

from .bleu import read_pairs
from .states import timed

RUNS, RESAMPLES, SEED = 7, 1000, 12345


def main() -> int:
    """Measure; return 1 where scores differ, 2 where there is nothing to measure."""
    folder = os.environ.get("DIALOGEVAL_CASES")
    files = sorted(Path(folder, "states").glob("*.jsonl.gz")) if folder else []
    if not folder or not files:
        print("intervals: no predictions found; set DIALOGEVAL_CASES to the folder of cases")
        return 2
    for path in files:
        family(path)
    pairs = [read_pairs(Path(folder, "responses", f"{name}.pairs.jsonl.gz")) for name in ("ubar", "hdsa")]
    return 0 if bleu(*pairs) else 1


def family(path: Path) -> None:
    """Time the intervals of all state scores of one system against scoring it once."""
    predictions = de.load_predictions(path)
    once, intervals = [], []
    for _ in range(RUNS):
        seconds, scores = timed(lambda: de.score(None, predictions, "trade", resamples=0))
        once.append(seconds)
        without, _ = timed(partial(value_table, scores.metrics, scores.counts, 0, SEED))
        seconds, _ = timed(partial(value_table, scores.metrics, scores.counts, RESAMPLES, SEED))
        intervals.append(seconds - without)
    print(
        f"intervals {path.name.split('.')[0]:8} {RESAMPLES:,} resamples of {len(scores.table)} scores "
        f"{min(intervals) * 1e3:5.1f} ms, scoring once {min(once) * 1e3:5.1f} ms, "
        f"ratio {min(intervals) / min(once):4.2f} (target 1)"
    )


def bleu(a: TextPair, b: TextPair) -> bool:
    """Time both paired bootstraps and tell whether the scores agree."""
    from sacrebleu import BLEU
    from sacrebleu.significance import PairedTest

    # sacreBLEU wants one list of references for both systems: the turns that both have.
    columns = ["dialogue_id", "turn", "references", "responses"]
    tables = [pd.DataFrame({c: getattr(pair, c) for c in columns}) for pair in (a, b)]
    both = tables[0].merge(tables[1].drop(columns="references"), on=columns[:2])
    ids, turns, texts, left, right = (both[c].tolist() for c in both)
    theirs, ours, whole_ours, whole_theirs = [], [], [], []
    protocol = replace(de.PROTOCOLS["lai2019"], metrics=("sacrebleu",))
    (metric,) = protocol.resolve_metrics()
    for _ in range(3):
        build, test = timed(
            lambda: PairedTest(
                [("a", left), ("b", right)], {"BLEU": BLEU()}, [texts], test_type="bs", n_samples=RESAMPLES
            )
        )
        seconds, (_, expected) = timed(test)
        theirs.append(seconds)
        whole_theirs.append(seconds + build)
        count, counted = timed(
            lambda: [metric.counts(TextPair(ids, turns, texts, r, "13a")) for r in (left, right)]
        )
        seconds, _ = timed(partial(_ours, counted, metric))
        ours.append(seconds)
        whole_ours.append(seconds + count)
    values = [float(metric.value(dict(table.sum()))) for table in counted]
    equal = all(abs(v - e.score) < 1e-9 for v, e in zip(values, expected["BLEU"], strict=True))
    print(
        f"intervals: paired bootstrap of BLEU, {RESAMPLES:,} resamples: ours {min(ours) * 1e3:.1f} ms, sacreBLEU "
        f"{min(theirs) * 1e3:.0f} ms, {min(theirs) / min(ours):.0f} times as fast (target 20); from strings "
        f"{min(whole_theirs) / min(whole_ours):.1f} times; scores {'equal' if equal else 'DIFFER'}"
    )
    return equal


def _ours(counted: list[pd.DataFrame], metric: Metric) -> dict[str, np.ndarray]:
    sums = all_dialogue_sums(dict(enumerate(counted)))
    return paired_bootstrap(sums[0], sums[1], {metric.key: metric.value}, RESAMPLES, SEED)


if __name__ == "__main__":
    sys.exit(main())

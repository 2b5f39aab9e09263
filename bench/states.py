"""How long the whole family of state scores takes against the evaluation card's two-metric loop.

Reads the predictions of real systems below ``$DIALOGEVAL_CASES`` and prints one line a system: ours is
`score` under protocol ``trade`` from loaded tables, without intervals; the loop gets its sets ready made
and computes joint goal accuracy and slot F1. Both run in this process, turn about; the best of several
runs counts. Then the processor time of the command line on the DSTC9 submission, start included.
"""

from __future__ import annotations

import gc
import gzip
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import dialogeval as de
from dialogeval.corpora import catalog

RUNS = 7
State = set[tuple[str, str, str]]


def main() -> int:
    """Measure; return 1 where values differ, 2 where there is nothing to measure."""
    folder = os.environ.get("DIALOGEVAL_CASES")
    files = sorted(Path(folder, "states").glob("*.jsonl.gz")) if folder else []
    if not folder or not files:
        print("states: no predictions found; set DIALOGEVAL_CASES to a folder with states/*.jsonl.gz")
        return 2
    equal = [compare(path) for path in files]
    command(Path(folder, "dstc9", "crosswoz_en_test.submission.json.gz"))
    return 0 if all(equal) else 1


def compare(path: Path) -> bool:
    """Time both sides on one file and tell whether they agree."""
    predictions = de.load_predictions(path)
    pred, gold = read_sets(path)
    ours, theirs = [], []
    for _ in range(RUNS):
        seconds, scores = timed(lambda: de.score(None, predictions, "trade", resamples=0))
        ours.append(seconds)
        seconds, expected = timed(lambda: card_loop(pred, gold))
        theirs.append(seconds)
    values = (scores["joint_goal_accuracy"], scores["slot_f1"])
    equal = all(abs(a - b) < 1e-9 for a, b in zip(values, expected, strict=True))
    print(
        f"states {path.name.split('.')[0]:8} {len(gold):6,} turns: {len(scores.table)} scores "
        f"{min(ours) * 1e3:6.1f} ms, the card's loop {min(theirs) * 1e3:6.1f} ms, "
        f"ratio {min(ours) / min(theirs):4.2f} (target 1.5); values {'equal' if equal else 'DIFFER'}"
    )
    return equal


def card_loop(predictions: list[State], golds: list[State]) -> tuple[float, float]:
    """The evaluation card's recipe: joint goal accuracy and slot F1, with sets and loops."""
    right, f1 = 0, 0.0
    for pred, gold in zip(predictions, golds, strict=True):
        right += pred == gold
        scores = []
        for slot in {s for _, s, _ in gold}:
            wanted = {v for _, s, v in gold if s == slot}
            got = {v for _, s, v in pred if s == slot}
            scores.append(2 * len(wanted & got) / (len(wanted) + len(got)))
        f1 += sum(scores) / len(scores) if scores else 0.0
    return right / len(golds), f1 / len(golds)


def read_sets(path: Path) -> tuple[list[State], list[State]]:
    """Read predicted and gold states as sets of triples."""
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    pred, gold = ([{(d, s, v) for d, s, v in row[side]} for row in rows] for side in ("pred", "gold"))
    return pred, gold


def command(submission: Path) -> None:
    """Time `dialogeval score` on the CrossWOZ-en test set, where it is here."""
    if not submission.exists() or not catalog.local_file("crosswoz_en", "test").exists():
        print("states: no DSTC9 submission or no crosswoz_en here, the command line is not measured")
        return
    call = [sys.executable, "-m", "dialogeval", "score", str(submission)]
    seconds = []
    for _ in range(3):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run(
            [*call, "--corpus", "crosswoz_en", "--protocol", "dstc9", "--json"],
            capture_output=True,
            check=False,
        )
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        seconds.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
        if done.returncode:
            print(f"states: the command line failed: {done.stderr.decode()[:200]}")
            return
    print(
        f"states: dialogeval score, dstc9 on crosswoz_en: {min(seconds):.2f} s of processor time (target 4)"
    )


def timed(function: Callable[[], Any]) -> tuple[float, Any]:
    """Seconds of processor time a call took, and its result."""
    gc.collect()
    start = time.process_time()
    result = function()
    return time.process_time() - start, result


if __name__ == "__main__":
    sys.exit(main())

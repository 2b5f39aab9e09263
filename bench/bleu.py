"""How much faster corpus BLEU-1..4 is than one call of NLTK's ``corpus_bleu``, at equal values.

Reads the (reference, response) pairs of real systems below ``$DIALOGEVAL_CASES`` and prints one line
a system. Both sides run in this process, turn about; the best of several runs counts. NLTK gets its
texts split already and the four weights in one call; ours starts from the strings and includes the
sentence scores, which come from the same pass.
"""

from __future__ import annotations

import gzip
import json
import os
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from dialogeval.metrics import TextPair
from dialogeval.metrics.text import TEXT_METRICS, bleu_counts

RUNS = 5
WEIGHTS = [(1 / n,) * n for n in range(1, 5)]


def main() -> int:
    """Measure every system; return 1 where values differ, 2 where there is nothing to measure."""
    from nltk.translate.bleu_score import corpus_bleu

    folder = os.environ.get("DIALOGEVAL_CASES")
    files = sorted(Path(folder, "responses").glob("*.pairs.jsonl.gz")) if folder else []
    if not files:
        print("bleu: no pairs found; set DIALOGEVAL_CASES to a folder with responses/*.pairs.jsonl.gz")
        return 2
    warnings.simplefilter("ignore")
    equal = True
    for path in files:
        pair = read_pairs(path)
        responses = [r.split() for r in pair.responses]
        references = [[r.split()] for r in pair.references]
        ours, theirs = [], []
        for _ in range(RUNS):
            seconds, values = timed(ours_once, pair)
            ours.append(seconds)
            seconds, expected = timed(corpus_bleu, references, responses, WEIGHTS)
            theirs.append(seconds)
        equal &= all(abs(v - 100 * e) <= 1e-9 * 100 * e for v, e in zip(values, expected, strict=True))
        print(
            f"bleu {path.name.split('.')[0]:8} {len(pair.responses):6,} turns: "
            f"ours {min(ours) * 1e3:6.1f} ms, NLTK {min(theirs) * 1e3:6.1f} ms, "
            f"{min(theirs) / min(ours):4.1f} times as fast (target 6); values {'equal' if equal else 'DIFFER'}"
        )
    return 0 if equal else 1


def read_pairs(path: Path) -> TextPair:
    """Read a file of pairs."""
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    columns = ([row[k] for row in rows] for k in ("dialogue_id", "turn", "reference", "response"))
    return TextPair(*columns)


def ours_once(pair: TextPair) -> list[float]:
    """BLEU-1..4 from strings: counts, sums, values."""
    sums = bleu_counts(pair).sum()
    return [TEXT_METRICS[f"bleu_{n}"].value(sums) for n in range(1, 5)]


def timed(function: Callable[..., Any], *arguments: Any) -> tuple[float, Any]:
    """Seconds of processor time a call took, and its result."""
    start = time.process_time()
    result = function(*arguments)
    return time.process_time() - start, result


if __name__ == "__main__":
    sys.exit(main())

"""How long Inform and Success of a system take from loaded tables, and how long a query per turn takes.

Reads the predictions of real systems below ``$DIALOGEVAL_DATA`` and prints one line a system, in seconds
of processor time. Every run starts with a database that remembers no query. The peer asks the same
questions without memory: it compares every entry with every constraint, once a turn, with the same
partial ratio. Values have to be equal.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import dialogeval as de
from dialogeval.golds import match_turns
from dialogeval.metrics.task import FUZZY, TASK_METRICS, Database, TaskPair, alike, task_counts
from dialogeval.mwzeval import NO_CONSTRAINT, minutes
from dialogeval.pairing import task_pair
from dialogeval.protocols import PROTOCOLS

SYSTEMS = ("ubar", "lava")
TARGET = 0.6
RUNS = 3


class NoMemory(Database):
    """The same database, asked entry by entry."""

    def fitting(self, domain: str, constraints: Mapping[str, str]) -> int:
        """Return the entries that fit, as the database itself does."""
        table = self.tables.get(domain)
        if table is None:
            return 0
        wanted = {s: v for s, v in constraints.items() if s in table.columns and v not in NO_CONSTRAINT}
        entries = (
            zip(*(table[slot].tolist() for slot in wanted), strict=True) if wanted else [()] * len(table)
        )
        bits = 0
        for i, entry in enumerate(entries):
            if all(_fits(domain, s, v, e) for (s, v), e in zip(wanted.items(), entry, strict=True)):
                bits |= 1 << i
        return bits


def _fits(domain: str, slot: str, value: str, entry: str) -> bool:
    if entry == "?":
        return True
    if slot in ("arrive", "leave"):
        wanted, time = minutes(value) or 0, minutes(entry) or 0
        return time <= wanted if slot == "arrive" else time >= wanted
    return alike(value, entry) if (domain, slot) in FUZZY else entry == value


def main() -> int:
    """Measure some systems; return 1 where values differ, 2 where there is nothing to measure."""
    home = os.environ.get("DIALOGEVAL_DATA")
    files = [Path(home, "predictions", "multiwoz", f"{s}.json") for s in SYSTEMS] if home else []
    if not files or not all(f.exists() for f in files):
        print("task: no predictions found; set DIALOGEVAL_DATA to a folder with predictions/multiwoz/*.json")
        return 2
    gold = de.load_corpus("multiwoz21")
    results = [compare(gold, de.load_predictions(path)) for path in files]
    return 0 if all(results) else 1


def compare(gold: de.Corpus, predictions: de.Predictions) -> bool:
    """Measure one system, print a line, and tell whether the values are equal."""
    coverage = match_turns(gold, predictions, "skip")

    def prepare() -> TaskPair:
        return task_pair(gold, predictions, PROTOCOLS["mwzeval"], coverage)[0]

    runs = [timed(lambda: score(prepare())) for _ in range(RUNS)]
    pair = prepare()
    slow = replace(pair, database=NoMemory(pair.database.name, pair.database.tables))
    seconds, expected = timed(lambda: score(slow))
    ours = min(t for t, _ in runs)
    equal = all(values == expected for _, values in runs)
    print(
        f"task {predictions.name:8} {len(pair.turn):6,} turns: ours {ours:5.2f} s (target {TARGET}), "
        f"a query per turn {seconds:6.2f} s, {seconds / ours:5.1f} times as fast; "
        f"values {'equal' if equal else 'DIFFER'}",
        flush=True,
    )
    return equal


def score(pair: TaskPair) -> list[float]:
    """Inform and Success, per domain and in all."""
    sums = {str(name): total for name, total in task_counts(pair).sum().items()}
    keys = [key for key in TASK_METRICS if key.startswith(("inform", "success")) and "pol" not in key]
    return [float(TASK_METRICS[key].value(sums)) for key in keys if "hosp" not in key]


def timed(function: Callable[[], Any]) -> tuple[float, Any]:
    """Seconds of processor time a call took, and its result."""
    start = time.process_time()
    result = function()
    return time.process_time() - start, result


if __name__ == "__main__":
    sys.exit(main())

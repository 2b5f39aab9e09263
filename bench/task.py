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
from dialogeval.coverage import match_turns
from dialogeval.database import FUZZY, THRESHOLD, Database, load_database, partial_ratio
from dialogeval.metrics.offers import TaskPair
from dialogeval.metrics.task import TASK_METRICS, task_counts
from dialogeval.mwzeval import NO_CONSTRAINT, readable_time
from dialogeval.pairing_task import task_pair
from dialogeval.protocols import PROTOCOLS

SYSTEMS = ("damd", "ubar", "lava")
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
        entries = zip(*(table[slot].tolist() for slot in wanted), strict=True) if wanted else [()] * len(table)
        bits = 0
        for i, entry in enumerate(entries):
            if all(_fits(domain, s, v, e) for (s, v), e in zip(wanted.items(), entry, strict=True)):
                bits |= 1 << i
        return bits


def _fits(domain: str, slot: str, value: str, entry: str) -> bool:
    if entry == "?":
        return True
    if slot in ("arrive", "leave"):
        value = value if readable_time(value) else "00:00"
        return entry <= value if slot == "arrive" else entry >= value
    return partial_ratio(value, entry) >= THRESHOLD if (domain, slot) in FUZZY else entry == value


def main() -> int:
    """Measure some systems; return 1 where values differ, 2 where there is nothing to measure."""
    home = os.environ.get("DIALOGEVAL_DATA")
    files = [Path(home, "predictions", "multiwoz", f"{s}.json") for s in SYSTEMS] if home else []
    if not files or not all(f.exists() for f in files):
        print("task: no predictions found; set DIALOGEVAL_DATA to a folder with predictions/multiwoz/*.json")
        return 2
    gold = de.load_corpus("multiwoz21")
    equal = True
    for path in files:
        predictions = de.load_predictions(path)
        coverage = match_turns(gold, predictions, "skip")
        protocol = PROTOCOLS["mwzeval"]
        runs = [timed(lambda: score(task_pair(gold, predictions, protocol, coverage)[0])) for _ in range(RUNS)]  # noqa: B023
        pair = task_pair(gold, predictions, protocol, coverage)[0]
        database = load_database(gold)
        slow = replace(pair, database=NoMemory(database.name, database.tables))
        seconds, expected = timed(lambda: score(slow))  # noqa: B023
        ours = min(t for t, _ in runs)
        equal &= all(values == expected for _, values in runs)
        print(
            f"task {path.stem:8} {len(pair.turn):6,} turns: ours {ours:5.2f} s (target {TARGET}), "
            f"a query per turn {seconds:6.2f} s, {seconds / ours:5.1f} times as fast; "
            f"values {'equal' if equal else 'DIFFER'}"
        )
    return 0 if equal else 1


def score(pair: TaskPair) -> list[float]:
    """Inform and Success, per domain and in all."""
    sums = task_counts(pair).sum()
    keys = [key for key in TASK_METRICS if key.startswith(("inform", "success")) and "pol" not in key]
    return [float(TASK_METRICS[key].value(sums)) for key in keys if "hosp" not in key]


def timed(function: Callable[[], Any]) -> tuple[float, Any]:
    """Seconds of processor time a call took, and its result."""
    start = time.process_time()
    result = function()
    return time.process_time() - start, result


if __name__ == "__main__":
    sys.exit(main())

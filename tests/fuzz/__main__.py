"""Fuzz the readers one after the other: `python -m fuzz [--seconds N] [READER …]`, in the folder tests.

Each reader runs in a process of its own under libFuzzer, through atheris. A finding does not end the
run: input and traceback are kept in build/fuzz/READER/findings, one of a kind. Exit code 1 if there
is any.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import time
from pathlib import Path

from .targets import TARGETS

ROOT = Path(__file__).parents[2]
OUT = ROOT / "build" / "fuzz"


def main() -> int:
    """Run the readers that were named, or all, and print a line for each."""
    parser = argparse.ArgumentParser(prog="fuzz", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("readers", nargs="*", metavar="READER", help=", ".join(TARGETS))
    parser.add_argument("--seconds", type=int, default=300, help="for each reader (default: 300)")
    given = parser.parse_args()
    unknown = [name for name in given.readers if name not in TARGETS]
    if unknown:
        parser.error(f"unknown reader {unknown[0]}; known: {', '.join(TARGETS)}")
    if given.seconds < 1:
        parser.error(f"--seconds {given.seconds}; expected at least 1")
    worst = 0
    print(f"{'reader':<16}{'seconds':>9}{'executions':>12}{'findings':>10}")
    for name in given.readers or TARGETS:
        seconds, runs, found = fuzz(name, given.seconds)
        print(f"{name:<16}{seconds:>9.0f}{runs:>12,}{found:>10}", flush=True)
        worst |= found > 0 or runs == 0
    if worst:
        print(f"inputs and tracebacks: {OUT.relative_to(ROOT)}/READER/findings, logs beside it")
    return worst


def fuzz(name: str, seconds: int) -> tuple[float, int, int]:
    """Fuzz one reader; return the seconds it took, the executions and the different findings."""
    folder = OUT / name
    findings, log = folder / "findings", folder / "log.txt"
    findings.mkdir(parents=True, exist_ok=True)
    start, runs = time.monotonic(), 0
    # libFuzzer itself stops at what hangs, dies or fills memory; what is left of the time is for a new start.
    for attempt in range(50):
        left = max(1, seconds - round(time.monotonic() - start))
        command = [sys.executable, "-m", "fuzz.one", name, str(folder), f"-max_total_time={left}"]
        with log.open("w") as stream:
            code = subprocess.run(command, stdout=stream, stderr=subprocess.STDOUT, check=False).returncode
        text = log.read_text(errors="replace")
        runs += max(
            map(int, re.findall(r"^(?:stat::number_of_executed_units: |#)(\d+)", text, re.M)), default=0
        )
        if code == 0:
            break
        (findings / f"stopped-{attempt}.txt").write_text(text[-20_000:])
        if seconds - (time.monotonic() - start) < 5:
            break
    return time.monotonic() - start, runs, len(list(findings.glob("*.txt")))


if __name__ == "__main__":
    sys.exit(main())

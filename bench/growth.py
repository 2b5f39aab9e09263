"""How time and memory grow with the number of turns.

The shared systems' predictions with their gold, repeated under new ids to 7 thousand, 70 thousand and a
million turns, are read and scored: the state family (protocol ``trade``) and the generation family
(``lai2019``), each in a process of its own, whose time and peak memory are taken. The exponent of growth is
the slope of log time over log turns between the two larger sizes.
"""

from __future__ import annotations

import gzip
import json
import math
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

SIZES = (7_000, 70_000, 1_000_000)
FAMILIES = {"trade": "states/ubar.jsonl.gz", "lai2019": "responses/ubar.pairs.jsonl.gz"}
LIMIT = 1024**3

#: Scores a file and prints seconds and peak memory in bytes.
_RUN = """
import json, resource, sys, time
from pathlib import Path
start = time.perf_counter()
import dialogeval as de
scores = de.score(None, sys.argv[1], sys.argv[2])
status = Path("/proc/self/status")
# What getrusage says of a process that was just started includes what started it.
if status.exists():
    peak = int(status.read_text().partition("VmHWM:")[2].split()[0]) * 1024
else:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
print(json.dumps([time.perf_counter() - start, peak]))
"""


def main() -> int:
    """Measure; return 1 where a target is missed or values differ, 2 where there is nothing to measure."""
    cases = os.environ.get("DIALOGEVAL_CASES")
    if not cases or not all(Path(cases, name).exists() for name in FAMILIES.values()):
        print("growth: no predictions found; set DIALOGEVAL_CASES to a folder with states/ and responses/")
        return 2
    good = [family(protocol, Path(cases, name)) for protocol, name in FAMILIES.items()]
    return 0 if all(good) else 1


def family(protocol: str, source: Path) -> bool:
    """Measure one family of scores at all sizes."""
    seconds, good = [], True
    with tempfile.TemporaryDirectory() as folder:
        for size in SIZES:
            file = Path(folder, f"{size}.jsonl")
            turns = repeat(source, file, size)
            taken, peak = run(file, protocol)
            seconds.append((turns, taken))
            good &= peak <= LIMIT
            print(
                f"growth {protocol:8} {turns:9,} turns ({file.stat().st_size / 1e6:7,.0f} MB): "
                f"{taken:7.1f} s, peak {peak / 1024**2:6,.0f} MiB (target {LIMIT / 1024**2:,.0f})"
            )
            file.unlink()
    (n, a), (m, b) = seconds[-2:]
    exponent = math.log(b / a) / math.log(m / n)
    print(f"growth {protocol:8} exponent {exponent:.2f} (target 1.05)")
    return good and exponent <= 1.05


def repeat(source: Path, target: Path, turns: int) -> int:
    """Write the dialogues of a file again and again under new ids, until there are so many turns."""
    with gzip.open(source, "rt", encoding="utf-8") as stream:
        lines = stream.readlines()
    written = 0
    with target.open("w", encoding="utf-8") as out:
        for line in _renamed(lines):
            # Whole dialogues: the size is reached where the next one begins.
            if written >= turns and line[1]:
                break
            out.write(line[0])
            written += 1
    return written


def _renamed(lines: list[str]) -> Iterator[tuple[str, bool]]:
    """Yield lines without end, and whether each begins a dialogue."""
    ids = [json.loads(line)["dialogue_id"] for line in lines]
    parts = [re.split(r'("dialogue_id": ?")', line, maxsplit=1) for line in lines]
    copy = 0
    while True:
        for at, (before, key, rest) in enumerate(parts):
            yield f"{before}{key}r{copy}-{rest}", at == 0 or ids[at] != ids[at - 1]
        copy += 1


def run(file: Path, protocol: str) -> tuple[float, int]:
    """Score a file in a new process; return seconds and its peak memory in bytes."""
    call = [sys.executable, "-c", _RUN, str(file), protocol]
    seconds, peak = json.loads(subprocess.run(call, stdout=subprocess.PIPE, check=True).stdout)
    return seconds, peak


if __name__ == "__main__":
    sys.exit(main())

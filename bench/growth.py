"""How time and memory grow with the number of turns, and what Dask adds.

The shared systems' predictions with their gold, repeated under new ids to 7 thousand, 70 thousand and a
million turns, are scored from files in pieces: the state family (protocol ``trade``) and the generation
family (``lai2019``), each in a process of its own, whose time and peak memory are taken. The exponent of
growth is the slope of log time over log turns between the two larger sizes. Then the million again on Dask
with two workers, start of the workers included, against one process.
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
LIMIT = 4 * 1024**3

#: Scores a file and prints seconds, peak memory in bytes and the scores.
_RUN = """
import json, resource, sys, time
from pathlib import Path
start = time.perf_counter()
from dialogeval.scale import score_in_pieces
def peak():
    # What getrusage says of a process that was just started includes what started it.
    status = Path("/proc/self/status")
    if status.exists():
        return int(status.read_text().partition("VmHWM:")[2].split()[0]) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
def main():
    path, protocol, dask = sys.argv[1:]
    scores = score_in_pieces(None, path, protocol, dask=json.loads(dask) or None)
    print(json.dumps([time.perf_counter() - start, peak(), scores.to_dict()]))
if __name__ == "__main__":
    main()
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
    """Measure one family of scores at all sizes, then the largest on Dask."""
    seconds, results, good = [], [], True
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder, "run.py")
        script.write_text(_RUN)
        for size in SIZES:
            file = Path(folder, f"{size}.jsonl")
            turns = repeat(source, file, size)
            taken, peak, scores = run(script, file, protocol, "")
            seconds.append((turns, taken))
            results.append(scores)
            good &= peak <= LIMIT
            print(
                f"growth {protocol:8} {turns:9,} turns ({file.stat().st_size / 1e6:7,.0f} MB): "
                f"{taken:7.1f} s, peak {peak / 1024**2:6,.0f} MiB (target {LIMIT / 1024**2:,.0f})"
            )
            if size != SIZES[-1]:
                file.unlink()
        (n, a), (m, b) = seconds[-2:]
        exponent = math.log(b / a) / math.log(m / n)
        spread, _, parallel = run(script, file, protocol, "local")
    equal = results[-1] == parallel
    good &= exponent <= 1.05 and equal and spread < b
    print(
        f"growth {protocol:8} exponent {exponent:.2f} (target 1.05); Dask, two workers: {spread:.1f} s, "
        f"{b / spread:.2f} times one process; values {'equal' if equal else 'DIFFER'}"
    )
    return good


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


def run(script: Path, file: Path, protocol: str, dask: str) -> tuple[float, int, dict]:
    """Score a file in a new process; return seconds, its peak memory in bytes, and the scores."""
    call = [sys.executable, str(script), str(file), protocol, json.dumps(dask)]
    out = subprocess.run(call, stdout=subprocess.PIPE, check=True).stdout
    seconds, peak, scores = json.loads(out)
    return seconds, peak, {k: scores[k] for k in ("metrics", "signature")}


if __name__ == "__main__":
    sys.exit(main())

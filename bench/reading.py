"""How long a corpus split takes to become tables, against `json.loads` of the same bytes.

Both start from the unpacked bytes in memory; ours includes parsing, checking and all tables. The
two run turn about and the best of several runs counts.
"""

from __future__ import annotations

import gc
import json
import time

from dialogeval.corpora import catalog, crosswoz, multiwoz
from dialogeval.files import collection_paused, read_bytes
from dialogeval.strict_json import parse_json

RUNS = 5
READERS = {"multiwoz": multiwoz.read, "crosswoz": crosswoz.read}


def main() -> int:
    """Measure every corpus whose test split is here."""
    for name, entry in catalog.catalog().items():
        # The samples are too small to say anything: making a dozen tables has a fixed cost of 30 ms.
        if entry.family not in READERS or "test" not in entry.files or name.startswith("sample/"):
            continue
        path = catalog.local_file(name, "test")
        if not path.exists():
            continue
        data = read_bytes(path)
        ours, theirs = [], []
        for _ in range(RUNS):
            theirs.append(timed(lambda: json.loads(data)))  # noqa: B023
            ours.append(timed(lambda: read(data, name, entry.language, entry.family)))  # noqa: B023
        ratio = min(ours) / min(theirs)
        print(
            f"reading {name:18} {len(data) / 1e6:5.1f} MB: tables {min(ours) * 1e3:5.0f} ms, "
            f"json.loads {min(theirs) * 1e3:5.0f} ms, ratio {ratio:.2f} (target 1.2)"
        )
    return 0


def read(data: bytes, name: str, language: str, family: str) -> None:
    """Parse and read as `load_corpus` does."""
    with collection_paused():
        READERS[family](parse_json(data, name), name=name, language=language)


def timed(work) -> float:
    """Run and return seconds of processor time."""
    gc.collect()
    start = time.process_time()
    work()
    return time.process_time() - start

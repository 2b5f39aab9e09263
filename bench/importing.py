"""How long `import dialogeval` takes, start of Python included, against `import pandas`."""

from __future__ import annotations

import subprocess
import sys
import time

RUNS = 7


def main() -> int:
    """Measure turn about, best of several runs."""
    times: dict[str, list[float]] = {"pandas": [], "dialogeval": []}
    for _ in range(RUNS):
        for module, taken in times.items():
            start = time.perf_counter()
            subprocess.run([sys.executable, "-c", f"import {module}"], check=True)
            taken.append(time.perf_counter() - start)
    ours, pandas = min(times["dialogeval"]), min(times["pandas"])
    print(
        f"importing: dialogeval {ours:.2f} s, pandas {pandas:.2f} s, ratio {ours / pandas:.2f} (target 1.3)"
    )
    return 0

"""All benchmarks: ratios against peers, measured in the same run. `python -m bench [NAME …]`."""

from __future__ import annotations

import importlib
import sys

NAMES = ("importing", "reading", "bleu", "states", "intervals", "task", "growth")


def main(names: list[str]) -> int:
    """Run the named benchmarks, or all; return the worst exit code."""
    return max(importlib.import_module(f"bench.{name}").main() for name in names or NAMES)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""The jobs behind ``make assignment``, ``make slides`` and ``make site``."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from course import assignment, site, slides
from dialogeval.exceptions import DialogevalError

JOBS = {
    "assignment": assignment.write_assignment,
    "slides": slides.write_slides,
    "site": site.write_sources,
}


def main() -> int:
    """Run one job; say what it wrote."""
    parser = argparse.ArgumentParser(prog="python -m course", description=__doc__)
    parser.add_argument("job", choices=JOBS)
    parser.add_argument("out", type=Path, help="folder to write to; what an earlier run wrote is replaced")
    arguments = parser.parse_args()
    try:
        print("\n".join(JOBS[arguments.job](arguments.out)))
    except DialogevalError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except OSError as error:
        print(f"error: {arguments.out}: cannot be written ({error.strerror or error})", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("error: interrupted", file=sys.stderr)
        return 130
    return 0


sys.exit(main())

"""Where the files that come with the project lie: the sample corpora and the notebooks; and small tables.

In goes a kind of resource, out comes its folder. A checkout has it beside the package, an installed
wheel inside the package under ``bundle``; nothing else needs to know which of the two it runs from.
"""

from __future__ import annotations

import csv
from functools import cache
from importlib.resources import files
from pathlib import Path

from dialogeval.exceptions import DataFileError


def resource_dir(kind: str) -> Path:
    """Return the folder of the sample data (``data``) or of the notebooks (``notebooks``)."""
    return find_resource(kind, Path(__file__).resolve().parent)


def find_resource(kind: str, package: Path) -> Path:
    """Return the folder for a package that lies at ``package``; `resource_dir` calls this for its own."""
    bundled, checkout = package / "bundle" / kind, package.parent / kind
    if bundled.is_dir():
        return bundled
    # Beside an installed package may lie anyone's "data" folder; the project file tells a checkout.
    if checkout.is_dir() and checkout.with_name("pyproject.toml").is_file():
        return checkout
    mend = "reinstall dialogeval from its wheel, or run it from a complete checkout"
    raise DataFileError("no such folder", file=bundled.as_posix(), mend=mend)


@cache
def lookup(name: str) -> tuple[tuple[str, ...], ...]:
    """Return the rows of a CSV file under the package's ``data``, without its header."""
    text = files("dialogeval").joinpath("data", f"{name}.csv").read_text(encoding="utf-8")
    return tuple(map(tuple, list(csv.reader(text.splitlines()))[1:]))

"""Where a prediction file lies that is named instead of given by path.

In: what a user typed. Out: a path. A report must run the same from a checkout, an installed wheel
and any working directory, so the predictions that come with the project, and those of the catalog,
have names as corpora have.
"""

from __future__ import annotations

import os
from pathlib import Path

from dialogeval.corpora.catalog import catalog, local_file
from dialogeval.exceptions import DataFileError, UnknownNameError
from dialogeval.resources import resource_dir


def locate_predictions(name: str | os.PathLike[str], home: str | os.PathLike[str] | None = None) -> Path:
    """Return the path of a prediction file given by path or by name."""
    path = Path(name)
    if path.exists():
        return path
    collection, _, system = path.as_posix().rpartition("/")
    if path.parts[:1] == ("sample",):
        return resource_dir("data") / path
    if collection.startswith("predictions/") and collection in catalog():
        system = system.removesuffix(".json")
        if system not in catalog()[collection].files:
            raise UnknownNameError(f"system of {collection}", system, catalog()[collection].files)
        return local_file(collection, system, home)
    return path


def require_predictions(name: str, home: str | os.PathLike[str] | None = None) -> Path:
    """Return the path of a prediction file that is there."""
    path = locate_predictions(name, home)
    if not path.exists():
        raise DataFileError("no such file", file=path, mend="check the path")
    return path


def require_corpus(name: str) -> None:
    """Refuse what is neither a corpus of the catalog nor a path that exists."""
    if name not in catalog() and not Path(name).exists():
        mend = "or give the path of a file or folder that exists"
        raise UnknownNameError("corpus", name, catalog(), mend=mend)

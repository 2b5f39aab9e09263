"""Where a prediction file lies that is named instead of given by path.

In: what a user typed. Out: a path. A report must run the same from a checkout, an installed wheel
and any working directory, so the predictions that come with the project, and those of the catalog,
have names as corpora have.
"""

from __future__ import annotations

import os
from pathlib import Path

from dialogeval.corpora.catalog import local_file
from dialogeval.corpora.entries import catalog
from dialogeval.exceptions import DataFileError, UnknownNameError
from dialogeval.resources import resource_dir

__all__ = ["locate_predictions", "require_corpus", "require_predictions"]

_SAMPLE, _CATALOG = "sample/", "predictions/"


def locate_predictions(name: str | os.PathLike[str], home: str | os.PathLike[str] | None = None) -> Path:
    """Return the path of a prediction file given by path or by name."""
    path = Path(name)
    text = path.as_posix()
    if path.exists():
        return path
    if text.startswith(_SAMPLE):
        return resource_dir("data") / text
    collection, _, system = text.rpartition("/")
    if text.startswith(_CATALOG) and collection in catalog():
        system = system.removesuffix(".json")
        parts = catalog()[collection].files
        if system not in parts:
            raise UnknownNameError(f"system of {collection}", system, parts)
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

"""Where a prediction file lies that is named instead of given by path.

In: what a user typed. Out: a path. A report must run the same from a checkout, an installed wheel
and any working directory, so the predictions that come with the project, and those of the catalog,
have names as corpora have.
"""

from __future__ import annotations

import os
from pathlib import Path

from .corpora.catalog import catalog, local_file
from .exceptions import DataFileError, UnknownNameError
from .resources import resource_dir

__all__ = ["locate_predictions", "require_corpus", "require_predictions"]

_SAMPLE, _CATALOG = "sample/", "predictions/"


def locate_predictions(name: str | os.PathLike[str], home: str | os.PathLike[str] | None = None) -> Path:
    """Return the path of a prediction file given by path or by name.

    Parameters
    ----------
    name : str or path-like
        An existing path; else ``sample/…``, a file of the sample data; else
        ``predictions/multiwoz/SYSTEM``, a published system of the catalog.
    home : path-like, optional
        Folder of the user's data, as `dialogeval.corpora.catalog.data_home` takes it.

    Returns
    -------
    pathlib.Path
        Not looked at: whoever reads it says whether it is there.

    Raises
    ------
    UnknownNameError
        The catalog has such a collection of predictions, but not this system.

    Examples
    --------
    >>> locate_predictions("predictions/multiwoz/ubar", home="data").as_posix()
    'data/predictions/multiwoz/ubar.json'
    >>> locate_predictions("runs/mine.json").as_posix()
    'runs/mine.json'
    """
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
    """Return the path of a prediction file that is there.

    Raises
    ------
    DataFileError, UnknownNameError

    Examples
    --------
    >>> require_predictions("runs/mine.json")
    Traceback (most recent call last):
    ...
    dialogeval.exceptions.DataFileError: runs/mine.json: no such file; check the path
    """
    path = locate_predictions(name, home)
    if not path.exists():
        raise DataFileError("no such file", file=path, mend="check the path")
    return path


def require_corpus(name: str) -> None:
    """Refuse what is neither a corpus of the catalog nor a path that exists.

    Raises
    ------
    UnknownNameError

    Examples
    --------
    >>> require_corpus("sample/crosswoz_en")
    """
    if name not in catalog() and not Path(name).exists():
        mend = "or give the path of a file or folder that exists"
        raise UnknownNameError("corpus", name, catalog(), mend=mend)

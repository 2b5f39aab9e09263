"""Where a prediction file lies that is named instead of given by path.

In: what a user typed. Out: a path. A report must run the same from a checkout, an installed wheel
and any working directory, so the predictions that come with the project, and those of the catalog,
have names as corpora have.
"""

from __future__ import annotations

import os
from pathlib import Path

from .corpora.catalog import catalog, local_file
from .exceptions import UnknownNameError
from .resources import resource_dir

__all__ = ["locate_predictions"]

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

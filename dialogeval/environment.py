"""What a number was computed with: Python and the packages that scores and tables depend on.

In: nothing. Out: versions, as a mapping for a file and as a table for a page. They stand beside the
scores, not in them: the same scores under other versions are the same scores.
"""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version

import pandas as pd

from . import __version__

__all__ = ["environment", "environment_table"]

#: Packages whose code is between the files that are read and the numbers that are written.
PACKAGES = (
    *("numpy", "pandas", "pyarrow", "scikit-learn", "rapidfuzz", "sacrebleu", "nltk", "sacremoses"),
    *("orjson", "matplotlib", "papermill", "nbconvert", "ipykernel"),
)


def environment() -> dict[str, str]:
    """Return the versions by name, and the kind of machine.

    Returns
    -------
    dict of str to str
        A package that is not installed has an empty version.

    Examples
    --------
    >>> list(environment())[:3]
    ['dialogeval', 'Python', 'numpy']
    """
    found = {"dialogeval": __version__, "Python": platform.python_version()}
    found |= {name: _version(name) for name in PACKAGES}
    return found | {"system": f"{platform.system()} {platform.machine()}"}


def environment_table() -> pd.DataFrame:
    """Return `environment` as a table.

    Returns
    -------
    pandas.DataFrame
        Columns ``part`` and ``version``.

    Examples
    --------
    >>> environment_table()["part"].iloc[0]
    'dialogeval'
    """
    return pd.DataFrame(list(environment().items()), columns=["part", "version"])


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return ""

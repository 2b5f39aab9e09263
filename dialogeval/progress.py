"""Progress on a terminal: a bar that shows only when a job takes longer than two seconds.

In: things to go through. Out: the same things, one after the other. In a notebook, a file or a pipe
nothing is shown, so that outputs stay the same from run to run.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeVar

__all__ = ["progress"]

T = TypeVar("T")
#: Seconds before a bar appears.
DELAY = 2.0


def progress(items: Iterable[T], total: int, what: str, unit: str = "it") -> Iterator[T]:
    """Yield the items, and show on a terminal how far one has come.

    Parameters
    ----------
    items : iterable
    total : int
        Number of items.
    what : str
        What is being done.
    unit : str
        What an item is.

    Yields
    ------
    object

    Examples
    --------
    >>> list(progress("abc", 3, "letters"))
    ['a', 'b', 'c']
    """
    from tqdm import tqdm

    # disable=None: silent where standard error is no terminal.
    yield from tqdm(items, total=total, desc=what, unit=unit, delay=DELAY, leave=False, disable=None)

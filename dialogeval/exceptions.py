"""Errors in one line each, and what messages are made of.

In: what is wrong, where, what was expected, what came and how to mend it. Out: one line, whatever the
input held. Beside them the bar that shows on a terminal when a job takes longer than two seconds.
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TypeVar

#: Characters of a message: an id of a hostile file must not fill the terminal.
_LONGEST = 2000


def show(value: object, limit: int = 60) -> str:
    """Describe a value of untrusted input on one short line: its type and its beginning."""
    if value is None:
        return "null"
    names = {str: "a string", bool: "a boolean", int: "a number", float: "a number", list: "a list"}
    kind = (names | {dict: "an object"}).get(type(value), type(value).__name__)
    # A slice first: the repr of a large object would cost far more than the line is worth.
    if isinstance(value, (str, list)):
        value = value[:limit]
    elif isinstance(value, dict):
        value = dict(list(value.items())[:5])
    text = ascii(value) if isinstance(value, str) and not value.isprintable() else repr(value)
    text = " ".join(text.split())
    return f"{kind} {text if len(text) <= limit else text[: limit - 1] + '…'}"


def printable(text: object) -> str:
    """Keep a name of a file or a system from writing to the terminal; it stays on one line."""
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in str(text))


class DialogevalError(Exception):
    """Base of all errors that dialogeval raises on purpose.

    Parameters
    ----------
    problem : str
        What is wrong, as a phrase.
    file, dialogue, turn : optional
        Where it is wrong; put in front of the problem.
    expected, got : str, optional
        What would have been right, and what came instead.
    mend : str, optional
        What the user can do about it.

    Examples
    --------
    >>> str(DialogevalError("no state", file="a.json", dialogue="sng01", turn=2, mend="add one"))
    'a.json: dialogue sng01, turn 2: no state; add one'
    """

    def __init__(
        self,
        problem: str,
        *,
        file: str | os.PathLike[str] | None = None,
        dialogue: str | None = None,
        turn: int | None = None,
        expected: str | None = None,
        got: str | None = None,
        mend: str | None = None,
    ) -> None:
        self.problem, self.file, self.dialogue, self.turn = problem, file, dialogue, turn
        self.expected, self.got, self.mend = expected, got, mend
        place = [f"{what} {at}" for what, at in (("dialogue", dialogue), ("turn", turn)) if at is not None]
        text = problem
        if expected is not None:
            text += f": expected {expected}" if problem else f"expected {expected}"
        text += "" if got is None else f", got {got}"
        text += "" if mend is None else f"; {mend}"
        said = ": ".join(filter(None, (", ".join(place), text)))
        #: The line without the file, for pages that are passed on: where it lies is nobody's business there.
        self.said = _line(said)
        super().__init__(_line(said if file is None else f"{file}: {said}"))


def _line(text: str) -> str:
    """One line whatever the input held: control characters would let a file write to the terminal."""
    line = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in " ".join(text.split()))
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1]}…"


class DataFileError(DialogevalError):
    """A file that cannot be read: missing, empty, broken, in the wrong encoding or too large."""


class CorpusError(DialogevalError):
    """A corpus whose content does not follow its format."""


class PredictionError(DialogevalError):
    """A prediction file whose content does not follow its format."""


class CoverageError(DialogevalError):
    """Predictions and gold do not cover the same dialogues or turns."""


class FetchError(DialogevalError):
    """A download that failed or did not match its checksum."""


class ReportError(DialogevalError):
    """A report notebook that could not be run to its end."""


class AlignmentError(DialogevalError):
    """An ontology alignment that contradicts itself or the ontologies it joins."""


class UsageError(DialogevalError):
    """Arguments that do not fit together."""


class UnknownNameError(UsageError):
    """A corpus, split, protocol, format or metric that does not exist; the closest names are offered."""

    def __init__(self, kind: str, name: str, known: Iterable[str], mend: str | None = None) -> None:
        names = [str(k) for k in known]
        close = difflib.get_close_matches(str(name), names, n=2)
        guess = f"did you mean {' or '.join(close)}? " if close else ""
        listing = ", ".join(names) if names else "none"
        super().__init__(f"unknown {kind} {str(name)[:80]!r}: {guess}known: {listing}", mend=mend)
        self.again = kind, name, names, mend

    def __reduce__(self) -> tuple[Any, ...]:
        # Made of other arguments than its line, which worker processes need to send it.
        return UnknownNameError, self.again


def few(names: Sequence[str], most: int = 5, width: int = 40) -> str:
    """List the first of many names."""
    return ", ".join(name[:width] for name in names[:most]) + ", …" * (len(names) > most)


T = TypeVar("T")


def progress(items: Iterable[T], total: int, what: str, unit: str = "it") -> Iterator[T]:
    """Yield the items, and show on a terminal how far one has come."""
    from tqdm import tqdm

    # disable=None: silent where standard error is no terminal.
    yield from tqdm(items, total=total, desc=what, unit=unit, delay=2.0, leave=False, disable=None)

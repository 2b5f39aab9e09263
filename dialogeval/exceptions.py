"""Progress on a terminal: a bar that shows only when a job takes longer than two seconds.

In: things to go through. Out: the same things, one after the other. In a notebook, a file or a pipe
nothing is shown, so that outputs stay the same from run to run.
"""

from __future__ import annotations

import difflib
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar


def show(value: object, limit: int = 60) -> str:
    """Describe a value of untrusted input on one short line: its type and its beginning."""
    if value is None:
        return "null"
    names = {str: "a string", bool: "a boolean", int: "a number", float: "a number"}
    names |= {list: "a list", dict: "an object"}
    kind = names.get(type(value), type(value).__name__)
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


#: Characters of a message: an id of a hostile file must not fill the terminal.
_LONGEST = 2000


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
        place = []
        if dialogue is not None:
            place.append(f"dialogue {dialogue}")
        if turn is not None:
            place.append(f"turn {turn}")
        parts = [str(file)] if file is not None else []
        parts += [", ".join(place)] if place else []
        text = problem
        if expected is not None:
            text += f": expected {expected}" if problem else f"expected {expected}"
        if got is not None:
            text += f", got {got}"
        if mend is not None:
            text += f"; {mend}"
        #: The line without the file, for pages that are passed on: where it lies is nobody's business there.
        self.said = _line([*parts[file is not None :], text])
        super().__init__(_line([*parts, text]))

    def __reduce__(self) -> tuple[object, ...]:
        # Keyword-only arguments do not survive the default pickling, which worker processes need.
        fields = ("file", "dialogue", "turn", "expected", "got", "mend")
        return _rebuild, (type(self), self.problem, {f: getattr(self, f) for f in fields})


def _line(parts: list[str]) -> str:
    """One line whatever the input held: control characters would let a file write to the terminal."""
    line = " ".join(": ".join(parts).split())
    line = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in line)
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1]}…"


def _rebuild(cls: type[DialogevalError], problem: str, fields: dict) -> DialogevalError:
    return cls(problem, **fields)


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
        self.kind, self.name, self.known = kind, name, names
        close = difflib.get_close_matches(str(name), names, n=2)
        guess = f"did you mean {' or '.join(close)}? " if close else ""
        listing = ", ".join(names) if names else "none"
        super().__init__(f"unknown {kind} {str(name)[:80]!r}: {guess}known: {listing}", mend=mend)

    def __reduce__(self) -> tuple[object, ...]:
        return UnknownNameError, (self.kind, self.name, self.known, self.mend)


@dataclass(frozen=True)
class Remark:
    """Something noticed, with its counts."""

    say: Callable[..., list[str]]
    facts: Counter[Any] = field(default_factory=Counter)
    about: tuple[Any, ...] = ()

    @property
    def lines(self) -> list[str]:
        """What there is to say."""
        return self.say(self.facts, *self.about)


def plain(text: str) -> Remark:
    """Return a remark that says the same whatever is counted."""
    return Remark(_said, Counter(), (text,))


def _said(facts: Counter[Any], text: str) -> list[str]:
    return [text]


def merge_remarks(pieces: Iterable[Iterable[Remark]]) -> list[Remark]:
    """Add the counts of what several pieces say about the same thing."""
    merged: dict[tuple[Any, ...], Counter[Any]] = {}
    for remarks in pieces:
        times: Counter[Any] = Counter()
        for remark in remarks:
            what = remark.say, remark.about
            # update, not +: that would drop what was counted as 0.
            merged.setdefault((*what, times[what]), Counter()).update(remark.facts)
            times[what] += 1
    return [Remark(say, facts, about) for (say, about, _), facts in merged.items()]


def all_lines(remarks: Iterable[Remark]) -> list[str]:
    """Say all remarks, each line once."""
    return list(dict.fromkeys(line for remark in remarks for line in remark.lines))


def few(names: Sequence[str], most: int = 5, width: int = 40) -> str:
    """List the first of many names."""
    return ", ".join(name[:width] for name in names[:most]) + ", …" * (len(names) > most)


T = TypeVar("T")
#: Seconds before a bar appears.
DELAY = 2.0


def progress(items: Iterable[T], total: int, what: str, unit: str = "it") -> Iterator[T]:
    """Yield the items, and show on a terminal how far one has come."""
    from tqdm import tqdm

    # disable=None: silent where standard error is no terminal.
    yield from tqdm(items, total=total, desc=what, unit=unit, delay=DELAY, leave=False, disable=None)

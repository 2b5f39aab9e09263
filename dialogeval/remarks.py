"""Remarks: what is worth saying about predictions, kept as counts until it is said.

A file that is read in pieces has one thing to say, not one a piece. So whoever notices something
hands over what it counted and the function that puts it into words; counts of several pieces are
added, and then said once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

__all__ = ["Remark", "all_lines", "few", "merge_remarks", "plain"]


@dataclass(frozen=True)
class Remark:
    """Something noticed, with its counts.

    Parameters
    ----------
    say : callable
        ``say(facts, *about)`` returns the lines, none where there is nothing to say. A function of a
        module, so that it means the same in every process.
    facts : collections.Counter
        Additive counts by any hashable key.
    about : tuple
        What else ``say`` takes: the same for all pieces of a file.

    Examples
    --------
    >>> plain("no gold").lines
    ['no gold']
    """

    say: Callable[..., list[str]]
    facts: Counter[Any] = field(default_factory=Counter)
    about: tuple[Any, ...] = ()

    @property
    def lines(self) -> list[str]:
        """What there is to say."""
        return self.say(self.facts, *self.about)


def plain(text: str) -> Remark:
    """Return a remark that says the same whatever is counted.

    Examples
    --------
    >>> merge_remarks([[plain("no gold")], [plain("no gold")]])[0].lines
    ['no gold']
    """
    return Remark(_said, Counter(), (text,))


def _said(facts: Counter[Any], text: str) -> list[str]:
    return [text]


def merge_remarks(pieces: Iterable[Iterable[Remark]]) -> list[Remark]:
    """Add the counts of what several pieces say about the same thing.

    Parameters
    ----------
    pieces : iterable of iterables of Remark
        A piece's remarks each, in the order of the file; keys of the counts stay in the order of their
        first appearance. What one piece says twice, because two scores look at the same texts, stays
        two remarks: it was seen once.

    Returns
    -------
    list of Remark

    Examples
    --------
    >>> def say(facts): return [f"{facts['n']} turns"]
    >>> merge_remarks([[Remark(say, Counter(n=1))], [Remark(say, Counter(n=2))]])[0].lines
    ['3 turns']
    """
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
    """Say all remarks, each line once.

    Examples
    --------
    >>> all_lines([plain("a"), plain("b"), plain("a")])
    ['a', 'b']
    """
    return list(dict.fromkeys(line for remark in remarks for line in remark.lines))


def few(names: Sequence[str], most: int = 5, width: int = 40) -> str:
    """List the first of many names.

    Examples
    --------
    >>> few(["a", "b", "c"], most=2)
    'a, b, …'
    """
    return ", ".join(name[:width] for name in names[:most]) + ", …" * (len(names) > most)

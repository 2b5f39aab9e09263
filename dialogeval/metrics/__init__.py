"""Metrics: counts first, scores later.

A metric turns gold and predictions into one row of additive counts per turn or dialogue, and a
score is a function of the sums of those counts. A breakdown is then a group-by, a confidence
interval a matrix product, and a partial result of a cluster run a partial sum.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
import pandas as pd

#: Sums of count columns: floats for one score, equally long arrays for many resamples at once.
Sums = Mapping[str, Any]


@dataclass(frozen=True)
class Metric:
    """One score: how to count, and how to turn summed counts into a value.

    Parameters
    ----------
    key : str
        Name in the Python API, the CLI's JSON and the notebooks; see the README's table of scores.
    label : str
        Short name for tables and figures.
    counts : callable
        ``counts(pair)`` returns a table indexed by (dialogue_id, turn), or by dialogue_id for
        scores of whole dialogues, with additive numeric columns only. Metrics that share the
        function share one run of it.
    value : callable
        ``value(sums)`` returns the score from the sums of those columns; it works on arrays of
        sums (one entry a resample) as on single ones.
    unit : {"fraction", "per cent", "tokens", "types", "bits", "points"}
    better : {"higher", "lower", "neither"}
    source : str
        Paper or card that defines it.
    resample : {"bootstrap", "jackknife", "none"}
        How its interval is made. Counts of types (distinct-n) shrink when dialogues are drawn with
        replacement, so they may only be jackknifed.
    options : tuple of (name, choice)
        Switches of the definition, carried in the signature.
    task : {"state", "text", "task"}
        What ``counts`` takes: a `StatePair`, a `TextPair` or a `TaskPair`.
    additive : bool
        Whether the counts of some dialogues do not depend on the others. Counts of types do: of a file
        that is read in pieces, the responses (no references) are gathered and their types counted once.
    parts : tuple of Metric
        For a score made of other scores, such as ``combined``: ``value`` takes the sums of all their
        counts, and ``counts`` and ``task`` are those of the first.

    Examples
    --------
    >>> m = Metric("share", "share", lambda p: p, lambda s: ratio(s["hits"], s["n"]), source="here")
    >>> float(m.value({"hits": 1.0, "n": 4.0}))
    0.25
    """

    key: str
    label: str
    counts: Callable[[Any], pd.DataFrame]
    value: Callable[[Sums], Any]
    unit: str = "fraction"
    better: str = "higher"
    source: str = ""
    resample: str = "bootstrap"
    options: tuple[tuple[str, str], ...] = ()
    task: str = "state"
    additive: bool = True
    parts: tuple[Metric, ...] = ()

    @property
    def sources(self) -> tuple[Metric, ...]:
        """The metrics whose counts the value is made of: itself, or its parts."""
        return self.parts or (self,)

    @property
    def functions(self) -> tuple[Callable[[Any], pd.DataFrame], ...]:
        """The counting functions whose sums ``value`` takes, each once."""
        return tuple(dict.fromkeys(source.counts for source in self.sources))

    def __repr__(self) -> str:
        return f"Metric({self.key})"


def ratio(part: Any, whole: Any, empty: float = 0.0) -> Any:
    """Divide, with a stated value where the denominator is 0; works on numbers and arrays."""
    part, whole = np.asarray(part, dtype=float), np.asarray(whole, dtype=float)
    return np.divide(part, whole, out=np.full(np.broadcast(part, whole).shape, empty), where=whole != 0)[()]


def share(part: str, whole: str, scale: float = 1.0, empty: float = 0.0) -> Callable[[Sums], Any]:
    """Return the value that divides a sum of columns by another, both named as in ``"tp fp"``."""
    return partial(_share, part.split(), whole.split(), scale, empty)


def _share(part: list[str], whole: list[str], scale: float, empty: float, sums: Sums) -> Any:
    return scale * ratio(sum(sums[c] for c in part), sum(sums[c] for c in whole), empty)


def by_key(*metrics: Metric) -> dict[str, Metric]:
    """Return metrics by their keys."""
    return {metric.key: metric for metric in metrics}


@dataclass(frozen=True)
class TextPair:
    """References and responses of the same turns, in the order of dialogue and turn."""

    dialogue_id: Sequence[str]
    turn: Sequence[int]
    references: Sequence[str]
    responses: Sequence[str]
    tokenizer: str = "space"
    order: Sequence[int] | None = None

    @cached_property
    def index(self) -> pd.MultiIndex:
        """Index of turn-level counts."""
        return pd.MultiIndex.from_arrays(
            [pd.Series(self.dialogue_id, dtype="str"), np.asarray(self.turn, dtype="int64")],
            names=["dialogue_id", "turn"],
        )

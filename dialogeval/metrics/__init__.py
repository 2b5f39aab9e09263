"""Metrics: counts first, scores later.

A metric turns gold and predictions into one row of additive counts per turn or dialogue, and a
score is a function of the sums of those counts. A breakdown is then a group-by, a confidence
interval a matrix product, and a partial result of a cluster run a partial sum.

What a metric counts is a pair: gold and prediction of the same turns, as texts (`TextPair`) or as sorted,
integer-coded triples of states (`StatePair`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
import pandas as pd

from dialogeval.exceptions import UsageError, show
from dialogeval.tables import turn_rows

Ints = np.ndarray
States = Sequence[Iterable[tuple[str, str, str]]]
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


@dataclass(frozen=True)
class Triples:
    """One side's states: distinct triples as increasing numbers, (turn · slots + slot) · values + value."""

    key: Ints
    n_slots: int
    n_values: int

    @property
    def turn(self) -> Ints:
        """The turn of each triple; like the other codes not kept, as a million turns have many triples."""
        return self.key // (self.n_slots * self.n_values)

    @property
    def slot(self) -> Ints:
        """The slot of each triple."""
        return self.key // self.n_values % self.n_slots

    @property
    def value(self) -> Ints:
        """The value of each triple."""
        return self.key % self.n_values

    def take(self, keep: Ints) -> Triples:
        """Return the triples where ``keep`` is true."""
        return replace(self, key=self.key[keep])


@dataclass(frozen=True)
class Schema:
    """What the schema-guided scorer knows beside two states of each turn."""

    services: Ints
    free: pd.DataFrame
    alternatives: pd.DataFrame


@dataclass(frozen=True)
class StatePair:
    """Gold and predicted states of n turns, sorted by dialogue and turn."""

    index: pd.MultiIndex
    dialogue: Ints
    gold: Triples
    pred: Triples
    slots: pd.DataFrame
    values: Any
    n_slots: Ints
    schema: Schema | None = None

    def __len__(self) -> int:
        return len(self.dialogue)

    @property
    def width(self) -> int:
        """Number of slots, 1 at the least."""
        return max(len(self.slots), 1)

    @property
    def stride(self) -> int:
        """Distance between the keys of one (slot, value) in neighbouring turns."""
        return self.width * max(len(self.values), 1)

    @cached_property
    def gold_in_pred(self) -> Ints:
        """For each gold triple, whether it was predicted."""
        return contains(self.pred.key, self.gold.key)

    @cached_property
    def pred_in_gold(self) -> Ints:
        """For each predicted triple, whether it is gold."""
        return contains(self.gold.key, self.pred.key)

    @cached_property
    def first(self) -> Ints:
        """For each turn, whether it is the first one of its dialogue."""
        return starts(self.dialogue)

    def slot_key(self, triples: Triples) -> Ints:
        """Return (turn, slot) of each triple as one number, increasing."""
        return triples.key // triples.n_values

    def per_turn(self, triples: Triples, mask: Ints | None = None) -> Ints:
        """Count triples by turn; shape (n,)."""
        return np.bincount(triples.turn if mask is None else triples.turn[mask], minlength=len(self))

    def slots_per_turn(self, slot_keys: Ints) -> Ints:
        """Count distinct (turn, slot) keys by turn; shape (n,)."""
        return np.bincount(slot_keys // self.width, minlength=len(self))

    def counts(self, **columns: Any) -> pd.DataFrame:
        """Return columns of counts, or one number for all turns, as a table by turn."""
        return pd.DataFrame(columns, index=self.index)

    def tables(self) -> tuple[pd.DataFrame, pd.DataFrame]:
        """Return gold and prediction as tidy tables: dialogue_id, turn, domain, slot, value, as compared."""
        return self._table(self.gold), self._table(self.pred)

    def _table(self, side: Triples) -> pd.DataFrame:
        table = self.index[side.turn].to_frame(index=False)
        slots = self.slots.take(side.slot)
        return table.assign(
            domain=slots["domain"].to_numpy(), slot=slots["slot"].to_numpy(), value=self.values[side.value]
        )


def starts(groups: Ints) -> Ints:
    """Tell for each entry whether it differs from the one before."""
    return np.r_[True, groups[1:] != groups[:-1]][: len(groups)]


def distinct(keys: Ints) -> Ints:
    """Sort integers and drop repetitions; far faster than `numpy.unique`, as most keys come in order."""
    if (keys[1:] > keys[:-1]).all():
        return keys
    keys = np.sort(keys)
    return keys[starts(keys)]


def find(sorted_keys: Ints, keys: Ints) -> tuple[Ints, Ints]:
    """Return for each key its place among sorted, distinct keys, and whether it is there at all."""
    if not len(sorted_keys):
        return np.zeros(len(keys), "int64"), np.zeros(len(keys), bool)
    spot = np.searchsorted(sorted_keys, keys)
    spot[spot == len(sorted_keys)] = 0
    return spot, sorted_keys[spot] == keys


def contains(sorted_keys: Ints, keys: Ints) -> Ints:
    """Tell for each key whether it is among sorted, distinct keys."""
    return find(sorted_keys, keys)[1]


def pair_states(
    turns: pd.DataFrame,
    gold: pd.DataFrame,
    pred: pd.DataFrame,
    n_slots: int | Ints = 0,
    schema: Schema | None = None,
) -> StatePair:
    """Code two tables of states for scoring."""

    dialogue, _ = pd.factorize(turns["dialogue_id"], sort=True)
    order = np.lexsort((turns["turn"].to_numpy(), dialogue))
    turns = turns.take(order)
    domain, domains = _code(gold["domain"], pred["domain"])
    slot, slots = _code(gold["slot"], pred["slot"])
    joint, pairs = _code(*(d * np.int64(len(slots)) + s for d, s in zip(domain, slot, strict=True)))
    domain_of, slot_of = np.divmod(pairs, max(len(slots), 1))
    # Sorted, so that no score depends on the order of rows: of a slot's several values GCA takes the last.
    value, values = _code(gold["value"], pred["value"], sort=True)
    n_pairs, n_values = max(len(pairs), 1), max(len(values), 1)

    def side(table: pd.DataFrame, slot: Ints, value: Ints) -> Triples:
        row = turn_rows(turns, table)
        key = (row * n_pairs + slot) * n_values + value
        return Triples(distinct(key[row >= 0]), n_pairs, n_values)

    return StatePair(
        index=pd.MultiIndex.from_frame(turns[["dialogue_id", "turn"]]),
        dialogue=dialogue[order],
        gold=side(gold, joint[0], value[0]),
        pred=side(pred, joint[1], value[1]),
        slots=pd.DataFrame({"domain": domains[domain_of], "slot": slots[slot_of]}),
        values=np.asarray(values, dtype=object),
        n_slots=np.broadcast_to(np.asarray(n_slots, dtype="int64"), (len(turns),))[order],
        schema=replace(schema, services=schema.services[order]) if schema else None,
    )


def _code(gold: Any, pred: Any, sort: bool = False) -> tuple[list[Ints], pd.Index]:
    """Code the columns of both sides alike, in the order of appearance or sorted."""
    sides = [pd.factorize(column) for column in (gold, pred)]
    names = pd.Index(sides[0][1]).append(pd.Index(sides[1][1]))
    codes, known = pd.factorize(names, sort=sort)
    codes, n = codes.astype("int32"), len(sides[0][1])
    return [codes[:n][sides[0][0]], codes[n:][sides[1][0]]], pd.Index(known)


def pair_states_from_lists(
    predictions: States, golds: States, dialogue_ids: Sequence[str] | None = None, n_slots: int = 0
) -> StatePair:
    """Code plain lists of sets of triples for scoring."""
    for what, states in (("predictions", predictions), ("golds", golds)):
        if not isinstance(states, Sequence) or isinstance(states, str):
            raise UsageError(what, expected="a list with one set of triples a turn", got=show(states))
    ids = list(dialogue_ids) if dialogue_ids is not None else [""] * len(golds)
    if not len(predictions) == len(golds) == len(ids):
        got = f"{len(predictions)} predictions, {len(golds)} golds, {len(ids)} dialogue ids"
        raise UsageError("", expected="one prediction and one gold state a turn", got=got)
    turns = pd.DataFrame({"dialogue_id": pd.Series(ids, dtype="str")})
    turns["turn"] = turns.groupby("dialogue_id").cumcount()
    gold, pred = _frame(golds, turns, "gold"), _frame(predictions, turns, "prediction")
    return pair_states(turns, gold, pred, n_slots)


def _frame(states: States, turns: pd.DataFrame, what: str) -> pd.DataFrame:
    rows: list[tuple[str, str, str]] = []
    lengths = []
    for position, state in enumerate(states):
        for triple in state if isinstance(state, Iterable) else (state,):
            if not isinstance(triple, (tuple, list)) or [*map(type, triple)] != [str, str, str]:
                expected = "a set of (domain, slot, value), three strings"
                raise UsageError(f"{what} {position}", expected=expected, got=show(triple))
            rows.append(triple)
        lengths.append(len(rows))
    table = pd.DataFrame(rows, columns=["domain", "slot", "value"], dtype="str")
    return table.join(turns.take(np.repeat(turns.index, np.diff(lengths, prepend=0))).reset_index(drop=True))

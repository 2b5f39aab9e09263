"""Gold and predicted states of the same turns as integer-coded sets of triples.

In: two tables of states and the turns to score. Out: a `StatePair`, the one input of all
state-tracking counts. A triple becomes a single integer, so that set operations over a whole test
set are a few sorts; multiplicity is lost on purpose, a state being a set.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from ..exceptions import UsageError, show

__all__ = ["Schema", "StatePair", "Triples", "pair_states", "pair_states_from_lists"]

Ints = np.ndarray


@dataclass(frozen=True)
class Triples:
    """One side's states: distinct triples sorted by turn.

    Parameters
    ----------
    turn : ndarray of int64, shape (m,)
        Row of the pair's turns.
    slot : ndarray of int64, shape (m,)
        Code of the (domain, slot).
    value : ndarray of int64, shape (m,)
        Code of the value.
    key : ndarray of int64, shape (m,)
        The triple as one number, increasing.
    """

    turn: Ints
    slot: Ints
    value: Ints
    key: Ints

    def take(self, keep: Ints) -> Triples:
        """Return the triples where ``keep`` is true."""
        return Triples(self.turn[keep], self.slot[keep], self.value[keep], self.key[keep])


@dataclass(frozen=True)
class Schema:
    """What the schema-guided scorer knows beside two states of each turn.

    Parameters
    ----------
    services : ndarray of int64, shape (n,)
        Services that gold has a state of, in the order of the turns.
    free : pandas.DataFrame
        domain and slot of the slots that are not categorical.
    alternatives : pandas.DataFrame
        Further gold values of these: states.
    """

    services: Ints
    free: pd.DataFrame
    alternatives: pd.DataFrame


@dataclass(frozen=True)
class StatePair:
    """Gold and predicted states of n turns, sorted by dialogue and turn.

    Parameters
    ----------
    index : pandas.MultiIndex of length n
        (dialogue_id, turn).
    dialogue : ndarray of int64, shape (n,)
        Code of the dialogue, increasing.
    gold, pred : Triples
    slots : pandas.DataFrame
        Columns domain, slot; the row number is the slot's code.
    values : ndarray of str
        Values by code.
    n_slots : ndarray of int64, shape (n,)
        Slots that a turn's annotation knows, filled or not; for slot accuracy.
    schema : Schema or None
        With ``services`` in the order of the pair.
    """

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
    def stride(self) -> int:
        """Distance between the keys of one (slot, value) in neighbouring turns."""
        return max(len(self.slots), 1) * max(len(self.values), 1)

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
        return np.r_[True, self.dialogue[1:] != self.dialogue[:-1]] if len(self) else np.zeros(0, bool)

    @cached_property
    def name_codes(self) -> Ints:
        """Code of the slot name by slot code: one code for ``area`` of all domains."""
        return pd.factorize(self.slots["slot"])[0]

    def slot_key(self, triples: Triples) -> Ints:
        """Return (turn, slot) of each triple as one number, increasing."""
        return triples.turn * max(len(self.slots), 1) + triples.slot

    def per_turn(self, triples: Triples, mask: Ints | None = None) -> Ints:
        """Count triples by turn; shape (n,)."""
        rows = triples.turn if mask is None else triples.turn[mask]
        return np.bincount(rows, minlength=len(self))


def distinct(keys: Ints) -> Ints:
    """Sort integers and drop repetitions; far faster than `numpy.unique`, as most keys come in order."""
    if (keys[1:] > keys[:-1]).all():
        return keys
    keys = np.sort(keys)
    return keys[np.r_[True, keys[1:] != keys[:-1]]]


def contains(sorted_keys: Ints, keys: Ints) -> Ints:
    """Tell for each key whether it is among sorted, distinct keys."""
    if not len(sorted_keys):
        return np.zeros(len(keys), bool)
    spot = np.searchsorted(sorted_keys, keys)
    spot[spot == len(sorted_keys)] = 0
    return sorted_keys[spot] == keys


def pair_states(
    turns: pd.DataFrame,
    gold: pd.DataFrame,
    pred: pd.DataFrame,
    n_slots: int | Ints = 0,
    schema: Schema | None = None,
) -> StatePair:
    """Code two tables of states for scoring.

    Parameters
    ----------
    turns : pandas.DataFrame
        dialogue_id and turn of the turns to score, without duplicates.
    gold, pred : pandas.DataFrame
        States; rows of other turns are left out, so filter and count before.
    n_slots : int or ndarray of shape (n,)
        Slots of the ontology, or of each turn's annotation (in the order of ``turns``).
    schema : Schema, optional
        Likewise.

    Returns
    -------
    StatePair

    Examples
    --------
    >>> t = pd.DataFrame({"dialogue_id": ["d", "d"], "turn": [0, 1]})
    >>> g = pd.DataFrame([("d", 1, "hotel", "area", "north")], columns=["dialogue_id", "turn", "domain", "slot", "value"])
    >>> pair_states(t, g, g[:0]).per_turn(pair_states(t, g, g[:0]).gold).tolist()
    [0, 1]
    """
    both = [turns["dialogue_id"], gold["dialogue_id"], pred["dialogue_id"]]
    codes, _ = pd.factorize(pd.concat(both, ignore_index=True), sort=True)
    n, m = len(turns), len(gold)
    dialogue = codes[:n].astype("int64")
    number = turns["turn"].to_numpy()
    order = np.lexsort((number, dialogue))
    width = int(max((int(f["turn"].max()) for f in (turns, gold, pred) if len(f)), default=0)) + 1
    places = dialogue[order] * width + number[order]

    def rows(frame: pd.DataFrame, ids: Ints) -> tuple[Ints, Ints]:
        wanted = ids.astype("int64") * width + frame["turn"].to_numpy()
        spot = np.searchsorted(places, wanted)
        spot[spot == len(places)] = 0
        return spot, (places[spot] == wanted) if n else np.zeros(len(frame), bool)

    gold_row, gold_here = rows(gold, codes[n : n + m])
    pred_row, pred_here = rows(pred, codes[n + m :])
    domain, domains = pd.factorize(pd.concat([gold["domain"], pred["domain"]], ignore_index=True))
    slot, slots = pd.factorize(pd.concat([gold["slot"], pred["slot"]], ignore_index=True))
    # Sorted, so that no score depends on the order of rows: of a slot's several values GCA takes the last.
    value, values = pd.factorize(pd.concat([gold["value"], pred["value"]], ignore_index=True), sort=True)
    joint, pairs = pd.factorize(domain.astype("int64") * max(len(slots), 1) + slot)
    names = pd.DataFrame(
        {"domain": domains[pairs // max(len(slots), 1)], "slot": slots[pairs % max(len(slots), 1)]}
    )
    stride = max(len(pairs), 1) * max(len(values), 1)

    def side(row: Ints, here: Ints, at: slice) -> Triples:
        key = row * stride + joint[at].astype("int64") * max(len(values), 1) + value[at]
        key = distinct(key[here])
        return Triples(key // stride, key % stride // max(len(values), 1), key % max(len(values), 1), key)

    per_turn = np.broadcast_to(np.asarray(n_slots, dtype="int64"), (n,))
    ids = turns["dialogue_id"].to_numpy()[order]
    return StatePair(
        index=pd.MultiIndex.from_arrays([ids, number[order]], names=["dialogue_id", "turn"]),
        dialogue=dialogue[order],
        gold=side(gold_row, gold_here, slice(0, m)),
        pred=side(pred_row, pred_here, slice(m, None)),
        slots=names,
        values=np.asarray(values, dtype=object),
        n_slots=per_turn[order],
        schema=replace(schema, services=schema.services[order]) if schema else None,
    )


def pair_states_from_lists(
    predictions: Sequence[Iterable[tuple[str, str, str]]],
    golds: Sequence[Iterable[tuple[str, str, str]]],
    dialogue_ids: Sequence[str] | None = None,
    n_slots: int = 0,
) -> StatePair:
    """Code plain lists of sets of triples for scoring.

    Parameters
    ----------
    predictions, golds : sequence of iterables of (domain, slot, value), length n
        One set of triples a turn; turns of one dialogue in their order.
    dialogue_ids : sequence of str, length n, optional
        Dialogue of each turn; without it, all turns are taken for one dialogue.
    n_slots : int
        Slots of the ontology, for slot accuracy.

    Returns
    -------
    StatePair

    Raises
    ------
    UsageError
        Lengths differ, or an element is not a set of triples of strings.

    Examples
    --------
    >>> len(pair_states_from_lists([set()], [{("hotel", "area", "north")}]))
    1
    """
    for what, states in (("predictions", predictions), ("golds", golds)):
        if not isinstance(states, Sequence) or isinstance(states, str):
            raise UsageError(what, expected="a list with one set of triples a turn", got=show(states))
    ids = list(dialogue_ids) if dialogue_ids is not None else [""] * len(golds)
    if not len(predictions) == len(golds) == len(ids):
        got = f"{len(predictions)} predictions, {len(golds)} golds, {len(ids)} dialogue ids"
        raise UsageError("", expected="one prediction and one gold state a turn", got=got)
    seen: dict[str, int] = {}
    number = [seen.__setitem__(i, seen.get(i, -1) + 1) or seen[i] for i in ids]  # type: ignore[func-returns-value]
    turns = pd.DataFrame(
        {"dialogue_id": pd.Series(ids, dtype="str"), "turn": pd.Series(number, dtype="int64")}
    )

    def frame(states: Sequence[Iterable[tuple[str, str, str]]], what: str) -> pd.DataFrame:
        rows = []
        for position, (state, i, t) in enumerate(zip(states, ids, number, strict=True)):
            if isinstance(state, (str, dict)) or not isinstance(state, Iterable):
                raise UsageError(f"{what} {position}", expected="a set of triples", got=show(state))
            for triple in state:
                if not isinstance(triple, (tuple, list)) or [type(x) for x in triple] != [str, str, str]:
                    expected = "(domain, slot, value), three strings"
                    raise UsageError(f"{what} {position}", expected=expected, got=show(triple))
                rows.append((i, t, *triple))
        columns = list(zip(*rows, strict=True)) if rows else [()] * 5
        names = ("dialogue_id", "turn", "domain", "slot", "value")
        return pd.DataFrame(
            {
                n: pd.Series(c, dtype="int64" if n == "turn" else "str")
                for n, c in zip(names, columns, strict=True)
            }
        )

    return pair_states(turns, frame(golds, "gold"), frame(predictions, "prediction"), n_slots)

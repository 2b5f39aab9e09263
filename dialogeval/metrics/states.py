"""Scores of the schema-guided track (DSTC8): each service of a turn is judged on its own slots.

In: a `StatePair` with a `Schema`. Out: sums over the frames of each turn, a frame being a service that
gold has a state of. Free text is compared by a fuzzy score in [0, 1], so a frame may be right in part.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from functools import cached_property, lru_cache, partial
from typing import Any

import numpy as np
import pandas as pd

from dialogeval.exceptions import UnknownNameError, UsageError, show
from dialogeval.metrics import Metric, Sums, ratio
from dialogeval.metrics.task import alike
from dialogeval.tables import turn_rows

Ints = np.ndarray


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

    def tables(self) -> tuple[pd.DataFrame, pd.DataFrame]:
        """Return both sides as tidy tables: dialogue_id, turn, domain, slot, value, as they were compared."""
        sides = []
        for side in (self.gold, self.pred):
            table = self.index[side.turn].to_frame(index=False)
            table[["domain", "slot"]] = self.slots[["domain", "slot"]].to_numpy()[side.slot]
            sides.append(table.assign(value=np.asarray(self.values, dtype=object)[side.value]))
        return sides[0], sides[1]

    def slot_key(self, triples: Triples) -> Ints:
        """Return (turn, slot) of each triple as one number, increasing."""
        return triples.key // triples.n_values

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
    """Code two tables of states for scoring."""
    dialogue, _ = pd.factorize(turns["dialogue_id"], sort=True)
    order = np.lexsort((turns["turn"].to_numpy(), dialogue))
    turns = turns.take(order)
    domain, domains = _code(gold["domain"], pred["domain"])
    slot, slots = _code(gold["slot"], pred["slot"])
    joint, pairs = _code(*(d * np.int64(len(slots)) + s for d, s in zip(domain, slot, strict=True)))
    # Sorted, so that no score depends on the order of rows: of a slot's several values GCA takes the last.
    value, values = _code(gold["value"], pred["value"], sort=True)
    codes = max(len(pairs), 1), max(len(values), 1)

    def side(table: pd.DataFrame, slot: Ints, value: Ints) -> Triples:
        row = turn_rows(turns, table)
        key = (row * codes[0] + slot) * codes[1] + value
        return Triples(distinct(key[row >= 0]), *codes)

    return StatePair(
        index=pd.MultiIndex.from_frame(turns[["dialogue_id", "turn"]]),
        dialogue=dialogue[order],
        gold=side(gold, joint[0], value[0]),
        pred=side(pred, joint[1], value[1]),
        slots=pd.DataFrame(
            {"domain": domains[pairs // max(len(slots), 1)], "slot": slots[pairs % max(len(slots), 1)]}
        ),
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
    predictions: Sequence[Iterable[tuple[str, str, str]]],
    golds: Sequence[Iterable[tuple[str, str, str]]],
    dialogue_ids: Sequence[str] | None = None,
    n_slots: int = 0,
) -> StatePair:
    """Code plain lists of sets of triples for scoring."""
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


States = Sequence[Iterable[tuple[str, str, str]]]
LIN = "Lin & Chen 2021, arXiv:2101.11360"


def joint_goal_accuracy(predictions: States, golds: States) -> float:
    """Share of turns whose predicted state equals the gold state as a set of triples.

    Parameters
    ----------
    predictions, golds : sequence of sets of (domain, slot, value), length n
        Cumulative states, one a turn.

    Returns
    -------
    float
        In [0, 1]; 0 for no turns. A turn with both states empty counts as right.

    Raises
    ------
    UsageError
        Lengths differ, or a state is not a set of triples of strings.

    References
    ----------
    Lin & Chen 2021, arXiv:2101.11360 (evaluation card crosswoz-dst-eval).

    Examples
    --------
    >>> gold = [{("hotel", "area", "north")}, {("hotel", "area", "north"), ("hotel", "stars", "4")}]
    >>> joint_goal_accuracy([gold[0], gold[0]], gold)
    0.5
    """
    return score_lists(STATE_METRICS["joint_goal_accuracy"], predictions, golds)


def slot_f1(
    predictions: States, golds: States, *, slots: str = "gold", keyed: str = "name", empty: str = "0"
) -> float:
    """Mean over turns of the mean over a turn's slots of F1 between gold and predicted values.

    Parameters
    ----------
    predictions, golds : sequence of sets of (domain, slot, value), length n
    slots : {"gold", "union"}
        Average over the slots of the gold state (the card's recipe: what is predicted beside them
        is never looked at), or of both states.
    keyed : {"name", "domain-slot"}
        Take ``area`` of all domains for one slot (the card), or each domain's for its own.
    empty : {"0", "1", "skip"}
        What a turn without any slot to average scores; ``skip`` leaves it out.

    Returns
    -------
    float
        In [0, 1].

    Raises
    ------
    UsageError, UnknownNameError

    References
    ----------
    Evaluation card crosswoz-dst-eval, after Lin & Chen 2021, arXiv:2101.11360.

    Examples
    --------
    >>> slot_f1([{("hotel", "area", "north")}], [{("hotel", "area", "north"), ("hotel", "stars", "4")}])
    0.5
    """
    return score_lists(slot_f1_metric(slots, keyed, empty), predictions, golds)


def slot_scores(predictions: States, golds: States) -> dict[str, float]:
    """Micro-averaged precision, recall and F1 of the triples of all turns.

    Parameters
    ----------
    predictions, golds : sequence of sets of (domain, slot, value), length n

    Returns
    -------
    dict
        ``slot_precision``, ``slot_recall``, ``slot_f1_micro``, each in [0, 1].

    Raises
    ------
    UsageError

    Examples
    --------
    >>> slot_scores([{("hotel", "area", "north")}], [{("hotel", "area", "south")}])["slot_f1_micro"]
    0.0
    """
    keys = ("slot_precision", "slot_recall", "slot_f1_micro")
    return {k: score_lists(STATE_METRICS[k], predictions, golds) for k in keys}


def score_lists(metric: Metric, predictions: States, golds: States, **pairing: Any) -> float:
    """Score plain lists with any state metric; keyword arguments go to the pairing."""
    counts = metric.counts(pair_states_from_lists(predictions, golds, **pairing))
    return float(metric.value(dict(counts.sum())))


# Counting functions ---------------------------------------------------------------------------


def count_triples(pair: StatePair) -> pd.DataFrame:
    """Count by turn: ``turns`` (1), ``exact`` (P = G), ``tp`` = |P∩G|, ``fp`` = |P−G|, ``fn`` = |G−P|."""
    tp = pair.per_turn(pair.gold, pair.gold_in_pred)
    fn = pair.per_turn(pair.gold) - tp
    fp = pair.per_turn(pair.pred) - tp
    exact = ((fn == 0) & (fp == 0)).astype("int64")
    ones = np.ones(len(pair), "int64")
    return pd.DataFrame({"turns": ones, "exact": exact, "tp": tp, "fp": fp, "fn": fn}, index=pair.index)


def count_slot_f1(pair: StatePair, slots: str, keyed: str, empty: str) -> pd.DataFrame:
    """Count by turn: the turn's mean F1 over its slots, and whether the turn is averaged."""
    code = pair.name_codes if keyed == "name" else np.arange(len(pair.slots))
    width = max(len(pair.slots), 1)
    n_values = max(len(pair.values), 1)

    def side(triples: Any) -> tuple[np.ndarray, np.ndarray]:
        # Ignoring the domain may make two triples one, hence the second `distinct`.
        slot = triples.turn * width + code[triples.slot]
        key = slot * n_values + triples.value
        key = distinct(key) if keyed == "name" else key
        return key, key // n_values

    gold_key, gold_slot = side(pair.gold)
    pred_key, pred_slot = side(pair.pred)
    found = distinct(np.concatenate([gold_slot, pred_slot]) if slots == "union" else gold_slot)
    both = gold_key[contains(pred_key, gold_key)] // n_values

    def count(of: np.ndarray) -> np.ndarray:
        here = np.searchsorted(found, of)
        here[here == len(found)] = 0
        return np.bincount(here[found[here] == of], minlength=len(found)) if len(found) else np.zeros(0)

    f1 = ratio(2 * count(both), count(gold_slot) + count(pred_slot))
    turn = found // width
    n = np.bincount(turn, minlength=len(pair))
    mean = ratio(np.bincount(turn, weights=f1, minlength=len(pair)), n, empty=1.0 if empty == "1" else 0.0)
    averaged = (n > 0).astype("int64") if empty == "skip" else np.ones(len(pair), "int64")
    tag = f"slot_f1[{slots},{keyed},{empty}]"
    return pd.DataFrame({f"{tag}_sum": mean * averaged, f"{tag}_turns": averaged}, index=pair.index)


# Values ---------------------------------------------------------------------------------------


def _share(part: str, whole: str, sums: Sums) -> Any:
    return ratio(sums[part], sums[whole])


def precision(sums: Sums, empty: float = 0.0) -> Any:
    """TP / (TP + FP)."""
    return ratio(sums["tp"], sums["tp"] + sums["fp"], empty)


def recall(sums: Sums, empty: float = 0.0) -> Any:
    """TP / (TP + FN)."""
    return ratio(sums["tp"], sums["tp"] + sums["fn"], empty)


def micro_f1(sums: Sums, empty: float = 0.0) -> Any:
    """2 TP / (2 TP + FP + FN)."""
    return ratio(2 * sums["tp"], 2 * sums["tp"] + sums["fp"] + sums["fn"], empty)


@lru_cache
def slot_f1_metric(slots: str = "gold", keyed: str = "name", empty: str = "0") -> Metric:
    """Return the metric ``slot_f1`` with its three switches, which its signature carries."""
    switches: dict[str, tuple[str, tuple[str, ...]]] = {
        "slots": (slots, ("gold", "union")),
        "keyed": (keyed, ("name", "domain-slot")),
        "empty": (str(empty), ("0", "1", "skip")),
    }
    for switch, (choice, known) in switches.items():
        if choice not in known:
            raise UnknownNameError(f"choice of slot_f1's {switch}", choice, known)
    tag = f"slot_f1[{slots},{keyed},{empty}]"
    return Metric(
        "slot_f1",
        "Slot F1",
        partial(count_slot_f1, slots=slots, keyed=keyed, empty=str(empty)),
        partial(_share, f"{tag}_sum", f"{tag}_turns"),
        source=f"evaluation card crosswoz-dst-eval, after {LIN}",
        options=tuple((switch, choice) for switch, (choice, _) in switches.items()),
    )


STATE_METRICS: dict[str, Metric] = {
    m.key: m
    for m in (
        Metric("joint_goal_accuracy", "JGA", count_triples, partial(_share, "exact", "turns"), source=LIN),
        slot_f1_metric(),
        Metric("slot_precision", "Slot P", count_triples, precision, source="DSTC9; ConvLab"),
        Metric("slot_recall", "Slot R", count_triples, recall, source="DSTC9; ConvLab"),
        Metric("slot_f1_micro", "Slot F1 (micro)", count_triples, micro_f1, source="DSTC9; ConvLab"),
    )
}


def count_slot_errors(pair: StatePair) -> pd.DataFrame:
    """Count as TRADE does: what is missed, and what is wrong elsewhere than in a missed slot."""
    missed = pair.gold.take(~pair.gold_in_pred)
    wrong = pair.pred.take(~pair.pred_in_gold)
    fresh = ~contains(distinct(pair.slot_key(missed)), pair.slot_key(wrong))
    return pd.DataFrame(
        {
            "ontology_slots": pair.n_slots,
            "slots_missed": pair.per_turn(missed),
            "slots_wrong": pair.per_turn(wrong, fresh),
        },
        index=pair.index,
    )


def slot_accuracy(sums: Sums) -> np.ndarray:
    """(S − missed − wrong) / S."""
    slots = sums["ontology_slots"]
    return ratio(slots - sums["slots_missed"] - sums["slots_wrong"], slots)


def count_average_goal(pair: StatePair) -> pd.DataFrame:
    """Count by turn: ``aga_sum`` = |P∩G| / |G|, and ``aga_turns``, 1 where G is not empty."""
    size = pair.per_turn(pair.gold)
    share = ratio(pair.per_turn(pair.gold, pair.gold_in_pred), size)
    return pd.DataFrame({"aga_sum": share, "aga_turns": (size > 0).astype("int64")}, index=pair.index)


def count_relative_slots(pair: StatePair) -> pd.DataFrame:
    """Count by turn: ``rsa_sum`` = (T − M − W) / T over the slots T of either state, and ``rsa_turns``, 1."""
    gold, pred = distinct(pair.slot_key(pair.gold)), distinct(pair.slot_key(pair.pred))
    width = max(len(pair.slots), 1)
    n = len(pair)
    absent = np.bincount(gold[~contains(pred, gold)] // width, minlength=n)
    total = np.bincount(pred // width, minlength=n) + absent
    wrong = pair.per_turn(pair.pred, ~pair.pred_in_gold)
    return pd.DataFrame(
        {"rsa_sum": ratio(total - absent - wrong, total), "rsa_turns": np.ones(n, "int64")}, index=pair.index
    )


def _mean(sums: Sums, name: str) -> np.ndarray:
    return ratio(sums[f"{name}_sum"], sums[f"{name}_turns"])


SLOT_METRICS: dict[str, Metric] = {
    m.key: m
    for m in (
        Metric(
            "slot_accuracy",
            "Slot accuracy",
            count_slot_errors,
            slot_accuracy,
            source="Wu et al. 2019 (TRADE)",
        ),
        Metric(
            "average_goal_accuracy",
            "AGA",
            count_average_goal,
            partial(_mean, name="aga"),
            source="Rastogi et al. 2020; Dey et al. 2022, arXiv:2204.03375",
        ),
        Metric(
            "relative_slot_accuracy",
            "RSA",
            count_relative_slots,
            partial(_mean, name="rsa"),
            source="Kim et al. 2022, arXiv:2203.03123",
        ),
    )
}


def count_compared(pair: StatePair) -> pd.DataFrame:
    """Count as DSTC9 does: ``compared_slots``, all of the turn's annotation, and ``compared_right`` of
    them."""
    lost = pair.slot_key(pair.gold.take(~pair.gold_in_pred))
    invented = pair.slot_key(pair.pred.take(~pair.pred_in_gold))
    wrong = distinct(np.concatenate([lost, invented])) // max(len(pair.slots), 1)
    right = pair.n_slots - np.bincount(wrong, minlength=len(pair))
    return pd.DataFrame({"compared_slots": pair.n_slots, "compared_right": right}, index=pair.index)


def _right(sums: Sums) -> np.ndarray:
    return ratio(sums["compared_right"], sums["compared_slots"])


_official = partial(Metric, source="DSTC9 track 2, official scorer")

#: DSTC9's scores, by the keys of the ones they take the place of: precision, recall and F1 are 1
#: where there is nothing to divide by.
DSTC9_METRICS: dict[str, Metric] = {
    m.key: m
    for m in (
        STATE_METRICS["joint_goal_accuracy"],
        _official("slot_accuracy", "Slot accuracy", count_compared, _right),
        _official("slot_precision", "Slot P", count_triples, partial(precision, empty=1.0)),
        _official("slot_recall", "Slot R", count_triples, partial(recall, empty=1.0)),
        _official("slot_f1_micro", "Slot F1 (micro)", count_triples, partial(micro_f1, empty=1.0)),
    )
}


#: Values of λ that are reported; the metric's default is 0.5.
LAMBDAS = (0.25, 0.5, 0.75, 1.0)
#: Weight of precision and recall of values, against that of labels, in granular change accuracy.
ALPHA = 10 / 11
DEY = "Dey et al. 2022, arXiv:2204.03375"


def new_triples(pair: StatePair, side: Triples) -> np.ndarray:
    """Tell for each triple whether the previous turn of its dialogue lacked it."""
    return pair.first[side.turn] | ~contains(side.key, side.key - pair.stride)


def judge_turns(pair: StatePair) -> tuple[np.ndarray, np.ndarray]:
    """Tell for each turn whether P = G, and whether it is in error itself."""
    lost, invented = ~pair.gold_in_pred, ~pair.pred_in_gold
    exact = (pair.per_turn(pair.gold, lost) == 0) & (pair.per_turn(pair.pred, invented) == 0)
    own = (pair.per_turn(pair.gold, lost & new_triples(pair, pair.gold)) > 0) | (
        pair.per_turn(pair.pred, invented & new_triples(pair, pair.pred)) > 0
    )
    # An error after an exact turn is new, also where gold alone drops a slot.
    after_exact = np.r_[True, exact[:-1]] | pair.first if len(pair) else exact
    return exact, ~exact & (after_exact | own)


def count_turn_goal(pair: StatePair) -> pd.DataFrame:
    """Count by turn: ``tga_right``, 1 where flexible goal accuracy is above 0; ``tga_turns``, 1."""
    _, wrong = judge_turns(pair)
    right = (~wrong).astype("int64")
    return pd.DataFrame({"tga_right": right, "tga_turns": np.ones(len(pair), "int64")}, index=pair.index)


def count_flexible(pair: StatePair) -> pd.DataFrame:
    """Count flexible goal accuracy by turn, for every λ of `LAMBDAS`."""
    n = len(pair)
    exact, zero = judge_turns(pair)
    rows = np.arange(n)
    # A wrong turn that does not score 0 follows one that did, in its own dialogue.
    distance = rows - np.maximum.accumulate(np.where(zero, rows, -1)) if n else rows
    columns: dict[str, Any] = {"fga_turns": np.ones(n, "int64")}
    for weight in LAMBDAS:
        columns[f"fga_sum@{weight:g}"] = np.where(
            exact, 1.0, np.where(zero, 0.0, 1 - np.exp(-weight * distance))
        )
    return pd.DataFrame(columns, index=pair.index)


def count_changes(pair: StatePair) -> pd.DataFrame:
    """Count by turn the changes that were correct, wrong, missed and over-predicted."""
    run, turn, gold, pred, gold_seen, pred_seen = _slot_histories(pair)
    starts = np.r_[True, np.diff(run) != 0] if len(run) else np.zeros(0, bool)
    gold_changed = gold_seen & (starts | ~_before(gold_seen) | (gold != _before(gold)))
    pred_changed = pred_seen & (starts | ~_before(pred_seen) | (pred != _before(pred)))
    gone, dropped = gold == _NONE, pred == _NONE
    equal = gold_seen & pred_seen & (gold == pred)
    g = gold_changed
    correct = g & ((~pred_seen & gone) | equal)
    missed = g & ~pred_seen & ~gone
    over = g & pred_seen & ~equal & gone
    wrong = g & pred_seen & ~equal & ~gone
    p = pred_changed
    settled = p & gold_seen
    again = settled & equal & ~correct
    missed_late = settled & dropped & ~again
    counts = {
        "gca_correct": correct.astype(int) + again + (p & ~gold_seen & dropped),
        "gca_wrong": wrong.astype(int) + (settled & ~again & ~dropped & (gold != pred) & ~wrong),
        "gca_missed": missed.astype(int) + missed_late,
        "gca_overpredicted": over.astype(int) + (p & ~gold_seen & ~dropped),
    }
    sums = {k: np.bincount(turn, weights=v, minlength=len(pair)).astype("int64") for k, v in counts.items()}
    return pd.DataFrame(sums, index=pair.index)


_NONE = -1


def _before(values: np.ndarray) -> np.ndarray:
    return np.r_[values[:1], values[:-1]]


def _slot_histories(pair: StatePair) -> tuple[np.ndarray, ...]:
    """Lay out every slot's history: one row a turn from its first mention to the dialogue's end."""
    width = max(len(pair.slots), 1)
    ends = np.searchsorted(
        pair.dialogue, np.arange(pair.dialogue.max() + 1 if len(pair) else 0), side="right"
    )

    def first_mention(side: Triples) -> tuple[np.ndarray, np.ndarray]:
        group = pair.dialogue[side.turn] * width + side.slot
        order = np.argsort(group, kind="stable")  # triples come in the order of turns
        group = group[order]
        first = np.r_[True, group[1:] != group[:-1]] if len(group) else np.zeros(0, bool)
        return group[first], side.turn[order][first]

    gold_keys, gold_from = first_mention(pair.gold)
    pred_keys, pred_from = first_mention(pair.pred)
    keys = distinct(np.concatenate([gold_keys, pred_keys]))
    never = len(pair)
    since = {}
    for name, known, start in (("gold", gold_keys, gold_from), ("pred", pred_keys, pred_from)):
        since[name] = np.full(len(keys), never)
        since[name][np.searchsorted(keys, known)] = start
    start = np.minimum(since["gold"], since["pred"])
    length = ends[keys // width] - start
    run = np.repeat(np.arange(len(keys)), length)
    turn = np.arange(len(run)) - np.repeat(np.cumsum(length) - length, length) + start[run]
    spot = turn * width + (keys % width)[run]
    seen = (turn >= since["gold"][run], turn >= since["pred"][run])
    return run, turn, _values(pair, pair.gold, spot), _values(pair, pair.pred, spot), *seen


def _values(pair: StatePair, side: Triples, spot: np.ndarray) -> np.ndarray:
    """Look up the value of (turn, slot) keys; of several values the last one counts."""
    keys = pair.slot_key(side)
    if not len(keys):
        return np.full(len(spot), _NONE)
    at = np.searchsorted(keys, spot, side="right") - 1
    at[at < 0] = 0
    found = (keys[at] == spot) & (pair.values != "none")[side.value[at]]
    return np.where(found, side.value[at], _NONE)


def granular_change_accuracy(sums: Sums) -> Any:
    """Weighted harmonic mean of value and label precision and recall of changes, α = 10/11."""
    correct, wrong = np.asarray(sums["gca_correct"], float), np.asarray(sums["gca_wrong"], float)
    p, r = correct + wrong + sums["gca_overpredicted"], correct + wrong + sums["gca_missed"]
    parts = [ratio(correct, p), ratio(correct, r), ratio(correct + wrong, p), ratio(correct + wrong, r)]
    weights = [ALPHA * p, ALPHA * r, (1 - ALPHA) * p, (1 - ALPHA) * r]
    usable = np.all([part > 0 for part in parts], axis=0)
    inverse = sum(w * ratio(1.0, part) for w, part in zip(weights, parts, strict=True))
    return np.where(usable, ratio(sum(weights), inverse), 0.0)[()]


def _mean_of_change(sums: Sums, part: str, whole: str) -> Any:
    return ratio(sums[part], sums[whole])


def _flexible(weight: float) -> Metric:
    key = "flexible_goal_accuracy" if weight == 0.5 else f"flexible_goal_accuracy@{weight:g}"
    value = partial(_mean_of_change, part=f"fga_sum@{weight:g}", whole="fga_turns")
    return Metric(key, f"FGA (λ={weight:g})", count_flexible, value, source=DEY)


CHANGE_METRICS: dict[str, Metric] = {
    m.key: m
    for m in (
        *(_flexible(weight) for weight in LAMBDAS),
        Metric(
            "turn_goal_accuracy",
            "TGA",
            count_turn_goal,
            partial(_mean_of_change, part="tga_right", whole="tga_turns"),
            source=DEY,
        ),
        Metric(
            "granular_change_accuracy",
            "GCA",
            count_changes,
            granular_change_accuracy,
            source="Aksu & Chen 2024, arXiv:2403.11123",
        ),
    )
}


#: Two values match from this partial ratio on, in whole per cent: when it is above 95.
THRESHOLD = 96
SOURCE = "Nekvinda & Dušek 2021 (MultiWOZ_Evaluation)"


def count_fuzzy(pair: StatePair) -> pd.DataFrame:
    """Count matching slots by turn."""
    gold_key, pred_key = pair.slot_key(pair.gold), pair.slot_key(pair.pred)
    both = pd.DataFrame({"key": gold_key, "gold": pair.gold.value}).merge(
        pd.DataFrame({"key": pred_key, "pred": pair.pred.value}), on="key"
    )
    matching = distinct(
        both["key"].to_numpy()[_matches(pair, both["gold"].to_numpy(), both["pred"].to_numpy())]
    )
    gold_slots, pred_slots = distinct(gold_key), distinct(pred_key)
    width, n = max(len(pair.slots), 1), len(pair)

    def per_turn(keys: np.ndarray) -> np.ndarray:
        return np.bincount(keys // width, minlength=n)

    tp = per_turn(matching)
    fp, fn = per_turn(pred_slots) - tp, per_turn(gold_slots) - tp
    same_slots = per_turn(gold_slots[~contains(pred_slots, gold_slots)]) == 0
    columns = {
        "fuzzy_turns": np.ones(n, "int64"),
        "fuzzy_exact": (same_slots & (fp == 0) & (fn == 0)).astype("int64"),
        "fuzzy_tp": tp,
        "fuzzy_fp": fp,
        "fuzzy_fn": fn,
    }
    return pd.DataFrame(columns, index=pair.index)


def _matches(pair: StatePair, gold: np.ndarray, pred: np.ndarray) -> np.ndarray:
    n_values = max(len(pair.values), 1)
    codes, distinct = pd.factorize(gold * n_values + pred)
    verdicts = [
        g == p or alike(pair.values[g], pair.values[p], THRESHOLD)
        for g, p in zip(distinct // n_values, distinct % n_values, strict=True)
    ]
    return np.array(verdicts, dtype=bool)[codes]


def _share_of_fuzzy(sums: Sums, part: str, *whole: str) -> Any:
    return ratio(sums[part], sum(sums[w] for w in whole))


def _f1(sums: Sums) -> Any:
    tp2 = 2 * sums["fuzzy_tp"]
    return ratio(tp2, tp2 + sums["fuzzy_fp"] + sums["fuzzy_fn"])


def _exact(sums: Sums) -> Any:
    return _share_of_fuzzy(sums, "fuzzy_exact", "fuzzy_turns")


def _precision(sums: Sums) -> Any:
    return _share_of_fuzzy(sums, "fuzzy_tp", "fuzzy_tp", "fuzzy_fp")


def _recall(sums: Sums) -> Any:
    return _share_of_fuzzy(sums, "fuzzy_tp", "fuzzy_tp", "fuzzy_fn")


_metric = partial(Metric, counts=count_fuzzy, source=SOURCE)

#: By the keys of the exact scores, whose place they take in a protocol with fuzzy values.
FUZZY_METRICS: dict[str, Metric] = {
    m.key: m
    for m in (
        _metric("joint_goal_accuracy", "JGA (fuzzy)", value=_exact),
        _metric("slot_precision", "Slot P (fuzzy)", value=_precision),
        _metric("slot_recall", "Slot R (fuzzy)", value=_recall),
        _metric("slot_f1_micro", "Slot F1 (fuzzy)", value=_f1),
    )
}


_WHERE = ["dialogue_id", "turn", "domain", "slot"]
#: What FuzzyWuzzy deletes before it compares: the upper half of Latin-1.
_DELETED = dict.fromkeys(range(128, 256))


def token_sort_ratio(gold: str, predicted: str) -> int:
    """Return FuzzyWuzzy's ratio of two strings whose words are sorted, in whole per cent."""
    texts = (re.sub(r"\W", " ", t.translate(_DELETED)).lower().split() for t in (gold, predicted))
    first, second = (" ".join(sorted(words)) for words in texts)
    return round(100 * SequenceMatcher(None, first, second).ratio())


def count_frames(pair: StatePair) -> pd.DataFrame:
    """Sum the judgements of each turn's frames."""
    schema = pair.schema
    assert schema is not None
    gold, predicted = (_rows(pair, side) for side in (pair.gold, pair.pred))
    free = pd.MultiIndex.from_frame(schema.free[["domain", "slot"]])
    both = pd.concat([gold, schema.alternatives]).merge(predicted, on=_WHERE, suffixes=("", "_predicted"))
    both["score"] = (both["value"] == both["value_predicted"]).astype(float)
    fuzzy = (both["score"] < 1) & pd.MultiIndex.from_frame(both[["domain", "slot"]]).isin(free)
    values = both.loc[fuzzy, ["value", "value_predicted"]]
    distinct = {two: token_sort_ratio(*two) / 100 for two in set(values.itertuples(index=False, name=None))}
    both.loc[fuzzy, "score"] = [distinct[two] for two in values.itertuples(index=False, name=None)]
    # A slot that only one side fills scores 0.
    slots = pd.concat([gold.assign(filled=True), predicted.assign(filled=False)])
    slots = slots.groupby(_WHERE, as_index=False).agg(filled=("filled", "max"))
    best = both.groupby(_WHERE, as_index=False).agg(score=("score", "max"))
    slots = slots.merge(best, on=_WHERE, how="left").fillna({"score": 0.0})
    frame, turn = _WHERE[:3], _WHERE[:2]

    def by_turn(scores: pd.Series) -> pd.DataFrame:
        return scores.groupby(turn).agg(["sum", "size"]).reindex(pair.index, fill_value=0)

    joint = by_turn(slots.groupby(frame)["score"].prod())
    average = by_turn(slots[slots["filled"]].groupby(frame)["score"].mean())
    services = pd.Series(schema.services, index=pair.index)
    return pd.DataFrame(
        {
            "frames": services,
            # Frames that neither side fills are right.
            "frames_joint": joint["sum"] + services - joint["size"],
            "frames_filled": average["size"],
            "frames_average": average["sum"],
        }
    )


def _rows(pair: StatePair, side: Any) -> pd.DataFrame:
    places = pair.index.take(side.turn).to_frame(index=False)
    slots = pair.slots.take(side.slot).reset_index(drop=True)
    return pd.concat([places, slots], axis=1).assign(value=pair.values[side.value])


def _mean_of_frames(sums: Sums, part: str, whole: str) -> Any:
    return ratio(sums[part], sums[whole])


_metric_of_frames = partial(
    Metric, counts=count_frames, source="Rastogi et al. 2020 (DSTC8 track 4), arXiv:2002.01359"
)

#: By the keys of the scores whose place they take.
FRAME_METRICS: dict[str, Metric] = {
    m.key: m
    for m in (
        _metric_of_frames(
            "joint_goal_accuracy", "JGA", value=partial(_mean_of_frames, part="frames_joint", whole="frames")
        ),
        _metric_of_frames(
            "average_goal_accuracy",
            "AGA",
            value=partial(_mean_of_frames, part="frames_average", whole="frames_filled"),
        ),
    )
}

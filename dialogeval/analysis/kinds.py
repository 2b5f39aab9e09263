"""The tests behind the kinds of errors, one function each.

In: a `StatePair` (or `Scores`, where utterances are looked at) and its errors as codes. Out: for
each error whether a kind holds, or the code of what it rests on. The order of kinds is not for
these functions to know.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache

import numpy as np
import pandas as pd

from ..breakdowns.groups import state_pair_of
from ..metrics.states import StatePair, contains
from ..normalize import normalize_value
from ..scoring import Scores
from .runs import run_starts
from .said import Said

__all__ = [
    "FUZZY",
    "find_changed",
    "find_elsewhere",
    "find_stale",
    "find_unsaid_gold",
    "find_written",
    "same_writing",
]

#: Two writings of one value are more alike than this, of 100.
FUZZY = 90
_WRITING = (
    "case:lower",
    "space:collapse",
    "space:strip",
    "time:hhmm",
    "article:drop",
    "spelling:unify",
    "dontcare:unify",
    "punctuation:drop",
    "space:remove",
)


def find_written(pair: StatePair, coded: pd.DataFrame) -> np.ndarray:
    """Tell for each error whether both values are one value, differently written.

    Parameters
    ----------
    pair : StatePair
    coded : pandas.DataFrame
        Errors as codes.

    Returns
    -------
    ndarray of bool

    Examples
    --------
    >>> from dialogeval.breakdowns.states import paired_errors
    >>> from dialogeval.metrics.states import pair_states_from_lists
    >>> pair = pair_states_from_lists([{("taxi", "leaveat", "9:15")}], [{("taxi", "leaveat", "09:15")}])
    >>> find_written(pair, paired_errors(pair)).tolist()
    [True]
    """
    gold, predicted = coded["gold"].to_numpy(), coded["predicted"].to_numpy()
    both = (gold >= 0) & (predicted >= 0)
    codes, distinct = pd.factorize(gold[both] * len(pair.values) + predicted[both])
    # String comparison has no array form; distinct pairs are few.
    verdicts = [
        same_writing(pair.values[key // len(pair.values)], pair.values[key % len(pair.values)])
        for key in distinct
    ]
    found = np.zeros(len(coded), bool)
    found[both] = np.array(verdicts, dtype=bool)[codes]
    return found


def same_writing(one: str, other: str) -> bool:
    """Tell whether two strings are one value.

    Parameters
    ----------
    one, other : str

    Returns
    -------
    bool
        Equal after every step that is a matter of writing, or more alike than `FUZZY` with the
        same digits: 50-100 yuan and 50-150 yuan are alike, but not the same.

    Examples
    --------
    >>> same_writing("The Cow Pizza", "cow pizza"), same_writing("caffe uno", "cafe uno")
    (True, True)
    >>> same_writing("50-100 yuan", "50-150 yuan"), same_writing("north", "south")
    (False, False)
    """
    from rapidfuzz.fuzz import ratio

    a, b = _written(one), _written(other)
    if a == b:
        return bool(a)
    return re.findall(r"\d", a) == re.findall(r"\d", b) and ratio(a, b) > FUZZY


@cache
def _written(value: str) -> str:
    return normalize_value(unicodedata.normalize("NFKC", value), _WRITING)


def find_changed(pair: StatePair, coded: pd.DataFrame) -> np.ndarray:
    """Tell for each error whether gold fills its slot otherwise than in both neighbours, which agree.

    Parameters
    ----------
    pair : StatePair
    coded : pandas.DataFrame

    Returns
    -------
    ndarray of bool
        False in the first and the last turn of a dialogue.

    Examples
    --------
    >>> from dialogeval.breakdowns.states import paired_errors
    >>> from dialogeval.metrics.states import pair_states_from_lists
    >>> north, south = {("hotel", "area", "north")}, {("hotel", "area", "south")}
    >>> pair = pair_states_from_lists([north, north, north], [north, south, north])
    >>> find_changed(pair, paired_errors(pair)).tolist()
    [True]
    """
    row, width = coded["row"].to_numpy(), max(len(pair.slots), 1)
    cell, step = row * width + coded["code"].to_numpy(), width

    def size(cells: np.ndarray, mask: np.ndarray | None = None) -> np.ndarray:
        keys = pair.slot_key(pair.gold) if mask is None else pair.slot_key(pair.gold)[mask]
        return np.searchsorted(keys, cells, "right") - np.searchsorted(keys, cells, "left")

    def stays(turns: int) -> np.ndarray:
        return contains(pair.gold.key, pair.gold.key + turns * pair.stride)

    last = np.r_[pair.first[1:], True] if len(pair) else pair.first
    inside = ~pair.first[row] & ~last[row]
    before, here, after = size(cell - step), size(cell), size(cell + step)
    kept, across = size(cell - step, stays(1)), size(cell - step, stays(2))
    neighbours_agree = (before == after) & (across == before)
    return inside & neighbours_agree & ~((here == before) & (kept == here))


def find_stale(pair: StatePair, coded: pd.DataFrame) -> np.ndarray:
    """Find for each error the last turn in which the predicted value, kept since, was right.

    Parameters
    ----------
    pair : StatePair
    coded : pandas.DataFrame

    Returns
    -------
    ndarray of int64
        Row of that turn; −1 where there is none.

    Examples
    --------
    >>> from dialogeval.breakdowns.states import paired_errors
    >>> from dialogeval.metrics.states import pair_states_from_lists
    >>> north, south = {("hotel", "area", "north")}, {("hotel", "area", "south")}
    >>> pair = pair_states_from_lists([north, north, north], [north, south, south])
    >>> find_stale(pair, paired_errors(pair)).tolist()
    [0, 0]
    """
    pred = pair.pred
    found = np.full(len(coded), -1)
    if not len(pred.key) or not len(coded):
        return found
    label = pred.key % pair.stride  # the triple without its turn
    starts = run_starts(pair, pred.turn, label)
    order = np.lexsort((pred.turn, label))
    # The last right turn so far, of this run or an earlier one; the run's start tells which.
    place = np.where(pair.pred_in_gold[order], np.arange(len(order)), -1)
    latest = np.maximum.accumulate(place)
    right = np.where(latest >= 0, pred.turn[order][latest], -1)
    same_label = (latest >= 0) & (label[order][latest] == label[order])
    last_right = np.empty(len(order), "int64")
    last_right[order] = np.where(same_label & (right >= starts[order]), right, -1)
    wrong = coded["predicted"].to_numpy() >= 0
    here = coded[wrong]
    key = (here["row"] * pair.stride + here["code"] * len(pair.values) + here["predicted"]).to_numpy()
    found[wrong] = last_right[np.searchsorted(pred.key, key)]
    return found


def find_elsewhere(pair: StatePair, coded: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    """Find for each error the other slot of its turn in which a value of it stands instead.

    Parameters
    ----------
    pair : StatePair
    coded : pandas.DataFrame

    Returns
    -------
    predicted_in : ndarray of int64
        Slot in which gold's value is, wrongly, predicted (of several, the first by the alphabet);
        −1 where there is none.
    belongs_in : ndarray of int64
        Slot in which gold has the predicted value, and the prediction lacks it; −1 likewise.

    Examples
    --------
    >>> from dialogeval.breakdowns.states import paired_errors
    >>> from dialogeval.metrics.states import pair_states_from_lists
    >>> pair = pair_states_from_lists([{("train", "to", "ely")}], [{("train", "from", "ely")}])
    >>> [codes.tolist() for codes in find_elsewhere(pair, paired_errors(pair))]
    [[1, -1], [-1, 0]]
    """
    pairs = swapped(pair, coded)
    found = []
    for own, other in (("missed", "spurious"), ("spurious", "missed")):
        first = pairs.sort_values(f"{other}_name").drop_duplicates(f"{own}_at")
        codes = np.full(len(coded), -1)
        codes[first[f"{own}_at"].to_numpy()] = first[other].to_numpy()
        found.append(codes)
    return found[0], found[1]


def swapped(pair: StatePair, coded: pd.DataFrame) -> pd.DataFrame:
    """List every value that gold has in one slot and the prediction, wrongly, in another of the same turn.

    Returns row, value, ``missed`` and ``spurious`` (codes of the slots), their names, and
    ``missed_at`` and ``spurious_at`` (positions of the two errors in ``coded``).
    """
    names = (pair.slots["domain"] + "-" + pair.slots["slot"]).to_numpy(dtype=object)
    sides = []
    for column, name in (("gold", "missed"), ("predicted", "spurious")):
        at = np.flatnonzero(coded[column].to_numpy() >= 0)
        rows = coded.iloc[at]
        code = rows["code"].to_numpy()
        frame = {"row": rows["row"].to_numpy(), "value": rows[column].to_numpy(), name: code}
        sides.append(pd.DataFrame({**frame, f"{name}_name": names[code], f"{name}_at": at}))
    return sides[0].merge(sides[1], on=["row", "value"])


def find_unsaid_gold(scores: Scores, coded: pd.DataFrame) -> np.ndarray:
    """Tell for each error whether, when it began, the predicted value had just been said and gold's never.

    Parameters
    ----------
    scores : Scores
        The utterances are those of their corpus.
    coded : pandas.DataFrame

    Returns
    -------
    ndarray of bool
        False where a side has no value, and where gold's value is no word to be said (yes, no,
        dontcare, a single digit).

    Examples
    --------
    >>> from dialogeval.breakdowns.states import paired_errors
    >>> from dialogeval.scoring import score
    >>> from dialogeval.tables import Corpus, Predictions, table
    >>> turns = table("turns", [("d", 0, "a room in the north", "", 0)])
    >>> gold = Corpus("toy", turns=turns, states=table("states", [("d", 0, "hotel", "area", "south")]))
    >>> pred = Predictions("p", turns=turns, states=table("states", [("d", 0, "hotel", "area", "north")]))
    >>> scores = score(gold, pred, "lin2021", resamples=0)
    >>> find_unsaid_gold(scores, paired_errors(scores.pair)).tolist()
    [True]
    """
    pair = state_pair_of(scores)
    found = np.zeros(len(coded), bool)
    gold, predicted = coded["gold"].to_numpy(), coded["predicted"].to_numpy()
    judged = np.flatnonzero((gold >= 0) & (predicted >= 0))
    if scores.gold is None or not len(judged):
        return found
    n_values = len(pair.values)
    label = (coded["code"].to_numpy()[judged] * n_values + gold[judged]) * n_values + predicted[judged]
    start = run_starts(pair, coded["row"].to_numpy()[judged], label)
    begun = pd.DataFrame({"row": start, "gold": gold[judged], "predicted": predicted[judged]})
    group = begun.groupby(["row", "gold", "predicted"], sort=False).ngroup().to_numpy()
    firsts = begun.drop_duplicates()
    said = Said(scores.gold, pair)
    verdicts = [
        said.lately(row, pair.values[p]) and said.never(row, pair.values[g])
        for row, g, p in zip(firsts["row"], firsts["gold"], firsts["predicted"], strict=True)
    ]
    found[judged] = np.array(verdicts, dtype=bool)[group]
    return found

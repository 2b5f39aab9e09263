"""Error analysis of state tracking: what goes wrong, of what kind, where it starts and how long it lives.

In: `Scores` of a protocol for states. Out: tables, and one dialogue to look at. `errors` lists every
wrong triple with its kind; `lifetimes` follows errors through their dialogues; `confusions` counts
which slots and values are taken for each other; `rendering` shows a dialogue side by side.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache, partial
from html import escape as escape_html
from typing import Any

import numpy as np
import pandas as pd

from dialogeval.analysis.breakdowns import corpus_of, decode_errors, paired_errors, plain_kinds, state_pair_of
from dialogeval.delex import NO_WORDS, find_value, plain_text
from dialogeval.exceptions import UnknownNameError
from dialogeval.metrics import Metric, Sums, ratio
from dialogeval.metrics.states import StatePair, Triples, contains, count_triples, new_triples
from dialogeval.normalize import normalize_value
from dialogeval.scoring import Scores
from dialogeval.tables import Corpus, canonical_id


def run_starts(pair: StatePair, row: np.ndarray, key: np.ndarray) -> np.ndarray:
    """For each (row, key), the first row of the unbroken run of turns of one dialogue that have the key."""
    if not len(row):
        return np.zeros(0, "int64")
    order = np.lexsort((row, key))
    r, k = row[order], key[order]
    step = np.diff(r)
    broken = np.r_[True, (np.diff(k) != 0) | (step > 1) | (pair.first[r[1:]] & (step > 0))]
    starts = np.empty(len(r), "int64")
    starts[order] = r[np.maximum.accumulate(np.where(broken, np.arange(len(r)), 0))]
    return starts


def life_starts(pair: StatePair, coded: pd.DataFrame) -> np.ndarray:
    """For each error, the row of the turn from which its slot has been wrong without a break."""
    return run_starts(pair, coded["row"].to_numpy(), coded["code"].to_numpy())


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
    """Tell for each error whether both values are one value, differently written."""
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
    """Tell whether two strings are one value."""
    from rapidfuzz.fuzz import ratio

    a, b = _written(one), _written(other)
    if a == b:
        return bool(a)
    return re.findall(r"\d", a) == re.findall(r"\d", b) and ratio(a, b) > FUZZY


@cache
def _written(value: str) -> str:
    return normalize_value(unicodedata.normalize("NFKC", value), _WRITING)


def find_changed(pair: StatePair, coded: pd.DataFrame) -> np.ndarray:
    """Tell for each error whether gold fills its slot otherwise than in both neighbours, which agree."""
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
    """Find for each error the last turn in which the predicted value, kept since, was right."""
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
    """Find for each error the other slot of its turn in which a value of it stands instead."""
    pairs = swapped(pair, coded)
    found = []
    for own, other in (("missed", "spurious"), ("spurious", "missed")):
        first = pairs.sort_values(f"{other}_name").drop_duplicates(f"{own}_at")
        codes = np.full(len(coded), -1)
        codes[first[f"{own}_at"].to_numpy()] = first[other].to_numpy()
        found.append(codes)
    return found[0], found[1]


def swapped(pair: StatePair, coded: pd.DataFrame) -> pd.DataFrame:
    """List every value that gold has in one slot and the prediction, wrongly, in another of the same turn."""
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
    """Tell for each error whether, when it began, the predicted value had just been said and gold's never."""
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


#: Kinds of errors, in the order in which they are tried.
KINDS = {
    "written differently": "both sides have a value, equal but for case, space, punctuation, article, time format "
    "or spelling, or alike by more than 90 of 100 (Indel ratio) with the same digits",
    "gold suspicious": "both sides have a value, and when the error began the predicted one stood in the last two "
    "utterances while gold's had not been said at all; or gold fills the slot otherwise than in the turns "
    "before and after, which agree",
    "stale": "the predicted value was right in an earlier turn and has been kept since, while gold changed it or "
    "gave it up",
    "wrong slot": "a value that gold has in this turn, and the prediction lacks, is predicted in another slot; "
    "both slots have the kind",
    "wrong value": "both sides fill the slot, with different values",
    "missed": "gold fills the slot, the prediction does not",
    "spurious": "the prediction fills the slot, gold does not",
}


def errors(scores: Scores) -> pd.DataFrame:
    """Return every error of every turn, with its kind and the turn where it began.

    Parameters
    ----------
    scores : Scores
        Of a protocol for states.

    Returns
    -------
    pandas.DataFrame
        One row an error, in the order of the turns: dialogue_id, turn, domain, slot, gold,
        predicted (empty strings for no value), kind (see `error_kinds`), ``fn`` and ``fp`` (0 or 1:
        whether the row holds a gold triple that was not predicted, a predicted one that is not
        gold; they sum to FN and FP of the score), ``since`` (turn from which the slot has been
        wrong without a break), ``detail`` (what the kind rests on, in words).

    Raises
    ------
    UsageError
        Scores of responses.

    Notes
    -----
    A gold and a predicted value of one slot and turn that both lack their match are one row. States
    are cumulative: an error is counted in every turn until it is repaired; see `error_lives`.
    Triples are compared exactly, as the protocol has normalised them. *Gold suspicious* is a reason
    to look, not a verdict; without utterances only its second half can be seen.

    Examples
    --------
    >>> from dialogeval.scoring import score
    >>> from dialogeval.tables import Corpus, Predictions, table
    >>> turns = table("turns", [("d", 0, "a cheap inn", "where?", 0)])
    >>> gold = Corpus("toy", turns=turns, states=table("states", [("d", 0, "hotel", "pricerange", "cheap")]))
    >>> pred = Predictions("p", turns=turns, states=table("states", [("d", 0, "hotel", "pricerange", "CHEAP")]))
    >>> errors(score(gold, pred, "lin2021", resamples=0))[["slot", "gold", "predicted", "kind"]].values.tolist()
    [['pricerange', 'cheap', 'CHEAP', 'written differently']]
    """
    return classify(scores, paired_errors(state_pair_of(scores)))


def error_kinds() -> pd.DataFrame:
    """Return the kinds of errors in the order in which they are tried, and what each one means.

    Returns
    -------
    pandas.DataFrame
        Indexed by kind; column ``what it is``.

    Examples
    --------
    >>> list(error_kinds().index)[-2:]
    ['missed', 'spurious']
    """
    return pd.DataFrame({"what it is": pd.Series(KINDS, dtype="str")}).rename_axis("kind")


def classify(scores: Scores, coded: pd.DataFrame) -> pd.DataFrame:
    """Decode errors and name their kinds."""
    pair = state_pair_of(scores)
    turn = pair.index.get_level_values("turn").to_numpy()
    changed, unsaid = find_changed(pair, coded), find_unsaid_gold(scores, coded)
    right_before = find_stale(pair, coded)
    predicted_in, belongs_in = find_elsewhere(pair, coded)
    names = (pair.slots["domain"] + "-" + pair.slots["slot"]).to_numpy(dtype=object)
    holds = [
        find_written(pair, coded),
        unsaid | changed,
        right_before >= 0,
        (predicted_in >= 0) | (belongs_in >= 0),
    ]
    details = [
        np.full(len(coded), "", dtype=object),
        np.where(unsaid, "the prediction was just said, gold never", "gold differs in this turn alone"),
        _name("right until turn ", turn, right_before),
        np.where(
            predicted_in >= 0,
            _name("gold's value is predicted for ", names, predicted_in),
            _name("the predicted value is gold's for ", names, belongs_in),
        ),
    ]
    table = decode_errors(pair, coded)
    table["kind"] = pd.Series(np.select(holds, list(KINDS)[:4], plain_kinds(coded)), dtype="str")
    table["fn"] = (coded["gold"] >= 0).astype("int64")
    table["fp"] = (coded["predicted"] >= 0).astype("int64")
    table["since"] = turn[life_starts(pair, coded)] if len(coded) else np.zeros(0, "int64")
    table["detail"] = pd.Series(np.select(holds, details, ""), dtype="str")
    by = ["row", "domain", "slot", "gold", "predicted"]
    return table.assign(row=coded["row"]).sort_values(by, ignore_index=True).drop(columns="row")


def _name(words: str, names: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """Put a name behind the words wherever there is one (code from 0)."""
    phrases = np.array([f"{words}{name}" for name in names] + [""], dtype=object)
    return phrases[codes]


def error_lives(scores: Scores) -> pd.DataFrame:
    """Return where each error starts, how long it lives and whether it is repaired.

    Parameters
    ----------
    scores : Scores
        Of a protocol for states.

    Returns
    -------
    pandas.DataFrame
        One row a life, an unbroken run of turns in which a slot is wrong, in the order of their
        beginnings: dialogue_id, domain, slot, ``first`` and ``last`` turn, ``turns`` (its length),
        ``errors`` (rows of `errors` in it: more than ``turns`` where a slot has several values),
        kind, gold and predicted of the first turn, and ``end``: ``repaired``, or ``never`` for
        what is wrong up to the last turn of the dialogue.

    Raises
    ------
    UsageError
        Scores of responses.

    Notes
    -----
    ``errors`` sums to the length of the error table. A slot that stays wrong while its values
    change lives on.

    Examples
    --------
    >>> from dialogeval.scoring import score
    >>> from dialogeval.tables import Corpus, Predictions, table
    >>> turns = table("turns", [("d", 0, "a", "b", 0), ("d", 1, "c", "d", 0)])
    >>> gold = Corpus("toy", turns=turns, states=table("states", [("d", t, "hotel", "area", "north") for t in (0, 1)]))
    >>> pred = Predictions("p", turns=turns, states=table("states", [("d", 1, "hotel", "area", "north")]))
    >>> error_lives(score(gold, pred, "lin2021", resamples=0))[["first", "turns", "kind", "end"]].values.tolist()
    [[0, 1, 'missed', 'repaired']]
    """
    table = errors(scores)
    by = ["dialogue_id", "since", "domain", "slot"]
    lives = table.groupby(by, sort=False).agg(
        last=("turn", "max"),
        turns=("turn", "nunique"),
        errors=("turn", "size"),
        kind=("kind", "first"),
        gold=("gold", "first"),
        predicted=("predicted", "first"),
    )
    lives = lives.reset_index().rename(columns={"since": "first"})
    turns = scores.coverage.turns
    end = lives["dialogue_id"].map(turns.groupby("dialogue_id")["turn"].max())
    lives["end"] = pd.Series(np.where(lives["last"] == end, "never", "repaired"), dtype="str")
    order = [
        "dialogue_id",
        "domain",
        "slot",
        "first",
        "last",
        "turns",
        "errors",
        "kind",
        "gold",
        "predicted",
        "end",
    ]
    return lives.sort_values(["dialogue_id", "first", "domain", "slot"], ignore_index=True)[order]


def reset_accuracy(scores: Scores) -> pd.DataFrame:
    """Return joint goal accuracy by turn, beside that of the same tracker reset to gold after each turn.

    Parameters
    ----------
    scores : Scores
        Of a protocol for states.

    Returns
    -------
    pandas.DataFrame
        Indexed by turn, from 0: ``turns``; ``exact`` and ``exact_after_reset``, turns whose state
        is right; ``joint_goal_accuracy`` and ``reset_goal_accuracy``, their shares.

    Raises
    ------
    UsageError
        Scores of responses.

    Notes
    -----
    The reset tracker starts each turn from the previous gold state: a slot that the prediction
    changes in this turn gets its predicted value, every other slot keeps the previous gold one. A
    turn right after a right turn is right in both; elsewhere either may be higher: a tracker that
    fills a slot a turn too early is right in the next turn, and its reset twin, which changes
    nothing there, is not.

    Examples
    --------
    >>> from dialogeval.scoring import score
    >>> from dialogeval.tables import Corpus, Predictions, table
    >>> turns = table("turns", [("d", t, "", "", 0) for t in range(3)])
    >>> gold = Corpus("toy", turns=turns, states=table("states", [("d", t, "hotel", "area", "north") for t in range(3)]))
    >>> pred = Predictions("never fills", turns=turns, states=table("states"))
    >>> reset_accuracy(score(gold, pred, "lin2021", resamples=0))["reset_goal_accuracy"].tolist()
    [0.0, 1.0, 1.0]
    """
    pair = state_pair_of(scores)
    counts = count_triples(pair)[["turns", "exact"]].join(count_reset(pair)["reset_right"])
    table = counts.groupby(level="turn").sum().rename(columns={"reset_right": "exact_after_reset"})
    table["joint_goal_accuracy"] = ratio(table["exact"], table["turns"])
    table["reset_goal_accuracy"] = ratio(table["exact_after_reset"], table["turns"])
    return table


def count_reset(pair: StatePair) -> pd.DataFrame:
    """Count by turn: ``reset_right``, 1 where gold's last state with the predicted changes is gold's
    state."""
    width = max(len(pair.slots), 1)
    lost = pair.slot_key(pair.gold.take(~pair.gold_in_pred))
    invented = pair.slot_key(pair.pred.take(~pair.pred_in_gold))
    wrong = np.union1d(lost, invented)
    touched, due = _changed_cells(pair, pair.pred), _changed_cells(pair, pair.gold)
    bad = np.union1d(np.intersect1d(touched, wrong), np.setdiff1d(due, touched)) // width
    right = np.bincount(bad, minlength=len(pair)) == 0
    columns = {"reset_right": right.astype("int64"), "reset_turns": np.ones(len(pair), "int64")}
    return pd.DataFrame(columns, index=pair.index)


# Helpers ------------------------------------------------------------------------------------------


def _changed_cells(pair: StatePair, side: Triples) -> np.ndarray:
    """Return the (turn, slot) whose values differ from the previous turn's, as sorted keys."""
    width = max(len(pair.slots), 1)
    last = np.r_[pair.first[1:], True] if len(pair) else pair.first
    gone = ~last[side.turn] & ~np.isin(side.key + pair.stride, side.key)
    cells = pair.slot_key(side)
    return np.union1d(cells[new_triples(pair, side)], cells[gone] + width)


def _share(part: str, whole: str, sums: Sums) -> Any:
    return ratio(sums[part], sums[whole])


#: As a metric, to put into a protocol of your own: then it has intervals and breakdowns.
RESET_GOAL_ACCURACY = Metric(
    "reset_goal_accuracy",
    "JGA after reset",
    count_reset,
    partial(_share, "reset_right", "reset_turns"),
    source="dialogeval: joint goal accuracy of the predicted change, applied to the previous gold state",
)


def confused_slots(scores: Scores, most: int = 10) -> pd.DataFrame:
    """Return the pairs of slots that are most often taken for each other.

    Parameters
    ----------
    scores : Scores
        Of a protocol for states.
    most : int, default=10
        Rows returned; ``attrs["left_out"]`` holds how many pairs there are beside them.

    Returns
    -------
    pandas.DataFrame
        ``gold_slot`` and ``predicted_slot`` (domain-slot): gold has a value in the one, which the
        prediction lacks there and wrongly has in the other; ``turns`` and ``dialogues`` in which it
        happens; an example: value, dialogue_id, turn and the user's utterance.

    Raises
    ------
    UsageError
        Scores of responses.

    Examples
    --------
    >>> from dialogeval.scoring import score
    >>> from dialogeval.tables import Corpus, Predictions, table
    >>> turns = table("turns", [("d", 0, "to Ely", "", 0)])
    >>> gold = Corpus("toy", turns=turns, states=table("states", [("d", 0, "train", "destination", "Ely")]))
    >>> pred = Predictions("p", turns=turns, states=table("states", [("d", 0, "train", "departure", "Ely")]))
    >>> confused_slots(score(gold, pred, "lin2021", resamples=0)).iloc[0, :2].tolist()
    ['train-destination', 'train-departure']
    """
    pair = state_pair_of(scores)
    pairs = swapped(pair, paired_errors(pair))
    table = pd.DataFrame(
        {
            "gold_slot": pairs["missed_name"].astype("str"),
            "predicted_slot": pairs["spurious_name"].astype("str"),
            "value": pd.Series(pair.values[pairs["value"].to_numpy()], index=pairs.index, dtype="str"),
            "dialogue_id": pair.index.get_level_values("dialogue_id")[pairs["row"]],
            "turn": pair.index.get_level_values("turn")[pairs["row"]],
        }
    )
    return _most_frequent(scores, table, ["gold_slot", "predicted_slot"], most)


def confused_values(scores: Scores, most: int = 10) -> pd.DataFrame:
    """Return the values that are most often taken for each other.

    Parameters
    ----------
    scores : Scores
        Of a protocol for states.
    most : int, default=10
        Rows returned; ``attrs["left_out"]`` holds how many pairs there are beside them.

    Returns
    -------
    pandas.DataFrame
        domain, slot, gold and predicted, both filled; ``turns`` and ``dialogues`` in which it
        happens; an example: dialogue_id, turn (the first one) and the user's utterance.

    Raises
    ------
    UsageError
        Scores of responses.

    Examples
    --------
    >>> from dialogeval.scoring import score
    >>> from dialogeval.tables import Corpus, Predictions, table
    >>> turns = table("turns", [("d", 0, "up north", "", 0)])
    >>> gold = Corpus("toy", turns=turns, states=table("states", [("d", 0, "hotel", "area", "north")]))
    >>> pred = Predictions("p", turns=turns, states=table("states", [("d", 0, "hotel", "area", "south")]))
    >>> confused_values(score(gold, pred, "lin2021", resamples=0))[["gold", "predicted", "user"]].values.tolist()
    [['north', 'south', 'up north']]
    """
    pair = state_pair_of(scores)
    table = decode_errors(pair, paired_errors(pair))
    table = table[(table["gold"] != "") & (table["predicted"] != "")]
    return _most_frequent(scores, table, ["domain", "slot", "gold", "predicted"], most)


def rank_dialogues(scores: Scores) -> pd.DataFrame:
    """Return every scored dialogue with its errors, the worst first.

    Parameters
    ----------
    scores : Scores
        Of a protocol for states.

    Returns
    -------
    pandas.DataFrame
        Indexed by dialogue_id: ``turns``; ``wrong_turns``, whose state is not right; ``errors``
        (rows of `errors`) and their ``fn`` and ``fp``; ``lives`` (beginnings, see `error_lives`);
        ``first_wrong`` turn (<NA> for none) and the most frequent ``kind`` (empty for none).
        Sorted by errors, then by lives, then by id.

    Raises
    ------
    UsageError
        Scores of responses.

    Examples
    --------
    >>> from dialogeval.scoring import score
    >>> from dialogeval.tables import Corpus, table
    >>> gold = Corpus("toy", turns=table("turns", [("d", 0, "hi", "ho", 0)]))
    >>> rank_dialogues(score(gold, gold, "lin2021", resamples=0))["errors"].to_dict()
    {'d': 0}
    """
    counts = count_triples(state_pair_of(scores)).groupby(level="dialogue_id").sum()
    table = errors(scores)
    by = table.groupby("dialogue_id")
    starts = table.drop_duplicates(["dialogue_id", "since", "domain", "slot"])
    kinds = table.groupby(["dialogue_id", "kind"]).size().rename("n").reset_index()
    kinds = kinds.sort_values(["n", "kind"], ascending=[False, True]).drop_duplicates("dialogue_id")
    ranked = pd.DataFrame({"turns": counts["turns"], "wrong_turns": counts["turns"] - counts["exact"]})
    ranked["errors"] = by.size().reindex(ranked.index).fillna(0).astype("int64")
    ranked[["fn", "fp"]] = counts[["fn", "fp"]]
    lives = starts.groupby("dialogue_id").size()
    ranked["lives"] = lives.reindex(ranked.index).fillna(0).astype("int64")
    ranked["first_wrong"] = by["turn"].min().reindex(ranked.index).astype("Int64")
    ranked["kind"] = kinds.set_index("dialogue_id")["kind"].reindex(ranked.index).fillna("").astype("str")
    return ranked.sort_index().sort_values(["errors", "lives"], ascending=False, kind="stable")


# Helpers ------------------------------------------------------------------------------------------


def _most_frequent(scores: Scores, table: pd.DataFrame, what: list[str], most: int) -> pd.DataFrame:
    """Count distinct turns and dialogues of each group; its first row is the example."""
    table = table.sort_values(["dialogue_id", "turn", *what], kind="stable")
    example = [c for c in table.columns if c not in what]
    once = table.drop_duplicates([*what, "dialogue_id", "turn"])
    groups = once.groupby(what, sort=False)
    counted = groups.agg(turns=("turn", "size"), dialogues=("dialogue_id", "nunique"))
    first = once.drop_duplicates(what).set_index(what)[example]
    found = counted.join(first).reset_index()
    found = found.sort_values(["turns", *what], ascending=[False] + [True] * len(what), ignore_index=True)
    shown = found.head(most)
    if scores.gold is not None:
        turns = scores.gold.turns[["dialogue_id", "turn", "user"]]
        shown = shown.merge(turns, on=["dialogue_id", "turn"], how="left")
    shown.attrs["left_out"] = len(found) - len(shown)
    return shown


_TIME = re.compile(r"\d{1,2}[:.]\d{2}(?: ?[ap]\.?m\b\.?)?|\d{1,2} ?[ap]\.?m\b\.?")
#: Shorter strings are found by chance in a text without spaces.
_SHORTEST = 6


class Said:
    """The utterances of a corpus by the rows of a pair, read as far as they are asked for."""

    def __init__(self, corpus: Corpus, pair: StatePair) -> None:
        turns = corpus.turns[["dialogue_id", "turn", "user", "system"]]
        turns = turns.sort_values(["dialogue_id", "turn"], ignore_index=True)
        self._user, self._system = turns["user"].tolist(), turns["system"].tolist()
        ids = turns["dialogue_id"]
        first = (~ids.duplicated()).to_numpy()
        self._start = np.maximum.accumulate(np.where(first, np.arange(len(turns)), 0))
        self._place = pd.MultiIndex.from_frame(turns[["dialogue_id", "turn"]]).get_indexer(pair.index)
        self._read: dict[tuple[int, bool], tuple[str, str, frozenset[str]]] = {}

    def lately(self, row: int, value: str) -> bool:
        """Tell whether a value stands in the user's utterance of a turn or the system's before it."""
        return _stands(plain_text(value.strip()), self._texts(row, lately=True))

    def never(self, row: int, value: str) -> bool:
        """Tell whether a value stands nowhere up to the user's utterance of a turn."""
        value = _plain(value)
        squeezed = _squeeze(value)
        if not squeezed or value in NO_WORDS or (len(squeezed) == 1 and squeezed.isdigit()):
            return False  # no word to be said, or one that is said in many ways
        text, together, times = self._texts(row, lately=False)
        return bool(text.strip()) and squeezed not in together and value not in times

    def _texts(self, row: int, lately: bool) -> tuple[str, str, frozenset[str]]:
        """Return the utterances as they are searched: words, all in one string, and times of day."""
        key = (int(row), lately)
        if key not in self._read:
            at = int(self._place[row])
            start = max(self._start[at], at - 1) if lately else self._start[at]
            texts = [self._user[at]]
            for turn in range(at - 1, start - 1, -1):
                texts += [self._system[turn], self._user[turn]]
            # The user's turn before last is not recent.
            text = plain_text("\n".join(texts[: 2 if lately else None]))
            respelt = normalize_value(text, ["spelling:unify"])
            times = frozenset(normalize_value(t, ["time:hhmm"]) for t in _TIME.findall(text))
            self._read[key] = (text, _squeeze(respelt) + _squeeze(text), times)
        return self._read[key]


def _plain(value: str) -> str:
    return normalize_value(
        plain_text(value), ["space:strip", "time:hhmm", "article:drop", "spelling:unify", "dontcare:unify"]
    )


def _stands(value: str, texts: tuple[str, str, frozenset[str]]) -> bool:
    text, together, times = texts
    if not value or value in NO_WORDS or _plain(value) in NO_WORDS:
        return False
    squeezed = _squeeze(value)
    long = len(squeezed) >= _SHORTEST and squeezed in together
    return long or bool(find_value(text, value)) or normalize_value(value, ["time:hhmm"]) in times


def _squeeze(text: str) -> str:
    return "".join(c for c in text if c.isalnum())


#: A symbol and a colour for each difference; the colours are apart in grey and to the colour-blind.
MARKS = {
    "right": ("✓", "#0072b2"),
    "written differently": ("≈", "#56b4e9"),
    "gold suspicious": ("?", "#999999"),
    "stale": ("↺", "#cc79a7"),
    "wrong slot": ("⇄", "#e69f00"),
    "wrong value": ("≠", "#d55e00"),
    "missed": ("−", "#d55e00"),
    "spurious": ("+", "#d55e00"),
}
#: Characters that Markdown and TeX give a meaning; as references they are only characters.
_MEANINGFUL = {ord(c): f"&#{ord(c)};" for c in "\\`*_{}[]()#+-!|~^$@:"}
_CELL = "text-align:left;vertical-align:top;white-space:pre-wrap;padding:0.15em 0.8em 0.15em 0"
_HIDDEN = frozenset(("Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp"))


@dataclass(frozen=True)
class DialogueView:
    """A dialogue with gold and predicted states; shown as a table by a notebook, else as text."""

    dialogue_id: str
    system: str
    protocol: str
    turns: pd.DataFrame = field(repr=False)
    states: pd.DataFrame = field(repr=False)

    @property
    def title(self) -> str:
        """One line: which dialogue, whose prediction, how many turns are right."""
        right = f"{int(self.turns['right'].sum())} of {len(self.turns)} turns right"
        return f"Dialogue {self.dialogue_id}: {self.system} against gold, protocol {self.protocol}; {right}"

    def __repr__(self) -> str:
        return _text(self)

    def _repr_html_(self) -> str:
        return _page(self)


def render_dialogue(scores: Scores, dialogue_id: str) -> DialogueView:
    """Show one dialogue side by side: gold, prediction, difference, utterances.

    Parameters
    ----------
    scores : Scores
        Of a protocol for states.
    dialogue_id : str
        In any spelling that `canonical_id` understands.

    Returns
    -------
    DialogueView
        Its ``states`` and ``turns`` are tables.

    Raises
    ------
    UnknownNameError
        The dialogue was not scored.
    UsageError
        Scores of responses.

    Examples
    --------
    >>> from dialogeval.scoring import score
    >>> from dialogeval.tables import Corpus, Predictions, table
    >>> turns = table("turns", [("d", 0, "an inn up north", "Here.", 0)])
    >>> gold = Corpus("toy", turns=turns, states=table("states", [("d", 0, "hotel", "area", "north")]))
    >>> pred = Predictions("p", turns=turns, states=table("states"))
    >>> print(render_dialogue(score(gold, pred, "lin2021", resamples=0), "d"))
    Dialogue d: p against gold, protocol lin2021; 0 of 1 turns right
    <BLANKLINE>
    Turn 0: state wrong
      user:   an inn up north
      − missed  hotel-area  gold: north  predicted: (none)
      system: Here.
    """
    pair, corpus = state_pair_of(scores), corpus_of(scores)
    known = pair.index.get_level_values("dialogue_id")
    name = canonical_id(dialogue_id)
    rows = np.flatnonzero(known == name)
    if not len(rows):
        raise UnknownNameError(
            "scored dialogue", dialogue_id, known.unique()[:8], mend="see scores.coverage.turns"
        )
    states = dialogue_table(scores, rows)
    turns = corpus.turns[corpus.turns["dialogue_id"] == name][["turn", "user", "system"]]
    turns = pd.DataFrame({"turn": pair.index.get_level_values("turn")[rows]}).merge(
        turns, on="turn", how="left"
    )
    turns["right"] = ~turns["turn"].isin(states.loc[states["difference"] != "right", "turn"])
    return DialogueView(name, scores.system, scores.protocol.name, turns, states)


def dialogue_table(scores: Scores, rows: np.ndarray) -> pd.DataFrame:
    """Return gold and predicted values of a dialogue, slot by slot."""
    pair = state_pair_of(scores)
    coded = paired_errors(pair)
    wrong = classify(scores, coded[coded["row"].isin(rows)].reset_index(drop=True))
    wrong = wrong.rename(columns={"kind": "difference"}).assign(new=wrong["since"] == wrong["turn"])
    right = _right(pair, rows)
    columns = ["turn", "domain", "slot", "gold", "predicted", "difference", "new", "detail"]
    return (
        pd.concat([right[columns], wrong[columns]], ignore_index=True)
        .sort_values(["turn", "domain", "slot", "gold", "predicted"], ignore_index=True)
        .astype({"new": "bool"})
    )


def visible(text: str) -> str:
    """Write out the characters that cannot be seen, or that change how others are shown."""

    def shown(c: str) -> str:
        kind = unicodedata.category(c)
        return f"⟨U+{ord(c):04X}⟩" if kind in _HIDDEN or (kind == "Zs" and c != " ") else c

    return "".join(map(shown, text))


def escape(text: str) -> str:
    """Make a text of the data safe for a page: no markup, no Markdown, no formula, nothing hidden."""
    safe = escape_html(visible(text), quote=True)
    # References to characters hold # and ;, which must survive: only the text between them is translated.
    parts: list[str] = []
    for piece in safe.split("&"):
        reference, mark, rest = piece.partition(";") if parts else ("", "", piece)
        parts.append(reference + mark + rest.translate(_MEANINGFUL))
    # A formula's delimiter counts only where it stands in one piece of text with the other one.
    safe = "&".join(parts)
    for code in (ord("$"), ord("\\")):
        safe = safe.replace(f"&#{code};", f"<span>&#{code};</span>")
    return f"<bdi>{safe}</bdi>"


# Helpers ------------------------------------------------------------------------------------------


def _right(pair: StatePair, rows: np.ndarray) -> pd.DataFrame:
    """Triples of some turns that stand on both sides; new where either side has just set them."""
    mine = pair.gold_in_pred & np.isin(pair.gold.turn, rows)
    new_gold = new_triples(pair, pair.gold)[mine]
    here = pair.gold.take(mine)
    new_pred = (
        new_triples(pair, pair.pred)[np.searchsorted(pair.pred.key, here.key)] if len(here.key) else new_gold
    )
    values = pair.values[here.value] if len(here.key) else np.zeros(0, dtype=object)
    return pd.DataFrame(
        {
            "turn": pair.index.get_level_values("turn").to_numpy()[here.turn].astype("int64"),
            "domain": pair.slots["domain"].astype("str").to_numpy()[here.slot],
            "slot": pair.slots["slot"].astype("str").to_numpy()[here.slot],
            "gold": pd.Series(values, dtype="str"),
            "predicted": pd.Series(values, dtype="str"),
            "difference": pd.Series(["right"] * len(values), dtype="str"),
            "new": new_gold | new_pred,
            "detail": pd.Series([""] * len(values), dtype="str"),
        }
    )


def _turns(view: DialogueView) -> Iterator[tuple[dict[str, Any], list[dict[str, Any]], list[dict[str, Any]]]]:
    """Go through the turns: each with the slots to show in full, and those that are right as before."""
    for turn in _records(view.turns):
        table = view.states[view.states["turn"] == turn["turn"]]
        kept = (table["difference"] == "right") & ~table["new"]
        yield turn, _records(table[~kept]), _records(table[kept])


def _records(table: pd.DataFrame) -> list[dict[str, Any]]:
    return [{str(name): value for name, value in row.items()} for row in table.to_dict("records")]


def _text(view: DialogueView) -> str:
    lines = [visible(view.title)]
    for turn, rows, held in _turns(view):
        lines += ["", f"Turn {turn['turn']}: state {'right' if turn['right'] else 'wrong'}"]
        lines.append(f"  user:   {visible(turn['user'])}")
        for row in rows:
            mark = f"{MARKS[row['difference']][0]} {row['difference']}"
            gold, predicted = (visible(row[side]) or "(none)" for side in ("gold", "predicted"))
            detail = f"  ({visible(row['detail'])})" if row["detail"] else ""
            lines.append(f"  {mark}  {visible(_slot(row))}  gold: {gold}  predicted: {predicted}{detail}")
        if held:
            lines.append(f"  ✓ right as before: {len(held)}")
        lines.append(f"  system: {visible(turn['system'])}")
    return "\n".join(lines)


def _page(view: DialogueView) -> str:
    columns = ("Slot", "Gold", f"Predicted by {escape(view.system)}", "Difference")
    head = "".join(f'<th scope="col" style="{_CELL}">{name}</th>' for name in columns)
    parts = [
        '<div class="tex2jax_ignore mathjax_ignore"><table style="border-collapse:collapse">',
        f'<caption style="text-align:left">{escape(view.title)}</caption>',
        f"<thead><tr>{head}</tr></thead>",
    ]
    for turn, rows, held in _turns(view):
        verdict = "✓ state right" if turn["right"] else "✗ state wrong"
        parts.append(
            f'<tbody><tr style="border-top:2px solid #777777"><th scope="rowgroup" colspan="4" style="{_CELL}">'
            f"Turn {turn['turn']}: {verdict}</th></tr>"
        )
        parts += [_across(f"<b>User:</b> {escape(turn['user'])}"), *map(_row, rows)]
        if held:
            values = "; ".join(escape(f"{_slot(row)} = {row['gold']}") for row in held)
            summary = f"<summary>✓ right as before: {len(held)}</summary>"
            parts.append(_across(f"<details>{summary}{values}</details>"))
        parts += [_across(f"<b>System:</b> {escape(turn['system'])}"), "</tbody>"]
    return "".join([*parts, "</table></div>"])


def _across(content: str) -> str:
    return f'<tr><td colspan="4" style="{_CELL}">{content}</td></tr>'


def _row(row: dict[str, Any]) -> str:
    symbol, colour = MARKS[row["difference"]]
    gold, predicted = (escape(row[s]) if row[s] else "<i>none</i>" for s in ("gold", "predicted"))
    weight = "normal" if row["difference"] == "right" else "bold"
    detail = f"<br><small>{escape(row['detail'])}</small>" if row["detail"] else ""
    return (
        f'<tr><th scope="row" style="{_CELL};font-weight:normal">{escape(_slot(row))}</th>'
        f'<td style="{_CELL}">{gold}</td><td style="{_CELL}">{predicted}</td>'
        f'<td style="{_CELL};border-left:6px solid {colour};padding-left:0.5em">'
        f'<span style="font-weight:{weight}">{symbol} {row["difference"]}</span>{detail}</td></tr>'
    )


def _slot(row: dict[str, Any]) -> str:
    return f"{row['domain']}-{row['slot']}"

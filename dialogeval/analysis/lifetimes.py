"""Where errors start and how long they live, and what a tracker would score without their legacy.

In: `Scores` of a protocol for states. Out: tables. A state is cumulative, so that one mistake costs
every later turn until it is repaired; these functions tell the mistake from its consequences.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from ..breakdowns.groups import state_pair_of
from ..metrics import Metric, Sums, ratio
from ..metrics.change import new_triples
from ..metrics.state import count_triples
from ..metrics.states import StatePair, Triples
from ..scoring import Scores
from .errors import errors

__all__ = ["RESET_GOAL_ACCURACY", "count_reset", "error_lives", "reset_accuracy"]


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
    """Count by turn: ``reset_right``, 1 where gold's last state with the predicted changes is gold's state.

    Parameters
    ----------
    pair : StatePair

    Returns
    -------
    pandas.DataFrame
        ``reset_right`` and ``reset_turns`` (1).

    Examples
    --------
    >>> from dialogeval.metrics.states import pair_states_from_lists
    >>> north = {("hotel", "area", "north")}
    >>> count_reset(pair_states_from_lists([set(), set()], [north, north]))["reset_right"].tolist()
    [0, 1]
    """
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

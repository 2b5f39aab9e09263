"""What the lessons on state tracking show of scores: turn by turn, dialogue by dialogue, change by change.

In: `Scores`. Out: small tables.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pandas as pd

from dialogeval.exceptions import UsageError
from dialogeval.metrics import Metric, Sums, ratio
from dialogeval.metrics.states import StatePair, count_changes, count_triples, judge_turns, slot_f1_metric
from dialogeval.scoring import Scores

__all__ = [
    "ALL_GOLD_RIGHT",
    "by_dialogue",
    "change_table",
    "early_and_late",
    "exact_turns",
    "longest_error",
    "slot_f1_of",
    "turn_scores",
]


def turn_scores(scores: Scores, dialogue_id: str) -> pd.DataFrame:
    """Return what each score says of every turn of a dialogue.

    Parameters
    ----------
    scores : Scores
        Of a protocol for states.
    dialogue_id : str

    Returns
    -------
    pandas.DataFrame
        One row a metric (its label), one column a turn; NaN where a score has nothing to count in a
        turn.

    Raises
    ------
    UsageError
        The dialogue was not scored.

    Examples
    --------
    >>> from dialogeval import load_corpus, score
    >>> gold = load_corpus("sample/multiwoz")
    >>> rows = turn_scores(score(gold, gold, "lin2021", resamples=0), gold.dialogues["dialogue_id"][0])
    >>> float(rows.loc["JGA"].min())
    1.0
    """
    rows = {}
    for metric in scores.metrics:
        counts = scores.counts[metric.counts]
        here = counts[counts.index.get_level_values("dialogue_id") == dialogue_id]
        if here.empty:
            raise UsageError(f"dialogue {dialogue_id} was not scored")
        value = metric.value({str(c): here[c].to_numpy(dtype=float) for c in here})
        idle = (here == 0).all(axis=1).to_numpy()
        rows[metric.label] = pd.Series(
            np.where(idle, np.nan, value), index=here.index.get_level_values("turn")
        )
    return pd.DataFrame(rows).T


def longest_error(scores: Scores) -> str:
    """Return the dialogue with most turns that are wrong only because of an earlier error.

    Parameters
    ----------
    scores : Scores
        Of a protocol for states.

    Returns
    -------
    str
        Its id; among equals the first.

    Examples
    --------
    >>> from dialogeval import load_corpus, score
    >>> gold = load_corpus("sample/multiwoz")
    >>> longest_error(score(gold, gold, "trade", resamples=0)) == gold.dialogues["dialogue_id"].min()
    True
    """
    table = by_dialogue(scores)
    return str(table["old errors only"].idxmax())


def by_dialogue(scores: Scores) -> pd.DataFrame:
    """Return how many turns of each dialogue are right.

    Parameters
    ----------
    scores : Scores
        Of a protocol for states.

    Returns
    -------
    pandas.DataFrame
        Indexed by dialogue; columns ``turns``, ``right`` (P = G), ``old errors only`` (P ≠ G, though
        only earlier errors remain) and ``share`` (right of turns).

    Examples
    --------
    >>> from dialogeval import load_corpus, score
    >>> gold = load_corpus("sample/multiwoz")
    >>> by_dialogue(score(gold, gold, "lin2021", resamples=0))["share"].min()
    np.float64(1.0)
    """
    pair = scores.pairs["state"]
    exact, wrong = judge_turns(pair)
    turns = pd.DataFrame({"right": exact, "old errors only": ~exact & ~wrong}, index=pair.index)
    groups = turns.astype("int64").groupby(level="dialogue_id")
    table = groups.sum()
    table.insert(0, "turns", groups.size())
    return table.assign(share=table["right"] / table["turns"])


def early_and_late(scores: Scores, keys: Sequence[str], parts: int = 3) -> pd.DataFrame:
    """Return scores by part of the dialogue: turn numbers in equal shares of all turns scored.

    Parameters
    ----------
    scores : Scores
    keys : sequence of str
        Metrics of turns.
    parts : int, default=3

    Returns
    -------
    pandas.DataFrame
        One row a part, named by its turn numbers, the earliest first; one column a key.

    Examples
    --------
    >>> from dialogeval import load_corpus, score
    >>> gold = load_corpus("sample/multiwoz")
    >>> early_and_late(score(gold, gold, "lin2021", resamples=0), ["joint_goal_accuracy"]).shape
    (3, 1)
    """
    number = scores.coverage.turns["turn"]
    bounds = pd.qcut(number, parts, duplicates="drop", retbins=True)[1]
    metrics = {m.key: m for m in scores.metrics}
    rows = {}
    for low, high in pairwise(bounds):
        first = int(np.floor(low)) + (0 if low == bounds[0] else 1)
        here = {}
        for key in keys:
            counts = scores.counts[metrics[key].counts]
            turn = counts.index.get_level_values("turn")
            here[key] = float(metrics[key].value(dict(counts[(turn >= first) & (turn <= high)].sum())))
        rows[f"turns {first} to {int(high)}"] = here
    return pd.DataFrame(rows).T[list(keys)]


def change_table(scores: Scores) -> pd.Series:
    """Return the four counts of granular change accuracy.

    Parameters
    ----------
    scores : Scores
        Of a protocol for states.

    Returns
    -------
    pandas.Series
        ``correct``, ``wrong``, ``missed``, ``over-predicted``.

    Examples
    --------
    >>> from dialogeval import load_corpus, score
    >>> gold = load_corpus("sample/multiwoz")
    >>> change_table(score(gold, gold, "trade", resamples=0))["wrong"]
    np.int64(0)
    """
    sums = count_changes(scores.pairs["state"]).sum()
    names = {"correct": "correct", "wrong": "wrong", "missed": "missed", "overpredicted": "over-predicted"}
    return pd.Series({new: sums[f"gca_{old}"] for old, new in names.items()}, name=scores.system)


def _count_all_gold(pair: StatePair) -> pd.DataFrame:
    counts = count_triples(pair)
    some = counts["tp"] + counts["fn"] > 0
    found = some & (counts["fn"] == 0)
    return pd.DataFrame({"all_gold": found.astype("int64"), "gold_turns": some.astype("int64")})


def _share_all_gold(sums: Sums) -> float:
    return ratio(sums["all_gold"], sums["gold_turns"])


#: The other thing that public code calls average goal accuracy: the share of turns with a filled gold
#: state in which *all* of its slots were predicted right, whatever else was predicted.
ALL_GOLD_RIGHT = Metric(
    "all_gold_right", "all gold slots right", _count_all_gold, _share_all_gold, source="public scorers"
)


def exact_turns(scores: Scores) -> pd.Series:
    """Tell for each turn whether its predicted state equals the gold state.

    Parameters
    ----------
    scores : Scores
        Of a protocol for states.

    Returns
    -------
    pandas.Series of bool
        Indexed by (dialogue_id, turn).

    Examples
    --------
    >>> from dialogeval import load_corpus, score
    >>> gold = load_corpus("sample/multiwoz")
    >>> bool(exact_turns(score(gold, gold, "lin2021", resamples=0)).all())
    True
    """
    return count_triples(scores.pairs["state"])["exact"] == 1


def slot_f1_of(scores: Scores, slots: str = "gold", keyed: str = "name", empty: str = "0") -> float:
    """Return the slot F1 of scores under other switches, on the same pairs of states.

    Parameters
    ----------
    scores : Scores
        Of a protocol for states.
    slots, keyed, empty : str
        As `dialogeval.metrics.states.slot_f1` takes them.

    Returns
    -------
    float
        In [0, 1].

    Raises
    ------
    UnknownNameError

    Examples
    --------
    >>> from dialogeval import load_corpus, score
    >>> gold = load_corpus("sample/multiwoz")
    >>> slot_f1_of(score(gold, gold, "lin2021", resamples=0), empty="skip")
    1.0
    """
    metric = slot_f1_metric(slots, keyed, empty)
    return float(metric.value(dict(metric.counts(scores.pairs["state"]).sum())))

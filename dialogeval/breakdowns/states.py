"""States by part: scores by turn number, domain and slot, and every wrong triple with its kind.

In: `Scores` of a protocol for states (by turn: of any). Out: tables.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from ..metrics.state import micro_f1, precision, recall
from ..metrics.states import StatePair, Triples
from ..scoring import Scores
from .groups import state_pair_of

__all__ = ["ERROR_KINDS", "by_domain", "by_slot", "by_turn", "frequent_errors", "state_errors"]

#: What can be wrong with a slot of a turn.
ERROR_KINDS = ("missed", "spurious", "wrong value")
_WHERE = ["domain", "slot"]


def by_turn(scores: Scores) -> pd.DataFrame:
    """Return every turn-level score by turn number.

    Parameters
    ----------
    scores : Scores

    Returns
    -------
    pandas.DataFrame
        Indexed by turn, from 0. ``turns``: how many dialogues have such a turn; then one column a
        metric, in the metric's own unit. Scores of whole dialogues or of types (distinct-n, goal
        labels) have no turns and are left out.

    Examples
    --------
    >>> from dialogeval.scoring import score
    >>> from dialogeval.tables import Corpus, table
    >>> gold = Corpus("toy", turns=table("turns", [("d", 0, "hi", "ho", 0), ("d", 1, "bye", "bye", 0)]))
    >>> by_turn(score(gold, gold, "lin2021"))[["turns", "joint_goal_accuracy"]]
          turns  joint_goal_accuracy
    turn
    0         1                  1.0
    1         1                  1.0
    """
    number = scores.coverage.turns["turn"]
    columns: dict[str, Any] = {"turns": number.value_counts(sort=False).sort_index()}
    for metric in scores.metrics:
        counts = scores.counts[metric.counts]
        if counts.index.nlevels == 2:
            sums = counts.groupby(level="turn").sum()
            values = metric.value({str(c): sums[c].to_numpy(dtype=float) for c in sums})
            columns[metric.key] = pd.Series(np.broadcast_to(values, len(sums)), index=sums.index)
    return pd.DataFrame(columns).rename_axis("turn")


def by_domain(scores: Scores) -> pd.DataFrame:
    """Return triple counts and micro scores by domain, by exact match of the normalised triples.

    Parameters
    ----------
    scores : Scores
        Of a protocol for states.

    Returns
    -------
    pandas.DataFrame
        Indexed by domain, most gold triples first. ``gold``, ``predicted``: triples; ``tp``,
        ``fp``, ``fn``: they sum to those of the whole; ``missed``, ``spurious``, ``wrong value``:
        see `state_errors`; ``slot_precision``, ``slot_recall``, ``slot_f1_micro`` in [0, 1].

    Raises
    ------
    UsageError
        Scores of responses.

    Examples
    --------
    >>> from dialogeval.metrics.states import pair_states_from_lists
    >>> list(_by_slot(pair_states_from_lists([set()], [{("hotel", "area", "north")}]))["fn"])
    [1]
    """
    counts = _by_slot(state_pair_of(scores)).groupby(level="domain").sum()
    return _with_rates(counts)


def by_slot(scores: Scores) -> pd.DataFrame:
    """Return triple counts and micro scores by (domain, slot), by exact match of the normalised triples.

    Parameters
    ----------
    scores : Scores
        Of a protocol for states.

    Returns
    -------
    pandas.DataFrame
        Indexed by (domain, slot); columns as in `by_domain`.

    Raises
    ------
    UsageError
        Scores of responses.

    Examples
    --------
    >>> from dialogeval.metrics.states import pair_states_from_lists
    >>> _by_slot(pair_states_from_lists([{("hotel", "area", "n")}], [{("hotel", "area", "n")}]))["tp"].tolist()
    [1]
    """
    return _with_rates(_by_slot(state_pair_of(scores)))


def state_errors(scores: Scores) -> pd.DataFrame:
    """Return every wrong triple of every turn, gold and prediction side by side.

    Parameters
    ----------
    scores : Scores
        Of a protocol for states.

    Returns
    -------
    pandas.DataFrame
        dialogue_id, turn, domain, slot, kind, gold, predicted, in the order of the turns. A gold
        and a predicted value of one slot and turn that both lack their match are one ``wrong
        value``; a gold value that is left is ``missed`` (predicted is empty), a predicted one
        ``spurious`` (gold is empty). So FN = missed + wrong value and FP = spurious + wrong value.

    Raises
    ------
    UsageError
        Scores of responses.

    Notes
    -----
    States are cumulative: a value that goes wrong is an error of each later turn until repaired.

    Examples
    --------
    >>> from dialogeval.metrics.states import pair_states_from_lists
    >>> pair = pair_states_from_lists([{("hotel", "area", "south")}], [{("hotel", "area", "north")}])
    >>> _errors(pair)[["slot", "kind", "gold", "predicted"]].values.tolist()
    [['area', 'wrong value', 'north', 'south']]
    """
    return _errors(state_pair_of(scores))


def frequent_errors(scores: Scores, most: int = 10) -> pd.DataFrame:
    """Return the most frequent errors, each with the place where it first occurs.

    Parameters
    ----------
    scores : Scores
        Of a protocol for states.
    most : int, default=10
        Rows returned; ``attrs["left_out"]`` holds how many different errors there are beside them.

    Returns
    -------
    pandas.DataFrame
        domain, slot, kind, gold, predicted; ``turns`` and ``dialogues`` that have the error, most
        turns first; dialogue_id and turn of an example, its first turn.

    Raises
    ------
    UsageError
        Scores of responses.

    Examples
    --------
    >>> from dialogeval.scoring import score
    >>> from dialogeval.tables import Corpus, table
    >>> gold = Corpus("toy", turns=table("turns", [("d", 0, "hi", "ho", 0)]))
    >>> len(frequent_errors(score(gold, gold, "lin2021")))
    0
    """
    what = [*_WHERE, "kind", "gold", "predicted"]
    groups = state_errors(scores).groupby(what, sort=False)
    table = groups.agg(
        turns=("turn", "size"),
        dialogues=("dialogue_id", "nunique"),
        dialogue_id=("dialogue_id", "first"),
        turn=("turn", "first"),
    ).reset_index()
    table = table.sort_values(["turns", *what], ascending=[False] + [True] * 5, ignore_index=True)
    shown = table.head(most)
    shown.attrs["left_out"] = len(table) - len(shown)
    return shown


# Helpers ------------------------------------------------------------------------------------------


def _by_slot(pair: StatePair) -> pd.DataFrame:
    size = len(pair.slots)

    def count(side: Triples, mask: np.ndarray | None = None) -> np.ndarray:
        return np.bincount(side.slot if mask is None else side.slot[mask], minlength=size)

    gold, predicted, tp = count(pair.gold), count(pair.pred), count(pair.gold, pair.gold_in_pred)
    table = pd.DataFrame(
        {"gold": gold, "predicted": predicted, "tp": tp, "fp": predicted - tp, "fn": gold - tp}
    )
    table.index = pd.MultiIndex.from_frame(pair.slots, names=_WHERE)
    kinds = _errors(pair).groupby([*_WHERE, "kind"]).size().unstack("kind")
    for kind in ERROR_KINDS:
        column = kinds[kind] if kind in kinds else pd.Series(dtype="float64")
        table[kind] = column.reindex(table.index).fillna(0).astype("int64")
    return table


def _with_rates(counts: pd.DataFrame) -> pd.DataFrame:
    names = {"slot_precision": precision, "slot_recall": recall, "slot_f1_micro": micro_f1}
    sums = {c: counts[c].to_numpy(dtype=float) for c in ("tp", "fp", "fn")}
    table = counts.assign(**{name: value(sums) for name, value in names.items()})
    table = table.sort_index().sort_values("gold", ascending=False, kind="stable")
    # A slot of the pair's codes that no scored turn holds is no part of anything.
    return table[(table["gold"] > 0) | (table["predicted"] > 0)]


def paired_errors(pair: StatePair) -> pd.DataFrame:
    """Put the unmatched values of both sides side by side, slot by slot, as codes.

    Returns ``row`` (turn), ``code`` (slot), ``gold`` and ``predicted`` (values; −1 for none), sorted.
    """
    fn = _unmatched(pair, pair.gold.take(~pair.gold_in_pred), "gold")
    fp = _unmatched(pair, pair.pred.take(~pair.pred_in_gold), "predicted")
    both = fn.merge(fp, on=["row", "code", "rank"], how="outer").sort_values(["row", "code", "rank"])
    return both.fillna(-1).astype("int64").drop(columns="rank").reset_index(drop=True)


def decode_errors(pair: StatePair, coded: pd.DataFrame) -> pd.DataFrame:
    """Replace codes of turns, slots and values by what they stand for; no value is the empty string."""
    values = np.append(np.asarray(pair.values, dtype=object), "")
    row, code = coded["row"].to_numpy(), coded["code"].to_numpy()
    columns = {
        "dialogue_id": pair.index.get_level_values("dialogue_id").to_numpy()[row],
        "turn": pair.index.get_level_values("turn").to_numpy()[row],
        "domain": pair.slots["domain"].to_numpy()[code],
        "slot": pair.slots["slot"].to_numpy()[code],
        "gold": values[coded["gold"].to_numpy()],
        "predicted": values[coded["predicted"].to_numpy()],
    }
    return pd.DataFrame(
        {n: pd.Series(c, dtype="int64" if n == "turn" else "str") for n, c in columns.items()}
    )


def plain_kinds(coded: pd.DataFrame) -> np.ndarray:
    """Tell missed, spurious and wrong values apart."""
    return np.select([coded["predicted"] < 0, coded["gold"] < 0], ["missed", "spurious"], "wrong value")


def _errors(pair: StatePair) -> pd.DataFrame:
    coded = paired_errors(pair)
    table = decode_errors(pair, coded)
    table.insert(4, "kind", pd.Series(plain_kinds(coded), dtype="str"))
    return table


def _unmatched(pair: StatePair, triples: Triples, side: str) -> pd.DataFrame:
    """Number the values of one slot and turn by the alphabet: the first of both sides are one wrong value."""
    table = pd.DataFrame({"row": triples.turn, "code": triples.slot, side: triples.value})
    place = np.argsort(np.argsort(pair.values))[triples.value] if len(pair.values) else triples.value
    table = table.iloc[np.lexsort((place, triples.slot, triples.turn))]
    return table.assign(rank=table.groupby(["row", "code"]).cumcount())

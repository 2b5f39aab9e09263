"""Error analysis of state tracking: what goes wrong, where it starts, how long it lives, what is confused.

In: `Scores` of a protocol for states. Out: tables. Triples are compared exactly, as the protocol has
normalised them.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from dialogeval.analysis.breakdowns import pair_of
from dialogeval.analysis.kinds import KINDS, classify, decode_errors, paired_errors, swapped
from dialogeval.metrics import ratio
from dialogeval.metrics.states import StatePair, Triples, contains, count_triples, new_triples
from dialogeval.scoring import Scores


def errors(scores: Scores) -> pd.DataFrame:
    """Return every error of every turn, with its kind and the turn where it began.

    Parameters
    ----------
    scores : Scores
        Of a protocol for states, as for all functions of this module.

    Returns
    -------
    pandas.DataFrame
        One row an error, in the order of the turns: dialogue_id, turn, domain, slot, gold,
        predicted (empty strings for no value), kind (see `error_kinds`), ``fn`` and ``fp`` (0 or 1;
        they sum to FN and FP of the score), ``since`` (turn from which the slot has been wrong
        without a break), ``detail`` (what the kind rests on, in words).

    Notes
    -----
    A gold and a predicted value of one slot and turn that both lack their match are one row. States
    are cumulative: an error is counted in every turn until it is repaired; see `error_lives`.

    Examples
    --------
    >>> import dialogeval as de
    >>> file = "sample/predictions/multiwoz/tracker_sloppy.json.gz"
    >>> errors(de.score("sample/multiwoz", file, "lin2021")).loc[0, ["slot", "predicted", "kind"]].tolist()
    ['area', 'center', 'spurious']
    """
    return classify(scores)


def error_kinds(scores: Scores | None = None) -> pd.DataFrame:
    """Return the kinds of errors in the order in which they are tried, and what each one means.

    Returns
    -------
    pandas.DataFrame
        Indexed by kind; column ``what it is``; with scores also ``errors``, how many there are.

    Examples
    --------
    >>> list(error_kinds().index)[-2:]
    ['missed', 'spurious']
    """
    kinds, _, meanings = zip(*KINDS, strict=True)
    table = pd.DataFrame({"what it is": meanings}, pd.Index(kinds, name="kind"), dtype="str")
    if scores is None:
        return table
    return table.assign(errors=errors(scores)["kind"].value_counts().reindex(table.index, fill_value=0))


def kind_table(scores: Scores) -> pd.DataFrame:
    """Return by kind how often an error is made, carried along and counts, and what repair would gain."""
    table, place = errors(scores), ["dialogue_id", "turn"]
    once = table.drop_duplicates([*place, "kind"])
    parts = {"errors": table, "made": table[table["since"] == table["turn"]]}
    parts |= {"carried": table[table["since"] < table["turn"]]}
    parts |= {"dialogues": once.drop_duplicates(["dialogue_id", "kind"]), "turns": once}
    parts |= {"alone": once[~once.duplicated(place, keep=False)]}
    kinds = error_kinds().index
    counts = {name: rows["kind"].value_counts().reindex(kinds).fillna(0) for name, rows in parts.items()}
    counted = pd.DataFrame(counts).astype("int64").rename_axis("kind")
    counted["gain"] = 100 * counted["alone"] / max(len(scores.coverage.turns), 1)
    return counted.sort_values("errors", ascending=False, kind="stable")


def error_lives(scores: Scores) -> pd.DataFrame:
    """Return where each error starts, how long it lives and whether it is repaired.

    Returns
    -------
    pandas.DataFrame
        One row a life, an unbroken run of turns in which a slot is wrong (its values may change):
        dialogue_id, domain, slot, ``first`` and ``last`` turn, ``turns`` (its length), ``errors``
        (rows of `errors` in it), kind, gold and predicted of the first turn, and ``end``: ``repaired``,
        or ``never`` for what is wrong up to the last turn of the dialogue.

    Examples
    --------
    >>> import dialogeval as de
    >>> file = "sample/predictions/multiwoz/tracker_sloppy.json.gz"
    >>> error_lives(de.score("sample/multiwoz", file, "lin2021")).loc[0, ["slot", "kind", "end"]].tolist()
    ['area', 'spurious', 'never']
    """
    by = ["dialogue_id", "first", "domain", "slot"]
    lives = errors(scores).rename(columns={"since": "first"}).groupby(by, as_index=False).agg(
        last=("turn", "max"), turns=("turn", "nunique"), errors=("turn", "size"),
        kind=("kind", "first"), gold=("gold", "first"), predicted=("predicted", "first"),
    )  # fmt: skip
    end = lives["dialogue_id"].map(scores.coverage.turns.groupby("dialogue_id")["turn"].max())
    lives["end"] = pd.Series(np.where(lives["last"] == end, "never", "repaired"), dtype="str")
    lives.insert(3, "first", lives.pop("first"))
    return lives


def reset_accuracy(scores: Scores) -> pd.DataFrame:
    """Return joint goal accuracy by turn, beside that of the same tracker reset to gold after each turn.

    Returns
    -------
    pandas.DataFrame
        Indexed by turn, from 0: ``turns``; ``exact`` and ``exact_after_reset``, turns whose state
        is right; ``joint_goal_accuracy`` and ``reset_goal_accuracy``, their shares.

    The reset tracker starts each turn from the previous gold state: a slot that the prediction
    changes in this turn gets its predicted value, every other slot keeps the previous gold one.
    Either may be higher: of a slot filled a turn too early, the next turn is right only without reset.

    Examples
    --------
    >>> import dialogeval as de
    >>> file = "sample/predictions/multiwoz/baseline_carry_over.json.gz"
    >>> reset_accuracy(de.score("sample/multiwoz", file, "lin2021")).iloc[1, -2:].round(3).tolist()
    [0.133, 0.133]
    """
    pair = pair_of(scores)
    wrong = [pair.slot_key(pair.gold)[~pair.gold_in_pred], pair.slot_key(pair.pred)[~pair.pred_in_gold]]
    touched, due = _changed_cells(pair, pair.pred), _changed_cells(pair, pair.gold)
    bad = np.r_[np.intersect1d(touched, np.concatenate(wrong)), np.setdiff1d(due, touched)]
    right = np.bincount(bad // max(len(pair.slots), 1), minlength=len(pair)) == 0
    counts = count_triples(pair)[["turns", "exact"]].assign(exact_after_reset=right.astype("int64"))
    table = counts.groupby(level="turn").sum()
    table["joint_goal_accuracy"] = ratio(table["exact"], table["turns"])
    table["reset_goal_accuracy"] = ratio(table["exact_after_reset"], table["turns"])
    return table


def confused_slots(scores: Scores, most: int = 10) -> pd.DataFrame:
    """Return the pairs of slots that are most often taken for each other.

    Parameters
    ----------
    most : int, default=10
        Rows returned; ``attrs["left_out"]`` holds how many pairs there are beside them.

    Returns
    -------
    pandas.DataFrame
        ``gold_slot`` and ``predicted_slot`` (domain-slot): gold has a value in the one, which the
        prediction lacks there and wrongly has in the other; ``turns`` and ``dialogues`` in which it
        happens; an example: value, dialogue_id, turn and the user's utterance.

    Examples
    --------
    >>> import dialogeval as de
    >>> file = "sample/predictions/multiwoz/baseline_value_matching.json.gz"
    >>> confused_slots(de.score("sample/multiwoz", file, "lin2021")).iloc[0, :2].tolist()
    ['hotel-area', 'attraction-area']
    """
    pair = pair_of(scores)
    coded = paired_errors(pair)
    pairs, table = swapped(coded), decode_errors(pair, coded)
    where = table["domain"] + "-" + table["slot"]
    found = table.loc[pairs["missed"], ["gold", "dialogue_id", "turn"]].rename(columns={"gold": "value"})
    found["gold_slot"], found["predicted_slot"] = (where.loc[pairs[c]].array for c in ("missed", "spurious"))
    return _most_frequent(scores, found, ["gold_slot", "predicted_slot"], most)


def confused_values(scores: Scores, most: int = 10) -> pd.DataFrame:
    """Return the values that are most often taken for each other.

    Returns
    -------
    pandas.DataFrame
        domain, slot, gold and predicted, both filled; the rest as for `confused_slots`.

    Examples
    --------
    >>> from dialogeval.scoring import score
    >>> file = "sample/predictions/crosswoz_en/tracker_sloppy.jsonl.gz"
    >>> list(confused_values(score("sample/crosswoz_en", file, "lin2021", resamples=0), most=1).columns[:4])
    ['domain', 'slot', 'gold', 'predicted']
    """
    pair = pair_of(scores)
    coded = paired_errors(pair)
    table = decode_errors(pair, coded[(coded["gold"] >= 0) & (coded["predicted"] >= 0)])
    return _most_frequent(scores, table, ["domain", "slot", "gold", "predicted"], most)


# Helpers ------------------------------------------------------------------------------------------


def _changed_cells(pair: StatePair, side: Triples) -> np.ndarray:
    """Return the (turn, slot) whose values differ from the previous turn's, as sorted keys."""
    gone = ~np.r_[pair.first, True][side.turn + 1] & ~contains(side.key, side.key + pair.stride)
    cells = pair.slot_key(side)
    return np.union1d(cells[new_triples(pair, side)], cells[gone] + max(len(pair.slots), 1))


def _most_frequent(scores: Scores, table: pd.DataFrame, what: list[str], most: int) -> pd.DataFrame:
    """Count distinct turns and dialogues of each group; its first row is the example."""
    once = table.sort_values(["dialogue_id", "turn", *what], kind="stable")
    once = once.drop_duplicates([*what, "dialogue_id", "turn"])
    groups = once.groupby(what, sort=False)
    counted = groups.agg(turns=("turn", "size"), dialogues=("dialogue_id", "nunique"))
    found = counted.join(once.drop_duplicates(what).set_index(what)).reset_index()
    found = found.sort_values(["turns", *what], ascending=[False] + [True] * len(what), ignore_index=True)
    shown = found.head(most)
    if scores.gold is not None:
        said = scores.gold.turns[["dialogue_id", "turn", "user"]]
        shown = shown.merge(said, on=["dialogue_id", "turn"], how="left")
    shown.attrs["left_out"] = len(found) - len(shown)
    return shown

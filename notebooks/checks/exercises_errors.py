"""Checks for the exercises of lesson 8: error analysis.

As in `checks.exercises`: an answer in, a verdict that explains itself out; the right answer is
computed from the scores the learner was looking at, and nothing is raised for a wrong one.
"""

from __future__ import annotations

from collections.abc import Iterable

from checks.exercises import Verdict, judge_number, unanswered
from dialogeval.analysis.errors import errors, reset_accuracy
from dialogeval.scoring import Scores

__all__ = ["check_made", "check_repair", "check_source"]

_TURN = ["dialogue_id", "turn"]


def check_made(answer: object, scores: Scores) -> Verdict:
    """Check what share of all errors is made in its own turn, not carried along.

    Parameters
    ----------
    answer : float
        In [0, 1]; three digits are enough. ``...`` means not answered yet.
    scores : Scores
        Of a protocol for states.

    Returns
    -------
    Verdict

    Examples
    --------
    >>> from dialogeval import load_corpus, load_predictions, score
    >>> gold = load_corpus("sample/crosswoz_en")
    >>> pred = load_predictions("sample/predictions/crosswoz_en/tracker_stale.jsonl.gz")
    >>> check_made(..., score(gold, pred, "lin2021", resamples=0)).right
    False
    """
    table = errors(scores)
    total, turns = max(len(table), 1), max(len(scores.coverage.turns), 1)
    made = int((table["since"] == table["turn"]).sum())
    wrong_turns = len(table[_TURN].drop_duplicates())
    slips = {
        "That is the share that is carried along; the question is about the rest.": 1 - made / total,
        "That is their number. Divide it by the number of rows of the table.": made,
        "That is errors made per scored turn. Divide by the number of errors instead.": made / turns,
        "That divides the turns that are wrong by all errors. Count errors, above and below.": wrong_turns
        / total,
    }
    why = "All others are the same mistakes again, in later turns: they need no repair of their own."
    hint = "An error is made in its own turn where `since` equals `turn`."
    return judge_number(answer, made / total, slips, why, hint)


def check_repair(answer: object, scores: Scores, kinds: Iterable[str]) -> Verdict:
    """Check the joint goal accuracy of a tracker that makes no errors of the given kinds any more.

    Parameters
    ----------
    answer : float
        In [0, 1]; three digits are enough.
    scores : Scores
        Of a protocol for states.
    kinds : iterable of str

    Returns
    -------
    Verdict

    Examples
    --------
    >>> from dialogeval import error_kinds, load_corpus, load_predictions, score
    >>> gold = load_corpus("sample/crosswoz_en")
    >>> pred = load_predictions("sample/predictions/crosswoz_en/tracker_stale.jsonl.gz")
    >>> check_repair(1.0, score(gold, pred, "lin2021", resamples=0), error_kinds().index)
    Right. Gains do not add up: a turn with errors of both kinds is gained only when both are gone.
    """
    table, kinds = errors(scores), list(kinds)
    turns = reset_accuracy(scores)[["turns", "exact"]].sum()
    total, now = max(int(turns["turns"]), 1), int(turns["exact"])

    def gained(some: Iterable[str]) -> int:
        here = table.assign(other=~table["kind"].isin(list(some))).groupby(_TURN)["other"].any()
        return int((~here).sum())

    right = (now + gained(kinds)) / total
    some = table.loc[table["kind"].isin(kinds), _TURN].drop_duplicates()
    slips = {
        "That is the score as it is, without any repair.": now / total,
        "That is only the gain. Add what the tracker has already.": gained(kinds) / total,
        "You added the gains of the kinds one by one. Look for the turns in which *only* these kinds occur, together.": (
            (now + sum(gained([kind]) for kind in kinds)) / total
        ),
        "You counted every turn in which one of the kinds occurs. Where another error stands as well, the turn stays wrong.": (
            (now + len(some)) / total
        ),
    }
    why = "Gains do not add up: a turn with errors of both kinds is gained only when both are gone."
    hint = "A turn is gained if all of its errors are of these kinds; add those turns to the right ones."
    return judge_number(answer, right, slips, why, hint)


def check_source(answer: object, scores: Scores) -> Verdict:
    """Check in which slot most errors are made.

    Parameters
    ----------
    answer : (str, str)
        Domain and slot.
    scores : Scores
        Of a protocol for states.

    Returns
    -------
    Verdict

    Examples
    --------
    >>> from dialogeval import load_corpus, load_predictions, score
    >>> gold = load_corpus("sample/multiwoz")
    >>> pred = load_predictions("sample/predictions/multiwoz/tracker_sloppy.json.gz")
    >>> check_source("area", score(gold, pred, "lin2021", resamples=0))
    Not yet. Give domain and slot as a pair, such as ("hotel", "name").
    """
    if answer is ...:
        return unanswered()
    if (
        not isinstance(answer, (tuple, list))
        or len(answer) != 2
        or not all(isinstance(a, str) for a in answer)
    ):
        return Verdict(False, 'Give domain and slot as a pair, such as ("hotel", "name").')
    table = errors(scores)
    slots = ["domain", "slot"]
    made = table[table["since"] == table["turn"]].groupby(slots).size()
    if made.empty:
        return Verdict(False, "This tracker makes no errors; choose another one.")
    here, most = tuple(answer), int(made.max())
    count = int(made.get(here, 0))
    if count == most:
        others = int((made == most).sum()) - 1
        tied = f" ({others} more with as many)" if others else ""
        return Verdict(True, f"{most:,} errors begin there{tied}.")
    carried = table.groupby(slots).size()
    if here in carried.index and carried[here] == carried.max():
        return Verdict(
            False,
            f"Most errors *stand* there, but only {count:,} *begin* there; in another slot {most:,} do. Use `since`.",
        )
    return Verdict(False, f"{count:,} errors begin there; in another slot {most:,} do.")

"""Checks for the exercises of the lessons: an answer in, a verdict that explains itself out.

A check computes the right answer from what the learner was given, with the package's own functions,
so that it holds for any corpus. Where the answer is wrong it names the likely slip. Nothing is
raised for a wrong answer: an unsolved notebook still runs from top to bottom.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import isclose
from typing import Any

from lessons.inspection import slots_table

from dialogeval.metrics.states import joint_goal_accuracy, slot_f1, slot_scores
from dialogeval.tables import Corpus

__all__ = [
    "Verdict",
    "check_empty_turns",
    "check_joint_goal",
    "check_most_values",
    "check_signatures",
    "judge_number",
    "unanswered",
]

States = Sequence[Iterable[tuple[str, str, str]]]
#: Answers given in decimals are right from three digits on.
TOLERANCE = 0.0006


@dataclass(frozen=True)
class Verdict:
    """What a check says about an answer.

    Parameters
    ----------
    right : bool
    text : str
        One or two sentences for the learner.

    Examples
    --------
    >>> Verdict(False, "Count turns, not slots.")
    Not yet. Count turns, not slots.
    """

    right: bool
    text: str

    def __repr__(self) -> str:
        """Return the verdict as the learner reads it."""
        return f"{'Right.' if self.right else 'Not yet.'} {self.text}"


def check_joint_goal(answer: object, predictions: States, golds: States) -> Verdict:
    """Check a joint goal accuracy that was worked out by hand.

    Parameters
    ----------
    answer : float
        In [0, 1]; three digits are enough. ``...`` means not answered yet.
    predictions, golds : sequence of sets of (domain, slot, value)

    Returns
    -------
    Verdict

    Examples
    --------
    >>> gold = [{("hotel", "area", "north")}, {("hotel", "area", "north"), ("hotel", "stars", "4")}]
    >>> check_joint_goal(0.5, [gold[0], gold[0]], gold).right
    True
    >>> check_joint_goal(2 / 3, [gold[0], gold[0]], gold)
    Not yet. That is the share of gold triples that were found. Joint goal accuracy counts turns: all or nothing.
    """
    right = joint_goal_accuracy(predictions, golds)
    found = slot_scores(predictions, golds)
    nothing_missed = [set(g) <= set(p) for p, g in zip(predictions, golds, strict=True)]
    turns = "Joint goal accuracy counts turns: all or nothing."
    slips = {
        f"That is the share of gold triples that were found. {turns}": found["slot_recall"],
        f"That is the share of predicted triples that are right. {turns}": found["slot_precision"],
        f"That is the micro-averaged F1 of triples. {turns}": found["slot_f1_micro"],
        f"That is the card's slot F1. {turns}": slot_f1(predictions, golds),
        "You let turns pass in which nothing is missing. A slot too many costs the turn just as well.": (
            sum(nothing_missed) / max(len(nothing_missed), 1)
        ),
        "That is the share of turns that are wrong; the score is the share that is right.": 1 - right,
        "That is the number of right turns. Divide it by the number of turns.": right * len(nothing_missed),
    }
    why = "A turn is right only if both sets are equal; one wrong, missing or extra slot costs all of it."
    return judge_number(answer, right, slips, why, "Compare the two sets of each turn: are they equal?")


def check_signatures(answer: object, first: str, second: str) -> Verdict:
    """Check which fields of two signatures differ.

    Parameters
    ----------
    answer : set of str
        Names of the fields, such as ``{"n", "gold"}``; the score's own name is ``"score"``.
    first, second : str

    Returns
    -------
    Verdict

    Examples
    --------
    >>> check_signatures({"n"}, "jga|case:keep|n:10", "jga|case:keep|n:12").right
    True
    >>> check_signatures({"case"}, "jga|case:keep|n:10", "jga|case:keep|n:12")
    Not yet. 'case' is the same in both (keep).
    """
    if answer is ...:
        return unanswered()
    one, two = _fields(first), _fields(second)
    if not isinstance(answer, (set, frozenset, list, tuple)) or not all(isinstance(a, str) for a in answer):
        return Verdict(False, 'Give a set of field names, such as {"n", "gold"}.')
    differ = {name for name in one.keys() | two.keys() if one.get(name) != two.get(name)}
    for name in sorted(answer):
        if name not in one.keys() | two.keys():
            return Verdict(False, f"{name!r} is no field; a field's name is what stands before the colon.")
        if name not in differ:
            return Verdict(False, f"{name!r} is the same in both ({one[name]}).")
    if missed := len(differ - set(answer)):
        more = f"{missed} more field{'s' * (missed > 1)}"
        return Verdict(
            False, f"Right so far, but {more} differ{'s' * (missed == 1)}: go through them one by one."
        )
    return Verdict(True, "As long as these differ, the two numbers must not stand in one column of a table.")


def check_empty_turns(answer: object, corpus: Corpus) -> Verdict:
    """Check the share of turns whose state is empty.

    Parameters
    ----------
    answer : float
        In [0, 1]; three digits are enough.
    corpus : Corpus

    Returns
    -------
    Verdict

    Examples
    --------
    >>> from dialogeval.tables import table
    >>> corpus = Corpus("toy", turns=table("turns", [("d", 0, "hi", "hello", 0), ("d", 1, "a taxi", "to ?", 0)]),
    ...                 states=table("states", [("d", 1, "taxi", "leaveat", "9:15")]))
    >>> check_empty_turns(0.5, corpus).right
    True
    """
    turns = len(corpus.turns)
    filled = len(corpus.states[["dialogue_id", "turn"]].drop_duplicates())
    right = 1 - filled / max(turns, 1)
    slips = {
        "That is the number of turns with an empty state; divide it by the number of turns.": turns - filled,
        "That is the share of turns with a filled state; the question is about the others.": 1 - right,
        "You divided by the rows of the states. A row is a slot, not a turn; divide by the turns.": (
            (turns - filled) / max(len(corpus.states), 1)
        ),
        "A turn with an empty state has no row in `corpus.states`: look for it in `corpus.turns`.": 0.0,
        "You counted rows of the states. A turn has one row for each filled slot: count each turn once.": (
            1 - len(corpus.states) / max(turns, 1)
        ),
    }
    why = "These turns are rows of `turns` and not of `states`: a join on the states would lose them unseen."
    hint = "Count the turns that have a state, each once; the others are empty."
    return judge_number(answer, right, slips, why, hint)


def check_most_values(answer: object, corpus: Corpus) -> Verdict:
    """Check which slot has the most distinct values.

    Parameters
    ----------
    answer : tuple of (domain, slot)
    corpus : Corpus

    Returns
    -------
    Verdict

    Examples
    --------
    >>> from dialogeval.tables import table
    >>> corpus = Corpus("toy", turns=table("turns", [("d", 0, "a taxi", "to ?", 0)]),
    ...                 states=table("states", [("d", 0, "taxi", "leaveat", "9:15")]))
    >>> check_most_values(("taxi", "leaveat"), corpus).right
    True
    """
    if answer is ...:
        return unanswered()
    slots = slots_table(corpus)
    if not (isinstance(answer, (tuple, list)) and len(answer) == 2):
        return Verdict(
            False,
            "Give domain and slot as a pair, such as (domain, slot): slots of two domains can share a name.",
        )
    if tuple(answer) not in slots.index:
        known = ", ".join(sorted(set(slots.index.get_level_values("domain"))))
        return Verdict(False, f"This corpus has no such slot. Its domains are {known}.")
    values = slots["values"]
    mine, most = int(values[tuple(answer)]), int(values.max())
    if mine == most:
        why = "A tracker cannot learn a slot with that many values as a list to choose from."
        return Verdict(True, f"It has {most:,} distinct values. {why}")
    if tuple(answer) == slots.index[0]:
        return Verdict(False, "That is the slot filled most often. Look at the column of distinct values.")
    above = int((values > mine).sum())
    return Verdict(
        False, f"It has {mine:,} distinct values; {above} slot{'s have' if above > 1 else ' has'} more."
    )


# For the checks of all lessons --------------------------------------------------------------------


def judge_number(answer: object, right: float, slips: dict[str, float], why: str, hint: str) -> Verdict:
    """Compare a number with the right one, and name the slip that leads to a wrong one.

    Parameters
    ----------
    answer : float
        ``...`` means not answered yet.
    right : float
    slips : dict of str to float
        What to say, by the wrong number that a slip leads to; the first that fits is said.
    why, hint : str
        What to say to a right answer, and to one that no slip explains.

    Returns
    -------
    Verdict

    Examples
    --------
    >>> judge_number(50, 0.5, {}, "Half of them.", "Count again.")
    Not yet. That is in per cent; give a share between 0 and 1.
    """
    if answer is ...:
        return unanswered()
    number = _as_number(answer)
    if number is None:
        return Verdict(False, f"A number is wanted, not {answer!r}.")
    if _near(number, right):
        return Verdict(True, why)
    if _near(number / 100, right):
        return Verdict(False, "That is in per cent; give a share between 0 and 1.")
    slip = next((text for text, value in slips.items() if _near(number, value)), hint)
    return Verdict(False, slip)


def _as_number(answer: Any) -> float | None:
    try:
        return None if isinstance(answer, (bool, str)) else float(answer)
    except (TypeError, ValueError):
        return None


def _near(a: float, b: float) -> bool:
    return isclose(a, b, rel_tol=0, abs_tol=TOLERANCE)


def unanswered() -> Verdict:
    """Return the verdict on an exercise that still has its three dots.

    Examples
    --------
    >>> unanswered().right
    False
    """
    return Verdict(False, "Put your answer in place of the three dots and run the cell again.")


def _fields(signature: str) -> dict[str, str]:
    first, *rest = signature.split("|")
    return {"score": first} | dict(part.split(":", 1) for part in rest)

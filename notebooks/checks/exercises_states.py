"""Checks for the exercises of lesson 2: the scores of state tracking.

As in `checks.exercises`: an answer in, a verdict that explains itself out; the right answer is
computed from what the learner was given, and nothing is raised for a wrong one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from checks.exercises import Verdict, judge_number, unanswered
from dialogeval.exceptions import DialogevalError
from dialogeval.metrics import Metric
from dialogeval.metrics.states import joint_goal_accuracy, score_lists, slot_f1, slot_scores
from dialogeval.protocols import PROTOCOLS, metric_table

__all__ = [
    "check_flexible",
    "check_forgery",
    "check_micro_f1",
    "check_unmoved",
]

States = Sequence[Iterable[tuple[str, str, str]]]
#: Slots of the ontology in the small examples: MultiWOZ's.
SLOTS = 30


def check_micro_f1(answer: object, predictions: States, golds: States) -> Verdict:
    """Check a micro F1 that was worked out by hand.

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
    >>> check_micro_f1(0.8, [gold[0], gold[0]], gold).right
    True
    >>> check_micro_f1(5 / 6, [gold[0], gold[0]], gold)
    Not yet. That is the mean of one F1 for each turn. Micro-averaged: add up TP, FP and FN of all turns first.
    """
    found = slot_scores(predictions, golds)
    by_turn = [slot_scores([p], [g])["slot_f1_micro"] for p, g in zip(predictions, golds, strict=True)]
    slips = {
        "That is precision: add FN to the denominator as well.": found["slot_precision"],
        "That is recall: add FP to the denominator as well.": found["slot_recall"],
        "That is the mean of one F1 for each turn. Micro-averaged: add up TP, FP and FN of all turns first.": (
            sum(by_turn) / max(len(by_turn), 1)
        ),
        "That is joint goal accuracy, which counts turns. Count triples.": joint_goal_accuracy(
            predictions, golds
        ),
        "That is the card's slot F1, a mean over slots and turns. Here all triples weigh the same.": slot_f1(
            predictions, golds
        ),
        "That is TP / (TP + FP + FN), the Jaccard index. F1 counts TP twice, above and below.": (
            found["slot_f1_micro"] / (2 - found["slot_f1_micro"])
        ),
    }
    why = "All triples of all turns are thrown together, so long states weigh more than short ones."
    hint = "Count over all turns: TP on both sides, FP predicted only, FN gold only. F1 is 2TP / (2TP + FP + FN)."
    return judge_number(answer, found["slot_f1_micro"], slips, why, hint)


def check_flexible(answer: object, predictions: States, golds: States, weight: float = 1.0) -> Verdict:
    """Check a flexible goal accuracy that was worked out by hand.

    Parameters
    ----------
    answer : float
        In [0, 1]; three digits are enough.
    predictions, golds : sequence of sets of (domain, slot, value)
    weight : {0.25, 0.5, 0.75, 1.0}
        λ.

    Returns
    -------
    Verdict

    Examples
    --------
    >>> gold = [{("hotel", "area", "north")}] * 2
    >>> check_flexible(0.316, [set(), set()], gold).right
    True
    >>> check_flexible(0.0, [set(), set()], gold)
    Not yet. That is joint goal accuracy. A turn that only drags an old error along gets some of its credit back.
    """
    right = _by_list(_flexible(weight), predictions, golds)
    others = {w: _by_list(_flexible(w), predictions, golds) for w in (0.25, 0.5, 0.75, 1.0) if w != weight}
    slips = {
        "That is joint goal accuracy. A turn that only drags an old error along gets some of its credit back.": (
            joint_goal_accuracy(predictions, golds)
        ),
        "That is turn goal accuracy, which gives full credit to a turn without a new error.": _by_list(
            metric_table()["turn_goal_accuracy"], predictions, golds
        ),
        **{f"That is the score for λ = {w:g}; here λ is {weight:g}.": value for w, value in others.items()},
        "That is the sum over the turns; divide it by their number.": right * max(len(golds), 1),
    }
    why = "The older the error, the less it costs; a new error of the turn's own costs the whole turn."
    hint = "Go turn by turn: equal sets 1; a new error 0; else 1 − exp(−λ·d), d turns after the last turn with 0."
    return judge_number(answer, right, slips, why, hint)


def check_unmoved(
    answer: object,
    predictions: States,
    golds: States,
    extra: tuple[str, str, str],
    keys: Iterable[str] = (),
) -> Verdict:
    """Check which scores stay as they are when a slot that nobody asked for is predicted in every turn.

    Parameters
    ----------
    answer : set of str
        Keys of metrics.
    predictions, golds : sequence of sets of (domain, slot, value)
    extra : (domain, slot, value)
    keys : iterable of str, optional
        Metrics to choose from; those of protocol ``trade`` by default.

    Returns
    -------
    Verdict

    Examples
    --------
    >>> gold = [{("hotel", "area", "north")}]
    >>> check_unmoved({"slot_recall"}, gold, gold, ("taxi", "leaveat", "9:15"), ["slot_recall", "slot_precision"]).right
    True
    """
    if answer is ...:
        return unanswered()
    keys = list(keys) or [m.key for m in PROTOCOLS["trade"].resolve_metrics()]
    if not isinstance(answer, (set, frozenset, list, tuple)) or not all(isinstance(a, str) for a in answer):
        return Verdict(False, 'Give a set of keys, such as {"slot_precision"}.')
    more = [{*p, extra} for p in predictions]
    moved = {}
    for key in keys:
        metric = metric_table()[key]
        moved[key] = _by_list(metric, more, golds) - _by_list(metric, predictions, golds)
    for key in sorted(answer):
        if key not in moved:
            return Verdict(False, f"{key!r} is no key of these scores; they are {', '.join(moved)}.")
        if abs(moved[key]) > 1e-12:
            return Verdict(False, f"{key} does notice: it changes by {moved[key]:+.3f}.")
    missing = {key for key, change in moved.items() if abs(change) <= 1e-12} - set(answer)
    if missing:
        return Verdict(
            False, f"Right so far, but {len(missing)} more: which do not look at what gold does not have?"
        )
    return Verdict(True, "A tracker that invents slots is not punished by these. Never report them alone.")


def check_forgery(answer: object, golds: States) -> Verdict:
    """Check a prediction that no turn of is right, though the card's slot F1 is perfect.

    Parameters
    ----------
    answer : sequence of sets of (domain, slot, value)
    golds : sequence of sets of (domain, slot, value)

    Returns
    -------
    Verdict

    Examples
    --------
    >>> gold = [{("hotel", "area", "north")}]
    >>> check_forgery([{("hotel", "area", "north"), ("hotel", "stars", "4")}], gold).right
    True
    >>> check_forgery(gold, gold)
    Not yet. The slot F1 is 1, but so is the joint goal accuracy of 1 turn: each turn needs an error.
    """
    if answer is ...:
        return unanswered()
    if not isinstance(answer, (list, tuple)) or len(answer) != len(golds):
        return Verdict(False, f"Give a list of {len(golds)} sets, one for each turn.")
    try:
        exact, card = joint_goal_accuracy(answer, golds), slot_f1(answer, golds)
    except DialogevalError as error:
        return Verdict(False, f"{error}.")
    right = round(exact * len(golds))
    if card < 1 - 1e-12:
        return Verdict(
            False,
            f"The slot F1 is {card:.3f}. Keep every gold slot as it is; where does the card's slot F1 not look?",
        )
    if right:
        turns = f"{right} turn{'s' * (right > 1)}"
        return Verdict(
            False,
            f"The slot F1 is 1, but so is the joint goal accuracy of {turns}: each turn needs an error.",
        )
    return Verdict(True, "The two scores say the opposite of each other, and both are computed correctly.")


# Helpers ------------------------------------------------------------------------------------------


def _by_list(metric: Metric, predictions: States, golds: States) -> float:
    return score_lists(metric, predictions, golds, n_slots=SLOTS)


def _flexible(weight: float) -> Metric:
    key = "flexible_goal_accuracy"
    return metric_table()[key if weight == 0.5 else f"{key}@{weight:g}"]

"""Checks for the exercises of lesson 4: the pitfalls of state tracking.

As in `checks.exercises`: an answer in, a verdict that explains itself out; the right answer is
computed from what the learner was given, and nothing is raised for a wrong one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from lessons.demonstrations import ALL_GOLD_RIGHT

from checks.exercises import Verdict, judge_number, unanswered
from dialogeval.exceptions import DialogevalError
from dialogeval.metrics.states import joint_goal_accuracy, score_lists
from dialogeval.normalize import normalize_states
from dialogeval.protocols import PROTOCOLS, Protocol, metric_table
from dialogeval.scoring import score
from dialogeval.tables import Corpus, Predictions

__all__ = ["check_all_gold", "check_largest_step", "check_missing_as_empty", "check_steps_found"]

States = Sequence[Iterable[tuple[str, str, str]]]


def check_all_gold(answer: object, predictions: States, golds: States) -> Verdict:
    """Check the share of turns whose gold slots are all right.

    Parameters
    ----------
    answer : float
        In [0, 1]; three digits are enough.
    predictions, golds : sequence of sets of (domain, slot, value)

    Returns
    -------
    Verdict

    Examples
    --------
    >>> gold = [{("hotel", "area", "north")}, {("hotel", "area", "north"), ("hotel", "stars", "4")}]
    >>> check_all_gold(0.5, [gold[0], gold[0]], gold).right
    True
    >>> check_all_gold(0.75, [gold[0], gold[0]], gold)
    Not yet. That is the other average goal accuracy: the mean share of the gold slots that are right.
    """
    right = score_lists(ALL_GOLD_RIGHT, predictions, golds)
    filled = [bool(set(g)) for g in golds]
    slips = {
        "That is the other average goal accuracy: the mean share of the gold slots that are right.": score_lists(
            metric_table()["average_goal_accuracy"], predictions, golds
        ),
        "That is joint goal accuracy. Here, what is predicted beside the gold slots costs nothing.": (
            joint_goal_accuracy(predictions, golds)
        ),
        "You counted turns with an empty gold state. Both meanings leave them out.": (
            right * sum(filled) + len(filled) - sum(filled)
        )
        / max(len(filled), 1),
    }
    why = "It lies between joint goal accuracy on those turns and the mean share, and has the same name as the latter."
    hint = "In how many of the turns with a filled gold state is every gold triple predicted?"
    return judge_number(answer, right, slips, why, hint)


def check_missing_as_empty(
    answer: object, gold: Corpus, partial: Predictions, protocol: str | Protocol
) -> Verdict:
    """Check the joint goal accuracy when turns without a prediction count as predicted empty.

    Parameters
    ----------
    answer : float
        In [0, 1]; three digits are enough.
    gold : Corpus
    partial : Predictions
        With turns missing.
    protocol : str or Protocol
        For states.

    Returns
    -------
    Verdict

    Examples
    --------
    >>> from dialogeval import as_predictions, load_corpus
    >>> gold = load_corpus("sample/multiwoz")
    >>> check_missing_as_empty(1.0, gold, as_predictions(gold), "trade").right
    True
    """
    empty = score(gold, partial, protocol, missing="empty", resamples=0)
    skip = score(gold, partial, protocol, missing="skip", resamples=0)
    right, skipped = empty["joint_goal_accuracy"], skip["joint_goal_accuracy"]
    share = skip.coverage.turns_scored / skip.coverage.turns_in_corpus
    slips = {
        "That is the score of the turns that are there. Now count the others as well.": skipped,
        "That is the share of turns that were scored, not of those that are right.": share,
        "You let all missing turns pass as right. An empty state is right only where gold is empty.": (
            skipped * share + 1 - share
        ),
    }
    why = f"{skipped:.3f} on what is there, {right:.3f} on the whole: the difference says how much was left out."
    hint = 'Turns that are right stay right; divide by all turns of the corpus. Or let score do it: missing="empty".'
    return judge_number(answer, right, slips, why, hint)


def check_largest_step(answer: object, gold: Corpus, tracker: Predictions, steps: Sequence[str]) -> Verdict:
    """Check which single step of normalisation changes a tracker's joint goal accuracy most.

    Parameters
    ----------
    answer : str
        One of ``steps``.
    gold : Corpus
    tracker : Predictions
    steps : sequence of str
        ``name:choice``, each tried alone.

    Returns
    -------
    Verdict

    Examples
    --------
    >>> from dialogeval import load_corpus
    >>> from lessons.example_trackers import disguise
    >>> gold = load_corpus("sample/multiwoz")
    >>> check_largest_step("upper", gold, disguise(gold), ["space:strip", "time:hhmm"])
    Not yet. Give one of space:strip, time:hhmm, as a string.
    """
    if answer is ...:
        return unanswered()
    if answer not in steps:
        return Verdict(False, f"Give one of {', '.join(steps)}, as a string.")
    as_is = _goal_accuracy(gold, tracker, ())
    moved = {step: abs(_goal_accuracy(gold, tracker, (step,)) - as_is) for step in steps}
    mine, most = moved[str(answer)], max(moved.values())
    if most - mine < 1e-12:
        return Verdict(
            True, f"It moves joint goal accuracy by {mine * 100:.1f} points; the signature must show it."
        )
    above = sum(change > mine for change in moved.values())
    return Verdict(
        False,
        f"It moves joint goal accuracy by {mine * 100:.1f} points; {above} other{'s' * (above > 1)} by more.",
    )


def check_steps_found(answer: object, gold: Corpus, tracker: Predictions) -> Verdict:
    """Check steps of normalisation under which a tracker that only writes otherwise is right throughout.

    Parameters
    ----------
    answer : tuple of str
        Steps as ``name:choice``, in their order.
    gold : Corpus
    tracker : Predictions

    Returns
    -------
    Verdict
        A step that drops filled gold slots is refused: it would win by looking away.

    Examples
    --------
    >>> from dialogeval import load_corpus
    >>> from lessons.example_trackers import disguise
    >>> gold = load_corpus("sample/multiwoz")
    >>> check_steps_found(("space:strip", "case:lower", "time:hhmm", "dontcare:unify"), gold, disguise(gold)).right
    True
    """
    if answer is ...:
        return unanswered()
    if not isinstance(answer, (tuple, list)) or not all(isinstance(step, str) for step in answer):
        return Verdict(False, 'Give a tuple of steps, such as ("case:lower", "space:strip").')
    steps = tuple(answer)
    try:
        reached = _goal_accuracy(gold, tracker, steps)
    except DialogevalError as error:
        return Verdict(False, f"{error}.")
    dropped = len(normalize_states(gold.states, ())) - len(normalize_states(gold.states, steps))
    if dropped:
        return Verdict(
            False,
            f"These steps drop {dropped:,} gold slots. What is dropped cannot be wrong: find steps that rewrite.",
        )
    if reached < 1 - 1e-12:
        left = _first_difference(gold, tracker, steps)
        return Verdict(
            False, f"Joint goal accuracy is {reached:.3f}. Gold has {left[0]!r} where it has {left[1]!r}."
        )
    return Verdict(
        True, "It understood everything all along. Report these steps, and use them for all systems."
    )


# Helpers ------------------------------------------------------------------------------------------


def _goal_accuracy(gold: Corpus, tracker: Predictions, steps: tuple[str, ...]) -> float:
    rules = replace(PROTOCOLS["lin2021"], name="exercise", metrics=("joint_goal_accuracy",), steps=steps)
    return score(gold, tracker, rules, missing="empty", resamples=0)["joint_goal_accuracy"]


def _first_difference(gold: Corpus, tracker: Predictions, steps: tuple[str, ...]) -> tuple[str, str]:
    """Return a gold value and the prediction's for the same slot, where they differ after the steps."""
    assert tracker.states is not None
    where = ["dialogue_id", "turn", "domain", "slot"]
    both = normalize_states(gold.states, steps).merge(
        normalize_states(tracker.states, steps), on=where, how="outer", suffixes=("", "_predicted")
    )
    both = both.fillna("")
    row = both[both["value"] != both["value_predicted"]].iloc[0]
    return str(row["value"]), str(row["value_predicted"])

"""Checks for the exercises of lessons 3 and 6: the scores of generation and their pitfalls.

As in `checks.exercises`: an answer in, a verdict that explains itself out; the right answer is
computed from what the learner was given, and nothing is raised for a wrong one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
from lessons.pitfalls_texts import batch_mean

from checks.exercises import Verdict, judge_number, unanswered
from dialogeval.exceptions import DialogevalError
from dialogeval.metrics import ratio
from dialogeval.metrics.goals import goal_labels, goal_scores
from dialogeval.metrics.task import offers_table
from dialogeval.metrics.text import bleu, distinct_n
from dialogeval.scoring import Scores

__all__ = [
    "check_batches",
    "check_bleu",
    "check_diverse",
    "check_goal_f1",
    "check_missed",
    "check_out_of_place",
]


def check_bleu(answer: object, response: str, reference: str) -> Verdict:
    """Check a BLEU-2 that was worked out by hand.

    Parameters
    ----------
    answer : float
        In [0, 1]; three digits are enough. ``...`` means not answered yet.
    response, reference : str

    Returns
    -------
    Verdict

    Examples
    --------
    >>> check_bleu(0.717, "a b c", "a b c d").right
    True
    >>> check_bleu(1.0, "a b c", "a b c d")
    Not yet. That is without the brevity penalty: the response is shorter than the reference.
    """
    said, wanted = response.split(), reference.split()
    right = bleu([response], [reference], 2) / 100
    shares = [_precision(said, wanted, n) for n in (1, 2)]
    penalty = min(1.0, float(np.exp(1 - ratio(len(wanted), len(said), empty=1.0))))
    loose = [_precision(said, wanted, n, clipped=False) for n in (1, 2)]
    slips = {
        "That is without the brevity penalty: the response is shorter than the reference.": _mean(shares),
        "That is BLEU-1. BLEU-2 also asks for pairs of words.": penalty * shares[0],
        "That is the precision of pairs alone. BLEU-2 is the geometric mean of both precisions.": penalty
        * shares[1],
        "That is the arithmetic mean of the precisions; BLEU takes the geometric one.": penalty
        * sum(shares)
        / 2,
        "A word counts at most as often as the reference has it: clip.": penalty * _mean(loose),
        "You divided by the reference. A precision divides by the response.": bleu([reference], [response], 2)
        / 100,
        "Take the root: the geometric mean of two numbers is the square root of their product.": penalty
        * shares[0]
        * shares[1],
    }
    why = "Clipped precisions of words and of pairs, their geometric mean, times the brevity penalty."
    hint = "Count words and pairs of the response that the reference has (clipped), divide, √(p1·p2), exp(1 − r/c)."
    return judge_number(answer, right, slips, why, hint)


def check_goal_f1(
    answer: object, responses: Sequence[Sequence[str]], references: Sequence[Sequence[str]]
) -> Verdict:
    """Check a micro goal F1 that was worked out by hand.

    Parameters
    ----------
    answer : float
        In [0, 1]; three digits are enough.
    responses, references : sequence of sequences of str
        The system utterances of each dialogue, with canonical placeholders.

    Returns
    -------
    Verdict

    Examples
    --------
    >>> check_goal_f1(0.8, [["NAME in AREA", "NAME"]], [["NAME", "AREA", "PHONE"]]).right
    True
    >>> check_goal_f1(2 / 3, [["NAME in AREA", "NAME"]], [["NAME", "AREA", "PHONE"]])
    Not yet. That is recall. F1 also looks at what is mentioned without need.
    """
    found = {k: v / 100 for k, v in goal_scores(responses, references).items()}
    others = {
        a: goal_scores(responses, references, average=a)["f1"] / 100 for a in ("macro", "samples", "weighted")
    }
    slips = {
        "That is recall. F1 also looks at what is mentioned without need.": found["recall"],
        "That is precision. F1 also looks at what was never mentioned.": found["precision"],
        "That compares turn by turn; a label counts wherever in the dialogue it stands.": _by_turn(
            responses, references
        ),
        "That is the mean over dialogues. Micro-averaged: add up TP, FP and FN of all dialogues first.": others[
            "samples"
        ],
        "That is the mean over labels. Micro-averaged: add up TP, FP and FN of all labels first.": others[
            "macro"
        ],
    }
    why = "One set of labels for each side of each dialogue, however often and wherever they are mentioned."
    hint = "Collect the set of placeholders of each dialogue on each side; count TP, FP, FN; 2TP / (2TP + FP + FN)."
    return judge_number(answer, found["f1"], slips, why, hint)


def check_missed(answer: object, scores: Scores | None, dialogue_id: str) -> Verdict:
    """Check which requested items a system never gave in a dialogue.

    Parameters
    ----------
    answer : set of (domain, item)
        Such as ``{("hotel", "PHONE")}``; an empty set if none.
    scores : Scores or None
        With Inform; None where a corpus has no goals.
    dialogue_id : str

    Returns
    -------
    Verdict

    Examples
    --------
    >>> check_missed(..., None, "d").right
    False
    """
    if scores is None:
        return Verdict(False, "This corpus has no goals to fail. Take sample/multiwoz for this exercise.")
    if answer is ...:
        return unanswered()
    offers = offers_table(scores.pairs["task"])
    offers = offers[offers["dialogue_id"] == dialogue_id]
    right = {
        (domain, item)
        for domain, items in zip(offers["domain"], offers["missed"], strict=True)
        for item in items.split()
    }
    try:
        given = {(str(domain).lower(), str(item).upper()) for domain, item in answer}  # type: ignore[attr-defined]
    except (TypeError, ValueError):
        return Verdict(False, 'Give a set of pairs, such as {("hotel", "PHONE")}.')
    if given == right:
        return Verdict(True, "These are what stands between Inform and Success in this dialogue.")
    if given - right:
        domain, item = sorted(given - right)[0]
        return Verdict(
            False, f"{item} of {domain} was given, or nobody asked for it. Look at the last turn's row."
        )
    return Verdict(
        False, f"Right so far, but {len(right - given)} more: compare the goal with the last turn's row."
    )


def check_diverse(answer: object, responses: Sequence[str], factor: float = 2.0) -> Verdict:
    """Check a choice of responses that looks more diverse than all of them together.

    Parameters
    ----------
    answer : list of str
        Some of the responses.
    responses : sequence of str
    factor : float, default=2.0
        By how much distinct-1 has to grow.

    Returns
    -------
    Verdict

    Examples
    --------
    >>> said = ["a b"] * 9 + ["c d"]
    >>> check_diverse(["a b", "c d"], said).right
    True
    """
    if answer is ...:
        return unanswered()
    if not isinstance(answer, (list, tuple)) or not answer or not all(isinstance(t, str) for t in answer):
        return Verdict(False, "Give a list of some of the responses.")
    if Counter(answer) - Counter(responses):
        return Verdict(
            False, "Not a single word is needed that the system has not said: choose among its responses."
        )
    before, after = distinct_n(responses, 1), distinct_n(list(answer), 1)
    if after < factor * before:
        return Verdict(
            False,
            f"D-1 goes from {before:.2f} to {after:.2f}. What does the number of different words grow with?",
        )
    return Verdict(
        True,
        f"D-1 goes from {before:.2f} to {after:.2f} with fewer words in all. Compare at equal amounts of text.",
    )


def check_batches(answer: object, responses: Sequence[str], size: int) -> Verdict:
    """Check a distinct-2 that was averaged over batches.

    Parameters
    ----------
    answer : float
        A share in [0, 1].
    responses : sequence of str
    size : int
        Responses in a batch.

    Returns
    -------
    Verdict

    Examples
    --------
    >>> check_batches(1.0, ["a b", "a b"], 1).right
    True
    """

    def distinct(texts: Sequence[str]) -> float:
        return distinct_n(texts, 2) / 100

    right = batch_mean(responses, distinct, size)
    slips = {
        "That is over the whole text. Here every batch is scored by itself, then the mean is taken.": distinct(
            responses
        ),
        "That divides by tokens; here the denominator is the number of pairs.": batch_mean(
            responses, lambda texts: distinct_n(texts, 2, per="token") / 100, size
        ),
        "That counts words; distinct-2 counts pairs.": batch_mean(
            responses, lambda texts: distinct_n(texts, 1) / 100, size
        ),
    }
    why = "A pair that comes back in another batch is new again, so the mean is never below the corpus value."
    hint = "For each batch: different pairs / all pairs (never across two responses); then the mean."
    return judge_number(answer, right, slips, why, hint)


def check_out_of_place(answer: object, references: Sequence[str]) -> Verdict:
    """Check responses that have a perfect goal F1 and say nothing where it is wanted.

    Parameters
    ----------
    answer : list of str
        One response for each reference.
    references : sequence of str
        The system utterances of one dialogue, with canonical placeholders.

    Returns
    -------
    Verdict

    Examples
    --------
    >>> check_out_of_place(["AREA", "NAME"], ["it is NAME", "in the AREA"]).right
    True
    """
    if answer is ...:
        return unanswered()
    if not isinstance(answer, (list, tuple)) or len(answer) != len(references):
        return Verdict(False, f"Give a list of {len(references)} texts, one for each turn.")
    try:
        whole = goal_scores([list(answer)], [list(references)])["f1"]
    except DialogevalError as error:
        return Verdict(False, f"{error}.")
    if whole < 100 - 1e-9:
        return Verdict(False, f"Goal F1 is {whole:.1f}. Which placeholders does the whole dialogue mention?")
    turns = _by_turn([list(answer)], [list(references)])
    if turns > 0:
        return Verdict(
            False, f"Goal F1 is 100, but some stand in their own turn still: F1 by turn is {turns:.3f}."
        )
    return Verdict(True, "A perfect goal F1, and not one placeholder is where the user needs it.")


# Helpers ------------------------------------------------------------------------------------------


def _grams(tokens: Sequence[str], n: int) -> Counter[tuple[str, ...]]:
    return Counter(zip(*(tokens[i:] for i in range(n)), strict=False))


def _precision(said: Sequence[str], wanted: Sequence[str], n: int, *, clipped: bool = True) -> float:
    own, other = _grams(said, n), _grams(wanted, n)
    match = (own & other).total() if clipped else sum(count for gram, count in own.items() if gram in other)
    return float(ratio(match, own.total()))


def _mean(shares: Sequence[float]) -> float:
    return float(np.prod(shares) ** (1 / len(shares)))


def _by_turn(responses: Sequence[Sequence[str]], references: Sequence[Sequence[str]]) -> float:
    pairs = [(a, b) for x, y in zip(references, responses, strict=True) for a, b in zip(x, y, strict=False)]
    sides = [(goal_labels([a]), goal_labels([b])) for a, b in pairs]
    tp = sum(len(a & b) for a, b in sides)
    return float(ratio(2 * tp, sum(len(a) + len(b) for a, b in sides)))

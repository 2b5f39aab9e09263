"""Checks for the exercises of lesson 7: resamples, exchanges, corrections, the size of a test set.

As in `checks.exercises`: an answer in, a verdict that explains itself out; the right answer is
computed from what the learner was given, and nothing is raised for a wrong one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from lessons.uncertainty import DETECTABLE, NORMAL, exchanges, share

from checks.exercises import Verdict, judge_number, unanswered
from dialogeval.stats import holm

__all__ = ["check_dialogues_needed", "check_exchanges", "check_holm", "check_resample"]


def check_resample(answer: object, counts: pd.DataFrame, drawn: Sequence[str]) -> Verdict:
    """Check the score of one resample that was worked out by hand.

    Parameters
    ----------
    answer : float
        In [0, 1]; three digits are enough. ``...`` means not answered yet.
    counts : pandas.DataFrame
        By dialogue: right, turns.
    drawn : sequence of str
        Dialogues, with repetitions.

    Returns
    -------
    Verdict

    Examples
    --------
    >>> counts = pd.DataFrame({"right": [1, 1], "turns": [1, 4]}, index=["a", "b"])
    >>> check_resample(2 / 5, counts, ["b", "a"]).right
    True
    >>> check_resample(0.625, counts, ["b", "a"])
    Not yet. That is the mean of the dialogues' shares. The score is a share of turns: add up first, then divide.
    """
    rows = counts.loc[list(drawn)]
    once = counts.loc[list(dict.fromkeys(drawn))]
    slips = {
        "That is the score of the test set itself; use the dialogues that were drawn.": float(
            share(counts.sum())
        ),
        "A dialogue that is drawn twice counts twice, with its right turns and with all its turns.": float(
            share(once.sum())
        ),
        "That is the mean of the dialogues' shares. The score is a share of turns: add up first, then divide.": (
            float(np.mean(share(rows)))
        ),
        "Divide by the turns of the dialogues drawn: the resample has its own number of turns.": float(
            rows["right"].sum() / counts["turns"].sum()
        ),
        "That is the number of right turns; divide it by the turns drawn.": float(rows["right"].sum()),
    }
    why = "Numerator and denominator are both drawn: that is why a resample keeps counts and not scores."
    hint = "Add up the right turns of the dialogues drawn, repetitions included, and divide by their turns."
    return judge_number(answer, float(share(rows.sum())), slips, why, hint)


def check_exchanges(answer: object, a: pd.DataFrame, b: pd.DataFrame) -> Verdict:
    """Check the exact two-sided p-value of an exchange test on a few dialogues.

    Parameters
    ----------
    answer : float
        In [0, 1]; three digits are enough.
    a, b : pandas.DataFrame
        By dialogue: right, turns.

    Returns
    -------
    Verdict

    Examples
    --------
    >>> a, b = (pd.DataFrame({"right": r, "turns": [4, 4]}) for r in ([3, 4], [1, 1]))
    >>> check_exchanges(0.5, a, b).right
    True
    >>> check_exchanges(0.25, a, b)
    Not yet. That counts one direction only. Two-sided: a difference as large the other way round counts too.
    """
    values = exchanges(a, b)
    seen = values[0]
    far = np.abs(values) >= abs(seen) - 1e-12
    right = float(far.mean())
    same_way = values * np.sign(seen) >= abs(seen) - 1e-12
    slips = {
        "That counts one direction only. Two-sided: a difference as large the other way round counts too.": (
            float(same_way.mean())
        ),
        "Count the exchanges that give *exactly* this difference as well, the one without any exchange included.": (
            float((np.abs(values) > abs(seen) + 1e-12).mean())
        ),
        "That is the number of exchanges as extreme as this one; divide it by the number of all exchanges.": (
            float(far.sum())
        ),
        "That is the share of exchanges that are *less* extreme; p is the share of the others.": 1 - right,
        "The +1 belongs to exchanges drawn at random. Here all of them are listed: a plain share.": float(
            (far.sum() + 1) / (len(values) + 1)
        ),
        "That is the difference itself, not how often chance gives one as large.": float(abs(seen)),
    }
    why = "All exchanges are listed, so nothing is left to the seed. With more dialogues one draws some of them."
    hint = "List all 2ⁿ choices of signs, and count those whose difference is at least as far from 0, either way."
    return judge_number(answer, right, slips, why, hint)


def check_holm(answer: object, p: Mapping[str, float], level: float = 0.05) -> Verdict:
    """Check which of several tests are significant after Holm's correction.

    Parameters
    ----------
    answer : set of str
        Names of the tests.
    p : mapping of str to float
        p-value by name of the test.
    level : float

    Returns
    -------
    Verdict

    Examples
    --------
    >>> p = {"A–B": 0.01, "A–C": 0.04, "B–C": 0.03}
    >>> check_holm({"A–B"}, p).right
    True
    >>> check_holm({"A–B", "A–C", "B–C"}, p)
    Not yet. Those are the p-values below 0.05 without any correction.
    """
    if answer is ...:
        return unanswered()
    if not isinstance(answer, (set, frozenset, list, tuple)) or not all(isinstance(a, str) for a in answer):
        return Verdict(False, f"Give a set of names, such as {{{next(iter(p))!r}}}.")
    mine = set(answer)
    if unknown := sorted(mine - set(p)):
        return Verdict(False, f"{unknown[0]!r} is none of the tests; they are {', '.join(p)}.")
    right = {name for name, value in zip(p, holm(list(p.values())), strict=True) if value < level}
    if mine == right:
        return Verdict(
            True,
            "From the smallest p on, each is multiplied by the tests still left; the first miss ends it.",
        )
    ranked = sorted(p, key=lambda name: p[name])
    on_its_own = {name for i, name in enumerate(ranked) if p[name] * (len(p) - i) < level}
    slips = (
        (f"Those are the p-values below {level:g} without any correction.", {n for n in p if p[n] < level}),
        ("That is Bonferroni: every p times the number of tests. Holm multiplies the later ones by less.",
         {n for n in p if p[n] * len(p) < level}),
        ("Holm stops at the first p that is too large; nothing after it is significant.", on_its_own),
        ("The corrections run the other way: the smallest p is multiplied by the number of all tests.",
         {n for i, n in enumerate(ranked) if p[n] * (i + 1) < level}),
    )  # fmt: skip
    hint = "Sort the p-values; multiply the first by the number of tests, the next by one less; stop at the first miss."
    return Verdict(False, next((text for text, wrong in slips if mine == wrong), hint))


def check_dialogues_needed(answer: object, spread: float, difference: float) -> Verdict:
    """Check how many dialogues a test set needs to show a difference four times in five.

    Parameters
    ----------
    answer : int
        Within 2 per cent.
    spread : float
        Standard deviation of the difference in one dialogue.
    difference : float
        The true one, in the same unit.

    Returns
    -------
    Verdict

    Examples
    --------
    >>> check_dialogues_needed(785, 0.5, 0.05).right
    True
    >>> check_dialogues_needed(28, 0.5, 0.05)
    Not yet. That is not squared yet: the standard error shrinks with the *square root* of the number of dialogues.
    """
    ratio = DETECTABLE * spread / difference
    right = ratio**2
    slips = {
        "That is not squared yet: the standard error shrinks with the *square root* of the number of dialogues.": ratio,
        "With 1.96 standard errors the difference is found only every second time; four times in five takes 2.80.": (
            (NORMAL * spread / difference) ** 2
        ),
        "That leaves out the 2.80: with one standard error the difference drowns in noise.": (
            (spread / difference) ** 2
        ),
        "You forgot to square the 2.80: the whole fraction 2.80·spread/difference is squared.": (
            DETECTABLE * (spread / difference) ** 2
        ),
        "Spread and difference must be in one unit: both in points, or both as fractions.": (ratio / 100)
        ** 2,
    }
    why = "A quarter of the difference needs sixteen times the dialogues: look at the size of your test set first."
    hint = "Set 2.80 · spread / √n equal to the difference, and solve for n."
    if answer is ... or not isinstance(answer, (int, float, np.number)) or isinstance(answer, bool):
        return judge_number(answer, right, {}, why, hint)
    near = [value for value in (right, *slips.values()) if abs(float(answer) - value) <= 0.02 * value + 0.5]
    # An answer near enough is taken for the number that it is near to; others are told the hint.
    said = min(near, key=lambda value: abs(float(answer) - value)) if near else -1.0
    return judge_number(said, right, slips, why, hint)

"""Exercises: each check accepts the solution of its lesson and explains wrong answers."""

from __future__ import annotations

import numpy as np
import pytest
from checks import exercises

from dialogeval.tables import Corpus, table

AREA, STARS = ("hotel", "area", "north"), ("hotel", "stars", "4")
EXTRA, PARKING = ("hotel", "internet", "yes"), ("hotel", "parking", "yes")
GOLD = [set(), {AREA}, {AREA, STARS}, {AREA, STARS, PARKING}]
PRED = [set(), {AREA}, {AREA, EXTRA}, {AREA, STARS, PARKING, EXTRA}]
OURS = "jga|proto:lin2021|case:keep|space:keep|gold:crosswoz_en/test@b014b81|n:4238|v:0.1.0"
THEIRS = "jga|proto:user/mine|case:lower|space:keep|gold:crosswoz_en/test@b014b81|n:4101|v:0.1.0"


def toy() -> Corpus:
    states = [
        ("d", 1, "taxi", "to", "x"),
        ("d", 1, "taxi", "at", "1"),
        ("d", 2, "taxi", "to", "y"),
        ("d", 2, "taxi", "at", "1"),
    ]
    states += [("d", 3, "taxi", "at", "1")]
    return Corpus(
        "toy",
        turns=table("turns", [("d", t, "hello", "hi", 0) for t in range(4)]),
        states=table("states", states),
    )


@pytest.mark.parametrize("answer", [0.5, 1 / 2, np.float64(0.5), 0.5004])
def test_joint_goal_accepts(answer):
    assert exercises.check_joint_goal(answer, PRED, GOLD).right


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (5 / 6, "share of gold triples"),
        (5 / 7, "share of predicted triples"),
        (10 / 13, "micro-averaged"),
        (0.625, "card's slot F1"),
        (0.75, "A slot too many"),
        (2, "Divide it"),
        (50, "per cent"),
        (0.1, "Compare the two sets"),
        ("half", "A number is wanted"),
        (True, "A number is wanted"),
        (None, "A number is wanted"),
        (float("nan"), "Compare the two sets"),
        (..., "three dots"),
    ],
)
def test_joint_goal_explains(answer, why):
    verdict = exercises.check_joint_goal(answer, PRED, GOLD)
    assert not verdict.right and why in verdict.text


@pytest.mark.parametrize("answer", [{"proto", "case", "n"}, ["n", "case", "proto"]])
def test_signatures_accept(answer):
    assert exercises.check_signatures(answer, OURS, THEIRS).right


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ({"proto", "case"}, "1 more field differs"),
        ({"n"}, "2 more fields differ"),
        (set(), "3 more fields differ"),
        ({"proto", "gold"}, "'gold' is the same"),
        ({"lower"}, "no field"),
        ("n", "Give a set"),
        ({1}, "Give a set"),
        (..., "three dots"),
    ],
)
def test_signatures_explain(answer, why):
    verdict = exercises.check_signatures(answer, OURS, THEIRS)
    assert not verdict.right and why in verdict.text


def test_signatures_know_a_field_that_one_side_lacks_and_the_score_itself():
    assert exercises.check_signatures({"score", "none"}, "jga|n:1", "slot_f1|none:drop|n:1").right


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (1, "divide it by the number of turns"),
        (0.75, "filled state; the question"),
        (0.2, "A row is a slot"),
        (0, "no row in `corpus.states`"),
        (-0.25, "one row for each filled slot"),
        (25, "per cent"),
        (0.4, "Count the turns"),
        ("a quarter", "A number is wanted"),
        (..., "three dots"),
    ],
)
def test_empty_turns(answer, why):
    verdict = exercises.check_empty_turns(answer, toy())
    assert not verdict.right and why in verdict.text
    assert exercises.check_empty_turns(0.25, toy()).right


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (("taxi", "at"), "filled most often"),
        (("taxi", "phone"), "no such slot. Its domains are taxi"),
        ("to", "a pair"),
        ("taxi-to", "a pair"),
        (..., "three dots"),
    ],
)
def test_most_values(answer, why):
    verdict = exercises.check_most_values(answer, toy())
    assert not verdict.right and why in verdict.text
    assert exercises.check_most_values(("taxi", "to"), toy()).right
    assert exercises.check_most_values(["taxi", "to"], toy()).right


def test_a_verdict_reads_as_a_sentence():
    assert repr(exercises.check_empty_turns(0.25, toy())).startswith("Right. ")
    assert repr(exercises.check_empty_turns(..., toy())).startswith("Not yet. ")

"""Exercises of lessons 2 and 4: each check accepts the printed solution and explains wrong answers."""

from __future__ import annotations

from math import exp
from pathlib import Path

import pytest
from checks import exercises_pitfalls, exercises_states
from lessons import example_trackers, slips

import dialogeval as de

FOLDER = Path(__file__).resolve().parent.parent / "notebooks"
SCORES, PITFALLS = "02_state_tracking_scores", "04_pitfalls_of_state_tracking"

NORTH, CHEAP, FOOD = ("hotel", "area", "north"), ("hotel", "price", "cheap"), ("restaurant", "food", "thai")
SAUNA = ("hotel", "sauna", "yes")
GOLD = [{NORTH}, {NORTH, CHEAP}, {NORTH, CHEAP, FOOD}]
PRED = [{NORTH}, {NORTH}, {NORTH, FOOD}]


@pytest.fixture(scope="module")
def corpus():
    return de.load_corpus("sample/multiwoz")


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (1.0, "That is precision"),
        (4 / 6, "That is recall"),
        ((1 + 2 / 3 + 4 / 5) / 3, "mean of one F1"),
        (1 / 3, "joint goal accuracy"),
        ((1 + 0.5 + 2 / 3) / 3, "card's slot F1"),
        (80, "per cent"),
        (0.1, "Count over all turns"),
        ("0.8", "A number is wanted"),
        (..., "three dots"),
    ],
)
def test_micro_f1(answer, why):
    verdict = exercises_states.check_micro_f1(answer, PRED, GOLD)
    assert not verdict.right and why in verdict.text
    assert exercises_states.check_micro_f1(0.8, PRED, GOLD).right


def test_micro_f1_knows_jaccard():
    gold, pred = [{NORTH}, {NORTH, CHEAP}], [{NORTH}, {NORTH, SAUNA}]
    verdict = exercises_states.check_micro_f1(2 / 4, pred, gold)
    assert not verdict.right  # also the joint goal accuracy of this pair
    verdict = exercises_states.check_micro_f1(
        4 / 6, PRED[:1] * 3 + [set(), set()], GOLD[:1] * 3 + [{CHEAP}, {FOOD}]
    )
    assert not verdict.right


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (1 / 3, "joint goal accuracy"),
        (2 / 3, "turn goal accuracy"),
        ((2 - exp(-0.5)) / 3, "λ = 0.5"),
        (2 - exp(-1), "divide it"),
        (0.2, "Go turn by turn"),
        (None, "A number is wanted"),
        (..., "three dots"),
    ],
)
def test_flexible(answer, why):
    verdict = exercises_states.check_flexible(answer, PRED, GOLD, 1.0)
    assert not verdict.right and why in verdict.text
    assert exercises_states.check_flexible((2 - exp(-1)) / 3, PRED, GOLD, 1.0).right


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ({"slot_f1"}, "2 more"),
        ({"slot_f1", "slot_precision"}, "slot_precision does notice: it changes by -"),
        ({"recall"}, "no key of these scores"),
        ("slot_f1", "Give a set"),
        (..., "three dots"),
    ],
)
def test_unmoved(answer, why):
    verdict = exercises_states.check_unmoved(answer, PRED, GOLD, SAUNA)
    assert not verdict.right and why in verdict.text
    right = {"slot_f1", "slot_recall", "average_goal_accuracy"}
    assert exercises_states.check_unmoved(right, PRED, GOLD, SAUNA).right
    assert exercises_states.check_unmoved(sorted(right), PRED, GOLD, SAUNA).right


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (GOLD, "joint goal accuracy of 3 turns"),
        ([GOLD[0] | {SAUNA}, GOLD[1] | {SAUNA}, GOLD[2]], "of 1 turn:"),
        ([set(), set(), set()], "The slot F1 is 0.000"),
        (GOLD[:2], "a list of 3 sets"),
        ([NORTH, NORTH, NORTH], "three strings"),
        (..., "three dots"),
    ],
)
def test_forgery(answer, why):
    verdict = exercises_states.check_forgery(answer, GOLD)
    assert not verdict.right and why in verdict.text
    assert exercises_states.check_forgery([g | {SAUNA} for g in GOLD], GOLD).right


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ((1 + 0.5 + 1) / 3, "the other average goal accuracy"),
        (0.5, "joint goal accuracy"),
        (3 / 4, "with an empty gold state"),
        (0.1, "every gold triple"),
        (..., "three dots"),
    ],
)
def test_all_gold(answer, why):
    gold, pred = [set(), {NORTH}, {NORTH, CHEAP}, GOLD[2]], [set(), {NORTH}, {NORTH}, GOLD[2] | {SAUNA}]
    verdict = exercises_pitfalls.check_all_gold(answer, pred, gold)
    assert not verdict.right and why in verdict.text
    assert exercises_pitfalls.check_all_gold(2 / 3, pred, gold).right


def test_missing_as_empty(corpus):
    partial = slips.without_dialogues(de.as_predictions(corpus), corpus.dialogues["dialogue_id"][:20])
    scored = de.score(corpus, partial, "trade", missing="skip", resamples=0)
    share = scored.coverage.turns_scored / len(corpus.turns)
    check = exercises_pitfalls.check_missing_as_empty
    verdicts = [check(answer, corpus, partial, "trade") for answer in (1.0, 0.3, share * 100, ...)]
    assert not any(verdict.right for verdict in verdicts)
    assert "turns that are there" in verdicts[0].text and "three dots" in verdicts[3].text
    lacking = corpus.turns.merge(
        corpus.states[["dialogue_id", "turn"]].drop_duplicates(), how="left", indicator=True
    )
    lacking = lacking[lacking["dialogue_id"].isin(corpus.dialogues["dialogue_id"][:20])]
    free = (lacking["_merge"] == "left_only").sum() / len(corpus.turns)
    assert check(share + free, corpus, partial, "trade").right


def test_missing_as_empty_explains_what_is_not_free(corpus):
    tracker = de.load_predictions("sample/predictions/multiwoz/tracker_careful.json.gz")
    partial = slips.without_last_turns(tracker)
    skip = de.score(corpus, partial, "trade", missing="skip", resamples=0)
    share = skip.coverage.turns_scored / len(corpus.turns)
    check = exercises_pitfalls.check_missing_as_empty
    assert "turns that were scored" in check(share, corpus, partial, "trade").text
    too_much = skip["joint_goal_accuracy"] * share + 1 - share
    assert "An empty state is right only where" in check(too_much, corpus, partial, "trade").text


def test_largest_step(corpus):
    tracker = de.load_predictions("sample/predictions/multiwoz/tracker_renamed.json.gz")
    steps = ["case:lower", "none:drop", "slots:multiwoz22"]
    check = exercises_pitfalls.check_largest_step
    assert check("slots:multiwoz22", corpus, tracker, steps).right
    for answer, why in (
        ("none:drop", "1 other by more"),
        ("case:lower", "2 others by more"),
        ("none", "Give one of"),
    ):
        verdict = check(answer, corpus, tracker, steps)
        assert not verdict.right and why in verdict.text
    assert "three dots" in check(..., corpus, tracker, steps).text


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ((), "Gold has 'centre' where it has ' CENTRE '"),
        (("case:lower", "space:strip", "dontcare:unify"), "Gold has '0"),
        (("case:lower", "space:strip", "time:hhmm"), "Gold has 'dontcare'"),
        (("case:lower", "space:strip", "time:hhmm", "dontcare:drop"), "gold slots. What is dropped"),
        (("case:upper",), "case"),
        ("case:lower", "Give a tuple"),
        (..., "three dots"),
    ],
)
def test_steps_found(answer, why, corpus):
    disguised = example_trackers.disguise(corpus)
    verdict = exercises_pitfalls.check_steps_found(answer, corpus, disguised)
    assert not verdict.right and why in verdict.text
    right = ["space:collapse", "dontcare:unify", "time:hhmm", "case:lower"]
    assert exercises_pitfalls.check_steps_found(right, corpus, disguised).right

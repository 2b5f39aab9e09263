"""Exercises: each check accepts right answers, and tells every typical slip its own hint."""

from __future__ import annotations

from math import exp

import numpy as np
import pandas as pd
import pytest
from checks import exercises as start
from checks import exercises_errors as errors
from checks import exercises_misalignment as misalignment
from checks import exercises_pitfalls as pitfalls
from checks import exercises_states as states
from checks import exercises_texts as texts
from checks import exercises_uncertainty as uncertainty
from lessons import example_trackers, slips

import dialogeval as de
from dialogeval.tables import table

NORTH, CHEAP, FOOD = ("hotel", "area", "north"), ("hotel", "price", "cheap"), ("restaurant", "food", "thai")
SAUNA, YES = ("hotel", "sauna", "yes"), ("hotel", "parking", "yes")
GOLD, PRED = [{NORTH}, {NORTH, CHEAP}, {NORTH, CHEAP, FOOD}], [{NORTH}, {NORTH}, {NORTH, FOOD}]
OURS = "jga|proto:lin2021|case:keep|space:keep|gold:crosswoz_en/test@b014b81|n:4238|v:0.1.0"
THEIRS = "jga|proto:user/mine|case:lower|space:keep|gold:crosswoz_en/test@b014b81|n:4101|v:0.1.0"
LINES = ["see you", "see you", "see you", "how about NAME"]
DIALOGUE = ["which AREA do you like ?", "NAME is a nice place .", "call PHONE ."]
GENERATED = [["how about NAME ?", "NAME is PRICE"], ["TRAINID leaves at TIME"]]
EXPECTED = [["NAME in the AREA ?", "call PHONE"], ["TRAINID leaves at TIME", "it is PRICE"]]
WAY = de.load_alignment("multiwoz__crosswoz_en")
MEAL, HALL = ("Restaurant", "cost", "50-100 yuan"), ("Taxi", "to", "town hall")
PRICE, HOUSE = ("restaurant", "pricerange", "moderate"), ("hotel", "type", "guesthouse")
RIDE, LEAVES = ("taxi", "destination", "town hall"), ("taxi", "departure", "airport")
PAIRS = {
    "type": ("hotel", "type", "Hotel", "type"),
    "name": ("restaurant", "name", "Restaurant", "name"),
    "from": ("taxi", "departure", "Taxi", "from"),
    "stars": ("hotel", "stars", "Hotel", "rating"),
    "cost": ("restaurant", "pricerange", "Restaurant", "cost"),
}
TRUE = dict(zip(PAIRS, ["false friend", "same", "same", "related", "related"], strict=True))
TURNS = [[], [], ["value"], ["value"], *[["name", "value"]] * 3, ["value", "wrong"], ["name"], ["wrong"]]
FIVE = pd.DataFrame({"right": [4, 0, 3, 6, 3], "turns": [4, 5, 6, 8, 7]}, index=list("abcde"))
FOUR, OTHER = (pd.DataFrame({"right": right, "turns": 5}) for right in ([4, 3, 5, 2], [2, 2, 2, 3]))
TESTS = {
    "A and B": 0.003,
    "A and C": 0.04,
    "A and D": 0.011,
    "B and C": 0.02,
    "B and D": 0.012,
    "C and D": 0.6,
}


def toy() -> de.Corpus:
    rows = [("d", 1, "taxi", "to", "x"), ("d", 2, "taxi", "to", "y")]
    rows += [("d", turn, "taxi", "at", "1") for turn in (1, 2, 3)]
    turns = table("turns", [("d", turn, "hello", "hi", 0) for turn in range(4)])
    return de.Corpus("toy", turns=turns, states=table("states", rows))


def tracked() -> de.Corpus:
    """Four turns: an area never predicted, and stars wrong in turns 1 and 2; see lesson 8."""
    turns = table("turns", [("d", t, "hello", "hello", 0) for t in range(4)])
    area = [("d", t, "hotel", "area", "north") for t in range(4)]
    gold = table("states", area + [("d", t, "hotel", "stars", "5") for t in (1, 2, 3)])
    pred = table("states", [("d", t, "hotel", "stars", "5" if t == 3 else "4") for t in (1, 2, 3)])
    tracker = de.Predictions("mine", turns=turns, states=pred)
    return de.score(de.Corpus("toy", turns=turns, states=gold), tracker, "lin2021", resamples=0)


#: By check: what it is given beside the answer, right answers, and slips.
TABLE = {
    start.check_joint_goal: (
        ([set(), {NORTH}, {NORTH, SAUNA}, {NORTH, CHEAP, YES, SAUNA}], [set(), {NORTH}, {NORTH, CHEAP}, {NORTH, CHEAP, YES}]),
        [0.5, np.float64(0.5), 0.5004], [5 / 6, 5 / 7, 10 / 13, 0.625, 0.75, 2, 50, 0.1, "half"],
    ),
    start.check_signatures: (
        (OURS, THEIRS), [{"proto", "case", "n"}, ["n", "case", "proto"]],
        [{"proto", "case"}, {"n"}, set(), {"proto", "gold"}, {"lower"}, "n"],
    ),
    start.check_empty_turns: ((toy(),), [0.25], [1, 0.75, 0.2, 0, -0.25, 25, 0.4, "a quarter"]),
    start.check_most_values: ((toy(),), [("taxi", "to"), ["taxi", "to"]], [("taxi", "at"), ("taxi", "phone"), "to"]),
    states.check_micro_f1: ((PRED, GOLD), [0.8], [1.0, 4 / 6, (1 + 2 / 3 + 4 / 5) / 3, 1 / 3, (1 + 0.5 + 2 / 3) / 3, 80, 0.1, "0.8"]),
    states.check_flexible: (
        (PRED, GOLD, 1.0), [(2 - exp(-1)) / 3], [1 / 3, 2 / 3, (2 - exp(-0.5)) / 3, 2 - exp(-1), 0.2, None],
    ),
    states.check_unmoved: (
        (PRED, GOLD, SAUNA), [{"slot_f1", "slot_recall", "average_goal_accuracy"}],
        [{"slot_f1"}, {"slot_f1", "slot_precision"}, {"recall"}, "slot_f1"],
    ),
    states.check_forgery: (
        (GOLD,), [[g | {SAUNA} for g in GOLD]],
        [GOLD, [GOLD[0] | {SAUNA}, GOLD[1] | {SAUNA}, GOLD[2]], [set()] * 3, GOLD[:2], [NORTH] * 3],
    ),
    pitfalls.check_all_gold: (
        ([set(), {NORTH}, {NORTH}, GOLD[2] | {SAUNA}], [set(), {NORTH}, {NORTH, CHEAP}, GOLD[2]]),
        [2 / 3], [(1 + 0.5 + 1) / 3, 0.5, 3 / 4, 0.1],
    ),
    texts.check_bleu: (
        ("how about NAME ? NAME is nice", "how about NAME ? it is in the AREA"), [exp(-2 / 7) * (5 / 7 * 3 / 6) ** 0.5],
        [(5 / 7 * 3 / 6) ** 0.5, exp(-2 / 7) * 5 / 7, exp(-2 / 7) * (5 / 7 + 3 / 6) / 2,
         exp(-2 / 7) * (6 / 7 * 3 / 6) ** 0.5, exp(-2 / 7) * 5 / 7 * 3 / 6, 0.9],
    ),
    texts.check_goal_f1: ((GENERATED, EXPECTED), [0.6], [3 / 6, 3 / 4, 60, 0.123]),
    texts.check_out_of_place: (
        (DIALOGUE,), [[DIALOGUE[2], DIALOGUE[0], DIALOGUE[1]]], [["hello"] * 3, DIALOGUE, ["NAME"]],
    ),
    texts.check_diverse: ((["a b"] * 9 + ["c d"],), [["a b", "c d"]], [["a b"] * 9, ["something new"], "see you"]),
    texts.check_batches: ((LINES, 2), [0.75], [3 / 5, 0.1]),
    misalignment.check_aligned_score: (
        ([{MEAL}, {MEAL}, {MEAL, HALL}, {MEAL, HALL}],
         [{("restaurant", "pricerange", "cheap")}, {PRICE, HOUSE}, {PRICE, RIDE}, {PRICE, RIDE, LEAVES}], WAY),
        [0.5], ["x", 50, 0, 5 / 6, 0.75, 2, 0.3],
    ),
    misalignment.check_relations: (
        (PAIRS, WAY), [TRUE],
        [3, dict.fromkeys(PAIRS, ...), {**TRUE, "type": "same"}, {**TRUE, "name": "false friend"},
         {**TRUE, "from": "false friend"}, {**TRUE, "cost": "same"}, {**TRUE, "from": "related"},
         {**TRUE, "cost": "narrower"}],
    ),
    misalignment.check_repaired_alone: ((TURNS, "value"), [0.4], [0.8, 0.7, 0.2, 0.6, 4, 0.9]),
    uncertainty.check_resample: (
        (FIVE, ["d", "b", "d", "a", "e"]), [19 / 32, 0.594],
        ["x", 59.375, 13 / 24, 16 / 30, (0.75 + 0 + 0.75 + 1 + 3 / 7) / 5, 19 / 30, 19, 0.9],
    ),
    uncertainty.check_exchanges: ((FOUR, OTHER), [6 / 16], [3 / 16, 2 / 16, 6, 10 / 16, 7 / 17, 0.25, 0.9]),
    uncertainty.check_holm: (
        (TESTS,), [{"A and B"}, ["A and B"]],
        [3, {"A"}, set(TESTS) - {"C and D"}, {"A and B", "B and D"}, {"A and B", "A and D", "B and D"}, set()],
    ),
    uncertainty.check_dialogues_needed: (
        (0.20, 0.01), [3136, (2.8 * 0.2 / 0.01) ** 2, 3140, np.int64(3140)], [56, 1537, 400, 1121, True, 3400],
    ),
    errors.check_made: ((tracked(),), [2 / 6], [4 / 6, 2]),
    errors.check_repair: ((tracked(), ["missed", "wrong value"]), [1.0], [0.5]),
    errors.check_source: ((tracked(),), [("hotel", "area"), ("hotel", "stars")], [("taxi", "day"), "area"]),
}  # fmt: skip


@pytest.mark.parametrize("check", TABLE, ids=lambda check: check.__name__)
def test_right_answers_are_accepted_and_each_slip_has_its_own_hint(check) -> None:
    given, right, wrong = TABLE[check]
    for answer in right:
        assert check(answer, *given).right and repr(check(answer, *given)).startswith("Right. ")
    hints = [check(answer, *given) for answer in (..., *wrong)]
    assert not any(hint.right for hint in hints)
    assert "three dots" in hints[0].text and repr(hints[0]).startswith("Not yet. ")
    assert len({hint.text for hint in hints}) == len(hints) and all(len(h.text) > 20 for h in hints)


HEAD = "domain,slot,target_domain,target_slot,relation,converter\n"
RIDES, SCORE = "taxi,destination,Taxi,to,same,\n", "hotel,score,Hotel,rating,same,\n"
CLASS, FRIEND = "hotel,class,Hotel,type,same,low=budget\n", "hotel,type,Hotel,type,false friend,\n"


def test_an_alignment_of_your_own() -> None:
    budget, rated = ("Hotel", "type", "budget"), ("Hotel", "rating", "4 points or above")
    low, high = ("hotel", "class", "low"), ("hotel", "score", "4 points or above")
    golds = [{budget}, {budget, HALL}, {budget, HALL, rated}]
    given = (golds, [{low, HOUSE}, {low, HOUSE, RIDE}, {low, HOUSE, RIDE, high}])
    check = misalignment.check_own_alignment
    assert check(HEAD + RIDES + SCORE + CLASS + FRIEND, *given).right
    wrong = [HEAD, HEAD + RIDES, HEAD + CLASS.replace("low=budget", ""), HEAD + RIDES + SCORE.replace("Hotel", "Hotel,x"),
             HEAD + RIDES + SCORE.replace("same", "sane") + CLASS, {}]  # fmt: skip
    hints = [check(answer, *given) for answer in wrong]
    assert not any(hint.right for hint in hints) and len({hint.text for hint in hints}) == len(hints)


def test_missing_dialogues_and_steps_on_the_sample() -> None:
    corpus = de.load_corpus("sample/multiwoz")
    tracker = de.load_predictions("sample/predictions/multiwoz/tracker_careful.json.gz")
    partial = slips.without_last_turns(tracker)
    skip = de.score(corpus, partial, "trade", missing="skip", resamples=0)
    empty = de.score(corpus, partial, "trade", missing="empty", resamples=0)["joint_goal_accuracy"]
    share = skip.coverage.turns_scored / len(corpus.turns)
    check = pitfalls.check_missing_as_empty
    assert check(empty, corpus, partial, "trade").right
    too_much = skip["joint_goal_accuracy"] * share + 1 - share
    hints = [check(answer, corpus, partial, "trade") for answer in (share, too_much, ...)]
    assert not any(hint.right for hint in hints) and len({hint.text for hint in hints}) == 3
    renamed = de.load_predictions("sample/predictions/multiwoz/tracker_renamed.json.gz")
    steps = ["case:lower", "none:drop", "slots:multiwoz22"]
    found = [
        pitfalls.check_largest_step(step, corpus, renamed, steps).right for step in (*steps, "none", ...)
    ]
    assert found == [False, False, True, False, False]
    disguised = example_trackers.disguise(corpus)
    right = ["space:collapse", "dontcare:unify", "time:hhmm", "case:lower"]
    assert pitfalls.check_steps_found(right, corpus, disguised).right
    for answer in (
        (),
        right[1:],
        right[:3],
        (*right[:1], "dontcare:drop", *right[2:]),
        ("case:upper",),
        "case:lower",
    ):
        assert not pitfalls.check_steps_found(answer, corpus, disguised).right

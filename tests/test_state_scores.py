"""State tracking: the card's recipes, the published values, and what must hold for any input."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pandas as pd
import pytest
import recipes
from hypothesis import given
from hypothesis import strategies as st

import dialogeval as de
from dialogeval.exceptions import UnknownNameError, UsageError
from dialogeval.metrics.changes import CHANGE_METRICS, count_changes
from dialogeval.metrics.states import (
    DSTC9_METRICS,
    FUZZY_METRICS,
    SLOT_METRICS,
    STATE_METRICS,
    count_fuzzy,
    pair_states,
    pair_states_from_lists,
    score_lists,
)

SYSTEMS = ("ubar", "augpt", "damd", "pptod")
triples = st.tuples(st.sampled_from("ab"), st.sampled_from(["area", "name", "día"]), st.sampled_from("xyz"))
turn = st.tuples(st.sets(triples, max_size=5), st.sets(triples, max_size=5))
turns = st.lists(turn, min_size=1, max_size=8)


def load_case(folder: Path, name: str) -> tuple[list[set], list[set]]:
    with gzip.open(folder / "states" / f"{name}.jsonl.gz", "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    pred, gold = ([{tuple(t) for t in row[side]} for row in rows] for side in ("pred", "gold"))
    return pred, gold


@pytest.mark.parametrize("system", SYSTEMS)
def test_published_scorers(real_cases: Path, system: str) -> None:
    expected = json.loads((real_cases / "states/expected.json").read_text())[system]
    scores = de.score(None, real_cases / f"states/{system}.jsonl.gz", "lin2021", resamples=0)
    names = {"slot_precision": "precision", "slot_recall": "recall", "slot_f1_micro": "f1"}
    wanted = {key: expected["micro"][name] for key, name in names.items()}
    wanted |= {"joint_goal_accuracy": expected["joint_goal_accuracy"], "slot_f1": expected["slot_f1_card"]}
    assert {k: scores[k] for k in wanted} == pytest.approx(wanted, abs=1e-9)
    pred, gold = load_case(real_cases, system)
    assert de.joint_goal_accuracy(pred, gold) == scores["joint_goal_accuracy"]
    assert de.slot_f1(pred, gold) == pytest.approx(scores["slot_f1"], abs=1e-12)
    assert de.slot_scores(pred, gold) == {k: scores[k] for k in names}
    assert scores.coverage.turns_scored == expected["turns"]
    assert scores.coverage.dialogues_scored == expected["dialogues"]


@given(turns)
def test_recipes_on_random_states(rows: list[tuple[set, set]]) -> None:
    pred, gold = [p for p, _ in rows], [g for _, g in rows]
    assert de.joint_goal_accuracy(pred, gold) == pytest.approx(recipes.joint_goal_accuracy(pred, gold))
    assert de.slot_f1(pred, gold) == pytest.approx(recipes.slot_f1(pred, gold))
    micro = tuple(de.slot_scores(pred, gold).values())
    assert micro == pytest.approx(recipes.micro(pred, gold))


@given(
    turns, st.sampled_from(["gold", "union"]), st.sampled_from(["name", "domain-slot"]), st.sampled_from("01")
)
def test_switches_of_slot_f1(rows: list[tuple[set, set]], slots: str, keyed: str, empty: str) -> None:
    pred, gold = [p for p, _ in rows], [g for _, g in rows]
    for choice in (empty, "skip"):
        value = de.slot_f1(pred, gold, slots=slots, keyed=keyed, empty=choice)
        assert value == pytest.approx(recipes.slot_f1_switched(pred, gold, slots, keyed, choice))


@given(turns)
def test_bounds_symmetry_and_gold_against_itself(rows: list[tuple[set, set]]) -> None:
    pred, gold = [p for p, _ in rows], [g for _, g in rows]
    for key, metric in STATE_METRICS.items():
        assert 0 <= score_lists(metric, pred, gold) <= 1, key
    assert de.joint_goal_accuracy(pred, gold) == de.joint_goal_accuracy(gold, pred)
    ours, mirrored = de.slot_scores(pred, gold), de.slot_scores(gold, pred)
    assert ours["slot_precision"] == mirrored["slot_recall"]
    assert ours["slot_f1_micro"] == mirrored["slot_f1_micro"]
    assert de.joint_goal_accuracy(gold, gold) == 1
    assert de.slot_f1(gold, gold, empty="1") == 1


@given(turns, st.randoms(use_true_random=False))
def test_order_does_not_matter_and_counts_add_up(rows: list[tuple[set, set]], random: object) -> None:
    ids = [f"d{i % 3}" for i in range(len(rows))]
    frames = {}
    for side, at in (("pred", 0), ("gold", 1)):
        data = [(i, n, *t) for n, (i, row) in enumerate(zip(ids, rows, strict=True)) for t in row[at]]
        frames[side] = pd.DataFrame(data, columns=["dialogue_id", "turn", "domain", "slot", "value"])
    index = pd.DataFrame({"dialogue_id": ids, "turn": range(len(rows))})
    shuffled = [
        f.sample(frac=1, random_state=random.randrange(2**31))
        for f in (index, frames["gold"], frames["pred"])
    ]
    half = len(rows) // 2
    for metric in STATE_METRICS.values():
        parts = [
            metric.counts(pair_states(t, frames["gold"], frames["pred"]))
            for t in (index[:half], index[half:])
        ]
        a = metric.counts(pair_states(index, frames["gold"], frames["pred"])).sum()
        b = metric.counts(pair_states(*shuffled)).sum()
        pd.testing.assert_series_equal(a, b)
        pd.testing.assert_series_equal(a, pd.concat(parts).sum())


def test_worked_by_hand() -> None:
    gold = [
        {("hotel", "area", "north")},
        {("hotel", "area", "north"), ("hotel", "stars", "4")},
        {("hotel", "area", "north"), ("hotel", "stars", "4"), ("train", "day", "monday")},
        set(),
    ]
    pred = [
        {("hotel", "area", "north")},
        {("hotel", "area", "north"), ("hotel", "stars", "5")},
        {("hotel", "area", "north"), ("hotel", "stars", "4"), ("taxi", "day", "monday")},
        {("hotel", "area", "north")},
    ]
    assert de.joint_goal_accuracy(pred, gold) == 1 / 4
    # Turn by turn: 1, one of two slots, all three names although the domain is wrong, empty gold.
    assert de.slot_f1(pred, gold) == (1 + 1 / 2 + 1 + 0) / 4
    assert de.slot_f1(pred, gold, keyed="domain-slot") == pytest.approx((1 + 1 / 2 + 2 / 3 + 0) / 4)
    assert de.slot_f1(pred, gold, empty="skip") == pytest.approx((1 + 1 / 2 + 1) / 3)
    assert de.slot_f1(pred, gold, slots="union") == (1 + 1 / 2 + 1 + 0) / 4
    assert de.slot_scores(pred, gold) == {
        "slot_precision": 4 / 7,
        "slot_recall": 4 / 6,
        "slot_f1_micro": pytest.approx(8 / 13),
    }


AREA, STARS = ("hotel", "area", "north"), ("hotel", "stars", "4")
FAMILIES = (STATE_METRICS, SLOT_METRICS, CHANGE_METRICS, FUZZY_METRICS, DSTC9_METRICS)


def test_values_of_many_resamples_are_the_single_values() -> None:
    # Resamples without a right change, without a gold triple, without anything, and an ordinary one.
    cases = [([{AREA}], [{STARS}]), ([{AREA}], [set()]), ([set()], [set()]), ([{AREA, STARS}], [{AREA}])]
    pairs = [pair_states_from_lists(*case, n_slots=4) for case in cases]
    for metric in (m for family in FAMILIES for m in family.values()):
        rows = pd.DataFrame([metric.counts(pair).sum() for pair in pairs]).astype(float)
        single = [float(metric.value(row)) for row in rows.to_dict("records")]
        assert metric.value({c: rows[c].to_numpy() for c in rows}).tolist() == pytest.approx(single), metric


def test_a_slot_with_several_values_counts_once_where_slots_are_counted() -> None:
    south, west = ("hotel", "area", "south"), ("hotel", "area", "west")
    gold = [{AREA, south}, {AREA, south}, {AREA}]
    pred = [{AREA, south}, {west, ("hotel", "area", "east")}, {south, AREA, west}]
    pair = pair_states_from_lists(pred, gold, n_slots=9)
    fuzzy = count_fuzzy(pair)[["fuzzy_tp", "fuzzy_fp", "fuzzy_fn", "fuzzy_exact"]].to_numpy().tolist()
    assert fuzzy == [[1, 0, 0, 1], [0, 1, 1, 0], [1, 0, 0, 1]]  # any matching value will do
    # TRADE counts triples: two missed, and what is wrong stands in a missed slot; then two wrong ones.
    assert score_lists(SLOT_METRICS["slot_accuracy"], pred, gold, n_slots=9) == pytest.approx(
        (9 + 7 + 7) / 27
    )
    # (1 − 0 − 2) / 1 in the second and third turn.
    assert score_lists(SLOT_METRICS["relative_slot_accuracy"], pred, gold) == pytest.approx((1 - 1 - 1) / 3)
    # One slot at most is wrong.
    assert score_lists(DSTC9_METRICS["slot_accuracy"], pred, gold, n_slots=9) == pytest.approx(25 / 27)
    assert score_lists(SLOT_METRICS["average_goal_accuracy"], pred, gold) == pytest.approx(2 / 3)
    # Of several values the last one in the alphabet is the slot's: south = south, west ≠ south, west ≠ north.
    assert count_changes(pair).to_numpy().tolist() == [[1, 0, 0, 0], [0, 1, 0, 0], [0, 1, 0, 0]]


def test_no_turns_and_empty_states() -> None:
    assert de.joint_goal_accuracy([], []) == 0
    assert de.joint_goal_accuracy([set()], [set()]) == 1
    assert de.slot_f1([set()], [set()]) == 0
    assert de.slot_scores([set()], [set()])["slot_f1_micro"] == 0


@pytest.mark.parametrize(
    ("predictions", "golds", "place"),
    [
        *[([set()], [], "1 predictions, 0 golds"), (["hotel"], [set()], "prediction 0")],
        *[([{("hotel", "area")}], [set()], "prediction 0"), ([None], [set()], "prediction 0")],
        *[
            ([set(), {("hotel", "stars", 4)}], [set()] * 2, "prediction 1"),
            ([set()], [{"hotel": {}}], "gold 0"),
        ],
    ],
)
def test_lists_of_the_wrong_kind(predictions: list, golds: list, place: str) -> None:
    with pytest.raises(UsageError, match=place):
        de.joint_goal_accuracy(predictions, golds)


def test_unknown_switch() -> None:
    with pytest.raises(UnknownNameError):
        de.slot_f1([set()], [set()], empty="ski")

"""The family of state scores: published values, slow reference implementations, hand-worked turns."""

from __future__ import annotations

import gzip
import json
from itertools import groupby, pairwise
from math import exp
from pathlib import Path
from random import Random

import numpy as np
import pandas as pd
import pytest
import recipes_change as slow
from hypothesis import given, settings
from hypothesis import strategies as st

import dialogeval as de
from dialogeval.metrics import Metric
from dialogeval.metrics.changes import LAMBDAS
from dialogeval.metrics.states import (
    CHANGE_METRICS,
    FUZZY_METRICS,
    SLOT_METRICS,
    STATE_METRICS,
    StatePair,
    count_average_goal,
    count_changes,
    pair_states,
    pair_states_from_lists,
)
from dialogeval.protocols import PROTOCOLS, Protocol

SYSTEMS = ("ubar", "augpt", "damd", "pptod")
FAMILY = {**STATE_METRICS, **SLOT_METRICS, **CHANGE_METRICS}
ALL = [*FAMILY.values(), *FUZZY_METRICS.values()]
COUNTS = list(dict.fromkeys(metric.counts for metric in ALL))  # several metrics share one table of counts
IDS = [f"{m.key}{'-fuzzy' if m.key in FUZZY_METRICS and m in FUZZY_METRICS.values() else ''}" for m in ALL]

slots = st.tuples(st.sampled_from("ab"), st.sampled_from(["area", "name", "día"]))
values = st.sampled_from(["x", "y", "north side inn", "the north side inn"])
state = st.dictionaries(slots, values, max_size=5).map(lambda d: {(*slot, v) for slot, v in d.items()})
dialogues = st.lists(st.lists(st.tuples(state, state), min_size=1, max_size=7), min_size=1, max_size=5)
few = settings(max_examples=12)


def pair_of(rows: slow.Dialogues, n_slots: int = 10) -> StatePair:
    ids = [f"d{i}" for i, dialogue in enumerate(rows) for _ in dialogue]
    turns = [turn for dialogue in rows for turn in dialogue]
    return pair_states_from_lists([p for _, p in turns], [g for g, _ in turns], ids, n_slots)


def value(metric: Metric, pair: StatePair) -> float:
    return float(metric.value(dict(metric.counts(pair).sum())))


def reference(rows: slow.Dialogues, n_slots: int) -> dict[str, float]:
    """The family's newer half by the slow implementations."""
    return {
        "slot_accuracy": slow.trade_slot_accuracy(rows, n_slots),
        "average_goal_accuracy": slow.average_goal_accuracy(rows)[0],
        "relative_slot_accuracy": slow.relative_slot_accuracy(rows),
        "turn_goal_accuracy": slow.turn_goal_accuracy(rows),
        "granular_change_accuracy": slow.granular_change_accuracy(rows),
        **{
            "flexible_goal_accuracy" + ("" if w == 0.5 else f"@{w:g}"): slow.flexible_goal_accuracy(rows, w)
            for w in LAMBDAS
        },
    }


def load_case(folder: Path, name: str) -> slow.Dialogues:
    with gzip.open(folder / "states" / f"{name}.jsonl.gz", "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    rows.sort(key=lambda r: (r["dialogue_id"], r["turn"]))
    by_dialogue = groupby(rows, key=lambda r: r["dialogue_id"])
    return [
        [({tuple(t) for t in r["gold"]}, {tuple(t) for t in r["pred"]}) for r in d] for _, d in by_dialogue
    ]


@pytest.mark.parametrize("system", SYSTEMS)
def test_every_published_value(real_cases: Path, system: str) -> None:
    expected = json.loads((real_cases / "states/expected.json").read_text())[system]
    scores = de.score(
        None, de.load_predictions(real_cases / f"states/{system}.jsonl.gz"), "trade", resamples=0
    )
    pair = scores.pair
    flexible = expected["flexible_goal_accuracy"]
    wanted = {
        "joint_goal_accuracy": expected["joint_goal_accuracy"],
        "slot_f1": expected["slot_f1_card"],
        "slot_precision": expected["micro"]["precision"],
        "slot_recall": expected["micro"]["recall"],
        "slot_f1_micro": expected["micro"]["f1"],
        "slot_accuracy": expected["slot_accuracy_30"],
        "average_goal_accuracy": expected["average_goal_accuracy"],
        "relative_slot_accuracy": expected["relative_slot_accuracy"],
        "flexible_goal_accuracy@0.25": flexible["0.25"],
        "flexible_goal_accuracy": flexible["0.5"],
        "flexible_goal_accuracy@0.75": flexible["0.75"],
        "flexible_goal_accuracy@1": flexible["1.0"],
        "granular_change_accuracy": expected["granular_change_accuracy"],
    }
    assert {k: scores[k] for k in wanted} == pytest.approx(wanted, abs=1e-9)
    # Turn goal accuracy has no published value here; the slow implementation vouches for it.
    assert set(scores.table.index) - set(wanted) == {"turn_goal_accuracy"}
    assert set(pair.n_slots) == {30}
    assert scores.coverage.to_dict()["turns_scored"] == expected["turns"]
    assert scores.coverage.to_dict()["dialogues_scored"] == expected["dialogues"]
    changed = scores.counts[count_changes].sum()
    assert {k: changed[f"gca_{k}"] for k in expected["gca_counts"]} == expected["gca_counts"]
    assert scores.counts[count_average_goal]["aga_turns"].sum() == expected["average_goal_accuracy_turns"]
    triples = scores.counts[STATE_METRICS["slot_precision"].counts].sum()
    assert {k: triples[k] for k in ("tp", "fp", "fn")} == {
        k: expected["micro"][k] for k in ("tp", "fp", "fn")
    }
    right = pair.per_turn(pair.gold, pair.gold_in_pred)
    union = pair.per_turn(pair.gold) + pair.per_turn(pair.pred) - right
    jaccard = (right[union > 0] / union[union > 0]).mean()
    assert jaccard == pytest.approx(expected["mean_jaccard_nonempty"], abs=1e-9)


@pytest.mark.parametrize("system", SYSTEMS)
def test_published_fuzzy_block(real_cases: Path, system: str) -> None:
    # Values as they are, dontcare kept, and the optimal partial ratio: near the scorer, which is tested elsewhere.
    block = json.loads((real_cases / "states/expected.json").read_text())[system]["fuzzy95_mwzeval"]
    as_they_are = Protocol("as-they-are", tuple(FUZZY_METRICS.values()))
    predictions = de.load_predictions(real_cases / f"states/{system}.jsonl.gz")
    scores = de.score(None, predictions, as_they_are, resamples=0)
    names = {"joint_accuracy": "joint_goal_accuracy", "slot_f1": "slot_f1_micro"}
    assert {k: scores[names.get(k, k)] for k in block} == pytest.approx(block, abs=5e-3)


@pytest.mark.parametrize("system", SYSTEMS)
def test_slow_implementations_on_real_predictions(real_cases: Path, system: str) -> None:
    rows = load_case(real_cases, system)
    expected = json.loads((real_cases / "states/expected.json").read_text())[system]
    assert slow.changes(rows) == expected["gca_counts"]
    assert slow.jaccard_nonempty(rows) == pytest.approx(expected["mean_jaccard_nonempty"], abs=1e-9)
    pair, wanted = pair_of(rows, 30), reference(rows, 30)
    assert {k: value(FAMILY[k], pair) for k in wanted} == pytest.approx(wanted, abs=1e-12)
    assert {k: value(m, pair) for k, m in FUZZY_METRICS.items()} == pytest.approx(slow.fuzzy(rows), abs=1e-12)


@given(dialogues)
def test_slow_implementations_on_random_dialogues(rows: slow.Dialogues) -> None:
    pair = pair_of(rows)
    wanted = reference(rows, 10)
    assert {k: value(FAMILY[k], pair) for k in wanted} == pytest.approx(wanted, abs=1e-12)
    assert {k: value(m, pair) for k, m in FUZZY_METRICS.items()} == pytest.approx(slow.fuzzy(rows), abs=1e-12)
    counts = count_changes(pair).sum()
    assert {k.removeprefix("gca_"): n for k, n in counts.items()} == slow.changes(rows)
    assert count_average_goal(pair)["aga_turns"].sum() == slow.average_goal_accuracy(rows)[1]


@few
@given(dialogues, st.randoms(use_true_random=False))
def test_order_never_matters(rows: slow.Dialogues, random: Random) -> None:
    frames: dict[str, list] = {"turns": [], "gold": [], "pred": []}
    for i, dialogue in enumerate(rows):
        for t, turn in enumerate(dialogue):
            frames["turns"].append((f"d{i}", t))
            for side, triples in zip(("gold", "pred"), turn, strict=True):
                frames[side] += [(f"d{i}", t, *triple) for triple in triples]
    columns = ["dialogue_id", "turn", "domain", "slot", "value"]
    tables = [pd.DataFrame(f, columns=columns[: 2 if k == "turns" else 5]) for k, f in frames.items()]
    shuffled = [f.sample(frac=1, random_state=random.randrange(2**31)) for f in tables]
    given, other = pair_states(*tables, 10), pair_states(*shuffled, 10)
    for counts in COUNTS:
        pd.testing.assert_frame_equal(counts(given), counts(other))


@few
@given(
    st.lists(
        st.tuples(st.sets(st.sampled_from("xyz")), st.sets(st.sampled_from("xyz"))), min_size=1, max_size=5
    )
)
def test_order_never_matters_where_a_slot_has_several_values(rows: list[tuple[set, set]]) -> None:
    frames: dict[str, list] = {"gold": [], "pred": []}
    for t, turn in enumerate(rows):
        for side, several in zip(frames, turn, strict=True):
            frames[side] += [("d", t, "hotel", "area", v) for v in sorted(several)]
    columns = ["dialogue_id", "turn", "domain", "slot", "value"]
    turns = pd.DataFrame({"dialogue_id": "d", "turn": range(len(rows))})
    tables = [pd.DataFrame(f, columns=columns).astype({"turn": "int64"}) for f in frames.values()]
    first, last = pair_states(turns, *tables, 10), pair_states(turns, *[f[::-1] for f in tables], 10)
    for counts in COUNTS:
        pd.testing.assert_frame_equal(counts(first), counts(last))


@few
@given(dialogues)
def test_counts_of_dialogues_add_up(rows: slow.Dialogues) -> None:
    whole_pair, pairs = pair_of(rows), [pair_of([dialogue]) for dialogue in rows]
    for counts in COUNTS:
        whole = counts(whole_pair).sum()
        parts = sum(counts(pair).sum() for pair in pairs)
        pd.testing.assert_series_equal(whole, parts, check_dtype=False)


@few
@given(dialogues)
def test_bounds_and_gold_against_itself(rows: slow.Dialogues) -> None:
    pair, same = pair_of(rows), pair_of([[(g, g) for g, _ in dialogue] for dialogue in rows])
    for metric in ALL:
        assert 0 <= value(metric, pair) <= 1 + 1e-12, metric.key
    filled = [bool(g) for dialogue in rows for g, _ in dialogue]
    share = sum(filled) / len(filled)
    some = float(any(filled))
    # Two scores give nothing for a turn whose gold is empty, as published; scores of triples need one.
    other = {"slot_f1": share, "relative_slot_accuracy": share, "average_goal_accuracy": some}
    other |= {f"slot_{k}": some for k in ("precision", "recall", "f1_micro")}
    for metric in ALL:
        if metric.key != "granular_change_accuracy":
            assert value(metric, same) == pytest.approx(other.get(metric.key, 1.0)), metric.key


@given(st.lists(st.lists(state, min_size=1, max_size=6), min_size=1, max_size=4))
def test_granular_change_accuracy_of_gold_is_one_unless_a_slot_is_emptied(rows: list[list[set]]) -> None:
    lost = any({t[:2] for t in a} - {t[:2] for t in b} for d in rows for a, b in pairwise(d))
    counts = count_changes(pair_of([[(g, g) for g in dialogue] for dialogue in rows])).sum()
    # The published procedure counts a slot that both sides empty as correct, and as missed once more.
    assert (counts["gca_missed"] > 0) == lost
    assert counts["gca_wrong"] == counts["gca_overpredicted"] == 0


@pytest.mark.parametrize(("corpus", "wanted"), [("multiwoz21", 0.994), ("crosswoz_en", 0.935)])
def test_granular_change_accuracy_of_real_gold_is_below_one(
    real_data: Path, corpus: str, wanted: float
) -> None:
    gold = de.load_corpus(corpus, home=real_data)
    assert de.score(gold, gold, "trade", resamples=0)["granular_change_accuracy"] == pytest.approx(
        wanted, abs=5e-4
    )


HOTEL = {("hotel", "area", "north")}
STARS = {("hotel", "stars", "4")}
TRAIN = {("train", "day", "monday")}


def test_by_hand_slots() -> None:
    rows = [
        [
            (HOTEL, {("hotel", "area", "south")}),  # one missed; the wrong value stands in a missed slot
            (HOTEL | STARS, HOTEL | TRAIN),  # one missed, one wrong elsewhere
            (set(), HOTEL),  # one wrong
            (set(), set()),
        ]
    ]
    pair = pair_of(rows, 10)
    assert value(FAMILY["slot_accuracy"], pair) == pytest.approx((0.9 + 0.8 + 0.9 + 1) / 4)
    assert value(FAMILY["average_goal_accuracy"], pair) == pytest.approx((0 + 1 / 2) / 2)
    # T − M − W over T: (1 − 0 − 1)/1, (3 − 1 − 1)/3, (1 − 0 − 1)/1, and 0 where both are empty.
    assert value(FAMILY["relative_slot_accuracy"], pair) == pytest.approx((0 + 1 / 3 + 0 + 0) / 4)


def test_by_hand_flexible_and_turn_goal_accuracy() -> None:
    wrong = {("hotel", "area", "south")}
    rows = [
        [
            (HOTEL, wrong),  # first turn, errs: 0
            (HOTEL | STARS, wrong | STARS),  # its own change is right: 1 − exp(−λ)
            (HOTEL | STARS | TRAIN, wrong | STARS),  # misses a change: 0
            (HOTEL | STARS | TRAIN, wrong | STARS),  # nothing changes: 1 − exp(−λ)
            (HOTEL | STARS | TRAIN, wrong | STARS),  # nothing changes: 1 − exp(−2λ)
            (HOTEL | STARS | TRAIN, HOTEL | STARS | TRAIN),  # exact: 1
            (HOTEL | STARS, HOTEL | STARS | TRAIN),  # wrong after an exact turn: 0
        ],
        [(HOTEL, HOTEL)],  # another dialogue starts anew
        [(HOTEL, set())],
    ]
    pair = pair_of(rows)
    for weight in LAMBDAS:
        key = "flexible_goal_accuracy" + ("" if weight == 0.5 else f"@{weight:g}")
        total = 2 * (1 - exp(-weight)) + (1 - exp(-2 * weight)) + 2
        assert value(FAMILY[key], pair) == pytest.approx(total / 9, abs=1e-12)
    # A slot that gold alone empties is new on neither side, and yet the turn, the first in error, is wrong.
    assert value(FAMILY["turn_goal_accuracy"], pair) == pytest.approx((0 + 1 + 0 + 1 + 1 + 1 + 0 + 1 + 0) / 9)


@pytest.mark.parametrize(
    ("turns", "correct", "wrong", "missed", "over"),
    [
        pytest.param([(HOTEL, HOTEL)], 1, 0, 0, 0, id="equal"),
        pytest.param([(HOTEL, set())], 0, 0, 1, 0, id="missed"),
        pytest.param([(set(), HOTEL)], 0, 0, 0, 1, id="invented"),
        pytest.param([(HOTEL, {("hotel", "area", "south")})], 0, 1, 0, 0, id="wrong once, not twice"),
        pytest.param([(HOTEL, HOTEL), (HOTEL, HOTEL)], 1, 0, 0, 0, id="no change counts nothing"),
        pytest.param([(HOTEL, set()), (HOTEL, HOTEL)], 1, 0, 1, 0, id="repaired a turn later"),
        pytest.param([(HOTEL, HOTEL), (set(), HOTEL)], 1, 0, 0, 1, id="gold empties, prediction keeps"),
        pytest.param([(HOTEL, HOTEL), (HOTEL, set())], 1, 0, 1, 0, id="prediction drops"),
        pytest.param(
            [(HOTEL, HOTEL), (set(), set())], 2, 0, 1, 0, id="both empty: correct, and missed again"
        ),
        pytest.param(
            [(HOTEL, set()), (set(), set())], 1, 0, 1, 0, id="gold empties what was never predicted"
        ),
        pytest.param([(set(), HOTEL), (set(), set())], 1, 0, 0, 1, id="prediction drops what gold never had"),
        pytest.param(
            [(HOTEL, HOTEL), (HOTEL, {("hotel", "area", "south")})], 1, 1, 0, 0, id="changed for the worse"
        ),
    ],
)
def test_by_hand_changes(turns: list, correct: int, wrong: int, missed: int, over: int) -> None:
    counts = count_changes(pair_of([turns])).sum().to_dict()
    assert counts == {
        "gca_correct": correct,
        "gca_wrong": wrong,
        "gca_missed": missed,
        "gca_overpredicted": over,
    }
    assert slow.changes([turns]) == {k.removeprefix("gca_"): n for k, n in counts.items()}


def test_a_written_none_is_an_emptied_slot_for_changes() -> None:
    written = {("hotel", "area", "none")}
    for rows in ([(HOTEL, HOTEL), (written, set())], [(HOTEL, HOTEL), (set(), written)], [(written, set())]):
        counts = count_changes(pair_of([rows])).sum()
        assert {k.removeprefix("gca_"): n for k, n in counts.items()} == slow.changes([rows])


def test_granular_change_accuracy_by_hand() -> None:
    rows = [[(HOTEL | STARS | TRAIN, HOTEL | {("hotel", "stars", "5")} | {("taxi", "day", "monday")})]]
    # C = 1, W = 1, M = 1 (train day), O = 1 (taxi day): p = r = 3.
    parts, weights = (1 / 3, 1 / 3, 2 / 3, 2 / 3), (10, 10, 1, 1)
    wanted = sum(weights) / sum(w / x for w, x in zip(weights, parts, strict=True))
    assert value(FAMILY["granular_change_accuracy"], pair_of(rows)) == pytest.approx(wanted)
    assert value(FAMILY["granular_change_accuracy"], pair_of([[(HOTEL, set())]])) == 0


def test_by_hand_fuzzy() -> None:
    long, short = {("hotel", "name", "acorn guest house")}, {("hotel", "name", "acorn guest")}
    rows = [
        [
            (long, short),  # a part of the gold name matches
            (long | HOTEL, short),  # a slot is lacking: not joint
            (long, {("hotel", "name", "lensfield hotel")}),  # wrong: one FP and one FN
            (long, {("taxi", "name", "acorn guest house")}),  # right value in the wrong slot
            (set(), set()),
        ]
    ]
    assert slow.fuzzy(rows)["slot_precision"] == 2 / 4
    pair = pair_of(rows)
    wanted = {
        "joint_goal_accuracy": 2 / 5,
        "slot_precision": 2 / 4,
        "slot_recall": 2 / 5,
        "slot_f1_micro": 4 / 9,
    }
    assert {k: value(m, pair) for k, m in FUZZY_METRICS.items()} == pytest.approx(wanted)


@pytest.mark.parametrize("metric", ALL, ids=IDS)
def test_no_turns_and_empty_states(metric: Metric) -> None:
    assert value(metric, pair_of([])) == 0
    assert 0 <= value(metric, pair_of([[(set(), set())]])) <= 1
    assert metric.counts(pair_of([])).shape[0] == 0
    arrays = {k: np.array([v, v]) for k, v in metric.counts(pair_of([[(HOTEL, STARS)]])).sum().items()}
    assert np.shape(metric.value(arrays)) == (2,)


def test_the_protocol_trade_reports_the_whole_family() -> None:
    assert tuple(PROTOCOLS["trade"].metrics) == tuple(FAMILY)

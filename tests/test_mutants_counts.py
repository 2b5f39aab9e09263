"""Counts and resampling at their edges: textbook formulas, and cases small enough to work by hand."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from dialogeval.exceptions import UsageError
from dialogeval.metrics import Metric, ratio
from dialogeval.metrics.states import (
    CHANGE_METRICS,
    DSTC9_METRICS,
    FUZZY_METRICS,
    SLOT_METRICS,
    STATE_METRICS,
    count_average_goal,
    count_changes,
    count_compared,
    count_fuzzy,
    count_relative_slots,
    count_slot_errors,
    pair_states,
    pair_states_from_lists,
    score_lists,
    slot_f1,
)
from dialogeval.metrics.text import delete_one_sums
from dialogeval.stats import all_dialogue_sums, bootstrap, draw_counts, jackknife, percentile_interval

MEAN = Metric("mean", "mean", lambda p: p, lambda s: ratio(s["x"], s["n"]))
X = pd.DataFrame({"x": [0.0, 1.0, 4.0, 7.0], "n": 1.0}, index=list("abcd"))


# Resampling ---------------------------------------------------------------------------------------


def test_jackknife_of_a_mean_is_its_textbook_interval() -> None:
    # For a mean, the jackknife's standard error is s / √n.
    for rows in (X, X[:2]):
        error = 1.959964 * rows["x"].std() / np.sqrt(len(rows))
        mean = rows["x"].mean()
        assert jackknife(rows, MEAN) == pytest.approx((mean - error, mean + error), rel=1e-12)
    assert np.isnan(jackknife(X[:1], MEAN)).all()
    assert np.isnan(jackknife(X[:0], MEAN)).all()


def test_each_table_of_a_bootstrap_gets_its_own_columns() -> None:
    others = pd.DataFrame({"y": [3.0, 1.0, 2.0, 0.0]}, index=X.index)
    tables = {
        "a": (X, {"mean": MEAN.value, "x": lambda s: s["x"], "always": lambda s: 7.0}),
        "b": (others, {"y": lambda s: s["y"]}),
        "c": (X[["n"]], {"n": lambda s: s["n"]}),
    }
    drawn = bootstrap(tables, 6, seed=2)
    draws = np.random.default_rng(2).integers(0, 4, size=(6, 4))
    x, y = X["x"].to_numpy()[draws].sum(axis=1), others["y"].to_numpy()[draws].sum(axis=1)
    expected = {"mean": x / 4, "x": x, "always": [7.0] * 6, "y": y, "n": [4.0] * 6}
    assert {k: v.tolist() for k, v in drawn.items()} == {k: pytest.approx(v) for k, v in expected.items()}


def test_nothing_to_draw_from() -> None:
    assert list(draw_counts(0, 5, seed=1)) == []
    assert list(draw_counts(5, 0, seed=1)) == []
    assert bootstrap({}, 5, seed=1) == {}
    for rows, resamples in ((X[:0], 5), (X, 0)):
        assert bootstrap({"a": (rows, {"mean": MEAN.value})}, resamples, seed=1)["mean"].shape == (0,)


def test_blocks_are_as_large_as_memory_allows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dialogeval.stats.BLOCK", 10)
    assert [len(block) for block in draw_counts(5, 7, seed=1)] == [2, 2, 2, 1]
    assert [len(block) for block in draw_counts(20, 2, seed=1)] == [1, 1]  # one resample at the least
    many = bootstrap({"a": (X, {"x": lambda s: s["x"]})}, 7, seed=3)["x"]
    monkeypatch.undo()
    np.testing.assert_array_equal(many, bootstrap({"a": (X, {"x": lambda s: s["x"]})}, 7, seed=3)["x"])


def test_sums_are_sorted_whatever_index_a_table_has() -> None:
    turns = pd.MultiIndex.from_tuples([("b", 0), ("a", 0), ("b", 1)], names=["dialogue_id", "turn"])
    tables = {
        "one": pd.DataFrame({"n": [1, 2, 4]}, index=turns),
        "two": pd.DataFrame({"m": [1.5, 2, 4], "k": [0, 0, 1]}, index=turns),
        "three": pd.DataFrame({"n": [5, 6]}, index=pd.Index(["c", "b"], name="dialogue_id")),
    }
    sums = all_dialogue_sums(tables)
    assert {k: t.to_dict("index") for k, t in sums.items()} == {
        "one": {"a": {"n": 2}, "b": {"n": 5}},
        "two": {"a": {"m": 2, "k": 0}, "b": {"m": 5.5, "k": 1}},
        "three": {"b": {"n": 6}, "c": {"n": 5}},
    }
    assert all(t.index.name == "dialogue_id" for t in sums.values())


def test_percentile_interval_by_hand() -> None:
    assert percentile_interval(np.arange(11.0), level=0.8) == pytest.approx((1, 9))
    assert percentile_interval(np.arange(201.0)) == pytest.approx((5, 195))


def test_a_ratio_of_arrays_and_its_empty_value() -> None:
    found = ratio(np.array([1, 2, 0]), np.array([4, 0, 0]), empty=1.0)
    assert found.tolist() == [0.25, 1.0, 1.0]
    assert ratio(3, np.array([2, 0])).tolist() == [1.5, 0.0]


# Counts -------------------------------------------------------------------------------------------

AREA, STARS = ("hotel", "area", "north"), ("hotel", "stars", "4")
STATE_VALUES = [*STATE_METRICS.values(), *SLOT_METRICS.values(), *CHANGE_METRICS.values()]
STATE_VALUES += [*FUZZY_METRICS.values(), *DSTC9_METRICS.values()]


def test_values_of_many_resamples_are_the_single_values() -> None:
    # Resamples without a right change, without a gold triple, without anything, and an ordinary one.
    turns = [([{AREA}], [{STARS}]), ([{AREA}], [set()]), ([set()], [set()]), ([{AREA, STARS}], [{AREA}])]
    pairs = [pair_states_from_lists(*turn, n_slots=4) for turn in turns]
    tables = {f: pd.DataFrame([f(p).sum() for p in pairs]) for f in {m.counts for m in STATE_VALUES}}
    for metric in STATE_VALUES:
        rows = tables[metric.counts].astype(float)
        together = {column: rows[column].to_numpy() for column in rows}
        single = [float(metric.value(row)) for row in rows.to_dict("records")]
        assert metric.value(together).tolist() == pytest.approx(single, abs=1e-12), metric


def frame(*rows: tuple) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=["dialogue_id", "turn", "domain", "slot", "value"])


def test_turns_in_any_order_and_rows_of_other_turns() -> None:
    turns = pd.DataFrame({"dialogue_id": ["e", "d", "d"], "turn": [0, 2, 0]})
    gold = frame(("d", 2, *AREA), ("d", 0, *STARS), ("d", 1, *AREA), ("c", 0, *AREA), ("e", 1, *AREA))
    pred = frame(("f", 0, *STARS), ("d", 9, *STARS), ("d", 2, *AREA), ("d", 2, *AREA))
    pair = pair_states(turns, gold, pred, n_slots=np.array([7, 5, 3]))
    assert pair.index.tolist() == [("d", 0), ("d", 2), ("e", 0)]
    assert pair.n_slots.tolist() == [3, 5, 7]
    assert pair.first.tolist() == [True, False, True]
    assert pair.per_turn(pair.gold).tolist() == [1, 1, 0]
    assert pair.per_turn(pair.pred).tolist() == [0, 1, 0]
    assert pair.per_turn(pair.gold, pair.gold_in_pred).tolist() == [0, 1, 0]
    named = [
        (*pair.slots.loc[s], pair.values[v]) for s, v in zip(pair.gold.slot, pair.gold.value, strict=True)
    ]
    assert named == [STARS, AREA]


def test_nothing_on_one_side_or_on_both() -> None:
    turns = pd.DataFrame({"dialogue_id": ["d"], "turn": [3]})
    some, none = frame(("d", 3, *AREA)), frame().astype({"turn": "int64"})
    for gold, pred, sizes in ((some, none, (1, 0)), (none, some, (0, 1)), (none, none, (0, 0))):
        pair = pair_states(turns, gold, pred)
        assert (len(pair.gold.key), len(pair.pred.key)) == sizes
        assert pair.n_slots.tolist() == [0]
    assert pair_states(turns[:0], some, some).per_turn(pair.gold).tolist() == []


def test_a_slot_with_several_values_counts_once_where_slots_are_counted() -> None:
    south, west = ("hotel", "area", "south"), ("hotel", "area", "west")
    gold = [{AREA, south}, {AREA, south}, {AREA}]
    pred = [{AREA, south}, {west, ("hotel", "area", "east")}, {south, AREA, west}]
    pair = pair_states_from_lists(pred, gold, n_slots=9)
    fuzzy = count_fuzzy(pair)
    assert fuzzy[["fuzzy_tp", "fuzzy_fp", "fuzzy_fn", "fuzzy_exact"]].to_numpy().tolist() == [
        [1, 0, 0, 1],
        [0, 1, 1, 0],
        [1, 0, 0, 1],  # any matching value will do
    ]
    # TRADE counts triples: two missed, and what is wrong stands in a missed slot; then two wrong ones.
    errors = count_slot_errors(pair)
    assert errors[["slots_missed", "slots_wrong"]].to_numpy().tolist() == [[0, 0], [2, 0], [0, 2]]
    assert count_relative_slots(pair)["rsa_sum"].tolist() == [1, -1, -1]  # (1 − 0 − 2) / 1
    assert count_compared(pair)["compared_right"].tolist() == [9, 8, 8]  # one slot at most is wrong
    assert count_average_goal(pair)["aga_sum"].tolist() == [1, 0, 1]
    # Of several values the last one in the alphabet is the slot's: south = south, west ≠ south, west ≠ north.
    assert count_changes(pair).to_numpy().tolist() == [[1, 0, 0, 0], [0, 1, 0, 0], [0, 1, 0, 0]]


def test_values_match_above_95_not_at_95() -> None:
    # One wrong letter amid 21 leaves 20 of 21, rounded 95 per cent; amid 23 it is 96.
    for name, matches in (("abcdefghijklmnopqrstu", 0), ("abcdefghijklmnopqrstuvw", 1)):
        wrong = name[:10] + "_" + name[11:]
        pair = pair_states_from_lists([{("hotel", "name", wrong)}], [{("hotel", "name", name)}])
        assert count_fuzzy(pair)["fuzzy_tp"].tolist() == [matches]


def test_gold_that_comes_a_turn_after_its_prediction() -> None:
    pair = pair_states_from_lists([{AREA}, {AREA}], [set(), {AREA}])
    assert count_changes(pair).to_numpy().tolist() == [[0, 0, 0, 1], [1, 0, 0, 0]]


def test_companions_are_no_sums() -> None:
    counts = pd.DataFrame({"x_types": [2, 1], "x_types_own": [1, 0], "n": [3, 4]})
    sums = {name: column.tolist() for name, column in delete_one_sums(counts).items()}
    assert sums == {"x_types": [2, 3], "n": [4, 3]}


def test_slot_f1_where_two_domains_share_a_name() -> None:
    gold = [{AREA, ("inn", "area", "south"), STARS}, {AREA, ("inn", "area", "north")}, set()]
    pred = [{AREA, ("inn", "area", "west"), ("taxi", "leave", "9:00")}, {AREA}, set()]
    # Values of "area": {north, south} against {north, west} is 1/2; then {north} against {north}.
    expected = {
        ("gold", "name"): ((1 / 2 + 0) / 2, 1),
        ("gold", "domain-slot"): ((1 + 0 + 0) / 3, 1 / 2),
        ("union", "name"): ((1 / 2 + 0 + 0) / 3, 1),
        ("union", "domain-slot"): ((1 + 0 + 0 + 0) / 4, 1 / 2),
    }
    for (slots, keyed), turns in expected.items():
        for empty, whole in (("0", sum(turns) / 3), ("1", (sum(turns) + 1) / 3), ("skip", sum(turns) / 2)):
            found = slot_f1(pred, gold, slots=slots, keyed=keyed, empty=empty)
            assert found == pytest.approx(whole), (slots, keyed, empty)


def test_lists_may_say_how_many_slots_and_whose_turns() -> None:
    ids = ["d", "e", "d"]
    lists = ([{AREA}, {AREA}, {STARS}], [{AREA}, {STARS}, {AREA}])
    assert score_lists(SLOT_METRICS["slot_accuracy"], *lists, n_slots=4) == (1 + 0.5 + 0.5) / 3
    pair = pair_states_from_lists(*lists, dialogue_ids=ids)
    assert pair.index.tolist() == [("d", 0), ("d", 1), ("e", 0)]
    assert pair.per_turn(pair.gold, pair.gold_in_pred).tolist() == [1, 0, 0]
    with pytest.raises(UsageError, match="1 dialogue ids"):
        pair_states_from_lists(*lists, dialogue_ids=["d"])


def test_of_several_values_the_last_in_the_alphabet_is_the_slot_s_whatever_the_rows() -> None:
    turns = pd.DataFrame({"dialogue_id": ["d"], "turn": [0]})
    rows = [("d", 0, "hotel", "area", value) for value in ("west", "east")]
    for order in (rows, rows[::-1]):
        counts = count_changes(pair_states(turns, frame(*order), frame(rows[0])))
        assert counts.to_numpy().tolist() == [[1, 0, 0, 0]]


def test_dstc9_scores_one_where_there_is_nothing_to_divide_by() -> None:
    for key, metric in DSTC9_METRICS.items():
        nothing = dict.fromkeys(metric.counts(pair_states_from_lists([], [])), 0.0)
        assert metric.value(nothing) == (key in ("slot_precision", "slot_recall", "slot_f1_micro")), key
        if key in STATE_METRICS:
            assert STATE_METRICS[key].value(nothing) == 0


def test_one_slot_name_in_two_domains() -> None:
    inn = ("inn", "area", "north")
    pair = pair_states_from_lists([{inn}, set()], [{AREA, inn}, {AREA}])
    named = [tuple(pair.slots.loc[s]) for s in pair.gold.slot]
    assert sorted(named[:2]) == [AREA[:2], inn[:2]] and named[2] == AREA[:2]
    assert pair.gold_in_pred.tolist() == [slot == inn[:2] for slot in named[:2]] + [False]

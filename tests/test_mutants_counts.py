"""Resampling at its edges: textbook formulas, and cases small enough to work by hand."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from dialogeval.metrics import Metric, ratio
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


def test_companions_are_no_sums() -> None:
    counts = pd.DataFrame({"x_types": [2, 1], "x_types_own": [1, 0], "n": [3, 4]})
    sums = {name: column.tolist() for name, column in delete_one_sums(counts).items()}
    assert sums == {"x_types": [2, 3], "n": [4, 3]}

"""Lesson 7: its simulations against theory and brute force, its checks, its figures, a run on other data."""

from __future__ import annotations

from itertools import product

import numpy as np
import pandas as pd
import pytest
from checks import exercises_uncertainty as exercises
from lessons import demonstrations, example_generators, example_trackers, uncertainty
from lessons import uncertainty_simulated as simulated
from scipy.stats import norm, permutation_test, ttest_1samp
from test_notebooks import check_run, run

import dialogeval as de
from dialogeval.exceptions import UnknownNameError, UsageError
from dialogeval.stats import bootstrap, draw_counts, holm, p_value, percentile_interval, randomisation

LESSON, JGA = "07_how_sure_is_the_number", "joint_goal_accuracy"
FIVE = pd.DataFrame({"right": [4, 0, 3, 6, 3], "turns": [4, 5, 6, 8, 7]}, index=list("abcde"))


def system(*right: int, turns: int = 5) -> pd.DataFrame:
    index = pd.Index([f"d{i}" for i in range(len(right))], name="dialogue_id")
    return pd.DataFrame({"right": right, "turns": turns}, index=index)


@pytest.fixture(scope="module")
def corpus():
    return de.load_corpus("sample/crosswoz_en")


@pytest.fixture(scope="module")
def comparison(corpus):
    trackers = dict(list(example_trackers.example_trackers(corpus).items())[:4])
    return de.compare(corpus, trackers, "lin2021", resamples=300, shuffles=500)


@pytest.fixture(scope="module")
def counts(comparison):
    return {n: demonstrations.by_dialogue(s)[["right", "turns"]] for n, s in comparison.scores.items()}


# Simulations --------------------------------------------------------------------------------------


def test_simulated_turns_have_the_rate_and_the_correlation_that_was_asked_for():
    hits = simulated.simulate_turns(0.3, (200_000,), 8, 0.4, np.random.default_rng(1))
    assert hits.mean() / 8 == pytest.approx(0.4, abs=0.005)
    # Variance of a sum of m equally correlated trials: m·p·q·(1 + (m − 1)·ρ).
    assert hits.var() == pytest.approx(8 * 0.4 * 0.6 * (1 + 7 * 0.3), rel=0.02)
    with pytest.raises(UsageError, match="correlation"):
        simulated.simulate_turns(1.0, (1,), 8, 0.5, np.random.default_rng(1))


@pytest.mark.parametrize("seed", [1, 12345])
def test_coverage_is_kept_by_dialogue_and_lost_by_turn_as_theory_has_it(seed):
    table = simulated.coverage([0.0, 0.3], seed)
    assert table.iloc[:, 0].between(0.93, 0.97).all()
    # Too narrow by √(1 + 7ρ).
    theory = [2 * norm.cdf(1.96 / np.sqrt(1 + 7 * rho)) - 1 for rho in table.index]
    assert table.iloc[:, 1].tolist() == pytest.approx(theory, abs=0.02)


def test_false_alarms_start_at_five_per_cent_grow_and_are_held_by_holm():
    table = simulated.false_alarms([2, 5, 8], seed=3, runs=1500)
    single, corrected = table.iloc[:, 0], table.iloc[:, 1]
    assert single[2] == corrected[2] == pytest.approx(0.05, abs=0.015)
    assert single.is_monotonic_increasing and single[5] > 0.25
    assert (corrected <= 0.065).all()


def test_effects_agree_with_the_normal_test():
    table = simulated.effects(0.3, [(0.005, 1000), (0.1, 1000)])
    assert table["p"].tolist() == pytest.approx([2 * norm.sf(0.005 / 0.3 * 1000**0.5), 0.0], abs=1e-9)
    assert list(table.index) == [
        "0.5 points, 1,000 dialogues: p = 0.598",
        "10 points, 1,000 dialogues: p < 0.001",
    ]


def test_published_rates_are_those_of_the_leaderboard():
    table = simulated.published_intervals("inform")
    assert table.index[0] == "lava" and table["value"].is_monotonic_decreasing
    assert table.loc["ubar", "high"] - 83.4 == pytest.approx(1.96 * np.sqrt(83.4 * 16.6 / 1000), abs=1e-3)


# On data ------------------------------------------------------------------------------------------


def test_halves_share_out_all_dialogues():
    cuts = uncertainty.halves(FIVE.iloc[:4], 200, seed=1)
    pairs = {tuple(sorted(row)) for row in cuts.round(9).to_numpy().tolist()}
    every = set()
    for one in (["a", "b"], ["a", "c"], ["a", "d"]):
        parts = [FIVE.loc[one], FIVE.iloc[:4].drop(one)]
        every.add(tuple(sorted(round(float(uncertainty.share(p.sum())), 9) for p in parts)))
    assert pairs == every


def test_interval_by_dialogue_is_that_of_the_score(comparison, counts):
    for name, scores in comparison.scores.items():
        low, high = uncertainty.interval_by_unit(counts[name], 300, 12345).loc["by dialogue", ["low", "high"]]
        assert (low, high) == pytest.approx(tuple(scores.table.loc[JGA, ["low", "high"]]))


def test_exchanges_are_all_of_them_and_agree_with_scipy_and_the_library():
    a, b = system(4, 3, 5, 2, 4, 1), system(2, 2, 2, 3, 4, 0)
    loop = []
    for bits in product([False, True], repeat=6):
        x, y = np.where(bits, b["right"], a["right"]), np.where(bits, a["right"], b["right"])
        loop.append((x.sum() - y.sum()) / 30)
    values = uncertainty.exchanges(a, b)
    np.testing.assert_allclose(values, loop, atol=1e-15)
    exact = np.mean(np.abs(values) >= values[0] - 1e-12)
    theirs = permutation_test(
        (a["right"], b["right"]), lambda u, v: u.mean() - v.mean(), permutation_type="samples", n_resamples=64
    )
    assert exact == theirs.pvalue
    drawn = randomisation(a, b, {"share": uncertainty.share}, 20_000, seed=1)["share"]
    assert p_value(drawn, values[0]) == pytest.approx(exact, abs=0.01)
    with pytest.raises(UsageError, match="dialogues"):
        uncertainty.exchanges(system(*range(17)), system(*range(17)))


def test_overlap_of_intervals_stands_beside_the_tests(comparison):
    table = uncertainty.overlaps(comparison, JGA)
    assert table["difference"].abs().is_monotonic_increasing and len(table) == 6
    for (a, b), row in table.iterrows():
        (low_a, high_a), (low_b, high_b) = (
            comparison.scores[n].table.loc[JGA, ["low", "high"]] for n in (a, b)
        )
        assert row["overlap"] == (max(low_a, low_b) <= min(high_a, high_b))
    with pytest.raises(UnknownNameError):
        uncertainty.overlaps(comparison, "accuracy")


def test_detectable_difference_of_the_same_size_is_that_of_the_comparison(comparison, counts):
    a, b = list(counts)[:2]
    size = len(counts[a])
    by_size = uncertainty.detectable_by_size(counts[a], counts[b], [size, 16 * size], 4000, seed=1)
    assert by_size[size] == pytest.approx(
        comparison.pairs.query("metric == @JGA")["detectable"].iloc[0], rel=0.12
    )
    assert by_size[size] / by_size[16 * size] == pytest.approx(4, rel=0.08)


def test_the_detectable_difference_is_found_four_times_in_five():
    rng = np.random.default_rng(5)
    difference = uncertainty.DETECTABLE * 0.3 / np.sqrt(200)
    found = ttest_1samp(rng.normal(difference, 0.3, (4000, 200)), 0, axis=1).pvalue < 0.05
    assert found.mean() == pytest.approx(0.8, abs=0.02)
    assert exercises.check_dialogues_needed(200, 0.3, difference).right


def test_distinct_draws_equal_a_recount_of_the_drawn_texts(corpus):
    system = example_generators.example_generators(corpus).popitem()[1]
    pair = de.score(corpus, system, "lai2019", resamples=0).pairs["text"]
    texts = pd.Series(pair.responses).groupby(pd.Series(pair.dialogue_id), sort=False).agg(list)
    loop = []
    for weights in np.vstack(list(draw_counts(len(texts), 3, 9))).astype(int):
        drawn = [t for some, times in zip(texts, weights, strict=True) for t in some * times]
        loop.append(de.distinct_n(drawn, 2))
    np.testing.assert_allclose(uncertainty.distinct_draws(pair, 2, 3, 9), loop)


def test_bootstrap_by_hand_is_that_of_the_library():
    draws = np.random.default_rng(7).integers(0, 5, size=(20, 5))
    loop = [FIVE.iloc[d]["right"].sum() / FIVE.iloc[d]["turns"].sum() for d in draws]
    library = bootstrap({"five": (FIVE, {"score": uncertainty.share})}, 20, 7)["score"]
    np.testing.assert_allclose(library, loop)
    low, high = uncertainty.interval_by_unit(FIVE, 20, 7).loc["by dialogue", ["low", "high"]]
    assert (low, high) == pytest.approx(percentile_interval(np.array(loop)))


# Exercises ----------------------------------------------------------------------------------------

DRAWN, TWICE = ["d", "b", "d", "a", "e"], "drawn twice counts twice"
C, D = system(4, 3, 5, 2), system(2, 2, 2, 3)
TESTS = {
    "A and B": 0.003,
    "A and C": 0.04,
    "A and D": 0.011,
    "B and C": 0.02,
    "B and D": 0.012,
    "C and D": 0.6,
}


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (19 / 32, None), (0.594, None), (..., "three dots"), ("x", "A number"), (59.375, "per cent"),
        (13 / 24, TWICE), (16 / 30, "test set itself"), ((0.75 + 0 + 0.75 + 1 + 3 / 7) / 5, "mean of the dialogues"),
        (19 / 30, "its own number"), (19, "number of right turns"), (0.9, "repetitions included"),
    ],
)  # fmt: skip
def test_exercise_resample(answer, said):
    verdict = exercises.check_resample(answer, FIVE, DRAWN)
    assert verdict.right == (said is None) and (said or "") in verdict.text


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (6 / 16, None), (..., "three dots"), (3 / 16, "one direction"), (2 / 16, "exactly"), (6, "number of exchanges"),
        (10 / 16, "less"), (7 / 17, "+1"), (0.25, "difference itself"), (0.9, "2ⁿ"),
    ],
)  # fmt: skip
def test_exercise_exchanges(answer, said):
    verdict = exercises.check_exchanges(answer, C, D)
    assert verdict.right == (said is None) and (said or "") in verdict.text


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ({"A and B"}, None), (["A and B"], None), (..., "three dots"), (3, "set of names"), ({"A"}, "none of the tests"),
        (set(TESTS) - {"C and D"}, "without any correction"), ({"A and B", "B and D"}, "stops at the first"),
        ({"A and B", "A and D", "B and D"}, "other way"), (set(), "Sort"),
    ],
)  # fmt: skip
def test_exercise_holm(answer, said):
    assert {n for n, p in zip(TESTS, holm(list(TESTS.values())), strict=True) if p < 0.05} == {"A and B"}
    verdict = exercises.check_holm(answer, TESTS)
    assert verdict.right == (said is None) and (said or "") in verdict.text


def test_exercise_holm_tells_bonferroni():
    assert "Bonferroni" in exercises.check_holm({"a"}, {"a": 0.01, "b": 0.02, "c": 0.9}).text
    assert exercises.check_holm(set("ab"), {"a": 0.01, "b": 0.02, "c": 0.9}).right


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (3136, None), ((2.8 * 0.2 / 0.01) ** 2, None), (3140, None), (np.int64(3140), None), (..., "three dots"),
        (56, "squared"), (1537, "every second time"), (400, "2.80"), (1121, "square the 2.80"), (7, "√n"),
        (True, "A number"), (3400, "√n"),
    ],
)  # fmt: skip
def test_exercise_dialogues_needed(answer, said):
    verdict = exercises.check_dialogues_needed(answer, 0.20, 0.01)
    assert verdict.right == (said is None) and (said or "") in verdict.text


# The notebook -------------------------------------------------------------------------------------


def test_lesson_runs_on_another_corpus(tmp_path):
    text = check_run(
        run(LESSON, tmp_path, corpus="sample/crosswoz_en", resamples=50), "sample/crosswoz_en", "en"
    )
    assert "tracker_offers" in text

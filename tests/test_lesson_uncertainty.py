"""Lesson 7: its simulations against theory and brute force, a run on other data."""

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
from dialogeval.exceptions import UsageError
from dialogeval.stats import bootstrap, draw_counts, p_value, percentile_interval, randomisation

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


# On data ------------------------------------------------------------------------------------------


def test_halves_share_out_all_dialogues():
    cuts = uncertainty.halves(FIVE.iloc[:4], 200, seed=1)
    pairs = {tuple(sorted(row)) for row in cuts.round(9).to_numpy().tolist()}
    every = set()
    for one in (["a", "b"], ["a", "c"], ["a", "d"]):
        parts = [FIVE.loc[one], FIVE.iloc[:4].drop(one)]
        every.add(tuple(sorted(round(float(uncertainty.share(p.sum())), 9) for p in parts)))
    assert pairs == every


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


# The notebook -------------------------------------------------------------------------------------


def test_lesson_runs_on_another_corpus(tmp_path):
    text = check_run(
        run(LESSON, tmp_path, corpus="sample/crosswoz_en", resamples=50), "sample/crosswoz_en", "en"
    )
    assert "tracker_offers" in text

"""Lessons 3 and 6 and the report on generation: helpers against NLTK and the published table, runs on other corpora."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from lessons import bleu_variants, example_generators, pitfalls_texts, task_stories
from nltk.translate.bleu_score import SmoothingFunction, corpus_bleu, sentence_bleu
from test_notebooks import check_run, run

import dialogeval as de
from dialogeval import leaderboard
from dialogeval.exceptions import UsageError

FOLDER = Path(__file__).resolve().parent.parent / "notebooks"
SCORES, PITFALLS, REPORT = "03_generation_scores", "06_pitfalls_of_generation", "report_generation"


@pytest.fixture(scope="module")
def corpus():
    return de.load_corpus("sample/multiwoz")


@pytest.fixture(scope="module")
def systems(corpus):
    return example_generators.example_generators(corpus)


@pytest.fixture(scope="module")
def scores(corpus, systems):
    return de.score(corpus, systems["generator_bland"], "lai2019", resamples=0)


@pytest.fixture(scope="module")
def task(corpus, systems):
    return leaderboard.task_scores(corpus, systems["generator_template"])[0]


# Leaderboard ----------------------------------------------------------------------------------


def test_story_ends_as_the_score_does(task):
    from dialogeval.metrics.task import offers_table

    offers = offers_table(task.pairs["task"])
    for name in offers["dialogue_id"].unique()[:8]:
        last = task_stories.follow_dialogue(task, name).iloc[-1]
        for row in offers[offers["dialogue_id"] == name].itertuples():
            assert last[f"{row.domain}: offer"] == row.offered
            assert last[f"{row.domain}: given"] == row.provided
    with pytest.raises(UsageError, match="was not scored"):
        task_stories.follow_dialogue(task, "nowhere")


def test_failed_dialogues_are_those_without_success(task):
    from dialogeval.metrics.task import offers_table

    offers = offers_table(task.pairs["task"])
    failed = offers[~offers["matched"] | (offers["missed"] != "")]
    ids = set(task.pairs["task"].dialogue_id)
    assert 100 * (1 - failed["dialogue_id"].nunique() / len(ids)) == pytest.approx(task["success"])


def test_task_scores_say_why_not():
    for name in ("sample/crosswoz_en", "sample/multiwoz_zh"):
        other = de.load_corpus(name)
        none, why = leaderboard.task_scores(other, example_generators.gold_responses(other))
        assert none is None and "left out" in why and name in why


def test_published_rows_are_facts(real_cases):
    import json

    cases = json.loads((real_cases / "responses" / "expected.json").read_text())
    table = leaderboard.published()
    assert set(table.index) == set(cases)
    for name, row in table.iterrows():
        assert row.tolist() == [float(v) for v in cases[name]["published"].values()]


# What lesson 6 shows --------------------------------------------------------------------------


def test_bleu_numbers_against_nltk(scores):
    pair = scores.pairs["text"]
    said, wanted = list(pair.responses), list(pair.references)
    numbers = bleu_variants.bleu_numbers(scores)["value"]
    letters = 100 * corpus_bleu([[w] for w in wanted], said)
    assert numbers["strings passed where tokens are meant"] == pytest.approx(letters)
    smooth = SmoothingFunction()
    for method in (smooth.method1, smooth.method2):
        each = [
            sentence_bleu([w.split()], s.split(), smoothing_function=method)
            for s, w in zip(said, wanted, strict=True)
        ]
        expected = 100 * float(np.mean(each))
        assert numbers[f"sentence mean, smoothing {method.__name__}"] == pytest.approx(expected)
    own = bleu_variants.short_responses(scores)
    assert own["BLEU-4, as NLTK counts it"] == pytest.approx(scores["bleu_4"])
    assert own["turns shorter than four tokens"] == sum(len(t.split()) < 4 for t in said) > 0
    assert own["BLEU-4, as counted"] > own["BLEU-4, as NLTK counts it"]


def test_placeholders_first_keeps_the_goal_scores(corpus, systems):
    before = de.score(corpus, systems["generator_template"], "lai2019", resamples=0)
    after = de.score(
        corpus, pitfalls_texts.placeholders_first(systems["generator_template"]), "lai2019", resamples=0
    )
    for key in ("goal_precision", "goal_recall", "goal_f1"):
        assert after[key] == pytest.approx(before[key])
    turns = [pitfalls_texts.slots_of_turn(s)["f1"] for s in (before, after)]
    assert turns[1] < turns[0] / 2


def test_random_inform_differs_by_seed_and_is_at_least_the_strict_rule(task):
    drawn = pitfalls_texts.random_inform(task, 12)
    assert drawn.min() < drawn.max()
    assert drawn.min() >= task["inform"] - 1e-9, "what fits altogether fits whichever is drawn"
    again = pitfalls_texts.random_inform(task, 12)
    pd.testing.assert_series_equal(drawn, again)


def test_active_domains_from_placeholders(systems):
    named = task_stories.active_from_placeholders(systems["generator_verbose"]).active_domains
    own = systems["generator_verbose"].responses
    first = own[own["response"].str.contains(r"\[train_")].iloc[0]
    here = named[(named["dialogue_id"] == first["dialogue_id"]) & (named["turn"] == first["turn"])]
    assert "train" in here["domain"].tolist()


# Runs -----------------------------------------------------------------------------------------


CHINESE = {
    "corpus": "sample/multiwoz_zh",
    "predictions": "sample/predictions/multiwoz_zh/baseline_nearest_neighbour.jsonl.gz",
}


@pytest.mark.parametrize(
    ("notebook", "parameters", "language"),
    [
        # No predictions, no goals of MultiWOZ's form, no spans: what a lesson says must hold there, too.
        (SCORES, {"corpus": "sample/crosswoz_en"}, "en"),
        (PITFALLS, {"corpus": "sample/crosswoz"}, "zh"),
        (REPORT, CHINESE, "zh"),
    ],
)
def test_runs_on_another_sample(notebook, parameters, language, tmp_path):
    done = run(notebook, tmp_path, resamples=50, **parameters)
    check_run(done, parameters["corpus"], language)

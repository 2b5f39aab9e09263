"""Lessons 2 and 4: their figures and helpers, and their runs on other corpora."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from lessons import demonstrations, example_trackers, slips
from test_notebooks import check_run, run

import dialogeval as de
from dialogeval.exceptions import UsageError

FOLDER = Path(__file__).resolve().parent.parent / "notebooks"
SCORES, PITFALLS = "02_state_tracking_scores", "04_pitfalls_of_state_tracking"

NORTH, CHEAP, FOOD = ("hotel", "area", "north"), ("hotel", "price", "cheap"), ("restaurant", "food", "thai")
SAUNA = ("hotel", "sauna", "yes")
GOLD = [{NORTH}, {NORTH, CHEAP}, {NORTH, CHEAP, FOOD}]


@pytest.fixture(scope="module")
def corpus():
    return de.load_corpus("sample/multiwoz")


@pytest.fixture(scope="module")
def scores(corpus):
    tracker = de.load_predictions("sample/predictions/multiwoz/tracker_careful.json.gz")
    return de.score(corpus, tracker, "trade", resamples=0)


# What the lessons show ------------------------------------------------------------------------


def test_turn_scores_agree_with_the_score_and_leave_out_what_is_not_counted(corpus, scores):
    of_all = [demonstrations.turn_scores(scores, i).loc["JGA"] for i in corpus.dialogues["dialogue_id"]]
    assert np.concatenate(of_all).mean() == pytest.approx(scores["joint_goal_accuracy"], abs=1e-12)
    average = [demonstrations.turn_scores(scores, i).loc["AGA"] for i in corpus.dialogues["dialogue_id"]]
    values = np.concatenate(average).astype(float)
    assert np.isnan(values).any()
    assert np.nanmean(values) == pytest.approx(scores["average_goal_accuracy"], abs=1e-12)
    with pytest.raises(UsageError, match="was not scored"):
        demonstrations.turn_scores(scores, "nowhere")


def test_by_dialogue_against_sets(corpus, scores):
    rows = demonstrations.by_dialogue(scores)
    assert rows["turns"].sum() == len(corpus.turns)
    assert rows["right"].sum() / len(corpus.turns) == pytest.approx(scores["joint_goal_accuracy"])
    new_errors = (1 - scores["turn_goal_accuracy"]) * len(corpus.turns)
    wrong = rows["turns"].sum() - rows["right"].sum()
    assert wrong - rows["old errors only"].sum() == pytest.approx(new_errors)
    assert rows.loc[demonstrations.longest_error(scores), "old errors only"] == rows["old errors only"].max()


def test_change_table_gives_the_score(scores):
    c, w, m, o = demonstrations.change_table(scores)[["correct", "wrong", "missed", "over-predicted"]]
    p, r, a = c + w + o, c + w + m, 10 / 11
    parts = [(a * p, c / p), (a * r, c / r), ((1 - a) * p, (c + w) / p), ((1 - a) * r, (c + w) / r)]
    mean = sum(x for x, _ in parts) / sum(x / y for x, y in parts)
    assert mean == pytest.approx(scores["granular_change_accuracy"], abs=1e-12)


def test_updates_against_sets(corpus):
    def states(frame):
        sets: dict = {}
        for i, t, *triple in frame.itertuples(index=False):
            sets.setdefault((i, t), set()).add(tuple(triple))
        return sets

    whole = states(corpus.states)
    expected = {k: s - whole.get((k[0], k[1] - 1), set()) for k, s in whole.items()}
    assert states(slips.updates(corpus.states)) == {k: s for k, s in expected.items() if s}


def test_slips_change_one_thing_and_leave_their_input_alone(corpus):
    tracker = de.as_predictions(corpus)
    before = tracker.states.copy()
    more = slips.with_triple(tracker, SAUNA, "inventive")
    assert len(more.states) == len(before) + len(tracker.turns) and more.name == "inventive"
    ids = list(corpus.dialogues["dialogue_id"][:2])
    fewer = slips.without_dialogues(tracker, ids)
    assert set(tracker.turns["dialogue_id"]) - set(fewer.turns["dialogue_id"]) == set(ids)
    assert not set(fewer.states["dialogue_id"]) & set(ids) and fewer.path == ""
    cut = slips.without_last_turns(tracker)
    assert len(tracker.turns) - len(cut.turns) == (tracker.turns.groupby("dialogue_id").size() > 1).sum()
    pd.testing.assert_frame_equal(tracker.states, before)


def test_published_trackers_of_multiwoz(real_data):
    gold = de.load_corpus("multiwoz21", home=real_data)
    found = example_trackers.example_trackers(gold, "predictions/multiwoz/soloist", real_data)
    assert list(found) == ["soloist", "ubar", "augpt", "damd", "pptod", "uniconv"]
    assert list(slips.other_versions(gold, real_data)) == ["multiwoz20", "multiwoz21"]


# Runs -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("lesson", "corpus", "language"),
    [(SCORES, "sample/multiwoz_zh", "zh"), (PITFALLS, "sample/crosswoz_en", "en")],
)
def test_lesson_runs_on_another_sample(lesson, corpus, language, tmp_path):
    notebook = run(lesson, tmp_path, corpus=corpus, protocol="lin2021", resamples=50)
    check_run(notebook, corpus, language)

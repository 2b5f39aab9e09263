"""Lessons on real corpora that take about a minute each: `make test-long`, by hand before a release."""

from __future__ import annotations

import pandas as pd
import pytest
from test_notebooks import check_run, run
from test_report import check_outputs

import dialogeval as de
from dialogeval.exceptions import ReportError
from dialogeval.locate import locate_predictions
from dialogeval.report import run_report

UBAR = {"corpus": "multiwoz21", "predictions": "predictions/multiwoz/ubar"}


def test_lesson_2_on_a_submission(tmp_path, real_data, real_cases):
    file = real_cases / "dstc9" / "crosswoz_en_test.submission.json.gz"
    given = {"corpus": "crosswoz_en", "predictions": str(file), "data_home": str(real_data)}
    text = check_run(run("02_state_tracking_scores", tmp_path, resamples=50, **given), "crosswoz_en", "en")
    assert "4,238" in text


def test_lesson_3_rebuilds_the_leaderboard(tmp_path, real_data):
    given = {**UBAR, "data_home": str(real_data), "protocol": "lai2019"}
    text = check_run(run("03_generation_scores", tmp_path, resamples=20, **given), "multiwoz21", "en")
    assert "**9** systems of the leaderboard are here" in text
    assert "Inform **82.3**, Success **72.4**" in text
    assert "rank correlation **0.983**" in text


def test_lesson_4_on_a_published_system(tmp_path, real_data):
    given = {**UBAR, "data_home": str(real_data)}
    text = check_run(
        run("04_pitfalls_of_state_tracking", tmp_path, resamples=50, **given), "multiwoz21", "en"
    )
    assert "7,372" in text and "uniconv" in text
    assert "multiwoz20" in text and "first come uniconv or augpt" in text


def test_lesson_6_on_a_published_system(tmp_path, real_data):
    given = {**UBAR, "data_home": str(real_data)}
    text = check_run(run("06_pitfalls_of_generation", tmp_path, resamples=20, **given), "multiwoz21", "en")
    assert "Success goes from 100.00 to **89.00**" in text


def test_lesson_6_on_predictions_in_chinese(tmp_path):
    file = "sample/predictions/multiwoz_zh/baseline_nearest_neighbour.jsonl.gz"
    given = {"corpus": "sample/multiwoz_zh", "predictions": file, "resamples": 50}
    check_run(run("06_pitfalls_of_generation", tmp_path, **given), "sample/multiwoz_zh", "zh")


def test_the_generation_report_on_a_system_that_lacks_a_dialogue(tmp_path, real_data):
    name = "predictions/multiwoz/damd"
    parameters = {"corpus": "multiwoz21", "predictions": name, "data_home": str(real_data), "resamples": 100}
    with pytest.raises(ReportError, match="have no prediction"):
        run_report("generation", parameters, tmp_path)
    written = run_report("generation", {**parameters, "missing": "skip"}, tmp_path)
    gold = de.load_corpus("multiwoz21", home=real_data)
    predictions = de.load_predictions(locate_predictions(name, real_data))
    check_outputs(written, de.score(gold, predictions, "lai2019", missing="skip", resamples=100).to_dict())


def test_the_state_report_on_a_system_that_lacks_dialogues(tmp_path, real_data):
    given = {**UBAR, "data_home": str(real_data), "resamples": 20, "missing": "empty"}
    written = run_report("state_tracking", given, tmp_path)
    slots = pd.read_csv(written["confused_slots.csv"])
    assert slots["turns"].iloc[0] > 1000, "names that differ come first"
    assert pd.read_csv(written["dialogues.csv"])["turns"].sum() == 7372


def test_leaderboard_of_the_nine_systems(tmp_path, real_data):
    given = {"corpus": "multiwoz21", "predictions": "predictions/multiwoz", "data_home": str(real_data)}
    text = check_run(run("report_leaderboard", tmp_path, resamples=100, **given), "multiwoz21", "en")
    assert "hdsa" in text and "uniconv" in text and "998" in text


def test_transfer_between_the_real_corpora(tmp_path, real_data):
    given = {"corpus": "real", "data_home": str(real_data), "resamples": 20}
    run("report_transfer", tmp_path, **given)

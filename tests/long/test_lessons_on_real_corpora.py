"""Lessons on real corpora that take about a minute each: `make test-long`, by hand before a release."""

from __future__ import annotations

from test_notebooks import check_run, run

UBAR = {"corpus": "multiwoz21", "predictions": "predictions/multiwoz/ubar"}


def test_lesson_2_on_a_submission(tmp_path, real_data, real_cases):
    file = real_cases / "dstc9" / "crosswoz_en_test.submission.json.gz"
    given = {"corpus": "crosswoz_en", "predictions": str(file), "data_home": str(real_data)}
    text = check_run(run("02_state_tracking_scores", tmp_path, resamples=50, **given), "crosswoz_en", "en")
    assert "4,238" in text


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
    assert "Success goes from 100.00 to **87.80**" in text


def test_leaderboard_of_the_nine_systems(tmp_path, real_data):
    given = {"corpus": "multiwoz21", "predictions": "predictions/multiwoz", "data_home": str(real_data)}
    text = check_run(run("report_leaderboard", tmp_path, resamples=100, **given), "multiwoz21", "en")
    assert "hdsa" in text and "uniconv" in text and "998" in text


def test_transfer_between_the_real_corpora(tmp_path, real_data):
    given = {"corpus": "real", "data_home": str(real_data), "resamples": 20}
    run("report_transfer", tmp_path, **given)

"""Responses with real values: the protocol `lexical`, and `delexicalize` of predictions."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

import dialogeval as de
from dialogeval.cli import main


@pytest.fixture(scope="module")
def gold() -> de.Corpus:
    return de.load_corpus("sample/multiwoz")


@pytest.fixture(scope="module")
def human(gold: de.Corpus) -> de.Predictions:
    return replace(de.as_predictions(gold, "human"), states=None)


def test_the_utterances_themselves_are_perfect_under_lexical(gold: de.Corpus, human: de.Predictions) -> None:
    scores = de.score(gold, human, "lexical", resamples=0)
    assert scores["bleu_4"] == pytest.approx(100) == scores["sacrebleu"]
    assert "refs:lexical" in scores.signature and not scores.warnings


def test_real_values_against_placeholders_are_named_with_the_way_out(
    gold: de.Corpus, human: de.Predictions
) -> None:
    said = " ".join(de.score(gold, human, "lai2019", resamples=0).warnings)
    assert "--delexicalize" in said and "lexical" in said
    marked = de.delexicalize(human, gold)
    assert not de.score(gold, marked, "lai2019", resamples=0).warnings


def test_values_of_database_goal_state_and_form(gold: de.Corpus) -> None:
    venue = de.load_corpus("sample/multiwoz").goals.query("kind == 'inform' and slot == 'area'").iloc[0]
    text = f"In the {venue['value'].upper()}: ref A1B2C3D4, phone 01223351707, TR1234 arrives at 10:15."
    answer = de.predictions_from(
        responses=de.table("responses", [(venue["dialogue_id"], 0, text)]), name="llm"
    )
    found = de.delexicalize(answer, gold)
    assert found.responses["response"].tolist() == [
        "in the [value_area]: ref [value_reference], phone [value_phone], [value_id] arrives at [value_arrive]."
    ]
    assert answer.responses["response"].tolist() == [text]  # what was given is not changed


def test_the_signature_says_so(gold: de.Corpus, human: de.Predictions) -> None:
    for protocol in ("lai2019", "mwzeval"):
        scores = de.score(gold, de.delexicalize(human, gold), protocol, resamples=0)
        assert "responses:value-search" in scores.signature.split("|")


def test_on_the_command_line(
    gold: de.Corpus, human: de.Predictions, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "llm.jsonl"
    de.save_predictions(human, file, "turns")
    line = ["score", str(file), "--corpus", "sample/multiwoz", "--protocol", "lai2019", "--resamples", "0"]
    assert main([*line, "--delexicalize", "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    expected = de.score(gold, de.delexicalize(human, gold), "lai2019", resamples=0)
    assert printed["metrics"]["goal_f1"]["value"] == expected["goal_f1"]


def test_without_responses_or_corpus_one_line(gold: de.Corpus, human: de.Predictions) -> None:
    for source, corpus in ((replace(human, responses=None), gold), (human, None)):
        with pytest.raises(de.DialogevalError):
            de.delexicalize(source, corpus)


def test_chinese_and_a_corpus_without_a_database() -> None:
    corpus = de.load_corpus("sample/crosswoz")
    found = de.delexicalize(de.as_predictions(corpus, "human"), corpus)
    assert found.responses["response"].str.contains("[value_", regex=False).mean() > 0.3


def test_figures_of_the_docs(real_data: Path) -> None:
    """docs/delexicalisation.md: what is lost when values are found by search and not by annotation."""
    corpus = de.load_corpus("multiwoz21", home=real_data)
    utterances = replace(de.as_predictions(corpus, "human"), states=None)
    found = de.delexicalize(utterances, corpus)
    marked = replace(utterances, responses=de.delexicalize(corpus))
    for predictions, protocol, expected in (
        (found, "lai2019", {"bleu_4": 92.5, "goal_precision": 93.4, "goal_recall": 96.5, "goal_f1": 95.0}),
        (marked, "mwzeval", {"inform": 92.5, "success": 89.0}),
        (found, "mwzeval", {"inform": 92.3, "success": 88.5}),
        (utterances, "lai2019", {"bleu_4": 72.2, "goal_f1": 0.0}),
        (utterances, "mwzeval", {"inform": 22.1, "success": 2.5}),
    ):
        scores = de.score(corpus, predictions, protocol, resamples=0)
        assert {key: scores[key] for key in expected} == pytest.approx(expected, abs=0.06)

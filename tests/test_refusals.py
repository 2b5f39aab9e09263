"""What a careless or hostile user may try with the Python face and the reports, and the line they get."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

import dialogeval as de
from dialogeval.exceptions import CoverageError, DialogevalError, PredictionError, UsageError
from dialogeval.tables import Corpus, Predictions, as_predictions, table

TOY = Corpus(
    "toy",
    split="test",
    family="multiwoz",
    turns=table("turns", [("d", 0, "hi", "hello", 0), ("d", 1, "bye", "bye", 0)]),
    states=table("states", [("d", 1, "hotel", "area", "north")]),
)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: de.score(as_predictions(TOY), TOY),
            "gold and predictions are swapped; write score(gold, predictions)",
        ),
        (lambda: de.score({"d": []}, TOY), "gold: expected a Corpus, a name or a path, got an object"),
        (
            lambda: de.score(TOY, None),
            "predictions: expected Predictions, a Corpus, a name or a path, got null",
        ),
        (lambda: de.score(TOY, pd.DataFrame()), "make Predictions of a table with predictions_from"),
        (lambda: de.score(TOY, TOY, seed=-1), "seed: expected a whole number from 0"),
        (lambda: de.score(TOY, TOY, seed=None), "seed: expected a whole number from 0"),
        (lambda: de.score(TOY, TOY, resamples="10"), "got a string '10'"),
        (
            lambda: de.score(TOY, TOY, resamples=10**8),
            "resamples: expected a whole number from 0 to 1,000,000",
        ),
        (lambda: de.load_corpus(None), "corpus: expected a name or a path, got null"),
        (lambda: de.load_predictions(None), "predictions: expected a name or a path, got null"),
        (
            lambda: de.joint_goal_accuracy(None, None),
            "predictions: expected a list with one set of triples a turn",
        ),
        (
            lambda: de.slot_f1(iter([set()]), [set()]),
            "predictions: expected a list with one set of triples a turn",
        ),
        (
            lambda: replace(de.PROTOCOLS["lin2021"], name="a|n:99"),
            "name of a protocol: expected letters, digits",
        ),
        (lambda: replace(de.PROTOCOLS["lin2021"], name=""), "name of a protocol"),
        (lambda: de.predictions_from(), "no predictions"),
        (lambda: de.predictions_from(TOY.states), "states without turns"),
        (lambda: de.predictions_from([1]), "states: expected a pandas.DataFrame, got a list"),
    ],
)
def test_arguments_of_the_wrong_kind(call: object, message: str) -> None:
    with pytest.raises(DialogevalError) as caught:
        call()  # type: ignore[operator]
    assert message in str(caught.value)


def test_tables_become_predictions() -> None:
    made = de.predictions_from(TOY.states, turns=TOY.turns, name="mine")
    assert de.score(TOY, made, "lin2021", resamples=0)["joint_goal_accuracy"] == 1
    with pytest.raises(PredictionError, match="mine: table states lacks the column value"):
        de.predictions_from(TOY.states.drop(columns="value"), turns=TOY.turns, name="mine")


def test_turns_counted_from_one_are_found_out() -> None:
    shifted = replace(as_predictions(TOY), turns=TOY.turns.assign(turn=TOY.turns["turn"] + 1))
    with pytest.raises(CoverageError) as caught:
        de.score(TOY, shifted, "lin2021")
    assert "dialogue d, turn 2: too many turns: expected 2 turns, 0 to 1, as in toy/test" in str(caught.value)
    assert str(caught.value).endswith("got 2, up to turn 2; turns count from 0: take 1 off every number")


@pytest.mark.parametrize("turn", [2**63, 10**19, 10**12])
def test_a_turn_past_all_dialogues(tmp_path: Path, turn: int) -> None:
    path = tmp_path / "p.jsonl"
    path.write_text(json.dumps({"dialogue_id": "d", "turn": turn, "state": {}}))
    with pytest.raises(PredictionError, match="expected a whole number from 0 to 99,999"):
        de.load_predictions(path)


def test_a_file_of_another_split_is_not_taken_for_the_wanted_one(tmp_path: Path) -> None:
    state = {"hotel": {"semi": {}, "book": {}}}
    log = [{"text": "a", "metadata": {}}, {"text": "b", "metadata": state}]
    (tmp_path / "test.json").write_text(json.dumps({"d": {"log": log, "goal": {}}}))
    assert de.load_corpus(tmp_path / "test.json").split == "test"
    with pytest.raises(UsageError, match="is the split test, not val"):
        de.load_corpus(tmp_path / "test.json", split="val")


def test_one_dialogue_without_a_log_is_named(tmp_path: Path) -> None:
    state = {"hotel": {"semi": {}, "book": {}}}
    log = [{"text": "a", "metadata": {}}, {"text": "b", "metadata": state}]
    (tmp_path / "c.json").write_text(json.dumps({"d": {"log": log}, "e": {"goal": {}}}))
    with pytest.raises(DialogevalError, match="dialogue e: expected an object with log"):
        de.load_corpus(tmp_path / "c.json", strict=True)


def test_chinese_text_in_white_space_tokens_is_warned_of() -> None:
    texts = [("d", 0, "我想要酒店", "有三家酒店，请问您要哪一家？", 0)]
    gold = Corpus("toy", language="zh", family="pairs", turns=table("turns", texts))
    pred = as_predictions(gold)
    scores = de.score(gold, pred, "lai2019", resamples=0)
    assert any("choose zh or char" in w for w in scores.warnings)
    chosen = de.score(gold, pred, replace(de.PROTOCOLS["lai2019"], tokenizer="zh"), resamples=0)
    assert chosen["bleu_4"] == pytest.approx(100)
    assert "proto:lai2019|" in chosen.signature and "tok:zh" in chosen.signature
    assert not any("choose zh" in w for w in chosen.warnings)


def test_gold_of_the_file_is_not_passed_over_in_silence() -> None:
    pred = replace(as_predictions(TOY), gold=replace(TOY, name="own"))
    assert any("carries its own gold" in w for w in de.score(TOY, pred, "lin2021", resamples=0).warnings)


def test_names_cannot_write_to_the_terminal() -> None:
    text = repr(de.score(TOY, as_predictions(TOY, "x\x1b[31mred\nline"), "lin2021", resamples=0))
    assert "\x1b" not in text and "red\nline" not in text


def test_placeholders_of_any_style_are_goal_labels() -> None:
    scores = de.goal_scores([["[hotel_name] at [value_phone]"]], [["[restaurant_name] at PHONE"]])
    assert scores == {"precision": 100.0, "recall": 100.0, "f1": 100.0}


def test_predictions_of_nothing() -> None:
    with pytest.raises(UsageError, match="neither states nor responses"):
        de.score(TOY, Predictions("x", turns=TOY.turns))


def test_active_domains_that_no_goal_has_are_named() -> None:
    gold = de.load_corpus("sample/multiwoz")
    pred = de.load_predictions("sample/predictions/multiwoz/generator_template.json.gz")
    lost = replace(pred, active_domains=pred.turns.assign(domain="spaceship"))
    warnings = de.score(gold, lost, "mwzeval", resamples=0).warnings
    assert any(
        "predicted active domains are none of the goals'" in w and "spaceship ×544" in w for w in warnings
    )


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: replace(de.PROTOCOLS["trade"], steps="case:lower"),
            "steps of protocol trade: expected a tuple",
        ),
        (
            lambda: replace(de.PROTOCOLS["trade"], metrics="slot_f1"),
            "metrics of protocol trade: expected a tuple",
        ),
        (lambda: de.score(TOY, TOY, {"name": "x"}), "unknown protocol"),
    ],
)
def test_protocols_of_the_wrong_kind(call: object, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        call()  # type: ignore[operator]
    assert message in str(caught.value)


def test_one_pair_is_not_guessed_among_several() -> None:
    gold = de.load_corpus("sample/multiwoz")
    pred = de.as_predictions(gold)
    with pytest.raises(
        UsageError, match=r"compares 'text' and 'task' and 'state'; choose one of scores\.pairs"
    ):
        de.score(gold, pred, "mwzeval", resamples=0).pair

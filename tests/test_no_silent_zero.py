"""A score that lacks something it needs says so, and a reader's note that changes a score reaches it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest

import dialogeval as de
from dialogeval.corpora import multiwoz, schema_guided, unified
from dialogeval.predictions.load import load_predictions
from dialogeval.tables import Corpus, Predictions, as_predictions, table

TURNS = table("turns", [("d", 0, "u", "good day to you", 0), ("d", 1, "u", "bye", 0)])
SHOP = [("d", 0, "shop", "area", "north"), ("d", 1, "shop", "area", "north"), ("d", 1, "shop", "size", "big")]


def corpus(states: list[tuple] = SHOP, **more: Any) -> Corpus:
    return Corpus("toy", turns=TURNS, states=table("states", states), **more)


def said(
    gold: Corpus | None, predictions: Predictions | Corpus | Path, protocol: str, word: str
) -> list[str]:
    return [w for w in de.score(gold, predictions, protocol, resamples=0).warnings if word in w]


def says(states: list[tuple]) -> Predictions:
    return Predictions("p", turns=TURNS[["dialogue_id", "turn"]], states=table("states", states))


# The slots there are ---------------------------------------------------------------------------


def test_slot_accuracy_without_an_ontology_counts_the_slots_of_gold() -> None:
    gold = corpus()
    scores = de.score(gold, says(SHOP[:2]), "trade", resamples=0)
    assert scores["slot_accuracy"] == (1 + 1 / 2) / 2  # two slots occur, one is missed once
    assert [w for w in scores.warnings if "2 slots that occur in its gold states" in w]
    assert not said(gold, gold, "lin2021", "slots that occur")  # which needs no ontology


def test_slot_accuracy_with_an_ontology_counts_its_slots() -> None:
    gold = corpus(ontology=table("ontology", [("shop", s, "x") for s in ("area", "size", "name", "brand")]))
    scores = de.score(gold, says(SHOP[:2]), "trade", resamples=0)
    assert scores["slot_accuracy"] == (1 + 3 / 4) / 2
    assert not scores.warnings


def test_english_multiwoz_has_its_30_slots_whatever_the_file_lists() -> None:
    gold = corpus([("d", 0, "hotel", "area", "north")])
    scores = de.score(gold, says([]), "trade", resamples=0)
    assert scores["slot_accuracy"] == pytest.approx((29 / 30 + 1) / 2) and not scores.warnings


def pairs(path: Path, golds: list[dict]) -> Path:
    rows = [{"dialogue_id": f"d{n}", "turn": 0, "gold": g, "pred": {}} for n, g in enumerate(golds)]
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return path


def test_a_file_with_its_own_gold_says_how_its_slots_are_counted(tmp_path: Path) -> None:
    filled = pairs(tmp_path / "filled.jsonl", [{"shop": {"area": "a"}}, {"shop": {"size": "b"}}, {}])
    for protocol, word in (("trade", "these 2 are taken"), ("convlab-filtered", "is not looked at")):
        assert len(said(None, filled, protocol, word)) == 1
    listed = pairs(tmp_path / "listed.jsonl", [{"shop": {"area": "a", "size": ""}}])
    assert not said(None, listed, "trade", "taken for all")


@pytest.mark.parametrize("protocol", ["lin2021", "trade", "convlab", "convlab-filtered", "mwzeval"])
def test_gold_without_a_filled_slot_is_no_ordinary_gold(protocol: str) -> None:
    assert said(corpus([]), says(SHOP), protocol, "has a filled slot")
    assert not said(corpus(), says(SHOP), protocol, "has a filled slot")


# Texts and tasks -------------------------------------------------------------------------------


def test_references_that_are_not_there() -> None:
    silent = corpus()
    silent = replace(silent, turns=silent.turns.assign(system=""))
    spoken = as_predictions(corpus())
    assert said(silent, spoken, "lai2019", "all references are empty")
    half = replace(silent, turns=TURNS.assign(system=["hello", ""]))
    assert said(half, spoken, "lai2019", "1 of 2 references are empty")
    assert not said(corpus(), spoken, "lai2019", "empty")


def test_goal_scores_without_placeholders() -> None:
    assert said(corpus(), as_predictions(corpus()), "lai2019", "no reference holds a slot placeholder")
    gold = de.load_corpus("sample/multiwoz")
    assert not said(gold, as_predictions(gold), "lai2019", "no reference holds")


def test_less_text_than_a_window_has_no_msttr() -> None:
    score = de.score(corpus(), as_predictions(corpus()), "mwzeval", resamples=0)
    assert score.table["value"].isna()["msttr_50"]


def test_success_without_bookings() -> None:
    gold = de.load_corpus("sample/multiwoz")
    system = "sample/predictions/multiwoz/generator_template.json.gz"
    bare = replace(gold, bookings=table("bookings"))
    assert len(said(bare, load_predictions(system), "mwzeval", "does not say what was booked")) == 1
    assert not said(gold, load_predictions(system), "mwzeval", "does not say what was booked")


def test_inform_without_any_states_is_left_out() -> None:
    gold = replace(de.load_corpus("sample/multiwoz"), states=table("states"))
    silent = replace(as_predictions(gold), states=None)
    scores = de.score(gold, silent, "mwzeval", resamples=0)
    assert "inform" not in scores.table.index and "bleu" in scores.table.index
    assert [w for w in scores.warnings if "has states" in w]


# Notes of readers ------------------------------------------------------------------------------


def test_values_given_as_lists() -> None:
    parts = {"hotel": {"semi": {"area": ["north", "centre"]}, "book": {"booked": []}}}
    log = [{"text": "u", "metadata": {}}, {"text": "s", "metadata": parts}]
    gold = multiwoz.read({"a": {"goal": {}, "log": log}}, name="toy")
    assert said(gold, gold, "lin2021", "values given as a list")
    assert not said(gold, gold, "lai2019", "values given as a list")


def test_user_utterances_without_a_state() -> None:
    talk = [
        {"speaker": "user", "utterance": "u", "state": {"shop": {"area": "north", "size": ""}}},
        {"speaker": "system", "utterance": "s"},
        {"speaker": "user", "utterance": "u"},
        {"speaker": "system", "utterance": "s"},
    ]
    gold = unified.read([{"dialogue_id": "a", "data_split": "test", "turns": talk}], name="toy")
    assert said(gold, gold, "lin2021", "without a state")


def test_states_beside_the_schema_and_spans_that_are_none() -> None:
    frame = {"service": "shop", "state": {"slot_values": {"colour": ["red"]}}}
    frame["slots"] = [{"slot": "colour", "start": 90, "exclusive_end": 95}]
    talk = [
        {"speaker": "USER", "utterance": "red", "frames": [frame]},
        {"speaker": "SYSTEM", "utterance": "s", "frames": []},
    ]
    schema = [{"service_name": "shop", "slots": [{"name": "size", "is_categorical": False}]}]
    raw = [{"dialogue_id": "a", "services": ["shop"], "turns": talk}]
    gold = schema_guided.read(raw, name="toy", schema=schema)
    assert said(gold, gold, "trade", "schema lacks: shop-colour")
    assert not said(gold, gold, "trade", "spans")
    assert said(gold, gold, "lai2019", "spans that lie outside")


def test_a_file_that_is_not_the_published_one(tmp_path: Path) -> None:
    state = {"Hotel": {"name": "", "price": "low", "selectedResults": []}}
    system = {"role": "sys", "content": "s", "sys_state_init": state, "sys_state": state}
    raw = {"7": {"messages": [{"role": "usr", "content": "u"}, system]}}
    (tmp_path / "crosswoz_en").mkdir()
    with ZipFile(tmp_path / "crosswoz_en" / "test.json.zip", "w") as archive:
        archive.writestr("test.json", json.dumps(raw))
    gold = de.load_corpus("crosswoz_en", home=tmp_path)
    assert said(gold, gold, "lin2021", "not the published file")

"""Lesson 5: what it works out by hand, and a run on MultiWOZ."""

from __future__ import annotations

import pytest
from lessons import example_trackers, misalignment
from test_notebooks import FOLDER, code_cells, read

import dialogeval as de
from dialogeval import plots
from dialogeval.exceptions import UsageError
from dialogeval.ontology.attribution import CAUSES

LESSON, JGA = "05_ontology_misalignment", "joint_goal_accuracy"
WAY = de.load_alignment("multiwoz__crosswoz_en")
AIRPORT, BUDGET = ("Taxi", "from", "airport"), ("Hotel", "type", "budget")
MEAL = ("Restaurant", "cost", "50-100 yuan")
LEAVES, CHEAP = ("taxi", "departure", "airport"), ("hotel", "pricerange", "cheap")
HOUSE, PRICE = ("hotel", "type", "guesthouse"), ("restaurant", "pricerange", "moderate")
COSTLY = ("restaurant", "pricerange", "expensive")


def losses(golds, said):
    gold, tracker = misalignment.toy(golds), de.as_predictions(misalignment.toy(said))
    return de.attribute_losses(gold, tracker, WAY, "trade", resamples=0)


# By hand ------------------------------------------------------------------------------------------


def test_three_turns_by_hand_are_those_of_the_library():
    golds = [{AIRPORT}, {AIRPORT, BUDGET}, {AIRPORT, BUDGET, MEAL}]
    found = losses(golds, [{LEAVES}, {LEAVES, CHEAP}, {LEAVES, CHEAP, HOUSE, COSTLY}])
    assert found.table["turns"].to_dict() == {
        **dict.fromkeys(CAUSES, 0),
        **{"misaligned name": 1, "misaligned value": 1, "wrong": 1, "whole": 3},
    }
    assert found.raw[JGA] == 0 and found.aligned[JGA] == pytest.approx(2 / 3)
    assert found.table.loc["misaligned name", "alone"] == pytest.approx(1 / 3)
    assert found.table.loc["misaligned value", "alone"] == 0
    row = misalignment.parts({"a": found, "gold": losses([{AIRPORT}], [{LEAVES}])})
    assert row.sum(axis=1).tolist() == pytest.approx([1, 1]) and row.loc["a", "wrong"] == pytest.approx(1 / 3)
    # "Try it": with the right class the value takes the last turn over.
    mended = losses(golds, [{LEAVES}, {LEAVES, CHEAP}, {LEAVES, CHEAP, HOUSE, PRICE}])
    assert mended.table.loc["misaligned value", "turns"] == 2 and mended.aligned[JGA] == 1


def test_names_alone_cost_the_renamed_tracker_what_the_other_scores_say():
    gold = de.load_corpus("sample/multiwoz")
    systems = example_trackers.example_trackers(gold)
    two = {n: systems[n] for n in ("tracker_careful", "tracker_renamed")}
    spelled = misalignment.spellings(gold, two)
    assert list(spelled) == ["tracker_renamed"] and spelled.loc["arriveby"].item() == "arrive by"
    table = misalignment.naming_losses(gold, two, "trade", 100, 1)
    assert table.index[0] == "tracker_renamed" and table.loc["tracker_careful", "lost"] == 0
    # It is the careful tracker with other spellings; without aliases it has the score of any strange slot.
    assert table["after"].iloc[0] == table["after"].iloc[1]
    plain = de.score(gold, two["tracker_renamed"], "trade", missing="empty", resamples=0)[JGA]
    row = table.loc["tracker_renamed"]
    assert row["before"] == plain and row["low"] <= row["lost"] <= row["high"]
    assert row["lost"] == pytest.approx(100 * (row["after"] - row["before"]))


def test_corpora_stand_beside_each_other_and_twins_share_dialogues():
    gold = de.load_corpus("sample/multiwoz_zh")
    corpora = misalignment.four_corpora(gold)
    assert corpora["multiwoz_zh"] is gold and len(corpora) == 4
    assert misalignment.twin(gold, corpora).name == "sample/multiwoz"
    with pytest.raises(UsageError, match="same dialogues"):
        misalignment.twin(gold, {**corpora, "multiwoz": corpora["crosswoz_en"]})
    with pytest.raises(UsageError, match="one of the ontologies"):
        misalignment.ontology_key(de.Corpus("mine", family="schema_guided"))
    assert misalignment.learned_values(WAY, misalignment.toy([set()]), gold) is None


# The notebook -------------------------------------------------------------------------------------


def test_lesson_runs_on_multiwoz_with_a_file(monkeypatch):
    """In this process and without the matrix, which the tests of transfer run: a kernel takes too long."""
    said = []
    monkeypatch.setattr(plots, "show", lambda ax: said.append(plots.alt_text(ax)))
    names: dict = {}
    for cell in code_cells(read(FOLDER / f"{LESSON}.ipynb")):
        if ("cells" in cell.source and "transfer" in cell.source) or "in cells.items()" in cell.source:
            continue
        exec(compile(cell.source, cell.id, "exec"), names)
        if "parameters" in cell.metadata.get("tags", []):
            file = "sample/predictions/multiwoz/tracker_renamed.json.gz"
            names |= {"corpus": "sample/multiwoz", "predictions": file, "resamples": 20}
    assert names["tracker"].name == "tracker_renamed" and names["other"].name == "sample/multiwoz_zh"
    # The alignment knows the names that the scorer at home has to be told.
    assert names["abroad"].raw[JGA] < names["abroad"].aligned[JGA] < names["at_home"][JGA]
    assert len(said) == 6 and all("Figure" not in text and text.endswith(".") for text in said)
    assert names["venues"].name == "sample/crosswoz_en"

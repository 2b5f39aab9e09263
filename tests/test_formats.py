"""Prediction files as people have them: one small prediction in many shapes, each read to the same tables."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

import dialogeval as de
from dialogeval.cli import main
from dialogeval.exceptions import DialogevalError, PredictionError
from dialogeval.tables import Corpus, table


def expected(cases: Path) -> dict[str, Any]:
    """What all of them hold; dialogue ids match without regard to case."""
    found = json.loads((cases / "formats" / "expected.json").read_text(encoding="utf-8"))
    names = ("turns", "gold", "predicted", "responses", "references")
    return found | {name: [(row[0].lower(), *row[1:]) for row in found[name]] for name in names}


def gold_of(right: dict[str, Any]) -> Corpus:
    said = {(i, t): text for i, t, text in right["references"]}
    turns = [(i, t, "", said[i, t], 0) for i, t in right["turns"]]
    ids = dict.fromkeys(i for i, _ in right["turns"])
    return Corpus(
        "toy",
        split="test",
        family="multiwoz",
        turns=table("turns", turns),
        states=table("states", right["gold"]),
        dialogues=table("dialogues", [(i, i, "") for i in ids]),
    )


def rows(frame: Any) -> set[tuple]:
    return set(frame.itertuples(index=False, name=None))


def test_every_shape_is_read_to_the_same_tables(real_cases, tmp_path, capsys) -> None:
    right = expected(real_cases)
    gold = gold_of(right)
    shapes = sorted((real_cases / "formats" / "predictions").iterdir())
    assert len(shapes) >= 23
    for shape in shapes:
        packed = tmp_path / f"{shape.name}.gz"
        packed.write_bytes(gzip.compress(shape.read_bytes()))
        for file in (shape, packed):
            read = de.load_predictions(file)
            assert "7 turns of 3 dialogues" in read.recognised, file.name
            if read.states is not None:
                pair = de.score(gold, read, "trade", steps="slots:multiwoz22", missing="empty").pairs["state"]
                assert rows(pair.tables()[1]) == set(right["predicted"]), file.name
                score = de.score(gold, read, "trade", resamples=0, missing="empty", steps="slots:multiwoz22")
                assert score["joint_goal_accuracy"] == pytest.approx(right["joint_goal_accuracy"])
            if read.responses is not None:
                assert rows(read.responses) == set(right["responses"]), file.name
            assert read.states is not None or read.responses is not None
            if read.gold is not None and len(read.gold.states):
                assert main(["score", str(file), "--protocol", "trade", "--resamples", "0", "--json"]) == 0
                printed = json.loads(capsys.readouterr().out)
                assert printed["metrics"]["joint_goal_accuracy"]["value"] == pytest.approx(5 / 7), file.name
            else:
                assert main(["convert", str(file), str(tmp_path / "out.jsonl"), "--to", "turns"]) == 0
                capsys.readouterr()


def write(folder: Path, text: str, name: str = "mine.jsonl") -> Path:
    (folder / name).write_text(text, encoding="utf-8")
    return folder / name


def lines(*turns: dict[str, Any]) -> str:
    return "\n".join(map(json.dumps, turns))


NORTH = {"hotel": {"area": "north"}}


def test_names_of_fields_can_be_given(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = write(
        tmp_path,
        lines(
            {"which": "a", "step": 1, "guess": {"now": NORTH}},
            {"which": "a", "step": 2, "guess": {"now": {}}},
        ),
    )
    with pytest.raises(PredictionError, match="which"):
        de.load_predictions(file)
    fields = {"dialogue_id": "which", "turn": "step-1", "state": "guess.now"}
    read = de.load_predictions(file, fields=fields)
    assert read.turns["turn"].tolist() == [0, 1] and rows(read.states) == {("a", 0, "hotel", "area", "north")}
    options = [part for item in fields.items() for part in ("--field", "=".join(item))]
    assert main(["convert", str(file), str(tmp_path / "b.jsonl"), "--to", "turns", *options]) == 0
    assert rows(de.load_predictions(tmp_path / "b.jsonl").states) == rows(read.states)
    for wrong in ({"states": "guess"}, ["state"]):
        with pytest.raises(DialogevalError):
            de.load_predictions(file, fields=wrong)


def test_states_that_cannot_be_parsed_are_counted_and_scored_as_empty(tmp_path: Path) -> None:
    text = lines(
        *({"dialogue_id": "a", "turn": t, "state": s} for t, s in enumerate([NORTH, '{"hotel": {"ar']))
    )
    file = write(tmp_path, text)
    with pytest.raises(PredictionError, match="1 of 2 turns"):
        de.load_predictions(file)
    read = de.load_predictions(file, unparsed="empty")
    assert read.turns["turn"].tolist() == [0, 1] and len(read.states) == 1
    assert any("1" in note and '{"hotel": {"ar' in note for note in read.notes)


@pytest.mark.parametrize("name", ["said.txt", "said.json"])
def test_responses_in_the_order_of_the_corpus(name: str, tmp_path: Path) -> None:
    turns = [("a", 0, "hi", "yes", 0), ("a", 1, "hi", "no", 0), ("b", 0, "hi", "bye", 0)]
    gold = Corpus(
        "toy", turns=table("turns", turns), dialogues=table("dialogues", [("a", "a", ""), ("b", "b", "")])
    )
    said = ["yes", "no", "bye"]

    def file(texts: list[str]) -> Path:
        return write(tmp_path, json.dumps(texts) if name.endswith("json") else "\n".join(texts) + "\n", name)

    scores = de.score(gold, de.load_predictions(file(said), in_order=True), "lexical", resamples=0)
    assert scores["bleu_1"] == pytest.approx(100)
    with pytest.raises(PredictionError, match="2 entries in order for 3 turns"):
        de.score(gold, de.load_predictions(file(said[:2]), in_order=True), "lexical", resamples=0)
    with pytest.raises(DialogevalError, match="in_order"):
        de.load_predictions(file(said))


@pytest.mark.parametrize(
    ("numbers", "note"),
    [([1, 2, 3], "from 1"), ([0, 2, 4], "utterances"), ([0, 1, 2], ""), ([0, 1, 3], "skip")],
)
def test_numbers_of_turns(numbers: list[int], note: str, tmp_path: Path) -> None:
    file = write(
        tmp_path, lines(*({"dialogue_id": i, "turn": t, "state": NORTH} for i in "ab" for t in numbers))
    )
    read = de.load_predictions(file)
    wanted = numbers if note == "skip" else [0, 1, 2]
    assert read.turns["turn"].tolist() == [*wanted, *wanted]
    assert note in " ".join(read.notes) and bool(read.notes) == bool(note)
    kept = de.load_predictions(file, fields={"turn": "turn"})
    assert kept.turns["turn"].tolist() == [*numbers, *numbers]


@pytest.mark.parametrize(
    "text",
    [
        "import os\nprint('hello')\n",
        "# Results\n\nOur model reaches 54.2.\n",
        '{"model": "x", "learning_rate": 0.1}',
        '{"loss": [0.1, 0.2], "step": [1, 2]}',
        "step,loss\n1,0.3\n",
        lines({"dialogue_id": "a", "turn": 0, "beleif_sate": NORTH}),
    ],
)
def test_files_of_another_kind_are_told_what_they_hold(text: str, tmp_path: Path) -> None:
    with pytest.raises(DialogevalError) as caught:
        de.load_predictions(write(tmp_path, text, "mine.txt"))
    said = str(caught.value)
    assert "broken" not in said and "domain '" not in said
    assert not text.startswith("{") or any(key in said for key in ("model", "loss", "beleif_sate")), said


@pytest.mark.parametrize(
    "state",
    [
        {"hotel": {"area": "north", "stars": "4", "name": None}},
        {"hotel": {"semi": {"area": "north", "stars": "4"}, "book": {"booked": []}}},
        [["hotel", "area", "north"], ["hotel", "stars", "4"], ["hotel", "name", None]],
        "[states] hotel-area=north hotel-stars=4",
        "belief : hotel area = north ; stars = 4",
        "=> Belief State : hotel { area = north ; stars = 4 }",
        "[hotel] area north stars 4",
        "hotel area north, hotel stars 4",
        'The user wants:\n```json\n{"hotel": {"area": "north", "stars": "4"}}\n```',
    ],
    ids=repr,
)
def test_notations_of_a_state(state: Any, tmp_path: Path) -> None:
    read = de.load_predictions(write(tmp_path, lines({"dialogue_id": "a", "turn": 0, "state": state})))
    assert rows(read.states) == {("a", 0, "hotel", "area", "north"), ("a", 0, "hotel", "stars", "4")}


@pytest.mark.parametrize("text", ["hotel area = north north = x", "[hotel] nice place", "north and cheap"])
def test_what_follows_no_notation_is_refused(text: str, tmp_path: Path) -> None:
    with pytest.raises(PredictionError):
        read = de.load_predictions(write(tmp_path, lines({"dialogue_id": "a", "turn": 0, "state": text})))
        print(read.states)

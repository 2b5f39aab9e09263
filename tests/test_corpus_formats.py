"""Corpora as people have them: one small corpus in many shapes, each read to the same tables."""

from __future__ import annotations

import gzip
import json
import re
import zipfile
from pathlib import Path
from typing import Any

import pytest
from test_formats import expected, rows

import dialogeval as de
from dialogeval.exceptions import CorpusError, DialogevalError

DOCS = Path(__file__).resolve().parent.parent / "docs"


def test_every_shape_is_read_to_the_same_tables(real_cases, tmp_path) -> None:
    right = expected(real_cases)
    shapes = sorted((real_cases / "formats" / "corpora").iterdir())
    assert len(shapes) >= 6
    for shape in shapes:
        files = [shape]
        if shape.is_file():
            files.append(tmp_path / f"{shape.name}.gz")
            files[1].write_bytes(gzip.compress(shape.read_bytes()))
        for file in files:
            corpus = de.load_corpus(file)
            said, states = rows(corpus.turns[["dialogue_id", "turn", "system"]]), rows(corpus.states)
            if shape.name == "camrest.json":  # which has numbers for ids and no domains
                numbers = {name: str(n) for n, name in enumerate(dict.fromkeys(i for i, _ in right["turns"]))}
                assert said == {(numbers[i], t, text) for i, t, text in right["references"]}
                assert states == {(numbers[i], t, "restaurant", s, v) for i, t, _, s, v in right["gold"]}
                continue
            assert states == set(right["gold"]), file.name
            last = {max(t for i, t in right["turns"] if i == name) for name, _ in right["turns"]}
            unknown = {(i, t, text) for i, t, text in right["references"] if (i, t, text) not in said}
            assert not unknown or (shape.name == "trade_dials.json" and {t for _, t, _ in unknown} <= last)


def test_the_example_of_the_docs(tmp_path: Path) -> None:
    """The page's two tables, and its example, as a reader would copy them."""
    page = (DOCS / "corpora.md").read_text(encoding="utf-8")
    head, *lines = re.search(r"```text\n(.*?)```", page, flags=re.S)[1].splitlines()
    wide = head.index("my_corpus/states.csv")
    for name, part in (("turns", slice(0, wide)), ("states", slice(wide, None))):
        text = "\n".join(filter(None, (line[part].strip() for line in lines)))
        (tmp_path / f"{name}.csv").write_text(text + "\n")
    corpus = de.load_corpus(tmp_path)
    assert len(corpus.turns) == 2 and len(corpus.states) == 3
    assert de.score(corpus, corpus, "lin2021", resamples=0)["joint_goal_accuracy"] == 1
    (tmp_path / "ontology.json").write_text('{"hotel-area": ["north", "south"], "hotel-stars": ["4"]}')
    assert len(de.load_corpus(tmp_path).ontology) == 3


def log(*states: dict[str, str]) -> dict[str, Any]:
    """A dialogue in the format of MultiWOZ 2.0."""
    turns = []
    for state in states:
        turns.append({"text": "hi", "metadata": {}})
        turns.append({"text": "ok", "metadata": {"hotel": {"semi": state, "book": {"booked": []}}}})
    return {"goal": {}, "log": turns}


@pytest.mark.parametrize(
    "names",
    [
        ("testListFile.txt", "valListFile.txt"),
        ("testListFile.json", "valListFile"),
        ("testListFile", "valListFile.tsv"),
    ],
)
@pytest.mark.parametrize("as_json", [False, True])
@pytest.mark.parametrize("ending", ["", ".json"])
def test_lists_of_an_official_release(
    names: tuple[str, str], as_json: bool, ending: str, tmp_path: Path
) -> None:
    data = {f"{name}.json": log({"area": "north"}) for name in ("A", "B", "C", "D")}
    (tmp_path / "data.json").write_text(json.dumps(data))
    for file, ids in zip(names, (["A", "B"], ["c"]), strict=True):
        listed = [i + ending for i in ids]
        (tmp_path / file).write_text(json.dumps(listed) if as_json else "\n".join(listed))
    found = {
        split: de.load_corpus(tmp_path, split).dialogues["dialogue_id"].tolist()
        for split in ("train", "val", "test")
    }
    assert found == {"train": ["d"], "val": ["c"], "test": ["a", "b"]}


def utterances(*speakers: str) -> list[dict[str, Any]]:
    return [
        {"speaker": s, "utterance": f"{s} {n}"} | ({"state": {}} if s == "user" else {})
        for n, s in enumerate(speakers)
    ]


def unified(**turns: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{"dialogue_id": i, "data_split": "test", "turns": t} for i, t in turns.items()]


def test_a_folder_of_convlab(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "data.zip", "w") as archive:
        archive.writestr("data/dialogues.json", json.dumps(unified(a=utterances("user", "system"))))
        archive.writestr("data/ontology.json", '{"domains": {}}')
    assert de.load_corpus(tmp_path).turns["system"].tolist() == ["system 1"]


def test_a_dialogue_that_the_system_opens(tmp_path: Path) -> None:
    (tmp_path / "test.json").write_text(json.dumps(unified(a=utterances("system", "user", "system"))))
    corpus = de.load_corpus(tmp_path / "test.json")
    assert corpus.turns[["user", "system"]].to_numpy().tolist() == [["user 1", "system 2"]]
    assert len(corpus.notes) == 1


@pytest.mark.parametrize(
    ("whole", "odd"),
    [
        (
            {"a": log({"area": "north"})},
            {"b": {"goal": {}, "log": [{"text": "hi"}, {"text": 3, "metadata": {}}]}},
        ),
        (unified(a=utterances("user", "system")), unified(b=utterances("user", "user"))),
        (
            [{"dialogue_id": "a", "turn": 0, "user": "hi", "system": "ok", "state": {}}],
            [{"dialogue_id": "b", "turn": 0, "user": ["hi"], "system": "ok", "state": {}}],
        ),
    ],
    ids=["multiwoz", "unified", "records"],
)
def test_one_odd_dialogue_does_not_block_a_corpus(whole: Any, odd: Any, tmp_path: Path) -> None:
    file = tmp_path / "test.json"
    file.write_text(json.dumps(whole | odd if isinstance(whole, dict) else whole + odd))
    corpus = de.load_corpus(file)
    assert corpus.dialogues["dialogue_id"].tolist() == ["a"] and set(corpus.turns["dialogue_id"]) == {"a"}
    assert any(
        "1 odd dialogue" in warning for warning in de.score(corpus, corpus, "lin2021", resamples=0).warnings
    )
    with pytest.raises(CorpusError) as caught:
        de.load_corpus(file, strict=True)
    assert caught.value.dialogue == "b"
    file.write_text(json.dumps(odd))
    with pytest.raises(DialogevalError):
        de.load_corpus(file)

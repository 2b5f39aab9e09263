"""Corpus readers and `load_corpus`: real counts, hand-written dialogues, files of the wrong kind."""

from __future__ import annotations

import copy
import gzip
import json
import zipfile
from pathlib import Path

import pytest

import dialogeval as de
from dialogeval.corpora import crosswoz, multiwoz
from dialogeval.exceptions import CorpusError, DataFileError, UnknownNameError
from dialogeval.normalize import normalize_states

HOTEL = {
    "semi": {"area": "north", "name": "", "priceRange": "not mentioned"},
    "book": {"booked": [], "day": ""},
}
BOOKED = {
    "semi": {"area": "north", "name": "none", "priceRange": "cheap"},
    "book": {"booked": [{}], "day": "monday"},
}


def legacy() -> dict:
    """Two turns of one dialogue in the legacy MultiWOZ format."""
    return {
        "SNG01.json": {
            "goal": {
                "hotel": {
                    "info": {"area": "north"},
                    "reqt": ["phone"],
                    "book": {"day": "monday", "invalid": False},
                },
                "message": ["You want a hotel"],
                "police": {},
            },
            "log": [
                {
                    "text": "a hotel in the north",
                    "metadata": {},
                    "dialog_act": {"Hotel-Inform": [["Area", "north"]]},
                    "span_info": [["Hotel-Inform", "Area", "north", 4, 4]],
                },
                {"text": "which price ?", "metadata": {"hotel": HOTEL}, "dialog_act": "No Annotation"},
                {"text": "cheap , book monday", "metadata": {}},
                {"text": "done", "metadata": {"hotel": BOOKED}},
            ],
        }
    }


def crossed() -> dict:
    """Two turns of one dialogue in the CrossWOZ format."""

    def state(**hotel: object) -> dict:
        slots = {"name": "", "price": "", "selectedResults": []} | hotel
        return {"Hotel": slots}

    def message(role: str, text: str, **rest: object) -> dict:
        return {"role": role, "content": text, "dialog_act": [], **rest}

    first, edited = state(price="low"), state(price="low", selectedResults=["Inn"])
    return {
        "7": {
            "type": "CM",
            "goal": [
                [1, "Hotel", "price", "low", False],
                [1, "Hotel", "name", "", False],
                [1, "Hotel", "x", [], False],
            ],
            "messages": [
                message("usr", "cheap hotel"),
                message("sys", "Inn", sys_state_init=first, sys_state=edited),
                message("usr", "its phone ?"),
                message("sys", "1", sys_state_init=edited, sys_state=edited),
            ],
        }
    }


def test_multiwoz_by_hand() -> None:
    corpus = multiwoz.read(legacy(), name="toy")
    assert corpus.states.values.tolist() == [
        ["sng01", 0, "hotel", "area", "north"],
        ["sng01", 1, "hotel", "area", "north"],
        ["sng01", 1, "hotel", "name", "none"],
        ["sng01", 1, "hotel", "pricerange", "cheap"],
        ["sng01", 1, "hotel", "bookday", "monday"],
    ]
    assert corpus.goals.values.tolist() == [
        ["sng01", "hotel", "inform", "area", "north"],
        ["sng01", "hotel", "request", "phone", ""],
        ["sng01", "hotel", "book", "bookday", "monday"],
    ]
    assert corpus.bookings.values.tolist() == [["sng01", 1, "hotel"]]
    assert corpus.spans.values.tolist() == [["sng01", 0, "user", "hotel", "inform", "area", "north", 4, 4]]
    assert corpus.turns[["turn", "user", "system"]].values.tolist() == [
        [0, "a hotel in the north", "which price ?"],
        [1, "cheap , book monday", "done"],
    ]
    assert sorted(corpus.layouts["slot"]) == ["area", "bookday", "name", "pricerange"]
    assert corpus.notes == ("1 utterances without dialogue-act annotation",)


def test_readers_do_not_change_their_input() -> None:
    for reader, raw in ((multiwoz, legacy()), (crosswoz, crossed())):
        before = copy.deepcopy(raw)
        reader.read(raw, name="toy")
        assert raw == before


def test_crosswoz_by_hand() -> None:
    corpus = crosswoz.read(crossed(), name="toy")
    assert corpus.states.values.tolist() == [
        ["7", 0, "Hotel", "price", "low"],
        ["7", 1, "Hotel", "price", "low"],
    ]
    # DSTC9 accepts any offered name where none is stated; only the second turn has offers then.
    assert corpus.alternatives.values.tolist() == [["7", 1, "Hotel", "name", "Inn"]]
    # The corrected gold carries the one entity that the first turn offered.
    assert corpus.corrections.values.tolist() == [["7", 1, "Hotel", "name", "Inn"]]
    assert corpus.goals["kind"].tolist() == ["inform", "request", "request"]
    assert corpus.dialogues["type"].tolist() == ["CM"]
    assert not set(corpus.layouts["slot"]) & {"selectedResults"}


def test_corrected_name_is_dropped_when_wishes_change() -> None:
    raw = crossed()
    last = raw["7"]["messages"][3]
    last["sys_state_init"] = {"Hotel": {"name": "", "price": "high", "selectedResults": ["Inn"]}}
    assert crosswoz.read(raw, name="toy").corrections.empty


def test_crosswoz_gold_choice() -> None:
    raw = crossed()
    raw["7"]["messages"][1]["sys_state"]["Hotel"]["price"] = "high"
    corpus = crosswoz.read(raw, name="toy", gold="sys_state")
    assert corpus.states["value"].tolist()[0] == "high"
    assert corpus.name == "toy+sys_state"
    with pytest.raises(UnknownNameError, match="gold state 'sys_stat'"):
        crosswoz.read(raw, name="toy", gold="sys_stat")


COUNTS = {
    "multiwoz21": (1000, 7372, 42206),
    "multiwoz20": (1000, 7372, 38322),
    "multiwoz_zh": (1000, 7372, 42206),
    "crosswoz": (500, 4238, 18044),
    "crosswoz_en": (500, 4238, 18044),
}


@pytest.mark.parametrize("name", COUNTS)
def test_real_corpora(real_data: Path, name: str) -> None:
    corpus = de.load_corpus(name, split="test", home=real_data)
    assert (len(corpus.dialogues), len(corpus.turns), len(corpus.states)) == COUNTS[name]
    published = de.catalog()[name].published["test"]
    assert published["dialogues"] == len(corpus.dialogues)
    assert published.get("utterances", 2 * len(corpus.turns)) == 2 * len(corpus.turns)
    assert corpus.source.commit and corpus.source.licence
    assert corpus.turns.duplicated(["dialogue_id", "turn"]).sum() == 0
    assert set(corpus.states["dialogue_id"]) <= set(corpus.turns["dialogue_id"])
    assert not corpus.states["value"].isin(["", "not mentioned", "未提及"]).any()
    assert de.score(corpus, corpus, "lin2021", resamples=0)["slot_f1_micro"] == 1


def test_gold_triples_of_the_cases(real_data: Path, real_cases: Path) -> None:
    """Our MultiWOZ 2.1 gold, without `none` and lower-cased, is the published cases' triple by triple."""
    gold = de.load_predictions(real_cases / "states/ubar.jsonl.gz").gold
    assert gold is not None
    ours = de.load_corpus("multiwoz21", home=real_data).states
    ours = normalize_states(ours, ["case:lower", "none:drop", "space:strip"])
    columns = ["dialogue_id", "turn", "domain", "slot", "value"]
    assert set(map(tuple, ours[columns].values)) == set(map(tuple, gold.states[columns].values))


def test_validation_split_says_what_it_lacks(real_data: Path) -> None:
    corpus = de.load_corpus("multiwoz21", split="validation", home=real_data)
    assert (corpus.split, len(corpus.dialogues)) == ("val", 999)
    assert any("999" in note and "10,423" in note for note in corpus.notes)


def test_missing_split_names_fetch(real_data: Path) -> None:
    with pytest.raises(DataFileError, match="run: dialogeval fetch multiwoz21"):
        de.load_corpus("multiwoz21", split="train", home=real_data)


def test_a_changed_file_is_not_taken_for_the_published_one(tmp_path: Path) -> None:
    (tmp_path / "multiwoz21").mkdir()
    with zipfile.ZipFile(tmp_path / "multiwoz21/test.json.zip", "w") as archive:
        archive.writestr("test.json", json.dumps(legacy()))
    corpus = de.load_corpus("multiwoz21", home=tmp_path)
    assert "b014b81" not in corpus.id
    assert any("not the published file" in note for note in corpus.notes)


def test_paths_of_the_user(tmp_path: Path) -> None:
    text = json.dumps(legacy())
    (tmp_path / "test.json").write_text(text)
    (tmp_path / "val.json.gz").write_bytes(gzip.compress(text.encode()))
    with zipfile.ZipFile(tmp_path / "train.json.zip", "w") as archive:
        archive.writestr("train.json", text)
    (tmp_path / "ontology.json").write_text(json.dumps({"hotel-semi-area": ["north"]}))
    one = de.load_corpus(tmp_path / "test.json")
    assert (one.split, len(one.turns), len(one.ontology)) == ("test", 2, 1)
    for split in ("train", "val", "test"):
        assert de.load_corpus(tmp_path, split=split).split == split
    with pytest.raises(DataFileError, match="no files of split dev2"):
        de.load_corpus(tmp_path, split="dev2")


@pytest.mark.parametrize("packed", ["zip", "folder"])
def test_official_release(tmp_path: Path, packed: str) -> None:
    dialogue = legacy()["SNG01.json"]
    raw = {f"SNG0{i}.json": dialogue for i in range(1, 5)}
    members = {
        "data.json": json.dumps(raw),
        "testListFile.txt": "SNG01.json\n",
        "valListFile.txt": "SNG02.json\n",
    }
    if packed == "zip":
        path = tmp_path / "MultiWOZ_2.1.zip"
        with zipfile.ZipFile(path, "w") as archive:
            for name, text in members.items():
                archive.writestr(f"MultiWOZ_2.1/{name}", text)
    else:
        path = tmp_path
        for name, text in members.items():
            (path / name).write_text(text)
    splits = {
        s: de.load_corpus(path, split=s).dialogues["dialogue_id"].tolist() for s in ("train", "val", "test")
    }
    assert splits == {"train": ["sng03", "sng04"], "val": ["sng02"], "test": ["sng01"]}
    with pytest.raises(UnknownNameError, match="split"):
        de.load_corpus(path, split="extra")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty"),
        (b'{"a": ', "broken JSON at line 1, column"),
        (b"\xff{}", "not UTF-8 at byte 0"),
        (b"[1]", "unknown corpus format"),
        (b'{"a": {"turns": []}}', "expected dialogues of MultiWOZ"),
        (b"PK\x03\x04 no zip", "broken zip file"),
        (b"\x1f\x8b no gzip", "broken gzip file"),
    ],
)
def test_files_of_the_wrong_kind(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "test.json"
    path.write_bytes(content)
    with pytest.raises((CorpusError, DataFileError)) as caught:
        de.load_corpus(path)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_unknown_names() -> None:
    with pytest.raises(UnknownNameError, match="unknown corpus 'multiwoz2': did you mean multiwoz"):
        de.load_corpus("multiwoz2")
    with pytest.raises(UnknownNameError, match="split of multiwoz21 'tset': did you mean test"):
        de.load_corpus("multiwoz21", split="tset")
    with pytest.raises(UnknownNameError, match="gold state"):
        de.load_corpus("crosswoz", gold="final")


def test_ontologies(real_data: Path) -> None:
    for name, slot in (("multiwoz21", ("hotel", "bookday")), ("multiwoz_zh", ("旅馆", "日期"))):
        corpus = de.load_corpus(name, home=real_data)
        pairs = set(map(tuple, corpus.ontology[["domain", "slot"]].values))
        assert slot in pairs
        # Every annotated slot of the states is one the ontology names.
        assert set(map(tuple, corpus.states[["domain", "slot"]].values)) <= pairs


def test_selecting_dialogues_and_display(real_data: Path) -> None:
    corpus = de.load_corpus("crosswoz_en", home=real_data)
    part = corpus.select(["2303"])
    assert part.turns["dialogue_id"].unique().tolist() == ["2303"]
    assert "500 dialogues, 4,238 turns" in repr(corpus)
    assert "b014b81" in corpus._repr_html_()
    with pytest.raises(CorpusError, match="dialogue nobody: no such dialogue"):
        corpus.select(["nobody"])

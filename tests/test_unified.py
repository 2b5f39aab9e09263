"""The reader of ConvLab's unified format on small files, good and broken."""

from __future__ import annotations

import copy

import pytest

from dialogeval.corpora.unified import looks_like, read
from dialogeval.exceptions import CorpusError, UnknownNameError
from dialogeval.tables import COLUMNS

EMPTY = {"hotel": {"area": "", "book day": ""}, "taxi": {"leave at": ""}}
ONTOLOGY = {
    "domains": {
        "hotel": {
            "description": "",
            "slots": {
                "book day": {
                    "description": "",
                    "is_categorical": True,
                    "possible_values": ["friday", "monday"],
                },
                "name": {"description": "", "is_categorical": False, "possible_values": []},
            },
        },
        "general": {"description": "", "slots": {}},
    },
    "intents": {},
    "state": {},
    "dialogue_acts": {},
}


def act(intent, domain, slot="", value="", **span) -> dict:
    return {"intent": intent, "domain": domain, "slot": slot, "value": value, **span}


def acts(categorical=(), non_categorical=(), binary=()) -> dict:
    return {"categorical": [*categorical], "non-categorical": [*non_categorical], "binary": [*binary]}


def talk(dataset: str = "multiwoz21") -> list[dict]:
    first = [
        {
            "speaker": "user",
            "utterance": "a room for friday, up north",
            "dialogue_acts": acts([act("inform", "hotel", "book day", "friday")]),
            "state": {
                "hotel": {"area": "north|centre", "book day": "friday"},
                "taxi": {"leave at": "not mentioned"},
            },
        },
        {
            "speaker": "system",
            "utterance": "The acorn is booked: 7GA .",
            "dialogue_acts": acts(
                non_categorical=[
                    act("inform", "hotel", "name", "acorn", start=4, end=9),
                    act("book", "booking", "ref", "7GA", start=21, end=24),
                    act("inform", "hotel", "phone", "12", start=40, end=42),
                ],
                binary=[act("reqmore", "general")],
            ),
            "db_results": {},
            "booked": {"hotel": [{"name": "acorn"}], "taxi": []},
        },
        {"speaker": "user", "utterance": "bye", "dialogue_acts": acts(), "state": EMPTY},
    ]
    goal = {
        "description": "",
        "inform": {"hotel": {"area": "north", "book day": "friday|monday"}, "police": {}},
        "request": {"hotel": {"phone": ""}, "police": {}},
    }
    second = [
        {"speaker": "user", "utterance": "hi", "dialogue_acts": {}, "state": {}},
        {"speaker": "system", "utterance": "hi", "dialogue_acts": {}, "state": {"hotel": {"area": "x"}}},
        {"speaker": "user", "utterance": "no state"},
        {"speaker": "system", "utterance": "ok"},
    ]
    dialogues = [
        (f"{dataset}-test-0", "test", "SNG1.json", ["hotel", "general"], goal, first),
        (f"{dataset}-test-1", "test", "SNG2.json", [], None, second),
        (f"{dataset}-validation-0", "validation", "SNG3.json", ["taxi"], {}, copy.deepcopy(second[:2])),
    ]
    return [
        {
            "dataset": dataset,
            "data_split": split,
            "dialogue_id": name,
            "original_id": original,
            "domains": domains,
            **({} if goal is None else {"goal": goal}),
            "turns": [{**t, "utt_idx": i} for i, t in enumerate(turns)],
        }
        for name, split, original, domains, goal, turns in dialogues
    ]


def load(raw, split="test", **more):
    return read(raw, name="toy", split=split, file="f.json", **more)


def rows(frame) -> list[tuple]:
    return list(frame.itertuples(index=False, name=None))


def test_states_goals_and_bookings():
    corpus = load(talk())
    first = "multiwoz21-test-0"
    assert rows(corpus.states) == [
        (first, 0, "hotel", "area", "north|centre"),
        (first, 0, "hotel", "bookday", "friday"),
    ]
    assert rows(corpus.goals) == [
        (first, "hotel", "inform", "area", "north"),
        (first, "hotel", "book", "bookday", "friday|monday"),
        (first, "hotel", "request", "phone", ""),
    ]
    assert rows(corpus.bookings) == [(first, 0, "hotel")]
    assert rows(corpus.dialogues) == [
        (first, "SNG1.json", "general+hotel"),
        ("multiwoz21-test-1", "SNG2.json", ""),
    ]
    assert corpus.turns["system"].tolist() == ["The acorn is booked: 7GA .", "", "hi", "ok"]
    assert corpus.turns["turn"].tolist() == [0, 1, 0, 1]
    for note in (
        "1 closing user utterances without an answer, kept with an empty system utterance",
        "1 domains of goals that name no slot, which the table of goals cannot hold",
        "1 spans that lie outside their utterance, left out",
        "1 states beside system utterances, left out",
        "1 user utterances without a state, taken as empty",
    ):
        assert note in corpus.notes


def test_layouts_are_the_slots_annotated_in_the_turn():
    corpus = load(talk())
    slots = {
        n: set(f[["domain", "slot"]].itertuples(index=False, name=None))
        for n, f in corpus.layouts.groupby("layout")
    }
    full = {("hotel", "area"), ("hotel", "bookday"), ("taxi", "leaveat")}
    assert [slots.get(n, set()) for n in corpus.turns["layout"]] == [full, full, set(), set()]


def test_acts_and_spans():
    corpus = load(talk())
    first = "multiwoz21-test-0"
    assert rows(corpus.acts) == [
        (first, 0, "user", "hotel", "inform", "bookday", "friday"),
        (first, 0, "system", "hotel", "inform", "name", "acorn"),
        (first, 0, "system", "booking", "book", "ref", "7GA"),
        (first, 0, "system", "hotel", "inform", "phone", "12"),
        (first, 0, "system", "general", "reqmore", "", ""),
    ]
    assert rows(corpus.spans) == [
        (first, 0, "system", "hotel", "inform", "name", "acorn", 1, 1),
        (first, 0, "system", "booking", "book", "ref", "7GA", 4, 4),
    ]


def test_splits():
    assert load(talk(), "val").dialogues["original_id"].tolist() == ["SNG3.json"]
    assert load(talk(), "validation").dialogues["original_id"].tolist() == ["SNG3.json"]
    assert len(load(talk(), "all").dialogues) == 3
    with pytest.raises(UnknownNameError, match=r"unknown split of f\.json 'train': known: test, validation"):
        load(talk(), "train")


def test_only_multiwoz_slots_lose_their_spaces():
    assert load(talk("woz")).states["slot"].tolist() == ["area", "book day"]
    assert read(talk("x"), name="multiwoz21", split="test").states["slot"].tolist() == ["area", "bookday"]


def test_ontology():
    corpus = load(talk(), ontology=ONTOLOGY)
    assert rows(corpus.ontology) == [("hotel", "bookday", "friday"), ("hotel", "bookday", "monday")]
    for bad in (
        [],
        {"domains": []},
        {"domains": {"hotel": {}}},
        {"x": 1},
        {"domains": {"hotel": {"slots": {"a": 1}}}},
    ):
        if bad:
            with pytest.raises(CorpusError, match=r"^f.json: ontology: expected \{domains"):
                load(talk(), ontology=bad)


def test_ids_of_the_file_where_no_original_is_given():
    raw = talk()
    for dialogue in raw:
        del dialogue["original_id"]
    assert load(raw).dialogues["original_id"].tolist() == ["multiwoz21-test-0", "multiwoz21-test-1"]


def test_columns_and_input_not_changed():
    raw = talk()
    corpus = load(raw, ontology=ONTOLOGY)
    assert raw == talk()
    for kind, names in COLUMNS.items():
        frame = getattr(corpus, kind, None)
        assert frame is None or tuple(frame.columns) == names


def test_looks_like():
    assert looks_like(talk())
    assert not any(looks_like(raw) for raw in (None, {}, [], [{"services": []}], {"a": {"log": []}}, [1]))


def first_turn(raw) -> dict:
    return raw[0]["turns"][0]

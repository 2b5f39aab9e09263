"""The schema-guided reader on small files after MultiWOZ 2.2's schema and SGD, good and broken."""

from __future__ import annotations

import copy
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dialogeval.corpora.schema_guided import looks_like, read
from dialogeval.corpora.utterances import token_span
from dialogeval.exceptions import CorpusError
from dialogeval.tables import COLUMNS, Corpus

SCHEMA = [
    {
        "service_name": "hotel",
        "slots": [
            {"name": "hotel-area", "is_categorical": True, "possible_values": ["north", "south"]},
            {"name": "hotel-bookday", "is_categorical": True, "possible_values": ["friday"]},
            {"name": "hotel-name", "is_categorical": False, "possible_values": []},
            {"name": "hotel-phone", "is_categorical": False},
        ],
        "intents": [{"name": "find_hotel"}],
    },
    {"service_name": "taxi", "slots": [{"name": "taxi-departure", "is_categorical": False}], "intents": []},
]


def state(**slot_values: list[str]) -> dict:
    return {"active_intent": "find", "requested_slots": [], "slot_values": slot_values}


def hotel(values: dict, **more) -> dict:
    return {"service": "hotel", "actions": [], "slots": [], "state": state(**values), **more}


def talk() -> list[dict]:
    """Two dialogues as MultiWOZ 2.2 writes them."""
    name = {"slot": "hotel-name", "start": 14, "exclusive_end": 25, "value": "acorn guest"}
    copied = {"slot": "taxi-departure", "copy_from": "hotel-name", "value": ["acorn guest"]}
    first = [
        ("USER", "A room up north, please.", [hotel({"hotel-area": ["north", "the north", "north"]})]),
        ("SYSTEM", "What about the acorn guest house?", [{"service": "hotel", "slots": [name]}]),
        (
            "USER",
            "Fine, and a taxi from there",
            [
                hotel(
                    {
                        "hotel-area": ["north"],
                        "hotel-name": ["acorn guest"],
                        "hotel-bookday": ["not mentioned"],
                    }
                ),
                {"service": "taxi", "slots": [copied], "state": state(**{"taxi-departure": ["dontcare"]})},
            ],
        ),
        ("SYSTEM", "Done .", []),
    ]
    second = [("USER", "hello", [])]
    return [
        {
            "dialogue_id": f"{name}.json",
            "services": services,
            "turns": [
                {"turn_id": str(i), "speaker": s, "utterance": u, "frames": f}
                for i, (s, u, f) in enumerate(turns)
            ],
        }
        for name, services, turns in (("PMUL1", ["taxi", "hotel"], first), ("SNG2", [], second))
    ]


ACTS = {
    "PMUL1.json": {
        "0": {
            "dialog_act": {"Hotel-Inform": [["area", "north"]]},
            "span_info": [["Hotel-Inform", "area", "north", 10, 15]],
        },
        "1": {
            "dialog_act": {
                "Hotel-Inform": [["name", "acorn"], ["Phone", "?"]],
                "general-reqmore": [["none", "none"]],
            },
            "span_info": [["Hotel-Inform", "name", "acorn", 15, 26], ["Hotel-Inform", "name", "x", 90, 95]],
        },
        "9": {"dialog_act": {}, "span_info": []},
    },
    "PMUL9.json": {"0": {"dialog_act": {}, "span_info": []}},
}


def load(raw, **more) -> Corpus:
    return read(raw, name="toy", split="test", file="f.json", **more)


def rows(frame) -> list[tuple]:
    return list(frame.itertuples(index=False, name=None))


def test_states_and_alternatives():
    corpus = load(talk(), schema=SCHEMA)
    assert rows(corpus.states) == [
        ("pmul1", 0, "hotel", "area", "north"),
        ("pmul1", 1, "hotel", "area", "north"),
        ("pmul1", 1, "hotel", "name", "acorn guest"),
        ("pmul1", 1, "taxi", "departure", "dontcare"),
    ]
    assert rows(corpus.alternatives) == [("pmul1", 0, "hotel", "area", "the north")]
    assert rows(corpus.dialogues) == [("pmul1", "PMUL1.json", "hotel+taxi"), ("sng2", "SNG2.json", "")]
    assert rows(corpus.turns) == [
        ("pmul1", 0, "A room up north, please.", "What about the acorn guest house?", 1),
        ("pmul1", 1, "Fine, and a taxi from there", "Done .", 0),
        ("sng2", 0, "hello", "", 2),
    ]
    assert any(n.startswith("1 closing user utterances without an answer, kept") for n in corpus.notes)
    assert any(
        n.startswith("1 slots in states whose values are empty or not mentioned") for n in corpus.notes
    )
    assert corpus.family == "schema_guided" and corpus.id == "toy/test@unknown"


def test_schema_gives_ontology_and_layout():
    corpus = load(talk(), schema=SCHEMA)
    slots = [("hotel", s) for s in ("area", "bookday", "name", "phone")]
    # Layout 0 is the whole schema; turn 0 has a frame of the hotel only, the other dialogue none.
    every = [*slots, ("taxi", "departure")]
    assert rows(corpus.layouts) == [*[(0, *s) for s in every], *[(1, *s) for s in slots]]
    kinds = ["categorical", "categorical", "free", "free", "free"]
    assert rows(corpus.schema) == [(*s, kind) for s, kind in zip(every, kinds, strict=True)]
    assert rows(corpus.ontology) == [
        ("hotel", "area", "north"),
        ("hotel", "area", "south"),
        ("hotel", "bookday", "friday"),
    ]
    layouts = load(talk()).layouts
    assert rows(layouts[layouts["layout"] == 0]) == [
        (0, "hotel", "area"),
        (0, "hotel", "name"),
        (0, "taxi", "departure"),
    ]
    note = "2 state slots that the schema lacks: hotel-name, taxi-departure"
    small = [{**SCHEMA[0], "slots": SCHEMA[0]["slots"][:2]}]
    assert note in load(talk(), schema=small).notes


def test_spans_of_frames_become_tokens():
    corpus = load(talk(), schema=SCHEMA)
    # Characters 14 to 25 are " acorn gues": the blank in front does not count, "guest" is cut.
    assert rows(corpus.spans) == [("pmul1", 0, "system", "hotel", "", "name", "acorn guest", 3, 4)]
    assert any("1 spans that end within a white-space token" in n for n in corpus.notes)
    assert any("1 slots copied from another slot" in n for n in corpus.notes)
    assert corpus.acts.empty and corpus.goals.empty


def test_acts_of_their_own_file():
    corpus = load(talk(), schema=SCHEMA, dialog_acts=ACTS)
    assert rows(corpus.acts) == [
        ("pmul1", 0, "user", "hotel", "inform", "area", "north"),
        ("pmul1", 0, "system", "hotel", "inform", "name", "acorn"),
        ("pmul1", 0, "system", "hotel", "inform", "phone", "?"),
        ("pmul1", 0, "system", "general", "reqmore", "none", "none"),
    ]
    assert rows(corpus.spans) == [
        ("pmul1", 0, "user", "hotel", "inform", "area", "north", 3, 3),
        ("pmul1", 0, "system", "hotel", "inform", "name", "acorn", 3, 4),
    ]
    for note in (
        "1 spans that end within a white-space token, widened to the whole token",
        "1 spans that lie outside their utterance, left out",
        "1 annotated utterances that the dialogues lack, left out",
        "1 dialogues without dialogue acts",
    ):
        assert note in corpus.notes


def test_sgd_has_acts_and_spans_in_frames_and_lacks_prefixes():
    action = {"act": "INFORM", "slot": "city", "values": ["San Jose"], "canonical_values": ["San Jose"]}
    frame = {"service": "Hotels_1", "actions": [action, {"act": "GOODBYE", "slot": "", "values": []}]}
    frame |= {
        "slots": [{"slot": "city", "start": 18, "exclusive_end": 26}],
        "state": state(city=["San Jose"]),
    }
    other = {"service": "Banks_2", "actions": [], "slots": [], "state": state(amount=["5"])}
    raw = [
        {
            "dialogue_id": "1_00000",
            "services": ["Hotels_1"],
            "turns": [
                {"speaker": "USER", "utterance": "I want a hotel in San Jose", "frames": [frame]},
                {"speaker": "SYSTEM", "utterance": "Bye", "frames": [{"service": "Hotels_1", "slots": []}]},
                {"speaker": "USER", "utterance": "Money", "frames": [other]},
                {"speaker": "SYSTEM", "utterance": "Bye", "frames": []},
            ],
        }
    ]
    corpus = load(raw)
    assert rows(corpus.acts) == [
        ("1_00000", 0, "user", "Hotels_1", "inform", "city", "San Jose"),
        ("1_00000", 0, "user", "Hotels_1", "goodbye", "", ""),
    ]
    assert rows(corpus.spans) == [("1_00000", 0, "user", "Hotels_1", "", "city", "San Jose", 5, 6)]
    assert rows(corpus.states)[-1] == ("1_00000", 1, "Banks_2", "amount", "5")
    assert any(n.startswith("1 turns that lack the frame of a service seen before") for n in corpus.notes)


def test_every_table_has_its_columns_and_input_is_not_changed():
    raw, acts = talk(), copy.deepcopy(ACTS)
    corpus = load(raw, schema=SCHEMA, dialog_acts=acts)
    assert raw == talk() and acts == ACTS
    for kind, names in COLUMNS.items():
        frame = getattr(corpus, kind, None)
        if frame is not None:
            assert tuple(frame.columns) == names
            assert frame.dtypes.map(str).isin({"str", "int64", "string"}).all()


def test_looks_like():
    assert looks_like(talk())
    assert not any(
        looks_like(raw) for raw in (None, {}, [], [{"data_split": "test"}], {"a": {"log": []}}, [1])
    )


@pytest.mark.parametrize("raw", [None, {}, "x", 3, {"dialogue_id": "a"}])
def test_not_a_list(raw):
    with pytest.raises(CorpusError, match=r"^f.json: expected a list of dialogues"):
        load(raw)


@pytest.mark.parametrize(
    "schema", ["x", [1], [{"service_name": "a"}], [{"service_name": "a", "slots": [{}]}], {"a": 1}]
)
def test_broken_schema(schema):
    with pytest.raises(CorpusError, match=r"^f.json: schema: expected a list of services"):
        load(talk(), schema=schema)


@pytest.mark.parametrize(
    "entry", [[], {"dialog_act": {"A-b": [["x"]]}}, {"span_info": [[1, 2]]}, {"dialog_act": {"A": 3}}]
)
def test_broken_acts(entry):
    with pytest.raises(
        CorpusError, match=r"dialogue PMUL1\.json, turn 0: dialogue acts: expected dialog_act"
    ):
        load(talk(), dialog_acts={"PMUL1.json": {"1": entry}}, strict=True)


def test_broken_file_of_acts():
    with pytest.raises(CorpusError, match=r"f.json: dialogue acts: expected \{dialogue id"):
        load(talk(), dialog_acts=[])


@given(st.text(alphabet="ab \u00a0\u3000\n.", max_size=12), st.integers(-2, 14), st.integers(-2, 14))
def test_token_span_covers_exactly_the_tokens_touched(text, start, end):
    found = token_span(text, start, end)
    # Independent truth: number every character's token by walking over the text.
    numbers, token, inside = [], -1, False
    for character in text:
        if character.isspace():
            inside = False
        elif not inside:
            token, inside = token + 1, True
        numbers.append(None if character.isspace() else token)
    valid = 0 <= start < end <= len(text)
    touched = [n for n in numbers[start:end] if n is not None] if valid else []
    if not touched:
        assert found is None
        return
    assert found is not None and found[:2] == (touched[0], touched[-1])
    whole = [i for i, n in enumerate(numbers) if n is not None and touched[0] <= n <= touched[-1]]
    assert (found[2] == "whole") == (whole[0] >= start and whole[-1] < end)


@pytest.mark.parametrize("numbers", [(None, 3), (0, "3"), (0.0, 3), (True, 3), (3, 3), (4, 2), (0, 99)])
def test_token_span_of_nonsense(numbers):
    assert token_span("abc def", *numbers) is None


def test_real_schema(real_data):
    schema = json.loads((real_data / "multiwoz22" / "schema.json").read_text(encoding="utf-8"))
    corpus = load(talk(), schema=schema)
    assert len(corpus.schema) == (corpus.layouts["layout"] == 0).sum() == 61  # as its authors count
    assert set(corpus.layouts["domain"]) == {s["service_name"] for s in schema}
    assert not corpus.layouts["slot"].str.contains("-").any()
    hotel_slots = set(corpus.layouts.loc[corpus.layouts["domain"] == "hotel", "slot"])
    assert {"area", "bookday", "pricerange", "ref"} <= hotel_slots
    assert ("hotel", "area", "centre") in rows(corpus.ontology)
    assert not any("schema lacks" in n for n in corpus.notes)

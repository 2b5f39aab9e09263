"""Ontologies: kinds of values, the three sources, what file and states disagree on, comparisons."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dialogeval.exceptions import CorpusError, DataFileError, UnknownNameError, UsageError
from dialogeval.ontology import Ontology, compare_ontologies, ontology_gaps, ontology_of, value_kind
from dialogeval.tables import Corpus, table

SCHEMA = [
    {
        "service_name": "hotel",
        "slots": [
            {"name": "hotel-area", "possible_values": ["north", "south"], "is_categorical": True},
            {"name": "hotel-name", "is_categorical": False},
        ],
    }
]


def corpus_of(states: list[tuple], ontology: list[tuple] = ()) -> Corpus:
    turns = table("turns", [("d", t, "", "", 0) for t in sorted({s[1] for s in states})])
    return Corpus("toy", turns=turns, states=table("states", states), ontology=table("ontology", ontology))


STATES = [
    ("d", 0, "hotel", "Area", "North"),
    ("d", 1, "hotel", "Area", "north"),
    ("d", 1, "hotel", "stars", "4"),
    ("d", 2, "hotel", "Area", "none"),
    ("d", 2, "hotel", "stars", "dontcare"),
    ("d", 2, "hotel", "parking", "yes"),
]


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        ("time", ["09:15", "9:15", "7pm", "10.30 am", "24:15"]),
        ("time", ["13:45之后", "下午3点", "17:00", "下午3点半"]),
        ("time", ["9:00-17:00", "10:00 - 18:00"]),
        ("number", ["1", "2", "4|5", "none", "dontcare"]),
        ("number", ["4.5", "5分", "$100", "1,000 yuan", "3天"]),
        ("range", ["300-400元", "1000元以上", "免费", "免费"]),
        ("range", ["50-100 yuan", "150 yuan or less", "free", "at least 20 yuan"]),
        ("range", ["4.5分以上", "4分以上", "5分"]),
        ("range", ["1小时 - 2小时", "1小时", "2小时~3小时", "半天"]),
        ("range", ["1 hour-2 hours", "3 days", "2 to 3 hours", "half a day"]),
        ("boolean", ["yes", "no", "free", "dontcare"]),
        ("boolean", ["有", "没有", "免费", "不在意"]),
        ("boolean", ["free"]),
        ("categorical", ["cheap", "moderate", "cheap|moderate", "expensive"]),
        ("categorical", ["便宜的", "中等的或便宜的", "昂贵的"]),
        ("categorical", [f"style{'abcdefghij'[n % 10]}{'abcdefghij'[n // 10]}" for n in range(60)]),
        ("name", [f"the {c}{c} house" for c in "abcdefghijk"]),
        ("name", [f"city hall {chr(97 + n)}" for n in range(26)]),
        ("name", [f"北京{c}花园酒店" for c in "甲乙丙丁戊己庚辛壬癸子丑"]),
        ("free", ["please call the guest before the taxi comes to the door", "no smoking in any of the rooms of the house"]),
        ("free", []),
        ("free", ["", "none", "not mentioned", "未提及", "dontcare", "不在意"]),
    ],
)  # fmt: skip
def test_kinds(kind: str, values: list[str]) -> None:
    assert value_kind(values) == kind


def test_slips_do_not_decide_a_kind() -> None:
    assert value_kind(["4", "3", "north", "west"], [50, 40, 2, 1]) == "number"
    assert value_kind(["4", "3", "north", "west"], [1, 1, 50, 40]) == "categorical"
    assert value_kind(["4", "north"], [0, 0]) == value_kind(["4", "north"])


def test_labels_in_lists_are_no_names() -> None:
    labels = [f"hotel {c} service" for c in "abcdefghijkl"]
    lists = [f"{a}, {b}" for a in labels for b in labels if a < b]
    assert value_kind(labels) == "name"
    assert value_kind(lists) == "categorical"


@given(st.lists(st.text(max_size=12), max_size=15), st.randoms())
def test_kind_knows_no_order(values: list[str], random) -> None:
    mixed = list(values)
    random.shuffle(mixed)
    assert value_kind(values) == value_kind(mixed)
    assert value_kind([*values, "none", "dontcare"]) == value_kind(values)


def test_learned_counts_values_and_uses() -> None:
    ontology = ontology_of(corpus_of(STATES))
    assert ontology.source == "learned"
    assert ontology.slots.values.tolist() == [
        ["hotel", "Area", "categorical", 2, 3, False],
        ["hotel", "parking", "boolean", 1, 1, False],
        ["hotel", "stars", "number", 1, 2, False],
    ]
    assert ontology.values["count"].sum() == len(STATES)
    assert "toy, en, learned: 1 domains, 3 slots, 6 values" in repr(ontology)


def test_names_that_stand_in_other_slots_are_names() -> None:
    places = [f"the {c}{c} house" for c in "abcdefghijklm"]
    states = [("d", n, "taxi", "to", place) for n, place in enumerate(places)]
    states += [("d", n, "hotel", "near", places[n]) for n in range(3)]
    kinds = ontology_of(corpus_of(states)).slots.set_index("slot")["kind"]
    assert kinds.to_dict() == {"near": "name", "to": "name"}


def test_file_and_states_disagree() -> None:
    listed = [("hotel", "Area", "North"), ("hotel", "Area", "south"), ("hotel", "pool", "yes")]
    corpus = corpus_of(STATES, [*listed, ("hotel", "stars", "4"), ("hotel", "stars", "5")])
    ontology = ontology_of(corpus)
    assert ontology.source == "file"
    assert ontology.values["count"].tolist() == [1, 0, 0, 1, 0]
    gaps = ontology_gaps(ontology, corpus)
    # "none" and "dontcare" are no values, and "north" is not spelt as in the file.
    assert gaps.values.tolist() == [
        ["hotel", "parking", "slot is not in the ontology", 1, 1, "yes"],
        ["hotel", "Area", "values are not in the ontology", 1, 1, "north"],
        ["hotel", "pool", "slot is never filled", 0, 0, ""],
    ]
    assert len(ontology.notes) == 3 and "hotel parking" in ontology.notes[0]
    assert ontology_gaps(ontology_of(corpus, "learned"), corpus).empty


def test_shown_as_text() -> None:
    shown = ontology_of(corpus_of([("d", 0, "<b>hotel", "a&b", "x")]))._repr_html_()
    assert "&lt;b&gt;hotel" in shown and "a&amp;b" in shown and "<b>" not in shown


def test_paths_of_schema_ontology_and_corpus(tmp_path: Path) -> None:
    (tmp_path / "schema.json").write_text(json.dumps(SCHEMA))
    schema = ontology_of(tmp_path / "schema.json")
    assert schema.source == "schema"
    assert schema.slots.values.tolist() == [
        ["hotel", "area", "categorical", 2, 0, False],
        ["hotel", "name", "free", 0, 0, True],
    ]
    (tmp_path / "list.json").write_text(json.dumps({"酒店-价格": ["100-200元"], "酒店-名称": ["京华酒店"]}))
    listed = ontology_of(str(tmp_path / "list.json"))
    assert (listed.source, listed.language, listed.slots["kind"].tolist()) == (
        "file",
        "zh",
        ["range", "categorical"],
    )
    user = {
        "speaker": "USER",
        "utterance": "hi",
        "frames": [{"service": "hotel", "state": {"slot_values": {"hotel-area": ["north"]}}}],
    }
    talk = [{"dialogue_id": "A", "services": ["hotel"], "turns": [user]}]
    (tmp_path / "test.json").write_text(json.dumps(talk))
    whole = ontology_of(tmp_path / "test.json")
    assert (whole.source, len(whole.slots), len(whole.notes)) == ("schema", 2, 1)
    assert "hotel name" in whole.notes[0]
    (tmp_path / "schema.json").unlink()
    assert ontology_of(tmp_path / "test.json").source == "learned"


def test_refusals(tmp_path: Path) -> None:
    with pytest.raises(UnknownNameError, match="did you mean learned"):
        ontology_of("sample/multiwoz", "learnt")
    with pytest.raises(UsageError):
        ontology_of(corpus_of(STATES), "file")
    with pytest.raises(UsageError):
        ontology_of("sample/multiwoz", "schema")
    with pytest.raises(UsageError):
        ontology_of(Corpus("toy"))
    with pytest.raises(UnknownNameError, match="unknown corpus"):
        ontology_of(tmp_path / "absent.json")
    (tmp_path / "broken.json").write_text("{")
    with pytest.raises(DataFileError, match=r"broken\.json"):
        ontology_of(tmp_path / "broken.json")
    (tmp_path / "odd.json").write_text(json.dumps([{"service_name": "hotel"}]))
    with pytest.raises(CorpusError):
        ontology_of(tmp_path / "odd.json")


# Comparison -----------------------------------------------------------------------------------

NAMES = st.sampled_from(["area", "Area", "AREA ", "stars", "type"])
LISTS = st.lists(st.tuples(st.sampled_from(["hotel", "Hotel"]), NAMES, st.sampled_from(["a", "A", "b", "c", "none"])), max_size=12)  # fmt: skip


def listed(rows: list[tuple]) -> Ontology:
    return ontology_of(Corpus("toy", ontology=table("ontology", [*rows, ("x", "y", "z")])))


@settings(max_examples=8)
@given(LISTS, LISTS)
def test_comparison_swaps_and_is_exact(one: list[tuple], other: list[tuple]) -> None:
    a, b = listed(one), listed(other)
    there, back = compare_ontologies(a, b), compare_ontologies(b, a)
    swap = {
        "domain": "target_domain",
        "slot": "target_slot",
        "kind": "target_kind",
        "values": "target_values",
    }
    swap |= {new: old for old, new in swap.items()}
    back = back.rename(columns=swap).assign(where=back["where"].map({"a": "b", "b": "a", "both": "both"}))
    keys = ["where", "domain", "slot", "target_domain", "target_slot"]
    left, right = (t[there.columns].sort_values(keys, ignore_index=True) for t in (there, back))
    pd.testing.assert_frame_equal(left, right, check_dtype=False)
    for row in there[there["where"] == "both"].itertuples():
        sets = [
            {v.lower() for d, s, v in rows if (d, s) == pair and v != "none"}
            for rows, pair in (([*one, ("x", "y", "z")], (row.domain, row.slot)),
                               ([*other, ("x", "y", "z")], (row.target_domain, row.target_slot)))
        ]  # fmt: skip
        assert row.shared == len(sets[0] & sets[1])
        if sets[0] | sets[1]:
            assert row.overlap == len(sets[0] & sets[1]) / len(sets[0] | sets[1])
    # Every slot of either stands somewhere, and an ontology agrees with itself.
    assert set(map(tuple, there[["domain", "slot"]].dropna().values)) == set(
        map(tuple, a.slots[["domain", "slot"]].values)
    )
    itself = compare_ontologies(a, a)
    assert (itself["where"] == "both").all()

"""Normalisation of responses, slots, values and times for protocol mwzeval."""

from __future__ import annotations

import csv

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sacremoses import MosesDetokenizer, MosesTokenizer

from dialogeval.mwzeval import (
    mark_placeholders,
    normalize_responses,
    normalize_slot_values,
    normalize_time,
    normalize_value,
    readable_time,
    slot_name,
)
from dialogeval.normalize import lookup
from dialogeval.remarks import all_lines


@pytest.mark.parametrize(
    ("text", "marked"),
    [
        ("The NAME is [value_name] .", "the name is NAME ."),
        ("[hotel_name]s and [hotel_name]-es", "NAME and NAME"),
        ("[Value_Phone]", "PHONE"),
        ("call [taxi_phone", "call [taxi_phone"),
    ],
)
def test_upper_case_is_a_placeholder(text: str, marked: str) -> None:
    assert mark_placeholders([text])[0] == [marked]


def test_placeholder_trouble_is_counted_and_named() -> None:
    texts = ["[hotl_name] is here", "call [taxi_phone", "see you"]
    marked, said = mark_placeholders(texts, "responses")
    assert marked == [" is here", "call [taxi_phone", "see you"]
    assert tuple(all_lines(said)) == (
        "responses: 1 texts with unbalanced square brackets, kept as they stand",
        "responses: unknown placeholder [hotl_name] dropped (once); nearest known: [hotel_name]",
    )


def test_many_unknown_placeholders_are_summed_up() -> None:
    _, said = mark_placeholders([" ".join(f"[unheard_of_{i}]" for i in range(9))])
    assert all_lines(said)[-1] == "responses: 4 more unknown placeholder names dropped"


WORDS = st.sampled_from(
    [
        "the",
        "[hotel_name]",
        "hotel -s",
        "cheap -ly",
        ",",
        ".",
        "it's",
        "don't",
        '"',
        "(",
        ")",
        "5,300",
        "£",
        "e.g.",
    ]
)


@given(st.lists(st.lists(WORDS, max_size=8).map(" ".join), max_size=5))
def test_responses_pass_mosess_tokeniser_and_detokeniser(texts: list[str]) -> None:
    """Against sacremoses, called anew for each text: remembered texts are the same as fresh ones."""
    tokenize, detokenize = MosesTokenizer(lang="en").tokenize, MosesDetokenizer(lang="en").detokenize
    expected = [
        detokenize(tokenize(t.replace("[hotel_name]", "NAME").replace("-s", "").replace("-ly", "")))
        for t in texts
    ]
    assert normalize_responses(texts)[0] == expected


def test_slot_names() -> None:
    names = ["arriveBy", "arrive by", "leaveAt", "leave at", "price range", "Stars", "bookday"]
    assert [slot_name(n) for n in names] == [
        "arrive",
        "arrive",
        "leave",
        "leave",
        "pricerange",
        "stars",
        "bookday",
    ]


@pytest.mark.parametrize(
    ("slot", "value", "normal"),
    [
        ("name", "the junction", "junction theatre"),
        ("departure", "cityrooms", "cityroomz"),
        ("destination", "christ college", "christ's college"),
        ("name", "saint john 's college", "saint john's college"),
        ("name", "a & b&c", "a and b and c"),
        ("food", "portugese", "portuguese"),
        ("food", "the junction", "the junction"),
        ("type", "guest house", "guesthouse"),
        ("internet", "free", "yes"),
        ("parking", "free", "yes"),
        ("pricerange", "free", "free"),
        ("name", "none", "none"),
        ("area", "do n't care", "do n't care"),
        ("leave", "afternoon", "13:00"),
        ("booktime", "1830", "18:30"),
        ("stars", "4", "4"),
        ("people", "9", "9"),
    ],
)
def test_values(slot: str, value: str, normal: str) -> None:
    assert normalize_value(slot, value) == normal


@pytest.mark.parametrize(
    ("time", "normal"),
    [
        *[("afternoon", "13:00"), ("lunch", "12:00"), ("noon", "12:00"), ("morning", "08:00")],
        *[("9:15", "09:15"), ("0915", "09:15"), ("929", "09:29"), ("9", "09:00"), ("17:15", "17:15")],
        *[
            ("9 am", "09:00"),
            ("9pm", "21:00"),
            ("12 am", "00:00"),
            ("12:30 p.m.", "12:30"),
            ("9.15 pm", "21:15"),
        ],
        *[
            ("by 19:00", "19:00"),
            ("after 1345", "13:45"),
            ("after noon", "12:00"),
            ("by", ""),
            ("24:15", "24:15"),
        ],
        *[("10:am", "10:am"), ("18,30", "18,30"), ("none", "none"), ("bypass", "bypass"), ("18:5", "18:5")],
        *[("10:00 10:00", "10:00"), ("21:00 airport", "21:00"), ("three forty five p.m", "15:45")],
    ],
)
def test_times(time: str, normal: str) -> None:
    assert normalize_time(time) == normal


@given(st.integers(0, 23), st.integers(0, 59))
def test_every_time_of_day_is_readable_and_stays(hour: int, minute: int) -> None:
    text = f"{hour:02}:{minute:02}"
    assert (
        normalize_time(text)
        == text
        == normalize_time(f"{hour}:{minute:02}")
        == normalize_time(text.replace(":", ""))
    )
    assert readable_time(text)


@given(st.text(max_size=20))
def test_any_text_is_a_value_and_normal_ones_stay(text: str) -> None:
    for slot in ("pricerange", "area", "leave"):
        once = normalize_value(slot, text)
        assert normalize_value(slot, once) == once


def test_tables_keep_their_order_and_lose_empty_values() -> None:
    rows = [("Hotel", "price range", "cheap"), ("hotel", "name", ""), ("train", "arriveBy", "9")]
    states = pd.DataFrame(rows, columns=["domain", "slot", "value"], dtype="str")
    got = normalize_slot_values(states)
    assert got.values.tolist() == [["hotel", "pricerange", "cheap"], ["train", "arrive", "09:00"]]
    assert states["slot"].tolist() == ["price range", "name", "arriveBy"]


def test_every_row_of_the_project_table_acts() -> None:
    for slot, variant, canonical in lookup("values"):
        slot = {"time": "leave"}.get(slot, slot)
        assert normalize_value(slot, variant) == canonical


def test_the_project_table_has_the_published_facts(real_cases) -> None:
    text = (real_cases / "responses" / "values.csv").read_text(encoding="utf-8")
    published = {(r["slot"], r["variant"], r["canonical"]) for r in csv.DictReader(text.splitlines())}
    assert set(lookup("values")) == published


@given(st.text(max_size=12))
def test_lower_case_is_decided_as_sacremoses_does(text: str) -> None:
    tokenizer = MosesTokenizer(lang="en")
    assert frozenset(tokenizer.IsLower).issuperset(text) == tokenizer.islower(text)

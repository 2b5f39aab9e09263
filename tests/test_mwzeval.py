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
    minutes,
    normalize_responses,
    normalize_time,
    normalize_value,
    slot_name,
)
from dialogeval.normalize import normalize_states
from dialogeval.resources import lookup


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
    assert tuple(said) == (
        "responses: 1 texts with unbalanced square brackets, kept as they stand",
        "responses: unknown placeholder [hotl_name] dropped (once); nearest known: [hotel_name]",
    )


def test_many_unknown_placeholders_are_summed_up() -> None:
    _, said = mark_placeholders([" ".join(f"[unheard_of_{i}]" for i in range(9))])
    assert said[-1] == "responses: 4 more unknown placeholder names dropped"


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
        ("time", "1830", "18:30"),
        ("booktime", "1830", "1830"),
        ("food", " English ", "british"),
        ("area", " North ", " North "),
        ("type", "Guest House", "Guest House"),
        ("stars", "4", "4"),
        ("people", "9", "9"),
    ],
)
def test_values(slot: str, value: str, normal: str) -> None:
    assert normalize_value(slot, value) == normal


@pytest.mark.parametrize(
    ("time", "normal", "counts_as"),
    [
        *[("afternoon", "13:00", 780), ("lunch", "12:00", 720), ("noon", "12:00", 720)],
        *[("morning", "08:00", 480), ("three forty five p.m", "15:45", 945)],
        *[("one o'clock p.m. please", "13:00", 780), ("ten o'clock a.m", "10:00", 600)],
        *[("9:15", "09:15", 555), ("0915", "09:15", 555), ("9", "09:00", 540), ("17:15", "17:15", 1035)],
        *[("18 :00", "18:00", 1080), ("9 : 30", "09:30", 570), ("17:15 am", "17:15", 1035)],
        *[("9 am", "09:00", 540), ("9pm", "21:00", 1260), ("12 am", "12:00", 720), ("11: pm", "23:", None)],
        *[("12:30 p.m.", "24:30", 1470), ("9:15 pm", "21:15", 1275), ("9.15 pm", "9.15", None)],
        *[("by 19:00", "19:00", 1140), ("after 1345", "13:45", 825), ("after 9:30", "09:30", 570)],
        *[("afer 9:30", "09:30", 570), ("by after 9:30?", "09:30", 570), ("12:00.", "12:00", 720)],
        *[("after noon", "noon", None), ("by", "00:00", 0), ("after", "00:00", 0), ("?", "", None)],
        *[("24:15", "24:15", 1455), ("929", "929:00", None), ("10:am", "10:", None)],
        *[("10.30", "10.30", None), ("18,30", "18,30", None), ("none", "none", None), ("18:5", "18:5", None)],
        *[("10:00 10:00", "10:0010:00", 610), ("21:00 airport", "21:00airport", 1260)],
    ],
)
def test_times(time: str, normal: str, counts_as: int | None) -> None:
    assert normalize_time(time) == normal
    assert minutes(normal) == counts_as


@given(st.integers(0, 23), st.integers(0, 59))
def test_every_time_of_day_is_readable_and_stays(hour: int, minute: int) -> None:
    text = f"{hour:02}:{minute:02}"
    forms = (text, f"{hour}:{minute:02}", text.replace(":", ""), text.replace(":", " : "), f"after {text}")
    assert {normalize_time(form) for form in forms} == {text}
    assert minutes(text) == 60 * hour + minute


@given(st.text(max_size=20))
def test_any_text_is_a_value_and_normal_ones_stay(text: str) -> None:
    for slot in ("pricerange", "area", "food"):
        once = normalize_value(slot, text)
        assert normalize_value(slot, once) == once
    minutes(normalize_value("leave", text))


def test_states_keep_their_order_and_every_value() -> None:
    rows = [
        ("hotel", "price range", "cheap"),
        ("hotel", "name", ""),
        ("train", "arriveBy", "9"),
        ("x", "y", "none"),
    ]
    states = pd.DataFrame(rows, columns=["domain", "slot", "value"], dtype="str")
    got = normalize_states(states, ("slots:mwzeval", "values:mwzeval"))
    assert got.values.tolist() == [
        ["hotel", "pricerange", "cheap"],
        ["hotel", "name", ""],
        ["train", "arrive", "09:00"],
        ["x", "y", "none"],
    ]
    assert states["slot"].tolist() == ["price range", "name", "arriveBy", "y"]
    # What a step of the user's empties goes all the same.
    fewer = normalize_states(states, ("none:drop", "slots:mwzeval", "values:mwzeval"))
    assert fewer["slot"].tolist() == ["pricerange", "name", "arrive"]
    assert normalize_states(states[:0], ("values:mwzeval",)).empty


def test_every_row_of_the_project_table_acts() -> None:
    for slot, variant, canonical in lookup("values"):
        slot = {"time": "leave"}.get(slot, slot)
        assert normalize_value(slot, variant) == canonical


@pytest.mark.parametrize("name", ["values", "placeholders"])
def test_the_tables_have_the_published_facts_and_no_others(real_cases, name: str) -> None:
    text = (real_cases / "responses" / f"{name}.csv").read_text(encoding="utf-8")
    published = {
        tuple(v for k, v in row.items() if k != "from_domain_list")
        for row in csv.DictReader(text.splitlines())
    }
    assert set(lookup(name)) == published


def test_placeholders_that_only_the_project_knows_are_dropped_as_the_scorer_does() -> None:
    marked, said = mark_placeholders(["[taxi_plate] is your [value_rating]"])
    assert marked == [" is your "]
    assert "unknown placeholder [taxi_plate] dropped" in " ".join(said)


@given(st.text(max_size=12))
def test_lower_case_is_decided_as_sacremoses_does(text: str) -> None:
    tokenizer = MosesTokenizer(lang="en")
    assert frozenset(tokenizer.IsLower).issuperset(text) == tokenizer.islower(text)

"""Normalisation steps: each alone by example, idempotence, order, and what the signature says of them."""

from __future__ import annotations

import string

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dialogeval.exceptions import UnknownNameError
from dialogeval.normalize import (
    NOT_FILLED,
    SLOT_STEPS,
    STEPS,
    check_steps,
    describe_steps,
    normalize_slot,
    normalize_states,
    normalize_value,
)
from dialogeval.resources import lookup
from dialogeval.tables import table

EVERY = [f"{name}:{choice}" for name, choices in STEPS.items() for choice in choices]

#: Step, then value→what becomes of it.
EXAMPLES = """
case:lower | North→north | DÍA→día | 北京→北京 | A B→a b
space:strip | a b →a b | a  b→a  b
space:collapse | a  b →a b | a\u3000b→a b
space:remove | a  b →ab | 9 : 15→9:15
none:drop | none→ | None → | nonesuch→nonesuch | not mentioned→not mentioned
dontcare:unify | dontcare→dontcare | do n't care→dontcare | Don't care→dontcare | do not care→dontcare
dontcare:unify | does not matter→dontcare | any→dontcare | 不在意→dontcare | anything→anything | any area→any area
dontcare:drop | dontcare→ | don't care→ | any→ | many→many
time:hhmm | 9:15→09:15 | 18 :00→18:00 | 9 : 30 pm→21:30 | 9 . 30→9 . 30 | 09:15→09:15 | 9.15→09:15 | 0915→09:15
time:hhmm | 9:15 am→09:15 | 9:15pm→21:15 | 12 am→00:00 | 12 p.m.→12:00 | 9 am→09:00 | 24:00→24:00 | 9:75→9:75
time:hhmm | 9→9 | after 9:15→after 9:15
article:drop | the inn→inn | The Inn→Inn | the the→the | theatre→theatre | at the inn→at the inn
spelling:unify | center→centre | centers→centers | acorn guest house→acorn guesthouse | a & b→a and b | a&b→a&b
punctuation:drop | saint john's→saint johns | a - b→a b | 09:15→09:15 | ali baba.→ali baba
map:dstc9 | none→ | free admission→free admission | 是的→是的
map:dstc9-crosswoz | none→ | free admission→free | 是的→是的 | 未提及→未提及
map:dstc9-multiwoz | none→ | 未提及→ | 是的→有 | 不是→没有 | free admission→free admission
"""
CASES = [line.split(" | ") for line in EXAMPLES.strip().splitlines()]


@pytest.mark.parametrize(("step", "examples"), [(step, cells) for step, *cells in CASES])
def test_each_step_alone(step: str, examples: list[str]) -> None:
    pairs = dict(cell.split("→") for cell in examples)
    assert {value: normalize_value(value, [step]) for value in pairs} == pairs


def test_every_step_has_examples_above() -> None:
    assert {step for step, *_ in CASES} == set(EVERY)


words = [w for row in (*lookup("spellings"), *lookup("value_maps")) for w in row if w]
pieces = [*words, "the", "The ", "any", "none", "None", "do n't care"]
pieces += ["9:15", "0915", "am", "pm", " ", "\t", "'", "-"]
texts = st.one_of(
    st.text(max_size=12),
    st.lists(st.sampled_from(pieces), max_size=5).map("".join),
    st.lists(st.sampled_from(pieces), max_size=5).map(" ".join),
    st.text(alphabet=string.digits + ":. apm", max_size=9),
)


@pytest.mark.parametrize("step", EVERY)
@given(value=texts)
def test_a_step_done_twice_is_done_once(step: str, value: str) -> None:
    once = normalize_value(value, [step])
    assert normalize_value(once, [step]) == once


@given(st.text(alphabet="aAbB_ e", min_size=1, max_size=8), st.sampled_from(["hotel", "train", "x"]))
def test_slot_steps_done_twice_are_done_once(slot: str, domain: str) -> None:
    known = {alias for _, alias, _ in lookup("slot_aliases")} | {
        name for _, _, name in lookup("slot_aliases")
    }
    for name in (slot, *known):
        for choice in SLOT_STEPS["slots"]:
            once = normalize_slot(domain, name, [f"slots:{choice}"])
            assert normalize_slot(domain, once, [f"slots:{choice}"]) == once


@pytest.mark.parametrize(
    ("domain", "names", "known"),
    [
        ("train", "arrive by|arriveBy|arrive", "arriveby"),
        ("train", "leaveAt|leave_at", "leaveat"),
        ("train", "day", "day"),
        ("hotel", "price range|price", "pricerange"),
        ("hotel", "stay|book stay", "bookstay"),
        ("hotel", "day", "bookday"),
        ("restaurant", "time", "booktime"),
        ("taxi", "time", "time"),
    ],
)
def test_slot_aliases(domain: str, names: str, known: str) -> None:
    assert {normalize_slot(domain, name, ["slots:multiwoz22"]) for name in names.split("|")} == {known}


def test_slot_names_are_folded_only_where_asked() -> None:
    assert normalize_slot("hotel", "Price Range", ["slots:plain"]) == "pricerange"
    assert normalize_slot("hotel", "Price Range", ["slots:keep", "case:lower"]) == "Price Range"


def test_the_order_of_steps_is_the_order_of_the_list() -> None:
    value = "None "
    assert normalize_value(value, ["case:lower", "map:dstc9", "space:remove"]) == "none"
    assert normalize_value(value, ["case:lower", "space:remove", "map:dstc9"]) == ""
    assert normalize_value(value, ["map:dstc9", "case:lower", "space:remove"]) == "none"
    # The article is found only where white space is gone before it.
    assert normalize_value(" the inn", ["article:drop", "space:strip"]) == "the inn"
    assert normalize_value(" the inn", ["space:strip", "article:drop"]) == "inn"


@pytest.mark.parametrize(
    ("steps", "text"),
    [
        ([], "case:keep|space:keep"),
        (["none:drop"], "case:keep|space:keep|none:drop"),
        (["case:lower", "none:drop"], "case:lower|space:keep|none:drop"),
        (["none:drop", "case:lower"], "space:keep|none:drop|case:lower"),
        (["case:lower", "map:dstc9", "space:remove"], "case:lower|map:dstc9|space:remove"),
        (["space:remove", "case:lower", "map:dstc9"], "case:lower|space:remove|map:dstc9"),
        (["space:strip", "map:dstc9", "space:remove"], "case:keep|map:dstc9|space:strip+remove"),
        (["case:keep", "time:keep"], "case:keep|space:keep"),
        (["slots:multiwoz22", "time:hhmm"], "case:keep|space:keep|slots:multiwoz22|time:hhmm"),
    ],
)
def test_what_the_signature_says(steps: list[str], text: str) -> None:
    assert "|".join(f"{k}:{v}" for k, v in describe_steps(steps).items()) == text


@pytest.mark.parametrize("step", ["cases:lower", "case:upper", "case", "slots:multiwoz"])
def test_unknown_steps(step: str) -> None:
    for call in (check_steps, describe_steps, lambda s: normalize_slot("a", "b", s)):
        with pytest.raises(UnknownNameError):
            call([step])


ROWS = [
    ("d", 0, "hotel", "price", "North "),
    ("d", 0, "hotel", "area", "none"),
    ("d", 1, "hotel", "name", "not mentioned"),
    ("d", 1, "hotel", "stars", ""),
    ("e", 0, "train", "Arrive By", "9:15"),
]


def test_tables() -> None:
    states = table("states", ROWS)
    before = states.copy(deep=True)
    assert normalize_states(states, ())["value"].tolist() == ["North ", "none", "9:15"]
    done = normalize_states(
        states, ("case:lower", "space:strip", "none:drop", "time:hhmm", "slots:multiwoz22")
    )
    assert done.to_numpy().tolist() == [
        ["d", 0, "hotel", "pricerange", "north"],
        ["e", 0, "train", "arriveby", "09:15"],
    ]
    assert dict(done.dtypes) == dict(states.dtypes)
    assert done.index.tolist() == [0, 1]
    pd.testing.assert_frame_equal(states, before)
    assert len(normalize_states(table("states"), EVERY)) == 0


def test_what_is_not_filled() -> None:
    states = table("states", [("d", 0, "hotel", "name", v) for v in (*NOT_FILLED, "none", "dontcare")])
    assert normalize_states(states, ())["value"].tolist() == ["none", "dontcare"]
    # A protocol with its own table of what means "no value" is taken at its word.
    for which, kept in (("-multiwoz", []), ("-crosswoz", ["未提及"]), ("", ["未提及"])):
        left = normalize_states(states, (f"map:dstc9{which}",))["value"].tolist()
        assert left == ["not mentioned", *kept, "dontcare"]
    assert normalize_states(states, ("map:keep",))["value"].tolist() == ["none", "dontcare"]


@given(st.lists(texts, max_size=8), st.lists(st.sampled_from(EVERY), max_size=4))
def test_tables_do_what_single_values_do(values: list[str], steps: list[str]) -> None:
    states = table("states", [("d", t, "hotel", "name", v) for t, v in enumerate(values)])
    absent = ("",) if any(step.startswith("map:") for step in steps) else NOT_FILLED
    wanted = [(t, normalize_value(v, steps)) for t, v in enumerate(values) if v not in absent]
    done = normalize_states(states, steps)
    assert list(zip(done["turn"], done["value"], strict=True)) == [(t, v) for t, v in wanted if v]

"""Writing and converting: what is written reads back equal, and what would be lost is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from made import predictions, turn

from dialogeval.exceptions import DataFileError, UnknownNameError, UsageError
from dialogeval.predictions.load import FORMATS, load_predictions
from dialogeval.predictions.writers import convert, lost, save_predictions
from dialogeval.tables import Predictions

text = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
word = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="-"), min_size=1, max_size=6
).filter(str.strip)
ids = st.lists(
    word.filter(lambda w: w.strip() and w.strip().lower().removesuffix(".json").strip()),
    min_size=1,
    max_size=3,
    unique_by=lambda w: w.strip().lower().removesuffix(".json"),
)
STATE_ONLY, GOLD = {"dstc9", "trade", "convlab", "gt-pr"}, {"pairs", "trade", "convlab", "gt-pr"}
PATHS = [(f, "a.json") for f in FORMATS] + [
    (f, f"a{e}") for f in ("turns", "pairs") for e in (".jsonl.gz", ".csv", ".parquet", ".csv.zip")
]


@st.composite
def made_for(draw, format):
    """Predictions that the format can hold, values and texts of every kind included."""
    several = format in ("turns", "pairs", "trade", "gt-pr")
    # TRADE writes a triple as one string, in which names are words.
    name_of = st.from_regex(r"\A[a-z]{1,5}\Z") if format == "trade" else word
    state = st.lists(
        st.tuples(name_of, name_of, text), max_size=4, unique_by=None if several else lambda t: t[:2]
    )
    with_state = format in STATE_ONLY or draw(st.booleans())
    with_response = format not in STATE_ONLY and (not with_state or draw(st.booleans()))
    with_domains = format in ("turns", "mwzeval") and draw(st.booleans())
    with_gold = format == "pairs" or (format in GOLD and draw(st.booleans()))
    cells = []
    for name in draw(ids):
        for number in range(draw(st.integers(1, 3))):
            cells.append(
                turn(
                    name,
                    number,
                    state=[list(t) for t in draw(state)] if with_state else None,
                    response=draw(text) if with_response else None,
                    active_domains=draw(st.lists(word, max_size=2)) if with_domains else None,
                    gold=[list(t) for t in draw(state)] if with_gold and with_state else None,
                    reference=draw(text) if with_gold and with_response else None,
                    user=draw(text) if format == "convlab" and with_gold else None,
                )
            )
    return predictions(cells, format=format)


def by_turn(frame: pd.DataFrame | None) -> list | None:
    """Rows of a table; the order of one state's triples is no information."""
    if frame is None:
        return None
    return sorted(frame.drop(columns="layout", errors="ignore").itertuples(index=False, name=None))


def content(p: Predictions) -> dict:
    out = {part: by_turn(getattr(p, part)) for part in ("turns", "states", "responses", "active_domains")}
    out["order"] = p.turns.to_numpy().tolist()
    out["ids"] = p.original_ids
    if p.gold is not None:
        laid_out = p.gold.turns.merge(p.gold.layouts, on="layout")
        out["gold"] = [by_turn(p.gold.turns), by_turn(p.gold.states), by_turn(laid_out)]
    return out


@pytest.mark.parametrize(("format", "name"), PATHS)
def test_written_predictions_read_back_equal(tmp_path, format, name):
    @settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
    @given(made=made_for(format))
    def check(made):
        path = save_predictions(made, tmp_path / name, format)
        first = path.read_bytes()
        got = load_predictions(path, format=format)
        assert content(got) == content(made)
        assert save_predictions(got, path, format).read_bytes() == first

    check()


@pytest.mark.parametrize("format", FORMATS)
def test_written_predictions_are_recognised(tmp_path, format):
    gold = [["d", "s", "y"]] if format in GOLD else None
    made = predictions([turn("A", 0, state=[["d", "s", "x"]], gold=gold)], format=format)
    assert load_predictions(save_predictions(made, tmp_path / "a.json", format)).format == format


@pytest.mark.parametrize("chain", [["turns", "mwzeval"], ["mwzeval", "turns"]])
def test_real_systems_survive_conversion(real_data, tmp_path, chain):
    original = load_predictions(real_data / "predictions" / "multiwoz" / "uniconv.json")
    path = original
    for step, format in enumerate(chain):
        path = convert(path, tmp_path / f"{step}.json.gz", format)
    assert content(load_predictions(path)) == content(original)


def test_real_submission_survives_conversion(real_cases, tmp_path):
    source = real_cases / "dstc9" / "crosswoz_en_test.submission.json.gz"
    table = convert(source, tmp_path / "a.parquet", "turns")
    back = convert(table, tmp_path / "b.json", "dstc9")
    assert content(load_predictions(back)) == content(load_predictions(source))


def make(**fields) -> Predictions:
    fields = {"state": {"d": {"s": "x"}}} | fields
    return predictions([turn("a", 0, **fields)], name="mine", format="")


LOSSES = [
    (make(response="hi"), "dstc9", "it would lose responses"),
    (make(active_domains=["d"]), "pairs", "carries no gold"),
    (make(active_domains=["d"]), "gt-pr", "it would lose active domains"),
    (make(gold={}, response="hi", reference="ho"), "trade", "it would lose responses, references"),
    (make(gold={"d": {"s": "x"}}), "mwzeval", "it would lose gold states"),
    (make(gold={"d": {"s": "x"}}), "turns", "it would lose gold states"),
    (make(gold={}, user="hi"), "pairs", "it would lose user utterances"),
    (make(state=[["d", "s", "x"], ["d", "s", "y"]]), "dstc9", "it would lose 1 second values of one slot"),
    (
        make(gold=[["d", "s", "x"], ["d", "s", "y"]]),
        "convlab",
        "it would lose 1 second gold values of one slot",
    ),
    (make(state={"a-b": {"s": "x"}}), "trade", "it would lose names with a hyphen ('a-b')"),
    (make(state=None, response="hi"), "dstc9", "mine has no states to write in format dstc9"),
    (Predictions("mine"), "turns", "mine has nothing to write"),
]


@pytest.mark.parametrize(("made", "format", "line"), LOSSES)
def test_losses_are_refused_and_nothing_is_written(tmp_path, made, format, line):
    with pytest.raises(UsageError) as caught:
        save_predictions(made, tmp_path / "a.json", format)
    assert line in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_turn_gaps(tmp_path):
    made = predictions([turn("a", t, response="x") for t in (0, 1, 3)], name="mine", format="turns")
    assert lost(made, "turns") == []
    assert lost(made, "mwzeval") == ["the turn numbers of 1 dialogues that skip some (the first is a)"]


def test_paths_and_names(tmp_path):
    with pytest.raises(UnknownNameError, match="unknown format 'dstc'"):
        save_predictions(make(), tmp_path / "a.json", "dstc")
    with pytest.raises(UsageError, match="format dstc9 is JSON"):
        save_predictions(make(), tmp_path / "a.csv", "dstc9")
    with pytest.raises(DataFileError, match="cannot be written"):
        save_predictions(make(), tmp_path / "none" / "a.json", "dstc9")


def test_an_existing_file_is_replaced_whole(tmp_path):
    path = tmp_path / "a.json"
    path.write_text("old")
    assert save_predictions(make(), path, "dstc9") == path
    assert json.loads(path.read_bytes()) == {"a": [{"d": {"s": "x"}}]}
    assert [p.name for p in Path(tmp_path).iterdir()] == ["a.json"]

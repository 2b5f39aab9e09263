"""The tables: dtypes, checks at the border, coverage of their schema."""

from __future__ import annotations

import pandas as pd
import pytest

import dialogeval as de
from dialogeval.exceptions import PredictionError
from dialogeval.tables import COLUMNS, Corpus, canonical_id, check_table, table


@pytest.mark.parametrize("kind", COLUMNS)
def test_empty_tables_have_their_dtypes(kind: str) -> None:
    frame = table(kind)
    assert tuple(frame.columns) == COLUMNS[kind]
    for name, dtype in frame.dtypes.items():
        assert pd.api.types.is_integer_dtype(dtype) == (name in ("turn", "layout", "start", "end"))


def test_ids() -> None:
    assert {canonical_id(i) for i in ("PMUL4648", "PMUL4648.json", "pmul4648", " pmul4648.JSON ")} == {
        "pmul4648"
    }


def frame(**changes: object) -> pd.DataFrame:
    columns = {"dialogue_id": ["A.json", "b"], "turn": [0, 1], "response": ["x", "y"]} | changes
    return pd.DataFrame(columns)


def test_check_accepts_any_order_and_more_columns_and_changes_nothing() -> None:
    given = frame(extra=[1, 2])[["extra", "response", "turn", "dialogue_id"]]
    before = given.copy()
    checked = check_table("responses", given)
    assert checked.values.tolist() == [["a", 0, "x"], ["b", 1, "y"]]
    pd.testing.assert_frame_equal(given, before)
    assert check_table("turns", frame().assign(user="", system=""))["layout"].tolist() == [0, 0]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            frame().drop(columns="turn"),
            "table responses lacks the column turn: expected dialogue_id, turn, response",
        ),
        (frame(response=["x", None]), "column response, row 1 is empty (NaN); fill it in"),
        (frame(turn=[0, -1]), "column turn: expected whole numbers from 0, got a number -1"),
        (frame(turn=[0, 1.5]), "column turn: expected whole numbers from 0"),
        (frame(turn=["a", 1]), "column turn: expected whole numbers from 0, got a string 'a'"),
        (frame(dialogue_id=["a", "A.json"], turn=[1, 1]), "dialogue a, turn 1: stands twice; keep one row"),
    ],
)
def test_check_refuses(given: pd.DataFrame, message: str) -> None:
    with pytest.raises(PredictionError) as caught:
        check_table("responses", given, "mine")
    assert str(caught.value).startswith("mine: ")
    assert message in str(caught.value)


def test_names_of_a_corpus_are_escaped() -> None:
    corpus = Corpus("<script>", notes=("<b>note</b>",))
    assert "<script>" not in corpus._repr_html_()
    assert "<b>note" not in corpus._repr_html_()


def test_public_names_exist_and_import_stays_lazy() -> None:
    assert all(hasattr(de, name) for name in de.__all__)
    assert set(de.__all__) <= set(dir(de))
    with pytest.raises(AttributeError, match="scoer"):
        de.scoer

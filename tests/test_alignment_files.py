"""Alignment files: each kind of mistake gets one line, and what is saved is read again."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dialogeval as de
from dialogeval.exceptions import AlignmentError, DataFileError, DialogevalError, UnknownNameError, UsageError
from dialogeval.ontology.alignment import COLUMNS, check_alignment, load_alignment, save_alignment
from dialogeval.ontology.mapping import map_states

HEAD = "domain,slot,target_domain,target_slot,relation,converter,note\n"
GOOD = "hotel,area,Hotel,district,same,,\n"
DATA = Path(de.__file__).parent / "data" / "alignments"


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    def function(text: str | bytes, **tables: str) -> Path:
        path = tmp_path / "a__b.csv"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        (tmp_path / "values").mkdir(exist_ok=True)
        for name, content in tables.items():
            (tmp_path / "values" / f"{name}.csv").write_text(f"value,target_value\n{content}")
        return path

    return function


BAD: dict[str, tuple[str | bytes, str]] = {
    "not UTF-8": ((HEAD + GOOD).encode() + b"hotel,caf\xe9,Hotel,x,same,,\n", "line 3 is not UTF-8; save"),
    "empty": ("", "is empty"),
    "no rows": (HEAD, "has no rows: expected a row for each pair"),
    "missing column": (
        "domain,slot,target_domain,relation\nx,y,z,same\n",
        "columns are wrong: expected domain",
    ),
    "unknown column": (
        HEAD.replace("note", "remark") + GOOD,
        "got domain, slot, .* remark; mend the first line",
    ),
    "column twice": (HEAD.replace("note", "slot") + GOOD, "columns are wrong"),
    "cells": (HEAD + "hotel,area,Hotel,district,same,,a,b\n", "line 2: expected 7 cells .* got 8 cells"),
    "long cell": (
        HEAD + GOOD.replace("area", "a" * 1001),
        "line 2: expected .* got 7 cells, 1,001 characters",
    ),
    "quotes": (HEAD + '"hotel,area\n', r"line \d is no CSV"),
    "relation": (
        HEAD + GOOD.replace("same", "sane"),
        "line 2: unknown relation: .* got 'sane'; did you mean same",
    ),
    "converter": (
        HEAD + GOOD.replace("same,", "same,yuan_fr"),
        "line 2: unknown converter: .* got 'yuan_fr'; did",
    ),
    "table": (
        HEAD + GOOD.replace("same,", "same,values:ares"),
        "line 2: unknown value table 'ares': .* tables areas",
    ),
    "outside": (HEAD + GOOD.replace("same,", "same,values:../../x"), "line 2: bad name of a value table"),
    "absolute": (HEAD + GOOD.replace("same,", "same,list:/etc/passwd"), "line 2: bad name of a value table"),
    "inline": (
        HEAD + GOOD.replace("same,", "same,a=b|c"),
        "line 2: converter: expected .* 'c' is not value=target",
    ),
    "inline round": (
        HEAD + GOOD.replace("same,", "same,a=b|b=a"),
        "line 2: values lead round in a circle, got a > b",
    ),
    "half a target": (
        HEAD + "hotel,area,Hotel,,same,,\n",
        "line 2: relation same: expected a slot on both sides",
    ),
    "none with target": (
        HEAD + GOOD.replace("same", "none"),
        "relation none: expected a slot on one side only",
    ),
    "friend with converter": (
        HEAD + GOOD.replace("same,", "false friend,open"),
        "line 2: relation false friend: expected no converter, as nothing is mapped, got 'open'",
    ),
    "two targets": (
        HEAD + GOOD + "hotel,area,Hotel,quarter,same,,\n",
        "line 3: two targets for hotel/area: .* got Hotel/district \\(line 2\\) and Hotel/quarter",
    ),
    "two targets, related": (
        HEAD + GOOD.replace("same", "related") * 1 + "hotel,Area,h,q,related,,\n",
        "two targets",
    ),
    "row twice": (
        HEAD + GOOD + GOOD.upper().replace("SAME", "related"),
        "line 3: the same pair of slots as line 2",
    ),
    "circle": (
        HEAD + "h,a,h,b,same,,\nh,b,h,c,same,,\nh,c,H,A,same,,\n",
        "line 4: slots lead round in a circle, got h/a > h/b > h/c > h/a",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_a_bad_file_gets_one_line(case: str, write: Callable[..., Path]) -> None:
    text, message = BAD[case]
    path = write(text, areas="north,北\n")
    with pytest.raises((DataFileError, AlignmentError), match=message) as caught:
        load_alignment(path)
    assert str(caught.value).startswith(str(path)) and "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("north,北\nnorth,北\n", "line 3: the same row as line 2"),
        ("a,b\nx,x\nb,c\nc,a\n", "line 5: values lead round in a circle, got a > b > c > a"),
        ("a,\n", "line 2: expected a value on both sides, got 'a' and ''"),
        ("", "has no rows"),
        ("a,b,c\n", "line 2: expected 2 cells"),
    ],
)
def test_a_bad_value_table_gets_one_line(content: str, message: str, write: Callable[..., Path]) -> None:
    path = write(HEAD + GOOD.replace("same,", "same,values:areas"), areas=content)
    with pytest.raises((DataFileError, AlignmentError), match=message) as caught:
        load_alignment(path)
    assert str(caught.value).startswith(str(path.parent / "values" / "areas.csv"))


@given(
    st.binary(max_size=200)
    | st.text("domain,slt_\n\"'|=:\x00", max_size=200).map(lambda t: (HEAD + t).encode())
)
def test_any_bytes_are_read_or_refused(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    path = tmp_path_factory.getbasetemp() / "any__bytes.csv"
    path.write_bytes(content)
    try:
        load_alignment(path)
    except DialogevalError as error:
        assert "\n" not in str(error)


def test_names_and_paths_that_do_not_exist(tmp_path: Path) -> None:
    with pytest.raises(
        UnknownNameError, match="unknown alignment 'multiwoz__crossowz': did you mean multiwoz__cross"
    ):
        load_alignment("multiwoz__crossowz")
    with pytest.raises(DataFileError, match="no such file"):
        load_alignment(tmp_path / "no.csv")


def test_a_file_of_ones_own(write: Callable[..., Path]) -> None:
    rows = "hotel,price,酒店,价格,same,cheap=便宜|dear=贵,\nhotel,area,酒店,区域,same,values:areas,\n"
    path = write("\ufeff" + HEAD + rows, areas="north,北\n")
    alignment = load_alignment(path, target_language="zh")
    assert (alignment.name, alignment.source, alignment.target) == ("a__b", "a", "b")
    table = de.table("states", [("d", 0, "Hotel", "area", "North"), ("d", 0, "hotel", "price", "any")])
    assert map_states(table, alignment)[0]["value"].tolist() == ["北", "不在意"]
    back = de.table("states", [("d", 0, "酒店", "价格", "贵")])
    assert map_states(back, alignment.inverse())[0]["value"].tolist() == ["dear"]
    # Several names of one slot are fine one way; there is no one way back.
    many = load_alignment(write(HEAD + GOOD + "hotel,part,Hotel,district,same,,\n"))
    with pytest.raises(AlignmentError, match="a__b read backwards: row 1: two targets for Hotel/district"):
        many.inverse()


@pytest.mark.parametrize("name", ["multiwoz__multiwoz_zh", "crosswoz_en__crosswoz", "crosswoz_en__multiwoz"])
def test_saved_and_read_again(name: str, tmp_path: Path) -> None:
    alignment = load_alignment(name)
    again = load_alignment(save_alignment(alignment, tmp_path / f"{name}.csv"))
    assert again.id == alignment.id
    pd.testing.assert_frame_equal(again.rows, alignment.rows)
    with pytest.raises(UsageError, match="cannot save: expected an alignment of one step"):
        save_alignment(load_alignment("multiwoz__crosswoz"), tmp_path / "x.csv")


def test_the_checksum_knows_content_and_not_order(write: Callable[..., Path]) -> None:
    rows = [GOOD, "hotel,price,Hotel,price,same,values:prices,\n", "hotel,x,,,none,,\n"]
    prices = ["cheap,low\n", "dear,high\n"]
    first = load_alignment(write(HEAD + "".join(rows), prices="".join(prices))).checksum
    assert len(first) == 7
    other_order = write(HEAD + "".join(reversed(rows)), prices="".join(reversed(prices)))
    assert load_alignment(other_order).checksum == first
    noted = HEAD + "".join(rows).replace(",none,,", ",none,,looked at")
    assert load_alignment(write(noted, prices="".join(prices))).checksum == first
    changed = {
        load_alignment(write(HEAD + "".join(rows), prices="cheap,low\ndear,dear\n")).checksum,
        load_alignment(write(HEAD + "".join(rows[:2]), prices="".join(prices))).checksum,
        load_alignment(
            write(HEAD + "".join(rows).replace("same,,", "related,,"), prices="".join(prices))
        ).checksum,
    }
    assert len(changed) == 3 and first not in changed


def test_slots_that_an_ontology_lacks() -> None:
    alignment = load_alignment("multiwoz__crosswoz_en")
    targets = alignment.rows[["target_domain", "target_slot"]].set_axis(["domain", "slot"], axis=1)
    facility = targets.replace("Hotel Facilities", "Hotel Facilities - Gym")
    check_alignment(alignment, alignment.rows, facility)
    with pytest.raises(AlignmentError, match="target has no slot Hotel/rating; did you mean Hotel/ratings"):
        check_alignment(alignment, None, targets.replace("rating", "ratings"))


def test_what_comes_with_the_package_is_documented_and_used() -> None:
    readme = (DATA / "README.md").read_text(encoding="utf-8")
    shipped = sorted(DATA.glob("*.csv"))
    assert len(shipped) == 3 and all(f"`{p.name}`" in readme for p in shipped)
    frames = [pd.read_csv(p, dtype="str", keep_default_na=False) for p in shipped]
    assert all(tuple(f.columns) == COLUMNS for f in frames)
    named = pd.concat(frames)["converter"].str.extract(r"(?:values|list|any):(.+)")[0].dropna()
    assert set(named) == {p.stem for p in (DATA / "values").glob("*.csv")}
    # Between two ontologies of different content every choice says why.
    notes = frames[[p.stem for p in shipped].index("multiwoz__crosswoz_en")]["note"]
    assert (notes != "").all()

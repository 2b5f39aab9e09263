"""Alignment files: each kind of mistake is refused in one line, and what is saved is read again."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dialogeval as de
from dialogeval.exceptions import AlignmentError, DataFileError, DialogevalError, UnknownNameError, UsageError
from dialogeval.ontology.alignment import COLUMNS, check_alignment, save_alignment
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


def changed(old: str, new: str) -> str:
    return HEAD + GOOD.replace(old, new)


#: What is wrong with a file, and the line that the refusal names, where there is one.
BAD: dict[str, tuple[str | bytes, int]] = {
    "not UTF-8": ((HEAD + GOOD).encode() + b"hotel,caf\xe9,Hotel,x,same,,\n", 0),
    "empty": ("", 0),
    "blank": ("\n \n", 0),
    "no rows": (HEAD, 0),
    "missing column": ("domain,slot,target_domain,relation\nx,y,z,same\n", 0),
    "unknown column": (HEAD.replace("note", "remark") + GOOD, 0),
    "column twice": (HEAD.replace("note", "slot") + GOOD, 0),
    "cells": (HEAD + "\n" + GOOD + "hotel,area,Hotel,district,same,,a,b\n", 4),
    "quotes": (HEAD + '"hotel,area\n', 0),
    "relation": (HEAD + "\n" + GOOD.replace("same", "sane"), 3),
    "converter": (changed("same,", "same,yuan_fr"), 2),
    "table": (changed("same,", "same,values:ares"), 2),
    "outside": (changed("same,", "same,values:../../x"), 2),
    "absolute": (changed("same,", "same,list:/etc/passwd"), 2),
    "inline": (changed("same,", "same,a=b|c"), 2),
    "half a target": (HEAD + "hotel,area,Hotel,,same,,\n", 2),
    "none with target": (changed("same", "none"), 2),
    "friend with converter": (changed("same,", "false friend,open"), 2),
    "two targets": (HEAD + GOOD + "hotel,area,Hotel,quarter,same,,\n", 3),
    "two targets, related": (changed("same", "related") + "hotel,Area,h,q,related,,\n", 3),
    "row twice": (HEAD + GOOD + GOOD.upper().replace("SAME", "related"), 3),
}


@pytest.mark.parametrize("case", BAD)
def test_a_bad_file_gets_one_line(case: str, write: Callable[..., Path]) -> None:
    text, line = BAD[case]
    path = write(text, areas="north,北\n")
    with pytest.raises((DataFileError, AlignmentError)) as caught:
        de.load_alignment(path)
    assert str(caught.value).startswith(str(path)) and "\n" not in str(caught.value)
    assert not line or f"line {line}" in str(caught.value)


@pytest.mark.parametrize("content", ["north,北\nnorth,北\n", "a,\n", "", "a,b,c\n"])
def test_a_bad_value_table_gets_one_line(content: str, write: Callable[..., Path]) -> None:
    path = write(changed("same,", "same,values:areas"), areas=content)
    with pytest.raises((DataFileError, AlignmentError)) as caught:
        de.load_alignment(path)
    assert str(caught.value).startswith(str(path.parent / "values" / "areas.csv"))


@given(
    st.binary(max_size=200)
    | st.text("domain,slt_\n\"'|=:\x00", max_size=200).map(lambda t: (HEAD + t).encode())
)
def test_any_bytes_are_read_or_refused(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    path = tmp_path_factory.getbasetemp() / "any__bytes.csv"
    path.write_bytes(content)
    try:
        de.load_alignment(path)
    except DialogevalError as error:
        assert "\n" not in str(error)


def test_names_and_paths_that_do_not_exist(tmp_path: Path) -> None:
    with pytest.raises(UnknownNameError, match="did you mean multiwoz__crosswoz"):
        de.load_alignment("multiwoz__crossowz")
    with pytest.raises(DataFileError):
        de.load_alignment(tmp_path / "no.csv")
    with pytest.raises(UsageError):
        de.load_alignment(5)  # type: ignore[arg-type]


def test_a_file_of_ones_own(write: Callable[..., Path]) -> None:
    rows = "hotel,price,酒店,价格,same,cheap=便宜|dear=贵,\nhotel,area,酒店,区域,same,values:areas,\n"
    alignment = de.load_alignment(write("\ufeff" + HEAD + rows, areas="north,北\n"), target_language="zh")
    assert (alignment.name, alignment.source, alignment.target) == ("a__b", "a", "b")
    table = de.table("states", [("d", 0, "Hotel", "area", "North"), ("d", 0, "hotel", "price", "any")])
    assert map_states(table, alignment)[0]["value"].tolist() == ["北", "不在意"]
    back = de.table("states", [("d", 0, "酒店", "价格", "贵")])
    assert map_states(back, alignment.inverse())[0]["value"].tolist() == ["dear"]
    # Several names of one slot are fine one way; there is no one way back.
    many = de.load_alignment(write(HEAD + GOOD + "hotel,part,Hotel,district,same,,\n"))
    with pytest.raises(AlignmentError, match="line 3"):
        many.inverse()


@pytest.mark.parametrize("name", ["multiwoz__multiwoz_zh", "crosswoz_en__crosswoz", "crosswoz_en__multiwoz"])
def test_saved_and_read_again(name: str, tmp_path: Path) -> None:
    alignment = de.load_alignment(name)
    again = de.load_alignment(save_alignment(alignment, tmp_path / f"{name}.csv"))
    assert again.id == alignment.id
    pd.testing.assert_frame_equal(again.rows, alignment.rows)
    with pytest.raises(UsageError):
        save_alignment(de.load_alignment("multiwoz__crosswoz"), tmp_path / "x.csv")


def test_the_checksum_knows_content_and_not_order(write: Callable[..., Path]) -> None:
    def checksum(rows: list[str], *prices: str) -> str:
        return de.load_alignment(write(HEAD + "".join(rows), prices="".join(prices))).checksum

    rows = [GOOD, "hotel,price,Hotel,price,same,values:prices,\n", "hotel,x,,,none,,\n"]
    low, high = "cheap,low\n", "dear,high\n"
    first = checksum(rows, low, high)
    assert len(first) == 7 and checksum(rows[::-1], high, low) == first
    assert checksum([*rows[:2], rows[2].replace(",none,,", ",none,,looked at")], low, high) == first
    others = {
        checksum(rows, low, "dear,dear\n"),
        checksum(rows[:2], low, high),
        checksum([rows[0].replace("same", "related"), *rows[1:]], low, high),
    }
    assert len(others) == 3 and first not in others


def test_slots_that_an_ontology_lacks() -> None:
    alignment = de.load_alignment("multiwoz__crosswoz_en")
    targets = alignment.rows[["target_domain", "target_slot"]].set_axis(["domain", "slot"], axis=1)
    facility = targets.replace("Hotel Facilities", "Hotel Facilities - Gym")
    check_alignment(alignment, alignment.rows, facility)
    with pytest.raises(AlignmentError, match=r"Hotel/rating.*Hotel/ratings"):
        check_alignment(alignment, None, targets.replace("rating", "ratings"))


def test_what_comes_with_the_package_is_documented_and_used() -> None:
    readme = (DATA / "README.md").read_text(encoding="utf-8")
    frames = {p: pd.read_csv(p, dtype="str", keep_default_na=False) for p in sorted(DATA.glob("*.csv"))}
    assert len(frames) == 3 and all(f"`{p.name}`" in readme for p in frames)
    assert all(tuple(f.columns) == COLUMNS for f in frames.values())
    named = pd.concat(frames.values())["converter"].str.extract(r"(?:values|list|any):(.+)")[0].dropna()
    assert set(named) == {p.stem for p in (DATA / "values").glob("*.csv")}
    # Between two ontologies of different content every choice says why.
    assert (frames[DATA / "multiwoz__crosswoz_en.csv"]["note"] != "").all()

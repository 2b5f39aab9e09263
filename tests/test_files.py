"""Reading files: what is accepted, and one clear line for all that is not."""

from __future__ import annotations

import gzip
import io
import json
import os
import pickle
import threading
import zipfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dialogeval import exceptions, files
from dialogeval.exceptions import DataFileError, DialogevalError, UnknownNameError
from dialogeval.files import read_bytes, unpack, zip_members
from dialogeval.strict_json import MAX_DEPTH, parse_json


def zipped(**members: str) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in members.items():
            archive.writestr(zipfile.ZipInfo(name.replace("|", "/")), text, zipfile.ZIP_DEFLATED)
    return buffer.getvalue()


def test_plain_gzip_and_zip_read_alike(tmp_path: Path) -> None:
    for name, data in (
        ("a.json", b"{}"),
        ("a.json.gz", gzip.compress(b"{}", mtime=0)),
        ("a.json.zip", zipped(**{"a.json": "{}", "__MACOSX|a.json": "x"})),
        ("wrong-name.json", gzip.compress(b"{}", mtime=0)),
    ):
        (tmp_path / name).write_bytes(data)
        assert read_bytes(tmp_path / name) == b"{}"


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("a.json", b"", "is empty"),
        ("a.json", b" \n ", "is empty"),
        ("a.json.gz", b"", "is empty"),
        ("a.json.gz", b"{}", "broken gzip file (it does not begin like one)"),
        ("a.json.gz", gzip.compress(b"{}" * 500, mtime=0)[:-9], "broken gzip file"),
        ("a.zip", b"no zip", "broken zip file"),
        ("a.zip", zipped(**{"a.json": "{}"})[:-30], "broken zip file"),
        (
            "a.zip",
            zipped(**{"a.json": "{}", "b.json": "{}"}),
            "zip holds 2 files: expected exactly one data file",
        ),
        ("a.zip", zipped(), "zip holds 0 files"),
        ("a.zip", zipped(**{"a.json": "0" * 3_000_000}), "past the limit"),
        ("a.json.gz", gzip.compress(gzip.compress(b"", mtime=0), mtime=0)[:20], "broken gzip file"),
    ],
)
def test_broken_files(name: str, data: bytes, message: str) -> None:
    with pytest.raises(DataFileError) as caught:
        unpack(data, name)
    assert str(caught.value).startswith(name)
    assert message in str(caught.value)


def test_zip_with_a_damaged_member() -> None:
    data = bytearray(zipped(**{"a.json": '{"text": "some words that compress"}'}))
    data[45] ^= 0xFF
    with pytest.raises(DataFileError, match=r"a.zip:a.json: broken zip file"):
        unpack(bytes(data), "a.zip")


def test_limits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "MAX_BYTES", 10)
    (tmp_path / "a.json").write_bytes(b"x" * 11)
    with pytest.raises(DataFileError, match="11 bytes are past the limit of 10"):
        read_bytes(tmp_path / "a.json")
    with pytest.raises(DataFileError, match="unpacks to more than 10 bytes"):
        unpack(gzip.compress(b"x" * 11, mtime=0), "a.gz")


def test_members_of_an_archive_are_read_in_memory() -> None:
    members = zip_members(zipped(**{"a|b.json": "{}", "c.txt": "x"}), "a.zip")
    assert {n: read() for n, read in members.items()} == {"a/b.json": b"{}", "c.txt": b"x"}


def test_missing_and_unreadable(tmp_path: Path) -> None:
    with pytest.raises(DataFileError, match="no such file; check the path"):
        read_bytes(tmp_path / "none.json")
    with pytest.raises(DataFileError, match="is a folder"):
        read_bytes(tmp_path)
    with pytest.raises(DataFileError, match="is not a path"):
        read_bytes("a\0b")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b'{"a": 1', "broken JSON at line 1, column 8 (the file may be truncated)"),
        (b'{"a": 1,\n "b" 2}', "broken JSON at line 2, column 6"),
        (b'{"a": NaN}', "NaN is not JSON"),
        (b'{"a": -Infinity}', "-Infinity is not JSON"),
        (b'{"a": 1, "b": {"c": 1, "c": 2}}', "key 'c' stands twice in one object; keep one of them"),
        (b'{"a": "\xff"}', "not UTF-8 at byte 7; save the file in UTF-8"),
        (b"[" * 200_000, "JSON is nested too deeply"),
        (b"[" + b"9" * 5000 + b"]", "number"),
    ],
)
def test_broken_json(text: bytes, message: str) -> None:
    with pytest.raises(DataFileError) as caught:
        parse_json(text, "a.json")
    assert message in str(caught.value)
    assert str(caught.value).startswith("a.json: ")


@pytest.mark.parametrize("text", [b'{"a": 1', b'{"a": NaN}', b'{"a": "\xff"}', b"[" * 200_000])
def test_keys_that_are_not_checked_change_no_other_refusal(text: bytes) -> None:
    lines = set()
    for keys in ("unique", "unchecked"):
        with pytest.raises(DataFileError) as caught:
            parse_json(text, "a.json", keys=keys)
        lines.add(str(caught.value))
    assert len(lines) == 1


def test_byte_order_mark_is_skipped() -> None:
    assert parse_json(b"\xef\xbb\xbf{}", "a.json") == {}


def test_broken_line_names_its_number() -> None:
    with pytest.raises(DataFileError, match=r"a.jsonl, line 2: broken JSON at column 7"):
        parse_json(b'{"a": }', "a.jsonl", line=2)


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=10,
)


@st.composite
def documents(draw: st.DrawFn, depth: int = 3) -> tuple[str, bool]:
    """A JSON text, written in odd ways, and whether some object of it has a key twice."""
    kind = draw(st.sampled_from(["text", "number", "list", "object"] if depth else ["text", "number"]))
    blank = draw(st.sampled_from(["", " ", "\n"]))
    if kind == "number":
        return draw(st.sampled_from(["1", "-2.5e3", "null", "true"])), False
    if kind == "text":
        return _quoted(draw), False
    items = draw(st.lists(documents(depth - 1), max_size=3))
    twice = any(t for _, t in items)
    if kind == "list":
        return f"[{blank}{f',{blank}'.join(text for text, _ in items)}]", twice
    keys = [_quoted(draw) for _ in items]
    twice = twice or len({json.loads(k) for k in keys}) < len(keys)
    pairs = [f"{key}{blank}:{blank}{text}" for key, (text, _) in zip(keys, items, strict=True)]
    return "{" + ",".join(pairs) + blank + "}", twice


def _quoted(draw: st.DrawFn) -> str:
    parts = st.sampled_from(["a", ":", r"\u003a", r"\u003A", r"\\u003a", r"\"", '\\":', r"\u0061", "é"])
    return '"' + "".join(draw(st.lists(parts, max_size=2))) + '"'


@settings(max_examples=400)
@given(documents())
def test_a_key_that_stands_twice_is_always_found(document: tuple[str, bool]) -> None:
    text, twice = document
    if twice:
        with pytest.raises(DataFileError, match="stands twice in one object"):
            parse_json(text.encode(), "a")
    else:
        assert parse_json(text.encode(), "a") == json.loads(text)


def test_a_key_twice_is_found_in_a_large_document() -> None:
    for late in ("", ', "k7" : 1', ', "k7": "\\u003a"'):
        text = "{" + ", ".join(f'"k{i}": "{"x:" * 20}\\n"' for i in range(20_000)) + late + "}"
        if late:
            with pytest.raises(DataFileError, match="key 'k7' stands twice"):
                parse_json(text.encode(), "a")
        else:
            assert parse_json(text.encode(), "a") == json.loads(text)


@pytest.mark.parametrize("beside", ["", r'"\u003a",'])
def test_depth_has_one_limit(beside: str) -> None:
    for depth, fits in ((MAX_DEPTH, True), (MAX_DEPTH + 1, False)):
        text = f"[{beside}{'[' * (depth - 1)}{']' * (depth - 1)}]".encode()
        if fits:
            assert parse_json(text, "a") == json.loads(text)
        else:
            with pytest.raises(DataFileError, match="nested too deeply"):
                parse_json(text, "a")


def test_numbers_past_64_bits_are_floats_however_they_are_read() -> None:
    for text in (f"[{2**64}]", f'[{2**64}, "\\u003a"]'):
        assert parse_json(text.encode(), "a")[0] == float(2**64)
        assert type(parse_json(text.encode(), "a")[0]) is float
    assert parse_json(f"[{2**64 - 1}, {-(2**63)}]".encode(), "a") == [2**64 - 1, -(2**63)]


def test_gzip_of_several_members_and_zeros_at_the_end() -> None:
    whole = gzip.compress(b'{"a":', mtime=0) + gzip.compress(b" 1}", mtime=0)
    assert unpack(whole, "a.gz") == unpack(whole + b"\0" * 512, "a.gz") == b'{"a": 1}'


def test_a_pipe_is_read(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=(b"[1]",))
    writer.start()
    assert read_bytes(pipe) == b"[1]"
    writer.join()


@given(st.binary(max_size=60))
def test_only_our_errors_escape(data: bytes) -> None:
    for work in (
        lambda: parse_json(data, "a"),
        lambda: unpack(data, "a.zip"),
        lambda: unpack(b"\x1f\x8b" + data, "a.gz"),
        lambda: unpack(b"PK\x03\x04" + data, "a.zip"),
    ):
        try:
            work()
        except DialogevalError as error:
            assert str(error).isprintable()


@given(st.text())
def test_an_error_is_one_printable_line(text: str) -> None:
    error = DialogevalError(
        "problem " + text, file=text, dialogue=text, turn=1, got=exceptions.show(text), mend="mend"
    )
    assert str(error).isprintable()


def test_errors_survive_pickling() -> None:
    for error in (
        DataFileError("x", file="f", dialogue="d", turn=2, mend="m"),
        UnknownNameError("kind", "a", ["ab"]),
    ):
        again = pickle.loads(pickle.dumps(error))  # noqa: S301 - our own object, as worker processes send it
        assert (type(again), str(again)) == (type(error), str(error))

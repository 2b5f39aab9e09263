"""Mutations of CSV, Parquet and archives on the level of cells, columns and members.

As in `json_mutator`: bytes and a random generator in, other bytes out, None where the input is no
such file. What they make is well formed more often than not, and says what nobody expects.
"""

from __future__ import annotations

import csv
import datetime
import decimal
import gzip
import io
import warnings
import zipfile
from collections.abc import Callable
from random import Random
from typing import Any, Literal

import pyarrow
from pyarrow import parquet

from . import json_mutator

#: Between the files of one input, where a reader takes several.
SEPARATOR = b"\n%%%%\n"


def mutate_csv(data: bytes, rng: Random, limit: int) -> bytes | None:
    """Change cells, columns and rows of a CSV text."""
    try:
        rows = list(csv.reader(io.StringIO(data.decode("utf-8-sig"), newline="")))
    except (UnicodeDecodeError, csv.Error):
        return None
    if not rows:
        return None
    for _ in range(rng.choice((1, 1, 2, 3))):
        _change_rows(rows, rng, limit)
    out = io.StringIO()
    quoting: Literal[0, 1] = csv.QUOTE_ALL if rng.random() < 0.5 else csv.QUOTE_MINIMAL
    ending = rng.choice(("\n", "\n", "\n", "\r\n", "\r"))
    csv.writer(out, delimiter=rng.choice(",,,,,,,;\t"), quoting=quoting, lineterminator=ending).writerows(
        rows
    )
    return out.getvalue().encode("utf-8", "surrogatepass")


def _change_rows(rows: list[list[str]], rng: Random, limit: int) -> None:
    row = rng.choice(rows)
    at = rng.randrange(len(row)) if row else 0
    kind = rng.randrange(8)
    if kind <= 1 and row:
        row[at] = rng.choice(
            (*json_mutator.TEXTS, *json_mutator.KEYS, "same", "values:a", "x=y", "open", "list:b")
        )
    elif kind == 2 and row:
        changed = json_mutator.mutate(row[at].encode("utf-8", "surrogatepass"), rng, limit)
        row[at] = row[at] if changed is None else changed.decode("utf-8", "surrogatepass")
    elif kind == 3 and row:
        row[at] = rng.choice(rng.choice(rows) or [""])
    elif kind == 4:
        row.insert(at, rng.choice(json_mutator.TEXTS))
    elif kind == 5 and row:
        column = at
        for other in rows:
            if column < len(other):
                del other[column]
    elif kind == 6:
        times = 1 if rng.random() < 0.9 else max(1, limit // 4 // (sum(map(len, row)) + 1))
        rows.extend([list(row) for _ in range(min(times, 3000))])
    elif len(rows) > 1:
        rows.remove(row)


_DAY = datetime.date(2026, 1, 2)
_COLUMNS: tuple[Callable[[int], Any], ...] = (
    lambda n: pyarrow.nulls(n),
    lambda n: pyarrow.array([None] * n, pyarrow.string()),
    lambda n: pyarrow.array(["a"] * n).dictionary_encode(),
    lambda n: pyarrow.array([b"\xff"] * n),
    lambda n: pyarrow.array([1.5] * n),
    lambda n: pyarrow.array([float("nan")] * n, from_pandas=False),
    lambda n: pyarrow.array([float(i) for i in range(n)]),
    lambda n: pyarrow.array([2**64 - 1] * n, pyarrow.uint64()),
    lambda n: pyarrow.array([0] * n, pyarrow.int8()),
    lambda n: pyarrow.array([True] * n),
    lambda n: pyarrow.array([_DAY] * n),
    lambda n: pyarrow.array([2**31 - 1] * n, pyarrow.date32()),
    lambda n: pyarrow.array([2**63 - 1] * n, pyarrow.timestamp("ns", "UTC")),
    lambda n: pyarrow.array([2**62] * n, pyarrow.timestamp("s")),
    lambda n: pyarrow.array([0] * n, pyarrow.timestamp("us", "No/Where")),
    lambda n: pyarrow.array([2**63 - 1] * n, pyarrow.duration("ns")),
    lambda n: pyarrow.array([86_399] * n, pyarrow.time32("s")),
    lambda n: pyarrow.array([-1] * n, pyarrow.time64("ns")),
    lambda n: pyarrow.array([decimal.Decimal("1.5")] * n),
    lambda n: pyarrow.array([["a", None]] * n),
    lambda n: pyarrow.array([[["hotel", "area", "x"]]] * n),
    lambda n: pyarrow.array([{"hotel": {"area": "x", "stars": 4}}] * n),
    lambda n: pyarrow.array([{"hotel": None}] * n),
    lambda n: pyarrow.array([[("k", 1)]] * n, pyarrow.map_(pyarrow.string(), pyarrow.int64())),
    lambda n: pyarrow.array([b"ab"] * n, pyarrow.binary(2)),
    lambda n: pyarrow.array(["x"] * n, pyarrow.large_string()),
)
_METADATA = (
    b"", b"{}", b"[]", b"null", b"1", b'{"index_columns": ["x"], "columns": []}',
    b'{"index_columns": [{"kind": "range"}], "columns": [], "column_indexes": []}', b"\xff",
    b'{"index_columns": [0], "columns": [{"name": 1}], "column_indexes": [{}], "pandas_version": "x"}',
    b'{"columns": [{"field_name": "turn", "name": "turn", "pandas_type": "x", "numpy_type": "y", "metadata": null}],'
    b' "index_columns": ["turn"], "column_indexes": [{"name": 1, "pandas_type": "x", "numpy_type": "datetime64"}]}',
)  # fmt: skip


def mutate_parquet(data: bytes, rng: Random, limit: int) -> bytes | None:
    """Change columns, their types and the metadata of a Parquet file."""
    try:
        if parquet.read_metadata(io.BytesIO(data)).num_rows >= 1_000:  # made by `_many_rows`
            return None
        frame = parquet.read_table(io.BytesIO(data))
        for _ in range(rng.choice((1, 1, 2, 3))):
            frame = _change_table(frame, rng, limit)
            if frame.num_rows >= 1_000:
                break
        out = io.BytesIO()
        compression = rng.choice(("none", "snappy", "gzip", "zstd"))
        parquet.write_table(frame, out, compression=compression, use_dictionary=rng.random() < 0.5)
        return out.getvalue()
    # What pyarrow cannot read is left to libFuzzer, what it cannot write to nobody; it raises nearly anything.
    except Exception:
        return None


def _change_table(frame: Any, rng: Random, limit: int) -> Any:
    if rng.random() < 0.03 and frame.num_rows:
        return _many_rows(frame, rng)
    names = frame.column_names or ["a"]
    name = rng.choice((*names, rng.choice(json_mutator.KEYS)))
    kind = rng.randrange(5)
    place = names.index(name) if name in frame.column_names else -1
    if kind <= 1:
        column = rng.choice(_COLUMNS)(frame.num_rows)
        return frame.append_column(name, column) if place < 0 else frame.set_column(place, name, column)
    if kind == 2 and place >= 0:
        cells = [_text_cell(cell, rng, limit) for cell in frame.column(place).to_pylist()]
        return frame.set_column(place, name, pyarrow.array(cells, pyarrow.string()))
    if kind == 3:
        other = rng.randrange(max(1, frame.num_columns))
        keys = (*names, *json_mutator.KEYS, "")
        changed = [rng.choice(keys) if i == other else n for i, n in enumerate(names)]
        return frame.rename_columns(changed[: frame.num_columns])
    return frame.replace_schema_metadata({b"pandas": rng.choice(_METADATA)})


def _many_rows(frame: Any, rng: Random) -> Any:
    """Repeat a row very often, with a text that all rows share: a few kilobytes that fill memory."""
    times = rng.choice((1_000, 20_000, 500_000))
    frame = frame.take(pyarrow.nulls(times, "int64").fill_null(rng.randrange(frame.num_rows)))
    shared = "x" * rng.choice((1, 1_000, 100_000))
    column = pyarrow.DictionaryArray.from_arrays(pyarrow.nulls(times, "int8").fill_null(0), [shared])
    return frame.set_column(rng.randrange(frame.num_columns), rng.choice(frame.column_names), column)


def _text_cell(cell: Any, rng: Random, limit: int) -> str | None:
    if rng.random() < 0.3:
        return rng.choice((None, *(t for t in json_mutator.TEXTS if t.isprintable())))
    changed = json_mutator.mutate(str(cell).encode("utf-8", "replace"), rng, limit)
    return str(cell) if changed is None else changed.decode("utf-8", "replace")


_NAMES = (
    "test.json", "a.json", "data.json", "ontology.json", "dialogues.json", "testListFile.txt", "valListFile.txt",
    "testListFile.json", "../x.json", "a/b.json", "a\\..\\b", "C:/x", "/x", "", "__MACOSX/a.json", "x/", "train.json",
    "é.json", "hotel_db.json", "a\0b.json",
)  # fmt: skip


def mutate_archive(data: bytes, rng: Random, limit: int) -> bytes | None:
    """Change the members of a zip or the content of a gzip, or make the one of the other."""
    members = _members(data)
    if members is None:
        return None
    at = rng.randrange(len(members)) if members else 0
    kind = rng.randrange(9)
    if kind <= 2 and members:
        changed = json_mutator.mutate(members[at][1], rng, limit)
        if changed is not None:
            members[at] = (members[at][0], changed)
    elif kind == 3 and members:
        members[at] = (rng.choice(_NAMES), members[at][1])
    elif kind == 4:
        content = rng.choice((b"", b"A\n", b"[]", b"{}", b"\xff", b"\x1f\x8b", b"PK\x03\x04", b"x" * 70_000))
        members.insert(at, (rng.choice(_NAMES), content))
    elif kind == 5 and members:
        del members[at]
    elif kind == 6 and members:
        return gzip.compress(members[at][1], mtime=0)
    elif kind == 7 and members:
        members[at] = (members[at][0], data)
    out = _zip(members, rng)
    return bytes(_patched(bytearray(out), rng)) if rng.random() < 0.4 else out


def _members(data: bytes) -> list[tuple[str, bytes]] | None:
    try:
        if data[:2] == b"\x1f\x8b":
            with gzip.open(io.BytesIO(data)) as stream:
                return [("a.json", stream.read(1 << 20))]
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            return [(i.filename, _some(archive, i)) for i in archive.infolist()[:50]]
    # The zip readers of the standard library raise nearly anything for a broken archive.
    except Exception:
        return None


def _some(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> bytes:
    with archive.open(info) as stream:
        return stream.read(1 << 20)


def _zip(members: list[tuple[str, bytes]], rng: Random) -> bytes:
    out = io.BytesIO()
    methods = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA)
    with warnings.catch_warnings(), zipfile.ZipFile(out, "w") as archive:
        warnings.simplefilter("ignore")  # a name twice
        for name, content in members:
            info = zipfile.ZipInfo(name)
            info.compress_type = rng.choice(methods)
            info.external_attr = rng.choice((0o100644, 0o100644, 0o100644, 0o120777)) << 16
            info.comment = rng.choice((b"", b"", b"\xff" * 9))
            archive.writestr(info, content)
        archive.comment = rng.choice((b"", b"", b"PK\x05\x06"))
    return out.getvalue()


def _patched(data: bytearray, rng: Random) -> bytearray:
    """Change a field of a local header, a directory entry or the end record."""
    mark = rng.choice((b"PK\x03\x04", b"PK\x01\x02", b"PK\x05\x06"))
    at = data.find(mark)
    if at < 0:
        return data
    at += rng.randrange(4, 46)
    new = rng.choice(
        (b"\0\0\0\0", b"\xff\xff\xff\xff", b"\x01\0", b"\x63\0", b"\xff\xff\xff\x7f", b"\x08\0", b"\0\x08")
    )
    data[at : at + len(new)] = new
    return data


def mutate_parts(data: bytes, rng: Random, limit: int) -> bytes | None:
    """Change one of the files of an input, as JSON or as CSV."""
    parts = data.split(SEPARATOR)
    at = rng.randrange(len(parts))
    changed = json_mutator.mutate(parts[at], rng, limit)
    if changed is None:
        changed = mutate_csv(parts[at], rng, limit)
    if changed is None:
        return None
    parts[at] = changed
    if rng.random() < 0.02:
        del parts[at]
    return SEPARATOR.join(parts)

"""How the bad inputs are made that cannot stand in the catalogue as text.

Each function returns the bytes of a file, or the files of a folder by name. Nothing is stored: a
catalogue of bombs and broken archives would itself be a nuisance to every virus scanner.
"""

from __future__ import annotations

import gzip
import io
import json
import stat
import struct
import zipfile
from collections.abc import Callable
from typing import Any

import pyarrow
from pyarrow import parquet

Files = bytes | dict[str, bytes]
GOOD = b'{"a": [{"response": "hello"}]}'
TALK = {
    "goal": {},
    "log": [
        {"text": "hi", "metadata": {}},
        {"text": "ok", "metadata": {"hotel": {"semi": {"area": "north"}, "book": {"booked": []}}}},
    ],
}
STATE = {"Hotel": {"name": "", "price": "low", "selectedResults": ["Inn"]}}
CHAT = {
    "goal": [],
    "messages": [
        {"role": "usr", "content": "hi", "dialog_act": []},
        {"role": "sys", "content": "Inn", "dialog_act": [], "sys_state_init": STATE, "sys_state": STATE},
    ],
}
ROWS = {"dialogue_id": ["a"], "turn": [0]}


def zipped(*members: tuple[str, bytes], method: int = zipfile.ZIP_DEFLATED, mode: int = 0o100644) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in members:
            info = zipfile.ZipInfo(name)
            info.compress_type, info.external_attr = method, mode << 16
            archive.writestr(info, content)
    return buffer.getvalue()


def gzipped(content: bytes) -> bytes:
    return gzip.compress(content, mtime=0)


def patched(data: bytes, place: int, new: bytes) -> bytes:
    return data[:place] + new + data[place + len(new) :]


def table(**columns: Any) -> bytes:
    buffer = io.BytesIO()
    parquet.write_table(pyarrow.table(ROWS | columns), buffer)
    return buffer.getvalue()


def encrypted() -> bytes:
    """The flag alone: the standard library cannot encrypt, and nobody gets further than the flag."""
    data = zipped(("a.json", GOOD))
    place = data.index(b"PK\x01\x02")
    return patched(patched(data, 6, b"\x01\x00"), place + 8, b"\x01\x00")


def lying_size() -> bytes:
    """A central directory that promises two bytes."""
    data = zipped(("a.json", GOOD))
    return patched(data, data.index(b"PK\x01\x02") + 24, struct.pack("<L", 2))


def wrong_crc() -> bytes:
    data = zipped(("a.json", GOOD), method=zipfile.ZIP_STORED)
    return data.replace(b"hello", b"hullo")


def two_named_alike() -> bytes:
    data = zipped(("a.json", GOOD), ("b.json", GOOD))
    return data.replace(b"b.json", b"a.json")


def with_value(document: Any, path: str, value: Any) -> bytes:
    """Return a document as JSON with one value replaced; the path is like ``log.1.metadata``."""
    out = json.loads(json.dumps(document))
    *way, last = [int(key) if key.isdecimal() else key for key in path.split(".")]
    spot = out
    for key in way:
        spot = spot[key]
    spot[last] = value
    return json.dumps({"A": out}).encode()


def half_text() -> bytes:
    """A string column whose bytes are no UTF-8."""
    buffers = [None, pyarrow.py_buffer(b"\0\0\0\0\1\0\0\0"), pyarrow.py_buffer(b"\xff")]
    return table(response=pyarrow.Array.from_buffers(pyarrow.string(), 1, buffers))


def official(**files: bytes) -> dict[str, bytes]:
    good = {"data.json": json.dumps({"A": TALK, "B": TALK}).encode()}
    return (
        good
        | {"testListFile.txt": b"A\n", "valListFile.txt": b"B\n"}
        | {name.replace("__", "."): content for name, content in files.items()}
    )


RECIPES: dict[str, Callable[[], Files]] = {
    # archives
    "zip-up": lambda: zipped(("../../x.json", GOOD)),
    "zip-up-windows": lambda: zipped(("..\\..\\x.json", GOOD)),
    "zip-up-inside": lambda: zipped(("a/../../x.json", GOOD)),
    "zip-absolute": lambda: zipped(("/etc/x.json", GOOD)),
    "zip-drive": lambda: zipped(("C:/x.json", GOOD)),
    "zip-no-name": lambda: zipped(("a.json", GOOD)).replace(b"a.json", b"/.json"),
    "zip-link": lambda: zipped(("a.json", b"/etc/passwd"), mode=stat.S_IFLNK | 0o777),
    "zip-in-zip": lambda: zipped(("a.json", zipped(("a.json", GOOD)))),
    "gzip-in-zip": lambda: zipped(("a.json", gzipped(GOOD))),
    "zip-in-gzip": lambda: gzipped(zipped(("a.json", GOOD))),
    "gzip-in-gzip": lambda: gzipped(gzipped(GOOD)),
    "zip-bomb": lambda: zipped(("a.json", b" " * 3_000_000)),
    "gzip-bomb": lambda: gzipped(b" " * 3_000_000),
    "zip-encrypted": encrypted,
    "zip-lying-size": lying_size,
    "zip-wrong-crc": wrong_crc,
    "zip-two-members": lambda: zipped(("a.json", GOOD), ("b.json", GOOD)),
    "zip-named-alike": two_named_alike,
    "zip-empty": lambda: zipped(),
    "zip-empty-member": lambda: zipped(("a.json", b"")),
    "zip-only-folder": lambda: zipped(("a/", b"")),
    "zip-cut": lambda: zipped(("a.json", GOOD))[:-30],
    "zip-half-directory": lambda: zipped(("a.json", GOOD))[:60],
    "zip-unknown-method": lambda: zipped(("a.json", GOOD)).replace(b"\x08\x00", b"\x63\x00"),
    "zip-many": lambda: zipped(*((f"{i}.json", b"{}") for i in range(10_001)), method=zipfile.ZIP_STORED),
    "zip-other-split": lambda: zipped(("train.json", GOOD)),
    "gzip-cut": lambda: gzipped(GOOD)[:-9],
    "gzip-garbage-after": lambda: gzipped(GOOD) + b"garbage",
    "gzip-header-only": lambda: b"\x1f\x8b",
    "gzip-wrong-crc": lambda: patched(gzipped(GOOD), len(gzipped(GOOD)) - 8, b"\0\0\0\0"),
    "gzip-damaged": lambda: patched(gzipped(GOOD), 12, b"\xff\xff\xff"),
    "gzip-of-nothing": lambda: gzipped(b""),
    "gzip-two-documents": lambda: gzipped(GOOD) + gzipped(GOOD),
    # encodings and JSON
    "utf-32": lambda: GOOD.decode().encode("utf-32"),
    "latin-1": lambda: '{"a": [{"response": "café"}]}'.encode("latin-1"),
    "gb18030": lambda: '{"a": [{"response": "酒店"}]}'.encode("gb18030"),
    "surrogate-in-utf-8": lambda: b'{"a": [{"response": "\xed\xa0\x80"}]}',
    "overlong-utf-8": lambda: b'{"a": [{"response": "\xc0\xaf"}]}',
    "mark-in-the-middle": lambda: b'{"a": \xef\xbb\xbf[{"response": "x"}]}',
    "two-marks": lambda: b"\xef\xbb\xbf\xef\xbb\xbf" + GOOD,
    "only-a-mark": lambda: b"\xef\xbb\xbf",
    "nul-bytes": lambda: b"\0" * 64,
    "bytes-past-ascii": lambda: bytes(range(128, 256)),
    "png": lambda: b"\x89PNG\r\n\x1a\n" + b"\0" * 32,
    "pickle": lambda: (
        b"\x80\x04\x95\x10\x00\x00\x00\x00\x00\x00\x00\x8c\x02os\x94\x8c\x06system\x94\x93\x94."
    ),
    "deep-lists": lambda: b"[" * 300 + b"]" * 300,
    "deep-objects": lambda: b'{"a":' * 255 + b"1" + b"}" * 255,
    "deep-unclosed": lambda: b"[" * 200_000,
    "deep-escaped-colon": lambda: b'["\\u003a",' + b"[" * 255 + b"]" * 255 + b"]",
    "huge-whole-number": lambda: b'{"a": [{"response": ' + b"9" * 5000 + b"}]}",
    "deep-state": lambda: b'{"a": [{"hotel": {"area": ' + b"[" * 200 + b"]" * 200 + b"}}]}",
    "long-text-cut": lambda: b'{"a": [{"response": "' + b"x" * 100_000,
    # CSV
    "csv-latin-1": lambda: "dialogue_id,turn,response\na,0,café\n".encode("latin-1"),
    "csv-thousand-columns": lambda: (",".join(f"c{i}" for i in range(1000)) + "\n").encode(),
    "csv-huge-field": lambda: b"dialogue_id,turn,state\na,0," + b"x" * 1_000_000 + b"\n",
    # Parquet
    "parquet-no-footer": lambda: b"PAR1 cut off here",
    "parquet-mark-only": lambda: b"PAR1",
    "parquet-wrong-footer-length": lambda: table(response=["x"])[:-8] + b"\xff\xff\xff\x7fPAR1",
    "parquet-empty-footer": lambda: table(response=["x"])[:-8] + b"\0\0\0\0PAR1",
    "parquet-damaged-page": lambda: patched(table(response=["x"]), 10, b"\xff\xff\xff"),
    "parquet-no-turn": lambda: parquet_of({"dialogue_id": ["a"], "response": ["x"]}),
    "parquet-no-rows": lambda: parquet_of(
        {"dialogue_id": pyarrow.array([], "string"), "turn": pyarrow.array([], "int64")}
    ),
    "parquet-list-of-tokens": lambda: table(response=[["a", "b"]]),
    "parquet-bytes": lambda: table(response=[b"\xff"]),
    "parquet-not-utf-8": half_text,
    "parquet-date-past-calendar": lambda: table(response=pyarrow.array([9_000_000], pyarrow.date32())),
    "parquet-endless-duration": lambda: table(response=pyarrow.array([2**62], pyarrow.duration("s"))),
    "parquet-time": lambda: table(response=pyarrow.array([2**40], pyarrow.timestamp("us"))),
    "parquet-null": lambda: table(response=pyarrow.nulls(1)),
    "parquet-map": lambda: table(
        state=pyarrow.array([[("hotel", "x")]], pyarrow.map_(pyarrow.string(), pyarrow.string()))
    ),
    "parquet-struct-of-numbers": lambda: table(state=[{"hotel": {"stars": 4.5}}]),
    "parquet-turn-nan": lambda: table(turn=[float("nan")], response=["x"]),
    "parquet-turn-infinite": lambda: table(turn=[float("inf")], response=["x"]),
    "parquet-turn-list": lambda: table(turn=[[0]], response=["x"]),
    "parquet-id-bytes": lambda: table(dialogue_id=[b"a"], response=["x"]),
    "parquet-id-float": lambda: table(dialogue_id=[1.5], response=["x"]),
    "parquet-domains-with-null": lambda: table(response=["x"], active_domains=[["hotel", None]]),
    # one value in many rows is stored once
    "parquet-many-rows": lambda: parquet_of(
        {
            "dialogue_id": few("a", 400_000),
            "turn": pyarrow.nulls(400_000, "int64"),
            "response": few("x", 400_000),
        }
    ),
    "parquet-long-text-in-many-rows": lambda: parquet_of(
        {"dialogue_id": few("a", 100), "turn": list(range(100)), "response": few("x" * 900_000, 100)}
    ),
    # official releases
    "official-in-both-lists": lambda: official(valListFile__txt=b"A\n"),
    "official-unknown-dialogue": lambda: official(testListFile__txt=b"C\n"),
    "official-list-not-utf-8": lambda: official(testListFile__txt=b"\xff\n"),
    "official-data-is-list": lambda: official(data__json=b"[]"),
    "official-data-key-twice": lambda: official(data__json=b'{"A": {}, "A": {}}'),
    "official-no-val-list": lambda: {k: v for k, v in official().items() if not k.startswith("val")},
    "official-zip-two-data": lambda: zipped(
        ("a/data.json", b"{}"), ("b/data.json", b"{}"), ("a/testListFile.txt", b"")
    ),
    "official-zip-link": lambda: zipped(*official().items(), mode=stat.S_IFLNK | 0o777),
    "official-zip-up": lambda: zipped(*official().items(), ("../../evil.json", b"{}")),
    "folder-without-splits": lambda: {"notes.txt": b"x"},
    "ontology-key-twice": lambda: {
        "test.json": json.dumps({"A": TALK}).encode(),
        "ontology.json": b'{"a-b": [], "a-b": []}',
    },
    "ontology-no-lists": lambda: {
        "test.json": json.dumps({"A": TALK}).encode(),
        "ontology.json": b'{"a-b": "x"}',
    },
}


def parquet_of(columns: dict[str, Any]) -> bytes:
    buffer = io.BytesIO()
    parquet.write_table(pyarrow.table(columns), buffer)
    return buffer.getvalue()


def few(text: str, rows: int) -> Any:
    """A column of one text, which Parquet stores once."""
    return pyarrow.DictionaryArray.from_arrays(pyarrow.nulls(rows, "int8").fill_null(0), [text])


def make(how: str) -> Files:
    """Return what a recipe makes; ``multiwoz log.0.text 3`` puts 3 into a good dialogue at that place."""
    head, _, rest = how.partition(" ")
    if head in ("multiwoz", "crosswoz"):
        path, _, value = rest.partition(" ")
        return with_value({"multiwoz": TALK, "crosswoz": CHAT}[head], path, json.loads(value))
    return RECIPES[how]()

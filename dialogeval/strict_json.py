"""JSON from files that nobody vouches for: parsed fast, and refused where it is not exactly one document.

In: bytes. Out: dicts, lists, strings, numbers. orjson does the work.
"""

from __future__ import annotations

import json
import os
from typing import Any

import numpy as np
import orjson

from dialogeval.exceptions import DataFileError, show

__all__ = ["MAX_DEPTH", "parse_json"]

#: Objects and lists within one another past which a document is refused: as many as orjson writes.
MAX_DEPTH = 254
_MARK = b"\xef\xbb\xbf"
_BLOCK = 1 << 18


def parse_json(
    data: bytes, file: str | os.PathLike[str], *, line: int | None = None, keys: str = "unique"
) -> Any:
    """Parse JSON strictly: UTF-8, no NaN, not nested past `MAX_DEPTH`, and no key twice unless unchecked."""
    where = str(file) if line is None else f"{file}, line {line}"
    data = data.removeprefix(_MARK)
    try:
        value = orjson.loads(data)
    except orjson.JSONDecodeError as error:
        raise _broken(error, data, where, line) from None
    if keys == "unchecked" and data.count(b"[") + data.count(b"{") <= MAX_DEPTH:
        return value
    try:
        again = orjson.dumps(value)
    except TypeError:
        raise _too_deep(where) from None
    # A key twice shows as a colon less; where colons are written as \u003a, only a slow look tells.
    if keys == "unique" and (b"\\u003" in data or _colons(data) != _colons(again)):
        json.loads(data, object_pairs_hook=lambda pairs: _unique(pairs, where))
    return value


def _broken(error: json.JSONDecodeError, data: bytes, where: str, line: int | None) -> DataFileError:
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as wrong:
        return DataFileError(
            f"not UTF-8 at byte {wrong.start}", file=where, mend="save the file in UTF-8 encoding"
        )
    if "ecursion" in error.msg or "depth" in error.msg:
        return _too_deep(where)
    for name in ("NaN", "Infinity", "-Infinity"):
        if text[max(error.pos - 1, 0) :].lstrip("[,: ").startswith(name):
            return DataFileError(f"{name} is not JSON", file=where, mend="write null or leave the field out")
    spot = f"line {error.lineno}, column {error.colno}" if line is None else f"column {error.colno}"
    cut = " (the file may be truncated)" if error.pos >= len(text.rstrip()) - 1 else ""
    return DataFileError(f"broken JSON at {spot}{cut}: {error.msg}", file=where)


def _too_deep(where: str) -> DataFileError:
    return DataFileError(f"JSON is nested too deeply (more than {MAX_DEPTH} levels)", file=where)


def _colons(data: bytes) -> int:
    codes = np.frombuffer(data, np.uint8)
    return sum(int(np.count_nonzero(codes[i : i + _BLOCK] == 58)) for i in range(0, len(codes), _BLOCK))


def _unique(pairs: list[tuple[str, Any]], where: str) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for name, value in pairs:
        if name in out:
            shown = show(name).removeprefix("a string ")
            raise DataFileError(
                f"key {shown} stands twice in one object", file=where, mend="keep one of them"
            )
        out[name] = value
    return out

"""JSON from files that nobody vouches for: parsed fast, and refused where it is not exactly one document.

In: bytes. Out: dicts, lists, strings, numbers. orjson does the work; whatever it refuses, or a cheap
count finds suspicious, is read once more by the standard library, slowly, to say what is wrong and where.
"""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import orjson

from dialogeval.exceptions import DataFileError, show

__all__ = ["MAX_DEPTH", "parse_json", "read_json_lines"]

#: Objects and lists within one another past which a document is refused: as many as orjson writes.
MAX_DEPTH = 254
_MARK = b"\xef\xbb\xbf"
_ESCAPED_COLON = re.compile(rb"\\u003[aA]")
_BLOCK, _WINDOW = 1 << 18, 4096


def parse_json(
    data: bytes,
    file: str | os.PathLike[str],
    *,
    line: int | None = None,
    keys: str = "unique",
    surrogates: str = "refuse",
) -> Any:
    """Parse JSON strictly: UTF-8, no NaN, no key twice in one object, not nested past `MAX_DEPTH`."""
    data = data.removeprefix(_MARK)
    where = str(file) if line is None else f"{file}, line {line}"
    try:
        value = orjson.loads(data)
    except orjson.JSONDecodeError as error:
        value = _slowly(data, where, line)
        if surrogates == "keep":
            return value
        raise _broken(error, where, line) from None
    if keys == "unchecked" or _is_sound(data, value):
        return value
    return _slowly(data, where, line)


def _is_sound(data: bytes, value: Any) -> bool:
    """Tell whether parsing lost nothing: False for a key that stood twice, or where one might have."""
    spot = data.find(b"\\")
    while spot >= 0:  # in most files escapes are rare, and finding one byte is far faster than a pattern
        if _ESCAPED_COLON.search(data, spot, spot + _WINDOW):
            return False
        spot = data.find(b"\\", spot + _WINDOW - 5)
    try:
        return _colons(data) == _colons(orjson.dumps(value))
    except TypeError:  # nested too deeply
        return False


def _colons(data: bytes) -> int:
    if len(data) < _BLOCK:
        return data.count(b":")
    codes = np.frombuffer(data, np.uint8)
    return sum(int(np.count_nonzero(codes[i : i + _BLOCK] == 58)) for i in range(0, len(codes), _BLOCK))


def _slowly(data: bytes, where: str, line: int | None) -> Any:
    """Parse with the standard library, whose refusals say more."""
    try:
        value = json.loads(
            data.decode("utf-8"),
            object_pairs_hook=_unique(where),
            parse_constant=_constant(where),
            parse_int=_whole(where),
            parse_float=_real(where),
        )
    except json.JSONDecodeError as error:
        raise _broken(error, where, line) from None
    except UnicodeDecodeError as error:
        raise DataFileError(
            f"not UTF-8 at byte {error.start}", file=where, mend="save the file in UTF-8 encoding"
        ) from None
    except RecursionError:
        raise _too_deep(where) from None
    level = [value]
    for _ in range(MAX_DEPTH + 1):
        level = [x for x in level if isinstance(x, (dict, list))]
        if not level:
            return value
        level = [v for x in level for v in (x.values() if isinstance(x, dict) else x)]
    raise _too_deep(where)


def _broken(error: json.JSONDecodeError, where: str, line: int | None) -> DataFileError:
    spot = f"line {error.lineno}, column {error.colno}" if line is None else f"column {error.colno}"
    cut = " (the file may be truncated)" if error.pos >= len(error.doc.rstrip()) - 1 else ""
    return DataFileError(f"broken JSON at {spot}{cut}: {error.msg}", file=where)


def _too_deep(where: str) -> DataFileError:
    return DataFileError(f"JSON is nested too deeply (more than {MAX_DEPTH} levels)", file=where)


def _unique(where: str) -> Callable[[list[tuple[str, Any]]], dict[str, Any]]:
    def build(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        out = dict(pairs)
        if len(out) != len(pairs):
            seen: set[str] = set()
            twice = next(k for k, _ in pairs if k in seen or seen.add(k))  # type: ignore[func-returns-value]
            name = show(twice).removeprefix("a string ")
            raise DataFileError(f"key {name} stands twice in one object", file=where, mend="keep one of them")
        return out

    return build


def _constant(where: str) -> Callable[[str], Any]:
    def refuse(name: str) -> Any:
        raise DataFileError(f"{name} is not JSON", file=where, mend="write null or leave the field out")

    return refuse


def _whole(where: str) -> Callable[[str], int | float]:
    real = _real(where)

    def build(text: str) -> int | float:
        fits = len(text) <= 20 and -(2**63) <= int(text) < 2**64
        return int(text) if fits else real(text)

    return build


def _real(where: str) -> Callable[[str], float]:
    def build(text: str) -> float:
        number = float(text)
        if math.isinf(number):
            shown = text if len(text) <= 20 else f"{text[:20]}…"
            raise DataFileError(f"number {shown} is too large", file=where, mend="write it as a string")
        return number

    return build


def read_json_lines(
    data: bytes, file: str | os.PathLike[str], *, surrogates: str = "refuse", first: int = 1
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield (line number from 1, object) of a JSON-lines text; blank lines are skipped."""
    for number, text in enumerate(data.removeprefix(_MARK).split(b"\n"), start=first):
        if text.strip():
            row = parse_json(text, file, line=number, surrogates=surrogates)
            if not isinstance(row, dict):
                raise DataFileError(
                    "not a JSON object", file=f"{file}, line {number}", expected="{…} on every line"
                )
            yield number, row

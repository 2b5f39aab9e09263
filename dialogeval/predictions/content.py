"""What a file holds: a stream of bytes in, JSON, the rows of lines or a table, or lines of text out.

Which of these it is, is told from its first bytes and never from its name. JSON lines are parsed as they
are read, so that a large file is never in memory as a whole.
"""

from __future__ import annotations

import csv
import io
import os
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Any

import orjson

from dialogeval.exceptions import DataFileError, PredictionError, few
from dialogeval.files import MAX_BYTES, MAX_RATIO
from dialogeval.predictions.names import is_field
from dialogeval.predictions.syntaxes import python_literal
from dialogeval.predictions.turns import ABSENT
from dialogeval.strict_json import MAX_DEPTH, parse_json

#: Bytes past which a line is no line of a turn.
_MAX_LINE = 64 * 1024**2
_MARK = b"\xef\xbb\xbf"
_SEPARATORS = ",;\t|"


@dataclass(frozen=True)
class Content:
    """A parsed file: one JSON document, or an iterator of rows; ``unit`` is what a row is called."""

    items: Any
    unit: str = "item"


def parsed(stream: io.BufferedReader, file: str) -> Content:
    """Tell what a file is and parse it."""
    if stream.peek(4)[:4] == b"PAR1":
        return Content(_rows_of(stream.read(), file, "Parquet"), "row")
    blank, first = _first_line(stream, file)
    if first[:2] in (b"\xff\xfe", b"\xfe\xff") or (b"\0" in first[:2] and first[:2].strip(b"\0").isascii()):
        stream = io.BufferedReader(io.BytesIO(_from_utf16(first + stream.read(), file)))  # type: ignore[arg-type]
        blank, first = _first_line(stream, file)
    if b"\0" in first[:1000]:
        raise DataFileError(
            "is no text and no Parquet", file=file, expected="JSON, JSON lines, CSV, Parquet or text"
        )
    start = first.lstrip()
    if not (start[:1] == b"{" or (start[:1] == b"[" and _looks_like_json(start))):
        return _text(blank * b"\n" + first + stream.read(), file)
    second = stream.readline(_MAX_LINE)
    while second.isspace() and blank < 1000:
        second, blank = second + stream.readline(_MAX_LINE), blank + 1
    if second.strip() and first.endswith(b"\n") and _is_whole(first):
        return Content(_lines(blank * [b"\n"] + [first, *second.splitlines(True)], stream, file), "line")
    if start[1:2] == b"'" or start[:3] == b"[{'":
        return Content(_python(first + second + stream.read(), file), "line")
    return Content(parse_json(first + second + stream.read(), file))


def _first_line(stream: io.BufferedReader, file: str) -> tuple[int, bytes]:
    """Return the first line that is not blank, without a byte order mark, and how many are before it."""
    blank = 0
    while line := stream.readline(_MAX_LINE).removeprefix(_MARK):
        if line.strip():
            return blank, line
        blank += 1
    raise DataFileError("is empty", file=file)


def _from_utf16(data: bytes, file: str) -> bytes:
    code = (
        "utf-16"
        if data[:2] in (b"\xff\xfe", b"\xfe\xff")
        else "utf-16-le"
        if data[1:2] == b"\0"
        else "utf-16-be"
    )
    try:
        return data.decode(code).encode()
    except UnicodeError:
        raise DataFileError(
            "neither UTF-8 nor UTF-16", file=file, mend="save the file in UTF-8 encoding"
        ) from None


def _looks_like_json(start: bytes) -> bool:
    return start[1:].lstrip()[:1] in b'{["]-0123456789tfn' or start.strip() == b"["


def _is_whole(line: bytes) -> bool:
    try:
        return isinstance(orjson.loads(line), (dict, list))
    except orjson.JSONDecodeError:
        return False


def _lines(head: list[bytes], stream: io.BufferedReader, file: str) -> Iterator[Any]:
    """Yield the values of JSON lines."""
    loads = orjson.loads
    for number, line in enumerate(chain(head, stream), start=1):
        try:
            if line.count(b"[") + line.count(b"{") <= MAX_DEPTH:
                yield loads(line)
                continue
        except orjson.JSONDecodeError:
            pass
        yield parse_json(line, file, line=number, keys="unchecked") if line.strip() else ABSENT


def _python(data: bytes, file: str) -> list[Any]:
    """Return the rows of Python literals, one a line or one document."""
    text = data.decode("utf-8", "replace").strip()
    out = []
    for number, part in enumerate([text] if text[0] == "[" else text.splitlines(), start=1):
        value = python_literal(part) if part.strip() else ABSENT
        if value is None:
            raise DataFileError("neither JSON nor a literal of Python", file=f"{file}, line {number}")
        out += [] if value is ABSENT else [value]
    return out[0] if text[0] == "[" else out


def _text(data: bytes, file: str) -> Content:
    """A table with a header, or lines of text."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        mend = "save the file in UTF-8 encoding"
        raise DataFileError(f"not UTF-8 at byte {error.start}", file=file, mend=mend) from None
    if text[:4].lower() == "sep=":  # Excel's own first line
        text = text.partition("\n")[2]
    header = re.split("[\r\n]", text, maxsplit=1)[0]
    for separator in sorted(_SEPARATORS, key=header.count, reverse=True):
        names = next(csv.reader([header], delimiter=separator), [])
        known = [n for n in names if is_field(n.strip())]
        if known and (len(names) > 1 or separator == ","):
            return Content(_rows_of(text.encode(), file, "CSV", separator), "row")
    return Content([line.rstrip("\r") for line in text.removesuffix("\n").split("\n")], "line")


def _rows_of(data: bytes, file: str, what: str, separator: str = ",") -> list[dict[str, Any]]:
    """Return the rows of a table."""
    import pyarrow

    try:
        frame = parquet_table(data, file) if what == "Parquet" else _csv(data, file, separator)
        names = [n.strip() for n in frame.column_names]
        rows = frame.rename_columns(names).to_pylist() if len(set(names)) == len(names) else []
    except (pyarrow.ArrowException, OSError, ValueError, OverflowError) as error:
        # Beside its own exceptions pyarrow lets those of Python escape: dates past the calendar, wrong UTF-8.
        line = next(iter(str(error).splitlines()), type(error).__name__)
        raise DataFileError(f"broken {what} ({line[:300]})", file=file) from None
    twice = next((n for n, times in Counter(names).items() if times > 1), None)
    if twice is not None:
        raise PredictionError(
            f"column {twice or repr(twice)} stands twice", file=file, mend="keep one of them"
        )
    if not rows:
        raise PredictionError("holds no turns", file=file, got=f"the columns {few(names, most=20)}")
    return [{k: _filled(v) for k, v in row.items()} for row in rows]


def _filled(value: Any) -> Any:
    """Drop the slots of a Parquet struct that a row lacks: all rows of a struct have all fields."""
    return {k: _filled(v) for k, v in value.items() if v is not None} if isinstance(value, dict) else value


def _csv(data: bytes, file: str, separator: str) -> Any:
    import pyarrow
    from pyarrow import csv as reader

    if data.count(b'"') % 2:  # pyarrow would take all up to the end of the file for one cell
        mend = 'close it, and write "" for one within a cell'
        raise DataFileError("broken CSV (a quotation mark is not closed)", file=file, mend=mend)
    # One block, so that no record is cut.
    options = reader.ReadOptions(block_size=len(data) + 1)
    parsing = reader.ParseOptions(newlines_in_values=True, delimiter=separator)
    names = reader.open_csv(io.BytesIO(data), options, parsing).schema.names
    converting = reader.ConvertOptions(
        column_types={n: pyarrow.string() for n in names}, strings_can_be_null=False
    )
    return reader.read_csv(io.BytesIO(data), options, parsing, converting)


#: A table up to this size is read however small its file is; and what a cell costs at least, as Python has it.
_HARMLESS, _CELL = 1 << 26, 64


def parquet_table(data: bytes, file: str | os.PathLike[str]) -> Any:
    """Read a Parquet file, but not one that unpacks to far more than its size."""
    import pyarrow
    from pyarrow import parquet

    # Texts as they are stored, each distinct one once: only so can a bomb be measured before it goes off.
    about = parquet.ParquetFile(io.BytesIO(data), pre_buffer=False)
    leaves = [about.schema.column(i) for i in range(len(about.schema))]
    texts = [c.path for c in leaves if c.path == c.name and c.logical_type.type == "STRING"]
    source = parquet.ParquetFile(io.BytesIO(data), pre_buffer=False, read_dictionary=texts)
    limit = max(_HARMLESS, min(MAX_BYTES, MAX_RATIO * len(data)))
    taken, kept = _CELL * source.metadata.num_rows * source.metadata.num_columns, []
    for batch in source.iter_batches(8192):
        taken += sum(map(_size, batch.columns))
        if taken > limit:
            problem = (
                f"unpacks to more than {limit:,} bytes in {source.metadata.num_rows:,} rows, past the limit"
            )
            raise DataFileError(problem, file=file, mend="split the file")
        written = [c.dictionary_decode() if pyarrow.types.is_dictionary(c.type) else c for c in batch.columns]
        kept.append(pyarrow.RecordBatch.from_arrays(written, names=batch.schema.names))
    schema = kept[0].schema if kept else about.schema_arrow.remove_metadata()
    return pyarrow.Table.from_batches(kept, schema)


def _size(column: Any) -> int:
    """What a column takes when every row has its own copy of its value."""
    import pyarrow
    from pyarrow import compute

    if not (pyarrow.types.is_dictionary(column.type) and pyarrow.types.is_string(column.type.value_type)):
        return column.nbytes
    return compute.sum(compute.take(compute.binary_length(column.dictionary), column.indices)).as_py() or 0

"""Alignment files: CSV with value tables beside it, read with every check, and written.

In: a path. Out: a `Hop`. Files come from users: sizes are bounded, and the name of a value table cannot lead
out of its folder.
"""

from __future__ import annotations

import csv
import io
import os
import re
from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from ..exceptions import AlignmentError, DataFileError, UsageError
from ..files import read_bytes
from ..writing import write_all
from .converters import TABLE_KINDS, Pairs
from .rules import COLUMNS, check_pairs, check_rows
from .table import Alignment, Hop

__all__ = ["MAX_CELL", "MAX_FILE", "MAX_ROWS", "read_hop", "save_alignment"]

_OPTIONAL = ("converter", "note")
MAX_FILE, MAX_ROWS, MAX_CELL = 20 * 1024**2, 200_000, 1_000


def read_hop(
    path: str | os.PathLike[str], source: str, target: str, source_language: str, target_language: str
) -> Hop:
    """Read and check one alignment file; value tables lie in ``values`` beside it.

    Parameters
    ----------
    path : path-like
        CSV with the columns `COLUMNS`, UTF-8; ``converter`` and ``note`` may be absent.
    source, target, source_language, target_language : str
        As for `Hop`.

    Returns
    -------
    Hop

    Raises
    ------
    DataFileError
        A file that cannot be read, or whose columns are others.
    AlignmentError
        Rows that contradict one another or name what does not exist.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> f = pathlib.Path(tempfile.mkdtemp(), "a__b.csv")
    >>> _ = f.write_text("domain,slot,target_domain,target_slot,relation\\nhotel,area,Hotel,district,same\\n")
    >>> read_hop(f, "a", "b", "en", "en").rows["target_slot"].tolist()
    ['district']
    """
    rows, lines = _read_csv(path, COLUMNS, _OPTIONAL)
    values: dict[str, Pairs] = {}
    folder = Path(path).parent / "values"
    for line, converter in zip(lines, rows["converter"], strict=True):
        name = _table_name(converter, path, line)
        if not name or name in values or (name == "open" and not (folder / "open.csv").is_file()):
            continue
        file = folder / f"{name}.csv"
        if not file.is_file():
            there = ", ".join(sorted(p.stem for p in folder.glob("*.csv"))[:20]) or "none"
            raise AlignmentError(
                f"line {line}: unknown value table {name!r}",
                file=path,
                expected=f"{file}",
                got=f"tables {there}",
                mend="add the file or mend the name",
            )
        frame, table_lines = _read_csv(file, ("value", "target_value"))
        values[name] = tuple(frame.itertuples(index=False, name=None))
        check_pairs(values[name], str(file), table_lines, "line")
    check_rows(rows, str(path), lines)
    return Hop(source, target, source_language, target_language, rows, values)


def _read_csv(
    path: str | os.PathLike[str], columns: Sequence[str], optional: Sequence[str] = ()
) -> tuple[pd.DataFrame, list[int]]:
    data = read_bytes(path)
    if len(data) > MAX_FILE:
        raise DataFileError(f"{len(data):,} bytes are past the limit of {MAX_FILE:,}", file=path)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        where = data[: error.start].count(b"\n") + 1
        raise DataFileError(
            f"line {where} is not UTF-8", file=path, mend="save the file with the encoding UTF-8"
        ) from None
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    records: list[list[str]] = []
    lines: list[int] = []
    try:
        header = [name.strip() for name in next(reader)]
        missing = [c for c in columns if c not in header and c not in optional]
        unknown = [c for c in header if c not in columns]
        if missing or unknown or len(set(header)) < len(header):
            raise DataFileError(
                "columns are wrong",
                file=path,
                expected=", ".join(columns),
                got=", ".join(header)[:200],
                mend="mend the first line of the file",
            )
        for record in reader:
            if not any(cell.strip() for cell in record):
                continue
            if len(record) != len(header) or len(records) >= MAX_ROWS or max(map(len, record)) > MAX_CELL:
                raise DataFileError(
                    f"line {reader.line_num}",
                    file=path,
                    expected=f"{len(header)} cells of at most {MAX_CELL:,} characters, {MAX_ROWS:,} rows",
                    got=f"{len(record)} cells, {max(map(len, record)):,} characters, row {len(records) + 1:,}",
                    mend="put cells with a comma into quotation marks",
                )
            records.append([cell.strip() for cell in record])
            lines.append(reader.line_num)
    except csv.Error as error:
        raise DataFileError(f"line {reader.line_num} is no CSV ({error})", file=path) from None
    if not records:
        raise DataFileError("has no rows", file=path, expected="a row for each pair")
    frame = pd.DataFrame(records, columns=header, dtype="str")
    for name in optional:
        if name not in header:
            frame[name] = pd.Series([""] * len(frame), dtype="str")
    return frame[list(columns)], lines


def _table_name(converter: str, file: object, line: int) -> str:
    """Return the value table that a converter names; empty where it names none."""
    kind, _, name = converter.partition(":")
    if converter == "open":
        return "open"
    if kind not in TABLE_KINDS:
        return ""
    # The name becomes a file name: letters only, so that it cannot lead out of the folder.
    if not re.fullmatch(r"[A-Za-z0-9_-]{1,80}", name):
        raise AlignmentError(
            f"line {line}: bad name of a value table",
            file=str(file),
            expected="letters, digits, _ and -",
            got=repr(name[:60]),
        )
    return name


def save_alignment(alignment: Alignment, path: str | os.PathLike[str]) -> Path:
    """Write an alignment of one hop as CSV, its value tables into ``values`` beside it.

    Parameters
    ----------
    alignment : Alignment
    path : path-like
        Ends in ``.csv``.

    Returns
    -------
    pathlib.Path

    Raises
    ------
    UsageError
        A composed alignment, or a path with another ending.
    DataFileError
        It cannot be written; what was there before is as it was.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from dialogeval.alignment import load_alignment
    >>> a = load_alignment("crosswoz_en__crosswoz")
    >>> b = load_alignment(save_alignment(a, pathlib.Path(tempfile.mkdtemp(), f"{a.name}.csv")))
    >>> a.checksum == b.checksum
    True
    """
    path = Path(path)
    if len(alignment.hops) != 1 or path.suffix != ".csv":
        got = f"{len(alignment.hops)} steps and {path.name}"
        mend = "save each step of a composed alignment by itself"
        raise UsageError("cannot save", expected="an alignment of one step and a .csv", got=got, mend=mend)
    hop = alignment.hops[0]
    contents = {}
    for name, pairs in hop.values.items():
        frame = pd.DataFrame(pairs, columns=["value", "target_value"])
        contents[path.parent / "values" / f"{name}.csv"] = _as_csv(frame)
    # Last, so that an alignment that is there has its tables.
    contents[path] = _as_csv(hop.rows)
    try:
        for folder in {file.parent for file in contents}:
            folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        problem = f"cannot be written ({error.strerror or error})"
        raise DataFileError(problem, file=path, mend="choose another folder") from None
    write_all(contents)
    return path


def _as_csv(frame: pd.DataFrame) -> str:
    # A carriage return alone is written without quotation marks, and would end the line.
    if any(frame[column].str.contains("\r", regex=False).any() for column in frame):
        return frame.to_csv(index=False, lineterminator="\n", quoting=csv.QUOTE_ALL)
    return frame.to_csv(index=False, lineterminator="\n")

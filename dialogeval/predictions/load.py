"""Reading predictions: a file of any known format in, `Predictions` out.

This is the only place where a format is guessed, and it is guessed from the content, never from
the file's name. Each format's reader is in `predictions.formats`, what all share in
`predictions.cells`; writing is in `predictions.writers`.
"""

from __future__ import annotations

import io
import os
from collections import Counter
from pathlib import Path
from typing import Any

from dialogeval.exceptions import (
    DataFileError,
    DialogevalError,
    PredictionError,
    UnknownNameError,
    UsageError,
    few,
    show,
)
from dialogeval.files import collection_paused, read_bytes
from dialogeval.locate import locate_predictions
from dialogeval.parquet_file import parquet_table
from dialogeval.predictions.cells import build
from dialogeval.predictions.formats import READERS, Content
from dialogeval.strict_json import parse_json, read_json_lines
from dialogeval.tables import Predictions

__all__ = [
    "FORMATS",
    "check_format",
    "load_predictions",
    "read_predictions",
    "recognize",
    "system_name",
]

#: Names of the formats, for ``format=``.
FORMATS: tuple[str, ...] = tuple(READERS)

#: Endings that are no part of a system's name.
_ENDINGS = {
    "gz",
    "zip",
    "json",
    "jsonl",
    "ndjson",
    "csv",
    "parquet",
    "txt",
    "submission",
    "predictions",
    *FORMATS,
}
#: Keys of a turn that tell a format.
_MARKS = {
    "mwzeval": {"response", "state", "active_domains"},
    "trade": {"turn_belief", "pred_bs_ptr"},
    "gt-pr": {"gt", "pr"},
}
#: Text of an unquoted CSV cell that means "nothing here".
_NULLS = ["", "nan", "NaN", "<NA>", "null"]


def load_predictions(
    path: str | os.PathLike[str],
    format: str | None = None,
    name: str | None = None,
    *,
    home: str | os.PathLike[str] | None = None,
) -> Predictions:
    """Read what a system predicted.

    Parameters
    ----------
    path : path-like
        JSON, JSON lines, CSV or Parquet, perhaps as ``.gz`` or one-file ``.zip``; or a name such as
        ``sample/predictions/…`` or ``predictions/multiwoz/ubar``, see `dialogeval.locate`.
    format : str, optional
        One of `FORMATS`; recognised from the content if not given.
    name : str, optional
        The system's name; the file's name without its endings if not given.
    home : path-like, optional
        Folder of the data, for names of the catalog.

    Returns
    -------
    Predictions
        Dialogue ids in canonical form; slot names and values as in the file, empty values
        included; `Predictions.notes` says what was repaired or is not used.

    Raises
    ------
    DataFileError
        The file cannot be read or parsed.
    PredictionError
        Its content follows no format, two, or breaks the one it follows.
    UnknownNameError
        No such format.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp(), "mine.json")
    >>> _ = file.write_text('{"SNG01.json": [{"response": "hello", "state": {"hotel": {"area": "north"}}}]}')
    >>> load_predictions(file)
    Predictions(mine: 1 dialogues, 1 turns; states, responses)
    """
    if not isinstance(path, (str, os.PathLike)):
        raise UsageError("predictions", expected="a name or a path", got=show(path))
    check_format(format)
    path = locate_predictions(path, home)
    with collection_paused():
        return read_predictions(read_bytes(path), str(path), format, name)


def check_format(format: str | None) -> None:
    """Refuse the name of a format that does not exist."""
    if format is not None and format not in FORMATS:
        raise UnknownNameError("format", format, FORMATS)


def read_predictions(
    data: bytes,
    file: str,
    format: str | None = None,
    name: str | None = None,
    first: int | None = None,
    like: str | None = None,
) -> Predictions:
    """Read predictions from bytes: a whole file, or a piece of one in the same format."""
    content = _parse(data, file, first)
    known = format or (recognize(content) if like is None else _recognize_more(content, like))
    return build(
        READERS[known](content),
        content.file,
        name=name or system_name(Path(file).name),
        format=known,
        strings="split" if known in ("trade", "gt-pr") else "refuse",
        unit=content.unit if content.rows is not None else "item",
        unused=content.unused,
        notes=content.notes,
    )


def recognize(content: Content) -> str:
    """Say which format parsed content follows."""
    if content.rows == []:
        raise PredictionError("holds no turns", file=content.file)
    if content.rows is not None:
        names = set().union(*(row.keys() for _, row in content.rows))
        fits, seen = _rows_fit(names), f"rows with the fields {few(sorted(names), most=20) or 'none'}"
    elif not content.document and isinstance(content.document, (dict, list)):
        raise PredictionError("holds no dialogues", file=content.file, got=show(content.document))
    elif isinstance(content.document, dict):
        fits, seen = _dialogues_fit(content.document)
    elif isinstance(content.document, list):
        first = next((i for i in content.document if isinstance(i, dict) and i), None)
        fits = ["convlab"] if first is not None and {"predictions", "turns"} & first.keys() else []
        seen = f"a list that begins with {_outline(content.document[0])}"
    else:
        fits, seen = [], show(content.document)
    if len(fits) == 1:
        return fits[0]
    if fits:
        raise PredictionError(
            f"follows two formats, {' and '.join(fits)}",
            file=content.file,
            got=seen,
            mend="choose one with format=",
        )
    raise PredictionError(
        "no known format",
        file=content.file,
        expected=f"one of {', '.join(FORMATS)}",
        got=seen,
        mend="see the README's list of formats, or name one with format=",
    )


def _recognize_more(content: Content, like: str) -> str:
    """Return the format of a file of which more is read; rows that break it are left to its reader."""
    names = set().union(*(row.keys() for _, row in content.rows or []))
    others = {"turns": {"gold", "pred", "reference"}, "pairs": {"state", "active_domains"}}.get(like, set())
    if others & names:
        # As if all had been read at once.
        both = others | {"dialogue_id", "turn", {"turns": "state", "pairs": "gold"}[like]}
        return recognize(Content(content.file, rows=[(0, dict.fromkeys(both))]))
    return like


def _rows_fit(names: set[str]) -> list[str]:
    if not {"dialogue_id", "turn"} <= names:
        return []
    gold = {"gold", "pred", "reference"} & names
    state = {"state", "active_domains"} & names
    fits = ["pairs"] * bool(gold) + ["turns"] * bool(state)
    return fits or ["turns"] * ("response" in names)


def _dialogues_fit(document: dict[str, Any]) -> tuple[list[str], str]:
    """Return the formats that the first telling turn fits, and a description of it."""
    bare = False
    seen = ""
    for name, turns in document.items():
        if isinstance(turns, dict) and turns and not any(k.isdecimal() for k in turns):
            return [], f"dialogue {name}: {_outline(turns)}"
        if not isinstance(turns, (dict, list)):
            seen = seen or f"dialogue {name}: {show(turns)}"
            continue
        for number, turn in turns.items() if isinstance(turns, dict) else enumerate(turns):
            where = f"dialogue {name}, turn {number}"
            if isinstance(turn, (dict, list)) and turn:
                keys = set(turn) if isinstance(turn, dict) else set()
                return [f for f, marks in _MARKS.items() if marks & keys] or [
                    "dstc9"
                ], f"{where}: {_outline(turn)}"
            if turn:
                seen = seen or f"{where}: {show(turn)}"
            else:
                bare = True
        bare = bare or not turns
    # Turns without any field, empty or null, stand in format dstc9 only; its reader says what is wrong.
    return ["dstc9"] if bare else [], seen


def _outline(value: Any) -> str:
    """Describe a value by its keys, or as `show` does."""
    if isinstance(value, dict) and value:
        keys = [str(k)[:30] for k in list(value)[:6]]
        return f"an object with the key{'s' * (len(value) > 1)} {', '.join(keys)}" + ", …" * (len(value) > 6)
    return show(value)


def _parse(data: bytes, file: str, start: int | None = None) -> Content:
    """Tell JSON, JSON lines, CSV and Parquet apart from their first bytes, and parse."""
    if data[:4] == b"PAR1":
        return _tabular(data, file, parquet_table, start or 1)
    text = data.removeprefix(b"\xef\xbb\xbf").lstrip()
    first, _, rest = text.partition(b"\n")
    if start is not None or (text[:1] == b"{" and rest.strip() and _is_object(first)):
        return Content(file, rows=list(read_json_lines(data, file, surrogates="keep", first=start or 1)))
    if text[:1] not in b"{[" and (b"dialogue_id" in first or b"," in first):
        return _tabular(data, file, _csv)
    # Half a surrogate pair is left in: what reads the field says of which dialogue and turn it is.
    document = parse_json(data, file, surrogates="keep")
    if isinstance(document, dict) and {"dialogue_id", "turn"} <= document.keys():
        return Content(file, rows=[(1, document)])
    if not (isinstance(document, list) and document and isinstance(document[0], dict)):
        return Content(file, document=document)
    if not {"dialogue_id", "turn"} <= document[0].keys():
        return Content(file, document=document)
    for number, row in enumerate(document, start=1):
        if not isinstance(row, dict):
            raise PredictionError("not an object", file=f"{file}, item {number}", got=show(row))
    return Content(file, rows=list(enumerate(document, start=1)), unit="item")


def _is_object(line: bytes) -> bool:
    try:
        return isinstance(parse_json(line, "", keys="unchecked", surrogates="keep"), dict)
    except DialogevalError:
        return False


def _tabular(data: bytes, file: str, parse: Any, start: int = 1) -> Content:
    """Return the rows of a CSV or Parquet file, numbered from 1 without the header."""
    import pyarrow

    try:
        frame = parse(data, file)
        names = frame.column_names
        rows = frame.to_pylist() if len(set(names)) == len(names) else []
    except (pyarrow.ArrowException, OSError, ValueError, OverflowError) as error:
        # Beside its own exceptions pyarrow lets those of Python escape: dates past the calendar, wrong UTF-8.
        what = "Parquet" if parse is parquet_table else "CSV"
        line = next(iter(str(error).splitlines()), type(error).__name__)
        raise DataFileError(f"broken {what} ({line[:300]})", file=file) from None
    if len(names) == 1 and any(mark in names[0] for mark in ";\t|^"):
        raise PredictionError(
            "columns are not separated by commas", file=file, mend="save the table with commas"
        )
    for column in ("dialogue_id", "turn"):
        if column not in names:
            raise PredictionError(f"no column {column}", file=file, got=f"the columns {few(names, most=20)}")
    twice = next((n for n, times in Counter(names).items() if times > 1), None)
    if twice is not None:
        raise PredictionError(
            f"column {twice or repr(twice)} stands twice", file=file, mend="keep one of them"
        )
    return Content(file, rows=list(enumerate(rows, start=start)), unit="row")


def _csv(data: bytes, file: str) -> Any:
    import pyarrow
    from pyarrow import csv

    data = data.removeprefix(b"\xef\xbb\xbf")
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise DataFileError(
            f"not UTF-8 at byte {error.start}", file=file, mend="save the file in UTF-8 encoding"
        ) from None
    # pyarrow would take all up to the end of the file for one cell.
    if data.count(b'"') % 2:
        mend = 'close it, and write "" for one within a cell'
        raise DataFileError("broken CSV (a quotation mark is not closed)", file=file, mend=mend)
    # One block, so that no record is cut; only unquoted cells can be null, so that "nan" is a text.
    names = csv.open_csv(io.BytesIO(data), csv.ReadOptions(block_size=len(data) + 1)).schema.names
    return csv.read_csv(
        io.BytesIO(data),
        csv.ReadOptions(block_size=len(data) + 1),
        csv.ParseOptions(newlines_in_values=True),
        csv.ConvertOptions(
            column_types={n: pyarrow.string() for n in names},
            null_values=_NULLS,
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
        ),
    )


def system_name(file: str) -> str:
    """Return a file's name without the endings that tell formats, so that ``gpt-3.5.json`` keeps its 5."""
    name = file
    while "." in name and name.rsplit(".", 1)[1].lower() in _ENDINGS and name.rsplit(".", 1)[0]:
        name = name.rsplit(".", 1)[0]
    return name


def as_loaded(predictions: Predictions | str | os.PathLike[str]) -> Predictions:
    """Return predictions as they are, or load those of a file."""
    return predictions if isinstance(predictions, Predictions) else load_predictions(predictions)

"""Writing files so that none is ever half there.

In: paths and contents. Out: the files. What is written goes under a hidden name beside its place and is
moved there in one step when it, and all that belongs with it, is whole: a full disk, an interrupt or a
kill leaves what was there before.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from uuid import uuid4

import pandas as pd

from dialogeval.exceptions import DataFileError, DialogevalError


def write_whole(
    path: str | os.PathLike[str], content: str | bytes, *, error: type[DialogevalError] = DataFileError
) -> Path:
    """Write one file; see `write_all`."""
    write_all({Path(path): content}, error=error)
    return Path(path)


def write_all(contents: Mapping[Path, str | bytes], *, error: type[DialogevalError] = DataFileError) -> None:
    """Write files that belong together: all of them, or, if anything goes wrong, none."""
    parts: dict[Path, Path] = {}
    path = Path()
    try:
        for path, content in contents.items():
            data = content.encode("utf-8") if isinstance(content, str) else content
            if path.is_dir():
                raise error("is a folder where the file should go", file=path, mend="move it away")
            if path.exists() and not path.is_file():
                path.write_bytes(data)  # a pipe or a device: there is nothing to be replaced
            else:
                parts[path] = part_beside(path)
                parts[path].write_bytes(data)
        for path, part in parts.items():
            move_whole(part, path)
    except OSError as problem:
        reason = f"cannot be written ({problem.strerror or problem})"
        raise error(reason, file=path, mend="make room, or choose another place") from None
    finally:
        # Also after Ctrl-C: what was not moved into place goes away.
        for part in parts.values():
            part.unlink(missing_ok=True)


def part_beside(path: Path) -> Path:
    """Return a name to write under until a file is whole, in the folder it will lie in."""
    place = Path(os.path.realpath(path))
    return place.with_name(f".{place.name}.{uuid4().hex[:12]}.part")


def move_whole(part: Path, path: Path) -> None:
    """Put what is whole in its place."""
    os.replace(part, os.path.realpath(path))


#: What spreadsheets take for the beginning of a formula, the wide forms of East Asian ones included.
_FORMULA = re.compile(r"[=+\-@\t\n＝＋－＠].", re.DOTALL)
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


def csv_text(frame: pd.DataFrame, index: bool = True) -> str:
    """Return a table as CSV with an apostrophe before every text that a spreadsheet would compute."""
    whole = frame.reset_index() if index else frame
    # Column by column through positions: names need not be unique, and a number column stays as it is.
    columns = [
        column if pd.api.types.is_numeric_dtype(column.dtype) else column.astype(object).map(_harmless)
        for column in (whole.iloc[:, i] for i in range(whole.shape[1]))
    ]
    names = [str(_harmless(str(name))) for name in whole.columns]
    if index and frame.index.nlevels == 1 and frame.index.name is None:
        names[0] = ""
    safe = pd.concat(columns, axis=1) if columns else whole
    return safe.to_csv(index=False, header=names, lineterminator="\n")


def _harmless(cell: object) -> object:
    if not isinstance(cell, str):
        return cell
    # A carriage return alone is written without quotation marks, and would end the line.
    text = cell.replace("\r\n", "\n").replace("\r", "\n")
    return f"'{text}" if _FORMULA.match(text) and not _NUMBER.fullmatch(text) else text

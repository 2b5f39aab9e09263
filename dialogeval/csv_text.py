"""Tables as CSV that a spreadsheet may open: a text of the data cannot become a formula.

In: a table whose cells hold names and texts of anybody's files. Out: CSV. Prediction files are not
written here: they go back into a program, byte for byte.
"""

from __future__ import annotations

import re

import pandas as pd

__all__ = ["csv_text"]

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

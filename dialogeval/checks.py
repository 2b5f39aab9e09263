"""Checks of tables that a user made, once, at the border.

In: a data frame. Out: the same content with the columns, order and dtypes of `COLUMNS`, or one line
that says what is wrong with it.
"""

from __future__ import annotations

import pandas as pd

from .exceptions import PredictionError, show
from .tables import COLUMNS, INTEGERS, canonical_id

__all__ = ["check_table"]


def check_table(kind: str, frame: pd.DataFrame, where: str = "table") -> pd.DataFrame:
    """Check a table that a user made and return it with the right columns, order and dtypes.

    Parameters
    ----------
    kind : str
        A key of `COLUMNS`.
    frame : pandas.DataFrame
        May have further columns and any order; it is not changed.
    where : str
        Name for messages.

    Returns
    -------
    pandas.DataFrame
        A new table; dialogue ids in canonical form.

    Raises
    ------
    PredictionError
        A column is missing, a cell empty, a turn not a whole number from 0, a (dialogue, turn) of
        ``responses`` or ``turns`` there twice.

    Examples
    --------
    >>> check_table("responses", pd.DataFrame({"dialogue_id": ["A.json"], "turn": [0], "response": ["hi"]}))
      dialogue_id  turn response
    0           a     0       hi
    """
    names = COLUMNS[kind]
    optional = {"layout"}
    missing = [n for n in names if n not in frame.columns and n not in optional]
    if missing:
        raise PredictionError(
            f"table {kind} lacks the column{'s' * (len(missing) > 1)} {', '.join(missing)}",
            file=where,
            expected=", ".join(n for n in names if n not in optional),
            got=", ".join(map(str, frame.columns)),
        )
    out: dict[str, pd.Series] = {}
    for name in names:
        column = frame[name] if name in frame.columns else pd.Series(0, index=frame.index)
        if column.isna().any():
            row = int(column.isna().to_numpy().argmax())
            raise PredictionError(f"column {name}, row {row} is empty (NaN)", file=where, mend="fill it in")
        if name in INTEGERS:
            numbers = pd.to_numeric(column, errors="coerce")
            bad = numbers.isna() | (numbers < 0) | (numbers % 1 != 0)
            if bad.any():
                got = show(column[bad].tolist()[0])
                raise PredictionError(f"column {name}", file=where, expected="whole numbers from 0", got=got)
            out[name] = numbers.astype("int64")
        else:
            out[name] = column.astype("str")
    result = pd.DataFrame(out).reset_index(drop=True)
    if "dialogue_id" in result:
        ids = result["dialogue_id"]
        result["dialogue_id"] = ids.map({i: canonical_id(i) for i in ids.unique()}).astype("str")
    if kind in ("turns", "responses", "predicted_turns"):
        twice = result.duplicated(["dialogue_id", "turn"])
        if twice.any():
            first = result[twice].iloc[0]
            raise PredictionError(
                "stands twice",
                file=where,
                dialogue=first["dialogue_id"],
                turn=first["turn"],
                mend="keep one row",
            )
    return result

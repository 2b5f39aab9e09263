"""Checks of tables that a user made, once, at the border.

In: a data frame. Out: the same content with the columns, order and dtypes of `COLUMNS`, or one line
that says what is wrong with it.
"""

from __future__ import annotations

import pandas as pd

from .exceptions import PredictionError, UsageError, show
from .tables import COLUMNS, INTEGERS, Predictions, canonical_id

__all__ = ["check_table", "predictions_from"]


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


def predictions_from(
    states: pd.DataFrame | None = None,
    responses: pd.DataFrame | None = None,
    *,
    turns: pd.DataFrame | None = None,
    name: str = "system",
) -> Predictions:
    """Make predictions of tables instead of a file.

    Parameters
    ----------
    states : pandas.DataFrame, optional
        Columns dialogue_id, turn, domain, slot, value; one row a predicted triple.
    responses : pandas.DataFrame, optional
        Columns dialogue_id, turn, response.
    turns : pandas.DataFrame, optional
        Columns dialogue_id, turn: all turns that were predicted. Needed with ``states`` alone, where
        a turn with an empty state has no row.
    name : str

    Returns
    -------
    Predictions

    Raises
    ------
    PredictionError
        A column is missing or holds what it cannot.
    UsageError
        Neither states nor responses, or states without turns.

    Examples
    --------
    >>> states = pd.DataFrame({"dialogue_id": ["D1"], "turn": [1], "domain": ["hotel"], "slot": ["area"],
    ...                        "value": ["north"]})
    >>> turns = pd.DataFrame({"dialogue_id": ["D1", "D1"], "turn": [0, 1]})
    >>> predictions_from(states, turns=turns)
    Predictions(system: 1 dialogues, 2 turns; states)
    """
    if states is None and responses is None:
        raise UsageError("no predictions", expected="a table of states, of responses, or both")
    for what, frame in (("states", states), ("responses", responses), ("turns", turns)):
        if frame is not None and not isinstance(frame, pd.DataFrame):
            raise UsageError(what, expected="a pandas.DataFrame", got=show(frame))
    source = turns if turns is not None else responses
    if source is None:
        raise UsageError(
            "states without turns", mend="give turns: a turn with an empty state has no row in states"
        )
    return Predictions(
        name=name,
        turns=check_table("predicted_turns", source, name),
        states=None if states is None else check_table("states", states, name),
        responses=None if responses is None else check_table("responses", responses, name),
        format="table",
    )

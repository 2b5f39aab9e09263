"""One field of all turns: untrusted values in, tables out.

The columns of a prediction file are checked here one by one; `predictions.cells` puts them together.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
import pandas as pd

from dialogeval.exceptions import PredictionError, show
from dialogeval.predictions.states import Triple, read_state
from dialogeval.tables import table

__all__ = ["HALF_SURROGATE", "Keys", "domain_table", "state_table", "text_column"]

#: Half of a surrogate pair, as JSON's "\\ud800" makes it: no character, and no table can hold it.
HALF_SURROGATE = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True)
class Keys:
    """Which turn each entry of a column belongs to."""

    ids: list[str]
    turns: list[int]
    where: Callable[[int], dict[str, Any]]

    def columns(self, index: Sequence[int] | None = None) -> dict[str, Any]:
        """Return dialogue_id and turn of some entries (default: all, in order)."""
        ids, turns = pd.Series(self.ids, dtype="str"), np.asarray(self.turns, dtype="int64")
        # One gather of the few distinct entries instead of a Python string a row.
        return {"dialogue_id": ids, "turn": turns} if index is None else _take(ids, turns, index)


def _take(ids: pd.Series, turns: np.ndarray, index: Sequence[int]) -> dict[str, Any]:
    positions = np.asarray(index, dtype="int64")
    return {"dialogue_id": ids.take(positions).reset_index(drop=True), "turn": turns[positions]}


def state_table(
    column: list[Any], field: str, keys: Keys, repairs: Counter[str], strings: str = "refuse"
) -> pd.DataFrame:
    """Read the states of all turns."""
    lists: list[list[Triple]] = []
    for i, state in enumerate(column):
        try:
            lists.append(read_state(state, repairs, strings))
        except PredictionError as e:
            problem = e.problem if field == "state" else f"{field}: {e.problem}"
            raise PredictionError(
                problem, **keys.where(i), expected=e.expected, got=e.got, mend=e.mend
            ) from None
    index = np.repeat(np.arange(len(lists)), [len(triples) for triples in lists]).tolist()
    parts = list(zip(*chain.from_iterable(lists), strict=True)) or [(), (), ()]
    rows = Keys([], [], lambda row: keys.where(index[row]))
    out = {
        n: text_column(p, f"{field}: {n}", rows)
        for n, p in zip(("domain", "slot", "value"), parts, strict=True)
    }
    for name in ("domain", "slot"):
        empty = (out[name] == "").to_numpy()
        if empty.any():
            raise PredictionError(f"{field}: an empty {name} name", **rows.where(int(empty.argmax())))
    return table("states", keys.columns(index) | out)


def text_column(column: Sequence[Any], field: str, keys: Keys) -> pd.Series:
    """Check that all entries are texts."""
    if not set(map(type, column)) <= {str}:
        wrong = next(i for i, text in enumerate(column) if type(text) is not str)
        mends = {list: "join the tokens with blanks", type(None): 'write "" for an empty text'}
        mend = mends.get(type(column[wrong]), "write it as a string")
        got = show(column[wrong])
        raise PredictionError(f"the {field}", **keys.where(wrong), expected="a string", got=got, mend=mend)
    try:
        return pd.Series(column, dtype="str")
    except UnicodeEncodeError:
        half = next(i for i, text in enumerate(column) if HALF_SURROGATE.search(text))
        got = show(column[half])
        raise PredictionError(
            f"the {field}", **keys.where(half), expected="text", got=f"half a surrogate pair in {got}"
        ) from None


def domain_table(column: list[Any], keys: Keys) -> pd.DataFrame:
    """Read the predicted active domains of all turns."""
    for i, names in enumerate(column):
        if not isinstance(names, list) or not all(type(n) is str for n in names):
            raise PredictionError(
                "active_domains", **keys.where(i), expected="a list of strings", got=show(names)
            )
    index = [i for i, names in enumerate(column) for _ in names]
    rows = Keys([], [], lambda row: keys.where(index[row]))
    domains = text_column(list(chain.from_iterable(column)), "active domain", rows)
    return table("active_domains", keys.columns(index) | {"domain": domains})

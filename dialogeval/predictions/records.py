"""One record a turn from any content: field names and nesting in, the same few fields out.

``data/fields.csv`` says which names mean what; adding a format is adding rows to it. `turns` finds the
turns, `fields` decides what their fields are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import Any

from dialogeval.exceptions import PredictionError
from dialogeval.predictions.fields import Fields
from dialogeval.predictions.turns import ABSENT, SAMPLE, Cell, Turns

__all__ = ["read", "walk"]


def walk(content: Any, fields: Mapping[str, str] | None = None) -> tuple[list[dict[str, Any]], str]:
    """Return one dict a turn with the `FIELDS` that it has and its line, and a line on what was recognised."""
    cells, found = read(content, fields or {})
    taken = list(cells)
    records = [{"dialogue_id": i, "turn": t, "line": line} for i, t, _, line in taken]
    for field, column in found.columns(taken).items():
        for record, value in zip(records, column, strict=True):
            record[field] = value
    return [{k: v for k, v in r.items() if v is not ABSENT} for r in records], found.recognised


def read(
    content: Any, fields: Mapping[str, str], only: Sequence[str] | None = None
) -> tuple[Iterator[Cell], Fields]:
    """Return the turns of parsed content one by one, and what their fields are."""
    turns = Turns(fields, only)
    cells = iter(turns.cells(content))
    sample = list(islice(cells, SAMPLE))
    if not sample:
        raise PredictionError("holds no turns", mend="check that the system wrote its predictions")
    return chain(sample, cells), Fields(turns, sample)

"""What the report on scale shows: the pieces of a file, and types as they come up.

In: a file, or scores. Out: a file that can be cut, and tables.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pandas as pd

from dialogeval.exceptions import UsageError
from dialogeval.locate import locate_predictions
from dialogeval.predictions.load import load_predictions
from dialogeval.predictions.pieces import can_be_cut, pieces_of
from dialogeval.predictions.writers import save_predictions
from dialogeval.scoring import Scores

__all__ = ["in_lines", "largest_difference", "piece_table", "type_growth"]


def in_lines(
    predictions: str | os.PathLike[str],
    folder: str | os.PathLike[str],
    home: str | os.PathLike[str] | None = None,
) -> Path:
    """Return a file of predictions that can be read in pieces: the given one, or a copy as JSON lines."""
    path = locate_predictions(predictions, home)
    if can_be_cut(path):
        return Path(path)
    whole = load_predictions(path)
    copy = Path(folder, f"{whole.name}.jsonl")
    save_predictions(whole, copy, "turns" if whole.gold is None else "pairs")
    return copy


def piece_table(path: str | os.PathLike[str], turns_at_once: int) -> pd.DataFrame:
    """Return the pieces of a file as a table."""
    rows = [(p.number, p.first, p.rows, len(p.data)) for p in pieces_of(path, turns_at_once)]
    return pd.DataFrame(rows, columns=["piece", "first", "turns", "bytes"]).set_index("piece")


def largest_difference(first: Scores, second: Scores) -> float:
    """Return the largest relative difference of two results: values and ends of intervals."""
    a, b = (s.table[["value", "low", "high"]] for s in (first, second))
    if list(a.index) != list(b.index) or not a.isna().equals(b.isna()):
        raise UsageError("the results are not of the same scores", mend="score both under one protocol")
    return float(np.nanmax(((a - b).abs() / a.abs().clip(lower=1)).to_numpy(), initial=0))


def type_growth(scores: Scores) -> pd.DataFrame:
    """Return how many types have come up by each dialogue, in the order of the file."""
    for frame in scores.counts.values():
        for one, two in (("distinct_1_types", "distinct_2_types"), ("rich_1_types", "rich_2_types")):
            if one in frame:
                grown = frame[[one, two]].cumsum().set_axis(["words", "bigrams"], axis=1)
                return grown.set_axis(pd.RangeIndex(1, len(grown) + 1, name="dialogues"), axis=0)
    return pd.DataFrame(columns=["words", "bigrams"])

"""What the report on scale shows: the pieces of a file, and types as they come up.

In: a file, or scores. Out: a file that can be cut, and tables.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pandas as pd

from ..exceptions import UsageError
from ..locate import locate_predictions
from ..predictions import load_predictions
from ..predictions.pieces import can_be_cut, pieces_of
from ..predictions.writers import save_predictions
from ..scoring import Scores

__all__ = ["in_lines", "largest_difference", "piece_table", "type_growth"]


def in_lines(
    predictions: str | os.PathLike[str],
    folder: str | os.PathLike[str],
    home: str | os.PathLike[str] | None = None,
) -> Path:
    """Return a file of predictions that can be read in pieces: the given one, or a copy as JSON lines.

    Parameters
    ----------
    predictions : str or path-like
    folder : path-like
        Where the copy goes.
    home : path-like, optional
        Folder of the data.

    Returns
    -------
    pathlib.Path

    Examples
    --------
    >>> import tempfile
    >>> in_lines("sample/predictions/multiwoz/tracker_careful.json.gz", tempfile.mkdtemp()).name
    'tracker_careful.jsonl'
    """
    path = locate_predictions(predictions, home)
    if can_be_cut(path):
        return Path(path)
    whole = load_predictions(path)
    copy = Path(folder, f"{whole.name}.jsonl")
    save_predictions(whole, copy, "turns" if whole.gold is None else "pairs")
    return copy


def piece_table(path: str | os.PathLike[str], turns_at_once: int) -> pd.DataFrame:
    """Return the pieces of a file as a table.

    Parameters
    ----------
    path : path-like
    turns_at_once : int
        As for `dialogeval.score_in_pieces`.

    Returns
    -------
    pandas.DataFrame
        Indexed by piece, from 0; first (line or row), turns, bytes.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp(), "mine.jsonl")
    >>> _ = file.write_text('{"dialogue_id": "a", "turn": 0}\\n{"dialogue_id": "b", "turn": 0}\\n')
    >>> piece_table(file, 1)["first"].tolist()
    [1, 2]
    """
    rows = [(p.number, p.first, p.rows, len(p.data)) for p in pieces_of(path, turns_at_once)]
    return pd.DataFrame(rows, columns=["piece", "first", "turns", "bytes"]).set_index("piece")


def largest_difference(first: Scores, second: Scores) -> float:
    """Return the largest relative difference of two results: values and ends of intervals.

    Parameters
    ----------
    first, second : Scores
        Of the same scores.

    Returns
    -------
    float
        Relative to the larger of the number and 1.

    Raises
    ------
    UsageError
        Other scores, or an interval in one of them only.

    Examples
    --------
    >>> from dialogeval.corpora import load_corpus
    >>> from dialogeval.scoring import score
    >>> gold = load_corpus("sample/crosswoz_en")
    >>> scores = score(gold, gold, "lin2021")
    >>> largest_difference(scores, scores)
    0.0
    """
    a, b = (s.table[["value", "low", "high"]] for s in (first, second))
    if list(a.index) != list(b.index) or not a.isna().equals(b.isna()):
        raise UsageError("the results are not of the same scores", mend="score both under one protocol")
    return float(np.nanmax(((a - b).abs() / a.abs().clip(lower=1)).to_numpy(), initial=0))


def type_growth(scores: Scores) -> pd.DataFrame:
    """Return how many types have come up by each dialogue, in the order of the file.

    Parameters
    ----------
    scores : Scores
        With a score that counts types.

    Returns
    -------
    pandas.DataFrame
        Indexed by the number of dialogues read, from 1; columns ``words`` and ``bigrams``. No rows
        where no types are counted.

    Examples
    --------
    >>> from dialogeval.corpora import load_corpus
    >>> from dialogeval.scoring import score
    >>> gold = load_corpus("sample/multiwoz")
    >>> bool(type_growth(score(gold, gold, "lai2019"))["words"].is_monotonic_increasing)
    True
    """
    for frame in scores.counts.values():
        for one, two in (("distinct_1_types", "distinct_2_types"), ("rich_1_types", "rich_2_types")):
            if one in frame:
                grown = frame[[one, two]].cumsum().set_axis(["words", "bigrams"], axis=1)
                return grown.set_axis(pd.RangeIndex(1, len(grown) + 1, name="dialogues"), axis=0)
    return pd.DataFrame(columns=["words", "bigrams"])

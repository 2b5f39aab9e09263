"""Scores with their intervals, as dots on bars of uncertainty.

In: `Scores`. Out: axes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from dialogeval.exceptions import UnknownNameError, UsageError
from dialogeval.plots.base import (
    COLOURS,
    INK,
    finish,
    listing,
    new_axes,
    number,
    plain,
    row_height,
    style,
    unit_label,
)
from dialogeval.scoring import Scores

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["score_intervals"]


def score_intervals(
    scores: Scores | pd.DataFrame,
    keys: Sequence[str] | None = None,
    ax: Axes | None = None,
    *,
    title: str = "",
) -> Axes:
    """Draw scores as dots, each on the bar of its 95 % interval."""
    rows = score_rows(scores, keys)
    unit = str(rows["unit"].iloc[0])
    with style():
        ax = new_axes(ax, height=row_height(len(rows)) + 0.2)
        place = np.arange(len(rows))
        value = rows["value"].to_numpy(dtype=float)
        spread = np.vstack([value - rows["low"], rows["high"] - value])
        bar = np.nan_to_num(spread).clip(0)
        ax.errorbar(
            value, place, xerr=bar, fmt="none", ecolor=COLOURS["blue"], elinewidth=2, capsize=6, capthick=2
        )
        ax.plot(value, place, "o", color=INK, markersize=4.5)
        for at, (_, row) in zip(place, rows.iterrows(), strict=True):
            end = row["value"] if np.isnan(row["high"]) else row["high"]
            text = number(row["value"], unit)
            ax.annotate(text, (end, at), (7, 0), textcoords="offset points", va="center", color=INK)
        ax.set_yticks(place, [plain(label) for label in rows["label"]])
        ax.set_ylim(len(rows) - 0.4, -0.6)
        top = 1.0 if unit == "fraction" else float(np.nanmax(np.r_[value, rows["high"], 1e-9]))
        ax.set_xlim(0, top * 1.12)
        ax.grid(axis="x")
        of = f"{scores.system}: " if isinstance(scores, Scores) else ""
        with_bars = "" if rows["low"].isna().all() else " with 95 % intervals"
        name = title or f"{of}scores{with_bars}"
        said = [(row["label"], interval_words(row)) for _, row in rows.iterrows()]
        alt = f"Dot chart, {name}, {unit_label(unit)}: {listing(said)}."
        return finish(ax, name, unit_label(unit), "", alt)


def score_rows(scores: Scores | pd.DataFrame, keys: Sequence[str] | None) -> pd.DataFrame:
    """Return the rows of the chosen metrics, all of one unit."""
    table = scores.table if isinstance(scores, Scores) else scores
    known = [str(k) for k in table.index]
    for key in keys or ():
        if key not in known:
            raise UnknownNameError("metric of these scores", key, known)
    rows = table.loc[list(keys) if keys else known]
    units = rows["unit"].unique()
    if len(units) != 1:
        raise UsageError(
            "metrics of different units cannot share an axis", got=", ".join(units), mend="choose keys"
        )
    return rows


def interval_words(row: pd.Series) -> str:
    """Return a value and its interval in words."""
    value = number(row["value"], row["unit"])
    if np.isnan(row["low"]):
        return value
    return f"{value} ({number(row['low'], row['unit'])} to {number(row['high'], row['unit'])})"

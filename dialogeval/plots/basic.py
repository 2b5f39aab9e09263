"""Bars and histograms of any table: the two figures that looking at data needs most.

In: a table and a column, or numbers. Out: axes.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from dialogeval.exceptions import UsageError
from dialogeval.plots.base import COLOURS, INK, finish, listing, new_axes, number, plain, row_height, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["bar_counts", "histogram"]


def bar_counts(
    table: pd.DataFrame,
    column: str,
    title: str = "",
    xlabel: str = "rows",
    ax: Axes | None = None,
    *,
    most: int = 20,
) -> Axes:
    """Draw counts as horizontal bars with their numbers."""
    if column not in table.columns:
        raise UsageError("column", expected=", ".join(map(str, table.columns)), got=column)
    numeric = pd.api.types.is_numeric_dtype(table[column].dtype)
    counts = table[column] if numeric else table[column].value_counts()
    if not numeric:
        counts = counts.sort_index().sort_values(ascending=False, kind="stable")
    shown = counts.head(most)
    names = [_name(i) for i in shown.index]
    with style():
        ax = new_axes(ax, height=row_height(len(shown)))
        ax.barh(range(len(shown)), shown.tolist(), color=COLOURS["blue"], height=0.7)
        ax.set_yticks(range(len(shown)), [plain(n) for n in names])
        ax.invert_yaxis()
        ax.margins(x=0.12)
        for place, value in enumerate(shown.tolist()):
            ax.annotate(
                number(value), (value, place), (4, 0), textcoords="offset points", va="center", color=INK
            )
        left_out = len(counts) - len(shown)
        full = f"{title or column} ({len(shown)} of {len(counts)} shown)" if left_out else title or column
        values = [(n, number(v)) for n, v in zip(names, shown.tolist(), strict=True)]
        alt = f"Bar chart, {full}, {xlabel}: {listing(values)}."
        return finish(ax, full, xlabel, "", alt)


def histogram(
    values: Iterable[float],
    title: str = "",
    xlabel: str = "value",
    ax: Axes | None = None,
    *,
    bins: int = 30,
    ylabel: str = "count",
) -> Axes:
    """Draw how numbers are distributed, with their median."""
    numbers = np.asarray(list(values), dtype=float)
    if not np.isfinite(numbers).all():
        raise UsageError(
            "values", expected="finite numbers", got=f"{int((~np.isfinite(numbers)).sum())} that are not"
        )
    with style():
        ax = new_axes(ax)
        alt = f"Histogram, {title or xlabel}: no values."
        if len(numbers):
            ax.hist(numbers, bins=edges(numbers, bins).tolist(), color=COLOURS["blue"], edgecolor="white")
            middle = float(np.median(numbers))
            ax.axvline(middle, color=INK, linestyle="--", linewidth=1, label=f"median {middle:g}")
            ax.legend()
            if (numbers % 1 == 0).all():
                ax.locator_params(axis="x", integer=True)
            alt = (
                f"Histogram, {title or xlabel}: {len(numbers):,} values from {numbers.min():g} to "
                f"{numbers.max():g}, median {middle:g} ({xlabel})."
            )
        ax.grid(axis="y")
        return finish(ax, title or xlabel, xlabel, ylabel, alt)


def edges(numbers: np.ndarray, bins: int) -> np.ndarray:
    """Return the bounds of a histogram's bars; bars of whole numbers are centred on them."""
    low, high = float(numbers.min()), float(numbers.max())
    if (numbers % 1 == 0).all():
        width = max(1, int(np.ceil((high - low + 1) / bins)))
        return np.arange(low - 0.5, high + width + 0.5, width)
    return np.linspace(low, high, bins + 1)


def _name(index: object) -> str:
    return " ".join(map(str, index)) if isinstance(index, tuple) else str(index)

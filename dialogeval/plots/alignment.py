"""Figures of attribution: what a score is made of, right turns and lost ones by cause.

In: shares by system, as `lessons.misalignment.parts` gives them. Out: axes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from dialogeval.exceptions import UsageError
from dialogeval.plots.base import INK, finish, legend, listing, new_axes, plain, row_height, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["attribution_parts"]

#: Labels first (warm, then blue), then what the tracker did not understand (grey).
_FILLS = {
    "right": ("#0072B2", ""),
    "misaligned name": ("#E69F00", "////"),
    "misaligned value": ("#F7DFA8", "\\\\\\\\"),
    "language": ("#56B4E9", "...."),
    "untranslated": ("#CFE8F7", "xx"),
    "missing": ("#FFFFFF", ""),
    "spurious": ("#DDDDDD", "---"),
    "wrong": ("#8C8C8C", ""),
}


def attribution_parts(table: pd.DataFrame, title: str = "Where the turns go", ax: Axes | None = None) -> Axes:
    """Draw for each system right and lost turns as one bar; its parts add up to the whole."""
    if not len(table) or not np.allclose(table.sum(axis=1), 1):
        got = "no rows" if not len(table) else f"a row that adds up to {table.sum(axis=1).min():.3f}"
        raise UsageError("table", expected="rows that add up to 1", got=got)
    shown = [part for part in _FILLS if part in table and table[part].max() > 0]
    place = "below" if ax is None else "inside"
    with style():
        ax = new_axes(ax, width=8.4, height=row_height(len(table)) + 0.9 + 0.12 * len(table))
        spots, start = np.arange(len(table)), np.zeros(len(table))
        for part in shown:
            colour, hatch = _FILLS[part]
            width = table[part].to_numpy(dtype=float) * 100
            ax.barh(
                spots, width, left=start, color=colour, hatch=hatch, edgecolor=INK, linewidth=0.5,
                height=0.62, label=part,
            )  # fmt: skip
            for spot, left, size in zip(spots, start, width, strict=True):
                if size >= 4:
                    ax.text(
                        left + size / 2, float(spot), f"{size:.1f}", ha="center", va="center", fontsize=8.5,
                        color=INK, bbox={"facecolor": "white", "edgecolor": "none", "pad": 1},
                    )  # fmt: skip
            start = start + width
        ax.set_yticks(spots, [plain(name, 34) for name in table.index])
        ax.set_ylim(len(table) - 0.5, -0.5)
        ax.set_xlim(0, 100)
        legend(ax, min(len(shown), 4), place)
        parts = [(n, " ".join(f"{p} {row[p] * 100:.1f}" for p in shown)) for n, row in table.iterrows()]
        alt = f"Stacked bar chart, {title}, per cent of the turns by system: {listing(parts)}."
        return finish(ax, title, "share of the turns (per cent): right, and lost to which cause", "", alt)

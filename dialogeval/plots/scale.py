"""Figures of the report on scale.

In: a table as `dialogeval.scale.shown` makes it. Out: axes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from dialogeval.plots.base import COLOURS, INK, finish, new_axes, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["type_curves"]


def type_curves(growth: pd.DataFrame, title: str, ax: Axes | None = None) -> Axes:
    """Draw how many types have come up after how many dialogues."""
    with style():
        ax = new_axes(ax)
        for name, colour, line in (("bigrams", "orange", "--"), ("words", "blue", "-")):
            ax.plot(growth.index, growth[name], color=COLOURS[colour], linestyle=line, linewidth=2)
            end = (float(growth.index[-1]), float(growth[name].iloc[-1]))
            text = f" {end[1]:,.0f} {name}"
            ax.annotate(text, end, (2, 0), textcoords="offset points", va="center", color=INK)
        ax.set_ylim(bottom=0)
        ax.margins(x=0.02)
        ax.grid(axis="y")
        halfway = growth.iloc[(len(growth) - 1) // 2]
        ends = ", ".join(
            f"{growth[name].iloc[-1]:,} {name}, {halfway[name]:,} of them after half of the dialogues"
            for name in ("words", "bigrams")
        )
        alt = f"Line chart, {title}: {len(growth):,} dialogues; {ends}."
        return finish(ax, title, "dialogues read", "types seen so far", alt)

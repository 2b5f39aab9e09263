"""Figures of lesson 01 that `dialogeval.plots` has no general form of.

In: tables of `lessons.inspection`. Out: axes, drawn in the style of `dialogeval.plots`; and
tables whose rows can be labelled on any machine, whatever fonts it has.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from dialogeval.plots.base import COLOURS, FILLS, INK, finish, new_axes, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["lengths_by_speaker", "numbered", "state_growth"]


def numbered(table: pd.DataFrame) -> pd.DataFrame:
    """Return a table with its rows numbered from 1 if their names need a font that may be missing.

    Parameters
    ----------
    table : pandas.DataFrame
        Indexed by names, such as domains or (domain, slot).

    Returns
    -------
    pandas.DataFrame
        The same if all names are Latin; else indexed ``no. 1``, ``no. 2``, … in the table's order.

    Examples
    --------
    >>> numbered(pd.DataFrame({"turns": [7, 5]}, index=["酒店", "餐馆"])).index.tolist()
    ['no. 1', 'no. 2']
    >>> numbered(pd.DataFrame({"turns": [7]}, index=["Hotel"])).index.tolist()
    ['Hotel']
    """
    if all(ord(letter) < 0x250 for name in table.index for letter in str(name)):
        return table
    return table.set_axis([f"no. {place}" for place in range(1, len(table) + 1)], axis=0)


def state_growth(growth: pd.DataFrame, title: str = "How the state grows", ax: Axes | None = None) -> Axes:
    """Draw the mean number of filled slots by turn.

    Parameters
    ----------
    growth : pandas.DataFrame
        As `lessons.inspection.state_growth` gives it.
    title : str
    ax : matplotlib.axes.Axes, optional

    Returns
    -------
    matplotlib.axes.Axes
        Turns that fewer than a twentieth of the dialogues reach are dotted: means of few.

    Examples
    --------
    >>> ax = state_growth(pd.DataFrame({"dialogues": [90, 3], "filled slots": [1.5, 2.5]}))
    >>> [line.get_ydata().tolist() for line in ax.lines]
    [[1.5, 2.5], [1.5]]
    """
    from matplotlib.ticker import MaxNLocator

    with style():
        ax = new_axes(ax)
        many = growth[growth["dialogues"] >= growth["dialogues"].max() / 20]
        ax.plot(
            growth.index,
            growth["filled slots"],
            color=COLOURS["blue"],
            linestyle=":",
            label="fewer dialogues",
        )
        ax.plot(
            many.index, many["filled slots"], color=COLOURS["blue"], marker="o", label="5 % of them or more"
        )
        ax.set_ylim(bottom=0)
        ax.xaxis.set_major_locator(MaxNLocator(integer=True))
        ax.grid(axis="y")
        ax.legend(loc="lower right")
        points = [f"{slots:.1f} in turn {turn}" for turn, slots in many["filled slots"].items()]
        alt = f"Line, {title}, mean number of filled slots: {', '.join(points[:: max(len(points) // 4, 1)])}."
        return finish(ax, title, "turn (0 is the first)", "filled slots (mean)", alt)


def lengths_by_speaker(lengths: pd.DataFrame, limit: int = 36, ax: Axes | None = None) -> Axes:
    """Draw how long the utterances of both speakers are.

    Parameters
    ----------
    lengths : pandas.DataFrame
        As `lessons.inspection.tokens_per_utterance` gives it.
    limit : int, default=36
        Where a line is drawn: the length at which Lai et al. 2019 cut an utterance.
    ax : matplotlib.axes.Axes, optional

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> table = pd.DataFrame({"speaker": ["user", "system"], "length": [3, 5], "unit": "tokens"})
    >>> lengths_by_speaker(table).get_xlabel()
    'length (tokens)'
    """
    unit = lengths["unit"].iloc[0] if len(lengths) else "tokens"
    with style():
        ax = new_axes(ax)
        highest = int(lengths["length"].max()) if len(lengths) else 1
        width = 1 + highest // 30
        bins = list(range(0, highest + width + 1, width))
        medians = []
        for (speaker, group), (colour, hatch) in zip(lengths.groupby("speaker"), FILLS, strict=False):
            middle = group["length"].median()
            medians.append(f"{speaker} {middle:g}")
            look = (
                {"facecolor": colour, "alpha": 0.75} if not hatch else {"facecolor": "none", "edgecolor": INK}
            )
            ax.hist(group["length"], bins=bins, hatch=hatch, label=f"{speaker} (median {middle:g})", **look)
        ax.axvline(limit, color=INK, linestyle="--", linewidth=1, label=f"{limit} {unit}")
        ax.legend()
        ax.grid(axis="y")
        alt = (
            f"Two histograms, length of the utterances in {unit}: {len(lengths):,} utterances of up to "
            f"{highest}; medians {', '.join(medians)}; a line at {limit}."
        )
        return finish(ax, "How long the utterances are", f"length ({unit})", "utterances", alt)

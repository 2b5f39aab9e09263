"""Figures of definitions: what each score says of the same turns, and of the same systems.

In: small tables of scores, one row and one column a thing compared. Out: axes. The tables come from
`lessons.demonstrations`, from `dialogeval.definitions`, or from a few lines of pandas.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from dialogeval.exceptions import UsageError
from dialogeval.plots.base import (
    COLOURS,
    FILLS,
    INK,
    finish,
    legend,
    listing,
    new_axes,
    number,
    plain,
    row_height,
    style,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["before_after", "change_counts", "flexible_decay", "scores_by_system", "turn_grid"]

CHANGES = ("correct", "wrong", "missed", "over-predicted")
_CHANGE_FILLS = (*FILLS, ("#FFFFFF", "xxxx"))
_SERIES = (
    ("o", "-", COLOURS["blue"]),
    ("s", "--", COLOURS["orange"]),
    ("^", ":", COLOURS["vermilion"]),
    ("D", "-.", COLOURS["sky"]),
    ("v", "-", INK),
    ("P", "--", COLOURS["grey"]),
    ("X", ":", "#009E73"),
    ("<", "-.", "#CC79A7"),
)


def turn_grid(table: pd.DataFrame, title: str = "Scores turn by turn", ax: Axes | None = None) -> Axes:
    """Draw scores by turn as a grid of shaded cells with their numbers."""
    _refuse_empty(table, "turn")
    values = table.to_numpy(dtype=float)
    with style():
        ax = new_axes(ax, width=max(5.0, 2.2 + 0.42 * table.shape[1]), height=1.3 + 0.36 * len(table))
        ax.imshow(np.ma.masked_invalid(values), cmap="Blues", vmin=0, vmax=1.25, aspect="auto")
        for (row, column), value in np.ndenumerate(values):
            ax.text(
                column, row, _short(value), ha="center", va="center", fontsize=8.5,
                color="white" if value > 0.75 else INK,
            )  # fmt: skip
        ax.set_xticks(range(table.shape[1]), [plain(c) for c in table.columns])
        ax.set_yticks(range(len(table)), [plain(r) for r in table.index])
        ax.tick_params(length=0)
        ax.set_xticks(np.arange(-0.5, table.shape[1]), minor=True)
        ax.set_yticks(np.arange(-0.5, len(table)), minor=True)
        ax.grid(which="minor", color="white", linewidth=2)
        ax.tick_params(which="minor", length=0)
        alt = f"Grid, {title}: scores (fraction, 0 to 1) by turn, darker is higher. {_row_words(table)}."
        return finish(ax, title, "turn, counted from 0", "", alt)


def scores_by_system(
    table: pd.DataFrame,
    title: str = "Systems under each definition",
    xlabel: str = "score (fraction, 0 to 1)",
    ax: Axes | None = None,
) -> Axes:
    """Draw the scores of several systems under several definitions; lines that cross change the order."""
    _refuse_empty(table, "system")
    if table.shape[1] > len(_SERIES):
        raise UsageError(
            "systems", expected=f"at most {len(_SERIES)}", got=str(table.shape[1]), mend="choose some"
        )
    place = "below" if ax is None else "inside"
    with style():
        ax = new_axes(ax, height=1.5 + 0.42 * len(table) + 0.25 * ((table.shape[1] - 1) // 3))
        spots = np.arange(len(table))
        ax.hlines(spots, table.min(axis=1), table.max(axis=1), color=COLOURS["grey"], linewidth=4, alpha=0.5)
        # A little apart from each other, so that equal scores do not hide one another.
        apart = np.linspace(-0.16, 0.16, table.shape[1]) if table.shape[1] > 1 else np.zeros(1)
        series = zip(_SERIES, apart, table.items(), strict=False)
        for (mark, line, colour), shift, (name, column) in series:
            ax.plot(
                column, spots + shift, linestyle=line, linewidth=1, marker=mark, markersize=7, color=colour,
                markeredgecolor=INK, markeredgewidth=0.6, label=plain(name),
            )  # fmt: skip
        ax.set_yticks(spots, [plain(r, 48) for r in table.index])
        ax.set_ylim(len(table) - 0.5, -0.5)
        ax.set_xlim(-0.02, 1.02)
        ax.grid(axis="x")
        legend(ax, min(table.shape[1], 3), place)
        first, last = table.idxmax(axis=1), table.idxmin(axis=1)
        said = [
            (
                row,
                f"{first[row]} {table.loc[row, first[row]]:.3f} to {last[row]} {table.loc[row, last[row]]:.3f}",
            )
            for row in table.index
        ]
        alt = f"Dot chart, {title}, {xlabel}, {table.shape[1]} systems, from the highest to the lowest: {listing(said, 20)}."
        return finish(ax, title, xlabel, "", alt)


def flexible_decay(
    scores: Mapping[float, float], title: str = "How fast an old error is forgiven", ax: Axes | None = None
) -> Axes:
    """Draw what flexible goal accuracy gives to a turn by the age of the error that still stands in it."""
    weights = sorted(scores)
    if not weights or weights[0] <= 0:
        raise UsageError("λ", expected="numbers above 0", got=", ".join(map(str, weights)) or "none")
    age = np.arange(0, 11)
    place = "below" if ax is None else "inside"
    with style():
        ax = new_axes(ax, height=3.9)
        said = []
        for (mark, line, colour), weight in zip(_SERIES, weights, strict=False):
            gained = 1 - np.exp(-weight * age)
            label = f"λ = {weight:g} (this system: {scores[weight]:.3f})"
            ax.plot(age, gained, line, marker=mark, color=colour, markeredgecolor=INK, label=label)
            said.append((f"λ {weight:g}:", f"{gained[1]:.2f} after one turn and {gained[4]:.2f} after four"))
        ax.set_ylim(0, 1.02)
        ax.locator_params(axis="x", integer=True)
        ax.grid(axis="y")
        legend(ax, 2, place)
        systems = listing([(f"λ {w:g}", f"{scores[w]:.3f}") for w in weights])
        alt = (
            f"Line chart, {title}. What a turn with an old error is worth: {listing(said)}. "
            f"The system's flexible goal accuracy: {systems}."
        )
        return finish(ax, title, "turns since the error was made", "what the turn is worth (0 to 1)", alt)


def change_counts(
    table: pd.DataFrame, title: str = "Changes of the state, as counted", ax: Axes | None = None
) -> Axes:
    """Draw the four counts of granular change accuracy as shares of all changes, with their numbers."""
    _refuse_empty(table, "system")
    shares = table[list(CHANGES)].div(table[list(CHANGES)].sum(axis=1).clip(lower=1), axis=0) * 100
    place = "below" if ax is None else "inside"
    with style():
        ax = new_axes(ax, height=row_height(len(table)) + 0.6 + 0.1 * len(table))
        start = np.zeros(len(table))
        spots = np.arange(len(table))
        for kind, (colour, hatch) in zip(CHANGES, _CHANGE_FILLS, strict=True):
            width = shares[kind].to_numpy()
            ax.barh(
                spots, width, left=start, color=colour, hatch=hatch, edgecolor=INK, linewidth=0.5,
                height=0.62, label=kind,
            )  # fmt: skip
            for spot, left, part, count in zip(spots, start, width, table[kind], strict=True):
                if part >= 3:
                    ax.text(
                        left + part / 2, float(spot), f"{count:,}", ha="center", va="center", fontsize=8.5, color=INK,
                        bbox={"facecolor": "white", "edgecolor": "none", "pad": 1},
                    )  # fmt: skip
            start = start + width
        ax.set_yticks(spots, [plain(i) for i in table.index])
        ax.invert_yaxis()
        ax.set_xlim(0, 100)
        legend(ax, len(CHANGES), place)
        said = [(i, " ".join(f"{int(row[k]):,} {k}" for k in CHANGES)) for i, row in table.iterrows()]
        alt = f"Stacked bar chart, {title}: {listing(said)}."
        return finish(ax, title, "share of the counted changes (per cent); numbers: changes", "", alt)


def before_after(
    table: pd.DataFrame,
    title: str = "What a definition moves",
    xlabel: str = "joint goal accuracy (fraction, 0 to 1)",
    ax: Axes | None = None,
) -> Axes:
    """Draw a score before and after as two dots with an arrow from one to the other."""
    _refuse_empty(table, "change")
    place = "below" if ax is None else "inside"
    with style():
        ax = new_axes(ax, width=9.0, height=row_height(len(table)) + 0.7)
        spots = np.arange(len(table))
        before, after = table["before"].to_numpy(dtype=float), table["after"].to_numpy(dtype=float)
        ax.plot(before, spots, "o", color="white", markeredgecolor=INK, markersize=7, label="before")
        ax.plot(after, spots, "o", color=COLOURS["blue"], markeredgecolor=INK, markersize=7, label="after")
        arrow: Any = {"arrowstyle": "->", "color": INK, "shrinkA": 4, "shrinkB": 4}
        for spot, old, new in zip(spots, before, after, strict=True):
            if abs(new - old) > 0.02:
                ax.annotate("", (new, spot), (old, spot), arrowprops=arrow)
            points = f"{(new - old) * 100:+.1f}".replace("-", "−")
            ax.annotate(
                points, (max(old, new), spot), (9, 0), textcoords="offset points", va="center", fontsize=8.5
            )
        ax.set_yticks(spots, [plain(i, 52) for i in table.index])
        ax.set_ylim(len(table) - 0.4, -0.6)
        ax.set_xlim(-0.02, 1.1)
        ax.set_xticks([0, 0.2, 0.4, 0.6, 0.8, 1.0])
        ax.grid(axis="x")
        legend(ax, 2, place)
        said = [
            (i, f"{number(b, 'fraction')} to {number(a, 'fraction')}")
            for i, b, a in zip(table.index, before, after, strict=True)
        ]
        alt = f"Dot chart, {title}, {xlabel}, before and after: {listing(said, 20)}."
        return finish(ax, title, f"{xlabel}; numbers: points", "", alt)


def _refuse_empty(table: pd.DataFrame, what: str) -> None:
    if table.empty:
        raise UsageError("table", expected=f"at least one {what}", got="an empty table")


def _row_words(table: pd.DataFrame) -> str:
    """Return each score of a grid in words: its mean, and in how many turns it is 1."""
    rows = [
        (
            str(name),
            f"mean {number(row.mean(), 'fraction')} (1 in {int((row == 1).sum())} of {row.count()} turns)",
        )
        for name, row in table.iterrows()
    ]
    return listing(rows, 14)


def _short(value: float) -> str:
    """Return a score of one turn: two digits, without what every one of them shares."""
    if np.isnan(value):
        return "–"
    return f"{value:.2f}".rstrip("0").rstrip(".").removeprefix("0") or "0"

"""Figures of transfer: scores by what was trained on and scored on, and the parts of the gap.

In: tables of `dialogeval.ontology.attribution`. Out: axes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from dialogeval.exceptions import UsageError
from dialogeval.ontology.attribution import CAUSES
from dialogeval.plots.base import COLOURS, INK, finish, listing, new_axes, number, plain, row_height, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["stacked_parts", "transfer_matrix"]

#: Fills that differ in hatch and lightness: colours for what is a matter of labels, greys for the rest.
_FILLS = (
    (COLOURS["blue"], ""),
    (COLOURS["orange"], "////"),
    ("#CFE8F7", "...."),
    (COLOURS["vermilion"], "xxxx"),
    ("#FFFFFF", ""),
    ("#E4E4E4", "\\\\\\\\"),
    ("#A8A8A8", "++++"),
)
#: The fill of a part by its name; other names take theirs by place.
_PLACES = {part: place for place, part in enumerate(CAUSES)}
_PLACES |= {"names": 0, "values": 1, "after alignment": 4}


def transfer_matrix(
    raw: pd.DataFrame, aligned: pd.DataFrame, label: str = "score", ax: Axes | None = None
) -> Axes:
    """Draw a score of all pairs as a grid of numbers: as it is on the left, aligned on the right."""
    if raw.empty or not (raw.index.equals(aligned.index) and raw.columns.equals(aligned.columns)):
        raise UsageError("raw and aligned", expected="the same rows and columns", got="others")
    n = raw.shape[1]
    grid = np.hstack([raw.to_numpy(dtype=float), aligned.to_numpy(dtype=float)])
    rows, columns = ([plain(name, 26) for name in names] for names in (raw.index, raw.columns))
    with style():
        ax = new_axes(ax, width=max(5.5, 3.0 + 1.1 * n), height=2.0 + 0.5 * len(raw))
        ax.imshow(grid, cmap="Blues", vmin=0, vmax=1.15, aspect="auto")
        ax.axvline(n - 0.5, color="white", linewidth=7)
        for (row, column), value in np.ndenumerate(grid):
            own = raw.index[row] == raw.columns[column % n]
            ax.text(
                column, row, "–" if np.isnan(value) else f"{value:.3f}", ha="center", va="center",
                color="white" if value > 0.6 else INK, weight="bold" if own else "normal",
            )  # fmt: skip
        for start, text in ((0, "as it is"), (n, "aligned")):
            ax.annotate(
                text, (start + (n - 1) / 2, -0.5), (0, 4), textcoords="offset points", ha="center",
                style="italic", annotation_clip=False,
            )  # fmt: skip
        ax.set_xticks(range(2 * n), columns * 2, rotation=30, ha="right", rotation_mode="anchor")
        ax.set_yticks(range(len(rows)), rows)
        ax.tick_params(length=0)
        ax.spines[:].set_visible(False)
        said = [
            (
                f"{r} on {c}",
                f"{number(raw.loc[r, c], 'fraction')}, aligned {number(aligned.loc[r, c], 'fraction')}",
            )
            for r in raw.index
            for c in raw.columns
        ]
        title = f"{label}: trained on (rows), scored on (columns)"
        alt = f"Grid of numbers, {title}, as it is and aligned: {listing(said, 16)}."
        finish(ax, title, "scored on; fraction, 0 to 1 (bold: on its own corpus)", "trained on", alt)
        ax.set_title(ax.get_title("left"), loc="left", pad=22)
        return ax


def stacked_parts(table: pd.DataFrame, title: str, unit: str, ax: Axes | None = None) -> Axes:
    """Draw rows of parts as stacked bars that end in their sum; negative parts stand left of zero."""
    if table.empty or table.shape[1] > len(_FILLS):
        got = f"{len(table)} rows, {table.shape[1]} parts"
        raise UsageError("table", expected=f"rows of 1 to {len(_FILLS)} parts", got=got)
    between = " → " if table.index.names == ["trained_on", "scored_on"] else " "
    names = [between.join(map(str, n)) if isinstance(n, tuple) else str(n) for n in table.index]
    whole = bool((table % 1 == 0).all(axis=None))
    own = ax is None
    with style():
        ax = new_axes(ax, width=8.2, height=row_height(len(table)) + 0.8)
        spots = np.arange(len(table))
        ends = {1: np.zeros(len(table)), -1: np.zeros(len(table))}
        for place, (part, values) in enumerate(table.items()):
            if not values.any():
                continue
            handle = str(part)
            colour, hatch = _FILLS[_PLACES.get(handle, place)]
            for sign in (1, -1):
                width = np.where(np.sign(values) == sign, values, 0.0).astype(float)
                ax.barh(
                    spots, width, left=ends[sign], color=colour, hatch=hatch, edgecolor=INK, linewidth=0.5,
                    height=0.7, label=handle,
                )  # fmt: skip
                ends[sign] += width
                handle = "_"
        sums = table.sum(axis=1).to_numpy(dtype=float)
        for spot, end, total in zip(spots, ends[1], sums, strict=True):
            text = f"{total:,.0f}" if whole else f"{total:.3f}"
            ax.annotate(
                text, (end, float(spot)), (4, 0), textcoords="offset points", va="center", fontsize=8.5
            )
        low, high = float(ends[-1].min()), float(max(ends[1].max(), 1e-9))
        ax.set_xlim(1.05 * low, high + 0.13 * (high - low))
        ax.axvline(0, color=INK, linewidth=0.8)
        ax.set_yticks(spots, [plain(name, 46) for name in names])
        ax.invert_yaxis()
        ax.grid(axis="x")
        handles, labels = ax.get_legend_handles_labels()
        if own:
            ax.get_figure(root=True).legend(handles, labels, loc="outside lower right", ncols=4)  # type: ignore[union-attr]
        else:
            ax.legend()
        said = [
            (
                name,
                ", ".join(f"{part} {number(v, '' if whole else 'fraction')}" for part, v in row.items() if v),
            )
            for name, (_, row) in zip(names, table.iterrows(), strict=True)
        ]
        alt = f"Stacked bar chart, {title}: {'; '.join(f'{n}: {text}' for n, text in said[:12])}."
        return finish(ax, title, unit, "", alt)

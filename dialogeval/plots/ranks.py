"""Who stands where: the places of systems under several definitions.

In: a table of ranks, as `dialogeval.comparison.ranks` gives it. Out: axes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from dialogeval.exceptions import UsageError
from dialogeval.plots.base import INK, finish, listing, new_axes, plain, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["rank_grid"]


def rank_grid(
    table: pd.DataFrame, title: str = "Places under each definition", ax: Axes | None = None
) -> Axes:
    """Draw the place of each system under each definition; places that differ from the first row are bold."""
    if table.empty:
        raise UsageError("table", expected="at least one definition and system", got="an empty table")
    # From the left, as the first row ranks them.
    table = table[table.iloc[0].sort_values(kind="stable").index]
    places = table.to_numpy()
    moved = places != places[0]
    with style():
        ax = new_axes(ax, width=max(6.5, 3.6 + 0.6 * table.shape[1]), height=1.9 + 0.33 * max(len(table), 2))
        ax.imshow(-places, cmap="Blues", vmin=-1.6 * table.shape[1], vmax=1.0, aspect="auto")
        for (row, column), place in np.ndenumerate(places):
            ax.text(
                column, row, str(place), ha="center", va="center", fontsize=10 if moved[row, column] else 8.5,
                weight="bold" if moved[row, column] else "normal",
                color="white" if -place > -0.35 * table.shape[1] else INK,
            )  # fmt: skip
        names = [plain(name, 24) for name in table.columns]
        ax.set_xticks(range(len(names)), names, rotation=35, ha="right", rotation_mode="anchor")
        ax.set_yticks(range(len(table)), [plain(label, 56) for label in table.index])
        ax.tick_params(length=0)
        ax.spines[:].set_visible(False)
        said = [
            (label, " > ".join(f"{name} {place}" for name, place in row.sort_values(kind="stable").items()))
            for label, row in table.iterrows()
        ]
        alt = f"Grid, {title}, {len(table)} rankings of {len(names)} systems; {listing(said, 8)}."
        return finish(ax, title, "place (1: best; bold: not as in the first row)", "", alt)

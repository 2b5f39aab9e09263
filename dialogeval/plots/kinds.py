"""Figures of the kinds of errors: how often each is made, how often carried along, what its repair would gain.

In: `Scores` of a protocol for states. Out: axes; and `kind_table`, the numbers behind them. Triples
are compared exactly here, as the protocol has normalised them, also where its own scores are fuzzy.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from dialogeval.analysis.errors import error_kinds as known_kinds
from dialogeval.analysis.errors import errors, reset_accuracy
from dialogeval.plots.base import COLOURS, FILLS, INK, finish, legend, listing, new_axes, row_height, style
from dialogeval.scoring import Scores

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["error_kinds", "kind_table", "repair_gains"]


def kind_table(scores: Scores) -> pd.DataFrame:
    """Return for each kind of error how often it is made, how often it counts, and what its repair would
    gain."""
    table = errors(scores)
    place = ["dialogue_id", "turn"]
    once = table.drop_duplicates([*place, "kind"])
    kinds_of_turn = once.groupby(place)["kind"].transform("size")
    by = {
        "errors": table,
        "made": table[table["since"] == table["turn"]],
        "carried": table[table["since"] < table["turn"]],
        "dialogues": once.drop_duplicates(["dialogue_id", "kind"]),
        "turns": once,
        "alone": once[kinds_of_turn == 1],
    }
    order = known_kinds().index
    counts = pd.DataFrame(
        {
            name: rows["kind"].value_counts().reindex(order).fillna(0).astype("int64")
            for name, rows in by.items()
        }
    )
    counts["gain"] = 100 * counts["alone"] / max(len(scores.coverage.turns), 1)
    return counts.rename_axis("kind").sort_values("errors", ascending=False, kind="stable")


def error_kinds(scores: Scores, ax: Axes | None = None) -> Axes:
    """Draw how often each kind of error is made, and how often it is only carried along."""
    table = kind_table(scores)
    place = "below" if ax is None else "inside"
    with style():
        ax = new_axes(ax, height=row_height(len(table)) + 0.5)
        spots = np.arange(len(table))
        start = np.zeros(len(table))
        labels = {"made": "made in this turn", "carried": "carried along from an earlier turn"}
        for (column, label), (colour, hatch) in zip(labels.items(), FILLS, strict=False):
            width = table[column].to_numpy(dtype=float)
            ax.barh(
                spots, width, left=start, color=colour, hatch=hatch, edgecolor=INK, linewidth=0.5,
                height=0.7, label=label,
            )  # fmt: skip
            start = start + width
        for spot, total in zip(spots, start, strict=True):
            ax.annotate(
                f"{int(total):,}", (total, float(spot)), (4, 0), textcoords="offset points", va="center"
            )
        ax.set_yticks(spots, list(table.index))
        ax.invert_yaxis()
        ax.set_xlim(0, 1.12 * max(start.max(), 1))
        ax.grid(axis="x")
        legend(ax, 2, place)
        title = f"{scores.system}: kinds of errors"
        said = [(k, f"{r['made']:,.0f} made {r['carried']:,.0f} carried along") for k, r in table.iterrows()]
        alt = f"Stacked bar chart, {title}: {listing(said)}."
        return finish(ax, title, "errors (wrong slots, summed over turns)", "", alt)


def repair_gains(scores: Scores, ax: Axes | None = None) -> Axes:
    """Draw joint goal accuracy as it is, and with the errors of one kind put right."""
    gain = kind_table(scores)["gain"] / 100
    gain = gain.sort_values(ascending=False, kind="stable")
    now = _exact_share(scores)
    place = "below" if ax is None else "inside"
    with style():
        ax = new_axes(ax, height=row_height(len(gain)) + 0.5)
        spots = np.arange(len(gain))
        ax.axvline(now, color=INK, linestyle="--", linewidth=1, label=f"as it is: {now:.3f}")
        ax.hlines(spots, now, now + gain, color=COLOURS["sky"], linewidth=5)
        ax.plot(now + gain, spots, "o", color=COLOURS["blue"], label="with this kind repaired")
        for spot, more in zip(spots, gain, strict=True):
            ax.annotate(
                f"+{more * 100:.1f}", (now + more, float(spot)), (8, 0), textcoords="offset points",
                va="center", fontsize=8.5,
            )  # fmt: skip
        ax.set_yticks(spots, list(gain.index))
        ax.invert_yaxis()
        ax.set_xlim(0, 1.08)
        ax.set_xticks([0, 0.2, 0.4, 0.6, 0.8, 1.0])
        ax.grid(axis="x")
        legend(ax, 2, place)
        title = f"{scores.system}: what repairing one kind would gain"
        said = [(k, f"{now + more:.3f}") for k, more in gain.items()]
        alt = (
            f"Dot chart, {title}: joint goal accuracy is {now:.3f}; with one kind repaired: {listing(said)}."
        )
        return finish(ax, title, "joint goal accuracy (fraction, 0 to 1); numbers: points", "", alt)


# Helpers ------------------------------------------------------------------------------------------


def _exact_share(scores: Scores) -> float:
    table = reset_accuracy(scores)
    return float(table["exact"].sum() / max(table["turns"].sum(), 1))

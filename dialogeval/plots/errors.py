"""Figures of error analysis: where errors start, how long they live, what a tracker is without their legacy.

In: `Scores` of a protocol for states (for `definition_spread`: a table of `dialogeval.definitions`).
Out: axes. Triples are compared exactly here, as the protocol has normalised them, also where the
protocol's own scores are fuzzy. The figures of the kinds of errors stand in `kinds`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from dialogeval.analysis.errors import error_lives, errors, reset_accuracy
from dialogeval.exceptions import UnknownNameError, UsageError
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
from dialogeval.plots.kinds import error_kinds, kind_table, repair_gains
from dialogeval.scoring import Scores

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = [
    "definition_spread",
    "error_kinds",
    "error_lengths",
    "error_starts",
    "kind_table",
    "repair_gains",
    "reset_by_turn",
]


def error_starts(scores: Scores, ax: Axes | None = None) -> Axes:
    """Draw by turn number how many errors stand in a turn, and how many of them it has made itself."""
    table, turns = errors(scores), scores.coverage.turns["turn"].value_counts(sort=False).sort_index()
    standing = table["turn"].value_counts().reindex(turns.index).fillna(0) / turns
    fresh = table[table["since"] == table["turn"]]
    made = fresh["turn"].value_counts().reindex(turns.index).fillna(0) / turns
    title = f"{scores.system}: errors that stand in a turn, and those it makes"
    lines = {"standing in the turn": standing, "made in the turn": made}
    return _lines_over_turns(lines, turns, title, "errors a turn", ax)


def reset_by_turn(scores: Scores, ax: Axes | None = None) -> Axes:
    """Draw joint goal accuracy by turn, beside the same tracker reset to gold after each turn."""
    table = reset_accuracy(scores)
    lines = {
        "as it is": table["joint_goal_accuracy"],
        "reset to gold after each turn": table["reset_goal_accuracy"],
    }
    title = f"{scores.system}: with and without the legacy of earlier turns"
    ax = _lines_over_turns(lines, table["turns"], title, "joint goal accuracy (fraction, 0 to 1)", ax)
    ax.set_ylim(0, 1.02)
    return ax


def error_lengths(scores: Scores, ax: Axes | None = None) -> Axes:
    """Draw how many turns errors live: those that are repaired, and those that stand to the end."""
    lives = error_lives(scores)
    longest = int(lives["turns"].max()) if len(lives) else 1
    place = "below" if ax is None else "inside"
    with style():
        ax = new_axes(ax)
        below = np.zeros(longest)
        labels = {"never": "wrong to the end of the dialogue", "repaired": "repaired"}
        for (end, label), (colour, hatch) in zip(labels.items(), FILLS, strict=False):
            of_end = lives.loc[lives["end"] == end, "turns"]
            height = np.bincount(of_end.to_numpy(dtype="int64"), minlength=longest + 1)[1:]
            ax.bar(
                range(1, longest + 1), height, bottom=below, color=colour, hatch=hatch, edgecolor=INK,
                linewidth=0.5, width=0.8, label=label,
            )  # fmt: skip
            below = below + height
        ax.locator_params(axis="both", integer=True)
        ax.grid(axis="y")
        legend(ax, 2, place)
        title = f"{scores.system}: how long errors live"
        alt = f"{title}: no errors."
        if len(lives):
            never = int((lives["end"] == "never").sum())
            alt = (
                f"Stacked histogram, {title}: {len(lives):,} errors, median {lives['turns'].median():g} turns, "
                f"longest {longest}; {never:,} are wrong to the end, {len(lives) - never:,} are repaired."
            )
        return finish(ax, title, "length of life (turns)", "errors, each counted once", alt)


def definition_spread(
    table: pd.DataFrame, system: str = "", here: float | None = None, ax: Axes | None = None
) -> Axes:
    """Draw the scores of one system under every definition."""
    if table.empty:
        raise UsageError("table", expected="at least one definition", got="an empty table")
    if system and system not in table:
        raise UnknownNameError("system", system, list(table.columns))
    values = table[system or table.columns[0]].dropna()
    name = plain(values.name)
    key = str(table.attrs.get("metric", "score")).replace("_", " ")
    with style():
        ax = new_axes(ax, width=9.0, height=row_height(len(values)))
        spots = np.arange(len(values))
        ax.hlines(spots, 0, values, color=COLOURS["sky"], linewidth=3)
        ax.plot(values, spots, "o", color=COLOURS["blue"])
        for spot, value in zip(spots, values, strict=True):
            ax.annotate(
                f"{value:.3f}",
                (value, float(spot)),
                (8, 0),
                textcoords="offset points",
                va="center",
                fontsize=8.5,
            )
        if here is not None:
            ax.axvline(here, color=INK, linestyle="--", linewidth=1)
        ax.set_yticks(spots, [plain(row, 48) for row in values.index])
        ax.set_ylim(len(values) - 0.4, -0.6)
        ax.set_xlim(0, 1.12)
        ax.set_xticks([0, 0.2, 0.4, 0.6, 0.8, 1.0])
        ax.grid(axis="x")
        title = f"{name}: one system, {len(values)} definitions"
        low, high = values.idxmin(), values.idxmax()
        marked = f" The dashed line is at {here:.3f}." if here is not None else ""
        alt = f"Dot chart, {title} of {key}: from {values.min():.3f} ({low}) to {values.max():.3f} ({high}).{marked}"
        dashed = "; dashed: the score above" if here is not None else ""
        return finish(ax, title, f"{key} (fraction, 0 to 1){dashed}", "", alt)


# Helpers ------------------------------------------------------------------------------------------


def _lines_over_turns(
    lines: dict[str, pd.Series], turns: pd.Series, title: str, ylabel: str, ax: Axes | None
) -> Axes:
    """Draw two lines by turn number over pale bars of how many turns they rest on."""
    place = "below" if ax is None else "inside"
    with style():
        ax = new_axes(ax, height=4.0)
        behind = ax.twinx()
        behind.bar(turns.index, turns, color=COLOURS["grey"], alpha=0.45, width=0.8)
        behind.set_ylabel("turns scored (grey bars)")
        behind.spines["right"].set_visible(True)
        ax.set_zorder(behind.get_zorder() + 1)
        ax.patch.set_visible(False)
        looks = (("o", "-", COLOURS["blue"]), ("s", "--", COLOURS["vermilion"]))
        for (mark, line, colour), (label, values) in zip(looks, lines.items(), strict=True):
            ax.plot(values.index, values, line, marker=mark, color=colour, label=label)
        ax.set_ylim(bottom=0)
        ax.locator_params(axis="x", integer=True)
        legend(ax, len(lines), place)
        # The last turns rest on few dialogues: the sentence names the middle as well.
        at = [turns.index[0], turns.index[len(turns) // 2], turns.index[-1]]
        said = [(label, " ".join(number(v[t], "fraction") for t in at)) for label, v in lines.items()]
        alt = f"Line chart, {title}; {ylabel}, in turns {at[0]}, {at[1]} and {at[2]}: {listing(said)}."
        return finish(ax, title, "turn, counted from 0", ylabel, alt)

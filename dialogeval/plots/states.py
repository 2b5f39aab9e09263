"""Figures of state tracking: where in a dialogue, in which domain and slot, and by what kind of error.

In: `Scores` of a protocol for states (by turn: of any). Out: axes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import pandas as pd

from dialogeval.analysis.breakdowns import ERROR_KINDS, by_domain, by_slot, by_turn
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
    unit_label,
)
from dialogeval.plots.values import score_rows
from dialogeval.scoring import Scores

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["score_by_domain", "score_by_slot", "score_by_turn", "slot_errors"]

_MAIN = ("joint_goal_accuracy", "slot_f1_micro", "bleu_4", "bleu_4_card")
_MARKS = (("o", "-"), ("s", "--"), ("^", ":"), ("D", "-."))


def score_by_turn(
    scores: Scores,
    keys: Sequence[str] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw scores by turn number, over pale bars of how many turns each rests on."""
    keys = keys or [k for k in _MAIN if k in scores.table.index][:2] or [str(scores.table.index[0])]
    rows = score_rows(scores, keys)
    table = by_turn(scores)
    for key in keys:
        if key not in table:
            raise UsageError(f"{key} is a score of whole dialogues, not of turns")
    unit, labels = str(rows["unit"].iloc[0]), rows["label"].to_dict()
    place = "below" if ax is None else "inside"
    with style():
        ax = new_axes(ax, height=4.0)
        behind = ax.twinx()
        behind.bar(table.index, table["turns"], color=COLOURS["grey"], alpha=0.45, width=0.8)
        behind.set_ylabel("turns scored (grey bars)")
        behind.spines["right"].set_visible(True)
        ax.set_zorder(behind.get_zorder() + 1)
        ax.patch.set_visible(False)
        colours = (COLOURS["blue"], COLOURS["vermilion"], INK, COLOURS["orange"])
        for number_, key in enumerate(keys):
            (mark, line), colour = _MARKS[number_ % 4], colours[number_ % 4]
            ax.plot(table.index, table[key], line, marker=mark, color=colour, label=plain(labels[key]))
        ax.set_ylim(0, 1.02 if unit == "fraction" else None)
        ax.locator_params(axis="x", integer=True)
        legend(ax, len(keys), place)
        first, last = int(table.index[0]), int(table.index[-1])
        said = [
            (
                f"{labels[key]} from",
                f"{number(table[key].iloc[0], unit)} to {number(table[key].iloc[-1], unit)}",
            )
            for key in keys
        ]
        alt = (
            f"Line chart, {scores.system} by turn number, {unit_label(unit)}, from turn {first} "
            f"({table['turns'].iloc[0]:,} turns) to turn {last} ({table['turns'].iloc[-1]:,}): {listing(said)}."
        )
        return finish(
            ax, f"{scores.system}: scores by turn number", "turn, counted from 0", unit_label(unit), alt
        )


def score_by_domain(scores: Scores, key: str = "slot_f1_micro", ax: Axes | None = None) -> Axes:
    """Draw a micro score by domain, with the number of gold triples behind each."""
    return _score_by(by_domain(scores), key, f"{scores.system}: {_label(key)} by domain", ax, 30)


def score_by_slot(
    scores: Scores, key: str = "slot_f1_micro", ax: Axes | None = None, *, most: int = 20
) -> Axes:
    """Draw a micro score by (domain, slot), those with most gold triples first."""
    return _score_by(by_slot(scores), key, f"{scores.system}: {_label(key)} by slot", ax, most)


def slot_errors(scores: Scores, ax: Axes | None = None, *, most: int = 15) -> Axes:
    """Draw missed, spurious and wrong values by slot, those with most errors first."""
    kinds = by_slot(scores)[list(ERROR_KINDS)]
    kinds = kinds.loc[kinds.sum(axis=1).sort_values(ascending=False, kind="stable").index]
    kinds = kinds[kinds.sum(axis=1) > 0]
    shown = kinds.head(most)
    place = "below" if ax is None else "inside"
    with style():
        ax = new_axes(ax, height=row_height(len(shown)) + 0.5)
        start = pd.Series(0, index=shown.index)
        for kind, (colour, hatch) in zip(ERROR_KINDS, FILLS, strict=True):
            places = range(len(shown))
            ax.barh(
                places, shown[kind].tolist(), left=start.tolist(), color=colour, hatch=hatch,
                edgecolor=INK, linewidth=0.5, height=0.72, label=kind,
            )  # fmt: skip
            start = start + shown[kind]
        ax.set_yticks(range(len(shown)), [plain(_name(i)) for i in shown.index])
        ax.invert_yaxis()
        ax.grid(axis="x")
        legend(ax, len(ERROR_KINDS), place)
        some = f" ({len(shown)} of {len(kinds)} slots)" if len(kinds) > len(shown) else ""
        title = f"{scores.system}: errors by slot{some}"
        said = [
            (_name(i), " ".join(f"{int(row[k])} {k}" for k in ERROR_KINDS if row[k]))
            for i, row in shown.iterrows()
        ]
        alt = f"Stacked bar chart, {title}, in turns: {listing(said, 5)}." if said else f"{title}: no errors."
        return finish(ax, title, "errors (triples summed over turns)", "", alt)


# Helpers ------------------------------------------------------------------------------------------


def _label(key: str) -> str:
    labels = {"slot_f1_micro": "micro F1", "slot_precision": "micro precision", "slot_recall": "micro recall"}
    if key not in labels:
        raise UsageError("key", expected=", ".join(labels), got=key)
    return labels[key]


def _score_by(table: pd.DataFrame, key: str, title: str, ax: Axes | None, most: int) -> Axes:
    shown = table.head(most)
    title += f" ({len(shown)} of {len(table)} shown)" if len(table) > len(shown) else ""
    with style():
        ax = new_axes(ax, height=row_height(len(shown)) + 0.2)
        places = range(len(shown))
        ax.hlines(places, 0, shown[key], color=COLOURS["sky"], linewidth=3)
        ax.plot(shown[key], places, "o", color=COLOURS["blue"], markersize=7)
        for place, (value, gold) in enumerate(zip(shown[key], shown["gold"], strict=True)):
            text = f"{number(value, 'fraction')}  ({gold:,})"
            ax.annotate(text, (value, place), (8, 0), textcoords="offset points", va="center", fontsize=8.5)
        ax.set_yticks(places, [plain(_name(i)) for i in shown.index])
        ax.invert_yaxis()
        ax.set_xlim(0, 1.25)
        ax.set_xticks([0, 0.2, 0.4, 0.6, 0.8, 1.0])
        ax.grid(axis="x")
        said = [(_name(i), number(v, "fraction")) for i, v in shown[key].items()]
        xlabel = f"{_label(key)} (fraction, 0 to 1); in brackets: gold triples"
        return finish(ax, title, xlabel, "", f"Dot chart, {title}: {listing(said)}.")


def _name(index: object) -> str:
    return " ".join(map(str, index)) if isinstance(index, tuple) else str(index)

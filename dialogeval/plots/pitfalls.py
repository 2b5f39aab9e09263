"""Figures of lessons 3 and 6: the parts of BLEU and its many numbers, diversity, a random evaluator.

In: counts, and small tables of `lessons.bleu_variants` and `lessons.pitfalls_texts`.
Out: axes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

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

__all__ = ["bleu_numbers", "brevity_penalty", "diversity_by_amount", "ngram_precisions", "repeated_runs"]


def ngram_precisions(counts: pd.DataFrame, title: str = "", ax: Axes | None = None) -> Axes:
    """Draw the n-grams of a response and those found in the reference, by length."""
    title = title or "n-grams found in the reference"
    place = "below" if ax is None else "inside"
    all_, found = counts["n-grams"].to_numpy(), counts["clipped"].to_numpy()
    words = [f"{int(part)} of {int(whole)}" for part, whole in zip(found, all_, strict=True)]
    with style():
        ax = new_axes(ax, height=3.2)
        spots = np.arange(len(counts))
        ax.bar(
            spots,
            all_,
            color=COLOURS["grey"],
            edgecolor=INK,
            linewidth=0.5,
            width=0.6,
            label="in the response",
        )
        ax.bar(
            spots, found, color=COLOURS["blue"], edgecolor=INK, linewidth=0.5, width=0.6,
            label="found in the reference (clipped)",
        )  # fmt: skip
        for spot, whole, text in zip(spots, all_, words, strict=True):
            ax.annotate(text, (spot, whole), (0, 3), textcoords="offset points", ha="center")
        ax.set_xticks(spots, [plain(n) for n in counts.index])
        ax.margins(y=0.15)
        legend(ax, 2, place)
        said = listing([(f"n = {n}:", text) for n, text in zip(counts.index, words, strict=True)])
        return finish(ax, title, "length n of the n-gram (tokens)", "n-grams", f"Bar chart, {title}: {said}.")


def brevity_penalty(share: float, title: str = "", ax: Axes | None = None) -> Axes:
    """Draw BLEU's brevity penalty over the length of the response, and mark one response."""
    if not share > 0:
        raise UsageError("share", expected="a number above 0", got=str(share))
    title = title or "Brevity penalty"
    lengths = np.linspace(0.05, max(1.5, share), 200)
    factor = float(np.exp(min(0.0, 1 - 1 / share)))
    with style():
        ax = new_axes(ax, height=3.2)
        ax.plot(lengths, np.exp(np.minimum(0.0, 1 - 1 / lengths)), color=COLOURS["blue"])
        ax.plot([share], [factor], "o", color=COLOURS["orange"], markeredgecolor=INK, markersize=9)
        ax.annotate(f"{factor:.3f}", (share, factor), (9, -12), textcoords="offset points")
        ax.set_ylim(0, 1.08)
        ax.grid(axis="y")
        alt = (
            f"Line chart, {title}: the factor is 1 from the length of the reference on, 0.895 at nine tenths of "
            f"it, 0.368 at half; this response has {share:.2f} of the length and the factor {factor:.3f}."
        )
        return finish(
            ax, title, "length of the response / length of the reference", "brevity penalty (factor)", alt
        )


def bleu_numbers(table: pd.DataFrame, title: str = "", ax: Axes | None = None) -> Axes:
    """Draw every number that is called BLEU-4 as a bar: definitions plain, slips hatched."""
    if table.empty:
        raise UsageError("table", expected="at least one number", got="an empty table")
    place = "below" if ax is None else "inside"
    title = title or "Numbers called BLEU-4"
    looks = {"definition": ("choice of definition", *FILLS[0]), "slip": ("slip without an error", *FILLS[1])}
    with style():
        ax = new_axes(ax, width=8.0, height=row_height(len(table)) + 0.5)
        places = np.arange(len(table))
        for kind, (label, colour, hatch) in looks.items():
            here = (table["kind"] == kind).to_numpy()
            ax.barh(
                places[here], table["value"].to_numpy(dtype=float)[here], color=colour, hatch=hatch,
                edgecolor=INK, linewidth=0.5, height=0.62, label=label,
            )  # fmt: skip
        for spot, value in zip(places, table["value"], strict=True):
            ax.annotate(
                number(value, "per cent"), (value, spot), (5, 0), textcoords="offset points", va="center"
            )
        ax.set_yticks(places, [plain(i, 52) for i in table.index])
        ax.invert_yaxis()
        ax.set_xlim(0, max(float(table["value"].max()) * 1.15, 1.0))
        ax.grid(axis="x")
        legend(ax, 2, place)
        said = [
            (f"{i} ({kind})", number(value, "per cent"))
            for i, kind, value in zip(table.index, table["kind"], table["value"], strict=True)
        ]
        return finish(ax, title, "per cent", "", f"Bar chart, {title}, per cent: {listing(said, 20)}.")


def diversity_by_amount(table: pd.DataFrame, title: str = "", ax: Axes | None = None) -> Axes:
    """Draw D-1 and D-2 over the number of tokens."""
    title = title or "Diversity by amount of text"
    tokens = table["tokens"].to_numpy(dtype=float)
    with style():
        ax = new_axes(ax)
        for key, mark, line, colour in (("D-1", "o", "-", "blue"), ("D-2", "s", "--", "orange")):
            ax.plot(tokens, table[key], marker=mark, linestyle=line, color=COLOURS[colour], label=key)
        ax.set_ylim(0)
        ax.grid(axis="y")
        ax.legend()
        said = [
            (f"{int(n):,} tokens", f"D-1 {row['D-1']:.1f}, D-2 {row['D-2']:.1f}")
            for n, (_, row) in zip(tokens, table.iterrows(), strict=True)
        ]
        alt = f"Line chart, {title}, per cent: {'; '.join(' '.join(pair) for pair in said)}."
        return finish(ax, title, "tokens of the responses", "distinct n-grams (per cent)", alt)


def repeated_runs(runs: pd.Series, fixed: float, title: str = "", ax: Axes | None = None) -> Axes:
    """Draw the score of one file in several runs of an evaluator that draws, and of one that does not."""
    title = title or "One file, several runs"
    with style():
        ax = new_axes(ax, height=3.2)
        spots = np.arange(1, len(runs) + 1)
        ax.plot(
            spots, runs.to_numpy(dtype=float), "o", color=COLOURS["blue"], label="a venue drawn at random"
        )
        ax.axhline(fixed, color=INK, linestyle="--", linewidth=1, label="all venues have to fit (no chance)")
        low, high = min(runs.min(), fixed), max(runs.max(), fixed)
        ax.set_ylim(low - 0.4 * (high - low) - 1, high + 0.9 * (high - low) + 1)
        ax.set_xticks(spots[:: max(len(spots) // 10, 1)])
        ax.grid(axis="y")
        ax.legend(loc="upper right", ncols=2)
        alt = (
            f"Dot chart, {title}: {len(runs)} runs from {runs.min():.1f} to {runs.max():.1f} per cent; "
            f"without chance {fixed:.1f}."
        )
        return finish(ax, title, "run", "per cent of dialogues", alt)

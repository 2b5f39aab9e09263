"""Figures of generation: BLEU by order, diversity, lengths, and goal labels one by one.

In: `Scores` of a protocol for responses. Out: axes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from dialogeval.analysis.breakdowns import by_label, turn_table
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
from dialogeval.plots.basic import edges
from dialogeval.plots.values import interval_words, score_rows
from dialogeval.scoring import Scores

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["bleu", "diversity", "goal_labels", "lengths"]


def bleu(scores: Scores | pd.DataFrame, ax: Axes | None = None, *, title: str = "") -> Axes:
    """Draw the BLEU scores, by order and definition, as bars with 95 % intervals."""
    return _bars(scores, "bleu_", title or "BLEU by order and definition", ax)


def diversity(scores: Scores | pd.DataFrame, ax: Axes | None = None, *, title: str = "") -> Axes:
    """Draw the shares of distinct words, bigrams and utterances as bars with 95 % intervals."""
    return _bars(scores, "distinct_", title or "distinct words, bigrams and utterances", ax)


def lengths(scores: Scores, ax: Axes | None = None) -> Axes:
    """Draw how long references and responses are, in tokens."""
    table = turn_table(scores)
    sides = {side: table[f"{side}_length"].to_numpy(dtype=float) for side in ("reference", "response")}
    # One utterance of a thousand tokens must not press all others into one bar.
    top = max(float(np.quantile(values, 0.995)) for values in sides.values())
    bounds = edges(np.array([0.0, max(np.ceil(top), 1.0)]), 40)
    said, beyond = [], 0
    with style():
        ax = new_axes(ax)
        looks: dict[str, Any] = {
            "reference": {"color": COLOURS["grey"], "histtype": "stepfilled"},
            "response": {"color": COLOURS["blue"], "histtype": "step", "linewidth": 2},
        }
        for side, values in sides.items():
            beyond += int((values > bounds[-1]).sum())
            label = f"{side}s, mean {values.mean():.1f}"
            ax.hist(np.minimum(values, bounds[-1] - 0.5), bins=bounds.tolist(), label=label, **looks[side])
            said.append(
                (
                    f"{side}s",
                    f"mean {values.mean():.1f}, median {np.median(values):g}, longest {values.max():g}",
                )
            )
        ax.legend()
        ax.grid(axis="y")
        title = f"{scores.system}: lengths of references and responses"
        more = f" ({beyond} longer ones in the last bar)" if beyond else ""
        alt = f"Histogram, {title} in tokens: {'; '.join(' '.join(pair) for pair in said)}."
        return finish(ax, title, f"tokens in the utterance{more}", "turns", alt)


def goal_labels(scores: Scores, ax: Axes | None = None, *, most: int = 20) -> Axes:
    """Draw precision and recall of each goal label, those of most reference dialogues first."""
    table = by_label(scores)
    shown = table.head(most)
    place = "below" if ax is None else "inside"
    with style():
        ax = new_axes(ax, height=1.3 + 0.36 * max(len(shown), 2))
        places = np.arange(len(shown))
        for kind, shift, (colour, hatch) in zip(("precision", "recall"), (-0.19, 0.19), FILLS, strict=False):
            ax.barh(
                places + shift, shown[kind].tolist(), height=0.36, color=colour, hatch=hatch,
                edgecolor=INK, linewidth=0.5, label=kind,
            )  # fmt: skip
        ax.set_yticks(places, [f"{plain(i)} ({n:,})" for i, n in shown["references"].items()])
        ax.invert_yaxis()
        ax.set_xlim(0, 100)
        ax.grid(axis="x")
        legend(ax, 2, place)
        some = f" ({len(shown)} of {len(table)} labels)" if len(table) > len(shown) else ""
        title = f"{scores.system}: goal slots mentioned{some}"
        said = [
            (i, f"{number(row['precision'], 'per cent')}/{number(row['recall'], 'per cent')}")
            for i, row in shown.iterrows()
        ]
        alt = (
            f"Paired bar chart, {title}, precision/recall in per cent: {listing(said)}."
            if said
            else f"{title}: none."
        )
        xlabel = "per cent of dialogues; in brackets: reference dialogues with it"
        return finish(ax, title, xlabel, "", alt)


# Helpers ------------------------------------------------------------------------------------------


def _bars(scores: Scores | pd.DataFrame, prefix: str, what: str, ax: Axes | None) -> Axes:
    table = scores.table if isinstance(scores, Scores) else scores
    keys = [str(k) for k in table.index if str(k).startswith(prefix)]
    if not keys:
        raise UsageError(f"no score whose key begins with {prefix}", got=", ".join(map(str, table.index)))
    rows = score_rows(scores, keys)
    title = f"{scores.system}: {what}" if isinstance(scores, Scores) else what
    unit = str(rows["unit"].iloc[0])
    with style():
        ax = new_axes(ax, height=row_height(len(rows)) + 0.2)
        value = rows["value"].to_numpy(dtype=float)
        places = np.arange(len(rows))
        ax.barh(places, value, color=COLOURS["sky"], edgecolor=INK, linewidth=0.5, height=0.6)
        spread = np.vstack([value - rows["low"], rows["high"] - value])
        drawn = not np.isnan(spread).all()
        if drawn:
            ax.errorbar(value, places, xerr=np.nan_to_num(spread).clip(0), fmt="none", ecolor=INK, capsize=4)
        for place, (_, row) in enumerate(rows.iterrows()):
            end = row["value"] if np.isnan(row["high"]) else row["high"]
            ax.annotate(
                number(row["value"], unit), (end, place), (7, 0), textcoords="offset points", va="center"
            )
        ax.set_yticks(places, [plain(label) for label in rows["label"]])
        ax.invert_yaxis()
        ax.set_xlim(0, max(float(np.nanmax(np.r_[value, rows["high"]])) * 1.15, 1e-6))
        ax.grid(axis="x")
        said = [(row["label"], interval_words(row)) for _, row in rows.iterrows()]
        alt = f"Bar chart, {title}, {unit_label(unit)}: {listing(said)}."
        return finish(ax, title, unit_label(unit) + (", with 95 % interval" if drawn else ""), "", alt)

"""Figures of ontologies: which slots two of them name alike, and what evidence speaks for an alignment.

In: two ontologies, or a table of `propose_alignment` or `false_friends`. Out: axes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from dialogeval.exceptions import UsageError
from dialogeval.ontology import Ontology, compare_ontologies
from dialogeval.plots.base import FILLS, INK, finish, legend, listing, new_axes, plain, row_height, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["ontology_overlap", "proposal_evidence"]

#: Columns of a table of proposals and how the figure heads them.
_EVIDENCE = {
    "score": "score",
    "name_similarity": "slot\nnames",
    "domain_similarity": "domain\nnames",
    "value_overlap": "values",
    "cooccurrence": "same\nturns",
    "value_pairing": "values\npaired",
}


def ontology_overlap(a: Ontology, b: Ontology, ax: Axes | None = None) -> Axes:
    """Draw by domain how many slots two ontologies name alike, and how many only one of them has."""
    table = compare_ontologies(a, b)
    domain = table["domain"].fillna(table["target_domain"]).str.casefold()
    counts = pd.crosstab(domain, table["where"]).reindex(columns=["both", "a", "b"], fill_value=0)
    labels = {"both": "named alike in both", "a": f"only in {a.name}", "b": f"only in {b.name}"}
    place = "below" if ax is None else "inside"
    with style():
        ax = new_axes(ax, height=row_height(len(counts)) + 0.5)
        start = np.zeros(len(counts))
        for (column, label), (colour, hatch) in zip(labels.items(), FILLS, strict=True):
            width = counts[column].to_numpy(dtype=float)
            ax.barh(
                range(len(counts)), width, left=start, color=colour, hatch=hatch, edgecolor=INK,
                linewidth=0.5, height=0.7, label=plain(label),
            )  # fmt: skip
            start = start + width
        ax.set_yticks(range(len(counts)), [plain(d) for d in counts.index])
        ax.invert_yaxis()
        ax.grid(axis="x")
        legend(ax, 3, place)
        title = f"Slots of {a.name} and {b.name}"
        said = [
            (str(d), f"{r['both']} in both, {r['a']} only in the first, {r['b']} only in the second")
            for d, r in counts.iterrows()
        ]
        alt = f"Stacked bar chart, {title}, by domain: {listing(said)}."
        return finish(ax, title, "slots", "", alt)


def proposal_evidence(proposals: pd.DataFrame, ax: Axes | None = None, *, title: str = "") -> Axes:
    """Draw the evidence of proposals, or of false friends, as a grid: dark is strong, a dash is silence."""
    if not 1 <= len(proposals) <= 40:
        raise UsageError("proposals", expected="1 to 40 rows", got=f"{len(proposals)}", mend="choose rows")
    columns = [c for c in _EVIDENCE if proposals[c].notna().any()]
    grid = proposals[columns].to_numpy(dtype=float)
    cells = proposals[["domain", "slot", "target_domain", "target_slot", "relation"]].astype("str")
    names = [f"{d} {s} → {td} {ts} ({relation})" for d, s, td, ts, relation in cells.itertuples(index=False)]
    with style():
        ax = new_axes(ax, width=8, height=row_height(len(grid)) + 0.5)
        ax.imshow(np.nan_to_num(grid), cmap="Blues", vmin=0, vmax=1.3, aspect="auto")
        for (row, column), value in np.ndenumerate(grid):
            text = "–" if np.isnan(value) else f"{value:.2f}"
            ax.text(column, row, text, ha="center", va="center", color="white" if value > 0.7 else INK)
        ax.set_xticks(range(len(columns)), [_EVIDENCE[c] for c in columns])
        ax.set_yticks(range(len(grid)), [plain(n, 70) for n in names])
        ax.tick_params(length=0)
        name = title or "Evidence on pairs of slots"
        said = [(n, f"{s:.2f}") for n, s in zip(names, proposals["score"], strict=True)]
        alt = f"Grid of numbers, {name}, scores: {listing(said)}."
        return finish(ax, name, "evidence (fraction, 0 to 1; – says nothing)", "", alt)

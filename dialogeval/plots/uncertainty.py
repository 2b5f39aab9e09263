"""Figures of uncertainty: systems with their intervals, pairs of systems, draws, and curves of a simulation.

In: small tables of values, as `Comparison` and `lessons.uncertainty` give them. Out: axes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from dialogeval.exceptions import UnknownNameError, UsageError
from dialogeval.plots.base import COLOURS, INK, finish, listing, new_axes, number, plain, row_height, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["curves", "draws", "forest", "pair_matrix", "paired"]


def forest(
    frame: pd.DataFrame,
    label: str,
    unit: str,
    title: str,
    letters: Mapping[str, str] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw one score of several systems as dots on the bars of their intervals."""
    if not len(frame):
        raise UsageError("frame", expected="at least one system", got="an empty table")
    names = [str(name) for name in frame.index]
    value, low, high = (frame[c].to_numpy(dtype=float) for c in ("value", "low", "high"))
    letters = letters or {}
    with style():
        ax = new_axes(ax, height=row_height(len(frame)) + 0.2)
        place = np.arange(len(frame))
        bars = np.nan_to_num(np.vstack([value - low, high - value])).clip(0)
        ax.errorbar(
            value, place, xerr=bars, fmt="none", ecolor=COLOURS["blue"], elinewidth=2, capsize=5, capthick=2
        )
        ax.plot(value, place, "o", color=INK, markersize=4.5)
        for at, name in enumerate(names):
            text = number(value[at], unit) + (f"   {letters[name]}" if letters.get(name) else "")
            # At the right edge in the axes' own measure, so that letters stand in a column.
            ax.annotate(
                plain(text),
                (1.01, at),
                xycoords=("axes fraction", "data"),
                va="center",
                annotation_clip=False,
            )
        ax.set_yticks(place, [plain(name) for name in names])
        ax.set_ylim(len(frame) - 0.4, -0.6)
        ax.grid(axis="x")
        ax.margins(x=0.04)
        ends = zip(names, value, low, high, strict=True)
        said = [(name, _interval(x, lo, hi, unit, letters.get(name, ""))) for name, x, lo, hi in ends]
        note = " Systems that share a letter cannot be told apart." if any(letters.values()) else ""
        alt = f"Forest plot, {title}, {_axis(label, unit)}: {listing(said)}.{note}"
        return finish(ax, title, _axis(label, unit), "", alt)


def pair_matrix(
    pairs: pd.DataFrame, order: Sequence[str], label: str, unit: str, title: str, ax: Axes | None = None
) -> Axes:
    """Draw the difference of every pair of systems, row minus column."""
    metrics = list(pairs["metric"].unique()) if "metric" in pairs else []
    if len(metrics) > 1:
        raise UsageError("pairs", expected="rows of one metric", got=", ".join(metrics))
    order = [str(name) for name in order]
    for name in pd.unique(pairs[["a", "b"]].to_numpy().ravel()):
        if name not in order:
            raise UnknownNameError("system of the matrix", name, order)
    n, at = len(order), {name: i for i, name in enumerate(order)}
    tested = pairs["p_holm"].notna() if "p_holm" in pairs else pd.Series(True, index=pairs.index)
    largest = max(float(pairs["difference"].abs().max()) if len(pairs) else 0.0, 1e-12)
    with style():
        from matplotlib.patches import Patch, Rectangle

        own = ax is None
        ax = new_axes(ax, width=2.4 + 0.72 * max(n, 6), height=1.7 + 0.42 * max(n, 3))
        cells = zip(*(pairs[c] for c in ("a", "b", "difference", "significant")), tested, strict=True)
        for a, b, difference, apart, known in cells:
            for row, column, sign in ((at[a], at[b], 1), (at[b], at[a], -1)):
                colour = _shade(sign * difference, largest) if apart else "white"
                hatch = "////" if known and not apart else ""
                box = Rectangle((column - 0.5, row - 0.5), 1, 1, facecolor=colour, hatch=hatch)
                box.set(edgecolor=COLOURS["grey"], linewidth=0.8)
                ax.add_patch(box)
                ax.text(
                    column, row, _signed(sign * difference, unit), ha="center", va="center", fontsize=8.5,
                    weight="bold" if apart else "normal",
                    bbox=None if apart else {"facecolor": "white", "edgecolor": "none", "pad": 1},
                )  # fmt: skip
        ax.set_xlim(-0.5, n - 0.5)
        ax.set_ylim(n - 0.5, -0.5)
        names = [plain(name, 24) for name in order]
        ax.set_xticks(range(n), names, rotation=35, ha="right", rotation_mode="anchor")
        ax.set_yticks(range(n), names)
        ax.tick_params(length=0)
        ax.spines[:].set_visible(False)
        looks = {"row higher (+)": (_shade(1, 1), ""), "row lower (−)": (_shade(-1, 1), "")}
        looks |= {"not significant": ("white", "////")} if tested.any() else {"not tested": ("white", "")}
        if own:
            handles = [
                Patch(facecolor=colour, hatch=hatch, edgecolor=COLOURS["grey"], label=label)
                for label, (colour, hatch) in looks.items()
            ]
            figure = ax.get_figure(root=True)
            assert figure is not None
            figure.legend(handles=handles, loc="outside lower right", ncols=3, fontsize=8.5)
        found = pairs[pairs["significant"]]
        said = [
            (f"{a} minus {b}", _signed(difference, unit))
            for a, b, difference in zip(found["a"], found["b"], found["difference"], strict=True)
        ]
        alt = (
            f"Matrix, {title}, differences in {_axis(label, unit)}, row minus column: {len(found)} of "
            f"{int(tested.sum())} tested pairs differ significantly{': ' + listing(said) if said else ''}."
        )
        return finish(ax, title, f"difference in {_axis(label, unit)}, row minus column", "", alt)


def draws(
    values: np.ndarray,
    title: str,
    xlabel: str,
    lines: Mapping[str, float] | None = None,
    band: tuple[float, float] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw values that chance gave as a histogram, with lines and an interval to compare them with."""
    values = np.asarray(values, dtype=float)
    if not len(values):
        raise UsageError("values", expected="at least one draw", got="none")
    different = np.unique(values.round(12))
    # Few values: one bar each, in the middle of its bin.
    step = np.diff(different).min() if 1 < len(different) <= 40 else 0.0
    edges: Any = 30
    if step:
        edges = np.arange(different[0] - step / 2, different[-1] + step, step)
    lines = lines or {}
    with style():
        ax = new_axes(ax, height=3.2)
        if band:
            ax.axvspan(*band, color=COLOURS["grey"], alpha=0.35, label="95 % interval")
        ax.hist(values, bins=edges, color=COLOURS["sky"], edgecolor=INK, linewidth=0.5)
        for (name, at), dashes in zip(lines.items(), ("-", "--", ":"), strict=False):
            ax.axvline(at, color=INK, linestyle=dashes, linewidth=1.8, label=plain(name))
        if lines or band:
            figure = ax.get_figure(root=True)
            assert figure is not None
            figure.legend(loc="outside lower right", ncols=4)
        said = [(name, f"{at:.4g}") for name, at in lines.items()]
        said += [("95 % interval", f"{band[0]:.4g} to {band[1]:.4g}")] if band else []
        alt = (
            f"Histogram, {title}: {len(values):,} values of {xlabel}, from {values.min():.4g} to "
            f"{values.max():.4g}, mean {values.mean():.4g}{'; ' + listing(said) if said else ''}."
        )
        return finish(ax, title, xlabel, "how many", alt)


def curves(
    table: pd.DataFrame,
    title: str,
    ylabel: str,
    lines: Mapping[str, float] | None = None,
    scale: str = "linear",
    ax: Axes | None = None,
) -> Axes:
    """Draw the columns of a small table as curves over its index."""
    from matplotlib.ticker import LogLocator

    x = table.index.to_numpy(dtype=float)
    looks = (("o", "-", COLOURS["blue"]), ("s", "--", COLOURS["vermilion"]), ("^", ":", INK))
    with style():
        ax = new_axes(ax, height=3.5)
        for name, (mark, line, colour) in zip(table, looks, strict=False):
            ax.plot(x, table[name], line, marker=mark, color=colour, label=plain(name))
        for (name, at), dashes in zip((lines or {}).items(), ((0, (1, 1)), (0, (5, 3))), strict=False):
            ax.axhline(at, color=INK, linestyle=dashes, linewidth=1.2, label=plain(name))
        if scale == "log":
            ax.set(xscale="log", yscale="log")
            for axis in (ax.xaxis, ax.yaxis):
                axis.set_major_formatter(lambda v, _: f"{v:,.6g}")
            ax.set_xticks(x)
            ax.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
            ax.minorticks_off()
        ax.grid(axis="y")
        figure = ax.get_figure(root=True)
        assert figure is not None
        figure.legend(loc="outside lower right", ncols=3)
        said = [(str(name), " ".join(f"{v:.3g}" for v in table[name])) for name in table]
        at_x = " ".join(f"{v:,.6g}" for v in x)
        alt = f"Line chart, {title}, {ylabel}, at {table.index.name} {at_x}: {listing(said)}."
        return finish(ax, title, str(table.index.name), ylabel, alt)


def paired(table: pd.DataFrame, title: str, xlabel: str, ax: Axes | None = None) -> Axes:
    """Draw two systems dialogue by dialogue, each pair of dots joined."""
    one, two = table.columns
    with style():
        ax = new_axes(ax, height=row_height(len(table)) + 0.5)
        place = np.arange(len(table))
        ax.hlines(place, table.min(axis=1), table.max(axis=1), color=COLOURS["grey"], linewidth=3)
        ax.plot(table[one], place, "o", color=COLOURS["blue"], markersize=8, label=plain(one))
        ax.plot(table[two], place, "D", color=COLOURS["orange"], mec=INK, markersize=6, label=plain(two))
        ax.set_yticks(place, [plain(name) for name in table.index])
        ax.set_ylim(len(table) - 0.4, -0.6)
        ax.grid(axis="x")
        figure = ax.get_figure(root=True)
        assert figure is not None
        figure.legend(loc="outside lower right", ncols=2)
        said = [(str(i), f"{a:.3g} and {b:.3g}") for i, a, b in table.itertuples()]
        alt = f"Dot chart, {title}, {xlabel}, {one} and {two} of each dialogue: {listing(said)}."
        return finish(ax, title, xlabel, "", alt)


# Helpers ------------------------------------------------------------------------------------------


def _axis(label: str, unit: str) -> str:
    return f"{label} ({'fraction, 0 to 1' if unit == 'fraction' else unit})"


def _interval(value: float, low: float, high: float, unit: str, letters: str) -> str:
    ends = "" if np.isnan(low) else f" ({number(low, unit)} to {number(high, unit)})"
    return number(value, unit) + ends + (f" [{letters}]" if letters else "")


def _signed(difference: float, unit: str) -> str:
    text = number(abs(difference), unit)
    return text if not float(text.replace(",", "")) else ("+" if difference > 0 else "−") + text


def _shade(difference: float, largest: float) -> str:
    """Return the fill of a difference that is significant: the larger, the fuller."""
    from matplotlib.colors import to_hex, to_rgb

    share = 0.35 + 0.65 * min(abs(difference) / largest, 1.0)
    red, green, blue = (1 - share * (1 - c) for c in to_rgb(COLOURS["sky" if difference > 0 else "orange"]))
    return to_hex((red, green, blue))

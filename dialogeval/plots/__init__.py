"""Figures: a table in, a matplotlib axes out, with a sentence that says what it shows.

Five kinds of figure serve all: `dots`, `bars`, `grid`, `lines` and `histogram`. Each takes a table whose
rows and columns are what is drawn, words for title and axes, and an ``ax`` if it shall not make a figure
of its own; nothing global is changed. Series are told apart by the colour-blind and, by lightness, hatch
and mark, in grey. `show` displays a figure with the sentence. `dialogeval.plots.results` has the figures
of a result.
"""

from __future__ import annotations

import base64
import html
import io
import textwrap
import warnings
from collections.abc import Iterator, Mapping
from functools import cache
from itertools import cycle
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from dialogeval.exceptions import UsageError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    Places = Mapping[str, float] | None

__all__ = ["alt_text", "bars", "dots", "grid", "histogram", "lines", "png", "show", "style"]

#: Fill (from Okabe and Ito's palette), hatch, mark, line and its colour of the first, second, … series.
SERIES = (
    ("#0072B2", "", "o", "-", "#0072B2"),
    ("#E69F00", "////", "s", "--", "#E69F00"),
    ("#CFE8F7", "....", "^", ":", "#333333"),
    ("#D55E00", "xxxx", "D", "-.", "#D55E00"),
    ("#56B4E9", "\\\\\\\\", "v", "-", "#56B4E9"),
    ("#FFFFFF", "", "P", "--", "#666666"),
    ("#DDDDDD", "----", "X", ":", "#999999"),
    ("#8C8C8C", "", "<", "-.", "#333333"),
)
BLUE, GREY, INK = "#0072B2", "#BBBBBB", "#333333"
#: The first, and such as have the letters it lacks.
_FONTS = (
    "DejaVu Sans", "Noto Sans CJK SC", "Noto Sans SC", "Source Han Sans SC", "Microsoft YaHei", "PingFang SC",
    "Hiragino Sans GB", "WenQuanYi Zen Hei", "SimHei",
)  # fmt: skip


def style() -> Any:
    """Return a context in which figures have the project's style; settings come back after it."""
    import matplotlib

    inked = ("axes.edgecolor", "axes.labelcolor", "text.color", "xtick.color", "ytick.color")
    settings: Any = dict.fromkeys(inked, INK) | {"grid.color": "#DDDDDD", "hatch.linewidth": 0.7}
    settings |= dict.fromkeys(("axes.spines.right", "axes.spines.top", "legend.frameon"), False)
    settings |= {"axes.axisbelow": True, "axes.titlesize": 11, "axes.titleweight": "bold", "font.size": 10}
    # The family itself, not "font.sans-serif": glyphs fall back only along this list.
    settings |= {"figure.dpi": 110, "figure.facecolor": "white", "font.family": _fonts() or ["sans-serif"]}
    return matplotlib.rc_context(settings)


def alt_text(ax: Axes) -> str:
    """Return the sentence that says what a figure shows."""
    return getattr(ax, "dialogeval_alt", "") or f"Figure, {ax.get_title('left') or ax.get_title()}."


def png(ax: Axes) -> bytes:
    """Return the figure of an axes as PNG, the sentence in its metadata; the same bytes each time."""
    buffer = io.BytesIO()
    with style(), warnings.catch_warnings():
        # Without a font for a script, boxes stand for it; the sentence has the words.
        warnings.filterwarnings("ignore", message="Glyph .* missing")
        metadata = {"Title": ax.get_title("left"), "Description": alt_text(ax), "Software": None}
        ax.figure.savefig(buffer, format="png", dpi=110, metadata=metadata)  # type: ignore[union-attr]
    return buffer.getvalue()


def show(ax: Axes) -> None:
    """Display the figure of an axes in a notebook: its sentence as alt text, its title as caption."""
    from IPython.display import display

    text, image = alt_text(ax), base64.b64encode(png(ax)).decode("ascii")
    title = " ".join(ax.get_title("left").split()).replace(r"\$", "$")
    display({"image/png": image, "text/plain": text}, metadata={"image/png": {"alt": text}}, raw=True)
    # As HTML, because Markdown would turn what a name of the data holds into markup.
    caption = (
        '<details class="tex2jax_ignore mathjax_ignore"><summary><em>Figure:</em> '
        f"{html.escape(title)}</summary>{html.escape(text)}</details>"
    )
    display({"text/html": caption, "text/plain": f"Figure: {title}"}, raw=True)


# Kinds of figures ---------------------------------------------------------------------------------


def dots(
    table: pd.DataFrame, title: str, xlabel: str, *, at: Places = None,
    limits: tuple[float, float] | None = None, form: str = ".3f", ax: Axes | None = None,
) -> Axes:  # fmt: skip
    """Draw each row's numbers as dots, joined; columns ``low`` and ``high`` are the ends of an interval.

    A column ``text`` is written at the right; ``at`` names places for vertical lines.
    """
    words = table["text"].tolist() if "text" in table else [""] * len(table)
    values = table.drop(columns=["low", "high", "text"], errors="ignore").astype(float)
    with style():
        ax, spots = _rows(ax, table, 0.27 + 0.04 * min(values.shape[1] - 1, 4))
        if "low" in table:
            value = values.iloc[:, 0]
            reach = np.nan_to_num(np.vstack([value - table["low"], table["high"] - value])).clip(0)
            look: Any = {"fmt": "none", "ecolor": BLUE, "elinewidth": 2, "capsize": 5, "capthick": 2}
            ax.errorbar(value, spots, xerr=reach, **look)
        if values.shape[1] > 1:
            ax.hlines(spots, values.min(axis=1), values.max(axis=1), color=GREY, linewidth=3, alpha=0.6)
        else:
            words = [f"{v:{form}}  {w}" for v, w in zip(values.iloc[:, 0], words, strict=True)]
        many = values.shape[1] > 2  # then a little apart, so that equal values do not hide one another
        apart = np.linspace(-0.16, 0.16, values.shape[1]) if many else np.zeros(values.shape[1])
        for shift, (name, column, (colour, _, mark, line, ink)) in zip(apart, _series(values), strict=True):
            look = {"color": ink, "linewidth": 1, "markerfacecolor": colour, "markeredgecolor": INK}
            ax.plot(column, spots + shift, linestyle=line if many else "", marker=mark, label=name, **look)
        for spot, text in zip(spots, words, strict=True):
            place: Any = {"xycoords": ("axes fraction", "data"), "va": "center", "annotation_clip": False}
            ax.annotate(_plain(text), (1.015, spot), **place)
        _mark(ax.axvline, at)
        if limits:
            ax.set_xlim(limits[0] - 0.02 * np.ptp(limits), limits[1] + 0.02 * np.ptp(limits))
        return _finish(ax, "Dot chart", table, title, xlabel, "", form, at)


def bars(
    table: pd.DataFrame, title: str, xlabel: str, *, stacked: bool = True, share: bool = False,
    at: Places = None, form: str = ",.6g", ax: Axes | None = None,
) -> Axes:  # fmt: skip
    """Draw each row's numbers as bars, stacked up to their sum or side by side; negative ones left of zero.

    With ``share``, parts are drawn as per cent of their row, with their number inside. A column ``text``
    is written at the end instead of the sum.
    """
    values = table.drop(columns="text", errors="ignore").astype(float).fillna(0)
    drawn = values.div(values.sum(axis=1).replace(0, 1), axis=0) * 100 if share else values
    n = 1 if stacked else values.shape[1]
    with style():
        ax, spots = _rows(ax, table, max(0.27, 0.18 * n))
        ends = {sign: np.zeros(len(table)) for sign in (1, -1)}
        for place, (name, column, (colour, hatch, *_)) in enumerate(_series(drawn)):
            look: Any = {"color": colour, "hatch": hatch, "edgecolor": INK, "linewidth": 0.5, "label": name}
            if not stacked:
                ax.barh(spots + (place - (n - 1) / 2) * 0.75 / n, column, 0.75 / n, **look)
                continue
            for sign, so_far in ends.items():
                part = np.where(np.sign(column) == sign, column, 0.0)
                if part.any():
                    ax.barh(spots, part, 0.7, left=so_far.copy(), **look)
                    look["label"] = None
                    so_far += part
            for spot, end, size, number in zip(spots, ends[1], column, values.iloc[:, place], strict=True):
                if share and size >= 4:
                    box = {"facecolor": "white", "edgecolor": "none", "pad": 1}
                    text: Any = {"ha": "center", "va": "center", "fontsize": 8.5, "bbox": box}
                    ax.text(end - size / 2, spot, f"{number:{form}}", **text)
        sums = table["text"] if "text" in table else [f"{v:{form}}" for v in values.sum(axis=1)]
        for spot, tip, total in zip(spots, ends[1], sums, strict=True):
            if stacked and not share:
                ax.annotate(_plain(total), (tip, spot), (4, 0), textcoords="offset points", va="center")
        _mark(ax.axvline, at)
        ax.margins(x=0 if share else 0.12)
        ax.xaxis.set_major_locator(_ticks(values))
        said = table.where(table != 0) if stacked and table.shape[1] > 1 else table
        return _finish(ax, "Bar chart", said, title, xlabel, "", form, at)


def grid(
    table: pd.DataFrame, title: str, xlabel: str = "", ylabel: str = "", *, shade: Any = None,
    bold: Any = False, form: str = ".2f", ax: Axes | None = None,
) -> Axes:  # fmt: skip
    """Draw a table of numbers as cells, a dash where there is none; ``shade`` (0 to 1) makes them dark."""
    values = table.to_numpy(dtype=float)
    heavy = np.broadcast_to(np.asarray(bold, dtype=bool), values.shape)
    dark = np.nan_to_num(np.asarray(values if shade is None else shade, dtype=float))
    texts = table.map(lambda v: "–" if pd.isna(v) else f"{v:{form}}".replace("-", "−")).astype(object)
    names, cell = _names(table.index, 72), 0.14 + 0.085 * max(map(len, texts.to_numpy().ravel()), default=0)
    with style():
        wide = 0.9 + 0.078 * max(map(len, names), default=0) + max(4.0, cell * table.shape[1])
        ax = _axes(ax, 1.7 + 0.34 * max(len(table), 2), wide)
        ax.imshow(dark if dark.size else [[0.0]], cmap="Blues", vmin=0, vmax=1.25, aspect="auto")
        for (row, column), text in np.ndenumerate(texts.to_numpy()):
            look: Any = {"color": "white" if dark[row, column] > 0.7 else INK, "ha": "center", "va": "center"}
            ax.text(column, row, text, weight="bold" if heavy[row, column] else "normal", **look)
        ax.set_yticks(range(len(names)), names)
        names = _names(table.columns, 34)
        slant: Any = {"rotation": 35, "ha": "right", "rotation_mode": "anchor"}
        ax.set_xticks(range(len(names)), names, **(slant if max(map(len, names), default=0) > 8 else {}))
        ax.tick_params(length=0)
        ax.spines[:].set_visible(False)
        said = texts.where(~heavy, texts + " (bold)").where(table.notna())
        return _finish(ax, "Grid of numbers", said, title, xlabel, ylabel, form)


def lines(
    table: pd.DataFrame, title: str, xlabel: str, ylabel: str, *, behind: pd.Series | None = None,
    at: Places = None, scale: str = "linear", top: float | None = None, form: str = ".3g",
    ax: Axes | None = None,
) -> Axes:  # fmt: skip
    """Draw the columns of a table as lines over its index; pale behind them what each point rests on."""
    from matplotlib.ticker import LogLocator

    with style():
        ax = _axes(ax, 3.8)
        if behind is not None:
            pale = ax.twinx()
            pale.bar(behind.index, behind, color=GREY, alpha=0.45, width=0.8)
            pale.set_ylabel(f"{behind.name} (grey bars)")
            pale.spines["right"].set_visible(True)
            ax.set_zorder(pale.get_zorder() + 1)
            ax.patch.set_visible(False)
        for name, column, (colour, _, mark, line, ink) in _series(table):
            look: Any = {"marker": mark if len(table) <= 30 else "", "markerfacecolor": colour, "color": ink}
            ax.plot(table.index, column, line, markeredgecolor=INK, label=name, **look)
        _mark(ax.axhline, at)
        ax.set(xscale=scale, yscale=scale)
        if scale == "log":
            ax.set_xticks(table.index)
            ax.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
            ax.minorticks_off()
            for axis in (ax.xaxis, ax.yaxis):
                axis.set_major_formatter(lambda v, _: f"{v:,.6g}")
        else:
            ax.set_ylim(0, top or 1.08 * max([ax.get_ylim()[1] / 1.05, *(at or {}).values()]))
            ax.xaxis.set_major_locator(_ticks(table.index.to_numpy()))
        ax.grid(axis="y")
        some = sorted(set(np.linspace(0, len(table) - 1, min(len(table), 9)).astype(int)))
        said = table.iloc[some].T.rename(columns=lambda x: f"at {x:,.6g}:")
        return _finish(ax, "Line chart", said, title, xlabel, ylabel, form, at)


def histogram(
    values: Mapping[str, Any], title: str, xlabel: str, ylabel: str, *, at: Places = None,
    band: tuple[float, float] | None = None, stacked: bool = False, bins: int = 30, ax: Axes | None = None,
) -> Axes:  # fmt: skip
    """Draw how numbers are distributed, one series or several; few different ones get a bar each."""
    series = {str(name): np.asarray(v, dtype=float) for name, v in values.items()}
    said = {n: pd.Series(v).agg(["count", "median", "mean", "min", "max"]) for n, v in series.items()}
    every = np.unique(np.concatenate([*series.values()]).round(12))
    step = np.diff(every).min() if len(every) > 1 else 1.0
    wide = step * np.ceil((np.ptp(every) / step + 1) / bins) if len(every) else step
    # Whole numbers, or steps like them, stand in the middle of a bar.
    even = len(every) and np.ptp(every) / step < 1000
    edges: Any = np.arange(every[0] - step / 2, every[-1] + wide, wide) if even else bins
    with style():
        ax = _axes(ax, 3.4)
        if band:
            ax.axvspan(*band, color=GREY, alpha=0.35, label=f"95 % interval: {band[0]:.4g} to {band[1]:.4g}")
        names = [f"{name} (median {row['median']:.4g})" for name, row in said.items()]
        ax.hist([*series.values()], bins=edges, stacked=stacked, edgecolor=INK, linewidth=0.5)
        looks = _series(pd.DataFrame(columns=names))
        for drawn, (name, _, (colour, hatch, *_)) in zip(ax.containers[-len(names) :], looks, strict=True):
            drawn.set_label(name)
            for bar in drawn:
                bar.set(facecolor=colour, hatch=hatch)
        _mark(ax.axvline, at)
        ax.xaxis.set_major_locator(_ticks(every))
        ax.grid(axis="y")
        at = dict(at or {}) | dict(zip(("low end", "high end of the interval"), band or (), strict=False))
        return _finish(ax, "Histogram", pd.DataFrame(said).T, title, xlabel, ylabel, ",.4g", at)


# What all kinds share -----------------------------------------------------------------------------


@cache
def _fonts() -> list[str]:
    from matplotlib import font_manager

    here = set(font_manager.get_font_names())
    return [name for name in _FONTS if name in here]


def _ticks(values: Any) -> Any:
    """Return where ticks stand: at whole numbers, if the values are whole."""
    from matplotlib.ticker import MaxNLocator

    whole = bool((np.asarray(values, dtype=float) % 1 == 0).all())
    return MaxNLocator(
        "auto", steps=[1, 2, 5, 10] if whole else [1, 2, 2.5, 5, 10], integer=whole, min_n_ticks=1
    )


def _line(text: object) -> str:
    text = " ".join(map(str, text)) if isinstance(text, tuple) else str(text)
    return "".join(c for c in " ".join(text.split()) if c.isprintable())


def _plain(text: object, limit: int = 60) -> str:
    """Return a text of the data as matplotlib draws it letter by letter, on one line."""
    text = _line(text)
    return (text if len(text) <= limit else text[: limit - 1] + "…").replace("$", r"\$")


def _names(index: pd.Index, limit: int) -> list[str]:
    """Return names to draw; numbered where the machine lacks a font for them."""
    names = [_plain(name, limit) for name in index]
    lacking = len(_fonts()) < 2 and any(ord(letter) > 0x2E7F for name in names for letter in name)
    return [f"no. {n}" for n in range(1, len(names) + 1)] if lacking else names


def _axes(ax: Axes | None, height: float, width: float = 7.5) -> Axes:
    from matplotlib.figure import Figure

    return ax or Figure(figsize=(width, height), layout="constrained", label="dialogeval").subplots()


def _rows(ax: Axes | None, table: pd.DataFrame, height: float) -> tuple[Axes, np.ndarray]:
    """Return axes with a place for each row, the first on top."""
    spots, names = np.arange(len(table)), _names(table.index, 60)
    wide = 7.5 + 0.05 * max(max(map(len, names), default=0) - 30, 0)
    ax = _axes(ax, 1.5 + height * max(len(table), 2), wide)
    ax.set_yticks(spots, names)
    ax.set_ylim(max(len(table), 1) - 0.4, -0.6)
    ax.grid(axis="x")
    return ax, spots


def _series(table: pd.DataFrame) -> Iterator[tuple[str | None, np.ndarray, tuple[str, ...]]]:
    """Give name, numbers and look of each column; a single one needs no name."""
    if (n := table.shape[1]) > len(SERIES):
        raise UsageError("columns", expected=f"at most {len(SERIES)}", got=str(n), mend="choose some")
    for (name, column), look in zip(table.items(), SERIES, strict=False):
        # matplotlib leaves out of a legend what begins with an underscore.
        shown = _plain(name).replace("_", " _", 1) if str(name).startswith("_") else _plain(name)
        yield shown if n > 1 else None, column.to_numpy(dtype=float), look


def _mark(line: Any, at: Places) -> None:
    for (name, where), dashes in zip((at or {}).items(), cycle(("--", ":", "-."))):
        line(where, color=INK, linestyle=dashes, linewidth=1.4, label=f"{_plain(name)}: {where:.4g}")


def _finish(
    ax: Any, kind: str, table: pd.DataFrame, title: str, xlabel: str, ylabel: str, form: str, at: Places = None
) -> Axes:  # fmt: skip
    """Write title, axes and legend, and remember the sentence."""
    figure = ax.get_figure(root=True)
    own, width = figure.get_label() == "dialogeval", figure.get_figwidth()
    left = max((len(label.get_text()) for label in ax.get_yticklabels()), default=0)
    room = max(int(10.8 * (width - 0.5) - 0.85 * left), 30)
    ax.set_title(textwrap.fill(_plain(title, 150), room), loc="left")
    ax.set_xlabel(textwrap.fill(_plain(xlabel, 150), room + 25))
    ax.set_ylabel(_plain(ylabel))
    handles, labels = ax.get_legend_handles_labels()
    if handles:
        columns = max(1, min(4, len(labels), int(12 * width // (max(map(len, labels)) + 7))))
        place: Any = {"loc": "outside lower right"} if own else {}
        (figure if own else ax).legend(handles, labels, ncols=columns, fontsize=9, **place)
    unit = ", ".join(label for label in (_line(xlabel), _line(ylabel)) if label)
    lined = "".join(f"; line {_line(name)} at {where:.4g}" for name, where in (at or {}).items())
    ax.dialogeval_alt = f"{kind}, {_line(title)} ({unit}): {_words(table, form)}{lined}."
    return ax


def _words(table: pd.DataFrame, form: str) -> str:
    """Return the rows of a table in words: ``a x 1 y 2; b x 3 y 4 and 2 more``."""
    most, rows = max(3, 60 // max(table.shape[1], 1)), []
    bare = {"value", "text"} | ({table.columns[0]} if table.shape[1] == 1 else set())
    for index, *cells in table.head(most).itertuples(name=None):
        words = [_line(index)]
        for column, cell in zip(table.columns, cells, strict=True):
            said = _line(cell) if isinstance(cell, str) else "" if pd.isna(cell) else f"{cell:{form}}"
            named = {"low": f"({said} to", "high": f"{said})"}.get(column, f"{_line(column)} {said}")
            words += [said if column in bare else named] if said else []
        rows.append(" ".join(words))
    more = f" and {len(table) - most} more" if len(table) > most else ""
    return ("; ".join(rows) or "no rows") + more

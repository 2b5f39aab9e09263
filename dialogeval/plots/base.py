"""One visual style for all figures, and how a figure is shown with words for those who cannot see it.

In: axes. Out: axes, a sentence, a displayed image. matplotlib is imported when the first figure is
drawn, and its settings are changed only inside `style`.
"""

from __future__ import annotations

import base64
import html
import io
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from dialogeval.exceptions import UsageError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["alt_text", "show", "style"]

#: From Okabe and Ito's palette, in an order whose neighbours differ in lightness too.
COLOURS = {
    "blue": "#0072B2",
    "orange": "#E69F00",
    "sky": "#56B4E9",
    "vermilion": "#D55E00",
    "grey": "#BBBBBB",
}
#: Fill of the first, second and third series: colour and hatch.
FILLS = (("#0072B2", ""), ("#E69F00", "////"), ("#CFE8F7", "...."))
INK = "#333333"
_DPI = 110
#: Fonts for scripts that the first one lacks; those that are not installed are passed over.
_FONTS: tuple[str, ...] = (
    "DejaVu Sans",
    "Noto Sans CJK SC",
    "Noto Sans SC",
    "Source Han Sans SC",
    "Microsoft YaHei",
)
_FONTS += ("PingFang SC", "Hiragino Sans GB", "WenQuanYi Zen Hei", "SimHei")


@contextmanager
def style() -> Iterator[None]:
    """Draw in the project's style within a ``with`` block; matplotlib's settings are as before after it."""
    import matplotlib
    from cycler import cycler

    settings: Any = {
        "axes.axisbelow": True,
        "axes.edgecolor": INK,
        "axes.labelcolor": INK,
        "axes.prop_cycle": cycler(color=list(COLOURS.values())),
        "axes.spines.right": False,
        "axes.spines.top": False,
        "axes.titlelocation": "left",
        "axes.titlesize": 11,
        "axes.titleweight": "bold",
        "figure.dpi": _DPI,
        "figure.facecolor": "white",
        # The family itself, not "font.sans-serif": glyphs fall back only along this list.
        "font.family": _installed_fonts(),
        "font.size": 10,
        "grid.color": "#DDDDDD",
        "hatch.linewidth": 0.7,
        "legend.frameon": False,
        "text.color": INK,
        "xtick.color": INK,
        "ytick.color": INK,
    }
    with matplotlib.rc_context(settings):
        yield


def alt_text(ax: Axes) -> str:
    """Return the sentence that says what a figure shows."""
    said = getattr(ax, "dialogeval_alt", "")
    if said:
        return said
    title = next((t for t in (ax.get_title(loc) for loc in ("left", "center", "right")) if t), "Figure")
    labels = [
        f"{name} axis: {label}" for name, label in (("x", ax.get_xlabel()), ("y", ax.get_ylabel())) if label
    ]
    return f"{title}. {'; '.join(labels)}." if labels else f"{title}."


def show(ax: Axes, alt: str | None = None) -> None:
    """Display the figure of an axes in a notebook, with its sentence as alt text and below it."""
    from IPython.display import display

    figure = getattr(ax, "figure", None)
    if figure is None:
        raise UsageError("ax", expected="the axes that a plot function returns", got=type(ax).__name__)
    text = alt or alt_text(ax)
    image = base64.b64encode(png(ax, text)).decode("ascii")
    display({"image/png": image, "text/plain": text}, metadata={"image/png": {"alt": text}}, raw=True)
    # As HTML, because Markdown would turn what a name of the data holds into markup.
    caption = f'<p class="tex2jax_ignore mathjax_ignore"><em>Figure:</em> {html.escape(text)}</p>'
    display({"text/html": caption, "text/plain": f"Figure: {text}"}, raw=True)


def png(ax: Axes, alt: str | None = None) -> bytes:
    """Return the figure of an axes as PNG, the sentence in its metadata."""
    import warnings

    buffer = io.BytesIO()
    with style(), warnings.catch_warnings():
        # Without a font for a script, boxes stand for it; the sentence below has the names.
        warnings.filterwarnings("ignore", message="Glyph .* missing")
        metadata = {"Title": ax.get_title("left"), "Description": alt or alt_text(ax), "Software": None}
        ax.get_figure(root=True).savefig(buffer, format="png", dpi=_DPI, metadata=metadata)  # type: ignore[union-attr]
    return buffer.getvalue()


# For the plot functions ---------------------------------------------------------------------------


def new_axes(ax: Axes | None, width: float = 7.0, height: float = 3.6) -> Axes:
    """Return the given axes, or those of a new figure that no global list knows."""
    if ax is not None:
        return ax
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained").subplots()


def finish(ax: Axes, title: str, xlabel: str, ylabel: str, alt: str) -> Axes:
    """Set title and axis labels as text, and remember the sentence."""
    ax.set_title(plain(title, 80), loc="left")
    ax.set_xlabel(plain(xlabel, 80))
    ax.set_ylabel(plain(ylabel, 80))
    ax.dialogeval_alt = alt  # type: ignore[attr-defined]
    return ax


def legend(ax: Axes, entries: int, place: str) -> None:
    """Explain the series: below the axes on a figure of our own, inside the axes of somebody else's."""
    if place == "below":
        handles, labels = ax.get_legend_handles_labels()
        figure = ax.get_figure(root=True)
        assert figure is not None
        figure.legend(handles, labels, loc="outside lower right", ncols=entries)
    else:
        ax.legend()


def plain(text: object, limit: int = 40) -> str:
    """Return a text of the data as matplotlib draws it letter by letter, on one line."""
    short = " ".join(str(text).split())
    short = short if len(short) <= limit else short[: limit - 1] + "…"
    return "".join(c for c in short if c.isprintable()).replace("$", r"\$")


def row_height(rows: int) -> float:
    """Return the height of a figure of horizontal rows, in inches."""
    return 1.2 + 0.27 * max(rows, 2)


def unit_label(unit: str) -> str:
    """Return a metric's unit for an axis."""
    return {"fraction": "score (fraction, 0 to 1)", "per cent": "score (per cent)"}.get(
        unit, f"score ({unit})"
    )


def listing(pairs: Sequence[tuple[object, str]], most: int = 12) -> str:
    """Return names and values as words: ``a 1, b 2 and 3 more``."""
    shown = [f"{name} {value}" for name, value in pairs[:most]]
    more = len(pairs) - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more else "")


def number(value: float, unit: str = "") -> str:
    """Return a value with the digits its unit is given with."""
    if unit == "fraction":
        return f"{value:.3f}"
    return f"{value:.1f}" if unit == "per cent" else f"{value:,.6g}"


def _installed_fonts() -> list[str]:
    from matplotlib import font_manager

    here = set(font_manager.get_font_names())
    return [name for name in _FONTS if name in here] or ["sans-serif"]

"""What the interactive pieces share: whether controls can be shown, how a face is displayed, one table.

In: HTML and text, perhaps a widget. Out: what a notebook displays.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from html import escape as escape_html
from importlib.util import find_spec
from typing import Any

from dialogeval.exceptions import UsageError

__all__ = ["display_face", "html_table", "shows_widgets"]

#: Set by jupyter_server for the kernel of a notebook that somebody has open; not by whatever else runs
#: notebooks (nbclient, papermill, nbconvert, nbval).
SESSION = "JPY_SESSION_NAME"
_CELL = "text-align:left;vertical-align:top;padding:0.15em 0.8em 0.15em 0"


def shows_widgets(interactive: bool | None = None) -> bool:
    """Tell whether controls can be shown here.

    Parameters
    ----------
    interactive : bool, optional
        What the caller wants; by default, whether a notebook is open in a browser and ipywidgets is
        installed.

    Returns
    -------
    bool

    Raises
    ------
    UsageError
        Controls are asked for and ipywidgets is not installed.

    Examples
    --------
    >>> shows_widgets(False)
    False
    """
    here = find_spec("ipywidgets") is not None
    if interactive and not here:
        mend = "install the extra lab: pip install 'dialogeval[lab]'"
        raise UsageError("controls need ipywidgets, which is not installed", mend=mend)
    return here and bool(os.environ.get(SESSION)) if interactive is None else bool(interactive)


def display_face(page: str, text: str, box: Any = None) -> None:
    """Display HTML with its text; with a widget, the HTML stands in for it wherever no kernel runs.

    Parameters
    ----------
    page : str
        HTML in which all text of the data is escaped.
    text : str
    box : ipywidgets.Widget, optional

    Examples
    --------
    >>> display_face("<p>a</p>", "a")
    {'text/html': '<p>a</p>', 'text/plain': 'a'}
    """
    from IPython.display import display

    widget = box._repr_mimebundle_() if box is not None else {}
    display({**widget, "text/html": page, "text/plain": text}, raw=True)


def html_table(caption: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table with headers for its columns and rows, readable in any theme.

    Parameters
    ----------
    caption : str
    columns : sequence of str
    rows : sequence of sequence of str
        The first cell heads its row.

    Returns
    -------
    str
        HTML; the cells are escaped.

    Examples
    --------
    >>> "<th scope" in html_table("c", ["a"], [["<b>"]]), "<b>" in html_table("c", ["a"], [["<b>"]])
    (True, False)
    """
    head = "".join(f'<th scope="col" style="{_CELL}">{escape_html(c)}</th>' for c in columns)
    body = "".join(
        f'<tr><th scope="row" style="{_CELL};font-weight:normal">{escape_html(first)}</th>'
        + "".join(f'<td style="{_CELL}">{escape_html(cell)}</td>' for cell in rest)
        + "</tr>"
        for first, *rest in rows
    )
    return (
        f'<table class="tex2jax_ignore mathjax_ignore" style="border-collapse:collapse">'
        f'<caption style="text-align:left">{escape_html(caption)}</caption>'
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    )

"""Tables for a paper: a comparison as text cells, Markdown and LaTeX.

In: a `Comparison`. Out: value, interval and letters as text; everything that stands in a name is
escaped for where it goes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

if TYPE_CHECKING:
    from .comparison import Comparison

__all__ = ["cells", "latex", "markdown"]


def cells(comparison: Comparison, keys: Sequence[str] | None = None) -> pd.DataFrame:
    """Return the table for a paper: one row a system from best to worst of the first metric.

    Parameters
    ----------
    comparison : Comparison
    keys : sequence of str, optional
        Metrics; all by default.

    Returns
    -------
    pandas.DataFrame
        Text: value, 95 % interval, and letters that systems share which cannot be told apart.

    Raises
    ------
    UnknownNameError

    Examples
    --------
    >>> import dialogeval as de
    >>> paths = {n: f"sample/predictions/crosswoz_en/tracker_{n}.jsonl.gz" for n in ("careful", "sloppy")}
    >>> systems = {name: de.load_predictions(path) for name, path in paths.items()}
    >>> result = de.compare("sample/crosswoz_en", systems, "lin2021", resamples=0, shuffles=200)
    >>> cells(result, ["joint_goal_accuracy"])["JGA"].tolist()
    ['0.537 a', '0.212 b']
    """
    table = next(iter(comparison.scores.values())).table
    keys = list(table.index) if keys is None else list(keys)
    columns = {}
    for key in keys:
        letters = comparison.letters(key)
        digits = 3 if table.loc[key, "unit"] == "fraction" else 1
        column = {}
        for name, scores in comparison.scores.items():
            row = scores.table.loc[key]
            interval = "" if np.isnan(row["low"]) else f" [{row['low']:.{digits}f}, {row['high']:.{digits}f}]"
            column[name] = f"{row['value']:.{digits}f}{interval} {letters[name]}".rstrip()
        columns[str(table.loc[key, "label"])] = column
    return pd.DataFrame(columns).loc[comparison.ranking(keys[0])].rename_axis("system")


def markdown(comparison: Comparison, keys: Sequence[str] | None = None) -> str:
    """Return the table in Markdown, with the line that says how to read it.

    Examples
    --------
    >>> import dialogeval as de
    >>> paths = {n: f"sample/predictions/crosswoz_en/tracker_{n}.jsonl.gz" for n in ("careful", "sloppy")}
    >>> systems = {name: de.load_predictions(path) for name, path in paths.items()}
    >>> result = de.compare("sample/crosswoz_en", systems, "lin2021", resamples=0, shuffles=200)
    >>> print(markdown(result, ["joint_goal_accuracy"]).splitlines()[2])
    | careful | 0.537 a |
    """
    frame = cells(comparison, keys).reset_index()
    rows = [list(frame.columns), ["---"] * len(frame.columns), *frame.to_numpy().tolist()]
    lines = ["| " + " | ".join(escape_markdown(str(c)) for c in row) + " |" for row in rows]
    text, signature = comparison.caption().split("Signature: ")
    return "\n".join([*lines, "", f"{text}Signature: `{signature}`"])


def latex(comparison: Comparison, keys: Sequence[str] | None = None) -> str:
    """Return the table in LaTeX (package booktabs), with a comment that says how to read it.

    Examples
    --------
    >>> import dialogeval as de
    >>> paths = {n: f"sample/predictions/crosswoz_en/tracker_{n}.jsonl.gz" for n in ("careful", "sloppy")}
    >>> systems = {name: de.load_predictions(path) for name, path in paths.items()}
    >>> result = de.compare("sample/crosswoz_en", systems, "lin2021", resamples=0, shuffles=200)
    >>> latex(result, ["joint_goal_accuracy"]).splitlines()[4] == r"careful & 0.537 a \\\\"
    True
    """
    frame = cells(comparison, keys).reset_index()
    lines = [rf"\begin{{tabular}}{{l{'r' * (len(frame.columns) - 1)}}}", r"\toprule"]
    lines += [" & ".join(map(escape_latex, map(str, frame.columns))) + r" \\", r"\midrule"]
    lines += [" & ".join(escape_latex(str(c)) for c in row) + r" \\" for row in frame.to_numpy()]
    return "\n".join(
        [*lines, r"\bottomrule", r"\end{tabular}", f"% {' '.join(comparison.caption().split())}"]
    )


def escape_markdown(text: str) -> str:
    """Escape what Markdown or HTML would take for markup."""
    for mark in "\\`*_[]<>|#$":
        text = text.replace(mark, "\\" + mark if mark not in "<>" else {"<": "&lt;", ">": "&gt;"}[mark])
    return " ".join(text.split())


def escape_latex(text: str) -> str:
    """Escape what LaTeX would take for markup."""
    marks = {
        "\\": r"\textbackslash{}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "|": r"\textbar{}",
    }
    marks |= {c: "\\" + c for c in "&%$#_{}"} | {
        "[": "{[}",
        "]": "{]}",
        "<": r"\textless{}",
        ">": r"\textgreater{}",
    }
    return "".join(marks.get(c, c) for c in " ".join(text.split()))

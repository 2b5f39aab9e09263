"""Reports: a notebook run on somebody's predictions, and what it leaves on disk.

In: the name of a report and parameters. Out: a folder with the executed notebook, a self-contained
HTML page, ``metrics.json`` and the tables as CSV, and a line a score in the results store. Parameters
are checked against the notebook before anything runs.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from .csv_text import csv_text
from .exceptions import ReportError
from .notebook_runs import execute_notebook
from .report_plan import REPORTS, Run, find_report, plan_report, read_parameters
from .results_store import append_results, result_rows

__all__ = [
    "REPORTS",
    "Run",
    "export_html",
    "find_report",
    "plan_report",
    "read_parameters",
    "run_report",
    "write_outputs",
]


def run_report(
    report: str | os.PathLike[str],
    parameters: Mapping[str, Any] | None = None,
    out: str | os.PathLike[str] = "reports",
) -> dict[str, Path]:
    """Run a report notebook with papermill, export it, and note its numbers in the results store.

    Parameters
    ----------
    report : str or path-like
        A name of `REPORTS`, or the path of a notebook with a cell tagged ``parameters``.
    parameters : mapping, optional
        Values for that cell; strings are read as the type of the notebook's own default.
    out : path-like, default="reports"
        A folder is made in it, named after report, system and corpus.

    Returns
    -------
    dict of str to pathlib.Path
        ``notebook``, ``html``, what the notebook wrote (``metrics.json``, ``*.csv``), and ``results``,
        the store that its numbers were appended to.

    Raises
    ------
    UnknownNameError, UsageError
        No such report or parameter, or a value of the wrong type.
    ReportError
        A cell failed; the notebook up to there is kept.

    Examples
    --------
    >>> run_report("no_such_report")
    Traceback (most recent call last):
    ...
    dialogeval.exceptions.UnknownNameError: unknown report 'no_such_report': known: state_tracking, generation...
    """
    return carry_out(plan_report(report, parameters, out))


def carry_out(run: Run, after_cell: Callable[[], None] = lambda: None) -> dict[str, Path]:
    """Do what was planned; see `run_report`.

    Parameters
    ----------
    run : Run
    after_cell : callable
        Called after every cell, for whoever shows progress.

    Returns
    -------
    dict of str to pathlib.Path

    Raises
    ------
    ReportError
    """
    folder = run.folder
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _clear(folder)
    except OSError as error:
        raise ReportError(
            f"cannot be made ({error.strerror})", file=folder, mend="choose another --out"
        ) from None
    written = {"notebook": folder / "report.ipynb", "html": folder / "report.html"}
    execute_notebook(run.notebook, written["notebook"], run.values, after_cell)
    replace_file(written["html"], export_html(written["notebook"]))
    for extra in sorted([*folder.glob("*.json"), *folder.glob("*.csv")]):
        written[extra.name] = extra
    if "metrics.json" in written:
        metrics = json.loads(written["metrics.json"].read_text(encoding="utf-8"))
        name = run.notebook.stem.removeprefix("report_")
        written["results"] = append_results(folder.parent, result_rows(metrics, name))
    return written


def _clear(folder: Path) -> None:
    """Remove what an earlier run wrote, so that a failing run leaves no old numbers beside its notebook."""
    if (folder / "report.ipynb").is_file():
        for old in [folder / "report.html", folder / "metrics.json", *folder.glob("*.csv")]:
            old.unlink(missing_ok=True)


def export_html(notebook: str | os.PathLike[str]) -> str:
    """Return an executed notebook as one HTML page, with its code folded away.

    Parameters
    ----------
    notebook : path-like

    Returns
    -------
    str
        Needs nothing from the network: figures are embedded, scripts left out.

    Examples
    --------
    >>> "<script" in export_html(find_report("generation"))
    False
    """
    import nbformat
    from nbconvert import HTMLExporter

    document = nbformat.read(notebook, as_version=4)
    templates = Path(__file__).resolve().parent / "data" / "templates"
    exporter = HTMLExporter(extra_template_basedirs=[str(templates)], template_name="report")
    body, _ = exporter.from_notebook_node(document, resources={"metadata": {"name": _heading(document)}})
    return body


def _heading(document: Any) -> str:
    """Return the first heading of a notebook, for the title of its page."""
    texts = [c.source for c in document.cells if c.cell_type == "markdown"]
    found = re.search(r"^# +(.+)$", "\n".join(texts), flags=re.MULTILINE)
    return found.group(1).strip() if found else "dialogeval report"


def write_outputs(folder: str, metrics: Mapping[str, Any], **tables: Any) -> list[str]:
    """Write the numbers of a report: ``metrics.json`` and one CSV a table.

    Parameters
    ----------
    folder : str
        Where to write; the empty string writes nothing (a notebook run on its own).
    metrics : mapping
        What the command ``score --json`` prints, or several of those by name.
    **tables : pandas.DataFrame
        File name without ending, and the table.

    Returns
    -------
    list of str
        Names of the files written.

    Examples
    --------
    >>> write_outputs("", {})
    []
    """
    if not folder:
        return []
    target = Path(folder)
    text = json.dumps(metrics, ensure_ascii=False, indent=2, allow_nan=False)
    contents = {"metrics.json": text + "\n"}
    contents |= {f"{name}.csv": csv_text(frame) for name, frame in tables.items()}
    for name, content in contents.items():
        replace_file(target / name, content)
    return list(contents)


def replace_file(path: Path, text: str) -> None:
    """Write a file so that a reader sees the old one or the new one, never half of one."""
    partial = path.with_name(f".{path.name}.part")
    partial.write_text(text, encoding="utf-8", newline="")
    os.replace(partial, path)

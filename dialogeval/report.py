"""Reports: a notebook run on somebody's predictions, and what it leaves on disk.

In: the name of a report and parameters. Out: a folder with the executed notebook, a self-contained
HTML page, ``metrics.json`` and the tables as CSV, and a line a score in the results store. Parameters
are checked against the notebook before anything runs.
"""

from __future__ import annotations

import ast
import hashlib
import json
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .exceptions import DataFileError, ReportError, UnknownNameError, UsageError, show
from .notebook_runs import execute_notebook
from .resources import resource_dir
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

#: Reports that come with the package: ``report_NAME.ipynb``.
REPORTS = ("state_tracking", "generation")
#: Parameter that the runner sets: where a report writes its numbers.
OUT = "out_dir"


@dataclass(frozen=True)
class Run:
    """A report that has been checked and may start.

    Parameters
    ----------
    notebook : pathlib.Path
    values : dict
        Parameters that differ from the notebook's own.
    folder : pathlib.Path
        Where everything goes.
    """

    notebook: Path
    values: dict[str, Any]
    folder: Path


def plan_report(
    report: str | os.PathLike[str], parameters: Mapping[str, Any] | None, out: str | os.PathLike[str]
) -> Run:
    """Check a report's name, parameters and inputs before anything runs.

    Parameters
    ----------
    report, parameters, out
        As for `run_report`.

    Returns
    -------
    Run

    Raises
    ------
    UnknownNameError, UsageError, DataFileError

    Examples
    --------
    >>> plan_report("generation", {"resamples": "20"}, "reports").folder.as_posix()
    'reports/generation_generator_template_sample-multiwoz'
    """
    path = find_report(report)
    values = check_parameters(path, parameters or {})
    defaults = read_parameters(path)
    _check_inputs({**defaults, **values})
    folder = Path(out) / _slug(path, {**defaults, **values}, defaults)
    if OUT in defaults:
        values[OUT] = str(folder)
    return Run(path, values, folder)


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


def find_report(report: str | os.PathLike[str]) -> Path:
    """Return the path of a report notebook by name or path.

    Raises
    ------
    UnknownNameError

    Examples
    --------
    >>> find_report("state_tracking").name
    'report_state_tracking.ipynb'
    """
    path = Path(report)
    if path.suffix == ".ipynb":
        if not path.is_file():
            raise DataFileError("no such notebook", file=path, mend=f"or name a report: {', '.join(REPORTS)}")
        return path
    name = str(report).removeprefix("report_")
    if name not in REPORTS:
        raise UnknownNameError("report", str(report), REPORTS)
    return resource_dir("notebooks") / f"report_{name}.ipynb"


def read_parameters(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Return the parameters of a notebook and their defaults.

    Parameters
    ----------
    path : path-like
        A notebook with a cell tagged ``parameters`` that holds assignments of literals.

    Returns
    -------
    dict of str to object

    Raises
    ------
    DataFileError
        Not a notebook, or one without such a cell.

    Examples
    --------
    >>> read_parameters(find_report("generation"))["seed"]
    12345
    """
    import nbformat

    try:
        notebook = nbformat.read(path, as_version=4)
    except (ValueError, nbformat.ValidationError, OSError, AttributeError) as error:
        raise DataFileError(f"not a notebook ({type(error).__name__})", file=path) from None
    for cell in notebook.cells:
        if cell.cell_type == "code" and "parameters" in cell.metadata.get("tags", []):
            found = {}
            for statement in ast.parse(cell.source).body:
                if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
                    found[statement.targets[0].id] = ast.literal_eval(statement.value)
            return found
    raise DataFileError("has no cell tagged 'parameters'", file=path, mend="tag the cell of its settings")


def check_parameters(path: Path, given: Mapping[str, Any]) -> dict[str, Any]:
    """Check given parameters against a notebook's own and give them their types.

    Raises
    ------
    UnknownNameError, UsageError
    """
    defaults = read_parameters(path)
    known = [name for name in defaults if name != OUT]
    checked = {}
    for name, value in given.items():
        if name not in known:
            raise UnknownNameError(f"parameter of {path.name}", name, known)
        default = defaults[name]
        wanted = type(default)
        if isinstance(value, str) and wanted in (int, float, bool, list):
            try:
                value = json.loads(value.lower() if wanted is bool else value)
            except ValueError:
                raise UsageError(f"parameter {name}", expected=f"like {default!r}", got=show(value)) from None
        if default is not None and type(value) is not wanted and not (wanted is float and type(value) is int):
            raise UsageError(f"parameter {name}", expected=f"like {default!r}", got=show(value))
        checked[name] = value
    return checked


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
    contents |= {f"{name}.csv": frame.to_csv(lineterminator="\n") for name, frame in tables.items()}
    for name, content in contents.items():
        replace_file(target / name, content)
    return list(contents)


def replace_file(path: Path, text: str) -> None:
    """Write a file so that a reader sees the old one or the new one, never half of one."""
    partial = path.with_name(f".{path.name}.part")
    partial.write_text(text, encoding="utf-8", newline="")
    os.replace(partial, path)


def _slug(path: Path, values: Mapping[str, Any], defaults: Mapping[str, Any]) -> str:
    """Name a run after what tells it from others, so that two systems never share a folder."""
    parts = [path.stem.removeprefix("report_")]
    for name in ("predictions", "corpus", "split", "protocol", "missing"):
        text = str(values.get(name) or "")
        if name == "predictions":
            text = _run_name(text)
        elif name != "corpus" and text == str(defaults.get(name) or ""):
            continue
        parts.append(re.sub(r"[^\w.-]+", "-", text).strip("-."))
    return "_".join(p for p in parts if p)[:120]


def _run_name(predictions: str) -> str:
    """Return a name for a prediction file that tells equally named files of different folders apart."""
    from .predictions.load import system_name

    path = Path(predictions)
    if not predictions or path.parts[0] in ("sample", "predictions"):
        return system_name(path.name)
    folders = path.parts[:-1]
    digest = hashlib.sha256("/".join(folders).encode()).hexdigest()[:4]
    return f"{folders[-1]}-{digest}-{system_name(path.name)}" if folders else system_name(path.name)


def _check_inputs(values: Mapping[str, Any]) -> None:
    """Find out before a kernel is started what would stop the report: files and names that do not exist."""
    from .corpora.catalog import catalog
    from .locate import locate_predictions
    from .protocols import find_protocol

    home = values.get("data_home") or None
    if predictions := values.get("predictions"):
        path = locate_predictions(predictions, home)
        if not path.exists():
            raise DataFileError("no such file", file=path, mend="check the path")
    if (corpus := values.get("corpus")) and corpus not in catalog() and not Path(corpus).exists():
        raise UnknownNameError(
            "corpus", corpus, catalog(), mend="or give the path of a file or folder that exists"
        )
    if protocol := values.get("protocol"):
        find_protocol(protocol)

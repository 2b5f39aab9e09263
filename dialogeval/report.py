"""Reports: a notebook run on somebody's predictions, and what it leaves on disk.

In: the name of a report and parameters. Out: a folder with the executed notebook, a self-contained
HTML page, ``metrics.json`` and the tables as CSV, and a line a score in the results store. Parameters
are checked against the notebook before anything runs.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from .csv_text import csv_text
from .environment import environment
from .exceptions import ReportError
from .notebook_runs import CellFailed, execute_notebook
from .report_plan import OUT, REPORTS, Run, find_report, plan_report, read_parameters
from .results_store import append_results, result_rows
from .writing import write_all, write_whole

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

#: Files of a report.
NOTEBOOK, PAGE, METRICS, VERSIONS = "report.ipynb", "report.html", "metrics.json", "environment.json"


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
        A cell failed: the notebook up to there is kept, in place of an earlier report. Or something
        cannot be written: an earlier report stays as it was.

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
    with _alone(folder) as staging:
        # Nothing is under its own name before all of it is whole: a report that is stopped, or finds the
        # disk full, leaves the one before as it was.
        notebook = staging / NOTEBOOK
        values = run.values | ({OUT: str(staging)} if OUT in run.values else {})
        try:
            execute_notebook(run.notebook, notebook, values, after_cell, kept=folder / NOTEBOOK)
        except CellFailed:
            for old in staging.rglob("*"):
                if old.is_file() and old != notebook:
                    old.unlink()
            _settle(notebook, run.values)
            _publish(staging, folder)
            raise
        _settle(notebook, run.values)
        write_whole(staging / PAGE, export_html(notebook), error=ReportError)
        extras = sorted(path.name for path in staging.iterdir() if path.suffix in (".json", ".csv"))
        _publish(staging, folder)
    written = {"notebook": folder / NOTEBOOK, "html": folder / PAGE}
    written |= {name: folder / name for name in extras}
    if METRICS in written:
        metrics = json.loads(written[METRICS].read_text(encoding="utf-8"))
        name = run.notebook.stem.removeprefix("report_")
        written["results"] = append_results(folder.parent, result_rows(metrics, name))
    return written


@contextmanager
def _alone(folder: Path) -> Iterator[Path]:
    """Give a folder to run in, inside a report's own; two reports never write into one at a time."""
    import portalocker

    lock, staging = folder / ".lock", folder / ".part"
    mend = "choose another --out"
    busy = ReportError("another report is being written here", file=folder, mend=f"wait for it, or {mend}")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with lock.open("a") as held:
            try:
                # The lock is the system's, so it goes with a process that is killed.
                portalocker.lock(held, portalocker.LockFlags.EXCLUSIVE | portalocker.LockFlags.NON_BLOCKING)
            except portalocker.LockException:
                raise busy from None
            if not lock.exists() or not os.path.samestat(os.fstat(held.fileno()), lock.stat()):
                raise busy  # whoever had it has just removed it
            try:
                _finish(folder)
                shutil.rmtree(staging, ignore_errors=True)
                staging.mkdir()
                yield staging
            finally:
                shutil.rmtree(staging, ignore_errors=True)
                with suppress(OSError):
                    _finish(folder)
                    lock.unlink()
                    folder.rmdir()  # where nothing came of it
    except ReportError as error:
        # Where it ran is gone by now: name the place where the file should have gone.
        raise type(error)(str(error).replace(str(staging), str(folder))) from None
    except OSError as error:
        reason = error.strerror or error
        raise ReportError(f"cannot be written ({reason})", file=folder, mend=mend) from None


def _settle(notebook: Path, values: Mapping[str, Any]) -> None:
    """Let an executed notebook say where it lies, not where it ran."""
    import nbformat

    if OUT not in values:
        return
    document = nbformat.read(notebook, as_version=4)
    document.metadata.papermill.output_path = str(Path(values[OUT]) / NOTEBOOK)
    document.metadata.papermill.parameters[OUT] = values[OUT]
    for cell in document.cells:
        if "injected-parameters" in cell.metadata.get("tags", []):
            cell.source = re.sub(rf'^({OUT} = .*)[/\\]+\.part"$', r'\1"', cell.source, flags=re.MULTILINE)
    nbformat.write(document, notebook)


def _publish(staging: Path, folder: Path) -> None:
    """Put what was staged in its place; from its new name on, it replaces the report before."""
    os.replace(staging, folder / ".done")
    _finish(folder)


def _finish(folder: Path) -> None:
    """Move what is whole into place, also what a run that was stopped right here had not moved yet.

    The old notebook goes last and the new one comes last: where there is none, and only there, some of
    the new files may be in place already.
    """
    done = folder / ".done"
    if not done.is_dir():
        return
    if (folder / NOTEBOOK).is_file():
        # No old numbers beside a new notebook, also where the new one has none.
        for old in (PAGE, METRICS, VERSIONS, *(path.name for path in folder.glob("*.csv")), NOTEBOOK):
            (folder / old).unlink(missing_ok=True)
    last = (METRICS, PAGE, NOTEBOOK)
    files = [path for path in sorted(done.rglob("*")) if path.is_file()]
    for path in sorted(files, key=lambda path: last.index(path.name) if path.name in last else -1):
        place = folder / path.relative_to(done)
        place.parent.mkdir(parents=True, exist_ok=True)
        os.replace(path, place)
    shutil.rmtree(done)


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
    """Write the numbers of a report: ``metrics.json``, one CSV a table, and ``environment.json``.

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
        Names of the files written: all of them or, where that raises, none.

    Raises
    ------
    ReportError
        They cannot be written.

    Examples
    --------
    >>> write_outputs("", {})
    []
    """
    if not folder:
        return []
    target = Path(folder)
    contents = {f"{name}.csv": csv_text(frame) for name, frame in tables.items()}
    contents[VERSIONS] = _json_text(environment())
    # Last: where the scores are, so are the tables.
    contents[METRICS] = _json_text(metrics)
    write_all({target / name: content for name, content in contents.items()}, error=ReportError)
    return [METRICS, VERSIONS, *(f"{name}.csv" for name in tables)]


def _json_text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2, allow_nan=False) + "\n"

"""Reports: a notebook run on somebody's predictions, its page, its tables, and its scores kept.

In: a report's name, parameters and a folder. Out: a folder with the executed notebook, a self-contained
HTML page, tables and `metrics.json`, and one file of scores beside it, in `results`. A report is made in
a hidden folder and replaces the one before as a whole, so that a run that fails or is stopped changes
nothing. `read_results` reads the scores of all runs.
"""

from __future__ import annotations

import ast
import json
import logging
import os
import re
import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from subprocess import DEVNULL
from typing import Any
from uuid import uuid4

import orjson
import pandas as pd

from dialogeval import __version__, exceptions
from dialogeval.exceptions import DataFileError, DialogevalError, ReportError, UnknownNameError, UsageError
from dialogeval.resources import resource_dir
from dialogeval.scoring import environment
from dialogeval.writing import csv_text, write_all, write_whole

#: Reports that come with the package: ``report_NAME.ipynb``.
REPORTS = ("state_tracking", "generation", "leaderboard", "transfer")
#: The report that takes all predictions together, and what stands between them in its parameter.
TOGETHER, BETWEEN = "leaderboard", ";"
#: The parameter that says where a report writes its numbers; set by the runner alone.
OUT = "out_dir"
#: Name of our engine among papermill's.
ENGINE = "dialogeval"
#: Files of a report.
NOTEBOOK, PAGE, METRICS, VERSIONS = "report.ipynb", "report.html", "metrics.json", "environment.json"
#: Columns of `read_results`.
COLUMNS = {
    **dict.fromkeys(("system", "corpus", "split", "protocol", "signature", "metric"), "str"),
    **dict.fromkeys(("value", "low", "high"), "float64"),
    **{"time": "datetime64[us, UTC]", "version": "str", "report": "str"},
}


# What to run -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Run:
    """A report that has been checked and may start."""

    report: str
    notebook: Path
    values: dict[str, Any]
    folder: Path


def plan_report(report: str | Path, parameters: Mapping[str, Any], out: str | Path) -> Run:
    """Check a report's name, parameters and inputs before a kernel is started."""
    path = find_report(report)
    name = path.stem.removeprefix("report_")
    defaults = read_parameters(path)
    given = {key: _typed(path, key, value, defaults) for key, value in parameters.items()}
    _check_inputs(name, defaults | given)
    folder = Path(out, _folder_name(name, defaults | given, given))
    if folder.exists() and not (folder / NOTEBOOK).is_file():
        raise ReportError("is there and holds no report", file=folder, mend="choose another --out")
    return Run(name, path, given | ({OUT: str(folder)} if OUT in defaults else {}), folder)


def find_report(report: str | Path) -> Path:
    """Return the path of a report notebook by name or path."""
    path = Path(report)
    if path.suffix != ".ipynb":
        name = str(report).removeprefix("report_")
        if name not in REPORTS:
            raise UnknownNameError("report", str(report), REPORTS)
        path = resource_dir("notebooks") / f"report_{name}.ipynb"
    if not path.is_file():
        raise DataFileError("no such notebook", file=path, mend=f"or name a report: {', '.join(REPORTS)}")
    return path


def read_parameters(path: Path) -> dict[str, Any]:
    """Return the parameters of a notebook and their defaults."""
    import papermill

    try:
        found = papermill.inspect_notebook(_literal(path))
        defaults = {name: ast.literal_eval(parameter["default"]) for name, parameter in found.items()}
    except Exception as error:  # whatever papermill makes of a broken file
        raise DataFileError(f"not a notebook ({type(error).__name__})", file=path) from None
    if not defaults:
        raise DataFileError("has no cell tagged 'parameters'", file=path, mend="tag the cell of its settings")
    return defaults


def _typed(path: Path, name: str, value: Any, defaults: Mapping[str, Any]) -> Any:
    """Give a value of the command line the type of the notebook's own."""
    if name not in defaults or name == OUT:
        raise UnknownNameError(f"parameter of {path.name}", name, [n for n in defaults if n != OUT])
    default = defaults[name]
    kind = type(default)
    if isinstance(value, str) and kind is not str:
        with suppress(ValueError):
            value = json.loads(value.lower() if kind is bool else value)
    if default is not None and type(value) is not kind and (kind, type(value)) != (float, int):
        raise UsageError(f"parameter {name}", expected=f"like {default!r}", got=repr(value)[:60])
    return value


def _check_inputs(report: str, values: Mapping[str, Any]) -> None:
    """Refuse files and names that do not exist: a typing error should not cost the start of a kernel."""
    from dialogeval.corpora.catalog import catalog, split_files
    from dialogeval.leaderboard import find_systems
    from dialogeval.locate import require_corpus, require_predictions
    from dialogeval.ontology.attribution import check_inputs
    from dialogeval.protocols import with_steps

    names = ("corpus", "split", "predictions", "data_home")
    corpus, split, predictions, home = (values.get(name) or None for name in names)
    if values.get("protocol"):
        with_steps(values["protocol"], values.get("steps") or "")
    if report == "transfer":
        check_inputs(values["corpus"], predictions or "", home, values["split"])
    elif predictions:
        (find_systems if report == TOGETHER else require_predictions)(predictions, home)
    if corpus and (predictions or report != "transfer"):
        require_corpus(corpus)
        if split and corpus in catalog():
            split_files(corpus, split, home)


def _folder_name(report: str, values: Mapping[str, Any], given: Mapping[str, Any]) -> str:
    """Name a run after what tells it from others, so that two systems never share a folder."""
    from dialogeval.predictions.load import system_name

    file = str(values.get("predictions") or "")
    several = file.count(BETWEEN) + 1
    system = f"{several}-systems" if several > 1 else system_name(Path(file).name)
    known = Path(file).parts[:1] in [(), ("sample",), ("predictions",)] or Path(file).name == file
    if several > 1 or not known or _plain(system) != system or len(system) > 60:
        system = f"{system[:60]}-{sha256(os.fsencode(file)).hexdigest()[:4]}"
    settings = [given[name] for name in ("split", "protocol", "steps", "missing") if given.get(name)]
    parts = [report, system, values.get("corpus") or "", *settings]
    return "_".join(_plain(part) for part in parts if part)[:120]


def _plain(text: object) -> str:
    return re.sub(r"[^\w.-]+", "-", str(text)).strip("-.")


# Running -----------------------------------------------------------------------------------------


def run_report(
    report: str | Path, parameters: Mapping[str, Any] | None = None, out: str | Path = "reports"
) -> dict[str, Path]:
    """Run one report; return what it wrote."""
    ((_, written, failure),) = run_batch([plan_report(report, parameters or {}, out)])
    if failure is not None:
        raise failure
    return written


def run_batch(
    runs: Sequence[Run], jobs: int | None = None
) -> Iterator[tuple[Run, dict[str, Path], DialogevalError | None]]:
    """Run several reports side by side; yield what each wrote, or why it failed, as soon as it is done."""
    if len({run.folder for run in runs}) < len(runs):
        raise UsageError("two reports would write into one folder", mend="leave one of them out")
    # Threads suffice: the work is done in the kernels, which are processes.
    kernels: list[Any] = []
    _register_engine(kernels)
    pool = ThreadPoolExecutor(max(1, min(jobs or os.cpu_count() or 1, len(runs))))
    waiting = {pool.submit(_carry_out, run): run for run in runs}
    try:
        for done in as_completed(waiting):
            try:
                written, failure = done.result(), None
            except DialogevalError as error:
                written, failure = {}, error
            yield waiting[done], written, failure
    finally:
        # Interrupted, or left by the caller: nothing may go on behind the back of whoever stopped us.
        pool.shutdown(wait=False, cancel_futures=True)
        while any(future.running() for future in waiting):
            for client in kernels:
                with suppress(AttributeError):  # not started yet, or gone
                    client.km.provisioner.process.kill()
            time.sleep(0.05)


def _carry_out(run: Run) -> dict[str, Path]:
    """Make a report in a hidden folder, and put it in its place when all of it is whole."""
    folder = run.folder
    staging, old = (folder.with_name(f".{uuid4().hex}{end}") for end in ("", ".old"))
    try:
        staging.mkdir(parents=True)
        _execute(run, staging)
        (staging / PAGE).write_text(export_html(staging / NOTEBOOK), encoding="utf-8")
        with suppress(FileNotFoundError):
            os.replace(folder, old)
        os.replace(staging, folder)
        shutil.rmtree(old, ignore_errors=True)
        written = {"notebook": folder / NOTEBOOK, "html": folder / PAGE}
        written |= {p.name: p for p in sorted(folder.iterdir()) if p.suffix in (".json", ".csv")}
        if METRICS in written:
            metrics = orjson.loads(written[METRICS].read_bytes())
            written["results"] = write_results(folder, metrics, run.report)
    except OSError as error:
        problem = f"cannot be written ({error.strerror or error})"
        raise ReportError(problem, file=folder, mend="make room, or choose another --out") from None
    finally:
        shutil.rmtree(staging, ignore_errors=True)
    return written


def _execute(run: Run, staging: Path) -> None:
    """Run the notebook; where a cell fails, keep what ran up to there beside the report."""
    import papermill
    from papermill.exceptions import PapermillExecutionError

    notebook, failed = staging / NOTEBOOK, run.folder.with_name(f"{run.folder.name}.failed.ipynb")
    values = run.values | ({OUT: str(staging)} if OUT in run.values else {})
    failure = None
    try:
        papermill.execute_notebook(
            *(_literal(run.notebook), _literal(notebook), values, ENGINE),
            kernel_name="python3",
            progress_bar={"desc": run.folder.name, "leave": False, "disable": None},
            folder=str(run.notebook.parent.resolve()),
        )
    except PapermillExecutionError as error:
        said = error.evalue.replace(staging.name, run.folder.name)
        if isinstance(getattr(exceptions, error.ename, None), type):
            # Our own refusals are one line that says all: which cell it came from helps nobody.
            raise ReportError(said) from None
        problem = f"cell {error.cell_index} failed: {error.ename}: {said}"
        failure = ReportError(problem, file=run.notebook.name, mend=f"see {failed}")
    except RuntimeError as error:
        raise ReportError(f"the kernel died ({error})", file=run.notebook.name, mend="run it again") from None
    # It should say where it lies, not where it ran.
    text = notebook.read_text(encoding="utf-8").replace(staging.name, run.folder.name)
    notebook.write_text(text, encoding="utf-8")
    failed.unlink(missing_ok=True)
    if failure is not None:
        os.replace(notebook, failed)
        raise failure


def _literal(path: Path) -> str:
    """Keep papermill from filling in what stands in braces."""
    return str(path).replace("{", "{{").replace("}", "}}")


def _register_engine(kernels: list[Any]) -> None:
    """Let papermill's engine keep hold of its kernels, and keep their own logs off the terminal."""
    from papermill.clientwrap import PapermillNotebookClient
    from papermill.engines import NBClientEngine, papermill_engines

    log = logging.getLogger("papermill")
    log.setLevel(logging.CRITICAL)

    class Engine(NBClientEngine):
        """Papermill's own; a kernel may import what lies beside its notebook."""

        @classmethod
        def execute_managed_notebook(cls, nb_man: Any, kernel_name: str, folder: str, **_: Any) -> None:
            client = PapermillNotebookClient(
                nb_man, kernel_name=kernel_name, shutdown_kernel="immediate", log=log
            )
            kernels.append(client)
            places = os.pathsep.join(filter(None, [folder, os.environ.get("PYTHONPATH")]))
            client.execute(env={**os.environ, "PYTHONPATH": places}, stderr=DEVNULL)

    papermill_engines.register(ENGINE, Engine)


def export_html(notebook: str | os.PathLike[str]) -> str:
    """Return an executed notebook as one HTML page, with its code folded away."""
    import nbformat
    from nbconvert import HTMLExporter

    document = nbformat.read(notebook, as_version=4)
    prose = "\n".join(cell.source for cell in document.cells if cell.cell_type == "markdown")
    heading = re.search(r"^# +(.+)$", prose, flags=re.MULTILINE)
    templates = Path(__file__).resolve().parent / "data" / "templates"
    exporter = HTMLExporter(extra_template_basedirs=[str(templates)], template_name="report")
    title = heading[1].strip() if heading else "dialogeval report"
    return exporter.from_notebook_node(document, resources={"metadata": {"name": title}})[0]


# Numbers -----------------------------------------------------------------------------------------


def write_outputs(folder: str, metrics: Mapping[str, Any], **tables: pd.DataFrame) -> list[str]:
    """Write the numbers of a report: ``metrics.json``, one CSV a table, and ``environment.json``."""
    if not folder:
        return []
    contents = {f"{name}.csv": csv_text(frame) for name, frame in tables.items()}
    contents |= {VERSIONS: _json_text(environment()), METRICS: _json_text(metrics)}
    write_all({Path(folder, name): text for name, text in contents.items()}, error=ReportError)
    return list(contents)


def _json_text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2, allow_nan=False) + "\n"


def write_results(folder: Path, metrics: Any, report: str) -> Path:
    """Write the scores of one run beside its folder: a row a system, protocol and score."""
    now = datetime.now(UTC)
    about = {"time": now.isoformat(), "version": __version__, "report": report}
    rows = []
    for scores in _score_objects(metrics):
        fields = dict(part.partition(":")[::2] for part in scores["signature"].split("|"))
        corpus, _, split = fields.get("gold", "").rpartition("@")[0].rpartition("/")
        about |= {"corpus": corpus, "split": split}
        about |= {key: scores[key] for key in ("system", "protocol", "signature")}
        rows += [about | {"metric": metric} | value for metric, value in scores["metrics"].items()]
    path = folder.parent / "results" / f"{now:%Y%m%dT%H%M%S.%fZ}_{folder.name}.json"
    path.parent.mkdir(exist_ok=True)
    return write_whole(path, _json_text(rows), error=ReportError)


def _score_objects(metrics: Any) -> Iterator[Mapping[str, Any]]:
    """Find the objects of ``Scores.to_dict`` wherever they stand, in the order of the file."""
    if isinstance(metrics, Mapping) and {"system", "protocol", "signature", "metrics"} <= metrics.keys():
        yield metrics
    elif isinstance(metrics, (Mapping, list)):
        for part in metrics.values() if isinstance(metrics, Mapping) else metrics:
            yield from _score_objects(part)


def read_results(folder: str | os.PathLike[str]) -> pd.DataFrame:
    """Read the scores of all reports of a folder, also those of version 0.1 (``results.parquet``).

    Parameters
    ----------
    folder : path-like
        The folder that the reports were written to (``--out``).

    Returns
    -------
    pandas.DataFrame
        A row a run, system and score, the earliest run first; columns system, corpus, split, protocol,
        signature, metric, value, low, high, time, version and report.

    Raises
    ------
    DataFileError
        No results, or a file that holds something else.

    Examples
    --------
    >>> read_results("no/such/folder")
    Traceback (most recent call last):
    ...
    dialogeval.exceptions.DataFileError: no/such/folder: no results; ...
    """
    files = [*Path(folder).glob("results.parquet"), *sorted(Path(folder).glob("results/*.json"))]
    if not files:
        raise DataFileError("no results", file=folder, mend="run a report with this folder as --out first")
    return pd.concat(map(_read_rows, files), ignore_index=True)


def _read_rows(path: Path) -> pd.DataFrame:
    try:
        if path.suffix == ".parquet":
            rows = pd.read_parquet(path)
        else:
            rows = pd.DataFrame(orjson.loads(path.read_bytes()) or dict.fromkeys(COLUMNS, ()))
        return rows[list(COLUMNS)].astype(COLUMNS)
    except (OSError, ValueError, TypeError, KeyError) as error:
        problem = f"does not hold the scores of a report ({type(error).__name__})"
        raise DataFileError(problem, file=path, mend="move it away") from None

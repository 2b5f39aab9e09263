"""Several reports in one call: systems and protocols spread over processes.

In: planned runs. Out: each run with what it wrote, or with the one line that says why it failed, as
soon as it is done. A failing report stops no other.
"""

from __future__ import annotations

import ast
import hashlib
import json
import os
import re
import shutil
import signal
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from multiprocessing import active_children, get_context, parent_process
from pathlib import Path
from threading import Thread, Timer
from time import monotonic
from typing import Any

import pandas as pd

from dialogeval import __version__, exceptions
from dialogeval.csv_text import csv_text
from dialogeval.exceptions import (
    DataFileError,
    DialogevalError,
    ReportError,
    UnknownNameError,
    UsageError,
    show,
)
from dialogeval.files import raw_bytes
from dialogeval.parquet_file import parquet_table
from dialogeval.resources import resource_dir
from dialogeval.scoring import environment
from dialogeval.writing import clear_parts, write_all, write_whole

#: Called after every cell.
AfterCell = Callable[[], None]


class CellFailed(ReportError):
    """A cell failed: the notebook up to there is on disk."""


def count_cells(path: str | os.PathLike[str]) -> int:
    """Return the number of cells that running a notebook goes through, the injected parameters included."""
    import nbformat

    return len(nbformat.read(path, as_version=4).cells) + 1


def execute_notebook(
    path: Path, target: Path, values: dict[str, Any], after_cell: AfterCell, kept: Path | None = None
) -> None:
    """Run a notebook with papermill and write the executed one."""
    import logging

    import papermill
    from papermill.exceptions import PapermillExecutionError

    logging.getLogger("papermill").setLevel(logging.ERROR)
    if not target.parent.is_dir():
        raise ReportError("cannot be written (no such folder)", file=target)
    try:
        with _quiet_kernel(path.parent), _engine(after_cell) as engine:
            papermill.execute_notebook(
                str(path),
                str(target),
                parameters=values,
                engine_name=engine,
                progress_bar=False,
                log_output=False,
                kernel_name="python3",
                language="python",
                # It holds nothing that is still needed, and whoever presses Ctrl-C does not want to wait.
                shutdown_kernel="immediate",
            )
    except PapermillExecutionError as error:
        kind = getattr(exceptions, error.ename, None)
        if isinstance(kind, type) and issubclass(kind, DialogevalError):
            # Our own refusals are one line that says all: which cell it came from helps nobody.
            raise (ReportError if kind is ReportError else CellFailed)(error.evalue) from None
        cause = f"{error.ename}: {error.evalue}"
        mend = f"see {kept or target}"
        raise CellFailed(f"cell {error.cell_index} failed: {cause}", file=path.name, mend=mend) from None
    except OSError as error:
        problem = f"cannot be written ({error.strerror or error})"
        raise ReportError(problem, file=kept or target, mend="make room, or choose another --out") from None


@contextmanager
def _engine(after_cell: AfterCell) -> Iterator[str]:
    """Register papermill's own engine with a call after each cell, for the time of one run."""
    from papermill.engines import NBClientEngine, papermill_engines

    class Engine(NBClientEngine):
        """The engine that papermill uses anyway."""

        @classmethod
        def execute_managed_notebook(cls, nb_man: Any, kernel_name: str, **settings: Any) -> Any:
            own = nb_man.cell_complete

            def complete(*arguments: Any, **named: Any) -> None:
                own(*arguments, **named)
                after_cell()

            nb_man.cell_complete = complete
            return super().execute_managed_notebook(nb_man, kernel_name, **settings)

    papermill_engines.register("dialogeval", Engine)
    yield "dialogeval"


@contextmanager
def _quiet_kernel(folder: Path) -> Iterator[None]:
    """Keep the kernel's own log off standard error; let it import what lies beside the notebook."""
    sys.stderr.flush()
    before = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(folder.resolve()), before]))
    kept, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    session = os.environ.pop("JPY_SESSION_NAME", None)
    try:
        os.dup2(nowhere, 2)
        yield
    finally:
        os.environ.pop("PYTHONPATH") if before is None else os.environ.update(PYTHONPATH=before)
        if session is not None:
            os.environ["JPY_SESSION_NAME"] = session
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nowhere)


#: Name of the file in the folder of reports.
STORE = "results.parquet"
#: Columns and their types.
COLUMNS = {
    **dict.fromkeys(("system", "corpus", "split", "protocol", "signature", "metric"), "str"),
    **dict.fromkeys(("value", "low", "high"), "float64"),
    **{"time": "datetime64[us, UTC]", "version": "str", "report": "str"},
}
#: Seconds to wait for another writer.
PATIENCE = 120.0


def result_rows(metrics: Any, report: str = "", time: datetime | None = None) -> pd.DataFrame:
    """Return the rows of what a report wrote: one a system, protocol and score."""
    when = (time or datetime.now(UTC)).astimezone(UTC)
    rows = []
    for scores in _score_objects(metrics):
        fields = dict(part.partition(":")[::2] for part in scores["signature"].split("|"))
        corpus, _, split = fields.get("gold", "").rpartition("@")[0].rpartition("/")
        for metric, value in scores["metrics"].items():
            rows.append(
                {
                    **{key: str(scores[key]) for key in ("system", "protocol", "signature")},
                    **{"corpus": corpus, "split": split, "metric": metric},
                    **{key: value[key] for key in ("value", "low", "high")},
                    **{"time": when, "version": __version__, "report": report},
                }
            )
    return pd.DataFrame(rows, columns=list(COLUMNS)).astype(COLUMNS)


def _score_objects(metrics: Any) -> Iterator[Mapping[str, Any]]:
    """Find the objects of ``Scores.to_dict`` wherever they stand, in the order of the file."""
    if isinstance(metrics, Mapping):
        if {"system", "protocol", "signature", "metrics"} <= metrics.keys():
            yield metrics
        else:
            for part in metrics.values():
                yield from _score_objects(part)
    elif isinstance(metrics, list):
        for part in metrics:
            yield from _score_objects(part)


def append_results(folder: str | os.PathLike[str], rows: pd.DataFrame) -> Path:
    """Append rows to the store of a folder; all of them or, if anything goes wrong, none."""
    import portalocker

    store = Path(folder) / STORE
    lock = store.with_name(f".{STORE}.lock")
    try:
        store.parent.mkdir(parents=True, exist_ok=True)
        # The lock is the system's, so it goes with a process that is killed.
        with portalocker.Lock(lock, mode="a", timeout=PATIENCE):
            clear_parts(store)
            both = pd.concat([read_results(folder), rows], ignore_index=True) if store.exists() else rows
            # Numbers of months: they must not be lost with the power either.
            write_whole(store, both.to_parquet(index=False), durable=True, error=ReportError)
    except portalocker.LockException:
        raise ReportError(
            "is held by another report", file=store, mend="try again when that one is done"
        ) from None
    except OSError as error:
        raise ReportError(f"cannot be written ({error.strerror or error})", file=store) from None
    return store


def read_results(folder: str | os.PathLike[str]) -> pd.DataFrame:
    """Read the results store of a folder of reports.

    Parameters
    ----------
    folder : path-like
        The folder, or the store itself.

    Returns
    -------
    pandas.DataFrame
        As `result_rows`, in the order of writing.

    Raises
    ------
    DataFileError
        No store, or one that is broken or holds other columns.

    Examples
    --------
    >>> read_results("no/such/folder")
    Traceback (most recent call last):
    ...
    dialogeval.exceptions.DataFileError: no/such/folder/results.parquet: no such file; ...
    """
    import pyarrow

    store = Path(folder)
    store = store if store.suffix == ".parquet" else store / STORE
    if store.is_dir():
        raise DataFileError(
            "is a folder", file=store, expected="a Parquet file", mend="move it away, or choose another --out"
        )
    if not store.is_file():
        raise DataFileError("no such file", file=store, mend="run a report with this folder as --out first")
    mend = "move it away; the next report starts a new one"
    try:
        # The columns alone: what else the file says of itself (an index, types of pandas) is not ours.
        table = parquet_table(raw_bytes(store), store)
        if table.column_names != list(COLUMNS):
            expected = ", ".join(COLUMNS)
            got = ", ".join(table.column_names)[:300]
            raise DataFileError("has other columns", file=store, expected=expected, got=got, mend=mend)
        frame = table.to_pandas()
    except (pyarrow.ArrowException, OSError, ValueError, TypeError, OverflowError) as error:
        raise DataFileError(
            f"is no readable Parquet file ({type(error).__name__})", file=store, mend=mend
        ) from None
    try:
        return frame.astype(COLUMNS)
    except (ValueError, TypeError) as error:
        problem = f"holds cells of another type ({type(error).__name__})"
        raise DataFileError(problem, file=store, expected=str(COLUMNS), mend=mend) from None


#: Reports that come with the package: ``report_NAME.ipynb``.
REPORTS = ("state_tracking", "generation", "leaderboard", "transfer", "scale")
#: Reports that take all given predictions together instead of one after the other.
TOGETHER = ("leaderboard",)
#: Between several prediction files in one parameter.
BETWEEN = ";"
#: Parameter that the runner sets: where a report writes its numbers.
OUT = "out_dir"


@dataclass(frozen=True)
class Run:
    """A report that has been checked and may start."""

    notebook: Path
    values: dict[str, Any]
    folder: Path


def plan_report(
    report: str | os.PathLike[str], parameters: Mapping[str, Any] | None, out: str | os.PathLike[str]
) -> Run:
    """Check a report's name, parameters and inputs before anything runs."""
    path = find_report(report)
    values = check_parameters(path, parameters or {})
    defaults = read_parameters(path)
    _check_inputs(path, {**defaults, **values})
    folder = Path(out) / _slug(path, {**defaults, **values}, defaults)
    if OUT in defaults:
        values[OUT] = str(folder)
    return Run(path, values, folder)


def find_report(report: str | os.PathLike[str]) -> Path:
    """Return the path of a report notebook by name or path."""
    path = Path(report)
    if path.suffix == ".ipynb":
        if not path.is_file():
            raise DataFileError("no such notebook", file=path, mend=f"or name a report: {', '.join(REPORTS)}")
        return path
    name = str(report).removeprefix("report_")
    if name not in REPORTS:
        raise UnknownNameError("report", str(report), REPORTS)
    return resource_dir("notebooks") / f"report_{name}.ipynb"


def takes_all(notebook: str | os.PathLike[str]) -> bool:
    """Tell whether a report takes all predictions together, as a leaderboard does."""
    return Path(notebook).stem.removeprefix("report_") in TOGETHER


def read_parameters(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Return the parameters of a notebook and their defaults."""
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
    """Check given parameters against a notebook's own and give them their types."""
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


def _slug(path: Path, values: Mapping[str, Any], defaults: Mapping[str, Any]) -> str:
    """Name a run after what tells it from others, so that two systems never share a folder."""
    parts = [path.stem.removeprefix("report_")]
    for name in ("predictions", "corpus", "split", "protocol", "steps", "missing"):
        text = str(values.get(name) or "")
        if name == "predictions":
            text = _run_name(text)
        elif name != "corpus" and text == str(defaults.get(name) or ""):
            continue
        plain = re.sub(r"[^\w.-]+", "-", text).strip("-.")
        if name == "predictions" and plain != text:
            # "a b" and "a-b" are two systems.
            plain += f"-{_digest(text)}"
        parts.append(plain)
    whole = "_".join(p for p in parts if p)
    return whole if len(whole) <= 120 else f"{whole[:115]}-{_digest(whole)}"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:4]


def _run_name(predictions: str) -> str:
    """Return a name for a prediction file that tells equally named files of different folders apart."""
    from dialogeval.predictions.load import system_name

    if BETWEEN in predictions:
        return f"{predictions.count(BETWEEN) + 1}-systems-{_digest(predictions)}"
    path = Path(predictions)
    if not predictions or path.parts[0] in ("sample", "predictions"):
        return system_name(path.name)
    folders = path.parts[:-1]
    digest = hashlib.sha256("/".join(folders).encode()).hexdigest()[:4]
    return f"{folders[-1]}-{digest}-{system_name(path.name)}" if folders else system_name(path.name)


def _check_inputs(notebook: Path, values: Mapping[str, Any]) -> None:
    """Find out before a kernel is started what would stop the report: files and names that do not exist."""
    from dialogeval.locate import require_predictions
    from dialogeval.protocols import with_steps

    home = values.get("data_home") or None
    predictions = values.get("predictions")
    if protocol := values.get("protocol"):
        with_steps(protocol, values.get("steps") or "")
    if notebook.stem == "report_transfer":
        from dialogeval.ontology.attribution import check_inputs

        check_inputs(values["corpus"], predictions or "", home, values["split"])
        if predictions:
            _check_gold(values, home)
        return
    if predictions and takes_all(notebook):
        from dialogeval.leaderboard import find_systems

        find_systems(predictions, home)
    elif predictions:
        path = require_predictions(predictions, home)
        if path.is_dir() and notebook.stem.removeprefix("report_") in REPORTS:
            mend = "name its files, or run the report leaderboard on the folder"
            raise DataFileError("is a folder", file=path, expected="a file", mend=mend)
    _check_gold(values, home)


def _check_gold(values: Mapping[str, Any], home: str | None) -> None:
    """Refuse a corpus that does not exist, and a split that it lacks or that is not here."""
    from dialogeval.corpora.catalog import split_files
    from dialogeval.corpora.entries import catalog
    from dialogeval.locate import require_corpus

    if corpus := values.get("corpus"):
        require_corpus(corpus)
        if corpus in catalog() and values.get("split") and catalog()[corpus].family != "predictions":
            split_files(corpus, values["split"], home)


#: Files of a report.
NOTEBOOK, PAGE, METRICS, VERSIONS = "report.ipynb", "report.html", "metrics.json", "environment.json"


def run_report(
    report: str | os.PathLike[str],
    parameters: Mapping[str, Any] | None = None,
    out: str | os.PathLike[str] = "reports",
) -> dict[str, Path]:
    """Run a report notebook with papermill, export it, and note its numbers in the results store."""
    return carry_out(plan_report(report, parameters, out))


def carry_out(run: Run, after_cell: Callable[[], None] = lambda: None) -> dict[str, Path]:
    """Do what was planned; see `run_report`."""
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
    """Move what is whole into place, also what a run that was stopped right here had not moved yet."""
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
    """Return an executed notebook as one HTML page, with its code folded away."""
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
    """Write the numbers of a report: ``metrics.json``, one CSV a table, and ``environment.json``."""
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


#: Cells done in all worker processes.
_done: Any = None
#: Whether this worker has a report in hand.
_busy = False
#: When this worker was last told to stop.
_asked = float("-inf")
#: Exit code of a process that was told to stop, and seconds in which that counts once.
STOPPED, PAUSE = 130, 5.0


def run_batch(
    runs: Sequence[Run], jobs: int | None = None
) -> Iterator[tuple[Run, dict[str, Path], str | None]]:
    """Carry out several runs, each in a process of its own, and show on a terminal how far they are."""
    folders = [run.folder for run in runs]
    twice = next((folder for folder in folders if folders.count(folder) > 1), None)
    if twice is not None:
        raise UsageError("two reports would write into one folder", file=twice, mend="leave one of them out")
    if jobs is not None and jobs < 1:
        raise UsageError("jobs", expected="a whole number from 1", got=str(jobs))
    if not runs:
        return
    most = min(jobs or os.cpu_count() or 1, len(runs))
    # Fresh processes: a forked one would share sockets and locks with the notebook that calls us.
    context = get_context("spawn")
    done = context.Value("i", 0)
    cells = sum(count_cells(run.notebook) for run in runs)
    others = active_children()
    pool = ProcessPoolExecutor(most, context, _prepare, (done,))
    with _not_interrupted():
        waiting = {pool.submit(_work, run): run for run in runs}
    try:
        with _bar(cells, len(runs)) as bar:
            while waiting:
                finished, _ = wait(waiting, timeout=0.3, return_when=FIRST_COMPLETED)
                bar.update(done.value - bar.n)
                for future in finished:
                    run = waiting.pop(future)
                    error = future.exception()
                    written, failure = ({}, _lost(run, error)) if error else future.result()
                    yield run, written, failure
    finally:
        # Interrupted, or left by the caller: nothing may go on behind the back of whoever stopped us.
        if waiting:
            for child in active_children():
                if child not in others:
                    child.terminate()
        pool.shutdown(cancel_futures=True)


def _lost(run: Run, error: BaseException) -> str:
    """Say what happened to a run whose process died (killed, out of memory)."""
    return str(
        ReportError(f"its process died ({type(error).__name__})", file=run.folder, mend="run it again")
    )


@contextmanager
def _not_interrupted() -> Iterator[None]:
    """Hold Ctrl-C back while workers are started, in them too, until they know what to do about it."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _prepare(done: Any) -> None:
    """Set up a worker: it counts cells, and stops when it is told to or when its parent is gone."""
    global _done
    _done = done
    for number in (signal.SIGINT, signal.SIGTERM):
        if signal.getsignal(number) is not signal.SIG_IGN:  # as for what runs in the background
            signal.signal(number, _stop)
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    sys.unraisablehook = _drop
    Thread(target=_stop_with_parent, daemon=True).start()


def _stop(number: int, frame: object) -> None:
    global _asked
    # The terminal signals us and so does our parent: cleaning up must not be interrupted.
    if monotonic() - _asked < PAUSE:
        return
    _asked = monotonic()
    if not _busy:
        os._exit(STOPPED)
    # Python drops what is raised inside some callbacks; should we still be here, we are asked again.
    again = Timer(PAUSE + 1, os.kill, (os.getpid(), signal.SIGTERM))
    again.daemon = True
    again.start()
    raise KeyboardInterrupt


def _drop(lost: Any) -> None:
    """Say nothing of an interrupt that Python dropped."""
    if not issubclass(lost.exc_type, KeyboardInterrupt):
        sys.__unraisablehook__(lost)


def _stop_with_parent() -> None:
    """Wait for the end of whoever started us: killed outright, it cannot tell us to stop."""
    parent = parent_process()
    if parent is not None:
        parent.join()
        os.kill(os.getpid(), signal.SIGTERM)


def _count() -> None:
    with _done.get_lock():
        _done.value += 1


def _work(run: Run) -> tuple[dict[str, Path], str | None]:
    global _busy
    _busy = True
    try:
        return carry_out(run, _count), None
    except DialogevalError as error:
        return {}, str(error)
    except KeyboardInterrupt:
        # All is cleaned up; what is left of an interrupted event loop would only complain on its way out.
        os._exit(STOPPED)
    finally:
        _busy = False


def _bar(cells: int, runs: int) -> Any:
    from tqdm import tqdm

    what = "1 report" if runs == 1 else f"{runs} reports"
    return tqdm(total=cells, desc=what, unit="cell", leave=False, file=sys.stderr, disable=None)

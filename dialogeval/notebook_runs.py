"""One notebook run by papermill: cell by cell, quietly, with one clear line where it fails.

In: a notebook, where to put the executed one, the values of its parameters. Out: the executed notebook
on disk, also when a cell fails; a call after each cell for whoever shows progress. While it runs, the file
holds the cells so far: whoever wants a whole one only runs it where nobody looks.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from . import exceptions
from .exceptions import DialogevalError, ReportError

__all__ = ["CellFailed", "count_cells", "execute_notebook"]

#: Called after every cell.
AfterCell = Callable[[], None]


class CellFailed(ReportError):
    """A cell failed: the notebook up to there is on disk."""


def count_cells(path: str | os.PathLike[str]) -> int:
    """Return the number of cells that running a notebook goes through, the injected parameters included.

    Examples
    --------
    >>> from dialogeval.report import find_report
    >>> count_cells(find_report("generation")) > 20
    True
    """
    import nbformat

    return len(nbformat.read(path, as_version=4).cells) + 1


def execute_notebook(
    path: Path, target: Path, values: dict[str, Any], after_cell: AfterCell, kept: Path | None = None
) -> None:
    """Run a notebook with papermill and write the executed one.

    Parameters
    ----------
    path, target : pathlib.Path
    values : dict
        Parameters.
    after_cell : callable
    kept : pathlib.Path, optional
        Where whoever calls will put the notebook, for the message; ``target`` by default.

    Raises
    ------
    CellFailed
        The input was refused, or a cell is wrong; what was executed is written.
    ReportError
        The notebook, or what it writes, cannot be written.

    Examples
    --------
    >>> from dialogeval.report import find_report
    >>> execute_notebook(find_report("generation"), Path("no/such/folder/x.ipynb"), {}, lambda: None)
    Traceback (most recent call last):
    ...
    dialogeval.exceptions.ReportError: no/such/folder/x.ipynb: cannot be written (...)
    """
    import logging

    import papermill
    from papermill.exceptions import PapermillExecutionError

    logging.getLogger("papermill").setLevel(logging.ERROR)
    if not target.parent.is_dir():
        raise ReportError("cannot be written (no such folder)", file=target)
    try:
        with _quiet_kernel(), _engine(after_cell) as engine:
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
def _quiet_kernel() -> Iterator[None]:
    """Keep the kernel's own log off standard error: what a cell prints goes into the notebook anyway.

    A report that is started from a cell of an open notebook is no open notebook itself: without the
    session's name in its environment it shows pages, not widgets.
    """
    sys.stderr.flush()
    kept, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    session = os.environ.pop("JPY_SESSION_NAME", None)
    try:
        os.dup2(nowhere, 2)
        yield
    finally:
        if session is not None:
            os.environ["JPY_SESSION_NAME"] = session
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nowhere)

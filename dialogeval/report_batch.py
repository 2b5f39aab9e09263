"""Several reports in one call: systems and protocols spread over processes.

In: planned runs. Out: each run with what it wrote, or with the one line that says why it failed, as
soon as it is done. A failing report stops no other.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from multiprocessing import active_children, get_context
from pathlib import Path
from typing import Any

from .exceptions import DialogevalError, ReportError, UsageError
from .notebook_runs import count_cells
from .report import Run, carry_out

__all__ = ["run_batch"]

#: Cells done in all worker processes.
_done: Any = None


def run_batch(
    runs: Sequence[Run], jobs: int | None = None
) -> Iterator[tuple[Run, dict[str, Path], str | None]]:
    """Carry out several runs, each in a process of its own, and show on a terminal how far they are.

    Parameters
    ----------
    runs : sequence of Run
    jobs : int, optional
        Runs at a time; as many as there are processors by default.

    Yields
    ------
    run : Run
    written : dict of str to pathlib.Path
        Empty if it failed.
    failure : str or None
        One line.

    Raises
    ------
    UsageError
        Two runs would write into one folder, or ``jobs`` is not positive.

    Examples
    --------
    >>> list(run_batch([]))
    []
    """
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
    pool = ProcessPoolExecutor(most, context, _remember, (done,))
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
                child.terminate()
        pool.shutdown(cancel_futures=True)


def _lost(run: Run, error: BaseException) -> str:
    """Say what happened to a run whose process died (killed, out of memory)."""
    return str(
        ReportError(f"its process died ({type(error).__name__})", file=run.folder, mend="run it again")
    )


def _remember(done: Any) -> None:
    global _done
    _done = done


def _count() -> None:
    with _done.get_lock():
        _done.value += 1


def _work(run: Run) -> tuple[dict[str, Path], str | None]:
    try:
        return carry_out(run, _count), None
    except DialogevalError as error:
        return {}, str(error)


def _bar(cells: int, runs: int) -> Any:
    from tqdm import tqdm

    what = "1 report" if runs == 1 else f"{runs} reports"
    return tqdm(total=cells, desc=what, unit="cell", leave=False, file=sys.stderr, disable=None)

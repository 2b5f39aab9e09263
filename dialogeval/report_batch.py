"""Several reports in one call: systems and protocols spread over processes.

In: planned runs. Out: each run with what it wrote, or with the one line that says why it failed, as
soon as it is done. A failing report stops no other.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from contextlib import contextmanager
from multiprocessing import active_children, get_context, parent_process
from pathlib import Path
from threading import Thread, Timer
from time import monotonic
from typing import Any

from .exceptions import DialogevalError, ReportError, UsageError
from .notebook_runs import count_cells
from .report import Run, carry_out

__all__ = ["run_batch"]

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

"""Pieces counted on a Dask cluster: the same function on the same pieces, wherever it runs.

In: pieces, and the address of a scheduler or a client. Out: their counts as they come back, in any order.
Only a few pieces are under way at a time, so that this process holds no more of the file than that.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from itertools import islice
from typing import Any

from dialogeval import __version__
from dialogeval.exceptions import UsageError, show
from dialogeval.predictions.pieces import Piece
from dialogeval.scale.counts import Counts, Plan, count_piece

__all__ = ["LOCAL", "count_on_cluster"]

#: Stands for a cluster on this machine.
LOCAL = "local"
#: Seconds to wait for a scheduler.
PATIENCE = 10
#: Pieces under way for each worker: one that is counted, one that waits.
AHEAD = 2


def count_on_cluster(plan: Plan, pieces: Iterable[Piece], dask: Any) -> Iterator[Counts]:
    """Count pieces on the workers of a cluster."""
    with ExitStack() as stack:
        client = _client(dask, stack)
        workers = _workers(client)
        from distributed import CancelledError, KilledWorker, as_completed
        from distributed.comm import CommClosedError

        try:
            shared = client.scatter(plan, broadcast=True, hash=False)
        except TypeError as error:
            problem = f"protocol {getattr(plan.protocol, 'name', '')} cannot be sent to other processes"
            mend = "give its metrics functions of a module"
            raise UsageError(problem, got=str(error)[:120], mend=mend) from None
        waiting = iter(pieces)

        def submit(piece: Piece) -> Any:
            # A piece goes as data of its own: as an argument it would travel within the graph.
            return client.submit(count_piece, shared, client.scatter(piece, hash=False), pure=False)

        running = as_completed([submit(p) for p in islice(waiting, AHEAD * workers)])
        try:
            for future in running:
                yield future.result()
                future.release()
                for piece in islice(waiting, 1):
                    running.add(submit(piece))
        except (KilledWorker, CancelledError, CommClosedError) as error:
            problem = f"the Dask cluster gave up a piece ({type(error).__name__})"
            mend = "see the workers' logs; if memory ran out, choose fewer turns at once"
            raise UsageError(problem, file=plan.file, mend=mend) from None
        finally:
            client.cancel(list(running.futures))


def _client(dask: Any, stack: ExitStack) -> Any:
    """Return a client, and have what was started here closed at the end."""
    try:
        import distributed
    except ImportError:
        mend = "run: pip install 'dialogeval[dask]'"
        raise UsageError("Dask is not installed", mend=mend) from None
    # What goes wrong is said once, by us.
    logger = logging.getLogger("distributed")
    stack.callback(logger.setLevel, logger.level)
    logger.setLevel(logging.CRITICAL + 1)
    if isinstance(dask, distributed.Client):
        if dask.status != "running":
            raise UsageError("the Dask client is closed", mend="give an open one, or an address")
        return dask
    if dask == LOCAL:
        cluster = stack.enter_context(
            distributed.LocalCluster(threads_per_worker=1, dashboard_address=None, silence_logs=50)
        )
        return stack.enter_context(distributed.Client(cluster))
    if not isinstance(dask, str) or "://" not in dask:
        raise UsageError("dask", expected="local or an address such as tcp://host:8786", got=show(dask))
    try:
        return stack.enter_context(distributed.Client(dask, timeout=PATIENCE))
    except (OSError, TimeoutError, ValueError, ImportError, TypeError) as error:
        what = next(iter(str(error).splitlines()), "") or type(error).__name__
        mend = "start one with: dask scheduler, and workers with: dask worker ADDRESS"
        raise UsageError(f"no Dask scheduler answers at {dask[:80]} ({what[:120]})", mend=mend) from None


def _workers(client: Any) -> int:
    """Count the threads of the workers, and make sure that they run this version."""
    threads = client.nthreads()
    if not threads:
        raise UsageError("the Dask cluster has no workers", mend="start some with: dask worker ADDRESS")
    try:
        versions = set(client.run(_version).values())
    except ImportError as error:
        raise UsageError(
            f"a Dask worker lacks a module ({error})", mend=f"install dialogeval {__version__} there"
        ) from None
    if versions != {__version__}:
        got = ", ".join(sorted(versions))
        raise UsageError(
            "dialogeval on the Dask workers", expected=__version__, got=got, mend="install the same"
        )
    return sum(threads.values())


def _version() -> str:
    return __version__

"""The results store: one Parquet file that every report appends its numbers to.

In: what a report wrote as ``metrics.json``. Out: a row a score, with everything that is needed to
compare runs over time. Writers take turns by a lock, and the file is replaced as a whole: whoever
reads it sees the rows before or the rows after, and of two reports at once none is lost.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pandas as pd

from . import __version__
from .exceptions import DataFileError, ReportError
from .files import raw_bytes
from .parquet_file import parquet_table
from .writing import clear_parts, write_whole

__all__ = ["STORE", "append_results", "read_results", "result_rows"]

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
    """Return the rows of what a report wrote: one a system, protocol and score.

    Parameters
    ----------
    metrics : object
        Content of ``metrics.json``: what ``score --json`` prints, or any nesting of such objects.
    report : str
        Name of the report.
    time : datetime, optional
        Now by default; kept in UTC.

    Returns
    -------
    pandas.DataFrame
        Columns system, corpus, split, protocol, signature, metric, value, low, high (95 % interval),
        time, version, report.

    Examples
    --------
    >>> import dialogeval as de
    >>> gold = de.load_corpus("sample/crosswoz_en")
    >>> rows = result_rows(de.score(gold, gold, "lin2021", resamples=0).to_dict())
    >>> rows.loc[0, ["corpus", "split", "metric"]].tolist(), float(rows.loc[0, "value"])
    (['sample/crosswoz_en', 'test', 'joint_goal_accuracy'], 1.0)
    """
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
    """Append rows to the store of a folder; all of them or, if anything goes wrong, none.

    Parameters
    ----------
    folder : path-like
        Made where it does not exist.
    rows : pandas.DataFrame
        As `result_rows`.

    Returns
    -------
    pathlib.Path
        The store.

    Raises
    ------
    DataFileError
        The store that is there cannot be read; it is left as it is.
    ReportError
        The store cannot be written, or another writer holds it too long.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = append_results(folder, result_rows({}))
    ...     len(read_results(folder))
    0
    """
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

"""Parquet from files that nobody vouches for: read as a table, unless it would fill memory.

In: the bytes of a file. Out: a table of pyarrow, for predictions and for the results store.
"""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from typing import IO, Any

from .exceptions import DataFileError
from .files import MAX_BYTES, MAX_RATIO

__all__ = ["HARMLESS", "ROWS_AT_ONCE", "decoded", "parquet_source", "parquet_table", "sized_batches"]

#: A table up to this size is read however small its file is; and what a cell costs at least, as Python has it.
HARMLESS, _CELL = 1 << 26, 64
ROWS_AT_ONCE = 8192


def parquet_table(data: bytes, file: str | os.PathLike[str]) -> Any:
    """Read a Parquet file, but not one that unpacks to far more than its size.

    A value that a million rows share is stored once: neither the file nor its own account of its size
    tells what a table takes. So texts are read as they are stored, and rows a few thousand at a time.

    Parameters
    ----------
    data : bytes
        The file.
    file : path-like
        Its name, for messages.

    Returns
    -------
    pyarrow.Table
        Without the metadata of the file's schema.

    Raises
    ------
    DataFileError
        Past the limits of an archive; 64 MiB are always allowed.
    pyarrow.ArrowException, OSError, ValueError, OverflowError
        A file that is broken, for the caller to name.

    Examples
    --------
    >>> import pyarrow.parquet
    >>> buffer = io.BytesIO()
    >>> pyarrow.parquet.write_table(pyarrow.table({"turn": [0, 1]}), buffer)
    >>> parquet_table(buffer.getvalue(), "a.parquet")["turn"].to_pylist()
    [0, 1]
    """
    import pyarrow

    source = parquet_source(io.BytesIO(data))
    about = source.metadata
    limit = max(HARMLESS, min(MAX_BYTES, MAX_RATIO * len(data)))
    problem = f"unpacks to more than {limit:,} bytes in {about.num_rows:,} rows, past the limit"
    bomb = DataFileError(problem, file=file, mend="split the file")
    kept = [decoded(batch) for _, batch in sized_batches(source, ROWS_AT_ONCE, limit, bomb)]
    schema = kept[0].schema if kept else source.schema_arrow.remove_metadata()
    return pyarrow.Table.from_batches(kept, schema)


def parquet_source(stream: IO[bytes]) -> Any:
    """Open a Parquet file so that its texts are read as they are stored, each distinct one once.

    Returns
    -------
    pyarrow.parquet.ParquetFile

    Examples
    --------
    >>> parquet_source(io.BytesIO(b"no"))
    Traceback (most recent call last):
    ...
    pyarrow.lib.ArrowInvalid: ...
    """
    from pyarrow import parquet

    source = parquet.ParquetFile(stream, pre_buffer=False)
    leaves = [source.schema.column(i) for i in range(len(source.schema))]
    texts = [c.path for c in leaves if c.path == c.name and c.logical_type.type == "STRING"]
    stream.seek(0)
    return parquet.ParquetFile(stream, metadata=source.metadata, pre_buffer=False, read_dictionary=texts)


def sized_batches(source: Any, rows: int, limit: int, bomb: DataFileError) -> Iterator[tuple[int, Any]]:
    """Yield rows a few at a time, and the bytes that they take once they are `decoded`.

    Parameters
    ----------
    source : pyarrow.parquet.ParquetFile
        As `parquet_source` opens it.
    rows : int
        At a time.
    limit : int
        Bytes that all rows may take.
    bomb : DataFileError
        Raised past the limit.

    Yields
    ------
    tuple of int and pyarrow.RecordBatch

    Examples
    --------
    >>> import pyarrow.parquet
    >>> buffer = io.BytesIO()
    >>> pyarrow.parquet.write_table(pyarrow.table({"a": ["xx", "xx"]}), buffer)
    >>> [size for size, _ in sized_batches(parquet_source(buffer), 10, 1000, DataFileError("big"))]
    [4]
    """
    taken = _CELL * source.metadata.num_rows * source.metadata.num_columns
    if taken > limit:
        raise bomb
    for batch in source.iter_batches(rows):
        size = sum(_decoded_bytes(column) for column in batch.columns)
        taken += size
        if taken > limit:
            raise bomb
        yield size, batch


def decoded(batch: Any) -> Any:
    """Return a batch with its texts written out.

    Examples
    --------
    >>> import pyarrow
    >>> codes = pyarrow.array(["xx", "xx"]).dictionary_encode()
    >>> decoded(pyarrow.record_batch({"a": codes}))["a"].to_pylist()
    ['xx', 'xx']
    """
    import pyarrow

    plain = [c.dictionary_decode() if pyarrow.types.is_dictionary(c.type) else c for c in batch.columns]
    return pyarrow.RecordBatch.from_arrays(plain, names=batch.schema.names)


def _decoded_bytes(column: Any) -> int:
    """What a column takes when every row has its own copy of its value."""
    import pyarrow
    from pyarrow import compute

    if not (pyarrow.types.is_dictionary(column.type) and pyarrow.types.is_string(column.type.value_type)):
        return column.nbytes
    return compute.sum(compute.take(compute.binary_length(column.dictionary), column.indices)).as_py() or 0

"""Parquet from files that nobody vouches for: read as a table, unless it would fill memory.

In: the bytes of a file. Out: a table of pyarrow, for predictions and for the results store.
"""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from typing import IO, Any

from dialogeval.exceptions import DataFileError
from dialogeval.files import MAX_BYTES, MAX_RATIO

__all__ = ["HARMLESS", "ROWS_AT_ONCE", "decoded", "parquet_source", "parquet_table", "sized_batches"]

#: A table up to this size is read however small its file is; and what a cell costs at least, as Python has it.
HARMLESS, _CELL = 1 << 26, 64
ROWS_AT_ONCE = 8192


def parquet_table(data: bytes, file: str | os.PathLike[str]) -> Any:
    """Read a Parquet file, but not one that unpacks to far more than its size."""
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
    """Open a Parquet file so that its texts are read as they are stored, each distinct one once."""
    from pyarrow import parquet

    source = parquet.ParquetFile(stream, pre_buffer=False)
    leaves = [source.schema.column(i) for i in range(len(source.schema))]
    texts = [c.path for c in leaves if c.path == c.name and c.logical_type.type == "STRING"]
    stream.seek(0)
    return parquet.ParquetFile(stream, metadata=source.metadata, pre_buffer=False, read_dictionary=texts)


def sized_batches(source: Any, rows: int, limit: int, bomb: DataFileError) -> Iterator[tuple[int, Any]]:
    """Yield rows a few at a time, and the bytes that they take once they are `decoded`."""
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
    """Return a batch with its texts written out."""
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

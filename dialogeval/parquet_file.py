"""Parquet from files that nobody vouches for: read as a table, unless it would fill memory.

In: the bytes of a file. Out: a table of pyarrow, for predictions and for the results store.
"""

from __future__ import annotations

import io
import os
from typing import Any

from dialogeval.exceptions import DataFileError
from dialogeval.files import MAX_BYTES, MAX_RATIO

__all__ = ["parquet_table"]

#: A table up to this size is read however small its file is; and what a cell costs at least, as Python has it.
_HARMLESS, _CELL = 1 << 26, 64


def parquet_table(data: bytes, file: str | os.PathLike[str]) -> Any:
    """Read a Parquet file, but not one that unpacks to far more than its size."""
    import pyarrow
    from pyarrow import parquet

    # Texts as they are stored, each distinct one once: only so can a bomb be measured before it goes off.
    about = parquet.ParquetFile(io.BytesIO(data), pre_buffer=False)
    leaves = [about.schema.column(i) for i in range(len(about.schema))]
    texts = [c.path for c in leaves if c.path == c.name and c.logical_type.type == "STRING"]
    source = parquet.ParquetFile(io.BytesIO(data), pre_buffer=False, read_dictionary=texts)
    limit = max(_HARMLESS, min(MAX_BYTES, MAX_RATIO * len(data)))
    taken, kept = _CELL * source.metadata.num_rows * source.metadata.num_columns, []
    for batch in source.iter_batches(8192):
        taken += sum(map(_size, batch.columns))
        if taken > limit:
            problem = (
                f"unpacks to more than {limit:,} bytes in {source.metadata.num_rows:,} rows, past the limit"
            )
            raise DataFileError(problem, file=file, mend="split the file")
        written = [c.dictionary_decode() if pyarrow.types.is_dictionary(c.type) else c for c in batch.columns]
        kept.append(pyarrow.RecordBatch.from_arrays(written, names=batch.schema.names))
    schema = kept[0].schema if kept else about.schema_arrow.remove_metadata()
    return pyarrow.Table.from_batches(kept, schema)


def _size(column: Any) -> int:
    """What a column takes when every row has its own copy of its value."""
    import pyarrow
    from pyarrow import compute

    if not (pyarrow.types.is_dictionary(column.type) and pyarrow.types.is_string(column.type.value_type)):
        return column.nbytes
    return compute.sum(compute.take(compute.binary_length(column.dictionary), column.indices)).as_py() or 0

"""A prediction file in pieces of whole dialogues, for files that are too large to be read at once.

In: a file of JSON lines or Parquet. Out: pieces, each a small file of the same format in memory with the
number of its first line or row, so that what reads a whole file reads a piece as well. Nothing is
parsed here but what tells where a dialogue ends.
"""

from __future__ import annotations

import gzip
import io
import os
import stat
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO, Any

from dialogeval.exceptions import DataFileError, DialogevalError, PredictionError, UsageError, few, show
from dialogeval.files import MAX_RATIO, open_file, unreadable
from dialogeval.parquet_file import HARMLESS, ROWS_AT_ONCE, decoded, parquet_source, sized_batches
from dialogeval.strict_json import parse_json
from dialogeval.tables import canonical_id

__all__ = ["LARGE", "Piece", "can_be_cut", "pieces_of"]

#: Bytes past which a line is no line of a turn.
MAX_LINE = 64 * 1024**2
#: Bytes past which some thousand rows of Parquet are no turns.
_MAX_BATCH = 512 * 1024**2
#: Bytes past which the command line reads a file in pieces by itself.
LARGE = 256 * 1024**2
_MEND = "convert it with dialogeval convert --to turns (or --to pairs), or read it whole"


@dataclass(frozen=True)
class Piece:
    """Some whole dialogues of a file."""

    number: int
    first: int
    rows: int
    data: bytes


def pieces_of(path: str | os.PathLike[str], turns_at_once: int) -> Iterator[Piece]:
    """Cut a file of predictions into pieces."""
    if not isinstance(turns_at_once, int) or isinstance(turns_at_once, bool) or turns_at_once < 1:
        raise UsageError("turns_at_once", expected="a whole number from 1", got=show(turns_at_once))
    empty = True
    try:
        with _opened(path) as stream:
            for number, (first, rows, data) in enumerate(_parts(stream, path, turns_at_once)):
                empty = False
                yield Piece(number, first, rows, data)
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise DataFileError(f"broken gzip file ({error})", file=path, mend="compress it again") from None
    except OSError as error:
        raise unreadable(path, error) from None
    if empty:
        raise DataFileError("is empty", file=path)


def _parts(
    stream: IO[bytes], path: str | os.PathLike[str], turns_at_once: int
) -> Iterator[tuple[int, int, bytes]]:
    if stream.peek(4)[:4] != b"PAR1":  # type: ignore[attr-defined]
        return _lines(stream, path, turns_at_once)
    if not stream.seekable():
        problem = "Parquet in an archive or a pipe cannot be read in pieces"
        raise UsageError(problem, file=path, mend="give the file itself")
    return _parquet(stream, path, turns_at_once)


def can_be_cut(path: str | os.PathLike[str]) -> bool:
    """Tell from its beginning whether a file is one that `pieces_of` takes."""
    try:
        with _opened(path) as stream:
            if stream.peek(4)[:4] == b"PAR1":  # type: ignore[attr-defined]
                return stream.seekable()
            return _is_turn(_row(stream.readline(MAX_LINE)))
    except (DialogevalError, OSError, EOFError, zlib.error):
        return False


@contextmanager
def _opened(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """Open a file as a stream of its unpacked bytes."""
    with open_file(path) as raw:
        head = raw.peek(4)[:4]
        if head == b"PK\x03\x04":
            raise UsageError("a zip archive cannot be read in pieces", file=path, mend="unpack it")
        if head[:2] != b"\x1f\x8b":
            yield raw
            return
        about = os.fstat(raw.fileno())
        if not stat.S_ISREG(about.st_mode):
            raise UsageError("gzip from a pipe cannot be read in pieces", file=path, mend="unpack it")
        with gzip.open(raw) as packed:
            yield io.BufferedReader(_Limited(packed, path, about.st_size))  # type: ignore[type-var]


class _Limited(io.RawIOBase):
    """A stream of unpacked bytes that stops a bomb: far more bytes than the archive has are refused."""

    def __init__(self, stream: Any, path: str | os.PathLike[str], size: int) -> None:
        self.stream, self.path, self.left = stream, path, MAX_RATIO * max(size, 4096)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self.stream.read(len(buffer))
        self.left -= len(data)
        if self.left < 0:
            raise DataFileError(
                f"unpacks to more than {MAX_RATIO} times its size",
                file=self.path,
                mend="give the unpacked file",
            )
        buffer[: len(data)] = data
        return len(data)


def _lines(
    stream: IO[bytes], path: str | os.PathLike[str], turns_at_once: int
) -> Iterator[tuple[int, int, bytes]]:
    """Cut JSON lines where the dialogue changes."""
    lines: list[bytes] = []
    first, turns, last = 1, 0, b""
    for line in _short_lines(stream, path):
        # Blank lines are no turns; they stay, so that what follows keeps its line.
        if line.strip():
            if not last:
                _require_lines(line, path)
            if turns >= turns_at_once and _changes(last, line):
                yield first, turns, b"".join(lines)
                first, turns, lines = first + len(lines), 0, []
            turns, last = turns + 1, line
        lines.append(line)
    if turns:
        yield first, turns, b"".join(lines)


def _changes(last: bytes, line: bytes) -> bool:
    """Whether a dialogue ends between two lines; what is no turn is left to the reader, which refuses it."""
    dialogues = [_row(text).get("dialogue_id") for text in (last, line)]
    return None in dialogues or canonical_id(dialogues[0]) != canonical_id(dialogues[1])


def _row(line: bytes) -> dict[str, Any]:
    try:
        row = parse_json(line, "", keys="unchecked", surrogates="keep")
    except DialogevalError:
        return {}
    return row if isinstance(row, dict) else {}


def _is_turn(row: dict[str, Any]) -> bool:
    return {"dialogue_id", "turn"} <= row.keys()


def _short_lines(stream: IO[bytes], path: str | os.PathLike[str]) -> Iterator[bytes]:
    number = 0
    while line := stream.readline(MAX_LINE + 1):
        number += 1
        line = line.removeprefix(b"\xef\xbb\xbf") if number == 1 else line
        if len(line) > MAX_LINE:
            problem = f"line {number} is longer than {MAX_LINE:,} bytes"
            raise DataFileError(problem, file=path, expected="JSON lines, one a turn", mend=_MEND)
        yield line


def _require_lines(line: bytes, path: str | os.PathLike[str]) -> None:
    """Refuse a file that is no JSON lines; of a first line that is broken, the reader says how."""
    row = _row(line)
    broken = not row and line.startswith(b"{") and line.strip() != b"{"
    if not _is_turn(row) and not broken:
        raise UsageError(
            "cannot be read in pieces",
            file=path,
            expected="JSON lines with dialogue_id and turn, or Parquet",
            got=show(line[:60].decode("utf-8", "replace").strip()),
            mend=_MEND,
        )


def _parquet(
    stream: IO[bytes], path: str | os.PathLike[str], turns_at_once: int
) -> Iterator[tuple[int, int, bytes]]:
    """Cut a Parquet file where the dialogue changes."""
    import pyarrow

    first, held = 1, None
    try:
        for batch in _batches(stream, path, turns_at_once):
            held = pyarrow.concat_tables([held, batch]) if held is not None else batch
            if len(held) < turns_at_once:
                continue
            ids = [i if i is None else canonical_id(i) for i in held["dialogue_id"].to_pylist()]
            # Of the last dialogue more may follow: its rows wait for the next batch.
            keep = next((i for i in range(len(ids), 0, -1) if ids[i - 1] != ids[-1]), 0)
            if keep >= turns_at_once:
                yield first, keep, _written(held.slice(0, keep))
                first += keep
                held = held.slice(keep)
        if held is not None and len(held):
            yield first, len(held), _written(held)
    except (pyarrow.ArrowException, OSError, ValueError, OverflowError) as error:
        line = next(iter(str(error).splitlines()), type(error).__name__)
        raise DataFileError(f"broken Parquet ({line[:300]})", file=path) from None


def _batches(stream: IO[bytes], path: str | os.PathLike[str], rows: int) -> Iterator[Any]:
    import pyarrow

    source = parquet_source(stream)
    names = source.schema_arrow.names
    for column in ("dialogue_id", "turn"):
        if names.count(column) != 1:
            problem = f"column {column} stands twice" if column in names else f"no column {column}"
            raise PredictionError(problem, file=path, got=f"the columns {few(names, most=20)}")
    limit = max(HARMLESS, MAX_RATIO * os.fstat(stream.fileno()).st_size)
    bomb = DataFileError(f"unpacks to more than {MAX_RATIO} times its size", file=path, mend="split the file")
    for size, batch in sized_batches(source, min(rows, ROWS_AT_ONCE), limit, bomb):
        if size > _MAX_BATCH:
            problem = f"{len(batch):,} rows unpack to {size:,} bytes, past the limit of {_MAX_BATCH:,}"
            raise DataFileError(problem, file=path, expected="rows of turns")
        yield pyarrow.Table.from_batches([decoded(batch)])


def _written(table: Any) -> bytes:
    from pyarrow import parquet

    out = io.BytesIO()
    # As large as what it holds, so that the reader does not take it for a bomb.
    parquet.write_table(table, out, compression="none", use_dictionary=False)
    return out.getvalue()

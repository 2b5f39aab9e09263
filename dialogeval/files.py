"""Reading files: a path in, unpacked bytes out.

Everything that comes from disk passes here, so that a missing, broken, truncated, badly encoded
or oversized file is answered with the same clear line whatever reader asked for it. Archives are
read in memory and never extracted; those that hold an archive, a link, a name that leads out of
the folder, or far more than their size are refused.
"""

from __future__ import annotations

import gc
import gzip
import io
import lzma
import os
import stat
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from dialogeval.exceptions import DataFileError
from dialogeval.strict_json import parse_json

__all__ = ["MAX_BYTES", "MAX_RATIO", "collection_paused", "open_data", "parse_json", "raw_bytes", "read_bytes",
           "unpack", "zip_members"]  # fmt: skip

#: Uncompressed size past which a file is refused: ten times the largest corpus of the catalog.
MAX_BYTES = 2 * 1024**3
#: Times its compressed size past which an archive is taken for a bomb (real corpora: about 30).
MAX_RATIO = 200
#: Files past which an archive is no corpus.
MAX_MEMBERS = 10_000

_BLOCK = 1 << 22
_DATA = (".json", ".jsonl", ".csv", ".tsv", ".parquet", ".txt")
_SPLITS = ("train", "val", "dev", "valid", "validation", "test")
_BROKEN = (zipfile.BadZipFile, zlib.error, lzma.LZMAError, struct.error, EOFError, IndexError, OSError,
           RuntimeError, ValueError)  # fmt: skip


def read_bytes(path: str | os.PathLike[str]) -> bytes:
    """Return the content of a file; ``.gz`` and one-file ``.zip`` are unpacked in memory."""
    return unpack(raw_bytes(path), path)


def raw_bytes(path: str | os.PathLike[str]) -> bytes:
    """Return the content of a file as it lies on disk."""
    with _opened(path) as stream:
        return _all_of(stream, MAX_BYTES, path)


def open_data(path: str | os.PathLike[str]) -> io.BufferedReader:
    """Open a file as a stream of its unpacked bytes; gzip is unpacked as one reads."""
    raw = _opened(path)
    head = raw.peek(4)[:4]
    if head[:2] == b"\x1f\x8b" and stat.S_ISREG(os.fstat(raw.fileno()).st_mode):
        limit = _limit(os.fstat(raw.fileno()).st_size)
        return io.BufferedReader(_Limited(gzip.open(raw), limit, path), _BLOCK)  # type: ignore[type-var]
    if head[:2] in (b"PK", b"\x1f\x8b", b"ve") or str(path).lower().endswith((".gz", ".zip")) or not head:
        with raw:
            return io.BufferedReader(io.BytesIO(unpack(_all_of(raw, MAX_BYTES, path), path)))  # type: ignore[arg-type]
    return io.BufferedReader(_Limited(raw, MAX_BYTES, path), _BLOCK)  # type: ignore[type-var]


class _Limited(io.RawIOBase):
    """A stream that ends with an error past a limit, so that a bomb does not go off."""

    def __init__(self, stream: Any, limit: int, path: str | os.PathLike[str]) -> None:
        self.stream, self.limit, self.left, self.path = stream, limit, limit, path

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        try:
            data = self.stream.read(len(buffer))
        except (EOFError, zlib.error, OSError) as error:
            raise _gzip(error, self.path) from None
        if self.left == self.limit:
            _refuse_archive(data, self.path)
        self.left -= len(data)
        if self.left < 0:
            raise _too_large(self.limit, self.path)
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        self.stream.close()
        super().close()


def _opened(path: str | os.PathLike[str]) -> io.BufferedReader:
    """Open a file or a pipe, to be read as it lies on disk."""
    path = Path(path)
    try:
        mode = path.stat().st_mode
        if not (stat.S_ISREG(mode) or stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)):
            raise DataFileError(
                f"is a {'folder' if stat.S_ISDIR(mode) else 'device'}", file=path, expected="a file"
            )
        if path.stat().st_size > MAX_BYTES:
            raise DataFileError(
                f"{path.stat().st_size:,} bytes are past the limit of {MAX_BYTES:,}", file=path
            )
        return path.open("rb")
    except FileNotFoundError:
        raise DataFileError("no such file", file=path, mend="check the path") from None
    except OSError as error:
        raise DataFileError(f"cannot be read ({error.strerror or error})", file=path) from None
    except ValueError as error:  # a path with a NUL character
        raise DataFileError(f"is not a path ({error})", file=repr(str(path))) from None


def unpack(data: bytes, file: str | os.PathLike[str]) -> bytes:
    """Undo gzip or a one-member zip, recognised from the first bytes rather than the name."""
    if data[:2] == b"\x1f\x8b":
        try:
            with gzip.open(io.BytesIO(data)) as stream:
                data = _all_of(stream, _limit(len(data)), file)
        except (OSError, EOFError, zlib.error, struct.error, ValueError) as error:
            raise _gzip(error, file) from None
        _refuse_archive(data, file)
    elif data[:4] in (b"PK\x03\x04", b"PK\x05\x06") or (data and str(file).lower().endswith(".zip")):
        members = zip_members(data, file)
        names = [n for n in members if n.lower().endswith(_DATA)] or list(members)
        if len(names) != 1:
            raise DataFileError(f"zip holds {len(names)} files", file=file, expected="exactly one data file")
        outer, inner = (Path(n).name.split(".")[0].lower() for n in (file, names[0]))
        if outer != inner and outer in _SPLITS and inner in _SPLITS:
            raise DataFileError(f"zip holds {Path(names[0]).name}", file=file, expected=f"split {outer}")
        data = members[names[0]]()
    elif data and str(file).lower().endswith(".gz"):
        raise _gzip(ValueError("it does not begin like one"), file)
    if not data.removeprefix(b"\xef\xbb\xbf").strip():
        raise DataFileError("is empty", file=file)
    if data.startswith(b"version https://git-lfs."):
        raise DataFileError(
            "is a pointer of Git LFS", file=file, expected="the file", mend="run: git lfs pull"
        )
    return data


def _limit(size: int) -> int:
    return min(MAX_BYTES, MAX_RATIO * max(size, 4096))


def _all_of(stream: Any, limit: int, where: str | os.PathLike[str]) -> bytes:
    """Read block by block, a little further than the limit at most."""
    out = io.BytesIO()
    try:
        while out.tell() <= limit and (block := stream.read(_BLOCK)):
            out.write(block)
    except OSError as error:
        if isinstance(error, gzip.BadGzipFile):
            raise
        raise DataFileError(f"cannot be read ({error.strerror or error})", file=where) from None
    if out.tell() > limit:
        raise _too_large(limit, where)
    return out.getvalue()


def _gzip(error: Exception, where: str | os.PathLike[str]) -> DataFileError:
    return DataFileError(f"broken gzip file ({error})", file=where, mend="compress it again")


def _too_large(limit: int, where: str | os.PathLike[str]) -> DataFileError:
    most = f"{MAX_BYTES:,} bytes" if limit == MAX_BYTES else f"{MAX_RATIO} times its size"
    return DataFileError(f"unpacks to more than {most}", file=where, mend="give the unpacked file")


def _refuse_archive(data: bytes, where: str | os.PathLike[str]) -> None:
    if data[:2] == b"\x1f\x8b" or data[:4] == b"PK\x03\x04":
        raise DataFileError("holds an archive in an archive", file=where, mend="unpack it once")


def zip_members(data: bytes, file: str | os.PathLike[str]) -> dict[str, Callable[[], bytes]]:
    """Return the files of a zip archive as functions that read them in memory."""
    try:
        archive = zipfile.ZipFile(io.BytesIO(data))
    except _BROKEN as error:
        raise DataFileError(f"broken zip file ({error})", file=file, mend="download it again") from None

    def read(info: zipfile.ZipInfo) -> bytes:
        where, limit = f"{file}:{info.filename}", _limit(min(info.compress_size, len(data)))
        if stat.S_ISLNK(info.external_attr >> 16):
            raise DataFileError("is a link", file=where, expected="a file")
        if info.flag_bits & 1:
            raise DataFileError("is encrypted", file=where, mend="save it without a password")
        if info.file_size > limit:
            raise DataFileError(f"unpacks to {info.file_size:,} bytes, past the limit", file=where)
        try:
            with archive.open(info) as stream:
                content = stream.read(limit + 1)
        except _BROKEN as error:
            raise DataFileError(f"broken zip file ({error})", file=where, mend="download it again") from None
        _refuse_archive(content, where)
        return content

    infos = [
        i
        for i in archive.infolist()
        if not i.filename.endswith("/") and not i.filename.startswith("__MACOSX/")
    ]
    if len(infos) > MAX_MEMBERS:
        raise DataFileError(f"zip holds {len(infos):,} files, past the limit of {MAX_MEMBERS:,}", file=file)
    members: dict[str, Callable[[], bytes]] = {}
    for info in infos:
        parts, shown = info.filename.replace("\\", "/").split("/"), f"{info.filename[:60]!r}"
        if ".." in parts or not parts[0] or parts[0][1:2] == ":":
            raise DataFileError(f"zip holds the name {shown}, which leads out of its folder", file=file)
        if info.filename in members:
            raise DataFileError(f"zip holds {shown} twice", file=file, mend="keep one of them")
        members[info.filename] = lambda info=info: read(info)  # type: ignore[misc]
    return members


@contextmanager
def collection_paused() -> Iterator[None]:
    """Pause garbage collection: a parsed file is a million small objects without cycles."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()

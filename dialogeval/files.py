"""Reading files: bytes in, unpacked bytes out; `parse_json` of `dialogeval.strict_json` is offered beside.

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

from dialogeval.exceptions import DataFileError
from dialogeval.strict_json import parse_json, read_json_lines

__all__ = [
    "MAX_BYTES",
    "collection_paused",
    "open_file",
    "parse_json",
    "raw_bytes",
    "read_bytes",
    "read_json_lines",
    "unpack",
    "unreadable",
    "zip_members",
]

#: Uncompressed size past which a file is refused: ten times the largest corpus of the catalog.
MAX_BYTES = 2 * 1024**3
#: Times its compressed size past which an archive is taken for a bomb (real corpora: about 30).
MAX_RATIO = 200
#: Files past which an archive is no corpus.
MAX_MEMBERS = 10_000

_BLOCK = 1 << 22
_DATA = (".json", ".jsonl", ".csv", ".parquet")
_SPLITS = ("train", "val", "dev", "valid", "validation", "test")
_ZIP_ERRORS = (
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    struct.error,
    EOFError,
    IndexError,
    OSError,
    RuntimeError,
    ValueError,
)


def read_bytes(path: str | os.PathLike[str]) -> bytes:
    """Return the content of a file; ``.gz`` and one-file ``.zip`` are unpacked in memory."""
    return unpack(raw_bytes(path), path)


def raw_bytes(path: str | os.PathLike[str]) -> bytes:
    """Return the content of a file as it lies on disk."""
    with open_file(path) as stream:
        about = os.fstat(stream.fileno())
        if about.st_size > MAX_BYTES:
            raise DataFileError(f"{about.st_size:,} bytes are past the limit of {MAX_BYTES:,}", file=path)
        try:
            data = stream.read() if stat.S_ISREG(about.st_mode) else _read_some(stream, MAX_BYTES)
        except OSError as error:
            raise unreadable(path, error) from None
    if len(data) > MAX_BYTES:
        raise DataFileError(f"more than {MAX_BYTES:,} bytes, past the limit", file=path)
    return data


def open_file(path: str | os.PathLike[str]) -> io.BufferedReader:
    """Open a file or a pipe, to be read as it lies on disk."""
    path = Path(path)
    try:
        mode = path.stat().st_mode
        for kind, test in (("folder", stat.S_ISDIR), ("device", stat.S_ISCHR), ("device", stat.S_ISBLK)):
            if test(mode):
                raise DataFileError(f"is a {kind}", file=path, expected="a file")
        return path.open("rb")
    except FileNotFoundError:
        raise DataFileError("no such file", file=path, mend="check the path") from None
    except OSError as error:
        raise unreadable(path, error) from None
    except ValueError as error:  # a path with a NUL character
        raise DataFileError(f"is not a path ({error})", file=repr(str(path))) from None


def unreadable(path: str | os.PathLike[str], error: OSError) -> DataFileError:
    """Return our error for one of the system."""
    return DataFileError(f"cannot be read ({error.strerror or error})", file=path)


def unpack(data: bytes, file: str | os.PathLike[str]) -> bytes:
    """Undo gzip or a one-member zip, recognised from the first bytes rather than the name."""
    if not data:
        raise DataFileError("is empty", file=file)
    if data[:2] == b"\x1f\x8b":
        limit = _limit(len(data))
        try:
            with gzip.open(io.BytesIO(data)) as stream:
                data = _read_some(stream, limit)
        except (OSError, EOFError, zlib.error, struct.error, ValueError) as error:
            raise DataFileError(f"broken gzip file ({error})", file=file, mend="compress it again") from None
        _check_content(data, limit, file)
    elif data[:4] in (b"PK\x03\x04", b"PK\x05\x06") or str(file).lower().endswith(".zip"):
        members = zip_members(data, file)
        names = [n for n in members if n.lower().endswith(_DATA)] or list(members)
        if len(names) != 1:
            raise DataFileError(f"zip holds {len(names)} files", file=file, expected="exactly one data file")
        outer, inner = (Path(n).name.split(".")[0].lower() for n in (file, names[0]))
        if outer != inner and outer in _SPLITS and inner in _SPLITS:
            raise DataFileError(f"zip holds {Path(names[0]).name}", file=file, expected=f"split {outer}")
        data = members[names[0]]()
    elif str(file).lower().endswith(".gz"):
        problem = "broken gzip file (it does not begin like one)"
        raise DataFileError(problem, file=file, mend="compress it again")
    if not data.removeprefix(b"\xef\xbb\xbf").strip():
        raise DataFileError("is empty", file=file)
    if data.startswith(b"version https://git-lfs."):
        raise DataFileError(
            "is a pointer of Git LFS", file=file, expected="the file", mend="run: git lfs pull"
        )
    return data


def _limit(size: int) -> int:
    return min(MAX_BYTES, MAX_RATIO * max(size, 4096))


def _read_some(stream: io.BufferedIOBase | gzip.GzipFile, limit: int) -> bytes:
    """Read block by block, a little further than the limit at most, so that a bomb does not go off."""
    out = io.BytesIO()
    while out.tell() <= limit and (block := stream.read(_BLOCK)):
        out.write(block)
    return out.getvalue()


def _check_content(data: bytes, limit: int, where: str | os.PathLike[str]) -> None:
    if len(data) > limit:
        most = f"{MAX_BYTES:,} bytes" if limit == MAX_BYTES else f"{MAX_RATIO} times its size"
        raise DataFileError(f"unpacks to more than {most}", file=where, mend="give the unpacked file")
    if data[:2] == b"\x1f\x8b" or data[:4] == b"PK\x03\x04":
        raise DataFileError("holds an archive in an archive", file=where, mend="unpack it once")


def zip_members(data: bytes, file: str | os.PathLike[str]) -> dict[str, Callable[[], bytes]]:
    """Return the files of a zip archive as functions that read them in memory."""
    try:
        archive = zipfile.ZipFile(io.BytesIO(data))
    except _ZIP_ERRORS as error:
        raise DataFileError(f"broken zip file ({error})", file=file, mend="download it again") from None

    def reader(info: zipfile.ZipInfo) -> Callable[[], bytes]:
        def read() -> bytes:
            where, limit = f"{file}:{info.filename}", _limit(min(info.compress_size, len(data)))
            if stat.S_ISLNK(info.external_attr >> 16):
                raise DataFileError("is a link", file=where, expected="a file")
            if info.flag_bits & 1:
                raise DataFileError("is encrypted", file=where, mend="save it without a password")
            if info.file_size > limit:
                raise DataFileError(f"unpacks to {info.file_size:,} bytes, past the limit", file=where)
            try:
                with archive.open(info) as stream:
                    content = stream.read()
            except _ZIP_ERRORS as error:
                raise DataFileError(
                    f"broken zip file ({error})", file=where, mend="download it again"
                ) from None
            _check_content(content, limit, where)
            return content

        return read

    infos = [
        i
        for i in archive.infolist()
        if not i.filename.endswith("/") and not i.filename.startswith("__MACOSX/")
    ]
    if len(infos) > MAX_MEMBERS:
        raise DataFileError(f"zip holds {len(infos):,} files, past the limit of {MAX_MEMBERS:,}", file=file)
    members: dict[str, Callable[[], bytes]] = {}
    for info in infos:
        parts = info.filename.replace("\\", "/").split("/")
        if ".." in parts or not parts[0] or parts[0][1:2] == ":":
            raise DataFileError(
                f"zip holds the name {info.filename[:60]!r}, which leads out of its folder", file=file
            )
        if info.filename in members:
            raise DataFileError(f"zip holds {info.filename[:60]!r} twice", file=file, mend="keep one of them")
        members[info.filename] = reader(info)
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

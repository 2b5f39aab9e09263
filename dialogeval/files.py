"""Reading files: bytes in, checked JSON out.

Everything that comes from disk passes here, so that a missing, broken, truncated, badly encoded
or oversized file is answered with the same clear line whatever reader asked for it. Archives are
read in memory and never extracted.
"""

from __future__ import annotations

import gc
import gzip
import io
import json
import os
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import orjson

from .exceptions import DataFileError

__all__ = [
    "MAX_BYTES",
    "collection_paused",
    "parse_json",
    "read_bytes",
    "read_json_lines",
    "unpack",
    "zip_members",
]

#: Uncompressed size past which a file is refused: ten times the largest corpus of the catalog.
MAX_BYTES = 2 * 1024**3
#: Compression ratio past which an archive member is taken for a bomb (real corpora: about 30).
MAX_RATIO = 1000


def read_bytes(path: str | os.PathLike[str]) -> bytes:
    """Return the content of a file; ``.gz`` and one-file ``.zip`` are unpacked in memory.

    Parameters
    ----------
    path : path-like
        File to read.

    Returns
    -------
    bytes
        Never empty.

    Raises
    ------
    DataFileError
        Missing file, folder, no permission, empty, broken archive, too large.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> f = pathlib.Path(tempfile.mkdtemp(), "a.json"); _ = f.write_text("{}")
    >>> read_bytes(f)
    b'{}'
    """
    path = Path(path)
    try:
        size = path.stat().st_size
        if path.is_dir():
            raise DataFileError("is a folder", file=path, expected="a file")
        if size > MAX_BYTES:
            raise DataFileError(f"{size:,} bytes are past the limit of {MAX_BYTES:,}", file=path)
        data = path.read_bytes()
    except FileNotFoundError:
        raise DataFileError("no such file", file=path, mend="check the path") from None
    except OSError as error:
        raise DataFileError(f"cannot be read ({error.strerror or error})", file=path) from None
    except ValueError as error:  # a path with a NUL character
        raise DataFileError(f"is not a path ({error})", file=repr(str(path))) from None
    return unpack(data, path)


def unpack(data: bytes, file: str | os.PathLike[str]) -> bytes:
    """Undo gzip or a one-member zip, recognised from the first bytes rather than the name.

    Parameters
    ----------
    data : bytes
        Content of the file.
    file : path-like
        Its name, for messages.

    Returns
    -------
    bytes
        The uncompressed content, never empty.

    Raises
    ------
    DataFileError
        Empty or broken content, an archive of several files, more than `MAX_BYTES`.

    Examples
    --------
    >>> unpack(gzip.compress(b"[]"), "a.json.gz")
    b'[]'
    """
    if data[:2] == b"\x1f\x8b":
        try:
            with gzip.open(io.BytesIO(data)) as stream:
                data = stream.read(MAX_BYTES + 1)
        except (OSError, EOFError, zlib.error) as error:
            raise DataFileError(f"broken gzip file ({error})", file=file, mend="compress it again") from None
        if len(data) > MAX_BYTES:
            raise DataFileError(f"unpacks to more than {MAX_BYTES:,} bytes", file=file)
    elif data[:4] in (b"PK\x03\x04", b"PK\x05\x06") or str(file).endswith(".zip"):
        members = zip_members(data, file)
        names = [n for n in members if n.endswith((".json", ".jsonl", ".csv", ".parquet"))] or list(members)
        if len(names) != 1:
            raise DataFileError(f"zip holds {len(names)} files", file=file, expected="exactly one data file")
        data = members[names[0]]()
    elif str(file).endswith(".gz"):
        what = "broken gzip file (it does not begin like one)" if data else "is empty"
        raise DataFileError(what, file=file, mend="compress it again")
    if not data.strip():
        raise DataFileError("is empty", file=file)
    return data


def zip_members(data: bytes, file: str | os.PathLike[str]) -> dict[str, Callable[[], bytes]]:
    """Return the files of a zip archive as functions that read them in memory.

    Parameters
    ----------
    data : bytes
        The archive.
    file : path-like
        Its name, for messages.

    Returns
    -------
    dict of str to callable
        Member name to a function without arguments that returns its bytes. Nothing is written to
        disk, so a member's name can do no harm; folders and macOS metadata are left out.

    Raises
    ------
    DataFileError
        Not a zip file, or (when a member is read) broken, encrypted or past the size limits.

    Examples
    --------
    >>> buffer = io.BytesIO()
    >>> with zipfile.ZipFile(buffer, "w") as z: z.writestr("a.json", "{}")
    >>> zip_members(buffer.getvalue(), "a.zip")["a.json"]()
    b'{}'
    """
    try:
        archive = zipfile.ZipFile(io.BytesIO(data))
    except (zipfile.BadZipFile, ValueError, NotImplementedError) as error:
        raise DataFileError(f"broken zip file ({error})", file=file, mend="download it again") from None

    def reader(info: zipfile.ZipInfo) -> Callable[[], bytes]:
        def read() -> bytes:
            where = f"{file}:{info.filename}"
            if info.file_size > MAX_BYTES or info.file_size > MAX_RATIO * max(info.compress_size, 1024):
                raise DataFileError(f"unpacks to {info.file_size:,} bytes, past the limit", file=where)
            try:
                with archive.open(info) as stream:
                    content = stream.read(info.file_size + 1)
            except (
                zipfile.BadZipFile,
                zlib.error,
                EOFError,
                RuntimeError,
                NotImplementedError,
                OSError,
            ) as error:
                raise DataFileError(
                    f"broken zip file ({error})", file=where, mend="download it again"
                ) from None
            return content

        return read

    infos = [i for i in archive.infolist() if not i.is_dir() and not i.filename.startswith("__MACOSX/")]
    return {i.filename: reader(i) for i in infos}


def parse_json(
    data: bytes, file: str | os.PathLike[str], *, line: int | None = None, keys: str = "unique"
) -> Any:
    """Parse JSON strictly: UTF-8, no NaN, and by default no key twice in one object.

    Parameters
    ----------
    data : bytes
        The text; a byte-order mark is skipped.
    file : path-like
        Its name, for messages.
    line : int, optional
        Number of the line in a JSON-lines file, for messages.
    keys : {"unique", "unchecked"}
        ``"unchecked"`` parses about three times faster and lets the last of two equal keys win.

    Returns
    -------
    object
        dicts, lists, strings, numbers, booleans and None.

    Raises
    ------
    DataFileError
        Wrong encoding or syntax, with the position.

    Examples
    --------
    >>> parse_json(b'{"a": 1}', "a.json")
    {'a': 1}
    >>> parse_json(b'{"a": 1, "a": 2}', "a.json")
    Traceback (most recent call last):
    ...
    dialogeval.exceptions.DataFileError: a.json: key 'a' stands twice in one object; keep one of them
    """
    data = data.removeprefix(b"\xef\xbb\xbf")
    where = str(file) if line is None else f"{file}, line {line}"
    try:
        if keys == "unchecked":
            return orjson.loads(data)
        return json.loads(
            data.decode("utf-8"), object_pairs_hook=_unique(where), parse_constant=_constant(where)
        )
    except json.JSONDecodeError as error:  # orjson raises a subclass
        spot = f"line {error.lineno}, column {error.colno}" if line is None else f"column {error.colno}"
        cut = " (the file may be truncated)" if error.pos >= len(error.doc.rstrip()) - 1 else ""
        raise DataFileError(f"broken JSON at {spot}{cut}: {error.msg}", file=where) from None
    except UnicodeDecodeError as error:
        raise DataFileError(
            f"not UTF-8 at byte {error.start}", file=where, mend="save the file in UTF-8 encoding"
        ) from None
    except RecursionError:
        raise DataFileError("JSON is nested too deeply", file=where) from None
    except ValueError as error:  # an integer of more digits than Python converts
        raise DataFileError(f"broken JSON: {error}", file=where) from None


def _unique(where: str) -> Callable[[list[tuple[str, Any]]], dict[str, Any]]:
    def build(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        out = dict(pairs)
        if len(out) != len(pairs):
            seen: set[str] = set()
            twice = next(k for k, _ in pairs if k in seen or seen.add(k))  # type: ignore[func-returns-value]
            raise DataFileError(
                f"key {twice!r} stands twice in one object", file=where, mend="keep one of them"
            )
        return out

    return build


def _constant(where: str) -> Callable[[str], Any]:
    def refuse(name: str) -> Any:
        raise DataFileError(f"{name} is not JSON", file=where, mend="write null or leave the field out")

    return refuse


def read_json_lines(data: bytes, file: str | os.PathLike[str]) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield (line number from 1, object) of a JSON-lines text; blank lines are skipped.

    Parameters
    ----------
    data : bytes
        The text.
    file : path-like
        Its name, for messages.

    Yields
    ------
    tuple of int and dict

    Raises
    ------
    DataFileError
        A line that is not a JSON object.

    Examples
    --------
    >>> list(read_json_lines(b'{"a": 1}', "a.jsonl"))
    [(1, {'a': 1})]
    """
    for number, text in enumerate(data.removeprefix(b"\xef\xbb\xbf").split(b"\n"), start=1):
        if text.strip():
            row = parse_json(text, file, line=number)
            if not isinstance(row, dict):
                raise DataFileError(
                    "not a JSON object", file=f"{file}, line {number}", expected="{…} on every line"
                )
            yield number, row


@contextmanager
def collection_paused() -> Iterator[None]:
    """Pause garbage collection: a parsed file is a million small objects without cycles.

    Examples
    --------
    >>> with collection_paused():
    ...     gc.isenabled()
    False
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()

"""Writing files so that none is ever half there.

In: paths and contents. Out: the files. What is written goes under a hidden name beside its place and is
moved there in one step when it, and all that belongs with it, is whole: a full disk, an interrupt or a
kill leaves what was there before.
"""

from __future__ import annotations

import errno
import glob
import os
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from uuid import uuid4

from .exceptions import DataFileError, DialogevalError

__all__ = ["NO_ROOM", "clear_parts", "move_whole", "part_beside", "write_all", "write_whole"]

#: What the system says when there is no room.
NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
#: Seconds after which a part that nobody goes on with is taken for one of a process that was killed.
ABANDONED = 3600.0


def write_whole(
    path: str | os.PathLike[str],
    content: str | bytes,
    *,
    durable: bool = False,
    error: type[DialogevalError] = DataFileError,
) -> Path:
    """Write one file; see `write_all`.

    Returns
    -------
    pathlib.Path

    Raises
    ------
    DialogevalError
        Of the given class.

    Examples
    --------
    >>> write_whole("no/such/folder/a.txt", "text")
    Traceback (most recent call last):
    ...
    dialogeval.exceptions.DataFileError: no/such/folder/a.txt: cannot be written (No such file or directory); ...
    """
    write_all({Path(path): content}, durable=durable, error=error)
    return Path(path)


def write_all(
    contents: Mapping[Path, str | bytes],
    *,
    durable: bool = False,
    error: type[DialogevalError] = DataFileError,
) -> None:
    """Write files that belong together: all of them, or, if anything goes wrong, none.

    Parameters
    ----------
    contents : mapping of pathlib.Path to str or bytes
        Texts are written as UTF-8, line ends as they are. Put the file last that says that all are
        there: the files are moved into place in this order.
    durable : bool, default=False
        Wait until the content has reached the disk, for a file that cannot be made again.
    error : type, default=DataFileError
        What to raise.

    Raises
    ------
    DialogevalError
        A file cannot be written; what was there before is as it was.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_all({Path(folder, "a.txt"): "text", Path(folder, "b.bin"): b"0"})
    ...     sorted(path.name for path in Path(folder).iterdir())
    ['a.txt', 'b.bin']
    """
    parts: dict[Path, Path] = {}
    path = Path()
    try:
        for path, content in contents.items():
            data = content.encode("utf-8") if isinstance(content, str) else content
            if path.is_dir():
                raise error("is a folder where the file should go", file=path, mend="move it away")
            if path.exists() and not path.is_file():
                path.write_bytes(data)  # a pipe or a device: there is nothing to be replaced
                continue
            parts[path] = part_beside(path)
            with parts[path].open("wb") as file:
                file.write(data)
                if durable:
                    file.flush()
                    os.fsync(file.fileno())
        for path, part in parts.items():
            move_whole(part, path)
    except OSError as problem:
        reason = problem.strerror or problem
        mend = "make room, or choose another place" if problem.errno in NO_ROOM else "choose another place"
        raise error(f"cannot be written ({reason})", file=path, mend=mend) from None
    finally:
        # Also after Ctrl-C: what was not moved into place goes away.
        for part in parts.values():
            with suppress(OSError):
                part.unlink(missing_ok=True)


def part_beside(path: Path) -> Path:
    """Return a name to write under until a file is whole, in the folder it will lie in.

    Parameters
    ----------
    path : pathlib.Path
        Where the file will go. Where that is a link, its target stays a target: the part lies there.

    Returns
    -------
    pathlib.Path
        Hidden, and another one at every call: two writers at once do not share it. Parts that were
        abandoned are removed.

    Examples
    --------
    >>> part_beside(Path("a.txt")).match(".a.txt.*.part")
    True
    """
    place = Path(os.path.realpath(path))
    clear_parts(place, ABANDONED)
    return place.with_name(f".{place.name}.{uuid4().hex[:12]}.part")


def move_whole(part: Path, path: Path) -> None:
    """Put what is whole in its place.

    Raises
    ------
    OSError

    Examples
    --------
    >>> move_whole(Path("no.part"), Path("no"))
    Traceback (most recent call last):
    ...
    FileNotFoundError: ...
    """
    os.replace(part, os.path.realpath(path))


def clear_parts(path: Path, age: float = 0.0) -> None:
    """Remove the parts of a file that nobody goes on writing.

    Parameters
    ----------
    path : pathlib.Path
    age : float, default=0
        Seconds since the last write; 0 for whoever holds a lock and so knows that all are abandoned.

    Examples
    --------
    >>> clear_parts(Path("no/such/folder/a.txt"))
    """
    for part in path.parent.glob(f".{glob.escape(path.name)}.*.part"):
        # Another process may remove it first.
        with suppress(OSError):
            if not age or time.time() - part.stat().st_mtime >= age:
                part.unlink()

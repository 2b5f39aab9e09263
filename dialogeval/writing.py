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

from dialogeval.exceptions import DataFileError, DialogevalError

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
    """Write one file; see `write_all`."""
    write_all({Path(path): content}, durable=durable, error=error)
    return Path(path)


def write_all(
    contents: Mapping[Path, str | bytes],
    *,
    durable: bool = False,
    error: type[DialogevalError] = DataFileError,
) -> None:
    """Write files that belong together: all of them, or, if anything goes wrong, none."""
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
    """Return a name to write under until a file is whole, in the folder it will lie in."""
    place = Path(os.path.realpath(path))
    clear_parts(place, ABANDONED)
    return place.with_name(f".{place.name}.{uuid4().hex[:12]}.part")


def move_whole(part: Path, path: Path) -> None:
    """Put what is whole in its place."""
    os.replace(part, os.path.realpath(path))


def clear_parts(path: Path, age: float = 0.0) -> None:
    """Remove the parts of a file that nobody goes on writing."""
    for part in path.parent.glob(f".{glob.escape(path.name)}.*.part"):
        # Another process may remove it first.
        with suppress(OSError):
            if not age or time.time() - part.stat().st_mtime >= age:
                part.unlink()

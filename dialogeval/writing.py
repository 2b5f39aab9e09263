"""Writing files so that none is ever half there.

In: paths and contents. Out: the files. What is written goes under a hidden name beside its place and is
moved there in one step when it, and all that belongs with it, is whole: a full disk, an interrupt or a
kill leaves what was there before.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from uuid import uuid4

from dialogeval.exceptions import DataFileError, DialogevalError


def write_whole(
    path: str | os.PathLike[str], content: str | bytes, *, error: type[DialogevalError] = DataFileError
) -> Path:
    """Write one file; see `write_all`."""
    write_all({Path(path): content}, error=error)
    return Path(path)


def write_all(contents: Mapping[Path, str | bytes], *, error: type[DialogevalError] = DataFileError) -> None:
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
            else:
                parts[path] = part_beside(path)
                parts[path].write_bytes(data)
        for path, part in parts.items():
            move_whole(part, path)
    except OSError as problem:
        reason = f"cannot be written ({problem.strerror or problem})"
        raise error(reason, file=path, mend="make room, or choose another place") from None
    finally:
        # Also after Ctrl-C: what was not moved into place goes away.
        for part in parts.values():
            part.unlink(missing_ok=True)


def part_beside(path: Path) -> Path:
    """Return a name to write under until a file is whole, in the folder it will lie in."""
    place = Path(os.path.realpath(path))
    return place.with_name(f".{place.name}.{uuid4().hex[:12]}.part")


def move_whole(part: Path, path: Path) -> None:
    """Put what is whole in its place."""
    os.replace(part, os.path.realpath(path))

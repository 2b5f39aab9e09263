"""Downloading the files of the catalog: checked, resumable, never half done.

In: the name of a corpus and a data home. Out: the files below that home, and a table of what was
done. A file is written under a temporary name beside its place, compared with its checksum, and
only then moved there in one step; so whatever interrupts a download, a file under its own name is
whole and right, and the next run goes on where the last one stopped.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pandas as pd

from dialogeval.corpora.catalog import CONTENT_URL, FileEntry, corpus_entry, data_home, file_url, local_file
from dialogeval.exceptions import FetchError, UnknownNameError, UsageError
from dialogeval.writing import move_whole, part_beside

__all__ = ["fetch", "git_blob_id", "is_intact"]

_PROGRESS = ("bar", "none")
_CHUNK = 64 * 1024


def fetch(
    name: str,
    home: str | os.PathLike[str] | None = None,
    parts: Sequence[str] | None = None,
    *,
    base_url: str = CONTENT_URL,
    progress: str = "bar",
    timeout: float = 30.0,
) -> pd.DataFrame:
    """Download a corpus, or some files of it, skipping what is complete.

    Parameters
    ----------
    name : str
        A corpus of the catalog.
    home : path-like, optional
        As `data_home` takes it.
    parts : sequence of str, optional
        Parts (``test``, ``db/hotel``), splits, or beginnings of parts (``db``); all by default.
    base_url : str
        Server with GitHub's layout of raw content.
    progress : {"bar", "none"}
        A progress bar per file on standard error.
    timeout : float, default=30.0
        Seconds without an answer or without further data after which a download is given up.

    Returns
    -------
    pandas.DataFrame
        A row a file; columns part, file, bytes, status: ``already complete``, ``downloaded``,
        ``replaced (did not match its checksum)`` or ``comes with dialogeval``.

    Raises
    ------
    UnknownNameError
        No such corpus or part.
    UsageError
        Another progress, or a timeout that is not positive.
    FetchError
        A file that could not be had, that is wrong or that cannot be written. Files before it stay,
        an older file in its place is kept, and nothing new stands under its name.

    Examples
    --------
    >>> fetch("crosswoz", progress="loud")
    Traceback (most recent call last):
    ...
    dialogeval.exceptions.UnknownNameError: unknown progress 'loud': known: bar, none
    """
    if progress not in _PROGRESS:
        raise UnknownNameError("progress", progress, _PROGRESS)
    if not 0 < timeout <= 86_400:
        raise UsageError("timeout", expected="seconds, more than 0 and at most a day", got=str(timeout))
    folder = data_home(home)
    rows = []
    for file in _chosen(name, parts):
        place = local_file(name, file.part, folder)
        status = _fetch_file(file, place, base_url, progress, timeout)
        rows.append((file.part, str(place), place.stat().st_size, status))
    return pd.DataFrame(rows, columns=["part", "file", "bytes", "status"])


def is_intact(file: FileEntry, path: str | os.PathLike[str]) -> bool:
    """Tell whether a file's content is that of the catalog."""
    path = Path(path)
    if not path.is_file() or (file.bytes and path.stat().st_size != file.bytes):
        return False
    if file.sha256:
        with path.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest() == file.sha256
    return not file.git_blob_sha1 or git_blob_id(path) == file.git_blob_sha1


def git_blob_id(path: str | os.PathLike[str]) -> str:
    """Return the id under which git stores a file's content."""
    path = Path(path)
    digest = hashlib.sha1(b"blob %d\0" % path.stat().st_size, usedforsecurity=False)
    with path.open("rb") as stream:
        while block := stream.read(_CHUNK):
            digest.update(block)
    return digest.hexdigest()


def _chosen(name: str, parts: Sequence[str] | None) -> list[FileEntry]:
    files = corpus_entry(name).files.values()
    if parts is None:
        return list(files)
    if isinstance(parts, str):
        raise UsageError("parts", expected=f"a list such as [{parts!r}]", got=f"the string {parts!r}")

    def fits(file: FileEntry, part: str) -> bool:
        return part in (file.part, file.split) or file.part.startswith(f"{part}/")

    for part in parts:
        if not part or not any(fits(f, part) for f in files):
            raise UnknownNameError(f"part of {name}", part, [f.part for f in files])
    return [f for f in files if any(fits(f, p) for p in parts)]


def _fetch_file(file: FileEntry, place: Path, base_url: str, progress: str, timeout: float) -> str:
    if not file.repository:
        if not place.is_file():
            raise FetchError("comes with dialogeval and is missing", file=place, mend="reinstall dialogeval")
        return "comes with dialogeval"
    try:
        if is_intact(file, place):
            return "already complete"
        existed = place.exists()
        if place.is_dir():
            raise FetchError("is a folder where the file should go", file=place, mend="move it away")
        place.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        reason = error.strerror or error
        raise FetchError(
            f"cannot be written ({reason})", file=place, mend="choose another data home"
        ) from None
    kept = "; the file that was there does not match its checksum and was kept" if existed else ""
    temporary = part_beside(place)
    url = file_url(file, base_url)
    try:
        _download(file, url, temporary, progress, timeout, kept)
        _check(file, temporary, url, kept)
        move_whole(temporary, place)
    except OSError as error:
        reason = error.strerror or error
        raise FetchError(
            f"cannot be written ({reason}){kept}", file=place, mend="make room or choose another data home"
        ) from None
    finally:
        # Also after Ctrl-C: what was not moved into place goes away.
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
    return "replaced (did not match its checksum)" if existed else "downloaded"


def _download(file: FileEntry, url: str, path: Path, progress: str, timeout: float, kept: str) -> None:
    import pooch
    import requests

    bar: Any = False
    if progress == "bar":
        from tqdm import tqdm

        # pooch asks for the bar's truth value, which tqdm has for a known total only, and then sets it.
        bar = tqdm(desc=file.local, unit="B", unit_scale=True, ncols=100, total=file.bytes or 1)
    get = pooch.HTTPDownloader(progressbar=bar, chunk_size=_CHUNK, timeout=timeout)
    try:
        get(url, str(path), None)
    except requests.RequestException as error:
        problem, mend = _explain(error, timeout)
        raise FetchError(f"{problem} from {url}{kept}", file=file.local, mend=mend) from None
    finally:
        if bar is not False:
            bar.close()


def _explain(error: Exception, timeout: float) -> tuple[str, str]:
    """Say in words of the user what a download library's exception means, and what to do about it."""
    import requests

    response = getattr(error, "response", None)
    again = "check the network and run the command again: what is complete is not fetched twice"
    if response is not None:
        mend = {
            404: "the file was moved: look for a newer dialogeval, or put the file there by hand",
            429: "the server wants a pause: wait a few minutes and run the command again",
        }.get(response.status_code, "wait and run the command again")
        return f"HTTP {response.status_code} {response.reason or ''}".strip(), mend
    # requests reports a pause inside the body as a ConnectionError, so the words must tell.
    if isinstance(error, requests.Timeout) or "timed out" in str(error).lower():
        return f"no data for {timeout:g} seconds", "run the command again, or with a longer timeout"
    if isinstance(error, requests.exceptions.ChunkedEncodingError):
        return "the connection broke off before the file was complete", again
    if isinstance(error, requests.exceptions.SSLError):
        return "the server's certificate is not trusted", "check the clock and the proxy of this machine"
    if isinstance(error, requests.ConnectionError):
        return "no connection", again
    return f"download failed ({type(error).__name__})", again


def _check(file: FileEntry, path: Path, url: str, kept: str) -> None:
    if is_intact(file, path):
        return
    size = path.stat().st_size
    if file.bytes and size < file.bytes:
        what, mend = f"got {size:,} of {file.bytes:,} bytes", "run the command again"
    else:
        kind = "SHA-256" if file.sha256 else "git blob id"
        what, mend = (
            f"content does not match its {kind}",
            "run the command again; if it persists, a proxy may alter it",
        )
    raise FetchError(f"{what} from {url}{kept}", file=file.local, mend=mend)

"""The corpora that dialogeval knows: where each file comes from, its checksum, what was published.

In: a name of the catalog, and the folder where the user's data lies. Out: frozen
entries, paths and URLs, and a table of what is here. Nothing is read from the network and no corpus
file is opened; `dialogeval.corpora.download` fetches, the readers read.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any
from urllib.parse import quote

import pandas as pd

from dialogeval.exceptions import DataFileError, UnknownNameError, UsageError
from dialogeval.files import read_bytes
from dialogeval.resources import resource_dir
from dialogeval.strict_json import parse_json

_CATALOG = Path(__file__).resolve().parent.parent / "data" / "catalog.json"


@dataclass(frozen=True)
class FileEntry:
    """One file of a corpus."""

    corpus: str
    part: str
    local: str
    split: str = ""
    repository: str = ""
    commit: str = ""
    path: str = ""
    licence: str = ""
    git_blob_sha1: str = ""
    sha256: str = ""
    bytes: int = 0


@dataclass(frozen=True)
class CorpusEntry:
    """One corpus of the catalog."""

    name: str
    title: str
    language: str
    family: str
    version: str
    licence: str
    citation: str
    reference: str
    splits: tuple[str, ...]
    published: Mapping[str, Mapping[str, int]] = field(hash=False)
    note: str
    files: Mapping[str, FileEntry] = field(hash=False)


def catalog() -> Mapping[str, CorpusEntry]:
    """Return all corpora by name; the sample corpora come last.

    Returns
    -------
    mapping of str to CorpusEntry
        Read-only and read from disk once.

    Examples
    --------
    >>> list(catalog())[:3]
    ['multiwoz21', 'multiwoz20', 'multiwoz22']
    """
    return _read_catalog(_CATALOG)


@cache
def _read_catalog(path: Path) -> Mapping[str, CorpusEntry]:
    raw = parse_json(read_bytes(path), path)
    try:
        return MappingProxyType({name: _entry(name, given, raw) for name, given in raw["corpora"].items()})
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        problem = f"does not hold the catalog ({type(error).__name__}: {error})"
        raise DataFileError(problem, file=path, mend="install dialogeval again") from None


def _entry(name: str, given: dict[str, Any], raw: dict[str, Any]) -> CorpusEntry:
    files = {
        part: FileEntry(name, part, licence=raw["licences"].get(f.get("repository"), given["licence"]), **f)
        for part, f in given["files"].items()
    }
    changed = {
        "splits": tuple(given["splits"]),
        "reference": raw["references"][given["citation"]],
        "published": MappingProxyType({s: MappingProxyType(c) for s, c in given["published"].items()}),
        "files": MappingProxyType(files),
    }
    return CorpusEntry(name=name, **{**given, **changed})


#: Where the content of public GitHub repositories is served by commit.
CONTENT_URL = "https://raw.githubusercontent.com"
#: Environment variable that names the folder of the user's data.
HOME_VARIABLE = "DIALOGEVAL_DATA"
_SAMPLE = "sample/"
#: Other names of splits.
SPLITS = {"validation": "val", "dev": "val", "valid": "val"}


def corpus_entry(name: str) -> CorpusEntry:
    """Return one corpus of the catalog."""
    entry = catalog().get(name)
    if entry is None:
        raise UnknownNameError("corpus", name, catalog(), mend="or give the path of a file")
    return entry


def file_entry(name: str, part: str) -> FileEntry:
    """Return one file of a corpus."""
    files = corpus_entry(name).files
    if part not in files:
        raise UnknownNameError(f"part of {name}", part, files)
    return files[part]


def split_parts(name: str, split: str) -> tuple[str, ...]:
    """Return the parts that hold the dialogues of a split, in reading order."""
    entry = corpus_entry(name)
    split = SPLITS.get(split, split)
    if split not in entry.splits:
        raise UnknownNameError(f"split of {name}", split, entry.splits)
    return tuple(part for part, file in entry.files.items() if file.split == split)


def split_files(name: str, split: str, home: str | os.PathLike[str] | None = None) -> dict[str, Path]:
    """Return the files of a split that is here, by part."""
    found = {part: local_file(name, part, home) for part in split_parts(name, split)}
    for path in found.values():
        if not path.exists():
            fetched = (
                "install dialogeval again" if name.startswith(_SAMPLE) else f"run: dialogeval fetch {name}"
            )
            raise DataFileError(f"corpus {name} is not here (split {split})", file=path, mend=fetched)
    return found


def data_home(path: str | os.PathLike[str] | None = None) -> Path:
    """Return the folder of the user's data, which need not exist yet.

    Parameters
    ----------
    path : path-like, optional
        Given folder; else ``$DIALOGEVAL_DATA``, else the user's cache folder.

    Returns
    -------
    pathlib.Path

    Raises
    ------
    UsageError
        The path is a file.

    Examples
    --------
    >>> data_home("corpora").name
    'corpora'
    """
    given = os.fspath(path) if path is not None else os.environ.get(HOME_VARIABLE, "")
    if given:
        home = Path(given).expanduser()
    elif path is not None:
        raise UsageError("the data home is an empty path", expected="a folder")
    else:
        from platformdirs import user_cache_path

        home = user_cache_path("dialogeval", appauthor=False)
    if home.is_file():
        raise UsageError("the data home is a file", file=home, expected="a folder")
    return home


def local_file(name: str, part: str, home: str | os.PathLike[str] | None = None) -> Path:
    """Return where a file lies or would lie; whether it exists is not looked at."""
    file = file_entry(name, part)
    base = resource_dir("data") if name.startswith(_SAMPLE) else data_home(home)
    return base / file.local


def file_url(file: FileEntry, base: str = CONTENT_URL) -> str:
    """Return the address of a file's content at its commit."""
    if not file.repository:
        raise UsageError(
            f"{file.corpus} comes with dialogeval and has no address", mend="load it by its name"
        )
    return f"{base.rstrip('/')}/{file.repository}/{file.commit}/{quote(file.path)}"


def cite(name: str) -> str:
    """Return what to cite for a corpus: key and full reference.

    Parameters
    ----------
    name : str

    Returns
    -------
    str
        One line.

    Raises
    ------
    UnknownNameError

    Examples
    --------
    >>> cite("crosswoz")
    '[zhu2020crosswoz] Qi Zhu, Kaili Huang, ... CrossWOZ: ... arXiv:2002.11893.'
    """
    entry = corpus_entry(name)
    return f"[{entry.citation}] {entry.reference}"


def corpora_table(home: str | os.PathLike[str] | None = None) -> pd.DataFrame:
    """Return what is known and what of it is here.

    Parameters
    ----------
    home : path-like, optional
        As `data_home` takes it.

    Returns
    -------
    pandas.DataFrame
        A row a corpus; columns corpus, title, language, splits, splits_here, licence, files,
        files_here (numbers), missing (names of parts, empty when complete). A file counts as here
        when it exists with its known size; `dialogeval.corpora.download.fetch` compares checksums.

    Examples
    --------
    >>> corpora_table("nowhere").set_index("corpus").loc["crosswoz", "missing"]
    'train, val, test'
    """
    folder = data_home(home)
    rows = []
    for name, entry in catalog().items():
        here = [part for part, file in entry.files.items() if _is_here(file, folder)]
        splits = [s for s in entry.splits if set(split_parts(name, s)) <= set(here)]
        missing = [part for part in entry.files if part not in here]
        counts = len(entry.files), len(here), ", ".join(missing)
        known, present = ", ".join(entry.splits), ", ".join(splits)
        rows.append((name, entry.title, entry.language, known, present, entry.licence, *counts))
    columns = [
        "corpus",
        "title",
        "language",
        "splits",
        "splits_here",
        "licence",
        "files",
        "files_here",
        "missing",
    ]
    return pd.DataFrame(rows, columns=columns)


def _is_here(file: FileEntry, home: Path) -> bool:
    try:
        path = local_file(file.corpus, file.part, home)
        return path.is_file() and (not file.bytes or path.stat().st_size == file.bytes)
    except (OSError, DataFileError):
        return False

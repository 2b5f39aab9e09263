"""What the catalog holds: frozen entries for corpora and their files, read from ``data/catalog.json``.

In: that file of the package. Out: `CorpusEntry` and `FileEntry` by name. Looking things up in it,
paths and addresses are `dialogeval.corpora.catalog`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

from dialogeval.exceptions import DataFileError
from dialogeval.files import read_bytes
from dialogeval.strict_json import parse_json

__all__ = ["CorpusEntry", "FileEntry", "catalog"]

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

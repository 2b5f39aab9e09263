"""The venue database beside a MultiWOZ corpus: which hotels, restaurants, attractions and trains fit.

In: ``attraction_db.json``, ``hotel_db.json``, ``restaurant_db.json`` and ``train_db.json``, each a list
of entries. Out: a `Database`, one table a domain, that answers which entries fit the constraints of a
state. Every (domain, slot, value) is looked up once; the answer to a query is the intersection of the
answers to its constraints, kept as one whole number whose bit i stands for entry i.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from functools import lru_cache, partial
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from .exceptions import CorpusError, DataFileError, UnknownNameError, show
from .files import parse_json, raw_bytes, read_bytes, zip_members
from .mwzeval import NO_CONSTRAINT, minutes, slot_name
from .tables import Corpus

__all__ = ["DOMAINS", "FUZZY", "Database", "database_from_entries", "load_database", "partial_ratio"]

#: Domains that have a database.
DOMAINS = ("attraction", "hotel", "restaurant", "train")
#: Slots whose values are compared by their partial ratio.
FUZZY = frozenset(
    [(domain, "name") for domain in DOMAINS[:3]]
    + [("restaurant", "food"), ("train", "departure"), ("train", "destination")]
)
#: Two strings are the same from this partial ratio on.
THRESHOLD = 90
#: Fields past which a list of entries is no database; real ones have about fifteen.
MAX_FIELDS = 200
#: An entry that does not know a field fits any value of it.
UNKNOWN = "?"


@dataclass(frozen=True)
class Database:
    """Venues and trains by domain.

    Parameters
    ----------
    name : str
        Of the corpus or path that it belongs to.
    tables : dict of str to pandas.DataFrame
        By domain; a row an entry, columns named as the slots of normalised states (``arrive``,
        ``leave``, ``pricerange``), all strings; ``?`` where an entry does not know a field.
    version : str
        Seven digits of the checksum of its files.
    notes : tuple of str
        What the reader had to say: entries that lack a field, with counts.

    Examples
    --------
    >>> db = database_from_entries({"hotel": [{"name": "acorn guest house", "stars": "4"}]})
    >>> db.query("hotel", {"name": "acorn house", "stars": "4", "people": "2"})["name"].tolist()
    []
    >>> db.query("hotel", {"name": "acorn guesthouse", "stars": "dontcare"})["name"].tolist()
    ['acorn guest house']
    """

    name: str
    tables: Mapping[str, pd.DataFrame]
    version: str = ""
    notes: tuple[str, ...] = ()
    # What was asked before, and the columns as codes of their distinct values.
    _known: dict[Any, int] = field(default_factory=dict, repr=False, compare=False)
    _coded: dict[tuple[str, str], tuple[np.ndarray, list[str]]] = field(
        default_factory=dict, repr=False, compare=False
    )

    def query(self, domain: str, constraints: Mapping[str, str]) -> pd.DataFrame:
        """Return the entries that fit a state.

        Parameters
        ----------
        domain : str
        constraints : mapping of slot to value
            Normalised, see `dialogeval.mwzeval`. Slots that the database lacks, and values that say
            that anything will do, are no constraint.

        Returns
        -------
        pandas.DataFrame
            Rows of ``tables[domain]``.

        Raises
        ------
        UnknownNameError
            The database has no such domain.
        """
        if domain not in self.tables:
            raise UnknownNameError("domain of the database", domain, self.tables)
        bits = self.fitting(domain, constraints)
        return self.tables[domain].iloc[[i for i in range(len(self.tables[domain])) if bits >> i & 1]]

    def fitting(self, domain: str, constraints: Mapping[str, str]) -> int:
        """Return the entries that fit as a whole number whose bit i stands for entry i.

        Parameters
        ----------
        domain : str
        constraints : mapping of slot to value

        Returns
        -------
        int
            0 for a domain that the database does not have.
        """
        known = self._known
        fits = known.get(domain)
        if fits is None:
            fits = known[domain] = (1 << len(self.tables.get(domain, ()))) - 1
        for slot, value in constraints.items():
            key = (domain, slot, value)
            bits = known.get(key)
            if bits is None:
                bits = known[key] = self._fitting(domain, slot, value)
            fits &= bits
        return fits

    def _fitting(self, domain: str, slot: str, value: str) -> int:
        table = self.tables.get(domain)
        if table is None or slot not in table.columns or value in NO_CONSTRAINT:
            return -1  # All bits set: no constraint.
        if (domain, slot) not in self._coded:
            codes, distinct = pd.factorize(table[slot])
            self._coded[domain, slot] = codes, distinct.tolist()
        codes, values = self._coded[domain, slot]
        test = _test(domain, slot, value)
        verdicts = np.array([entry == UNKNOWN or test(entry) for entry in values], dtype=bool)
        return int.from_bytes(np.packbits(verdicts[codes], bitorder="little").tobytes(), "little")


def load_database(
    corpus_or_path: Corpus | str | os.PathLike[str], home: str | os.PathLike[str] | None = None
) -> Database:
    """Load the database that belongs to a corpus.

    Parameters
    ----------
    corpus_or_path : Corpus, str or path-like
        A corpus as loaded, a name of the catalog, a folder that holds ``*_db.json`` or a subfolder
        ``db`` of such files, or an official ``MultiWOZ_2.1.zip``.
    home : path-like, optional
        Folder of the data, for a name of the catalog; else ``$DIALOGEVAL_DATA``, else the user's
        cache folder.

    Returns
    -------
    Database

    Raises
    ------
    DataFileError
        No database there; for a corpus of the catalog the message names ``dialogeval fetch``.
    CorpusError
        A file is no list of entries.

    Examples
    --------
    >>> sorted(load_database("sample/multiwoz").tables)
    ['attraction', 'hotel', 'restaurant', 'train']
    """
    name, place, mend = _locate(corpus_or_path, home)
    files = _find_files(place)
    absent = [f"{d}_db.json" for d in DOMAINS if d not in files]
    if not files or (absent and mend.startswith(("run:", "install"))):
        raise DataFileError(
            f"the venue database of {name} is not here",
            file=place,
            expected=f"{', '.join(absent)}, there or in a folder db",
            mend=mend,
        )
    contents = {domain: read() for domain, read in sorted(files.items())}
    entries = {domain: parse_json(content, f"{domain}_db.json") for domain, content in contents.items()}
    return database_from_entries(entries, name, sha256(b"".join(contents.values())).hexdigest()[:7])


def database_from_entries(entries: Mapping[str, Any], name: str = "database", version: str = "") -> Database:
    """Turn parsed JSON into a database.

    Parameters
    ----------
    entries : mapping of domain to list of dict
        Fields are renamed like the slots of states; a number becomes text.
    name, version : str

    Returns
    -------
    Database

    Raises
    ------
    CorpusError
        A domain is no list of objects.

    Examples
    --------
    >>> db = database_from_entries({"train": [{"trainID": "TR1", "arriveBy": "09:51"}, {"trainID": "TR2"}]})
    >>> db.tables["train"]["arrive"].tolist(), db.notes
    (['09:51', '?'], ('database: 1 of 2 train entries lack arrive, which then fits any value',))
    """
    tables, notes = {}, []
    for domain, rows in entries.items():
        file = f"{domain}_db.json"
        if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
            wrong = (
                next((r for r in rows if not isinstance(r, dict)), rows) if isinstance(rows, list) else rows
            )
            raise CorpusError("", file=file, expected="a list of entries, each an object", got=show(wrong))
        fields = dict.fromkeys(field for row in rows for field in row)
        if len(fields) > MAX_FIELDS:  # every entry has a cell for every field
            got = f"{len(fields):,} in {len(rows):,} entries"
            raise CorpusError("", file=file, expected=f"at most {MAX_FIELDS} different fields", got=got)
        columns: dict[str, list[str | None]] = {}
        for written in fields:
            values = [_text(row.get(written)) for row in rows]
            before = columns.get(slot_name(written), values)
            # Entries may spell one field in two ways.
            columns[slot_name(written)] = [
                old if new is None else new for old, new in zip(before, values, strict=True)
            ]
        for slot, values in columns.items():
            lacking = values.count(None)
            if lacking and (domain, slot) in CONSTRAINTS:
                notes.append(
                    f"{name}: {lacking:,} of {len(rows):,} {domain} entries lack {slot}, "
                    "which then fits any value"
                )
        filled = {slot: [UNKNOWN if v is None else v for v in values] for slot, values in columns.items()}
        tables[domain] = pd.DataFrame(filled, dtype="str")
    return Database(name, tables, version, tuple(notes))


def partial_ratio(one: str, other: str) -> float:
    """Return the classic partial ratio of two strings.

    Parameters
    ----------
    one, other : str

    Returns
    -------
    float
        0 to 100: the best ratio of difflib's ``SequenceMatcher`` between the shorter string and the
        windows of its length of the longer one in which a matching block lies in its place.

    Notes
    -----
    rapidfuzz's ``partial_ratio`` is the best over all windows, and so an upper bound of this one.

    Examples
    --------
    >>> round(partial_ratio("acorn guest house", "alpha-milton guest house"), 1)
    84.8
    """
    if one == other:
        return 100.0
    short, long = sorted((one, other), key=len)
    if not short:
        return 0.0
    starts = {
        max(at_long - at_short, 0)
        for at_short, at_long, _ in SequenceMatcher(None, short, long).get_matching_blocks()
    }
    return 100 * max(SequenceMatcher(None, short, long[s : s + len(short)]).ratio() for s in starts)


# Helpers ------------------------------------------------------------------------------------------

#: Fields that a state may constrain; whether an entry has an address is of no matter to a query.
CONSTRAINTS = frozenset(
    [(d, s) for d in DOMAINS[:3] for s in ("name", "area", "type", "pricerange")]
    + [("hotel", s) for s in ("stars", "internet", "parking")]
    + [("restaurant", "food")]
    + [("train", s) for s in ("departure", "destination", "day", "arrive", "leave", "trainid")]
)


def _test(domain: str, slot: str, wanted: str) -> Callable[[str], bool]:
    """Return the function that tells whether an entry's field fits the wanted value."""
    if slot in ("arrive", "leave"):
        time = minutes(wanted) or 0
        if slot == "arrive":
            return lambda entry: (minutes(entry) or 0) <= time
        return lambda entry: (minutes(entry) or 0) >= time
    if (domain, slot) in FUZZY:
        return partial(alike, wanted)
    return wanted.__eq__


@lru_cache(maxsize=100_000)
def alike(one: str, other: str, at_least: int = THRESHOLD) -> bool:
    """Tell whether a partial ratio, in whole per cent, reaches a threshold: rapidfuzz screens, difflib decides."""
    from rapidfuzz.fuzz import partial_ratio as upper_bound

    # One point of slack: half for the rounding, and an upper bound in floating point need not be exact.
    return upper_bound(one, other) >= at_least - 1 and round(partial_ratio(one, other)) >= at_least


def _text(value: object) -> str | None:
    """A field as a string; lists and objects (locations, prices by room) equal no value of a state."""
    if value is None or isinstance(value, str):
        return value
    return str(value)


def _locate(
    corpus_or_path: Corpus | str | os.PathLike[str], home: str | os.PathLike[str] | None
) -> tuple[str, Path, str]:
    """Return the name of a database, where it should lie, and what to do if it does not."""
    from .corpora.catalog import catalog, local_file

    name, folder = str(corpus_or_path), ""
    if isinstance(corpus_or_path, Corpus):
        name, folder = corpus_or_path.name, corpus_or_path.source.folder
    entry = catalog().get(name)
    if entry is not None and not folder:
        folder = str(local_file(name, next(iter(entry.files)), home).parent)
    if isinstance(corpus_or_path, Corpus) and not folder:
        raise DataFileError(
            f"corpus {name} was not read from a file, so that no venue database lies beside it",
            mend="load the corpus by name or from its folder, or choose a protocol without Inform and Success",
        )
    if entry is not None and any(part.startswith("db/") for part in entry.files):
        mend = "install dialogeval again" if name.startswith("sample/") else f"run: dialogeval fetch {name}"
    else:
        mend = "put them there; those of MultiWOZ 2.1 come with 'dialogeval fetch multiwoz21' into its folder"
    return (name if folder else Path(name).name), Path(folder or name), mend


def _find_files(place: Path) -> dict[str, Callable[[], bytes]]:
    """Return a reader for each database file of a folder, its subfolder ``db``, or an archive."""
    found: dict[str, Callable[[], bytes]] = {}
    if place.is_file():
        found = {Path(m).name: read for m, read in zip_members(raw_bytes(place), place).items()}
    else:
        for path in (*place.glob("*_db.json"), *place.glob("db/*_db.json")):
            found[path.name] = partial(read_bytes, path)
    return {d: found[f"{d}_db.json"] for d in DOMAINS if f"{d}_db.json" in found}

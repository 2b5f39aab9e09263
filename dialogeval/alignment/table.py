"""Alignments: which slot of one ontology stands for which slot of another, and what happens to values.

In: CSV files, one row a pair of slots. Out: an `Alignment`, a chain of one or more `Hop` s, each of
which is one such file, read forwards or backwards. Files are checked here once and trusted afterwards.
"""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass, field
from functools import cached_property

import pandas as pd

from .converters import CONVERTERS, Pairs, inline_pairs, value_key
from .rules import COLUMNS, check_targets, slot_key

__all__ = ["Alignment", "Hop"]

_OPPOSITE = {"broader": "narrower", "narrower": "broader"}


@dataclass(frozen=True, eq=False)
class Hop:
    """One alignment file, read in one direction.

    Parameters
    ----------
    source, target : str
        Names of the ontologies.
    source_language, target_language : str
        A hop between two languages translates.
    rows : pandas.DataFrame
        Columns `COLUMNS`, all strings.
    values : dict of str to pairs
        The value tables that rows name.
    """

    source: str
    target: str
    source_language: str
    target_language: str
    rows: pd.DataFrame
    values: dict[str, Pairs] = field(default_factory=dict)

    @property
    def translates(self) -> bool:
        """Whether the hop leads into another language."""
        return self.source_language != self.target_language

    def inverse(self) -> Hop:
        """Return the same file read backwards; see `Alignment.inverse`."""
        swap = {"domain": "target_domain", "slot": "target_slot"}
        rows = self.rows.rename(columns=swap | {new: old for old, new in swap.items()})[list(COLUMNS)]
        rows = rows.assign(
            relation=rows["relation"].map(lambda r: _OPPOSITE.get(r, r)).astype("str"),
            converter=rows["converter"].map(_inverse_converter).astype("str"),
        )
        values = {name: tuple((b, a) for a, b in pairs) for name, pairs in self.values.items()}
        hop = Hop(self.target, self.source, self.target_language, self.source_language, rows, values)
        check_targets(rows, f"{self.source}__{self.target} read backwards", range(len(rows)), "row")
        return hop

    @cached_property
    def content(self) -> list:
        """What decides the mapping, in an order of its own: for the checksum."""
        rows = self.rows[list(COLUMNS[:-1])].values.tolist()
        rows = sorted([*slot_key(*r[:2]), *r[2:]] for r in rows)
        tables = []
        for name, pairs in sorted(self.values.items()):
            # Of rows with one value (or one target value) the first counts: nothing else of their order.
            forth: dict[str, str] = {}
            back: dict[str, str] = {}
            for value, target in pairs:
                forth.setdefault(value_key(value), target)
                back.setdefault(value_key(target), value)
            tables.append([name, sorted(forth.items()), sorted(back.items())])
        return [self.source, self.target, self.source_language, self.target_language, rows, tables]


def _inverse_converter(converter: str) -> str:
    if converter in CONVERTERS:
        return CONVERTERS[converter].inverse
    if "=" in converter:
        return "|".join(f"{b}={a}" for a, b in inline_pairs(converter))
    return converter


@dataclass(frozen=True, eq=False)
class Alignment:
    """How slots and values of one ontology are written in another.

    Parameters
    ----------
    name : str
        Such as ``multiwoz__crosswoz_en``.
    source, target : str
        Names of the two ontologies.
    source_language, target_language : str
        ``en``, ``zh``.
    hops : tuple of Hop
        The files to go through, in order; none for the alignment of an ontology with itself.

    Examples
    --------
    >>> from dialogeval.alignment import load_alignment
    >>> a = load_alignment("crosswoz__multiwoz")
    >>> [f"{hop.source} > {hop.target}" for hop in a.hops]
    ['crosswoz > crosswoz_en', 'crosswoz_en > multiwoz']
    """

    name: str
    source: str
    target: str
    source_language: str = "en"
    target_language: str = "en"
    hops: tuple[Hop, ...] = ()

    @property
    def rows(self) -> pd.DataFrame:
        """The slots with their counterparts through all hops: columns `COLUMNS`.

        A composed alignment's relation is ``same`` where every step's is, ``broader`` or ``narrower``
        where the steps agree on it, and ``related`` where they do not.
        """
        from .compose import joined_rows

        return joined_rows(self.hops)

    @property
    def values(self) -> pd.DataFrame:
        """The value tables: columns hop (its number), table, value, target_value."""
        rows = [
            (number, name, *pair)
            for number, hop in enumerate(self.hops)
            for name, pairs in hop.values.items()
            for pair in pairs
        ]
        return pd.DataFrame(rows, columns=["hop", "table", "value", "target_value"])

    @cached_property
    def checksum(self) -> str:
        """Seven digits of a SHA-256 over what decides the mapping; notes and the order of rows do not."""
        content = [self.source, self.target, [hop.content for hop in self.hops]]
        return hashlib.sha256(json.dumps(content, ensure_ascii=False).encode("utf-8")).hexdigest()[:7]

    @property
    def id(self) -> str:
        """Name and checksum, as a signature has them."""
        # Bars and colons of a file's name would read as fields of the signature.
        plain = re.sub(r"[^\w.+-]+", "-", self.name)
        return f"{plain}@{self.checksum}"

    def inverse(self) -> Alignment:
        """Return the alignment read backwards.

        Returns
        -------
        Alignment

        Raises
        ------
        AlignmentError
            Two slots lead to one target and no value says which of them to go back to.

        Examples
        --------
        >>> from dialogeval.alignment import load_alignment
        >>> load_alignment("multiwoz__multiwoz_zh").inverse().name
        'multiwoz_zh__multiwoz'
        """
        from .compose import inverse_name

        return Alignment(
            inverse_name(self),
            self.target,
            self.source,
            self.target_language,
            self.source_language,
            tuple(hop.inverse() for hop in reversed(self.hops)),
        )

    def __repr__(self) -> str:
        rows = self.rows
        aligned = rows.loc[~rows["relation"].isin(["none", "false friend"])]
        counts = ", ".join(f"{n} {r}" for r, n in aligned["relation"].value_counts().sort_index().items())
        return f"Alignment({self.id}: {counts or 'an ontology with itself'})"

"""Chains of alignments: composed, read backwards, and found by the names of two ontologies.

The files that come with the package join four ontologies in a row; any other pair of the four is
reached by going through them, forwards or backwards.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from itertools import pairwise
from pathlib import Path

import pandas as pd

from ..exceptions import UnknownNameError, UsageError, show
from .reading import read_hop
from .rules import COLUMNS, slot_key
from .table import Alignment, Hop

__all__ = [
    "LANGUAGES",
    "compose",
    "inverse_name",
    "joined_rows",
    "known_slots",
    "load_alignment",
    "ontology_name",
]

#: The ontologies that the package aligns, each with its neighbours in this order, and their languages.
LANGUAGES = {"multiwoz_zh": "zh", "multiwoz": "en", "crosswoz_en": "en", "crosswoz": "zh"}
_ORDER = list(LANGUAGES)
_FILES = {
    ("multiwoz", "multiwoz_zh"),
    ("multiwoz", "crosswoz_en"),
    ("crosswoz", "crosswoz_en"),
}


def ontology_name(corpus: str) -> str:
    """Return the ontology of a corpus: its name without folder and version.

    Parameters
    ----------
    corpus : str
        Such as ``multiwoz21`` or ``sample/crosswoz_en``.

    Returns
    -------
    str

    Examples
    --------
    >>> ontology_name("multiwoz21"), ontology_name("sample/crosswoz_en")
    ('multiwoz', 'crosswoz_en')
    """
    return corpus.removeprefix("sample/").rstrip("0123456789")


def known_slots(ontology: str) -> pd.DataFrame:
    """Return the slots of an ontology that the package's own alignments speak of; none for others.

    Examples
    --------
    >>> known_slots("crosswoz_en").query("domain == 'Taxi'")["slot"].tolist()
    ['from', 'to']
    """
    if ontology not in LANGUAGES:
        return pd.DataFrame({"domain": [], "slot": []}, dtype="str")
    neighbour = _ORDER[_ORDER.index(ontology) - 1] if ontology != _ORDER[0] else _ORDER[1]
    rows = _shipped(f"{ontology}__{neighbour}").rows[["domain", "slot"]].drop_duplicates()
    return rows[rows["slot"] != ""].reset_index(drop=True)


def load_alignment(
    name_or_path: str | os.PathLike[str],
    source_language: str | None = None,
    target_language: str | None = None,
) -> Alignment:
    """Load an alignment that comes with the package, or a file.

    Parameters
    ----------
    name_or_path : str or path-like
        ``SOURCE__TARGET`` of any two of multiwoz, multiwoz_zh, crosswoz and crosswoz_en (names of
        corpora such as ``multiwoz21`` will do), or the path of a CSV file. The file's name says what
        it joins, when it is ``SOURCE__TARGET.csv``.
    source_language, target_language : str, optional
        Of a file: by default those of the ontologies it names, Chinese for names that end in ``zh``,
        else English.

    Returns
    -------
    Alignment

    Raises
    ------
    UnknownNameError
        Neither a file nor two ontologies of the package.
    DataFileError, AlignmentError
        As for `read_hop`.

    Examples
    --------
    >>> load_alignment("multiwoz21__multiwoz_zh").rows.loc[0, "target_slot"]
    '名称'
    >>> len(load_alignment("multiwoz_zh__crosswoz").hops)
    3
    """
    if not isinstance(name_or_path, (str, os.PathLike)):
        expected = "a name such as multiwoz__crosswoz_en, or the path of a CSV file"
        raise UsageError("alignment", expected=expected, got=show(name_or_path))
    path = Path(name_or_path)
    if path.suffix != ".csv" and not path.is_file():
        return _shipped(str(name_or_path))
    source, _, target = path.stem.partition("__")
    target = target.partition("+")[0] or f"target of {source}"
    first = source_language or _language(source)
    last = target_language or _language(target)
    hop = read_hop(path, source, target, first, last)
    return Alignment(path.stem, source, target, first, last, (hop,))


def _language(name: str) -> str:
    return LANGUAGES.get(ontology_name(name), "zh" if name.endswith("zh") else "en")


@cache
def _shipped(name: str) -> Alignment:
    ends = [ontology_name(end) for end in name.split("__")]
    if len(ends) != 2 or any(end not in LANGUAGES for end in ends):
        known = [f"{a}__{b}" for a in _ORDER for b in _ORDER if a != b]
        raise UnknownNameError("alignment", name, known, mend="or give the path of a CSV file")
    source, target = ends
    start, stop = _ORDER.index(source), _ORDER.index(target)
    step = 1 if stop > start else -1
    route = [_ORDER[i] for i in range(start, stop + step, step)] if start != stop else [source]
    hops = tuple(_shipped_hop(a, b) for a, b in pairwise(route))
    return Alignment(f"{source}__{target}", source, target, LANGUAGES[source], LANGUAGES[target], hops)


@cache
def _shipped_hop(source: str, target: str) -> Hop:
    if (source, target) not in _FILES:
        return _shipped_hop(target, source).inverse()
    path = Path(str(files("dialogeval").joinpath("data", "alignments", f"{source}__{target}.csv")))
    return read_hop(path, source, target, LANGUAGES[source], LANGUAGES[target])


def compose(first: Alignment, second: Alignment) -> Alignment:
    """Go through one alignment and then through another.

    Parameters
    ----------
    first, second : Alignment
        The second begins where the first ends.

    Returns
    -------
    Alignment
        Its hops are those of both, in order, so that composing is associative.

    Raises
    ------
    UsageError
        They do not meet.

    Examples
    --------
    >>> a = compose(load_alignment("multiwoz_zh__multiwoz"), load_alignment("multiwoz__crosswoz_en"))
    >>> a.name, a.checksum == load_alignment("multiwoz_zh__crosswoz_en").checksum
    ('multiwoz_zh__crosswoz_en', True)
    """
    if (first.target, first.target_language) != (second.source, second.source_language):
        got = f"{first.target} ({first.target_language}) and {second.source} ({second.source_language})"
        raise UsageError(
            "alignments do not meet", expected="target of the first = source of the second", got=got
        )
    name = f"{first.source}__{second.target}"
    # What a name says beyond its two ontologies ("+learned") is true of the whole chain.
    marks = [a.name.removeprefix(f"{a.source}__{a.target}") for a in (first, second)]
    name += "".join(dict.fromkeys(mark for mark in marks if mark))
    ends = (first.source, second.target, first.source_language, second.target_language)
    return Alignment(name, *ends, first.hops + second.hops)


def inverse_name(alignment: Alignment) -> str:
    """Return the name of an alignment read backwards.

    Examples
    --------
    >>> inverse_name(Alignment("a__b+learned", "a", "b"))
    'b__a+learned'
    """
    rest = alignment.name.removeprefix(f"{alignment.source}__{alignment.target}")
    return f"{alignment.target}__{alignment.source}{rest}"


def joined_rows(hops: Sequence[Hop]) -> pd.DataFrame:
    """Join the rows of hops: each slot with what it becomes at the end of the chain.

    Parameters
    ----------
    hops : sequence of Hop

    Returns
    -------
    pandas.DataFrame
        Columns `COLUMNS`; converters and notes joined by ``; ``. A slot that loses its way has
        relation ``none``.

    Examples
    --------
    >>> rows = load_alignment("crosswoz__multiwoz").rows
    >>> rows.loc[rows["slot"] == "酒店类型", ["target_slot", "relation"]].values.tolist()
    [['type', 'false friend'], ['pricerange', 'broader']]
    """
    if not hops:
        return pd.DataFrame({c: pd.Series(dtype="str") for c in COLUMNS})
    records = hops[0].rows.to_dict("records")
    for hop in hops[1:]:
        following: dict[tuple[str, str], list[dict]] = {}
        for record in hop.rows.to_dict("records"):
            if record["slot"]:
                following.setdefault(slot_key(record["domain"], record["slot"]), []).append(record)
        reached: set[tuple[str, str]] = set()
        joined = []
        for record in records:
            if record["slot"] and record["target_slot"]:
                key = slot_key(record["target_domain"], record["target_slot"])
                reached.add(key)
                joined += [_join(record, after) for after in following.get(key, [_NOWHERE])]
            elif record["slot"]:
                joined.append(record)
        # What only the later hops know has no counterpart at the start of the chain.
        for record in hop.rows.to_dict("records"):
            key = slot_key(record["domain"], record["slot"])
            if record["target_slot"] and (not record["slot"] or key not in reached):
                joined.append(record | {"domain": "", "slot": "", "relation": "none", "converter": ""})
        records = joined
    frame = pd.DataFrame(records, columns=list(COLUMNS), dtype="str")
    return frame.drop_duplicates(["domain", "slot", "target_domain", "target_slot"]).reset_index(drop=True)


_NOWHERE = dict.fromkeys(COLUMNS, "") | {"relation": "none", "note": "the next alignment does not know it"}


def _join(first: dict, second: dict) -> dict:
    relations = {first["relation"], second["relation"]} - {"same"}
    if relations & {"none", "false friend"}:
        relation = "none" if "none" in relations else "false friend"
    else:
        relation = "same" if not relations else relations.pop() if len(relations) == 1 else "related"
    both = {c: "; ".join(filter(None, (first[c], second[c]))) for c in ("converter", "note")}
    both["converter"] = "" if relation in ("none", "false friend") else both["converter"]
    target = {c: second[c] for c in ("target_domain", "target_slot")}
    return first | target | both | {"relation": relation}

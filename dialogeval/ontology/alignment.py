"""Alignments: which slot of one ontology stands for which slot of another, and what happens to values.

An alignment is a chain of hops, each one CSV file read forwards or backwards. The cell ``converter`` names
what happens to a value: nothing, a table (``values:``, ``list:``, ``any:`` and its file, ``a=b|c=d``,
``open``), or a function (``yuan_en``, ``class_to_cost``). Files in, alignments out.
"""

from __future__ import annotations

import csv
import difflib
import hashlib
import io
import json
import os
import re
from dataclasses import dataclass, field
from functools import cache, cached_property, reduce
from itertools import pairwise
from pathlib import Path

import pandas as pd

from dialogeval.exceptions import AlignmentError, DataFileError, UnknownNameError, UsageError, show
from dialogeval.files import read_bytes
from dialogeval.normalize import normalize_slot
from dialogeval.ontology.converters import CONVERTERS, TABLE_KINDS, Pairs, inverse_converter, value_key
from dialogeval.writing import write_all

COLUMNS = ("domain", "slot", "target_domain", "target_slot", "relation", "converter", "note")
#: ``broader``: the target is broader. ``false friend``: the names agree, the meanings do not.
#: ``none``: looked at, and the other ontology has no counterpart.
RELATIONS = ("same", "broader", "narrower", "related", "false friend", "none")
#: The ontologies that the package aligns, each with its neighbours in this order, and their languages.
LANGUAGES = {"multiwoz_zh": "zh", "multiwoz": "en", "crosswoz_en": "en", "crosswoz": "zh"}
SLOT, TARGET = ["domain", "slot"], ["target_domain", "target_slot"]
_FOLDER = Path(__file__).parents[1] / "data" / "alignments"


# Files --------------------------------------------------------------------------------------------


def slot_key(domain: str, slot: str) -> tuple[str, str]:
    """Return a slot as alignments are searched for it: without case, spaces and underscores."""
    return domain.strip().lower(), normalize_slot(domain, slot.strip(), ["slots:plain"])


def slot_keys(table: pd.DataFrame, columns: list[str] = SLOT) -> pd.Series:
    """Return the keys of a table's slots; see `slot_key`."""
    keys = [slot_key(*slot) for slot in table[columns].itertuples(index=False, name=None)]
    return pd.Series(keys, index=table.index, dtype="object")


@dataclass(frozen=True, eq=False)
class Hop:
    """One alignment file, read in one direction; the index of its rows is their line in the file."""

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
        """Return the same file read backwards."""
        swap = dict(zip([*SLOT, *TARGET], [*TARGET, *SLOT], strict=True))
        rows = self.rows.rename(columns=swap)[list(COLUMNS)]
        rows["relation"] = rows["relation"].replace({"broader": "narrower", "narrower": "broader"})
        rows["converter"] = rows["converter"].map(inverse_converter)
        check_rows(rows, f"{self.source}__{self.target} read backwards")
        values = {name: tuple((b, a) for a, b in pairs) for name, pairs in self.values.items()}
        return Hop(self.target, self.source, self.target_language, self.source_language, rows, values)

    @cached_property
    def content(self) -> list[object]:
        """What decides the mapping, in an order of its own: for the checksum."""
        rows = self.rows[list(COLUMNS[:-1])].values.tolist()
        rows = sorted([*slot_key(*row[:2]), *row[2:]] for row in rows)
        tables = [
            [name, *(sorted({value_key(p[i]): p[1 - i] for p in reversed(pairs)}.items()) for i in (0, 1))]
            for name, pairs in sorted(self.values.items())
        ]
        return [self.source, self.target, self.source_language, self.target_language, rows, tables]


def _read_csv(path: Path, columns: tuple[str, ...], optional: tuple[str, ...] = ()) -> pd.DataFrame:
    """Read a table of texts; its index is the line that a row ends on."""
    try:
        reader = csv.reader(io.StringIO(read_bytes(path).decode("utf-8-sig"), newline=""), strict=True)
        rows = [(reader.line_num, [cell.strip() for cell in row]) for row in reader]
    except (UnicodeDecodeError, csv.Error) as error:
        raise DataFileError(f"is no CSV in UTF-8 ({error})", file=path) from None
    (_, header), *rows = [row for row in rows if any(row[1])] or [(1, [])]
    wanted = set(columns) - set(optional)
    if not wanted <= set(header) <= set(columns) or len(set(header)) < len(header):
        got = ", ".join(header)[:200]
        raise DataFileError("columns are wrong", file=path, expected=", ".join(columns), got=got)
    if not rows:
        raise DataFileError("has no rows", file=path, expected="a row for each pair")
    if bad := [line for line, row in rows if len(row) != len(header)]:
        mend = "put cells with a comma into quotation marks"
        raise DataFileError(f"line {bad[0]}", file=path, expected=f"{len(header)} cells", mend=mend)
    frame = pd.DataFrame([row for _, row in rows], columns=header, index=[line for line, _ in rows])
    return frame.reindex(columns=list(columns), fill_value="").astype("str")


def read_hop(path: Path, source: str, target: str, source_language: str, target_language: str) -> Hop:
    """Read and check one alignment file; value tables lie in ``values`` beside it."""
    rows = _read_csv(path, COLUMNS, COLUMNS[-2:])
    check_rows(rows, str(path))
    values: dict[str, Pairs] = {}
    for line, converter in rows["converter"].drop_duplicates().items():
        kind, _, name = converter.partition(":")
        file = path.parent / "values" / f"{name or 'open'}.csv"
        if kind not in TABLE_KINDS and (converter != "open" or not file.is_file()):
            continue
        # The name becomes a file name: letters only, so that it cannot lead out of the folder.
        if (name and not re.fullmatch(r"[A-Za-z0-9_-]{1,80}", name)) or not file.is_file():
            problem = f"line {line}: unknown value table {name[:80]!r}"
            raise AlignmentError(problem, file=path, mend="add it to the folder values, or mend the name")
        table = _read_csv(file, ("value", "target_value"))
        if (bad := (table == "").any(axis=1) | table.duplicated()).any():
            problem = f"line {bad.idxmax()}: an empty value, or the same row as before"
            raise AlignmentError(problem, file=file)
        values[name or "open"] = tuple(table.itertuples(index=False, name=None))
    return Hop(source, target, source_language, target_language, rows, values)


def check_rows(rows: pd.DataFrame, file: str) -> None:
    """Refuse rows that say nothing clear, and two targets of one slot that no value decides between."""
    pair = r"\s*[^=|\s][^=|]*=\s*[^=|\s][^=|]*"
    converter, relation = rows["converter"], rows["relation"]
    table = converter.str.partition(":")[0].isin(TABLE_KINDS)
    table |= converter.str.fullmatch(rf"{pair}(?:\|{pair})*")
    filled = [(rows[side] != "").sum(axis=1) for side in (SLOT, TARGET)]
    one_side = (filled[0] + filled[1] == 2) & (filled[0] != 1)
    none, unmapped = relation == "none", relation.isin(["none", "false friend"])
    keys = pd.DataFrame({"key": slot_keys(rows), "target": slot_keys(rows, TARGET)})
    undecided = keys["key"].isin(keys["key"][~unmapped & ~(table & (relation != "same"))])
    second = keys["key"].where(~unmapped).duplicated() & ~unmapped
    known = ("values:TABLE", "list:TABLE", "any:TABLE", "open", "a=b|c=d", *CONVERTERS)
    problems = {
        f"unknown relation (known: {', '.join(RELATIONS)})": ~relation.isin(RELATIONS),
        f"unknown converter (known: {', '.join(known)})": ~(table | converter.isin(["", *known[3:]])),
        "relation none: expected a slot on one side only": none & ~one_side,
        "expected a slot on both sides": ~none & (filled[0] + filled[1] != 4),
        "nothing is mapped here: expected no converter": unmapped & (converter != ""),
        "the same pair of slots as before": keys.duplicated(),
        "two targets for one slot, and no value decides": second & undecided,
    }
    for problem, wrong in problems.items():
        if wrong.any():
            row = rows[wrong].iloc[0, :-1]
            raise AlignmentError(f"line {row.name}: {problem}", file=file, got=", ".join(row)[:200])


def save_alignment(alignment: Alignment, path: str | os.PathLike[str]) -> Path:
    """Write an alignment of one hop as CSV, its value tables into ``values`` beside it."""
    path = Path(path)
    if len(alignment.hops) != 1 or path.suffix != ".csv":
        got = f"{len(alignment.hops)} steps and {path.name}"
        raise UsageError("cannot save", expected="an alignment of one step and a .csv", got=got)
    (hop,) = alignment.hops
    frames = {f"values/{name}": pd.DataFrame(pairs, columns=["value", "target_value"])
              for name, pairs in hop.values.items()}  # fmt: skip
    # Last, so that an alignment that is there has its tables.
    contents = {path.parent / f"{name}.csv": frame for name, frame in frames.items()} | {path: hop.rows}
    try:
        (path.parent / "values").mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataFileError(f"cannot be written ({error.strerror or error})", file=path) from None
    # In quotation marks: a carriage return alone would end the line.
    write_all({file: f.to_csv(index=False, quoting=csv.QUOTE_ALL) for file, f in contents.items()})
    return path


# Chains -------------------------------------------------------------------------------------------


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

    @cached_property
    def rows(self) -> pd.DataFrame:
        """The slots with their counterparts through all hops: columns `COLUMNS`."""
        none = pd.DataFrame(columns=list(COLUMNS), dtype="str")
        return reduce(_joined, [h.rows for h in self.hops] or [none]).reset_index(drop=True)

    @property
    def aligned(self) -> pd.DataFrame:
        """The rows that lead somewhere."""
        return self.rows[~self.rows["relation"].isin(["none", "false friend"])]

    @cached_property
    def checksum(self) -> str:
        """Seven digits of a SHA-256 over what decides the mapping; notes and the order of rows do not."""
        content = [self.source, self.target, [hop.content for hop in self.hops]]
        return hashlib.sha256(json.dumps(content, ensure_ascii=False).encode()).hexdigest()[:7]

    @property
    def id(self) -> str:
        """Name and checksum, as a signature has them."""
        # Bars and colons of a file's name would read as fields of the signature.
        plain = re.sub(r"[^\w.+-]+", "-", self.name)
        return f"{plain}@{self.checksum}"

    @property
    def mark(self) -> str:
        """What the name says beyond its two ontologies, such as ``+learned``."""
        return self.name.removeprefix(f"{self.source}__{self.target}")

    def inverse(self) -> Alignment:
        """Return the alignment read backwards."""
        ends = (self.target, self.source, self.target_language, self.source_language)
        hops = tuple(hop.inverse() for hop in reversed(self.hops))
        return Alignment(f"{self.target}__{self.source}{self.mark}", *ends, hops)

    def then(self, other: Alignment) -> Alignment:
        """Go through this alignment and then through another."""
        meet = [(self.target, self.target_language), (other.source, other.source_language)]
        if meet[0] != meet[1]:
            got = " and ".join(f"{name} ({language})" for name, language in meet)
            raise UsageError("alignments do not meet", expected="the second to start there", got=got)
        marks = "".join(dict.fromkeys((self.mark, other.mark)))
        ends = (self.source, other.target, self.source_language, other.target_language)
        return Alignment(f"{self.source}__{other.target}{marks}", *ends, self.hops + other.hops)

    def __repr__(self) -> str:
        counts = self.aligned["relation"].value_counts().sort_index()
        said = ", ".join(f"{n} {relation}" for relation, n in counts.items())
        return f"Alignment({self.id}: {said or 'an ontology with itself'})"


def _joined(first: pd.DataFrame, second: pd.DataFrame) -> pd.DataFrame:
    """Join the rows of two hops: each slot with what it becomes at the end."""
    following: dict[tuple[str, str], list[dict]] = {}
    for after in second[second["slot"] != ""].to_dict("records"):
        following.setdefault(slot_key(after["domain"], after["slot"]), []).append(after)
    nowhere = dict.fromkeys(COLUMNS, "") | {"relation": "none", "note": "the next alignment does not know it"}
    reached, rows = set(), []
    for row in first[first["slot"] != ""].to_dict("records"):
        key = slot_key(row["target_domain"], row["target_slot"])
        reached.add(key)
        for after in following.get(key, [nowhere]) if row["target_slot"] else ():
            relations = {row["relation"], after["relation"]} - {"same"}
            broken = next((r for r in ("none", "false friend") if r in relations), "")
            whole = "related" if len(relations) > 1 else next(iter(relations), "same")
            both = {c: "; ".join(filter(None, (row[c], after[c]))) for c in ("converter", "note")}
            both |= {"converter": ""} if broken else {}
            rows.append(row | {c: after[c] for c in TARGET} | both | {"relation": broken or whole})
        rows += [row] * (not row["target_slot"])
    # What only the later hops know has no counterpart at the start of the chain.
    for after in second[second["target_slot"] != ""].to_dict("records"):
        if not after["slot"] or slot_key(after["domain"], after["slot"]) not in reached:
            rows.append(after | {"domain": "", "slot": "", "relation": "none", "converter": ""})
    return pd.DataFrame(rows, columns=list(COLUMNS), dtype="str").drop_duplicates([*SLOT, *TARGET])


def ontology_name(corpus: str) -> str:
    """Return the ontology of a corpus: its name without folder and version."""
    return corpus.removeprefix("sample/").rstrip("0123456789")


def load_alignment(
    alignment: str | os.PathLike[str] | Alignment,
    source_language: str | None = None,
    target_language: str | None = None,
) -> Alignment:
    """Load an alignment that comes with the package, or a file.

    Parameters
    ----------
    alignment : str, path-like or Alignment
        ``SOURCE__TARGET`` of any two of multiwoz, multiwoz_zh, crosswoz and crosswoz_en (names of
        corpora such as ``multiwoz21`` will do), or the path of a CSV file. The file's name says what
        it joins, when it is ``SOURCE__TARGET.csv``. An alignment is returned as it is.
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
    DataFileError
        A file that is missing, or is no such table in UTF-8.
    AlignmentError
        Rows that contradict each other, or name what does not exist.

    Examples
    --------
    >>> load_alignment("multiwoz21__multiwoz_zh").rows.loc[0, "target_slot"]
    '名称'
    >>> len(load_alignment("multiwoz_zh__crosswoz").hops)
    3
    """
    if isinstance(alignment, Alignment):
        return alignment
    if not isinstance(alignment, (str, os.PathLike)):
        expected = "an Alignment, a name such as multiwoz__crosswoz_en, or the path of a CSV file"
        raise UsageError("alignment", expected=expected, got=show(alignment))
    path = Path(alignment)
    if path.suffix != ".csv" and not path.is_file():
        return _shipped(str(alignment))
    source, _, target = path.stem.partition("__")
    target = target.partition("+")[0] or f"target of {source}"
    languages = (source_language or _language(source), target_language or _language(target))
    return Alignment(path.stem, source, target, *languages, (read_hop(path, source, target, *languages),))


def _language(name: str) -> str:
    return LANGUAGES.get(ontology_name(name), "zh" if name.endswith("zh") else "en")


@cache
def _shipped(name: str) -> Alignment:
    ends, order = [ontology_name(end) for end in name.split("__")], list(LANGUAGES)
    if len(ends) != 2 or not set(ends) <= set(order):
        known = [f"{a}__{b}" for a in order for b in order if a != b]
        raise UnknownNameError("alignment", name, known, mend="or give the path of a CSV file")
    start, stop = map(order.index, ends)
    route = order[start : stop + 1] if start <= stop else order[stop : start + 1][::-1]
    itself = Alignment("__".join([ends[0]] * 2), ends[0], ends[0], LANGUAGES[ends[0]], LANGUAGES[ends[0]])
    return reduce(Alignment.then, [_neighbours(a, b) for a, b in pairwise(route)], itself)


@cache
def _neighbours(source: str, target: str) -> Alignment:
    file = _FOLDER / f"{source}__{target}.csv"
    return load_alignment(file) if file.is_file() else _neighbours(target, source).inverse()


def check_alignment(
    alignment: Alignment,
    source_slots: pd.DataFrame | None = None,
    target_slots: pd.DataFrame | None = None,
) -> None:
    """Check that the slots an alignment names exist in two tables of slots."""
    for side, columns, known in (("source", SLOT, source_slots), ("target", TARGET, target_slots)):
        if known is None:
            continue
        # "Hotel Facilities - Gym" is in the ontology what "Hotel Facilities" is in the states.
        both = pd.concat([known[SLOT], known[SLOT].assign(slot=known["slot"].str.partition(" - ")[0])])
        keys, rows = set(slot_keys(both)), alignment.rows
        lacking = rows[(rows[columns[1]] != "") & ~slot_keys(rows, columns).isin(keys)]
        if len(lacking):
            name = "/".join(lacking.iloc[0][columns])
            close = difflib.get_close_matches(name, both["domain"] + "/" + both["slot"], n=1)
            mend = f"did you mean {close[0]}?" if close else None
            raise AlignmentError(f"{side} has no slot {name}", file=alignment.name, mend=mend)

"""Chains of alignments: composed, read backwards, and found by the names of two ontologies.

The files that come with the package join four ontologies in a row; any other pair of the four is
reached by going through them, forwards or backwards.
"""

from __future__ import annotations

import csv
import difflib
import hashlib
import io
import json
import os
import re
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property, lru_cache, partial
from importlib.resources import files
from itertools import pairwise
from pathlib import Path
from typing import Any

import pandas as pd

from dialogeval.exceptions import AlignmentError, DataFileError, UnknownNameError, UsageError, show
from dialogeval.files import read_bytes
from dialogeval.normalize import NOT_FILLED, normalize_slot, normalize_value
from dialogeval.writing import write_all

_OPPOSITE = {"broader": "narrower", "narrower": "broader"}


@dataclass(frozen=True, eq=False)
class Hop:
    """One alignment file, read in one direction."""

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
    >>> from dialogeval.ontology.mapping import load_alignment
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
        """The slots with their counterparts through all hops: columns `COLUMNS`."""

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
        """Return the alignment read backwards."""

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


COLUMNS = ("domain", "slot", "target_domain", "target_slot", "relation", "converter", "note")
_OPTIONAL = ("converter", "note")
#: ``broader``: the target is broader. ``false friend``: the names agree, the meanings do not.
#: ``none``: looked at, and the other ontology has no counterpart.
RELATIONS = ("same", "broader", "narrower", "related", "false friend", "none")


def slot_key(domain: str, slot: str) -> tuple[str, str]:
    """Return a slot as alignments are searched for it: without case, spaces and underscores."""
    return domain.strip().lower(), normalize_slot(domain, slot.strip(), ["slots:plain"])


def check_rows(rows: pd.DataFrame, file: str, lines: Sequence[int], unit: str = "line") -> None:
    """Check the rows of an alignment, whose value tables were found, for what contradicts itself."""
    seen: dict[tuple, int] = {}
    for line, row in zip(lines, rows.to_dict("records"), strict=True):
        where = f"{unit} {line}"
        _check_relation(row, file, where)
        converter = row["converter"]
        if "=" in converter:
            try:
                check_pairs(inline_pairs(converter), file, [line] * converter.count("="), unit)
            except ValueError as error:
                raise AlignmentError(
                    f"{where}: converter", file=file, expected="value=target|value=target", got=str(error)
                ) from None
        elif not (converter in ("", "open", *CONVERTERS) or converter.partition(":")[0] in TABLE_KINDS):
            guess = difflib.get_close_matches(converter, CONVERTERS, n=1)
            raise AlignmentError(
                f"{where}: unknown converter",
                file=file,
                expected=f"values:TABLE, list:TABLE, any:TABLE, open, a=b|c=d or {', '.join(CONVERTERS)}",
                got=repr(converter[:60]),
                mend=f"did you mean {guess[0]}?" if guess else None,
            )
        key = (*slot_key(row["domain"], row["slot"]), *slot_key(row["target_domain"], row["target_slot"]))
        if key in seen:
            first = f"{unit} {seen[key]}"
            raise AlignmentError(f"{where}: the same pair of slots as {first}", file=file, mend="keep one")
        seen[key] = line
    check_targets(rows, file, lines, unit)


def _check_relation(row: Mapping[Hashable, str], file: str, where: str) -> None:
    if row["relation"] not in RELATIONS:
        guess = difflib.get_close_matches(row["relation"], RELATIONS, n=1)
        raise AlignmentError(
            f"{where}: unknown relation",
            file=file,
            expected=", ".join(RELATIONS),
            got=repr(row["relation"][:60]),
            mend=f"did you mean {guess[0]}?" if guess else None,
        )
    sides = [(row["domain"], row["slot"]), (row["target_domain"], row["target_slot"])]
    filled = [bool(d and s) for d, s in sides]
    half = any(bool(d) != bool(s) for d, s in sides)
    if half or sum(filled) != (1 if row["relation"] == "none" else 2):
        raise AlignmentError(
            f"{where}: relation {row['relation']}",
            file=file,
            expected="a slot on one side only" if row["relation"] == "none" else "a slot on both sides",
            got=f"{row['domain']}/{row['slot']} and {row['target_domain']}/{row['target_slot']}",
        )
    if row["relation"] in ("none", "false friend") and row["converter"]:
        raise AlignmentError(
            f"{where}: relation {row['relation']}",
            file=file,
            expected="no converter, as nothing is mapped",
            got=repr(row["converter"][:60]),
        )


def check_targets(rows: pd.DataFrame, file: str, lines: Sequence[int], unit: str) -> None:
    """Refuse two targets for one slot that no value decides between, and rows that lead round."""
    mapped = [
        (line, slot_key(r["domain"], r["slot"]), slot_key(r["target_domain"], r["target_slot"]), r)
        for line, r in zip(lines, rows.to_dict("records"), strict=True)
        if r["relation"] not in ("none", "false friend")
    ]
    by_slot: dict[tuple[str, str], list] = {}
    for line, key, _, row in mapped:
        by_slot.setdefault(key, []).append((line, row))
    for group in by_slot.values():
        if len(group) > 1 and any(not _decides(row) for _, row in group):
            (first, one), (second, two) = group[:2]
            raise AlignmentError(
                f"{unit} {second}: two targets for {two['domain']}/{two['slot']}",
                file=file,
                expected="one row, or rows of relation broader, narrower or related with value tables",
                got=f"{one['target_domain']}/{one['target_slot']} ({unit} {first}) and "
                f"{two['target_domain']}/{two['target_slot']}",
                mend="keep one, or let the values decide",
            )
    steps: dict[Hashable, Hashable] = {key: target for _, key, target, _ in mapped if key != target}
    _check_round(steps, {key: line for line, key, _, _ in mapped}, file, unit, "slots", "/".join)


def _name(row: Mapping[Hashable, str], side: str = "") -> str:
    return f"{row[side + 'domain']}/{row[side + 'slot']}"


def _decides(row: Mapping[Hashable, str]) -> bool:
    kind = row["converter"].partition(":")[0]
    return row["relation"] != "same" and (kind in TABLE_KINDS or "=" in row["converter"])


def check_pairs(pairs: Pairs, file: str, lines: Sequence[int], unit: str = "line") -> None:
    """Check a value table: no empty cell, no row twice, no values that lead round in a circle."""
    seen: dict[tuple[str, str], int] = {}
    steps: dict[Hashable, Hashable] = {}
    where: dict[Hashable, int] = {}
    for line, pair in zip(lines, pairs, strict=True):
        if not all(pair):
            got = f"{pair[0]!r} and {pair[1]!r}"
            raise AlignmentError(f"{unit} {line}", file=file, expected="a value on both sides", got=got)
        if pair in seen:
            first = f"{unit} {seen[pair]}"
            raise AlignmentError(f"{unit} {line}: the same row as {first}", file=file, mend="keep one")
        seen[pair] = line
        value, target = map(value_key, pair)
        if value != target and value not in steps:
            steps[value], where[value] = target, line
    _check_round(steps, where, file, unit, "values", str)


def _check_round(
    steps: Mapping[Hashable, Hashable],
    lines: Mapping[Hashable, int],
    file: str,
    unit: str,
    what: str,
    show: Callable[[Any], str],
) -> None:
    """Refuse steps that, taken one after the other, lead back to where they began."""
    done: set[Hashable] = set()
    for start in steps:
        path: list[Hashable] = []
        on_path: set[Hashable] = set()
        at = start
        while at in steps and at not in done and at not in on_path:
            path.append(at)
            on_path.add(at)
            at = steps[at]
        if at in on_path:
            ring = [*path[path.index(at) :], at]
            raise AlignmentError(
                f"{unit} {lines[ring[-2]]}: {what} lead round in a circle",
                file=file,
                got=" > ".join(map(show, ring))[:200],
                mend="take out one of these rows",
            )
        done |= on_path


def check_alignment(
    alignment: Alignment,
    source_slots: pd.DataFrame | None = None,
    target_slots: pd.DataFrame | None = None,
) -> None:
    """Check that the slots an alignment names exist."""
    sides = (
        ("source", "domain", "slot", source_slots),
        ("target", "target_domain", "target_slot", target_slots),
    )
    for side, domain, slot, known in sides:
        if known is None:
            continue
        pairs = known[["domain", "slot"]].drop_duplicates().itertuples(index=False, name=None)
        names = {
            slot_key(d, s): f"{d}/{s}"
            for d, slot_name in pairs
            for s in (slot_name, slot_name.partition(" - ")[0])
        }
        for d, s in alignment.rows[[domain, slot]].drop_duplicates().itertuples(index=False, name=None):
            if s and slot_key(d, s) not in names:
                close = difflib.get_close_matches(f"{d}/{s}", names.values(), n=1)
                raise AlignmentError(
                    f"{side} has no slot {d}/{s}",
                    file=alignment.name,
                    mend=f"did you mean {close[0]}?" if close else "mend the row or leave it out",
                )


_OPTIONAL_of_reading = ("converter", "note")
MAX_FILE, MAX_ROWS, MAX_CELL = 20 * 1024**2, 200_000, 1_000


def read_hop(
    path: str | os.PathLike[str], source: str, target: str, source_language: str, target_language: str
) -> Hop:
    """Read and check one alignment file; value tables lie in ``values`` beside it."""
    rows, lines = _read_csv(path, COLUMNS, _OPTIONAL_of_reading)
    values: dict[str, Pairs] = {}
    folder = Path(path).parent / "values"
    for line, converter in zip(lines, rows["converter"], strict=True):
        name = _table_name(converter, path, line)
        if not name or name in values or (name == "open" and not (folder / "open.csv").is_file()):
            continue
        file = folder / f"{name}.csv"
        if not file.is_file():
            there = ", ".join(sorted(p.stem for p in folder.glob("*.csv"))[:20]) or "none"
            raise AlignmentError(
                f"line {line}: unknown value table {name!r}",
                file=path,
                expected=f"{file}",
                got=f"tables {there}",
                mend="add the file or mend the name",
            )
        frame, table_lines = _read_csv(file, ("value", "target_value"))
        values[name] = tuple(frame.itertuples(index=False, name=None))
        check_pairs(values[name], str(file), table_lines, "line")
    check_rows(rows, str(path), lines)
    return Hop(source, target, source_language, target_language, rows, values)


def _read_csv(
    path: str | os.PathLike[str], columns: Sequence[str], optional: Sequence[str] = ()
) -> tuple[pd.DataFrame, list[int]]:
    data = read_bytes(path)
    if len(data) > MAX_FILE:
        raise DataFileError(f"{len(data):,} bytes are past the limit of {MAX_FILE:,}", file=path)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        where = data[: error.start].count(b"\n") + 1
        raise DataFileError(
            f"line {where} is not UTF-8", file=path, mend="save the file with the encoding UTF-8"
        ) from None
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    records: list[list[str]] = []
    lines: list[int] = []
    try:
        header = [name.strip() for name in next(reader)]
        missing = [c for c in columns if c not in header and c not in optional]
        unknown = [c for c in header if c not in columns]
        if missing or unknown or len(set(header)) < len(header):
            raise DataFileError(
                "columns are wrong",
                file=path,
                expected=", ".join(columns),
                got=", ".join(header)[:200],
                mend="mend the first line of the file",
            )
        for record in reader:
            if not any(cell.strip() for cell in record):
                continue
            if len(record) != len(header) or len(records) >= MAX_ROWS or max(map(len, record)) > MAX_CELL:
                raise DataFileError(
                    f"line {reader.line_num}",
                    file=path,
                    expected=f"{len(header)} cells of at most {MAX_CELL:,} characters, {MAX_ROWS:,} rows",
                    got=f"{len(record)} cells, {max(map(len, record)):,} characters, row {len(records) + 1:,}",
                    mend="put cells with a comma into quotation marks",
                )
            records.append([cell.strip() for cell in record])
            lines.append(reader.line_num)
    except csv.Error as error:
        raise DataFileError(f"line {reader.line_num} is no CSV ({error})", file=path) from None
    if not records:
        raise DataFileError("has no rows", file=path, expected="a row for each pair")
    frame = pd.DataFrame(records, columns=header, dtype="str")
    for name in optional:
        if name not in header:
            frame[name] = pd.Series([""] * len(frame), dtype="str")
    return frame[list(columns)], lines


def _table_name(converter: str, file: object, line: int) -> str:
    """Return the value table that a converter names; empty where it names none."""
    kind, _, name = converter.partition(":")
    if converter == "open":
        return "open"
    if kind not in TABLE_KINDS:
        return ""
    # The name becomes a file name: letters only, so that it cannot lead out of the folder.
    if not re.fullmatch(r"[A-Za-z0-9_-]{1,80}", name):
        raise AlignmentError(
            f"line {line}: bad name of a value table",
            file=str(file),
            expected="letters, digits, _ and -",
            got=repr(name[:60]),
        )
    return name


def save_alignment(alignment: Alignment, path: str | os.PathLike[str]) -> Path:
    """Write an alignment of one hop as CSV, its value tables into ``values`` beside it."""
    path = Path(path)
    if len(alignment.hops) != 1 or path.suffix != ".csv":
        got = f"{len(alignment.hops)} steps and {path.name}"
        mend = "save each step of a composed alignment by itself"
        raise UsageError("cannot save", expected="an alignment of one step and a .csv", got=got, mend=mend)
    hop = alignment.hops[0]
    contents = {}
    for name, pairs in hop.values.items():
        frame = pd.DataFrame(pairs, columns=["value", "target_value"])
        contents[path.parent / "values" / f"{name}.csv"] = _as_csv(frame)
    # Last, so that an alignment that is there has its tables.
    contents[path] = _as_csv(hop.rows)
    try:
        for folder in {file.parent for file in contents}:
            folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        problem = f"cannot be written ({error.strerror or error})"
        raise DataFileError(problem, file=path, mend="choose another folder") from None
    write_all(contents)
    return path


def _as_csv(frame: pd.DataFrame) -> str:
    # A carriage return alone is written without quotation marks, and would end the line.
    if any(frame[column].str.contains("\r", regex=False).any() for column in frame):
        return frame.to_csv(index=False, lineterminator="\n", quoting=csv.QUOTE_ALL)
    return frame.to_csv(index=False, lineterminator="\n")


#: A value table: pairs of value and target value. The first row of a value counts when it is looked
#: up, the first row of a target value when the table is read backwards.
Pairs = tuple[tuple[str, str], ...]
ValueMapping = Callable[[str], str | None]

TABLE_KINDS = ("values", "list", "any")

_DONTCARE = {"zh": "不在意"}
_NOT_MENTIONED = {"zh": "未提及"}
_LIST_SIGNS = {"zh": r"[\s,，、]+"}
#: Signs that join alternatives in one cell, in English and in Chinese.
_ALTERNATIVES = re.compile(r"([|<>]|或)")


@dataclass(frozen=True)
class Converter:
    """A function of a value, and the name of the one that leads back."""

    convert: ValueMapping
    inverse: str


# N stands for a number. The first pair whose one side fits gives the other side.
_YUAN = (
    ("N-N元", "N-N yuan"),
    ("N元以上", "N yuan or more"),
    ("N元以下", "N yuan or less"),
    ("N元", "N yuan"),
    ("免费", "free"),
    ("免费", "free admission"),
)
_POINTS = (
    ("N分以上", "N points or above"),
    ("N分以下", "N points or below"),
    ("N-N分", "N-N points"),
    ("N分", "N points"),
)
_DURATION = (
    ("N小时 - N小时", "N hours-N hours"),
    ("N小时~N小时", "N hours ~ N hours"),
    ("N小时 - N天", "N hours-N days"),
    ("N天 - N天", "N days-N days"),
    ("N-N小时", "N-N hours"),
    ("N-N天", "N-N days"),
    ("N小时", "N hours"),
    ("N个小时", "N hours"),
    ("N天", "N days"),
    ("N分钟", "N minutes"),
    ("半天", "half a day"),
    ("N", "N"),
)
_TIME = (
    ("N:N", "N:N"),
    ("N", "N"),
    ("N:N之后", "after N:N"),
    ("N:N之前", "before N:N"),
    ("晚上N点", "Npm"),
    ("早上N点", "Nam"),
)


@lru_cache(maxsize=256)
def _pattern(template: str) -> re.Pattern[str]:
    text = re.escape(re.sub(r"\s+", "", template)).replace("N", r"(\d+(?:\.\d+)?)")
    return re.compile(re.sub(r"(hour|day|minute|point)s", r"\1s?", text), re.IGNORECASE)


def _rephrase(value: str, rules: tuple[tuple[str, str], ...], to: int) -> str | None:
    bare = re.sub(r"\s+", "", value)
    for rule in rules:
        if match := _pattern(rule[1 - to]).fullmatch(bare):
            text = rule[to].replace("N", "{}").format(*match.groups())
            return re.sub(r"(?<![\d.])1 (hour|day|minute)s", r"1 \1", text)
    return None


#: CrossWOZ's bands of yuan a head, by the price class that we read them as: the class's own band first.
_BANDS = {"cheap": "50 yuan or less", "moderate": "50-100 yuan", "expensive": "150-500 yuan"}


def _class_to_cost(value: str) -> str | None:
    return _BANDS.get(value_key(value))


def _cost_to_class(value: str) -> str | None:
    """Class a band by its middle: to 50 yuan a head cheap, to 150 moderate, above expensive."""
    bare = re.sub(r"\s+", "", value.lower())
    match = re.fullmatch(r"(\d+(?:\.\d+)?)(?:-(\d+(?:\.\d+)?))?yuan(ormore|orless)?", bare)
    if not match:
        return None
    low, high = float(match[1]), float(match[2] or match[1])
    middle = low / 2 if match[3] == "orless" else (low + high) / 2
    return "cheap" if middle <= 50 else "moderate" if middle <= 150 else "expensive"


def _stars_to_points(value: str) -> str | None:
    match = re.fullmatch(r"([1-5])(?: ?stars?)?", value_key(value))
    return ("5 points" if match[1] == "5" else f"{match[1]} points or above") if match else None


def _points_to_stars(value: str) -> str | None:
    match = re.fullmatch(r"([1-5])(?:\.0)? points(?: or above)?", value_key(value))
    return match[1] if match else None


CONVERTERS: dict[str, Converter] = {
    "class_to_cost": Converter(_class_to_cost, "cost_to_class"),
    "cost_to_class": Converter(_cost_to_class, "class_to_cost"),
    "stars_to_points": Converter(_stars_to_points, "points_to_stars"),
    "points_to_stars": Converter(_points_to_stars, "stars_to_points"),
}
for _kind, _forms in {"yuan": _YUAN, "points": _POINTS, "duration": _DURATION, "time": _TIME}.items():
    CONVERTERS[f"{_kind}_zh"] = Converter(partial(_rephrase, rules=_forms, to=0), f"{_kind}_en")
    CONVERTERS[f"{_kind}_en"] = Converter(partial(_rephrase, rules=_forms, to=1), f"{_kind}_zh")


def value_key(value: str) -> str:
    """Return a value as tables are searched for it: without regard to case and white space."""
    return " ".join(value.casefold().split())


def is_special(value: str) -> bool:
    """Say whether a value means "do not care" or "no value yet", which every mapping knows."""
    bare = value.strip().lower()
    return bare in NOT_FILLED or bare == "none" or normalize_value(value, ["dontcare:unify"]) == "dontcare"


def inline_pairs(converter: str) -> Pairs:
    """Return the pairs of a converter written as a small table."""
    pairs = []
    for piece in converter.split("|"):
        value, sign, target = (part.strip() for part in piece.partition("="))
        if not (sign and value and target) or "=" in target:
            raise ValueError(f"{piece!r} is not value=target")
        pairs.append((value, target))
    return tuple(pairs)


def value_mapping(
    converter: str, values: Mapping[str, Pairs], source_language: str = "en", target_language: str = "en"
) -> ValueMapping:
    """Return the function behind a cell ``converter``."""
    kind, _, name = converter.partition(":")
    if not converter:
        inner: ValueMapping = lambda value: value  # noqa: E731
    elif converter in CONVERTERS:
        inner = CONVERTERS[converter].convert
    else:
        pairs = values.get("open", ()) if converter == "open" else ()
        if kind in TABLE_KINDS and name:
            pairs = values[name]
        elif not pairs and "=" in converter:
            pairs = inline_pairs(converter)
        inner = _table(pairs, kind, source_language, target_language)

    def convert(value: str) -> str | None:
        if not is_special(value):
            return inner(value)
        bare = value.strip().lower()
        if source_language == target_language or bare in ("", "none"):
            return value
        if bare in NOT_FILLED:
            return _NOT_MENTIONED.get(target_language, "not mentioned")
        return _DONTCARE.get(target_language, "dontcare")

    return convert


def _table(pairs: Iterable[tuple[str, str]], kind: str, source: str, target: str) -> ValueMapping:
    known: dict[str, str] = {}
    for value, translated in pairs:
        known.setdefault(value_key(value), translated)
    joint = " " if target == "zh" else ","
    either = "或" if target == "zh" else "|"

    def convert(value: str) -> str | None:
        if (found := known.get(value_key(value))) is not None:
            return found
        if kind in ("list", "any"):
            items = [i for i in re.split(_LIST_SIGNS.get(source, r","), value) if i.strip()]
            found_items = [known.get(value_key(item)) for item in items]
            kept = list(dict.fromkeys(i for i in found_items if i is not None))
            if kept and (kind == "any" or None not in found_items):
                return joint.join(kept)
            return None
        pieces = _ALTERNATIVES.split(value)
        new = [known.get(value_key(piece)) for piece in pieces[::2]]
        if len(pieces) == 1 or None in new:
            return None
        signs = [either if s in "|或" else s for s in pieces[1::2]]
        return "".join(str(p) + s for p, s in zip(new, [*signs, ""], strict=True))

    return convert


#: The ontologies that the package aligns, each with its neighbours in this order, and their languages.
LANGUAGES = {"multiwoz_zh": "zh", "multiwoz": "en", "crosswoz_en": "en", "crosswoz": "zh"}
_ORDER = list(LANGUAGES)
_FILES = {
    ("multiwoz", "multiwoz_zh"),
    ("multiwoz", "crosswoz_en"),
    ("crosswoz", "crosswoz_en"),
}


def ontology_name(corpus: str) -> str:
    """Return the ontology of a corpus: its name without folder and version."""
    return corpus.removeprefix("sample/").rstrip("0123456789")


def known_slots(ontology: str) -> pd.DataFrame:
    """Return the slots of an ontology that the package's own alignments speak of; none for others."""
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
    """Go through one alignment and then through another."""
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
    """Return the name of an alignment read backwards."""
    rest = alignment.name.removeprefix(f"{alignment.source}__{alignment.target}")
    return f"{alignment.target}__{alignment.source}{rest}"


def joined_rows(hops: Sequence[Hop]) -> pd.DataFrame:
    """Join the rows of hops: each slot with what it becomes at the end of the chain."""
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

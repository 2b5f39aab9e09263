"""What an alignment must keep to: known relations and converters, one target a slot, no circles, known slots.

In: the rows of an alignment file or of a value table. Out: nothing, or one line that names the row.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pandas as pd

from ..exceptions import AlignmentError
from ..normalize import normalize_slot
from .converters import CONVERTERS, TABLE_KINDS, Pairs, inline_pairs, value_key

if TYPE_CHECKING:
    from .table import Alignment

__all__ = ["COLUMNS", "RELATIONS", "check_alignment"]

COLUMNS = ("domain", "slot", "target_domain", "target_slot", "relation", "converter", "note")
_OPTIONAL = ("converter", "note")
#: ``broader``: the target is broader. ``false friend``: the names agree, the meanings do not.
#: ``none``: looked at, and the other ontology has no counterpart.
RELATIONS = ("same", "broader", "narrower", "related", "false friend", "none")


def slot_key(domain: str, slot: str) -> tuple[str, str]:
    """Return a slot as alignments are searched for it: without case, spaces and underscores."""
    return domain.strip().lower(), normalize_slot(domain, slot.strip(), ["slots:plain"])


def check_rows(rows: pd.DataFrame, file: str, lines: Sequence[int], unit: str = "line") -> None:
    """Check the rows of an alignment, whose value tables were found, for what contradicts itself.

    Parameters
    ----------
    rows : pandas.DataFrame
    file : str
        For messages.
    lines : sequence of int
        Line of each row in the file.
    unit : str
        What ``lines`` counts.

    Raises
    ------
    AlignmentError

    Examples
    --------
    >>> row = pd.DataFrame([["hotel", "area", "Hotel", "", "same", "", ""]], columns=COLUMNS)
    >>> check_rows(row, "a.csv", [2])
    Traceback (most recent call last):
    ...
    dialogeval.exceptions.AlignmentError: a.csv: line 2: relation same: expected a slot on both sides, got ...
    """
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
    """Check a value table: no empty cell, no row twice, no values that lead round in a circle.

    Parameters
    ----------
    pairs : tuple of (value, target value)
    file, lines, unit
        As for `check_rows`.

    Raises
    ------
    AlignmentError

    Examples
    --------
    >>> check_pairs((("cheap", "low"), ("low", "cheap")), "prices.csv", [2, 3])
    Traceback (most recent call last):
    ...
    dialogeval.exceptions.AlignmentError: prices.csv: line 3: values lead round in a circle, got cheap > ...
    """
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
    """Check that the slots an alignment names exist.

    Parameters
    ----------
    alignment : Alignment
    source_slots, target_slots : pandas.DataFrame, optional
        Columns domain, slot: of an ontology, of the states of a corpus, or both. A slot
        ``Hotel Facilities`` is known where ``Hotel Facilities - Gym`` is.

    Raises
    ------
    AlignmentError
        The first slot that does not exist, with the closest one that does.

    Examples
    --------
    >>> from dialogeval.alignment import load_alignment
    >>> slots = pd.DataFrame({"domain": ["hotel"], "slot": ["area"]})
    >>> check_alignment(load_alignment("multiwoz__multiwoz_zh"), slots)
    Traceback (most recent call last):
    ...
    dialogeval.exceptions.AlignmentError: multiwoz__multiwoz_zh: source has no slot restaurant/name; mend ...
    """
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

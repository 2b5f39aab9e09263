"""Placeholders of slots: what stands in delexicalised text for a value of a slot.

In: a domain and a slot as dialogue acts, states, goals or ontologies of any of the corpora call
them. Out: the placeholder. The names lie in ``data/act_slots.csv`` and ``data/act_domains.csv``;
they are those that the normalisation of responses knows (``data/placeholders.csv``), and some more
for CrossWOZ.
"""

from __future__ import annotations

import csv
import difflib
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib import resources

import pandas as pd

from dialogeval.exceptions import UnknownNameError, UsageError, show
from dialogeval.resources import lookup

#: A placeholder with the plural ending that may stand straight after it.
_BRACKETED = re.compile(r"\[([^\[\]]+)\](?:-?e?s)?")
_NAME = re.compile(r"[A-Z][A-Z0-9_]*")
#: Scripts written without spaces: their characters end a word, where ``\b`` sees letters.
_UNSPACED = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"


def placeholder_table(extra: pd.DataFrame | None = None) -> pd.DataFrame:
    """Return the known placeholder names, with those of the user if there are any."""
    names = _names(None)
    if extra is not None:
        names |= _checked(extra)
    return pd.DataFrame({"variant": list(names), "canonical": list(names.values())}, dtype="str")


def canonical_names(table: pd.DataFrame | None = None) -> tuple[str, ...]:
    """Return the canonical names, each once, in alphabetical order."""
    return tuple(sorted(set(_names(table).values())))


def canonicalize_placeholders(
    texts: Iterable[str], table: pd.DataFrame | None = None
) -> tuple[list[str], Counter[str]]:
    """Replace every ``[placeholder]`` by its canonical upper-case name."""
    names = _names(table)
    unknown: Counter[str] = Counter()
    texts = list(texts)
    repeats = Counter(t for t in texts if "[" in t)
    done: dict[str, str] = {}
    for text, times in repeats.items():

        def name(match: re.Match[str], times: int = times) -> str:
            variant = _fold(match[1])
            if variant not in names:
                unknown[variant] += times
            return names.get(variant, "")

        done[text] = _BRACKETED.sub(name, text)
    return [done.get(text, text) for text in texts], unknown


def unknown_notes(unknown: Mapping[str, int], table: pd.DataFrame | None = None) -> list[str]:
    """Say which placeholders were dropped as unknown, with the nearest known name of each."""
    known = list(_names(table))
    lines = []
    for name, times in sorted(unknown.items(), key=lambda item: (-item[1], item[0])):
        near = difflib.get_close_matches(name, known, n=1)
        often = "once" if times == 1 else f"{times:,} times"
        shown = name if len(name) <= 60 else name[:59] + "…"
        lines.append(
            f"unknown placeholder [{shown}] dropped ({often}); "
            + (f"nearest known: [{near[0]}]" if near else "no known name is near")
        )
    return lines


def count_unbalanced(texts: Iterable[str]) -> int:
    """Count the texts in which a square bracket opens without closing, or the reverse."""
    return sum(
        "[" in rest or "]" in rest for rest in (_BRACKETED.sub("", t).replace("[]", "") for t in texts)
    )


def read_placeholders(
    texts: Sequence[str], what: str, table: pd.DataFrame | None = None
) -> tuple[list[str], list[str]]:
    """Write placeholders as canonical names, and note those that are unknown or unbalanced."""
    unbalanced = count_unbalanced(texts)
    notes = [f"{unbalanced:,} texts with unbalanced square brackets, kept as they stand"] * bool(unbalanced)
    marked, unknown = canonicalize_placeholders(texts, table)
    names = unknown_notes(unknown)
    notes += names[:5]
    notes += [f"{len(names) - 5} more unknown placeholder names dropped"] if len(names) > 5 else []
    return marked, [f"{what}: {note}" for note in notes]


def fold_case(texts: Iterable[str], names: Iterable[str] | None = None) -> list[str]:
    """Lower-case texts, all but the canonical names that stand in them as whole words."""
    pattern = names_pattern(canonical_names() if names is None else names)
    done: dict[str, str] = {}
    out = []
    for text in texts:
        if text not in done:
            # Split at a captured group: names stand at the odd places.
            parts = pattern.split(text)
            parts[::2] = [part.lower() for part in parts[::2]]
            done[text] = "".join(parts)
        out.append(done[text])
    return out


def names_pattern(names: Iterable[str]) -> re.Pattern[str]:
    """Return the pattern that finds canonical names as whole words, also beside punctuation."""
    longest_first = sorted(map(re.escape, names), key=len, reverse=True) or [r"(?!)"]
    letter = rf"[^\W{_UNSPACED}]"
    return re.compile(rf"(?<!{letter})({'|'.join(longest_first)})(?!{letter})")


# Helpers ------------------------------------------------------------------------------------------


def _names(table: pd.DataFrame | None) -> dict[str, str]:
    if table is not None:
        return _checked(table)
    return {v: name for file in ("placeholders", "placeholders_crosswoz") for v, name in lookup(file)}


def _fold(variant: str) -> str:
    return " ".join(variant.lower().split())


def _checked(table: pd.DataFrame) -> dict[str, str]:
    """Canonical name by variant, from a table that a user may have made."""
    where = "table of placeholders"
    if not isinstance(table, pd.DataFrame):
        raise UsageError(where, expected="a DataFrame with the columns variant, canonical", got=show(table))
    missing = [c for c in ("variant", "canonical") if c not in table.columns]
    if missing:
        got = ", ".join(map(str, table.columns)) or "no column"
        raise UsageError(f"{where} lacks {' and '.join(missing)}", expected="variant, canonical", got=got)
    names: dict[str, str] = {}
    for row, (variant, canonical) in enumerate(zip(table["variant"], table["canonical"], strict=True)):
        if not isinstance(variant, str) or not _fold(variant).strip("[]"):
            raise UsageError(f"{where}, row {row}: variant", expected="a name", got=show(variant))
        if not isinstance(canonical, str) or not _NAME.fullmatch(canonical):
            got = show(canonical)
            raise UsageError(f"{where}, row {row}: canonical", expected="an upper-case word", got=got)
        folded = _fold(_fold(variant).strip("[]"))
        if names.setdefault(folded, canonical) != canonical:
            raise UsageError(
                f"{where}, row {row}: {folded!r} is {names[folded]} and {canonical}", mend="keep one of them"
            )
    return names


#: Placeholder styles: ``[value_name]``, ``[restaurant_name]`` and ``NAME``.
STYLES = ("value", "domain", "canonical")


@cache
def slot_placeholder(domain: str, slot: str, style: str = "value") -> str | None:
    """Return the placeholder of a slot as it is written into a text."""
    if style not in STYLES:
        raise UnknownNameError("placeholder style", style, STYLES)
    domain, slot = domain.strip().lower(), slot.strip().lower()
    domain = _domains().get(domain, domain)
    slots = _slots()
    # "hotel facilities - gym" is a slot of its own in CrossWOZ; the file names the family only.
    for name in (slot, slot.partition("-")[0].strip()):
        value, qualified = slots.get((domain, name)) or slots.get(("", name)) or ("", "")
        if value:
            break
    if not value:
        return None
    if style == "value":
        return f"[{value}]"
    if style == "domain":
        # The domain "booking" stands for any domain, so its placeholders name none.
        return f"[{qualified.removeprefix('{domain}_') if domain == 'booking' else qualified.format(domain=domain)}]"
    return _canonical().get(value, value.removeprefix("value_").upper())


@cache
def _slots() -> dict[tuple[str, str], tuple[str, str]]:
    return {(row["domain"], row["slot"]): (row["value"], row["qualified"]) for row in _rows("act_slots.csv")}


@cache
def _domains() -> dict[str, str]:
    return {row["domain"]: row["english"] for row in _rows("act_domains.csv")}


@cache
def _canonical() -> dict[str, str]:

    frame = placeholder_table()
    return dict(zip(frame["variant"], frame["canonical"], strict=True))


def _rows(file: str) -> list[dict[str, str]]:
    text = resources.files("dialogeval").joinpath("data", file).read_text(encoding="utf-8")
    return list(csv.DictReader(text.splitlines()))

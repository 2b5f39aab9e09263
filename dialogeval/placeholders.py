"""Placeholder names: what systems call a slot in delexicalised text, and its one canonical name.

In go texts with placeholders in square brackets, such as ``[hotel_name]``; out come the same texts
with the canonical upper-case name, ``NAME``, and a count of the placeholders that no one knows. The
names are listed in ``data/placeholders.csv``, as MultiWOZ_Evaluation knows them, and those of CrossWOZ
in ``data/placeholders_crosswoz.csv``; a user may add to them.
"""

from __future__ import annotations

import difflib
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import pandas as pd

from .exceptions import UsageError, show
from .remarks import Remark
from .resources import lookup

__all__ = [
    "canonical_names",
    "canonicalize_placeholders",
    "count_unbalanced",
    "fold_case",
    "names_pattern",
    "placeholder_table",
    "read_placeholders",
    "unknown_notes",
]

#: A placeholder with the plural ending that may stand straight after it.
_BRACKETED = re.compile(r"\[([^\[\]]+)\](?:-?e?s)?")
_NAME = re.compile(r"[A-Z][A-Z0-9_]*")
#: Scripts written without spaces: their characters end a word, where ``\b`` sees letters.
_UNSPACED = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"


def placeholder_table(extra: pd.DataFrame | None = None) -> pd.DataFrame:
    """Return the known placeholder names, with those of the user if there are any.

    Parameters
    ----------
    extra : pandas.DataFrame, optional
        Columns ``variant`` (name between the brackets, any case) and ``canonical`` (upper-case
        name); a variant that is known already gets the new canonical name.

    Returns
    -------
    pandas.DataFrame
        Columns ``variant`` (lower case, each once) and ``canonical``.

    Raises
    ------
    UsageError
        A column is missing, a cell empty, a canonical name not an upper-case word, a variant given
        two names.

    Examples
    --------
    >>> table = placeholder_table()
    >>> table.loc[table["variant"] == "hotel_name", "canonical"].tolist()
    ['NAME']
    >>> own = pd.DataFrame({"variant": ["venue"], "canonical": ["NAME"]})
    >>> len(placeholder_table(own)) - len(table)
    1
    """
    names = _names(None)
    if extra is not None:
        names |= _checked(extra)
    return pd.DataFrame({"variant": list(names), "canonical": list(names.values())}, dtype="str")


def canonical_names(table: pd.DataFrame | None = None) -> tuple[str, ...]:
    """Return the canonical names, each once, in alphabetical order.

    Parameters
    ----------
    table : pandas.DataFrame, optional
        As `placeholder_table` returns it; the project's own by default.

    Returns
    -------
    tuple of str

    Examples
    --------
    >>> canonical_names()[:3]
    ('ADDRESS', 'AREA', 'COUNT')
    """
    return tuple(sorted(set(_names(table).values())))


def canonicalize_placeholders(
    texts: Iterable[str], table: pd.DataFrame | None = None
) -> tuple[list[str], Counter[str]]:
    """Replace every ``[placeholder]`` by its canonical upper-case name.

    Parameters
    ----------
    texts : iterable of str, length n
    table : pandas.DataFrame, optional
        As `placeholder_table` returns it; the project's own by default.

    Returns
    -------
    texts : list of str, length n
        A plural ending ``s``, ``es``, ``-s`` or ``-es`` straight after the bracket is dropped with
        it; an unknown placeholder is dropped altogether. All else stays as it is.
    unknown : collections.Counter
        Unknown names (lower case) and how often they stood in the texts.

    Notes
    -----
    The ending is taken wherever it follows the bracket, so ``[value_stars]-star`` becomes
    ``COUNTtar``, as in the published scorer.

    Examples
    --------
    >>> canonicalize_placeholders(["[value_count] [Hotel_Name]s in [arrive by]", "[hotl_name] it is"])
    (['COUNT NAME in TIME', ' it is'], Counter({'hotl_name': 1}))
    """
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
    """Say which placeholders were dropped as unknown, with the nearest known name of each.

    Parameters
    ----------
    unknown : mapping of str to int
        As `canonicalize_placeholders` returns it.
    table : pandas.DataFrame, optional

    Returns
    -------
    list of str
        One line a name, the most frequent first.

    Examples
    --------
    >>> unknown_notes({"hotl_name": 2})
    ['unknown placeholder [hotl_name] dropped (2 times); nearest known: [hotel_name]']
    """
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
    """Count the texts in which a square bracket opens without closing, or the reverse.

    Parameters
    ----------
    texts : iterable of str

    Returns
    -------
    int

    Examples
    --------
    >>> count_unbalanced(["the [value_name", "[value_name] it is", "]a["])
    2
    """
    return sum(
        "[" in rest or "]" in rest for rest in (_BRACKETED.sub("", t).replace("[]", "") for t in texts)
    )


def read_placeholders(
    texts: Sequence[str], what: str, table: pd.DataFrame | None = None
) -> tuple[list[str], list[Remark]]:
    """Write placeholders as canonical names, and note those that are unknown or unbalanced.

    Parameters
    ----------
    texts : sequence of str, length n
    what : str
        How the remarks call the texts.
    table : pandas.DataFrame, optional
        As `placeholder_table` returns it; the project's own by default.

    Returns
    -------
    list of str, length n
    list of Remark

    Examples
    --------
    >>> texts, remarks = read_placeholders(["[hotel_name] in [are"], "responses")
    >>> texts, remarks[0].lines
    (['NAME in [are'], ['responses: 1 texts with unbalanced square brackets, kept as they stand'])
    """
    unbalanced = Counter(n=count_unbalanced(texts))
    marked, unknown = canonicalize_placeholders(texts, table)
    return marked, [Remark(_say_unbalanced, unbalanced, (what,)), Remark(_say_unknown, unknown, (what,))]


def _say_unbalanced(facts: Counter[str], what: str) -> list[str]:
    n = facts["n"]
    return [f"{what}: {n:,} texts with unbalanced square brackets, kept as they stand"] if n else []


def _say_unknown(facts: Counter[str], what: str) -> list[str]:
    notes = unknown_notes(facts)
    more = [f"{len(notes) - 5} more unknown placeholder names dropped"] if len(notes) > 5 else []
    return [f"{what}: {note}" for note in [*notes[:5], *more]]


def fold_case(texts: Iterable[str], names: Iterable[str] | None = None) -> list[str]:
    """Lower-case texts, all but the canonical names that stand in them as whole words.

    Parameters
    ----------
    texts : iterable of str, length n
    names : iterable of str, optional
        Canonical names; the project's own by default.

    Returns
    -------
    list of str, length n

    Examples
    --------
    >>> fold_case(["The NAME, in CAMBRIDGE", "NAMED"])
    ['the NAME, in cambridge', 'named']
    """
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
    """Return the pattern that finds canonical names as whole words, also beside punctuation.

    Parameters
    ----------
    names : iterable of str

    Returns
    -------
    re.Pattern
        Its one group is the name. Chinese and Japanese characters end a word, as these scripts set
        no spaces.

    Examples
    --------
    >>> names_pattern(["NAME", "AREA"]).findall("(NAME), AREA: RENAMED 位于AREA。")
    ['NAME', 'AREA', 'AREA']
    """
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

"""What the names of fields mean: ``data/fields.csv`` as a look-up.

Names are compared without case, blanks, marks and the s of a plural. One name may have several meanings
(``predictions`` wraps a list of turns, or is the state of one); what it holds decides.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache

from dialogeval.resources import lookup

__all__ = ["CONTENT", "STATES", "TEXTS", "is_field", "meanings", "nearest", "plain", "rank_names", "seen_in"]

#: Meanings of fields that may hold a state, and those that may hold a text of the system.
STATES = ("predicted", "either", "gold", "prediction", "raw", "bare")
TEXTS = ("predicted response", "response", "reference")
CONTENT = (*STATES, *TEXTS, "reply")


def plain(name: object) -> str:
    """Return a name as it is compared."""
    text = re.sub(r"[\W_]+", "", str(name)).lower()
    return text[:-1] if len(text) > 3 and text.endswith("s") else text


@cache
def _table() -> dict[str, dict[str, int]]:
    out: dict[str, dict[str, int]] = {}
    for rank, (meaning, name, _) in enumerate(lookup("fields")):
        out.setdefault(plain(name), {}).setdefault(meaning, rank)
    return out


def meanings(name: str) -> dict[str, int]:
    """Return what a name may mean, with its rank among the names of that meaning."""
    return _table().get(plain(name), {})


def is_field(name: str) -> bool:
    """Tell whether a name means something."""
    return bool(meanings(name))


@lru_cache(2048)
def rank_names(names: tuple[str, ...]) -> dict[str, list[str]]:
    """Return, for each meaning, the names that have it, the best known one first."""
    found: dict[str, list[tuple[int, str]]] = {}
    for name in names:
        for meaning, rank in meanings(name).items():
            found.setdefault(meaning, []).append((rank, name))
    return {meaning: [name for _, name in sorted(ranked)] for meaning, ranked in found.items()}


def seen_in(name: str) -> str:
    """Return the tools that write a field of this name."""
    return next((seen for _, n, seen in lookup("fields") if seen and plain(n) == plain(name)), "")


def nearest(names: list[str]) -> dict[str, str]:
    """Return the known names that some others resemble."""
    import difflib

    known = {plain(n): n for meaning, n, _ in lookup("fields") if meaning in CONTENT}
    names = [n for n in names if plain(n) not in known]
    close = {n: difflib.get_close_matches(plain(n), known, n=1, cutoff=0.75) for n in names}
    return {n: known[found[0]] for n, found in close.items() if found}

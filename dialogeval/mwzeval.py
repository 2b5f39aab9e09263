"""What the MultiWOZ_Evaluation scorer takes for equal: responses, and slots, values and times of states.

In go responses, slots or values as systems wrote them; out come the forms that protocol ``mwzeval``
compares. Its steps for states call these functions, see `dialogeval.normalize`. Known respellings of
values are listed in ``data/values.csv``, known placeholders in ``data/placeholders.csv``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from difflib import SequenceMatcher
from functools import cache, lru_cache

import pandas as pd

from dialogeval.resources import lookup

#: Values that say that anything will do.
NO_CONSTRAINT = frozenset(
    {"dontcare", "not mentioned", "don't care", "dont care", "do n't care", "do not care"}
)
#: Slots whose values are names of places or times, and the rows of ``values.csv`` that serve them.
_ROWS_OF = {"departure": "name", "destination": "name", "arrive": "time", "leave": "time"}
_SHORT = {"arriveby": "arrive", "leaveat": "leave"}
#: What a time starts with; that of ``values.csv`` is all there is.
_PHRASES = {"one o'clock p.m": "13:00", "ten o'clock a.m": "10:00"}
# Few digits: Python refuses to read a number of thousands.
_CLOCK = re.compile(r"([0-9]{1,9})(?: *:([^:]*))?")
_DIGITS = re.compile("[0-9]+")
_HHMM = re.compile("([0-9]{2}):([0-9]{2,9})")


def mark_placeholders(texts: Iterable[str], what: str = "responses") -> tuple[list[str], list[str]]:
    """Lower-case texts and write their placeholders as canonical upper-case names."""
    from dialogeval.placeholders import read_placeholders

    # The scorer's names alone: what others the project knows, it drops.
    table = pd.DataFrame(lookup("placeholders"), columns=["variant", "canonical"])
    return read_placeholders([text.lower() for text in texts], what, table)


def normalize_responses(texts: Iterable[str], what: str = "responses") -> tuple[list[str], list[str]]:
    """Normalise delexicalised responses (or references) for BLEU and lexical richness."""
    marked, remarks = mark_placeholders(texts, what)
    retokenize = _retokenizer()
    return [retokenize(text.replace("-s", "").replace("-ly", "")) for text in marked], remarks


def slot_name(slot: str) -> str:
    """Return a slot's name as the scorer compares it."""
    name = slot.lower().replace(" ", "")
    return _SHORT.get(name, name)


def normalize_value(slot: str, value: str) -> str:
    """Return a value of a state or goal as the scorer compares it."""
    rows = _ROWS_OF.get(slot, slot)
    if rows == "time":
        return normalize_time(value)
    if rows in ("name", "food"):
        value = value.strip().lower()
    if rows == "name":
        value = value.replace(" & ", " and ").replace("&", " and ").replace(" '", "'")
    return _respellings().get((rows, value), value)


def normalize_time(value: str) -> str:
    """Write a time of day as the scorer does: its rules one after the other, whatever comes of it."""
    time = value.strip().lower()
    for phrase, hour in _PHRASES.items():
        if time.startswith(phrase):
            return hour
    if ("time", time) in _respellings():
        return _respellings()["time", time]
    if time.startswith("by"):
        time = time[3:]
    for word in ("after", "afer"):
        if time.startswith(word):
            time = time[len(word) :].strip()
    time = _without_ending(time, ("am", "a.m."))
    morning, time = time, _without_ending(time, ("pm", "p.m."))
    if time != morning and (match := _CLOCK.fullmatch(time)):
        return f"{int(match[1]) + 12}:{'00' if match[2] is None else match[2]}"
    if not time:
        return "00:00"
    if time[-1] in ".,?":
        time = time[:-1]
    if _DIGITS.fullmatch(time):
        return f"{time[:2]}:{time[2:]}" if len(time) == 4 else f"{time:0>2}:00"
    if ":" in time:
        time = time.replace(" ", "")
    return f"0{time}" if len(time) == 4 and time[1] == ":" else time


@cache
def minutes(time: str) -> int | None:
    """Return a normalised time in minutes."""
    match = _HHMM.match(time)
    return int(match[1]) * 60 + int(match[2]) if match else None


def partial_ratio(one: str, other: str) -> float:
    """Return the classic partial ratio of two strings."""
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


@lru_cache(maxsize=100_000)
def alike(one: str, other: str, at_least: int = 90) -> bool:
    """Tell whether a partial ratio, in whole per cent, reaches a threshold: rapidfuzz screens, difflib
    decides."""
    from rapidfuzz.fuzz import partial_ratio as upper_bound

    # One point of slack: half for the rounding, and an upper bound in floating point need not be exact.
    return upper_bound(one, other) >= at_least - 1 and round(partial_ratio(one, other)) >= at_least


@cache
def _respellings() -> dict[tuple[str, str], str]:
    return {(slot, variant): canonical for slot, variant, canonical in lookup("values")}


def _without_ending(time: str, endings: tuple[str, ...]) -> str:
    for ending in endings:
        if time.endswith(ending):
            time = time[: -len(ending)].strip()
    return time


@cache
def _retokenizer() -> Callable[[str], str]:
    """Moses's tokeniser and detokeniser in a row; remembers texts, which systems share and repeat."""
    from sacremoses import MosesDetokenizer, MosesTokenizer

    tokenizer, detokenize = MosesTokenizer(lang="en"), MosesDetokenizer(lang="en").detokenize
    # sacremoses builds the set of all lower-case letters anew for each word before a full stop; asking
    # one set gives the same answer, which a test compares.
    tokenizer.islower = frozenset(tokenizer.IsLower).issuperset
    tokenize = tokenizer.tokenize
    return lru_cache(maxsize=200_000)(lambda text: str(detokenize(tokenize(text))))

"""Normalisation of the MultiWOZ_Evaluation scorer: responses, and slots, values and times of states.

In go responses as systems wrote them, or tables of states and goals; out come the forms that Inform,
Success and BLEU of protocol ``mwzeval`` are computed from. Known respellings of values stand in
``data/values.csv``. Each distinct string is normalised once.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import cache, lru_cache

import pandas as pd

from .normalize import lookup
from .remarks import Remark

__all__ = [
    "NO_CONSTRAINT",
    "mark_placeholders",
    "normalize_responses",
    "normalize_slot_names",
    "normalize_slot_values",
    "normalize_time",
    "normalize_value",
    "readable_time",
    "slot_name",
]

#: Values that say that anything will do.
NO_CONSTRAINT = frozenset(
    {"dontcare", "not mentioned", "don't care", "dont care", "do n't care", "do not care"}
)
#: Slots whose values are names of places, and the rows of ``values.csv`` that serve them.
_ROWS_OF = {"departure": "name", "destination": "name", "arrive": "time", "leave": "time", "booktime": "time"}
_SHORT = {"arriveby": "arrive", "leaveat": "leave"}
_TIME = re.compile(r"(\d{1,2})(?:[:.]?(\d{2}))?(?: ?([ap])\.?m\.?)?")
_HHMM = re.compile(r"\d\d:\d\d")
_WITHIN = re.compile(r"(?<!\d)\d\d:\d\d(?!\d)")


def mark_placeholders(texts: Iterable[str], what: str = "responses") -> tuple[list[str], list[Remark]]:
    """Lower-case texts and write their placeholders as canonical upper-case names.

    Parameters
    ----------
    texts : iterable of str, length n
    what : str
        How warnings call the texts.

    Returns
    -------
    list of str, length n
        Upper case is a placeholder's name, for certain: all else was lower-cased before.
    list of Remark
        On unknown and unbalanced placeholders.

    Examples
    --------
    >>> mark_placeholders(["The NAME is [hotel_name]s"])[0]
    ['the name is NAME']
    """
    from .placeholders import read_placeholders

    return read_placeholders([text.lower() for text in texts], what)


def normalize_responses(texts: Iterable[str], what: str = "responses") -> tuple[list[str], list[Remark]]:
    """Normalise delexicalised responses (or references) for BLEU and lexical richness.

    Parameters
    ----------
    texts : iterable of str, length n
    what : str
        How warnings call the texts.

    Returns
    -------
    list of str, length n
        As `mark_placeholders`; the strings ``-s`` and ``-ly`` removed; then tokenised and
        detokenised by Moses's rules for English.
    list of Remark
        On unknown and unbalanced placeholders.

    Notes
    -----
    Nekvinda & Dušek 2021, "Shades of BLEU, flavours of success: the case of MultiWOZ",
    arXiv:2106.05555.

    Examples
    --------
    >>> normalize_responses(["[value_count] hotel -s , moderate -ly priced : [hotel_name] ."])[0]
    ['COUNT hotel, moderate priced: NAME.']
    """
    marked, remarks = mark_placeholders(texts, what)
    retokenize = _retokenizer()
    return [retokenize(text.replace("-s", "").replace("-ly", "")) for text in marked], remarks


def slot_name(slot: str) -> str:
    """Return a slot's name as the scorer compares it.

    Examples
    --------
    >>> [slot_name(s) for s in ("arrive by", "leaveAt", "price range", "trainID")]
    ['arrive', 'leave', 'pricerange', 'trainid']
    """
    name = "".join(slot.lower().split())
    return _SHORT.get(name, name)


def normalize_value(slot: str, value: str) -> str:
    """Return a value of a state or goal as the scorer compares it.

    Parameters
    ----------
    slot : str
        As `slot_name` returns it.
    value : str

    Returns
    -------
    str

    Examples
    --------
    >>> normalize_value("name", "The Junction"), normalize_value("destination", "lime house")
    ('junction theatre', 'limehouse')
    >>> normalize_value("name", "bridge & river 's inn"), normalize_value("leave", "after 9 am")
    ("bridge and river's inn", '09:00')
    """
    rows = _ROWS_OF.get(slot, slot)
    value = " ".join(value.lower().replace("&", " and ").split()).replace(" '", "'")
    known = _respellings().get((rows, value))
    if known is not None:
        return known
    return normalize_time(value) if rows == "time" else value


def normalize_time(value: str) -> str:
    """Write a time of day as HH:MM; what cannot be read comes back without ``by`` or ``after``.

    Systems repeat themselves (``10:00 10:00``): where the whole is no time, the first HH:MM in it is.

    Examples
    --------
    >>> [normalize_time(t) for t in ("by 9:15", "0915", "9", "9:15 pm", "12 a.m.", "10:am", "after")]
    ['09:15', '09:15', '09:00', '21:15', '00:00', '10:am', '']
    >>> normalize_time("10:00 10:00")
    '10:00'
    """
    value = re.sub(r"^(?:by|after)\b\s*", "", value.strip().lower())
    known = _respellings().get(("time", value))
    if known is not None:
        return known
    match = _TIME.fullmatch(value)
    if not match:
        within = _WITHIN.search(value)
        return within[0] if within else value
    hour = int(match[1])
    if match[3]:
        hour = hour % 12 + 12 * (match[3] == "p")
    return f"{hour:02}:{match[2] or '00'}"


def readable_time(value: str) -> bool:
    """Tell whether a normalised time is HH:MM; one that is not counts as 00:00 in a query.

    Examples
    --------
    >>> readable_time("09:15"), readable_time("10:am")
    (True, False)
    """
    return _HHMM.fullmatch(value) is not None


def normalize_slot_names(slots: pd.Series) -> pd.Series:
    """Run `slot_name` over a column, once for each distinct name.

    Examples
    --------
    >>> normalize_slot_names(pd.Series(["arriveBy", "day"], dtype="str")).tolist()
    ['arrive', 'day']
    """
    return slots.map({s: slot_name(s) for s in slots.unique()}).astype("str")


def normalize_slot_values(table: pd.DataFrame) -> pd.DataFrame:
    """Normalise domains, slots and values of a table of states or goals.

    Parameters
    ----------
    table : pandas.DataFrame
        With the columns domain, slot and value; not changed.

    Returns
    -------
    pandas.DataFrame
        The same columns; rows whose value is empty are left out, the order is kept.

    Examples
    --------
    >>> s = pd.DataFrame({"domain": ["Train"], "slot": ["leaveAt"], "value": ["0915"]}, dtype="str")
    >>> normalize_slot_values(s).values.tolist()
    [['train', 'leave', '09:15']]
    """
    table = table[table["value"] != ""].reset_index(drop=True)
    slots = normalize_slot_names(table["slot"])
    pairs = list(zip(slots.tolist(), table["value"].tolist(), strict=True))
    known = {pair: normalize_value(*pair) for pair in dict.fromkeys(pairs)}
    values = pd.Series([known[pair] for pair in pairs], dtype="str")
    return table.assign(domain=table["domain"].str.lower(), slot=slots, value=values)


# Helpers ------------------------------------------------------------------------------------------


@cache
def _respellings() -> dict[tuple[str, str], str]:
    return {(slot, variant): canonical for slot, variant, canonical in lookup("values")}


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

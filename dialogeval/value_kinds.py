"""The kind of a slot, told from its values: categorical, name, time, number, range, boolean or free.

In: values and how often each is used. Out: a word of `KINDS`. Rules look at the shape of values, in
English and Chinese; no rule looks at the name of a slot.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

import numpy as np
import pandas as pd

from .normalize import NOT_FILLED, normalize_values

__all__ = ["KINDS", "value_kind"]

#: Kinds of slots, by their values.
KINDS = ("categorical", "name", "time", "number", "range", "boolean", "free")
_UNIT = r"[^\W\d_]{0,3}(?<=[\u4e00-\u9fff])|[^\W\d_]{1,9}|"
_QUANTITY = rf"[$£€¥]?\s*(?:\d+(?:[.,]\d+)*|半|half an?\b)\s*(?:{_UNIT})"
_LESS_MORE = r"or (?:above|below|more|less|higher|lower)|above|below|or so|\+|以上|以下|以内|左右|之间"
_BOUND = r"at least|at most|over|under|above|below|about|(?:more|less) than|[<>≤≥]=?|不超过|超过|大于|小于|至少|最多"
#: The shape of one value, the first that fits; `free` is a yes for parking and no yuan for a ticket.
_SHAPES = {
    "boolean": re.compile(r"yes|no|true|false|有|没有|无|是|否|不是|需要|不需要"),
    "either": re.compile(r"free|免费"),
    "time": re.compile(
        r"\D{0,10}(?<!\d)\d{1,2}[:：]\d{2}(?!\d)\D{0,10}|\d{1,2}(?:[.:]\d{2})? ?[ap]\.?m\.?|"
        r"\d{1,2}[:：]\d{2}\s*[-–~～到至]\s*\d{1,2}[:：]\d{2}|[上下中早晚午]{0,2}\d{1,2}点(?:半|\d{1,2}分)?"
    ),
    "range": re.compile(
        rf"{_QUANTITY}\s*(?:[-–~～到至]|to)\s*{_QUANTITY}|{_QUANTITY}\s*(?:{_LESS_MORE})|(?:{_BOUND})\s*{_QUANTITY}"
    ),
    "number": re.compile(_QUANTITY),
}
_CJK = re.compile(r"[\u3400-\u9fff]")
#: Between several values in one: ``cheap|moderate``, ``东方或南方``, ``无烟房,会议室``.
_SEVERAL = re.compile(r"[|，、;；]|,(?!\d)|(?<=\S)\s*>|或|(?<=[\u3400-\u9fff]) +(?=[\u3400-\u9fff])")


def value_kind(values: Iterable[str], counts: Iterable[int] | None = None) -> str:
    """Tell the kind of a slot from its values.

    Parameters
    ----------
    values : iterable of str
        Different values; none, dontcare and empty spellings say nothing.
    counts : iterable of int, optional
        How often each is used: slips of annotators then weigh little. Equal by default, and where all are 0.

    Returns
    -------
    str
        Of `KINDS`: what at least four fifths of the uses look like. Words are ``categorical`` where
        few are used or they are single words, ``free`` where they are sentences or there is none.

    Examples
    --------
    >>> [value_kind(v) for v in (["9:15", "17:00"], ["300-400元", "1000元以上"], ["4.5 points or above", "5 points"])]
    ['time', 'range', 'range']
    >>> value_kind(["yes", "no", "free"]), value_kind(["free", "20 yuan"]), value_kind(["1", "dontcare"])
    ('boolean', 'number', 'number')
    >>> value_kind(["hotel", "guesthouse", "hotel|guesthouse"]), value_kind([])
    ('categorical', 'free')
    """
    series = pd.Series(list(values), dtype="str")
    uses = np.ones(len(series)) if counts is None else np.asarray(list(counts), dtype=float)
    uses = uses if uses.any() else np.ones(len(series))
    real = is_real(series)
    whole = pd.Series(uses[real], index=series[real]).groupby(level=0).sum()
    whole = whole[whole > 0]
    if whole.empty:
        return "free"
    parts: dict[str, float] = {}
    for value, use in whole.items():
        pieces = [p for p in map(str.strip, _SEVERAL.split(fold(str(value)))) if p] or [str(value)]
        for piece in pieces:
            parts[piece] = parts.get(piece, 0.0) + use / len(pieces)
    shares: dict[str, float] = dict.fromkeys([*_SHAPES, "words"], 0.0)
    for piece, use in parts.items():
        shares[next((s for s, form in _SHAPES.items() if form.fullmatch(piece)), "words")] += use
    shares.pop("either")
    total = sum(shares.values())
    if shares["boolean"] >= 0.8 * total:  # also where "free" is all there is
        return "boolean"
    if shares["time"] >= 0.8 * total:
        return "time"
    if shares["range"] + shares["number"] >= 0.8 * total:
        return "range" if shares["range"] >= 0.1 * total else "number"
    return _kind_of_words(pd.Series(parts), combined=len(parts) < 0.7 * len(whole))


def kinds_of_slots(slots: list[tuple[pd.Series, pd.Series]]) -> pd.Series:
    """Return the kind of each slot, from its values and their counts.

    Where most values of a categorical slot are names elsewhere, they are names here too: a venue is
    the destination of a taxi, and near another venue.
    """
    kinds = [value_kind(*s) for s in slots]
    used = [
        {fold(v) for v in values[is_real(values) & (n > 0 if n.any() else n >= 0)]} for values, n in slots
    ]
    names = set().union(*(u for u, kind in zip(used, kinds, strict=True) if kind == "name"))
    for i, kind in enumerate(kinds):
        if kind == "categorical" and 2 * len(used[i] & names) >= len(used[i]):
            kinds[i] = "name"
    return pd.Series(kinds, dtype="str")


def fold(text: str) -> str:
    """Return a text as it is compared here: width, case and white space levelled."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def is_real(values: pd.Series) -> np.ndarray:
    """Tell which values say something: not none, not dontcare, not a spelling of "no value"."""
    steps = ("none:drop", "dontcare:drop")
    return np.array(normalize_values(map(fold, values), steps, NOT_FILLED), dtype=object) != ""


def _kind_of_words(uses: pd.Series, combined: bool) -> str:
    """Return categorical, name or free; where values are `combined` of others, they are labels."""
    length = np.array([_words(p) for p in uses.index])
    order = np.argsort(length, kind="stable")
    weight = uses.to_numpy()
    median = length[order][np.searchsorted(np.cumsum(weight[order]), 0.5 * weight.sum())]
    if median > 7:
        return "free"
    # How many values make up nearly all uses: slips and rarities aside.
    common = int((np.cumsum(np.sort(weight)[::-1]) < 0.95 * weight.sum()).sum()) + 1
    return "name" if not combined and (common > 100 or (common > 10 and median > 1)) else "categorical"


def _words(text: str) -> float:
    """Return the length in words; three Chinese characters make one."""
    return len(_CJK.sub(" ", text).split()) + len(_CJK.findall(text)) / 3

"""Finding known values in text: whole words in languages with spaces, plain strings in Chinese.

In: an utterance and values that may stand in it. Out: where they stand, as character positions.
Positions refer to the utterance as it was given; spellings that mean the same (case, full-width
brackets, non-breaking spaces) are one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import TypeVar

__all__ = ["NO_WORDS", "Lexicon", "build_lexicon", "find_known", "find_value", "is_whole", "plain_text"]

#: Annotated values that are no words of an utterance.
NO_WORDS = frozenset(
    [
        "",
        "?",
        "none",
        "not mentioned",
        "dontcare",
        "do nt care",
        "do n't care",
        "yes",
        "no",
        "未提及",
        "不在意",
        "有",
        "没有",
        "无",
        "是",
        "否",
    ]
)
#: Spellings that are one for matching; each is a single character, so positions stay the same.
_SAME = str.maketrans({"\xa0": " ", "（": "(", "）": ")", "’": "'", "，": ","})

T = TypeVar("T")
#: By the first two characters of a value: the lengths from the longest, and the values with what they mean.
Lexicon = dict[str, tuple[list[int], dict[str, T]]]


def plain_text(text: str) -> str:
    """Return a text as it is matched: lower case, one spelling of brackets and spaces, the same length.

    Examples
    --------
    >>> plain_text("Guidu\\xa0Hotel（Beijing）")
    'guidu hotel(beijing)'
    """
    lower = text.lower()
    if len(lower) != len(text):  # a few letters have a lower case of two characters
        lower = "".join(c.lower() if len(c.lower()) == 1 else c for c in text)
    return lower.translate(_SAME)


def is_whole(text: str, start: int, end: int) -> bool:
    """Tell whether a match is no part of a longer word or number; Chinese has no such borders.

    Parameters
    ----------
    text : str
    start, end : int
        The match is ``text[start:end]``, not empty.

    Examples
    --------
    >>> is_whole("12:30", 3, 5), is_whole("at 30", 3, 5), is_whole("在中心吃", 1, 3)
    (False, True, True)
    """
    return not (
        (start and _joined(text[start - 1], text[start], text[start - 2 : start - 1]))
        or (end < len(text) and _joined(text[end], text[end - 1], text[end + 1 : end + 2]))
    )


def find_value(text: str, value: str, shortest: int = 1) -> list[tuple[int, int]]:
    """Find every place where a value stands in a text.

    Parameters
    ----------
    text, value : str
        Both as `plain_text` returns them, the value stripped.
    shortest : int, default=1
        A shorter value is not looked for.

    Returns
    -------
    list of (int, int)
        First character and one past the last.

    Examples
    --------
    >>> find_value("a cheap, cheap inn", "cheap")
    [(2, 7), (9, 14)]
    >>> find_value("便宜餐厅", "便宜的")
    [(0, 2)]
    """
    found = []
    # Chinese adjectives lose their last character before a noun: 便宜的 in 便宜餐厅.
    for form in (value, value[:-1])[: 1 + value.endswith("的")]:
        at = text.find(form) if len(form) >= max(shortest, 1) else -1
        while at >= 0:
            if is_whole(text, at, at + len(form)):
                found.append((at, at + len(form)))
            at = text.find(form, at + 1)
    return found


def build_lexicon(values: Mapping[str, T]) -> Lexicon[T]:
    """Arrange many values for `find_known`.

    Parameters
    ----------
    values : mapping of str to anything
        Values as `plain_text` returns them, at least one character long, and what each one means.

    Returns
    -------
    Lexicon

    Examples
    --------
    >>> build_lexicon({"north": 1, "no": 2})
    {'no': ([5, 2], {'north': 1, 'no': 2})}
    """
    groups: dict[str, dict[str, T]] = defaultdict(dict)
    for value, meaning in values.items():
        groups[value[:2]][value] = meaning
    return {start: (sorted({len(v) for v in found}, reverse=True), found) for start, found in groups.items()}


def find_known(text: str, lexicon: Lexicon[T]) -> list[tuple[int, int, T]]:
    """Find the longest value of a lexicon at every place of a text.

    Parameters
    ----------
    text : str
        As `plain_text` returns it.
    lexicon : Lexicon

    Returns
    -------
    list of (start, end, meaning)
        From the left; matches may overlap where one begins within another.

    Examples
    --------
    >>> find_known("go north", build_lexicon({"north": "area", "nor": "word"}))
    [(3, 8, 'area')]
    """
    found = []
    for at in range(len(text)):
        if at and _joined(text[at - 1], text[at], text[at - 2 : at - 1]):
            continue  # inside a word, whatever the length
        # A single character is its own beginning: "2" stands under "2", not under "2 ".
        for start in (text[at : at + 2], text[at]):
            lengths, values = lexicon.get(start, ((), {}))
            for length in lengths:
                part = text[at : at + length]
                # At the end of a text a longer slice is the same string.
                if len(part) == length and part in values and is_whole(text, at, at + length):
                    found.append((at, at + length, values[part]))
                    break
            else:
                continue
            break
    return found


def _joined(outside: str, inside: str, beyond: str) -> bool:
    if inside.isdigit() and outside in ".:" and beyond.isdigit():
        return True  # the 30 of 12:30
    return _is_letter(outside) and _is_letter(inside)


def _is_letter(c: str) -> bool:
    return c == "_" or (c.isalnum() and not "\u3400" <= c <= "\u9fff")

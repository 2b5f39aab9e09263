"""Sentences that are written in English and Chinese at the same time.

A *pair* is (English pieces, Chinese pieces); a piece is plain text or a `Value`, which knows the
dialogue act and slot it stands for. Templates are pairs of strings with ``{placeholders}``. From a
finished pair come the texts, the dialogue acts and, for English, the token spans.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from dice import Dice


@dataclass(frozen=True)
class Value:
    """A slot value in a sentence: what it means (``value``) and how it is put (``surface``)."""

    act: str
    slot: str
    value: str
    surface: str
    spanned: bool = True


Pieces = tuple[Any, ...]
Pair = tuple[Pieces, Pieces]
EMPTY: Pair = ((), ())


@dataclass(frozen=True)
class Utterance:
    """A pair with the dialogue acts that no word of it carries: (act, slot, value)."""

    pair: Pair = EMPTY
    acts: tuple[tuple[str, str, str], ...] = field(default=())


def both(en: str, zh: str) -> Pair:
    return (en,), (zh,)


def fill(template: tuple[str, str], **parts: Pair) -> Pair:
    """Put pairs into the placeholders of a template."""
    out = []
    for language, text in enumerate(template):
        pieces: list[Any] = []
        for i, part in enumerate(re.split(r"\{(\w+)\}", text)):
            if i % 2:
                pieces.extend(parts[part][language])
            elif part:
                pieces.append(part)
        out.append(tuple(pieces))
    return out[0], out[1]


def say(dice: Dice, bank: Sequence[tuple[str, str]], **parts: Pair) -> Pair:
    return fill(dice.pick(bank), **parts)


def chain(*pairs: Pair, en: str = " ", zh: str = "") -> Pair:
    """Join pairs, the English with a blank between them; empty ones vanish."""
    full = [p for p in pairs if p[0]]
    out_en: list[Any] = []
    out_zh: list[Any] = []
    for i, (a, b) in enumerate(full):
        out_en.extend(([en] if i else []) + list(a))
        out_zh.extend(([zh] if i and zh else []) + list(b))
    return tuple(out_en), tuple(out_zh)


def listing(pairs: Sequence[Pair], en: str = " and ", zh: str = "和") -> Pair:
    """Join pairs as an enumeration: a, b and c."""
    if len(pairs) < 2:
        return pairs[0] if pairs else EMPTY
    return chain(chain(*pairs[:-1], en=", ", zh="、"), pairs[-1], en=en, zh=zh)


def without_measure(pieces: Pieces) -> Pieces:
    """Chinese drops 一家, 一个, 一处 after 有, unless another 有 would follow."""
    out: list[Any] = []
    for i, piece in enumerate(pieces):
        before, after = (pieces[i - 1] if i else ""), (pieces[i + 1] if i + 1 < len(pieces) else "")
        follows = after.surface if isinstance(after, Value) else after
        if (
            piece in ("一家", "一个", "一处")
            and str(before).endswith(("有", "找到"))
            and not follows.startswith("有")
        ):
            continue
        out.append(piece)
    return tuple(out)


def acts_of(utterance: Utterance, language: int) -> list[tuple[str, str, str]]:
    """Dialogue acts of an utterance, each once, in order of appearance."""
    found = [(p.act, p.slot, p.value) for p in utterance.pair[language] if isinstance(p, Value)]
    return list(dict.fromkeys(found + list(utterance.acts)))


def plain(pieces: Iterable[Any]) -> str:
    """The text as people write it, not tokenised."""
    text = "".join(p.surface if isinstance(p, Value) else p for p in pieces)
    return _capital(_article(text))


def tokens(pieces: Iterable[Any], wide: Dice | None = None) -> tuple[str, list[tuple[Value, int, int]]]:
    """The text tokenised as the Moses tools do it, and (value, first token, last token) of each value.

    With ``wide``, some gaps between sentences are three blanks, as in the real files.
    """
    words: list[str] = []
    spans: list[tuple[Value, int, int]] = []
    for piece in pieces:
        value = piece if isinstance(piece, Value) else None
        start = len(words)
        words.extend(_split(value.surface if value else piece))
        if value and value.spanned and len(words) > start:
            spans.append((value, start, len(words) - 1))
    for i, word in enumerate(words[:-1]):
        if word in ("@a", "@A"):
            words[i] = _article(f"{word} {words[i + 1]}").split()[0]
    if words:
        words[0] = words[0][0].upper() + words[0][1:]
    text = ""
    for i, word in enumerate(words):
        ends = i > 0 and words[i - 1] in (".", "!", "?")
        text += ("" if not i else "   " if ends and wide and wide.chance(0.2) else " ") + word
    return text, spans


def tokenised(text: str) -> str:
    """A value as it stands in the tokenised text."""
    return " ".join(_split(text))


_TOKEN = re.compile(r"@[aA](?=\s)|£|\w[\w:./&-]*\w|\w|[^\w\s]")


def _split(text: str) -> list[str]:
    text = re.sub(r"(?i)\b(\w+)n't\b", r"\1 n't", text)
    out: list[str] = []
    for word in text.split():
        if word in ("n't", "@a", "@A"):
            out.append(word)
            continue
        # A clitic keeps its apostrophe: I 'm, hotel 's.
        head, mark, tail = word.partition("'")
        out.extend(_TOKEN.findall(head))
        if mark:
            rest = _TOKEN.findall(tail)
            out.append(mark + (rest[0] if rest else ""))
            out.extend(rest[1:])
    return out


def _article(text: str) -> str:
    def choose(match: re.Match[str]) -> str:
        word = match[2].lower()
        an = word[0] in "aeiou8" and not word.startswith(("eu", "uni", "one"))
        return match[1] + ("n" if an else "") + " " + match[2]

    return re.sub(r"@([aA]) ([\w'-]+)", choose, text)


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def with_surface(pair: Pair, en: str, zh: str | None = None) -> Pair:
    """The same single value in other words."""
    first, second = pair
    return (replace(first[0], surface=en),), (replace(second[0], surface=zh or second[0].surface),)

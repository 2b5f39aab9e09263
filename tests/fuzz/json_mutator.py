"""Mutations of a JSON document that leave it JSON, or nearly so: they get past the parser.

In: bytes and a random generator. Out: other bytes. An object is kept as a list of pairs, so that a
key can stand twice, and `Raw` holds text that goes out as it is: numbers past any type, half a
surrogate pair, brackets three hundred deep.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from random import Random
from typing import Any

MAX_DEPTH = 60
_DIGITS = "9" * 400


@dataclass
class Pairs:
    """A JSON object that remembers every pair."""

    items: list[list[Any]]


@dataclass
class Raw:
    """Text that is written without quotation marks."""

    text: str


#: What a text may be that nobody expects.
TEXTS = (
    "", " ", "a", "A.json", ".json", "\ud800", "\udfff\ud800", "\0", "\n", "\r\n", "\u2028", "\u202e", "é", "e\u0301",
    "ß", "İ", "酒店", "未提及", "none", "dontcare", "not mentioned", "-", "a-b-c", "hotel-", "-area", "a|b", "a<b", "=1+1",
    "0", "00", "01", "-1", "1e3", "²", "٣", "999999999", "9999999999999999999999", "nan", "NaN", "null", "True", "'", '"',
    "\\", "%", "{", "{0}", "$", "`", "<b>", "../..", "x" * 3000, "[]", "{}", "12:60", "25:00", "\ufeff", "\U0001f600",
)  # fmt: skip
_ATOMS = (
    None, True, False, 0, 1, -1, 2, 1.0, 0.5, -0.0, 1e15, 2**31, 2**53, 2**63 - 1, 2**63, 2**64 - 1, 2**64, -(2**63),
    100_000, 99_999,
)  # fmt: skip
_RAWS = (
    "NaN", "Infinity", "-Infinity", "1e400", "-1e400", "1e-400", "1E5", "-0", _DIGITS, "-" + _DIGITS, "0." + _DIGITS,
    '"\\ud800"', '"\\ud83d\\ude00"', '"\\udc00\\ud800"', '"\\u0000"', '"\\u003a"', "[" * 253 + "]" * 253,
    "[" * 300 + "]" * 300, '{"a":' * 253 + "1" + "}" * 253, '{"a":' * 300 + "1" + "}" * 300, "[" * 5000, "01", "+1", "",
    "tru", "'a'", "[1,]", "{,}",
)  # fmt: skip
#: Keys of every format, so that one format's fields turn up in another's.
KEYS = (
    "dialogue_id", "turn", "state", "response", "active_domains", "gold", "pred", "reference", "turn_belief",
    "pred_bs_ptr", "gt", "pr", "utt_idx", "speaker", "utterance", "predictions", "turns", "log", "goal", "metadata",
    "text", "semi", "book", "booked", "dialog_act", "span_info", "messages", "role", "content", "sys_state",
    "sys_state_init", "selectedResults", "name", "名称", "type", "services", "service", "frames", "slot_values", "actions",
    "act", "slot", "slots", "values", "value", "start", "exclusive_end", "copy_from", "end", "data_split", "dataset",
    "original_id", "domains", "inform", "request", "dialogue_acts", "categorical", "non-categorical", "binary", "intent",
    "domain", "possible_values", "service_name", "info", "reqt", "0", "1", "A", "a.json",
)  # fmt: skip


def parse(data: bytes) -> Any:
    """Return a document with its objects as `Pairs`; ValueError or RecursionError if it is none."""
    return json.loads(
        data.decode("utf-8-sig", "surrogatepass"), object_pairs_hook=lambda p: Pairs([list(x) for x in p])
    )


def write(node: Any, rng: Random | None = None) -> str:
    """Return a document as text; with a generator the spelling of its strings varies."""
    if isinstance(node, Raw):
        return node.text
    if isinstance(node, Pairs):
        return "{" + ", ".join(f"{write(k, rng)}: {write(v, rng)}" for k, v in node.items) + "}"
    if isinstance(node, list):
        return "[" + ", ".join(write(v, rng) for v in node) + "]"
    # Half a surrogate pair can be written as an escape only.
    plain = isinstance(node, str) and node.isprintable() and (rng is None or rng.random() < 0.95)
    return json.dumps(node, ensure_ascii=not plain)


def mutate(data: bytes, rng: Random, limit: int) -> bytes | None:
    """Return a document, or a text of JSON lines, with some mutations; None where it is neither."""
    try:
        tree, lines = parse(data), False
    except (ValueError, RecursionError):
        try:
            tree, lines = [parse(line) for line in data.split(b"\n") if line.strip()], True
        except (ValueError, RecursionError):
            return None
    holder = [tree]
    try:
        for _ in range(rng.choice((1, 1, 1, 2, 2, 3, 5))):
            _change(holder, rng, limit)
        if lines and isinstance(holder[0], list):
            text = "\n".join(write(row, rng) for row in holder[0])
        else:
            text = write(holder[0], rng)
    except RecursionError:
        return None
    return text.encode("utf-8", "surrogatepass")


def _spots(holder: list[Any]) -> list[tuple[Any, int]]:
    """Return (container, position) of every value, to a depth that Python's stack can take."""
    found: list[tuple[Any, int]] = []
    level: list[Any] = [holder]
    for _ in range(MAX_DEPTH):
        below = []
        for node in level:
            size = len(node.items) if isinstance(node, Pairs) else len(node)
            for i in range(size):
                found.append((node, i))
                value = _get(node, i)
                if isinstance(value, (list, Pairs)):
                    below.append(value)
        level = below
        if not level or len(found) > 5000:
            break
    return found


def _get(node: Any, i: int) -> Any:
    return node.items[i][1] if isinstance(node, Pairs) else node[i]


def _set(node: Any, i: int, value: Any) -> None:
    if isinstance(node, Pairs):
        node.items[i][1] = value
    else:
        node[i] = value


def _copy(node: Any) -> Any:
    if isinstance(node, Pairs):
        return Pairs([[k, _copy(v)] for k, v in node.items])
    return [_copy(v) for v in node] if isinstance(node, list) else node


def _any(rng: Random) -> Any:
    """Return a value of whatever type."""
    kind = rng.randrange(6)
    if kind == 0:
        return rng.choice(TEXTS)
    if kind == 1:
        return Raw(rng.choice(_RAWS))
    if kind == 2:
        return [_any(rng) for _ in range(rng.randrange(4))]
    if kind == 3:
        return Pairs([[rng.choice(KEYS + TEXTS), _any(rng)] for _ in range(rng.randrange(3))])
    return rng.choice(_ATOMS)


def _change(holder: list[Any], rng: Random, limit: int) -> None:
    spots = _spots(holder)
    node, i = rng.choice(spots)
    value = _get(node, i)
    items = node.items if isinstance(node, Pairs) else node
    kind = rng.randrange(12)
    if kind <= 2:
        _set(node, i, _any(rng))
    elif kind == 3:  # another part of the same document
        _set(node, i, _copy(_get(*rng.choice(spots))))
    elif kind == 4:
        del items[i]
        if not holder:
            holder.append(None)
    elif kind == 5 and node is not holder:
        item = items[i]
        twin = [item[0], _copy(item[1])] if isinstance(node, Pairs) else _copy(item)
        # Now and then very many, so that what is slow shows.
        times = 1 if rng.random() < 0.9 else max(1, limit // 2 // (len(write(_get(node, i))) + 1))
        items[i:i] = [twin] * min(times, 3000)
    elif kind == 6 and isinstance(node, Pairs):
        other = rng.choice(
            (*KEYS, *TEXTS, str(items[i][0]).upper(), f"{items[i][0]} ", f"{items[i][0]}.json")
        )
        items[i][0] = other
    elif kind == 7:
        _set(node, i, [value] if rng.random() < 0.5 else Pairs([[rng.choice(KEYS), value]]))
    elif kind == 8 and isinstance(value, (list, Pairs)):
        size = len(value.items) if isinstance(value, Pairs) else len(value)
        _set(node, i, _get(value, rng.randrange(size)) if size else _any(rng))
    elif kind == 9 and isinstance(value, Pairs):
        value.items.insert(rng.randint(0, len(value.items)), [rng.choice(KEYS + TEXTS), _any(rng)])
    elif kind == 9 and isinstance(value, list):
        value.insert(rng.randint(0, len(value)), _any(rng))
    elif kind == 10 and isinstance(value, str):
        at = rng.randint(0, len(value))
        _set(node, i, value[:at] + rng.choice(TEXTS) + value[at + rng.randint(0, 2) :])
    elif kind == 11 and isinstance(value, (list, Pairs)):
        rng.shuffle(value.items if isinstance(value, Pairs) else value)
    else:
        _set(node, i, _any(rng))

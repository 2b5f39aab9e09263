"""Reader of CrossWOZ and CrossWOZ-en.

In: the parsed JSON, {dialogue id: {"messages", "goal", "type", …}}, where user and system messages
alternate and the system message carries two states: ``sys_state_init``, the wizard's state before
querying, which is the gold state after the user's utterance, and ``sys_state``, the state after
the query was edited. Out: a `Corpus`, with the two gold versions of DSTC9 as further tables.
"""

from __future__ import annotations

import os
from typing import Annotated, Any, Literal

import msgspec

from dialogeval.corpora.utterances import Odd, diagnose, tables_of
from dialogeval.exceptions import CorpusError, UnknownNameError, show
from dialogeval.tables import Corpus, Source, canonical_id, table

__all__ = ["GOLDS", "looks_like", "read"]

#: Which state of the system message is read as gold.
GOLDS = ("sys_state_init", "sys_state")
_NAME = {"en": "name", "zh": "名称"}
_TYPES = {
    "单领域": "S",
    "独立多领域": "M",
    "独立多领域+交通": "M+T",
    "不独立多领域": "CM",
    "不独立多领域+交通": "CM+T",
}


class _Dialogue(msgspec.Struct):
    messages: Annotated[list[Any], msgspec.Meta(min_length=1)]


class _User(msgspec.Struct):
    content: str
    role: Literal["usr"]


class _System(msgspec.Struct):
    content: str
    role: Literal["sys"]
    sys_state_init: dict[str, dict[str, str | list[Any]]]
    sys_state: dict[str, dict[str, str | list[Any]]]


def looks_like(raw: Any) -> bool:
    """Tell whether parsed JSON is in this format."""
    # Any dialogue will do: one that lacks its messages is then refused by name.
    return isinstance(raw, dict) and any(isinstance(d, dict) and "messages" in d for d in raw.values())


def read(
    raw: dict[str, Any],
    *,
    name: str,
    version: str = "",
    split: str = "all",
    language: str = "en",
    source: Source | None = None,
    file: str | os.PathLike[str] = "",
    gold: str = "sys_state_init",
    strict: bool = False,
) -> Corpus:
    """Turn parsed CrossWOZ JSON into tables."""
    if gold not in GOLDS:
        raise UnknownNameError("gold state", gold, GOLDS)
    if not isinstance(raw, dict) or not raw:
        raise CorpusError("", file=file, expected="an object {dialogue id: {messages, …}}", got=show(raw))
    kinds = ("dialogues", "turns", "states", "alternatives", "corrections", "goals", "acts")
    rows: dict[str, list[tuple]] = {k: [] for k in kinds}
    layouts: dict[tuple, int] = {}
    seen: dict[str, str] = {}
    trailing = 0
    odd = Odd(file, strict)
    for original, dialogue in raw.items():
        key = canonical_id(original)
        if key in seen:
            raise CorpusError(f"dialogue ids {seen[key]!r} and {original!r} are the same", file=file)
        seen[key] = original
        with odd.kept_whole(rows):
            try:
                kind = _TYPES.get(dialogue.get("type"), dialogue.get("type") or "")
                rows["dialogues"].append((key, original, kind))
                _read_goal(key, dialogue.get("goal") or (), rows["goals"])
                _read_messages(key, dialogue["messages"], rows, layouts, _NAME.get(language, "name"), gold)
                trailing += len(dialogue["messages"]) % 2
            except (KeyError, TypeError, AttributeError, ValueError, IndexError) as error:
                place = {"file": file, "dialogue": original}
                raise diagnose(dialogue, _Dialogue, (_User, _System), place, error) from None
    odd.check(rows)
    closing = (f"{trailing:,} closing user utterances without an answer left out",) if trailing else ()
    layout_rows = [
        (number, domain, slot)
        for shape, number in layouts.items()
        for domain, slots in shape
        for slot in slots
    ]
    return Corpus(
        name=name if gold == "sys_state_init" else f"{name}+{gold}",
        version=version,
        split=split,
        language=language,
        family="crosswoz",
        layouts=table("layouts", [row for row in layout_rows if row[2] != "selectedResults"]),
        source=source or Source(path=str(file)),
        **odd.said({"notes": closing, "cautions": {}}),
        **tables_of(rows, file),
    )


def _read_messages(
    key: str,
    messages: list[dict],
    rows: dict[str, list[tuple]],
    layouts: dict[tuple, int],
    name: str,
    gold: str,
) -> None:
    if messages.__class__ is not list or not messages:
        raise ValueError("no messages")
    offered: dict[str, list[str]] = {}
    before: dict[str, dict[str, str]] | None = None
    for turn in range(len(messages) // 2):
        user, system = messages[2 * turn], messages[2 * turn + 1]
        if user["role"] != "usr" or system["role"] != "sys":
            raise ValueError("role")
        if user["content"].__class__ is not str or system["content"].__class__ is not str:
            raise TypeError("content")
        first, edited = system["sys_state_init"], system["sys_state"]
        chosen = first if gold == "sys_state_init" else edited
        add = rows["states"].append
        for domain, slots in chosen.items():
            for slot, value in slots.items():
                if value and slot != "selectedResults":
                    if value.__class__ is not str:
                        raise TypeError(f"the value of {domain}-{slot} is no string", turn)
                    add((key, turn, domain, slot, value))
        for domain, slots in first.items():
            _read_names(key, turn, domain, slots, edited, before, offered, rows, name)
        before = edited
        shape = tuple((domain, tuple(slots)) for domain, slots in first.items())
        number = layouts.setdefault(shape, len(layouts))
        rows["turns"].append((key, turn, user["content"], system["content"], number))
        for speaker, message in (("user", user), ("system", system)):
            for act, domain, slot, value in message.get("dialog_act") or ():
                rows["acts"].append((key, turn, speaker, domain, act, slot, value))


def _read_names(
    key: str,
    turn: int,
    domain: str,
    slots: dict[str, Any],
    edited: dict[str, dict[str, Any]],
    before: dict[str, dict[str, Any]] | None,
    offered: dict[str, list[str]],
    rows: dict[str, list[tuple]],
    name: str,
) -> None:
    """Apply DSTC9's two rules for names that only the search results hold."""
    nameless = slots.get(name) == ""
    found = slots.get("selectedResults") or []
    results = (edited.get(domain) or {}).get("selectedResults") or []
    if found.__class__ is not list or results.__class__ is not list:
        raise TypeError(f"selectedResults of {domain} is no list", turn)
    if nameless:
        for value in found:
            rows["alternatives"].append((key, turn, domain, name, value))
    changed = before is None or not _same_wishes(slots, before.get(domain) or {})
    if changed:
        offered[domain] = []
    elif nameless and len(offered[domain]) == 1:
        rows["corrections"].append((key, turn, domain, name, offered[domain][0]))
    if changed and results:
        offered[domain] = list(results)


def _same_wishes(a: dict[str, Any], b: dict[str, Any]) -> bool:
    return len(a) == len(b) and all(
        b.get(slot) == value for slot, value in a.items() if slot != "selectedResults"
    )


def _read_goal(key: str, goal: Any, rows: list[tuple]) -> None:
    for _, domain, slot, value, *_ in goal:
        for one in value if isinstance(value, list) and value else [value]:
            wish = one if isinstance(one, str) else ""
            rows.append((key, domain, "inform" if wish else "request", slot, wish))

"""Reader of the legacy MultiWOZ format: MultiWOZ 2.0 and 2.1, and MultiWOZ-zh.

In: the parsed JSON, {dialogue id: {"goal", "log"}}, where user and system utterances alternate in
``log`` and the state after a user utterance stands in the ``metadata`` of the system utterance
that follows. Out: a `Corpus`. Slots are named as in the 2.2 schema without the domain (``leaveAt``
is ``leaveat``, ``book``/``day`` is ``bookday``); Chinese slot names stay as they are.
"""

from __future__ import annotations

import os
from collections import Counter
from functools import lru_cache
from typing import Annotated, Any, NamedTuple

import msgspec

from dialogeval.corpora.utterances import JOINED, NO_ANNOTATION, Odd, diagnose, notes_of, tables_of
from dialogeval.exceptions import CorpusError, show
from dialogeval.tables import Corpus, Source, canonical_id, table

__all__ = ["looks_like", "read", "read_ontology"]


class _Dialogue(msgspec.Struct):
    log: Annotated[list[Any], msgspec.Meta(min_length=1)]
    goal: dict[str, Any] | None = None


class _User(msgspec.Struct):
    text: str


class _Parts(msgspec.Struct):
    semi: dict[str, str | list[str]]
    book: dict[str, str | list[Any]]


class _System(_User):
    metadata: dict[str, _Parts]


#: Annotations for "no value yet"; ``none`` and ``dontcare`` are values, for a protocol to judge.
ABSENT = frozenset({"", "not mentioned", "未提及"})


def looks_like(raw: Any) -> bool:
    """Tell whether parsed JSON is in this format."""
    # Any dialogue will do: one that lacks its log is then refused by name.
    return isinstance(raw, dict) and any(isinstance(d, dict) and "log" in d for d in raw.values())


def read(
    raw: dict[str, Any],
    *,
    name: str,
    version: str = "",
    split: str = "all",
    language: str = "en",
    source: Source | None = None,
    file: str | os.PathLike[str] = "",
    strict: bool = False,
) -> Corpus:
    """Turn parsed legacy MultiWOZ JSON into tables."""
    rows: dict[str, list[tuple]] = {
        k: [] for k in ("dialogues", "turns", "states", "goals", "acts", "spans", "bookings")
    }
    layouts: dict[tuple, int] = {}
    counts: Counter[str] = Counter()
    seen: dict[str, str] = {}
    names: dict[tuple[str, str], str] = {}
    odd = Odd(file, strict)
    if not isinstance(raw, dict) or not raw:
        raise CorpusError("", file=file, expected="an object {dialogue id: {goal, log}}", got=show(raw))
    for original, dialogue in raw.items():
        key = canonical_id(original)
        if key in seen:
            raise CorpusError(f"dialogue ids {seen[key]!r} and {original!r} are the same", file=file)
        seen[key] = original
        with odd.kept_whole(rows):
            try:
                _read_dialogue(key, original, dialogue, rows, layouts, names, counts, language)
            except (KeyError, TypeError, AttributeError, ValueError, IndexError) as error:
                place = {"file": file, "dialogue": original}
                raise diagnose(dialogue, _Dialogue, (_User, _System), place, error) from None
    odd.check(rows)
    layout_rows = [
        (number, domain, names[part, slot])
        for domains, number in layouts.items()
        for domain, semi, book in domains
        for part, slots in (("semi", semi), ("book", book))
        for slot in slots
        if slot != "booked"
    ]
    return Corpus(
        name=name,
        version=version,
        split=split,
        language=language,
        family="multiwoz",
        layouts=table("layouts", layout_rows),
        source=source or Source(path=str(file)),
        **odd.said(notes_of(counts)),
        **tables_of(rows, file),
    )


def _read_dialogue(
    key: str,
    original: str,
    dialogue: dict[str, Any],
    rows: dict[str, list[tuple]],
    layouts: dict[tuple, int],
    names: dict[tuple[str, str], str],
    counts: Counter[str],
    language: str,
) -> None:
    log = dialogue["log"]
    if log.__class__ is not list or not log:
        raise ValueError("no utterances")
    if len(log) % 2:
        counts["closing user utterances without an answer left out"] += 1
    rows["dialogues"].append((key, original, ""))
    _read_goal(key, dialogue.get("goal") or {}, rows["goals"])
    add_state = rows["states"].append
    before: dict[str, _Domain] = {}
    for turn in range(len(log) // 2):
        user, system = log[2 * turn], log[2 * turn + 1]
        shape = []
        for domain, parts in system["metadata"].items():
            # Mostly nothing has changed since the turn before, and comparing is quicker than reading.
            here = before.get(domain)
            if here is None or here.parts != parts:
                here = before[domain] = _read_domain(domain, parts, names, language)
            shape.append(here.shape)
            for slot, value in here.states:
                add_state((key, turn, domain, slot, value))
            if here.booked:
                rows["bookings"] += [(key, turn, domain)] * here.booked
            if here.lists:
                counts[JOINED] += here.lists
        number = layouts.get(tuple(shape))
        if number is None:
            number = layouts[tuple(shape)] = len(layouts)
            for _, semi, book in shape:
                for part, slots in (("semi", semi), ("book", book)):
                    for slot in slots:
                        _slot_name(part, slot, names, language)
        if user["text"].__class__ is not str or system["text"].__class__ is not str:
            raise TypeError("text")
        rows["turns"].append((key, turn, user["text"], system["text"], number))
        _read_acts(key, turn, "user", user, rows, counts)
        _read_acts(key, turn, "system", system, rows, counts)


class _Domain(NamedTuple):
    """What the metadata of a turn says of one domain."""

    parts: dict[str, Any]
    shape: tuple[str, tuple[str, ...], tuple[str, ...]]
    states: list[tuple[str, str]]
    booked: int
    lists: int


def _read_domain(
    domain: str, parts: dict[str, Any], names: dict[tuple[str, str], str], language: str
) -> _Domain:
    states: list[tuple[str, str]] = []
    booked = lists = 0
    semi, book = parts["semi"], parts["book"]
    for part, slots in (("semi", semi), ("book", book)):
        for slot, value in slots.items():
            if value.__class__ is str:
                if value in ABSENT:
                    continue
            elif slot == "booked":
                booked += bool(value)
                continue
            elif isinstance(value, list) and all(isinstance(v, str) for v in value):
                # Some releases hold lists of alternatives; joined as 2.1 itself writes them.
                lists += 1
                value = "|".join(value)
                if value in ABSENT:
                    continue
            else:
                raise TypeError("value")
            states.append((_slot_name(part, slot, names, language), value))
    return _Domain(parts, (domain, tuple(semi), tuple(book)), states, booked, lists)


def _slot_name(part: str, slot: str, names: dict[tuple[str, str], str], language: str) -> str:
    name = names.get((part, slot))
    if name is None:
        name = slot if language == "zh" else slot.lower().replace(" ", "")
        if part == "book" and language != "zh" and not name.startswith("book"):
            name = "book" + name
        names[part, slot] = name
    return name


def _read_acts(
    key: str,
    turn: int,
    speaker: str,
    utterance: dict[str, Any],
    rows: dict[str, list[tuple]],
    counts: Counter[str],
) -> None:
    acts = utterance.get("dialog_act") or {}
    if acts.__class__ is not dict:  # the official release writes "No Annotation" there
        counts[NO_ANNOTATION] += 1
        acts = {}
    add = rows["acts"].append
    for name, pairs in acts.items():
        domain, act = _domain_and_act(name)
        for slot, value in pairs:
            add((key, turn, speaker, domain, act, slot.lower(), value))
    add = rows["spans"].append
    for name, slot, value, start, end in utterance.get("span_info") or ():
        add((key, turn, speaker, *_domain_and_act(name), slot.lower(), value, start, end))


@lru_cache(maxsize=4096)
def _domain_and_act(name: str) -> tuple[str, str]:
    domain, _, act = name.lower().partition("-")
    return domain, act


def _read_goal(key: str, goal: dict[str, Any], rows: list[tuple]) -> None:
    for domain, wanted in goal.items():
        if not isinstance(wanted, dict):
            continue  # "message" and "topic" hold text and flags, not wishes
        for slot, value in (wanted.get("info") or {}).items():
            rows.append((key, domain, "inform", slot.lower().replace(" ", ""), str(value)))
        asked = wanted.get("reqt") or []
        if asked.__class__ is not list:  # a string would be taken apart into its letters
            raise TypeError(f"reqt of {domain} in the goal is no list")
        for slot in asked:
            rows.append((key, domain, "request", slot.lower(), ""))
        for slot, value in (wanted.get("book") or {}).items():
            if isinstance(value, str):  # "invalid" and "pre_invalid" are switches of the collection
                rows.append((key, domain, "book", "book" + slot.lower(), value))


def read_ontology(raw: Any, file: str | os.PathLike[str] = "") -> Any:
    """Turn a MultiWOZ or CrossWOZ ontology file into the table (domain, slot, value)."""
    if not isinstance(raw, dict):
        raise CorpusError("", file=file, expected='an object {"domain-slot": [values]}', got=show(raw))
    rows = []
    for key, values in raw.items():
        domain, _, slot = key.partition("-")
        if not slot or not isinstance(values, list):
            raise CorpusError(
                f"entry {key!r}", file=file, expected="domain-slot with a list", got=show(values)
            )
        part, _, rest = slot.partition("-")
        if part in ("semi", "book") and rest:
            slot = rest.lower() if part == "semi" else "book" + rest.lower()
        elif slot.startswith("预订"):
            slot = slot.removeprefix("预订")
        rows += [(domain, slot, str(value)) for value in values]
    return table("ontology", rows)

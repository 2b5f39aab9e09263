"""Reader of ConvLab's unified format.

In: the parsed JSON, a list of dialogues of one or several splits, where the state after a user
utterance stands in that utterance and its dialogue acts are sorted into categorical,
non-categorical (with spans of characters) and binary ones; and the ontology, if there is one.
Out: a `Corpus`. Values stay as they are, ``a|b`` included; an empty string is no value. Slots of
MultiWOZ corpora lose their spaces, so that they are named as in the 2.2 schema (``book day`` is
``bookday``).
"""

from __future__ import annotations

import os
from collections import Counter
from typing import Any

import msgspec
import pandas as pd

from dialogeval.corpora.utterances import (
    ABSENT,
    BARE_DOMAINS,
    NO_STATE,
    UNANSWERED,
    Odd,
    add_span,
    dialogues_of,
    notes_of,
    require,
    turns_of,
)
from dialogeval.exceptions import CorpusError, UnknownNameError, show
from dialogeval.tables import Corpus, Source, table

__all__ = ["looks_like", "read"]

_SPEAKERS = ("user", "system")
_Slots = dict[str, dict[str, str]]


class _Goal(msgspec.Struct):
    inform: _Slots = {}
    request: _Slots = {}


class _Dialogue(msgspec.Struct):
    domains: list[str] = []
    goal: _Goal | None = None


class _Act(msgspec.Struct):
    domain: str = ""
    intent: str = ""
    slot: str = ""
    value: str = ""


class _Acts(msgspec.Struct, rename={"non_categorical": "non-categorical"}):
    categorical: list[_Act] = []
    non_categorical: list[_Act] = []
    binary: list[_Act] = []


class _Utterance(msgspec.Struct):
    dialogue_acts: _Acts | None = None


class _User(_Utterance):
    state: _Slots = {}


class _System(_Utterance):
    booked: dict[str, Any] | None = None


def looks_like(raw: Any) -> bool:
    """Tell whether parsed JSON is in this format."""
    return isinstance(raw, list) and bool(raw) and all(isinstance(d, dict) and "data_split" in d for d in raw)


def read(
    raw: list[dict[str, Any]],
    *,
    name: str,
    version: str = "",
    split: str = "all",
    language: str = "en",
    source: Source | None = None,
    file: str | os.PathLike[str] = "",
    ontology: dict[str, Any] | None = None,
    strict: bool = False,
) -> Corpus:
    """Turn parsed unified JSON into tables."""
    kinds = ("dialogues", "turns", "states", "goals", "acts", "spans", "bookings")
    rows: dict[str, list[tuple]] = {k: [] for k in kinds}
    counts, odd = Counter[str](), Odd(file, strict)
    layouts: dict[tuple, int] = {}
    wanted = {"val": "validation"}.get(split, split)
    found = set()
    multiwoz = name.startswith("multiwoz")
    for key, original, dialogue in dialogues_of(raw, file):
        found.add(str(dialogue.get("data_split", "")))
        multiwoz = multiwoz or str(dialogue.get("dataset", "")).startswith("multiwoz")
        if split != "all" and dialogue.get("data_split") not in (wanted, split):
            continue
        place: dict[str, Any] = {"file": file, "dialogue": original}
        with odd.kept_whole(rows):
            require(dialogue, _Dialogue, place)
            domains = dialogue.get("domains", [])
            own = str(dialogue.get("original_id") or original)
            rows["dialogues"].append((key, own, "+".join(sorted(domains))))
            _read_goal(key, dialogue.get("goal") or {}, rows["goals"], counts)
            for turn, user, system in turns_of(dialogue, original, file, _SPEAKERS, "utt_idx", counts):
                _read_turn(key, turn, user, system, rows, counts, layouts, place | {"turn": turn})
    odd.check(rows)
    if not rows["dialogues"]:
        raise UnknownNameError(f"split of {file}", split, sorted(n[:40] for n in found)[:20])
    tables: dict[str, Any] = {kind: table(kind, lists) for kind, lists in rows.items()}
    tables["ontology"] = _read_ontology(ontology, file)
    shapes = [(n, domain, slot) for shape, n in layouts.items() for domain, slots in shape for slot in slots]
    listed = {row[1:] for row in shapes}
    shapes += [(len(layouts), *slot) for slot in _ontology_slots(ontology) if slot not in listed]
    tables["layouts"] = table("layouts", shapes)
    if multiwoz:
        tables = {kind: _without_spaces(frame) for kind, frame in tables.items()}
    return Corpus(
        name=name,
        version=version,
        split=split,
        language=language,
        family="unified",
        source=source or Source(path=str(file)),
        **odd.said(notes_of(counts)),
        **tables,
    )


def _read_turn(
    key: str,
    turn: int,
    user: dict[str, Any],
    system: dict[str, Any] | None,
    rows: dict[str, list[tuple]],
    counts: Counter[str],
    layouts: dict[tuple, int],
    place: dict[str, Any],
) -> None:
    require(user, _User, place)
    if "state" not in user:
        counts[NO_STATE] += 1
    state = user.get("state", {})
    shape = tuple((domain, tuple(slots)) for domain, slots in state.items() if slots)
    layout = layouts.setdefault(shape, len(layouts))
    rows["turns"].append((key, turn, user["utterance"], system["utterance"] if system else "", layout))
    for domain, slots in state.items():
        for slot, value in slots.items():
            if value not in ABSENT:
                rows["states"].append((key, turn, domain, slot, value))
    _read_acts(key, turn, "user", user, rows, counts)
    if system is None:
        counts[UNANSWERED] += 1
        return
    require(system, _System, place)
    if system.get("state"):
        counts["states beside system utterances, left out"] += 1
    _read_acts(key, turn, "system", system, rows, counts)
    booked = system.get("booked") or {}
    rows["bookings"].extend((key, turn, domain) for domain, entities in booked.items() if entities)


def _read_acts(
    key: str,
    turn: int,
    speaker: str,
    utterance: dict[str, Any],
    rows: dict[str, list[tuple]],
    counts: Counter[str],
) -> None:
    acts = utterance.get("dialogue_acts") or {}
    for act in (a for kind in ("categorical", "non-categorical", "binary") for a in acts.get(kind, ())):
        head = (key, turn, speaker, *(act.get(f, "") for f in ("domain", "intent", "slot", "value")))
        rows["acts"].append(head)
        if "start" in act or "end" in act:
            add_span(rows, counts, utterance["utterance"], head, act.get("start"), act.get("end"))


def _read_goal(key: str, goal: dict[str, Any], rows: list[tuple], counts: Counter[str]) -> None:
    wishes = {kind: goal.get(kind, {}) for kind in ("inform", "request")}
    named: set[str] = set()
    for kind, domains in wishes.items():
        for domain, slots in domains.items():
            for slot, value in slots.items():
                booking = kind == "inform" and slot.startswith("book ")
                rows.append((key, domain, "book" if booking else kind, slot, value))
                named.add(domain)
    bare = {domain for domains in wishes.values() for domain in domains} - named
    counts[BARE_DOMAINS] += len(bare)


def _read_ontology(raw: Any, file: str | os.PathLike[str]) -> pd.DataFrame:
    try:
        rows = [
            (domain, slot, str(value))
            for domain, described in (raw or {"domains": {}})["domains"].items()
            for slot, facts in described["slots"].items()
            for value in facts.get("possible_values") or ()
        ]
    except (AttributeError, KeyError, TypeError):
        expected = "{domains: {domain: {slots: {slot: {possible_values}}}}}"
        raise CorpusError("ontology", file=file, expected=expected, got=show(raw)) from None
    return table("ontology", rows)


def _ontology_slots(raw: dict[str, Any] | None) -> list[tuple[str, str]]:
    domains = (raw or {"domains": {}})["domains"]
    return [(domain, slot) for domain, described in domains.items() for slot in described["slots"]]


def _without_spaces(frame: pd.DataFrame) -> pd.DataFrame:
    if "slot" not in frame:
        return frame
    return frame.assign(slot=frame["slot"].str.replace(" ", "", regex=False))

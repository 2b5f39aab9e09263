"""Corpora of any other making: flat tables, JSON lines, TRADE's and WOZ's dialogues, CamRest676, RiSAWOZ.

In: parsed content whose turns `dialogeval.predictions.records` finds, whatever their fields are called.
Out: a `Corpus` of texts and states; what such a corpus does not say (goals, acts, spans) stays empty.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from typing import Any

from dialogeval.corpora.utterances import ABSENT, NO_STATE, Odd, notes_of
from dialogeval.exceptions import CorpusError, PredictionError, show
from dialogeval.predictions.records import walk
from dialogeval.predictions.syntaxes import triples
from dialogeval.tables import Corpus, Source, canonical_id, table

__all__ = ["read"]

#: Whose dialogues have slots of one domain, which their states do not name.
_ONE_DOMAIN = "restaurant"
_EXPECTED = "dialogues of MultiWOZ, CrossWOZ, SGD or ConvLab, or turns with fields such as user and system"


def read(
    content: Any,
    *,
    name: str,
    version: str = "",
    split: str = "all",
    language: str = "en",
    source: Source | None = None,
    file: str | os.PathLike[str] = "",
    states: Any = None,
    strict: bool = False,
) -> Corpus:
    """Turn the records of a file into tables; ``states`` are those of a file of their own."""
    try:
        found, recognised = walk(_with_answers(content))
        beside = None if states is None else walk(states)[0]
    except PredictionError as error:
        problem = f"unknown corpus format ({error.problem})"
        raise CorpusError(problem, file=file, expected=_EXPECTED, got=error.got) from None
    spoken = any(field in record for record in found for field in ("user", "response", "reference"))
    if not spoken or not all("dialogue_id" in record for record in found):
        problem = f"unknown corpus format (holds no {'dialogue ids' if spoken else 'utterances'})"
        raise CorpusError(problem, file=file, expected=_EXPECTED, got=recognised)
    counts, odd = Counter[str](), Odd(file, strict)
    rows: dict[str, list[tuple]] = {"dialogues": [], "turns": [], "states": []}
    annotated = _by_turn(beside) if beside is not None else None
    for original, records in _by_dialogue(found):
        key = canonical_id(original)
        with odd.kept_whole(rows):
            rows["dialogues"].append((key, original, ""))
            for number, record in enumerate(sorted(records, key=lambda record: record.get("turn", 0))):
                place = {"file": file, "dialogue": original, "turn": number}
                user, system = (_text(record, fields, place) for fields in _SPEAKERS)
                rows["turns"].append((key, number, user, system, 0))
                given = (
                    annotated.get((key, record.get("turn", number)), []) if annotated is not None else None
                )
                for domain, slot, value in _state(record, given, counts, place):
                    rows["states"].append((key, number, domain, slot, value))
    odd.check(rows)
    tables: Any = {kind: table(kind, lists) for kind, lists in rows.items()}
    return Corpus(
        name=name,
        version=version,
        split=split,
        language=language,
        family="records",
        source=source or Source(path=str(file)),
        **odd.said(notes_of(counts)),
        **tables,
    )


#: Fields that hold what the user and what the system says.
_SPEAKERS = (("user",), ("reference", "response"))
#: Names of an utterance's text where it is an object, as in CamRest676.
_WORDS = ("transcript", "sent", "text", "utterance")


def _with_answers(content: Any) -> Any:
    """Give each turn its answer where a turn begins with what the system said before, as in WOZ 2.0 and TRADE."""
    if not isinstance(content, list):
        return content
    return [_shifted(dialogue) if isinstance(dialogue, dict) else dialogue for dialogue in content]


def _shifted(dialogue: dict[str, Any]) -> dict[str, Any]:
    turns = dialogue.get("dialogue")
    if not isinstance(turns, list) or not all(
        isinstance(t, dict) and "system_transcript" in t for t in turns
    ):
        return dialogue
    answers = [turn["system_transcript"] for turn in turns[1:]] + [""]
    said = [turn | {"system_utterance": answer} for turn, answer in zip(turns, answers, strict=True)]
    return dialogue | {"dialogue": said}


def _by_dialogue(records: list[dict[str, Any]]) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Yield (id, turns) of each dialogue, in the order of the file."""
    found: dict[str, list[dict[str, Any]]] = {}
    names: dict[str, str] = {}
    for record in records:
        original = str(record.get("dialogue_id", ""))
        found.setdefault(names.setdefault(canonical_id(original), original), []).append(record)
    yield from found.items()


def _by_turn(records: list[dict[str, Any]]) -> dict[tuple[str, Any], Any]:
    """Return states that stand in a table of their own by turn."""
    return {(canonical_id(str(r.get("dialogue_id"))), r.get("turn")): r.get("state", []) for r in records}


def _text(record: dict[str, Any], fields: tuple[str, ...], place: dict[str, Any]) -> str:
    value = next((record[field] for field in fields if field in record), "")
    if isinstance(value, dict):
        value = next((value[name] for name in _WORDS if name in value), value)
    if not isinstance(value, str):
        raise CorpusError(f"what the {fields[0]} says", expected="a string", got=show(value), **place)
    return value


def _state(
    record: dict[str, Any], given: Any, counts: Counter[str], place: dict[str, Any]
) -> Iterator[tuple[str, str, str]]:
    """Yield the filled slots of a turn's state, wherever it stands and however it is written."""
    state = record.get("gold", record.get("state", given))
    if state is None and isinstance(user := record.get("user"), dict):
        state = user.get("slu")
    if state is None:
        counts[NO_STATE] += 1
        return
    try:
        found = _of_acts(state) if _is_acts(state) else triples(state)
    except PredictionError as error:
        raise CorpusError(error.problem, expected=error.expected, got=error.got, **place) from None
    yield from dict.fromkeys(triple for triple in found if triple[2] not in ABSENT)


def _is_acts(state: Any) -> bool:
    return isinstance(state, list) and all(
        isinstance(a, dict) and isinstance(a.get("slots"), list) for a in state
    )


def _of_acts(acts: list[dict[str, Any]]) -> Iterator[tuple[str, str, str]]:
    """Yield what is informed by acts such as {"act": "inform", "slots": [["hotel-area", "north"]]}."""
    for act in acts:
        for pair in act["slots"] if act.get("act", "inform") == "inform" else ():
            if not isinstance(pair, list) or [*map(type, pair)] != [str, str]:
                raise PredictionError("a slot", expected="[slot, value], two strings", got=show(pair))
            domain, mark, slot = pair[0].partition("-")
            yield (domain, slot, pair[1]) if mark else (_ONE_DOMAIN, domain, pair[1])

"""What the readers of dialogue lists share: ids, alternating speakers, and spans of characters.

In: dialogues as parsed JSON, a list of objects with ``dialogue_id`` and ``turns`` (the
schema-guided and the unified format). Out: checked pieces of them for the readers to turn into rows.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import msgspec

from dialogeval.exceptions import CorpusError, show
from dialogeval.tables import COLUMNS, INTEGERS, canonical_id, table

__all__ = [
    "ABSENT",
    "BARE_DOMAINS",
    "COPIED",
    "JOINED",
    "NO_ACTS",
    "NO_ANNOTATION",
    "NO_STATE",
    "OFF_SCHEMA",
    "UNANSWERED",
    "add_span",
    "dialogues_of",
    "notes_of",
    "tables_of",
    "token_span",
    "turns_of",
]

#: Annotations for "no value yet"; ``none`` and ``dontcare`` are values, for a protocol to judge.
ABSENT = frozenset({"", "not mentioned"})
#: Note for a user's last word that the system leaves unanswered.
UNANSWERED = "closing user utterances without an answer, kept with an empty system utterance"
OPENED = "dialogues that the system opens; what it says before the first user is left out"
NO_STATE = "user utterances without a state, taken as empty"
BARE_DOMAINS = "domains of goals that name no slot, which the table of goals cannot hold"
JOINED = "values given as a list, joined with |"
OFF_SCHEMA = "state slots that the schema lacks"
NO_ACTS = "dialogues without dialogue acts"
NO_ANNOTATION = "utterances without dialogue-act annotation"
COPIED = "slots copied from another slot, which have no span"
OUTSIDE = "spans that lie outside their utterance, left out"
#: Notes that change what a score means, by how they begin; see `Corpus`. An unanswered word is not among
#: them: scores of responses count empty references themselves.
CAUTIONS = {
    NO_STATE: "state",
    JOINED: "state",
    OFF_SCHEMA: "state",
    BARE_DOMAINS: "task",
    **dict.fromkeys((NO_ACTS, NO_ANNOTATION, COPIED, OUTSIDE), "references"),
}


#: What msgspec calls the types of JSON, and what a user does.
_TYPES = {"str": "a string", "int": "a number", "float": "a number", "bool": "a boolean", "array": "a list"}
_TYPES |= {"object": "an object", "null": "null"}
_PLACE = re.compile(r"\$?\.?(?:turns|log|messages)\[(\d+)\]")


def fault(given: Any, kind: Any, place: dict[str, Any]) -> CorpusError | None:
    """Return where and how parsed JSON departs from a declared type, None if it does not."""
    try:
        msgspec.convert(given, kind)
    except msgspec.ValidationError as error:
        said, _, path = str(error).partition(" - at `$")
        path = path.strip("`.").replace("[...]", "")
        said = said.replace("Object missing required field ", "an object with ").removeprefix("Expected ")
        expected, _, got = said.partition(", got ")
        names = re.compile(r"`(\w+)`")
        expected, got = (names.sub(lambda m: _TYPES.get(m[1], m[1]), text) for text in (expected, got))
        if (number := _PLACE.match(path)) and "turn" not in place:
            place = place | {"turn": int(number[1]) // 2}
        return CorpusError(path, expected=expected, got=got or None, **place)
    return None


def require(given: Any, kind: Any, place: dict[str, Any]) -> None:
    """Refuse parsed JSON that departs from a declared type."""
    if error := fault(given, kind, place):
        raise error


def diagnose(
    dialogue: Any, kind: Any, utterances: tuple[Any, Any], place: dict[str, Any], error: Exception
) -> CorpusError:
    """Find out slowly what a fast reader stumbled over; ``utterances`` are the user's and the system's type."""
    if found := fault(dialogue, kind, place):
        return found
    held = next(dialogue[name] for name in ("log", "messages") if name in dialogue)
    for number, utterance in enumerate(held):
        if found := fault(utterance, utterances[number % 2], place | {"turn": number // 2}):
            return found
    reason, *turn = error.args  # where what no type declares is wrong, the reader knows its turn
    return CorpusError(f"does not follow its format ({reason})", **place, turn=turn[0] if turn else None)


class Odd:
    """Dialogues that cannot be read: refused where one is strict, else left out, counted and named."""

    def __init__(self, file: str | os.PathLike[str], strict: bool) -> None:
        self.file, self.strict = file, strict
        self.errors: list[CorpusError] = []

    @contextmanager
    def kept_whole(self, rows: dict[str, list[tuple]]) -> Iterator[None]:
        """Take back the rows of a dialogue that turns out to be odd."""
        before = {kind: len(lists) for kind, lists in rows.items()}
        try:
            yield
        except CorpusError as error:
            if self.strict:
                raise
            self.errors.append(error)
            for kind, n in before.items():
                del rows[kind][n:]

    def check(self, rows: dict[str, list[tuple]]) -> None:
        """Refuse a corpus of which nothing is left."""
        if self.errors and not rows["dialogues"]:
            raise self.errors[0]

    def said(self, notes: dict[str, Any]) -> dict[str, Any]:
        """Add what was left out to the notes of a corpus, and to those that change what a score means."""
        if not self.errors:
            return notes
        first = str(self.errors[0]).removeprefix(f"{self.file}: ")
        n = len(self.errors)
        line = f"{n:,} odd dialogue{'s' * (n > 1)} left out ({first}); strict=True refuses them"
        cautions = notes["cautions"] | {"any": (*notes["cautions"].get("any", ()), line)}
        return {"notes": (*notes["notes"], line), "cautions": cautions}


def dialogues_of(raw: Any, file: str | os.PathLike[str]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Yield (canonical id, id as it stands, dialogue), checking the outermost structure."""
    if not isinstance(raw, list) or not raw:
        raise CorpusError("", file=file, expected="a list of dialogues", got=show(raw))
    seen: dict[str, str] = {}
    for number, dialogue in enumerate(raw):
        original = dialogue.get("dialogue_id") if isinstance(dialogue, dict) else None
        if not isinstance(original, str) or not original.strip():
            got = show(original if isinstance(dialogue, dict) else dialogue)
            raise CorpusError(f"entry {number}", file=file, expected="an object with a dialogue_id", got=got)
        key = canonical_id(original)
        if key in seen:
            problem = f"dialogue ids {seen[key]!r} and {original!r} are the same"
            raise CorpusError(problem, file=file, mend="keep one of the dialogues")
        seen[key] = original
        yield key, original, dialogue


def turns_of(
    dialogue: dict[str, Any],
    original: str,
    file: str | os.PathLike[str],
    speakers: tuple[str, str],
    number_key: str,
    counts: Counter[str],
) -> Iterator[tuple[int, dict[str, Any], dict[str, Any] | None]]:
    """Yield (turn, user utterance, system utterance) of a dialogue whose speakers alternate."""
    utterances = dialogue.get("turns")
    if not isinstance(utterances, list) or not utterances:
        raise CorpusError(
            "", file=file, dialogue=original, expected="turns, a list of utterances", got=show(utterances)
        )

    def fault(problem: str, number: int, expected: str, got: object, mend: str | None = None) -> CorpusError:
        place: dict[str, Any] = {"file": file, "dialogue": original, "turn": number // 2}
        return CorpusError(
            f"{problem}utterance {number}", expected=expected, got=show(got), mend=mend, **place
        )

    opened = len(utterances) > 1 and _speaker(utterances[0]) == speakers[1]
    counts[OPENED] += opened
    utterances = utterances[1:] if opened else utterances
    for number, utterance in enumerate(utterances):
        if not isinstance(utterance, dict) or not isinstance(utterance.get("utterance"), str):
            got = utterance.get("utterance") if isinstance(utterance, dict) else utterance
            raise fault("", number, "an object with a text", got)
        if utterance.get("speaker") != speakers[number % 2]:
            expected = f"{speakers[number % 2]} (speakers alternate)"
            raise fault("speaker of ", number, expected, utterance.get("speaker"))
        index = utterance.get(number_key, number + opened)
        if isinstance(index, bool) or str(index) != str(number + opened):
            raise fault(f"{number_key} of ", number, str(number + opened), index, "sort the utterances")
    for first in range(0, len(utterances), 2):
        yield first // 2, utterances[first], utterances[first + 1] if first + 1 < len(utterances) else None


def _speaker(utterance: Any) -> Any:
    return utterance.get("speaker") if isinstance(utterance, dict) else None


def token_span(text: str, start: Any, end: Any) -> tuple[int, int, str] | None:
    """Convert a span of characters into one of white-space tokens."""
    if start.__class__ is not int or end.__class__ is not int or not 0 <= start < end <= len(text):
        return None
    inside = text[start:end]
    if not inside.strip():
        return None
    start += len(inside) - len(inside.lstrip())
    end -= len(inside) - len(inside.rstrip())
    cut = (start > 0 and not text[start - 1].isspace()) or (end < len(text) and not text[end].isspace())
    # The span's first character belongs to the last token of everything up to and including it.
    return len(text[: start + 1].split()) - 1, len(text[:end].split()) - 1, "part" if cut else "whole"


#: Columns that the readers take over as they stand.
_UNCHECKED = {
    "dialogues": ("type",),
    "alternatives": ("value",),
    "corrections": ("value",),
    "goals": ("domain", "slot", "value"),
    "acts": ("domain", "act", "slot", "value"),
    "spans": ("value", "start", "end"),
}
_PLAIN = {str, int, float, bool, type(None)}


def tables_of(rows: Mapping[str, list[tuple]], file: str | os.PathLike[str]) -> dict[str, Any]:
    """Turn the rows that a reader gathered into tables."""
    for kind, lists in rows.items():
        for column in _UNCHECKED.get(kind, ()):
            place = COLUMNS[kind].index(column)
            # A set of classes is far quicker than a look at every value, and nearly always enough.
            allowed = {int} if column in INTEGERS else _PLAIN
            if {row[place].__class__ for row in lists} <= allowed:
                continue
            wrong = next(r for r in lists if r[place].__class__ not in allowed)
            raise _misfit(kind, column, wrong, file)
    try:
        return {kind: table(kind, lists) for kind, lists in rows.items()}
    except OverflowError:
        kind, row = next((k, r) for k in rows for r in rows[k] if any(_is_huge(v) for v in r))
        column = next(c for c, v in zip(COLUMNS[kind], row, strict=True) if _is_huge(v))
        raise _misfit(kind, column, row, file) from None


def _is_huge(value: Any) -> bool:
    return value.__class__ is int and not -(2**63) <= value < 2**63


def _misfit(kind: str, column: str, row: tuple, file: str | os.PathLike[str]) -> CorpusError:
    given = dict(zip(COLUMNS[kind], row, strict=True))
    expected = "a whole number that fits 64 bits" if column in INTEGERS else "a string"
    place: dict[str, Any] = {"file": file, "dialogue": row[0], "turn": given.get("turn")}
    return CorpusError(f"{column} of {kind}", expected=expected, got=show(given[column]), **place)


def notes_of(counts: Counter[str]) -> dict[str, Any]:
    """Return the notes and cautions of a corpus from what its reader counted."""
    notes = {what: f"{count:,} {what}" for what, count in sorted(counts.items()) if count}
    cautions: dict[str, tuple[str, ...]] = {}
    for beginning, kind in CAUTIONS.items():
        for what in notes:
            if what.startswith(beginning):
                cautions[kind] = (*cautions.get(kind, ()), notes[what])
    return {"notes": tuple(notes.values()), "cautions": cautions}


def add_span(
    rows: dict[str, list[tuple]], counts: Counter[str], text: str, head: tuple, start: Any, end: Any
) -> None:
    """Append a span, given in characters, to the rows; or count why it cannot be."""
    found = token_span(text, start, end)
    if found is None:
        counts[OUTSIDE] += 1
        return
    if found[2] == "part":
        counts["spans that end within a white-space token, widened to the whole token"] += 1
    rows["spans"].append((*head, *found[:2]))

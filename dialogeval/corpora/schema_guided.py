"""Reader of the schema-guided format: MultiWOZ 2.2 and the Schema-Guided Dialogue corpus (SGD).

In: the parsed JSON, a list of dialogues (all files of a split, concatenated), where the state after
a user utterance stands in the frames of that utterance, a frame a service; and, where there are
any, the schema and MultiWOZ 2.2's separate file of dialogue acts. Out: a `Corpus`. A domain is a
service as named in the file (``hotel``, ``Hotels_1``); slots lose the service in front of them
(``hotel-bookday`` is ``bookday``). Where a state gives several acceptable values, the first stands
in ``states`` and the others in ``alternatives``.
"""

from __future__ import annotations

import os
from collections import Counter
from typing import Any

import msgspec
import pandas as pd

from dialogeval.corpora.utterances import (
    ABSENT,
    COPIED,
    NO_ACTS,
    OFF_SCHEMA,
    UNANSWERED,
    Odd,
    add_span,
    dialogues_of,
    notes_of,
    require,
    turns_of,
)
from dialogeval.exceptions import CorpusError, show
from dialogeval.tables import Corpus, Source, canonical_id, table

__all__ = ["looks_like", "read", "read_schema"]

_SPEAKERS = ("USER", "SYSTEM")


class _Dialogue(msgspec.Struct):
    services: list[str] = []


class _State(msgspec.Struct):
    slot_values: dict[str, list[str]] = {}


class _Action(msgspec.Struct):
    act: str
    slot: str = ""
    values: list[Any] = []


class _Span(msgspec.Struct):
    slot: str


class _Frame(msgspec.Struct):
    service: str
    state: _State | msgspec.UnsetType = msgspec.UNSET
    actions: list[_Action] = []
    slots: list[_Span] = []


class _Utterance(msgspec.Struct):
    frames: list[_Frame] = []


_LACKING = "turns that lack the frame of a service seen before; their states hold the frames given"


def looks_like(raw: Any) -> bool:
    """Tell whether parsed JSON is in this format."""
    return isinstance(raw, list) and bool(raw) and all(isinstance(d, dict) and "services" in d for d in raw)


def read(
    raw: list[dict[str, Any]],
    *,
    name: str,
    version: str = "",
    split: str = "all",
    language: str = "en",
    source: Source | None = None,
    file: str | os.PathLike[str] = "",
    schema: list[dict[str, Any]] | None = None,
    dialog_acts: dict[str, Any] | None = None,
    strict: bool = False,
) -> Corpus:
    """Turn parsed schema-guided JSON into tables."""
    kinds = ("dialogues", "turns", "states", "alternatives", "acts", "spans")
    rows: dict[str, list[tuple]] = {k: [] for k in kinds}
    counts, odd = Counter[str](), Odd(file, strict)
    ontology, kinds_of_slots = read_schema(schema, file)
    acts = _index_acts(dialog_acts, file)
    # Services of each layout; None are all of them, where no schema names them.
    shapes: dict[frozenset[str] | None, int] = {frozenset(kinds_of_slots["domain"].unique()) or None: 0}
    for key, original, dialogue in dialogues_of(raw, file):
        with odd.kept_whole(rows):
            require(dialogue, _Dialogue, {"file": file, "dialogue": original})
            services = dialogue.get("services", [])
            rows["dialogues"].append((key, original, "+".join(sorted(services))))
            _read_dialogue(key, original, dialogue, acts, rows, counts, shapes, file)
    odd.check(rows)
    used = list(dict.fromkeys((domain, slot) for _, _, domain, slot, _ in rows["states"]))
    known = list(zip(kinds_of_slots["domain"], kinds_of_slots["slot"], strict=True)) or used
    unknown = [f"{d}-{s}" for d, s in set(used) - set(known)]
    if unknown:
        counts[f"{OFF_SCHEMA}: {', '.join(sorted(unknown))}"] = len(unknown)
    tables: dict[str, Any] = {k: table(k, lists) for k, lists in rows.items()}
    said = odd.said(notes_of(counts))
    if counts[_LACKING]:
        said["cautions"]["per-turn"] = (
            "gold states are not cumulative, they hold the services of their own turn only: a tracker that keeps "
            "what was said before looks wrong; protocol sgd is made for such gold",
        )
    if kinds_of_slots.empty and used:
        said["cautions"]["slots"] = (
            f"there is no schema: the {len(used):,} slots that occur in gold states are taken for all there are",
        )
    return Corpus(
        name=name,
        version=version,
        split=split,
        language=language,
        family="schema_guided",
        layouts=table(
            "layouts", [(n, *k) for of, n in shapes.items() for k in known if of is None or k[0] in of]
        ),
        ontology=ontology,
        schema=kinds_of_slots,
        source=source or Source(path=str(file)),
        **tables,
        **said,
    )


def _read_dialogue(
    key: str,
    original: str,
    dialogue: dict[str, Any],
    acts: dict[str, dict[str, Any]] | None,
    rows: dict[str, list[tuple]],
    counts: Counter[str],
    shapes: dict[frozenset[str] | None, int],
    file: str | os.PathLike[str],
) -> None:
    annotated = dict(acts.get(key, {})) if acts is not None else None
    if acts is not None and key not in acts:
        counts[NO_ACTS] += 1
    known: set[str] = set()
    for turn, user, system in turns_of(dialogue, original, file, _SPEAKERS, "turn_id", counts):
        place = {"file": file, "dialogue": original, "turn": turn}
        if system is None:
            counts[UNANSWERED] += 1
        services: set[str] = set()
        for speaker, utterance in (("user", user), ("system", system)):
            if utterance is None:
                continue
            frames = _frames(utterance, place)
            if speaker == "user":
                services = {f["service"] for f in frames if "state" in f}
                for frame in frames:
                    _read_state(key, turn, frame, rows, counts)
            if annotated is None:
                _read_frames(key, turn, speaker, utterance["utterance"], frames, rows, counts)
            else:
                entry = annotated.pop(str(2 * turn + (speaker == "system")), None)
                if entry is not None:
                    _read_acts(key, turn, speaker, utterance["utterance"], entry, rows, counts, place)
        layout = shapes.setdefault(frozenset(services), len(shapes))
        rows["turns"].append((key, turn, user["utterance"], system["utterance"] if system else "", layout))
        # Whether a state goes on where its frame is missing is not for a reader to guess.
        counts[_LACKING] += bool(known - services)
        known |= services
    if annotated:
        counts["annotated utterances that the dialogues lack, left out"] += len(annotated)


def _frames(utterance: dict[str, Any], place: dict[str, Any]) -> list[dict[str, Any]]:
    require(utterance, _Utterance, place)
    frames = utterance.get("frames", [])
    twice = [name for name, times in Counter(frame["service"] for frame in frames).items() if times > 1]
    if twice:
        raise CorpusError(f"service {twice[0]} has two frames", mend="join them", **place)
    return frames


def _short(slot: str, service: str) -> str:
    return slot.removeprefix(f"{service}-")


def _read_state(
    key: str,
    turn: int,
    frame: dict[str, Any],
    rows: dict[str, list[tuple]],
    counts: Counter[str],
) -> None:
    if "state" not in frame:
        return
    service, prefix = frame["service"], f"{frame['service']}-"
    for slot, values in frame["state"].get("slot_values", {}).items():
        if len(values) == 1 and values[0] not in ABSENT:
            rows["states"].append((key, turn, service, slot.removeprefix(prefix), values[0]))  # nearly all
            continue
        filled = [v for v in dict.fromkeys(values) if v not in ABSENT]
        if not filled:
            counts["slots in states whose values are empty or not mentioned, taken as absent"] += 1
            continue
        head = (key, turn, service, _short(slot, service))
        rows["states"].append((*head, filled[0]))
        rows["alternatives"].extend((*head, value) for value in filled[1:])


def _read_frames(
    key: str,
    turn: int,
    speaker: str,
    text: str,
    frames: list[dict[str, Any]],
    rows: dict[str, list[tuple]],
    counts: Counter[str],
) -> None:
    """Acts and spans as SGD has them, inside the frames."""
    for frame in frames:
        service = frame["service"]
        for action in frame.get("actions", ()):
            slot = _short(action.get("slot", ""), service)
            head = (key, turn, speaker, service, action["act"].lower(), slot)
            rows["acts"].extend((*head, str(value)) for value in action.get("values") or [""])
        for span in frame.get("slots", ()):
            slot = span["slot"]
            if "copy_from" in span and "start" not in span:
                counts[COPIED] += 1
                continue
            start, end = span.get("start"), span.get("exclusive_end")
            value = span.get("value")
            if not isinstance(value, str):  # SGD gives positions only; bad ones add_span will leave out
                value = text[start:end] if isinstance(start, int) and isinstance(end, int) else ""
            add_span(
                rows,
                counts,
                text,
                (key, turn, speaker, service, "", _short(slot, service), value),
                start,
                end,
            )


def _read_acts(
    key: str,
    turn: int,
    speaker: str,
    text: str,
    entry: Any,
    rows: dict[str, list[tuple]],
    counts: Counter[str],
    place: dict[str, Any],
) -> None:
    """Acts and spans as MultiWOZ 2.2 has them, in a file of their own."""
    try:
        for act_name, pairs in (entry.get("dialog_act") or {}).items():
            domain, _, act = act_name.lower().partition("-")
            for slot, value in pairs:
                rows["acts"].append((key, turn, speaker, domain, act, slot.lower(), str(value)))
        for act_name, slot, value, start, end in entry.get("span_info") or ():
            domain, _, act = act_name.lower().partition("-")
            add_span(
                rows, counts, text, (key, turn, speaker, domain, act, slot.lower(), str(value)), start, end
            )
    except (AttributeError, TypeError, ValueError):
        expected = "dialog_act {act: [[slot, value]]} and span_info [[act, slot, value, start, end]]"
        raise CorpusError("dialogue acts", expected=expected, got=show(entry), **place) from None


def _index_acts(dialog_acts: Any, file: str | os.PathLike[str]) -> dict[str, dict[str, Any]] | None:
    if dialog_acts is None:
        return None
    if not isinstance(dialog_acts, dict) or not all(isinstance(v, dict) for v in dialog_acts.values()):
        expected = "{dialogue id: {utterance number: annotation}}"
        raise CorpusError("dialogue acts", file=file, expected=expected, got=show(dialog_acts))
    return {canonical_id(name): entry for name, entry in dialog_acts.items()}


def read_schema(schema: Any, file: str | os.PathLike[str]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return ontology (listed values only) and every slot of a schema with its kind."""
    values: list[tuple] = []
    slots: list[tuple] = []
    try:
        for service in schema or ():
            name = service["service_name"]
            for slot in service["slots"]:
                short, listed = _short(slot["name"], name), slot.get("possible_values") or ()
                fixed = slot.get("is_categorical", bool(listed))
                slots.append((name, short, "categorical" if fixed else "free"))
                values.extend((name, short, str(v)) for v in listed)
    except (AttributeError, KeyError, TypeError):
        expected = "a list of services {service_name, slots: [{name, possible_values}]}"
        raise CorpusError("schema", file=file, expected=expected, got=show(schema)) from None
    return table("ontology", values), table("schema", slots)

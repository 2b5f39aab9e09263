"""The prediction formats: for each, one function from parsed content to one `Cell` a turn.

In comes a `Content` (rows of a line format or one JSON document), out come cells; what holds for
all formats is checked by `predictions.cells.build`. A reader names the dialogue and turn of what it
refuses, and never changes what it is given.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from dialogeval.exceptions import PredictionError, show
from dialogeval.predictions.cells import ABSENT, Cell, turn_gap
from dialogeval.strict_json import parse_json

__all__ = ["READERS", "Content"]


@dataclass
class Content:
    """A parsed prediction file."""

    file: str
    rows: list[tuple[int, dict[str, Any]]] | None = None
    document: Any = None
    unit: str = "line"
    unused: Counter[str] = field(default_factory=Counter)
    notes: list[str] = field(default_factory=list)


def _read_pairs(content: Content) -> Iterator[Cell]:
    """Rows with dialogue_id, turn and gold + pred and/or reference + response."""
    for line, row, place in _rows(content, "pairs", {"gold", "pred", "reference", "response"}):
        for first, second in (("gold", "pred"), ("reference", "response")):
            if (first in row) != (second in row):
                lacking = second if first in row else first
                raise PredictionError(
                    f"has {first if first in row else second!r} but no {lacking!r}",
                    **place,
                    mend=f"add {lacking!r}",
                )
        yield Cell(
            row["dialogue_id"],
            row["turn"],
            state=row.get("pred", ABSENT),
            response=row.get("response", ABSENT),
            gold=row.get("gold", ABSENT),
            reference=row.get("reference", ABSENT),
            line=line,
        )


def _read_turns(content: Content) -> Iterator[Cell]:
    """Rows with dialogue_id, turn and state and/or response (and perhaps active_domains)."""
    for line, row, _ in _rows(content, "turns", {"state", "response", "active_domains"}):
        yield Cell(
            row["dialogue_id"],
            row["turn"],
            state=row.get("state", ABSENT),
            response=row.get("response", ABSENT),
            active_domains=row.get("active_domains", ABSENT),
            line=line,
        )


def _read_mwzeval(content: Content) -> Iterator[Cell]:
    """{dialogue_id: [{response, state, active_domains}, …]}."""
    known = {"response", "state", "active_domains"}
    for name, number, cell in _turns_of(content, "mwzeval"):
        if type(cell) is not dict or cell.keys().isdisjoint(known):
            raise PredictionError(
                "the turn",
                file=content.file,
                dialogue=name,
                turn=number,
                expected="an object with response and/or state",
                got=show(cell),
            )
        if not cell.keys() <= known:
            content.unused.update(cell.keys() - known)
        yield Cell(
            name,
            number,
            cell.get("state", ABSENT),
            cell.get("response", ABSENT),
            cell.get("active_domains", ABSENT),
        )


def _read_dstc9(content: Content) -> Iterator[Cell]:
    """{dialogue_id: [state after each user turn]}."""
    for name, number, state in _turns_of(content, "dstc9"):
        yield Cell(name, number, state)


def _read_trade(content: Content) -> Iterator[Cell]:
    """{dialogue_id: {turn: {turn_belief, pred_bs_ptr}}}, both lists of "domain-slot-value"."""
    yield from _gold_and_predicted(content, "trade", "turn_belief", "pred_bs_ptr")


def _read_gt_pr(content: Content) -> Iterator[Cell]:
    """{id: {turn: {gt, pr}}}."""
    yield from _gold_and_predicted(content, "gt-pr", "gt", "pr")


def _gold_and_predicted(content: Content, format: str, gold: str, predicted: str) -> Iterator[Cell]:
    for name, number, cell in _turns_of(content, format):
        if type(cell) is not dict or predicted not in cell:
            raise PredictionError(
                "the turn",
                file=content.file,
                dialogue=name,
                turn=number,
                expected=f"an object with {gold} and {predicted}",
                got=show(cell),
            )
        content.unused.update(cell.keys() - {gold, predicted})
        yield Cell(name, number, cell[predicted], gold=cell.get(gold, ABSENT))


def _read_convlab(content: Content) -> Iterator[Cell]:
    """A list of samples with ``predictions``, or of dialogues in the unified format."""
    items = content.document
    if not isinstance(items, list) or not all(type(i) is dict for i in items):
        raise PredictionError(
            "not format convlab",
            file=content.file,
            expected="a list of objects",
            got=show(items),
            mend="check format=",
        )
    if any("turns" in item for item in items):
        for position, item in enumerate(items, start=1):
            yield from _unified_dialogue(item, position, content)
        return
    numbered, last, count = "", -1, 0
    for position, sample in enumerate(items, start=1):
        place = f"{content.file}, item {position}"
        index = sample.get("utt_idx")
        if isinstance(index, bool) or not isinstance(index, int) or index < 0:
            raise PredictionError("utt_idx", file=place, expected="a whole number from 0", got=show(index))
        if "dialogue_id" not in sample:
            # The published files have no ids: a dialogue begins where the numbers start again.
            count += index <= last or not count
            numbered, last = str(count - 1), index
        predicted = sample.get("predictions")
        if type(predicted) is not dict:
            raise PredictionError("predictions", file=place, expected="an object", got=show(predicted))
        by_system = sample.get("speaker") == "system"
        yield Cell(
            sample.get("dialogue_id", numbered),
            index // 2,
            predicted.get("state", ABSENT),
            predicted.get("response", predicted.get("utterance", ABSENT)) if by_system else ABSENT,
            gold=sample.get("state", ABSENT) if "state" in predicted else ABSENT,
            reference=sample.get("utterance", ABSENT) if by_system else ABSENT,
            user=ABSENT if by_system else sample.get("utterance", ABSENT),
            line=position,
        )
    if count:
        content.notes.append(f"the file has no dialogue ids: its {count:,} dialogues are numbered from 0")


def _unified_dialogue(item: dict[str, Any], position: int, content: Content) -> Iterator[Cell]:
    """Yield the user turns of one dialogue; their ``state`` is gold where ``predictions`` stand beside it."""
    name = item.get("dialogue_id", ABSENT)
    place: dict[str, Any] = {"file": f"{content.file}, item {position}"}
    if name is ABSENT:
        raise PredictionError("no dialogue_id", **place, expected="dialogue_id and turns")
    turns = item.get("turns")
    if not isinstance(turns, list) or not turns or not all(type(t) is dict for t in turns):
        raise PredictionError(
            "turns", **place, dialogue=str(name), expected="a list of objects", got=show(turns)
        )
    number = -1
    for turn in turns:
        if turn.get("speaker") != "user":
            continue
        number += 1
        predicted = turn.get("predictions", turn)
        if type(predicted) is not dict or "state" not in predicted:
            raise PredictionError("the user turn has no state", **place, dialogue=str(name), turn=number)
        yield Cell(
            name,
            number,
            predicted["state"],
            gold=turn.get("state", ABSENT) if predicted is not turn else ABSENT,
            user=turn.get("utterance", ABSENT),
            line=position,
        )
    if number < 0:
        raise PredictionError("has no user turns", **place, dialogue=str(name), expected='speaker "user"')


#: Reader of every format by its name.
READERS: dict[str, Callable[[Content], Iterator[Cell]]] = {
    "pairs": _read_pairs,
    "turns": _read_turns,
    "mwzeval": _read_mwzeval,
    "dstc9": _read_dstc9,
    "trade": _read_trade,
    "convlab": _read_convlab,
    "gt-pr": _read_gt_pr,
}


def _rows(
    content: Content, format: str, known: set[str]
) -> Iterator[tuple[int, dict[str, Any], dict[str, Any]]]:
    """Yield (number, row with its JSON cells parsed, place for errors) of a line format."""
    if content.rows is None:
        raise PredictionError(
            f"not format {format}",
            file=content.file,
            expected="JSON lines, CSV or Parquet with dialogue_id and turn",
            got=show(content.document),
            mend="check format=",
        )
    used = known | {"dialogue_id", "turn"}
    for number, row in content.rows:
        spot = f"{content.file}, {content.unit} {number}"
        for name in ("dialogue_id", "turn"):
            if name not in row:
                raise PredictionError(
                    f"no {name!r}", file=spot, expected="dialogue_id and turn", got=show(row)
                )
        if content.unit == "row":
            row = _decoded(row, spot)
        place = {"file": spot, "dialogue": str(row["dialogue_id"]), "turn": row["turn"]}
        if row.keys().isdisjoint(known):
            raise PredictionError(f"none of the fields {', '.join(sorted(known))}", **place)
        if not row.keys() <= used:
            content.unused.update(row.keys() - used)
        yield number, row, place


def _decoded(row: dict[str, Any], spot: str) -> dict[str, Any]:
    """Return a row of a CSV or Parquet file with its JSON cells parsed and its turn as a number."""
    out = dict(row)
    for name, value in row.items():
        if value is None and name in (
            "dialogue_id",
            "turn",
            "state",
            "response",
            "gold",
            "pred",
            "reference",
        ):
            mend = {"state": "write {} for an empty state", "response": 'write "" for an empty response'}
            raise PredictionError(
                f"column {name} is empty (NaN)", file=spot, mend=mend.get(name, "fill it in")
            )
        if name in ("state", "gold", "pred", "active_domains"):
            if isinstance(value, str):
                out[name] = parse_json(value.encode("utf-8"), f"{spot}, column {name}")
            elif isinstance(value, dict):
                out[name] = _without_null(value)
        elif name == "turn":
            out[name] = _whole(value)
    return out


def _whole(value: Any) -> Any:
    """Return a number that is written as text or as 3.0 as an int, all else as it is."""
    if isinstance(value, str) and value.strip().isascii() and value.strip().isdecimal() and len(value) < 20:
        return int(value)
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _without_null(value: dict[str, Any]) -> dict[str, Any]:
    """Drop the slots of a Parquet struct that a row lacks: all rows of a struct have all fields."""
    return {k: _without_null(v) if isinstance(v, dict) else v for k, v in value.items() if v is not None}


def _turns_of(content: Content, format: str) -> Iterator[tuple[str, int, Any]]:
    """Yield (dialogue id, turn, value) of {dialogue_id: [value, …]} or {dialogue_id: {turn: value}}."""
    document, file = content.document, content.file
    if type(document) is not dict:
        got = "rows with dialogue_id and turn" if content.rows is not None else show(document)
        raise PredictionError(
            f"not format {format}",
            file=file,
            expected="an object of dialogues",
            got=got,
            mend="check format=",
        )
    for name, turns in document.items():
        if type(turns) is dict:
            turns = _numbered(turns, file, name)
        elif not isinstance(turns, list):
            raise PredictionError(
                "the dialogue", file=file, dialogue=name, expected="a list of turns", got=show(turns)
            )
        if not turns:
            raise PredictionError(
                "has no turns", file=file, dialogue=name, mend="give its turns or leave it out"
            )
        for number, value in enumerate(turns):
            yield name, number, value


def _numbered(turns: dict[str, Any], file: str, name: str) -> list[Any]:
    """Return the values of {turn: value} in order of the turns, none of which may be missing."""
    numbers = {}
    for key in turns:
        if not (key.isascii() and key.isdecimal() and len(key) < 10):
            raise PredictionError(
                "the dialogue", file=file, dialogue=name, expected="turn numbers as keys", got=show(key)
            )
        if int(key) in numbers:
            raise PredictionError(
                "stands twice", file=file, dialogue=name, turn=int(key), mend="keep one of them"
            )
        numbers[int(key)] = turns[key]
    gap = turn_gap(sorted(numbers))
    if gap:
        raise PredictionError(gap, file=file, dialogue=name, mend="number the turns from 0 without gaps")
    return [numbers[n] for n in sorted(numbers)]

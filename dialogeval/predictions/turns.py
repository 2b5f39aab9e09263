"""The way to the turns of a file: parsed content in, (dialogue id, turn, content, line) of every turn out.

Turns are found wherever they are nested: in rows, by dialogue, by number, under a name of their own, as a
list for each field, with one object for each utterance, or with the number of the turn in the id.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice, repeat
from typing import Any

from dialogeval.exceptions import PredictionError, few, show
from dialogeval.predictions.names import CONTENT, rank_names

__all__ = ["ABSENT", "SAMPLE", "Cell", "Turns", "outline"]

#: Marks a field that a turn does not have (null is something else).
ABSENT: Any = type("Absent", (), {"__repr__": lambda self: "absent", "__bool__": lambda self: False})()
#: Turns by which it is decided how a file is made.
SAMPLE = 200
#: Which turn, what it holds, and where it stands in the file.
Cell = tuple[Any, Any, Any, int]

_SPLIT = re.compile(r"^(?:train|dev|val|valid|validation|test)[-_](?=.*\w)", re.I)
_CARRIED = re.compile(r"^\W*(.*?\w)[\W_]+(?:turn|utterance|utt|t)?[\W_]*(0|[1-9]\d{0,3})\W*$", re.I | re.S)
_NUMBER = re.compile(r"\s*(?:turn|t)?[\W_]*(\d{1,9})(?:\.0)?\s*", re.I | re.A)
_USERS = {"user", "usr", "human", "customer", "client", "0"}


class Turns:
    """Finds the turns of a file; ``shape`` says how they are nested, ``notes`` what was assumed."""

    def __init__(self, fields: Mapping[str, str], only: Sequence[str] | None = None) -> None:
        self.fields, self.only = dict(fields), only
        self.notes: dict[str, None] = {}
        self.shape = ""
        self.long = False

    # Names ------------------------------------------------------------------------------------------

    def named(self, row: Mapping[str, Any]) -> dict[str, list[str]]:
        """Return the names in a row by what they mean; of states and texts those of the format only."""
        found = rank_names(tuple(row))
        if self.only is None:
            return found
        kept = {m: [n for n in names if n in self.only or m not in CONTENT] for m, names in found.items()}
        return {m: names for m, names in kept.items() if names}

    def names(self, row: Mapping[str, Any], meaning: str) -> list[str]:
        """Return the names in a row that mean something."""
        given = self.fields.get("dialogue_id" if meaning == "id" else meaning)
        if given is not None:
            return [given] if given in row else []
        return rank_names(tuple(row)).get(meaning, [])

    def scalar(self, row: Mapping[str, Any], meaning: str) -> Any:
        """Return the first field of a meaning that is no list or object."""
        for name in self.names(row, meaning):
            value = row[name]
            if meaning == "id" and isinstance(value, list) and [*map(type, value)] == [str] * 3:
                return "-".join(value)  # ["test", "MUL0001.json", "0"], as TripPy writes it
            if not isinstance(value, (list, dict)):
                return value
        return ABSENT

    def has_content(self, row: Mapping[str, Any]) -> bool:
        """Tell whether a row has a field that may be a state or a text."""
        given = (
            path.split(".")[0] for field, path in self.fields.items() if field not in ("dialogue_id", "turn")
        )
        return not self.named(row).keys().isdisjoint(CONTENT) or any(name in row for name in given)

    def _held(self, row: Mapping[str, Any]) -> Any:
        """Return the turns that a dialogue holds under a name of its own."""
        for name in self.names(row, "turns"):
            items = list(row[name].values()) if isinstance(row[name], dict) else row[name]
            if isinstance(items, list) and items and all(isinstance(x, (dict, list)) for x in items):
                return row[name]
        return ABSENT

    # The top ----------------------------------------------------------------------------------------

    def cells(self, content: Any) -> Iterator[Cell]:
        """Yield the turns of parsed content."""
        if self.only is None:
            content = self._unwrapped(content)
        if isinstance(content, dict):
            alone = {"dialogue_id", "turn"} <= content.keys()
            if self.only is None:
                alone = self.scalar(content, "id") is not ABSENT or self._held(content) is not ABSENT
            if not alone:
                if content and not any(isinstance(v, (dict, list, str)) for v in content.values()):
                    raise PredictionError("holds no dialogues", got=outline(content))
                return self._dialogues(content, 0)
            content = [content]
        if isinstance(content, str) or not isinstance(content, Iterable):
            raise PredictionError(
                "holds no turns", expected="an object or a list of dialogues or turns", got=show(content)
            )
        return self._items(content)

    def _unwrapped(self, content: Any) -> Any:
        """Step into {"results": […]} and turn columns into rows."""
        while isinstance(content, dict) and content:
            if {"columns", "data"} <= content.keys() and isinstance(content["data"], list):
                return [dict(zip(content["columns"], row, strict=False)) for row in content["data"]]
            named = self.names(content, "id")
            if named and isinstance(content[named[0]], (list, dict)) and self.has_content(content):
                columns = [list(v.values()) if isinstance(v, dict) else v for v in content.values()]
                if all(isinstance(v, list) for v in columns):
                    return [dict(zip(content, row, strict=True)) for row in zip(*columns, strict=False)]
            held = [
                n
                for n in self.names(content, "wrapper")
                if isinstance(content[n], (list, dict)) and content[n]
            ]
            if len(held) != 1 or self.scalar(content, "id") is not ABSENT or _has_like(content, held[0]):
                break
            content = content[held[0]]
        return content

    # Lists ------------------------------------------------------------------------------------------

    def _items(self, items: Iterable[Any]) -> Iterator[Cell]:
        """Yield the turns of a list of turns or dialogues."""
        items = iter(items)
        head = list(islice(items, SAMPLE))
        rows = [x for x in head if isinstance(x, dict)]
        if rows and all(self.names(rows[0], meaning) for meaning in ("id", "slot", "value")):
            yield from self._triples(chain(head, items))
            return
        self.shape = "rows" if rows else "lists"
        carried, spoken = self._carried(rows), bool(rows) and bool(self.names(rows[0], "speaker"))
        pending: Cell | None = None
        for position, item in enumerate(chain(head, items), start=1):
            if item is ABSENT:  # a blank line
                continue
            if not isinstance(item, dict):
                yield from self._list_item(item, position)
                continue
            held, identity = self._held(item), self.scalar(item, "id")
            if held is not ABSENT:
                self.shape = "dialogues"
                yield from self._dialogue(self._id_or_number(identity, True), held, position)
                continue
            if identity is ABSENT and len(item) <= 2 and not self.has_content(item) and _holds_turns(item):
                yield from self._dialogues(item, position)
                continue
            turn = number_of(self.scalar(item, "turn"))
            if turn is ABSENT and (spoken_at := self.scalar(item, "utterance number")) is not ABSENT:
                number = number_of(spoken_at)
                if type(number) is not int or number < 0:
                    raise PredictionError(
                        f"item {position}: number of an utterance",
                        expected="a whole number from 0",
                        got=show(spoken_at),
                    )
                identity, turn = self._id_or_number(identity, number <= self._last), number // 2
                self._last = number
            elif turn is ABSENT and carried:
                identity, turn = _parted(identity)
            elif turn is ABSENT and identity is not ABSENT and self._lists_of(item):
                self.shape = "dialogues with a list for each field"
                yield from self._dialogue(identity, item, position)
                continue
            if not spoken:
                yield identity, turn, item, position
            elif pending and pending[:2] == (identity, turn):
                pending = (*pending[:2], self._with_utterance(pending[2], item), position)
            else:
                yield from [pending] if pending else []
                pending = identity, turn, self._with_utterance({}, item), position
        yield from [pending] if pending else []
        if self._count:
            self.notes[f"the file has no dialogue ids: its {self._count:,} dialogues are numbered from 0"] = (
                None
            )

    _count, _last = 0, -1

    def _id_or_number(self, identity: Any, is_new: bool) -> Any:
        """Return an id, or the number of a dialogue that has none."""
        if identity is not ABSENT:
            return identity
        self._count += is_new or not self._count
        return str(self._count - 1)

    def _list_item(self, item: Any, position: int) -> Iterator[Cell]:
        """Yield [id, turn, content], the turns of a list that is a dialogue, or a text that is a turn."""
        if (
            isinstance(item, list)
            and len(item) > 2
            and isinstance(item[0], str)
            and type(number_of(item[1])) is int
        ):
            yield item[0], number_of(item[1]), item[2], position
        elif (
            isinstance(item, list) and item and all(isinstance(x, dict) and self.names(x, "id") for x in item)
        ):
            yield from self._items(item)
        elif isinstance(item, list):
            self.shape = "lists of turns"
            yield from self._dialogue(self._id_or_number(ABSENT, True), item, position)
        else:
            yield ABSENT, ABSENT, item, position

    def _carried(self, rows: Sequence[dict[str, Any]]) -> bool:
        """Tell whether rows without a turn have it in their ids."""
        named = ("turn", "utterance number")
        if not rows or any(self.scalar(r, m) is not ABSENT for r in rows for m in named):
            return False
        ids = [self.scalar(r, "id") for r in rows if self._held(r) is ABSENT]
        return len(ids) == len(rows) and all(isinstance(i, str) for i in ids) and _carry_turns(ids)

    def _triples(self, rows: Iterable[dict[str, Any]]) -> Iterator[Cell]:
        """Gather a long table, one row a triple; its turns with an empty state have no row."""
        self.shape, self.long = "a table of triples", True
        found: dict[tuple[Any, Any], list[Any]] = {}
        for position, row in enumerate(rows, start=1):
            turn = number_of(self.scalar(row, "turn"))
            if turn is ABSENT:
                raise PredictionError(
                    f"row {position}: no turn", expected="the number of the turn", got=show(row)
                )
            state = found.setdefault((self.scalar(row, "id"), turn), [])
            triple = [self.scalar(row, meaning) for meaning in ("domain", "slot", "value")]
            if triple[1] not in (None, "", ABSENT):
                state.append(triple if triple[0] not in (None, "", ABSENT) else triple[1:])
        yield from ((identity, turn, {"state": state}, 0) for (identity, turn), state in found.items())

    # Dialogues --------------------------------------------------------------------------------------

    def _dialogues(self, document: dict[str, Any], position: int) -> Iterator[Cell]:
        """Yield the turns of {id: dialogue} or {id with turn: turn}."""
        self.shape = "dialogues by id"
        keys = list(islice(document, SAMPLE))
        if (
            self.only is None
            and not any(self._is_dialogue(document[k]) for k in keys[:20])
            and _carry_turns(keys)
        ):
            self.shape = "turns by id"
            yield from ((*_parted(key), value, position) for key, value in document.items())
            return
        for key, value in document.items():
            yield from self._dialogue(key, value, position)

    def _is_dialogue(self, value: Any) -> bool:
        """Tell whether a value under an id is a whole dialogue rather than one turn."""
        if isinstance(value, list):
            first = next((x for x in value if isinstance(x, dict)), None)
            return first is not None and (
                self.has_content(first) or not {"slot", "value"} & rank_names(tuple(first)).keys()
            )
        return isinstance(value, dict) and (self._held(value) is not ABSENT or _holds_turns({"": value}))

    def _dialogue(self, identity: Any, node: Any, position: int) -> Iterable[Cell]:
        """Return the turns of one dialogue, however they are held."""
        if isinstance(node, dict):
            numbers = [number_of(k) for k in node]
            if node and all(type(n) is int for n in numbers):
                return zip(repeat(identity), numbers, node.values(), repeat(position))
            held = self._held(node)
            if held is not ABSENT:
                return self._dialogue(identity, held, position)
            names = self._lists_of(node)
            if names:
                rows = [
                    dict(zip(names, row, strict=True)) for row in zip(*(node[n] for n in names), strict=True)
                ]
                return zip(repeat(identity), range(len(rows)), rows, repeat(position))
        if isinstance(node, list) and node:
            first = next((t for t in node if isinstance(t, dict)), {})
            known = rank_names(tuple(first))
            if "speaker" in known and ("turn" not in known or not all(map(self._is_user, node))):
                return self._spoken(identity, node, position)
            if ("turn" in known or "turn" in self.fields) and self.has_content(first):
                turns = [number_of(self.scalar(t, "turn")) if isinstance(t, dict) else ABSENT for t in node]
                return zip(
                    repeat(identity),
                    [i if t is ABSENT else t for i, t in enumerate(turns)],
                    node,
                    repeat(position),
                )
            return zip(repeat(identity), range(len(node)), node, repeat(position))
        if node == []:
            raise PredictionError(
                "has no turns", dialogue=str(identity), mend="give its turns or leave it out"
            )
        expected = "a list of turns, turns by number, or a list for each field"
        raise PredictionError("the dialogue", dialogue=str(identity), expected=expected, got=outline(node))

    def _lists_of(self, node: Mapping[str, Any]) -> list[str]:
        """Return the fields of a dialogue that has a list for each field, one entry a turn."""
        known = self.named(node)
        names = [
            n
            for m in (*CONTENT, "user")
            if m != "reply"
            for n in known.get(m, [])
            if isinstance(node[n], list)
        ]
        longest = max((len(node[n]) for n in names), default=0)
        return names if longest and all(len(node[n]) == longest for n in names) else []

    def _spoken(self, identity: Any, utterances: list[Any], position: int) -> Iterator[Cell]:
        """Yield one turn for each utterance of the user, with what the system says after it."""
        current: dict[str, Any] | None = None
        number = -1
        for item in utterances:
            if not isinstance(item, dict):
                raise PredictionError(
                    "turns", dialogue=str(identity), expected="a list of objects", got=show(item)
                )
            if self._is_user(item):
                if current is not None:
                    yield identity, number, current, position
                current, number = self._with_utterance({}, item), number + 1
            elif current is not None:
                current = self._with_utterance(current, item)
        if current is None:
            raise PredictionError("has no user turns", dialogue=str(identity), expected='speaker "user"')
        yield identity, number, current, position

    def _is_user(self, item: Any) -> bool:
        return isinstance(item, dict) and str(self.scalar(item, "speaker")).lower() in _USERS

    def _with_utterance(self, turn: dict[str, Any], item: dict[str, Any]) -> dict[str, Any]:
        """Return a turn with what an utterance adds; what the system says is a reference beside a prediction."""
        speaker, text = self.names(item, "speaker"), self.names(item, "user")
        if self._is_user(item):
            return turn | {k: v for k, v in item.items() if k not in speaker}
        predicted = item.get("predictions")
        more = {k: v for k, v in item.items() if k not in (*turn, *text, *speaker)}
        if (
            isinstance(predicted, dict)
            and (said := predicted.get("response", predicted.get("utterance"))) is not None
        ):
            more.pop("predictions", None)
            more |= {"resp_gen": said} | ({"reference": item[text[0]]} if text else {})
        return turn | more


def number_of(value: Any) -> Any:
    """Return a number that is written as text or as 3.0 as an int, all else as it is."""
    if isinstance(value, str):
        match = _NUMBER.fullmatch(value)
        return int(match[1]) if match else value
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _carry_turns(ids: Sequence[str]) -> bool:
    """Tell whether ids carry the number of a turn, such as mul0001-2 or test-MUL0001-2."""
    matches = [m for i in ids if (m := _CARRIED.match(i))]
    if not ids or len(matches) < len(ids) or len({i.lower() for i in ids}) < len(ids):
        return False
    turns: dict[str, list[int]] = {}
    for match in matches:
        turns.setdefault(match[1].lower(), []).append(int(match[2]))
    first = _SPLIT.sub("", next(iter(turns)))
    several = len(turns) > 1 or bool(re.fullmatch(r"[^\W\d]+\d+(?:\.json)?", first))
    # The last dialogue of a sample may be cut, and one or the other may lack its first turn.
    starts = sum(min(numbers) <= 1 for numbers in turns.values())
    return several and starts * 10 >= len(turns) * 9 and all(max(n) < 4 * len(n) + 4 for n in turns.values())


def _parted(identity: Any) -> tuple[Any, Any]:
    match = _CARRIED.match(str(identity))
    if not match:
        raise PredictionError(
            f"the id {str(identity)[:60]!r} carries no turn", expected="one such as mul0001-2"
        )
    return _SPLIT.sub("", match[1]), int(match[2])


def _holds_turns(item: Mapping[str, Any]) -> bool:
    """Tell whether all values are lists or turns by number."""
    return all(
        isinstance(v, list) or (isinstance(v, dict) and v and all(type(number_of(k)) is int for k in v))
        for v in item.values()
    )


def _has_like(content: Mapping[str, Any], held: str) -> bool:
    """Tell whether other keys hold as many things as the wrapper, so that it is one dialogue of several."""
    others = [v for k, v in content.items() if k != held and isinstance(v, type(content[held])) and v]
    return (
        sum(
            len(v) * 2 >= len(content[held]) and any(isinstance(x, (dict, list)) for x in _values(v))
            for v in others
        )
        > 0
    )


def _values(node: Any) -> list[Any]:
    return list(node.values()) if isinstance(node, dict) else node


def outline(value: Any) -> str:
    """Describe a value by its keys, or as `show` does."""
    if isinstance(value, dict) and value:
        return f"an object with the keys {few([str(k) for k in value], most=8, width=30)}"
    return show(value)

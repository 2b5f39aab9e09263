"""One record a turn from any content: field names and nesting in, the same few fields out.

Files differ in what they call things and in how they nest them. ``data/fields.csv`` says which names
mean what; `walk` finds the turns wherever they are, decides once from the first of them which field is
the state, the gold state, the response and so on, and reads all turns that way. Adding a format is adding
rows to that table.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from itertools import chain, islice
from typing import Any, NamedTuple

from dialogeval.exceptions import PredictionError, few, show
from dialogeval.predictions import syntaxes
from dialogeval.resources import lookup

__all__ = ["ABSENT", "FIELDS", "Record", "read", "walk"]

#: Marks a field that a turn does not have (null is something else).
ABSENT: Any = type("Absent", (), {"__repr__": lambda self: "absent", "__bool__": lambda self: False})()
#: What can be named with ``fields=``.
FIELDS = ("dialogue_id", "turn", "state", "gold", "response", "reference", "user", "active_domains")
#: Turns by which it is decided what the fields of a file are.
SAMPLE = 300
_STATES = ("predicted", "either", "gold", "prediction", "raw", "bare")
_TEXTS = ("predicted response", "response", "reference")
_CONTENT = (*_STATES, *_TEXTS, "reply")
_SPLIT = re.compile(r"^(?:train|dev|val|valid|validation|test)[-_](?=.*\w)", re.I)
_CARRIED = re.compile(r"^\W*(.*?\w)[\W_]+(?:turn|utterance|utt|t)?[\W_]*(0|[1-9]\d{0,3})\W*$", re.I | re.S)
_USERS = {"user", "usr", "human", "customer", "client", "wizard-of-user", "0"}

Path = tuple[str, ...]


class Record(NamedTuple):
    """What a file says of one turn; every field but the first two may be `ABSENT`."""

    dialogue_id: Any
    turn: Any
    state: Any = ABSENT
    gold: Any = ABSENT
    response: Any = ABSENT
    reference: Any = ABSENT
    user: Any = ABSENT
    active_domains: Any = ABSENT
    line: int = 0


class Cell(NamedTuple):
    """A turn as it stands in a file: which one it is, and its content."""

    dialogue_id: Any
    turn: Any
    value: Any
    line: int = 0


def walk(content: Any, fields: Mapping[str, str] | None = None) -> tuple[list[dict[str, Any]], str]:
    """Return one dict a turn with those of `FIELDS` that it has, and a line on what was recognised."""
    records, walker = read(content, fields or {})
    names = (*FIELDS, "line")
    ordered = [(n, Record._fields.index(n)) for n in names]
    out = [{n: r[i] for n, i in ordered if r[i] is not ABSENT} for r in records]
    return out, walker.recognised


def read(content: Any, fields: Mapping[str, str], slots: Any = None) -> tuple[Iterator[Record], Walker]:
    """Return the records of parsed content one by one, and the walker that says what it recognised."""
    walker = Walker(fields, slots)
    cells = walker.cells(content)
    sample = list(islice(cells, SAMPLE))
    if not sample:
        raise PredictionError("holds no turns", mend="check that the system wrote its predictions")
    walker.decide(sample)
    return walker.records(chain(sample, cells)), walker


# Names ----------------------------------------------------------------------------------------------


def plain(name: object) -> str:
    """Return a name as it is compared: without case, blanks, marks and the s of a plural."""
    text = re.sub(r"[\W_]+", "", str(name)).lower()
    return text[:-1] if len(text) > 3 and text.endswith("s") else text


@cache
def _meanings() -> dict[str, dict[str, int]]:
    """What each plain name may mean, with its rank among the names of that meaning."""
    out: dict[str, dict[str, int]] = {}
    for rank, (meaning, name, _) in enumerate(lookup("fields")):
        out.setdefault(plain(name), {}).setdefault(meaning, rank)
    return out


@lru_cache(2048)
def _named(keys: tuple[str, ...]) -> dict[str, list[str]]:
    """Return, for each meaning, the keys that have it, the best known name first."""
    out: dict[str, list[tuple[int, str]]] = {}
    for name in keys:
        for meaning, rank in _meanings().get(plain(name), {}).items():
            out.setdefault(meaning, []).append((rank, name))
    return {meaning: [name for _, name in sorted(names)] for meaning, names in out.items()}


def is_field(name: str) -> bool:
    """Tell whether a name means something."""
    return plain(name) in _meanings()


def _seen_in(name: str) -> str:
    return next((seen for _, n, seen in lookup("fields") if seen and plain(n) == plain(name)), "")


# The way to the turns -------------------------------------------------------------------------------


class Walker:
    """Finds the turns of a file and what their fields are; ``notes`` says what was assumed."""

    def __init__(self, fields: Mapping[str, str], only: Sequence[str] | None = None) -> None:
        self.fields, self.only = dict(fields), only
        self.slots: Any = None
        self.notes: dict[str, None] = {}
        self.shape = ""
        self.unused: dict[str, int] = {}
        self.paths: dict[str, Path] = {}
        self.wide: list[tuple[str, str, str]] = []
        self.bare = self.double = self.spoken = self.long = False

    def names(self, row: Mapping[str, Any], meaning: str) -> list[str]:
        """Return the names in a row that mean something."""
        given = self.fields.get({"id": "dialogue_id"}.get(meaning, meaning))
        if given is not None:
            return [given] if given in row else []
        return self.named(row).get(meaning, [])

    def named(self, row: Mapping[str, Any]) -> dict[str, list[str]]:
        """Return the names in a row by what they mean; of states and texts those of the format only."""
        found = _named(tuple(row))
        if self.only is None:
            return found
        return {
            m: kept
            for m, names in found.items()
            if (kept := [n for n in names if n in self.only or m not in _CONTENT])
        }

    def scalar(self, row: Mapping[str, Any], meaning: str) -> Any:
        """Return the first field of a meaning that is no list or object."""
        return next(
            (row[n] for n in self.names(row, meaning) if not isinstance(row[n], (list, dict))), ABSENT
        )

    def has_content(self, row: Mapping[str, Any]) -> bool:
        """Tell whether a row has a field that may be a state or a text."""
        known = self.named(row)
        return any(m in known for m in _CONTENT) or any(
            v.split(".")[0] in row for k, v in self.fields.items() if k not in ("dialogue_id", "turn")
        )

    def cells(self, content: Any) -> Iterator[Cell]:
        """Yield the turns of parsed content."""
        content = content if self.only is not None else self._unwrapped(content)
        if isinstance(content, dict):
            if self.only is not None and not {"dialogue_id", "turn"} <= content.keys():
                self.shape = "dialogues by id"
                for key, value in content.items():
                    yield from self._dialogue(key, value, 0)
                return
            if self.scalar(content, "id") is not ABSENT or self._turns_in(content) is not ABSENT:
                content = [content]
            else:
                self.shape = "dialogues by id"
                yield from self._dialogues(content)
                return
        if isinstance(content, str) or not isinstance(content, Iterable):
            raise PredictionError(
                "no turns", expected="an object or a list of dialogues or turns", got=show(content)
            )
        yield from self._items(content)

    def _unwrapped(self, content: Any) -> Any:
        """Step into {"results": […]} and turn columns into rows."""
        for _ in range(4):
            if not isinstance(content, dict) or not content:
                return content
            if {"columns", "data"} <= content.keys() and isinstance(content["data"], list):
                return [dict(zip(content["columns"], row, strict=False)) for row in content["data"]]
            named = self.names(content, "id")
            if named and isinstance(content[named[0]], (list, dict)) and self.has_content(content):
                columns = {k: list(v.values()) if isinstance(v, dict) else v for k, v in content.items()}
                if all(isinstance(v, list) for v in columns.values()):
                    return [
                        dict(zip(columns, row, strict=False)) for row in zip(*columns.values(), strict=False)
                    ]
            held = [
                n
                for n in self.names(content, "wrapper")
                if isinstance(content[n], (list, dict)) and content[n]
            ]
            if len(held) != 1 or self.scalar(content, "id") is not ABSENT or _all_dialogues(content, held[0]):
                return content
            content = content[held[0]]
        return content

    def _turns_in(self, row: Mapping[str, Any]) -> Any:
        """Return the turns that a dialogue holds under a name of its own."""
        for name in self.names(row, "turns"):
            value = row[name]
            items = list(value.values()) if isinstance(value, dict) else value
            if isinstance(value, (list, dict)) and items and all(isinstance(x, (dict, list)) for x in items):
                return value
        return ABSENT

    def _items(self, items: Iterable[Any]) -> Iterator[Cell]:
        """Yield the turns of a list of turns or dialogues."""
        count, last, pending = 0, -1, None
        items = iter(items)
        head = list(islice(items, SAMPLE))
        carried = self._carried_by_rows(head)
        rows = [x for x in head if isinstance(x, dict)]
        if (
            rows
            and self.names(rows[0], "slot")
            and self.names(rows[0], "value")
            and self.names(rows[0], "id")
        ):
            yield from self._triples(chain(head, items))
            return
        self.shape = "rows" if rows else "lists"
        for position, item in enumerate(chain(head, items), start=1):
            if isinstance(item, dict):
                identity, turns = self.scalar(item, "id"), self._turns_in(item)
                if turns is not ABSENT:
                    self.shape = "dialogues"
                    if identity is ABSENT:
                        identity, count = str(count), count + 1
                    yield from self._dialogue(identity, turns, position)
                    continue
                if (
                    identity is ABSENT
                    and len(item) <= 2
                    and not self.has_content(item)
                    and _holds_turns(item)
                ):
                    self.shape = "dialogues by id"
                    yield from self._dialogues(item, position)
                    continue
                turn = self.scalar(item, "turn")
                if turn is ABSENT and (uttered := self.scalar(item, "utterance number")) is not ABSENT:
                    number = _number(uttered)
                    if isinstance(number, bool) or not isinstance(number, int) or number < 0:
                        raise PredictionError(
                            f"item {position}: the number of the utterance",
                            expected="a whole number from 0",
                            got=show(uttered),
                        )
                    if identity is ABSENT:  # a dialogue begins where the numbers start again
                        count += number <= last or not count
                        last, identity = number, str(count - 1)
                    turn = number // 2
                elif turn is ABSENT and identity is not ABSENT and carried:
                    identity, turn = _parted(identity)
                elif turn is ABSENT and identity is not ABSENT and self._is_parallel(item):
                    self.shape = "dialogues of lists"
                    yield from self._dialogue(identity, item, position)
                    continue
                if self.names(item, "speaker"):
                    if pending and pending[:2] == (identity, turn):
                        pending = pending._replace(value=self._with_utterance(pending.value, item))
                        continue
                    if pending:
                        yield pending
                    pending = Cell(identity, turn, self._with_utterance({}, item), position)
                    continue
                yield Cell(identity, _number(turn), item, position)
            elif (
                isinstance(item, list)
                and len(item) > 2
                and isinstance(item[0], str)
                and type(_number(item[1])) is int
            ):
                yield Cell(item[0], _number(item[1]), item[2], position)
            elif isinstance(item, list):
                self.shape = "lists of dialogues"
                count += 1
                yield from self._dialogue(str(count - 1), item, position)
            else:
                yield Cell(ABSENT, ABSENT, item, position)
        if pending:
            yield pending
        if count:
            self.notes[f"the file has no dialogue ids: its {count:,} dialogues are numbered from 0"] = None

    def _carried_by_rows(self, rows: Sequence[Any]) -> bool:
        """Tell whether rows without a turn have it in their ids."""
        dicts = [r for r in rows if isinstance(r, dict)]
        if not dicts or any(
            self.scalar(r, "turn") is not ABSENT or self._turns_in(r) is not ABSENT for r in dicts
        ):
            return False
        ids = [self.scalar(r, "id") for r in dicts]
        return all(isinstance(i, str) for i in ids) and _carry_turns(ids)

    def _is_parallel(self, node: Mapping[str, Any]) -> bool:
        """Tell whether a dialogue has a list for each field, one entry a turn."""
        lists = [
            node[n]
            for m in _CONTENT
            if m != "reply"
            for n in self.named(node).get(m, [])
            if isinstance(node[n], list)
        ]
        return bool(lists) and len({len(x) for x in lists}) == 1

    def _triples(self, rows: Iterable[dict[str, Any]]) -> Iterator[Cell]:
        """Gather a long table, one row a triple; its turns with an empty state have no row."""
        self.shape, self.long = "a table of triples", True
        found: dict[tuple[Any, Any], list[Any]] = {}
        for position, row in enumerate(rows, start=1):
            turn = self.scalar(row, "turn")
            place = self.scalar(row, "id"), _number(turn)
            if turn is ABSENT:
                raise PredictionError(
                    f"row {position}: no turn", expected="a number of the turn", got=show(row)
                )
            domain, slot, value = (self.scalar(row, m) for m in ("domain", "slot", "value"))
            state = found.setdefault(place, [])
            if slot not in (None, "", ABSENT):
                state.append([slot, value] if domain in (None, "", ABSENT) else [domain, slot, value])
        for (identity, turn), state in found.items():
            yield Cell(identity, turn, {"state": state})

    def _dialogues(self, document: dict[str, Any], position: int = 0) -> Iterator[Cell]:
        """Yield the turns of {id: dialogue} or {id with turn: turn}."""
        keys = list(islice(document, SAMPLE * 10))
        whole = any(_is_dialogue(document[k], self) for k in keys)
        if not whole and _carry_turns(keys):
            self.shape = "turns by id"
            for key, value in document.items():
                yield Cell(*_parted(key), value, position)
            return
        for key, value in document.items():
            yield from self._dialogue(key, value, position)

    def _dialogue(self, identity: Any, node: Any, position: int) -> Iterator[Cell]:
        """Yield the turns of one dialogue, however they are held."""
        if isinstance(node, list):
            first = next((t for t in node if isinstance(t, dict)), {})
            if self.names(first, "speaker") and not self.names(first, "turn"):
                yield from self._spoken(identity, node, position)
                return
            numbered = self.names(first, "turn") if self.has_content(first) else []
            if not node:
                raise PredictionError(
                    "has no turns", dialogue=str(identity), mend="give its turns or leave it out"
                )
            for number, cell in enumerate(node):
                turn = self.scalar(cell, "turn") if numbered and isinstance(cell, dict) else ABSENT
                yield Cell(identity, number if turn is ABSENT else _number(turn), cell, position)
            return
        if isinstance(node, dict):
            numbers = [_key_number(k) for k in node]
            if node and None not in numbers:
                yield from (
                    Cell(identity, n, v, position) for n, v in zip(numbers, node.values(), strict=True)
                )
                return
            turns = self._turns_in(node)
            if turns is not ABSENT:
                yield from self._dialogue(identity, turns, position)
                return
            if self._is_parallel(node):
                known = self.named(node)
                names = [
                    n
                    for m in (*_CONTENT, "user", "active domains")
                    for n in known.get(m, [])
                    if isinstance(node[n], list)
                ]
                for number, values in enumerate(zip(*(node[n] for n in names), strict=False)):
                    yield Cell(identity, number, dict(zip(names, values, strict=True)), position)
                return
        expected = "a list of turns, turns by number, or a list for each field"
        raise PredictionError("the dialogue", dialogue=str(identity), expected=expected, got=_outline(node))

    def _spoken(self, identity: Any, turns: list[Any], position: int) -> Iterator[Cell]:
        """Yield one turn for each utterance of the user, with what the system says after it."""
        current: dict[str, Any] | None = None
        number = -1
        for item in turns:
            if not isinstance(item, dict):
                raise PredictionError("turns", dialogue=str(identity), expected="a list of objects", got=show(item))
            if self._is_user(item):
                if current is not None:
                    yield Cell(identity, number, current, position)
                number += 1
                current = self._with_utterance({}, item)
            elif current is not None:
                current = self._with_utterance(current, item)
        if current is None:
            raise PredictionError("has no user turns", dialogue=str(identity), expected='speaker "user"')
        yield Cell(identity, number, current, position)

    def _is_user(self, item: Mapping[str, Any]) -> bool:
        return str(self.scalar(item, "speaker")).lower() in _USERS

    def _with_utterance(self, turn: dict[str, Any], item: dict[str, Any]) -> dict[str, Any]:
        """Return a turn with what one utterance's object adds to it: the system's text is a reference or response."""
        speaker = self.names(item, "speaker")
        if self._is_user(item):
            return turn | {k: v for k, v in item.items() if k not in speaker}
        said = self.names(item, "user")
        predicted = item.get("predictions", {})
        more = {k: v for k, v in item.items() if k not in turn and k not in said and k not in speaker and k != "predictions"}
        if isinstance(predicted, dict) and (text := predicted.get("response", predicted.get("utterance"))) is not None:
            more |= {"resp_gen": text} | ({"reference": item[said[0]]} if said else {})
        return turn | more

    # What the fields are ----------------------------------------------------------------------------

    def decide(self, sample: Sequence[Cell]) -> None:
        """Decide from the first turns which field is what."""
        values = [c.value for c in sample]
        rows = [v for v in values if isinstance(v, dict)]
        filled = [r for r in rows if r]
        if not self.fields.get("state") and not any(map(self.has_content, filled[:50])):
            if self._decide_wide(filled):
                return
            self._decide_bare(values)
            return
        found: dict[str, dict[Path, list[Any]]] = {}
        for row in rows:
            for path, meaning, value in self._named_paths(row):
                found.setdefault(meaning, {}).setdefault(path, []).append(value)
        self._choose(found)
        self._check_texts(rows)
        if not self.paths.keys() & {"state", "response", "gold", "reference", "reply"}:
            raise self._unknown(rows)

    def _named_paths(
        self, row: Mapping[str, Any], above: Path = (), parent: str = ""
    ) -> Iterator[tuple[Path, str, Any]]:
        """Yield the fields of a row that mean something, also those one or two objects further in."""
        known = self.named(row)
        for meaning in (*_CONTENT, "user", "active domains"):
            for name in known.get(meaning, []):
                path, value = (*above, name), row[name]
                now = _under(parent, meaning)
                if meaning != "reply" and isinstance(value, (dict, list)) and _is_reply(value):
                    now = "reply"
                inner = (
                    self.named(value)
                    if isinstance(value, dict) and now != "reply" and len(above) < 3
                    else {}
                )
                if any(m in inner for m in (_STATES if now == "either" else _CONTENT)):
                    yield from self._named_paths(value, path, now)
                else:
                    yield path, now, value

    def _choose(self, found: dict[str, dict[Path, list[Any]]]) -> None:
        """Choose one field for each meaning, or refuse what may be two."""

        def all_of(*meanings: str) -> list[Path]:
            return [p for m in meanings for p in found.get(m, {})]

        def only(paths: list[Path], what: str) -> None:
            if len(paths) > 1:
                names = " and ".join(".".join(p) for p in paths[:3])
                field = what.replace(" ", "_")
                raise PredictionError(
                    f"{names} may both be the {what}",
                    mend=f"say which with fields={{{field!r}: {'.'.join(paths[0])!r}}}",
                )
            if paths:
                self.paths[what] = paths[0]

        given = {k: tuple(v.split(".")) for k, v in self.fields.items() if k in FIELDS[2:]}
        strong, either, predicted, raw = (all_of(m) for m in ("predicted", "either", "prediction", "raw"))
        gold = all_of("gold")
        if "state" not in given:
            if strong:
                only(strong, "state")
            elif predicted:
                self.paths["state"] = predicted[0]
            elif either and not (raw and not gold and self._is_state(found["raw"][raw[0]])):
                only(either, "state")
            elif either:
                only([raw[0], either[0]], "state")
            elif raw:
                self.paths["state"] = raw[0]
            elif all_of("reply"):
                self.paths["reply"] = all_of("reply")[0]
            elif not all_of(*_TEXTS) and all_of("bare"):
                self.paths["state"] = all_of("bare")[0]
            self.paths.update({} if "state" in self.paths else {"reply": p for p in all_of("reply")[:1]})
        if "gold" not in given:
            rest = [p for p in either if p != self.paths.get("state") and "state" not in given]
            only(gold[:1] if len(gold) > 1 and all(len(p) > 1 for p in gold) else gold or rest, "gold")
        if "response" not in given:
            texts = all_of("predicted response") or all_of("response")
            if "reference" in given:
                texts = [p for p in texts if p != given["reference"]]
            only(texts, "response")
        if "reference" not in given:
            plain_texts = all_of("response") if all_of("predicted response") else []
            only(all_of("reference") or plain_texts, "reference")
        for field, meaning in (("user", "user"), ("active_domains", "active domains")):
            if all_of(meaning):
                self.paths[field] = all_of(meaning)[0]
        self.paths |= given

    def _is_state(self, values: Iterable[Any]) -> bool:
        """Tell whether most of some values can be read as states."""
        tried = [self._parses(v) for v in values if v not in (None, "")][:50]
        return not tried or sum(tried) * 2 >= len(tried)

    def _parses(self, value: Any) -> bool:
        try:
            value = _reply(value) if isinstance(value, (dict, list)) and _is_reply(value) else value
            opened = _opened(value)
            syntaxes.triples(opened.get("state", []) if opened else value, self.slots)
            return True
        except PredictionError:
            return False

    def _check_texts(self, rows: Sequence[dict[str, Any]]) -> None:
        """Tell by their content whether texts are states or responses, where the name may mean both."""
        for field in ("state", "reply"):
            path = self.paths.get(field)
            if path is None or field in self.fields:
                continue
            values = [v for r in rows if (v := _get(r, path)) is not ABSENT]
            texts = [_reply(v) if field == "reply" else v for v in values]
            meant = _under("", _first_meaning(path[-1]))
            loose = field == "reply" or meant in ("prediction", "raw", "bare")
            if loose and all(isinstance(t, (str, type(None))) for t in texts) and any(texts):
                tried = [self._parses(t) for t in texts if t]
                if not any(tried) and "response" not in self.paths:
                    self.paths["response" if field == "state" else "reply response"] = self.paths.pop(field)
                    if "gold" in self.paths and "reference" not in self.paths:
                        self.paths["reference"] = self.paths.pop("gold")
        path = self.paths.get("response")
        if path and not self.paths.keys() & {"state", "reply"} and "response" not in self.fields:
            texts = [t for r in rows if isinstance(t := _get(r, path), str) and t.strip()]
            if texts and all(
                isinstance(syntaxes.literal(t), (dict, list)) and self._parses(t) for t in texts
            ):
                self.paths["state"] = self.paths.pop("response")

    def _decide_wide(self, rows: Sequence[dict[str, Any]]) -> bool:
        """A column for each slot: hotel-area, or prediction_hotel-area beside ground_truth_hotel-area."""
        for name in dict.fromkeys(n for row in rows[:50] for n in row):
            match = re.fullmatch(
                r"(?:(?P<pred>prediction|predicted|pred|pr)[_ .]|(?P<gold>ground_truth|gold|label|gt|target)[_ .])?"
                r"(?P<slot>[^\W\d_]+[-.][^-]+)",
                name,
            )
            if match and any(isinstance(r.get(name), (str, int)) or r.get(name) is None for r in rows[:1]):
                self.wide.append((name, "gold" if match["gold"] else "state", match["slot"]))
        if self.wide and not any(self.scalar(r, "id") is not ABSENT for r in rows[:1]):
            self.wide = []
        if self.wide:
            self.shape = "rows with a column a slot"
        return bool(self.wide)

    def _decide_bare(self, values: Sequence[Any]) -> None:
        """The turn is the state itself, a pair of states, or the response."""
        self.bare = True
        if self.shape == "turns by id" and all(_is_double(v) for v in values):
            self.double = True
            return
        if all(isinstance(v, str) for v in values) and any(v.strip() for v in values):
            if not any(self._parses(v) for v in values if v.strip()):
                self.paths["response"] = ()
                return
        rows = [v for v in values if isinstance(v, dict) and v]
        if rows and not any(self._parses(v) for v in rows if not self.scalar(v, "id")):
            raise self._unknown(rows)

    def _unknown(self, rows: Sequence[dict[str, Any]]) -> PredictionError:
        """Refuse turns whose fields are not known, with what is there."""
        import difflib

        keys = list(dict.fromkeys(k for row in rows[:50] for k in row))
        known = {plain(n): n for m, n, _ in lookup("fields") if m in _CONTENT}
        close = {
            k: known[c[0]]
            for k in keys
            if (c := difflib.get_close_matches(plain(k), known, n=1, cutoff=0.75))
        }
        near = "; ".join(f"{k!r} resembles {v!r}" for k, v in list(close.items())[:3])
        return PredictionError(
            "no field that is known as a state or a response",
            got=f"the keys {few([str(k) for k in keys], most=20)}" + (f" ({near})" if near else ""),
            mend='name it with fields={"state": …} or --field state=…',
        )

    # Reading them -----------------------------------------------------------------------------------

    def records(self, cells: Iterable[Cell]) -> Iterator[Record]:
        """Yield what the turns say, in the same fields for all files."""
        if self.bare or self.wide:
            yield from map(self._bare_record, cells)
            return
        if any(k.startswith("reply") for k in self.paths) or self._is_opened():
            yield from map(self._reply_record, cells)
            return
        getters = tuple(_getter(self.paths.get(f)) for f in Record._fields[2:-1])
        used = {p[0] for p in self.paths.values() if p}
        known = {True: used}
        for identity, turn, value, line in cells:
            if type(value) is not dict:
                raise PredictionError(
                    "the turn", dialogue=str(identity), turn=turn if isinstance(turn, int) else None,
                    expected="an object with " + " or ".join(".".join(p) for p in self.paths.values()), got=show(value),
                )  # fmt: skip
            if not value.keys() <= known[True]:
                self._count_unused(value, used)
            yield Record(identity, turn, *[get(value) for get in getters], line)

    def _is_opened(self) -> bool:
        return False

    def _count_unused(self, row: dict[str, Any], used: set[str]) -> None:
        for name in row.keys() - used:
            if (
                not {"id", "turn", "utterance number", "speaker", "user"}
                & _meanings().get(plain(name), {}).keys()
            ):
                self.unused[name] = self.unused.get(name, 0) + 1

    def _bare_record(self, cell: Cell) -> Record:
        identity, turn, value, line = cell
        if self.wide:
            sides: dict[str, dict[str, Any]] = {"state": {}}
            for name, side, slot in self.wide:
                given = value.get(name)
                filled = given is not None and str(given).strip().lower() not in (
                    "",
                    "none",
                    "not mentioned",
                    "nan",
                )
                sides.setdefault(side, {}).update({slot: given} if filled else {})
            return Record(identity, turn, sides["state"], sides.get("gold", ABSENT), line=line)
        if self.double:
            return Record(identity, turn, value[0], value[1], line=line)
        if "response" in self.paths:
            return Record(identity, turn, response=value, line=line)
        return Record(identity, turn, value, line=line)

    def _reply_record(self, cell: Cell) -> Record:
        """Read a turn whose text is the reply of a language model."""
        identity, turn, row, line = cell
        field = next(k for k in self.paths if k.startswith("reply"))
        value = _reply(_get(row, self.paths[field]))
        parts = {f: _get(row, p) for f, p in self.paths.items() if not f.startswith("reply")}
        if field == "reply response":
            parts["response"] = value
        else:
            opened = _opened(value)
            parts |= opened or {"state": value}
        return Record(identity, turn, **parts, line=line)

    @property
    def recognised(self) -> str:
        """What was recognised, in a line."""
        named = {f: ".".join(p) for f, p in self.paths.items() if p}
        shown = [named[f] for f in ("state", "reply", "response") if f in named]
        seen = next((s for n in shown if (s := _seen_in(n.split(".")[-1]))), "")
        gold = [named[f] for f in ("gold", "reference") if f in named]
        text = f"{seen}-style {self.shape}" if seen else self.shape
        text += f": {', '.join(shown)}" if shown else ""
        return text + (f" (gold: {', '.join(gold)})" if gold else "")


# Small things ---------------------------------------------------------------------------------------


def _under(parent: str, meaning: str) -> str:
    """What a field means inside of another one."""
    if parent in ("predicted", "prediction", "raw", "predicted response", "response"):
        return {"response": "predicted response", "user": "predicted response"}.get(
            meaning, "predicted" if meaning in _STATES else meaning
        )
    if parent in ("gold", "reference"):
        return {"response": "reference"}.get(meaning, "gold" if meaning in _STATES else meaning)
    return meaning


def _first_meaning(name: str) -> str:
    found = _meanings().get(plain(name), {})
    return next((m for m in _CONTENT if m in found), "")


def _get(row: Any, path: Path) -> Any:
    for name in path:
        if not isinstance(row, dict) or name not in row:
            return ABSENT
        row = row[name]
    return row


def _getter(path: Path | None) -> Callable[[dict[str, Any]], Any]:
    if not path:
        return lambda row: ABSENT
    if len(path) == 1:
        name = path[0]
        return lambda row: row.get(name, ABSENT)
    return lambda row: _get(row, path)


def _number(value: Any) -> Any:
    """Return a number that is written as text or as 3.0 as an int, all else as it is."""
    if isinstance(value, str):
        match = re.fullmatch(r"\s*(?:turn|t)?[\W_]*(\d{1,9})(?:\.0)?\s*", value, re.I | re.A)
        return int(match[1]) if match else value
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _key_number(key: str) -> int | None:
    number = _number(key)
    return number if type(number) is int else None


def _carry_turns(ids: Sequence[str]) -> bool:
    """Tell whether ids carry the number of a turn, such as mul0001-2 or test-MUL0001-2."""
    matches = [_CARRIED.match(i) for i in ids]
    if not ids or not all(matches):
        return False
    turns: dict[str, list[int]] = {}
    for match in matches:
        turns.setdefault(match[1].lower(), []).append(int(match[2]))  # type: ignore[index]
    if len({(i.lower()) for i in ids}) != len(ids):
        return False
    starts = sum(min(numbers) <= 1 for numbers in turns.values())
    several = len(turns) > 1 or bool(re.fullmatch(r"[^\W\d]+\d+(?:\.json)?", next(iter(turns))))
    return several and starts * 10 >= len(turns) * 9 and all(max(n) < 4 * len(n) + 4 for n in turns.values())


def _parted(identity: Any) -> tuple[Any, Any]:
    match = _CARRIED.match(str(identity))
    if not match:
        raise PredictionError(f"the id {str(identity)[:60]!r} carries no turn", expected="such as mul0001-2")
    return _SPLIT.sub("", match[1]), int(match[2])


def _holds_turns(item: Mapping[str, Any]) -> bool:
    return all(
        isinstance(v, list) or (isinstance(v, dict) and v and all(_key_number(k) is not None for k in v))
        for v in item.values()
    )


def _is_dialogue(value: Any, walker: Walker) -> bool:
    """Tell whether a value under an id is a whole dialogue rather than one turn."""
    if isinstance(value, list):
        first = next((x for x in value if isinstance(x, dict)), None)
        return first is not None and (
            walker.has_content(first) or not {"slot", "value"} & _named(tuple(first)).keys()
        )
    if isinstance(value, dict):
        return walker._turns_in(value) is not ABSENT or (
            bool(value) and all(_key_number(k) is not None for k in value)
        )
    return False


def _all_dialogues(content: Mapping[str, Any], held: str) -> bool:
    """Tell whether the other keys hold the like of what the wrapper holds, so that it is none."""
    others = [v for k, v in content.items() if k != held and isinstance(v, type(content[held])) and v]
    return len(others) > 2 and not all(
        isinstance(v, (str, int, float)) for x in others for v in (x if isinstance(x, list) else x.values())
    )


def _is_double(value: Any) -> bool:
    """[predicted state, gold state], both lists."""
    return isinstance(value, list) and len(value) == 2 and all(isinstance(x, list) for x in value)


def _outline(value: Any) -> str:
    """Describe a value by its keys, or as `show` does."""
    if isinstance(value, dict) and value:
        return f"an object with the keys {few([str(k) for k in value], most=8, width=30)}"
    return show(value)


# Replies of language models -------------------------------------------------------------------------

_STEPS = ("response", "body", "result", "modelOutput", "message", "content", "parts", "text", "output", "outputs",
          "completion", "generated_text", "tool_calls", "function_call", "functionCall", "toolUse")  # fmt: skip
_VERBS = r"(?:find|search|book|track|update|set|get|query|request|inform|make|reserve|call|add|fill|lookup|for|the|in)"
_WHOLE = {"state", "dialoguestate", "dialogstate", "beliefstate", "belief", "dst", "slot", "", "slotvalue"}


def _is_reply(value: Any) -> bool:
    """Tell the reply of a language model's service by its keys."""
    first = value[0] if isinstance(value, list) and value else value
    if not isinstance(first, dict):
        return False
    keys = first.keys()
    inner = [first[k] for k in ("response", "result", "body", "output") if isinstance(first.get(k), dict)]
    return (
        bool(
            {"choices", "candidates", "message", "tool_calls", "functionCall", "function_call", "messages"}
            & keys
        )
        or (
            {"content", "role"} <= keys
            or {"text", "type"} <= keys
            or {"name", "arguments"} <= keys
            or {"name", "input"} <= keys
        )
        or (isinstance(value, list) and bool({"generated_text", "text", "function"} & keys))
        or any(_is_reply(x) for x in inner)
    )


def _reply(value: Any) -> Any:
    """Follow a reply to its text, or to the state that its calls of functions make."""
    texts: list[str] = []
    calls: list[list[Any]] = []

    def visit(node: Any, depth: int = 0) -> None:
        if isinstance(node, str):
            texts.append(node)
        elif isinstance(node, list) and depth < 20:
            for item in node:
                visit(item, depth + 1)
        elif isinstance(node, dict) and depth < 20 and not node.get("thought"):
            call = next(
                (
                    node[k]
                    for k in ("function", "functionCall", "function_call", "toolUse")
                    if isinstance(node.get(k), dict)
                ),
                node,
            )
            arguments = next(
                (call[k] for k in ("arguments", "input", "args", "parameters") if k in call), None
            )
            if isinstance(call.get("name"), str) and arguments is not None:
                calls.extend(_called(call["name"], arguments))
                return
            if node.get("role") in ("user", "system", "tool"):
                return
            for name in ("choices", "candidates"):
                visit(node[name][:1] if isinstance(node.get(name), list) else None, depth + 1)
            if isinstance(node.get("messages"), list):
                visit(node["messages"][-1:], depth + 1)
            for name in _STEPS:
                visit(node.get(name), depth + 1)

    visit(value)
    if calls or value is ABSENT:
        return calls or ABSENT
    failed = isinstance(value, dict) and (
        value.get("error") or value.get("type") in ("errored", "expired", "canceled")
    )
    if failed and not texts:
        return "(the request failed)"
    return "".join(texts)


def _called(name: str, arguments: Any) -> list[list[Any]]:
    """The triples of one call: the function is the domain, its arguments are the slots."""
    if isinstance(arguments, str):
        arguments = syntaxes.literal(arguments) if arguments.strip() else {}
    if not isinstance(arguments, dict):
        raise syntaxes.UnparsedError("a call's arguments", expected="an object", got=show(arguments))
    arguments = {k: v for k, v in arguments.items() if v is not None}
    domain = re.sub(
        rf"^(?:{_VERBS}[_-])+|(?:[_-](?:search|booking|book|query|api|tool|info))+$", "", name, flags=re.I
    )
    nested = arguments and all(isinstance(v, dict) for v in arguments.values())
    if len(arguments) == 1 and plain(next(iter(arguments))) in _WHOLE:
        return [list(t) for t in syntaxes.triples(next(iter(arguments.values())))]
    if nested or plain(domain) in _WHOLE:
        return [list(t) for t in syntaxes.triples(arguments)]
    return [[domain, slot.removeprefix(f"{domain}-"), value] for slot, value in arguments.items()]


def _opened(value: Any) -> dict[str, Any]:
    """Return the fields of a JSON text that holds a state beside other things, as language models write it."""
    if not isinstance(value, str) or "{" not in value:
        return {}
    found = syntaxes.literal(value)
    if not isinstance(found, dict):
        return {}
    known = _named(tuple(found))
    state = [
        n
        for m in ("predicted", "either", "prediction")
        for n in known.get(m, [])
        if isinstance(found[n], (dict, list, str))
    ]
    text = [
        n for m in ("predicted response", "response") for n in known.get(m, []) if isinstance(found[n], str)
    ]
    out = {"state": found[state[0]]} if state else {}
    return out | ({"response": found[text[0]]} if text and state else {})

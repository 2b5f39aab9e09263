"""What the fields of a file's turns are: decided once from the first turns, then read column by column.

Names say what a field may be; where a name may mean two things (``prediction`` is a state or a response,
``state`` is predicted unless a prediction stands beside it) what it holds and what else is there decide.
What stays open is refused with the names that may be meant.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from dialogeval.exceptions import PredictionError, few, show
from dialogeval.predictions import replies, syntaxes
from dialogeval.predictions.names import CONTENT, STATES, TEXTS, meanings, nearest, seen_in
from dialogeval.predictions.turns import ABSENT, Cell, Turns

__all__ = ["FIELDS", "Fields"]

#: What can be named with ``fields=``.
FIELDS = ("dialogue_id", "turn", "state", "gold", "response", "reference", "user", "active_domains")
_READ = FIELDS[2:]
_WIDE = re.compile(
    r"(?:(?:prediction|predicted|pred|pr)[_ .]|(?P<gold>ground_truth|gold|label|gt|target)[_ .])?(?P<slot>[^\W\d_]+[-.][^-]+)"
)
_UNFILLED = ("", "none", "not mentioned", "nan")

Path = tuple[str, ...]
Columns = dict[str, Sequence[Any]]


class Fields:
    """Which field of a turn is what; `columns` reads some turns."""

    def __init__(self, turns: Turns, sample: Sequence[Cell]) -> None:
        self.turns = turns
        self.slots: Any = None
        self.paths: dict[str, Path] = {}
        self.unused: Counter[str] = Counter()
        self.kind = "fields"
        self._decide([cell[2] for cell in sample])

    # Deciding ---------------------------------------------------------------------------------------

    def _decide(self, values: list[Any]) -> None:
        rows = [v for v in values if isinstance(v, dict) and v]
        if "state" not in self.turns.fields and not any(map(self.turns.has_content, rows[:50])):
            if not self._decide_wide(rows):
                self._decide_bare(values, rows)
            return
        found: dict[str, dict[Path, list[Any]]] = {}
        for row in rows:
            for path, meaning, value in self._named_paths(row):
                found.setdefault(meaning, {}).setdefault(path, []).append(value)
        self._choose(found)
        self._tell_texts_apart(rows)
        if self.paths.keys().isdisjoint((*_READ[:4], "reply", "reply response")):
            raise self._unknown(rows)

    def _named_paths(
        self, row: Mapping[str, Any], above: Path = (), parent: str = ""
    ) -> Iterator[tuple[Path, str, Any]]:
        """Yield the fields of a row that mean something, also those one or two objects further in."""
        known = self.turns.named(row)
        for meaning in (*CONTENT, "user", "active domains"):
            for name in known.get(meaning, []):
                path, value, now = (*above, name), row[name], _under(parent, meaning)
                if meaning != "reply" and replies.is_reply(value):
                    now = "reply"
                inner = (
                    self.turns.named(value)
                    if isinstance(value, dict) and now != "reply" and len(above) < 3
                    else {}
                )
                if not inner.keys().isdisjoint(STATES if now == "either" else CONTENT):
                    yield from self._named_paths(value, path, now)
                else:
                    yield path, now, value

    def _choose(self, found: dict[str, dict[Path, list[Any]]]) -> None:
        """Choose one field for each meaning, or refuse what may be two."""

        def all_of(*wanted: str) -> list[Path]:
            return [path for meaning in wanted for path in found.get(meaning, {})]

        given = {f: tuple(path.split(".")) for f, path in self.turns.fields.items() if f in _READ}
        predicted, either, raw, reply = (all_of(m) for m in ("prediction", "either", "raw", "reply"))
        state = all_of("predicted") or predicted[:1]
        if not state and either and raw and not all_of("gold") and self._are_states(found["raw"][raw[0]]):
            state = [raw[0], either[0]]  # a text that the state was read from, or the gold of that text?
        state = state or either or raw[:1]
        if not state and reply:
            self.paths["reply"] = reply[0]
        elif not state and not all_of(*TEXTS):
            state = all_of("bare")[:1]
        said, plainly = all_of("predicted response"), all_of("response")
        wanted = {"state": state, "response": [p for p in said or plainly if p != given.get("reference")]}
        taken = given.get("state", state[0] if state else ())
        rest = [p for p in either if p != taken and len(state) < 2] if "state" not in given else []
        wanted["gold"] = (
            all_of("gold")[: 1 if len(all_of("gold")) > 1 and all_of("reference") else None] or rest
        )
        wanted["reference"] = all_of("reference") or (plainly if said else [])
        wanted |= {"user": all_of("user")[:1], "active_domains": all_of("active domains")[:1]}
        for field, paths in wanted.items():
            if len(paths) > 1 and field not in given:
                names = " and ".join(".".join(p) for p in paths[:3])
                mend = f"say which with fields={{{field!r}: {'.'.join(paths[0])!r}}}"
                raise PredictionError(f"{names} may both be the {field}", mend=mend)
            if paths:
                self.paths[field] = paths[0]
        self.paths |= given

    def _tell_texts_apart(self, rows: Sequence[dict[str, Any]]) -> None:
        """Tell by what they hold whether texts are states or responses, where the name may mean both."""
        field = "state" if "state" in self.paths else "reply"
        path = self.paths.get(field)
        loose = {"prediction", "raw", "bare"} & meanings(path[-1]).keys() if path else False
        if path and field not in self.turns.fields and (field == "reply" or loose):
            texts = [replies.said(_get(row, path)) if field == "reply" else _get(row, path) for row in rows]
            texts = [t for t in texts if t not in (None, "", ABSENT)]
            if (
                texts
                and all(isinstance(t, str) for t in texts)
                and not any(map(self._parses, texts[:50]))
                and "response" not in self.paths
            ):
                if field == "state" and "bare" in meanings(path[-1]):
                    raise self._unknown(rows)
                self.paths["response" if field == "state" else "reply response"] = self.paths.pop(field)
                if "gold" in self.paths and "reference" not in self.paths:
                    self.paths["reference"] = self.paths.pop("gold")
            elif field == "state" and any(replies.fields_of_text(t) for t in texts[:50]):
                self.paths["reply"] = self.paths.pop("state")
        path = self.paths.get("response")
        if path and self.paths.keys().isdisjoint(("state", "reply")) and "response" not in self.turns.fields:
            texts = [t for row in rows if isinstance(t := _get(row, path), str) and t.strip()]
            if (
                texts
                and all(isinstance(syntaxes.literal(t), (dict, list)) for t in texts)
                and self._are_states(texts)
            ):
                self.paths["reply"] = self.paths.pop("response")

    def _are_states(self, values: Iterable[Any]) -> bool:
        """Tell whether most of some values can be read as states."""
        tried = [self._parses(v) for v in values if v not in (None, "")][:50]
        return sum(tried) * 2 >= len(tried)

    def _parses(self, value: Any) -> bool:
        try:
            value = replies.said(value) if replies.is_reply(value) else value
            syntaxes.triples(replies.fields_of_text(value).get("state", value), self.slots)
            return True
        except PredictionError:
            return False

    def _decide_wide(self, rows: Sequence[dict[str, Any]]) -> bool:
        """A column for each slot: hotel-area, or prediction_hotel-area beside ground_truth_hotel-area."""
        names = dict.fromkeys(n for row in rows[:50] for n in row)
        self._wide = [
            (n, "gold" if m["gold"] else "state", m["slot"]) for n in names if (m := _WIDE.fullmatch(n))
        ]
        if self._wide and self.turns.scalar(rows[0], "id") is not ABSENT:
            self.kind, self.turns.shape = "wide", f"rows with a column for each of {len(self._wide)} slots"
        return self.kind == "wide"

    def _decide_bare(self, values: list[Any], rows: list[dict[str, Any]]) -> None:
        """The turn is the state itself, a pair of states, or the response."""
        self.kind = "bare"
        texts = [v for v in values if isinstance(v, str) and v.strip()]
        doubles = (
            isinstance(v, list) and len(v) == 2 and all(isinstance(x, list) for x in v) for v in values
        )
        only_texts = bool(texts) and all(isinstance(v, str) for v in values)
        if self.turns.shape == "turns by id" and all(doubles):
            self.kind = "double"
        elif only_texts and not any(map(self._parses, texts)):
            self.kind = "response"
            if self.turns.shape != "lists" and sum(len(t.split()) for t in texts) < 3 * len(texts):
                raise PredictionError("neither states nor responses", got=f"texts such as {show(texts[0])}")
        elif self.turns.only is None and rows and not any(map(self._may_be_state, rows)):
            raise self._unknown(rows)

    def _may_be_state(self, row: dict[str, Any]) -> bool:
        """Tell whether an object without a known field may be a state itself."""
        is_row = self.turns.scalar(row, "id") is not ABSENT or self.turns.scalar(row, "turn") is not ABSENT
        return not is_row and any(isinstance(value, dict) or "-" in name for name, value in row.items())

    def _unknown(self, rows: Sequence[dict[str, Any]]) -> PredictionError:
        """Refuse turns whose fields are not known, with what is there."""
        keys = list(dict.fromkeys(str(k) for row in rows[:50] for k in row))
        near = "; ".join(f"{name!r} resembles {known!r}" for name, known in list(nearest(keys).items())[:3])
        return PredictionError(
            "no field that is known as a state or a response",
            got=f"the keys {few(keys, most=20)}" + (f" ({near})" if near else ""),
            mend='name it with fields={"state": …} or --field state=…',
        )

    # Reading ----------------------------------------------------------------------------------------

    def columns(self, cells: Sequence[Cell]) -> Columns:
        """Return what some turns say, a column for each field that the file has."""
        values = [cell[2] for cell in cells]
        if self.kind == "double":
            return {"state": [v[0] for v in values], "gold": [v[1] for v in values]}
        if self.kind in ("bare", "response"):
            return {"response" if self.kind == "response" else "state": values}
        if set(map(type, values)) != {dict}:
            identity, turn, value, _ = next(c for c in cells if type(c[2]) is not dict)
            expected = "an object with " + " or ".join(".".join(p) for p in self.paths.values())
            raise PredictionError("the turn", dialogue=str(identity), turn=turn if type(turn) is int else None, expected=expected, got=show(value))  # fmt: skip
        if self.kind == "wide":
            sides = dict.fromkeys(side for _, side, _ in self._wide)
            return {side: [self._filled(row, side) for row in values] for side in sides}
        used = {path[0] for path in self.paths.values()}
        for keys, times in Counter(map(tuple, values)).items():
            for name in set(keys) - used:
                if not meanings(name).keys() & {"id", "turn", "utterance number", "speaker", "user"}:
                    self.unused[name] += times
        return {f: c for f, path in self.paths.items() for f, c in self._column(f, path, values)}

    def _column(self, field: str, path: Path, rows: list[dict[str, Any]]) -> Iterator[tuple[str, list[Any]]]:
        if field == "reply":
            told = [replies.said(_get(row, path)) for row in rows]
            parts = [replies.fields_of_text(value) for value in told]
            yield "state", [part.get("state", value) for part, value in zip(parts, told, strict=True)]
            if any("response" in part for part in parts):
                yield "response", [part.get("response", "") for part in parts]
        elif field == "reply response":
            yield "response", [replies.said(_get(row, path)) for row in rows]
        elif len(path) == 1:
            name = path[0]
            yield field, [row.get(name, ABSENT) for row in rows]
        else:
            yield field, [_get(row, path) for row in rows]

    def _filled(self, row: dict[str, Any], side: str) -> dict[str, Any]:
        """The slots of a row that has a column for each."""
        given = {slot: row.get(name) for name, s, slot in self._wide if s == side}
        return {s: v for s, v in given.items() if v is not None and str(v).strip().lower() not in _UNFILLED}

    @property
    def recognised(self) -> str:
        """What was recognised, in a line."""
        named = {f: ".".join(p) for f, p in self.paths.items()}
        shown = [named[f] for f in ("state", "reply", "reply response", "response") if f in named]
        gold = [named[f] for f in ("gold", "reference") if f in named]
        seen = next((s for name in shown if (s := seen_in(name.split(".")[-1]))), "")
        text = f"{seen}-style {self.turns.shape}" if seen else self.turns.shape
        text += f": {', '.join(shown)}" if shown else " of responses" if self.kind == "response" else ""
        if "response" in named and not meanings(named["response"].split(".")[-1]).keys() & set(TEXTS):
            text += " (read as responses)"
        return text + (f" (gold: {', '.join(gold)})" if gold else "")


def _under(parent: str, meaning: str) -> str:
    """What a field means inside of another one."""
    if parent in ("predicted", "prediction", "raw", "predicted response", "response"):
        return (
            "predicted"
            if meaning in STATES
            else {"response": "predicted response", "user": "predicted response"}.get(meaning, meaning)
        )
    if parent in ("gold", "reference"):
        return "gold" if meaning in STATES else {"response": "reference"}.get(meaning, meaning)
    return meaning


def _get(row: Any, path: Path) -> Any:
    for name in path:
        if not isinstance(row, dict) or name not in row:
            return ABSENT
        row = row[name]
    return row

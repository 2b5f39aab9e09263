"""From tables to the documents of the prediction formats: the readers of `predictions.formats` the other way.

`Predictions` go in; what comes out is plain JSON data, in the shape of the format. Whether a format
can hold all of the predictions is checked before, by `predictions.writers`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pandas as pd

from dialogeval.tables import Corpus, Predictions

__all__ = ["document"]


def document(predictions: Predictions, format: str) -> Any:
    """Return predictions as JSON data."""
    return _DOCUMENTS[format](_collect(predictions))


@dataclass
class _Turn:
    """One turn as the writers need it; a field is None where the predictions have none."""

    dialogue: str
    number: int
    state: list[list[str]] | None = None
    response: str | None = None
    domains: list[str] | None = None
    gold: list[list[str]] | None = None
    reference: str | None = None
    user: str | None = None


def _collect(predictions: Predictions) -> list[_Turn]:
    """Gather the tables by turn, in the order of ``predictions.turns``."""
    ids, numbers = (predictions.turns[c].tolist() for c in ("dialogue_id", "turn"))
    names = [predictions.original_ids.get(i, i) for i in ids]
    turns = [_Turn(name, number) for name, number in zip(names, numbers, strict=True)]
    by_key = dict(zip(zip(ids, numbers, strict=True), turns, strict=True))

    def rows(frame: pd.DataFrame) -> Any:
        return zip(*(frame[c].tolist() for c in frame.columns), strict=True)

    if predictions.states is not None:
        for turn in turns:
            turn.state = []
        for i, t, *triple in rows(predictions.states):
            by_key[i, t].state.append(triple)  # type: ignore[union-attr]
    if predictions.responses is not None:
        for i, t, response in rows(predictions.responses):
            by_key[i, t].response = response
    if predictions.active_domains is not None:
        for turn in turns:
            turn.domains = []
        for i, t, domain in rows(predictions.active_domains):
            by_key[i, t].domains.append(domain)  # type: ignore[union-attr]
    if predictions.gold is not None:
        _collect_gold(predictions.gold, by_key, rows)
    return turns


def _collect_gold(
    gold: Corpus, by_key: dict[tuple[str, int], _Turn], rows: Callable[[pd.DataFrame], Any]
) -> None:
    slots: dict[int, list[tuple[str, str]]] = {}
    for layout, domain, slot in rows(gold.layouts):
        slots.setdefault(layout, []).append((domain, slot))
    filled: dict[tuple[str, int], dict[tuple[str, str], list[str]]] = {}
    for i, t, domain, slot, value in rows(gold.states):
        filled.setdefault((i, t), {}).setdefault((domain, slot), []).append(value)
    for i, t, user, system, layout in rows(gold.turns):
        turn, values = by_key[i, t], filled.get((i, t), {})
        turn.user, turn.reference = user, system
        # A slot that is annotated but not filled is written with an empty value, as it was read.
        names = dict.fromkeys([*slots.get(layout, ()), *values])
        turn.gold = [[*name, value] for name in names for value in values.get(name, [""])]


def _nested(triples: list[list[str]]) -> dict[str, dict[str, str]]:
    out: dict[str, dict[str, str]] = {}
    for domain, slot, value in triples:
        out.setdefault(domain, {})[slot] = value
    return out


def _has_several(turns: list[_Turn]) -> bool:
    return any(len({(d, s) for d, s, _ in t.state or ()}) != len(t.state or ()) for t in turns)


def _pairs(turns: list[_Turn]) -> list[dict[str, Any]]:
    rows = []
    for t in turns:
        row: dict[str, Any] = {"dialogue_id": t.dialogue, "turn": t.number}
        row |= {"gold": t.gold, "pred": t.state} if t.state is not None else {}
        row |= {"reference": t.reference, "response": t.response} if t.response is not None else {}
        rows.append(row)
    return rows


def _turns(turns: list[_Turn]) -> list[dict[str, Any]]:
    shape = (lambda state: state) if _has_several(turns) else _nested
    return [{"dialogue_id": t.dialogue, "turn": t.number} | _fields(t, shape) for t in turns]


def _fields(turn: _Turn, shape: Callable[[list[list[str]]], Any] = _nested) -> dict[str, Any]:
    out: dict[str, Any] = {}
    if turn.response is not None:
        out["response"] = turn.response
    if turn.state is not None:
        out["state"] = shape(turn.state)
    if turn.domains is not None:
        out["active_domains"] = turn.domains
    return out


def _by_dialogue(turns: list[_Turn], cell: Callable[[_Turn], Any]) -> dict[str, list[Any]]:
    out: dict[str, list[Any]] = {}
    for t in turns:
        out.setdefault(t.dialogue, []).append(cell(t))
    return out


def _keyed(turns: list[_Turn], gold: str, predicted: str, item: Callable[[list[str]], Any]) -> dict[str, Any]:
    def cell(t: _Turn) -> dict[str, Any]:
        first = {} if t.gold is None else {gold: [item(x) for x in t.gold]}
        return first | {predicted: [item(x) for x in t.state or ()]}

    return {
        name: {str(i): c for i, c in enumerate(cells)} for name, cells in _by_dialogue(turns, cell).items()
    }


def _convlab(turns: list[_Turn]) -> list[dict[str, Any]]:
    out = []
    for t in turns:
        sample: dict[str, Any] = {"dialogue_id": t.dialogue, "utt_idx": 2 * t.number, "speaker": "user"}
        if t.gold is not None:
            sample |= {"utterance": t.user, "state": _nested(t.gold)}
        out.append(sample | {"predictions": {"state": _nested(t.state or [])}})
    return out


_DOCUMENTS: dict[str, Callable[[list[_Turn]], Any]] = {
    "pairs": _pairs,
    "turns": _turns,
    "mwzeval": lambda turns: _by_dialogue(turns, _fields),
    "dstc9": lambda turns: _by_dialogue(turns, lambda t: _nested(t.state or [])),
    "trade": lambda turns: _keyed(turns, "turn_belief", "pred_bs_ptr", "-".join),
    "convlab": _convlab,
    "gt-pr": lambda turns: _keyed(turns, "gt", "pr", list),
}

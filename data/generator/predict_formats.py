"""The layouts that prediction files come in, beside {id: [turn, …]}: plain data or text out.

A state here is {(domain, slot): value}.
"""

from __future__ import annotations

import csv
import io
import json
from typing import Any

State = dict[tuple[str, str], str]


def _strings(state: State) -> list[str]:
    return [f"{d}-{s}-{v}" for (d, s), v in state.items()]


def _nested(state: State) -> dict[str, dict[str, str]]:
    out: dict[str, dict[str, str]] = {}
    for (domain, slot), value in state.items():
        out.setdefault(domain, {})[slot] = value
    return out


def _triples(state: State) -> list[list[str]]:
    return [[d, s, v] for (d, s), v in state.items()]


def trade(gold: list[State], predicted: list[State]) -> dict[str, Any]:
    """One dialogue: {turn: {turn_belief, pred_bs_ptr}}, both lists of ``domain-slot-value``."""
    return {
        str(t): {"turn_belief": _strings(g), "pred_bs_ptr": _strings(p)}
        for t, (g, p) in enumerate(zip(gold, predicted, strict=True))
    }


def gt_pr(gold: list[State], predicted: list[State]) -> dict[str, Any]:
    """One dialogue: {turn: {gt, pr}}, both lists of ``domain-slot-value``."""
    return {
        str(t): {"gt": _strings(g), "pr": _strings(p)}
        for t, (g, p) in enumerate(zip(gold, predicted, strict=True))
    }


def convlab(dialogues: dict[str, tuple[list[str], list[State], list[State]]]) -> list[dict[str, Any]]:
    """All dialogues: a list of user turns with gold ``state`` and ``predictions``."""
    return [
        {
            "dialogue_id": name,
            "utt_idx": 2 * t,
            "speaker": "user",
            "utterance": user,
            "state": _nested(g),
            "predictions": {"state": _nested(p)},
        }
        for name, columns in dialogues.items()
        for t, (user, g, p) in enumerate(zip(*columns, strict=True))
    ]


def pairs(dialogues: dict[str, tuple[list[State], list[State]]]) -> str:
    """JSON lines with gold and predicted triples."""
    rows = [
        {"dialogue_id": name, "turn": t, "gold": _triples(g), "pred": _triples(p)}
        for name, columns in dialogues.items()
        for t, (g, p) in enumerate(zip(*columns, strict=True))
    ]
    return _lines(rows)


def turns_jsonl(dialogues: dict[str, tuple[list[State], list[str] | None]]) -> str:
    """JSON lines with state and, where there are any, response."""
    rows = [
        {"dialogue_id": name, "turn": t, "state": _nested(state)} | ({"response": texts[t]} if texts else {})
        for name, (states, texts) in dialogues.items()
        for t, state in enumerate(states)
    ]
    return _lines(rows)


def turns_csv(dialogues: dict[str, list[str]]) -> str:
    """A CSV table with responses."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(["dialogue_id", "turn", "response"])
    for name, responses in dialogues.items():
        writer.writerows([name, t, r] for t, r in enumerate(responses))
    return buffer.getvalue()


def _lines(rows: list[dict[str, Any]]) -> str:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)

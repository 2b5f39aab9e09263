"""Predictions made in a test: the fields of turns in, `Predictions` out, by way of a file."""

from __future__ import annotations

import json
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import dialogeval as de

FIELDS = ("state", "response", "active_domains", "gold", "reference", "user")


def turn(dialogue_id: str, number: int, **fields: Any) -> dict[str, Any]:
    """One turn; fields of None are left out."""
    given = {name: value for name, value in fields.items() if value is not None}
    return {"dialogue_id": dialogue_id, "turn": number} | given


def predictions(turns: list[dict[str, Any]], name: str = "made", format: str = "") -> de.Predictions:
    """Read turns as a file of theirs would be read."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "made.jsonl")
        file.write_text("\n".join(map(json.dumps, turns)), encoding="utf-8")
        named = {field: field for field in FIELDS if field in turns[0]}
        return replace(
            de.load_predictions(file, name=name, fields=named), path="made", format=format, notes=()
        )

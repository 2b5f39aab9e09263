"""From what the readers of the prediction formats yield to tables: one `Cell` a turn in, `Predictions` out.

All checks that do not depend on the format stand here: ids that name one dialogue twice, turns that
stand twice, fields that only some turns have, texts that are not text.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from dialogeval.exceptions import PredictionError, show
from dialogeval.predictions.columns import HALF_SURROGATE, Keys, domain_table, state_table, text_column
from dialogeval.predictions.states import REPAIRS
from dialogeval.tables import Corpus, Predictions, Source, canonical_id, table

__all__ = ["ABSENT", "Cell", "build", "fingerprint", "gold_digest", "turn_gap"]

#: Turns a dialogue may have; a number past this is a mistake, not a dialogue.
MAX_TURNS = 100_000

#: Marks a field that a turn does not have (null is something else: a wrong value).
ABSENT: Any = type("Absent", (), {"__repr__": lambda self: "absent"})()


class Cell(NamedTuple):
    """What a file says of one turn; every field but the first two may be `ABSENT`."""

    dialogue_id: Any
    turn: int
    state: Any = ABSENT
    response: Any = ABSENT
    active_domains: Any = ABSENT
    gold: Any = ABSENT
    reference: Any = ABSENT
    user: Any = ABSENT
    line: int = 0


def build(
    cells: Iterable[Cell],
    file: str,
    *,
    name: str,
    format: str,
    strings: str = "refuse",
    unit: str = "line",
    unused: Counter[str] | None = None,
    notes: Sequence[str] = (),
) -> Predictions:
    """Check the turns of a prediction file and turn them into tables."""
    ordered, ids, originals = _identify(list(cells), file, unit)

    def where(i: int) -> dict[str, Any]:
        line = ordered[i].line
        place = f"{file}, {unit} {line}" if line else file
        return {"file": place, "dialogue": str(ordered[i].dialogue_id), "turn": ordered[i].turn}

    keys = Keys(ids, [c.turn for c in ordered], where)
    if all(c.state is ABSENT and c.response is ABSENT for c in ordered):
        raise PredictionError("holds neither states nor responses", file=file)
    repairs: Counter[str] = Counter()
    # null stands for "not predicted" in active_domains: some systems write it in every turn.
    domains = _column(ordered, "active_domains", keys, blank=None)
    states = _column(ordered, "state", keys)
    responses = _column(ordered, "response", keys)
    predicted = None if states is None else state_table(states, "state", keys, repairs, strings)
    gold = _gold_tables(ordered, keys, repairs, strings)
    if gold is not None:
        gold = replace(
            gold,
            name="own",
            dialogues=table("dialogues", [(i, original, "") for i, original in originals.items()]),
            source=Source(path=file, sha256=fingerprint([gold_digest(gold)])),
        )
    return Predictions(
        name=name,
        turns=table("predicted_turns", keys.columns()),
        states=predicted,
        responses=None
        if responses is None
        else table("responses", keys.columns() | {"response": text_column(responses, "response", keys)}),
        active_domains=None if domains is None else domain_table(domains, keys),
        gold=gold,
        original_ids=originals,
        format=format,
        path=file,
        notes=(*notes, *_notes(repairs, unused or Counter(), keys)),
    )


def turn_gap(numbers: Sequence[int]) -> str | None:
    """Say which turn is the first that a dialogue lacks."""
    missing = next((i for i, n in enumerate(numbers) if i != n), None)
    if missing is None:
        return None
    shown = ", ".join(map(str, numbers[:8])) + (", …" if len(numbers) > 8 else "")
    return f"turn{'s' * (len(numbers) > 1)} {shown}: turn {missing} is missing"


def _identify(cells: list[Cell], file: str, unit: str) -> tuple[list[Cell], list[str], dict[str, str]]:
    """Return the cells in order of dialogue and turn, their canonical ids, and the ids of the file."""
    if not cells:
        raise PredictionError("holds no turns", file=file, mend="check that the system wrote its predictions")
    originals: dict[str, str] = {}
    known: dict[Any, str] = {}
    rank: dict[str, int] = {}
    seen: set[tuple[str, int]] = set()
    ids = []
    for cell in cells:
        place = f"{file}, {unit} {cell.line}" if cell.line else file
        given = cell.dialogue_id
        if isinstance(given, bool) or not isinstance(given, (str, int)) or not str(given).strip():
            raise PredictionError("dialogue_id", file=place, expected="a string", got=show(given))
        if given not in known:
            key = canonical_id(given)
            if HALF_SURROGATE.search(key):
                raise PredictionError("dialogue_id", file=place, expected="text", got=show(given))
            other = originals.setdefault(key, str(given))
            if other != str(given):
                raise PredictionError(
                    f"{other} and {given} name the same dialogue", file=place, mend="keep one of the two"
                )
            known[given] = key
            rank[key] = len(rank)
        if isinstance(cell.turn, bool) or not isinstance(cell.turn, int) or not 0 <= cell.turn < MAX_TURNS:
            raise PredictionError(
                "turn",
                file=place,
                dialogue=str(given),
                expected=f"a whole number from 0 to {MAX_TURNS - 1:,}",
                got=show(cell.turn),
            )
        ids.append(known[given])
        if (ids[-1], cell.turn) in seen:
            raise PredictionError(
                "stands twice", file=place, dialogue=str(given), turn=cell.turn, mend="keep one of them"
            )
        seen.add((ids[-1], cell.turn))
    keys = [(rank[i], c.turn) for i, c in zip(ids, cells, strict=True)]
    if any(a > b for a, b in pairwise(keys)):
        order = sorted(range(len(cells)), key=keys.__getitem__)
        cells, ids = [cells[i] for i in order], [ids[i] for i in order]
    return cells, ids, originals


def _column(cells: list[Cell], field: str, keys: Keys, blank: Any = ABSENT) -> list[Any] | None:
    """Return one field of all turns, None if no turn has it; a mix is refused."""
    values = [getattr(c, field) for c in cells]
    lacking = [v is ABSENT or v is blank for v in values]
    if all(lacking):
        return None
    if any(lacking):
        raise PredictionError(
            f"has no {field}, but {len(lacking) - sum(lacking):,} of {len(lacking):,} turns have one",
            **keys.where(lacking.index(True)),
            mend=f"give every turn its {field}, or none",
        )
    return values


def _gold_tables(cells: list[Cell], keys: Keys, repairs: Counter[str], strings: str) -> Corpus | None:
    """Return the gold that the file itself carries, or None."""
    column, references, users = (_column(cells, f, keys) for f in ("gold", "reference", "user"))
    if column is None and references is None:
        return None
    rows = table("states") if column is None else state_table(column, "gold", keys, repairs, strings)
    slots: dict[tuple[str, int], dict[tuple[str, str], None]] = {}
    for i, t, domain, slot in zip(*(rows[n].tolist() for n in rows.columns[:4]), strict=True):
        slots.setdefault((i, t), {})[domain, slot] = None
    layouts: dict[tuple[tuple[str, str], ...], int] = {}
    numbers = []
    for key in zip(keys.ids, keys.turns, strict=True):
        layout = tuple(slots.get(key, ()))
        numbers.append(layouts.setdefault(layout, len(layouts)))
    texts = {"user": users or [""] * len(cells), "system": references or [""] * len(cells)}
    columns = {name: text_column(column, f"{name} text", keys) for name, column in texts.items()}
    return Corpus(
        name="",
        language="",
        family="pairs",
        turns=table("turns", keys.columns() | columns | {"layout": numbers}),
        states=rows[rows["value"] != ""].reset_index(drop=True),
        layouts=table("layouts", [(n, d, s) for layout, n in layouts.items() for d, s in layout]),
        notes=("gold and predictions come from one file",),
    )


def gold_digest(gold: Corpus) -> int:
    """Return a number of 256 bits that stands for the gold of some dialogues: the sum of theirs."""
    frames = (gold.turns[["dialogue_id", "turn", "system"]], gold.states)
    parts: dict[str, list[bytes]] = {}
    for frame in frames:
        rows = frame.sort_values(list(frame.columns))
        columns = [rows[name].astype(str).tolist() for name in rows.columns[1:]]
        ids = rows["dialogue_id"].to_numpy()
        starts = np.flatnonzero(np.r_[True, ids[1:] != ids[:-1]]) if len(ids) else np.zeros(0, int)
        for start, stop in pairwise([*starts.tolist(), len(ids)]):
            text = "\x1e".join("\x1f".join(column[start:stop]) for column in columns)
            parts.setdefault(str(ids[start]), []).append(text.encode())
    digests = (
        hashlib.sha256(b"\x1d".join([name.encode(), *texts])).digest() for name, texts in parts.items()
    )
    return sum(int.from_bytes(digest) for digest in digests) % 2**256


def fingerprint(digests: Iterable[int]) -> str:
    """Return a checksum of gold from the digests of its parts, whatever the parts and their order."""
    return f"{sum(digests) % 2**256:064x}"


def _notes(repairs: Counter[str], unused: Counter[str], keys: Keys) -> list[str]:
    """Say what was repaired, which fields are not used, and where turn numbers are skipped."""
    notes = [f"{repairs[kind]:,} {text}" for kind, text in REPAIRS.items() if repairs[kind]]
    notes += [f"field {field!r} of {n:,} turns is not used" for field, n in sorted(unused.items())]
    frame = pd.DataFrame(keys.columns())
    gaps = frame[frame.groupby("dialogue_id", sort=False).cumcount() != frame["turn"]]
    if n := gaps["dialogue_id"].nunique():
        first = gaps["dialogue_id"].iloc[0]
        gap = turn_gap(frame.loc[frame["dialogue_id"] == first, "turn"].tolist())
        example = f"dialogue {first}, {gap}"
        notes.append(f"{n:,} dialogue{'s' * (n > 1)} skip{'s' * (n == 1)} turn numbers ({example})")
    return notes

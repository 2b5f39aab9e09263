"""The counts of one piece: what is left of some dialogues once they are scored.

In: predictions of some whole dialogues, and what all pieces share. Out: sums by dialogue, the responses
where types have to be counted over all of them, and what is to be said; small enough to be sent back.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from dialogeval.exceptions import CoverageError, Remark, UsageError, plain
from dialogeval.files import collection_paused
from dialogeval.metrics import Metric, TextPair
from dialogeval.ontology.alignment import Alignment
from dialogeval.ontology.mapping import align_predictions
from dialogeval.pairing import make_pairs, match_turns, scorable
from dialogeval.predictions.load import read_predictions
from dialogeval.predictions.pieces import Piece
from dialogeval.protocols import Protocol, chosen_protocol, compared
from dialogeval.scale.gold import GoldSlices
from dialogeval.stats import all_dialogue_sums, count_all
from dialogeval.tables import Predictions, table

__all__ = ["Counts", "Plan", "count_piece", "count_predictions", "counting_functions"]


@dataclass(frozen=True)
class Plan:
    """What all pieces of a file share."""

    file: str
    gold: GoldSlices | None = None
    protocol: str | Protocol | None = None
    alignment: Alignment | None = None
    tokenizer: str | None = None
    steps: tuple[str, ...] = ()
    missing: str | None = None
    like: str | None = None
    format: str | None = None
    name: str | None = None


@dataclass(frozen=True)
class Counts:
    """The counts of one piece."""

    number: int
    first: int
    system: str
    format: str
    fields: tuple[str, ...]
    protocol: Protocol
    keys: tuple[str, ...]
    turns: pd.DataFrame
    sums: list[pd.DataFrame]
    said: TextPair | None
    read: list[Remark]
    heard: list[Remark]
    tasks: dict[str, tuple[str, ...]]
    digest: int
    slots: pd.DataFrame


def counting_functions(metrics: tuple[Metric, ...]) -> dict[Callable, bool]:
    """Return the counting functions of metrics, each once, and whether their counts may be added."""
    return {part.counts: part.additive for m in metrics for part in m.sources}


def count_piece(plan: Plan, piece: Piece) -> Counts:
    """Read a piece of a file and count it."""
    with collection_paused():
        predictions = read_predictions(piece.data, plan.file, plan.format, plan.name, piece.first, plan.like)
    return count_predictions(plan, predictions, piece.number, piece.first)


def count_predictions(
    plan: Plan, predictions: Predictions, number: int, first: int, dialogues: Sequence[str] | None = None
) -> Counts:
    """Pair and count the predictions of some whole dialogues."""
    own = predictions.gold
    whole = plan.gold.corpus if plan.gold else own
    if whole is None:
        raise UsageError(
            "no gold to score against",
            file=plan.file,
            mend="name a corpus, or use format pairs, which carries its own gold",
        )
    if dialogues is None:
        dialogues = predictions.turns["dialogue_id"].unique().tolist()
    here = plan.gold.take(dialogues) if plan.gold else whole
    fields = tuple(
        f for f in ("states", "responses", "active_domains") if getattr(predictions, f) is not None
    )
    if plan.alignment is not None:
        predictions, _ = align_predictions(whole, predictions, plan.alignment)
    protocol, why = chosen_protocol(plan.protocol, whole, predictions, plan.tokenizer, plan.steps)
    metrics, dropped = scorable(protocol.resolve_metrics(), whole, predictions)
    sources = [part for m in metrics for part in m.sources]
    for part in sources:
        if not part.additive and part.task != "text":
            problem = f"counts of {part.key} do not add up over dialogues, and are not of responses"
            raise UsageError(problem, mend="score the file at once")
    missing = plan.missing or protocol.missing
    # What whole dialogues are missing is known at the end, and refused then if it is to be.
    try:
        coverage = match_turns(here, predictions, "skip" if missing == "error" else missing)
    except CoverageError:
        # As the whole corpus has it, which knows more dialogues than these.
        match_turns(whole, predictions, "skip")
        raise
    pairs, heard = make_pairs(metrics, here, predictions, protocol, coverage)
    sums = all_dialogue_sums(count_all(tuple(p for p in sources if p.additive), pairs))
    functions = counting_functions(metrics)
    slots = pd.concat([f[["domain", "slot"]] for f in (own.layouts, own.states)]) if own else table("layouts")
    return Counts(
        number=number,
        first=first,
        system=predictions.name,
        format=predictions.format,
        fields=(*fields, *["gold"] * (own is not None)),
        protocol=protocol,
        keys=tuple(m.key for m in metrics),
        turns=predictions.turns[["dialogue_id", "turn"]],
        sums=[sums[f] for f, additive in functions.items() if additive],
        said=None if all(functions.values()) else _responses(pairs["text"]),
        read=list(predictions.remarks),
        heard=[*map(plain, [*why, *dropped]), *heard],
        tasks=compared(pairs),
        digest=int(own.source.sha256, 16) if own and not plan.gold else 0,
        slots=slots[["domain", "slot"]].drop_duplicates(ignore_index=True),
    )


def _responses(pair: TextPair) -> TextPair:
    """Keep of a pair of texts what types are counted on, as compact columns."""
    columns: dict[str, Any] = {
        "dialogue_id": pd.Series(pair.dialogue_id, dtype="str"),
        "turn": np.asarray(pair.turn, dtype="int64"),
        "references": [],
        "responses": pd.Series(pair.responses, dtype="str"),
        "order": np.asarray(pair.order, dtype=float),
    }
    return replace(pair, **columns)

"""Counts of all pieces put together: the scores of the whole file.

In: the counts of the pieces, in any order. Out: `Scores`, equal to those of the file read at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from dialogeval.exceptions import PredictionError, all_lines, merge_remarks, printable
from dialogeval.metrics import Metric, TextPair
from dialogeval.metrics.states import count_slot_errors
from dialogeval.pairing import Coverage, match_turns, ontology_size
from dialogeval.predictions.cells import fingerprint
from dialogeval.protocols import Protocol, signature
from dialogeval.scale.counts import Counts, Plan, counting_functions
from dialogeval.scoring import Scores, not_kept
from dialogeval.stats import value_table
from dialogeval.tables import Corpus, Predictions, Source

__all__ = ["Seen", "join_counts"]


class _NotKept(dict[str, Any]):
    """What a file read in pieces was compared with is gone once it is counted; asking for it says so."""

    def __missing__(self, task: str) -> Any:
        raise not_kept()


class Seen:
    """What the pieces so far hold, to refuse a file as soon as two of them do not fit."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.first: Counts | None = None
        self.ids: set[str] = set()

    def add(self, counts: Counts) -> None:
        """Take one more piece."""
        first: Counts = self.first or counts
        self.first = first
        for what in ("format", "fields", "keys", "tasks"):
            ours, theirs = getattr(counts, what), getattr(first, what)
            if ours != theirs:
                names = [x if isinstance(x, str) else ", ".join(x) or "none" for x in (theirs, ours)]
                raise PredictionError(
                    f"does not hold the same throughout: from line {first.first:,} on {names[0]}, "
                    f"from line {counts.first:,} on {names[1]}",
                    file=self.file,
                    mend="give every turn the same fields",
                )
        ids = set(counts.turns["dialogue_id"].unique().tolist())
        twice = self.ids & ids
        if twice:
            raise PredictionError(
                "its turns stand in several places of the file",
                file=self.file,
                dialogue=min(twice),
                expected="the turns of a dialogue next to each other",
                mend="sort the file by dialogue, or read it whole",
            )
        self.ids |= ids


def join_counts(plan: Plan, parts: Iterable[Counts], resamples: int, seed: int) -> Scores:
    """Put the counts of all pieces together."""
    parts = sorted(parts, key=lambda p: p.number)
    protocol = parts[0].protocol
    metrics = tuple(m for m in protocol.resolve_metrics() if m.key in parts[0].keys)
    missing = plan.missing or protocol.missing
    turns = pd.concat([p.turns for p in parts], ignore_index=True)
    gold = plan.gold.corpus if plan.gold else _own_gold(plan.file, parts, turns)
    coverage = match_turns(gold, Predictions(parts[0].system, turns, path=plan.file), missing)
    counts = _counts(metrics, parts)
    _set_ontology(counts, protocol, gold, coverage)
    warnings = [*coverage.warnings, *all_lines(merge_remarks(p.read for p in parts))]
    if plan.gold and "gold" in parts[0].fields:
        mend = "name no corpus to use it"
        warnings.append(f"the file carries its own gold, which was not used: {gold.id} was; {mend}")
    warnings += all_lines(merge_remarks(p.heard for p in parts))
    align = plan.alignment.id if plan.alignment else ""
    return Scores(
        system=printable(parts[0].system),
        protocol=protocol,
        signature=signature(protocol, parts[0].tasks, gold, coverage, missing, resamples, seed, align),
        coverage=coverage,
        table=value_table(metrics, counts, resamples, seed),
        metrics=metrics,
        counts=counts,
        warnings=tuple(dict.fromkeys(warnings)),
        pairs=_NotKept(),
        gold=gold if plan.gold else None,
    )


def _counts(metrics: tuple[Metric, ...], parts: Sequence[Counts]) -> dict[Callable, pd.DataFrame]:
    """Return the counts of every function: sums put side by side, types counted over all responses."""
    columns = iter(zip(*(p.sums for p in parts), strict=True))
    counts = {}
    for function, additive in counting_functions(metrics).items():
        if additive:
            counts[function] = pd.concat(next(columns)).rename_axis("dialogue_id")
        else:
            counts[function] = function(_gather([p.said for p in parts if p.said is not None], parts))
    return counts


def _gather(said: Sequence[TextPair], parts: Sequence[Counts]) -> TextPair:
    """Put the responses of all pieces together, in the order of the file."""
    starts = np.cumsum([0, *(len(p.turns) for p in parts)])
    orders = [np.asarray(pair.order) + start for pair, start in zip(said, starts, strict=False)]
    texts: Any = pd.concat([pd.Series(pair.responses) for pair in said], ignore_index=True)
    ids: Any = pd.concat([pd.Series(pair.dialogue_id) for pair in said], ignore_index=True)
    turn: Any = np.concatenate([np.asarray(pair.turn) for pair in said])
    order: Any = np.concatenate(orders)
    return replace(said[0], dialogue_id=ids, turn=turn, responses=texts, order=order)


def _own_gold(file: str, parts: Sequence[Counts], turns: pd.DataFrame) -> Corpus:
    """Return what must be known of the gold that the file carries: its turns, slots and checksum."""
    slots = pd.concat([p.slots for p in parts], ignore_index=True).drop_duplicates(ignore_index=True)
    source = Source(path=file, sha256=fingerprint(p.digest for p in parts))
    layouts = slots.assign(layout=0)[["layout", "domain", "slot"]]
    return Corpus(
        "own",
        family="pairs",
        turns=turns.assign(user="", system="", layout=0),
        layouts=layouts,
        source=source,
    )


def _set_ontology(
    counts: dict[Callable, pd.DataFrame], protocol: Protocol, gold: Corpus, coverage: Coverage
) -> None:
    """Set the size of the ontology: slot accuracy divides by it, and no piece knows it."""
    if count_slot_errors in counts and protocol.compare != "annotated-slots":
        frame = counts[count_slot_errors]
        turns = coverage.turns.groupby("dialogue_id").size()
        frame["ontology_slots"] = (turns.reindex(frame.index) * ontology_size(gold)).astype(float)

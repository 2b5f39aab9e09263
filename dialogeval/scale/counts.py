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

from ..alignment import Alignment
from ..alignment.fit import align_predictions
from ..choosing import chosen_protocol
from ..counting import count_all
from ..coverage import match_turns
from ..exceptions import CoverageError, UsageError
from ..files import collection_paused
from ..metrics import Metric
from ..metrics.pairs import TextPair
from ..pairing import make_pairs, scorable
from ..predictions.load import read_predictions
from ..predictions.pieces import Piece
from ..protocols import Protocol
from ..remarks import Remark, plain
from ..resampling import all_dialogue_sums
from ..signature import compared
from ..tables import Predictions, table
from .gold import GoldSlices

__all__ = ["Counts", "Plan", "count_piece", "count_predictions", "counting_functions"]


@dataclass(frozen=True)
class Plan:
    """What all pieces of a file share.

    Parameters
    ----------
    file : str
        Name for messages.
    gold : GoldSlices or None
        None for a file that carries its own gold.
    protocol : str, Protocol or None
    alignment : Alignment or None
    tokenizer : str or None
        Instead of the protocol's.
    steps : tuple of str
        Besides the protocol's.
    missing : str or None
    like : str or None
        Format of the file's first piece, where none is given.
    format, name : str or None
        As for `dialogeval.load_predictions`.
    """

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
    """The counts of one piece.

    Parameters
    ----------
    number : int
        Of the piece, in the order of the file.
    first : int
        Its first line or row.
    system, format : str
    fields : tuple of str
        What the predictions hold: ``states``, ``responses``, ``active_domains``, ``gold``.
    protocol : Protocol
    keys : tuple of str
        Of the metrics that are scored.
    turns : pandas.DataFrame
        dialogue_id and turn of the predictions.
    sums : list of pandas.DataFrame
        By counting function of the metrics (see `counting_functions`), the sums by dialogue.
    said : TextPair or None
        The responses (no references), where a metric counts types.
    read, heard : list of Remark
        Of the reader; of what was paired.
    tasks : dict of str to tuple
        As `dialogeval.signature.compared` returns it.
    digest : int
        Of the gold that the piece carries.
    slots : pandas.DataFrame
        domain and slot of the gold that the piece carries.
    """

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
    """Return the counting functions of metrics, each once, and whether their counts may be added.

    Examples
    --------
    >>> from dialogeval.protocols import PROTOCOLS
    >>> list(counting_functions(PROTOCOLS["lai2019"].resolve_metrics()).values())
    [True, False, True]
    """
    return {part.counts: part.additive for m in metrics for part in m.sources}


def count_piece(plan: Plan, piece: Piece) -> Counts:
    """Read a piece of a file and count it.

    Parameters
    ----------
    plan : Plan
    piece : Piece

    Returns
    -------
    Counts

    Raises
    ------
    DialogevalError
        As `dialogeval.load_predictions` and `dialogeval.score`.

    Examples
    --------
    >>> row = b'{"dialogue_id": "a", "turn": 0, "gold": {}, "pred": {}}'
    >>> counts = count_piece(Plan("mine.jsonl"), Piece(0, 1, 1, row))
    >>> counts.protocol.name, len(counts.turns)
    ('lin2021', 1)
    """
    with collection_paused():
        predictions = read_predictions(piece.data, plan.file, plan.format, plan.name, piece.first, plan.like)
    return count_predictions(plan, predictions, piece.number, piece.first)


def count_predictions(
    plan: Plan, predictions: Predictions, number: int, first: int, dialogues: Sequence[str] | None = None
) -> Counts:
    """Pair and count the predictions of some whole dialogues.

    Parameters
    ----------
    plan : Plan
    predictions : Predictions
    number, first : int
        As in `Counts`.
    dialogues : sequence of str, optional
        Dialogues of the gold that are counted; those of the predictions by default.

    Returns
    -------
    Counts

    Raises
    ------
    DialogevalError
        As `dialogeval.score`.

    Examples
    --------
    >>> from dialogeval.corpora import load_corpus
    >>> from dialogeval.tables import as_predictions
    >>> gold = load_corpus("sample/crosswoz_en")
    >>> counts = count_predictions(Plan("gold", GoldSlices(gold), "lin2021"), as_predictions(gold), 0, 1)
    >>> len(counts.sums), int(counts.sums[0]["exact"].sum()) == len(gold.turns)
    (2, True)
    """
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

"""`score_in_pieces`: the scores of a file that is too large to be read at once.

In: a file, gold, a protocol. Out: the same `Scores` as of the whole file, from pieces that this process
counts one after the other, or the workers of a Dask cluster all at once.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dialogeval.exceptions import UsageError, show
from dialogeval.pairing import lay_out
from dialogeval.predictions.load import check_format, system_name
from dialogeval.predictions.pieces import Piece, pieces_of
from dialogeval.protocols import Protocol, find_protocol
from dialogeval.scale.counts import Counts, Plan, count_piece, count_predictions
from dialogeval.scale.gold import GoldSlices
from dialogeval.scale.join import Seen, join_counts
from dialogeval.scoring import RESAMPLES, SEED, Scores, check_arguments
from dialogeval.tables import Corpus, Predictions, table

if TYPE_CHECKING:
    from dialogeval.ontology.alignment import Alignment

__all__ = ["TURNS_AT_ONCE", "score_in_pieces"]

#: Turns of a piece: some hundred megabytes while it is read and counted.
TURNS_AT_ONCE = 20_000


def score_in_pieces(
    gold: Corpus | str | os.PathLike[str] | None,
    predictions: str | os.PathLike[str],
    protocol: str | Protocol | None = None,
    *,
    split: str = "test",
    alignment: Alignment | str | None = None,
    tokenizer: str | None = None,
    steps: str | Iterable[str] = (),
    missing: str | None = None,
    resamples: int = RESAMPLES,
    seed: int = SEED,
    format: str | None = None,
    name: str | None = None,
    turns_at_once: int = TURNS_AT_ONCE,
    dask: Any = None,
    home: str | os.PathLike[str] | None = None,
) -> Scores:
    """Score a file of predictions in pieces of whole dialogues.

    Values, intervals, coverage, signature and warnings are those of `dialogeval.score` on the whole
    file, whatever the pieces: counts are summed, types are counted over the responses of all pieces.

    Parameters
    ----------
    gold, protocol, split, alignment, tokenizer, steps, missing, resamples, seed
        As for `dialogeval.score`. The gold itself is held in memory, once in every process.
    predictions : str or path-like
        JSON lines (perhaps as ``.gz``) or Parquet in format ``turns`` or ``pairs``, the turns of a
        dialogue next to each other.
    format, name, home
        As for `dialogeval.load_predictions`.
    turns_at_once : int, default=20000
        Turns of a piece, which bounds the memory of a process.
    dask : str or distributed.Client, optional
        Address of a Dask scheduler (``"tcp://host:8786"``), ``"local"`` for one worker a processor of
        this machine (in a script: below ``if __name__ == "__main__":``), or a client. The workers need
        dialogeval in the same version and no files: pieces are sent to them.

    Returns
    -------
    Scores
        Counts by dialogue; without the turns that `Scores.by` and the analyses look at.

    Raises
    ------
    DialogevalError
        As `dialogeval.score` and `dialogeval.load_predictions`; a file that cannot be cut, a dialogue
        whose turns do not stand together, no scheduler at the address.

    Examples
    --------
    >>> import tempfile, dialogeval as de
    >>> gold = de.load_corpus("sample/crosswoz_en")
    >>> file = tempfile.mkdtemp() + "/gold.jsonl"
    >>> _ = de.save_predictions(de.as_predictions(gold), file, "turns")
    >>> scores = score_in_pieces(gold, file, "lin2021", turns_at_once=50)
    >>> scores.signature == de.score(gold, gold, "lin2021").signature
    True
    """
    from dialogeval.corpora.load import load_corpus
    from dialogeval.locate import locate_predictions
    from dialogeval.ontology.alignment import load_alignment

    if not isinstance(predictions, (str, os.PathLike)):
        mend = "score tables with score()"
        raise UsageError("predictions", expected="the path of a file", got=show(predictions), mend=mend)
    check_arguments(gold, predictions, resamples, seed)
    check_format(format)
    if protocol is not None:
        find_protocol(protocol)
    path = locate_predictions(predictions, home)
    if isinstance(gold, (str, os.PathLike)):
        gold = load_corpus(gold, split, home=home)
    if isinstance(alignment, (str, os.PathLike)):
        alignment = load_alignment(alignment)
    plan = Plan(
        str(path),
        GoldSlices(lay_out(gold)) if gold is not None else None,
        protocol,
        alignment,
        tokenizer,
        tuple(steps.split() if isinstance(steps, str) else steps),
        missing,
        format=format,
        name=name or system_name(Path(path).name),
    )
    pieces = pieces_of(path, turns_at_once)
    # The first one says which format the file has: where a later one breaks it, its line is named.
    first = count_piece(plan, next(pieces))
    plan = replace(plan, like=first.format)
    seen, parts = Seen(plan.file), []
    for counts in chain([first], _counted(plan, pieces, dask)):
        seen.add(counts)
        parts.append(counts)
    parts += _unanswered(plan, parts, seen)
    return join_counts(plan, parts, resamples, seed)


def _counted(plan: Plan, pieces: Iterable[Piece], dask: Any) -> Iterator[Counts]:
    if dask is None:
        return (count_piece(plan, piece) for piece in pieces)
    from dialogeval.scale.cluster import count_on_cluster

    return count_on_cluster(plan, pieces, dask)


def _unanswered(plan: Plan, parts: list[Counts], seen: Seen) -> list[Counts]:
    """Count the dialogues that no piece has as predicted empty, where that is asked for."""
    first = parts[0]
    if plan.gold is None or (plan.missing or first.protocol.missing) != "empty":
        return []
    lacking = plan.gold.others(list(seen.ids))
    if not lacking:
        return []
    kinds: dict[str, Any] = {f: table(f) for f in first.fields if f != "gold"}
    nothing = Predictions(first.system, format=first.format, path=plan.file, **kinds)
    # Nothing is predicted here, so there is nothing to align.
    rest = replace(plan, protocol=first.protocol, alignment=None)
    return [count_predictions(rest, nothing, len(parts), 0, lacking)]

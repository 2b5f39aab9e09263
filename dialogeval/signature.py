"""The signature of a result: everything that two comparable numbers must share, on one line.

In: the protocol, what was compared, and how it was resampled. Out: fields joined by bars, in the manner
of sacreBLEU.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from . import __version__
from .coverage import Coverage
from .normalize import describe_steps
from .protocols import Protocol
from .tables import Corpus

__all__ = ["compared", "signature"]


def compared(pairs: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    """Return what the signature says of each task beside the protocol, by task.

    Examples
    --------
    >>> compared({"text": None})
    {'text': ()}
    """
    return {
        task: (f"states:{pair.source}", f"db:{pair.database.version}") if task == "task" else ()
        for task, pair in pairs.items()
    }


_NAMES = {"state": "jga", "text": "bleu", "task": "inform"}


def signature(
    protocol: Protocol,
    tasks: Mapping[str, tuple[str, ...]],
    gold: Corpus,
    coverage: Coverage,
    missing: str,
    resamples: int,
    seed: int,
    alignment: str = "",
    changes: tuple[str, ...] = (),
) -> str:
    """Name everything that two comparable numbers must share.

    Parameters
    ----------
    protocol : Protocol
    tasks : mapping of task to fields
        As `compared` returns it.
    gold : Corpus
    coverage : Coverage
    missing : str
        Policy for turns without a prediction.
    resamples, seed : int
    alignment : str
        Name and checksum of the alignment that predictions went through.
    changes : tuple of str
        What was done to the predictions since they were read.

    Returns
    -------
    str

    Examples
    --------
    >>> from dialogeval.scoring import score
    >>> from dialogeval.tables import table
    >>> gold = Corpus("toy", turns=table("turns", [("d", 0, "hi", "ho", 0)]))
    >>> score(gold, gold, "lin2021", resamples=0).signature
    'jga|proto:lin2021|case:keep|space:keep|gold:toy/all@unknown|n:1|boot:none|v:...'
    """
    parts = ["+".join(_NAMES[task] for task in tasks), f"proto:{protocol.label}"]
    parts += [f"align:{alignment}"] if alignment else []
    if "state" in tasks:
        parts += [f"{k}:{v}" for k, v in describe_steps(protocol.steps).items()]
        parts += [f"version:{protocol.gold}"] if protocol.gold != "annotated" else []
        parts += [f"compare:{protocol.compare}"] if protocol.compare != "all" else []
    if "text" in tasks:
        parts += [step.replace("placeholders", "delex") for step in protocol.text_steps]
        parts += [f"tok:{protocol.tokenizer}"]
        parts += [f"refs:{'as-given' if gold.family == 'pairs' else protocol.references}"]
    parts += changes if tasks.keys() & {"text", "task"} else ()
    parts += tasks.get("task", ())
    if "per-turn" in gold.cautions and tasks.keys() & {"state", "task"}:
        parts.append("gold:per-turn")
    parts += [f"gold:{gold.id}", f"n:{coverage.turns_scored}"]
    if coverage.turns_scored < coverage.turns_in_corpus or not coverage.turns["predicted"].all():
        parts.append(f"missing:{missing}")
    parts += [f"boot:{resamples}/{seed}" if resamples else "boot:none", f"v:{__version__}"]
    return "|".join(parts)

"""Pairing: which scores of a protocol the two sides can give, and what these scores compare.

In: metrics, a corpus and predictions. Out: the metrics that can be scored, and for each task (states,
texts, whole tasks) gold and prediction side by side.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .coverage import Coverage
from .metrics import Metric
from .pairing_states import state_pair
from .pairing_task import task_pair
from .pairing_texts import text_pair
from .protocols import Protocol
from .remarks import Remark, plain
from .tables import Corpus, Predictions

__all__ = ["make_pairs", "scorable"]

_PAIRING: dict[str, Callable] = {"state": state_pair, "text": text_pair, "task": task_pair}


def scorable(
    metrics: tuple[Metric, ...], gold: Corpus, predictions: Predictions
) -> tuple[tuple[Metric, ...], list[str]]:
    """Leave out the scores that the two sides cannot give, if others of the protocol remain.

    Parameters
    ----------
    metrics : tuple of Metric
    gold : Corpus
    predictions : Predictions

    Returns
    -------
    tuple of Metric
        All of them if none can be given: the pairing then says what is wrong.
    list of str
        Warnings that name what was left out, and why.

    Examples
    --------
    >>> from dialogeval.protocols import PROTOCOLS
    >>> from dialogeval.tables import table
    >>> responses = Predictions("bland", responses=table("responses"))
    >>> kept, said = scorable(PROTOCOLS["mwzeval"].resolve_metrics(), Corpus("toy"), responses)
    >>> [m.key for m in kept][:2], len(said)
    (['bleu', 'avg_length'], 2)
    """
    lacking = {}
    if predictions.states is None:
        lacking["state"] = f"{predictions.name} predicts no states"
    if predictions.responses is None:
        lacking["text"] = lacking["task"] = f"{predictions.name} has no responses"
    elif not len(gold.goals):
        lacking["task"] = f"{gold.id} has no user goals"
    elif predictions.states is None and not len(gold.states):
        lacking["task"] = f"neither {predictions.name} nor {gold.id} has states"
    reasons = {m.key: next((lacking[p.task] for p in m.sources if p.task in lacking), "") for m in metrics}
    kept = tuple(m for m in metrics if not reasons[m.key])
    if not kept:
        return metrics, []
    said = []
    for reason in dict.fromkeys(filter(None, reasons.values())):
        keys = [key for key, why in reasons.items() if why == reason]
        said.append(f"{reason}, so these scores are left out: {', '.join(keys)}")
    return kept, said


def make_pairs(
    metrics: tuple[Metric, ...],
    gold: Corpus,
    predictions: Predictions,
    protocol: Protocol,
    coverage: Coverage,
) -> tuple[dict[str, Any], list[Remark]]:
    """Set gold and predictions side by side for every task that the metrics need.

    Parameters
    ----------
    metrics : tuple of Metric
    gold : Corpus
    predictions : Predictions
    protocol : Protocol
    coverage : Coverage

    Returns
    -------
    dict
        A `StatePair` for ``state``, a `TextPair` for ``text``, a `TaskPair` for ``task``.
    list of Remark
        Of the pairings, and what the corpus's reader noted that changes what these scores mean.

    Examples
    --------
    >>> from dialogeval.corpora import load_corpus
    >>> from dialogeval.coverage import match_turns
    >>> from dialogeval.protocols import PROTOCOLS
    >>> from dialogeval.tables import as_predictions
    >>> gold, protocol = load_corpus("sample/multiwoz"), PROTOCOLS["mwzeval"]
    >>> own = as_predictions(gold)
    >>> pairs, _ = make_pairs(protocol.resolve_metrics(), gold, own, protocol, match_turns(gold, own))
    >>> list(pairs)
    ['text', 'task', 'state']
    """
    pairs: dict[str, Any] = {}
    remarks: list[Remark] = []
    for task in dict.fromkeys(part.task for m in metrics for part in m.sources):
        pairs[task], said = _PAIRING[task](gold, predictions, protocol, coverage)
        remarks += said
    kinds = ["any", *pairs]
    kinds += ["per-turn"] * (protocol.gold != "frames" and not pairs.keys().isdisjoint(("state", "task")))
    kinds += ["references"] * (protocol.references == "delexicalized" and "text" in pairs)
    return pairs, [*remarks, *(plain(text) for kind in kinds for text in gold.cautions.get(kind, ()))]

"""Goal scores: does a dialogue mention the slots that the reference dialogue mentions?

In goes a `TextPair` of delexicalised text with canonical placeholder names, or plain lists of
dialogues; out come per cent. A dialogue's labels are the names that stand anywhere in its system
utterances, and the scores are those of a multi-label classification over dialogues. They credit a
name wherever it is mentioned: this is slot extraction by dialogue, not state tracking.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from ..exceptions import UnknownNameError, UsageError, show
from ..placeholders import canonical_names, canonicalize_placeholders, names_pattern
from . import Metric, Sums, ratio
from .pairs import TextPair
from .tokens import check_texts, same_length

__all__ = ["AVERAGES", "GOAL_METRICS", "goal_counts", "goal_labels", "goal_metrics", "goal_scores"]

#: How labels and dialogues are averaged, named as in scikit-learn; the first is the default.
AVERAGES = ("micro", "macro", "samples", "weighted")
_SCORES = ("precision", "recall", "f1")


def goal_scores(
    response_dialogues: Sequence[Sequence[str]],
    reference_dialogues: Sequence[Sequence[str]],
    average: str = "micro",
    labels: Iterable[str] | None = None,
) -> dict[str, float]:
    """Multi-label precision, recall and F1 of the placeholder names mentioned in each dialogue.

    Parameters
    ----------
    response_dialogues, reference_dialogues : sequence of sequences of str, length n
        The system utterances of n dialogues; the two sides of a dialogue may differ in length.
    average : {"micro", "macro", "samples", "weighted"}, default="micro"
    labels : iterable of str, optional
        Canonical names that count; those of `dialogeval.placeholders` by default.

    Returns
    -------
    dict
        ``precision``, ``recall`` and ``f1`` in per cent; equal to scikit-learn's
        ``precision_recall_fscore_support`` over the labels that occur on either side, with
        ``zero_division=0``.

    Raises
    ------
    UsageError, PredictionError
        Sides of different length, something else than dialogues of strings.
    UnknownNameError
        Another average.

    Notes
    -----
    Lai et al. 2019, arXiv:1909.09220.

    Examples
    --------
    >>> goal_scores([["the NAME in AREA"]], [["NAME is fine.", "call PHONE"]])
    {'precision': 50.0, 'recall': 50.0, 'f1': 50.0}
    >>> goal_scores([["the [hotel_name]"]], [["[value_name] is fine."]])["f1"]
    100.0
    """
    if average not in AVERAGES:
        raise UnknownNameError("average", average, AVERAGES)
    # Bracketed placeholders of any style are read as well: left alone, they would all count as absent.
    responses = [
        canonicalize_placeholders(d)[0] for d in _check_dialogues("response_dialogues", response_dialogues)
    ]
    references = [
        canonicalize_placeholders(d)[0] for d in _check_dialogues("reference_dialogues", reference_dialogues)
    ]
    same_length(responses, references, "dialogue")
    labels = canonical_names() if labels is None else tuple(labels)
    counts = _count(_mentions(responses, labels), _mentions(references, labels), labels)
    sums = {str(name): total for name, total in counts.sum().items()}
    return {score: float(_value(average, score, sums)) for score in _SCORES}


def goal_labels(texts: Iterable[str], labels: Iterable[str] | None = None) -> set[str]:
    """Return the placeholder names that stand in the utterances of one dialogue, as whole words.

    Parameters
    ----------
    texts : iterable of str
    labels : iterable of str, optional
        Canonical names that count; those of `dialogeval.placeholders` by default.

    Returns
    -------
    set of str

    Examples
    --------
    >>> sorted(goal_labels(["the NAME, in AREA.", "RENAMED"]))
    ['AREA', 'NAME']
    """
    find = names_pattern(canonical_names() if labels is None else labels).findall
    return {name for text in texts for name in find(text)}


def goal_counts(pair: TextPair, labels: Sequence[str] | None = None) -> pd.DataFrame:
    """Count mentioned placeholder names by dialogue.

    Parameters
    ----------
    pair : TextPair
    labels : sequence of str, optional
        Canonical names that count; those of `dialogeval.placeholders` by default.

    Returns
    -------
    pandas.DataFrame
        Indexed by dialogue_id. For each label L ``goal_tp_L``, ``goal_fp_L``, ``goal_fn_L`` (0 or
        1); ``goal_samples_precision``, ``goal_samples_recall``, ``goal_samples_f1``: the
        dialogue's own scores as fractions; ``goal_dialogues``: 1. Columns do not depend on the
        texts, so tables of several systems or shards can be added.

    Examples
    --------
    >>> pair = TextPair(["d", "d"], [0, 1], ["the NAME", "in AREA"], ["the NAME", "NAME is it"])
    >>> counts = goal_counts(pair)
    >>> int(counts.loc["d", "goal_tp_NAME"]), int(counts.loc["d", "goal_fn_AREA"])
    (1, 1)
    """
    labels = canonical_names() if labels is None else tuple(labels)
    dialogue, ids = pd.factorize(pd.Series(pair.dialogue_id, dtype="str"))
    responses, references = (
        _mention_matrix(list(side), dialogue, len(ids), labels) for side in (pair.responses, pair.references)
    )
    counts = _count(responses, references, labels)
    return counts.set_axis(pd.Index(ids, dtype="str", name="dialogue_id"), axis=0)


def goal_metrics(labels: Iterable[str] | None = None) -> dict[str, Metric]:
    """Return the goal metrics by key, for the project's placeholder names or for a user's.

    Parameters
    ----------
    labels : iterable of str, optional
        Canonical names, such as ``canonical_names(placeholder_table(extra))``.

    Returns
    -------
    dict of str to Metric
        ``goal_precision``, ``goal_recall``, ``goal_f1`` (micro) and the same with ``_macro``,
        ``_samples`` and ``_weighted``; all share one counting function.

    Examples
    --------
    >>> list(goal_metrics(["NAME"]))[:4]
    ['goal_precision', 'goal_recall', 'goal_f1', 'goal_precision_macro']
    """
    # One object for all twelve, so that a caller counts once.
    counts = goal_counts if labels is None else partial(goal_counts, labels=tuple(labels))
    metrics = [_metric(counts, average, score) for average in AVERAGES for score in _SCORES]
    return {m.key: m for m in metrics}


# Helpers ------------------------------------------------------------------------------------------


def _check_dialogues(name: str, dialogues: Sequence[Sequence[str]]) -> list[list[str]]:
    if isinstance(dialogues, (str, bytes, Mapping)) or not hasattr(dialogues, "__iter__"):
        raise UsageError(name, expected="a list of dialogues, each a list of strings", got=show(dialogues))
    return [check_texts(f"{name}, dialogue {i}", texts) for i, texts in enumerate(dialogues)]


def _mentions(dialogues: list[list[str]], labels: Sequence[str]) -> np.ndarray:
    lengths = [len(texts) for texts in dialogues]
    dialogue = np.repeat(np.arange(len(dialogues)), lengths)
    return _mention_matrix([t for texts in dialogues for t in texts], dialogue, len(dialogues), labels)


def _mention_matrix(
    texts: Sequence[str], dialogue: np.ndarray, n_dialogues: int, labels: Sequence[str]
) -> np.ndarray:
    """Which dialogue mentions which label, as booleans of shape (dialogues, labels)."""
    column = {label: i for i, label in enumerate(labels)}
    find = names_pattern(labels).findall
    found: dict[str, list[int]] = {}
    for text in texts:
        if text not in found:
            found[text] = [column[name] for name in find(text)]
    rows = [found[text] for text in texts]
    matrix = np.zeros((n_dialogues, len(labels)), dtype=bool)
    at = np.repeat(dialogue, np.fromiter(map(len, rows), dtype=np.int64, count=len(rows)))
    matrix[at, np.array([name for row in rows for name in row], dtype=np.int64)] = True
    return matrix


def _count(responses: np.ndarray, references: np.ndarray, labels: Sequence[str]) -> pd.DataFrame:
    """Counts of `goal_counts` from who mentions what."""
    sides = {"tp": responses & references, "fp": responses & ~references, "fn": references & ~responses}
    columns = {
        f"goal_{kind}_{label}": hits[:, i].astype(np.int64)
        for kind, hits in sides.items()
        for i, label in enumerate(labels)
    }
    rates = _rates(*(sides[kind].sum(axis=1) for kind in ("tp", "fp", "fn")))
    columns |= {f"goal_samples_{score}": rates[score] for score in _SCORES}
    columns["goal_dialogues"] = np.ones(len(responses), dtype=np.int64)
    return pd.DataFrame(columns)


def _rates(tp: Any, fp: Any, fn: Any) -> dict[str, Any]:
    return {
        "precision": ratio(tp, tp + fp),
        "recall": ratio(tp, tp + fn),
        "f1": ratio(2 * tp, 2 * tp + fp + fn),
    }


def _value(average: str, score: str, sums: Sums) -> Any:
    """One score in per cent from sums of counts, or from arrays of them."""
    if average == "samples":
        return 100 * ratio(sums[f"goal_samples_{score}"], sums["goal_dialogues"])
    # Labels are read off the columns: a user's table of names may have others than ours.
    labels = [key.removeprefix("goal_tp_") for key in map(str, sums.keys()) if key.startswith("goal_tp_")]
    empty = np.zeros((0, *np.shape(sums["goal_dialogues"])))
    tp, fp, fn = (
        np.array([sums[f"goal_{kind}_{label}"] for label in labels], dtype=float) if labels else empty
        for kind in ("tp", "fp", "fn")
    )
    if average == "micro":
        return 100 * _rates(tp.sum(axis=0), fp.sum(axis=0), fn.sum(axis=0))[score]
    # A label that occurs nowhere has weight 0 in both averages.
    weight = tp + fn if average == "weighted" else (tp + fp + fn > 0).astype(float)
    return 100 * ratio((_rates(tp, fp, fn)[score] * weight).sum(axis=0), weight.sum(axis=0))


def _metric(counts: Callable[[TextPair], pd.DataFrame], average: str, score: str) -> Metric:
    name = {"precision": "precision", "recall": "recall", "f1": "F1"}[score]
    micro = average == "micro"
    return Metric(
        key=f"goal_{score}" if micro else f"goal_{score}_{average}",
        label=f"goal {name}" if micro else f"goal {name} ({average})",
        counts=counts,
        value=partial(_value, average, score),
        unit="per cent",
        source="Lai et al. 2019; evaluation card MultiWOZ generation",
        task="text",
    )


#: The goal metrics of the project's own placeholder names, by key.
GOAL_METRICS: dict[str, Metric] = goal_metrics()

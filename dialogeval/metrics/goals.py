"""Lexical richness of responses: how long they are, and how varied their words.

In: a `TextPair` whose responses are normalised (only they are looked at). Out: average length, distinct
n-grams, entropies and a type-token ratio, as MultiWOZ_Evaluation defines them.

None of these is a sum over dialogues: a word that two dialogues use is one type, and the frequency of a
word is that in the whole text. So the row of a dialogue holds what it *adds* to the dialogues before it,
which sums to the exact figure, and in a companion column ``X_own`` what the text would lose without it,
from which the delete-one-dialogue jackknife is exact.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from dialogeval.exceptions import UnknownNameError, UsageError, show
from dialogeval.metrics import Metric, Sums, TextPair, ratio
from dialogeval.metrics.text import check_texts, count_types, ngram_codes, same_length, spread
from dialogeval.placeholders import canonical_names, canonicalize_placeholders, names_pattern

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
    """Return the placeholder names that stand in the utterances of one dialogue, as whole words."""
    find = names_pattern(canonical_names() if labels is None else labels).findall
    return {name for text in texts for name in find(text)}


def goal_counts(pair: TextPair, labels: Sequence[str] | None = None) -> pd.DataFrame:
    """Count mentioned placeholder names by dialogue."""
    labels = canonical_names() if labels is None else tuple(labels)
    dialogue, ids = pd.factorize(pd.Series(pair.dialogue_id, dtype="str"))
    responses, references = (
        _mention_matrix(list(side), dialogue, len(ids), labels) for side in (pair.responses, pair.references)
    )
    counts = _count(responses, references, labels)
    return counts.set_axis(pd.Index(ids, dtype="str", name="dialogue_id"), axis=0)


def goal_metrics(labels: Iterable[str] | None = None) -> dict[str, Metric]:
    """Return the goal metrics by key, for the project's placeholder names or for a user's."""
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


#: Tokens of a window of the mean segmental type-token ratio.
WINDOW = 50
_DROPPED = ("``", "''", *"'.,?!)(%/-_", "-LRB-", "-RRB-", "SYM", ":", ";")


def richness_tokens(text: str) -> list[str]:
    """Split a normalised response into the tokens that richness is measured on."""
    for dropped in _DROPPED:
        text = text.replace(dropped, "")
    return re.sub(r"\s+", " ", text).lower().split(" ")


def richness_counts(pair: TextPair) -> pd.DataFrame:
    """Count what the scores of richness are made of, by dialogue."""
    order = np.arange(len(pair.responses)) if pair.order is None else np.argsort(pair.order, kind="stable")
    responses = list(pair.responses)
    texts = [responses[i] for i in order]
    dialogue, ids = pd.factorize(pd.Series(pair.dialogue_id, dtype="str").take(order))
    # A text said twice is split once: real systems repeat themselves a lot.
    utterances, distinct = pd.factorize(np.array(texts, dtype=object))
    lists = [richness_tokens(text) for text in distinct]
    words = pd.factorize(np.array([word for words in lists for word in words], dtype=object))[0]
    once = np.array([len(words) for words in lists], dtype=np.int64)
    codes, lengths = spread(utterances, words.astype(np.int64), once)
    n = len(ids)
    owner = np.repeat(dialogue, lengths)
    columns = {
        "rich_turns": np.bincount(dialogue, minlength=n),
        "rich_tokens": np.bincount(dialogue, weights=lengths, minlength=n).astype(np.int64),
    }
    for size in (1, 2, 3):
        grams, text = ngram_codes(codes, lengths, size)
        types = count_types(f"rich_{size}", grams, dialogue[text], n)
        columns |= {k: v for k, v in types.items() if not k.endswith("_total")}
        if size == 2:
            bigrams, bigram_owner = grams, dialogue[text]
    columns |= _log_counts("rich_words", codes, owner, n)
    columns |= _log_counts("rich_bigrams", bigrams, bigram_owner, n)
    ends = np.cumsum(lengths)
    last = np.zeros(len(codes), dtype=bool)
    last[ends[lengths > 0] - 1] = True
    columns |= _given_counts(codes, owner, ~last, n)
    columns |= _windows(codes, owner, n)
    return pd.DataFrame(columns, index=pd.Index(ids, dtype="str", name="dialogue_id"))


# Helpers ------------------------------------------------------------------------------------------


def _log_counts(name: str, items: np.ndarray, dialogue: np.ndarray, n: int) -> dict[str, np.ndarray]:
    """Σ c·log2 c: what each dialogue adds to those before it, and what the whole loses without it."""
    cells = _cells(items, dialogue)
    total = cells.groupby("item")["count"].transform("sum").to_numpy()
    after = cells.groupby("item")["count"].cumsum().to_numpy()
    count = cells["count"].to_numpy()

    def by_dialogue(values: np.ndarray) -> np.ndarray:
        return np.bincount(cells["dialogue"], weights=values, minlength=n)

    return {
        name: by_dialogue(_xlogx(after) - _xlogx(after - count)),
        f"{name}_own": by_dialogue(_xlogx(total) - _xlogx(total - count)),
    }


def _given_counts(
    words: np.ndarray, dialogue: np.ndarray, heads: np.ndarray, n: int
) -> dict[str, np.ndarray]:
    """Σ over words h of b(h)·log2 c(h), b(h) being how often h begins a bigram: added, and lost without."""
    cells = _cells(words, dialogue, heads)
    sums = cells.groupby("item")[["count", "heads"]]
    total, after = sums.transform("sum"), sums.cumsum()

    def term(frame: pd.DataFrame) -> np.ndarray:
        count, begins = frame["count"].to_numpy(dtype=float), frame["heads"].to_numpy(dtype=float)
        return begins * np.log2(np.maximum(count, 1))

    def by_dialogue(values: np.ndarray) -> np.ndarray:
        return np.bincount(cells["dialogue"], weights=values, minlength=n)

    own = cells[["count", "heads"]]
    return {
        "rich_given": by_dialogue(term(after) - term(after - own)),
        "rich_given_own": by_dialogue(term(total) - term(total - own)),
    }


def _cells(items: np.ndarray, dialogue: np.ndarray, heads: np.ndarray | None = None) -> pd.DataFrame:
    """How often each item stands in each dialogue, and (of words) how often it begins a bigram there."""
    frame = pd.DataFrame({"item": items, "dialogue": dialogue, "heads": 0 if heads is None else heads})
    groups = frame.groupby(["item", "dialogue"], sort=True)["heads"]
    return groups.agg(count="size", heads="sum").astype("int64").reset_index()


def _windows(words: np.ndarray, dialogue: np.ndarray, n: int) -> dict[str, np.ndarray]:
    """Type-token ratios of consecutive windows; the last, incomplete one is dropped."""
    complete = len(words) // WINDOW
    windows = np.sort(words[: complete * WINDOW].reshape(complete, WINDOW), axis=1)
    ratios = (1 + (np.diff(windows, axis=1) != 0).sum(axis=1)) / WINDOW
    begins = dialogue[: complete * WINDOW : WINDOW]
    return {
        "rich_ratios": np.bincount(begins, weights=ratios, minlength=n),
        "rich_windows": np.bincount(begins, minlength=n),
    }


def _xlogx(counts: Sequence[int] | np.ndarray) -> np.ndarray:
    counts = np.asarray(counts, dtype=float)
    return counts * np.log2(np.maximum(counts, 1))


def _column(name: str, sums: Sums) -> Any:
    return sums[name]


def _mean(part: str, whole: str, sums: Sums) -> Any:
    return ratio(sums[part], sums[whole])


def _windows_mean(sums: Sums) -> Any:
    # Less than a window of text has no such ratio, which is not the same as a ratio of 0.
    return ratio(sums["rich_ratios"], sums["rich_windows"], empty=float("nan"))


def _entropy(sums: Sums) -> Any:
    tokens = np.maximum(np.asarray(sums["rich_tokens"], dtype=float), 1)
    return np.log2(tokens) - sums["rich_words"] / tokens


def _conditional_entropy(sums: Sums) -> Any:
    return ratio(sums["rich_given"] - np.asarray(sums["rich_bigrams"]), sums["rich_tokens"])


_SOURCE = "Nekvinda & Dušek 2021 (MultiWOZ_Evaluation), arXiv:2106.05555"
_metric_of_richness = partial(Metric, counts=richness_counts, source=_SOURCE, task="text", additive=False)
_jackknifed = partial(_metric_of_richness, resample="jackknife")

#: The metrics of richness by key.
RICHNESS_METRICS: dict[str, Metric] = {
    m.key: m
    for m in (
        _metric_of_richness(
            "avg_length",
            "Average length",
            value=partial(_mean, "rich_tokens", "rich_turns"),
            unit="tokens",
            better="neither",
        ),
        *(
            _jackknifed(
                f"unique_{size}grams",
                f"Unique {size}-grams",
                value=partial(_column, f"rich_{size}_types"),
                unit="types",
            )
            for size in (1, 2, 3)
        ),
        _jackknifed("entropy", "Entropy", value=_entropy, unit="bits"),
        _jackknifed("cond_bigram_entropy", "Conditional entropy", value=_conditional_entropy, unit="bits"),
        _metric_of_richness(
            f"msttr_{WINDOW}",
            f"MSTTR-{WINDOW}",
            value=_windows_mean,
            resample="none",
        ),
    )
}

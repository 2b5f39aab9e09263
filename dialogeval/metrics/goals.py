"""What responses mention, and how varied they are: the goal scores, and lexical richness.

In: a `TextPair`, or the utterances of dialogues as plain lists. Out: multi-label scores of the placeholder names
that a dialogue mentions; and average length, distinct n-grams, entropies and a type-token ratio of normalised
responses, as MultiWOZ_Evaluation defines them.

Richness is no sum over dialogues: a word that two dialogues use is one type, and the frequency of a word is that in
the whole text. So the row of a dialogue holds what it *adds* to the dialogues before it, which sums to the exact
figure, and in a companion column ``X_own`` what the text would lose without it, from which the delete-one-dialogue
jackknife is exact.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache, partial
from typing import Any

import numpy as np
import pandas as pd

from dialogeval.exceptions import UnknownNameError, UsageError, show
from dialogeval.metrics import Metric, Sums, TextPair, by_key, ratio, share
from dialogeval.metrics.ngrams import encode, ngram_codes, spread
from dialogeval.metrics.text import check_texts, count_types, same_length
from dialogeval.placeholders import canonical_names, canonicalize_placeholders, names_pattern

#: How labels and dialogues are averaged, named as in scikit-learn; the first is the default.
AVERAGES = ("micro", "macro", "samples", "weighted")
_SCORES = {"precision": "precision", "recall": "recall", "f1": "F1"}


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
    sides = []
    for name, side in (("response", response_dialogues), ("reference", reference_dialogues)):
        if isinstance(side, (str, bytes, Mapping)) or not isinstance(side, Iterable):
            expected = "a list of dialogues, each a list of strings"
            raise UsageError(f"{name}_dialogues", expected=expected, got=show(side))
        dialogues = [check_texts(f"{name}_dialogues, dialogue {i}", texts) for i, texts in enumerate(side)]
        # Bracketed placeholders of any style are read as well: left alone, they would all count as absent.
        sides.append(["\n".join(canonicalize_placeholders(texts)[0]) for texts in dialogues])
    responses, references = sides
    same_length(responses, references, "dialogue")
    pair = TextPair([str(i) for i in range(len(responses))], [0] * len(responses), references, responses)
    sums = dict(goal_counts(pair, None if labels is None else tuple(labels)).sum())
    return {score: float(_value(average, score, sums)) for score in _SCORES}


def goal_labels(texts: Iterable[str], labels: Iterable[str] | None = None) -> set[str]:
    """Return the placeholder names that stand in the utterances of one dialogue, as whole words."""
    find = names_pattern(canonical_names() if labels is None else labels).findall
    return {name for text in texts for name in find(text)}


def goal_counts(pair: TextPair, labels: Sequence[str] | None = None) -> pd.DataFrame:
    """Count mentioned placeholder names by dialogue: right, invented and missed ones, label by label."""
    labels = canonical_names() if labels is None else labels
    column = {label: i for i, label in enumerate(labels)}
    dialogue, ids = pd.factorize(pd.Series(pair.dialogue_id, dtype="str"))
    find = cache(names_pattern(labels).findall)

    def mentioned(texts: Iterable[str]) -> np.ndarray:
        matrix = np.zeros((len(ids), len(labels)), dtype=bool)
        for row, text in zip(dialogue.tolist(), texts, strict=True):
            matrix[row, [column[name] for name in find(text)]] = True
        return matrix

    responses, references = mentioned(pair.responses), mentioned(pair.references)
    sides = {"tp": responses & references, "fp": responses & ~references, "fn": references & ~responses}
    counts = {
        f"goal_{kind}_{label}": hits[:, i].astype("int64")
        for kind, hits in sides.items()
        for i, label in enumerate(labels)
    }
    rates = _rates(*(hits.sum(axis=1) for hits in sides.values()))
    counts |= {f"goal_samples_{score}": rates[score] for score in _SCORES}
    index = pd.Index(ids, dtype="str", name="dialogue_id")
    return pd.DataFrame(counts, index=index).assign(goal_dialogues=1)


def _rates(tp: Any, fp: Any, fn: Any) -> dict[str, Any]:
    f1 = ratio(2 * tp, 2 * tp + fp + fn)
    return {"precision": ratio(tp, tp + fp), "recall": ratio(tp, tp + fn), "f1": f1}


def _value(average: str, score: str, sums: Sums) -> Any:
    """One score in per cent from sums of counts, or from arrays of them."""
    if average == "samples":
        return 100 * ratio(sums[f"goal_samples_{score}"], sums["goal_dialogues"])
    # Labels are read off the columns: a user's names may be others than ours.
    tp, fp, fn = (
        np.array([sums[key] for key in dict(sums) if key.startswith(f"goal_{kind}_")], dtype=float)
        for kind in ("tp", "fp", "fn")
    )
    if average == "micro":
        return 100 * _rates(tp.sum(axis=0), fp.sum(axis=0), fn.sum(axis=0))[score]
    # A label that occurs nowhere has weight 0 in both averages.
    weight = tp + fn if average == "weighted" else (tp + fp + fn > 0).astype(float)
    return 100 * ratio((_rates(tp, fp, fn)[score] * weight).sum(axis=0), weight.sum(axis=0))


_goal = partial(
    Metric,
    counts=goal_counts,
    unit="per cent",
    source="Lai et al. 2019; evaluation card MultiWOZ generation",
    task="text",
)
#: The goal metrics by key.
GOAL_METRICS = by_key(
    *(
        _goal(f"goal_{score}{key}", f"goal {name}{label}", value=partial(_value, average, score))
        for average in AVERAGES
        for key, label in [("", "") if average == "micro" else (f"_{average}", f" ({average})")]
        for score, name in _SCORES.items()
    )
)


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
    dialogue, ids = pd.factorize(pd.Series(pair.dialogue_id, dtype="str").take(order))
    # A text said twice is split once: real systems repeat themselves a lot.
    utterances, distinct = pd.factorize(np.array(list(pair.responses), dtype=object)[order])
    codes, lengths = spread(utterances, *encode(distinct, richness_tokens))
    n, owner = len(ids), np.repeat(dialogue, lengths)
    grams = {size: ngram_codes(codes, lengths, size) for size in (1, 2, 3)}
    types = [count_types(f"rich_{size}", g, dialogue[text], n) for size, (g, text) in grams.items()]
    # A token that is not the last of its utterance begins a bigram.
    heads = np.ones(len(codes), "int64")
    heads[np.cumsum(lengths)[lengths > 0] - 1] = 0
    bigrams, text = grams[2]
    columns = {
        "rich_turns": np.bincount(dialogue, minlength=n),
        "rich_tokens": np.bincount(owner, minlength=n),
        **{name: column for counts in types for name, column in counts.items() if "_types" in name},
        **_log_sums("rich_words", codes, owner, n),
        **_log_sums("rich_bigrams", bigrams, dialogue[text], n),
        **_log_sums("rich_given", codes, owner, n, heads),
        **_windows(codes, owner, n),
    }
    return pd.DataFrame(columns, index=pd.Index(ids, dtype="str", name="dialogue_id"))


def _log_sums(
    name: str, items: np.ndarray, dialogue: np.ndarray, n: int, weight: np.ndarray | int = 1
) -> dict[str, np.ndarray]:
    """Σ over items of w·log2 c, c being an item's count and w its weight: added by a dialogue, and lost without it."""
    rows = pd.DataFrame({"item": items, "dialogue": dialogue, "count": 1, "weight": weight})
    own = rows.groupby(["item", "dialogue"]).sum()
    owner, by_item = own.index.get_level_values("dialogue"), own.groupby("item")

    def change(now: pd.DataFrame) -> np.ndarray:
        terms = [f["weight"] * np.log2(np.maximum(f["count"], 1)) for f in (now, now - own)]
        return np.bincount(owner, weights=terms[0] - terms[1], minlength=n)

    return {name: change(by_item.cumsum()), f"{name}_own": change(by_item.transform("sum"))}


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


def _entropy(sums: Sums) -> Any:
    tokens = np.maximum(np.asarray(sums["rich_tokens"], dtype=float), 1)
    return np.log2(tokens) - sums["rich_words"] / tokens


def _conditional_entropy(sums: Sums) -> Any:
    return ratio(sums["rich_given"] - np.asarray(sums["rich_bigrams"]), sums["rich_tokens"])


def _types(size: int, sums: Sums) -> Any:
    return sums[f"rich_{size}_types"]


_rich = partial(
    Metric,
    counts=richness_counts,
    source="Nekvinda & Dušek 2021 (MultiWOZ_Evaluation), arXiv:2106.05555",
    task="text",
    additive=False,
)
_jackknifed = partial(_rich, resample="jackknife")
_LENGTH = share("rich_tokens", "rich_turns")
# Less than a window of text has no such ratio, which is not the same as a ratio of 0.
_MSTTR = share("rich_ratios", "rich_windows", empty=float("nan"))
#: The metrics of richness by key.
RICHNESS_METRICS = by_key(
    _rich("avg_length", "Average length", value=_LENGTH, unit="tokens", better="neither"),
    *(
        _jackknifed(f"unique_{n}grams", f"Unique {n}-grams", value=partial(_types, n), unit="types")
        for n in (1, 2, 3)
    ),
    _jackknifed("entropy", "Entropy", value=_entropy, unit="bits"),
    _jackknifed("cond_bigram_entropy", "Conditional entropy", value=_conditional_entropy, unit="bits"),
    _rich(f"msttr_{WINDOW}", f"MSTTR-{WINDOW}", value=_MSTTR, resample="none"),
)

"""Scores of responses against references as text: the BLEU family; and diversity beside it.

In goes a `TextPair`, or two plain lists of strings; out come per cent. The corpus scores follow
NLTK's ``corpus_bleu`` and sacreBLEU's corpus score to the last digit, the sentence scores NLTK's
``sentence_bleu``. All of NLTK's definitions come from one pass over the n-grams.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from ..exceptions import UnknownNameError, UsageError, show
from . import Metric, Sums, ratio
from .diversity import DIVERSITY_METRICS
from .ngrams import MAX_ORDER, count_segments, distinct_segments
from .pairs import TextPair
from .tokens import check_texts, same_length

__all__ = [
    "TEXT_METRICS",
    "bleu",
    "bleu_counts",
    "sacrebleu_counts",
    "sacrebleu_score",
    "sacrebleu_signature",
    "sentence_bleu_mean",
]

_ORDERS = range(1, MAX_ORDER + 1)
#: What NLTK adds to a numerator of 0 under ``SmoothingFunction().method1``.
_EPSILON = 0.1
_SMOOTHINGS = {"method1": "bleu_4_sentence", "none": "bleu_4_card"}


def bleu(
    responses: Sequence[str], references: Sequence[str], max_order: int = 4, tokenizer: str = "space"
) -> float:
    """Corpus BLEU with uniform weights over 1..max_order and no smoothing, as NLTK computes it.

    Parameters
    ----------
    responses, references : sequence of str, length n
        One response and its one reference a turn.
    max_order : {1, 2, 3, 4}, default=4
    tokenizer : {"space", "13a", "zh", "char"}, default="space"

    Returns
    -------
    float
        Per cent; equal to 100 times ``nltk.translate.bleu_score.corpus_bleu``, which counts a
        denominator of at least 1 per segment: a response of fewer than four tokens lowers BLEU-4.

    Raises
    ------
    UsageError, PredictionError
        Sides of different length; a string, null or token list where a list of strings is meant.

    Notes
    -----
    Papineni et al. 2002, "BLEU: a method for automatic evaluation of machine translation", ACL.

    Examples
    --------
    >>> round(bleu(["the hotel NAME is in the AREA"], ["the hotel NAME is in AREA"]), 2)
    64.35
    >>> bleu(["the hotel"], ["the hotel"], max_order=1)
    100.0
    """
    if max_order not in _ORDERS:
        raise UsageError("max_order", expected="1, 2, 3 or 4", got=show(max_order))
    sums = _sums(bleu_counts(_pair(responses, references, tokenizer)))
    return float(TEXT_METRICS[f"bleu_{max_order}"].value(sums))


def sentence_bleu_mean(
    responses: Sequence[str], references: Sequence[str], smoothing: str = "method1", tokenizer: str = "space"
) -> float:
    """Mean over turns of sentence BLEU-4 with equal weights, as NLTK's ``sentence_bleu`` computes it.

    Parameters
    ----------
    responses, references : sequence of str, length n
    smoothing : {"method1", "none"}, default="method1"
        ``method1`` is `bleu_4_sentence`; ``none`` is the evaluation card's recipe, `bleu_4_card`.
    tokenizer : {"space", "13a", "zh", "char"}, default="space"

    Returns
    -------
    float
        Per cent.

    Raises
    ------
    UsageError, PredictionError
        As `bleu`; an unknown smoothing.

    Examples
    --------
    >>> round(sentence_bleu_mean(["i have NAME"], ["i have NAME for you"]), 2)
    28.87
    >>> round(sentence_bleu_mean(["i have NAME"], ["i have NAME for you"], smoothing="none"), 2)
    0.0
    """
    if smoothing not in _SMOOTHINGS:
        raise UnknownNameError("smoothing", smoothing, _SMOOTHINGS)
    sums = _sums(bleu_counts(_pair(responses, references, tokenizer)))
    return float(TEXT_METRICS[_SMOOTHINGS[smoothing]].value(sums))


def sacrebleu_score(responses: Sequence[str], references: Sequence[str], tokenizer: str = "13a") -> float:
    """sacreBLEU's corpus score with its default settings.

    Parameters
    ----------
    responses, references : sequence of str, length n
    tokenizer : {"13a", "space", "zh", "char"}, default="13a"
        ``space`` is what sacreBLEU calls ``none``.

    Returns
    -------
    float
        Per cent; equal to ``sacrebleu.corpus_bleu(responses, [references]).score``.

    Raises
    ------
    UsageError, PredictionError
        As `bleu`.

    Notes
    -----
    Post 2018, "A call for clarity in reporting BLEU scores", WMT.

    Examples
    --------
    >>> round(sacrebleu_score(["the hotel is in the AREA."], ["the hotel is in AREA."]), 2)
    48.89
    """
    pair = _pair(responses, references, tokenizer)
    return float(_sacrebleu_value(_sums(_sacrebleu_frame(pair, tokenizer))))


def sacrebleu_signature(tokenizer: str = "space") -> str:
    """Return the signature that sacreBLEU prints for the score `sacrebleu` of a pair.

    Parameters
    ----------
    tokenizer : str, default="space"
        Tokenisation of the pair, see `sacrebleu_counts`.

    Returns
    -------
    str

    Examples
    --------
    >>> sacrebleu_signature()
    'nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:...'
    """
    from sacrebleu.metrics import BLEU

    metric = BLEU(tokenize=_sacrebleu_tokenizer(tokenizer))
    # sacreBLEU knows the number of references only after it has scored something.
    metric.corpus_score(["a"], [["a"]])
    return str(metric.get_signature())


def bleu_counts(pair: TextPair) -> pd.DataFrame:
    """Count what NLTK's BLEU scores are made of.

    Parameters
    ----------
    pair : TextPair

    Returns
    -------
    pandas.DataFrame
        Indexed by (dialogue_id, turn). ``bleu_match_n`` and ``bleu_total_n`` (n = 1..4): clipped
        matches and n-grams of the response, the latter at least 1 as in NLTK;
        ``bleu_response_length``, ``bleu_reference_length`` in tokens; ``bleu_sentence`` and
        ``bleu_card``: the turn's own BLEU-4 as a fraction, with ``method1`` and without smoothing;
        ``bleu_turns``: 1.

    Examples
    --------
    >>> pair = TextPair(["d"], [0], ["the cat sat"], ["the the cat"])
    >>> bleu_counts(pair).loc[("d", 0), ["bleu_match_1", "bleu_total_1", "bleu_total_4"]].tolist()
    [2, 3, 1]
    """
    responses, references, inverse = distinct_segments(list(pair.responses), list(pair.references))
    counts = count_segments(responses, references, pair.tokenizer)
    columns = _columns("bleu", {**counts, "total": np.maximum(counts["total"], 1)})
    columns["bleu_sentence"] = _bleu_fraction(columns, MAX_ORDER, smoothing="method1")
    columns["bleu_card"] = _bleu_fraction(columns, MAX_ORDER, smoothing="none")
    columns["bleu_turns"] = np.ones(len(responses), dtype=np.int64)
    return pd.DataFrame({name: column[inverse] for name, column in columns.items()}, index=pair.index)


def sacrebleu_counts(pair: TextPair) -> pd.DataFrame:
    """Count what sacreBLEU's corpus score is made of.

    Parameters
    ----------
    pair : TextPair
        Texts are tokenised by sacreBLEU's 13a, whatever stands between spaces; with
        ``tokenizer="zh"`` or ``"char"`` by that tokeniser, because 13a cannot split Chinese.

    Returns
    -------
    pandas.DataFrame
        Indexed by (dialogue_id, turn): ``sacrebleu_match_n``, ``sacrebleu_total_n`` (n = 1..4),
        ``sacrebleu_response_length``, ``sacrebleu_reference_length``.

    Examples
    --------
    >>> pair = TextPair(["d"], [0], ["the cat."], ["a cat."])
    >>> int(sacrebleu_counts(pair)["sacrebleu_match_2"].sum())
    1
    """
    return _sacrebleu_frame(pair, _sacrebleu_tokenizer(pair.tokenizer))


# Helpers ------------------------------------------------------------------------------------------


def _pair(responses: Sequence[str], references: Sequence[str], tokenizer: str) -> TextPair:
    """Check two plain lists and set them side by side as turns of one dialogue."""
    responses, references = check_texts("responses", responses), check_texts("references", references)
    same_length(responses, references)
    return TextPair([""] * len(responses), range(len(responses)), references, responses, tokenizer)


def _sums(counts: pd.DataFrame) -> dict[str, Any]:
    return {str(name): total for name, total in counts.sum().items()}


def _columns(prefix: str, counts: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Name the columns of a segment's counts."""
    columns = {f"{prefix}_match_{n}": counts["match"][:, n - 1] for n in _ORDERS}
    columns |= {f"{prefix}_total_{n}": counts["total"][:, n - 1] for n in _ORDERS}
    return columns | {
        f"{prefix}_{side}_length": counts[f"{side}_length"] for side in ("response", "reference")
    }


def _sacrebleu_tokenizer(tokenizer: str) -> str:
    return "13a" if tokenizer == "space" else tokenizer


def _sacrebleu_frame(pair: TextPair, tokenizer: str) -> pd.DataFrame:
    responses, references, inverse = distinct_segments(list(pair.responses), list(pair.references))
    columns = _columns("sacrebleu", count_segments(responses, references, tokenizer))
    return pd.DataFrame({name: column[inverse] for name, column in columns.items()}, index=pair.index)


def _bleu_fraction(sums: Sums, max_order: int, smoothing: str) -> Any:
    """NLTK's BLEU in [0, 1] from sums of counts, or from arrays of them."""
    # NLTK stands the smallest float in for a precision of 0: the score is tiny, not 0.
    logs: Any = 0.0
    for n in range(1, max_order + 1):
        match = np.asarray(sums[f"bleu_match_{n}"], dtype=float)
        total = np.maximum(np.asarray(sums[f"bleu_total_{n}"], dtype=float), 1)
        substitute = _EPSILON / total if smoothing == "method1" else sys.float_info.min
        logs = logs + np.log(np.where(match > 0, match / total, substitute)) / max_order
    # Without a common word NLTK returns 0 before it smooths.
    found = np.asarray(sums["bleu_match_1"]) > 0
    penalty = _brevity_penalty(sums["bleu_response_length"], sums["bleu_reference_length"])
    return np.where(found, penalty * np.exp(logs), 0.0)[()]


def _brevity_penalty(response_length: Any, reference_length: Any) -> Any:
    """1, or exp(1 - reference/response) where the responses are shorter; 0 for no token at all."""
    response, reference = np.asarray(response_length, dtype=float), np.asarray(reference_length, dtype=float)
    penalty = np.exp(np.minimum(1 - ratio(reference, response, empty=1.0), 0.0))
    return np.where(response > 0, penalty, 0.0)


def _bleu_value(max_order: int, sums: Sums) -> Any:
    return 100 * _bleu_fraction(sums, max_order, smoothing="none")


def _mean_value(column: str, sums: Sums) -> Any:
    return 100 * ratio(sums[column], sums["bleu_turns"])


def _sacrebleu_value(sums: Sums) -> Any:
    """sacreBLEU's score with its ``exp`` smoothing: the k-th order without a match counts 1/2**k."""
    logs: Any = 0.0
    halvings: Any = 0.0
    possible: Any = False
    for n in _ORDERS:
        match = np.asarray(sums[f"sacrebleu_match_{n}"], dtype=float)
        total = np.asarray(sums[f"sacrebleu_total_{n}"], dtype=float)
        halvings = halvings + (match == 0)
        numerator = np.where(match > 0, match, 0.5**halvings)
        # An order of which the responses have no n-gram at all makes the whole score 0.
        logs = logs + np.log(ratio(numerator, total, empty=1.0)) / MAX_ORDER
        possible = (match > 0) if n == 1 else possible & (total > 0)
    penalty = _brevity_penalty(sums["sacrebleu_response_length"], sums["sacrebleu_reference_length"])
    return np.where(possible, 100 * penalty * np.exp(logs), 0.0)[()]


def _bleu_metric(
    key: str, label: str, value: Callable[[Sums], Any], source: str, counts: Callable = bleu_counts
) -> Metric:
    return Metric(
        key=key, label=label, counts=counts, value=value, unit="per cent", source=source, task="text"
    )


_NLTK = "Papineni et al. 2002; NLTK"
_BLEU_METRICS = [
    *(
        _bleu_metric(f"bleu_{n}", f"BLEU-{n}", partial(_bleu_value, n), f"{_NLTK} corpus_bleu")
        for n in _ORDERS
    ),
    _bleu_metric(
        "bleu_4_sentence",
        "BLEU-4 (sentence mean)",
        partial(_mean_value, "bleu_sentence"),
        f"{_NLTK} sentence_bleu, method1",
    ),
    _bleu_metric(
        "bleu_4_card",
        "BLEU-4 (card)",
        partial(_mean_value, "bleu_card"),
        "evaluation card MultiWOZ generation (Lai et al. 2019); NLTK sentence_bleu, unsmoothed",
    ),
    _bleu_metric("sacrebleu", "sacreBLEU", _sacrebleu_value, "Post 2018; sacreBLEU", sacrebleu_counts),
]

#: The metrics of text by key, in the order of METRICS.
TEXT_METRICS: dict[str, Metric] = {m.key: m for m in _BLEU_METRICS} | DIVERSITY_METRICS

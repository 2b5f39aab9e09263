"""Scores of responses as text: the BLEU family against references, and the diversity of what is said.

In goes a `TextPair`, or plain lists of strings; out come per cent. The corpus scores follow NLTK's ``corpus_bleu``
and sacreBLEU's corpus score to the last digit, the sentence scores NLTK's ``sentence_bleu``; all of NLTK's
definitions come from one pass over the n-grams.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from dialogeval.exceptions import PredictionError, UnknownNameError, UsageError, show
from dialogeval.metrics import Metric, Sums, TextPair, by_key, ratio, share
from dialogeval.metrics.ngrams import encode, join, longer, ngram_codes, splitter, spread

#: Longest n-gram that is counted.
MAX_ORDER = 4
#: Segments counted at a time: bounds memory, and the hash tables of a block fit into cache.
_BLOCK = 2_000
#: What NLTK adds to a numerator of 0 under ``SmoothingFunction().method1``.
_EPSILON = 0.1
_SMOOTHINGS = {"method1": "bleu_4_sentence", "none": "bleu_4_card"}
_LEVELS = ("ngram", "token")
_OWN = "_own"


def check_texts(name: str, texts: Iterable[Any]) -> list[str]:
    """Check one side of a plain-list call and return it as a list of strings."""
    if isinstance(texts, (str, bytes, Mapping)) or not isinstance(texts, Iterable):
        raise UsageError(name, expected="a list of strings", got=show(texts))
    items = list(texts)
    for i, item in enumerate(items):
        if not isinstance(item, str):
            raise PredictionError(f"{name}, item {i}", expected="a string", got=show(item))
    return items


def same_length(responses: Sequence[Any], references: Sequence[Any], what: str = "turn") -> None:
    """Refuse two sides of different length."""
    if len(responses) != len(references):
        expected, got = f"one response and one reference a {what}", f"{len(responses)} and {len(references)}"
        raise UsageError("responses and references differ in length", expected=expected, got=got)


def _pair(responses: Sequence[str], references: Sequence[str], tokenizer: str) -> TextPair:
    """Check two plain lists and set them side by side as turns of one dialogue."""
    responses, references = check_texts("responses", responses), check_texts("references", references)
    same_length(responses, references)
    return TextPair([""] * len(responses), range(len(responses)), references, responses, tokenizer)


def _score(metric: Metric, pair: TextPair) -> float:
    return float(metric.value(dict(metric.counts(pair).sum())))


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
    if max_order not in range(1, MAX_ORDER + 1):
        raise UsageError("max_order", expected="1, 2, 3 or 4", got=show(max_order))
    return _score(TEXT_METRICS[f"bleu_{max_order}"], _pair(responses, references, tokenizer))


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

    Examples
    --------
    >>> round(sentence_bleu_mean(["i have NAME"], ["i have NAME for you"]), 2)
    28.87
    >>> round(sentence_bleu_mean(["i have NAME"], ["i have NAME for you"], smoothing="none"), 2)
    0.0
    """
    if smoothing not in _SMOOTHINGS:
        raise UnknownNameError("smoothing", smoothing, _SMOOTHINGS)
    return _score(TEXT_METRICS[_SMOOTHINGS[smoothing]], _pair(responses, references, tokenizer))


def sacrebleu_score(responses: Sequence[str], references: Sequence[str], tokenizer: str = "13a") -> float:
    """sacreBLEU's corpus score with its default settings."""
    counts = _segments("sacrebleu", _pair(responses, references, tokenizer), tokenizer)
    return float(_sacrebleu_value(dict(counts.sum())))


def distinct_n(responses: Sequence[str], n: int, per: str = "ngram", tokenizer: str = "space") -> float:
    """Share of distinct n-grams in the generated text; n-grams never cross an utterance.

    Parameters
    ----------
    responses : sequence of str
    n : int
        From 1.
    per : {"ngram", "token"}, default="ngram"
        The denominator: all n-grams, or all tokens as on the evaluation card.
    tokenizer : {"space", "13a", "zh", "char"}, default="space"

    Returns
    -------
    float
        Per cent; 0 for text without n-grams.

    Notes
    -----
    Li et al. 2016, "A diversity-promoting objective function for neural conversation models".

    Examples
    --------
    >>> distinct_n(["a b a b", "a b"], 2)
    50.0
    >>> round(distinct_n(["a b a b", "a b"], 2, per="token"), 2)
    33.33
    """
    if not isinstance(n, (int, np.integer)) or isinstance(n, bool) or n < 1:
        raise UsageError("n", expected="a whole number from 1", got=show(n))
    if per not in _LEVELS:
        raise UnknownNameError("denominator", per, _LEVELS)
    codes, lengths = encode(check_texts("responses", responses), splitter(tokenizer))
    grams, _ = ngram_codes(codes, lengths, n)
    return float(100 * ratio(len(pd.unique(grams)), len(grams) if per == "ngram" else len(codes)))


def distinct_utterances(responses: Sequence[str]) -> float:
    """Share of distinct utterances among the generated ones, compared as they are.

    Parameters
    ----------
    responses : sequence of str

    Returns
    -------
    float
        Per cent; 0 for no utterance.

    Examples
    --------
    >>> distinct_utterances(["hello", "bye", "bye", "bye"])
    50.0
    """
    texts = check_texts("responses", responses)
    return float(100 * ratio(len(set(texts)), len(texts)))


def distinct_segments(
    responses: Sequence[str], references: Sequence[str]
) -> tuple[list[str], list[str], np.ndarray]:
    """Keep each (response, reference) once, because equal pairs have equal counts."""
    numbers: dict[tuple[str, str], int] = {}
    inverse = [numbers.setdefault(pair, len(numbers)) for pair in zip(responses, references, strict=True)]
    return [r for r, _ in numbers], [g for _, g in numbers], np.array(inverse, dtype=np.int64)


def count_segments(
    responses: Sequence[str], references: Sequence[str], tokenizer: str = "space"
) -> dict[str, np.ndarray]:
    """Count lengths and clipped n-gram matches of every segment, orders 1 to 4."""
    blocks = [
        _count_block(responses[i : i + _BLOCK], references[i : i + _BLOCK], tokenizer)
        for i in range(0, max(len(responses), 1), _BLOCK)
    ]
    return {name: np.concatenate([block[name] for block in blocks]) for name in blocks[0]}


def _count_block(
    responses: Sequence[str], references: Sequence[str], tokenizer: str
) -> dict[str, np.ndarray]:
    """Count one block of segments (see `count_segments`)."""
    n = len(responses)
    codes, lengths = encode([*responses, *references], splitter(tokenizer))
    # One text a side of a segment: the responses are texts 0..n-1, the references n..2n-1.
    text = np.repeat(np.arange(2 * n), lengths)
    at = np.arange(len(codes))
    # Coded within its segment from the start: n-grams of different segments are never the same.
    grams = join(text % max(n, 1), codes)
    match = np.zeros((n, MAX_ORDER), dtype=np.int64)
    for order in range(MAX_ORDER):
        if order:
            # Only where both shorter n-grams stand on both sides can the longer one match.
            grams, at, text = longer(grams, at, text)
        size = int(grams.max()) + 1 if len(grams) else 0
        is_response = text < n
        in_response = np.bincount(grams[is_response], minlength=size)
        clipped = np.minimum(in_response, np.bincount(grams[~is_response], minlength=size))
        segment = np.empty(size, dtype=np.int64)
        segment[grams] = text % max(n, 1)
        match[:, order] = np.bincount(segment, weights=clipped, minlength=n)
        alive = np.flatnonzero(clipped[grams])
        at, text, grams = at[alive], text[alive], grams[alive]
    total = np.maximum(lengths[:n, None] - np.arange(MAX_ORDER), 0)
    sides = {"response_length": lengths[:n], "reference_length": lengths[n:]}
    return {**sides, "match": match, "total": total}


def _segments(prefix: str, pair: TextPair, tokenizer: str, least: int = 0) -> pd.DataFrame:
    """Count by turn; equal pairs of texts are counted once, a denominator is at least ``least``."""
    responses, references, inverse = distinct_segments(list(pair.responses), list(pair.references))
    counts = count_segments(responses, references, tokenizer)
    counts["total"] = np.maximum(counts["total"], least)
    orders = ((part, n) for part in ("match", "total") for n in range(MAX_ORDER))
    columns = {f"{prefix}_{part}_{n + 1}": counts[part][inverse, n] for part, n in orders}
    columns |= {f"{prefix}_{side}": counts[side][inverse] for side in ("response_length", "reference_length")}
    return pd.DataFrame(columns, index=pair.index)


def bleu_counts(pair: TextPair) -> pd.DataFrame:
    """Count what NLTK's BLEU scores are made of."""
    counts = _segments("bleu", pair, pair.tokenizer, least=1)
    sentence = {name: _bleu_fraction(counts, MAX_ORDER, name) for name in _SMOOTHINGS}
    return counts.assign(bleu_sentence=sentence["method1"], bleu_card=sentence["none"], bleu_turns=1)


def sacrebleu_counts(pair: TextPair) -> pd.DataFrame:
    """Count what sacreBLEU's corpus score is made of."""
    return _segments("sacrebleu", pair, "13a" if pair.tokenizer == "space" else pair.tokenizer)


def _bleu_fraction(sums: Any, max_order: int, smoothing: str) -> Any:
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


def _sacrebleu_value(sums: Sums) -> Any:
    """sacreBLEU's score with its ``exp`` smoothing: the k-th order without a match counts 1/2**k."""
    logs: Any = 0.0
    halvings: Any = 0.0
    possible: Any = False
    for n in range(1, MAX_ORDER + 1):
        match = np.asarray(sums[f"sacrebleu_match_{n}"], dtype=float)
        total = np.asarray(sums[f"sacrebleu_total_{n}"], dtype=float)
        halvings = halvings + (match == 0)
        numerator = np.where(match > 0, match, 0.5**halvings)
        # An order of which the responses have no n-gram at all makes the whole score 0.
        logs = logs + np.log(ratio(numerator, total, empty=1.0)) / MAX_ORDER
        possible = (match > 0) if n == 1 else possible & (total > 0)
    penalty = _brevity_penalty(sums["sacrebleu_response_length"], sums["sacrebleu_reference_length"])
    return np.where(possible, 100 * penalty * np.exp(logs), 0.0)[()]


def distinct_counts(pair: TextPair) -> pd.DataFrame:
    """Count n-grams, utterances and their types by dialogue."""
    dialogue, ids = pd.factorize(pd.Series(pair.dialogue_id, dtype="str"))
    texts = list(pair.responses)
    # A text said twice is split once: real systems repeat themselves a lot.
    utterances, distinct = pd.factorize(np.array(texts, dtype=object))
    codes, lengths = spread(utterances, *encode(distinct, splitter(pair.tokenizer)))
    columns: dict[str, np.ndarray] = {}
    for n in (1, 2):
        grams, text = ngram_codes(codes, lengths, n)
        columns |= count_types(f"distinct_{n}", grams, dialogue[text], len(ids))
    columns |= count_types("distinct_utterances", utterances, dialogue, len(ids))
    return pd.DataFrame(columns, index=pd.Index(ids, dtype="str", name="dialogue_id"))


def count_types(
    name: str, items: np.ndarray, dialogue: np.ndarray, n_dialogues: int
) -> dict[str, np.ndarray]:
    """Count items, first occurrences of types and types of its own, by dialogue."""
    width = max(n_dialogues, 1)
    seen = pd.unique(items.astype(np.int64) * width + dialogue)
    types, owners = seen // width, seen % width
    own = np.bincount(types)[types] == 1
    # pd.unique keeps the order of appearance, so the first mention of a type is its first dialogue.
    first = ~pd.Series(types).duplicated().to_numpy()
    return {
        f"{name}_total": np.bincount(dialogue, minlength=n_dialogues),
        f"{name}_types": np.bincount(owners[first], minlength=n_dialogues),
        f"{name}_types{_OWN}": np.bincount(owners[own], minlength=n_dialogues),
    }


def delete_one_sums(counts: pd.DataFrame) -> dict[str, np.ndarray]:
    """Sum every column without one dialogue, for each dialogue in turn: what a jackknife needs."""
    names = list(map(str, counts.columns))
    lost = {c: c + _OWN if c + _OWN in names else c for c in names if not c.endswith(_OWN)}
    return {c: counts[c].sum() - counts[own].to_numpy() for c, own in lost.items()}


_NLTK, _CARD = "Papineni et al. 2002; NLTK", "evaluation card MultiWOZ generation (Lai et al. 2019)"
_text = partial(Metric, unit="per cent", task="text")
_bleu = partial(_text, counts=bleu_counts)
_diversity = partial(_text, counts=distinct_counts, resample="jackknife", additive=False)

#: The diversity metrics by key; their intervals are delete-one-dialogue jackknives.
DIVERSITY_METRICS = by_key(
    *(
        _diversity(
            key, label, value=share(f"distinct_{types}_types", f"distinct_{whole}_total", 100), source=source
        )
        for key, label, types, whole, source in (
            ("distinct_1", "D-1", "1", "1", "Li et al. 2016"),
            ("distinct_2", "D-2", "2", "2", "Li et al. 2016"),
            ("distinct_2_per_token", "D-2 (per token)", "2", "1", _CARD),
            ("distinct_utterances", "D-U", "utterances", "utterances", _CARD),
        )
    )
)
#: The metrics of text by key, in the order of METRICS.
TEXT_METRICS = by_key(
    *(
        _bleu(f"bleu_{n}", f"BLEU-{n}", value=partial(_bleu_value, n), source=f"{_NLTK} corpus_bleu")
        for n in range(1, MAX_ORDER + 1)
    ),
    *(
        _bleu(key, label, value=share(column, "bleu_turns", 100), source=source)
        for key, label, column, source in (
            ("bleu_4_sentence", "BLEU-4 (sentence mean)", "bleu_sentence", f"{_NLTK} sentence_bleu, method1"),
            ("bleu_4_card", "BLEU-4 (card)", "bleu_card", f"{_CARD}; NLTK sentence_bleu, unsmoothed"),
        )
    ),
    _text("sacrebleu", "sacreBLEU", sacrebleu_counts, _sacrebleu_value, source="Post 2018; sacreBLEU"),
    *DIVERSITY_METRICS.values(),
)

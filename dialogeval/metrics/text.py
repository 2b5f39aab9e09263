"""Scores of responses against references as text: the BLEU family; and diversity beside it.

In goes a `TextPair`, or two plain lists of strings; out come per cent. The corpus scores follow
NLTK's ``corpus_bleu`` and sacreBLEU's corpus score to the last digit, the sentence scores NLTK's
``sentence_bleu``. All of NLTK's definitions come from one pass over the n-grams.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, partial
from itertools import chain, count
from typing import Any

import numpy as np
import pandas as pd

from dialogeval.exceptions import PredictionError, UnknownNameError, UsageError, show
from dialogeval.metrics import Metric, Sums, TextPair, ratio

#: Names of the tokenisations; all but ``space`` are sacreBLEU's own.
TOKENIZERS = ("space", "13a", "zh", "char")


def check_texts(name: str, texts: Iterable[Any]) -> list[str]:
    """Check one side of a plain-list call and return it as a list of strings."""
    if isinstance(texts, (str, bytes, dict)) or not hasattr(texts, "__iter__"):
        mend = "put it in a list" if isinstance(texts, str) else None
        raise UsageError(name, expected="a list of strings", got=show(texts), mend=mend)
    items = list(texts)
    # One pass in C over the types; which item is wrong is looked for only if one is.
    if set(map(type, items)) - {str}:
        for i, item in enumerate(items):
            if not isinstance(item, str):
                tokens = isinstance(item, (list, tuple)) and all(isinstance(t, str) for t in item)
                mend = "join the tokens with spaces" if tokens else None
                raise PredictionError(f"{name}, item {i}", expected="a string", got=show(item), mend=mend)
    return items


def same_length(responses: Sequence[Any], references: Sequence[Any], what: str = "turn") -> None:
    """Refuse two sides of different length."""
    if len(responses) != len(references):
        raise UsageError(
            "responses and references differ in length",
            expected=f"one response and one reference a {what}",
            got=f"{len(responses)} and {len(references)}",
        )


def splitter(name: str) -> Callable[[str], list[str]]:
    """Return the function that splits a text into tokens."""
    if name not in TOKENIZERS:
        raise UnknownNameError("tokenizer", name, TOKENIZERS)
    if name == "space":
        return str.split
    return _sacrebleu_splitter(name)


def encode(texts: Iterable[str], tokenizer: str = "space") -> tuple[np.ndarray, np.ndarray]:
    """Code the tokens of texts as integers."""
    split = splitter(tokenizer)
    lengths: list[int] = []
    vocabulary: defaultdict[str, int] = defaultdict(count().__next__)

    def token_lists() -> Iterator[list[str]]:
        for text in texts:
            tokens = split(text)
            lengths.append(len(tokens))
            yield tokens

    codes = np.fromiter(map(vocabulary.__getitem__, chain.from_iterable(token_lists())), dtype=np.int64)
    return codes, np.array(lengths, dtype=np.int64)


@cache
def _sacrebleu_splitter(name: str) -> Callable[[str], list[str]]:
    """One tokeniser a process: it remembers its texts, so references are tokenised once for all systems."""
    from sacrebleu.metrics import BLEU

    tokenize = BLEU(tokenize=name).tokenizer
    # sacreBLEU strips the end of a segment before it tokenises; 13a is sensitive to a last newline.
    return lambda text: tokenize(text.rstrip()).split()


#: Longest n-gram that is counted.
MAX_ORDER = 4

#: Segments counted at a time: bounds memory, and the hash tables of a block fit into cache.
_BLOCK = 2_000


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


def ngram_codes(codes: np.ndarray, lengths: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Code the n-grams of texts as integers; none crosses the end of its text."""
    text = np.repeat(np.arange(len(lengths)), lengths)
    at = np.arange(len(codes))
    grams = codes
    for _ in range(n - 1):
        inside = np.flatnonzero((at[1:] == at[:-1] + 1) & (text[1:] == text[:-1]))
        grams = _join(grams[inside], grams[inside + 1])
        at, text = at[inside], text[inside]
    return grams, text


def _count_block(
    responses: Sequence[str], references: Sequence[str], tokenizer: str
) -> dict[str, np.ndarray]:
    """Count one block of segments (see `count_segments`)."""
    n = len(responses)
    codes, lengths = encode([*responses, *references], tokenizer)
    # One text a side of a segment: the responses are texts 0..n-1, the references n..2n-1.
    text = np.repeat(np.arange(2 * n), lengths)
    at = np.arange(len(codes))
    # Coded within its segment from the start: n-grams of different segments are never the same.
    grams = _join(text % max(n, 1), codes)
    match = np.zeros((n, MAX_ORDER), dtype=np.int64)
    for order in range(MAX_ORDER):
        if order:
            # Only where both shorter n-grams stand on both sides can the longer one match.
            inside = np.flatnonzero((at[1:] == at[:-1] + 1) & (text[1:] == text[:-1]))
            grams = _join(grams[inside], grams[inside + 1])
            at, text = at[inside], text[inside]
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


def _join(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Give each distinct pair of codes a code of its own, numbered from 0."""
    # Codes are below the number of tokens, so the product stays far below 2**63.
    width = int(second.max()) + 1 if len(second) else 1
    return pd.factorize(first * width + second)[0].astype(np.int64, copy=False)


_OWN = "_own"
_LEVELS = ("ngram", "token")


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

    Raises
    ------
    UsageError, PredictionError
        ``n`` or ``per`` is not one of those; no list of strings.

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
    codes, lengths = encode(check_texts("responses", responses), tokenizer)
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

    Raises
    ------
    UsageError, PredictionError
        No list of strings.

    Examples
    --------
    >>> distinct_utterances(["hello", "bye", "bye", "bye"])
    50.0
    """
    texts = check_texts("responses", responses)
    return float(100 * ratio(len(set(texts)), len(texts)))


def distinct_counts(pair: TextPair) -> pd.DataFrame:
    """Count n-grams, utterances and their types by dialogue."""
    dialogue, ids = pd.factorize(pd.Series(pair.dialogue_id, dtype="str"))
    texts = list(pair.responses)
    # A text said twice is split once: real systems repeat themselves a lot.
    utterances, distinct = pd.factorize(np.array(texts, dtype=object))
    codes, lengths = spread(utterances, *encode(list(distinct), pair.tokenizer))
    columns: dict[str, np.ndarray] = {}
    for n in (1, 2):
        grams, text = ngram_codes(codes, lengths, n)
        columns |= count_types(f"distinct_{n}", grams, dialogue[text], len(ids))
    columns |= count_types("distinct_utterances", utterances, dialogue, len(ids))
    return pd.DataFrame(columns, index=pd.Index(ids, dtype="str", name="dialogue_id"))


def delete_one_sums(counts: pd.DataFrame) -> dict[str, np.ndarray]:
    """Sum every column without one dialogue, for each dialogue in turn: what a jackknife needs."""
    names = list(map(str, counts.columns))
    lost = {c: c + _OWN if c + _OWN in names else c for c in names if not c.endswith(_OWN)}
    return {c: counts[c].sum() - counts[own].to_numpy() for c, own in lost.items()}


# Helpers ------------------------------------------------------------------------------------------


def spread(inverse: np.ndarray, codes: np.ndarray, lengths: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Repeat the tokens of distinct texts for every text that equals one of them."""
    starts = np.cumsum(lengths) - lengths
    repeated = lengths[inverse]
    begins = np.cumsum(repeated) - repeated
    at = np.arange(repeated.sum()) + np.repeat(starts[inverse] - begins, repeated)
    return codes[at], repeated


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


def _share(types: str, total: str, sums: Sums) -> Any:
    return 100 * ratio(sums[types], sums[total])


def _diversity_metric(key: str, label: str, types: str, total: str, source: str) -> Metric:
    return Metric(
        key=key,
        label=label,
        counts=distinct_counts,
        value=partial(_share, types, total),
        unit="per cent",
        better="higher",
        source=source,
        resample="jackknife",
        task="text",
        additive=False,
    )


_CARD = "evaluation card MultiWOZ generation (Lai et al. 2019)"
_ROWS = [
    ("distinct_1", "D-1", "distinct_1_types", "distinct_1_total", "Li et al. 2016"),
    ("distinct_2", "D-2", "distinct_2_types", "distinct_2_total", "Li et al. 2016"),
    ("distinct_2_per_token", "D-2 (per token)", "distinct_2_types", "distinct_1_total", _CARD),
    ("distinct_utterances", "D-U", "distinct_utterances_types", "distinct_utterances_total", _CARD),
]

#: The diversity metrics by key; their intervals are delete-one-dialogue jackknives.
DIVERSITY_METRICS: dict[str, Metric] = {row[0]: _diversity_metric(*row) for row in _ROWS}


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
    """sacreBLEU's corpus score with its default settings."""
    pair = _pair(responses, references, tokenizer)
    return float(_sacrebleu_value(_sums(_sacrebleu_frame(pair, tokenizer))))


def sacrebleu_signature(tokenizer: str = "space") -> str:
    """Return the signature that sacreBLEU prints for the score `sacrebleu` of a pair."""
    from sacrebleu.metrics import BLEU

    metric = BLEU(tokenize=_sacrebleu_tokenizer(tokenizer))
    # sacreBLEU knows the number of references only after it has scored something.
    metric.corpus_score(["a"], [["a"]])
    return str(metric.get_signature())


def bleu_counts(pair: TextPair) -> pd.DataFrame:
    """Count what NLTK's BLEU scores are made of."""
    responses, references, inverse = distinct_segments(list(pair.responses), list(pair.references))
    counts = count_segments(responses, references, pair.tokenizer)
    columns = _columns("bleu", {**counts, "total": np.maximum(counts["total"], 1)})
    columns["bleu_sentence"] = _bleu_fraction(columns, MAX_ORDER, smoothing="method1")
    columns["bleu_card"] = _bleu_fraction(columns, MAX_ORDER, smoothing="none")
    columns["bleu_turns"] = np.ones(len(responses), dtype=np.int64)
    return pd.DataFrame({name: column[inverse] for name, column in columns.items()}, index=pair.index)


def sacrebleu_counts(pair: TextPair) -> pd.DataFrame:
    """Count what sacreBLEU's corpus score is made of."""
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

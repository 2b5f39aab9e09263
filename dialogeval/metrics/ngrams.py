"""n-grams as integers: clipped matches of a response with its reference, and the types of a text.

In go texts; out come whole numbers: for BLEU one row a segment (a response beside its reference),
for diversity one number an n-gram. An n-gram is coded by joining the code of its first n-1 tokens
with the code of its last n-1 tokens, so every order costs one pass over an array, and an n-gram
never crosses the end of an utterance because the join is not made there.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from .tokens import encode

__all__ = ["MAX_ORDER", "count_segments", "distinct_segments", "ngram_codes"]

#: Longest n-gram that is counted.
MAX_ORDER = 4

#: Segments counted at a time: bounds memory, and the hash tables of a block fit into cache.
_BLOCK = 2_000


def distinct_segments(
    responses: Sequence[str], references: Sequence[str]
) -> tuple[list[str], list[str], np.ndarray]:
    """Keep each (response, reference) once, because equal pairs have equal counts.

    Parameters
    ----------
    responses, references : sequence of str, length n

    Returns
    -------
    responses, references : list of str, length m
        The distinct pairs in the order of their first appearance.
    inverse : ndarray of int64, length n
        Row i of the input is pair ``inverse[i]``.

    Examples
    --------
    >>> distinct_segments(["a", "a", "a"], ["x", "y", "x"])
    (['a', 'a'], ['x', 'y'], array([0, 1, 0]))
    """
    numbers: dict[tuple[str, str], int] = {}
    inverse = [numbers.setdefault(pair, len(numbers)) for pair in zip(responses, references, strict=True)]
    return [r for r, _ in numbers], [g for _, g in numbers], np.array(inverse, dtype=np.int64)


def count_segments(
    responses: Sequence[str], references: Sequence[str], tokenizer: str = "space"
) -> dict[str, np.ndarray]:
    """Count lengths and clipped n-gram matches of every segment, orders 1 to 4.

    Parameters
    ----------
    responses, references : sequence of str, length n
    tokenizer : str, default="space"
        See `dialogeval.metrics.tokens.splitter`.

    Returns
    -------
    dict of str to ndarray of int64
        ``response_length`` and ``reference_length`` of shape (n,); ``match`` of shape (n, 4): the
        response's n-grams that the reference has, each counted at most as often as the reference
        has it; ``total`` of shape (n, 4): all n-grams of the response (0 when it is too short).

    Examples
    --------
    >>> counts = count_segments(["the the cat"], ["the cat sat"])
    >>> counts["match"].tolist(), counts["total"].tolist()
    ([[2, 1, 0, 0]], [[3, 2, 1, 0]])
    """
    blocks = [
        _count_block(responses[i : i + _BLOCK], references[i : i + _BLOCK], tokenizer)
        for i in range(0, max(len(responses), 1), _BLOCK)
    ]
    return {name: np.concatenate([block[name] for block in blocks]) for name in blocks[0]}


def ngram_codes(codes: np.ndarray, lengths: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Code the n-grams of texts as integers; none crosses the end of its text.

    Parameters
    ----------
    codes, lengths : ndarray of int64
        As `dialogeval.metrics.tokens.encode` returns them.
    n : int
        From 1.

    Returns
    -------
    grams : ndarray of int64
        One code an n-gram, in text order; equal n-grams have equal codes.
    text : ndarray of int64, as long
        Number of the text it stands in.

    Examples
    --------
    >>> codes, lengths = encode(["to be or", "not to be"])
    >>> grams, text = ngram_codes(codes, lengths, 2)
    >>> grams.tolist(), text.tolist()
    ([0, 1, 2, 0], [0, 0, 1, 1])
    """
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

"""Tokens and n-grams of texts as integers.

In: texts, and how they are split. Out: arrays of codes; `dialogeval.metrics.text` and
`dialogeval.metrics.goals` count them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from itertools import chain, count

import numpy as np
import pandas as pd

from dialogeval.exceptions import UnknownNameError

#: Names of the tokenisations; all but ``space`` are sacreBLEU's own.
TOKENIZERS = ("space", "13a", "zh", "char")


def splitter(name: str) -> Callable[[str], list[str]]:
    """Return the function that splits a text into tokens."""
    if name not in TOKENIZERS:
        raise UnknownNameError("tokenizer", name, TOKENIZERS)
    return str.split if name == "space" else _sacrebleu_splitter(name)


@cache
def _sacrebleu_splitter(name: str) -> Callable[[str], list[str]]:
    """One tokeniser a process: it remembers its texts, so references are tokenised once for all systems."""
    from sacrebleu.metrics import BLEU

    tokenize = BLEU(tokenize=name).tokenizer
    # sacreBLEU strips the end of a segment before it tokenises; 13a is sensitive to a last newline.
    return lambda text: tokenize(text.rstrip()).split()


def encode(
    texts: Iterable[str], split: Callable[[str], list[str]] = str.split
) -> tuple[np.ndarray, np.ndarray]:
    """Code the tokens of texts as integers; return the codes of all texts, and the length of each."""
    lengths: list[int] = []
    vocabulary: defaultdict[str, int] = defaultdict(count().__next__)

    def token_lists() -> Iterator[list[str]]:
        for text in texts:
            tokens = split(text)
            lengths.append(len(tokens))
            yield tokens

    # Token by token: the strings of a large file are never all there at once.
    codes = np.fromiter(map(vocabulary.__getitem__, chain.from_iterable(token_lists())), dtype=np.int64)
    return codes, np.array(lengths, dtype=np.int64)


def spread(inverse: np.ndarray, codes: np.ndarray, lengths: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Repeat the tokens of distinct texts for every text that equals one of them."""
    starts = np.cumsum(lengths) - lengths
    repeated = lengths[inverse]
    begins = np.cumsum(repeated) - repeated
    at = np.arange(repeated.sum()) + np.repeat(starts[inverse] - begins, repeated)
    return codes[at], repeated


def join(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Give each distinct pair of codes a code of its own, numbered from 0."""
    # Codes are below the number of tokens, so the product stays far below 2**63.
    width = int(second.max()) + 1 if len(second) else 1
    return pd.factorize(first * width + second)[0].astype(np.int64, copy=False)


def longer(grams: np.ndarray, at: np.ndarray, text: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Join neighbouring n-grams of one text to n-grams of one token more; with their places and texts."""
    inside = np.flatnonzero((at[1:] == at[:-1] + 1) & (text[1:] == text[:-1]))
    return join(grams[inside], grams[inside + 1]), at[inside], text[inside]


def ngram_codes(codes: np.ndarray, lengths: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Code the n-grams of texts as integers; none crosses the end of its text."""
    grams, at, text = codes, np.arange(len(codes)), np.repeat(np.arange(len(lengths)), lengths)
    for _ in range(n - 1):
        grams, at, text = longer(grams, at, text)
    return grams, text

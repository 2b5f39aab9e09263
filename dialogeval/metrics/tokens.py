"""Texts to integer codes: what every score over tokens starts from.

In go responses or references as strings and the name of a tokenisation; out come one array of token
codes for all texts together and the number of tokens of each text. Tokens are coded while they are
split, so no list of all token strings ever exists: that is what keeps a million turns in memory.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from itertools import chain, count
from typing import Any

import numpy as np

from ..exceptions import PredictionError, UnknownNameError, UsageError, show

__all__ = ["TOKENIZERS", "check_texts", "encode", "same_length", "splitter"]

#: Names of the tokenisations; all but ``space`` are sacreBLEU's own.
TOKENIZERS = ("space", "13a", "zh", "char")


def check_texts(name: str, texts: Iterable[Any]) -> list[str]:
    """Check one side of a plain-list call and return it as a list of strings.

    Parameters
    ----------
    name : str
        What the caller calls this side ("responses", "references").
    texts : iterable of str
        A list, tuple, array or pandas Series.

    Returns
    -------
    list of str

    Raises
    ------
    UsageError
        One string, a mapping or something that cannot be looped over was passed instead of a list.
    PredictionError
        An item is no string: null, NaN, a list of tokens.

    Examples
    --------
    >>> check_texts("responses", ("hello", "bye"))
    ['hello', 'bye']
    >>> check_texts("responses", "hello")
    Traceback (most recent call last):
    ...
    dialogeval.exceptions.UsageError: responses: expected a list of strings, got a string 'hello'; put it in a list
    """
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
    """Refuse two sides of different length.

    Parameters
    ----------
    responses, references : sequence
    what : str, default="turn"
        What one item stands for.

    Raises
    ------
    UsageError

    Examples
    --------
    >>> same_length(["a"], ["b"])
    """
    if len(responses) != len(references):
        raise UsageError(
            "responses and references differ in length",
            expected=f"one response and one reference a {what}",
            got=f"{len(responses)} and {len(references)}",
        )


def splitter(name: str) -> Callable[[str], list[str]]:
    """Return the function that splits a text into tokens.

    Parameters
    ----------
    name : {"space", "13a", "zh", "char"}
        ``space`` splits on white space like ``str.split()``; the others are sacreBLEU's tokenisers.

    Returns
    -------
    callable
        ``f(text) -> list of str``.

    Raises
    ------
    UnknownNameError

    Examples
    --------
    >>> splitter("space")("a  NAME, please")
    ['a', 'NAME,', 'please']
    >>> splitter("13a")("a NAME, please")
    ['a', 'NAME', ',', 'please']
    """
    if name not in TOKENIZERS:
        raise UnknownNameError("tokenizer", name, TOKENIZERS)
    if name == "space":
        return str.split
    return _sacrebleu_splitter(name)


def encode(texts: Iterable[str], tokenizer: str = "space") -> tuple[np.ndarray, np.ndarray]:
    """Code the tokens of texts as integers.

    Parameters
    ----------
    texts : iterable of str, length n
    tokenizer : str, default="space"
        See `splitter`.

    Returns
    -------
    codes : ndarray of int64, length = tokens of all texts
        Equal tokens have equal codes, numbered from 0 in the order of their first appearance.
    lengths : ndarray of int64, length n
        Tokens of each text.

    Examples
    --------
    >>> codes, lengths = encode(["to be or", "not to be"])
    >>> codes.tolist(), lengths.tolist()
    ([0, 1, 2, 3, 0, 1], [3, 3])
    """
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

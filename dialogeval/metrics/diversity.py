"""Diversity: how many different n-grams or utterances the generated text has for its size.

In goes a `TextPair` (only its responses are looked at), or a plain list of strings; out come per
cent. Types are not additive: a word that two dialogues use is one type. So a dialogue's row holds
the types that appear in it *first*, whose sum is the exact number of types whatever the order of
the dialogues, and the types that *only* it has, which are what the corpus loses without it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from ..exceptions import UnknownNameError, UsageError, show
from . import Metric, Sums, ratio
from .ngrams import ngram_codes
from .pairs import TextPair
from .tokens import check_texts, encode

__all__ = [
    "DIVERSITY_METRICS",
    "count_types",
    "delete_one_sums",
    "distinct_counts",
    "distinct_n",
    "distinct_utterances",
    "spread",
]

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
    """Count n-grams, utterances and their types by dialogue.

    Parameters
    ----------
    pair : TextPair

    Returns
    -------
    pandas.DataFrame
        Indexed by dialogue_id, in the order of first appearance. For X in ``distinct_1``,
        ``distinct_2``, ``distinct_utterances``: ``X_total``, all of them in the dialogue;
        ``X_types``, the types whose first occurrence is in this dialogue; ``X_types_own``, the
        types that no other dialogue has.

    Notes
    -----
    The sums of ``X_total`` and ``X_types`` are exact and do not depend on the order of dialogues.
    Without dialogue d there are ``sum(X_types) - X_types_own[d]`` types and
    ``sum(X_total) - X_total[d]`` n-grams; see `delete_one_sums`. A sum over *some* of the rows is
    no number of types: for a breakdown, count the texts of each group anew.

    Examples
    --------
    >>> pair = TextPair(["d", "e"], [0, 0], ["", ""], ["a b", "a c c"])
    >>> distinct_counts(pair)[["distinct_1_total", "distinct_1_types", "distinct_1_types_own"]]
                 distinct_1_total  distinct_1_types  distinct_1_types_own
    dialogue_id
    d                           2                 2                     1
    e                           3                 1                     1
    """
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
    """Sum every column without one dialogue, for each dialogue in turn: what a jackknife needs.

    Parameters
    ----------
    counts : pandas.DataFrame, one row a dialogue
        Of any metric; a column ``X`` that has a companion ``X_own`` loses the companion's number,
        every other column the row's own number.

    Returns
    -------
    dict of str to ndarray, length = rows
        Sums that ``Metric.value`` takes; entry i leaves out row i. Companions are not among them.

    Examples
    --------
    >>> pair = TextPair(["d", "e"], [0, 0], ["", ""], ["a b", "a c c"])
    >>> sums = delete_one_sums(distinct_counts(pair))
    >>> sums["distinct_1_types"].tolist(), sums["distinct_1_total"].tolist()
    ([2, 2], [3, 2])
    """
    names = list(map(str, counts.columns))
    lost = {c: c + _OWN if c + _OWN in names else c for c in names if not c.endswith(_OWN)}
    return {c: counts[c].sum() - counts[own].to_numpy() for c, own in lost.items()}


# Helpers ------------------------------------------------------------------------------------------


def spread(inverse: np.ndarray, codes: np.ndarray, lengths: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Repeat the tokens of distinct texts for every text that equals one of them.

    Examples
    --------
    >>> codes, lengths = spread(np.array([1, 0, 1]), np.array([7, 8, 9]), np.array([2, 1]))
    >>> codes.tolist(), lengths.tolist()
    ([9, 7, 8, 9], [1, 2, 1])
    """
    starts = np.cumsum(lengths) - lengths
    repeated = lengths[inverse]
    begins = np.cumsum(repeated) - repeated
    at = np.arange(repeated.sum()) + np.repeat(starts[inverse] - begins, repeated)
    return codes[at], repeated


def count_types(
    name: str, items: np.ndarray, dialogue: np.ndarray, n_dialogues: int
) -> dict[str, np.ndarray]:
    """Count items, first occurrences of types and types of its own, by dialogue.

    Examples
    --------
    >>> counts = count_types("x", np.array([7, 7, 8]), np.array([0, 1, 1]), 2)
    >>> {name: column.tolist() for name, column in counts.items()}
    {'x_total': [1, 2], 'x_types': [1, 1], 'x_types_own': [0, 1]}
    """
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

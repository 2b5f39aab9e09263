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
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from . import Metric, Sums, ratio
from .diversity import count_types, spread
from .ngrams import ngram_codes
from .pairs import TextPair

__all__ = ["RICHNESS_METRICS", "WINDOW", "richness_counts", "richness_tokens"]

#: Tokens of a window of the mean segmental type-token ratio.
WINDOW = 50
_DROPPED = ("``", "''", *"'.,?!)(%/-_", "-LRB-", "-RRB-", "SYM", ":", ";")


def richness_tokens(text: str) -> list[str]:
    """Split a normalised response into the tokens that richness is measured on.

    Parameters
    ----------
    text : str

    Returns
    -------
    list of str
        Punctuation dropped, lower case, split on single spaces: a text that begins or ends with a mark
        set off by a space has an empty token there, as in the published scorer.

    Examples
    --------
    >>> richness_tokens("NAME's phone is PHONE .")
    ['names', 'phone', 'is', 'phone', '']
    """
    for dropped in _DROPPED:
        text = text.replace(dropped, "")
    return re.sub(r"\s+", " ", text).lower().split(" ")


def richness_counts(pair: TextPair) -> pd.DataFrame:
    """Count what the scores of richness are made of, by dialogue.

    Parameters
    ----------
    pair : TextPair
        Its dialogues are taken in the order of the prediction file, where it says so.

    Returns
    -------
    pandas.DataFrame
        Indexed by dialogue_id, in that order. ``rich_turns``, ``rich_tokens``; for n = 1..3
        ``rich_n_types`` as in `dialogeval.metrics.diversity.distinct_counts`; ``rich_words`` = Σ c·log2 c
        over words, ``rich_bigrams`` the same over bigrams, ``rich_given`` = Σ c(h,w)·log2 c(h) over
        bigrams; each of the last six with its companion ``_own``. ``rich_ratios``, ``rich_windows``: sum
        and number of the type-token ratios of the windows that begin in the dialogue.

    Notes
    -----
    Windows run across dialogues, so the order of the dialogues moves ``msttr_50`` a little, and leaving
    a dialogue out would shift every window after it: it has no jackknife.

    Examples
    --------
    >>> counts = richness_counts(TextPair(["d", "e"], [0, 0], ["", ""], ["a b", "a c c"]))
    >>> counts[["rich_tokens", "rich_1_types", "rich_1_types_own"]].values.tolist()
    [[2, 2, 1], [3, 1, 1]]
    """
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
_metric = partial(Metric, counts=richness_counts, source=_SOURCE, task="text", additive=False)
_jackknifed = partial(_metric, resample="jackknife")

#: The metrics of richness by key.
RICHNESS_METRICS: dict[str, Metric] = {
    m.key: m
    for m in (
        _metric(
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
        _metric(
            f"msttr_{WINDOW}",
            f"MSTTR-{WINDOW}",
            value=_windows_mean,
            resample="none",
        ),
    )
}

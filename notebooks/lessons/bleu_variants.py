"""Every number that has been called BLEU-4, computed for the same responses and references.

In: `Scores` of a protocol for responses. Out: small tables for lesson 6. Only one of the numbers is the
one that you mean; which one it is has to be said.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np
import pandas as pd

from dialogeval.metrics import ratio
from dialogeval.metrics.text import bleu, count_segments, sacrebleu_score, sentence_bleu_mean
from dialogeval.scoring import Scores

__all__ = ["bleu_numbers", "short_responses"]


def bleu_numbers(scores: Scores) -> pd.DataFrame:
    """Compute every number that has been called BLEU-4 for the same responses and references.

    Parameters
    ----------
    scores : Scores
        Of a protocol for responses.

    Returns
    -------
    pandas.DataFrame
        Indexed by what was done; ``value`` in per cent; ``kind``: ``definition`` (a choice that a
        paper may make, if it says so) or ``slip`` (a mistake that raises no error).

    Examples
    --------
    >>> from dialogeval import load_corpus, load_predictions, score
    >>> mine = load_predictions("sample/predictions/multiwoz/generator_template.json.gz")
    >>> table = bleu_numbers(score(load_corpus("sample/multiwoz"), mine, "lai2019", resamples=0))
    >>> sorted(set(table["kind"]))
    ['definition', 'slip']
    """
    pair = scores.pairs["text"]
    said, wanted = list(pair.responses), list(pair.references)
    tok = pair.tokenizer
    orders = [bleu(said, wanted, n, tok) for n in (1, 2, 3, 4)]
    rows = {
        "corpus, unsmoothed": ("definition", orders[3]),
        "corpus, sacreBLEU (13a)": ("definition", sacrebleu_score(said, wanted, _sacre(tok))),
        "corpus, mean of BLEU-1 to BLEU-4": ("definition", float(np.mean(orders))),
        "sentence mean, unsmoothed": ("definition", sentence_bleu_mean(said, wanted, "none", tok)),
        "sentence mean, smoothing method1": ("definition", sentence_bleu_mean(said, wanted, tokenizer=tok)),
        "sentence mean, smoothing method2": ("definition", _add_one(said, wanted, tok)),
        "sentence mean, precisions averaged": ("definition", _mean_of_orders(said, wanted, tok)),
        "strings passed where tokens are meant": ("slip", bleu(_letters(said), _letters(wanted))),
        "references nested one level short": ("slip", _nested_short(said, wanted)),
        "responses and references exchanged": ("slip", bleu(wanted, said, 4, tok)),
    }
    frame = pd.DataFrame.from_dict(rows, orient="index", columns=["kind", "value"])
    return frame.rename_axis("what is called BLEU-4")


def short_responses(scores: Scores) -> pd.Series:
    """Tell what NLTK's denominator of at least 1 does to responses of fewer than four tokens.

    Parameters
    ----------
    scores : Scores
        Of a protocol for responses.

    Returns
    -------
    pandas.Series
        ``turns shorter than four tokens``; ``denominator of 4-grams, as counted`` and ``…, as NLTK
        counts it``; ``BLEU-4, as counted`` and ``BLEU-4, as NLTK counts it`` in per cent.

    Examples
    --------
    >>> from dialogeval import load_corpus, load_predictions, score
    >>> mine = load_predictions("sample/predictions/multiwoz/generator_bland.json.gz")
    >>> row = short_responses(score(load_corpus("sample/multiwoz"), mine, "lai2019", resamples=0))
    >>> bool(row["BLEU-4, as counted"] >= row["BLEU-4, as NLTK counts it"])
    True
    """
    pair = scores.pairs["text"]
    said, wanted = list(pair.responses), list(pair.references)
    counts = count_segments(said, wanted, pair.tokenizer)
    total, match = counts["total"].sum(axis=0), counts["match"].sum(axis=0)
    nltk_total = np.maximum(counts["total"], 1).sum(axis=0)
    lengths = counts["response_length"].sum(), counts["reference_length"].sum()
    penalty = min(1.0, float(np.exp(1 - ratio(lengths[1], lengths[0], empty=1.0))))
    with np.errstate(divide="ignore"):
        plain = 100 * penalty * float(np.exp(np.log(ratio(match, total)).mean()))
    return pd.Series(
        {
            "turns shorter than four tokens": int((counts["response_length"] < 4).sum()),
            "denominator of 4-grams, as counted": int(total[3]),
            "denominator of 4-grams, as NLTK counts it": int(nltk_total[3]),
            "BLEU-4, as counted": plain,
            "BLEU-4, as NLTK counts it": bleu(said, wanted, 4, pair.tokenizer),
        },
        name=scores.system,
    )


# Helpers ------------------------------------------------------------------------------------------


def _sacre(tokenizer: str) -> str:
    return "13a" if tokenizer == "space" else tokenizer


def _letters(texts: Sequence[str]) -> list[str]:
    """What a string is when it is read as a list of tokens: its letters, blanks included."""
    return [" ".join(text.replace(" ", "␣")) for text in texts]


def _add_one(said: Sequence[str], wanted: Sequence[str], tokenizer: str) -> float:
    """Mean sentence BLEU-4 with one added above and below for orders 2 to 4 (NLTK's method2)."""
    counts = count_segments(said, wanted, tokenizer)
    match, total = counts["match"].astype(float), np.maximum(counts["total"], 1).astype(float)
    match[:, 1:] += 1
    total[:, 1:] += 1
    with np.errstate(divide="ignore"):
        value = np.exp(np.log(match / total).mean(axis=1)) * _penalties(counts)
    return 100 * float(value.mean()) if len(value) else 0.0


def _mean_of_orders(said: Sequence[str], wanted: Sequence[str], tokenizer: str) -> float:
    """Mean over turns of the mean of the four precisions: arithmetic where BLEU is geometric."""
    counts = count_segments(said, wanted, tokenizer)
    share = counts["match"] / np.maximum(counts["total"], 1)
    return 100 * float((share.mean(axis=1) * _penalties(counts)).mean()) if len(share) else 0.0


def _penalties(counts: dict[str, np.ndarray]) -> np.ndarray:
    response, reference = counts["response_length"].astype(float), counts["reference_length"].astype(float)
    return np.where(response > 0, np.exp(np.minimum(1 - ratio(reference, response, empty=1.0), 0.0)), 0.0)


def _nested_short(said: Sequence[str], wanted: Sequence[str]) -> float:
    """NLTK's corpus BLEU where each token of the one reference is taken for a reference of its own."""
    from nltk.translate.bleu_score import corpus_bleu

    both = [(a.split(), b.split()) for a, b in zip(wanted, said, strict=True) if a.split()]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return 100 * float(corpus_bleu([a for a, _ in both], [b for _, b in both])) if both else 0.0

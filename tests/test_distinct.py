"""Diversity against set-based loops, on real systems and on random texts."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_bleu import SYSTEMS, TEXT, close, read_pair, relaxed

from dialogeval.exceptions import PredictionError, UnknownNameError, UsageError
from dialogeval.metrics import TextPair
from dialogeval.metrics.text import (
    DIVERSITY_METRICS,
    delete_one_sums,
    distinct_counts,
    distinct_n,
    distinct_utterances,
    splitter,
)

DIALOGUES = st.lists(st.tuples(st.sampled_from("abcd"), TEXT), max_size=12)

TOKENIZER = st.sampled_from(["space", "13a", "zh", "char"])


def loop(texts, n, per="ngram", split=str.split):
    grams, tokens = [], 0
    for text in texts:
        words = split(text)
        tokens += len(words)
        grams += [tuple(words[i : i + n]) for i in range(len(words) - n + 1)]
    whole = len(grams) if per == "ngram" else tokens
    return 100 * len(set(grams)) / whole if whole else 0.0


def truth(texts):
    return {
        "distinct_1": loop(texts, 1),
        "distinct_2": loop(texts, 2),
        "distinct_2_per_token": loop(texts, 2, "token"),
        "distinct_utterances": 100 * len(set(texts)) / len(texts) if texts else 0.0,
    }


def make_pair(rows, tokenizer="space"):
    ids, texts = [d for d, _ in rows], [t for _, t in rows]
    return TextPair(ids, range(len(rows)), [""] * len(rows), texts, tokenizer)


def values(sums):
    return {key: metric.value(sums) for key, metric in DIVERSITY_METRICS.items()}


@pytest.mark.parametrize("system", SYSTEMS)
def test_real_systems_equal_the_published_values(real_cases, system):
    expected = json.loads((real_cases / "responses" / "expected_pairs.json").read_text())[system]
    pair = read_pair(real_cases, system)
    found = values(distinct_counts(pair).sum())
    texts = list(pair.responses)
    lists = {
        "distinct_1": distinct_n(texts, 1),
        "distinct_2": distinct_n(texts, 2),
        "distinct_2_per_token": distinct_n(texts, 2, per="token"),
        "distinct_utterances": distinct_utterances(texts),
    }
    for key in DIVERSITY_METRICS:
        assert found[key] == close(expected[key])
        assert lists[key] == close(expected[key])


@relaxed
@given(DIALOGUES.flatmap(lambda rows: st.tuples(st.just(rows), st.permutations(rows))))
def test_order_of_dialogues_does_not_change_the_totals(both):
    first, second = (distinct_counts(make_pair(r)) for r in both)
    assert first.sum().equals(second.sum())
    own = [c for c in first if c.endswith("_own")]
    assert first[own].sort_index().equals(second[own].sort_index())


@relaxed
@given(DIALOGUES)
def test_leaving_one_dialogue_out_is_exact(rows):
    counts = distinct_counts(make_pair(rows))
    assert values(counts.sum()) == pytest.approx(truth([t for _, t in rows]), rel=1e-12)
    without = values(delete_one_sums(counts))
    for i, dialogue in enumerate(counts.index):
        rest = [t for d, t in rows if d != dialogue]
        assert {k: v[i] for k, v in without.items()} == pytest.approx(truth(rest), rel=1e-12)


@relaxed
@given(st.lists(TEXT, max_size=8), st.integers(1, 5), st.sampled_from(["ngram", "token"]), TOKENIZER)
def test_lists_equal_sets(texts, n, per, tokenizer):
    expected = loop(texts, n, per, splitter(tokenizer))
    assert distinct_n(texts, n, per, tokenizer) == pytest.approx(expected, rel=1e-12)


def test_ngrams_never_cross_an_utterance():
    assert distinct_n(["a", "b", "a", "b"], 2) == 0
    assert distinct_n(["a b", "b a"], 2) == 100


def test_bad_input_is_refused():
    for wrong in ("abc", None, ["a", ["b", "c"]]):
        with pytest.raises((UsageError, PredictionError)):
            distinct_utterances(wrong)
    for arguments in ((0,), (1.5,), ("2",), (1, "tokens")):
        with pytest.raises((UsageError, UnknownNameError)):
            distinct_n(["a"], *arguments)

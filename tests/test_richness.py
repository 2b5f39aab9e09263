"""Lexical richness against loops over the definitions; published systems are in test_scorers."""

from __future__ import annotations

from collections import Counter
from math import log2

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dialogeval as de
from dialogeval.metrics import TextPair
from dialogeval.metrics.goals import RICHNESS_METRICS, WINDOW, richness_counts, richness_tokens
from dialogeval.metrics.text import delete_one_sums


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("the NAME is nice .", ["the", "name", "is", "nice", ""]),
        ("", [""]),
        ("it's 5:30 p.m.", ["its", "530", "pm"]),
        ("``so'' -LRB-x-RRB- SYM", ["so", "lrbxrrb", ""]),
        ("a ,  b", ["a", "b"]),
        ("? a", ["", "a"]),
        ("a%b / c_d ; e : f", ["ab", "cd", "e", "f"]),
    ],
)
def test_tokens(text: str, tokens: list[str]) -> None:
    assert richness_tokens(text) == tokens


def by_definition(texts: list[str]) -> dict[str, float]:
    lists = [richness_tokens(t) for t in texts]
    words = [w for tokens in lists for w in tokens]
    total = len(words)
    unigrams = Counter(words)
    grams = {
        n: Counter(g for t in lists for g in zip(*(t[i:] for i in range(n)), strict=False)) for n in (1, 2, 3)
    }
    windows = [words[i : i + WINDOW] for i in range(0, total - WINDOW + 1, WINDOW)]
    return {
        "avg_length": total / len(texts),
        **{f"unique_{n}grams": len(grams[n]) for n in (1, 2, 3)},
        "entropy": -sum(c / total * log2(c / total) for c in unigrams.values()),
        "cond_bigram_entropy": -sum(c / total * log2(c / unigrams[h]) for (h, _), c in grams[2].items()),
        "msttr_50": sum(len(set(w)) / WINDOW for w in windows) / len(windows) if windows else float("nan"),
    }


TEXTS = st.lists(st.text(alphabet="ab c.", max_size=40), min_size=1, max_size=9)


@given(TEXTS, st.randoms(use_true_random=False))
def test_scores_and_jackknife_by_definition(texts: list[str], random) -> None:
    owners = [random.choice("xyz") for _ in texts]
    order = sorted(range(len(texts)), key=lambda i: owners[i])  # a dialogue's turns stand together
    texts, owners = [texts[i] for i in order], sorted(owners)
    counts = richness_counts(TextPair(owners, range(len(texts)), texts, texts))
    expected = by_definition(texts)
    sums = counts.sum().to_dict()
    for key, metric in RICHNESS_METRICS.items():
        assert metric.value(sums) == pytest.approx(expected[key], abs=1e-9, nan_ok=True), key
    without = delete_one_sums(counts)
    for i, dialogue in enumerate(counts.index):
        rest = [t for t, o in zip(texts, owners, strict=True) if o != dialogue]
        if rest:
            expected = by_definition(rest)
            left = {name: values[i] for name, values in without.items()}
            for key, metric in RICHNESS_METRICS.items():
                if metric.resample == "jackknife":
                    assert metric.value(left) == pytest.approx(expected[key], abs=1e-9), key


def test_the_order_of_the_file_decides_the_windows_and_nothing_else() -> None:
    rng = np.random.default_rng(1)
    ids = [f"d{i}" for i in range(30)]
    texts = [" ".join(f"w{x}" for x in rng.integers(0, 5 + 3 * i, size=19)) for i in range(30)]
    as_they_are = richness_counts(TextPair(ids, [0] * 30, texts, texts)).sum()
    backwards = richness_counts(TextPair(ids, [0] * 30, texts, texts, order=range(30)[::-1])).sum()
    for key, metric in RICHNESS_METRICS.items():
        assert metric.value(backwards) == pytest.approx(by_definition(texts[::-1])[key])
        same = bool(np.isclose(metric.value(backwards), metric.value(as_they_are), rtol=1e-9))
        assert same is (key != "msttr_50")


def test_intervals_are_those_that_types_allow() -> None:
    system = "sample/predictions/multiwoz/generator_template.json.gz"
    scores = de.score("sample/multiwoz", system, "mwzeval", resamples=20).table
    assert scores.loc["msttr_50", ["low", "high"]].isna().all()
    for key in ("unique_1grams", "entropy", "cond_bigram_entropy", "avg_length"):
        assert scores.loc[key, "low"] < scores.loc[key, "value"] < scores.loc[key, "high"]


def test_richness_of_nothing() -> None:
    sums = richness_counts(TextPair([], [], [], [])).sum()
    found = {key: float(metric.value(sums)) for key, metric in RICHNESS_METRICS.items()}
    # There is no mean over no windows.
    assert found == pytest.approx({**dict.fromkeys(RICHNESS_METRICS, 0.0), "msttr_50": np.nan}, nan_ok=True)

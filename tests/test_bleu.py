"""The BLEU family against NLTK and sacreBLEU, on real systems and on random texts."""

from __future__ import annotations

import gzip
import json
import warnings
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dialogeval.exceptions import DialogevalError, PredictionError, UnknownNameError, UsageError
from dialogeval.metrics import TextPair
from dialogeval.metrics import text as metrics_text
from dialogeval.metrics.ngrams import TOKENIZERS
from dialogeval.metrics.text import (
    TEXT_METRICS,
    bleu,
    bleu_counts,
    sacrebleu_score,
    sentence_bleu_mean,
    splitter,
)

# The first example pays for imports, so no example has a deadline.
relaxed = settings(deadline=None, max_examples=30)
SYSTEMS = ("ubar", "hdsa", "lava")
# Few different words, so that n-grams match; case, punctuation, Chinese, odd spaces, no word at all.
WORDS = st.sampled_from(["a", "b", "A", "NAME,", "it's", "3.5", "位于", "é", "hotel.", "\u3000", "", "&lt;"])
TEXT = st.lists(WORDS, max_size=8).map(" ".join)
PAIRS = st.lists(st.tuples(TEXT, TEXT), min_size=1, max_size=6)


def read_pair(cases: Path, system: str) -> TextPair:
    with gzip.open(cases / "responses" / f"{system}.pairs.jsonl.gz", "rt", encoding="utf-8") as lines:
        rows = pd.DataFrame(map(json.loads, lines))
    return TextPair(rows["dialogue_id"], rows["turn"], rows["reference"], rows["response"])


def make_pair(pairs, tokenizer="space") -> TextPair:
    responses, references = zip(*pairs, strict=True)
    return TextPair(["d"] * len(pairs), range(len(pairs)), references, responses, tokenizer)


def value(key: str, pair: TextPair) -> float:
    metric = TEXT_METRICS[key]
    return metric.value(metric.counts(pair).sum())


def nltk_corpus(pairs, order, split=str.split):
    from nltk.translate.bleu_score import corpus_bleu

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        hypotheses = [split(r) for r, _ in pairs]
        return 100 * corpus_bleu([[split(g)] for _, g in pairs], hypotheses, weights=(1 / order,) * order)


def nltk_sentences(pairs, smoothing):
    from nltk.translate.bleu_score import SmoothingFunction, sentence_bleu

    function = SmoothingFunction().method1 if smoothing == "method1" else None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        scores = [sentence_bleu([g.split()], r.split(), smoothing_function=function) for r, g in pairs]
    return 100 * sum(scores) / len(scores)


def close(expected: float):
    return pytest.approx(expected, rel=1e-9, abs=0)


@pytest.mark.parametrize("system", SYSTEMS)
def test_real_systems_equal_the_published_values(real_cases, system):
    expected = json.loads((real_cases / "responses" / "expected_pairs.json").read_text())[system]
    pair = read_pair(real_cases, system)
    for n in range(1, 5):
        assert value(f"bleu_{n}", pair) == close(expected[f"nltk_corpus_bleu_{n}"])
    assert value("bleu_4_sentence", pair) == close(expected["nltk_mean_sentence_bleu_4_method1"])
    assert value("bleu_4_card", pair) == close(expected["nltk_mean_sentence_bleu_4_unsmoothed"])
    assert value("sacrebleu", pair) == close(expected["sacrebleu_13a"])
    assert sacrebleu_score(pair.responses, pair.references, "space") == close(expected["sacrebleu_none"])
    assert bleu(list(pair.responses), list(pair.references), 2) == close(expected["nltk_corpus_bleu_2"])
    for smoothing, name in (("method1", "method1"), ("none", "unsmoothed")):
        found = sentence_bleu_mean(list(pair.responses), list(pair.references), smoothing)
        assert found == close(expected[f"nltk_mean_sentence_bleu_4_{name}"])
    lower = [[t.lower() for t in side] for side in (pair.responses, pair.references)]
    assert sacrebleu_score(*lower) == close(expected["sacrebleu_13a_lc"])


@relaxed
@given(PAIRS)
def test_corpus_and_sentence_bleu_equal_nltk(pairs):
    pair = make_pair(pairs)
    for order in range(1, 5):
        assert value(f"bleu_{order}", pair) == close(nltk_corpus(pairs, order))
    assert value("bleu_4_sentence", pair) == close(nltk_sentences(pairs, "method1"))
    assert value("bleu_4_card", pair) == close(nltk_sentences(pairs, "none"))


@relaxed
@given(PAIRS, st.sampled_from(["13a", "zh", "char"]))
def test_sacrebleu_equals_sacrebleu(pairs, tokenizer):
    import sacrebleu

    responses, references = map(list, zip(*pairs, strict=True))
    expected = sacrebleu.corpus_bleu(responses, [references], tokenize=tokenizer).score
    assert sacrebleu_score(responses, references, tokenizer) == close(expected)
    assert value("sacrebleu", make_pair(pairs, tokenizer)) == close(expected)


@relaxed
@given(PAIRS, st.sampled_from(TOKENIZERS))
def test_tokenizer_reaches_bleu(pairs, tokenizer):
    expected = nltk_corpus(pairs, 2, splitter(tokenizer))
    assert value("bleu_2", make_pair(pairs, tokenizer)) == close(expected)


@relaxed
@given(PAIRS, PAIRS)
def test_values_of_arrays_of_sums_are_the_single_values(first, second):
    metrics = {key: metric for key, metric in TEXT_METRICS.items() if metric.resample == "bootstrap"}
    pairs = [make_pair(p) for p in (first, second)]
    counted = {f: [f(pair).sum() for pair in pairs] for f in {m.counts for m in metrics.values()}}
    for key, metric in metrics.items():
        sums = counted[metric.counts]
        together = pd.concat(sums, axis=1).T
        arrays = {c: together[c].to_numpy() for c in together}
        assert metric.value(arrays) == pytest.approx([metric.value(s) for s in sums], rel=1e-12), key


def test_one_count_table_is_additive_over_shards_and_blocks(monkeypatch):
    rng = np.random.default_rng(0)
    texts = [" ".join(rng.choice(list("abcd"), size=rng.integers(0, 9))) for _ in range(101)]
    pairs = list(pairwise(texts))
    whole = bleu_counts(make_pair(pairs)).sum()
    shards = bleu_counts(make_pair(pairs[:37])).sum() + bleu_counts(make_pair(pairs[37:])).sum()
    assert shards.to_numpy() == pytest.approx(whole.to_numpy(), rel=1e-12)
    monkeypatch.setattr(metrics_text, "_BLOCK", 7)
    assert bleu_counts(make_pair(pairs)).sum().equals(whole)


def test_worked_example():
    # Response: the(3) cat(1) -> clipped the 2, cat 1; bigrams "the the" 0, "the cat" 1.
    row = bleu_counts(make_pair([("the the the cat", "the cat ate the fish")])).iloc[0]
    assert row[["bleu_match_1", "bleu_match_2", "bleu_match_3", "bleu_match_4"]].tolist() == [3, 1, 0, 0]
    assert row[["bleu_total_1", "bleu_total_2", "bleu_total_3", "bleu_total_4"]].tolist() == [4, 3, 2, 1]
    expected = 100 * np.exp(1 - 5 / 4) * np.sqrt(3 / 4 * 1 / 3)
    assert bleu(["the the the cat"], ["the cat ate the fish"], max_order=2) == close(expected)


def test_short_responses_count_a_denominator_of_one():
    # NLTK adds 1 to the 4-gram denominator for "bye": 5-token match alone would be 100.
    assert bleu(["a b c d", "bye"], ["a b c d", "bye"]) == close(100 * (1 * 3 / 4 * 2 / 3 * 1 / 2) ** 0.25)


def test_no_turn_and_no_token_score_zero():
    for pair in (TextPair([], [], [], []), make_pair([("", "a"), ("", "")])):
        assert {
            value(key, pair) for key in (*(f"bleu_{n}" for n in range(1, 5)), "bleu_4_card", "sacrebleu")
        } == {0}


def test_a_line_s_end_is_no_part_of_its_last_token():
    # 13a would take a hyphen before it away.
    assert sacrebleu_score(
        ["it is at five -\n", "so it is , yes"], ["it is at five -", "so it is, yes\n"]
    ) == close(100)


def test_sacrebleu_by_hand_for_many_resamples():
    # Matches and n-grams of orders 1 to 4, lengths of responses and references; the score as a fraction.
    rows = [
        ((2, 0, 0, 0), (4, 3, 2, 1), 4, 8, np.exp(1 - 2) * (2 / 4 * 1 / 6 * 1 / 8 * 1 / 8) ** (1 / 4)),
        ((3, 0, 1, 0), (5, 4, 3, 2), 5, 5, (3 / 5 * 1 / 8 * 1 / 3 * 1 / 8) ** (1 / 4)),
        ((1, 1, 1, 1), (1, 1, 1, 1), 1, 2, np.exp(1 - 2)),
        ((4, 3, 2, 1), (4, 3, 2, 1), 4, 1, 1),
        ((1, 0, 0, 0), (1, 0, 0, 0), 1, 1, 0),  # no 2-gram at all
        ((0, 0, 0, 0), (0, 0, 0, 0), 0, 5, 0),
    ]
    match, total, response, reference, expected = (np.array(c, float) for c in zip(*rows, strict=True))
    sums = {"sacrebleu_response_length": response, "sacrebleu_reference_length": reference}
    for n in range(4):
        sums |= {f"sacrebleu_match_{n + 1}": match[:, n], f"sacrebleu_total_{n + 1}": total[:, n]}
    assert TEXT_METRICS["sacrebleu"].value(sums).tolist() == pytest.approx(100 * expected)
    # Without smoothing an order without a match makes the score next to nothing, and one without a word 0.
    plain = {name.removeprefix("sacre"): column for name, column in sums.items()}
    assert TEXT_METRICS["bleu_2"].value(plain).tolist() == pytest.approx([0, 0, 100 / np.e, 100, 0, 0])


@pytest.mark.parametrize(
    ("responses", "references", "error"),
    [
        *[("hello", ["hello"], UsageError), (None, ["a"], UsageError), ({"d": "a"}, ["a"], UsageError)],
        *[(["a", "b"], ["a"], UsageError), (["a", None], ["a", "b"], PredictionError)],
        *[(["a"], [float("nan")], PredictionError), ([["a", "b"]], ["a b"], PredictionError)],
    ],
)
def test_bad_lists_are_refused(responses, references, error):
    for function in (bleu, sentence_bleu_mean, sacrebleu_score):
        with pytest.raises(error):
            function(responses, references)


def test_unknown_choices_are_refused():
    for wrong in ({"tokenizer": "13b"}, {"max_order": 5}, {"max_order": "4"}):
        with pytest.raises(DialogevalError):
            bleu(["a"], ["a"], **wrong)
    with pytest.raises(UnknownNameError):
        sentence_bleu_mean(["a"], ["a"], smoothing="method9")

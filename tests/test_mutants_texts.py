"""Scores of texts by hand, for one sample and for many resamples at once."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import sacrebleu
from test_richness import by_definition

from dialogeval.metrics import TextPair
from dialogeval.metrics.goals import (
    GOAL_METRICS,
    RICHNESS_METRICS,
    goal_counts,
    goal_scores,
    richness_counts,
    richness_tokens,
)
from dialogeval.metrics.text import TEXT_METRICS, count_segments, delete_one_sums, sacrebleu_score

# Goal scores --------------------------------------------------------------------------------------

RESPONSES = [["NAME"], ["NAME"], ["PHONE"]]
REFERENCES = [["NAME in", "AREA"], ["NAME"], ["NAME"]]
#: Precision, recall, F1. NAME: 2 right, 1 missed; AREA: 1 missed; PHONE: 1 invented.
GOAL = {
    "micro": (2 / 3, 2 / 4, 4 / 7),
    "macro": (1 / 3, 2 / 9, 0.8 / 3),
    "samples": ((1 + 1 + 0) / 3, (1 / 2 + 1 + 0) / 3, (2 / 3 + 1 + 0) / 3),
    "weighted": (3 / 4, 3 / 4 * 2 / 3, 3 / 4 * 0.8),  # by gold mentions: NAME 3, AREA 1, PHONE 0
}
#: The same of the first dialogue alone: NAME is right, AREA is missed.
FIRST = dict.fromkeys(("micro", "samples"), (1, 1 / 2, 2 / 3)) | dict.fromkeys(
    ("macro", "weighted"), (1 / 2,) * 3
)


@pytest.mark.parametrize("average", list(GOAL))
def test_goal_scores_by_hand(average: str) -> None:
    expected = [100 * share for share in GOAL[average]]
    scores = goal_scores(RESPONSES, REFERENCES, average)
    assert [scores[k] for k in ("precision", "recall", "f1")] == pytest.approx(expected)
    texts = [[" ".join(texts) for texts in side] for side in (REFERENCES, RESPONSES)]
    counts = goal_counts(TextPair(["d1", "d2", "d3"], [0, 0, 0], *texts))
    assert counts.index.name == "dialogue_id"
    # Three resamples at once: all, nothing, and the first dialogue twice.
    weights = np.array([[1, 1, 1], [0, 0, 0], [2, 0, 0]])
    drawn = pd.DataFrame(weights @ counts.to_numpy(), columns=counts.columns)
    sums = {column: drawn[column].to_numpy() for column in drawn}
    suffix = "" if average == "micro" else f"_{average}"
    for key, value, alone in zip(("precision", "recall", "f1"), expected, FIRST[average], strict=True):
        found = GOAL_METRICS[f"goal_{key}{suffix}"].value(sums)
        assert found.tolist() == pytest.approx([value, 0, 100 * alone])


# Richness -----------------------------------------------------------------------------------------

SAID = [
    ("d", "a b a c ."),
    ("d", "b a"),
    ("e", "a b c a b"),
    ("e", " ".join(f"w{i % 37}" for i in range(110))),
]
SAID += [("g", "b c"), ("f", "a")]  # the last dialogue has no bigram


def richness(rows: list[tuple[str, str]], order: list[int] | None = None) -> pd.DataFrame:
    ids, texts = map(list, zip(*rows, strict=True))
    return richness_counts(TextPair(ids, [0] * len(ids), texts, texts, order=order))


def test_richness_of_all_and_without_each_dialogue() -> None:
    counts = richness(SAID)
    assert counts.index.tolist() == ["d", "e", "g", "f"]
    assert counts.index.name == "dialogue_id"
    types = [f"rich_{n}_types" for n in (1, 2, 3)]
    with_own = [*types, "rich_words", "rich_bigrams", "rich_given"]
    alone = ["rich_turns", "rich_tokens", "rich_ratios", "rich_windows"]
    assert sorted(counts) == sorted([*with_own, *(f"{c}_own" for c in with_own), *alone])
    left = delete_one_sums(counts)
    for i, dialogue in enumerate([None, *counts.index], -1):
        rest = [row for row in SAID if row[0] != dialogue]
        sums = counts.sum() if dialogue is None else {c: column[i] for c, column in left.items()}
        truth = by_definition([text for _, text in rest])
        for key, metric in RICHNESS_METRICS.items():
            if dialogue is None or metric.resample == "jackknife":
                assert metric.value(sums) == pytest.approx(truth[key], abs=1e-12), (key, dialogue)


def test_richness_takes_the_order_of_the_file() -> None:
    order = [5, 4, 0, 1, 3, 2]
    counts = richness(SAID, order)
    assert counts.index.tolist() == ["e", "f", "g", "d"]
    in_file = richness([SAID[i] for i in np.argsort(order)])
    pd.testing.assert_frame_equal(counts, in_file)


def test_richness_of_nothing_and_of_many_resamples() -> None:
    empty = TextPair([], [], [], [])
    found = {k: float(m.value(richness_counts(empty).sum())) for k, m in RICHNESS_METRICS.items()}
    # There is no mean over no windows.
    assert found == pytest.approx({**dict.fromkeys(RICHNESS_METRICS, 0.0), "msttr_50": np.nan}, nan_ok=True)
    counts = richness(SAID)
    left = delete_one_sums(counts)
    for key, metric in RICHNESS_METRICS.items():
        together = metric.value(left)
        single = [metric.value({c: column[i] for c, column in left.items()}) for i in range(len(counts))]
        assert together.tolist() == pytest.approx(single), key


# BLEU ---------------------------------------------------------------------------------------------


def test_sacrebleu_by_hand_for_many_resamples() -> None:
    # Matches and n-grams of orders 1 to 4, lengths of responses and references; the score as a fraction.
    rows = [
        ((2, 0, 0, 0), (4, 3, 2, 1), 4, 8, np.exp(1 - 2) * (2 / 4 * 1 / 6 * 1 / 8 * 1 / 8) ** (1 / 4)),
        ((3, 0, 1, 0), (5, 4, 3, 2), 5, 5, (3 / 5 * 1 / 8 * 1 / 3 * 1 / 8) ** (1 / 4)),
        ((1, 1, 1, 1), (1, 1, 1, 1), 1, 2, np.exp(1 - 2)),
        ((4, 3, 2, 1), (4, 3, 2, 1), 4, 1, 1),
        ((0, 0, 0, 0), (4, 3, 2, 1), 4, 4, 0),
        ((1, 0, 0, 0), (1, 0, 0, 0), 1, 1, 0),  # no 2-gram at all
        ((0, 0, 0, 0), (0, 0, 0, 0), 0, 5, 0),
    ]
    matches, totals, response, reference, expected = (
        np.array(column, float) for column in zip(*rows, strict=True)
    )
    sums = {f"sacrebleu_match_{n}": matches[:, n - 1] for n in range(1, 5)}
    sums |= {f"sacrebleu_total_{n}": totals[:, n - 1] for n in range(1, 5)}
    sums |= {"sacrebleu_response_length": response, "sacrebleu_reference_length": reference}
    value = TEXT_METRICS["sacrebleu"].value
    assert value(sums).tolist() == pytest.approx(100 * expected)
    for i, score in enumerate(expected):
        assert value({name: column[i] for name, column in sums.items()}) == pytest.approx(100 * score)
    # Without smoothing an order without a match makes the score next to nothing, and one without a word 0.
    plain = {name.removeprefix("sacre"): column for name, column in sums.items()}
    found = TEXT_METRICS["bleu_2"].value(plain)
    assert found[2:] == pytest.approx([100 * np.exp(-1), 100, 0, 0, 0])
    assert (found[:2] > 0).all() and (found[:2] < 1e-100).all()
    assert TEXT_METRICS["bleu_1"].value(plain) == pytest.approx([50 / np.e, 60, 100 / np.e, 100, 0, 100, 0])


def test_a_line_s_end_is_no_part_of_its_last_token() -> None:
    # 13a would take a hyphen before it away.
    responses, references = ["it is at five -\n", "so it is , yes"], ["it is at five -", "so it is, yes\n"]
    expected = sacrebleu.corpus_bleu(responses, [references]).score
    assert sacrebleu_score(responses, references) == pytest.approx(expected)
    assert expected == pytest.approx(100)


def test_every_mark_is_dropped_from_the_tokens_of_richness() -> None:
    marks = ["``", "''", *"'.,?!)(%/-_:;", "-LRB-", "-RRB-", "SYM"]
    for mark in marks:
        kept = "LRB" if mark == "-LRB-" else "RRB" if mark == "-RRB-" else ""  # the hyphens go first
        assert richness_tokens(f"a{mark}b  C") == [f"a{kept}b".lower(), "c"], mark


def test_texts_shorter_than_an_ngram_have_none_of_it() -> None:
    counts = count_segments(["", "a", "a b"], ["a", "", "a b"])
    assert counts["total"].tolist() == [[0, 0, 0, 0], [1, 0, 0, 0], [2, 1, 0, 0]]
    assert counts["match"].tolist() == [[0, 0, 0, 0], [0, 0, 0, 0], [2, 1, 0, 0]]

"""Goal scores against scikit-learn, and placeholder names against worked examples."""

from __future__ import annotations

import json
import warnings
from collections import Counter

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_bleu import SYSTEMS, close, read_pair, relaxed

from dialogeval.exceptions import PredictionError, UnknownNameError, UsageError
from dialogeval.metrics import TextPair
from dialogeval.metrics.goals import (
    AVERAGES,
    GOAL_METRICS,
    goal_counts,
    goal_labels,
    goal_scores,
)
from dialogeval.placeholders import (
    canonical_names,
    canonicalize_placeholders,
    count_unbalanced,
    fold_case,
    placeholder_table,
    unknown_notes,
)

WORDS = ["NAME", "NAME,", "(AREA)", "PHONE's", "RENAMED", "name", "TRAINID", "ID", "a", "", "é", "位于POST。"]
MEANT = {"NAME": "NAME", "NAME,": "NAME", "(AREA)": "AREA", "PHONE's": "PHONE"}
MEANT |= {"TRAINID": "TRAINID", "ID": "ID", "位于POST。": "POST"}
UTTERANCE = st.lists(st.sampled_from(WORDS), max_size=4)
DIALOGUE = st.lists(UTTERANCE, max_size=3)
BOTH_SIDES = st.lists(st.tuples(DIALOGUE, DIALOGUE), min_size=1, max_size=6)
SCORES = ("precision", "recall", "f1")


def sklearn_scores(responses, references, average):
    """Scores of label sets, as scikit-learn computes them over the labels of either side."""
    from sklearn.metrics import precision_recall_fscore_support
    from sklearn.preprocessing import MultiLabelBinarizer

    labels = sorted(set().union(*responses, *references))
    if not labels:
        return dict.fromkeys(SCORES, 0.0)
    # A matrix of one column would be a binary task; a column that does not count makes it two.
    at = list(range(len(labels)))
    binarizer = MultiLabelBinarizer(classes=[*labels, "none"])
    y_true, y_pred = binarizer.fit_transform(references), binarizer.transform(responses)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = precision_recall_fscore_support(y_true, y_pred, labels=at, average=average, zero_division=0)
    return {score: 100 * found[i] for i, score in enumerate(SCORES)}


def join(dialogue):
    return " ".join(word for utterance in dialogue for word in utterance)


def meant(dialogue):
    return {MEANT[word] for utterance in dialogue for word in utterance if word in MEANT}


@pytest.mark.parametrize("system", SYSTEMS)
def test_real_systems_equal_the_published_values(real_cases, system):
    expected = json.loads((real_cases / "responses" / "expected_pairs.json").read_text())[system]
    pair = read_pair(real_cases, system)
    counts = goal_counts(pair)
    sums = counts.sum()
    sides = [
        pd.Series(list(side)).groupby(list(pair.dialogue_id)).agg(list).tolist()
        for side in (pair.responses, pair.references)
    ]
    for average in AVERAGES:
        lists = goal_scores(*sides, average=average)
        for score in SCORES:
            key = f"goal_{score}" + ("" if average == "micro" else f"_{average}")
            assert GOAL_METRICS[key].value(sums) == close(expected[f"goal_{average}"][score])
            assert lists[score] == close(expected[f"goal_{average}"][score])
    found = {n for n in canonical_names() if sums[[f"goal_{k}_{n}" for k in ("tp", "fp", "fn")]].any()}
    assert sorted(found) == expected["goal_labels"]


@relaxed
@given(BOTH_SIDES)
def test_scores_equal_scikit_learn(dialogues):
    texts = [[[" ".join(u) for u in side] for side in both] for both in dialogues]
    responses, references = zip(*texts, strict=True)
    sets = [[meant(side) for side in column] for column in zip(*dialogues, strict=True)]
    for average in AVERAGES:
        assert goal_scores(responses, references, average) == pytest.approx(
            sklearn_scores(*sets, average), rel=1e-9
        )


@relaxed
@given(BOTH_SIDES)
def test_tables_score_as_lists_do(dialogues):
    rows = []
    for i, sides in enumerate(dialogues):
        # A table has as many responses as references: the shorter side is filled up with nothing.
        sides = [side + [[]] * (3 - len(side)) for side in sides]
        rows += [(f"d{i}", t, " ".join(g), " ".join(r)) for t, (r, g) in enumerate(zip(*sides, strict=True))]
    sums = goal_counts(TextPair(*zip(*rows, strict=True))).sum()
    responses, references = (
        [[" ".join(u) for u in side] for side in c] for c in zip(*dialogues, strict=True)
    )
    for average in AVERAGES:
        suffix = "" if average == "micro" else f"_{average}"
        found = {s: GOAL_METRICS[f"goal_{s}{suffix}"].value(sums) for s in SCORES}
        assert found == pytest.approx(goal_scores(responses, references, average), rel=1e-12)


@relaxed
@given(BOTH_SIDES, st.integers(0, 5))
def test_values_of_arrays_of_sums_are_the_single_values(dialogues, seed):
    rows = [(f"d{i}", 0, join(g), join(r)) for i, (r, g) in enumerate(dialogues)]
    counts = goal_counts(TextPair(*zip(*rows, strict=True)))
    weights = np.random.default_rng(seed).integers(0, 3, size=(4, len(counts)))
    drawn = pd.DataFrame(weights @ counts.to_numpy(), columns=counts.columns)
    for key, metric in GOAL_METRICS.items():
        arrays = {c: drawn[c].to_numpy() for c in drawn}
        single = [metric.value(drawn.iloc[i]) for i in range(4)]
        assert metric.value(arrays) == pytest.approx(single, rel=1e-12), key


def test_worked_example():
    pair = TextPair(["d", "d", "e"], [0, 1, 0], ["NAME", "in AREA", "PHONE"], ["NAME", "NAME", "hello"])
    counts = goal_counts(pair)
    assert list(counts.index) == ["d", "e"]
    sums = counts.sum()
    assert GOAL_METRICS["goal_precision"].value(sums) == 100
    assert GOAL_METRICS["goal_recall"].value(sums) == close(100 / 3)
    assert GOAL_METRICS["goal_recall_samples"].value(sums) == close(25)
    assert GOAL_METRICS["goal_f1_macro"].value(sums) == close(100 / 3)


def test_nothing_mentioned_scores_zero():
    assert goal_scores([["hi"]], [["ho"]], "macro") == dict.fromkeys(SCORES, 0.0)
    assert goal_scores([], [], "samples") == dict.fromkeys(SCORES, 0.0)
    sums = goal_counts(TextPair([], [], [], [])).sum()
    assert {metric.value(sums) for metric in GOAL_METRICS.values()} == {0.0}


def test_labels_are_whole_words_beside_punctuation():
    assert goal_labels(["(NAME), AREA: PHONE's RENAMED NAME_2 TRAINIDS"]) == {"NAME", "AREA", "PHONE"}
    assert goal_labels(["酒店位于ADDRESS，电话PHONE。"]) == {"ADDRESS", "PHONE"}


def test_labels_of_a_user():
    table = placeholder_table(pd.DataFrame({"variant": ["value_wifi"], "canonical": ["WIFI"]}))
    texts, unknown = canonicalize_placeholders(["free [value_wifi] at [value_name]"], table)
    assert (texts, unknown) == (["free WIFI at NAME"], Counter())
    assert goal_scores([texts], [["NAME"]], labels=canonical_names(table))["precision"] == 50


def test_bad_dialogues_are_refused_in_one_line():
    cases = [
        (("NAME", ["NAME"]), UsageError, "response_dialogues: expected a list of dialogues"),
        ((["NAME"], [["NAME"]]), UsageError, "response_dialogues, dialogue 0: expected a list of strings"),
        (
            ([["a"]], [[None]]),
            PredictionError,
            "reference_dialogues, dialogue 0, item 0: expected a string, got null",
        ),
        (([["a"]], []), UsageError, "one response and one reference a dialogue, got 1 and 0"),
        ((None, [["a"]]), UsageError, "response_dialogues: expected a list of dialogues"),
    ]
    for arguments, error, message in cases:
        with pytest.raises(error) as caught:
            goal_scores(*arguments)
        assert message in str(caught.value)
    with pytest.raises(UnknownNameError, match="did you mean macro"):
        goal_scores([["a"]], [["a"]], average="makro")


# Placeholder names --------------------------------------------------------------------------------


def test_the_table_has_the_published_names(real_cases):
    theirs = pd.read_csv(real_cases / "responses" / "placeholders.csv")
    ours = placeholder_table()
    mine, published = (dict(t.itertuples(index=False)) for t in (ours, theirs))
    assert {name: mine.get(name) for name in published} == published
    # What is ours beyond them are CrossWOZ's slots.
    assert {mine[name] for name in mine.keys() - published.keys()} == {"DISHES", "RATING", "STATION", "PLATE"}
    assert not ours["variant"].duplicated().any()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[hotel_name] in [value_area].", "NAME in AREA."),
        ("[value_count] [value_type]s, [restaurant_name]es", "COUNT TYPE, NAME"),
        ("[value_type]-s or [value_type]-es", "TYPE or TYPE"),
        ("[value_stars]-star", "COUNTtar"),
        ("[ Arrive  By ] and [PRICE RANGE]", "TIME and PRICE"),
        ("[value_name]'s", "NAME's"),
        ("[value_name][value_phone]", "NAMEPHONE"),
        ("no placeholder, [ open", "no placeholder, [ open"),
        ("Case STAYS", "Case STAYS"),
    ],
)
def test_placeholders_become_canonical(text, expected):
    assert canonicalize_placeholders([text]) == ([expected], Counter())


def test_unknown_placeholders_are_dropped_and_counted():
    texts = ["[hotl_name] x", "[hotl_name] x", "[Value_Nmae]s and [value_name]", "[1]"]
    found, unknown = canonicalize_placeholders(texts)
    assert found == [" x", " x", " and NAME", ""]
    assert unknown == Counter({"hotl_name": 2, "value_nmae": 1, "1": 1})
    assert unknown_notes(unknown) == [
        "unknown placeholder [hotl_name] dropped (2 times); nearest known: [hotel_name]",
        "unknown placeholder [1] dropped (once); no known name is near",
        "unknown placeholder [value_nmae] dropped (once); nearest known: [value_name]",
    ]


@relaxed
@given(st.lists(st.text(alphabet="aN[]s- _", max_size=12)))
def test_canonical_texts_hold_no_bracketed_name_and_stay_as_they_are(texts):
    once, _ = canonicalize_placeholders(texts)
    assert len(once) == len(texts)
    for before, after in zip(texts, once, strict=True):
        assert ("[" in before and "]" in before) or after == before


def test_unbalanced_brackets_are_counted():
    balanced = ["[value_name]", "[[value_name]]", "", "[]"]
    assert count_unbalanced(balanced) == 0
    assert count_unbalanced([*balanced, "[value_name is", "value_name]", "]value_name["]) == 3


def test_case_is_folded_around_names():
    texts = ["The NAME, in CAMBRIDGE", "RENAMED NAME's", "", "ÉTÉ 位于AREA。"]
    assert fold_case(texts) == ["the NAME, in cambridge", "renamed NAME's", "", "été 位于AREA。"]
    assert fold_case(["The WIFI of NAME"], ["WIFI"]) == ["the WIFI of name"]


def test_a_user_s_table_is_checked():
    def refused(message, **columns):
        with pytest.raises(UsageError, match=message):
            placeholder_table(pd.DataFrame(columns))

    refused("lacks canonical: expected variant, canonical, got variant", variant=["a"])
    refused(
        "row 1: canonical: expected an upper-case word, got a string 'Name'",
        variant=["a", "b"],
        canonical=["A", "Name"],
    )
    refused("row 0: variant: expected a name, got a number nan", variant=[float("nan")], canonical=["A"])
    refused("row 1: 'a' is A and B; keep one", variant=["a", "[A]"], canonical=["A", "B"])
    with pytest.raises(UsageError, match="expected a DataFrame"):
        placeholder_table({"a": "A"})
    changed = placeholder_table(pd.DataFrame({"variant": ["Hotel_Name"], "canonical": ["HOTEL"]}))
    assert dict(changed.itertuples(index=False))["hotel_name"] == "HOTEL"
    assert dict(placeholder_table().itertuples(index=False))["hotel_name"] == "NAME"

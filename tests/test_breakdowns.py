"""Breakdowns: parts add up to the whole, and equal what a plain loop over sets counts."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dialogeval as de
from dialogeval.analysis.texts import by_label, missed, turn_table
from dialogeval.exceptions import UnknownNameError, UsageError
from dialogeval.metrics.states import count_triples
from dialogeval.scoring import Scores
from dialogeval.tables import Corpus, Predictions, table

DOMAINS, SLOTS, VALUES = ("hotel", "taxi"), ("area", "day"), ("a", "b", "c")
TRIPLE = st.tuples(st.sampled_from(DOMAINS), st.sampled_from(SLOTS), st.sampled_from(VALUES))
DIALOGUES = st.lists(
    st.lists(st.tuples(st.sets(TRIPLE, max_size=5), st.sets(TRIPLE, max_size=5)), min_size=1, max_size=4),
    min_size=1,
    max_size=4,
)


def state_scores(dialogues: list) -> Scores:
    turns, gold, pred = [], [], []
    for d, dialogue in enumerate(dialogues):
        for t, (g, p) in enumerate(dialogue):
            turns.append((f"d{d}", t, "", "", 0))
            gold += [(f"d{d}", t, *triple) for triple in sorted(g)]
            pred += [(f"d{d}", t, *triple) for triple in sorted(p)]
    corpus = Corpus("toy", turns=table("turns", turns), states=table("states", gold))
    system = Predictions("s", turns=corpus.turns[["dialogue_id", "turn"]], states=table("states", pred))
    return de.score(corpus, system, "lin2021", resamples=0)


def text_scores(pairs: list[tuple[str, int, str, str]]) -> Scores:
    turns = table("turns", [(d, t, "", reference, 0) for d, t, reference, _ in pairs])
    said = table("responses", [(d, t, response) for d, t, _, response in pairs])
    system = Predictions("s", turns=turns[["dialogue_id", "turn"]], responses=said)
    return de.score(Corpus("toy", family="pairs", turns=turns), system, "lai2019", resamples=0)


COUNTS = ["gold", "predicted", "tp", "fp", "fn"]


@settings(max_examples=20, deadline=None)
@given(DIALOGUES)
def test_slots_and_turns_equal_a_loop(dialogues: list) -> None:
    scores = state_scores(dialogues)
    turns = [turn for dialogue in dialogues for turn in dialogue]
    for (domain, slot), row in scores.by("slot").iloc[:-1].iterrows():
        sides = [[{x for x in side if x[:2] == (domain, slot)} for side in turn] for turn in turns]
        assert row["gold"] == sum(len(g) for g, _ in sides)
        assert row["tp"] == sum(len(g & p) for g, p in sides)
    for turn, row in scores.by("turn").iloc[:-1].iterrows():
        here = [d[int(turn)] for d in dialogues if len(d) > int(turn)]
        assert row["turns"] == len(here)
        assert row["joint_goal_accuracy"] == pytest.approx(np.mean([g == p for g, p in here]))
        assert row["slot_f1"] == pytest.approx(de.slot_f1([p for _, p in here], [g for g, _ in here]))


def test_goal_labels_against_scikit_learn() -> None:
    from sklearn.metrics import precision_recall_fscore_support

    names = ["AREA", "NAME", "PHONE", "TIME"]
    rng = np.random.default_rng(3)
    sides = rng.random((2, 30, len(names))) < 0.5
    say = [[" ".join(n for n, on in zip(names, row, strict=True) if on) for row in side] for side in sides]
    scores = text_scores([(f"d{i:02d}", 0, ref, res) for i, (ref, res) in enumerate(zip(*say, strict=True))])
    table_ = by_label(scores).loc[names]
    precision, recall, f1, support = precision_recall_fscore_support(
        sides[0], sides[1], average=None, zero_division=0
    )
    np.testing.assert_allclose(table_[["precision", "recall", "f1"]], 100 * np.c_[precision, recall, f1])
    assert table_["references"].tolist() == support.tolist()
    sums = table_[["tp", "fp", "fn"]].sum()
    assert scores["goal_f1"] == pytest.approx(200 * sums["tp"] / (2 * sums["tp"] + sums["fp"] + sums["fn"]))


def test_turn_table_against_nltk() -> None:
    from nltk.translate.bleu_score import SmoothingFunction, sentence_bleu

    texts = [("a b c d e", "a b c d f"), ("a b c d e f", "x y"), ("a b", "a b")]
    scores = text_scores([("d", i, ref, res) for i, (ref, res) in enumerate(texts)])
    smooth = SmoothingFunction().method1
    expected = [
        100 * sentence_bleu([ref.split()], res.split(), smoothing_function=smooth) for ref, res in texts
    ]
    rows = turn_table(scores)
    assert rows["sentence_bleu"].tolist() == pytest.approx(expected)
    assert rows["sentence_bleu"].mean() == pytest.approx(scores["bleu_4_sentence"])


@given(
    DIALOGUES,
    st.sampled_from(["domain", "slot", "seen_value", "turn", "domains", "type", "language", "corpus"]),
)
def test_parts_add_up_to_the_whole(dialogues: list, by: str) -> None:
    scores = state_scores(dialogues)
    part = scores.by(by, training=scores.gold if by == "seen_value" else None)
    whole = scores.counts[count_triples].sum()
    assert part.iloc[-1][["tp", "fp", "fn"]].tolist() == whole[["tp", "fp", "fn"]].tolist()
    for column in part.attrs["additive"]:
        assert part[column].iloc[:-1].sum() == part[column].iloc[-1]
    assert set(COUNTS) <= set(part.attrs["additive"])
    assert "add up to the row 'all'" in part.attrs["caption"]
    for key in set(scores.table.index) & set(part.columns):
        assert part[key].iloc[-1] == pytest.approx(scores[key])


@given(DIALOGUES)
def test_groups_of_dialogues_equal_scores_of_the_dialogues_alone(dialogues: list) -> None:
    scores = state_scores(dialogues)
    part = scores.by("domains")
    amounts = [len({domain for gold, _ in turns for domain, _, _ in gold}) for turns in dialogues]
    assert list(part.index) == [*map(str, sorted(set(amounts))), "all"]
    for amount in set(amounts):
        alone = state_scores([turns for turns, n in zip(dialogues, amounts, strict=True) if n == amount])
        for key in alone.table.index:
            assert part.at[str(amount), key] == pytest.approx(alone[key])


@given(DIALOGUES)
def test_accuracy_of_a_domain_equals_a_loop(dialogues: list) -> None:
    part = state_scores(dialogues).by("domain")
    turns = [turn for dialogue in dialogues for turn in dialogue]
    for domain in part.index[:-1]:
        sides = [({x for x in g if x[0] == domain}, {x for x in p if x[0] == domain}) for g, p in turns]
        sides = [(g, p) for g, p in sides if g or p]
        assert part.at[domain, "turns"] == len(sides)
        assert part.at[domain, "joint_goal_accuracy"] == pytest.approx(np.mean([g == p for g, p in sides]))


def test_seen_values() -> None:
    gold = {("hotel", "area", "a"), ("hotel", "day", "b")}
    scores = state_scores([[(gold, {("hotel", "area", "a"), ("hotel", "day", "c")})]])
    training = Corpus(
        "train", states=table("states", [("x", 0, "hotel", "area", "a"), ("x", 0, "hotel", "day", "c")])
    )
    part = scores.by("seen_value", training=training)
    assert part.loc["seen", COUNTS].tolist() == [1, 2, 1, 1, 0]
    assert part.loc["unseen", COUNTS].tolist() == [1, 0, 0, 0, 1]
    with pytest.raises(UsageError):
        scores.by("seen_value")


@pytest.mark.parametrize(
    ("name", "types"), [("crosswoz_en", ["S", "M", "M+T", "CM", "CM+T"]), ("multiwoz", ["single", "multi"])]
)
def test_types_are_in_their_order(name: str, types: list[str]) -> None:
    gold = de.load_corpus(f"sample/{name}")
    part = de.score(gold, gold, "lin2021", resamples=0).by("type")
    assert list(part.index) == [*types, "all"]
    assert part["dialogues"].iloc[:-1].sum() == part["dialogues"].iloc[-1] == 60


def test_several_corpora_in_one_table() -> None:
    english, chinese = (de.load_corpus(f"sample/{name}") for name in ("crosswoz_en", "crosswoz"))
    results = [de.score(c, c, "lin2021", resamples=0) for c in (english, chinese)]
    part = de.breakdown(results, "language")
    assert list(part.index) == ["en", "zh", "all"]
    assert part.at["all", "turns"] == len(english.turns) + len(chinese.turns)
    assert part["joint_goal_accuracy"].tolist() == [1, 1, 1]
    together = de.breakdown(results, "slot")
    assert together[COUNTS].iloc[:-1].sum().tolist() == together[COUNTS].iloc[-1].tolist()
    other = de.score(english, english, "dstc9", resamples=0)
    with pytest.raises(UsageError):
        de.breakdown([results[0], other], "language")


def test_groups_of_your_own() -> None:
    right, wrong = (set(), set()), (set(), {("hotel", "area", "a")})
    scores = state_scores([[right], [wrong, wrong], [right]])
    part = scores.by(pd.Series({"d0": "easy", "d1": "hard", "d2": "easy"}, name="level"))
    assert part["joint_goal_accuracy"].to_dict() == {"easy": 1, "hard": 0, "all": 0.5}
    assert part.index.name == "level"
    with pytest.raises(UsageError):
        scores.by(pd.Series({"d1": "hard"}))
    with pytest.raises(UnknownNameError):
        scores.by("domian")


def test_texts_have_parts_but_for_types_and_triples() -> None:
    gold = de.load_corpus("sample/multiwoz")
    scores = de.score(gold, de.as_predictions(gold), "lai2019", resamples=0)
    part = scores.by("domains")
    assert part["dialogues"].iloc[:-1].sum() == 60
    assert part.at["all", "bleu_4"] == pytest.approx(scores["bleu_4"])
    assert part.attrs["left_out"] == ["distinct_1", "distinct_2", "distinct_utterances"]
    assert "goal_f1" in part and "goal_f1" not in scores.by("turn")
    for look in (lambda: scores.by("slot"), lambda: de.errors(scores), lambda: de.errors("scores")):
        with pytest.raises(UsageError):
            look()
    with pytest.raises(UsageError):
        de.breakdown([scores, "scores"], "turn")


def test_groups_of_responses_are_the_corpus_bleu_of_their_turns() -> None:
    from nltk.translate.bleu_score import corpus_bleu

    gold = de.load_corpus("sample/multiwoz")
    scores = de.score(gold, "sample/predictions/multiwoz/generator_bland.json.gz", "lai2019", resamples=0)
    texts, part = turn_table(scores), scores.by("length")
    own = texts[texts["response_length"].between(6, 10)]
    expected = corpus_bleu([[t.split()] for t in own["reference"]], [t.split() for t in own["response"]])
    assert part.loc["6–10", "turns"] == len(own)
    assert part.loc["6–10", "bleu_4"] == pytest.approx(100 * expected)
    names = [[set(re.findall("[A-Z]{2,}", t)) for t in own[side]] for side in ("reference", "response")]
    found = sum(len(a & b) for a, b in zip(*names, strict=True)) / sum(map(len, names[0]))
    assert part.loc["6–10", "placeholders_found"] == pytest.approx(100 * found)
    acts = gold.acts[gold.acts["speaker"] == "system"]
    for by in ("domain", "act"):
        places = acts.assign(group=acts[by].str.lower())[["group", "dialogue_id", "turn"]].drop_duplicates()
        counted = scores.by(by)["turns"].drop(["all", "none"], errors="ignore")
        assert counted.to_dict() == places["group"].value_counts().to_dict()
    bare = de.score(replace(gold, acts=gold.acts.iloc[:0]), de.as_predictions(gold), "lai2019", resamples=0)
    with pytest.raises(UsageError):
        bare.by("act")


def test_what_responses_miss() -> None:
    scores = text_scores([("d", 0, "call [hotel_phone] or call NAME now", "call [hotel_address] now")])
    assert missed(scores).iloc[0, -3:].tolist() == ["call PHONE or NAME", "NAME PHONE", "ADDRESS"]


def test_parts_of_real_systems(real_data, real_cases) -> None:
    gold = de.load_corpus("multiwoz21", "test", home=real_data)
    training = de.load_corpus("multiwoz21", "val", home=real_data)
    pred = de.load_predictions(real_cases / "states" / "pptod.jsonl.gz")
    for protocol in ("trade", "mwzeval", "convlab-filtered"):
        scores = de.score(gold, pred, protocol, missing="skip", resamples=0)
        whole = count_triples(scores.pair).sum()
        for by in ("domain", "slot", "turn", "domains", "type", "seen_value"):
            part = scores.by(by, training=training)
            assert part[COUNTS].iloc[:-1].sum().tolist() == part[COUNTS].iloc[-1].tolist()
            assert part[["tp", "fp", "fn"]].iloc[-1].tolist() == whole[["tp", "fp", "fn"]].tolist()
            if by in ("turn", "domains", "type"):
                for key in scores.table.index:
                    assert part.at["all", key] == pytest.approx(scores[key], abs=1e-12)

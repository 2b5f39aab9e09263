"""Delexicalisation and model input: hand-worked examples, properties, and the published references."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dialogeval as de
from dialogeval.corpora.load import load_corpus
from dialogeval.delex import delexicalization_report, delexicalize, delexicalize_text
from dialogeval.exceptions import UnknownNameError, UsageError
from dialogeval.placeholders import canonicalize_placeholders, slot_placeholder
from dialogeval.tables import Corpus, table

PLACEHOLDER = re.compile(r"\[[a-z_]+\]")


def corpus_of(system: str, language: str = "en", **rows: list[tuple]) -> Corpus:
    tables = {kind: table(kind, lists) for kind, lists in rows.items()}
    tables.setdefault("dialogues", table("dialogues", [("d", "d", "")]))
    return Corpus("toy", language=language, turns=table("turns", [("d", 0, "hello", system, 0)]), **tables)


def said(corpus: Corpus, **options: str) -> str:
    return delexicalize(corpus, **options)["response"].iloc[0]


# One utterance ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "spans", "expected"),
    [
        ("It is in the North .", [("hotel", "area", "north", 4, 4)], "it is in the [value_area] ."),
        ("two museums .", [("attraction", "type", "museum", 1, 1)], "two [value_type]s ."),
        ("nice churches here", [("attraction", "type", "church", 1, 1)], "nice [value_type]es here"),
        ("the centre- side", [("hotel", "area", "centre", 1, 1)], "the [value_area]- side"),
        ("city b and b.", [("hotel", "name", "city b and b", 0, 3)], "[value_name]."),
        # The annotated value is not what stands there: the whole tokens go.
        ("a 3-star inn", [("hotel", "stars", "3", 1, 1)], "a [value_stars] inn"),
        ("for three nights", [("booking", "stay", "3", 1, 1)], "for [value_stay] nights"),
        ("at 8:11pm", [("train", "leave", "8:11", 1, 1)], "at [value_leave]"),
        ("by 15:15", [("taxi", "arrive", "5:15", 1, 1)], "by [value_arrive]"),
        ("pay 10.10 now", [("train", "ticket", "10", 1, 1)], "pay [value_price] now"),
        # The longest of overlapping spans wins, whatever their order.
        (
            "the old inn north",
            [("hotel", "area", "north", 3, 3), ("hotel", "name", "the old inn north", 0, 3)],
            "[value_name]",
        ),
        ("a b c", [("hotel", "name", "a b", 0, 1), ("hotel", "addr", "b c", 1, 2)], "[value_name] c"),
        # Nothing to put in, nothing to replace, nothing there.
        ("it has parking", [("hotel", "parking", "parking", 2, 2)], "it has parking"),
        ("any time", [("train", "leave", "dontcare", 0, 1)], "any time"),
        ("short", [("hotel", "area", "north", 4, 4), ("hotel", "area", "north", -1, 0)], "short"),
        ("", [], ""),
    ],
)
def test_spans_of_one_utterance(text: str, spans: list[tuple], expected: str) -> None:
    assert delexicalize_text(text, spans) == expected


def test_styles_and_case() -> None:
    text, spans = "Museums In Town", [("attraction", "type", "museum", 0, 0)]
    assert delexicalize_text(text, spans, case="keep") == "[value_type]s In Town"
    assert delexicalize_text(text, spans, "domain") == "[attraction_type]s in town"
    assert delexicalize_text(text, spans, "canonical") == "TYPE in town"
    with pytest.raises(UnknownNameError, match="did you mean domain"):
        delexicalize_text(text, spans, "domains")
    with pytest.raises(UnknownNameError, match="case"):
        delexicalize_text(text, spans, case="upper")


def test_the_domain_decides_what_a_slot_means() -> None:
    assert slot_placeholder("train", "time") == "[value_duration]"
    assert slot_placeholder("booking", "time") == "[value_time]"
    assert slot_placeholder("attraction", "price") == "[value_price]"
    assert slot_placeholder("hotel", "price") == "[value_pricerange]"
    assert slot_placeholder("booking", "ref", "domain") == "[reference]"
    assert slot_placeholder("餐馆", "周边酒店", "domain") == "[hotel_name]"
    assert slot_placeholder("Hotel", "Hotel facilities - Gym") is None


words = st.text(st.characters(whitelist_categories=("Ll", "Lu", "Nd", "Po")), min_size=1, max_size=6)


@given(st.lists(words, max_size=12), st.data())
def test_text_outside_spans_is_unchanged(tokens: list[str], data: st.DataObject) -> None:
    text = " ".join(tokens)
    pairs = st.tuples(st.integers(0, 12), st.integers(0, 3)).map(lambda p: (p[0], p[0] + p[1]))
    chosen = data.draw(st.lists(pairs, max_size=4))
    spans = [("hotel", "name", "no such value", start, end) for start, end in chosen]
    result = delexicalize_text(text, spans, case="keep")
    inside = {i for start, end in chosen if end < len(tokens) for i in range(start, end + 1)}
    outside = [t for i, t in enumerate(tokens) if i not in inside]
    left = iter(result.split())
    assert all(any(token == found for found in left) for token in outside)
    # Every token is either there or was part of a marked span.
    kept = [t for t in result.split() if t != "[value_name]"]
    assert len(kept) >= len(outside)
    assert bool(inside) == ("[value_name]" in result)


@given(st.text(max_size=60))
def test_without_annotation_only_the_case_changes(text: str) -> None:
    assert delexicalize_text(text, [], case="keep") == text
    assert said(corpus_of(text)) == text.lower()


# Corpora with and without spans ------------------------------------------------------------------


def test_acts_fill_in_for_missing_spans() -> None:
    corpus = corpus_of(
        "Ask is Italian , in the centre",
        acts=[
            ("d", 0, "system", "restaurant", "inform", s, v)
            for s, v in (("name", "ask"), ("food", "italian"))
        ],
        spans=[("d", 0, "system", "restaurant", "inform", "name", "ask", 0, 0)],
        # Where a corpus has spans, state and ontology are not searched.
        states=[("d", 0, "restaurant", "area", "centre")],
    )
    result = delexicalize(corpus)
    assert result["response"].tolist() == ["[value_name] is [value_food] , in the centre"]
    assert result.attrs["counts"] == {"act values replaced": 1, "span values replaced": 1}


def test_longest_match_over_all_sources() -> None:
    corpus = corpus_of(
        "The Grand Hotel North is north of 12:30, not 30.",
        acts=[
            ("d", 0, "system", "hotel", "inform", "area", "North"),
            ("d", 0, "system", "hotel", "inform", "choice", "30"),
        ],
        states=[("d", 0, "hotel", "name", "grand hotel")],
        goals=[("d", "hotel", "inform", "name", "The Grand Hotel North")],
    )
    assert said(corpus) == "[value_name] is [value_area] of 12:30, not [value_choice]."


def test_whole_words_in_english_and_substrings_in_chinese() -> None:
    english = corpus_of("northern inns", states=[("d", 0, "hotel", "area", "north")])
    assert said(english) == "northern inns"
    chinese = corpus_of(
        "市中心的便宜餐厅在12:30开门，评分5分。",
        language="zh",
        acts=[
            ("d", 0, "system", "餐厅", "通知", "区域", "市中心"),
            ("d", 0, "system", "餐厅", "通知", "价格", "便宜的"),
            ("d", 0, "system", "餐厅", "通知", "人数", "2"),
            ("d", 0, "system", "餐厅", "通知", "评分", "5分"),
        ],
    )
    result = delexicalize(chinese)
    assert (
        result["response"].iloc[0] == "[value_area]的[value_pricerange]餐厅在12:30开门，评分[value_rating]。"
    )
    assert result.attrs["counts"] == {"act values left: not in the text": 1, "act values replaced": 3}


def test_spellings_that_are_one() -> None:
    corpus = corpus_of(
        "Go to Guidu Hotel(Beijing).",
        acts=[("d", 0, "system", "Hotel", "Inform", "name", "Guidu\xa0Hotel（Beijing） ")],
    )
    assert said(corpus) == "go to [value_name]."


def test_ontology_noise_is_left_and_annotated_slots_win() -> None:
    corpus = corpus_of(
        "free entry to the museum",
        ontology=[("attraction", "name", "free"), ("attraction", "fee", "free"), ("taxi", "to", "museum")],
        acts=[("d", 0, "user", "attraction", "inform", "fee", "free")],
    )
    assert said(corpus) == "[value_price] entry to the museum"
    alone = corpus_of("free entry", ontology=[("attraction", "fee", "free")])
    assert said(alone) == "[value_price] entry"


def test_delexicalizing_twice_changes_nothing() -> None:
    rows = {"states": [("d", 0, "hotel", "name", "name"), ("d", 0, "hotel", "type", "value")]}
    once = said(corpus_of("name of value , [name] [value_name]", **rows))
    assert once == "[value_name] of [value_type] , [name] [value_name]"
    assert said(corpus_of(once, **rows)) == once


def test_report_and_speakers() -> None:
    corpus = Corpus(
        "toy",
        turns=table("turns", [("d", 0, "I want the North", "the south", 0)]),
        spans=table(
            "spans",
            [
                ("d", 0, "user", "hotel", "inform", "area", "north", 3, 3),
                ("d", 0, "system", "hotel", "inform", "parking", "south", 1, 1),
                ("d", 0, "system", "hotel", "inform", "area", "south", 9, 9),
                ("d", 0, "system", "hotel", "inform", "area", "so", 1, 1),
                ("d", 0, "system", "hotel", "inform", "name", "the south", 0, 1),
            ],
        ),
    )
    assert delexicalize(corpus, speaker="user")["response"].tolist() == ["i want the [value_area]"]
    assert delexicalization_report(corpus)["count"].to_dict() == {
        "span values left: no placeholder for parking": 1,
        "span values left: outside the text": 1,
        "span values left: within a longer span": 1,
        "span values replaced": 1,
        "span values whose text differs": 1,
    }
    with pytest.raises(UnknownNameError, match="speaker"):
        delexicalize(corpus, speaker="wizard")


def test_an_empty_corpus() -> None:
    assert list(delexicalize(Corpus("toy")).columns) == ["dialogue_id", "turn", "response"]
    assert delexicalization_report(Corpus("toy")).empty


# Model input -------------------------------------------------------------------------------------


def dialogue(turns: int, words: int = 2) -> Corpus:
    rows = [("d", t, f"u{t} " * words, f"s{t} " * words, 0) for t in range(turns)]
    goals = [
        ("d", "hotel", "inform", "area", "x"),
        ("d", "hotel", "request", "area", ""),
        ("d", "bus", "inform", "to", "y"),
    ]
    return Corpus(
        "toy",
        dialogues=table("dialogues", [("d", "d", ""), ("e", "e", "")]),
        turns=table("turns", rows),
        goals=table("goals", goals),
    )


def test_histories_are_cut_to_the_last_utterances() -> None:
    inputs = de.lai_inputs(dialogue(3, words=1), max_turns=2)
    assert inputs.examples["history"].tolist() == [
        "<user> u0",
        "<system> s0 <user> u1",
        "<system> s1 <user> u2",
    ]
    assert inputs.examples["target"].tolist() == ["s0", "s1", "s2"]
    assert inputs.counts["histories cut"] == 2
    assert inputs.counts["utterances cut from histories"] == 1 + 3
    paper = de.lai_inputs(dialogue(13, words=1)).counts
    assert (paper["histories cut"], paper["utterances cut from histories"]) == (2, 1 + 3)


def test_utterances_are_cut_to_the_first_tokens() -> None:
    inputs = de.lai_inputs(dialogue(1, words=40))
    assert len(inputs.examples["target"].iloc[0].split()) == 36
    assert inputs.counts["utterances over the token limit"] == 2
    assert inputs.counts["tokens cut"] == 8


def test_goal_vectors_and_their_layout() -> None:
    inputs = de.lai_inputs(dialogue(2))
    assert inputs.layout.values.tolist() == [["bus", "to"], ["hotel", "area"]]
    assert inputs.goals.dtype == np.uint8
    assert inputs.goals.tolist() == [[1, 1], [0, 0]]
    assert inputs.goal_of().tolist() == [[1, 1], [1, 1]]
    other = de.lai_inputs(dialogue(1), layout=pd.DataFrame({"domain": ["hotel"], "slot": ["area"]}))
    assert other.goals.tolist() == [[1], [0]]
    assert other.counts["goal slots not in the layout"] == 1


def test_vocabulary_counts_every_utterance_once() -> None:
    inputs = de.lai_inputs(dialogue(2, words=3))
    vocab = inputs.vocabulary().set_index("token")["count"]
    assert vocab.index[:6].tolist() == ["<pad>", "<unk>", "<bos>", "<eos>", "<user>", "<system>"]
    assert vocab["u0"] == 3 and len(vocab) == 6 + 4
    assert inputs.summary().loc["vocabulary of Lai et al. 2019", "count"] == 4258


@pytest.mark.parametrize("options", [{"max_turns": 0}, {"max_tokens": 1.5}])
def test_limits_are_checked(options: dict) -> None:
    with pytest.raises(UsageError):
        de.lai_inputs(dialogue(1), **options)


def test_model_input_does_not_depend_on_row_order() -> None:
    corpus = dialogue(4)
    shuffled = Corpus(
        "toy",
        dialogues=corpus.dialogues,
        turns=corpus.turns.iloc[[2, 0, 3, 1]],
        goals=corpus.goals.iloc[::-1],
    )
    a, b = de.lai_inputs(corpus), de.lai_inputs(shuffled)
    assert a.examples.equals(b.examples.sort_values("turn").reset_index(drop=True))
    assert (a.goals == b.goals).all()
    assert a.counts == b.counts


@given(st.text(max_size=20))
def test_tokens_keep_every_visible_character(text: str) -> None:
    turns = table("turns", [("d", 0, "", text, 0)])
    (target,) = de.lai_inputs(Corpus("toy", turns=turns)).examples["target"]
    assert "".join(target.split()) == "".join(delexicalize(Corpus("toy", turns=turns))["response"][0].split())


# Real corpora ------------------------------------------------------------------------------------


def test_multiwoz_agrees_with_published_references(real_data: Path, real_cases: Path) -> None:
    """Slot labels per turn against references that others delexicalised.

    They rest on annotations of the same dialogues, so agreement says that the placeholders and their
    names are as published, not that the annotation is right.
    """
    result = delexicalize(load_corpus("multiwoz21", split="test", home=real_data))
    texts, unknown = canonicalize_placeholders(result["response"].tolist())
    assert not unknown
    ours = {
        key: set(re.findall(r"\b[A-Z]{2,}\b", text))
        for key, text in zip(zip(result["dialogue_id"], result["turn"], strict=True), texts, strict=True)
    }
    same = more = less = 0
    with gzip.open(real_cases / "responses" / "ubar.pairs.jsonl.gz", "rt", encoding="utf-8") as lines:
        for line in map(json.loads, lines):
            theirs = set(re.findall(r"\b[A-Z]{2,}\b", line["reference"]))
            found = ours[line["dialogue_id"], line["turn"]]
            same, more, less = (
                same + len(found & theirs),
                more + len(found - theirs),
                less + len(theirs - found),
            )
    assert 2 * same / (2 * same + more + less) > 0.999


def test_multiwoz_counts_and_styles(real_data: Path) -> None:
    corpus = load_corpus("multiwoz21", split="test", home=real_data)
    result = delexicalize(corpus)
    counts = result.attrs["counts"]
    spans = int((corpus.spans["speaker"] == "system").sum())
    left = sum(n for what, n in counts.items() if what.startswith("span values left"))
    assert counts["span values replaced"] + left == spans
    assert left < 0.01 * spans
    found = sum(len(PLACEHOLDER.findall(text)) for text in result["response"])
    assert found == counts["span values replaced"] + counts["act values replaced"]
    assert not canonicalize_placeholders(delexicalize(corpus, style="domain")["response"].tolist())[1]
    canonical = delexicalize(corpus, style="canonical")["response"].tolist()
    assert canonical == canonicalize_placeholders(result["response"].tolist())[0]


@pytest.mark.parametrize(
    ("name", "share"), [("multiwoz_zh", 0.79), ("crosswoz", 0.97), ("crosswoz_en", 0.91)]
)
def test_corpora_without_spans(real_data: Path, name: str, share: float) -> None:
    corpus = load_corpus(name, split="test", home=real_data)
    counts = delexicalize(corpus).attrs["counts"]
    done, left = counts["act values replaced"], counts["act values left: not in the text"]
    assert done / (done + left) > share
    again = Corpus(**{**vars(corpus), "turns": corpus.turns.assign(system=delexicalize(corpus)["response"])})
    assert delexicalize(again)["response"].equals(again.turns["system"])


def test_every_annotated_slot_has_an_entry(real_data: Path) -> None:
    from dialogeval.placeholders import _slots

    known = {slot for _, slot in _slots()}
    for name in ("multiwoz20", "multiwoz21", "multiwoz_zh", "crosswoz", "crosswoz_en"):
        corpus = load_corpus(name, split="test", home=real_data)
        for frame in (corpus.acts, corpus.states, corpus.spans):
            slots = set(frame["slot"].str.lower().str.strip())
            slots = {
                s.partition("-")[0].strip() if s.partition("-")[0].strip() in known else s for s in slots
            }
            assert slots <= known, name


def test_lai_inputs_of_multiwoz(real_data: Path) -> None:
    inputs = de.lai_inputs(load_corpus("multiwoz21", split="test", home=real_data))
    assert len(inputs.examples) == 7372
    assert inputs.goals.shape[0] == 1000
    assert inputs.goals.any(axis=1).all()
    assert 1500 < len(inputs.vocabulary()) < 4258
    lengths = inputs.examples["target"].str.split().str.len()
    assert lengths.max() == 36


def test_references_follow_a_corpus_that_is_changed_in_place() -> None:
    gold = de.load_corpus("sample/multiwoz")
    before = de.score(gold, de.as_predictions(gold), "lai2019", resamples=0).pairs["text"].references
    again = de.score(gold, de.as_predictions(gold), "lai2019", resamples=0).pairs["text"].references
    gold.turns.loc[0, "system"] = "something else"
    changed = de.score(gold, de.as_predictions(gold), "lai2019", resamples=0).pairs["text"].references
    assert before == again
    assert sum(a != b for a, b in zip(before, changed, strict=True)) == 1

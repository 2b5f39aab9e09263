"""Baselines: hand-worked predictions, determinism, and plausible scores on the real corpora."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

import dialogeval as de
from dialogeval.exceptions import UnknownNameError, UsageError
from dialogeval.tables import Corpus, Predictions, table

TRACKERS = ("empty", "carry-over", "value-matching")
GENERATORS = ("most-frequent", "nearest-neighbour", "ngram")
AREAS = ("north", "south", "centre")
CITIES = ("ely", "leeds", "york")


def small_corpus(first: int = 0, count: int = 12) -> Corpus:
    """Dialogues on a hotel (a price, then an area) and a train (from one city to another)."""
    turns, states, goals, dialogues = [], [], [], []
    for i in range(first, first + count):
        d, area, price = f"d{i:02}", AREAS[i % 3], ("cheap", "dear")[i % 2]
        start, end = CITIES[i % 3], CITIES[(i + 1 + i % 2) % 3]
        dialogues.append((d, d.upper(), ""))
        goals += [(d, "hotel", "inform", "area", area), (d, "train", "inform", "to", end)]
        turns += [
            (d, 0, f"find me a {price} hotel", "which area would you like ?", 0),
            (d, 1, f"in the {area} please", "booked . anything else ?", 0),
            (d, 2, f"a train from {start} to {end} please", "there is one at noon", 0),
            (d, 3, "thanks , bye", "you are welcome", 0),
        ]
        state = [("hotel", "price", price)]
        for turn, new in enumerate(
            [[], [("hotel", "area", area)], [("train", "from", start), ("train", "to", end)], []]
        ):
            state = state + new
            states += [(d, turn, *row) for row in state]
    return corpus_of(turns, states, dialogues=table("dialogues", dialogues), goals=table("goals", goals))


def corpus_of(turns: list, states: list = [], **more) -> Corpus:  # noqa: B006
    return Corpus("toy", turns=table("turns", turns), states=table("states", states), **more)


def shuffled(corpus: Corpus, seed: int) -> Corpus:
    kinds = ("dialogues", "turns", "states", "goals")
    return replace(
        corpus, **{kind: getattr(corpus, kind).sample(frac=1, random_state=seed) for kind in kinds}
    )


def content(predictions: Predictions) -> list[tuple]:
    frame = predictions.states if predictions.states is not None else predictions.responses
    return sorted(frame.itertuples(index=False, name=None))


def answers(name: str, train: Corpus, test: Corpus) -> list[str]:
    return de.run_baseline(name, train, test).responses["response"].tolist()


def accuracy(name: str, train: Corpus, test: Corpus) -> float:
    return de.score(test, de.run_baseline(name, train, test), "lin2021", resamples=0)["joint_goal_accuracy"]


# All baselines -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [*TRACKERS, *GENERATORS])
def test_shape_determinism_and_independence_of_row_order_and_gold(name: str) -> None:
    train, test = small_corpus(0), small_corpus(12, 6)
    found = de.run_baseline(name, train, test)
    assert found.name == name and found.turns.equals(test.turns[["dialogue_id", "turn"]])
    assert (found.states is None) == (found.responses is not None) == (name in GENERATORS)
    if name in GENERATORS:
        assert found.responses["response"].str.len().gt(0).all()
    else:
        assert found.states.dtypes.equals(test.states.dtypes)
    assert content(de.run_baseline(name, shuffled(train, 3), shuffled(test, 5))) == content(found)
    if name != "carry-over":
        blind = replace(test, states=table("states"))
        assert content(de.run_baseline(name, train, blind)) == content(found)
    assert content(de.run_baseline(name, train, Corpus("none"))) == []


def test_refusals() -> None:
    corpus = small_corpus()
    with pytest.raises(UnknownNameError, match="did you mean carry-over"):
        de.run_baseline("carryover", corpus, corpus)
    with pytest.raises(UsageError, match="load_corpus"):
        de.run_baseline("empty", corpus, "sample/multiwoz")
    for name in (*GENERATORS, "value-matching"):
        with pytest.raises(UsageError):
            de.run_baseline(name, Corpus("none"), corpus)


# Trackers ----------------------------------------------------------------------------------------


def test_empty_and_carry_over() -> None:
    corpus = small_corpus(0, 2)
    assert content(de.run_baseline("empty", corpus, corpus)) == []
    assert accuracy("carry-over", corpus, corpus) == 2 / 8  # only the last turns change nothing
    # By position, where turn numbers jump.
    jumping = corpus_of([("d", 2, "a", "b", 0), ("d", 5, "c", "d", 0)], [("d", 2, "hotel", "area", "north")])
    assert content(de.run_baseline("carry-over", jumping, jumping)) == [("d", 5, "hotel", "area", "north")]


def test_value_matching_tells_slots_apart_by_their_cues_keeps_and_replaces() -> None:
    train = small_corpus(0)
    assert accuracy("value-matching", train, small_corpus(12, 6)) == 1.0
    said = ["find me a cheap hotel", "thanks", "find me a dear hotel"]
    test = corpus_of([("x", turn, text, "which area ?", 0) for turn, text in enumerate(said)])
    found = de.run_baseline("value-matching", train, test).states
    assert found["value"].tolist() == ["cheap", "cheap", "dear"]


def test_value_matching_learns_phrases_for_values_that_are_not_said() -> None:
    values = ["centre"] * 4 + ["north"] * 2
    turns = [(f"d{i}", 0, f"a place in the {v.replace('re', 'er')}", "ok", 0) for i, v in enumerate(values)]
    corpus = corpus_of(turns, [(f"d{i}", 0, "hotel", "area", v) for i, v in enumerate(values)])
    assert accuracy("value-matching", corpus, corpus) == 1.0


def test_value_matching_in_chinese() -> None:
    cities = ("北京", "上海", "广州")
    turns, states = [], []
    for i in range(12):
        a, b = cities[i % 3], cities[(i + 1 + i % 2) % 3]
        turns.append((f"d{i}", 0, f"从{a}出发到{b}去", "好的", 0))
        states += [(f"d{i}", 0, "列车", "出发地", a), (f"d{i}", 0, "列车", "目的地", b)]
    corpus = corpus_of(turns, states, language="zh")
    assert accuracy("value-matching", corpus, corpus) == 1.0


# Generators --------------------------------------------------------------------------------------


def test_most_frequent_response_against_a_count() -> None:
    train = small_corpus(0)
    counts = Counter(de.delexicalize(train)["response"])
    best = min(counts, key=lambda text: (-counts[text], text))
    assert set(answers("most-frequent", train, small_corpus(12))) == {best}


def test_nearest_neighbour() -> None:
    corpus = small_corpus(0)
    assert answers("nearest-neighbour", corpus, corpus) == de.delexicalize(corpus)["response"].tolist()
    # It hears the system turn before.
    turns = [("a", 0, "hi", "what price ?", 0), ("a", 1, "any", "cheap then", 0)]
    turns += [("b", 0, "hi", "which area ?", 0), ("b", 1, "any", "north then", 0)]
    test = corpus_of([("c", 0, "x", "so which area ?", 0), ("c", 1, "any", "?", 0)])
    # "x" is unknown: the most frequent training response, the first in the alphabet.
    assert answers("nearest-neighbour", corpus_of(turns), test) == ["cheap then", "north then"]
    silent = corpus_of([("a", 0, "", "yes", 0), ("b", 0, " ", "yes", 0), ("c", 0, "", "no", 0)])
    assert set(answers("nearest-neighbour", silent, silent)) == {"yes"}


def test_ngram_model_follows_the_goal_backs_off_and_stops() -> None:
    turns = [(f"h{i}", 0, "a", "a fine hotel", 0) for i in range(10)]
    turns += [(f"t{i}", 0, "a", "the train leaves", 0) for i in range(11)]
    goals = [(d, "hotel" if d[0] == "h" else "train", "inform", "x", "y") for d, *_ in turns]
    wishes = [("p", "hotel"), ("q", "train"), ("r", "hotel"), ("r", "train")]
    found = de.run_baseline(
        "ngram",
        corpus_of(turns, goals=table("goals", goals)),
        corpus_of(
            [(d, 0, "b", "", 0) for d in "pqrs"],
            goals=table("goals", [(d, domain, "inform", "x", "y") for d, domain in wishes]),
        ),
    )
    assert found.responses["response"].tolist() == ["a fine hotel"] + ["the train leaves"] * 3
    assert len(found.notes) == 1 and "2 dialogues" in found.notes[0]
    loop = corpus_of([(f"d{i}", 0, "x", "a " * 60, 0) for i in range(3)])
    assert answers("ngram", loop, loop) == [" ".join("a" * 36)] * 3


# Real corpora ------------------------------------------------------------------------------------


def some(corpus: Corpus, most: int) -> Corpus:
    return corpus.select(corpus.dialogues["dialogue_id"].head(most))


@pytest.mark.parametrize(
    ("name", "least"), [("multiwoz21", 0.2), ("crosswoz", 0.17), ("crosswoz_en", 0.15), ("multiwoz_zh", 0.15)]
)
def test_value_matching_on_real_corpora(real_data: Path, name: str, least: float) -> None:
    corpus = de.load_corpus(name, split="test", home=real_data)
    ids = corpus.dialogues["dialogue_id"].tolist()
    half = len(ids) // 2
    train, test = corpus.select(ids[:half]), corpus.select(ids[half : half + 250])
    assert accuracy("value-matching", train, test) > max(least, accuracy("empty", train, test))


def test_generators_on_multiwoz(real_data: Path) -> None:
    train = some(de.load_corpus("multiwoz21", split="val", home=real_data), 300)
    test = some(de.load_corpus("multiwoz21", split="test", home=real_data), 200)
    found = {
        name: de.score(test, de.run_baseline(name, train, test), "lai2019", resamples=0)["bleu_4"]
        for name in GENERATORS
    }
    assert found["nearest-neighbour"] > max(found["most-frequent"], found["ngram"])

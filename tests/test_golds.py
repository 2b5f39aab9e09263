"""Gold versions: which states count as right, what else does, and how many slots there are."""

from __future__ import annotations

from pathlib import Path

import pytest

import dialogeval as de
from dialogeval.exceptions import UsageError
from dialogeval.golds import GOLDS, gold_of, in_version, ontology_size
from dialogeval.metrics.states import count_triples
from dialogeval.tables import COLUMNS, Corpus, table

STATES = [
    ("d", 0, "Hotel", "price", "Low"),
    ("d", 1, "Hotel", "price", "a|b"),
    ("d", 1, "警察机关", "电话", "1"),
]
CORPUS = Corpus(
    "crosswoz_en",
    family="crosswoz",
    turns=table("turns", [("d", 0, "u", "s", 0), ("d", 1, "u", "s", 0)]),
    states=table("states", STATES),
    alternatives=table("alternatives", [("d", 0, "Hotel", "name", n) for n in ("Inn", "Old Inn")]),
    corrections=table("corrections", [("d", 1, "Hotel", "name", "New Inn")]),
    layouts=table("layouts", [(0, "Hotel", "price"), (0, "Hotel", "name"), (0, "警察机关", "电话")]),
)


def rows(frame) -> list[list]:
    return frame.to_numpy().tolist()


def test_annotated() -> None:
    gold = GOLDS["annotated"](CORPUS)
    assert rows(gold.states) == [list(r) for r in STATES]
    # The offered names of CrossWOZ are DSTC9's rule, not part of the annotation.
    assert len(gold.alternatives) == 0
    several = Corpus("sgd", family="schema_guided", states=CORPUS.states, alternatives=CORPUS.alternatives)
    assert len(GOLDS["annotated"](several).alternatives) == 2


def test_dstc9() -> None:
    gold = GOLDS["dstc9"](CORPUS)
    assert rows(gold.states) == [*[list(r) for r in STATES[:2]], ["d", 0, "Hotel", "name", "Inn"]]
    assert gold.alternatives["value"].tolist() == ["Inn", "Old Inn"]
    assert gold.layouts["domain"].tolist() == ["Hotel", "Hotel"]


def test_dstc9_corrected() -> None:
    gold = GOLDS["dstc9-corrected"](CORPUS)
    assert rows(gold.states)[-1] == ["d", 1, "Hotel", "name", "New Inn"]
    assert len(gold.states) == 3
    assert len(gold.alternatives) == 0
    with pytest.raises(
        UsageError, match=r"multiwoz21/all@unknown has no corrected names; protocol dstc9-corrected is"
    ):
        GOLDS["dstc9-corrected"](Corpus("multiwoz21", family="multiwoz"))


def test_bars() -> None:
    gold = GOLDS["bars"](CORPUS)
    assert rows(gold.states) == [list(r) for r in STATES]
    said = table("states", [("d", 0, "Hotel", "price", "Low|Mid"), ("d", 1, "Hotel", "price", "c|b")])
    right = de.score(CORPUS, de.predictions_from(said, turns=CORPUS.turns), "convlab-filtered", resamples=0)
    assert right.counts[count_triples]["tp"].tolist() == [1, 1]


@pytest.mark.parametrize("version", GOLDS.keys() - {"frames"})
def test_versions_have_the_columns_of_states(version: str) -> None:
    gold = gold_of(CORPUS, version, ("case:lower",))
    for frame in (gold.states, gold.alternatives):
        assert tuple(frame.columns) == COLUMNS["states"]
    assert tuple(gold.layouts.columns) == COLUMNS["layouts"]
    assert rows(CORPUS.states) == [list(r) for r in STATES]  # the corpus itself is not changed


def test_values_and_slots_are_normalized_alike() -> None:
    gold = gold_of(CORPUS, "dstc9", ("case:lower", "space:remove", "slots:multiwoz22"))
    assert gold.states["slot"].tolist() == ["pricerange", "pricerange", "name"]
    assert gold.states["value"].tolist() == ["low", "a|b", "inn"]
    assert gold.alternatives["value"].tolist() == ["inn", "oldinn"]


def test_a_corpus_in_a_version() -> None:
    assert in_version(CORPUS, "annotated") is CORPUS
    assert in_version(CORPUS, "dstc9").states["value"].tolist() == ["Low", "a|b", "Inn"]
    assert de.score(CORPUS, CORPUS, "dstc9", resamples=0)["joint_goal_accuracy"] == 1
    assert de.score(CORPUS, CORPUS, "dstc9-corrected", resamples=0)["joint_goal_accuracy"] == 1


@pytest.mark.parametrize(
    ("domains", "size"),
    [
        (["hotel", "train"], 30),
        (["hotel", "bus", "police", "hospital"], 30),
        (["hotel", "Hotel"], 2),
        ([], 0),
    ],
)
def test_ontology_size(domains: list[str], size: int) -> None:
    layouts = table("layouts", [(0, d, "area") for d in domains])
    assert ontology_size(Corpus("toy", layouts=layouts)) == size


def test_ontology_size_of_real_corpora(real_data: Path) -> None:
    assert ontology_size(de.load_corpus("multiwoz21", home=real_data)) == 30
    crosswoz = de.load_corpus("crosswoz_en", home=real_data)
    assert ontology_size(crosswoz) == len(crosswoz.layouts[["domain", "slot"]].drop_duplicates()) == 26

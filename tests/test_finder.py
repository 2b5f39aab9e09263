"""The finder of alignments: its evidence against hand counts, false friends, and how well it does."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lessons.misalignment import precision_recall, verdicts

import dialogeval as de
from dialogeval.exceptions import UsageError
from dialogeval.ontology import Ontology, compare_ontologies, ontology_gaps, ontology_of
from dialogeval.ontology.finder import PAIR, false_friends, propose_alignment
from dialogeval.tables import Corpus, table


def corpus_of(states: list[tuple], turns: int = 4) -> Corpus:
    return Corpus(
        "toy",
        turns=table("turns", [("d", t, "", "", 0) for t in range(turns)]),
        states=table("states", states),
    )


def listed(slots: dict[tuple[str, str], list[str]], language: str = "en") -> Ontology:
    rows = [(*slot, value) for slot, values in slots.items() for value in values]
    return ontology_of(Corpus("toy", language=language, ontology=table("ontology", rows)))


def row_of(pairs: pd.DataFrame, slot: str, target: str) -> pd.Series:
    return pairs[(pairs["slot"] == slot) & (pairs["target_slot"] == target)].iloc[0]


# Evidence ---------------------------------------------------------------------------------------

OURS = [("d", 0, "h", "area", "north"), ("d", 1, "h", "area", "north"), ("d", 2, "h", "area", "south"),
        ("d", 1, "h", "stars", "4"), ("d", 2, "h", "stars", "5"), ("d", 3, "h", "stars", "5")]  # fmt: skip
THEIRS = [("d", 0, "店", "区域", "北"), ("d", 1, "店", "区域", "北"), ("d", 2, "店", "区域", "北"),
          ("d", 3, "店", "区域", "南"), ("d", 2, "店", "星级", "5星")]  # fmt: skip


def test_evidence_by_hand() -> None:
    def evidence(slot: str, target: str) -> pd.Series:
        a, b = (
            corpus_of([s for s in states if s[3] == name])
            for states, name in ((OURS, slot), (THEIRS, target))
        )
        b = replace(b, language="zh")
        return propose_alignment(ontology_of(a), ontology_of(b), (a, b), least=0).iloc[0]

    area, stars = evidence("area", "区域"), evidence("stars", "星级")
    # Turns 0, 1, 2 of 0 to 3; north goes with 北 twice, and 北 with south only once.
    assert (area["cooccurrence"], area["value_pairing"]) == (3 / 4, 2 / 3)
    assert stars["cooccurrence"] == 1 / 3
    # 5 is two of three uses on our side and all of theirs; words of another language say nothing.
    assert stars["value_overlap"] == pytest.approx(2 / 3)
    assert np.isnan(area["value_overlap"]) and np.isnan(area["name_similarity"])


def test_names_by_hand() -> None:
    from rapidfuzz.distance import Indel

    a = listed({("hotel", "priceRange"): ["cheap"], ("hotel", "type"): ["hotel"]})
    b = listed({("Hotel", "Hotel type"): ["hotel"], ("Taxi", "price_range"): ["cheap"]})
    pairs = propose_alignment(a, b, least=0)
    assert row_of(pairs, "type", "Hotel type")["name_similarity"] == 1
    price = row_of(pairs, "priceRange", "price_range")
    assert price["name_similarity"] == price["value_overlap"] == 1
    assert price["domain_similarity"] == pytest.approx(Indel.normalized_similarity("hotel", "taxi"))


@settings(max_examples=4)
@given(st.lists(st.tuples(st.integers(0, 3), st.sampled_from("xyz"), st.sampled_from("123 uvw")), max_size=14),
       st.lists(st.tuples(st.integers(0, 3), st.sampled_from("pq"), st.sampled_from("123 uvw")), max_size=14))  # fmt: skip
def test_evidence_in_bounds_and_as_counted(ours: list[tuple], theirs: list[tuple]) -> None:
    sides = []
    for rows in (ours, theirs):
        one_each = {(t, s): v for t, s, v in [*rows, (0, "x", "1")]}
        sides.append(corpus_of([("d", t, "h", s, v) for (t, s), v in one_each.items()]))
    pairs = propose_alignment(*map(ontology_of, sides), tuple(sides), least=0)
    evidence = ["name_similarity", "domain_similarity", "value_overlap", "cooccurrence", "value_pairing"]
    assert ((pairs[evidence] >= 0) & (pairs[evidence] <= 1) | pairs[evidence].isna()).all(axis=None)
    turns = [c.states.groupby("slot")["turn"].agg(set) for c in sides]
    for row in pairs.itertuples():
        x, y = turns[0][row.slot], turns[1][row.target_slot]
        assert row.cooccurrence == len(x & y) / len(x | y)


def test_parallel_corpora_must_meet() -> None:
    a = corpus_of(OURS)
    other = Corpus(
        "b", turns=table("turns", [("e", 0, "", "", 0)]), states=table("states", [("e", 0, "h", "s", "1")])
    )
    with pytest.raises(UsageError):
        propose_alignment(ontology_of(a), ontology_of(other), (a, other))


# Proposals --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["sample/multiwoz", "sample/crosswoz"])
def test_an_ontology_aligns_with_itself(name: str) -> None:
    ontology = ontology_of(name, "learned")
    found = propose_alignment(ontology, ontology)
    assert (found["domain"] == found["target_domain"]).all() and (found["slot"] == found["target_slot"]).all()
    assert len(found) == len(ontology.slots)
    assert (found["relation"] == "same").all()
    assert found["score"].is_monotonic_decreasing
    assert false_friends(ontology, ontology).empty


def test_yes_no_slots_share_the_list_that_names_them() -> None:
    labels = ["Pay Parking", "Broadband Internet", "Gym"]
    a = listed(
        {
            ("hotel", "parking"): ["yes", "no"],
            ("hotel", "internet"): ["yes", "no"],
            ("hotel", "pool"): ["yes"],
        }
    )
    b = listed({("Hotel", "facilities"): labels})
    found = propose_alignment(a, b)
    assert found[["slot", "relation"]].values.tolist() == [["internet", "broader"], ["parking", "broader"]]
    assert "one of the other's categories" in found["why"][0]
    back = propose_alignment(b, a)
    assert back[["target_slot", "relation"]].values.tolist() == [
        ["internet", "narrower"],
        ["parking", "narrower"],
    ]


def test_containment_is_broader() -> None:
    ours = [("d", 0, "h", "parking", "free")]
    theirs = [("d", t, "h", "fee", v) for t, v in enumerate(["free", "5", "6", "7"])]
    a, b = corpus_of(ours), corpus_of(theirs)
    found = propose_alignment(ontology_of(a), ontology_of(b), (a, b), least=0.1)
    assert found["relation"].tolist() == ["broader"]
    assert propose_alignment(ontology_of(b), ontology_of(a), (b, a), least=0.1)["relation"].tolist() == [
        "narrower"
    ]


def test_nothing_in_common() -> None:
    a, b = listed({("hotel", "stars"): ["4"]}), listed({("餐厅", "食物"): ["中国的"]}, "zh")
    found = propose_alignment(a, b)
    assert found.empty and "why" in found.columns
    assert false_friends(a, b).empty
    nothing = ontology_of(Corpus("toy", ontology=table("ontology", [("x", "y", "z")])))
    empty = Ontology("none", "en", "file", nothing.slots.iloc[:0], nothing.values.iloc[:0])
    assert propose_alignment(empty, nothing).empty and propose_alignment(nothing, empty).empty


def test_false_friends() -> None:
    a = listed({
        ("hotel", "type"): ["hotel", "guesthouse"], ("hotel", "pricerange"): ["cheap", "expensive"],
        ("hotel", "area"): ["north", "south"], ("hotel", "parking"): ["yes", "no"], ("hotel", "name"): ["acorn", "gonville"],
        ("train", "type"): ["slow", "fast"],
    })  # fmt: skip
    b = listed({
        ("Hotel", "type"): ["budget", "luxury"], ("Hotel", "price"): ["300-400 yuan", "100-200 yuan"],
        ("Hotel", "area"): ["North", "south", "west"], ("Hotel", "parking"): ["5 yuan", "10 yuan"], ("Hotel", "name"): [],
    })  # fmt: skip
    found = false_friends(a, b)
    assert found[["slot", "target_slot"]].values.tolist() == [["parking", "parking"], ["type", "type"]]
    assert (found["relation"] == "false friend").all()
    assert found["why"][1].startswith("Slot names 100% and domain names 100% alike; values overlap by 0%")
    assert "of kinds boolean and number" in found["why"][0]
    anywhere = false_friends(a, b, domains="any")
    assert anywhere[["domain", "slot"]].values.tolist()[2:] == [["train", "type"]]
    proposed = propose_alignment(a, b)
    assert not (proposed["slot"].isin(["type", "parking"])).any()
    with pytest.raises(UsageError):
        false_friends(a, b, domains="same")


def test_verdicts_by_hand() -> None:
    def rows(*pairs: str) -> pd.DataFrame:
        cells = [("h", p[0], "H", p[1], p[3:]) for p in pairs]
        return pd.DataFrame(cells, columns=[*PAIR, "relation"])

    truth = rows("aA same", "bB related", "cC broader", "dD false friend", "eE false friend", "f  none")
    said = rows("aA related", "bX same", "cC same", "dD false friend", "aA false friend")
    table = verdicts(said, truth)
    assert precision_recall(table) == (2 / 3, 2 / 3)
    assert table.loc[table["verdict"] == "missed", "slot"].tolist() == ["b", "e"]
    assert table[table["friend"]]["verdict"].tolist() == ["missed", "wrong", "right"]
    precision, recall = precision_recall(verdicts(truth.iloc[:0], truth))
    assert np.isnan(precision) and recall == 0


# Real corpora -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def corpora(real_data: Path) -> dict[str, Corpus]:
    names = ("multiwoz21", "multiwoz_zh", "crosswoz", "crosswoz_en")
    return {n: de.load_corpus(n, home=real_data) for n in names}


def test_real_ontologies(corpora: dict[str, Corpus], real_data: Path) -> None:
    found = {name: ontology_of(corpus) for name, corpus in corpora.items()}
    sizes = {n: (o.source, o.language, len(o.slots), len(o.values)) for n, o in found.items()}
    assert sizes == {
        "multiwoz21": ("file", "en", 35, 1967),
        "multiwoz_zh": ("file", "zh", 35, 1910),
        "crosswoz": ("learned", "zh", 26, 1401),
        "crosswoz_en": ("file", "en", 61, 7416),
    }
    # A translation keeps the kinds: sorted by how many slots of each kind there are.
    counts = {n: o.slots["kind"].value_counts().to_dict() for n, o in found.items()}
    assert counts["multiwoz21"] == counts["multiwoz_zh"]
    learned = ontology_of(corpora["crosswoz_en"], "learned").slots["kind"].value_counts().to_dict()
    assert learned == counts["crosswoz"]
    expected = {
        ("hotel", "stars"): "number", ("hotel", "parking"): "boolean", ("train", "leaveat"): "time",
        ("hotel", "type"): "categorical", ("restaurant", "food"): "categorical", ("taxi", "departure"): "name",
        ("hotel", "name"): "name", ("hotel", "bookday"): "categorical",
    }  # fmt: skip
    kinds = found["multiwoz21"].slots.set_index(["domain", "slot"])["kind"].to_dict()
    assert {k: kinds[k] for k in expected} == expected
    cross = found["crosswoz_en"].slots.set_index(["domain", "slot"])["kind"].to_dict()
    assert {cross["Hotel", s] for s in ("price", "rating")} == {"range"}
    assert cross["Hotel", "type"] == "categorical" and cross["Restaurant", "nearby hotels"] == "name"
    gaps = ontology_gaps(found["crosswoz_en"], corpora["crosswoz_en"])
    assert gaps.iloc[0, :5].tolist() == [
        "Hotel",
        "Hotel Facilities",
        "slot is not in the ontology",
        142,
        1280,
    ]
    assert gaps["gap"].value_counts().tolist() == [36, 13, 1]
    both = compare_ontologies(found["multiwoz21"], found["crosswoz_en"])
    both = both[both["where"] == "both"]
    assert both[["domain", "slot"]].agg(" ".join, axis=1).tolist() == ["attraction name", "hotel name", "hotel type", "restaurant name"]  # fmt: skip
    assert (both["overlap"] == 0).all()
    schema = ontology_of("multiwoz22", "schema", home=real_data)
    assert (schema.source, len(schema.slots), len(schema.values)) == ("schema", 61, 137)
    assert ontology_of(real_data / "multiwoz22" / "schema.json").slots.equals(schema.slots)


def test_real_corpora(corpora: dict[str, Corpus], real_data: Path) -> None:
    ontologies = {n: ontology_of(c, "learned") for n, c in corpora.items()}

    def measured(a: str, b: str, truth: str, parallel: bool) -> tuple[float, float]:
        turns = (corpora[a], corpora[b]) if parallel else None
        found = propose_alignment(ontologies[a], ontologies[b], turns)
        precision, recall = precision_recall(verdicts(found, de.load_alignment(truth).rows))
        return round(precision, 3), round(recall, 3)

    pair = ("multiwoz21", "multiwoz_zh", "multiwoz__multiwoz_zh")
    # What the test set never fills (bus, hospital: five slots) cannot be found from it.
    assert measured(*pair, True) == (1.0, round(30 / 35, 3))
    assert measured(*pair, False)[0] == 1.0
    pair = ("crosswoz", "crosswoz_en", "crosswoz__crosswoz_en")
    assert measured(*pair, True) == (1.0, 1.0)
    assert measured(*pair, False) == (1.0, round(7 / 26, 3))
    assert measured("multiwoz21", "crosswoz_en", "multiwoz__crosswoz_en", False) == (1.0, round(7 / 13, 3))
    for source in ("file", "learned"):
        ours, theirs = (ontology_of(corpora[n], source) for n in ("multiwoz21", "crosswoz_en"))
        friends = false_friends(ours, theirs)
        assert friends[PAIR].values.tolist() == [["hotel", "type", "Hotel", "type"]]
        assert friends["value_overlap"].tolist() == [0]

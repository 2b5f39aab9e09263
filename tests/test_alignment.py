"""Alignments: values converted, states mapped there and back, and what parallel corpora say of them."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from itertools import permutations
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dialogeval as de
from dialogeval.exceptions import UnknownNameError, UsageError
from dialogeval.ontology.alignment import (
    CONVERTERS,
    LANGUAGES,
    Alignment,
    check_alignment,
    compose,
    load_alignment,
    save_alignment,
    value_mapping,
)
from dialogeval.ontology.mapping import learn_values, map_corpus_states, map_predictions, map_states
from dialogeval.tables import Corpus, Predictions, as_predictions, table

PLACE = ["dialogue_id", "turn", "domain", "slot"]
PAIRS = [f"{a}__{b}" for a, b in permutations(LANGUAGES, 2)]
TRANSLATIONS = [
    p
    for p in PAIRS
    if p.replace("_zh", "").replace("_en", "") in ("multiwoz__multiwoz", "crosswoz__crosswoz")
]
SIGNS = {"zh": "不在意", "en": "dontcare"}


def states(*rows: tuple[str, str, str], dialogue: str = "d") -> pd.DataFrame:
    return table("states", [(dialogue, 0, *row) for row in rows])


def run(rows: list[tuple[str, str, str]], name: str, stage: str = "all") -> tuple[list, list]:
    mapped, unmapped = map_states(states(*rows), load_alignment(name), stage)
    return (
        mapped[["domain", "slot", "value", "row"]].values.tolist(),
        unmapped[["slot", "value", "reason"]].values.tolist(),
    )


@pytest.mark.parametrize(
    ("converter", "value", "target"),
    [
        ("yuan_en", "300-400元", "300-400 yuan"),
        ("yuan_en", "1000元以上", "1000 yuan or more"),
        ("yuan_en", "20元以下", "20 yuan or less"),
        ("yuan_en", "免费", "free"),
        ("points_en", "4.5分以上", "4.5 points or above"),
        ("points_en", "5分", "5 points"),
        ("duration_en", "1小时 - 2小时", "1 hour-2 hours"),
        ("duration_en", "0.5小时 - 1小时", "0.5 hours-1 hour"),
        ("duration_en", "12小时 - 3天", "12 hours-3 days"),
        ("duration_en", "3天", "3 days"),
        ("duration_en", "半天", "half a day"),
        ("duration_en", "1-2小时", "1-2 hours"),
        ("time_en", "13:45之后", "after 13:45"),
        ("time_en", "晚上7点", "7pm"),
        ("class_to_cost", "moderate", "50-100 yuan"),
        ("stars_to_points", "4", "4 points or above"),
        ("stars_to_points", "5", "5 points"),
    ],
)
def test_functions_of_values_lead_there_and_back(converter: str, value: str, target: str) -> None:
    function = CONVERTERS[converter]
    assert function.convert(value) == target
    assert CONVERTERS[function.inverse].convert(target) == value
    assert CONVERTERS[function.inverse].inverse == converter


def test_values_that_a_function_does_not_know_are_none() -> None:
    assert [c.convert("星期五 friday") for c in CONVERTERS.values()] == [None] * len(CONVERTERS)
    assert CONVERTERS["points_to_stars"].convert("4.5 points or above") is None
    assert CONVERTERS["duration_en"].convert("4个小时") == "4 hours"
    costs = ["50 yuan or less", "150 yuan or less", "100-150 yuan", "150-500 yuan", "1000 yuan or more"]
    classes = ["cheap", "moderate", "moderate", "expensive", "expensive"]
    assert [CONVERTERS["cost_to_class"].convert(c) for c in costs] == classes


numbers = st.integers(2, 5000).map(str) | st.integers(11, 99).map(lambda n: f"{n / 10}")


@given(numbers, numbers, st.sampled_from(["N-N元", "N元以上", "N分以上", "N小时 - N小时", "N天", "N:N之后"]))
def test_any_number_survives_both_directions(low: str, high: str, template: str) -> None:
    value = template.replace("N", low, 1).replace("N", high)
    kind = {"元": "yuan", "分": "points", "时": "duration", "天": "duration", "后": "time"}
    name = next(k for sign, k in kind.items() if sign in template)
    english = CONVERTERS[f"{name}_en"].convert(value)
    assert english is not None and english.isascii() and low in english
    assert CONVERTERS[f"{name}_zh"].convert(english) == value


def test_tables_of_values() -> None:
    pairs = {"t": (("cheap", "便宜的"), ("cheap", "便宜"), ("dear", "贵"))}
    forth = value_mapping("values:t", pairs, "en", "zh")
    assert [forth(v) for v in (" CHEAP", "cheap|dear", "cheap or so")] == ["便宜的", "便宜的或贵", None]
    inline = value_mapping("gym=健身房|wifi=无线", {}, "en", "zh")
    assert (inline("Gym"), inline("none"), inline("not mentioned"), inline("don't care")) == (
        "健身房",
        "none",
        "未提及",
        "不在意",
    )
    listed = value_mapping("list:t", {"t": (("a b", "甲"), ("c", "乙"))}, "en", "zh")
    assert [listed(v) for v in ("a b,c", "a b, c", "a b,d", "c")] == ["甲 乙", "甲 乙", None, "乙"]
    assert value_mapping("any:t", {"t": (("c", "乙"),)}, "en", "zh")("d,c") == "乙"


def test_multiwoz_to_crosswoz_by_hand() -> None:
    rows = [
        ("hotel", "name", "acorn guest house"),
        ("hotel", "pricerange", "expensive"),
        ("hotel", "type", "hotel"),
        ("hotel", "internet", "yes"),
        ("hotel", "parking", "yes"),
        ("hotel", "stars", "0"),
        ("hotel", "area", "north"),
        ("restaurant", "pricerange", "cheap"),
    ]
    mapped, unmapped = run(rows, "multiwoz__crosswoz_en")
    assert mapped == [
        ["Hotel", "name", "acorn guest house", 0],
        ["Hotel", "type", "high-end", 1],
        ["Hotel", "Hotel Facilities", "Broadband Internet,Pay Parking", 3],
        ["Hotel", "rating", "0", 5],
        ["Restaurant", "cost", "50 yuan or less", 7],
    ]
    assert unmapped == [
        ["type", "hotel", "false friend"],
        ["stars", "0", "value"],
        ["area", "north", "no counterpart"],
    ]


def test_values_choose_between_targets_and_weak_values_give_way() -> None:
    rows = [("Hotel", "Hotel Facilities", "Gym,Pay Parking,Broadband Internet")]
    assert run(rows, "crosswoz_en__multiwoz") == (
        [["hotel", "internet", "yes", 0], ["hotel", "parking", "yes", 0]],
        [],
    )
    rows = [("Hotel", "Hotel Facilities", "Gym")]
    assert run(rows, "crosswoz_en__multiwoz") == ([], [["Hotel Facilities", "Gym", "no counterpart"]])
    # A list cannot say "no": the value stands in for nothing better, and gives way to what is known.
    no = [("hotel", "internet", "no")]
    assert run(no, "multiwoz__crosswoz_en")[0] == [["Hotel", "Hotel Facilities", "no", 0]]
    mapped, unmapped = run([*no, ("hotel", "parking", "yes")], "multiwoz__crosswoz_en")
    assert mapped == [["Hotel", "Hotel Facilities", "Pay Parking", 1]]
    assert unmapped == [["internet", "no", "value"]]
    mapped, unmapped = run(
        [("hotel", "internet", "dontcare"), ("hotel", "parking", "yes")], "multiwoz__crosswoz_en"
    )
    assert (mapped[0][2], unmapped) == ("Pay Parking", [["internet", "dontcare", "target filled twice"]])


def test_stages_of_a_chain() -> None:
    rows = [("旅馆", "价格范围", "便宜的"), ("餐厅", "食物", "印度的"), ("出租车", "出发时间", "09:00")]
    expected = {"names": "便宜的", "values": "便宜的", "all": "经济型"}
    for stage, value in expected.items():
        mapped, unmapped = run(rows, "multiwoz_zh__crosswoz", stage)
        assert mapped[0] == ["酒店", "酒店类型", value, 0]
        assert unmapped[-1] == ["出发时间", "09:00", "no counterpart"]
        assert (["食物", "印度的", "value"] in unmapped) == (stage != "names")
    assert run([("hotel", "pricerange", "cheap")], "multiwoz__crosswoz_en", "values")[0][0][2] == "budget"
    assert run([("hotel", "pricerange", "cheap")], "multiwoz__crosswoz", "values")[0][0][2] == "budget"
    with pytest.raises(UnknownNameError, match="stage of a mapping 'al': did you mean all"):
        run(rows, "multiwoz_zh__crosswoz", "al")


def test_names_as_systems_spell_them() -> None:
    rows = [
        ("Hotel", "price range", "cheap"),
        ("hotel", "people", "2"),
        ("train", "leave at", "09:00"),
        ("taxi", "arrive", "10:00"),
        ("RESTAURANT", "Book_Time", "12:00"),
        ("hotel", "invented", "x"),
    ]
    mapped, unmapped = run(rows, "multiwoz__multiwoz_zh")
    assert [m[1] for m in mapped] == ["价格范围", "人数", "出发时间", "到达时间", "时间"]
    assert unmapped == [["invented", "x", "no counterpart"]]


def test_inverse_of_inverse_and_composition() -> None:
    for name in PAIRS:
        alignment = load_alignment(name)
        back = alignment.inverse()
        assert back.name == "__".join(reversed(name.split("__")))
        assert back.inverse().name == name and back.inverse().checksum == alignment.checksum
        pd.testing.assert_frame_equal(back.inverse().rows, alignment.rows)
        assert load_alignment(back.name).checksum == back.checksum != alignment.checksum
    for a, b, c, d in permutations(LANGUAGES):
        ab, bc, cd = load_alignment(f"{a}__{b}"), load_alignment(f"{b}__{c}"), load_alignment(f"{c}__{d}")
        left, right = compose(compose(ab, bc), cd), compose(ab, compose(bc, cd))
        assert (left.id, len(left.hops)) == (right.id, len(right.hops))
    with pytest.raises(UsageError, match=r"alignments do not meet: .* got multiwoz_zh"):
        compose(load_alignment("multiwoz__multiwoz_zh"), load_alignment("multiwoz__multiwoz_zh"))


def test_an_ontology_with_itself_changes_nothing() -> None:
    rows = states(("hotel", "anything", "x"), ("hotel", "anything", "y"))
    mapped, unmapped = map_states(rows, load_alignment("crosswoz__crosswoz"))
    pd.testing.assert_frame_equal(mapped.drop(columns="row"), rows)
    assert unmapped.empty and load_alignment("multiwoz21__multiwoz").hops == ()


def test_rows_of_a_chain_take_the_weakest_relation() -> None:
    rows = load_alignment("multiwoz_zh__crosswoz").rows
    found = rows[rows["slot"] != ""].set_index(["domain", "slot"])[["target_slot", "relation"]]
    assert found.loc[("旅馆", "类型")].tolist() == ["酒店类型", "false friend"]
    assert found.loc[("旅馆", "价格范围")].tolist() == ["酒店类型", "narrower"]
    assert found.loc[("旅馆", "区域")].tolist() == ["", "none"]
    there_and_back = compose(
        load_alignment("multiwoz__crosswoz_en"), load_alignment("crosswoz_en__multiwoz")
    ).rows
    price = there_and_back[
        (there_and_back["domain"] == "restaurant") & (there_and_back["slot"] == "pricerange")
    ]
    assert price[["target_slot", "relation"]].values.tolist() == [["pricerange", "related"]]


@cache
def vocabulary(name: str) -> list[tuple[str, str, str]]:
    """Every slot of the source with every value that its tables know, and some that none knows."""
    hop = load_alignment(name).hops[0]
    found = []
    for row in hop.rows.to_dict("records"):
        if row["slot"]:
            known = hop.values.get(row["converter"].partition(":")[2], ())
            values = [v for v, _ in known] + ["zzz", SIGNS[hop.source_language], "none", "300-400元", "4"]
            found += [(row["domain"], row["slot"], v) for v in dict.fromkeys(values)]
    return sorted(set(found))


def check_round_trip(name: str, source: pd.DataFrame) -> None:
    alignment = load_alignment(name)
    mapped, unmapped = map_states(source, alignment)
    back, lost = map_states(mapped, alignment.inverse())
    # Nothing vanishes: what is not mapped is listed.
    assert set(mapped["row"]) | set(unmapped["row"]) == set(source.index)
    rows = alignment.rows
    same = set(rows.loc[rows["relation"] == "same", ["domain", "slot"]].itertuples(index=False, name=None))
    sure = mapped[~mapped["row"].isin(unmapped["row"]) & ~mapped.index.isin(lost["row"])]
    origin = source.loc[sure["row"]]
    places = zip(origin["domain"], origin["slot"], strict=True)
    sure = sure[np.array([place in same for place in places], dtype=bool)]
    again = back.set_index("row").loc[sure.index].reset_index(drop=True)
    origin = source.loc[sure["row"]].reset_index(drop=True)
    assert again[PLACE].equals(origin[PLACE])
    # Two spellings of one value come back as the first of them, which is the same on the way out.
    assert map_states(again, alignment)[0]["value"].tolist() == sure["value"].tolist()
    if alignment.hops[0].source_language == alignment.hops[0].target_language:
        assert again["value"].equals(origin["value"])


@pytest.mark.parametrize("name", PAIRS)
def test_there_and_back_loses_only_what_the_alignment_says(name: str) -> None:
    # Every value of every slot, each in a dialogue of its own.
    triples = [(f"d{n}", 0, *row) for n, row in enumerate(vocabulary(name))]
    check_round_trip(name, table("states", triples))


@settings(max_examples=15)
@given(st.data(), st.sampled_from(TRANSLATIONS))
def test_whole_states_there_and_back(data: st.DataObject, name: str) -> None:
    one = st.lists(st.sampled_from(vocabulary(name)), max_size=12, unique_by=lambda r: r[:2])
    check_round_trip(name, states(*data.draw(one)))


@pytest.mark.parametrize("name", TRANSLATIONS)
def test_gold_through_same_slots_scores_one(name: str) -> None:
    alignment = load_alignment(name)
    source, target = name.split("__")
    corpus = de.load_corpus(f"sample/{source}", split="val")
    _, unmapped = map_states(corpus.states, alignment)
    known = replace(corpus, states=corpus.states.drop(unmapped["row"]).reset_index(drop=True))
    assert 0.3 < len(known.states) / len(corpus.states) < 1
    there = map_corpus_states(known, alignment)
    back = map_predictions(as_predictions(there), alignment.inverse())
    # Scored in the target's language: there, back and there again is there.
    again = map_predictions(back, alignment)
    scores = de.score(there, again, "lin2021")
    assert scores["joint_goal_accuracy"] == scores["slot_f1_micro"] == 1
    assert set(there.layouts.columns) == {"layout", "domain", "slot"} and there.goals.empty
    assert (
        f"{len(known.states):,} of {len(known.states):,} triples; unmapped by reason: none" in there.notes[-1]
    )
    # The sample's translations were annotated on their own; what both filled with a known value agrees.
    if "crosswoz" in target:
        gold = de.load_corpus(f"sample/{target}", split="val").states
        both = there.states.merge(gold, on=PLACE, suffixes=("", "_gold"))
        different = both[both["value"] != both["value_gold"]]
        assert len(both) > 500 and set(different["value_gold"].str.strip()) <= {"none", "free admission"}


def test_predictions_keep_what_is_not_a_state() -> None:
    predictions = Predictions(
        "p",
        states=states(("hotel", "pricerange", "cheap"), ("train", "day", "friday")),
        responses=table("responses", [("d", 0, "hello")]),
        active_domains=table("active_domains", [("d", 0, "Hotel"), ("d", 1, "train"), ("d", 2, "police")]),
        gold=Corpus("g"),
        notes=("before",),
    )
    alignment = load_alignment("multiwoz__crosswoz_en")
    mapped = map_predictions(predictions, alignment)
    assert mapped.responses is predictions.responses and mapped.gold is None
    assert mapped.active_domains is not None
    assert mapped.active_domains.values.tolist() == [["d", 0, "Hotel"], ["d", 1, "Metro"]]
    assert mapped.notes == (
        "before",
        f"mapped through {alignment.id}: 1 of 2 triples; unmapped by reason: no counterpart: 1",
    )
    with pytest.raises(UsageError, match="no states to map"):
        map_predictions(Predictions("p"), alignment)


def test_values_are_learned_by_majority(tmp_path: Path) -> None:
    def corpus(name: str, values: list[str], domain: str, slot: str) -> Corpus:
        return Corpus(name, states=table("states", [("d", n, domain, slot, v) for n, v in enumerate(values)]))

    zh = corpus("zh", ["故宫", "故宫", "故宫", "天坛", "天坛", "不在意"], "出租", "出发地")
    en = corpus("en", ["Palace", "Palace", "Forbidden", "Heaven", "Temple", "any"], "Taxi", "from")
    alignment = load_alignment("crosswoz__crosswoz_en")
    learned = learn_values(alignment, zh, en)
    assert learned.hops[0].values["open"] == (("故宫", "Palace"),)
    assert learned.name == "crosswoz__crosswoz_en+learned" and learned.checksum != alignment.checksum
    assert "open" not in alignment.hops[0].values
    assert load_alignment(save_alignment(learned, tmp_path / f"{learned.name}.csv")).id == learned.id
    # What was learned in one slot serves all that share the table, and backwards, and in a chain.
    mapped, _ = map_states(states(("景点", "名称", "故宫")), learned)
    assert mapped["value"].tolist() == ["Palace"]
    chain = compose(load_alignment("multiwoz__crosswoz_en"), learned.inverse())
    assert chain.name == "multiwoz__crosswoz+learned"
    assert map_states(states(("attraction", "name", "palace")), chain)[0]["value"].tolist() == ["故宫"]
    with pytest.raises(UsageError, match="an alignment of one step, got 2 steps"):
        learn_values(load_alignment("multiwoz__crosswoz"), zh, en)
    with pytest.raises(UsageError, match="no slot is filled in both corpora"):
        learn_values(alignment, zh, replace(en, states=en.states.assign(dialogue_id="e")))


@pytest.fixture(scope="module")
def real(real_data) -> dict[str, Corpus]:  # type: ignore[no-untyped-def]
    names = ["multiwoz21", "multiwoz_zh", "crosswoz", "crosswoz_en"]
    return {name: de.load_corpus(name, home=real_data) for name in names}


def exact(alignment: Alignment, source: pd.DataFrame, target: pd.DataFrame) -> tuple[float, pd.DataFrame]:
    """Share of gold triples that map to the parallel gold, and those that map to something else."""
    mapped, unmapped = map_states(source, alignment)
    assert set(unmapped["reason"]) <= {"value"}
    both = mapped.merge(target, on=PLACE, suffixes=("", "_gold"), how="left", validate="1:1")
    right = both["value"] == both["value_gold"]
    return right.mean(), both[~right & ~both["row"].isin(unmapped["row"])]


@pytest.mark.parametrize(
    ("source", "target", "shipped", "learned", "wrong"),
    [("multiwoz_zh", "multiwoz21", 0.869, 0.976, 21), ("crosswoz", "crosswoz_en", 0.717, 0.807, 9)],
)
def test_parallel_gold(
    real: dict[str, Corpus], source: str, target: str, shipped: float, learned: float, wrong: int
) -> None:
    alignment = load_alignment(f"{source}__{target}")
    share, different = exact(alignment, real[source].states, real[target].states)
    assert share == pytest.approx(shipped, abs=0.001) and len(different) == wrong
    # Of many-to-one spellings ("portugese", "pool", "Spa") alone.
    assert set(different["value"].str.partition(",")[0]) <= {
        "portuguese",
        "swimming pool",
        "SPA",
        "Wake Up Service",
    }
    ids = sorted(real[source].states["dialogue_id"].unique())
    half = ids[: len(ids) // 2]
    more = learn_values(alignment, real[source].select(half), real[target].select(half))
    held_out = ~real[source].states["dialogue_id"].isin(half)
    share, _ = exact(more, real[source].states[held_out], real[target].states)
    assert share == pytest.approx(learned, abs=0.001)


def test_no_slot_of_the_real_corpora_is_forgotten(real: dict[str, Corpus]) -> None:
    slots = {}
    for name, corpus in real.items():
        both = pd.concat([corpus.ontology, corpus.states])[["domain", "slot"]]
        slots[name.rstrip("21")] = both.drop_duplicates()
    for name in PAIRS:
        alignment = load_alignment(name)
        check_alignment(alignment, slots[alignment.source], slots[alignment.target])
        listed = set(alignment.rows[["domain", "slot"]].itertuples(index=False, name=None))
        named = slots[alignment.source]
        named = named[~named["slot"].str.startswith("Hotel Facilities - ")]
        assert set(named.itertuples(index=False, name=None)) <= listed
    source = real["multiwoz21"].states
    mapped, unmapped = map_states(source, load_alignment("multiwoz__crosswoz"))
    # The rows that are neither are one facility of a hotel, joined to the other.
    rest = source.drop([*mapped["row"], *unmapped["row"]], errors="ignore")
    assert set(rest["slot"]) <= {"parking", "internet"}
    assert len(rest) == mapped["value"].isin(["宽带上网 收费停车位", "收费停车位 宽带上网"]).sum()

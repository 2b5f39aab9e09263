"""Alignments: values converted, states mapped there and back, chains, and what parallel corpora say of them."""

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
from dialogeval.ontology.alignment import LANGUAGES, check_alignment, save_alignment
from dialogeval.ontology.mapping import learn_values, map_states

PLACE = ["dialogue_id", "turn", "domain", "slot"]
PAIRS = [f"{a}__{b}" for a, b in permutations(LANGUAGES, 2)]
TRANSLATIONS = [p for p in PAIRS if p.split("__")[0].split("_")[0] == p.split("__")[1].split("_")[0]]
HEAD = "domain,slot,target_domain,target_slot,relation,converter\n"


def states(*rows: tuple[str, str, str]) -> pd.DataFrame:
    return de.table("states", [("d", 0, *row) for row in rows])


def run(rows: list[tuple[str, str, str]], name: object, stage: str = "all") -> tuple[list, list]:
    mapped, unmapped = map_states(states(*rows), de.load_alignment(name), stage)
    return (
        mapped[["domain", "slot", "value", "row"]].values.tolist(),
        unmapped[["slot", "value", "reason"]].values.tolist(),
    )


@pytest.fixture
def convert(tmp_path: Path):  # type: ignore[no-untyped-def]
    """Return what values become by a converter; ~ where it does not know them."""

    def function(
        converter: str, *values: str, ends: str = "en__en", back: bool = False, **tables: str
    ) -> list:
        source, target = ends.split("__")
        (tmp_path / "values").mkdir(exist_ok=True)
        for name, content in tables.items():
            (tmp_path / "values" / f"{name}.csv").write_text(f"value,target_value\n{content}")
        path = tmp_path / "a__b.csv"
        path.write_text(f'{HEAD}h,s,H,S,same,"{converter}"\n')
        way = de.load_alignment(path, source, target)
        slot, way = (("H", "S"), way.inverse()) if back else (("h", "s"), way)
        found = [map_states(states((*slot, value)), way) for value in values]
        return ["~" if len(lost) else mapped["value"].item() for mapped, lost in found]

    return function


@pytest.mark.parametrize(
    ("converter", "there", "back"),
    [
        ("yuan_en", ["300-400元", "1000元以上", "20元以下", "免费"],
         ["300-400 yuan", "1000 yuan or more", "20 yuan or less", "free"]),
        ("points_en", ["4.5分以上", "5分"], ["4.5 points or above", "5 points"]),
        ("duration_en", ["1小时 - 2小时", "0.5小时 - 1小时", "12小时 - 3天", "3天", "半天", "1-2小时"],
         ["1 hour-2 hours", "0.5 hours-1 hour", "12 hours-3 days", "3 days", "half a day", "1-2 hours"]),
        ("time_en", ["13:45之后", "晚上7点"], ["after 13:45", "7pm"]),
        ("class_to_cost", ["moderate"], ["50-100 yuan"]),
        ("stars_to_points", ["4", "5"], ["4 points or above", "5 points"]),
    ],
)  # fmt: skip
def test_functions_of_values_lead_there_and_back(convert, converter, there, back) -> None:
    assert convert(converter, *there) == back
    assert convert(converter, *back, back=True) == there
    assert convert(converter, "星期五 friday") == ["~"]


def test_values_of_one_way(convert) -> None:
    assert convert("points_to_stars", "4.5 points or above", "4 points") == ["~", "4"]
    assert convert("duration_en", "4个小时") == ["4 hours"]
    costs = ["50 yuan or less", "150 yuan or less", "100-150 yuan", "150-500 yuan", "1000 yuan or more"]
    assert convert("cost_to_class", *costs) == ["cheap", "moderate", "moderate", "expensive", "expensive"]


def test_tables_of_values(convert) -> None:
    prices, zh = "cheap,便宜的\ncheap,便宜\ndear,贵\n", "en__zh"
    values = (" CHEAP", "cheap|dear", "cheap or so")
    assert convert("values:t", *values, ends=zh, t=prices) == ["便宜的", "便宜的或贵", "~"]
    inline = convert("gym=健身房|wifi=无线", "Gym", "none", "not mentioned", "don't care", ends=zh)
    assert inline == ["健身房", "none", "未提及", "不在意"]
    items = ("a b,c", "a b, c", "a b,d", "c")
    assert convert("list:t", *items, ends=zh, t="a b,甲\nc,乙\n") == ["甲 乙", "甲 乙", "~", "乙"]
    assert convert("any:t", "d,c", ends=zh, t="c,乙\n") == ["乙"]


def test_multiwoz_to_crosswoz_by_hand() -> None:
    rows = [
        ("hotel", "name", "acorn guest house"), ("hotel", "pricerange", "expensive"), ("hotel", "type", "hotel"),
        ("hotel", "internet", "yes"), ("hotel", "parking", "yes"), ("hotel", "stars", "0"),
        ("hotel", "area", "north"), ("restaurant", "pricerange", "cheap"),
    ]  # fmt: skip
    mapped, unmapped = run(rows, "multiwoz__crosswoz_en")
    assert mapped == [
        ["Hotel", "name", "acorn guest house", 0],
        ["Hotel", "type", "high-end", 1],
        ["Hotel", "Hotel Facilities", "Broadband Internet,Pay Parking", 3],
        ["Hotel", "rating", "0", 5],
        ["Restaurant", "cost", "50 yuan or less", 7],
    ]
    reasons = [
        ["type", "hotel", "false friend"],
        ["stars", "0", "value"],
        ["area", "north", "no counterpart"],
    ]
    assert unmapped == reasons


def test_values_choose_between_targets_and_weak_values_give_way() -> None:
    rows = [("Hotel", "Hotel Facilities", "Gym,Pay Parking,Broadband Internet")]
    both = [["hotel", "internet", "yes", 0], ["hotel", "parking", "yes", 0]]
    assert run(rows, "crosswoz_en__multiwoz") == (both, [])
    rows = [("Hotel", "Hotel Facilities", "Gym")]
    assert run(rows, "crosswoz_en__multiwoz") == ([], [["Hotel Facilities", "Gym", "no counterpart"]])
    # A list cannot say "no": the value stands in for nothing better, and gives way to what is known.
    no, yes, way = ("hotel", "internet", "no"), ("hotel", "parking", "yes"), "multiwoz__crosswoz_en"
    assert run([no], way)[0] == [["Hotel", "Hotel Facilities", "no", 0]]
    paid = [["Hotel", "Hotel Facilities", "Pay Parking", 1]]
    assert run([no, yes], way) == (paid, [["internet", "no", "value"]])
    either = ("hotel", "internet", "dontcare")
    assert run([either, yes], way) == (paid, [["internet", "dontcare", "target filled twice"]])


def test_stages_of_a_chain() -> None:
    rows = [("旅馆", "价格范围", "便宜的"), ("餐厅", "食物", "印度的"), ("出租车", "出发时间", "09:00")]
    for stage, value in {"names": "便宜的", "values": "便宜的", "all": "经济型"}.items():
        mapped, unmapped = run(rows, "multiwoz_zh__crosswoz", stage)
        assert mapped[0] == ["酒店", "酒店类型", value, 0]
        assert unmapped[-1] == ["出发时间", "09:00", "no counterpart"]
        assert (["食物", "印度的", "value"] in unmapped) == (stage != "names")
    for name in ("multiwoz__crosswoz_en", "multiwoz__crosswoz"):
        assert run([("hotel", "pricerange", "cheap")], name, "values")[0][0][2] == "budget"
    with pytest.raises(UnknownNameError):
        run(rows, "multiwoz_zh__crosswoz", "al")


def test_names_as_systems_spell_them() -> None:
    rows = [
        ("Hotel", "price range", "cheap"), ("hotel", "people", "2"), ("train", "leave at", "09:00"),
        ("taxi", "arrive", "10:00"), ("RESTAURANT", "Book_Time", "12:00"), ("hotel", "invented", "x"),
    ]  # fmt: skip
    mapped, unmapped = run(rows, "multiwoz__multiwoz_zh")
    assert [m[1] for m in mapped] == ["价格范围", "人数", "出发时间", "到达时间", "时间"]
    assert unmapped == [["invented", "x", "no counterpart"]]


def test_chains_and_inverses() -> None:
    for name in PAIRS:
        alignment = de.load_alignment(name)
        back = alignment.inverse()
        assert back.name == "__".join(reversed(name.split("__"))) and back.inverse().id == alignment.id
        pd.testing.assert_frame_equal(back.inverse().rows, alignment.rows)
        assert de.load_alignment(back.name).checksum == back.checksum != alignment.checksum
    ab, bc, cd = map(
        de.load_alignment, ("multiwoz_zh__multiwoz", "multiwoz__crosswoz_en", "crosswoz_en__crosswoz")
    )
    left, right = ab.then(bc).then(cd), ab.then(bc.then(cd))
    assert left.id == right.id == de.load_alignment("multiwoz_zh__crosswoz").id
    with pytest.raises(UsageError):
        ab.then(ab)
    # A chain takes the weakest relation.
    rows = left.rows[left.rows["slot"] != ""].set_index(["domain", "slot"])[["target_slot", "relation"]]
    assert rows.loc[("旅馆", "类型")].tolist() == ["酒店类型", "false friend"]
    assert rows.loc[("旅馆", "价格范围")].tolist() == ["酒店类型", "narrower"]
    assert rows.loc[("旅馆", "区域")].tolist() == ["", "none"]
    rows = bc.then(bc.inverse()).rows.set_index(["domain", "slot"])
    assert rows.loc[("restaurant", "pricerange"), ["target_slot", "relation"]].tolist() == [
        "pricerange",
        "related",
    ]
    # An ontology with itself changes nothing.
    assert run([("hotel", "any", "x")], "multiwoz21__multiwoz") == ([["hotel", "any", "x", 0]], [])


@cache
def vocabulary(name: str) -> list[tuple[str, str, str]]:
    """Every slot of the source with every value that its tables know, and some that none knows."""
    hop = de.load_alignment(name).hops[0]
    found = []
    dontcare = {"zh": "不在意", "en": "dontcare"}[hop.source_language]
    for row in hop.rows.to_dict("records"):
        if row["slot"]:
            known = hop.values.get(row["converter"].partition(":")[2], ())
            values = [v for v, _ in known] + ["zzz", dontcare, "none", "300-400元", "4"]
            found += [(row["domain"], row["slot"], v) for v in dict.fromkeys(values)]
    return sorted(set(found))


def check_round_trip(name: str, source: pd.DataFrame) -> None:
    alignment = de.load_alignment(name)
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


@pytest.mark.parametrize("name", PAIRS)
def test_there_and_back_loses_only_what_the_alignment_says(name: str) -> None:
    # Every value of every slot, each in a dialogue of its own.
    check_round_trip(name, de.table("states", [(f"d{n}", 0, *row) for n, row in enumerate(vocabulary(name))]))


@settings(max_examples=15)
@given(st.data(), st.sampled_from(TRANSLATIONS))
def test_whole_states_there_and_back(data: st.DataObject, name: str) -> None:
    one = st.lists(st.sampled_from(vocabulary(name)), max_size=12, unique_by=lambda r: r[:2])
    check_round_trip(name, states(*data.draw(one)))


def test_predictions_keep_what_is_not_a_state(tmp_path: Path) -> None:
    active = [("d", 0, "Hotel"), ("d", 1, "train"), ("d", 2, "police")]
    predictions = de.Predictions(
        "p", states=states(("hotel", "pricerange", "cheap"), ("train", "day", "friday")),
        responses=de.table("responses", [("d", 0, "hello")]), active_domains=de.table("active_domains", active),
        gold=de.Corpus("g"), notes=("before",),
    )  # fmt: skip
    alignment = de.load_alignment("multiwoz__crosswoz_en")
    mapped = de.map_predictions(predictions, alignment)
    assert mapped.responses is predictions.responses and mapped.gold is None
    assert mapped.active_domains is not None
    assert mapped.active_domains.values.tolist() == [["d", 0, "Hotel"], ["d", 1, "Metro"]]
    assert mapped.notes[0] == "before" and alignment.id in mapped.notes[1]
    assert "1 of 2 triples" in mapped.notes[1] and "no counterpart: 1" in mapped.notes[1]
    # A name, a path or an alignment; predictions, their file or a corpus.
    path = save_alignment(alignment, tmp_path / "multiwoz__crosswoz_en.csv")
    for way in (alignment.name, path, str(path)):
        assert de.map_predictions(predictions, way).states.equals(mapped.states)
    turns = predictions.states[["dialogue_id", "turn"]].drop_duplicates()
    file = de.save_predictions(
        de.Predictions("p", turns=turns, states=predictions.states), tmp_path / "p.jsonl", "turns"
    )
    assert len(de.map_predictions(file, alignment).states) == 1
    corpus = de.load_corpus("sample/multiwoz")
    assert len(de.map_predictions(corpus, "multiwoz__multiwoz_zh").states)
    for wrong in (de.Predictions("p"), 5):
        with pytest.raises(UsageError):
            de.map_predictions(wrong, alignment)
    with pytest.raises(UsageError):
        de.map_predictions(predictions, 5)  # type: ignore[arg-type]


def test_values_are_learned_by_majority(tmp_path: Path) -> None:
    def corpus(name: str, values: list[str], domain: str, slot: str) -> de.Corpus:
        rows = [("d", n, domain, slot, value) for n, value in enumerate(values)]
        return de.Corpus(name, states=de.table("states", rows))

    zh = corpus("zh", ["故宫", "故宫", "故宫", "天坛", "天坛", "不在意"], "出租", "出发地")
    en = corpus("en", ["Palace", "Palace", "Forbidden", "Heaven", "Temple", "any"], "Taxi", "from")
    alignment = de.load_alignment("crosswoz__crosswoz_en")
    learned = learn_values(alignment, zh, en)
    assert learned.hops[0].values["open"] == (("故宫", "Palace"),) and "open" not in alignment.hops[0].values
    assert learned.name == "crosswoz__crosswoz_en+learned" and learned.checksum != alignment.checksum
    assert de.load_alignment(save_alignment(learned, tmp_path / f"{learned.name}.csv")).id == learned.id
    # What was learned in one slot serves all that share the table, and backwards, and in a chain.
    assert map_states(states(("景点", "名称", "故宫")), learned)[0]["value"].tolist() == ["Palace"]
    chain = de.load_alignment("multiwoz__crosswoz_en").then(learned.inverse())
    assert chain.name == "multiwoz__crosswoz+learned"
    assert map_states(states(("attraction", "name", "palace")), chain)[0]["value"].tolist() == ["故宫"]
    with pytest.raises(UsageError):
        learn_values(de.load_alignment("multiwoz__crosswoz"), zh, en)
    with pytest.raises(UsageError):
        learn_values(alignment, zh, replace(en, states=en.states.assign(dialogue_id="e")))


# Real corpora -------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def real(real_data) -> dict[str, de.Corpus]:  # type: ignore[no-untyped-def]
    names = ["multiwoz21", "multiwoz_zh", "crosswoz", "crosswoz_en"]
    return {name: de.load_corpus(name, home=real_data) for name in names}


def exact(alignment: de.Alignment, source: pd.DataFrame, target: pd.DataFrame) -> tuple[float, pd.DataFrame]:
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
def test_parallel_gold(real, source: str, target: str, shipped: float, learned: float, wrong: int) -> None:
    alignment = de.load_alignment(f"{source}__{target}")
    share, different = exact(alignment, real[source].states, real[target].states)
    assert share == pytest.approx(shipped, abs=0.001) and len(different) == wrong
    # Of many-to-one spellings ("portugese", "pool", "Spa") alone.
    spelled = {"portuguese", "swimming pool", "SPA", "Wake Up Service"}
    assert set(different["value"].str.partition(",")[0]) <= spelled
    ids = sorted(real[source].states["dialogue_id"].unique())
    half = ids[: len(ids) // 2]
    more = learn_values(alignment, real[source].select(half), real[target].select(half))
    held_out = ~real[source].states["dialogue_id"].isin(half)
    share, _ = exact(more, real[source].states[held_out], real[target].states)
    assert share == pytest.approx(learned, abs=0.001)


def test_no_slot_of_the_real_corpora_is_forgotten(real) -> None:
    slots = {}
    for name, corpus in real.items():
        both = pd.concat([corpus.ontology, corpus.states])[["domain", "slot"]]
        slots[name.rstrip("21")] = both.drop_duplicates()
    for name in PAIRS:
        alignment = de.load_alignment(name)
        check_alignment(alignment, slots[alignment.source], slots[alignment.target])
        listed = set(alignment.rows[["domain", "slot"]].itertuples(index=False, name=None))
        named = slots[alignment.source]
        named = named[~named["slot"].str.startswith("Hotel Facilities - ")]
        assert set(named.itertuples(index=False, name=None)) <= listed
    source = real["multiwoz21"].states
    mapped, unmapped = map_states(source, de.load_alignment("multiwoz__crosswoz"))
    # The rows that are neither are one facility of a hotel, joined to the other.
    rest = source.drop([*mapped["row"], *unmapped["row"]], errors="ignore")
    assert set(rest["slot"]) <= {"parking", "internet"}
    assert len(rest) == mapped["value"].isin(["宽带上网 收费停车位", "收费停车位 宽带上网"]).sum()

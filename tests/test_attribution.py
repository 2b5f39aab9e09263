"""Losses put down to causes: a hand-worked example, and sums that have to hold on every pair of corpora."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import dialogeval as de
from dialogeval.exceptions import AlignmentError, UsageError
from dialogeval.ontology.attribution import CAUSES
from dialogeval.resources import resource_dir

HEAD = "domain,slot,target_domain,target_slot,relation,converter,note\n"
ROWS = "inn,zone,hotel,area,same,,\ninn,cost,hotel,pricerange,same,low=cheap|high=expensive,\ninn,pets,,,none,,\n"
CORPORA = ("multiwoz", "multiwoz_zh", "crosswoz", "crosswoz_en")


def states(*rows: tuple[int, str, str, str]) -> object:
    return de.table("states", [("d", *row) for row in rows])


@pytest.fixture
def toy(tmp_path: Path) -> tuple[de.Corpus, de.Predictions, Path]:
    (tmp_path / "inns__hotels.csv").write_text(HEAD + ROWS)
    turns = de.table("turns", [("d", t, "hi", "ho", 0) for t in range(8)])
    area, price = ("hotel", "area", "north"), ("hotel", "pricerange", "cheap")
    gold = de.Corpus(
        "toy",
        turns=turns,
        states=states(*[(t, *area) for t in range(1, 7)], *[(t, *price) for t in range(3, 6)]),
    )
    zone, cost = ("inn", "zone", "north"), ("inn", "cost", "low")
    predicted = states(
        (1, *area),  # right as it is
        (2, *zone),  # another name
        (3, *zone), (3, *cost),  # another name, and another value
        (4, *zone),  # price missing
        (5, *zone), (5, "inn", "cost", "high"),  # price wrong
        (6, *zone), (6, "inn", "pets", "yes"),  # a slot that gold's ontology does not have
        (7, *zone),  # spurious, even by its right name
    )  # fmt: skip
    return gold, de.Predictions("p", turns=turns[["dialogue_id", "turn"]], states=predicted), tmp_path


def test_by_hand(toy: tuple[de.Corpus, de.Predictions, Path]) -> None:
    gold, predictions, folder = toy
    found = de.attribute_losses(gold, predictions, str(folder / "inns__hotels.csv"), "lin2021", resamples=0)
    # Turn 1 is right by gold's own name; the alignment, which knows no such source slot, drops it.
    assert found.raw["joint_goal_accuracy"] == 2 / 8
    assert found.aligned["joint_goal_accuracy"] == 4 / 8
    assert found.broken == pytest.approx(1 / 8)
    table = found.table
    assert table["turns"].to_dict() == {
        "misaligned name": 2, "misaligned value": 1, "language": 0, "untranslated": 0,
        "missing": 1, "spurious": 1, "wrong": 1, "whole": 6,
    }  # fmt: skip
    assert (table["up to here"] * 8).round(9).tolist() == [4, 5, 5, 5, 6, 7, 8, 8]
    # Repaired alone: names mend turns 2 and 6; what is spurious mends turn 7; the others have two causes.
    assert (table["alone"] * 8).round(9).tolist() == [4, 2, 2, 2, 2, 3, 2, 8]
    causes = found.losses.groupby(["turn", "side"])["cause"].agg(list).to_dict()
    assert causes[3, "gold"] == ["misaligned name", "misaligned value"]
    assert causes[5, "predicted"] == ["wrong", "misaligned name"]
    assert causes[7, "predicted"] == ["spurious"]
    rows = [["hotel", "area", "no counterpart", 1], ["inn", "pets", "no counterpart", 1]]
    assert found.unmapped.values.tolist() == rows


def check_sums(found: object) -> None:
    table = found.table.drop(index="whole")
    raw, aligned = found.raw["joint_goal_accuracy"], found.aligned["joint_goal_accuracy"]
    assert table["points"].sum() == pytest.approx(1 - raw)
    assert table["up to here"].is_monotonic_increasing and table["up to here"].iloc[-1] == pytest.approx(1)
    assert (table["alone"] >= raw - 1e-12).all() and (table["alone"] <= 1 + 1e-12).all()
    assert table.loc["language", "up to here"] == pytest.approx(aligned + found.broken)
    pair = found.raw.pairs["state"]
    lost = (~pair.gold_in_pred).sum(), (~pair.pred_in_gold).sum()
    sides = found.losses["side"].value_counts()
    assert (sides.get("gold", 0), sides.get("predicted", 0)) == lost
    assert table["triples"].sum() == sum(lost) == found.by_slot().loc[("whole", ""), "all"]
    assert set(found.losses["cause"]) <= set(CAUSES)
    np.testing.assert_array_equal(found.counts.sum(), table["triples"])


@pytest.mark.parametrize(
    ("source", "target"), [(a, b) for i, a in enumerate(CORPORA) for b in (CORPORA[i - 1], CORPORA[i - 2])]
)
def test_parts_add_up_to_the_whole_on_every_pair(source: str, target: str) -> None:
    gold, other = de.load_corpus(f"sample/{target}"), de.load_corpus(f"sample/{source}")
    if source[:5] == target[:5]:  # parallel: the same dialogues in another language
        predictions = de.as_predictions(other)
    else:
        predictions = de.run_baseline("value-matching", other, gold)
    found = de.attribute_losses(gold, predictions, f"{source}__{target}", "trade", resamples=20)
    check_sums(found)
    assert found.table.drop(index="whole")[["low", "high"]].notna().all(axis=None)
    assert f"|align:{de.load_alignment(f'{source}__{target}').id}|" in found.aligned.signature


def test_text_of_the_data_is_text(toy: tuple[de.Corpus, de.Predictions, Path]) -> None:
    gold, predictions, folder = toy
    named = de.Predictions("<b>x</b>", turns=predictions.turns, states=predictions.states)
    found = de.attribute_losses(gold, named, str(folder / "inns__hotels.csv"), resamples=0)
    assert "&lt;b&gt;x" in found._repr_html_() and "<b>" not in found._repr_html_()


def test_what_cannot_be_attributed(toy: tuple[de.Corpus, de.Predictions, Path]) -> None:
    gold, predictions, folder = toy
    with pytest.raises(UsageError):
        de.attribute_losses(gold, predictions, folder / "inns__hotels.csv", "dstc9")
    with pytest.raises(UsageError):
        de.attribute_losses(gold, predictions, 5)  # type: ignore[arg-type]
    with pytest.raises(UsageError):
        de.score("sample/multiwoz", predictions, "lin2021", alignment="multiwoz__crosswoz_en")
    for row, slot in (
        ("hotel,nosuchslot,酒店,区域,same,,", "hotel/nosuchslot"),
        ("hotel,area,旅馆,zzz,same,,", "旅馆/zzz"),
    ):
        file = folder / "multiwoz__multiwoz_zh.csv"
        file.write_text(f"{HEAD}{row}\n", encoding="utf-8")
        with pytest.raises(AlignmentError, match=slot):
            de.score("sample/multiwoz_zh", predictions, "lin2021", alignment=str(file))
    (folder / "a|b:c__d.csv").write_text(HEAD + ROWS)
    assert de.load_alignment(folder / "a|b:c__d.csv").id.startswith("a-b-c__d@")


def test_paths_names_and_objects_alike() -> None:
    names = "sample/multiwoz_zh", "multiwoz__multiwoz_zh"
    file = resource_dir("data") / "sample/predictions/multiwoz/tracker_careful.json.gz"
    system = de.load_predictions(file)
    objects = de.load_corpus(names[0]), de.load_alignment(names[1])
    one = de.attribute_losses(names[0], file, names[1], missing="empty", resamples=0)
    other = de.attribute_losses(objects[0], system, objects[1], missing="empty", resamples=0)
    assert one.table.equals(other.table) and one.stages.equals(other.stages)
    # Stages lead from the raw score to the aligned one, each the score of what is mapped so far.
    renamed = de.map_predictions(system, objects[1], "names")
    mapped = de.score(objects[0], renamed, "lin2021", missing="empty", resamples=0)
    assert one.stages.loc["slot_f1"].tolist() == [
        one.raw["slot_f1"], mapped["slot_f1"], one.stages.loc["slot_f1", "values"], one.aligned["slot_f1"]
    ]  # fmt: skip


def test_multiwoz_tracker_on_crosswoz(real_data: Path) -> None:
    train, gold = (
        de.load_corpus("multiwoz21", "val", home=real_data),
        de.load_corpus("crosswoz_en", home=real_data),
    )
    train, gold = (c.select(c.dialogues["dialogue_id"].head(n)) for c, n in ((train, 300), (gold, 100)))
    predictions = de.run_baseline("value-matching", train, gold)
    found = de.attribute_losses(gold, predictions, "multiwoz21__crosswoz_en", "lin2021", resamples=50)
    check_sums(found)
    assert found.raw["joint_goal_accuracy"] < 0.01
    assert ("hotel", "type", "false friend") in set(
        found.unmapped[["domain", "slot", "reason"]].itertuples(index=False, name=None)
    )

"""ConvLab-3's scorer of unified files, written out on the raw file, and what our protocol makes of it."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Any

import pytest

import dialogeval as de
from dialogeval.files import read_bytes
from dialogeval.tables import Corpus, Predictions, table


def official(samples: list[dict[str, Any]]) -> dict[str, float]:
    """The scorer on samples with ``state`` and ``predictions.state``."""

    def bare(text: str) -> str:
        return "".join(text.split()).lower()

    tp = fp = fn = joint = 0
    for sample in samples:
        wrong = 0
        for domain, slots in sample["state"].items():
            for slot, value in slots.items():
                wanted, said = bare(value), bare(sample["predictions"]["state"].get(domain, {}).get(slot, ""))
                if not wanted and not said:
                    continue
                if wanted and said and set(wanted.split("|")) & set(said.split("|")):
                    tp += 1
                    continue
                fn += bool(wanted)
                fp += bool(said)
                wrong += 1
        joint += not wrong
    p, r = tp / (tp + fp) if tp + fp else 0.0, tp / (tp + fn) if tp + fn else 0.0
    return {
        "joint_goal_accuracy": joint / len(samples),
        "slot_precision": p,
        "slot_recall": r,
        "slot_f1_micro": 2 * p * r / (p + r) if p + r else 0.0,
    }


def scored(gold: Any, predictions: Any) -> dict[str, float]:
    return dict(de.score(gold, predictions, "convlab-filtered", resamples=0).table["value"])


def as_samples(states: list[tuple[dict, dict]]) -> list[dict[str, Any]]:
    return [
        {"utt_idx": 2 * n, "dialogue_id": "d", "state": gold, "predictions": {"state": said}}
        for n, (gold, said) in enumerate(states)
    ]


LISTED = {"hotel": {"area": "", "name": "", "stars": ""}, "taxi": {"leave at": ""}}


def filled(**values: str) -> dict[str, dict[str, str]]:
    return {d: {s: values.get(s.replace(" ", "_"), "") for s in slots} for d, slots in LISTED.items()}


def test_by_hand(tmp_path: Path) -> None:
    states = [
        (filled(area="north|centre"), {"hotel": {"area": "South | Centre"}}),  # one part in common
        (
            filled(area="north"),
            {"hotel": {"area": "north", "stars": "4"}, "police": {"name": "x"}},
        ),  # stars: FP
        (
            filled(area="north", name="Acorn Inn"),
            {"hotel": {"area": "south", "name": "acorninn"}},
        ),  # FP and FN
        (filled(name="acorn"), {"taxi": {"arrive by": "9"}}),  # FN; what gold does not list is not seen
        (filled(), {}),
    ]
    samples = as_samples(states)
    (tmp_path / "p.json").write_text(json.dumps(samples), encoding="utf-8")
    tp, fp, fn = 3, 2, 2
    wanted = {"joint_goal_accuracy": 2 / 5, "slot_precision": tp / (tp + fp), "slot_recall": tp / (tp + fn)}
    assert official(samples) == pytest.approx(wanted | {"slot_f1_micro": 2 * tp / (2 * tp + fp + fn)})
    assert scored(None, tmp_path / "p.json") == pytest.approx(official(samples), abs=1e-12)


def test_a_denominator_of_0_gives_0(tmp_path: Path) -> None:
    (tmp_path / "p.json").write_text(json.dumps(as_samples([(filled(area="north"), {})])), encoding="utf-8")
    assert scored(None, tmp_path / "p.json") == dict.fromkeys(
        official(as_samples([(filled(area="a"), {})])), 0.0
    )


@pytest.mark.parametrize("system", ["ubar", "bort"])
def test_on_a_raw_unified_file(real_data: Path, tmp_path: Path, system: str) -> None:
    """Gold of MultiWOZ 2.1 with every slot listed, a real system's own states, written as ConvLab writes them."""
    raw = json.loads(read_bytes(real_data / "multiwoz21/test.json.zip"))
    predicted = json.loads((real_data / f"predictions/multiwoz/{system}.json").read_text(encoding="utf-8"))
    draw, samples = Random(3), []
    for name, dialogue in raw.items():
        turns = predicted.get(name.lower().removesuffix(".json"), [])  # bort lacks some
        for turn, (message, said) in enumerate(zip(dialogue["log"][1::2], turns, strict=False)):
            gold = {
                domain: {s: "" if v == "not mentioned" else v for s, v in parts["semi"].items()}
                for domain, parts in message["metadata"].items()
            }
            state = said["state"]
            for slots in state.values():
                for slot in slots:  # the systems give one value; ConvLab's may give several
                    if draw.random() < 0.02:
                        slots[slot] += draw.choice(["|north", " | dontcare", "|Cambridge "])
            samples.append(
                {"utt_idx": 2 * turn, "dialogue_id": name, "state": gold, "predictions": {"state": state}}
            )
    (tmp_path / "convlab.json").write_text(json.dumps(samples), encoding="utf-8")
    assert scored(None, tmp_path / "convlab.json") == pytest.approx(official(samples), abs=1e-12)


def test_states_that_hold_filled_slots_only_are_compared_on_the_ontology() -> None:
    turns = table("turns", [("d", 0, "u", "s", 0)])
    shop = [("d", 0, "shop", "area", "north")]
    known = table("ontology", [("shop", "area", "north"), ("shop", "size", "big")])
    gold = Corpus("toy", turns=turns, states=table("states", shop), ontology=known)
    more = [*shop, ("d", 0, "shop", "size", "big"), ("d", 0, "shop", "colour", "red")]
    said = Predictions("p", turns=turns[["dialogue_id", "turn"]], states=table("states", more))
    assert scored(gold, said)["slot_precision"] == 1 / 2  # size is known, colour is not

"""DSTC9's official scorer: published values, a slow one of our own, turns by hand, incomplete submissions."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest
import recipes_change as slow
from hypothesis import given, settings
from hypothesis import strategies as st

import dialogeval as de
from dialogeval.exceptions import CoverageError, PredictionError, UsageError
from dialogeval.files import read_bytes
from dialogeval.golds import GOLDS
from dialogeval.protocols import PROTOCOLS
from dialogeval.tables import table

OFFICIAL = {
    "joint accuracy": "joint_goal_accuracy",
    "accuracy": "slot_accuracy",
    "precision": "slot_precision",
    "recall": "slot_recall",
    "f1": "slot_f1_micro",
}


def official(block: dict) -> dict[str, float]:
    """A block of the official scorer's output under our keys."""
    return {OFFICIAL[k]: v for k, v in (*block.items(), *block["slot"].items()) if k in OFFICIAL}


# Published values -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("corpus", "file", "protocol", "block"),
    [
        ("crosswoz_en", "crosswoz_en_test", "dstc9", "official"),
        ("crosswoz_en", "crosswoz_en_test", "dstc9-corrected", "official_corrected_names"),
        ("multiwoz_zh", "multiwoz_zh_test", "dstc9", "official"),
    ],
)
def test_official_scorer(
    real_data: Path, real_cases: Path, corpus: str, file: str, protocol: str, block: str
) -> None:
    expected = json.loads((real_cases / "dstc9/expected.json").read_text())[file]
    gold = de.load_corpus(corpus, home=real_data)
    scores = de.score(gold, real_cases / f"dstc9/{file}.submission.json.gz", protocol, resamples=0)
    assert dict(scores.table["value"]) == pytest.approx(official(expected[block]), abs=1e-12)
    assert scores.coverage.turns_scored == expected["turns"]
    assert scores.coverage.dialogues_scored == expected["dialogues"]
    # The corpus as its own submission, through the format and its demand for every slot.
    again = de.score(gold, submission_of(gold, protocol), protocol, resamples=0)
    assert dict(again.table["value"]) == official(expected["gold_against_itself"])


def submission_of(gold: de.Corpus, protocol: str) -> de.Predictions:
    """A DSTC9 submission of the gold itself: every slot of every turn, the empty ones too."""
    states = GOLDS[PROTOCOLS[protocol].gold](gold).states
    where = ["dialogue_id", "turn"]
    listed = gold.turns[[*where, "layout"]].merge(gold.layouts, on="layout")
    listed = listed.merge(states, on=[*where, "domain", "slot"], how="left").fillna({"value": ""})
    made: dict[str, list[dict]] = {i: [] for i in gold.turns["dialogue_id"]}
    for (i, _), rows in listed.groupby(where):
        state: dict[str, dict[str, str]] = {}
        for domain, slot, value in rows[["domain", "slot", "value"]].to_numpy():
            state.setdefault(domain, {})[slot] = value
        made[i].append(state)
    return submit(made)


def test_names_changed_by_the_correction(real_data: Path, real_cases: Path) -> None:
    expected = json.loads((real_cases / "dstc9/expected.json").read_text())["crosswoz_en_test"]
    gold = de.load_corpus("crosswoz_en", home=real_data)
    where = ["dialogue_id", "turn", "domain"]
    # Both golds only fill names that are empty: one with a list, the other with one offered entity.
    listed, corrected = (
        {tuple(r) for r in f[where].to_numpy()} for f in (gold.alternatives, gold.corrections)
    )
    assert len(listed | corrected) == expected["name_slots_changed_by_correction"]


def test_the_table_of_one_corpus_never_applies_to_the_other(real_data: Path, real_cases: Path) -> None:
    """未提及 means empty in MultiWOZ-zh only; in CrossWOZ-en it is a value, right nowhere and filled."""
    expected = json.loads((real_cases / "dstc9/expected.json").read_text())["crosswoz_en_test"]
    raw = json.loads(read_bytes(real_data / "crosswoz_en/test.json.zip"))
    submission = json.loads(read_bytes(real_cases / "dstc9/crosswoz_en_test.submission.json.gz"))
    golds = {
        v: {i: slow.dstc9_golds(d["messages"], v) for i, d in raw.items()} for v in ("official", "corrected")
    }
    # The slow scorer is the official one.
    for version, block in (("official", "official"), ("corrected", "official_corrected_names")):
        assert slow.dstc9(golds[version], submission) == pytest.approx(official(expected[block]), abs=1e-12)
    draw = Random(9)
    spots = [s for turns in submission.values() for state in turns for s in state.values()]
    odd = ["未提及", "未 提及 ", "是的", "Free Admission", "None"]
    for slots in draw.sample(spots, 900):
        slots[draw.choice(sorted(slots))] = draw.choice(odd)
    gold, sprinkled = de.load_corpus("crosswoz_en", home=real_data), submit(submission)
    for protocol, version in (("dstc9", "official"), ("dstc9-corrected", "corrected")):
        scores = de.score(gold, sprinkled, protocol, resamples=0)
        wanted = slow.dstc9(golds[version], submission)
        assert dict(scores.table["value"]) == pytest.approx(wanted, abs=1e-12)


# DSTC9 ----------------------------------------------------------------------------------------

Slots = dict[str, Any]


def system(init: dict[str, Slots], after: dict[str, Slots] | None = None) -> dict[str, Any]:
    return {"role": "sys", "content": "s", "sys_state_init": init, "sys_state": after or init}


def dialogue(*answers: dict[str, Any]) -> dict[str, Any]:
    user = {"role": "usr", "content": "u"}
    return {"messages": [m for answer in answers for m in (user, answer)]}


def hotel(name: str = "", price: str = "", results: tuple[str, ...] = ()) -> dict[str, Slots]:
    return {"Hotel": {"name": name, "price": price, "selectedResults": list(results)}}


def through_a_file(load: Callable[[Path], Any], name: str, content: dict[str, Any]) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, name)
        path.write_text(json.dumps(content), encoding="utf-8")
        return load(path)


def read(raw: dict[str, Any]) -> de.Corpus:
    return through_a_file(de.load_corpus, "crosswoz_en.json", raw)


def submit(states: dict[str, list]) -> de.Predictions:
    return through_a_file(de.load_predictions, "sub.json", states)


#: By hand. Turn 0: price stated, two inns found. Turn 1: nothing new. Turn 2: another price, one inn
#: found. Turn 3: nothing new: the corrected name is the inn offered in turn 2. Turn 4: a name is stated.
HAND = {
    "7": dialogue(
        system(hotel(price="Low"), hotel(price="Low", results=("Inn", "Old Inn"))),
        system(hotel(price="Low", results=("Inn", "Old Inn")), hotel(price="Low")),
        system(hotel(price="high"), hotel(price="high", results=("New Inn",))),
        system(hotel(price="high", results=("New Inn", "Last Inn")), hotel(price="high")),
        system(hotel(name="Last Inn", price="high"), hotel(name="Last Inn", price="high")),
    )
}
GUESS = {
    "7": [
        {"Hotel": {"name": "None", "price": " low"}},  # right: white space and none do not count
        {"Hotel": {"name": "OLD INN", "price": "low"}},  # any offered name
        {"Hotel": {"name": "none ", "price": "high"}},  # none with a space behind it is not mapped
        {"Hotel": {"name": "Last Inn", "price": "high"}},
        # What is beside the annotation is not looked at.
        {"Hotel": {"name": "Last Inn", "price": ""}, "Taxi": {"car": "red"}},
    ]
}


def test_dstc9_by_hand() -> None:
    # Joint accuracy, slot accuracy, precision, recall, F1.
    scores = de.score(read(HAND), submit(GUESS), "dstc9", resamples=0)
    # Filled gold: price, price + list, price, price + list, both: 8. Right of them 7; one invented name.
    assert list(scores.table["value"]) == pytest.approx([3 / 5, 8 / 10, 7 / 8, 7 / 8, 14 / 16])


def test_dstc9_corrected_by_hand() -> None:
    gold = read(HAND)
    assert gold.corrections[["turn", "value"]].to_numpy().tolist() == [[3, "New Inn"]]
    scores = de.score(gold, submit(GUESS), "dstc9-corrected", resamples=0)
    # Turn 1's name is empty now, so OLD INN is invented; turn 3 wants New Inn: both FP and FN.
    assert list(scores.table["value"]) == pytest.approx([1 / 5, 6 / 10, 5 / 8, 5 / 7, 10 / 15])


def test_dstc9_with_nothing_to_divide_by() -> None:
    gold = read({"7": dialogue(system(hotel()))})
    scores = de.score(gold, submit({"7": [{"Hotel": {"name": "", "price": ""}}]}), "dstc9", resamples=0)
    assert set(scores.table["value"]) == {1.0}


names = st.sampled_from(["", "Inn", "inn", "Old Inn", "OldInn", "none", "None ", "not mentioned"])
fees = st.sampled_from(["", "low", "free admission", "Free", "free  admission", "none"])
offers = st.lists(st.sampled_from(["Inn", "Old Inn", "New Inn"]), max_size=2)
domain = st.fixed_dictionaries({"name": names, "fee": fees, "selectedResults": offers})
full = st.fixed_dictionaries({"Hotel": domain, "Attraction": domain})


@st.composite
def tracked(draw: st.DrawFn) -> tuple[dict, dict]:
    """A corpus in CrossWOZ's format where states often stay as they were, and a submission."""
    raw, submission = {}, {}
    for i in range(draw(st.integers(1, 3))):
        answers, guesses, last = [], [], draw(full)
        for _ in range(draw(st.integers(1, 5))):
            first = draw(st.one_of(st.just(last), full))
            last = draw(st.one_of(st.just(first), full))
            answers.append(system(first, last))
            state = {d: {k: v for k, v in s.items() if k != "selectedResults"} for d, s in first.items()}
            if draw(st.booleans()):
                state[draw(st.sampled_from(list(state)))]["name"] = draw(names)
            guesses.append(state)
        raw[str(i)], submission[str(i)] = dialogue(*answers), guesses
    return raw, submission


@settings(max_examples=15)
@given(tracked())
def test_slow_official_scorer_on_random_dialogues(case: tuple[dict, dict]) -> None:
    raw, submission = case
    gold, pred = read(raw), submit(submission)
    for version, protocol in (("official", "dstc9"), ("corrected", "dstc9-corrected")):
        golds = {i: slow.dstc9_golds(d["messages"], version) for i, d in raw.items()}
        scores = de.score(gold, pred, protocol, resamples=0)
        assert dict(scores.table["value"]) == pytest.approx(slow.dstc9(golds, submission), abs=1e-12)


FOUR = dict.fromkeys(("7", "8"), HAND["7"])


@pytest.mark.parametrize(
    ("spoil", "place"),
    [
        (lambda s: s.pop("8"), "5 of 10 turns.*8"),
        (lambda s: s["8"].pop(), "short of turns: 8"),
        (lambda s: s["8"][2].pop("Hotel"), "dialogue 8, turn 2: slot Hotel-name"),
        (lambda s: s["8"][2]["Hotel"].pop("price"), "dialogue 8, turn 2: slot Hotel-price"),
        (lambda s: s["8"].append(s["8"][0]), "5 turns"),
        (lambda s: s.update({"9": s["8"]}), "got 9"),
        (lambda s: s["8"][2]["Hotel"].update(price=None), "dialogue 8, turn 2"),
    ],
    ids=["dialogue", "turn", "domain", "slot", "turn too many", "dialogue too many", "null"],
)
def test_incomplete_submission(spoil: Any, place: str) -> None:
    states = {i: json.loads(json.dumps(GUESS["7"])) for i in FOUR}
    spoil(states)
    with pytest.raises((CoverageError, PredictionError), match=place):
        de.score(read(FOUR), submit(states), "dstc9", resamples=0)


def test_golds_that_a_corpus_lacks() -> None:
    bare = de.Corpus("toy", turns=table("turns", [("d", 0, "hi", "ho", 0)]))
    with pytest.raises(UsageError):
        de.score(bare, bare, "dstc9", resamples=0)

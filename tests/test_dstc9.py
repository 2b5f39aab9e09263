"""DSTC9's official scorer: published values, a slow one of our own, turns by hand, incomplete submissions."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Any

import pytest
import recipes_change as slow
from hypothesis import given, settings
from hypothesis import strategies as st

import dialogeval as de
from dialogeval.corpora import crosswoz
from dialogeval.exceptions import CoverageError, PredictionError, UsageError
from dialogeval.files import read_bytes
from dialogeval.golds import GOLDS
from dialogeval.predictions.cells import Cell, build
from dialogeval.protocols import PROTOCOLS
from dialogeval.tables import Corpus, Predictions, table

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


def submission_of(gold: Corpus, protocol: str) -> Predictions:
    """A DSTC9 submission of the gold itself: every slot of every turn, the empty ones too."""
    states = GOLDS[PROTOCOLS[protocol].gold](gold).states
    filled = {tuple(row[:4]): row[4] for row in states.itertuples(index=False)}
    layouts: dict[int, list[tuple[str, str]]] = {}
    for layout, domain, slot in gold.layouts.itertuples(index=False):
        layouts.setdefault(layout, []).append((domain, slot))
    cells = []
    for i, t, layout in gold.turns[["dialogue_id", "turn", "layout"]].itertuples(index=False):
        state: dict[str, dict[str, str]] = {}
        for domain, slot in layouts[layout]:
            state.setdefault(domain, {})[slot] = filled.get((i, t, domain, slot), "")
        cells.append(Cell(i, t, state=state))
    return build(cells, "gold.json", name="gold", format="dstc9")


def test_names_changed_by_the_correction(real_data: Path, real_cases: Path) -> None:
    expected = json.loads((real_cases / "dstc9/expected.json").read_text())["crosswoz_en_test"]
    gold = de.load_corpus("crosswoz_en", home=real_data)
    where = ["dialogue_id", "turn", "domain"]
    # Both golds only fill names that are empty: one with a list, the other with one offered entity.
    listed, corrected = (
        {tuple(r) for r in f[where].to_numpy()} for f in (gold.alternatives, gold.corrections)
    )
    assert len(listed | corrected) == expected["name_slots_changed_by_correction"]


def test_slow_official_scorer_on_the_real_submission(real_data: Path, real_cases: Path) -> None:
    expected = json.loads((real_cases / "dstc9/expected.json").read_text())["crosswoz_en_test"]
    raw = json.loads(read_bytes(real_data / "crosswoz_en/test.json.zip"))
    submission = json.loads(read_bytes(real_cases / "dstc9/crosswoz_en_test.submission.json.gz"))
    for version, block in (("official", "official"), ("corrected", "official_corrected_names")):
        golds = {i: slow.dstc9_golds(d["messages"], version) for i, d in raw.items()}
        assert slow.dstc9(golds, submission) == pytest.approx(official(expected[block]), abs=1e-12)


def test_the_table_of_one_corpus_never_applies_to_the_other(
    real_data: Path, real_cases: Path, tmp_path: Path
) -> None:
    """未提及 means empty in MultiWOZ-zh only; in CrossWOZ-en it is a value, right nowhere and filled."""
    raw = json.loads(read_bytes(real_data / "crosswoz_en/test.json.zip"))
    submission = json.loads(read_bytes(real_cases / "dstc9/crosswoz_en_test.submission.json.gz"))
    draw = Random(9)
    spots = [s for turns in submission.values() for state in turns for s in state.values()]
    for slots in draw.sample(spots, 900):
        slots[draw.choice(sorted(slots))] = draw.choice(
            ["未提及", "未 提及 ", "是的", "Free Admission", "None"]
        )
    (tmp_path / "sprinkled.json").write_text(json.dumps(submission), encoding="utf-8")
    gold = de.load_corpus("crosswoz_en", home=real_data)
    for protocol, version in (("dstc9", "official"), ("dstc9-corrected", "corrected")):
        golds = {i: slow.dstc9_golds(d["messages"], version) for i, d in raw.items()}
        scores = de.score(gold, tmp_path / "sprinkled.json", protocol, resamples=0)
        assert dict(scores.table["value"]) == pytest.approx(slow.dstc9(golds, submission), abs=1e-12)


# DSTC9 ----------------------------------------------------------------------------------------

Slots = dict[str, Any]


def system(init: dict[str, Slots], after: dict[str, Slots] | None = None) -> dict[str, Any]:
    return {"role": "sys", "content": "s", "sys_state_init": init, "sys_state": after or init}


def dialogue(*answers: dict[str, Any]) -> dict[str, Any]:
    user = {"role": "usr", "content": "u"}
    return {"messages": [m for answer in answers for m in (user, answer)]}


def hotel(name: str = "", price: str = "", results: tuple[str, ...] = ()) -> dict[str, Slots]:
    return {"Hotel": {"name": name, "price": price, "selectedResults": list(results)}}


def read(raw: dict[str, Any]) -> Corpus:
    return crosswoz.read(raw, name="crosswoz_en", split="test", language="en")


def submit(states: dict[str, list]) -> Predictions:
    cells = [Cell(i, t, state=s) for i, turns in states.items() for t, s in enumerate(turns)]
    return build(cells, "sub.json", name="sub", format="dstc9")


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
        {
            "Hotel": {"name": "Last Inn", "price": ""},
            "Taxi": {"car": "red"},
        },  # what is beside is not looked at
    ]
}


def test_dstc9_by_hand() -> None:
    scores = de.score(read(HAND), submit(GUESS), "dstc9", resamples=0)
    # Filled gold: price, price + list, price, price + list, both: 8. Right of them 7; one invented name.
    assert dict(scores.table["value"]) == pytest.approx(
        {
            "joint_goal_accuracy": 3 / 5,
            "slot_accuracy": 8 / 10,
            "slot_precision": 7 / 8,
            "slot_recall": 7 / 8,
            "slot_f1_micro": 14 / 16,
        }
    )


def test_dstc9_corrected_by_hand() -> None:
    gold = read(HAND)
    assert gold.corrections[["turn", "value"]].to_numpy().tolist() == [[3, "New Inn"]]
    scores = de.score(gold, submit(GUESS), "dstc9-corrected", resamples=0)
    # Turn 1's name is empty now, so OLD INN is invented; turn 3 wants New Inn: both FP and FN.
    assert dict(scores.table["value"]) == pytest.approx(
        {
            "joint_goal_accuracy": 1 / 5,
            "slot_accuracy": 6 / 10,
            "slot_precision": 5 / 8,
            "slot_recall": 5 / 7,
            "slot_f1_micro": 10 / 15,
        }
    )


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
    ("spoil", "message"),
    [
        (
            lambda s: s.pop("8"),
            "5 of 10 turns of crosswoz_en/test@unknown have no prediction (1 dialogue missing: 8)",
        ),
        (lambda s: s["8"].pop(), "1 dialogue short of turns: 8"),
        (lambda s: s["8"][2].pop("Hotel"), "dialogue 8, turn 2: slot Hotel-name is missing (2 slots in all)"),
        (
            lambda s: s["8"][2]["Hotel"].pop("price"),
            "dialogue 8, turn 2: slot Hotel-price is missing (1 slots in all)",
        ),
        (lambda s: s["8"].append(s["8"][0]), "too many turns: expected 5 turns"),
        (lambda s: s.update({"9": s["8"]}), "dialogue 9 not in crosswoz_en/test@unknown"),
        (lambda s: s["8"][2]["Hotel"].update(price=None), "dialogue 8, turn 2"),
    ],
    ids=["dialogue", "turn", "domain", "slot", "turn too many", "dialogue too many", "null"],
)
def test_incomplete_submission(spoil: Any, message: str) -> None:
    states = {i: json.loads(json.dumps(GUESS["7"])) for i in FOUR}
    spoil(states)
    with pytest.raises((CoverageError, PredictionError)) as caught:
        de.score(read(FOUR), submit(states), "dstc9", resamples=0)
    assert "sub.json" in str(caught.value)
    assert message in str(caught.value)


def test_golds_that_a_corpus_lacks() -> None:
    bare = Corpus("toy", turns=table("turns", [("d", 0, "hi", "ho", 0)]))
    with pytest.raises(UsageError, match="does not say which slots are annotated"):
        de.score(bare, bare, "dstc9", resamples=0)

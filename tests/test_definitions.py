"""One system, N definitions: the table, its notes and signatures, the rankings, the effects on real systems."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import dialogeval as de
from dialogeval.definition_table import FUZZY, POLICIES
from dialogeval.exceptions import CoverageError, UnknownNameError, UsageError
from dialogeval.metrics.states import FUZZY_METRICS
from dialogeval.protocols import PROTOCOLS, Protocol
from dialogeval.tables import Corpus, Predictions, table

NAMES = ("careful", "sloppy", "stale")
STATES = [name for name, p in PROTOCOLS.items() if "state" in p.tasks]


@pytest.fixture(scope="module")
def gold() -> Corpus:
    return de.load_corpus("sample/crosswoz_en")


@pytest.fixture(scope="module")
def systems() -> dict[str, Predictions]:
    return {n: de.load_predictions(f"sample/predictions/crosswoz_en/tracker_{n}.jsonl.gz") for n in NAMES}


def policy_protocol(steps: tuple[str, ...], key: str) -> Protocol:
    plain = tuple(s for s in steps if s != FUZZY)
    metric = FUZZY_METRICS[key] if FUZZY in steps else key
    return replace(PROTOCOLS["lin2021"], name="mine", steps=plain, metrics=(metric,))


def test_every_cell_is_what_score_gives(gold: Corpus, systems: dict[str, Predictions]) -> None:
    done = de.definitions(gold, systems)
    here = [name for name in STATES if name != "sgd"]  # the corpus has no schema
    assert done.index.tolist() == [*here, *(f"lin2021 + {name}" for name in POLICIES)]
    assert done.columns.tolist() == list(NAMES)
    for name, system in systems.items():
        for protocol in here:
            scores = de.score(gold, system, protocol, resamples=0)
            assert done.loc[protocol, name] == pytest.approx(scores["joint_goal_accuracy"], abs=1e-12)
        for policy, steps in POLICIES.items():
            scores = de.score(gold, system, policy_protocol(steps, "joint_goal_accuracy"), resamples=0)
            assert done.loc[f"lin2021 + {policy}", name] == scores["joint_goal_accuracy"], policy


@pytest.mark.parametrize("metric", ["slot_f1", "slot_f1_micro", "granular_change_accuracy", "slot_accuracy"])
def test_other_metrics(gold: Corpus, systems: dict[str, Predictions], metric: str) -> None:
    done = de.definitions(gold, systems["sloppy"], metric=metric)
    for label, value in done["tracker_sloppy"].items():
        policy = str(label).removeprefix("lin2021 + ")
        protocol = PROTOCOLS.get(policy) or policy_protocol(POLICIES[policy], metric)
        assert value == pytest.approx(
            de.score(gold, systems["sloppy"], protocol, resamples=0)[metric], abs=1e-12
        )
    notes = "\n".join(done.attrs["notes"])
    for protocol in STATES:
        has = metric in [m.key for m in PROTOCOLS[protocol].resolve_metrics()]
        assert (protocol in done.index) == has
        assert (f"{protocol} has no {metric}" in notes) == (not has)
    assert ("lin2021 + values:fuzzy" in done.index) == (metric in FUZZY_METRICS)
    assert (f"{metric} is not defined for fuzzy values" in notes) == (metric not in FUZZY_METRICS)


def test_intervals_are_those_of_score(gold: Corpus, systems: dict[str, Predictions]) -> None:
    done = de.definitions(gold, {"a": systems["careful"]}, ["dstc9", "trade"], {}, resamples=50, seed=3)
    assert done.columns.tolist() == [("a", "value"), ("a", "low"), ("a", "high")]
    for protocol in ("dstc9", "trade"):
        row = de.score(gold, systems["careful"], protocol, resamples=50, seed=3).table.loc[
            "joint_goal_accuracy"
        ]
        assert done.loc[protocol].tolist() == pytest.approx(row[["value", "low", "high"]].tolist())
    assert de.rankings(done)["ranking"].tolist() == ["a", "a"]


def test_each_number_has_its_signature(gold: Corpus, systems: dict[str, Predictions]) -> None:
    done = de.definitions(gold, systems)
    assert done.attrs["metric"] == "joint_goal_accuracy"
    assert list(done.attrs["signatures"]) == done.index.tolist()
    signatures = done.attrs["signatures"]
    for protocol in ("lin2021", "dstc9"):
        scores = de.score(gold, systems["careful"], protocol, resamples=0)
        assert signatures[protocol]["careful"] == scores.metric_signature("joint_goal_accuracy")
    row = signatures["lin2021 + none:drop"]
    assert set(row) == set(NAMES)
    assert row["careful"].startswith("jga|proto:user/lin2021+none-drop|case:keep|space:keep|none:drop|gold:")
    assert signatures["lin2021 + values:fuzzy"]["careful"].startswith("jga_(fuzzy)|")
    assert len({s["careful"] for s in signatures.values()}) == len(signatures)


def toy(values: dict[str, list[str]], gold_values: list[str]) -> tuple[Corpus, dict[str, Predictions]]:
    turns = [(f"d{t}", 0, "u", "s", 0) for t in range(len(gold_values))]
    gold = Corpus(
        "toy",
        split="test",
        family="multiwoz",
        dialogues=table("dialogues", [(d, d, "") for d, *_ in turns]),
        turns=table("turns", turns),
        states=table("states", [(f"d{t}", 0, "hotel", "area", v) for t, v in enumerate(gold_values)]),
        layouts=table("layouts", [(0, "hotel", "area")]),
    )
    have = gold.turns[["dialogue_id", "turn"]]
    return gold, {
        name: Predictions(
            name,
            turns=have,
            states=table("states", [(f"d{t}", 0, "hotel", "area", v) for t, v in enumerate(column)]),
        )
        for name, column in values.items()
    }


def test_rankings_by_hand() -> None:
    gold, pred = toy(
        {"a": ["North", "North", "x"], "b": ["north", "y", "x"], "c": ["q", "q", "q"]}, ["north"] * 3
    )
    done = de.definitions(gold, pred, ["lin2021"], {"lower case": ["case:lower"], "none": ["none:drop"]})
    assert done.to_numpy().tolist() == [[0, 1 / 3, 0], [2 / 3, 1 / 3, 0], [0, 1 / 3, 0]]
    ranked = de.rankings(done)
    assert ranked.index.tolist() == done.index.tolist()
    assert ranked["ranking"].tolist() == ["b > a = c", "a > b > c", "b > a = c"]
    assert ranked["differs"].tolist() == [False, True, False]
    assert ranked["moved"].tolist() == ["", "a/b, a/c", ""]


def test_rankings_where_less_is_better_and_where_a_value_is_lacking() -> None:
    values = pd.DataFrame({"a": [0.1, 0.3], "b": [0.2, 0.2], "c": [0.3, np.nan]}, index=["x", "y"])
    assert de.rankings(values)["ranking"].tolist() == ["c > b > a", "a > b"]
    assert de.rankings(values)["moved"].tolist() == ["", "a/b"]
    values.attrs["better"] = "lower"
    assert de.rankings(values)["ranking"].tolist() == ["a > b > c", "b > a"]


def test_what_does_not_apply_is_said() -> None:
    gold, pred = toy({"a": ["north"], "b": ["south"]}, ["north"])
    done = de.definitions(gold, pred)
    assert "dstc9-corrected" not in done.index
    assert done.attrs["notes"] == [
        "dstc9-corrected does not apply: toy/test@unknown has no corrected names; protocol dstc9-corrected is for "
        "crosswoz and crosswoz_en",
        "sgd does not apply: toy/test@unknown has no schema, which says what slots a service has and which are "
        "categorical; protocol sgd is for the schema-guided format, with schema.json beside the dialogues",
    ]
    # A DSTC9 submission that leaves a slot out has no score there, and others have.
    states = pred["b"].states
    assert states is not None
    pred["b"] = replace(pred["b"], format="dstc9", states=states[:0], path="b.json")
    done = de.definitions(gold, pred, ["lin2021", "dstc9"], {})
    assert done.loc["dstc9", "a"] == 1
    assert np.isnan(done.loc["dstc9", "b"])
    (note,) = done.attrs["notes"]
    assert note.startswith("b: dstc9 does not apply: dialogue d0, turn 0: slot hotel-area is missing")
    assert "dialogue d0, turn 0: slot hotel-area is missing (1 slots in all)" in note
    assert done.attrs["signatures"]["dstc9"].keys() == {"a"}


def test_coverage() -> None:
    gold, pred = toy({"a": ["north", "north"], "b": ["north", "south"]}, ["north", "north"])
    short = pred["b"]
    assert short.states is not None
    pred["b"] = replace(short, turns=short.turns[:1], states=short.states[:1])
    with pytest.raises(CoverageError, match="have no prediction"):
        de.definitions(gold, pred)
    skipped = de.definitions(gold, pred, ["lin2021"], {}, missing="skip")
    assert skipped.loc["lin2021"].tolist() == [1, 1]
    assert ["1 of 2 turns" in skipped.attrs["notes"][0], "same turns" in skipped.attrs["notes"][1]] == [
        True,
        True,
    ]
    assert de.definitions(gold, pred, ["lin2021"], {}, missing="empty").loc["lin2021"].tolist() == [1, 0.5]


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"metric": "jga"}, UnknownNameError, "unknown score of states 'jga'"),
        ({"metric": "bleu_4"}, UnknownNameError, "unknown score of states 'bleu_4'"),
        ({"protocols": ["lin2012"]}, UnknownNameError, "unknown protocol 'lin2012'"),
        ({"policies": {"x": ["case:upper"]}}, UnknownNameError, "unknown choice of step case 'upper'"),
        ({"protocols": ["lin2021", "lin2021"]}, UsageError, "two definitions have one name"),
        ({"predictions": {}}, UsageError, "no predictions: expected at least one system"),
        ({"gold": None}, UsageError, "no gold to score against"),
        ({"missing": "drop"}, UnknownNameError, "unknown missing policy 'drop'"),
    ],
)
def test_bad_arguments(arguments: dict, error: type[Exception], message: str) -> None:
    gold, pred = toy({"a": ["north"]}, ["north"])
    with pytest.raises(error) as caught:
        de.definitions(**({"gold": gold, "predictions": pred} | arguments))
    assert message in str(caught.value)
    responses = Predictions("bland", turns=gold.turns, responses=table("responses", [("d0", 0, "hi")]))
    with pytest.raises(UsageError, match="bland holds no states"):
        de.definitions(gold, responses)


def test_own_protocols_and_corpora_with_alternatives() -> None:
    gold, pred = toy({"a": ["N"], "b": ["the north"]}, ["north"])
    gold = replace(gold, alternatives=table("alternatives", [("d0", 0, "hotel", "area", "N")]))
    mine = replace(PROTOCOLS["lin2021"], name="mine", steps=("article:drop",))
    done = de.definitions(gold, pred, ["lin2021", mine], {"lower": ["case:lower"]})
    assert done.index.tolist() == ["lin2021", "user/mine", "lin2021 + lower"]
    assert done.to_numpy().tolist() == [[1, 0], [1, 1], [1, 0]]


def test_predictions_with_their_own_gold(real_cases: Path) -> None:
    system = de.load_predictions(real_cases / "states/ubar.jsonl.gz")
    done = de.definitions(None, system)
    assert done.loc["trade", "ubar"] == pytest.approx(0.3498372219207813, abs=1e-9)
    assert set(done.index) == set(STATES) - {"dstc9-corrected", "sgd"} | {f"lin2021 + {p}" for p in POLICIES}


#: Joint goal accuracy on the MultiWOZ 2.1 test set, from the systems' own files. UBAR, AuGPT, DAMD and
#: PPTOD write other slot names than the corpus, which costs them half of their score or more.
EFFECTS = {
    "": {
        "augpt": 0.1555,
        "damd": 0.1655,
        "pptod": 0.1906,
        "soloist": 0.3025,
        "ubar": 0.1860,
        "uniconv": 0.3342,
    },
    "none:drop": {
        "augpt": 0.1584,
        "damd": 0.1674,
        "pptod": 0.1937,
        "soloist": 0.3091,
        "ubar": 0.1891,
        "uniconv": 0.3360,
    },
    "slots:multiwoz22": {
        "augpt": 0.4791,
        "damd": 0.2521,
        "pptod": 0.3674,
        "soloist": 0.3025,
        "ubar": 0.3421,
        "uniconv": 0.3355,
    },
    "slots, case, space": {
        "augpt": 0.4795,
        "damd": 0.2521,
        "pptod": 0.3677,
        "soloist": 0.3025,
        "ubar": 0.3424,
        "uniconv": 0.3365,
    },
    "slots, case, space, none": {
        "augpt": 0.4910,
        "damd": 0.2569,
        "pptod": 0.3769,
        "soloist": 0.3091,
        "ubar": 0.3498,
        "uniconv": 0.3371,
    },
    "slots, case, space, none, dontcare": {
        "augpt": 0.5464,
        "damd": 0.2774,
        "pptod": 0.4131,
        "soloist": 0.3380,
        "ubar": 0.3783,
        "uniconv": 0.3816,
    },
    "all steps": {
        "augpt": 0.5609,
        "damd": 0.2962,
        "pptod": 0.4603,
        "soloist": 0.3517,
        "ubar": 0.4242,
        "uniconv": 0.5646,
    },
    "all steps, fuzzy": {
        "augpt": 0.5652,
        "damd": 0.3045,
        "pptod": 0.4706,
        "soloist": 0.3543,
        "ubar": 0.4331,
        "uniconv": 0.5646,
    },
}


def test_effects_on_real_systems(real_data: Path) -> None:
    corpus = de.load_corpus("multiwoz21", home=real_data)
    systems = {n: de.load_predictions(f"predictions/multiwoz/{n}", home=real_data) for n in EFFECTS[""]}
    done = de.definitions(corpus, systems, ["lin2021"], missing="skip")
    for policy, wanted in EFFECTS.items():
        row = f"lin2021 + {policy}" if policy else "lin2021"
        assert done.loc[row].to_dict() == pytest.approx(wanted, abs=5e-5), row
    ranked = de.rankings(done)
    # White space and case move no one; slot names turn the order round; dontcare lifts UniConv over UBAR.
    assert ranked.loc["lin2021", "ranking"] == "uniconv > soloist > pptod > ubar > damd > augpt"
    assert not ranked.loc["lin2021 + case, space, none, dontcare", "differs"]
    assert (
        ranked.loc["lin2021 + slots:multiwoz22", "ranking"]
        == "augpt > pptod > ubar > uniconv > soloist > damd"
    )
    assert ranked.loc["lin2021 + all steps", "ranking"] == "uniconv > augpt > pptod > ubar > soloist > damd"
    assert ranked.loc["lin2021 + all steps, fuzzy", "ranking"].startswith("augpt > uniconv > ")
    # Slot aliases and none dropped give the values of the published scorers on the whole test set.
    assert done.loc["lin2021 + slots, case, space, none", "ubar"] == pytest.approx(
        0.3498372219207813, abs=1e-9
    )
    assert done.loc["lin2021 + slots, case, space, none", "augpt"] == pytest.approx(
        0.49104720564297344, abs=1e-9
    )

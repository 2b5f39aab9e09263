"""One system, N definitions: the table, its notes and signatures, the rankings, the effects on real systems."""

from __future__ import annotations

import io
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
        scores = de.score(gold, systems["sloppy"], protocol, resamples=0)
        assert value == pytest.approx(scores[metric], abs=1e-12)
    notes = "\n".join(done.attrs["notes"])
    for protocol in STATES:
        has = metric in [m.key for m in PROTOCOLS[protocol].resolve_metrics()]
        assert (protocol in done.index, f"{protocol} has no {metric}" in notes) == (has, not has)
    assert ("lin2021 + values:fuzzy" in done.index) == (metric in FUZZY_METRICS)


def test_intervals_are_those_of_score(gold: Corpus, systems: dict[str, Predictions]) -> None:
    done = de.definitions(gold, {"a": systems["careful"]}, ["dstc9", "trade"], {}, resamples=50, seed=3)
    assert done.columns.tolist() == [("a", "value"), ("a", "low"), ("a", "high")]
    for protocol in ("dstc9", "trade"):
        table = de.score(gold, systems["careful"], protocol, resamples=50, seed=3).table
        row = table.loc["joint_goal_accuracy", ["value", "low", "high"]]
        assert done.loc[protocol].tolist() == pytest.approx(row.tolist())
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
    def states(column: list[str]) -> pd.DataFrame:
        return table("states", [(f"d{t}", 0, "hotel", "area", v) for t, v in enumerate(column)])

    turns = table("turns", [(f"d{t}", 0, "u", "s", 0) for t in range(len(gold_values))])
    tables = {"dialogues": [(d, d, "") for d in turns["dialogue_id"]], "layouts": [(0, "hotel", "area")]}
    made = {kind: table(kind, rows) for kind, rows in tables.items()}
    gold = Corpus("toy", split="test", family="multiwoz", turns=turns, states=states(gold_values), **made)
    have = turns[["dialogue_id", "turn"]]
    return gold, {
        name: Predictions(name, turns=have, states=states(column)) for name, column in values.items()
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
    said = [note.split(" does not apply: ") for note in done.attrs["notes"]]
    assert [name for name, _ in said] == ["dstc9-corrected", "sgd"]
    assert all(reason.startswith(gold.id) for _, reason in said) and not {"dstc9-corrected", "sgd"} & set(
        done.index
    )
    # A DSTC9 submission that leaves a slot out has no score there, and others have.
    assert pred["b"].states is not None
    pred["b"] = replace(pred["b"], format="dstc9", states=pred["b"].states[:0], path="b.json")
    done = de.definitions(gold, pred, ["lin2021", "dstc9"], {})
    assert done.loc["dstc9", "a"] == 1 and np.isnan(done.loc["dstc9", "b"])
    (note,) = done.attrs["notes"]
    assert note.startswith("b: dstc9 does not apply: dialogue d0, turn 0: slot hotel-area is missing")
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
    assert "1 of 2 turns" in skipped.attrs["notes"][0] and "same turns" in skipped.attrs["notes"][1]
    assert de.definitions(gold, pred, ["lin2021"], {}, missing="empty").loc["lin2021"].tolist() == [1, 0.5]


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"metric": "jga"}, UnknownNameError),
        ({"metric": "bleu_4"}, UnknownNameError),
        ({"protocols": ["lin2012"]}, UnknownNameError),
        ({"policies": {"x": ["case:upper"]}}, UnknownNameError),
        ({"missing": "drop"}, UnknownNameError),
        ({"protocols": ["lin2021", "lin2021"]}, UsageError),
        ({"predictions": {}}, UsageError),
        ({"gold": None}, UsageError),
    ],
)
def test_bad_arguments(arguments: dict, error: type[Exception]) -> None:
    gold, pred = toy({"a": ["north"]}, ["north"])
    with pytest.raises(error):
        de.definitions(**({"gold": gold, "predictions": pred} | arguments))
    responses = Predictions("bland", turns=gold.turns, responses=table("responses", [("d0", 0, "hi")]))
    with pytest.raises(UsageError, match="bland holds no states"):
        de.definitions(gold, responses)


def test_names_and_paths_are_taken_as_loaded_ones_are(gold: Corpus, systems: dict[str, Predictions]) -> None:
    named = de.definitions("sample/crosswoz_en", systems["careful"].path, ["lin2021"], {})
    assert named.to_dict() == de.definitions(gold, systems["careful"], ["lin2021"], {}).to_dict()


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
EFFECTS = """definition; augpt; damd; pptod; soloist; ubar; uniconv
lin2021; .1555; .1655; .1906; .3025; .1860; .3342
lin2021 + none:drop; .1584; .1674; .1937; .3091; .1891; .3360
lin2021 + slots:multiwoz22; .4791; .2521; .3674; .3025; .3421; .3355
lin2021 + slots, case, space; .4795; .2521; .3677; .3025; .3424; .3365
lin2021 + slots, case, space, none; .4910; .2569; .3769; .3091; .3498; .3371
lin2021 + slots, case, space, none, dontcare; .5464; .2774; .4131; .3380; .3783; .3816
lin2021 + all steps; .5609; .2962; .4603; .3517; .4242; .5646
lin2021 + all steps, fuzzy; .5652; .3045; .4706; .3543; .4331; .5646"""


def test_effects_on_real_systems(real_data: Path) -> None:
    wanted = pd.read_csv(io.StringIO(EFFECTS), sep="; ", engine="python", index_col="definition")
    corpus = de.load_corpus("multiwoz21", home=real_data)
    systems = {n: de.load_predictions(f"predictions/multiwoz/{n}", home=real_data) for n in wanted}
    done = de.definitions(corpus, systems, ["lin2021"], missing="skip")
    np.testing.assert_allclose(done.loc[wanted.index], wanted, atol=5e-5)
    # White space and case move no one; slot names turn the order round; dontcare lifts UniConv over UBAR.
    ranked = de.rankings(done)
    assert not ranked.loc["lin2021 + case, space, none, dontcare", "differs"]
    for label, ranking in {
        "lin2021": "uniconv > soloist > pptod > ubar > damd > augpt",
        "lin2021 + slots:multiwoz22": "augpt > pptod > ubar > uniconv > soloist > damd",
        "lin2021 + all steps": "uniconv > augpt > pptod > ubar > soloist > damd",
        "lin2021 + all steps, fuzzy": "augpt > uniconv > pptod > ubar > soloist > damd",
    }.items():
        assert ranked.loc[label, "ranking"] == ranking
    # Slot aliases and none dropped give the values of the published scorers on the whole test set.
    published = done.loc["lin2021 + slots, case, space, none", ["ubar", "augpt"]]
    np.testing.assert_allclose(published, [0.3498372219207813, 0.49104720564297344], atol=1e-9)

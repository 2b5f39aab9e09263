"""`score`: coverage, missing predictions, signatures, intervals, protocols of one's own."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dialogeval as de
from dialogeval.exceptions import CoverageError, UnknownNameError, UsageError
from dialogeval.metrics import Metric, ratio
from dialogeval.metrics.states import STATE_METRICS, count_triples
from dialogeval.protocols import PROTOCOLS, Protocol
from dialogeval.stats import bootstrap, dialogue_sums, draw_counts
from dialogeval.tables import Corpus, Predictions, Source, as_predictions, table


def corpus(turns_of: dict[str, int], name: str = "toy") -> Corpus:
    """A corpus whose state at turn t of every dialogue is slots 0..t, each with its number."""
    turns = [(d, t, f"user {t}", f"system {t}", 0) for d, n in turns_of.items() for t in range(n)]
    states = [(d, t, "hotel", f"s{k}", str(k)) for d, t, *_ in turns for k in range(t + 1)]
    return Corpus(
        name,
        split="test",
        family="multiwoz",
        dialogues=table("dialogues", [(d, d.upper(), "") for d in turns_of]),
        turns=table("turns", turns),
        states=table("states", states),
        layouts=table("layouts", [(0, "hotel", f"s{k}") for k in range(10)]),
        source=Source(sha256="0123456789"),
    )


GOLD = corpus({"a": 3, "b": 2, "c": 1})


def without(predictions: Predictions, keep: pd.Series) -> Predictions:
    kept = predictions.turns[keep].reset_index(drop=True)
    assert predictions.states is not None
    return replace(predictions, turns=kept, states=predictions.states.merge(kept, on=["dialogue_id", "turn"]))


@pytest.mark.parametrize(
    "name",
    [n for n, p in PROTOCOLS.items() if p.tasks == ("state",) and n not in ("dstc9-corrected", "sgd")],
)
def test_gold_against_itself(name: str) -> None:
    scores = de.score(GOLD, GOLD, name, resamples=50)
    assert scores["joint_goal_accuracy"] == 1
    assert scores.coverage.to_dict() == {
        "dialogues_scored": 3,
        "dialogues_in_corpus": 3,
        "turns_scored": 6,
        "turns_in_corpus": 6,
    }


def test_missing_turns_and_dialogues() -> None:
    everything = as_predictions(GOLD, "sys")
    lacking = without(
        everything, ~((everything.turns["dialogue_id"] == "c") | (everything.turns["turn"] == 2))
    )
    with pytest.raises(CoverageError) as caught:
        de.score(GOLD, lacking, "lin2021")
    assert str(caught.value) == (
        "sys: 2 of 6 turns of toy/test@0123456 have no prediction (1 dialogue missing: c; 1 dialogue short of turns: "
        'a); add them, or choose missing="skip" (leave them out) or "empty" (score them as empty); on the command line --missing'
    )
    skipped = de.score(GOLD, lacking, "lin2021", missing="skip", resamples=0)
    assert skipped["joint_goal_accuracy"] == 1
    assert skipped.coverage.to_dict()["turns_scored"] == 4
    assert "missing:skip" in skipped.signature
    assert "left out" in skipped.warnings[0]
    empty = de.score(GOLD, lacking, "lin2021", missing="empty", resamples=0)
    assert empty["joint_goal_accuracy"] == pytest.approx(4 / 6)
    assert empty.coverage.to_dict()["turns_scored"] == 6
    assert "missing:empty" in empty.signature
    assert "scored as predicted empty" in empty.warnings[0]


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (
            corpus({"x": 1, "y": 1}),
            "2 of 2 dialogues are not in toy/test@0123456: expected ids such as a, got x, y",
        ),
        (
            corpus({"a": 3, "b": 2, "c": 1, "x": 1}),
            "1 of 4 dialogues are not in toy/test@0123456: expected ids such as a, got x; remove them",
        ),
        (
            corpus({"a": 4, "b": 2, "c": 1}),
            "dialogue a, turn 3: too many turns: expected 3 turns, 0 to 2, as in toy/test@0123456",
        ),
    ],
)
def test_predictions_that_do_not_fit(other: Corpus, message: str) -> None:
    for missing in ("error", "skip", "empty"):
        with pytest.raises(CoverageError) as caught:
            de.score(GOLD, other, "lin2021", missing=missing)
        assert message in str(caught.value)


def test_bad_arguments() -> None:
    states_only = replace(as_predictions(GOLD), responses=None)
    for call, error, message in (
        (
            lambda: de.score(GOLD, GOLD, "lin2012"),
            UnknownNameError,
            "unknown protocol 'lin2012': did you mean lin2021",
        ),
        (lambda: de.score(GOLD, GOLD, missing="ignore"), UnknownNameError, "missing policy"),
        (lambda: de.score(None, GOLD), UsageError, "no gold to score against"),
        (
            lambda: de.score(GOLD, states_only, "lai2019"),
            UsageError,
            "holds no responses, which protocol lai2019",
        ),
        (
            lambda: de.score(GOLD, Predictions("x", turns=GOLD.turns)),
            UsageError,
            "neither states nor responses",
        ),
        (lambda: de.score(GOLD, GOLD, resamples=-1), UsageError, "resamples: expected a whole number from 0"),
        (
            lambda: de.score(GOLD, Predictions("x", states=table("states")), "lin2021", missing="skip"),
            UsageError,
            "no t",
        ),
    ):
        with pytest.raises(error) as caught:
            call()
        assert message in str(caught.value)


def test_default_protocols() -> None:
    states_only = replace(as_predictions(GOLD), responses=None)
    assert de.score(GOLD, states_only, resamples=0).protocol.name == "lin2021"
    assert de.score(replace(GOLD, family="crosswoz"), GOLD, resamples=0).protocol.name == "lin2021"


def test_signature_names_what_differs() -> None:
    states = de.score(GOLD, GOLD, "lin2021")
    assert states.signature == (
        f"jga|proto:lin2021|case:keep|space:keep|gold:toy/test@0123456|n:6|boot:1000/12345|v:{de.__version__}"
    )
    assert states.metric_signature("slot_f1").startswith(
        "slot_f1|slots:gold|keyed:name|empty:0|proto:lin2021|"
    )
    assert "boot:none" in de.score(GOLD, GOLD, "lin2021", resamples=0).signature
    assert "boot:10/7" in de.score(GOLD, GOLD, "lin2021", resamples=10, seed=7).signature


def test_a_protocol_of_ones_own() -> None:
    wrong = Metric(
        "wrong_turns",
        "Wrong",
        count_triples,
        lambda s: 1 - ratio(s["exact"], s["turns"]),
        better="lower",
        source="me",
    )
    mine = replace(
        PROTOCOLS["lin2021"], name="mine", steps=("case:lower", "none:drop"), metrics=(wrong, "slot_f1")
    )
    pred = as_predictions(GOLD)
    pred = replace(pred, states=pred.states.assign(value=pred.states["value"].replace("1", "ONE")))
    gold = replace(GOLD, states=GOLD.states.assign(value=GOLD.states["value"].replace("1", "one")))
    scores = de.score(gold, pred, mine, resamples=0)
    assert scores["wrong_turns"] == 0
    assert de.score(gold, pred, replace(mine, steps=()), resamples=0)["wrong_turns"] == pytest.approx(3 / 6)
    assert "proto:user/mine|case:lower|space:keep|none:drop" in scores.signature
    # One that only calls itself lin2021 is found out.
    assert "proto:user/lin2021|" in de.score(gold, pred, replace(mine, name="lin2021"), resamples=0).signature


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"gold": "mine"}, "unknown gold version 'mine'"),
        ({"missing": "drop"}, "unknown missing policy 'drop'"),
        ({"references": "none"}, "unknown references 'none'"),
        ({"metrics": ()}, "has no metrics"),
        ({"metrics": ("jga",)}, "unknown metric 'jga'"),
        ({"steps": ("cases:lower",)}, "unknown normalisation step 'cases': did you mean case"),
        ({"steps": ("case:upper",)}, "unknown choice of step case 'upper'"),
    ],
)
def test_protocols_that_cannot_be(fields: dict, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        de.score(GOLD, GOLD, Protocol(**{"name": "p", "metrics": ("slot_f1",)} | fields))
    assert message in str(caught.value)


def test_json_object_follows_the_contract() -> None:
    scores = de.score(GOLD, GOLD, "lin2021", resamples=20).to_dict()
    assert list(scores) == ["protocol", "signature", "system", "coverage", "metrics", "warnings"]
    assert set(scores["metrics"]["slot_f1"]) == {"value", "low", "high"}
    json.dumps(scores, allow_nan=False)
    bare = de.score(GOLD, GOLD, "lin2021", resamples=0).to_dict()
    assert bare["metrics"]["slot_f1"] == {"value": 1.0, "low": None, "high": None}


def test_display_escapes_names() -> None:
    scores = de.score(GOLD, as_predictions(GOLD, "<script>alert(1)</script>"), "lin2021", resamples=0)
    assert "<script>" not in scores._repr_html_()
    assert "joint_goal_accuracy" in repr(scores)


def test_intervals_equal_a_loop_that_scores_every_resample_anew() -> None:
    rng = np.random.default_rng(3)
    gold = corpus({f"d{i}": int(rng.integers(1, 6)) for i in range(12)})
    pred = as_predictions(gold)
    pred = replace(pred, states=pred.states[rng.random(len(pred.states)) > 0.2].reset_index(drop=True))
    scores = de.score(gold, pred, "lin2021", resamples=40, seed=9)
    ids = sorted(gold.dialogues["dialogue_id"])
    draws = np.random.default_rng(9).integers(0, len(ids), size=(40, len(ids)))
    values = []
    for draw in draws:
        names = [f"{ids[i]}-{n}" for n, i in enumerate(draw)]
        parts = {}
        for kind, frame in (("turns", gold.turns), ("states", gold.states), ("pred", pred.states)):
            pieces = [
                frame[frame["dialogue_id"] == ids[i]].assign(dialogue_id=m)
                for i, m in zip(draw, names, strict=True)
            ]
            parts[kind] = pd.concat(pieces, ignore_index=True)
        again = replace(gold, turns=parts["turns"], states=parts["states"])
        drawn = Predictions("p", turns=parts["turns"][["dialogue_id", "turn"]], states=parts["pred"])
        values.append(de.score(again, drawn, "lin2021", resamples=0).table["value"].to_dict())
    for key in scores.table.index:
        low, high = np.quantile([v[key] for v in values], [0.025, 0.975])
        assert scores.table.loc[key, "low"] == pytest.approx(low, abs=1e-12)
        assert scores.table.loc[key, "high"] == pytest.approx(high, abs=1e-12)


def test_draws_do_not_depend_on_the_block(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = np.concatenate(list(draw_counts(7, 50, seed=4)))
    monkeypatch.setattr("dialogeval.stats.BLOCK", 21)
    blocks = list(draw_counts(7, 50, seed=4))
    assert len(blocks) > 1
    np.testing.assert_array_equal(whole, np.concatenate(blocks))
    assert (whole.sum(axis=1) == 7).all()


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=1, max_size=8))
def test_bootstrap_stays_within_the_range_of_dialogues(rows: list[tuple[int, int]]) -> None:
    counts = pd.DataFrame(
        [(tp, fp, 1) for tp, fp in rows], columns=["tp", "fp", "fn"], index=range(len(rows))
    )
    drawn = bootstrap({"t": (counts, {"p": STATE_METRICS["slot_precision"].value})}, 30, seed=1)["p"]
    shares = [tp / (tp + fp) if tp + fp else 0 for tp, fp in rows]
    assert len(drawn) == 30
    assert (drawn <= max(shares) + 1e-12).all()


def test_dialogue_sums_add_up() -> None:
    frame = de.score(GOLD, GOLD, "lin2021", resamples=0).counts[count_triples]
    sums = dialogue_sums(frame)
    assert sums.index.tolist() == ["a", "b", "c"]
    pd.testing.assert_series_equal(sums.sum(), frame.sum().astype(float))


SYSTEMS_WITH_STATES = {"augpt", "damd", "pptod", "ubar", "soloist", "uniconv"}


@pytest.mark.parametrize(
    "system", ["augpt", "damd", "hdsa", "lava", "pptod", "sfn", "soloist", "ubar", "uniconv"]
)
def test_the_nine_published_systems(real_data: Path, system: str, multiwoz21: Corpus) -> None:
    predictions = de.load_predictions(f"predictions/multiwoz/{system}", home=real_data)
    short = {"damd": (999, 7354), "pptod": (1000, 7371)}.get(system, (1000, 7372))
    text = de.score(multiwoz21, predictions, "lai2019", missing="skip", resamples=0)
    assert (text.coverage.dialogues_scored, text.coverage.turns_scored) == short
    assert 0 < text["bleu_4"] < text["bleu_1"] < 100
    assert text["goal_f1"] > 30
    if system in ("damd", "pptod"):
        with pytest.raises(CoverageError, match="have no prediction"):
            de.score(multiwoz21, predictions, "lai2019")
    if predictions.states is None:
        with pytest.raises(UsageError, match="holds no states"):
            de.score(multiwoz21, predictions, "lin2021", missing="skip")
        return
    state = de.score(multiwoz21, predictions, "lin2021", missing="skip", resamples=0)
    assert 0 < state["joint_goal_accuracy"] < state["slot_f1"] < 1


def test_dstc9_submission_under_lin2021(real_data: Path, real_cases: Path) -> None:
    gold = de.load_corpus("crosswoz_en", home=real_data)
    scores = de.score(gold, real_cases / "dstc9/crosswoz_en_test.submission.json.gz", "lin2021", resamples=0)
    assert scores.coverage.to_dict()["turns_scored"] == 4238
    assert 0.05 < scores["joint_goal_accuracy"] < 0.5
    # Empty values are slots that are not filled, never values.
    assert not (scores.pair.values == "").any()


def test_warnings_name_what_naming_alone_costs() -> None:
    pred = as_predictions(GOLD)
    assert pred.states is not None
    renamed = pred.states.assign(slot=pred.states["slot"].replace("s0", "s zero"))
    renamed.loc[renamed["slot"] == "s1", "value"] = "none"
    warnings = de.score(GOLD, replace(pred, states=renamed), "lin2021", resamples=0).warnings
    naming, none = warnings
    assert "6 of 10" in naming and "hotel-s zero ×6" in naming and "--align" in naming
    assert "3 predicted" in none and "--steps none:drop" in none


@pytest.fixture(scope="module")
def multiwoz21(real_data: Path) -> Corpus:
    return de.load_corpus("multiwoz21", home=real_data)

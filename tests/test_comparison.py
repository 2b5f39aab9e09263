"""Paired tests: brute force, simulation and published tests as truth; the tables for a paper."""

from __future__ import annotations

import json
from dataclasses import fields, replace
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dialogeval as de
from dialogeval.exceptions import CoverageError, UnknownNameError, UsageError
from dialogeval.metrics import ratio
from dialogeval.stats import bootstrap, holm, maximal_groups, p_value, paired_bootstrap, randomisation

SHARE = {"share": lambda s: ratio(s["hits"], s["n"])}
SAMPLE = "sample/predictions/crosswoz_en/tracker_{}.jsonl.gz"


def counts(hits: list[float], n: list[float] | None = None) -> pd.DataFrame:
    index = pd.Index([f"d{i:03}" for i in range(len(hits))], name="dialogue_id")
    return pd.DataFrame({"hits": hits, "n": n or [1.0] * len(hits)}, index=index, dtype=float)


def systems(*names: str) -> dict[str, de.Predictions]:
    return {name: de.load_predictions(SAMPLE.format(name)) for name in names}


def test_randomisation_equals_all_exchanges() -> None:
    a, b = counts([1, 1, 1, 0, 1, 1, 1]), counts([0, 0, 1, 1, 0, 0, 1])
    observed = (a["hits"].sum() - b["hits"].sum()) / len(a)
    every = []
    for bits in product([0, 1], repeat=len(a)):
        swap = np.array(bits, bool)
        x, y = np.where(swap, b["hits"], a["hits"]), np.where(swap, a["hits"], b["hits"])
        every.append((x.sum() - y.sum()) / len(a))
    exact = np.mean(np.abs(every) >= abs(observed) - 1e-12)
    drawn = randomisation(a, b, SHARE, 20_000, seed=5)["share"]
    assert p_value(drawn, observed) == pytest.approx(exact, abs=0.01)


def test_randomisation_agrees_with_scipy() -> None:
    from scipy.stats import permutation_test

    rng = np.random.default_rng(1)
    x, y = rng.normal(0.2, 1, 60), rng.normal(0, 1, 60)
    drawn = randomisation(counts(list(x)), counts(list(y)), SHARE, 20_000, seed=2)["share"]
    theirs = permutation_test(
        (x, y), lambda u, v: u.mean() - v.mean(), permutation_type="samples", n_resamples=20_000, rng=3
    )
    assert p_value(drawn, x.mean() - y.mean()) == pytest.approx(theirs.pvalue, abs=0.015)


def test_randomisation_of_equal_systems_rejects_one_time_in_twenty() -> None:
    rng = np.random.default_rng(7)
    runs, rejected = 2000, 0
    for run in range(runs):
        # Mean F1 of a dialogue's turns: continuous, so that no tie makes the test more careful than it is.
        n = rng.integers(3, 9, 40).astype(float)
        skill = rng.uniform(2, 6, 40)
        a, b = (counts(list(n * rng.beta(skill, 3)), list(n)) for _ in "ab")
        observed = float(SHARE["share"](a.sum()) - SHARE["share"](b.sum()))
        rejected += p_value(randomisation(a, b, SHARE, 199, seed=run)["share"], observed) <= 0.05
    assert 0.04 <= rejected / runs <= 0.06


def test_intervals_cover_where_turns_are_correlated_and_turn_level_ones_do_not() -> None:
    rng = np.random.default_rng(11)
    runs, truth, inside = 300, 0.5, {"dialogue": 0, "turn": 0}
    for run in range(runs):
        # Every dialogue has a skill of its own, so its eight turns stand or fall together.
        hits = rng.binomial(8, rng.beta(1, 1, 100)).astype(float)
        by_dialogue = counts(list(hits), [8.0] * 100)
        by_turn = counts([1.0] * int(hits.sum()) + [0.0] * int(800 - hits.sum()))
        for unit, table in (("dialogue", by_dialogue), ("turn", by_turn)):
            drawn = bootstrap({"t": (table, SHARE)}, 300, seed=run)["share"]
            low, high = np.quantile(drawn, [0.025, 0.975])
            inside[unit] += low <= truth <= high
    assert 0.93 <= inside["dialogue"] / runs <= 0.97
    assert inside["turn"] / runs < 0.75


def test_paired_bootstrap_equals_a_loop_over_the_same_draws() -> None:
    rng = np.random.default_rng(2)
    a, b = (counts(list(rng.integers(0, 5, 20)), [5.0] * 20) for _ in "ab")
    draws = np.random.default_rng(4).integers(0, 20, size=(50, 20))
    loop = [a["hits"].to_numpy()[d].sum() / 100 - b["hits"].to_numpy()[d].sum() / 100 for d in draws]
    np.testing.assert_allclose(paired_bootstrap(a, b, SHARE, 50, seed=4)["share"], loop, atol=1e-12)


@pytest.mark.parametrize(
    ("corpus", "system", "protocol"),
    [
        ("crosswoz_en", "tracker_sloppy.jsonl.gz", "trade"),
        ("multiwoz", "generator_bland.json.gz", "lai2019"),
        ("multiwoz", "generator_bland.json.gz", "mwzeval"),
    ],
)
def test_intervals_equal_a_loop_that_scores_every_resample_anew(
    corpus: str, system: str, protocol: str
) -> None:
    gold = de.load_corpus(f"sample/{corpus}")
    predictions = de.load_predictions(f"sample/predictions/{corpus}/{system}")
    scores = de.score(gold, predictions, protocol, resamples=4, seed=3)
    scored = sorted(scores.coverage.turns["dialogue_id"].unique())
    draws = np.random.default_rng(3).integers(0, len(scored), size=(4, len(scored)))
    loop: dict[str, list[float]] = {}
    for draw in draws:
        # Every draw of a dialogue is a dialogue of its own, scored by the whole machinery.
        copies = pd.DataFrame({"dialogue_id": np.array(scored)[draw], "copy": range(len(draw))})
        again = de.score(drawn(gold, copies), drawn(predictions, copies), scores.protocol, resamples=0)
        for key, value in again.table["value"].items():
            loop.setdefault(str(key), []).append(value)
    tested = [m.key for m in scores.metrics if m.resample == "bootstrap"]
    assert tested
    for key in tested:
        expected = np.quantile(loop[key], [0.025, 0.975])
        np.testing.assert_allclose(scores.table.loc[key, ["low", "high"]].astype(float), expected, rtol=1e-9)


def drawn(whole, copies: pd.DataFrame):  # type: ignore[no-untyped-def]
    """Return a corpus or predictions made of copies of its dialogues under new ids."""
    tables = {}
    for field in fields(whole):
        frame = getattr(whole, field.name)
        if isinstance(frame, pd.DataFrame) and "dialogue_id" in frame:
            every = copies.merge(frame, on="dialogue_id")
            every["dialogue_id"] = every["dialogue_id"] + "~" + every["copy"].astype(str)
            tables[field.name] = every[list(frame.columns)]
    return replace(whole, **tables)


def test_only_what_the_chosen_scores_rest_on_has_to_be_alike() -> None:
    paths = {n: f"sample/predictions/multiwoz/generator_{n}.json.gz" for n in ("template", "bland")}
    pair = {name: de.load_predictions(path) for name, path in paths.items()}
    pair["bland"] = replace(pair["bland"], states=None)
    options = {"protocol": "mwzeval", "resamples": 20, "shuffles": 50}
    with pytest.raises(UsageError, match="states:predicted against states:gold"):
        de.compare("sample/multiwoz", pair, **options)
    result = de.compare("sample/multiwoz", pair, metrics=["bleu"], **options)
    assert list(result.table.columns) == ["bleu"] and len(result.pairs) == 1
    assert "proto:mwzeval|" in result.signature and "states:" not in result.signature
    for wrong, error in ((["blue"], UnknownNameError), ("bleu", UsageError)):
        with pytest.raises(error, match="bleu"):
            de.compare("sample/multiwoz", pair, metrics=wrong, **options)


def test_bleu_agrees_with_sacrebleu(real_cases: Path) -> None:
    """The same two systems, a resample at a time: dialogues here, sentences there, so only roughly."""
    import sacrebleu
    from sacrebleu.significance import PairedTest

    pairs = {n: de.load_predictions(real_cases / f"responses/{n}.pairs.jsonl.gz") for n in ("ubar", "hdsa")}
    some = sorted(pairs["ubar"].turns["dialogue_id"].unique())[:150]

    def part(p: de.Predictions) -> de.Predictions:
        assert p.gold is not None and p.responses is not None
        keep = p.turns["dialogue_id"].isin(some)
        return replace(
            p, turns=p.turns[keep], responses=p.responses[p.responses["dialogue_id"].isin(some)], gold=None
        )

    gold = pairs["ubar"].gold
    assert gold is not None
    protocol = replace(de.PROTOCOLS["lai2019"], name="s", metrics=("sacrebleu",), text_steps=())
    result = de.compare(gold.select(some), {n: part(p) for n, p in pairs.items()}, protocol, shuffles=2000)
    refs = result.scores["ubar"].pair.references
    named = [(n, s.pair.responses) for n, s in result.scores.items()]
    _, theirs = PairedTest(named, {"BLEU": sacrebleu.BLEU()}, [refs], test_type="ar", n_samples=2000)()
    row = result.pairs.iloc[0]
    assert result.scores["hdsa"]["sacrebleu"] == pytest.approx(theirs["BLEU"][1].score, abs=1e-9)
    assert row["p_randomisation"] == pytest.approx(theirs["BLEU"][1].p_value, abs=0.02)


def test_many_systems_that_are_all_alike_are_one_group_at_once() -> None:
    names = [f"s{i:02}" for i in range(40)]
    assert maximal_groups(names, lambda x, y: True) == [tuple(names)]
    near = maximal_groups(names, lambda x, y: abs(int(x[1:]) - int(y[1:])) < 10)
    assert near == [tuple(names[i : i + 10]) for i in range(31)]


def test_too_few_shuffles_are_said_to_be_too_few() -> None:
    named = systems("careful", "sloppy", "stale")
    few = de.compare("sample/crosswoz_en", named, "lin2021", shuffles=40, resamples=0)
    assert any("40 shuffles are too few for 3 pairs" in w for w in few.warnings)
    none = de.compare("sample/crosswoz_en", named, "lin2021", shuffles=0, resamples=0)
    assert none.signature.endswith("|rand:none") and "|boot:none|" in none.signature and not none.warnings
    assert none.letters("slot_f1") == dict.fromkeys(named, "") and "no pair was tested" in none.caption()


def test_files_with_gold_of_their_own_are_compared_on_one_gold(tmp_path: Path) -> None:
    def own(name: str, gold: str, dialogues: str = "xy") -> Path:
        rows = [
            {"dialogue_id": d, "turn": 0, "gold": [["a", "b", gold]], "pred": [["a", "b", "1"]]}
            for d in dialogues
        ]
        path = tmp_path / f"{name}.jsonl"
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        return path

    options = {"protocol": "lin2021", "dialogues": "common", "resamples": 0, "shuffles": 20}
    with pytest.raises(UsageError, match="different gold"):
        de.compare(None, {"a": own("a", "1"), "b": own("b", "2")}, **options)
    result = de.compare(None, {"a": own("a", "1"), "b": own("c", "1", "x")}, **options)
    assert result.table["joint_goal_accuracy"].tolist() == [1, 1]
    assert result.warnings == ("restricted to the 1 of 2 dialogues that all systems cover",)


def test_holm_by_hand() -> None:
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([]) == []


@given(st.lists(st.floats(0.0001, 1), min_size=1, max_size=8))
def test_holm_never_lowers_and_keeps_the_order(p: list[float]) -> None:
    corrected = holm(p)
    assert all(c >= q and c <= 1 for c, q in zip(corrected, p, strict=True))
    assert [corrected[i] for i in np.argsort(p, kind="stable")] == sorted(corrected)


def test_groups() -> None:
    apart = {frozenset("ac"), frozenset("ad")}
    assert maximal_groups("abcd", lambda x, y: frozenset((x, y)) not in apart) == [
        ("a", "b"),
        ("b", "c", "d"),
    ]
    assert maximal_groups("ab", lambda x, y: False) == [("a",), ("b",)]
    assert maximal_groups("", lambda x, y: True) == [()]


def test_comparison_of_trackers() -> None:
    result = de.compare("sample/crosswoz_en", systems("careful", "sloppy", "stale"), "lin2021", shuffles=2000)
    assert result.ranking("joint_goal_accuracy") == ["careful", "stale", "sloppy"]
    assert result.groups("joint_goal_accuracy") == [("careful", "stale"), ("sloppy",)]
    assert result.letters("joint_goal_accuracy") == {"careful": "a", "stale": "a", "sloppy": "b"}
    assert len(result.pairs) == 3 * 5
    assert result.signature.endswith("|rand:2000/12345|holm")
    assert (result.smallest_detectable() > 0).all()
    row = result.pairs.set_index(["metric", "a", "b"]).loc[("joint_goal_accuracy", "careful", "sloppy")]
    assert row["low"] < row["difference"] < row["high"]
    assert row["difference"] == pytest.approx(
        result.table.loc["careful"].iloc[0] - result.table.loc["sloppy"].iloc[0]
    )
    json.dumps(result.to_dict(), allow_nan=False)
    again = de.compare("sample/crosswoz_en", systems("careful", "sloppy", "stale"), "lin2021", shuffles=2000)
    pd.testing.assert_frame_equal(result.pairs, again.pairs)


def test_a_system_against_itself() -> None:
    one = systems("careful")["careful"]
    result = de.compare("sample/crosswoz_en", {"a": one, "b": one}, "lin2021", shuffles=100, resamples=50)
    assert (result.pairs["p_randomisation"] == 1).all() and not result.pairs["significant"].any()
    assert result.smallest_detectable().isna().all()


def without_first(p: de.Predictions) -> de.Predictions:
    return replace(p, turns=p.turns[p.turns["dialogue_id"] != p.turns["dialogue_id"][0]])


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"shuffles": -3}, UsageError, "shuffles"),
        ({"shuffles": 10.5}, UsageError, "shuffles"),
        ({"level": "0.05"}, UsageError, "level"),
        ({"level": 2.0}, UsageError, "level"),
        ({"predictions": 3}, UsageError, "predictions"),
        ({"predictions": {"a": SAMPLE.format("careful")}}, UsageError, "two systems"),
        ({"dialogues": "all"}, UnknownNameError, "dialogues"),
        ({"protocol": "lin2012"}, UnknownNameError, "did you mean lin2021"),
    ],
)
def test_wrong_arguments(change: dict, error: type[Exception], message: str) -> None:
    named = {name: SAMPLE.format(name) for name in ("careful", "sloppy")}
    given = {"predictions": named, "protocol": "lin2021", "shuffles": 20, "resamples": 0, **change}
    with pytest.raises(error, match=message):
        de.compare("sample/crosswoz_en", **given)


def test_what_cannot_be_compared() -> None:
    careful, sloppy = systems("careful", "sloppy").values()
    pair, options = {"a": sloppy, "b": without_first(careful)}, {"shuffles": 50, "resamples": 20}
    with pytest.raises(UsageError, match=r"n:477 against n:\d+, missing:\(none\) against missing:skip"):
        de.compare("sample/crosswoz_en", pair, "lin2021", missing="skip")
    common = de.compare("sample/crosswoz_en", pair, "lin2021", dialogues="common", **options)
    assert "restricted to the 59 of 60 dialogues that all systems cover" in common.warnings
    assert {s.coverage.dialogues_scored for s in common.scores.values()} == {59}
    with pytest.raises(UnknownNameError, match="jga"):
        common.groups("jga")
    pair["b"] = replace(careful, turns=careful.turns[:0])
    with pytest.raises(CoverageError):
        de.compare("sample/crosswoz_en", pair, dialogues="common")


def test_a_policy_that_one_system_did_not_need_is_no_difference() -> None:
    careful, sloppy = systems("careful", "sloppy").values()
    options = {"missing": "empty", "resamples": 20, "shuffles": 50}
    pair = {"a": sloppy, "b": without_first(careful)}
    result = de.compare("sample/crosswoz_en", pair, "lin2021", **options)
    assert "|missing:empty|" in result.signature
    assert {s.coverage.turns_scored for s in result.scores.values()} == {477}


def test_type_counts_are_not_tested() -> None:
    names = ("template", "bland")
    paths = {n: de.load_predictions(f"sample/predictions/multiwoz/generator_{n}.json.gz") for n in names}
    result = de.compare("sample/multiwoz", paths, "lai2019", resamples=20, shuffles=50)
    rows = result.pairs.set_index("metric")
    assert rows.loc["distinct_1", ["p_bootstrap", "p_randomisation", "p_holm"]].isna().all()
    assert rows.loc["bleu_4", "p_holm"] < 0.05
    assert result.groups("distinct_1") == []


def test_the_tables_for_papers() -> None:
    careful = systems("careful")["careful"]
    nasty = "<script>|\\$_x_{}\x1b\n\u202e</td>"
    options = {"protocol": "lin2021", "shuffles": 20, "resamples": 10}
    result = de.compare("sample/crosswoz_en", {nasty: careful, "b": careful}, **options)
    faces = (
        result.to_csv(),
        result.to_markdown(),
        result.to_latex(),
        repr(result),
        json.dumps(result.to_dict()),
    )
    assert not any({"\x1b", "\u202e"} & set(face) for face in faces)
    assert "<script>" not in result._repr_html_()
    # A table in Markdown has as many cells in every row; LaTeX commands come from pandas alone.
    table = result.to_markdown(["joint_goal_accuracy"]).splitlines()[:4]
    assert [line.replace(r"\|", "").count("|") for line in table] == [3, 3, 3, 3]
    latex = result.to_latex(["joint_goal_accuracy"])
    assert r"\textbackslash \$\_x\_\{\}" in latex and r"\toprule" in latex and latex.count("&") == 3
    for face in (result.to_markdown(), result.to_latex()):
        assert result.signature in face and face.count("[") == 2 * 5
    assert list(result.to_dict()["systems"]) == [s["system"] for s in result.to_dict()["systems"].values()]

"""The transfer report: inputs, the matrix, parts that add up to the gap, figures, and one run on own predictions."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import nbformat
import pandas as pd
import pytest
from test_report import check_page

import dialogeval as de
from dialogeval.exceptions import DataFileError, DialogevalError, UnknownNameError, UsageError
from dialogeval.ontology import attribution as transfer
from dialogeval.ontology.alignment import load_alignment
from dialogeval.ontology.attribution import CAUSES, _training_split, alignment_and_file
from dialogeval.report import export_html, result_rows
from dialogeval.resources import resource_dir

PAIR = ("sample/multiwoz", "sample/crosswoz_en")
FILE = "sample/predictions/multiwoz/tracker_careful.json.gz"
NAME = "<b>mine $x_1$"


@pytest.fixture(scope="module")
def carried():
    """Two trackers on one corpus, from few training dialogues."""
    training, gold = transfer.load_data(PAIR[1])
    few = {
        name: transfer.Training(data.corpus.select(data.corpus.dialogues["dialogue_id"].tolist()[:40]), "few")
        for name, data in training.items()
        if name in PAIR
    }
    return few, gold, transfer.carry_trackers(few, gold, resamples=20)


def test_the_matrix_holds_the_scores_of_a_direct_run(carried):
    training, gold, found = carried
    predicted = de.run_baseline("value-matching", training[PAIR[0]].corpus, gold[PAIR[1]])
    for side, alignment in (("raw", None), ("aligned", "multiwoz__crosswoz_en")):
        scores = de.score(gold[PAIR[1]], predicted, "lin2021", alignment=alignment, resamples=0)
        for metric in ("joint_goal_accuracy", "slot_f1"):
            assert transfer.score_matrix(found, metric, side).loc[PAIR] == scores[metric]
    own = transfer.score_table(found).query("trained_on == scored_on")
    assert own["raw"].tolist() == own["aligned"].tolist()
    assert (own["raw_low"] <= own["raw"]).all() and (own["raw"] <= own["raw_high"]).all()


def test_parts_add_up_to_the_gap(carried):
    _, _, found = carried
    matrix = transfer.score_matrix(found, stage="raw")
    causes = transfer.cause_table(found)
    assert list(causes.index) == [(PAIR[1], PAIR[1]), PAIR], "the target's own tracker first"
    for pair, row in causes.iterrows():
        assert row.sum() == pytest.approx(1 - matrix.loc[pair])
    gaps = transfer.gap_table(found)
    assert gaps.loc[PAIR, "gap"] == pytest.approx(matrix.loc[PAIR[1], PAIR[1]] - matrix.loc[PAIR])
    assert gaps[list(CAUSES)].sum(axis=1).tolist() == pytest.approx(gaps["gap"].tolist())
    for metric in ("joint_goal_accuracy", "slot_f1", "slot_f1_micro"):
        stages = transfer.stage_table(found, metric)
        parts = stages[["names", "values", "language", "after alignment"]].sum(axis=1)
        assert parts.tolist() == pytest.approx(stages["gap"].tolist())
        assert (stages["aligned"] + stages["after alignment"]).tolist() == pytest.approx(
            stages["reference"].tolist()
        )
    triples = transfer.cause_table(found, "triples")
    slots = transfer.slot_table(found)
    assert slots.groupby(level=[0, 1])["all"].sum()[PAIR] == triples.loc[PAIR].sum()


def test_what_the_tables_and_metrics_say(carried):
    training, _, found = carried
    friends = transfer.friend_table(found, training)
    assert friends[["domain", "slot", "target_slot"]].to_numpy().tolist() == [["hotel", "type", "type"]]
    unmapped = transfer.unmapped_table(found)
    assert set(unmapped["trained_on"]) == {PAIR[0]} and "false friend" in set(unmapped["reason"])
    metrics = json.loads(json.dumps(transfer.metrics_object(found), allow_nan=False))
    rows = result_rows(metrics)
    assert set(rows["system"]) == {f"value matching, trained on {name} (few)" for name in PAIR}
    aligned = rows["signature"].str.contains(
        f"align:{load_alignment('multiwoz__crosswoz_en').id}", regex=False
    )
    raw = ~rows["signature"].str.contains("align:")
    assert aligned.sum() == 5 and raw.sum() == 10
    text = transfer.paper_text(found[PAIR])
    assert found[PAIR].attribution.aligned.signature in text and "(477 of 477 turns)" in text


def test_no_tracker_is_scored_on_what_it_was_trained_on(tmp_path):
    gold = de.load_corpus("sample/crosswoz")
    half = gold.select(gold.dialogues["dialogue_id"].tolist()[:30])
    rest = int((~gold.turns["dialogue_id"].isin(half.dialogues["dialogue_id"])).sum())
    training = {"sample/crosswoz": transfer.Training(half, "half of test")}
    targets = {"sample/crosswoz": gold, "sample/crosswoz_en": de.load_corpus("sample/crosswoz_en")}
    found = transfer.carry_trackers(training, targets, resamples=0)
    table = transfer.data_table(found, training)
    assert table["scored turns"].tolist() == [rest, rest], "its translation is left out too"
    assert table["left out"].tolist() == [len(gold.turns) - rest] * 2
    for one in found.values():
        assert f"|n:{rest}|missing:skip|" in one.attribution.raw.signature


def test_halves_are_the_same_dialogues_in_parallel_corpora(monkeypatch):
    monkeypatch.setattr("dialogeval.ontology.attribution._training_split", lambda *_: "")
    training, gold = transfer.load_data("sample/crosswoz_en")
    assert list(gold) == ["sample/crosswoz_en"]
    assert {data.how for data in training.values()} == {"half of test"}
    halves = [set(data.corpus.dialogues["dialogue_id"]) for data in training.values()]
    assert halves[2] == halves[3] and len(halves[3]) == 30
    other = transfer.load_data("sample/crosswoz_en", seed=1)[0]["sample/crosswoz_en"]
    assert set(other.corpus.dialogues["dialogue_id"]) != halves[3]


def test_where_training_data_is_not_here(real_data: Path):
    splits = [_training_split(name, "test", real_data) for name in transfer.GROUPS["real"]]
    assert splits == ["val", "", "", ""]
    assert _training_split("sample/multiwoz", "train", None) == "val"
    transfer.check_inputs("real", "", real_data)


@pytest.mark.parametrize(
    ("corpus", "predictions", "alignment", "file"),
    [
        ("crosswoz_en", "multiwoz21=a/b=c.jsonl", "multiwoz__crosswoz_en", "a/b=c.jsonl"),
        ("sample/multiwoz_zh", FILE, "multiwoz__multiwoz_zh", FILE),
        ("multiwoz_zh", "predictions/multiwoz/ubar", "multiwoz__multiwoz_zh", "predictions/multiwoz/ubar"),
        ("my/gold.json", "al/mine__gold.csv=p.json", "al/mine__gold.csv", "p.json"),
    ],
)
def test_source_and_file(corpus, predictions, alignment, file):
    assert alignment_and_file(corpus, predictions) == (alignment, file)


@pytest.mark.parametrize(
    ("corpus", "predictions", "error", "words"),
    [
        ("multiwoz20", "", UnknownNameError, "unknown corpus for trackers 'multiwoz20': .*sample, real"),
        ("real", "", DataFileError, "corpus multiwoz21 is not here .*dialogeval fetch"),
        ("sample", FILE, UsageError, "expected one gold corpus"),
        ("sample/multiwoz", "mine.jsonl", UsageError, "mine.jsonl: nothing says whose slots these are"),
        ("sample/multiwoz", "sgd=mine.jsonl", UnknownNameError, "unknown alignment 'sgd__multiwoz'"),
        ("sample/multiwoz", "crosswoz=none.jsonl", DataFileError, "none.jsonl: no such file"),
        ("nowhere", f"multiwoz__crosswoz={FILE}", UnknownNameError, "unknown corpus 'nowhere'"),
    ],
)
def test_what_cannot_run_is_refused_in_one_line(corpus, predictions, error, words, tmp_path):
    with pytest.raises(error, match=words) as caught:
        transfer.check_inputs(corpus, predictions, tmp_path)
    assert isinstance(caught.value, DialogevalError) and "\n" not in str(caught.value)


def test_a_protocol_without_causes_is_refused_before_training():
    with pytest.raises(UsageError, match="dstc9 has no exact joint goal accuracy"):
        transfer.carry_trackers({}, {}, "dstc9")


def test_the_report_on_predictions_of_ones_own(tmp_path):
    import papermill

    mine = tmp_path / f"{NAME}.json.gz"
    shutil.copy(resource_dir("data") / FILE, mine)
    parameters = {"corpus": "sample/multiwoz_zh", "predictions": f"multiwoz={mine}", "resamples": 20}
    source = resource_dir("notebooks") / "report_transfer.ipynb"
    target = tmp_path / "r.ipynb"
    parameters["out_dir"] = str(tmp_path)
    papermill.execute_notebook(
        str(source), str(target), parameters, kernel_name="python3", progress_bar=False
    )
    cells = nbformat.read(target, as_version=4).cells
    outputs = [o for c in cells if c.cell_type == "code" for o in c.outputs]
    assert not [o for o in outputs if o.output_type == "error" or o.get("name") == "stderr"]
    text = check_page(export_html(target))
    assert f"{NAME} (multiwoz)" in text
    written = json.loads((tmp_path / "metrics.json").read_text(encoding="utf-8"))
    assert list(written) == ["multiwoz > multiwoz_zh"] and list(written["multiwoz > multiwoz_zh"]) == [
        "raw",
        "aligned",
    ]
    scores = de.score("sample/multiwoz_zh", mine, "lin2021", alignment="multiwoz__multiwoz_zh", resamples=0)
    matrix = pd.read_csv(tmp_path / "matrix.csv").set_index("metric")
    assert matrix.loc["slot_f1", "aligned"] == pytest.approx(scores["slot_f1"])
    gaps = pd.read_csv(tmp_path / "gap_by_cause.csv")
    assert gaps["reference"].tolist() == [1.0]
    assert gaps[list(CAUSES)].sum(axis=1).item() == pytest.approx(gaps["gap"].item())
    assert len(pd.read_csv(tmp_path / "unmapped.csv")) and len(pd.read_csv(tmp_path / "losses_by_slot.csv"))

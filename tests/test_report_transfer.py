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
from dialogeval.ontology.attribution import CAUSES
from dialogeval.report import run_report
from dialogeval.resources import resource_dir

PAIR = ("sample/multiwoz", "sample/crosswoz_en")
FILE = "sample/predictions/multiwoz/tracker_careful.json.gz"
NAME = "<b>mine $x_1$"


def test_carried_trackers_score_as_a_direct_run():
    gold = {PAIR[1]: de.load_corpus(PAIR[1])}
    training = {}
    for name in PAIR:
        corpus = de.load_corpus(name, "train")
        training[name] = corpus.select(corpus.dialogues["dialogue_id"].tolist()[:40])
    found = transfer.carry_trackers(training, gold, resamples=20)
    assert list(found) == [(PAIR[1], PAIR[1]), PAIR], "the target's own tracker first"
    predicted = de.run_baseline("value-matching", training[PAIR[0]], gold[PAIR[1]])
    for side, alignment in (("raw", None), ("aligned", "multiwoz__crosswoz_en")):
        scores = de.score(gold[PAIR[1]], predicted, "lin2021", alignment=alignment, resamples=0)
        assert found[PAIR].stages[side].equals(scores.table["value"])
    assert found[PAIR].raw.system == f"value matching, trained on {PAIR[0]} (train)"
    own = found[PAIR[1], PAIR[1]]
    assert own.raw.table["value"].equals(own.aligned.table["value"])
    with pytest.raises(UsageError):
        transfer.carry_trackers({}, {}, "dstc9")


def test_no_tracker_is_scored_on_what_it_was_trained_on():
    gold = {name: de.load_corpus(name) for name in ("sample/crosswoz", "sample/crosswoz_en")}
    turns = gold["sample/crosswoz"].turns
    half = gold["sample/crosswoz"].select(turns["dialogue_id"].unique().tolist()[:30])
    rest = len(turns) - len(half.turns)
    for one in transfer.carry_trackers({"sample/crosswoz": half}, gold, resamples=0).values():
        assert one.raw.coverage.turns_scored == rest, "its translation is left out too"
        assert f"|n:{rest}|missing:skip|" in one.raw.signature


def test_halves_are_the_same_dialogues_in_parallel_corpora(real_data: Path):
    def halves(seed):
        training, gold = transfer.load_data("crosswoz_en", home=real_data, seed=seed)
        assert list(gold) == ["crosswoz_en"] and training["multiwoz21"].split == "val"
        assert training["crosswoz"].split == training["crosswoz_en"].split == "half of test"
        return [set(training[name].dialogues["dialogue_id"]) for name in ("crosswoz", "crosswoz_en")]

    one, two = halves(1), halves(2)
    assert one[0] == one[1] != two[0] == two[1] and len(one[0]) == 250
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
    assert transfer.alignment_and_file(corpus, predictions) == (alignment, file)


@pytest.mark.parametrize(
    ("corpus", "predictions", "error"),
    [
        ("multiwoz20", "", UnknownNameError),
        ("real", "", DataFileError),
        ("sample", FILE, UsageError),
        ("sample/multiwoz", "mine.jsonl", UsageError),
        ("sample/multiwoz", "sgd=mine.jsonl", UnknownNameError),
        ("sample/multiwoz", "crosswoz=none.jsonl", DataFileError),
        ("nowhere", f"multiwoz__crosswoz={FILE}", UnknownNameError),
    ],
)
def test_what_cannot_run_is_refused_in_one_line(corpus, predictions, error, tmp_path):
    with pytest.raises(error) as caught:
        transfer.check_inputs(corpus, predictions, tmp_path)
    assert isinstance(caught.value, DialogevalError) and "\n" not in str(caught.value)


def test_the_report_on_predictions_of_ones_own(tmp_path):
    mine = tmp_path / f"{NAME}.json.gz"
    shutil.copy(resource_dir("data") / FILE, mine)
    parameters = {"corpus": "sample/multiwoz_zh", "predictions": f"multiwoz={mine}", "resamples": 20}
    written = run_report("transfer", parameters, tmp_path / "out")
    cells = nbformat.read(written["notebook"], as_version=4).cells
    outputs = [o for c in cells if c.cell_type == "code" for o in c.outputs]
    assert not [o for o in outputs if o.output_type == "error" or o.get("name") == "stderr"]
    assert f"{NAME} (multiwoz)" in check_page(written["html"].read_text(encoding="utf-8"))
    metrics = json.loads(written["metrics.json"].read_text(encoding="utf-8"))
    assert list(metrics["multiwoz > multiwoz_zh"]) == ["raw", "aligned"]
    scores = de.score("sample/multiwoz_zh", mine, "lin2021", alignment="multiwoz__multiwoz_zh", resamples=0)
    matrix = pd.read_csv(written["matrix.csv"]).set_index("metric")
    assert matrix.loc["slot_f1", "aligned"] == pytest.approx(scores["slot_f1"])
    gaps = pd.read_csv(written["gap_by_cause.csv"])
    assert gaps["reference"].tolist() == [1.0]
    assert gaps[list(CAUSES)].sum(axis=1).item() == pytest.approx(gaps["gap"].item())
    assert len(pd.read_csv(written["unmapped.csv"])) and len(pd.read_csv(written["losses_by_slot.csv"]))

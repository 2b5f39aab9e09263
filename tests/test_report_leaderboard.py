"""The leaderboard report: which files are compared and with which, and runs of the notebook."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import nbformat
import pandas as pd
import pytest
from test_report import check_page

import dialogeval as de
from dialogeval.exceptions import DataFileError, UsageError
from dialogeval.leaderboard import compare_groups, find_systems, load_systems
from dialogeval.report import export_html
from dialogeval.resources import resource_dir

EVIL = "<script>alert(1)|$x_1$&*b*.jsonl.gz"
NAME = "<script>alert(1)|$x_1$&*b*"
SAMPLES = resource_dir("data") / "sample" / "predictions"
#: Files that are left out, with the reason.
REASONS = {
    "part.jsonl": "covers 15 of 60 dialogues",
    "broken.json": "broken.json",
    "other.jsonl": "1 of 1 dialogues are not in",
    "said.jsonl": "no states, which the protocol scores",
    "deeper": "a folder",
    "tracker_stale.jsonl.gz": "holds the same predictions as again.json.gz",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """A folder as it may be: good files, one of them with a hostile name, and all kinds of others."""
    target = tmp_path_factory.mktemp("my systems")
    source = SAMPLES / "crosswoz_en"
    for name in ("tracker_sloppy.jsonl.gz", "tracker_stale.jsonl.gz", "baseline_empty.jsonl.gz"):
        shutil.copy(source / name, target)
    shutil.copy(source / "tracker_careful.jsonl.gz", target / EVIL)
    shutil.copy(source / "tracker_stale.submission.json.gz", target / "again.json.gz")
    shutil.copy(source / "pairs_tracker_careful.jsonl", target / "part.jsonl")
    (target / "broken.json").write_text("{", encoding="utf-8")
    for name, row in {
        "other": {"dialogue_id": "nobody", "turn": 0, "state": []},
        "said": {"dialogue_id": "21127", "turn": 0, "response": "hi"},
    }.items():
        (target / f"{name}.jsonl").write_text(json.dumps(row), encoding="utf-8")
    (target / ".hidden").write_text("x", encoding="utf-8")
    (target / "deeper").mkdir()
    return target


def test_every_file_is_compared_or_left_out_with_its_reason(folder):
    systems, found = load_systems(de.load_corpus("sample/crosswoz_en"), folder, "lin2021")
    assert list(systems) == [NAME, "again", "baseline_empty", "tracker_sloppy"]
    assert set(found["file"]) == {path.name for path in folder.iterdir()} - {".hidden"}
    reasons = found.set_index("file")["left_out"]
    assert set(found.loc[reasons.eq("").to_numpy(), "system"]) == set(systems)
    assert all(reason in reasons[file] for file, reason in REASONS.items())


def test_a_list_of_files_and_equal_names(tmp_path):
    for n, name in enumerate(("tracker_careful", "tracker_sloppy")):
        (tmp_path / str(n)).mkdir()
        shutil.copy(SAMPLES / "crosswoz_en" / f"{name}.jsonl.gz", tmp_path / str(n) / "mine.jsonl.gz")
    text = f"{tmp_path / '0'}; {tmp_path / '1' / 'mine.jsonl.gz'}"
    systems, found = load_systems(de.load_corpus("sample/crosswoz_en"), text, "lin2021")
    assert list(systems) == ["mine", "1/mine.jsonl.gz"] == found["system"].tolist()
    (tmp_path / "a;b").mkdir()
    for wrong in (f"{tmp_path / '0'};{tmp_path / 'nowhere'}", " ; ", tmp_path / "a;b"):
        with pytest.raises(DataFileError):
            find_systems(wrong)


def test_a_collection_of_the_catalog_names_what_is_not_here(tmp_path):
    with pytest.raises(DataFileError, match="fetch predictions/multiwoz"):
        find_systems("predictions/multiwoz", tmp_path)
    place = tmp_path / "predictions" / "multiwoz"
    place.mkdir(parents=True)
    (place / "ubar.json").write_text("{}", encoding="utf-8")
    found = find_systems("predictions/multiwoz", tmp_path)
    assert [path.stem for path, reason in found.items() if not reason] == ["ubar"]
    assert set(found.values()) == {"", "not downloaded"}


def test_only_what_has_one_definition_is_compared():
    gold = de.load_corpus("sample/multiwoz")
    systems, _ = load_systems(gold, SAMPLES / "multiwoz", "mwzeval")
    groups, _ = compare_groups(gold, systems, "mwzeval", resamples=0)
    has = {name: (p.states is not None, p.responses is not None) for name, p in systems.items()}
    for what, fits in {
        "responses": lambda states, responses: responses,
        "states": lambda states, responses: states,
        "goals, predicted states": lambda states, responses: states and responses,
        "goals, gold states": lambda states, responses: responses and not states,
    }.items():
        assert list(groups[what].scores) == [name for name, holds in has.items() if fits(*holds)]
    assert {"inform", "success", "combined"} <= set(groups["goals, gold states"].table)
    keys = [key for what in ("responses", "goals, gold states", "states") for key in groups[what].table]
    assert sorted(keys) == sorted(m.key for m in de.PROTOCOLS["mwzeval"].resolve_metrics())
    with pytest.raises(UsageError, match="only system"):
        compare_groups(gold, {"one": systems["baseline_ngram"]}, "lai2019", resamples=0)


def run(folder: Path, **parameters) -> tuple[str, dict[str, pd.DataFrame]]:
    """Run the report; return the page's text and the tables beside it."""
    import papermill

    source, done = resource_dir("notebooks") / "report_leaderboard.ipynb", folder / "r.ipynb"
    parameters = {"out_dir": str(folder), **parameters}
    papermill.execute_notebook(str(source), str(done), parameters, kernel_name="python3", progress_bar=False)
    cells = nbformat.read(done, as_version=4).cells
    outputs = [o for c in cells if c.cell_type == "code" for o in c.outputs]
    assert not [o for o in outputs if o.output_type == "error" or o.get("name") == "stderr"]
    return check_page(export_html(done)), {path.stem: pd.read_csv(path) for path in folder.glob("*.csv")}


def test_the_report_on_a_folder_with_hostile_names(folder, tmp_path):
    own = {"corpus": "sample/crosswoz_en", "predictions": str(folder), "protocol": "lin2021"}
    text, tables = run(tmp_path, resamples=100, **own)
    assert text.count(NAME) > 5 and "broken.json" in text and "4 systems are compared" in text
    written = json.loads((tmp_path / "metrics.json").read_text(encoding="utf-8"))
    assert set(written["states"]["systems"]) == {*tables["scores"]["system"]}
    # Neighbours are the tests of pairs, in the order of the ranking.
    values = tables["scores"].query("metric == 'joint_goal_accuracy'").set_index("system")["value"]
    tests = tables["tests"].query("metric == 'joint_goal_accuracy'")
    assert len(tables["neighbours"]) == len(values) - 1
    for row in tables["neighbours"].itertuples():
        assert row.difference == pytest.approx(values[row.better] - values[row.worse])
        assert row.difference >= 0 and row.low <= row.difference <= row.high
        (test,) = (t for t in tests.itertuples() if {t.a, t.b} == {row.better, row.worse})
        assert (row.p_holm, row.verdict == "significant") == (test.p_holm, test.significant)


def test_published_neighbours_that_stand_the_other_way_round(tmp_path):
    mine = tmp_path / "mine"
    mine.mkdir()
    for name, file in {
        "lava": "generator_template",
        "hdsa": "baseline_ngram",
        "own": "tracker_stale",
    }.items():
        system = de.load_predictions(f"sample/predictions/multiwoz/{file}.json.gz")
        first = system.turns["dialogue_id"].iloc[0] if name == "own" else ""
        parts = {part: getattr(system, part) for part in ("turns", "responses")}
        parts = {part: frame[frame["dialogue_id"] != first] for part, frame in parts.items()}
        de.save_predictions(replace(system, states=None, **parts), mine / f"{name}.jsonl", "turns")
    text, tables = run(tmp_path, predictions=str(mine), resamples=20)
    assert "restricted to the 59 of 60 dialogues" in text and "(59 of 60 dialogues)" in text
    row = tables["published_neighbours"].query("score == 'BLEU'").iloc[0]
    assert (row["better"], row["worse"], row["published"]) == ("hdsa", "lava", 9.9)
    assert row["difference"] < 0 and row["verdict"] == "reversed"
    places = tables["definitions_bleu-4"].set_index("definition")
    assert set(places) == {"hdsa", "lava", "own"} and "lai2019: BLEU-4" in places.index

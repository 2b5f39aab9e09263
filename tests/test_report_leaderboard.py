"""The leaderboard report: what is found, what is compared, neighbours, ranks, and one run of the notebook."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import nbformat
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import rankdata
from test_report import check_page

import dialogeval as de
from dialogeval.comparison import (
    bleu_definitions,
    common_dialogues,
    comparable_groups,
    compare_groups,
    find_systems,
    load_systems,
    neighbour_sentence,
    neighbours,
    paper_text,
    published_neighbours,
    ranks,
)
from dialogeval.exceptions import DataFileError, UsageError
from dialogeval.report import export_html
from dialogeval.resources import resource_dir

EVIL = "<script>alert(1)|$x_1$&*b*.jsonl.gz"
NAME = "<script>alert(1)|$x_1$&*b*"


def sample(corpus: str) -> Path:
    return resource_dir("data") / "sample" / "predictions" / corpus


@pytest.fixture(scope="module")
def crosswoz():
    return de.load_corpus("sample/crosswoz_en")


@pytest.fixture(scope="module")
def multiwoz():
    return de.load_corpus("sample/multiwoz")


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """A folder as it may be: good files, one of them with a hostile name, and all kinds of others."""
    target = tmp_path_factory.mktemp("my systems")
    source = sample("crosswoz_en")
    shutil.copy(source / "tracker_careful.jsonl.gz", target / EVIL)
    for name in ("tracker_sloppy", "tracker_stale", "baseline_empty"):
        shutil.copy(source / f"{name}.jsonl.gz", target)
    shutil.copy(source / "tracker_stale.submission.json.gz", target / "again.json.gz")
    shutil.copy(source / "pairs_tracker_careful.jsonl", target / "part.jsonl")
    (target / "broken.json").write_text("{", encoding="utf-8")
    (target / "other.jsonl").write_text(
        '{"dialogue_id": "nobody", "turn": 0, "state": []}\n', encoding="utf-8"
    )
    (target / "said.jsonl").write_text(
        '{"dialogue_id": "21127", "turn": 0, "response": "hi"}\n', encoding="utf-8"
    )
    (target / ".hidden").write_text("x", encoding="utf-8")
    (target / "deeper").mkdir()
    return target


@pytest.fixture(scope="module")
def compared(crosswoz):
    systems, _ = load_systems(crosswoz, sample("crosswoz_en"), "lin2021")
    return compare_groups(crosswoz, systems, "lin2021", resamples=100)[0]["states"]


def test_every_file_is_compared_or_left_out_with_its_reason(folder, crosswoz):
    systems, found = load_systems(crosswoz, folder, "lin2021")
    assert list(systems) == [NAME, "again", "baseline_empty", "tracker_sloppy"]
    assert set(found["file"]) == {path.name for path in folder.iterdir()} - {".hidden"}
    reasons = found.set_index("file")["left_out"]
    assert set(found.loc[reasons.eq("").to_numpy(), "system"]) == set(systems)
    for file, reason in {
        "part.jsonl": "covers 15 of 60 dialogues",
        "broken.json": "broken.json",
        "other.jsonl": "none of the 1 dialogues is in",
        "said.jsonl": "no states, which the protocol scores",
        "deeper": "a folder",
        "tracker_stale.jsonl.gz": "holds the same predictions as again.json.gz",
    }.items():
        assert reason in reasons[file], file


def test_a_list_of_files_and_equal_names(tmp_path, crosswoz):
    for n, name in enumerate(("tracker_careful", "tracker_sloppy")):
        (tmp_path / str(n)).mkdir()
        shutil.copy(sample("crosswoz_en") / f"{name}.jsonl.gz", tmp_path / str(n) / "mine.jsonl.gz")
    text = f"{tmp_path / '0'}; {tmp_path / '1' / 'mine.jsonl.gz'}"
    systems, found = load_systems(crosswoz, text, "lin2021")
    assert list(systems) == ["0/mine.jsonl.gz", "1/mine.jsonl.gz"] == found["system"].tolist()
    with pytest.raises(DataFileError, match="no such file"):
        find_systems(f"{tmp_path / '0'};{tmp_path / 'nowhere'}")
    with pytest.raises(DataFileError, match="no files"):
        find_systems(" ; ")
    (tmp_path / "a;b").mkdir()
    with pytest.raises(DataFileError, match="no files"):
        find_systems(tmp_path / "a;b")


def test_a_collection_of_the_catalog_names_what_is_not_here(tmp_path):
    with pytest.raises(DataFileError, match="fetch predictions/multiwoz"):
        find_systems("predictions/multiwoz", tmp_path)
    place = tmp_path / "predictions" / "multiwoz"
    place.mkdir(parents=True)
    (place / "ubar.json").write_text("{}", encoding="utf-8")
    found = find_systems("predictions/multiwoz", tmp_path)
    assert [path.stem for path, reason in found.items() if not reason] == ["ubar"]
    assert set(found.values()) == {"", "not downloaded"}


def test_only_what_has_one_definition_is_compared(multiwoz):
    systems, _ = load_systems(multiwoz, sample("multiwoz"), "mwzeval")
    groups = comparable_groups(multiwoz, systems, "mwzeval")
    has = {name: (p.states is not None, p.responses is not None) for name, p in systems.items()}
    assert groups["responses"][1] == [n for n, (_, said) in has.items() if said]
    assert groups["states"][1] == [n for n, (states, _) in has.items() if states]
    assert groups["goals, predicted states"][1] == [n for n, both in has.items() if all(both)]
    assert groups["goals, gold states"][1] == [n for n, both in has.items() if both == (False, True)]
    assert {"inform", "success", "combined"} <= set(groups["goals, gold states"][0])
    keys = [key for what in ("responses", "goals, gold states", "states") for key in groups[what][0]]
    assert sorted(keys) == sorted(m.key for m in de.PROTOCOLS["mwzeval"].resolve_metrics())


def test_systems_that_only_speak(multiwoz):
    names = ("generator_bland", "baseline_ngram")
    text = ";".join(f"sample/predictions/multiwoz/{name}.json.gz" for name in names)
    systems, _ = load_systems(multiwoz, text, "lai2019")
    first = multiwoz.turns["dialogue_id"].iloc[0]
    systems["generator_bland"] = _without(systems["generator_bland"], first)
    gold, systems, said = common_dialogues(multiwoz, systems)
    assert said == ["restricted to the 59 of 60 dialogues that all systems cover"]
    groups, notes = compare_groups(gold, systems, "lai2019", resamples=1)
    assert list(groups) == ["responses"] and "too few" in notes[0]
    assert "(59 of 60 dialogues" in paper_text(groups["responses"], multiwoz)
    table = bleu_definitions(gold, systems, ["lai2019", "lin2021", "mwzeval"])
    own = groups["responses"].table["bleu_4"]
    assert table.loc["lai2019: BLEU-4"].to_dict() == pytest.approx(own.to_dict())
    assert not [label for label in table.index if label.startswith("lin2021")]
    with pytest.raises(UsageError, match="only system"):
        compare_groups(gold, {"one": systems["baseline_ngram"]}, "lai2019", resamples=0)


def _without(system, dialogue):
    parts = ("turns", "responses", "active_domains")
    frames = {part: getattr(system, part) for part in parts}
    return replace(
        system, **{part: f[f["dialogue_id"] != dialogue] for part, f in frames.items() if f is not None}
    )


def test_neighbours_are_the_tests_of_the_comparison(compared):
    table = neighbours(compared, "joint_goal_accuracy")
    values = compared.table["joint_goal_accuracy"]
    assert (table["difference"] >= 0).all() and len(table) == len(values) - 1
    for row in table.itertuples():
        assert row.difference == pytest.approx(values[row.better] - values[row.worse])
        assert row.low <= row.difference <= row.high
        pairs = compared.pairs[compared.pairs["metric"] == "joint_goal_accuracy"]
        own = pairs[pairs["a"].isin([row.better, row.worse]) & pairs["b"].isin([row.better, row.worse])]
        assert row.p_holm == own["p_holm"].item()
        assert (row.verdict == "significant") == own["significant"].item()


def test_neighbours_in_another_order_are_turned_round(compared):
    order = compared.ranking("slot_f1_micro")
    there, back = neighbours(compared, "slot_f1_micro"), neighbours(compared, "slot_f1_micro", order[::-1])
    assert back["difference"].tolist() == pytest.approx((-there["difference"][::-1]).tolist())
    assert back["low"].tolist() == pytest.approx((-there["high"][::-1]).tolist())
    turned = {"significant": "reversed"}
    assert back["verdict"].tolist() == [turned.get(v, v) for v in there["verdict"][::-1]]
    assert "reversed" in set(back["verdict"])
    # The sentence names the one that is really better first.
    row = there[there["verdict"] == "significant"].iloc[0]
    assert f"{row['better']} over {row['worse']}" in neighbour_sentence(back)


def test_published_neighbours_that_stand_the_other_way_round(multiwoz):
    files = {"lava": "generator_template", "hdsa": "baseline_ngram", "mine": "generator_bland"}
    path = "sample/predictions/multiwoz/{}.json.gz"
    systems = {name: de.load_predictions(path.format(file)) for name, file in files.items()}
    result = de.compare(multiwoz, systems, "mwzeval", metrics=["bleu"], resamples=20, shuffles=200)
    (row,) = published_neighbours(result).to_dict("records")
    assert (row["better"], row["worse"], row["published"]) == ("hdsa", "lava", 9.9)
    assert row["verdict"] == "reversed" and row["difference"] < 0


@given(
    st.lists(st.lists(st.sampled_from([0.1, 0.2, 0.3, 0.4]), min_size=3, max_size=3), min_size=1, max_size=6),
    st.sampled_from(["higher", "lower"]),
)
def test_ranks_are_those_of_scipy(rows, better):
    table = pd.DataFrame(rows, columns=list("abc"), index=[f"d{i}" for i in range(len(rows))])
    table.attrs["better"] = better
    sign = 1 if better == "lower" else -1
    wanted = [tuple(rankdata(sign * np.array(row), method="min")) for row in rows]
    got = ranks(table)
    assert [tuple(row) for row in got.to_numpy()] == list(dict.fromkeys(wanted))
    assert sum(1 + int(label.split()[2]) if " and " in label else 1 for label in got.index) == len(rows)


def test_the_report_on_a_folder_with_hostile_names(folder, tmp_path):
    import papermill

    source = resource_dir("notebooks") / "report_leaderboard.ipynb"
    own = {"corpus": "sample/crosswoz_en", "predictions": str(folder), "protocol": "lin2021"}
    parameters = {**own, "resamples": 100, "out_dir": str(tmp_path)}
    papermill.execute_notebook(
        str(source), str(tmp_path / "r.ipynb"), parameters, kernel_name="python3", progress_bar=False
    )
    cells = nbformat.read(tmp_path / "r.ipynb", as_version=4).cells
    outputs = [o for c in cells if c.cell_type == "code" for o in c.outputs]
    assert not [o for o in outputs if o.output_type == "error" or o.get("name") == "stderr"]
    text = check_page(export_html(tmp_path / "r.ipynb"))
    assert text.count(NAME) > 5 and "broken.json" in text and "4 systems are compared" in text
    # In Markdown and LaTeX it is escaped for those.
    assert r"&lt;script&gt;alert(1)\|\$x\_1\$&\*b\*" in text
    assert r"\textless{}script\textgreater{}alert(1)\textbar{}\$x\_1\$\&*b*" in text
    written = json.loads((tmp_path / "metrics.json").read_text(encoding="utf-8"))
    assert set(written["states"]["systems"]) == {*pd.read_csv(tmp_path / "scores.csv")["system"]}
    assert len(pd.read_csv(tmp_path / "neighbours.csv")) == 3

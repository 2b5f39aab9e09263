"""Reports: run through papermill on sample and real corpora, safe pages, one clear line on failure."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from html.parser import HTMLParser
from pathlib import Path

import nbformat
import pandas as pd
import pytest

import dialogeval as de
from dialogeval import scoring as wording
from dialogeval.cli import main
from dialogeval.exceptions import DataFileError, ReportError, UnknownNameError, UsageError
from dialogeval.locate import locate_predictions
from dialogeval.report import (
    REPORTS,
    export_html,
    plan_report,
    read_parameters,
    run_batch,
    run_report,
    write_outputs,
)
from dialogeval.resources import resource_dir

COMMON = ["corpus", "split", "predictions", "protocol", "data_home", "seed", "resamples"]
EVIL = [
    "<script>alert('x')</script>",
    "</td></table><img src=http://evil.example/a.png onerror=alert(1)>",
    "# heading *bold* [link](http://evil.example) `code` ![pic](http://evil.example/p.png)",
    r"\frac{1}{0} $x_{1}$ \(y\) \[z\] 100% & ~ # ^",
    "a & b < c > d \"quoted\" 'single'",
]


class Tags(HTMLParser):
    """What a browser would see of a page: its elements with their attributes, and its text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str]]] = []
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list) -> None:
        self.tags.append((tag, {name: value or "" for name, value in attrs}))

    def handle_data(self, data: str) -> None:
        self.text += data


def check_page(page: str) -> str:
    """A page that is read offline: nothing is loaded, no script runs, every figure has words."""
    seen = Tags(page)
    loads = [
        v
        for _, attributes in seen.tags
        for n, v in attributes.items()
        if n in ("src", "href", "data", "action")
    ]
    assert [link for link in loads if not link.startswith(("data:image/", "#"))] == []
    assert {tag for tag, _ in seen.tags} & {
        "script",
        "link",
        "iframe",
        "object",
        "embed",
        "form",
        "base",
    } == set()
    assert [n for _, attributes in seen.tags for n in attributes if n.startswith("on")] == []
    assert not re.search(r"@import|url\(\s*[\"']?(?:http|//)", page)
    assert "Content-Security-Policy" in page
    images = [attributes for tag, attributes in seen.tags if tag == "img"]
    assert images and all(len(image.get("alt", "")) > 20 for image in images)
    folded = sum(tag == "details" and a.get("class") == "code" for tag, a in seen.tags)
    inputs = sum("jp-CodeMirrorEditor" in a.get("class", "") for _, a in seen.tags)
    assert folded == inputs > 5
    return seen.text


def check_outputs(written: dict[str, Path], scores: dict) -> None:
    assert json.loads(written["metrics.json"].read_text(encoding="utf-8")) == scores
    for name in written:
        if name.endswith(".csv"):
            assert len(pd.read_csv(written[name])) > 0
    check_page(written["html"].read_text(encoding="utf-8"))


def lines(path: Path, rows: list[dict]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


@pytest.mark.parametrize("name", REPORTS)
def test_notebooks_keep_the_rules(name: str) -> None:
    path = resource_dir("notebooks") / f"report_{name}.ipynb"
    assert [p for p in read_parameters(path) if p in COMMON] == COMMON
    cells = nbformat.read(path, as_version=4).cells
    code = [c for c in cells if c.cell_type == "code"]
    assert sum("parameters" in c.metadata.get("tags", []) for c in code) == 1
    assert max(len(c.source.splitlines()) for c in code) <= 15
    assert all("execution" not in c.metadata for c in cells)
    assert all(o.output_type != "error" for c in code for o in c.outputs)
    assert any(o.get("data", {}).get("image/png") for c in code for o in c.outputs)


def test_the_command_runs_the_state_report_on_the_sample(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "dialogeval", "report", "state_tracking", "--out", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    written = {what: Path(path) for what, path in (line.split(": ", 1) for line in done.stdout.splitlines())}
    assert {"notebook", "html", "metrics.json", "by_slot.csv", "errors.csv"} <= written.keys()
    gold = de.load_corpus("sample/crosswoz_en")
    defaults = read_parameters(resource_dir("notebooks") / "report_state_tracking.ipynb")
    scores = de.score(gold, defaults["predictions"], "lin2021")
    check_outputs(written, scores.to_dict())
    slots = pd.read_csv(written["by_slot.csv"])
    assert slots["tp"].sum() / slots["predicted"].sum() == pytest.approx(scores["slot_precision"])
    assert "<title>Report: state tracking</title>" in written["html"].read_text(encoding="utf-8")


def test_the_generation_report_on_the_sample_with_other_parameters(tmp_path: Path) -> None:
    parameters = {"resamples": "40", "seed": 7, "protocol": "lai2019-card", "split": "test"}
    written = run_report("generation", parameters, tmp_path)
    defaults = read_parameters(resource_dir("notebooks") / "report_generation.ipynb")
    gold = de.load_corpus(defaults["corpus"])
    scores = de.score(gold, defaults["predictions"], "lai2019-card", resamples=40, seed=7)
    check_outputs(written, scores.to_dict())
    assert written["notebook"].parent.name.endswith("_lai2019-card")


def test_text_of_the_data_appears_as_text_in_the_generation_report(tmp_path: Path) -> None:
    rows = [
        {"dialogue_id": f"d{i} {text}", "turn": 0, "reference": f"one two three four {i}", "response": text}
        for i, text in enumerate(EVIL)
    ]
    rows += [{"dialogue_id": "e", "turn": 0, "reference": " ".join(EVIL), "response": " ".join(EVIL)}]
    file = lines(tmp_path / "evil $x$ <b>.jsonl", rows)
    written = run_report("generation", {"predictions": str(file), "corpus": "", "resamples": 20}, tmp_path)
    page = written["html"].read_text(encoding="utf-8")
    check_page(page)
    for text in (
        "&lt;script&gt;",
        "&lt;/td&gt;",
        "[link](http://evil.example)",
        r"\frac{1}{0} $x_{1}$",
        "*bold*",
    ):
        assert text in page, text
    assert "<strong>bold" not in page and "<em>bold" not in page


def test_text_of_the_data_appears_as_text_in_the_state_report(tmp_path: Path) -> None:
    rows = [
        {
            "dialogue_id": f"d{i}",
            "turn": 0,
            "gold": [[text, text, text]],
            "pred": [[text, text, f"{text} no"]],
        }
        for i, text in enumerate(EVIL)
    ]
    file = lines(tmp_path / "evil.jsonl", rows)
    written = run_report("state_tracking", {"predictions": str(file), "corpus": "", "resamples": 0}, tmp_path)
    text = check_page(written["html"].read_text(encoding="utf-8"))
    assert [evil for evil in EVIL if text.count(evil) < 3] == []
    assert len(pd.read_csv(written["errors.csv"])) == len(EVIL)


def test_bad_predictions_fail_with_their_own_line_and_leave_no_old_numbers(tmp_path: Path) -> None:
    good = lines(tmp_path / "x.jsonl", [{"dialogue_id": "d", "turn": 0, "gold": [], "pred": []}])
    parameters = {"predictions": str(good), "corpus": "", "resamples": 0}
    written = run_report("state_tracking", parameters, tmp_path / "out")
    lines(good, [{"dialogue_id": "d", "turn": 0, "gold": "hotel", "pred": []}])
    with pytest.raises(de.DialogevalError) as own:
        de.load_predictions(good)
    with pytest.raises(ReportError) as caught:
        run_report("state_tracking", parameters, tmp_path / "out")
    assert str(caught.value) == str(own.value)
    assert written["notebook"].is_file()
    assert not written["html"].exists() and not written["metrics.json"].exists()


def test_a_failing_cell_keeps_the_notebook_and_says_where(tmp_path: Path) -> None:
    cell = nbformat.v4.new_code_cell
    book = nbformat.v4.new_notebook(
        cells=[cell("n = 1"), cell("print('before')"), cell("1 / 0"), cell("print('x')")]
    )
    book.cells[0].metadata["tags"] = ["parameters"]
    path = tmp_path / "mine.ipynb"
    nbformat.write(book, path)
    with pytest.raises(ReportError) as caught:
        run_report(path, {"n": "3"}, tmp_path / "out")
    line = str(caught.value)
    assert re.fullmatch(
        r"mine\.ipynb: cell \d+ failed: ZeroDivisionError: division by zero; see .*report\.ipynb", line
    )
    kept = nbformat.read(tmp_path / "out" / "mine" / "report.ipynb", as_version=4)
    texts = [o.get("text", "") for c in kept.cells if c.cell_type == "code" for o in c.outputs]
    assert "before\n" in texts and "x\n" not in texts


def test_parameters_are_checked_before_anything_runs(tmp_path: Path) -> None:
    with pytest.raises(UnknownNameError, match="did you mean corpus"):
        run_report("generation", {"corpsu": "x"}, tmp_path)
    with pytest.raises(UnknownNameError, match="out_dir"):
        run_report("generation", {"out_dir": "x"}, tmp_path)
    for value in ("many", "1.5", True, None, [1]):
        with pytest.raises(UsageError, match="parameter resamples: expected like 1000"):
            run_report("generation", {"resamples": value}, tmp_path)
    with pytest.raises(UnknownNameError, match="unknown report 'leaderbored': did you mean leaderboard"):
        run_report("leaderbored", {}, tmp_path)
    with pytest.raises(DataFileError, match="no such file or folder"):
        run_report("leaderboard", {"predictions": "sample/predictions/multiwoz;no/such"}, tmp_path)
    with pytest.raises(DataFileError, match="no such notebook"):
        run_report(tmp_path / "no.ipynb", {}, tmp_path)
    (tmp_path / "bad.ipynb").write_text("{", encoding="utf-8")
    with pytest.raises(DataFileError, match="not a notebook"):
        run_report(tmp_path / "bad.ipynb", {}, tmp_path)
    assert [p.name for p in tmp_path.iterdir()] == ["bad.ipynb"]


def test_out_that_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("", encoding="utf-8")
    with pytest.raises(ReportError, match="choose another --out"):
        run_report("generation", {}, tmp_path / "out")


def test_write_outputs(tmp_path: Path) -> None:
    frame = pd.DataFrame({"a": ['x,"y"\n', "ö"]})
    names = ["metrics.json", "environment.json", "t.csv"]
    assert write_outputs(str(tmp_path), {"m": 1}, t=frame) == names
    assert pd.read_csv(tmp_path / "t.csv")["a"].tolist() == frame["a"].tolist()
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted(names)
    assert json.loads((tmp_path / "metrics.json").read_text(encoding="utf-8")) == {"m": 1}


def test_predictions_are_found_by_path_and_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("sample").mkdir()
    Path("sample/mine.json").write_text("{}", encoding="utf-8")
    assert locate_predictions("sample/mine.json") == Path("sample/mine.json")
    assert locate_predictions("sample/other.json") == resource_dir("data") / "sample" / "other.json"
    ubar = tmp_path / "predictions/multiwoz/ubar.json"
    assert locate_predictions("predictions/multiwoz/ubar", home=tmp_path) == ubar
    assert locate_predictions("predictions/multiwoz/ubar.json", home=tmp_path) == ubar
    assert locate_predictions("runs/none.json") == Path("runs/none.json")
    with pytest.raises(UnknownNameError, match="did you mean ubar"):
        locate_predictions("predictions/multiwoz/ubra")


def test_the_paper_sentence_holds_what_a_paper_needs() -> None:
    scores = de.score("sample/crosswoz_en", de.load_corpus("sample/crosswoz_en"), "lin2021", resamples=10)
    sentence = wording.paper_sentence(scores)
    for text in (
        "JGA 1.0000 [1.0000, 1.0000]",
        "Lin & Chen 2021",
        "10 bootstrap resamples",
        scores.signature,
    ):
        assert text in sentence
    assert wording.explain(scores)["what it says"].str.len().min() > 20


def test_every_metric_of_the_built_in_protocols_has_a_meaning() -> None:
    from dialogeval.protocols import PROTOCOLS
    from dialogeval.scoring import _meaning

    keys = {m.key for p in PROTOCOLS.values() for m in p.resolve_metrics()}
    assert sorted(key for key in keys if not _meaning(key)) == []


def test_coverage_counts_what_is_missing() -> None:
    gold = de.load_corpus("sample/crosswoz_en")
    whole = de.as_predictions(gold)
    first = gold.turns["dialogue_id"].iloc[0]
    lost = int((gold.turns["dialogue_id"] == first).sum())
    kept = gold.turns["dialogue_id"] != first
    part = de.Predictions(
        "part", turns=whole.turns[kept], states=gold.states[gold.states["dialogue_id"] != first]
    )
    empty = wording.coverage_table(de.score(gold, part, "lin2021", missing="empty", resamples=0))
    assert empty["without prediction"].tolist() == [1, lost] and empty["left out"].tolist() == [0, 0]
    skipped = wording.coverage_table(de.score(gold, part, "lin2021", missing="skip", resamples=0))
    assert skipped["without prediction"].tolist() == [0, 0] and skipped["left out"].tolist() == [1, lost]


def test_the_state_report_on_real_crosswoz(tmp_path: Path, real_data: Path, real_cases: Path) -> None:
    file = real_cases / "dstc9" / "crosswoz_en_test.submission.json.gz"
    parameters = {
        "corpus": "crosswoz_en",
        "predictions": str(file),
        "data_home": str(real_data),
        "resamples": 100,
    }
    written = run_report("state_tracking", parameters, tmp_path)
    gold = de.load_corpus("crosswoz_en", home=real_data)
    scores = de.score(gold, de.load_predictions(file), "lin2021", resamples=100)
    assert scores.coverage.turns_scored == 4238
    check_outputs(written, scores.to_dict())


def test_a_report_without_parameters_cell_is_refused(tmp_path: Path) -> None:
    nbformat.write(nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("1")]), tmp_path / "n.ipynb")
    with pytest.raises(DataFileError, match="tagged 'parameters'"):
        run_report(tmp_path / "n.ipynb", {}, tmp_path)


def test_export_needs_no_kernel(tmp_path: Path) -> None:
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_markdown_cell("# Mine <i>& yours</i>")])
    nbformat.write(book, tmp_path / "n.ipynb")
    page = export_html(tmp_path / "n.ipynb")
    assert "<title>Mine &lt;i&gt;&amp; yours&lt;/i&gt;</title>" in page


TINY = """
import json
from pathlib import Path
if predictions == "bad":
    raise ValueError("no <b> such thing")
scores = {"system": predictions, "protocol": protocol, "signature": "jga|gold:c/test@1|n:1"}
scores["metrics"] = {"m": {"value": 1.0, "low": None, "high": None}}
Path(out_dir, "metrics.json").write_text(json.dumps(scores))
"""


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    """A report that needs no data: the runner alone is tested."""
    cell = nbformat.v4.new_code_cell
    settings = 'predictions = ""\nprotocol = "lin2021"\ncorpus = ""\nout_dir = ""'
    book = nbformat.v4.new_notebook(cells=[cell(settings), cell(TINY.strip())])
    book.cells[0].metadata["tags"] = ["parameters"]
    nbformat.write(book, tmp_path / "tiny.ipynb")
    for name in ("a", "b", "bad"):
        (tmp_path / name).write_text("x", encoding="utf-8")
    return tmp_path / "tiny.ipynb"


def test_several_systems_and_protocols_fan_out_and_one_failure_stops_no_other(tiny: Path) -> None:
    files = ["--predictions", "a", "bad", "b", "--protocol", "lin2021", "trade"]
    command = [sys.executable, "-m", "dialogeval", "report", str(tiny), *files, "--out", "out", "--jobs", "2"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tiny.parent, check=False)
    assert done.returncode == 2
    lines = done.stderr.splitlines()
    assert len(lines) == 2 and all(
        re.fullmatch(r"dialogeval: tiny\.ipynb: cell \d+ failed: ValueError: no <b> such thing; see .*", line)
        for line in lines
    )
    assert done.stdout.count("notebook: ") == 4
    rows = de.read_results(tiny.parent / "out")
    wanted = [(system, protocol) for system in "ab" for protocol in ("lin2021", "trade")]
    assert sorted(zip(rows["system"], rows["protocol"], strict=True)) == wanted
    assert set(rows["report"]) == {"tiny"}
    assert (tiny.parent / "out" / "tiny_bad_trade" / "report.ipynb").is_file()


def test_systems_that_are_compared_get_one_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    planned = []
    monkeypatch.setattr("dialogeval.report.run_batch", lambda runs, jobs: planned.extend(runs) or [])
    both = [f"sample/predictions/crosswoz_en/tracker_{name}.jsonl.gz" for name in ("careful", "stale")]
    fixed = ["--corpus", "sample/crosswoz_en", "--out", str(tmp_path), "--protocol", "lin2021"]
    assert main(["report", "leaderboard", "--predictions", *both, *fixed]) == 0
    assert main(["report", "state_tracking", "--predictions", *both, *fixed]) == 0
    assert planned[0].values["predictions"] == ";".join(both)
    assert re.fullmatch(
        r"leaderboard_2-systems-[0-9a-f]{4}_sample-crosswoz_en_lin2021", planned[0].folder.name
    )
    assert [run.values["predictions"] for run in planned[1:]] == both


def test_names_that_differ_in_a_blank_get_folders_of_their_own(tiny: Path) -> None:
    for name in ("a b", "a-b"):
        (tiny.parent / name).write_text("x", encoding="utf-8")
    folders = {plan_report(tiny, {"predictions": str(tiny.parent / n)}, "out").folder for n in ("a b", "a-b")}
    assert len(folders) == 2


def test_a_report_that_is_told_to_stop_leaves_nothing_running(tiny: Path) -> None:
    book = nbformat.read(tiny, as_version=4)
    book.cells[1].source = "import os, time\nopen('started', 'w').write(str(os.getpid()))\ntime.sleep(600)"
    nbformat.write(book, tiny)
    command = [sys.executable, "-m", "dialogeval", "report", str(tiny), "--out", "out"]
    with subprocess.Popen(command, cwd=tiny.parent, stderr=subprocess.PIPE, text=True) as process:
        started = tiny.parent / "started"
        while not started.exists() or not started.read_text():
            assert process.poll() is None
            time.sleep(0.05)
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 130
        assert process.stderr is not None and process.stderr.read() == "dialogeval: interrupted\n"
    kernel = int(started.read_text())
    for _ in range(200):
        try:
            os.kill(kernel, 0)
        except ProcessLookupError:
            return
        time.sleep(0.05)
    raise AssertionError("the kernel goes on")


def test_a_batch_refuses_two_runs_into_one_folder_and_no_jobs(tiny: Path, tmp_path: Path) -> None:
    run = plan_report(tiny, {"predictions": str(tmp_path / "a")}, tmp_path / "out")
    with pytest.raises(UsageError, match="two reports would write into one folder; leave one of them out"):
        list(run_batch([run, run]))
    with pytest.raises(UsageError, match="jobs: expected a whole number from 1, got 0"):
        list(run_batch([run], jobs=0))
    assert not (tmp_path / "out").exists()

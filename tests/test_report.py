"""Reports: run through papermill on sample and real corpora, safe pages, kept scores, faults, one clear line."""

from __future__ import annotations

import functools
import json
import os
import re
import signal
import subprocess
import sys
import time
from datetime import UTC, datetime
from html.parser import HTMLParser
from pathlib import Path

import nbformat
import pandas as pd
import pytest

import dialogeval as de
from dialogeval import scoring
from dialogeval.exceptions import DataFileError, DialogevalError, ReportError, UnknownNameError, UsageError
from dialogeval.locate import locate_predictions
from dialogeval.report import export_html, plan_report, read_parameters, run_batch, run_report, write_outputs
from dialogeval.resources import resource_dir

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
    attributes = [pair for _, found in seen.tags for pair in found.items()]
    loads = [value for name, value in attributes if name in ("src", "href", "data", "action")]
    assert [link for link in loads if not link.startswith(("data:image/", "#"))] == []
    assert not {tag for tag, _ in seen.tags} & {"script", "link", "iframe", "object", "embed", "form", "base"}
    assert [name for name, _ in attributes if name.startswith("on")] == []
    assert not re.search(r"@import|url\(\s*[\"']?(?:http|//)", page)
    assert "Content-Security-Policy" in page
    images = [found for tag, found in seen.tags if tag == "img"]
    assert images and all(len(image.get("alt", "")) > 20 for image in images)
    folded = sum(tag == "details" and found.get("class") == "code" for tag, found in seen.tags)
    assert folded == sum("jp-CodeMirrorEditor" in found.get("class", "") for _, found in seen.tags) > 5
    return seen.text


def check_outputs(written: dict[str, Path], scores: dict) -> None:
    assert json.loads(written["metrics.json"].read_text(encoding="utf-8")) == scores
    assert all(len(pd.read_csv(path)) > 0 for name, path in written.items() if name.endswith(".csv"))
    check_page(written["html"].read_text(encoding="utf-8"))


def lines(path: Path, rows: list[dict]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def contents(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


# The reports that come with the package --------------------------------------------------------


def test_the_command_runs_the_state_report_on_the_sample(tmp_path: Path) -> None:
    """Also into a folder with braces, which papermill takes for places to fill in."""
    command = [sys.executable, "-m", "dialogeval", "report", "state_tracking", "--out", "out {x}"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    paths = (line.split(": ", 1) for line in done.stdout.splitlines())
    written = {what: tmp_path / path for what, path in paths}
    assert {"notebook", "html", "metrics.json", "by_slot.csv", "errors.csv", "results"} <= written.keys()
    defaults = read_parameters(resource_dir("notebooks") / "report_state_tracking.ipynb")
    scores = de.score("sample/crosswoz_en", defaults["predictions"], "lin2021")
    check_outputs(written, scores.to_dict())
    slots = pd.read_csv(written["by_slot.csv"])
    assert slots["tp"].sum() / slots["predicted"].sum() == pytest.approx(scores["slot_precision"])
    assert "<title>Report: state tracking</title>" in written["html"].read_text(encoding="utf-8")
    # It says where it lies, not where it ran.
    assert f'out_dir = \\"out {{x}}/{written["html"].parent.name}\\"' in written["notebook"].read_text()
    kept = de.read_results(tmp_path / "out {x}").set_index("metric")
    pd.testing.assert_frame_equal(
        kept[["value", "low", "high"]], scores.table[["value", "low", "high"]], check_names=False
    )
    assert set(kept["system"]) == {scores.system} and set(kept["signature"]) == {scores.signature}
    assert set(kept["corpus"]) == {"sample/crosswoz_en"} and set(kept["split"]) == {"test"}


def test_the_generation_report_on_the_sample_with_other_parameters(tmp_path: Path) -> None:
    parameters = {"resamples": "40", "seed": 7, "protocol": "lai2019-card", "split": "test"}
    written = run_report("generation", parameters, tmp_path)
    defaults = read_parameters(resource_dir("notebooks") / "report_generation.ipynb")
    scores = de.score(defaults["corpus"], defaults["predictions"], "lai2019-card", resamples=40, seed=7)
    check_outputs(written, scores.to_dict())


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
    shown = ("&lt;script&gt;", "&lt;/td&gt;", "[link](http://evil.example)", r"\frac{1}{0} $x_{1}$", "*bold*")
    assert [text for text in shown if text not in page] == []
    assert "<strong>bold" not in page and "<em>bold" not in page


def test_text_of_the_data_appears_as_text_in_the_state_report(tmp_path: Path) -> None:
    rows = [
        {"dialogue_id": f"d{i}", "turn": 0, "gold": [[t, t, t]], "pred": [[t, t, f"{t} no"]]}
        for i, t in enumerate(EVIL)
    ]
    file = lines(tmp_path / "evil.jsonl", rows)
    written = run_report("state_tracking", {"predictions": str(file), "corpus": "", "resamples": 0}, tmp_path)
    text = check_page(written["html"].read_text(encoding="utf-8"))
    assert [evil for evil in EVIL if text.count(evil) < 3] == []
    assert len(pd.read_csv(written["errors.csv"])) == len(EVIL)


def test_the_state_report_on_real_crosswoz(tmp_path: Path, real_data: Path, real_cases: Path) -> None:
    file = real_cases / "dstc9" / "crosswoz_en_test.submission.json.gz"
    given = {"corpus": "crosswoz_en", "predictions": str(file), "data_home": str(real_data), "resamples": 100}
    written = run_report("state_tracking", given, tmp_path)
    gold = de.load_corpus("crosswoz_en", home=real_data)
    scores = de.score(gold, de.load_predictions(file), "lin2021", resamples=100)
    assert scores.coverage.turns_scored == 4238
    check_outputs(written, scores.to_dict())


def test_the_paper_sentence_holds_what_a_paper_needs() -> None:
    scores = de.score("sample/crosswoz_en", de.load_corpus("sample/crosswoz_en"), "lin2021", resamples=10)
    sentence = scoring.paper_sentence(scores)
    wanted = ("JGA 1.0000 [1.0000, 1.0000]", "Lin & Chen 2021", "10 bootstrap resamples", scores.signature)
    assert [text for text in wanted if text not in sentence] == []
    assert scoring.explain(scores)["what it says"].str.len().min() > 20


def test_coverage_counts_what_is_missing() -> None:
    gold = de.load_corpus("sample/crosswoz_en")
    first = gold.turns["dialogue_id"].iloc[0]
    lost = int((gold.turns["dialogue_id"] == first).sum())
    turns, states = (frame[frame["dialogue_id"] != first] for frame in (gold.turns, gold.states))
    part = de.Predictions("part", turns=de.as_predictions(gold).turns.loc[turns.index], states=states)
    for missing, column, other in (
        ("empty", "without prediction", "left out"),
        ("skip", "left out", "without prediction"),
    ):
        table = scoring.coverage_table(de.score(gold, part, "lin2021", missing=missing, resamples=0))
        assert table[column].tolist() == [1, lost] and table[other].tolist() == [0, 0]


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


def test_write_outputs(tmp_path: Path) -> None:
    frame = pd.DataFrame({"a": ['x,"y"\n', "ö"]})
    names = write_outputs(str(tmp_path), {"m": 1}, t=frame)
    assert set(names) == {p.name for p in tmp_path.iterdir()} == {"metrics.json", "environment.json", "t.csv"}
    assert pd.read_csv(tmp_path / "t.csv")["a"].tolist() == frame["a"].tolist()
    assert json.loads((tmp_path / "metrics.json").read_text(encoding="utf-8")) == {"m": 1}
    assert json.loads((tmp_path / "environment.json").read_text())["dialogeval"] == de.__version__


def test_export_needs_no_kernel(tmp_path: Path) -> None:
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_markdown_cell("# Mine <i>& yours</i>")])
    nbformat.write(book, tmp_path / "n.ipynb")
    assert "<title>Mine &lt;i&gt;&amp; yours&lt;/i&gt;</title>" in export_html(tmp_path / "n.ipynb")


# What is refused before a kernel starts ----------------------------------------------------------

MANY = "sample/predictions/multiwoz;no/such"


@pytest.mark.parametrize(
    ("report", "parameters", "error", "line"),
    [
        ("generation", {"corpsu": "x"}, UnknownNameError, "did you mean corpus"),
        ("generation", {"out_dir": "x"}, UnknownNameError, "out_dir"),
        *(("generation", {"resamples": v}, UsageError, "resamples") for v in ("x", "1.5", True, None, [1])),
        ("leaderbored", {}, UnknownNameError, "'leaderbored': did you mean leaderboard"),
        ("no.ipynb", {}, DataFileError, "no such notebook"),
        ("leaderboard", {"predictions": MANY}, DataFileError, "no such file or folder"),
        ("state_tracking", {"predictions": "nope.json"}, DataFileError, "nope.json: no such file"),
        ("state_tracking", {"corpus": "multiwoz2"}, UsageError, "unknown corpus 'multiwoz2'"),
        ("state_tracking", {"protocol": "lin2012"}, UsageError, "unknown protocol 'lin2012'"),
        ("state_tracking", {"split": "nosuch"}, UsageError, "'nosuch': known: train"),
        ("transfer", {"split": "nosuch"}, UsageError, "'nosuch'"),
        ("generation", {"corpus": "crosswoz", "data_home": "none"}, DialogevalError, "crosswoz is not here"),
    ],
)
def test_refused_before_a_kernel_starts(
    report: str, parameters: dict, error: type[DialogevalError], line: str, tmp_path: Path
) -> None:
    with pytest.raises(error, match=line):
        run_report(report, parameters, tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


def test_other_names_of_a_split_are_known(tmp_path: Path) -> None:
    assert plan_report("state_tracking", {"split": "validation"}, tmp_path).values["split"] == "validation"


# The runner: small notebooks of its own ----------------------------------------------------------

TINY = """
import os, time
from dialogeval.report import write_outputs
value = {"value": 1.0, "low": None, "high": None}
scores = {"system": predictions, "protocol": protocol, "signature": "jga|gold:c/test@1", "metrics": {"m": value}}
write_outputs(out_dir, {"deep": [scores]})
if word == "slow":
    open("started", "w").write(str(os.getpid()))
    time.sleep(600)
if word == "refused":
    import dialogeval
    dialogeval.load_corpus("no_such")
if word == "dies":
    os.kill(os.getpid(), 9)
assert word == "good", "no <b> {such} thing"
"""


@pytest.fixture
def tiny(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A report that needs no data, and two prediction files."""
    cell = nbformat.v4.new_code_cell
    settings = cell(
        'predictions = ""\nprotocol = ""\nword = "good"\nout_dir = ""', metadata={"tags": ["parameters"]}
    )
    kernel = {"name": "python3", "language": "python", "display_name": "Python"}
    book = nbformat.v4.new_notebook(cells=[settings, cell(TINY)], metadata={"kernelspec": kernel})
    nbformat.write(book, tmp_path / "tiny.ipynb")
    for name in "ab":
        (tmp_path / name).write_text("x", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return Path("tiny.ipynb")


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "dialogeval", "report", "tiny.ipynb", "--out", "out", *arguments]


def test_several_reports_at_once(tiny: Path) -> None:
    two = ["--predictions", "a", "b", "--protocol", "lin2021", "trade", "--jobs", "2"]
    done = subprocess.run(command(*two), capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr, done.stdout.count("notebook: ")) == (0, "", 4)
    rows = de.read_results("out")
    wanted = [(system, protocol) for system in "ab" for protocol in ("lin2021", "trade")]
    assert sorted(zip(rows["system"], rows["protocol"], strict=True)) == wanted
    assert set(rows["report"]) == {"tiny"}
    done = subprocess.run(command(*two, "-p", "word", "bad"), capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 4)
    line = r"dialogeval: tiny\.ipynb: cell \d+ failed: AssertionError: no <b> {such} thing; see (.*)"
    places = [Path(found[1]) for text in done.stderr.splitlines() if (found := re.fullmatch(line, text))]
    assert len(places) == 4 and all(place.is_file() for place in places)


@pytest.mark.parametrize("word", ["bad", "refused", "dies"])
def test_a_report_that_fails_leaves_the_one_before(word: str, tiny: Path) -> None:
    run_report(tiny, {}, "out")
    before = contents(Path("out"))
    names = ["environment.json", "metrics.json", "report.html", "report.ipynb"]
    assert [name.removeprefix("tiny/") for name in before if "/2" not in name] == names
    with pytest.raises(ReportError) as caught:
        run_report(tiny, {"word": word}, "out")
    assert "\n" not in str(caught.value)
    if word == "refused":
        with pytest.raises(UnknownNameError) as own:
            de.load_corpus("no_such")
        assert str(caught.value) == str(own.value)
    after = contents(Path("out"))
    kept = after.pop("tiny.failed.ipynb", b"")
    assert after == before and (b"AssertionError" in kept) == (word == "bad")
    run_report(tiny, {}, "out")
    assert "tiny.failed.ipynb" not in contents(Path("out")) and len(de.read_results("out")) == 2


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_report_that_is_stopped_leaves_nothing_running(number: int, tiny: Path) -> None:
    # What runs in the background of a shell inherits that Ctrl-C is ignored.
    heard = functools.partial(signal.signal, signal.SIGINT, signal.SIG_DFL)
    command_line, pipe = command("-p", "word", "slow"), subprocess.PIPE
    with subprocess.Popen(command_line, stderr=pipe, text=True, preexec_fn=heard) as process:
        started = Path("started")
        while not started.exists() or not started.read_text():
            assert process.poll() is None
            time.sleep(0.05)
        process.send_signal(number)
        assert process.wait(30) == 130
        assert process.stderr is not None and process.stderr.read() == "dialogeval: interrupted\n"
    with pytest.raises(ProcessLookupError):
        os.kill(int(started.read_text()), 0)
    assert contents(Path("out")) == {}


def test_two_systems_never_share_a_folder(tiny: Path) -> None:
    paths = [Path(name) for name in ("a b", "a-b", "x/a", "y/a", "a")]
    for path in paths:
        path.parent.mkdir(exist_ok=True)
        path.write_text("x", encoding="utf-8")
    runs = [plan_report(tiny, {"predictions": str(path)}, "out") for path in paths]
    assert len({run.folder for run in runs}) == len(paths)
    with pytest.raises(UsageError, match="one folder"):
        list(run_batch([runs[0], *runs]))
    (Path("out") / "tiny").mkdir(parents=True)
    with pytest.raises(ReportError, match="holds no report"):
        run_report(tiny, {}, "out")
    with pytest.raises(ReportError, match="choose another --out"):
        run_report(tiny, {}, "a")


def test_what_is_no_report(tiny: Path) -> None:
    Path("bad.ipynb").write_text("{", encoding="utf-8")
    with pytest.raises(DataFileError, match="not a notebook"):
        run_report("bad.ipynb", {}, "out")
    book = nbformat.read(tiny, as_version=4)
    book.cells[0].metadata["tags"] = []
    nbformat.write(book, "n.ipynb")
    with pytest.raises(DataFileError, match="tagged 'parameters'"):
        run_report("n.ipynb", {}, "out")


# Kept scores -------------------------------------------------------------------------------------


def test_the_store_of_version_0_1_is_read_beside_newer_runs(tiny: Path) -> None:
    texts = ("system", "corpus", "split", "protocol", "signature", "metric")
    old = {key: [key, "ö <b> | $x$"] for key in texts} | {"value": [0.1, 1 / 3]}
    old |= {"low": [None, 0.0], "high": [None, 1.0], "time": [datetime(2026, 1, 2, tzinfo=UTC)] * 2}
    frame = pd.DataFrame(old | {"version": "0.1.0", "report": "r"}).astype({"low": float, "high": float})
    Path("out").mkdir()
    frame.to_parquet("out/results.parquet")
    run_report(tiny, {"predictions": "a"}, "out")
    rows = de.read_results("out")
    pd.testing.assert_frame_equal(rows.head(2), frame, check_dtype=False)
    assert rows["system"].iloc[2] == "a" and rows["time"].is_monotonic_increasing
    Path("out/results/x.json").write_text('[{"system": 1}]')
    with pytest.raises(DataFileError, match=r"x\.json"):
        de.read_results("out")
    with pytest.raises(DataFileError, match="no results"):
        de.read_results("nowhere")

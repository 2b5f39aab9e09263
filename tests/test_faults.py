"""Faults while files are written: no room, no permission, Ctrl-C, a kill, two writers at once.

Nothing half-written looks whole, nothing earlier is lost, and the user sees one line. The table of all
faults is tests/faults.md; what takes minutes is tests/long/test_faults_long.py.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Timer

import nbformat
import pandas as pd
import portalocker
import pytest
from course.assignment import write_assignment

import dialogeval as de
from dialogeval import report, writing
from dialogeval import report as report_batch
from dialogeval.cli import main
from dialogeval.corpora import download
from dialogeval.exceptions import DataFileError, DialogevalError, ReportError, UnknownNameError
from dialogeval.ontology.alignment import load_alignment, save_alignment
from dialogeval.predictions.writers import save_predictions
from dialogeval.report import CellFailed, append_results, plan_report, result_rows, write_outputs
from dialogeval.resources import resource_dir
from dialogeval.scoring import environment
from dialogeval.writing import part_beside, write_all, write_whole

SAMPLE = resource_dir("data") / "sample" / "predictions" / "multiwoz" / "tracker_careful.json.gz"


@contextmanager
def room_for(size: int) -> Iterator[None]:
    """Let the system refuse to write more than so many bytes into any file."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)


def contents(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def alignment_into(folder: Path) -> None:
    save_alignment(load_alignment("multiwoz__crosswoz_en"), folder / "a.csv")


def tables_into(folder: Path) -> None:
    write_outputs(str(folder), {"m": 1}, big=pd.DataFrame({"a": range(3000)}))


def predictions_into(folder: Path) -> None:
    save_predictions(de.load_predictions(SAMPLE), folder / "p.jsonl", "turns")


def store_into(folder: Path) -> None:
    metrics = {"m": {"value": 0.5, "low": None, "high": None}}
    append_results(
        folder, result_rows({"system": "s", "protocol": "p", "signature": "s", "metrics": metrics})
    )


WRITERS = [alignment_into, tables_into, predictions_into, store_into, write_assignment]


@pytest.mark.parametrize("write", WRITERS)
def test_no_room_leaves_what_was_there_and_a_line(write: Callable[[Path], object], tmp_path: Path) -> None:
    write(tmp_path)
    before = contents(tmp_path)
    for file in tmp_path.rglob("*.*"):
        if file.is_file() and file.suffix != ".lock" and file.suffix != ".parquet":
            file.write_bytes(b"earlier")  # what is there differs from what would be written
    earlier = contents(tmp_path)
    with (
        room_for(2000),
        pytest.raises(DialogevalError, match=r"cannot be written \(File too large\)") as caught,
    ):
        write(tmp_path)
    assert "\n" not in str(caught.value)
    assert contents(tmp_path) == earlier
    write(tmp_path)
    after = contents(tmp_path)
    assert after.keys() == before.keys()
    assert all(after[name] == before[name] for name in before if not name.endswith(".parquet"))


def test_files_that_belong_together_come_together(tmp_path: Path) -> None:
    write_all({tmp_path / "a": "old", tmp_path / "b": "old"})
    with room_for(100), pytest.raises(DataFileError, match=r"b: cannot be written .*; make room"):
        write_all({tmp_path / "a": "new", tmp_path / "b": "n" * 200})
    assert contents(tmp_path) == {"a": b"old", "b": b"old"}


def test_an_interrupt_takes_its_part_away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    write_whole(tmp_path / "a", "old")
    monkeypatch.setattr(writing, "move_whole", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_whole(tmp_path / "a", "new")
    assert contents(tmp_path) == {"a": b"old"}


def test_parts_of_the_dead_are_removed_and_those_of_the_living_are_not(tmp_path: Path) -> None:
    dead, living = part_beside(tmp_path / "a[1].csv"), part_beside(tmp_path / "a[1].csv")
    for part in (dead, living):
        part.write_text("half", encoding="utf-8")
    os.utime(dead, (time.time() - 2 * writing.ABANDONED,) * 2)
    write_whole(tmp_path / "a[1].csv", "new")
    assert contents(tmp_path) == {"a[1].csv": b"new", living.name: b"half"}


def test_links_pipes_and_folders_stay_what_they_are(tmp_path: Path) -> None:
    (tmp_path / "far").mkdir()
    (tmp_path / "far" / "a").write_text("old", encoding="utf-8")
    (tmp_path / "link").symlink_to(tmp_path / "far" / "a")
    write_whole(tmp_path / "link", "new")
    assert (tmp_path / "link").is_symlink() and contents(tmp_path / "far") == {"a": b"new"}
    os.mkfifo(tmp_path / "pipe")
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    write_whole(tmp_path / "pipe", "new")
    assert os.read(reader, 9) == b"new" and (tmp_path / "pipe").is_fifo()
    os.close(reader)
    with pytest.raises(DataFileError, match=r"far: is a folder where the file should go; move it away"):
        write_all({tmp_path / "link": "newer", tmp_path / "far": "x"})
    assert contents(tmp_path / "far") == {"a": b"new"}


def test_a_full_standard_output_is_one_line() -> None:
    with Path("/dev/full").open("w") as full:
        command = [sys.executable, "-m", "dialogeval", "protocols"]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    line = "dialogeval: output or temporary files cannot be written (No space left on device)\n"
    assert (done.returncode, done.stderr) == (2, line)


def test_told_to_stop_every_command_ends_as_after_ctrl_c(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    before = signal.getsignal(signal.SIGTERM)
    monkeypatch.setattr(download, "fetch", lambda *_, **__: os.kill(os.getpid(), signal.SIGTERM))
    assert main(["fetch", "crosswoz"]) == 130
    assert capsys.readouterr().err == "dialogeval: interrupted\n"
    assert signal.getsignal(signal.SIGTERM) is before


# Reports -----------------------------------------------------------------------------------------


@pytest.fixture
def run(tmp_path: Path) -> report.Run:
    """A report that has been made once; the runs of this module replace its kernel by `staged`."""
    cell = nbformat.v4.new_code_cell
    book = nbformat.v4.new_notebook(cells=[cell('predictions = ""\nout_dir = ""')])
    book.cells[0].metadata["tags"] = ["parameters"]
    nbformat.write(book, tmp_path / "mine.ipynb")
    return plan_report(tmp_path / "mine.ipynb", {}, tmp_path / "out")


def staged(word: str, then: Callable[[], object] = lambda: None) -> Callable[..., None]:
    """Stand for a kernel: write what a report writes, then do something."""

    def execute(path: Path, target: Path, values: dict, *_: object, **__: object) -> None:
        injected = nbformat.v4.new_code_cell(f"# Parameters\nout_dir = {json.dumps(values['out_dir'])}\n")
        injected.metadata["tags"] = ["injected-parameters"]
        book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_markdown_cell(f"# {word}"), injected])
        book.metadata["papermill"] = {"parameters": dict(values), "output_path": str(target)}
        nbformat.write(book, target)
        write_outputs(values["out_dir"], {"run": word}, table=pd.DataFrame({word: [1]}))
        then()

    return execute


def test_a_report_that_does_not_end_leaves_the_one_before(
    run: report.Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(error: BaseException) -> Callable[[], None]:
        def then() -> None:
            raise error

        return then

    monkeypatch.setattr(report, "execute_notebook", staged("first"))
    report.carry_out(run)
    before = contents(run.folder)
    assert list(before) == ["environment.json", "metrics.json", "report.html", "report.ipynb", "table.csv"]
    assert b".part" not in before["report.ipynb"] + before["report.html"]
    assert json.loads(before["environment.json"]) == environment()
    for error in (KeyboardInterrupt(), OSError(28, "No space left on device"), ReportError("no room")):
        monkeypatch.setattr(report, "execute_notebook", staged("second", fail(error)))
        with pytest.raises(KeyboardInterrupt if isinstance(error, KeyboardInterrupt) else ReportError):
            report.carry_out(run)
        assert contents(run.folder) == before
    with room_for(20_000), pytest.raises(ReportError, match=r"cannot be written \(File too large\)"):
        monkeypatch.setattr(report, "execute_notebook", staged("third"))
        report.carry_out(run)  # the page does not fit
    assert contents(run.folder) == before
    # Killed: its part stays until the next run, and nobody takes it for a report.
    (run.folder / ".part").mkdir()
    (run.folder / ".part" / "report.ipynb").write_text("{", encoding="utf-8")
    (run.folder / ".lock").write_text("", encoding="utf-8")
    report.carry_out(run)
    assert contents(run.folder).keys() == before.keys() and b"third" in contents(run.folder)["metrics.json"]
    monkeypatch.setattr(report, "execute_notebook", staged("refused", fail(CellFailed("cell 2 failed"))))
    with pytest.raises(CellFailed):
        report.carry_out(run)
    assert list(contents(run.folder)) == ["report.ipynb"], "no old numbers beside the failed notebook"


def test_a_report_that_is_stopped_on_its_way_into_place_gets_there(
    run: report.Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed between two moves: the run that comes next, even one that fails, does the rest."""
    monkeypatch.setattr(report, "execute_notebook", staged("first"))
    report.carry_out(run)
    names = list(contents(run.folder))
    for moves in range(len(names)):
        before = contents(run.folder)
        monkeypatch.setattr(report, "execute_notebook", staged(f"after {moves}"))
        with monkeypatch.context() as patched:
            patched.setattr(report.os, "replace", killed_after(moves + 1))
            patched.setattr(report, "export_html", lambda _: "page")
            with pytest.raises(SystemExit):
                report.carry_out(run)
        monkeypatch.setattr(report, "execute_notebook", staged("later", stop))
        with pytest.raises(KeyboardInterrupt):
            report.carry_out(run)
        after = contents(run.folder)
        assert list(after) == names and after["report.html"] == b"page" != before["metrics.json"]
        assert f"after {moves}" in json.loads(after["metrics.json"])["run"]


def killed_after(moves: int) -> Callable[..., None]:
    """Stand for a process that gets no further than so many moves, and cannot clean up either."""
    left, move = [moves], os.replace

    def replace(source: Path, target: Path) -> None:
        if ".part" not in str(source) or source.name == ".part":
            if not left[0]:
                raise SystemExit
            left[0] -= 1
        move(source, target)

    return replace


def stop() -> None:
    raise KeyboardInterrupt


def test_nothing_stays_of_a_first_report_that_was_interrupted(
    run: report.Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(report, "execute_notebook", staged("first", stop))
    with pytest.raises(KeyboardInterrupt):
        report.carry_out(run)
    assert not run.folder.exists()


def test_a_worker_is_told_to_stop_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """By the terminal and by its parent; and again later, in case Python dropped the first time."""
    later = []
    monkeypatch.setattr(report_batch, "_busy", True)
    monkeypatch.setattr(report_batch, "_asked", float("-inf"))
    monkeypatch.setattr(report_batch, "Timer", lambda *arguments: later.append(arguments) or Timer(0, int))
    with pytest.raises(KeyboardInterrupt):
        report_batch._stop(signal.SIGINT, None)
    report_batch._stop(signal.SIGTERM, None)
    assert later == [(report_batch.PAUSE + 1, os.kill, (os.getpid(), signal.SIGTERM))]


def test_two_reports_do_not_write_into_one_folder(run: report.Run, monkeypatch: pytest.MonkeyPatch) -> None:
    run.folder.mkdir(parents=True)
    monkeypatch.setattr(report, "execute_notebook", staged("first"))
    with (
        portalocker.Lock(run.folder / ".lock", mode="a"),
        pytest.raises(ReportError, match=r"another report is being written here; wait for it, or choose"),
    ):
        report.carry_out(run)
    report.carry_out(run)
    assert ".lock" not in contents(run.folder)


@pytest.mark.parametrize(
    ("name", "parameters", "line"),
    [
        (
            "state_tracking",
            {"split": "nosuch"},
            r"unknown split of sample/crosswoz_en 'nosuch': known: train",
        ),
        ("transfer", {"split": "nosuch"}, r"unknown split of sample/multiwoz 'nosuch'"),
        ("state_tracking", {"predictions": str(SAMPLE.parent)}, r"is a folder: expected a file; name its"),
        ("generation", {"corpus": "crosswoz", "data_home": "none"}, r"corpus crosswoz is not here \(split"),
    ],
)
def test_found_out_before_a_kernel_starts(name: str, parameters: dict, line: str, tmp_path: Path) -> None:
    with pytest.raises((UnknownNameError, DataFileError), match=line):
        plan_report(name, parameters, tmp_path)


def test_other_names_of_a_split_are_known_before_a_kernel_starts(tmp_path: Path) -> None:
    assert plan_report("state_tracking", {"split": "validation"}, tmp_path).values["split"] == "validation"

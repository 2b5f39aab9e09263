"""Faults while files are written: no room, Ctrl-C, SIGTERM, links and pipes.

Nothing half-written looks whole, nothing earlier is lost, and the user sees one line. The table of all
faults is tests/faults.md; reports under faults are in tests/test_report.py and tests/long.
"""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pandas as pd
import pytest
from course.assignment import write_assignment

import dialogeval as de
from dialogeval import writing
from dialogeval.cli import main
from dialogeval.corpora import download
from dialogeval.exceptions import DataFileError, DialogevalError
from dialogeval.ontology.alignment import save_alignment
from dialogeval.report import write_outputs, write_results
from dialogeval.resources import resource_dir
from dialogeval.writing import write_all, write_whole

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
    save_alignment(de.load_alignment("multiwoz__crosswoz_en"), folder / "a.csv")


def tables_into(folder: Path) -> None:
    write_outputs(str(folder), {"m": 1}, big=pd.DataFrame({"a": range(3000)}))


def predictions_into(folder: Path) -> None:
    de.save_predictions(de.load_predictions(SAMPLE), folder / "p.jsonl", "turns")


WRITERS = [alignment_into, tables_into, predictions_into, write_assignment]


@pytest.mark.parametrize("write", WRITERS)
def test_no_room_leaves_what_was_there_and_a_line(write: Callable[[Path], object], tmp_path: Path) -> None:
    write(tmp_path)
    before = contents(tmp_path)
    for file in tmp_path.rglob("*.*"):
        if file.is_file():
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
    assert contents(tmp_path) == before


def test_files_that_belong_together_come_together(tmp_path: Path) -> None:
    write_all({tmp_path / "a": "old", tmp_path / "b": "old"})
    with room_for(100), pytest.raises(DataFileError, match=r"b: cannot be written .*; make room"):
        write_all({tmp_path / "a": "new", tmp_path / "b": "n" * 200})
    assert contents(tmp_path) == {"a": b"old", "b": b"old"}


def test_an_interrupt_takes_its_part_away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    write_whole(tmp_path / "a", "old")
    monkeypatch.setattr(writing.os, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_whole(tmp_path / "a", "new")
    assert contents(tmp_path) == {"a": b"old"}


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
    monkeypatch.setattr(download, "fetch", lambda *_, **__: os.kill(os.getpid(), signal.SIGTERM))
    assert main(["fetch", "crosswoz"]) == 130
    assert capsys.readouterr().err == "dialogeval: interrupted\n"


def test_scores_of_a_run_are_there_whole_or_not_at_all(tmp_path: Path) -> None:
    values = {f"m{i}": {"value": 0.5, "low": None, "high": None} for i in range(50)}
    scores = {"system": "s", "protocol": "p", "signature": "s", "metrics": values}
    write_results(tmp_path / "run", scores, "report")
    before = contents(tmp_path)
    with room_for(2000), pytest.raises(DialogevalError, match=r"cannot be written \(File too large\)"):
        write_results(tmp_path / "run", scores, "report")
    assert contents(tmp_path) == before and len(de.read_results(tmp_path)) == 50

"""Whole reports, twice and under faults: the same bytes each time; killed, stopped or without room, the
report before stays. `make test-long`; the table of all faults is tests/faults.md.
"""

from __future__ import annotations

import os
import random
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import nbformat
import pytest

from dialogeval.report import REPORTS, run_report

MINE = """
import os, time
import pandas as pd
from dialogeval.report import write_outputs
tables = {f"t{i}": pd.DataFrame({"n": [n] * 2000}) for i in range(9)}
open("pid", "w").write(f"{os.getpid()} ")
write_outputs(out_dir, {"n": n}, **tables)
time.sleep(n and 0.5)
print("run", n)
"""


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "dialogeval", "report", *arguments]


def numbers(cwd: Path, *arguments: str, hashing: str = "0") -> dict[str, bytes]:
    """Run reports in a folder of their own; return every table and every metrics.json."""
    cwd.mkdir()
    environment = {**os.environ, "PYTHONHASHSEED": hashing}
    done = subprocess.run(
        command(*arguments), cwd=cwd, env=environment, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    folders = [path for path in (cwd / "reports").iterdir() if path.name != "results"]
    files = [p for folder in folders for p in folder.iterdir() if p.suffix in (".json", ".csv")]
    assert {"metrics.json", "environment.json"} < {p.name for p in files}
    return {str(p.relative_to(cwd)): p.read_bytes() for p in sorted(files)}


@pytest.mark.parametrize("name", REPORTS)
def test_every_number_twice(name: str, tmp_path: Path) -> None:
    """The same seed gives the same bytes, whatever the order in which Python keeps its sets."""
    first = numbers(tmp_path / "first", name)
    assert all(numbers(tmp_path / hashing, name, hashing=hashing) == first for hashing in ("1", "random"))


def test_every_number_twice_on_a_real_corpus(tmp_path: Path, real_data: Path, real_cases: Path) -> None:
    file = real_cases / "dstc9" / "crosswoz_en_test.submission.json.gz"
    given = ["--corpus", "crosswoz_en", "--predictions", str(file), "--data-home", str(real_data)]
    given += ["-p", "resamples", "100"]
    first = numbers(tmp_path / "first", "state_tracking", *given)
    assert numbers(tmp_path / "again", "state_tracking", *given, hashing="random") == first


def test_as_many_jobs_as_one_likes(tmp_path: Path) -> None:
    files = [f"sample/predictions/crosswoz_en/tracker_{name}.jsonl.gz" for name in ("careful", "stale")]
    given = ["state_tracking", "--predictions", *files, "-p", "resamples", "50"]
    assert numbers(tmp_path / "1", *given, "--jobs", "1") == numbers(tmp_path / "2", *given, "--jobs", "2")


@pytest.fixture
def mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A report of nine tables, made once as run 0."""
    cell = nbformat.v4.new_code_cell
    settings = cell('n = 0\npredictions = ""\nout_dir = ""', metadata={"tags": ["parameters"]})
    kernel = {"name": "python3", "language": "python", "display_name": "Python"}
    book = nbformat.v4.new_notebook(cells=[settings, cell(MINE.strip())], metadata={"kernelspec": kernel})
    nbformat.write(book, tmp_path / "mine.ipynb")
    monkeypatch.chdir(tmp_path)
    run_report("mine.ipynb", {}, "out")
    assert run_of(tmp_path / "out" / "mine") == 0
    return tmp_path


def run_of(folder: Path) -> int:
    """Return the run that a whole report is of: all of its files are of one."""
    kept = [
        "environment.json",
        "metrics.json",
        "report.html",
        "report.ipynb",
        *(f"t{i}.csv" for i in range(9)),
    ]
    assert sorted(p.name for p in folder.iterdir()) == sorted(kept)
    tables = [(folder / f"t{i}.csv").read_text().splitlines() for i in range(9)]
    runs = {line.split(",")[1] for table in tables for line in table[1:]}
    assert len(runs) == 1 and {len(table) for table in tables} == {2001}
    run = runs.pop()
    assert f'"n": {run}\n' in (folder / "metrics.json").read_text()
    assert f"<pre>run {run}\n" in (folder / "report.html").read_text()
    assert nbformat.read(folder / "report.ipynb", as_version=4).cells[-1].outputs[0].text == f"run {run}\n"
    return int(run)


def running(pid: str) -> bool:
    status = Path(f"/proc/{pid}/stat")
    return status.exists() and status.read_text().rpartition(")")[2].split()[0] != "Z"


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_reports_that_are_stopped_anywhere(number: int, mine: Path) -> None:
    """At random moments: the report that is there is whole, and no kernel goes on."""
    chance, pid = random.Random(number), mine / "pid"
    for run in range(1, 7):
        pid.write_text("")
        arguments = ("mine.ipynb", "-p", "n", str(run), "--out", "out")
        streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        process = subprocess.Popen(command(*arguments), start_new_session=True, **streams)
        while not pid.read_text().endswith(" ") and process.poll() is None:
            time.sleep(0.01)
        time.sleep(chance.uniform(0, 1.5))
        if process.poll() is None:
            # As a terminal does, Ctrl-C goes to all of the group.
            (os.killpg if number == signal.SIGINT else os.kill)(process.pid, number)
        _, said = process.communicate()
        assert process.returncode in (0, -number, 130), said  # the system's own end: Python was leaving
        assert said == ("dialogeval: interrupted\n" if process.returncode == 130 else "")
        end = time.monotonic() + 60
        while running(pid.read_text().strip()) and time.monotonic() < end:
            time.sleep(0.05)
        assert not running(pid.read_text().strip())
        last = run_of(mine / "out" / "mine")
        assert last <= run and (process.returncode or last == run)
        if number != signal.SIGKILL:
            assert {p.name for p in (mine / "out").iterdir()} <= {"mine", "results"}
    run_report("mine.ipynb", {"n": 99}, "out")
    assert run_of(mine / "out" / "mine") == 99


@pytest.mark.parametrize("room", [5_000, 20_000])
def test_reports_without_room(room: int, mine: Path) -> None:
    """A table, the page: whichever does not fit, the report before stays."""
    limit = (resource.RLIMIT_FSIZE, (room, resource.RLIM_INFINITY))
    arguments = command("mine.ipynb", "-p", "n", "1", "--out", "out")
    done = subprocess.run(
        arguments, capture_output=True, text=True, check=False, preexec_fn=lambda: resource.setrlimit(*limit)
    )
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert "cannot be written" in done.stderr and run_of(mine / "out" / "mine") == 0

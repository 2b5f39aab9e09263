"""The results store: whole rows, several writers at once, writers that die, files that are broken."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pandas as pd
import pytest

import dialogeval as de
from dialogeval.exceptions import DataFileError, ReportError
from dialogeval.report import STORE, append_results, read_results, result_rows

#: A process that appends rows of its own, one call after the other.
WRITER = """
import sys
from dialogeval.report import append_results, result_rows
folder, name, times = sys.argv[1], sys.argv[2], int(sys.argv[3])
print("ready", flush=True)
for number in range(times):
    scores = {"system": f"{name}{number}", "protocol": "p", "signature": "jga|gold:c/test@1",
              "metrics": {"m": {"value": number / 7, "low": None, "high": None}}}
    append_results(folder, result_rows(scores))
"""


def scores_of(system: str, signature: str = "jga|proto:p|gold:sample/x/test@abc|n:1") -> dict:
    metrics = {"m": {"value": 0.1, "low": 0.05, "high": 0.2}, "k": {"value": 3.0, "low": None, "high": None}}
    return {"system": system, "protocol": "p", "signature": signature, "metrics": metrics}


def test_a_row_has_everything_that_runs_are_compared_by() -> None:
    when = datetime(2026, 5, 4, 12, tzinfo=timezone(timedelta(hours=2)))
    rows = result_rows(scores_of("a <b> | $x$"), "state_tracking", when)
    assert rows.loc[0].to_dict() == {
        "system": "a <b> | $x$",
        "corpus": "sample/x",
        "split": "test",
        "protocol": "p",
        "signature": "jga|proto:p|gold:sample/x/test@abc|n:1",
        "metric": "m",
        "value": 0.1,
        "low": 0.05,
        "high": 0.2,
        "time": pd.Timestamp("2026-05-04 10:00", tz="UTC"),
        "version": de.__version__,
        "report": "state_tracking",
    }
    assert rows["low"].isna().tolist() == [False, True]


def test_scores_are_found_wherever_a_report_puts_them() -> None:
    nested = {"systems": {"a": scores_of("a"), "b": scores_of("b")}, "note": "x", "more": [scores_of("c")]}
    assert result_rows(nested)["system"].tolist() == ["a", "a", "b", "b", "c", "c"]
    assert result_rows({"nothing": [1, "x", None]}).empty


def test_rows_are_appended_and_read_as_they_were(tmp_path: Path) -> None:
    first, second = (result_rows(scores_of(name), time=datetime(2026, 1, 2, tzinfo=UTC)) for name in "ab")
    append_results(tmp_path / "new", first)
    store = append_results(tmp_path / "new", second)
    pd.testing.assert_frame_equal(read_results(store), pd.concat([first, second], ignore_index=True))
    assert {p.name for p in store.parent.iterdir()} == {STORE, f".{STORE}.lock"}


def test_two_writers_at_once_lose_nothing(tmp_path: Path) -> None:
    command = [sys.executable, "-c", WRITER, str(tmp_path)]
    writers = [subprocess.Popen([*command, name, "25"], stdout=subprocess.DEVNULL) for name in "xy"]
    assert [writer.wait() for writer in writers] == [0, 0]
    wanted = {f"{name}{number}" for name in "xy" for number in range(25)}
    assert sorted(read_results(tmp_path)["system"]) == sorted(wanted)


def test_a_writer_that_is_killed_leaves_a_whole_store_and_no_lock(tmp_path: Path) -> None:
    append_results(tmp_path, result_rows(scores_of("before")))
    command = [sys.executable, "-c", WRITER, str(tmp_path), "z", "100000"]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as writer:
        assert writer.stdout is not None
        writer.stdout.readline()
        time.sleep(0.15)
        os.kill(writer.pid, signal.SIGKILL)
    written = read_results(tmp_path)["system"].tolist()
    rest = len(written) - 2
    assert written == ["before", "before", *(f"z{number}" for number in range(rest))]
    append_results(tmp_path, result_rows(scores_of("after")))
    assert len(read_results(tmp_path)) == len(written) + 2


def test_a_broken_store_is_named_and_left_alone(tmp_path: Path) -> None:
    (tmp_path / STORE).write_bytes(b"PAR1 no parquet")
    with pytest.raises(
        DataFileError, match=r"results\.parquet: is no readable Parquet file .*; move it away"
    ):
        append_results(tmp_path, result_rows(scores_of("a")))
    assert (tmp_path / STORE).read_bytes() == b"PAR1 no parquet"
    pd.DataFrame({"x": [1]}).to_parquet(tmp_path / STORE)
    with pytest.raises(DataFileError, match="has other columns: expected system, corpus"):
        read_results(tmp_path)


def test_cells_of_another_type_and_a_folder_get_one_line(tmp_path: Path) -> None:
    rows = result_rows(scores_of("a")).astype({"value": "object"})
    rows.loc[0, "value"] = "abc"
    rows.astype({"value": "str"}).to_parquet(tmp_path / STORE)
    with pytest.raises(DataFileError, match=r"holds cells of another type .*; move it away"):
        append_results(tmp_path, result_rows(scores_of("b")))
    (tmp_path / "b" / STORE).mkdir(parents=True)
    with pytest.raises(DataFileError, match="is a folder: expected a Parquet file; move it away"):
        append_results(tmp_path / "b", result_rows(scores_of("b")))


def test_a_folder_that_is_none_gets_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(ReportError, match=r"results\.parquet: cannot be written \("):
        append_results(tmp_path / "file", result_rows(scores_of("a")))

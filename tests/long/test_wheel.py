"""The wheel in an empty environment: its own list of requirements is enough. `make test-long`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from test_project import wheel  # noqa: F401


def test_wheel_in_an_empty_environment(
    wheel: Path,  # noqa: F811
    tmp_path: Path,
) -> None:
    """Install the wheel where nothing is, away from the checkout; score a sample and run both reports."""
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "env"], check=True)
    bin = tmp_path / "env" / "bin"
    quiet = ["--quiet", "--disable-pip-version-check", "--no-compile"]
    subprocess.run([bin / "python", "-m", "pip", "install", *quiet, wheel], check=True)

    def run(*arguments: str) -> str:
        done = subprocess.run(
            [bin / "dialogeval", *arguments], cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    where = run("corpora")
    assert "4 of 4 files here" in where
    name = "sample/predictions/multiwoz/tracker_careful.json.gz"
    assert "joint_goal_accuracy" in run("score", name, "--corpus", "sample/multiwoz", "--protocol", "lin2021")
    for report in ("state_tracking", "generation"):
        written = run("report", report, "--out", "reports")
        assert "metrics.json" in written and "report.html" in written

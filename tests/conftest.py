"""Fixtures shared by all tests.

Tests that take `real_data` or `real_cases` read real corpora and the values of published scorers.
Where the environment variables DIALOGEVAL_DATA and DIALOGEVAL_CASES do not say where these lie,
such tests are not collected; where they do, a test that cannot read them fails.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import settings

# The same examples in every run, and no limit of time: shared machines are slow at times.
settings.register_profile("steady", deadline=None, derandomize=True, max_examples=25)
settings.load_profile("steady")

VARIABLES = {"real_data": "DIALOGEVAL_DATA", "real_cases": "DIALOGEVAL_CASES"}


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers", "real: reads real corpora or cases (DIALOGEVAL_DATA, DIALOGEVAL_CASES)"
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    kept, left_out = [], []
    for item in items:
        needed = [v for f, v in VARIABLES.items() if f in getattr(item, "fixturenames", ())]
        if needed:
            item.add_marker("real")
        (kept if all(os.environ.get(v) for v in needed) else left_out).append(item)
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = kept


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    passed = [
        r for r in terminalreporter.stats.get("passed", ()) if r.when == "call" and "real" in r.keywords
    ]
    terminalreporter.write_line(f"real-data tests passed: {len(passed)}")


def _folder(variable: str) -> Path:
    path = Path(os.environ[variable]).resolve()
    assert path.is_dir(), f"{variable} names no folder: {path}"
    return path


@pytest.fixture(scope="session")
def real_data() -> Path:
    return _folder("DIALOGEVAL_DATA")


@pytest.fixture(scope="session")
def real_cases() -> Path:
    return _folder("DIALOGEVAL_CASES")

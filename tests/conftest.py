"""Fixtures shared by all tests; those on real data say so by taking `real_data` or `real_cases`."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "real: reads real corpora or cases (DIALOGEVAL_DATA, DIALOGEVAL_CASES)")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if {"real_data", "real_cases"} & set(getattr(item, "fixturenames", ())):
            item.add_marker("real")


def _folder(variable: str) -> Path:
    value = os.environ.get(variable)
    if not value:
        pytest.skip(f"{variable} is not set: no real data here")
    path = Path(value).resolve()
    assert path.is_dir(), f"{variable} names no folder: {value}"
    return path


@pytest.fixture(scope="session")
def real_data() -> Path:
    return _folder("DIALOGEVAL_DATA")


@pytest.fixture(scope="session")
def real_cases() -> Path:
    return _folder("DIALOGEVAL_CASES")

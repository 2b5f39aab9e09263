"""Golden values: what the sample systems score, what readers and alignments make of the data, what reports say."""

from __future__ import annotations

import pandas as pd
import pytest
from golden.recording import HERE, record


@pytest.fixture(scope="module")
def computed() -> dict[str, pd.DataFrame]:
    return record()


@pytest.mark.parametrize("name", ["runs", "scores", "tables", "reports"])
def test_golden(name: str, computed: dict[str, pd.DataFrame]) -> None:
    numbers = ["value", "low", "high"] if name in ("scores", "reports") else []
    recorded = pd.read_csv(HERE / f"{name}.csv", dtype=str, keep_default_na=False)
    expected, found = (
        table.assign(**{c: pd.to_numeric(table[c], errors="coerce") for c in numbers})
        for table in (
            recorded,
            computed[name].astype(dict.fromkeys(computed[name].columns.difference(numbers), str)),
        )
    )
    pd.testing.assert_frame_equal(found, expected, rtol=1e-12, atol=1e-12, check_dtype=False)

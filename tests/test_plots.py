"""Figures: what is drawn is what the table says, in words too; text of the data is only text."""

from __future__ import annotations

import pandas as pd
import pytest

import dialogeval as de
from dialogeval import plots
from dialogeval.exceptions import UsageError
from dialogeval.plots import results

HOSTILE = "$x_{1}$ <b> & \\frac\nnext"
TABLE = pd.DataFrame({"a": [0.25, 0.5], "b": [0.75, 1.0]}, index=["one", HOSTILE])


def kinds() -> dict:
    values = TABLE[["a"]].rename(columns={"a": "value"}).assign(low=[0.2, 0.4], high=[0.3, 0.6])
    return {
        "dots": plots.dots(values, "Message", "share"),
        "bars": plots.bars(TABLE, "Message", "share"),
        "grid": plots.grid(TABLE, "Message"),
        "lines": plots.lines(TABLE.set_axis([1, 2]), "Message", "share", "turn"),
        "histogram": plots.histogram({"a": [1, 1, 2], "b": [3]}, "Message", "turns", "dialogues"),
    }


@pytest.mark.parametrize("kind", ["dots", "bars", "grid", "lines", "histogram"])
def test_each_kind_says_what_it_draws_and_is_the_same_again(kind: str) -> None:
    ax, again = kinds()[kind], kinds()[kind]
    assert ax.get_title(loc="left") == "Message" and "Message" in plots.alt_text(ax)
    assert plots.png(ax) == plots.png(again) and plots.png(ax).startswith(b"\x89PNG")


def test_the_artists_hold_the_numbers() -> None:
    drawn = kinds()
    assert [list(line.get_ydata()) for line in drawn["lines"].lines[:2]] == [[0.25, 0.5], [0.75, 1.0]]
    assert sorted(p.get_width() for p in drawn["bars"].patches) == [0.25, 0.5, 0.75, 1.0]
    assert {t.get_text() for t in drawn["grid"].texts} >= {"0.25", "1.00"}
    assert sum(p.get_height() for p in drawn["histogram"].patches) == 4
    for number in ("0.25", "0.5"):
        assert number in plots.alt_text(drawn["dots"])


def test_text_of_the_data_is_drawn_letter_by_letter_on_one_line() -> None:
    labels = [t.get_text() for t in plots.bars(TABLE, HOSTILE, "share").get_yticklabels()]
    assert all("\n" not in label for label in labels) and any("\\$x" in label for label in labels)


def test_an_empty_table_is_refused() -> None:
    for draw in (plots.dots, plots.bars):
        with pytest.raises(UsageError):
            draw(TABLE.iloc[:0], "Nothing", "share")


def test_nothing_global_is_changed() -> None:
    import matplotlib

    before = dict(matplotlib.rcParams)
    kinds()
    assert dict(matplotlib.rcParams) == before


@pytest.mark.parametrize(
    "draw",
    [
        results.score_intervals,
        results.score_by_turn,
        results.error_kinds,
        results.repair_gains,
        results.error_starts,
        results.error_lengths,
        results.reset_by_turn,
    ],
)
def test_figures_of_a_tracker(draw) -> None:
    file = "sample/predictions/crosswoz_en/tracker_sloppy.jsonl.gz"
    ax = draw(de.score("sample/crosswoz_en", file, "lin2021", resamples=20))
    assert ax.get_title(loc="left") and ax.get_xlabel() + ax.get_ylabel()
    assert len(plots.alt_text(ax)) > 40 and plots.png(ax)

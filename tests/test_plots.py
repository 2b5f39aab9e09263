"""Figures: they draw what the table says, change nothing else, and say in words what they show."""

from __future__ import annotations

import io
import warnings
from unittest.mock import patch

import matplotlib
import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

import dialogeval as de
from dialogeval import plots
from dialogeval.exceptions import UnknownNameError, UsageError
from dialogeval.plots import results

EVIL = "_$\\alpha_{$ <b>|*x*\n酒店"
SAID = "_$\\alpha_{$ <b>|*x* 酒店"
TABLE = pd.DataFrame({EVIL: [0.25, 0.5], "b": [0.125, 0.75]}, index=[EVIL, "row"])
KINDS = {
    "dots": lambda ax=None: plots.dots(TABLE, EVIL, EVIL, at={EVIL: 0.3}, limits=(0, 1), ax=ax),
    "bars": lambda ax=None: plots.bars(TABLE, EVIL, EVIL, ax=ax),
    "grid": lambda ax=None: plots.grid(TABLE, EVIL, EVIL, EVIL, ax=ax),
    "lines": lambda ax=None: plots.lines(TABLE.set_axis([3, 4]), EVIL, EVIL, EVIL, ax=ax),
    "histogram": lambda ax=None: plots.histogram(TABLE, EVIL, EVIL, EVIL, band=(0.2, 0.4), ax=ax),
}


def texts(ax):
    return [text.get_text() for text in ax.texts]


@pytest.fixture(scope="module")
def scores():
    return de.score(
        "sample/multiwoz", "sample/predictions/multiwoz/tracker_careful.json.gz", "lin2021", resamples=20
    )


@pytest.mark.parametrize("kind", KINDS)
def test_a_kind_changes_nothing_global_and_gives_the_same_bytes(kind):
    from matplotlib import pyplot
    from PIL import Image

    before = dict(matplotlib.rcParams)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        image = plots.png(KINDS[kind]())
    assert plots.png(KINDS[kind]()) == image
    assert dict(matplotlib.rcParams) == before and pyplot.get_fignums() == []
    known = Image.open(io.BytesIO(image)).info
    assert known["Description"] == plots.alt_text(KINDS[kind]()) and not {"Software", "Creation Time"} & set(
        known
    )
    ax = Figure().subplots()
    assert KINDS[kind](ax) is ax


@pytest.mark.parametrize("kind", KINDS)
def test_texts_of_the_data_are_inert(kind):
    ax = KINDS[kind]()
    said = plots.alt_text(ax)
    assert SAID in said and "\n" not in said
    words = [ax.get_title("left"), ax.get_xlabel(), *(t.get_text() for t in ax.get_yticklabels())]
    words += [t.get_text() for legend in ax.figure.legends for t in legend.get_texts()]
    assert not [word for word in words if "$" in word.replace(r"\$", "")]
    with patch("IPython.display.display") as display:
        plots.show(ax)
    (image, caption), kept = (call.args[0] for call in display.mock_calls), display.mock_calls[0].kwargs
    assert image["text/plain"] == said == kept["metadata"]["image/png"]["alt"]
    assert "<b>" not in caption["text/html"] and "&lt;b&gt;" in caption["text/html"]


def test_artists_are_the_table():
    dots, bars, grid, lines = (KINDS[kind]() for kind in ("dots", "bars", "grid", "lines"))
    for ax, side in ((dots, "get_xdata"), (lines, "get_ydata")):
        assert [list(getattr(line, side)()) for line in ax.lines[:2]] == TABLE.T.to_numpy().tolist()
    assert [p.get_width() for p in bars.patches] == TABLE.to_numpy().T.ravel().tolist()
    assert texts(bars) == ["0.375", "1.25"], "sums"
    assert texts(grid) == ["0.25", "0.12", "0.50", "0.75"]
    for ax in (dots, bars, grid, lines):
        assert all(number in plots.alt_text(ax) for number in ("0.25", "0.5", "0.75"))
    ax = plots.histogram({"n": [1, 2, 2, 3]}, "Counts", "n", "rows", at={"mean": 2.0})
    assert [(p.get_x() + p.get_width() / 2, p.get_height()) for p in ax.patches] == [(1, 1), (2, 2), (3, 1)]
    assert "count 4 median 2" in plots.alt_text(ax) and "mean at 2" in plots.alt_text(ax)


def test_shares_and_negative_parts():
    ax = plots.bars(pd.DataFrame({"a": [6, 0], "b": [2, 0]}, index=["x", "y"]), "t", "u", share=True)
    assert [p.get_width() for p in ax.patches] == [75, 0, 25, 0] and texts(ax) == ["6", "2"]
    ax = plots.bars(pd.DataFrame([[0.5, -0.25, 0.0]], columns=list("abc")), "t", "u")
    assert [(p.get_x(), p.get_width()) for p in ax.patches] == [(0, 0.5), (0, -0.25)]
    assert [t.get_text() for t in ax.figure.legends[0].get_texts()] == ["a", "b"], "no part that is nowhere"


def test_series_differ_in_grey_or_hatch_and_in_mark():
    fills, hatches, marks, *_ = zip(*plots.SERIES, strict=True)
    looks = [(np.dot(to_rgb(f), (0.299, 0.587, 0.114)), h) for f, h in zip(fills, hatches, strict=True)]
    assert all(a[1] != b[1] or abs(a[0] - b[0]) > 0.15 for i, a in enumerate(looks) for b in looks[:i])
    assert len(set(marks)) == len(marks)
    with pytest.raises(UsageError):
        plots.lines(pd.DataFrame([range(9)]), "t", "x", "y")


@pytest.mark.parametrize("kind", [plots.bars, plots.dots, plots.grid])
def test_an_empty_table_is_an_empty_figure(kind):
    ax = kind(TABLE[:0], "t", "u")
    assert plots.png(ax) and "no rows" in plots.alt_text(ax)


def test_scores_and_intervals(scores):
    ax = results.score_intervals(scores)
    assert ax.lines[-1].get_xdata().tolist() == scores.table["value"].tolist()
    row = scores.table.loc["joint_goal_accuracy"]
    assert f"JGA {row['value']:.3f} ({row['low']:.3f} to {row['high']:.3f})" in plots.alt_text(ax)
    ax = results.score_intervals(scores.table.assign(low=np.nan, high=np.nan), title="No intervals")
    assert "interval" not in ax.get_xlabel() and "nan" not in plots.alt_text(ax)
    drawn = results.score_by_turn(scores, ["joint_goal_accuracy"]).lines[0].get_ydata()
    assert drawn[0] == pytest.approx(de.breakdown(scores, "turn").loc["0", "joint_goal_accuracy"])
    with pytest.raises(UnknownNameError):
        results.score_intervals(scores, ["jga"])
    with pytest.raises(UsageError):
        results.score_intervals(pd.DataFrame({"unit": ["fraction", "per cent"]}), title="Two units")


def test_comparisons():
    pairs = pd.DataFrame({"a": ["x", "x", "y"], "b": ["y", "z", "z"], "difference": [0.2, -0.01, -0.21]})
    pairs["significant"] = [True, False, True]
    ax = results.pair_matrix(pairs, ["z", "x", "y"], "JGA", "fraction", "Pairs")
    said = {t.get_position(): t.get_text() + " " + t.get_weight() for t in ax.texts}  # (column, row)
    assert said[2, 1] == "+0.200 bold" and said[1, 2] == "−0.200 bold" and said[0, 1] == "−0.010 normal"
    ax = results.rank_grid(pd.DataFrame({"p": [2, 1], "q": [1, 2]}, index=["x", "y"]), "Places")
    assert texts(ax) == ["1", "2", "2", "1"] and [t.get_weight() for t in ax.texts[1:3]] == ["normal", "bold"]
    ax = results.before_after(pd.DataFrame({"before": [0.5, 0.5], "after": [0.4, 0.5]}), "Moved")
    assert [text for text in texts(ax) if text] == ["−10.0", "+0.0"]
    raw = pd.DataFrame([[0.5, np.nan]], index=["p"], columns=["p", "q"])
    assert texts(results.transfer_matrix(raw, raw + 0.25, "JGA")) == ["0.500", "–", "0.750", "–"]

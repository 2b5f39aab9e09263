"""Figures: they draw what they are given, change nothing else, and say in words what they show."""

from __future__ import annotations

import io
import warnings

import matplotlib
import numpy as np
import pandas as pd
import pytest
from dialogeval.plots.base import FILLS, plain, png
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

import dialogeval as de
from dialogeval import plots
from dialogeval.analysis.breakdowns import by_slot
from dialogeval.exceptions import UnknownNameError, UsageError
from dialogeval.scoring import Scores
from dialogeval.tables import Corpus, Predictions, table

ODD = r"$\alpha_{$ <b>|*x*"


def _scores(protocol: str, resamples: int = 50) -> Scores:
    states = [("d", 0, "酒店", ODD, "a"), ("d", 1, "酒店", ODD, "a"), ("e", 0, "taxi", "day", "b")]
    turns = [("d", 0, "", "the NAME in AREA", 0), ("d", 1, "", "call PHONE", 0), ("e", 0, "", "bye", 0)]
    gold = Corpus("toy", family="pairs", turns=table("turns", turns), states=table("states", states))
    answers = [("d", 0, "the NAME is there"), ("d", 1, "call PHONE in AREA"), ("e", 0, "bye")]
    pred = Predictions(
        f"my {ODD}",
        turns=gold.turns[["dialogue_id", "turn"]],
        states=table("states", [*states[:1], ("d", 1, "酒店", ODD, "c"), ("e", 0, "taxi", "area", "b")]),
        responses=table("responses", answers),
    )
    return de.score(gold, pred, protocol, resamples=resamples)


STATES, TEXTS = _scores("lin2021"), _scores("lai2019")
DRAW = {
    "score_intervals": lambda ax: plots.score_intervals(STATES, ax=ax),
    "score_by_turn": lambda ax: plots.score_by_turn(STATES, ax=ax),
    "score_by_turn of text": lambda ax: plots.score_by_turn(TEXTS, ax=ax),
    "score_by_domain": lambda ax: plots.score_by_domain(STATES, ax=ax),
    "score_by_slot": lambda ax: plots.score_by_slot(STATES, ax=ax),
    "slot_errors": lambda ax: plots.slot_errors(STATES, ax=ax),
    "bleu": lambda ax: plots.bleu(TEXTS, ax=ax),
    "diversity": lambda ax: plots.diversity(TEXTS, ax=ax),
    "goal_labels": lambda ax: plots.goal_labels(TEXTS, ax=ax),
    "lengths": lambda ax: plots.lengths(TEXTS, ax=ax),
    "bar_counts": lambda ax: plots.bar_counts(
        pd.DataFrame({"slot": [ODD, "酒店"]}), "slot", ODD, "turns", ax=ax
    ),
    "histogram": lambda ax: plots.histogram([1, 2, 2.5], ODD, "turns", ax=ax),
}


@pytest.mark.parametrize("name", DRAW)
def test_a_figure_is_complete_and_nothing_global_changes(name: str) -> None:
    before = dict(matplotlib.rcParams)
    ax = DRAW[name](None)
    image = png(ax)
    assert dict(matplotlib.rcParams) == before
    from matplotlib import pyplot

    assert pyplot.get_fignums() == []
    assert ax.get_title("left") and not ax.get_title("center")
    assert ax.get_xlabel()
    assert ax.get_ylabel() or all(label.get_text() for label in ax.get_yticklabels())
    assert image.startswith(b"\x89PNG")
    assert plots.alt_text(ax) == plots.alt_text(DRAW[name](None))
    assert "\n" not in plots.alt_text(ax) and plots.alt_text(ax).endswith(".")


@pytest.mark.parametrize("name", DRAW)
def test_a_figure_is_drawn_on_the_given_axes(name: str) -> None:
    figure = Figure()
    ax = figure.subplots()
    assert DRAW[name](ax) is ax
    assert ax.figure is figure


@pytest.mark.parametrize("name", DRAW)
def test_names_of_the_data_are_drawn_letter_by_letter_without_warnings(name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        png(DRAW[name](None))


def test_names_are_no_formulas() -> None:
    assert plain("$x$ and\nmore") == r"\$x\$ and more"
    ax = plots.score_by_slot(STATES)
    assert any(r"\$" in label.get_text() for label in ax.get_yticklabels())
    assert ODD in plots.alt_text(ax)


def test_bars_are_the_counts() -> None:
    ax = plots.slot_errors(STATES)
    rows = by_slot(STATES)
    drawn = sum(bar.get_width() for bar in ax.patches)
    assert drawn == rows[["missed", "spurious", "wrong value"]].to_numpy().sum() == 3


def test_points_are_the_scores() -> None:
    ax = plots.score_intervals(STATES)
    dots = next(line for line in ax.lines if line.get_marker() == "o")
    np.testing.assert_array_equal(dots.get_xdata(), STATES.table["value"])
    assert "JGA 0.333" in plots.alt_text(ax)


def test_series_differ_in_grey() -> None:
    grey = [float(np.dot(to_rgb(colour), (0.299, 0.587, 0.114))) for colour, _ in FILLS]
    assert min(abs(a - b) for i, a in enumerate(grey) for b in grey[:i]) > 0.15
    assert len({hatch for _, hatch in FILLS}) == len(FILLS)


def test_the_image_carries_the_sentence_and_is_the_same_twice() -> None:
    from PIL import Image

    ax = plots.bleu(TEXTS)
    first, second = png(ax), png(plots.bleu(TEXTS))
    assert first == second
    assert Image.open(io.BytesIO(first)).text["Description"] == plots.alt_text(ax)


def test_scores_without_intervals_can_be_drawn() -> None:
    for protocol, draw in (
        ("lin2021", plots.score_intervals),
        ("lai2019", plots.bleu),
        ("lai2019", plots.diversity),
    ):
        ax = draw(_scores(protocol, resamples=0))
        assert "nan" not in plots.alt_text(ax)
        assert "interval" not in plots.alt_text(ax) + ax.get_title("left") + ax.get_xlabel()
        png(ax)


def test_what_is_left_out_is_said() -> None:
    ax = plots.bar_counts(pd.DataFrame({"slot": list("aaabbc")}), "slot", "Slots", "rows", most=2)
    assert ax.get_title("left") == "Slots (2 of 3 shown)"
    assert [label.get_text() for label in ax.get_yticklabels()] == ["a", "b"]


def test_counts_can_be_given_or_made() -> None:
    made = plots.bar_counts(pd.DataFrame({"slot": list("aab")}), "slot")
    given = plots.bar_counts(pd.DataFrame({"n": [2, 1]}, index=["a", "b"]), "n")
    assert [p.get_width() for p in made.patches] == [p.get_width() for p in given.patches] == [2, 1]


def test_refusals() -> None:
    with pytest.raises(UnknownNameError, match="jga"):
        plots.score_intervals(STATES, ["jga"])
    with pytest.raises(UsageError, match="no score whose key begins with bleu_"):
        plots.bleu(STATES)
    with pytest.raises(UsageError, match="whole dialogues"):
        plots.score_by_turn(TEXTS, ["goal_f1"])
    with pytest.raises(UsageError, match="column"):
        plots.bar_counts(pd.DataFrame({"a": [1]}), "b")
    with pytest.raises(UsageError, match="finite"):
        plots.histogram([1, float("nan")])
    with pytest.raises(UsageError, match="different units"):
        plots.score_intervals(pd.concat([STATES.table, TEXTS.table]))


def test_empty_data_draw_an_empty_figure() -> None:
    for ax in (plots.histogram([]), plots.bar_counts(pd.DataFrame({"a": pd.Series([], dtype="str")}), "a")):
        assert isinstance(ax, Axes)
        png(ax)


def test_foreign_axes_have_a_sentence() -> None:
    ax = Figure().subplots()
    ax.set_title("Mine")
    assert plots.alt_text(ax) == "Mine."

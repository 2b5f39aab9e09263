"""Dialogue browser and definition explorer: both faces say the same, and every control does its work."""

from __future__ import annotations

import re
import sys
from dataclasses import replace
from html import unescape
from html.parser import HTMLParser

import pytest
from lessons.widgets.browser import dialogue_browser
from lessons.widgets.explorer import definition_explorer

import dialogeval as de
from dialogeval.exceptions import UsageError
from dialogeval.tables import Corpus, Predictions, table

HOSTILE = '<script>alert("1")</script><img src=x onerror=alert(1)> $x$ `y` **z**'
WIDGET = "application/vnd.jupyter.widget-view+json"


@pytest.fixture(scope="module")
def sample():
    gold = de.load_corpus("sample/multiwoz")
    ids = gold.dialogues["dialogue_id"].iloc[:8].tolist()
    sloppy = de.load_predictions("sample/predictions/multiwoz/tracker_sloppy.json.gz")
    states = sloppy.states[sloppy.states["dialogue_id"].isin(ids)].reset_index(drop=True)
    gold = gold.select(ids)
    return gold, Predictions("sloppy", turns=gold.turns[["dialogue_id", "turn"]], states=states)


@pytest.fixture(scope="module")
def scores(sample):
    return de.score(*sample, "lin2021", resamples=0)


def toy(name="p", domain="hotel", values=("north", "up north"), text="an inn up north"):
    turns = table("turns", [("d", 0, text, text, 0), ("d", 1, text, text, 0)])
    rows = [[("d", turn, domain, "area", v if turn else values[0]) for turn in (0, 1)] for v in values]
    gold, pred = (table("states", side) for side in rows)
    return Corpus("toy", turns=turns, states=gold), Predictions(name, turns=turns, states=pred)


@pytest.fixture
def shown(monkeypatch):
    """What a notebook gets to display; without a shell, which other tests would find running."""

    def collect(piece) -> list[dict]:
        found: list[dict] = []
        monkeypatch.setattr("IPython.display.display", lambda data, **_: found.append(data))
        piece._ipython_display_()
        return found

    return collect


def words(page: str) -> str:
    return unescape(re.sub(r"<[^>]*>", " ", page))


class Tags(HTMLParser):
    def __init__(self, page: str) -> None:
        super().__init__()
        self.names: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.names.append(tag)
        assert not [name for name, _ in attrs if name.startswith("on")]


def controls(piece) -> dict:
    """The widget's controls by what is written on them."""
    bar, *pages = piece.box.children
    return {c.description: c for c in bar.children} | {"pages": pages}


# Which face -----------------------------------------------------------------------------------


def test_without_ipywidgets_the_face_is_static(monkeypatch, scores, sample):
    monkeypatch.setenv("JPY_SESSION_NAME", "lesson.ipynb")
    monkeypatch.setitem(sys.modules, "ipywidgets", None)
    assert dialogue_browser(scores).box is None
    assert definition_explorer(*sample).box is None
    with pytest.raises(UsageError, match=r"ipywidgets, which is not installed; install the extra lab"):
        dialogue_browser(scores, interactive=True)


# Dialogue browser -----------------------------------------------------------------------------


def test_browser_faces_say_the_same(scores, shown):
    static = dialogue_browser(scores, following=2, interactive=False)
    live = dialogue_browser(scores, following=2, interactive=True)
    (plain,), (alive,) = shown(static), shown(live)
    assert WIDGET not in plain and WIDGET in alive
    assert {k: alive[k] for k in plain} == plain
    assert plain["text/html"] == static.static_page() == live.static_page()
    parts = controls(live)
    (page,) = parts["pages"]
    ranked = de.rank_dialogues(scores)
    for place in range(3):
        # The chosen one and the two that follow it stand in the static page as the widget has them.
        assert parts["Dialogue"].value == ranked.index[place]
        assert page.value in plain["text/html"]
        assert str(de.render_dialogue(scores, ranked.index[place]).title) in words(page.value)
        parts["Next ▶"].click()
    assert page.value not in plain["text/html"]


def test_browser_leaves_right_turns_out(scores):
    ranked = de.rank_dialogues(scores)
    mixed = ranked[(ranked["wrong_turns"] > 0) & (ranked["wrong_turns"] < ranked["turns"])].index[0]
    parts = controls(dialogue_browser(scores, mixed, interactive=True))
    (page,) = parts["pages"]
    right = ranked.loc[mixed, "turns"] - ranked.loc[mixed, "wrong_turns"]
    assert page.value.count("✓ state right") == right
    parts["Only turns with errors"].value = True
    assert page.value.count("✓ state right") == 0
    assert page.value.count("✗ state wrong") == ranked.loc[mixed, "wrong_turns"]
    # The title still counts all turns.
    assert f"{right} of {ranked.loc[mixed, 'turns']} turns right; only turns with errors" in words(page.value)


# Definition explorer --------------------------------------------------------------------------


def test_explorer_agrees_with_score_and_definitions(sample):
    gold, sloppy = sample
    effects = definition_explorer(gold, sloppy).effects()
    steps = ["case:lower", "none:drop", "time:hhmm", "slots:multiwoz22"]
    table = de.definitions(gold, sloppy, ["lin2021"], {step: (step,) for step in steps})["sloppy"]
    assert set(effects["before"]) == {table["lin2021"]}
    for step in steps:
        assert effects.loc[step, "after"] == pytest.approx(table[f"lin2021 + {step}"], abs=1e-12)
    filtered = replace(de.PROTOCOLS["lin2021"], compare="annotated-slots", metrics=("slot_f1_micro",))
    found = de.score(gold, sloppy, filtered, resamples=0)["slot_f1_micro"]
    assert effects.loc["compare:annotated-slots", "f1 after"] == found


# Text of the data -----------------------------------------------------------------------------


def test_hostile_text_stays_text():
    gold, pred = toy(HOSTILE, HOSTILE, (HOSTILE, f"{HOSTILE}!"), HOSTILE)
    browser = dialogue_browser(de.score(gold, pred, "lin2021", resamples=0), interactive=True)
    explorer = definition_explorer(replace(gold, name=HOSTILE), pred, interactive=True)
    pages = [p.value for piece in (browser, explorer) for p in controls(piece)["pages"]]
    for page in [*pages, browser.static_page(), explorer.effects_page()]:
        assert not {"script", "img"} & set(Tags(page).names)
        assert "<script" not in page
    assert "onerror=alert" in words(pages[0])
    # Names of controls and what can be chosen are set as text by the widgets; they say nothing hidden.
    assert all(label.isprintable() for label, _ in controls(browser)["Dialogue"].options)

"""Dialogue browser and definition explorer: both faces say the same, and every control does its work."""

from __future__ import annotations

import re
import sys
from dataclasses import replace
from html import unescape
from html.parser import HTMLParser

import pytest
from lessons.widgets.base import shows_widgets
from lessons.widgets.browser import dialogue_browser
from lessons.widgets.explorer import definition_explorer

import dialogeval as de
from dialogeval.exceptions import UnknownNameError, UsageError
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


def test_face_follows_the_notebook_session(monkeypatch):
    monkeypatch.delenv("JPY_SESSION_NAME", raising=False)
    assert not shows_widgets() and shows_widgets(True) and not shows_widgets(False)
    monkeypatch.setenv("JPY_SESSION_NAME", "lesson.ipynb")
    assert shows_widgets() and not shows_widgets(False)


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


def test_browser_controls(scores):
    ranked = de.rank_dialogues(scores)
    parts = controls(dialogue_browser(scores, interactive=True))
    (page,) = parts["pages"]
    assert [name for _, name in parts["Dialogue"].options] == list(ranked.index)
    label = parts["Dialogue"].options[0][0]
    assert label.startswith(f"1 of 8: {ranked.index[0]}, {ranked['errors'].iloc[0]} errors in")
    assert parts["◀ Previous"].disabled and not parts["Next ▶"].disabled
    first = page.value
    parts["Next ▶"].click()
    assert page.value != first and not parts["◀ Previous"].disabled
    parts["◀ Previous"].click()
    assert page.value == first
    parts["◀ Previous"].click()
    assert page.value == first
    parts["Dialogue"].value = ranked.index[-1]
    assert parts["Next ▶"].disabled and ranked.index[-1] in words(page.value)


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


def test_browser_refusals(scores, sample):
    with pytest.raises(UnknownNameError, match="scored dialogue") as caught:
        dialogue_browser(scores, "nobody")
    assert "\n" not in str(caught.value)
    with pytest.raises(UsageError, match="following: expected a whole number"):
        dialogue_browser(scores, following=-1)
    # An id in another spelling is understood.
    name = de.rank_dialogues(scores).index[3]
    assert dialogue_browser(scores, f"{name.upper()}.json").first == name


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


def test_explorer_faces_say_the_same(sample, shown):
    static = definition_explorer(*sample, "trade", interactive=False)
    live = definition_explorer(*sample, "trade", interactive=True)
    plain, alive = shown(static), shown(live)
    # The same outputs; the switches stand for the scores at the start.
    assert WIDGET in alive[0] and alive[2:] == plain[1:]
    assert alive[0]["text/html"] + alive[1]["text/html"] == plain[0]["text/html"]
    assert alive[1]["text/plain"] == plain[0]["text/plain"]
    assert [sorted(data) for data in plain[1:]] == [["image/png", "text/plain"], ["text/html", "text/plain"]]
    parts = controls(live)
    page, trail = parts["pages"]
    assert static.page(static.start) in page.value and static.page(static.start) in plain[0]["text/html"]
    parts["Times"].value = "hhmm"
    value = f"{static.effects().loc['time:hhmm', 'after']:.4f}"
    assert value in words(page.value) and value in words(plain[0]["text/html"])
    assert "time:hhmm" in words(trail.value) and "|time:hhmm|" in words(page.value)


def test_explorer_keeps_a_trail_and_computes_once(sample, monkeypatch):
    from lessons.widgets import explorer

    calls = []

    def counted(*given, **named):
        calls.append(given[2].steps)
        return de.score(*given, **named)

    monkeypatch.setattr(explorer, "score", counted)
    live = definition_explorer(*sample, "trade", interactive=True)
    parts = controls(live)
    page, _ = parts["pages"]
    start = page.value
    assert parts["Letter case"].value == "lower" and parts["Value none"].value == "drop"
    parts["Letter case"].value = "keep"
    parts["White space"].value = "collapse"
    assert calls == [("case:lower", "none:drop"), ("none:drop",), ("none:drop", "space:collapse")]
    parts["Back to the start"].click()
    assert page.value == start and len(live.trail) == 4
    # Clicked together in another order, it is the same definition.
    parts["White space"].value = "collapse"
    parts["Letter case"].value = "keep"
    parts["Back to the start"].click()
    assert len(calls) == 4 and live.trail[-1] == live.start


def test_explorer_keeps_steps_that_have_no_switch():
    gold = de.load_corpus("sample/crosswoz_en")
    names = gold.dialogues["dialogue_id"].iloc[:3]
    piece = definition_explorer(gold.select(names), de.as_predictions(gold.select(names)), "dstc9")
    assert piece.start | {"case": "lower", "version": "dstc9"} == piece.start
    start, moved = (piece.result({**piece.start, **change}) for change in ({}, {"case": "keep"}))
    assert "|case:lower|map:dstc9|space:remove|" in start.signature
    assert "|case:keep|map:dstc9|space:remove|" in moved.signature


def test_explorer_says_what_does_not_apply():
    piece = definition_explorer(*toy(), interactive=False)
    assert "compare" not in piece.choices and "dstc9" not in piece.choices.get("version", ())
    refused = {**piece.start, "version": "dstc9"}
    assert "does not say which slots are annotated" in piece.page(refused)
    with pytest.raises(UnknownNameError):
        definition_explorer(*toy(), "no such protocol")
    with pytest.raises(UsageError, match="holds no states"):
        definition_explorer(toy()[0], Predictions("p", turns=toy()[0].turns))


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


def test_every_control_has_a_name_and_a_word(scores, sample):
    for piece in (dialogue_browser(scores, interactive=True), definition_explorer(*sample, interactive=True)):
        for control in piece.box.children[0].children:
            assert control.description and control.tooltip
            # What is written on a control is text, not markup.
            assert not getattr(control, "description_allow_html", False)

"""Error analysis: every kind on a hand-worked dialogue, sums that add up, and a page that shows any text safely."""

from __future__ import annotations

import random
import re
from dataclasses import replace
from html import unescape
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_breakdowns import DIALOGUES, state_scores, text_scores

import dialogeval as de
from dialogeval.analysis.errors import KINDS, MARKS, RESET_GOAL_ACCURACY, errors, escape, visible
from dialogeval.exceptions import UnknownNameError, UsageError
from dialogeval.metrics.states import count_triples
from dialogeval.scoring import Scores
from dialogeval.tables import Corpus, Predictions, table

SYSTEMS = ("ubar", "pptod", "augpt", "damd")


def dialogue(*turns: tuple[str, str, dict[str, str], dict[str, str]], name: str = "d") -> Scores:
    """Score one dialogue given as (user, system, gold, predicted) with ``domain-slot`` keys."""
    rows = [(name, t, user, system, 0) for t, (user, system, _, _) in enumerate(turns)]

    def states(side: int) -> pd.DataFrame:
        return table(
            "states",
            [
                (name, t, *key.split("-", 1), value)
                for t, turn in enumerate(turns)
                for key, value in turn[side].items()
            ],
        )

    corpus = Corpus("toy", turns=table("turns", rows), states=states(2))
    system = Predictions("s", turns=corpus.turns[["dialogue_id", "turn"]], states=states(3))
    return de.score(corpus, system, "lin2021", resamples=0)


def silent(*turns: tuple[dict[str, str], dict[str, str]]) -> Scores:
    return dialogue(*(("", "", gold, pred) for gold, pred in turns))


def kinds(scores: Scores) -> list[tuple]:
    return list(
        errors(scores)[["turn", "slot", "gold", "predicted", "kind"]].itertuples(index=False, name=None)
    )


# Kinds ---------------------------------------------------------------------------------------------


def test_missed_spurious_and_wrong_value() -> None:
    scores = silent(
        ({"hotel-area": "north", "hotel-stars": "4"}, {"hotel-area": "south", "hotel-day": "monday"})
    )
    assert kinds(scores) == [
        (0, "area", "north", "south", "wrong value"),
        (0, "day", "", "monday", "spurious"),
        (0, "stars", "4", "", "missed"),
    ]
    assert errors(scores)[["fn", "fp"]].to_numpy().tolist() == [[1, 1], [0, 1], [1, 0]]


@pytest.mark.parametrize(
    ("gold", "predicted"),
    [
        ("9:15", "09:15"),
        ("North", "north"),
        ("guesthouse", "guest house"),
        ("the cambridge belfry", "cambridge belfry"),
        ("queens college", "queens' college"),
        ("dontcare", "do n't care"),
        ("cafe uno", "caffe uno"),
    ],
)
def test_written_differently(gold: str, predicted: str) -> None:
    assert kinds(silent(({"hotel-x": gold}, {"hotel-x": predicted})))[0][-1] == "written differently"


@pytest.mark.parametrize(
    ("gold", "predicted"),
    [
        ("50-100 yuan", "50-150 yuan"),
        ("tr1234567890", "tr1234567891"),
        ("north", "south"),
        ("17:15", "17:45"),
    ],
)
def test_alike_is_not_the_same(gold: str, predicted: str) -> None:
    assert kinds(silent(({"hotel-x": gold}, {"hotel-x": predicted})))[0][-1] == "wrong value"


def test_stale_after_change_and_after_gold_gives_a_value_up() -> None:
    north, south = {"hotel-area": "north"}, {"hotel-area": "south"}
    scores = silent((north, north), (south, north), (south, north), ({}, north), (south, south))
    assert [(k[0], k[-1]) for k in kinds(scores)] == [(1, "stale"), (2, "stale"), (3, "gold suspicious")]
    scores = silent((north, north), ({}, north), ({}, north))
    table_ = errors(scores)
    assert table_["kind"].tolist() == ["stale", "stale"]
    assert table_["detail"].unique().tolist() == ["right until turn 0"]


def test_a_value_that_was_never_right_or_was_dropped_in_between_is_not_stale() -> None:
    north, south, east = ({"hotel-area": a} for a in ("north", "south", "east"))
    assert {k[-1] for k in kinds(silent((north, east), (south, east)))} == {"wrong value"}
    again = kinds(silent((north, north), (south, {}), (south, north)))
    assert [k[-1] for k in again] == ["missed", "wrong value"]


def test_right_value_in_the_wrong_slot() -> None:
    scores = silent(
        ({"train-to": "ely", "train-day": "friday"}, {"train-from": "ely", "train-day": "friday"})
    )
    assert kinds(scores) == [(0, "from", "", "ely", "wrong slot"), (0, "to", "ely", "", "wrong slot")]
    assert errors(scores)["detail"].tolist() == [
        "the predicted value is gold's for train-to",
        "gold's value is predicted for train-from",
    ]
    # A value that the other slot rightly has is no confusion.
    scores = silent(({"train-to": "ely", "taxi-to": "ely"}, {"train-to": "ely"}))
    assert kinds(scores) == [(0, "to", "ely", "", "missed")]


def test_gold_suspicious_by_what_was_said() -> None:
    said = ("I need to leave after 14:15 .", "", {"train-leaveat": "14:30"}, {"train-leaveat": "14:15"})
    later = ("thank you", "bye", *said[2:])
    assert [k[-1] for k in kinds(dialogue(said, later))] == ["gold suspicious"] * 2
    for user in ("I said 14:30 , not 14:15", "2:30 pm, or 14:15", "nothing of the sort"):
        assert kinds(dialogue((user, *said[1:])))[0][-1] == "wrong value"
    # Gold was said, if long ago; or the prediction was, too long ago.
    first = ("at 14:30", "14:30", {}, {})
    assert kinds(dialogue(first, ("hm", "", {}, {}), said))[0][-1] == "wrong value"
    early = ("at 14:15", "when?", {}, {})
    assert kinds(dialogue(early, ("hm", "", {}, {}), ("well", *said[1:])))[0][-1] == "wrong value"
    # The system's last words count as said.
    assert kinds(dialogue(("a train", "at 14:15 ?", {}, {}), ("yes", *said[1:])))[0][-1] == "gold suspicious"


@pytest.mark.parametrize("gold", ["dontcare", "yes", "3", "guesthouse", "saint johns college"])
def test_gold_that_is_said_in_other_words_is_not_suspicious(gold: str) -> None:
    user = "a guest house near Saint John 's college called Warkworth"
    scores = dialogue((user, "", {"hotel-x": gold}, {"hotel-x": "warkworth"}))
    assert kinds(scores)[0][-1] == "wrong value"


def test_gold_suspicious_by_its_neighbours() -> None:
    north, south = {"hotel-area": "north"}, {"hotel-area": "south"}
    assert kinds(silent((north, north), (south, north), (north, north)))[0][-1] == "gold suspicious"
    assert kinds(silent((north, north), ({}, north), (north, north)))[0][-1] == "gold suspicious"
    assert kinds(silent(({}, {}), (north, {}), ({}, {})))[0][-1] == "gold suspicious"
    # A change that lasts is none, and neither are the ends of a dialogue.
    assert kinds(silent((north, north), (south, north), (south, south)))[0][-1] == "stale"
    assert kinds(silent((north, {}), ({}, {})))[0][-1] == "missed"


def test_order_of_kinds() -> None:
    assert list(de.error_kinds().index) == list(KINDS)
    assert set(MARKS) == {"right", *KINDS}
    # Written differently comes before all else, gold's oddity before staleness and the wrong slot.
    a, b = {"hotel-area": "North"}, {"hotel-area": "north"}
    assert kinds(silent((b, b), (a, b), (b, b)))[0][-1] == "written differently"


# Counts and lives ----------------------------------------------------------------------------------


@given(DIALOGUES)
def test_errors_add_up_to_the_counts_and_lives_to_the_errors(dialogues: list) -> None:
    scores = state_scores(dialogues)
    whole = scores.counts[count_triples].sum()
    found, lives = errors(scores), de.error_lives(scores)
    assert (found["fn"].sum(), found["fp"].sum()) == (whole["fn"], whole["fp"])
    assert set(found["kind"]) <= set(KINDS)
    assert lives["errors"].sum() == len(found)
    assert lives["turns"].sum() == len(found.drop_duplicates(["dialogue_id", "turn", "domain", "slot"]))
    assert (lives["last"] - lives["first"] + 1 == lives["turns"]).all()
    assert len(lives) == len(found.drop_duplicates(["dialogue_id", "since", "domain", "slot"]))
    ranked = de.rank_dialogues(scores)
    assert ranked["errors"].sum() == len(found) and ranked["lives"].sum() == len(lives)
    assert len(ranked) == len(dialogues) and ranked["errors"].is_monotonic_decreasing
    assert ranked["wrong_turns"].sum() == whole["turns"] - whole["exact"]


@given(DIALOGUES, st.randoms(use_true_random=False))
def test_order_of_triples_does_not_matter(dialogues: list, rng: random.Random) -> None:
    scores = state_scores(dialogues)
    corpus = scores.gold
    assert corpus is not None
    pred = table(
        "states",
        [
            (f"d{d}", t, *x)
            for d, turns in enumerate(dialogues)
            for t, (_, p) in enumerate(turns)
            for x in sorted(p)
        ],
    )

    def shuffled(frame: pd.DataFrame) -> pd.DataFrame:
        order = list(range(len(frame)))
        rng.shuffle(order)
        return frame.iloc[order].reset_index(drop=True)

    other = replace(corpus, turns=shuffled(corpus.turns), states=shuffled(corpus.states))
    system = Predictions("s", turns=shuffled(corpus.turns[["dialogue_id", "turn"]]), states=shuffled(pred))
    pd.testing.assert_frame_equal(errors(scores), errors(de.score(other, system, "lin2021", resamples=0)))


def test_lives_on_a_hand_worked_dialogue() -> None:
    north, south = {"hotel-area": "north"}, {"hotel-area": "south"}
    lives = de.error_lives(silent((north, {}), (north, south), (north, north), (north, {}), (north, {})))
    columns = ["first", "last", "turns", "kind", "predicted", "end"]
    assert lives[columns].to_numpy().tolist() == [
        [0, 1, 2, "missed", "", "repaired"],
        [3, 4, 2, "missed", "", "never"],
    ]


def reset_by_hand(turns: list[tuple[set, set]]) -> list[bool]:
    """The definition, slot by slot: what the prediction changes, on top of the last gold state."""

    def of(state: set) -> dict:
        slots: dict = {}
        for domain, slot, value in state:
            slots.setdefault((domain, slot), set()).add(value)
        return slots

    right, before_gold, before_pred = [], {}, {}
    for gold, pred in turns:
        g, p = of(gold), of(pred)
        reset = dict(before_gold)
        for slot in {*p, *before_pred}:
            if p.get(slot) != before_pred.get(slot):
                reset.pop(slot, None)
                if slot in p:
                    reset[slot] = p[slot]
        right.append(reset == g)
        before_gold, before_pred = g, p
    return right


@given(DIALOGUES)
def test_reset_accuracy_equals_its_definition(dialogues: list) -> None:
    scores = state_scores(dialogues)
    by_turn = de.reset_accuracy(scores)
    own = RESET_GOAL_ACCURACY.counts(scores.pair)["reset_right"]
    expected = [right for turns in dialogues for right in reset_by_hand(turns)]
    assert own.astype(bool).tolist() == expected
    assert by_turn["exact_after_reset"].sum() == sum(expected)
    # After a right turn the two agree; elsewhere neither is bound to be higher.
    exact = scores.counts[count_triples]["exact"].astype(bool)
    first = exact.index.get_level_values("turn") == 0
    after_right = exact.shift(fill_value=True).to_numpy() | first
    assert (exact.to_numpy() == own.to_numpy(bool))[after_right].all()


def test_reset_accuracy_may_be_lower() -> None:
    north = {"hotel-area": "north"}
    table_ = de.reset_accuracy(silent(({}, north), (north, north)))
    assert table_["joint_goal_accuracy"].tolist() == [0, 1]
    assert table_["reset_goal_accuracy"].tolist() == [0, 0]


def test_reset_accuracy_as_a_metric_of_an_own_protocol() -> None:
    gold = de.load_corpus("sample/crosswoz_en")
    mine = replace(de.PROTOCOLS["lin2021"], name="mine", metrics=("joint_goal_accuracy", RESET_GOAL_ACCURACY))
    scores = de.score(gold, gold, mine, resamples=20)
    assert scores.table["value"].tolist() == [1, 1]
    assert (scores.by("type")["reset_goal_accuracy"] == 1).all()


# Confusions ----------------------------------------------------------------------------------------


def test_confused_slots_and_values() -> None:
    swap = ({"train-to": "ely", "train-from": "york"}, {"train-to": "york", "train-from": "ely"})
    scores = dialogue(("to Ely", "", *swap), ("from York", "", *swap))
    slots = de.confused_slots(scores)
    assert slots[["gold_slot", "predicted_slot", "turns", "dialogues"]].to_numpy().tolist() == [
        ["train-from", "train-to", 2, 1],
        ["train-to", "train-from", 2, 1],
    ]
    assert slots["value"].tolist() == ["york", "ely"] and slots["user"].tolist() == ["to Ely"] * 2
    values = de.confused_values(scores, most=1)
    assert values[["slot", "gold", "predicted", "turns"]].to_numpy().tolist() == [["from", "york", "ely", 2]]
    assert values.attrs["left_out"] == 1


def test_scores_without_states_are_refused() -> None:
    texts = text_scores([("d", 0, "a", "a")])
    functions = (
        errors,
        de.error_lives,
        de.reset_accuracy,
        de.confused_slots,
        de.confused_values,
        de.rank_dialogues,
    )
    for function in functions:
        with pytest.raises(UsageError, match="score under a protocol for states"):
            function(texts)
    with pytest.raises(UsageError, match="score under a protocol for states"):
        de.render_dialogue(texts, "d")


# Rendering -----------------------------------------------------------------------------------------

NASTY = [
    "<script>alert(1)</script>",
    '</td></table><img src=x onerror="alert(1)">',
    "$x^2$ and \\(y\\) and \\begin{align}",
    "**bold** _it_ `code` [a](http://b) # head | cell ~~s~~",
    "שלום \u202egnal\u202c \u2066x\u2069",
    "bell\x07 null\x00 line\nbreak\ttab\u2028",
    "&lt;b&gt; &amp; &#36;",
    "no\xa0break\u200bzero",
]
ALLOWED = {"div", "table", "caption", "thead", "tbody", "tr", "th", "td"}
ALLOWED |= {"b", "i", "br", "small", "span", "bdi", "details", "summary"}


class Page(HTMLParser):
    """Reads a page as a browser does: tags with attributes, and the text between them."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict]] = []
        self.open: list[str] = []
        self.texts: list[str] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag != "br":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def check_page(page: str) -> Page:
    read = Page(page)
    assert read.open == []
    assert {tag for tag, _ in read.tags} <= ALLOWED
    assert {a for _, attrs in read.tags for a in attrs} <= {"style", "class", "scope", "colspan"}
    assert not any(
        re.search(r"[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\xa0]", t) for t in read.texts
    )
    return read


@pytest.mark.parametrize("text", NASTY)
def test_any_text_is_shown_letter_by_letter(text: str) -> None:
    key = f"{text}-{text}".replace("-", "_", 0)
    scores = dialogue(
        (text, text, {key: text}, {key: text + "x", "taxi-to": text}), (text, text, {key: text}, {key: text})
    )
    view = de.render_dialogue(scores, "d")
    read = check_page(view._repr_html_())
    shown = "".join(read.texts)
    assert shown.count(visible(text)) >= 8
    assert visible(text) in repr(view) and text.isprintable() == (visible(text) == text)


@given(st.text())
def test_escape_hides_nothing_and_keeps_formulas_apart(text: str) -> None:
    read = check_page(escape(text))
    assert "".join(read.texts) == visible(text)
    # No piece of text holds a formula's delimiter beside anything else, and nothing Markdown would read.
    assert all(t in "$\\" or not set(t) & set("$\\") for t in read.texts)
    plain = re.sub(r"<[^>]*>|&#?\w+;", "", escape(text))
    assert not set(plain) & set("`*_[]{}|~#<>\"'")
    assert unescape(re.sub(r"<[^>]*>", "", escape(text))) == visible(text)


def test_page_can_be_read_without_colour_and_by_a_screen_reader() -> None:
    north, south = {"hotel-area": "north"}, {"hotel-area": "south", "hotel-stars": "4"}
    view = de.render_dialogue(dialogue(("hi", "ho", north, south), ("and", "so", north, north)), "D.json")
    read = check_page(view._repr_html_())
    heads = [attrs["scope"] for tag, attrs in read.tags if tag == "th"]
    assert heads.count("col") == 4 and heads.count("rowgroup") == 2 and heads.count("row") == len(view.states)
    assert "caption" in {tag for tag, _ in read.tags}
    shown = "".join(read.texts)
    assert "≠ wrong value" in shown and "+ spurious" in shown and "✓ right" in shown
    assert "1 of 2 turns right" in shown and "✗ state wrong" in shown
    assert len({symbol for symbol, _ in MARKS.values()}) == len(MARKS)
    assert view.turns["right"].tolist() == [False, True]


def test_values_right_as_before_are_folded() -> None:
    north = {"hotel-area": "north"}
    view = de.render_dialogue(dialogue(("hi", "ho", north, north), ("and", "so", north, north)), "d")
    assert view.states["new"].tolist() == [True, False]
    assert "right as before: 1" in repr(view)
    assert "<details>" in view._repr_html_()


def test_a_dialogue_that_was_not_scored() -> None:
    with pytest.raises(UnknownNameError, match="scored dialogue"):
        de.render_dialogue(silent(({}, {})), "other")


# Real systems --------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def real_scores(real_cases, real_data) -> dict[str, Scores]:
    gold = de.load_corpus("multiwoz21", "test", home=real_data)
    return {
        name: de.score(
            gold,
            de.load_predictions(real_cases / "states" / f"{name}.jsonl.gz"),
            "trade",
            missing="skip",
            resamples=0,
        )
        for name in SYSTEMS
    }


@pytest.mark.parametrize("name", SYSTEMS)
def test_sums_on_real_systems(real_scores: dict[str, Scores], name: str, real_cases, real_data) -> None:
    scores = real_scores[name]
    whole = scores.counts[count_triples].sum()
    found, lives, reset = errors(scores), de.error_lives(scores), de.reset_accuracy(scores)
    assert (found["fn"].sum(), found["fp"].sum()) == (whole["fn"], whole["fp"])
    assert set(found["kind"]) == set(KINDS)
    assert lives["errors"].sum() == len(found)
    assert (reset["turns"].sum(), reset["exact"].sum()) == (whole["turns"], whole["exact"])
    assert reset["exact_after_reset"].sum() > reset["exact"].sum()
    ranked = de.rank_dialogues(scores)
    worst = ranked.index[0]
    page = de.render_dialogue(scores, worst)
    check_page(page._repr_html_())
    assert (page.states["difference"] != "right").sum() == ranked["errors"].iloc[0]
    # Fuzzy matching never calls two equal values an error, and a life never spans two dialogues.
    assert (found["gold"] != found["predicted"]).all()
    assert np.isin(lives["dialogue_id"], ranked.index).all()

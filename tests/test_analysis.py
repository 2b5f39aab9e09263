"""Error analysis: every kind on a hand-worked dialogue, sums that add up, and a page that shows any text safely."""

from __future__ import annotations

from html.parser import HTMLParser
from itertools import zip_longest

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dialogeval as de
from dialogeval.exceptions import UnknownNameError, UsageError
from dialogeval.scoring import Scores
from dialogeval.tables import Corpus, Predictions, table

KINDS = ["written differently", "gold suspicious", "stale", "wrong slot", "wrong value", "missed", "spurious"]
TRIPLE = st.tuples(*(st.sampled_from(names) for names in (("hotel", "taxi"), ("area", "day"), "abc")))
STATE = st.sets(TRIPLE, max_size=5)
DIALOGUES = st.lists(
    st.lists(st.tuples(st.just(""), st.just(""), STATE, STATE), min_size=1, max_size=4),
    min_size=1,
    max_size=4,
)
#: All verbs that take scores.
VERBS = [
    de.errors, de.error_kinds, de.error_lives, de.reset_accuracy, de.confused_slots, de.confused_values,
    de.rank_dialogues, lambda scores: de.render_dialogue(scores, "d0"),
]  # fmt: skip


def scored(dialogues: list, seed: int | None = None) -> Scores:
    """Score dialogues d0, d1, … whose turns are (user, system, gold triples, predicted triples)."""
    rows = [(f"d{d}", t, *turn) for d, turns in enumerate(dialogues) for t, turn in enumerate(turns)]

    def made(kind: str, values: list) -> pd.DataFrame:
        frame = table(kind, values)
        return frame if seed is None else frame.sample(frac=1, random_state=seed, ignore_index=True)

    turns = made("turns", [(d, t, user, system, 0) for d, t, user, system, _, _ in rows])
    gold, pred = (made("states", [(*r[:2], *x) for r in rows for x in sorted(r[side])]) for side in (4, 5))
    system = Predictions("s", turns=turns[["dialogue_id", "turn"]], states=pred)
    return de.score(Corpus("toy", turns=turns, states=gold), system, "lin2021", resamples=0)


def dialogue(*turns: tuple[str, str, dict[str, str], dict[str, str]]) -> Scores:
    """Score one dialogue given as (user, system, gold, predicted) with ``domain-slot`` keys."""
    return scored([[(u, s, *({(*k.split("-", 1), v) for k, v in side.items()} for side in sides)) for u, s, *sides in turns]])  # fmt: skip


def silent(*turns: tuple[dict[str, str], dict[str, str]]) -> Scores:
    return dialogue(*(("", "", gold, pred) for gold, pred in turns))


def kinds(scores: Scores) -> list[str]:
    return de.errors(scores)["kind"].tolist()


NORTH, SOUTH, EAST = ({"hotel-area": area} for area in ("north", "south", "east"))


def test_missed_spurious_and_wrong_value() -> None:
    found = de.errors(
        silent(({"hotel-area": "north", "hotel-stars": "4"}, {"hotel-area": "south", "hotel-day": "monday"}))
    )
    columns = ["turn", "slot", "gold", "predicted", "kind", "fn", "fp"]
    assert found[columns].to_numpy().tolist() == [
        [0, "area", "north", "south", "wrong value", 1, 1],
        [0, "day", "", "monday", "spurious", 0, 1],
        [0, "stars", "4", "", "missed", 1, 0],
    ]


@pytest.mark.parametrize(
    ("gold", "predicted", "kind"),
    [
        ("9:15", "09:15", "written differently"),
        ("North", "north", "written differently"),
        ("guesthouse", "guest house", "written differently"),
        ("the cambridge belfry", "cambridge belfry", "written differently"),
        ("queens college", "queens' college", "written differently"),
        ("dontcare", "do n't care", "written differently"),
        ("cafe uno", "caffe uno", "written differently"),
        ("50-100 yuan", "50-150 yuan", "wrong value"),
        ("tr1234567890", "tr1234567891", "wrong value"),
        ("17:15", "17:45", "wrong value"),
    ],
)
def test_alike_is_not_the_same(gold: str, predicted: str, kind: str) -> None:
    assert kinds(silent(({"hotel-x": gold}, {"hotel-x": predicted}))) == [kind]


@pytest.mark.parametrize(
    ("turns", "expected"),
    [
        ([(NORTH, NORTH), (SOUTH, NORTH), (SOUTH, NORTH)], ["stale", "stale"]),
        ([(NORTH, NORTH), ({}, NORTH), ({}, NORTH)], ["stale", "stale"]),
        # Never right, or dropped in between.
        ([(NORTH, EAST), (SOUTH, EAST)], ["wrong value", "wrong value"]),
        ([(NORTH, NORTH), (SOUTH, {}), (SOUTH, NORTH)], ["missed", "wrong value"]),
        # Gold differs from both neighbours; a change that lasts is none, nor are the ends of a dialogue.
        ([(NORTH, NORTH), (SOUTH, NORTH), (NORTH, NORTH)], ["gold suspicious"]),
        ([(NORTH, NORTH), ({}, NORTH), (NORTH, NORTH)], ["gold suspicious"]),
        ([({}, {}), (NORTH, {}), ({}, {})], ["gold suspicious"]),
        ([(NORTH, NORTH), (SOUTH, NORTH), (SOUTH, SOUTH)], ["stale"]),
        ([(NORTH, {}), ({}, {})], ["missed"]),
        # Written differently comes before all else.
        ([(NORTH, NORTH), ({"hotel-area": "NORTH"}, NORTH), (NORTH, NORTH)], ["written differently"]),
    ],
)
def test_kinds_that_rest_on_other_turns(turns: list, expected: list[str]) -> None:
    assert kinds(silent(*turns)) == expected


def test_right_value_in_the_wrong_slot() -> None:
    found = de.errors(
        silent(({"train-to": "ely", "train-day": "friday"}, {"train-from": "ely", "train-day": "friday"}))
    )
    assert found[["slot", "kind"]].to_numpy().tolist() == [["from", "wrong slot"], ["to", "wrong slot"]]
    assert "train-to" in found["detail"][0] and "train-from" in found["detail"][1]
    # A value that the other slot rightly has is no confusion.
    assert kinds(silent(({"train-to": "ely", "taxi-to": "ely"}, {"train-to": "ely"}))) == ["missed"]


def test_gold_suspicious_by_what_was_said() -> None:
    said = ("I need to leave after 14:15 .", "", {"train-leaveat": "14:30"}, {"train-leaveat": "14:15"})
    assert kinds(dialogue(said, ("thank you", "bye", *said[2:]))) == ["gold suspicious"] * 2
    for user in ("I said 14:30 , not 14:15", "2:30 pm, or 14:15", "nothing of the sort"):
        assert kinds(dialogue((user, *said[1:]))) == ["wrong value"]
    # Gold was said, if long ago; or the prediction was, too long ago.
    assert kinds(dialogue(("at 14:30", "14:30", {}, {}), ("hm", "", {}, {}), said)) == ["wrong value"]
    early = ("at 14:15", "when?", {}, {})
    assert kinds(dialogue(early, ("hm", "", {}, {}), ("well", *said[1:]))) == ["wrong value"]
    # The system's last words count as said.
    assert kinds(dialogue(("a train", "at 14:15 ?", {}, {}), ("yes", *said[1:]))) == ["gold suspicious"]


@pytest.mark.parametrize("gold", ["dontcare", "yes", "3", "guesthouse", "saint johns college"])
def test_gold_that_is_said_in_other_words_is_not_suspicious(gold: str) -> None:
    user = "a guest house near Saint John 's college called Warkworth"
    assert kinds(dialogue((user, "", {"hotel-x": gold}, {"hotel-x": "warkworth"}))) == ["wrong value"]


# Counts and lives ----------------------------------------------------------------------------------


@settings(max_examples=50, deadline=None)
@given(DIALOGUES, st.integers(0, 9))
def test_errors_add_up_to_sets_and_lives_to_errors_in_any_order(dialogues: list, seed: int) -> None:
    scores = scored(dialogues)
    found, lives, ranked = de.errors(scores), de.error_lives(scores), de.rank_dialogues(scores)
    sides = [(gold, pred) for turns in dialogues for _, _, gold, pred in turns]
    assert found["fn"].sum() == sum(len(gold - pred) for gold, pred in sides)
    assert found["fp"].sum() == sum(len(pred - gold) for gold, pred in sides)
    assert list(de.error_kinds().index) == KINDS and set(found["kind"]) <= set(KINDS)
    assert de.error_kinds(scores)["errors"].sum() == lives["errors"].sum() == len(found)
    assert lives["turns"].sum() == len(found.drop_duplicates(["dialogue_id", "turn", "domain", "slot"]))
    assert (lives["last"] - lives["first"] + 1 == lives["turns"]).all()
    assert ranked["errors"].sum() == len(found) and ranked["lives"].sum() == len(lives)
    assert len(ranked) == len(dialogues) and ranked["errors"].is_monotonic_decreasing
    assert ranked["wrong_turns"].sum() == sum(gold != pred for gold, pred in sides)
    pd.testing.assert_frame_equal(found, de.errors(scored(dialogues, seed)))


def test_lives_on_a_hand_worked_dialogue() -> None:
    lives = de.error_lives(silent((NORTH, {}), (NORTH, SOUTH), (NORTH, NORTH), (NORTH, {}), (NORTH, {})))
    columns = ["first", "last", "turns", "kind", "predicted", "end"]
    assert lives[columns].to_numpy().tolist() == [
        [0, 1, 2, "missed", "", "repaired"],
        [3, 4, 2, "missed", "", "never"],
    ]


def reset_by_hand(turns: list[tuple]) -> list[bool]:
    """The definition, slot by slot: what the prediction changes, on top of the last gold state."""

    def of(state: set) -> dict:
        slots: dict = {}
        for domain, slot, value in state:
            slots.setdefault((domain, slot), set()).add(value)
        return slots

    right, before_gold, before_pred = [], {}, {}
    for _, _, gold, pred in turns:
        g, p = of(gold), of(pred)
        changed = {slot for slot in {*p, *before_pred} if p.get(slot) != before_pred.get(slot)}
        reset = {slot: values for slot, values in before_gold.items() if slot not in changed}
        right.append(reset | {slot: p[slot] for slot in changed if slot in p} == g)
        before_gold, before_pred = g, p
    return right


@settings(max_examples=50, deadline=None)
@given(DIALOGUES)
def test_reset_accuracy_equals_its_definition(dialogues: list) -> None:
    found = de.reset_accuracy(scored(dialogues))
    right = zip_longest(*map(reset_by_hand, dialogues), fillvalue=False)
    assert found["exact_after_reset"].tolist() == [sum(turn) for turn in right]
    shares = found["exact_after_reset"] / found["turns"]
    assert found["reset_goal_accuracy"].tolist() == shares.tolist()


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


@pytest.mark.parametrize("verb", VERBS)
def test_what_is_not_scores_of_states_is_refused_in_one_line(verb) -> None:
    turns = table("turns", [("d", 0, "a", "b", 0)])
    answers = turns.rename(columns={"system": "response"})[["dialogue_id", "turn", "response"]]
    pred = Predictions("s", turns=turns[["dialogue_id", "turn"]], responses=answers)
    texts = de.score(Corpus("toy", family="pairs", turns=turns), pred, "lai2019", resamples=0)
    for wrong in (texts, "tracker.json", turns, Corpus("toy", turns=turns)):
        with pytest.raises(UsageError) as caught:
            verb(wrong)
        assert "\n" not in str(caught.value)


# A dialogue side by side ---------------------------------------------------------------------------

NASTY = [
    "<script>alert(1)</script>",
    '</td></table><img src=x onerror="alert(1)">',
    "$x^2$ and \\(y\\) and **bold** [a](http://b)",
    "שלום \u202egnal\u202c \u2066x\u2069",
    "bell\x07 null\x00 line\nbreak\ttab\u2028",
    "&lt;b&gt; &amp; &#36;",
    "no\xa0break\u200bzero",
]


class Page(HTMLParser):
    """Reads a page as a browser does: tags with attributes, and the text between them."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.classes: list[str] = []
        self.text = ""
        self.feed(page)
        self.close()
        assert self.tags <= {"p", "bdi", "table", "thead", "tbody", "tr", "th", "td"}
        assert self.attributes <= {"class", "border", "style", "rowspan", "valign"}
        assert all("mathjax_ignore" in found for found in self.classes)

    def handle_starttag(self, tag: str, attrs: list) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}
        self.classes += [value for name, value in attrs if name == "class"]

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.mark.parametrize("text", NASTY)
def test_any_text_is_inert_and_nothing_is_hidden(text: str) -> None:
    gold = {f"{text}-{text}": text}
    scores = dialogue((text, text, gold, {"taxi-to": text}), (text, text, gold, gold))
    view = de.render_dialogue(scores, "d0")
    readable = "".join(c if c.isprintable() else f"⟨U+{ord(c):04X}⟩" for c in text)
    for said in (Page(view._repr_html_()).text, repr(view)):
        assert said.count(readable) >= 8
        assert said.replace("\n", "").replace("\xa0", "").isprintable()


def test_dialogue_side_by_side() -> None:
    wrong = {"hotel-area": "south", "hotel-stars": "4"}
    view = de.render_dialogue(
        dialogue(("hi", "ho", NORTH, wrong), ("and", "so", NORTH, NORTH), ("now", "x", NORTH, NORTH)),
        "D0.json",
    )
    assert view.turns["right"].tolist() == [False, True, True]
    assert view.states["difference"].tolist() == ["wrong value", "spurious", "right", "right"]
    for said in (repr(view), Page(view._repr_html_()).text):
        assert "≠ wrong value" in said and "+ spurious" in said and "2 of 3 turns right" in said
        assert said.count("✓ state right") == 2 and said.count("✗ state wrong") == 1
        assert "✓ right as before: hotel-area = north" in said
    with pytest.raises(UnknownNameError):
        de.render_dialogue(silent(({}, {})), "other")


# Real systems --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["ubar", "pptod", "augpt", "damd"])
def test_sums_on_real_systems(name: str, real_cases, real_data) -> None:
    gold = de.load_corpus("multiwoz21", "test", home=real_data)
    file = real_cases / "states" / f"{name}.jsonl.gz"
    scores = de.score(gold, file, "trade", missing="skip", resamples=0)
    found, lives, reset = de.errors(scores), de.error_lives(scores), de.reset_accuracy(scores)
    assert set(found["kind"]) == set(KINDS) and lives["errors"].sum() == len(found)
    # Fuzzy matching never calls two equal values an error.
    assert (found["gold"] != found["predicted"]).all()
    share = reset["exact"].sum() / reset["turns"].sum()
    assert share == pytest.approx(scores["joint_goal_accuracy"], abs=1e-12)
    assert reset["exact_after_reset"].sum() > reset["exact"].sum()
    ranked = de.rank_dialogues(scores)
    view = de.render_dialogue(scores, ranked.index[0])
    assert (view.states["difference"] != "right").sum() == ranked["errors"].iloc[0]
    Page(view._repr_html_())

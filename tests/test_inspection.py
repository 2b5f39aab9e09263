"""Inspection and oddities: hand-worked corpora, and plain loops over the real files as truth."""

from __future__ import annotations

import json
import re
import zipfile
from collections import Counter
from itertools import pairwise
from pathlib import Path

import pytest
from lessons import inspection, oddities

from dialogeval import load_corpus
from dialogeval.tables import Corpus, table

REAL = ("multiwoz21", "multiwoz20", "crosswoz", "crosswoz_en", "multiwoz_zh")


def make(states=(), turns=(), ontology=(), language="en", **given) -> Corpus:
    """A corpus whose turns are at least those of its states."""
    spoken = {(d, t): (u, s) for d, t, u, s in turns}
    places = sorted({(row[0], row[1]) for row in states} | set(spoken))
    rows = [(d, t, *spoken.get((d, t), ("", "")), 0) for d, t in places]
    ids = list(dict.fromkeys(d for d, _ in places))
    return Corpus(
        given.pop("name", "toy"),
        language=language,
        dialogues=table("dialogues", [(i, i, "") for i in ids]),
        turns=table("turns", rows),
        states=table("states", list(states)),
        ontology=table("ontology", list(ontology)),
        **given,
    )


def test_counts_state_both_totals_of_multiwoz():
    total = inspection.counts_against_published(make(name="multiwoz20", split="val")).loc[
        ("all splits", "dialogues")
    ]
    assert total["published"] == 10_438 and total["lai2019"] == 10_423


def test_coverage_counts_triples_and_names_what_is_missing():
    states = [("d", t, "h", "area", v) for t, v in enumerate(["north", "north", "North"])]
    corpus = make([*states, ("d", 0, "taxi", "to", "x")], ontology=[("h", "area", "north"), ("h", "to", "x")])
    covered = inspection.value_coverage(corpus)
    assert covered.index.tolist() == [("taxi", "to"), ("h", "area")]
    assert covered["coverage"].tolist() == pytest.approx([0, 2 / 3])
    assert covered["slot known"].tolist() == [False, True]
    assert covered["values missing"].tolist() == [1, 1]
    assert inspection.missing_values(corpus).values.tolist() == [
        ["h", "area", "North", 1],
        ["taxi", "to", "x", 1],
    ]


def test_duplicates_keep_the_two_sides_apart():
    corpus = make(turns=[("a", 0, "x y", "z"), ("b", 0, "x", "y z"), ("c", 0, "x", "z")])
    found = oddities.duplicates(corpus)
    assert found["repeats"].to_dict() == {
        "whole dialogues": 0,
        "turns": 0,
        "user utterances": 1,
        "system utterances": 1,
    }
    assert oddities.repeated_texts(corpus, "user").values.tolist() == [["x", 2, "b", 0]]


@pytest.mark.parametrize(
    ("oddity", "odd", "fine"),
    [
        ("none", ["none", "None"], ["", "no", "nonesuch"]),
        ("dontcare", ["dontcare", "dont care", "don't care", "do n't care", "不在意"], ["care", "do"]),
        ("joined values", ["4|7", "a>b", "Shidu|"], ["4/7"]),
        ("hidden white space", ["a ", " a", "a  b", "a\xa0b", "a\tb", "a\u200b"], ["a b", "酒店"]),
    ],
)
def test_oddities_of_a_value(oddity, odd, fine):
    states = [("d", t, "h", "s", v) for t, v in enumerate([*odd, *fine]) if v]
    corpus = make(states)
    assert oddities.oddity_rows(corpus, oddity)["value"].tolist() == odd
    row = oddities.oddities(corpus).loc[oddity]
    assert (row["count"], row["of"], row["unit"]) == (len(odd), len(states), "triples")
    assert (row["dialogue_id"], row["turn"], row["example"]) == ("d", 0, f"h-s = {odd[0]!r}")


def test_spelling_names_the_usual_one_within_a_slot():
    values = ["the Nirala", "nirala", "nirala", "guest house", "guesthouse", "guesthouse"]
    corpus = make(
        [("d", t, "h", "name", v) for t, v in enumerate(values)] + [("d", 0, "h", "near", "Nirala")]
    )
    rows = oddities.oddity_rows(corpus, "spelling")
    assert rows[["value", "usual"]].values.tolist() == [
        ["the Nirala", "nirala"],
        ["guest house", "guesthouse"],
    ]


def test_times_are_judged_only_where_the_slot_holds_times():
    values = ["09:15", "17:30", "12:00", "23:59", "9:15", "24:30", "7pm", "dontcare", "none"]
    states = [("d", t, "taxi", "at", v) for t, v in enumerate(values)]
    corpus = make([*states, ("d", 0, "h", "stars", "4"), ("d", 0, "h", "people", "9:15 or so")])
    assert oddities.oddity_rows(corpus, "time format")["value"].tolist() == ["9:15", "24:30", "7pm"]
    assert oddities.oddities(corpus).loc["time format", "of"] == 7


def test_a_slot_that_vanishes_is_not_one_that_changes_or_ends():
    states = [("d", 0, "h", "area", "n"), ("d", 0, "h", "stars", "4"), ("d", 1, "h", "area", "s")]
    corpus = make([*states, ("e", 0, "h", "area", "n")], turns=[("d", 2, "bye", "bye")])
    rows = oddities.oddity_rows(corpus, "vanished slot")
    assert rows.values.tolist() == [["d", 0, "h", "stars", "4"], ["d", 1, "h", "area", "s"]]
    assert oddities.oddities(corpus).loc["vanished slot", "of"] == 3


def test_a_value_may_be_said_by_either_side_but_before_the_state():
    turns = [("d", 0, "A Guest House", "the Acorn ?"), ("d", 1, "yes", "in the east ?")]
    states = [
        ("d", 0, "h", "type", "guesthouse"),
        ("d", 0, "h", "name", "acorn"),
        ("d", 1, "h", "name", "acorn"),
        ("d", 1, "h", "near", "acorn"),
        ("d", 1, "h", "area", "east"),
        ("d", 1, "h", "stars", "none"),
    ]
    rows = oddities.oddity_rows(make(states, turns), "value not said")
    assert rows[["turn", "slot"]].values.tolist() == [[0, "name"], [1, "area"]]
    assert oddities.oddities(make(states, turns)).loc["value not said", "of"] == 4


# Real corpora ---------------------------------------------------------------------------------


def raw_turns(path: Path):
    """(dialogue, turn, user text, system text, {(domain, slot): value}) by a plain loop over the JSON."""
    with zipfile.ZipFile(path) as archive:
        dialogues = json.loads(archive.read(archive.namelist()[0]))
    for name, dialogue in dialogues.items():
        log = dialogue.get("log") or dialogue["messages"]
        for turn in range(len(log) // 2):
            user, system = log[2 * turn], log[2 * turn + 1]
            if "metadata" in system:
                state = {
                    (domain, part, slot): value if isinstance(value, str) else "|".join(value)
                    for domain, parts in system["metadata"].items()
                    for part in ("semi", "book")
                    for slot, value in parts[part].items()
                    if slot != "booked" and value not in ("", "not mentioned", "未提及", [])
                }
            else:
                state = {
                    (domain, "", slot): value
                    for domain, slots in system["sys_state_init"].items()
                    for slot, value in slots.items()
                    if value and slot != "selectedResults"
                }
            texts = (side.get("text", side.get("content")) for side in (user, system))
            yield name, turn, *texts, state


@pytest.mark.parametrize("name", REAL)
def test_real_counts_agree_with_plain_loops(real_data, name):
    corpus = load_corpus(name, home=real_data)
    truth = list(raw_turns(real_data / name / "test.json.zip"))
    published = inspection.counts_against_published(corpus).loc[("test", "dialogues"), "difference"]
    assert published == 0
    assert inspection.turns_per_dialogue(corpus).tolist() == list(Counter(t[0] for t in truth).values())
    zh = corpus.language == "zh"
    lengths = [len(re.sub(r"\s", "", text)) if zh else len(text.split()) for t in truth for text in t[2:4]]
    assert inspection.tokens_per_utterance(corpus)["length"].tolist() == lengths
    by_turn: dict[int, list[int]] = {}
    for _, turn, _, _, state in truth:
        by_turn.setdefault(turn, []).append(len(state))
    growth = inspection.state_growth(corpus)["filled slots"]
    assert growth.tolist() == pytest.approx([sum(n) / len(n) for _, n in sorted(by_turn.items())])
    fills = Counter(key for t in truth for key in t[4])
    assert sorted(inspection.slots_table(corpus)["turns"]) == sorted(fills.values())
    repeats = len(truth) - len({(t[2], t[3]) for t in truth})
    assert oddities.duplicates(corpus).loc["turns", "repeats"] == repeats


@pytest.mark.parametrize("name", REAL)
def test_real_oddities_agree_with_plain_loops(real_data, name):
    corpus = load_corpus(name, home=real_data)
    truth = list(raw_turns(real_data / name / "test.json.zip"))
    values = [value for t in truth for value in t[4].values()]
    found = oddities.oddities(corpus)["count"]
    assert found["none"] == values.count("none")
    assert found["joined values"] == sum("|" in v or "<" in v or ">" in v for v in values)
    hidden = sum(v != v.strip() or "  " in v or bool(re.search(r"[^\S ]|[\u200b-\u200f]", v)) for v in values)
    assert found["hidden white space"] == hidden
    vanished = sum(
        len(before[4].keys() - after[4].keys()) for before, after in pairwise(truth) if before[0] == after[0]
    )
    assert found["vanished slot"] == vanished
    unsaid, heard, seen = 0, "", set()
    for _, turn, user, system, state in truth:
        heard, seen = ("", set()) if turn == 0 else (heard, seen)
        heard += "\n" + "".join(user.casefold().split())
        special = ("none", "dontcare", "dont care", "不在意")
        new = {(key, v) for key, v in state.items() if v not in special} - seen
        unsaid += sum("".join(v.casefold().split()) not in heard for _, v in new)
        seen |= new
        heard += "\n" + "".join(system.casefold().split())
    assert found["value not said"] == unsaid


@pytest.mark.parametrize("name", ["multiwoz21", "crosswoz_en", "multiwoz_zh"])
def test_real_coverage_agrees_with_sets(real_data, name):
    corpus = load_corpus(name, home=real_data)
    known = set(corpus.ontology.itertuples(index=False, name=None))
    triples = corpus.states[["domain", "slot", "value"]].itertuples(index=False, name=None)
    missing = Counter(t for t in triples if t not in known)
    covered = inspection.value_coverage(corpus)
    assert covered["triples"].sum() - covered["in ontology"].sum() == missing.total()
    listed = inspection.missing_values(corpus)
    assert listed.set_index(["domain", "slot", "value"])["triples"].to_dict() == missing

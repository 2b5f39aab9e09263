"""Bad prediction files: each is refused with exactly one line that says where, what, and how to mend it."""

from __future__ import annotations

import json

import pytest

from dialogeval.exceptions import DialogevalError, PredictionError
from dialogeval.predictions.load import load_predictions

SHAPES = "expected {domain: {slot: value}} or a list of [domain, slot, value]"
ITEM = "an item of the state: expected [domain, slot, value] with names that are strings"
FORMATS = "expected one of pairs, turns, mwzeval, dstc9, trade, convlab, gt-pr"
README = "see the README's list of formats, or name one with format="


def second(state: object) -> str:
    """A dstc9 file whose second turn has this state."""
    return json.dumps({"pmul1": [{}, state]})


def turns(*cells: object) -> str:
    return json.dumps({"pmul1": list(cells)})


def lines(*rows: dict) -> str:
    return "".join(json.dumps({"dialogue_id": "pmul1"} | row) + "\n" for row in rows)


STATES = [
    (None, f"the state: {SHAPES}, got null; write {{}} for an empty state"),
    ("hotel-area-x", f"the state: {SHAPES}, got a string 'hotel-area-x'; write the state as an object"),
    (4, f"the state: {SHAPES}, got a number 4; write the state as an object"),
    (False, f"the state: {SHAPES}, got a boolean False; write the state as an object"),
    ({"hotel": {"parking": True}}, 'slot hotel-parking: expected a string, got a boolean True; write "yes"'),
    ({"hotel": {"parking": False}}, 'slot hotel-parking: expected a string, got a boolean False; write "no"'),
    (
        {"hotel": {"stars": 4.5}},
        "slot hotel-stars: expected a string, got a number 4.5; put it in quotation marks, as the gold spells it",
    ),
    (
        {"hotel": {"area": None}},
        'slot hotel-area: expected a string, got null; leave the slot out or write ""',
    ),
    ({"hotel-area": None}, 'slot hotel-area: expected a string, got null; leave the slot out or write ""'),
    (
        {"hotel": {"name": ["a", "b"]}},
        "slot hotel-name: expected a string, got a list ['a', 'b']; give one string",
    ),
    (
        [["hotel", "name", ["a", "b"]]],
        "slot hotel-name: expected a string, got a list ['a', 'b']; give one string",
    ),
    ({"hotel": {"name": []}}, "slot hotel-name: expected a string, got a list []; leave the slot out"),
    ({"hotel": {"name": [["a"]]}}, "slot hotel-name: expected a string, got a list [['a']]; give one string"),
    (
        {"hotel": {"semi": {"area": "x"}}},
        "slot hotel-semi: expected a string, got an object {'area': 'x'}; give one string",
    ),
    (
        {"hotel": "north"},
        "domain 'hotel' of the state: expected an object {slot: value}, got a string 'north'; "
        "write {domain: {slot: value}}",
    ),
    (
        {"hotel": None},
        "domain 'hotel' of the state: expected an object {slot: value}, got null; leave 'hotel' out or write {}",
    ),
    (
        [["area", "north"]],
        "domain 'area' of the state: expected an object {slot: value}, got a string 'north'; "
        "write {domain: {slot: value}}",
    ),
    (["hotel-area-north"], f"{ITEM}, got a string 'hotel-area-north'"),
    ([["hotel", "area", "north", "x"]], f"{ITEM}, got a list ['hotel', 'area', 'north', 'x']"),
    ([[1, "area", "north"]], f"{ITEM}, got a list [1, 'area', 'north']"),
    ({"": {"area": "x"}}, "state: an empty domain name"),
    ({"hotel": {"": "x"}}, "state: an empty slot name"),
    (
        {"a": {"b": "\ud800"}},
        "the state: value: expected text, got half a surrogate pair in a string '\\ud800'",
    ),
]


@pytest.mark.parametrize(("state", "line"), STATES)
@pytest.mark.parametrize("format", ["dstc9", "mwzeval", "turns"])
def test_states(tmp_path, state, line, format):
    content = {
        "dstc9": second(state),
        "mwzeval": turns({"state": {}}, {"state": state}),
        "turns": lines({"turn": 0, "state": {}}, {"turn": 1, "state": state}),
    }[format]
    path = tmp_path / "system.json"
    path.write_text(content)
    with pytest.raises(PredictionError) as caught:
        load_predictions(path)
    place = f"{path}, line 2" if format == "turns" else str(path)
    assert str(caught.value) == f"{place}: dialogue pmul1, turn 1: {line}"


CONTENTS = [
    # responses and other fields of a turn
    (
        turns({"response": "x"}, {"response": None}),
        ': dialogue pmul1, turn 1: the response: expected a string, got null; write "" for an empty text',
    ),
    (
        turns({"response": ["a", "b"]}),
        ": dialogue pmul1, turn 0: the response: expected a string, got a list ['a', 'b']; join the tokens with blanks",
    ),
    (
        turns({"response": 3}),
        ": dialogue pmul1, turn 0: the response: expected a string, got a number 3; write it as a string",
    ),
    (
        turns({"response": "x", "state": {}}, {"response": "x"}),
        ": dialogue pmul1, turn 1: has no state, but 1 of 2 turns have one; give every turn its state, or none",
    ),
    (
        turns({"response": "x", "state": {}}, {"state": {}}),
        ": dialogue pmul1, turn 1: has no response, but 1 of 2 turns have one; give every turn its response, or none",
    ),
    (
        turns({"response": "x", "active_domains": []}, {"response": "x", "active_domains": None}),
        ": dialogue pmul1, turn 1: has no active_domains, but 1 of 2 turns have one; "
        "give every turn its active_domains, or none",
    ),
    (
        turns({"response": "x", "active_domains": "hotel"}),
        ": dialogue pmul1, turn 0: active_domains: expected a list of strings, got a string 'hotel'",
    ),
    (
        turns({"response": "x"}, None),
        ": dialogue pmul1, turn 1: the turn: expected an object with response and/or state, got null",
    ),
    (turns({"active_domains": []}), ": holds neither states nor responses"),
    # dialogues and turns
    (
        '{"PMUL1": [{}], "pmul1.json": [{}]}',
        ": PMUL1 and pmul1.json name the same dialogue; keep one of the two",
    ),
    ('{"a": [{}], "a": [{}]}', ": key 'a' stands twice in one object; keep one of them"),
    ('{" ": [{}]}', ": dialogue_id: expected a string, got a string ' '"),
    (
        lines({"turn": 0, "response": "a"}, {"turn": 0, "response": "b"}),
        ", line 2: dialogue pmul1, turn 0: stands twice; keep one of them",
    ),
    (
        lines({"turn": 0, "response": "a"}, {"dialogue_id": "PMUL1", "turn": 1, "response": "b"}),
        ", line 2: pmul1 and PMUL1 name the same dialogue; keep one of the two",
    ),
    (
        lines({"turn": 0, "response": "a"}) + '{"turn": 1, "response": "a"}\n',
        ", line 2: no 'dialogue_id': expected dialogue_id and turn, got an object {'turn': 1, 'response': 'a'}",
    ),
    (
        lines({"dialogue_id": None, "turn": 0, "response": "a"}),
        ", line 1: dialogue_id: expected a string, got null",
    ),
    (
        lines({"turn": -1, "response": "a"}),
        ", line 1: dialogue pmul1: turn: expected a whole number from 0 to 99,999, got a number -1",
    ),
    (
        lines({"turn": True, "response": "a"}),
        ", line 1: dialogue pmul1: turn: expected a whole number from 0 to 99,999, got a boolean True",
    ),
    (
        json.dumps({"a": {"0": {"b": {"c": "d"}}, "1": {}, "3": {}}}),
        ": dialogue a: turns 0, 1, 3: turn 2 is missing; number the turns from 0 without gaps",
    ),
    (
        json.dumps({"a": {"1": {"b": {"c": "d"}}, "2": {}}}),
        ": dialogue a: turns 1, 2: turn 0 is missing; number the turns from 0 without gaps",
    ),
    (
        json.dumps({"a": {"0": {"b": {"c": "d"}}, "x": {}}}),
        ": dialogue a: the dialogue: expected turn numbers as keys, got a string 'x'",
    ),
    (
        json.dumps({"a": {"0": {"b": {"c": "d"}}, "00": {}}}),
        ": dialogue a, turn 0: stands twice; keep one of them",
    ),
    (
        json.dumps({"a": [{"b": {"c": "d"}}], "x": []}),
        ": dialogue x: has no turns; give its turns or leave it out",
    ),
    (json.dumps({"x": []}), ": dialogue x: has no turns; give its turns or leave it out"),
    (
        json.dumps({"a": [{"b": {"c": "d"}}], "e": "f"}),
        ": dialogue e: the dialogue: expected a list of turns, got a string 'f'",
    ),
    # no format, or two
    ("{}", ": holds no dialogues, got an object {}"),
    ("[]", ": holds no dialogues, got a list []"),
    ("3", f": no known format: {FORMATS}, got a number 3; {README}"),
    ('{"a": null}', f": no known format: {FORMATS}, got dialogue a: null; {README}"),
    ('["a", "b"]', f": no known format: {FORMATS}, got a list that begins with a string 'a'; {README}"),
    ('{"a": ["hi"]}', f": no known format: {FORMATS}, got dialogue a, turn 0: a string 'hi'; {README}"),
    (
        '{"397": {"messages": [], "goal": []}}',
        f": no known format: {FORMATS}, got dialogue 397: an object with the keys messages, goal; {README}",
    ),
    (
        lines({"turn": 0, "text": "a"}, {"turn": 1, "text": "a"}),
        f": no known format: {FORMATS}, got rows with the fields dialogue_id, text, turn; {README}",
    ),
    (
        turns({"gt": [], "pr": [], "response": "x"}),
        ": follows two formats, mwzeval and gt-pr, got dialogue pmul1, turn 0: an object with the keys "
        "gt, pr, response; choose one with format=",
    ),
    (
        lines({"turn": 0, "state": {}, "gold": [], "pred": []}),
        ": follows two formats, pairs and turns, got rows with the fields dialogue_id, gold, pred, state, turn; "
        "choose one with format=",
    ),
    # single formats
    (
        lines({"turn": 0, "gold": [], "reference": "x", "response": "x"}),
        ", line 1: dialogue pmul1, turn 0: has 'gold' but no 'pred'; add 'pred'",
    ),
    (
        json.dumps({"a": {"0": {"turn_belief": [], "pred_bs_ptr": ["hotel-area"]}}}),
        ": dialogue a, turn 0: an item of the state: expected 'domain-slot-value', got a string 'hotel-area'",
    ),
    (
        json.dumps({"a": {"0": {"turn_belief": ["hotel-area"], "pred_bs_ptr": []}}}),
        ": dialogue a, turn 0: gold: an item of the state: expected 'domain-slot-value', got a string 'hotel-area'",
    ),
    (
        json.dumps({"a": {"0": {"turn_belief": []}}}),
        ": dialogue a, turn 0: the turn: expected an object with turn_belief and pred_bs_ptr, "
        "got an object {'turn_belief': []}",
    ),
    (
        json.dumps([{"predictions": {"state": {}}}]),
        ", item 1: utt_idx: expected a whole number from 0, got null",
    ),
    (
        json.dumps([{"utt_idx": 0, "predictions": "x"}]),
        ", item 1: predictions: expected an object, got a string 'x'",
    ),
    (
        json.dumps([{"utt_idx": 0, "predictions": {}}]),
        ": holds neither states nor responses",
    ),
    (
        json.dumps([{"dialogue_id": "a", "turns": [{"speaker": "user", "utterance": "hi"}]}]),
        ", item 1: dialogue a, turn 0: the user turn has no state",
    ),
    (
        json.dumps([{"dialogue_id": "a", "turns": [{"speaker": "system"}]}]),
        ', item 1: dialogue a: has no user turns: expected speaker "user"',
    ),
    # CSV
    (
        "dialogue_id,turn,response\npmul1,0,hi\npmul1,1,\n",
        ', row 2: column response is empty (NaN); write "" for an empty response',
    ),
    (
        "dialogue_id,turn,state\npmul1,0,{}\npmul1,1,NaN\n",
        ", row 2: column state is empty (NaN); write {} for an empty state",
    ),
    ("dialogue_id,turn,response\npmul1,,hi\n", ", row 1: column turn is empty (NaN); fill it in"),
    ("dialogue_id,response\npmul1,hi\n", ": no column turn, got the columns dialogue_id, response"),
    (
        "dialogue_id,turn,response\npmul1,first,hi\n",
        ", row 1: dialogue pmul1: turn: expected a whole number from 0 to 99,999, got a string 'first'",
    ),
    (
        'dialogue_id,turn,state\npmul1,0,"""hotel"""\n',
        f", row 1: dialogue pmul1, turn 0: the state: {SHAPES}, got a string 'hotel'; write the state as an object",
    ),
    (
        "dialogue_id,turn,response\npmul1,0,hi,there\n",
        ": broken CSV (CSV parse error: Expected 3 columns, got 4: pmul1,0,hi,there)",
    ),
    ("dialogue_id,turn,response\n", ": holds no turns"),
    ("dialogue_id,turn,response,response\np,0,a,b\n", ": column response stands twice; keep one of them"),
]


@pytest.mark.parametrize(("content", "line"), CONTENTS)
def test_contents(tmp_path, content, line):
    path = tmp_path / "system.json"
    path.write_text(content)
    with pytest.raises(DialogevalError) as caught:
        load_predictions(path)
    assert str(caught.value) == f"{path}{line}"

"""Inform and Success where little is there: no goal, no state, domains without entries, equal states."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd
import pytest
from test_task import H1, NORTH, T2, WANTS_NORTH, pair_of

from dialogeval.metrics.task import (
    RATE_DOMAINS,
    TASK_METRICS,
    active_domains,
    database_from_entries,
    offers_table,
    task_counts,
)


def test_dialogues_without_a_goal() -> None:
    pair = pair_of({}, [("NAME", NORTH, []), ("bye", {}, [])])
    offers = offers_table(pair)
    assert list(offers) == [
        *("dialogue_id", "domain", "offered", "fitting", "matched", "requested", "provided", "missed")
    ]
    assert offers.dtypes[["offered", "fitting", "matched"]].astype(str).tolist() == ["int64", "int64", "bool"]
    assert len(offers) == 0
    counts = task_counts(pair)
    assert counts.index.tolist() == ["d"] and counts.shape == (1, 3 + 3 * len(RATE_DOMAINS))
    assert not counts.to_numpy().any()
    assert pd.isna(TASK_METRICS["inform"].value(counts.sum()))


def test_all_that_the_table_of_offers_says() -> None:
    goal = {
        **WANTS_NORTH,
        "taxi": {"reqt": ["phone"]},
        "train": {"info": {"day": "monday"}, "reqt": ["id", "trainid", "leave"]},
    }
    turns = [("NAME at POST , ADDRESS", NORTH, []), ("TRAINID NAME", NORTH, [])]
    rows = offers_table(pair_of(goal, turns, [["hotel", "bus"], ["train", "taxi"]])).to_numpy().tolist()
    assert rows == [
        ["d", "hotel", 2, 2, True, "", "ADDRESS POST", ""],
        ["d", "taxi", 0, 0, True, "PHONE", "TRAINID", "PHONE"],
        # Its state was never filled: nothing is offered, though both trains fit.
        ["d", "train", 0, 2, False, "TRAINID", "TRAINID", ""],
    ]


def test_states_that_are_equal_but_not_the_same_object_have_not_changed() -> None:
    states = [{"hotel": dict(H1), "train": dict(T2)} for _ in range(3)]
    assert active_domains(states) == ["train", "hotel", "hotel"]


def test_rates_and_their_combination_by_hand() -> None:
    sums = {"task_goal": 8.0, "task_inform": 6.0, "task_success": 3.0}
    sums |= {"task_goal/taxi": 4.0, "task_inform/taxi": 4.0, "task_success/taxi": 1.0}
    bleu = {f"sacrebleu_{kind}_{n}": float(5 - n) for kind in ("match", "total") for n in range(1, 5)}
    bleu |= {"sacrebleu_response_length": 4.0, "sacrebleu_reference_length": 4.0}
    values = {
        key: TASK_METRICS[key].value(sums) for key in ("inform", "success", "inform/taxi", "success/taxi")
    }
    assert values == {"inform": 75, "success": 37.5, "inform/taxi": 100, "success/taxi": 25}
    assert TASK_METRICS["combined"].value(sums | bleu) == (75 + 37.5) / 2 + 100


@pytest.mark.parametrize("domain", ["restaurant", "attraction", "hotel"])
def test_venues_are_offered_by_name(domain: str) -> None:
    database = database_from_entries({domain: [{"name": "acorn", "area": "north"}]})
    state = {domain: {"area": "north"}}
    goal = {domain: {"info": {"area": "north"}}}
    for text, offered in (("NAME", 1), ("TRAINID", 0), ("name", 0)):
        pair = replace(pair_of(goal, [(text, state, [])], [[domain]]), database=database)
        assert offers_table(pair)[["offered", "matched"]].to_numpy().tolist() == [[offered, offered == 1]]

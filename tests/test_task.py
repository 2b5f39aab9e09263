"""Inform and Success: every rule by a small dialogue worked by hand; for published systems see test_scorers."""

from __future__ import annotations

import pandas as pd
import pytest

from dialogeval.metrics.task import (
    TASK_METRICS,
    TaskPair,
    active_domains,
    database_from_entries,
    offers_table,
    task_counts,
)
from dialogeval.tables import table

HOTELS = [
    {"name": "acorn", "area": "north", "stars": "4"},
    {"name": "belfry", "area": "north", "stars": "3"},
    {"name": "cityroomz", "area": "west", "stars": "3"},
]
TRAINS = [
    {"trainID": "TR1", "day": "monday", "leaveAt": "09:00", "arriveBy": "09:51"},
    {"trainID": "TR2", "day": "monday", "leaveAt": "10:00", "arriveBy": "10:51"},
]
DATABASE = database_from_entries({"hotel": HOTELS, "train": TRAINS})

#: A turn: response, state, booked domains; optionally what the system says the active domains are.
Turn = tuple


def pair_of(goal: dict, turns: list[Turn], active: list[list[str]] | None = None) -> TaskPair:
    """One dialogue as a pair; a goal is {domain: {"info": {}, "reqt": [], "book": {}}}."""
    goals = []
    for domain, wish in goal.items():
        goals += [("d", domain, "inform", s, v) for s, v in wish.get("info", {}).items()]
        goals += [("d", domain, "request", s, "") for s in wish.get("reqt", ())]
        goals += [("d", domain, "book", f"book{s}", v) for s, v in wish.get("book", {}).items()]
    states, bookings = [], []
    for number, (_, state, booked) in enumerate(turns):
        states += [("d", number, d, s, v) for d, slots in state.items() for s, v in slots.items()]
        bookings += [("d", number, d) for d in booked]
    given = None
    if active is not None:
        given = table("active_domains", [("d", n, d) for n, domains in enumerate(active) for d in domains])
    return TaskPair(
        ["d"] * len(turns),
        range(len(turns)),
        [text for text, _, _ in turns],
        table("states", states),
        given,
        table("goals", goals),
        table("bookings", bookings),
        DATABASE,
    )


def outcome(
    goal: dict, turns: list[Turn], active: list[list[str]] | None = None
) -> dict[str, tuple[bool, str]]:
    rows = offers_table(pair_of(goal, turns, active))
    return {r.domain: (bool(r.matched), r.missed) for r in rows.itertuples()}


NORTH = {"hotel": {"area": "north"}}
WANTS_NORTH = {"hotel": {"info": {"area": "north"}}}


# Offers -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("turns", "matched"),
    [
        ([("NAME is nice", NORTH, [])], True),
        ([("it is nice", NORTH, [])], False),  # nothing offered
        ([("TRAINID", NORTH, [])], False),  # not how hotels are offered
        ([("NAME", {"hotel": {"stars": "3"}}, [])], False),  # the west is among the three-star hotels
        ([("NAME", {"hotel": {"area": "north", "stars": "4"}}, [])], True),  # narrower than the goal
        ([("NAME", {"hotel": {"area": "south"}}, [])], False),  # nothing matches
        ([("NAME", {}, [])], False),  # no state of the domain offers nothing
    ],
)
def test_an_offer_has_to_fit_the_goal(turns: list[Turn], matched: bool) -> None:
    assert outcome(WANTS_NORTH, turns, [["hotel"]])["hotel"][0] is matched


def test_an_offer_stands_while_the_next_still_holds_all_of_it() -> None:
    both = ({"hotel": {"area": "north"}}, {"hotel": {"area": "north", "stars": "3"}})
    three = {"hotel": {"stars": "3"}}
    active = [["hotel"], ["hotel"]]

    def offered(first: dict, second: dict) -> int:
        pair = pair_of(WANTS_NORTH, [("NAME", first, []), ("NAME", second, [])], active)
        return int(offers_table(pair)["offered"].iloc[0])

    assert offered(*both) == 1  # narrowed: one of the two is no longer there
    assert offered(both[1], both[0]) == 1  # widened: the offer is still among the entries, and stands
    assert offered(both[0], three) == 2  # replaced
    assert offered(both[0], {"hotel": {"area": "south"}}) == 0  # replaced by nothing
    assert offered({"hotel": {"area": "south"}}, both[0]) == 2  # an empty one is always replaced


def test_an_offer_counts_only_where_its_domain_is_active() -> None:
    assert outcome(WANTS_NORTH, [("NAME", NORTH, [])], [["train"]]) == {"hotel": (False, "")}
    assert outcome(WANTS_NORTH, [("NAME", NORTH, [])], [[]]) == {"hotel": (False, "")}
    assert outcome(WANTS_NORTH, [("NAME", NORTH, [])], [["taxi", "hotel"]]) == {"hotel": (True, "")}


# Match --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("domain", ["taxi", "police", "hospital"])
def test_domains_without_a_choice_are_matched(domain: str) -> None:
    assert outcome({domain: {"reqt": ["phone"]}}, [("bye", {}, [])]) == {domain: (True, "PHONE")}


def test_a_goal_with_a_name_is_matched_whatever_is_said() -> None:
    goal = {"hotel": {"info": {"name": "acorn"}}}
    assert outcome(goal, [("bye", {}, [])]) == {"hotel": (True, "")}


@pytest.mark.parametrize(
    ("goal", "turns", "matched"),
    [
        ({"info": {"day": "monday"}}, [("bye", {}, [])], True),  # never offered, id not requested
        ({"info": {"day": "monday"}, "reqt": ["trainid"]}, [("bye", {}, [])], False),
        ({"info": {"day": "monday"}, "reqt": ["id"]}, [("bye", {}, [])], False),
        ({"info": {"day": "monday"}}, [("TRAINID", {"train": {"day": "monday"}}, [])], True),
        ({"info": {"leave": "09:30"}}, [("TRAINID", {"train": {"day": "monday"}}, [])], False),
        ({"info": {"arrive": "10:00"}}, [("TRAINID", {"train": {"arrive": "09:55"}}, [])], True),
        ({"info": {"day": "monday"}}, [("NAME", {"train": {"day": "sunday"}}, [])], True),
    ],
)
def test_trains(goal: dict, turns: list[Turn], matched: bool) -> None:
    assert outcome({"train": goal}, turns, [["train"]])["train"][0] is matched


def test_an_unknown_domain_of_the_goal_is_not_matched() -> None:
    assert outcome({"bus": {"info": {"day": "monday"}}}, [("NAME TRAINID", {}, [])], [["bus"]]) == {
        "bus": (False, "")
    }


# Requested and provided ---------------------------------------------------------------------------


def test_requested_items_count_in_their_domain_only() -> None:
    goal = {
        "hotel": {"info": {"name": "x"}, "reqt": ["phone", "postcode", "stars"]},
        "taxi": {"reqt": ["phone"]},
    }
    turns = [("PHONE", {}, []), ("your POST, sir", {}, [])]
    assert outcome(goal, turns, [["taxi"], ["hotel"]]) == {"hotel": (True, "PHONE"), "taxi": (True, "")}
    assert outcome(goal, turns, [["hotel", "taxi"], ["hotel"]]) == {"hotel": (True, ""), "taxi": (True, "")}


def test_all_five_items_can_be_requested() -> None:
    items = ["phone", "address", "postcode", "trainid", "reference"]
    goal = {"hotel": {"info": {"name": "x"}, "reqt": items}}
    missed = "PHONE ADDRESS POST TRAINID REFERENCE"
    assert outcome(goal, [("bye", {}, [])]) == {"hotel": (True, missed)}
    given = [("PHONE ADDRESS POST TRAINID REFERENCE", {}, ["hotel"])]
    assert outcome(goal, given, [["hotel"]]) == {"hotel": (True, "")}


@pytest.mark.parametrize(("booked", "missed"), [(["hotel"], ""), (["train"], "REFERENCE"), ([], "REFERENCE")])
def test_a_reference_counts_where_the_domain_is_booked_at_that_turn(booked: list[str], missed: str) -> None:
    goal = {"hotel": {"info": {"name": "x"}, "book": {"day": "monday"}}}
    assert outcome(goal, [("REFERENCE", {}, booked)], [["hotel"]]) == {"hotel": (True, missed)}
    earlier = [("done", {}, booked), ("REFERENCE", {}, [])]
    assert outcome(goal, earlier, [["hotel"]] * 2) == {"hotel": (True, "REFERENCE")}


# Active domains -----------------------------------------------------------------------------------

H1, H2 = {"area": "north"}, {"area": "north", "stars": "4"}
T1, T2 = {"day": "monday"}, {"day": "monday", "leave": "09:00"}


@pytest.mark.parametrize(
    ("states", "active"),
    [
        ([{}, {}], [None, None]),
        ([{"hotel": H1}, {"hotel": H1, "train": T1}], ["hotel", "train"]),
        ([{"hotel": H1}, {"hotel": H2, "train": T2}], ["hotel", "hotel"]),  # it changed as well
        ([{"hotel": H1, "train": T2}], ["train"]),  # the largest state
        ([{"hotel": H1, "train": T1}], ["hotel"]),  # a tie: order of the state
        ([{"train": T1, "hotel": H1}], ["train"]),
        ([{"hotel": H2}, {"hotel": H1}], ["hotel", "hotel"]),  # a slot that went away is no change
        ([{"hotel": H1}, {"hotel": {"area": "west"}}], ["hotel", "hotel"]),  # a new value is
        # Two changed, then none: the other of the two has its turn.
        ([{"hotel": H1, "train": T2}] * 2, ["train", "hotel"]),
        # And stays: the turn before this one changed nothing.
        ([{"hotel": H1, "train": T2}] * 4, ["train", "hotel", "hotel", "hotel"]),
        # The list is that of the turn just before, not of one earlier.
        (
            [{"hotel": H1, "train": T2}, {"hotel": H2, "train": T2}, {"hotel": H2, "train": T2}],
            ["train", "hotel", "hotel"],
        ),
        # A domain that has left the state is passed over.
        ([{"hotel": H1, "train": T2}, {"train": T2}], ["train", "train"]),
        # First in the order of that turn's state, the current one left out.
        (
            [{"train": T1}, {"train": T2, "taxi": T1, "hotel": H1}, {"hotel": H1, "taxi": T1, "train": T2}],
            ["train", "train", "taxi"],
        ),
        ([{}, {"hotel": H1}, {}, {"hotel": H1}], [None, "hotel", "hotel", "hotel"]),
    ],
)
def test_active_domains(states: list[dict], active: list[str | None]) -> None:
    assert active_domains(states) == active


def test_estimated_and_predicted_active_domains_in_the_pass() -> None:
    turns = [("NAME", {"train": T1, "hotel": H1}, [])]
    assert outcome(WANTS_NORTH, turns) == {"hotel": (False, "")}  # the train stands first
    assert outcome(WANTS_NORTH, turns, [["hotel"]]) == {"hotel": (True, "")}


# Counts -------------------------------------------------------------------------------------------


def rates(goal: dict, turns: list[Turn], active: list[list[str]]) -> dict[str, float]:
    sums = task_counts(pair_of(goal, turns, active)).sum()
    return {key: TASK_METRICS[key].value(sums) for key in TASK_METRICS if key[:3] in ("inf", "suc")}


def test_rates_of_a_domain_and_of_the_whole() -> None:
    goal = {"hotel": {"info": {"area": "north"}, "reqt": ["phone"]}, "taxi": {"reqt": ["phone"]}}
    found = rates(goal, [("PHONE", {}, [])], [["taxi"]])
    assert (found["inform"], found["success"], found["inform/hotel"]) == (0, 0, 0)
    # The taxi is matched and its number given, but the whole dialogue's inform fails.
    assert (found["inform/taxi"], found["success/taxi"]) == (100, 0)
    # Without dialogues there is no rate, which is not a rate of 0.
    assert pd.isna(found["inform/train"])
    found = rates(goal, [("NAME", NORTH, []), ("PHONE", {}, [])], [["hotel"], ["taxi"]])
    assert (found["inform"], found["success"], found["success/taxi"], found["success/hotel"]) == (
        100,
        0,
        100,
        0,
    )
    assert pd.isna(rates({}, [("NAME", NORTH, [])], [["hotel"]])["inform"])


def test_rates_and_their_combination_by_hand() -> None:
    sums = {"task_goal": 8.0, "task_inform": 6.0, "task_success": 3.0}
    sums |= {f"sacrebleu_{kind}_{n}": float(5 - n) for kind in ("match", "total") for n in range(1, 5)}
    sums |= {"sacrebleu_response_length": 4.0, "sacrebleu_reference_length": 4.0}
    assert TASK_METRICS["combined"].value(sums) == (75 + 37.5) / 2 + 100


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

"""What a system offered and provided: the pass over dialogues that Inform and Success come from.

In: a `TaskPair`, the normalised responses, states, goals and bookings of some turns and the venue
database. Out: a table with a row for each domain of each dialogue's goal, which says what was offered
last, whether that fits the goal, and which of the requested items the user was given.

The rules are those of MultiWOZ_Evaluation (Nekvinda & Dušek 2021, arXiv:2106.05555). What a turn means
depends on the turns before it, so this is a loop over turns; the database answers from its memory.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from ..database import Database

__all__ = ["REQUESTABLE", "TaskPair", "active_domains", "offers_table"]

State = Mapping[str, Mapping[str, str]]

#: Canonical placeholders of what a user may request, by the names that goals use.
REQUESTABLE = {
    "phone": "PHONE",
    "address": "ADDRESS",
    "postcode": "POST",
    "trainid": "TRAINID",
    "id": "TRAINID",
    "reference": "REFERENCE",
}
#: The placeholder by which a response offers an entry of a domain.
OFFERED_BY = {"restaurant": "NAME", "hotel": "NAME", "attraction": "NAME", "train": "TRAINID"}
#: Domains that are matched whatever is said: they have no choice of entries.
ALWAYS_MATCHED = ("taxi", "police", "hospital")
_TAGS = ("NAME", *dict.fromkeys(REQUESTABLE.values()))


@dataclass(frozen=True)
class TaskPair:
    """Turns of whole dialogues with what the rules of Inform and Success look at.

    Parameters
    ----------
    dialogue_id, turn : sequence, length n
        In the order of dialogue and turn.
    responses : sequence of str, length n
        Placeholders as canonical upper-case names, all else in lower case.
    states : pandas.DataFrame
        dialogue_id, turn, domain, slot, value; normalised, in the order of the file.
    active : pandas.DataFrame or None
        dialogue_id, turn, domain: active domains as predicted; None to estimate them from the states.
    goals : pandas.DataFrame
        dialogue_id, domain, kind, slot, value; informed slots and values normalised.
    bookings : pandas.DataFrame
        dialogue_id, turn, domain: what is booked at that turn.
    database : Database
    source : {"predicted", "gold"}
        Whose states these are.
    """

    dialogue_id: Sequence[str]
    turn: Sequence[int]
    responses: Sequence[str]
    states: pd.DataFrame
    active: pd.DataFrame | None
    goals: pd.DataFrame
    bookings: pd.DataFrame
    database: Database
    source: str = "predicted"


def offers_table(pair: TaskPair) -> pd.DataFrame:
    """Go through the dialogues and say for each domain of the goal how it ended.

    Parameters
    ----------
    pair : TaskPair

    Returns
    -------
    pandas.DataFrame
        A row for each domain of the goal of each dialogue, dialogues in the order of the pair:
        dialogue_id, domain, ``offered`` (entries of the last offer), ``fitting`` (entries that fit the
        goal), ``matched`` (bool), ``requested``, ``provided``, ``missed`` (canonical names, joined by
        a space).

    Examples
    --------
    >>> from dialogeval.database import database_from_entries
    >>> from dialogeval.tables import table
    >>> goal = [("d", "hotel", "inform", "area", "north"), ("d", "hotel", "request", "phone", "")]
    >>> pair = TaskPair(["d"], [0], ["NAME is nice"],
    ...     table("states", [("d", 0, "hotel", "area", "north")]), None, table("goals", goal),
    ...     table("bookings"), database_from_entries({"hotel": [{"name": "acorn", "area": "north"}]}))
    >>> offers_table(pair)[["domain", "matched", "missed"]].values.tolist()
    [['hotel', True, 'PHONE']]
    """
    goals = _goals_by_dialogue(pair.goals)
    turns = _turns_by_dialogue(pair)
    rows: list[tuple[Any, ...]] = []
    for dialogue, numbers in turns.items():
        goal = goals.get(dialogue)
        if goal:
            rows += [(dialogue, *row) for row in _follow(goal, numbers, pair.database)]
    columns = list(zip(*rows, strict=True)) if rows else [()] * len(_COLUMNS)
    frame = pd.DataFrame(dict(zip(_COLUMNS, map(list, columns), strict=True)))
    return frame.astype(_COLUMNS)


def active_domains(states: Iterable[State]) -> list[str | None]:
    """Estimate the active domain of each turn of a dialogue from how its state changes.

    Parameters
    ----------
    states : iterable of {domain: {slot: value}}
        One a turn, in the order of the turns; domains in the order of the file.

    Returns
    -------
    list of str or None
        None before anything was in a state.

    Notes
    -----
    A domain changed if it has a (slot, value) that the state of the turn before lacked. The domain
    stays if it is among those that changed; otherwise the changed domain with the most slots takes
    over. In a turn without change, what the turn just before it changed beside its own domain has
    its turn; two turns without change in a row leave the domain as it is.

    Examples
    --------
    >>> hotel, taxi = {"area": "north", "stars": "4"}, {"leave": "09:00"}
    >>> active_domains([{}, {"taxi": taxi, "hotel": hotel}, {"taxi": taxi, "hotel": hotel}])
    [None, 'hotel', 'taxi']
    """
    current: str | None = None
    before: State = {}
    waiting: list[str] = []
    estimated = []
    for state in states:
        changed = [
            domain
            for domain, slots in state.items()
            if (old := before.get(domain, _EMPTY)) is not slots
            and any(old.get(slot) != value for slot, value in slots.items())
        ]
        if changed:
            if current not in changed:
                current = max(changed, key=lambda domain: len(state[domain]))
        elif current is not None:
            current = next((d for d in waiting if d in state and d != current), current)
        waiting = changed if len(changed) > 1 else []
        estimated.append(current)
        before = state
    return estimated


# Helpers ------------------------------------------------------------------------------------------

_EMPTY: Mapping[str, str] = {}
_COLUMNS = {
    "dialogue_id": "str",
    "domain": "str",
    "offered": "int64",
    "fitting": "int64",
    "matched": "bool",
    "requested": "str",
    "provided": "str",
    "missed": "str",
}


@dataclass(frozen=True)
class _Wish:
    """The goal of a dialogue in one domain."""

    informable: Mapping[str, str]
    requested: tuple[str, ...]


@dataclass(frozen=True)
class _Turn:
    """One turn: placeholders of the response, state, and active and booked domains."""

    tags: frozenset[str]
    state: State
    active: Collection[str]
    booked: Collection[str]


def _follow(goal: Mapping[str, _Wish], turns: Sequence[_Turn], database: Database) -> list[tuple[Any, ...]]:
    """Go through one dialogue."""
    offered = dict.fromkeys(goal, 0)
    provided: dict[str, set[str]] = {domain: set() for domain in goal}
    for turn in turns:
        for domain in turn.active:
            if domain not in goal:
                continue
            if OFFERED_BY.get(domain) in turn.tags:
                state = turn.state.get(domain)
                matching = database.fitting(domain, state) if state is not None else 0
                # An offer stands as long as the state only narrows it down by less than all of it.
                if not offered[domain] or offered[domain] & ~matching:
                    offered[domain] = matching
            given = turn.tags - {"NAME"}
            provided[domain] |= given if domain in turn.booked else given - {"REFERENCE"}
    rows = []
    for domain, wish in goal.items():
        fitting = database.fitting(domain, wish.informable) if domain in OFFERED_BY else 0
        found = offered[domain]
        matched = (
            "name" in wish.informable
            or domain in ALWAYS_MATCHED
            or (domain == "train" and not found and "TRAINID" not in wish.requested)
            or (found != 0 and not found & ~fitting)
        )
        missed = [item for item in wish.requested if item not in provided[domain]]
        texts = (" ".join(items) for items in (wish.requested, sorted(provided[domain]), missed))
        rows.append((domain, found.bit_count(), fitting.bit_count(), matched, *texts))
    return rows


def _goals_by_dialogue(goals: pd.DataFrame) -> dict[str, dict[str, _Wish]]:
    informable: dict[tuple[str, str], dict[str, str]] = {}
    requested: dict[tuple[str, str], dict[str, None]] = {}
    for dialogue, domain, kind, slot, value in _rows(goals):
        inform = informable.setdefault((dialogue, domain), {})
        request = requested.setdefault((dialogue, domain), {})
        if kind == "inform":
            inform[slot] = value
        elif kind == "book":
            request["REFERENCE"] = None
        elif slot in REQUESTABLE:
            request[REQUESTABLE[slot]] = None
    wishes: dict[str, dict[str, _Wish]] = defaultdict(dict)
    for (dialogue, domain), inform in informable.items():
        wishes[dialogue][domain] = _Wish(inform, tuple(requested[dialogue, domain]))
    return wishes


def _turns_by_dialogue(pair: TaskPair) -> dict[str, list[_Turn]]:
    states: dict[tuple[str, int], dict[str, dict[str, str]]] = {}
    for dialogue, turn, domain, slot, value in _rows(pair.states):
        states.setdefault((dialogue, turn), {}).setdefault(domain, {})[slot] = value
    booked: dict[tuple[str, int], set[str]] = defaultdict(set)
    for dialogue, turn, domain in _rows(pair.bookings):
        booked[dialogue, turn].add(domain)
    tags = {text: frozenset(tag for tag in _TAGS if tag in text) for text in set(pair.responses)}
    keys: dict[str, list[tuple[str, int]]] = defaultdict(list)
    texts = {}
    for dialogue, turn, text in zip(pair.dialogue_id, pair.turn, pair.responses, strict=True):
        keys[dialogue].append((dialogue, turn))
        texts[dialogue, turn] = text
    active: dict[tuple[str, int], Collection[str]] = defaultdict(tuple)
    if pair.active is None:
        for here in keys.values():
            for key, domain in zip(here, active_domains(states.get(k, {}) for k in here), strict=True):
                active[key] = (domain,) if domain else ()
    else:
        for dialogue, turn, domain in _rows(pair.active):
            active[dialogue, turn] = (*active[dialogue, turn], domain)
    return {
        dialogue: [
            _Turn(tags[texts[key]], states.get(key, {}), active[key], booked.get(key, ())) for key in here
        ]
        for dialogue, here in keys.items()
    }


def _rows(frame: pd.DataFrame) -> Iterable[tuple[Any, ...]]:
    return zip(*(frame[column].tolist() for column in frame.columns), strict=True)

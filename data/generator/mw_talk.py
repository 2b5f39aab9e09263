"""The course of a MultiWOZ-style dialogue: from a goal to turns with states, in both languages.

User and assistant follow a simple agenda with human detours: several wishes at once, changes of
mind, indifference, bookings that fail, questions that the assistant forgets to answer.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import mw_phrases
import mw_say
import mw_user_text as user
from dice import Dice
from mw_goal import FIELDS, Wish
from mw_values import VALUES, state_slot
from mw_world import CARS, ZH_NAMES, search
from text import EMPTY, Pair, Utterance, acts_of, chain, say

#: Shares of the assistant's slips: why the gold responses do not reach every goal.
FORGETS_ANSWER, OFFERS_WRONGLY = 0.09, 0.05
CHANGES_MIND = 0.2

State = dict[str, dict[tuple[str, str], tuple[str, str]]]
Tell = Callable[[Dice], Utterance]


@dataclass
class Turn:
    """A user utterance, the answer (and how to tell it again), and the state after the user spoke."""

    domain: str
    user: Utterance
    system: Utterance
    tell: Tell
    state: State
    booked: dict[str, list[dict[str, str]]]


@dataclass
class Talk:
    """A dialogue in the making."""

    dice: Dice
    goal: dict[str, Wish]
    database: dict[str, list[dict]]
    turns: list[Turn] = field(default_factory=list)
    state: State = field(default_factory=dict)
    booked: dict[str, list[dict[str, str]]] = field(default_factory=dict)
    told: dict[str, str] = field(default_factory=dict)
    found: dict[str, dict[str, Any]] = field(default_factory=dict)

    def exchange(
        self, domain: str, said: Utterance, tell: Tell, booking: dict[str, str] | None = None
    ) -> None:
        """Add a turn; what the user informed goes into the state, what was booked into the bookings."""
        if domain:
            self.state.setdefault(domain, {})
        # Chinese says things in another order, so an act finds its twin by what it is about.
        chinese: dict[tuple[str, str], list[str]] = {}
        for act, slot, zh in acts_of(said, 1):
            chinese.setdefault((act, slot), []).append(zh)
        for act, slot, en in acts_of(said, 0):
            zh = chinese[act, slot].pop(0)
            about, kind = act.split("-")
            place = state_slot(about.lower(), slot) if kind == "Inform" else None
            if place:
                self.state.setdefault(about.lower(), {})[place] = (en, zh)
        if booking:
            self.booked[domain] = [booking]
        state = {d: dict(s) for d, s in self.state.items()}
        self.turns.append(
            Turn(domain, said, tell(self.dice), tell, state, {d: list(b) for d, b in self.booked.items()})
        )

    def accept(self, domain: str, entry: dict) -> None:
        """The user settles on a venue: its name joins the state."""
        self.found[domain] = entry
        self.state.setdefault(domain, {})["semi", "name"] = (entry["name"], ZH_NAMES[entry["name"]])


def hold(dice: Dice, goal: dict[str, Wish], database: dict[str, list[dict]]) -> Talk:
    """Let user and assistant talk until the goal is dealt with."""
    talk = Talk(dice, goal, database)
    for i, (domain, wish) in enumerate(goal.items()):
        start = EMPTY if i or dice.chance(0.55) else say(dice, user.HELLO)
        play = {"train": _train, "taxi": _taxi}.get(domain, partial(_venue, domain=domain))
        play(talk, wish=wish, start=start, first=i == 0)
    if dice.chance(0.45):
        thanks = Utterance(say(dice, user.THANKS), (("general-thank", "none", "none"),))
        talk.exchange("", thanks, partial(mw_say.general, kind="welcome"))
    last = Utterance(
        say(dice, user.CLOSE), (("general-thank", "none", "none"), ("general-bye", "none", "none"))
    )
    talk.exchange("", last, partial(mw_say.general, kind="bye"))
    return talk


def _venue(talk: Talk, wish: Wish, start: Pair, first: bool, domain: str) -> None:
    dice, act, entries = talk.dice, f"{domain.capitalize()}-Inform", talk.database[domain]
    entry = wish.target
    if "Name" in wish.info:
        start = start if first else say(dice, user.GO_ON)
        pending = chain(start, say(dice, user.OPEN_NAME, name=mw_phrases.name(act, "Name", entry["name"])))
        talk.exchange(
            domain,
            Utterance(pending),
            partial(mw_say.offer, domain=domain, entry=entry, books=bool(wish.book), bare=0.0),
        )
    else:
        entry = _search(talk, wish, start, first, domain, act, entries)
    pending = EMPTY
    asked = list(wish.ask)
    if (asked and dice.chance(0.7)) or not wish.book:
        talk.accept(domain, entry)
        pending = _ask(talk, domain, entry, asked)
        asked = []
    if wish.book:
        _book(talk, wish, domain, act, entry, pending)
        pending = EMPTY
    if asked:
        _ask(talk, domain, entry, asked)


def _search(
    talk: Talk, wish: Wish, start: Pair, first: bool, domain: str, act: str, entries: list[dict]
) -> dict:
    """Ask for a place, answer questions, perhaps try again or change one's mind; return what is offered."""
    dice = talk.dice
    wants = wish.info | wish.fail
    now = dice.some(list(wants), dice.between(1, min(3, len(wants))))
    np = mw_phrases.noun_phrase(dice, domain, act, {s: wants[s] for s in now})
    pending = chain(
        start,
        mw_phrases.with_phrase(
            dice, user.OPEN[domain] if first else user.NEXT_VISIT if domain == "attraction" else user.NEXT, np
        ),
    )
    open_slots = [s for s in wants if s not in now]
    extra = [s for s in ("Area", "Price") if s not in wants and not (domain == "attraction" and s == "Price")]
    if extra and dice.chance(0.35):
        open_slots.append(dice.pick(extra))
    while open_slots:
        size = dice.weighted({1: 3, 2: 1})
        group, open_slots = open_slots[:size], open_slots[size:]
        known = {FIELDS[s]: wants[s] for s in now}
        count = len(search(entries, known))
        talk.exchange(
            domain,
            Utterance(pending),
            partial(mw_say.request, domain=domain, slots=group, count=count or None),
        )
        pending = chain(*(mw_phrases.answer(dice, act, s, wants.get(s, "dontcare")) for s in group))
        now += [s for s in group if s in wants]
    if wish.fail:
        talk.exchange(domain, Utterance(pending), partial(mw_say.nothing, domain=domain, wants=wants))
        (slot,) = wish.fail
        pending = say(dice, user.RETRY, change=mw_phrases.change(dice, act, slot, wish.info[slot]))
    fitting = search(entries, {FIELDS[s]: v for s, v in wish.info.items()})
    entry, bare = dice.pick(fitting), 0.3
    if len(fitting) > 1 and dice.chance(0.2):
        pair = dice.some(fitting, 2)
        talk.exchange(
            domain, Utterance(pending), partial(mw_say.select, domain=domain, first=pair[0], second=pair[1])
        )
        entry, bare = dice.pick(pair), 0.0
        pending = say(dice, _PICK, name=mw_phrases.name(act, "Name", entry["name"]))
    elif dice.chance(OFFERS_WRONGLY):
        entry = dice.pick([e for e in entries if e not in fitting])
    tell = partial(
        mw_say.offer, domain=domain, entry=entry, books=bool(wish.book), count=len(fitting), bare=bare
    )
    talk.exchange(domain, Utterance(pending), tell)
    if not wish.fail and entry in fitting and dice.chance(CHANGES_MIND):
        entry = _change_mind(talk, wish, domain, act, entries) or entry
    return entry


_PICK = [
    ("{name} sounds good, tell me about it.", "{name}听起来不错，介绍一下吧。"),
    ("I'd go for {name}.", "我选{name}。"),
    ("Let's hear more about {name}.", "多说说{name}吧。"),
]


def _change_mind(talk: Talk, wish: Wish, domain: str, act: str, entries: list[dict]) -> dict | None:
    dice = talk.dice
    kinds = {
        "Food": "food",
        "Area": "area",
        "Price": "pricerange",
        "Type": "hoteltype" if domain == "hotel" else "attractiontype",
    }
    for slot in dice.mixed([s for s in wish.info if s in kinds]):
        for value in dice.mixed(list(VALUES[kinds[slot]])):
            info = wish.info | {slot: value}
            fitting = search(entries, {FIELDS[s]: v for s, v in info.items()})
            if value != wish.info[slot] and fitting:
                # The first choice becomes what the goal calls fail_info; a name chosen before is void.
                wish.fail, wish.info = {slot: wish.info[slot]}, info
                wish.target = dice.pick(fitting)
                talk.state[domain].pop(("semi", "name"), None)
                said = say(dice, user.CHANGE, change=mw_phrases.change(dice, act, slot, value))
                books = bool(wish.book)
                tell = partial(
                    mw_say.offer, domain=domain, entry=wish.target, books=books, count=len(fitting)
                )
                talk.exchange(domain, Utterance(said), tell)
                return wish.target
    return None


def _ask(talk: Talk, domain: str, entry: dict, slots: list[str]) -> Pair:
    """Ask for facts; what the assistant forgets is asked again or dropped. Returns what is left unsaid."""
    if not slots:
        return EMPTY
    dice, act = talk.dice, f"{domain.capitalize()}-Request"
    requests = tuple((act, {"Duration": "Time"}.get(s, s), "?") for s in slots)
    told = [s for s in slots if not dice.chance(FORGETS_ANSWER)] or slots[:1]
    said = mw_phrases.ask(dice, user.ASK, slots)
    talk.exchange(
        domain, Utterance(said, requests), partial(mw_say.facts, domain=domain, entry=entry, slots=told)
    )
    missed = [s for s in slots if s not in told]
    if missed and dice.chance(0.35):
        again = tuple((act, {"Duration": "Time"}.get(s, s), "?") for s in missed)
        said = mw_phrases.ask(dice, user.ASK_MORE, missed)
        talk.exchange(
            domain, Utterance(said, again), partial(mw_say.facts, domain=domain, entry=entry, slots=missed)
        )
    return EMPTY


def _book(talk: Talk, wish: Wish, domain: str, act: str, entry: dict, pending: Pair) -> None:
    dice = talk.dice
    talk.accept(domain, entry)
    wants = wish.book | wish.fail_book
    now = list(wants) if dice.chance(0.6) else dice.some(list(wants), 2)
    pending = chain(
        pending, say(dice, user.BOOK, how=mw_phrases.how(dice, act, {s: wants[s] for s in now}, talk.told))
    )
    missing = [s for s in wants if s not in now]
    if missing:
        slots = [s.replace("Day", "BookDay") for s in missing[:1]]
        talk.exchange(domain, Utterance(pending), partial(mw_say.request, domain=domain, slots=slots))
        pending = say(
            dice, user.BOOK_REST, how=mw_phrases.how(dice, act, {s: wants[s] for s in missing}, talk.told)
        )
    if wish.fail_book:
        (slot,) = wish.fail_book
        talk.exchange(domain, Utterance(pending), partial(mw_say.not_booked, entry=entry, slot=slot))
        pending = say(
            dice, user.RETRY[:2] + user.RETRY[3:], change=mw_phrases.change(dice, act, slot, wish.book[slot])
        )
    talk.told |= {s: wish.book[s] for s in ("People", "Day")}
    reference = dice.code()
    tell = partial(mw_say.booked, entry=entry, reference=reference, wants=wish.book)
    talk.exchange(domain, Utterance(pending), tell, {"name": entry["name"], "reference": reference})


def _train(talk: Talk, wish: Wish, start: Pair, first: bool) -> None:
    dice, act, entry = talk.dice, "Train-Inform", wish.target
    now = ["Depart", "Dest"] if dice.chance(0.7) else [dice.pick(("Depart", "Dest"))]
    now += [s for s in wish.info if s not in ("Depart", "Dest") and dice.chance(0.5)]
    how = mw_phrases.journey(dice, act, {s: wish.info[s] for s in now}, {})
    pending = chain(start, say(dice, user.TRAIN_OPEN if first else user.TRAIN_NEXT, how=how))
    for slot in [s for s in wish.info if s not in now]:
        asked = "Leave" if slot == "Arrive" else slot
        talk.exchange("train", Utterance(pending), partial(mw_say.request, domain="train", slots=[asked]))
        pending = mw_phrases.answer(dice, act, slot, wish.info[slot])
    talk.exchange("train", Utterance(pending), partial(mw_say.train_offer, entry=entry))
    if dice.chance(CHANGES_MIND) and not wish.fail:
        day = dice.pick([d for d in VALUES["day"] if d != entry["day"]])
        wish.fail, wish.info = {"Day": wish.info["Day"]}, wish.info | {"Day": day}
        times = {"leaveAt": entry["leaveAt"], "arriveBy": entry["arriveBy"]}
        route = {"day": day, "departure": entry["departure"], "destination": entry["destination"]}
        wish.target = entry = search(talk.database["train"], route | times)[0]
        said = say(dice, user.CHANGE, change=mw_phrases.change(dice, act, "Day", day))
        talk.exchange("train", Utterance(said), partial(mw_say.train_offer, entry=entry))
    if wish.ask:
        _ask(talk, "train", entry, wish.ask)
    if wish.book:
        people = wish.book["People"]
        bank = user.TRAIN_BOOK_ONE if people == "1" else user.TRAIN_BOOK
        said = say(dice, bank, v=mw_phrases.value(dice, act, "People", people))
        talk.told["People"] = people
        reference = dice.code()
        tell = partial(mw_say.train_booked, entry=entry, reference=reference, people=int(people))
        talk.exchange("train", Utterance(said), tell, {"trainID": entry["trainID"], "reference": reference})


def _taxi(talk: Talk, wish: Wish, start: Pair, first: bool) -> None:
    dice, act = talk.dice, "Taxi-Inform"
    names = {}
    if "Depart" not in wish.info:
        places = [d for d in ("restaurant", "hotel", "attraction") if d in talk.found]
        chosen = dice.mixed(places)[:2]
        wish.info |= {s: talk.found[d]["name"] for s, d in zip(("Depart", "Dest"), chosen, strict=True)}
        words = {
            "restaurant": ("the restaurant", "餐厅"),
            "hotel": ("the hotel", "酒店"),
            "attraction": ("the attraction", "景点"),
        }
        names = {s: words[d] for s, d in zip(("Depart", "Dest"), chosen, strict=True) if dice.chance(0.35)}
    when = next(s for s in wish.info if s in ("Leave", "Arrive"))
    now = ["Depart", "Dest"] + ([when] if dice.chance(0.5) else [])
    how = mw_phrases.journey(dice, act, {s: wish.info[s] for s in now}, names)
    pending = chain(start, say(dice, user.TAXI_OPEN if first else user.TAXI_NEXT, how=how))
    if when not in now:
        talk.exchange("taxi", Utterance(pending), partial(mw_say.request, domain="taxi", slots=["Leave"]))
        pending = mw_phrases.answer(dice, act, when, wish.info[when])
    car = dice.pick(list(CARS.items()))
    phone = f"07700900{dice.between(100, 999)}"
    tell = partial(mw_say.taxi_done, car=car, phone=phone, whole=not dice.chance(0.1))
    talk.exchange("taxi", Utterance(pending), tell, {"phone": phone, "type": car[0]})

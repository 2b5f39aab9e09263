"""What a user of the MultiWOZ-style corpora wants: goals, and their text for the crowd worker."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from dice import Dice
from mw_values import DAYS, VALUES
from mw_world import TOWN, search

SLOTS = {
    "restaurant": {"Food": 0.85, "Price": 0.75, "Area": 0.75},
    # Parking, internet and stars are rare: a score that weighs slots alike looks at them most.
    "hotel": {"Area": 0.6, "Price": 0.6, "Type": 0.55, "Stars": 0.22, "Parking": 0.3, "Internet": 0.25},
    "attraction": {"Type": 0.8, "Area": 0.65},
}
FIELDS = {"Food": "food", "Price": "pricerange", "Area": "area", "Type": "type", "Stars": "stars"}
FIELDS |= {
    "Parking": "parking",
    "Internet": "internet",
    "Name": "name",
    "Depart": "departure",
    "Dest": "destination",
}
FIELDS |= {
    "Day": "day",
    "Leave": "leaveAt",
    "Arrive": "arriveBy",
    "People": "people",
    "Stay": "stay",
    "Time": "time",
}
REQUESTABLE = {
    "restaurant": {
        "Addr": "address",
        "Phone": "phone",
        "Post": "postcode",
        "Price": "pricerange",
        "Area": "area",
    },
    "hotel": {"Addr": "address", "Phone": "phone", "Post": "postcode", "Stars": "stars", "Type": "type"},
    "attraction": {
        "Addr": "address",
        "Phone": "phone",
        "Post": "postcode",
        "Fee": "entrance fee",
        "Area": "area",
    },
    "train": {"Duration": "duration", "Ticket": "price", "Id": "trainID", "Arrive": "arriveBy"},
}


@dataclass
class Wish:
    """One domain of a goal, by act slots; ``fail`` holds what is tried first and cannot be had."""

    info: dict[str, str] = field(default_factory=dict)
    fail: dict[str, str] = field(default_factory=dict)
    book: dict[str, str] = field(default_factory=dict)
    fail_book: dict[str, str] = field(default_factory=dict)
    ask: list[str] = field(default_factory=list)
    target: dict[str, Any] = field(default_factory=dict)


def draw(dice: Dice, database: dict[str, list[dict]]) -> dict[str, Wish]:
    """A goal of one to four domains."""
    size = dice.weighted({1: 0.26, 2: 0.46, 3: 0.28})
    domains = dice.mixed(["restaurant", "hotel", "attraction", "train"])[:size]
    if size == 1 and dice.chance(0.15):
        domains = ["taxi"]
    party = str(dice.between(1, 8)), dice.pick(list(DAYS))
    goal = {}
    for domain in domains:
        people, day = party if dice.chance(0.65) else (str(dice.between(1, 8)), dice.pick(list(DAYS)))
        if domain == "train":
            goal[domain] = _train(dice, database, people, day)
        elif domain != "taxi":
            goal[domain] = _venue(dice, domain, database[domain], people, day)
    places = [d for d in domains if d in ("restaurant", "hotel", "attraction")]
    if domains == ["taxi"] or (len(places) > 1 and dice.chance(0.45)):
        goal["taxi"] = _taxi(dice, database, places)
    return goal


def _venue(dice: Dice, domain: str, entries: list[dict], people: str, day: str) -> Wish:
    target = dice.pick(entries)
    kind = {k: v.replace("swimmingpool", "swimming pool") for k, v in target.items() if isinstance(v, str)}
    wish = Wish(target=target)
    if dice.chance(0.16):
        wish.info = {"Name": target["name"]}
    else:
        chosen = [s for s, share in SLOTS[domain].items() if dice.chance(share)]
        wish.info = {s: kind[FIELDS[s]] for s in chosen or ["Area"]}
        if dice.chance(0.3):
            wish.fail = _impossible(dice, domain, entries, wish.info)
    if domain != "attraction" and dice.chance(0.62):
        wish.book = {"People": people, "Day": day}
        if domain == "hotel":
            wish.book["Stay"] = str(dice.between(1, 5))
        else:
            wish.book["Time"] = f"{dice.between(8, 21):02d}:{dice.pick((0, 15, 30, 45)):02d}"
        if dice.chance(0.22):
            wish.fail_book = _taken(dice, wish.book)
    if not wish.book or dice.chance(0.3):
        free = [
            s
            for s in REQUESTABLE[domain]
            if s not in wish.info and not (s == "Area" and "Name" not in wish.info)
        ]
        wish.ask = dice.some(free, min(len(free), dice.weighted({1: 3, 2: 4, 3: 2})))
    return wish


def _impossible(dice: Dice, domain: str, entries: list[dict], info: dict[str, str]) -> dict[str, str]:
    """One wish replaced by a value for which the database has nothing."""
    kinds = {"Food": "food", "Area": "area", "Price": "pricerange", "Stars": "stars"}
    kinds |= {"Type": "attractiontype" if domain == "attraction" else "hoteltype"}
    for slot in dice.mixed([s for s in info if s in kinds]):
        for value in dice.mixed(list(VALUES[kinds[slot]])):
            if not search(entries, {FIELDS[s]: v for s, v in (info | {slot: value}).items()}):
                return {slot: value}
    return {}


def _taken(dice: Dice, book: dict[str, str]) -> dict[str, str]:
    if "Stay" in book:
        return {"Stay": str(int(book["Stay"]) + dice.between(1, 2))}
    hour, minute = book["Time"].split(":")
    return {"Time": f"{(int(hour) + dice.between(1, 2)) % 24:02d}:{minute}"}


def _train(dice: Dice, database: dict[str, list[dict]], people: str, day: str) -> Wish:
    target = dice.pick(search(database["train"], {"day": day}))
    wish = Wish(target=target)
    wish.info = {s: target[FIELDS[s]] for s in ("Depart", "Dest", "Day")}
    hour, minute = map(int, target["leaveAt" if dice.chance(0.5) else "arriveBy"].split(":"))
    slot = "Leave" if f"{hour:02d}:{minute:02d}" == target["leaveAt"] else "Arrive"
    quarter = 15 * (minute // 15 + (slot == "Arrive"))
    wish.info[slot] = f"{hour + quarter // 60:02d}:{quarter % 60:02d}"
    if dice.chance(0.6):
        wish.book = {"People": people}
    if not wish.book or dice.chance(0.25):
        free = [s for s in REQUESTABLE["train"] if s not in wish.info]
        wish.ask = dice.some(free, dice.between(1, 2))
    return wish


def _taxi(dice: Dice, database: dict[str, list[dict]], places: list[str]) -> Wish:
    wish = Wish(ask=["Car", "Phone"])
    if not places:
        first, second = dice.some(
            [e["name"] for d in ("restaurant", "hotel", "attraction") for e in database[d]], 2
        )
        wish.info = dict(zip(("Depart", "Dest"), dice.mixed([first, second]), strict=True))
    slot = dice.pick(("Leave", "Arrive"))
    wish.info[slot] = f"{dice.between(7, 22):02d}:{dice.pick((0, 15, 30, 45)):02d}"
    return wish


def as_json(goal: dict[str, Wish]) -> dict[str, Any]:
    """The goal in the layout of the corpus."""
    out: dict[str, Any] = {
        d: {} for d in ("taxi", "police", "hospital", "hotel", "attraction", "train", "restaurant")
    }
    for domain, wish in goal.items():
        entry: dict[str, Any] = {"info": {FIELDS[s]: v for s, v in wish.info.items()}}
        if wish.ask:
            names = {"Car": "car type", "Phone": "phone"} if domain == "taxi" else REQUESTABLE[domain]
            entry["reqt"] = [names[s] for s in wish.ask]
        entry["fail_info"] = {FIELDS[s]: v for s, v in (wish.info | wish.fail).items()} if wish.fail else {}
        if wish.book:
            entry["book"] = {FIELDS[s]: v for s, v in wish.book.items()} | {"invalid": False}
            entry["fail_book"] = {FIELDS[s]: v for s, v in wish.fail_book.items()}
            if wish.fail_book:
                entry["book"]["pre_invalid"] = True
        out[domain] = entry
    return {**out, "message": _message(goal)}


_THING = {
    "restaurant": "a <b>restaurant</b>",
    "hotel": "a <b>place to stay</b>",
    "attraction": "<b>places to go</b> in town",
    "train": "a <b>train</b>",
    "taxi": "a <b>taxi</b>",
}
_WISH = {
    "Area": "should be in the <b>{}</b>",
    "Price": "should be in the <b>{}</b> price range",
    "Food": "should serve <b>{}</b> food",
    "Type": "should be of the type <b>{}</b>",
    "Stars": "should have <b>{}</b> stars",
    "Parking": "should have parking: <b>{}</b>",
    "Internet": "should have internet: <b>{}</b>",
    "Name": "is called <b>{}</b>",
    "Depart": "should depart from <b>{}</b>",
    "Dest": "should go to <b>{}</b>",
    "Day": "should be on <b>{}</b>",
    "Leave": "should leave after <b>{}</b>",
    "Arrive": "should arrive by <b>{}</b>",
}


def _message(goal: dict[str, Wish]) -> list[str]:
    lines = [f"You are planning your trip to {TOWN[0]}"]
    for domain, wish in goal.items():
        also = "also " if len(lines) > 1 else ""
        first = wish.info | wish.fail
        wishes = " and ".join(_WISH[s].format(v) for s, v in first.items())
        lines.append(f"You are {also}looking for {_THING[domain]}. The {domain} {wishes}")
        if wish.fail:
            (value,) = [wish.info[s] for s in wish.fail]
            lines.append(f"If there is no such {domain}, how about <b>{value}</b>")
        if wish.book:
            tried = wish.book | wish.fail_book
            details = {
                "People": "for <b>{} people</b>",
                "Day": "on <b>{}</b>",
                "Time": "at <b>{}</b>",
                "Stay": "for <b>{} nights</b>",
            }
            lines.append(
                f"Once you find the <b>{domain}</b> you want to book it "
                + " ".join(details[s].format(v) for s, v in tried.items())
            )
        if wish.fail_book:
            lines.append(
                f"If the booking fails how about <b>{next(iter(wish.book[s] for s in wish.fail_book))}</b>"
            )
        if wish.book:
            lines.append("Make sure you get the <b>reference number</b>")
        if wish.ask:
            names = (
                {"Car": "car type", "Phone": "contact number"} if domain == "taxi" else REQUESTABLE[domain]
            )
            lines.append("Make sure you get <b>" + "</b> and <b>".join(names[s] for s in wish.ask) + "</b>")
    return [line.replace("<b>", "<span class='emphasis'>").replace("</b>", "</span>") for line in lines]

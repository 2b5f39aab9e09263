"""Sentences of the CrossWOZ-style corpora: facts in, pairs and utterances out."""

from __future__ import annotations

from typing import Any

import cw_text as bank
from cw_world import NEARBY, STATIONS, Place, nearby
from dice import Dice
from text import EMPTY, Pair, Utterance, Value, both, chain, fill, listing, say, without_measure

BLANK = "\xa0"


def spoken(name: str) -> str:
    """A value as it is said: the odd blanks of the annotation are gone."""
    return name.replace(BLANK, " ").strip()


def mark(act: str, slot: str, value: tuple[str, str]) -> Pair:
    return (Value(act, slot, value[0], spoken(value[0])),), (Value(act, slot, value[1], value[1]),)


def marks(act: str, slot: str, wish: Any) -> Pair:
    """A wish or fact, also one that is a list; each facility is a slot of its own."""
    if not isinstance(wish, list):
        return mark(act, slot, wish)
    if slot != "Hotel Facilities":
        return listing([mark(act, slot, w) for w in wish])
    parts = []
    for en, zh in wish:
        name = f"Hotel Facilities - {en}"
        parts.append(((Value(act, name, "yes", en),), (Value(act, name, "是", zh),)))
    return listing(parts)


def quality(dice: Dice, act: str, slot: str, wish: Any) -> Pair:
    if slot == "type":
        return fill(("@a {v} price class", "{v}"), v=marks(act, slot, wish))
    key = "fee0" if slot == "fee" and wish[0] == "free" else slot
    return say(dice, bank.QUALITY[key], v=marks(act, slot, wish))


def wish(dice: Dice, domain: str, wishes: dict[str, Any], first: bool, source: str = "") -> Utterance:
    """Ask for a place with certain qualities, perhaps among those just heard of."""
    act = f"Inform|{domain}"
    qualities = [quality(dice, act, s, w) for s, w in wishes.items() if s != "type" or source]
    greeting, acts = EMPTY, [(f"Request|{domain}", "name", "")]
    if source:
        acts = [(f"Select|{domain}", "source domain", source)]
        pair = say(dice, bank.PICK_NEARBY, things=both(*bank.THINGS[domain]), list=_qualities(qualities))
        return Utterance(pair, tuple(acts))
    thing_en, measure, thing_zh = dice.pick(bank.THING[domain])
    head: Pair = both(thing_en, thing_zh)
    if "type" in wishes:
        head = fill(("@a {v} hotel", "{v}酒店"), v=mark(act, "type", wishes["type"]))
    listed = _qualities(qualities)
    en = (*head[0], " with ", *listed[0]) if qualities else head[0]
    zh = (measure, *listed[1], "的", *head[1]) if qualities else (measure, *head[1])
    np = (tuple(en), tuple(zh))
    template = dice.pick(bank.OPEN[domain] if first or dice.chance(0.3) else bank.NEXT)
    pair = fill(template, np=np)
    pair = (pair[0], without_measure(pair[1]))
    if first and dice.chance(0.7):
        greeting = say(dice, bank.GREET)
        acts.append(("General|greet", "none", "none"))
    return Utterance(chain(greeting, pair), tuple(acts))


def _qualities(pairs: list[Pair]) -> Pair:
    en, _ = listing(pairs)
    zh = chain(*pairs, zh="、")[1]
    return en, zh


def by_name(dice: Dice, place: Place, slots: list[str], first: bool) -> Utterance:
    act = f"Inform|{place.domain}"
    question = say(dice, bank.ASK_LEAD, list=_nouns(slots))
    pair = say(dice, bank.BY_NAME, name=mark(act, "name", place.name), ask=question)
    acts = [(f"Request|{place.domain}", s, "") for s in slots]
    if first and dice.chance(0.6):
        pair = chain(say(dice, bank.GREET), pair)
        acts.append(("General|greet", "none", "none"))
    return Utterance(pair, tuple(acts))


def _nouns(slots: list[str]) -> Pair:
    return listing([both(*bank.NOUN[s]) for s in slots])


def ask(dice: Dice, place: Place, slots: list[str], choice: str = "only") -> Utterance:
    """Ask for facts; with ``choice="many"`` the user says which of several places is meant."""
    name = mark(f"Inform|{place.domain}", "name", place.name)
    acts = tuple((f"Request|{place.domain}", s, "") for s in slots)
    if slots[0] in NEARBY:
        templates = bank.ASK_NEARBY if choice == "only" else bank.ASK_NEARBY[:1]
        return Utterance(say(dice, templates, name=name, things=both(*bank.THINGS[NEARBY[slots[0]]])), acts)
    return Utterance(
        say(dice, bank.ASK if choice == "only" else bank.ASK_NAMED, name=name, list=_nouns(slots)), acts
    )


def change(dice: Dice, domain: str, slot: str, value: Any) -> Utterance:
    return Utterance(say(dice, bank.CHANGE, q=quality(dice, f"Inform|{domain}", slot, value)))


def travel(dice: Dice, domain: str, a: Place, b: Place) -> Utterance:
    act = f"Inform|{domain}"
    templates = bank.METRO if domain == "Metro" else bank.TAXI
    asks = ("from station", "to station") if domain == "Metro" else ("car type", "plate number")
    pair = say(dice, templates, a=mark(act, "from", a.name), b=mark(act, "to", b.name))
    return Utterance(pair, tuple((f"Request|{domain}", s, "") for s in asks))


def thank(dice: Dice) -> Pair:
    return say(dice, bank.THANK)


# --- the assistant ------------------------------------------------------------------------------


def welcome(dice: Dice) -> Utterance:
    return Utterance(say(dice, bank.WELCOME), (("General|welcome", "none", "none"),))


def offer(dice: Dice, places: list[Place]) -> Utterance:
    names = [mark(f"Inform|{p.domain}", "name", p.name) for p in places]
    if len(names) == 1:
        return Utterance(say(dice, bank.OFFER, name=names[0]))
    return Utterance(say(dice, bank.OFFER_TWO if len(names) == 2 else bank.OFFER_MANY, list=listing(names)))


def nothing(dice: Dice, place: Place, slot: str) -> Utterance:
    act = f"Inform|{place.domain}"
    pair = say(
        dice, bank.NOOFFER, name=mark(act, "name", place.name), q=quality(dice, act, slot, place.facts[slot])
    )
    return Utterance(pair, ((f"NoOffer|{place.domain}", "none", "none"),))


def facts(dice: Dice, talk: list[Place], place: Place, slots: list[str]) -> Utterance:
    """Answer questions about a place; ``talk`` are all places of the city."""
    act = f"Inform|{place.domain}"
    sentences = []
    for slot in slots:
        if slot in NEARBY:
            around = nearby(talk, place, slot)
            things = both(*bank.THINGS[NEARBY[slot]])
            v = listing([mark(act, slot, p.name) for p in around])
            sentences.append(say(dice, bank.NEARBY_FACT, v=v, things=things))
            continue
        key = "fee0" if slot == "fee" and place.facts[slot][0] == "free" else slot
        sentences.append(say(dice, bank.FACT[key], v=marks(act, slot, place.facts[slot])))
    return Utterance(chain(*sentences))


def station(place: Place) -> tuple[str, str]:
    """The metro station of a place; ``no`` and 无 where there is none."""
    return STATIONS[place.quarter] if STATIONS[place.quarter][0] else ("no", "无")


def metro(dice: Dice, a: Place, b: Place) -> Utterance:
    act = "Inform|Metro"
    stops = {"from station": a, "to station": b}
    without = {s: p for s, p in stops.items() if station(p)[0] == "no"}
    if without:
        sentences = [fill(bank.METRO_NONE, name=both(spoken(p.name[0]), p.name[1])) for p in without.values()]
        acts = [(act, s, station(p)) for s, p in stops.items()]
        return Utterance(chain(*sentences), tuple((a_, s, v) for a_, s, v in acts))
    return Utterance(
        say(
            dice,
            bank.METRO_ANSWER,
            a=mark(act, "from station", station(a)),
            b=mark(act, "to station", station(b)),
        )
    )


def taxi(dice: Dice) -> Utterance:
    act = "Inform|Taxi"
    return Utterance(
        say(
            dice,
            bank.TAXI_ANSWER,
            a=mark(act, "car type", ("#CX", "#CX")),
            b=mark(act, "plate number", ("#CP", "#CP")),
        )
    )

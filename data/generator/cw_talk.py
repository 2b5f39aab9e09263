"""Goals and the course of CrossWOZ-style dialogues, in both languages."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import cw_say
from cw_world import NEARBY, Place, constraint, nearby, satisfies
from dice import Dice
from text import Utterance

SLOTS = {
    "Attraction": {"fee": 0.7, "duration": 0.5, "rating": 0.65},
    "Restaurant": {"dishes": 0.75, "cost": 0.65, "rating": 0.65},
    # Facilities are the rare slot here.
    "Hotel": {"type": 0.6, "price": 0.55, "rating": 0.5, "Hotel Facilities": 0.25},
}
ASKS = {
    "Attraction": ("phone", "address", "fee", "duration", "rating"),
    "Restaurant": ("phone", "address", "cost", "open", "rating", "dishes"),
    "Hotel": ("phone", "address", "type", "price", "rating"),
}
LAYOUT = {
    "Attraction": ("name", "fee", "duration", "rating", "nearby attract.", "nearby rest.", "nearby hotels"),
    "Restaurant": ("name", "dishes", "cost", "rating", "nearby attract.", "nearby rest.", "nearby hotels"),
    "Hotel": (
        "name",
        "type",
        "Hotel Facilities",
        "price",
        "rating",
        "nearby attract.",
        "nearby rest.",
        "nearby hotels",
    ),
    "Metro": ("from", "to"),
    "Taxi": ("from", "to"),
}
#: Share of wishes that nothing fulfils, of changes of mind, and of facts the assistant forgets.
IMPOSSIBLE, CHANGES_MIND, FORGETS = 0.2, 0.14, 0.06


@dataclass
class Sub:
    """One part of a goal."""

    id: int
    domain: str
    wishes: dict[str, Any] = field(default_factory=dict)
    asks: list[str] = field(default_factory=list)
    place: Place | None = None
    near: Sub | None = None
    ends: tuple[int, int] = (0, 0)


State = dict[str, dict[str, Any]]
Pairs = dict[tuple[int, str], Any]


@dataclass
class Turn:
    """A user message and the answer, with the state before and after the assistant acted."""

    user: Utterance
    system: Utterance
    tell: Callable[[Dice], Utterance]
    init: State
    after: State
    mentioned: set[tuple[int, str]]
    known: Pairs
    said: set[tuple[str, str]]


@dataclass
class Talk:
    dice: Dice
    kind: str
    goal: list[Sub]
    places: list[Place]
    turns: list[Turn] = field(default_factory=list)
    state: State = field(
        default_factory=lambda: {d: {"selected": [], **dict.fromkeys(LAYOUT[d])} for d in LAYOUT}
    )
    mentioned: set[tuple[int, str]] = field(default_factory=set)
    known: Pairs = field(default_factory=dict)

    def exchange(
        self, said: Utterance, tell: Callable[[Dice], Utterance], domain: str, **changes: Any
    ) -> None:
        """Add a turn.

        ``update``: slots the user sets, those ``implied`` without naming them; ``found``: results of the search; ``relaxed``: slots the
        assistant gives up, with results that only it knows of; ``mentions``, ``learned``: progress
        of the goal.
        """
        state = _copy(self.state)
        update = changes.get("update", {})
        if domain:
            state[domain].update(update)
        if "found" in changes:
            state[domain]["selected"] = [p if isinstance(p, tuple) else p.name for p in changes["found"]]
        after = _copy(state)
        for other in after:
            if other != domain:
                after[other]["selected"] = []
        if "relaxed" in changes:
            slots, results = changes["relaxed"]
            after[domain].update(slots)
            after[domain]["selected"] = [p.name for p in results]
        self.mentioned |= changes.get("mentions", set())
        mentioned, known = set(self.mentioned), dict(self.known)
        self.known.update(changes.get("learned", {}))
        told = {(domain, s) for s in update if s not in changes.get("implied", ())}
        self.turns.append(Turn(said, tell(self.dice), tell, state, after, mentioned, known, told))
        self.state = after


def _copy(state: State) -> State:
    return {d: {k: list(v) if k == "selected" else v for k, v in slots.items()} for d, slots in state.items()}


def draw(dice: Dice, places: list[Place]) -> tuple[str, list[Sub]]:
    """A type of dialogue and a goal of that type."""
    kind = dice.weighted({"S": 0.12, "M": 0.28, "M+T": 0.16, "CM": 0.28, "CM+T": 0.16})
    size = 1 if kind == "S" else dice.weighted({2: 0.6, 3: 0.4})
    goal: list[Sub] = []
    for number, domain in enumerate(dice.mixed(list(SLOTS))[:size], 1):
        before = goal[-1] if goal and kind.startswith("CM") else None
        slot = next((s for s, d in NEARBY.items() if d == domain), "")
        around = nearby(places, before.place, slot) if before and before.place else []
        place = dice.pick(around or [p for p in places if p.domain == domain])
        sub = Sub(number, domain, place=place, near=before)
        if before and slot not in before.asks:
            before.asks.append(slot)
        if not before and dice.chance(0.25):
            sub.wishes = {"name": place.name}
        else:
            chosen = [s for s, share in SLOTS[domain].items() if dice.chance(share)] or ["rating"]
            sub.wishes = {s: constraint(place, s, dice) for s in chosen[:3]}
        free = [s for s in ASKS[domain] if s not in sub.wishes]
        sub.asks = dice.some(free, min(len(free), dice.between(1, 2)))
        if dice.chance(0.4):
            # Nobody asks for the hotels around a hotel.
            sub.asks += [dice.pick(list(NEARBY)[: 2 if domain == "Hotel" else 3])]
        goal.append(sub)
    if kind.endswith("T"):
        first, second = dice.mixed(goal)[:2]
        apart = first.place.quarter != second.place.quarter
        way = "Metro" if apart and dice.chance(0.6) else "Taxi"
        asks = ["from station", "to station"] if way == "Metro" else ["car type", "plate number"]
        goal.append(Sub(len(goal) + 1, way, asks=asks, ends=(first.id, second.id)))
    return kind, goal


def hold(dice: Dice, places: list[Place]) -> Talk:
    kind, goal = draw(dice, places)
    talk = Talk(dice, kind, goal, places)
    for sub in goal:
        (_travel if sub.domain in ("Metro", "Taxi") else _visit)(talk, sub)
    end = Utterance(cw_say.thank(dice), (("General|thank", "none", "none"),))
    talk.exchange(end, cw_say.welcome, "")
    return talk


def _visit(talk: Talk, sub: Sub) -> None:
    dice, place = talk.dice, sub.place
    assert place
    first = not talk.turns
    left = list(sub.asks)
    if "name" in sub.wishes:
        now = [s for s in left if s not in NEARBY][:2]
        left = [s for s in left if s not in now]
        said = cw_say.by_name(dice, place, now, first)
        told = [s for s in now if not dice.chance(FORGETS)]
        talk.exchange(
            said,
            partial(cw_say.facts, talk=talk.places, place=place, slots=told or now),
            sub.domain,
            update={"name": place.name},
            relaxed=({}, [place]),
            mentions={(sub.id, s) for s in ("name", *now)},
            learned=_answers(talk, sub, place, told or now),
        )
    else:
        place = _search(talk, sub, first)
    while left:
        size = dice.between(1, 2)
        group, left = left[:size], left[size:]
        if any(s in NEARBY for s in group):
            group, left = group[:1], group[1:] + left
        told = [s for s in group if not dice.chance(FORGETS)] or group
        many = len(talk.state[sub.domain]["selected"]) > 1
        said = cw_say.ask(dice, place, group, "many" if many else "only")
        tell = partial(cw_say.facts, talk=talk.places, place=place, slots=told)
        learned = _answers(talk, sub, place, told)
        talk.exchange(
            said, tell, sub.domain, found=[place], mentions={(sub.id, s) for s in group}, learned=learned
        )


def _answers(talk: Talk, sub: Sub, place: Place, slots: list[str]) -> Pairs:
    out: Pairs = {}
    for slot in slots:
        out[sub.id, slot] = (
            [p.name for p in nearby(talk.places, place, slot)] if slot in NEARBY else place.facts[slot]
        )
    return out


def _search(talk: Talk, sub: Sub, first: bool) -> Place:
    """Wish for something, hear an offer or that there is none; perhaps change one's mind."""
    dice = talk.dice
    assert sub.place
    pool = [p for p in talk.places if p.domain == sub.domain]
    update: dict[str, Any] = dict(sub.wishes)
    implied: list[str] = []
    if sub.near:
        assert sub.near.place
        source = next(s for s, d in NEARBY.items() if d == sub.near.domain)
        ask = next(s for s, d in NEARBY.items() if d == sub.domain)
        pool = nearby(talk.places, sub.near.place, ask) or [sub.place]
        update[source], implied = sub.near.place.name, [source]
    mentions = {(sub.id, s) for s in (*sub.wishes, "name")}
    lost = ""
    if dice.chance(IMPOSSIBLE):
        lost = _spoil(dice, sub, talk.places, pool)
        update.update(sub.wishes)
    said = cw_say.wish(dice, sub.domain, sub.wishes, first, sub.near.domain if sub.near else "")
    if lost:
        place = sub.place
        tell = partial(cw_say.nothing, place=place, slot=lost)
        learned = {(sub.id, "name"): place.name, (sub.id, lost): place.facts[lost]}
        talk.exchange(
            said,
            tell,
            sub.domain,
            update=update,
            implied=implied,
            relaxed=({lost: None}, [place]),
            mentions=mentions,
            learned=learned,
        )
        return place
    fitting = [p for p in pool if all(satisfies(p, s, w) for s, w in sub.wishes.items())] or [sub.place]
    shown = (
        dice.some(fitting, min(len(fitting), 3)) if len(fitting) > 1 and dice.chance(0.45) else [sub.place]
    )
    if sub.place not in shown:
        shown = [sub.place, *shown[1:]]
    learned = {(sub.id, "name"): sub.place.name}
    tell = partial(cw_say.offer, places=shown)
    talk.exchange(
        said,
        tell,
        sub.domain,
        update=update,
        implied=implied,
        found=shown,
        mentions=mentions,
        learned=learned,
    )
    if dice.chance(CHANGES_MIND) and not sub.near:
        _change_mind(talk, sub, pool)
    return sub.place


def _spoil(dice: Dice, sub: Sub, places: list[Place], pool: list[Place]) -> str:
    """Replace one wish by something no place of the pool has together with the others."""
    others = [p for p in places if p.domain == sub.domain]
    for slot in dice.mixed([s for s in sub.wishes if s != "rating"]):
        for other in dice.mixed(others):
            wish = constraint(other, slot, dice)
            wishes = sub.wishes | {slot: wish}
            if not any(all(satisfies(p, s, w) for s, w in wishes.items()) for p in pool):
                sub.wishes = wishes
                return slot
    return ""


def _change_mind(talk: Talk, sub: Sub, pool: list[Place]) -> None:
    dice = talk.dice
    for slot in dice.mixed([s for s in sub.wishes if s not in ("dishes", "Hotel Facilities")]):
        for other in dice.mixed(pool):
            wish = constraint(other, slot, dice)
            wishes = sub.wishes | {slot: wish}
            if wish != sub.wishes[slot] and all(satisfies(other, s, w) for s, w in wishes.items()):
                sub.wishes, sub.place = wishes, other
                said = cw_say.change(dice, sub.domain, slot, wish)
                tell = partial(cw_say.offer, places=[other])
                learned = {(sub.id, "name"): other.name}
                talk.exchange(said, tell, sub.domain, update={slot: wish}, found=[other], learned=learned)
                return


def _travel(talk: Talk, sub: Sub) -> None:
    dice = talk.dice
    ends = [next(s.place for s in talk.goal if s.id == i) for i in sub.ends]
    a, b = ends
    assert a and b
    mentions = {(sub.id, s) for s in ("from", "to", *sub.asks)}
    learned: Pairs = {(sub.id, "from"): a.name, (sub.id, "to"): b.name}
    if sub.domain == "Metro":
        tell = partial(cw_say.metro, a=a, b=b)
        found = [
            (f"(Starting point) {a.name[0]}", f"(起点) {a.name[1]} "),
            (f"(Termination) {b.name[0]}", f"(终点) {b.name[1]}"),
        ]
        for slot, place in (("from station", a), ("to station", b)):
            learned[sub.id, slot] = cw_say.station(place)
    else:
        tell = partial(cw_say.taxi)
        found = [(f"Taxi ({a.name[0]} - {b.name[0]})", f"出租 ({a.name[1]} - {b.name[1]})")]
        learned |= {(sub.id, "car type"): ("#CX", "#CX"), (sub.id, "plate number"): ("#CP", "#CP")}
    said = cw_say.travel(dice, sub.domain, a, b)
    talk.exchange(
        said,
        tell,
        sub.domain,
        update={"from": a.name, "to": b.name},
        found=found,
        mentions=mentions,
        learned=learned,
    )

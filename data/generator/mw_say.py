"""What the assistant of the MultiWOZ-style corpora says: facts in, utterances out.

Every function takes the dice first, so that the same meaning can be told again in other words: that
is what a simulated generator does.
"""

from __future__ import annotations

import mw_system_text as system
import mw_user_text as user
from dice import Dice
from mw_phrases import name, noun_phrase, value, visit, with_phrase
from mw_values import NUMBERS, ZH_NUMBERS, same
from mw_world import title, zh_address
from text import EMPTY, Pair, Utterance, Value, both, chain, say


def request(dice: Dice, domain: str, slots: list[str], count: int | None = None) -> Utterance:
    """Ask for one or two slots, perhaps after saying how many places there are."""
    booking = slots[0] in ("People", "Stay", "Time", "BookDay") and domain in ("restaurant", "hotel")
    prefix = "Booking" if booking else domain.capitalize()
    start = dice.pick([EMPTY, say(dice, system.SURE)])
    if count is not None and dice.chance(0.75):
        start = choice(dice, domain, count)
    if len(slots) == 2:
        a, b = (both(*user.NOUN[s.replace("BookDay", "Day")]) for s in slots)
        question = say(dice, system.REQUEST_TWO, a=a, b=b)
    else:
        question = say(dice, system.REQUEST[slots[0]])
    acts = tuple((f"{prefix}-Request", s.replace("BookDay", "Day"), "?") for s in slots)
    return Utterance(chain(start, question), acts)


def choice(dice: Dice, domain: str, count: int) -> Pair:
    one, many = system.HEADS[domain]
    en = NUMBERS[count] if count <= 10 and dice.chance(0.3) else str(count)
    zh = ZH_NUMBERS[count] if count <= 10 else str(count)
    act = f"{domain.capitalize()}-Inform"
    n = (Value(act, "Choice", en, en),), (Value(act, "Choice", zh, zh),)
    pair = say(
        dice,
        system.CHOICE_ONE if count == 1 else system.CHOICE,
        n=n,
        heads=both(*(one if count == 1 else many)),
    )
    return (
        pair
        if domain == "restaurant"
        else (pair[0], tuple(str.replace(p, "家", "个") if isinstance(p, str) else p for p in pair[1]))
    )


def offer(
    dice: Dice, domain: str, entry: dict, books: bool, count: int | None = None, bare: float = 0.3
) -> Utterance:
    """Offer a venue, in the share ``bare`` of cases by its name alone."""
    act = f"{domain.capitalize()}-{dice.weighted({'Inform': 2, 'Recommend': 1})}"
    venue = name(act, "Name", entry["name"])
    if dice.chance(bare):
        sentence = say(dice, system.OFFER_BARE, name=venue)
    else:
        facts = {"price": ("Price", "pricerange"), "area": ("Area", "area"), "stars": ("Stars", "stars")}
        facts |= {"food": ("Food", "food")} if domain == "restaurant" else {}
        parts = {
            k: value(dice, act, s, entry[e], 0)
            for k, (s, e) in facts.items()
            if entry.get(e, "?") not in ("?", "free")
        }
        if domain != "restaurant":
            kind = entry["type"].replace("swimmingpool", "swimming pool")
            parts["type"] = visit(value(dice, act, "Type", kind, 0))
        sentence = say(dice, system.OFFER[domain], name=venue, **parts)
    start = choice(dice, domain, count) if count and dice.chance(0.4) else EMPTY
    closing, acts = _closing(dice, "Booking-Inform" if books else "general-reqmore", 0.7)
    return Utterance(chain(start, sentence, closing), acts)


def select(dice: Dice, domain: str, first: dict, second: dict) -> Utterance:
    act = f"{domain.capitalize()}-Select"
    return Utterance(
        say(dice, system.SELECT, a=name(act, "Name", first["name"]), b=name(act, "Name", second["name"]))
    )


def nothing(dice: Dice, domain: str, wants: dict[str, str]) -> Utterance:
    np = noun_phrase(dice, domain, f"{domain.capitalize()}-NoOffer", wants)
    return Utterance(chain(with_phrase(dice, system.NOOFFER, np), say(dice, system.TRY_OTHER)))


def facts(
    dice: Dice, domain: str, entry: dict, slots: list[str], close: str = "general-reqmore"
) -> Utterance:
    """Answer questions about an entry of the database."""
    act = f"{domain.capitalize()}-Inform"
    sentences = [_fact(dice, act, entry, slot) for slot in slots]
    closing, acts = _closing(dice, close, 0.6)
    return Utterance(chain(*sentences, closing), acts)


_FIELDS = {
    "Addr": "address",
    "Post": "postcode",
    "Fee": "entrance fee",
    "Price": "pricerange",
    "Duration": "duration",
}
_FIELDS |= {"Ticket": "price", "Id": "trainID", "Leave": "leaveAt", "Arrive": "arriveBy"}


def _fact(dice: Dice, act: str, entry: dict, slot: str) -> Pair:
    text = entry[_FIELDS.get(slot, slot.lower())]
    bank, name_ = slot, slot
    if slot == "Fee":
        bank = {"?": "Fee?", "free": "Fee0"}.get(text, "Fee")
    if slot == "Duration":
        bank = name_ = "Time"
    zh = text
    if slot == "Addr":
        text, zh = title(text), zh_address(text)
    elif text == "free":
        zh = "免费"
    elif slot in ("Fee", "Ticket"):
        zh = text.replace(" pounds", "英镑")
    elif slot == "Duration":
        zh = text.replace(" minutes", "分钟")
    elif slot in ("Area", "Price", "Food", "Stars", "Parking", "Internet", "Type", "Leave", "Arrive"):
        v = value(dice, act, slot, text.replace("swimmingpool", "swimming pool"), 0)
        return say(dice, system.FACT[bank], v=visit(v) if slot == "Type" else v)
    return say(dice, system.FACT[bank], v=same(act, name_, text, zh))


def booked(dice: Dice, entry: dict, reference: str, wants: dict[str, str]) -> Utterance:
    act = "Booking-Book"
    parts = {"ref": same(act, "Ref", reference), "name": name(act, "Name", entry["name"])}
    parts |= {s.lower(): value(dice, act, s, wants[s], 0) for s in ("People", "Day")}
    bank = system.BOOKED[:4] if wants["People"] == "1" else system.BOOKED
    closing, acts = _closing(dice, "general-reqmore", 0.5)
    return Utterance(chain(say(dice, bank, **parts), closing), acts)


def not_booked(dice: Dice, entry: dict, slot: str) -> Utterance:
    sentence = say(dice, system.NOBOOK, name=name("Booking-NoBook", "Name", entry["name"]))
    return Utterance(
        chain(sentence, say(dice, system.NOBOOK_ASK[slot])),
        (("Booking-NoBook", "none", "none"), ("Booking-Request", slot, "?")),
    )


def train_offer(dice: Dice, entry: dict) -> Utterance:
    act = "Train-Inform"
    parts = {
        s.lower(): value(dice, act, s, entry[f])
        for s, f in (("Id", "trainID"), ("Day", "day"), ("Leave", "leaveAt"), ("Arrive", "arriveBy"))
    }
    parts |= {
        "depart": name(act, "Depart", entry["departure"]),
        "dest": name(act, "Dest", entry["destination"]),
    }
    parts["ticket"] = same(act, "Ticket", entry["price"], entry["price"].replace(" pounds", "英镑"))
    closing = say(dice, system.TRAIN_BOOKING)
    return Utterance(
        chain(say(dice, system.TRAIN_OFFER, **parts), closing), (("Train-OfferBook", "none", "none"),)
    )


def train_booked(dice: Dice, entry: dict, reference: str, people: int) -> Utterance:
    act = "Train-OfferBooked"
    total = f"{float(entry['price'].split()[0]) * people:.2f} pounds"
    parts = {"ref": same(act, "Ref", reference), "id": same(act, "Id", entry["trainID"])}
    parts["ticket"] = same(act, "Ticket", total, total.replace(" pounds", "英镑"))
    closing, acts = _closing(dice, "general-reqmore", 0.5)
    return Utterance(chain(say(dice, system.TRAIN_BOOKED, **parts), closing), acts)


def taxi_done(dice: Dice, car: tuple[str, str], phone: str, whole: bool) -> Utterance:
    parts = {"car": same("Taxi-Inform", "Car", *car), "phone": same("Taxi-Inform", "Phone", phone)}
    return Utterance(say(dice, system.TAXI_DONE if whole else system.TAXI_HALF, **parts))


def general(dice: Dice, kind: str) -> Utterance:
    acts = {"welcome": ("welcome", "reqmore"), "bye": ("bye",), "reqmore": ("reqmore",)}[kind]
    bank = {"welcome": system.WELCOME, "bye": system.BYE, "reqmore": system.ASK_MORE}[kind]
    return Utterance(say(dice, bank), tuple((f"general-{a}", "none", "none") for a in acts))


def _closing(dice: Dice, act: str, share: float) -> tuple[Pair, tuple]:
    if not dice.chance(share):
        return EMPTY, ()
    return say(dice, system.ASK_BOOKING if act == "Booking-Inform" else system.ASK_MORE), (
        (act, "none", "none"),
    )

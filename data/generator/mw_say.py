"""Phrases and sentences of the MultiWOZ-style corpora: values in, pairs and utterances out.

User sentences are pairs. Assistant sentences are made by functions that take the dice first, so
that the same meaning can be told again in other words: that is what a simulated generator does.
"""

from __future__ import annotations

import mw_system_text as system
import mw_user_text as user
from dice import Dice
from mw_values import LOOSE, NUMBERS, STATE_SLOT, TYPE_SUFFIX, ZH_NUMBERS, hidden, same, time_of, value_of
from mw_world import ZH_NAMES, title, zh_address
from text import EMPTY, Pair, Utterance, Value, both, chain, fill, listing, say

_COMFORT = {
    ("Parking", "yes"): [("free parking", "有停车位"), ("parking", "有停车位"), ("a parking space", "带停车位")],
    ("Parking", "no"): [("no parking", "没有停车位")],
    ("Internet", "yes"): [("free wifi", "有免费无线网络"), ("internet access", "能上网"), ("wifi", "有无线网络")],
    ("Internet", "no"): [("no internet", "没有网络")],
}


def value(dice: Dice, act: str, slot: str, text: str, loose: float = LOOSE) -> Pair:
    """Any value of any slot, worded at random."""
    kind = STATE_SLOT[slot][2] if slot in STATE_SLOT else "same"
    if kind == "type":
        kind = "hoteltype" if text in ("hotel", "guesthouse") else "attractiontype"
    if kind == "time":
        return time_of(dice, act, slot, text, loose)
    if kind in ("name", "place"):
        return name(act, slot, text)
    if kind == "yesno":
        return hidden(act, slot, text, "有" if text == "yes" else "没有", *dice.pick(_COMFORT[slot, text]))
    return same(act, slot, text) if kind == "same" else value_of(dice, act, slot, kind, text, loose)


def name(act: str, slot: str, text: str) -> Pair:
    zh = ZH_NAMES[text]
    return (Value(act, slot, text, title(text)),), (Value(act, slot, zh, zh),)


def noun_phrase(dice: Dice, domain: str, act: str, wants: dict[str, str]) -> Pair:
    """``a cheap Italian restaurant in the east`` / 一家城东的价格便宜的意大利餐厅."""
    v = {slot: value(dice, act, slot, text) for slot, text in wants.items()}
    en: list = ["@a "]
    after: list = []
    if "Price" in v:
        if wants["Price"] == "moderate" or dice.chance(0.25):
            after += [" in the ", *v["Price"][0], " price range"]
        else:
            en += [*v["Price"][0], " "]
    en += [*v["Stars"][0], " star "] if "Stars" in v else []
    en += [*v["Food"][0], " "] if "Food" in v else []
    head = v.get("Type") or both(*system.HEADS[domain][0])
    if "Type" in v and domain == "attraction":
        head = _visit(v["Type"])
    en += [*head[0]]
    if "Area" in v:
        after = [" in the ", *v["Area"][0], *after]
    comfort = [v[s] for s in ("Parking", "Internet") if s in v]
    if comfort:
        after += [" with ", *listing(comfort)[0]]
    measures = "一家" if domain == "restaurant" or (domain == "hotel" and "Type" in v) else "一个"
    qualities = [("", "Area"), ("价格", "Price"), ("", "Parking"), ("", "Internet")]
    zh: list = [measures]
    marks = [[*([pre] if pre else []), *v[s][1]] for pre, s in qualities if s in v]
    for i, mark in enumerate(marks):
        zh += (["、"] if i else []) + mark
    zh += ["的"] if marks else []
    zh += [*v["Stars"][1], "星级"] if "Stars" in v else []
    zh += [*v["Food"][1]] if "Food" in v else []
    return tuple(en + after), tuple(zh + [*head[1]])


def _visit(pair: Pair) -> Pair:
    en, zh = TYPE_SUFFIX.get(pair[0][0].value, ("", ""))
    return (*pair[0], *([en] if en else [])), (*pair[1], *([zh] if zh else []))


def with_phrase(dice: Dice, bank: list[tuple[str, str]], np: Pair) -> Pair:
    """Fill {np}; Chinese drops the measure word after 有."""
    en, zh = say(dice, bank, np=np)
    kept = []
    for i, piece in enumerate(zh):
        if piece in ("一家", "一个") and i and isinstance(zh[i - 1], str) and zh[i - 1].endswith(("有", "找到")):
            continue
        kept.append(piece)
    return en, tuple(kept)


def answer(dice: Dice, act: str, slot: str, text: str) -> Pair:
    if text == "dontcare":
        return indifferent(dice, act, slot)
    if slot == "People" and text == "1":
        return fill(("Just {v}, for me.", "就{v}个人。"), v=value(dice, act, slot, text))
    v = value(dice, act, slot, text)
    return say(dice, user.ANSWER[slot], v=_visit(v) if slot == "Type" else v)


def indifferent(dice: Dice, act: str, slot: str) -> Pair:
    en0, en1, en2, zh0, zh1, zh2 = dice.pick(user.DONTCARE)
    noun_en, noun_zh = user.NOUN[slot]
    en = (en0.format(noun=noun_en), Value(act, slot, "dontcare", en1), en2.format(noun=noun_en))
    zh = (zh0.format(noun=noun_zh), Value(act, slot, "不在意", zh1), zh2)
    return tuple(p for p in en if p), zh


def change(dice: Dice, act: str, slot: str, text: str) -> Pair:
    """The thing wanted instead: ``somewhere in the east``."""
    v = value(dice, act, slot, text)
    patterns = {
        "Area": [("somewhere in the {v}", "{v}的"), ("a place in the {v}", "{v}的地方")],
        "Price": [("something {v}", "价格{v}的"), ("@a {v} one", "价格{v}一些的")],
        "Food": [("{v} food", "{v}菜"), ("@a {v} restaurant", "{v}餐厅")],
        "Type": [("@a {v}", "{v}")],
        "Stars": [("{v} stars", "{v}星级的")],
        "Day": [("{v}", "{v}"), ("the {v}", "{v}那天")],
        "Time": [("{v}", "{v}")],
        "People": [("{v} people", "{v}个人")],
        "Stay": [("{v} nights", "{v}晚")],
        "Leave": [("one that leaves after {v}", "{v}以后出发的")],
        "Arrive": [("one that arrives by {v}", "{v}之前到达的")],
    }
    if slot == "Stay" and text == "1":
        return fill(("{v} night", "{v}晚"), v=v)
    return say(dice, patterns[slot], v=_visit(v) if slot == "Type" else v)


def how(dice: Dice, act: str, wants: dict[str, str], told: dict[str, str]) -> Pair:
    """Booking details: ``for 4 people on Friday at 18:30``; what was told before may be pointed back to."""
    parts = []
    for slot, text in wants.items():
        if slot in ("Day", "People") and told.get(slot) == text and dice.chance(0.4):
            parts.append(_same_as_before(act, slot, text))
            continue
        v = value(dice, act, slot, text)
        one = text == "1"
        patterns = {
            "People": ("for {v} person" if one else "for {v} people", "{v}个人"),
            "Day": ("on {v}", "{v}"),
            "Time": ("at {v}", "{v}"),
            "Stay": ("for {v} night" if one else "for {v} nights", "住{v}晚"),
        }
        parts.append(fill(patterns[slot], v=v))
    return chain(*parts, zh="，")


def _same_as_before(act: str, slot: str, text: str) -> Pair:
    zh = text if slot == "People" else value_of(Dice(""), act, slot, "day", text, 0)[1][0].value
    en_words, zh_words = {"Day": ("same day", "同一天"), "People": ("same group of people", "同样这几个人")}[slot]
    en = ("on the " if slot == "Day" else "for the ", Value(act, slot, text, en_words))
    return en, (Value(act, slot, zh, zh_words),)


def journey(dice: Dice, act: str, wants: dict[str, str], names: dict[str, tuple[str, str]]) -> Pair:
    """``from Brindlewick to Westmarch on Friday leaving after 9:15``; ``names`` puts places in other words."""
    v = {s: value(dice, act, s, t) for s, t in wants.items()}
    for slot, (en, zh) in names.items():
        if slot in v:
            v[slot] = ((Value(act, slot, v[slot][0][0].value, en),), (Value(act, slot, v[slot][1][0].value, zh),))
    order_en = (("Depart", "from {v}"), ("Dest", "to {v}"), ("Day", "on {v}"))
    times = (("Leave", "leaving after {v}", "{v}以后出发"), ("Arrive", "arriving by {v}", "{v}之前到达"))
    en = [p for s, t in order_en if s in v for p in (" ", *fill((t, ""), v=v[s])[0])]
    zh = [*v["Day"][1]] if "Day" in v else []
    zh += ["从", *v["Depart"][1]] if "Depart" in v else []
    zh += [("到" if "Depart" in v else "去"), *v["Dest"][1]] if "Dest" in v else []
    zh += ["出发"] if "Depart" in v and "Dest" not in v and "Leave" not in v else []
    for slot, t_en, t_zh in times:
        if slot in v:
            pair = fill((t_en, t_zh), v=v[slot])
            en += [" ", *pair[0]]
            zh += (["、"] if zh else []) + [*pair[1]]
    return tuple(en[1:]), tuple(zh)


def ask(dice: Dice, bank: list[tuple[str, str]], slots: list[str]) -> Pair:
    return say(dice, bank, list=listing([both(*user.NOUN[s]) for s in slots]))


# --- the assistant ------------------------------------------------------------------------------


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
    pair = say(dice, system.CHOICE_ONE if count == 1 else system.CHOICE, n=n, heads=both(*(one if count == 1 else many)))
    return pair if domain == "restaurant" else (pair[0], tuple(str.replace(p, "家", "个") if isinstance(p, str) else p for p in pair[1]))


def offer(dice: Dice, domain: str, entry: dict, books: bool, count: int | None = None) -> Utterance:
    act = f"{domain.capitalize()}-{dice.weighted({'Inform': 2, 'Recommend': 1})}"
    venue = name(act, "Name", entry["name"])
    if dice.chance(0.3):
        sentence = say(dice, system.OFFER_BARE, name=venue)
    else:
        facts = {"price": ("Price", "pricerange"), "area": ("Area", "area"), "stars": ("Stars", "stars")}
        facts |= {"food": ("Food", "food")} if domain == "restaurant" else {}
        parts = {k: value(dice, act, s, entry[e], 0) for k, (s, e) in facts.items() if entry.get(e, "?") not in ("?", "free")}
        if domain != "restaurant":
            kind = entry["type"].replace("swimmingpool", "swimming pool")
            parts["type"] = _visit(value(dice, act, "Type", kind, 0))
        sentence = say(dice, system.OFFER[domain], name=venue, **parts)
    start = choice(dice, domain, count) if count and dice.chance(0.4) else EMPTY
    closing, acts = _closing(dice, "Booking-Inform" if books else "general-reqmore", 0.7)
    return Utterance(chain(start, sentence, closing), acts)


def select(dice: Dice, domain: str, first: dict, second: dict) -> Utterance:
    act = f"{domain.capitalize()}-Select"
    return Utterance(say(dice, system.SELECT, a=name(act, "Name", first["name"]), b=name(act, "Name", second["name"])))


def nothing(dice: Dice, domain: str, wants: dict[str, str]) -> Utterance:
    np = noun_phrase(dice, domain, f"{domain.capitalize()}-NoOffer", wants)
    return Utterance(chain(with_phrase(dice, system.NOOFFER, np), say(dice, system.TRY_OTHER)))


def facts(dice: Dice, domain: str, entry: dict, slots: list[str], close: str = "general-reqmore") -> Utterance:
    """Answer questions about an entry of the database."""
    act = f"{domain.capitalize()}-Inform"
    sentences = [_fact(dice, act, entry, slot) for slot in slots]
    closing, acts = _closing(dice, close, 0.6)
    return Utterance(chain(*sentences, closing), acts)


_FIELDS = {"Addr": "address", "Post": "postcode", "Fee": "entrance fee", "Price": "pricerange", "Duration": "duration"}
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
        return say(dice, system.FACT[bank], v=_visit(v) if slot == "Type" else v)
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
        chain(sentence, say(dice, system.NOBOOK_ASK[slot])), (("Booking-NoBook", "none", "none"), ("Booking-Request", slot, "?"))
    )


def train_offer(dice: Dice, entry: dict) -> Utterance:
    act = "Train-Inform"
    parts = {s.lower(): value(dice, act, s, entry[f]) for s, f in (("Id", "trainID"), ("Day", "day"), ("Leave", "leaveAt"), ("Arrive", "arriveBy"))}
    parts |= {"depart": name(act, "Depart", entry["departure"]), "dest": name(act, "Dest", entry["destination"])}
    parts["ticket"] = same(act, "Ticket", entry["price"], entry["price"].replace(" pounds", "英镑"))
    closing = say(dice, system.TRAIN_BOOKING)
    return Utterance(chain(say(dice, system.TRAIN_OFFER, **parts), closing), (("Train-OfferBook", "none", "none"),))


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
    return say(dice, system.ASK_BOOKING if act == "Booking-Inform" else system.ASK_MORE), ((act, "none", "none"),)


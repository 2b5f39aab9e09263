"""Phrases of the MultiWOZ-style corpora and what users say: values in, pairs out."""

from __future__ import annotations

import mw_system_text as system
import mw_user_text as user
from dice import Dice
from mw_values import LOOSE, STATE_SLOT, TYPE_SUFFIX, hidden, same, time_of, value_of
from mw_world import ZH_NAMES, title
from text import Pair, Value, both, chain, fill, listing, say, without_measure

_COMFORT = {
    ("Parking", "yes"): [
        ("free parking", "有停车位"),
        ("parking", "有停车位"),
        ("a parking space", "带停车位"),
    ],
    ("Parking", "no"): [("no parking", "没有停车位")],
    ("Internet", "yes"): [
        ("free wifi", "有免费无线网络"),
        ("internet access", "能上网"),
        ("wifi", "有无线网络"),
    ],
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
        head = visit(v["Type"])
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
    return tuple(en + after), (*zh, *head[1])


def visit(pair: Pair) -> Pair:
    en, zh = TYPE_SUFFIX.get(pair[0][0].value, ("", ""))
    return (*pair[0], *([en] if en else [])), (*pair[1], *([zh] if zh else []))


def with_phrase(dice: Dice, bank: list[tuple[str, str]], np: Pair) -> Pair:
    """Fill {np}; English drops the article after no, Chinese the measure word after 有."""
    en, zh = say(dice, bank, np=np)
    if en[0].endswith("no ") and en[1] == "@a ":
        en = (en[0], *en[2:])
    return en, without_measure(zh)


def answer(dice: Dice, act: str, slot: str, text: str) -> Pair:
    if text == "dontcare":
        return indifferent(dice, act, slot)
    if slot == "People" and text == "1":
        return fill(("Just {v}, for me.", "就{v}个人。"), v=value(dice, act, slot, text))
    v = value(dice, act, slot, text)
    return say(dice, user.ANSWER[slot], v=visit(v) if slot == "Type" else v)


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
        "Stars": [("@a {v} star place", "{v}星级的")],
        "Day": [("{v}", "{v}"), ("the {v}", "{v}那天")],
        "Time": [("{v}", "{v}")],
        "People": [("{v} people", "{v}个人")],
        "Stay": [("{v} nights", "{v}晚")],
        "Leave": [("one that leaves after {v}", "{v}以后出发的")],
        "Arrive": [("one that arrives by {v}", "{v}之前到达的")],
    }
    if slot == "Stay" and text == "1":
        return fill(("{v} night", "{v}晚"), v=v)
    return say(dice, patterns[slot], v=visit(v) if slot == "Type" else v)


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
    en_words, zh_words = {"Day": ("same day", "同一天"), "People": ("same group of people", "同样这几个人")}[
        slot
    ]
    en = ("on the " if slot == "Day" else "for the ", Value(act, slot, text, en_words))
    return en, (Value(act, slot, zh, zh_words),)


def journey(dice: Dice, act: str, wants: dict[str, str], names: dict[str, tuple[str, str]]) -> Pair:
    """``from Brindlewick to Westmarch on Friday leaving after 9:15``; ``names`` puts places in other words."""
    v = {s: value(dice, act, s, t) for s, t in wants.items()}
    for slot, (en, zh) in names.items():
        if slot in v:
            v[slot] = (
                (Value(act, slot, v[slot][0][0].value, en),),
                (Value(act, slot, v[slot][1][0].value, zh),),
            )
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

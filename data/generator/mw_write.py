"""From talks to the files of the MultiWOZ corpora: legacy JSON in English and in Chinese."""

from __future__ import annotations

from typing import Any

from dice import Dice
from mw_goal import as_json
from mw_talk import Talk, Turn
from mw_values import ZH_ACTS, ZH_DOMAINS, ZH_SLOTS, state_slot
from mw_world import ZH_NAMES
from noise import RATES, Tally, changes, schedule
from text import Utterance, acts_of, plain, tokenised, tokens

#: Slots of every domain as the metadata lists them: (book, semi).
LAYOUT: dict[str, tuple[list[str], list[str]]] = {
    "taxi": ([], ["leaveAt", "destination", "departure", "arriveBy"]),
    "police": ([], []),
    "restaurant": (["time", "day", "people"], ["food", "pricerange", "name", "area"]),
    "bus": (["people"], ["leaveAt", "destination", "day", "arriveBy", "departure"]),
    "hospital": ([], ["department"]),
    "hotel": (
        ["stay", "day", "people"],
        ["name", "area", "parking", "pricerange", "stars", "internet", "type"],
    ),
    "attraction": ([], ["type", "name", "area"]),
    "train": (["people"], ["leaveAt", "destination", "day", "arriveBy", "departure"]),
}
ZH_LAYOUT_DOMAINS = {
    "taxi": "出租车",
    "police": "警察机关",
    "restaurant": "餐厅",
    "bus": "公共汽车",
    "hospital": "医院",
    "hotel": "旅馆",
    "attraction": "景点",
    "train": "列车",
}
ZH_LAYOUT_SLOTS = {
    "leaveAt": "出发时间",
    "destination": "目的地",
    "departure": "出发地",
    "arriveBy": "到达时间",
    "time": "时间",
    "day": "日期",
    "people": "人数",
    "food": "食物",
    "pricerange": "价格范围",
    "name": "名称",
    "area": "区域",
    "department": "科室",
    "stay": "停留天数",
    "parking": "停车处",
    "stars": "星级",
    "internet": "互联网",
    "type": "类型",
}
_RESPELL = {
    "centre": "center",
    "guesthouse": "guest house",
    "theatre": "theater",
    "nightclub": "night club",
    "swimming pool": "swimmingpool",
    "museum": "museums",
    "moderate": "moderately priced",
}


def respell(value: tuple[str, ...]) -> tuple[str, str] | None:
    """Another spelling in (English, Chinese): 9:15 for 09:15, center for centre; None if there is none."""
    en, zh = value
    if len(en) == 5 and en[0] == "0" and en[2] == ":":
        return en[1:], zh[1:]
    return (_RESPELL[en], zh) if en in _RESPELL else None


def joined(old: tuple[str, ...], new: tuple[str, ...]) -> tuple[str, str]:
    return f"{old[0]}|{new[0]}", f"{old[1]}或{new[1]}"


def clean_states(talk: Talk) -> list[dict[tuple[str, str, str], tuple[str, str]]]:
    """The true cumulative state after each user turn: {(domain, part, slot): (English, Chinese)}."""
    return [
        {(domain, *place): value for domain, slots in turn.state.items() for place, value in slots.items()}
        for turn in talk.turns
    ]


def annotate(talk: Talk, dice: Dice, tally: Tally) -> list[dict[tuple[str, str, str], tuple[str, ...]]]:
    """The states with noise."""
    truth = clean_states(talk)
    columns = {}
    for key, history in changes(truth, [said_slots(turn) for turn in talk.turns]).items():
        column = schedule(dice, history, len(truth), tally, respell, joined)
        if key[2] == "name" and not any(c.said for c in history):
            name = history[-1].value
            if name and tally.count("name_article", dice.chance(RATES["name_article"])):
                other = name[0].removeprefix("the ") if name[0].startswith("the ") else f"the {name[0]}"
                column = [(other, v[1]) if v == name else v for v in column]
        columns[key] = column
    return [{key: column[t] for key, column in columns.items() if column[t]} for t in range(len(truth))]


def said_slots(turn: Turn) -> set[tuple[str, str, str]]:
    found = set()
    for act, slot, _ in acts_of(turn.user, 0):
        domain, kind = act.lower().split("-")
        place = state_slot(domain, slot) if kind == "inform" else None
        if place:
            found.add((domain, *place))
    return found


def dialogue(talk: Talk, dialogue_id: str, tally: Tally) -> tuple[dict[str, Any], dict[str, Any]]:
    """One dialogue in English and in Chinese."""
    dice = Dice(f"noise/{dialogue_id}")
    states = annotate(talk, dice, tally)
    lower, wide, bus = dice.chance(0.18), Dice(f"wide/{dialogue_id}"), dice.chance(0.5)
    nones: dict[tuple[str, str, str], bool] = {}
    logs: tuple[list, list] = ([], [])
    for turn, state in zip(talk.turns, states, strict=True):
        text, spans = tokens(turn.user.pair[0], wide)
        logs[0].append(_entry(text.lower() if lower else text, {}, turn.user, spans, "user"))
        logs[1].append(_entry_zh(turn.user, {}))
        active = {d for d in turn.state if d in LAYOUT}
        for domain in sorted(active):
            for slot in LAYOUT[domain][1]:
                key = (domain, "semi", slot)
                if key not in nones and key not in state:
                    nones[key] = tally.count("none_value", dice.chance(RATES["none_value"]))
        meta, meta_zh = _metadata(state, active, nones, turn.booked, bus)
        text, spans = tokens(turn.system.pair[0], wide)
        logs[0].append(_entry(text, meta, turn.system, spans, "system"))
        logs[1].append(_entry_zh(turn.system, meta_zh))
    return {"goal": as_json(talk.goal), "log": logs[0]}, {"log": logs[1]}


def _metadata(state: dict, active: set, nones: dict, booked: dict, bus: bool) -> tuple[dict, dict]:
    meta: dict[str, Any] = {}
    meta_zh: dict[str, Any] = {}
    for domain, (book, semi) in LAYOUT.items():
        if domain == "bus" and not bus:
            continue
        out: dict[str, dict[str, Any]] = {"book": {"booked": booked.get(domain, [])}, "semi": {}}
        out_zh: dict[str, dict[str, Any]] = {"book": {}, "semi": {}}
        for part, slots in (("book", book), ("semi", semi)):
            for slot in slots:
                key = (domain, part, slot)
                empty = ("not mentioned", "未提及") if part == "semi" and domain in active else ("", "")
                if nones.get(key):
                    empty = ("none", "none")
                en, zh = state.get(key) or empty
                out[part][slot], out_zh[part][ZH_LAYOUT_SLOTS[slot]] = en, zh
        meta[domain], meta_zh[ZH_LAYOUT_DOMAINS[domain]] = out, out_zh
    return meta, meta_zh


def _entry(text: str, metadata: dict, said: Utterance, spans: list, speaker: str) -> dict[str, Any]:
    acts: dict[str, list[list[str]]] = {}
    # Users' values are normalised in the acts, the assistant's stand as they were written.
    written = {(v.act, v.slot, v.value): v.surface for v, _, _ in spans} if speaker == "system" else {}
    for act, slot, value in acts_of(said, 0):
        acts.setdefault(act, []).append([slot, written.get((act, slot, value), value)])
    info = [[v.act, v.slot, tokenised(v.value), first, last] for v, first, last in spans]
    return {"text": text, "metadata": metadata, "dialog_act": acts, "span_info": info}


def _entry_zh(said: Utterance, metadata: dict) -> dict[str, Any]:
    acts: dict[str, list[list[str]]] = {}
    for act, slot, value in acts_of(said, 1):
        domain, kind = act.split("-")
        acts.setdefault(f"{ZH_DOMAINS[domain]}-{ZH_ACTS[kind]}", []).append([ZH_SLOTS[slot], value])
    return {"text": plain(said.pair[1]), "metadata": metadata, "dialog_act": acts}


def ontology(corpora: list[dict[str, Any]], names: dict[str, list[str]]) -> tuple[dict, dict]:
    """Every value of the states, and the venue names, by slot key; in English and in Chinese."""
    en: dict[str, set[str]] = {}
    zh: dict[str, set[str]] = {}
    for domain, (book, semi) in LAYOUT.items():
        for part, slots in (("book", book), ("semi", semi)):
            for slot in slots:
                known = names.get(domain, []) if slot == "name" else []
                en[f"{domain}-{part}-{slot}"] = set(known)
                zh[_zh_key(domain, part, slot)] = {ZH_NAMES[n] for n in known}
    for corpus_en, corpus_zh in corpora:
        for log_en, log_zh in zip(corpus_en.values(), corpus_zh.values(), strict=True):
            for turn, turn_zh in zip(log_en["log"][1::2], log_zh["log"][1::2], strict=True):
                for (domain, part, slot), value, value_zh in _cells(turn["metadata"], turn_zh["metadata"]):
                    if value not in ("", "not mentioned", "none"):
                        en[f"{domain}-{part}-{slot}"].add(value)
                        zh[_zh_key(domain, part, slot)].add(value_zh)
    return {k: sorted(v) for k, v in sorted(en.items())}, {k: sorted(v) for k, v in zh.items()}


def _cells(meta: dict, meta_zh: dict):
    for domain, parts in meta.items():
        parts_zh = meta_zh[ZH_LAYOUT_DOMAINS[domain]]
        for part, slots in parts.items():
            for slot, value in slots.items():
                if slot != "booked":
                    yield (domain, part, slot), value, parts_zh[part][ZH_LAYOUT_SLOTS[slot]]


def _zh_key(domain: str, part: str, slot: str) -> str:
    return f"{ZH_LAYOUT_DOMAINS[domain]}-{'预订' if part == 'book' else ''}{ZH_LAYOUT_SLOTS[slot]}"

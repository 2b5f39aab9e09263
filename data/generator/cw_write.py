"""From talks to the files of the CrossWOZ corpora, Chinese and English."""

from __future__ import annotations

from typing import Any

from cw_talk import LAYOUT, Sub, Talk, Turn
from cw_world import FACILITIES, NEARBY, ZH_DOMAINS, ZH_SLOTS, ZH_TYPES, zh_slot
from dice import Dice
from noise import RATES, Tally, changes, schedule
from text import Utterance, acts_of, plain

EN, ZH = 0, 1
_RESPELL = {
    "free": ("free admission", "免费"),
    "comfort": ("Comfortable", "舒适"),
    "1 hour-2 hours": ("1-2 hours", "1-2小时"),
    "2 hours-3 hours": ("2-3 hours", "2-3小时"),
    "4 points or above": ("4.0 points or above", "4.0分以上"),
    "5 points": ("5 points ", "5分"),
}


def respell(value: tuple[str, ...]) -> tuple[str, str] | None:
    return _RESPELL.get(value[0])


def flat(value: Any) -> tuple[str, str]:
    """A state value as a pair of strings; the dishes or facilities of a list stand in one string."""
    if isinstance(value, list):
        return ",".join(v[0] for v in value), " ".join(v[1] for v in value)
    return value


def clean_states(talk: Talk) -> list[dict[tuple[str, str], tuple[str, str]]]:
    """The true ``sys_state_init`` of every turn without the results: {(domain, slot): (English, Chinese)}."""
    return [_filled(turn.init) for turn in talk.turns]


def _filled(state: dict) -> dict[tuple[str, str], tuple[str, str]]:
    return {(d, s): flat(v) for d, slots in state.items() for s, v in slots.items() if s != "selected" and v}


def dialogue(talk: Talk, dialogue_id: str, tally: Tally) -> tuple[dict[str, Any], dict[str, Any]]:
    """One dialogue in English and in Chinese."""
    dice = Dice(f"noise/{dialogue_id}")
    truth, said = clean_states(talk), [turn.said for turn in talk.turns]
    columns = {
        key: schedule(dice, history, len(truth), tally, respell, None)
        for key, history in changes(truth, said).items()
    }
    nones: dict[tuple[str, str], str] = {}
    workers = [dice.between(11, 99), dice.between(11, 99)]
    messages: tuple[list, list] = ([], [])
    for t, turn in enumerate(talk.turns):
        init = {key: column[t] for key, column in columns.items() if column[t]}
        after = _after(turn, init)
        for domain in {d for d, _ in truth[t]}:
            for slot in LAYOUT[domain]:
                if (domain, slot) not in nones and (domain, slot) not in init:
                    hit = tally.count("none_value", dice.chance(RATES["none_value"]))
                    # Protocol dstc9 maps "none" but not "none " to empty: both occur.
                    nones[domain, slot] = dice.pick(("none", "none", "none ")) if hit else ""
        active = {d for d, _ in truth[t]}
        for language in (EN, ZH):
            empty = {k: v for k, v in nones.items() if k[0] in active} if language == EN else {}
            messages[language].append(
                {
                    "content": plain(turn.user.pair[language]),
                    "role": "usr",
                    "dialog_act": _acts(turn.user, language),
                    "user_state": rows(talk.goal, language, turn.mentioned, turn.known),
                }
            )
            messages[language].append(
                {
                    "content": plain(turn.system.pair[language]),
                    "role": "sys",
                    "dialog_act": _acts(turn.system, language),
                    "sys_state": _state(after, turn.after, language, empty),
                    "sys_state_init": _state(init, turn.init, language, empty),
                }
            )
    out = []
    for language in (EN, ZH):
        description = describe(talk.goal, language)
        everything = {(s.id, slot) for s in talk.goal for slot in (*s.wishes, *s.asks, "name", "from", "to")}
        out.append(
            {
                "sys-usr": workers,
                "goal": rows(talk.goal, language, set(), {}),
                "messages": messages[language],
                "final_goal": rows(talk.goal, language, everything, talk.known),
                "task description": " ".join(description) if language == EN else description,
                "type": talk.kind if language == EN else ZH_TYPES[talk.kind],
            }
        )
    return out[EN], out[ZH]


def _after(turn: Turn, init: dict) -> dict:
    """The noisy state after the assistant acted: as before, but for what it gave up or set."""
    before, later = _filled(turn.init), _filled(turn.after)
    out = {key: value for key, value in init.items() if key in later or key not in before}
    out.update({key: value for key, value in later.items() if before.get(key) != value})
    return out


def _state(values: dict, state: dict, language: int, nones: dict) -> dict[str, dict[str, Any]]:
    out: dict[str, dict[str, Any]] = {}
    for domain, slots in LAYOUT.items():
        results = [name[language] for name in state[domain]["selected"]]
        empty = {s: nones.get((domain, s), "") for s in slots}
        cells = {s: values[domain, s][language] if values.get((domain, s)) else empty[s] for s in slots}
        if language == EN:
            out[domain] = {"selectedResults": results, **cells}
        else:
            out[ZH_DOMAINS[domain]] = {ZH_SLOTS[s]: v for s, v in cells.items()} | {
                "selectedResults": results
            }
    return out


def _acts(said: Utterance, language: int) -> list[list[str]]:
    out = []
    for act, slot, value in acts_of(said, language):
        kind, domain = act.split("|")
        if isinstance(value, tuple):
            value = value[language]
        if language == ZH:
            slot = zh_slot(slot)
            value = ZH_DOMAINS.get(value, value) if slot == "源领域" else value
            domain = ZH_DOMAINS[domain]
        out.append([kind, domain, slot, value])
    return sorted(out)


def rows(goal: list[Sub], language: int, mentioned: set, known: dict) -> list[list[Any]]:
    """The goal as rows [id, domain, slot, value, mentioned], with what is known filled in."""
    out: list[list[Any]] = []
    for sub in goal:
        domain = sub.domain if language == EN else ZH_DOMAINS[sub.domain]
        cells: list[tuple[str, Any]] = []
        for slot, wish in sub.wishes.items():
            if slot == "Hotel Facilities":
                cells += [(f"Hotel Facilities - {f[0]}", ("Yes", "是")[language]) for f in wish]
            else:
                cells.append((slot, _cell(wish, slot, language)))
        if sub.ends[0]:
            cells += [(s, f"id={i}") for s, i in zip(("from", "to"), sub.ends, strict=True)]
        elif "name" not in sub.wishes:
            cells.append(("name", _near(sub, language)))
        cells += [(slot, [] if slot in NEARBY or slot == "dishes" else "") for slot in sub.asks]
        for slot, value in cells:
            flag = (sub.id, "Hotel Facilities" if slot.startswith("Hotel Facilities") else slot) in mentioned
            if (sub.id, slot) in known:
                value = _cell(known[sub.id, slot], slot, language)
            out.append([sub.id, domain, slot if language == EN else zh_slot(slot), value, flag])
    return out


def _cell(value: Any, slot: str, language: int) -> Any:
    if isinstance(value, list):
        return [v[language] for v in value] or ("None", "无")[language]
    return [value[language]] if slot == "dishes" else value[language]


def _near(sub: Sub, language: int) -> str:
    if not sub.near:
        return ""
    things = {
        "Attraction": ("attractions", "景点"),
        "Restaurant": ("restaurants", "餐馆"),
        "Hotel": ("hotels", "酒店"),
    }
    thing = things[sub.domain][language]
    return (
        f"Appearing in {thing} near id={sub.near.id}"
        if language == EN
        else f"出现在id={sub.near.id}的周边{thing}里"
    )


_CALLED = {
    "open": "opening hours",
    "nearby attract.": "nearby attractions",
    "nearby rest.": "nearby restaurants",
    "duration": "duration of a visit",
}


def describe(goal: list[Sub], language: int) -> list[str]:
    """The task as the crowd workers read it."""
    lines = []
    for sub in goal:
        if sub.ends[0]:
            a, b = sub.ends
            way_en, way_zh = {"Metro": ("take the metro", "乘坐地铁"), "Taxi": ("call a taxi", "呼叫出租车")}[
                sub.domain
            ]
            asks = _join([s if language == EN else zh_slot(s) for s in sub.asks], language)
            en = f"You want to {way_en} from id={a} to id={b}. You want to know the {asks}."
            lines.append(en if language == EN else f"你想从id={a}到id={b}{way_zh}。你想知道{asks}。")
            continue
        thing = sub.domain.lower() if language == EN else ZH_DOMAINS[sub.domain]
        wishes = []
        for slot, wish in sub.wishes.items():
            value = flat(wish)[language].strip()
            wishes.append(f"its {slot} to be {value}" if language == EN else f"{zh_slot(slot)}是{value}")
        asks = _join([_CALLED.get(s, s) if language == EN else zh_slot(s) for s in sub.asks], language)
        if language == EN:
            lines.append(
                f"You are going to a {thing} (id={sub.id}). You want {_join(wishes, EN)}. You want to know its {asks}."
            )
        else:
            lines.append(
                f"你要去一个{thing}(id={sub.id})。你希望{_join(wishes, ZH)}。你想知道这个{thing}的{asks}。"
            )
    return [line.replace(" a attraction", " an attraction") for line in lines]


def _join(parts: list[str], language: int) -> str:
    return " and ".join(parts) if language == EN else "、".join(parts)


def ontology(corpora: list[dict[str, Any]], language: int) -> dict[str, list[str]]:
    """Every value of the states by ``Domain-slot``; each facility is a key of its own, as published."""
    out: dict[str, set[str]] = {}
    for domain, slots in LAYOUT.items():
        for slot in slots:
            if slot == "Hotel Facilities":
                for names in FACILITIES.values():
                    name = f"Hotel Facilities - {names[0]}"
                    key = f"{domain}-{name}" if language == EN else f"{ZH_DOMAINS[domain]}-{zh_slot(name)}"
                    out[key] = {("yes", "是")[language]}
            else:
                out[f"{domain}-{slot}" if language == EN else f"{ZH_DOMAINS[domain]}-{ZH_SLOTS[slot]}"] = (
                    set()
                )
    for corpus in corpora:
        for entry in corpus.values():
            for message in entry["messages"][1::2]:
                for domain, cells in message["sys_state_init"].items():
                    for slot, value in cells.items():
                        key = f"{domain}-{slot}"
                        if slot != "selectedResults" and key in out and value.strip() not in ("", "none"):
                            out[key].add(value)
    return {key: sorted(values) for key, values in out.items()}

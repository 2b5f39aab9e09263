"""Predictions of simulated systems on the test splits, with error profiles that are known.

A profile is a handful of chances; the systems start from the truth (not from the noisy gold) and
err as the profile says. `write` puts one file a system, and ``profiles.json``, under predictions/.
"""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import cw_talk
import cw_write
import mw_talk
import mw_write
import predict_text
from dice import Dice
from mw_values import VALUES
from predict_formats import convlab, gt_pr, pairs, trade, turns_csv, turns_jsonl

#: Chances per slot that newly appears (or changes): to miss it for good, to be a turn late, to take a
#: wrong value, to spell it differently, to stay with the old value after a change; and per turn, to
#: invent a slot. ``rare_miss`` replaces ``miss`` for the rare slots.
TRACKERS: dict[str, dict[str, float]] = {
    "tracker_careful": {
        "miss": 0.02,
        "rare_miss": 0.03,
        "late": 0.01,
        "wrong": 0.01,
        "respell": 0.02,
        "stale": 0.02,
        "invent": 0.005,
    },
    "tracker_sloppy": {
        "miss": 0.05,
        "rare_miss": 0.45,
        "late": 0.03,
        "wrong": 0.03,
        "respell": 0.3,
        "stale": 0.05,
        "invent": 0.02,
    },
    "tracker_stale": {
        "miss": 0.02,
        "rare_miss": 0.03,
        "late": 0.02,
        "wrong": 0.01,
        "respell": 0.02,
        "stale": 0.95,
        "invent": 0.005,
    },
    "tracker_eager": {
        "miss": 0.01,
        "rare_miss": 0.01,
        "late": 0.0,
        "wrong": 0.02,
        "respell": 0.02,
        "stale": 0.02,
        "invent": 0.1,
    },
}
RARE = {
    "stars",
    "parking",
    "internet",
    "Hotel Facilities",
    "nearby attract.",
    "nearby rest.",
    "nearby hotels",
}
#: ``omit``: chance to leave out a sentence of the truth's content; ``style``: how placeholders are named.
GENERATORS: dict[str, dict[str, Any]] = {
    "generator_template": {"omit": 0.06, "style": "value", "manner": "template", "state": "tracker_careful"},
    "generator_bland": {"omit": 0.0, "style": "domain", "manner": "bland", "state": ""},
    "generator_verbose": {"omit": 0.03, "style": "domain", "manner": "verbose", "state": "tracker_sloppy"},
}
#: Slot names of the file that was written by a system with names of its own.
OTHER_NAMES = {
    "leaveat": "leave at",
    "arriveby": "arrive by",
    "pricerange": "price range",
    "bookday": "book day",
    "bookpeople": "book people",
    "bookstay": "book stay",
    "booktime": "book time",
}
States = list[dict[Any, str]]


def write(out: Path, multiwoz: dict[str, mw_talk.Talk], crosswoz: dict[str, cw_talk.Talk]) -> None:
    folder = out / "predictions"
    states = {n: {i: _track_multiwoz(n, i, t) for i, t in multiwoz.items()} for n in TRACKERS}
    files: dict[str, Any] = {}
    for name in ("tracker_careful", "tracker_sloppy", "tracker_stale"):
        document = {
            i.lower(): [
                {"response": r, "state": nest(s)}
                for r, s in zip(predict_text.copies(t, i, name), states[name][i], strict=True)
            ]
            for i, t in multiwoz.items()
        }
        files[f"multiwoz/{name}.json"] = document
    files["multiwoz/tracker_renamed.json"] = _rename(files["multiwoz/tracker_careful.json"])
    for name, profile in GENERATORS.items():
        files[f"multiwoz/{name}.json"] = {
            i.lower(): _generated(t, i, name, profile, states.get(profile["state"], {}).get(i))
            for i, t in multiwoz.items()
        }
    gold = {i: mw_write.clean_states(t) for i, t in multiwoz.items()}
    golden = {i: [_named(s) for s in g] for i, g in gold.items()}
    for path, content in files.items():
        _dump(folder / f"{path}.gz", content)
    few = list(multiwoz)[:12]
    eager = states["tracker_eager"]
    _dump(
        folder / "multiwoz" / "trade_tracker_eager.json",
        {f"{i}.json": trade(golden[i], eager[i]) for i in few},
    )
    users = {i: [predict_text.user(t) for t in multiwoz[i].turns] for i in few}
    _dump(
        folder / "multiwoz" / "convlab_tracker_eager.json",
        convlab({i: (users[i], golden[i], eager[i]) for i in few}),
    )
    _dump(
        folder / "multiwoz" / "gt_pr_tracker_stale.json",
        {i: gt_pr(golden[i], states["tracker_stale"][i]) for i in few},
    )
    texts = {i: predict_text.copies(multiwoz[i], i, "generator_template") for i in few}
    _text(
        folder / "multiwoz" / "turns_tracker_careful.jsonl",
        turns_jsonl({i: (states["tracker_careful"][i], texts[i]) for i in few}),
    )
    _text(folder / "multiwoz" / "turns_generator_template.csv", turns_csv(texts))
    _crosswoz(folder / "crosswoz_en", crosswoz)
    _text(
        folder / "profiles.json",
        json.dumps({"trackers": TRACKERS, "rare": sorted(RARE), "generators": GENERATORS}, indent=1) + "\n",
    )


def _crosswoz(folder: Path, talks: dict[str, cw_talk.Talk]) -> None:
    states = {}
    for name in ("tracker_careful", "tracker_sloppy", "tracker_stale"):
        states[name] = {i: _track_crosswoz(name, i, t) for i, t in talks.items()}
    careful = states["tracker_careful"]
    states["tracker_offers"] = {i: _with_offers(Dice(f"offers/{i}"), careful[i], t) for i, t in talks.items()}
    for name, dialogues in states.items():
        content = {i: [_every_slot(s) for s in turns] for i, turns in dialogues.items()}
        _dump(folder / f"{name}.submission.json.gz", content)
        _dump_text(
            folder / f"{name}.jsonl.gz", turns_jsonl({i: (turns, None) for i, turns in dialogues.items()})
        )
    # The file carries its own gold: the truth before noise, so that it can be scored without a corpus.
    gold = {i: [{k: v[0] for k, v in s.items()} for s in cw_write.clean_states(t)] for i, t in talks.items()}
    few = list(talks)[:15]
    _text(
        folder / "pairs_tracker_careful.jsonl",
        pairs({i: (gold[i], states["tracker_careful"][i]) for i in few}),
    )


def track(dice: Dice, truth: States, profile: dict[str, float], other: Any, respell: Any) -> States:
    """Predict the states of one dialogue: the truth with the errors of a profile.

    ``other(key)`` draws another value for a slot; ``respell(key, value)`` spells one differently.
    """
    believed: dict[Any, str] = {}
    due: dict[Any, str] = {}
    ignored: set[Any] = set()
    out = []
    for turn, state in enumerate(truth):
        believed.update(due)
        due = {}
        before = truth[turn - 1] if turn else {}
        for key, value in state.items():
            if before.get(key) == value or key in ignored:
                continue
            if key in before and dice.chance(profile["stale"]):
                continue
            rare = key[-1] in RARE
            if dice.chance(profile["rare_miss" if rare else "miss"]):
                ignored.add(key)
                continue
            said = other(dice, key) if dice.chance(profile["wrong"]) else value
            said = respell(key, said) if dice.chance(profile["respell"]) else said
            (due if dice.chance(profile["late"]) else believed)[key] = said
        # A slot that is withdrawn goes, unless the tracker clings to what it once heard.
        for key in [
            k for k in believed if k not in state and k in before and not dice.chance(profile["stale"])
        ]:
            del believed[key]
        if dice.chance(profile["invent"]):
            key = dice.pick(INVENTED[len(next(iter(truth[-1]), (0, 0, 0)))])
            believed.setdefault(key, other(dice, key))
        out.append(dict(believed))
    return out


INVENTED = {
    3: [
        ("hotel", "semi", "area"),
        ("restaurant", "semi", "pricerange"),
        ("train", "book", "people"),
        ("hotel", "semi", "parking"),
    ],
    2: [("Hotel", "rating"), ("Attraction", "fee"), ("Restaurant", "cost")],
}
_OTHER = {
    "area": list(VALUES["area"]),
    "pricerange": list(VALUES["pricerange"]),
    "food": list(VALUES["food"]),
    "day": list(VALUES["day"]),
    "people": list(VALUES["count"]),
    "stay": list(VALUES["count"])[:5],
    "stars": list(VALUES["stars"]),
    "parking": ["yes", "no"],
    "internet": ["yes", "no"],
    "rating": ["4.5 points or above", "4 points or above", "5 points"],
    "fee": ["free", "20-50 yuan", "50-100 yuan"],
    "cost": ["50-100 yuan", "100-150 yuan"],
    "price": ["200-300 yuan", "300-400 yuan", "500-600 yuan"],
    # The hotel type of the one ontology is a price class, of the other a kind of house.
    "type": ["hotel", "guesthouse", "museum"],
}


def _another(dice: Dice, key: tuple) -> str:
    if len(key) == 2 and key[1] == "type":
        return dice.pick(("budget", "comfort", "luxury"))
    return dice.pick(_OTHER.get(key[-1], ["dontcare", "centre"] if len(key) == 3 else ["none"]))


def _spell_multiwoz(key: tuple, value: str) -> str:
    other = mw_write.respell((value, value))
    if other:
        return other[0]
    if key[-1] in ("name", "departure", "destination"):
        return value.removeprefix("the ") if value.startswith("the ") else f"the {value}"
    return {"dontcare": "do n't care"}.get(value, value)


def _spell_crosswoz(key: tuple, value: str) -> str:
    other = cw_write.respell((value, value))
    return other[0] if other else value.replace("\xa0", " ").strip().lower()


def _track_multiwoz(name: str, dialogue_id: str, talk: mw_talk.Talk) -> States:
    truth = [{k: v[0] for k, v in s.items()} for s in mw_write.clean_states(talk)]
    states = track(Dice(f"{name}/{dialogue_id}"), truth, TRACKERS[name], _another, _spell_multiwoz)
    return [{_name(key): value for key, value in state.items()} for state in states]


def _named(state: dict) -> dict[tuple[str, str], str]:
    return {_name(key): value[0] for key, value in state.items()}


def _name(key: tuple[str, str, str]) -> tuple[str, str]:
    """(domain, slot) with the slot names of the MultiWOZ 2.2 schema: bookday, leaveat."""
    domain, part, slot = key
    return domain, ("book" if part == "book" else "") + slot.lower()


def _track_crosswoz(name: str, dialogue_id: str, talk: cw_talk.Talk) -> States:
    truth = [{k: v[0] for k, v in s.items()} for s in cw_write.clean_states(talk)]
    dice = Dice(f"{name}/{dialogue_id}")
    return track(dice, truth, TRACKERS[name], _another, _spell_crosswoz)


def _with_offers(dice: Dice, states: States, talk: cw_talk.Talk) -> States:
    """The same states, and where no name was said one of those the assistant is about to offer.

    Protocol ``dstc9`` wants such names (any member of ``selectedResults``), ``lin2021`` punishes them.
    """
    out = [dict(state) for state in states]
    for state, turn in zip(out, talk.turns, strict=True):
        for domain, cells in turn.init.items():
            if cells["selected"] and domain not in ("Metro", "Taxi"):
                state.setdefault((domain, "name"), dice.pick(cells["selected"])[0])
    return out


def nest(state: dict[tuple[str, str], str]) -> dict[str, dict[str, str]]:
    out: dict[str, dict[str, str]] = {}
    for (domain, slot), value in state.items():
        out.setdefault(domain, {})[slot] = value
    return out


def _every_slot(state: dict[tuple[str, str], str]) -> dict[str, dict[str, str]]:
    return {d: {s: state.get((d, s), "") for s in slots} for d, slots in cw_talk.LAYOUT.items()}


def _rename(document: dict[str, list[dict]]) -> dict[str, list[dict]]:
    """The same predictions by a system that calls the slots by names of its own."""

    def other(state: dict[str, dict[str, str]]) -> dict[str, dict[str, str]]:
        return {d: {OTHER_NAMES.get(s, s): v for s, v in cells.items()} for d, cells in state.items()}

    return {i: [turn | {"state": other(turn["state"])} for turn in turns] for i, turns in document.items()}


def _generated(
    talk: mw_talk.Talk, dialogue_id: str, name: str, profile: dict, states: States | None
) -> list[dict]:
    texts = predict_text.responses(Dice(f"{name}/{dialogue_id}"), talk, profile)
    out = []
    for number, (turn, text) in enumerate(zip(talk.turns, texts, strict=True)):
        entry: dict[str, Any] = {"response": text}
        if states is not None:
            entry["state"] = nest(states[number])
        entry["active_domains"] = [turn.domain] if turn.domain else []
        out.append(entry)
    return out


def _text(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8", newline="\n")


def _dump(path: Path, content: Any) -> None:
    text = json.dumps(content, ensure_ascii=False) + "\n"
    (_dump_text if path.suffix == ".gz" else _text)(path, text)


def _dump_text(path: Path, text: str) -> None:
    """Compressed without a date, so that the bytes stay the same."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(text.encode(), 9, mtime=0))

"""Responses of simulated generators: delexicalised, lower-cased, in the manner of a profile."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import mw_system_text
from dice import Dice
from mw_talk import Talk, Turn
from text import Utterance, Value, tokens

#: Placeholder of each act slot; {} stands for "value" or the domain.
PLACEHOLDERS = {
    "Name": "name",
    "Area": "area",
    "Price": "pricerange",
    "Food": "food",
    "Type": "type",
    "Stars": "stars",
    "Addr": "address",
    "Phone": "phone",
    "Post": "postcode",
    "Fee": "price",
    "Ticket": "price",
    "Choice": "choice",
    "Ref": "reference",
    "Id": "id",
    "Day": "day",
    "Leave": "leave",
    "Arrive": "arrive",
    "Depart": "departure",
    "Dest": "destination",
    "Time": "time",
    "Car": "car",
    "People": "people",
    "Stay": "stay",
}
#: The few names that published systems never give with a domain.
ALWAYS_VALUE = {"car", "people", "stay", "time"}
BLAND = [
    "is there anything else i can help you with today ?",
    "okay , what else can i do for you ?",
    "can i help you with anything else ?",
    "sure , i can help you with that .",
]


def delexicalised(said: Utterance, domain: str, style: str) -> str:
    """The text with ``[value_name]`` (style "value") or ``[restaurant_name]`` (style "domain")."""
    pieces = []
    for piece in said.pair[0]:
        if isinstance(piece, Value) and piece.spanned:
            slot = PLACEHOLDERS[piece.slot]
            prefix = "value" if style == "value" or slot in ALWAYS_VALUE or not domain else domain
            # The tokeniser would cut brackets off; a bare word passes and gets them afterwards.
            pieces.append(replace(piece, surface=f"zqx{prefix}_{slot}xqz"))
        else:
            pieces.append(piece)
    text = tokens(pieces)[0].lower()
    return text.replace("zqx", "[").replace("xqz", "]")


def responses(dice: Dice, talk: Talk, profile: dict[str, Any]) -> list[str]:
    """One response a turn: the same content told again, told at length, or hardly told at all."""
    return [_response(dice, turn, profile) for turn in talk.turns]


def _response(dice: Dice, turn: Turn, profile: dict[str, Any]) -> str:
    if profile["manner"] == "bland" and dice.chance(0.55):
        return dice.pick(BLAND[: 2 if dice.chance(0.7) else 4])
    told = turn.tell(dice)
    if dice.chance(profile["omit"]):
        return dice.pick(BLAND)
    text = delexicalised(told, turn.domain, profile["style"])
    if profile["manner"] == "bland":
        # Safe: the first sentence only.
        end = next((i for i, c in enumerate(text) if c in ".?!" and text[i - 1] == " "), len(text) - 1)
        return text[: end + 1]
    if profile["manner"] == "verbose":
        extra = dice.mixed(mw_system_text.CHATTER)[: dice.between(1, 2)]
        return " ".join([text, *extra])
    return text


def copies(talk: Talk, dialogue_id: str, name: str) -> list[str]:
    """Responses of a tracker that comes with a plain template generator."""
    profile = {"omit": 0.1, "style": "value", "manner": "template"}
    return responses(Dice(f"{name}/{dialogue_id}/text"), talk, profile)


def user(turn: Turn) -> str:
    return tokens(turn.user.pair[0])[0]

"""What counts as a predicted state: untrusted JSON in, (domain, slot, value) triples out.

Systems write states in many shapes. Those that can mean one thing only are accepted, and every
repair (a number read as text, a list of one string, a triple given twice) is counted; all else is
refused with a line that names the slot and says how to mend it. Values are kept byte for byte:
what counts as empty or equal is for a protocol to say.
"""

from __future__ import annotations

from collections import Counter
from typing import Any, NoReturn

from dialogeval.exceptions import PredictionError, show

__all__ = ["REPAIRS", "read_state"]

Triple = tuple[str, str, str]

#: What a note says about each kind of repair, after the number of times it was made.
REPAIRS = {
    "number": "values were numbers and are read as text",
    "list": "values were lists of one string and are read as that string",
    "twice": "triples stand twice in one state and are counted once",
}

_SHAPES = "{domain: {slot: value}} or a list of [domain, slot, value]"
#: Integers up to here are exact as floating-point numbers, so that 4.0 means 4 and nothing else.
_EXACT = 2**53


def read_state(state: Any, repairs: Counter[str], strings: str = "refuse") -> list[Triple]:
    """Turn a state of any unambiguous shape into triples, in the order of the file."""
    if type(state) is dict:
        out: list[Triple] = []
        nested = True
        for domain, slots in state.items():
            if type(slots) is dict:
                for slot, value in slots.items():
                    out.append(
                        (domain, slot, value if type(value) is str else _text(value, domain, slot, repairs))
                    )
            else:
                nested = False
                out.append(_from_pair(domain, slots, repairs))
        return out if nested else _unique(out, repairs)
    if isinstance(state, list):
        return _unique([_from_item(item, repairs, strings) for item in state], repairs)
    if state is None:
        raise PredictionError("the state", expected=_SHAPES, got="null", mend="write {} for an empty state")
    raise PredictionError("the state", expected=_SHAPES, got=show(state), mend="write the state as an object")


def _from_item(item: Any, repairs: Counter[str], strings: str) -> Triple:
    """Read one item of a state that is a list."""
    if type(item) is list and len(item) == 3 and type(item[0]) is type(item[1]) is type(item[2]) is str:
        return tuple(item)  # type: ignore[return-value]
    if isinstance(item, str) and strings == "split":
        parts = item.split("-", 2)
        if len(parts) == 3:
            return parts[0], parts[1], parts[2]
        raise PredictionError("an item of the state", expected="'domain-slot-value'", got=show(item))
    if isinstance(item, dict) and {"domain", "slot", "value"} <= item.keys():
        item = [item["domain"], item["slot"], item["value"]]
    if isinstance(item, (list, tuple)):
        if len(item) == 2 and isinstance(item[0], str):
            return _from_pair(item[0], item[1], repairs)
        if len(item) == 3 and isinstance(item[0], str) and isinstance(item[1], str):
            value = item[2]
            return item[0], item[1], value if type(value) is str else _text(value, item[0], item[1], repairs)
    raise PredictionError(
        "an item of the state", expected="[domain, slot, value] with names that are strings", got=show(item)
    )


def _from_pair(name: str, value: Any, repairs: Counter[str]) -> Triple:
    """Read "domain-slot" and its value."""
    domain, hyphen, slot = name.partition("-")
    if hyphen:
        return domain, slot, value if type(value) is str else _text(value, domain, slot, repairs)
    mend = f"leave {name!r} out or write {{}}" if value is None else "write {domain: {slot: value}}"
    raise PredictionError(
        f"domain {name!r} of the state", expected="an object {slot: value}", got=show(value), mend=mend
    )


def _text(value: Any, domain: str, slot: str, repairs: Counter[str]) -> str:
    """Read a slot's value that is not a string."""

    def refuse(mend: str) -> NoReturn:
        raise PredictionError(f"slot {domain}-{slot}", expected="a string", got=show(value), mend=mend)

    if value is None:
        refuse('leave the slot out or write ""')
    if isinstance(value, bool):
        refuse(f'write "{"yes" if value else "no"}"')
    if isinstance(value, int) or (isinstance(value, float) and value.is_integer() and abs(value) < _EXACT):
        repairs["number"] += 1
        return str(int(value))
    if isinstance(value, float):
        refuse("put it in quotation marks, as the gold spells it")
    if isinstance(value, list):
        if len(value) == 1 and isinstance(value[0], str):
            repairs["list"] += 1
            return value[0]
        refuse("give one string" if value else "leave the slot out")
    refuse("give one string")


def _unique(triples: list[Triple], repairs: Counter[str]) -> list[Triple]:
    out = list(dict.fromkeys(triples))
    if len(out) != len(triples):
        repairs["twice"] += len(triples) - len(out)
    return out

"""Value policies: named steps that normalise states before they are compared.

A protocol lists its steps as ``name:choice`` strings, which stand in the signature as they are
written. A step is a function of one string (a value, or a slot with its domain) that runs once for
each distinct one, whatever the size of the table; a value that a step turns into the empty string
is *not filled* and leaves the state. The tables that steps look up are CSV files under ``data``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import partial, reduce

import numpy as np
import pandas as pd

from dialogeval import mwzeval
from dialogeval.exceptions import UnknownNameError
from dialogeval.resources import lookup

#: Spellings of "no value yet" in the annotation of the corpora. They are never a filled slot.
NOT_FILLED = ("", "not mentioned", "未提及")

_DONTCARE = re.compile(r"do(es)?(n't| ?nt| n't| not) ?(care|matter)|dontcare|any|不在意")
_TIME = re.compile(
    r"(?:(\d{1,2})(?: *: *|\.)(\d{2})|(\d{2})(\d{2})|(\d{1,2})(?= ?[ap]\.?m))(?: ?([ap])\.?m\.?)?"
)
_ARTICLE = re.compile(r"^(the\s+)+", re.IGNORECASE)
_PUNCTUATION = re.compile(r"['’`.,!?()\"-]")


def _drop_none(value: str) -> str:
    return "" if value.strip().lower() == "none" else value


def _unify_dontcare(value: str) -> str:
    return "dontcare" if _DONTCARE.fullmatch(" ".join(value.lower().split())) else value


def _drop_dontcare(value: str) -> str:
    return "" if _unify_dontcare(value) == "dontcare" else value


def _hhmm(value: str) -> str:
    """Write a time of day as HH:MM; what is no time stays as it is."""
    match = _TIME.fullmatch(value.strip().lower())
    if not match:
        return value
    hour, minute = int(match[1] or match[3] or match[5]), int(match[2] or match[4] or 0)
    if match[6]:
        hour = hour % 12 + 12 * (match[6] == "p")
    return f"{hour:02}:{minute:02}" if hour < 24 and minute < 60 else value


def _respell(value: str) -> str:
    """Replace whole words by the spelling of the table."""
    for variant, spelling in lookup("spellings"):
        value = re.sub(rf"(?<!\S){re.escape(variant)}(?!\S)", spelling, value)
    return value


def _map(value: str, name: str) -> str:
    return next((new for which, old, new in lookup("value_maps") if which == name and old == value), value)


#: Functions of a value by step name and choice; ``keep`` does nothing and is known to every step.
STEPS: dict[str, dict[str, Callable[[str], str]]] = {
    "case": {"lower": str.lower},
    "space": {
        "strip": str.strip,
        "collapse": lambda value: " ".join(value.split()),
        "remove": lambda value: "".join(value.split()),
    },
    "none": {"drop": _drop_none},
    "dontcare": {"unify": _unify_dontcare, "drop": _drop_dontcare},
    "time": {"hhmm": _hhmm},
    "article": {"drop": lambda value: _ARTICLE.sub("", value)},
    "spelling": {"unify": _respell},
    "punctuation": {"drop": lambda value: " ".join(_PUNCTUATION.sub("", value).split())},
    # DSTC9 has a table of values for each of its two corpora; `own_steps` puts the right one in.
    "map": {name: partial(_map, name=name) for name in ("dstc9", "dstc9-crosswoz", "dstc9-multiwoz")},
}


def _plain_name(domain: str, slot: str) -> str:
    return slot.lower().replace(" ", "").replace("_", "")


def _multiwoz22_name(domain: str, slot: str) -> str:
    """Return the name of the 2.2 schema for the names that systems use (``arrive by``, ``leaveAt``,
    ``day``)."""
    name = _plain_name(domain, slot)
    aliases = {(where, alias): name for where, alias, name in lookup("slot_aliases")}
    return aliases.get((domain, name), aliases.get(("*", name), name))


#: Functions of (domain, slot) by step name and choice.
SLOT_STEPS: dict[str, dict[str, Callable[[str, str], str]]] = {
    "slots": {
        "plain": _plain_name,
        "multiwoz22": _multiwoz22_name,
        "mwzeval": lambda domain, slot: mwzeval.slot_name(slot),
    },
}

#: Functions of (slot, value) by step name and choice, which run last. What they see is all a value: these
#: scorers know no spelling of "not filled".
CELL_STEPS: dict[str, dict[str, Callable[[str, str], str]]] = {
    "values": {"mwzeval": mwzeval.normalize_value},
}


_KNOWN: dict[str, dict] = {**STEPS, **SLOT_STEPS, **CELL_STEPS}


def check_steps(steps: Iterable[str]) -> tuple[tuple[str, str], ...]:
    """Split ``name:choice`` strings and check that they exist."""
    pairs = []
    for step in steps:
        name, _, choice = step.partition(":")
        if name not in _KNOWN:
            raise UnknownNameError("normalisation step", name, _KNOWN)
        if choice != "keep" and choice not in _KNOWN[name]:
            raise UnknownNameError(f"choice of step {name}", choice, ["keep", *_KNOWN[name]])
        pairs.append((name, choice))
    return tuple(pairs)


def own_steps(steps: Iterable[str], family: str) -> tuple[str, ...]:
    """Put the table of a corpus's own family in the place of ``map:dstc9``; it never applies to another."""
    known = f"dstc9-{family}" in STEPS["map"]
    return tuple(f"map:dstc9-{family}" if known and step == "map:dstc9" else step for step in steps)


def describe_steps(steps: Iterable[str]) -> dict[str, str]:
    """Return what a signature says of the steps: case and space always, others where they act."""
    acting: dict[str, str] = {"case": "keep", "space": "keep"}
    for name, choice in check_steps(steps):
        if choice == "keep":
            continue
        # A step may act twice, such as space:strip before a map and space:remove after it.
        before = acting.get(name, "keep")
        now = choice if before in ("keep", choice) else f"{before}+{choice}"
        if acting.keys() - {"case", "space"}:
            acting.pop(name, None)
        acting[name] = now
    return acting


def _functions(table: dict[str, dict], steps: Iterable[str]) -> list[Callable[..., str]]:
    return [table[name][choice] for name, choice in check_steps(steps) if name in table and choice != "keep"]


def normalize_value(value: str, steps: Iterable[str]) -> str:
    """Run the value steps on one string, in their order."""
    return normalize_values([value], steps, not_filled=())[0]


def normalize_values(
    values: Iterable[str], steps: Iterable[str], not_filled: Iterable[str] | None = None
) -> list[str]:
    """Run the value steps on many strings; one that says "no value yet" becomes the empty string."""
    functions = _functions(STEPS, steps)
    if not_filled is None:
        acting = {step.partition(":")[0] for step in steps if not step.endswith(":keep")}
        not_filled = () if acting & CELL_STEPS.keys() else ("",) if "map" in acting else NOT_FILLED
    absent = frozenset(not_filled)
    return ["" if v in absent else reduce(lambda text, step: step(text), functions, v) for v in values]


def normalize_slot(domain: str, slot: str, steps: Iterable[str]) -> str:
    """Run the steps for slot names on one name."""
    return reduce(lambda name, step: step(domain, name), _functions(SLOT_STEPS, steps), slot)


def normalize_triples(
    triples: Iterable[tuple[str, str, str]], steps: Iterable[str], not_filled: Iterable[str] | None = None
) -> list[tuple[str, str] | None]:
    """Return the new slot and value of distinct (domain, slot, value), None where one is then not filled."""
    triples, steps = list(triples), tuple(steps)
    by_cell = _functions(CELL_STEPS, steps)
    values = list(dict.fromkeys(value for _, _, value in triples))
    new_values = dict(zip(values, normalize_values(values, steps, not_filled), strict=True))
    slots = {(domain, slot): "" for domain, slot, _ in triples}
    slots = {place: normalize_slot(*place, steps) for place in slots}
    normal: list[tuple[str, str] | None] = []
    for domain, slot, value in triples:
        new, name = new_values[value], slots[domain, slot]
        # Where an empty value is a value, one that a step has emptied still goes.
        if not new and (value or not by_cell):
            normal.append(None)
        else:
            normal.append((name, reduce(lambda text, step: step(name, text), by_cell, new)))
    return normal


def normalize_states(
    states: pd.DataFrame, steps: Iterable[str], not_filled: Iterable[str] | None = None
) -> pd.DataFrame:
    """Run the steps on a table of states, or goals, and drop the rows that are then not filled."""
    columns = [pd.factorize(states[column]) for column in ("domain", "slot", "value")]
    shape = [max(len(names), 1) for _, names in columns]
    codes, distinct = pd.factorize(np.ravel_multi_index([codes for codes, _ in columns], shape))
    parts = zip(columns, np.unravel_index(distinct, shape), strict=True)
    triples = list(zip(*(names[code] for (_, names), code in parts), strict=True))
    new = normalize_triples(triples, steps, not_filled)
    if new == [triple[1:] for triple in triples]:
        return states
    filled = np.array([cell is not None for cell in new], dtype=bool)[codes]
    slots, values = (pd.array([cell[i] if cell else "" for cell in new], dtype="str") for i in (0, 1))
    left = states[filled].reset_index(drop=True)
    return left.assign(slot=slots.take(codes[filled]), value=values.take(codes[filled]))

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


def check_steps(steps: Iterable[str]) -> tuple[tuple[str, str], ...]:
    """Split ``name:choice`` strings and check that they exist."""
    known: dict[str, dict] = {**STEPS, **SLOT_STEPS, **CELL_STEPS}
    pairs = []
    for step in steps:
        name, _, choice = step.partition(":")
        if name not in known:
            raise UnknownNameError("normalisation step", name, known)
        if choice != "keep" and choice not in known[name]:
            raise UnknownNameError(f"choice of step {name}", choice, ["keep", *known[name]])
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


def normalize_value(value: str, steps: Iterable[str]) -> str:
    """Run the value steps on one string, in their order."""
    return _value_function(tuple(steps))(value)


def _value_function(steps: tuple[str, ...]) -> Callable[[str], str]:
    functions = [STEPS[n][c] for n, c in check_steps(steps) if c != "keep" and n in STEPS]
    return lambda value: reduce(lambda text, function: function(text), functions, value)


def normalize_values(
    values: Iterable[str], steps: Iterable[str], not_filled: Iterable[str] | None = None
) -> list[str]:
    """Run the value steps on many strings."""
    steps = tuple(steps)
    if not_filled is None:
        acting = {name for name, choice in check_steps(steps) if choice != "keep"}
        not_filled = () if acting & CELL_STEPS.keys() else ("",) if "map" in acting else NOT_FILLED
    absent, run = frozenset(not_filled), _value_function(steps)
    return ["" if v in absent else run(v) for v in values]


def normalize_slot(domain: str, slot: str, steps: Iterable[str]) -> str:
    """Run the steps for slot names on one name."""
    for name, choice in check_steps(steps):
        if name in SLOT_STEPS and choice != "keep":
            slot = SLOT_STEPS[name][choice](domain, slot)
    return slot


def normalize_states(
    states: pd.DataFrame, steps: Iterable[str], not_filled: Iterable[str] | None = None
) -> pd.DataFrame:
    """Run the steps on a table of states, or goals, and drop the rows that are then not filled."""
    steps = tuple(steps)
    by_cell = [CELL_STEPS[n][c] for n, c in check_steps(steps) if n in CELL_STEPS and c != "keep"]
    codes, values = pd.factorize(states["value"])
    new = normalize_values(values, steps, not_filled)
    if any(a != b or not b for a, b in zip(values, new, strict=True)):
        states = states.assign(value=pd.Series(new, dtype="str").take(codes).to_numpy())
        # Where an empty value is a value, one that a step has emptied still goes.
        gone = np.array([not b and bool(a or not by_cell) for a, b in zip(values, new, strict=True)])
        states = states[~gone[codes]].reset_index(drop=True)
    if any(name in SLOT_STEPS for name, _ in check_steps(steps)):
        renamed = _by_pair(states, "domain", "slot", lambda domain, slot: normalize_slot(domain, slot, steps))
        states = states.assign(slot=renamed)
    for function in by_cell:
        states = states.assign(value=_by_pair(states, "slot", "value", function))
    return states


def _by_pair(frame: pd.DataFrame, one: str, other: str, function: Callable[[str, str], str]) -> pd.Series:
    """Run a function of two columns once for each distinct pair."""
    left, lefts = pd.factorize(frame[one])
    right, rights = pd.factorize(frame[other])
    codes, pairs = pd.factorize(left * len(rights) + right)
    new = [function(lefts[pair // len(rights)], rights[pair % len(rights)]) for pair in pairs.tolist()]
    return pd.Series(new, dtype="str").take(codes).set_axis(frame.index)

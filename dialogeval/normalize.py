"""Value policies: named steps that normalise states before they are compared.

A protocol lists its steps as ``name:choice`` strings, which stand in the signature as they are
written. Every step is a function of one string that is run once for each distinct value or slot
name, whatever the size of the table; a value that a step turns into the empty string is *not
filled* and leaves the state.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from functools import reduce

import pandas as pd

from .errors import UnknownNameError

__all__ = ["STEPS", "check_steps", "describe_steps", "normalize_states", "normalize_value"]

_DONTCARE = re.compile(r"^(do(es)?\s?n[o']?t\s?(care|matter)|do(es)? not (care|matter)|dontcare|不在意)$")


def _drop_none(value: str) -> str:
    return "" if value.strip().lower() == "none" else value


def _unify_dontcare(value: str) -> str:
    return (
        "dontcare" if _DONTCARE.match(" ".join(value.lower().split()).replace("do n't", "don't")) else value
    )


def _drop_dontcare(value: str) -> str:
    return "" if _unify_dontcare(value) == "dontcare" else value


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
}

#: Spellings of "no value yet" in the annotation of the corpora. They are never a filled slot.
NOT_FILLED = ("", "not mentioned", "未提及")


def check_steps(steps: Iterable[str]) -> tuple[tuple[str, str], ...]:
    """Split ``name:choice`` strings and check that they exist.

    Parameters
    ----------
    steps : iterable of str

    Returns
    -------
    tuple of (name, choice)

    Raises
    ------
    UnknownNameError

    Examples
    --------
    >>> check_steps(["case:lower", "none:drop"])
    (('case', 'lower'), ('none', 'drop'))
    """
    pairs = []
    for step in steps:
        name, _, choice = step.partition(":")
        if name not in STEPS:
            raise UnknownNameError("normalisation step", name, STEPS)
        if choice != "keep" and choice not in STEPS[name]:
            raise UnknownNameError(f"choice of step {name}", choice, ["keep", *STEPS[name]])
        pairs.append((name, choice))
    return tuple(pairs)


def describe_steps(steps: Iterable[str]) -> dict[str, str]:
    """Return what a signature says of the steps: case and space always, others where they act.

    Examples
    --------
    >>> describe_steps(["none:drop"])
    {'case': 'keep', 'space': 'keep', 'none': 'drop'}
    """
    return {"case": "keep", "space": "keep"} | {
        n: c for n, c in check_steps(steps) if c != "keep" or n == "case"
    }


def normalize_value(value: str, steps: Iterable[str]) -> str:
    """Run the value steps on one string, in their order.

    Parameters
    ----------
    value : str
    steps : iterable of str

    Returns
    -------
    str
        Empty where the slot does not count as filled.

    Examples
    --------
    >>> normalize_value(" North Side ", ["case:lower", "space:remove"])
    'northside'
    """
    functions = [STEPS[name][choice] for name, choice in check_steps(steps) if choice != "keep"]
    return reduce(lambda text, function: function(text), functions, value)


def normalize_states(
    states: pd.DataFrame, steps: Iterable[str], not_filled: Iterable[str] = NOT_FILLED
) -> pd.DataFrame:
    """Run the steps on a table of states and drop the rows that are then not filled.

    Parameters
    ----------
    states : pandas.DataFrame
        Columns dialogue_id, turn, domain, slot, value; not changed.
    steps : iterable of str
    not_filled : iterable of str
        Values that mean "no value" before any step.

    Returns
    -------
    pandas.DataFrame
        Same columns, possibly fewer rows.

    Raises
    ------
    UnknownNameError

    Examples
    --------
    >>> s = pd.DataFrame([("d", 0, "hotel", "area", "NORTH"), ("d", 0, "hotel", "stars", "none")],
    ...                  columns=["dialogue_id", "turn", "domain", "slot", "value"])
    >>> normalize_states(s, ["case:lower", "none:drop"])["value"].tolist()
    ['north']
    """
    codes, values = pd.factorize(states["value"])
    absent = frozenset(not_filled)
    done: Mapping[str, str] = {v: "" if v in absent else normalize_value(v, steps) for v in values}
    if all(old == new != "" for old, new in done.items()):
        return states
    mapped = pd.Series([done[v] for v in values], dtype="str")
    out = states.assign(value=mapped.take(codes).to_numpy())
    return out[out["value"] != ""].reset_index(drop=True)

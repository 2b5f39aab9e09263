"""Placeholders of slots: what stands in delexicalised text for a value of a slot.

In: a domain and a slot as dialogue acts, states, goals or ontologies of any of the corpora call
them. Out: the placeholder. The names lie in ``data/act_slots.csv`` and ``data/act_domains.csv``;
they are those that the normalisation of responses knows (``data/placeholders.csv``), and some more
for CrossWOZ.
"""

from __future__ import annotations

import csv
from functools import cache
from importlib import resources

from .exceptions import UnknownNameError

__all__ = ["STYLES", "slot_placeholder"]

#: Placeholder styles: ``[value_name]``, ``[restaurant_name]`` and ``NAME``.
STYLES = ("value", "domain", "canonical")


@cache
def slot_placeholder(domain: str, slot: str, style: str = "value") -> str | None:
    """Return the placeholder of a slot as it is written into a text.

    Parameters
    ----------
    domain, slot : str
        As in dialogue acts (``hotel``, ``addr``) or states (``Hotel``, ``nearby rest.``; ``餐厅``).
    style : {"value", "domain", "canonical"}

    Returns
    -------
    str or None
        None for a slot that has no placeholder, such as parking, whose values are yes and no.

    Raises
    ------
    UnknownNameError

    Examples
    --------
    >>> slot_placeholder("train", "leave"), slot_placeholder("Train", "leaveAt", "domain")
    ('[value_leave]', '[train_leaveat]')
    >>> slot_placeholder("hotel", "parking") is None
    True
    """
    if style not in STYLES:
        raise UnknownNameError("placeholder style", style, STYLES)
    domain, slot = domain.strip().lower(), slot.strip().lower()
    domain = _domains().get(domain, domain)
    slots = _slots()
    # "hotel facilities - gym" is a slot of its own in CrossWOZ; the file names the family only.
    for name in (slot, slot.partition("-")[0].strip()):
        value, qualified = slots.get((domain, name)) or slots.get(("", name)) or ("", "")
        if value:
            break
    if not value:
        return None
    if style == "value":
        return f"[{value}]"
    if style == "domain":
        # The domain "booking" stands for any domain, so its placeholders name none.
        return f"[{qualified.removeprefix('{domain}_') if domain == 'booking' else qualified.format(domain=domain)}]"
    return _canonical().get(value, value.removeprefix("value_").upper())


@cache
def _slots() -> dict[tuple[str, str], tuple[str, str]]:
    return {(row["domain"], row["slot"]): (row["value"], row["qualified"]) for row in _rows("act_slots.csv")}


@cache
def _domains() -> dict[str, str]:
    return {row["domain"]: row["english"] for row in _rows("act_domains.csv")}


@cache
def _canonical() -> dict[str, str]:
    from .placeholders import placeholder_table

    frame = placeholder_table()
    return dict(zip(frame["variant"], frame["canonical"], strict=True))


def _rows(file: str) -> list[dict[str, str]]:
    text = resources.files("dialogeval").joinpath("data", file).read_text(encoding="utf-8")
    return list(csv.DictReader(text.splitlines()))

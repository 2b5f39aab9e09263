"""Value mappings: from the name in an alignment's cell ``converter`` to a function of one value.

A value mapping returns None for a value that it does not know, so that the value can be counted. The
cell holds nothing (values stay as they are), the name of a function of `CONVERTERS`, a table
(``values:areas_zh``; ``list:facilities_en`` where a value is a list and every item must be known;
``any:internet_crosswoz`` where one known item is enough), ``open`` (an open set such as names of
venues, of which nothing is known until it is learned) or a small table in itself, ``yes=有|no=没有``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache, partial

from ..normalize import NOT_FILLED, normalize_value

__all__ = [
    "CONVERTERS",
    "TABLE_KINDS",
    "Converter",
    "Pairs",
    "inline_pairs",
    "is_special",
    "value_key",
    "value_mapping",
]

#: A value table: pairs of value and target value. The first row of a value counts when it is looked
#: up, the first row of a target value when the table is read backwards.
Pairs = tuple[tuple[str, str], ...]
ValueMapping = Callable[[str], str | None]

TABLE_KINDS = ("values", "list", "any")

_DONTCARE = {"zh": "不在意"}
_NOT_MENTIONED = {"zh": "未提及"}
_LIST_SIGNS = {"zh": r"[\s,，、]+"}
#: Signs that join alternatives in one cell, in English and in Chinese.
_ALTERNATIVES = re.compile(r"([|<>]|或)")


@dataclass(frozen=True)
class Converter:
    """A function of a value, and the name of the one that leads back."""

    convert: ValueMapping
    inverse: str


# N stands for a number. The first pair whose one side fits gives the other side.
_YUAN = (
    ("N-N元", "N-N yuan"),
    ("N元以上", "N yuan or more"),
    ("N元以下", "N yuan or less"),
    ("N元", "N yuan"),
    ("免费", "free"),
    ("免费", "free admission"),
)
_POINTS = (
    ("N分以上", "N points or above"),
    ("N分以下", "N points or below"),
    ("N-N分", "N-N points"),
    ("N分", "N points"),
)
_DURATION = (
    ("N小时 - N小时", "N hours-N hours"),
    ("N小时~N小时", "N hours ~ N hours"),
    ("N小时 - N天", "N hours-N days"),
    ("N天 - N天", "N days-N days"),
    ("N-N小时", "N-N hours"),
    ("N-N天", "N-N days"),
    ("N小时", "N hours"),
    ("N个小时", "N hours"),
    ("N天", "N days"),
    ("N分钟", "N minutes"),
    ("半天", "half a day"),
    ("N", "N"),
)
_TIME = (
    ("N:N", "N:N"),
    ("N", "N"),
    ("N:N之后", "after N:N"),
    ("N:N之前", "before N:N"),
    ("晚上N点", "Npm"),
    ("早上N点", "Nam"),
)


@lru_cache(maxsize=256)
def _pattern(template: str) -> re.Pattern[str]:
    text = re.escape(re.sub(r"\s+", "", template)).replace("N", r"(\d+(?:\.\d+)?)")
    return re.compile(re.sub(r"(hour|day|minute|point)s", r"\1s?", text), re.IGNORECASE)


def _rephrase(value: str, rules: tuple[tuple[str, str], ...], to: int) -> str | None:
    bare = re.sub(r"\s+", "", value)
    for rule in rules:
        if match := _pattern(rule[1 - to]).fullmatch(bare):
            text = rule[to].replace("N", "{}").format(*match.groups())
            return re.sub(r"(?<![\d.])1 (hour|day|minute)s", r"1 \1", text)
    return None


#: CrossWOZ's bands of yuan a head, by the price class that we read them as: the class's own band first.
_BANDS = {"cheap": "50 yuan or less", "moderate": "50-100 yuan", "expensive": "150-500 yuan"}


def _class_to_cost(value: str) -> str | None:
    return _BANDS.get(value_key(value))


def _cost_to_class(value: str) -> str | None:
    """Class a band by its middle: to 50 yuan a head cheap, to 150 moderate, above expensive."""
    bare = re.sub(r"\s+", "", value.lower())
    match = re.fullmatch(r"(\d+(?:\.\d+)?)(?:-(\d+(?:\.\d+)?))?yuan(ormore|orless)?", bare)
    if not match:
        return None
    low, high = float(match[1]), float(match[2] or match[1])
    middle = low / 2 if match[3] == "orless" else (low + high) / 2
    return "cheap" if middle <= 50 else "moderate" if middle <= 150 else "expensive"


def _stars_to_points(value: str) -> str | None:
    match = re.fullmatch(r"([1-5])(?: ?stars?)?", value_key(value))
    return ("5 points" if match[1] == "5" else f"{match[1]} points or above") if match else None


def _points_to_stars(value: str) -> str | None:
    match = re.fullmatch(r"([1-5])(?:\.0)? points(?: or above)?", value_key(value))
    return match[1] if match else None


CONVERTERS: dict[str, Converter] = {
    "class_to_cost": Converter(_class_to_cost, "cost_to_class"),
    "cost_to_class": Converter(_cost_to_class, "class_to_cost"),
    "stars_to_points": Converter(_stars_to_points, "points_to_stars"),
    "points_to_stars": Converter(_points_to_stars, "stars_to_points"),
}
for _name, _rules in {"yuan": _YUAN, "points": _POINTS, "duration": _DURATION, "time": _TIME}.items():
    CONVERTERS[f"{_name}_zh"] = Converter(partial(_rephrase, rules=_rules, to=0), f"{_name}_en")
    CONVERTERS[f"{_name}_en"] = Converter(partial(_rephrase, rules=_rules, to=1), f"{_name}_zh")


def value_key(value: str) -> str:
    """Return a value as tables are searched for it: without regard to case and white space.

    Examples
    --------
    >>> value_key(" Night  Club ")
    'night club'
    """
    return " ".join(value.casefold().split())


def is_special(value: str) -> bool:
    """Say whether a value means "do not care" or "no value yet", which every mapping knows.

    Examples
    --------
    >>> [is_special(v) for v in ("dontcare", "不在意", "none ", "cheap")]
    [True, True, True, False]
    """
    bare = value.strip().lower()
    return bare in NOT_FILLED or bare == "none" or normalize_value(value, ["dontcare:unify"]) == "dontcare"


def inline_pairs(converter: str) -> Pairs:
    """Return the pairs of a converter written as a small table.

    Parameters
    ----------
    converter : str
        ``a=b|c=d``.

    Returns
    -------
    tuple of (value, target value)

    Raises
    ------
    ValueError
        A piece without ``=`` or with nothing on one side of it.

    Examples
    --------
    >>> inline_pairs("yes=有|no=没有")
    (('yes', '有'), ('no', '没有'))
    """
    pairs = []
    for piece in converter.split("|"):
        value, sign, target = (part.strip() for part in piece.partition("="))
        if not (sign and value and target) or "=" in target:
            raise ValueError(f"{piece!r} is not value=target")
        pairs.append((value, target))
    return tuple(pairs)


def value_mapping(
    converter: str, values: Mapping[str, Pairs], source_language: str = "en", target_language: str = "en"
) -> ValueMapping:
    """Return the function behind a cell ``converter``.

    Parameters
    ----------
    converter : str
        As it stands in an alignment that was checked.
    values : mapping of str to pairs
        The alignment's value tables.
    source_language, target_language : str
        They say how lists are written, and how "do not care" is spelled when they differ.

    Returns
    -------
    callable
        From a value to the target value, or None for a value it does not know. "Do not care" and
        "no value yet" are known to every mapping.

    Examples
    --------
    >>> to_zh = value_mapping("yuan_zh", {}, "en", "zh")
    >>> to_zh("300-400 yuan"), to_zh("dontcare"), to_zh("a lot")
    ('300-400元', '不在意', None)
    >>> value_mapping("any:net", {"net": (("wifi", "yes"),)})("Gym,WiFi")
    'yes'
    """
    kind, _, name = converter.partition(":")
    if not converter:
        inner: ValueMapping = lambda value: value  # noqa: E731
    elif converter in CONVERTERS:
        inner = CONVERTERS[converter].convert
    else:
        pairs = values.get("open", ()) if converter == "open" else ()
        if kind in TABLE_KINDS and name:
            pairs = values[name]
        elif not pairs and "=" in converter:
            pairs = inline_pairs(converter)
        inner = _table(pairs, kind, source_language, target_language)

    def convert(value: str) -> str | None:
        if not is_special(value):
            return inner(value)
        bare = value.strip().lower()
        if source_language == target_language or bare in ("", "none"):
            return value
        if bare in NOT_FILLED:
            return _NOT_MENTIONED.get(target_language, "not mentioned")
        return _DONTCARE.get(target_language, "dontcare")

    return convert


def _table(pairs: Iterable[tuple[str, str]], kind: str, source: str, target: str) -> ValueMapping:
    known: dict[str, str] = {}
    for value, translated in pairs:
        known.setdefault(value_key(value), translated)
    joint = " " if target == "zh" else ","
    either = "或" if target == "zh" else "|"

    def convert(value: str) -> str | None:
        if (found := known.get(value_key(value))) is not None:
            return found
        if kind in ("list", "any"):
            items = [i for i in re.split(_LIST_SIGNS.get(source, r","), value) if i.strip()]
            found_items = [known.get(value_key(item)) for item in items]
            kept = list(dict.fromkeys(i for i in found_items if i is not None))
            if kept and (kind == "any" or None not in found_items):
                return joint.join(kept)
            return None
        pieces = _ALTERNATIVES.split(value)
        new = [known.get(value_key(piece)) for piece in pieces[::2]]
        if len(pieces) == 1 or None in new:
            return None
        signs = [either if s in "|或" else s for s in pieces[1::2]]
        return "".join(str(p) + s for p, s in zip(new, [*signs, ""], strict=True))

    return convert

"""Converters: what an alignment does to a value, from the word in its cell to a function.

In: the cell ``converter`` of an alignment (``values:foods_zh``, ``a=b|c=d``, ``yuan_en``), its value tables,
two languages. Out: a function of a value; None where it does not know the value.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import cache, partial

from dialogeval.normalize import NOT_FILLED, lookup, normalize_value

TABLE_KINDS = ("values", "list", "any")
#: A value table. The first row of a value counts, and backwards the first row of a target value.
Pairs = tuple[tuple[str, str], ...]
ValueMapping = Callable[[str], str | None]


def value_key(value: str) -> str:
    """Return a value as tables are searched for it: without regard to case and white space."""
    return " ".join(value.casefold().split())


def is_special(value: str) -> bool:
    """Say whether a value means "do not care" or "no value yet", which every mapping knows."""
    bare = value.strip().lower()
    return bare in (*NOT_FILLED, "none") or normalize_value(value, ["dontcare:unify"]) == "dontcare"


@cache
def _templates(name: str, back: bool) -> list[tuple[re.Pattern[str], str]]:
    """Return the rules of a name: what fits the pattern is written by the template; N is a number."""
    sides = [(zh, en) if not back else (en, zh) for n, zh, en in lookup("value_templates") if n == name]
    patterns = [re.escape("".join(s.split())).replace("N", r"(\d+(?:\.\d+)?)") for s, _ in sides]
    patterns = [re.sub(r"(hour|day|minute|point)s", r"\1s?", p) for p in patterns]
    return [(re.compile(p, re.IGNORECASE), t) for p, (_, t) in zip(patterns, sides, strict=True)]


def _rephrase(value: str, name: str, back: bool) -> str | None:
    bare = "".join(value.split())
    for pattern, template in _templates(name, back):
        if match := pattern.fullmatch(bare):
            text = template.replace("N", "{}").format(*match.groups())
            return re.sub(r"(?<![\d.])1 (hour|day|minute)s", r"1 \1", text)
    return None


#: CrossWOZ's bands of yuan a head, by the price class that we read them as: the class's own band first.
_BANDS = {"cheap": "50 yuan or less", "moderate": "50-100 yuan", "expensive": "150-500 yuan"}


def _cost_to_class(value: str) -> str | None:
    """Class a band by its middle: to 50 yuan a head cheap, to 150 moderate, above expensive."""
    number = r"(\d+(?:\.\d+)?)"
    bare = "".join(value.lower().split())
    if not (match := re.fullmatch(rf"{number}(?:-{number})?yuan(ormore|orless)?", bare)):
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


#: Functions by the name of a converter, and the name of the one that leads back.
CONVERTERS: dict[str, tuple[ValueMapping, str]] = {
    "class_to_cost": (lambda value: _BANDS.get(value_key(value)), "cost_to_class"),
    "cost_to_class": (_cost_to_class, "class_to_cost"),
    "stars_to_points": (_stars_to_points, "points_to_stars"),
    "points_to_stars": (_points_to_stars, "stars_to_points"),
}
for _name in dict.fromkeys(row[0] for row in lookup("value_templates")):
    CONVERTERS[f"{_name}_en"] = partial(_rephrase, name=_name, back=False), f"{_name}_zh"
    CONVERTERS[f"{_name}_zh"] = partial(_rephrase, name=_name, back=True), f"{_name}_en"


def inline_pairs(converter: str) -> Pairs:
    """Return the pairs of a converter that is a small table itself, ``a=b|c=d``."""
    pieces = [piece.partition("=") for piece in converter.split("|")]
    return tuple((value.strip(), target.strip()) for value, _, target in pieces)


def value_mapping(
    converter: str, values: dict[str, Pairs], source: str = "en", target: str = "en"
) -> ValueMapping:
    """Return the function behind a cell ``converter``, from one language to another."""
    kind, _, name = converter.partition(":")
    inner: ValueMapping = lambda value: value  # noqa: E731
    if converter in CONVERTERS:
        inner = CONVERTERS[converter][0]
    elif converter:
        inline = inline_pairs(converter) if "=" in converter else ()
        inner = _table(inline or values.get(name or kind, ()), kind, source, target)
    dontcare, unfilled = ("不在意", "未提及") if target == "zh" else ("dontcare", "not mentioned")

    def convert(value: str) -> str | None:
        bare = value.strip().lower()
        if not is_special(value):
            return inner(value)
        if source == target or bare in ("", "none"):
            return value
        return unfilled if bare in NOT_FILLED else dontcare

    return convert


def _table(pairs: Iterable[tuple[str, str]], kind: str, source: str, target: str) -> ValueMapping:
    known = {value_key(value): translated for value, translated in reversed(list(pairs))}
    commas = r"[\s,，、]+" if source == "zh" else r","
    joint, either = (" ", "或") if target == "zh" else (",", "|")

    def convert(value: str) -> str | None:
        if value_key(value) in known:
            return known[value_key(value)]
        if kind in ("list", "any"):
            items = [known.get(value_key(item)) for item in re.split(commas, value) if item.strip()]
            kept = list(dict.fromkeys(item for item in items if item is not None))
            return joint.join(kept) if kept and (kind == "any" or None not in items) else None
        # Alternatives in one cell, in English or Chinese: the signs stand between the values.
        pieces = re.split(r"([|<>]|或)", value)
        if len(pieces) == 1 or any(value_key(piece) not in known for piece in pieces[::2]):
            return None
        signs = {"|": either, "或": either}
        return "".join(signs.get(p, p) if n % 2 else known[value_key(p)] for n, p in enumerate(pieces))

    return convert


def inverse_converter(converter: str) -> str:
    """Return the converter that leads back; that of a table is the same, as its pairs are swapped."""
    if "=" in converter:
        return "|".join(f"{target}={value}" for value, target in inline_pairs(converter))
    return CONVERTERS[converter][1] if converter in CONVERTERS else converter

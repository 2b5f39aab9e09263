"""What counts as a state: any way of writing one in, (domain, slot, value) triples out.

Systems write states as nested or flat objects, lists of triples, pairs or strings, frames, calls of
functions, and as text in a dozen notations, also inside the prose of a language model. Each notation has
one small parser, chosen by the content. Values are kept letter for letter: what counts as empty or
equal is for a protocol to say. What can mean two things is refused.
"""

from __future__ import annotations

import ast
import json
import re
import warnings
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from functools import cache
from typing import Any, NoReturn

import orjson

from dialogeval.exceptions import PredictionError, show
from dialogeval.resources import lookup

__all__ = ["REPAIRS", "UnparsedError", "literal", "python_literal", "triples", "vocabulary"]

Triple = tuple[str, str, str]
Slots = Mapping[str, Collection[str]]

#: What a note says about each kind of repair, after the number of times it was made.
REPAIRS = {
    "number": "values were numbers and are read as text",
    "list": "values were lists of one string and are read as that string",
    "first": "slots of frames have several values, of which the first is read",
    "null": "slots were null and are left out",
    "truth": "values were true or false in the text of a model and are read as yes or no",
    "twice": "triples stand twice in one state and are counted once",
}
#: Names under which an object of a state may hold its slots.
INNER = ("slot_values", "inform slot-values")
_SHAPES = "{domain: {slot: value}} or a list of [domain, slot, value]"
#: Integers up to here are exact as floating-point numbers, so that 4.0 means 4 and nothing else.
_EXACT = 2**53
#: Characters of a text past which it is no state.
_LONGEST = 100_000
#: Stands for the value of a slot that is null until the slot is left out.
_NULL = "\0null"
_EMPTY = {"", "none", "null", "nan", "n/a", "empty", "no state", "not mentioned"}
_DOMAINS, _SLOTS, _VALUES = (
    ("domain", "service"),
    ("slot", "slot_name", "name", "key"),
    ("value", "slot_value"),
)


class UnparsedError(PredictionError):
    """A text that should be a state and follows no notation of one."""


@cache
def vocabulary() -> dict[str, set[str]]:
    """Slot names of well-known corpora by domain, which tell slots from values in texts without marks."""
    return {domain: set(slots.split("|")) for domain, slots in lookup("slot_names")}


def triples(value: Any, slots: Slots | None = None, repairs: Counter[str] | None = None) -> list[Triple]:
    """Read a state however it is written; ``slots`` names the slots of each domain for texts without marks."""
    repairs = Counter() if repairs is None else repairs
    if isinstance(value, str):
        return _unique(_of_text(value, vocabulary() if slots is None else slots, repairs), repairs)
    if isinstance(value, dict):
        return _unique(_of_object(value, repairs, slots), repairs)
    if isinstance(value, list):
        return _unique([t for item in value for t in _of_item(item, repairs, slots)], repairs)
    mend = "write {} for an empty state" if value is None else "write the state as an object"
    raise PredictionError("the state", expected=_SHAPES, got=show(value), mend=mend)


def _unique(found: list[Triple], repairs: Counter[str]) -> list[Triple]:
    filled = [triple for triple in found if triple[2] is not _NULL]
    out = list(dict.fromkeys(filled))
    repairs["null"] += len(found) - len(filled)
    repairs["twice"] += len(filled) - len(out)
    return out


# Objects and lists ----------------------------------------------------------------------------------


def _of_object(state: dict[str, Any], repairs: Counter[str], slots: Slots | None) -> list[Triple]:
    if isinstance(next((state[n] for n in INNER if n in state), None), dict) and not isinstance(
        state.get("slot"), str
    ):
        return _of_frame({"state": state}, repairs)
    out: list[Triple] = []
    for domain, content in state.items():
        if isinstance(content, dict):
            pairs = _of_metadata(content) if {"semi", "book"} & content.keys() else content
            out += [(domain, slot, _text(v, domain, slot, repairs)) for slot, v in pairs.items()]
        elif (
            isinstance(content, list) and content and all(_is_pair(x) for x in content) and "-" not in domain
        ):
            out += [(domain, slot, _text(v, domain, slot, repairs)) for slot, v in content]
        else:
            out += _of_pair(domain, content, repairs)
    return out


def _of_metadata(content: dict[str, Any]) -> dict[str, Any]:
    """Read one domain of MultiWOZ 2.0's metadata, {"semi": {slot: value}, "book": {slot: value}}."""
    semi, book = (content.get(part) or {} for part in ("semi", "book"))
    if not isinstance(semi, dict) or not isinstance(book, dict):
        return content
    return semi | {f"book{slot}": value for slot, value in book.items() if slot != "booked"}


def _is_pair(item: Any) -> bool:
    return isinstance(item, list) and len(item) == 2 and isinstance(item[0], str)


def _of_pair(name: str, value: Any, repairs: Counter[str]) -> list[Triple]:
    """Read "domain-slot" and its value."""
    for mark in "-.:_ ":
        domain, found, slot = name.partition(mark)
        if found and (mark in "-.:" or domain in vocabulary()):
            return [(domain, slot, _text(value, domain, slot, repairs))]
    mend = f"leave {name!r} out or write {{}}" if value is None else "write {domain: {slot: value}}"
    raise PredictionError(
        f"domain {name!r} of the state", expected="an object {slot: value}", got=show(value), mend=mend
    )


def _of_item(item: Any, repairs: Counter[str], slots: Slots | None) -> list[Triple]:
    """Read one item of a state that is a list."""
    if isinstance(item, str):
        return [_of_words(item, vocabulary() if slots is None else slots)] if item.strip() else []
    if isinstance(item, list):
        if _is_pair(item):
            return _of_pair(item[0], item[1], repairs)
        if len(item) == 3 and isinstance(item[0], str) and isinstance(item[1], str):
            return [(item[0], item[1], _text(item[2], item[0], item[1], repairs))]
    if isinstance(item, dict):
        if "state" in item or "slot_values" in item:
            return _of_frame(item, repairs)
        if isinstance(item.get("slots"), list):  # {"slots": [["hotel-area", "north"]], "act": "inform"}
            return [t for pair in item["slots"] for t in _of_item(pair, repairs, slots)]
        domain, slot, value = (
            next((item[k] for k in names if k in item), None) for names in (_DOMAINS, _SLOTS, _VALUES)
        )
        if isinstance(slot, str) and value is not None:
            whole = [domain, slot, value] if isinstance(domain, str) else [slot, value]
            return _of_item(whole, repairs, slots)
        if len(item) == 1:
            return _of_object(item, repairs, slots)
    expected = "[domain, slot, value] with names that are strings"
    raise PredictionError("an item of the state", expected=expected, got=show(item))


def _of_frame(frame: dict[str, Any], repairs: Counter[str]) -> list[Triple]:
    """Read one service's frame of a schema-guided turn."""
    state = frame.get("state", frame)
    values = state.get("slot_values", state.get("inform slot-values")) if isinstance(state, dict) else None
    if values is None:
        values = {}
    if not isinstance(values, dict):
        raise PredictionError("slot_values", expected="an object {slot: [value, …]}", got=show(values))
    service, out = frame.get("service", frame.get("domain")), []
    for name, given in values.items():
        domain, mark, slot = name.partition("-")
        if not mark and isinstance(service, str):
            domain, slot = service, name
        elif not mark:
            _of_pair(name, given, repairs)
        if isinstance(given, list) and len(given) > 1:
            repairs["first"] += 1
            given = given[:1]
        if given != []:
            out.append((domain, slot, given[0] if _is_text(given) else _text(given, domain, slot, repairs)))
    return out


def _is_text(given: Any) -> bool:
    return isinstance(given, list) and len(given) == 1 and isinstance(given[0], str)


def _text(value: Any, domain: str, slot: str, repairs: Counter[str]) -> str:
    """Read a slot's value that may be no string."""
    if type(value) is str:
        return value

    def refuse(mend: str) -> NoReturn:
        raise PredictionError(f"slot {domain}-{slot}", expected="a string", got=show(value), mend=mend)

    if value is None:
        return _NULL
    if isinstance(value, bool):
        refuse(f'write "{"yes" if value else "no"}"')
    if isinstance(value, int) or (isinstance(value, float) and value.is_integer() and abs(value) < _EXACT):
        repairs["number"] += 1
        return str(int(value))
    if isinstance(value, float):
        refuse("put it in quotation marks, as the gold spells it")
    if _is_text(value):
        repairs["list"] += 1
        return value[0]
    refuse("leave the slot out" if value == [] else "give one string")


# Texts ----------------------------------------------------------------------------------------------

_BELIEF = re.compile(
    r"<\|?(?:sos_b|belief|sob)\w*\|?>(.*?)(?:<\|?(?:eos_b|endofbelief|eob)\w*\|?>|<\|?(?:sos|action|response)\w*\|?>|$)",
    re.S | re.I,
)
_TAG = re.compile(r"</?\|?[A-Za-z_]\w*\|?>")
_FENCE = re.compile(r"```[\w+-]*[ \t]*\n?(.*?)```", re.S)
_LEAD = re.compile(
    r"^\W*(?:(?:the\s+)?(?:updated\s+|current\s+|new\s+)?(?:dialogue|dialog|belief)?\s*state(?:\s+is)?\s*[:=]|belief\s*[:=]|=>|\[\s*(?:belief\s+)?states?\s*\])\s*",
    re.I,
)
_OPENED = re.compile(r"""[{\[(]\s*["'{\[(]|[{\[]\s*[}\]]""")
_SPAN = re.compile(r"\[\s*([^\W\d][\w ]*?)\s*\]")
_GROUP = re.compile(r"\s*[,;&]?\s*([^\W\d][\w ]*?)\s*(?:\(([^(){}]*)\)|\{([^(){}]*)\})\s*")
_NAME = r"[^\W\d][\w .-]*?"
_SQL = re.compile(r"^\s*select\b.*?\bfrom\b(.*?)(?:\bwhere\b(.*))?;?\s*$", re.S | re.I)


def literal(text: str) -> Any:
    """Return the one JSON or Python literal in a text, however much prose or fence is around it; else None."""
    text = text.strip()
    if len(text) > _LONGEST or not _OPENED.search(text):
        return None
    found: list[Any] = []
    fences = _FENCE.findall(text)
    for part in fences or [text]:
        spot, tries = _OPENED.search(part), 0
        while spot and tries < 10:
            value, end = _literal_at(part, spot.start())
            tries += 1
            if end > spot.start() and value not in found:
                found.append(value)
            spot = _OPENED.search(part, max(end, spot.start() + 1))
    return found[0] if len(found) == 1 else None


def _literal_at(text: str, start: int) -> tuple[Any, int]:
    """Return the literal that begins at a place, and where it ends: at that place if it is broken."""
    try:
        value, end = json.JSONDecoder().raw_decode(text, start)
        return (value, end) if _is_unicode(value) else (None, start)
    except (ValueError, RecursionError):
        pass
    end = _closing(text, start)
    value = python_literal(text[start:end])
    return (None, start) if value is None else (value, end)


def python_literal(text: str) -> Any:
    """Return a literal of Python with lists for tuples and sets, or None."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            value = _plain(ast.literal_eval(text.strip())) if len(text) <= 10 * _LONGEST else None
            return value if _is_unicode(value) else None
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return None


def _is_unicode(value: Any) -> bool:
    """Tell whether all texts of a literal can be written again: half a surrogate pair cannot."""
    try:
        return bool(orjson.dumps(value))
    except TypeError:
        return False


def _closing(text: str, start: int) -> int:
    """Return where the brackets that open at a place are closed, outside of quotation marks."""
    depth, quote, i = 0, "", start
    while i < len(text):
        c = text[i]
        if quote:
            i += c == "\\"
            quote = "" if c == quote else quote
        elif c in "\"'":
            quote = c
        elif c in "{[(":
            depth += 1
        elif c in "}])":
            depth -= 1
            if not depth:
                return i + 1
        i += 1
    return start


def _plain(value: Any) -> Any:
    """Return Python's literals as JSON has them: tuples and sets as lists, keys as text."""
    if isinstance(value, dict):
        if all(isinstance(k, tuple) and len(k) == 2 for k in value):
            return [[*map(str, k), _plain(v)] for k, v in value.items()]
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, (set, frozenset)):
        return sorted(map(_plain, value), key=str)
    return [_plain(v) for v in value] if isinstance(value, (list, tuple)) else value


def _of_text(text: str, slots: Slots, repairs: Counter[str]) -> list[Triple]:
    """Read a state that is written as text."""
    if len(text) > _LONGEST:
        raise _unparsed(text)
    if (whole := _json(text)) is not None:  # whose values may hold any marks
        return triples(_lenient(_inside(whole), repairs), slots, repairs)
    belief = _BELIEF.search(text)
    plain = _TAG.sub(" ", belief[1] if belief else text).strip()
    plain = _LEAD.sub("", plain).strip().rstrip(".").strip()
    if plain.lower() in _EMPTY:
        return []
    value = literal(plain)
    if isinstance(value, (dict, list)):
        return triples(_lenient(_inside(value), repairs), slots, repairs)
    if _OPENED.search(plain):
        raise _unparsed(text)
    for parse in (_spans, _query, _groups, _assignments, _listed):
        found = parse(plain, slots)
        if found is not None:
            return found
    raise _unparsed(text)


def _json(text: str) -> Any:
    """Return the object or list that a text is, None if it is something else."""
    try:
        return orjson.loads(text) if text.lstrip()[:1] in ("{", "[") else None
    except orjson.JSONDecodeError:
        return None


def _unparsed(text: str) -> UnparsedError:
    return UnparsedError("the state", expected="a state in a known notation", got=show(text))


def _inside(value: Any) -> Any:
    """Step into {"state": …}, as language models wrap what they were asked for."""
    names = ("state", "belief_state", "dialogue_state", "dialog_state", "slot_values", "slots", "belief")
    if isinstance(value, dict):
        held = [k for k in value if k.lower() in names and isinstance(value[k], (dict, list))]
        if len(held) == 1 and all(
            k in held or (isinstance(v, (str, type(None))) and "-" not in k) for k, v in value.items()
        ):
            return value[held[0]]
    return value


def _lenient(value: Any, repairs: Counter[str]) -> Any:
    """Read null and true as a language model means them in the state it writes."""
    if isinstance(value, dict):
        repairs["null"] += sum(v is None for v in value.values())
        return {k: _lenient(v, repairs) for k, v in value.items() if v is not None}
    if isinstance(value, bool):
        repairs["truth"] += 1
        return "yes" if value else "no"
    return [_lenient(v, repairs) for v in value] if isinstance(value, list) else value


def _spans(text: str, slots: Slots) -> list[Triple] | None:
    """[hotel] area north pricerange cheap [restaurant] food thai."""
    before, *parts = _SPAN.split(text)
    if before.strip() or not parts:
        return None
    out: list[Triple] = []
    domain = ""
    for name, rest in zip(parts[::2], parts[1::2], strict=True):
        if domain and name not in slots and name in slots.get(domain, ()):  # [hotel] [area] north
            out.append((domain, name, _value(rest)))
            continue
        domain = name
        found = _assigned(rest, domain) if "=" in rest else _slots_and_values(rest, domain, slots)
        if found is None:
            return None
        out += found
    return out


def _slots_and_values(text: str, domain: str, slots: Slots) -> list[Triple] | None:
    """Read "area north pricerange cheap" of one domain: the slot names that are known part the words."""
    words, names = text.replace(" , ", " ").split(), set(slots.get(domain, ()))
    found: dict[str, list[str]] = {}
    current, i = "", 0
    while i < len(words):
        name = next(
            (n for k in (3, 2, 1) if (n := " ".join(words[i : i + k])) in names and n not in found), ""
        )
        if name and (not current or found[current]):
            current, found[name] = name, []
            i += name.count(" ")
        elif current:
            found[current].append(words[i])
        else:
            return None
        i += 1
    return [(domain, slot, _value(" ".join(value))) for slot, value in found.items()]


def _value(text: str) -> str:
    text = re.sub(r"^\s*(?:is\b|=|:)\s*", "", text).strip().rstrip(",;").strip()
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'" else text


def _query(text: str, slots: Slots) -> list[Triple] | None:
    """SELECT * FROM hotel AS h, restaurant AS r WHERE h.area = north AND r.food = thai."""
    match = _SQL.match(text)
    if not match:
        return None
    tables: dict[str, str] = {}
    for item in match[1].split(","):
        name, *alias = re.sub(r"\bas\b", " ", item, flags=re.I).split() or [""]
        tables[alias[-1] if alias else name] = name
    out: list[Triple] = []
    for part in re.split(r"\band\b(?=\s*[\w.]+\s*=)", match[2] or "", flags=re.I):
        left, mark, value = part.partition("=")
        table, _, slot = left.strip().rpartition(".")
        table = table or (next(iter(tables)) if len(tables) == 1 else "")
        if part.strip() and not (mark and table in tables and slot):
            return None
        if part.strip():
            out.append((tables[table], slot, _value(value)))
    return out


def _groups(text: str, slots: Slots) -> list[Triple] | None:
    """Hotel { area = north ; stars = 4 } or hotel(area="north", stars="4")."""
    out: list[Triple] = []
    end = 0
    while end < len(text):
        match = _GROUP.match(text, end)
        inner = (match[2] if match[2] is not None else match[3]) if match else ""
        found = _assigned(inner, match[1]) if match else None
        if match is None or found is None:
            return None
        out += found
        end = match.end()
    return out if end else None


def _assigned(text: str, domain: str) -> list[Triple] | None:
    """Read "area = north ; stars = 4" of one domain."""
    pairs = list(_pairs(text))
    if any(not slot for slot, _ in pairs):
        return None
    return [(domain, slot, value) for slot, value in pairs]


def _pairs(text: str) -> Iterator[tuple[str, str]]:
    """Yield (name, value) of assignments; an empty name marks what is none."""
    mark = "=" if "=" in text else ":" if ":" in text else r"\bis\b"
    for part in re.split(rf"[;,|\n](?=[\s*-]*{_NAME}\s*{mark})|\s(?=\w+-\w+\s*{mark})", text):
        pieces = re.split(rf"\s*{mark}\s*", part, maxsplit=1)
        if part.strip(" \n;,|-*"):
            whole = len(pieces) == 2 and not (mark == "=" and "=" in pieces[1])
            yield (pieces[0].strip(" \n-*\"'"), _value(pieces[1])) if whole else ("", part)


def _assignments(text: str, slots: Slots) -> list[Triple] | None:
    """hotel-area = north; hotel-stars = 4."""
    out: list[Triple] = []
    for name, value in _pairs(text):
        named = _names(name, slots)
        if out and not named and name in slots.get(out[-1][0], ()):  # hotel area = north ; stars = 4
            named = out[-1][0], name
        if not named:
            return None
        out.append((*named, value))
    return out


def _names(name: str, slots: Slots) -> tuple[str, str] | None:
    """Part the name of a slot into domain and slot; marks other than a hyphen need a domain that is known."""
    for mark in "-._ ":
        domain, found, slot = name.partition(mark)
        if (
            found
            and slot
            and re.fullmatch(r"\w+", domain)
            and (domain in slots or (mark in "-." and " " not in slot.strip()[20:]))
        ):
            return domain.strip(), slot.strip()
    return None


def _listed(text: str, slots: Slots) -> list[Triple] | None:
    """hotel-area-north, hotel-stars-4 or hotel area north , hotel stars 4."""
    domains = "|".join(map(re.escape, slots))
    try:
        parts = re.split(rf"[;,|\n](?=\s*(?:\w+-[\w ]+-|(?:{domains}) ))", text)
        return [_of_words(part.strip(" \n*;,|"), slots) for part in parts if part.strip(" \n*;,|-")]
    except UnparsedError:
        return None


def _of_words(text: str, slots: Slots) -> Triple:
    """Read "domain-slot-value", "domain-slot=value" or "domain slot value"."""
    parts = text.split("-", 2)
    if len(parts) == 3 and not re.search("[=:]", parts[0] + parts[1]):
        if re.fullmatch(r"[\w ]+", parts[0]) is None or parts[0].count(" ") > 2:
            raise _unparsed(text)
        return parts[0], parts[1], parts[2]
    if "=" in text or re.match(r"\w+-[\w ]+:", text):
        found = _assignments(text, slots)
        if found is not None and len(found) == 1:
            return found[0]
    domain, _, rest = text.strip().partition(" ")
    for size in (3, 2, 1):
        words = rest.split(" ")
        slot, value = " ".join(words[:size]), " ".join(words[size:])
        if value and "=" not in value and slot in slots.get(domain, ()):
            return domain, slot, value
    raise UnparsedError(
        "an item of the state",
        expected="'domain-slot-value', or words with a slot that is known",
        got=show(text),
    )

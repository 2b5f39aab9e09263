"""Delexicalisation: values in utterances become slot placeholders.

In: a corpus. Out: a table of responses in which "curry garden is in the centre" reads "[value_name]
is in the [value_area]". Where the corpus has spans, they say where values stand; values of the
dialogue acts that no span covers are looked up in the text. A corpus without spans is searched for
the values of its acts, state, goal and ontology, the longest match first. Which slot gets which
placeholder is listed in ``data/act_slots.csv``. Responses of a system that writes real values are
searched in the same way, for the values of the venue database as well.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import TypeVar, overload

import pandas as pd

from dialogeval.exceptions import DataFileError, UnknownNameError, UsageError, show
from dialogeval.placeholders import STYLES, slot_placeholder
from dialogeval.resources import lookup
from dialogeval.tables import Corpus, Predictions

#: Annotated values that are no words of an utterance.
NO_WORDS = frozenset(
    [
        "",
        "?",
        "none",
        "not mentioned",
        "dontcare",
        "do nt care",
        "do n't care",
        "yes",
        "no",
        "未提及",
        "不在意",
        "有",
        "没有",
        "无",
        "是",
        "否",
    ]
)
#: Spellings that are one for matching; each is a single character, so positions stay the same.
_SAME = str.maketrans({"\xa0": " ", "（": "(", "）": ")", "’": "'", "，": ","})

T = TypeVar("T")
#: By the first two characters of a value: the lengths from the longest, and the values with what they mean.
Lexicon = dict[str, tuple[list[int], dict[str, T]]]


def plain_text(text: str) -> str:
    """Return a text as it is matched: lower case, one spelling of brackets and spaces, the same length."""
    lower = text.lower()
    if len(lower) != len(text):  # a few letters have a lower case of two characters
        lower = "".join(c.lower() if len(c.lower()) == 1 else c for c in text)
    return lower.translate(_SAME)


def is_whole(text: str, start: int, end: int) -> bool:
    """Tell whether a match is no part of a longer word or number; Chinese has no such borders."""
    return not (
        (start and _joined(text[start - 1], text[start], text[start - 2 : start - 1]))
        or (end < len(text) and _joined(text[end], text[end - 1], text[end + 1 : end + 2]))
    )


def find_value(text: str, value: str, shortest: int = 1) -> list[tuple[int, int]]:
    """Find every place where a value stands in a text."""
    found = []
    # Chinese adjectives lose their last character before a noun: 便宜的 in 便宜餐厅.
    for form in (value, value[:-1])[: 1 + value.endswith("的")]:
        at = text.find(form) if len(form) >= max(shortest, 1) else -1
        while at >= 0:
            if is_whole(text, at, at + len(form)):
                found.append((at, at + len(form)))
            at = text.find(form, at + 1)
    return found


def build_lexicon(values: Mapping[str, T]) -> Lexicon[T]:
    """Arrange many values for `find_known`."""
    groups: dict[str, dict[str, T]] = defaultdict(dict)
    for value, meaning in values.items():
        groups[value[:2]][value] = meaning
    return {start: (sorted({len(v) for v in found}, reverse=True), found) for start, found in groups.items()}


def find_known(text: str, lexicon: Lexicon[T]) -> list[tuple[int, int, T]]:
    """Find the longest value of a lexicon at every place of a text."""
    found = []
    for at in range(len(text)):
        if at and _joined(text[at - 1], text[at], text[at - 2 : at - 1]):
            continue  # inside a word, whatever the length
        # A single character is its own beginning: "2" stands under "2", not under "2 ".
        for start in (text[at : at + 2], text[at]):
            lengths, values = lexicon.get(start, ((), {}))
            for length in lengths:
                part = text[at : at + length]
                # At the end of a text a longer slice is the same string.
                if len(part) == length and part in values and is_whole(text, at, at + length):
                    found.append((at, at + length, values[part]))
                    break
            else:
                continue
            break
    return found


def _joined(outside: str, inside: str, beyond: str) -> bool:
    if inside.isdigit() and outside in ".:" and beyond.isdigit():
        return True  # the 30 of 12:30
    return _is_letter(outside) and _is_letter(inside)


def _is_letter(c: str) -> bool:
    return c == "_" or (c.isalnum() and not "\u3400" <= c <= "\u9fff")


SPEAKERS = ("user", "system")
CASES = ("lower", "keep")

_PLACEHOLDER = re.compile(r"\[[^\[\]\s]+\]")
_TOKEN = re.compile(r"\S+")
_ENDING = re.compile(r"(e?s)?[\W_]*$")
_PLURAL = re.compile(r"-?e?s(?!\w)")
_VALUE = ("domain", "slot", "value")
#: Of the venue database: the kind of a restaurant is said without naming a value; stations that matter are in
#: goal and state ("enjoy your stay in Cambridge" names none).
_SKIPPED = {("restaurant", "type"), ("train", "departure"), ("train", "destination")}
#: Values of entries that say something else in most texts ("free wifi"), or nothing.
_NO_VALUES = {"?", "free", "unknown", "not available"}
#: Of equally long matches the one from the surest source counts.
_SOURCES = {"span": 0, "act": 1, "state": 2, "goal": 3, "ontology": 4}

Slot = tuple[str, str]
#: (first character, one past the last, domain, slot) of a value in the text.
Piece = tuple[int, int, str, str]
#: The same with the source that named the value.
Found = tuple[int, int, str, str, str]


@overload
def delexicalize(
    source: Corpus, gold: None = None, *, style: str = "value", speaker: str = "system", case: str = "lower"
) -> pd.DataFrame: ...


@overload
def delexicalize(source: Predictions, gold: Corpus | None, *, style: str = "value") -> Predictions: ...


def delexicalize(
    source: Corpus | Predictions,
    gold: Corpus | None = None,
    *,
    style: str = "value",
    speaker: str = "system",
    case: str = "lower",
) -> pd.DataFrame | Predictions:
    """Replace the values in the utterances of a corpus, or in a system's responses, by slot placeholders.

    Parameters
    ----------
    source : Corpus or Predictions
    gold : Corpus
        With predictions: the corpus whose goals, states, ontology and venue database name the values.
    style : {"value", "domain", "canonical"}
        Placeholders such as ``[value_name]``, ``[restaurant_name]`` (``[name]`` style where the
        domain says nothing) or the canonical ``NAME``.
    speaker : {"system", "user"}
        Whose utterances of the corpus.
    case : {"lower", "keep"}
        Whether the words around the placeholders are lower-cased.

    Returns
    -------
    pandas.DataFrame or Predictions
        Of a corpus: columns dialogue_id, turn, response, one row a turn in the order of
        ``corpus.turns``; ``attrs["counts"]`` holds what was replaced and what could not be, see
        `delexicalization_report`. Of predictions: the same predictions with placeholders in their
        responses; signatures of their scores then say ``responses:value-search``.

    Examples
    --------
    >>> from dialogeval.tables import table
    >>> corpus = Corpus("toy",
    ...     turns=table("turns", [("d", 0, "eat", "Curry Garden is nice", 0)]),
    ...     spans=table("spans", [("d", 0, "system", "restaurant", "inform", "name", "curry garden", 0, 1)]),
    ...     goals=table("goals", [("d", "restaurant", "inform", "area", "north")]))
    >>> delexicalize(corpus, style="domain")["response"].tolist()
    ['[restaurant_name] is nice']
    >>> answers = Predictions("llm", responses=table("responses", [("d", 0, "One in the North, ref A1B2C3D4.")]))
    >>> delexicalize(answers, corpus).responses["response"].tolist()
    ['one in the [value_area], ref [value_reference].']
    """
    _check(style, speaker, case)
    if not isinstance(source, (Corpus, Predictions)):
        raise UsageError("to delexicalise", expected="a Corpus or Predictions", got=show(source))
    if isinstance(source, Predictions):
        if gold is None or source.responses is None:
            what = "responses" if source.responses is None else "the corpus they are scored against"
            raise UsageError(f"delexicalising {source.name} needs {what}")
        spoken = source.responses.rename(columns={"response": "system"}).assign(user="", layout=0)
        said = replace(gold, turns=spoken, spans=gold.spans[:0], acts=gold.acts[:0])
        texts = _rendered(said, "system", style, "lower", Counter(), _lexicon(gold, _venues(gold)))
        return replace(
            source, responses=source.responses.assign(response=texts), changes=("responses:value-search",)
        )
    counts: Counter[str] = Counter()
    texts = _rendered(source, speaker, style, case, counts, None)
    result = source.turns[["dialogue_id", "turn"]].reset_index(drop=True).assign(response=texts)
    result.attrs["counts"] = {what: n for what, n in sorted(counts.items()) if n}
    return result


def delexicalization_report(corpus: Corpus, speaker: str = "system") -> pd.DataFrame:
    """Count what `delexicalize` replaces in a corpus, from which source, and what it has to leave."""
    counts = delexicalize(corpus, speaker=speaker).attrs["counts"]
    return pd.DataFrame({"count": pd.Series(counts, dtype="int64")}).rename_axis("quantity")


def delexicalize_text(
    text: str, spans: Iterable[Sequence], style: str = "value", *, case: str = "lower"
) -> str:
    """Replace the marked values of one utterance by slot placeholders."""
    _check(style, "system", case)
    rows = [(domain, slot, value, int(start), int(end)) for domain, slot, value, start, end in spans]
    return _render(text, _longest([], _span_pieces(text, rows, Counter()), Counter()), style, case)


def _check(style: str, speaker: str, case: str) -> None:
    for kind, name, known in (
        ("placeholder style", style, STYLES),
        ("speaker", speaker, SPEAKERS),
        ("case", case, CASES),
    ):
        if name not in known:
            raise UnknownNameError(kind, name, known)


def _render(text: str, pieces: Iterable[Piece], style: str, case: str) -> str:
    out, done = [], 0
    for start, end, domain, slot in sorted(pieces):
        before = text[done:start]
        out += [before.lower() if case == "lower" else before, slot_placeholder(domain, slot, style) or ""]
        # As in the normalisation of responses, "TYPEs" would be no word of the canonical names.
        plural = _PLURAL.match(text, end) if style == "canonical" else None
        done = plural.end() if plural else end
    out.append(text[done:].lower() if case == "lower" else text[done:])
    return "".join(out)


def _rendered(
    corpus: Corpus, speaker: str, style: str, case: str, counts: Counter[str], lexicon: Lexicon[Slot] | None
) -> pd.Series:
    """Return the utterances with placeholders; with a lexicon, what has a form of its own is replaced too."""
    pieces = _pieces(corpus, speaker, counts, lexicon)
    return pd.Series([_render(text, found, style, case) for text, found in pieces], dtype="str")


def _pieces(
    corpus: Corpus, speaker: str, counts: Counter[str], lexicon: Lexicon[Slot] | None
) -> Iterator[tuple[str, list[Piece]]]:
    """Yield every utterance with the values found in it; a loop, since each text is cut by itself."""
    marked = _by_turn(corpus.spans, speaker, ("domain", "slot", "value", "start", "end"))
    acts = _by_turn(corpus.acts, speaker, ("domain", "slot", "value"))
    search = corpus.spans.empty
    states = _by_turn(corpus.states if search else corpus.states[:0], "", ("domain", "slot", "value"))
    goals: dict[str, list[tuple]] = defaultdict(list)
    if search:
        for dialogue, *wish in zip(*(corpus.goals[c] for c in ("dialogue_id", *_VALUE)), strict=True):
            goals[dialogue].append(tuple(wish))
    free = lexicon is not None
    if lexicon is None:
        lexicon = _lexicon(corpus, []) if search else {}
    columns = (corpus.turns[c] for c in ("dialogue_id", "turn", speaker))
    for dialogue, turn, text in zip(*columns, strict=True):
        spans = marked.get((dialogue, turn), ())
        taken = [(*m.span(), "", "") for m in _PLACEHOLDER.finditer(text)]
        fixed = len(taken)
        taken += _longest(taken, _span_pieces(text, spans, counts), counts)
        annotated = {row[:3] for row in spans}
        unmarked = [act for act in acts.get((dialogue, turn), ()) if act not in annotated]
        plain = plain_text(text)
        found = _find(plain, unmarked, "act", 1)
        counts["act values left: not in the text"] += _missing(unmarked, found)
        if search:
            found += _find(plain, states.get((dialogue, turn), ()), "state", 2)
            found += _find(plain, goals.get(dialogue, ()), "goal", 2)
            found += [(start, end, *slot, "ontology") for start, end, slot in find_known(plain, lexicon)]
        if free:
            found += _formed(plain)
        taken += _longest(taken, found, counts)
        yield text, taken[fixed:]


def _by_turn(frame: pd.DataFrame, speaker: str, columns: Sequence[str]) -> dict[tuple[str, int], list[tuple]]:
    """Group rows by turn; rows of the other speaker are left out, unless no speaker is given."""
    if speaker:
        frame = frame[frame["speaker"] == speaker]
    groups: dict[tuple[str, int], list[tuple]] = defaultdict(list)
    for dialogue, turn, *row in zip(*(frame[c] for c in ("dialogue_id", "turn", *columns)), strict=True):
        groups[dialogue, turn].append(tuple(row))
    return groups


def _longest(taken: Sequence[tuple], found: Iterable[tuple], counts: Counter[str]) -> list[Piece]:
    """Choose what to replace: the longest first, then by source, then from the left."""
    held = [(piece[0], piece[1]) for piece in taken]
    chosen = []
    for start, end, domain, slot, source in sorted(found, key=lambda p: (p[0] - p[1], _SOURCES[p[4]], p[0])):
        if all(end <= a or b <= start for a, b in held):
            held.append((start, end))
            chosen.append((start, end, domain, slot))
            counts[f"{source} values replaced"] += 1
        elif source == "span":
            counts["span values left: within a longer span"] += 1
    return chosen


def _span_pieces(text: str, spans: Iterable[tuple], counts: Counter[str]) -> list[Found]:
    tokens = [m.span() for m in _TOKEN.finditer(text)] if spans else []
    pieces = []
    for domain, slot, value, start, end in spans:
        if slot_placeholder(domain, slot) is None:
            counts[f"span values left: no placeholder for {slot}"] += 1
        elif not 0 <= start <= end < len(tokens):
            counts["span values left: outside the text"] += 1
        elif plain_text(value) in NO_WORDS:
            counts["span values left: an annotation such as dontcare"] += 1
        else:
            a, b, same = _narrow(text, tokens[start][0], tokens[end][1], value)
            counts["span values whose text differs"] += not same
            pieces.append((a, b, domain, slot, "span"))
    return pieces


def _narrow(text: str, start: int, end: int, value: str) -> tuple[int, int, bool]:
    """Leave a plural ending or punctuation that sticks to the value outside the span."""
    words, wanted = plain_text(text[start:end]), plain_text(value).strip()
    at = words.find(wanted) if wanted else -1
    if at < 0:
        return start, end, False
    after = words[at + len(wanted) :]
    # "museums" and "centre-" keep their ending; "8:11pm", or "15:15" for 5:15, is one word. So is
    # "3-star": the published normalisation cuts "-s" off, and would read "[value_stars]-star" as COUNTtar.
    if any(c.isalnum() for c in words[:at]) or not _ENDING.fullmatch(after):
        return start, end, False
    return start + at, start + at + len(wanted), True


def _find(text: str, values: Iterable[tuple], source: str, shortest: int) -> list[Found]:
    found = []
    for domain, slot, value in values:
        wanted = plain_text(value).strip()
        if wanted not in NO_WORDS and slot_placeholder(domain, slot) is not None:
            found += [(start, end, domain, slot, source) for start, end in find_value(text, wanted, shortest)]
    return found


def _missing(values: Iterable[tuple], found: Iterable[Found]) -> int:
    slots = {(domain, slot) for _, _, domain, slot, _ in found}
    return sum(
        (domain, slot) not in slots
        for domain, slot, value in values
        if plain_text(value).strip() not in NO_WORDS and slot_placeholder(domain, slot) is not None
    )


def _formed(text: str) -> Iterator[Found]:
    """Find what no list holds but its form gives away: references, phone numbers, times, prices, counts."""
    for slot, pattern in _patterns():
        for match in pattern.finditer(text):
            if slot == "time":
                cues = re.findall(r"arriv|leav|depart", text[: match.start()])
                slot = {"arriv": "arrive", "leav": "leave", "depart": "leave"}[cues[-1]] if cues else "time"
            # The domain "booking" stands for any domain.
            yield (*match.span(match.lastindex or 0), "booking", slot, "ontology")


@cache
def _patterns() -> list[tuple[str, re.Pattern[str]]]:
    return [(slot, re.compile(pattern)) for slot, pattern in lookup("value_patterns")]


def _venues(gold: Corpus) -> list[tuple[str, str, str]]:
    """List the values of the corpus's venue database, in the forms in which texts write them."""
    from dialogeval.metrics.task import load_database

    try:
        tables = load_database(gold).tables
    except DataFileError:
        return []
    columns = (
        (d, slot, t[slot]) for d, t in tables.items() for slot in map(str, t) if (d, slot) not in _SKIPPED
    )
    return [
        (domain, slot, form)
        for domain, slot, values in columns
        if slot != "id"
        for value in values.str.lower().unique().tolist()
        if value not in _NO_VALUES
        for form in sorted(_forms(slot, value))
    ]


def _forms(slot: str, value: str) -> set[str]:
    """Return a value as systems write it; the parts of an address and plurals of types are values too."""
    if slot == "address":
        return {value, *(part.strip() for part in value.split(",") if " " in part.strip())}
    if slot == "type":
        return {value, f"{value}s"}
    if slot != "name":
        return {value}
    return {
        value,
        value.replace("'s", " 's"),
        value.replace("guest house", "guesthouse"),
        value.replace("&", "and"),
        value.replace(" and ", " & "),
        # "the place" without its article is a word.
        value.removeprefix("the ") if value.count(" ") > 1 else value,
    }


def _lexicon(corpus: Corpus, venues: list[tuple[str, str, str]]) -> Lexicon[Slot]:
    """Arrange the values of the ontology and of venues for the search."""
    used = Counter(
        (plain_text(value).strip(), domain.lower(), slot.lower())
        for frame in (corpus.acts, corpus.states)
        for domain, slot, value in zip(*(frame[c] for c in _VALUE), strict=True)
    )
    best: dict[str, tuple[int, Slot]] = {}
    for domain, slot, value in zip(*(corpus.ontology[c] for c in _VALUE), strict=True):
        wanted = plain_text(value).strip()
        uses = used[wanted, domain.lower(), slot.lower()]
        if len(wanted) < 2 or wanted in NO_WORDS or (used and not uses):
            continue
        if wanted not in best or uses > best[wanted][0]:
            best[wanted] = (uses, (domain, slot))
    for domain, slot, value in venues:
        if len(wanted := plain_text(value).strip()) > 1:
            best.setdefault(wanted, (0, (domain, slot)))
    return build_lexicon({v: slot for v, (_, slot) in best.items() if slot_placeholder(*slot) is not None})

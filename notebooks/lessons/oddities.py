"""What stands in a corpus twice, and what looks odd in its annotation: counts, with an example each.

In: a `Corpus`. Out: a table of oddities, and the rows behind each of them. An oddity is not always
a mistake: it is a place where two scorers can disagree, because one of them normalises it away and
the other does not. Nothing is mended here.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import pandas as pd

from dialogeval.exceptions import UnknownNameError
from dialogeval.normalize import normalize_value
from dialogeval.tables import Corpus

__all__ = ["ODDITIES", "duplicates", "oddities", "oddity_rows", "repeated_texts"]

_PLACE = ["dialogue_id", "turn"]
_SLOT = ["domain", "slot"]
_TRIPLE = [*_SLOT, "value"]
_TIME = re.compile(r"([01]\d|2[0-3]):[0-5]\d")
_CLOCK = re.compile(r"\d{1,2}:\d{2}")
#: Signs that join several acceptable values, or an earlier and a later one, in one cell.
_JOINED = re.compile(r"[|<>]")
_ARTICLE = re.compile(r"^(the|a|an) ")
#: Rows of an oddity, how many there could be, and what is counted.
Found = tuple[pd.DataFrame, int, str]


def duplicates(corpus: Corpus) -> pd.DataFrame:
    """Count what stands in the corpus more than once, word by word.

    Parameters
    ----------
    corpus : Corpus

    Returns
    -------
    pandas.DataFrame
        Indexed by what is compared: whole dialogues, turns (user and system utterance together),
        user utterances, system utterances. Columns ``items``, ``distinct``, ``repeats`` (items
        whose text stood there before), ``share`` (repeats / items, in [0, 1]).

    Examples
    --------
    >>> from dialogeval.tables import table
    >>> turns = [("d", 0, "hi", "hello", 0), ("e", 0, "hi", "hello", 0)]
    >>> duplicates(Corpus("toy", turns=table("turns", turns)))["repeats"].tolist()
    [1, 1, 1, 1]
    """
    texts = corpus.turns
    # A separator that no text contains keeps ("a b", "c") and ("a", "b c") apart.
    pairs = texts["user"] + "\x1f" + texts["system"]
    compared = {
        "whole dialogues": pairs.groupby(texts["dialogue_id"], sort=False).agg("\x1e".join),
        "turns": pairs,
        "user utterances": texts["user"],
        "system utterances": texts["system"],
    }
    rows = {what: {"items": len(column), "distinct": column.nunique()} for what, column in compared.items()}
    counted = pd.DataFrame.from_dict(rows, orient="index", columns=["items", "distinct"]).rename_axis("what")
    counted["repeats"] = counted["items"] - counted["distinct"]
    counted["share"] = counted["repeats"] / counted["items"].clip(lower=1)
    return counted


def repeated_texts(corpus: Corpus, speaker: str = "system") -> pd.DataFrame:
    """List the utterances of a speaker that occur more than once.

    Parameters
    ----------
    corpus : Corpus
    speaker : {"system", "user"}

    Returns
    -------
    pandas.DataFrame
        Columns ``text``, ``times``, and dialogue_id and turn of its first occurrence; most
        frequent first.

    Examples
    --------
    >>> from dialogeval.tables import table
    >>> turns = [("d", 0, "hi", "hello", 0), ("e", 0, "hi", "hello", 0)]
    >>> repeated_texts(Corpus("toy", turns=table("turns", turns))).values.tolist()
    [['hello', 2, 'd', 0]]
    """
    groups = corpus.turns.groupby(speaker, sort=False)
    listed = groups[_PLACE].first().assign(times=groups.size()).rename_axis("text").reset_index()
    listed = listed.loc[listed["times"] > 1, ["text", "times", *_PLACE]]
    return listed.sort_values("times", ascending=False, kind="stable").reset_index(drop=True)


def oddities(corpus: Corpus) -> pd.DataFrame:
    """Count what looks odd in the states of a corpus.

    Parameters
    ----------
    corpus : Corpus

    Returns
    -------
    pandas.DataFrame
        Indexed by oddity (the keys of `ODDITIES`, whose functions' docstrings define them); columns
        ``count``, ``of`` (how many there could be), ``unit`` (what is counted: triples of all turns,
        slots that are filled and have a next turn, values where they first appear), ``share``
        (count / of, in [0, 1]), and an example: ``dialogue_id``, ``turn``, ``example``
        (``domain-slot = value``, quoted so that blanks show); empty and ``<NA>`` where the count is 0.

    Examples
    --------
    >>> from dialogeval.tables import table
    >>> corpus = Corpus("toy", turns=table("turns", [("d", 0, "any hotel", "fine", 0)]),
    ...                 states=table("states", [("d", 0, "hotel", "area", "dont care")]))
    >>> oddities(corpus).loc["dontcare", "example"]
    "hotel-area = 'dont care'"
    """
    counted = {}
    for name, find in ODDITIES.items():
        rows, of, unit = find(corpus)
        first = rows.iloc[0] if len(rows) else None
        counted[name] = {
            "count": len(rows),
            "of": of,
            "unit": unit,
            "share": len(rows) / max(of, 1),
            "dialogue_id": "" if first is None else first["dialogue_id"],
            "turn": pd.NA if first is None else int(first["turn"]),
            "example": "" if first is None else _quote(first),
        }
    return pd.DataFrame.from_dict(counted, orient="index").astype({"turn": "Int64"}).rename_axis("oddity")


def oddity_rows(corpus: Corpus, oddity: str) -> pd.DataFrame:
    """Return the rows that an oddity counts, to look at them.

    Parameters
    ----------
    corpus : Corpus
    oddity : str
        A key of `ODDITIES`.

    Returns
    -------
    pandas.DataFrame
        Columns dialogue_id, turn, domain, slot, value, in the corpus's order; for ``spelling`` also
        ``usual``, the most frequent spelling.

    Raises
    ------
    UnknownNameError

    Examples
    --------
    >>> len(oddity_rows(Corpus("toy"), "none"))
    0
    """
    if oddity not in ODDITIES:
        raise UnknownNameError("oddity", oddity, ODDITIES)
    return ODDITIES[oddity](corpus)[0].reset_index(drop=True)


def find_none(corpus: Corpus) -> Found:
    """Triples whose value is ``none``: not the same as no triple, unless a scorer says so."""
    return _triples(corpus, lambda value: value.strip().lower() == "none")


def find_dontcare(corpus: Corpus) -> Found:
    """Triples whose value says that anything will do, in any spelling that the kit knows."""
    return _triples(corpus, _is_dontcare)


def find_joined(corpus: Corpus) -> Found:
    """Triples whose value holds ``|``, ``<`` or ``>``: several values in one cell, or a stray sign."""
    return _triples(corpus, lambda value: _JOINED.search(value) is not None)


def find_hidden_space(corpus: Corpus) -> Found:
    """Triples with white space that the eye misses: at an end, doubled, or not the plain blank."""
    return _triples(corpus, lambda value: value != " ".join(value.split()) or not value.isprintable())


def find_spelling(corpus: Corpus) -> Found:
    """Triples whose value is a rarer spelling: the same slot has it more often in another one.

    Two values are spellings of one if they are equal without case, white space, hyphens,
    apostrophes and a leading article.
    """
    values = corpus.states.groupby(_TRIPLE).size().reset_index(name="n")
    values["folded"] = pd.Series([_fold(v) for v in values["value"]], dtype="str")
    values = values.sort_values(["n", "value"], ascending=[False, True], kind="stable")
    values["usual"] = values.groupby([*_SLOT, "folded"])["value"].transform("first")
    rare = values.loc[values["usual"] != values["value"], [*_TRIPLE, "usual"]]
    return _in_order(corpus, rare), len(corpus.states), "triples"


def find_time_format(corpus: Corpus) -> Found:
    """Triples of a time slot whose value is not HH:MM; ``none`` and ``dontcare`` are not looked at.

    A slot is a time slot if most of its triples look like a time on a clock.
    """
    values = corpus.states.groupby(_TRIPLE).size().reset_index(name="n")
    values["clock"] = (
        pd.Series([bool(_CLOCK.fullmatch(v)) for v in values["value"]], dtype="bool") * values["n"]
    )
    slots = values.groupby(_SLOT)[["clock", "n"]].sum()
    times = slots.index[slots["clock"] > slots["n"] / 2]
    values = values[pd.MultiIndex.from_frame(values[_SLOT]).isin(times)]
    special = [_is_dontcare(v) or v.strip().lower() == "none" for v in values["value"]]
    values = values[~pd.Series(special, index=values.index, dtype="bool")]
    odd = [_TIME.fullmatch(v) is None for v in values["value"]]
    rows = _in_order(corpus, values.loc[pd.Series(odd, index=values.index, dtype="bool"), _TRIPLE])
    return rows, int(values["n"].sum()), "triples"


def find_vanished(corpus: Corpus) -> Found:
    """Filled slots that are empty in the dialogue's next turn, though a state only grows or changes."""
    next_turn = corpus.turns[_PLACE].assign(turn=corpus.turns["turn"] - 1)
    filled = corpus.states.drop_duplicates([*_PLACE, *_SLOT]).merge(next_turn, on=_PLACE)
    later = corpus.states[[*_PLACE, *_SLOT]].drop_duplicates()
    later = later.assign(turn=later["turn"] - 1, still=True)
    marked = filled.merge(later, on=[*_PLACE, *_SLOT], how="left")
    rows = marked.loc[marked["still"].isna(), [*_PLACE, *_TRIPLE]]
    return rows, len(filled), "filled slots with a next turn"


def find_unsaid(corpus: Corpus) -> Found:
    """Values that nobody has said when they first appear in the state.

    The value is looked for, without case and white space, in all utterances up to the user's of that
    turn; ``none`` and ``dontcare`` are not looked for. ``yes``, ``no`` and categories are often said
    in other words, so this is an upper bound of mistakes.
    """
    firsts = corpus.states.drop_duplicates(["dialogue_id", *_TRIPLE]).copy()
    folded = {v: _squeeze(v) for v in firsts["value"].unique()}
    wanted = {v for v in folded if not _is_dontcare(v) and v.strip().lower() != "none"}
    firsts = firsts[firsts["value"].isin(wanted)]
    # What has been said so far: a running text a dialogue, cut at the end of each user utterance.
    said: dict[str, str] = {}
    cuts: dict[tuple[str, int], int] = {}
    turns = corpus.turns
    for key, turn, user, system in zip(
        turns["dialogue_id"], turns["turn"], turns["user"], turns["system"], strict=True
    ):
        text = said.get(key, "") + "\n" + _squeeze(user)
        cuts[key, turn] = len(text)
        said[key] = text + "\n" + _squeeze(system)
    places = zip(firsts["dialogue_id"], firsts["turn"], firsts["value"], strict=True)
    unsaid = [folded[value] not in said[key][: cuts[key, turn]] for key, turn, value in places]
    rows = firsts.loc[pd.Series(unsaid, index=firsts.index, dtype="bool"), [*_PLACE, *_TRIPLE]]
    return rows, len(firsts), "values where they first appear"


#: Oddities by name: functions of a corpus to (rows, how many there could be, what is counted).
ODDITIES: dict[str, Callable[[Corpus], Found]] = {
    "none": find_none,
    "dontcare": find_dontcare,
    "joined values": find_joined,
    "hidden white space": find_hidden_space,
    "spelling": find_spelling,
    "time format": find_time_format,
    "vanished slot": find_vanished,
    "value not said": find_unsaid,
}


def _triples(corpus: Corpus, is_odd: Callable[[str], bool]) -> Found:
    """Find the triples whose value is odd; each distinct value is judged once."""
    odd = [value for value in corpus.states["value"].unique() if is_odd(value)]
    rows = corpus.states.loc[corpus.states["value"].isin(odd), [*_PLACE, *_TRIPLE]]
    return rows, len(corpus.states), "triples"


def _in_order(corpus: Corpus, wanted: pd.DataFrame) -> pd.DataFrame:
    """Return the states' rows with one of the wanted triples, in the corpus's order."""
    return corpus.states[[*_PLACE, *_TRIPLE]].merge(wanted, on=_TRIPLE, how="inner")


def _is_dontcare(value: str) -> bool:
    return normalize_value(value, ["dontcare:unify"]) == "dontcare"


def _squeeze(text: str) -> str:
    return "".join(text.casefold().split())


def _fold(value: str) -> str:
    text = " ".join(value.casefold().split())
    return re.sub(r"[\s'’-]", "", _ARTICLE.sub("", text)) or text


def _quote(row: pd.Series) -> str:
    # ascii would hide Chinese; repr shows hidden blanks such as \xa0 and leaves letters alone.
    return f"{row['domain']}-{row['slot']} = {row['value']!r}"

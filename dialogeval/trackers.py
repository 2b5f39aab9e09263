"""Value matching: a state tracker that is learned by counting.

In: training dialogues, and dialogues to track. Out: predictions. Training collects the values of
each slot, the phrases that stand for a value ("center" for centre, "parking" for yes), and cues:
words near the value, in the utterance, in the system's question, each with the log odds that the
value then belongs to the slot. Tracking looks up values, sums the cues, and keeps what it found
from turn to turn. There is no randomness and no arithmetic but logarithms of counts.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby

import pandas as pd

from .exceptions import UsageError
from .model_input import split_tokens
from .tables import Corpus, Predictions, table
from .value_search import Lexicon, build_lexicon, find_known, find_value, plain_text

__all__ = ["ValueMatcher", "train_value_matcher", "value_matching_tracker"]

#: A phrase stands for a value that was newly annotated in at least this share of its turns …
PHRASE_PRECISION = 0.5
#: … and in at least so many of them.
PHRASE_COUNT = 3
#: Cues seen with fewer mentions are left out.
CUE_COUNT = 3
#: Mentions with the prior's odds that are added to those of a cue.
SHRINK = 10
#: Weight of each kind of cue: words of one utterance depend on each other and would outvote the rest.
KINDS = {"left": 1.0, "right": 1.0, "user": 0.5, "asked": 0.2, "state": 1.0}

Slot = tuple[str, str]
#: (kind, word)
Cue = tuple[str, str]


@dataclass(frozen=True)
class ValueMatcher:
    """What `train_value_matcher` learned, as two tables.

    Parameters
    ----------
    values : pandas.DataFrame
        Columns domain, slot, value, surface (how the value may stand in the text) and count (turns
        in which the value was new).
    cues : pandas.DataFrame
        Columns domain, slot, source ("user", "system": who mentioned the value), kind ("prior",
        "left", "right", "user", "asked", "state"), cue and weight (log odds, in nats).

    Examples
    --------
    >>> ValueMatcher(pd.DataFrame(), pd.DataFrame()).cues.empty
    True
    """

    values: pd.DataFrame
    cues: pd.DataFrame


def train_value_matcher(corpus: Corpus) -> ValueMatcher:
    """Learn values, phrases and cue words from dialogues with gold states.

    Parameters
    ----------
    corpus : Corpus
        Any of the corpora, in any language.

    Returns
    -------
    ValueMatcher

    Raises
    ------
    UsageError
        A corpus without states teaches nothing.

    Examples
    --------
    >>> corpus = Corpus("toy",
    ...     turns=table("turns", [("d", 0, "a cheap inn", "ok", 0), ("d", 1, "in the north", "ok", 0)]),
    ...     states=table("states", [("d", 0, "hotel", "price", "cheap"), ("d", 1, "hotel", "price", "cheap"),
    ...                             ("d", 1, "hotel", "area", "north")]))
    >>> train_value_matcher(corpus).values["surface"].tolist()
    ['north', 'cheap']
    """
    if corpus.states.empty:
        raise UsageError(
            "the training corpus has no states", file=corpus.id, mend="train on an annotated split"
        )
    turns = list(_dialogues(corpus))
    values = _learn_values(turns)
    lexicon, slots = _lexicon(values), _slots_by_value(values)
    hits: Counter[tuple] = Counter()
    misses: Counter[tuple] = Counter()
    for dialogue in turns:
        state: dict[Slot, str] = {}
        active, system = "", ""
        for turn in dialogue:
            labels: Counter[tuple[Slot, str, bool]] = Counter()
            for mention in _mentions(turn.user, system, lexicon):
                for slot in slots[mention.value]:
                    right = turn.new.get(slot) == mention.value
                    labels[slot, mention.source, right] += 1
                    counter = hits if right else misses
                    for kind, cue in _near_cues(slot, mention, state, active):
                        counter[slot, mention.source, kind, cue] += 1
            words = _turn_cues(turn.user, system)
            for (slot, source, right), count in labels.items():
                counter = hits if right else misses
                for kind, cue in words:
                    counter[slot, source, kind, cue] += count
            state, system = turn.state, turn.system
            active = _active(turn.new, active)
    return ValueMatcher(values, _weigh(hits, misses))


def value_matching_tracker(model: ValueMatcher, corpus: Corpus) -> Predictions:
    """Track states by looking up known values and weighing their cues.

    Parameters
    ----------
    model : ValueMatcher
    corpus : Corpus
        Only its utterances are read, never its states.

    Returns
    -------
    Predictions
        Cumulative states. A mention fills the slot with the highest sum of cues, if that is above
        0; of two mentions for one slot the later one of the higher sum counts.

    Examples
    --------
    >>> corpus = Corpus("toy",
    ...     turns=table("turns", [("d", 0, "a cheap inn", "ok", 0), ("d", 1, "thanks", "ok", 0)]),
    ...     states=table("states", [("d", 0, "hotel", "price", "cheap"), ("d", 1, "hotel", "price", "cheap")]))
    >>> value_matching_tracker(train_value_matcher(corpus), corpus).states["value"].tolist()
    ['cheap', 'cheap']
    """
    lexicon, slots = _lexicon(model.values), _slots_by_value(model.values)
    names = ("domain", "slot", "source", "kind", "cue", "weight")
    weights: dict[tuple[Slot, str], dict[Cue, float]] = defaultdict(dict)
    for domain, slot, source, kind, cue, weight in zip(*(model.cues[n] for n in names), strict=True):
        weights[(domain, slot), source][kind, cue] = KINDS.get(kind, 1.0) * weight
    rows = []
    for dialogue in _dialogues(corpus):
        state: dict[Slot, str] = {}
        active, system = "", ""
        for turn in dialogue:
            best: dict[Slot, tuple[float, str]] = {}
            words = _turn_cues(turn.user, system)
            shared: dict[tuple[Slot, str], float] = {}
            for mention in _mentions(turn.user, system, lexicon):
                scored = []
                for slot in slots[mention.value]:
                    key = (slot, mention.source)
                    if key not in shared:
                        shared[key] = _total(weights.get(key, {}), words)
                    near = _total(weights.get(key, {}), _near_cues(slot, mention, state, active))
                    scored.append((round(shared[key] + near, 6), slot))
                score, slot = max(scored)
                if score > 0 and score >= best.get(slot, (0.0, ""))[0]:
                    best[slot] = (score, mention.value)
            state |= {slot: value for slot, (_, value) in best.items()}
            active = _active(best, active)
            system = turn.system
            rows += [(turn.dialogue_id, turn.turn, *slot, value) for slot, value in state.items()]
    return Predictions(
        "value-matching", corpus.turns[["dialogue_id", "turn"]], table("states", rows), format="baseline"
    )


@dataclass(frozen=True)
class _Turn:
    dialogue_id: str
    turn: int
    user: str
    system: str
    state: dict[Slot, str]
    new: dict[Slot, str]


@dataclass(frozen=True)
class _Mention:
    value: str
    source: str
    left: tuple[str, ...]
    right: tuple[str, ...]


def _dialogues(corpus: Corpus) -> Iterator[list[_Turn]]:
    """Yield the turns of each dialogue in order, with the state and what is new in it."""
    states: dict[tuple[str, int], dict[Slot, str]] = defaultdict(dict)
    columns = ("dialogue_id", "turn", "domain", "slot", "value")
    for dialogue, turn, domain, slot, value in zip(
        *(corpus.states[c].tolist() for c in columns), strict=True
    ):
        states[dialogue, turn][domain, slot] = value
    ordered = corpus.turns.sort_values(["dialogue_id", "turn"], kind="stable")
    rows = zip(*(ordered[c].tolist() for c in ("dialogue_id", "turn", "user", "system")), strict=True)
    for _, group in groupby(rows, key=lambda row: row[0]):
        turns: list[_Turn] = []
        before: dict[Slot, str] = {}
        for dialogue, turn, user, system in group:
            state = states.get((dialogue, turn), {})
            new = {slot: value for slot, value in state.items() if before.get(slot) != value}
            turns.append(_Turn(dialogue, turn, plain_text(user), plain_text(system), state, new))
            before = state
        yield turns


def _learn_values(dialogues: list[list[_Turn]]) -> pd.DataFrame:
    uses: Counter[tuple[str, str, str]] = Counter()
    phrases: Counter[str] = Counter()
    together: Counter[tuple[str, str]] = Counter()
    for dialogue in dialogues:
        for turn in dialogue:
            uses.update((*slot, value) for slot, value in turn.new.items())
            said = _phrases(turn.user)
            phrases.update(said)
            # Only where the value itself is not said: "to cambridge" tells nothing that "cambridge" does not.
            unsaid = {v for v in turn.new.values() if not find_value(turn.user, plain_text(v).strip())}
            together.update((phrase, value) for value in unsaid for phrase in said)
    surfaces: dict[str, set[str]] = defaultdict(set)
    for (phrase, value), count in together.items():
        if count >= PHRASE_COUNT and count >= PHRASE_PRECISION * phrases[phrase]:
            surfaces[value].add(phrase)
    rows = []
    for (domain, slot, value), count in sorted(uses.items()):
        plain = plain_text(value).strip()
        found = surfaces[value] | ({plain} if plain else set())
        rows += [(domain, slot, value, surface, count) for surface in sorted(found)]
    return pd.DataFrame(rows, columns=["domain", "slot", "value", "surface", "count"])


def _phrases(text: str) -> set[str]:
    """Return all runs of one to three tokens (two to four Chinese characters) as they stand in the text."""
    tokens = split_tokens(text)
    out = set()
    for n in (1, 2, 3, 4):
        for i in range(len(tokens) - n + 1):
            run = tokens[i : i + n]
            if any("\u3400" <= t <= "\u9fff" for t in run):
                if n > 1:
                    out.add("".join(run))
            elif n < 4 and any(t.isalnum() for t in run):
                out.add(" ".join(run))
    return out


def _lexicon(values: pd.DataFrame) -> Lexicon[str]:
    """Let each surface stand for the value that it was seen with most often."""
    ranked = (
        values.groupby(["surface", "value"], sort=True)["count"]
        .sum()
        .sort_values(ascending=False, kind="stable")
    )
    meaning: dict[str, str] = {}
    for surface, value in ranked.index:
        meaning.setdefault(surface, value)
    # A value's own spelling is never taken by another value; of two spelt alike, the frequent one counts.
    totals = values.groupby("value", sort=True)["count"].sum().sort_values(kind="stable")
    meaning |= {plain: value for value in totals.index if (plain := plain_text(value).strip())}
    return build_lexicon(meaning)


def _slots_by_value(values: pd.DataFrame) -> dict[str, list[Slot]]:
    slots: dict[str, list[Slot]] = defaultdict(list)
    for value, domain, slot in values[["value", "domain", "slot"]].drop_duplicates().itertuples(index=False):
        slots[value].append((domain, slot))
    return slots


def _mentions(user: str, system: str, lexicon: Lexicon[str]) -> list[_Mention]:
    """Find known values in the user's utterance, and those that only the system named before it."""
    found = _unnested(find_known(user, lexicon))
    mentions = [_mention(user, start, end, value, "user") for start, end, value in found]
    said = {value for _, _, value in found}
    for start, end, value in _unnested(find_known(system, lexicon)):
        if value not in said:
            said.add(value)
            mentions.append(_mention(system, start, end, value, "system"))
    return mentions


def _unnested(found: Iterable[tuple[int, int, str]]) -> list[tuple[int, int, str]]:
    """Drop matches that lie within a longer one or begin inside the one before."""
    out: list[tuple[int, int, str]] = []
    for match in found:
        if not out or match[0] >= out[-1][1]:
            out.append(match)
        elif match[1] - match[0] > out[-1][1] - out[-1][0]:
            out[-1] = match
    return out


def _mention(text: str, start: int, end: int, value: str, source: str) -> _Mention:
    left = tuple(split_tokens(text[max(0, start - 40) : start])[-3:])
    return _Mention(value, source, left, tuple(split_tokens(text[end : end + 30])[:2]))


def _turn_cues(user: str, system: str) -> list[Cue]:
    """Return the cues that all mentions of a turn share."""
    cues = [("user", word) for word in dict.fromkeys(split_tokens(user))]
    return cues + [("asked", word) for word in dict.fromkeys(split_tokens(system))]


def _near_cues(slot: Slot, mention: _Mention, state: Mapping[Slot, str], active: str) -> list[Cue]:
    """Return the cues of one mention, as a value of one slot."""
    domain = "same domain" if slot[0] == active else "other domain" if active else "no domain yet"
    held = state.get(slot)
    filled = "free" if held is None else "holds this" if held == mention.value else "holds another"
    cues = [("prior", ""), ("state", domain), ("state", filled)]
    cues += [("left", word) for word in dict.fromkeys(mention.left)]
    return cues + [("right", word) for word in dict.fromkeys(mention.right)]


def _active(changed: Iterable[Slot], before: str) -> str:
    """Return the domain with the most changed slots; of equal ones the one before, then by name."""
    counts = Counter(domain for domain, _ in changed)
    return max(counts, key=lambda d: (counts[d], d == before, d), default=before)


def _total(weights: Mapping[Cue, float], cues: Iterable[Cue]) -> float:
    return math.fsum(weights.get(cue, 0.0) for cue in cues)


def _weigh(hits: Counter[tuple], misses: Counter[tuple]) -> pd.DataFrame:
    """Turn counts into log odds: of the prior in full, of a cue relative to the prior."""
    rows = []
    for key in sorted(hits.keys() | misses.keys()):
        (domain, slot), source, kind, cue = key
        prior = ((domain, slot), source, "prior", "")
        right, wrong = hits[key], misses[key]
        if right + wrong < CUE_COUNT and kind != "prior":
            continue
        share = (hits[prior] + 0.5) / (hits[prior] + misses[prior] + 1)
        weight = math.log(share / (1 - share))
        if kind != "prior":
            # Shrunk towards the prior: three lucky mentions make no cue.
            weight = math.log((right + SHRINK * share) / (wrong + SHRINK * (1 - share))) - weight
        rows.append((domain, slot, source, kind, cue, round(weight, 6)))
    return pd.DataFrame(rows, columns=["domain", "slot", "source", "kind", "cue", "weight"])

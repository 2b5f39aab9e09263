"""Whether a dialogue reached its goal: Inform, Success and their combination with BLEU.

In: a `TaskPair`. Out: one row of counts a dialogue, per domain and in all, and rates in per cent of
dialogues. Definitions are those of MultiWOZ_Evaluation; see `dialogeval.metrics.task` for the rules.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import SequenceMatcher
from functools import lru_cache, partial
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from dialogeval.exceptions import CorpusError, DataFileError, UnknownNameError, show
from dialogeval.files import raw_bytes, read_bytes, zip_members
from dialogeval.metrics import Metric, Sums, ratio
from dialogeval.metrics.text import TEXT_METRICS
from dialogeval.mwzeval import NO_CONSTRAINT, minutes, slot_name
from dialogeval.strict_json import parse_json
from dialogeval.tables import Corpus

#: Domains that have a database.
DOMAINS = ("attraction", "hotel", "restaurant", "train")
#: Slots whose values are compared by their partial ratio.
FUZZY = frozenset(
    [(domain, "name") for domain in DOMAINS[:3]]
    + [("restaurant", "food"), ("train", "departure"), ("train", "destination")]
)
#: Two strings are the same from this partial ratio on.
THRESHOLD = 90
#: Fields past which a list of entries is no database; real ones have about fifteen.
MAX_FIELDS = 200
#: An entry that does not know a field fits any value of it.
UNKNOWN = "?"


@dataclass(frozen=True)
class Database:
    """Venues and trains by domain."""

    name: str
    tables: Mapping[str, pd.DataFrame]
    version: str = ""
    notes: tuple[str, ...] = ()
    # What was asked before, and the columns as codes of their distinct values.
    _known: dict[Any, int] = field(default_factory=dict, repr=False, compare=False)
    _coded: dict[tuple[str, str], tuple[np.ndarray, list[str]]] = field(
        default_factory=dict, repr=False, compare=False
    )

    def query(self, domain: str, constraints: Mapping[str, str]) -> pd.DataFrame:
        """Return the entries that fit a state."""
        if domain not in self.tables:
            raise UnknownNameError("domain of the database", domain, self.tables)
        bits = self.fitting(domain, constraints)
        return self.tables[domain].iloc[[i for i in range(len(self.tables[domain])) if bits >> i & 1]]

    def fitting(self, domain: str, constraints: Mapping[str, str]) -> int:
        """Return the entries that fit as a whole number whose bit i stands for entry i."""
        known = self._known
        fits = known.get(domain)
        if fits is None:
            fits = known[domain] = (1 << len(self.tables.get(domain, ()))) - 1
        for slot, value in constraints.items():
            key = (domain, slot, value)
            bits = known.get(key)
            if bits is None:
                bits = known[key] = self._fitting(domain, slot, value)
            fits &= bits
        return fits

    def _fitting(self, domain: str, slot: str, value: str) -> int:
        table = self.tables.get(domain)
        if table is None or slot not in table.columns or value in NO_CONSTRAINT:
            return -1  # All bits set: no constraint.
        if (domain, slot) not in self._coded:
            codes, distinct = pd.factorize(table[slot])
            self._coded[domain, slot] = codes, distinct.tolist()
        codes, values = self._coded[domain, slot]
        test = _test(domain, slot, value)
        verdicts = np.array([entry == UNKNOWN or test(entry) for entry in values], dtype=bool)
        return int.from_bytes(np.packbits(verdicts[codes], bitorder="little").tobytes(), "little")


def load_database(
    corpus_or_path: Corpus | str | os.PathLike[str], home: str | os.PathLike[str] | None = None
) -> Database:
    """Load the database that belongs to a corpus."""
    name, place, mend = _locate(corpus_or_path, home)
    files = _find_files(place)
    absent = [f"{d}_db.json" for d in DOMAINS if d not in files]
    if not files or (absent and mend.startswith(("run:", "install"))):
        raise DataFileError(
            f"the venue database of {name} is not here",
            file=place,
            expected=f"{', '.join(absent)}, there or in a folder db",
            mend=mend,
        )
    contents = {domain: read() for domain, read in sorted(files.items())}
    entries = {domain: parse_json(content, f"{domain}_db.json") for domain, content in contents.items()}
    return database_from_entries(entries, name, sha256(b"".join(contents.values())).hexdigest()[:7])


def database_from_entries(entries: Mapping[str, Any], name: str = "database", version: str = "") -> Database:
    """Turn parsed JSON into a database."""
    tables, notes = {}, []
    for domain, rows in entries.items():
        file = f"{domain}_db.json"
        if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
            wrong = (
                next((r for r in rows if not isinstance(r, dict)), rows) if isinstance(rows, list) else rows
            )
            raise CorpusError("", file=file, expected="a list of entries, each an object", got=show(wrong))
        fields = dict.fromkeys(field for row in rows for field in row)
        if len(fields) > MAX_FIELDS:  # every entry has a cell for every field
            got = f"{len(fields):,} in {len(rows):,} entries"
            raise CorpusError("", file=file, expected=f"at most {MAX_FIELDS} different fields", got=got)
        columns: dict[str, list[str | None]] = {}
        for written in fields:
            values = [_text(row.get(written)) for row in rows]
            before = columns.get(slot_name(written), values)
            # Entries may spell one field in two ways.
            columns[slot_name(written)] = [
                old if new is None else new for old, new in zip(before, values, strict=True)
            ]
        for slot, values in columns.items():
            lacking = values.count(None)
            if lacking and (domain, slot) in CONSTRAINTS:
                notes.append(
                    f"{name}: {lacking:,} of {len(rows):,} {domain} entries lack {slot}, "
                    "which then fits any value"
                )
        filled = {slot: [UNKNOWN if v is None else v for v in values] for slot, values in columns.items()}
        tables[domain] = pd.DataFrame(filled, dtype="str")
    return Database(name, tables, version, tuple(notes))


def partial_ratio(one: str, other: str) -> float:
    """Return the classic partial ratio of two strings."""
    if one == other:
        return 100.0
    short, long = sorted((one, other), key=len)
    if not short:
        return 0.0
    starts = {
        max(at_long - at_short, 0)
        for at_short, at_long, _ in SequenceMatcher(None, short, long).get_matching_blocks()
    }
    return 100 * max(SequenceMatcher(None, short, long[s : s + len(short)]).ratio() for s in starts)


# Helpers ------------------------------------------------------------------------------------------

#: Fields that a state may constrain; whether an entry has an address is of no matter to a query.
CONSTRAINTS = frozenset(
    [(d, s) for d in DOMAINS[:3] for s in ("name", "area", "type", "pricerange")]
    + [("hotel", s) for s in ("stars", "internet", "parking")]
    + [("restaurant", "food")]
    + [("train", s) for s in ("departure", "destination", "day", "arrive", "leave", "trainid")]
)


def _test(domain: str, slot: str, wanted: str) -> Callable[[str], bool]:
    """Return the function that tells whether an entry's field fits the wanted value."""
    if slot in ("arrive", "leave"):
        time = minutes(wanted) or 0
        if slot == "arrive":
            return lambda entry: (minutes(entry) or 0) <= time
        return lambda entry: (minutes(entry) or 0) >= time
    if (domain, slot) in FUZZY:
        return partial(alike, wanted)
    return wanted.__eq__


@lru_cache(maxsize=100_000)
def alike(one: str, other: str, at_least: int = THRESHOLD) -> bool:
    """Tell whether a partial ratio, in whole per cent, reaches a threshold: rapidfuzz screens, difflib
    decides."""
    from rapidfuzz.fuzz import partial_ratio as upper_bound

    # One point of slack: half for the rounding, and an upper bound in floating point need not be exact.
    return upper_bound(one, other) >= at_least - 1 and round(partial_ratio(one, other)) >= at_least


def _text(value: object) -> str | None:
    """A field as a string; lists and objects (locations, prices by room) equal no value of a state."""
    if value is None or isinstance(value, str):
        return value
    return str(value)


def _locate(
    corpus_or_path: Corpus | str | os.PathLike[str], home: str | os.PathLike[str] | None
) -> tuple[str, Path, str]:
    """Return the name of a database, where it should lie, and what to do if it does not."""
    from dialogeval.corpora.catalog import local_file
    from dialogeval.corpora.entries import catalog

    name, folder = str(corpus_or_path), ""
    if isinstance(corpus_or_path, Corpus):
        name, folder = corpus_or_path.name, corpus_or_path.source.folder
    entry = catalog().get(name)
    if entry is not None and not folder:
        folder = str(local_file(name, next(iter(entry.files)), home).parent)
    if isinstance(corpus_or_path, Corpus) and not folder:
        raise DataFileError(
            f"corpus {name} was not read from a file, so that no venue database lies beside it",
            mend="load the corpus by name or from its folder, or choose a protocol without Inform and Success",
        )
    if entry is not None and any(part.startswith("db/") for part in entry.files):
        mend = "install dialogeval again" if name.startswith("sample/") else f"run: dialogeval fetch {name}"
    else:
        mend = "put them there; those of MultiWOZ 2.1 come with 'dialogeval fetch multiwoz21' into its folder"
    return (name if folder else Path(name).name), Path(folder or name), mend


def _find_files(place: Path) -> dict[str, Callable[[], bytes]]:
    """Return a reader for each database file of a folder, its subfolder ``db``, or an archive."""
    found: dict[str, Callable[[], bytes]] = {}
    if place.is_file():
        found = {Path(m).name: read for m, read in zip_members(raw_bytes(place), place).items()}
    else:
        for path in (*place.glob("*_db.json"), *place.glob("db/*_db.json")):
            found[path.name] = partial(read_bytes, path)
    return {d: found[f"{d}_db.json"] for d in DOMAINS if f"{d}_db.json" in found}


State = Mapping[str, Mapping[str, str]]

#: Canonical placeholders of what a user may request, by the names that goals use.
REQUESTABLE = {
    "phone": "PHONE",
    "address": "ADDRESS",
    "postcode": "POST",
    "trainid": "TRAINID",
    "id": "TRAINID",
    "reference": "REFERENCE",
}
#: The placeholder by which a response offers an entry of a domain.
OFFERED_BY = {"restaurant": "NAME", "hotel": "NAME", "attraction": "NAME", "train": "TRAINID"}
#: Domains that are matched whatever is said: they have no choice of entries.
ALWAYS_MATCHED = ("taxi", "police", "hospital")
_TAGS = ("NAME", *dict.fromkeys(REQUESTABLE.values()))


@dataclass(frozen=True)
class TaskPair:
    """Turns of whole dialogues with what the rules of Inform and Success look at."""

    dialogue_id: Sequence[str]
    turn: Sequence[int]
    responses: Sequence[str]
    states: pd.DataFrame
    active: pd.DataFrame | None
    goals: pd.DataFrame
    bookings: pd.DataFrame
    database: Database
    source: str = "predicted"


def offers_table(pair: TaskPair) -> pd.DataFrame:
    """Go through the dialogues and say for each domain of the goal how it ended."""
    goals = _goals_by_dialogue(pair.goals)
    turns = _turns_by_dialogue(pair)
    rows: list[tuple[Any, ...]] = []
    for dialogue, numbers in turns.items():
        goal = goals.get(dialogue)
        if goal:
            rows += [(dialogue, *row) for row in _follow(goal, numbers, pair.database)]
    columns = list(zip(*rows, strict=True)) if rows else [()] * len(_COLUMNS)
    frame = pd.DataFrame(dict(zip(_COLUMNS, map(list, columns), strict=True)))
    return frame.astype(_COLUMNS)


def active_domains(states: Iterable[State]) -> list[str | None]:
    """Estimate the active domain of each turn of a dialogue from how its state changes."""
    current: str | None = None
    before: State = {}
    waiting: list[str] = []
    estimated = []
    for state in states:
        changed = [
            domain
            for domain, slots in state.items()
            if (old := before.get(domain, _EMPTY)) is not slots
            and any(old.get(slot) != value for slot, value in slots.items())
        ]
        if changed:
            if current not in changed:
                current = max(changed, key=lambda domain: len(state[domain]))
        elif current is not None:
            current = next((d for d in waiting if d in state and d != current), current)
        waiting = changed if len(changed) > 1 else []
        estimated.append(current)
        before = state
    return estimated


# Helpers ------------------------------------------------------------------------------------------

_EMPTY: Mapping[str, str] = {}
_COLUMNS = {
    "dialogue_id": "str",
    "domain": "str",
    "offered": "int64",
    "fitting": "int64",
    "matched": "bool",
    "requested": "str",
    "provided": "str",
    "missed": "str",
}


@dataclass(frozen=True)
class _Wish:
    """The goal of a dialogue in one domain."""

    informable: Mapping[str, str]
    requested: tuple[str, ...]


@dataclass(frozen=True)
class _Turn:
    """One turn: placeholders of the response, state, and active and booked domains."""

    tags: frozenset[str]
    state: State
    active: Collection[str]
    booked: Collection[str]


def _follow(goal: Mapping[str, _Wish], turns: Sequence[_Turn], database: Database) -> list[tuple[Any, ...]]:
    """Go through one dialogue."""
    offered = dict.fromkeys(goal, 0)
    provided: dict[str, set[str]] = {domain: set() for domain in goal}
    for turn in turns:
        for domain in turn.active:
            if domain not in goal:
                continue
            if OFFERED_BY.get(domain) in turn.tags:
                state = turn.state.get(domain)
                matching = database.fitting(domain, state) if state is not None else 0
                # An offer stands as long as the state only narrows it down by less than all of it.
                if not offered[domain] or offered[domain] & ~matching:
                    offered[domain] = matching
            given = turn.tags - {"NAME"}
            provided[domain] |= given if domain in turn.booked else given - {"REFERENCE"}
    rows = []
    for domain, wish in goal.items():
        fitting = database.fitting(domain, wish.informable) if domain in OFFERED_BY else 0
        found = offered[domain]
        matched = (
            "name" in wish.informable
            or domain in ALWAYS_MATCHED
            or (domain == "train" and not found and "TRAINID" not in wish.requested)
            or (found != 0 and not found & ~fitting)
        )
        missed = [item for item in wish.requested if item not in provided[domain]]
        texts = (" ".join(items) for items in (wish.requested, sorted(provided[domain]), missed))
        rows.append((domain, found.bit_count(), fitting.bit_count(), matched, *texts))
    return rows


def _goals_by_dialogue(goals: pd.DataFrame) -> dict[str, dict[str, _Wish]]:
    informable: dict[tuple[str, str], dict[str, str]] = {}
    requested: dict[tuple[str, str], dict[str, None]] = {}
    for dialogue, domain, kind, slot, value in _rows(goals):
        inform = informable.setdefault((dialogue, domain), {})
        request = requested.setdefault((dialogue, domain), {})
        if kind == "inform":
            inform[slot] = value
        elif kind == "book":
            request["REFERENCE"] = None
        elif slot in REQUESTABLE:
            request[REQUESTABLE[slot]] = None
    wishes: dict[str, dict[str, _Wish]] = defaultdict(dict)
    for (dialogue, domain), inform in informable.items():
        wishes[dialogue][domain] = _Wish(inform, tuple(requested[dialogue, domain]))
    return wishes


def _turns_by_dialogue(pair: TaskPair) -> dict[str, list[_Turn]]:
    states: dict[tuple[str, int], dict[str, dict[str, str]]] = {}
    for dialogue, turn, domain, slot, value in _rows(pair.states):
        states.setdefault((dialogue, turn), {}).setdefault(domain, {})[slot] = value
    booked: dict[tuple[str, int], set[str]] = defaultdict(set)
    for dialogue, turn, domain in _rows(pair.bookings):
        booked[dialogue, turn].add(domain)
    tags = {text: frozenset(tag for tag in _TAGS if tag in text) for text in set(pair.responses)}
    keys: dict[str, list[tuple[str, int]]] = defaultdict(list)
    texts = {}
    for dialogue, turn, text in zip(pair.dialogue_id, pair.turn, pair.responses, strict=True):
        keys[dialogue].append((dialogue, turn))
        texts[dialogue, turn] = text
    active: dict[tuple[str, int], Collection[str]] = defaultdict(tuple)
    if pair.active is None:
        for here in keys.values():
            for key, domain in zip(here, active_domains(states.get(k, {}) for k in here), strict=True):
                active[key] = (domain,) if domain else ()
    else:
        for dialogue, turn, domain in _rows(pair.active):
            active[dialogue, turn] = (*active[dialogue, turn], domain)
    return {
        dialogue: [
            _Turn(tags[texts[key]], states.get(key, {}), active[key], booked.get(key, ())) for key in here
        ]
        for dialogue, here in keys.items()
    }


def _rows(frame: pd.DataFrame) -> Iterable[tuple[Any, ...]]:
    return zip(*(frame[column].tolist() for column in frame.columns), strict=True)


#: Domains that have rates of their own. The last two occur in the goals of training dialogues only.
RATE_DOMAINS = ("restaurant", "hotel", "attraction", "train", "taxi", "police", "hospital")
SOURCE = "Nekvinda & Dušek 2021 (MultiWOZ_Evaluation), arXiv:2106.05555"


def task_counts(pair: TaskPair) -> pd.DataFrame:
    """Count by dialogue whether its goal was met."""
    offers = offers_table(pair)
    offers["provided_all"] = offers["missed"] == ""
    whole = offers.groupby("dialogue_id", sort=False)[["matched", "provided_all"]].all()
    inform = offers["dialogue_id"].map(whole["matched"]).astype("bool")
    ids = pd.Index(pd.unique(pd.Series(pair.dialogue_id, dtype="str")), name="dialogue_id")
    columns = {
        "task_dialogues": pd.Series(1, index=whole.index),
        "task_inform": whole["matched"],
        "task_success": whole["matched"] & whole["provided_all"],
    }
    for domain in RATE_DOMAINS:
        here = (offers["domain"] == domain).to_numpy()
        index = pd.Index(offers.loc[here, "dialogue_id"])
        matched, success = offers["matched"], inform & offers["provided_all"]
        columns[f"task_goal/{domain}"] = pd.Series(1, index=index)
        columns[f"task_inform/{domain}"] = pd.Series(matched.to_numpy()[here], index=index)
        columns[f"task_success/{domain}"] = pd.Series(success.to_numpy()[here], index=index)
    return pd.DataFrame({k: c.astype("int64").reindex(ids, fill_value=0) for k, c in columns.items()})


# Helpers ------------------------------------------------------------------------------------------


def _rate(part: str, whole: str, sums: Sums) -> Any:
    # Without a dialogue of that kind there is no rate, which is not the same as a rate of 0.
    return 100 * ratio(sums[part], sums[whole], empty=float("nan"))


def _combined(sums: Sums) -> Any:
    rates = (_rate(f"task_{key}", "task_dialogues", sums) for key in ("inform", "success"))
    return sum(rates) / 2 + TASK_METRICS["bleu"].value(sums)


def _rates() -> Iterator[Metric]:
    rate = partial(Metric, counts=task_counts, unit="per cent", source=SOURCE, task="task")
    for key in ("inform", "success"):
        yield rate(key, key.capitalize(), value=partial(_rate, f"task_{key}", "task_dialogues"))
    for key in ("inform", "success"):
        for domain in RATE_DOMAINS:
            value = partial(_rate, f"task_{key}/{domain}", f"task_goal/{domain}")
            yield rate(f"{key}/{domain}", f"{key.capitalize()} ({domain})", value=value)


#: By key: ``bleu``, ``inform``, ``success``, ``combined`` and the rates by domain.
TASK_METRICS: dict[str, Metric] = {"bleu": replace(TEXT_METRICS["sacrebleu"], key="bleu", label="BLEU")}
TASK_METRICS |= {m.key: m for m in _rates()}
TASK_METRICS["combined"] = Metric(
    "combined",
    "Combined",
    task_counts,
    _combined,
    unit="points",
    source="Mehri et al. 2019, arXiv:1907.10016",
    task="task",
    parts=(TASK_METRICS["inform"], TASK_METRICS["bleu"]),
)

#: What protocol ``mwzeval`` reports of them: domains that occur in the goals of the test set.
LEADERBOARD = (
    *("bleu", "inform", "success", "combined"),
    *(f"{rate}/{domain}" for rate in ("inform", "success") for domain in RATE_DOMAINS[:5]),
)

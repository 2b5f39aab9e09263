"""Whether a dialogue reached its goal: Inform, Success and their combination with BLEU.

In: a `TaskPair` of whole dialogues, with the venue `Database` of their corpus. Out: one row of counts a dialogue,
per domain and in all, and rates in per cent of dialogues. Definitions are those of MultiWOZ_Evaluation.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from dialogeval.exceptions import CorpusError, DataFileError, show
from dialogeval.files import raw_bytes, read_bytes, zip_members
from dialogeval.metrics import Metric, Sums, by_key, share
from dialogeval.metrics.text import TEXT_METRICS
from dialogeval.mwzeval import NO_CONSTRAINT, alike, minutes, slot_name
from dialogeval.strict_json import parse_json
from dialogeval.tables import Corpus

#: Domains that have a database.
DOMAINS = ("attraction", "hotel", "restaurant", "train")
#: Slots whose values are compared by their partial ratio.
FUZZY = frozenset(
    [(domain, "name") for domain in DOMAINS[:3]]
    + [("restaurant", "food"), ("train", "departure"), ("train", "destination")]
)
#: An entry that does not know a field fits any value of it.
UNKNOWN = "?"
#: Fields that a state may constrain; whether an entry has an address is of no matter to a query.
CONSTRAINTS = frozenset(
    [(d, s) for d in DOMAINS[:3] for s in ("name", "area", "type", "pricerange")]
    + [("hotel", s) for s in ("stars", "internet", "parking")]
    + [("restaurant", "food")]
    + [("train", s) for s in ("departure", "destination", "day", "arrive", "leave", "trainid")]
)


@dataclass(frozen=True)
class Database:
    """Venues and trains by domain."""

    name: str
    tables: Mapping[str, pd.DataFrame]
    version: str = ""
    notes: tuple[str, ...] = ()

    @cached_property
    def _known(self) -> dict[tuple[str, str, str], int]:
        """What was asked before."""
        return {}

    @cached_property
    def _columns(self) -> dict[tuple[str, str], tuple[np.ndarray, list[str]]]:
        """Every field as codes of its distinct values."""
        columns = ((domain, slot, t[slot]) for domain, t in self.tables.items() for slot in t)
        coded = {(domain, str(slot)): pd.factorize(column) for domain, slot, column in columns}
        return {key: (codes, values.tolist()) for key, (codes, values) in coded.items()}

    def fitting(self, domain: str, constraints: Mapping[str, str]) -> int:
        """Return the entries that fit a state as a whole number whose bit i stands for entry i."""
        if domain not in self.tables:
            return 0
        fits = (1 << len(self.tables[domain])) - 1
        for slot, value in constraints.items():
            key = (domain, slot, value)
            if key not in self._known:
                self._known[key] = self._fitting(*key)
            fits &= self._known[key]
        return fits

    def _fitting(self, domain: str, slot: str, value: str) -> int:
        if (domain, slot) not in self._columns or value in NO_CONSTRAINT:
            return -1  # All bits set: no constraint.
        test, (codes, values) = _test(domain, slot, value), self._columns[domain, slot]
        verdicts = np.array([entry == UNKNOWN or test(entry) for entry in values], dtype=bool)
        return int.from_bytes(np.packbits(verdicts[codes], bitorder="little").tobytes(), "little")


def load_database(
    corpus_or_path: Corpus | str | os.PathLike[str], home: str | os.PathLike[str] | None = None
) -> Database:
    """Load the database that belongs to a corpus: in its folder, in a folder ``db`` there, or in its archive."""
    from dialogeval.corpora.catalog import catalog, local_file

    corpus = corpus_or_path if isinstance(corpus_or_path, Corpus) else None
    name, folder = (corpus.name, corpus.source.folder) if corpus else (str(corpus_or_path), "")
    entry = catalog().get(name)
    if entry and not folder:
        folder = str(local_file(name, next(iter(entry.files)), home).parent)
    if corpus and not folder:
        raise DataFileError(
            f"corpus {name} was not read from a file, so that no venue database lies beside it",
            mend="load the corpus by name or from its folder, or choose a protocol without Inform and Success",
        )
    place = Path(folder or name)
    files = _find_files(place)
    absent = [f"{domain}_db.json" for domain in DOMAINS if domain not in files]
    published = entry is not None and any(part.startswith("db/") for part in entry.files)
    if not files or (published and absent):
        mend = "put them there; those of MultiWOZ 2.1 come with 'dialogeval fetch multiwoz21' into its folder"
        raise DataFileError(
            f"the venue database of {name} is not here",
            file=place,
            expected=f"{', '.join(absent)}, there or in a folder db",
            mend=f"run: dialogeval fetch {name}" if published else mend,
        )
    contents = {domain: read() for domain, read in sorted(files.items())}
    entries = {domain: parse_json(content, f"{domain}_db.json") for domain, content in contents.items()}
    version = sha256(b"".join(contents.values())).hexdigest()[:7]
    return database_from_entries(entries, name if folder else place.name, version)


def database_from_entries(entries: Mapping[str, Any], name: str = "database", version: str = "") -> Database:
    """Turn parsed JSON into a database."""
    tables, notes = {}, []
    for domain, rows in entries.items():
        if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
            expected = "a list of entries, each an object"
            raise CorpusError("", file=f"{domain}_db.json", expected=expected, got=show(rows))
        # Entries may spell one field in two ways. Lists and objects (locations, prices by room) become strings,
        # which equal no value of a state.
        entry = ({slot_name(name): str(v) for name, v in row.items() if v is not None} for row in rows)
        table = pd.DataFrame(list(entry), dtype=object)
        lacking = table.isna().sum()
        notes += [
            f"{name}: {n:,} of {len(rows):,} {domain} entries lack {slot}, which then fits any value"
            for slot, n in lacking[lacking > 0].items()
            if (domain, slot) in CONSTRAINTS
        ]
        tables[domain] = table.fillna(UNKNOWN).astype("str")
    return Database(name, tables, version, tuple(notes))


def _find_files(place: Path) -> dict[str, Callable[[], bytes]]:
    """Return a reader for each database file of a folder, its subfolder ``db``, or an archive."""
    if place.is_file():
        found = {Path(m).name: read for m, read in zip_members(raw_bytes(place), place).items()}
    else:
        paths = (*place.glob("*_db.json"), *place.glob("db/*_db.json"))
        found = {path.name: partial(read_bytes, path) for path in paths}
    return {d: found[f"{d}_db.json"] for d in DOMAINS if f"{d}_db.json" in found}


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


class _Turn(NamedTuple):
    """One turn: placeholders of the response, state, and active and booked domains."""

    tags: frozenset[str]
    state: State
    active: set[str]
    booked: set[str]


class _Wish(NamedTuple):
    """The goal of a dialogue in one domain; the keys of ``requested`` in their order."""

    informable: dict[str, str]
    requested: dict[str, None]


_OUTCOME = {
    "dialogue_id": "str",
    "domain": "str",
    "offered": "int64",
    "fitting": "int64",
    "matched": "bool",
    "requested": "str",
    "provided": "str",
    "missed": "str",
}


def offers_table(pair: TaskPair) -> pd.DataFrame:
    """Go through the dialogues and say for each domain of the goal how it ended."""
    goals = _goals_by_dialogue(pair.goals)
    rows = [
        (dialogue, *row)
        for dialogue, turns in _turns_by_dialogue(pair).items()
        for row in _follow(goals.get(dialogue, {}), turns, pair.database)
    ]
    return pd.DataFrame(rows, columns=list(_OUTCOME)).astype(_OUTCOME)


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
            if not slots.items() <= before.get(domain, _EMPTY).items()
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


_EMPTY: Mapping[str, str] = {}


def _follow(goal: Mapping[str, _Wish], turns: Iterable[_Turn], database: Database) -> list[tuple[Any, ...]]:
    """Go through one dialogue."""
    offered = dict.fromkeys(goal, 0)
    provided: dict[str, set[str]] = {domain: set() for domain in goal}
    for turn in turns:
        for domain in turn.active & goal.keys():
            if OFFERED_BY.get(domain) in turn.tags:
                state = turn.state.get(domain)
                matching = database.fitting(domain, state) if state is not None else 0
                # An offer stands as long as the state only narrows it down by less than all of it.
                if not offered[domain] or offered[domain] & ~matching:
                    offered[domain] = matching
            given = turn.tags - {"NAME"}
            provided[domain] |= given if domain in turn.booked else given - {"REFERENCE"}
    rows = []
    for domain, (informable, requested) in goal.items():
        fitting, found = database.fitting(domain, informable), offered[domain]
        matched = (
            "name" in informable
            or domain in ALWAYS_MATCHED
            or (domain == "train" and not found and "TRAINID" not in requested)
            or (found != 0 and not found & ~fitting)
        )
        missed = [item for item in requested if item not in provided[domain]]
        texts = (" ".join(items) for items in (requested, sorted(provided[domain]), missed))
        rows.append((domain, found.bit_count(), fitting.bit_count(), matched, *texts))
    return rows


def _goals_by_dialogue(goals: pd.DataFrame) -> dict[str, dict[str, _Wish]]:
    wishes: dict[str, dict[str, _Wish]] = defaultdict(lambda: defaultdict(lambda: _Wish({}, {})))
    for dialogue, domain, kind, slot, value in _rows(goals):
        informable, requested = wishes[dialogue][domain]
        if kind == "inform":
            informable[slot] = value
        elif kind == "book":
            requested["REFERENCE"] = None
        elif slot in REQUESTABLE:
            requested[REQUESTABLE[slot]] = None
    return wishes


def _turns_by_dialogue(pair: TaskPair) -> dict[str, list[_Turn]]:
    states: dict[tuple[str, int], dict[str, dict[str, str]]] = defaultdict(dict)
    for dialogue, turn, domain, slot, value in _rows(pair.states):
        states[dialogue, turn].setdefault(domain, {})[slot] = value
    tags = {text: frozenset(tag for tag in _TAGS if tag in text) for text in set(pair.responses)}
    dialogues: dict[str, list[tuple[str, int, str]]] = defaultdict(list)
    for row in zip(pair.dialogue_id, pair.turn, pair.responses, strict=True):
        dialogues[row[0]].append(row)
    if pair.active is None:
        estimated = (active_domains(states[d, t] for d, t, _ in turns) for turns in dialogues.values())
        active = _domains_by_turn(
            (d, t, domain)
            for turns, domains in zip(dialogues.values(), estimated, strict=True)
            for (d, t, _), domain in zip(turns, domains, strict=True)
        )
    else:
        active = _domains_by_turn(_rows(pair.active))
    booked = _domains_by_turn(_rows(pair.bookings))
    return {
        dialogue: [_Turn(tags[text], states[d, t], active[d, t], booked[d, t]) for d, t, text in turns]
        for dialogue, turns in dialogues.items()
    }


def _domains_by_turn(rows: Iterable[tuple[Any, ...]]) -> dict[tuple[str, int], set[str]]:
    found: dict[tuple[str, int], set[str]] = defaultdict(set)
    for dialogue, turn, domain in rows:
        if domain:
            found[dialogue, turn].add(domain)
    return found


def _rows(frame: pd.DataFrame) -> Iterable[tuple[Any, ...]]:
    return zip(*(frame[column].tolist() for column in frame.columns), strict=True)


#: Domains that have rates of their own. The last two occur in the goals of training dialogues only.
RATE_DOMAINS = ("restaurant", "hotel", "attraction", "train", "taxi", "police", "hospital")
_KINDS = ["goal", "inform", "success"]
SOURCE = "Nekvinda & Dušek 2021 (MultiWOZ_Evaluation), arXiv:2106.05555"


def task_counts(pair: TaskPair) -> pd.DataFrame:
    """Count by dialogue whether its goal was met, in all and by domain."""
    offers = offers_table(pair).rename(columns={"matched": "inform"}).assign(goal=1)
    # A domain succeeds where the whole dialogue informs and its own requests are met.
    offers["success"] = offers.groupby("dialogue_id")["inform"].transform("all") & (offers["missed"] == "")
    parts = {"": offers.groupby("dialogue_id")[_KINDS].min()}
    parts |= {f"/{d}": offers[offers["domain"] == d].set_index("dialogue_id")[_KINDS] for d in RATE_DOMAINS}
    named = [part.add_prefix("task_").add_suffix(domain).astype(float) for domain, part in parts.items()]
    ids = pd.Index(pd.unique(pd.Series(pair.dialogue_id, dtype="str")), name="dialogue_id")
    return pd.concat([part.reindex(ids) for part in named], axis=1).fillna(0).astype("int64")


def _rate(kind: str, domain: str = "") -> Metric:
    at, label = (f"/{domain}", f" ({domain})") if domain else ("", "")
    # Without a dialogue of that kind there is no rate, which is not the same as a rate of 0.
    value = share(f"task_{kind}{at}", f"task_goal{at}", scale=100, empty=float("nan"))
    return Metric(
        kind + at, kind.capitalize() + label, task_counts, value, unit="per cent", source=SOURCE, task="task"
    )


def _combined(sums: Sums) -> Any:
    return (_INFORM.value(sums) + _SUCCESS.value(sums)) / 2 + _BLEU.value(sums)


_BLEU = replace(TEXT_METRICS["sacrebleu"], key="bleu", label="BLEU")
_INFORM, _SUCCESS = _rate("inform"), _rate("success")
#: By key: ``bleu``, ``inform``, ``success``, ``combined`` and the rates by domain.
TASK_METRICS = by_key(
    _BLEU,
    _INFORM,
    _SUCCESS,
    *(_rate(kind, domain) for kind in ("inform", "success") for domain in RATE_DOMAINS),
    Metric(
        "combined",
        "Combined",
        task_counts,
        _combined,
        unit="points",
        source="Mehri et al. 2019, arXiv:1907.10016",
        task="task",
        parts=(_INFORM, _BLEU),
    ),
)
#: What protocol ``mwzeval`` reports of them: domains that occur in the goals of the test set.
LEADERBOARD = (
    *("bleu", "inform", "success", "combined"),
    *(f"{rate}/{domain}" for rate in ("inform", "success") for domain in RATE_DOMAINS[:5]),
)

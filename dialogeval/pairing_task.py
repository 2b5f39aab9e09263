"""Pairing for Inform and Success: goals, bookings and the database beside responses and states.

In: a corpus, predictions, a protocol and the turns to score. Out: a `TaskPair` and warnings about all
that was replaced, left out or could not be read.
"""

from __future__ import annotations

from collections import Counter

import pandas as pd

from .coverage import Coverage
from .database import DOMAINS, Database, load_database
from .exceptions import UsageError
from .golds import in_version
from .metrics.offers import TaskPair
from .mwzeval import NO_CONSTRAINT, mark_placeholders, minutes
from .normalize import normalize_states
from .protocols import Protocol
from .remarks import Remark, few, plain
from .tables import Corpus, Predictions

__all__ = ["task_pair"]

_WHERE = ["dialogue_id", "turn"]
#: How states and goals are written, whatever else the protocol does to slots and values.
_STEPS = ("slots:mwzeval", "values:mwzeval")
#: Domains of MultiWOZ without a database.
_OTHER_DOMAINS = ("taxi", "police", "hospital", "bus")
#: Slots of bookings and of domains without a database, which constrain no entry.
_OTHER_SLOTS = frozenset({"leave", "arrive", "departure", "destination", "department", "ticket", "people"})
_OTHER_SLOTS |= {"day", "stay", "time", "bookpeople", "bookday", "bookstay", "booktime"}


def task_pair(
    gold: Corpus, predictions: Predictions, protocol: Protocol, coverage: Coverage
) -> tuple[TaskPair, list[Remark]]:
    """Gather and normalise what the rules of Inform and Success look at.

    Parameters
    ----------
    gold : Corpus
        With goals and bookings, and a venue database beside it.
    predictions : Predictions
        With responses. States and active domains are used if they are there; else the gold states,
        and active domains are estimated from the states.
    protocol : Protocol
    coverage : Coverage
        From `match_turns`.

    Returns
    -------
    TaskPair
    list of Remark
        Gold states in place of predicted ones, estimated active domains, placeholders and
        times that cannot be read, unknown domains and slots, database entries without a field.

    Raises
    ------
    UsageError
        No responses, or a corpus without goals.
    DataFileError
        The venue database is not here; the message names ``dialogeval fetch``.

    Examples
    --------
    >>> from dialogeval.corpora import load_corpus
    >>> from dialogeval.coverage import match_turns
    >>> from dialogeval.protocols import PROTOCOLS
    >>> from dialogeval.tables import as_predictions
    >>> gold = load_corpus("sample/multiwoz")
    >>> own = as_predictions(gold)
    >>> pair, said = task_pair(gold, own, PROTOCOLS["mwzeval"], match_turns(gold, own))
    >>> pair.source, [line for remark in said for line in remark.lines]
    ('predicted', ['no active domains are predicted: they are estimated from the predicted states'])
    """
    if predictions.responses is None:
        raise UsageError(
            f"{predictions.path or predictions.name} holds no responses, which protocol {protocol.name} scores",
            mend="choose a protocol for states, such as lin2021",
        )
    if not len(gold.goals):
        raise UsageError(
            f"{gold.id} has no user goals, which Inform and Success need",
            mend="choose another protocol for responses, such as lai2019",
        )
    database = load_database(gold)
    _require_domains(gold, database)
    turns = coverage.turns[_WHERE]
    responses = turns.merge(predictions.responses, on=_WHERE, how="left")["response"].fillna("")
    texts, unreadable = mark_placeholders(responses.tolist())
    states, source = predictions.states, "predicted"
    if states is None:
        # In a predicted state "none" is a value, in a gold state it is not.
        states, source = in_version(gold, "mwzeval").states, "gold"
    here = set(turns["dialogue_id"].unique().tolist())
    steps = (*(s for s in protocol.steps if s.startswith("slots:")), *_STEPS)
    states = normalize_states(states[states["dialogue_id"].isin(here)], steps)
    goals = gold.goals[gold.goals["dialogue_id"].isin(here)]
    pair = TaskPair(
        turns["dialogue_id"].tolist(),
        turns["turn"].tolist(),
        texts,
        states,
        _active(predictions, here),
        normalize_states(goals, steps),
        gold.bookings[gold.bookings["dialogue_id"].isin(here)],
        database,
        source,
    )
    said = [*map(plain, _of_sources(predictions)), *_of_active(pair.active, gold), *unreadable]
    said += [*map(plain, database.notes), _of_goals(turns, goals), _of_names(states, database)]
    return pair, [*said, _of_times(states), _of_bookings(pair, gold)]


#: What acts of no particular domain are called.
_NO_DOMAIN = ("general", "booking")

# Helpers ------------------------------------------------------------------------------------------


def _active(predictions: Predictions, dialogues: set[str]) -> pd.DataFrame | None:
    active = predictions.active_domains
    if active is None:
        return None
    return active[active["dialogue_id"].isin(dialogues)]


def _require_domains(gold: Corpus, database: Database) -> None:
    """Refuse a database without a domain that goals need: every such dialogue would fail."""
    wanted = gold.goals["domain"].unique().tolist()
    lacking = [d for d in DOMAINS if d in wanted and d not in database.tables]
    if lacking:
        names = ", ".join(f"{d}_db.json" for d in lacking)
        raise UsageError(
            f"the goals of {gold.id} need the venue database of {' and '.join(lacking)}",
            mend=f"put {names} beside the others",
        )


def _of_sources(predictions: Predictions) -> list[str]:
    said = []
    if predictions.states is None:
        said.append(
            "no states are predicted: Inform and Success use the gold states, which a system that predicts "
            "its own does not have"
        )
    if predictions.active_domains is None:
        whose = "gold" if predictions.states is None else "predicted"
        said.append(f"no active domains are predicted: they are estimated from the {whose} states")
    return said


def _of_active(active: pd.DataFrame | None, gold: Corpus) -> list[Remark]:
    """Count predicted active domains that no goal has: offers made under them are never looked at."""
    if active is None:
        return []
    known = {*gold.goals["domain"].unique().tolist(), *_NO_DOMAIN}
    counts = active.loc[~active["domain"].isin(known), "domain"].value_counts()
    return [Remark(_say_active, Counter(counts.to_dict()))]


def _say_active(facts: Counter[str]) -> list[str]:
    if not facts:
        return []
    named = ", ".join(f"{domain} ×{n:,}" for domain, n in facts.most_common(5))
    return [f"{facts.total():,} predicted active domains are none of the goals' and have no effect: {named}"]


def _of_goals(turns: pd.DataFrame, goals: pd.DataFrame) -> Remark:
    aimed = set(goals["dialogue_id"].unique().tolist())
    without = (i for i in turns["dialogue_id"].unique().tolist() if i not in aimed)
    return Remark(_say_goals, Counter(without))


def _say_goals(facts: Counter[str]) -> list[str]:
    if not facts:
        return []
    return [f"{len(facts):,} dialogues have no goal and do not count for Inform and Success: {few([*facts])}"]


def _of_bookings(pair: TaskPair, gold: Corpus) -> Remark:
    """Count requested references, which a corpus without bookings never lets a system provide."""
    asked = pair.goals[(pair.goals["kind"] == "book") | (pair.goals["slot"].isin(("ref", "reference")))]
    facts = Counter(dict.fromkeys(asked["dialogue_id"].unique().tolist(), 1))
    return Remark(_say_bookings, facts, (bool(len(gold.bookings)),))


def _say_bookings(facts: Counter[str], booked: bool) -> list[str]:
    if booked or not facts:
        return []
    return [
        f"the corpus does not say what was booked: in {len(facts):,} dialogues whose goal has a booking no "
        "reference number counts as provided, and Success fails"
    ]


def _of_names(states: pd.DataFrame, database: Database) -> Remark:
    """Count what stands in domains and slots that are neither the database's nor MultiWOZ's."""
    known = {d: {*table.columns, *_OTHER_SLOTS} for d, table in database.tables.items()}
    known |= {d: set(_OTHER_SLOTS) for d in _OTHER_DOMAINS}
    counts = states.groupby(["domain", "slot"], sort=False).size().rename("n").reset_index()
    facts: Counter[tuple[str, str]] = Counter()
    for domain, slot, number in counts.itertuples(index=False):
        if domain not in known:
            facts["domains", domain] += number
        elif slot not in known[domain]:
            facts["slots", f"{domain}-{slot}"] += number
    return Remark(_say_names, facts)


def _say_names(facts: Counter[tuple[str, str]]) -> list[str]:
    said = []
    for what in ("domains", "slots"):
        found = {name: n for (kind, name), n in facts.items() if kind == what}
        if found:
            most = sorted(found, key=lambda name: (-found[name], name))
            named = few([f"{name} ×{found[name]:,}" for name in most])
            said.append(
                f"{sum(found.values()):,} values of states stand in unknown {what} and constrain nothing: {named}"
            )
    return said


def _of_times(states: pd.DataFrame) -> Remark:
    times = states.loc[states["slot"].isin(["arrive", "leave"]) & (states["domain"] == "train"), "value"]
    counts = times.value_counts().to_dict()
    bad = {str(v): n for v, n in counts.items() if minutes(str(v)) is None and v not in NO_CONSTRAINT}
    return Remark(_say_times, Counter(bad))


def _say_times(facts: Counter[str]) -> list[str]:
    if not facts:
        return []
    named = few([f"'{value}' ×{n:,}" for value, n in facts.most_common()])
    return [f"{facts.total():,} times of states cannot be read and count as 00:00: {named}"]

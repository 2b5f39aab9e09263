"""Notes: what makes a score low, or higher, for other reasons than the system.

In: what was paired. Out: the warnings that stand beside the scores, each one line with its numbers.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pandas as pd

from dialogeval.exceptions import few
from dialogeval.golds import ENGLISH_MULTIWOZ
from dialogeval.metrics.states import StatePair, count_slot_errors
from dialogeval.metrics.task import Database, TaskPair
from dialogeval.mwzeval import NO_CONSTRAINT, minutes
from dialogeval.normalize import NOT_FILLED, normalize_slot, own_steps
from dialogeval.protocols import Protocol
from dialogeval.tables import Corpus

_SLOT = ["domain", "slot"]
_HAN = re.compile("[\u3400-\u9fff]")
#: Domains of MultiWOZ without a database.
_OTHER_DOMAINS = ("taxi", "police", "hospital", "bus")
#: Slots of bookings and of domains without a database, which constrain no entry.
_OTHER_SLOTS = frozenset({"leave", "arrive", "departure", "destination", "department", "ticket", "people"})
_OTHER_SLOTS |= {"day", "stay", "time", "bookpeople", "bookday", "bookstay", "booktime"}


def _counted(counts: Mapping[str, int]) -> str:
    """Name the most frequent of several things, each with its number."""
    most = sorted(counts, key=lambda name: (-counts[name], name))
    return few([f"{name[:80]} ×{counts[name]:,}" for name in most], width=100)


def foreign_slots(whose: str, pair: StatePair, layouts: pd.DataFrame) -> Iterator[str]:
    """Name predicted slots that gold does not have: naming alone makes a score low."""
    slots = list(pair.slots.itertuples(index=False, name=None))
    known = {*layouts[_SLOT].drop_duplicates().itertuples(index=False, name=None)}
    known |= {slots[code] for code in pd.unique(pair.gold.slot)}
    counts = np.bincount(pair.pred.slot, minlength=len(slots)).tolist()
    foreign = {slot: n for slot, n in zip(slots, counts, strict=True) if n and slot not in known}
    if not foreign:
        return
    reach: Counter[str] = Counter()
    for step in ("slots:plain", "slots:multiwoz22"):
        names = {(domain, normalize_slot(domain, slot, [step])) for domain, slot in known}
        reach[step] = sum(n for (d, s), n in foreign.items() if (d, normalize_slot(d, s, [step])) in names)
    out = "no step for slot names maps them, an alignment may (--align)"
    if helpful := [(step, n) for step, n in reach.most_common() if n]:
        mapped = ", ".join(f"{step} {n:,}" for step, n in helpful)
        out = (
            f"of these the steps for slot names map to slots that it has: {mapped} (--steps {helpful[0][0]})"
        )
    named = _counted({f"{domain}-{slot}": n for (domain, slot), n in foreign.items()})
    yield (
        f"{sum(foreign.values()):,} of {sum(counts):,} predicted values stand in {len(foreign)} slots that "
        f"{whose} does not have: {named}; {out}"
    )


def state_notes(
    corpus: Corpus, whose: str, layouts: pd.DataFrame, protocol: Protocol, pair: StatePair, listed: int
) -> Iterator[str]:
    """Note where the sides are not what the protocol takes them for; ``listed``: slots that gold lists."""
    is_none = np.array([v.strip().lower() in ("none", *NOT_FILLED) for v in pair.values], dtype=bool)
    gold, none = (int(is_none[side.value].sum()) for side in (pair.gold, pair.pred))
    if none > 0.05 * len(pair.pred.key):
        yield (
            f"{none:,} predicted values are 'none' or empty (gold: {gold:,}), which this protocol takes for "
            "values; with the step none:drop they are empty slots (--steps none:drop)"
        )
    if not len(pair.gold.key):
        yield f"no turn of {whose} has a filled slot: its states are empty or not annotated"
    if "map:dstc9" in own_steps(protocol.steps, corpus.family):
        yield (
            "of which corpus the gold is cannot be told, and so of DSTC9's tables of values only none → empty "
            "applies; the steps map:dstc9-crosswoz and map:dstc9-multiwoz are the two tables"
        )
    compared = protocol.compare == "annotated-slots"
    slots = layouts[_SLOT].drop_duplicates()
    thirty = len(slots) and set(slots["domain"]) <= ENGLISH_MULTIWOZ  # slot accuracy divides by 30
    divided = any(m.counts is count_slot_errors for m in protocol.resolve_metrics()) and not thirty
    if not compared and not divided:
        return
    if corpus.family != "pairs":
        yield from corpus.cautions.get("slots", ())
    elif listed <= len(pair.gold.key):
        other = "what is predicted in other slots is not looked at"
        taken = other if compared else f"these {len(slots):,} are taken for all there are"
        yield f"the file's own gold lists filled slots only: {taken}"


def text_notes(
    references: Sequence[str], responses: Sequence[str], tokenizer: str, goals: bool
) -> Iterator[str]:
    """Say so when the two sides are not the same kind of text, or not the tokeniser's."""
    from dialogeval.placeholders import canonical_names, names_pattern

    han, words = sum(len(_HAN.findall(t)) for t in responses), sum(len(t.split()) for t in responses)
    if tokenizer in ("space", "13a") and han > 3 * max(words, 1):
        yield (
            f"the responses are written without spaces ({han:,} Chinese characters in {words:,} white-space "
            f"tokens): tokeniser {tokenizer} takes whole utterances for words; choose zh or char (--tokenizer zh)"
        )
    name = names_pattern(canonical_names())
    marked: dict[str, float] = {}
    glued: dict[str, float] = {}
    for side, texts in (("references", references), ("responses", responses)):
        # Each distinct text is looked at once: references and systems repeat themselves.
        found = pd.Series(texts, dtype="str").value_counts()
        times = found.to_numpy()
        marked[side] = times[[bool(name.search(t)) for t in found.index]].sum() / max(len(texts), 1)
        marks = [found.index.str.count(rf"{before}[.,?!](?:\s|$)") for before in (r"\w", r"\s")]
        close, apart = (times @ n.to_numpy() for n in marks)
        glued[side] = close / max(close + apart, 1)
    if goals and not marked["references"]:
        yield "no reference holds a slot placeholder: the goal scores are 0 for that reason"
    plain, full = sorted(marked, key=lambda side: marked[side])
    if marked[plain] < 0.02 and marked[full] > 0.2:
        mend = "; --delexicalize marks their values, protocol lexical compares real ones"
        yield (
            f"the {plain} hold hardly any slot placeholders ({marked[plain]:.1%} of turns) while the other side "
            f"does ({marked[full]:.1%}): one side is delexicalised and the other is not"
            + mend
            * (plain == "responses")
        )
    loose, tight = sorted(glued, key=lambda side: glued[side])
    if glued[tight] - glued[loose] > 0.5:
        yield (
            f"the {tight} attach punctuation to words ({glued[tight]:.0%} of the marks) and the other side does "
            "not: tokens split on white space then differ for no other reason; tokeniser 13a splits the marks "
            "of both sides off (--tokenizer 13a)"
        )
    if lacking := sum(not text.strip() for text in references):
        some = f"{lacking:,} of {len(references):,} references are empty: no response can be like them"
        none = "all references are empty: what compares a response with its reference is 0 for that reason"
        yield none if lacking == len(references) else some


def task_notes(pair: TaskPair, booked: bool) -> Iterator[str]:
    """Count what Inform and Success never look at, and what they cannot read."""
    if pair.active is not None:
        # Acts of no particular domain are called general and booking.
        aims = {*pair.goals["domain"], "general", "booking"}
        if strange := Counter(domain for domain in pair.active["domain"] if domain not in aims):
            what = f"{strange.total():,} predicted active domains are none of the goals' and have no effect"
            yield f"{what}: {_counted(strange)}"
    yield from pair.database.notes
    aimed = set(pair.goals["dialogue_id"])
    if without := [i for i in dict.fromkeys(pair.dialogue_id) if i not in aimed]:
        what = f"{len(without):,} dialogues have no goal and do not count for Inform and Success"
        yield f"{what}: {few(without)}"
    asked = pair.goals[(pair.goals["kind"] == "book") | pair.goals["slot"].isin(("ref", "reference"))]
    if len(asked) and not booked:
        yield (
            f"the corpus does not say what was booked: in {asked['dialogue_id'].nunique():,} dialogues whose "
            "goal has a booking no reference number counts as provided, and Success fails"
        )
    yield from _odd_states(pair.states, pair.database)


def _odd_states(states: pd.DataFrame, database: Database) -> Iterator[str]:
    known = {d: {*table.columns, *_OTHER_SLOTS} for d, table in database.tables.items()}
    known |= {d: set(_OTHER_SLOTS) for d in _OTHER_DOMAINS}
    unknown: dict[str, Counter[str]] = {"domains": Counter(), "slots": Counter()}
    for domain, slot, n in states.groupby(_SLOT, sort=False).size().reset_index().itertuples(index=False):
        if domain not in known:
            unknown["domains"][domain] += n
        elif slot not in known[domain]:
            unknown["slots"][f"{domain}-{slot}"] += n
    for what, counts in unknown.items():
        if counts:
            said = f"{counts.total():,} values of states stand in unknown {what} and constrain nothing"
            yield f"{said}: {_counted(counts)}"
    times = states.loc[states["slot"].isin(["arrive", "leave"]) & (states["domain"] == "train"), "value"]
    bad = Counter(f"'{v}'" for v in times if minutes(v) is None and v not in NO_CONSTRAINT)
    if bad:
        yield f"{bad.total():,} times of states cannot be read and count as 00:00: {_counted(bad)}"

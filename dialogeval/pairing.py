"""Pairing: gold and prediction of the same turns, normalised by a protocol and ready to be counted.

In: a corpus, predictions, a protocol and the turns to score. Out: both sides of each task (states, texts,
whole tasks), with what is worth saying about them. States are compared as integer codes: every distinct
value is normalised once, however many turns have it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from dialogeval import notes
from dialogeval.exceptions import CoverageError, UsageError
from dialogeval.golds import GOLDS, Coverage, in_version, ontology_size
from dialogeval.metrics import Metric, TextPair
from dialogeval.metrics.states import Schema, StatePair, Triples, contains, distinct, pair_states
from dialogeval.metrics.task import DOMAINS, TaskPair, load_database
from dialogeval.mwzeval import mark_placeholders, normalize_responses
from dialogeval.normalize import normalize_states, own_steps
from dialogeval.protocols import Protocol, check_text_steps
from dialogeval.tables import Corpus, Predictions, turn_rows

_TURN, _SLOT = ["dialogue_id", "turn"], ["domain", "slot"]
_PLACE = [*_TURN, *_SLOT]


def _part(predictions: Predictions, kind: str, protocol: Protocol) -> pd.DataFrame:
    table = getattr(predictions, kind)
    if table is None:
        other = "states, such as lin2021" if kind == "responses" else "responses, such as lai2019"
        problem = (
            f"{predictions.path or predictions.name} holds no {kind}, which protocol {protocol.name} scores"
        )
        raise UsageError(problem, mend=f"choose a protocol for {other}")
    return table


# States -------------------------------------------------------------------------------------------


def normalize_pair(pair: StatePair, steps: tuple[str, ...]) -> StatePair:
    """Run the steps on both sides of a pair, once on each distinct value of a slot."""
    n_values = max(len(pair.values), 1)
    both = np.concatenate([side.key % pair.stride for side in (pair.gold, pair.pred)])
    codes, cells = pd.factorize(both, sort=True)
    table = pair.slots.take(cells // n_values).assign(value=pair.values[cells % n_values])
    table = normalize_states(table.assign(cell=np.arange(len(cells))), steps)
    slot, slots = pd.factorize(pd.MultiIndex.from_frame(table[_SLOT]))
    named = pd.DataFrame(list(slots), columns=_SLOT)
    value, values = pd.factorize(table["value"], sort=True)
    n_slots, n_values = max(len(slots), 1), max(len(values), 1)
    # What is not filled any more has no new number.
    new = np.full(len(cells), -1)
    new[table["cell"]] = slot * n_values + value

    def side(triples: Triples, cell: np.ndarray) -> Triples:
        key = triples.turn * (n_slots * n_values) + new[cell]
        return Triples(distinct(key[new[cell] >= 0]), n_slots, n_values)

    n = len(pair.gold.key)
    return replace(
        pair,
        gold=side(pair.gold, codes[:n]),
        pred=side(pair.pred, codes[n:]),
        slots=named,
        values=np.asarray(values, dtype=object),
    )


def state_pair(
    corpus: Corpus, predictions: Predictions, protocol: Protocol, coverage: Coverage
) -> tuple[StatePair, list[str]]:
    """Code both sides, normalise them by the protocol's steps and keep what it compares."""
    predicted, gold = _part(predictions, "states", protocol), GOLDS[protocol.gold](corpus)
    turns, steps = coverage.turns, own_steps(protocol.steps, corpus.family)
    if protocol.gold.startswith("dstc9") and predictions.format == "dstc9":
        _require_all_slots(predictions, turns, gold.layouts)
    pair = normalize_pair(pair_states(turns, gold.states, predicted, ontology_size(corpus)), steps)
    names = [s for s in steps if s.startswith("slots:")]
    layouts = normalize_states(gold.layouts.assign(value="?"), names).drop(columns="value").drop_duplicates()
    whose = "the file's own gold" if corpus.family == "pairs" else corpus.id
    said = list(notes.foreign_slots(whose, pair, layouts))
    layout, of_layout = turns["layout"], layouts.groupby("layout")
    listed = layout.map(of_layout.size()).fillna(0).to_numpy(dtype="int64")
    if protocol.compare == "annotated-slots":
        pair = replace(_listed(pair, layout.to_numpy(), layouts), n_slots=listed)
    alternatives = normalize_states(gold.alternatives, steps)
    if len(alternatives) or protocol.gold == "bars":
        pair = _accept(pair, turns, alternatives, parts=protocol.gold == "bars")
    if protocol.gold == "frames":
        services = layout.map(of_layout["domain"].nunique()).fillna(0).to_numpy(dtype="int64")
        free = corpus.schema[corpus.schema["kind"] == "free"]
        pair = replace(pair, schema=Schema(services, free, alternatives))
    return pair, [*said, *notes.state_notes(corpus, whose, layouts, protocol, pair, listed.sum())]


def _require_all_slots(predictions: Predictions, turns: pd.DataFrame, layouts: pd.DataFrame) -> None:
    """Refuse a submission that leaves a slot out: DSTC9's format wants every slot, empty ones too."""
    assert predictions.states is not None
    wanted = turns[turns["predicted"]].merge(layouts, on="layout")
    missing = wanted.merge(predictions.states[_PLACE], on=_PLACE, how="left", indicator="side")
    missing = missing[missing["side"] == "left_only"]
    if len(missing):
        first = missing.iloc[0]
        raise CoverageError(
            f"slot {first['domain']}-{first['slot']} is missing ({len(missing):,} slots in all)",
            file=predictions.path or predictions.name,
            dialogue=first["dialogue_id"],
            turn=int(first["turn"]),
            mend='give every slot of the gold, with "" where it is empty',
        )


def _slot_codes(pair: StatePair, table: pd.DataFrame) -> np.ndarray:
    """Return the code of each row's slot, -1 where the pair has none."""
    return pd.MultiIndex.from_frame(pair.slots).get_indexer(pd.MultiIndex.from_frame(table[_SLOT]))


def _listed(pair: StatePair, layout: np.ndarray, layouts: pd.DataFrame) -> StatePair:
    """Leave the slots that the gold's annotation of a turn knows, filled or not."""
    code, n = _slot_codes(pair, layouts), max(len(pair.slots), 1)
    known = distinct((layouts["layout"].to_numpy() * n + code)[code >= 0])
    gold, pred = (
        side.take(contains(known, layout[side.turn] * n + side.slot)) for side in (pair.gold, pair.pred)
    )
    return replace(pair, gold=gold, pred=pred)


def _accept(pair: StatePair, turns: pd.DataFrame, alternatives: pd.DataFrame, parts: bool) -> StatePair:
    """Put the first gold value of its slot in the place of a predicted value that is another right one."""
    wrong = np.flatnonzero(~pair.pred_in_gold)
    said = pd.DataFrame(
        {"row": wrong, "place": pair.slot_key(pair.pred)[wrong], "value": pair.pred.value[wrong]}
    )
    gold = pd.DataFrame({"place": pair.slot_key(pair.gold), "value": pair.gold.value})
    firsts = gold.drop_duplicates("place").set_index("place")["value"]
    turn, slot = turn_rows(turns, alternatives), _slot_codes(pair, alternatives)
    value = pd.Index(pair.values).get_indexer(alternatives["value"])
    right = pd.DataFrame({"place": turn * max(len(pair.slots), 1) + slot, "value": value})
    right = right[(turn >= 0) & (slot >= 0) & (value >= 0)]
    if parts:
        part = pd.DataFrame({"part": pd.Series(pair.values, dtype="str").str.split("|").explode()})
        part = part[part["part"] != ""]
        said, right = (t.join(part, on="value", how="inner") for t in (said, pd.concat([right, gold])))
    same = ["place", "part" if parts else "value"]
    hits = said[["row", *same]].merge(right[same].drop_duplicates(), on=same).drop_duplicates("row")
    hits = hits[hits["place"].isin(firsts.index)]
    key = pair.pred.key.copy()
    rows = hits["row"].to_numpy()
    key[rows] += firsts.reindex(hits["place"]).to_numpy(dtype="int64") - pair.pred.value[rows]
    return replace(pair, pred=replace(pair.pred, key=distinct(key)))


# Texts --------------------------------------------------------------------------------------------


def text_pair(
    gold: Corpus, predictions: Predictions, protocol: Protocol, coverage: Coverage
) -> tuple[TextPair, list[str]]:
    """Normalise references and responses by the protocol's steps."""
    turns, given, steps = coverage.turns, _part(predictions, "responses", protocol), protocol.text_steps
    references = gold.turns
    if gold.family != "pairs" and protocol.references == "delexicalized":
        case = "lower" if "case:lower" in steps else "keep"
        references = _delexicalized(gold, case).rename(columns={"response": "system"})
    reference, said = normalize_texts(_texts(references, "system", turns), steps, "references")
    response, heard = normalize_texts(_texts(given, "response", turns), steps, "responses")
    order = turn_rows(predictions.turns, turns)
    # What the file lacks comes last.
    order = np.where(order < 0, len(predictions.turns), order)
    ids, numbers = (turns[column].tolist() for column in _TURN)
    pair = TextPair(ids, numbers, reference, response, protocol.tokenizer, order.tolist())
    goals = any(m.key.startswith("goal_") for m in protocol.resolve_metrics())
    return pair, [*said, *heard, *notes.text_notes(reference, response, protocol.tokenizer, goals)]


def _texts(frame: pd.DataFrame, column: str, turns: pd.DataFrame) -> list[str]:
    """Return the text of each turn, empty where there is none."""
    return np.append(frame[column].to_numpy(dtype=object), "")[turn_rows(frame, turns)].tolist()


#: Delexicalised references of the corpora scored last, by their content: several systems are compared on
#: one corpus, and delexicalising it takes longer than all the rest.
_KEPT: dict[tuple[Any, ...], pd.DataFrame] = {}


def _delexicalized(gold: Corpus, case: str) -> pd.DataFrame:
    """Return the delexicalised references of a corpus; the same content is delexicalised once."""
    from dialogeval.delex import delexicalize

    # By content, not by identity: somebody may have changed a table in place.
    hashed = (pd.util.hash_pandas_object(t) for t in (gold.turns, gold.spans, gold.acts, gold.states))
    key = (case, *(hashes.to_numpy().tobytes() for hashes in hashed))
    if key not in _KEPT:
        if len(_KEPT) == 4:
            _KEPT.pop(next(iter(_KEPT)))
        _KEPT[key] = delexicalize(gold, style="value", case=case)
    return _KEPT[key]


def normalize_texts(
    texts: list[str], steps: Sequence[str], what: str = "texts"
) -> tuple[list[str], list[str]]:
    """Run the text steps: placeholders to canonical names, and lower case around them."""
    check_text_steps(steps)
    if "mwzeval:moses" in steps:
        return normalize_responses(texts, what)
    from dialogeval.placeholders import fold_case, read_placeholders

    notes: list[str] = []
    if "placeholders:canonical" in steps:
        texts, notes = read_placeholders(texts, what)
    return fold_case(texts) if "case:lower" in steps else texts, notes


# Inform and Success -------------------------------------------------------------------------------

#: How states and goals are written, whatever else the protocol does to slots and values.
_STEPS = ("slots:mwzeval", "values:mwzeval")


def task_pair(
    gold: Corpus, predictions: Predictions, protocol: Protocol, coverage: Coverage
) -> tuple[TaskPair, list[str]]:
    """Gather and normalise what the rules of Inform and Success look at."""
    turns, given = coverage.turns, _part(predictions, "responses", protocol)
    if not len(gold.goals):
        problem = f"{gold.id} has no user goals, which Inform and Success need"
        raise UsageError(problem, mend="choose another protocol for responses, such as lai2019")
    database = load_database(gold)
    aims = set(gold.goals["domain"])
    if lacking := [d for d in DOMAINS if d in aims and d not in database.tables]:
        # Every such dialogue would fail.
        problem = f"the goals of {gold.id} need the venue database of {' and '.join(lacking)}"
        raise UsageError(problem, mend=f"put {', '.join(f'{d}_db.json' for d in lacking)} beside the others")
    texts, unreadable = mark_placeholders(_texts(given, "response", turns))
    states, source, said = predictions.states, "predicted", []
    if states is None:
        # In a predicted state "none" is a value, in a gold state it is not.
        states, source = in_version(gold, "mwzeval").states, "gold"
        system = "which a system that predicts its own does not have"
        said.append(f"no states are predicted: Inform and Success use the gold states, {system}")
    if predictions.active_domains is None:
        said.append(f"no active domains are predicted: they are estimated from the {source} states")
    here, active = turns["dialogue_id"].unique(), predictions.active_domains
    tables = (states, gold.goals, gold.bookings)
    states, goals, bookings = (t[t["dialogue_id"].isin(here)] for t in tables)
    active = active if active is None else active[active["dialogue_id"].isin(here)]
    steps = (*(s for s in protocol.steps if s.startswith("slots:")), *_STEPS)
    states, goals = (normalize_states(t, steps) for t in (states, goals))
    ids, numbers = (turns[column].tolist() for column in _TURN)
    pair = TaskPair(ids, numbers, texts, states, active, goals, bookings, database, source)
    return pair, [*said, *unreadable, *notes.task_notes(pair, len(gold.bookings) > 0)]


# All tasks ----------------------------------------------------------------------------------------

_PAIRING: dict[str, Callable] = {"state": state_pair, "text": text_pair, "task": task_pair}


def scorable(
    metrics: tuple[Metric, ...], gold: Corpus, predictions: Predictions
) -> tuple[tuple[Metric, ...], list[str]]:
    """Leave out the scores that the two sides cannot give, if others of the protocol remain."""
    lacking = {}
    if predictions.states is None:
        lacking["state"] = f"{predictions.name} predicts no states"
    if predictions.responses is None:
        lacking["text"] = lacking["task"] = f"{predictions.name} has no responses"
    elif not len(gold.goals):
        lacking["task"] = f"{gold.id} has no user goals"
    elif predictions.states is None and not len(gold.states):
        lacking["task"] = f"neither {predictions.name} nor {gold.id} has states"
    reasons = {m.key: next((lacking[p.task] for p in m.sources if p.task in lacking), "") for m in metrics}
    kept = tuple(m for m in metrics if not reasons[m.key])
    if not kept:
        return metrics, []
    said = []
    for reason in dict.fromkeys(filter(None, reasons.values())):
        keys = [key for key, why in reasons.items() if why == reason]
        said.append(f"{reason}, so these scores are left out: {', '.join(keys)}")
    return kept, said


def make_pairs(
    metrics: tuple[Metric, ...],
    gold: Corpus,
    predictions: Predictions,
    protocol: Protocol,
    coverage: Coverage,
) -> tuple[dict[str, Any], list[str]]:
    """Set gold and predictions side by side for every task that the metrics need."""
    pairs: dict[str, Any] = {}
    said: list[str] = []
    for task in dict.fromkeys(part.task for m in metrics for part in m.sources):
        pairs[task], heard = _PAIRING[task](gold, predictions, protocol, coverage)
        said += heard
    kinds = ["any", *pairs]
    kinds += ["per-turn"] * (protocol.gold != "frames" and not pairs.keys().isdisjoint(("state", "task")))
    kinds += ["references"] * (protocol.references == "delexicalized" and "text" in pairs)
    return pairs, [*said, *(text for kind in kinds for text in gold.cautions.get(kind, ()))]

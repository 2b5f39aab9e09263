"""Pairing: gold and prediction of the same turns, normalised by a protocol and ready to be counted.

In: a corpus, predictions and a protocol. Out: which turns are scored, and for each task (states, texts,
whole tasks) both sides of them, with what is worth saying about them. States are compared as integer
codes: every distinct value is normalised once, however many turns have it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from dialogeval.exceptions import CoverageError, UnknownNameError, UsageError, few
from dialogeval.metrics import Metric, TextPair
from dialogeval.metrics.states import (
    Schema,
    StatePair,
    Triples,
    contains,
    count_slot_errors,
    distinct,
    pair_states,
)
from dialogeval.metrics.task import DOMAINS, Database, TaskPair, load_database
from dialogeval.mwzeval import NO_CONSTRAINT, mark_placeholders, minutes, normalize_responses
from dialogeval.normalize import NOT_FILLED, normalize_slot, normalize_states, own_steps
from dialogeval.protocols import MISSING, Protocol, check_text_steps
from dialogeval.tables import Corpus, Predictions, turn_rows

_TURN, _SLOT = ["dialogue_id", "turn"], ["domain", "slot"]
_PLACE = [*_TURN, *_SLOT]


# Coverage -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Coverage:
    """Which turns are scored."""

    turns: pd.DataFrame
    dialogues_scored: int
    dialogues_in_corpus: int
    turns_scored: int
    turns_in_corpus: int
    warnings: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, int]:
        """Return the four counts."""
        keys = ("dialogues_scored", "dialogues_in_corpus", "turns_scored", "turns_in_corpus")
        return {k: getattr(self, k) for k in keys}


def match_turns(gold: Corpus, predictions: Predictions, missing: str = "error") -> Coverage:
    """Find the turns to score and refuse what does not fit."""
    if missing not in MISSING:
        raise UnknownNameError("missing policy", missing, MISSING)
    codes, ids = pd.factorize(gold.turns["dialogue_id"], sort=True)
    order = np.lexsort((gold.turns["turn"], codes))
    turns = gold.turns[[*_TURN, "layout"]].take(order).reset_index(drop=True)
    rows = turn_rows(turns, predictions.turns)
    if (rows < 0).any():
        raise _unknown_turns(gold, predictions, predictions.turns[rows < 0])
    here = np.bincount(rows, minlength=len(turns)) > 0
    warnings = []
    if not here.all():
        answered = set(turns.loc[here, "dialogue_id"])
        lacking = turns.loc[~here, "dialogue_id"].unique()
        whole, short = ([i for i in lacking if (i in answered) == some] for some in (False, True))
        named = [_dialogues(whole, " missing"), _dialogues(short, " short of turns")]
        what = f"({'; '.join(filter(None, named))})"
        problem = f"{(~here).sum():,} of {len(turns):,} turns of {gold.id} have no prediction"
        if missing == "error":
            mend = 'add them, or choose missing="skip" (--missing skip: leave them out) or "empty" (score them as empty)'
            raise CoverageError(f"{problem} {what}", file=predictions.path or predictions.name, mend=mend)
        done = "left out" if missing == "skip" else "scored as predicted empty"
        other = '"empty" scores them as empty' if missing == "skip" else '"skip" leaves them out'
        warnings.append(f"{problem} and were {done} {what}; missing={other}")
    scored = turns.assign(predicted=here)
    scored = scored[here].reset_index(drop=True) if missing == "skip" else scored
    return Coverage(
        turns=scored,
        dialogues_scored=scored["dialogue_id"].nunique(),
        dialogues_in_corpus=len(ids),
        turns_scored=len(scored),
        turns_in_corpus=len(turns),
        warnings=tuple(warnings),
    )


def _unknown_turns(gold: Corpus, predictions: Predictions, extra: pd.DataFrame) -> CoverageError:
    file = predictions.path or predictions.name
    known = set(gold.turns["dialogue_id"])
    if unknown := sorted(set(extra["dialogue_id"]) - known):
        return CoverageError(
            f"dialogue {few(unknown, 3)} not in {gold.id}",
            file=file,
            expected=f"ids such as {min(known, default='(none)')}",
            got=f"ids such as {unknown[0][:60]}",
            mend="score against the corpus and split that the predictions were made on",
        )
    first = extra.sort_values(_TURN).iloc[0]
    n = int((gold.turns["dialogue_id"] == first["dialogue_id"]).sum())
    own = predictions.turns.loc[predictions.turns["dialogue_id"] == first["dialogue_id"], "turn"]
    from_1 = own.min() == 1 and own.max() == n
    return CoverageError(
        "too many turns",
        file=file,
        dialogue=first["dialogue_id"],
        turn=int(first["turn"]),
        expected=f"{n} turns, 0 to {n - 1}, as in {gold.id}",
        got=f"{len(own)}, up to turn {own.max()}",
        mend="turns count from 0: take 1 off every number" if from_1 else None,
    )


def _dialogues(ids: Sequence[str], state: str) -> str:
    return f"{len(ids):,} dialogue{'s' * (len(ids) > 1)}{state}: {few(ids, 3)}" if ids else ""


# Gold versions ------------------------------------------------------------------------------------

#: Domains that DSTC9's scorer leaves out of MultiWOZ-zh: police, hospital, bus.
_DSTC9_LEFT_OUT = ("警察机关", "医院", "公共汽车")
#: Domains of MultiWOZ; of the first five, TRADE and its successors count 30 slots.
ENGLISH_MULTIWOZ = frozenset(
    {"attraction", "hotel", "restaurant", "taxi", "train", "bus", "hospital", "police"}
)


def annotated(corpus: Corpus) -> Corpus:
    """The states as annotated; alternatives where a filled slot has several acceptable values."""
    offered = corpus.family == "crosswoz"
    return replace(corpus, alternatives=corpus.alternatives[:0]) if offered else corpus


def dstc9(corpus: Corpus) -> Corpus:
    """DSTC9's gold: any offered name is right where none is stated; some domains are left out."""
    if (not len(corpus.layouts) or "slots" in corpus.cautions) and corpus.family != "pairs":
        raise UsageError(
            f"{corpus.id} does not say which slots are annotated, which DSTC9's scorer needs",
            mend="score against the corpus itself, such as crosswoz_en or multiwoz_zh",
        )
    firsts = corpus.alternatives.drop_duplicates(_PLACE)
    return _without_domains(corpus, firsts, corpus.alternatives)


def dstc9_corrected(corpus: Corpus) -> Corpus:
    """The organisers' later gold: a name that is not stated is the one entity offered before."""
    if corpus.family != "crosswoz":
        raise UsageError(
            f"{corpus.id} has no corrected names",
            mend="protocol dstc9-corrected is for crosswoz and crosswoz_en",
        )
    return _without_domains(corpus, corpus.corrections, corpus.alternatives[:0])


def _without_domains(corpus: Corpus, names: pd.DataFrame, alternatives: pd.DataFrame) -> Corpus:
    states = pd.concat([corpus.states, names], ignore_index=True)
    kept = [t[~t["domain"].isin(_DSTC9_LEFT_OUT)] for t in (states, alternatives, corpus.layouts)]
    return replace(corpus, states=kept[0], alternatives=kept[1], layouts=kept[2])


def mwzeval(corpus: Corpus) -> Corpus:
    """One value a slot, and none that says that anything will do: so MultiWOZ_Evaluation reads its gold."""
    states = normalize_states(corpus.states, ("none:drop", "dontcare:drop"))
    return replace(corpus, states=states, alternatives=corpus.alternatives[:0])


def bars(corpus: Corpus) -> Corpus:
    """The states as annotated, where any part of ``a|b`` matches any; all slots that gold lists."""
    listed = corpus.turns["layout"].map(corpus.layouts.groupby("layout").size()).sum()
    # A corpus that lists no slot without a value says nothing about empty slots: its ontology does.
    # (What a file's own gold lists is all there is; a schema lists slots, but no state does.)
    fills_all = corpus.family != "pairs" and listed == len(corpus.states.drop_duplicates(_PLACE))
    if fills_all or corpus.family == "schema_guided":
        known = pd.concat([corpus.layouts[_SLOT], corpus.ontology[_SLOT], corpus.states[_SLOT]])
        corpus = replace(corpus, layouts=_everywhere(corpus, known))
    return annotated(corpus)


def frames(corpus: Corpus) -> Corpus:
    """The states of the services that a turn has; free text may be said in any of the ways listed."""
    if not len(corpus.schema):
        raise UsageError(
            f"{corpus.id} has no schema, which says what slots a service has and which are categorical",
            mend="protocol sgd is for the schema-guided format, with schema.json beside the dialogues",
        )
    free = corpus.schema.loc[corpus.schema["kind"] == "free", _SLOT]
    return replace(corpus, alternatives=corpus.alternatives.merge(free, on=_SLOT))


#: Gold versions by the name that signatures use: the corpus with what counts as right under each.
GOLDS: dict[str, Callable[[Corpus], Corpus]] = {
    "annotated": annotated,
    "dstc9": dstc9,
    "dstc9-corrected": dstc9_corrected,
    "bars": bars,
    "mwzeval": mwzeval,
    "frames": frames,
}


def gold_of(corpus: Corpus, version: str, steps: tuple[str, ...]) -> Corpus:
    """Return a gold version with its values normalised."""
    gold, steps = GOLDS[version](corpus), own_steps(steps, corpus.family)
    states, alternatives = (normalize_states(t, steps) for t in (gold.states, gold.alternatives))
    return replace(gold, states=states, alternatives=alternatives)


def in_version(corpus: Corpus, version: str) -> Corpus:
    """Return the corpus with the states of a gold version; of several acceptable values the first."""
    # The others say what is compared and how; their states are those of the annotation.
    own_states = version.startswith("dstc9") or version == "mwzeval"
    return replace(corpus, states=GOLDS[version](corpus).states) if own_states else corpus


def ontology_size(corpus: Corpus) -> int:
    """Return the number of slots for TRADE's slot accuracy."""
    slots = corpus.layouts[_SLOT].drop_duplicates()
    domains = {*slots["domain"], *corpus.states["domain"].unique()}
    return 30 if domains and domains <= ENGLISH_MULTIWOZ else len(slots)


def lay_out(corpus: Corpus) -> Corpus:
    """Give a corpus that does not say which slots there are those of its ontology and gold states."""
    if len(corpus.layouts) or corpus.family == "pairs":
        return corpus
    known = pd.concat([corpus.ontology[_SLOT], corpus.states[_SLOT]]).drop_duplicates()
    cautions = dict(corpus.cautions)
    if not len(corpus.ontology):
        taken = f"the {len(known):,} slots that occur in its gold states are taken for all there are"
        cautions["slots"] = (f"{corpus.id} does not say which slots there are: {taken}",)
    return replace(corpus, layouts=_everywhere(corpus, known), cautions=cautions)


def _everywhere(corpus: Corpus, slots: pd.DataFrame) -> pd.DataFrame:
    """Make all slots known in every turn."""
    numbers = corpus.turns[["layout"]].drop_duplicates()
    return numbers.merge(slots.drop_duplicates(), how="cross")[["layout", *_SLOT]]


# States -------------------------------------------------------------------------------------------


def normalize_pair(pair: StatePair, steps: tuple[str, ...]) -> StatePair:
    """Run the steps on both sides of a pair, once on each distinct value of a slot."""
    n_values = max(len(pair.values), 1)
    both = np.concatenate([side.key % pair.stride for side in (pair.gold, pair.pred)])
    codes, cells = pd.factorize(both, sort=True)
    table = pair.slots.take(cells // n_values).assign(value=pair.values[cells % n_values])
    table = normalize_states(table.assign(cell=np.arange(len(cells))), steps)
    slot, slots = pd.factorize(pd.MultiIndex.from_frame(table[_SLOT]))
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
        slots=slots.to_frame(index=False, name=_SLOT),
        values=np.asarray(values, dtype=object),
    )


def state_pair(
    corpus: Corpus, predictions: Predictions, protocol: Protocol, coverage: Coverage
) -> tuple[StatePair, list[str]]:
    """Code both sides, normalise them by the protocol's steps and leave what it compares."""
    gold, turns = GOLDS[protocol.gold](corpus), coverage.turns
    steps = own_steps(protocol.steps, corpus.family)
    if protocol.gold.startswith("dstc9") and predictions.format == "dstc9":
        _require_all_slots(predictions, turns, gold.layouts)
    raw = pair_states(turns, gold.states, _part(predictions, "states", protocol), ontology_size(corpus))
    pair = normalize_pair(raw, steps)
    layouts = _renamed(gold.layouts, [s for s in steps if s.startswith("slots:")])
    said = _foreign_slots(corpus, pair, layouts)
    of_layout, number = layouts.groupby("layout"), turns["layout"]
    if protocol.compare == "annotated-slots":
        pair = _listed(pair, number.to_numpy(), layouts)
        pair = replace(pair, n_slots=number.map(of_layout.size()).fillna(0).to_numpy(dtype="int64"))
    alternatives = normalize_states(gold.alternatives, steps)
    if len(alternatives) or protocol.gold == "bars":
        pair = _accept(pair, turns, alternatives, parts=protocol.gold == "bars")
    if protocol.gold == "frames":
        services = number.map(of_layout["domain"].nunique()).fillna(0).to_numpy(dtype="int64")
        schema = Schema(services, corpus.schema[corpus.schema["kind"] == "free"], alternatives)
        pair = replace(pair, schema=schema)
    return pair, [*said, *_none_values(pair), *_gold_notes(corpus, layouts, protocol, pair, turns)]


def _part(predictions: Predictions, kind: str, protocol: Protocol) -> pd.DataFrame:
    table = getattr(predictions, kind)
    if table is None:
        other = "states, such as lin2021" if kind == "responses" else "responses, such as lai2019"
        problem = (
            f"{predictions.path or predictions.name} holds no {kind}, which protocol {protocol.name} scores"
        )
        raise UsageError(problem, mend=f"choose a protocol for {other}")
    return table


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


def _renamed(layouts: pd.DataFrame, steps: list[str]) -> pd.DataFrame:
    named = normalize_states(layouts.assign(value="?"), steps) if steps else layouts
    return named[["layout", *_SLOT]].drop_duplicates(ignore_index=True)


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
        part = pd.Series(pair.values, dtype="str").str.split("|").explode().rename("part")
        part = part[part != ""].to_frame()
        said, right = (t.join(part, on="value", how="inner") for t in (said, pd.concat([right, gold])))
    same = ["place", "part" if parts else "value"]
    hits = said[["row", *same]].merge(right[same].drop_duplicates(), on=same).drop_duplicates("row")
    hits = hits[hits["place"].isin(firsts.index)]
    key = pair.pred.key.copy()
    rows = hits["row"].to_numpy()
    key[rows] += firsts.reindex(hits["place"]).to_numpy(dtype="int64") - pair.pred.value[rows]
    return replace(pair, pred=replace(pair.pred, key=distinct(key)))


def _foreign_slots(corpus: Corpus, pair: StatePair, layouts: pd.DataFrame) -> list[str]:
    """Name predicted slots that gold does not have: naming alone makes a score low."""
    slots = list(pair.slots.itertuples(index=False, name=None))
    known = {*layouts[_SLOT].itertuples(index=False, name=None)}
    known |= {slots[code] for code in pd.unique(pair.gold.slot)}
    counts = np.bincount(pair.pred.slot, minlength=len(slots)).tolist()
    foreign = {slot: n for slot, n in zip(slots, counts, strict=True) if n and slot not in known}
    if not foreign:
        return []
    reach = {}
    for step in ("slots:plain", "slots:multiwoz22"):
        names = {(domain, normalize_slot(domain, slot, [step])) for domain, slot in known}
        reach[step] = sum(n for (d, s), n in foreign.items() if (d, normalize_slot(d, s, [step])) in names)
    helpful = sorted((step for step in reach if reach[step]), key=lambda step: -reach[step])
    out = "no step for slot names maps them, an alignment may (--align)"
    if helpful:
        mapped = ", ".join(f"{step} {reach[step]:,}" for step in helpful)
        out = f"of these the steps for slot names map to slots that it has: {mapped} (--steps {helpful[0]})"
    named = _counted({f"{domain}-{slot}": n for (domain, slot), n in foreign.items()})
    return [
        f"{sum(foreign.values()):,} of {sum(counts):,} predicted values stand in {len(foreign)} slots that "
        f"{_whose(corpus)} does not have: {named}; {out}"
    ]


def _counted(counts: Mapping[str, int]) -> str:
    """Name the most frequent of several things, each with its number."""
    most = sorted(counts, key=lambda name: (-counts[name], name))
    return few([f"{name[:80]} ×{counts[name]:,}" for name in most], width=100)


def _whose(corpus: Corpus) -> str:
    return "the file's own gold" if corpus.family == "pairs" else corpus.id


def _none_values(pair: StatePair) -> list[str]:
    is_none = np.array([v.strip().lower() in ("none", *NOT_FILLED) for v in pair.values], dtype=bool)
    gold, none = (int(is_none[side.value].sum()) for side in (pair.gold, pair.pred))
    if none <= 0.05 * max(len(pair.pred.key), 1):
        return []
    return [
        f"{none:,} predicted values are 'none' or empty (gold: {gold:,}), which this protocol takes for values; "
        "with the step none:drop they are empty slots (--steps none:drop)"
    ]


def _gold_notes(
    corpus: Corpus, layouts: pd.DataFrame, protocol: Protocol, pair: StatePair, turns: pd.DataFrame
) -> list[str]:
    """Note where gold is not what the protocol takes it for."""
    said = []
    if not len(pair.gold.key):
        said.append(f"no turn of {_whose(corpus)} has a filled slot: its states are empty or not annotated")
    if "map:dstc9" in own_steps(protocol.steps, corpus.family):
        said.append(
            "of which corpus the gold is cannot be told, and so of DSTC9's tables of values only none → empty "
            "applies; the steps map:dstc9-crosswoz and map:dstc9-multiwoz are the two tables"
        )
    compared = protocol.compare == "annotated-slots"
    if not compared:
        if not any(m.counts is count_slot_errors for m in protocol.resolve_metrics()):
            return said
        if len(layouts) and set(layouts["domain"]) <= ENGLISH_MULTIWOZ:
            return said  # slot accuracy divides by 30, as published
    if corpus.family != "pairs":
        return [*said, *corpus.cautions.get("slots", ())]
    if turns["layout"].map(layouts.groupby("layout").size()).sum() <= len(pair.gold.key):
        taken = f"these {len(layouts[_SLOT].drop_duplicates()):,} are taken for all there are"
        taken = "what is predicted in other slots is not looked at" if compared else taken
        said.append(f"the file's own gold lists filled slots only: {taken}")
    return said


# Texts --------------------------------------------------------------------------------------------

_HAN = re.compile("[\u3400-\u9fff]")


def text_pair(
    gold: Corpus, predictions: Predictions, protocol: Protocol, coverage: Coverage
) -> tuple[TextPair, list[str]]:
    """Normalise references and responses by the protocol's steps."""
    turns, given = coverage.turns, _part(predictions, "responses", protocol)
    references = gold.turns
    if gold.family != "pairs" and protocol.references == "delexicalized":
        case = "lower" if "case:lower" in protocol.text_steps else "keep"
        references = _delexicalized(gold, case).rename(columns={"response": "system"})
    reference, said = normalize_texts(_texts(references, "system", turns), protocol.text_steps, "references")
    response, heard = normalize_texts(_texts(given, "response", turns), protocol.text_steps, "responses")
    order = turn_rows(predictions.turns, turns)
    # What the file lacks comes last.
    order = np.where(order < 0, len(predictions.turns), order)
    ids, numbers = (turns[column].tolist() for column in _TURN)
    pair = TextPair(ids, numbers, reference, response, protocol.tokenizer, order.tolist())
    goals = any(m.key.startswith("goal_") for m in protocol.resolve_metrics())
    said += [*heard, *_unspaced(response, protocol.tokenizer), *_other_kind(reference, response, goals)]
    return pair, [*said, *_empty(reference)]


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


def _empty(references: Sequence[str]) -> list[str]:
    """Say so when references say nothing, as after a user's last word."""
    lacking, whole = sum(not text.strip() for text in references), len(references)
    if lacking and lacking == whole:
        return ["all references are empty: what compares a response with its reference is 0 for that reason"]
    said = f"{lacking:,} of {whole:,} references are empty: no response can be like them"
    return [said] if lacking else []


def _other_kind(references: Sequence[str], responses: Sequence[str], goals: bool) -> list[str]:
    """Say so when the two sides are not the same kind of text."""
    from dialogeval.placeholders import canonical_names, names_pattern

    name = names_pattern(canonical_names())
    marked, glued = {}, {}
    for side, texts in (("references", references), ("responses", responses)):
        # Each distinct text is looked at once: references and systems repeat themselves.
        times = pd.Series(texts, dtype="str").value_counts()
        marked[side] = float(times[[bool(name.search(t)) for t in times.index]].sum() / max(len(texts), 1))
        marks = [times.index.str.count(p) @ times for p in (r"\w[.,?!](?:\s|$)", r"\s[.,?!](?:\s|$)")]
        glued[side] = float(marks[0] / max(sum(marks), 1))
    lines = []
    if goals and not marked["references"]:
        lines.append("no reference holds a slot placeholder: the goal scores are 0 for that reason")
    plain, full = sorted(marked, key=lambda side: marked[side])
    if marked[plain] < 0.02 and marked[full] > 0.2:
        way_out = "; --delexicalize marks their values, protocol lexical compares real ones"
        lines.append(
            f"the {plain} hold hardly any slot placeholders ({marked[plain]:.1%} of turns) while the other side "
            f"does ({marked[full]:.1%}): one side is delexicalised and the other is not"
            + way_out
            * (plain == "responses")
        )
    side = max(glued, key=lambda s: glued[s])
    if abs(glued["references"] - glued["responses"]) > 0.5:
        lines.append(
            f"the {side} attach punctuation to words ({glued[side]:.0%} of the marks) and the other side does not: "
            "tokens split on white space then differ for no other reason; tokeniser 13a splits the marks of both "
            "sides off (--tokenizer 13a)"
        )
    return lines


def _unspaced(responses: Sequence[str], tokenizer: str) -> list[str]:
    """Say so when white space is taken for the end of a word in text that has none."""
    han, words = sum(len(_HAN.findall(t)) for t in responses), sum(len(t.split()) for t in responses)
    if tokenizer not in ("space", "13a") or han <= 3 * max(words, 1):
        return []
    return [
        f"the responses are written without spaces ({han:,} Chinese characters in {words:,} white-space tokens): "
        f"tokeniser {tokenizer} takes whole utterances for words; choose zh or char (--tokenizer zh)",
    ]


# Inform and Success -------------------------------------------------------------------------------

#: How states and goals are written, whatever else the protocol does to slots and values.
_STEPS = ("slots:mwzeval", "values:mwzeval")
#: Domains of MultiWOZ without a database.
_OTHER_DOMAINS = ("taxi", "police", "hospital", "bus")
#: Slots of bookings and of domains without a database, which constrain no entry.
_OTHER_SLOTS = frozenset({"leave", "arrive", "departure", "destination", "department", "ticket", "people"})
_OTHER_SLOTS |= {"day", "stay", "time", "bookpeople", "bookday", "bookstay", "booktime"}


def task_pair(
    gold: Corpus, predictions: Predictions, protocol: Protocol, coverage: Coverage
) -> tuple[TaskPair, list[str]]:
    """Gather and normalise what the rules of Inform and Success look at."""
    turns, given = coverage.turns[_TURN], _part(predictions, "responses", protocol)
    if not len(gold.goals):
        problem = f"{gold.id} has no user goals, which Inform and Success need"
        raise UsageError(problem, mend="choose another protocol for responses, such as lai2019")
    database = load_database(gold)
    wanted = set(gold.goals["domain"].unique())
    if lacking := [d for d in DOMAINS if d in wanted and d not in database.tables]:
        # Every such dialogue would fail.
        problem = f"the goals of {gold.id} need the venue database of {' and '.join(lacking)}"
        files = ", ".join(f"{d}_db.json" for d in lacking)
        raise UsageError(problem, mend=f"put {files} beside the others")
    texts, unreadable = mark_placeholders(_texts(given, "response", turns))
    states, source, said = predictions.states, "predicted", []
    if states is None:
        # In a predicted state "none" is a value, in a gold state it is not.
        states, source = in_version(gold, "mwzeval").states, "gold"
        said.append(
            "no states are predicted: Inform and Success use the gold states, which a system that predicts "
            "its own does not have"
        )
    if predictions.active_domains is None:
        said.append(f"no active domains are predicted: they are estimated from the {source} states")
    here = turns["dialogue_id"].unique()

    def scored(table: pd.DataFrame) -> pd.DataFrame:
        return table[table["dialogue_id"].isin(here)]

    steps = (*(s for s in protocol.steps if s.startswith("slots:")), *_STEPS)
    active = predictions.active_domains
    ids, numbers = (turns[column].tolist() for column in _TURN)
    pair = TaskPair(
        ids,
        numbers,
        texts,
        normalize_states(scored(states), steps),
        None if active is None else scored(active),
        normalize_states(scored(gold.goals), steps),
        scored(gold.bookings),
        database,
        source,
    )
    said += [*_without_effect(pair, wanted), *unreadable, *database.notes]
    return pair, [
        *said,
        *_goal_notes(pair, here, len(gold.bookings) > 0),
        *_state_notes(pair.states, database),
    ]


def _without_effect(pair: TaskPair, wanted: set[str]) -> list[str]:
    """Count predicted active domains that no goal has: offers made under them are never looked at."""
    if pair.active is None:
        return []
    # Acts of no particular domain are called general and booking.
    domains = pair.active["domain"]
    counts = domains[~domains.isin([*wanted, "general", "booking"])].value_counts().to_dict()
    said = f"{sum(counts.values()):,} predicted active domains are none of the goals' and have no effect"
    return [f"{said}: {_counted(counts)}"] if counts else []


def _goal_notes(pair: TaskPair, dialogues: Sequence[str], booked: bool) -> list[str]:
    said = []
    aimed = set(pair.goals["dialogue_id"])
    if without := [i for i in dialogues if i not in aimed]:
        few_of = few(without)
        said.append(
            f"{len(without):,} dialogues have no goal and do not count for Inform and Success: {few_of}"
        )
    asked = (pair.goals["kind"] == "book") | pair.goals["slot"].isin(("ref", "reference"))
    if not booked and asked.any():
        said.append(
            f"the corpus does not say what was booked: in {pair.goals.loc[asked, 'dialogue_id'].nunique():,} "
            "dialogues whose goal has a booking no reference number counts as provided, and Success fails"
        )
    return said


def _state_notes(states: pd.DataFrame, database: Database) -> list[str]:
    """Count what stands in domains and slots that nobody knows, and times that cannot be read."""
    known = {d: {*table.columns, *_OTHER_SLOTS} for d, table in database.tables.items()}
    known |= {d: set(_OTHER_SLOTS) for d in _OTHER_DOMAINS}
    unknown: dict[str, Counter[str]] = {"domains": Counter(), "slots": Counter()}
    for (domain, slot), number in states.groupby(_SLOT, sort=False).size().items():
        if domain not in known:
            unknown["domains"][domain] += number
        elif slot not in known[domain]:
            unknown["slots"][f"{domain}-{slot}"] += number
    said = [
        f"{counts.total():,} values of states stand in unknown {what} and constrain nothing: {_counted(counts)}"
        for what, counts in unknown.items()
        if counts
    ]
    times = states.loc[states["slot"].isin(["arrive", "leave"]) & (states["domain"] == "train"), "value"]
    counts = times.value_counts().to_dict()
    bad = {f"'{v}'": n for v, n in counts.items() if minutes(v) is None and v not in NO_CONSTRAINT}
    if bad:
        said.append(
            f"{sum(bad.values()):,} times of states cannot be read and count as 00:00: {_counted(bad)}"
        )
    return said


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

"""Pairing: which scores of a protocol the two sides can give, and what these scores compare.

In: metrics, a corpus and predictions. Out: the metrics that can be scored, and for each task (states,
texts, whole tasks) gold and prediction side by side.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter, OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from dialogeval.exceptions import CoverageError, Remark, UnknownNameError, UsageError, few, plain
from dialogeval.metrics import Metric, TextPair
from dialogeval.metrics.states import Schema, StatePair, contains, count_slot_errors, distinct, pair_states
from dialogeval.metrics.task import DOMAINS, Database, TaskPair, load_database
from dialogeval.mwzeval import NO_CONSTRAINT, mark_placeholders, minutes, normalize_responses
from dialogeval.normalize import NOT_FILLED, normalize_slot, normalize_states, own_steps
from dialogeval.protocols import MISSING, Protocol, check_text_steps
from dialogeval.tables import Corpus, Predictions


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
    have = predictions.turns[["dialogue_id", "turn"]]
    turns = gold.turns[["dialogue_id", "turn", "layout"]]
    here, there, order, codes = _match(turns, have)
    file = predictions.path or predictions.name
    extra = have[~there]
    if len(extra):
        known = set(gold.turns["dialogue_id"])
        extra = extra.sort_values(["dialogue_id", "turn"])
        ids = extra["dialogue_id"].drop_duplicates()
        unknown = [i for i in ids if i not in known]
        if unknown:
            raise _unknown_dialogues(gold, predictions, unknown, known, file)
        first = extra.iloc[0]["dialogue_id"]
        n = int((turns["dialogue_id"] == first).sum())
        own = have.loc[have["dialogue_id"] == first, "turn"]
        more = f" (so have {len(ids) - 1:,} more dialogues)" if len(ids) > 1 else ""
        mend = "turns count from 0: take 1 off every number" if own.min() == 1 and own.max() == n else None
        raise CoverageError(
            f"too many turns{more}",
            file=file,
            dialogue=first,
            turn=int(extra.iloc[0]["turn"]),
            expected=f"{n} turns, 0 to {n - 1}, as in {gold.id}",
            got=f"{len(own)}, up to turn {own.max()}",
            mend=mend,
        )
    warnings = []
    if not here.all():
        lacking = turns[~here].sort_values(["dialogue_id", "turn"])
        got_some = set(have["dialogue_id"])
        whole = [i for i in lacking["dialogue_id"].drop_duplicates() if i not in got_some]
        short = [i for i in lacking["dialogue_id"].drop_duplicates() if i in got_some]
        what = _and(
            [_list("dialogue", whole, "missing"), _list("dialogue", short, "short of turns")],
        )
        if missing == "error":
            first = lacking.iloc[0]
            raise CoverageError(
                f"{len(lacking):,} of {len(turns):,} turns of {gold.id} have no prediction ({what})",
                file=file,
                mend='add them, or choose missing="skip" (--missing skip: leave them out) or "empty" (score them as empty)',
            )
        done, other = "left out", '"empty" scores them as empty'
        if missing == "empty":
            done, other = "scored as predicted empty", '"skip" leaves them out'
        warnings.append(
            f"{len(lacking):,} of {len(turns):,} turns have no prediction and were {done} ({what}); "
            f"missing={other}"
        )
    if missing == "skip":
        order = order[here[order]]
    scored = turns.assign(predicted=here).take(order).reset_index(drop=True)
    return Coverage(
        turns=scored,
        dialogues_scored=len(pd.unique(codes[order])),
        dialogues_in_corpus=len(pd.unique(codes)),
        turns_scored=len(scored),
        turns_in_corpus=len(turns),
        warnings=tuple(warnings),
    )


def _match(turns: pd.DataFrame, have: pd.DataFrame) -> tuple[np.ndarray, ...]:
    """Tell which turns of each side the other has, the order of the corpus's turns, and its dialogues'
    codes."""
    both = pd.concat([turns["dialogue_id"], have["dialogue_id"]], ignore_index=True)
    codes = pd.factorize(both, sort=True)[0].astype("int64")
    number = np.concatenate([turns["turn"].to_numpy(), have["turn"].to_numpy()])
    keys = codes * (int(number.max(initial=0)) + 1) + number
    ours, theirs = keys[: len(turns)], keys[len(turns) :]
    order = np.argsort(ours, kind="stable")
    return contains(distinct(theirs), ours), contains(ours[order], theirs), order, codes[: len(turns)]


def _unknown_dialogues(
    gold: Corpus, predictions: Predictions, unknown: list[str], known: set[str], file: str
) -> CoverageError:
    if len(unknown) == predictions.turns["dialogue_id"].nunique():
        return CoverageError(
            f"none of the {len(unknown):,} dialogues is in {gold.id}",
            file=file,
            expected=f"ids such as {min(known, default='(none)')}",
            got=f"ids such as {unknown[0][:60]}",
            mend="score against the corpus and split that the predictions were made on",
        )
    return CoverageError(
        f"{_list('dialogue', unknown, '')} not in {gold.id}".replace("  ", " "),
        file=file,
        mend="remove them, or choose the right corpus and split",
    )


def _list(what: str, ids: Sequence[str], state: str) -> str:
    if not ids:
        return ""
    shown = ", ".join(i[:40] for i in ids[:3]) + (", …" if len(ids) > 3 else "")
    return f"{len(ids):,} {what}{'s' * (len(ids) > 1)} {state}: {shown}" if state else f"{what} {shown}"


def _and(parts: Sequence[str]) -> str:
    return "; ".join(p for p in parts if p)


_WHERE = ["dialogue_id", "turn", "domain", "slot"]
_SLOT = ["domain", "slot"]
#: Domains that DSTC9's scorer leaves out of MultiWOZ-zh: police, hospital, bus.
_DSTC9_LEFT_OUT = ("警察机关", "医院", "公共汽车")
#: Domains of MultiWOZ with the 30 slots that TRADE and its successors count.
_TRADE_DOMAINS = frozenset({"attraction", "hotel", "restaurant", "taxi", "train"})
ENGLISH_MULTIWOZ = _TRADE_DOMAINS | {"bus", "hospital", "police"}


@dataclass(frozen=True)
class Gold:
    """What counts as right."""

    states: pd.DataFrame
    alternatives: pd.DataFrame
    layouts: pd.DataFrame
    parts: bool = False


def annotated(corpus: Corpus) -> Gold:
    """The states as annotated; alternatives where a filled slot has several acceptable values."""
    offered = corpus.family == "crosswoz"
    return Gold(corpus.states, corpus.alternatives[:0] if offered else corpus.alternatives, corpus.layouts)


def dstc9(corpus: Corpus) -> Gold:
    """DSTC9's gold: any offered name is right where none is stated; some domains are left out."""
    # A file's own gold says it by what it annotates, which in a piece of the file may be nothing.
    known = len(corpus.layouts) and "slots" not in corpus.cautions
    if not known and corpus.family != "pairs":
        raise UsageError(
            f"{corpus.id} does not say which slots are annotated, which DSTC9's scorer needs",
            mend="score against the corpus itself, such as crosswoz_en or multiwoz_zh",
        )
    firsts = corpus.alternatives.drop_duplicates(_WHERE)
    states = pd.concat([corpus.states, firsts], ignore_index=True)
    return _without_domains(Gold(states, corpus.alternatives, corpus.layouts))


def dstc9_corrected(corpus: Corpus) -> Gold:
    """The organisers' later gold: a name that is not stated is the one entity offered before."""
    if corpus.family != "crosswoz":
        raise UsageError(
            f"{corpus.id} has no corrected names",
            mend="protocol dstc9-corrected is for crosswoz and crosswoz_en",
        )
    states = pd.concat([corpus.states, corpus.corrections], ignore_index=True)
    return _without_domains(Gold(states, corpus.alternatives[:0], corpus.layouts))


def mwzeval(corpus: Corpus) -> Gold:
    """One value a slot, and none that says that anything will do: so MultiWOZ_Evaluation reads its gold."""
    states = normalize_states(corpus.states, ("none:drop", "dontcare:drop"))
    return Gold(states, corpus.alternatives[:0], corpus.layouts)


def bars(corpus: Corpus) -> Gold:
    """The states as annotated, where any part of ``a|b`` matches any; all slots that gold lists."""
    plain = annotated(corpus)
    alternatives = pd.concat([_split(corpus.states), plain.alternatives], ignore_index=True)
    layouts = plain.layouts
    listed = corpus.turns["layout"].map(layouts.groupby("layout").size()).sum()
    # A corpus that lists no slot without a value says nothing about empty slots: its ontology does.
    # (What a file's own gold lists is all there is; a schema lists slots, but no state does.)
    fills_all = listed == len(corpus.states.drop_duplicates(_WHERE)) and corpus.family != "pairs"
    if fills_all or corpus.family == "schema_guided":
        known = pd.concat([layouts[_SLOT], corpus.ontology[_SLOT], corpus.states[_SLOT]])
        layouts = _everywhere(corpus, known)
    return Gold(plain.states, alternatives, layouts, parts=True)


def frames(corpus: Corpus) -> Gold:
    """The states of the services that a turn has; free text may be said in any of the ways listed."""
    if not len(corpus.schema):
        raise UsageError(
            f"{corpus.id} has no schema, which says what slots a service has and which are categorical",
            mend="protocol sgd is for the schema-guided format, with schema.json beside the dialogues",
        )
    free = corpus.schema.loc[corpus.schema["kind"] == "free", _SLOT]
    states, others = (
        in_layout(f, corpus.turns, corpus.layouts) for f in (corpus.states, corpus.alternatives)
    )
    return Gold(states, others.merge(free, on=_SLOT), corpus.layouts)


#: Gold versions by the name that signatures use.
GOLDS: dict[str, Callable[[Corpus], Gold]] = {
    "annotated": annotated,
    "dstc9": dstc9,
    "dstc9-corrected": dstc9_corrected,
    "bars": bars,
    "mwzeval": mwzeval,
    "frames": frames,
}


def gold_of(corpus: Corpus, version: str, steps: tuple[str, ...]) -> Gold:
    """Return a gold version with its values normalised."""
    gold, steps = GOLDS[version](corpus), own_steps(steps, corpus.family)
    return replace(
        gold,
        states=normalize_states(gold.states, steps),
        alternatives=normalize_states(gold.alternatives, steps)
        if len(gold.alternatives)
        else gold.alternatives,
        layouts=_rename_slots(gold.layouts, [s for s in steps if s.startswith("slots:")]),
    )


def in_version(corpus: Corpus, version: str) -> Corpus:
    """Return the corpus with the states of a gold version; of several acceptable values the first."""
    # The others say what is compared and how; their states are those of the annotation.
    own_states = version.startswith("dstc9") or version == "mwzeval"
    return replace(corpus, states=GOLDS[version](corpus).states) if own_states else corpus


def accept_alternatives(gold: Gold, predicted: pd.DataFrame) -> pd.DataFrame:
    """Replace a predicted value by the first gold value of its slot where it is an alternative of that."""
    if not len(gold.alternatives):
        return predicted
    firsts = gold.states.drop_duplicates(_WHERE).rename(columns={"value": "first"})
    accepted = gold.alternatives.merge(firsts, on=_WHERE).drop_duplicates([*_WHERE, "value"])
    said = predicted.assign(row=range(len(predicted)))
    said = _split(said) if gold.parts else said
    hits = said.merge(accepted, on=[*_WHERE, "value"]).drop_duplicates("row").set_index("row")["first"]
    value = predicted["value"].reset_index(drop=True)
    value.update(hits)
    return predicted.assign(value=value.to_numpy())


def ontology_size(corpus: Corpus) -> int:
    """Return the number of slots for TRADE's slot accuracy."""
    slots = corpus.layouts[_SLOT].drop_duplicates()
    domains = set(slots["domain"]) | set(corpus.states["domain"].unique())
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


def in_layout(states: pd.DataFrame, turns: pd.DataFrame, layouts: pd.DataFrame) -> pd.DataFrame:
    """Keep the rows whose slot the gold's annotation of that turn knows, filled or not."""
    located = states.merge(turns[["dialogue_id", "turn", "layout"]], on=["dialogue_id", "turn"])
    return located.merge(layouts, on=["layout", "domain", "slot"]).drop(columns="layout")


def _everywhere(corpus: Corpus, slots: pd.DataFrame) -> pd.DataFrame:
    """Make all slots known in every turn."""
    numbers = corpus.turns[["layout"]].drop_duplicates()
    return numbers.merge(slots.drop_duplicates(), how="cross")[["layout", *_SLOT]]


def _split(states: pd.DataFrame) -> pd.DataFrame:
    """Make a row of each part of a value ``a|b``."""
    parts = states.assign(value=states["value"].str.split("|")).explode("value", ignore_index=True)
    return parts.astype({"value": "str"})


def _rename_slots(layouts: pd.DataFrame, steps: list[str]) -> pd.DataFrame:
    if not steps:
        return layouts
    named = normalize_states(layouts.assign(value="?"), steps)[["layout", "domain", "slot"]]
    return named.drop_duplicates(ignore_index=True)


def _without_domains(gold: Gold) -> Gold:
    def keep(frame: pd.DataFrame) -> pd.DataFrame:
        return frame[~frame["domain"].isin(_DSTC9_LEFT_OUT)].reset_index(drop=True)

    return replace(
        gold, states=keep(gold.states), alternatives=keep(gold.alternatives), layouts=keep(gold.layouts)
    )


_SLOT_of_pairing_states = ["domain", "slot"]


def state_pair(
    corpus: Corpus, predictions: Predictions, protocol: Protocol, coverage: Coverage
) -> tuple[StatePair, list[Remark]]:
    """Normalise both sides by the protocol's steps and code them."""
    if predictions.states is None:
        raise UsageError(
            f"{predictions.path or predictions.name} holds no states, which protocol {protocol.name} scores",
            mend="choose a protocol for responses, such as lai2019",
        )
    gold = gold_of(corpus, protocol.gold, protocol.steps)
    turns = coverage.turns
    if protocol.gold.startswith("dstc9") and predictions.format == "dstc9":
        _require_all_slots(predictions, turns, gold.layouts)
    predicted = normalize_states(predictions.states, own_steps(protocol.steps, corpus.family))
    everywhere = predicted
    layouts, number = gold.layouts.groupby("layout"), turns["layout"]
    n_slots: Any
    if protocol.compare == "annotated-slots":
        predicted = in_layout(predicted, turns, gold.layouts)
        n_slots = number.map(layouts.size()).fillna(0).to_numpy(dtype="int64")
    else:
        n_slots = ontology_size(corpus)
    predicted = accept_alternatives(gold, predicted)
    schema = None
    if protocol.gold == "frames":
        services = number.map(layouts["domain"].nunique()).fillna(0).to_numpy(dtype="int64")
        schema = Schema(services, corpus.schema[corpus.schema["kind"] == "free"], gold.alternatives)
    pair = pair_states(turns, gold.states, predicted, n_slots, schema)
    counts = _slots_of(pair) if protocol.compare == "all" else _slots(everywhere)
    return pair, [*_remarks(corpus, gold, pair, counts), *_of_gold(corpus, gold, protocol, pair)]


def _require_all_slots(predictions: Predictions, turns: pd.DataFrame, layouts: pd.DataFrame) -> None:
    """Refuse a submission that leaves a slot out: DSTC9's format wants every slot, empty ones too."""
    assert predictions.states is not None
    wanted = turns[turns["predicted"]]
    here = in_layout(predictions.states[["dialogue_id", "turn", "domain", "slot"]], wanted, layouts)
    if len(here) == wanted["layout"].map(layouts.groupby("layout").size()).fillna(0).sum():
        return
    every = wanted.merge(layouts, on="layout")
    missing = every.merge(here, on=["dialogue_id", "turn", "domain", "slot"], how="left", indicator="side")
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


def _remarks(corpus: Corpus, gold: Gold, pair: StatePair, counts: pd.Series) -> list[Remark]:
    """Note what makes a score low for reasons of naming alone; ``counts``: predicted values by slot."""
    foreign: Any = counts
    facts: Counter[Any] = Counter({"all": int(counts.sum())})
    # One after the other: mostly nothing is left for the larger table.
    for known in (gold.layouts, gold.states):
        if len(foreign) or not len(gold.layouts):
            names = _slots(known).index
            facts.update({("known", *slot): 1 for slot in names})
            foreign = foreign[~foreign.index.isin(names)]
    facts.update({("foreign", *slot): int(n) for slot, n in foreign.items()})
    is_none = np.array([v.strip().lower() in ("none", *NOT_FILLED) for v in pair.values], dtype=bool)
    gold_none, none = (int(is_none[side.value].sum()) for side in (pair.gold, pair.pred))
    return [
        Remark(_say_foreign, facts, (_whose(corpus),)),
        Remark(_say_none, Counter({"gold": gold_none, "none": none, "all": len(pair.pred.key)})),
    ]


def _whose(corpus: Corpus) -> str:
    # Of a file's own gold only a part may be here; it has no name until all is read.
    return "the file's own gold" if corpus.family == "pairs" else corpus.id


def _say_foreign(facts: Counter[Any], whose: str) -> list[str]:
    known = {key[1:] for key in facts if key[0] == "known"}
    found = {key[1:]: n for key, n in facts.items() if key[0] == "foreign" and key[1:] not in known}
    if not found:
        return []
    most = sorted(found, key=lambda slot: (-found[slot], slot))
    named = few([f"{domain}-{slot} ×{found[domain, slot]:,}" for domain, slot in most], width=100)
    return [
        f"{sum(found.values()):,} of {facts['all']:,} predicted values stand in {len(found)} slots that "
        f"{whose} does not have: {named}; {_way_out(found, known)}"
    ]


def _way_out(found: dict[tuple[str, str], int], known: set[tuple[str, str]]) -> str:
    """Say how many of the foreign values each step for slot names brings into known slots."""
    reach = {}
    for step in ("slots:plain", "slots:multiwoz22"):
        names = {(domain, normalize_slot(domain, slot, [step])) for domain, slot in known}
        reach[step] = sum(n for (d, s), n in found.items() if (d, normalize_slot(d, s, [step])) in names)
    helpful = sorted((step for step in reach if reach[step]), key=lambda step: -reach[step])
    if not helpful:
        return "no step for slot names maps them, an alignment may (--align)"
    counts = ", ".join(f"{step} {reach[step]:,}" for step in helpful)
    return f"of these the steps for slot names map to slots that it has: {counts} (--steps {helpful[0]})"


def _say_none(facts: Counter[str]) -> list[str]:
    if facts["none"] <= 0.05 * max(facts["all"], 1):
        return []
    return [
        f"{facts['none']:,} predicted values are 'none' or empty (gold: {facts['gold']:,}), which this protocol "
        "takes for values; with the step none:drop they are empty slots (--steps none:drop)"
    ]


def _of_gold(corpus: Corpus, gold: Gold, protocol: Protocol, pair: StatePair) -> list[Remark]:
    """Note where gold is not what the protocol takes it for."""
    said = [Remark(_say_empty, Counter(n=len(pair.gold.key)), (_whose(corpus),))]
    if "map:dstc9" in own_steps(protocol.steps, corpus.family):
        said.append(
            plain(
                "of which corpus the gold is cannot be told, and so of DSTC9's tables of values only none → empty "
                "applies; the steps map:dstc9-crosswoz and map:dstc9-multiwoz are the two tables"
            )
        )
    annotated = protocol.compare == "annotated-slots"
    if annotated or any(m.counts is count_slot_errors for m in protocol.resolve_metrics()):
        facts: Counter[Any] = Counter(
            {tuple(slot): 1 for slot in gold.layouts[_SLOT_of_pairing_states].to_numpy().tolist()}
        )
        facts["empty"] = int(gold.layouts.groupby("layout").size().reindex(corpus.turns["layout"]).sum())
        facts["empty"] -= len(gold.states)
        about = (annotated, corpus.family == "pairs", corpus.cautions.get("slots", ()))
        said.append(Remark(_say_slots, facts, about))
    return said


def _say_empty(facts: Counter[str], whose: str) -> list[str]:
    if facts["n"]:
        return []
    return [f"no turn of {whose} has a filled slot: its states are empty or not annotated"]


def _say_slots(facts: Counter[Any], annotated: bool, own: bool, cautions: tuple[str, ...]) -> list[str]:
    """Say that the slots are those of the gold states, where nothing else names them."""
    slots = [key for key in facts if key != "empty"]
    if not annotated and slots and {domain for domain, _ in slots} <= ENGLISH_MULTIWOZ:
        return []  # slot accuracy divides by 30, as published
    if not own:
        return list(cautions)
    if facts["empty"] > 0:
        return []
    if not annotated:
        return [
            f"the file's own gold lists filled slots only: these {len(slots):,} are taken for all there are"
        ]
    return ["the file's own gold lists filled slots only: what is predicted in other slots is not looked at"]


def _slots_of(pair: StatePair) -> pd.Series:
    """Count predicted triples by (domain, slot)."""
    n = np.bincount(pair.pred.slot, minlength=len(pair.slots))
    return pd.Series(n, index=pd.MultiIndex.from_frame(pair.slots))[n > 0]


def _slots(states: pd.DataFrame) -> pd.Series:
    """Count rows by (domain, slot), from integer codes: grouping by strings is several times slower."""
    domain, domains = pd.factorize(states["domain"])
    slot, slots = pd.factorize(states["slot"])
    n = np.bincount(domain * len(slots) + slot, minlength=len(domains) * len(slots))
    every = pd.MultiIndex.from_product([domains, slots], names=["domain", "slot"])
    return pd.Series(n, index=every)[n > 0]


_HAN = re.compile("[\u3400-\u9fff]")


def text_pair(
    gold: Corpus, predictions: Predictions, protocol: Protocol, coverage: Coverage
) -> tuple[TextPair, list[Remark]]:
    """Normalise references and responses by the protocol's steps."""
    if predictions.responses is None:
        raise UsageError(
            f"{predictions.path or predictions.name} holds no responses, which protocol {protocol.name} scores",
            mend="choose a protocol for states, such as lin2021",
        )
    if gold.family == "pairs" or protocol.references == "lexical":
        references = gold.turns.rename(columns={"system": "reference"})
    else:
        case = "lower" if "case:lower" in protocol.text_steps else "keep"
        references = _delexicalized(gold, case).rename(columns={"response": "reference"})
    where = ["dialogue_id", "turn"]
    both = coverage.turns[where].merge(references[[*where, "reference"]], on=where, how="left")
    both = both.merge(predictions.responses, on=where, how="left")
    both = both.merge(predictions.turns.reset_index(names="order"), on=where, how="left")
    reference, said = normalize_texts(
        both["reference"].fillna("").tolist(), protocol.text_steps, "references"
    )
    response, heard = normalize_texts(both["response"].fillna("").tolist(), protocol.text_steps, "responses")
    pair = TextPair(
        both["dialogue_id"].tolist(),
        both["turn"].tolist(),
        reference,
        response,
        protocol.tokenizer,
        both["order"].tolist(),
    )
    goals = any(m.key.startswith("goal_") for m in protocol.resolve_metrics())
    unspaced = _unspaced(response, protocol.tokenizer)
    return pair, [*said, *heard, *unspaced, _style(reference, response, goals), _empty(reference)]


#: Delexicalised references of the corpora scored last, by their content: several systems are compared on
#: one corpus, and delexicalising it takes longer than all the rest.
_KEPT: OrderedDict[tuple[bytes, str], pd.DataFrame] = OrderedDict()
_MOST = 4


def _delexicalized(gold: Corpus, case: str) -> pd.DataFrame:
    """Return the delexicalised references of a corpus; the same content is delexicalised once."""
    from dialogeval.delex import delexicalize

    # By content, not by identity: somebody may have changed a table in place.
    digest = hashlib.blake2b()
    for frame in (gold.turns, gold.spans, gold.acts, gold.states):
        digest.update(pd.util.hash_pandas_object(frame, index=False).to_numpy().tobytes())
    key = digest.digest(), case
    if key not in _KEPT:
        _KEPT[key] = delexicalize(gold, style="value", case=case)
        if len(_KEPT) > _MOST:
            _KEPT.popitem(last=False)
    _KEPT.move_to_end(key)
    return _KEPT[key]


def normalize_texts(
    texts: list[str], steps: Sequence[str], what: str = "texts"
) -> tuple[list[str], list[Remark]]:
    """Run the text steps: placeholders to canonical names, and lower case around them."""
    check_text_steps(steps)
    if "mwzeval:moses" in steps:
        return normalize_responses(texts, what)
    from dialogeval.placeholders import fold_case, read_placeholders

    remarks: list[Remark] = []
    if "placeholders:canonical" in steps:
        texts, remarks = read_placeholders(texts, what)
    if "case:lower" in steps:
        texts = fold_case(texts)
    return list(texts), remarks


def _empty(references: Sequence[str]) -> Remark:
    """Count references that say nothing, as after a user's last word."""
    lacking = sum(not text.strip() for text in references)
    return Remark(_say_references, Counter(lacking=lacking, all=len(references)))


def _say_references(facts: Counter[str]) -> list[str]:
    lacking, whole = facts["lacking"], facts["all"]
    if not lacking:
        return []
    if lacking < whole:
        return [f"{lacking:,} of {whole:,} references are empty: no response can be like them"]
    return ["all references are empty: what compares a response with its reference is 0 for that reason"]


def _style(references: Sequence[str], responses: Sequence[str], goals: bool) -> Remark:
    """Count what tells whether the two sides are the same kind of text."""
    from dialogeval.placeholders import canonical_names, names_pattern

    name = names_pattern(canonical_names())
    facts: Counter[tuple[str, str]] = Counter()
    for side, texts in (("references", references), ("responses", responses)):
        counts = pd.Series(texts, dtype="str").value_counts()
        facts[side, "texts"] = len(texts)
        facts[side, "marked"] = int(counts.to_numpy()[[bool(name.search(t)) for t in counts.index]].sum())
        # Each distinct text is looked at once: references and systems repeat themselves.
        for kind, pattern in (("glued", r"\w[.,?!](?:\s|$)"), ("apart", r"\s[.,?!](?:\s|$)")):
            facts[side, kind] = int(counts.index.str.count(pattern).to_numpy() @ counts.to_numpy())
    return Remark(_say_style, facts, (goals,))


def _say_style(facts: Counter[tuple[str, str]], goals: bool) -> list[str]:
    """Say so when the two sides are not the same kind of text."""
    sides = ("references", "responses")
    shares = {s: facts[s, "marked"] / max(facts[s, "texts"], 1) for s in sides}
    lines = []
    if goals and not facts["references", "marked"]:
        lines.append("no reference holds a slot placeholder: the goal scores are 0 for that reason")
    if min(shares.values()) < 0.02 and max(shares.values()) > 0.2:
        plain = min(shares, key=lambda side: shares[side])
        lines.append(
            f"the {plain} hold hardly any slot placeholders ({shares[plain]:.1%} of turns) while the other side "
            f"does ({max(shares.values()):.1%}): one side is delexicalised and the other is not; "
            + (
                "--delexicalize marks their values, protocol lexical compares real ones"
                * (plain == "responses")
            )
        )
    glued = {s: facts[s, "glued"] / max(facts[s, "glued"] + facts[s, "apart"], 1) for s in sides}
    if abs(glued["references"] - glued["responses"]) > 0.5:
        side = max(glued, key=lambda s: glued[s])
        lines.append(
            f"the {side} attach punctuation to words ({glued[side]:.0%} of the marks) and the other side does not: "
            "tokens split on white space then differ for no other reason; tokeniser 13a splits the marks of both "
            "sides off (--tokenizer 13a)"
        )
    return lines


def _unspaced(responses: Sequence[str], tokenizer: str) -> list[Remark]:
    """Count what tells whether white space is taken for the end of a word in text that has none."""
    if tokenizer not in ("space", "13a"):
        return []
    han = sum(len(_HAN.findall(text)) for text in responses)
    return [
        Remark(_say_unspaced, Counter(han=han, words=sum(len(t.split()) for t in responses)), (tokenizer,))
    ]


def _say_unspaced(facts: Counter[str], tokenizer: str) -> list[str]:
    han, words = facts["han"], facts["words"]
    if han <= 3 * max(words, 1):
        return []
    return [
        f"the responses are written without spaces ({han:,} Chinese characters in {words:,} white-space tokens): "
        f"tokeniser {tokenizer} takes whole utterances for words; choose zh or char (--tokenizer zh)",
    ]


_WHERE_of_pairing_task = ["dialogue_id", "turn"]
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
    """Gather and normalise what the rules of Inform and Success look at."""
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
    turns = coverage.turns[_WHERE_of_pairing_task]
    responses = turns.merge(predictions.responses, on=_WHERE_of_pairing_task, how="left")["response"].fillna(
        ""
    )
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
) -> tuple[dict[str, Any], list[Remark]]:
    """Set gold and predictions side by side for every task that the metrics need."""
    pairs: dict[str, Any] = {}
    remarks: list[Remark] = []
    for task in dict.fromkeys(part.task for m in metrics for part in m.sources):
        pairs[task], said = _PAIRING[task](gold, predictions, protocol, coverage)
        remarks += said
    kinds = ["any", *pairs]
    kinds += ["per-turn"] * (protocol.gold != "frames" and not pairs.keys().isdisjoint(("state", "task")))
    kinds += ["references"] * (protocol.references == "delexicalized" and "text" in pairs)
    return pairs, [*remarks, *(plain(text) for kind in kinds for text in gold.cautions.get(kind, ()))]

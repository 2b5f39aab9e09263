"""Scores by part: by turn number, domain, slot and goal label, and the errors one by one.

In: `Scores`. Out: tables. Every part is a group-by over the counts that the score itself is made
of, or over the triples they count, so that the parts add up to the whole. Nothing is scored again
by another rule. `parts` has the one function for every grouping of `groups`; `states` breaks down
states (and any score by turn) in a report's own tables, `texts` responses.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd

from dialogeval.exceptions import UnknownNameError, UsageError
from dialogeval.golds import gold_of
from dialogeval.metrics import ratio
from dialogeval.metrics.goals import goal_counts, goal_labels
from dialogeval.metrics.states import (
    StatePair,
    Triples,
    count_fuzzy,
    count_triples,
    micro_f1,
    precision,
    recall,
)
from dialogeval.metrics.text import TEXT_METRICS, bleu_counts, splitter
from dialogeval.placeholders import canonicalize_placeholders, slot_placeholder
from dialogeval.protocols import metric_table
from dialogeval.stats import SEED, value_table
from dialogeval.tables import Corpus

#: `dialogeval.scoring.Scores`, which stands a floor above: `Scores.by` calls this module.
Scores = Any

#: Groups of dialogues, of turns, and of triples, by name: what each one is.
DIALOGUE_GROUPS = {
    "domains": "number of domains of the dialogue's goal, or of its gold states where it has no goal",
    "type": "the corpus's own type of dialogue (CrossWOZ: S, M, M+T, CM, CM+T); else single or multi domain",
    "language": "language of the corpus",
    "corpus": "the corpus with its split and version",
    "system": "name of the system",
}
TURN_GROUPS = {"turn": "number of the turn, from 0"}
TRIPLE_GROUPS = {
    "domain": "domain of the triple",
    "slot": "domain and slot of the triple",
    "seen_value": "whether the training corpus has the value in that slot: seen or unseen",
}
#: CrossWOZ: single domain, multi-domain, multi-domain with traffic, and both with goals across domains.
_TYPES = ("S", "M", "M+T", "CM", "CM+T", "single", "multi")


def group_labels(scores: Scores, by: str | pd.Series) -> pd.Series:
    """Label every scored turn with the group that it, or its dialogue, belongs to."""
    turns = scores.coverage.turns
    index = pd.MultiIndex.from_frame(turns[["dialogue_id", "turn"]])
    if isinstance(by, str) and by in TURN_GROUPS:
        return pd.Series(turns["turn"].to_numpy(), index=index)
    ids = turns["dialogue_id"].drop_duplicates()
    labels = _own_labels(by, ids) if isinstance(by, pd.Series) else _dialogue_labels(scores, by, ids)
    return pd.Series(turns["dialogue_id"].map(labels).to_numpy(), index=index)


def sort_groups(groups: Iterable) -> list:
    """Put groups in their order: numbers by size, types from the simplest, all else by the alphabet."""
    rank = {name: place for place, name in enumerate(_TYPES)}
    return sorted(set(groups), key=lambda g: (rank.get(g, len(rank)), isinstance(g, str), g))


def triple_sums(scores: Scores, by: str, training: Corpus | None = None) -> tuple[pd.DataFrame, dict]:
    """Count the triples of every group, and of the whole."""
    pair = state_pair_of(scores)
    whole = {str(k): int(v) for k, v in count_triples(pair).sum().items()}
    if by == "seen_value":
        known = _seen_triples(scores, pair, training)
        groups = pd.Index(["seen", "unseen"], name=by, dtype="str")
        parts = _count(pair, known(pair.gold), known(pair.pred), groups)
        return parts, {k: whole[k] for k in ("tp", "fp", "fn")}
    names = ["domain"] if by == "domain" else ["domain", "slot"]
    found = pair.slots[names].drop_duplicates(ignore_index=True)
    code = pair.slots[names].merge(found.assign(code=found.index), on=names, how="left")["code"].to_numpy()
    groups = pd.Index(found["domain"], name="domain") if by == "domain" else pd.MultiIndex.from_frame(found)
    parts = _count(pair, code[pair.gold.slot], code[pair.pred.slot], groups)
    width = max(len(groups), 1)

    def cells(gold: np.ndarray | slice, pred: np.ndarray | slice) -> np.ndarray:
        here = [pair.gold.turn[gold] * width + code[pair.gold.slot[gold]]]
        here.append(pair.pred.turn[pred] * width + code[pair.pred.slot[pred]])
        return np.bincount(np.unique(np.concatenate(here)) % width, minlength=len(groups))

    turns = cells(slice(None), slice(None))
    wrong = cells(~pair.gold_in_pred, ~pair.pred_in_gold)
    return parts.assign(turns=turns, exact=turns - wrong), whole


def state_pair_of(scores: Scores) -> StatePair:
    """Return the pair of states, or say which protocol would have one."""
    if "state" not in scores.pairs:
        raise UsageError(
            f"protocol {scores.protocol.name} scores responses, which have no slots",
            mend="score under a protocol for states, such as lin2021",
        )
    return scores.pairs["state"]


def corpus_of(scores: Scores) -> Corpus:
    """Return the corpus that was scored against."""
    if scores.gold is None:
        raise UsageError("these scores carry no corpus", mend="make them with dialogeval.score")
    return scores.gold


def matching_note(scores: Scores) -> str:
    """Say so where a protocol matches values fuzzily and triples are counted exactly; else nothing."""
    if not any(metric.counts is count_fuzzy for metric in scores.metrics):
        return ""
    return (
        f" Triples (tp, fp, fn) are counted by exact values, while protocol {scores.protocol.name} also accepts similar "
        "ones: the two need not agree."
    )


# Helpers ------------------------------------------------------------------------------------------


def _dialogue_labels(scores: Scores, by: str, ids: pd.Series) -> pd.Series:
    corpus = corpus_of(scores)
    constant = {"language": corpus.language, "corpus": corpus.id, "system": scores.system}
    if by in constant:
        return pd.Series(constant[by], index=ids.to_numpy(), dtype="str")
    of_states = corpus.states.groupby("dialogue_id")["domain"].nunique()
    of_goals = corpus.goals.groupby("dialogue_id")["domain"].nunique()
    domains = of_goals.reindex(ids).fillna(of_states.reindex(ids)).fillna(0).astype("int64")
    if by == "domains":
        return domains
    types = corpus.dialogues.drop_duplicates("dialogue_id").set_index("dialogue_id")["type"].reindex(ids)
    amount = pd.Series(np.where(domains > 1, "multi", "single"), index=domains.index, dtype="str")
    return types.where(types.fillna("") != "", amount)


def _own_labels(labels: pd.Series, ids: pd.Series) -> pd.Series:
    if not labels.index.is_unique or labels.index.nlevels > 1:
        raise UsageError(
            "own groups", expected="one label for each dialogue id", got="a repeated or double index"
        )
    lacking = sorted(set(ids) - set(labels.dropna().index))
    if lacking:
        raise UsageError(
            f"{len(lacking):,} scored dialogues have no group, such as {lacking[0]}",
            mend="give every dialogue a label, if only 'other'",
        )
    return labels


def _count(pair: StatePair, gold: np.ndarray, pred: np.ndarray, groups: pd.Index) -> pd.DataFrame:
    """Count by group, given the group of each triple; a triple on both sides has one group."""
    size = len(groups)
    tp = np.bincount(gold[pair.gold_in_pred], minlength=size)
    fp, fn = np.bincount(pred, minlength=size) - tp, np.bincount(gold, minlength=size) - tp
    return pd.DataFrame({"tp": tp, "fp": fp, "fn": fn}, index=groups)


def _seen_triples(scores: Scores, pair: StatePair, training: Corpus | None):  # type: ignore[no-untyped-def]
    """Return a function that gives 0 for the triples of a side whose value training has, and 1 for others."""
    if training is None:
        raise UsageError(
            "seen_value needs the corpus that the system was trained on",
            mend='pass training=load_corpus(…, split="train")',
        )
    steps = scores.protocol.steps
    gold = gold_of(training, scores.protocol.gold, steps)
    columns = ["domain", "slot", "value"]
    known = pd.concat([gold.states[columns], gold.alternatives[columns]]).drop_duplicates()
    slots = pair.slots.assign(slot_code=range(len(pair.slots)))
    values = pd.DataFrame({"value": pair.values, "value_code": range(len(pair.values))})
    values["value"] = values["value"].astype("str")
    coded = known.merge(slots, on=["domain", "slot"]).merge(values, on="value")
    n_values = max(len(pair.values), 1)
    keys = np.unique(coded["slot_code"].to_numpy(dtype="int64") * n_values + coded["value_code"].to_numpy())

    def unseen(side: Triples) -> np.ndarray:
        return (~np.isin(side.slot * n_values + side.value, keys)).astype("int64")

    return unseen


#: What can be wrong with a slot of a turn.
ERROR_KINDS = ("missed", "spurious", "wrong value")
_WHERE = ["domain", "slot"]


def by_turn(scores: Scores) -> pd.DataFrame:
    """Return every turn-level score by turn number."""
    number = scores.coverage.turns["turn"]
    columns: dict[str, Any] = {"turns": number.value_counts(sort=False).sort_index()}
    for metric in scores.metrics:
        counts = scores.counts[metric.counts]
        if counts.index.nlevels == 2:
            sums = counts.groupby(level="turn").sum()
            values = metric.value({str(c): sums[c].to_numpy(dtype=float) for c in sums})
            columns[metric.key] = pd.Series(np.broadcast_to(values, len(sums)), index=sums.index)
    return pd.DataFrame(columns).rename_axis("turn")


def by_domain(scores: Scores) -> pd.DataFrame:
    """Return triple counts and micro scores by domain, by exact match of the normalised triples."""
    counts = _by_slot(state_pair_of(scores)).groupby(level="domain").sum()
    return _with_rates(counts)


def by_slot(scores: Scores) -> pd.DataFrame:
    """Return triple counts and micro scores by (domain, slot), by exact match of the normalised triples."""
    return _with_rates(_by_slot(state_pair_of(scores)))


def state_errors(scores: Scores) -> pd.DataFrame:
    """Return every wrong triple of every turn, gold and prediction side by side."""
    return _errors(state_pair_of(scores))


def frequent_errors(scores: Scores, most: int = 10) -> pd.DataFrame:
    """Return the most frequent errors, each with the place where it first occurs."""
    what = [*_WHERE, "kind", "gold", "predicted"]
    groups = state_errors(scores).groupby(what, sort=False)
    table = groups.agg(
        turns=("turn", "size"),
        dialogues=("dialogue_id", "nunique"),
        dialogue_id=("dialogue_id", "first"),
        turn=("turn", "first"),
    ).reset_index()
    table = table.sort_values(["turns", *what], ascending=[False] + [True] * 5, ignore_index=True)
    shown = table.head(most)
    shown.attrs["left_out"] = len(table) - len(shown)
    return shown


# Helpers ------------------------------------------------------------------------------------------


def _by_slot(pair: StatePair) -> pd.DataFrame:
    size = len(pair.slots)

    def count(side: Triples, mask: np.ndarray | None = None) -> np.ndarray:
        return np.bincount(side.slot if mask is None else side.slot[mask], minlength=size)

    gold, predicted, tp = count(pair.gold), count(pair.pred), count(pair.gold, pair.gold_in_pred)
    table = pd.DataFrame(
        {"gold": gold, "predicted": predicted, "tp": tp, "fp": predicted - tp, "fn": gold - tp}
    )
    table.index = pd.MultiIndex.from_frame(pair.slots, names=_WHERE)
    kinds = _errors(pair).groupby([*_WHERE, "kind"]).size().unstack("kind")
    for kind in ERROR_KINDS:
        column = kinds[kind] if kind in kinds else pd.Series(dtype="float64")
        table[kind] = column.reindex(table.index).fillna(0).astype("int64")
    return table


def _with_rates(counts: pd.DataFrame) -> pd.DataFrame:
    names = {"slot_precision": precision, "slot_recall": recall, "slot_f1_micro": micro_f1}
    sums = {c: counts[c].to_numpy(dtype=float) for c in ("tp", "fp", "fn")}
    table = counts.assign(**{name: value(sums) for name, value in names.items()})
    table = table.sort_index().sort_values("gold", ascending=False, kind="stable")
    # A slot of the pair's codes that no scored turn holds is no part of anything.
    return table[(table["gold"] > 0) | (table["predicted"] > 0)]


def paired_errors(pair: StatePair) -> pd.DataFrame:
    """Put the unmatched values of both sides side by side, slot by slot, as codes."""
    fn = _unmatched(pair, pair.gold.take(~pair.gold_in_pred), "gold")
    fp = _unmatched(pair, pair.pred.take(~pair.pred_in_gold), "predicted")
    both = fn.merge(fp, on=["row", "code", "rank"], how="outer").sort_values(["row", "code", "rank"])
    return both.fillna(-1).astype("int64").drop(columns="rank").reset_index(drop=True)


def decode_errors(pair: StatePair, coded: pd.DataFrame) -> pd.DataFrame:
    """Replace codes of turns, slots and values by what they stand for; no value is the empty string."""
    values = np.append(np.asarray(pair.values, dtype=object), "")
    row, code = coded["row"].to_numpy(), coded["code"].to_numpy()
    columns = {
        "dialogue_id": pair.index.get_level_values("dialogue_id").to_numpy()[row],
        "turn": pair.index.get_level_values("turn").to_numpy()[row],
        "domain": pair.slots["domain"].to_numpy()[code],
        "slot": pair.slots["slot"].to_numpy()[code],
        "gold": values[coded["gold"].to_numpy()],
        "predicted": values[coded["predicted"].to_numpy()],
    }
    return pd.DataFrame(
        {n: pd.Series(c, dtype="int64" if n == "turn" else "str") for n, c in columns.items()}
    )


def plain_kinds(coded: pd.DataFrame) -> np.ndarray:
    """Tell missed, spurious and wrong values apart."""
    return np.select([coded["predicted"] < 0, coded["gold"] < 0], ["missed", "spurious"], "wrong value")


def _errors(pair: StatePair) -> pd.DataFrame:
    coded = paired_errors(pair)
    table = decode_errors(pair, coded)
    table.insert(4, "kind", pd.Series(plain_kinds(coded), dtype="str"))
    return table


def _unmatched(pair: StatePair, triples: Triples, side: str) -> pd.DataFrame:
    """Number the values of one slot and turn by the alphabet: the first of both sides are one wrong value."""
    table = pd.DataFrame({"row": triples.turn, "code": triples.slot, side: triples.value})
    place = np.argsort(np.argsort(pair.values))[triples.value] if len(pair.values) else triples.value
    table = table.iloc[np.lexsort((place, triples.slot, triples.turn))]
    return table.assign(rank=table.groupby(["row", "code"]).cumcount())


def by_label(scores: Scores) -> pd.DataFrame:
    """Return goal precision, recall and F1 by label, that is by placeholder name."""
    return _by_label(_text_counts(scores, goal_counts))


def turn_table(scores: Scores) -> pd.DataFrame:
    """Return reference and response of every turn, as they were compared, with the turn's own numbers."""
    counts = _text_counts(scores, bleu_counts)
    table = counts.index.to_frame(index=False)
    table["reference"] = pd.Series(list(_pair(scores, "text").references), dtype="str")
    table["response"] = pd.Series(list(_pair(scores, "text").responses), dtype="str")
    table["sentence_bleu"] = 100 * counts["bleu_sentence"].to_numpy()
    for side in ("reference", "response"):
        table[f"{side}_length"] = counts[f"bleu_{side}_length"].to_numpy()
    return table


def best_and_worst(scores: Scores, most: int = 5, tokens: int = 5) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the turns of highest and of lowest sentence BLEU-4."""
    table = turn_table(scores)
    table = table[table["reference_length"] >= tokens].drop_duplicates(["reference", "response"])
    by = ["sentence_bleu", "reference_length", "dialogue_id", "turn"]
    best = table.sort_values(by, ascending=[False, False, True, True], ignore_index=True)
    worst = table.sort_values(by, ascending=[True, False, True, True], ignore_index=True)
    return best.head(most), worst.head(most)


def add_metrics(scores: Scores, keys: Sequence[str], resamples: int = 0, seed: int = SEED) -> pd.DataFrame:
    """Return other scores of the same texts or states: one pair, several definitions side by side."""
    known = metric_table()
    for key in keys:
        if key not in known:
            raise UnknownNameError("metric", key, known)
    metrics = tuple(known[key] for key in keys)
    counts: dict[Callable, pd.DataFrame] = {}
    for part in (part for metric in metrics for part in metric.sources):
        if part.counts not in counts:
            ran = scores.counts.get(part.counts)
            counts[part.counts] = part.counts(_pair(scores, part.task)) if ran is None else ran
    return value_table(metrics, counts, resamples, seed)


# Helpers ------------------------------------------------------------------------------------------


def _text_counts(scores: Scores, function: Callable) -> pd.DataFrame:
    """Return the counts of one counting function; a protocol of other metrics has not run it yet."""
    known = scores.counts
    return known[function] if function in known else function(_pair(scores, "text"))


def _pair(scores: Scores, task: str) -> Any:
    if task not in scores.pairs:
        what, other, name = {
            "text": ("states", "responses", "lai2019"),
            "state": ("responses", "states", "lin2021"),
            "task": ("states or texts", "Inform and Success", "mwzeval"),
        }[task]
        mend = f"score under a protocol for {other}, such as {name}"
        raise UsageError(f"protocol {scores.protocol.name} scores {what} alone", mend=mend)
    return scores.pairs[task]


def _by_label(counts: pd.DataFrame) -> pd.DataFrame:
    sums = counts.sum()
    labels = [c.removeprefix("goal_tp_") for c in counts.columns if c.startswith("goal_tp_")]
    table = pd.DataFrame(
        {k: [int(sums[f"goal_{k}_{label}"]) for label in labels] for k in ("tp", "fp", "fn")},
        index=pd.Index(labels, name="label", dtype="str"),
    )
    tp, fp, fn = table["tp"], table["fp"], table["fn"]
    table.insert(0, "references", tp + fn)
    table.insert(1, "responses", tp + fp)
    rates = {
        "precision": ratio(tp, tp + fp),
        "recall": ratio(tp, tp + fn),
        "f1": ratio(2 * tp, 2 * tp + fp + fn),
    }
    table = table.assign(**{name: 100 * values for name, values in rates.items()})
    table = table[(table["references"] > 0) | (table["responses"] > 0)]
    return table.sort_values("references", ascending=False, kind="stable")


#: Groups of turns for responses, by name: what each one is.
RESPONSE_GROUPS = {
    "domain": "domain of the reference's dialogue acts; a turn with acts of two domains counts in both",
    "act": "dialogue act of the reference; a turn with two acts counts in both",
    "length": "tokens of the response",
    "turn": "number of the turn, from 0",
}
ALL = "all"
_WHERE_of_responses = ["dialogue_id", "turn"]
_LENGTHS = (0, 5, 10, 15, 20, 30)
_NO_ACT = "none"


def response_groups(scores: Scores, by: str) -> pd.DataFrame:
    """Break scores of responses down by domain, dialogue act, length or turn."""
    if by not in RESPONSE_GROUPS:
        raise UnknownNameError("grouping of responses", by, RESPONSE_GROUPS)
    table = turn_table(scores)
    labels = _labels(scores, table, by)
    counts = _counts(scores, table)
    index = pd.MultiIndex.from_frame(labels[_WHERE_of_responses])
    groups = labels["group"].to_numpy()
    parts = counts.loc[index].groupby(groups, sort=False).sum()
    order = _ordered(labels["group"], by)
    sums = pd.concat([parts.loc[order], counts.sum().to_frame(ALL).T])
    column = {str(name): sums[name].to_numpy(dtype=float) for name in sums}
    turns = column["bleu_turns"]
    rows = {
        "turns": turns.astype("int64"),
        "bleu_4": TEXT_METRICS["bleu_4"].value(column),
        "bleu_4_sentence": TEXT_METRICS["bleu_4_sentence"].value(column),
        "placeholders_found": 100 * ratio(column["found"], column["wanted"], empty=float("nan")),
        "reference_length": ratio(column["bleu_reference_length"], turns),
        "response_length": ratio(column["bleu_response_length"], turns),
    }
    table = pd.DataFrame(rows, index=pd.Index([*map(str, order), ALL], name=by, dtype="str"))
    # A turn has one length and one number, but may have acts of several kinds and domains.
    table.attrs = {"additive": ["turns"] if by in ("length", "turn") else []}
    return table


def missed(scores: Scores) -> pd.DataFrame:
    """Return every turn with what its response lacks of the reference."""
    table = turn_table(scores)
    split = splitter(scores.protocol.tokenizer)
    requested = _requested(scores)
    columns: dict[str, list] = {name: [] for name in _MISSED}
    # A loop, because each text is compared with its own partner only; 7,000 turns take half a second.
    for dialogue, reference, response in zip(
        table["dialogue_id"], table["reference"], table["response"], strict=True
    ):
        said, wanted = split(response), split(reference)
        left, right = goal_labels([reference]), goal_labels([response])
        columns["missed_words"].append(_runs(wanted, said))
        columns["missed_4grams"].append((_grams(wanted) - _grams(said)).total())
        columns["missed_placeholders"].append(" ".join(sorted(left - right)))
        columns["extra_placeholders"].append(" ".join(sorted(right - left)))
        columns["missed_requests"].append(" ".join(sorted((left - right) & requested.get(dialogue, set()))))
    return table.assign(**{k: pd.Series(v, dtype=_MISSED[k]) for k, v in columns.items()})


# Helpers ------------------------------------------------------------------------------------------

_MISSED = {
    "missed_words": "str",
    "missed_4grams": "int64",
    "missed_placeholders": "str",
    "extra_placeholders": "str",
    "missed_requests": "str",
}


def _counts(scores: Scores, table: pd.DataFrame) -> pd.DataFrame:
    """BLEU counts by turn, and how many placeholders of the reference were found."""
    pair = scores.pairs["text"]
    counts = scores.counts[bleu_counts] if bleu_counts in scores.counts else bleu_counts(pair)
    labels = _memory(lambda text: goal_labels([text]))
    pairs = [(labels(a), labels(b)) for a, b in zip(table["reference"], table["response"], strict=True)]
    wanted, found = [len(a) for a, b in pairs], [len(a & b) for a, b in pairs]
    return counts.assign(wanted=np.array(wanted, dtype="int64"), found=np.array(found, dtype="int64"))


def _memory(function: Callable[[str], set[str]]) -> Callable[[str], set[str]]:
    known: dict[str, set[str]] = {}

    def remember(text: str) -> set[str]:
        if text not in known:
            known[text] = function(text)
        return known[text]

    return remember


def _labels(scores: Scores, table: pd.DataFrame, by: str) -> pd.DataFrame:
    """One row for each group of each turn."""
    if by == "turn":
        return table[_WHERE_of_responses].assign(group=table["turn"])
    if by == "length":
        bounds = [-1, *_LENGTHS, np.inf]
        return table[_WHERE_of_responses].assign(
            group=pd.cut(table["response_length"], bounds, labels=_length_names())
        )
    acts = corpus_of(scores).acts
    if acts.empty:
        raise UsageError(
            f"{corpus_of(scores).id} has no dialogue acts to group responses by",
            mend='group by "length" or "turn"',
        )
    own = acts[acts["speaker"] == "system"].rename(columns={by: "group"})
    own = own[[*_WHERE_of_responses, "group"]].assign(group=own["group"].str.lower()).drop_duplicates()
    return (
        table[_WHERE_of_responses].merge(own, on=_WHERE_of_responses, how="left").fillna({"group": _NO_ACT})
    )


def _ordered(groups: pd.Series, by: str) -> list:
    here = groups.value_counts(sort=False)
    here = here[here > 0]
    if by == "length":
        return [name for name in _length_names() if name in here.index]
    if by == "turn":
        return sorted(here.index)
    return sorted(here.index, key=lambda name: (name == _NO_ACT, -here[name], name))


def _length_names() -> list[str]:
    inner = [f"{low + 1}–{high}" for low, high in pairwise(_LENGTHS)]
    return ["0", *inner, f"over {_LENGTHS[-1]}"]


def _requested(scores: Scores) -> dict[str, set[str]]:
    """Canonical names of what each dialogue's goal requests, a booking's reference number included."""
    goals = scores.gold.goals if scores.gold is not None else None
    if goals is None or goals.empty:
        return {}
    goals = goals[goals["kind"].isin(["request", "book"])]
    name_of: dict[tuple[str, str, str], str | None] = {}
    found: dict[str, set[str]] = {}
    for dialogue, *what in goals[["dialogue_id", "kind", "domain", "slot"]].itertuples(index=False):
        key = (what[0], what[1], what[2])
        if key not in name_of:
            name_of[key] = "REFERENCE" if key[0] == "book" else _canonical(*key[1:])
        if name_of[key]:
            found.setdefault(dialogue, set()).add(str(name_of[key]))
    return found


def _canonical(domain: str, slot: str) -> str | None:
    name = slot_placeholder(domain, slot)
    return canonicalize_placeholders([name])[0][0].strip() or None if name else None


def _grams(tokens: list[str], order: int = 4) -> Counter[tuple[str, ...]]:
    return Counter(zip(*(tokens[i:] for i in range(order)), strict=False))


def _runs(wanted: Iterable[str], said: Iterable[str]) -> str:
    """Runs of words that are wanted and not said; a word said once answers one that is wanted once."""
    left = Counter(said)
    runs: list[list[str]] = [[]]
    for word in wanted:
        if left[word] > 0:
            left[word] -= 1
            runs.append([])
        else:
            runs[-1].append(word)
    return " / ".join(" ".join(run) for run in runs if run)


ALL_of_parts = "all"
_TRIPLES = ["gold", "predicted", "tp", "fp", "fn"]


def breakdown(scores: Any, by: str | pd.Series, *, training: Corpus | None = None) -> pd.DataFrame:
    """Break scores down: one row a group, and the whole in the last row.

    Parameters
    ----------
    scores : Scores or sequence of Scores
        Several results of one protocol are put together: corpora in two languages, say.
    by : str or pandas.Series
        ``domain``, ``slot``, ``seen_value`` (groups of triples), ``turn``, ``domains`` (how many),
        ``type``, ``language``, ``corpus``, ``system`` (groups of turns and dialogues); for responses
        also ``act``, ``length`` and ``domain``, see `response_groups`; or labels of your own, indexed
        by dialogue id.
    training : Corpus, optional
        What the system was trained on, for ``seen_value``.

    Returns
    -------
    pandas.DataFrame
        Indexed by group, as strings, the whole as ``all``. Groups of turns and dialogues:
        ``dialogues``, ``turns``, the counts of triples where states were scored, and every score
        in its own unit. Groups of triples: ``gold``, ``predicted``, ``tp``, ``fp``, ``fn``,
        ``slot_precision``, ``slot_recall``, ``slot_f1_micro`` in [0, 1]; for domains and slots
        ``turns`` in which either side fills one of the group's slots, and
        ``joint_goal_accuracy``, the share of them in which both sides fill the group's slots alike
        (in the row ``all``: over all turns).
        ``attrs["caption"]`` says in words which counts add up to the row ``all``,
        ``attrs["additive"]`` lists them; ``attrs["left_out"]``: scores of the protocol that the table
        lacks; ``attrs["differs"]``: those whose row ``all`` is not the score itself, with the score (none
        for several results).

    Raises
    ------
    UnknownNameError
        No such grouping.
    UsageError
        Results of several protocols, triples of scores without states, no training corpus.

    Notes
    -----
    Triples are compared exactly, as the protocol has normalised them, also where the protocol's own
    scores are fuzzy. A score whose counts depend on what other dialogues say (distinct-n) has no
    parts and is left out, and so are scores of whole dialogues by turn.

    Examples
    --------
    >>> from dialogeval.corpora import load_corpus
    >>> from dialogeval.scoring import score
    >>> gold = load_corpus("sample/crosswoz_en")
    >>> table = breakdown(score(gold, gold, "lin2021", resamples=0), "type")
    >>> table[["dialogues", "joint_goal_accuracy"]]
          dialogues  joint_goal_accuracy
    type
    S             3                  1.0
    M            18                  1.0
    M+T           4                  1.0
    CM           20                  1.0
    CM+T         15                  1.0
    all          60                  1.0
    """
    results = [scores] if hasattr(scores, "pairs") else list(scores)
    known = {**TRIPLE_GROUPS, **TURN_GROUPS, **DIALOGUE_GROUPS, **RESPONSE_GROUPS}
    if isinstance(by, str) and by not in known:
        raise UnknownNameError("grouping", by, known)
    responses_only = all("state" not in s.pairs for s in results)
    of_responses = isinstance(by, str) and (by in ("act", "length") or (by == "domain" and responses_only))
    if not results or any(s.protocol != results[0].protocol for s in results):
        raise UsageError(
            "scores to break down together",
            expected="results of one protocol",
            got=", ".join(s.protocol.label for s in results) or "none",
        )
    if len(results) == 1 and of_responses:
        table = response_groups(results[0], str(by))
        additive, why = table.attrs["additive"], "this table is of BLEU-4 and placeholders"
    elif isinstance(by, str) and by in TRIPLE_GROUPS:
        table, additive = _by_triples(results, by, training)
        why = "they are not read off counts of triples"
    else:
        table, additive = _by_turns(results, by)
        why = "parts have no such score"
    name = by if isinstance(by, str) else str(by.name or "group")
    left_out = [metric.key for metric in results[0].metrics if metric.key not in table]
    differs = _differs(table, results[0]) if len(results) == 1 else {}
    text = _caption(results, name, additive) + matching_note(results[0])
    if differs:
        said = ", ".join(f"{key} {value:.4f}" for key, value in differs.items())
        text += f" The row '{ALL_of_parts}' is therefore not the protocol's own score in these: {said}."
    if left_out:
        text += (
            f" Left out, because {why}: {', '.join(dict.fromkeys(key.split('/')[0] for key in left_out))}."
        )
    table.attrs = {"caption": text, "additive": additive, "left_out": left_out, "differs": differs}
    return table


# Helpers ------------------------------------------------------------------------------------------


def _by_triples(results: list[Scores], by: str, training: Corpus | None) -> tuple[pd.DataFrame, list[str]]:
    counted = [triple_sums(s, by, training) for s in results]
    parts = pd.concat([part for part, _ in counted])
    names = list(parts.index.names)
    parts = parts.groupby(level=names, sort=True).sum()
    parts = parts[parts[["tp", "fp", "fn"]].sum(axis=1) > 0]
    if by != "seen_value":
        most = (-(parts["tp"] + parts["fn"])).sort_values(kind="stable").index
        parts = parts.loc[most]
    whole = {name: sum(w[name] for _, w in counted) for name in map(str, parts.columns)}
    if len(names) == 1:
        index = pd.Index([*parts.index, ALL_of_parts], name=by, dtype="str")
    else:
        index = pd.MultiIndex.from_tuples([*parts.index.to_list(), (ALL_of_parts, "")], names=names)
    sums = {name: np.append(parts[name].to_numpy(), total).astype("int64") for name, total in whole.items()}
    columns = _triple_columns(sums)
    rates = {"slot_precision": precision, "slot_recall": recall, "slot_f1_micro": micro_f1}
    columns |= {key: value(sums) for key, value in rates.items()}
    if "turns" in sums:
        columns |= {"turns": sums["turns"], "joint_goal_accuracy": ratio(sums["exact"], sums["turns"])}
    return pd.DataFrame(columns, index=index), _TRIPLES


def _by_turns(results: list[Scores], by: str | pd.Series) -> tuple[pd.DataFrame, list[str]]:
    labels = [group_labels(s, by) for s in results]
    groups = sort_groups(g for label in labels for g in label.unique())
    sizes = [_sizes(label) for label in labels]
    size = _total([part for part, _ in sizes], [whole for _, whole in sizes], groups)
    columns = {name: size[name].astype("int64") for name in ("dialogues", "turns")}
    additive = ["turns"] if isinstance(by, str) and by in TURN_GROUPS else ["dialogues", "turns"]
    if all("state" in s.pairs for s in results):
        sums = _grouped([count_triples(s.pairs["state"]) for s in results], labels, groups)
        columns |= _triple_columns({c: sums[c].astype("int64") for c in ("tp", "fp", "fn")})
        additive += _TRIPLES
    done: dict[Callable, dict[str, np.ndarray]] = {}
    for metric in results[0].metrics:
        of_turns = all(results[0].counts[function].index.nlevels == 2 for function in metric.functions)
        if metric.resample != "bootstrap" or not (of_turns or "dialogues" in additive):
            continue
        for function in metric.functions:
            if function not in done:
                done[function] = _grouped([s.counts[function] for s in results], labels, groups)
        merged = {column: n for function in metric.functions for column, n in done[function].items()}
        columns[metric.key] = np.broadcast_to(metric.value(merged), len(groups) + 1)
    name = by if isinstance(by, str) else str(by.name or "group")
    index = pd.Index([*map(str, groups), ALL_of_parts], name=name, dtype="str")
    return pd.DataFrame(columns, index=index), additive


def _sizes(labels: pd.Series) -> tuple[pd.DataFrame, pd.Series]:
    table = pd.DataFrame({"group": labels.to_numpy(), "id": labels.index.get_level_values("dialogue_id")})
    grouped = table.groupby("group")["id"]
    parts = pd.DataFrame({"dialogues": grouped.nunique(), "turns": grouped.size()})
    return parts, pd.Series({"dialogues": table["id"].nunique(), "turns": len(table)})


def _grouped(frames: list[pd.DataFrame], labels: list[pd.Series], groups: list) -> dict[str, np.ndarray]:
    """Sum counts by group; the last entry is the sum of all, taken from the counts themselves."""
    parts = []
    for frame, label in zip(frames, labels, strict=True):
        if frame.index.nlevels == 1:  # of whole dialogues: all turns of one have its label
            label = label.groupby(level="dialogue_id").first()
        parts.append(frame.groupby(label.reindex(frame.index).to_numpy()).sum())
    return _total(parts, [frame.sum() for frame in frames], groups)


def _total(parts: list[pd.DataFrame], wholes: list[pd.Series], groups: list) -> dict[str, np.ndarray]:
    summed = pd.concat(parts).groupby(level=0).sum().reindex(groups).fillna(0)
    whole = pd.concat(wholes, axis=1).sum(axis=1).to_dict()
    return {str(c): np.append(summed[c].to_numpy(dtype=float), whole[c]) for c in summed}


def _triple_columns(sums: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    tp, fp, fn = sums["tp"], sums["fp"], sums["fn"]
    return {"gold": tp + fn, "predicted": tp + fp, "tp": tp, "fp": fp, "fn": fn}


def _differs(table: pd.DataFrame, scores: Scores) -> dict[str, float]:
    """Return the scores that the last row, the whole, does not give."""
    own = {str(key): scores[str(key)] for key in table if key in scores.table.index}
    return {k: v for k, v in own.items() if not np.isclose(table[k].iloc[-1], v, 0, 1e-9, equal_nan=True)}


def _caption(results: list[Scores], by: str, additive: list[str]) -> str:
    systems = ", ".join(dict.fromkeys(s.system for s in results))
    counts = " and ".join([*filter(None, [", ".join(additive[:-1])]), *additive[-1:]])
    adds = f"The counts of the parts ({counts}) add up to the row '{ALL_of_parts}'; scores do not: each"
    if not additive:
        adds = f"A turn of two groups counts in both, so the parts add up to more than the row '{ALL_of_parts}'. A score"
    return (
        f"{systems} by {by.replace('_', ' ')}, protocol {results[0].protocol.name}. {adds} is computed from "
        "its own row's counts."
    )

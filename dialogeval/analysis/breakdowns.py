"""Scores by part: by turn number, domain, slot, type of dialogue and the rest; and the texts one by one.

In: `Scores`. Out: tables. A breakdown labels the turns (or the triples) that were counted, sums the
counts of the score by label, and computes each score from the sums of its own row, so that the parts
add up to the whole and nothing is scored again by another rule.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from dialogeval.exceptions import UnknownNameError, UsageError, show
from dialogeval.golds import gold_of
from dialogeval.metrics import Metric, Sums, TextPair, ratio
from dialogeval.metrics.goals import goal_labels
from dialogeval.metrics.states import (
    STATE_METRICS,
    StatePair,
    Triples,
    count_fuzzy,
    count_triples,
)
from dialogeval.metrics.text import TEXT_METRICS, bleu_counts
from dialogeval.tables import Corpus

#: `dialogeval.scoring.Scores`, which stands a floor above: `Scores.by` calls this module.
Scores = Any

#: Of triples, of turns and dialogues, and of responses; see `breakdown`.
GROUPS = (
    "domain", "slot", "seen_value", "turn", "domains", "type", "language", "corpus", "system", "act", "length",
)  # fmt: skip
ALL = "all"
_TURN = ["dialogue_id", "turn"]
_LENGTHS = {"0": 0, "1–5": 5, "6–10": 10, "11–15": 15, "16–20": 20, "21–30": 30, "over 30": np.inf}
#: Groups with an order of their own; CrossWOZ: single domain, multi-domain, with traffic, across domains.
_ORDER = ["S", "M", "M+T", "CM", "CM+T", "single", "multi", *_LENGTHS]
#: Scores of groups of triples.
_RATES = ["slot_precision", "slot_recall", "slot_f1_micro", "joint_goal_accuracy"]
#: Counts whose index is the group of each row, and the sums of the whole.
Counted = tuple[pd.DataFrame, pd.Series]


def breakdown(scores: Any, by: str | pd.Series, *, training: Corpus | None = None) -> pd.DataFrame:
    """Break scores down: one row a group, and the whole in the last row.

    Parameters
    ----------
    scores : Scores or sequence of Scores
        Several results of one protocol are put together: corpora in two languages, say.
    by : str or pandas.Series
        Groups of triples: ``domain``, ``slot``, ``seen_value`` (seen or unseen in that slot of the
        training corpus). Groups of turns and dialogues: ``turn`` (from 0), ``domains`` (how many the
        dialogue's goal has, or its gold states), ``type`` (the corpus's own: CrossWOZ has S, M, M+T, CM,
        CM+T; else single or multi domain), ``language``, ``corpus``, ``system``; or labels of your own,
        indexed by dialogue id. For responses also ``length`` (tokens), and ``act`` and ``domain`` of
        the reference's dialogue acts; a turn with two acts counts in both.
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
        (in the row ``all``: over all turns). Acts, lengths and domains of responses: BLEU-4, the
        placeholders of the references that were found (per cent), mean lengths in tokens.
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
    results = list(scores) if isinstance(scores, Iterable) else [scores]
    if not isinstance(by, (str, pd.Series)):
        raise UsageError("by", expected="the name of a grouping, or a Series of groups", got=show(by))
    kind, name = (by, by) if isinstance(by, str) else ("", str(by.name or "group"))
    if kind and kind not in GROUPS:
        raise UnknownNameError("grouping", kind, GROUPS)
    protocols = [getattr(s, "protocol", None) for s in results]
    if not results or None in protocols or any(p != protocols[0] for p in protocols):
        got = ", ".join(show(p.label if p else s) for p, s in zip(protocols, results, strict=True)) or "none"
        raise UsageError("scores to break down", expected="results of one protocol", got=got)
    largest_first = "turns" if kind in ("act", "domain") else ""
    if kind in ("slot", "seen_value") or (kind == "domain" and any("state" in s.pairs for s in results)):
        metrics = [STATE_METRICS[key] for key in (_RATES[:3] if kind == "seen_value" else _RATES)]
        counted = [_count_triples(s, kind, training) for s in results]
        largest_first = "" if kind == "seen_value" else "gold"
    else:
        metrics = RESPONSE_METRICS if kind in ("act", "domain", "length") else list(results[0].metrics)
        metrics = [m for m in metrics if m.resample == "bootstrap"]
        counted = [_count_turns(s, by, metrics) for s in results]
    sums = {part: _sum_up([counts[part] for counts in counted]) for part in counted[0]}
    table = _values(sums, metrics)
    parts = table.index[:-1]
    if largest_first:
        order = np.argsort(-table[largest_first].to_numpy()[:-1], kind="stable")
    else:
        order = np.array(sorted(range(len(parts)), key=lambda place: _rank(parts[place])), dtype="int64")
    table = table.iloc[[*order, -1]]
    if kind != "slot":
        table.index = pd.Index([*map(str, table.index)], name=name, dtype="str")
    return _describe(table, results, name)


# Counts by group ----------------------------------------------------------------------------------


def _count_turns(scores: Scores, by: str | pd.Series, metrics: Sequence[Metric]) -> dict[Any, Counted]:
    """Count turns, triples where there are states, and what the metrics count, by the group of the turn."""
    labels = _labels(scores, by)
    ids = labels.index.get_level_values("dialogue_id")
    first = ~pd.MultiIndex.from_arrays([ids, labels]).duplicated()
    sizes = pd.DataFrame({"dialogues": first, "turns": 1}, index=labels.array).astype("int64")
    whole = pd.Series({"dialogues": ids.nunique(), "turns": len(labels.index.drop_duplicates())})
    counted: dict[Any, Counted] = {"sizes": (sizes, whole)}
    tasks = {source.counts: source.task for metric in metrics for source in metric.sources}
    if "state" in scores.pairs:
        tasks[count_triples] = "state"
    for function, task in tasks.items():
        counts, label = counts_of(scores, function, task), labels
        if counts.index.nlevels == 1:  # of whole dialogues: all turns of one have its label
            if isinstance(by, str) and by == "turn":
                continue
            label = labels.groupby(level="dialogue_id").first()
        counted[function] = (counts.reindex(label.index).set_axis(label.array), counts.sum())
    return counted


def _count_triples(scores: Scores, by: str, training: Corpus | None) -> dict[Any, Counted]:
    """Count as `count_triples` does, but a group of a turn as if it were a turn of its own."""
    pair = pair_of(scores)
    if by == "seen_value":
        gold, pred = (_unseen(scores, pair, side, training) for side in (pair.gold, pair.pred))
        groups = pd.Index(["seen", "unseen"])
    else:
        code, groups = np.arange(len(pair.slots)), pd.MultiIndex.from_frame(pair.slots[["domain", "slot"]])
        if by == "domain":
            code, groups = pd.factorize(pair.slots["domain"])
        gold, pred = code[pair.gold.slot], code[pair.pred.slot]
    width = max(len(groups), 1)
    cells = (
        pd.DataFrame(
            {
                "tp": np.r_[pair.gold_in_pred, np.zeros(len(pred), bool)],
                "fp": np.r_[np.zeros(len(gold), bool), ~pair.pred_in_gold],
                "fn": np.r_[~pair.gold_in_pred, np.zeros(len(pred), bool)],
            }
        )
        .groupby(np.r_[pair.gold.turn * width + gold, pair.pred.turn * width + pred])
        .sum()
    )
    if by != "seen_value":
        cells["turns"], cells["exact"] = 1, (cells["fp"] + cells["fn"] == 0).astype("int64")
    whole = count_triples(pair).sum()
    return {count_triples: (cells.set_axis(groups[cells.index.to_numpy() % width]), whole)}


def _sum_up(counted: list[Counted]) -> pd.DataFrame:
    """Sum counts by group, of all results together; the last row is the whole."""
    frames, wholes = zip(*counted, strict=True)
    parts = pd.concat(frames)
    levels = list(range(parts.index.nlevels))
    parts = parts.groupby(level=levels).sum()
    whole = pd.concat(wholes, axis=1).sum(axis=1).reindex(parts.columns)
    index: Any = parts.index.append(pd.Index([ALL if len(levels) == 1 else (ALL, "")])).set_names(
        parts.index.names
    )
    return pd.DataFrame(np.vstack([parts, whole]), index, parts.columns, dtype=float)


def _values(sums: dict[Any, pd.DataFrame], metrics: Sequence[Metric]) -> pd.DataFrame:
    """Read the scores of each group off its sums."""
    columns: dict[str, Any] = {}
    if "sizes" in sums:
        columns |= sums["sizes"].astype("int64")
    if count_triples in sums:
        tp, fp, fn = (sums[count_triples][c].astype("int64") for c in ("tp", "fp", "fn"))
        columns |= {"gold": tp + fn, "predicted": tp + fp, "tp": tp, "fp": fp, "fn": fn}
        if "turns" in sums[count_triples]:
            columns.setdefault("turns", sums[count_triples]["turns"].astype("int64"))
    index = next(iter(sums.values())).index
    for metric in metrics:
        if sums.keys() >= set(metric.functions):
            merged = {str(c): n.to_numpy() for f in metric.functions for c, n in sums[f].items()}
            columns[metric.key] = np.broadcast_to(metric.value(merged), len(index))
    return pd.DataFrame(columns, index)


def _rank(group: Any) -> tuple[int, bool, Any]:
    return (_ORDER.index(group) if group in _ORDER else len(_ORDER), isinstance(group, str), group)


def _describe(table: pd.DataFrame, results: list[Scores], name: str) -> pd.DataFrame:
    """Say in words which counts add up, and where the last row is not the score itself."""
    counts = [c for c in ("dialogues", "turns", "gold", "predicted", "tp", "fp", "fn") if c in table]
    additive = [c for c in counts if table[c].iloc[:-1].sum() == table[c].iloc[-1]]
    left_out = [m.key for m in results[0].metrics if m.key not in table]
    differs: dict[str, float] = {}
    if len(results) == 1:
        own = {str(key): results[0][key] for key in table if key in results[0].table.index}
        differs = {
            k: v for k, v in own.items() if not np.isclose(table[k].iloc[-1], v, 0, 1e-9, equal_nan=True)
        }
    systems = ", ".join(dict.fromkeys(s.system for s in results))
    text = [f"{systems} by {name.replace('_', ' ')}, protocol {results[0].protocol.name}."]
    if additive:
        text.append(f"These counts add up to the row '{ALL}': {', '.join(additive)}.")
    text.append("Scores do not add up: each is computed from its own row's counts.")
    if "tp" in table and any(m.counts is count_fuzzy for m in results[0].metrics):
        text.append("Triples are counted by exact values, while the protocol also accepts similar ones.")
    if differs:
        said = ", ".join(f"{key} {value:.4f}" for key, value in differs.items())
        text.append(f"The row '{ALL}' is not the protocol's own score in these: {said}.")
    if left_out:
        keys = dict.fromkeys(key.split("/")[0] for key in left_out)
        text.append(f"Left out, because parts have no such score: {', '.join(keys)}.")
    table.attrs = {"caption": " ".join(text), "additive": additive, "left_out": left_out, "differs": differs}
    return table


# Groups -------------------------------------------------------------------------------------------


def _labels(scores: Scores, by: str | pd.Series) -> pd.Series:
    """Label every scored turn with its group; a turn with several acts has several labels."""
    turns = scores.coverage.turns[_TURN].reset_index(drop=True)
    ids, corpus = turns["dialogue_id"], scores.gold
    group: Any
    if isinstance(by, pd.Series):
        group = _own_labels(by, ids)
    elif by == "turn":
        group = turns["turn"]
    elif by == "length":
        counts = counts_of(scores, bleu_counts, "text")
        turns = counts.index.to_frame(index=False)
        bounds = [-1, *_LENGTHS.values()]
        group = pd.cut(counts["bleu_response_length"], bounds, labels=list(_LENGTHS)).astype("str")
    elif by in ("act", "domain"):
        acts = corpus_of(scores).acts
        if acts.empty:
            mend = 'group by "length" or "turn"'
            raise UsageError(f"{corpus.id} has no dialogue acts to group responses by", mend=mend)
        own = acts.loc[acts["speaker"] == "system", [*_TURN, by]]
        own = own.assign(group=own.pop(by).str.lower()).drop_duplicates()
        turns = turns.merge(own, on=_TURN, how="left")
        group = turns["group"].fillna("none")
    elif by in ("language", "corpus", "system"):
        corpus = corpus_of(scores)
        constant = {"language": corpus.language, "corpus": corpus.id, "system": scores.system}
        group = pd.Series(constant[by], index=turns.index, dtype="str")
    else:
        corpus = corpus_of(scores)
        of_goals, of_states = (
            t.groupby("dialogue_id")["domain"].nunique() for t in (corpus.goals, corpus.states)
        )
        group = ids.map(of_goals).fillna(ids.map(of_states)).fillna(0).astype("int64")
        if by == "type":
            types = corpus.dialogues.drop_duplicates("dialogue_id").set_index("dialogue_id")["type"]
            amount = pd.Series(np.where(group > 1, "multi", "single"), dtype="str")
            types = types.reindex(ids).fillna("").set_axis(ids.index)
            group = types.where(types != "", amount)
    return pd.Series(group.array, index=pd.MultiIndex.from_frame(turns[_TURN]))


def _own_labels(labels: pd.Series, ids: pd.Series) -> pd.Series:
    if not labels.index.is_unique or labels.index.nlevels > 1:
        got = "a repeated or double index"
        raise UsageError("own groups", expected="one label for each dialogue id", got=got)
    group = ids.map(labels)
    if group.isna().any():
        lacking = sorted(ids[group.isna()].unique())
        mend = "give every dialogue a label, if only 'other'"
        raise UsageError(f"{len(lacking):,} scored dialogues have no group, such as {lacking[0]}", mend=mend)
    return group


def _unseen(scores: Scores, pair: StatePair, side: Triples, training: Corpus | None) -> np.ndarray:
    """Return 0 for the triples of a side whose value training has, and 1 for others."""
    if training is None:
        mend = 'pass training=load_corpus(…, split="train")'
        raise UsageError("seen_value needs the corpus that the system was trained on", mend=mend)
    gold = gold_of(training, scores.protocol.gold, scores.protocol.steps)
    columns = ["domain", "slot", "value"]
    known = pd.MultiIndex.from_frame(pd.concat([gold.states[columns], gold.alternatives[columns]]))
    n_values = max(len(pair.values), 1)
    found, which = np.unique(side.slot * n_values + side.value, return_inverse=True)
    here = pair.slots.iloc[found // n_values][["domain", "slot"]]
    here["value"] = np.asarray(pair.values, dtype=object)[found % n_values]
    return (~pd.MultiIndex.from_frame(here).isin(known)).astype("int64")[which]


def pair_of(scores: Scores, task: str = "state") -> Any:
    """Return what was compared, or say which protocol would have it."""
    if not hasattr(scores, "pairs"):
        mend = 'make them with de.score(gold, predictions, "lin2021")'
        raise UsageError("scores", expected="Scores", got=show(scores), mend=mend)
    if task not in scores.pairs:
        what, name = {"state": ("states", "lin2021"), "text": ("responses", "lai2019")}[task]
        mend = f"score under a protocol for {what}, such as {name}"
        raise UsageError(f"protocol {scores.protocol.name} does not score {what}", mend=mend)
    return scores.pairs[task]


def corpus_of(scores: Scores) -> Corpus:
    """Return the corpus that was scored against."""
    if scores.gold is None:
        raise UsageError("these scores carry no corpus", mend="make them with dialogeval.score")
    return scores.gold


def counts_of(scores: Scores, function: Any, task: str) -> pd.DataFrame:
    """Return the counts of a counting function; a protocol of other metrics has not run it yet."""
    return scores.counts[function] if function in scores.counts else function(pair_of(scores, task))


# Responses ----------------------------------------------------------------------------------------


def count_placeholders(pair: TextPair) -> pd.DataFrame:
    """Count by turn the placeholder names of the reference, and those of them in the response."""
    texts = pd.unique(np.array([*pair.references, *pair.responses], dtype=object))
    names = {text: goal_labels([text]) for text in texts}
    sides = [(names[a], names[b]) for a, b in zip(pair.references, pair.responses, strict=True)]
    wanted, found = [len(a) for a, _ in sides], [len(a & b) for a, b in sides]
    return pd.DataFrame({"placeholders": wanted, "found": found}, index=pair.index, dtype="int64")


def _mean_length(side: str) -> Metric:
    def mean(sums: Sums) -> Any:
        return ratio(sums[f"bleu_{side}_length"], sums["bleu_turns"])

    return Metric(f"{side}_length", f"{side} length", bleu_counts, mean, "tokens", "neither", task="text")


RESPONSE_METRICS = [
    TEXT_METRICS["bleu_4"],
    TEXT_METRICS["bleu_4_sentence"],
    Metric(
        "placeholders_found", "placeholders found", count_placeholders,
        lambda sums: 100 * ratio(sums["found"], sums["placeholders"], empty=np.nan), "per cent", task="text",
    ),
    _mean_length("reference"),
    _mean_length("response"),
]  # fmt: skip

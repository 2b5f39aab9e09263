"""Scores of state tracking: from a `StatePair` to one row of counts a turn, and from sums of counts to values.

The definitions stand here one after the other: exact triples, the evaluation card's slot F1, slots, fuzzy
values, and the frames of the schema-guided track; those of changes between turns in `dialogeval.metrics.changes`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from difflib import SequenceMatcher
from functools import lru_cache, partial
from typing import Any

import numpy as np
import pandas as pd

from dialogeval.exceptions import UnknownNameError
from dialogeval.metrics import (
    Ints,
    Metric,
    Schema,
    StatePair,
    States,
    Sums,
    Triples,
    by_key,
    contains,
    distinct,
    find,
    pair_states,
    pair_states_from_lists,
    ratio,
    share,
)
from dialogeval.metrics.changes import CHANGE_METRICS, DEY, count_changes, judge_turns, new_triples
from dialogeval.mwzeval import alike

#: Names of the family that other modules take from here.
__all__ = [
    "CHANGE_METRICS",
    "Schema",
    "StatePair",
    "Triples",
    "contains",
    "count_changes",
    "distinct",
    "judge_turns",
    "new_triples",
    "pair_states",
    "pair_states_from_lists",
]

LIN = "Lin & Chen 2021, arXiv:2101.11360"
#: Two values match from this partial ratio on, in whole per cent: when it is above 95.
THRESHOLD = 96


# Triples ------------------------------------------------------------------------------------------


def count_triples(pair: StatePair) -> pd.DataFrame:
    """Count by turn: ``turns`` (1), ``exact`` (P = G), ``tp`` = |P∩G|, ``fp`` = |P−G|, ``fn`` = |G−P|."""
    tp = pair.per_turn(pair.gold, pair.gold_in_pred)
    fn = pair.per_turn(pair.gold) - tp
    fp = pair.per_turn(pair.pred) - tp
    return pair.counts(turns=1, exact=((fn == 0) & (fp == 0)).astype("int64"), tp=tp, fp=fp, fn=fn)


def count_slot_f1(pair: StatePair, slots: str, keyed: str, empty: str) -> pd.DataFrame:
    """Count by turn: the turn's mean F1 over its slots, and whether the turn is averaged."""
    code = pd.factorize(pair.slots["slot"])[0] if keyed == "name" else np.arange(len(pair.slots))
    n_values = max(len(pair.values), 1)

    def keys(side: Triples) -> Ints:
        # Ignoring the domain may make two triples one, hence the second `distinct`.
        return distinct((side.turn * pair.width + code[side.slot]) * n_values + side.value)

    gold, pred = keys(pair.gold), keys(pair.pred)
    gold_slot, pred_slot = gold // n_values, pred // n_values
    averaged_slots = distinct(np.concatenate([gold_slot, pred_slot]) if slots == "union" else gold_slot)

    def count(slot_keys: Ints) -> Ints:
        place, here = find(averaged_slots, slot_keys)
        return np.bincount(place[here], minlength=len(averaged_slots))

    f1 = ratio(2 * count(gold_slot[contains(pred, gold)]), count(gold_slot) + count(pred_slot))
    n = pair.slots_per_turn(averaged_slots)
    total = np.bincount(averaged_slots // pair.width, weights=f1, minlength=len(pair))
    mean = ratio(total, n, empty=1.0 if empty == "1" else 0.0)
    averaged = (n > 0).astype("int64") if empty == "skip" else np.ones(len(pair), "int64")
    tag = f"slot_f1[{slots},{keyed},{empty}]"
    return pair.counts(**{f"{tag}_sum": mean * averaged, f"{tag}_turns": averaged})


@lru_cache
def slot_f1_metric(slots: str = "gold", keyed: str = "name", empty: str = "0") -> Metric:
    """Return the metric ``slot_f1`` with its three switches, which its signature carries."""
    known = {"slots": ("gold", "union"), "keyed": ("name", "domain-slot"), "empty": ("0", "1", "skip")}
    chosen = dict(zip(known, (slots, keyed, str(empty)), strict=True))
    for switch, choice in chosen.items():
        if choice not in known[switch]:
            raise UnknownNameError(f"choice of slot_f1's {switch}", choice, known[switch])
    tag = f"slot_f1[{slots},{keyed},{empty}]"
    return Metric(
        "slot_f1",
        "Slot F1",
        partial(count_slot_f1, slots=slots, keyed=keyed, empty=str(empty)),
        share(f"{tag}_sum", f"{tag}_turns"),
        source=f"evaluation card crosswoz-dst-eval, after {LIN}",
        options=tuple(chosen.items()),
    )


def micro_averages(
    counts: Callable[[StatePair], pd.DataFrame],
    source: str,
    prefix: str = "",
    kind: str = "micro",
    empty: float = 0.0,
) -> list[Metric]:
    """Return precision, recall and F1 over all turns from columns ``tp``, ``fp`` and ``fn``."""
    tp, fp, fn = (prefix + name for name in ("tp", "fp", "fn"))
    mark = f" ({kind})"
    of_parts = "" if kind == "micro" else mark
    return [
        Metric(key, label, counts, share(part, whole, empty=empty), source=source)
        for key, label, part, whole in (
            ("slot_precision", f"Slot P{of_parts}", tp, f"{tp} {fp}"),
            ("slot_recall", f"Slot R{of_parts}", tp, f"{tp} {fn}"),
            ("slot_f1_micro", f"Slot F1{mark}", f"{tp} {tp}", f"{tp} {tp} {fp} {fn}"),
        )
    ]


STATE_METRICS = by_key(
    Metric("joint_goal_accuracy", "JGA", count_triples, share("exact", "turns"), source=LIN),
    slot_f1_metric(),
    *micro_averages(count_triples, "DSTC9; ConvLab"),
)
JGA = STATE_METRICS["joint_goal_accuracy"]
precision, recall, micro_f1 = (
    STATE_METRICS[key].value for key in ("slot_precision", "slot_recall", "slot_f1_micro")
)


# Slots --------------------------------------------------------------------------------------------


def count_slot_errors(pair: StatePair) -> pd.DataFrame:
    """Count as TRADE does: what is missed, and what is wrong elsewhere than in a missed slot."""
    missed, wrong = pair.gold.take(~pair.gold_in_pred), pair.pred.take(~pair.pred_in_gold)
    fresh = ~contains(distinct(pair.slot_key(missed)), pair.slot_key(wrong))
    return pair.counts(
        ontology_slots=pair.n_slots,
        slots_missed=pair.per_turn(missed),
        slots_wrong=pair.per_turn(wrong, fresh),
    )


def slot_accuracy(sums: Sums) -> Any:
    """(S − missed − wrong) / S."""
    slots = sums["ontology_slots"]
    return ratio(slots - sums["slots_missed"] - sums["slots_wrong"], slots)


def count_average_goal(pair: StatePair) -> pd.DataFrame:
    """Count by turn: ``aga_sum`` = |P∩G| / |G|, and ``aga_turns``, 1 where G is not empty."""
    size = pair.per_turn(pair.gold)
    right = ratio(pair.per_turn(pair.gold, pair.gold_in_pred), size)
    return pair.counts(aga_sum=right, aga_turns=(size > 0).astype("int64"))


def count_relative_slots(pair: StatePair) -> pd.DataFrame:
    """Count by turn: ``rsa_sum`` = (T − M − W) / T over the slots T of either state, and ``rsa_turns``, 1."""
    gold, pred = distinct(pair.slot_key(pair.gold)), distinct(pair.slot_key(pair.pred))
    absent = pair.slots_per_turn(gold[~contains(pred, gold)])
    total = pair.slots_per_turn(pred) + absent
    wrong = pair.per_turn(pair.pred, ~pair.pred_in_gold)
    return pair.counts(rsa_sum=ratio(total - absent - wrong, total), rsa_turns=1)


def count_compared(pair: StatePair) -> pd.DataFrame:
    """Count as DSTC9 does: ``compared_slots``, all of a turn's annotation, and ``compared_right`` of them."""
    lost = pair.slot_key(pair.gold.take(~pair.gold_in_pred))
    invented = pair.slot_key(pair.pred.take(~pair.pred_in_gold))
    wrong = pair.slots_per_turn(distinct(np.concatenate([lost, invented])))
    return pair.counts(compared_slots=pair.n_slots, compared_right=pair.n_slots - wrong)


_TRADE, _KIM = "Wu et al. 2019 (TRADE)", "Kim et al. 2022, arXiv:2203.03123"
_AGA, _DSTC9 = f"Rastogi et al. 2020; {DEY}", "DSTC9 track 2, official scorer"

SLOT_METRICS = by_key(
    Metric("slot_accuracy", "Slot accuracy", count_slot_errors, slot_accuracy, source=_TRADE),
    Metric("average_goal_accuracy", "AGA", count_average_goal, share("aga_sum", "aga_turns"), source=_AGA),
    Metric("relative_slot_accuracy", "RSA", count_relative_slots, share("rsa_sum", "rsa_turns"), source=_KIM),
)
_COMPARED = share("compared_right", "compared_slots")
#: DSTC9's scores, by the keys of the ones they take the place of: precision, recall and F1 are 1
#: where there is nothing to divide by.
DSTC9_METRICS = by_key(
    JGA,
    Metric("slot_accuracy", "Slot accuracy", count_compared, _COMPARED, source=_DSTC9),
    *micro_averages(count_triples, _DSTC9, empty=1.0),
)


# Fuzzy values -------------------------------------------------------------------------------------


def count_fuzzy(pair: StatePair) -> pd.DataFrame:
    """Count by turn the slots with a matching value, as MultiWOZ_Evaluation does."""
    gold, pred = (
        pd.DataFrame({"slot": pair.slot_key(side), "value": side.value}) for side in (pair.gold, pair.pred)
    )
    both = gold.merge(pred, on="slot", suffixes=("", "_predicted"))
    codes, pairs = pd.factorize(both["value"] * len(pair.values) + both["value_predicted"])
    values = (pair.values[code] for code in np.divmod(pairs.to_numpy(), max(len(pair.values), 1)))
    match = np.array([g == p or alike(g, p, THRESHOLD) for g, p in zip(*values, strict=True)], dtype=bool)
    slots = (gold["slot"], pred["slot"], both["slot"][match[codes]])
    n_gold, n_pred, tp = (pair.slots_per_turn(distinct(keys.to_numpy())) for keys in slots)
    exact = ((n_gold == tp) & (n_pred == tp)).astype("int64")
    return pair.counts(
        fuzzy_turns=1, fuzzy_exact=exact, fuzzy_tp=tp, fuzzy_fp=n_pred - tp, fuzzy_fn=n_gold - tp
    )


_MWZ = "Nekvinda & Dušek 2021 (MultiWOZ_Evaluation)"
_FUZZY_JGA = share("fuzzy_exact", "fuzzy_turns")
#: By the keys of the exact scores, whose place they take in a protocol with fuzzy values.
FUZZY_METRICS = by_key(
    Metric("joint_goal_accuracy", "JGA (fuzzy)", count_fuzzy, _FUZZY_JGA, source=_MWZ),
    *micro_averages(count_fuzzy, _MWZ, prefix="fuzzy_", kind="fuzzy"),
)


# Frames of the schema-guided track ----------------------------------------------------------------

_FRAME = ["dialogue_id", "turn", "domain"]
#: What FuzzyWuzzy deletes before it compares: the upper half of Latin-1.
_DELETED = dict.fromkeys(range(128, 256))


def token_sort_ratio(gold: str, predicted: str) -> int:
    """Return FuzzyWuzzy's ratio of two strings whose words are sorted, in whole per cent."""
    texts = (re.sub(r"\W", " ", t.translate(_DELETED)).lower().split() for t in (gold, predicted))
    first, second = (" ".join(sorted(words)) for words in texts)
    return round(100 * SequenceMatcher(None, first, second).ratio())


def count_frames(pair: StatePair) -> pd.DataFrame:
    """Sum the judgements of each turn's frames, a frame being a service that gold has a state of."""
    schema = pair.schema
    assert schema is not None
    slot = [*_FRAME, "slot"]
    gold, predicted = pair.tables()
    free = pd.MultiIndex.from_frame(schema.free[["domain", "slot"]])
    both = pd.concat([gold, schema.alternatives]).merge(predicted, on=slot, suffixes=("", "_predicted"))
    both["score"] = (both["value"] == both["value_predicted"]).astype(float)
    fuzzy = (both["score"] < 1) & pd.MultiIndex.from_frame(both[["domain", "slot"]]).isin(free)
    values = both.loc[fuzzy, ["value", "value_predicted"]]
    scores = {two: token_sort_ratio(*two) / 100 for two in set(values.itertuples(index=False, name=None))}
    both.loc[fuzzy, "score"] = [scores[two] for two in values.itertuples(index=False, name=None)]
    # A slot that only one side fills scores 0.
    filled = pd.concat([gold.assign(score=0.0, filled=True), predicted.assign(score=0.0, filled=False)])
    slots = pd.concat([filled, both.assign(filled=False)]).groupby(slot)[["score", "filled"]].max()

    def by_turn(scores: pd.Series) -> pd.DataFrame:
        return scores.groupby(_FRAME[:2]).agg(["sum", "size"]).reindex(pair.index, fill_value=0)

    joint = by_turn(slots["score"].groupby(_FRAME).prod())
    average = by_turn(slots["score"][slots["filled"]].groupby(_FRAME).mean())
    # Frames that neither side fills are right.
    right = joint["sum"] + schema.services - joint["size"]
    return pair.counts(
        frames=schema.services,
        frames_joint=right,
        frames_filled=average["size"],
        frames_average=average["sum"],
    )


_SGD = "Rastogi et al. 2020 (DSTC8 track 4), arXiv:2002.01359"
_FRAMES_AGA = share("frames_average", "frames_filled")
#: By the keys of the scores whose place they take.
FRAME_METRICS = by_key(
    Metric("joint_goal_accuracy", "JGA", count_frames, share("frames_joint", "frames"), source=_SGD),
    Metric("average_goal_accuracy", "AGA", count_frames, _FRAMES_AGA, source=_SGD),
)


# Plain lists --------------------------------------------------------------------------------------


def score_lists(metric: Metric, predictions: States, golds: States, **pairing: Any) -> float:
    """Score plain lists with any state metric; keyword arguments go to the pairing."""
    counts = metric.counts(pair_states_from_lists(predictions, golds, **pairing))
    return float(metric.value(dict(counts.sum())))


def joint_goal_accuracy(predictions: States, golds: States) -> float:
    """Share of turns whose predicted state equals the gold state as a set of triples.

    Parameters
    ----------
    predictions, golds : sequence of sets of (domain, slot, value), length n
        Cumulative states, one a turn.

    Returns
    -------
    float
        In [0, 1]; 0 for no turns. A turn with both states empty counts as right.

    References
    ----------
    Lin & Chen 2021, arXiv:2101.11360 (evaluation card crosswoz-dst-eval).

    Examples
    --------
    >>> gold = [{("hotel", "area", "north")}, {("hotel", "area", "north"), ("hotel", "stars", "4")}]
    >>> joint_goal_accuracy([gold[0], gold[0]], gold)
    0.5
    """
    return score_lists(JGA, predictions, golds)


def slot_f1(
    predictions: States, golds: States, *, slots: str = "gold", keyed: str = "name", empty: str = "0"
) -> float:
    """Mean over turns of the mean over a turn's slots of F1 between gold and predicted values.

    Parameters
    ----------
    predictions, golds : sequence of sets of (domain, slot, value), length n
    slots : {"gold", "union"}
        Average over the slots of the gold state (the card's recipe: what is predicted beside them
        is never looked at), or of both states.
    keyed : {"name", "domain-slot"}
        Take ``area`` of all domains for one slot (the card), or each domain's for its own.
    empty : {"0", "1", "skip"}
        What a turn without any slot to average scores; ``skip`` leaves it out.

    Returns
    -------
    float
        In [0, 1].

    References
    ----------
    Evaluation card crosswoz-dst-eval, after Lin & Chen 2021, arXiv:2101.11360.

    Examples
    --------
    >>> slot_f1([{("hotel", "area", "north")}], [{("hotel", "area", "north"), ("hotel", "stars", "4")}])
    0.5
    """
    return score_lists(slot_f1_metric(slots, keyed, empty), predictions, golds)


def slot_scores(predictions: States, golds: States) -> dict[str, float]:
    """Micro-averaged precision, recall and F1 of the triples of all turns.

    Parameters
    ----------
    predictions, golds : sequence of sets of (domain, slot, value), length n

    Returns
    -------
    dict
        ``slot_precision``, ``slot_recall``, ``slot_f1_micro``, each in [0, 1].

    Examples
    --------
    >>> slot_scores([{("hotel", "area", "north")}], [{("hotel", "area", "south")}])["slot_f1_micro"]
    0.0
    """
    keys = ("slot_precision", "slot_recall", "slot_f1_micro")
    return {k: score_lists(STATE_METRICS[k], predictions, golds) for k in keys}

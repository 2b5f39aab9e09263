"""What the tables of metrics say of each score, written down a second time."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, fields

import pytest
from test_task import pair_of

from dialogeval.metrics import Metric, TextPair
from dialogeval.metrics.states import (
    CHANGE_METRICS,
    DSTC9_METRICS,
    FUZZY_METRICS,
    SLOT_METRICS,
    STATE_METRICS,
    pair_states_from_lists,
)
from dialogeval.metrics.task import LEADERBOARD
from dialogeval.protocols import metric_table

DOMAINS = ("restaurant", "hotel", "attraction", "train", "taxi", "police", "hospital")
GOAL = [
    f"goal_{s}{a}" for a in ("", "_macro", "_samples", "_weighted") for s in ("precision", "recall", "f1")
]
BLEU = ["bleu_1", "bleu_2", "bleu_3", "bleu_4", "bleu_4_sentence", "bleu_4_card", "sacrebleu"]
TRIPLES = ["slot_precision", "slot_recall", "slot_f1_micro"]
FLEXIBLE = [f"flexible_goal_accuracy{weight}" for weight in ("@0.25", "", "@0.75", "@1")]
STATES = ["joint_goal_accuracy", "slot_f1", *TRIPLES]
STATES += ["slot_accuracy", "average_goal_accuracy", "relative_slot_accuracy"]
STATES += [*FLEXIBLE, "turn_goal_accuracy", "granular_change_accuracy"]
RATES = [rate + part for part in ("", *(f"/{d}" for d in DOMAINS)) for rate in ("inform", "success")]

#: (task, unit, better, resample, additive): keys.
FACTS = {
    ("state", "fraction", "higher", "bootstrap", True): STATES,
    ("text", "per cent", "higher", "bootstrap", True): [*BLEU, "bleu", *GOAL],
    ("text", "per cent", "higher", "jackknife", False): [
        *("distinct_1", "distinct_2", "distinct_2_per_token", "distinct_utterances")
    ],
    ("text", "tokens", "neither", "bootstrap", False): ["avg_length"],
    ("text", "types", "higher", "jackknife", False): [f"unique_{n}grams" for n in (1, 2, 3)],
    ("text", "bits", "higher", "jackknife", False): ["entropy", "cond_bigram_entropy"],
    ("text", "fraction", "higher", "none", False): ["msttr_50"],
    ("task", "per cent", "higher", "bootstrap", True): RATES,
    ("task", "points", "higher", "bootstrap", True): ["combined"],
}


def fact(metric: Metric) -> tuple[str, str, str, str, bool]:
    return metric.task, metric.unit, metric.better, metric.resample, metric.additive


def test_facts_of_every_metric() -> None:
    metrics = metric_table()
    facts = {key: fact(m) for key, m in metrics.items()}
    assert facts == {key: given for given, keys in FACTS.items() for key in keys}
    assert all(m.key == key for key, m in metrics.items())
    assert {key for key, m in metrics.items() if m.options} == {"slot_f1"}
    assert {key: [p.key for p in m.parts] for key, m in metrics.items() if m.parts} == {
        "combined": ["inform", "bleu"]
    }
    assert metrics["combined"].functions == (metrics["inform"].counts, metrics["sacrebleu"].counts)


def test_metrics_stand_in_the_order_of_reports() -> None:
    assert list(metric_table())[: len(STATES)] == STATES
    assert [*STATE_METRICS, *SLOT_METRICS, *CHANGE_METRICS] == STATES
    rates = [f"{rate}/{domain}" for rate in ("inform", "success") for domain in DOMAINS[:5]]
    assert list(LEADERBOARD) == ["bleu", "inform", "success", "combined", *rates]


def test_other_definitions_take_the_place_of_scores_of_the_same_kind() -> None:
    assert list(FUZZY_METRICS) == ["joint_goal_accuracy", *TRIPLES]
    assert list(DSTC9_METRICS) == ["joint_goal_accuracy", "slot_accuracy", *TRIPLES]
    for metric in (*FUZZY_METRICS.values(), *DSTC9_METRICS.values()):
        assert fact(metric) == next(iter(FACTS))


def test_texts_are_split_at_white_space_unless_said_otherwise() -> None:
    pair = TextPair(["d"], [0], ["a, b"], ["a, b"])
    assert (pair.tokenizer, pair.order, pair_of({}, []).source) == ("space", None, "predicted")


def test_what_is_shared_cannot_be_changed() -> None:
    pair = pair_states_from_lists([], [])
    for shared in (STATE_METRICS["slot_f1"], TextPair([], [], [], []), pair, pair.gold, pair_of({}, [])):
        with pytest.raises(FrozenInstanceError):
            setattr(shared, fields(shared)[0].name, None)

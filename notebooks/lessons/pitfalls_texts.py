"""What lesson 6 does to responses and scores to show what a definition hides.

In: texts, `Predictions`, `Scores`. Out: the same texts counted in other ways, predictions with one
thing changed, small tables. Nothing here is a score to report.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from dialogeval.exceptions import UsageError
from dialogeval.metrics import ratio
from dialogeval.metrics.goals import goal_labels
from dialogeval.metrics.task import OFFERED_BY, active_domains
from dialogeval.metrics.text import distinct_n
from dialogeval.placeholders import canonicalize_placeholders
from dialogeval.scoring import Scores
from dialogeval.tables import Corpus, Predictions, table
from lessons.example_generators import with_responses

__all__ = [
    "batch_mean",
    "by_amount",
    "from_states_only",
    "placeholders_first",
    "random_inform",
    "slots_of_turn",
]

_WHERE = ["dialogue_id", "turn"]
_NEEDED = "offer"


def by_amount(responses: Sequence[str], shares: Sequence[float] = (0.1, 0.25, 0.5, 1.0)) -> pd.DataFrame:
    """Compute the diversity of the first part of some responses.

    Parameters
    ----------
    responses : sequence of str
    shares : sequence of float

    Returns
    -------
    pandas.DataFrame
        Indexed by share, as text; ``responses``, ``tokens``, ``types`` (different words), and D-1, D-2
        and D-2 per token in per cent.

    Examples
    --------
    >>> by_amount(["a b", "a b", "a b", "c d"], [0.5, 1.0])["D-1"].tolist()
    [50.0, 50.0]
    """
    rows = {}
    for share in shares:
        part = list(responses[: max(round(share * len(responses)), 1)])
        tokens = [token for text in part for token in text.split()]
        rows[f"{share:.0%}"] = {
            "responses": len(part),
            "tokens": len(tokens),
            "types": len(set(tokens)),
            "D-1": distinct_n(part, 1),
            "D-2": distinct_n(part, 2),
            "D-2 per token": distinct_n(part, 2, per="token"),
        }
    table_ = pd.DataFrame.from_dict(rows, orient="index").rename_axis("of the responses")
    return table_.astype({"responses": "int64", "tokens": "int64", "types": "int64"})


def batch_mean(responses: Sequence[str], function: Callable[[list[str]], float], size: int) -> float:
    """Average a score over batches, as a training loop's log does.

    Parameters
    ----------
    responses : sequence of str
    function : callable
        From a list of responses to a number.
    size : int
        Responses in a batch; the last one may be smaller.

    Returns
    -------
    float

    Examples
    --------
    >>> batch_mean(["a", "a", "b", "b"], lambda texts: distinct_n(texts, 1), 2)
    50.0
    """
    if size < 1:
        raise UsageError("size", expected="a whole number from 1", got=str(size))
    texts = list(responses)
    return float(np.mean([function(texts[i : i + size]) for i in range(0, len(texts), size)]))


def placeholders_first(predictions: Predictions) -> Predictions:
    """Return a system that names all placeholders of a dialogue in its first response and then is silent.

    Parameters
    ----------
    predictions : Predictions
        With responses.

    Returns
    -------
    Predictions

    Examples
    --------
    >>> own = table("responses", [("d", 0, "hello"), ("d", 1, "[hotel_name] in the [hotel_area]")])
    >>> placeholders_first(Predictions("a", responses=own)).responses["response"].tolist()
    ['AREA NAME', '']
    """
    own = predictions.responses
    if own is None:
        raise UsageError(f"{predictions.name} holds no responses")
    texts = canonicalize_placeholders(own["response"].tolist())[0]
    names = pd.Series(texts, index=own.index, dtype="str").groupby(own["dialogue_id"])
    joined = names.agg(lambda said: " ".join(sorted(goal_labels(said))))
    first = own.sort_values(_WHERE, kind="stable").drop_duplicates("dialogue_id").index
    said = own["dialogue_id"].map(joined).where(own.index.isin(first), "")
    return with_responses(predictions, said.astype("str").tolist(), "all slots at once")


def slots_of_turn(scores: Scores) -> pd.Series:
    """Score placeholders turn by turn instead of by dialogue.

    Parameters
    ----------
    scores : Scores
        Of a protocol for responses.

    Returns
    -------
    pandas.Series
        Micro ``precision``, ``recall`` and ``f1`` in per cent, a placeholder counting only in the turn
        in which the reference has it.

    Examples
    --------
    >>> from dialogeval import load_corpus, score
    >>> from lessons.example_generators import gold_responses
    >>> gold = load_corpus("sample/multiwoz")
    >>> slots_of_turn(score(gold, gold_responses(gold), "lai2019", resamples=0))["f1"]
    np.float64(100.0)
    """
    pair = scores.pairs["text"]
    sides = [
        (goal_labels([a]), goal_labels([b])) for a, b in zip(pair.references, pair.responses, strict=True)
    ]
    tp, fp, fn = (
        sum(map(len, part)) for part in zip(*((a & b, b - a, a - b) for a, b in sides), strict=True)
    )
    rates = {"precision": (tp, tp + fp), "recall": (tp, tp + fn), "f1": (2 * tp, 2 * tp + fp + fn)}
    return pd.Series({name: 100 * float(ratio(part, whole)) for name, (part, whole) in rates.items()})


def from_states_only(corpus: Corpus) -> Corpus:
    """Return a corpus whose references are delexicalised otherwise: by values, without annotated spans.

    Parameters
    ----------
    corpus : Corpus

    Returns
    -------
    Corpus
        The system's side without spans and acts, so that only values of the state are looked for in
        the text: another version of the same references.

    Examples
    --------
    >>> from dialogeval import delexicalize, load_corpus
    >>> gold = load_corpus("sample/multiwoz")
    >>> bool((delexicalize(from_states_only(gold))["response"] != delexicalize(gold)["response"]).any())
    True
    """
    return replace(corpus, spans=table("spans"), acts=table("acts"))


def random_inform(scores: Scores, seeds: int) -> pd.Series:
    """Score Inform as evaluators did that draw one of the matching venues at random.

    Parameters
    ----------
    scores : Scores
        With Inform.
    seeds : int
        How often: seeds 0, 1, … are used.

    Returns
    -------
    pandas.Series
        Inform in per cent, indexed by seed. A venue drawn is kept until it no longer fits the state;
        a domain is matched if the one that is drawn last fits the goal.

    Examples
    --------
    >>> from dialogeval import load_corpus, load_predictions
    >>> from dialogeval.leaderboard import task_scores
    >>> mine = load_predictions("sample/predictions/multiwoz/generator_template.json.gz")
    >>> drawn = random_inform(task_scores(load_corpus("sample/multiwoz"), mine)[0], 2)
    >>> drawn.index.tolist()
    [0, 1]
    """
    pair = scores.pairs["task"]
    steps, goals = _offer_steps(pair), _goals(pair)
    results = {}
    for seed in range(seeds):
        draw = random.Random(seed)
        good = [_reached(goal, steps.get(name, []), pair.database, draw) for name, goal in goals.items()]
        results[seed] = 100 * float(np.mean(good)) if good else float("nan")
    return pd.Series(results, name="inform").rename_axis("seed")


# Helpers ------------------------------------------------------------------------------------------


def _goals(pair: Any) -> dict[str, dict[str, dict[str, str] | None]]:
    """Informed slots by dialogue and domain; None where a domain has no choice of entries.

    ``offer`` among a train's slots: its number is requested, so there must be an offer.
    """
    goals: dict[str, dict[str, dict[str, str] | None]] = {}
    here = set(pair.dialogue_id)
    for name, domain, kind, slot, value in pair.goals.itertuples(index=False):
        if name not in here:
            continue
        goal = goals.setdefault(name, {})
        wish = goal.setdefault(domain, {} if domain in OFFERED_BY else None)
        if kind == "inform" and wish is not None:
            wish[slot] = value
        if domain == "train" and kind == "request" and slot in ("trainid", "id") and wish is not None:
            wish[_NEEDED] = ""
    return goals


def _offer_steps(pair: Any) -> dict[str, list[tuple[str, dict[str, str] | None]]]:
    """By dialogue, in order: the domain in which a turn makes an offer, and its state."""
    states: dict[tuple[str, int], dict[str, dict[str, str]]] = {}
    for name, turn, domain, slot, value in pair.states.itertuples(index=False):
        states.setdefault((name, turn), {}).setdefault(domain, {})[slot] = value
    turns: dict[str, list[tuple[int, str]]] = {}
    for name, turn, text in zip(pair.dialogue_id, pair.turn, pair.responses, strict=True):
        turns.setdefault(name, []).append((turn, text))
    named: dict[tuple[str, int], list[str]] = {}
    if pair.active is not None:
        for name, turn, domain in pair.active.itertuples(index=False):
            named.setdefault((name, turn), []).append(domain)
    steps: dict[str, list[tuple[str, dict[str, str] | None]]] = {}
    for name, said in turns.items():
        if pair.active is None:
            guessed = active_domains(states.get((name, turn), {}) for turn, _ in said)
            named |= {(name, turn): [d] if d else [] for (turn, _), d in zip(said, guessed, strict=True)}
        steps[name] = [
            (domain, states.get((name, turn), {}).get(domain))
            for turn, text in said
            for domain in named.get((name, turn), [])
            if domain in OFFERED_BY and OFFERED_BY[domain] in text
        ]
    return steps


def _reached(goal: dict, steps: list, database: Any, draw: random.Random) -> bool:
    drawn: dict[str, int] = {}
    for domain, state in steps:
        fitting = database.fitting(domain, state) if state is not None else 0
        if fitting and not drawn.get(domain, 0) & fitting:
            bits = [i for i in range(fitting.bit_length()) if fitting >> i & 1]
            drawn[domain] = 1 << draw.choice(bits)
    return all(
        wish is None
        or "name" in wish
        or (domain == "train" and domain not in drawn and _NEEDED not in wish)
        or bool(
            drawn.get(domain, 0) & database.fitting(domain, {k: v for k, v in wish.items() if k != _NEEDED})
        )
        for domain, wish in goal.items()
    )

"""Responses by part: goal labels one by one, turns with their own numbers, other scores of the same texts.

In: `Scores` of a protocol for responses. Out: tables.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pandas as pd

from ..counting import value_table
from ..exceptions import UnknownNameError, UsageError
from ..metrics import ratio
from ..metrics.goal import goal_counts
from ..metrics.text import bleu_counts
from ..protocols import metric_table
from ..scoring import SEED, Scores

__all__ = ["add_metrics", "best_and_worst", "by_label", "turn_table"]


def by_label(scores: Scores) -> pd.DataFrame:
    """Return goal precision, recall and F1 by label, that is by placeholder name.

    Parameters
    ----------
    scores : Scores
        Of a protocol for responses.

    Returns
    -------
    pandas.DataFrame
        Indexed by label, most reference dialogues first; labels on neither side are left out.
        ``references``, ``responses``: dialogues that mention it; ``tp``, ``fp``, ``fn``;
        ``precision``, ``recall``, ``f1`` in per cent.

    Raises
    ------
    UsageError
        Scores of states.

    Examples
    --------
    >>> from dialogeval.metrics.pairs import TextPair
    >>> by = _by_label(goal_counts(TextPair(["d"], [0], ["NAME in AREA"], ["NAME"])))
    >>> by["recall"].to_dict()
    {'AREA': 0.0, 'NAME': 100.0}
    """
    return _by_label(_text_counts(scores, goal_counts))


def turn_table(scores: Scores) -> pd.DataFrame:
    """Return reference and response of every turn, as they were compared, with the turn's own numbers.

    Parameters
    ----------
    scores : Scores
        Of a protocol for responses.

    Returns
    -------
    pandas.DataFrame
        dialogue_id, turn, reference, response; ``sentence_bleu``: the turn's BLEU-4 with
        ``method1`` smoothing, per cent; ``reference_length``, ``response_length`` in tokens.

    Raises
    ------
    UsageError
        Scores of states.

    Examples
    --------
    >>> from dialogeval.metrics.pairs import TextPair
    >>> int(bleu_counts(TextPair(["d"], [0], ["a b"], ["a"]))["bleu_response_length"].iloc[0])
    1
    """
    counts = _text_counts(scores, bleu_counts)
    table = counts.index.to_frame(index=False)
    table["reference"] = pd.Series(list(_pair(scores, "text").references), dtype="str")
    table["response"] = pd.Series(list(_pair(scores, "text").responses), dtype="str")
    table["sentence_bleu"] = 100 * counts["bleu_sentence"].to_numpy()
    for side in ("reference", "response"):
        table[f"{side}_length"] = counts[f"bleu_{side}_length"].to_numpy()
    return table


def best_and_worst(scores: Scores, most: int = 5, tokens: int = 5) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the turns of highest and of lowest sentence BLEU-4.

    Parameters
    ----------
    scores : Scores
        Of a protocol for responses.
    most : int, default=5
        Turns of each.
    tokens : int, default=5
        Turns with a shorter reference are passed over, and so is a pair of texts seen before:
        farewells that are alike by custom say little about a system.

    Returns
    -------
    best, worst : pandas.DataFrame
        As `turn_table`; of equal scores the longer reference first.

    Raises
    ------
    UsageError
        Scores of states.

    Examples
    --------
    >>> from dialogeval.scoring import score
    >>> from dialogeval.tables import Corpus, table
    >>> gold = Corpus("toy", family="pairs", turns=table("turns", [("d", 0, "", "a b c d e", 0)]))
    >>> best, worst = best_and_worst(score(gold, gold, "lai2019", resamples=0))
    >>> best["sentence_bleu"].tolist()
    [100.0]
    """
    table = turn_table(scores)
    table = table[table["reference_length"] >= tokens].drop_duplicates(["reference", "response"])
    by = ["sentence_bleu", "reference_length", "dialogue_id", "turn"]
    best = table.sort_values(by, ascending=[False, False, True, True], ignore_index=True)
    worst = table.sort_values(by, ascending=[True, False, True, True], ignore_index=True)
    return best.head(most), worst.head(most)


def add_metrics(scores: Scores, keys: Sequence[str], resamples: int = 0, seed: int = SEED) -> pd.DataFrame:
    """Return other scores of the same texts or states: one pair, several definitions side by side.

    Parameters
    ----------
    scores : Scores
    keys : sequence of str
        Metrics of the same task, also those that the protocol has.
    resamples : int, default=0
    seed : int

    Returns
    -------
    pandas.DataFrame
        As `Scores.table`. The values are those of the pair as this protocol has normalised it.

    Raises
    ------
    UnknownNameError
        No such metric.
    UsageError
        A metric of states, and the protocol has scored responses alone; or the reverse.

    Examples
    --------
    >>> from dialogeval.scoring import score
    >>> from dialogeval.tables import Corpus, table
    >>> gold = Corpus("toy", family="pairs", turns=table("turns", [("d", 0, "", "see you", 0)]))
    >>> add_metrics(score(gold, gold, "lai2019", resamples=0), ["bleu_1", "bleu_4_card"])["value"].round(1).tolist()
    [100.0, 0.0]
    """
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

"""Responses one by one: each turn with its own numbers, goal labels, and what a response misses.

In: `Scores` of a protocol for texts. Out: tables.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import pandas as pd

from dialogeval.analysis.breakdowns import Scores, counts_of, pair_of
from dialogeval.metrics.goals import goal_counts, goal_labels
from dialogeval.metrics.states import micro_f1, precision, recall
from dialogeval.metrics.text import bleu_counts, splitter


def turn_table(scores: Scores) -> pd.DataFrame:
    """Return reference and response of every turn, as they were compared, with the turn's own numbers."""
    pair, counts = pair_of(scores, "text"), counts_of(scores, bleu_counts, "text")
    table = counts.index.to_frame(index=False)
    table["reference"] = pd.Series(list(pair.references), dtype="str")
    table["response"] = pd.Series(list(pair.responses), dtype="str")
    table["sentence_bleu"] = 100 * counts["bleu_sentence"].to_numpy()
    for side in ("reference", "response"):
        table[f"{side}_length"] = counts[f"bleu_{side}_length"].to_numpy()
    return table


def by_label(scores: Scores) -> pd.DataFrame:
    """Return goal precision, recall and F1 (per cent) by label, that is by placeholder name."""
    sums = counts_of(scores, goal_counts, "text").sum()
    names = [c.removeprefix("goal_tp_") for c in sums.index if c.startswith("goal_tp_")]
    tp, fp, fn = (
        sums[[f"goal_{kind}_{n}" for n in names]].set_axis(names).astype("int64")
        for kind in ("tp", "fp", "fn")
    )
    table = pd.DataFrame({"references": tp + fn, "responses": tp + fp, "tp": tp, "fp": fp, "fn": fn})
    triples: Any = {"tp": tp, "fp": fp, "fn": fn}
    rates = {"precision": precision, "recall": recall, "f1": micro_f1}
    table = table.assign(**{name: 100 * value(triples) for name, value in rates.items()})
    table = table[table["references"] + table["responses"] > 0].rename_axis("label")
    return table.sort_values("references", ascending=False, kind="stable")


def missed(scores: Scores) -> pd.DataFrame:
    """Return every turn with the words and placeholders of the reference that its response lacks."""
    table, split = turn_table(scores), splitter(scores.protocol.tokenizer)
    rows = []
    for reference, response in zip(table["reference"], table["response"], strict=True):
        words = Counter(split(reference)) - Counter(split(response))
        wanted, said = goal_labels([reference]), goal_labels([response])
        names = [" ".join(sorted(found)) for found in (wanted - said, said - wanted)]
        rows.append((" ".join(words.elements()), *names))
    columns = ["missed_words", "missed_placeholders", "extra_placeholders"]
    return table.join(pd.DataFrame(rows, table.index, columns, dtype="str"))

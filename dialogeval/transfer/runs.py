"""Trackers carried from one corpus to another: scores as they are and aligned, and each loss with its cause.

In: corpora, or predictions. Out: a `Transfer` for each pair of (trained on, scored on).
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache

import pandas as pd

from ..alignment import (
    Alignment,
    Attribution,
    attribute_losses,
    load_alignment,
    map_predictions,
    ontology_name,
)
from ..alignment.attribution import is_exact
from ..corpora import load_corpus
from ..exceptions import UsageError
from ..predictions import load_predictions
from ..protocols import find_protocol
from ..scoring import RESAMPLES, SEED, score
from ..tables import Corpus, Predictions, as_predictions, table
from ..trackers import train_value_matcher, value_matching_tracker
from .data import Training, alignment_and_file

__all__ = ["METRICS", "Found", "Transfer", "carry_annotations", "carry_predictions", "carry_trackers"]

#: Scores of a protocol that stages are followed in, as far as it has them.
METRICS = ("joint_goal_accuracy", "slot_f1", "slot_f1_micro")
#: Corpora of the same dialogues: a corpus and its translation.
_PARALLEL = (frozenset(("multiwoz", "multiwoz_zh")), frozenset(("crosswoz", "crosswoz_en")))


@dataclass(frozen=True)
class Transfer:
    """One system on one corpus.

    Parameters
    ----------
    source, target : str
        The corpus (or ontology) that it comes from, and the one it is scored on.
    attribution : Attribution
        Raw and aligned scores, and every loss with its cause.
    stages : pandas.DataFrame
        A row a score of `Scores.table`; columns ``raw``, ``names``, ``values``, ``aligned``: nothing
        mapped, slots renamed, values of the same language converted too, and all of it.
    """

    source: str
    target: str
    attribution: Attribution
    stages: pd.DataFrame


Found = Mapping[tuple[str, str], Transfer]


def carry_trackers(
    training: Mapping[str, Training],
    gold: Mapping[str, Corpus],
    protocol: str = "lin2021",
    *,
    resamples: int = RESAMPLES,
    seed: int = SEED,
) -> dict[tuple[str, str], Transfer]:
    """Train a value-matching tracker on each corpus and score it on each, raw and aligned.

    A tracker is scored on the dialogues that it was not trained on, in whatever language: the others
    are left out, and the signature says so.

    Parameters
    ----------
    training, gold : mapping
        As `load_data` returns them.
    protocol : str
        One that `attribute_losses` takes.
    resamples, seed : int

    Returns
    -------
    dict of (str, str) to Transfer
        By name of what the tracker was trained on, and of what it was scored on.

    Raises
    ------
    UsageError
        A protocol without exact joint goal accuracy.

    Examples
    --------
    >>> from dialogeval.transfer import Training
    >>> turns = table("turns", [("d", 0, "an inn in the north", "ok", 0)])
    >>> states = table("states", [("d", 0, "hotel", "area", "north")])
    >>> data = {"multiwoz": Training(Corpus("multiwoz", turns=turns, states=states), "toy")}
    >>> other = table("turns", [("e", 0, "go north", "ok", 0)])
    >>> found = carry_trackers(data, {"multiwoz_zh": Corpus("multiwoz_zh", turns=other)}, resamples=0)
    >>> found["multiwoz", "multiwoz_zh"].attribution.losses["value"].tolist()
    ['north']
    """
    _check_protocol(protocol)
    found = {}
    for source, data in training.items():
        matcher = train_value_matcher(data.corpus)
        known = data.corpus.dialogues["dialogue_id"]
        for target, corpus in gold.items():
            ids = corpus.dialogues["dialogue_id"]
            fresh = corpus.select(ids[~ids.isin(known)].tolist()) if ids.isin(known).any() else corpus
            name = f"value matching, trained on {source} ({data.how})"
            predicted = replace(value_matching_tracker(matcher, fresh), name=name)
            rule = "skip" if fresh is not corpus else None
            alignment = load_alignment(f"{source}__{target}")
            found[source, target] = _transfer(
                source, target, corpus, predicted, alignment, protocol, rule, resamples, seed
            )
    return found


def carry_predictions(
    corpus: str,
    predictions: str,
    split: str = "test",
    protocol: str = "lin2021",
    *,
    home: str | os.PathLike[str] | None = None,
    missing: str | None = None,
    resamples: int = RESAMPLES,
    seed: int = SEED,
) -> dict[tuple[str, str], Transfer]:
    """Score a file of predictions, written in the slots of another ontology, raw and aligned.

    Parameters
    ----------
    corpus, predictions, home, split
        As for `check_inputs`.
    protocol : str
    missing : {"error", "empty", "skip"}, optional
    resamples, seed : int

    Returns
    -------
    dict of (str, str) to Transfer
        One entry.

    Raises
    ------
    UsageError, UnknownNameError, DataFileError, AlignmentError, CoverageError

    Examples
    --------
    >>> file = "sample/predictions/multiwoz/tracker_careful.json.gz"
    >>> found = carry_predictions("sample/multiwoz_zh", file, resamples=0)
    >>> found["multiwoz", "multiwoz_zh"].stages.round(2).loc["slot_f1"].tolist()
    [0.0, 0.17, 0.17, 0.64]
    """
    _check_protocol(protocol)
    name, path = alignment_and_file(corpus, predictions)
    alignment = load_alignment(name)
    predicted = load_predictions(path, home=home)
    gold = load_corpus(corpus, split, home=home)
    named = replace(predicted, name=f"{predicted.name} ({alignment.source})")
    ends = alignment.source, alignment.target
    rule = missing or None
    return {ends: _transfer(*ends, gold, named, alignment, protocol, rule, resamples, seed)}


def carry_annotations(
    gold: Mapping[str, Corpus], protocol: str = "lin2021", *, resamples: int = RESAMPLES, seed: int = SEED
) -> dict[tuple[str, str], Transfer]:
    """Score the annotation of a corpus on its translation: what a perfect tracker loses to labels.

    Parameters
    ----------
    gold : mapping of str to Corpus
        As `load_data` returns it.
    protocol : str
    resamples, seed : int

    Returns
    -------
    dict of (str, str) to Transfer
        An entry for each direction of two parallel corpora that are both among them.

    Examples
    --------
    >>> carry_annotations({"sample/crosswoz": load_corpus("sample/crosswoz")})
    {}
    """
    found = {}
    for source, ours in gold.items():
        for target, theirs in gold.items():
            if frozenset(ontology_name(n) for n in (source, target)) in _PARALLEL:
                said = as_predictions(ours, f"annotation of {source}")
                alignment = load_alignment(f"{source}__{target}")
                found[source, target] = _transfer(
                    source, target, theirs, said, alignment, protocol, None, resamples, seed
                )
    return found


# Helpers ------------------------------------------------------------------------------------------


def _check_protocol(protocol: str) -> None:
    if not is_exact(find_protocol(protocol)):
        mend = "choose lin2021, trade or convlab"
        raise UsageError(f"protocol {protocol} has no exact joint goal accuracy over all slots", mend=mend)


def _transfer(
    source: str,
    target: str,
    gold: Corpus,
    predicted: Predictions,
    alignment: Alignment,
    protocol: str,
    missing: str | None,
    resamples: int,
    seed: int,
) -> Transfer:
    found = attribute_losses(
        gold, predicted, alignment, protocol, missing=missing, resamples=resamples, seed=seed
    )
    stages = {"raw": found.raw.table["value"]}
    for stage in ("names", "values"):
        mapped = map_predictions(predicted, alignment, stage)
        stages[stage] = score(gold, mapped, protocol, missing=missing, resamples=0).table["value"]
    stages["aligned"] = found.aligned.table["value"]
    return Transfer(source, target, found, pd.DataFrame(stages))


@cache
def _example() -> Found:
    """Two turns in English and in Chinese, for the examples of the tables."""
    turns = table("turns", [("d", n, "", "", 0) for n in (0, 1)])
    values = {"multiwoz": ("hotel", "area", "north"), "multiwoz_zh": ("旅馆", "区域", "北方")}
    states = {name: table("states", [("d", 1, *triple)]) for name, triple in values.items()}
    corpora = {name: Corpus(name, turns=turns, states=rows) for name, rows in states.items()}
    return carry_annotations(corpora, resamples=0)

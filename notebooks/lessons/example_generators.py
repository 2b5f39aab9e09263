"""Generators for the lessons to look at: those that come with a corpus, and some made up from its gold.

In: a corpus, perhaps a file of the user's. Out: predictions by system name.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace

import pandas as pd

from dialogeval.delex import delexicalize
from dialogeval.exceptions import UsageError
from dialogeval.leaderboard import published
from dialogeval.tables import Corpus, Predictions
from lessons.example_systems import gather_systems

__all__ = ["example_generators", "gold_responses", "next_response", "with_responses"]

_TURN = ["dialogue_id", "turn"]
_SIMULATED = ("generator_template", "generator_verbose", "generator_bland", "baseline_nearest_neighbour")


def example_generators(
    corpus: Corpus, predictions: str | os.PathLike[str] = "", home: str | os.PathLike[str] | None = None
) -> dict[str, Predictions]:
    """Return generators of a corpus to compare, the one to look at first.

    Parameters
    ----------
    corpus : Corpus
    predictions : path-like, optional
        A file of the user's, or a name; it comes first.
    home : path-like, optional
        Folder of the data.

    Returns
    -------
    dict of str to Predictions
        By system name, at least two: what was asked for; for a sample corpus the simulated generators
        and baselines that come with it, for the test set of MultiWOZ 2.x the published systems that
        are here; where that is fewer than two, `next_response` and `gold_responses`.

    Raises
    ------
    DialogevalError
        ``predictions`` cannot be read, or holds no responses.

    Examples
    --------
    >>> from dialogeval import load_corpus
    >>> list(example_generators(load_corpus("sample/multiwoz")))[:2]
    ['generator_template', 'generator_verbose']
    """
    return gather_systems(
        corpus,
        predictions,
        home,
        "responses",
        _SIMULATED,
        published().index,
        lambda gold: (next_response(gold), gold_responses(gold)),
    )


def gold_responses(corpus: Corpus, name: str = "gold") -> Predictions:
    """Return a system that says what the corpus says, delexicalised, and predicts no states.

    Inform and Success then use the gold states, as for every system without states of its own.

    Parameters
    ----------
    corpus : Corpus
    name : str, default="gold"

    Returns
    -------
    Predictions

    Examples
    --------
    >>> from dialogeval import load_corpus, score
    >>> gold = load_corpus("sample/multiwoz")
    >>> round(score(gold, gold_responses(gold), "lai2019", resamples=0)["goal_f1"], 6)
    100.0
    """
    return Predictions(name, turns=corpus.turns[_TURN], responses=delexicalize(corpus))


def next_response(corpus: Corpus) -> Predictions:
    """Return a system that gives the reference of the turn that follows, and nothing in the last turn.

    Parameters
    ----------
    corpus : Corpus

    Returns
    -------
    Predictions

    Examples
    --------
    >>> from dialogeval import load_corpus, score
    >>> gold = load_corpus("sample/multiwoz")
    >>> score(gold, next_response(gold), "lai2019", resamples=0)["bleu_4"] < 50
    True
    """
    texts = delexicalize(corpus)
    ordered = texts.sort_values(_TURN, kind="stable")
    ahead = ordered.groupby("dialogue_id")["response"].shift(-1).fillna("")
    return Predictions(
        "one turn ahead", turns=corpus.turns[_TURN], responses=texts.assign(response=ahead.astype("str"))
    )


def with_responses(predictions: Predictions, responses: Sequence[str], name: str = "") -> Predictions:
    """Return the predictions with other responses, in the order of ``predictions.responses``.

    Parameters
    ----------
    predictions : Predictions
    responses : sequence of str
    name : str, optional

    Returns
    -------
    Predictions

    Raises
    ------
    UsageError
        The predictions have no responses, or not as many.

    Examples
    --------
    >>> from dialogeval.tables import table
    >>> mine = Predictions("a", responses=table("responses", [("d", 0, "hello")]))
    >>> with_responses(mine, ["bye"], "b").responses["response"].tolist()
    ['bye']
    """
    own = predictions.responses
    if own is None or len(own) != len(responses):
        raise UsageError(
            "responses",
            expected=f"{0 if own is None else len(own):,}, one for each of {predictions.name}",
            got=f"{len(responses):,}",
        )
    texts = own.assign(response=pd.Series(list(responses), index=own.index, dtype="str"))
    return replace(predictions, responses=texts, name=name or predictions.name, path="", format="")


# Helpers ------------------------------------------------------------------------------------------

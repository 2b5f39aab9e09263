"""Baselines by name: simple trackers and generators, so that every lesson runs without a GPU.

In: a training corpus and a corpus to predict. Out: `Predictions`, the same at every run. The
trackers that learn stand in ``trackers.py``, the generators in ``generators.py``.
"""

from __future__ import annotations

from collections.abc import Callable

from .exceptions import UnknownNameError
from .generators import most_frequent_response, nearest_neighbour_generator, ngram_generator
from .tables import Corpus, Predictions, table
from .trackers import ValueMatcher, train_value_matcher, value_matching_tracker

__all__ = [
    "BASELINES",
    "GENERATORS",
    "TRACKERS",
    "ValueMatcher",
    "carry_over_tracker",
    "empty_tracker",
    "most_frequent_response",
    "nearest_neighbour_generator",
    "ngram_generator",
    "run_baseline",
    "train_value_matcher",
    "value_matching_tracker",
]


def run_baseline(name: str, train: Corpus, test: Corpus) -> Predictions:
    """Train a baseline on one corpus and let it predict another.

    Parameters
    ----------
    name : str
        A key of `BASELINES`.
    train, test : Corpus

    Returns
    -------
    Predictions
        States from a tracker, delexicalised responses from a generator.

    Raises
    ------
    UnknownNameError
        No such baseline.
    UsageError
        The training corpus has nothing to learn from.

    Examples
    --------
    >>> toy = Corpus("toy", turns=table("turns", [("d", 0, "hello", "hi", 0)]))
    >>> run_baseline("most-frequent", toy, toy)
    Predictions(most-frequent: 1 dialogues, 1 turns; responses)
    """
    if name not in BASELINES:
        raise UnknownNameError("baseline", name, BASELINES)
    return BASELINES[name](train, test)


def empty_tracker(corpus: Corpus) -> Predictions:
    """Predict an empty state at every turn: right wherever the gold state is empty.

    Parameters
    ----------
    corpus : Corpus

    Returns
    -------
    Predictions

    Examples
    --------
    >>> toy = Corpus("toy", turns=table("turns", [("d", 0, "hello", "hi", 0)]))
    >>> len(empty_tracker(toy).states)
    0
    """
    return Predictions("empty", corpus.turns[["dialogue_id", "turn"]], table("states"), format="baseline")


def carry_over_tracker(corpus: Corpus) -> Predictions:
    """Predict the gold state of the turn before: always one turn late, empty at the first.

    It reads the gold states, so it is no system but a yardstick: its score is the share of turns
    in which nothing changed.

    Parameters
    ----------
    corpus : Corpus

    Returns
    -------
    Predictions

    Examples
    --------
    >>> toy = Corpus("toy", turns=table("turns", [("d", 0, "inn", "ok", 0), ("d", 1, "bye", "bye", 0)]),
    ...     states=table("states", [("d", 0, "hotel", "area", "north"), ("d", 1, "hotel", "area", "south")]))
    >>> carry_over_tracker(toy).states.values.tolist()
    [['d', 1, 'hotel', 'area', 'north']]
    """
    turns = corpus.turns[["dialogue_id", "turn"]]
    # By position in the dialogue, not by number: the turns of a selection need not be consecutive.
    ordered = turns.sort_values(["dialogue_id", "turn"], kind="stable")
    following = ordered.assign(next=ordered.groupby("dialogue_id")["turn"].shift(-1)).dropna()
    late = corpus.states.merge(following, on=["dialogue_id", "turn"])
    states = late.assign(turn=late["next"].astype("int64"))[list(corpus.states.columns)]
    return Predictions("carry-over", turns, states, format="baseline")


def _value_matching(train: Corpus, test: Corpus) -> Predictions:
    return value_matching_tracker(train_value_matcher(train), test)


Runner = Callable[[Corpus, Corpus], Predictions]
#: Baselines that predict states, by name; each takes a training and a test corpus.
TRACKERS: dict[str, Runner] = {
    "empty": lambda train, test: empty_tracker(test),
    "carry-over": lambda train, test: carry_over_tracker(test),
    "value-matching": _value_matching,
}
#: Baselines that predict delexicalised responses.
GENERATORS: dict[str, Runner] = {
    "most-frequent": most_frequent_response,
    "nearest-neighbour": nearest_neighbour_generator,
    "ngram": ngram_generator,
}
BASELINES: dict[str, Runner] = TRACKERS | GENERATORS

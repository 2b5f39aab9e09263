"""Common slips in the evaluation of state tracking, repeated on purpose so that their effect can be measured.

In: predictions, states or a corpus. Out: the same, changed in one respect that a lesson names. Each
function does what is found in published code; none is a way to score.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace

import pandas as pd

from dialogeval.corpora.load import load_corpus
from dialogeval.exceptions import DialogevalError
from dialogeval.normalize import normalize_states
from dialogeval.tables import Corpus, Predictions

__all__ = [
    "known_values",
    "only_known",
    "other_versions",
    "updates",
    "with_states",
    "with_triple",
    "without_dialogues",
    "without_last_turns",
]

_SLOT = ["domain", "slot"]
_VERSIONS = ("multiwoz20", "multiwoz21")


def updates(states: pd.DataFrame) -> pd.DataFrame:
    """Return what is new in each turn: the triples that the previous turn of the dialogue lacks.

    Parameters
    ----------
    states : pandas.DataFrame
        Cumulative.

    Returns
    -------
    pandas.DataFrame
        Some of its rows.

    Examples
    --------
    >>> from dialogeval.tables import table
    >>> rows = [("d", 0, "hotel", "area", "north"), ("d", 1, "hotel", "area", "north"), ("d", 1, "hotel", "stars", "4")]
    >>> updates(table("states", rows))[["turn", "slot"]].values.tolist()
    [[0, 'area'], [1, 'stars']]
    """
    before = states.assign(turn=states["turn"] + 1).drop_duplicates()
    marked = states.merge(before, how="left", indicator="side")
    return marked[marked["side"] == "left_only"].drop(columns="side").reset_index(drop=True)


def known_values(corpus: Corpus, home: str | os.PathLike[str] | None = None) -> tuple[pd.DataFrame, str]:
    """Return the values that a tracker could know without the test set, and where they are from.

    Parameters
    ----------
    corpus : Corpus
    home : path-like, optional

    Returns
    -------
    pandas.DataFrame
        domain, slot, value: those of the validation split where it is here, else of the corpus's
        ontology.
    str
        Which of the two it was.

    Examples
    --------
    >>> known_values(load_corpus("sample/multiwoz"))[1]
    'the validation split'
    """
    try:
        other = load_corpus(corpus.name, split="val", home=home)
    except DialogevalError:
        return corpus.ontology, "the corpus's own ontology"
    return other.states[[*_SLOT, "value"]].drop_duplicates(ignore_index=True), "the validation split"


def only_known(states: pd.DataFrame, values: pd.DataFrame, steps: tuple[str, ...]) -> pd.DataFrame:
    """Map values outside a list to ``none``, that is, drop them.

    Parameters
    ----------
    states : pandas.DataFrame
    values : pandas.DataFrame
        domain, slot, value.
    steps : tuple of str
        Normalisation of both sides before they are compared; the result is normalised.

    Returns
    -------
    pandas.DataFrame

    Examples
    --------
    >>> from dialogeval.tables import table
    >>> states = table("states", [("d", 0, "hotel", "area", "North"), ("d", 0, "hotel", "area", "moon")])
    >>> only_known(states, table("ontology", [("hotel", "area", "north")]), ("case:lower",))["value"].tolist()
    ['north']
    """
    listed = normalize_states(values.assign(dialogue_id="", turn=0), steps)[[*_SLOT, "value"]]
    return normalize_states(states, steps).merge(listed.drop_duplicates(), on=[*_SLOT, "value"])


def with_states(predictions: Predictions, states: pd.DataFrame, name: str = "") -> Predictions:
    """Return the predictions with other states.

    Parameters
    ----------
    predictions : Predictions
    states : pandas.DataFrame
    name : str, optional

    Returns
    -------
    Predictions

    Examples
    --------
    >>> with_states(Predictions("a"), pd.DataFrame(), "b").name
    'b'
    """
    return replace(predictions, states=states, name=name or predictions.name, path="", format="")


def with_triple(predictions: Predictions, triple: tuple[str, str, str], name: str = "") -> Predictions:
    """Return predictions that have one triple more in every turn.

    Parameters
    ----------
    predictions : Predictions
    triple : (domain, slot, value)
    name : str, optional

    Returns
    -------
    Predictions

    Examples
    --------
    >>> from dialogeval.tables import table
    >>> tracker = Predictions("a", turns=table("predicted_turns", [("d", 0)]), states=table("states"))
    >>> with_triple(tracker, ("hotel", "sauna", "yes")).states.values.tolist()
    [['d', 0, 'hotel', 'sauna', 'yes']]
    """
    domain, slot, value = triple
    more = predictions.turns[["dialogue_id", "turn"]].assign(domain=domain, slot=slot, value=value)
    states = pd.concat([predictions.states, more], ignore_index=True)
    return with_states(predictions, states, name)


def without_dialogues(predictions: Predictions, dialogue_ids: Sequence[str]) -> Predictions:
    """Return predictions from which some dialogues are missing, as if the system had crashed on them.

    Parameters
    ----------
    predictions : Predictions
    dialogue_ids : sequence of str

    Returns
    -------
    Predictions

    Examples
    --------
    >>> from dialogeval.tables import table
    >>> tracker = Predictions("a", turns=table("predicted_turns", [("d", 0), ("e", 0)]), states=table("states"))
    >>> len(without_dialogues(tracker, ["d"]).turns)
    1
    """
    gone = set(dialogue_ids)
    turns = predictions.turns[~predictions.turns["dialogue_id"].isin(gone)].reset_index(drop=True)
    return _with_turns(predictions, turns)


def without_last_turns(predictions: Predictions) -> Predictions:
    """Return predictions in which every dialogue of several turns lacks its last one.

    Parameters
    ----------
    predictions : Predictions

    Returns
    -------
    Predictions

    Examples
    --------
    >>> from dialogeval.tables import table
    >>> tracker = Predictions("a", turns=table("predicted_turns", [("d", 0), ("d", 1), ("e", 0)]), states=table("states"))
    >>> without_last_turns(tracker).turns.values.tolist()
    [['d', 0], ['e', 0]]
    """
    turns = predictions.turns
    last = turns.groupby("dialogue_id")["turn"].transform("max")
    return _with_turns(predictions, turns[(turns["turn"] < last) | (last == 0)].reset_index(drop=True))


def _with_turns(predictions: Predictions, turns: pd.DataFrame) -> Predictions:
    assert predictions.states is not None
    states = predictions.states.merge(turns[["dialogue_id", "turn"]], on=["dialogue_id", "turn"])
    return replace(predictions, turns=turns, states=states, path="", format="")


def other_versions(corpus: Corpus, home: str | os.PathLike[str] | None = None) -> dict[str, Corpus]:
    """Return the versions of MultiWOZ that are here and annotate the same dialogues as a corpus.

    Parameters
    ----------
    corpus : Corpus
    home : path-like, optional

    Returns
    -------
    dict of str to Corpus
        By name, the corpus itself among them; that one alone where no other version is here.

    Examples
    --------
    >>> list(other_versions(load_corpus("sample/multiwoz")))
    ['sample/multiwoz']
    """
    found = {corpus.name: corpus}
    for name in _VERSIONS if corpus.name in _VERSIONS else ():
        try:
            other = load_corpus(name, split=corpus.split, home=home)
        except DialogevalError:
            continue
        if set(other.dialogues["dialogue_id"]) == set(corpus.dialogues["dialogue_id"]):
            found.setdefault(name, other)
    return dict(sorted(found.items()))

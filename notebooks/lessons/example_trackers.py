"""Trackers for the lessons to look at: those that come with a corpus, and some made up from its gold.

In: a corpus, perhaps a file of the user's. Out: predictions by system name. What is wrong with a
made-up tracker is known, so a lesson can say what a score should show of it.
"""

from __future__ import annotations

import os

from dialogeval.tables import Corpus, Predictions
from lessons.example_systems import gather_systems

__all__ = ["disguise", "example_trackers", "first_slot_lost", "one_turn_late"]

_TURN = ["dialogue_id", "turn"]
_SLOT = ["domain", "slot"]
_SIMULATED = ("tracker_careful", "tracker_sloppy", "tracker_stale", "tracker_renamed", "tracker_offers")
_BASELINES = ("baseline_carry_over", "baseline_value_matching")
#: Shared systems of MultiWOZ that carry states.
_PUBLISHED = ("ubar", "augpt", "damd", "pptod", "soloist", "uniconv")


def example_trackers(
    corpus: Corpus,
    predictions: str | os.PathLike[str] = "",
    home: str | os.PathLike[str] | None = None,
) -> dict[str, Predictions]:
    """Return trackers of a corpus to compare, the one to look at first.

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
        By system name, at least two: what was asked for; for a sample corpus the simulated trackers
        and baselines that come with it, for MultiWOZ 2.x the published systems that are here; where
        that is fewer than two, `one_turn_late` and `first_slot_lost`.

    Raises
    ------
    DialogevalError
        ``predictions`` cannot be read, or holds no states.

    Examples
    --------
    >>> from dialogeval import load_corpus
    >>> list(example_trackers(load_corpus("sample/crosswoz_en")))[:2]
    ['tracker_careful', 'tracker_sloppy']
    """
    return gather_systems(
        corpus,
        predictions,
        home,
        "states",
        (*_SIMULATED, *_BASELINES),
        _PUBLISHED,
        lambda gold: (one_turn_late(gold), first_slot_lost(gold)),
    )


def one_turn_late(corpus: Corpus) -> Predictions:
    """Return a tracker that is right, one turn late.

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
    >>> score(gold, one_turn_late(gold), "lin2021", resamples=0)["joint_goal_accuracy"] < 0.5
    True
    """
    places = corpus.turns[_TURN]
    late = corpus.states.assign(turn=corpus.states["turn"] + 1).merge(places, on=_TURN)
    return Predictions("one turn late", turns=places, states=late)


def first_slot_lost(corpus: Corpus) -> Predictions:
    """Return a tracker that is right, but never learns the slot that its dialogue fills first.

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
    >>> score(gold, first_slot_lost(gold), "lin2021", resamples=0)["slot_precision"]
    1.0
    """
    ordered = corpus.states.sort_values(_TURN, kind="stable")
    first = ordered.drop_duplicates("dialogue_id")[["dialogue_id", *_SLOT]]
    marked = corpus.states.merge(first, how="left", indicator="side")
    kept = marked[marked["side"] == "left_only"].drop(columns="side").reset_index(drop=True)
    return Predictions("first slot lost", turns=corpus.turns[_TURN], states=kept)


def disguise(corpus: Corpus) -> Predictions:
    """Return a tracker that is right throughout, and writes in its own way.

    Parameters
    ----------
    corpus : Corpus

    Returns
    -------
    Predictions
        In upper case, with blanks around the value, ``9:15`` for ``09:15`` and ``DO N'T CARE``
        for ``dontcare``.

    Examples
    --------
    >>> from dialogeval.tables import Corpus, table
    >>> rows = [("d", 0, "taxi", "leaveat", "09:15"), ("d", 0, "taxi", "departure", "dontcare")]
    >>> disguise(Corpus("toy", states=table("states", rows))).states["value"].tolist()
    [' 9:15 ', " DO N'T CARE "]
    """
    value = corpus.states["value"].replace("dontcare", "do n't care")
    value = value.str.replace(r"^0(\d:\d\d)$", r"\1", regex=True).str.upper()
    states = corpus.states.assign(value=" " + value + " ")
    return Predictions("writes in its own way", turns=corpus.turns[_TURN], states=states)

"""Systems for the lessons to look at: what the user gave, what comes with a corpus, what is made up.

In: a corpus and the names of the systems that suit a lesson. Out: predictions by system name. What
`example_trackers` and `example_generators` share.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence

from dialogeval.corpora.catalog import catalog
from dialogeval.exceptions import UsageError
from dialogeval.locate import locate_predictions
from dialogeval.predictions.load import load_predictions
from dialogeval.resources import resource_dir
from dialogeval.tables import Corpus, Predictions

__all__ = ["gather_systems"]

#: Who predicts which part of `Predictions`.
_MAKERS = {"states": "tracker", "responses": "generator"}


def gather_systems(
    corpus: Corpus,
    predictions: str | os.PathLike[str],
    home: str | os.PathLike[str] | None,
    part: str,
    simulated: Sequence[str],
    published: Iterable[str],
    made_up: Callable[[Corpus], Iterable[Predictions]],
) -> dict[str, Predictions]:
    """Return systems to compare, the one to look at first.

    Parameters
    ----------
    corpus : Corpus
    predictions : path-like
        A file of the user's, or a name; empty for none. It comes first.
    home : path-like or None
        Folder of the data.
    part : {"states", "responses"}
        What the systems have to predict.
    simulated, published : iterable of str
        Systems that come with a sample corpus, and shared systems of MultiWOZ 2.x.
    made_up : callable
        Makes systems from the corpus, for where fewer than two are found.

    Returns
    -------
    dict of str to Predictions
        At least two.

    Raises
    ------
    DialogevalError
        ``predictions`` cannot be read, or lacks the part.

    Examples
    --------
    >>> from dialogeval import load_corpus
    >>> gold = load_corpus("sample/crosswoz_en")
    >>> list(gather_systems(gold, "", None, "states", ["tracker_stale", "tracker_careful"], [], lambda c: []))
    ['tracker_stale', 'tracker_careful']
    """
    found: dict[str, Predictions] = {}
    if predictions:
        mine = load_predictions(predictions, home=home)
        if getattr(mine, part) is None:
            mend = f"give the predictions of a {_MAKERS[part]}"
            raise UsageError(f"{predictions} holds no {part}", mend=mend)
        found[mine.name] = mine
    for path in _known_files(corpus, home, simulated, published):
        other = load_predictions(path, home=home)
        if getattr(other, part) is not None:
            found.setdefault(other.name, other)
    if len(found) < 2:
        for system in made_up(corpus):
            found.setdefault(system.name, system)
    return found


def _known_files(
    corpus: Corpus, home: str | os.PathLike[str] | None, simulated: Sequence[str], published: Iterable[str]
) -> list[str]:
    if corpus.split != "test":
        return []
    if corpus.name.startswith("sample/"):
        folder = f"sample/predictions/{corpus.name.removeprefix('sample/')}"
        here = sorted((path.name for path in (resource_dir("data") / folder).glob("*.gz")), reverse=True)
        # Of two files of a system the last one is its submission, which leaves no slot out, as DSTC9 wants it.
        chosen = (next((n for n in here if n.split(".")[0] == system), "") for system in simulated)
        return [f"{folder}/{name}" for name in chosen if name]
    if corpus.family == "multiwoz" and corpus.language == "en" and "predictions/multiwoz" in catalog():
        names = [f"predictions/multiwoz/{system}" for system in published]
        return [name for name in names if locate_predictions(name, home).exists()]
    return []

"""What trackers are trained on and scored on, and whether it is here.

In: names of corpora, or a file of predictions with the ontology it is written in. Out: corpora.
"""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path

from ..alignment import load_alignment, ontology_name
from ..corpora import load_corpus
from ..corpora.catalog import catalog, local_file, split_parts
from ..exceptions import DataFileError, UnknownNameError, UsageError
from ..locate import require_corpus, require_predictions
from ..scoring import SEED
from ..tables import Corpus

__all__ = ["GROUPS", "Training", "alignment_and_file", "check_inputs", "load_data"]

_NAMES = ("multiwoz", "multiwoz_zh", "crosswoz", "crosswoz_en")
#: What ``corpus`` may say instead of the name of one corpus.
GROUPS = {
    "sample": tuple(f"sample/{name}" for name in _NAMES),
    "real": ("multiwoz21", *_NAMES[1:]),
}
_MEND = "write SOURCE=FILE, such as multiwoz21=mine.jsonl, or SOURCE__TARGET.csv=FILE"


@dataclass(frozen=True)
class Training:
    """What a tracker was trained on.

    Parameters
    ----------
    corpus : Corpus
    how : str
        ``train``, ``val``, or ``half of test``.
    """

    corpus: Corpus
    how: str


def check_inputs(
    corpus: str, predictions: str = "", home: str | os.PathLike[str] | None = None, split: str = "test"
) -> None:
    """Find out whether the report can run on these inputs.

    Parameters
    ----------
    corpus : str
        ``sample``, ``real``, or a corpus of either group; with predictions, any one corpus or path.
    predictions : str
        Empty, or ``SOURCE=FILE``: SOURCE is a corpus (its ontology), ``SOURCE__TARGET``, or the path
        of an alignment file. Files named ``sample/predictions/…`` and ``predictions/…`` need no
        source: it is the corpus that they belong to.
    home : path-like, optional
    split : str

    Raises
    ------
    UnknownNameError, UsageError, DataFileError, AlignmentError
        In one line, what is not known or not there.

    Examples
    --------
    >>> check_inputs("sample")
    >>> check_inputs("sample/crosswoz_en", "mine.jsonl")
    Traceback (most recent call last):
    ...
    dialogeval.exceptions.UsageError: mine.jsonl: nothing says whose slots these are; write SOURCE=FILE, ...
    """
    if predictions:
        name, path = alignment_and_file(corpus, predictions)
        load_alignment(name)
        require_predictions(path, home)
        require_corpus(corpus)
        return
    sources, targets = _chosen(corpus)
    for needed in sources:
        if not _is_here(needed, split, home) and (
            needed in targets or not _training_split(needed, split, home)
        ):
            file = local_file(needed, split_parts(needed, split)[0], home)
            raise DataFileError(
                f"corpus {needed} is not here (split {split})",
                file=file,
                mend=f"run: dialogeval fetch {needed}",
            )


def load_data(
    corpus: str, split: str = "test", home: str | os.PathLike[str] | None = None, seed: int = SEED
) -> tuple[dict[str, Training], dict[str, Corpus]]:
    """Load what trackers are trained on, and what they are scored on.

    Parameters
    ----------
    corpus : str
        ``sample`` or ``real`` for four corpora; the name of one of them to score on that one only.
    split : str
        To score on.
    home : path-like, optional
    seed : int
        Of the halves.

    Returns
    -------
    training : dict of str to Training
        The train split; where it is not here, the validation split; where neither is, half of the
        dialogues of the split that is scored, chosen by seed and dialogue id, so that the halves of two
        parallel corpora are the same dialogues.
    gold : dict of str to Corpus

    Raises
    ------
    UnknownNameError, DataFileError

    Examples
    --------
    >>> training, gold = load_data("sample/crosswoz_en")
    >>> [t.how for t in training.values()], list(gold)
    (['train', 'train', 'train', 'train'], ['sample/crosswoz_en'])
    """
    sources, targets = _chosen(corpus)
    gold = {name: load_corpus(name, split, home=home) for name in targets}
    training = {}
    for name in sources:
        if how := _training_split(name, split, home):
            training[name] = Training(load_corpus(name, how, home=home), how)
        else:
            whole = gold[name] if name in gold else load_corpus(name, split, home=home)
            training[name] = Training(whole.select(_half(whole, seed)), f"half of {split}")
    return training, gold


# Helpers ------------------------------------------------------------------------------------------


def _chosen(corpus: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    for group in GROUPS.values():
        if corpus in group:
            return group, (corpus,)
    if corpus not in GROUPS:
        known = [*GROUPS, *(name for group in GROUPS.values() for name in group)]
        raise UnknownNameError("corpus for trackers", corpus, known)
    return GROUPS[corpus], GROUPS[corpus]


def alignment_and_file(corpus: str, predictions: str) -> tuple[str, str]:
    """Return the name of the alignment and that of the prediction file; see `check_inputs`.

    Examples
    --------
    >>> alignment_and_file("crosswoz_en", "multiwoz21=runs/mine.jsonl")
    ('multiwoz__crosswoz_en', 'runs/mine.jsonl')
    """
    source, sign, path = predictions.partition("=")
    if corpus in GROUPS or not corpus:
        got = corpus or "nothing"
        raise UsageError("corpus", expected="one gold corpus, since predictions are given", got=got)
    if not sign:
        path = predictions
        folder = Path(predictions).parts[:3]
        if folder[:2] == ("sample", "predictions"):
            source = f"sample/{folder[2]}"
        elif folder[:1] == ("predictions",):
            source = folder[1]
        else:
            raise UsageError("nothing says whose slots these are", file=predictions, mend=_MEND)
    whole = source.endswith(".csv") or "__" in source
    return (source if whole else f"{ontology_name(source)}__{ontology_name(corpus)}"), path


def _is_here(name: str, split: str, home: str | os.PathLike[str] | None) -> bool:
    return all(local_file(name, part, home).exists() for part in split_parts(name, split))


def _training_split(name: str, split: str, home: str | os.PathLike[str] | None) -> str:
    """Return the split to train on, or nothing where half of the scored one has to do."""
    known = (s for s in ("train", "val") if s in catalog()[name].splits and s != split)
    return next((s for s in known if _is_here(name, s, home)), "")


def _half(corpus: Corpus, seed: int) -> list[str]:
    def order(dialogue: str) -> str:
        return hashlib.sha256(f"{seed}:{dialogue}".encode()).hexdigest()

    ids = sorted(corpus.dialogues["dialogue_id"], key=order)
    return ids[: len(ids) // 2]

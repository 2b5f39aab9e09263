"""Predictions written in the ontology of the gold that they are scored against.

In: a gold corpus, predictions and an alignment. Out: the predictions mapped through it, once it is sure
that the alignment leads there.
"""

from __future__ import annotations

import os

import pandas as pd

from ..exceptions import UsageError
from ..tables import Corpus, Predictions
from .compose import LANGUAGES, known_slots, load_alignment, ontology_name
from .mapping import map_predictions
from .rules import check_alignment
from .table import Alignment

__all__ = ["align_predictions"]


def align_predictions(
    gold: Corpus, predictions: Predictions, alignment: Alignment | str
) -> tuple[Predictions, Alignment]:
    """Write predicted states in the gold's ontology, where the alignment leads there.

    Parameters
    ----------
    gold : Corpus
    predictions : Predictions
    alignment : Alignment or str

    Returns
    -------
    Predictions
    Alignment

    Raises
    ------
    UsageError, AlignmentError
        It leads elsewhere, or speaks of slots that neither side has.

    Examples
    --------
    >>> from dialogeval.corpora import load_corpus
    >>> from dialogeval.tables import as_predictions
    >>> english, chinese = load_corpus("sample/multiwoz"), load_corpus("sample/multiwoz_zh")
    >>> mapped, _ = align_predictions(chinese, as_predictions(english), "multiwoz__multiwoz_zh")
    >>> mapped.states["domain"].isin(chinese.states["domain"]).all()
    np.True_
    """
    alignment = load_alignment(alignment) if isinstance(alignment, (str, os.PathLike)) else alignment
    ends = ontology_name(alignment.target), ontology_name(gold.name)
    if ends[0] != ends[1] and set(ends) <= set(LANGUAGES):
        mend = "choose an alignment whose target is the gold's ontology"
        raise UsageError(
            f"alignment {alignment.name} leads into {ends[0]}, the gold is {gold.name}", mend=mend
        )
    where = ["domain", "slot"]
    targets = [*map(known_slots, ends), gold.layouts, gold.ontology, gold.states]
    sources = known_slots(ontology_name(alignment.source))
    if len(sources) and predictions.states is not None:
        sources = pd.concat([sources, predictions.states[where].drop_duplicates()])
    check_alignment(
        alignment, sources if len(sources) else None, pd.concat([t[where].drop_duplicates() for t in targets])
    )
    return map_predictions(predictions, alignment), alignment

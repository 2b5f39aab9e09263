"""The error table: every wrong triple of every turn, gold and prediction side by side, with its kind.

In: `Scores` of a protocol for states. Out: one row an error. The kinds exclude each other: they are
tried in the order of `KINDS`, and the first one that holds is the error's.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from ..breakdowns.groups import state_pair_of
from ..breakdowns.states import decode_errors, paired_errors, plain_kinds
from ..scoring import Scores
from .kinds import find_changed, find_elsewhere, find_stale, find_unsaid_gold, find_written
from .runs import life_starts

__all__ = ["KINDS", "classify", "error_kinds", "errors"]

#: Kinds of errors, in the order in which they are tried.
KINDS = {
    "written differently": "both sides have a value, equal but for case, space, punctuation, article, time format "
    "or spelling, or alike by more than 90 of 100 (Indel ratio) with the same digits",
    "gold suspicious": "both sides have a value, and when the error began the predicted one stood in the last two "
    "utterances while gold's had not been said at all; or gold fills the slot otherwise than in the turns "
    "before and after, which agree",
    "stale": "the predicted value was right in an earlier turn and has been kept since, while gold changed it or "
    "gave it up",
    "wrong slot": "a value that gold has in this turn, and the prediction lacks, is predicted in another slot; "
    "both slots have the kind",
    "wrong value": "both sides fill the slot, with different values",
    "missed": "gold fills the slot, the prediction does not",
    "spurious": "the prediction fills the slot, gold does not",
}


def errors(scores: Scores) -> pd.DataFrame:
    """Return every error of every turn, with its kind and the turn where it began.

    Parameters
    ----------
    scores : Scores
        Of a protocol for states.

    Returns
    -------
    pandas.DataFrame
        One row an error, in the order of the turns: dialogue_id, turn, domain, slot, gold,
        predicted (empty strings for no value), kind (see `error_kinds`), ``fn`` and ``fp`` (0 or 1:
        whether the row holds a gold triple that was not predicted, a predicted one that is not
        gold; they sum to FN and FP of the score), ``since`` (turn from which the slot has been
        wrong without a break), ``detail`` (what the kind rests on, in words).

    Raises
    ------
    UsageError
        Scores of responses.

    Notes
    -----
    A gold and a predicted value of one slot and turn that both lack their match are one row. States
    are cumulative: an error is counted in every turn until it is repaired; see `error_lives`.
    Triples are compared exactly, as the protocol has normalised them. *Gold suspicious* is a reason
    to look, not a verdict; without utterances only its second half can be seen.

    Examples
    --------
    >>> from dialogeval.scoring import score
    >>> from dialogeval.tables import Corpus, Predictions, table
    >>> turns = table("turns", [("d", 0, "a cheap inn", "where?", 0)])
    >>> gold = Corpus("toy", turns=turns, states=table("states", [("d", 0, "hotel", "pricerange", "cheap")]))
    >>> pred = Predictions("p", turns=turns, states=table("states", [("d", 0, "hotel", "pricerange", "CHEAP")]))
    >>> errors(score(gold, pred, "lin2021", resamples=0))[["slot", "gold", "predicted", "kind"]].values.tolist()
    [['pricerange', 'cheap', 'CHEAP', 'written differently']]
    """
    return classify(scores, paired_errors(state_pair_of(scores)))


def error_kinds() -> pd.DataFrame:
    """Return the kinds of errors in the order in which they are tried, and what each one means.

    Returns
    -------
    pandas.DataFrame
        Indexed by kind; column ``what it is``.

    Examples
    --------
    >>> list(error_kinds().index)[-2:]
    ['missed', 'spurious']
    """
    return pd.DataFrame({"what it is": pd.Series(KINDS, dtype="str")}).rename_axis("kind")


def classify(scores: Scores, coded: pd.DataFrame) -> pd.DataFrame:
    """Decode errors and name their kinds.

    Parameters
    ----------
    scores : Scores
    coded : pandas.DataFrame
        Errors as `paired_errors` returns them, of whole dialogues.

    Returns
    -------
    pandas.DataFrame
        As `errors`.

    Examples
    --------
    >>> from dialogeval.scoring import score
    >>> from dialogeval.tables import Corpus, table
    >>> scores = score(gold := Corpus("toy", turns=table("turns", [("d", 0, "hi", "ho", 0)])), gold, "lin2021")
    >>> len(classify(scores, paired_errors(scores.pair)))
    0
    """
    pair = state_pair_of(scores)
    turn = pair.index.get_level_values("turn").to_numpy()
    changed, unsaid = find_changed(pair, coded), find_unsaid_gold(scores, coded)
    right_before = find_stale(pair, coded)
    predicted_in, belongs_in = find_elsewhere(pair, coded)
    names = (pair.slots["domain"] + "-" + pair.slots["slot"]).to_numpy(dtype=object)
    holds = [
        find_written(pair, coded),
        unsaid | changed,
        right_before >= 0,
        (predicted_in >= 0) | (belongs_in >= 0),
    ]
    details = [
        np.full(len(coded), "", dtype=object),
        np.where(unsaid, "the prediction was just said, gold never", "gold differs in this turn alone"),
        _name("right until turn ", turn, right_before),
        np.where(
            predicted_in >= 0,
            _name("gold's value is predicted for ", names, predicted_in),
            _name("the predicted value is gold's for ", names, belongs_in),
        ),
    ]
    table = decode_errors(pair, coded)
    table["kind"] = pd.Series(np.select(holds, list(KINDS)[:4], plain_kinds(coded)), dtype="str")
    table["fn"] = (coded["gold"] >= 0).astype("int64")
    table["fp"] = (coded["predicted"] >= 0).astype("int64")
    table["since"] = turn[life_starts(pair, coded)] if len(coded) else np.zeros(0, "int64")
    table["detail"] = pd.Series(np.select(holds, details, ""), dtype="str")
    by = ["row", "domain", "slot", "gold", "predicted"]
    return table.assign(row=coded["row"]).sort_values(by, ignore_index=True).drop(columns="row")


def _name(words: str, names: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """Put a name behind the words wherever there is one (code from 0)."""
    phrases = np.array([f"{words}{name}" for name in names] + [""], dtype=object)
    return phrases[codes]

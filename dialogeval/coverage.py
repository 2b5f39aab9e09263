"""Coverage: which turns of a corpus the predictions cover, and the refusal of what does not fit.

In: a corpus and predictions. Out: the turns to score, with their counts. What is not scored is
counted here, and refused unless the caller has said what to do about it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from .exceptions import CoverageError, UnknownNameError
from .metrics.states import contains, distinct
from .protocols import MISSING
from .tables import Corpus, Predictions

__all__ = ["Coverage", "match_turns"]


@dataclass(frozen=True)
class Coverage:
    """Which turns are scored.

    Parameters
    ----------
    turns : pandas.DataFrame
        dialogue_id, turn, layout and predicted (whether the predictions have the turn).
    dialogues_scored, dialogues_in_corpus, turns_scored, turns_in_corpus : int
    warnings : tuple of str
    """

    turns: pd.DataFrame
    dialogues_scored: int
    dialogues_in_corpus: int
    turns_scored: int
    turns_in_corpus: int
    warnings: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, int]:
        """Return the four counts."""
        keys = ("dialogues_scored", "dialogues_in_corpus", "turns_scored", "turns_in_corpus")
        return {k: getattr(self, k) for k in keys}


def match_turns(gold: Corpus, predictions: Predictions, missing: str = "error") -> Coverage:
    """Find the turns to score and refuse what does not fit.

    Parameters
    ----------
    gold : Corpus
    predictions : Predictions
    missing : {"error", "empty", "skip"}
        What to do with turns of the corpus that the predictions lack: refuse, score them as
        predicted empty, or leave them out.

    Returns
    -------
    Coverage

    Raises
    ------
    CoverageError
        Dialogues or turns that the corpus does not have, or (``missing="error"``) that the
        predictions lack.
    UnknownNameError

    Examples
    --------
    >>> from dialogeval.tables import Corpus, Predictions, table
    >>> gold = Corpus("toy", turns=table("turns", [("d", 0, "hi", "hello", 0), ("d", 1, "bye", "bye", 0)]))
    >>> pred = Predictions("p", turns=table("predicted_turns", [("d", 0)]))
    >>> match_turns(gold, pred, missing="skip").turns_scored
    1
    """
    if missing not in MISSING:
        raise UnknownNameError("missing policy", missing, MISSING)
    have = predictions.turns[["dialogue_id", "turn"]]
    turns = gold.turns[["dialogue_id", "turn", "layout"]]
    here, there, order, codes = _match(turns, have)
    file = predictions.path or predictions.name
    extra = have[~there]
    if len(extra):
        known = set(gold.turns["dialogue_id"])
        extra = extra.sort_values(["dialogue_id", "turn"])
        ids = extra["dialogue_id"].drop_duplicates()
        unknown = [i for i in ids if i not in known]
        if unknown:
            raise _unknown_dialogues(gold, predictions, unknown, known, file)
        first = extra.iloc[0]["dialogue_id"]
        n = int((turns["dialogue_id"] == first).sum())
        own = have.loc[have["dialogue_id"] == first, "turn"]
        more = f" (so have {len(ids) - 1:,} more dialogues)" if len(ids) > 1 else ""
        mend = "turns count from 0: take 1 off every number" if own.min() == 1 and own.max() == n else None
        raise CoverageError(
            f"too many turns{more}",
            file=file,
            dialogue=first,
            turn=int(extra.iloc[0]["turn"]),
            expected=f"{n} turns, 0 to {n - 1}, as in {gold.id}",
            got=f"{len(own)}, up to turn {own.max()}",
            mend=mend,
        )
    warnings = []
    if not here.all():
        lacking = turns[~here].sort_values(["dialogue_id", "turn"])
        got_some = set(have["dialogue_id"])
        whole = [i for i in lacking["dialogue_id"].drop_duplicates() if i not in got_some]
        short = [i for i in lacking["dialogue_id"].drop_duplicates() if i in got_some]
        what = _and(
            [_list("dialogue", whole, "missing"), _list("dialogue", short, "short of turns")],
        )
        if missing == "error":
            first = lacking.iloc[0]
            raise CoverageError(
                f"{len(lacking):,} of {len(turns):,} turns of {gold.id} have no prediction ({what})",
                file=file,
                mend='add them, or choose missing="skip" (--missing skip: leave them out) or "empty" (score them as empty)',
            )
        done, other = "left out", '"empty" scores them as empty'
        if missing == "empty":
            done, other = "scored as predicted empty", '"skip" leaves them out'
        warnings.append(
            f"{len(lacking):,} of {len(turns):,} turns have no prediction and were {done} ({what}); "
            f"missing={other}"
        )
    if missing == "skip":
        order = order[here[order]]
    scored = turns.assign(predicted=here).take(order).reset_index(drop=True)
    return Coverage(
        turns=scored,
        dialogues_scored=len(pd.unique(codes[order])),
        dialogues_in_corpus=len(pd.unique(codes)),
        turns_scored=len(scored),
        turns_in_corpus=len(turns),
        warnings=tuple(warnings),
    )


def _match(turns: pd.DataFrame, have: pd.DataFrame) -> tuple[np.ndarray, ...]:
    """Tell which turns of each side the other has, the order of the corpus's turns, and its dialogues' codes."""
    both = pd.concat([turns["dialogue_id"], have["dialogue_id"]], ignore_index=True)
    codes = pd.factorize(both, sort=True)[0].astype("int64")
    number = np.concatenate([turns["turn"].to_numpy(), have["turn"].to_numpy()])
    keys = codes * (int(number.max(initial=0)) + 1) + number
    ours, theirs = keys[: len(turns)], keys[len(turns) :]
    order = np.argsort(ours, kind="stable")
    return contains(distinct(theirs), ours), contains(ours[order], theirs), order, codes[: len(turns)]


def _unknown_dialogues(
    gold: Corpus, predictions: Predictions, unknown: list[str], known: set[str], file: str
) -> CoverageError:
    if len(unknown) == predictions.turns["dialogue_id"].nunique():
        return CoverageError(
            f"none of the {len(unknown):,} dialogues is in {gold.id}",
            file=file,
            expected=f"ids such as {min(known, default='(none)')}",
            got=f"ids such as {unknown[0][:60]}",
            mend="score against the corpus and split that the predictions were made on",
        )
    return CoverageError(
        f"{_list('dialogue', unknown, '')} not in {gold.id}".replace("  ", " "),
        file=file,
        mend="remove them, or choose the right corpus and split",
    )


def _list(what: str, ids: Sequence[str], state: str) -> str:
    if not ids:
        return ""
    shown = ", ".join(i[:40] for i in ids[:3]) + (", …" if len(ids) > 3 else "")
    return f"{len(ids):,} {what}{'s' * (len(ids) > 1)} {state}: {shown}" if state else f"{what} {shown}"


def _and(parts: Sequence[str]) -> str:
    return "; ".join(p for p in parts if p)

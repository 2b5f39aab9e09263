"""What has to be alike before systems are compared: the dialogues, and everything in the signature.

In: a corpus and predictions by name, or their scores. Out: both restricted to common dialogues, or one
line that says in what the systems differ.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pandas as pd

from .exceptions import CoverageError, UsageError
from .scoring import Scores
from .tables import Corpus, Predictions

__all__ = ["common_dialogues", "require_comparable"]


def common_dialogues(
    gold: Corpus | None, named: dict[str, Predictions]
) -> tuple[Corpus, dict[str, Predictions], list[str]]:
    """Restrict all systems to the dialogues that each of them covers whole.

    Parameters
    ----------
    gold : Corpus or None
        None where the files carry their own.
    named : dict of str to Predictions

    Returns
    -------
    corpus : Corpus
    restricted : dict of str to Predictions
    said : list of str
        How many dialogues are left, unless it is all of them.

    Raises
    ------
    UsageError, CoverageError
        No gold, or no common dialogue.

    Examples
    --------
    >>> import dialogeval as de
    >>> gold = de.load_corpus("sample/crosswoz_en")
    >>> p = de.as_predictions(gold)
    >>> common_dialogues(gold, {"a": p, "b": p})[2]
    []
    """
    corpus = gold or next(iter(named.values())).gold
    if corpus is None:
        raise UsageError("no gold to compare on", mend="name a corpus")
    wanted = corpus.turns.groupby("dialogue_id").size()
    common = set(wanted.index)
    for predictions in named.values():
        own = corpus if gold is not None else predictions.gold
        have = predictions.turns.groupby("dialogue_id").size().reindex(wanted.index).fillna(0)
        common &= set(wanted.index[have == wanted])
        if own is None:
            raise UsageError("no gold to compare on", file=predictions.name, mend="name a corpus")
    if not common:
        raise CoverageError("no dialogue is covered by all systems")

    def keep(frame: pd.DataFrame | None) -> pd.DataFrame | None:
        return None if frame is None else frame[frame["dialogue_id"].isin(common)].reset_index(drop=True)

    if gold is None:
        _require_one_gold(named, common)
    restricted = {}
    for name, p in named.items():
        turns = keep(p.turns)
        assert turns is not None
        restricted[name] = replace(
            p,
            turns=turns,
            states=keep(p.states),
            responses=keep(p.responses),
            active_domains=keep(p.active_domains),
            gold=p.gold if gold is not None else None,
        )
    n = len(wanted)
    said = (
        [f"restricted to the {len(common):,} of {n:,} dialogues that all systems cover"]
        if len(common) < n
        else []
    )
    return corpus.select(sorted(common)) if len(common) < n else corpus, restricted, said


def _require_one_gold(named: dict[str, Predictions], common: set[str]) -> None:
    """Refuse files that carry their own gold where these do not say the same on the common dialogues."""
    first: tuple[str, list[pd.DataFrame]] | None = None
    for name, predictions in named.items():
        assert predictions.gold is not None
        tables = []
        for frame in (predictions.gold.turns, predictions.gold.states):
            here = frame[frame["dialogue_id"].isin(common)].drop(columns="layout", errors="ignore")
            tables.append(here.sort_values(list(here.columns), ignore_index=True))
        if first is None:
            first = name, tables
        elif not all(a.equals(b) for a, b in zip(first[1], tables, strict=True)):
            raise UsageError(
                f"{first[0]} and {name} carry different gold on the dialogues that both cover",
                mend="name the corpus that all are to be scored on",
            )


def require_comparable(scores: Mapping[str, Scores]) -> None:
    """Refuse systems whose numbers cannot be compared, and say in what they differ.

    Raises
    ------
    UsageError
        Signatures that differ; the field is named.
    CoverageError
        Systems that were not scored on the same turns.

    Examples
    --------
    >>> import dialogeval as de
    >>> gold = de.load_corpus("sample/crosswoz_en")
    >>> scores = [de.score(gold, gold, p, resamples=0) for p in ("lin2021", "convlab")]
    >>> require_comparable(dict(zip("ab", scores)))
    Traceback (most recent call last):
    ...
    dialogeval.exceptions.UsageError: a and b cannot be compared, their signatures differ in proto:lin2021 ...
    """
    names = list(scores)
    first = scores[names[0]]
    for name in names[1:]:
        other = scores[name]
        ours, theirs = (dict(f.partition(":")[::2] for f in s.signature.split("|")) for s in (first, other))
        if ours.get("n") == theirs.get("n") and not (ours.get("missing") and theirs.get("missing")):
            # Where one system lacks nothing, no policy was needed: both were scored on the same turns.
            ours, theirs = ({k: v for k, v in fields.items() if k != "missing"} for fields in (ours, theirs))
        if ours != theirs:
            differ = [
                f"{k}:{ours.get(k, '(none)')} against {k}:{theirs.get(k, '(none)')}"
                for k in dict.fromkeys([*ours, *theirs])
                if ours.get(k) != theirs.get(k)
            ]
            partly = {"n", "missing"} & {d.partition(":")[0] for d in differ}
            mend = (
                'restrict them to the common dialogues (dialogues="common", --common)'
                if partly
                else "score them alike"
            )
            raise UsageError(
                f"{names[0]} and {name} cannot be compared, their signatures differ in {', '.join(differ)}",
                mend=mend,
            )
        if not first.coverage.turns[["dialogue_id", "turn"]].equals(
            other.coverage.turns[["dialogue_id", "turn"]]
        ):
            raise CoverageError(
                f"{names[0]} and {name} were not scored on the same turns",
                mend='restrict them to the common dialogues (dialogues="common", --common)',
            )
        if list(first.table.index) != list(other.table.index):
            raise UsageError(
                f"{names[0]} and {name} do not have the same scores", mend="choose another protocol"
            )

"""Scores of the schema-guided track (DSTC8): each service of a turn is judged on its own slots.

In: a `StatePair` with a `Schema`. Out: sums over the frames of each turn, a frame being a service that
gold has a state of. Free text is compared by a fuzzy score in [0, 1], so a frame may be right in part.
"""

from __future__ import annotations

import re
from difflib import SequenceMatcher
from functools import partial
from typing import Any

import pandas as pd

from . import Metric, Sums, ratio
from .states import StatePair

__all__ = ["FRAME_METRICS", "count_frames", "token_sort_ratio"]

_WHERE = ["dialogue_id", "turn", "domain", "slot"]
#: What FuzzyWuzzy deletes before it compares: the upper half of Latin-1.
_DELETED = dict.fromkeys(range(128, 256))


def token_sort_ratio(gold: str, predicted: str) -> int:
    """Return FuzzyWuzzy's ratio of two strings whose words are sorted, in whole per cent.

    rapidfuzz has a function of this name, which counts another ratio (it finds more in common).

    Examples
    --------
    >>> token_sort_ratio("The Acorn, Guest House", "guest house acorn")
    89
    """
    texts = (re.sub(r"\W", " ", t.translate(_DELETED)).lower().split() for t in (gold, predicted))
    first, second = (" ".join(sorted(words)) for words in texts)
    return round(100 * SequenceMatcher(None, first, second).ratio())


def count_frames(pair: StatePair) -> pd.DataFrame:
    """Sum the judgements of each turn's frames.

    Parameters
    ----------
    pair : StatePair
        With its ``schema``; predicted slots of other services are not looked at, so leave them out before.

    Returns
    -------
    pandas.DataFrame
        By turn: ``frames`` and ``frames_joint``, the sum of their products over slots;
        ``frames_filled``, those with a slot that gold fills, and ``frames_average``, the sum of their
        means over these slots.

    Examples
    --------
    >>> from dialogeval.metrics.states import Schema, pair_states
    >>> from dialogeval.tables import table
    >>> gold, said = (table("states", [("d", 0, "Homes_1", "area", v)]) for v in ("north", "up north"))
    >>> free = table("schema", [("Homes_1", "area", "free")])
    >>> turns = pd.DataFrame({"dialogue_id": ["d"], "turn": [0], "services": [2]})
    >>> schema = Schema(turns["services"].to_numpy(), free, gold[:0])
    >>> count_frames(pair_states(turns, gold, said, schema=schema))["frames_joint"].tolist()
    [1.77]
    """
    schema = pair.schema
    assert schema is not None
    gold, predicted = (_rows(pair, side) for side in (pair.gold, pair.pred))
    free = pd.MultiIndex.from_frame(schema.free[["domain", "slot"]])
    both = pd.concat([gold, schema.alternatives]).merge(predicted, on=_WHERE, suffixes=("", "_predicted"))
    both["score"] = (both["value"] == both["value_predicted"]).astype(float)
    fuzzy = (both["score"] < 1) & pd.MultiIndex.from_frame(both[["domain", "slot"]]).isin(free)
    values = both.loc[fuzzy, ["value", "value_predicted"]]
    distinct = {two: token_sort_ratio(*two) / 100 for two in set(values.itertuples(index=False, name=None))}
    both.loc[fuzzy, "score"] = [distinct[two] for two in values.itertuples(index=False, name=None)]
    # A slot that only one side fills scores 0.
    slots = pd.concat([gold.assign(filled=True), predicted.assign(filled=False)])
    slots = slots.groupby(_WHERE, as_index=False).agg(filled=("filled", "max"))
    best = both.groupby(_WHERE, as_index=False).agg(score=("score", "max"))
    slots = slots.merge(best, on=_WHERE, how="left").fillna({"score": 0.0})
    frame, turn = _WHERE[:3], _WHERE[:2]

    def by_turn(scores: pd.Series) -> pd.DataFrame:
        return scores.groupby(turn).agg(["sum", "size"]).reindex(pair.index, fill_value=0)

    joint = by_turn(slots.groupby(frame)["score"].prod())
    average = by_turn(slots[slots["filled"]].groupby(frame)["score"].mean())
    services = pd.Series(schema.services, index=pair.index)
    return pd.DataFrame(
        {
            "frames": services,
            # Frames that neither side fills are right.
            "frames_joint": joint["sum"] + services - joint["size"],
            "frames_filled": average["size"],
            "frames_average": average["sum"],
        }
    )


def _rows(pair: StatePair, side: Any) -> pd.DataFrame:
    places = pair.index.take(side.turn).to_frame(index=False)
    slots = pair.slots.take(side.slot).reset_index(drop=True)
    return pd.concat([places, slots], axis=1).assign(value=pair.values[side.value])


def _mean(sums: Sums, part: str, whole: str) -> Any:
    return ratio(sums[part], sums[whole])


_metric = partial(Metric, counts=count_frames, source="Rastogi et al. 2020 (DSTC8 track 4), arXiv:2002.01359")

#: By the keys of the scores whose place they take.
FRAME_METRICS: dict[str, Metric] = {
    m.key: m
    for m in (
        _metric("joint_goal_accuracy", "JGA", value=partial(_mean, part="frames_joint", whole="frames")),
        _metric(
            "average_goal_accuracy",
            "AGA",
            value=partial(_mean, part="frames_average", whole="frames_filled"),
        ),
    )
}

"""What is taken for what: slots and values that are confused, and the dialogues that suffer most.

In: `Scores` of a protocol for states. Out: tables, the most frequent first, each row with an example.
"""

from __future__ import annotations

import pandas as pd

from ..breakdowns.groups import state_pair_of
from ..breakdowns.states import decode_errors, paired_errors
from ..metrics.state import count_triples
from ..scoring import Scores
from .errors import errors
from .kinds import swapped

__all__ = ["confused_slots", "confused_values", "rank_dialogues"]


def confused_slots(scores: Scores, most: int = 10) -> pd.DataFrame:
    """Return the pairs of slots that are most often taken for each other.

    Parameters
    ----------
    scores : Scores
        Of a protocol for states.
    most : int, default=10
        Rows returned; ``attrs["left_out"]`` holds how many pairs there are beside them.

    Returns
    -------
    pandas.DataFrame
        ``gold_slot`` and ``predicted_slot`` (domain-slot): gold has a value in the one, which the
        prediction lacks there and wrongly has in the other; ``turns`` and ``dialogues`` in which it
        happens; an example: value, dialogue_id, turn and the user's utterance.

    Raises
    ------
    UsageError
        Scores of responses.

    Examples
    --------
    >>> from dialogeval.scoring import score
    >>> from dialogeval.tables import Corpus, Predictions, table
    >>> turns = table("turns", [("d", 0, "to Ely", "", 0)])
    >>> gold = Corpus("toy", turns=turns, states=table("states", [("d", 0, "train", "destination", "Ely")]))
    >>> pred = Predictions("p", turns=turns, states=table("states", [("d", 0, "train", "departure", "Ely")]))
    >>> confused_slots(score(gold, pred, "lin2021", resamples=0)).iloc[0, :2].tolist()
    ['train-destination', 'train-departure']
    """
    pair = state_pair_of(scores)
    pairs = swapped(pair, paired_errors(pair))
    table = pd.DataFrame(
        {
            "gold_slot": pairs["missed_name"].astype("str"),
            "predicted_slot": pairs["spurious_name"].astype("str"),
            "value": pd.Series(pair.values[pairs["value"].to_numpy()], index=pairs.index, dtype="str"),
            "dialogue_id": pair.index.get_level_values("dialogue_id")[pairs["row"]],
            "turn": pair.index.get_level_values("turn")[pairs["row"]],
        }
    )
    return _most_frequent(scores, table, ["gold_slot", "predicted_slot"], most)


def confused_values(scores: Scores, most: int = 10) -> pd.DataFrame:
    """Return the values that are most often taken for each other.

    Parameters
    ----------
    scores : Scores
        Of a protocol for states.
    most : int, default=10
        Rows returned; ``attrs["left_out"]`` holds how many pairs there are beside them.

    Returns
    -------
    pandas.DataFrame
        domain, slot, gold and predicted, both filled; ``turns`` and ``dialogues`` in which it
        happens; an example: dialogue_id, turn (the first one) and the user's utterance.

    Raises
    ------
    UsageError
        Scores of responses.

    Examples
    --------
    >>> from dialogeval.scoring import score
    >>> from dialogeval.tables import Corpus, Predictions, table
    >>> turns = table("turns", [("d", 0, "up north", "", 0)])
    >>> gold = Corpus("toy", turns=turns, states=table("states", [("d", 0, "hotel", "area", "north")]))
    >>> pred = Predictions("p", turns=turns, states=table("states", [("d", 0, "hotel", "area", "south")]))
    >>> confused_values(score(gold, pred, "lin2021", resamples=0))[["gold", "predicted", "user"]].values.tolist()
    [['north', 'south', 'up north']]
    """
    pair = state_pair_of(scores)
    table = decode_errors(pair, paired_errors(pair))
    table = table[(table["gold"] != "") & (table["predicted"] != "")]
    return _most_frequent(scores, table, ["domain", "slot", "gold", "predicted"], most)


def rank_dialogues(scores: Scores) -> pd.DataFrame:
    """Return every scored dialogue with its errors, the worst first.

    Parameters
    ----------
    scores : Scores
        Of a protocol for states.

    Returns
    -------
    pandas.DataFrame
        Indexed by dialogue_id: ``turns``; ``wrong_turns``, whose state is not right; ``errors``
        (rows of `errors`) and their ``fn`` and ``fp``; ``lives`` (beginnings, see `error_lives`);
        ``first_wrong`` turn (<NA> for none) and the most frequent ``kind`` (empty for none).
        Sorted by errors, then by lives, then by id.

    Raises
    ------
    UsageError
        Scores of responses.

    Examples
    --------
    >>> from dialogeval.scoring import score
    >>> from dialogeval.tables import Corpus, table
    >>> gold = Corpus("toy", turns=table("turns", [("d", 0, "hi", "ho", 0)]))
    >>> rank_dialogues(score(gold, gold, "lin2021", resamples=0))["errors"].to_dict()
    {'d': 0}
    """
    counts = count_triples(state_pair_of(scores)).groupby(level="dialogue_id").sum()
    table = errors(scores)
    by = table.groupby("dialogue_id")
    starts = table.drop_duplicates(["dialogue_id", "since", "domain", "slot"])
    kinds = table.groupby(["dialogue_id", "kind"]).size().rename("n").reset_index()
    kinds = kinds.sort_values(["n", "kind"], ascending=[False, True]).drop_duplicates("dialogue_id")
    ranked = pd.DataFrame({"turns": counts["turns"], "wrong_turns": counts["turns"] - counts["exact"]})
    ranked["errors"] = by.size().reindex(ranked.index).fillna(0).astype("int64")
    ranked[["fn", "fp"]] = counts[["fn", "fp"]]
    lives = starts.groupby("dialogue_id").size()
    ranked["lives"] = lives.reindex(ranked.index).fillna(0).astype("int64")
    ranked["first_wrong"] = by["turn"].min().reindex(ranked.index).astype("Int64")
    ranked["kind"] = kinds.set_index("dialogue_id")["kind"].reindex(ranked.index).fillna("").astype("str")
    return ranked.sort_index().sort_values(["errors", "lives"], ascending=False, kind="stable")


# Helpers ------------------------------------------------------------------------------------------


def _most_frequent(scores: Scores, table: pd.DataFrame, what: list[str], most: int) -> pd.DataFrame:
    """Count distinct turns and dialogues of each group; its first row is the example."""
    table = table.sort_values(["dialogue_id", "turn", *what], kind="stable")
    example = [c for c in table.columns if c not in what]
    once = table.drop_duplicates([*what, "dialogue_id", "turn"])
    groups = once.groupby(what, sort=False)
    counted = groups.agg(turns=("turn", "size"), dialogues=("dialogue_id", "nunique"))
    first = once.drop_duplicates(what).set_index(what)[example]
    found = counted.join(first).reset_index()
    found = found.sort_values(["turns", *what], ascending=[False] + [True] * len(what), ignore_index=True)
    shown = found.head(most)
    if scores.gold is not None:
        turns = scores.gold.turns[["dialogue_id", "turn", "user"]]
        shown = shown.merge(turns, on=["dialogue_id", "turn"], how="left")
    shown.attrs["left_out"] = len(found) - len(shown)
    return shown

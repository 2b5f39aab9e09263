"""What scores can be broken down by: which group a dialogue, a turn or a triple belongs to.

In: `Scores`, with the corpus they were computed on. Out: labels of dialogues or turns, and for
groups of triples their counts. Nothing here computes a score.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pandas as pd

from ..exceptions import UsageError
from ..golds import gold_of
from ..metrics.fuzzy import count_fuzzy
from ..metrics.state import count_triples
from ..metrics.states import StatePair, Triples
from ..scoring import Scores
from ..tables import Corpus

__all__ = ["DIALOGUE_GROUPS", "TRIPLE_GROUPS", "TURN_GROUPS", "group_labels", "sort_groups", "triple_sums"]

#: Groups of dialogues, of turns, and of triples, by name: what each one is.
DIALOGUE_GROUPS = {
    "domains": "number of domains of the dialogue's goal, or of its gold states where it has no goal",
    "type": "the corpus's own type of dialogue (CrossWOZ: S, M, M+T, CM, CM+T); else single or multi domain",
    "language": "language of the corpus",
    "corpus": "the corpus with its split and version",
    "system": "name of the system",
}
TURN_GROUPS = {"turn": "number of the turn, from 0"}
TRIPLE_GROUPS = {
    "domain": "domain of the triple",
    "slot": "domain and slot of the triple",
    "seen_value": "whether the training corpus has the value in that slot: seen or unseen",
}
#: CrossWOZ: single domain, multi-domain, multi-domain with traffic, and both with goals across domains.
_TYPES = ("S", "M", "M+T", "CM", "CM+T", "single", "multi")


def group_labels(scores: Scores, by: str | pd.Series) -> pd.Series:
    """Label every scored turn with the group that it, or its dialogue, belongs to.

    Parameters
    ----------
    scores : Scores
    by : str or pandas.Series
        A name of `DIALOGUE_GROUPS` or `TURN_GROUPS`, or labels of your own indexed by dialogue id.

    Returns
    -------
    pandas.Series
        Indexed by (dialogue_id, turn), in the order of ``scores.coverage.turns``.

    Raises
    ------
    UsageError
        Scores that carry no corpus, or own labels that leave a dialogue out.

    Examples
    --------
    >>> from dialogeval.scoring import score
    >>> from dialogeval.tables import Corpus, table
    >>> gold = Corpus("toy", turns=table("turns", [("d", 0, "hi", "ho", 0), ("d", 1, "bye", "bye", 0)]))
    >>> group_labels(score(gold, gold, "lin2021", resamples=0), "turn").tolist()
    [0, 1]
    """
    turns = scores.coverage.turns
    index = pd.MultiIndex.from_frame(turns[["dialogue_id", "turn"]])
    if isinstance(by, str) and by in TURN_GROUPS:
        return pd.Series(turns["turn"].to_numpy(), index=index)
    ids = turns["dialogue_id"].drop_duplicates()
    labels = _own_labels(by, ids) if isinstance(by, pd.Series) else _dialogue_labels(scores, by, ids)
    return pd.Series(turns["dialogue_id"].map(labels).to_numpy(), index=index)


def sort_groups(groups: Iterable) -> list:
    """Put groups in their order: numbers by size, types from the simplest, all else by the alphabet.

    Examples
    --------
    >>> sort_groups(["M", "CM", "S", "M+T"]), sort_groups([10, 9])
    (['S', 'M', 'M+T', 'CM'], [9, 10])
    """
    rank = {name: place for place, name in enumerate(_TYPES)}
    return sorted(set(groups), key=lambda g: (rank.get(g, len(rank)), isinstance(g, str), g))


def triple_sums(scores: Scores, by: str, training: Corpus | None = None) -> tuple[pd.DataFrame, dict]:
    """Count the triples of every group, and of the whole.

    Parameters
    ----------
    scores : Scores
        Of a protocol for states.
    by : {"domain", "slot", "seen_value"}
    training : Corpus, optional
        What the system was trained on; for ``seen_value``.

    Returns
    -------
    parts : pandas.DataFrame
        Indexed by group; ``tp``, ``fp``, ``fn``, and for groups of slots ``turns`` in which either
        side fills one of them and ``exact``, those of them in which both sides fill them alike.
    whole : dict
        The same counts of all triples; ``turns`` are all scored turns.

    Raises
    ------
    UsageError
        Scores of responses; ``seen_value`` without a training corpus.

    Examples
    --------
    >>> from dialogeval.scoring import score
    >>> from dialogeval.tables import Corpus, table
    >>> gold = Corpus("toy", turns=table("turns", [("d", 0, "hi", "ho", 0)]),
    ...               states=table("states", [("d", 0, "hotel", "area", "north")]))
    >>> triple_sums(score(gold, gold, "lin2021", resamples=0), "domain")[0].loc["hotel"].to_dict()
    {'tp': 1, 'fp': 0, 'fn': 0, 'turns': 1, 'exact': 1}
    """
    pair = state_pair_of(scores)
    whole = {str(k): int(v) for k, v in count_triples(pair).sum().items()}
    if by == "seen_value":
        known = _seen_triples(scores, pair, training)
        groups = pd.Index(["seen", "unseen"], name=by, dtype="str")
        parts = _count(pair, known(pair.gold), known(pair.pred), groups)
        return parts, {k: whole[k] for k in ("tp", "fp", "fn")}
    names = ["domain"] if by == "domain" else ["domain", "slot"]
    found = pair.slots[names].drop_duplicates(ignore_index=True)
    code = pair.slots[names].merge(found.assign(code=found.index), on=names, how="left")["code"].to_numpy()
    groups = pd.Index(found["domain"], name="domain") if by == "domain" else pd.MultiIndex.from_frame(found)
    parts = _count(pair, code[pair.gold.slot], code[pair.pred.slot], groups)
    width = max(len(groups), 1)

    def cells(gold: np.ndarray | slice, pred: np.ndarray | slice) -> np.ndarray:
        here = [pair.gold.turn[gold] * width + code[pair.gold.slot[gold]]]
        here.append(pair.pred.turn[pred] * width + code[pair.pred.slot[pred]])
        return np.bincount(np.unique(np.concatenate(here)) % width, minlength=len(groups))

    turns = cells(slice(None), slice(None))
    wrong = cells(~pair.gold_in_pred, ~pair.pred_in_gold)
    return parts.assign(turns=turns, exact=turns - wrong), whole


def state_pair_of(scores: Scores) -> StatePair:
    """Return the pair of states, or say which protocol would have one."""
    if "state" not in scores.pairs:
        raise UsageError(
            f"protocol {scores.protocol.name} scores responses, which have no slots",
            mend="score under a protocol for states, such as lin2021",
        )
    return scores.pairs["state"]


def corpus_of(scores: Scores) -> Corpus:
    """Return the corpus that was scored against."""
    if scores.gold is None:
        raise UsageError("these scores carry no corpus", mend="make them with dialogeval.score")
    return scores.gold


def matching_note(scores: Scores) -> str:
    """Say so where a protocol matches values fuzzily and triples are counted exactly; else nothing.

    Parameters
    ----------
    scores : Scores

    Returns
    -------
    str
        A sentence with a blank before it, or the empty string.

    Examples
    --------
    >>> import dialogeval as de
    >>> gold = de.load_corpus("sample/crosswoz_en")
    >>> matching_note(de.score(gold, gold, "lin2021", resamples=0))
    ''
    """
    if not any(metric.counts is count_fuzzy for metric in scores.metrics):
        return ""
    return (
        f" Triples (tp, fp, fn) are counted by exact values, while protocol {scores.protocol.name} also accepts similar "
        "ones: the two need not agree."
    )


# Helpers ------------------------------------------------------------------------------------------


def _dialogue_labels(scores: Scores, by: str, ids: pd.Series) -> pd.Series:
    corpus = corpus_of(scores)
    constant = {"language": corpus.language, "corpus": corpus.id, "system": scores.system}
    if by in constant:
        return pd.Series(constant[by], index=ids.to_numpy(), dtype="str")
    of_states = corpus.states.groupby("dialogue_id")["domain"].nunique()
    of_goals = corpus.goals.groupby("dialogue_id")["domain"].nunique()
    domains = of_goals.reindex(ids).fillna(of_states.reindex(ids)).fillna(0).astype("int64")
    if by == "domains":
        return domains
    types = corpus.dialogues.drop_duplicates("dialogue_id").set_index("dialogue_id")["type"].reindex(ids)
    amount = pd.Series(np.where(domains > 1, "multi", "single"), index=domains.index, dtype="str")
    return types.where(types.fillna("") != "", amount)


def _own_labels(labels: pd.Series, ids: pd.Series) -> pd.Series:
    if not labels.index.is_unique or labels.index.nlevels > 1:
        raise UsageError(
            "own groups", expected="one label for each dialogue id", got="a repeated or double index"
        )
    lacking = sorted(set(ids) - set(labels.dropna().index))
    if lacking:
        raise UsageError(
            f"{len(lacking):,} scored dialogues have no group, such as {lacking[0]}",
            mend="give every dialogue a label, if only 'other'",
        )
    return labels


def _count(pair: StatePair, gold: np.ndarray, pred: np.ndarray, groups: pd.Index) -> pd.DataFrame:
    """Count by group, given the group of each triple; a triple on both sides has one group."""
    size = len(groups)
    tp = np.bincount(gold[pair.gold_in_pred], minlength=size)
    fp, fn = np.bincount(pred, minlength=size) - tp, np.bincount(gold, minlength=size) - tp
    return pd.DataFrame({"tp": tp, "fp": fp, "fn": fn}, index=groups)


def _seen_triples(scores: Scores, pair: StatePair, training: Corpus | None):  # type: ignore[no-untyped-def]
    """Return a function that gives 0 for the triples of a side whose value training has, and 1 for others."""
    if training is None:
        raise UsageError(
            "seen_value needs the corpus that the system was trained on",
            mend='pass training=load_corpus(…, split="train")',
        )
    steps = scores.protocol.steps
    gold = gold_of(training, scores.protocol.gold, steps)
    columns = ["domain", "slot", "value"]
    known = pd.concat([gold.states[columns], gold.alternatives[columns]]).drop_duplicates()
    slots = pair.slots.assign(slot_code=range(len(pair.slots)))
    values = pd.DataFrame({"value": pair.values, "value_code": range(len(pair.values))})
    values["value"] = values["value"].astype("str")
    coded = known.merge(slots, on=["domain", "slot"]).merge(values, on="value")
    n_values = max(len(pair.values), 1)
    keys = np.unique(coded["slot_code"].to_numpy(dtype="int64") * n_values + coded["value_code"].to_numpy())

    def unseen(side: Triples) -> np.ndarray:
        return (~np.isin(side.slot * n_values + side.value, keys)).astype("int64")

    return unseen

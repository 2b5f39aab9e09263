"""One function for every breakdown: scores by domain, slot, turn, type of dialogue and the rest.

In: `Scores` (or several, of one protocol) and the name of a grouping. Out: a table with a row a
group and a last row ``all``. Counts are grouped and summed, and the same functions that made the
scores read the values off the sums.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd

from ..exceptions import UnknownNameError, UsageError
from ..metrics import ratio
from ..metrics.state import count_triples, micro_f1, precision, recall
from ..scoring import Scores
from ..tables import Corpus
from .groups import (
    DIALOGUE_GROUPS,
    TRIPLE_GROUPS,
    TURN_GROUPS,
    group_labels,
    matching_note,
    sort_groups,
    triple_sums,
)
from .responses import RESPONSE_GROUPS, response_groups

__all__ = ["breakdown"]

ALL = "all"
_TRIPLES = ["gold", "predicted", "tp", "fp", "fn"]


def breakdown(
    scores: Scores | Sequence[Scores], by: str | pd.Series, *, training: Corpus | None = None
) -> pd.DataFrame:
    """Break scores down: one row a group, and the whole in the last row.

    Parameters
    ----------
    scores : Scores or sequence of Scores
        Several results of one protocol are put together: corpora in two languages, say.
    by : str or pandas.Series
        ``domain``, ``slot``, ``seen_value`` (groups of triples), ``turn``, ``domains`` (how many),
        ``type``, ``language``, ``corpus``, ``system`` (groups of turns and dialogues); for responses
        also ``act``, ``length`` and ``domain``, see `response_groups`; or labels of your own, indexed
        by dialogue id.
    training : Corpus, optional
        What the system was trained on, for ``seen_value``.

    Returns
    -------
    pandas.DataFrame
        Indexed by group, as strings, the whole as ``all``. Groups of turns and dialogues:
        ``dialogues``, ``turns``, the counts of triples where states were scored, and every score
        in its own unit. Groups of triples: ``gold``, ``predicted``, ``tp``, ``fp``, ``fn``,
        ``slot_precision``, ``slot_recall``, ``slot_f1_micro`` in [0, 1]; for domains and slots
        ``turns`` in which either side fills one of the group's slots, and
        ``joint_goal_accuracy``, the share of them in which both sides fill the group's slots alike
        (in the row ``all``: over all turns).
        ``attrs["caption"]`` says in words which counts add up to the row ``all``,
        ``attrs["additive"]`` lists them; ``attrs["left_out"]``: scores of the protocol that the table
        lacks; ``attrs["differs"]``: those whose row ``all`` is not the score itself, with the score (none
        for several results).

    Raises
    ------
    UnknownNameError
        No such grouping.
    UsageError
        Results of several protocols, triples of scores without states, no training corpus.

    Notes
    -----
    Triples are compared exactly, as the protocol has normalised them, also where the protocol's own
    scores are fuzzy. A score whose counts depend on what other dialogues say (distinct-n) has no
    parts and is left out, and so are scores of whole dialogues by turn.

    Examples
    --------
    >>> from dialogeval.corpora import load_corpus
    >>> from dialogeval.scoring import score
    >>> gold = load_corpus("sample/crosswoz_en")
    >>> table = breakdown(score(gold, gold, "lin2021", resamples=0), "type")
    >>> table[["dialogues", "joint_goal_accuracy"]]
          dialogues  joint_goal_accuracy
    type
    S             3                  1.0
    M            18                  1.0
    M+T           4                  1.0
    CM           20                  1.0
    CM+T         15                  1.0
    all          60                  1.0
    """
    results = [scores] if isinstance(scores, Scores) else list(scores)
    known = {**TRIPLE_GROUPS, **TURN_GROUPS, **DIALOGUE_GROUPS, **RESPONSE_GROUPS}
    if isinstance(by, str) and by not in known:
        raise UnknownNameError("grouping", by, known)
    responses_only = all("state" not in s.pairs for s in results)
    of_responses = isinstance(by, str) and (by in ("act", "length") or (by == "domain" and responses_only))
    if not results or any(s.protocol != results[0].protocol for s in results):
        raise UsageError(
            "scores to break down together",
            expected="results of one protocol",
            got=", ".join(s.protocol.label for s in results) or "none",
        )
    if len(results) == 1 and of_responses:
        table = response_groups(results[0], str(by))
        additive, why = table.attrs["additive"], "this table is of BLEU-4 and placeholders"
    elif isinstance(by, str) and by in TRIPLE_GROUPS:
        table, additive = _by_triples(results, by, training)
        why = "they are not read off counts of triples"
    else:
        table, additive = _by_turns(results, by)
        why = "parts have no such score"
    name = by if isinstance(by, str) else str(by.name or "group")
    left_out = [metric.key for metric in results[0].metrics if metric.key not in table]
    differs = _differs(table, results[0]) if len(results) == 1 else {}
    text = _caption(results, name, additive) + matching_note(results[0])
    if differs:
        said = ", ".join(f"{key} {value:.4f}" for key, value in differs.items())
        text += f" The row '{ALL}' is therefore not the protocol's own score in these: {said}."
    if left_out:
        text += (
            f" Left out, because {why}: {', '.join(dict.fromkeys(key.split('/')[0] for key in left_out))}."
        )
    table.attrs = {"caption": text, "additive": additive, "left_out": left_out, "differs": differs}
    return table


# Helpers ------------------------------------------------------------------------------------------


def _by_triples(results: list[Scores], by: str, training: Corpus | None) -> tuple[pd.DataFrame, list[str]]:
    counted = [triple_sums(s, by, training) for s in results]
    parts = pd.concat([part for part, _ in counted])
    names = list(parts.index.names)
    parts = parts.groupby(level=names, sort=True).sum()
    parts = parts[parts[["tp", "fp", "fn"]].sum(axis=1) > 0]
    if by != "seen_value":
        most = (-(parts["tp"] + parts["fn"])).sort_values(kind="stable").index
        parts = parts.loc[most]
    whole = {name: sum(w[name] for _, w in counted) for name in map(str, parts.columns)}
    if len(names) == 1:
        index = pd.Index([*parts.index, ALL], name=by, dtype="str")
    else:
        index = pd.MultiIndex.from_tuples([*parts.index.to_list(), (ALL, "")], names=names)
    sums = {name: np.append(parts[name].to_numpy(), total).astype("int64") for name, total in whole.items()}
    columns = _triple_columns(sums)
    rates = {"slot_precision": precision, "slot_recall": recall, "slot_f1_micro": micro_f1}
    columns |= {key: value(sums) for key, value in rates.items()}
    if "turns" in sums:
        columns |= {"turns": sums["turns"], "joint_goal_accuracy": ratio(sums["exact"], sums["turns"])}
    return pd.DataFrame(columns, index=index), _TRIPLES


def _by_turns(results: list[Scores], by: str | pd.Series) -> tuple[pd.DataFrame, list[str]]:
    labels = [group_labels(s, by) for s in results]
    groups = sort_groups(g for label in labels for g in label.unique())
    sizes = [_sizes(label) for label in labels]
    size = _total([part for part, _ in sizes], [whole for _, whole in sizes], groups)
    columns = {name: size[name].astype("int64") for name in ("dialogues", "turns")}
    additive = ["turns"] if isinstance(by, str) and by in TURN_GROUPS else ["dialogues", "turns"]
    if all("state" in s.pairs for s in results):
        sums = _grouped([count_triples(s.pairs["state"]) for s in results], labels, groups)
        columns |= _triple_columns({c: sums[c].astype("int64") for c in ("tp", "fp", "fn")})
        additive += _TRIPLES
    done: dict[Callable, dict[str, np.ndarray]] = {}
    for metric in results[0].metrics:
        of_turns = all(results[0].counts[function].index.nlevels == 2 for function in metric.functions)
        if metric.resample != "bootstrap" or not (of_turns or "dialogues" in additive):
            continue
        for function in metric.functions:
            if function not in done:
                done[function] = _grouped([s.counts[function] for s in results], labels, groups)
        merged = {column: n for function in metric.functions for column, n in done[function].items()}
        columns[metric.key] = np.broadcast_to(metric.value(merged), len(groups) + 1)
    name = by if isinstance(by, str) else str(by.name or "group")
    index = pd.Index([*map(str, groups), ALL], name=name, dtype="str")
    return pd.DataFrame(columns, index=index), additive


def _sizes(labels: pd.Series) -> tuple[pd.DataFrame, pd.Series]:
    table = pd.DataFrame({"group": labels.to_numpy(), "id": labels.index.get_level_values("dialogue_id")})
    grouped = table.groupby("group")["id"]
    parts = pd.DataFrame({"dialogues": grouped.nunique(), "turns": grouped.size()})
    return parts, pd.Series({"dialogues": table["id"].nunique(), "turns": len(table)})


def _grouped(frames: list[pd.DataFrame], labels: list[pd.Series], groups: list) -> dict[str, np.ndarray]:
    """Sum counts by group; the last entry is the sum of all, taken from the counts themselves."""
    parts = []
    for frame, label in zip(frames, labels, strict=True):
        if frame.index.nlevels == 1:  # of whole dialogues: all turns of one have its label
            label = label.groupby(level="dialogue_id").first()
        parts.append(frame.groupby(label.reindex(frame.index).to_numpy()).sum())
    return _total(parts, [frame.sum() for frame in frames], groups)


def _total(parts: list[pd.DataFrame], wholes: list[pd.Series], groups: list) -> dict[str, np.ndarray]:
    summed = pd.concat(parts).groupby(level=0).sum().reindex(groups).fillna(0)
    whole = pd.concat(wholes, axis=1).sum(axis=1).to_dict()
    return {str(c): np.append(summed[c].to_numpy(dtype=float), whole[c]) for c in summed}


def _triple_columns(sums: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    tp, fp, fn = sums["tp"], sums["fp"], sums["fn"]
    return {"gold": tp + fn, "predicted": tp + fp, "tp": tp, "fp": fp, "fn": fn}


def _differs(table: pd.DataFrame, scores: Scores) -> dict[str, float]:
    """Return the scores that the last row, the whole, does not give."""
    own = {str(key): scores[str(key)] for key in table if key in scores.table.index}
    return {k: v for k, v in own.items() if not np.isclose(table[k].iloc[-1], v, 0, 1e-9, equal_nan=True)}


def _caption(results: list[Scores], by: str, additive: list[str]) -> str:
    systems = ", ".join(dict.fromkeys(s.system for s in results))
    counts = " and ".join([*filter(None, [", ".join(additive[:-1])]), *additive[-1:]])
    adds = f"The counts of the parts ({counts}) add up to the row '{ALL}'; scores do not: each"
    if not additive:
        adds = (
            f"A turn of two groups counts in both, so the parts add up to more than the row '{ALL}'. A score"
        )
    return (
        f"{systems} by {by.replace('_', ' ')}, protocol {results[0].protocol.name}. {adds} is computed from "
        "its own row's counts."
    )

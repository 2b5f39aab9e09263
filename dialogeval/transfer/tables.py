"""Tables of transfer: who reaches what where, which part of the gap is labels, what was not mapped.

In: what `dialogeval.transfer` returns, a `Transfer` by (trained on, scored on). Out: tables, and a
sentence for a paper.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pandas as pd

from ..alignment.attribution import triples_table
from ..ontology import Ontology, ontology_of
from ..tables import Corpus
from .data import Training
from .runs import METRICS, Found, Transfer

__all__ = [
    "data_table",
    "friend_table",
    "metrics_object",
    "paper_text",
    "score_matrix",
    "score_table",
    "slot_table",
    "unmapped_table",
]


def data_table(found: Found, training: Mapping[str, Training]) -> pd.DataFrame:
    """Return what each tracker was trained on, and how many turns it was scored on.

    Parameters
    ----------
    found : mapping
    training : mapping

    Returns
    -------
    pandas.DataFrame
        A row a pair: ``trained_on``, ``how`` and ``training dialogues`` (of trackers), ``scored_on``, ``scored turns``,
        ``left out`` (turns of the corpus that are not scored).

    Examples
    --------
    >>> from dialogeval.transfer.runs import _example
    >>> data_table(_example(), {})["scored turns"].tolist()
    [2, 2]
    """
    rows = []
    for (source, target), transfer in found.items():
        cover = transfer.attribution.raw.coverage
        row: dict[str, object] = {"trained_on": source}
        if source in training:
            data = training[source]
            row |= {"how": data.how, "training dialogues": len(data.corpus.dialogues)}
        left_out = cover.turns_in_corpus - cover.turns_scored
        rows.append(row | {"scored_on": target, "scored turns": cover.turns_scored, "left out": left_out})
    return pd.DataFrame(rows)


def score_matrix(found: Found, metric: str = "joint_goal_accuracy", stage: str = "aligned") -> pd.DataFrame:
    """Return one score of all pairs: a row what was trained on, a column what was scored on.

    Parameters
    ----------
    found : mapping
    metric : str
    stage : {"raw", "names", "values", "aligned"}

    Returns
    -------
    pandas.DataFrame

    Examples
    --------
    >>> from dialogeval.transfer.runs import _example
    >>> score_matrix(_example(), stage="raw").loc["multiwoz"].tolist()
    [nan, 0.5]
    """
    values = {pair: transfer.stages.loc[metric, stage] for pair, transfer in found.items()}
    matrix = pd.Series(values, dtype="float64").unstack()
    order = list(dict.fromkeys(name for ends in zip(*found, strict=True) for name in ends))
    rows, columns = ([name for name in order if name in names] for names in (matrix.index, matrix.columns))
    return matrix.loc[rows, columns].rename_axis(index="trained_on", columns="scored_on")


def score_table(found: Found) -> pd.DataFrame:
    """Return raw and aligned scores of all pairs with their intervals.

    Parameters
    ----------
    found : mapping

    Returns
    -------
    pandas.DataFrame
        Columns ``trained_on``, ``scored_on``, ``metric``, ``raw``, ``raw_low``, ``raw_high``, ``aligned``,
        ``aligned_low``, ``aligned_high``.

    Examples
    --------
    >>> from dialogeval.transfer.runs import _example
    >>> score_table(_example()).loc[0, ["raw", "aligned"]].astype(float).tolist()
    [0.5, 1.0]
    """
    parts = []
    for (source, target), transfer in found.items():
        sides = {"raw": transfer.attribution.raw, "aligned": transfer.attribution.aligned}
        columns = {
            side if c == "value" else f"{side}_{c}": scores.table[c]
            for side, scores in sides.items()
            for c in ("value", "low", "high")
        }
        parts.append(pd.DataFrame(columns).assign(trained_on=source, scored_on=target).reset_index())
    table = pd.concat(parts, ignore_index=True)
    return table[["trained_on", "scored_on", *table.columns.drop(["trained_on", "scored_on"])]]


def slot_table(found: Found) -> pd.DataFrame:
    """Return the losses of all pairs by slot and cause, the heaviest slots of a pair first.

    Parameters
    ----------
    found : mapping

    Returns
    -------
    pandas.DataFrame
        Indexed by ``trained_on``, ``scored_on``, ``domain``, ``slot``; a column a cause, and ``all``.

    Examples
    --------
    >>> from dialogeval.transfer.runs import _example
    >>> slot_table(_example()).loc[("multiwoz", "multiwoz_zh"), "all"].tolist()
    [1, 1]
    """
    tables = {pair: t.attribution.by_slot().drop(index=("whole", "")) for pair, t in found.items()}
    return pd.concat(tables, names=["trained_on", "scored_on"]).rename_axis(columns=None)


def unmapped_table(found: Found) -> pd.DataFrame:
    """Return what the alignments could not map, by slot and reason.

    Parameters
    ----------
    found : mapping

    Returns
    -------
    pandas.DataFrame
        Columns ``trained_on``, ``scored_on``, ``domain``, ``slot``, ``reason``, ``triples``.

    Examples
    --------
    >>> from dialogeval.transfer.runs import _example
    >>> len(unmapped_table(_example()))
    0
    """
    tables = {pair: transfer.attribution.unmapped for pair, transfer in found.items()}
    return (
        pd.concat(tables, names=["trained_on", "scored_on"]).reset_index(level=[0, 1]).reset_index(drop=True)
    )


def friend_table(found: Found, training: Mapping[str, Training]) -> pd.DataFrame:
    """Return the slots of source and target that look alike and are not.

    Parameters
    ----------
    found : mapping
    training : mapping
        A source that is not in it has the ontology that its predictions use.

    Returns
    -------
    pandas.DataFrame
        As `dialogeval.alignment.finder.false_friends`, indexed by ``trained_on`` and ``scored_on``; no
        rows where there are none.

    Examples
    --------
    >>> from dialogeval.transfer.runs import _example
    >>> len(friend_table(_example(), {}))
    0
    """
    from ..alignment.finder import false_friends

    known: dict[str, Ontology] = {}
    tables = {}
    for (source, target), transfer in found.items():
        raw = transfer.attribution.raw
        pair = raw.pairs["state"]
        if source not in known:
            said = Corpus(source, language=transfer.attribution.alignment.source_language)
            given = training[source].corpus if source in training else None
            known[source] = ontology_of(given or replace(said, states=triples_table(pair, pair.pred)))
        if target not in known and raw.gold is not None:
            known[target] = ontology_of(raw.gold)
        if source != target:
            tables[source, target] = false_friends(known[source], known[target])
    if not tables:
        return pd.DataFrame()
    return pd.concat(tables, names=["trained_on", "scored_on"]).droplevel(2)


def metrics_object(found: Found) -> dict[str, dict]:
    """Return the scores for ``metrics.json``: by ``trained on > scored on``, then raw and aligned.

    Parameters
    ----------
    found : mapping

    Returns
    -------
    dict

    Examples
    --------
    >>> from dialogeval.transfer.runs import _example
    >>> list(metrics_object(_example()))
    ['multiwoz > multiwoz_zh', 'multiwoz_zh > multiwoz']
    """
    return {
        f"{source} > {target}": {
            side: scores.to_dict()
            for side, scores in (("raw", t.attribution.raw), ("aligned", t.attribution.aligned))
        }
        for (source, target), t in found.items()
    }


def paper_text(transfer: Transfer) -> str:
    """Return sentences for a paper on one transfer.

    Parameters
    ----------
    transfer : Transfer

    Returns
    -------
    str

    Examples
    --------
    >>> from dialogeval.transfer.runs import _example
    >>> print(paper_text(_example()["multiwoz", "multiwoz_zh"]))
    On multiwoz_zh/all@unknown (2 of 2 turns), annotation of multiwoz reaches JGA 0.5000 as it is ...
    """
    found = transfer.attribution
    before, after = (scores.table.to_dict("index") for scores in (found.raw, found.aligned))
    numbers = [
        f"{before[m]['label']} {_value(before[m])} as it is and {_value(after[m])} aligned"
        for m in [m for m in METRICS if m in before][:2]
    ]
    cover = found.raw.coverage
    total = max(int(found.losses.shape[0]), 1)
    labels = found.table["triples"].iloc[:4].sum()
    return (
        f"On {found.raw.gold.id if found.raw.gold else transfer.target} ({cover.turns_scored:,} of "
        f"{cover.turns_in_corpus:,} turns), {found.raw.system} reaches {' and '.join(numbers)} through "
        f"{found.alignment.id}. Of the {total:,} differences from gold before alignment, {labels:,} "
        f"({labels / total:.1%}) are matters of names, values or language; "
        f"{found.unmapped['triples'].sum():,} predicted triples could not be mapped. "
        f"Signature: {found.aligned.signature}"
    )


# Helpers ------------------------------------------------------------------------------------------


def _value(row: dict) -> str:
    text = f"{row['value']:.4f}"
    return text if pd.isna(row["low"]) else f"{text} [{row['low']:.4f}, {row['high']:.4f}]"

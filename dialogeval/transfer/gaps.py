"""What a transferred tracker loses, in parts that add up: by cause, and by stage of the alignment.

In: a `Transfer` by (trained on, scored on). Out: tables with a row a pair.
"""

from __future__ import annotations

import pandas as pd

from .runs import METRICS, Found, Transfer

__all__ = ["cause_table", "gap_table", "stage_table"]


def cause_table(found: Found, column: str = "points") -> pd.DataFrame:
    """Return what each pair loses to each cause, pairs of one target together.

    Parameters
    ----------
    found : mapping
    column : {"points", "turns", "triples"}
        Of `Attribution.table`; points add up to 1 minus the raw joint goal accuracy.

    Returns
    -------
    pandas.DataFrame
        Indexed by ``trained_on`` and ``scored_on``; a column a cause.

    Examples
    --------
    >>> from dialogeval.transfer.runs import _example
    >>> cause_table(_example(), "triples").sum(axis=1).tolist()
    [2, 2]
    """
    return _by_pair({p: found[p].attribution.table[column].drop("whole") for p in _by_target(found)})


def gap_table(found: Found) -> pd.DataFrame:
    """Return the gap in joint goal accuracy of each pair, and the part of each cause in it.

    Parameters
    ----------
    found : mapping

    Returns
    -------
    pandas.DataFrame
        Indexed by ``trained_on`` and ``scored_on`` (pairs of a corpus with itself left out). ``reference``:
        what the tracker of the target itself reaches, or 1 where there is none; ``raw``, ``aligned``;
        ``gap``: reference minus raw; and a column a cause: the turns put down to it, as a share of all,
        minus those of the reference. The causes add up to the gap; a negative one costs the
        reference more.

    Examples
    --------
    >>> from dialogeval.transfer.runs import _example
    >>> gap_table(_example()).loc[("multiwoz", "multiwoz_zh"), ["gap", "misaligned name", "language"]].tolist()
    [0.5, 0.0, 0.5]
    """
    rows = {}
    for pair, transfer, home in _off_diagonal(found):
        points = transfer.attribution.table["points"].drop("whole")
        own = home.attribution.table["points"].drop("whole") if home else 0 * points
        raw, _, _, aligned = _stages(transfer, METRICS[0])
        reference = _stages(home, METRICS[0])[0] if home else 1.0
        parts = {"reference": reference, "raw": raw, "aligned": aligned, "gap": reference - raw}
        rows[pair] = pd.concat([pd.Series(parts), points - own])
    return _by_pair(rows)


def stage_table(found: Found, metric: str = "slot_f1") -> pd.DataFrame:
    """Return the gap in a score of each pair, and what each stage of the alignment wins back.

    Parameters
    ----------
    found : mapping
    metric : str

    Returns
    -------
    pandas.DataFrame
        Indexed as `gap_table`; ``reference``, ``raw``, ``aligned``, ``gap`` as there, and ``names``,
        ``values``, ``language`` (what renaming, converting and translating win; negative where they
        lose) and ``after alignment`` (reference minus aligned); these four add up to the gap.

    Examples
    --------
    >>> from dialogeval.transfer.runs import _example
    >>> stage_table(_example()).loc[("multiwoz", "multiwoz_zh"), ["gap", "names", "language"]].tolist()
    [1.0, 0.0, 0.5]
    """
    rows = {}
    for pair, transfer, home in _off_diagonal(found):
        raw, names, values, aligned = _stages(transfer, metric)
        reference = _stages(home, metric)[0] if home else 1.0
        parts = {"names": names - raw, "values": values - names, "language": aligned - values}
        head = {"reference": reference, "raw": raw, "aligned": aligned, "gap": reference - raw}
        rows[pair] = pd.Series(head | parts | {"after alignment": reference - aligned})
    return _by_pair(rows)


# Helpers ------------------------------------------------------------------------------------------


def _stages(transfer: Transfer, metric: str) -> list[float]:
    """The values of raw, names, values, aligned."""
    return [float(v) for v in transfer.stages.loc[metric].to_numpy(dtype=float)]


def _by_target(found: Found) -> list[tuple[str, str]]:
    """All pairs, those of one target together, the target's own tracker first."""
    targets = list(dict.fromkeys(target for _, target in found))
    return sorted(found, key=lambda pair: (targets.index(pair[1]), pair[0] != pair[1]))


def _off_diagonal(found: Found) -> list[tuple[tuple[str, str], Transfer, Transfer | None]]:
    """Pairs of two corpora with the transfer of the target to itself; a lone pair counts whatever it is."""
    pairs = [pair for pair in _by_target(found) if pair[0] != pair[1]] or list(found)
    return [(p, found[p], found.get((p[1], p[1])) if p[0] != p[1] else None) for p in pairs]


def _by_pair(rows: dict[tuple[str, str], pd.Series]) -> pd.DataFrame:
    return pd.DataFrame(rows).T.rename_axis(index=["trained_on", "scored_on"], columns=None)

"""Rankings: which neighbours differ significantly, and who stands where under which definition.

In: a `Comparison`, or tables of scores by definition. Out: tables of neighbours, of ranks, sentences.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd

from .comparison import Comparison
from .definition_table import rankings
from .exceptions import DialogevalError
from .leaderboard import leaderboard
from .protocols import Protocol, find_protocol
from .scoring import score
from .systems import main_metrics, printable
from .tables import Corpus, Predictions

__all__ = [
    "bleu_definitions",
    "neighbour_sentence",
    "neighbours",
    "paper_text",
    "published_neighbours",
    "ranks",
]

#: Scores that the public leaderboard lists.
_PUBLISHED = ("bleu", "inform", "success")
_COLUMNS = ("better", "worse", "difference", "low", "high", "p_holm", "verdict", "unit")


def neighbours(comparison: Comparison, key: str, order: Sequence[str] | None = None) -> pd.DataFrame:
    """Test each system against the next one in a ranking.

    Parameters
    ----------
    comparison : Comparison
    key : str
        A metric.
    order : sequence of str, optional
        Systems, best first, as somebody else ranked them; by their value here by default.

    Returns
    -------
    pandas.DataFrame
        One row a pair of neighbours: score, better, worse, difference (better − worse, in the score's
        unit), low, high, p_holm (corrected over all pairs of the metric, not only over neighbours),
        verdict: ``significant``, ``not significant (p = …)``, ``reversed`` (significant, and against the
        order) or ``not tested``; unit.

    Examples
    --------
    >>> import dialogeval as de
    >>> from dialogeval.systems import compare_groups, load_systems
    >>> gold = de.load_corpus("sample/crosswoz_en")
    >>> systems, _ = load_systems(gold, "sample/predictions/crosswoz_en", "lin2021")
    >>> table = neighbours(compare_groups(gold, systems, "lin2021", resamples=200)[0]["states"], "slot_f1")
    >>> table.loc[0, ["better", "worse", "verdict"]].tolist()
    ['tracker_careful', 'tracker_offers', 'significant']
    """
    first = next(iter(comparison.scores.values())).table.loc[key]
    tested = comparison.pairs[comparison.pairs["metric"] == key].to_dict("records")
    own: dict[tuple[str, str], dict[Any, Any]] = {(row["a"], row["b"]): row for row in tested}
    lower = first["better"] == "lower"
    rows = []
    for better, worse in pairwise(comparison.ranking(key) if order is None else order):
        known = (better, worse) in own
        test = own[(better, worse) if known else (worse, better)]
        low, high = (test["low"], test["high"]) if known else (-test["high"], -test["low"])
        difference = test["difference"] if known else -test["difference"]
        against = (difference > 0) == lower
        verdict = f"not significant ({_p(test['p_holm'])})"
        if np.isnan(test["p_holm"]):
            verdict = "not tested"
        elif test["significant"]:
            verdict = "reversed" if against else "significant"
        row = {"score": first["label"], "better": better, "worse": worse, "difference": difference}
        rows.append(
            {
                **row,
                "low": low,
                "high": high,
                "p_holm": test["p_holm"],
                "verdict": verdict,
                "unit": first["unit"],
            }
        )
    return pd.DataFrame(rows, columns=["score", *_COLUMNS])


def published_neighbours(comparison: Comparison) -> pd.DataFrame:
    """Test the neighbours of the public MultiWOZ leaderboard, in the order in which it lists them.

    Parameters
    ----------
    comparison : Comparison
        Under protocol ``mwzeval``; systems are known by name.

    Returns
    -------
    pandas.DataFrame
        As `neighbours`, with ``published``, the difference in the published table, before the
        difference here; no rows if fewer than two systems or no score stand there.

    Examples
    --------
    >>> import dialogeval as de
    >>> gold = de.load_corpus("sample/multiwoz")
    >>> both = {name: de.as_predictions(gold) for name in ("ubar", "pptod")}
    >>> result = de.compare(gold, both, "mwzeval", metrics=["bleu"], resamples=0, shuffles=99)
    >>> published_neighbours(result)[["better", "worse", "published", "verdict"]].values.tolist()
    [['pptod', 'ubar', 0.6, 'not significant (p = 1.000)']]
    """
    known = leaderboard()
    known = known[known.index.isin(list(comparison.scores))]
    tables = []
    protocol = next(iter(comparison.scores.values())).protocol.name
    for key in _PUBLISHED if protocol == "mwzeval" and len(known) > 1 else ():
        if key in comparison.table:
            values = known[key].sort_values(ascending=False, kind="stable")
            tables.append(neighbours(comparison, key, list(values.index)))
            tables[-1].insert(3, "published", (-values.diff().dropna()).round(2).to_numpy())
    if tables:
        return pd.concat(tables, ignore_index=True)
    return pd.DataFrame(columns=["score", *_COLUMNS[:2], "published", *_COLUMNS[2:]])


def neighbour_sentence(table: pd.DataFrame) -> str:
    """Say in one sentence which neighbours of one score differ significantly.

    Parameters
    ----------
    table : pandas.DataFrame
        Rows of one score, as `neighbours` returns them.

    Returns
    -------
    str

    Examples
    --------
    >>> row = ["JGA", "a", "b", 0.1, 0.05, 0.15, 0.0002, "significant", "fraction"]
    >>> neighbour_sentence(pd.DataFrame([row], columns=["score", *_COLUMNS]))
    'JGA: 1 of 1 pairs of neighbours differ significantly (a over b by 0.100, p < 0.001).'
    """
    alike = table[table["verdict"].str.startswith("not significant")]
    apart = table[table["verdict"].isin(["significant", "reversed"])]
    label = table["score"].iloc[0]
    if (table["verdict"] == "not tested").any():
        return f"{label}: not tested."
    text = f"{label}: {len(apart) or 'none'} of {len(table)} pairs of neighbours differ significantly"
    if len(apart):
        text += " (" + "; ".join(_said(row, "over") for row in apart.to_dict("records")) + ")"
    if len(alike):
        text += ". Not significant: "
        text += "; ".join(_said(row, "and") for row in alike.to_dict("records"))
    return text + "."


def paper_text(comparison: Comparison, whole: Corpus) -> str:
    """Return sentences for a paper: who is best, which neighbours differ, how it was tested.

    Parameters
    ----------
    comparison : Comparison
    whole : Corpus
        The split before it was restricted to common dialogues.

    Returns
    -------
    str

    Examples
    --------
    >>> import dialogeval as de
    >>> gold = de.load_corpus("sample/crosswoz_en")
    >>> both = {name: de.as_predictions(gold) for name in "ab"}
    >>> print(paper_text(de.compare(gold, both, "lin2021", resamples=10, shuffles=99), gold))
    On sample/crosswoz_en/test@... (60 of 60 dialogues, 477 turns), 2 systems are compared ... Signature: jga|...
    """
    first = next(iter(comparison.scores.values()))
    cover, protocol, n = first.coverage, first.protocol, len(comparison.scores)
    source = f" ({protocol.source})" if protocol.source else ""
    text = (
        f"On {whole.id} ({cover.dialogues_scored:,} of {whole.turns['dialogue_id'].nunique():,} dialogues, "
        f"{cover.turns_scored:,} turns), {n} systems are compared under protocol {protocol.name}{source}."
    )
    for key in main_metrics(comparison):
        table = neighbours(comparison, key)
        best, row = comparison.ranking(key)[0], first.table.loc[key]
        digits = _digits(str(row["unit"]))
        value = comparison.scores[best].table.loc[key]
        ends = "" if np.isnan(value["low"]) else f" [{value['low']:.{digits}f}, {value['high']:.{digits}f}]"
        text += f" Best in {row['label']} is {best} with {value['value']:.{digits}f}{ends}"
        near = {name for group in comparison.groups(key) if best in group for name in group}
        like = [name for name in comparison.ranking(key)[1:] if name in near]
        text += f", not to be told apart from {', '.join(like)}." if like else "."
        text += f" {neighbour_sentence(table)}"
        least = comparison.smallest_detectable()[key]
        if not np.isnan(least):
            text += (
                f" One test at this size finds a true difference of {least:.{digits}f} four times in five."
            )
    return (
        f"{text} Brackets hold 95 % bootstrap intervals; p-values are of approximate randomisation over "
        f"dialogues, Holm-corrected over all {n * (n - 1) // 2} pairs of systems, level {comparison.level:g}. "
        f"Signature: {comparison.signature}"
    )


def bleu_definitions(
    gold: Corpus, systems: Mapping[str, Predictions], protocols: Sequence[str | Protocol], missing: str = ""
) -> pd.DataFrame:
    """Score the responses of all systems under every definition of BLEU-4 that the protocols have.

    Parameters
    ----------
    gold : Corpus
    systems : mapping of str to Predictions
        Those without responses are passed over.
    protocols : sequence of str or Protocol
    missing : str

    Returns
    -------
    pandas.DataFrame
        As `dialogeval.definitions`, in per cent; ``attrs["notes"]`` says what does not apply.

    Examples
    --------
    >>> import dialogeval as de
    >>> gold = de.load_corpus("sample/multiwoz")
    >>> mine = {"t": de.load_predictions("sample/predictions/multiwoz/generator_template.json.gz")}
    >>> bleu_definitions(gold, mine, ["mwzeval", "lai2019"]).index.tolist()
    ['mwzeval: BLEU', 'lai2019: BLEU-4', 'lai2019: BLEU-4 (sentence mean)']
    """
    rows: dict[str, dict[str, float]] = {}
    notes = []
    speaking = {name: p for name, p in systems.items() if p.responses is not None}
    for protocol in map(find_protocol, protocols):
        keys = [m.key for m in protocol.resolve_metrics() if m.key == "bleu" or m.key.startswith("bleu_4")]
        if not keys:
            continue
        try:
            for name, system in speaking.items():
                table = score(gold, system, protocol.only(keys), missing=missing or None, resamples=0).table
                for _, row in table.iterrows():
                    rows.setdefault(f"{protocol.name}: {row['label']}", {})[name] = row["value"]
        except DialogevalError as error:
            notes.append(f"{protocol.name} does not apply: {printable(error)}")
    table = pd.DataFrame.from_dict(rows, orient="index", columns=list(speaking)).rename_axis("definition")
    table = table.rename_axis("system", axis=1).dropna(how="any")
    table.attrs = {"metric": "bleu", "better": "higher", "notes": notes}
    return table


def ranks(table: pd.DataFrame) -> pd.DataFrame:
    """Return the place of each system under each definition, definitions of one ranking taken together.

    Parameters
    ----------
    table : pandas.DataFrame
        As `dialogeval.definitions` returns it, without intervals.

    Returns
    -------
    pandas.DataFrame
        One row a ranking, one column a system, places from 1; equal scores share the better one.

    Examples
    --------
    >>> table = pd.DataFrame({"a": [0.2, 0.5, 0.4], "b": [0.3, 0.4, 0.4]}, index=["x", "y", "z"])
    >>> ranks(table).values.tolist()
    [[2, 1], [1, 2], [1, 1]]
    """
    ascending = table.attrs.get("better") == "lower"
    # Equal means equal but for rounding in sums, as in `rankings`.
    places = table.round(12).rank(axis=1, method="min", ascending=ascending)
    rows = {}
    for _, same in rankings(table).groupby("ranking", sort=False):
        labels = [str(label) for label in same.index]
        more = f" and {len(labels) - 1} more" if len(labels) > 1 else ""
        rows[labels[0] + more] = places.loc[same.index[0]]
    return pd.DataFrame(rows).T.astype("int64").rename_axis("definition")


# Helpers ------------------------------------------------------------------------------------------


def _digits(unit: str) -> int:
    return 3 if unit == "fraction" else 2


def _p(p: float) -> str:
    return "p < 0.001" if p < 0.001 else f"p = {p:.3f}"


def _said(row: Mapping[Any, Any], between: str) -> str:
    better, worse = row["better"], row["worse"]
    if row["verdict"] == "reversed":
        better, worse = worse, better
    return f"{better} {between} {worse} by {abs(row['difference']):.{_digits(row['unit'])}f}, {_p(row['p_holm'])}"

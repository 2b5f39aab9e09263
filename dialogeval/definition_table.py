"""One system, N definitions: the same predictions under every protocol and normalisation policy.

In: a corpus and the predictions of one or several systems. Out: a table of one score, a row a
definition and a column a system, and the ranking of the systems under each.
"""

from __future__ import annotations

import csv
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib.resources import files
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from dialogeval.corpora.load import as_corpus
from dialogeval.exceptions import DialogevalError, UnknownNameError, UsageError
from dialogeval.golds import lay_out, match_turns
from dialogeval.metrics.states import FUZZY_METRICS
from dialogeval.predictions.load import as_loaded
from dialogeval.protocols import PROTOCOLS, Protocol, find_protocol, metric_table
from dialogeval.scoring import SEED, score
from dialogeval.tables import Corpus, Predictions

#: Beside the steps of `dialogeval.normalize`, a policy may end in this one: values match when their
#: partial ratio is above 95.
FUZZY = "values:fuzzy"
with (files(__package__) / "data" / "policies.csv").open(encoding="utf-8") as _file:
    #: Steps by the name of the policy, each alone, then together. They are put on top of ``lin2021``.
    POLICIES = {row["policy"]: tuple(row["steps"].split()) for row in csv.DictReader(_file)}


def definitions(
    gold: Corpus | str | os.PathLike[str] | None,
    predictions: Predictions | str | os.PathLike[str] | Mapping[str, Predictions | str | os.PathLike[str]],
    protocols: Sequence[str | Protocol] | None = None,
    policies: Mapping[str, Sequence[str]] | None = None,
    metric: str = "joint_goal_accuracy",
    resamples: int = 0,
    *,
    missing: str | None = None,
    seed: int = SEED,
) -> pd.DataFrame:
    """Score the same predictions under every definition.

    Parameters
    ----------
    gold : Corpus, str, path-like or None
        A corpus, its name or path; None for predictions whose files carry their own gold.
    predictions : Predictions, str, path-like, or mapping of str to any of these
        One system or its file, or several by name.
    protocols : sequence of str or Protocol, optional
        All built-in protocols for states by default.
    policies : mapping of str to sequence of str, optional
        Steps by the name of the policy, which are put on top of ``lin2021``; `POLICIES` by default,
        ``{}`` for none. The last step may be ``values:fuzzy``.
    metric : str, default="joint_goal_accuracy"
        Key of a score of states.
    resamples : int, default=0
        Bootstrap resamples of dialogues for 95 % intervals.
    missing : {"error", "empty", "skip"}, optional
        What to do with turns that the predictions lack; each protocol's own choice by default.
    seed : int, default=12345

    Returns
    -------
    pandas.DataFrame
        Indexed by definition, one column a system (with ``resamples``, three: (system, value),
        (system, low), (system, high)). ``attrs`` hold ``metric``; ``better``; ``signatures``, by
        definition and system; and ``notes``: definitions that do not apply, with the reason, and
        what was left out of the data.

    Raises
    ------
    CoverageError
        The predictions do not cover the corpus.
    UnknownNameError, UsageError
        An unknown protocol, step or metric; predictions without states; no gold.

    Examples
    --------
    >>> import dialogeval as de
    >>> gold = de.load_corpus("sample/crosswoz_en")
    >>> names = {n: f"sample/predictions/crosswoz_en/tracker_{n}.jsonl.gz" for n in ("careful", "sloppy")}
    >>> systems = {name: de.load_predictions(path) for name, path in names.items()}
    >>> table = definitions(gold, systems, ["lin2021", "dstc9"], {"lower case": ["case:lower"]})
    >>> table.index.tolist(), table.columns.tolist()
    (['lin2021', 'dstc9', 'lin2021 + lower case'], ['careful', 'sloppy'])
    """
    known = {key: m for key, m in metric_table().items() if m.task == "state"}
    if metric not in known:
        raise UnknownNameError("score of states", metric, known)
    rows, notes = _rows(protocols, POLICIES if policies is None else policies, metric)
    if not isinstance(predictions, Mapping):
        predictions = {(found := as_loaded(predictions)).name: found}
    if not predictions:
        raise UsageError("no predictions", expected="at least one system", got="none")
    gold = as_corpus(gold)
    columns: dict[Any, dict[str, Any]] = {}
    signatures: dict[str, dict[str, str]] = {label: {} for label in rows}
    heard: dict[str, list[str]] = {}
    turns: list[pd.DataFrame] = []
    for name, system in ((n, as_loaded(p)) for n, p in predictions.items()):
        corpus = gold or system.gold
        if corpus is None:
            raise UsageError("no gold to score against", file=system.path or name, mend="name a corpus")
        corpus = lay_out(corpus)
        rules = dict.fromkeys(missing or p.missing for p in rows.values())
        covers = [match_turns(corpus, system, rule) for rule in rules]
        turns += [cover.turns[["dialogue_id", "turn"]] for cover in covers[:1]]
        said = [warning for cover in covers for warning in cover.warnings]
        for label, protocol in rows.items():
            try:
                scores = score(corpus, system, protocol, missing=missing, resamples=resamples, seed=seed)
            except DialogevalError as error:
                if system.states is None:
                    raise
                said.append(f"{label} does not apply: {error.said}")
                continue
            signatures[label][name] = scores.metric_signature(metric)
            for part in ("value", "low", "high") if resamples else ("value",):
                column = columns.setdefault((name, part) if resamples else name, {})
                column[label] = scores.table.at[metric, part]
        said += [text for kind in ("any", "state", "per-turn") for text in corpus.cautions.get(kind, ())]
        for note in said:
            heard.setdefault(note, []).append(name)
    table = pd.DataFrame(columns, index=list(rows)).dropna(how="all").rename_axis("definition")
    table.columns.names = ["system", None] if resamples else ["system"]
    # What holds for all systems is said once.
    notes += [n if len(who) == len(predictions) else f"{', '.join(who)}: {n}" for n, who in heard.items()]
    if any(not turns[0].equals(other) for other in turns[1:]):
        notes.append("the systems were not scored on the same turns, so that their ranking may be unfair")
    table.attrs = {
        "metric": metric,
        "better": known[metric].better,
        "signatures": {label: signatures[label] for label in table.index},
        "notes": notes,
    }
    return table


def _rows(
    protocols: Sequence[str | Protocol] | None, policies: Mapping[str, Sequence[str]], metric: str
) -> tuple[dict[str, Protocol], list[str]]:
    """List the definitions by label, and note those that do not have the metric."""
    rows: list[tuple[str, Protocol]] = []
    notes = []
    for protocol in map(find_protocol, PROTOCOLS if protocols is None else protocols):
        if metric in [m.key for m in protocol.resolve_metrics() if m.task == "state"]:
            rows.append((protocol.label, protocol.only([metric])))
        elif "state" in protocol.tasks or protocols is not None:
            notes.append(f"{protocol.label} has no {metric}")
    for name, steps in policies.items():
        title = f"lin2021 + {name}"
        if FUZZY in steps and metric not in FUZZY_METRICS:
            notes.append(f"{title} does not apply: {metric} is not defined for fuzzy values")
            continue
        plain = tuple(step for step in steps if step != FUZZY)
        used = FUZZY_METRICS[metric] if FUZZY in steps else metric
        label = "lin2021+" + re.sub(r"[^A-Za-z0-9.+_-]+", "-", name)
        rows.append((title, replace(PROTOCOLS["lin2021"], name=label, steps=plain, metrics=(used,))))
    named = dict(rows)
    if len(named) < len(rows):
        raise UsageError("two definitions have one name", mend="give each its own name")
    return named, notes


def rankings(table: pd.DataFrame) -> pd.DataFrame:
    """Rank the systems under each definition.

    Parameters
    ----------
    table : pandas.DataFrame
        As `definitions` returns it.

    Returns
    -------
    pandas.DataFrame
        Same index. ``ranking``, best first, such as ``"a > b = c"``; ``differs``, whether it orders
        any two systems otherwise than the first row; ``moved``, the pairs it does so for.

    Examples
    --------
    >>> table = pd.DataFrame({"a": [0.2, 0.5], "b": [0.3, 0.4]}, index=["JGA", "fuzzy"])
    >>> rankings(table)
           ranking  differs moved
    JGA      b > a    False
    fuzzy    a > b     True   a/b
    """
    sign = -1 if table.attrs.get("better") == "lower" else 1
    if table.columns.nlevels > 1:
        table = table.loc[:, (slice(None), "value")].droplevel(1, axis=1)
    rows = {}
    first: dict[tuple[str, str], float] = {}
    # Equal means equal but for rounding in sums.
    for label, values in (sign * table).round(12).to_dict("index").items():
        present = {str(name): value for name, value in values.items() if not np.isnan(value)}
        levels = sorted(set(present.values()), reverse=True)
        places = [" = ".join(n for n, value in present.items() if value == level) for level in levels]
        order = {(a, b): np.sign(present[a] - present[b]) for a, b in combinations(present, 2)}
        first = first or order
        moved = [f"{a}/{b}" for (a, b), sense in order.items() if first.get((a, b), sense) != sense]
        rows[label] = {"ranking": " > ".join(places), "differs": bool(moved), "moved": ", ".join(moved)}
    ranked = pd.DataFrame.from_dict(rows, orient="index", columns=["ranking", "differs", "moved"])
    ranked.index.name = table.index.name
    return ranked

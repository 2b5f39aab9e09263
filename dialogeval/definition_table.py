"""One system, N definitions: the same predictions under every protocol and normalisation policy.

In: a corpus and the predictions of one or several systems. Out: a table of one score, a row a
definition and a column a system, and the ranking of the systems under each. Strings are coded once
for each system; a policy then maps codes, so that another definition costs a few milliseconds.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from dialogeval.corpora.load import as_corpus
from dialogeval.exceptions import DialogevalError, UnknownNameError, UsageError
from dialogeval.golds import GOLDS, Coverage, lay_out, match_turns, ontology_size
from dialogeval.metrics import Metric
from dialogeval.metrics.states import FUZZY_METRICS, StatePair, pair_states
from dialogeval.normalize import own_steps
from dialogeval.pairing import normalize_pair, state_pair
from dialogeval.predictions.load import as_loaded
from dialogeval.protocols import PROTOCOLS, Protocol, find_protocol, metric_table, signature
from dialogeval.scoring import SEED
from dialogeval.stats import bootstrap, dialogue_sums, percentile_interval
from dialogeval.tables import Corpus, Predictions

#: Beside the steps of `dialogeval.normalize`, a policy may end in this one: values match when their
#: partial ratio is above 95.
FUZZY = "values:fuzzy"
#: What may not stand in the name of a protocol.
_NO_NAME = re.compile(r"[^A-Za-z0-9.+_-]+")
_SPELLING = (
    "case:lower",
    "space:collapse",
    "time:hhmm",
    "article:drop",
    "punctuation:drop",
    "spelling:unify",
)
_PLAIN = ("slots:multiwoz22", "case:lower", "space:collapse")
_ALL = (*_SPELLING, "none:drop", "dontcare:drop", "slots:multiwoz22")

#: Policies by name: each step alone, then steps together. They are put on top of ``lin2021``.
POLICIES: dict[str, tuple[str, ...]] = {
    **{
        step: (step,)
        for step in (
            *("case:lower", "space:collapse", "space:remove", "none:drop", "dontcare:unify", "dontcare:drop"),
            *("time:hhmm", "article:drop", "spelling:unify", "punctuation:drop", "slots:multiwoz22", FUZZY),
        )
    },
    "case, space": ("case:lower", "space:collapse"),
    "case, space, none": ("case:lower", "space:collapse", "none:drop"),
    "case, space, none, dontcare": ("case:lower", "space:collapse", "none:drop", "dontcare:drop"),
    "slots, case, space": _PLAIN,
    "slots, case, space, none": (*_PLAIN, "none:drop"),
    "slots, case, space, none, dontcare": (*_PLAIN, "none:drop", "dontcare:drop"),
    "all spelling": _SPELLING,
    "all steps": _ALL,
    "all steps, fuzzy": (*_ALL, FUZZY),
}


@dataclass(frozen=True)
class _Row:
    label: str
    protocol: Protocol
    metric: Metric


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
    rows, notes = _rows(protocols, POLICIES if policies is None else policies, known[metric])
    if not isinstance(predictions, Mapping):
        predictions = {(found := as_loaded(predictions)).name: found}
    if not predictions:
        raise UsageError("no predictions", expected="at least one system", got="none")
    gold = as_corpus(gold)
    columns: dict[Any, dict[str, float]] = {}
    signatures: dict[str, dict[str, str]] = {row.label: {} for row in rows}
    scored: dict[str, pd.DataFrame] = {}
    heard: dict[str, list[str]] = {}
    for name, system in ((n, as_loaded(p)) for n, p in predictions.items()):
        corpus = gold or system.gold
        if corpus is None:
            raise UsageError("no gold to score against", file=system.path or name, mend="name a corpus")
        corpus = lay_out(corpus)
        values, said, first = _column(corpus, system, rows, missing, resamples, seed, signatures, name)
        said += [text for kind in ("any", "state", "per-turn") for text in corpus.cautions.get(kind, ())]
        for note in said:
            heard.setdefault(note, []).append(name)
        scored[name] = first
        for part in ("value", "low", "high") if resamples else ("value",):
            columns[(name, part) if resamples else name] = {row: v[part] for row, v in values.items()}
    table = pd.DataFrame(columns, index=[row.label for row in rows]).dropna(how="all")
    table.index.name = "definition"
    table.columns.names = ["system", None] if resamples else ["system"]
    # What holds for all systems is said once.
    notes += [n if len(who) == len(predictions) else f"{', '.join(who)}: {n}" for n, who in heard.items()]
    turns = list(scored.values())
    if any(not turns[0].equals(other) for other in turns[1:]):
        notes.append("the systems were not scored on the same turns, so that their ranking may be unfair")
    table.attrs = {
        "metric": metric,
        "better": known[metric].better,
        "signatures": {row: signatures[row] for row in table.index},
        "notes": notes,
    }
    return table


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
    if table.columns.nlevels > 1:
        attrs = table.attrs
        table = table[[c for c in table.columns if c[1] == "value"]].droplevel(1, axis=1)
        table.attrs = attrs
    sign = -1 if table.attrs.get("better") == "lower" else 1
    rows: dict[Any, dict[str, Any]] = {}
    first: dict[tuple[str, str], float] = {}
    for label, values in (sign * table).iterrows():
        present = values.dropna()
        # Equal means equal but for rounding in sums.
        order = {
            (a, b): float(np.sign(np.round(present[a] - present[b], 12)))
            for a, b in combinations(present.index, 2)
        }
        first = first or order
        moved = [f"{a}/{b}" for (a, b), sense in order.items() if first.get((a, b), sense) != sense]
        rows[label] = {"ranking": _ranking(present), "differs": bool(moved), "moved": ", ".join(moved)}
    out = pd.DataFrame.from_dict(rows, orient="index", columns=["ranking", "differs", "moved"])
    out.index.name = table.index.name
    return out


def _ranking(values: pd.Series) -> str:
    text = ""
    last = None
    for name, value in values.sort_values(ascending=False, kind="stable").items():
        text += (" = " if np.isclose(value, last, rtol=0, atol=1e-12) else " > ") if last is not None else ""
        text += str(name)
        last = value
    return text


def _rows(
    protocols: Sequence[str | Protocol] | None, policies: Mapping[str, Sequence[str]], metric: Metric
) -> tuple[list[_Row], list[str]]:
    """List the definitions, and note those that do not have the metric."""
    rows, notes = [], []
    chosen = PROTOCOLS if protocols is None else protocols
    for protocol in map(find_protocol, chosen):
        own = [m for m in protocol.resolve_metrics() if m.task == "state"]
        here = next((m for m in own if m.key == metric.key), None)
        if here is not None:
            rows.append(_Row(protocol.label, protocol, here))
        elif own or protocols is not None:
            notes.append(f"{protocol.label} has no {metric.key}")
    for name, steps in policies.items():
        plain = tuple(s for s in steps if s != FUZZY)
        fuzzy = len(plain) < len(steps)
        if fuzzy and metric.key not in FUZZY_METRICS:
            notes.append(f"lin2021 + {name} does not apply: {metric.key} is not defined for fuzzy values")
            continue
        here = FUZZY_METRICS[metric.key] if fuzzy else metric
        title = f"lin2021 + {name}"
        mine = replace(
            PROTOCOLS["lin2021"], name="lin2021+" + _NO_NAME.sub("-", name), steps=plain, metrics=(here,)
        )
        rows.append(_Row(title, mine, here))
    labels = [row.label for row in rows]
    if len(set(labels)) < len(labels):
        twice = next(label for label in labels if labels.count(label) > 1)
        raise UsageError(f"two definitions are called {twice}", mend="give each its own name")
    return rows, notes


def _column(
    corpus: Corpus,
    system: Predictions,
    rows: Iterable[_Row],
    missing: str | None,
    resamples: int,
    seed: int,
    signatures: dict[str, dict[str, str]],
    name: str,
) -> tuple[dict[str, dict[str, float]], list[str], pd.DataFrame]:
    """Score one system under all definitions; values by row, notes, and the turns scored first."""
    covers: dict[str, Coverage] = {}
    coded: dict[str, StatePair] = {}
    values: dict[str, dict[str, float]] = {}
    notes: list[str] = []
    drawn: dict[str, dict[str, Any]] = {}
    for row in rows:
        policy = missing or row.protocol.missing
        if policy not in covers:
            covers[policy] = match_turns(corpus, system, policy)
            notes += covers[policy].warnings
        cover = covers[policy]
        try:
            if _is_plain(corpus, row.protocol) and system.states is not None:
                if policy not in coded:
                    coded[policy] = pair_states(
                        cover.turns, corpus.states, system.states, ontology_size(corpus)
                    )
                pair = normalize_pair(coded[policy], own_steps(row.protocol.steps, corpus.family))
            else:
                pair = state_pair(corpus, system, row.protocol, cover)[0]
        except DialogevalError as error:
            if system.states is None:
                raise
            notes.append(f"{row.label} does not apply: {error.said}")
            continue
        counts = row.metric.counts(pair)
        value = float(row.metric.value(dict(counts.sum())))
        values[row.label] = {"value": value, "low": np.nan, "high": np.nan}
        if resamples:
            drawn.setdefault(policy, {})[row.label] = (dialogue_sums(counts), {row.label: row.metric.value})
        whole = signature(row.protocol, {"state": ()}, corpus, cover, policy, resamples, seed).split("|")
        called = row.metric.label.lower().replace(" ", "_")
        options = [f"{k}:{v}" for k, v in row.metric.options]
        signatures[row.label][name] = "|".join([called, *options, *whole[1:]])
    for tables in drawn.values():
        for label, resampled in bootstrap(tables, resamples, seed).items():
            low, high = percentile_interval(resampled)
            values[label] |= {"low": low, "high": high}
    return values, notes, next(iter(covers.values())).turns[["dialogue_id", "turn"]]


def _is_plain(corpus: Corpus, protocol: Protocol) -> bool:
    """Tell whether gold and prediction are compared value by value, all slots of them."""
    if protocol.gold != "annotated" or protocol.compare != "all":
        return False
    return not len(GOLDS["annotated"](corpus).alternatives)

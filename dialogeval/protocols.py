"""Protocols: named, citable bundles of normalisation, gold, metrics and edge-case rules.

A protocol is data. Its steps say how values (or texts) are normalised, its metrics how they are
counted, and its name and steps stand in the signature of every result. Define your own in a few
lines with `dataclasses.replace`, or with `Protocol` itself; a signature then says ``user/NAME``.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import pandas as pd

from .errors import UnknownNameError, UsageError
from .metrics import Metric

__all__ = ["MISSING", "PROTOCOLS", "Protocol", "default_protocol", "find_protocol", "protocols_table"]

#: What happens to turns of the corpus that the predictions lack.
MISSING = ("error", "empty", "skip")


@dataclass(frozen=True)
class Protocol:
    """How predictions are scored.

    Parameters
    ----------
    name : str
        As it stands in the signature.
    task : {"state", "text"}
        What is scored: predicted states or responses.
    metrics : tuple of str or Metric
        Keys of the metric tables, or metrics of your own.
    steps : tuple of str
        Normalisation, ``name:choice``, in this order; see `dialogeval.normalize` for states and
        `dialogeval.pairing` for texts.
    missing : {"error", "empty", "skip"}
        Default for turns that the predictions lack.
    references : {"delexicalized", "lexical"}
        For texts: compare with delexicalised references, or with the utterances as they stand.
    tokenizer : {"space", "13a", "zh", "char"}
        For texts.
    title, source : str
        One line on what it is, and where it is published.

    Raises
    ------
    UnknownNameError
        An unknown task, missing policy or choice of references.

    Examples
    --------
    >>> from dataclasses import replace
    >>> mine = replace(PROTOCOLS["lin2021"], name="mine", steps=("case:lower",))
    >>> mine.label
    'user/mine'
    """

    name: str
    task: str
    metrics: tuple[str | Metric, ...]
    steps: tuple[str, ...] = ()
    missing: str = "error"
    references: str = "delexicalized"
    tokenizer: str = "space"
    title: str = ""
    source: str = ""

    def __post_init__(self) -> None:
        for what, choice, known in (
            ("task", self.task, ("state", "text")),
            ("missing policy", self.missing, MISSING),
            ("references", self.references, ("delexicalized", "lexical")),
        ):
            if choice not in known:
                raise UnknownNameError(what, choice, known)
        if not self.metrics:
            raise UsageError(f"protocol {self.name} has no metrics", mend="name at least one")

    @property
    def label(self) -> str:
        """Name for the signature; one that is not built in says so."""
        return self.name if PROTOCOLS.get(self.name) == self else f"user/{self.name}"

    def resolve_metrics(self) -> tuple[Metric, ...]:
        """Return the metrics themselves.

        Raises
        ------
        UnknownNameError
        """
        known = metric_table(self.task)
        found = []
        for metric in self.metrics:
            if isinstance(metric, str):
                if metric not in known:
                    raise UnknownNameError(f"metric of task {self.task}", metric, known)
                metric = known[metric]
            found.append(metric)
        return tuple(found)


def metric_table(task: str) -> dict[str, Metric]:
    """Return all metrics of a task by key.

    Parameters
    ----------
    task : {"state", "text"}

    Returns
    -------
    dict of str to Metric

    Examples
    --------
    >>> "joint_goal_accuracy" in metric_table("state")
    True
    """
    if task == "state":
        from .metrics.state import STATE_METRICS

        return dict(STATE_METRICS)
    from .metrics.goal import GOAL_METRICS
    from .metrics.text import TEXT_METRICS

    return {**TEXT_METRICS, **GOAL_METRICS}


_BLEU = ("bleu_1", "bleu_2", "bleu_3", "bleu_4", "bleu_4_sentence")
_DISTINCT = ("distinct_1", "distinct_2", "distinct_utterances")
_GOAL = ("goal_precision", "goal_recall", "goal_f1")
_DELEX = ("placeholders:canonical", "case:lower")

PROTOCOLS: dict[str, Protocol] = {
    p.name: p
    for p in (
        Protocol(
            "lin2021",
            "state",
            ("joint_goal_accuracy", "slot_f1", "slot_precision", "slot_recall", "slot_f1_micro"),
            title="values as they are; joint goal accuracy and the card's slot F1 (CrossWOZ)",
            source="Lin & Chen 2021, arXiv:2101.11360; evaluation card crosswoz-dst-eval",
        ),
        Protocol(
            "lai2019",
            "text",
            (*_BLEU, *_DISTINCT, *_GOAL),
            steps=_DELEX,
            title="corpus BLEU-1..4, diversity and goal focus on delexicalised text (MultiWOZ)",
            source="Lai et al. 2019, arXiv:1909.09220",
        ),
        Protocol(
            "lai2019-card",
            "text",
            ("bleu_4_card", "distinct_1", "distinct_2_per_token", "distinct_utterances", *_GOAL),
            steps=_DELEX,
            title="the evaluation card's recipe to the letter: sentence BLEU, bigrams per token",
            source="evaluation card multiwoz-dialogue-eval, after Lai et al. 2019",
        ),
    )
}


def find_protocol(protocol: str | Protocol) -> Protocol:
    """Return a protocol by name; a protocol is returned as it is.

    Parameters
    ----------
    protocol : str or Protocol

    Returns
    -------
    Protocol

    Raises
    ------
    UnknownNameError

    Examples
    --------
    >>> find_protocol("lin2021").task
    'state'
    """
    if isinstance(protocol, Protocol):
        return protocol
    if protocol not in PROTOCOLS:
        raise UnknownNameError("protocol", protocol, PROTOCOLS)
    return PROTOCOLS[protocol]


def default_protocol(has_states: bool, has_responses: bool, family: str) -> Protocol:
    """Return the protocol that is used when none is named.

    Parameters
    ----------
    has_states, has_responses : bool
        What the predictions hold.
    family : str
        Family of the corpus.

    Returns
    -------
    Protocol
        ``lin2021`` for states, ``lai2019`` for responses; where both are there, states decide on
        CrossWOZ and responses elsewhere.

    Raises
    ------
    UsageError
        The predictions hold neither.

    Examples
    --------
    >>> default_protocol(True, True, "multiwoz").name
    'lai2019'
    """
    if not has_states and not has_responses:
        raise UsageError("the predictions hold neither states nor responses")
    states_first = has_states and (not has_responses or family == "crosswoz")
    return PROTOCOLS["lin2021" if states_first else "lai2019"]


def protocols_table(protocols: Iterable[Protocol] | None = None) -> pd.DataFrame:
    """Return the protocols as a table: what each scores, how it normalises, where it is published.

    Parameters
    ----------
    protocols : iterable of Protocol, optional
        All built-in ones by default.

    Returns
    -------
    pandas.DataFrame
        Indexed by name; columns task, title, metrics, steps, missing, source.

    Examples
    --------
    >>> protocols_table().loc["lin2021", "task"]
    'state'
    """
    chosen = list(PROTOCOLS.values()) if protocols is None else list(protocols)
    rows = {
        p.name: {
            "task": p.task,
            "title": p.title,
            "metrics": ", ".join(m.key if isinstance(m, Metric) else m for m in p.metrics),
            "steps": ", ".join(p.steps) or "none",
            "missing": p.missing,
            "source": p.source,
        }
        for p in chosen
    }
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("protocol")

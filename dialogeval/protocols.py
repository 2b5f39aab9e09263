"""The signature of a result: everything that two comparable numbers must share, on one line.

In: the protocol, what was compared, and how it was resampled. Out: fields joined by bars, in the manner
of sacreBLEU.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import pandas as pd

from dialogeval import __version__
from dialogeval.exceptions import UnknownNameError, UsageError, show
from dialogeval.metrics import Metric
from dialogeval.metrics.goals import GOAL_METRICS, RICHNESS_METRICS
from dialogeval.metrics.states import (
    CHANGE_METRICS,
    DSTC9_METRICS,
    FRAME_METRICS,
    FUZZY_METRICS,
    SLOT_METRICS,
    STATE_METRICS,
)
from dialogeval.metrics.task import LEADERBOARD, TASK_METRICS
from dialogeval.metrics.text import TEXT_METRICS
from dialogeval.normalize import check_steps, describe_steps
from dialogeval.tables import Corpus, Predictions


@cache
def metric_table() -> dict[str, Metric]:
    """Return all metrics by key."""
    states = {**STATE_METRICS, **SLOT_METRICS, **CHANGE_METRICS}
    return {**states, **TEXT_METRICS, **GOAL_METRICS, **RICHNESS_METRICS, **TASK_METRICS}


_NAME = re.compile(r"[\w.+-]{1,60}")
#: Which gold states; see `dialogeval.pairing`.
GOLD_VERSIONS = ("annotated", "dstc9", "dstc9-corrected", "bars", "mwzeval", "frames")
#: What happens to turns of the corpus that the predictions lack.
MISSING = ("error", "empty", "skip")
#: Which predicted slots are looked at.
COMPARE = ("all", "annotated-slots")
#: Fields of a protocol that are one choice each; the tokeniser is not among them, see `Protocol.label`.
_CHOICES = ("gold", "compare", "missing", "references")
#: How the title of a protocol begins that has none of its own.
_OWN = "user-defined: "
#: The built-in protocols by name.
PROTOCOLS: dict[str, Protocol] = {}
#: Steps for texts, by name and choice.
TEXT_STEPS = {"placeholders": ("keep", "canonical"), "case": ("keep", "lower"), "mwzeval": ("moses",)}


@dataclass(frozen=True)
class Protocol:
    """How predictions are scored.

    Parameters
    ----------
    name : str
        As it stands in the signature.
    metrics : tuple of str or Metric
        Keys of `metric_table`, or metrics of your own.
    steps : tuple of str
        Normalisation of states, ``name:choice``, in this order; see `dialogeval.normalize`.
    text_steps : tuple of str
        Normalisation of texts, likewise; see `TEXT_STEPS`.
    gold : {"annotated", "dstc9", "dstc9-corrected", "bars", "mwzeval", "frames"}
        Which gold states; see `dialogeval.pairing`.
    compare : {"all", "annotated-slots"}
        Which predicted slots are looked at: all, or those that the gold's annotation of the turn knows.
    missing : {"error", "empty", "skip"}
        Default for turns that the predictions lack.
    references : {"delexicalized", "lexical"}
        For texts: compare with delexicalised references, or with the utterances as they stand.
    tokenizer : {"space", "13a", "zh", "char"}
        For texts.
    title, source : str
        One line on what it is, and where it is published. A protocol made from a built-in one with
        `dataclasses.replace` gets a title of its own fields, and stands *after* the source.

    Examples
    --------
    >>> from dataclasses import replace
    >>> mine = replace(PROTOCOLS["lin2021"], name="mine", steps=("case:lower",))
    >>> mine.label, mine.title
    ('user/mine', 'user-defined: case:lower')
    """

    name: str
    metrics: tuple[str | Metric, ...]
    steps: tuple[str, ...] = ()
    text_steps: tuple[str, ...] = ()
    gold: str = "annotated"
    compare: str = "all"
    missing: str = "error"
    references: str = "delexicalized"
    tokenizer: str = "space"
    title: str = ""
    source: str = ""

    def __post_init__(self) -> None:
        for what, choice, known in (
            ("gold version", self.gold, GOLD_VERSIONS),
            ("choice of compared slots", self.compare, COMPARE),
            ("missing policy", self.missing, MISSING),
            ("references", self.references, ("delexicalized", "lexical")),
            ("tokenizer", self.tokenizer, ("space", "13a", "zh", "char")),
        ):
            if choice not in known:
                raise UnknownNameError(what, choice, known)
        for field in ("metrics", "steps", "text_steps"):
            if isinstance(getattr(self, field), str):
                expected = f"a tuple, such as ({getattr(self, field)!r},)"
                raise UsageError(
                    f"{field} of protocol {self.name}", expected=expected, got=show(getattr(self, field))
                )
        if not _NAME.fullmatch(self.name):
            raise UsageError(
                "name of a protocol", expected="letters, digits and . + - _", got=show(self.name)
            )
        check_steps(self.steps)
        check_text_steps(self.text_steps)
        if not self.metrics:
            raise UsageError(f"protocol {self.name} has no metrics", mend="name at least one")
        self._describe()

    def _describe(self) -> None:
        """Let a protocol that is made from another one not claim that one's title and source."""
        if not self.label.startswith("user/"):
            return
        for known in PROTOCOLS.values():
            if self.title == known.title:
                object.__setattr__(self, "title", "")
            if known.source and self.source == known.source:
                object.__setattr__(self, "source", f"after {known.source}")
        # What was computed of the protocol that this one is made from is computed anew.
        if not self.title or self.title.startswith(_OWN):
            rules = [*self.steps, *self.text_steps] or ["no normalisation"]
            rules += [f"{f}:{c}" for f in _CHOICES if (c := getattr(self, f)) != getattr(Protocol, f)]
            object.__setattr__(self, "title", f"{_OWN}{', '.join(rules)}")

    @property
    def label(self) -> str:
        """Name for the signature; one that is not built in says so."""
        # The tokeniser stands in the signature by itself, and fewer scores are defined as all of them
        # are, so choosing these is no protocol of one's own.
        known = PROTOCOLS.get(self.name)
        if known is None or not all(metric in known.metrics for metric in self.metrics):
            return f"user/{self.name}"
        same = all(getattr(self, f) == getattr(known, f) for f in ("steps", "text_steps", *_CHOICES))
        return self.name if same else f"user/{self.name}"

    @property
    def tasks(self) -> tuple[str, ...]:
        """What is scored: ``state``, ``text``, ``task``, in the order of the metrics."""
        return tuple(dict.fromkeys(part.task for m in self.resolve_metrics() for part in m.sources))

    def only(self, keys: Iterable[str]) -> Protocol:
        """Return the protocol restricted to some of its scores; each is defined as before."""
        if isinstance(keys, str):
            raise UsageError("metrics", expected=f"a list, such as [{keys!r}]", got=show(keys))
        wanted = set(keys)
        own = {m.key: given for m, given in zip(self.resolve_metrics(), self.metrics, strict=True)}
        for key in sorted(wanted - own.keys()):
            raise UnknownNameError(f"metric of protocol {self.name}", key, own)
        return replace(self, metrics=tuple(given for key, given in own.items() if key in wanted))

    def resolve_metrics(self) -> tuple[Metric, ...]:
        """Return the metrics themselves."""
        found = []
        for metric in self.metrics:
            if isinstance(metric, str):
                if metric not in metric_table():
                    raise UnknownNameError("metric", metric, metric_table())
                metric = metric_table()[metric]
            if not isinstance(metric, Metric):
                mend = "make it one: Metric(key, label, counts, value, source=…)"
                raise UsageError("metric", expected="a key or a Metric", got=show(metric), mend=mend)
            found.append(metric)
        return tuple(found)


def check_text_steps(steps: Iterable[str]) -> None:
    """Refuse a step for texts that does not exist."""
    for step in steps:
        name, _, choice = step.partition(":")
        if name not in TEXT_STEPS:
            raise UnknownNameError("text step", name, TEXT_STEPS)
        if choice not in TEXT_STEPS[name]:
            raise UnknownNameError(f"choice of step {name}", choice, TEXT_STEPS[name])


_MICRO = ("slot_precision", "slot_recall", "slot_f1_micro")
_FAMILY = (*STATE_METRICS, *SLOT_METRICS, *CHANGE_METRICS)
_BLEU = ("bleu_1", "bleu_2", "bleu_3", "bleu_4", "bleu_4_sentence")
_DISTINCT = ("distinct_1", "distinct_2", "distinct_utterances")
_GOAL = ("goal_precision", "goal_recall", "goal_f1")
_DELEX = ("placeholders:canonical", "case:lower")
_DSTC9: dict[str, Any] = {
    "metrics": tuple(DSTC9_METRICS.values()),
    "steps": ("case:lower", "map:dstc9", "space:remove"),
    "compare": "annotated-slots",
}
_MWZEVAL_STEPS = ("slots:mwzeval", "values:mwzeval")
_MWZEVAL: dict[str, Any] = {
    "metrics": (*LEADERBOARD, *RICHNESS_METRICS, *FUZZY_METRICS.values()),
    "text_steps": ("mwzeval:moses",),
    "gold": "mwzeval",
    "tokenizer": "13a",
    "missing": "skip",
    "source": "Nekvinda & Dušek 2021 (MultiWOZ_Evaluation), arXiv:2106.05555",
}

PROTOCOLS.update(
    (p.name, p)
    for p in (
        Protocol(
            "lin2021",
            ("joint_goal_accuracy", "slot_f1", *_MICRO),
            title="values as they are; joint goal accuracy and the card's slot F1",
            source="Lin & Chen 2021, arXiv:2101.11360; evaluation card crosswoz-dst-eval",
        ),
        Protocol(
            "dstc9",
            gold="dstc9",
            title="the official scorer of the DSTC9 track on cross-lingual state tracking",
            source="Gunasekara et al. 2020, arXiv:2011.06486",
            **_DSTC9,
        ),
        Protocol(
            "dstc9-corrected",
            gold="dstc9-corrected",
            title="the same scorer on the organisers' later gold for names of CrossWOZ",
            source="DSTC9 track 2 organisers; used beside the official gold by Lin & Chen 2021",
            **_DSTC9,
        ),
        Protocol(
            "trade",
            _FAMILY,
            steps=("case:lower", "none:drop"),
            title="lower-cased, none dropped, dontcare kept; the whole family of scores",
            source="Wu et al. 2019 (TRADE), arXiv:1905.08743, and the papers of each score",
        ),
        Protocol(
            "convlab",
            ("joint_goal_accuracy", *_MICRO),
            steps=("case:lower", "space:remove"),
            title="white space removed and lower-cased; micro F1 over triples",
            source="ConvLab-3 (Zhu et al. 2022), arXiv:2211.17148",
        ),
        Protocol(
            "convlab-filtered",
            ("joint_goal_accuracy", *_MICRO),
            steps=("case:lower", "space:remove"),
            gold="bars",
            compare="annotated-slots",
            title="ConvLab-3's scorer of unified files: the slots that gold lists, any part of a|b matched by any",
            source="ConvLab-3 (Zhu et al. 2022), arXiv:2211.17148",
        ),
        Protocol(
            "sgd",
            tuple(FRAME_METRICS.values()),
            gold="frames",
            compare="annotated-slots",
            title="the schema-guided track: each service of a turn on its own slots, free text by a fuzzy score",
            source="Rastogi et al. 2020 (DSTC8 track 4), arXiv:2002.01359",
        ),
        Protocol(
            "mwzeval",
            steps=_MWZEVAL_STEPS,
            title="the MultiWOZ leaderboard: BLEU, Inform, Success, richness, and states with fuzzy values",
            **_MWZEVAL,
        ),
        Protocol(
            "mwzeval-aliases",
            steps=("slots:multiwoz22", *_MWZEVAL_STEPS),
            title="the same for systems whose slot names differ from the corpus's, such as day for bookday",
            **_MWZEVAL,
        ),
        Protocol(
            "lai2019",
            (*_BLEU, *_DISTINCT, *_GOAL),
            text_steps=_DELEX,
            title="corpus BLEU-1..4, diversity and goal focus on delexicalised text (MultiWOZ)",
            source="Lai et al. 2019, arXiv:1909.09220",
        ),
        Protocol(
            "lexical",
            (*_BLEU, "sacrebleu", *_DISTINCT),
            text_steps=("case:lower",),
            references="lexical",
            tokenizer="13a",
            title="responses with real values, as language models write them, against the utterances themselves",
            source="Papineni et al. 2002; Post 2018 (sacreBLEU), arXiv:1804.08771",
        ),
        Protocol(
            "lai2019-card",
            ("bleu_4_card", "distinct_1", "distinct_2_per_token", "distinct_utterances", *_GOAL),
            text_steps=_DELEX,
            title="the evaluation card's recipe to the letter: sentence BLEU, bigrams per token",
            source="evaluation card multiwoz-dialogue-eval, after Lai et al. 2019",
        ),
    )
)


def find_protocol(protocol: str | Protocol) -> Protocol:
    """Return a protocol by name; a protocol is returned as it is."""
    if isinstance(protocol, Protocol):
        return protocol
    if not isinstance(protocol, str):
        raise UsageError("protocol", expected="a name or a Protocol", got=show(protocol))
    if protocol not in PROTOCOLS:
        raise UnknownNameError("protocol", protocol, PROTOCOLS)
    return PROTOCOLS[protocol]


def protocols_table(protocols: Iterable[Protocol] | None = None) -> pd.DataFrame:
    """Return the protocols as a table: what each scores, how it normalises, where it is published.

    Parameters
    ----------
    protocols : iterable of Protocol, optional
        All built-in ones by default.

    Returns
    -------
    pandas.DataFrame
        Indexed by name; columns task, title, metrics, steps, gold, compare, missing, source.

    Examples
    --------
    >>> protocols_table().loc["lin2021", "task"]
    'state'
    """
    chosen = list(PROTOCOLS.values()) if protocols is None else list(protocols)
    rows = {
        p.name: {
            "task": " and ".join(p.tasks),
            "title": p.title,
            "metrics": ", ".join(m.key if isinstance(m, Metric) else m for m in p.metrics),
            "steps": ", ".join([*p.steps, *p.text_steps]) or "none",
            "gold": p.gold,
            "compare": p.compare,
            "missing": p.missing,
            "source": p.source,
        }
        for p in chosen
    }
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("protocol")


def with_steps(protocol: str | Protocol, steps: str | Iterable[str]) -> Protocol:
    """Return a protocol with more steps for states, after its own."""
    found = find_protocol(protocol)
    given = steps.split() if isinstance(steps, str) else steps
    more = tuple(dict.fromkeys(step for step in given if step not in found.steps))
    if not more:
        return found
    changed = replace(found, steps=(*found.steps, *more))
    if "state" not in found.tasks:
        mend = "leave the steps (--steps) out, or choose a protocol for states, such as lin2021"
        raise UsageError(f"protocol {found.name} scores no states, which steps normalise", mend=mend)
    return changed


def chosen_protocol(
    protocol: str | Protocol | None,
    gold: Corpus,
    predictions: Predictions,
    tokenizer: str | None = None,
    steps: str | Iterable[str] = (),
) -> tuple[Protocol, list[str]]:
    """Return the protocol that is named, or the default for what is there to score."""
    why: list[str] = []
    if protocol is None:
        protocol, why = _default(gold, predictions)
    found = with_steps(protocol, steps)
    if tokenizer is None:
        return found, why
    if found.tasks == ("state",):
        problem = f"protocol {found.name} scores states, which have no tokens"
        raise UsageError(problem, mend="leave the tokeniser (--tokenizer) out")
    return replace(found, tokenizer=tokenizer), why


def _default(gold: Corpus, predictions: Predictions) -> tuple[Protocol, list[str]]:
    kinds = [kind for kind in ("states", "responses") if getattr(predictions, kind) is not None]
    if not kinds:
        raise UsageError("the predictions hold neither states nor responses")
    names = {"states": "lin2021", "responses": "lai2019"}
    if len(kinds) == 1:
        return PROTOCOLS[names[kinds[0]]], []
    where, first, other = "elsewhere than on CrossWOZ", "responses", "states"
    if gold.family == "crosswoz":
        where, first, other = "on CrossWOZ", "states", "responses"
    return PROTOCOLS[names[first]], [
        f"protocol {names[first]} was chosen because {predictions.name} holds both states and responses, and "
        f"{where} {first} come first: to score the {other}, name a protocol such as {names[other]} (--protocol)"
    ]


def compared(pairs: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    """Return what the signature says of each task beside the protocol, by task."""
    return {
        task: (f"states:{pair.source}", f"db:{pair.database.version}") if task == "task" else ()
        for task, pair in pairs.items()
    }


_NAMES = {"state": "jga", "text": "bleu", "task": "inform"}


def signature(
    protocol: Protocol,
    tasks: Mapping[str, tuple[str, ...]],
    gold: Corpus,
    coverage: Any,
    missing: str,
    resamples: int,
    seed: int,
    alignment: str = "",
    changes: tuple[str, ...] = (),
) -> str:
    """Name everything that two comparable numbers must share."""
    parts = ["+".join(_NAMES[task] for task in tasks), f"proto:{protocol.label}"]
    parts += [f"align:{alignment}"] if alignment else []
    if "state" in tasks:
        parts += [f"{k}:{v}" for k, v in describe_steps(protocol.steps).items()]
        parts += [f"version:{protocol.gold}"] if protocol.gold != "annotated" else []
        parts += [f"compare:{protocol.compare}"] if protocol.compare != "all" else []
    if "text" in tasks:
        parts += [step.replace("placeholders", "delex") for step in protocol.text_steps]
        parts += [f"tok:{protocol.tokenizer}"]
        parts += [f"refs:{'as-given' if gold.family == 'pairs' else protocol.references}"]
    parts += changes if tasks.keys() & {"text", "task"} else ()
    parts += tasks.get("task", ())
    if "per-turn" in gold.cautions and tasks.keys() & {"state", "task"}:
        parts.append("gold:per-turn")
    parts += [f"gold:{gold.id}", f"n:{coverage.turns_scored}"]
    if coverage.turns_scored < coverage.turns_in_corpus or not coverage.turns["predicted"].all():
        parts.append(f"missing:{missing}")
    parts += [f"boot:{resamples}/{seed}" if resamples else "boot:none", f"v:{__version__}"]
    return "|".join(parts)

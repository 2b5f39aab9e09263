"""Protocols: named, citable bundles of normalisation, gold, metrics and edge-case rules; and the signature.

In: a name, or the fields of a protocol of one's own; the built-in ones are in ``data/protocols.toml``. Out:
`Protocol`, and the signature of a result: what two comparable numbers must share, as fields joined by
bars, in the manner of sacreBLEU.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
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


#: What happens to turns of the corpus that the predictions lack.
MISSING = ("error", "empty", "skip")
#: Steps for texts.
TEXT_STEPS = ("placeholders:keep", "placeholders:canonical", "case:keep", "case:lower", "mwzeval:moses")
#: Which slots of a turn are compared: all, or those that the gold's annotation of the turn knows.
COMPARE = ("all", "annotated-slots")
#: Fields of a protocol that are one choice each, and the choices; the first is the default.
_CHOICES = {
    "gold": ("annotated", "dstc9", "dstc9-corrected", "bars", "mwzeval", "frames"),
    "compare": COMPARE,
    "missing": MISSING,
    "references": ("delexicalized", "lexical"),
    "tokenizer": ("space", "13a", "zh", "char"),
}
#: Fields that define the numbers. The tokeniser is in the signature by itself.
_RULES = ("steps", "text_steps", "gold", "compare", "missing", "references")
#: How the title of a protocol begins that has none of its own.
_OWN = "user-defined: "
#: The built-in protocols by name.
PROTOCOLS: dict[str, Protocol] = {}


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
        Normalisation of texts, likewise, of `TEXT_STEPS`.
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
        for field, known in _CHOICES.items():
            if getattr(self, field) not in known:
                kind = {"gold": "gold version", "missing": "missing policy"}.get(field, field)
                raise UnknownNameError(kind, getattr(self, field), known)
        for field in ("metrics", "steps", "text_steps"):
            if isinstance(given := getattr(self, field), str):
                expected = f"a tuple, such as ({given!r},)"
                raise UsageError(f"{field} of protocol {self.name}", expected=expected, got=show(given))
        if not re.fullmatch(r"[\w.+-]{1,60}", self.name):
            raise UsageError(
                "name of a protocol", expected="letters, digits and . + - _", got=show(self.name)
            )
        if not self.metrics:
            raise UsageError(f"protocol {self.name} has no metrics", mend="name at least one")
        check_steps(self.steps)
        check_text_steps(self.text_steps)
        # A protocol made from another one must not claim that one's title and source.
        if self.label.startswith("user/"):
            others = {known.title for known in PROTOCOLS.values()}
            if self.title in {"", *others} or self.title.startswith(_OWN):
                object.__setattr__(self, "title", _OWN + ", ".join(self._said()))
            if self.source and self.source in {known.source for known in PROTOCOLS.values()}:
                object.__setattr__(self, "source", f"after {self.source}")

    def _said(self) -> list[str]:
        chosen = [f"{f}:{getattr(self, f)}" for f in _RULES[2:] if getattr(self, f) != _CHOICES[f][0]]
        return [*([*self.steps, *self.text_steps] or ["no normalisation"]), *chosen]

    @property
    def label(self) -> str:
        """Name for the signature; one that is not built in says so."""
        known = PROTOCOLS.get(self.name)
        # Fewer scores are defined as all of them are.
        if known is None or not all(metric in known.metrics for metric in self.metrics):
            return f"user/{self.name}"
        same = all(getattr(self, field) == getattr(known, field) for field in _RULES)
        return self.name if same else f"user/{self.name}"

    @property
    def tasks(self) -> tuple[str, ...]:
        """What is scored: ``state``, ``text``, ``task``, in the order of the metrics."""
        return tuple(dict.fromkeys(part.task for m in self.resolve_metrics() for part in m.sources))

    def only(self, keys: Iterable[str]) -> Protocol:
        """Return the protocol restricted to some of its scores; each is defined as before."""
        if isinstance(keys, str):
            raise UsageError("metrics", expected=f"a list, such as [{keys!r}]", got=show(keys))
        own = dict(zip((m.key for m in self.resolve_metrics()), self.metrics, strict=True))
        wanted = dict.fromkeys(keys)
        for key in wanted.keys() - own.keys():
            raise UnknownNameError(f"metric of protocol {self.name}", key, own)
        return replace(self, metrics=tuple(given for key, given in own.items() if key in wanted))

    def resolve_metrics(self) -> tuple[Metric, ...]:
        """Return the metrics themselves."""
        known = metric_table()
        for metric in self.metrics:
            if isinstance(metric, str) and metric not in known:
                raise UnknownNameError("metric", metric, known)
            if not isinstance(metric, (str, Metric)):
                mend = "make it one: Metric(key, label, counts, value, source=…)"
                raise UsageError("metric", expected="a key or a Metric", got=show(metric), mend=mend)
        return tuple(known[m] if isinstance(m, str) else m for m in self.metrics)


def check_text_steps(steps: Iterable[str]) -> None:
    """Refuse a step for texts that does not exist."""
    for step in steps:
        if step not in TEXT_STEPS:
            raise UnknownNameError("text step", step, TEXT_STEPS)


#: What stands for all scores of a family in ``protocols.toml``: keys, or scores with a count of their own.
_FAMILIES: dict[str, Iterable[str | Metric]] = {
    "state:*": STATE_METRICS,
    "slot:*": SLOT_METRICS,
    "change:*": CHANGE_METRICS,
    "leaderboard:*": LEADERBOARD,
    "richness:*": RICHNESS_METRICS,
    "dstc9:*": DSTC9_METRICS.values(),
    "fuzzy:*": FUZZY_METRICS.values(),
    "frames:*": FRAME_METRICS.values(),
}


def _built_in() -> dict[str, Protocol]:
    """Read the built-in protocols."""
    text = (files(__package__) / "data" / "protocols.toml").read_text(encoding="utf-8")
    found = {}
    for name, given in tomllib.loads(text).items():
        fields: dict[str, Any] = {field: tuple(v) if isinstance(v, list) else v for field, v in given.items()}
        metrics = [m for key in fields.pop("metrics") for m in _FAMILIES.get(key, [key])]
        found[name] = Protocol(name, tuple(metrics), **fields)
    return found


def find_protocol(protocol: str | Protocol) -> Protocol:
    """Return a protocol by name; a protocol is returned as it is."""
    if isinstance(protocol, Protocol):
        return protocol
    if str(protocol) not in PROTOCOLS:
        raise UnknownNameError("protocol", str(protocol), PROTOCOLS)
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
    rows = [
        {
            "protocol": p.name,
            "task": " and ".join(p.tasks),
            "title": p.title,
            "metrics": ", ".join(m if isinstance(m, str) else m.key for m in p.metrics),
            "steps": ", ".join([*p.steps, *p.text_steps]) or "none",
            **{field: getattr(p, field) for field in ("gold", "compare", "missing", "source")},
        }
        for p in (PROTOCOLS.values() if protocols is None else protocols)
    ]
    return pd.DataFrame(rows).set_index("protocol")


def with_steps(protocol: str | Protocol, steps: str | Iterable[str]) -> Protocol:
    """Return a protocol with more steps for states, after its own."""
    found = find_protocol(protocol)
    given = steps.split() if isinstance(steps, str) else steps
    changed = replace(found, steps=tuple(dict.fromkeys([*found.steps, *given])))
    if changed.steps != found.steps and "state" not in found.tasks:
        mend = "leave the steps (--steps) out, or choose a protocol for states, such as lin2021"
        raise UsageError(f"protocol {found.name} scores no states, which steps normalise", mend=mend)
    return changed if changed.steps != found.steps else found


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


def _default(gold: Corpus, predictions: Predictions) -> tuple[str, list[str]]:
    names = {"states": "lin2021", "responses": "lai2019"}
    kinds = [kind for kind in names if getattr(predictions, kind) is not None]
    if not kinds:
        raise UsageError("the predictions hold neither states nor responses")
    where = "on CrossWOZ" if gold.family == "crosswoz" else "elsewhere than on CrossWOZ"
    kinds.sort(reverse=gold.family == "crosswoz")
    why = (
        f"protocol {names[kinds[0]]} was chosen because {predictions.name} holds both states and responses, and "
        f"{where} {kinds[0]} come first: to score the "
        f"{kinds[-1]}, name a protocol such as {names[kinds[-1]]} (--protocol)"
    )
    return names[kinds[0]], [why] if len(kinds) > 1 else []


def compared(pairs: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    """Return what the signature says of each task beside the protocol, by task."""
    return {
        task: (f"states:{pair.source}", f"db:{pair.database.version}") if task == "task" else ()
        for task, pair in pairs.items()
    }


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
    names = {"state": "jga", "text": "bleu", "task": "inform"}
    parts = ["+".join(names[task] for task in tasks), f"proto:{protocol.label}"]
    parts += [f"align:{alignment}"] if alignment else []
    if "state" in tasks:
        parts += [f"{k}:{v}" for k, v in describe_steps(protocol.steps).items()]
        parts += [f"version:{protocol.gold}"] if protocol.gold != "annotated" else []
        parts += [f"compare:{protocol.compare}"] if protocol.compare != "all" else []
    if "text" in tasks:
        parts += [step.replace("placeholders", "delex") for step in protocol.text_steps]
        refs = "as-given" if gold.family == "pairs" else protocol.references
        parts += [f"tok:{protocol.tokenizer}", f"refs:{refs}"]
    parts += changes if tasks.keys() & {"text", "task"} else ()
    parts += tasks.get("task", ())
    parts += ["gold:per-turn"] if "per-turn" in gold.cautions and tasks.keys() & {"state", "task"} else []
    parts += [f"gold:{gold.id}", f"n:{coverage.turns_scored}"]
    whole = coverage.turns_scored == coverage.turns_in_corpus and coverage.turns["predicted"].all()
    parts += [] if whole else [f"missing:{missing}"]
    return "|".join([*parts, f"boot:{resamples}/{seed}" if resamples else "boot:none", f"v:{__version__}"])


PROTOCOLS.update(_built_in())

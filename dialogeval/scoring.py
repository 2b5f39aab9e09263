"""Scoring: gold, predictions and a protocol in; numbers with their definition out.

`score` aligns the two sides, lets every counting function of the protocol run once, and reads
values and intervals off the sums. The result says under which definition, on how much of the
corpus, and how sure each number is.
"""

from __future__ import annotations

import html
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from .choosing import chosen_protocol
from .counting import count_all, value_table
from .coverage import Coverage, match_turns
from .exceptions import UsageError, printable, show
from .golds import in_version, lay_out
from .metrics import Metric
from .pairing import make_pairs, scorable
from .protocols import Protocol, find_protocol
from .remarks import all_lines
from .signature import compared, signature
from .tables import Corpus, Predictions, as_predictions

if TYPE_CHECKING:
    from .alignment import Alignment

__all__ = ["Scores", "check_arguments", "not_kept", "score"]

#: Defaults of the intervals; both stand in the signature.
RESAMPLES, SEED = 1000, 12345


@dataclass(frozen=True)
class Scores:
    """The scores of one system under one protocol.

    Parameters
    ----------
    system : str
    protocol : Protocol
    signature : str
        What has to be equal for two numbers to be comparable.
    coverage : Coverage
    table : pandas.DataFrame
        Indexed by metric key; columns label, value, low, high (95 % interval; NaN where none is
        given), unit, better.
    metrics : tuple of Metric
    counts : dict of callable to pandas.DataFrame
        The counts by turn or dialogue, by counting function.
    warnings : tuple of str
    pairs : dict
        What was compared, after normalisation: a `StatePair` for ``state``, a `TextPair` for ``text``, a
        `TaskPair` for ``task``.
    gold : Corpus or None
        The corpus that was scored against.
    """

    system: str
    protocol: Protocol
    signature: str
    coverage: Coverage
    table: pd.DataFrame
    metrics: tuple[Metric, ...]
    counts: Mapping[Callable, pd.DataFrame] = field(repr=False)
    warnings: tuple[str, ...] = ()
    pairs: Mapping[str, Any] = field(default_factory=dict, repr=False)
    gold: Corpus | None = field(default=None, repr=False)

    @property
    def pair(self) -> Any:
        """The one pair of a protocol that scores states or texts, not both."""
        if not self.pairs:
            raise not_kept()
        if len(self.pairs) != 1:
            keys = " and ".join(map(repr, self.pairs))
            raise UsageError(
                f"protocol {self.protocol.name} compares {keys}", mend="choose one of scores.pairs"
            )
        return next(iter(self.pairs.values()))

    def __getitem__(self, key: str) -> float:
        """Return the value of a metric, such as ``scores["joint_goal_accuracy"]``."""
        return float(self.table["value"].to_dict()[key])

    def by(self, by: str | pd.Series, *, training: Corpus | None = None) -> pd.DataFrame:
        """Break the scores down, as in ``scores.by("domain")``.

        Parameters
        ----------
        by : str or pandas.Series
            ``domain``, ``slot``, ``seen_value``, ``turn``, ``domains``, ``type``, ``language``,
            ``corpus``, ``system``, or labels of your own by dialogue id.
        training : Corpus, optional
            What the system was trained on, for ``seen_value``.

        Returns
        -------
        pandas.DataFrame
            As `dialogeval.breakdown`: a row a group, the whole in the last row.

        Raises
        ------
        UnknownNameError, UsageError
        """
        from . import breakdowns

        if not self.pairs:
            raise not_kept()
        return breakdowns.breakdown(self, by, training=training)

    def metric_signature(self, key: str) -> str:
        """Return the signature of one score: its name, its switches, and what holds for all.

        Parameters
        ----------
        key : str
            Key of a metric of these scores.

        Returns
        -------
        str
        """
        metric = next(m for m in self.metrics if m.key == key)
        name = metric.label.lower().replace(" ", "_")
        return "|".join([name, *(f"{k}:{v}" for k, v in metric.options), *self.signature.split("|")[1:]])

    def to_dict(self) -> dict[str, Any]:
        """Return the object that the command line prints as JSON.

        Returns
        -------
        dict
            protocol, signature, system, coverage, metrics, warnings.
        """

        def number(value: float) -> float | None:
            return None if np.isnan(value) else float(value)

        rows = self.table[["value", "low", "high"]].to_dict("index")
        return {
            "protocol": self.protocol.name,
            "signature": self.signature,
            "system": self.system,
            "coverage": self.coverage.to_dict(),
            "metrics": {str(key): {k: number(v) for k, v in row.items()} for key, row in rows.items()},
            "warnings": list(self.warnings),
        }

    def to_text(self) -> str:
        """Return the scores as lines for a terminal."""
        width = max(len(str(k)) for k in self.table.index)
        cover = self.coverage
        lines = [
            f"{self.system}: protocol {self.protocol.name} ({self.protocol.title or 'user-defined'})",
            f"{cover.dialogues_scored:,} of {cover.dialogues_in_corpus:,} dialogues, "
            f"{cover.turns_scored:,} of {cover.turns_in_corpus:,} turns scored",
            "",
        ]
        for key, row in self.table.iterrows():
            lines.append(f"{key!s:<{width}}  {_cell(row):<28} {row['unit']}".rstrip())
        lines += ["", f"signature: {self.signature}"]
        lines += [f"warning: {w}" for w in self.warnings]
        return "\n".join(lines)

    def __repr__(self) -> str:
        return self.to_text()

    def _repr_html_(self) -> str:
        cells = pd.DataFrame(
            {
                "score": self.table["label"],
                "value [95 % interval]": [_cell(row) for _, row in self.table.iterrows()],
                "unit": self.table["unit"],
                "better": self.table["better"],
            }
        )
        cover = self.coverage
        notes = "".join(f"<li>{html.escape(w)}</li>" for w in self.warnings)
        return (
            f"<p><b>{html.escape(self.system)}</b>, protocol {html.escape(self.protocol.name)}: "
            f"{cover.dialogues_scored:,} of {cover.dialogues_in_corpus:,} dialogues, "
            f"{cover.turns_scored:,} of {cover.turns_in_corpus:,} turns</p>"
            + cells.to_html(border=0)
            + f"<p><code>{html.escape(self.signature)}</code></p>"
            + (f"<ul>{notes}</ul>" if notes else "")
        )


def not_kept() -> UsageError:
    """Return the error for who looks for the turns of a file that was read in pieces.

    Examples
    --------
    >>> not_kept().mend
    'score it, or a part of it, with score()'
    """
    problem = "the scores of a file that was read in pieces keep no turns to look at"
    return UsageError(problem, mend="score it, or a part of it, with score()")


def _cell(row: pd.Series) -> str:
    digits = 4 if row["unit"] == "fraction" else 2
    text = f"{row['value']:.{digits}f}"
    return text if np.isnan(row["low"]) else f"{text} [{row['low']:.{digits}f}, {row['high']:.{digits}f}]"


def score(
    gold: Corpus | str | os.PathLike[str] | None,
    predictions: Predictions | Corpus | str | os.PathLike[str],
    protocol: str | Protocol | None = None,
    *,
    split: str = "test",
    alignment: Alignment | str | None = None,
    tokenizer: str | None = None,
    steps: str | Iterable[str] = (),
    missing: str | None = None,
    resamples: int = RESAMPLES,
    seed: int = SEED,
) -> Scores:
    """Score predictions against gold under a protocol.

    Parameters
    ----------
    gold : Corpus, str, path-like or None
        A corpus, its name or path; None for predictions whose file carries its own gold.
    predictions : Predictions, Corpus, str or path-like
        Predictions or their file; a corpus is scored as if its annotation had been predicted, in the
        protocol's gold version, so that a corpus against itself scores 1.
    protocol : str or Protocol, optional
        ``lin2021`` for states and ``lai2019`` for responses by default; see
        `dialogeval.protocols`.
    split : str, default="test"
        Used when ``gold`` is a name or a path.
    alignment : Alignment or str, optional
        Write the predicted states in the gold's ontology before they are scored; a name or path as
        `dialogeval.alignment.load_alignment` takes it. Stands in the signature with its checksum; what
        could not be mapped is counted in the warnings.
    tokenizer : {"space", "13a", "zh", "char"}, optional
        For texts, instead of the protocol's.
    steps : str or iterable of str
        For states, besides the protocol's, such as ``"slots:multiwoz22"``; see `dialogeval.normalize`.
        The signature then says ``user/NAME``.
    missing : {"error", "empty", "skip"}, optional
        What to do with turns that the predictions lack; the protocol's own choice by default.
    resamples : int, default=1000
        Bootstrap resamples of dialogues for the 95 % intervals; 0 for none.
    seed : int, default=12345

    Returns
    -------
    Scores

    Raises
    ------
    CoverageError
        The predictions do not cover the corpus, or cover another one.
    UsageError, UnknownNameError
        No gold, an unknown protocol, a protocol for what the predictions do not hold.

    Examples
    --------
    >>> from dialogeval.corpora import load_corpus
    >>> gold = load_corpus("sample/crosswoz_en")
    >>> score(gold, gold, protocol="lin2021")["joint_goal_accuracy"]
    1.0
    """
    check_arguments(gold, predictions, resamples, seed)
    if isinstance(predictions, Corpus):
        version = find_protocol(protocol).gold if protocol is not None else "annotated"
        predictions = as_predictions(in_version(predictions, version))
    elif not isinstance(predictions, Predictions):
        from .predictions import load_predictions

        predictions = load_predictions(predictions)
    if isinstance(gold, (str, os.PathLike)):
        from .corpora import load_corpus

        gold = load_corpus(gold, split)
    gold = gold or predictions.gold
    if gold is None:
        raise UsageError(
            "no gold to score against",
            file=predictions.path or predictions.name,
            mend="name a corpus, or use a format that carries its own gold (pairs, trade, gt-pr)",
        )
    gold = lay_out(gold)
    if alignment is not None:
        from .alignment.fit import align_predictions

        predictions, alignment = align_predictions(gold, predictions, alignment)
    protocol, why = chosen_protocol(protocol, gold, predictions, tokenizer, steps)
    metrics, dropped = scorable(protocol.resolve_metrics(), gold, predictions)
    missing = missing or protocol.missing
    coverage = match_turns(gold, predictions, missing)
    warnings = [*coverage.warnings, *predictions.notes]
    if predictions.gold is not None and predictions.gold is not gold:
        mend = "name no corpus to use it"
        warnings.append(f"the file carries its own gold, which was not used: {gold.id} was; {mend}")
    if not coverage.turns_scored:
        raise UsageError("no turn is left to score", file=predictions.path or predictions.name)
    pairs, said = make_pairs(metrics, gold, predictions, protocol, coverage)
    warnings += [*why, *dropped, *all_lines(said)]
    counts = count_all(metrics, pairs)
    table = value_table(metrics, counts, resamples, seed)
    return Scores(
        system=printable(predictions.name),
        protocol=protocol,
        signature=signature(
            protocol,
            compared(pairs),
            gold,
            coverage,
            missing,
            resamples,
            seed,
            alignment.id if alignment else "",
            predictions.changes,
        ),
        coverage=coverage,
        table=table,
        metrics=metrics,
        counts=counts,
        warnings=tuple(dict.fromkeys(warnings)),
        pairs=pairs,
        gold=gold,
    )


def check_arguments(gold: object, predictions: object, resamples: object, seed: object) -> None:
    """Refuse what is none of the things that `score` takes.

    Raises
    ------
    UsageError

    Examples
    --------
    >>> check_arguments("sample/crosswoz_en", "mine.json", 1000, 12345)
    """
    path = (str, os.PathLike)
    if isinstance(gold, Predictions) and isinstance(predictions, Corpus):
        raise UsageError("gold and predictions are swapped", mend="write score(gold, predictions)")
    if gold is not None and not isinstance(gold, (Corpus, *path)):
        raise UsageError("gold", expected="a Corpus, a name or a path", got=show(gold))
    if not isinstance(predictions, (Predictions, Corpus, *path)):
        expected = "Predictions, a Corpus, a name or a path"
        mend = "make Predictions of a table with predictions_from"
        raise UsageError("predictions", expected=expected, got=show(predictions), mend=mend)
    for name, value, most in (("resamples", resamples, 1_000_000), ("seed", seed, 2**63)):
        if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= most:
            raise UsageError(name, expected=f"a whole number from 0 to {most:,}", got=show(value))

"""Scoring: gold, predictions and a protocol in; numbers with their definition out, and what they say.

`score` gives `Scores`; the functions below it make tables and sentences of the result alone, so that a
report on any corpus and system says what is true of it.
"""

from __future__ import annotations

import html
import os
import platform
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from dialogeval import __version__
from dialogeval.corpora.load import as_corpus
from dialogeval.exceptions import UnknownNameError, UsageError, printable, show
from dialogeval.golds import Coverage, in_version, lay_out, match_turns
from dialogeval.metrics import Metric
from dialogeval.pairing import make_pairs, scorable
from dialogeval.predictions.load import as_loaded, in_corpus
from dialogeval.protocols import Protocol, chosen_protocol, compared, find_protocol, signature
from dialogeval.resources import lookup
from dialogeval.stats import RESAMPLES, SEED, count_all, value_table
from dialogeval.tables import Corpus, Predictions, as_predictions

if TYPE_CHECKING:
    from dialogeval.ontology.alignment import Alignment


#: Packages whose code is between the files that are read and the numbers that are written.
PACKAGES = (
    *("numpy", "pandas", "pyarrow", "scikit-learn", "rapidfuzz", "sacrebleu", "nltk", "sacremoses"),
    *("orjson", "matplotlib", "papermill", "nbconvert", "ipykernel"),
)


def environment() -> dict[str, str]:
    """Return the versions by name, and the kind of machine."""
    found = {"dialogeval": __version__, "Python": platform.python_version()}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = ""
    return found | {"system": f"{platform.system()} {platform.machine()}"}


def environment_table() -> pd.DataFrame:
    """Return `environment` as a table."""
    return pd.DataFrame(list(environment().items()), columns=["part", "version"])


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
        if len(self.pairs) != 1:
            problem = f"protocol {self.protocol.name} compares {' and '.join(map(repr, self.pairs))}"
            raise UsageError(problem, mend="choose one of scores.pairs")
        return next(iter(self.pairs.values()))

    def __getitem__(self, key: str) -> float:
        """Return the value of a metric, such as ``scores["joint_goal_accuracy"]``."""
        return float(self._row(key)["value"])

    def _row(self, key: str) -> pd.Series:
        if key not in self.table.index:
            named = self.table.index[self.table["label"].str.lower() == str(key).lower()]
            raise UnknownNameError("score", key, named if len(named) else sorted(self.table.index))
        return self.table.loc[key]  # type: ignore[return-value]

    def by(self, by: str | pd.Series, *, training: Corpus | None = None) -> pd.DataFrame:
        """Break the scores down, as in ``scores.by("domain")``."""
        from dialogeval.analysis.breakdowns import breakdown

        return breakdown(self, by, training=training)

    def metric_signature(self, key: str) -> str:
        """Return the signature of one score: its name, its switches, and what holds for all."""
        self._row(key)
        metric = next(m for m in self.metrics if m.key == key)
        name = metric.label.lower().replace(" ", "_")
        return "|".join([name, *(f"{k}:{v}" for k, v in metric.options), *self.signature.split("|")[1:]])

    def to_dict(self) -> dict[str, Any]:
        """Return the object that the command line prints as JSON."""

        numbers = self.table[["value", "low", "high"]].astype(object)
        return {
            "protocol": self.protocol.name,
            "signature": self.signature,
            "system": self.system,
            "coverage": self.coverage.to_dict(),
            "metrics": numbers.where(numbers.notna(), None).to_dict("index"),
            "warnings": list(self.warnings),
        }

    def _covered(self) -> str:
        cover = self.coverage
        return (
            f"{cover.dialogues_scored:,} of {cover.dialogues_in_corpus:,} dialogues, "
            f"{cover.turns_scored:,} of {cover.turns_in_corpus:,} turns"
        )

    def to_text(self) -> str:
        """Return the scores as lines for a terminal."""
        title = self.protocol.title or "user-defined"
        lines = [f"{self.system}: protocol {self.protocol.name} ({title})", f"{self._covered()} scored", ""]
        width = max(len(str(k)) for k in self.table.index)
        for key, row in self.table.iterrows():
            lines.append(f"{key!s:<{width}}  {_cell(row):<28} {row['unit']}".rstrip())
        lines += ["", f"signature: {self.signature}", *(f"warning: {w}" for w in self.warnings)]
        return "\n".join(lines)

    def __repr__(self) -> str:
        return self.to_text()

    def _repr_html_(self) -> str:
        cells = self.table[["label", "unit", "better"]].rename(columns={"label": "score"})
        cells.insert(1, "value [95 % interval]", [_cell(row) for _, row in self.table.iterrows()])
        notes = "".join(f"<li>{html.escape(w)}</li>" for w in self.warnings)
        system, protocol, signed = map(html.escape, (self.system, self.protocol.name, self.signature))
        return (
            f"<p><b>{system}</b>, protocol {protocol}: {self._covered()}</p>{cells.to_html(border=0)}"
            f"<p><code>{signed}</code></p>" + (f"<ul>{notes}</ul>" if notes else "")
        )


def _number(value: float, unit: str) -> str:
    return f"{value:.4f}" if unit == "fraction" else f"{value:.2f}"


def _interval(row: pd.Series, between: str = ", ") -> str:
    return _number(row["low"], row["unit"]) + between + _number(row["high"], row["unit"])


def _cell(row: pd.Series, sign: str = "") -> str:
    text = _number(row["value"], row["unit"]) + sign
    return text if np.isnan(row["low"]) else f"{text} [{_interval(row)}]"


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
        `dialogeval.ontology.mapping.load_alignment` takes it. Stands in the signature with its checksum; what
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
    _check_arguments(gold, predictions, resamples, seed)
    if isinstance(predictions, Corpus):
        gold_version = find_protocol(protocol).gold if protocol is not None else "annotated"
        predictions = as_predictions(in_version(predictions, gold_version))
    predictions = as_loaded(predictions)
    gold = as_corpus(gold, split) or predictions.gold
    if gold is None:
        raise UsageError(
            "no gold to score against",
            file=predictions.path or predictions.name,
            mend="name a corpus, or use a format that carries its own gold (pairs, trade, gt-pr)",
        )
    predictions = in_corpus(predictions, gold)
    gold = lay_out(gold)
    if alignment is not None:
        from dialogeval.ontology.mapping import align_predictions

        predictions, alignment = align_predictions(gold, predictions, alignment)
    protocol, why = chosen_protocol(protocol, gold, predictions, tokenizer, steps)
    metrics, dropped = scorable(protocol.resolve_metrics(), gold, predictions)
    missing = missing or protocol.missing
    coverage = match_turns(gold, predictions, missing)
    if not coverage.turns_scored:
        raise UsageError("no turn is left to score", file=predictions.path or predictions.name)
    warnings = [*coverage.warnings, *predictions.notes]
    if predictions.gold is not None and predictions.gold is not gold:
        mend = "name no corpus to use it"
        warnings.append(f"the file carries its own gold, which was not used: {gold.id} was; {mend}")
    pairs, said = make_pairs(metrics, gold, predictions, protocol, coverage)
    counts = count_all(metrics, pairs)
    aligned = alignment.id if alignment else ""
    sampled = (resamples, seed)
    signed = signature(
        protocol, compared(pairs), gold, coverage, missing, *sampled, aligned, predictions.changes
    )
    return Scores(
        printable(predictions.name),
        protocol,
        signed,
        coverage,
        value_table(metrics, counts, *sampled),
        metrics,
        counts,
        warnings=tuple(dict.fromkeys([*warnings, *why, *dropped, *said])),
        pairs=pairs,
        gold=gold,
    )


def _check_arguments(gold: object, predictions: object, resamples: object, seed: object) -> None:
    """Refuse what is none of the things that `score` takes."""
    path = (str, os.PathLike)
    if isinstance(gold, Predictions) and isinstance(predictions, Corpus):
        raise UsageError("gold and predictions are swapped", mend="write score(gold, predictions)")
    if gold is not None and not isinstance(gold, (Corpus, *path)):
        raise UsageError("gold", expected="a Corpus, a name or a path", got=show(gold))
    if not isinstance(predictions, (Predictions, Corpus, *path)):
        expected = "Predictions, a Corpus, a name or a path"
        mend = "make Predictions of a table with predictions_from"
        raise UsageError("predictions", expected=expected, got=show(predictions), mend=mend)
    for name, number, most in (("resamples", resamples, 1_000_000), ("seed", seed, 2**63)):
        if not isinstance(number, int) or isinstance(number, bool) or not 0 <= number <= most:
            raise UsageError(name, expected=f"a whole number from 0 to {most:,}", got=show(number))


def coverage_table(scores: Scores) -> pd.DataFrame:
    """Return how much of the corpus was scored."""
    cover = scores.coverage
    answered = cover.turns.loc[cover.turns["predicted"], "dialogue_id"]
    rows = [
        (cover.dialogues_in_corpus, cover.dialogues_scored, cover.dialogues_scored - answered.nunique()),
        (cover.turns_in_corpus, cover.turns_scored, cover.turns_scored - len(answered)),
    ]
    index = pd.Index(["dialogues", "turns"], name="quantity")
    table = pd.DataFrame(rows, index, columns=["in corpus", "scored", "without prediction"])
    return table.assign(**{"left out": table["in corpus"] - table["scored"]})


def explain(scores: Scores | pd.DataFrame) -> pd.DataFrame:
    """Return every score with its interval, one line on what it says, and who defined it."""
    from dialogeval.protocols import metric_table

    table = scores.table if isinstance(scores, Scores) else scores
    metrics = scores.metrics if isinstance(scores, Scores) else metric_table().values()
    sources = {m.key: m.source for m in metrics}
    rows = {
        str(key): {
            "score": row["label"],
            "value": _number(row["value"], row["unit"]),
            "95 % interval": "" if np.isnan(row["low"]) else _interval(row, " to "),
            "unit": row["unit"],
            "what it says": _meaning(str(key)),
            "source": sources.get(str(key), ""),
        }
        for key, row in table.iterrows()
    }
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("key")


def paper_sentence(scores: Scores) -> str:
    """Return sentences for a paper: the numbers, what they were measured on, how, and how surely."""
    cover = scores.coverage
    parts = dict(part.split(":", 1) for part in scores.signature.split("|") if ":" in part)
    percent = {"per cent": " %"}
    numbers = [
        f"{row['label']} {_cell(row, percent.get(row['unit'], ''))}" for _, row in scores.table.iterrows()
    ]
    source = f" ({scores.protocol.source})" if scores.protocol.source else ""
    text = (
        f"On {parts['gold']} ({_of(cover.dialogues_scored, cover.dialogues_in_corpus)} dialogues, "
        f"{_of(cover.turns_scored, cover.turns_in_corpus)} turns), {scores.system} reaches {', '.join(numbers)} "
        f"under protocol {scores.protocol.name}{source}, computed with dialogeval {parts['v']}."
    )
    if lacking := int((~cover.turns["predicted"]).sum()):
        text += f" {lacking:,} turns without a prediction are scored as empty."
    resamples, _, seed = parts["boot"].partition("/")
    if seed and not scores.table["low"].isna().all():
        drawn = f"{int(resamples):,} bootstrap resamples of dialogues (seed {seed})"
        jackknifed = ", ".join(m.label for m in scores.metrics if m.resample == "jackknife")
        more = f"; for {jackknifed} delete-one-dialogue jackknife intervals" if jackknifed else ""
        text += f" Brackets hold 95 % percentile intervals of {drawn}{more}."
    return f"{text} Signature: {scores.signature}"


def _of(part: int, whole: int) -> str:
    return f"{part:,}" if part == whole else f"{part:,} of {whole:,}"


def show_table(table: pd.DataFrame, digits: int = 3, letters: int = 400) -> None:
    """Display a table in a notebook with its texts in full and as text."""
    from IPython.display import display

    short = table.reset_index(drop=isinstance(table.index, pd.RangeIndex) and table.index.name is None)
    texts = [c for c in short.columns if not pd.api.types.is_numeric_dtype(short[c].dtype)]
    for column in texts:
        words = short[column].astype("str")
        short[column] = words.where(words.str.len() <= letters, words.str.slice(0, letters - 1) + "…")
    form = f"{{:,.{digits}f}}".format
    # One class for the page's style sheet, two that keep formulas of the data from being set as such.
    classes = ["tex2jax_ignore", "mathjax_ignore", *(["texts"] if len(texts) > 1 else [])]
    with pd.option_context("display.max_colwidth", None, "display.max_columns", None):
        page = short.to_html(index=False, escape=True, border=0, classes=classes, float_format=form)
        text = short.to_string(index=False, float_format=form)
    display({"text/html": page, "text/plain": text}, raw=True)


def show_warnings(warnings: Iterable[str]) -> None:
    """Display warnings in a notebook so that no reader of the scores below misses them."""
    from IPython.display import display

    lines = list(warnings)
    head = "Warnings, which belong to the scores below:" if lines else "No warnings."
    items = "".join(f"<li>{html.escape(line)}</li>" for line in lines)
    look = "border-left: 6px solid #d55e00; background: #fff4ec; color: black; padding: 6px 12px"
    page = f'<div class="tex2jax_ignore mathjax_ignore" style="{look}"><b>{head}</b><ul>{items}</ul></div>'
    text = "\n".join([head, *(f"* {line}" for line in lines)])
    display({"text/html": page if lines else f"<p>{head}</p>", "text/plain": text}, raw=True)


def _meaning(key: str) -> str:
    """Return the line of a metric."""
    meanings: dict[str, str] = dict(lookup("meanings"))  # type: ignore[arg-type]
    return meanings.get(key) or meanings.get(key.split("@")[0].split("/")[0], "")

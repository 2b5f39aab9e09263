"""Comparing systems: one table of scores, and for each pair whether the difference is significant.

In: a corpus, predictions by name, a protocol. Out: a `Comparison`. Only numbers of one definition on
the same dialogues are compared; anything else is refused, or restricted to what is common when the
caller asks for that.
"""

from __future__ import annotations

import html
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd

from . import paper_tables
from .choosing import chosen_protocol
from .comparable import common_dialogues, require_comparable
from .csv_text import csv_text
from .exceptions import UnknownNameError, UsageError, printable, show
from .paired_tests import compare_pairs
from .protocols import Protocol
from .scoring import RESAMPLES, SEED, Scores, score
from .significance import maximal_groups
from .tables import Corpus, Predictions

__all__ = ["Comparison", "compare"]

SHUFFLES = 10_000


@dataclass(frozen=True)
class Comparison:
    """Scores of several systems under one protocol, and tests of their differences.

    Parameters
    ----------
    scores : dict of str to Scores
    pairs : pandas.DataFrame
        One row a metric and pair of systems: metric, a, b, difference (A − B), low, high (95 %
        interval of the paired bootstrap), p_bootstrap, p_randomisation, p_holm (the latter,
        corrected over all pairs of the metric), significant (p_holm below ``level``), detectable
        (the smallest difference that such a test finds four times in five).
    level : float
    signature : str
        Common to all systems, with the tests appended.
    warnings : tuple of str
    """

    scores: Mapping[str, Scores]
    pairs: pd.DataFrame
    level: float
    signature: str
    warnings: tuple[str, ...] = ()

    @property
    def table(self) -> pd.DataFrame:
        """Values: one row a system, one column a metric."""
        return pd.DataFrame({name: s.table["value"] for name, s in self.scores.items()}).T.rename_axis(
            "system"
        )

    def ranking(self, key: str) -> list[str]:
        """Return the systems from best to worst under a metric."""
        self._known(key)
        first = next(iter(self.scores.values()))
        sign = 1 if first.table.loc[key, "better"] == "lower" else -1
        return sorted(self.scores, key=lambda name: (sign * self.scores[name][key], name))

    def groups(self, key: str) -> list[tuple[str, ...]]:
        """Return the largest groups of systems that cannot be told apart under a metric.

        Parameters
        ----------
        key : str

        Returns
        -------
        list of tuple of str
            Empty for a metric that is not tested.

        Raises
        ------
        UnknownNameError
        """
        self._known(key)
        tested = self.pairs[self.pairs["metric"] == key]
        if not len(tested) or tested["p_holm"].isna().all():
            return []
        apart = {frozenset(p) for p in tested.loc[tested["significant"], ["a", "b"]].to_numpy()}
        return maximal_groups(self.ranking(key), lambda x, y: frozenset((x, y)) not in apart)

    def letters(self, key: str) -> dict[str, str]:
        """Return letters by system: systems that share one cannot be told apart."""
        out = dict.fromkeys(self.scores, "")
        for number, group in enumerate(self.groups(key)):
            for name in group:
                out[name] += chr(ord("a") + number) if number < 26 else f"({number})"
        return out

    def smallest_detectable(self) -> pd.Series:
        """Return, by metric, the median over pairs of the smallest detectable difference."""
        return self.pairs.groupby("metric", sort=False)["detectable"].median()

    def _known(self, key: str) -> None:
        keys = list(next(iter(self.scores.values())).table.index)
        if key not in keys:
            raise UnknownNameError("metric", key, keys)

    def cells(self, keys: Sequence[str] | None = None) -> pd.DataFrame:
        """Return value, interval and letters as text; see `paper_tables.cells`."""
        return paper_tables.cells(self, keys)

    def to_dict(self) -> dict[str, Any]:
        """Return the object that the command line prints as JSON."""
        pairs = self.pairs.astype(object).where(self.pairs.notna(), None)
        return {
            "signature": self.signature,
            "level": self.level,
            "systems": {name: scores.to_dict() for name, scores in self.scores.items()},
            "pairs": pairs.to_dict("records"),
            "groups": {str(key): [list(g) for g in self.groups(str(key))] for key in self.table.columns},
            "warnings": list(self.warnings),
        }

    def to_csv(self) -> str:
        """Return the tests as CSV."""
        return csv_text(self.pairs, index=False)

    def to_markdown(self, keys: Sequence[str] | None = None) -> str:
        """Return the table for a paper in Markdown."""
        return paper_tables.markdown(self, keys)

    def to_latex(self, keys: Sequence[str] | None = None) -> str:
        """Return the table for a paper in LaTeX (package booktabs)."""
        return paper_tables.latex(self, keys)

    def caption(self) -> str:
        """Return the sentence that a reader of the table needs."""
        fields = dict(f.partition(":")[::2] for f in self.signature.split("|"))
        tested = not fields["rand"].startswith("none")
        said = "Value" if fields.get("boot") == "none" else "Value with 95 % interval"
        how = f"approximate randomisation over dialogues, Holm-corrected, level {self.level:g}"
        letters = (
            f"systems that share a letter cannot be told apart ({how})" if tested else "no pair was tested"
        )
        return f"{said}; {letters}. Signature: {self.signature}"

    def __repr__(self) -> str:
        return "\n".join(
            [self.cells().to_string(), "", self.caption(), *(f"warning: {w}" for w in self.warnings)]
        )

    def _repr_html_(self) -> str:
        notes = "".join(f"<li>{html.escape(w)}</li>" for w in self.warnings)
        return (
            self.cells().to_html(border=0)
            + f"<p>{html.escape(self.caption())}</p>"
            + (f"<ul>{notes}</ul>" if notes else "")
        )


def compare(
    gold: Corpus | str | None,
    predictions: Mapping[str, Predictions],
    protocol: str | Protocol | None = None,
    *,
    metrics: Sequence[str] | None = None,
    steps: str | Iterable[str] = (),
    missing: str | None = None,
    dialogues: str = "same",
    resamples: int = RESAMPLES,
    shuffles: int = SHUFFLES,
    seed: int = SEED,
    level: float = 0.05,
) -> Comparison:
    """Compare systems under one protocol on the same dialogues.

    Parameters
    ----------
    gold : Corpus, str or None
        As for `score`.
    predictions : mapping of str to Predictions
        At least two systems, by the name that tables show.
    protocol : str or Protocol, optional
    metrics : sequence of str, optional
        Keys of the protocol's scores; all by default. Only these are scored and tested, and only what
        they rest on has to be alike: BLEU of two systems can be compared although one of them used
        gold states.
    steps : str or iterable of str
        As for `score`.
    missing : {"error", "empty", "skip"}, optional
    dialogues : {"same", "common"}
        ``same`` refuses systems that were not scored on the same turns; ``common`` restricts all of
        them to the dialogues that every one covers whole, and says how many these are.
    resamples : int, default=1000
        Of the intervals and the paired bootstrap.
    shuffles : int, default=10000
        Of the approximate randomisation test.
    seed : int, default=12345
    level : float, default=0.05
        Of significance, after Holm's correction.

    Returns
    -------
    Comparison

    Raises
    ------
    UsageError
        Fewer than two systems, or signatures that differ; the field is named.
    CoverageError
        Systems that were not scored on the same turns.
    UnknownNameError
        No such protocol, metric or choice.

    Examples
    --------
    >>> import dialogeval as de
    >>> gold = de.load_corpus("sample/crosswoz_en")
    >>> names = {n: f"sample/predictions/crosswoz_en/tracker_{n}.jsonl.gz" for n in ("careful", "sloppy")}
    >>> systems = {name: de.load_predictions(path) for name, path in names.items()}
    >>> compare(gold, systems, "lin2021", resamples=100, shuffles=500).ranking("joint_goal_accuracy")
    ['careful', 'sloppy']
    """
    if dialogues not in ("same", "common"):
        raise UnknownNameError("choice of dialogues", dialogues, ("same", "common"))
    if not isinstance(predictions, Mapping):
        expected = "a dictionary of predictions by name"
        raise UsageError("predictions", expected=expected, got=show(predictions))
    for name, system in predictions.items():
        if not isinstance(system, Predictions):
            mend = "read the file with load_predictions first"
            raise UsageError(f"predictions of {name}", expected="Predictions", got=show(system), mend=mend)
    if len(predictions) < 2:
        raise UsageError("nothing to compare", expected="at least two systems", got=str(len(predictions)))
    for name, number in (("level", level), ("shuffles", shuffles)):
        if isinstance(number, bool) or not isinstance(number, (int, float)):
            raise UsageError(name, expected="a number", got=show(number))
    if not 0 < level < 1:
        raise UsageError("level", expected="between 0 and 1", got=str(level))
    if int(shuffles) != shuffles or not 0 <= shuffles <= 1_000_000:
        raise UsageError("shuffles", expected="a whole number from 0 to 1,000,000", got=show(shuffles))
    if isinstance(gold, str):
        from .corpora import load_corpus

        gold = load_corpus(gold)
    named = {printable(name): replace(p, name=printable(name)) for name, p in predictions.items()}
    if len(named) < len(predictions):
        raise UsageError("two systems have names that look alike", mend="rename one of them")
    warnings: list[str] = []
    if metrics is not None:
        first = next(iter(named.values()))
        found, why = chosen_protocol(protocol, gold or first.gold or Corpus(""), first, steps=steps)
        protocol, steps = found.only(metrics), ()
        warnings += why
    if dialogues == "common":
        gold, named, said = common_dialogues(gold, named)
        warnings += said
    scores = {
        name: score(gold, p, protocol, steps=steps, missing=missing, resamples=resamples, seed=seed)
        for name, p in named.items()
    }
    require_comparable(scores)
    warnings += [f"{name}: {w}" for name, s in scores.items() for w in s.warnings]
    pairs = compare_pairs(scores, resamples, shuffles, seed, level)
    couples = len(scores) * (len(scores) - 1) // 2
    if shuffles > 0 and couples / (shuffles + 1) >= level:
        warnings.append(
            f"{shuffles:,} shuffles are too few for {couples:,} pairs of systems: after Holm's correction no p-value "
            f"can be below {couples / (shuffles + 1):.3g}; take at least {int(couples / level * 10):,}"
        )
    # They differ at most in the policy for missing turns, which those that lack none do not name.
    signature = max((s.signature for s in scores.values()), key=len)
    tests = f"rand:{shuffles}/{seed}|holm" if shuffles else "rand:none"
    return Comparison(scores, pairs, level, f"{signature}|{tests}", tuple(warnings))

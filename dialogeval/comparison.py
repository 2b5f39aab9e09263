"""Systems side by side: scored under one protocol, on the same dialogues, with a test of every pair.

In: a corpus, and predictions by name. Out: `Comparison`: scores, tests, groups of systems whose differences
are not significant, and tables for papers.
"""

from __future__ import annotations

import html
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from dialogeval.corpora.load import as_corpus
from dialogeval.exceptions import (
    CoverageError,
    UnknownNameError,
    UsageError,
    printable,
    progress,
    show,
)
from dialogeval.predictions.load import as_loaded
from dialogeval.protocols import Protocol, chosen_protocol
from dialogeval.scoring import RESAMPLES, SEED, Scores, score
from dialogeval.stats import (
    all_dialogue_sums,
    holm,
    maximal_groups,
    p_value,
    paired_bootstrap,
    percentile_interval,
    randomisation,
)
from dialogeval.tables import Corpus, Predictions
from dialogeval.writing import csv_text

SHUFFLES = 10_000
#: Standard errors of a difference that a test at 5 % finds with 80 % probability.
_DETECTABLE = 1.959964 + 0.841621


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
        values = {name: s.table["value"] for name, s in self.scores.items()}
        return pd.DataFrame(values).T.rename_axis("system")

    def about(self, key: str) -> pd.Series:
        """Return label, unit and direction of a metric."""
        table = next(iter(self.scores.values())).table
        if key not in table.index:
            raise UnknownNameError("metric", key, map(str, table.index))
        return table[["label", "unit", "better"]].T[key]

    def ranking(self, key: str) -> list[str]:
        """Return the systems from best to worst under a metric."""
        sign = 1 if self.about(key)["better"] == "lower" else -1
        return sorted(self.scores, key=lambda name: (sign * self.scores[name][key], name))

    def groups(self, key: str) -> list[tuple[str, ...]]:
        """Return the largest groups of systems that cannot be told apart under a metric."""
        order, tested = self.ranking(key), self.pairs[self.pairs["metric"] == key]
        if tested["p_holm"].isna().all():
            return []
        apart = {frozenset(p) for p in tested.loc[tested["significant"], ["a", "b"]].to_numpy()}
        return maximal_groups(order, lambda x, y: frozenset((x, y)) not in apart)

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

    def cells(self, keys: Sequence[str] | None = None) -> pd.DataFrame:
        """Return value, interval and letters as text: a row a system, best first under the first metric."""
        keys = [str(key) for key in (self.table.columns if keys is None else keys)]
        columns = {}
        for key in keys:
            label, unit = self.about(key)[["label", "unit"]]
            number = "{:.3f}".format if unit == "fraction" else "{:.1f}".format
            texts, letters = {}, self.letters(key)
            for name, scores in self.scores.items():
                value, low, high = (scores.table[part][key] for part in ("value", "low", "high"))
                interval = "" if np.isnan(low) else f" [{number(low)}, {number(high)}]"
                texts[name] = f"{number(value)}{interval} {letters[name]}".rstrip()
            columns[label] = texts
        return pd.DataFrame(columns).loc[self.ranking(keys[0])].rename_axis("system")

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
        cells = self.cells(keys).rename(lambda name: name.replace("|", "\\|"))
        return f"{cells.to_markdown(disable_numparse=True)}\n\n{self.caption()}"

    def to_latex(self, keys: Sequence[str] | None = None) -> str:
        """Return the table for a paper in LaTeX (package booktabs)."""
        cells = self.cells(keys).reset_index()
        form = "l" + "r" * (cells.shape[1] - 1)
        return f"{cells.to_latex(index=False, escape=True, column_format=form)}% {self.caption()}"

    def caption(self) -> str:
        """Return the sentence that a reader of the table needs."""
        said = "Value" if "|boot:none|" in self.signature else "Value with 95 % interval"
        how = f"approximate randomisation over dialogues, Holm-corrected, level {self.level:g}"
        letters = f"systems that share a letter cannot be told apart ({how})"
        if self.signature.endswith("|rand:none"):
            letters = "no pair was tested"
        return f"{said}; {letters}. Signature: {self.signature}"

    def __repr__(self) -> str:
        warnings = [f"warning: {w}" for w in self.warnings]
        return "\n".join([self.cells().to_string(), "", self.caption(), *warnings])

    def _repr_html_(self) -> str:
        notes = "".join(f"<li>{html.escape(w)}</li>" for w in self.warnings)
        page = f"{self.cells().to_html(border=0)}<p>{html.escape(self.caption())}</p>"
        return page + (f"<ul>{notes}</ul>" if notes else "")


def compare(
    gold: Corpus | str | os.PathLike[str] | None,
    predictions: Mapping[str, Predictions | str | os.PathLike[str]],
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
    predictions : mapping of str to Predictions, str or path-like
        At least two systems or their files, by the name that tables show.
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
    if isinstance(predictions, (list, tuple)):
        loaded = [as_loaded(p) for p in predictions]
        predictions = {p.name: p for p in loaded}
        if len(predictions) < len(loaded):
            raise UsageError(
                "two systems have the same name", mend="give them by name: {'one': …, 'other': …}"
            )
    if not isinstance(predictions, Mapping) or len(predictions) < 2:
        raise UsageError(
            "predictions", expected="two systems or more, by name or in a list", got=show(predictions)
        )
    if not isinstance(shuffles, int) or not 0 <= shuffles <= 1_000_000:
        raise UsageError("shuffles", expected="a whole number from 0 to 1,000,000", got=show(shuffles))
    if not isinstance(level, float) or not 0 < level < 1:
        raise UsageError("level", expected="a number between 0 and 1", got=show(level))
    gold = as_corpus(gold)
    named = {printable(n): replace(as_loaded(p), name=printable(n)) for n, p in predictions.items()}
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
    if shuffles and couples / (shuffles + 1) >= level:
        warnings.append(
            f"{shuffles:,} shuffles are too few for {couples:,} pairs of systems: after Holm's correction no p-value "
            f"can be below {couples / (shuffles + 1):.3g}; take at least {int(couples / level * 10):,}"
        )
    # They differ at most in the policy for missing turns, which those that lack none do not name.
    signature = max((s.signature for s in scores.values()), key=len)
    tests = f"rand:{shuffles}/{seed}|holm" if shuffles else "rand:none"
    return Comparison(scores, pairs, level, f"{signature}|{tests}", tuple(warnings))


def compare_pairs(
    scores: Mapping[str, Scores], resamples: int, shuffles: int, seed: int, level: float
) -> pd.DataFrame:
    """Test every pair of systems on every metric whose counts are additive."""
    metrics = next(iter(scores.values())).metrics
    sums = {name: all_dialogue_sums(s.counts) for name, s in scores.items()}
    # Metrics of the same counts share their draws.
    families = dict.fromkeys(metric.functions for metric in metrics)
    jobs = [(family, a, b) for family in families for a, b in combinations(scores, 2)]
    drawn: dict[tuple[str, str, str], np.ndarray] = {}
    shuffled: dict[tuple[str, str, str], np.ndarray] = {}
    for family, a, b in progress(jobs, len(jobs), "testing pairs of systems", "pair"):
        left, right = (pd.concat([sums[name][f] for f in family], axis=1) for name in (a, b))
        values = {m.key: m.value for m in metrics if m.functions == family and m.resample == "bootstrap"}
        for made, function, times in (
            (drawn, paired_bootstrap, resamples),
            (shuffled, randomisation, shuffles),
        ):
            if values and times:
                made |= {(key, a, b): d for key, d in function(left, right, values, times, seed).items()}
    rows = []
    for place in ((metric.key, a, b) for metric in metrics for a, b in combinations(scores, 2)):
        key, a, b = place
        difference = scores[a][key] - scores[b][key]
        row = {"metric": key, "a": a, "b": b, "difference": difference, "low": np.nan, "high": np.nan}
        row |= dict.fromkeys(("p_bootstrap", "p_randomisation", "p_holm", "detectable"), np.nan)
        if place in drawn:
            row["low"], row["high"] = percentile_interval(drawn[place])
            row["p_bootstrap"] = p_value(drawn[place], difference, centre=float(drawn[place].mean()))
            # Two systems that never differ say nothing on how far other ones have to lie apart.
            spread = drawn[place].std(ddof=1) if len(drawn[place]) > 1 else 0
            row["detectable"] = _DETECTABLE * spread if spread else np.nan
        if place in shuffled:
            row["p_randomisation"] = p_value(shuffled[place], difference)
        rows.append(row)
    pairs = pd.DataFrame(rows)
    pairs["p_holm"] = pairs.groupby("metric")["p_randomisation"].transform(lambda p: holm(p.tolist()))
    pairs["significant"] = pairs["p_holm"] < level
    return pairs


def require_comparable(scores: Mapping[str, Scores]) -> None:
    """Refuse systems whose numbers cannot be compared, and say in what they differ."""
    (name, first), *others = scores.items()
    mend = 'restrict them to the common dialogues (dialogues="common", --common)'
    for other_name, other in others:
        both = f"{name} and {other_name}"
        ours, theirs = (dict(f.partition(":")[::2] for f in s.signature.split("|")) for s in (first, other))
        differ = [key for key in {**ours, **theirs} if ours.get(key) != theirs.get(key)]
        # Where one system lacks nothing, no policy was needed: both were scored on the same turns.
        if differ and not (differ == ["missing"] and len(ours) != len(theirs)):
            said = ", ".join(
                f"{k}:{ours.get(k, '(none)')} against {k}:{theirs.get(k, '(none)')}" for k in differ
            )
            partly = {"n", "missing"} & set(differ)
            problem = f"{both} cannot be compared, their signatures differ in {said}"
            raise UsageError(problem, mend=mend if partly else "score them alike")
        turns = (s.coverage.turns[["dialogue_id", "turn"]] for s in (first, other))
        if not next(turns).equals(next(turns)):
            raise CoverageError(f"{both} were not scored on the same turns", mend=mend)
        if list(first.table.index) != list(other.table.index):
            raise UsageError(f"{both} do not have the same scores", mend="choose another protocol")


def common_dialogues(
    gold: Corpus | None, named: Mapping[str, Predictions]
) -> tuple[Corpus, dict[str, Predictions], list[str]]:
    """Restrict all systems to the dialogues that each of them covers whole."""
    golds = [own for own in (gold or p.gold for p in named.values()) if own is not None]
    if len(golds) < len(named):
        raise UsageError("no gold to compare on", mend="name a corpus")
    wanted = golds[0].turns.groupby("dialogue_id").size()
    whole = [wanted == p.turns.groupby("dialogue_id").size().reindex(wanted.index) for p in named.values()]
    common = sorted(wanted.index[np.logical_and.reduce(whole)])
    if not common:
        raise CoverageError("no dialogue is covered by all systems")
    states = ({*own.select(common).states.itertuples(index=False, name=None)} for own in golds[1:])
    first = {*golds[0].select(common).states.itertuples(index=False, name=None)}
    if gold is None and any(other != first for other in states):
        problem = "the files carry different gold on the dialogues that all cover"
        raise UsageError(problem, mend="name the corpus that all are to be scored on")
    restricted = {name: _restrict(p, common, p.gold if gold else None) for name, p in named.items()}
    if len(common) == len(wanted):
        return golds[0], restricted, []
    said = f"restricted to the {len(common):,} of {len(wanted):,} dialogues that all systems cover"
    return golds[0].select(common), restricted, [said]


def _restrict(predictions: Predictions, dialogues: Sequence[str], gold: Corpus | None) -> Predictions:
    parts = {part: getattr(predictions, part) for part in ("turns", "states", "responses", "active_domains")}
    kept: dict[str, Any] = {
        part: frame[frame["dialogue_id"].isin(dialogues)].reset_index(drop=True)
        for part, frame in parts.items()
        if frame is not None
    }
    return replace(predictions, **kept, gold=gold)

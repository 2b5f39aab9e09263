"""Comparing systems: one table of scores, and for each pair whether the difference is more than chance.

In: a corpus, predictions by name, a protocol. Out: a `Comparison`. Only numbers of one definition on
the same dialogues are compared; anything else is refused, or restricted to what is common when the
caller asks for that.
"""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from . import paper_tables
from .exceptions import CoverageError, UnknownNameError, UsageError
from .protocols import Protocol
from .resampling import all_dialogue_sums, percentile_interval
from .scoring import RESAMPLES, SEED, Scores, score
from .significance import holm, maximal_groups, p_value, paired_bootstrap, randomisation
from .tables import Corpus, Predictions

__all__ = ["Comparison", "compare"]

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
        return pd.DataFrame({name: s.table["value"] for name, s in self.scores.items()}).T.rename_axis(
            "system"
        )

    def ranking(self, key: str) -> list[str]:
        """Return the systems from best to worst under a metric."""
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
        return self.pairs.to_csv(index=False, lineterminator="\n")

    def to_markdown(self, keys: Sequence[str] | None = None) -> str:
        """Return the table for a paper in Markdown."""
        return paper_tables.markdown(self, keys)

    def to_latex(self, keys: Sequence[str] | None = None) -> str:
        """Return the table for a paper in LaTeX (package booktabs)."""
        return paper_tables.latex(self, keys)

    def caption(self) -> str:
        """Return the sentence that a reader of the table needs."""
        return (
            f"Value with 95 % interval; systems that share a letter cannot be told apart (approximate randomisation "
            f"over dialogues, Holm-corrected, level {self.level:g}). Signature: {self.signature}"
        )

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
    if len(predictions) < 2:
        raise UsageError("nothing to compare", expected="at least two systems", got=str(len(predictions)))
    if not 0 < level < 1:
        raise UsageError("level", expected="between 0 and 1", got=str(level))
    if isinstance(gold, str):
        from .corpora import load_corpus

        gold = load_corpus(gold)
    named = {name: replace(p, name=name) for name, p in predictions.items()}
    warnings: list[str] = []
    if dialogues == "common":
        gold, named, said = _common(gold, named)
        warnings += said
    scores = {
        name: score(gold, p, protocol, missing=missing, resamples=resamples, seed=seed)
        for name, p in named.items()
    }
    _require_comparable(scores)
    warnings += [f"{name}: {w}" for name, s in scores.items() for w in s.warnings]
    pairs = _test_pairs(scores, resamples, shuffles, seed, level)
    first = next(iter(scores.values()))
    return Comparison(scores, pairs, level, f"{first.signature}|rand:{shuffles}/{seed}|holm", tuple(warnings))


def _common(
    gold: Corpus | None, named: dict[str, Predictions]
) -> tuple[Corpus, dict[str, Predictions], list[str]]:
    """Restrict all systems to the dialogues that each of them covers whole."""
    corpus = gold or next(iter(named.values())).gold
    if corpus is None:
        raise UsageError("no gold to compare on", mend="name a corpus")
    wanted = corpus.turns.groupby("dialogue_id").size()
    common = set(wanted.index)
    for predictions in named.values():
        own = corpus if gold is not None else predictions.gold
        have = predictions.turns.groupby("dialogue_id").size().reindex(wanted.index).fillna(0)
        common &= set(wanted.index[have == wanted])
        if own is None:
            raise UsageError("no gold to compare on", file=predictions.name, mend="name a corpus")
    if not common:
        raise CoverageError("no dialogue is covered by all systems")

    def keep(frame: pd.DataFrame | None) -> pd.DataFrame | None:
        return None if frame is None else frame[frame["dialogue_id"].isin(common)].reset_index(drop=True)

    restricted = {}
    for name, p in named.items():
        turns = keep(p.turns)
        assert turns is not None
        restricted[name] = replace(
            p,
            turns=turns,
            states=keep(p.states),
            responses=keep(p.responses),
            active_domains=keep(p.active_domains),
        )
    n = len(wanted)
    said = (
        [f"restricted to the {len(common):,} of {n:,} dialogues that all systems cover"]
        if len(common) < n
        else []
    )
    return corpus.select(sorted(common)) if len(common) < n else corpus, restricted, said


def _require_comparable(scores: Mapping[str, Scores]) -> None:
    names = list(scores)
    first = scores[names[0]]
    for name in names[1:]:
        other = scores[name]
        if first.signature != other.signature:
            ours, theirs = (
                dict(f.partition(":")[::2] for f in s.signature.split("|")) for s in (first, other)
            )
            differ = [
                f"{k}:{ours.get(k, '(none)')} against {k}:{theirs.get(k, '(none)')}"
                for k in dict.fromkeys([*ours, *theirs])
                if ours.get(k) != theirs.get(k)
            ]
            partly = {"n", "missing"} & {d.partition(":")[0] for d in differ}
            mend = (
                'restrict them to the common dialogues (dialogues="common", --common)'
                if partly
                else "score them alike"
            )
            raise UsageError(
                f"{names[0]} and {name} cannot be compared, their signatures differ in {', '.join(differ)}",
                mend=mend,
            )
        if not first.coverage.turns[["dialogue_id", "turn"]].equals(
            other.coverage.turns[["dialogue_id", "turn"]]
        ):
            raise CoverageError(
                f"{names[0]} and {name} were not scored on the same turns",
                mend='restrict them to the common dialogues (dialogues="common", --common)',
            )
        if list(first.table.index) != list(other.table.index):
            raise UsageError(
                f"{names[0]} and {name} do not have the same scores", mend="choose another protocol"
            )


def _test_pairs(
    scores: Mapping[str, Scores], resamples: int, shuffles: int, seed: int, level: float
) -> pd.DataFrame:
    """Test every pair of systems on every metric whose counts are additive."""
    rows = []
    metrics = next(iter(scores.values())).metrics
    # Metrics of the same counts share their draws; `sums` of one system hold each table once.
    families: dict[tuple, list] = {}
    for metric in metrics:
        families.setdefault(tuple(dict.fromkeys(part.counts for part in metric.sources)), []).append(metric)
    sums = {name: all_dialogue_sums(s.counts) for name, s in scores.items()}
    for functions, family in families.items():
        values = {m.key: m.value for m in family if m.resample == "bootstrap"}
        for a, b in combinations(scores, 2):
            left, right = (pd.concat([sums[n][f] for f in functions], axis=1) for n in (a, b))
            left = left.loc[:, ~left.columns.duplicated()]
            right = right.loc[:, ~right.columns.duplicated()]
            drawn = paired_bootstrap(left, right, values, resamples, seed) if values and resamples else {}
            shuffled = randomisation(left, right, values, shuffles, seed) if values and shuffles else {}
            for metric in family:
                rows.append(_row(metric.key, a, b, scores, drawn.get(metric.key), shuffled.get(metric.key)))
    pairs = pd.DataFrame(rows)
    order = {m.key: i for i, m in enumerate(metrics)}
    pairs = pairs.sort_values("metric", key=lambda keys: keys.map(order), kind="stable", ignore_index=True)
    pairs.insert(8, "p_holm", np.nan)
    for _, rows_of in pairs.groupby("metric").groups.items():
        p = pairs.loc[rows_of, "p_randomisation"]
        if p.notna().all():
            pairs.loc[rows_of, "p_holm"] = holm(p.tolist())
    pairs["significant"] = pairs["p_holm"] < level
    return pairs


def _row(
    key: str,
    a: str,
    b: str,
    scores: Mapping[str, Scores],
    drawn: np.ndarray | None,
    shuffled: np.ndarray | None,
) -> dict[str, Any]:
    difference = scores[a][key] - scores[b][key]
    low = high = spread = p_bootstrap = p_randomisation = np.nan
    if drawn is not None:
        (low, high), spread = (
            percentile_interval(drawn),
            float(drawn.std(ddof=1)) if len(drawn) > 1 else np.nan,
        )
        p_bootstrap = p_value(drawn, difference, centre=float(drawn.mean()))
    if shuffled is not None:
        p_randomisation = p_value(shuffled, difference)
    return {
        "metric": key,
        "a": a,
        "b": b,
        "difference": difference,
        "low": low,
        "high": high,
        "p_bootstrap": p_bootstrap,
        "p_randomisation": p_randomisation,
        "detectable": _DETECTABLE * spread,
    }

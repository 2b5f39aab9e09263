"""The public leaderboard: its published rows, ours beside them, and one dialogue told turn by turn.

In: a corpus with goals and a venue database, predictions with responses. Out: `Scores` by the
leaderboard's rules, or the reason why there are none; small tables.
"""

from __future__ import annotations

import html
import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.resources import files
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from dialogeval.corpora.catalog import local_file
from dialogeval.corpora.entries import catalog
from dialogeval.corpora.load import as_corpus
from dialogeval.csv_text import csv_text
from dialogeval.definition_table import rankings
from dialogeval.exceptions import (
    CoverageError,
    DataFileError,
    DialogevalError,
    UnknownNameError,
    UsageError,
    printable,
    progress,
    show,
)
from dialogeval.golds import match_turns
from dialogeval.locate import locate_predictions
from dialogeval.metrics.goals import RICHNESS_METRICS
from dialogeval.metrics.task import (
    LEADERBOARD,
    RATE_DOMAINS,
    TaskPair,
    active_domains,
    load_database,
    offers_table,
)
from dialogeval.pairing import scorable
from dialogeval.predictions.load import as_loaded, load_predictions, system_name
from dialogeval.protocols import PROTOCOLS, Protocol, chosen_protocol, find_protocol
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
from dialogeval.tables import Corpus, Predictions, table

#: Standard errors of a difference that a test at 5 % finds with 80 % probability.
_DETECTABLE = 1.959964 + 0.841621


def compare_pairs(
    scores: Mapping[str, Scores], resamples: int, shuffles: int, seed: int, level: float
) -> pd.DataFrame:
    """Test every pair of systems on every metric whose counts are additive."""
    rows = []
    metrics = next(iter(scores.values())).metrics
    # Metrics of the same counts share their draws; `sums` of one system hold each table once.
    families: dict[tuple, list] = {}
    for metric in metrics:
        families.setdefault(metric.functions, []).append(metric)
    sums = {name: all_dialogue_sums(s.counts) for name, s in scores.items()}
    couples = list(combinations(scores, 2))
    jobs = [(functions, family, *couple) for functions, family in families.items() for couple in couples]
    for functions, family, a, b in progress(jobs, len(jobs), "testing pairs of systems", "pair"):
        values = {m.key: m.value for m in family if m.resample == "bootstrap"}
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
        # Two systems that never differ say nothing on how far other ones have to lie apart.
        "detectable": _DETECTABLE * spread if spread > 0 else np.nan,
    }


def common_dialogues(
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

    if gold is None:
        _require_one_gold(named, common)
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
            gold=p.gold if gold is not None else None,
        )
    n = len(wanted)
    said = (
        [f"restricted to the {len(common):,} of {n:,} dialogues that all systems cover"]
        if len(common) < n
        else []
    )
    return corpus.select(sorted(common)) if len(common) < n else corpus, restricted, said


def _require_one_gold(named: dict[str, Predictions], common: set[str]) -> None:
    """Refuse files that carry their own gold where these do not say the same on the common dialogues."""
    first: tuple[str, list[pd.DataFrame]] | None = None
    for name, predictions in named.items():
        assert predictions.gold is not None
        tables = []
        for frame in (predictions.gold.turns, predictions.gold.states):
            here = frame[frame["dialogue_id"].isin(common)].drop(columns="layout", errors="ignore")
            tables.append(here.sort_values(list(here.columns), ignore_index=True))
        if first is None:
            first = name, tables
        elif not all(a.equals(b) for a, b in zip(first[1], tables, strict=True)):
            raise UsageError(
                f"{first[0]} and {name} carry different gold on the dialogues that both cover",
                mend="name the corpus that all are to be scored on",
            )


def require_comparable(scores: Mapping[str, Scores]) -> None:
    """Refuse systems whose numbers cannot be compared, and say in what they differ."""
    names = list(scores)
    first = scores[names[0]]
    for name in names[1:]:
        other = scores[name]
        ours, theirs = (dict(f.partition(":")[::2] for f in s.signature.split("|")) for s in (first, other))
        if ours.get("n") == theirs.get("n") and not (ours.get("missing") and theirs.get("missing")):
            # Where one system lacks nothing, no policy was needed: both were scored on the same turns.
            ours, theirs = ({k: v for k, v in fields.items() if k != "missing"} for fields in (ours, theirs))
        if ours != theirs:
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


def cells(comparison: Comparison, keys: Sequence[str] | None = None) -> pd.DataFrame:
    """Return the table for a paper: one row a system from best to worst of the first metric."""
    table = next(iter(comparison.scores.values())).table
    keys = list(table.index) if keys is None else list(keys)
    columns = {}
    for key in keys:
        letters = comparison.letters(key)
        digits = 3 if table.loc[key, "unit"] == "fraction" else 1
        column = {}
        for name, scores in comparison.scores.items():
            row = scores.table.loc[key]
            interval = "" if np.isnan(row["low"]) else f" [{row['low']:.{digits}f}, {row['high']:.{digits}f}]"
            column[name] = f"{row['value']:.{digits}f}{interval} {letters[name]}".rstrip()
        columns[str(table.loc[key, "label"])] = column
    return pd.DataFrame(columns).loc[comparison.ranking(keys[0])].rename_axis("system")


def markdown(comparison: Comparison, keys: Sequence[str] | None = None) -> str:
    """Return the table in Markdown, with the line that says how to read it."""
    frame = cells(comparison, keys).reset_index()
    rows = [list(frame.columns), ["---"] * len(frame.columns), *frame.to_numpy().tolist()]
    lines = ["| " + " | ".join(escape_markdown(str(c)) for c in row) + " |" for row in rows]
    text, signature = comparison.caption().split("Signature: ")
    return "\n".join([*lines, "", f"{text}Signature: `{signature}`"])


def latex(comparison: Comparison, keys: Sequence[str] | None = None) -> str:
    """Return the table in LaTeX (package booktabs), with a comment that says how to read it."""
    frame = cells(comparison, keys).reset_index()
    lines = [rf"\begin{{tabular}}{{l{'r' * (len(frame.columns) - 1)}}}", r"\toprule"]
    lines += [" & ".join(map(escape_latex, map(str, frame.columns))) + r" \\", r"\midrule"]
    lines += [" & ".join(escape_latex(str(c)) for c in row) + r" \\" for row in frame.to_numpy()]
    return "\n".join(
        [*lines, r"\bottomrule", r"\end{tabular}", f"% {' '.join(comparison.caption().split())}"]
    )


def escape_markdown(text: str) -> str:
    """Escape what Markdown or HTML would take for markup."""
    for mark in "\\`*_[]<>|#$":
        text = text.replace(mark, "\\" + mark if mark not in "<>" else {"<": "&lt;", ">": "&gt;"}[mark])
    return " ".join(text.split())


def escape_latex(text: str) -> str:
    """Escape what LaTeX would take for markup."""
    marks = {
        "\\": r"\textbackslash{}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "|": r"\textbar{}",
    }
    marks |= {c: "\\" + c for c in "&%$#_{}"} | {
        "[": "{[}",
        "]": "{]}",
        "<": r"\textless{}",
        ">": r"\textgreater{}",
    }
    return "".join(marks.get(c, c) for c in " ".join(text.split()))


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
        """Return the largest groups of systems that cannot be told apart under a metric."""
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
        """Return value, interval and letters as text; see `cells`."""
        return cells(self, keys)

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
        return markdown(self, keys)

    def to_latex(self, keys: Sequence[str] | None = None) -> str:
        """Return the table for a paper in LaTeX (package booktabs)."""
        return latex(self, keys)

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
    if not isinstance(predictions, Mapping):
        expected = "a dictionary of predictions by name"
        raise UsageError("predictions", expected=expected, got=show(predictions))
    if len(predictions) < 2:
        raise UsageError("nothing to compare", expected="at least two systems", got=str(len(predictions)))
    for name, number in (("level", level), ("shuffles", shuffles)):
        if isinstance(number, bool) or not isinstance(number, (int, float)):
            raise UsageError(name, expected="a number", got=show(number))
    if not 0 < level < 1:
        raise UsageError("level", expected="between 0 and 1", got=str(level))
    if int(shuffles) != shuffles or not 0 <= shuffles <= 1_000_000:
        raise UsageError("shuffles", expected="a whole number from 0 to 1,000,000", got=show(shuffles))
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
    if shuffles > 0 and couples / (shuffles + 1) >= level:
        warnings.append(
            f"{shuffles:,} shuffles are too few for {couples:,} pairs of systems: after Holm's correction no p-value "
            f"can be below {couples / (shuffles + 1):.3g}; take at least {int(couples / level * 10):,}"
        )
    # They differ at most in the policy for missing turns, which those that lack none do not name.
    signature = max((s.signature for s in scores.values()), key=len)
    tests = f"rand:{shuffles}/{seed}|holm" if shuffles else "rand:none"
    return Comparison(scores, pairs, level, f"{signature}|{tests}", tuple(warnings))


#: A system that covers a smaller share of the dialogues would cost all others too many of theirs.
COVERED = 0.9
#: Scores that are tested and drawn first, where a protocol has them.
_MAIN = ("bleu", "bleu_4", "bleu_4_card", "inform", "success", "joint_goal_accuracy")


def find_systems(
    predictions: str | os.PathLike[str], home: str | os.PathLike[str] | None = None
) -> dict[Path, str]:
    """Find the prediction files that a folder, a name or a list stands for."""
    text = os.fspath(predictions)
    parts = [text] if os.path.exists(text) else [p.strip() for p in text.split(";") if p.strip()]  # noqa: PTH110
    found: dict[Path, str] = {}
    for part in parts:
        entry = catalog().get(part.rstrip("/"))
        if entry is not None and entry.family == "predictions" and not Path(part).exists():
            paths = [local_file(entry.name, system, home) for system in entry.files]
            reasons = {path: "" if path.is_file() else "not downloaded" for path in paths}
            if not any(path.is_file() for path in paths):
                mend = f"fetch it (dialogeval fetch {entry.name}), or set the folder of your data"
                raise DataFileError("no file is here", file=paths[0].parent, mend=mend)
        elif (path := locate_predictions(part, home)).is_dir():
            paths = sorted(p for p in path.iterdir() if not p.name.startswith("."))
            reasons = {p: "a folder: give its own path to compare what it holds" * p.is_dir() for p in paths}
        elif path.exists():
            reasons = {path: ""}
        else:
            raise DataFileError("no such file or folder", file=path, mend="check the path")
        found |= reasons
    if not found:
        raise DataFileError("no files", file=text or "(no path)", mend="name a folder that holds predictions")
    return found


def load_systems(
    gold: Corpus,
    predictions: str | os.PathLike[str],
    protocol: str | Protocol,
    missing: str = "",
    home: str | os.PathLike[str] | None = None,
) -> tuple[dict[str, Predictions], pd.DataFrame]:
    """Read all systems, and say of each file whether it can be compared."""
    metrics = find_protocol(protocol).resolve_metrics()
    kept: dict[Path, Predictions] = {}
    seen: dict[tuple, Path] = {}
    rows = {}
    for path, reason in find_systems(predictions, home).items():
        row: dict[str, Any] = {"system": printable(system_name(path.name)), "file": printable(path.name)}
        row |= {"holds": "", "dialogues": 0, "turns": 0}
        if not reason:
            try:
                own = load_predictions(path)
                row |= {"holds": ", ".join(_parts(own)), "turns": len(own.turns)}
                row["dialogues"] = own.turns["dialogue_id"].nunique()
                reason = _unfit(gold, own, metrics, missing)
                same = path if reason else seen.setdefault(_fingerprint(own), path)
                if same != path:
                    reason = f"holds the same predictions as {printable(same.name)}"
                if not reason:
                    kept[path] = own
            except (DialogevalError, OSError) as error:
                reason = printable(error)
        rows[path] = {**row, "left_out": reason}
    names = _names(list(kept))
    for path, name in names.items():
        rows[path]["system"] = name
    return {name: replace(kept[path], name=name) for path, name in names.items()}, pd.DataFrame(rows.values())


def comparable_groups(
    gold: Corpus, systems: Mapping[str, Predictions], protocol: str | Protocol
) -> dict[str, tuple[list[str], list[str]]]:
    """Sort scores and systems into groups in which every number has one definition."""
    metrics = find_protocol(protocol).resolve_metrics()
    order = ("responses", "goals, predicted states", "goals, gold states", "states")
    groups: dict[str, tuple[list[str], list[str]]] = {what: ([], []) for what in order}
    for name, system in systems.items():
        for metric in scorable(metrics, gold, system)[0]:
            tasks = {part.task for part in metric.sources}
            states = "gold" if system.states is None else "predicted"
            what = f"goals, {states} states" if "task" in tasks else "responses"
            keys, names = groups["states" if "state" in tasks else what]
            if metric.key not in keys:
                keys.append(metric.key)
            if name not in names:
                names.append(name)
    return {what: group for what, group in groups.items() if group[1]}


def compare_groups(
    gold: Corpus,
    systems: Mapping[str, Predictions],
    protocol: str | Protocol,
    missing: str = "",
    resamples: int = RESAMPLES,
    seed: int = SEED,
) -> tuple[dict[str, Comparison], list[str]]:
    """Compare the systems of each group of `comparable_groups`."""
    shuffles = resamples * SHUFFLES // RESAMPLES
    compared, notes = {}, []
    for what, (keys, names) in comparable_groups(gold, systems, protocol).items():
        if len(names) < 2:
            notes.append(f"{what}: {names[0]} is the only system, there is nothing to compare it with")
            continue
        mine = {name: systems[name] for name in names}
        options: dict[str, Any] = {"missing": missing or None, "resamples": resamples, "seed": seed}
        try:
            compared[what] = compare(gold, mine, protocol, metrics=keys, shuffles=shuffles, **options)
        except DialogevalError as error:
            notes.append(f"{what}: not compared: {printable(error)}")
            continue
        couples = len(names) * (len(names) - 1) // 2
        if shuffles and couples / (shuffles + 1) >= compared[what].level:
            notes.append(f"{what}: {shuffles:,} shuffles are too few for any of {couples} pairs to differ")
    if not compared:
        raise UsageError("nothing to compare", got="; ".join(notes) or "no system that can be scored")
    return compared, notes


def main_metrics(comparison: Comparison) -> list[str]:
    """Return the scores to look at first: BLEU, Inform, Success, joint goal accuracy, or the first of all."""
    keys = [str(key) for key in comparison.table.columns]
    return [key for key in _MAIN if key in keys] or keys[:1]


# Helpers ------------------------------------------------------------------------------------------


def _names(paths: Sequence[Path]) -> dict[Path, str]:
    """Name systems after their files; where two would be called the same, with more of the path."""
    names = {path: printable(system_name(path.name)) for path in paths}
    longer: list[Callable[[Path], str]] = [lambda p: p.name, lambda p: f"{p.parent.name}/{p.name}", str]
    for spell in longer:
        times = Counter(names.values())
        names = {path: name if times[name] == 1 else printable(spell(path)) for path, name in names.items()}
    return names


def _parts(system: Predictions) -> list[str]:
    return [part for part in ("states", "responses", "active_domains") if getattr(system, part) is not None]


def _unfit(gold: Corpus, system: Predictions, metrics: tuple, missing: str) -> str:
    """Say why a system cannot be compared, or nothing."""
    tasks = {part.task for metric in metrics for part in metric.sources}
    needs = sorted({"states" if task == "state" else "responses" for task in tasks})
    if not set(needs) & set(_parts(system)):
        return f"no {' and no '.join(needs)}, which the protocol scores"
    cover = match_turns(gold, system, "skip")
    share = cover.dialogues_scored / max(cover.dialogues_in_corpus, 1)
    if missing in ("", "skip") and share < COVERED:
        return f"covers {cover.dialogues_scored:,} of {cover.dialogues_in_corpus:,} dialogues"
    return ""


def _fingerprint(system: Predictions) -> tuple:
    """Return what equal predictions share, whatever the order of their rows and their empty values."""
    sums = []
    for part in ("turns", *_parts(system)):
        frame = getattr(system, part)
        frame = frame[frame["value"] != ""] if part == "states" else frame
        sums.append((part, len(frame), int(pd.util.hash_pandas_object(frame, index=False).sum())))
    return tuple(sums)


#: Scores that the public leaderboard lists.
_PUBLISHED = ("bleu", "inform", "success")
_COLUMNS = ("better", "worse", "difference", "low", "high", "p_holm", "verdict", "unit")


def neighbours(comparison: Comparison, key: str, order: Sequence[str] | None = None) -> pd.DataFrame:
    """Test each system against the next one in a ranking."""
    first = next(iter(comparison.scores.values())).table.loc[key]
    tested = comparison.pairs[comparison.pairs["metric"] == key].to_dict("records")
    own: dict[tuple[str, str], dict[Any, Any]] = {(row["a"], row["b"]): row for row in tested}
    lower = first["better"] == "lower"
    rows = []
    for better, worse in pairwise(comparison.ranking(key) if order is None else order):
        known = (better, worse) in own
        test = own[(better, worse) if known else (worse, better)]
        low, high = (test["low"], test["high"]) if known else (-test["high"], -test["low"])
        difference = test["difference"] if known else -test["difference"]
        against = (difference > 0) == lower
        verdict = f"not significant ({_p(test['p_holm'])})"
        if np.isnan(test["p_holm"]):
            verdict = "not tested"
        elif test["significant"]:
            verdict = "reversed" if against else "significant"
        row = {"score": first["label"], "better": better, "worse": worse, "difference": difference}
        rows.append(
            {
                **row,
                "low": low,
                "high": high,
                "p_holm": test["p_holm"],
                "verdict": verdict,
                "unit": first["unit"],
            }
        )
    return pd.DataFrame(rows, columns=["score", *_COLUMNS])


def published_neighbours(comparison: Comparison) -> pd.DataFrame:
    """Test the neighbours of the public MultiWOZ leaderboard, in the order in which it lists them."""
    known = leaderboard()
    known = known[known.index.isin(list(comparison.scores))]
    tables = []
    protocol = next(iter(comparison.scores.values())).protocol.name
    for key in _PUBLISHED if protocol == "mwzeval" and len(known) > 1 else ():
        if key in comparison.table:
            values = known[key].sort_values(ascending=False, kind="stable")
            tables.append(neighbours(comparison, key, list(values.index)))
            tables[-1].insert(3, "published", (-values.diff().dropna()).round(2).to_numpy())
    if tables:
        return pd.concat(tables, ignore_index=True)
    return pd.DataFrame(columns=["score", *_COLUMNS[:2], "published", *_COLUMNS[2:]])


def neighbour_sentence(table: pd.DataFrame) -> str:
    """Say in one sentence which neighbours of one score differ significantly."""
    alike = table[table["verdict"].str.startswith("not significant")]
    apart = table[table["verdict"].isin(["significant", "reversed"])]
    label = table["score"].iloc[0]
    if (table["verdict"] == "not tested").any():
        return f"{label}: not tested."
    text = f"{label}: {len(apart) or 'none'} of {len(table)} pairs of neighbours differ significantly"
    if len(apart):
        text += " (" + "; ".join(_said(row, "over") for row in apart.to_dict("records")) + ")"
    if len(alike):
        text += ". Not significant: "
        text += "; ".join(_said(row, "and") for row in alike.to_dict("records"))
    return text + "."


def paper_text(comparison: Comparison, whole: Corpus) -> str:
    """Return sentences for a paper: who is best, which neighbours differ, how it was tested."""
    first = next(iter(comparison.scores.values()))
    cover, protocol, n = first.coverage, first.protocol, len(comparison.scores)
    source = f" ({protocol.source})" if protocol.source else ""
    text = (
        f"On {whole.id} ({cover.dialogues_scored:,} of {whole.turns['dialogue_id'].nunique():,} dialogues, "
        f"{cover.turns_scored:,} turns), {n} systems are compared under protocol {protocol.name}{source}."
    )
    for key in main_metrics(comparison):
        table = neighbours(comparison, key)
        best, row = comparison.ranking(key)[0], first.table.loc[key]
        digits = _digits(str(row["unit"]))
        value = comparison.scores[best].table.loc[key]
        ends = "" if np.isnan(value["low"]) else f" [{value['low']:.{digits}f}, {value['high']:.{digits}f}]"
        text += f" Best in {row['label']} is {best} with {value['value']:.{digits}f}{ends}"
        near = {name for group in comparison.groups(key) if best in group for name in group}
        like = [name for name in comparison.ranking(key)[1:] if name in near]
        text += f", not to be told apart from {', '.join(like)}." if like else "."
        text += f" {neighbour_sentence(table)}"
        least = comparison.smallest_detectable()[key]
        if not np.isnan(least):
            text += (
                f" One test at this size finds a true difference of {least:.{digits}f} four times in five."
            )
    return (
        f"{text} Brackets hold 95 % bootstrap intervals; p-values are of approximate randomisation over "
        f"dialogues, Holm-corrected over all {n * (n - 1) // 2} pairs of systems, level {comparison.level:g}. "
        f"Signature: {comparison.signature}"
    )


def bleu_definitions(
    gold: Corpus, systems: Mapping[str, Predictions], protocols: Sequence[str | Protocol], missing: str = ""
) -> pd.DataFrame:
    """Score the responses of all systems under every definition of BLEU-4 that the protocols have."""
    rows: dict[str, dict[str, float]] = {}
    notes = []
    speaking = {name: p for name, p in systems.items() if p.responses is not None}
    for protocol in map(find_protocol, protocols):
        keys = [m.key for m in protocol.resolve_metrics() if m.key == "bleu" or m.key.startswith("bleu_4")]
        if not keys:
            continue
        try:
            for name, system in speaking.items():
                table = score(gold, system, protocol.only(keys), missing=missing or None, resamples=0).table
                for _, row in table.iterrows():
                    rows.setdefault(f"{protocol.name}: {row['label']}", {})[name] = row["value"]
        except DialogevalError as error:
            notes.append(f"{protocol.name} does not apply: {printable(error)}")
    table = pd.DataFrame.from_dict(rows, orient="index", columns=list(speaking)).rename_axis("definition")
    table = table.rename_axis("system", axis=1).dropna(how="any")
    table.attrs = {"metric": "bleu", "better": "higher", "notes": notes}
    return table


def ranks(table: pd.DataFrame) -> pd.DataFrame:
    """Return the place of each system under each definition, definitions of one ranking taken together."""
    ascending = table.attrs.get("better") == "lower"
    # Equal means equal but for rounding in sums, as in `rankings`.
    places = table.round(12).rank(axis=1, method="min", ascending=ascending)
    rows = {}
    for _, same in rankings(table).groupby("ranking", sort=False):
        labels = [str(label) for label in same.index]
        more = f" and {len(labels) - 1} more" if len(labels) > 1 else ""
        rows[labels[0] + more] = places.loc[same.index[0]]
    return pd.DataFrame(rows).T.astype("int64").rename_axis("definition")


# Helpers ------------------------------------------------------------------------------------------


def _digits(unit: str) -> int:
    return 3 if unit == "fraction" else 2


def _p(p: float) -> str:
    return "p < 0.001" if p < 0.001 else f"p = {p:.3f}"


def _said(row: Mapping[Any, Any], between: str) -> str:
    better, worse = row["better"], row["worse"]
    if row["verdict"] == "reversed":
        better, worse = worse, better
    return f"{better} {between} {worse} by {abs(row['difference']):.{_digits(row['unit'])}f}, {_p(row['p_holm'])}"


#: What the public leaderboard lists, without the scores of states.
LEADERBOARD_PROTOCOL = replace(PROTOCOLS["mwzeval"], metrics=(*LEADERBOARD, *RICHNESS_METRICS))
#: Our metrics by the columns of the public leaderboard.
_COLUMNS_of_leaderboard = {
    "bleu": "bleu",
    "inform": "inform",
    "success": "success",
    "avg_length": "avg_length",
    "cond_bigram_entropy": "cond_bigram_entropy",
    "unique_words": "unique_1grams",
    "unique_trigrams": "unique_3grams",
}


def task_scores(
    corpus: Corpus, predictions: Predictions, resamples: int = 0, seed: int = SEED
) -> tuple[Scores | None, str]:
    """Score by the leaderboard's rules, or say why that cannot be done."""
    if corpus.family != "multiwoz" or not len(corpus.goals):
        why = "no user goals" if not len(corpus.goals) else "goals in another form than MultiWOZ's"
        return None, (
            f"Inform and Success are left out: {corpus.id} has {why}. They need goals and a venue database."
        )
    try:
        load_database(corpus)
        return score(corpus, predictions, LEADERBOARD_PROTOCOL, resamples=resamples, seed=seed), ""
    except DialogevalError as error:
        return None, f"Inform and Success are left out: {str(error).rstrip('.')}."


def follow_dialogue(scores: Scores, dialogue_id: str) -> pd.DataFrame:
    """Tell turn by turn what counts for Inform and Success in a dialogue."""
    pair = _task_pair_of(scores)
    places = [i for i, name in enumerate(pair.dialogue_id) if name == dialogue_id]
    if not places:
        raise UsageError(f"dialogue {dialogue_id} was not scored")
    own: dict[str, Any] = {
        name: frame[frame["dialogue_id"] == dialogue_id]
        for name, frame in (("states", pair.states), ("goals", pair.goals), ("bookings", pair.bookings))
    }
    rows = []
    active = _active_by_turn(pair, dialogue_id, places)
    for n, place in enumerate(places):
        # What counts after a turn is what counts in a dialogue that ends there.
        upto = places[: n + 1]
        seen = replace(
            pair,
            dialogue_id=[dialogue_id] * len(upto),
            turn=[pair.turn[i] for i in upto],
            responses=[pair.responses[i] for i in upto],
            **own,
        )
        row = {"turn": pair.turn[place], "response": pair.responses[place], "active": active[n]}
        for _, item in offers_table(seen).iterrows():
            row[f"{item['domain']}: offer"] = item["offered"]
            row[f"{item['domain']}: given"] = item["provided"]
        rows.append(row)
    return pd.DataFrame(rows)


def failed_dialogues(scores: Scores) -> pd.DataFrame:
    """Return the domains of dialogues that fail, with what was offered and what was missed."""
    offers = offers_table(_task_pair_of(scores))
    return offers[~offers["matched"] | (offers["missed"] != "")].reset_index(drop=True)


def leaderboard() -> pd.DataFrame:
    """Return the published rows of the MultiWOZ leaderboard for the systems whose files are shared."""
    with (files(__package__) / "data" / "leaderboard.csv").open(encoding="utf-8") as file:
        return pd.read_csv(file).set_index("system")


def beside_published(scored: dict[str, Scores]) -> pd.DataFrame:
    """Set our numbers beside the published ones."""
    published = leaderboard()
    rows = [
        (name, column, float(scores[key]), float(published[column].loc[name]))
        for name, scores in scored.items()
        if name in published.index
        for column, key in _COLUMNS_of_leaderboard.items()
    ]
    both = pd.DataFrame(rows, columns=["system", "score", "ours", "published"])
    return both.assign(difference=both["ours"] - both["published"]).set_index(["system", "score"])


def active_from_placeholders(predictions: Predictions) -> Predictions:
    """Return the predictions with active domains read off their placeholders: ``[hotel_name]``, hotel."""
    if predictions.responses is None:
        raise UsageError(f"{predictions.name} holds no responses")
    pattern = rf"\[({'|'.join(RATE_DOMAINS)})_"
    found = predictions.responses.set_index(["dialogue_id", "turn"])["response"].str.extractall(pattern)
    names = found[0].rename("domain").reset_index(["dialogue_id", "turn"]).drop_duplicates()
    active = table("active_domains", {c: names[c].tolist() for c in ("dialogue_id", "turn", "domain")})
    return replace(predictions, active_domains=active, path="", format="")


# Helpers ------------------------------------------------------------------------------------------


def _active_by_turn(pair: TaskPair, dialogue_id: str, places: Sequence[int]) -> list[str]:
    if pair.active is not None:
        own = pair.active[pair.active["dialogue_id"] == dialogue_id]
        return [", ".join(own.loc[own["turn"] == pair.turn[i], "domain"]) for i in places]
    states: dict[int, dict[str, dict[str, str]]] = {}
    own = pair.states[pair.states["dialogue_id"] == dialogue_id]
    for turn, domain, slot, value in own[["turn", "domain", "slot", "value"]].itertuples(index=False):
        states.setdefault(turn, {}).setdefault(domain, {})[slot] = value
    return [domain or "" for domain in active_domains(states.get(pair.turn[i], {}) for i in places)]


def _task_pair_of(scores: Scores) -> TaskPair:
    pair = scores.pairs.get("task")
    if pair is None:
        raise UsageError(f"protocol {scores.protocol.name} has no Inform", mend="score under mwzeval")
    return pair

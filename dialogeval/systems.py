"""All systems of a folder: found, read, and compared where they may be.

In: a folder, or several files, and a corpus. Out: predictions by name, with the list of what was left
out and why; a comparison for every group of systems whose numbers have one definition.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd

from .comparison import SHUFFLES, Comparison, compare
from .corpora.catalog import catalog, local_file
from .coverage import match_turns
from .exceptions import DataFileError, DialogevalError, UsageError, printable
from .locate import locate_predictions
from .pairing import scorable
from .predictions.load import load_predictions, system_name
from .protocols import Protocol, find_protocol
from .scoring import RESAMPLES, SEED
from .tables import Corpus, Predictions

__all__ = [
    "comparable_groups",
    "compare_groups",
    "find_systems",
    "load_systems",
    "main_metrics",
]

#: A system that covers a smaller share of the dialogues would cost all others too many of theirs.
COVERED = 0.9
#: Scores that are tested and drawn first, where a protocol has them.
_MAIN = ("bleu", "bleu_4", "bleu_4_card", "inform", "success", "joint_goal_accuracy")


def find_systems(
    predictions: str | os.PathLike[str], home: str | os.PathLike[str] | None = None
) -> dict[Path, str]:
    """Find the prediction files that a folder, a name or a list stands for.

    Parameters
    ----------
    predictions : str or path-like
        A file or a folder, by path or by a name such as ``sample/predictions/multiwoz`` or
        ``predictions/multiwoz``; or several of these, with ``;`` between them. Of a folder, all files
        but hidden ones are taken; what lies in folders below it is not.
    home : path-like, optional
        Folder of the data, for names of the catalog.

    Returns
    -------
    dict of pathlib.Path to str
        In order; the text says why a file cannot be read, and is empty for all others.

    Raises
    ------
    DataFileError
        No such file or folder, or nothing in it.

    Examples
    --------
    >>> [path.name for path in find_systems("sample/predictions/multiwoz_zh")]
    ['baseline_nearest_neighbour.jsonl.gz', 'baseline_value_matching.jsonl.gz']
    """
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
    """Read all systems, and say of each file whether it can be compared.

    Parameters
    ----------
    gold : Corpus
    predictions : str or path-like
        As `find_systems` takes it.
    protocol : str or Protocol
        What has to be scored.
    missing : str
        Empty or ``"skip"``: systems that cover less than nine tenths of the dialogues are left out,
        because the others would be compared on few; else all are kept.
    home : path-like, optional

    Returns
    -------
    systems : dict of str to Predictions
        By name: the file's name without endings, or with them where two would be called the same.
    found : pandas.DataFrame
        One row a file: system, file, holds, dialogues, turns, left_out (the reason, or empty).

    Raises
    ------
    DataFileError
        Nothing is there.
    UnknownNameError
        No such protocol.

    Examples
    --------
    >>> import dialogeval as de
    >>> gold = de.load_corpus("sample/crosswoz_en")
    >>> systems, found = load_systems(gold, "sample/predictions/crosswoz_en", "lin2021")
    >>> len(systems), found.loc[found["left_out"] != "", "system"].tolist()[0]
    (7, 'pairs_tracker_careful')
    """
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
    """Sort scores and systems into groups in which every number has one definition.

    Parameters
    ----------
    gold : Corpus
    systems : mapping of str to Predictions
    protocol : str or Protocol

    Returns
    -------
    dict of str to (list of str, list of str)
        By what is compared, the keys of the scores and the names of the systems: responses of all
        systems that have them; goals apart for systems that predict states and for those that are
        given gold ones; states.

    Examples
    --------
    >>> import dialogeval as de
    >>> gold = de.load_corpus("sample/multiwoz")
    >>> systems, _ = load_systems(gold, "sample/predictions/multiwoz", "mwzeval")
    >>> list(comparable_groups(gold, systems, "mwzeval"))
    ['responses', 'goals, predicted states', 'goals, gold states', 'states']
    """
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
    """Compare the systems of each group of `comparable_groups`.

    Parameters
    ----------
    gold : Corpus
    systems : mapping of str to Predictions
        That cover the same dialogues, see `dialogeval.comparable.common_dialogues`.
    protocol : str or Protocol
    missing : str
        Empty for the protocol's own rule.
    resamples : int, default=1000
        Of the intervals; the tests take ten times as many.
    seed : int, default=12345

    Returns
    -------
    comparisons : dict of str to Comparison
    notes : list of str
        Groups that could not be compared, and why.

    Raises
    ------
    UsageError
        No group could be compared.

    Examples
    --------
    >>> import dialogeval as de
    >>> gold = de.load_corpus("sample/crosswoz_en")
    >>> systems, _ = load_systems(gold, "sample/predictions/crosswoz_en", "lin2021")
    >>> list(compare_groups(gold, systems, "lin2021", resamples=10)[0])
    ['states']
    """
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
    """Return the scores to look at first: BLEU, Inform, Success, joint goal accuracy, or the first of all.

    Examples
    --------
    >>> import dialogeval as de
    >>> gold = de.load_corpus("sample/crosswoz_en")
    >>> both = {name: de.as_predictions(gold) for name in "ab"}
    >>> main_metrics(de.compare(gold, both, "lin2021", resamples=0, shuffles=0))
    ['joint_goal_accuracy']
    """
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

"""A folder of systems: which can be compared, and with which; and the public leaderboard.

In: a corpus, and a folder or list of prediction files. Out: predictions by name, a table that says of every
file why it is left out, and a `Comparison` for each group whose numbers have one definition.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Any

import pandas as pd

from dialogeval.comparison import SHUFFLES, Comparison, compare
from dialogeval.corpora.catalog import catalog, local_file
from dialogeval.exceptions import DataFileError, DialogevalError, UsageError, printable
from dialogeval.golds import match_turns
from dialogeval.locate import locate_predictions
from dialogeval.metrics.goals import RICHNESS_METRICS
from dialogeval.metrics.task import LEADERBOARD, load_database
from dialogeval.pairing import scorable
from dialogeval.predictions.load import load_predictions, system_name
from dialogeval.protocols import PROTOCOLS, Protocol, find_protocol
from dialogeval.scoring import RESAMPLES, SEED, Scores, score
from dialogeval.tables import Corpus, Predictions

#: A system that covers a smaller share of the dialogues would cost all others too many of theirs.
COVERED = 0.9
#: Scores that are looked at first, where a protocol has them.
_MAIN = ("bleu", "bleu_4", "bleu_4_card", "inform", "success", "joint_goal_accuracy")
#: What the public leaderboard lists, without the scores of states.
LEADERBOARD_PROTOCOL = replace(PROTOCOLS["mwzeval"], metrics=(*LEADERBOARD, *RICHNESS_METRICS))


def find_systems(
    predictions: str | os.PathLike[str], home: str | os.PathLike[str] | None = None
) -> dict[Path, str]:
    """Find the files that a folder, a name or a list stands for, with the reason why one is no prediction."""
    text = os.fspath(predictions)
    parts = [text] if os.path.exists(text) else [p.strip() for p in text.split(";") if p.strip()]  # noqa: PTH110
    found: dict[Path, str] = {}
    for part in parts:
        entry, path = catalog().get(part.rstrip("/")), locate_predictions(part, home)
        if path.is_dir():
            inside = sorted(p for p in path.iterdir() if not p.name.startswith("."))
            found |= {p: "a folder: name it to compare what it holds" if p.is_dir() else "" for p in inside}
        elif path.exists():
            found[path] = ""
        elif entry is not None and entry.family == "predictions":
            paths = [local_file(entry.name, system, home) for system in entry.files]
            found |= {p: "" if p.is_file() else "not downloaded" for p in paths}
            if "" not in found.values():
                mend = f"fetch it (dialogeval fetch {entry.name}), or set the folder of your data"
                raise DataFileError("no file is here", file=paths[0].parent, mend=mend)
        else:
            raise DataFileError("no such file or folder", file=path, mend="check the path")
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
    kept: dict[str, Predictions] = {}
    seen: dict[tuple, str] = {}
    rows = []
    for path, reason in find_systems(predictions, home).items():
        row: dict[str, Any] = {"system": printable(system_name(path.name)), "file": printable(path.name)}
        row |= {"holds": "", "dialogues": 0, "turns": 0, "left_out": reason}
        rows.append(row)
        if reason:
            continue
        try:
            own = load_predictions(path)
            row |= {"holds": ", ".join(_parts(own)), "turns": len(own.turns)}
            row["dialogues"] = own.turns["dialogue_id"].nunique()
            row["left_out"] = _unfit(gold, own, find_protocol(protocol), missing)
        except (DialogevalError, OSError) as error:
            row["left_out"] = printable(error)
        if row["left_out"]:
            continue
        twin = seen.setdefault(_fingerprint(own), row["file"])
        if twin != row["file"]:
            row["left_out"] = f"holds the same predictions as {twin}"
            continue
        longer = (row["system"], f"{path.parent.name}/{path.name}", str(path))
        row["system"] = next(name for name in map(printable, longer) if name not in kept)
        kept[row["system"]] = replace(own, name=row["system"])
    return kept, pd.DataFrame(rows)


def _parts(system: Predictions) -> list[str]:
    return [part for part in ("states", "responses", "active_domains") if getattr(system, part) is not None]


def _unfit(gold: Corpus, system: Predictions, protocol: Protocol, missing: str) -> str:
    """Say why a system cannot be compared, or nothing."""
    needs = sorted({"states" if task == "state" else "responses" for task in protocol.tasks})
    if not set(needs) & set(_parts(system)):
        return f"no {' and no '.join(needs)}, which the protocol scores"
    cover = match_turns(gold, system, "skip")
    if missing in ("", "skip") and cover.dialogues_scored < COVERED * cover.dialogues_in_corpus:
        return f"covers {cover.dialogues_scored:,} of {cover.dialogues_in_corpus:,} dialogues"
    return ""


def _fingerprint(system: Predictions) -> tuple:
    """Return what equal predictions share, whatever the order of their rows and their empty values."""
    frames = {part: getattr(system, part) for part in ("turns", *_parts(system))}
    if system.states is not None:
        frames["states"] = system.states[system.states["value"] != ""]
    return tuple((part, int(pd.util.hash_pandas_object(f, index=False).sum())) for part, f in frames.items())


def compare_groups(
    gold: Corpus,
    systems: Mapping[str, Predictions],
    protocol: str | Protocol,
    missing: str = "",
    resamples: int = RESAMPLES,
    seed: int = SEED,
) -> tuple[dict[str, Comparison], list[str]]:
    """Compare systems in groups of scores and systems in which every number has one definition."""
    groups: dict[str, tuple[dict[str, None], dict[str, Predictions]]] = {
        what: ({}, {}) for what in ("responses", "goals, predicted states", "goals, gold states", "states")
    }
    for name, system in systems.items():
        states = "gold" if system.states is None else "predicted"
        for metric in scorable(find_protocol(protocol).resolve_metrics(), gold, system)[0]:
            tasks = {part.task for part in metric.sources}
            what = f"goals, {states} states" if "task" in tasks else "responses"
            keys, named = groups["states" if "state" in tasks else what]
            keys[metric.key], named[name] = None, system
    options: dict[str, Any] = {"missing": missing or None, "resamples": resamples, "seed": seed}
    compared, notes = {}, []
    for what, (keys, named) in groups.items():
        if len(named) == 1:
            notes.append(
                f"{what}: {next(iter(named))} is the only system, there is nothing to compare it with"
            )
        if len(named) < 2:
            continue
        shuffles = resamples * SHUFFLES // RESAMPLES
        try:
            compared[what] = compare(gold, named, protocol, metrics=list(keys), shuffles=shuffles, **options)
        except DialogevalError as error:
            notes.append(f"{what}: {printable(error)}")
    if not compared:
        raise UsageError("nothing to compare", got="; ".join(notes) or "no system that can be scored")
    return compared, notes


def main_metrics(comparison: Comparison) -> list[str]:
    """Return the scores to look at first: BLEU, Inform, Success, joint goal accuracy, or the first of all."""
    keys = [str(key) for key in comparison.table.columns]
    return [key for key in _MAIN if key in keys] or keys[:1]


def published() -> pd.DataFrame:
    """Return the published rows of the MultiWOZ leaderboard for the systems whose files are shared."""
    with (files(__package__) / "data" / "leaderboard.csv").open(encoding="utf-8") as file:
        return pd.read_csv(file).set_index("system")


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

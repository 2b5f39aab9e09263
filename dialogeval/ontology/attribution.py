"""Attribution: what a tracker loses to names, values and language of labels, and what to its own errors.

In: gold, predictions in another ontology, an alignment. Out: an `Attribution`, each loss put down to one
cause. `carry_trackers` makes one of every pair of a training corpus and a test corpus.
"""

from __future__ import annotations

import hashlib
import html
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np
import pandas as pd

from dialogeval.baselines import train_value_matcher, value_matching_tracker
from dialogeval.corpora.catalog import catalog, split_files
from dialogeval.corpora.load import load_corpus
from dialogeval.exceptions import DataFileError, UnknownNameError, UsageError
from dialogeval.locate import require_corpus, require_predictions
from dialogeval.metrics.states import StatePair, Triples
from dialogeval.normalize import normalize_states
from dialogeval.ontology.alignment import Alignment, load_alignment, ontology_name
from dialogeval.ontology.mapping import STAGES, loaded, map_predictions, map_states
from dialogeval.protocols import Protocol, find_protocol
from dialogeval.scoring import RESAMPLES, SEED, Scores, score
from dialogeval.stats import bootstrap, dialogue_sums, percentile_interval
from dialogeval.tables import Corpus, Predictions

#: Causes in the order in which they are repaired, with what each one is.
CAUSES = {
    "misaligned name": "the slot has another name, or gold's ontology has no such slot: renaming or dropping repairs it",
    "misaligned value": "the value is written by other rules of the same language: converting repairs it",
    "language": "the value is written in another language: translating repairs it",
    "untranslated": "both fill the slot, but the alignment has no translation of the predicted value",
    "missing": "gold fills the slot, the aligned prediction does not",
    "spurious": "the aligned prediction fills the slot, gold does not",
    "wrong": "both fill the slot, and still differ after alignment",
}
_PLACE = ["dialogue_id", "turn", "domain", "slot"]
_TRIPLE = [*_PLACE, "value"]


@dataclass(frozen=True)
class Attribution:
    """What a tracker loses to which cause; see `attribute_losses`."""

    alignment: Alignment
    raw: Scores
    aligned: Scores
    stages: pd.DataFrame
    losses: pd.DataFrame
    unmapped: pd.DataFrame
    counts: pd.DataFrame
    resamples: int
    seed: int

    @cached_property
    def table(self) -> pd.DataFrame:
        """Return one row a cause, in the order of `CAUSES`, and a last row with the whole."""
        there, n = self.counts.to_numpy() > 0, len(self.counts)
        # A turn's last cause: the one that still stands when those before it are repaired.
        last = np.where(there.any(axis=1), len(CAUSES) - 1 - there[:, ::-1].argmax(axis=1), -1)
        turns = np.bincount(last[last >= 0], minlength=len(CAUSES))
        up_to_here = ((last < 0).sum() + np.cumsum(turns)) / n
        # Repaired alone, a cause mends the turns that have no other.
        alone = self.counts.rsub(self.counts.sum(axis=1), axis=0).eq(0).astype(float)
        frame = pd.DataFrame({"triples": self.counts.sum(), "turns": turns, "points": turns / n})
        frame = frame.assign(**{"up to here": up_to_here, "alone": alone.mean()}).rename_axis("cause")
        frame[["low", "high"]] = np.nan
        if self.resamples:
            values = {cause: (lambda s, cause=cause: s[cause] / s["n"]) for cause in CAUSES}
            sums = dialogue_sums(alone.assign(n=1.0))
            drawn = bootstrap({"": (sums, values)}, self.resamples, self.seed)
            frame[["low", "high"]] = [percentile_interval(drawn[cause]) for cause in CAUSES]
        frame.loc["whole"] = [*frame[["triples", "turns", "points"]].sum(), 1, 1, np.nan, np.nan]
        return frame.astype({"triples": "int64", "turns": "int64"})

    @property
    def broken(self) -> float:
        """Points of joint goal accuracy that the alignment itself costs: turns it spoils that were right."""
        repaired = self.table["up to here"].to_dict()["language"]
        return float(repaired) - self.aligned["joint_goal_accuracy"]

    def by_slot(self) -> pd.DataFrame:
        """Return the losses by gold or predicted slot and cause; all losses together in the last row."""
        by = self.losses.groupby(["domain", "slot"])["cause"].value_counts().unstack(fill_value=0)
        by = by.reindex(columns=list(CAUSES), fill_value=0)
        by = by.assign(all=by.sum(axis=1)).sort_values("all", ascending=False, kind="stable")
        by.loc[("whole", ""), :] = by.sum()
        return by.astype("int64")

    def __repr__(self) -> str:
        raw, aligned = (s["joint_goal_accuracy"] for s in (self.raw, self.aligned))
        head = f"{self.raw.system}: joint goal accuracy {raw:.4f} as it is, {aligned:.4f} through {self.alignment.id}"
        return f"{head}\n{self.table.round(4).to_string()}"

    def _repr_html_(self) -> str:
        head, _, _ = repr(self).partition("\n")
        return f"<p>{html.escape(head)}</p>" + self.table.round(4).to_html(border=0)


def attribute_losses(
    gold: Corpus | str | os.PathLike[str],
    predictions: Predictions | Corpus | str | os.PathLike[str],
    alignment: Alignment | str | os.PathLike[str],
    protocol: str | Protocol = "lin2021",
    *,
    missing: str | None = None,
    resamples: int = RESAMPLES,
    seed: int = SEED,
) -> Attribution:
    """Score predictions raw and through an alignment, and put each loss down to one cause.

    Parameters
    ----------
    gold : Corpus, str or path-like
        A corpus, its name or path.
    predictions : Predictions, Corpus, str or path-like
        States in the names and values of the alignment's source, or their file.
    alignment : Alignment, str or path-like
        Leads into the gold's ontology; a name or path as `load_alignment` takes it.
    protocol : str or Protocol
        One whose joint goal accuracy is an exact match of all slots.
    missing : {"error", "empty", "skip"}, optional
    resamples, seed : int

    Returns
    -------
    Attribution
        ``table`` (a row a cause: triples, turns, points of joint goal accuracy, the score repaired up to
        here and alone, with its interval), ``by_slot()``, ``losses`` (a row a triple), ``unmapped``,
        ``stages`` (every score as it is, renamed, with values converted, and aligned), ``broken``.

    Raises
    ------
    UsageError
        A protocol without exact joint goal accuracy.

    Notes
    -----
    A gold triple that the raw prediction lacks is put down to the first stage of the alignment (names,
    then values, then translation) that brings it; else to *wrong* where the aligned prediction fills the
    slot, to *missing* where not. A predicted triple that is not gold is followed through the alignment:
    where it becomes gold, or is dropped, its cause is the stage that did it; else *wrong* or *spurious*.
    A turn is put down to the last of its causes in the order of `CAUSES`, the one that still stands when
    those before are repaired.

    Examples
    --------
    >>> import dialogeval as de
    >>> english = de.load_corpus("sample/multiwoz")
    >>> found = attribute_losses("sample/multiwoz_zh", english, "multiwoz__multiwoz_zh", resamples=0)
    >>> found.raw["joint_goal_accuracy"] < 0.05 < found.aligned["joint_goal_accuracy"]
    True
    """
    protocol, alignment = exact_protocol(protocol), load_alignment(alignment)
    predictions = loaded(predictions)
    raw = score(gold, predictions, protocol, missing=missing, resamples=resamples, seed=seed)
    gold = raw.gold if raw.gold is not None else gold
    aligned = score(
        gold, predictions, protocol, alignment=alignment, missing=missing, resamples=resamples, seed=seed
    )
    stages = {"raw": raw.table["value"]}
    for stage in STAGES[:2]:
        mapped = map_predictions(predictions, alignment, stage)
        stages[stage] = score(gold, mapped, protocol, missing=missing, resamples=0).table["value"]
    stages["aligned"] = aligned.table["value"]
    pair, states = raw.pairs["state"], predictions.states
    assert states is not None
    sides = {"gold": _triples(pair, pair.gold), "predicted": _triples(pair, pair.pred)}
    images = {stage: _images(states, alignment, stage, protocol) for stage in STAGES}
    lost = sides["gold"][~_among(sides["gold"], sides["predicted"], _TRIPLE)]
    extra = sides["predicted"][~_among(sides["predicted"], sides["gold"], _TRIPLE)]
    lost = lost.assign(side="gold", cause=_causes_of_lost(lost, images))
    extra = extra.assign(side="predicted", cause=_causes_of_extra(extra, sides["gold"], images))
    losses = pd.concat([lost, extra]).sort_values([*_PLACE, "side", "value"], ignore_index=True)
    counts = losses.groupby(["dialogue_id", "turn"])["cause"].value_counts().unstack(fill_value=0)
    counts = counts.reindex(index=pair.index, columns=list(CAUSES), fill_value=0).fillna(0).astype("int64")
    places = map_states(states, alignment)[1].groupby(["domain", "slot", "reason"])
    order = ["triples", "domain", "slot"]
    unmapped = places.size().rename("triples").reset_index()
    unmapped = unmapped.sort_values(order, ascending=[False, True, True], ignore_index=True)
    return Attribution(
        alignment, raw, aligned, pd.DataFrame(stages), losses, unmapped, counts, resamples, seed
    )


def exact_protocol(protocol: str | Protocol) -> Protocol:
    """Return a protocol whose joint goal accuracy is an exact match of all slots, or refuse it."""
    found = find_protocol(protocol)
    if found.compare != "all" or "joint_goal_accuracy" not in {m.key for m in found.resolve_metrics()}:
        mend = "choose one that compares all slots exactly, such as lin2021 or trade"
        raise UsageError(f"protocol {found.name} cannot be put down to causes", mend=mend)
    return found


def _triples(pair: StatePair, side: Triples) -> pd.DataFrame:
    """Return one side of a pair as rows of (dialogue_id, turn, domain, slot, value)."""
    slots = pair.slots.iloc[side.slot].reset_index(drop=True)[["domain", "slot"]].astype("str")
    values = pd.Series(pair.values[side.value], dtype="str", name="value")
    return pd.concat([pair.index[side.turn].to_frame(index=False), slots, values], axis=1)


def _images(states: pd.DataFrame, alignment: Alignment, stage: str, protocol: Protocol) -> pd.DataFrame:
    """Return what each triple becomes at a stage, normalised, and what it was (``from_domain``, …)."""
    mapped, unmapped = map_states(states, alignment, stage)
    unknown = mapped["row"].isin(unmapped.loc[unmapped["reason"] == "value", "row"])
    translates = alignment.source_language != alignment.target_language
    mapped = normalize_states(mapped.assign(untranslated=unknown & translates), protocol.steps)
    before = states[_TRIPLE].assign(row=range(len(states)))
    before = normalize_states(before, protocol.steps)[["row", "domain", "slot", "value"]]
    return mapped.merge(before.set_index("row").add_prefix("from_"), left_on="row", right_index=True)


def _causes_of_lost(lost: pd.DataFrame, images: Mapping[str, pd.DataFrame]) -> np.ndarray:
    """Put each gold triple down to the first stage that brings it, or to what stands in its place."""
    last = images["all"]
    brought = [_among(lost, images[stage], _TRIPLE) for stage in STAGES]
    foreign, filled = _among(lost, last[last["untranslated"]], _PLACE), _among(lost, last, _PLACE)
    return np.select([*brought, foreign, filled], [*list(CAUSES)[:4], "wrong"], "missing")


def _causes_of_extra(
    extra: pd.DataFrame, gold: pd.DataFrame, images: Mapping[str, pd.DataFrame]
) -> np.ndarray:
    """Follow each predicted triple: the first stage at which all its images are gold repairs it."""
    origin = ["dialogue_id", "turn", "from_domain", "from_slot", "from_value"]
    keys, repaired = pd.MultiIndex.from_frame(extra[_TRIPLE]), []
    for stage in STAGES:
        image = images[stage]
        right, filled = _among(image, gold, _TRIPLE), _among(image, gold, _PLACE)
        told = image[origin].assign(off=~right, filled=filled & ~right)
        told["foreign"] = told["filled"] & image["untranslated"]
        told = told.groupby(origin).any().reindex(keys)
        repaired.append(told["off"].eq(False).to_numpy())
    repaired = [stage & repaired[-1] for stage in repaired]
    dropped, foreign, wrong = told["off"].isna(), told["foreign"].eq(True), told["filled"].eq(True)
    names = list(CAUSES)
    causes = [names[0], *names[:4], "wrong"]
    return np.select([dropped, *repaired, foreign, wrong], causes, "spurious")


def _among(rows: pd.DataFrame, others: pd.DataFrame, columns: list[str]) -> np.ndarray:
    """Tell for each row whether the others have it, in these columns."""
    return pd.MultiIndex.from_frame(rows[columns]).isin(pd.MultiIndex.from_frame(others[columns]))


# Trackers carried to other corpora ----------------------------------------------------------------

_NAMES = ("multiwoz", "multiwoz_zh", "crosswoz", "crosswoz_en")
#: What ``corpus`` may say instead of the name of one corpus.
GROUPS = {"sample": tuple(f"sample/{name}" for name in _NAMES), "real": ("multiwoz21", *_NAMES[1:])}


def carry_trackers(
    training: Mapping[str, Corpus],
    gold: Mapping[str, Corpus],
    protocol: str = "lin2021",
    *,
    resamples: int = RESAMPLES,
    seed: int = SEED,
) -> dict[tuple[str, str], Attribution]:
    """Train a value-matching tracker on each corpus and score it on each; the target's own tracker first."""
    exact_protocol(protocol)
    matchers = {source: train_value_matcher(corpus) for source, corpus in training.items()}
    found = {}
    for target, corpus in gold.items():
        for source in sorted(training, key=lambda name: name != target):
            # No tracker is scored on a dialogue that it was trained on, nor on its translation.
            ids = corpus.dialogues["dialogue_id"]
            seen = ids.isin(training[source].dialogues["dialogue_id"])
            fresh = corpus.select(ids[~seen].tolist()) if seen.any() else corpus
            predicted = value_matching_tracker(matchers[source], fresh)
            name = f"value matching, trained on {source} ({training[source].split})"
            found[source, target] = attribute_losses(
                corpus, replace(predicted, name=name), f"{source}__{target}", protocol,
                missing="skip" if seen.any() else None, resamples=resamples, seed=seed,
            )  # fmt: skip
    return found


def load_data(
    corpus: str, split: str = "test", home: str | os.PathLike[str] | None = None, seed: int = SEED
) -> tuple[dict[str, Corpus], dict[str, Corpus]]:
    """Load what trackers are trained on (its ``split`` says what it is), and what they are scored on."""
    sources, targets = _chosen(corpus)
    gold = {name: load_corpus(name, split, home=home) for name in targets}
    training = {}
    for name in sources:
        if part := _training_split(name, split, home):
            training[name] = load_corpus(name, part, home=home)
        else:
            whole = gold[name] if name in gold else load_corpus(name, split, home=home)
            # By checksums: the same halves of parallel corpora.
            order = {
                i: hashlib.sha256(f"{seed}:{i}".encode()).hexdigest() for i in whole.dialogues["dialogue_id"]
            }
            half = whole.select(sorted(order, key=lambda i: order[i])[: len(order) // 2])
            training[name] = replace(half, split=f"half of {split}")
    return training, gold


def check_inputs(
    corpus: str, predictions: str = "", home: str | os.PathLike[str] | None = None, split: str = "test"
) -> None:
    """Refuse what the transfer report cannot run on."""
    if predictions:
        name, path = alignment_and_file(corpus, predictions)
        load_alignment(name)
        require_predictions(path, home)
        require_corpus(corpus)
        return
    sources, targets = _chosen(corpus)
    for name in sources:
        if name in targets or not _training_split(name, split, home):
            split_files(name, split, home)


def _chosen(corpus: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the corpora to train on and those to score on."""
    known = {**GROUPS, **{name: (name,) for group in GROUPS.values() for name in group}}
    if corpus not in known:
        raise UnknownNameError("corpus for trackers", corpus, known)
    return next(group for group in GROUPS.values() if known[corpus][0] in group), known[corpus]


def _training_split(name: str, split: str, home: str | os.PathLike[str] | None) -> str:
    """Return the split to train on, or nothing where half of the scored one has to do."""
    for part in ("train", "val"):
        if part in catalog()[name].splits and part != split:
            with suppress(DataFileError):
                split_files(name, part, home)
                return part
    return ""


def alignment_and_file(corpus: str, predictions: str) -> tuple[str, str]:
    """Return the alignment and the prediction file that ``SOURCE=FILE`` names, for one gold corpus."""
    if corpus in GROUPS or not corpus:
        got = corpus or "nothing"
        raise UsageError("corpus", expected="one gold corpus, since predictions are given", got=got)
    source, sign, path = predictions.partition("=")
    folders = Path(predictions).parts
    if not sign and folders[:2] == ("sample", "predictions"):
        source, path = f"sample/{folders[2]}", predictions
    elif not sign and folders[0] == "predictions":
        source, path = folders[1], predictions
    elif not sign:
        mend = "write SOURCE=FILE, such as multiwoz21=mine.jsonl, or SOURCE__TARGET.csv=FILE"
        raise UsageError("nothing says whose slots these are", file=predictions, mend=mend)
    whole = source.endswith(".csv") or "__" in source
    return (source if whole else f"{ontology_name(source)}__{ontology_name(corpus)}"), path

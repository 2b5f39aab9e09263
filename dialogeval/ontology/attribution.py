"""Tables of transfer: who reaches what where, which part of the gap is labels, what was not mapped.

In: what `dialogeval.ontology.attribution` returns, a `Transfer` by (trained on, scored on). Out: tables, and a
sentence for a paper.
"""

from __future__ import annotations

import hashlib
import html
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd

from dialogeval.baselines import train_value_matcher, value_matching_tracker
from dialogeval.corpora.catalog import local_file, split_parts
from dialogeval.corpora.entries import catalog
from dialogeval.corpora.load import load_corpus
from dialogeval.exceptions import DataFileError, UnknownNameError, UsageError
from dialogeval.locate import require_corpus, require_predictions
from dialogeval.metrics.states import StatePair, Triples
from dialogeval.normalize import normalize_states
from dialogeval.ontology import Ontology, ontology_of
from dialogeval.ontology.alignment import Alignment, load_alignment, ontology_name
from dialogeval.ontology.mapping import map_predictions, map_states
from dialogeval.predictions.load import load_predictions
from dialogeval.protocols import Protocol, find_protocol
from dialogeval.scoring import RESAMPLES, SEED, Scores, score
from dialogeval.stats import bootstrap, dialogue_sums, percentile_interval
from dialogeval.tables import Corpus, Predictions, as_predictions, table

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
_STAGES = ("names", "values", "all")
_PLACE = ["dialogue_id", "turn", "domain", "slot"]
_TRIPLE = [*_PLACE, "value"]


@dataclass(frozen=True)
class Attribution:
    """What a tracker loses to which cause."""

    alignment: Alignment
    raw: Scores
    aligned: Scores
    losses: pd.DataFrame
    unmapped: pd.DataFrame
    counts: pd.DataFrame
    resamples: int
    seed: int

    @property
    def table(self) -> pd.DataFrame:
        """Return one row a cause, in the order of `CAUSES`, and a last row with the whole."""
        n = len(self.counts)
        where = self.counts.to_numpy() > 0
        last = np.where(where.any(axis=1), where.shape[1] - 1 - where[:, ::-1].argmax(axis=1), -1)
        turns = np.bincount(last[last >= 0], minlength=len(CAUSES))
        right = float((last < 0).mean()) if n else float("nan")
        alone = self._repaired_alone()
        frame = pd.DataFrame(
            {
                "triples": self.counts.sum().to_numpy(),
                "turns": turns,
                "points": turns / max(n, 1),
                "up to here": right + np.cumsum(turns) / max(n, 1),
                "alone": alone.mean().to_numpy(),
            },
            index=pd.Index(list(CAUSES), name="cause"),
        )
        frame[["low", "high"]] = self._intervals(alone)
        whole = {"triples": len(self.losses), "turns": int(turns.sum()), "points": turns.sum() / max(n, 1)}
        frame.loc["whole"] = pd.Series({**whole, "up to here": 1.0, "alone": 1.0})
        return frame.astype({"triples": "int64", "turns": "int64"})

    def _repaired_alone(self) -> pd.DataFrame:
        """For each turn and cause, whether the turn is right if that cause alone is repaired."""
        others = self.counts.sum(axis=1).to_numpy()[:, None] - self.counts.to_numpy()
        return pd.DataFrame((others == 0).astype(float), index=self.counts.index, columns=self.counts.columns)

    def _intervals(self, alone: pd.DataFrame) -> np.ndarray:
        if not self.resamples:
            return np.full((len(CAUSES), 2), np.nan)
        sums = dialogue_sums(alone.assign(n=1.0))
        values = {cause: (lambda s, cause=cause: s[cause] / s["n"]) for cause in CAUSES}
        drawn = bootstrap({"": (sums, values)}, self.resamples, self.seed)
        return np.array([percentile_interval(drawn[cause]) for cause in CAUSES])

    @property
    def broken(self) -> float:
        """Points of joint goal accuracy that the alignment itself costs: turns it spoils that were right."""
        table = self.table
        repaired = table["up to here"].to_dict()["language"]
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
    gold: Corpus,
    predictions: Predictions,
    alignment: Alignment | str,
    protocol: str | Protocol = "lin2021",
    *,
    missing: str | None = None,
    resamples: int = RESAMPLES,
    seed: int = SEED,
) -> Attribution:
    """Score predictions raw and through an alignment, and put each loss down to one cause.

    Parameters
    ----------
    gold : Corpus
    predictions : Predictions
        States in the names and values of the alignment's source.
    alignment : Alignment or str
        Leads into the gold's ontology; a name or path as `load_alignment` takes it.
    protocol : str or Protocol
        One whose joint goal accuracy is an exact match of all slots.
    missing : {"error", "empty", "skip"}, optional
    resamples, seed : int

    Returns
    -------
    Attribution

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
    >>> gold = de.load_corpus("sample/multiwoz_zh")
    >>> english = de.as_predictions(de.load_corpus("sample/multiwoz"))
    >>> found = attribute_losses(gold, english, "multiwoz__multiwoz_zh", resamples=0)
    >>> found.raw["joint_goal_accuracy"] < 0.05 < found.aligned["joint_goal_accuracy"]
    True
    """
    from dialogeval.ontology.alignment import load_alignment

    protocol = find_protocol(protocol)
    if not is_exact(protocol):
        mend = "choose one that compares all slots exactly, such as lin2021 or trade"
        raise UsageError(f"protocol {protocol.name} cannot be put down to causes", mend=mend)
    if isinstance(alignment, str):
        alignment = load_alignment(alignment)
    raw, aligned = (
        score(gold, predictions, protocol, alignment=way, missing=missing, resamples=resamples, seed=seed)
        for way in (None, alignment)
    )
    assert predictions.states is not None
    pair = raw.pairs["state"]
    sides = {"gold": triples_table(pair, pair.gold), "predicted": triples_table(pair, pair.pred)}
    mapped = {stage: map_states(predictions.states, alignment, stage) for stage in _STAGES}
    images = {s: _images(predictions.states, *mapped[s], alignment, protocol) for s in _STAGES}
    lost = _without(sides["gold"], sides["predicted"])
    extra = _without(sides["predicted"], sides["gold"])
    lost = lost.assign(side="gold", cause=_causes_of_lost(lost, images))
    extra = extra.assign(side="predicted", cause=_causes_of_extra(extra, sides["gold"], images))
    losses = pd.concat([lost, extra], ignore_index=True).sort_values(
        [*_PLACE, "side", "value"], ignore_index=True
    )
    counted = losses.groupby(["dialogue_id", "turn"])["cause"].value_counts().unstack(fill_value=0)
    counts = counted.reindex(index=pair.index, columns=list(CAUSES), fill_value=0).fillna(0).astype("int64")
    _, unmapped = mapped["all"]
    by = unmapped.groupby(["domain", "slot", "reason"]).size().rename("triples").reset_index()
    by = by.sort_values(["triples", "domain", "slot"], ascending=[False, True, True], ignore_index=True)
    return Attribution(alignment, raw, aligned, losses, by, counts, resamples, seed)


def is_exact(protocol: Protocol) -> bool:
    """Tell whether a protocol has a joint goal accuracy that is an exact match of all slots."""
    return protocol.compare == "all" and "joint_goal_accuracy" in {m.key for m in protocol.resolve_metrics()}


def triples_table(pair: StatePair, side: Triples) -> pd.DataFrame:
    """Return one side of a pair as rows of (dialogue_id, turn, domain, slot, value)."""
    frame = pair.index[side.turn].to_frame(index=False)
    slots = pair.slots.iloc[side.slot].reset_index(drop=True)
    frame[["domain", "slot"]] = slots[["domain", "slot"]].astype("str")
    return frame.assign(value=pd.Series(pair.values[side.value], dtype="str"))


def _without(rows: pd.DataFrame, others: pd.DataFrame) -> pd.DataFrame:
    merged = rows.merge(others, on=_TRIPLE, how="left", indicator="found")
    return merged[merged["found"] == "left_only"].drop(columns="found").reset_index(drop=True)


def _images(
    states: pd.DataFrame,
    mapped: pd.DataFrame,
    unmapped: pd.DataFrame,
    alignment: Alignment,
    protocol: Protocol,
) -> pd.DataFrame:
    """Normalise states and what they map to."""
    numbered = states[_TRIPLE].reset_index(drop=True)
    before = normalize_states(numbered.assign(row=range(len(numbered))), protocol.steps)
    unknown = unmapped.loc[unmapped["reason"] == "value", "row"]
    translates = alignment.source_language != alignment.target_language
    mapped = normalize_states(
        mapped.assign(untranslated=mapped["row"].isin(unknown) & translates), protocol.steps
    )
    before = before[["row", "domain", "slot", "value"]].rename(
        columns=lambda c: c if c == "row" else f"from_{c}"
    )
    return mapped.merge(before, on="row")


def _causes_of_lost(lost: pd.DataFrame, images: dict[str, pd.DataFrame]) -> pd.Series:
    last = images["all"]
    filled = _among(lost, last, _PLACE)
    foreign = _among(lost, last[last["untranslated"]], _PLACE)
    found = [_among(lost, images[stage], _TRIPLE) for stage in _STAGES]
    names = [*list(CAUSES)[:3], "untranslated", "wrong"]
    return pd.Series(np.select([*found, foreign, filled], names, "missing"), dtype="str")


def _causes_of_extra(extra: pd.DataFrame, gold: pd.DataFrame, images: dict[str, pd.DataFrame]) -> pd.Series:
    """Follow each predicted triple through the alignment; the hardest of its images decides."""
    steps = []
    for stage in _STAGES:
        image = images[stage]
        right, filled = _among(image, gold, _TRIPLE), _among(image, gold, _PLACE)
        steps.append(image.assign(right=right, filled=filled, foreign=image["untranslated"] & filled))
    own = ["dialogue_id", "turn", "from_domain", "from_slot", "from_value"]
    here = extra.rename(columns={c: f"from_{c}" for c in ("domain", "slot", "value")})[own]
    here["number"] = range(len(here))
    last = here.merge(steps[-1], on=own)
    off = last[~last["right"]].groupby("number")[["foreign", "filled"]].any()
    foreign, wrong = off.reindex(here["number"], fill_value=False).to_numpy(dtype=bool).T
    dropped = ~here["number"].isin(last["number"]).to_numpy()
    repaired = ~dropped & ~here["number"].isin(off.index).to_numpy()
    # The first stage at which every image of a triple is gold is the one that repairs it.
    bad = [set(here.merge(step[~step["right"]], on=own)["number"]) for step in steps]
    stages = [repaired & ~here["number"].isin(numbers).to_numpy() for numbers in bad]
    first, *names = list(CAUSES)[:3]
    choices = [first, first, *names, "untranslated", "wrong"]
    return pd.Series(np.select([dropped, *stages, foreign, wrong], choices, "spurious"), dtype="str")


def _among(rows: pd.DataFrame, others: pd.DataFrame, columns: list[str]) -> np.ndarray:
    """Tell for each row whether the others have it, in these columns."""
    keys = others[columns].drop_duplicates()
    return (
        rows[columns].merge(keys, on=columns, how="left", indicator="found")["found"] == "both"
    ).to_numpy()


def cause_table(found: Found, column: str = "points") -> pd.DataFrame:
    """Return what each pair loses to each cause, pairs of one target together."""
    return _by_pair({p: found[p].attribution.table[column].drop("whole") for p in _by_target(found)})


def gap_table(found: Found) -> pd.DataFrame:
    """Return the gap in joint goal accuracy of each pair, and the part of each cause in it."""
    rows = {}
    for pair, transfer, home in _off_diagonal(found):
        points = transfer.attribution.table["points"].drop("whole")
        own = home.attribution.table["points"].drop("whole") if home else 0 * points
        raw, _, _, aligned = _stages(transfer, METRICS[0])
        reference = _stages(home, METRICS[0])[0] if home else 1.0
        parts = {"reference": reference, "raw": raw, "aligned": aligned, "gap": reference - raw}
        rows[pair] = pd.concat([pd.Series(parts), points - own])
    return _by_pair(rows)


def stage_table(found: Found, metric: str = "slot_f1") -> pd.DataFrame:
    """Return the gap in a score of each pair, and what each stage of the alignment wins back."""
    rows = {}
    for pair, transfer, home in _off_diagonal(found):
        raw, names, values, aligned = _stages(transfer, metric)
        reference = _stages(home, metric)[0] if home else 1.0
        parts = {"names": names - raw, "values": values - names, "language": aligned - values}
        head = {"reference": reference, "raw": raw, "aligned": aligned, "gap": reference - raw}
        rows[pair] = pd.Series(head | parts | {"after alignment": reference - aligned})
    return _by_pair(rows)


# Helpers ------------------------------------------------------------------------------------------


def _stages(transfer: Transfer, metric: str) -> list[float]:
    """The values of raw, names, values, aligned."""
    return [float(v) for v in transfer.stages.loc[metric].to_numpy(dtype=float)]


def _by_target(found: Found) -> list[tuple[str, str]]:
    """All pairs, those of one target together, the target's own tracker first."""
    targets = list(dict.fromkeys(target for _, target in found))
    return sorted(found, key=lambda pair: (targets.index(pair[1]), pair[0] != pair[1]))


def _off_diagonal(found: Found) -> list[tuple[tuple[str, str], Transfer, Transfer | None]]:
    """Pairs of two corpora with the transfer of the target to itself; a lone pair counts whatever it is."""
    pairs = [pair for pair in _by_target(found) if pair[0] != pair[1]] or list(found)
    return [(p, found[p], found.get((p[1], p[1])) if p[0] != p[1] else None) for p in pairs]


def _by_pair(rows: dict[tuple[str, str], pd.Series]) -> pd.DataFrame:
    return pd.DataFrame(rows).T.rename_axis(index=["trained_on", "scored_on"], columns=None)


#: Scores of a protocol that stages are followed in, as far as it has them.
METRICS = ("joint_goal_accuracy", "slot_f1", "slot_f1_micro")
#: Corpora of the same dialogues: a corpus and its translation.
_PARALLEL = (frozenset(("multiwoz", "multiwoz_zh")), frozenset(("crosswoz", "crosswoz_en")))


@dataclass(frozen=True)
class Transfer:
    """One system on one corpus."""

    source: str
    target: str
    attribution: Attribution
    stages: pd.DataFrame


Found = Mapping[tuple[str, str], Transfer]


def carry_trackers(
    training: Mapping[str, Training],
    gold: Mapping[str, Corpus],
    protocol: str = "lin2021",
    *,
    resamples: int = RESAMPLES,
    seed: int = SEED,
) -> dict[tuple[str, str], Transfer]:
    """Train a value-matching tracker on each corpus and score it on each, raw and aligned."""
    _check_protocol(protocol)
    found = {}
    for source, data in training.items():
        matcher = train_value_matcher(data.corpus)
        known = data.corpus.dialogues["dialogue_id"]
        for target, corpus in gold.items():
            ids = corpus.dialogues["dialogue_id"]
            fresh = corpus.select(ids[~ids.isin(known)].tolist()) if ids.isin(known).any() else corpus
            name = f"value matching, trained on {source} ({data.how})"
            predicted = replace(value_matching_tracker(matcher, fresh), name=name)
            rule = "skip" if fresh is not corpus else None
            alignment = load_alignment(f"{source}__{target}")
            found[source, target] = _transfer(
                source, target, corpus, predicted, alignment, protocol, rule, resamples, seed
            )
    return found


def carry_predictions(
    corpus: str,
    predictions: str,
    split: str = "test",
    protocol: str = "lin2021",
    *,
    home: str | os.PathLike[str] | None = None,
    missing: str | None = None,
    resamples: int = RESAMPLES,
    seed: int = SEED,
) -> dict[tuple[str, str], Transfer]:
    """Score a file of predictions, written in the slots of another ontology, raw and aligned."""
    _check_protocol(protocol)
    name, path = alignment_and_file(corpus, predictions)
    alignment = load_alignment(name)
    predicted = load_predictions(path, home=home)
    gold = load_corpus(corpus, split, home=home)
    named = replace(predicted, name=f"{predicted.name} ({alignment.source})")
    ends = alignment.source, alignment.target
    rule = missing or None
    return {ends: _transfer(*ends, gold, named, alignment, protocol, rule, resamples, seed)}


def carry_annotations(
    gold: Mapping[str, Corpus], protocol: str = "lin2021", *, resamples: int = RESAMPLES, seed: int = SEED
) -> dict[tuple[str, str], Transfer]:
    """Score the annotation of a corpus on its translation: what a perfect tracker loses to labels."""
    found = {}
    for source, ours in gold.items():
        for target, theirs in gold.items():
            if frozenset(ontology_name(n) for n in (source, target)) in _PARALLEL:
                said = as_predictions(ours, f"annotation of {source}")
                alignment = load_alignment(f"{source}__{target}")
                found[source, target] = _transfer(
                    source, target, theirs, said, alignment, protocol, None, resamples, seed
                )
    return found


# Helpers ------------------------------------------------------------------------------------------


def _check_protocol(protocol: str) -> None:
    if not is_exact(find_protocol(protocol)):
        mend = "choose lin2021, trade or convlab"
        raise UsageError(f"protocol {protocol} has no exact joint goal accuracy over all slots", mend=mend)


def _transfer(
    source: str,
    target: str,
    gold: Corpus,
    predicted: Predictions,
    alignment: Alignment,
    protocol: str,
    missing: str | None,
    resamples: int,
    seed: int,
) -> Transfer:
    found = attribute_losses(
        gold, predicted, alignment, protocol, missing=missing, resamples=resamples, seed=seed
    )
    stages = {"raw": found.raw.table["value"]}
    for stage in ("names", "values"):
        mapped = map_predictions(predicted, alignment, stage)
        stages[stage] = score(gold, mapped, protocol, missing=missing, resamples=0).table["value"]
    stages["aligned"] = found.aligned.table["value"]
    return Transfer(source, target, found, pd.DataFrame(stages))


@cache
def _example() -> Found:
    """Two turns in English and in Chinese, for the examples of the tables."""
    turns = table("turns", [("d", n, "", "", 0) for n in (0, 1)])
    values = {"multiwoz": ("hotel", "area", "north"), "multiwoz_zh": ("旅馆", "区域", "北方")}
    states = {name: table("states", [("d", 1, *triple)]) for name, triple in values.items()}
    corpora = {name: Corpus(name, turns=turns, states=rows) for name, rows in states.items()}
    return carry_annotations(corpora, resamples=0)


_NAMES = ("multiwoz", "multiwoz_zh", "crosswoz", "crosswoz_en")
#: What ``corpus`` may say instead of the name of one corpus.
GROUPS = {
    "sample": tuple(f"sample/{name}" for name in _NAMES),
    "real": ("multiwoz21", *_NAMES[1:]),
}
_MEND = "write SOURCE=FILE, such as multiwoz21=mine.jsonl, or SOURCE__TARGET.csv=FILE"


@dataclass(frozen=True)
class Training:
    """What a tracker was trained on."""

    corpus: Corpus
    how: str


def check_inputs(
    corpus: str, predictions: str = "", home: str | os.PathLike[str] | None = None, split: str = "test"
) -> None:
    """Find out whether the report can run on these inputs."""
    if predictions:
        name, path = alignment_and_file(corpus, predictions)
        load_alignment(name)
        require_predictions(path, home)
        require_corpus(corpus)
        return
    sources, targets = _chosen(corpus)
    for needed in sources:
        if not _is_here(needed, split, home) and (
            needed in targets or not _training_split(needed, split, home)
        ):
            file = local_file(needed, split_parts(needed, split)[0], home)
            raise DataFileError(
                f"corpus {needed} is not here (split {split})",
                file=file,
                mend=f"run: dialogeval fetch {needed}",
            )


def load_data(
    corpus: str, split: str = "test", home: str | os.PathLike[str] | None = None, seed: int = SEED
) -> tuple[dict[str, Training], dict[str, Corpus]]:
    """Load what trackers are trained on, and what they are scored on."""
    sources, targets = _chosen(corpus)
    gold = {name: load_corpus(name, split, home=home) for name in targets}
    training = {}
    for name in sources:
        if how := _training_split(name, split, home):
            training[name] = Training(load_corpus(name, how, home=home), how)
        else:
            whole = gold[name] if name in gold else load_corpus(name, split, home=home)
            training[name] = Training(whole.select(_half(whole, seed)), f"half of {split}")
    return training, gold


# Helpers ------------------------------------------------------------------------------------------


def _chosen(corpus: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    for group in GROUPS.values():
        if corpus in group:
            return group, (corpus,)
    if corpus not in GROUPS:
        known = [*GROUPS, *(name for group in GROUPS.values() for name in group)]
        raise UnknownNameError("corpus for trackers", corpus, known)
    return GROUPS[corpus], GROUPS[corpus]


def alignment_and_file(corpus: str, predictions: str) -> tuple[str, str]:
    """Return the name of the alignment and that of the prediction file; see `check_inputs`."""
    source, sign, path = predictions.partition("=")
    if corpus in GROUPS or not corpus:
        got = corpus or "nothing"
        raise UsageError("corpus", expected="one gold corpus, since predictions are given", got=got)
    if not sign:
        path = predictions
        folder = Path(predictions).parts[:3]
        if folder[:2] == ("sample", "predictions"):
            source = f"sample/{folder[2]}"
        elif folder[:1] == ("predictions",):
            source = folder[1]
        else:
            raise UsageError("nothing says whose slots these are", file=predictions, mend=_MEND)
    whole = source.endswith(".csv") or "__" in source
    return (source if whole else f"{ontology_name(source)}__{ontology_name(corpus)}"), path


def _is_here(name: str, split: str, home: str | os.PathLike[str] | None) -> bool:
    return all(local_file(name, part, home).exists() for part in split_parts(name, split))


def _training_split(name: str, split: str, home: str | os.PathLike[str] | None) -> str:
    """Return the split to train on, or nothing where half of the scored one has to do."""
    known = (s for s in ("train", "val") if s in catalog()[name].splits and s != split)
    return next((s for s in known if _is_here(name, s, home)), "")


def _half(corpus: Corpus, seed: int) -> list[str]:
    def order(dialogue: str) -> str:
        return hashlib.sha256(f"{seed}:{dialogue}".encode()).hexdigest()

    ids = sorted(corpus.dialogues["dialogue_id"], key=order)
    return ids[: len(ids) // 2]


def data_table(found: Found, training: Mapping[str, Training]) -> pd.DataFrame:
    """Return what each tracker was trained on, and how many turns it was scored on."""
    rows = []
    for (source, target), transfer in found.items():
        cover = transfer.attribution.raw.coverage
        row: dict[str, object] = {"trained_on": source}
        if source in training:
            data = training[source]
            row |= {"how": data.how, "training dialogues": len(data.corpus.dialogues)}
        left_out = cover.turns_in_corpus - cover.turns_scored
        rows.append(row | {"scored_on": target, "scored turns": cover.turns_scored, "left out": left_out})
    return pd.DataFrame(rows)


def score_matrix(found: Found, metric: str = "joint_goal_accuracy", stage: str = "aligned") -> pd.DataFrame:
    """Return one score of all pairs: a row what was trained on, a column what was scored on."""
    values = {pair: transfer.stages.loc[metric, stage] for pair, transfer in found.items()}
    matrix = pd.Series(values, dtype="float64").unstack()
    order = list(dict.fromkeys(name for ends in zip(*found, strict=True) for name in ends))
    rows, columns = ([name for name in order if name in names] for names in (matrix.index, matrix.columns))
    return matrix.loc[rows, columns].rename_axis(index="trained_on", columns="scored_on")


def score_table(found: Found) -> pd.DataFrame:
    """Return raw and aligned scores of all pairs with their intervals."""
    parts = []
    for (source, target), transfer in found.items():
        sides = {"raw": transfer.attribution.raw, "aligned": transfer.attribution.aligned}
        columns = {
            side if c == "value" else f"{side}_{c}": scores.table[c]
            for side, scores in sides.items()
            for c in ("value", "low", "high")
        }
        parts.append(pd.DataFrame(columns).assign(trained_on=source, scored_on=target).reset_index())
    table = pd.concat(parts, ignore_index=True)
    return table[["trained_on", "scored_on", *table.columns.drop(["trained_on", "scored_on"])]]


def slot_table(found: Found) -> pd.DataFrame:
    """Return the losses of all pairs by slot and cause, the heaviest slots of a pair first."""
    tables = {pair: t.attribution.by_slot().drop(index=("whole", "")) for pair, t in found.items()}
    return pd.concat(tables, names=["trained_on", "scored_on"]).rename_axis(columns=None)


def unmapped_table(found: Found) -> pd.DataFrame:
    """Return what the alignments could not map, by slot and reason."""
    tables = {pair: transfer.attribution.unmapped for pair, transfer in found.items()}
    return (
        pd.concat(tables, names=["trained_on", "scored_on"]).reset_index(level=[0, 1]).reset_index(drop=True)
    )


def friend_table(found: Found, training: Mapping[str, Training]) -> pd.DataFrame:
    """Return the slots of source and target that look alike and are not."""
    from dialogeval.ontology.finder import false_friends

    known: dict[str, Ontology] = {}
    tables = {}
    for (source, target), transfer in found.items():
        raw = transfer.attribution.raw
        pair = raw.pairs["state"]
        if source not in known:
            said = Corpus(source, language=transfer.attribution.alignment.source_language)
            given = training[source].corpus if source in training else None
            known[source] = ontology_of(given or replace(said, states=triples_table(pair, pair.pred)))
        if target not in known and raw.gold is not None:
            known[target] = ontology_of(raw.gold)
        if source != target:
            tables[source, target] = false_friends(known[source], known[target])
    if not tables:
        return pd.DataFrame()
    return pd.concat(tables, names=["trained_on", "scored_on"]).droplevel(2)


def metrics_object(found: Found) -> dict[str, dict]:
    """Return the scores for ``metrics.json``: by ``trained on > scored on``, then raw and aligned."""
    return {
        f"{source} > {target}": {
            side: scores.to_dict()
            for side, scores in (("raw", t.attribution.raw), ("aligned", t.attribution.aligned))
        }
        for (source, target), t in found.items()
    }


def paper_text(transfer: Transfer) -> str:
    """Return sentences for a paper on one transfer."""
    found = transfer.attribution
    before, after = (scores.table.to_dict("index") for scores in (found.raw, found.aligned))
    numbers = [
        f"{before[m]['label']} {_value(before[m])} as it is and {_value(after[m])} aligned"
        for m in [m for m in METRICS if m in before][:2]
    ]
    cover = found.raw.coverage
    total = max(int(found.losses.shape[0]), 1)
    labels = found.table["triples"].iloc[:4].sum()
    return (
        f"On {found.raw.gold.id if found.raw.gold else transfer.target} ({cover.turns_scored:,} of "
        f"{cover.turns_in_corpus:,} turns), {found.raw.system} reaches {' and '.join(numbers)} through "
        f"{found.alignment.id}. Of the {total:,} differences from gold before alignment, {labels:,} "
        f"({labels / total:.1%}) are matters of names, values or language; "
        f"{found.unmapped['triples'].sum():,} predicted triples could not be mapped. "
        f"Signature: {found.aligned.signature}"
    )


# Helpers ------------------------------------------------------------------------------------------


def _value(row: dict) -> str:
    text = f"{row['value']:.4f}"
    return text if pd.isna(row["low"]) else f"{text} [{row['low']:.4f}, {row['high']:.4f}]"

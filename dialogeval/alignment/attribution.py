"""Where a tracker's score is lost when its labels are not the gold's: each loss put down to one cause.

In: gold, predictions in the names of another ontology, an alignment. Out: an `Attribution`: the score
as it is and after alignment, every lost triple and turn with its cause, and what the score would be if
one cause alone were repaired.
"""

from __future__ import annotations

import html
from dataclasses import dataclass

import numpy as np
import pandas as pd

from ..exceptions import UsageError
from ..metrics.states import StatePair, Triples
from ..normalize import normalize_states
from ..protocols import Protocol, find_protocol
from ..resampling import bootstrap, dialogue_sums, percentile_interval
from ..scoring import RESAMPLES, SEED, Scores, score
from ..tables import Corpus, Predictions
from .mapping import map_states
from .table import Alignment

__all__ = ["CAUSES", "Attribution", "attribute_losses"]

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
    """What a tracker loses to which cause.

    Parameters
    ----------
    alignment : Alignment
    raw, aligned : Scores
        As the predictions are, and after alignment.
    losses : pandas.DataFrame
        One row a triple that is not on both sides before alignment: dialogue_id, turn, domain, slot, value,
        side (``gold``: it was not predicted; ``predicted``: it is not gold), cause.
    unmapped : pandas.DataFrame
        Predicted triples that the alignment could not map, by domain, slot and reason: triples.
    counts : pandas.DataFrame
        Indexed by (dialogue_id, turn): the number of losses by cause.
    resamples, seed : int
    """

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
        """Return one row a cause, in the order of `CAUSES`, and a last row with the whole.

        Returns
        -------
        pandas.DataFrame
            Columns: ``triples``, losses of that cause; ``turns``, wrong turns put down to it (the last
            of their causes in this order); ``points``, the joint goal accuracy that these turns are
            worth (the column adds up to 1 minus the raw score); ``up to here``, joint goal accuracy
            when this cause and those above are repaired; ``alone``, when this one alone is, with
            ``low`` and ``high``, its 95 % interval over dialogues.
        """
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
    from .compose import load_alignment

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
    """Normalise states and what they map to; each image stands beside the normalised triple it came from (``from_…``)."""
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

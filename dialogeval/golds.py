"""Gold: which turns of a corpus are scored, and what counts as right in them.

In: a corpus and predictions. Out: the turns that both have, and the corpus with the states of a gold
version: as annotated, or as one of the published scorers reads them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from dialogeval.exceptions import CoverageError, UnknownNameError, UsageError, few
from dialogeval.normalize import normalize_states, own_steps
from dialogeval.protocols import MISSING
from dialogeval.tables import Corpus, Predictions, turn_rows

_TURN, _SLOT = ["dialogue_id", "turn"], ["domain", "slot"]
_PLACE = [*_TURN, *_SLOT]


# Coverage -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Coverage:
    """Which turns are scored."""

    turns: pd.DataFrame
    dialogues_scored: int
    dialogues_in_corpus: int
    turns_scored: int
    turns_in_corpus: int
    warnings: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, int]:
        """Return the four counts."""
        keys = ("dialogues_scored", "dialogues_in_corpus", "turns_scored", "turns_in_corpus")
        return {k: getattr(self, k) for k in keys}


def match_turns(gold: Corpus, predictions: Predictions, missing: str = "error") -> Coverage:
    """Find the turns to score and refuse what does not fit."""
    if missing not in MISSING:
        raise UnknownNameError("missing policy", missing, MISSING)
    file = predictions.path or predictions.name
    dialogue, ids = pd.factorize(gold.turns["dialogue_id"], sort=True)
    order = np.lexsort((gold.turns["turn"], dialogue))
    turns = gold.turns[[*_TURN, "layout"]].take(order).reset_index(drop=True)
    rows = turn_rows(turns, predictions.turns)
    if (rows < 0).any():
        raise _unknown_turns(gold, predictions.turns, predictions.turns[rows < 0], file)
    here = np.bincount(rows, minlength=len(turns)) > 0
    warnings = []
    if not here.all():
        lacking = turns.loc[~here, "dialogue_id"].drop_duplicates()
        short = lacking.isin(turns.loc[here, "dialogue_id"])
        said = f"{(~here).sum():,} of {len(turns):,} turns of {gold.id} have no prediction"
        parts = ((lacking[~short], "missing"), (lacking[short], "short of turns"))
        named = [
            f"{len(of):,} dialogue{'s' * (len(of) > 1)} {state}: {few(of.tolist(), 3)}"
            for of, state in parts
            if len(of)
        ]
        said += f" ({'; '.join(named)})"
        if missing == "error":
            mend = 'add them, or choose missing="skip" (leave them out) or "empty" (score them as empty)'
            raise CoverageError(said, file=file, mend=f"{mend}; on the command line --missing")
        warnings.append(f"{said}: {'left out' if missing == 'skip' else 'scored as predicted empty'}")
    turns = turns.assign(predicted=here)
    scored = turns[here].reset_index(drop=True) if missing == "skip" else turns
    n = scored["dialogue_id"].nunique(), len(ids), len(scored), len(turns)
    return Coverage(scored, *n, tuple(warnings))


def _unknown_turns(gold: Corpus, turns: pd.DataFrame, extra: pd.DataFrame, file: str) -> CoverageError:
    known = set(gold.turns["dialogue_id"])
    if unknown := sorted(set(extra["dialogue_id"]) - known):
        return CoverageError(
            f"{len(unknown):,} of {turns['dialogue_id'].nunique():,} dialogues are not in {gold.id}",
            file=file,
            expected=f"ids such as {min(known, default='(none)')}",
            got=few(unknown, 3),
            mend="remove them, or score against the corpus and split that the predictions were made on",
        )
    first = extra.sort_values(_TURN).iloc[0]
    n, own = (t.loc[t["dialogue_id"] == first["dialogue_id"], "turn"] for t in (gold.turns, turns))
    from_1 = own.min() == 1 and own.max() == len(n)
    return CoverageError(
        "too many turns",
        file=file,
        dialogue=first["dialogue_id"],
        turn=int(first["turn"]),
        expected=f"{len(n)} turns, 0 to {len(n) - 1}, as in {gold.id}",
        got=f"{len(own)}, up to turn {own.max()}",
        mend="turns count from 0: take 1 off every number" if from_1 else None,
    )


# Gold versions ------------------------------------------------------------------------------------

#: Domains that DSTC9's scorer leaves out of MultiWOZ-zh: police, hospital, bus.
_DSTC9_LEFT_OUT = ("警察机关", "医院", "公共汽车")
#: Domains of MultiWOZ; of the first five, TRADE and its successors count 30 slots.
ENGLISH_MULTIWOZ = frozenset(
    {"attraction", "hotel", "restaurant", "taxi", "train", "bus", "hospital", "police"}
)


def annotated(corpus: Corpus) -> Corpus:
    """The states as annotated; alternatives where a filled slot has several acceptable values."""
    offered = corpus.family == "crosswoz"
    return replace(corpus, alternatives=corpus.alternatives[:0]) if offered else corpus


def dstc9(corpus: Corpus) -> Corpus:
    """DSTC9's gold: any offered name is right where none is stated; some domains are left out."""
    if (not len(corpus.layouts) or "slots" in corpus.cautions) and corpus.family != "pairs":
        raise UsageError(
            f"{corpus.id} does not say which slots are annotated, which DSTC9's scorer needs",
            mend="score against the corpus itself, such as crosswoz_en or multiwoz_zh",
        )
    firsts = corpus.alternatives.drop_duplicates(_PLACE)
    return _without_domains(corpus, firsts, corpus.alternatives)


def dstc9_corrected(corpus: Corpus) -> Corpus:
    """The organisers' later gold: a name that is not stated is the one entity offered before."""
    if corpus.family != "crosswoz":
        raise UsageError(
            f"{corpus.id} has no corrected names",
            mend="protocol dstc9-corrected is for crosswoz and crosswoz_en",
        )
    return _without_domains(corpus, corpus.corrections, corpus.alternatives[:0])


def _without_domains(corpus: Corpus, names: pd.DataFrame, alternatives: pd.DataFrame) -> Corpus:
    states = pd.concat([corpus.states, names], ignore_index=True)
    kept = [t[~t["domain"].isin(_DSTC9_LEFT_OUT)] for t in (states, alternatives, corpus.layouts)]
    return replace(corpus, states=kept[0], alternatives=kept[1], layouts=kept[2])


def mwzeval(corpus: Corpus) -> Corpus:
    """One value a slot, and none that says that anything will do: so MultiWOZ_Evaluation reads its gold."""
    states = normalize_states(corpus.states, ("none:drop", "dontcare:drop"))
    return replace(corpus, states=states, alternatives=corpus.alternatives[:0])


def bars(corpus: Corpus) -> Corpus:
    """The states as annotated, where any part of ``a|b`` matches any; all slots that gold lists."""
    listed = corpus.turns["layout"].map(corpus.layouts.groupby("layout").size()).sum()
    # A corpus that lists no slot without a value says nothing about empty slots: its ontology does.
    # (What a file's own gold lists is all there is; a schema lists slots, but no state does.)
    fills_all = corpus.family != "pairs" and listed == len(corpus.states.drop_duplicates(_PLACE))
    if fills_all or corpus.family == "schema_guided":
        known = pd.concat([corpus.layouts[_SLOT], corpus.ontology[_SLOT], corpus.states[_SLOT]])
        corpus = replace(corpus, layouts=_everywhere(corpus, known))
    return annotated(corpus)


def frames(corpus: Corpus) -> Corpus:
    """The states of the services that a turn has; free text may be said in any of the ways listed."""
    if not len(corpus.schema):
        raise UsageError(
            f"{corpus.id} has no schema, which says what slots a service has and which are categorical",
            mend="protocol sgd is for the schema-guided format, with schema.json beside the dialogues",
        )
    free = corpus.schema.loc[corpus.schema["kind"] == "free", _SLOT]
    return replace(corpus, alternatives=corpus.alternatives.merge(free, on=_SLOT))


#: Gold versions by the name that signatures use: the corpus with what counts as right under each.
GOLDS: dict[str, Callable[[Corpus], Corpus]] = {
    "annotated": annotated,
    "dstc9": dstc9,
    "dstc9-corrected": dstc9_corrected,
    "bars": bars,
    "mwzeval": mwzeval,
    "frames": frames,
}


def gold_of(corpus: Corpus, version: str, steps: tuple[str, ...]) -> Corpus:
    """Return a gold version with its values normalised."""
    gold, steps = GOLDS[version](corpus), own_steps(steps, corpus.family)
    states, alternatives = (normalize_states(t, steps) for t in (gold.states, gold.alternatives))
    return replace(gold, states=states, alternatives=alternatives)


def in_version(corpus: Corpus, version: str) -> Corpus:
    """Return the corpus with the states of a gold version; of several acceptable values the first."""
    # The others say what is compared and how; their states are those of the annotation.
    own_states = version.startswith("dstc9") or version == "mwzeval"
    return replace(corpus, states=GOLDS[version](corpus).states) if own_states else corpus


def ontology_size(corpus: Corpus) -> int:
    """Return the number of slots for TRADE's slot accuracy."""
    slots = corpus.layouts[_SLOT].drop_duplicates()
    domains = {*slots["domain"], *corpus.states["domain"].unique()}
    return 30 if domains and domains <= ENGLISH_MULTIWOZ else len(slots)


def lay_out(corpus: Corpus) -> Corpus:
    """Give a corpus that does not say which slots there are those of its ontology and gold states."""
    if len(corpus.layouts) or corpus.family == "pairs":
        return corpus
    known = pd.concat([corpus.ontology[_SLOT], corpus.states[_SLOT]]).drop_duplicates()
    cautions = dict(corpus.cautions)
    if not len(corpus.ontology):
        taken = f"the {len(known):,} slots that occur in its gold states are taken for all there are"
        cautions["slots"] = (f"{corpus.id} does not say which slots there are: {taken}",)
    return replace(corpus, layouts=_everywhere(corpus, known), cautions=cautions)


def _everywhere(corpus: Corpus, slots: pd.DataFrame) -> pd.DataFrame:
    """Make all slots known in every turn."""
    numbers = corpus.turns[["layout"]].drop_duplicates()
    return numbers.merge(slots.drop_duplicates(), how="cross")[["layout", *_SLOT]]

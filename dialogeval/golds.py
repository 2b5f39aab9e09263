"""Gold versions: the same dialogues have several published gold states.

In: a corpus. Out: a `Gold`, the states that count as right, further values that count as right
too, and how many slots each layout knows. A protocol names the version it uses.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import pandas as pd

from .exceptions import UsageError
from .normalize import normalize_states
from .tables import Corpus

__all__ = ["GOLDS", "Gold", "accept_alternatives", "gold_of", "in_version"]

_WHERE = ["dialogue_id", "turn", "domain", "slot"]
#: Domains that DSTC9's scorer leaves out of MultiWOZ-zh: police, hospital, bus.
_DSTC9_LEFT_OUT = ("警察机关", "医院", "公共汽车")
#: Domains of MultiWOZ with the 30 slots that TRADE and its successors count.
_TRADE_DOMAINS = frozenset({"attraction", "hotel", "restaurant", "taxi", "train"})
_MULTIWOZ_DOMAINS = _TRADE_DOMAINS | {"bus", "hospital", "police"}


@dataclass(frozen=True)
class Gold:
    """What counts as right.

    Parameters
    ----------
    states : pandas.DataFrame
        One value a slot (or several, for a corpus whose states are sets of values).
    alternatives : pandas.DataFrame
        Further values that count as right; same columns.
    layouts : pandas.DataFrame
        layout, domain, slot: the slots that are compared in turns of that layout.
    """

    states: pd.DataFrame
    alternatives: pd.DataFrame
    layouts: pd.DataFrame


def annotated(corpus: Corpus) -> Gold:
    """The states as annotated; alternatives where a filled slot has several acceptable values."""
    offered = corpus.family == "crosswoz"
    return Gold(corpus.states, corpus.alternatives[:0] if offered else corpus.alternatives, corpus.layouts)


def dstc9(corpus: Corpus) -> Gold:
    """DSTC9's gold: any offered name is right where none is stated; some domains are left out."""
    # A file's own gold says it by what it annotates, which in a piece of the file may be nothing.
    if not len(corpus.layouts) and corpus.family != "pairs":
        raise UsageError(
            f"{corpus.id} does not say which slots are annotated, which DSTC9's scorer needs",
            mend="score against the corpus itself, such as crosswoz_en or multiwoz_zh",
        )
    firsts = corpus.alternatives.drop_duplicates(_WHERE)
    states = pd.concat([corpus.states, firsts], ignore_index=True)
    return _without_domains(Gold(states, corpus.alternatives, corpus.layouts))


def dstc9_corrected(corpus: Corpus) -> Gold:
    """The organisers' later gold: a name that is not stated is the one entity offered before."""
    if corpus.family != "crosswoz":
        raise UsageError(
            f"{corpus.id} has no corrected names",
            mend="protocol dstc9-corrected is for crosswoz and crosswoz_en",
        )
    states = pd.concat([corpus.states, corpus.corrections], ignore_index=True)
    return _without_domains(Gold(states, corpus.alternatives[:0], corpus.layouts))


def mwzeval(corpus: Corpus) -> Gold:
    """One value a slot, and none that says that anything will do: so MultiWOZ_Evaluation reads its gold."""
    states = normalize_states(corpus.states, ("none:drop", "dontcare:drop"))
    return Gold(states, corpus.alternatives[:0], corpus.layouts)


def bars(corpus: Corpus) -> Gold:
    """The states as annotated, where a value ``a|b`` is matched by either of its parts."""
    several = corpus.states[corpus.states["value"].str.contains("|", regex=False)]
    parts = several.assign(value=several["value"].str.split("|")).explode("value", ignore_index=True)
    parts["value"] = parts["value"].astype("str")
    plain = annotated(corpus)
    return Gold(plain.states, pd.concat([plain.alternatives, parts], ignore_index=True), plain.layouts)


#: Gold versions by the name that signatures use.
GOLDS: dict[str, Callable[[Corpus], Gold]] = {
    "annotated": annotated,
    "dstc9": dstc9,
    "dstc9-corrected": dstc9_corrected,
    "bars": bars,
    "mwzeval": mwzeval,
}


def gold_of(corpus: Corpus, version: str, steps: tuple[str, ...]) -> Gold:
    """Return a gold version with its values normalised.

    Parameters
    ----------
    corpus : Corpus
    version : str
        A key of `GOLDS`.
    steps : tuple of str
        Normalisation of values and slot names.

    Returns
    -------
    Gold

    Raises
    ------
    UsageError
        The corpus does not have this version.

    Examples
    --------
    >>> from dialogeval.tables import Corpus
    >>> len(gold_of(Corpus("toy"), "annotated", ()).states)
    0
    """
    gold = GOLDS[version](corpus)
    return Gold(
        normalize_states(gold.states, steps),
        normalize_states(gold.alternatives, steps) if len(gold.alternatives) else gold.alternatives,
        _rename_slots(gold.layouts, [s for s in steps if s.startswith("slots:")]),
    )


def in_version(corpus: Corpus, version: str) -> Corpus:
    """Return the corpus with the states of a gold version; of several acceptable values the first.

    Parameters
    ----------
    corpus : Corpus
    version : str
        A key of `GOLDS`.

    Returns
    -------
    Corpus

    Raises
    ------
    UsageError
        The corpus does not have this version.

    Examples
    --------
    >>> in_version(Corpus("toy"), "annotated").id
    'toy/all@unknown'
    """
    return corpus if version == "annotated" else replace(corpus, states=GOLDS[version](corpus).states)


def accept_alternatives(gold: Gold, predicted: pd.DataFrame) -> pd.DataFrame:
    """Replace a predicted value by the first gold value of its slot where it is an alternative of that.

    Parameters
    ----------
    gold : Gold
    predicted : pandas.DataFrame

    Returns
    -------
    pandas.DataFrame
        After this, equality of triples is the test for being right.

    Examples
    --------
    >>> row = lambda v: pd.DataFrame([("d", 0, "hotel", "area", v)], columns=[*_WHERE, "value"])
    >>> gold = Gold(row("north"), row("the north"), pd.DataFrame())
    >>> accept_alternatives(gold, row("the north"))["value"].tolist()
    ['north']
    """
    if not len(gold.alternatives):
        return predicted
    firsts = gold.states.drop_duplicates(_WHERE).rename(columns={"value": "first"})
    accepted = gold.alternatives.merge(firsts, on=_WHERE).drop_duplicates([*_WHERE, "value"])
    merged = predicted.merge(accepted, on=[*_WHERE, "value"], how="left")
    return predicted.assign(value=merged["first"].fillna(merged["value"]).to_numpy())


def ontology_size(corpus: Corpus) -> int:
    """Return the number of slots for TRADE's slot accuracy.

    Parameters
    ----------
    corpus : Corpus

    Returns
    -------
    int
        30 for MultiWOZ in English, as published; else the slots that the annotation knows.
    """
    slots = corpus.layouts[["domain", "slot"]].drop_duplicates()
    domains = set(slots["domain"]) | set(corpus.states["domain"].unique())
    return 30 if domains and domains <= _MULTIWOZ_DOMAINS else len(slots)


def _rename_slots(layouts: pd.DataFrame, steps: list[str]) -> pd.DataFrame:
    if not steps:
        return layouts
    named = normalize_states(layouts.assign(value="?"), steps)[["layout", "domain", "slot"]]
    return named.drop_duplicates(ignore_index=True)


def _without_domains(gold: Gold) -> Gold:
    def keep(frame: pd.DataFrame) -> pd.DataFrame:
        return frame[~frame["domain"].isin(_DSTC9_LEFT_OUT)].reset_index(drop=True)

    return Gold(keep(gold.states), keep(gold.alternatives), keep(gold.layouts))

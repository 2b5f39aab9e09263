"""Looking at a corpus before anything is scored on it: tables in, tables out.

In: a `Corpus`. Out: one small table a question: how many dialogues and utterances against what was
published, which domains, how long, which slots and values, how much of that the ontology knows, how
the state grows. What stands there twice or looks odd is `lessons.oddities`; figures are
`dialogeval.plots`. Every number is a count of rows of the corpus's own tables; nothing is normalised.
"""

from __future__ import annotations

import pandas as pd

from dialogeval.corpora.catalog import catalog
from dialogeval.tables import Corpus

__all__ = [
    "counts_against_published",
    "domains_per_dialogue",
    "domains_table",
    "missing_values",
    "slots_table",
    "state_growth",
    "tokens_per_utterance",
    "turns_per_dialogue",
    "value_coverage",
]

#: Dialogues of MultiWOZ as Lai et al. 2019 (arXiv:1909.09220) and the evaluation card count them.
LAI_2019 = {"train": 8423, "val": 1000, "test": 1000}
_PLACE = ["dialogue_id", "turn"]
_SLOT = ["domain", "slot"]


def counts_against_published(corpus: Corpus) -> pd.DataFrame:
    """Compare the size of a split with what its authors published.

    Parameters
    ----------
    corpus : Corpus

    Returns
    -------
    pandas.DataFrame
        Indexed by (split, quantity): the dialogues and utterances of each split that the catalog
        has published counts of, and the dialogues of all splits together. Columns ``here`` (counted
        in this corpus), ``published``, ``difference`` (here − published) and, for the English
        MultiWOZ, ``lai2019``: the paper's 10,423 dialogues against the published 10,438. Nullable
        integers; ``<NA>`` where nothing was counted or published.

    Examples
    --------
    >>> from dialogeval.tables import table
    >>> corpus = Corpus("multiwoz21", split="test", dialogues=table("dialogues", [("sng1", "SNG1.json", "")]))
    >>> counts = counts_against_published(corpus)
    >>> counts.loc[("test", "dialogues")].tolist()
    [1, 1000, -999, 1000]
    >>> counts.loc[("all splits", "dialogues")].tolist()
    [<NA>, 10438, <NA>, 10423]
    """
    name = corpus.name.split("+")[0]
    entry = catalog().get(name)
    published = dict(entry.published) if entry else {}
    here = {"dialogues": len(corpus.dialogues), "utterances": 2 * len(corpus.turns)}
    rows: dict[tuple[str, str], dict[str, int]] = {}
    # The splits in the corpus's own order; what was loaded is there even if nothing was published.
    for split in [*published, *([] if corpus.split in published else [corpus.split])]:
        for quantity, counted in here.items():
            row = {"here": counted} if split == corpus.split else {}
            if quantity in published.get(split, {}):
                row["published"] = published[split][quantity]
            if row:
                rows[split, quantity] = row
    if published:
        rows["all splits", "dialogues"] = {"published": sum(p["dialogues"] for p in published.values())}
    columns = ["here", "published"]
    if name.startswith("multiwoz") and corpus.language == "en" and published:
        columns.append("lai2019")
        for split, count in [*LAI_2019.items(), ("all splits", sum(LAI_2019.values()))]:
            rows[split, "dialogues"]["lai2019"] = count
    index = pd.MultiIndex.from_tuples(list(rows), names=["split", "quantity"])
    counts = pd.DataFrame(list(rows.values()), index=index).reindex(columns=columns).astype("Int64")
    counts.insert(2, "difference", counts["here"] - counts["published"])
    return counts


def domains_table(corpus: Corpus) -> pd.DataFrame:
    """Count where each domain is talked about: dialogues and turns whose state has a slot of it.

    Parameters
    ----------
    corpus : Corpus

    Returns
    -------
    pandas.DataFrame
        Indexed by domain, most frequent first; columns ``dialogues``, ``share of dialogues``
        (in [0, 1]; a dialogue with two domains counts in both, so these add up to more than 1),
        ``turns`` and ``slots`` (distinct slots that are ever filled).

    Examples
    --------
    >>> from dialogeval.tables import table
    >>> corpus = Corpus("toy", dialogues=table("dialogues", [("d", "d", ""), ("e", "e", "")]),
    ...                 states=table("states", [("d", 0, "taxi", "leaveat", "9:15")]))
    >>> domains_table(corpus).loc["taxi"].tolist()
    [1.0, 0.5, 1.0, 1.0]
    """
    groups = corpus.states.groupby("domain", sort=False)
    counted = pd.DataFrame(
        {
            "dialogues": groups["dialogue_id"].nunique(),
            "share of dialogues": groups["dialogue_id"].nunique() / max(len(corpus.dialogues), 1),
            "turns": corpus.states[[*_PLACE, "domain"]].drop_duplicates().groupby("domain").size(),
            "slots": groups["slot"].nunique(),
        }
    )
    return counted.sort_values("dialogues", ascending=False, kind="stable").rename_axis("domain")


def domains_per_dialogue(corpus: Corpus) -> pd.Series:
    """Count the domains of each dialogue: those with a filled slot in any of its turns.

    Parameters
    ----------
    corpus : Corpus

    Returns
    -------
    pandas.Series
        Whole numbers from 0, indexed by dialogue_id in the corpus's order, named ``domains``.

    Examples
    --------
    >>> from dialogeval.tables import table
    >>> domains_per_dialogue(Corpus("toy", dialogues=table("dialogues", [("d", "d", "")]))).tolist()
    [0]
    """
    counted = corpus.states.groupby("dialogue_id")["domain"].nunique()
    return counted.reindex(corpus.dialogues["dialogue_id"], fill_value=0).astype("int64").rename("domains")


def turns_per_dialogue(corpus: Corpus) -> pd.Series:
    """Count the turns of each dialogue.

    Parameters
    ----------
    corpus : Corpus

    Returns
    -------
    pandas.Series
        Whole numbers, indexed by dialogue_id in the corpus's order, named ``turns``; a turn is one
        user utterance and its answer.

    Examples
    --------
    >>> from dialogeval.tables import table
    >>> turns = table("turns", [("d", 0, "hi", "hello", 0), ("d", 1, "bye", "bye", 0)])
    >>> turns_per_dialogue(Corpus("toy", turns=turns)).tolist()
    [2]
    """
    return corpus.turns.groupby("dialogue_id", sort=False).size().rename("turns")


def tokens_per_utterance(corpus: Corpus) -> pd.DataFrame:
    """Measure the length of every utterance.

    Parameters
    ----------
    corpus : Corpus

    Returns
    -------
    pandas.DataFrame
        A row an utterance; columns dialogue_id, turn, speaker (``user`` or ``system``), ``length``
        and its ``unit``: ``tokens`` split on white space, or, as Chinese is written without spaces,
        ``characters`` that are not white space.

    Examples
    --------
    >>> from dialogeval.tables import table
    >>> turns = table("turns", [("d", 0, "a cheap hotel", "which area ?", 0)])
    >>> tokens_per_utterance(Corpus("toy", turns=turns))
      dialogue_id  turn speaker  length    unit
    0           d     0    user       3  tokens
    1           d     0  system       3  tokens
    """
    characters = corpus.language.startswith("zh")
    parts = []
    for speaker in ("user", "system"):
        # A plain loop over the strings: pandas' own split builds a column of lists first.
        words = [text.split() for text in corpus.turns[speaker]]
        lengths = [sum(map(len, w)) if characters else len(w) for w in words]
        parts.append(corpus.turns[_PLACE].assign(speaker=speaker, length=pd.Series(lengths, dtype="int64")))
    lengths_of_all = pd.concat(parts).sort_index(kind="stable").reset_index(drop=True)
    return lengths_of_all.assign(unit="characters" if characters else "tokens")


def slots_table(corpus: Corpus) -> pd.DataFrame:
    """Count how often each slot is filled, and with how many values.

    Parameters
    ----------
    corpus : Corpus

    Returns
    -------
    pandas.DataFrame
        Indexed by (domain, slot), most frequent first; columns ``turns`` (in which it is filled),
        ``share of turns`` (in [0, 1], of all turns), ``dialogues``, ``values`` (distinct),
        ``most frequent`` (that value) and ``its share`` (of the slot's turns, in [0, 1]).

    Examples
    --------
    >>> from dialogeval.tables import table
    >>> corpus = Corpus("toy", turns=table("turns", [("d", 0, "a hotel in the north", "fine", 0)]),
    ...                 states=table("states", [("d", 0, "hotel", "area", "north")]))
    >>> slots_table(corpus)[["turns", "values", "most frequent"]].values.tolist()
    [[1, 1, 'north']]
    """
    groups = corpus.states.groupby(_SLOT, sort=False)
    # Ties go to the value that sorts first, so that the table does not depend on the file's order.
    by_value = corpus.states.groupby([*_SLOT, "value"]).size().sort_values(ascending=False, kind="stable")
    top = by_value.reset_index(name="n").drop_duplicates(_SLOT).set_index(_SLOT)
    counted = pd.DataFrame(
        {
            "turns": groups.size(),
            "share of turns": groups.size() / max(len(corpus.turns), 1),
            "dialogues": groups["dialogue_id"].nunique(),
            "values": groups["value"].nunique(),
            "most frequent": top["value"],
            "its share": top["n"] / groups.size(),
        }
    )
    return counted.sort_index().sort_values("turns", ascending=False, kind="stable")


def value_coverage(corpus: Corpus) -> pd.DataFrame:
    """Measure how many of the annotated values the corpus's own ontology lists.

    Parameters
    ----------
    corpus : Corpus

    Returns
    -------
    pandas.DataFrame
        Indexed by (domain, slot) of the states, least covered first; columns ``triples`` (of all
        turns), ``in ontology``, ``coverage`` (their share, in [0, 1]), ``values`` (distinct),
        ``values missing`` and ``slot known`` (whether the ontology has the slot at all). Values are
        compared as they are, to the letter. Empty if the corpus has no ontology.

    Examples
    --------
    >>> from dialogeval.tables import table
    >>> states = [("d", 0, "hotel", "area", "north"), ("d", 1, "hotel", "area", "North")]
    >>> corpus = Corpus("toy", states=table("states", states),
    ...                 ontology=table("ontology", [("hotel", "area", "north")]))
    >>> value_coverage(corpus)[["triples", "coverage", "values missing"]].values.tolist()
    [[2.0, 0.5, 1.0]]
    """
    values = _values_with_ontology(corpus)
    groups = values.groupby(_SLOT)
    counted = pd.DataFrame(
        {
            "triples": groups["triples"].sum(),
            "in ontology": values["triples"]
            .where(values["listed"], 0)
            .groupby([values[c] for c in _SLOT])
            .sum(),
            "values": groups.size(),
            "values missing": groups.size() - groups["listed"].sum(),
            "slot known": groups["slot_known"].all(),
        }
    )
    counted.insert(2, "coverage", counted["in ontology"] / counted["triples"])
    return counted.sort_values(["coverage", "triples"], ascending=[True, False], kind="stable")


def missing_values(corpus: Corpus) -> pd.DataFrame:
    """List the annotated values that the ontology does not have.

    Parameters
    ----------
    corpus : Corpus

    Returns
    -------
    pandas.DataFrame
        Columns domain, slot, value, triples; most frequent first. Empty if the corpus has no
        ontology.

    Examples
    --------
    >>> from dialogeval.tables import table
    >>> corpus = Corpus("toy", states=table("states", [("d", 0, "hotel", "area", "North")]),
    ...                 ontology=table("ontology", [("hotel", "area", "north")]))
    >>> missing_values(corpus).values.tolist()
    [['hotel', 'area', 'North', 1]]
    """
    values = _values_with_ontology(corpus)
    missing = values.loc[~values["listed"], [*_SLOT, "value", "triples"]]
    return missing.sort_values("triples", ascending=False, kind="stable").reset_index(drop=True)


def state_growth(corpus: Corpus) -> pd.DataFrame:
    """Follow the size of the state through the dialogues.

    Parameters
    ----------
    corpus : Corpus

    Returns
    -------
    pandas.DataFrame
        Indexed by turn, from 0; columns ``dialogues`` (that have such a turn) and ``filled slots``
        (mean number of filled slots over those dialogues, empty states included).

    Examples
    --------
    >>> from dialogeval.tables import table
    >>> corpus = Corpus("toy", turns=table("turns", [("d", 0, "hi", "hello", 0), ("d", 1, "a taxi", "to ?", 0)]),
    ...                 states=table("states", [("d", 1, "taxi", "leaveat", "9:15")]))
    >>> state_growth(corpus)["filled slots"].tolist()
    [0.0, 1.0]
    """
    dialogues = corpus.turns.groupby("turn").size()
    filled = corpus.states.groupby("turn").size().reindex(dialogues.index, fill_value=0)
    return pd.DataFrame({"dialogues": dialogues, "filled slots": filled / dialogues})


def _values_with_ontology(corpus: Corpus) -> pd.DataFrame:
    """Distinct (domain, slot, value) of the states, their triples, and whether the ontology has them."""
    values = corpus.states.groupby([*_SLOT, "value"]).size().reset_index(name="triples")
    if corpus.ontology.empty:
        values = values.iloc[:0]
    listed = pd.MultiIndex.from_frame(corpus.ontology[[*_SLOT, "value"]])
    slots = pd.MultiIndex.from_frame(corpus.ontology[_SLOT])
    return values.assign(
        listed=pd.MultiIndex.from_frame(values[[*_SLOT, "value"]]).isin(listed),
        slot_known=pd.MultiIndex.from_frame(values[_SLOT]).isin(slots),
    )

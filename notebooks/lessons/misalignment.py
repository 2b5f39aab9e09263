"""What lesson 5 needs beside the library: corpora in four ontologies, states by hand, parts, spellings.

In: corpora, trackers, alignments. Out: corpora, small tables. Nothing here is a score to report.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import pandas as pd

from dialogeval.corpora.catalog import catalog, local_file
from dialogeval.corpora.load import load_corpus
from dialogeval.exceptions import UsageError
from dialogeval.normalize import normalize_slot
from dialogeval.ontology.alignment import LANGUAGES, Alignment
from dialogeval.ontology.attribution import CAUSES, Attribution
from dialogeval.ontology.mapping import learn_values
from dialogeval.protocols import Protocol, find_protocol
from dialogeval.scoring import score
from dialogeval.stats import paired_bootstrap, percentile_interval
from dialogeval.tables import Corpus, Predictions, table
from lessons.demonstrations import by_dialogue

__all__ = [
    "ALIASES",
    "four_corpora",
    "learned_values",
    "naming_losses",
    "ontology_key",
    "parts",
    "precision_recall",
    "spellings",
    "toy",
    "twin",
    "verdicts",
]

#: The step that writes MultiWOZ's slots in one way.
ALIASES = "slots:multiwoz22"
_REAL = {"multiwoz_zh": "multiwoz_zh", "multiwoz": "multiwoz21"}
_REAL |= {"crosswoz_en": "crosswoz_en", "crosswoz": "crosswoz"}
_TWINS = {"multiwoz": "multiwoz_zh", "crosswoz": "crosswoz_en"}
_TWINS |= {v: k for k, v in _TWINS.items()}
_TURN = ["dialogue_id", "turn"]
_PAIR = ["domain", "slot", "target_domain", "target_slot"]


def ontology_key(corpus: Corpus) -> str:
    """Return which of the four ontologies that the package aligns a corpus has.

    Parameters
    ----------
    corpus : Corpus

    Returns
    -------
    str
        A key of `dialogeval.ontology.mapping.LANGUAGES`.

    Raises
    ------
    UsageError
        A corpus of another family.

    Examples
    --------
    >>> ontology_key(load_corpus("sample/crosswoz_en"))
    'crosswoz_en'
    """
    for name, language in LANGUAGES.items():
        if name.split("_")[0] == corpus.family and language == corpus.language:
            return name
    got = f"{corpus.name} ({corpus.family}, {corpus.language})"
    raise UsageError("corpus", expected=f"one of the ontologies {', '.join(LANGUAGES)}", got=got)


def four_corpora(gold: Corpus, home: str | os.PathLike[str] | None = None) -> dict[str, Corpus]:
    """Return a corpus in each of the four ontologies: the given one, and others like it.

    Parameters
    ----------
    gold : Corpus
        Takes the place of its ontology. Beside a sample stand samples; beside a real corpus stand the
        test sets that are in the folder, and samples where they are not.
    home : path-like, optional
        Folder of the data.

    Returns
    -------
    dict of str to Corpus
        By ontology, in the order of `dialogeval.ontology.mapping.LANGUAGES`.

    Examples
    --------
    >>> [c.name for c in four_corpora(load_corpus("sample/crosswoz_en")).values()][:2]
    ['sample/multiwoz_zh', 'sample/multiwoz']
    """
    own, found = ontology_key(gold), {}
    for name in LANGUAGES:
        if name == own:
            found[name] = gold
            continue
        real = _REAL[name]
        here = not gold.name.startswith("sample/") and local_file(real, "test", home).exists()
        found[name] = load_corpus(real, home=home) if here else load_corpus(f"sample/{name}")
    return found


def twin(gold: Corpus, corpora: Mapping[str, Corpus]) -> Corpus:
    """Return the same dialogues in the other language.

    Parameters
    ----------
    gold : Corpus
    corpora : mapping of str to Corpus
        As of `four_corpora`.

    Returns
    -------
    Corpus

    Raises
    ------
    UsageError
        The translation that is here holds other dialogues.

    Examples
    --------
    >>> gold = load_corpus("sample/crosswoz_en")
    >>> twin(gold, four_corpora(gold)).name
    'sample/crosswoz'
    """
    other = corpora[_TWINS[ontology_key(gold)]]
    common = len(gold.turns[_TURN].merge(other.turns[_TURN]))
    if common < len(other.turns):
        got = f"{common:,} of the {len(other.turns):,} turns of {other.id}"
        raise UsageError(f"{gold.id} and its translation", expected="the same dialogues", got=got)
    return other


def learned_values(
    way: Alignment, gold: Corpus, other: Corpus, home: str | os.PathLike[str] | None = None
) -> Alignment | None:
    """Return an alignment that has learned values from the training dialogues of two parallel corpora.

    Parameters
    ----------
    way : Alignment
        From the ontology of the first to that of the second.
    gold, other : Corpus
        Their names say which training sets are meant.
    home : path-like, optional
        Folder of the data.

    Returns
    -------
    Alignment or None
        None where the training dialogues of either are not here.

    Examples
    --------
    >>> from dialogeval import load_alignment
    >>> gold = load_corpus("sample/crosswoz_en")
    >>> learned_values(load_alignment("crosswoz_en__crosswoz"), gold, twin(gold, four_corpora(gold))).name
    'crosswoz_en__crosswoz+learned'
    """
    names = [c.name for c in (gold, other)]
    if not all(name in catalog() and local_file(name, "train", home).exists() for name in names):
        return None
    return learn_values(way, *(load_corpus(name, split="train", home=home) for name in names))


def toy(turns: Sequence[Iterable[tuple[str, str, str]]], name: str = "by hand") -> Corpus:
    """Return one dialogue whose states are given as sets.

    Parameters
    ----------
    turns : sequence of sets of (domain, slot, value)
    name : str

    Returns
    -------
    Corpus
        `dialogeval.as_predictions` makes a tracker of it.

    Examples
    --------
    >>> toy([set(), {("taxi", "departure", "airport")}]).states["turn"].tolist()
    [1]
    """
    states = [("d", number, *triple) for number, state in enumerate(turns) for triple in sorted(state)]
    places = [("d", number, "", "", 0) for number in range(len(turns))]
    slots = dict.fromkeys((0, *row[2:4]) for row in states)
    return Corpus(
        name,
        turns=table("turns", places),
        states=table("states", states),
        layouts=table("layouts", list(slots)),
    )


def parts(found: Mapping[str, Attribution]) -> pd.DataFrame:
    """Return what the turns of each system come to: right, or lost to one cause.

    Parameters
    ----------
    found : mapping of str to Attribution

    Returns
    -------
    pandas.DataFrame
        One row a system; ``right`` (the raw joint goal accuracy) and the causes, in [0, 1]; it adds up to 1.

    Examples
    --------
    >>> gold = load_corpus("sample/crosswoz_en")
    >>> from dialogeval import as_predictions, attribute_losses
    >>> itself = attribute_losses(gold, as_predictions(gold), "crosswoz_en__crosswoz_en", resamples=0)
    >>> float(parts({"gold": itself}).loc["gold", "right"])
    1.0
    """
    rows = {
        name: {"right": one.raw["joint_goal_accuracy"], **one.table["points"].drop("whole").to_dict()}
        for name, one in found.items()
    }
    return pd.DataFrame.from_dict(rows, orient="index", columns=["right", *CAUSES])


def verdicts(proposals: pd.DataFrame, truth: pd.DataFrame) -> pd.DataFrame:
    """Set proposals, and false friends, beside an alignment.

    Parameters
    ----------
    proposals : pandas.DataFrame
        As of `propose_alignment` or `false_friends`.
    truth : pandas.DataFrame
        Rows of an alignment.

    Returns
    -------
    pandas.DataFrame
        A row a pair of slots that either holds: the pair, ``friend`` (a false friend: another claim about
        a pair), ``relation``, ``true_relation``, ``verdict`` (missed, wrong or right, in this order).

    Examples
    --------
    >>> truth = pd.DataFrame([("h", "area", "H", "zone", "same")], columns=[*_PAIR, "relation"])
    >>> verdicts(truth.iloc[:0], truth)["verdict"].tolist()
    ['missed']
    """
    sides = []
    for given in (proposals, truth):
        kept = given[given["relation"] != "none"]
        kept = kept.assign(friend=kept["relation"] == "false friend")[[*_PAIR, "friend", "relation"]]
        sides.append(kept.drop_duplicates([*_PAIR, "friend"]))
    right = sides[1].rename(columns={"relation": "true_relation"})
    table = sides[0].merge(right, on=[*_PAIR, "friend"], how="outer", indicator="verdict")
    names = {"right_only": "missed", "left_only": "wrong", "both": "right"}
    table["verdict"] = table["verdict"].astype("str").map(names)
    order = table["verdict"].map({name: n for n, name in enumerate(names.values())})
    table = table.assign(order=order).sort_values(["order", *_PAIR], ignore_index=True)
    return table.drop(columns="order").fillna({"relation": "", "true_relation": ""})


def precision_recall(table: pd.DataFrame) -> tuple[float, float]:
    """Return precision and recall of proposals, false friends aside.

    Parameters
    ----------
    table : pandas.DataFrame
        As of `verdicts`.

    Returns
    -------
    precision, recall : float
        In [0, 1]; NaN where nothing was proposed, or nothing was to be found.

    Examples
    --------
    >>> truth = pd.DataFrame([("h", "area", "H", "zone", "same")], columns=[*_PAIR, "relation"])
    >>> precision_recall(verdicts(truth, truth))
    (1.0, 1.0)
    """
    said = table.loc[~table["friend"], "verdict"]
    right, wrong, missed = (int((said == name).sum()) for name in ("right", "wrong", "missed"))
    shares = [right / whole if whole else float("nan") for whole in (right + wrong, right + missed)]
    return shares[0], shares[1]


def spellings(gold: Corpus, trackers: Mapping[str, Predictions]) -> pd.DataFrame:
    """Return how each tracker spells the slots that the corpus spells otherwise.

    Parameters
    ----------
    gold : Corpus
        Of MultiWOZ.
    trackers : mapping of str to Predictions

    Returns
    -------
    pandas.DataFrame
        Indexed by the corpus's slot (without domain), a column a tracker that has spellings of its own;
        empty where it spells a slot as the corpus does.

    Examples
    --------
    >>> gold = toy([{("train", "arriveby", "9:15")}])
    >>> late = Predictions("late", states=table("states", [("d", 0, "train", "arrive", "9:15")]))
    >>> spellings(gold, {"late": late}).loc["arriveby", "late"]
    'arrive'
    """
    known = set(gold.states[["domain", "slot"]].itertuples(index=False, name=None))
    found: dict[str, dict[str, set[str]]] = {}
    for name, tracker in trackers.items():
        assert tracker.states is not None
        for domain, slot in tracker.states[["domain", "slot"]].drop_duplicates().itertuples(index=False):
            same = normalize_slot(domain, slot, [ALIASES])
            if (domain, slot) not in known and (domain, same) in known and same != slot:
                found.setdefault(name, {}).setdefault(same, set()).add(slot)
    cells = {name: {slot: ", ".join(sorted(s)) for slot, s in of.items()} for name, of in found.items()}
    return pd.DataFrame(cells, dtype="object").fillna("").sort_index().rename_axis("slot")


def naming_losses(
    gold: Corpus,
    trackers: Mapping[str, Predictions],
    protocol: str | Protocol = "trade",
    resamples: int = 1000,
    seed: int = 12345,
) -> pd.DataFrame:
    """Score trackers with slots as they are spelled and with MultiWOZ's slot aliases.

    Parameters
    ----------
    gold : Corpus
    trackers : mapping of str to Predictions
    protocol : str or Protocol
    resamples, seed : int

    Returns
    -------
    pandas.DataFrame
        One row a tracker, highest loss first: joint goal accuracy ``before`` and ``after`` the aliases,
        ``lost`` to naming, in points, and the 95 % interval of that from a paired bootstrap over dialogues.

    Examples
    --------
    >>> gold = toy([{("train", "arriveby", "9:15")}])
    >>> late = Predictions("late", turns=gold.turns[["dialogue_id", "turn"]],
    ...                    states=table("states", [("d", 0, "train", "arrive", "9:15")]))
    >>> naming_losses(gold, {"late": late}, resamples=10).loc["late", ["before", "after", "lost"]].tolist()
    [0.0, 1.0, 100.0]
    """
    protocol = find_protocol(protocol)
    others = tuple(step for step in protocol.steps if not step.startswith("slots:"))
    ways = [replace(protocol, name="lesson-5", steps=(*others, *more)) for more in ((), (ALIASES,))]
    rows = {}
    for name, tracker in trackers.items():
        scores = [score(gold, tracker, way, missing="empty", resamples=0) for way in ways]
        old, new = (by_dialogue(s)[["right", "turns"]] for s in scores)
        share = {"share": lambda s: s["right"] / s["turns"]}
        low = high = float("nan")
        if resamples:
            drawn = paired_bootstrap(new, old, share, resamples, seed)["share"]
            low, high = percentile_interval(drawn * 100)
        before, after = (s["joint_goal_accuracy"] for s in scores)
        rows[name] = (before, after, (after - before) * 100, low, high)
    frame = pd.DataFrame.from_dict(rows, orient="index", columns=["before", "after", "lost", "low", "high"])
    return frame.sort_values("lost", ascending=False, kind="stable")

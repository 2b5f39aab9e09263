"""Proposals for an alignment of two ontologies, and false friends, each with its evidence.

In: two ontologies and, where the same dialogues are annotated in both, the two corpora. Out: tables
with a row a pair of slots, in the columns of an alignment file and those of the evidence. Nothing
here knows a corpus or translates a word: evidence is how alike the names are, which values both
slots take, of what kind these are, and which slots are filled in the same turns by values that go
together. A person decides; `measure_proposals` says how far such evidence gets.
"""

from __future__ import annotations

import re

import numpy as np
import pandas as pd

from dialogeval.exceptions import UsageError
from dialogeval.ontology import Ontology, fold, is_real, ontology_of
from dialogeval.tables import Corpus

PAIR = ["domain", "slot", "target_domain", "target_slot"]
_NUMERIC = ("number", "range", "time")
_CJK = re.compile(r"[\u3400-\u9fff]")


def slot_pairs(a: Ontology, b: Ontology, parallel: tuple[Corpus, Corpus] | None = None) -> pd.DataFrame:
    """Return all pairs of slots of two ontologies with their evidence."""
    sides = []
    for name, given in (("a", a), ("b", b)):
        ontology = given if isinstance(given, Ontology) else ontology_of(given)
        slots = ontology.slots.reset_index(drop=True)
        # Without values there is no kind to compare.
        slots[f"kind_{name}"] = slots["kind"].where(slots["values"] > 0, "")
        sides.append(slots[["domain", "slot", f"kind_{name}"]].rename_axis(name).reset_index())
    names_a, names_b = map(_names, sides)
    sides[1] = sides[1].rename(columns={"domain": "target_domain", "slot": "target_slot"})
    pairs = sides[0].merge(sides[1], how="cross")
    for place, name in enumerate(("domain", "name")):
        pairs[f"{name}_similarity"] = _similarity([n[place] for n in names_a], [n[place] for n in names_b])
    pairs["value_overlap"] = _overlap(a, b, pairs)
    pairs["listed"] = _listed(pairs, a, b, names_a, names_b)
    pairs = _parallel_evidence(pairs, parallel)
    return pairs.assign(score=_score(pairs))


def _names(slots: pd.DataFrame) -> list[tuple[str, str]]:
    """Return domains and slots as words, the slot without the name of its domain."""
    names = []
    for domain, slot in zip(slots["domain"], slots["slot"], strict=True):
        texts = [re.sub(r"(?<=[a-z])(?=[A-Z])|[^\w]+|_+", " ", t) for t in (domain, slot)]
        domain, slot = (fold(t) for t in texts)
        names.append((domain, slot.removeprefix(domain).strip() or slot))
    return names


def _similarity(left: list[str], right: list[str]) -> np.ndarray:
    """Return the similarity of all pairs of names, 0 to 1, in rows; NaN across scripts."""
    from rapidfuzz import fuzz, process

    found = process.cdist(left, right, scorer=fuzz.ratio, dtype=np.float64) / 100
    chinese = [np.array([bool(_CJK.search(t)) for t in side], dtype=bool) for side in (left, right)]
    found[chinese[0][:, None] != chinese[1][None, :]] = np.nan
    return found.ravel()


def _overlap(a: Ontology, b: Ontology, pairs: pd.DataFrame) -> np.ndarray:
    """Return the common part of the distributions of values; NaN where it cannot say anything."""
    common = []
    for left, right in zip(_shares(a), _shares(b), strict=True):
        met = left.merge(right, on="key", suffixes=("", "_b"))
        at = met["at"] * len(b.slots) + met["at_b"]
        weights = np.minimum(met["share"], met["share_b"])
        common.append(np.bincount(at, weights=weights, minlength=len(pairs)).clip(max=1))
    kinds, foreign = pairs[["kind_a", "kind_b"]], a.language != b.language
    numeric = kinds.isin(_NUMERIC)
    overlap = np.where(numeric.all(axis=1) | foreign, np.maximum(*common), common[0])
    # Words of another language, and names of other places, are never the same.
    words = ~numeric.any(axis=1) if foreign else kinds.isin(("name", "free")).all(axis=1)
    return np.where((kinds == "").any(axis=1) | (words & (overlap < 0.05)), np.nan, overlap)


def _shares(ontology: Ontology) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the share that each value, and the numbers in it, have in the uses of their slot."""
    values = ontology.values[is_real(ontology.values["value"])]
    number = ontology.slots[["domain", "slot"]].assign(at=range(len(ontology.slots)))
    values = values.merge(number, on=["domain", "slot"])
    used = values.groupby("at")["count"].transform("sum")
    alike = 1 / values.groupby("at")["value"].transform("size")
    share = (values["count"] / used.where(used > 0)).fillna(alike)
    texts = [fold(v) for v in values["value"]]
    numbers = [" ".join(str(float(n)) for n in re.findall(r"\d+(?:\.\d+)?", text)) for text in texts]
    columns = (pd.Series(k, dtype="str") for k in (texts, numbers))
    keys = (pd.DataFrame({"at": values["at"], "key": k, "share": share}) for k in columns)
    one, other = (t[t["key"] != ""].groupby(["at", "key"])["share"].sum().reset_index() for t in keys)
    return one, other


def _listed(
    pairs: pd.DataFrame,
    a: Ontology,
    b: Ontology,
    names_a: list[tuple[str, str]],
    names_b: list[tuple[str, str]],
) -> np.ndarray:
    """Tell where a yes/no slot is named among the categories of the other: parking in a list of
    facilities."""
    listed = np.full(len(pairs), "", dtype=object)
    sides = (("broader", "a", "b", names_a, b), ("narrower", "b", "a", names_b, a))
    for relation, one, other, names, holder in sides:
        texts = holder.values.groupby(["domain", "slot"])["value"].agg(lambda v: fold("\n".join(v)))
        slots = pd.MultiIndex.from_frame(holder.slots[["domain", "slot"]])
        of_slot = texts.reindex(slots).fillna("").tolist()
        likely = (pairs[f"kind_{one}"] == "boolean") & (pairs[f"kind_{other}"] == "categorical")
        for row in np.flatnonzero(likely & (pairs["domain_similarity"] >= 0.8)):
            name = names[pairs[one].iloc[row]][1]
            # Chinese is written without spaces between words.
            word = re.escape(name) if _CJK.search(name) else rf"\b{re.escape(name)}\b"
            if re.search(word, of_slot[pairs[other].iloc[row]]):
                listed[row] = relation
    return listed


def _parallel_evidence(pairs: pd.DataFrame, parallel: tuple[Corpus, Corpus] | None) -> pd.DataFrame:
    """Add how often both slots are filled in one turn, how surely their values go together, and
    containment."""
    new = ["cooccurrence", "value_pairing", "share_a", "share_b"]
    if parallel is None:
        return pairs.assign(**dict.fromkeys(new, np.nan))
    key = ["dialogue_id", "turn"]
    common = parallel[0].turns[key].merge(parallel[1].turns[key], on=key)
    if not len(common):
        mend = "give two annotations of the same dialogues"
        raise UsageError("parallel corpora have no turn in common", mend=mend)
    left, right = (c.states.merge(common, on=key) for c in parallel)
    right = right.rename(columns={"domain": "target_domain", "slot": "target_slot", "value": "target_value"})
    turns = left.merge(right, on=key).groupby([*PAIR, "value", "target_value"], sort=False)
    met = turns.size().rename("n").reset_index()
    # Turns of the pairs of values in which each is the most frequent partner of the other.
    best = met.groupby([*PAIR, "value"])["n"].transform("max") == met["n"]
    best &= met.groupby([*PAIR, "target_value"])["n"].transform("max") == met["n"]
    both = met.assign(paired=met["n"].where(best, 0)).groupby(PAIR)[["n", "paired"]].sum()
    filled = [t.groupby(names).size() for t, names in ((left, PAIR[:2]), (right, PAIR[2:]))]
    pairs = pairs.join(both, on=PAIR).join(filled[0].rename("ours"), on=PAIR[:2])
    pairs = pairs.join(filled[1].rename("theirs"), on=PAIR[2:])
    n, paired, ours, theirs = (pairs.pop(c).fillna(0) for c in ("n", "paired", "ours", "theirs"))
    wholes = (ours + theirs - n, n, ours, theirs)
    shares = [part / whole.where(whole > 0) for part, whole in zip((n, paired, n, n), wholes, strict=True)]
    return pairs.assign(**dict(zip(new, shares, strict=True)))


_EVIDENCE = ["name_similarity", "domain_similarity", "value_overlap", "kind_a", "kind_b"]
_COLUMNS = [*PAIR, "relation", "score", *_EVIDENCE, "cooccurrence", "value_pairing", "why"]
#: What each kind of evidence weighs. Parallel turns outweigh all else where there are any.
_WEIGHTS = {"names": 0.3, "domains": 0.2, "values": 0.3, "kinds": 0.2, "turns": 2.0}
#: A score rests on at least this weight of evidence: a kind alone proposes nothing.
_LEAST_WEIGHT = 0.6
#: Names this similar look alike; bookday and bookstay (0.8) do not.
_ALIKE = 0.85
#: The least score of a yes/no slot and the list that names it.
_LISTED = 0.6
_NEAR = {frozenset(p) for p in (("number", "range"), ("name", "free"), ("name", "categorical"))}


def propose_alignment(
    a: Ontology,
    b: Ontology,
    parallel: tuple[Corpus, Corpus] | None = None,
    *,
    least: float = 0.5,
) -> pd.DataFrame:
    """Propose which slots of two ontologies mean the same, or nearly.

    Parameters
    ----------
    a, b : Ontology
    parallel : (Corpus, Corpus), optional
        The same dialogues annotated with the slots of `a` and of `b`, such as a corpus and its
        translation.
    least : float, default=0.5
        Lowest score of a proposal, 0 to 1.

    Returns
    -------
    pandas.DataFrame
        Best first, a slot of either side in one row only (but yes/no slots may share the list that names
        them): ``domain``, ``slot``, ``target_domain``, ``target_slot``, ``relation`` (a guess),
        ``score`` (0 to 1: the weighted mean of the evidence that there is); the evidence, 0 to 1 and
        missing where it says nothing: ``name_similarity`` and ``domain_similarity`` (edits; missing
        across scripts), ``value_overlap`` (common part of the two distributions of values; across
        languages of the numbers in them), ``kind_a``, ``kind_b``, ``cooccurrence`` (turns filled on both
        sides over turns filled on either), ``value_pairing`` (share of these turns whose two values
        are each the usual partner of the other); and ``why``, a sentence.

    Raises
    ------
    UsageError
        Parallel corpora without a common turn.

    Examples
    --------
    >>> from dialogeval.ontology import ontology_of
    >>> found = propose_alignment(ontology_of("sample/multiwoz"), ontology_of("sample/crosswoz_en"))
    >>> found.loc[0, ["slot", "target_slot", "relation"]].tolist()
    ['name', 'name', 'same']
    """
    pairs = slot_pairs(a, b, parallel)
    pairs = pairs[~_friends(pairs, _ALIKE) & (pairs["score"] >= least)]
    order = ["score", "name_similarity", *PAIR]
    pairs = pairs.sort_values(order, ascending=[False, False, True, True, True, True])
    chosen: list[int] = []
    ours: set[int] = set()
    theirs: set[int] = set()
    for row, left, right, listed in pairs[["a", "b", "listed"]].itertuples(name=None):
        # Yes/no slots share the list that names them.
        if (left not in ours or listed == "narrower") and (right not in theirs or listed == "broader"):
            chosen.append(row)
            ours.add(left)
            theirs.add(right)
    found = pairs.loc[chosen].reset_index(drop=True)
    return found.assign(relation=_relations(found), why=_why(found))[_COLUMNS]


def false_friends(a: Ontology, b: Ontology, *, alike: float = _ALIKE, domains: str = "alike") -> pd.DataFrame:
    """List the pairs of slots whose names look alike and whose values say that they differ.

    Parameters
    ----------
    a, b : Ontology
    alike : float, default=0.85
        How similar names must be, 0 to 1, case and the name of the domain aside.
    domains : {"alike", "any"}
        Whether the domains must look alike too.

    Returns
    -------
    pandas.DataFrame
        As of `propose_alignment`, relation ``false friend``, ``score`` what it would be as a proposal.
        Flagged are different kinds, and lists of categories that have next to nothing in common; names
        of venues may differ, and slots without values are not judged.

    Raises
    ------
    UsageError
        Another choice of domains.

    Examples
    --------
    >>> from dialogeval.ontology import ontology_of
    >>> found = false_friends(ontology_of("sample/multiwoz"), ontology_of("sample/crosswoz_en"))
    >>> found[["domain", "slot", "target_slot"]].values.tolist()
    [['hotel', 'type', 'type']]
    """
    if domains not in ("alike", "any"):
        raise UsageError("domains", expected="alike or any", got=str(domains))
    pairs = slot_pairs(a, b)
    found = pairs[_friends(pairs, alike) & ((domains == "any") | (pairs["domain_similarity"] >= alike))]
    order = ["domain_similarity", "name_similarity", *PAIR]
    found = found.sort_values(order, ascending=[False, False, *[True] * 4], ignore_index=True)
    return found.assign(relation="false friend", why=_why(found))[_COLUMNS]


def _score(pairs: pd.DataFrame) -> pd.Series:
    """Return the weighted mean of the evidence that there is."""
    kinds = (pairs["kind_a"] == pairs["kind_b"]) + 0.5 * (_near(pairs) & (pairs["kind_a"] != pairs["kind_b"]))
    # Any two words share half their letters: that is no evidence.
    parts = {
        "names": (2 * pairs["name_similarity"] - 1).clip(lower=0),
        "domains": (2 * pairs["domain_similarity"] - 1).clip(lower=0),
        "values": pairs["value_overlap"],
        "kinds": kinds.where((pairs[["kind_a", "kind_b"]] != "").all(axis=1)),
        "turns": pairs["cooccurrence"] * pairs["value_pairing"].fillna(0),
    }
    evidence = pd.DataFrame(parts)
    weights = evidence.notna() * pd.Series(_WEIGHTS)
    score = (evidence.fillna(0) * weights).sum(axis=1) / weights.sum(axis=1).clip(lower=_LEAST_WEIGHT)
    return score.where(pairs["listed"] == "", score.clip(lower=_LISTED))


def _near(pairs: pd.DataFrame) -> pd.Series:
    """Tell which pairs are of kinds that are easily taken for each other."""
    return pairs[["kind_a", "kind_b"]].agg(frozenset, axis=1).isin(_NEAR)


def _friends(pairs: pd.DataFrame, alike: float) -> pd.Series:
    """Tell which pairs have names alike and values that disagree."""
    known = (pairs["kind_a"] != "") & (pairs["kind_b"] != "")
    differ = (pairs["kind_a"] != pairs["kind_b"]) & ~_near(pairs)
    lists = (pairs["kind_a"] == "categorical") & (pairs["kind_b"] == "categorical")
    strangers = lists & (pairs["value_overlap"] < 0.1)
    return (pairs["name_similarity"] >= alike) & known & (differ | strangers)


def _relations(found: pd.DataFrame) -> np.ndarray:
    unknown = (found["kind_a"] == "") | (found["kind_b"] == "")
    agree = (found["kind_a"] == found["kind_b"]) | _near(found) | unknown
    turns = found["cooccurrence"] * found["value_pairing"]
    names = found[["name_similarity", "domain_similarity"]].min(axis=1, skipna=False)
    sure = (found["value_overlap"] >= 0.5) | (names >= _ALIKE) | (turns >= 0.8)
    out = np.where((agree & sure) | (turns >= 0.8), "same", "related")
    # The target is broader where it is filled whenever ours is, and often without it.
    out = np.where((found["share_a"] >= 0.9) & (found["share_b"] < 0.6), "broader", out)
    out = np.where((found["share_b"] >= 0.9) & (found["share_a"] < 0.6), "narrower", out)
    return np.where(found["listed"] != "", found["listed"], out)


def _why(found: pd.DataFrame) -> list[str]:
    """Return the evidence on each pair as a sentence."""
    sentences = []
    for row in found.to_dict("records"):
        a, b = row["kind_a"], row["kind_b"]
        said = {
            f"filled in the same turns ({row['cooccurrence']:.0%}) by values that go together "
            f"({row['value_pairing']:.0%})": row["cooccurrence"] > 0,
            "the yes/no slot is one of the other's categories": row["listed"],
            f"slot names {row['name_similarity']:.0%} and domain names {row['domain_similarity']:.0%} alike": (
                pd.notna(row["name_similarity"])
            ),
            f"values overlap by {row['value_overlap']:.0%}": pd.notna(row["value_overlap"]),
            f"both of kind {a}" if a == b else f"of kinds {a} and {b}": a and b,
        }
        text = "; ".join(text for text, holds in said.items() if holds)
        sentences.append(f"{text[:1].upper()}{text[1:]}.")
    return sentences

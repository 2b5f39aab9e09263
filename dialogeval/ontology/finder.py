"""Proposals for an alignment of two ontologies, and false friends, each with its evidence.

In: two ontologies and, where the same dialogues are annotated in both, the two corpora. Out: tables
with a row a pair of slots, in the columns of an alignment file and those of the evidence. Nothing
here knows a corpus or translates a word: evidence is how alike the names are, which values both
slots take, of what kind these are, and which slots are filled in the same turns by values that go
together. A person decides; `measure_proposals` says how far such evidence gets.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
import pandas as pd

from dialogeval.exceptions import UsageError
from dialogeval.ontology import Ontology, fold, is_real
from dialogeval.tables import Corpus

PAIR = ["domain", "slot", "target_domain", "target_slot"]
_NUMERIC = ("number", "range", "time")
_CJK = re.compile(r"[\u3400-\u9fff]")


def slot_pairs(a: Ontology, b: Ontology, parallel: tuple[Corpus, Corpus] | None = None) -> pd.DataFrame:
    """Return all pairs of slots of two ontologies with their evidence."""
    left, right = a.slots.reset_index(drop=True), b.slots.reset_index(drop=True)
    rows, columns = (c.ravel() for c in np.indices((len(left), len(right))))
    pairs = pd.DataFrame({"a": rows, "b": columns})
    for side, slots, at, prefix in (("a", left, rows, ""), ("b", right, columns, "target_")):
        for column in ("domain", "slot"):
            pairs[prefix + column] = slots[column].to_numpy()[at]
        # Without values there is no kind to compare.
        kinds = slots["kind"].where(slots["values"] > 0, "")
        pairs[f"kind_{side}"] = kinds.to_numpy()[at]
    names_a, names_b = _names(left), _names(right)
    pairs["domain_similarity"] = _similarity([n[0] for n in names_a], [n[0] for n in names_b])
    pairs["name_similarity"] = _similarity([n[1] for n in names_a], [n[1] for n in names_b])
    pairs["value_overlap"] = _overlap(a, b, pairs)
    pairs["listed"] = _listed(pairs, a, b, names_a, names_b)
    return _parallel_evidence(pairs, parallel)


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
    sides = zip(_shares(a), _shares(b), strict=True)
    texts, numbers = (_common_part(x, y, len(b.slots), len(pairs)) for x, y in sides)
    numeric = (pairs["kind_a"].isin(_NUMERIC) & pairs["kind_b"].isin(_NUMERIC)).to_numpy()
    foreign = a.language != b.language
    overlap = np.maximum(texts, numbers) if foreign else np.where(numeric, np.maximum(texts, numbers), texts)
    words = ~pairs["kind_a"].isin(_NUMERIC) & ~pairs["kind_b"].isin(_NUMERIC)
    names = pairs["kind_a"].isin(("name", "free")) & pairs["kind_b"].isin(("name", "free"))
    # Words of another language, and names of other places, are never the same.
    unknown = (pairs[["kind_a", "kind_b"]] == "").any(axis=1)
    silent = unknown | ((words if foreign else names) & (overlap < 0.05))
    return np.where(silent, np.nan, overlap)


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
    tables = []
    for keys in (texts, numbers):
        table = pd.DataFrame({"at": values["at"], "key": pd.Series(keys, dtype="str"), "share": share})
        tables.append(table[table["key"] != ""].groupby(["at", "key"])["share"].sum().reset_index())
    return tables[0], tables[1]


def _common_part(left: pd.DataFrame, right: pd.DataFrame, width: int, size: int) -> np.ndarray:
    met = left.merge(right, on="key", suffixes=("", "_b"))
    common = np.minimum(met["share"], met["share_b"])
    return np.bincount(met["at"] * width + met["at_b"], weights=common, minlength=size).clip(max=1)


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
        raise UsageError(
            "parallel corpora have no turn in common", mend="give two annotations of the same dialogues"
        )
    common = common.assign(at=range(len(common)))[[*key, "at"]]
    left, right = (c.states.merge(common, on=key).drop(columns=key) for c in parallel)
    right = right.rename(columns={"domain": "target_domain", "slot": "target_slot", "value": "target_value"})
    met = left.merge(right, on="at")
    met = met.groupby([*PAIR, "value", "target_value"], sort=False).size().rename("n").reset_index()
    # Turns of the pairs of values in which each is the most frequent partner of the other.
    best = met.groupby([*PAIR, "value"])["n"].transform("max") == met["n"]
    best &= met.groupby([*PAIR, "target_value"])["n"].transform("max") == met["n"]
    both = met.assign(paired=met["n"].where(best, 0)).groupby(PAIR)[["n", "paired"]].sum().reset_index()
    pairs = pairs.merge(both, on=PAIR, how="left")
    for table, columns, name in ((left, PAIR[:2], "filled_a"), (right, PAIR[2:], "filled_b")):
        pairs = pairs.merge(table.groupby(columns).size().rename(name).reset_index(), on=columns, how="left")
    filled = ["n", "paired", "filled_a", "filled_b"]
    n, paired, ours, theirs = (pairs[c].fillna(0) for c in filled)
    either = ours + theirs - n
    parts = (
        n / either.where(either > 0),
        paired / n.where(n > 0),
        n / ours.where(ours > 0),
        n / theirs.where(theirs > 0),
    )
    return pairs.drop(columns=filled).assign(**dict(zip(new, parts, strict=True)))


#: Relations that join two slots; a row with another one (false friend, none) joins nothing.
JOINING = ("same", "broader", "narrower", "related")
_EVIDENCE = ["name_similarity", "domain_similarity", "value_overlap", "kind_a", "kind_b"]
_EVIDENCE += ["cooccurrence", "value_pairing"]
_COLUMNS = [*PAIR, "relation", "score", *_EVIDENCE, "why"]
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
    pairs["score"] = _score(pairs)
    pairs = pairs[~_friends(pairs, _ALIKE) & (pairs["score"] >= least)]
    order = ["score", "name_similarity", *PAIR]
    pairs = pairs.sort_values(order, ascending=[False, False, True, True, True, True])
    chosen: list[int] = []
    taken: tuple[set[int], set[int]] = (set(), set())
    for row, left, right, listed in zip(pairs.index, pairs["a"], pairs["b"], pairs["listed"], strict=True):
        if (left in taken[0] and listed != "narrower") or (right in taken[1] and listed != "broader"):
            continue
        chosen.append(row)
        taken[0].add(left)
        taken[1].add(right)
    found = pairs.loc[chosen].reset_index(drop=True)
    found["relation"] = _relations(found)
    found["why"] = [_why(row) for _, row in found.iterrows()]
    return found[_COLUMNS]


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
        As of `propose_alignment`, relation ``false friend``, ``score`` what it would be as a proposal. Flagged are different kinds, and lists of
        categories that have next to nothing in common; names of venues may differ, and slots without
        values are not judged.

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
    pairs["score"] = _score(pairs)
    found = pairs[_friends(pairs, alike) & ((domains == "any") | (pairs["domain_similarity"] >= alike))]
    found = found.sort_values(
        ["domain_similarity", "name_similarity", *PAIR], ascending=[False, False, *[True] * 4]
    )
    found = found.assign(relation="false friend", why=[_why(row) for _, row in found.iterrows()]).reset_index(
        drop=True
    )
    return found[_COLUMNS]


@dataclass(frozen=True)
class FinderScores:
    """Proposals measured against an alignment."""

    precision: float
    recall: float
    f1: float
    friends_found: int
    friends_missed: int
    friends_wrong: int
    table: pd.DataFrame

    @property
    def misses(self) -> pd.DataFrame:
        """The rows of the alignment that were not proposed."""
        return self.table[self.table["verdict"] == "missed"].reset_index(drop=True)


def measure_proposals(proposals: pd.DataFrame, truth: pd.DataFrame) -> FinderScores:
    """Measure proposals, or false friends, against an alignment."""
    sides = []
    for name, table in (("proposals", proposals), ("truth", truth)):
        lacking = [c for c in [*PAIR, "relation"] if c not in table.columns]
        if lacking:
            raise UsageError(
                f"{name} lacks the column {lacking[0]}", mend="give a table as of propose_alignment"
            )
        kept = table[table["relation"].isin([*JOINING, "false friend"])]
        kept = kept.assign(friend=kept["relation"] == "false friend").drop_duplicates([*PAIR, "friend"])
        sides.append(kept[[*PAIR, "friend", "relation"]])
    # A joined pair and a false friend are different claims about a pair.
    right = sides[1].rename(columns={"relation": "true_relation"})
    table = sides[0].merge(right, on=[*PAIR, "friend"], how="outer", indicator="verdict")
    verdicts = {"both": "right", "left_only": "wrong", "right_only": "missed"}
    table["verdict"] = table["verdict"].astype("str").replace(verdicts)
    table[["relation", "true_relation"]] = table[["relation", "true_relation"]].fillna("")
    counts = table.groupby(["friend", "verdict"]).size()
    found, missed, wrong = (int(counts.get((False, v), 0)) for v in ("right", "missed", "wrong"))
    precision = found / (found + wrong) if found + wrong else float("nan")
    recall = found / (found + missed) if found + missed else float("nan")
    f1 = 2 * found / (2 * found + wrong + missed) if found + wrong + missed else float("nan")
    friends = {v: int(counts.get((True, v), 0)) for v in ("right", "missed", "wrong")}
    order = table["verdict"].map({"missed": 0, "wrong": 1, "right": 2})
    table = table.assign(order=order).sort_values(["order", *PAIR]).reset_index(drop=True)
    table = table[[*PAIR, "relation", "true_relation", "verdict"]]
    return FinderScores(precision, recall, f1, friends["right"], friends["missed"], friends["wrong"], table)


# Judgement ----------------------------------------------------------------------------------------


def _score(pairs: pd.DataFrame) -> np.ndarray:
    kinds = np.where(pairs["kind_a"] == pairs["kind_b"], 1.0, np.where(_near(pairs), 0.5, 0.0))
    kinds = np.where((pairs["kind_a"] == "") | (pairs["kind_b"] == ""), np.nan, kinds)
    turns = pairs["cooccurrence"] * pairs["value_pairing"].fillna(0)
    # Any two words share half their letters: that is no evidence.
    names, domains = ((2 * pairs[f"{n}_similarity"] - 1).clip(lower=0) for n in ("name", "domain"))
    parts = {"names": names, "domains": domains, "kinds": kinds}
    parts |= {"values": pairs["value_overlap"], "turns": turns}
    evidence = pd.DataFrame({k: np.asarray(parts[k], dtype=float) for k in _WEIGHTS})
    weights = evidence.notna() * pd.Series(_WEIGHTS)
    score = (evidence.fillna(0) * weights).sum(axis=1) / weights.sum(axis=1).clip(lower=_LEAST_WEIGHT)
    return np.where(pairs["listed"] != "", np.maximum(score, _LISTED), score)


def _near(pairs: pd.DataFrame) -> np.ndarray:
    return np.array(
        [frozenset(k) in _NEAR for k in zip(pairs["kind_a"], pairs["kind_b"], strict=True)], dtype=bool
    )


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


def _why(row: pd.Series) -> str:
    """Return the evidence on a pair as a sentence."""
    said = []
    if row["cooccurrence"] > 0:
        together = f"filled in the same turns ({row['cooccurrence']:.0%})"
        said.append(f"{together} by values that go together ({row['value_pairing']:.0%})")
    if row["listed"]:
        said.append("the yes/no slot is one of the other's categories")
    if pd.notna(row["name_similarity"]):
        said.append(
            f"slot names {row['name_similarity']:.0%} and domain names {row['domain_similarity']:.0%} alike"
        )
    if pd.notna(row["value_overlap"]):
        said.append(f"values overlap by {row['value_overlap']:.0%}")
    a, b = row["kind_a"], row["kind_b"]
    said += [f"both of kind {a}" if a == b else f"of kinds {a} and {b}"] if a and b else []
    text = "; ".join(said)
    return f"{text[:1].upper()}{text[1:]}."

"""What speaks for and against the pairs of slots of two ontologies: names, values, kinds, common turns.

In: two ontologies and perhaps two annotations of the same dialogues. Out: a table of all pairs.
`dialogeval.alignment.finder` judges them.
"""

from __future__ import annotations

import re

import numpy as np
import pandas as pd

from ..exceptions import UsageError
from ..ontology import Ontology
from ..tables import Corpus
from ..value_kinds import fold, is_real

__all__ = ["PAIR", "slot_pairs"]

PAIR = ["domain", "slot", "target_domain", "target_slot"]
_NUMERIC = ("number", "range", "time")
_CJK = re.compile(r"[\u3400-\u9fff]")


def slot_pairs(a: Ontology, b: Ontology, parallel: tuple[Corpus, Corpus] | None = None) -> pd.DataFrame:
    """Return all pairs of slots of two ontologies with their evidence.

    Parameters
    ----------
    a, b : Ontology
    parallel : (Corpus, Corpus), optional

    Returns
    -------
    pandas.DataFrame
        ``a`` and ``b`` (numbers of the slots), the names, and the evidence as of `propose_alignment`; also
        ``listed`` (the relation, where a yes/no slot is named among the other's categories) and
        ``share_a``, ``share_b`` (turns filled on both sides over those filled on one).

    Raises
    ------
    UsageError
        Parallel corpora without a common turn.

    Examples
    --------
    >>> from dialogeval.ontology import ontology_of
    >>> pairs = slot_pairs(ontology_of("sample/multiwoz"), ontology_of("sample/crosswoz_en"))
    >>> len(pairs) == 30 * 34
    True
    """
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
    """Tell where a yes/no slot is named among the categories of the other: parking in a list of facilities."""
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
    """Add how often both slots are filled in one turn, how surely their values go together, and containment."""
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

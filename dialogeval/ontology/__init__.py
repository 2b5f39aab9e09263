"""Ontologies: the slots of a corpus, their values and of what kind these are; two of them side by side.

In: a corpus, an ontology file or a schema. Out: an `Ontology`, tables. The kind of a slot is told from the
shape of its values, in English and Chinese; no rule looks at the name of a slot.
"""

from __future__ import annotations

import html
import os
import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd

from dialogeval.corpora import multiwoz, schema_guided
from dialogeval.corpora.catalog import catalog, local_file
from dialogeval.corpora.load import load_corpus
from dialogeval.exceptions import UnknownNameError, UsageError, few, show
from dialogeval.files import read_bytes
from dialogeval.normalize import NOT_FILLED, normalize_values
from dialogeval.strict_json import parse_json
from dialogeval.tables import Corpus

#: Kinds of slots, by their values.
KINDS = ("categorical", "name", "time", "number", "range", "boolean", "free")
_UNIT = r"[^\W\d_]{0,3}(?<=[\u4e00-\u9fff])|[^\W\d_]{1,9}|"
_QUANTITY = rf"[$£€¥]?\s*(?:\d+(?:[.,]\d+)*|半|half an?\b)\s*(?:{_UNIT})"
_LESS_MORE = r"or (?:above|below|more|less|higher|lower)|above|below|or so|\+|以上|以下|以内|左右|之间"
_BOUND = r"at least|at most|over|under|above|below|about|(?:more|less) than|[<>≤≥]=?|不超过|超过|大于|小于|至少|最多"
#: The shape of one value, the first that fits; `free` is a yes for parking and no yuan for a ticket.
_SHAPES = {
    "boolean": re.compile(r"yes|no|true|false|有|没有|无|是|否|不是|需要|不需要"),
    "either": re.compile(r"free|免费"),
    "time": re.compile(
        r"\D{0,10}(?<!\d)\d{1,2}[:：]\d{2}(?!\d)\D{0,10}|\d{1,2}(?:[.:]\d{2})? ?[ap]\.?m\.?|"
        r"\d{1,2}[:：]\d{2}\s*[-–~～到至]\s*\d{1,2}[:：]\d{2}|[上下中早晚午]{0,2}\d{1,2}点(?:半|\d{1,2}分)?"
    ),
    "range": re.compile(
        rf"{_QUANTITY}\s*(?:[-–~～到至]|to)\s*{_QUANTITY}|{_QUANTITY}\s*(?:{_LESS_MORE})|(?:{_BOUND})\s*{_QUANTITY}"
    ),
    "number": re.compile(_QUANTITY),
}
_CJK = re.compile(r"[\u3400-\u9fff]")
#: Between several values in one: ``cheap|moderate``, ``东方或南方``, ``无烟房,会议室``.
_SEVERAL = re.compile(r"[|，、;；]|,(?!\d)|(?<=\S)\s*>|或|(?<=[\u3400-\u9fff]) +(?=[\u3400-\u9fff])")


def value_kind(values: Iterable[str], counts: Iterable[int] | None = None) -> str:
    """Tell the kind of a slot from its values and how often each is used."""
    series = pd.Series(list(values), dtype="str")
    uses = pd.Series(1.0 if counts is None else list(counts), index=series.index, dtype=float)
    uses = uses if uses.any() else uses + 1
    whole = uses[is_real(series)].groupby(series).sum()
    whole = whole[whole > 0]
    if whole.empty:
        return "free"
    parts: dict[str, float] = {}
    for value, use in whole.items():
        pieces = [p for p in map(str.strip, _SEVERAL.split(fold(str(value)))) if p] or [str(value)]
        for piece in pieces:
            parts[piece] = parts.get(piece, 0.0) + use / len(pieces)
    shares = dict.fromkeys([*_SHAPES, "words"], 0.0)
    for piece, use in parts.items():
        shares[next((s for s, form in _SHAPES.items() if form.fullmatch(piece)), "words")] += use
    total = sum(share for shape, share in shares.items() if shape != "either")
    if shares["boolean"] >= 0.8 * total:  # also where "free" is all there is
        return "boolean"
    if shares["time"] >= 0.8 * total:
        return "time"
    if shares["range"] + shares["number"] >= 0.8 * total:
        return "range" if shares["range"] >= 0.1 * total else "number"
    return _kind_of_words(pd.Series(parts), combined=len(parts) < 0.7 * len(whole))


def _kind_of_words(uses: pd.Series, combined: bool) -> str:
    """Return categorical, name or free; where values are `combined` of others, they are labels."""
    # In words; three Chinese characters make one.
    length = uses.index.map(lambda p: len(_CJK.sub(" ", p).split()) + len(_CJK.findall(p)) / 3).to_numpy()
    order = np.argsort(length, kind="stable")
    median = length[order][np.searchsorted(np.cumsum(uses.to_numpy()[order]), 0.5 * uses.sum())]
    if median > 7:
        return "free"
    # How many values make up nearly all uses: slips and rarities aside.
    common = int((uses.sort_values(ascending=False).cumsum() < 0.95 * uses.sum()).sum()) + 1
    return "name" if not combined and (common > 100 or (common > 10 and median > 1)) else "categorical"


def _kinds_of_slots(slots: list[tuple[pd.Series, pd.Series]]) -> list[str]:
    """Return the kind of each slot, from its values and their counts: lists of names are names."""
    kinds = [value_kind(*slot) for slot in slots]
    used = [
        {fold(v) for v in values[is_real(values) & (n > 0 if n.any() else n >= 0)]} for values, n in slots
    ]
    names = set().union(*(u for u, kind in zip(used, kinds, strict=True) if kind == "name"))
    return [
        "name" if kind == "categorical" and 2 * len(u & names) >= len(u) else kind
        for u, kind in zip(used, kinds, strict=True)
    ]


def fold(text: str) -> str:
    """Return a text as it is compared here: width, case and white space levelled."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def is_real(values: pd.Series) -> np.ndarray:
    """Tell which values say something: not none, not dontcare, not a spelling of "no value"."""
    steps = ("none:drop", "dontcare:drop")
    return np.array(normalize_values(map(fold, values), steps, NOT_FILLED), dtype=object) != ""


SOURCES = ("auto", "file", "schema", "learned")
#: A slot with more different values is open: too many to list.
LISTED = 50
GAPS = ("slot is not in the ontology", "values are not in the ontology", "slot is never filled")
_SLOT = ["domain", "slot"]


@dataclass(frozen=True)
class Ontology:
    """Slots and their values.

    Parameters
    ----------
    name, language : str
    source : {"file", "schema", "learned"}
        What it was read from.
    slots : pandas.DataFrame
        A row a slot: ``domain``, ``slot``, ``kind`` (of `KINDS`), ``values`` (different ones, none and
        dontcare not counted), ``filled`` (state triples of the corpus) and ``open`` (more than
        50 values, or none listed).
    values : pandas.DataFrame
        ``domain``, ``slot``, ``value`` as spelt in the source, ``count`` (state triples; 0 where it
        is not used, or where there is no corpus).
    notes : tuple of str
        Where file and states disagree, with counts.

    Examples
    --------
    >>> ontology_of("sample/crosswoz_en")
    Ontology(sample/crosswoz_en, en, file: 5 domains, 34 slots, 314 values)
    """

    name: str
    language: str
    source: str
    slots: pd.DataFrame
    values: pd.DataFrame
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return (
            f"Ontology({self.name}, {self.language}, {self.source}: {self.slots['domain'].nunique():,} domains, "
            f"{len(self.slots):,} slots, {len(self.values):,} values)"
        )

    def _repr_html_(self) -> str:
        notes = "".join(f"<li>{html.escape(n)}</li>" for n in self.notes)
        return f"<p>{html.escape(repr(self))}</p>{self.slots.to_html(index=False, border=0)}" + (
            f"<ul>{notes}</ul>" if notes else ""
        )


def ontology_of(
    corpus: Corpus | str | os.PathLike[str],
    source: str = "auto",
    *,
    home: str | os.PathLike[str] | None = None,
) -> Ontology:
    """Read the ontology of a corpus, from what it declares or from what its states use.

    Parameters
    ----------
    corpus : Corpus, str or path-like
        A corpus, a name of the catalog (its test split), or the path of a corpus, of an
        ``ontology.json`` or of a ``schema.json``.
    source : {"auto", "file", "schema", "learned"}
        The corpus's ontology file; its schema (MultiWOZ 2.2, SGD); its states; or the first of these
        that there is.
    home : path-like, optional
        Folder of the data.

    Returns
    -------
    Ontology

    Raises
    ------
    UnknownNameError
        No such source or corpus.
    UsageError
        The corpus has no such source.

    Examples
    --------
    >>> ontology_of("sample/crosswoz_en", "learned").slots.set_index("slot").loc["price", "kind"]
    'range'
    """
    if source not in SOURCES:
        raise UnknownNameError("source of an ontology", str(source), SOURCES)
    if not isinstance(corpus, (Corpus, str, os.PathLike)):
        raise UsageError("corpus", expected="a Corpus, a name or a path", got=show(corpus))
    if not isinstance(corpus, Corpus):
        corpus = _read_alone(corpus, source, home) or load_corpus(corpus, home=home)
    declared = "schema" if corpus.family == "schema_guided" else "file"
    used = corpus.states[_SLOT].drop_duplicates()
    has = len(corpus.ontology) > 0 or len(corpus.schema) > 0
    if source == "auto":
        source = declared if has else "learned"
    if source == "learned":
        if not len(corpus.states):
            raise UsageError(f"{corpus.name} has no states to learn from", mend="read its file or schema")
        return _assemble(corpus, source, used)
    if not has or source != declared:
        mend = f"choose {declared} or learned" if has else "choose learned"
        raise UsageError(f"{corpus.name} has no ontology of source {source}", mend=mend)
    listed = corpus.ontology[_SLOT]
    layout = pd.concat([listed, corpus.schema[_SLOT]]) if declared == "schema" else listed
    return _assemble(corpus, source, layout.drop_duplicates())


def compare_ontologies(a: Ontology, b: Ontology) -> pd.DataFrame:
    """Set two ontologies side by side by the names of their slots.

    Parameters
    ----------
    a, b : Ontology

    Returns
    -------
    pandas.DataFrame
        A row a slot of either: ``domain``, ``slot`` (as in `a`), ``target_domain``, ``target_slot`` (as in
        `b`), ``where`` (``both``, ``a`` or ``b``; names are the same up to case and white space),
        ``kind``, ``target_kind``, ``values``, ``target_values`` (how many), ``shared`` (how many values
        both have, up to case and white space) and ``overlap`` (Jaccard: shared values over all values,
        0 to 1). What does not apply is missing. Swapping `a` and `b` swaps the columns.

    Examples
    --------
    >>> a, b = ontology_of("sample/multiwoz"), ontology_of("sample/crosswoz_en")
    >>> table = compare_ontologies(a, b)
    >>> table.loc[table["where"] == "both", ["domain", "slot", "overlap"]].values.tolist()[:2]
    [['attraction', 'name', 0.0], ['hotel', 'name', 0.0]]
    """
    left, right = (_folded(o) for o in (a, b))
    columns = ["domain", "slot", "kind", "values"]
    right = right.rename(columns={c: f"target_{c}" for c in columns})
    both = left.merge(right, on="key", how="outer", suffixes=("", "_b"), indicator="where")
    names = {"both": "both", "left_only": "a", "right_only": "b"}
    both["where"] = both["where"].astype("str").map(names)
    both["rank"] = both["where"].map({name: rank for rank, name in enumerate(names.values())})
    sides = list(both[["set", "set_b", "where"]].itertuples(index=False, name=None))
    both["shared"] = pd.array([len(x & y) if w == "both" else None for x, y, w in sides], dtype="Int64")
    both["overlap"] = [len(x & y) / len(x | y) if w == "both" and x | y else np.nan for x, y, w in sides]
    both = both.astype({"values": "Int64", "target_values": "Int64"})
    both = both.sort_values(["rank", "key", *_SLOT, "target_domain", "target_slot"], ignore_index=True)
    shown = ["domain", "slot", "target_domain", "target_slot", "where", "kind", "target_kind"]
    return both[[*shown, "values", "target_values", "shared", "overlap"]]


def ontology_gaps(ontology: Ontology, corpus: Corpus) -> pd.DataFrame:
    """Count where an ontology and the states of a corpus disagree."""
    used = corpus.states.groupby([*_SLOT, "value"]).size().rename("triples").reset_index()
    used = used[is_real(used["value"])].sort_values("triples", ascending=False, kind="stable")
    slots, filled = (pd.MultiIndex.from_frame(t[_SLOT]) for t in (ontology.slots, corpus.states))
    listed = used.join(ontology.slots.set_index(_SLOT)["values"], on=_SLOT)["values"]
    places, known = (pd.MultiIndex.from_frame(t[[*_SLOT, "value"]]) for t in (used, ontology.values))
    used["gap"] = np.select([listed.isna(), ~places.isin(known) & (listed > 0)], GAPS[:2], default="")
    groups = used[used["gap"] != ""].groupby(["gap", *_SLOT], sort=False)
    gaps = groups.agg(values=("value", "size"), triples=("triples", "sum"), example=("value", "first"))
    idle = ontology.slots.loc[~slots.isin(filled), _SLOT]
    idle = idle.assign(gap=GAPS[2], values=0, triples=0, example="")
    table = pd.concat([t for t in (gaps.reset_index(), idle) if len(t)] or [idle])
    table["rank"] = table["gap"].map(GAPS.index)
    table = table.sort_values(["rank", "triples", *_SLOT], ascending=[True, False, True, True])
    return table[[*_SLOT, "gap", "values", "triples", "example"]].reset_index(drop=True)


def _folded(ontology: Ontology) -> pd.DataFrame:
    """Return the slots with their folded names and the sets of their folded values."""
    real = ontology.values[is_real(ontology.values["value"])]
    sets = real.assign(value=real["value"].map(fold)).groupby(_SLOT)["value"].agg(set).to_dict()
    slots = ontology.slots[[*_SLOT, "kind", "values"]].copy()
    names = list(slots[_SLOT].itertuples(index=False, name=None))
    slots["key"] = [tuple(map(fold, name)) for name in names]
    slots["set"] = [sets.get(name, set()) for name in names]
    return slots


def _read_alone(
    name: str | os.PathLike[str], source: str, home: str | os.PathLike[str] | None
) -> Corpus | None:
    """Return a schema or ontology file as a corpus without dialogues; None where it is a whole corpus."""
    known = isinstance(name, str) and name in catalog()
    path = Path(name)
    if known:
        if source != "schema" or "schema" not in catalog()[str(name)].files:
            return None
        path = local_file(str(name), "schema", home)
    elif path.suffix != ".json" or not path.is_file():
        return None
    raw = parse_json(read_bytes(path), path)
    title = str(name) if known else path.stem
    if isinstance(raw, list) and raw and all(isinstance(s, dict) and "service_name" in s for s in raw):
        ontology, schema = schema_guided.read_schema(raw, path)
        layouts = schema.assign(layout=0)[["layout", "domain", "slot"]]
        alone = Corpus(title, family="schema_guided", ontology=ontology, schema=schema, layouts=layouts)
    elif isinstance(raw, dict) and raw and all(isinstance(v, list) for v in raw.values()):
        alone = Corpus(title, family="multiwoz", ontology=multiwoz.read_ontology(raw, path))
    else:
        return None
    chinese = alone.ontology["value"].str.contains("[\u3400-\u9fff]").mean() > 0.5
    return replace(alone, language="zh" if chinese else "en")


def _assemble(corpus: Corpus, source: str, layout: pd.DataFrame) -> Ontology:
    """Join what is listed with what the states use; a learned ontology lists what they use."""
    values = corpus.states.groupby([*_SLOT, "value"]).size().rename("count").reset_index()
    if source != "learned":
        values = corpus.ontology.drop_duplicates().merge(values, on=[*_SLOT, "value"], how="left")
        values["count"] = values["count"].fillna(0).astype("int64")
    values = values.sort_values([*_SLOT, "count", "value"], ascending=[True, True, False, True])
    filled = corpus.states.groupby(_SLOT).size().rename("filled").reset_index()
    slots = layout.merge(filled, on=_SLOT, how="left").sort_values(_SLOT, ignore_index=True)
    slots["filled"] = slots["filled"].fillna(0).astype("int64")
    groups = dict(list(values.groupby(_SLOT)))
    mine = [groups.get(s, values.head(0)) for s in slots[_SLOT].itertuples(index=False, name=None)]
    slots["kind"] = pd.Series(_kinds_of_slots([(g["value"], g["count"]) for g in mine]), dtype="str")
    slots["values"] = pd.Series([int(is_real(g["value"]).sum()) for g in mine], dtype="int64")
    slots["open"] = (slots["values"] > LISTED) | (slots["values"] == 0)
    slots = slots[[*_SLOT, "kind", "values", "filled", "open"]]
    ontology = Ontology(corpus.name, corpus.language, source, slots, values.reset_index(drop=True))
    if source == "learned" or not len(corpus.states):
        return ontology
    notes = []
    for gap, rows in ontology_gaps(ontology, corpus).groupby("gap", sort=False):
        names = few([f"{d} {s}" for d, s in rows[_SLOT].itertuples(index=False)], 3)
        counts = f"{len(rows)} slots, {rows['values'].sum():,} values, {rows['triples'].sum():,} triples"
        notes.append(f"{gap}: {names} ({counts})")
    return replace(ontology, notes=tuple(notes))

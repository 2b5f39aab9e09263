"""What is fuzzed: for each reader a function of bytes that reads them as a file and uses what it got.

A reader that accepts its input must have made something usable: predictions are written and read
again, corpora and ontologies are shown, a database is asked. The name of a target is that of the
reader; how its inputs are mutated stands beside it.
"""

from __future__ import annotations

import json
import math
import tempfile
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import dialogeval as de
from dialogeval.corpora import catalog as entries
from dialogeval.exceptions import DialogevalError
from dialogeval.files import unpack, zip_members
from dialogeval.metrics.task import load_database
from dialogeval.ontology import ontology_of
from dialogeval.ontology.alignment import load_alignment, save_alignment
from dialogeval.ontology.mapping import map_predictions
from dialogeval.predictions.load import FORMATS, load_predictions
from dialogeval.predictions.writers import lost, save_predictions
from dialogeval.strict_json import parse_json
from dialogeval.tables import Corpus, Predictions

from .file_mutators import SEPARATOR, mutate_archive, mutate_csv, mutate_parquet, mutate_parts

_MEMORY = Path("/dev/shm")
_FOLDER = Path(tempfile.mkdtemp(prefix="fuzz-", dir=_MEMORY if _MEMORY.is_dir() else None))


class WrongError(AssertionError):
    """A reader accepted its input, and what it made of it is not what stands there."""


@dataclass(frozen=True)
class Target:
    """A reader, and the mutation that knows its files."""

    read: Callable[[bytes], None]
    mutate: Callable[..., bytes | None]


def _file(name: str, data: bytes) -> Path:
    path = _FOLDER / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def _files(names: tuple[str, ...], data: bytes) -> Path:
    """Write the parts of an input under their names, take away those it lacks, return the first."""
    parts = data.split(SEPARATOR)
    for name, part in zip(names, parts, strict=False):
        _file(name, part)
    for name in names[len(parts) :]:
        (_FOLDER / name).unlink(missing_ok=True)
    return _FOLDER / names[0]


# Predictions --------------------------------------------------------------------------------------


def _predictions(name: str, format: str | None) -> Callable[[bytes], None]:
    def read(data: bytes) -> None:
        use_predictions(load_predictions(_file(name, data), format))

    return read


def use_predictions(predictions: Predictions) -> None:
    repr(predictions)
    for note in predictions.notes:
        note.encode()
    format = "turns" if predictions.gold is None else predictions.format
    if lost(predictions, format):
        return
    again = load_predictions(save_predictions(predictions, _FOLDER / "again.json", format), format)
    for part in ("turns", "states", "responses", "active_domains"):
        _same(getattr(predictions, part), getattr(again, part), part)
    if predictions.gold is not None and again.gold is not None:
        _same(predictions.gold.states, again.gold.states, "gold states")
        layouts = [
            p.turns.merge(p.layouts, on="layout").drop(columns="layout")
            for p in (predictions.gold, again.gold)
        ]
        _same(layouts[0], layouts[1], "gold layouts")
    _same_value(predictions.original_ids, again.original_ids, "ids")


def _same(one: Any, other: Any, what: str) -> None:
    rows = [None if f is None else sorted(f.itertuples(index=False, name=None)) for f in (one, other)]
    _same_value(rows[0], rows[1], what)


def _same_value(one: Any, other: Any, what: str) -> None:
    if one != other:
        raise WrongError(f"written and read again, the {what} are others: {one!r:.300} and {other!r:.300}")


# Corpora ------------------------------------------------------------------------------------------


def _corpus(*names: str, split: str = "test") -> Callable[[bytes], None]:
    def read(data: bytes) -> None:
        gold = "sys_state" if len(data) % 3 == 0 else "sys_state_init"
        use_corpus(de.load_corpus(_files(names, data), split=split, gold=gold))

    return read


def use_corpus(corpus: Corpus) -> None:
    corpus._repr_html_().encode()
    if len(corpus.turns):
        corpus.select([corpus.turns["dialogue_id"].iloc[0]])
        known = set(corpus.dialogues["dialogue_id"])
        if not set(corpus.turns["dialogue_id"]) <= known:
            raise WrongError("turns of dialogues that are not listed")


def _archive_corpus(data: bytes) -> None:
    with suppress(DialogevalError):
        use_corpus(de.load_corpus(_file("archive.zip", data), split="val"))
    use_corpus(de.load_corpus(_file("archive.zip", data)))


# Files --------------------------------------------------------------------------------------------


def _unpack(data: bytes) -> None:
    with suppress(DialogevalError):
        unpack(data, "a.json.zip")
    for split in ("test.zip", "a.json.gz", "a.json"):
        with suppress(DialogevalError):
            unpack(data, split)
    for name, member in zip_members(data, "a.zip").items():
        if ".." in name.replace("\\", "/").split("/") or name.startswith("/"):
            raise WrongError(f"the name {name!r} leads out of its folder")
        with suppress(DialogevalError):
            member()


def _json(data: bytes) -> None:
    """Compare with the standard library, which must accept what we accept, and read the same."""
    value = parse_json(data, "a.json")
    twice: list[str] = []

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        twice.extend(k for k, _ in pairs if [q for q, _ in pairs].count(k) > 1) if len(pairs) < 500 else None
        return dict(pairs)

    other = json.loads(data.decode("utf-8-sig"), object_pairs_hook=unique, parse_int=_number)
    if twice:
        raise WrongError(f"the key {twice[0]!r} stands twice")
    if not _equal(value, other):
        raise WrongError(f"{value!r:.200} is not {other!r:.200}")
    json.dumps(value, ensure_ascii=False, allow_nan=False).encode()


def _number(text: str) -> float:
    return int(text) if len(text) < 25 and -(2**63) <= int(text) < 2**64 else float(text)


def _equal(a: Any, b: Any) -> bool:
    if type(a) is not type(b):
        return False
    if isinstance(a, dict):
        return list(a) == list(b) and all(_equal(v, b[k]) for k, v in a.items())
    if isinstance(a, list):
        return len(a) == len(b) and all(map(_equal, a, b))
    return a == b and (not isinstance(a, float) or math.copysign(1, a) == math.copysign(1, b))


# Tables beside corpora ----------------------------------------------------------------------------

_STATES = [["hotel", "area", "a"], ["Hotel", "name", "x"], ["hotel", "stars", "b"], ["a", "b", "c, d"]]


def _alignment(data: bytes) -> None:
    path = _files(("alignment/x__y.csv", "alignment/values/a.csv", "alignment/values/b.csv"), data)
    alignment = load_alignment(path)
    alignment.rows, repr(alignment)
    again = load_alignment(save_alignment(alignment, _FOLDER / "saved" / path.name))
    if again.checksum != alignment.checksum:
        raise WrongError("saved and read again, the alignment is another")
    states = [[*row[:2], value] for row in alignment.rows.values.tolist() for value in ("a", "b, c", "x")]
    document = {"A": [{"pr": [t for t in [*_STATES, *states[:40]] if all(t[:2])]}]}
    predictions = load_predictions(_file("states.json", json.dumps(document).encode()), "gt-pr")
    map_predictions(predictions, alignment)
    map_predictions(predictions, alignment.inverse())


def _ontology(data: bytes) -> None:
    path = _file("ontology.json", data)
    for source in ("auto", "file", "schema"):
        with suppress(DialogevalError):
            ontology_of(path, source)._repr_html_().encode()
    ontology_of(path)


def _database(data: bytes) -> None:
    path = _files(tuple(f"db/{d}_db.json" for d in ("hotel", "train", "restaurant", "attraction")), data)
    database = load_database(path.parent)
    for domain, table in database.tables.items():
        for row in table.head(2).to_dict("records"):
            database.fitting(domain, {str(field): value for field, value in row.items()})


def _catalog(data: bytes) -> None:
    entries._read_catalog.__wrapped__(_file("catalog.json", data))


TARGETS: dict[str, Target] = {
    **{f: Target(_predictions("system.json", f), mutate_parts) for f in FORMATS},
    "recognise": Target(_predictions("system.json", None), mutate_parts),
    "csv": Target(_predictions("system.csv", None), mutate_csv),
    "parquet": Target(_predictions("system.parquet", None), mutate_parquet),
    "multiwoz": Target(_corpus("mw/test.json", "mw/ontology.json"), mutate_parts),
    "crosswoz": Target(_corpus("cw/test.json", "cw/ontology.json"), mutate_parts),
    "schema-guided": Target(
        _corpus("sgd/test.json", "sgd/schema.json", "sgd/dialog_acts.json"), mutate_parts
    ),
    "unified": Target(_corpus("uni/test.json", "uni/ontology.json"), mutate_parts),
    "archive-corpus": Target(_archive_corpus, mutate_archive),
    "unpack": Target(_unpack, mutate_archive),
    "json": Target(_json, mutate_parts),
    "alignment": Target(_alignment, mutate_parts),
    "ontology": Target(_ontology, mutate_parts),
    "database": Target(_database, mutate_parts),
    "catalog": Target(_catalog, mutate_parts),
}

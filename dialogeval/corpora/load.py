"""Finding and reading a corpus: which files, which reader, which split.

In: a name of the catalog or a path of the user's. Out: a `Corpus` that knows where it came from.
The format is recognised from the content, here and nowhere else.
"""

from __future__ import annotations

import hashlib
import io
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from dialogeval.corpora import catalog, crosswoz, multiwoz, records, schema_guided, unified
from dialogeval.exceptions import CorpusError, DataFileError, UnknownNameError, UsageError, show
from dialogeval.files import collection_paused, raw_bytes, read_bytes, unpack, zip_members
from dialogeval.predictions.content import parsed
from dialogeval.strict_json import parse_json
from dialogeval.tables import Corpus, Source, canonical_id

__all__ = ["load_corpus"]

_READERS = {"multiwoz": multiwoz, "crosswoz": crosswoz, "schema_guided": schema_guided, "unified": unified}
#: Endings of tables and lists of turns that users make.
_TABLES = (".csv", ".tsv", ".jsonl", ".json", ".parquet", ".csv.gz", ".jsonl.gz", ".json.gz")
#: Files beside the dialogues that a reader can use.
_SIDE_FILES = ("ontology", "schema", "dialog_acts")
#: What the name of a file says of its format; the rest, as in ``MULTIWOZ2.4.zip``, names the corpus.
_ENDINGS = re.compile(r"(\.(json|jsonl|zip|gz))+$", re.IGNORECASE)
#: Beginnings of the names of files that an official archive is read from.
_OFFICIAL = ("data.json", "dialogues.json", "ontology.json", "testListFile", "valListFile")


def load_corpus(
    name_or_path: str | os.PathLike[str],
    split: str = "test",
    *,
    home: str | os.PathLike[str] | None = None,
    gold: str = "sys_state_init",
    strict: bool = False,
) -> Corpus:
    """Load one split of a corpus into tables.

    Parameters
    ----------
    name_or_path : str or path-like
        A name of the catalog (``multiwoz21``, ``sample/crosswoz_en``, …; see
        `dialogeval.corpora.catalog.catalog`), or a path: a file of one split, a folder of splits,
        an official ``MultiWOZ_2.1.zip``, a ``MultiWOZ_2.2`` folder, ConvLab's unified format, or turns
        of your own: ``turns.csv`` with ``states.csv``, JSON lines, ``test_dials.json``; see docs/corpora.md.
    split : str, default="test"
        ``train``, ``val`` (also ``validation`` or ``dev``), ``test``, or what the corpus has.
    home : path-like, optional
        Folder of the data; else ``$DIALOGEVAL_DATA``, else the user's cache folder.
    gold : {"sys_state_init", "sys_state"}
        CrossWOZ only: which of its two states is gold.
    strict : bool
        Refuse a corpus with a dialogue that cannot be read, instead of leaving it out with a note.

    Returns
    -------
    Corpus

    Raises
    ------
    UnknownNameError
        No such corpus or split.
    DataFileError
        A file is missing or cannot be read; the message names ``dialogeval fetch``.
    CorpusError
        A file does not follow its format.

    Examples
    --------
    >>> load_corpus("sample/crosswoz_en", split="test").language
    'en'
    """
    if not isinstance(name_or_path, (str, os.PathLike)):
        raise UsageError("corpus", expected="a name or a path", got=show(name_or_path))
    split = catalog.SPLITS.get(split, split)
    if gold not in crosswoz.GOLDS:
        raise UnknownNameError("gold state", gold, crosswoz.GOLDS)
    name = str(name_or_path)
    if not name.strip():
        raise UsageError("the name of the corpus is empty", mend="give a name or a path")
    with collection_paused():
        if isinstance(name_or_path, str) and name in catalog.catalog():
            return _load_known(name, split, home, gold, strict)
        if not Path(name_or_path).exists():
            mend = "or give the path of a file or folder that exists"
            raise UnknownNameError("corpus", name, catalog.catalog(), mend=mend)
        return _load_path(Path(name_or_path), split, gold, strict)


def _load_known(
    name: str, split: str, home: str | os.PathLike[str] | None, gold: str, strict: bool
) -> Corpus:
    entry = catalog.corpus_entry(name)
    if entry.family not in _READERS:
        raise UsageError(f"{name} holds predictions, not a corpus", mend="load it with load_predictions")
    raws: list[Any] = []
    digest, notes = hashlib.sha256(), []
    first = None
    for part, path in catalog.split_files(name, split, home).items():
        data = raw_bytes(path)
        sha = hashlib.sha256(data).hexdigest()
        expected = entry.files[part].sha256
        if expected and sha != expected:
            notes.append(f"{path.name} is not the published file (its SHA-256 begins with {sha[:7]})")
        digest.update(data)
        raws.append(_parse(unpack(data, path), path))
        first = first or entry.files[part]
    if first is None:
        raise UnknownNameError(f"split of {name}", split, entry.splits)
    source = Source(
        path=first.local,
        sha256=digest.hexdigest(),
        repository=first.repository,
        commit="" if notes else first.commit,
        licence=entry.licence,
        folder=str(path.parent),
    )
    described: dict[str, Any] = {
        "name": name,
        "version": entry.version,
        "split": split,
        "language": entry.language,
    }
    described["strict"] = strict
    parts = [part for part in _SIDE_FILES if part in entry.files]
    extra = {part: path for part in parts if (path := catalog.local_file(name, part, home)).exists()}
    corpus = _read(entry.family, raws, described, source, first.local, gold, extra)
    cautions = dict(corpus.cautions)
    if notes:
        cautions["any"] = (*notes, *cautions.get("any", ()))
    if entry.note and entry.published:
        notes.append(entry.note)
    return replace(corpus, notes=(*notes, *corpus.notes), cautions=cautions)


def _load_path(path: Path, split: str, gold: str, strict: bool) -> Corpus:
    """Load what the user points at: recognise the layout first, then the format."""
    name = path.resolve().name if path.is_dir() else _ENDINGS.sub("", path.name)
    described: dict[str, Any] = {"name": name or "corpus", "version": "", "split": split, "language": ""}
    described["strict"] = strict
    if path.is_dir():
        return _load_folder(path, split, gold, described)
    data = raw_bytes(path)
    if data[:4] == b"PK\x03\x04":
        members = zip_members(data, path)
        by_name = _by_name(members, path)
        if "data.json" in by_name and any(n.startswith("testListFile") for n in by_name):
            return _load_official(path, members, by_name, split, described)
        dialogues = by_name.get("dialogues.json", by_name.get("data.json"))
        if dialogues and "ontology.json" in by_name:
            raw = _parse(members[dialogues](), path)
            ontology = _parse(members[by_name["ontology.json"]](), path)
            source = Source(path=path.name, sha256=hashlib.sha256(data).hexdigest(), folder=str(path))
            return unified.read(
                raw, **described | {"language": "en"}, source=source, file=path, ontology=ontology
            )
    raw = _content(unpack(data, path), path)
    digest = hashlib.sha256(data).hexdigest()
    source = Source(path=path.name, sha256=digest, folder=str(path.parent))
    family = _recognize(raw)
    # A file of one split is that split, whatever the default of the argument says.
    own = _split_of(path)
    if family != "unified":
        if own != "all" and split not in ("test", own):
            mend = "name the file of that split, or leave the split out"
            raise UsageError(f"is the split {own}, not {split}", file=path, mend=mend)
        described["split"] = own
    return _read(family, [raw], described, source, path, gold, _side_files(path.parent))


def _load_folder(path: Path, split: str, gold: str, described: dict[str, Any]) -> Corpus:
    folder = {"val": "dev"}.get(split, split)
    parts = sorted(path.glob(f"{folder}/dialogues_*.json")) or sorted(path.glob(f"{split}/dialogues_*.json"))
    single = [path / f"{split}{ending}" for ending in (".json.zip", ".json", ".json.gz")]
    parts = parts or [p for p in single if p.exists()][:1]
    if not parts and (path / "data.zip").exists():
        return replace(
            _load_path(path / "data.zip", split, gold, described["strict"]), name=described["name"]
        )
    if not parts and (own := _own_files(path, split)):
        return _load_own(path, own, described)
    if not parts and (path / "data.json").exists():
        members = {p.name: partial(raw_bytes, p) for p in path.iterdir() if p.is_file()}
        if any(n.startswith("testListFile") for n in members):
            return _load_official(path, members, {n: n for n in members}, split, described)
        parts = [path / "data.json"]
    if not parts:
        seen = ", ".join(sorted(p.name for p in path.iterdir())[:8]) or "nothing"
        raise DataFileError(
            f"no files of split {split}",
            file=path,
            expected=f"{split}.json(.zip), {folder}/dialogues_*.json, data.json, data.zip, {split}_dials.json or "
            "turns.csv",
            got=seen,
        )
    raws, digest = [], hashlib.sha256()
    for part in parts:
        data = read_bytes(part)
        digest.update(data)
        raws.append(_content(data, part))
    source = Source(path=path.name, sha256=digest.hexdigest(), folder=str(path))
    # SGD has a schema in the folder of every split, MultiWOZ 2.2 one for all.
    side = _side_files(path) | _side_files(parts[0].parent)
    return _read(_recognize(raws[0]), raws, described, source, parts[0], gold, side)


def _side_files(folder: Path) -> dict[str, Path]:
    return {part: path for part in _SIDE_FILES if (path := folder / f"{part}.json").exists()}


def _load_official(
    path: Path, members: Any, by_name: dict[str, str], split: str, described: dict[str, Any]
) -> Corpus:
    """Read an official release: data.json with lists of the test and validation dialogues."""
    data = members[by_name["data.json"]]()
    raw = _parse(data, f"{path}:data.json")
    if not isinstance(raw, dict):
        raise CorpusError("data.json", file=path, expected="an object of dialogues", got=show(raw))
    lists = {}
    for part in ("test", "val"):
        found = [member for name, member in sorted(by_name.items()) if name.startswith(f"{part}ListFile")]
        if not found:
            raise DataFileError(
                f"no {part}ListFile beside data.json", file=path, mend="use the official archive"
            )
        lists[part] = _read_list(members[found[0]](), f"{path}:{found[0]}")
    if split not in ("train", "val", "test"):
        raise UnknownNameError(f"split of {path.name}", split, ("train", "val", "test"))
    if twice := lists["test"].keys() & lists["val"]:
        raise CorpusError(
            "stands in the lists of both test and val", file=path, dialogue=lists["test"][min(twice)]
        )
    ids = {canonical_id(i): i for i in raw}
    listed = lists["test"] | lists["val"]
    if unknown := listed.keys() - ids:
        raise CorpusError("listed but not in data.json", file=path, dialogue=listed[min(unknown)])
    keep = ids.keys() - listed if split == "train" else lists[split].keys()
    digest = hashlib.sha256(data).hexdigest()
    source = Source(path=path.name, sha256=digest, folder=str(path))
    chosen = {original: raw[original] for i, original in ids.items() if i in keep}
    return multiwoz.read(chosen, **described | {"language": "en"}, source=source, file=path)


def _by_name(members: Iterable[str], path: Path) -> dict[str, str]:
    """Return members by their names without folders; those that a corpus is made of must be unique."""
    found: dict[str, str] = {}
    for member in members:
        name = Path(member).name
        if name in found and name.startswith(_OFFICIAL):
            problem = f"zip holds both {found[name]} and {member}"
            raise DataFileError(problem, file=path, mend="keep one of them")
        found[name] = member
    return found


def _read_list(data: bytes, where: str) -> dict[str, str]:
    """Return the ids of a list, one a line or in a JSON list, by their canonical form."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataFileError(
            f"not UTF-8 at byte {error.start}", file=where, mend="use the official file"
        ) from None
    names = _parse(text.encode(), where) if text.lstrip().startswith("[") else text.splitlines()
    return {canonical_id(name): str(name).strip() for name in names if str(name).strip()}


def _parse(data: bytes, path: str | os.PathLike[str]) -> Any:
    return parse_json(data, path)


def _content(data: bytes, path: Path) -> Any:
    """Parse JSON, JSON lines or a table."""
    items = parsed(io.BufferedReader(io.BytesIO(data)), str(path)).items  # type: ignore[arg-type]
    return list(items) if isinstance(items, Iterator) else items


def _own_files(folder: Path, split: str) -> list[Path]:
    """Return the file of turns of the user's own making in a folder, and that of their states if there is one."""
    for base in (folder / split, folder):
        turns = [p for e in _TABLES for p in (base / f"turns{e}",) if p.exists()]
        states = [p for e in _TABLES for p in (base / f"states{e}",) if p.exists()]
        if turns:
            return [turns[0], *states[:1]]
    short = {"val": "dev"}.get(split, split)
    names = [f"{s}_dials.json" for s in (split, short)] + [f"{s}{e}" for s in (split, short) for e in _TABLES]
    return [folder / name for name in names if (folder / name).exists()][:1]


def _load_own(path: Path, files: Sequence[Path], described: dict[str, Any]) -> Corpus:
    """Load turns of the user's own making, whose states may stand in a file of their own."""
    data = [read_bytes(file) for file in files]
    contents = [_content(d, file) for d, file in zip(data, files, strict=True)]
    source = Source(path=path.name, sha256=hashlib.sha256(b"".join(data)).hexdigest(), folder=str(path))
    described = described | {"language": _language(contents[0])}
    beside = contents[1] if len(contents) > 1 else None
    corpus = records.read(contents[0], **described, source=source, file=files[0], states=beside)
    side = _side_files(path)
    if "ontology" not in side:
        return corpus
    ontology = multiwoz.read_ontology(
        _parse(read_bytes(side["ontology"]), side["ontology"]), side["ontology"]
    )
    return replace(corpus, ontology=ontology)


def _recognize(raw: Any) -> str:
    """Return the family that a file belongs to; what belongs to none is read turn by turn."""
    for family, reader in _READERS.items():
        if reader.looks_like(raw):
            return family
    return "records"


def _read(
    family: str,
    raws: list[Any],
    described: dict[str, Any],
    source: Source,
    file: str | os.PathLike[str],
    gold: str,
    extra: dict[str, Path],
) -> Corpus:
    described = described | {"language": described["language"] or _language(raws[0])}
    side = {part: _parse(read_bytes(path), path) for part, path in extra.items()}
    if family == "schema_guided":
        raw = [dialogue for part in raws for dialogue in part]
        return schema_guided.read(
            raw,
            **described,
            source=source,
            file=file,
            schema=side.get("schema"),
            dialog_acts=side.get("dialog_acts"),
        )
    if family == "unified":
        return unified.read(raws[0], **described, source=source, file=file, ontology=side.get("ontology"))
    if family == "records":
        corpus = records.read(raws[0], **described, source=source, file=file)
    elif family == "crosswoz":
        corpus = crosswoz.read(raws[0], **described, source=source, file=file, gold=gold)
    else:
        corpus = multiwoz.read(raws[0], **described, source=source, file=file)
    if "ontology" in side:
        corpus = replace(corpus, ontology=multiwoz.read_ontology(side["ontology"], extra["ontology"]))
    return corpus


def _language(raw: Any) -> str:
    """Guess the language of a user's file: Chinese if its beginning has Chinese characters."""
    beginning = str(raw if isinstance(raw, list) else dict(list(raw.items())[:1]))[:5000]
    return "zh" if any("\u4e00" <= c <= "\u9fff" for c in beginning) else "en"


def _split_of(path: Path) -> str:
    stem = path.name.split(".")[0].lower()
    return catalog.SPLITS.get(stem, stem) if stem in ("train", "test", "val", *catalog.SPLITS) else "all"


def as_corpus(gold: Corpus | str | os.PathLike[str] | None, split: str = "test") -> Corpus | None:
    """Return a corpus as it is, or load the one that a name or path stands for."""
    return load_corpus(gold, split) if isinstance(gold, (str, os.PathLike)) else gold

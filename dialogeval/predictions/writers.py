"""Writing predictions, and converting from one format to another without loss.

`Predictions` go in, a file comes out that `load_predictions` reads back to the same tables. What a
format cannot hold is named and nothing is written. The same tables always give the same bytes, and
a file appears whole or not at all.
"""

from __future__ import annotations

import gzip
import io
import os
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
import pandas as pd

from dialogeval.exceptions import UnknownNameError, UsageError
from dialogeval.predictions.load import FORMATS, load_predictions
from dialogeval.tables import Corpus, Predictions, turn_rows
from dialogeval.writing import write_whole


def document(predictions: Predictions, format: str) -> Any:
    """Return predictions as JSON data."""
    return _DOCUMENTS[format](_collect(predictions))


@dataclass
class _Turn:
    """One turn as the writers need it; a field is None where the predictions have none."""

    dialogue: str
    number: int
    state: list[list[str]] | None = None
    response: str | None = None
    domains: list[str] | None = None
    gold: list[list[str]] | None = None
    reference: str | None = None
    user: str | None = None


def _collect(predictions: Predictions) -> list[_Turn]:
    """Gather the tables by turn, in the order of ``predictions.turns``."""
    ids, numbers = (predictions.turns[c].tolist() for c in ("dialogue_id", "turn"))
    names = [predictions.original_ids.get(i, i) for i in ids]
    turns = [_Turn(name, number) for name, number in zip(names, numbers, strict=True)]
    by_key = dict(zip(zip(ids, numbers, strict=True), turns, strict=True))

    def rows(frame: pd.DataFrame) -> Any:
        return zip(*(frame[c].tolist() for c in frame.columns), strict=True)

    if predictions.states is not None:
        for turn in turns:
            turn.state = []
        for i, t, *triple in rows(predictions.states):
            by_key[i, t].state.append(triple)  # type: ignore[union-attr]
    if predictions.responses is not None:
        for i, t, response in rows(predictions.responses):
            by_key[i, t].response = response
    if predictions.active_domains is not None:
        for turn in turns:
            turn.domains = []
        for i, t, domain in rows(predictions.active_domains):
            by_key[i, t].domains.append(domain)  # type: ignore[union-attr]
    if predictions.gold is not None:
        _collect_gold(predictions.gold, by_key, rows)
    return turns


def _collect_gold(
    gold: Corpus, by_key: dict[tuple[str, int], _Turn], rows: Callable[[pd.DataFrame], Any]
) -> None:
    slots: dict[int, list[tuple[str, str]]] = {}
    for layout, domain, slot in rows(gold.layouts):
        slots.setdefault(layout, []).append((domain, slot))
    filled: dict[tuple[str, int], dict[tuple[str, str], list[str]]] = {}
    for i, t, domain, slot, value in rows(gold.states):
        filled.setdefault((i, t), {}).setdefault((domain, slot), []).append(value)
    for i, t, user, system, layout in rows(gold.turns):
        turn, values = by_key[i, t], filled.get((i, t), {})
        turn.user, turn.reference = user, system
        # A slot that is annotated but not filled is written with an empty value, as it was read.
        names = dict.fromkeys([*slots.get(layout, ()), *values])
        turn.gold = [[*name, value] for name in names for value in values.get(name, [""])]


def _nested(triples: list[list[str]]) -> dict[str, dict[str, str]]:
    out: dict[str, dict[str, str]] = {}
    for domain, slot, value in triples:
        out.setdefault(domain, {})[slot] = value
    return out


def _has_several(turns: list[_Turn]) -> bool:
    return any(len({(d, s) for d, s, _ in t.state or ()}) != len(t.state or ()) for t in turns)


def _pairs(turns: list[_Turn]) -> list[dict[str, Any]]:
    rows = []
    for t in turns:
        row: dict[str, Any] = {"dialogue_id": t.dialogue, "turn": t.number}
        row |= {"gold": t.gold, "pred": t.state} if t.state is not None else {}
        row |= {"reference": t.reference, "response": t.response} if t.response is not None else {}
        rows.append(row)
    return rows


def _turns(turns: list[_Turn]) -> list[dict[str, Any]]:
    shape = (lambda state: state) if _has_several(turns) else _nested
    return [{"dialogue_id": t.dialogue, "turn": t.number} | _fields(t, shape) for t in turns]


def _fields(turn: _Turn, shape: Callable[[list[list[str]]], Any] = _nested) -> dict[str, Any]:
    out: dict[str, Any] = {}
    if turn.response is not None:
        out["response"] = turn.response
    if turn.state is not None:
        out["state"] = shape(turn.state)
    if turn.domains is not None:
        out["active_domains"] = turn.domains
    return out


def _by_dialogue(turns: list[_Turn], cell: Callable[[_Turn], Any]) -> dict[str, list[Any]]:
    out: dict[str, list[Any]] = {}
    for t in turns:
        out.setdefault(t.dialogue, []).append(cell(t))
    return out


def _keyed(turns: list[_Turn], gold: str, predicted: str, item: Callable[[list[str]], Any]) -> dict[str, Any]:
    def cell(t: _Turn) -> dict[str, Any]:
        first = {} if t.gold is None else {gold: [item(x) for x in t.gold]}
        return first | {predicted: [item(x) for x in t.state or ()]}

    return {
        name: {str(i): c for i, c in enumerate(cells)} for name, cells in _by_dialogue(turns, cell).items()
    }


def _convlab(turns: list[_Turn]) -> list[dict[str, Any]]:
    out = []
    for t in turns:
        sample: dict[str, Any] = {"dialogue_id": t.dialogue, "utt_idx": 2 * t.number, "speaker": "user"}
        if t.gold is not None:
            sample |= {"utterance": t.user, "state": _nested(t.gold)}
        out.append(sample | {"predictions": {"state": _nested(t.state or [])}})
    return out


_DOCUMENTS: dict[str, Callable[[list[_Turn]], Any]] = {
    "pairs": _pairs,
    "turns": _turns,
    "mwzeval": lambda turns: _by_dialogue(turns, _fields),
    "dstc9": lambda turns: _by_dialogue(turns, lambda t: _nested(t.state or [])),
    "trade": lambda turns: _keyed(turns, "turn_belief", "pred_bs_ptr", "-".join),
    "convlab": _convlab,
    "gt-pr": lambda turns: _keyed(turns, "gt", "pr", list),
}


#: What each format can hold beside the ids: parts of `Predictions`, then shapes of states and turns.
_HOLDS: dict[str, set[str]] = {
    "pairs": {"states", "responses", "gold states", "references", "several values", "turn gaps"},
    "turns": {"states", "responses", "active domains", "several values", "turn gaps"},
    "mwzeval": {"states", "responses", "active domains"},
    "dstc9": {"states"},
    "trade": {"states", "gold states", "several values"},
    "convlab": {"states", "gold states", "user utterances", "turn gaps"},
    "gt-pr": {"states", "gold states", "several values"},
}
_TABULAR = (".csv", ".parquet")


def save_predictions(predictions: Predictions, path: str | os.PathLike[str], format: str) -> Path:
    """Write predictions to a file.

    Parameters
    ----------
    predictions : Predictions
    path : path-like
        Its ending chooses JSON, or for ``turns`` and ``pairs`` JSON lines, ``.csv`` or
        ``.parquet``; ``.gz`` or ``.zip`` after that compresses.
    format : str
        One of `FORMATS`.

    Returns
    -------
    pathlib.Path
        The file.

    Raises
    ------
    UsageError
        The format cannot hold all of it (see `lost`), or the path does not fit the format.
    UnknownNameError
        No such format.
    DataFileError
        The file cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> import dialogeval as de
    >>> states = pd.DataFrame([("a", 0, "hotel", "area", "north")])
    >>> states.columns = ["dialogue_id", "turn", "domain", "slot", "value"]
    >>> one = de.predictions_from(states, turns=states[["dialogue_id", "turn"]])
    >>> file = save_predictions(one, Path(tempfile.mkdtemp(), "b.json"), "dstc9")
    >>> file.read_text().split()
    ['{', '"a":', '[', '{', '"hotel":', '{', '"area":', '"north"', '}', '}', ']', '}']
    """
    path = Path(path)
    if format not in FORMATS:
        raise UnknownNameError("format", format, FORMATS)
    ending = _ending(path)
    if ending in _TABULAR and format not in ("turns", "pairs"):
        raise UsageError(
            f"format {format} is JSON", expected="a path that ends in .json", got=repr(path.name)
        )
    if predictions.states is None and predictions.responses is None:
        raise UsageError(f"{predictions.name} has nothing to write")
    if predictions.states is None and "responses" not in _HOLDS[format]:
        raise UsageError(f"{predictions.name} has no states to write in format {format}")
    if format == "pairs" and predictions.gold is None:
        raise UsageError(
            f"format pairs holds gold beside predictions, and {predictions.name} carries no gold"
        )
    for table in (predictions.states, predictions.responses, predictions.active_domains):
        if table is not None and (turn_rows(predictions.turns, table) < 0).any():
            mend = "give predictions_from the table of all turns"
            raise UsageError(f"{predictions.name} predicts turns that its table of turns lacks", mend=mend)
    missing = lost(predictions, format)
    if missing:
        raise UsageError(
            f"format {format} cannot hold all of {predictions.name}: it would lose {', '.join(missing)}",
            mend="choose another format",
        )
    return write_whole(path, _compress(_encode(document(predictions, format), format, ending), path))


def convert(
    predictions: Predictions | str | os.PathLike[str],
    path: str | os.PathLike[str],
    format: str,
    source_format: str | None = None,
) -> Path:
    """Write a prediction file, or predictions that are loaded already, in another format.

    Parameters
    ----------
    predictions : Predictions or path-like
    path, format
        As in `save_predictions`.
    source_format : str, optional
        Format of a file that is read; recognised from its content if not given.

    Returns
    -------
    pathlib.Path
        The file that was written.

    Raises
    ------
    UsageError, UnknownNameError, DataFileError, PredictionError
        As `load_predictions` and `save_predictions`.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> _ = (folder / "a.json").write_text('{"A": [{"hotel": {"area": "north"}}]}')
    >>> convert(folder / "a.json", folder / "a.jsonl", "turns").read_text()
    '{"dialogue_id":"A","turn":0,"state":{"hotel":{"area":"north"}}}\\n'
    """
    if not isinstance(predictions, Predictions):
        predictions = load_predictions(predictions, format=source_format)
    return save_predictions(predictions, path, format)


def lost(predictions: Predictions, format: str) -> list[str]:
    """Say what a format could not hold of some predictions."""
    holds, out = _HOLDS[format], []
    for part in ("states", "responses", "active_domains"):
        if getattr(predictions, part) is not None and part.replace("_", " ") not in holds:
            out.append(part.replace("_", " "))
    gold = predictions.gold
    if gold is not None:
        turns = gold.turns
        has = {
            "gold states": bool(len(gold.layouts) or len(gold.states)),
            "references": bool((turns["system"] != "").any()),
            "user utterances": bool((turns["user"] != "").any()),
        }
        home = {
            "gold states": predictions.states,
            "references": predictions.responses,
            "user utterances": turns,
        }
        out += [k for k, there in has.items() if there and (k not in holds or home[k] is None)]
        kinds = ("alternatives", "corrections", "goals", "acts", "spans", "bookings", "ontology")
        out += [f"gold {kind}" for kind in kinds if len(getattr(gold, kind))]
        if not turns[["dialogue_id", "turn"]].equals(predictions.turns):
            out.append("gold of other turns")
    if "several values" not in holds:
        for label, states in (("", predictions.states), ("gold ", None if gold is None else gold.states)):
            n = (
                0
                if states is None
                else int(states.duplicated(["dialogue_id", "turn", "domain", "slot"]).sum())
            )
            out += [f"{n:,} second {label}values of one slot"] * bool(n)
    turns = predictions.turns
    gaps = turns.loc[turns.groupby("dialogue_id", sort=False).cumcount() != turns["turn"], "dialogue_id"]
    if len(gaps) and "turn gaps" not in holds:
        out.append(
            f"the turn numbers of {gaps.nunique():,} dialogues that skip some (the first is {gaps.iloc[0]})"
        )
    return out + (_unsplittable(predictions) if format == "trade" else [])


def _unsplittable(predictions: Predictions) -> list[str]:
    """Names that "domain-slot-value" could not be split at again."""
    tables = [predictions.states] + ([] if predictions.gold is None else [predictions.gold.layouts])
    names = [t[c] for t in tables if t is not None for c in ("domain", "slot")]
    bad = sorted({n for column in names for n in column.unique() if "-" in n})
    return [f"names with a hyphen ({', '.join(map(repr, bad[:3]))})"] if bad else []


def _encode(content: Any, format: str, ending: str) -> bytes:
    if format not in ("turns", "pairs"):
        return orjson.dumps(content, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)
    if ending not in _TABULAR:
        return b"".join(orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE) for row in content)
    plain = ("dialogue_id", "turn", "response", "reference")
    rows = [{k: v if k in plain else orjson.dumps(v).decode() for k, v in row.items()} for row in content]
    buffer = io.BytesIO()
    if ending == ".parquet":
        import pyarrow
        from pyarrow import parquet

        parquet.write_table(pyarrow.Table.from_pylist(rows), buffer)
    else:
        import csv

        # Everything quoted: an empty response is a text, an unquoted empty cell would be no response.
        frame = pd.DataFrame(rows)
        frame.to_csv(buffer, index=False, quoting=csv.QUOTE_ALL, lineterminator="\n", encoding="utf-8")
    return buffer.getvalue()


def _ending(path: Path) -> str:
    suffixes = [s.lower() for s in path.suffixes if s.lower() not in (".gz", ".zip")]
    return suffixes[-1] if suffixes else ""


def _compress(data: bytes, path: Path) -> bytes:
    """Compress without a time stamp, so that the same content gives the same bytes."""
    if path.suffix.lower() == ".gz":
        return gzip.compress(data, mtime=0)
    if path.suffix.lower() == ".zip":
        buffer = io.BytesIO()
        member = zipfile.ZipInfo(path.stem if Path(path.stem).suffix else f"{path.stem}.json")
        member.compress_type = zipfile.ZIP_DEFLATED
        with zipfile.ZipFile(buffer, "w") as archive:
            archive.writestr(member, data)
        return buffer.getvalue()
    return data

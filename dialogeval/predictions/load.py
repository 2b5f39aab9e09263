"""Reading predictions: a file in any shape that is known in, `Predictions` out.

`content` tells JSON, JSON lines, tables and text apart by what is in the file, `records` finds the turns
and their fields, `tables` checks them and makes tables of them. What was recognised is said in
`Predictions.recognised`, what was assumed in `Predictions.notes`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

import pandas as pd

from dialogeval.exceptions import DialogevalError, PredictionError, UnknownNameError, UsageError, show
from dialogeval.files import collection_paused, open_data
from dialogeval.locate import locate_predictions
from dialogeval.predictions.columns import FROM_ONE, Columns
from dialogeval.predictions.content import parsed
from dialogeval.predictions.fields import FIELDS, Fields
from dialogeval.predictions.records import read
from dialogeval.tables import Corpus, Predictions, table

__all__ = ["FORMATS", "as_loaded", "in_corpus", "load_predictions", "system_name"]

#: Fields of a turn in the formats that can be named with ``format=``, and written.
FORMATS: dict[str, tuple[str, ...]] = {
    "pairs": ("gold", "pred", "reference", "response"),
    "turns": ("state", "response", "active_domains"),
    "mwzeval": ("state", "response", "active_domains"),
    "dstc9": (),
    "trade": ("turn_belief", "pred_bs_ptr"),
    "convlab": ("predictions", "state", "response", "utterance"),
    "gt-pr": ("gt", "pr"),
}
#: Endings that are no part of a system's name.
_ENDINGS = {"gz", "zip", "json", "jsonl", "ndjson", "csv", "tsv", "parquet", "txt", "submission", "predictions", *FORMATS}  # fmt: skip
_IN_ORDER = "in order"


def load_predictions(
    path: str | os.PathLike[str],
    format: str | None = None,
    name: str | None = None,
    *,
    fields: Mapping[str, str] | Iterable[str] | None = None,
    in_order: bool = False,
    unparsed: str = "error",
    home: str | os.PathLike[str] | None = None,
) -> Predictions:
    """Read what a system predicted.

    Parameters
    ----------
    path : path-like
        JSON, JSON lines, a table (CSV with any common separator, Parquet) or text, perhaps as ``.gz``
        or one-file ``.zip``; or a name such as ``sample/predictions/…`` or
        ``predictions/multiwoz/ubar``, see `dialogeval.locate`.
    format : str, optional
        One of `FORMATS`, to read the file in that format only; recognised from the content if not given.
    name : str, optional
        The system's name; the file's name without its endings if not given.
    fields : mapping of str to str, or iterable of "field=name", optional
        The file's own names of ``dialogue_id``, ``turn``, ``state``, ``gold``, ``response``,
        ``reference``, ``user`` or ``active_domains``, where they are not recognised; ``a.b`` is field b
        of field a. ``{"turn": "step-1"}`` takes numbers from 1, ``{"turn": "step/2"}`` numbers of
        utterances, ``{"turn": "step"}`` numbers as they are.
    in_order : bool
        The file has no dialogue ids (or no turns): its entries are the turns of the corpus in order.
    unparsed : str
        What to do when the text of a state follows no notation: ``error``, or ``empty`` to read it as
        an empty state; the number of such turns and three of them are shown.
    home : path-like, optional
        Folder of the data, for names of the catalog.

    Returns
    -------
    Predictions
        Dialogue ids in canonical form; slot names and values as in the file, empty values
        included; `Predictions.notes` says what was repaired, assumed or is not used.

    Raises
    ------
    DataFileError
        The file cannot be read or parsed.
    PredictionError
        No turns are recognised in it, or what a turn holds cannot be read.
    UnknownNameError
        No such format or field.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp(), "mine.json")
    >>> _ = file.write_text('{"SNG01.json": [{"response": "hello", "state": {"hotel": {"area": "north"}}}]}')
    >>> load_predictions(file)
    Predictions(mine: 1 dialogues, 1 turns; states, responses)
    """
    if not isinstance(path, (str, os.PathLike)):
        raise UsageError("predictions", expected="a name or a path", got=show(path))
    fields = dict(fields if isinstance(fields, Mapping) else map(_assignment, fields or ()))
    for kind, given, known in (("format", [format] if format else [], FORMATS), ("field", fields, FIELDS)):
        for unknown in [g for g in given if g not in known]:
            raise UnknownNameError(kind, unknown, known)
    if unparsed not in ("error", "empty"):
        raise UnknownNameError("way with unparsed states", unparsed, ("error", "empty"))
    path = locate_predictions(path, home)
    named, step = _numbering(fields)
    with collection_paused():
        found, label = _read(path, named, step, format, in_order, unparsed)
    return replace(found, name=name or system_name(path.name), format=label)


def _assignment(text: str) -> tuple[str, str]:
    field, mark, name = text.partition("=")
    if not mark:
        raise UsageError("field", expected="FIELD=NAME, such as state=belief_state", got=show(text))
    return field, name


def _read(
    path: Path, fields: dict[str, str], step: str, format: str | None, in_order: bool, unparsed: str
) -> tuple[Predictions, str]:
    """Return the predictions of a file and its format; what was parsed is gone before garbage is collected."""
    with open_data(path) as stream:
        content = parsed(stream, str(path))
        try:
            cells, found = read(content.items, fields, None if format is None else FORMATS[format])
            columns = Columns(str(path), content.unit, unparsed, in_order)
            columns.add(cells, found)
            label = _IN_ORDER if columns.without_ids else format or _label(found)
            return columns.predictions(found, step), label
        except DialogevalError as error:
            raise error if error.file else _in_file(error, str(path)) from None


def _in_file(error: DialogevalError, file: str) -> DialogevalError:
    """Return an error with the file that it is about."""
    if isinstance(error, UnknownNameError):
        return error
    said = {n: getattr(error, n) for n in ("dialogue", "turn", "expected", "got", "mend")}
    return type(error)(error.problem, file=file, **said)


def _label(found: Fields) -> str:
    """Return the name of the format that a file follows to the letter, or what its shape is called."""
    named = {
        f: ".".join(p) for f, p in found.paths.items() if f in ("state", "response", "gold", "reference")
    }
    states, texts = named.get("state"), named.get("response")
    if found.kind == "bare" and found.turns.shape == "dialogues by id" and not texts:
        return "dstc9"
    if states in ("predictions.state", "pred_bs_ptr", "pr"):
        return {"predictions.state": "convlab", "pred_bs_ptr": "trade", "pr": "gt-pr"}[states]
    rows = found.turns.shape == "rows"
    if (
        rows
        and states in ("pred", None)
        and named.get("gold") in ("gold", None)
        and len(named) in (2, 4)
        and texts in ("response", None)
    ):
        return "pairs"
    if (
        (named and states in ("state", None))
        and texts in ("response", None)
        and named.keys() <= {"state", "response"}
    ):
        return "turns" if rows else "mwzeval" if found.turns.shape == "dialogues by id" else "convlab"
    return found.turns.shape


def _numbering(fields: dict[str, str]) -> tuple[dict[str, str], str]:
    """Part {"turn": "step-1"} into the name of a field and what is done with its numbers."""
    match = re.fullmatch(r"(.*?)(-1|//?2)?", fields.get("turn", ""))
    name, step = match.groups()  # type: ignore[union-attr]
    if name:
        return fields | {"turn": name}, step or "as it is"
    return {k: v for k, v in fields.items() if k != "turn"}, step or ""


def as_loaded(predictions: Predictions | str | os.PathLike[str]) -> Predictions:
    """Return predictions as they are, or load those of a file."""
    return predictions if isinstance(predictions, Predictions) else load_predictions(predictions)


def in_corpus(predictions: Predictions, gold: Corpus) -> Predictions:
    """Give predictions without dialogue ids those of the corpus, in its order."""
    if predictions.format != _IN_ORDER:
        _check_first(predictions, gold)
        return predictions
    n, expected = len(predictions.turns), len(gold.turns)
    if n != expected:
        raise PredictionError(
            f"{n:,} entries in order for {expected:,} turns of {gold.id}", file=predictions.path,
            mend="give one entry a turn, or a file with dialogue ids and turns",
        )  # fmt: skip
    places = gold.turns[["dialogue_id", "turn"]].reset_index(drop=True)

    def placed(frame: pd.DataFrame | None) -> pd.DataFrame | None:
        if frame is None:
            return None
        here = places.take(frame["turn"].to_numpy()).reset_index(drop=True)
        return pd.concat([here, frame.drop(columns=["dialogue_id", "turn"]).reset_index(drop=True)], axis=1)

    own = predictions.gold
    if own is not None:
        turns, states = placed(own.turns), placed(own.states)
        dialogues = table("dialogues", [(i, i, "") for i in places["dialogue_id"].unique()])
        own = replace(own, turns=turns, states=states, dialogues=dialogues)  # type: ignore[arg-type]
    names = dict(zip(gold.dialogues["dialogue_id"], gold.dialogues["original_id"], strict=True))
    return replace(
        predictions,
        turns=places,
        states=placed(predictions.states),
        responses=placed(predictions.responses),
        active_domains=placed(predictions.active_domains),
        gold=own,
        original_ids=names,
        format="placed",
    )


def _check_first(predictions: Predictions, gold: Corpus) -> None:
    """Refuse numbers from 1 that the corpus shows to be numbers from 0 of dialogues that lack their first turn."""
    if FROM_ONE not in predictions.notes:
        return
    last = predictions.turns.groupby("dialogue_id")["turn"].max()
    lacking = gold.turns.groupby("dialogue_id")["turn"].max().reindex(last.index).dropna() - last
    if len(lacking) and (lacking >= 1).all() and (lacking == 1).mean() > 0.9:
        raise PredictionError(
            "turns are numbered from 1, or all dialogues lack their first turn",
            file=predictions.path,
            mend='say which with fields={"turn": "NAME-1"} or {"turn": "NAME"}, NAME being the field of the number',
        )


def system_name(file: str) -> str:
    """Return a file's name without the endings that tell formats, so that ``gpt-3.5.json`` keeps its 5."""
    name = file
    while "." in name and name.rsplit(".", 1)[1].lower() in _ENDINGS and name.rsplit(".", 1)[0]:
        name = name.rsplit(".", 1)[0]
    return name

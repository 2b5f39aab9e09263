"""Checks of tables that a user made, once, at the border.

In: a data frame. Out: the same content with the columns, order and dtypes of `COLUMNS`, or one line
that says what is wrong with it.
"""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

import numpy as np
import pandas as pd

from dialogeval.exceptions import CorpusError, PredictionError, UsageError, show

_STATE = ("dialogue_id", "turn", "domain", "slot", "value")

#: Columns of every table. ``turn``, ``layout``, ``start`` and ``end`` are integers, all else strings.
COLUMNS: dict[str, tuple[str, ...]] = {
    "dialogues": ("dialogue_id", "original_id", "type"),
    "turns": ("dialogue_id", "turn", "user", "system", "layout"),
    "states": _STATE,
    "alternatives": _STATE,
    "corrections": _STATE,
    "layouts": ("layout", "domain", "slot"),
    "goals": ("dialogue_id", "domain", "kind", "slot", "value"),
    "acts": ("dialogue_id", "turn", "speaker", "domain", "act", "slot", "value"),
    "spans": ("dialogue_id", "turn", "speaker", "domain", "act", "slot", "value", "start", "end"),
    "bookings": ("dialogue_id", "turn", "domain"),
    "ontology": ("domain", "slot", "value"),
    "schema": ("domain", "slot", "kind"),
    "responses": ("dialogue_id", "turn", "response"),
    "active_domains": ("dialogue_id", "turn", "domain"),
    "predicted_turns": ("dialogue_id", "turn"),
}
INTEGERS = {"turn", "layout", "start", "end"}


def canonical_id(name: object) -> str:
    """Return a dialogue id as it is compared: lower case, without a ``.json`` ending."""
    return str(name).strip().lower().removesuffix(".json")


def table(kind: str, columns: Mapping[str, Sequence[Any]] | Sequence[Sequence[Any]] = ()) -> pd.DataFrame:
    """Build one of the tables of `COLUMNS` with its dtypes, also when it is empty.

    Parameters
    ----------
    kind : str
        A key of `COLUMNS`.
    columns : mapping of str to sequence, or sequence of rows
        Columns by name, or rows as tuples in the order of `COLUMNS`.

    Returns
    -------
    pandas.DataFrame
        Integer columns as int64, all else as pandas strings.

    Examples
    --------
    >>> table("states", [("d1", 0, "hotel", "area", "north")]).dtypes["turn"]
    dtype('int64')
    >>> len(table("states"))
    0
    """
    if not len(columns):
        return _empty(kind).copy()
    if not isinstance(columns, Mapping):
        columns = dict(zip(COLUMNS[kind], zip(*columns, strict=True), strict=True))
    return _typed({n: columns[n] for n in COLUMNS[kind]})


@cache
def _empty(kind: str) -> pd.DataFrame:  # made once: every corpus has empty tables
    return _typed(dict.fromkeys(COLUMNS[kind], ()))


def _typed(of: Mapping[str, Sequence[Any]]) -> pd.DataFrame:
    return pd.DataFrame({n: pd.Series(v, dtype="int64" if n in INTEGERS else "str") for n, v in of.items()})


@dataclass(frozen=True)
class Source:
    """Where a corpus comes from."""

    path: str = ""
    sha256: str = ""
    repository: str = ""
    commit: str = ""
    licence: str = ""
    folder: str = field(default="", repr=False, compare=False)

    @property
    def version(self) -> str:
        """Seven digits that tell versions apart: of the commit, else of the checksum."""
        return (self.commit or self.sha256 or "unknown")[:7]


@dataclass(frozen=True)
class Corpus:
    """A split of a corpus as tables; see `COLUMNS` for their columns.

    Parameters
    ----------
    name, version, split, language : str
        Such as ``multiwoz21``, ``2.1``, ``test``, ``en``.
    family : str
        The reader's family: ``multiwoz``, ``crosswoz``, ``schema_guided``, ``unified``, ``pairs``.
    dialogues, turns, states : pandas.DataFrame
        ``states`` holds filled slots only; values are those of the file.
    alternatives, corrections : pandas.DataFrame
        Gold values beside ``states``: further values that count as right under protocol
        ``dstc9`` (any member of a list of offered names), and the organisers' corrected names of
        ``dstc9-corrected``.
    layouts : pandas.DataFrame
        The (domain, slot) pairs annotated in a turn, filled or not; ``turns.layout`` points here. A
        layout that no turn has names what the ontology knows beside them.
    goals, acts, spans, bookings, ontology : pandas.DataFrame
        Empty where the corpus has none.
    schema : pandas.DataFrame
        Slots of a schema with their kind, ``categorical`` or ``free``; empty where there is none.
    source : Source
    notes : tuple of str
        What the reader had to say: repairs, things left out, with counts.
    cautions : dict of str to tuple of str
        Those notes that change what a score means, which every such score repeats as a warning: of
        ``any`` task, ``state`` (any score of states), ``per-turn`` (scores that take states for
        cumulative), ``slots`` (scores that need to know all slots), ``references`` (scores on
        delexicalised references) and ``task`` (Inform and Success).

    Examples
    --------
    >>> Corpus("toy").id
    'toy/all@unknown'
    """

    name: str
    version: str = ""
    split: str = "all"
    language: str = "en"
    family: str = ""
    dialogues: pd.DataFrame = field(default_factory=lambda: table("dialogues"))
    turns: pd.DataFrame = field(default_factory=lambda: table("turns"))
    states: pd.DataFrame = field(default_factory=lambda: table("states"))
    alternatives: pd.DataFrame = field(default_factory=lambda: table("alternatives"))
    corrections: pd.DataFrame = field(default_factory=lambda: table("corrections"))
    layouts: pd.DataFrame = field(default_factory=lambda: table("layouts"))
    goals: pd.DataFrame = field(default_factory=lambda: table("goals"))
    acts: pd.DataFrame = field(default_factory=lambda: table("acts"))
    spans: pd.DataFrame = field(default_factory=lambda: table("spans"))
    bookings: pd.DataFrame = field(default_factory=lambda: table("bookings"))
    ontology: pd.DataFrame = field(default_factory=lambda: table("ontology"))
    schema: pd.DataFrame = field(default_factory=lambda: table("schema"))
    source: Source = field(default_factory=Source)
    notes: tuple[str, ...] = ()
    cautions: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for kind in COLUMNS:
            if not isinstance(frame := getattr(self, kind, self.turns), pd.DataFrame):
                raise UsageError(f"table {kind} of {self.name}", expected="a DataFrame", got=show(frame))
        if "layout" not in self.turns:  # a table of one's own says nothing about annotated slots
            object.__setattr__(self, "turns", self.turns.assign(layout=0))
        for kind, names in COLUMNS.items():
            columns = getattr(getattr(self, kind, None), "columns", names)
            if not {*names} <= {*columns}:
                raise UsageError(
                    f"table {kind} of {self.name}", expected=", ".join(names), got=", ".join(columns)
                )

    @property
    def id(self) -> str:
        """The corpus as a signature names it, such as ``crosswoz_en/test@b014b81``."""
        return f"{self.name}/{self.split}@{self.source.version}"

    def summary(self) -> pd.DataFrame:
        """Counts of the corpus as a table with one row a quantity (index) and the column ``count``."""
        filled = self.states[["dialogue_id", "turn"]].drop_duplicates()
        counts = {
            "dialogues": len(self.dialogues),
            "turns": len(self.turns),
            "utterances": 2 * len(self.turns),
            "turns with an empty state": len(self.turns) - len(filled),
            "state triples": len(self.states),
            "domains": self.states["domain"].nunique(),
            "slots (domain, slot)": len(self.states[["domain", "slot"]].drop_duplicates()),
            "slot values": len(self.states[["domain", "slot", "value"]].drop_duplicates()),
            "goal slots": len(self.goals),
            "dialogue acts": len(self.acts),
            "spans": len(self.spans),
        }
        return pd.DataFrame({"count": pd.Series(counts, dtype="int64")}).rename_axis("quantity")

    def select(self, dialogue_ids: Sequence[str]) -> Corpus:
        """Return the corpus restricted to some dialogues, all tables alike."""
        wanted = {canonical_id(i) for i in dialogue_ids}
        unknown = wanted - set(self.dialogues["dialogue_id"])
        if unknown:
            raise CorpusError("no such dialogue", file=self.id, dialogue=min(unknown))
        changed = {}
        for kind, names in COLUMNS.items():
            frame = getattr(self, kind, None)
            if frame is not None and "dialogue_id" in names:
                changed[kind] = frame[frame["dialogue_id"].isin(wanted)].reset_index(drop=True)
        return replace(self, **changed)

    def __repr__(self) -> str:
        return (
            f"Corpus({self.id}: {len(self.dialogues):,} dialogues, {len(self.turns):,} turns, "
            f"{len(self.states):,} state triples, language {self.language})"
        )

    def _repr_html_(self) -> str:
        notes = "".join(f"<li>{html.escape(n)}</li>" for n in self.notes)
        return (
            f"<p><b>{html.escape(self.id)}</b> ({html.escape(self.language)}; "
            f"licence {html.escape(self.source.licence or 'not stated')})</p>"
            + self.summary().to_html(border=0)
            + (f"<ul>{notes}</ul>" if notes else "")
        )


@dataclass(frozen=True)
class Predictions:
    """What a system predicted, as tables.

    Parameters
    ----------
    name : str
        The system's name.
    turns : pandas.DataFrame
        (dialogue_id, turn) of every turn of the file, also those with an empty state.
    states, responses : pandas.DataFrame or None
        None when the file has no states (responses) at all. Slot names and values are the file's
        own, empty values included: what counts as empty is for a protocol to say.
    active_domains : pandas.DataFrame or None
    gold : Corpus or None
        The gold that the file itself carries (formats ``pairs``, ``trade``, ``gt-pr``, ``convlab``).
    original_ids : dict
        Dialogue id as in the file, by canonical id.
    format, path : str
    notes : tuple of str
        What the reader had to say, with counts.
    changes : tuple of str
        What was done to the file's content, as signatures say it, such as ``responses:value-search``.

    Examples
    --------
    >>> Predictions("none")
    Predictions(none: 0 dialogues, 0 turns; nothing)
    """

    name: str
    turns: pd.DataFrame = field(default_factory=lambda: table("predicted_turns"))
    states: pd.DataFrame | None = None
    responses: pd.DataFrame | None = None
    active_domains: pd.DataFrame | None = None
    gold: Corpus | None = None
    original_ids: dict[str, str] = field(default_factory=dict)
    format: str = ""
    path: str = ""
    notes: tuple[str, ...] = ()
    changes: tuple[str, ...] = ()
    recognised: str = ""

    def __repr__(self) -> str:
        has = [k for k in ("states", "responses", "active_domains") if getattr(self, k) is not None]
        return (
            f"Predictions({self.name}: {self.turns['dialogue_id'].nunique():,} dialogues, "
            f"{len(self.turns):,} turns; {', '.join(has) or 'nothing'})"
        )

    def _repr_html_(self) -> str:
        return f"<p>{html.escape(repr(self))}</p>"


def as_predictions(corpus: Corpus, name: str = "gold") -> Predictions:
    """Return a corpus's own states and system utterances as if a system had predicted them.

    Parameters
    ----------
    corpus : Corpus
    name : str
        The system's name.

    Returns
    -------
    Predictions
        Responses are lexicalised: the utterances as they stand in the corpus.

    Examples
    --------
    >>> as_predictions(Corpus("toy")).name
    'gold'
    """
    return Predictions(
        name=name,
        turns=corpus.turns[["dialogue_id", "turn"]],
        states=corpus.states,
        responses=corpus.turns[["dialogue_id", "turn", "system"]].rename(columns={"system": "response"}),
        original_ids=dict(zip(corpus.dialogues["dialogue_id"], corpus.dialogues["original_id"], strict=True)),
        format="corpus",
    )


def turn_rows(turns: pd.DataFrame, table: pd.DataFrame) -> np.ndarray:
    """Return for each row of a table the place of its turn among distinct turns, -1 where it is not there."""
    dialogue, ids = pd.factorize(turns["dialogue_id"])
    own, names = pd.factorize(table["dialogue_id"])
    number, numbers = turns["turn"].to_numpy(), table["turn"].to_numpy()
    width = 1 + max(number.max(initial=0), numbers.max(initial=0))
    known = ids.get_indexer(names)[own]
    places = pd.Index(dialogue * width + number)
    return places.get_indexer(np.where(known < 0, -1, known * width + numbers))


def check_table(kind: str, frame: pd.DataFrame, where: str = "table") -> pd.DataFrame:
    """Check a table that a user made and return it with the right columns, order and dtypes."""
    names = COLUMNS[kind]
    optional = {"layout"}
    missing = [n for n in names if n not in frame.columns and n not in optional]
    if missing:
        raise PredictionError(
            f"table {kind} lacks the column{'s' * (len(missing) > 1)} {', '.join(missing)}",
            file=where,
            expected=", ".join(n for n in names if n not in optional),
            got=", ".join(map(str, frame.columns)),
        )
    out: dict[str, pd.Series] = {}
    for name in names:
        column = frame[name] if name in frame.columns else pd.Series(0, index=frame.index)
        if column.isna().any():
            row = int(column.isna().to_numpy().argmax())
            raise PredictionError(f"column {name}, row {row} is empty (NaN)", file=where, mend="fill it in")
        if name in INTEGERS:
            numbers = pd.to_numeric(column, errors="coerce")
            bad = numbers.isna() | (numbers < 0) | (numbers % 1 != 0)
            if bad.any():
                got = show(column[bad].tolist()[0])
                raise PredictionError(f"column {name}", file=where, expected="whole numbers from 0", got=got)
            out[name] = numbers.astype("int64")
        else:
            out[name] = column.astype("str")
    result = pd.DataFrame(out).reset_index(drop=True)
    if "dialogue_id" in result:
        ids = result["dialogue_id"]
        result["dialogue_id"] = ids.map({i: canonical_id(i) for i in ids.unique()}).astype("str")
    if kind in ("turns", "responses", "predicted_turns"):
        twice = result.duplicated(["dialogue_id", "turn"])
        if twice.any():
            first = result[twice].iloc[0]
            raise PredictionError(
                "stands twice",
                file=where,
                dialogue=first["dialogue_id"],
                turn=first["turn"],
                mend="keep one row",
            )
    return result


def predictions_from(
    states: pd.DataFrame | None = None,
    responses: pd.DataFrame | None = None,
    *,
    turns: pd.DataFrame | None = None,
    name: str = "system",
) -> Predictions:
    """Make predictions of tables instead of a file.

    Parameters
    ----------
    states : pandas.DataFrame, optional
        Columns dialogue_id, turn, domain, slot, value; one row a predicted triple.
    responses : pandas.DataFrame, optional
        Columns dialogue_id, turn, response.
    turns : pandas.DataFrame, optional
        Columns dialogue_id, turn: all turns that were predicted. Needed with ``states`` alone, where
        a turn with an empty state has no row.
    name : str

    Returns
    -------
    Predictions

    Raises
    ------
    PredictionError
        A column is missing or holds what it cannot.
    UsageError
        Neither states nor responses, or states without turns.

    Examples
    --------
    >>> states = pd.DataFrame({"dialogue_id": ["D1"], "turn": [1], "domain": ["hotel"], "slot": ["area"],
    ...                        "value": ["north"]})
    >>> turns = pd.DataFrame({"dialogue_id": ["D1", "D1"], "turn": [0, 1]})
    >>> predictions_from(states, turns=turns)
    Predictions(system: 1 dialogues, 2 turns; states)
    """
    if states is None and responses is None:
        raise UsageError("no predictions", expected="a table of states, of responses, or both")
    for what, frame in (("states", states), ("responses", responses), ("turns", turns)):
        if frame is not None and not isinstance(frame, pd.DataFrame):
            raise UsageError(what, expected="a pandas.DataFrame", got=show(frame))
    source = turns if turns is not None else responses
    if source is None:
        raise UsageError(
            "states without turns", mend="give turns: a turn with an empty state has no row in states"
        )
    return Predictions(
        name=name,
        turns=check_table("predicted_turns", source, name),
        states=None if states is None else check_table("states", states, name),
        responses=None if responses is None else check_table("responses", responses, name),
        format="table",
    )

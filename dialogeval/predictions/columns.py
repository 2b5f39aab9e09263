"""From records to tables: untrusted fields of turns in, `Predictions` out.

States become integer codes of distinct triples as they are read, so that a million turns take no more
memory than their codes and their distinct texts. All checks that do not depend on the shape of the file
stand here: ids that name one dialogue twice, turns that stand twice, fields that only some turns have,
texts that are not text, numbers of turns that begin at 1 or count utterances.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice, pairwise
from typing import Any

import numpy as np
import pandas as pd

from dialogeval.exceptions import PredictionError, show
from dialogeval.predictions.fields import Fields
from dialogeval.predictions.syntaxes import INNER, REPAIRS, Triple, UnparsedError, literal, triples
from dialogeval.predictions.turns import ABSENT, Cell, outline
from dialogeval.tables import Corpus, Predictions, Source, canonical_id, table

__all__ = ["FROM_ONE", "Columns"]

#: Turns a dialogue may have; a number past this is a mistake, not a dialogue.
MAX_TURNS = 100_000
#: What is said where numbers of turns begin at 1.
FROM_ONE = 'turns are numbered from 1 in all dialogues and read as 0, 1, 2, …; fields={"turn": …} keeps them'
_CHUNK = 1_000
_TEXTS = ("response", "reference", "user")
#: Half of a character, which a state written as text within JSON or a table may hold.
_HALF = re.compile("[\ud800-\udfff]")


class _Triples(dict[Triple, int]):
    """Codes of distinct triples."""

    def __missing__(self, triple: Triple) -> int:
        # Only what is new is checked: a million turns hold few different triples.
        if not all(type(part) is str for part in triple) or triple[0] in INNER:
            raise TypeError
        if not triple[0].strip() or not triple[1].strip():
            raise PredictionError("an empty name of a domain or slot", got=show(list(triple)))
        if any(map(_HALF.search, triple)):
            raise PredictionError(
                "the state", expected="text", got=f"half a surrogate pair in {show(triple[2])}"
            )
        self[triple] = code = len(self)
        return code


class Columns:
    """The columns of a prediction file, filled some thousand turns at a time."""

    def __init__(self, file: str, unit: str, unparsed: str, in_order: bool) -> None:
        self.file, self.unit, self.unparsed, self.in_order = file, unit, unparsed, in_order
        self.without_ids = False
        self.codes = {"state": _Triples(), "gold": _Triples()}
        self.parts: dict[str, list[Any]] = defaultdict(list)
        self.names: dict[str, str] = {}
        self.known: dict[Any, int] = {}
        self.repairs: Counter[str] = Counter()
        self.failed: list[str] = []
        self.seen: Counter[Any] = Counter()
        self.total = 0

    def add(self, cells: Iterator[Cell], fields: Fields) -> None:
        """Take in all turns."""
        while chunk := list(islice(cells, _CHUNK)):
            self._places(chunk)
            found = fields.columns(chunk)
            for field, column in found.items():
                part = self.parts[field]
                if not self._is_given(field, column, chunk):
                    continue
                if field in self.codes:
                    sizes, codes = self._states(field, column, chunk)
                    self.parts[f"n {field}"].append(sizes)
                    part.append(codes)
                elif field == "active_domains":
                    part += [self._domains(d, cell) for d, cell in zip(column, chunk, strict=True)]
                else:
                    part += self._texts(field, column, chunk)
            self.total += len(chunk)
        if self.failed and self.unparsed == "error":
            raise UnparsedError(
                f"the states of {len(self.failed):,} of {self.total:,} turns follow no known notation",
                got="; ".join(self.failed[:3]),
                mend='unparsed="empty" (--unparsed empty) scores them as empty',
            )

    def _is_given(self, field: str, column: Sequence[Any], chunk: list[Cell]) -> bool:
        """Tell whether all turns have a field or none; a mix is refused."""
        blank = (ABSENT, None) if field == "active_domains" else (ABSENT,)  # null: none was predicted
        lacking = [value in blank for value in column] if any(b in column for b in blank) else []
        some = self.seen[field] if all(lacking) and lacking else self.total
        if not lacking and self.seen[field] == self.total:
            self.seen[field] += len(chunk)
            return True
        if field == "user" or (lacking and all(lacking) and not some):
            return False
        raise PredictionError(
            f"has no {field}, but other turns have one",
            **self._where(chunk[lacking.index(True) if lacking else 0]),
            mend=f"give every turn its {field}, or none",
        )

    def _where(self, cell: Cell) -> dict[str, Any]:
        identity, turn, _, line = cell
        place = f"{self.file}, {self.unit} {line}" if line else self.file
        return {
            "file": place,
            "dialogue": None if identity is ABSENT else str(identity),
            "turn": turn if type(turn) is int else None,
        }

    def _places(self, chunk: list[Cell]) -> None:
        """Take in ids and numbers of turns."""
        ids, turns, _, lines = zip(*chunk, strict=True)
        if self.in_order:
            ids, turns = self._ordered(ids, turns)
        try:
            codes = [self.known[i] for i in ids]
        except (KeyError, TypeError):
            codes = [self._code_of(i, cell) for i, cell in zip(ids, chunk, strict=True)]
        if not self.without_ids and (
            set(map(type, turns)) != {int} or min(turns) < 0 or max(turns) >= MAX_TURNS
        ):
            self._refuse_turn(chunk)
        self.parts["dialogue_id"].append(np.array(codes, dtype="int64"))
        self.parts["turn"].append(np.array(turns, dtype="int64"))
        self.parts["line"].append(np.array(lines, dtype="int64"))

    def _refuse_turn(self, chunk: list[Cell]) -> None:
        wrong = next(c for c in chunk if type(c[1]) is not int or not 0 <= c[1] < MAX_TURNS)
        if wrong[1] is ABSENT:
            raise PredictionError(
                "no number of the turn",
                **self._where(wrong),
                expected="a field such as turn_id, or ids such as mul0001-2",
                mend='name it with fields={"turn": …}, or give in_order=True (--in-order)',
            )
        expected = f"a whole number from 0 to {MAX_TURNS - 1:,}"
        raise PredictionError("turn", **self._where(wrong), expected=expected, got=show(wrong[1]))

    def _ordered(self, ids: tuple[Any, ...], turns: tuple[Any, ...]) -> tuple[Any, Any]:
        """Number the turns of each dialogue in order, or all of them where there are no ids."""
        if all(i is not ABSENT for i in ids) and any(t is ABSENT for t in turns):
            numbers = []
            for i in ids:
                numbers.append(self.seen["turns of", i])
                self.seen["turns of", i] += 1
            return ids, numbers
        self.without_ids = True
        return [_IN_ORDER] * len(ids), range(self.total, self.total + len(ids))

    def _code_of(self, given: Any, cell: Cell) -> int:
        """Return the number of a dialogue."""
        if given is ABSENT:
            raise PredictionError(
                "no dialogue id",
                file=self._where(cell)["file"],
                expected="a field such as dialogue_id",
                got=outline(cell[2]),
                mend='name it with fields={"dialogue_id": …}; in_order=True (--in-order) takes the entries '
                "in the order of the corpus",
            )
        if isinstance(given, (str, int)) and given in self.known:
            return self.known[given]
        place = {"file": self._where(cell)["file"]}
        if isinstance(given, bool) or not isinstance(given, (str, int)) or not canonical_id(given).strip():
            raise PredictionError("dialogue_id", **place, expected="a string", got=show(given))
        name = canonical_id(given)
        other = self.names.setdefault(name, str(given))
        if other != str(given):
            raise PredictionError(
                f"{other} and {given} name the same dialogue", **place, mend="keep one of the two"
            )
        self.known[given] = len(self.names) - 1
        return self.known[given]

    def _states(self, field: str, states: Sequence[Any], chunk: list[Cell]) -> tuple[np.ndarray, np.ndarray]:
        """Return how many triples each state has, and their codes."""
        codes = self.codes[field]
        try:
            return _fast(states, codes)
        except (TypeError, AttributeError, ValueError, PredictionError):
            pass
        sizes, out = [], []
        for state, cell in zip(states, chunk, strict=True):
            try:
                found = triples(state, None, self.repairs) if state != "" else []
                out += [codes[t] for t in found]
                self.repairs["blank"] += state == ""
            except UnparsedError as error:
                if field == "gold":
                    raise self._placed(error, cell, "gold: ") from None
                found = []
                self.failed.append(f"{cell[0]}, turn {cell[1]}: {error.got}")
            except PredictionError as error:
                raise self._placed(error, cell, "gold: " if field == "gold" else "") from None
            sizes.append(len(found))
        return np.array(sizes, dtype="int64"), np.array(out, dtype="int64")

    def _placed(self, error: PredictionError, cell: Cell, prefix: str) -> PredictionError:
        return type(error)(
            prefix + error.problem,
            **self._where(cell),
            expected=error.expected,
            got=error.got,
            mend=error.mend,
        )

    def _texts(self, field: str, texts: Sequence[Any], chunk: list[Cell]) -> Iterable[str]:
        if set(map(type, texts)) <= {str}:
            return texts
        wrong = next(i for i, text in enumerate(texts) if type(text) is not str)
        mends = {list: "join the tokens with blanks", type(None): 'write "" for an empty text'}
        raise PredictionError(
            f"the {field}", **self._where(chunk[wrong]), expected="a string", got=show(texts[wrong]),
            mend=mends.get(type(texts[wrong]), "write it as a string"),
        )  # fmt: skip

    def _domains(self, names: Any, cell: Cell) -> list[str]:
        names = literal(names) if isinstance(names, str) else names
        if not isinstance(names, list) or not all(type(n) is str for n in names):
            raise PredictionError(
                "active_domains", **self._where(cell), expected="a list of strings", got=show(names)
            )
        return names

    # Tables -----------------------------------------------------------------------------------------

    def predictions(self, fields: Fields, step: str) -> Predictions:
        """Make the tables."""
        if not self.total:
            raise PredictionError("holds no turns", file=self.file)
        if not self.seen["state"] and not self.seen["response"]:
            raise PredictionError("holds neither states nor responses", file=self.file)
        ids, turns, lines = (np.concatenate(self.parts[n]) for n in ("dialogue_id", "turn", "line"))
        notes = list(fields.turns.notes)
        names = np.array([*self.names], dtype=object)
        order = None
        if not _is_plain(ids, turns) or step:
            turns = turns if self.without_ids else _renumbered(ids, turns, step, fields.turns.long, notes)
            self._refuse_twice(ids, turns, lines, names)
            order = np.lexsort((turns, ids))
            order = order if (np.diff(order) < 0).any() else None
            if not fields.turns.long:
                notes += _gaps(ids, turns, names)
        sorted_ids, sorted_turns = (ids, turns) if order is None else (ids[order], turns[order])
        found: dict[str, Any] = {}
        for field in ("state", "gold"):
            if self.seen[field]:
                found[field] = self._table(field, sorted_ids, sorted_turns, names, order)
        if fields.turns.long:
            sorted_ids, sorted_turns = _filled(sorted_ids, sorted_turns, notes)
        keys = {"dialogue_id": _strings(names, sorted_ids), "turn": sorted_turns}
        texts = {f: _in_order(self.parts[f], order) for f in _TEXTS if self.seen[f] == self.total}
        responses = texts.get("response")
        domains = None
        if self.seen["active_domains"]:
            listed = _in_order(self.parts["active_domains"], order)
            index = np.repeat(np.arange(self.total), [len(x) for x in listed])
            flat = list(chain.from_iterable(listed))
            domains = table("active_domains", {k: v[index] for k, v in keys.items()} | {"domain": flat})
        n_turns = len(sorted_turns)
        self._say(fields, notes)
        originals = dict(self.names)
        return Predictions(
            name="",
            turns=pd.DataFrame(keys),
            states=None if "state" not in found else found["state"][0],
            responses=None if responses is None else pd.DataFrame(keys | {"response": _texts(responses)}),
            active_domains=domains,
            gold=self._gold(keys, texts, found.get("gold"), originals),
            original_ids=originals,
            path=self.file,
            notes=tuple(notes),
            recognised=f"{fields.recognised}; {n_turns:,} turns of {len(names):,} dialogues",
        )

    def _table(
        self, field: str, ids: np.ndarray, turns: np.ndarray, names: np.ndarray, order: np.ndarray | None
    ) -> tuple[pd.DataFrame, np.ndarray, np.ndarray]:
        """Return a table of states, and the code of each row and its turn."""
        sizes, codes = (np.concatenate(self.parts.pop(name)) for name in (f"n {field}", field))
        if order is not None:
            starts = np.cumsum(sizes) - sizes
            sizes = sizes[order]
            offset = np.repeat(starts[order] - (np.cumsum(sizes) - sizes), sizes)
            codes = codes[offset + np.arange(len(codes))]
        index = np.repeat(np.arange(len(sizes)), sizes)
        key = index * max(len(self.codes[field]), 1) + codes
        if _has_twice(key):
            twice = pd.Series(key).duplicated().to_numpy()
            self.repairs["twice"] += int(twice.sum())
            codes, index = codes[~twice], index[~twice]
        columns = {"dialogue_id": _strings(names, ids[index]), "turn": turns[index]}
        for name, texts in zip(("domain", "slot", "value"), _parts(self.codes[field]), strict=True):
            columns[name] = _strings(texts, codes)
        return pd.DataFrame(columns), codes, index

    def _gold(
        self, keys: dict[str, Any], texts: dict[str, Any], found: Any, originals: dict[str, str]
    ) -> Corpus | None:
        """Return the gold that the file itself carries, or None."""
        if found is None and "reference" not in texts:
            return None
        states, layouts = table("states"), table("layouts")
        numbers = np.zeros(self.total, dtype="int64")
        if found is not None:
            frame, codes, index = found
            numbers, layouts = _layouts(self.codes["gold"], codes, index, self.total)
            filled = (frame["value"] != "").to_numpy()
            states = frame if filled.all() else frame[filled].reset_index(drop=True)
        blank = [""] * self.total
        user, system = (_texts(texts.get(f, blank)) for f in ("user", "reference"))
        gold = Corpus(
            name="own", language="", family="pairs",
            dialogues=table("dialogues", [(i, original, "") for i, original in originals.items()]),
            turns=pd.DataFrame(keys | {"user": user, "system": system, "layout": numbers}),
            states=states, layouts=layouts,
            source=Source(path=self.file, sha256=_digest(keys, system, states)),
            notes=("gold and predictions come from one file",),
        )  # fmt: skip
        return gold

    def _refuse_twice(self, ids: np.ndarray, turns: np.ndarray, lines: np.ndarray, names: np.ndarray) -> None:
        keys = ids * (2 * len(ids) + MAX_TURNS) + turns
        if _has_twice(keys):
            twice = pd.Series(keys).duplicated().to_numpy()
            i = int(twice.argmax())
            place = f"{self.file}, {self.unit} {lines[i]}" if lines[i] else self.file
            raise PredictionError(
                "stands twice",
                file=place,
                dialogue=self.names[names[ids[i]]],
                turn=int(turns[i]),
                mend="keep one of them",
            )

    def _say(self, fields: Fields, notes: list[str]) -> None:
        """Add what is to be said of repairs, fields that are not used, and gaps."""
        if self.failed:
            shown = "; ".join(self.failed[:3])
            notes.append(
                f"the states of {len(self.failed):,} turns follow no known notation and are read as empty ({shown})"
            )
        notes += [f"{self.repairs[kind]:,} {text}" for kind, text in REPAIRS.items() if self.repairs[kind]]
        if self.repairs["blank"] and self.unit == "row":
            notes.append(f"{self.repairs['blank']:,} empty cells are read as empty states")
        for name, n in sorted(fields.unused.items()):
            notes.append(f"field {name!r} of {n:,} turns is not used")


_IN_ORDER = "in order"


def _is_plain(ids: np.ndarray, turns: np.ndarray) -> bool:
    """Tell whether dialogues stand one after the other, each with its turns from 0 in order."""
    new = np.r_[True, np.diff(ids) != 0]
    starts = np.flatnonzero(new)
    place = np.arange(len(ids)) - np.repeat(starts, np.diff(np.r_[starts, len(ids)]))
    return bool((turns == place).all() and (ids[starts] == np.arange(len(starts))).all())


def _fast(states: Sequence[Any], codes: _Triples) -> tuple[np.ndarray, np.ndarray]:
    """Code states in the two plainest notations; anything else raises one of Python's own errors."""
    if type(states[0]) is dict:
        lists = [[codes[d, s, v] for d, slots in state.items() for s, v in slots.items()] for state in states]
    else:
        if not set(map(type, chain.from_iterable(states))) <= {list}:
            raise TypeError
        lists = [[codes[d, s, v] for d, s, v in state] for state in states]
    sizes = np.fromiter(map(len, lists), "int64", len(lists))
    return sizes, np.fromiter(chain.from_iterable(lists), "int64", int(sizes.sum()))


def _has_twice(keys: np.ndarray) -> bool:
    """Tell whether integers repeat; sorting takes a fraction of the memory of a table of hashes."""
    ordered = np.sort(keys)
    return bool((ordered[1:] == ordered[:-1]).any())


def _parts(codes: _Triples) -> list[np.ndarray]:
    """Return the domains, slots and values of all triples, equal texts as one object."""
    shared: dict[str, str] = {}
    parts = list(zip(*codes, strict=True)) or [(), (), ()]
    return [np.array([shared.setdefault(t, t) for t in part], dtype=object) for part in parts]


def _texts(texts: Any) -> Any:
    return pd.array(np.array(texts, dtype=object), dtype=pd.StringDtype("python", na_value=np.nan))


def _strings(texts: np.ndarray, codes: np.ndarray) -> Any:
    """A column of texts that shares the few objects it is made of."""
    return pd.array(texts.take(codes), dtype=pd.StringDtype("python", na_value=np.nan))


def _in_order(values: list[Any], order: np.ndarray | None) -> list[Any]:
    return values if order is None else [values[i] for i in order.tolist()]


def _renumbered(ids: np.ndarray, turns: np.ndarray, step: str, long: bool, notes: list[str]) -> np.ndarray:
    """Return the numbers of the turns from 0, and say so where the file counts otherwise."""
    if step:
        return {"-1": turns - 1, "as it is": turns}.get(step, turns // 2)
    frame = pd.DataFrame({"id": ids, "turn": turns}).sort_values(["id", "turn"])
    groups = frame.groupby("id")["turn"]
    first, place = groups.transform("min"), groups.cumcount()
    if (frame["turn"] == place).all():
        return turns
    several = int((groups.size() > 1).sum())
    if (
        several
        and ((frame["turn"] - first == 2 * place) & (first == first.iloc[0])).all()
        and first.iloc[0] < 2
    ):
        odd = "1, 3, 5" if first.iloc[0] else "0, 2, 4"
        notes.append(
            f'turns are numbered {odd}, … as utterances are, and read as 0, 1, 2, …; fields={{"turn": …}} keeps them'
        )
        return turns // 2
    starts = groups.min()
    from_one = (starts == 1).mean() >= 0.5 and (starts > 0).all() if long else (starts == 1).all()
    if from_one:
        notes.append(FROM_ONE)
        return turns - 1
    return turns


def _filled(ids: np.ndarray, turns: np.ndarray, notes: list[str]) -> tuple[np.ndarray, np.ndarray]:
    """Add the turns that a table of triples has no row of, which have an empty state."""
    last = pd.Series(turns).groupby(ids).max()
    all_ids = np.repeat(last.index.to_numpy(), last.to_numpy() + 1)
    all_turns = np.concatenate([np.arange(n + 1) for n in last])
    if len(all_ids) > len(ids):
        notes.append(
            f"{len(all_ids) - len(ids):,} turns have no row in the table and are read as empty states; "
            "turns after the last row of a dialogue are missing"
        )
    return all_ids, all_turns


def _gaps(ids: np.ndarray, turns: np.ndarray, names: np.ndarray) -> list[str]:
    frame = pd.DataFrame({"id": ids, "turn": turns}).sort_values(["id", "turn"], kind="stable")
    gaps = frame.loc[frame.groupby("id").cumcount() != frame["turn"], "id"]
    n = gaps.nunique()
    if not n:
        return []
    numbers = frame.loc[frame["id"] == gaps.iloc[0], "turn"].tolist()
    missing = next(i for i, number in enumerate(numbers) if i != number)
    shown = ", ".join(map(str, numbers[:8])) + (", …" if len(numbers) > 8 else "")
    gap = f"turn{'s' * (len(numbers) > 1)} {shown}: turn {missing} is missing"
    return [
        f"{n:,} dialogue{'s' * (n > 1)} skip{'s' * (n == 1)} turn numbers (dialogue {names[gaps.iloc[0]]}, {gap})"
    ]


def _layouts(
    codes: _Triples, rows: np.ndarray, index: np.ndarray, total: int
) -> tuple[np.ndarray, pd.DataFrame]:
    """Return the number of each turn's layout, and the slots of every layout."""
    pairs: dict[tuple[str, str], int] = {}
    pair_of = np.array([pairs.setdefault((d, s), len(pairs)) for d, s, _ in codes], dtype="int64")
    named = pair_of[rows] if len(rows) else rows
    bounds = np.searchsorted(index, np.arange(total + 1)).tolist()
    known: dict[bytes, int] = {}
    numbers = np.array(
        [known.setdefault(named[a:b].tobytes(), len(known)) for a, b in pairwise(bounds)], dtype="int64"
    )
    names, out = list(pairs), []
    for key, number in known.items():
        out += [(number, *names[i]) for i in dict.fromkeys(np.frombuffer(key, dtype="int64").tolist())]
    return numbers, table("layouts", out)


def _digest(keys: dict[str, Any], system: Any, states: pd.DataFrame) -> str:
    """Return a checksum of gold, whatever the order of its dialogues."""
    frames = (pd.DataFrame(keys | {"system": system}), states)
    sums = [int(pd.util.hash_pandas_object(frame, index=False).sum()) for frame in frames]
    return hashlib.sha256(repr([f"{s:016x}" for s in sums]).encode()).hexdigest()

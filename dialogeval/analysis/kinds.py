"""The kind of an error: what a wrong slot rests on in its turn, in the turns before it and in what was said.

In: `Scores` of a protocol for states. Out: a table, one row an error. Inside, an error is a row of codes:
turn (``row``), slot (``code``), ``gold`` and ``predicted`` value (-1 for none).
"""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd

from dialogeval.analysis.breakdowns import Scores, pair_of
from dialogeval.delex import NO_WORDS, find_value, plain_text
from dialogeval.metrics.states import StatePair
from dialogeval.normalize import lookup, normalize_value
from dialogeval.tables import Corpus

#: Kind, symbol and meaning, in the order in which they are tried; a suspicious gold is no verdict.
KINDS = lookup("error_kinds")


def classify(scores: Scores, rows: np.ndarray | None = None) -> pd.DataFrame:
    """Name the kind of every error, of some turns only if asked so."""
    pair = pair_of(scores)
    coded = paired_errors(pair)
    if rows is not None:
        coded = coded[coded["row"].isin(rows)].reset_index(drop=True)
    table = decode_errors(pair, coded)
    turn = pair.index.get_level_values("turn").to_numpy()
    until = _stale(pair, coded)
    where, pairs = table["domain"] + "-" + table["slot"], swapped(coded)
    predicted_in, belongs_in = (
        where.loc[pairs[other]].groupby(pairs[own].to_numpy()).min().reindex(table.index)
        for own, other in (("missed", "spurious"), ("spurious", "missed"))
    )
    # String comparison has no array form; most pairs repeat.
    written = [same_writing(g, p) for g, p in zip(table["gold"], table["predicted"], strict=True)]
    kinds = [
        (np.array(written, bool), ""),
        (_unsaid(scores, pair, coded), "the prediction was just said, gold never"),
        (_changed_for_one_turn(pair, coded), "gold differs in this turn alone"),
        (until >= 0, "right until turn " + pd.Series(turn[until], dtype="str")),
        (predicted_in.notna(), "gold's value is predicted for " + predicted_in),
        (belongs_in.notna(), "the predicted value is gold's for " + belongs_in),
    ]
    names = [KINDS[place][0] for place in (0, 1, 1, 2, 3, 3)]
    holds = [np.asarray(hold) for hold, _ in kinds]
    plain = np.select([coded["predicted"] < 0, coded["gold"] < 0], ["missed", "spurious"], "wrong value")
    table["kind"] = pd.Series(np.select(holds, names, plain), dtype="str")
    table["fn"], table["fp"] = ((coded[side] >= 0).astype("int64") for side in ("gold", "predicted"))
    table["since"] = turn[_run_starts(pair, coded["row"], coded["code"])]
    details = [np.asarray(detail, dtype=object) for _, detail in kinds]
    table["detail"] = pd.Series(np.select(holds, details, ""), dtype="str")
    by = ["row", "domain", "slot", "gold", "predicted"]
    return table.assign(row=coded["row"]).sort_values(by, ignore_index=True).drop(columns="row")


def _run_starts(pair: StatePair, row: Any, key: Any) -> np.ndarray:
    """For each (row, key), the first row of the unbroken run of turns of one dialogue that have the key."""
    table = pd.DataFrame({"row": np.asarray(row), "key": np.asarray(key)})
    by = [pair.dialogue[table["row"]], table["key"]]
    run = table["row"] - table.groupby(by)["row"].rank("dense")  # in a run, both rise together
    return table.groupby([*by, run])["row"].transform("min").to_numpy(dtype="int64")


#: What two writings of one value may differ in.
_WRITING = (
    "case:lower", "space:collapse", "space:strip", "time:hhmm", "article:drop", "spelling:unify",
    "dontcare:unify", "punctuation:drop", "space:remove",
)  # fmt: skip


@lru_cache(maxsize=100_000)
def same_writing(one: str, other: str) -> bool:
    """Tell whether two strings are one value."""
    from rapidfuzz.fuzz import ratio

    a, b = (normalize_value(unicodedata.normalize("NFKC", value), _WRITING) for value in (one, other))
    alike = re.findall(r"\d", a) == re.findall(r"\d", b) and ratio(a, b) > 90
    return bool(a) and (a == b or alike)


def _changed_for_one_turn(pair: StatePair, coded: pd.DataFrame) -> np.ndarray:
    """Tell for each error whether gold fills its slot otherwise than in both neighbours, which agree."""
    values: dict[int, tuple[int, ...]] = defaultdict(tuple)
    for cell, value in zip(pair.slot_key(pair.gold).tolist(), pair.gold.value.tolist(), strict=True):
        values[cell] += (value,)
    row, width = coded["row"].to_numpy(), max(len(pair.slots), 1)
    inside = ~np.r_[pair.first, True][row] & ~np.r_[pair.first, True][row + 1]
    cells = (row * width + coded["code"].to_numpy()).tolist()
    found = [values.get(c - width) == values.get(c + width) != values.get(c) for c in cells]
    return inside & np.array(found, bool)


def _stale(pair: StatePair, coded: pd.DataFrame) -> np.ndarray:
    """Find for each error the last turn in which the predicted value, kept since, was right; else -1."""
    pred, n_values = pair.pred, len(pair.values)
    label = pred.key % pair.stride  # the triple without its turn
    right = pd.Series(np.where(pair.pred_in_gold, pred.turn, -1), index=pred.key)
    last = right.groupby([label, _run_starts(pair, pred.turn, label)]).cummax()
    key = coded["row"] * pair.stride + coded["code"] * n_values + coded["predicted"]
    return last.reindex(key.where(coded["predicted"] >= 0, -1), fill_value=-1).to_numpy()


def swapped(coded: pd.DataFrame) -> pd.DataFrame:
    """Pair errors: a value that gold has in one slot and the prediction, wrongly, in another of the turn."""
    missed, spurious = (
        coded.rename(columns={side: "value"}).rename_axis(name).reset_index()[["row", "value", name]]
        for side, name in (("gold", "missed"), ("predicted", "spurious"))
    )
    return missed[missed["value"] >= 0].merge(spurious, on=["row", "value"])


def _unsaid(scores: Scores, pair: StatePair, coded: pd.DataFrame) -> np.ndarray:
    """Tell for each error whether, when it began, the predicted value had just been said and gold's never."""
    both = (coded["gold"] >= 0) & (coded["predicted"] >= 0)
    what = ["code", "gold", "predicted"]
    begun = coded.loc[both, what]
    begun["row"] = _run_starts(pair, coded.loc[both, "row"], begun.groupby(what).ngroup())
    said = _said_until(scores.gold) if scores.gold is not None else {}

    def judge(row: int, gold: int, predicted: int) -> bool:
        texts = said.get(pair.index[row], ())
        g, p = (_spoken(pair.values[v]) for v in (gold, predicted))
        # No word to be said, or one that is said in many ways.
        silent = g in NO_WORDS or p in NO_WORDS or re.fullmatch(r"\W*\d?\W*", g)
        return not silent and _stands(p, texts[-2:], shortest=6) and not _stands(g, texts, shortest=1)

    keys = list(begun[["row", "gold", "predicted"]].itertuples(index=False, name=None))
    verdicts = {key: judge(*key) for key in dict.fromkeys(keys)}
    found = np.zeros(len(coded), bool)
    found[both] = [verdicts[key] for key in keys]
    return found


@lru_cache(maxsize=100_000)
def _spoken(value: str) -> str:
    steps = ("space:strip", "time:hhmm", "article:drop", "spelling:unify", "dontcare:unify")
    return normalize_value(plain_text(value), steps)


_TIME = re.compile(r"\d{1,2}[:.]\d{2}(?: ?[ap]\.?m\b\.?)?|\d{1,2} ?[ap]\.?m\b\.?")


def _said_until(corpus: Corpus) -> dict[Any, tuple[str, ...]]:
    """What was said in the dialogue of a turn, up to the user's utterance in it."""
    turns = corpus.turns[["dialogue_id", "turn", "user", "system"]].sort_values(["dialogue_id", "turn"])
    heard: dict[str, tuple[str, ...]] = defaultdict(tuple)
    said = {}
    for name, turn, user, system in turns.itertuples(index=False, name=None):
        said[name, turn] = (*heard[name], user)
        heard[name] = (*said[name, turn], system)
    return said


def _stands(value: str, texts: tuple[str, ...], shortest: int) -> bool:
    """Tell whether a value stands in texts: as words, as a time, or, if not too short, run together."""
    text, together, times = _read(texts)
    squeezed = _squeeze(value)
    run = len(squeezed) >= shortest and squeezed in together
    return run or value in times or bool(find_value(text, value))


@lru_cache(maxsize=1_000)
def _read(texts: tuple[str, ...]) -> tuple[str, str, frozenset[str]]:
    text = normalize_value(plain_text("\n".join(texts)), ["spelling:unify"])
    return text, _squeeze(text), frozenset(normalize_value(t, ["time:hhmm"]) for t in _TIME.findall(text))


def _squeeze(text: str) -> str:
    return "".join(filter(str.isalnum, text))


def paired_errors(pair: StatePair) -> pd.DataFrame:
    """Put the unmatched values of both sides side by side, slot by slot, as codes (-1: none).

    Of several values of one slot and turn, the first ones of both sides by the alphabet are one wrong value.
    """
    place, by = np.argsort(np.argsort(pair.values)), ["row", "code", "rank"]
    sides = []
    for name, side in (
        ("gold", pair.gold.take(~pair.gold_in_pred)),
        ("predicted", pair.pred.take(~pair.pred_in_gold)),
    ):
        codes = {"row": side.turn, "code": side.slot, name: side.value, "rank": place[side.value]}
        table = pd.DataFrame(codes).sort_values(by)
        sides.append(table.assign(rank=table.groupby(["row", "code"]).cumcount()))
    both = sides[0].merge(sides[1], on=by, how="outer").sort_values(by, ignore_index=True)
    return both.fillna(-1).astype("int64").drop(columns="rank")


def decode_errors(pair: StatePair, coded: pd.DataFrame) -> pd.DataFrame:
    """Replace codes of turns, slots and values by what they stand for; no value is the empty string."""
    values = pd.Series(np.append(np.asarray(pair.values, dtype=object), ""), dtype="str")
    table = pair.index[coded["row"]].to_frame(index=False)
    table[["domain", "slot"]] = pair.slots[["domain", "slot"]].iloc[coded["code"]].reset_index(drop=True)
    for side in ("gold", "predicted"):
        table[side] = values.iloc[coded[side]].array
    return table

"""Error analysis of state tracking: what goes wrong, of what kind, where it starts and how long it lives.

In: `Scores` of a protocol for states. Out: tables. Triples are compared
exactly, as the protocol has normalised them. Inside, an error is a row of codes: turn (``row``), slot
(``code``), ``gold`` and ``predicted`` value (-1 for none).
"""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd

from dialogeval.analysis.breakdowns import pair_of
from dialogeval.delex import NO_WORDS, find_value, plain_text
from dialogeval.metrics import ratio
from dialogeval.metrics.states import StatePair, Triples, contains, count_triples, new_triples
from dialogeval.normalize import lookup, normalize_value
from dialogeval.scoring import Scores
from dialogeval.tables import Corpus

#: Kind, symbol and meaning, in the order in which they are tried; a suspicious gold is no verdict.
KINDS = lookup("error_kinds")


def errors(scores: Scores) -> pd.DataFrame:
    """Return every error of every turn, with its kind and the turn where it began.

    Parameters
    ----------
    scores : Scores
        Of a protocol for states, as for all functions of this module.

    Returns
    -------
    pandas.DataFrame
        One row an error, in the order of the turns: dialogue_id, turn, domain, slot, gold,
        predicted (empty strings for no value), kind (see `error_kinds`), ``fn`` and ``fp`` (0 or 1;
        they sum to FN and FP of the score), ``since`` (turn from which the slot has been wrong
        without a break), ``detail`` (what the kind rests on, in words).

    Notes
    -----
    A gold and a predicted value of one slot and turn that both lack their match are one row. States
    are cumulative: an error is counted in every turn until it is repaired; see `error_lives`.

    Examples
    --------
    >>> import dialogeval as de
    >>> file = "sample/predictions/multiwoz/tracker_sloppy.json.gz"
    >>> errors(de.score("sample/multiwoz", file, "lin2021")).loc[0, ["slot", "predicted", "kind"]].tolist()
    ['area', 'center', 'spurious']
    """
    return classify(scores)


def error_kinds(scores: Scores | None = None) -> pd.DataFrame:
    """Return the kinds of errors in the order in which they are tried, and what each one means.

    Returns
    -------
    pandas.DataFrame
        Indexed by kind; column ``what it is``; with scores also ``errors``, how many there are.

    Examples
    --------
    >>> list(error_kinds().index)[-2:]
    ['missed', 'spurious']
    """
    kinds, _, meanings = zip(*KINDS, strict=True)
    table = pd.DataFrame({"what it is": meanings}, pd.Index(kinds, name="kind"), dtype="str")
    if scores is None:
        return table
    return table.assign(errors=errors(scores)["kind"].value_counts().reindex(table.index, fill_value=0))


def kind_table(scores: Scores) -> pd.DataFrame:
    """Return by kind how often an error is made, carried along and counts, and what repair would gain."""
    table, place = errors(scores), ["dialogue_id", "turn"]
    once = table.drop_duplicates([*place, "kind"])
    parts = {"errors": table, "made": table[table["since"] == table["turn"]]}
    parts |= {"carried": table[table["since"] < table["turn"]]}
    parts |= {"dialogues": once.drop_duplicates(["dialogue_id", "kind"]), "turns": once}
    parts |= {"alone": once[~once.duplicated(place, keep=False)]}
    kinds = error_kinds().index
    counts = {name: rows["kind"].value_counts().reindex(kinds).fillna(0) for name, rows in parts.items()}
    counted = pd.DataFrame(counts).astype("int64").rename_axis("kind")
    counted["gain"] = 100 * counted["alone"] / max(len(scores.coverage.turns), 1)
    return counted.sort_values("errors", ascending=False, kind="stable")


def error_lives(scores: Scores) -> pd.DataFrame:
    """Return where each error starts, how long it lives and whether it is repaired.

    Returns
    -------
    pandas.DataFrame
        One row a life, an unbroken run of turns in which a slot is wrong (its values may change):
        dialogue_id, domain, slot, ``first`` and ``last`` turn, ``turns`` (its length), ``errors``
        (rows of `errors` in it), kind, gold and predicted of the first turn, and ``end``: ``repaired``,
        or ``never`` for what is wrong up to the last turn of the dialogue.

    Examples
    --------
    >>> import dialogeval as de
    >>> file = "sample/predictions/multiwoz/tracker_sloppy.json.gz"
    >>> error_lives(de.score("sample/multiwoz", file, "lin2021")).loc[0, ["slot", "kind", "end"]].tolist()
    ['area', 'spurious', 'never']
    """
    by = ["dialogue_id", "first", "domain", "slot"]
    lives = errors(scores).rename(columns={"since": "first"}).groupby(by, as_index=False).agg(
        last=("turn", "max"), turns=("turn", "nunique"), errors=("turn", "size"),
        kind=("kind", "first"), gold=("gold", "first"), predicted=("predicted", "first"),
    )  # fmt: skip
    end = lives["dialogue_id"].map(scores.coverage.turns.groupby("dialogue_id")["turn"].max())
    lives["end"] = pd.Series(np.where(lives["last"] == end, "never", "repaired"), dtype="str")
    lives.insert(3, "first", lives.pop("first"))
    return lives


def reset_accuracy(scores: Scores) -> pd.DataFrame:
    """Return joint goal accuracy by turn, beside that of the same tracker reset to gold after each turn.

    Returns
    -------
    pandas.DataFrame
        Indexed by turn, from 0: ``turns``; ``exact`` and ``exact_after_reset``, turns whose state
        is right; ``joint_goal_accuracy`` and ``reset_goal_accuracy``, their shares.

    The reset tracker starts each turn from the previous gold state: a slot that the prediction
    changes in this turn gets its predicted value, every other slot keeps the previous gold one.
    Either may be higher: of a slot filled a turn too early, the next turn is right only without reset.

    Examples
    --------
    >>> import dialogeval as de
    >>> file = "sample/predictions/multiwoz/baseline_carry_over.json.gz"
    >>> reset_accuracy(de.score("sample/multiwoz", file, "lin2021")).iloc[1, -2:].round(3).tolist()
    [0.133, 0.133]
    """
    pair = pair_of(scores)
    wrong = [pair.slot_key(pair.gold)[~pair.gold_in_pred], pair.slot_key(pair.pred)[~pair.pred_in_gold]]
    touched, due = _changed_cells(pair, pair.pred), _changed_cells(pair, pair.gold)
    bad = np.r_[np.intersect1d(touched, np.concatenate(wrong)), np.setdiff1d(due, touched)]
    right = np.bincount(bad // max(len(pair.slots), 1), minlength=len(pair)) == 0
    counts = count_triples(pair)[["turns", "exact"]].assign(exact_after_reset=right.astype("int64"))
    table = counts.groupby(level="turn").sum()
    table["joint_goal_accuracy"] = ratio(table["exact"], table["turns"])
    table["reset_goal_accuracy"] = ratio(table["exact_after_reset"], table["turns"])
    return table


def confused_slots(scores: Scores, most: int = 10) -> pd.DataFrame:
    """Return the pairs of slots that are most often taken for each other.

    Parameters
    ----------
    most : int, default=10
        Rows returned; ``attrs["left_out"]`` holds how many pairs there are beside them.

    Returns
    -------
    pandas.DataFrame
        ``gold_slot`` and ``predicted_slot`` (domain-slot): gold has a value in the one, which the
        prediction lacks there and wrongly has in the other; ``turns`` and ``dialogues`` in which it
        happens; an example: value, dialogue_id, turn and the user's utterance.

    Examples
    --------
    >>> import dialogeval as de
    >>> file = "sample/predictions/multiwoz/baseline_value_matching.json.gz"
    >>> confused_slots(de.score("sample/multiwoz", file, "lin2021")).iloc[0, :2].tolist()
    ['hotel-area', 'attraction-area']
    """
    pair = pair_of(scores)
    coded = paired_errors(pair)
    pairs, table = _swapped(coded), decode_errors(pair, coded)
    where = table["domain"] + "-" + table["slot"]
    found = table.loc[pairs["missed"], ["gold", "dialogue_id", "turn"]].rename(columns={"gold": "value"})
    found["gold_slot"], found["predicted_slot"] = (where.loc[pairs[c]].array for c in ("missed", "spurious"))
    return _most_frequent(scores, found, ["gold_slot", "predicted_slot"], most)


def confused_values(scores: Scores, most: int = 10) -> pd.DataFrame:
    """Return the values that are most often taken for each other.

    Returns
    -------
    pandas.DataFrame
        domain, slot, gold and predicted, both filled; the rest as for `confused_slots`.

    Examples
    --------
    >>> from dialogeval.scoring import score
    >>> file = "sample/predictions/crosswoz_en/tracker_sloppy.jsonl.gz"
    >>> list(confused_values(score("sample/crosswoz_en", file, "lin2021", resamples=0), most=1).columns[:4])
    ['domain', 'slot', 'gold', 'predicted']
    """
    pair = pair_of(scores)
    coded = paired_errors(pair)
    table = decode_errors(pair, coded[(coded["gold"] >= 0) & (coded["predicted"] >= 0)])
    return _most_frequent(scores, table, ["domain", "slot", "gold", "predicted"], most)


def rank_dialogues(scores: Scores) -> pd.DataFrame:
    """Return every scored dialogue with its errors, the worst first.

    Returns
    -------
    pandas.DataFrame
        Indexed by dialogue_id: ``turns``; ``wrong_turns``, whose state is not right; ``errors``
        (rows of `errors`) and their ``fn`` and ``fp``; ``lives`` (beginnings, see `error_lives`);
        ``first_wrong`` turn (<NA> for none) and the most frequent ``kind`` (empty for none).
        Sorted by errors, then by lives, then by id.

    Examples
    --------
    >>> import dialogeval as de
    >>> file = "sample/predictions/multiwoz/tracker_sloppy.json.gz"
    >>> rank_dialogues(de.score("sample/multiwoz", file, "lin2021"))["errors"].head(1).to_dict()
    {'smp0166': 70}
    """
    counts = count_triples(pair_of(scores)).groupby(level="dialogue_id").sum()
    table = errors(scores)
    by = table.groupby("dialogue_id")
    kinds = table.groupby(["dialogue_id", "kind"]).size().unstack(fill_value=0)
    starts = table.drop_duplicates(["dialogue_id", "since", "domain", "slot"])
    ranked = pd.DataFrame({"turns": counts["turns"], "wrong_turns": counts["turns"] - counts["exact"]})
    ranked["errors"] = by.size().reindex(ranked.index, fill_value=0)
    ranked[["fn", "fp"]] = counts[["fn", "fp"]]
    ranked["lives"] = starts.groupby("dialogue_id").size().reindex(ranked.index, fill_value=0)
    ranked["first_wrong"] = by["turn"].min().reindex(ranked.index).astype("Int64")
    ranked["kind"] = kinds.idxmax(axis=1).reindex(ranked.index).fillna("").astype("str")
    return ranked.sort_index().sort_values(["errors", "lives"], ascending=False, kind="stable")


def classify(scores: Scores, rows: np.ndarray | None = None) -> pd.DataFrame:
    """Name the kind of every error, of some turns only if asked so."""
    pair = pair_of(scores)
    coded = paired_errors(pair)
    if rows is not None:
        coded = coded[coded["row"].isin(rows)].reset_index(drop=True)
    table = decode_errors(pair, coded)
    turn = pair.index.get_level_values("turn").to_numpy()
    until = _stale(pair, coded)
    where, pairs = table["domain"] + "-" + table["slot"], _swapped(coded)
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
    table["kind"] = pd.Series(np.select(holds, names, plain_kinds(coded)), dtype="str")
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


def _swapped(coded: pd.DataFrame) -> pd.DataFrame:
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


def _changed_cells(pair: StatePair, side: Triples) -> np.ndarray:
    """Return the (turn, slot) whose values differ from the previous turn's, as sorted keys."""
    gone = ~np.r_[pair.first, True][side.turn + 1] & ~contains(side.key, side.key + pair.stride)
    cells = pair.slot_key(side)
    return np.union1d(cells[new_triples(pair, side)], cells[gone] + max(len(pair.slots), 1))


def _most_frequent(scores: Scores, table: pd.DataFrame, what: list[str], most: int) -> pd.DataFrame:
    """Count distinct turns and dialogues of each group; its first row is the example."""
    once = table.sort_values(["dialogue_id", "turn", *what], kind="stable")
    once = once.drop_duplicates([*what, "dialogue_id", "turn"])
    groups = once.groupby(what, sort=False)
    counted = groups.agg(turns=("turn", "size"), dialogues=("dialogue_id", "nunique"))
    found = counted.join(once.drop_duplicates(what).set_index(what)).reset_index()
    found = found.sort_values(["turns", *what], ascending=[False] + [True] * len(what), ignore_index=True)
    shown = found.head(most)
    if scores.gold is not None:
        said = scores.gold.turns[["dialogue_id", "turn", "user"]]
        shown = shown.merge(said, on=["dialogue_id", "turn"], how="left")
    shown.attrs["left_out"] = len(found) - len(shown)
    return shown


def paired_errors(pair: StatePair) -> pd.DataFrame:
    """Put the unmatched values of both sides side by side, slot by slot, as codes."""
    fn = _unmatched(pair, pair.gold.take(~pair.gold_in_pred), "gold")
    fp = _unmatched(pair, pair.pred.take(~pair.pred_in_gold), "predicted")
    both = fn.merge(fp, on=["row", "code", "rank"], how="outer").sort_values(["row", "code", "rank"])
    return both.fillna(-1).astype("int64").drop(columns="rank").reset_index(drop=True)


def decode_errors(pair: StatePair, coded: pd.DataFrame) -> pd.DataFrame:
    """Replace codes of turns, slots and values by what they stand for; no value is the empty string."""
    values = np.append(np.asarray(pair.values, dtype=object), "")
    row, code = coded["row"].to_numpy(), coded["code"].to_numpy()
    columns = {
        "dialogue_id": pair.index.get_level_values("dialogue_id").to_numpy()[row],
        "turn": pair.index.get_level_values("turn").to_numpy()[row],
        "domain": pair.slots["domain"].to_numpy()[code],
        "slot": pair.slots["slot"].to_numpy()[code],
        "gold": values[coded["gold"].to_numpy()],
        "predicted": values[coded["predicted"].to_numpy()],
    }
    return pd.DataFrame(
        {n: pd.Series(c, dtype="int64" if n == "turn" else "str") for n, c in columns.items()}
    )


def plain_kinds(coded: pd.DataFrame) -> np.ndarray:
    """Tell missed, spurious and wrong values apart."""
    return np.select([coded["predicted"] < 0, coded["gold"] < 0], ["missed", "spurious"], "wrong value")


def _unmatched(pair: StatePair, triples: Triples, side: str) -> pd.DataFrame:
    """Number the values of one slot and turn by the alphabet: the first of both sides are one wrong value."""
    table = pd.DataFrame({"row": triples.turn, "code": triples.slot, side: triples.value})
    place = np.argsort(np.argsort(pair.values))[triples.value] if len(pair.values) else triples.value
    table = table.iloc[np.lexsort((place, triples.slot, triples.turn))]
    return table.assign(rank=table.groupby(["row", "code"]).cumcount())

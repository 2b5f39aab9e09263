"""Responses by group and one by one: what was said, and what of the reference was missed.

In: `Scores` of a protocol for responses. Out: tables. A group's BLEU is the corpus BLEU of its own
turns, read off the same counts as the whole.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from itertools import pairwise

import numpy as np
import pandas as pd

from ..exceptions import UnknownNameError, UsageError
from ..metrics import ratio
from ..metrics.goal import goal_labels
from ..metrics.text import TEXT_METRICS, bleu_counts
from ..metrics.tokens import splitter
from ..placeholders import canonicalize_placeholders
from ..scoring import Scores
from ..slot_names import slot_placeholder
from .groups import corpus_of
from .texts import turn_table

__all__ = ["RESPONSE_GROUPS", "missed", "response_groups"]

#: Groups of turns for responses, by name: what each one is.
RESPONSE_GROUPS = {
    "domain": "domain of the reference's dialogue acts; a turn with acts of two domains counts in both",
    "act": "dialogue act of the reference; a turn with two acts counts in both",
    "length": "tokens of the response",
    "turn": "number of the turn, from 0",
}
ALL = "all"
_WHERE = ["dialogue_id", "turn"]
_LENGTHS = (0, 5, 10, 15, 20, 30)
_NO_ACT = "none"


def response_groups(scores: Scores, by: str) -> pd.DataFrame:
    """Break scores of responses down by domain, dialogue act, length or turn.

    Parameters
    ----------
    scores : Scores
        Of a protocol for responses.
    by : {"domain", "act", "length", "turn"}
        See `RESPONSE_GROUPS`. Turns without an annotated act are the group ``none``.

    Returns
    -------
    pandas.DataFrame
        Indexed by group, the whole in the last row, ``all``. ``turns``; ``bleu_4``, the corpus BLEU-4
        of these turns; ``bleu_4_sentence``, the mean of their smoothed BLEU-4; ``placeholders_found``,
        the share of the references' placeholders that the response of the same turn has (NaN without
        any); all in per cent; ``reference_length`` and ``response_length``, tokens per turn.
        ``attrs["additive"]``: the counts of the parts that add up to the row ``all``.

    Raises
    ------
    UnknownNameError
        No such grouping.
    UsageError
        Scores of states, or a corpus without dialogue acts where they are asked for.

    Examples
    --------
    >>> from dialogeval.corpora import load_corpus
    >>> from dialogeval.scoring import score
    >>> gold = load_corpus("sample/multiwoz")
    >>> table = response_groups(score(gold, gold, "lai2019", resamples=0), "length")
    >>> int(table["turns"].iloc[:-1].sum()) == int(table.loc["all", "turns"])
    True
    """
    if by not in RESPONSE_GROUPS:
        raise UnknownNameError("grouping of responses", by, RESPONSE_GROUPS)
    table = turn_table(scores)
    labels = _labels(scores, table, by)
    counts = _counts(scores, table)
    index = pd.MultiIndex.from_frame(labels[_WHERE])
    groups = labels["group"].to_numpy()
    parts = counts.loc[index].groupby(groups, sort=False).sum()
    order = _ordered(labels["group"], by)
    sums = pd.concat([parts.loc[order], counts.sum().to_frame(ALL).T])
    column = {str(name): sums[name].to_numpy(dtype=float) for name in sums}
    turns = column["bleu_turns"]
    rows = {
        "turns": turns.astype("int64"),
        "bleu_4": TEXT_METRICS["bleu_4"].value(column),
        "bleu_4_sentence": TEXT_METRICS["bleu_4_sentence"].value(column),
        "placeholders_found": 100 * ratio(column["found"], column["wanted"], empty=float("nan")),
        "reference_length": ratio(column["bleu_reference_length"], turns),
        "response_length": ratio(column["bleu_response_length"], turns),
    }
    table = pd.DataFrame(rows, index=pd.Index([*map(str, order), ALL], name=by, dtype="str"))
    # A turn has one length and one number, but may have acts of several kinds and domains.
    table.attrs = {"additive": ["turns"] if by in ("length", "turn") else []}
    return table


def missed(scores: Scores) -> pd.DataFrame:
    """Return every turn with what its response lacks of the reference.

    Parameters
    ----------
    scores : Scores
        Of a protocol for responses.

    Returns
    -------
    pandas.DataFrame
        As `dialogeval.breakdowns.turn_table`, and ``missed_words``: runs of words of the reference
        that the response lacks, joined by a slash; ``missed_4grams``: how many of its runs of four
        the response lacks; ``missed_placeholders`` and ``extra_placeholders``: names on one side
        only; ``missed_requests``: those of the missed placeholders that the dialogue's goal requests
        (empty where the corpus has no goals). Names are joined by a space.

    Raises
    ------
    UsageError
        Scores of states.

    Examples
    --------
    >>> from dialogeval.scoring import score
    >>> from dialogeval.tables import Corpus, Predictions, table
    >>> turns = table("turns", [("d", 0, "", "call PHONE in the AREA now", 0)])
    >>> own = table("responses", [("d", 0, "call NAME in the AREA")])
    >>> mine = Predictions("mine", turns=turns[["dialogue_id", "turn"]], responses=own)
    >>> found = missed(score(Corpus("toy", family="pairs", turns=turns), mine, "lai2019", resamples=0))
    >>> found.loc[0, ["missed_words", "missed_placeholders", "extra_placeholders"]].tolist()
    ['PHONE / now', 'PHONE', 'NAME']
    """
    table = turn_table(scores)
    split = splitter(scores.protocol.tokenizer)
    requested = _requested(scores)
    columns: dict[str, list] = {name: [] for name in _MISSED}
    # A loop, because each text is compared with its own partner only; 7,000 turns take half a second.
    for dialogue, reference, response in zip(
        table["dialogue_id"], table["reference"], table["response"], strict=True
    ):
        said, wanted = split(response), split(reference)
        left, right = goal_labels([reference]), goal_labels([response])
        columns["missed_words"].append(_runs(wanted, said))
        columns["missed_4grams"].append((_grams(wanted) - _grams(said)).total())
        columns["missed_placeholders"].append(" ".join(sorted(left - right)))
        columns["extra_placeholders"].append(" ".join(sorted(right - left)))
        columns["missed_requests"].append(" ".join(sorted((left - right) & requested.get(dialogue, set()))))
    return table.assign(**{k: pd.Series(v, dtype=_MISSED[k]) for k, v in columns.items()})


# Helpers ------------------------------------------------------------------------------------------

_MISSED = {
    "missed_words": "str",
    "missed_4grams": "int64",
    "missed_placeholders": "str",
    "extra_placeholders": "str",
    "missed_requests": "str",
}


def _counts(scores: Scores, table: pd.DataFrame) -> pd.DataFrame:
    """BLEU counts by turn, and how many placeholders of the reference were found."""
    pair = scores.pairs["text"]
    counts = scores.counts[bleu_counts] if bleu_counts in scores.counts else bleu_counts(pair)
    labels = _memory(lambda text: goal_labels([text]))
    pairs = [(labels(a), labels(b)) for a, b in zip(table["reference"], table["response"], strict=True)]
    wanted, found = [len(a) for a, b in pairs], [len(a & b) for a, b in pairs]
    return counts.assign(wanted=np.array(wanted, dtype="int64"), found=np.array(found, dtype="int64"))


def _memory(function: Callable[[str], set[str]]) -> Callable[[str], set[str]]:
    known: dict[str, set[str]] = {}

    def remember(text: str) -> set[str]:
        if text not in known:
            known[text] = function(text)
        return known[text]

    return remember


def _labels(scores: Scores, table: pd.DataFrame, by: str) -> pd.DataFrame:
    """One row for each group of each turn."""
    if by == "turn":
        return table[_WHERE].assign(group=table["turn"])
    if by == "length":
        bounds = [-1, *_LENGTHS, np.inf]
        return table[_WHERE].assign(group=pd.cut(table["response_length"], bounds, labels=_length_names()))
    acts = corpus_of(scores).acts
    if acts.empty:
        raise UsageError(
            f"{corpus_of(scores).id} has no dialogue acts to group responses by",
            mend='group by "length" or "turn"',
        )
    own = acts[acts["speaker"] == "system"].rename(columns={by: "group"})
    own = own[[*_WHERE, "group"]].assign(group=own["group"].str.lower()).drop_duplicates()
    return table[_WHERE].merge(own, on=_WHERE, how="left").fillna({"group": _NO_ACT})


def _ordered(groups: pd.Series, by: str) -> list:
    here = groups.value_counts(sort=False)
    here = here[here > 0]
    if by == "length":
        return [name for name in _length_names() if name in here.index]
    if by == "turn":
        return sorted(here.index)
    return sorted(here.index, key=lambda name: (name == _NO_ACT, -here[name], name))


def _length_names() -> list[str]:
    inner = [f"{low + 1}–{high}" for low, high in pairwise(_LENGTHS)]
    return ["0", *inner, f"over {_LENGTHS[-1]}"]


def _requested(scores: Scores) -> dict[str, set[str]]:
    """Canonical names of what each dialogue's goal requests, a booking's reference number included."""
    goals = scores.gold.goals if scores.gold is not None else None
    if goals is None or goals.empty:
        return {}
    goals = goals[goals["kind"].isin(["request", "book"])]
    name_of: dict[tuple[str, str, str], str | None] = {}
    found: dict[str, set[str]] = {}
    for dialogue, *what in goals[["dialogue_id", "kind", "domain", "slot"]].itertuples(index=False):
        key = (what[0], what[1], what[2])
        if key not in name_of:
            name_of[key] = "REFERENCE" if key[0] == "book" else _canonical(*key[1:])
        if name_of[key]:
            found.setdefault(dialogue, set()).add(str(name_of[key]))
    return found


def _canonical(domain: str, slot: str) -> str | None:
    name = slot_placeholder(domain, slot)
    return canonicalize_placeholders([name])[0][0].strip() or None if name else None


def _grams(tokens: list[str], order: int = 4) -> Counter[tuple[str, ...]]:
    return Counter(zip(*(tokens[i:] for i in range(order)), strict=False))


def _runs(wanted: Iterable[str], said: Iterable[str]) -> str:
    """Runs of words that are wanted and not said; a word said once answers one that is wanted once."""
    left = Counter(said)
    runs: list[list[str]] = [[]]
    for word in wanted:
        if left[word] > 0:
            left[word] -= 1
            runs.append([])
        else:
            runs[-1].append(word)
    return " / ".join(" ".join(run) for run in runs if run)

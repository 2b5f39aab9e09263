"""What has been said: whether a value stands in the utterances around a turn.

In: a corpus, the turns of a `StatePair`, a value. Out: yes or no. The two questions lean to the
safe side, each its own way: a value counts as just said when it stands there as whole words, and as
never said only when it is found in no other writing either.
"""

from __future__ import annotations

import re

import numpy as np
import pandas as pd

from ..metrics.states import StatePair
from ..normalize import normalize_value
from ..tables import Corpus
from ..value_search import NO_WORDS, find_value, plain_text

__all__ = ["Said"]

_TIME = re.compile(r"\d{1,2}[:.]\d{2}(?: ?[ap]\.?m\b\.?)?|\d{1,2} ?[ap]\.?m\b\.?")
#: Shorter strings are found by chance in a text without spaces.
_SHORTEST = 6


class Said:
    """The utterances of a corpus by the rows of a pair, read as far as they are asked for.

    Parameters
    ----------
    corpus : Corpus
    pair : StatePair

    Examples
    --------
    >>> from dialogeval.metrics.states import pair_states
    >>> from dialogeval.tables import table
    >>> turns = table("turns", [("d", 0, "an inn", "North?", 0), ("d", 1, "yes, at 5 pm", "ok", 0)])
    >>> said = Said(Corpus("toy", turns=turns), pair_states(turns, table("states"), table("states")))
    >>> said.lately(1, "north"), said.lately(0, "north"), said.never(1, "17:00"), said.never(1, "south")
    (True, False, False, True)
    """

    def __init__(self, corpus: Corpus, pair: StatePair) -> None:
        turns = corpus.turns[["dialogue_id", "turn", "user", "system"]]
        turns = turns.sort_values(["dialogue_id", "turn"], ignore_index=True)
        self._user, self._system = turns["user"].tolist(), turns["system"].tolist()
        ids = turns["dialogue_id"]
        first = (~ids.duplicated()).to_numpy()
        self._start = np.maximum.accumulate(np.where(first, np.arange(len(turns)), 0))
        self._place = pd.MultiIndex.from_frame(turns[["dialogue_id", "turn"]]).get_indexer(pair.index)
        self._read: dict[tuple[int, bool], tuple[str, str, frozenset[str]]] = {}

    def lately(self, row: int, value: str) -> bool:
        """Tell whether a value stands in the user's utterance of a turn or the system's before it."""
        return _stands(plain_text(value.strip()), self._texts(row, lately=True))

    def never(self, row: int, value: str) -> bool:
        """Tell whether a value stands nowhere up to the user's utterance of a turn."""
        value = _plain(value)
        squeezed = _squeeze(value)
        if not squeezed or value in NO_WORDS or (len(squeezed) == 1 and squeezed.isdigit()):
            return False  # no word to be said, or one that is said in many ways
        text, together, times = self._texts(row, lately=False)
        return bool(text.strip()) and squeezed not in together and value not in times

    def _texts(self, row: int, lately: bool) -> tuple[str, str, frozenset[str]]:
        """Return the utterances as they are searched: words, all in one string, and times of day."""
        key = (int(row), lately)
        if key not in self._read:
            at = int(self._place[row])
            start = max(self._start[at], at - 1) if lately else self._start[at]
            texts = [self._user[at]]
            for turn in range(at - 1, start - 1, -1):
                texts += [self._system[turn], self._user[turn]]
            # The user's turn before last is not recent.
            text = plain_text("\n".join(texts[: 2 if lately else None]))
            respelt = normalize_value(text, ["spelling:unify"])
            times = frozenset(normalize_value(t, ["time:hhmm"]) for t in _TIME.findall(text))
            self._read[key] = (text, _squeeze(respelt) + _squeeze(text), times)
        return self._read[key]


def _plain(value: str) -> str:
    return normalize_value(
        plain_text(value), ["space:strip", "time:hhmm", "article:drop", "spelling:unify", "dontcare:unify"]
    )


def _stands(value: str, texts: tuple[str, str, frozenset[str]]) -> bool:
    text, together, times = texts
    if not value or value in NO_WORDS or _plain(value) in NO_WORDS:
        return False
    squeezed = _squeeze(value)
    long = len(squeezed) >= _SHORTEST and squeezed in together
    return long or bool(find_value(text, value)) or normalize_value(value, ["time:hhmm"]) in times


def _squeeze(text: str) -> str:
    return "".join(c for c in text if c.isalnum())

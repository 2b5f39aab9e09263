"""A corpus cut by dialogue: for each piece of the predictions, the part of the gold that it answers.

In: a corpus. Out: its tables restricted to some dialogues, at a cost that goes with these dialogues and
not with the corpus.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd

from dialogeval.tables import Corpus

__all__ = ["GoldSlices"]

#: Tables that grow with the text. Goals and bookings stay whole: some rules ask what any goal has.
_CUT = ("dialogues", "turns", "states", "alternatives", "corrections", "spans", "acts")


@dataclass(frozen=True)
class GoldSlices:
    """A corpus whose rows are found by dialogue."""

    corpus: Corpus
    _ids: pd.Index = field(init=False, repr=False)
    _rows: dict[str, tuple[np.ndarray, np.ndarray]] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        ids = pd.Index(self.corpus.turns["dialogue_id"].unique())
        rows = {}
        for name in _CUT:
            codes = ids.get_indexer(getattr(self.corpus, name)["dialogue_id"])
            order = np.argsort(codes, kind="stable")
            rows[name] = order, np.searchsorted(codes[order], np.arange(len(ids) + 1))
        object.__setattr__(self, "_ids", ids)
        object.__setattr__(self, "_rows", rows)

    def take(self, dialogues: Sequence[str]) -> Corpus:
        """Return the corpus with the rows of some dialogues only; ids that it lacks are passed over."""
        codes = self._ids.get_indexer(pd.Index(dialogues))
        wanted = np.sort(codes[codes >= 0])
        cut: dict[str, Any] = {}
        for name, (order, starts) in self._rows.items():
            parts = [order[starts[c] : starts[c + 1]] for c in wanted.tolist()]
            rows = np.sort(np.concatenate(parts)) if parts else np.zeros(0, dtype=np.int64)
            cut[name] = getattr(self.corpus, name).take(rows).reset_index(drop=True)
        return replace(self.corpus, **cut)

    def others(self, dialogues: Sequence[str]) -> list[str]:
        """Return the dialogues of the corpus that are not among some."""
        answered = set(dialogues)
        return [i for i in self._ids.tolist() if i not in answered]

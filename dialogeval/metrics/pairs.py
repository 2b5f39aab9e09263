"""Gold and prediction side by side: what the counting functions of the metrics take in.

Pairs are aligned already: row i of the references answers row i of the responses, and both states
of a pair speak of the same turns in the same order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

__all__ = ["TextPair"]


@dataclass(frozen=True)
class TextPair:
    """References and responses of the same turns, in the order of dialogue and turn.

    Parameters
    ----------
    dialogue_id : sequence of str, length n
    turn : sequence of int, length n
    references, responses : sequence of str, length n
    tokenizer : str
        Name of the tokenisation, as it stands in the signature; ``space`` splits on white space.
    order : sequence of int, length n, optional
        Where each turn stands in the prediction file, for the one score that depends on it (windows of
        the mean segmental type-token ratio).

    Examples
    --------
    >>> TextPair(["d"], [0], ["hello there"], ["hello"]).index.names
    FrozenList(['dialogue_id', 'turn'])
    """

    dialogue_id: Sequence[str]
    turn: Sequence[int]
    references: Sequence[str]
    responses: Sequence[str]
    tokenizer: str = "space"
    order: Sequence[int] | None = None

    @cached_property
    def index(self) -> pd.MultiIndex:
        """Index of turn-level counts."""
        return pd.MultiIndex.from_arrays(
            [pd.Series(self.dialogue_id, dtype="str"), np.asarray(self.turn, dtype="int64")],
            names=["dialogue_id", "turn"],
        )

"""Scale: prediction files too large to be read at once, scored in pieces, in one process or on Dask.

A piece is some whole dialogues. Each is read, paired and counted as a file of its own would be; the counts
are put side by side, and values and intervals are read off them as always.
"""

from __future__ import annotations

from dialogeval.scale.run import TURNS_AT_ONCE, score_in_pieces
from dialogeval.scale.shown import in_lines, largest_difference, piece_table, type_growth

__all__ = [
    "TURNS_AT_ONCE",
    "in_lines",
    "largest_difference",
    "piece_table",
    "score_in_pieces",
    "type_growth",
]

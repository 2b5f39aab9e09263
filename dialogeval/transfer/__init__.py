"""Transfer: trackers carried to other corpora, what labels cost them, and where the rest is lost.

>>> from dialogeval.transfer import check_inputs
>>> check_inputs("sample", "")
"""

from .data import GROUPS, Training, check_inputs, load_data
from .gaps import cause_table, gap_table, stage_table
from .runs import Found, Transfer, carry_annotations, carry_predictions, carry_trackers
from .tables import (
    data_table,
    friend_table,
    metrics_object,
    paper_text,
    score_matrix,
    score_table,
    slot_table,
    unmapped_table,
)

__all__ = [
    "GROUPS",
    "Found",
    "Training",
    "Transfer",
    "carry_annotations",
    "carry_predictions",
    "carry_trackers",
    "cause_table",
    "check_inputs",
    "data_table",
    "friend_table",
    "gap_table",
    "load_data",
    "metrics_object",
    "paper_text",
    "score_matrix",
    "score_table",
    "slot_table",
    "stage_table",
    "unmapped_table",
]

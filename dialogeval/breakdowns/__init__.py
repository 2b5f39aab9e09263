"""Scores by part: by turn number, domain, slot and goal label, and the errors one by one.

In: `Scores`. Out: tables. Every part is a group-by over the counts that the score itself is made
of, or over the triples they count, so that the parts add up to the whole. Nothing is scored again
by another rule. `states` breaks down states (and any score by turn), `texts` responses.
"""

from .states import ERROR_KINDS, by_domain, by_slot, by_turn, frequent_errors, state_errors
from .texts import add_metrics, best_and_worst, by_label, turn_table

__all__ = [
    "ERROR_KINDS",
    "add_metrics",
    "best_and_worst",
    "by_domain",
    "by_label",
    "by_slot",
    "by_turn",
    "frequent_errors",
    "state_errors",
    "turn_table",
]

"""Scores by part: by turn number, domain, slot and goal label, and the errors one by one.

In: `Scores`. Out: tables. Every part is a group-by over the counts that the score itself is made
of, or over the triples they count, so that the parts add up to the whole. Nothing is scored again
by another rule. `parts` has the one function for every grouping of `groups`; `states` breaks down
states (and any score by turn) in a report's own tables, `texts` responses.
"""

from .groups import DIALOGUE_GROUPS, TRIPLE_GROUPS, TURN_GROUPS
from .parts import breakdown
from .responses import RESPONSE_GROUPS, missed, response_groups
from .states import ERROR_KINDS, by_domain, by_slot, by_turn, frequent_errors, state_errors
from .texts import add_metrics, best_and_worst, by_label, turn_table

__all__ = [
    "DIALOGUE_GROUPS",
    "ERROR_KINDS",
    "RESPONSE_GROUPS",
    "TRIPLE_GROUPS",
    "TURN_GROUPS",
    "add_metrics",
    "best_and_worst",
    "breakdown",
    "by_domain",
    "by_label",
    "by_slot",
    "by_turn",
    "frequent_errors",
    "missed",
    "response_groups",
    "state_errors",
    "turn_table",
]

"""Figures: a result in, a matplotlib axes out.

Every function draws on the ``ax`` it is given, or on a new figure of its own, and returns the axes;
nothing global is changed. Colours are told apart by the colour-blind and, by lightness and hatches,
in grey. Each figure carries a sentence that says what is in it: `show` displays the figure with it.
"""

from dialogeval.plots.base import alt_text, show, style
from dialogeval.plots.basic import bar_counts, histogram
from dialogeval.plots.states import score_by_domain, score_by_slot, score_by_turn, slot_errors
from dialogeval.plots.texts import bleu, diversity, goal_labels, lengths
from dialogeval.plots.values import score_intervals

__all__ = [
    "alt_text",
    "bar_counts",
    "bleu",
    "diversity",
    "goal_labels",
    "histogram",
    "lengths",
    "score_by_domain",
    "score_by_slot",
    "score_by_turn",
    "score_intervals",
    "show",
    "slot_errors",
    "style",
]

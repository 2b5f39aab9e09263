"""Error analysis of state tracking: what goes wrong, of what kind, where it starts and how long it lives.

In: `Scores` of a protocol for states. Out: tables, and one dialogue to look at. `errors` lists every
wrong triple with its kind; `lifetimes` follows errors through their dialogues; `confusions` counts
which slots and values are taken for each other; `rendering` shows a dialogue side by side.
"""

from .confusions import confused_slots, confused_values, rank_dialogues
from .errors import error_kinds, errors
from .lifetimes import RESET_GOAL_ACCURACY, error_lives, reset_accuracy
from .rendering import DialogueView, render_dialogue

__all__ = [
    "RESET_GOAL_ACCURACY",
    "DialogueView",
    "confused_slots",
    "confused_values",
    "error_kinds",
    "error_lives",
    "errors",
    "rank_dialogues",
    "render_dialogue",
    "reset_accuracy",
]

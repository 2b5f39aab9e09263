"""Error analysis of state tracking: what goes wrong, of what kind, where it starts and how long it lives.

In: `Scores` of a protocol for states. Out: tables, and one dialogue to look at. `errors` lists every
wrong triple with its kind; `lifetimes` follows errors through their dialogues; `confusions` counts
which slots and values are taken for each other; `rendering` shows a dialogue side by side.
"""

from __future__ import annotations

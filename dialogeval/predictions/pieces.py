"""Nothing is read in pieces any more; this goes with `dialogeval.scale`."""

from __future__ import annotations

LARGE = 1 << 62


def can_be_cut(path: object) -> bool:
    """No file is."""
    return False

"""Chance that repeats: every decision of the generator is taken by a `Dice` with a named seed.

Only ``random.Random.random`` is used, the one sequence that Python promises never to change.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any


class Dice:
    """A source of decisions; two of the same name decide alike on every machine."""

    def __init__(self, name: str) -> None:
        self._random = random.Random(name).random

    def chance(self, share: float) -> bool:
        return self._random() < share

    def between(self, low: int, high: int) -> int:
        return low + int(self._random() * (high - low + 1))

    def pick(self, options: Sequence[Any]) -> Any:
        return options[int(self._random() * len(options))]

    def weighted(self, options: dict[Any, float]) -> Any:
        left = self._random() * sum(options.values())
        for option, weight in options.items():
            left -= weight
            if left < 0:
                return option
        return list(options)[-1]

    def some(self, options: Sequence[Any], count: int) -> list[Any]:
        """Choose ``count`` of the options and leave them in their order."""
        chosen = sorted(self.mixed(range(len(options)))[:count])
        return [options[i] for i in chosen]

    def mixed(self, options: Sequence[Any]) -> list[Any]:
        return [option for _, option in sorted(((self._random(), i), o) for i, o in enumerate(options))]

    def code(self, length: int = 8) -> str:
        return "".join(self.pick("ABCDEFGHJKLMNPQRSTUVWXYZ0123456789") for _ in range(length))

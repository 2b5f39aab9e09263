"""Annotation noise at known rates, as real corpora have it, and the count of every piece of it.

A corpus is made clean and then disturbed here. `RATES` are the chances that are drawn with; what
came of them is counted in a `Tally` and written to ``noise.json``.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from dice import Dice

RATES = {
    "late_slot": 0.04,
    "missing_slot": 0.02,
    "spelling_variant": 0.12,
    "alternatives_after_change": 0.25,
    "none_value": 0.012,
    "name_article": 0.06,
}


@dataclass
class Tally:
    """How often noise could have been and how often it was put in, by kind."""

    cases: dict[str, int] = field(default_factory=dict)
    events: dict[str, int] = field(default_factory=dict)

    def count(self, kind: str, happened: bool) -> bool:
        self.cases[kind] = self.cases.get(kind, 0) + 1
        self.events[kind] = self.events.get(kind, 0) + happened
        return happened

    def as_json(self) -> dict[str, dict[str, float]]:
        return {
            kind: {"cases": n, "events": self.events[kind], "rate": round(self.events[kind] / n, 4)}
            for kind, n in sorted(self.cases.items())
        }


@dataclass(frozen=True)
class Change:
    """What a turn does to one slot of the true state, and whether the user said so in this turn."""

    turn: int
    value: tuple[str, ...]
    said: bool
    before: tuple[str, ...] | None


def changes(truth: list[dict], said: list[set]) -> dict[object, list[Change]]:
    """The history of every slot: from cumulative states {key: value} to changes."""
    history: dict[object, list[Change]] = {}
    previous: dict = {}
    for turn, state in enumerate(truth):
        for key, value in state.items():
            if previous.get(key) != value:
                history.setdefault(key, []).append(Change(turn, value, key in said[turn], previous.get(key)))
        for key in previous:
            if key not in state:
                history[key].append(Change(turn, (), False, previous[key]))
        previous = state
    return history


def schedule(
    dice: Dice, history: list[Change], turns: int, tally: Tally, respell, joined
) -> list[tuple[str, ...]]:
    """The value of one slot as annotated after each turn; () where it is not annotated.

    ``respell(value)`` is another spelling of a value or None; ``joined(old, new)`` both in one, or None.
    """
    out: list[tuple[str, ...]] = [()] * turns
    for i, change in enumerate(history):
        end = history[i + 1].turn if i + 1 < len(history) else turns
        value, start = change.value, change.turn
        if change.value and change.said:
            old = history[i - 1].value if i else ()
            other = respell(value)
            # A change that is missed would leave the old value standing: only first mentions are late or missing.
            first = not old and end - start > 1
            kinds = ["missing_slot", "late_slot"] if first else []
            kinds += ["alternatives_after_change"] if old and joined else []
            kinds += ["spelling_variant"] if other else []
            # At most one kind of noise, so that each can be counted in the files.
            hit = next((k for k in kinds if tally.count(k, dice.chance(RATES[k]))), "")
            if hit == "missing_slot":
                value = ()
            elif hit == "late_slot":
                start += 1
            elif hit:
                value = joined(old, value) if hit == "alternatives_after_change" else other
        for turn in range(start, end):
            out[turn] = value
    return out

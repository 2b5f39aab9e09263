"""The leaderboard's rules told turn by turn, and its published rows beside ours: pieces of lesson 3.

In: `Scores` under the leaderboard's rules. Out: small tables.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pandas as pd

from dialogeval.exceptions import UsageError
from dialogeval.leaderboard import published
from dialogeval.metrics.task import RATE_DOMAINS, TaskPair, active_domains, offers_table
from dialogeval.scoring import Scores
from dialogeval.tables import Predictions, table

#: Our metrics by the columns of the public leaderboard.
_COLUMNS = {
    "bleu": "bleu",
    "inform": "inform",
    "success": "success",
    "avg_length": "avg_length",
    "cond_bigram_entropy": "cond_bigram_entropy",
    "unique_words": "unique_1grams",
    "unique_trigrams": "unique_3grams",
}


def follow_dialogue(scores: Scores, dialogue_id: str) -> pd.DataFrame:
    """Tell turn by turn what counts for Inform and Success in a dialogue."""
    pair = scores.pairs["task"]
    places = [i for i, name in enumerate(pair.dialogue_id) if name == dialogue_id]
    if not places:
        raise UsageError(f"dialogue {dialogue_id} was not scored")
    own: dict[str, Any] = {
        name: frame[frame["dialogue_id"] == dialogue_id]
        for name, frame in (("states", pair.states), ("goals", pair.goals), ("bookings", pair.bookings))
    }
    rows = []
    active = _active_by_turn(pair, dialogue_id, places)
    for n, place in enumerate(places):
        # What counts after a turn is what counts in a dialogue that ends there.
        upto = places[: n + 1]
        seen = replace(
            pair,
            dialogue_id=[dialogue_id] * len(upto),
            turn=[pair.turn[i] for i in upto],
            responses=[pair.responses[i] for i in upto],
            **own,
        )
        row = {"turn": pair.turn[place], "response": pair.responses[place], "active": active[n]}
        for _, item in offers_table(seen).iterrows():
            row[f"{item['domain']}: offer"] = item["offered"]
            row[f"{item['domain']}: given"] = item["provided"]
        rows.append(row)
    return pd.DataFrame(rows)


def beside_published(scored: dict[str, Scores]) -> pd.DataFrame:
    """Set our numbers beside the published ones."""
    board = published()
    rows = [
        (name, column, float(scores[key]), float(board[column].loc[name]))
        for name, scores in scored.items()
        if name in board.index
        for column, key in _COLUMNS.items()
    ]
    both = pd.DataFrame(rows, columns=["system", "score", "ours", "published"])
    return both.assign(difference=both["ours"] - both["published"]).set_index(["system", "score"])


def active_from_placeholders(predictions: Predictions) -> Predictions:
    """Return the predictions with active domains read off their placeholders: ``[hotel_name]``, hotel."""
    if predictions.responses is None:
        raise UsageError(f"{predictions.name} holds no responses")
    pattern = rf"\[({'|'.join(RATE_DOMAINS)})_"
    found = predictions.responses.set_index(["dialogue_id", "turn"])["response"].str.extractall(pattern)
    names = found[0].rename("domain").reset_index(["dialogue_id", "turn"]).drop_duplicates()
    active = table("active_domains", {c: names[c].tolist() for c in ("dialogue_id", "turn", "domain")})
    return replace(predictions, active_domains=active, path="", format="")


def _active_by_turn(pair: TaskPair, dialogue_id: str, places: Sequence[int]) -> list[str]:
    if pair.active is not None:
        own = pair.active[pair.active["dialogue_id"] == dialogue_id]
        return [", ".join(own.loc[own["turn"] == pair.turn[i], "domain"]) for i in places]
    states: dict[int, dict[str, dict[str, str]]] = {}
    own = pair.states[pair.states["dialogue_id"] == dialogue_id]
    for turn, domain, slot, value in own[["turn", "domain", "slot", "value"]].itertuples(index=False):
        states.setdefault(turn, {}).setdefault(domain, {})[slot] = value
    return [domain or "" for domain in active_domains(states.get(pair.turn[i], {}) for i in places)]

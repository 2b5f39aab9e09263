"""The public leaderboard: its published rows, ours beside them, and one dialogue told turn by turn.

In: a corpus with goals and a venue database, predictions with responses. Out: `Scores` by the
leaderboard's rules, or the reason why there are none; small tables.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from importlib.resources import files
from typing import Any

import pandas as pd

from .database import load_database
from .exceptions import DialogevalError, UsageError
from .metrics.offers import TaskPair, active_domains, offers_table
from .metrics.richness import RICHNESS_METRICS
from .metrics.task import LEADERBOARD, RATE_DOMAINS
from .protocols import PROTOCOLS
from .scoring import SEED, Scores, score
from .tables import Corpus, Predictions, table

__all__ = [
    "LEADERBOARD_PROTOCOL",
    "active_from_placeholders",
    "beside_published",
    "failed_dialogues",
    "follow_dialogue",
    "leaderboard",
    "task_scores",
]

#: What the public leaderboard lists, without the scores of states.
LEADERBOARD_PROTOCOL = replace(PROTOCOLS["mwzeval"], metrics=(*LEADERBOARD, *RICHNESS_METRICS))
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


def task_scores(
    corpus: Corpus, predictions: Predictions, resamples: int = 0, seed: int = SEED
) -> tuple[Scores | None, str]:
    """Score by the leaderboard's rules, or say why that cannot be done.

    Parameters
    ----------
    corpus : Corpus
    predictions : Predictions
        With responses.
    resamples : int, default=0
    seed : int, default=12345

    Returns
    -------
    scores : Scores or None
    reason : str
        Empty if there are scores; else one sentence.

    Examples
    --------
    >>> from dialogeval import load_corpus
    >>> from dialogeval.lessons.example_generators import gold_responses
    >>> gold = load_corpus("sample/crosswoz_en")
    >>> task_scores(gold, gold_responses(gold))[0] is None
    True
    """
    if corpus.family != "multiwoz" or not len(corpus.goals):
        why = "no user goals" if not len(corpus.goals) else "goals in another form than MultiWOZ's"
        return None, (
            f"Inform and Success are left out: {corpus.id} has {why}. They need goals and a venue database."
        )
    try:
        load_database(corpus)
        return score(corpus, predictions, LEADERBOARD_PROTOCOL, resamples=resamples, seed=seed), ""
    except DialogevalError as error:
        return None, f"Inform and Success are left out: {str(error).rstrip('.')}."


def follow_dialogue(scores: Scores, dialogue_id: str) -> pd.DataFrame:
    """Tell turn by turn what counts for Inform and Success in a dialogue.

    Parameters
    ----------
    scores : Scores
        Of `task_scores`, or of protocol ``mwzeval``.
    dialogue_id : str

    Returns
    -------
    pandas.DataFrame
        A row a turn: turn, ``response`` as it was read, ``active`` domains; and for each domain D of
        the goal ``D: offer``, how many entries of the database the system's last offer stands for
        (0: none yet), and ``D: given``, the requestable items given so far.

    Raises
    ------
    UsageError
        Scores without Inform, or a dialogue that was not scored.

    Examples
    --------
    >>> from dialogeval import load_corpus, load_predictions
    >>> gold = load_corpus("sample/multiwoz")
    >>> mine = load_predictions("sample/predictions/multiwoz/generator_template.json.gz")
    >>> follow_dialogue(task_scores(gold, mine)[0], "smp0161")["attraction: offer"].iloc[-1] > 0
    np.True_
    """
    pair = _task_pair_of(scores)
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


def failed_dialogues(scores: Scores) -> pd.DataFrame:
    """Return the domains of dialogues that fail, with what was offered and what was missed.

    Parameters
    ----------
    scores : Scores
        Of `task_scores`, or of protocol ``mwzeval``.

    Returns
    -------
    pandas.DataFrame
        Rows of `dialogeval.metrics.offers.offers_table` that are not matched, or lack a requested item.

    Raises
    ------
    UsageError
        Scores without Inform.

    Examples
    --------
    >>> from dialogeval import load_corpus, load_predictions
    >>> mine = load_predictions("sample/predictions/multiwoz/generator_template.json.gz")
    >>> failed = failed_dialogues(task_scores(load_corpus("sample/multiwoz"), mine)[0])
    >>> bool((~failed["matched"] | (failed["missed"] != "")).all())
    True
    """
    offers = offers_table(_task_pair_of(scores))
    return offers[~offers["matched"] | (offers["missed"] != "")].reset_index(drop=True)


def leaderboard() -> pd.DataFrame:
    """Return the published rows of the MultiWOZ leaderboard for the systems whose files are shared.

    Returns
    -------
    pandas.DataFrame
        Indexed by system: ``bleu`` (against references of MultiWOZ 2.2), ``inform``, ``success`` in
        per cent, ``avg_length``, ``cond_bigram_entropy``, ``unique_words``, ``unique_trigrams``.

    Notes
    -----
    Nekvinda & Dušek 2021, arXiv:2106.05555, and the list kept with their scorer.

    Examples
    --------
    >>> leaderboard().loc["ubar", "inform"]
    np.float64(83.4)
    """
    with (files(__package__) / "data" / "leaderboard.csv").open(encoding="utf-8") as file:
        return pd.read_csv(file).set_index("system")


def beside_published(scored: dict[str, Scores]) -> pd.DataFrame:
    """Set our numbers beside the published ones.

    Parameters
    ----------
    scored : dict of str to Scores
        By system name, from `task_scores`.

    Returns
    -------
    pandas.DataFrame
        Indexed by (system, score), for the systems that the leaderboard lists: ``ours``,
        ``published``, ``difference``.

    Examples
    --------
    >>> len(beside_published({}))
    0
    """
    published = leaderboard()
    rows = [
        (name, column, float(scores[key]), float(published[column].loc[name]))
        for name, scores in scored.items()
        if name in published.index
        for column, key in _COLUMNS.items()
    ]
    both = pd.DataFrame(rows, columns=["system", "score", "ours", "published"])
    return both.assign(difference=both["ours"] - both["published"]).set_index(["system", "score"])


def active_from_placeholders(predictions: Predictions) -> Predictions:
    """Return the predictions with active domains read off their placeholders: ``[hotel_name]``, hotel.

    Parameters
    ----------
    predictions : Predictions
        With responses.

    Returns
    -------
    Predictions

    Raises
    ------
    UsageError
        No responses.

    Examples
    --------
    >>> own = table("responses", [("d", 0, "[hotel_name] is in the [value_area]")])
    >>> active_from_placeholders(Predictions("a", responses=own)).active_domains["domain"].tolist()
    ['hotel']
    """
    if predictions.responses is None:
        raise UsageError(f"{predictions.name} holds no responses")
    pattern = rf"\[({'|'.join(RATE_DOMAINS)})_"
    found = predictions.responses.set_index(["dialogue_id", "turn"])["response"].str.extractall(pattern)
    names = found[0].rename("domain").reset_index(["dialogue_id", "turn"]).drop_duplicates()
    active = table("active_domains", {c: names[c].tolist() for c in ("dialogue_id", "turn", "domain")})
    return replace(predictions, active_domains=active, path="", format="")


# Helpers ------------------------------------------------------------------------------------------


def _active_by_turn(pair: TaskPair, dialogue_id: str, places: Sequence[int]) -> list[str]:
    if pair.active is not None:
        own = pair.active[pair.active["dialogue_id"] == dialogue_id]
        return [", ".join(own.loc[own["turn"] == pair.turn[i], "domain"]) for i in places]
    states: dict[int, dict[str, dict[str, str]]] = {}
    own = pair.states[pair.states["dialogue_id"] == dialogue_id]
    for turn, domain, slot, value in own[["turn", "domain", "slot", "value"]].itertuples(index=False):
        states.setdefault(turn, {}).setdefault(domain, {})[slot] = value
    return [domain or "" for domain in active_domains(states.get(pair.turn[i], {}) for i in places)]


def _task_pair_of(scores: Scores) -> TaskPair:
    pair = scores.pairs.get("task")
    if pair is None:
        raise UsageError(f"protocol {scores.protocol.name} has no Inform", mend="score under mwzeval")
    return pair

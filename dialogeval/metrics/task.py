"""Whether a dialogue reached its goal: Inform, Success and their combination with BLEU.

In: a `TaskPair`. Out: one row of counts a dialogue, per domain and in all, and rates in per cent of
dialogues. Definitions are those of MultiWOZ_Evaluation; see `dialogeval.metrics.offers` for the rules.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import pandas as pd

from . import Metric, Sums, ratio
from .offers import TaskPair, offers_table
from .text import TEXT_METRICS

__all__ = ["LEADERBOARD", "RATE_DOMAINS", "TASK_METRICS", "task_counts"]

#: Domains that have rates of their own. The last two occur in the goals of training dialogues only.
RATE_DOMAINS = ("restaurant", "hotel", "attraction", "train", "taxi", "police", "hospital")
SOURCE = "Nekvinda & Dušek 2021 (MultiWOZ_Evaluation), arXiv:2106.05555"


def task_counts(pair: TaskPair) -> pd.DataFrame:
    """Count by dialogue whether its goal was met.

    Parameters
    ----------
    pair : TaskPair

    Returns
    -------
    pandas.DataFrame
        Indexed by dialogue_id, every dialogue of the pair: ``task_dialogues`` (1 if it has a goal),
        ``task_inform`` (every domain of the goal is matched), ``task_success`` (and every requested
        item was provided); for each domain D ``task_goal/D`` (the goal has it), ``task_inform/D`` (D is
        matched), ``task_success/D`` (the whole dialogue's inform, and D's items were provided).

    Examples
    --------
    >>> from dialogeval.database import database_from_entries
    >>> from dialogeval.tables import table
    >>> pair = TaskPair(["d"], [0], ["your taxi comes , call PHONE"], table("states"),
    ...     table("active_domains", [("d", 0, "taxi")]), table("goals", [("d", "taxi", "request", "phone", "")]),
    ...     table("bookings"), database_from_entries({}))
    >>> task_counts(pair)[["task_dialogues", "task_inform", "task_success/taxi"]].values.tolist()
    [[1, 1, 1]]
    """
    offers = offers_table(pair)
    offers["provided_all"] = offers["missed"] == ""
    whole = offers.groupby("dialogue_id", sort=False)[["matched", "provided_all"]].all()
    inform = offers["dialogue_id"].map(whole["matched"]).astype("bool")
    ids = pd.Index(pd.unique(pd.Series(pair.dialogue_id, dtype="str")), name="dialogue_id")
    columns = {
        "task_dialogues": pd.Series(1, index=whole.index),
        "task_inform": whole["matched"],
        "task_success": whole["matched"] & whole["provided_all"],
    }
    for domain in RATE_DOMAINS:
        here = (offers["domain"] == domain).to_numpy()
        index = pd.Index(offers.loc[here, "dialogue_id"])
        matched, success = offers["matched"], inform & offers["provided_all"]
        columns[f"task_goal/{domain}"] = pd.Series(1, index=index)
        columns[f"task_inform/{domain}"] = pd.Series(matched.to_numpy()[here], index=index)
        columns[f"task_success/{domain}"] = pd.Series(success.to_numpy()[here], index=index)
    return pd.DataFrame({k: c.astype("int64").reindex(ids, fill_value=0) for k, c in columns.items()})


# Helpers ------------------------------------------------------------------------------------------


def _rate(part: str, whole: str, sums: Sums) -> Any:
    # Without a dialogue of that kind there is no rate, which is not the same as a rate of 0.
    return 100 * ratio(sums[part], sums[whole], empty=float("nan"))


def _combined(sums: Sums) -> Any:
    rates = (_rate(f"task_{key}", "task_dialogues", sums) for key in ("inform", "success"))
    return sum(rates) / 2 + TASK_METRICS["bleu"].value(sums)


def _rates() -> Iterator[Metric]:
    rate = partial(Metric, counts=task_counts, unit="per cent", source=SOURCE, task="task")
    for key in ("inform", "success"):
        yield rate(key, key.capitalize(), value=partial(_rate, f"task_{key}", "task_dialogues"))
    for key in ("inform", "success"):
        for domain in RATE_DOMAINS:
            value = partial(_rate, f"task_{key}/{domain}", f"task_goal/{domain}")
            yield rate(f"{key}/{domain}", f"{key.capitalize()} ({domain})", value=value)


#: By key: ``bleu``, ``inform``, ``success``, ``combined`` and the rates by domain.
TASK_METRICS: dict[str, Metric] = {"bleu": replace(TEXT_METRICS["sacrebleu"], key="bleu", label="BLEU")}
TASK_METRICS |= {m.key: m for m in _rates()}
TASK_METRICS["combined"] = Metric(
    "combined",
    "Combined",
    task_counts,
    _combined,
    unit="points",
    source="Mehri et al. 2019, arXiv:1907.10016",
    task="task",
    parts=(TASK_METRICS["inform"], TASK_METRICS["bleu"]),
)

#: What protocol ``mwzeval`` reports of them: domains that occur in the goals of the test set.
LEADERBOARD = (
    *("bleu", "inform", "success", "combined"),
    *(f"{rate}/{domain}" for rate in ("inform", "success") for domain in RATE_DOMAINS[:5]),
)

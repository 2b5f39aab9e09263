"""All metrics by key: what a protocol may name."""

from __future__ import annotations

from functools import cache

from . import Metric
from .change import CHANGE_METRICS
from .goal import GOAL_METRICS
from .richness import RICHNESS_METRICS
from .slots import SLOT_METRICS
from .state import STATE_METRICS
from .task import TASK_METRICS
from .text import TEXT_METRICS

__all__ = ["metric_table"]


@cache
def metric_table() -> dict[str, Metric]:
    """Return all metrics by key.

    Returns
    -------
    dict of str to Metric

    Examples
    --------
    >>> "joint_goal_accuracy" in metric_table()
    True
    """
    states = {**STATE_METRICS, **SLOT_METRICS, **CHANGE_METRICS}
    return {**states, **TEXT_METRICS, **GOAL_METRICS, **RICHNESS_METRICS, **TASK_METRICS}

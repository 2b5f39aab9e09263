"""dialogeval: evaluate task-oriented dialogue models; a score is a number plus a definition.

>>> import dialogeval as de
>>> gold = de.load_corpus("sample/crosswoz_en", split="test")
>>> de.score(gold, gold, protocol="lin2021")["slot_f1_micro"]
1.0
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

#: Public names by the module that holds them; imported when first used, so that
#: ``import dialogeval`` costs little more than pandas.
_HOMES = {
    "corpora": ["load_corpus"],
    "corpora.catalog": ["catalog", "cite", "corpora_table", "data_home"],
    "corpora.download": ["fetch"],
    "predictions": ["load_predictions"],
    "predictions.writers": ["convert", "save_predictions"],
    "tables": ["Corpus", "Predictions", "as_predictions", "table"],
    "protocols": ["PROTOCOLS", "Protocol", "protocols_table"],
    "scale": ["score_in_pieces"],
    "scoring": ["Scores", "score"],
    "comparison": ["Comparison", "compare"],
    "results_store": ["read_results"],
    "breakdowns": ["breakdown"],
    "definition_table": ["definitions", "rankings"],
    "analysis": [
        "confused_slots",
        "confused_values",
        "error_kinds",
        "error_lives",
        "errors",
        "rank_dialogues",
        "render_dialogue",
        "reset_accuracy",
    ],
    "metrics.state": ["joint_goal_accuracy", "slot_f1", "slot_scores"],
    "metrics.text": ["bleu", "sentence_bleu_mean"],
    "metrics.diversity": ["distinct_n", "distinct_utterances"],
    "metrics.goal": ["goal_scores"],
    "ontology": ["Ontology", "compare_ontologies", "ontology_of"],
    "alignment": ["Alignment", "attribute_losses", "load_alignment", "map_predictions"],
    "alignment.finder": ["false_friends", "propose_alignment"],
    "delex": ["delexicalize"],
    "model_input": ["lai_inputs"],
    "baselines": ["run_baseline"],
    "checks": ["predictions_from"],
    "exceptions": ["DialogevalError"],
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = sorted(_HOME_OF)

if TYPE_CHECKING:
    from .alignment import Alignment, attribute_losses, load_alignment, map_predictions
    from .alignment.finder import false_friends, propose_alignment
    from .analysis import (
        confused_slots,
        confused_values,
        error_kinds,
        error_lives,
        rank_dialogues,
        render_dialogue,
        reset_accuracy,
    )
    from .baselines import run_baseline
    from .breakdowns import breakdown
    from .checks import predictions_from
    from .comparison import Comparison, compare
    from .corpora import load_corpus
    from .corpora.catalog import catalog, cite, corpora_table, data_home
    from .corpora.download import fetch
    from .definition_table import definitions, rankings
    from .delex import delexicalize
    from .exceptions import DialogevalError
    from .metrics.diversity import distinct_n, distinct_utterances
    from .metrics.goal import goal_scores
    from .metrics.state import joint_goal_accuracy, slot_f1, slot_scores
    from .metrics.text import bleu, sentence_bleu_mean
    from .model_input import lai_inputs
    from .ontology import Ontology, compare_ontologies, ontology_of
    from .predictions import load_predictions
    from .predictions.writers import convert, save_predictions
    from .protocols import PROTOCOLS, Protocol, protocols_table
    from .results_store import read_results
    from .scale import score_in_pieces
    from .scoring import Scores, score
    from .tables import Corpus, Predictions, as_predictions, table


def __getattr__(name: str) -> Any:
    if name in _HOME_OF:
        return getattr(importlib.import_module(f".{_HOME_OF[name]}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOME_OF])

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
    "corpora.load": ["load_corpus"],
    "corpora.entries": ["catalog"],
    "corpora.catalog": ["cite", "corpora_table", "data_home"],
    "corpora.download": ["fetch"],
    "predictions.load": ["load_predictions"],
    "predictions.writers": ["convert", "save_predictions"],
    "tables": ["Corpus", "Predictions", "as_predictions", "table", "predictions_from"],
    "protocols": ["PROTOCOLS", "Protocol", "protocols_table"],
    "scoring": ["Scores", "score"],
    "comparison": ["Comparison", "compare"],
    "report": ["read_results"],
    "analysis.breakdowns": ["breakdown"],
    "definition_table": ["definitions", "rankings"],
    "analysis.dialogue": ["render_dialogue"],
    "analysis.errors": [
        "confused_slots",
        "confused_values",
        "error_kinds",
        "error_lives",
        "errors",
        "rank_dialogues",
        "reset_accuracy",
    ],
    "metrics": ["Metric"],
    "metrics.states": ["joint_goal_accuracy", "slot_f1", "slot_scores"],
    "metrics.text": ["bleu", "sentence_bleu_mean", "distinct_n", "distinct_utterances"],
    "metrics.goals": ["goal_scores"],
    "ontology": ["Ontology", "compare_ontologies", "ontology_of"],
    "ontology.alignment": ["Alignment", "load_alignment"],
    "ontology.attribution": ["attribute_losses"],
    "ontology.mapping": ["map_predictions"],
    "ontology.finder": ["false_friends", "propose_alignment"],
    "delex": ["delexicalize"],
    "baselines": ["run_baseline"],
    "model_input": ["lai_inputs"],
    "exceptions": ["DialogevalError"],
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = sorted(_HOME_OF)

if TYPE_CHECKING:
    from dialogeval.analysis.breakdowns import breakdown
    from dialogeval.analysis.dialogue import render_dialogue
    from dialogeval.analysis.errors import (
        confused_slots,
        confused_values,
        error_kinds,
        error_lives,
        rank_dialogues,
        reset_accuracy,
    )
    from dialogeval.baselines import run_baseline
    from dialogeval.comparison import Comparison, compare
    from dialogeval.corpora.catalog import cite, corpora_table, data_home
    from dialogeval.corpora.download import fetch
    from dialogeval.corpora.entries import catalog
    from dialogeval.corpora.load import load_corpus
    from dialogeval.definition_table import definitions, rankings
    from dialogeval.delex import delexicalize
    from dialogeval.exceptions import DialogevalError
    from dialogeval.metrics.goals import goal_scores
    from dialogeval.metrics.states import joint_goal_accuracy, slot_f1, slot_scores
    from dialogeval.metrics.text import bleu, distinct_n, distinct_utterances, sentence_bleu_mean
    from dialogeval.model_input import lai_inputs
    from dialogeval.ontology import Ontology, compare_ontologies, ontology_of
    from dialogeval.ontology.alignment import Alignment, load_alignment
    from dialogeval.ontology.attribution import attribute_losses
    from dialogeval.ontology.finder import false_friends, propose_alignment
    from dialogeval.ontology.mapping import map_predictions
    from dialogeval.predictions.load import load_predictions
    from dialogeval.predictions.writers import convert, save_predictions
    from dialogeval.protocols import PROTOCOLS, Protocol, protocols_table
    from dialogeval.report import read_results
    from dialogeval.scoring import Scores, score
    from dialogeval.tables import Corpus, Predictions, as_predictions, predictions_from, table

    from .metrics import Metric


def __getattr__(name: str) -> Any:
    if name in _HOME_OF:
        return getattr(importlib.import_module(f".{_HOME_OF[name]}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__

"""Alignments of ontologies: which slot and value stands for which, and states mapped through that.

>>> from dialogeval.alignment import load_alignment, map_states
>>> import dialogeval as de
>>> rows = [("d", 0, "hotel", "price range", "cheap"), ("d", 0, "hotel", "type", "hotel")]
>>> states = de.table("states", rows)
>>> mapped, unmapped = map_states(states, load_alignment("multiwoz__crosswoz_en"))
>>> mapped[["domain", "slot", "value"]].values.tolist(), unmapped["reason"].tolist()
([['Hotel', 'type', 'budget']], ['false friend'])
"""

from __future__ import annotations

from .attribution import CAUSES, Attribution, attribute_losses
from .compose import LANGUAGES, compose, load_alignment, ontology_name
from .learning import learn_values
from .mapping import REASONS, STAGES, map_corpus_states, map_predictions, map_states
from .reading import save_alignment
from .rules import RELATIONS, check_alignment
from .table import Alignment, Hop

__all__ = [
    "CAUSES",
    "LANGUAGES",
    "REASONS",
    "RELATIONS",
    "STAGES",
    "Alignment",
    "Attribution",
    "Hop",
    "attribute_losses",
    "check_alignment",
    "compose",
    "learn_values",
    "load_alignment",
    "map_corpus_states",
    "map_predictions",
    "map_states",
    "ontology_name",
    "save_alignment",
]

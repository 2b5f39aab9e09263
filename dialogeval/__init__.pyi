"""The public names and where each is defined: read by type checkers, editors and, on first use, the package."""

from .analysis.breakdowns import breakdown as breakdown
from .analysis.dialogue import (
    rank_dialogues as rank_dialogues,
    render_dialogue as render_dialogue,
)
from .analysis.errors import (
    confused_slots as confused_slots,
    confused_values as confused_values,
    error_kinds as error_kinds,
    error_lives as error_lives,
    errors as errors,
    reset_accuracy as reset_accuracy,
)
from .baselines import run_baseline as run_baseline
from .comparison import (
    Comparison as Comparison,
    compare as compare,
)
from .corpora.catalog import (
    catalog as catalog,
    cite as cite,
    corpora_table as corpora_table,
    data_home as data_home,
)
from .corpora.download import fetch as fetch
from .corpora.load import load_corpus as load_corpus
from .definition_table import (
    definitions as definitions,
    rankings as rankings,
)
from .delex import delexicalize as delexicalize
from .exceptions import DialogevalError as DialogevalError
from .metrics import Metric as Metric
from .metrics.goals import goal_scores as goal_scores
from .metrics.states import (
    joint_goal_accuracy as joint_goal_accuracy,
    slot_f1 as slot_f1,
    slot_scores as slot_scores,
)
from .metrics.text import (
    bleu as bleu,
    distinct_n as distinct_n,
    distinct_utterances as distinct_utterances,
    sentence_bleu_mean as sentence_bleu_mean,
)
from .model_input import lai_inputs as lai_inputs
from .ontology import (
    Ontology as Ontology,
    compare_ontologies as compare_ontologies,
    ontology_of as ontology_of,
)
from .ontology.alignment import (
    Alignment as Alignment,
    load_alignment as load_alignment,
)
from .ontology.attribution import attribute_losses as attribute_losses
from .ontology.finder import (
    false_friends as false_friends,
    propose_alignment as propose_alignment,
)
from .ontology.mapping import map_predictions as map_predictions
from .predictions.load import load_predictions as load_predictions
from .predictions.writers import (
    convert as convert,
    save_predictions as save_predictions,
)
from .protocols import (
    PROTOCOLS as PROTOCOLS,
    Protocol as Protocol,
    protocols_table as protocols_table,
)
from .report import read_results as read_results
from .scoring import (
    Scores as Scores,
    score as score,
)
from .tables import (
    Corpus as Corpus,
    Predictions as Predictions,
    as_predictions as as_predictions,
    predictions_from as predictions_from,
    table as table,
)

__version__: str

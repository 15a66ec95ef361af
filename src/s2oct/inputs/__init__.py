"""What users pass to a classifier, checked at the edge: features, labels, totals and seeds."""

from s2oct.inputs.answers import (
    Answers,
    doubts_about,
    labeled_accuracy,
    read_answers,
    read_complete_labels,
    warn_of_column,
)
from s2oct.inputs.domains import read_domains
from s2oct.inputs.features import (
    read_features,
    read_rule_features,
    text_columns,
    without_columns,
)
from s2oct.inputs.replicate_weights import read_replicate_weights
from s2oct.inputs.seeds import read_seed
from s2oct.inputs.weights import read_weights

__all__ = [
    "Answers",
    "doubts_about",
    "labeled_accuracy",
    "read_answers",
    "read_complete_labels",
    "read_domains",
    "read_features",
    "read_replicate_weights",
    "read_rule_features",
    "read_seed",
    "read_weights",
    "text_columns",
    "warn_of_column",
    "without_columns",
]

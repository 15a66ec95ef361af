"""What users pass to a classifier, checked at the edge: features, labels, totals and seeds."""

from s2oct.inputs.features import (
    has_gaps,
    holds_numbers,
    learn_features,
    read_rows,
    read_rule_features,
    text_columns,
    without_columns,
)
from s2oct.inputs.known import (
    counted_part,
    labeled_accuracy,
    names_of_columns,
    read_complete_labels,
    read_domains,
    read_known,
    read_replicate_weights,
    read_seed,
    read_weights,
    warn_caller,
    warn_of_column,
    warn_of_doubts,
    warn_of_unlabeled,
)

__all__ = [
    "counted_part",
    "has_gaps",
    "holds_numbers",
    "labeled_accuracy",
    "learn_features",
    "names_of_columns",
    "read_complete_labels",
    "read_domains",
    "read_known",
    "read_replicate_weights",
    "read_rows",
    "read_rule_features",
    "read_seed",
    "read_weights",
    "text_columns",
    "warn_caller",
    "warn_of_column",
    "warn_of_doubts",
    "warn_of_unlabeled",
    "without_columns",
]

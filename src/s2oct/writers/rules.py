"""What all writers share: the rules of a tree, and the columns from which its features come."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from s2oct.errors import InvalidProblem
from s2oct.model.rules import (
    Leaf,
    Split,
    check_names,
    conditions,
    features_used,
    inequality,
    pruned,
    remarks,
    rule_lines,
    rule_parts,
    rule_text,
    signed_terms,
    terms,
)
from s2oct.model.tree import ObliqueTree
from s2oct.tables.encoding import Encoding, plain_encoding

__all__ = [
    "Leaf",
    "Split",
    "check_names",
    "checked_encoding",
    "conditions",
    "features_used",
    "inequality",
    "pruned",
    "remarks",
    "rule_lines",
    "rule_parts",
    "rule_text",
    "signed_terms",
    "terms",
]


def checked_encoding(
    tree: ObliqueTree, feature_names: Sequence[str], classes: Sequence[Any], encoding: Encoding | None
) -> Encoding:
    """The encoding, or one in which every feature is a column; refuses one that makes other features."""
    check_names(tree, feature_names, classes)
    columns = encoding or plain_encoding(feature_names)
    if columns.features != tuple(feature_names):
        raise InvalidProblem(
            f"Expected an encoding into the features {list(feature_names)}, got {list(columns.features)}."
        )
    return columns

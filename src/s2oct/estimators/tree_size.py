"""How much there is to read in a fitted classifier, if it is one tree."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.tree import DecisionTreeClassifier

from s2oct.model.rules import TreeSize
from s2oct.model.tree import ObliqueTree


def tree_size(classifier: Any) -> TreeSize | None:
    """Read the size of a fitted classifier, also inside wrappers and pipelines; None if it is not one tree."""
    if isinstance(getattr(classifier, "tree_", None), ObliqueTree):
        return TreeSize.of_tree(classifier.tree_, classifier._features())
    if isinstance(classifier, DecisionTreeClassifier):
        n_splits = int(np.sum(classifier.tree_.feature >= 0))
        return TreeSize(n_splits, n_splits)
    if isinstance(classifier, Pipeline):
        return tree_size(classifier[-1])
    if hasattr(classifier, "tree_size_"):
        size: TreeSize = classifier.tree_size_
        return size
    # A forest has estimators_, a wrapper has one estimator_; some forests have both.
    if hasattr(classifier, "estimator_") and not hasattr(classifier, "estimators_"):
        return tree_size(classifier.estimator_)
    return None

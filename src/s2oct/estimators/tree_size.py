"""How much there is to read in a fitted tree: splits, and terms in all of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.tree import DecisionTreeClassifier

from s2oct.model.tree import ObliqueTree


@dataclass(frozen=True)
class TreeSize:
    """The size of a tree as its reader sees it.

    Attributes
    ----------
    n_splits : int
        Splits that a row can reach. A node that sends all rows to one side is no split.
    n_terms : int
        Features in all these splits together.
    """

    n_splits: int
    n_terms: int

    @property
    def features_per_split(self) -> float:
        """Mean number of features in a split; 0 for a tree without splits."""
        return self.n_terms / self.n_splits if self.n_splits else 0.0

    @classmethod
    def of_tree(cls, tree: ObliqueTree) -> TreeSize:
        """Count the splits that rows can reach."""
        # A row of zeros has the same value as any other row at a node without features.
        right = tree.goes_right(np.zeros((1, tree.n_features)))[0]
        n_branches = tree.topology.n_branches
        terms, open_nodes = [], [1]
        while open_nodes:
            node = open_nodes.pop()
            if node > n_branches:
                continue
            n_features = int(np.count_nonzero(tree.omega[node - 1]))
            if n_features:
                terms.append(n_features)
                open_nodes += [2 * node, 2 * node + 1]
            else:
                open_nodes.append(2 * node + int(right[node - 1]))
        return cls(len(terms), sum(terms))


def tree_size(classifier: Any) -> TreeSize | None:
    """Read the size of a fitted classifier, also inside wrappers and pipelines; None if it is not one tree."""
    if isinstance(getattr(classifier, "tree_", None), ObliqueTree):
        return TreeSize.of_tree(classifier.tree_)
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

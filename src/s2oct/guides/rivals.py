"""Other classifiers to compare a tree with, as strong as a competent user would make them.

A strong rival uses the same information as the tree: its labeled rows are weighted by the known shares of the classes,
and its threshold is moved until the total is met.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from s2oct.arrays import FloatArray, IntArray
from s2oct.guides.known_total import WrappedClassifier
from s2oct.guides.wrappers import PriorCorrectedClassifier, TopTotalClassifier
from s2oct.problem.known import Known

N_TREES = 200
"""Number of trees in a forest: twice scikit-learn's default."""


def usual_rivals(random_state: int = 0) -> dict[str, Any]:
    """Return well-known classifiers by name, not fitted."""
    return {
        "logistic regression": make_pipeline(StandardScaler(), LogisticRegression(max_iter=2000)),
        "random forest": RandomForestClassifier(N_TREES, random_state=random_state),
    }


def light_rivals(depth: int, random_state: int = 0) -> dict[str, Any]:
    """Return the usual rivals and two more that need no other package; the decision tree has the given depth."""
    return usual_rivals(random_state) | {
        "extremely randomised trees": ExtraTreesClassifier(N_TREES, random_state=random_state),
        f"decision tree of depth {depth}": DecisionTreeClassifier(max_depth=depth, random_state=random_state),
    }


def strong(classifier: Any, random_state: Any = 0) -> TopTotalClassifier:
    """Weight a classifier by the known shares, and move its threshold until the total is met.

    Parameters
    ----------
    classifier : classifier
        Any classifier that `PriorCorrectedClassifier` accepts and that has scores. A wrapper of this package is not
        weighted again.
    random_state : int, RandomState or None
        Seed of the order of rows with equal scores.

    Returns
    -------
    TopTotalClassifier
        The classifier with both wrappers, not fitted.
    """
    knows = isinstance(classifier, WrappedClassifier)
    return TopTotalClassifier(classifier if knows else PriorCorrectedClassifier(classifier), random_state=random_state)


def assign_classes(rivals: Mapping[str, Any], X: FloatArray, known: Known) -> dict[str, IntArray]:
    """Fit the strong version of each rival, which assigns a class to every unlabeled row and meets the totals.

    Parameters
    ----------
    rivals : mapping of str to classifier
        Classifiers by name; they are cloned before they are fitted.
    X : ndarray of shape (n_rows, n_features)
        Labeled and unlabeled rows that count.
    known : Known
        Labels, whose classes are called 0, 1, 2, ..., totals and weights.

    Returns
    -------
    dict of str to ndarray of shape (n_unlabeled,)
        By name, the class index of each unlabeled row.
    """
    assigned = {}
    for name, rival in rivals.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # readers of a comparison cannot act on a rival's warnings
            fitted = strong(rival)._fit_known(X, known)
        assigned[name] = np.asarray(fitted.transduction_[~known.is_labeled], dtype=np.int64)
    return assigned

"""The rivals of the study by name: well-known classifiers, with the settings that suit few labeled rows.

Packages that only rivals need are imported when a rival is made.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.semi_supervised import SelfTrainingClassifier
from sklearn.tree import DecisionTreeClassifier

from s2oct.arrays import FloatArray, ObjectArray
from s2oct.guides.rivals import N_TREES
from s2oct.model.bounds import paper_depth
from s2oct.model.rules import TreeSize
from s2oct.study.designs import Draw

N_ROUNDS = 150
"""Rounds of boosting."""

Maker = Callable[[Draw, FloatArray, int], Any]
"""Takes a draw, its standardised features and a seed; returns a classifier."""


@dataclass(frozen=True)
class RivalKind:
    """A classifier of the study.

    Attributes
    ----------
    description : str
        One line for reports.
    make : callable
        Makes the classifier for a draw.
    package : str or None
        The package that it needs beyond those of s2oct, from the extra ``bench``.
    """

    description: str
    make: Maker
    package: str | None = None


def is_installed(package: str | None) -> bool:
    """Whether a package can be imported; None is no package."""
    return package is None or importlib.util.find_spec(package) is not None


class LogisticSelfTraining(ClassifierMixin, BaseEstimator):
    """scikit-learn's self-training around logistic regression, with its unlabeled rows as a parameter.

    Wrappers that pass only labeled rows to ``fit`` can use it. scikit-learn's self-training takes no sample weights.
    """

    classes_: ObjectArray

    def __init__(self, unlabeled: Any = None) -> None:
        self.unlabeled = unlabeled

    def fit(self, X: FloatArray, y: ObjectArray) -> LogisticSelfTraining:
        """Fit to the labeled rows, then also to the unlabeled rows with a sure prediction."""
        self.classes_, codes = np.unique(np.asarray(y, dtype=str), return_inverse=True)
        rows = np.vstack([X, self.unlabeled])
        codes = np.concatenate([codes, np.full(len(self.unlabeled), -1)])
        self._fitted = SelfTrainingClassifier(LogisticRegression(max_iter=1000)).fit(rows, codes)
        return self

    def predict(self, X: FloatArray) -> ObjectArray:
        """Class label of each row."""
        return np.asarray(self.classes_[self._fitted.predict(X)])

    def predict_proba(self, X: FloatArray) -> FloatArray:
        """Class probabilities."""
        return np.asarray(self._fitted.predict_proba(X))


class FewFeatureTree(ClassifierMixin, BaseEstimator):
    """The package obliquetree behind scikit-learn's interface: a greedy tree with a few features in a split.

    Attributes
    ----------
    tree_size_ : TreeSize
        Splits and terms of the fitted tree.
    """

    classes_: ObjectArray

    def __init__(self, max_depth: int = 2, n_features_per_split: int = 2, random_state: int = 0) -> None:
        self.max_depth = max_depth
        self.n_features_per_split = n_features_per_split
        self.random_state = random_state

    def fit(self, X: FloatArray, y: ObjectArray, sample_weight: FloatArray | None = None) -> FewFeatureTree:
        """Fit a tree."""
        from obliquetree import Classifier
        from obliquetree.utils import export_tree

        self.classes_, codes = np.unique(np.asarray(y, dtype=str), return_inverse=True)
        n_features = min(self.n_features_per_split, X.shape[1])
        self._fitted = Classifier(
            use_oblique=n_features > 1, max_depth=self.max_depth, n_pair=n_features, random_state=self.random_state
        ).fit(X, codes, sample_weight=sample_weight)
        terms = _terms(export_tree(self._fitted)["tree"])
        self.tree_size_ = TreeSize(len(terms), sum(terms))
        return self

    def predict(self, X: FloatArray) -> ObjectArray:
        """Class label of each row."""
        return np.asarray(self.classes_[self.predict_proba(X).argmax(axis=1)])

    def predict_proba(self, X: FloatArray) -> FloatArray:
        """Class probabilities."""
        return np.asarray(self._fitted.predict_proba(X))


def _terms(node: dict[str, Any]) -> list[int]:
    """Number of features in each split of a tree that obliquetree has exported."""
    if node["is_leaf"]:
        return []
    here = np.count_nonzero(node["weights"]) if node["is_oblique"] else 1
    return [int(here), *_terms(node["left"]), *_terms(node["right"])]


def _catboost(_: Draw, __: FloatArray, seed: int) -> Any:
    from catboost import CatBoostClassifier

    return CatBoostClassifier(
        iterations=N_ROUNDS, depth=4, random_seed=seed, thread_count=1, verbose=False, allow_writing_files=False
    )


def _lightgbm(draw: Draw, _: FloatArray, seed: int) -> Any:
    from lightgbm import LGBMClassifier

    # Its defaults, 20 rows in a leaf and 3 in a bin, allow no split where few rows are labeled.
    rows_in_leaf = min(5, max(1, int(draw.is_labeled.sum()) // 8))
    return LGBMClassifier(
        n_estimators=N_ROUNDS,
        num_leaves=15,
        min_child_samples=rows_in_leaf,
        min_data_in_bin=1,
        random_state=seed,
        n_jobs=1,
        verbose=-1,
    )


def _few_features(n_features: int) -> RivalKind:
    return RivalKind(
        f"tree of the paper's depth with up to {n_features} features in a split (obliquetree)",
        lambda draw, _, seed: FewFeatureTree(paper_depth(len(draw.data.X)), n_features, seed),
        "obliquetree",
    )


OWN_RIVALS = {
    "cart": RivalKind(
        "decision tree (CART) of the paper's depth",
        lambda draw, _, seed: DecisionTreeClassifier(max_depth=paper_depth(len(draw.data.X)), random_state=seed),
    ),
    "lr": RivalKind("logistic regression", lambda *_: LogisticRegression(max_iter=1000)),
    "rf": RivalKind(
        f"random forest of {N_TREES} trees",
        lambda _, __, seed: RandomForestClassifier(N_TREES, random_state=seed),
    ),
    "et": RivalKind(
        f"extremely randomised trees, {N_TREES} of them",
        lambda _, __, seed: ExtraTreesClassifier(N_TREES, random_state=seed),
    ),
    "self-training": RivalKind(
        "self-training around logistic regression",
        lambda draw, X, _: LogisticSelfTraining(X[~draw.is_labeled]),
    ),
}
"""Rivals that need no further package, with and without the totals."""

UNWEIGHTED = ("self-training",)
"""Rivals that take no sample weights: weighted by the known shares they would rank the rows as before."""

FOREIGN_RIVALS = {
    "catboost": RivalKind(f"CatBoost, {N_ROUNDS} rounds of depth 4", _catboost, "catboost"),
    "lightgbm": RivalKind(f"LightGBM, {N_ROUNDS} rounds, few rows in a leaf", _lightgbm, "lightgbm"),
    "obliquetree2": _few_features(2),
    "obliquetree3": _few_features(3),
}
"""Rivals from the extra ``bench``; the study has their strong versions only."""

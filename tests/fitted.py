"""Fitted trees to draw and to report on, and a watch over what drawing leaves behind."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pytest

from s2oct import ObliqueTree, OCTHClassifier, S2OCTClassifier, Topology
from s2oct.datasets import make_labour_force
from s2oct.errors import ChanceLevelWarning, FewLabelsWarning
from s2oct.tables.encoding import plain_encoding


@dataclass(frozen=True)
class Fit:
    """A fitted tree with its rows."""

    clf: Any
    X: Any
    y: Any
    totals: dict[str, int] | None = None

    @property
    def is_labeled(self) -> np.ndarray:
        return np.array([label is not None for label in self.y])

    @property
    def rows(self) -> np.ndarray:
        return np.asarray(self.X, dtype=float)


def quick(**parameters: Any) -> S2OCTClassifier:
    """A classifier of P2 that fits small tables at once."""
    usual = {"depth": 1, "guide": None, "solver": None, "time_limit": 5.0, "random_state": 0}
    return S2OCTClassifier(**{**usual, **parameters})


@pytest.fixture(scope="session")
def labour_force() -> Fit:
    """Eight named features, a biased sample and a total: what the package is for."""
    survey = make_labour_force(n_people=200, n_labeled=30, seed=2)
    X = pd.DataFrame(survey.X, columns=survey.feature_names)
    clf = S2OCTClassifier(depth=2, guide=None, solver=None, time_limit=20, random_state=0)
    return Fit(clf.fit(X, survey.y, totals=survey.totals), X, survey.y, survey.totals)


@pytest.fixture(scope="session")
def plane() -> Fit:
    """Two features without names, and a class on two sides of another."""
    rng = np.random.default_rng(3)
    X = rng.uniform(-3, 3, size=(90, 2))
    truth = np.where(np.abs(X @ [0.7, 1.0]) < 1.5, "in", "out").astype(object)
    y = truth.copy()
    y[rng.random(90) > 0.2] = None
    total = int(((truth == "in") & (y == None)).sum())  # noqa: E711 (elementwise)
    clf = S2OCTClassifier(depth=2, guide=None, solver=None, time_limit=5, random_state=0)
    return Fit(clf.fit(X, y, totals={"in": total}), X, y)


@pytest.fixture
def tree_of():
    """``tree_of(depth, n_features, n_classes)``: an OCT-H classifier around a made-up tree, with rows and labels.

    Nothing is fitted: pictures take any tree, and a made-up one has every kind of split.
    """

    def make(depth, n_features, n_classes=2, *, seed=0, feature_names=None, class_names=None, sparse=0.7):
        rng = np.random.default_rng(seed)
        topology = Topology(depth)
        X = rng.normal(size=(300, n_features)) * 10.0 ** rng.integers(-3, 4, size=n_features)
        omega = rng.normal(size=(topology.n_branches, n_features)) / X.std(axis=0)
        omega *= rng.random(omega.shape) < sparse
        gamma = np.array([np.median(X @ w) if w.any() else rng.choice([-1.0, 1.0]) for w in omega])
        names = np.array(class_names or [f"class {c}" for c in range(n_classes)], dtype=object)
        clf = OCTHClassifier()
        clf.tree_ = ObliqueTree(topology, omega, gamma, rng.permutation(np.arange(topology.n_leaves) % n_classes))
        clf.classes_ = np.array(sorted(names))
        clf.n_features_in_ = n_features
        clf.encoding_ = plain_encoding(feature_names or [f"x{j}" for j in range(n_features)])
        y = rng.choice(clf.classes_, size=300).astype(object)
        y[rng.random(300) > 0.3] = None
        if feature_names is not None:
            clf.feature_names_in_ = np.array(feature_names, dtype=object)
            X = pd.DataFrame(X, columns=feature_names)
        return Fit(clf, X, y)

    return make


@pytest.fixture
def _quiet_pictures():
    """Drawing warns of nothing, and what a test opens it closes."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for of_few_rows in (FewLabelsWarning, ChanceLevelWarning):
            warnings.simplefilter("ignore", of_few_rows)
        yield
        for number in plt.get_fignums():
            plt.figure(number).canvas.draw()
    plt.close("all")

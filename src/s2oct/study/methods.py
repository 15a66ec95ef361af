"""Every method of the study by name: the trees, and the rivals with and without the known total.

A method gets a draw, in which some rows are labeled and the totals of the others are known, and predicts which rows
are in class A. To add a method, add it to `METHODS`.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler
from sklearn.semi_supervised import SelfTrainingClassifier
from sklearn.tree import DecisionTreeClassifier

from s2oct.arrays import BoolArray, FloatArray, ObjectArray
from s2oct.certificate import Claim
from s2oct.errors import S2OCTWarning
from s2oct.estimators import OCTHClassifier, S2OCTClassifier
from s2oct.fit.context import Budget
from s2oct.fit.training import train_plain
from s2oct.guides import PriorCorrectedClassifier, TopTotalClassifier
from s2oct.model.bounds import paper_depth
from s2oct.model.scaling import Scaling
from s2oct.model.spec import ModelSpec
from s2oct.search import compile_kernels
from s2oct.study.designs import Draw

CLASS_A = "A"
N_TREES = 200
"""Trees of a forest: twice scikit-learn's default."""


@dataclass(frozen=True)
class MethodOptions:
    """What every method gets in addition to the draw."""

    time_limit: float
    random_state: int = 0
    solver: str | None = "highs"


@dataclass(frozen=True, eq=False)
class Outcome:
    """What a method predicts for a draw.

    Attributes
    ----------
    predicted_a : ndarray of bool, shape (n_rows,)
        Which rows, labeled ones included, the method puts into class A. If a method labels the unlabeled rows so that
        their total is met, these are its labels there.
    seconds : float
        Wall clock of fit and prediction.
    certificate : Claim or None
        What is proved; None for a method that proves nothing.
    """

    predicted_a: BoolArray
    seconds: float
    certificate: Claim | None


@dataclass(frozen=True)
class Method:
    """A named way from a draw to predictions.

    Attributes
    ----------
    name : str
        The name that users ask for.
    description : str
        One line for reports.
    predict : callable
        Takes a draw and options; returns a boolean per row, and a certificate or None.
    is_tree : bool
        Whether it fits one readable tree of hyperplanes with a certificate.
    """

    name: str
    description: str
    predict: Callable[[Draw, MethodOptions], tuple[BoolArray, Claim | None]]
    is_tree: bool = False

    def run(self, draw: Draw, options: MethodOptions) -> Outcome:
        """Fit one draw and predict all of its rows."""
        if self.is_tree:
            # Once per process and not part of any fit.
            compile_kernels()
        began = time.monotonic()
        predicted_a, certificate = self.predict(draw, options)
        return Outcome(predicted_a, time.monotonic() - began, certificate)


def _labeled_classes(draw: Draw) -> ObjectArray:
    return np.unique(draw.y[draw.is_labeled].astype(str))


def _everything_one_class(draw: Draw) -> BoolArray:
    """A classifier that has seen one class predicts it everywhere."""
    return np.full(len(draw.data.X), _labeled_classes(draw)[0] == CLASS_A)


def _octh(draw: Draw, options: MethodOptions) -> tuple[BoolArray, Claim | None]:
    if len(_labeled_classes(draw)) == 1:
        return _everything_one_class(draw), None
    clf = _octh_classifier(draw, options).fit(draw.data.X, draw.y)
    return clf.predict(draw.data.X) == CLASS_A, clf.certificate_


def _octh_separate(draw: Draw, options: MethodOptions) -> tuple[BoolArray, Claim | None]:
    """Labeled and unlabeled rows are each mapped onto [0, 1] by their own range."""
    if len(_labeled_classes(draw)) == 1:
        return _everything_one_class(draw), None
    X = draw.data.X.copy()
    for part in (draw.is_labeled, ~draw.is_labeled):
        X[part] = Scaling.unit(X[part]).transform(X[part])
    clf = _octh_classifier(draw, options).fit(X[draw.is_labeled], draw.y[draw.is_labeled])
    return clf.predict(X) == CLASS_A, clf.certificate_


def _octh_classifier(draw: Draw, options: MethodOptions) -> OCTHClassifier:
    return OCTHClassifier(
        # Given here, because a fit to the labeled rows alone would count only these.
        depth=paper_depth(len(draw.data.X)),
        solver=options.solver,
        time_limit=options.time_limit,
        random_state=options.random_state,
    )


def _s2oct(**parameters: Any) -> Callable[[Draw, MethodOptions], tuple[BoolArray, Claim | None]]:
    def predict(draw: Draw, options: MethodOptions) -> tuple[BoolArray, Claim | None]:
        clf = S2OCTClassifier(
            solver=options.solver,
            time_limit=options.time_limit,
            random_state=options.random_state,
            **parameters,
        )
        with warnings.catch_warnings():
            # The record of a fit holds the numbers that these are about.
            warnings.simplefilter("ignore", S2OCTWarning)
            clf.fit(draw.data.X, draw.y, totals=draw.totals)
        return clf.predict(draw.data.X) == CLASS_A, clf.certificate_

    return predict


def _s2oct_plain(draw: Draw, options: MethodOptions) -> tuple[BoolArray, Claim | None]:
    budget = Budget(options.solver or "highs", options.time_limit, seed=options.random_state)
    trained = train_plain(draw.problem(), ModelSpec(), budget)
    # Class 0 of the sorted classes "A" and "B".
    return trained.tree.predict(draw.data.X) == 0, trained.certificate


class LogisticSelfTraining(ClassifierMixin, BaseEstimator):
    """scikit-learn's self-training around logistic regression, with its unlabeled rows as a parameter.

    Wrappers that pass only labeled rows to ``fit`` can use it.
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


Wrapper = Callable[[Any], Any]
Maker = Callable[[Draw, FloatArray, int], Any]


def _rival(make: Maker, wrap: Wrapper | None) -> Callable[[Draw, MethodOptions], tuple[BoolArray, Claim | None]]:
    """A classifier on standardised features, alone or in a wrapper that uses the totals."""

    def predict(draw: Draw, options: MethodOptions) -> tuple[BoolArray, Claim | None]:
        X = StandardScaler().fit_transform(draw.data.X)
        classifier = make(draw, X, options.random_state)
        labeled = draw.is_labeled
        with warnings.catch_warnings():
            # Separable classes have no finite optimum; users, too, get the coefficients of the last iteration.
            warnings.simplefilter("ignore", ConvergenceWarning)
            # Self-training warns if it has a sure prediction for no unlabeled row.
            warnings.filterwarnings("ignore", message="y contains no unlabeled samples")
            if wrap is not None:
                clf = wrap(classifier).fit(X, draw.y, totals=draw.totals)
                return np.where(labeled, clf.predict(X) == CLASS_A, clf.transduction_ == CLASS_A), None
            if len(_labeled_classes(draw)) == 1:
                return _everything_one_class(draw), None
            return classifier.fit(X[labeled], draw.y[labeled].astype(str)).predict(X) == CLASS_A, None

    return predict


_RIVALS: dict[str, tuple[str, Maker]] = {
    "cart": (
        "decision tree (CART) of the paper's depth",
        lambda draw, _, seed: DecisionTreeClassifier(max_depth=paper_depth(len(draw.data.X)), random_state=seed),
    ),
    "lr": ("logistic regression", lambda *_: LogisticRegression(max_iter=1000)),
    "rf": (
        f"random forest of {N_TREES} trees",
        lambda _, __, seed: RandomForestClassifier(N_TREES, random_state=seed),
    ),
    "et": (
        f"extremely randomised trees, {N_TREES} of them",
        lambda _, __, seed: ExtraTreesClassifier(N_TREES, random_state=seed),
    ),
    "self-training": (
        "self-training around logistic regression",
        lambda draw, X, _: LogisticSelfTraining(X[~draw.is_labeled]),
    ),
}

_USES_OF_TOTALS: dict[str, tuple[str, Wrapper | None]] = {
    "": ("", None),
    "-top": (", threshold moved until the total is met", TopTotalClassifier),
    "-prior": (", classes weighted by the total", PriorCorrectedClassifier),
}

METHODS: dict[str, Method] = {
    method.name: method
    for method in (
        Method("octh", "OCT-H on the labeled rows, all rows scaled together", _octh, is_tree=True),
        Method(
            "octh-separate",
            "OCT-H as in the authors' script: labeled and unlabeled rows scaled separately",
            _octh_separate,
            is_tree=True,
        ),
        Method("s2oct", "S²OCT: the paper's model P2 and nothing else", _s2oct(guide=None), is_tree=True),
        Method("s2oct-guided", "S²OCT as this package fits it by default", _s2oct(), is_tree=True),
        Method(
            "s2oct-tiebreak",
            "S²OCT, the guide only chooses among trees of least cost",
            _s2oct(guide_weight=0.0),
            is_tree=True,
        ),
        Method(
            "s2oct-forest",
            "S²OCT guided by a random forest that knows the total",
            _s2oct(guide=RandomForestClassifier(N_TREES, random_state=0)),
            is_tree=True,
        ),
        Method("s2oct-light", "S²OCT, the guide with weight 0.1", _s2oct(guide_weight=0.1), is_tree=True),
        Method("s2oct-heavy", "S²OCT, the guide with weight 10", _s2oct(guide_weight=10.0), is_tree=True),
        Method("s2oct-plain", "literal P2, handed to the solver alone", _s2oct_plain, is_tree=True),
        *(
            Method(name + suffix, text + use, _rival(make, wrapper))
            for name, (text, make) in _RIVALS.items()
            for suffix, (use, wrapper) in _USES_OF_TOTALS.items()
        ),
    )
}

SPECIAL = ("s2oct-tiebreak", "s2oct-forest", "s2oct-light", "s2oct-heavy", "s2oct-plain")
DEFAULT_METHODS = tuple(name for name in METHODS if name not in SPECIAL)
"""All except some for special questions that take as long as the others."""

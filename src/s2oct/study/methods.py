"""The methods that the study compares: trees, and well-known classifiers (*rivals*) with and without the totals."""

from __future__ import annotations

import importlib.util
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler
from sklearn.semi_supervised import SelfTrainingClassifier
from sklearn.tree import DecisionTreeClassifier

from s2oct.arrays import FloatArray, IntArray, ObjectArray
from s2oct.errors import MissingExtra, S2OCTWarning
from s2oct.estimators import OCTHClassifier, S2OCTClassifier
from s2oct.estimators.fitted import tree_size
from s2oct.fit.certificate import Claim
from s2oct.fit.context import Budget
from s2oct.fit.training import train_plain
from s2oct.guides import PriorCorrectedClassifier, TopTotalClassifier
from s2oct.p2.prepared import ModelSpec, Scaling, paper_depth
from s2oct.study.instances import Draw
from s2oct.trees.rules import TreeSize
from s2oct.workflow.comparison import N_TREES, strong

N_ROUNDS = 150
"""Number of boosting rounds."""


@dataclass(frozen=True, eq=False)
class Outcome:
    """The predictions of a method for a draw.

    Attributes
    ----------
    codes : ndarray of int, shape (n_rows,)
        The predicted class of each row, including labeled rows. If a method labels the unlabeled rows to meet their
        totals, these labels are its predictions there.
    certificate : Claim or None
        The certificate; None for a method that proves nothing.
    size : TreeSize or None
        Splits and terms of the tree; None for a method that does not fit a single tree.
    """

    codes: IntArray
    certificate: Claim | None = None
    size: TreeSize | None = None


Predictor = Callable[[Draw, Budget], Outcome]


@dataclass(frozen=True)
class Method:
    """A method of the study.

    Attributes
    ----------
    name : str
        Name on the command line.
    description : str
        One line for reports.
    predict : callable
        Takes a draw and a budget, and returns an `Outcome`.
    is_tree : bool
        Whether the method fits one readable tree of hyperplanes with a certificate.
    package : str or None
        The package that the method needs from the extra ``bench``.
    """

    name: str
    description: str
    predict: Predictor
    is_tree: bool = False
    package: str | None = None

    @property
    def needs(self) -> str | None:
        """A sentence that names the missing package; None if the method can run here."""
        if self.package is None or importlib.util.find_spec(self.package) is not None:
            return None
        return f"The method {self.name} needs {self.package}: run pip install {self.package}."

    def run(self, draw: Draw, budget: Budget) -> Outcome:
        """Fit one draw and predict all of its rows."""
        if self.needs is not None:
            raise MissingExtra(self.needs)
        return self.predict(draw, budget)


def _octh(*, separate: bool) -> Predictor:
    """OCT-H; with ``separate``, labeled and unlabeled rows are scaled to [0, 1] separately, each by its own range."""

    def predict(draw: Draw, budget: Budget) -> Outcome:
        if len(_labeled_classes(draw)) == 1:
            return _one_class_everywhere(draw)
        X, fitted = draw.data.X, np.ones(len(draw.data.X), dtype=bool)
        if separate:
            X, fitted = X.copy(), draw.is_labeled
            for part in (draw.is_labeled, ~draw.is_labeled):
                X[part] = Scaling.unit(X[part]).transform(X[part])
        clf = OCTHClassifier(
            # Set here, because a fit to the labeled rows alone would derive the depth from these rows only.
            depth=paper_depth(len(X)),
            solver=budget.solver,
            time_limit=budget.time_limit,
            random_state=budget.seed,
        )
        with warnings.catch_warnings():
            # Ignore the notice about more training errors than CART: the study compares predictions.
            warnings.simplefilter("ignore", S2OCTWarning)
            clf.fit(X[fitted], draw.y[fitted])
        return Outcome(_codes(draw, clf.predict(X)), clf.certificate_, tree_size(clf))

    return predict


def _s2oct(**parameters: Any) -> Predictor:
    def predict(draw: Draw, budget: Budget) -> Outcome:
        clf = S2OCTClassifier(
            solver=budget.solver, time_limit=budget.time_limit, random_state=budget.seed, **parameters
        )
        with warnings.catch_warnings():
            # The record contains what the warnings say: rows off the total, the end of the fit, the labels per class.
            warnings.simplefilter("ignore", S2OCTWarning)
            clf.fit(draw.data.X, draw.y, totals=draw.totals)
        return Outcome(_codes(draw, clf.predict(draw.data.X)), clf.certificate_, tree_size(clf))

    return predict


def _s2oct_plain(draw: Draw, budget: Budget) -> Outcome:
    problem = draw.problem()
    trained = train_plain(problem, ModelSpec(), replace(budget, solver=budget.solver or "highs"))
    # The class names are sorted, so the tree's class indices are those of the draw.
    size = TreeSize.of_tree(trained.tree, problem.features)
    return Outcome(trained.tree.predict(draw.data.X), trained.certificate, size)


Maker = Callable[[Draw, FloatArray, int], Any]
"""Takes a draw, its standardised features and a seed; returns a classifier."""

Wrapper = Callable[[Any, int], Any]
"""Takes a classifier and a seed; returns a classifier that uses the totals."""


def _rival(make: Maker, wrap: Wrapper | None) -> Predictor:
    """A classifier on standardised features, alone or in a wrapper that uses the totals."""

    def predict(draw: Draw, budget: Budget) -> Outcome:
        X = StandardScaler().fit_transform(draw.data.X)
        classifier, labeled = make(draw, X, budget.seed), draw.is_labeled
        with warnings.catch_warnings():
            # Separable classes have no finite optimum; as for any user, the coefficients of the last iteration count.
            warnings.simplefilter("ignore", ConvergenceWarning)
            # Self-training warns if no unlabeled row has a confident prediction.
            warnings.filterwarnings("ignore", message="y contains no unlabeled samples")
            if wrap is not None:
                clf = wrap(classifier, budget.seed).fit(X, draw.y, totals=draw.totals)
                predicted = np.where(labeled, clf.predict(X), clf.transduction_)
            elif len(_labeled_classes(draw)) == 1:
                return _one_class_everywhere(draw)
            else:
                clf = classifier.fit(X[labeled], draw.y[labeled].astype(str))
                predicted = clf.predict(X)
        return Outcome(_codes(draw, predicted), size=tree_size(clf))

    return predict


def _labeled_classes(draw: Draw) -> ObjectArray:
    return np.unique(draw.y[draw.is_labeled].astype(str))


def _one_class_everywhere(draw: Draw) -> Outcome:
    """Predict the only labeled class everywhere."""
    return Outcome(_codes(draw, np.full(len(draw.data.X), _labeled_classes(draw)[0])))


def _codes(draw: Draw, predicted: ObjectArray) -> IntArray:
    """Class indices of predicted names."""
    return np.searchsorted(draw.data.classes.astype(str), np.asarray(predicted, dtype=str)).astype(np.int64)


class LogisticSelfTraining(ClassifierMixin, BaseEstimator):
    """scikit-learn's self-training with logistic regression and the unlabeled rows as a parameter.

    Wrappers that pass only labeled rows to ``fit`` can use it. scikit-learn's self-training accepts no sample weights.
    """

    classes_: ObjectArray

    def __init__(self, unlabeled: Any = None) -> None:
        self.unlabeled = unlabeled

    def fit(self, X: FloatArray, y: ObjectArray) -> LogisticSelfTraining:
        """Fit to the labeled rows, then also to the unlabeled rows with a confident prediction."""
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
    """The package obliquetree with scikit-learn's interface: a greedy tree with few features per split.

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
    """Number of features in each split of a tree exported by obliquetree."""
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

    # The defaults, 20 rows per leaf and 3 per bin, allow no split if few rows are labeled.
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


def _few_features(n_features: int) -> Maker:
    return lambda draw, _, seed: FewFeatureTree(paper_depth(len(draw.data.X)), n_features, seed)


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
    "catboost": (f"CatBoost, {N_ROUNDS} rounds of depth 4", _catboost),
    "lightgbm": (f"LightGBM, {N_ROUNDS} rounds, few rows in a leaf", _lightgbm),
    "obliquetree2": ("tree of the paper's depth with up to 2 features in a split (obliquetree)", _few_features(2)),
    "obliquetree3": ("tree of the paper's depth with up to 3 features in a split (obliquetree)", _few_features(3)),
}
"""Well-known classifiers with settings for few labeled rows: a description, and a function that creates each."""

_PACKAGES = {
    "catboost": "catboost",
    "lightgbm": "lightgbm",
    "obliquetree2": "obliquetree",
    "obliquetree3": "obliquetree",
}
"""Rivals that need a package of the extra ``bench``; the study has only their strong versions."""

_UNWEIGHTED = ("self-training",)
"""Rivals that accept no sample weights, so weighting by the known shares would not change their ranking of rows."""

_USES_OF_TOTALS: dict[str, tuple[str, Wrapper | None]] = {
    "": ("", None),
    "-top": (", threshold moved until the total is met", TopTotalClassifier),
    "-prior": (", classes weighted by the total", lambda classifier, _: PriorCorrectedClassifier(classifier)),
    "-strong": (", classes weighted by the total and threshold moved until it is met", strong),
}


def _rival_methods(name: str) -> Iterator[Method]:
    """Yield a rival with each applicable use of the totals."""
    text, make = _RIVALS[name]
    for use, (addition, wrap) in _USES_OF_TOTALS.items():
        if name not in (_UNWEIGHTED if use == "-strong" else _PACKAGES):
            yield Method(name + use, text + addition, _rival(make, wrap), package=_PACKAGES.get(name))


_S2OCT_TREES: dict[str, tuple[str, dict[str, Any]]] = {
    "s2oct": ("S²OCT: the paper's model P2 and nothing else", {"guide": None}),
    "s2oct-guided": ("S²OCT as this package fits it by default", {}),
    "s2oct-tiebreak": ("S²OCT, the guide only chooses among trees of least cost", {"guide_weight": 0.0}),
    "s2oct-forest": (
        "S²OCT guided by a random forest that knows the total",
        {"guide": RandomForestClassifier(N_TREES, random_state=0)},
    ),
    "s2oct-light": ("S²OCT, the guide with weight 0.1", {"guide_weight": 0.1}),
    "s2oct-heavy": ("S²OCT, the guide with weight 10", {"guide_weight": 10.0}),
    "s2oct-k1": ("S²OCT with one feature in a split", {"max_features_per_split": 1}),
    "s2oct-k2": ("S²OCT with at most 2 features in a split", {"max_features_per_split": 2}),
    "s2oct-k3": ("S²OCT with at most 3 features in a split", {"max_features_per_split": 3}),
    "s2oct-dense": (
        "S²OCT with any number of features, free of charge",
        {"max_features_per_split": None, "term_price": 0},
    ),
}
"""Methods that are the classifier of this package with some parameters; each line is a method."""

METHODS: dict[str, Method] = {
    method.name: method
    for method in (
        Method("octh", "OCT-H on the labeled rows, all rows scaled together", _octh(separate=False), is_tree=True),
        Method(
            "octh-separate",
            "OCT-H as in the authors' script: labeled and unlabeled rows scaled separately",
            _octh(separate=True),
            is_tree=True,
        ),
        *(Method(name, text, _s2oct(**parameters), is_tree=True) for name, (text, parameters) in _S2OCT_TREES.items()),
        Method("s2oct-plain", "literal P2, handed to the solver alone", _s2oct_plain, is_tree=True),
        *(method for name in _RIVALS for method in _rival_methods(name)),
    )
}

DEFAULT_TREES = ("octh", "octh-separate", "s2oct", "s2oct-guided")
DEFAULT_METHODS = tuple(
    name for name, method in METHODS.items() if name in DEFAULT_TREES or (not method.is_tree and method.needs is None)
)
"""Default methods: some trees, and all rivals whose packages are installed. Other trees are for special purposes."""

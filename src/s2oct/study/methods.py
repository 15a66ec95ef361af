"""The methods that the study compares."""

from __future__ import annotations

import importlib.util
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

from s2oct.arrays import BoolArray, FloatArray, IntArray, ObjectArray
from s2oct.errors import MissingExtra, S2OCTWarning
from s2oct.estimators import OCTHClassifier, S2OCTClassifier
from s2oct.estimators.fitted import tree_size
from s2oct.fit.certificate import Claim
from s2oct.fit.context import Budget
from s2oct.fit.training import train_plain
from s2oct.guides import PriorCorrectedClassifier, TopTotalClassifier
from s2oct.guides.rivals import N_TREES, strong
from s2oct.p2.prepared import ModelSpec, Scaling, paper_depth
from s2oct.study.designs import Draw
from s2oct.trees.rounding import TreeSize

# The rivals of the study by name: well-known classifiers, with the settings that suit few labeled rows.

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


# Every method of the study by name: the trees, and the rivals with and without the known total.


@dataclass(frozen=True)
class MethodOptions:
    """What every method gets in addition to the draw."""

    time_limit: float
    random_state: int = 0
    solver: str | None = "highs"


@dataclass(frozen=True, eq=False)
class Prediction:
    """What a method predicts for a draw.

    Attributes
    ----------
    codes : ndarray of int, shape (n_rows,)
        The class into which the method puts each row, labeled ones included. If a method labels the unlabeled rows so
        that their totals are met, these are its labels there.
    certificate : Claim or None
        What is proved; None for a method that proves nothing.
    size : TreeSize or None
        Splits and terms of the tree; None for a method that is not one tree.
    """

    codes: IntArray
    certificate: Claim | None = None
    size: TreeSize | None = None

    @property
    def predicted_a(self) -> BoolArray:
        """Which rows the method puts into class A."""
        return np.asarray(self.codes == 0)


@dataclass(frozen=True, eq=False, kw_only=True)
class Outcome(Prediction):
    """What a method predicts for a draw, and how long it took.

    Attributes
    ----------
    seconds : float
        Wall clock of fit and prediction.
    """

    seconds: float


Predictor = Callable[[Draw, MethodOptions], Prediction]


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
        Takes a draw and options.
    is_tree : bool
        Whether it fits one readable tree of hyperplanes with a certificate.
    package : str or None
        The package that it needs from the extra ``bench``.
    """

    name: str
    description: str
    predict: Predictor
    is_tree: bool = False
    package: str | None = None

    @property
    def needs(self) -> str | None:
        """The sentence that says which package is missing; None if the method can run here."""
        if is_installed(self.package):
            return None
        return f"The method {self.name} needs {self.package}: run pip install {self.package}."

    def run(self, draw: Draw, options: MethodOptions) -> Outcome:
        """Fit one draw and predict all of its rows."""
        if self.needs is not None:
            raise MissingExtra(self.needs)
        began = time.monotonic()
        found = self.predict(draw, options)
        seconds = time.monotonic() - began
        return Outcome(found.codes, found.certificate, found.size, seconds=seconds)


def _labeled_classes(draw: Draw) -> ObjectArray:
    return np.unique(draw.y[draw.is_labeled].astype(str))


def _everything_one_class(draw: Draw) -> Prediction:
    """A classifier that has seen one class predicts it everywhere."""
    return Prediction(_codes(draw, np.full(len(draw.data.X), _labeled_classes(draw)[0])))


def _codes(draw: Draw, predicted: ObjectArray) -> IntArray:
    """Class indices of predicted names."""
    return np.searchsorted(draw.data.classes.astype(str), np.asarray(predicted, dtype=str)).astype(np.int64)


def _octh(draw: Draw, options: MethodOptions) -> Prediction:
    if len(_labeled_classes(draw)) == 1:
        return _everything_one_class(draw)
    with warnings.catch_warnings():
        # A tree with more training errors than CART has: what counts here is how it predicts.
        warnings.simplefilter("ignore", S2OCTWarning)
        clf = _octh_classifier(draw, options).fit(draw.data.X, draw.y)
    return _of_tree(clf, draw)


def _octh_separate(draw: Draw, options: MethodOptions) -> Prediction:
    """Labeled and unlabeled rows are each mapped onto [0, 1] by their own range."""
    if len(_labeled_classes(draw)) == 1:
        return _everything_one_class(draw)
    X = draw.data.X.copy()
    for part in (draw.is_labeled, ~draw.is_labeled):
        X[part] = Scaling.unit(X[part]).transform(X[part])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", S2OCTWarning)
        clf = _octh_classifier(draw, options).fit(X[draw.is_labeled], draw.y[draw.is_labeled])
    return Prediction(_codes(draw, clf.predict(X)), clf.certificate_, tree_size(clf))


def _octh_classifier(draw: Draw, options: MethodOptions) -> OCTHClassifier:
    return OCTHClassifier(
        # Given here, because a fit to the labeled rows alone would count only these.
        depth=paper_depth(len(draw.data.X)),
        solver=options.solver,
        time_limit=options.time_limit,
        random_state=options.random_state,
    )


def _of_tree(clf: OCTHClassifier | S2OCTClassifier, draw: Draw) -> Prediction:
    return Prediction(_codes(draw, clf.predict(draw.data.X)), clf.certificate_, tree_size(clf))


def _s2oct(**parameters: Any) -> Predictor:
    def predict(draw: Draw, options: MethodOptions) -> Prediction:
        clf = S2OCTClassifier(
            solver=options.solver,
            time_limit=options.time_limit,
            random_state=options.random_state,
            **parameters,
        )
        with warnings.catch_warnings():
            # The record has what the warnings say: rows off the total, how the fit ended, the labels of each class.
            warnings.simplefilter("ignore", S2OCTWarning)
            clf.fit(draw.data.X, draw.y, totals=draw.totals)
        return _of_tree(clf, draw)

    return predict


def _s2oct_plain(draw: Draw, options: MethodOptions) -> Prediction:
    budget = Budget(options.solver or "highs", options.time_limit, seed=options.random_state)
    problem = draw.problem()
    trained = train_plain(problem, ModelSpec(), budget)
    # The names of the classes are sorted, so that the tree's indices are ours.
    size = TreeSize.of_tree(trained.tree, problem.features)
    return Prediction(trained.tree.predict(draw.data.X), trained.certificate, size)


Wrapper = Callable[[Any, int], Any]
"""Takes a classifier and a seed; returns a classifier that uses the totals."""


def _rival(make: Maker, wrap: Wrapper | None) -> Predictor:
    """A classifier on standardised features, alone or in a wrapper that uses the totals."""

    def predict(draw: Draw, options: MethodOptions) -> Prediction:
        X = StandardScaler().fit_transform(draw.data.X)
        classifier = make(draw, X, options.random_state)
        labeled = draw.is_labeled
        with warnings.catch_warnings():
            # Separable classes have no finite optimum; users, too, get the coefficients of the last iteration.
            warnings.simplefilter("ignore", ConvergenceWarning)
            # Self-training warns if it has a sure prediction for no unlabeled row.
            warnings.filterwarnings("ignore", message="y contains no unlabeled samples")
            if wrap is not None:
                clf = wrap(classifier, options.random_state).fit(X, draw.y, totals=draw.totals)
                predicted = np.where(labeled, clf.predict(X), clf.transduction_)
                return Prediction(_codes(draw, predicted), size=tree_size(clf))
            if len(_labeled_classes(draw)) == 1:
                return _everything_one_class(draw)
            clf = classifier.fit(X[labeled], draw.y[labeled].astype(str))
            return Prediction(_codes(draw, clf.predict(X)), size=tree_size(clf))

    return predict


def _rival_method(name: str, kind: RivalKind, use: str) -> Method:
    text, wrapper = _USES_OF_TOTALS[use]
    return Method(name + use, kind.description + text, _rival(kind.make, wrapper), package=kind.package)


_USES_OF_TOTALS: dict[str, tuple[str, Wrapper | None]] = {
    "": ("", None),
    "-top": (", threshold moved until the total is met", TopTotalClassifier),
    "-prior": (", classes weighted by the total", lambda classifier, _: PriorCorrectedClassifier(classifier)),
    "-strong": (", classes weighted by the total and threshold moved until it is met", strong),
}

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
"""The classifier of this package with some parameters; a line here is a method."""

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
        *(Method(name, text, _s2oct(**parameters), is_tree=True) for name, (text, parameters) in _S2OCT_TREES.items()),
        Method("s2oct-plain", "literal P2, handed to the solver alone", _s2oct_plain, is_tree=True),
        *(
            _rival_method(name, kind, use)
            for name, kind in OWN_RIVALS.items()
            for use in _USES_OF_TOTALS
            if use != "-strong" or name not in UNWEIGHTED
        ),
        *(_rival_method(name, kind, "-strong") for name, kind in FOREIGN_RIVALS.items()),
    )
}

DEFAULT_TREES = ("octh", "octh-separate", "s2oct", "s2oct-guided")
DEFAULT_METHODS = tuple(
    name for name, method in METHODS.items() if name in DEFAULT_TREES or (not method.is_tree and method.needs is None)
)
"""Some trees, and all rivals whose packages are installed. The other trees answer special questions."""

"""Every method of the study by name: the trees, and the rivals with and without the known total.

A method gets a draw, in which some rows are labeled and the totals of the others are known, and predicts the class of
every row. To add a method, add it to `METHODS`.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import StandardScaler

from s2oct.arrays import BoolArray, IntArray, ObjectArray
from s2oct.certificate import Claim
from s2oct.errors import MissingExtra, S2OCTWarning
from s2oct.estimators import OCTHClassifier, S2OCTClassifier
from s2oct.estimators.tree_size import tree_size
from s2oct.fit.context import Budget
from s2oct.fit.training import train_plain
from s2oct.guides import PriorCorrectedClassifier, TopTotalClassifier
from s2oct.guides.rivals import N_TREES, strong
from s2oct.model.bounds import paper_depth
from s2oct.model.prepared import ModelSpec, Scaling
from s2oct.model.rules import TreeSize
from s2oct.study.designs import Draw
from s2oct.study.rivals import FOREIGN_RIVALS, OWN_RIVALS, UNWEIGHTED, Maker, RivalKind, is_installed


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

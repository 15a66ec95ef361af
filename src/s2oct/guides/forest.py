"""Guides: what is likely of each unlabeled row, from any classifier that is told the totals."""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import expit, logit
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import _safe_indexing, check_random_state
from sklearn.utils.validation import check_is_fitted

from s2oct.arrays import FloatArray, IntArray, ObjectArray
from s2oct.errors import InvalidProblem
from s2oct.guides.base import PartlyLabeledClassifier
from s2oct.guides.known_total import KnownTotalClassifier, TopTotalClassifier, top_rows, top_threshold
from s2oct.inputs import check_two_classes, positive, read_features, whole
from s2oct.model.labels import Labels, read_labels
from s2oct.model.scaling import Scaling
from s2oct.model.totals import Totals, named_classes, read_totals

N_COMPONENTS = 10
"""Principal components that are added to the features: directions in which all rows, labeled or not, vary most."""

LABELED_WEIGHT, UNLABELED_WEIGHT = 3.0, 0.3
"""What a labeled row and an unlabeled row of which the forest is sure weigh in the rounds of self-training."""

MOST_UNLABELED = 8000
"""Unlabeled rows that a round of self-training learns from; a random choice of them where there are more."""

TREES_TIMES_ROWS = 2e6
"""Fewer trees than asked for where they would have more rows than this between them, but 30 at least."""

_LEAST_PROBABILITY = 1e-3


class SelfTrainedForest(PartlyLabeledClassifier):
    """Forests that learn from the unlabeled rows and the known totals as well as from the labeled rows.

    Three forests (random, extremely randomised, and the latter on principal components of all rows too) rank the
    unlabeled rows; as many as the total says get the class. Extremely randomised trees are then fitted to the labeled
    rows and, with little weight, to these labels, and rank the unlabeled rows anew, each by the trees that have not
    seen it; and so on. Probabilities are shifted so that the known total is met at 1/2.

    Parameters
    ----------
    n_estimators : int
        Trees of each forest.
    n_rounds : int
        Rounds of self-training; 0 for none.
    max_seconds : float or None
        No further round or forest is begun after so many seconds.
    n_jobs : int or None
        Trees to fit at a time.
    random_state : int, RandomState or None
        Seed of the forests.

    Attributes
    ----------
    probabilities_ : ndarray of shape (n_unlabeled, 2)
        Probabilities of the unlabeled rows, in the order of the rows.
    transduction_ : ndarray of shape (n_rows,)
        A label for every training row, the given ones kept; it meets the totals exactly, ties broken by row order.
    classes_ : ndarray of shape (2,)
        The class labels, sorted.
    n_features_in_ : int
        Number of features.

    Examples
    --------
    >>> from s2oct import SelfTrainedForest
    >>> X = [[1.0], [2.0], [8.0], [9.0], [1.5], [3.0], [7.0], [7.5]]
    >>> y = ["no", "no", "yes", "yes", None, None, None, None]
    >>> forest = SelfTrainedForest(n_estimators=20, random_state=0).fit(X, y, totals={"yes": 2})
    >>> forest.transduction_.tolist()
    ['no', 'no', 'yes', 'yes', 'no', 'no', 'yes', 'yes']
    """

    def __init__(
        self,
        n_estimators: int = 100,
        n_rounds: int = 3,
        max_seconds: float | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.n_estimators = n_estimators
        self.n_rounds = n_rounds
        self.max_seconds = max_seconds
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(
        self, X: Any, y: Any, totals: Totals | None = None, population_totals: Totals | None = None
    ) -> SelfTrainedForest:
        """Fit the forests.

        Parameters
        ----------
        X : array-like or data frame of shape (n_rows, n_features)
            Labeled and unlabeled rows together, all numeric and complete.
        y : array-like of shape (n_rows,)
            Labels; NaN, None or NA marks an unlabeled row, and so does -1 where it cannot be a class.
        totals : mapping of class to count, optional
            Number of unlabeled rows of a class. One class is enough; several must add up.
        population_totals : mapping of class to count, optional
            The same for all rows, the labeled ones included.

        Returns
        -------
        self
            The fitted classifier.
        """
        whole("n_rounds", self.n_rounds, 0)
        n_trees = whole("n_estimators", self.n_estimators, 1)
        seconds = np.inf if self.max_seconds is None else positive("max_seconds", self.max_seconds)
        rows = read_features(self, X, reset=True)
        labels = read_labels(y, named=named_classes(totals, population_totals))
        check_two_classes(labels, len(rows))
        counts = read_totals(labels, totals, population_totals)
        self.classes_ = labels.classes
        fitting = _SelfTraining(
            rows,
            labels,
            int(counts[1]),
            n_trees=int(min(n_trees, max(30, TREES_TIMES_ROWS / len(rows)))),
            rng=check_random_state(self.random_state),
            n_jobs=self.n_jobs,
            deadline=time.monotonic() + seconds,
        )
        fitting.run(self.n_rounds)
        self.scaling_, self.widening_, self.members_ = fitting.scaling, fitting.widening, fitting.members
        self.threshold_ = top_threshold(fitting.ranking, int(counts[1]))
        second = _at_threshold(fitting.ranking, self.threshold_)
        self.probabilities_ = np.column_stack([1 - second, second])
        codes = labels.codes.copy()
        codes[~labels.is_labeled] = top_rows(fitting.ranking, int(counts[1]))
        self.transduction_ = np.asarray(labels.classes[codes])
        return self

    def predict_proba(self, X: Any) -> FloatArray:
        """Class probabilities; at 1/2 lies the threshold at which the unlabeled rows of the fit met their total.

        Parameters
        ----------
        X : array-like or data frame of shape (n_rows, n_features)
            Rows with the features of the fit.

        Returns
        -------
        ndarray of shape (n_rows, 2)
            Probabilities of ``classes_[0]`` and ``classes_[1]``.
        """
        check_is_fitted(self)
        rows = read_features(self, X, reset=False)
        wide = self.widening_.transform(self.scaling_.transform(rows))
        shares = np.array([member.share for member in self.members_])
        votes = [_second_probability(member.forest, wide[:, : member.n_columns]) for member in self.members_]
        second = _at_threshold(shares @ np.array(votes) / shares.sum(), self.threshold_)
        return np.column_stack([1 - second, second])

    def predict(self, X: Any) -> ObjectArray:
        """Class label of each row.

        Parameters
        ----------
        X : array-like or data frame of shape (n_rows, n_features)
            Rows with the features of the fit.

        Returns
        -------
        ndarray of shape (n_rows,)
            A class label for each row.
        """
        return np.asarray(self.classes_[(self.predict_proba(X)[:, 1] > 0.5).astype(int)])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags


class _SelfTraining:
    """The forests on their way: ``ranking`` is the present probability of the second class for each unlabeled row."""

    def __init__(
        self,
        rows: FloatArray,
        labels: Labels,
        n_second: int,
        *,
        n_trees: int,
        rng: np.random.RandomState,
        n_jobs: int | None,
        deadline: float,
    ) -> None:
        self.codes, self.known, self.n_second = labels.codes, labels.is_labeled, n_second
        self.n_trees, self.rng, self.n_jobs, self.deadline = n_trees, rng, n_jobs, deadline
        components = PCA(min(N_COMPONENTS, *rows.shape), random_state=rng)
        # Features of any size, onto [0, 1] first: squares of huge ones would overflow.
        self.scaling = Scaling.unit(rows)
        self.widening = make_pipeline(StandardScaler(), FeatureUnion([("all", "passthrough"), ("main", components)]))
        # Rows that are all equal have no variance to explain a share of.
        with np.errstate(invalid="ignore"):
            self.wide = self.widening.fit_transform(self.scaling.transform(rows))
        self.members: list[_Member] = []
        self.ranking = np.empty(0)

    def run(self, n_rounds: int) -> None:
        """The first forests, then the rounds, until the deadline."""
        p = self.wide.shape[1] - self.widening[-1].transformer_list[1][1].n_components_
        rankings: list[FloatArray] = []
        for kind, n_columns in (
            (ExtraTreesClassifier, self.wide.shape[1]),
            (RandomForestClassifier, p),
            (ExtraTreesClassifier, p),
        ):
            if rankings and time.monotonic() > self.deadline:
                break
            rankings.append(self._first(kind, n_columns))
        first, opening = np.mean(rankings, axis=0), self.members
        self.ranking = first
        if not 0 < self.n_second < len(first):
            return
        for _ in range(n_rounds):
            if time.monotonic() > self.deadline:
                return
            self.members = []
            self.ranking = 0.5 * first + 0.5 * self._again()
            self.members += [replace(member, share=0.5 / len(opening)) for member in opening]

    def _forest(self, kind: Any, **options: Any) -> Any:
        return kind(self.n_trees, n_jobs=self.n_jobs, random_state=self.rng.randint(2**31 - 1), **options)

    def _fit_unseen(self, kind: Any, X: FloatArray, codes: IntArray, weights: FloatArray | None = None) -> Any:
        """A forest that can tell what its trees think of rows they have not seen."""
        forest = self._forest(kind, bootstrap=True, oob_score=True)
        with warnings.catch_warnings():
            # A row that every tree has seen is left undecided, and nobody need know.
            warnings.filterwarnings("ignore", message="Some inputs do not have OOB scores")
            return forest.fit(X, codes, sample_weight=weights)

    def _first(self, kind: Any, n_columns: int) -> FloatArray:
        """A forest of the labeled rows; or, where they are all of one class, of labeled against unlabeled rows."""
        X, unlabeled = self.wide[:, :n_columns], ~self.known
        one_class = len(np.unique(self.codes[self.known])) < 2
        if not one_class:
            forest = self._forest(kind).fit(X[self.known], self.codes[self.known])
            ranking = _second_probability(forest, X[unlabeled])
        else:
            codes = np.where(self.known, self.codes, 1 - self.codes[self.known][0])
            forest = self._fit_unseen(kind, X, codes)
            ranking = _unseen_probability(forest)[unlabeled]
        self.members.append(_Member(forest, n_columns, 1.0))
        return ranking

    def _again(self) -> FloatArray:
        """A forest of the labeled rows and the labels that the present ranking gives to the others."""
        unlabeled = np.flatnonzero(~self.known)
        sure = np.abs(2 * _at_threshold(self.ranking, top_threshold(self.ranking, self.n_second)) - 1)
        learned = np.sort(self.rng.permutation(len(unlabeled))[:MOST_UNLABELED])
        rows = np.concatenate([np.flatnonzero(self.known), unlabeled[learned]])
        codes = np.concatenate([self.codes[self.known], top_rows(self.ranking, self.n_second)[learned]])
        n = int(self.known.sum())
        # The least weight keeps rows in play that no tree is sure of.
        weights = np.concatenate([np.full(n, LABELED_WEIGHT), UNLABELED_WEIGHT * sure[learned] + 1e-6])
        forest = self._fit_unseen(ExtraTreesClassifier, self.wide[rows], codes, weights)
        self.members.append(_Member(forest, self.wide.shape[1], 0.5))
        ranking = np.empty(len(unlabeled))
        ranking[learned] = _unseen_probability(forest)[n:]
        others = np.setdiff1d(np.arange(len(unlabeled)), learned, assume_unique=True)
        if len(others):
            ranking[others] = _second_probability(forest, self.wide[unlabeled[others]])
        return ranking


@dataclass(frozen=True)
class _Member:
    """A forest, how many of the widened features it sees, and its share in the probability of a new row."""

    forest: Any
    n_columns: int
    share: float


def _second_probability(forest: Any, rows: FloatArray) -> FloatArray:
    seen = list(forest.classes_)
    return np.asarray(forest.predict_proba(rows)[:, seen.index(1)]) if 1 in seen else np.zeros(len(rows))


def _unseen_probability(forest: Any) -> FloatArray:
    """Probability of the second class for each row the forest was fitted to, by the trees that have not seen it."""
    seen = list(forest.classes_)
    if 1 not in seen:
        return np.zeros(len(forest.oob_decision_function_))
    return np.asarray(np.nan_to_num(forest.oob_decision_function_[:, seen.index(1)], nan=0.5))


def _at_threshold(second: FloatArray, threshold: float) -> FloatArray:
    """Probabilities with their log odds shifted so that the threshold is at 1/2."""
    return np.asarray(expit(_log_odds(second) - _log_odds(threshold)))


def _log_odds(second: FloatArray | float) -> FloatArray:
    return np.asarray(logit(np.clip(second, _LEAST_PROBABILITY, 1 - _LEAST_PROBABILITY)))


def guide_probabilities(
    guide: Any, X: Any, y: Any, labels: Labels, counts: IntArray, *, seed: int, seconds: float, n_jobs: int
) -> FloatArray:
    """What a guide thinks of the unlabeled rows, shape (m, 2): "auto", or any classifier with probabilities."""
    unlabeled = np.flatnonzero(~labels.is_labeled)
    if not len(unlabeled):
        return np.empty((0, 2))
    totals = dict(zip(labels.classes.tolist(), counts.tolist(), strict=True))
    if isinstance(guide, str):
        forest = SelfTrainedForest(max_seconds=seconds, n_jobs=n_jobs, random_state=seed)
        return np.asarray(forest.fit(X, y, totals=totals).probabilities_)
    told = guide if isinstance(guide, (KnownTotalClassifier, SelfTrainedForest)) else TopTotalClassifier(guide)
    fitted = clone(told).fit(X, y, totals=totals)
    if isinstance(fitted, SelfTrainedForest):
        return np.asarray(fitted.probabilities_)
    probabilities = np.asarray(fitted.predict_proba(_safe_indexing(X, unlabeled)), dtype=float)
    if probabilities.shape != (len(unlabeled), 2):
        raise InvalidProblem(
            f"Expected the guide to give two probabilities per unlabeled row, got shape {probabilities.shape}."
        )
    return probabilities

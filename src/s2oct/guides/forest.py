"""The default guide: forests that also learn from the unlabeled rows and the known totals."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from s2oct.arrays import FloatArray, IntArray, ObjectArray
from s2oct.guides.base import PartlyLabeledClassifier, TwoClasses
from s2oct.guides.self_training import SelfTraining, at_threshold, second_probability
from s2oct.guides.top_total import top_rows, top_threshold
from s2oct.inputs import read_answers, read_features, whole
from s2oct.model.labels import Labels
from s2oct.model.totals import Totals
from s2oct.stopping import NO_DEADLINE, Deadline

TREES_TIMES_ROWS = 2e6
"""Most trees times rows of a forest: with more rows it has fewer trees than asked for, but at least 30."""


class SelfTrainedForest(TwoClasses, PartlyLabeledClassifier):
    """Forests that learn from the unlabeled rows and the known totals as well as from the labeled rows.

    Four forests rank the unlabeled rows: a random forest, extremely randomised trees, extremely randomised trees that
    also use principal components of all rows, and a random forest that looks at all features at every split. Labeled
    rows are weighted so that the classes have their known shares. The forests are mixed: half of the mix is even, the
    other half follows the likelihood of the labels under the trees that have not seen them. The top rows get the class,
    as many as its total. Then extremely randomised trees are fitted to the labeled rows and, with little weight, to
    these labels. They rank the unlabeled rows again, each row by the trees that were not fitted to it; and so on.
    Probabilities are shifted so that the known total is met at 1/2.

    Parameters
    ----------
    n_estimators : int
        Trees of each forest.
    n_rounds : int
        Rounds of self-training; 0 for none.
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
        n_estimators: int = 60,
        n_rounds: int = 3,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.n_estimators = n_estimators
        self.n_rounds = n_rounds
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
        rows = read_features(self, X, reset=True)
        labels, counts = read_answers(y, len(rows), totals, population_totals)
        return self._fit_rows(rows, labels, counts)

    def _fit_rows(
        self, rows: FloatArray, labels: Labels, counts: IntArray, deadline: Deadline = NO_DEADLINE
    ) -> SelfTrainedForest:
        """Fit to what is read already; raises `GuideStopped` after the deadline."""
        whole("n_rounds", self.n_rounds, 0)
        n_trees = whole("n_estimators", self.n_estimators, 1)
        self.classes_ = labels.classes
        fitting = SelfTraining(
            rows,
            labels,
            counts,
            n_trees=int(min(n_trees, max(30, TREES_TIMES_ROWS / len(rows)))),
            rng=check_random_state(self.random_state),
            n_jobs=self.n_jobs,
            deadline=deadline,
        )
        fitting.run(self.n_rounds)
        self.scaling_, self.widening_, self.members_ = fitting.scaling, fitting.widening, fitting.members
        self.threshold_ = top_threshold(fitting.ranking, int(counts[1]))
        second = at_threshold(fitting.ranking, self.threshold_)
        self.probabilities_ = np.column_stack([1 - second, second])
        self.transduction_ = labels.completed(top_rows(fitting.ranking, int(counts[1])))
        return self

    def predict_proba(self, X: Any) -> FloatArray:
        """Class probabilities; with a threshold of 1/2 the unlabeled rows of the fit meet their total.

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
        votes = [second_probability(member.forest, wide[:, : member.n_columns]) for member in self.members_]
        second = at_threshold(shares @ np.array(votes) / shares.sum(), self.threshold_)
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

"""The default guide: forests that also learn from the unlabeled rows and the known totals."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from s2oct.arrays import FloatArray, ObjectArray
from s2oct.guides.base import PartlyLabeledClassifier
from s2oct.guides.growing import Grower
from s2oct.guides.self_training import SelfTraining
from s2oct.guides.votes import multipliers_for_new_rows, settled, shifted_probabilities
from s2oct.guides.widening import Widening
from s2oct.inputs import (
    learn_features,
    read_complete_labels,
    read_known,
    read_rows,
    read_weights,
    warn_of_doubts,
)
from s2oct.model.known import Known
from s2oct.model.totals import Totals
from s2oct.parameters import whole_from
from s2oct.stopping import NO_DEADLINE, Deadline

TREES_TIMES_ROWS = 8e5
"""Most trees times rows of a forest: with more rows it has fewer trees than the user asks for, but at least 30."""


class SelfTrainedForest(PartlyLabeledClassifier):
    """Forests that learn from the unlabeled rows and the known totals as well as from the labeled rows.

    Four forests rank the unlabeled rows: a random forest, extremely randomised trees, extremely randomised trees that
    also use principal components of all rows, and a random forest that looks at all features at every split, at 100 of
    them if there are more. Labeled rows are drawn so that the classes have their known shares. The forests are mixed:
    half of the mix is even, the other half follows the likelihood of the labels under the trees that have not seen
    them. The top rows get the class, as many as its total; of several classes, each gets its likeliest rows. Then
    extremely randomised trees are fitted to the labeled rows and, with little weight, to these labels. They rank the
    unlabeled rows again, each row by the trees that were not fitted to it. This ranking and the mix count half each,
    and the next round begins. The result is the mean over the rounds. Probabilities are shifted so that the likeliest
    classes meet the known totals, in every domain.

    If all labeled rows are of one class, the four forests separate them from the unlabeled rows. If some of three or
    more classes have no labeled rows, they share one minus the largest probability of the labeled classes, so they get
    the rows that resemble no labeled class. If all rows are labeled, the classifier is the mix of the four forests.

    The same seed gives the same result, for any number of jobs. With many rows a tree is fitted to a sample of them.

    Parameters
    ----------
    n_estimators : int
        Trees of each forest. If there are more than 800,000 trees times rows, there are fewer trees, but at least 30.
    n_rounds : int
        Rounds of self-training; 0 for none. There are none either if one class has all unlabeled rows.
    n_jobs : int or None
        Trees to fit at a time.
    random_state : int, RandomState or None
        Seed of the forests.

    Attributes
    ----------
    probabilities_ : ndarray of shape (n_unlabeled, n_classes)
        Probabilities of the unlabeled rows, in the order of the rows. The likeliest classes meet the totals; of two
        classes with one exact total, except for rows with equal votes at the threshold of 1/2.
    transduction_ : ndarray of shape (n_rows,)
        A label for every training row, the given ones kept; it meets the totals, exactly if they are exact and rows
        count alike. Ties are broken by row order.
    classes_ : ndarray of shape (n_classes,)
        The class labels, sorted.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features; only if ``X`` has column names that are all strings.

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
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.n_estimators = n_estimators
        self.n_rounds = n_rounds
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(
        self,
        X: Any,
        y: Any,
        totals: Totals | None = None,
        population_totals: Totals | None = None,
        domains: Any = None,
        as_shares: bool = False,
        sample_weight: Any = None,
    ) -> SelfTrainedForest:
        """Fit the forests.

        Parameters
        ----------
        X : array-like or data frame of shape (n_rows, n_features)
            Labeled and unlabeled rows together, in any form that `S2OCTClassifier` takes.
        y : array-like of shape (n_rows,)
            Labels; NaN, None or NA marks an unlabeled row, and so does -1 where it cannot be a class. Without totals,
            -1 beside one other label is a class. All rows may be labeled.
        totals : mapping of class to count, table by domain and class, or list of these, optional
            Number of unlabeled rows of a class, in each domain: a count, a pair of bounds or an `Estimate`. All classes
            but one are enough.
        population_totals : mapping of class to count, table by domain and class, or list of these, optional
            The same for all rows, the labeled ones included.
        domains : array-like of shape (n_rows,), column name, or list of these, optional
            The domain of each row, for totals by domain; a list if there are several margins.
        as_shares : bool
            Whether totals are shares of the rows of their domain.
        sample_weight : array-like of shape (n_rows,), optional
            Weight of each row. Trees draw rows by their weights, and unlabeled rows count with them towards the totals.

        Returns
        -------
        self
            The fitted classifier.
        """
        features = learn_features(self, X)
        rows = features.rows
        labels = read_complete_labels(y, len(rows)) if totals is None and population_totals is None else None
        known = (
            Known.complete(labels, read_weights(sample_weight, len(rows)))
            if labels is not None
            else read_known(
                X, y, totals, population_totals, domains=domains, as_shares=as_shares, sample_weight=sample_weight
            )
        )
        warn_of_doubts((*features.doubts, *(known.doubts if labels is None else ())))
        self._fit_rows(known.of_counted(rows), known.unless_equal)
        self._over_all_rows(known, X)
        return self

    def _fit_rows(self, rows: FloatArray, known: Known, deadline: Deadline = NO_DEADLINE) -> SelfTrainedForest:
        """Fit to the rows that count and what is known about them; equal weights are none.

        Raises `GuideStopped` after the deadline.
        """
        n_rounds = whole_from(0).read("n_rounds", self.n_rounds)
        n_trees = int(min(whole_from(1).read("n_estimators", self.n_estimators), max(30, TREES_TIMES_ROWS / len(rows))))
        rng = check_random_state(self.random_state)
        widening = Widening.of(rows, rng, deadline)
        fitting = SelfTraining(
            widening.transform(rows, np.flatnonzero(known.is_labeled), deadline),
            widening.transform(rows, np.flatnonzero(~known.is_labeled), deadline),
            rows.shape[1],
            known,
            Grower(n_trees, rng, self.n_jobs, deadline),
        )
        fitting.run(n_rounds)
        self.classes_ = known.classes
        self._widening, self._members = widening, tuple(fitting.members)
        self._multipliers = multipliers_for_new_rows(fitting.ranking, known)
        self._held_out = fitting.held_out
        result = settled(fitting.ranking, known)
        self.probabilities_ = result.probabilities
        self.transduction_ = known.labels.completed(result.classes)
        return self

    def predict_proba(self, X: Any) -> FloatArray:
        """Class probabilities of new rows.

        They are the mix of the first forests and of the forests of the rounds, half each, shifted so that the totals
        over all domains would be met in the fit. The unlabeled rows of the fit are no new rows for the latter: see
        ``probabilities_``.

        Parameters
        ----------
        X : array-like or data frame of shape (n_rows, n_features)
            Rows with the features of the fit.

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
            Probabilities of ``classes_``.
        """
        check_is_fitted(self)
        return self._probabilities_of(read_rows(self, X))

    def _probabilities_of(self, rows: FloatArray) -> FloatArray:
        """Class probabilities of rows of features."""
        wide = self._widening.transform(rows)
        votes = np.zeros((len(wide), 1 if len(self.classes_) == 2 else len(self.classes_)))
        for member in self._members:
            votes += member.share * member.votes(wide, self.n_jobs)
        return shifted_probabilities(votes, self._multipliers)

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
        codes = self.predict_proba(X).argmax(axis=1)
        return np.asarray(self.classes_[codes])

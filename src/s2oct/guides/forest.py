"""The default guide: forests that also learn from the unlabeled rows and the known totals."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from s2oct.arrays import BoolArray, Float32Array, FloatArray, ObjectArray
from s2oct.guides.base import PartlyLabeledClassifier
from s2oct.guides.growing import Forest, Grower, Splitter, Widening
from s2oct.guides.votes import as_votes, multipliers_for_new_rows, settled, shifted_probabilities, with_missing_classes
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

MOST_FEATURES = 100
"""Features that the forest that looks at all of them looks at, at most."""

EVEN_SHARE = 0.5
"""Part of the mix in which all forests count alike: with few labels, held-out likelihoods are uncertain."""

LABELED_WEIGHT, UNLABELED_WEIGHT = 3.0, 0.3
"""Sample weights in self-training: of a labeled row, and of an unlabeled row of which the forest is sure."""

MOST_UNLABELED = 8000
"""Most unlabeled rows that a round of self-training learns from; if there are more, they are drawn at random."""

LEAST_UNSEEN = 0.02
"""Probability of a label that a forest has not seen, at least: one surprise does not decide the mix."""


@dataclass(frozen=True, eq=False)
class Member:
    """A forest, how many of the widened features it sees, and its share in the votes on a new row.

    ``missing`` says which classes the forest knows nothing of.
    """

    forest: Forest
    n_columns: int
    share: float
    missing: BoolArray

    def votes(self, rows: Float32Array, n_jobs: int | None = None, deadline: Deadline = NO_DEADLINE) -> FloatArray:
        """Votes on rows with all widened features."""
        return with_missing_classes(self.forest.votes(rows[:, : self.n_columns], n_jobs, deadline), self.missing)


class SelfTraining:
    """Self-training in progress: ``ranking`` has the present votes on the unlabeled rows.

    ``held_out`` has the mean votes of the first forests on the labeled rows, each by the trees that have not seen it;
    None if one class alone is labeled.

    ``labeled`` and ``unlabeled`` are rows of ``n_features`` features and their principal components. All of it is
    counted work. Only the deadline of ``grower`` ends it sooner, with `GuideStopped`.
    """

    def __init__(
        self, labeled: Float32Array, unlabeled: Float32Array, n_features: int, known: Known, grower: Grower
    ) -> None:
        self.labeled, self.unlabeled, self.n_features = labeled, unlabeled, n_features
        self.known, self.grower, self.n_classes = known, grower, known.targets.n_classes
        self.missing = known.unlabeled_classes
        self.has_several = int((~self.missing).sum()) > 1
        self.weights = known.known_share_weights()
        self.members: list[Member] = []
        self.ranking = np.empty((0, 1 if self.n_classes == 2 else self.n_classes))
        self.held_out: FloatArray | None = None

    def run(self, n_rounds: int) -> None:
        """Fit and mix the first forests, then the rounds."""
        p, n_columns = self.n_features, self.labeled.shape[1]
        kinds: tuple[tuple[Splitter, int, int], ...] = (
            ("best", p, math.isqrt(p)),
            ("random", p, math.isqrt(p)),
            ("random", n_columns, math.isqrt(n_columns)),
            ("best", p, min(p, MOST_FEATURES)),
        )
        rows = self.labeled if self.has_several else np.concatenate([self.labeled, self.unlabeled])
        members, rankings, losses, unseen = zip(*(self._first(rows, *kind) for kind in kinds), strict=True)
        self.held_out = np.mean(unseen, axis=0) if self.has_several else None
        shares = _shares(np.array(losses))
        opening = [replace(member, share=float(share)) for member, share in zip(members, shares, strict=True)]
        first = (shares @ np.array(rankings).reshape(len(shares), -1)).reshape(rankings[0].shape)
        self.ranking, self.members = first, opening
        if not self.known.leaves_choice:
            return
        mixed, again = [], []
        for _ in range(n_rounds):
            forest, ranking = self._again()
            again.append(forest)
            mixed.append(0.5 * first + 0.5 * ranking)
            self.ranking = mixed[-1]
        if again:
            self.ranking = np.mean(mixed, axis=0)
            halved = [replace(member, share=0.5 * member.share) for member in opening]
            knows_all = np.zeros(self.n_classes, dtype=bool)
            self.members = [*(Member(forest, n_columns, 0.5 / n_rounds, knows_all) for forest in again), *halved]

    def _first(
        self, rows: Float32Array, splitter: Splitter, n_columns: int, n_tried: int
    ) -> tuple[Member, FloatArray, float, FloatArray]:
        """A forest of the labeled rows, its votes, its log loss on labels that its trees have not seen, and the votes
        of these trees on the labeled rows.

        If all labeled rows are of one class, it is a forest of labeled against unlabeled rows; its loss is 0.
        """
        codes = self.known.labeled_codes
        if not self.has_several:
            return self._first_of_one_class(rows, splitter, n_columns, n_tried)
        votes = as_votes(codes, self.n_classes)
        forest, unseen = self.grower.grow(rows[:, :n_columns], votes, self.weights, splitter, n_tried)
        likely = np.clip(unseen, LEAST_UNSEEN, 1 - LEAST_UNSEEN)
        of_label = np.where(votes == 1, likely, 1 - likely)[:, 0] if self.n_classes == 2 else likely[votes == 1]
        member = Member(forest, n_columns, 0.0, self.missing)
        return member, self._votes(member), -float(self.weights @ np.log(of_label)), unseen

    def _first_of_one_class(
        self, rows: Float32Array, splitter: Splitter, n_columns: int, n_tried: int
    ) -> tuple[Member, FloatArray, float, FloatArray]:
        """A forest in which the unlabeled rows vote evenly for all classes that no labeled row has."""
        n = len(self.labeled)
        others = as_votes(np.flatnonzero(self.missing), self.n_classes).mean(axis=0, keepdims=True)
        votes = np.concatenate(
            [as_votes(self.known.labeled_codes, self.n_classes), np.repeat(others, len(rows) - n, axis=0)]
        )
        weights = np.append(self.known.labeled_weights, self._relative_sizes())
        forest, unseen = self.grower.grow(rows[:, :n_columns], votes, weights, splitter, n_tried)
        return Member(forest, n_columns, 0.0, np.zeros(self.n_classes, dtype=bool)), unseen[n:], 0.0, unseen[:n]

    def _again(self) -> tuple[Forest, FloatArray]:
        """A forest of the labeled rows and the labels that the present votes give to the others."""
        n, m = len(self.labeled), len(self.unlabeled)
        present = settled(self.ranking, self.known)
        learned = np.sort(self.grower.rng.permutation(m)[:MOST_UNLABELED])
        rows = np.concatenate([self.labeled, self.unlabeled[learned]])
        codes = np.append(self.known.labeled_codes, present.classes[learned])
        sure = (present.sure * self._relative_sizes())[learned]
        # The small constant keeps rows in the sample of which no tree is sure.
        weights = np.append(LABELED_WEIGHT * self.known.labeled_weights, UNLABELED_WEIGHT * sure + 1e-6)
        votes = as_votes(codes, self.n_classes)
        forest, unseen = self.grower.grow(rows, votes, weights, "random", math.isqrt(rows.shape[1]))
        if len(learned) == m:
            return forest, unseen[n:]
        ranking = forest.votes(self.unlabeled, self.grower.n_jobs, self.grower.deadline)
        ranking[learned] = unseen[n:]
        return forest, ranking

    def _votes(self, member: Member) -> FloatArray:
        """Votes on each unlabeled row, by all trees."""
        return member.votes(self.unlabeled, self.grower.n_jobs, self.grower.deadline)

    def _relative_sizes(self) -> FloatArray:
        """What each unlabeled row counts, 1 in the mean."""
        sizes = self.known.unlabeled_sizes
        return sizes / sizes.mean() if sizes.any() else sizes


def _shares(losses: FloatArray) -> FloatArray:
    """Share of each forest in the mix: partly even, partly by the likelihood of labels that it has not seen."""
    likelihood = np.exp(losses.min() - losses)
    return np.asarray(EVEN_SHARE / len(losses) + (1 - EVEN_SHARE) * likelihood / likelihood.sum())


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

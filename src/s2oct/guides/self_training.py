"""Rounds of self-training: forests that learn from their own labels of the unlabeled rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import expit
from sklearn.decomposition import PCA
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import StandardScaler

from s2oct.arrays import FloatArray, IntArray
from s2oct.errors import S2OCTError
from s2oct.guides.log_odds import log_odds
from s2oct.guides.top_total import top_rows, top_threshold
from s2oct.model.labels import Labels
from s2oct.model.scaling import Scaling
from s2oct.stopping import Deadline

N_COMPONENTS = 10
"""Principal components that are added to the features: directions in which all rows, labeled or not, vary most."""

LABELED_WEIGHT, UNLABELED_WEIGHT = 3.0, 0.3
"""Sample weights in self-training: of a labeled row, and of an unlabeled row of which the forest is sure."""

MOST_UNLABELED = 8000
"""Most unlabeled rows that a round of self-training learns from; if there are more, they are drawn at random."""

ROWS_AT_A_TIME = 40_000
"""Trees times rows that are fitted, and rows that are predicted, between two checks of the deadline."""

_LEAST_PROBABILITY = 1e-3


class GuideStopped(S2OCTError):
    """The forests were stopped before they were done."""


class SelfTraining:
    """Self-training in progress: ``ranking`` is the present probability of the second class for each unlabeled row.

    After ``enough`` no further forest begins. After ``deadline`` the work ends with `GuideStopped`.
    """

    def __init__(
        self,
        rows: FloatArray,
        labels: Labels,
        n_second: int,
        *,
        n_trees: int,
        rng: np.random.RandomState,
        n_jobs: int | None,
        enough: Deadline,
        deadline: Deadline,
    ) -> None:
        self.codes, self.known, self.n_second = labels.codes, labels.is_labeled, n_second
        self.n_trees, self.rng, self.n_jobs = n_trees, rng, n_jobs
        self.enough, self.deadline = enough, deadline
        components = PCA(min(N_COMPONENTS, *rows.shape), random_state=rng)
        # Features are scaled to [0, 1] first: squares of huge values would overflow.
        self.scaling = Scaling.unit(rows)
        self.widening = make_pipeline(StandardScaler(), FeatureUnion([("all", "passthrough"), ("main", components)]))
        # If all rows are equal, PCA divides by a variance of 0.
        with np.errstate(invalid="ignore"):
            self.wide = self.widening.fit_transform(self.scaling.transform(rows))
        self.members: list[_Member] = []
        self.ranking = np.empty(0)

    def run(self, n_rounds: int) -> None:
        """Fit the first forests, then the rounds, until ``enough`` has passed."""
        p = self.wide.shape[1] - self.widening[-1].transformer_list[1][1].n_components_
        rankings: list[FloatArray] = []
        for kind, n_columns in (
            (ExtraTreesClassifier, self.wide.shape[1]),
            (RandomForestClassifier, p),
            (ExtraTreesClassifier, p),
        ):
            if rankings and self.enough.passed:
                break
            rankings.append(self._first(kind, n_columns))
        first, opening = np.mean(rankings, axis=0), self.members
        self.ranking = first
        if not 0 < self.n_second < len(first):
            return
        for _ in range(n_rounds):
            if self.enough.passed:
                return
            self.members = []
            self.ranking = 0.5 * first + 0.5 * self._again()
            self.members += [replace(member, share=0.5 / len(opening)) for member in opening]

    def _grown(
        self, kind: Any, X: FloatArray, codes: IntArray, weights: FloatArray | None = None, *, bootstrap: bool
    ) -> Any:
        """A forest, grown a few trees at a time; the trees are the same as in one fit."""
        seed = self.rng.randint(2**31 - 1)
        forest = kind(0, bootstrap=bootstrap, warm_start=True, n_jobs=self.n_jobs, random_state=seed)
        step = max(ROWS_AT_A_TIME // len(X), 1)
        while forest.n_estimators < self.n_trees:
            if self.deadline.passed:
                raise GuideStopped("The guide was stopped.")
            forest.n_estimators = min(forest.n_estimators + step, self.n_trees)
            forest.fit(X, codes, sample_weight=weights)
        return forest

    def _second_probability(self, forest: Any, rows: FloatArray) -> FloatArray:
        """`second_probability`, some rows at a time."""
        parts = []
        for begin in range(0, len(rows), ROWS_AT_A_TIME):
            if self.deadline.passed:
                raise GuideStopped("The guide was stopped.")
            parts.append(second_probability(forest, rows[begin : begin + ROWS_AT_A_TIME]))
        return np.concatenate(parts) if parts else np.empty(0)

    def _first(self, kind: Any, n_columns: int) -> FloatArray:
        """A forest of the labeled rows; or, if they are all of one class, of labeled against unlabeled rows."""
        X, unlabeled = self.wide[:, :n_columns], ~self.known
        one_class = len(np.unique(self.codes[self.known])) < 2
        if not one_class:
            bootstrap = kind is RandomForestClassifier
            forest = self._grown(kind, X[self.known], self.codes[self.known], bootstrap=bootstrap)
            ranking = self._second_probability(forest, X[unlabeled])
        else:
            codes = np.where(self.known, self.codes, 1 - self.codes[self.known][0])
            forest = self._grown(kind, X, codes, bootstrap=True)
            ranking = self._unseen_probability(forest, X)[unlabeled]
        self.members.append(_Member(forest, n_columns, 1.0))
        return ranking

    def _again(self) -> FloatArray:
        """A forest of the labeled rows and the labels that the present ranking gives to the others."""
        unlabeled = np.flatnonzero(~self.known)
        sure = np.abs(2 * at_threshold(self.ranking, top_threshold(self.ranking, self.n_second)) - 1)
        learned = np.sort(self.rng.permutation(len(unlabeled))[:MOST_UNLABELED])
        rows = np.concatenate([np.flatnonzero(self.known), unlabeled[learned]])
        codes = np.concatenate([self.codes[self.known], top_rows(self.ranking, self.n_second)[learned]])
        n = int(self.known.sum())
        # The small constant keeps rows in the sample of which no tree is sure.
        weights = np.concatenate([np.full(n, LABELED_WEIGHT), UNLABELED_WEIGHT * sure[learned] + 1e-6])
        forest = self._grown(ExtraTreesClassifier, self.wide[rows], codes, weights, bootstrap=True)
        self.members.append(_Member(forest, self.wide.shape[1], 0.5))
        ranking = np.empty(len(unlabeled))
        ranking[learned] = self._unseen_probability(forest, self.wide[rows])[n:]
        others = np.setdiff1d(np.arange(len(unlabeled)), learned, assume_unique=True)
        if len(others):
            ranking[others] = self._second_probability(forest, self.wide[unlabeled[others]])
        return ranking

    def _unseen_probability(self, forest: Any, rows: FloatArray) -> FloatArray:
        """Probability of the second class for each row the forest was fitted to, by the trees that have not seen it.

        It is 1/2 for a row that every tree has seen. scikit-learn's own out-of-bag scores warn about such rows, and
        warnings cannot be silenced in one thread only.
        """
        seen = list(forest.classes_)
        if 1 not in seen:
            return np.zeros(len(rows))
        votes, n_trees = np.zeros((len(rows), len(seen))), np.zeros(len(rows))
        for tree, sample in zip(forest.estimators_, forest.estimators_samples_, strict=True):
            if self.deadline.passed:
                raise GuideStopped("The guide was stopped.")
            unseen = np.ones(len(rows), dtype=bool)
            unseen[sample] = False
            if not unseen.any():
                continue
            votes[unseen] += tree.predict_proba(rows[unseen])
            n_trees[unseen] += 1
        return np.where(n_trees > 0, votes[:, seen.index(1)] / np.maximum(n_trees, 1), 0.5)


@dataclass(frozen=True)
class _Member:
    """A forest, how many of the widened features it sees, and its share in the probability of a new row."""

    forest: Any
    n_columns: int
    share: float


def second_probability(forest: Any, rows: FloatArray) -> FloatArray:
    """Probability of the second class for each row; 0 where the forest has never seen that class."""
    seen = list(forest.classes_)
    return np.asarray(forest.predict_proba(rows)[:, seen.index(1)]) if 1 in seen else np.zeros(len(rows))


def at_threshold(second: FloatArray, threshold: float) -> FloatArray:
    """Probabilities with their log odds shifted so that the threshold is at 1/2."""
    return np.asarray(expit(log_odds(second, _LEAST_PROBABILITY) - log_odds(threshold, _LEAST_PROBABILITY)))

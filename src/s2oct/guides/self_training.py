"""Rounds of self-training: forests that learn from their own labels of the unlabeled rows."""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import expit, logit
from sklearn.decomposition import PCA
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import StandardScaler

from s2oct.arrays import FloatArray, IntArray
from s2oct.guides.top_total import top_rows, top_threshold
from s2oct.model.labels import Labels
from s2oct.model.scaling import Scaling

N_COMPONENTS = 10
"""Principal components that are added to the features: directions in which all rows, labeled or not, vary most."""

LABELED_WEIGHT, UNLABELED_WEIGHT = 3.0, 0.3
"""What a labeled row and an unlabeled row of which the forest is sure weigh in the rounds of self-training."""

MOST_UNLABELED = 8000
"""Unlabeled rows that a round of self-training learns from; a random choice of them where there are more."""

_LEAST_PROBABILITY = 1e-3


class SelfTraining:
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
            ranking = second_probability(forest, X[unlabeled])
        else:
            codes = np.where(self.known, self.codes, 1 - self.codes[self.known][0])
            forest = self._fit_unseen(kind, X, codes)
            ranking = _unseen_probability(forest)[unlabeled]
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
        # The least weight keeps rows in play that no tree is sure of.
        weights = np.concatenate([np.full(n, LABELED_WEIGHT), UNLABELED_WEIGHT * sure[learned] + 1e-6])
        forest = self._fit_unseen(ExtraTreesClassifier, self.wide[rows], codes, weights)
        self.members.append(_Member(forest, self.wide.shape[1], 0.5))
        ranking = np.empty(len(unlabeled))
        ranking[learned] = _unseen_probability(forest)[n:]
        others = np.setdiff1d(np.arange(len(unlabeled)), learned, assume_unique=True)
        if len(others):
            ranking[others] = second_probability(forest, self.wide[unlabeled[others]])
        return ranking


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


def _unseen_probability(forest: Any) -> FloatArray:
    """Probability of the second class for each row the forest was fitted to, by the trees that have not seen it."""
    seen = list(forest.classes_)
    if 1 not in seen:
        return np.zeros(len(forest.oob_decision_function_))
    return np.asarray(np.nan_to_num(forest.oob_decision_function_[:, seen.index(1)], nan=0.5))


def at_threshold(second: FloatArray, threshold: float) -> FloatArray:
    """Probabilities with their log odds shifted so that the threshold is at 1/2."""
    return np.asarray(expit(_log_odds(second) - _log_odds(threshold)))


def _log_odds(second: FloatArray | float) -> FloatArray:
    return np.asarray(logit(np.clip(second, _LEAST_PROBABILITY, 1 - _LEAST_PROBABILITY)))

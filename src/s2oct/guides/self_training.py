"""Forests mixed by how well they predict labels they have not seen, then rounds of self-training."""

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

MOST_FEATURES = 100
"""Features that the forest that looks at all of them looks at, at most."""

EVEN_SHARE = 0.5
"""Part of the mix in which all forests count alike: with few labels, held-out likelihoods are uncertain."""

LABELED_WEIGHT, UNLABELED_WEIGHT = 3.0, 0.3
"""Sample weights in self-training: of a labeled row, and of an unlabeled row of which the forest is sure."""

MOST_UNLABELED = 8000
"""Most unlabeled rows that a round of self-training learns from; if there are more, they are drawn at random."""

ROWS_AT_A_TIME = 40_000
"""Trees times rows that are fitted, and rows that are predicted, between two checks of the deadline."""

_LEAST_PROBABILITY, LEAST_UNSEEN = 1e-3, 0.02


class GuideStopped(S2OCTError):
    """The forests were stopped before they were done."""


class SelfTraining:
    """Self-training in progress: ``ranking`` is the present probability of the second class for each unlabeled row.

    All of it is counted work. After ``deadline`` it ends with `GuideStopped`.
    """

    def __init__(
        self,
        rows: FloatArray,
        labels: Labels,
        counts: IntArray,
        *,
        n_trees: int,
        rng: np.random.RandomState,
        n_jobs: int | None,
        deadline: Deadline,
    ) -> None:
        self.codes, self.known, self.n_second = labels.codes, labels.is_labeled, int(counts[1])
        self.n_trees, self.rng, self.n_jobs, self.deadline = n_trees, rng, n_jobs, deadline
        self.weights = _known_share_weights(self.codes[self.known], counts)
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
        """Fit and mix the first forests, then the rounds."""
        p = self.scaling.scale.size
        opening, rankings, losses = [], [], []
        for kind, n_columns, max_features in (
            (RandomForestClassifier, p, "sqrt"),
            (ExtraTreesClassifier, p, "sqrt"),
            (ExtraTreesClassifier, self.wide.shape[1], "sqrt"),
            (RandomForestClassifier, p, min(p, MOST_FEATURES)),
        ):
            forest, ranking, loss = self._first(kind, n_columns, max_features)
            opening.append(_Member(forest, n_columns, 1.0))
            rankings.append(ranking)
            losses.append(loss)
        likelihood = np.exp(np.min(losses) - np.array(losses))
        shares = EVEN_SHARE / len(losses) + (1 - EVEN_SHARE) * likelihood / likelihood.sum()
        opening = [replace(member, share=float(share)) for member, share in zip(opening, shares, strict=True)]
        first = shares @ np.array(rankings)
        self.ranking, self.members = first, opening
        if not 0 < self.n_second < len(first):
            return
        for _ in range(n_rounds):
            forest, again = self._again()
            self.ranking = 0.5 * first + 0.5 * again
            halved = [replace(member, share=0.5 * member.share) for member in opening]
            self.members = [_Member(forest, self.wide.shape[1], 0.5), *halved]

    def _grown(
        self, kind: Any, X: FloatArray, codes: IntArray, weights: FloatArray | None, max_features: int | str = "sqrt"
    ) -> Any:
        """A forest, grown a few trees at a time; the trees are the same as in one fit."""
        forest = kind(
            0,
            max_features=max_features,
            bootstrap=True,
            warm_start=True,
            n_jobs=self.n_jobs,
            random_state=self.rng.randint(2**31 - 1),
        )
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

    def _first(self, kind: Any, n_columns: int, max_features: int | str) -> tuple[Any, FloatArray, float]:
        """A forest of the labeled rows, its ranking, and its log loss on labels that its trees have not seen.

        If all labeled rows are of one class, it is a forest of labeled against unlabeled rows; its loss is 0.
        """
        X, unlabeled = self.wide[:, :n_columns], ~self.known
        codes = self.codes[self.known]
        if len(np.unique(codes)) < 2:
            resembles = np.where(self.known, self.codes, 1 - (codes[0] if len(codes) else 0))
            forest = self._grown(kind, X, resembles, None, max_features)
            return forest, self._unseen_probability(forest, X)[unlabeled], 0.0
        forest = self._grown(kind, X[self.known], codes, self.weights, max_features)
        unseen = np.clip(self._unseen_probability(forest, X[self.known]), LEAST_UNSEEN, 1 - LEAST_UNSEEN)
        loss = -float(self.weights @ np.where(codes == 1, np.log(unseen), np.log(1 - unseen)))
        return forest, self._second_probability(forest, X[unlabeled]), loss

    def _again(self) -> tuple[Any, FloatArray]:
        """A forest of the labeled rows and the labels that the present ranking gives to the others."""
        unlabeled = np.flatnonzero(~self.known)
        sure = np.abs(2 * at_threshold(self.ranking, top_threshold(self.ranking, self.n_second)) - 1)
        learned = np.sort(self.rng.permutation(len(unlabeled))[:MOST_UNLABELED])
        rows = np.concatenate([np.flatnonzero(self.known), unlabeled[learned]])
        codes = np.concatenate([self.codes[self.known], top_rows(self.ranking, self.n_second)[learned]])
        n = int(self.known.sum())
        # The small constant keeps rows in the sample of which no tree is sure.
        weights = np.concatenate([np.full(n, LABELED_WEIGHT), UNLABELED_WEIGHT * sure[learned] + 1e-6])
        forest = self._grown(ExtraTreesClassifier, self.wide[rows], codes, weights)
        ranking = np.empty(len(unlabeled))
        ranking[learned] = self._unseen_probability(forest, self.wide[rows])[n:]
        others = np.setdiff1d(np.arange(len(unlabeled)), learned, assume_unique=True)
        if len(others):
            ranking[others] = self._second_probability(forest, self.wide[unlabeled[others]])
        return forest, ranking

    def _unseen_probability(self, forest: Any, rows: FloatArray) -> FloatArray:
        """Probability of the second class for each row the forest was fitted to, by the trees that have not seen it.

        It is 1/2 for a row that every tree has seen. scikit-learn's own out-of-bag scores warn about such rows, and
        warnings cannot be silenced in one thread only.
        """
        seen = list(forest.classes_)
        if 1 not in seen:
            return np.zeros(len(rows))
        votes, n_trees = np.zeros((len(rows), len(seen))), np.zeros(len(rows))
        # The trees' own type of features; asking a tree for it each time takes longer than its answer.
        narrow = np.asarray(rows, dtype=np.float32)
        for tree, sample in zip(forest.estimators_, forest.estimators_samples_, strict=True):
            if self.deadline.passed:
                raise GuideStopped("The guide was stopped.")
            unseen = np.ones(len(rows), dtype=bool)
            unseen[sample] = False
            if not unseen.any():
                continue
            votes[unseen] += tree.tree_.predict(narrow[unseen])
            n_trees[unseen] += 1
        return np.where(n_trees > 0, votes[:, seen.index(1)] / np.maximum(n_trees, 1), 0.5)


@dataclass(frozen=True)
class _Member:
    """A forest, how many of the widened features it sees, and its share in the probability of a new row."""

    forest: Any
    n_columns: int
    share: float


def _known_share_weights(codes: IntArray, counts: IntArray) -> FloatArray:
    """Weights that give the labeled rows the known shares of the classes; 1 in the mean."""
    labeled = np.bincount(codes, minlength=len(counts))
    # Half a row for a class whose total is 0: some weight keeps it in the forest.
    wanted = np.maximum(counts, 0.5)
    weights = (wanted / np.maximum(labeled, 1))[codes]
    return np.asarray(weights / weights.mean()) if len(weights) else weights


def second_probability(forest: Any, rows: FloatArray) -> FloatArray:
    """Probability of the second class for each row; 0 where the forest has never seen that class."""
    seen = list(forest.classes_)
    return np.asarray(forest.predict_proba(rows)[:, seen.index(1)]) if 1 in seen else np.zeros(len(rows))


def at_threshold(second: FloatArray, threshold: float) -> FloatArray:
    """Probabilities with their log odds shifted so that the threshold is at 1/2."""
    return np.asarray(expit(log_odds(second, _LEAST_PROBABILITY) - log_odds(threshold, _LEAST_PROBABILITY)))

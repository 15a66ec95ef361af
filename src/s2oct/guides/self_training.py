"""Forests mixed by how well they predict labels they have not seen, then rounds of self-training."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import expit

from s2oct.arrays import Float32Array, FloatArray, IntArray
from s2oct.guides.growing import Forest, Grower, Splitter
from s2oct.guides.log_odds import log_odds
from s2oct.guides.top_total import top_rows

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

_LEAST_PROBABILITY = 1e-3
_BEYOND = float(log_odds(1 - _LEAST_PROBABILITY, _LEAST_PROBABILITY)) + 1
"""Log odds that are higher than those of any row."""


@dataclass(frozen=True)
class Member:
    """A forest, how many of the widened features it sees, and its share in the probability of a new row."""

    forest: Forest
    n_columns: int
    share: float


class SelfTraining:
    """Self-training in progress: ``ranking`` is the present probability of the second class for each unlabeled row.

    ``labeled`` and ``unlabeled`` are rows of ``n_features`` features and their principal components; ``codes`` are the
    classes of the labeled rows. All of it is counted work. Only the deadline of ``grower`` ends it sooner, with
    `GuideStopped`.
    """

    def __init__(
        self,
        labeled: Float32Array,
        unlabeled: Float32Array,
        n_features: int,
        codes: IntArray,
        counts: IntArray,
        grower: Grower,
    ) -> None:
        self.labeled, self.unlabeled, self.n_features = labeled, unlabeled, n_features
        self.codes, self.n_second, self.grower = codes, int(counts[1]), grower
        self.has_both = len(np.unique(codes)) > 1
        self.weights = _known_share_weights(codes, counts)
        self.members: list[Member] = []
        self.ranking = np.empty(0)

    def run(self, n_rounds: int) -> None:
        """Fit and mix the first forests, then the rounds."""
        p, n_columns = self.n_features, self.labeled.shape[1]
        kinds: tuple[tuple[Splitter, int, int], ...] = (
            ("best", p, math.isqrt(p)),
            ("random", p, math.isqrt(p)),
            ("random", n_columns, math.isqrt(n_columns)),
            ("best", p, min(p, MOST_FEATURES)),
        )
        rows = self.labeled if self.has_both else np.concatenate([self.labeled, self.unlabeled])
        forests, rankings, losses = zip(*(self._first(rows, *kind) for kind in kinds), strict=True)
        shares = _shares(np.array(losses))
        opening = [
            Member(forest, kind[1], float(share)) for forest, kind, share in zip(forests, kinds, shares, strict=True)
        ]
        first = shares @ np.array(rankings)
        self.ranking, self.members = first, opening
        if not 0 < self.n_second < len(first):
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
            self.members = [*(Member(forest, n_columns, 0.5 / n_rounds) for forest in again), *halved]

    def _first(
        self, rows: Float32Array, splitter: Splitter, n_columns: int, n_tried: int
    ) -> tuple[Forest, FloatArray, float]:
        """A forest of the labeled rows, its ranking, and its log loss on labels that its trees have not seen.

        If all labeled rows are of one class, it is a forest of labeled against unlabeled rows; its loss is 0.
        """
        n = len(self.labeled)
        if not self.has_both:
            codes = np.append(self.codes, np.full(len(rows) - n, 1 - self.codes[0]))
            forest, unseen = self.grower.grow(rows[:, :n_columns], codes, np.ones(len(rows)), splitter, n_tried)
            return forest, unseen[n:], 0.0
        forest, unseen = self.grower.grow(rows[:, :n_columns], self.codes, self.weights, splitter, n_tried)
        unseen = np.clip(unseen, LEAST_UNSEEN, 1 - LEAST_UNSEEN)
        loss = -float(self.weights @ np.log(np.where(self.codes == 1, unseen, 1 - unseen)))
        return forest, self._votes(forest, n_columns), loss

    def _again(self) -> tuple[Forest, FloatArray]:
        """A forest of the labeled rows and the labels that the present ranking gives to the others."""
        n, m = len(self.labeled), len(self.unlabeled)
        scores = scores_of(self.ranking)
        sure = np.abs(2 * expit(scores - score_threshold(scores, self.n_second)) - 1)
        learned = np.sort(self.grower.rng.permutation(m)[:MOST_UNLABELED])
        rows = np.concatenate([self.labeled, self.unlabeled[learned]])
        codes = np.append(self.codes, top_rows(self.ranking, self.n_second)[learned])
        # The small constant keeps rows in the sample of which no tree is sure.
        weights = np.append(np.full(n, LABELED_WEIGHT), UNLABELED_WEIGHT * sure[learned] + 1e-6)
        forest, unseen = self.grower.grow(rows, codes, weights, "random", math.isqrt(rows.shape[1]))
        ranking = self._votes(forest, rows.shape[1]) if len(learned) < m else np.empty(m)
        ranking[learned] = unseen[n:]
        return forest, ranking

    def _votes(self, forest: Forest, n_columns: int) -> FloatArray:
        """Probability of the second class for each unlabeled row, by all trees."""
        return forest.second_probability(self.unlabeled[:, :n_columns], self.grower.n_jobs, self.grower.deadline)


def _known_share_weights(codes: IntArray, counts: IntArray) -> FloatArray:
    """Weights that give the labeled rows the known shares of the classes; 1 in the mean."""
    if not counts.any():
        return np.ones(len(codes))
    labeled = np.bincount(codes, minlength=len(counts))
    # Half a row for a class whose total is 0: some weight keeps it in the forest.
    weights = (np.maximum(counts, 0.5) / np.maximum(labeled, 1))[codes]
    return np.asarray(weights / weights.mean())


def _shares(losses: FloatArray) -> FloatArray:
    """Share of each forest in the mix: partly even, partly by the likelihood of labels that it has not seen."""
    likelihood = np.exp(losses.min() - losses)
    return np.asarray(EVEN_SHARE / len(losses) + (1 - EVEN_SHARE) * likelihood / likelihood.sum())


def scores_of(second: FloatArray) -> FloatArray:
    """Log odds of the second class, in the order of the probabilities, and finite for 0 and 1 too."""
    return log_odds(_LEAST_PROBABILITY + (1 - 2 * _LEAST_PROBABILITY) * second, _LEAST_PROBABILITY)


def score_threshold(scores: FloatArray, n_above: int) -> float:
    """The middle between the ``n_above``-th highest score and the next one; 0 if there are no scores.

    Above the highest and below the lowest score is one that no row has. So a total of 0, or of all rows, is met too.
    """
    descending = np.concatenate([[_BEYOND], np.sort(scores)[::-1], [-_BEYOND]])
    return float(descending[n_above : n_above + 2].mean())

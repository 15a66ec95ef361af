"""Forests mixed by how well they predict labels they have not seen, then rounds of self-training."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from s2oct.arrays import BoolArray, Float32Array, FloatArray
from s2oct.guides.growing import Forest, Grower, Splitter
from s2oct.guides.votes import as_votes, settled, with_missing_classes
from s2oct.model.known import Known
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

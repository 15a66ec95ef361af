"""Fits without some of the labels, to assess a tree or a simplicity path by held-out labels."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from s2oct.arrays import BoolArray, FloatArray, IntArray
from s2oct.errors import AssessmentStopped
from s2oct.estimates.assessment import Assessment, HeldOut, held_out_folds, mean_shares
from s2oct.fit.simplicity import SimplicityPath, SimplicityStep
from s2oct.fit.training import FitTask, Trained
from s2oct.p2.proof import INTERRUPTED
from s2oct.problem.labels import UNLABELED
from s2oct.stopping import Deadline, Stop, never, now
from s2oct.trees.tree import ObliqueTree

NEARLY = 0.02
"""Share of the unlabeled rows by which a recommended tree may miss the totals by more than the fitted tree."""

Progress = Callable[[int, int], None]
"""Called with the number of finished folds and their total number."""


def fit_folds(
    fit: FitTask, tree: ObliqueTree, n_folds: int, stop: Stop = never, progress: Progress | None = None
) -> CrossFit:
    """Fit guide and tree once for each fold of the labeled rows, without the labels of the fold, to assess a tree.

    The rows of the fold join the unlabeled ones, and the totals grow accordingly. A request to stop raises
    `AssessmentStopped`: an accuracy from some of the folds would describe other labels.
    """
    folds = held_out_folds(fit.known.labels.codes, n_folds, fit.budget.seed)
    found: list[Trained] = []
    for number, held in enumerate(folds):
        if progress is not None:
            progress(number, len(folds))
        task = replace(fit, known=fit.known.without(held), advice=None)
        trained = None if stop() else task.run(now(), stop=stop)[0]
        if trained is None or trained.certificate.ended == INTERRUPTED:
            raise AssessmentStopped(f"The assessment was interrupted after {number} of {len(folds)} folds")
        found.append(trained)
    if progress is not None:
        progress(len(folds), len(folds))
    return CrossFit(fit, tree, tuple(folds), tuple(found), n_folds, tuple(trained.tree for trained in found))


@dataclass(frozen=True, eq=False)
class CrossFit:
    """One fit for each fold of the labeled rows, without the labels of the fold.

    Attributes
    ----------
    fit : FitTask
        The fit to all labels.
    tree : ObliqueTree
        The tree to assess.
    folds : tuple of ndarray
        Rows held out by each fit.
    trained : tuple of Trained
        Result of each fit.
    n_asked : int
        Requested number of folds; with few labels, there are fewer.
    trees : tuple of ObliqueTree
        The tree of each fold that represents the tree: the fitted one, or one as simple as a chosen tree.
    """

    fit: FitTask
    tree: ObliqueTree
    folds: tuple[IntArray, ...]
    trained: tuple[Trained, ...]
    n_asked: int
    trees: tuple[ObliqueTree, ...]

    @cached_property
    def assessment(self) -> Assessment:
        """Expected accuracy of the tree, overall and on rows where near-optimal trees agree."""
        unlabeled = self._on_unlabeled(self.trees, self.tree)
        return self.held_out.assess(self._assigned_by(self.trees), self._agreed(), *unlabeled)

    def of_chosen(self, tree: ObliqueTree, n_terms: int, stop: Stop = never) -> CrossFit:
        """Return the same folds to assess another tree, by their richest trees with no more terms."""
        return replace(self, tree=tree, trees=tuple(_richest(front, n_terms) for front in self._fronts(stop)))

    @property
    def held_out(self) -> HeldOut:
        """The rows that were held out."""
        return HeldOut.of_folds(self.fit.known, self.folds)

    def assessed_path(self, path: SimplicityPath, stop: Stop = never) -> SimplicityPath:
        """Return the path with the accuracy of each tree and a recommended tree.

        Each fold has its own path. A tree is assessed by the richest trees of the folds with no more terms, and the
        fitted tree by the fitted trees of the folds.
        """
        fronts = self._fronts(stop)

        def assessed(step: SimplicityStep) -> tuple[SimplicityStep, BoolArray]:
            """Return a step with its accuracy, and whether each held-out row was classified correctly."""
            trees = list(self.trees)
            if step is not path.fitted:
                trees = [_richest(front, step.n_terms) for front in fronts]
            assigned = self._assigned_by(trees)
            found = self.held_out.assess(assigned, None, *self._on_unlabeled(trees, step.tree))
            right = (assigned == self.fit.known.labels.codes)[self.held_out.rows]
            return replace(step, accuracy=found.accuracy, accuracy_se=found.accuracy_se), right

        all_steps = {id(step): assessed(step) for step in path.with_fitted}
        fitted = all_steps[id(path.fitted)][0]
        recommended = self._recommended(list(all_steps.values()), fitted)
        return SimplicityPath([all_steps[id(step)][0] for step in path], fitted, recommended)

    def _recommended(self, steps: list[tuple[SimplicityStep, BoolArray]], fitted: SimplicityStep) -> SimplicityStep:
        """Return the simplest tree within one standard error of the best, among trees that nearly meet the totals."""
        most_off = fitted.rows_off + NEARLY * float(self.fit.known.in_rows.unlabeled_sizes.sum())
        near = [found for found in steps if found[0].rows_off <= most_off]
        best = max(near, key=lambda found: (found[0].accuracy, -found[0].n_terms))

        def is_as_good(found: tuple[SimplicityStep, BoolArray]) -> bool:
            behind, error = self.held_out.difference(best[1], found[1])
            return found is best or behind <= error

        return min(filter(is_as_good, near), key=lambda found: found[0].n_terms)[0]

    def _assigned_by(self, trees: Sequence[ObliqueTree]) -> IntArray:
        """Return the class of each row by the tree of the fold that held it out; -1 for other rows."""
        assigned = np.full(len(self.fit.rows), UNLABELED, dtype=np.int64)
        for held, tree in zip(self.folds, trees, strict=True):
            assigned[held] = tree.predict(self.fit.rows[held])
        return assigned

    def _on_unlabeled(self, trees: Sequence[ObliqueTree], tree: ObliqueTree) -> tuple[float, FloatArray | None]:
        """Return the mean share of unlabeled rows on which the folds' trees differ from a tree, and mean class shares.

        They are 0 and None if no row is unlabeled.
        """
        known = self.fit.known
        rows, sizes = self.fit.rows[~known.is_labeled], known.unlabeled_sizes
        if not len(rows):
            return 0.0, None
        own, classes = tree.predict(rows), [other.predict(rows) for other in trees]
        disagreement = float(np.mean([np.average(other != own, weights=sizes) for other in classes]))
        return disagreement, mean_shares(classes, sizes, len(known.classes))

    def _agreed(self) -> FloatArray:
        """Whether all near-optimal trees of its fold assign a held-out row to the same class; NaN if there are none."""
        agreed = np.full(len(self.fit.rows), np.nan)
        for held, trained, tree in zip(self.folds, self.trained, self.trees, strict=True):
            if trained.others and tree is trained.tree:
                rows = self.fit.rows[held]
                classes = trained.tree.predict(rows)
                agreed[held] = np.logical_and.reduce([other.predict(rows) == classes for other in trained.others])
        return agreed

    def _fronts(self, stop: Stop) -> list[list[tuple[int, ObliqueTree]]]:
        """Return numbers of terms and trees of each fold's path, simplest first."""
        deadline = Deadline(math.inf, stop)
        fronts = [
            [(0, found.tree)] if found.evidence_fit is None else found.evidence_fit.frontier(deadline)
            for found in self.trained
        ]
        if stop():
            raise AssessmentStopped("The assessment was interrupted before all simpler trees were fitted")
        return fronts


def _richest(front: list[tuple[int, ObliqueTree]], n_terms: int) -> ObliqueTree:
    """Return the richest tree with at most ``n_terms`` terms, or else the simplest."""
    return next((tree for terms, tree in reversed(front) if terms <= n_terms), front[0][1])

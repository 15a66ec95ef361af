"""Fits of guide and tree without some of the labels, to assess a tree by labels that it has not seen."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from s2oct.arrays import BoolArray, FloatArray, IntArray
from s2oct.errors import AssessmentStopped
from s2oct.estimates.assessment import N_FOLDS, Assessment, HeldOut, held_out_folds, mean_shares
from s2oct.estimators.edge import edge_of_request
from s2oct.estimators.fitting import FitTask, run_task
from s2oct.fit.simplicity import SimplicityPath, SimplicityStep
from s2oct.fit.training import Trained
from s2oct.p2.proof import INTERRUPTED
from s2oct.problem.labels import UNLABELED
from s2oct.stopping import Deadline, Stop, never, now
from s2oct.trees.tree import ObliqueTree

NEARLY = 0.02
"""Share of the unlabeled rows by which a recommended tree may miss the totals by more than the fitted one does."""

Progress = Callable[[int, int], None]
"""Is told how many folds are done, and of how many."""


@dataclass(frozen=True, eq=False)
class CrossFit:
    """One fit for each fold of the labeled rows, without the labels of the fold.

    Attributes
    ----------
    fit : FitTask
        The fit to all labels.
    tree : ObliqueTree
        The tree that it found, which is to be assessed.
    folds : tuple of ndarray
        Rows that each fit holds out.
    trained : tuple of Trained
        What each fit found.
    n_asked : int
        Folds that were asked for; few labels make fewer.
    trees : tuple of ObliqueTree
        The tree of each fold by which the tree is judged: what the fold fitted, or one as simple as a chosen tree.
    """

    fit: FitTask
    tree: ObliqueTree
    folds: tuple[IntArray, ...]
    trained: tuple[Trained, ...]
    n_asked: int
    trees: tuple[ObliqueTree, ...]

    def of_chosen(self, tree: ObliqueTree, n_terms: int, stop: Stop = never) -> CrossFit:
        """The same folds to assess another tree, by their richest trees with no more terms than it has."""
        return replace(self, tree=tree, trees=tuple(_richest(front, n_terms) for front in self._fronts(stop)))

    @property
    def held_out(self) -> HeldOut:
        """The rows that were held out, to judge what they were given."""
        return HeldOut.of_folds(self.fit.known, self.folds)

    @cached_property
    def assessment(self) -> Assessment:
        """What is expected of the tree, and of rows on which near-optimal trees agree."""
        return self.held_out.assess(self.assigned, self._agreed(), self.apart(self.trees), self._placed(self.trees))

    @cached_property
    def assigned(self) -> IntArray:
        """Class that each row was given while it was held out; -1 for other rows."""
        return self.assigned_by(self.trees)

    def assigned_by(self, trees: Sequence[ObliqueTree]) -> IntArray:
        """The same by other trees, one for each fold."""
        assigned = np.full(len(self.fit.rows), UNLABELED, dtype=np.int64)
        for held, tree in zip(self.folds, trees, strict=True):
            assigned[held] = tree.predict(self.fit.rows[held])
        return assigned

    def apart(self, trees: Sequence[ObliqueTree], tree: ObliqueTree | None = None) -> float:
        """Share of the unlabeled rows on which trees of the folds differ from a tree of the fit, in the mean."""
        known, unlabeled = self.fit.known, ~self.fit.known.is_labeled
        if not unlabeled.any():
            return 0.0
        rows, sizes = self.fit.rows[unlabeled], known.unlabeled_sizes
        classes = (self.tree if tree is None else tree).predict(rows)
        return float(np.mean([np.average(other.predict(rows) != classes, weights=sizes) for other in trees]))

    def _placed(self, trees: Sequence[ObliqueTree]) -> FloatArray | None:
        """Share of the unlabeled rows that trees put into each class, in the mean; None if no row is unlabeled."""
        rows, sizes = self.fit.rows[~self.fit.known.is_labeled], self.fit.known.unlabeled_sizes
        return mean_shares([tree.predict(rows) for tree in trees], sizes, len(self.fit.known.classes))

    def _agreed(self) -> FloatArray:
        """Whether all near-optimal trees of its fold put a held-out row into the same class; NaN if there are none."""
        agreed = np.full(len(self.fit.rows), np.nan)
        for held, trained, tree in zip(self.folds, self.trained, self.trees, strict=True):
            if trained.others and tree is trained.tree:
                rows = self.fit.rows[held]
                classes = trained.tree.predict(rows)
                agreed[held] = np.logical_and.reduce([other.predict(rows) == classes for other in trained.others])
        return agreed

    def assessed_path(self, path: SimplicityPath, stop: Stop = never) -> SimplicityPath:
        """The same path with the accuracy of each tree, and one that is recommended.

        Each fold has a path of its own. A tree with so many terms is assessed by the richest trees of the folds with no
        more terms, and the fitted tree by those that the folds fitted.
        """
        fronts = self._fronts(stop)

        def judged(step: SimplicityStep) -> _Judged:
            trees = list(self.trees)
            if step is not path.fitted:
                trees = [_richest(front, step.n_terms) for front in fronts]
            assigned = self.assigned_by(trees)
            found = self.held_out.assess(assigned, apart=self.apart(trees, step.tree), placed=self._placed(trees))
            right = (assigned == self.fit.known.labels.codes)[self.held_out.rows]
            return _Judged(replace(step, accuracy=found.accuracy, accuracy_se=found.accuracy_se), right)

        all_steps = {id(step): judged(step) for step in path.with_fitted}
        fitted = all_steps[id(path.fitted)].step
        recommended = self._recommended(list(all_steps.values()), fitted)
        return SimplicityPath([all_steps[id(step)].step for step in path], fitted, recommended)

    def _fronts(self, stop: Stop) -> list[list[tuple[int, ObliqueTree]]]:
        """Terms and trees of the path of each fold, from the simplest."""
        deadline = Deadline(math.inf, stop)
        fronts = [
            [(0, found.tree)] if found.simplification is None else found.simplification.frontier(deadline)
            for found in self.trained
        ]
        if stop():
            raise AssessmentStopped("The assessment was interrupted before all simpler trees were fitted")
        return fronts

    def _recommended(self, judged: list[_Judged], fitted: SimplicityStep) -> SimplicityStep:
        """The simplest tree within one standard error of the most accurate, of those that nearly meet the totals."""
        most_off = fitted.rows_off + NEARLY * float(self.fit.known.in_rows.unlabeled_sizes.sum())
        near = [found for found in judged if found.step.rows_off <= most_off]
        best = max(near, key=lambda found: (found.step.accuracy, -found.step.n_terms))

        def is_as_good(found: _Judged) -> bool:
            behind, error = self.held_out.difference(best.right, found.right)
            return found is best or behind <= error

        return min(filter(is_as_good, near), key=lambda found: found.step.n_terms).step


@dataclass(frozen=True, eq=False)
class _Judged:
    """A tree of a path, and whether each held-out row was right."""

    step: SimplicityStep
    right: BoolArray


def _richest(front: list[tuple[int, ObliqueTree]], n_terms: int) -> ObliqueTree:
    """The richest tree with at most so many terms, or else the simplest."""
    return next((tree for terms, tree in reversed(front) if terms <= n_terms), front[0][1])


def fit_folds(
    fit: FitTask,
    tree: ObliqueTree,
    n_folds: int = N_FOLDS,
    stop: Stop | None = None,
    progress: Progress | None = None,
) -> CrossFit:
    """Fit guide and tree once for each fold of the labeled rows, without the labels of the fold; to assess a tree.

    The rows of the fold join the unlabeled ones, and the totals grow accordingly. A request to stop and Ctrl-C raise
    `AssessmentStopped`: an accuracy from some of the folds would be about other labels.
    """
    folds = held_out_folds(fit.known.labels.codes, n_folds, fit.budget.seed)
    found = []
    with edge_of_request(stop) as edge:
        for number, held in enumerate(folds):
            if progress is not None:
                progress(number, len(folds))
            task = replace(fit, known=fit.known.without(held), advice=None)
            trained = None if edge.stop() else run_task(task, edge, now()).trained
            if trained is None or trained.certificate.ended == INTERRUPTED:
                raise AssessmentStopped(f"The assessment was interrupted after {number} of {len(folds)} folds")
            found.append(trained)
    if progress is not None:
        progress(len(folds), len(folds))
    return CrossFit(fit, tree, tuple(folds), tuple(found), n_folds, tuple(trained.tree for trained in found))

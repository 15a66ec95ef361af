"""Fit a classifier again to some of the rows of its fit, as often as replicates need it."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _num_samples

from s2oct.arrays import FloatArray, IntArray
from s2oct.estimates.drawing import BOOTSTRAP, Drawing
from s2oct.estimates.replicates import Replicate, replicate
from s2oct.fit.advice import Guidance
from s2oct.fit.context import Budget
from s2oct.fit.training import train
from s2oct.guides.asking import fitted_guide
from s2oct.guides.forest import SelfTrainedForest
from s2oct.inputs import without_columns
from s2oct.model.evidence import Sparsity
from s2oct.model.guide import Advice
from s2oct.model.labels import Labels
from s2oct.model.problem import Problem
from s2oct.model.spec import ModelSpec
from s2oct.model.targets import Targets
from s2oct.version import __version__


@dataclass(frozen=True, eq=False)
class FittedOn:
    """Everything that a fit was told, in a form that can be sent to another process.

    Attributes
    ----------
    X : object
        All rows of the table as the user passed them, for guides that are not of this package and for names of columns.
    counted : ndarray of shape (n_rows,) or None
        Positions of the rows of the fit in this table; None if it is all of them.
    left_out : tuple of str
        Columns of X that are no features: domains as text.
    rows : ndarray of shape (n_rows, p)
        The rows as numbers.
    labels : Labels
        Classes and codes of all rows.
    targets : Targets
        Known totals of the unlabeled rows, in mean weights.
    weights : ndarray of shape (n_rows,) or None
        Weights of all rows in the same unit; None if all are equal.
    unit : float
        Mean survey weight of an unlabeled row.
    spec : ModelSpec
        What the user chose about the model.
    budget : Budget
        What the fit might use.
    guide : classifier or None
        The guide, not fitted.
    guide_weight : float
        What it counts.
    sparsity : Sparsity
        How sparse splits should be.
    probabilities : ndarray of shape (m, n_classes) or None
        What the guide said of the unlabeled rows.
    drawing : Drawing
        How the labeled rows of replicates are drawn.
    """

    X: Any
    counted: IntArray | None
    left_out: tuple[str, ...]
    rows: FloatArray
    labels: Labels
    targets: Targets
    weights: FloatArray | None
    unit: float
    spec: ModelSpec
    budget: Budget
    guide: Any
    guide_weight: float
    sparsity: Sparsity
    probabilities: FloatArray | None
    drawing: Drawing = BOOTSTRAP

    @property
    def n_given(self) -> int:
        """How many rows the user passed."""
        return int(_num_samples(self.X))

    @cached_property
    def identity(self) -> str:
        """A text that tells fits apart: a hash of what the fit was told."""
        # The representation of a classifier leaves out what is long; its parameters do not.
        guide = None if self.guide is None else (type(self.guide).__name__, self.guide.get_params())
        told = (
            __version__,
            self.spec,
            self.sparsity,
            self.guide_weight,
            guide,
            self.unit,
            self.labels.classes.tolist(),
        )
        digest = hashlib.sha256(repr((*told, self.budget.solver, self.budget.time_limit)).encode())
        targets = self.targets
        values = [part for margin in targets.margins for part in (margin.value, margin.se)]
        parts = (self.rows, self.labels.codes, targets.low, targets.high, targets.first_cells, self.weights, *values)
        for part in parts:
            if part is not None:
                digest.update(np.ascontiguousarray(part).tobytes())
        digest.update(self.drawing.identity)
        return digest.hexdigest()

    def replicate(self, seed: int, number: int) -> Replicate:
        """One replicate of the fit."""
        return replicate(self.labels.codes, self.targets, self._refit, self.drawing, seed, number)

    def _refit(
        self, chosen: IntArray, factors: FloatArray | None, targets: Targets, seed: int
    ) -> tuple[Callable[[IntArray], IntArray], FloatArray, Callable[[IntArray], FloatArray]]:
        """Fit guide and tree to some rows; repeated rows count twice, and factors multiply what rows weigh."""
        labels = Labels(self.labels.classes, self.labels.codes[chosen])
        weights = None if self.weights is None else self.weights[chosen]
        if factors is not None:
            weights = factors if weights is None else weights * factors
        problem = Problem.from_labels(self.rows[chosen], labels, targets)
        if weights is not None:
            known = labels.is_labeled
            problem = replace(problem, labeled_weight=weights[known], unlabeled_weight=weights[~known])
        said, said_of, guidance = self._advice(chosen, labels, targets, weights, seed)
        budget = Budget(self.budget.solver, self.budget.time_limit, 1, seed)
        tree = train(problem, self.spec, budget, guidance, alone=True).tree
        return lambda rows: tree.predict(self.rows[rows]), said, said_of

    def _advice(
        self, chosen: IntArray, labels: Labels, targets: Targets, weights: FloatArray | None, seed: int
    ) -> tuple[FloatArray, Callable[[IntArray], FloatArray], Guidance | None]:
        """What the guide says of the unlabeled rows and of others; every class alike without a guide."""
        n_classes = len(labels.classes)
        if self.guide is None:
            alike = np.full((int((~labels.is_labeled).sum()), n_classes), 1 / n_classes)
            return alike, lambda rows: np.full((len(rows), n_classes), 1 / n_classes), None
        table = self.rows
        if not isinstance(self.guide, SelfTrainedForest):
            table = without_columns(self.X, self.left_out)
            table = table if self.counted is None else _safe_indexing(table, self.counted)
        guide = fitted_guide(self.guide, _safe_indexing(table, chosen), labels, targets, weights, seed)
        said = guide.probabilities
        guidance = Guidance(lambda deadline: Advice(said), self.guide_weight, self.sparsity)
        return said, lambda rows: guide.of_rows(_safe_indexing(table, rows)), guidance

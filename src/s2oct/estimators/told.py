"""What a fit with totals was told, and what the classifier keeps of it."""

from __future__ import annotations

from dataclasses import replace
from threading import Thread
from typing import Any, NamedTuple

import numpy as np

from s2oct.arrays import BoolArray, FloatArray, IntArray
from s2oct.certificate import Certificate
from s2oct.estimators.choices import Choices
from s2oct.estimators.edge import notices_of
from s2oct.estimators.margins import Margins
from s2oct.estimators.refitting import FittedOn
from s2oct.fit.advice import Guidance
from s2oct.fit.context import Budget
from s2oct.fit.simplicity import Simplification
from s2oct.fit.training import Trained
from s2oct.guides import SelfTrainedForest, ask_guide, runs_on
from s2oct.guides.chance import chance_of_rows, chance_of_votes
from s2oct.inputs import Answers, without_columns
from s2oct.model.evidence import AUTO_GUIDE_WEIGHT
from s2oct.model.guide import Advice
from s2oct.model.problem import Problem
from s2oct.model.spec import ModelSpec
from s2oct.model.tree import ObliqueTree
from s2oct.stopping import Deadline, Stop


class FitTold(NamedTuple):
    """What a fit has read of its arguments and parameters."""

    X: Any
    rows: FloatArray
    answers: Answers
    problem: Problem
    spec: ModelSpec
    budget: Budget


class ToldFits(Choices, Margins):
    """A classifier that asks a guide and keeps what a fit found."""

    certificate_: Certificate
    contradicted_: IntArray
    _left_out: tuple[str, ...]
    alternatives_: tuple[ObliqueTree, ...]
    _simplification: Simplification | None

    def _guidance(self, told: FitTold) -> Guidance:
        """The guide, asked about the unlabeled rows when the fit wants it."""
        guide = self._unfitted_guide(told.budget.n_jobs, told.budget.seed)
        answers, weights = told.answers, relative_weights(told)
        left_behind: list[Thread] = []

        def ask(deadline: Deadline) -> Advice | None:
            given = told.rows
            if not isinstance(guide, SelfTrainedForest):
                given = answers.of_counted(without_columns(told.X, self._left_out))
            return ask_guide(guide, given, answers.labels, told.problem.targets, weights, deadline, left_behind)

        return Guidance(ask, self._guide_weight(), self._sparsity(), lambda: any(map(runs_on, left_behind)))

    def _guide_weight(self) -> float:
        weight = self._checked()["guide_weight"]
        return AUTO_GUIDE_WEIGHT if weight is None else weight

    def _replicable(self, told: FitTold, guidance: Guidance | None) -> FittedOn:
        """What the fit was told, for replicates."""
        return FittedOn(
            X=told.X,
            counted=told.answers.counted,
            left_out=self._left_out,
            rows=told.rows,
            labels=told.answers.labels,
            targets=told.problem.targets,
            weights=relative_weights(told),
            unit=told.problem.unit,
            spec=told.spec,
            budget=told.budget,
            guide=self._unfitted_guide(1, 0),
            guide_weight=0.0 if guidance is None else guidance.weight,
            sparsity=self._sparsity(),
            probabilities=None if guidance is None or guidance.answer is None else guidance.answer.probabilities,
        )

    def _test_rows(self, told: FitTold, stop: Stop) -> float | None:
        """Test the labels against chance before the fit, unless the guide is a forest that does so on its way."""
        if isinstance(self._unfitted_guide(1, 0), SelfTrainedForest) and not told.answers.labels.is_labeled.all():
            return None
        problem = told.problem
        return chance_of_rows(problem.X_labeled, problem.labels, told.budget.seed, told.budget.for_checks(stop))

    @staticmethod
    def _tested(told: FitTold, guidance: Guidance | None, chance: float | None) -> float | None:
        """The p-value of the test against chance: by the guide's votes if it has any, or else as it is."""
        answer = None if guidance is None else guidance.answer
        if answer is None or answer.held_out is None:
            return chance
        return chance_of_votes(answer.held_out, told.problem.labels)

    def _keep(self, trained: Trained, told: FitTold, notices: tuple[str, ...], chance: float | None) -> None:
        """Keep what a fit found; ``chance`` is the p-value of its test against chance."""
        problem, labels = told.problem, told.answers.labels
        self.certificate_ = replace(trained.certificate, chance=chance)
        self.tree_, self.stability_ = trained.tree, trained.stability
        self.stability_note_, self.scaling_ = trained.stability_note, trained.scaling
        self.witness_, self._simplification = trained.witness, trained.simplification
        self.alternatives_ = trained.others
        self.classes_ = labels.classes
        rows_off = self.certificate_.xi / problem.unit
        if self.certificate_.n_register is not None:
            # The tree meets the totals of all rows, so that it misses those of the sample.
            rows_off = problem.targets.rows_off(self.tree_.predict(problem.X_unlabeled), problem.unlabeled_size)
        self._slope = self._fitted_slope(problem.X_unlabeled, problem.unlabeled_size, problem.totals, rows_off)
        self.notices_ = (
            *told.answers.doubts,
            *notices_of((*notices, *trained.notices), self.certificate_, labels.classes),
        )

    def _over_all_rows(self, answers: Answers, X: Any) -> None:
        """Extend what the fit says of single rows to the rows of the table that do not count."""
        super()._over_all_rows(answers, X)
        self._uncounted_classes = answers.uncounted_classes
        self.contradicted_ = answers.positions(self.contradicted_)
        self.stability_ = answers.of_unlabeled(self.stability_)

    def _contradicts(self, problem: Problem) -> BoolArray:
        """Which labeled rows the tree puts into another class than their own."""
        return np.asarray(self.tree_.predict(problem.X_labeled) != problem.labels)


def relative_weights(told: FitTold) -> FloatArray | None:
    """Weights in the unit of a problem; None if they are all equal."""
    weights, problem = told.answers.weights, told.problem
    return weights / problem.unit if weights is not None and problem.is_weighted else None

"""Estimates by domain, with standard errors from replicates of the whole fit."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils import _safe_indexing

from s2oct.arrays import FloatArray, IntArray, ObjectArray
from s2oct.errors import InvalidProblem
from s2oct.estimates.estimating import Estimation
from s2oct.estimates.replicates import BOOTSTRAP, Drawing, Replicate, ReplicateWeights, replicate
from s2oct.estimates.running import run_replicates
from s2oct.estimates.table import Estimates
from s2oct.estimators.fitting import FitTask
from s2oct.fit.context import Budget, Guidance
from s2oct.fit.training import train
from s2oct.guides import SelfTrainedForest
from s2oct.guides.asking import fitted_guide
from s2oct.inputs import read_domains, read_replicate_weights
from s2oct.model.known import Known
from s2oct.model.labels import UNLABELED, Labels
from s2oct.model.problem import Advice, Problem
from s2oct.model.targets import Targets
from s2oct.model.tree import ObliqueTree
from s2oct.parameters import BETWEEN_ZERO_AND_ONE, POSITIVE, whole_from
from s2oct.version import __version__
from s2oct.wording import brief, plural

DEFAULT, LEAST_REPLICATES = 200, 2
"""Replicates if nothing is said, and at least: fewer have no spread."""

_MISSING = "missing"
"""The domain of rows without a value, in parentheses where a value has this name."""

Asked = tuple[int | None, Any, float | None]
"""Replicates, replicate weights and their scale, as the user passed them."""

Running = tuple[int | None, str | Path | None, Callable[[int, int], None] | None]
"""Replicates at a time, the folder that keeps them, and who is told about progress."""


def estimate_domains(
    fit: FitTask,
    tree: ObliqueTree,
    alternatives: Sequence[ObliqueTree],
    by: Any,
    asked: Asked,
    confidence: float,
    running: Running,
) -> Estimates:
    """Estimate how many rows of each class every domain has; see ``estimate`` of the classifier."""
    replicates, given_weights, scale = asked
    n_jobs, folder, progress = running
    covered = BETWEEN_ZERO_AND_ONE.read("confidence", confidence)
    divisions, about_gaps = _divisions(by, fit)
    weights = _replicate_weights(fit, given_weights, scale)
    if weights is None:
        n_replicates = n_runs = whole_from(LEAST_REPLICATES).read(
            "replicates", DEFAULT if replicates is None else replicates
        )
    else:
        n_replicates, n_runs = _agreed_number(replicates, weights), weights.n_runs
    refits = Refits(fit, BOOTSTRAP if weights is None else weights)
    found = run_replicates(refits, fit.budget.seed, n_runs, n_jobs, folder, progress)
    said = None if fit.advice is None else fit.advice.probabilities
    others = tuple(other.predict(fit.rows) for other in alternatives)
    estimation = Estimation(fit.known, tree.predict(fit.rows), said, found, others=others, drawing=refits.drawing)
    rows = [row for name, domains, codes in divisions for row in estimation.rows(name, domains, codes, covered)]
    return Estimates(rows, covered, n_replicates, (*estimation.notes, *about_gaps))


@dataclass(frozen=True, eq=False)
class Refits:
    """Fits a guide and a tree again to some of the rows of a fit, as often as replicates need it."""

    fit: FitTask
    drawing: Drawing = BOOTSTRAP

    @cached_property
    def identity(self) -> str:
        """A text that tells fits apart: a hash of their data and choices."""
        fit, known, targets = self.fit, self.fit.known.in_rows, self.fit.known.in_rows.targets
        # The representation of a classifier leaves out what is long; its parameters do not.
        guide = None if fit.guide is None else (type(fit.guide).__name__, _settings(fit.guide))
        choices = (fit.spec, fit.evidence_spec, fit.guide_weight, guide, fit.known.unit, known.classes.tolist())
        budget = fit.budget
        digest = hashlib.sha256(repr((__version__, *choices, budget.solver, budget.time_limit)).encode())
        values = [part for margin in targets.margins for part in (margin.value, margin.se)]
        parts = (fit.rows, known.labels.codes, targets.low, targets.high, targets.first_cells, known.weights, *values)
        for part in parts:
            if part is not None:
                digest.update(np.ascontiguousarray(part).tobytes())
        digest.update(self.drawing.identity)
        return digest.hexdigest()

    def replicate(self, seed: int, number: int) -> Replicate:
        """One replicate of the fit."""
        known = self.fit.known.in_rows
        return replicate(known.labels.codes, known.targets, self._refit, self.drawing, seed, number)

    def _refit(
        self, chosen: IntArray, factors: FloatArray | None, targets: Targets, seed: int
    ) -> tuple[Callable[[IntArray], IntArray], FloatArray, Callable[[IntArray], FloatArray]]:
        """Fit guide and tree to some rows; repeated rows count twice, and factors multiply what rows weigh."""
        fit, known = self.fit, self.fit.known.in_rows
        weights = None if known.weights is None else known.weights[chosen]
        if factors is not None:
            weights = factors if weights is None else weights * factors
        drawn = Known(Labels(known.classes, known.labels.codes[chosen]), targets, weights)
        problem = Problem.from_labels(fit.rows[chosen], drawn.labels, targets)
        if weights is not None:
            labeled = drawn.is_labeled
            problem = replace(problem, labeled_weight=weights[labeled], unlabeled_weight=weights[~labeled])
        said, said_of, guidance = self._advice(chosen, drawn, seed)
        budget = Budget(fit.budget.solver, fit.budget.time_limit, 1, seed)
        tree = train(problem, fit.spec, budget, guidance, alone=True).tree
        return lambda rows: tree.predict(fit.rows[rows]), said, said_of

    def _advice(
        self, chosen: IntArray, drawn: Known, seed: int
    ) -> tuple[FloatArray, Callable[[IntArray], FloatArray], Guidance | None]:
        """What the guide says of the unlabeled rows and of others; every class alike without a guide."""
        n_classes, fit = len(drawn.classes), self.fit
        if fit.guide is None:
            alike = np.full((int((~drawn.is_labeled).sum()), n_classes), 1 / n_classes)
            return alike, lambda rows: np.full((len(rows), n_classes), 1 / n_classes), None
        table = fit.guide_table
        guide = fitted_guide(fit.guide, _safe_indexing(table, chosen), drawn, seed)
        said = guide.probabilities
        guidance = Guidance(lambda deadline: Advice(said), fit.guide_weight, fit.evidence_spec)
        return said, lambda rows: guide.of_rows(_safe_indexing(table, rows)), guidance


def _settings(guide: Any) -> dict[str, Any]:
    """The parameters of a guide; replicates set threads and seed of our own forests themselves."""
    settings: dict[str, Any] = guide.get_params()
    own = {"n_jobs": 1, "random_state": 0} if isinstance(guide, SelfTrainedForest) else {}
    return settings | own


def _replicate_weights(fit: FitTask, given: Any, scale: Any) -> ReplicateWeights | None:
    """The replicate weights that the user brings; None if there are none."""
    if given is None:
        if scale is not None:
            raise InvalidProblem(f"Expected replicate_scale with replicate_weights only, got {brief(scale)} without.")
        return None
    known, n_given = fit.known, len(fit.features)
    codes, weights = known.labels.codes, known.weights
    if known.counted is not None:
        # Rows of weight 0 take no part, like unlabeled ones, whose replicate weights are not looked at.
        codes, weights = np.full(n_given, UNLABELED), np.zeros(n_given)
        codes[known.counted], weights[known.counted] = known.labels.codes, known.sizes
    factors = read_replicate_weights(given, fit.features.table, codes, known.classes, weights)
    return ReplicateWeights(factors, 1 / factors.shape[1] if scale is None else POSITIVE.read("replicate_scale", scale))


def _agreed_number(replicates: int | None, weights: ReplicateWeights) -> int:
    """The number of replicates by the weights, which a number that is given must agree with."""
    number = weights.n_columns
    if replicates is not None and replicates != number:
        raise InvalidProblem(
            f"Expected as many replicates as there are columns of replicate weights, {number}, or none given, got "
            f"{brief(replicates)}."
        )
    return number


def _divisions(by: Any, fit: FitTask) -> tuple[list[tuple[str, ObjectArray, IntArray]], list[str]]:
    """Name, domains and codes of each division, the whole table if there is none; and notes about missing values."""
    if by is None:
        return [("", np.array(["all"], dtype=object), np.zeros(len(fit.rows), dtype=np.int64))], []
    found, notes = [], []
    for name, cells in read_domains(by, fit.features.table, len(fit.features)):
        given = fit.known.of_counted(cells).tolist()
        distinct = sorted({cell for cell in given if cell is not None}, key=lambda cell: (str(type(cell)), cell))
        place = {cell: code for code, cell in enumerate(distinct)}
        n_missing = given.count(None)
        if n_missing:
            place[None] = len(distinct)
            distinct.append(_name_of_missing(distinct))
            lacking = f"{plural(n_missing, 'row')} {'has' if n_missing == 1 else 'have'} no value"
            of_division = f" of {brief(name)}" if name else ""
            notes.append(f"{lacking}{of_division}: domain {distinct[-1]!r}.")
        domains = np.empty(len(distinct), dtype=object)
        domains[:] = distinct
        found.append((name, domains, np.array([place[cell] for cell in given], dtype=np.int64)))
    return found, notes


def _name_of_missing(values: Sequence[Any]) -> str:
    """A name that no value has."""
    name = _MISSING
    while name in map(str, values):
        name = f"({name})"
    return name

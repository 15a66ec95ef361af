"""Estimates by domain: with standard errors from replicates of the whole fit, or by the difference estimator."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils import _safe_indexing

from s2oct.arrays import FloatArray, IntArray, ObjectArray
from s2oct.errors import InvalidProblem
from s2oct.estimates.difference import N_FOLDS, Groups, difference_estimation, weighted_totals
from s2oct.estimates.estimating import Estimation
from s2oct.estimates.replicates import (
    BOOTSTRAP,
    Drawing,
    Draws,
    Folds,
    Replicate,
    ReplicateWeights,
    replicate,
    run_replicates,
)
from s2oct.estimates.table import AUTO, DIFFERENCE, METHODS, REPLICATES, Estimates
from s2oct.estimators.fitted import FittedRows, known_of_rows
from s2oct.estimators.fitting import FitTask, leaves_in_batches, sample_of
from s2oct.evidence.exact import SearchParams
from s2oct.fit.context import Budget, Guidance
from s2oct.fit.register import Register
from s2oct.fit.training import train
from s2oct.guides import SelfTrainedForest
from s2oct.guides.asking import fit_guide
from s2oct.parameters import BETWEEN_ZERO_AND_ONE, POSITIVE, whole_from
from s2oct.problem.known import Known, read_domains, read_replicate_weights, read_weights
from s2oct.problem.labels import UNLABELED, Labels
from s2oct.problem.problem import Advice, Problem
from s2oct.problem.targets import Targets
from s2oct.trees.tree import ObliqueTree
from s2oct.version import __version__
from s2oct.wording import brief, listed, plural

OF_TABLE = ("totals", "population_totals", "domains", "as_shares", "sample_weight")
"""What may be known about a table that is passed, as in ``fit``."""

DEFAULT, LEAST_REPLICATES = 200, 2
"""Replicates if nothing is said, and at least: fewer have no spread."""

_MISSING = "missing"
"""The domain of rows without a value, in parentheses where a value has this name."""

Asked = tuple[int | None, Any, float | None]
"""Replicates, replicate weights and their scale, as the user passed them."""

QUICK = SearchParams(n_rounds=1, n_steps=4, most_work=1e7, n_deep_steps=1)
"""How hard a replicate searches: its trees have as little evidence against them, in a sixth of the time, unproved."""

FOLD_ROWS = 5000
"""Unlabeled rows, at most, of a fit that holds labels out to show mistakes: more rows hardly change these."""

Running = tuple[int | None, str | Path | None, Callable[[int, int], None] | None]
"""Replicates at a time, the folder that keeps them, and who is told about progress."""


def read_method(method: Any, asked: Asked, *, is_given: bool) -> str:
    """How to estimate; ``is_given`` says whether a table or design weights are given, which replicates cannot use."""
    if method not in METHODS:
        raise InvalidProblem(f"Expected method to be one of {', '.join(map(repr, METHODS))}, got {brief(method)}.")
    chosen = (DIFFERENCE if is_given else REPLICATES) if method == AUTO else str(method)
    if chosen == REPLICATES and is_given:
        raise InvalidProblem(
            "Replicates repeat the fit of this session: X, y and design_weight are for method='difference'."
        )
    if chosen == DIFFERENCE and any(part is not None for part in asked):
        raise InvalidProblem(
            "The difference estimator has no replicates: replicates, replicate_weights and replicate_scale are for "
            "method='replicates'."
        )
    return chosen


def refuse_without_table(y: Any, table: Mapping[str, Any], *, held_out: bool = False) -> None:
    """Refuse arguments that are about a table where there is none."""
    given = [*(["y"] if y is not None else []), *table, *(["held_out"] if held_out else [])]
    if given:
        raise InvalidProblem(f"{listed(given)} without X: pass the table as X and y, too, or nothing about it.")


def refuse_strange(table: Mapping[str, Any]) -> None:
    """Refuse arguments that are not about a table."""
    strange = [name for name in table if name not in OF_TABLE]
    if strange:
        raise InvalidProblem(f"Expected arguments among {', '.join(OF_TABLE)}, got {brief(strange[0])}.")


def known_of_table(
    estimator: Any, rows: FittedRows, X: Any, y: Any, table: Mapping[str, Any], design_weight: Any
) -> Known:
    """What is known about the classes of a table that is passed to ``estimate``."""
    refuse_strange(table)
    known = known_of_rows(estimator, rows, X, y, **table)
    if not known.is_labeled.any():
        raise InvalidProblem("Expected some labeled rows in y, got none: estimates are corrected by labels.")
    if known.stated.tables:
        return known
    weights = read_design_weights(design_weight, known, len(rows.X))
    if weights is None:
        raise InvalidProblem(
            "No totals are known: pass totals or population_totals, or design_weight if the labeled rows are a "
            "probability sample."
        )
    return replace(known, targets=weighted_totals(known, weights))


def read_design_weights(given: Any, known: Known, n_rows: int) -> FloatArray | None:
    """Design weights of the labeled rows that count; None if there are none."""
    if given is None:
        return None
    # Unlabeled rows need none.
    numbers = np.nan_to_num(np.asarray(given, dtype=float)) if np.ndim(given) == 1 else given
    weights = read_weights(numbers, n_rows, "design_weight")
    assert weights is not None
    found: FloatArray = known.of_counted(weights)[known.is_labeled]
    if not (found > 0).all():
        raise InvalidProblem("Expected a positive design weight for every labeled row, got none for some of them.")
    return found


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
    drawing: Drawing = BOOTSTRAP if weights is None else weights
    refits = Refits(fit, drawing)
    found = run_replicates(refits, fit.budget.seed, n_runs, n_jobs, folder, progress)
    said = None if fit.advice is None else fit.advice.probabilities
    others = tuple(other.predict(fit.rows) for other in alternatives)
    estimation = Estimation(fit.known, tree.predict(fit.rows), said, found, others=others, drawing=drawing)
    rows = [row for name, domains, codes in divisions for row in estimation.rows(name, domains, codes, covered)]
    return Estimates(rows, covered, n_replicates, (*estimation.notes, *about_gaps))


def estimate_by_difference(
    fit: FitTask,
    tree: ObliqueTree,
    alternatives: Sequence[ObliqueTree],
    by: Any,
    design_weights: FloatArray | None,
    confidence: float,
    running: Running | None,
) -> Estimates:
    """The same by the difference estimator; without ``running``, no label has taken part in the fit of the tree.

    Tree and guide predict all rows, if the fit has asked the guide about them, or else a sample that stands for all.
    Where no label took part in the fit, the tree predicts alone.
    """
    covered = BETWEEN_ZERO_AND_ONE.read("confidence", confidence)
    divisions, notes = _divisions(by, fit)
    leaves, known = leaves_in_batches(tree, fit.rows), fit.known
    predicted, unlabeled = tree.leaf_classes[leaves - tree.topology.n_leaves], np.flatnonzero(~known.is_labeled)
    folds: list[Replicate] = []
    said, sampled = None, np.empty(0, dtype=np.int64)
    if running is not None:
        n_jobs, folder, progress = running
        sample, positions = _fold_sample(fit)
        refits = Refits(sample, Folds(N_FOLDS))
        folds = run_replicates(refits, fit.budget.seed, N_FOLDS, n_jobs, folder, progress)
        if fit.advice is not None:
            sampled, said = unlabeled, fit.advice.probabilities
        elif fit.guide is not None:
            sampled, said = positions[~sample.known.is_labeled], refits.said_of_unlabeled()
    others = [other.predict(fit.rows) for other in alternatives]
    rows: list[dict[str, Any]] = []
    for name, domains, codes in divisions:
        groups = Groups.of(known, leaves, codes, sampled)
        chosen = groups.rows[~groups.known.is_labeled]
        estimation = difference_estimation(
            groups.known,
            predicted[groups.rows],
            None if said is None else _said_of(chosen, sampled, said, leaves),
            folds,
            others=tuple(other[groups.rows] for other in others),
            squares=groups.squares,
            design_weights=design_weights,
        )
        rows += estimation.rows(name, domains, codes[groups.rows], covered)
    return Estimates(rows, covered, 0, (*estimation.notes, *notes))


def _fold_sample(fit: FitTask) -> tuple[FitTask, IntArray]:
    """The labeled rows of a fit, and some of the others if they are many; and where they are."""
    if int((~fit.known.is_labeled).sum()) <= FOLD_ROWS:
        return replace(fit, rows=np.asarray(fit.rows, dtype=float)), np.arange(len(fit.rows))
    register = Register.of_arrays(fit.rows, fit.known, fit.budget.seed, FOLD_ROWS)
    sample = replace(sample_of(fit, register), evidence_spec=fit.evidence_spec.of_sample(register.share))
    return sample, register.positions


def _said_of(rows: IntArray, sampled: IntArray, said: FloatArray, leaves: IntArray) -> FloatArray:
    """What the guide said of rows, shape (rows, n_classes); of those that it was not asked about, the mean in their
    leaf, or of all rows for a leaf without a sampled row.
    """
    place = np.minimum(np.searchsorted(sampled, rows), len(sampled) - 1)
    found = said[place]
    for row in np.flatnonzero(sampled[place] != rows):
        here = leaves[sampled] == leaves[rows[row]]
        found[row] = (said[here] if here.any() else said).mean(axis=0)
    return np.asarray(found)


@dataclass(frozen=True, eq=False)
class Refits:
    """Fits a guide and a tree again to some of the rows of a fit, as often as replicates need it."""

    fit: FitTask
    drawing: Draws = BOOTSTRAP

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

    @cached_property
    def _guide(self) -> Any:
        """The guide, with fewer trees where many replicates are averaged anyway."""
        guide = self.fit.guide
        if isinstance(guide, SelfTrainedForest) and not isinstance(self.drawing, Folds):
            return clone(guide).set_params(n_estimators=max(guide.n_estimators // 2, 1))
        return guide

    def said_of_unlabeled(self) -> FloatArray:
        """What a guide that is fitted to all rows says of the unlabeled ones."""
        fit = self.fit
        return self._advice(np.arange(len(fit.rows)), fit.known.in_rows, fit.budget.seed)[0]

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
        guide = fit_guide(self._guide, _safe_indexing(table, chosen), drawn, seed)
        said = guide.probabilities
        guidance = Guidance(lambda deadline: Advice(said), fit.guide_weight, fit.evidence_spec, effort=QUICK)
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

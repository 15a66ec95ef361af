"""Estimate how many rows of each class every domain has: by replicates of the fit, or by the difference estimator.

Top down: `estimate_by_replicates` repeats the fit many times, and `estimate_by_difference` holds labels out in ten
folds; both call `run_replicates`. `Estimation` turns the results into counts with standard errors, and `Estimates` is
the table.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from s2oct.arrays import FloatArray, IntArray, ObjectArray
from s2oct.errors import InvalidProblem
from s2oct.estimates.difference import N_FOLDS, Groups, difference_estimation
from s2oct.estimates.estimating import Estimation
from s2oct.estimates.replicates import BOOTSTRAP, Drawing, Folds, Refits, Replicate, ReplicateWeights, run_replicates
from s2oct.estimates.table import AUTO, DIFFERENCE, METHODS, REPLICATES, Estimates
from s2oct.fit.register import Register
from s2oct.fit.task import FitTask, leaves_of
from s2oct.parameters import BETWEEN_ZERO_AND_ONE, POSITIVE, whole_from
from s2oct.problem.known import Known, read_domains, read_replicate_weights, read_weights
from s2oct.problem.labels import UNLABELED
from s2oct.trees.tree import ObliqueTree
from s2oct.wording import brief, plural

N_REPLICATES, LEAST_REPLICATES = 200, 2
"""Default and minimum number of replicates; a single one has no spread."""

FOLD_ROWS = 5000
"""Maximum number of unlabeled rows in a fit that holds labels out; more rows hardly change its mistakes."""

_MISSING = "missing"
"""Domain of rows without a value; in parentheses if a value has this name."""

Running = tuple[int | None, str | Path | None, Callable[[int, int], None] | None]
"""Replicates to run at a time, the folder that keeps them, and the progress callback."""


class Design(NamedTuple):
    """Number of replicates, replicate weights and their scale, as the user passed them."""

    replicates: int | None
    weights: Any
    scale: float | None


def read_method(method: Any, design: Design, *, is_given: bool) -> str:
    """Return the method; ``is_given`` says whether a table or design weights are given, which replicates cannot use."""
    if method not in METHODS:
        raise InvalidProblem(f"Expected method to be one of {', '.join(map(repr, METHODS))}, got {brief(method)}.")
    chosen = (DIFFERENCE if is_given else REPLICATES) if method == AUTO else str(method)
    if chosen == REPLICATES and is_given:
        raise InvalidProblem(
            "Replicates repeat the fit of this session: X, y and design_weight are for method='difference'."
        )
    if chosen == DIFFERENCE and any(part is not None for part in design):
        raise InvalidProblem(
            "The difference estimator has no replicates: replicates, replicate_weights and replicate_scale are for "
            "method='replicates'."
        )
    return chosen


def read_design_weights(given: Any, known: Known, n_rows: int) -> FloatArray | None:
    """Return design weights of the labeled rows that count; None if none are given."""
    if given is None:
        return None
    # Unlabeled rows need no design weights.
    numbers = np.nan_to_num(np.asarray(given, dtype=float)) if np.ndim(given) == 1 else given
    weights = read_weights(numbers, n_rows, "design_weight")
    assert weights is not None
    found: FloatArray = known.of_counted(weights)[known.is_labeled]
    if not (found > 0).all():
        raise InvalidProblem("Expected a positive design weight for every labeled row, got none for some of them.")
    return found


def estimate_by_replicates(
    fit: FitTask,
    tree: ObliqueTree,
    alternatives: Sequence[ObliqueTree],
    by: Any,
    design: Design,
    confidence: float,
    running: Running,
) -> Estimates:
    """Estimate by replicates of the whole fit; see `S2OCTClassifier.estimate`."""
    confidence = BETWEEN_ZERO_AND_ONE.read("confidence", confidence)
    divisions, notes = _divisions(by, fit)
    drawing: Drawing
    if (weights := _replicate_weights(fit, design)) is None:
        number = N_REPLICATES if design.replicates is None else design.replicates
        n_replicates = n_runs = whole_from(LEAST_REPLICATES).read("replicates", number)
        drawing = BOOTSTRAP
    else:
        n_replicates, n_runs, drawing = weights.n_columns, weights.n_runs, weights
    replicates = run_replicates(Refits(fit, drawing), fit.budget.seed, n_runs, *running)
    probabilities = None if fit.advice is None else fit.advice.probabilities
    others = tuple(other.predict(fit.rows) for other in alternatives)
    estimation = Estimation(
        fit.known, tree.predict(fit.rows), probabilities, replicates, others=others, drawing=drawing
    )
    rows = [row for name, domains, codes in divisions for row in estimation.rows(name, domains, codes, confidence)]
    return Estimates(rows, confidence, n_replicates, (*estimation.notes, *notes))


def estimate_by_difference(
    fit: FitTask,
    tree: ObliqueTree,
    alternatives: Sequence[ObliqueTree],
    by: Any,
    design_weights: FloatArray | None,
    confidence: float,
    running: Running | None,
) -> Estimates:
    """Estimate by the difference estimator; without ``running``, no label took part in the fit of the tree.

    Tree and guide predict all rows if the guide predicted them in the fit, or else a sample that represents all. If no
    label took part in the fit, only the tree predicts.
    """
    confidence = BETWEEN_ZERO_AND_ONE.read("confidence", confidence)
    divisions, notes = _divisions(by, fit)
    leaves, known = leaves_of(tree, fit.rows), fit.known
    predicted = tree.leaf_classes[leaves - tree.topology.n_leaves]
    folds: list[Replicate] = []
    probabilities, sampled = None, np.empty(0, dtype=np.int64)
    if running is not None:
        sample, positions = _fold_sample(fit)
        refits = Refits(sample, Folds(N_FOLDS))
        folds = run_replicates(refits, fit.budget.seed, N_FOLDS, *running)
        if fit.advice is not None:
            sampled, probabilities = np.flatnonzero(~known.is_labeled), fit.advice.probabilities
        elif fit.guide is not None:
            sampled = positions[~sample.known.is_labeled]
            probabilities = refits.advice(np.arange(len(sample.rows)), sample.known.in_rows, fit.budget.seed)[0]
    others = [other.predict(fit.rows) for other in alternatives]
    rows: list[dict[str, Any]] = []
    for name, domains, codes in divisions:
        groups = Groups.of(known, leaves, codes, sampled)
        chosen = groups.rows[~groups.known.is_labeled]
        estimation = difference_estimation(
            groups.known,
            predicted[groups.rows],
            None if probabilities is None else _probabilities_of(chosen, sampled, probabilities, leaves),
            folds,
            others=tuple(other[groups.rows] for other in others),
            squares=groups.squares,
            design_weights=design_weights,
        )
        rows += estimation.rows(name, domains, codes[groups.rows], confidence)
    return Estimates(rows, confidence, 0, (*estimation.notes, *notes))


def _fold_sample(fit: FitTask) -> tuple[FitTask, IntArray]:
    """Return the fit to the labeled rows and at most a sample of the others, and the positions of these rows."""
    if int((~fit.known.is_labeled).sum()) <= FOLD_ROWS:
        return fit.in_memory(None), np.arange(len(fit.rows))
    register = Register.of_arrays(fit.rows, fit.known, fit.budget.seed, FOLD_ROWS)
    return fit.in_memory(register), register.positions


def _probabilities_of(rows: IntArray, sampled: IntArray, probabilities: FloatArray, leaves: IntArray) -> FloatArray:
    """Return the guide's probabilities of rows, shape (rows, n_classes).

    A row that is not in the sample gets the mean of its leaf, or of all rows if its leaf has no sampled row.
    """
    place = np.minimum(np.searchsorted(sampled, rows), len(sampled) - 1)
    found = probabilities[place]
    for row in np.flatnonzero(sampled[place] != rows):
        here = leaves[sampled] == leaves[rows[row]]
        found[row] = (probabilities[here] if here.any() else probabilities).mean(axis=0)
    return np.asarray(found)


def _replicate_weights(fit: FitTask, design: Design) -> ReplicateWeights | None:
    """Return the user's replicate weights; None if there are none."""
    if design.weights is None:
        if design.scale is not None:
            raise InvalidProblem(
                f"Expected replicate_scale with replicate_weights only, got {brief(design.scale)} without."
            )
        return None
    known, n_given = fit.known, len(fit.features)
    codes, weights = known.labels.codes, known.weights
    if known.counted is not None:
        # Rows of weight 0 are treated as unlabeled, so their replicate weights are ignored.
        codes, weights = np.full(n_given, UNLABELED), np.zeros(n_given)
        codes[known.counted], weights[known.counted] = known.labels.codes, known.sizes
    factors = read_replicate_weights(design.weights, fit.features.table, codes, known.classes, weights)
    number = factors.shape[1]
    scale = 1 / number if design.scale is None else POSITIVE.read("replicate_scale", design.scale)
    if design.replicates is not None and design.replicates != number:
        raise InvalidProblem(
            f"Expected as many replicates as there are columns of replicate weights, {number}, or none given, got "
            f"{brief(design.replicates)}."
        )
    return ReplicateWeights(factors, scale)


def _divisions(by: Any, fit: FitTask) -> tuple[list[tuple[str, ObjectArray, IntArray]], list[str]]:
    """Return name, domains and codes of each division (default: the whole table), and notes about missing values."""
    if by is None:
        return [("", np.array(["all"], dtype=object), np.zeros(len(fit.rows), dtype=np.int64))], []
    found, notes = [], []
    for name, cells in read_domains(by, fit.features.table, len(fit.features)):
        given = fit.known.of_counted(cells).tolist()
        distinct = sorted({cell for cell in given if cell is not None}, key=lambda cell: (str(type(cell)), cell))
        place = {cell: code for code, cell in enumerate(distinct)}
        if n_missing := given.count(None):
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
    """Return a name that is not among the values."""
    name = _MISSING
    while name in map(str, values):
        name = f"({name})"
    return name

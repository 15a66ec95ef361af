"""Estimate how many rows of each class every domain has: by replicates of the fit, or by the difference estimator.

Top down: `estimate_by_replicates` repeats the fit many times, and `estimate_by_difference` holds labels out in ten
folds; both call `run_replicates`. `Estimation` turns the results into counts with standard errors, and `Estimates` is
the table.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone

from s2oct.arrays import FloatArray, IntArray, ObjectArray
from s2oct.errors import InvalidProblem
from s2oct.estimates.difference import N_FOLDS, difference_estimation, represented_rows
from s2oct.estimates.estimating import Estimation
from s2oct.estimates.replicates import Drawing, Refits, Replicate, run_replicates
from s2oct.estimates.table import AUTO, DIFFERENCE, METHODS, REPLICATES, Estimates
from s2oct.fit.register import Register
from s2oct.fit.training import FitTask, leaves_of
from s2oct.guides import SelfTrainedForest
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


def read_method(method: Any, design: Mapping[str, Any], *, is_given: bool) -> str:
    """Return the method.

    ``design`` has the parameters about replicates. ``is_given`` says whether a table or design weights are given, which
    replicates cannot use.
    """
    if method not in METHODS:
        raise InvalidProblem(f"Expected method to be one of {', '.join(map(repr, METHODS))}, got {brief(method)}.")
    chosen = (DIFFERENCE if is_given else REPLICATES) if method == AUTO else str(method)
    if chosen == REPLICATES and is_given:
        raise InvalidProblem(
            "Replicates repeat the fit of this session: X, y and design_weight are for method='difference'."
        )
    if chosen == DIFFERENCE and any(part is not None for part in design.values()):
        raise InvalidProblem(
            f"The difference estimator has no replicates: {', '.join(design)} are for method='replicates'."
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
        raise InvalidProblem("Every labeled row needs a positive design weight, but some have none.")
    return found


def estimate_by_replicates(
    fit: FitTask,
    tree: ObliqueTree,
    alternatives: Sequence[ObliqueTree],
    by: Any,
    confidence: float,
    running: Running,
    *,
    replicates: int | None,
    replicate_weights: Any,
    replicate_scale: float | None,
) -> Estimates:
    """Estimate by replicates of the whole fit; see `S2OCTClassifier.estimate`."""
    confidence = BETWEEN_ZERO_AND_ONE.read("confidence", confidence)
    divisions, notes = _divisions(by, fit)
    if replicate_weights is not None:
        drawing = _survey_replicates(fit, replicate_weights, replicate_scale)
        assert drawing.factors is not None
        n_replicates = drawing.factors.shape[1]
        if replicates not in (None, n_replicates):
            raise InvalidProblem(
                f"replicates is {brief(replicates)}, but there are {n_replicates} columns of replicate weights: omit "
                "replicates."
            )
    else:
        if replicate_scale is not None:
            raise InvalidProblem(f"replicate_scale ({brief(replicate_scale)}) needs replicate_weights.")
        drawing = Drawing()
        number = N_REPLICATES if replicates is None else replicates
        n_replicates = whole_from(LEAST_REPLICATES).read("replicates", number)
    to_repeat = fit
    if isinstance(fit.guide, SelfTrainedForest):
        # The average of many replicates is used anyway.
        n_trees = max(fit.guide.n_estimators // 2, 1)
        to_repeat = replace(fit, guide=clone(fit.guide).set_params(n_estimators=n_trees))
    n_runs = n_replicates + drawing.n_added
    found = run_replicates(Refits(to_repeat, drawing), fit.budget.seed, n_runs, *running)
    probabilities = None if fit.advice is None else fit.advice.probabilities
    others = tuple(other.predict(fit.rows) for other in alternatives)
    estimation = Estimation(fit.known, tree.predict(fit.rows), probabilities, found, others=others, drawing=drawing)
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
        refits = Refits(sample, Drawing.folds(sample.known.labeled_codes, N_FOLDS))
        folds = run_replicates(refits, fit.budget.seed, N_FOLDS, *running)
        if fit.advice is not None:
            sampled, probabilities = np.flatnonzero(~known.is_labeled), fit.advice.probabilities
        elif fit.guide is not None:
            sampled = positions[~sample.known.is_labeled]
            probabilities = refits.advice(np.arange(len(sample.rows)), sample.known.in_rows, fit.budget.seed)[0]
    others = [other.predict(fit.rows) for other in alternatives]
    rows: list[dict[str, Any]] = []
    for name, domains, codes in divisions:
        representing, chosen, squares = represented_rows(known, leaves, codes, sampled)
        unlabeled = chosen[~representing.is_labeled]
        estimation = difference_estimation(
            representing,
            predicted[chosen],
            None if probabilities is None else _probabilities_of(unlabeled, sampled, probabilities, leaves),
            folds,
            others=tuple(other[chosen] for other in others),
            squares=squares,
            design_weights=design_weights,
        )
        rows += estimation.rows(name, domains, codes[chosen], confidence)
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


def _survey_replicates(fit: FitTask, replicate_weights: Any, scale: float | None) -> Drawing:
    """Return the user's replicate weights over the weights of the fit, with the scale of their variance."""
    known, n_given = fit.known, len(fit.features)
    # Rows of weight 0 are treated as unlabeled, so their replicate weights are ignored.
    codes, weights = np.full(n_given, UNLABELED), None
    codes[known.counted] = known.labels.codes
    if known.weights is not None:
        weights = np.zeros(n_given)
        weights[known.counted] = known.weights
    factors = read_replicate_weights(replicate_weights, fit.features.table, codes, known.classes, weights)
    default = 1 / factors.shape[1]
    return Drawing(factors, default if scale is None else POSITIVE.read("replicate_scale", scale))


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

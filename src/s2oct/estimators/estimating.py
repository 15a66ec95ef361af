"""Estimates by domain, with standard errors from replicates of the whole fit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from s2oct.arrays import IntArray, ObjectArray
from s2oct.certificate import Certificate
from s2oct.errors import InvalidProblem
from s2oct.estimates.drawing import ReplicateWeights
from s2oct.estimates.estimating import Completed, Estimation
from s2oct.estimates.running import run_replicates
from s2oct.estimates.table import Estimates
from s2oct.estimators.base import TreeClassifier
from s2oct.estimators.refitting import FittedOn
from s2oct.inputs import read_domains, read_replicate_weights
from s2oct.model.labels import UNLABELED
from s2oct.model.tree import ObliqueTree
from s2oct.parameters import BETWEEN_ZERO_AND_ONE, POSITIVE, whole_from
from s2oct.wording import brief, plural

DEFAULT, LEAST_REPLICATES = 200, 2
"""Replicates if nothing is said, and at least: fewer have no spread."""

_MISSING = "missing"
"""The domain of rows without a value, in parentheses where a value has this name."""


class Estimating(TreeClassifier):
    """A classifier that estimates how many rows of each class the domains of its table have."""

    alternatives_: tuple[ObliqueTree, ...]
    certificate_: Certificate
    _fitted_on: FittedOn | None

    def estimate(
        self,
        by: Any = None,
        replicates: int | None = None,
        confidence: float = 0.95,
        *,
        replicate_weights: Any = None,
        replicate_scale: float | None = None,
        n_jobs: int | None = None,
        folder: str | Path | None = None,
        progress: Callable[[int, int], None] | None = None,
    ) -> Estimates:
        """Estimate how many rows of each class every domain has, with standard errors and intervals.

        Labels that a tree completes look more certain than they are. So the whole fit is replicated: labeled rows are
        drawn anew within their classes, uncertain totals are drawn anew, and guide and tree are fitted again. Labeled
        rows that a replicate did not draw show how often the tree and the guide are wrong; this corrects the counts.
        The standard error has three parts: how far replicates differ, chance in the classes of single rows, and what
        rows of a domain have in common that the features do not show.

        Parameters
        ----------
        by : array-like of shape (n_rows,), column name of X, or list of these, optional
            The domain of each row of the fit, labeled and unlabeled ones; a list for several divisions. Without it, the
            whole table is the only domain. Rows with a missing value form a domain of their own, called "missing", or
            "(missing)" if that is a value.
        replicates : int, optional
            Replicates of the fit; 200 by default. Each takes about as long as the fit.
        confidence : float
            What the intervals should cover.
        replicate_weights : array-like or data frame of shape (n_rows, n_replicates), or column names of X, optional
            Replicate weights of a survey, which stand for drawing labeled rows: every column is one replicate. Those of
            unlabeled rows are not looked at; these rows are what the estimates are about. Where some row is in all
            replicates, 20 bootstrap replicates are added that only show mistakes on rows that were held out.
        replicate_scale : float, optional
            What the sum of squared differences from the fit is multiplied with to be a variance. By default 1 over the
            number of replicates, which is right for the bootstrap and balanced half samples; (R - 1) / R is for the
            jackknife of R groups, 4 / R for successive differences.
        n_jobs : int, optional
            Replicates to run at a time through joblib, on the configured backend; -1 for all cores.
        folder : path, optional
            Keeps every replicate as a file there. A run that was interrupted goes on where it ended.
        progress : callable, optional
            Is told how many replicates are done, and of how many.

        Returns
        -------
        Estimates
            One row for each domain and class; ``pandas.DataFrame(estimates)`` is a table of them.

        Examples
        --------
        >>> from s2oct import S2OCTClassifier
        >>> from s2oct.datasets import make_labour_force
        >>> survey = make_labour_force(n_people=150, n_labeled=40, seed=2)
        >>> clf = S2OCTClassifier(depth=1, random_state=0).fit(survey.X, survey.y, totals=survey.totals)
        >>> half = [number % 2 for number in range(len(survey.X))]
        >>> found = clf.estimate(by=half, replicates=5)
        >>> [row["domain"] for row in found]
        [0, 0, 1, 1]
        >>> all(row["low"] <= row["estimate"] <= row["high"] for row in found)
        True
        """
        check_is_fitted(self)
        fitted_on = getattr(self, "_fitted_on", None)
        if fitted_on is None and self.certificate_.n_register is not None:
            raise InvalidProblem(
                f"Expected a fit to all rows, because replicates repeat it, got one to a sample of "
                f"{self.certificate_.n_sampled:,} of {self.certificate_.n_register:,} rows: fit fewer rows to get "
                "estimates."
            )
        if fitted_on is None:
            raise InvalidProblem(
                "Expected a classifier that was fitted in this session, got one without the rows of its fit: neither "
                "model files nor pickles keep them."
            )
        covered = BETWEEN_ZERO_AND_ONE.read("confidence", confidence)
        divisions, about_gaps = _divisions(by, fitted_on)
        weights = _replicate_weights(fitted_on, replicate_weights, replicate_scale)
        if weights is None:
            n_replicates = n_runs = whole_from(LEAST_REPLICATES).read(
                "replicates", DEFAULT if replicates is None else replicates
            )
        else:
            n_replicates, n_runs = _agreed_number(replicates, weights), weights.n_runs
            fitted_on = replace(fitted_on, drawing=weights)
        found = run_replicates(fitted_on, fitted_on.budget.seed, n_runs, n_jobs, folder, progress)
        estimation = Estimation(self._completed(fitted_on), found, fitted_on.drawing)
        rows = [row for name, domains, codes in divisions for row in estimation.rows(name, domains, codes, covered)]
        return Estimates(rows, covered, n_replicates, (*estimation.notes, *about_gaps))

    def _completed(self, fitted_on: FittedOn) -> Completed:
        """The fit as the estimation sees it, in survey weights."""
        labels, n_rows = fitted_on.labels, len(fitted_on.rows)
        weights = np.ones(n_rows) if fitted_on.weights is None else fitted_on.weights
        probabilities = None
        if fitted_on.probabilities is not None:
            probabilities = np.full((n_rows, len(labels.classes)), 1 / len(labels.classes))
            probabilities[~labels.is_labeled] = fitted_on.probabilities
        return Completed(
            codes=labels.codes,
            classes=labels.classes,
            weights=fitted_on.unit * weights,
            targets=fitted_on.targets.over(1 / fitted_on.unit),
            predicted=self.tree_.predict(fitted_on.rows),
            probabilities=probabilities,
            others=tuple(tree.predict(fitted_on.rows) for tree in self.alternatives_),
            unit=fitted_on.unit,
        )

    def __getstate__(self) -> dict[str, Any]:
        """Everything but the rows of the fit."""
        state: dict[str, Any] = super().__getstate__()
        return {name: value for name, value in state.items() if name != "_fitted_on"}


def _replicate_weights(fitted_on: FittedOn, given: Any, scale: Any) -> ReplicateWeights | None:
    """The replicate weights that the user brings; None if there are none."""
    if given is None:
        if scale is not None:
            raise InvalidProblem(f"Expected replicate_scale with replicate_weights only, got {brief(scale)} without.")
        return None
    labels, weights = fitted_on.labels, fitted_on.weights
    in_survey_units = None if weights is None else fitted_on.unit * weights
    codes, counted = labels.codes, fitted_on.counted
    if counted is not None:
        # Rows of weight 0 take no part, like unlabeled ones, whose replicate weights are not looked at.
        codes = np.full(fitted_on.n_given, UNLABELED)
        codes[counted] = labels.codes
        if in_survey_units is not None:
            of_counted, in_survey_units = in_survey_units, np.zeros(fitted_on.n_given)
            in_survey_units[counted] = of_counted
    factors = read_replicate_weights(given, fitted_on.X, codes, labels.classes, in_survey_units)
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


def _divisions(by: Any, fitted_on: FittedOn) -> tuple[list[tuple[str, ObjectArray, IntArray]], list[str]]:
    """Name, domains and codes of each division, the whole table if there is none; and notes about missing values."""
    if by is None:
        return [("", np.array(["all"], dtype=object), np.zeros(len(fitted_on.rows), dtype=np.int64))], []
    found, notes = [], []
    for name, cells in read_domains(by, fitted_on.X, fitted_on.n_given):
        given = (cells if fitted_on.counted is None else cells[fitted_on.counted]).tolist()
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

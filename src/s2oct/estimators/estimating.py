"""Estimates by domain, with standard errors from replicates of the whole fit."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from s2oct.arrays import IntArray, ObjectArray
from s2oct.certificate import Certificate
from s2oct.errors import InvalidProblem
from s2oct.estimates.estimating import Completed, Estimation
from s2oct.estimates.running import run_replicates
from s2oct.estimates.table import Estimates
from s2oct.estimators.base import TreeClassifier
from s2oct.estimators.refitting import FittedOn
from s2oct.fit.alternatives import alternative_trees
from s2oct.fit.simplicity import Simplification
from s2oct.inputs import between_zero_and_one, read_domains, whole
from s2oct.model.tree import ObliqueTree
from s2oct.stopping import Deadline
from s2oct.wording import brief, plural

LEAST_REPLICATES = 2
"""Fewer replicates have no spread."""


class Estimating(TreeClassifier):
    """A classifier that estimates how many rows of each class the domains of its table have."""

    time_limit: float
    certificate_: Certificate
    _fitted_on: FittedOn | None
    _simplification: Simplification | None
    _pool: tuple[ObliqueTree, ...]

    @property
    def alternatives_(self) -> tuple[ObliqueTree, ...]:
        """Distinct trees that meet the totals as well as ``tree_`` and have at most 1 % of the rows more against them.

        In P2 they cost no more. With a guide, they are searched for when they are first asked for, which takes a few
        times as long as the fit; a classifier from a model file or a pickle has none. Of a fit to a sample of the rows,
        they meet the totals of the sample.
        """
        check_is_fitted(self)
        simplification = getattr(self, "_simplification", None)
        if not hasattr(self, "_alternatives"):
            found = getattr(self, "_pool", ())
            if simplification is not None:
                found = alternative_trees(simplification, Deadline.after(self.time_limit))
            self._alternatives: tuple[ObliqueTree, ...] = found
        return self._alternatives

    def estimate(
        self,
        by: Any = None,
        replicates: int = 200,
        confidence: float = 0.95,
        *,
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
            whole table is the only domain.
        replicates : int
            Replicates of the fit. Each takes about as long as the fit.
        confidence : float
            What the intervals should cover.
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
        n_replicates = whole("replicates", replicates, LEAST_REPLICATES)
        covered = between_zero_and_one("confidence", confidence)
        divisions = _divisions(by, fitted_on)
        found = run_replicates(fitted_on, fitted_on.budget.seed, n_replicates, n_jobs, folder, progress)
        estimation = Estimation(self._completed(fitted_on), found)
        rows = [row for name, domains, codes in divisions for row in estimation.rows(name, domains, codes, covered)]
        return Estimates(rows, covered, len(found), estimation.notes)

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
        return {name: value for name, value in state.items() if name not in ("_fitted_on", "_alternatives", "_pool")}


def _divisions(by: Any, fitted_on: FittedOn) -> list[tuple[str, ObjectArray, IntArray]]:
    """Name, domains and codes of each division; the whole table if there is none."""
    n_rows = len(fitted_on.rows)
    if by is None:
        return [("", np.array(["all"], dtype=object), np.zeros(n_rows, dtype=np.int64))]
    found = []
    for name, cells in read_domains(by, fitted_on.X, n_rows):
        missing = sum(cell is None for cell in cells)
        if missing:
            of_division = f" of {brief(name)}" if name else ""
            lacking = plural(missing, "row")
            raise InvalidProblem(f"Expected a domain{of_division} for every row, got {lacking} without one.")
        distinct = sorted(set(cells.tolist()), key=lambda cell: (str(type(cell)), cell))
        place = {cell: code for code, cell in enumerate(distinct)}
        domains = np.empty(len(distinct), dtype=object)
        domains[:] = distinct
        found.append((name, domains, np.array([place[cell] for cell in cells], dtype=np.int64)))
    return found

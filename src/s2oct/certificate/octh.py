"""Certificates of OCT-H."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from s2oct.certificate.claim import Claim, labels_of
from s2oct.milp.octh import OcthSpec, baseline_errors
from s2oct.model.prepared import Scaling
from s2oct.model.problem import Problem
from s2oct.model.proof import FitRecord
from s2oct.model.score import MARGIN_TOLERANCE
from s2oct.model.tree import ObliqueTree
from s2oct.wording import amount, duration, plural


@dataclass(frozen=True)
class OCTHCertificate(Claim):
    """What is known about a tree in OCT-H: its training errors and the number of coefficients it uses.

    Parameters
    ----------
    objective : float
        Cost of the tree, evaluated from its hyperplanes on the rows.
    lower_bound : float
        No feasible tree costs less.
    feasible : bool
        Whether the tree satisfies every constraint of the model within the stated tolerances.
    bound_source : str
        Where the lower bound comes from.
    min_margin : float
        Least distance of a row from a hyperplane, in units of omega, that the model bounds from below.
    seconds : float
        Wall-clock seconds until the tree was final.
    history : tuple of Moment
        Best cost and lower bound over time.
    n_errors : int
        Labeled rows that the tree misclassifies.
    n_coefficients : int
        Coefficients other than 0.
    ended : str
        Why the fit ended: "proved", "converged", "time limit" or "interrupted".
    labels : tuple of int
        Labels of each class; a labeled row of weight 0 does not count.
    chance : float or None
        The p-value of the hypothesis that the features say nothing about the classes, tested on labels that were held
        out from forests; None if it was not tested.
    """

    n_errors: int
    n_coefficients: int

    @property
    def has_splits(self) -> bool:
        """Whether the tree puts rows into different leaves."""
        return self.n_coefficients > 0

    def __str__(self) -> str:
        verdict = f"proved optimal by {self.proved_by}" if self.proved else f"not proved, gap {amount(self.gap)}"
        errors = f"{plural(self.n_errors, 'labeled row')} misclassified"
        return (
            f"{errors}; ended: {self.ended} after {duration(self.seconds)}; "
            f"OCT-H cost {amount(self.objective, 6)}; lower bound {amount(self.lower_bound, 6)}; {verdict}"
        )


def certify_octh(
    problem: Problem, tree: ObliqueTree, spec: OcthSpec, record: FitRecord, *, scaling: Scaling | None = None
) -> OCTHCertificate:
    """Certify a tree for OCT-H from its hyperplanes and leaf classes, in the units in which it will predict.

    ``scaling`` is the map to [0, 1], in which |a|_1 and |b| are bounded; None if the features are already there.
    """
    model = tree if scaling is None else scaling.to_model(tree)
    wrong = tree.predict(problem.X_labeled) != problem.labels
    n_errors = float(problem.labeled_multiplicity[wrong].sum())
    n_coefficients = int(np.count_nonzero(tree.omega))
    leaf = tree.apply(problem.X_labeled) - tree.topology.n_leaves
    sizes = np.bincount(leaf, weights=problem.labeled_multiplicity)
    margin = _octh_margin(problem, tree)
    enough = bool((sizes[sizes > 0] >= spec.min_leaf).all())
    splits = np.asarray(tree.omega.any(axis=1))
    offset = np.abs(model.gamma[splits] + spec.mu / 2)
    normed = bool(max(np.abs(model.omega).sum(axis=1).max(), offset.max(initial=0.0)) <= 1 + MARGIN_TOLERANCE)
    child = np.arange(2, tree.topology.n_leaves)
    ordered = not (splits[child - 1] & ~splits[child // 2 - 1]).any()
    return OCTHCertificate(
        objective=n_errors / baseline_errors(problem) + spec.complexity * n_coefficients,
        lower_bound=record.bound.value,
        feasible=enough and normed and ordered and margin >= spec.mu / 2 - MARGIN_TOLERANCE,
        bound_source=record.bound.source,
        min_margin=margin,
        seconds=record.seconds,
        history=record.history,
        n_errors=int(n_errors),
        n_coefficients=n_coefficients,
        ended=record.ended,
        labels=labels_of(problem),
    )


def _octh_margin(problem: Problem, tree: ObliqueTree) -> float:
    """Least distance of a row from the hyperplanes on its own path; OCT-H bounds no others."""
    all_nodes = np.ones(tree.topology.n_branches, dtype=bool)
    return float(tree.path_distances(problem.X_labeled, all_nodes).min())

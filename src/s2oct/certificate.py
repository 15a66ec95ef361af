"""What a tree costs and what is proved about it, recomputed from the tree alone."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from s2oct.milp.octh import OcthSpec, baseline_errors
from s2oct.model.assignment import Assignment
from s2oct.model.feasibility import is_feasible
from s2oct.model.lower_bound import lower_bound
from s2oct.model.prepared import Prepared
from s2oct.model.problem import Problem
from s2oct.model.proof import DECIDED_TOLERANCE, FitRecord, Moment
from s2oct.model.scaling import Scaling
from s2oct.model.score import MARGIN_TOLERANCE, score
from s2oct.model.tree import ObliqueTree


@dataclass(frozen=True)
class Claim:
    """The part that certificates of P2 and OCT-H share.

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
    ended : str
        Why the fit ended: "proved", "converged", "time limit" or "interrupted"; "unknown" in model files that do
        not record it.
    """

    objective: float
    lower_bound: float
    feasible: bool
    bound_source: str
    min_margin: float
    seconds: float
    history: tuple[Moment, ...]
    ended: str = field(default="unknown", kw_only=True)

    @property
    def gap(self) -> float:
        """Cost above the lower bound, never negative."""
        return max(self.objective - self.lower_bound, 0.0)

    @property
    def proved(self) -> bool:
        """Whether the tree is feasible and its cost meets the lower bound."""
        # A bound above the cost of a feasible tree is false, and proves nothing.
        return self.feasible and abs(self.objective - self.lower_bound) <= DECIDED_TOLERANCE

    @property
    def proved_by(self) -> str | None:
        """Where the lower bound that the cost meets comes from; None if nothing is proved."""
        return self.bound_source if self.proved else None


@dataclass(frozen=True)
class Certificate(Claim):
    """What is known about a tree in P2: its errors on the labeled rows, and xi, the rows by which the total is missed.

    ``objective``, ``lower_bound``, ``gap`` and ``proved`` are about P2, with or without a guide.

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
    leaf_error : float
        Errors of the labeled rows, the first part of the cost.
    xi : float
        Rows by which the total is missed; C times this is the second part.
    n_margin_violations : int
        Unlabeled rows that are too near a hyperplane; 0 if the tree is feasible.
    guide_cost : float or None
        What the guide charges for the classes of the unlabeled rows, plus 1 for each row off the total; None without
        a guide.
    guide_weight : float or None
        What an unlabeled row of which the guide is sure counted against a labeled one; 0 if the guide only chose
        between trees of equal cost.
    guided_lower_bound : float or None
        No feasible tree has a lower `guided_objective`; only in model files of fits that minimised that.
    weight_bound : float
        The paper's s in the P2 that was solved: the bound on the coefficients in model units.
    max_features_per_split : int or None
        Most features in a split of the P2 that was solved; None if there is no such constraint, as in the paper.
    uncapped_lower_bound : float or None
        With such a constraint: no tree costs less, however many features its splits use.
    features : tuple of int or None
        The columns that splits may use; None for all. Cost, bound and proof are about P2 with these columns alone.
    ended : str
        Why the fit ended: "proved", "converged", "time limit" or "interrupted"; "unknown" in model files that do
        not record it.
    """

    leaf_error: float
    xi: float
    n_margin_violations: int
    guide_cost: float | None = None
    guide_weight: float | None = None
    guided_lower_bound: float | None = None
    weight_bound: float = float("inf")
    max_features_per_split: int | None = None
    uncapped_lower_bound: float | None = None
    features: tuple[int, ...] | None = None

    @property
    def guided_objective(self) -> float | None:
        """P2's cost plus `guide_weight` times `guide_cost`; only in model files of fits that minimised that."""
        if self.guide_cost is None or self.guide_weight is None or self.guided_lower_bound is None:
            return None
        return self.objective + self.guide_weight * self.guide_cost

    @property
    def proved_for_any_features(self) -> bool:
        """Whether no tree costs less, even one whose splits use more features than the P2 that was solved allows."""
        if self.max_features_per_split is None:
            return self.proved
        bound = self.uncapped_lower_bound
        return self.feasible and bound is not None and abs(self.objective - bound) <= DECIDED_TOLERANCE

    def __str__(self) -> str:
        verdict = f"proved optimal by {self.proved_by}" if self.proved else f"not proved, gap {self.gap:.4g}"
        if self.max_features_per_split is not None and self.proved:
            most = "any number of" if self.proved_for_any_features else f"at most {self.max_features_per_split}"
            verdict += f" among trees with {most} features per split"
        if not self.feasible:
            verdict = f"not feasible for P2 ({self.n_margin_violations} rows too near a hyperplane)"
        return (
            f"P2 cost {self.objective:.6g} = leaf error {self.leaf_error:.6g} + C * xi ({self.xi:g} rows off the "
            f"total); lower bound {self.lower_bound:.6g}; {verdict}; {self._guided_part()}{self.seconds:.2f} s"
        )

    def _guided_part(self) -> str:
        if not self.guide_weight or self.guided_objective is None:
            return ""
        return f"guided cost {self.guided_objective:.6g} with weight {self.guide_weight:g}; "


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
        Why the fit ended: "proved", "converged", "time limit" or "interrupted"; "unknown" in model files that do
        not record it.
    """

    n_errors: int
    n_coefficients: int

    def __str__(self) -> str:
        verdict = f"proved optimal by {self.proved_by}" if self.proved else f"not proved, gap {self.gap:.4g}"
        return (
            f"OCT-H cost {self.objective:.6g} ({self.n_errors} labeled rows misclassified); "
            f"lower bound {self.lower_bound:.6g}; {verdict}; {self.seconds:.2f} s"
        )


def certify(prepared: Prepared, tree: ObliqueTree, record: FitRecord) -> Certificate:
    """Certify a tree for P2 from its hyperplanes, on the rows as the user gave them and in the user's units."""
    guide, most = prepared.given.guide, prepared.most_features
    assignment = Assignment.of(prepared.given, tree)
    found = score(assignment, prepared.spec.C)
    return Certificate(
        objective=found.objective,
        lower_bound=record.bound.value,
        feasible=is_feasible(assignment, prepared.bounds, found, prepared.scaling.scale, most),
        bound_source=record.bound.source,
        min_margin=found.min_margin,
        seconds=record.seconds,
        history=record.history,
        leaf_error=found.leaf_error,
        xi=found.xi,
        n_margin_violations=found.n_margin_violations,
        guide_cost=None if guide is None else found.guide_cost,
        guide_weight=None if guide is None else guide.weight,
        weight_bound=prepared.bounds.s,
        max_features_per_split=most,
        uncapped_lower_bound=None if most is None else lower_bound(prepared.problem, prepared.spec.C),
        features=prepared.spec.features,
        ended=record.ended,
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
    )


def _octh_margin(problem: Problem, tree: ObliqueTree) -> float:
    """Least distance of a row from the hyperplanes on its own path; OCT-H bounds no others."""
    distance = np.abs(tree.values(problem.X_labeled))
    path = tree.topology.path_nodes[tree.apply(problem.X_labeled) - tree.topology.n_leaves]
    return float(np.take_along_axis(distance, path, axis=1).min())

"""A problem made ready for search and solvers: in model units, with equal rows merged, and with its constants."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from s2oct.arrays import FloatArray, IntArray
from s2oct.errors import InvalidProblem
from s2oct.model.bounds import Bounds, compute_bounds, paper_depth
from s2oct.model.problem import Guide, Problem, group_means
from s2oct.model.scaling import Scaling, narrowed
from s2oct.model.spec import ModelSpec
from s2oct.model.terms import CostTerm, LabelErrors, TotalMiss
from s2oct.model.topology import Topology
from s2oct.stopping import NO_DEADLINE, Deadline

TINY = 1e-3
"""If the farthest rows are less than this apart, all rows are enlarged for the solvers."""

LARGEST_M = 1e10
"""Beyond this M, rounding hides the difference between a distance of 1 and one of 1 - 1e-6."""


@dataclass(frozen=True, eq=False)
class Prepared:
    """Everything that functions on trees need to know about a fit, and nothing that changes during it.

    Attributes
    ----------
    given : Problem
        The problem as the user gave it, with the columns that splits may use.
    problem : Problem
        The same in model units, equal rows merged.
    groups : ndarray of shape (m,)
        For every unlabeled row as given, its place among the merged ones.
    spec : ModelSpec
        What the user chose about the model.
    scaling : Scaling
        The map from the user's units to those of the model.
    topology : Topology
        The shape of the tree.
    bounds : Bounds
        The constants of P2.
    """

    given: Problem
    problem: Problem
    groups: IntArray
    spec: ModelSpec
    scaling: Scaling
    topology: Topology
    bounds: Bounds

    @property
    def terms(self) -> tuple[CostTerm, ...]:
        """The parts of what a tree costs in P2, in the order in which they add up."""
        return LabelErrors(), TotalMiss(self.spec.C)

    @property
    def most_features(self) -> int | None:
        """Most features in a split; None if every split may use all."""
        most = self.spec.max_features_per_split
        return None if most is None or most >= self.problem.n_features else most

    @cached_property
    def lowest(self) -> FloatArray:
        """The least value of each feature, in model units."""
        parts = self.problem.X_labeled, self.problem.X_unlabeled
        return np.asarray(np.min([part.min(axis=0, initial=np.inf) for part in parts], axis=0))

    @cached_property
    def spread(self) -> FloatArray:
        """The range of each feature, in model units; 0 where all rows are the same."""
        parts = self.problem.X_labeled, self.problem.X_unlabeled
        return np.asarray(np.max([part.max(axis=0, initial=-np.inf) for part in parts], axis=0) - self.lowest)

    @cached_property
    def _M_rows(self) -> FloatArray:
        return self.bounds.M_of_rows(self.problem.X)

    @property
    def M_unlabeled(self) -> FloatArray:
        """M_i of the unlabeled rows."""
        return self._M_rows[self.problem.n_labeled :]

    @property
    def B_labeled(self) -> FloatArray:
        """B_i of the labeled rows."""
        return self.bounds.depth * self._M_rows[: self.problem.n_labeled]

    def guided_by(self, guide: Guide) -> Prepared:
        """The same problem with a guide, which has charges for the rows as given."""
        charges = group_means(self.groups, guide.charges, self.given.unlabeled_size)
        return replace(
            self,
            given=replace(self.given, guide=guide),
            problem=replace(self.problem, guide=replace(guide, charges=charges)),
        )

    def without_guide(self) -> Prepared:
        """The same problem without its guide."""
        return replace(self, given=replace(self.given, guide=None), problem=replace(self.problem, guide=None))

    def with_coefficient_bound(self, s: float) -> Prepared:
        """The same problem with another bound on the coefficients."""
        return replace(self, bounds=replace(self.bounds, s=s))


def prepare(problem: Problem, spec: ModelSpec, *, merge: bool = True, deadline: Deadline = NO_DEADLINE) -> Prepared:
    """Scale a problem, merge its equal rows and compute the constants of P2.

    After the deadline the largest distance between rows is bounded rather than found, see `Bounds`.

    Solvers drop entries below 1e-9. Multiplying tiny features by a power of 2 and dividing s by it gives the same P2
    in numbers they keep.
    """
    problem = narrowed(problem, spec.features)
    depth = paper_depth(problem.n_rows, problem.n_classes) if spec.depth is None else spec.depth
    topology = Topology(depth, problem.n_classes)
    scaling = Scaling.paper(problem.X) if spec.scaled else Scaling.identity(problem.n_features)
    merged, groups = scaling.scale_problem(problem).merged_groups()
    bounds = compute_bounds(merged, topology.depth, spec.coefficient_bound, deadline)
    if bounds.M > LARGEST_M:
        raise InvalidProblem(
            f"Expected features and a coefficient bound of moderate size, got ones that make M = {bounds.M:.3g}. "
            f"Beyond {LARGEST_M:.0g} a distance of 1 is lost in rounding. Use scaling='paper' or a smaller bound."
        )
    if 0 < bounds.eta < TINY:
        factor = 2.0 ** -math.floor(math.log2(bounds.eta))
        scaling = scaling.times(factor)
        merged, groups = scaling.scale_problem(problem).merged_groups()
        bounds = compute_bounds(merged, topology.depth, bounds.s / factor, deadline)
    if not merge:
        merged, groups = scaling.scale_problem(problem), np.arange(problem.n_unlabeled)
    return Prepared(problem, merged, groups, spec, scaling, topology, bounds)

"""Problems made ready in their own units: not scaled, and merged only where a test asks for it."""

from __future__ import annotations

import numpy as np

from s2oct.p2.costs import Assignment, Score, feasible_score, score
from s2oct.p2.prepared import ModelSpec, Prepared, Scaling, compute_bounds
from s2oct.problem.problem import Problem
from s2oct.trees.tree import ObliqueTree, Topology


def prepared_as_is(
    problem: Problem, depth: int, s: float | None = None, C: float = 1.0, most_features: int | None = None
) -> Prepared:
    """The problem with its constants, in its own units and with the rows it has."""
    spec = ModelSpec(depth=depth, C=C, coefficient_bound=s, scaled=False, max_features_per_split=most_features)
    return Prepared(
        given=problem,
        problem=problem,
        groups=np.arange(problem.n_unlabeled),
        spec=spec,
        scaling=Scaling.identity(problem.n_features),
        topology=Topology(depth, problem.n_classes),
        bounds=compute_bounds(problem, depth, s),
    )


def merged(prepared: Prepared) -> Prepared:
    """The same with its equal rows merged."""
    return prepared_as_is(
        prepared.problem.merged(),
        prepared.topology.depth,
        prepared.bounds.s,
        prepared.spec.C,
        prepared.spec.max_features_per_split,
    )


def feasible_cost(prepared: Prepared, assignment: Assignment) -> float | None:
    """The cost of an assigned tree, or None if it is not feasible."""
    found = feasible_score(prepared, assignment)
    return None if found is None else found.objective


def cost_of(prepared: Prepared, tree: ObliqueTree) -> float | None:
    """The cost of a tree as it is, or None if it is not feasible."""
    return feasible_cost(prepared, Assignment.of(prepared.problem, tree))


def score_of(problem: Problem, tree: ObliqueTree, C: float = 1.0) -> Score:
    """What a tree is worth."""
    return score(Assignment.of(problem, tree), ModelSpec(C=C))

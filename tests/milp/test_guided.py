"""The guide's linear term in the models."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from s2oct.milp.encode import decode_tree, encode_tree
from s2oct.milp.lean import build_lean
from s2oct.milp.p2 import build_p2, guide_constant
from s2oct.model.bounds import compute_bounds
from s2oct.model.feasibility import feasible_cost
from s2oct.model.objective import score
from s2oct.model.problem import Guide, Problem
from s2oct.model.topology import Topology
from s2oct.model.tree import ObliqueTree
from s2oct.solvers import Limits, Termination, load_solver


def guided(weight: float, seed: int = 0) -> Problem:
    rng = np.random.default_rng(seed)
    X = rng.uniform(-4, 4, (12, 2)).round(1)
    y = ["a", "b", "a", "b", *[None] * 8]
    problem = Problem.from_arrays(X, y, totals={"a": 3})
    second = rng.uniform(size=8)
    return replace(problem, guide=Guide.from_probabilities(np.column_stack([1 - second, second]), weight))


class Silent:
    """A listener that has nothing to say."""

    def incumbent(self, x):
        pass

    def bound(self, value):
        pass

    def should_stop(self):
        return False

    def suggestion(self):
        return None


@pytest.mark.parametrize("build", [build_p2, build_lean])
@pytest.mark.parametrize("depth", [1, 2])
@pytest.mark.parametrize("weight", [0.0, 0.3, 5.0])
def test_the_model_charges_what_the_guide_does(build, depth, weight):
    """c.x of a tree's vector, and the constant, are P2's cost and the guide's, evaluated on the tree."""
    problem, topology = guided(weight), Topology(depth)
    bounds = compute_bounds(problem, depth)
    milp = build(problem, topology, bounds)
    rng = np.random.default_rng(1)
    for _ in range(20):
        tree = ObliqueTree.of(topology, rng.normal(size=(topology.n_branches, 2)), rng.normal(size=topology.n_branches))
        found = score(problem, tree)
        charged = float(milp.c @ encode_tree(milp, problem, tree)) + guide_constant(problem)
        assert charged == pytest.approx(found.objective + weight * found.guide_cost)


def test_the_charge_is_the_sum_over_the_rows_on_the_wrong_side_and_those_off_the_total():
    problem = guided(1.0)
    assert problem.guide is not None
    tree = ObliqueTree.constant(Topology(1), 2, right=True)
    assert score(problem, tree).guide_cost == pytest.approx(problem.guide.costs[:, 1].sum() + 3)


def test_equal_rows_are_charged_together():
    """Merging rows changes no tree's cost, the guide's included."""
    problem = Problem.from_arrays([[0.0], [3.0], [1.0], [1.0], [2.0]], ["a", "b", None, None, None], totals={"a": 1})
    costs = np.array([[0.0, 0.4], [0.6, 0.0], [0.0, 1.0]])
    problem = replace(problem, guide=Guide(costs, 2.0))
    merged = problem.merged()
    assert merged.n_unlabeled == 2
    for gamma in (0.5, 1.5, 2.5):
        tree = ObliqueTree.of(Topology(1), np.array([[1.0]]), np.array([gamma]))
        assert score(merged, tree).guide_cost == pytest.approx(score(problem, tree).guide_cost)


def test_the_solver_finds_the_guided_optimum_that_enumeration_finds():
    """One feature, depth 1: every tree is a cut between two rows or none, in one of two directions."""
    X = np.array([[-6.0], [6.0], [-3.0], [-1.0], [1.0], [3.0]])
    problem = Problem.from_arrays(X, ["a", "b", None, None, None, None], totals={"a": 2})
    second = np.array([0.9, 0.2, 0.8, 0.1])
    problem = replace(problem, guide=Guide.from_probabilities(np.column_stack([1 - second, second]), 3.0))
    topology, bounds = Topology(1), compute_bounds(problem, 1)
    cuts = np.linspace(-9, 9, 37)
    trees = [
        ObliqueTree.of(topology, np.array([[sign * length]]), np.array([sign * length * cut]))
        for cut in cuts
        for sign in (-1, 1)
        for length in (0.25, 0.5, 1.0, 2.0)
    ]
    trees += [ObliqueTree.constant(topology, 1, right=right) for right in (False, True)]
    best = min(cost for tree in trees if (cost := feasible_cost(problem, tree, bounds)) is not None)
    milp = build_lean(problem, topology, bounds)
    result = load_solver("highs").solve(milp, limits=Limits(10.0, 1, 0), listener=Silent(), start=None)
    assert result.termination is Termination.OPTIMAL
    assert result.x is not None
    found = feasible_cost(problem, decode_tree(milp, result.x, topology), bounds)
    assert found == pytest.approx(result.dual_bound + guide_constant(problem), abs=1e-6)
    assert found <= best + 1e-6

"""The guide's linear term in the models."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from s2oct.milp.encode import decode_tree, encode_tree
from s2oct.milp.lean import build_lean
from s2oct.milp.p2 import build_p2, objective_constant
from s2oct.model.guide import Guide
from s2oct.model.problem import Problem
from s2oct.model.topology import Topology
from s2oct.model.tree import ObliqueTree
from s2oct.solvers import Termination, load_solver
from tests.preparing import cost_of, prepared_as_is, score_of
from tests.solvers.watchers import solve


def guided(price: float, seed: int = 0) -> Problem:
    rng = np.random.default_rng(seed)
    X = rng.uniform(-4, 4, (12, 2)).round(1)
    y = ["a", "b", "a", "b", *[None] * 8]
    problem = Problem.from_arrays(X, y, totals={"a": 3})
    second = rng.uniform(size=8)
    return replace(problem, guide=Guide.from_probabilities(np.column_stack([1 - second, second]), price))


@pytest.mark.parametrize("build", [build_p2, build_lean])
@pytest.mark.parametrize("depth", [1, 2])
@pytest.mark.parametrize("price", [0.0, 0.3, 5.0])
def test_the_model_charges_what_the_guide_does(build, depth, price):
    """c.x of a tree's vector, and the constant, are P2's cost and the guide's, evaluated on the tree."""
    prepared = prepared_as_is(guided(price), depth)
    problem, topology = prepared.problem, prepared.topology
    milp = build(prepared)
    rng = np.random.default_rng(1)
    for _ in range(20):
        tree = ObliqueTree.of(topology, rng.normal(size=(topology.n_branches, 2)), rng.normal(size=topology.n_branches))
        found = score_of(problem, tree)
        charged = float(milp.c @ encode_tree(milp, problem, tree)) + objective_constant(prepared)
        assert charged == pytest.approx(found.objective + price * found.guide_cost)


def test_the_charge_is_the_sum_over_the_rows_on_the_wrong_side_and_those_off_the_total():
    problem = guided(1.0)
    assert problem.guide is not None
    tree = ObliqueTree.constant(Topology(1), 2, right=True)
    assert score_of(problem, tree).guide_cost == pytest.approx(problem.guide.charges[:, 1].sum() + 3)


def test_equal_rows_are_charged_together():
    """Merging rows changes no tree's cost, the guide's included."""
    problem = Problem.from_arrays([[0.0], [3.0], [1.0], [1.0], [2.0]], ["a", "b", None, None, None], totals={"a": 1})
    charges = np.array([[0.0, 0.4], [0.6, 0.0], [0.0, 1.0]])
    problem = replace(problem, guide=Guide(charges, 2.0))
    merged = problem.merged()
    assert merged.n_unlabeled == 2
    for gamma in (0.5, 1.5, 2.5):
        tree = ObliqueTree.of(Topology(1), np.array([[1.0]]), np.array([gamma]))
        assert score_of(merged, tree).guide_cost == pytest.approx(score_of(problem, tree).guide_cost)


def test_the_solver_finds_the_guided_optimum_that_enumeration_finds():
    """One feature, depth 1: every tree is a cut between two rows or none, in one of two directions."""
    X = np.array([[-6.0], [6.0], [-3.0], [-1.0], [1.0], [3.0]])
    problem = Problem.from_arrays(X, ["a", "b", None, None, None, None], totals={"a": 2})
    second = np.array([0.9, 0.2, 0.8, 0.1])
    problem = replace(problem, guide=Guide.from_probabilities(np.column_stack([1 - second, second]), 3.0))
    prepared = prepared_as_is(problem, 1)
    topology = prepared.topology
    cuts = np.linspace(-9, 9, 37)
    trees = [
        ObliqueTree.of(topology, np.array([[sign * length]]), np.array([sign * length * cut]))
        for cut in cuts
        for sign in (-1, 1)
        for length in (0.25, 0.5, 1.0, 2.0)
    ]
    trees += [ObliqueTree.constant(topology, 1, right=right) for right in (False, True)]
    best = min(cost for tree in trees if (cost := cost_of(prepared, tree)) is not None)
    milp = build_lean(prepared)
    result = solve(load_solver("highs"), milp, seconds=10.0)
    assert result.termination is Termination.OPTIMAL
    assert result.x is not None
    found = cost_of(prepared, decode_tree(milp, result.x, topology))
    assert found == pytest.approx(result.dual_bound + objective_constant(prepared), abs=1e-6)
    assert found <= best + 1e-6

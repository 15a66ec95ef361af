import numpy as np
import pytest
from hypothesis import given

from s2oct.milp.encode import encode_tree
from s2oct.milp.p2 import build_p2
from s2oct.model.bounds import compute_bounds
from s2oct.model.feasibility import feasible_cost, is_feasible, mend
from s2oct.model.objective import score
from s2oct.model.problem import Problem
from s2oct.model.topology import Topology
from s2oct.model.tree import ObliqueTree
from tests.strategies import problems_with_trees


def one_split(omega: float, gamma: float) -> ObliqueTree:
    return ObliqueTree.of(Topology(1), [[omega]], [gamma])


@pytest.fixture
def pair():
    """A labeled row of A at 0 and unlabeled ones at 2 and 4; with s = 2: M = 9, B = 9."""
    problem = Problem.from_arrays([[0.0], [2.0], [4.0]], ["A", None, None], totals={"A": 1, "B": 1})
    return problem, compute_bounds(problem, 1, 2.0)


@pytest.mark.parametrize(
    ("omega", "gamma", "feasible"),
    [
        (1.0, 3.0, True),
        (2.0, 6.0, True),
        (0.9, 2.7, False),  # (BIGM1): 2 is only 0.9 away
        (2.1, 6.3, False),  # (boundomega): steeper than s
        (0.0, 1.0, True),
        (0.0, 8.0, True),
        (0.0, 8.1, False),  # (BIGM2): farther away than M - 1
        (-2.0, -9.0, False),  # (boundbeta3): the labeled row's error exceeds B
    ],
)
def test_a_tree_is_feasible_where_every_constraint_of_p2_holds(pair, omega, gamma, feasible):
    problem, bounds = pair
    tree = one_split(omega, gamma)
    assert is_feasible(problem, tree, bounds, score(problem, tree)) == feasible
    assert (feasible_cost(problem, tree, bounds) is not None) == feasible


@given(problems_with_trees())
def test_feasible_trees_are_those_whose_vector_satisfies_the_literal_model(drawn):
    """The direct checks and the model's own rows say the same."""
    problem, tree = drawn
    bounds = compute_bounds(problem, tree.topology.depth, 3.0)
    milp = build_p2(problem, tree.topology, bounds)
    x = encode_tree(milp, problem, tree)
    assert (feasible_cost(problem, tree, bounds) is not None) == (not milp.violations(x))


@given(problems_with_trees())
def test_mending_keeps_every_row_on_its_side(drawn):
    problem, tree = drawn
    bounds = compute_bounds(problem, tree.topology.depth, 4.0)
    mended = mend(problem, tree, bounds)
    assert (mended.goes_right(problem.X) == tree.goes_right(problem.X)).all()


@given(problems_with_trees())
def test_mending_keeps_feasible_trees_feasible_and_makes_none_dearer(drawn):
    problem, tree = drawn
    bounds = compute_bounds(problem, tree.topology.depth, 4.0)
    before, after = feasible_cost(problem, tree, bounds), feasible_cost(problem, mend(problem, tree, bounds), bounds)
    if before is not None:
        assert after is not None
        assert after <= before + 1e-9


def test_a_margin_lost_to_the_tolerance_is_mended(pair):
    problem, bounds = pair
    tree = one_split(1.0 - 1e-5, 3.0 - 3e-5)
    assert feasible_cost(problem, tree, bounds) is None
    assert feasible_cost(problem, mend(problem, tree, bounds), bounds) == 0.0


def test_a_coefficient_beyond_s_by_the_tolerance_is_clipped(pair):
    problem, bounds = pair
    mended = mend(problem, one_split(2.0 + 1e-5, 6.0), bounds)
    assert mended.omega.item() == 2.0


def test_a_row_near_a_hyperplane_is_not_mended_away(pair):
    """A margin below a half is no rounding error."""
    problem, bounds = pair
    tree = one_split(0.3, 0.9)
    assert mend(problem, tree, bounds).omega.item() == 0.3


def test_a_hyperplane_beyond_all_rows_becomes_constant(pair):
    """It may be farther away than M allows; the constant one decides alike, and no row pays more."""
    problem, bounds = pair
    tree = one_split(1.0, 500.0)
    mended = mend(problem, tree, bounds)
    assert feasible_cost(problem, tree, bounds) is None
    assert feasible_cost(problem, mended, bounds) == 1.0
    assert np.abs(mended.values(problem.X)).tolist() == [[1.0]] * 3

import numpy as np
import pytest
from hypothesis import given

from s2oct.p2.costs import Assignment, feasible_score, is_feasible, mended, score
from s2oct.p2.milp import build_p2, encode_tree
from s2oct.problem.problem import Problem
from s2oct.trees.tree import ObliqueTree, Topology
from tests.preparing import cost_of, feasible_cost, prepared_as_is
from tests.solvers.watchers import violations
from tests.strategies import problems_with_trees


def one_split(omega: float, gamma: float) -> ObliqueTree:
    return ObliqueTree.of(Topology(1), [[omega]], [gamma])


@pytest.fixture
def pair():
    """A labeled row of A at 0 and unlabeled ones at 2 and 4; with s = 2: M = 9, B = 9."""
    problem = Problem.from_arrays([[0.0], [2.0], [4.0]], ["A", None, None], totals={"A": 1, "B": 1})
    return prepared_as_is(problem, 1, 2.0)


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
    assignment = Assignment.of(pair.problem, one_split(omega, gamma))
    assert is_feasible(assignment, pair.bounds, score(assignment, pair.spec)) == feasible
    assert (feasible_score(pair, assignment) is not None) == feasible
    assert (feasible_cost(pair, assignment) is not None) == feasible


@given(problems_with_trees())
def test_feasible_trees_are_those_whose_vector_satisfies_the_literal_model(drawn):
    """The direct checks and the model's own rows say the same."""
    problem, tree = drawn
    prepared = prepared_as_is(problem, tree.topology.depth, 3.0)
    milp = build_p2(prepared)
    x = encode_tree(milp, problem, tree)
    assert (cost_of(prepared, tree) is not None) == (not violations(milp, x))


@given(problems_with_trees())
def test_mending_keeps_every_row_on_its_side(drawn):
    problem, tree = drawn
    found = mended(prepared_as_is(problem, tree.topology.depth, 4.0), tree)
    assert (found.tree.goes_right(problem.X) == tree.goes_right(problem.X)).all()


@given(problems_with_trees())
def test_mending_keeps_feasible_trees_feasible_and_makes_none_more_expensive(drawn):
    problem, tree = drawn
    prepared = prepared_as_is(problem, tree.topology.depth, 4.0)
    before, after = cost_of(prepared, tree), feasible_cost(prepared, mended(prepared, tree))
    if before is not None:
        assert after is not None
        assert after <= before + 1e-9


@given(problems_with_trees())
def test_a_mended_tree_comes_with_the_distances_of_its_own_hyperplanes(drawn):
    """They are kept where nothing was mended; they must be those that a second measurement gives, to the bit."""
    problem, tree = drawn
    found = mended(prepared_as_is(problem, tree.topology.depth, 4.0), tree)
    again = Assignment.of(problem, found.tree)
    assert found.problem is problem
    for kept, measured in ((found.labeled, again.labeled), (found.unlabeled, again.unlabeled)):
        assert [part.tolist() for part in kept] == [part.tolist() for part in measured]


@given(problems_with_trees())
def test_mending_leaves_the_tree_that_it_is_given_alone(drawn):
    problem, tree = drawn
    omega, gamma = tree.omega.tolist(), tree.gamma.tolist()
    mended(prepared_as_is(problem, tree.topology.depth, 1.0), tree)
    assert (tree.omega.tolist(), tree.gamma.tolist()) == (omega, gamma)


def test_a_margin_lost_to_the_tolerance_is_mended(pair):
    tree = one_split(1.0 - 1e-5, 3.0 - 3e-5)
    assert cost_of(pair, tree) is None
    assert feasible_cost(pair, mended(pair, tree)) == 0.0


def test_a_coefficient_beyond_s_by_the_tolerance_is_clipped(pair):
    assert mended(pair, one_split(2.0 + 1e-5, 6.0)).tree.omega.item() == 2.0


def test_a_row_near_a_hyperplane_is_not_mended_away(pair):
    """A margin below a half is no rounding error."""
    assert mended(pair, one_split(0.3, 0.9)).tree.omega.item() == 0.3


def test_a_hyperplane_beyond_all_rows_becomes_constant(pair):
    """It may be farther away than M allows; the constant one decides alike, and no row pays more."""
    tree = one_split(1.0, 500.0)
    found = mended(pair, tree)
    assert cost_of(pair, tree) is None
    assert feasible_cost(pair, found) == 1.0
    assert np.abs(found.tree.values(pair.problem.X)).tolist() == [[1.0]] * 3

import numpy as np
import pytest

from s2oct.errors import InvalidProblem
from s2oct.p2.prepared import ModelSpec, paper_depth, prepare
from s2oct.problem.problem import Problem
from tests.messages import naming


@pytest.mark.parametrize("C", [0, -1, np.nan, np.inf, "x", None, True], ids=str)
def test_a_price_that_is_no_positive_number_is_refused(C):
    with pytest.raises(InvalidProblem, match=naming("C", "positive")):
        ModelSpec(C=C)


@pytest.mark.parametrize("C", [1, 2.5, np.float64(0.1), np.float32(3), np.int64(7)], ids=repr)
def test_any_positive_real_number_is_a_price(C):
    assert ModelSpec(C=C).C == C


@pytest.mark.parametrize("coefficient_bound", [0, -1, np.inf, np.nan])
def test_a_coefficient_bound_that_bounds_nothing_is_refused(coefficient_bound):
    with pytest.raises(InvalidProblem, match=naming("coefficient", 0, "infinit")):
        ModelSpec(coefficient_bound=coefficient_bound)


@pytest.mark.parametrize("most", [0, -1, 1.5, True, "x"], ids=repr)
def test_a_number_of_features_that_no_split_has_is_refused(most):
    with pytest.raises(InvalidProblem, match=naming(1, "feature", "split")):
        ModelSpec(max_features_per_split=most)


@pytest.mark.parametrize("columns", [(), (-1,), (0.5,), (1, 0), (1, 1), (True,)], ids=str)
def test_columns_that_are_none_or_out_of_order_are_refused(columns):
    with pytest.raises(InvalidProblem, match="column"):
        ModelSpec(features=columns)


@pytest.mark.parametrize("depth", [-1, 13, 2.0])
def test_a_depth_that_no_tree_has_is_refused_once_the_tree_is_laid_out(depth):
    problem = Problem.from_arrays([[0.0], [1.0]], ["A", None], totals={"A": 0, "B": 1})
    with pytest.raises(InvalidProblem, match=naming("depth", 1, 12, depth)):
        prepare(problem, ModelSpec(depth=depth))


def test_what_is_not_chosen_follows_the_papers_rules():
    spec = ModelSpec()
    problem = Problem.from_arrays([[0.0], [1.0], [2.0]], ["A", "B", None], totals={"A": 0})
    prepared = prepare(problem, spec)
    assert (spec.C, spec.scaled) == (1.0, True)
    assert prepared.topology.depth == paper_depth(3)
    assert pytest.approx(500.0) == prepared.bounds.M


def test_what_is_chosen_is_used():
    problem = Problem.from_arrays([[0.0], [1.0], [2.0]], ["A", "B", None], totals={"A": 0})
    prepared = prepare(problem, ModelSpec(depth=3, C=2.0, coefficient_bound=7.0, scaled=False))
    assert (prepared.topology.depth, prepared.bounds.depth, prepared.bounds.s) == (3, 3, 7.0)
    assert prepared.spec.C == 2.0
    assert prepared.problem.X.tolist() == [[0.0], [1.0], [2.0]]

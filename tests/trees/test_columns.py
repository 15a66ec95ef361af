"""P2 over some of the columns: as if the others were not there, and back again."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from s2oct.errors import InvalidProblem
from s2oct.fit.context import Budget
from s2oct.fit.training import recertify, train
from s2oct.p2.prepared import ModelSpec, Scaling, narrowed_tree, prepare, uses_others, widened_scaling, widened_tree
from s2oct.problem.problem import Problem
from tests.messages import naming
from tests.strategies import problems_with_trees


def spread_over(columns: tuple[int, ...], narrow: Problem, n_features: int) -> Problem:
    """The problem with further columns of large random numbers between its own."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(narrow.n_rows, n_features)) * 1e3
    X[:, list(columns)] = narrow.X
    y = [*(narrow.classes[k] for k in narrow.labels), *[None] * narrow.n_unlabeled]
    return Problem.from_arrays(X, y, totals=dict(zip(narrow.classes.tolist(), narrow.totals.tolist(), strict=True)))


@pytest.fixture
def narrow() -> Problem:
    rng = np.random.default_rng(1)
    X = np.round(rng.normal(size=(40, 2)) * 3, 1)
    return Problem.from_arrays(X, [*["A", "B"] * 6, *[None] * 28], totals={"A": 12})


def test_a_fit_to_some_columns_is_the_fit_to_a_table_without_the_others(narrow):
    """Tree, cost, bound and s are the same; the tree over all columns has zeros elsewhere."""
    wide = spread_over((1, 4), narrow, 6)
    budget = Budget(solver=None, time_limit=60.0, seed=3)
    alone, among = (
        train(problem, ModelSpec(depth=2, features=columns), budget)
        for problem, columns in ((narrow, None), (wide, (1, 4)))
    )
    assert among.tree.omega[:, [1, 4]].tolist() == alone.tree.omega.tolist()
    assert not among.tree.omega[:, [0, 2, 3, 5]].any()
    for name in ("objective", "lower_bound", "coefficient_bound", "min_margin", "proved"):
        assert getattr(among.certificate, name) == getattr(alone.certificate, name)
    assert among.certificate.features == (1, 4)
    assert among.scaling.shift[[0, 2, 3, 5]].tolist() == [0.0] * 4
    again, own_bound = recertify(wide, among.witness, among.certificate, ModelSpec(), rules=among.tree)
    assert again == among.certificate
    assert own_bound == among.certificate.lower_bound


def test_rows_that_differ_in_other_columns_only_are_equal():
    X = [[0.0, 1.0], [0.0, 2.0], [0.0, 3.0], [5.0, 3.0]]
    problem = Problem.from_arrays(X, ["A", "B", None, None], totals={"A": 1})
    assert prepare(problem, ModelSpec(features=(0,))).problem.n_unlabeled == 2
    assert prepare(problem, ModelSpec(features=(1,))).problem.n_unlabeled == 1


def test_a_column_beyond_the_table_is_refused(narrow):
    with pytest.raises(InvalidProblem, match=naming(2, "column")):
        prepare(narrow, ModelSpec(features=(0, 2)))


@given(drawn=problems_with_trees(), extra=st.integers(0, 3))
def test_a_widened_tree_has_the_same_values_and_narrows_to_itself(drawn, extra):
    """To the bit: adding 0 changes no sum."""
    problem, tree = drawn
    columns = tuple(range(extra, extra + problem.n_features))
    n_features = extra + problem.n_features + 1
    wide = widened_tree(tree, columns, n_features)
    X = np.full((problem.n_rows, n_features), 7.3)
    X[:, list(columns)] = problem.X
    assert wide.values(X).tolist() == tree.values(problem.X).tolist()
    assert narrowed_tree(wide, columns).omega.tolist() == tree.omega.tolist()
    assert not uses_others(wide, columns)
    assert uses_others(wide, (n_features - 1,)) == bool(tree.omega.any())


def test_a_widened_scaling_leaves_other_columns_as_they_are():
    wide = widened_scaling(Scaling(np.array([3.0]), np.array([2.0])), (1,), 3)
    assert wide.transform(np.array([[5.0, 5.0, 5.0]])).tolist() == [[5.0, 4.0, 5.0]]

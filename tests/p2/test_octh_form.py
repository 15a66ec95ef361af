"""Trees in the form of OCT-H: gaps, leaf sizes, and CART's tree among them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.tree import DecisionTreeClassifier

from s2oct import OCTHClassifier
from s2oct.errors import S2OCTWarning
from s2oct.fit.certificate import certify_octh
from s2oct.p2.octh_milp import OcthSpec
from s2oct.p2.octh_search import DEFAULTS, OcthSearch, cleared_gap, errors_of, widest_gap
from s2oct.p2.proof import NOT_NEGATIVE, FitRecord
from s2oct.problem.problem import Problem
from s2oct.stopping import NO_DEADLINE, Deadline
from s2oct.trees.tree import Topology
from tests.messages import naming


def rows_in_the_square(seed: int, n: int, p: int, noise: float = 0.1) -> tuple[np.ndarray, np.ndarray]:
    """Rows all over the unit cube with corners 0 and 1; an oblique rule decides their classes, except for noise."""
    rng = np.random.default_rng(seed)
    X = np.vstack([np.zeros(p), np.ones(p), rng.uniform(size=(n - 2, p))])
    is_b = (X[:, 0] + 0.6 * X[:, 1] > 0.8) ^ (X[:, -1] > 0.7) ^ (rng.random(n) < noise)
    return X, np.where(is_b, "B", "A")


def cart_errors(X, y, depth: int, min_leaf: int) -> int:
    cart = DecisionTreeClassifier(max_depth=depth, min_samples_leaf=min_leaf, random_state=0).fit(X, y)
    return int((cart.predict(X) != y).sum())


def is_feasible(problem: Problem, tree, spec: OcthSpec) -> bool:
    return certify_octh(problem, tree, spec, FitRecord(NOT_NEGATIVE, 0.0, "")).feasible


@pytest.mark.parametrize("seed", range(6))
def test_the_first_tree_has_the_errors_of_cart_where_gaps_are_wide_enough(seed):
    """On a grid every gap of CART is; among 60 continuous rows some are not, and another direction has one."""
    X, y = rows_in_the_square(seed, 60, 6)
    X = np.round(4 * X) / 4 if seed < 3 else X
    problem, spec = Problem.from_arrays(X, y), OcthSpec(min_leaf=3)
    search = OcthSearch(problem, Topology(2), spec, seed=0)
    first = next(search.first_trees(Deadline.after(10.0)))
    assert is_feasible(problem, first, spec)
    assert errors_of(problem, first) <= cart_errors(X, y, 2, 3)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*time limit")
@pytest.mark.parametrize(("seed", "n", "p", "depth"), [(0, 60, 3, 2), (1, 300, 4, 3), (2, 1200, 5, 3)])
def test_a_fit_has_at_most_the_errors_of_cart(seed, n, p, depth):
    """Also where the rows are so dense that none of CART's gaps is as wide as mu."""
    X, y = rows_in_the_square(seed, n, p)
    min_leaf = int(np.ceil(0.05 * n))
    clf = OCTHClassifier(depth=depth, solver=None, time_limit=4.0, random_state=0).fit(X, y)
    assert clf.certificate_.feasible
    assert clf.certificate_.n_errors <= cart_errors(X, y, depth, min_leaf)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*time limit")
def test_a_narrower_mu_brings_cart_back_where_a_wide_one_leaves_no_gaps():
    """Among 900 rows in a square a strip of 0.005 is rarely free of rows; the fit says so, and what cures it."""
    X, y = rows_in_the_square(3, 900, 2)
    clf = OCTHClassifier(depth=2, solver=None, time_limit=0.8, random_state=0)
    with pytest.warns(S2OCTWarning, match=naming("mu")):
        clf.fit(X, y)
    assert clf.certificate_.n_errors > cart_errors(X, y, 2, 45)
    narrow = clone(clf).set_params(mu=2e-4).fit(X, y)
    assert narrow.certificate_.n_errors <= cart_errors(X, y, 2, 45)


def test_the_widest_gap_is_that_of_the_best_direction():
    """Two pairs across a diagonal: along a feature the gap is 0, along the difference of the features it is 0.1."""
    X = np.array([[0.2, 0.3], [0.6, 0.7], [0.3, 0.2], [0.7, 0.6]])
    right = np.array([False, False, True, True])
    split = widest_gap(X, right, np.zeros(4), NO_DEADLINE)
    assert split is not None
    assert split.width == pytest.approx(0.1)
    assert split.direction == pytest.approx([0.5, -0.5])
    assert ((X @ split.direction > split.offset) == right).all()


def test_rows_that_no_direction_keeps_apart_have_no_gap():
    X = np.array([[0.0], [0.5], [1.0]])
    assert widest_gap(X, np.array([True, False, True]), np.zeros(3), NO_DEADLINE) is None


def test_a_gap_is_cleared_by_rows_that_change_sides():
    """Between 0.50 and 0.51 there is no room for a gap of 0.05; beyond one more row there is."""
    X = np.array([[0.1], [0.3], [0.50], [0.51], [0.8], [1.0]])
    right = np.array([False, False, False, True, True, True])
    narrow = widest_gap(X, right, X[:, 0] - 0.505, NO_DEADLINE)
    assert narrow is not None
    split = cleared_gap(X, right.copy(), narrow, lambda sides: sides.sum() >= 2, 0.05, NO_DEADLINE)
    assert split is not None
    assert split.width >= 0.05
    assert int(((X @ split.direction > split.offset) != right).sum()) == 1


def test_a_search_without_work_for_clearing_moves_to_the_nearest_gap_instead():
    X = np.array([[0.1], [0.3], [0.50], [0.51], [0.8], [1.0]])
    problem, spec = Problem.from_arrays(X, list("AAABBB")), OcthSpec(min_leaf=2, mu=0.05)
    offsets = [
        OcthSearch(problem, Topology(1), spec, 0, parameters).standard_form((np.eye(1), np.array([0.505]))).gamma[0]
        for parameters in (DEFAULTS, replace(DEFAULTS, clearing_work=0))
    ]
    assert offsets == pytest.approx([0.655, 0.475])


def test_a_node_without_rows_on_one_side_changes_nothing():
    """The root sends all rows right, so its right child takes its place and keeps its offset."""
    problem = Problem.from_arrays(np.array([[0.0], [0.1], [0.9], [1.0]]), list("AABB"))
    omega, gamma = np.array([[1.0], [1.0], [1.0]]), np.array([-0.5, 0.05, 0.5])
    tree = OcthSearch(problem, Topology(2), OcthSpec(min_leaf=1), seed=0).standard_form((omega, gamma))
    assert tree.omega[:, 0].tolist() == [1.0, 0.0, 0.0]
    assert tree.gamma[0] == pytest.approx(0.5)
    assert errors_of(problem, tree) == 0


@pytest.mark.parametrize("seed", range(3))
def test_node_fits_keep_the_form_and_never_add_errors(seed):
    X, y = rows_in_the_square(seed, 150, 3)
    problem, spec = Problem.from_arrays(X, y), OcthSpec(min_leaf=8)
    search = OcthSearch(problem, Topology(2), spec, seed=0)
    start = search.standard_form(search.cart_start("gini", seed=0))
    tree = search.refitted(start, Deadline.after(50.0))
    assert is_feasible(problem, tree, spec)
    assert errors_of(problem, tree) < errors_of(problem, start)

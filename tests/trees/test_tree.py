import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from s2oct.errors import InvalidProblem
from s2oct.trees.tree import ObliqueTree, Topology
from tests.messages import naming
from tests.oracles import paths, walk
from tests.strategies import tables, trees


@given(st.data())
def test_rows_are_routed_as_by_a_plain_walk(data):
    """Vectorised routing and one decision after the other agree, also for rows on a hyperplane (left)."""
    tree = data.draw(trees(2, max_depth=4))
    X = data.draw(tables(st.integers(1, 8), 2))
    leaves = [walk(tree, x) for x in X]
    assert tree.apply(X).tolist() == leaves
    assert tree.predict(X).tolist() == [leaf % 2 for leaf in leaves]


@given(st.data())
def test_path_margin_is_the_least_value_on_the_rows_own_path(data):
    tree = data.draw(trees(2, max_depth=3))
    X = data.draw(tables(st.integers(1, 6), 2))
    for x, margin in zip(X, tree.path_margin(X), strict=True):
        on_path = [b - 1 for b, _ in paths(tree.topology.depth)[walk(tree, x)]]
        values = [abs(tree.omega[b] @ x - tree.gamma[b]) for b in on_path if tree.omega[b].any()]
        assert margin == pytest.approx(min(values, default=1.0))


def test_a_row_on_the_hyperplane_goes_left():
    tree = ObliqueTree.of(Topology(1), [[1.0]], [3.0])
    assert tree.goes_right(np.array([[3.0], [np.nextafter(3.0, 4.0)]])).ravel().tolist() == [False, True]


def test_leaf_classes_decide_what_a_leaf_predicts():
    """OCT-H chooses the classes of its leaves freely."""
    tree = ObliqueTree(Topology(1), np.array([[1.0]]), np.array([0.0]), np.array([1, 1]))
    assert tree.predict(np.array([[-1.0], [1.0]])).tolist() == [1, 1]


@pytest.mark.parametrize(("right", "leaf"), [(False, 8), (True, 15)])
def test_a_constant_tree_sends_every_row_to_one_leaf_at_distance_1(right, leaf):
    X = np.array([[5.0, 1.0], [-7.0, 2.0]])
    tree = ObliqueTree.constant(Topology(3), 2, right=right)
    assert tree.apply(X).tolist() == [leaf, leaf]
    assert np.abs(tree.values(X)).tolist() == [[1.0] * 7] * 2
    assert tree.path_margin(X).tolist() == [1.0, 1.0]


def test_a_table_without_rows_has_no_leaves():
    tree = ObliqueTree.constant(Topology(2), 3, right=True)
    assert tree.apply(np.empty((0, 3))).shape == (0,)


@pytest.mark.parametrize(("omega", "gamma"), [((2, 1), (3,)), ((3,), (3,)), ((3, 1), (2,)), ((3, 1), (3, 1))], ids=str)
def test_hyperplanes_that_do_not_fit_the_topology_are_refused(omega, gamma):
    with pytest.raises(InvalidProblem, match=naming("omega", "gamma", "(3, p)", "(3,)")):
        ObliqueTree.of(Topology(2), np.zeros(omega), np.zeros(gamma))


def test_leaf_classes_that_do_not_fit_the_topology_are_refused():
    with pytest.raises(InvalidProblem, match=naming(4, "(3,)")):
        ObliqueTree(Topology(2), np.zeros((3, 1)), np.zeros(3), np.zeros(3, dtype=np.int64))


@pytest.mark.parametrize("order", ["C", "F"])
def test_sums_are_added_up_from_the_left_whatever_rows_stand_beside(order):
    """So that other programs can come to the same double; BLAS would add in an order of its own."""
    rng = np.random.default_rng(1)
    tree = ObliqueTree.of(Topology(3), rng.normal(size=(7, 23)), rng.normal(size=7))
    X = np.array(rng.normal(size=(200, 23)) * 10.0 ** rng.integers(-3, 9, size=23), order=order)
    for x, row_values in zip(X.tolist(), tree.values(X).tolist(), strict=True):
        for omega, gamma, value in zip(tree.omega.tolist(), tree.gamma.tolist(), row_values, strict=True):
            total = 0.0
            for coefficient, feature in zip(omega, x, strict=True):
                total += coefficient * feature
            assert value == total - gamma
    assert tree.apply(X).tolist() == [int(tree.apply(X[i : i + 1])[0]) for i in range(len(X))]


def test_rows_of_another_width_are_refused():
    tree = ObliqueTree.constant(Topology(1), 2, right=True)
    with pytest.raises(InvalidProblem, match=naming(2, "(1, 3)")):
        tree.apply(np.zeros((1, 3)))


def read_only(X):
    X = X.copy()
    X.flags.writeable = False
    return X


def with_a_byte(X):
    """A field of packed records: its numbers are not where a processor would put them."""
    records = np.zeros(len(X), dtype=[("byte", "u1"), ("row", float, X.shape[1])])
    records["row"] = X
    return records["row"]


LAYOUTS = {
    "read-only, as frames have them": read_only,
    "by columns": np.asfortranarray,
    "read-only by columns": lambda X: read_only(X.T).T,
    "every second row and column": lambda X: np.repeat(np.repeat(X, 2, axis=0), 2, axis=1)[::2, ::2],
    "backwards": lambda X: X[::-1, ::-1].copy()[::-1, ::-1],
    "beside a byte, as in records": lambda X: with_a_byte(X),
    "integers": lambda X: X.astype(int),
    "floats of 32 bits": lambda X: X.astype(np.float32),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_rows_are_routed_alike_however_they_lie_in_memory(layout):
    rng = np.random.default_rng(0)
    tree = ObliqueTree.of(Topology(2), rng.normal(size=(3, 2)), rng.normal(size=3))
    X = rng.integers(-3, 4, size=(50, 2)).astype(float)
    same = LAYOUTS[layout](X)
    assert np.array_equal(same, X)
    assert tree.apply(same).tolist() == tree.apply(X).tolist()
    assert tree.values(same).tolist() == tree.values(X).tolist()
    assert tree.path_margin(same).tolist() == tree.path_margin(X).tolist()

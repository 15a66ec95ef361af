import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from s2oct.p2.prepared import LARGE, Scaling
from s2oct.problem.problem import Problem
from s2oct.trees.tree import ObliqueTree, Topology
from tests.preparing import score_of
from tests.strategies import problems_with_trees

magnitudes = st.sampled_from([1e-6, 1e-3, 1.0, 60.0, 1e3, 1e6, 1e30, 1e150, 1e300])


@st.composite
def tables_of_any_range(draw):
    """Columns of very different magnitudes, off centre by up to their own range."""
    n, p = draw(st.integers(2, 6)), draw(st.integers(1, 3))
    X = draw(arrays(float, (n, p), elements=st.integers(-40, 100).map(float)))
    return X * np.array(draw(st.lists(magnitudes, min_size=p, max_size=p)))


@given(tables_of_any_range())
def test_large_columns_fill_the_papers_range_and_others_are_only_centred(X):
    """Sec. 4.1: a centred coordinate beyond +-100 is mapped onto [-100, 100]."""
    scaled = Scaling.paper(X).transform(X)
    half_range = np.ptp(X, axis=0) / 2
    for j, half in enumerate(half_range):
        wanted = LARGE if half > LARGE else half
        assert scaled[:, j].max() == pytest.approx(wanted)
        assert scaled[:, j].min() == pytest.approx(-wanted)
        if half <= LARGE:
            assert scaled[:, j] == pytest.approx(X[:, j] - (X[:, j].min() + half), abs=1e-9 * half)


def test_the_papers_formula_with_the_lower_bound_is_reproduced():
    """(v-bar - v_) (x - l) / (u - l) + v_, with v_ = -100: the printed + v-bar is a slip."""
    X = np.array([[0.0], [150.0], [1000.0]])
    assert Scaling.paper(X).transform(X).ravel() == pytest.approx([200 * x / 1000 - 100 for x in (0, 150, 1000)])


@pytest.mark.parametrize("largest", [1e307, 1e308, np.finfo(float).max])
def test_columns_that_span_most_of_the_float_range_stay_finite(largest):
    X = np.array([[-largest, 0.0], [largest, largest], [0.0, largest / 2]])
    for scaling, bound in ((Scaling.paper(X), LARGE), (Scaling.unit(X), 1.0)):
        scaled = scaling.transform(X)
        assert np.isfinite(scaled).all()
        assert np.abs(scaled).max() == pytest.approx(bound)


@pytest.mark.parametrize("value", [0.0, 0.5, -3.0, 1e300])
def test_a_constant_column_becomes_harmless(value):
    X = np.column_stack([np.full(4, value), np.arange(4.0)])
    assert Scaling.paper(X).transform(X)[:, 0].tolist() == [0.0] * 4
    assert ((Scaling.unit(X).transform(X) >= 0) & (Scaling.unit(X).transform(X) <= 1)).all()


@given(tables_of_any_range())
def test_unit_scaling_fills_the_unit_interval(X):
    """OCT-H requires features in [0, 1]; every feature that varies is stretched to fill it."""
    scaled = Scaling.unit(X).transform(X)
    assert (scaled >= 0).all()
    assert (scaled <= 1 + 1e-12).all()
    varies = 0.5 * X.max(axis=0) - 0.5 * X.min(axis=0) > 0
    np.testing.assert_allclose(scaled.max(axis=0), varies.astype(float))


def test_the_identity_leaves_rows_and_trees_alone():
    X = np.array([[1.0, -5e9], [2.0, 7.0]])
    tree = ObliqueTree.of(Topology(1), [[1.0, 2.0]], [3.0])
    identity = Scaling.identity(2)
    assert (identity.transform(X) == X).all()
    assert identity.to_user(tree).omega.tolist() == tree.omega.tolist()


@given(tables_of_any_range(), st.data())
def test_a_tree_has_the_same_values_in_both_units(X, data):
    """Every row keeps its side and its distance, so the cost does not depend on the units either."""
    scaling = Scaling.paper(X)
    omega = data.draw(arrays(float, (3, X.shape[1]), elements=st.integers(-10, 10).map(float)))
    gamma = data.draw(arrays(float, 3, elements=st.integers(-20, 20).map(float)))
    tree = ObliqueTree.of(Topology(2), omega, gamma)
    model = tree.values(scaling.transform(X))
    user = scaling.to_user(tree).values(X)
    # Cancellation costs digits in proportion to the terms that cancel, at most 10 * 100 per feature here.
    assert user == pytest.approx(model, abs=1e-9)


@given(tables_of_any_range())
def test_to_model_undoes_to_user(X):
    scaling = Scaling.paper(X)
    rng = np.random.default_rng(0)
    tree = ObliqueTree.of(Topology(2), rng.normal(size=(3, X.shape[1])), rng.normal(size=3))
    user = scaling.to_user(tree)
    back = scaling.to_model(user)
    assert back.omega == pytest.approx(tree.omega)
    # Offsets are lost in the rounding of shifts that are many orders of magnitude larger.
    assert (np.abs(back.gamma - tree.gamma) <= 1e-9 + 1e-14 * (np.abs(user.omega) @ np.abs(scaling.shift))).all()
    assert (back.leaf_classes == tree.leaf_classes).all()


@given(problems_with_trees())
def test_a_tree_costs_the_same_in_both_units(drawn):
    problem, tree = drawn
    scaling = Scaling.paper(problem.X * 50)
    wide = Scaling(np.zeros(problem.n_features), np.full(problem.n_features, 1 / 50)).scale_problem(problem)
    scaled = scaling.scale_problem(wide)
    assert score_of(wide, scaling.to_user(tree)).leaf_error == pytest.approx(score_of(scaled, tree).leaf_error)


def test_a_scaled_problem_keeps_labels_totals_and_names():
    problem = Problem.from_arrays([[0.0], [900.0], [500.0]], ["A", "B", None], totals={"A": 1}, feature_names=["age"])
    scaled = Scaling.paper(problem.X).scale_problem(problem)
    assert scaled.X.ravel().tolist() == pytest.approx([-100.0, 100.0, 100 / 9])
    assert scaled.totals.tolist() == problem.totals.tolist()
    assert tuple(map(str, scaled.features)) == ("age",)

"""Features in units of their spread, and principal components."""

import warnings

import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.preprocessing import StandardScaler

from s2oct.guides import forest as widening
from s2oct.guides.forest import ForestParams, GuideStopped, Widening
from s2oct.stopping import Deadline


def wide_of(rows, new=None):
    rows = np.asarray(rows, dtype=float)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fitted = Widening.of(rows, np.random.RandomState(0))
        return fitted.transform(rows if new is None else np.asarray(new, dtype=float))


def test_features_and_components_are_those_of_scikit_learn():
    """The sign of a component is free."""
    rows = np.random.default_rng(0).normal(size=(80, 4)) @ np.diag([1.0, 20.0, 3.0, 0.1]) + 5
    rows[:, 1] += rows[:, 0]
    standard = StandardScaler().fit_transform(rows)
    wide = wide_of(rows)
    assert np.allclose(wide[:, :4], standard, atol=1e-5)
    assert np.allclose(np.abs(wide[:, 4:]), np.abs(PCA(4).fit_transform(standard)), atol=1e-4)


@pytest.mark.parametrize("size", [1e300, 1.7e308, 1e-300, 1e-310, 5e-324], ids=str)
def test_features_of_any_size_keep_their_order(size):
    wide = wide_of(np.array([[-1.0], [0.0], [1.0]]) * size)
    assert np.isfinite(wide).all()
    assert (np.diff(wide[:, 0]) >= 0).all()
    assert wide[0, 0] < wide[2, 0] or size == 5e-324


@pytest.mark.parametrize(
    "rows", [np.ones((6, 3)), np.ones((1, 1)), [[1.0, 2.0], [1.0, 3.0]], np.full((9, 2), 1e300)], ids=len
)
def test_features_that_do_not_vary_become_0(rows):
    wide = wide_of(rows)
    assert np.isfinite(wide).all()
    assert (wide[:, 0] == 0).all()


def test_new_rows_may_lie_anywhere():
    wide = wide_of([[0.0], [1e-300]], new=[[-1.7e308], [0.0], [1.7e308]])
    assert np.isfinite(wide).all()
    assert (np.diff(wide[:, 0]) > 0).all()


def test_rows_are_mapped_alike_whether_some_or_all_at_a_time(monkeypatch):
    rows = np.random.default_rng(1).normal(size=(50, 3))
    fitted = Widening.of(rows, np.random.RandomState(0))
    at_once = fitted.transform(rows)
    monkeypatch.setattr(widening, "CELLS_AT_A_TIME", 7)
    assert np.allclose(fitted.transform(rows), at_once, atol=1e-6)
    assert np.allclose(fitted.transform(rows, np.array([4, 2])), at_once[[4, 2]], atol=1e-6)


def test_components_of_drawn_rows_are_near_those_of_all():
    rng = np.random.default_rng(2)
    rows = rng.normal(size=(3000, 1)) @ np.ones((1, 4)) + 0.1 * rng.normal(size=(3000, 4))
    main = Widening.of(rows, np.random.RandomState(0), params=ForestParams(component_rows=200)).components[0]
    assert np.allclose(np.abs(main), 0.5, atol=0.02)


def test_nothing_is_read_after_the_deadline():
    with pytest.raises(GuideStopped):
        Widening.of(np.ones((3, 2)), np.random.RandomState(0), Deadline.after(-1))

"""The path of simpler and richer trees as a picture: every mark is a number of the path."""

from __future__ import annotations

from itertools import pairwise

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from s2oct import OCTHClassifier, S2OCTClassifier
from s2oct.errors import InvalidProblem
from s2oct.export import SimplicityDisplay, plot_simplicity

pytestmark = pytest.mark.usefixtures("_quiet_pictures")
matplotlib.use("Agg")


@pytest.fixture(scope="module")
def guided(labour_force):
    guide = make_pipeline(StandardScaler(), LogisticRegression())
    clf = S2OCTClassifier(depth=2, guide=guide, random_state=0)
    return clf.fit(labour_force.X, labour_force.y, totals=labour_force.totals)


def marks(display):
    return {drawn.get_label(): drawn.get_offsets() for drawn in display.ax_.collections}


def test_points_are_the_trees_and_the_ring_is_the_fitted_one(guided):
    path = guided.simplicity_path()
    assert len(path) > 1
    for display in (plot_simplicity(guided), SimplicityDisplay.from_path(path)):
        points = marks(display)["trees of the path"]
        np.testing.assert_array_equal(points[:, 0], [step.n_terms for step in path])
        np.testing.assert_allclose(points[:, 1], [step.rows_lost for step in path])
        np.testing.assert_allclose(marks(display)["the fitted tree"], [[path.fitted.n_terms, path.fitted.rows_lost]])
        assert np.count_nonzero(guided.tree_.omega) == path.fitted.n_terms
        lost = [f"{step.rows_lost:.1f}" if step.rows_lost < 100 else f"{step.rows_lost:,.0f}" for step in path]
        assert [text.get_text() for text in display.ax_.texts] == lost
        assert set(display.ax_.get_xticks()) == {*(step.n_terms for step in path), path.fitted.n_terms}


def test_it_draws_on_given_axes_and_a_tree_beside_the_path():
    figure, ax = plt.subplots()
    display = SimplicityDisplay(n_terms=[1, 5], rows_lost=[9.0, 0.0], fitted=(3, 20.0)).plot(ax)
    assert display.figure_ is figure
    assert display.ax_ is ax
    assert marks(display)["the fitted tree"].tolist() == [[3, 20]]
    low, high = ax.get_ylim()
    assert low < 0 < 20 < high


def test_labels_do_not_touch():
    n_terms = [1, 2, 3, 4, 40, 41, 80]
    display = SimplicityDisplay(n_terms=n_terms, rows_lost=np.arange(7.0)[::-1] * 300, fitted=(1, 1800.0)).plot()
    display.figure_.canvas.draw()
    boxes = [label.get_window_extent() for label in display.ax_.get_xticklabels()]
    assert [label.get_text() for label in display.ax_.get_xticklabels()] == ["1", "40", "80"]
    assert all(left.x1 < right.x0 for left, right in pairwise(boxes))
    assert [text.get_text() for text in display.ax_.texts] == ["1,800", "600", "0.0"]


def test_path_of_one_tree_is_one_point():
    display = SimplicityDisplay(n_terms=[2], rows_lost=[0.0], fitted=(2, 0.0)).plot()
    assert len(marks(display)["trees of the path"]) == 1


def test_what_has_no_path_is_refused(labour_force):
    with pytest.raises(InvalidProblem, match="Expected a classifier that was fitted with a guide"):
        plot_simplicity(labour_force.clf)
    with pytest.raises(InvalidProblem, match="Expected a fitted S2OCTClassifier, got OCTHClassifier"):
        plot_simplicity(OCTHClassifier())

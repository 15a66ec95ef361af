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
from tests.messages import naming

pytestmark = pytest.mark.usefixtures("_quiet_pictures")
matplotlib.use("Agg")


@pytest.fixture(scope="module")
def guided(labour_force):
    guide = make_pipeline(StandardScaler(), LogisticRegression())
    clf = S2OCTClassifier(depth=2, guide=guide, random_state=0)
    return clf.fit(labour_force.X, labour_force.y, totals=labour_force.totals)


def marks(display):
    return {drawn.get_label(): drawn.get_offsets() for drawn in display.ax_.collections}


def lines(display):
    return {drawn.get_label(): drawn.get_xydata() for drawn in display.ax_.lines}


def test_points_are_the_trees_and_rings_are_the_fitted_and_the_recommended_one(guided):
    path = guided.simplicity_path()
    steps = path.with_fitted
    assert len(path) > 1
    for display in (plot_simplicity(guided), SimplicityDisplay.from_path(path)):
        points = lines(display)["agreement with the guide"]
        np.testing.assert_allclose(points, [[step.n_terms, step.agreement] for step in steps])
        (bars,) = display.ax_.containers
        np.testing.assert_allclose(bars[0].get_xydata(), [[step.n_terms, step.accuracy] for step in steps])
        ends = [segment[:, 1].tolist() for segment in bars[2][0].get_segments()]
        reach = [[step.accuracy - step.accuracy_se, step.accuracy + step.accuracy_se] for step in steps]
        np.testing.assert_allclose(ends, reach)
        for name, step in (("the fitted tree", path.fitted), ("recommended", path.recommended)):
            np.testing.assert_allclose(marks(display)[name], [[step.n_terms, step.accuracy]])
        assert np.count_nonzero(guided.tree_.omega) == path.fitted.n_terms
        assert set(display.ax_.get_xticks()) <= {step.n_terms for step in steps}


NOT_ASSESSED = [np.nan] * 2


def test_it_draws_on_given_axes_and_the_agreement_alone_if_nothing_was_assessed():
    figure, ax = plt.subplots()
    display = SimplicityDisplay(
        n_terms=[1, 5], agreement=[0.8, 0.9], accuracy=NOT_ASSESSED, accuracy_se=NOT_ASSESSED, fitted=1
    ).plot(ax)
    assert display.figure_ is figure
    assert display.ax_ is ax
    assert marks(display)["the fitted tree"].tolist() == [[5, 0.9]]
    assert "recommended" not in marks(display)
    assert not ax.containers


def test_labels_do_not_touch():
    share = np.arange(7.0) / 10
    display = SimplicityDisplay(
        n_terms=[1, 2, 3, 4, 40, 41, 80], agreement=share, accuracy=share, accuracy_se=share / 10, fitted=0
    ).plot()
    display.figure_.canvas.draw()
    boxes = [label.get_window_extent() for label in display.ax_.get_xticklabels()]
    assert [label.get_text() for label in display.ax_.get_xticklabels()] == ["1", "40", "80"]
    assert all(left.x1 < right.x0 for left, right in pairwise(boxes))


def test_what_has_no_path_is_refused(labour_force):
    with pytest.raises(InvalidProblem, match=naming("guide", "class")):
        plot_simplicity(labour_force.clf)
    with pytest.raises(InvalidProblem, match="Expected a fitted S2OCTClassifier, got OCTHClassifier"):
        plot_simplicity(OCTHClassifier())

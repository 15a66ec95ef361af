"""Regions of a tree in two dimensions: they fill the picture, and what they say is what the tree predicts."""

from __future__ import annotations

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.path import Path

from s2oct.errors import InvalidProblem
from s2oct.export import PartitionDisplay, plot_partition
from tests.messages import naming

pytestmark = pytest.mark.usefixtures("_quiet_pictures")
matplotlib.use("Agg")


def area(polygon):
    x, y = polygon.T
    return 0.5 * abs(np.dot(x, np.roll(y, -1)) - np.dot(y, np.roll(x, -1)))


def window(display):
    (x0, x1), (y0, y1) = display.ax_.get_xlim(), display.ax_.get_ylim()
    return np.array([x0, y0]), np.array([x1, y1])


def classes_at(display, tree, points):
    """Class of the region that each point of the picture lies in."""
    found = np.full(len(points), -1)
    for node, polygon in display.regions_.items():
        leaf = node
        while leaf < tree.topology.n_leaves:
            leaf *= 2  # leaves read as one have one class
        found[Path(polygon).contains_points(points)] = tree.leaf_classes[leaf - tree.topology.n_leaves]
    return found


@pytest.mark.parametrize("depth", [1, 2, 3, 4])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_regions_of_two_features_predict_what_the_tree_predicts(tree_of, depth, seed):
    fit = tree_of(depth, 2, seed=seed, sparse=0.8)
    display = plot_partition(fit.clf, fit.X, fit.y)
    low, high = window(display)
    points = np.random.default_rng(seed).uniform(low, high, size=(500, 2))
    assert sum(area(polygon) for polygon in display.regions_.values()) == pytest.approx(np.prod(high - low))
    far = np.abs(fit.clf.tree_.values(points)).min(axis=1) > 1e-9
    assert (classes_at(display, fit.clf.tree_, points) == fit.clf.tree_.predict(points))[far].all()


def test_lines_lie_on_their_hyperplanes(plane):
    display = plot_partition(plane.clf, plane.X, plane.y)
    assert display.lines_
    for node, ends in display.lines_.items():
        np.testing.assert_allclose(plane.clf.tree_.values(ends)[:, node - 1], 0.0, atol=1e-8)


def test_two_features_of_many_show_the_section_at_the_medians(labour_force):
    pair = ["age", "distance_km"]
    display = plot_partition(labour_force.clf, labour_force.X, labour_force.y, features=pair)
    low, high = window(display)
    points = np.random.default_rng(0).uniform(low, high, size=(300, 2))
    rows = np.tile(np.median(labour_force.rows, axis=0), (300, 1))
    columns = [list(labour_force.X.columns).index(name) for name in pair]
    rows[:, columns] = points
    assert (classes_at(display, labour_force.clf.tree_, points) == labour_force.clf.tree_.predict(rows)).all()
    assert "medians" in display.ax_.get_title("left")
    assert display.ax_.get_xlabel() == "age"
    by_position = plot_partition(labour_force.clf, labour_force.X, labour_force.y, features=columns)
    np.testing.assert_array_equal(by_position.view.points, display.view.points)


def test_principal_components_show_the_section_through_the_mean(labour_force):
    display = plot_partition(labour_force.clf, labour_force.X, labour_force.y, features="pca")
    low, high = window(display)
    points = np.random.default_rng(0).uniform(low, high, size=(300, 2))
    origin, a, b = display.view.plane
    rows = origin + points[:, :1] * a + points[:, 1:] * b
    assert (classes_at(display, labour_force.clf.tree_, points) == labour_force.clf.tree_.predict(rows)).all()
    spread = display.view.points.std(axis=0)
    assert spread[0] >= spread[1] > 0


def test_every_row_stands_in_its_own_region_where_axes_are_splits(labour_force):
    display = plot_partition(labour_force.clf, labour_force.X, labour_force.y)
    shown = classes_at(display, labour_force.clf.tree_, display.view.points)
    np.testing.assert_array_equal(labour_force.clf.classes_[shown], labour_force.clf.predict(labour_force.X))


@pytest.mark.parametrize("depth", [1, 2, 4])
def test_deeper_trees_show_their_first_two_splits(tree_of, depth):
    fit = tree_of(depth, 4, seed=1, sparse=1.0)
    display = plot_partition(fit.clf, fit.X, fit.y)
    assert len(display.regions_) <= 4
    assert ("further" in display.ax_.get_title("left")) == (depth > 2)


def test_every_row_is_marked_once(plane):
    display = plot_partition(plane.clf, plane.X, plane.y)
    marks = {scatter.get_label(): len(scatter.get_offsets()) for scatter in display.ax_.collections}
    predicted = plane.clf.predict(plane.X)
    for label in plane.clf.classes_:
        assert marks[f"{label}, labeled"] == sum(value == label for value in plane.y)
        assert marks[f"{label}, by the tree"] == (predicted[~plane.is_labeled] == label).sum()


@pytest.mark.parametrize("n_classes", [2, 4, 7])
@pytest.mark.parametrize("tail", ["", " and neither working nor looking for work"])
def test_words_around_the_axes_do_not_overlap_and_stay_in_the_picture(tree_of, n_classes, tail):
    fit = tree_of(3, 3, n_classes, sparse=1.0, class_names=[f"class {c}{tail}" for c in range(n_classes)])
    figure = plt.figure(figsize=(5.2, 4.4), layout="constrained")
    display = plot_partition(fit.clf, fit.X, fit.y, ax=figure.add_subplot())
    figure.canvas.draw()
    ax = display.ax_
    words = [ax.xaxis.label, ax.yaxis.label, *ax.get_xticklabels(), *ax.get_legend().get_texts()]
    boxes = [text.get_window_extent() for text in words if text.get_text()]
    for i, box in enumerate(boxes):
        assert not any(box.overlaps(other) for other in boxes[:i])
        assert box.x0 >= 0
        assert box.y0 >= 0
        assert box.x1 <= figure.bbox.x1
        assert box.y1 <= figure.bbox.y1


def test_tree_that_splits_nothing_is_one_region(tree_of):
    for p in (2, 3):
        fit = tree_of(2, p, sparse=0.0)
        display = PartitionDisplay.from_estimator(fit.clf, fit.X, fit.y)
        assert len(display.regions_) == 1
        assert display.lines_ == {}


def test_one_feature_is_shown_by_its_splits(tree_of):
    fit = tree_of(2, 1, sparse=1.0)
    assert plot_partition(fit.clf, fit.X, fit.y).regions_


@pytest.mark.parametrize(
    ("features", "named"),
    [
        ("tsne", ("'splits'", "'pca'", "None", "'tsne'")),
        ([0], ("two", "feature")),
        ([0, 0], ("two", "feature")),
        ([0, 8], (8,)),
        (["age", "wage"], ("'wage'",)),
    ],
)
def test_axes_that_do_not_exist_are_refused(labour_force, features, named):
    with pytest.raises(InvalidProblem, match=naming(*named)):
        plot_partition(labour_force.clf, labour_force.X, labour_force.y, features=features)


def test_axes_can_be_given(plane):
    figure, ax = plt.subplots()
    display = plot_partition(plane.clf, plane.X, plane.y, ax=ax)
    assert display.ax_ is ax
    assert display.figure_ is figure

"""Cost and bound over time, and shares of the classes: every mark is a number of the estimator."""

from __future__ import annotations

import copy
from dataclasses import replace

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from s2oct import OCTHClassifier
from s2oct.errors import InvalidProblem
from s2oct.estimators.totals_path import TotalsPath, TotalsStep
from s2oct.export import ProgressDisplay, plot_progress, plot_totals, plot_totals_path
from tests.cells_of_iris import fitted_iris, iris
from tests.messages import naming

pytestmark = pytest.mark.usefixtures("_quiet_pictures")
matplotlib.use("Agg")


def test_lines_are_the_history_up_to_the_end_of_the_fit(labour_force):
    certificate = labour_force.clf.certificate_
    display = plot_progress(labour_force.clf)
    cost, bound = display.ax_.lines[:2]
    np.testing.assert_array_equal(cost.get_ydata()[:-1], [moment.objective for moment in certificate.history])
    np.testing.assert_array_equal(bound.get_ydata()[:-1], [moment.lower_bound for moment in certificate.history])
    assert cost.get_xdata()[-1] == certificate.seconds
    assert cost.get_ydata()[-1] == certificate.objective
    assert bound.get_ydata()[-1] == certificate.lower_bound
    named = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert ("proved optimal" in named) == certificate.proved


def test_lines_of_a_guided_fit_end_at_what_it_minimised(labour_force):
    clf = copy.copy(labour_force.clf)
    evidence = {"model": "evidence", "evidence_cost": 5.0, "evidence_bound": 1.0}
    clf.certificate_ = replace(clf.certificate_, history=(), objective=3.0, guide_weight=0.5, **evidence)
    display = plot_progress(clf)
    assert display.objective[-1] == 5.0
    assert display.lower_bound[-1] == 1.0
    assert "guide" in display.ax_.get_ylabel()
    assert not display.proved


def test_fit_without_a_history_is_two_level_lines():
    figure, ax = plt.subplots()
    display = ProgressDisplay(seconds=[2.0], objective=[5.0], lower_bound=[1.0], proved=False).plot(ax)
    assert display.figure_ is figure
    assert [list(line.get_ydata()) for line in ax.lines] == [[5.0, 5.0], [1.0, 1.0]]


def test_estimator_without_a_certificate_is_refused():
    with pytest.raises(InvalidProblem, match=naming("LogisticRegression")):
        plot_progress(LogisticRegression().fit([[0], [1]], [0, 1]))


def test_shares_are_those_of_total_sample_and_tree(labour_force):
    clf, y = labour_force.clf, labour_force.y
    display = plot_totals(clf, labour_force.X, y)
    free = clf.transduction_[~labour_force.is_labeled]
    for c, label in enumerate(clf.classes_):
        assert display.target[c] == labour_force.totals[label]
        assert display.achieved[c] == (free == label).sum()
        assert display.labeled[c] == sum(value == label for value in y)
        assert f"{display.achieved[c]:,} of {display.target[c]:,}" in [text.get_text() for text in display.ax_.texts]
    marks = {mark.get_label(): mark for mark in display.ax_.collections}
    shares = marks["labeled rows"].get_offsets()[:, 0]
    np.testing.assert_allclose(shares, display.labeled / display.labeled.sum())
    lines = [path.vertices[0, 0] for path in marks["known total"].get_paths()]
    np.testing.assert_allclose(lines, display.target / display.target.sum())


def test_totals_can_be_given_in_either_form(labour_force):
    n_yes = sum(label == "yes" for label in labour_force.y)
    one = plot_totals(labour_force.clf, labour_force.X, labour_force.y, totals={"yes": 60})
    other = plot_totals(labour_force.clf, labour_force.X, labour_force.y, population_totals={"yes": 60 + n_yes})
    np.testing.assert_array_equal(one.target, other.target)
    assert one.target[1] == 60


def test_tree_without_a_known_total_shows_none(tree_of):
    fit = tree_of(2, 3, 4)
    display = plot_totals(fit.clf, fit.X, fit.y)
    assert display.target is None
    assert "known total" not in [mark.get_label() for mark in display.ax_.collections]
    assert len(display.ax_.get_yticks()) == 4


def test_rows_that_are_all_labeled_have_no_totals():
    X, y = [[0.0], [1.0], [2.0], [3.0]], ["a", "a", "b", "b"]
    clf = OCTHClassifier(depth=1, solver=None, time_limit=1, random_state=0).fit(X, y)
    with pytest.raises(InvalidProblem, match=naming("unlabel")):
        plot_totals(clf, X, y)


def test_numbers_along_the_axes_are_written_out():
    """Incomes used to be written as 2.187 beside a lonely 1e4."""
    import matplotlib.pyplot as plt

    from s2oct.output.plots.style import plain_ticks

    figure, ax = plt.subplots()
    ax.set_xlim(0, 2e6)
    ax.set_ylim(21_870, 21_871)
    plain_ticks(ax)
    figure.canvas.draw()
    written = [label.get_text() for axis in (ax.xaxis, ax.yaxis) for label in axis.get_ticklabels()]
    assert "1,000,000" in written
    assert "21,870.2" in written
    assert not ax.xaxis.get_offset_text().get_text()
    assert not ax.yaxis.get_offset_text().get_text()
    plt.close(figure)


def marks_of(display):
    return {mark.get_label(): mark for mark in display.ax_.collections}


def test_totals_by_domain_have_a_line_for_each_class_of_each_domain():
    data = iris()
    display = plot_totals(fitted_iris("by region"), data.X, data.y, domains=data.region)
    display.figure_.canvas.draw()
    assert [text.get_text() for text in display.ax_.get_yticklabels()] == ["setosa", "versicolor", "virginica"] * 3
    written = [text.get_text() for text in display.ax_.texts]
    assert [text for text in written if text.startswith("region")] == ["region north", "region south", "region west"]
    marks = marks_of(display)
    shares = [total.cell.assigned / total.size for total in display.cells]
    np.testing.assert_allclose(marks["unlabeled rows, by the tree"].get_offsets()[:, 0], shares)
    own = [total.labeled / total.size for total in display.cells]
    np.testing.assert_allclose(marks["labeled rows"].get_offsets()[:, 0], own)
    assert len(marks["known interval"].get_paths()) == 6, "bounds, estimates and what follows in two regions"
    assert len(marks["known total"].get_paths()) == 5, "three exact totals and two estimates"


def test_totals_by_domain_without_the_domains_of_rows_show_no_labeled_rows():
    data = iris()
    assert "labeled rows" not in marks_of(plot_totals(fitted_iris("by region"), data.X, data.y))


def test_of_many_totals_the_worst_are_drawn_with_a_note():
    data = iris()
    streets = np.array([f"street {i % 14:02d}" for i in range(len(data.y))])
    totals = {street: {"setosa": 0} for street in np.unique(streets)}
    display = plot_totals(fitted_iris("plain"), data.X, data.y, totals=totals, domains=streets)
    assert len(display.cells) == 42
    assert len(display.ax_.get_yticks()) == 30
    assert "30 of 42 totals: those that the tree misses most" in display.ax_.get_xlabel().replace("\n", " ")
    off = [abs(total.cell.excess) for total in display.cells]
    drawn = marks_of(display)["unlabeled rows, by the tree"].get_offsets()
    assert len(drawn) == 30
    assert sum(miss > 0 for miss in off) <= 30
    shown = [text.get_text() for text in display.ax_.texts if " of " in text.get_text()]
    missed = [total for total in display.cells if total.cell.excess]
    assert sum(text.endswith(" of 0") for text in shown) >= len(missed)


def test_weighted_totals_are_drawn_as_shares_of_the_weight():
    data = iris()
    display = plot_totals(fitted_iris("weighted"), data.X, data.y, sample_weight=data.weight)
    assert display.target.sum() == pytest.approx(data.weight[data.free].sum())
    assert display.achieved.sum() == pytest.approx(data.weight[data.free].sum())
    assert display.labeled.sum() == pytest.approx(data.weight[~data.free].sum())


def test_a_path_of_totals_is_drawn_with_what_must_change_at_least():
    steps = [TotalsStep(v, c, 3, 1.0, v, "converged", "") for v, c in ((8.0, 5.0), (10.0, 0.0), (12.0, 2.0))]
    display = plot_totals_path(TotalsPath(steps, "yes $x$", 10.0, (9.0, 11.0)))
    lines = {line.get_label(): line for line in display.ax_.lines}
    assert list(lines["rows that change class"].get_ydata()) == [5, 0, 2]
    assert list(lines["minimum number of rows to change"].get_ydata()) == [2, 0, 2]
    assert lines["known total"].get_xdata()[0] == 10
    assert "yes $x$" in display.ax_.get_xlabel()
    with pytest.raises(InvalidProblem, match=naming("totals_path")):
        plot_totals_path([])

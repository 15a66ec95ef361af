"""Totals of every cell beside the labeled rows and the tree."""

from __future__ import annotations

import numpy as np
import pytest

from s2oct.estimators.fitted import read_fit
from s2oct.estimators.seen_totals import Known, see_totals
from tests.cells_of_iris import fitted_iris, iris


def seen(kind, **known):
    clf, data = fitted_iris(kind), iris()
    return see_totals(clf, read_fit(clf, data.X, data.y), data.X, data.y, Known(**known))


def test_cells_of_the_fit_have_the_labeled_rows_of_their_domain_scaled_to_its_unlabeled_rows(compiled):
    data = iris()
    found = seen("by region", domains=data.region)
    assert [total.cell.domain for total in found.cells] == ["north"] * 3 + ["south"] * 3 + ["west"] * 3
    for total in found.cells:
        here = (data.region == total.cell.domain).to_numpy()
        label = np.unique(data.truth)[total.cell.class_index]
        labeled = data.y[here & ~data.free]
        assert total.size == (here & data.free).sum()
        assert total.labeled == pytest.approx((labeled == label).mean() * total.size)


def test_cells_without_domains_have_what_the_certificate_says_and_no_labeled_rows(compiled):
    found = seen("by region")
    assert [total.cell for total in found.cells] == list(fitted_iris("by region").certificate_.cells)
    assert all(total.labeled is None for total in found.cells)
    assert sum(total.size for total in found.cells[::3]) == iris().free.sum()


def test_totals_that_are_given_again_are_those_of_the_fit(compiled):
    data = iris()
    again = seen("by region", totals=data.by_region(), domains=data.region)
    of_fit = seen("by region", domains=data.region)
    assert again.cells == of_fit.cells


def test_estimates_keep_their_value_and_bounds_have_none(compiled):
    cells = {(total.cell.domain, total.cell.class_index): total.cell for total in seen("by region").cells}
    assert cells["north", 0].value == cells["north", 0].low
    assert cells["south", 0].value is None
    assert cells["south", 1].value == iris().count("versicolor", "south")


def test_weights_count_where_they_are_given_and_make_the_labeled_rows_unknown_where_not(compiled):
    data = iris()
    found = seen("weighted", sample_weight=data.weight)
    assert found.is_weighted
    assert found.unit == pytest.approx(data.weight[data.free].mean())
    assert sum(total.cell.assigned for total in found.cells) == pytest.approx(data.weight[data.free].sum())
    labeled = [total.labeled for total in found.cells]
    assert sum(labeled) == pytest.approx(data.weight[data.free].sum())
    without = seen("weighted")
    assert without.sizes is None
    assert [total.labeled for total in without.cells] == [None] * 3
    assert [total.cell.assigned for total in without.cells] == list(fitted_iris("weighted").certificate_.assigned)


def test_margins_with_the_same_domains_are_kept_apart(compiled):
    data = iris()
    again = {region: {"setosa": (0, 150)} for region in ("north", "south", "west")}
    found = seen("by region", totals=[data.by_region(), again], domains=[data.region.tolist(), data.region.tolist()])
    assert [len(margin) for margin in found.margins] == [9, 9]


def test_what_fit_does_not_know_is_refused():
    with pytest.raises(TypeError, match="unexpected keyword argument 'total'"):
        Known(total={"a": 1})

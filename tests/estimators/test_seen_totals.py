"""Totals of every cell beside the labeled rows and the tree."""

from __future__ import annotations

import numpy as np
import pytest

from s2oct import Estimate
from s2oct.estimators.fitted import known_of_rows, read_fit, see_totals
from tests.cells_of_iris import fitted_iris, iris
from tests.messages import names, naming


def seen(kind, **known):
    clf, data = fitted_iris(kind), iris()
    rows = read_fit(clf, data.X, data.y)
    return see_totals(clf, rows, known_of_rows(clf, rows, data.X, data.y, **known))


def test_cells_of_the_fit_have_the_labeled_rows_of_their_domain_scaled_to_its_unlabeled_rows():
    data = iris()
    found = seen("by region", domains=data.region)
    assert [total.cell.domain for total in found.cells] == ["north"] * 3 + ["south"] * 3 + ["west"] * 3
    for total in found.cells:
        here = (data.region == total.cell.domain).to_numpy()
        label = np.unique(data.truth)[total.cell.class_index]
        labeled = data.y[here & ~data.free]
        assert total.size == (here & data.free).sum()
        assert total.labeled == pytest.approx((labeled == label).mean() * total.size)


def test_cells_without_domains_have_what_the_certificate_says_and_no_labeled_rows():
    found = seen("by region")
    assert [total.cell for total in found.cells] == list(fitted_iris("by region").certificate_.cells)
    assert all(total.labeled is None for total in found.cells)
    assert sum(total.size for total in found.cells[::3]) == iris().free.sum()


def test_totals_that_are_given_again_are_those_of_the_fit():
    data = iris()
    again = seen("by region", totals=data.by_region(), domains=data.region)
    of_fit = seen("by region", domains=data.region)
    assert again.cells == of_fit.cells


def test_estimates_keep_their_value_and_bounds_have_none():
    cells = {(total.cell.domain, total.cell.class_index): total.cell for total in seen("by region").cells}
    assert cells["north", 0].value == cells["north", 0].low
    assert cells["south", 0].value is None
    assert cells["south", 1].value == iris().count("versicolor", "south")


def test_weights_count_where_they_are_given_and_make_the_labeled_rows_unknown_where_not():
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


def test_margins_with_the_same_domains_are_kept_apart():
    data = iris()
    again = {region: {"setosa": (0, 150)} for region in ("north", "south", "west")}
    found = seen("by region", totals=[data.by_region(), again], domains=[data.region.tolist(), data.region.tolist()])
    assert [len(margin) for margin in found.margins] == [9, 9]


def test_totals_of_all_rows_and_shares_are_kept_as_they_were_given():
    """What a user gave must be recognised; what it means for the unlabeled rows stands beside it."""
    data = iris()
    species = np.unique(data.truth).tolist()
    counts = {"setosa": (40, 60), "versicolor": Estimate(50, 2.5), "virginica": 50}
    of_all = seen("by region", population_totals=counts)
    assert of_all.given_of == "all rows"
    assert [total.given for total in of_all.cells] == ["40 to 60", "50 ± 2.5", "50"]
    assert of_all.cells[2].cell.low == 50 - (data.y == "virginica").sum()
    shares = seen("by region", population_totals=dict.fromkeys(species, 1 / 3), as_shares=True)
    assert names(shares.given_of, "share", "all rows")
    assert [total.given for total in shares.cells] == ["33.3333 %"] * 3
    by_region = {"north": {"setosa": (None, 0.5)}, "south": {"setosa": (0.1, None)}, "west": {"setosa": (0.0, 1.0)}}
    by_domain = seen("by region", totals=by_region, domains=data.region, as_shares=True)
    assert names(by_domain.given_of, "share", "unlabel")
    given = {total.cell.domain: total.given for total in by_domain.cells if total.cell.class_index == 0}
    assert given == {"north": "at most 50 %", "south": "at least 10 %", "west": "0 to 100 %"}
    assert {total.given for total in by_domain.cells if total.cell.class_index} == {""}


def test_counts_of_the_unlabeled_rows_are_what_they_were_given_as():
    found = seen("by region", totals=iris().by_region(), domains=iris().region)
    assert found.given_of == ""
    assert {total.given for total in found.cells} == {""}


def test_what_fit_does_not_know_is_refused():
    with pytest.raises(TypeError, match=naming("'total'")):
        known_of_rows(None, None, None, None, total={"a": 1})

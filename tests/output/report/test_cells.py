"""The report of trees with three classes, totals by domain and weights."""

from __future__ import annotations

import matplotlib
import numpy as np
import pytest

from s2oct.errors import S2OCTWarning
from s2oct.estimators.fitted import known_of_rows, read_fit, see_totals
from s2oct.export import report_html, write_report
from s2oct.output.report.sample import describe_sample
from tests.cells_of_iris import fitted_iris, iris
from tests.messages import names, naming
from tests.output.report.test_report import assert_in_order, table

matplotlib.use("Agg")


def sample(kind, **known):
    clf, data = fitted_iris(kind), iris()
    rows = read_fit(clf, data.X, data.y)
    return describe_sample(rows, see_totals(clf, rows, known_of_rows(clf, rows, data.X, data.y, **known)))


@pytest.fixture(scope="module")
def by_region(tmp_path_factory):
    data = iris()
    path = tmp_path_factory.mktemp("report") / "by_region.html"
    return write_report(fitted_iris("by region"), data.X, data.y, path, domains=data.region, label="species")


@pytest.mark.parametrize("width", [1200, 360])
def test_a_report_of_three_classes_and_three_regions_fits_every_width(by_region, browser, width):
    with browser.page(by_region, width=width) as page:
        assert_in_order(page)


def test_every_total_is_in_the_table_with_what_is_known_labeled_and_assigned(by_region, browser):
    cells = fitted_iris("by region").certificate_.cells
    with browser.page(by_region) as page:
        script = """[...document.querySelectorAll("#totals .cells tbody")].map(
            body => [...body.rows].map(row => [...row.cells].map(cell => cell.innerText.trim())))"""
        domains = page.evaluate(script)
        met = page.evaluate("document.querySelector('#totals p').innerText")
    assert [domain[0] for domain in domains] == [["region north"], ["region south"], ["region west"]]
    lines = [line for domain in domains for line in domain[1:]]
    assert [line[0] for line in lines] == ["setosa", "versicolor", "virginica"] * 3
    assert [line[3] for line in lines] == [f"{cell.assigned:g}" for cell in cells]
    assert lines[0][1] == f"{cells[0].low:g}"
    assert lines[3][1] == f"{cells[3].low:g} to {cells[3].high:g}"
    assert lines[4][1].startswith(f"{iris().count('versicolor', 'south')} (")
    n_met = sum(cell.is_met() for cell in cells)
    assert names(met, n_met, 9, "total")


def test_labels_stand_against_the_classes_of_the_tree_where_there_are_three(by_region, browser):
    data = iris()
    predicted = fitted_iris("by region").predict(data.X)
    with browser.page(by_region) as page:
        lines = table(page, "leaves")
    for label, line in zip(np.unique(data.truth), lines, strict=True):
        own = predicted[data.y == label]
        assert line == [label, *(str((own == other).sum()) for other in np.unique(data.truth))]


def test_a_report_with_weights_says_that_counts_are_weighted():
    data = iris()
    page = report_html(fitted_iris("weighted"), data.X, data.y, sample_weight=data.weight)
    assert names(page, "survey weights")
    assert ", sample_weight=weights)" in page
    lines = sample("weighted", sample_weight=data.weight)["classes"]
    assert sum(line["population"] for line in lines) == pytest.approx(data.weight.sum())
    assert sum(line["alone"] for line in lines) == pytest.approx(data.weight[data.free].sum())


def test_a_report_without_the_weights_of_the_fit_shows_what_its_certificate_counted():
    found = sample("weighted")
    assert [line["achieved"] for line in found["classes"]] == list(fitted_iris("weighted").certificate_.assigned)
    assert (found["bias"], found["classes"][0]["population"], found["cells"]["has_alone"]) == ("", None, False)


def test_bias_before_and_after_is_there_for_every_class():
    data = iris()
    for line in sample("plain")["classes"]:
        assert line["alone"] == pytest.approx(data.free.sum() / 3)
        assert line["known"] == data.count(line["name"])
        assert line["missed"] == line["achieved"] - line["known"]


def test_totals_that_are_not_exact_are_called_by_their_middle():
    found = sample("by region", domains=iris().region)
    assert not found["is_exact"]
    assert names(found["bias"], "middle")
    assert "simple random sample" not in found["bias"]


def test_a_missed_total_is_marked():
    data = iris()
    wrong = {region: {"setosa": 0} for region in ("north", "south", "west")}
    found = sample("by region", totals=wrong, domains=data.region)
    n_met = found["n_met"]
    assert found["n_totals"] == 9
    assert names(found["met"], n_met, 9, "total", "marked")
    assert not found["is_met"]
    off = [
        line["off"]
        for domain in found["cells"]["margins"][0]["domains"]
        for line in domain["lines"]
        if not line["is_met"]
    ]
    assert len(off) == 9 - n_met
    assert min(off) > 0


def test_of_many_totals_the_worst_come_first_and_all_are_behind_a_heading():
    data = iris()
    streets = np.array([f"street {i % 25:02d}" for i in range(len(data.y))])
    totals = {street: {"setosa": 0} for street in np.unique(streets)}
    with pytest.warns(S2OCTWarning, match=naming("data", "fit")):
        page = report_html(fitted_iris("plain"), data.X, data.y, totals=totals, domains=streets, rivals=False)
    assert names(page, "total", "missed most")
    assert "<summary>All 75 totals</summary>" in page


def test_code_that_repeats_a_fit_by_domain_names_its_tables():
    data = iris()
    page = report_html(fitted_iris("by region"), data.X, data.y, domains=data.region)
    assert "clf.fit(X, y, totals=totals, domains=domains)" in page


@pytest.mark.parametrize(
    ("known", "heading", "given"),
    [
        ({"population_totals": {"setosa": 50, "versicolor": 50}}, "given, all rows", ["50", "50", "\u2013"]),
        (
            {"population_totals": {"setosa": (0.3, 0.4)}, "as_shares": True},
            "given, shares of all rows",
            ["30 to 40 %", "\u2013", "\u2013"],
        ),
    ],
    ids=["counts", "shares"],
)
def test_totals_stand_as_they_were_given_beside_those_of_the_unlabeled_rows(browser, tmp_path, known, heading, given):
    data = iris()
    with pytest.warns(S2OCTWarning, match=naming("data", "fit")):
        path = write_report(fitted_iris("by region"), data.X, data.y, tmp_path / "r.html", rivals=False, **known)
    with browser.page(path) as page:
        assert_in_order(page)
        heads = page.evaluate("[...document.querySelectorAll('#totals thead th')].map((cell) => cell.innerText)")
        cells = page.evaluate(
            "[...document.querySelectorAll('#totals tbody tr')].map((row) => row.cells[1]?.innerText.trim())"
        )
    assert heads[1:3] == [heading, "of the unlabeled rows"]
    assert cells == given

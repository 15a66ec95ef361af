"""Estimates in the report: the numbers of the table, the picture and the caveats; no section without them."""

from __future__ import annotations

import numpy as np
import pytest

from s2oct import S2OCTClassifier
from s2oct.export import report_html, write_report
from s2oct.output.report.sample import CAVEATS
from tests.output.report.test_report import number, table


@pytest.fixture(scope="module")
def estimated(labour_force):
    fit = labour_force
    clf = S2OCTClassifier(depth=1, random_state=0).fit(fit.X, fit.y, totals=fit.totals)
    region = np.array(["east", "<b>west</b>"])[(fit.X["age"] > 45).to_numpy().astype(int)]
    return clf, clf.estimate(region, replicates=3)


@pytest.fixture(scope="module")
def report(estimated, labour_force, tmp_path_factory):
    clf, estimates = estimated
    where = tmp_path_factory.mktemp("report") / "r.html"
    return write_report(clf, labour_force.X, labour_force.y, where, rivals=False, estimates=estimates)


def test_the_table_has_the_numbers_of_the_estimates(browser, report, estimated):
    _, estimates = estimated
    with browser.page(report) as page:
        rows = table(page, "estimates")
        words = page.evaluate("document.getElementById('estimates').innerText")
        drawn = page.evaluate("[...document.querySelectorAll('#estimates svg text')].map(text => text.textContent)")
        overflow = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    for row, estimate in zip(rows, estimates, strict=True):
        assert row[:2] == [estimate["domain"], estimate["class"]]
        for cell, name in ((row[2], "estimate"), (row[3], "se"), (row[6], "observed"), (row[7], "uncorrected")):
            assert number(cell) == pytest.approx(estimate[name], rel=1e-3), name
    assert all(sentence in words for sentence in (*CAVEATS, *estimates.notes))
    assert {"east", "<b>west</b>"} <= {text.strip() for text in drawn}
    assert overflow <= 0


def test_without_estimates_there_is_no_section(estimated, labour_force):
    clf, _ = estimated
    assert 'id="estimates"' not in report_html(clf, labour_force.X, labour_force.y, rivals=False)

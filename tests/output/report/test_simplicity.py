"""Simpler and richer trees in the report: numbers of the estimator, rules that fold, no section without rows."""

from __future__ import annotations

import copy
import pickle
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from s2oct import S2OCTClassifier
from s2oct.export import report_html, write_report
from s2oct.fit.simplicity import SimplicityPath
from tests.output.report.test_report import VIEWS, assert_in_order, number, table


def guided(fit, **parameters) -> S2OCTClassifier:
    guide = make_pipeline(StandardScaler(), LogisticRegression())
    clf = S2OCTClassifier(**{"depth": 2, "guide": guide, "random_state": 0, **parameters})
    return clf.fit(fit.X, fit.y, totals=fit.totals)


@pytest.fixture(scope="module")
def clf(labour_force):
    return guided(labour_force)


@pytest.fixture(scope="module")
def path(clf):
    return clf.simplicity_path()


@pytest.fixture(scope="module")
def report(clf, labour_force, tmp_path_factory):
    where = tmp_path_factory.mktemp("report") / "r.html"
    when = datetime(2026, 5, 3, tzinfo=UTC)
    return write_report(clf, labour_force.X, labour_force.y, where, rivals=False, when=when)


def test_numbers_and_rules_are_those_of_the_estimator(browser, report, path):
    shown = list(path.with_fitted)
    with browser.page(report) as page:
        rows = table(page, "simplicity")
        rules = page.evaluate("[...document.querySelectorAll('#simplicity pre')].map(text => text.textContent)")
        bold = page.evaluate("[...document.querySelectorAll('#simplicity .fitted')].map(row => row.rowIndex - 1)")
        words = page.evaluate("document.getElementById('simplicity').innerText")
    assert len(path) > 1
    for row, step in zip(rows, shown, strict=True):
        assert [number(cell) for cell in row[1:3]] == [step.n_terms, step.n_splits]
        assert row[3] == f"{100 * step.accuracy:.1f} % ± {100 * step.accuracy_se:.1f} %"
        assert row[4] == f"{100 * step.agreement:.1f} %"
        assert number(row[5]) == step.rows_off
        assert ("recommended" in row[0]) == (step is path.recommended)
    assert rules == [step.rules for step in shown]
    assert bold == [shown.index(path.fitted)]
    assert rows[bold[0]][0].startswith("the fitted one")
    assert ("not on the path" in words) == (path.fitted not in path)


@pytest.mark.parametrize(("width", "dark"), VIEWS)
def test_page_is_whole_with_all_rules_unfolded(browser, report, width, dark):
    with browser.page(report, width=width, dark=dark) as page:
        assert_in_order(page)
        shown = "[...document.querySelectorAll('#simplicity pre')].map(text => text.checkVisibility())"
        assert not any(page.evaluate(shown))
        page.click("#simplicity summary")
        assert page.evaluate(shown)[0]
        page.evaluate("document.querySelectorAll('details').forEach(part => part.open = true)")
        assert all(page.evaluate(shown))
        assert page.overflow() == 0
        page.click("nav a[href='#simplicity']")
        page.wait_for("location.hash === '#simplicity'")


@pytest.mark.parametrize("on_path", [False, True])
def test_fitted_tree_beside_the_path_has_its_line_and_a_sentence(clf, labour_force, path, monkeypatch, on_path):
    made_up = SimplicityPath([path[0], path[-1]], path[-1] if on_path else path[1])
    monkeypatch.setattr(S2OCTClassifier, "simplicity_path", lambda self, assess: made_up)
    page = report_html(clf, labour_force.X, labour_force.y, rivals=False)
    section = page[page.index('<section id="simplicity">') : page.index('<section id="stability">')]
    assert section.count("<details>") == (2 if on_path else 3)
    assert section.count("the fitted one") == 1
    assert ("The fitted tree is not on the path" in section) != on_path


def test_names_are_those_that_the_report_shows(clf, labour_force):
    names = [f"<b>{name}" for name in labour_force.X.columns]
    page = report_html(clf, labour_force.X, labour_force.y, rivals=False, feature_names=names, class_names=["&n", "&y"])
    section = page[page.index('<section id="simplicity">') : page.index('<section id="stability">')]
    assert "&lt;b&gt;" in section
    assert "&amp;y" in section
    assert "<b>" not in section


def test_fit_without_guide_or_rows_and_a_path_without_choice_have_no_section(clf, labour_force):
    without_time = copy.copy(clf)
    without_time._session = replace(clf._session, path=None, cross_fit=None)
    without_time.time_limit = 1e-9
    for other in (labour_force.clf, pickle.loads(pickle.dumps(clf)), without_time):
        page = report_html(other, labour_force.X, labour_force.y, rivals=False)
        assert 'id="simplicity"' not in page
        assert 'href="#simplicity"' not in page

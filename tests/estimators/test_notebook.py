"""A notebook shows a fitted tree below scikit-learn's own table: escaped, quick, and never in the way."""

from __future__ import annotations

import time

import pytest
import sklearn
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from s2oct import OCTHClassifier, S2OCTClassifier
from s2oct.model.rules import pruned, rule_lines
from s2oct.tables.encoding import plain_encoding

NASTY = ["<script>document.title = 'taken'</script>", "</style></pre><b>bold</b>", "a & b \"quoted\" 'twice'"]


def html_of(clf):
    return clf._repr_mimebundle_()["text/html"]


@pytest.fixture
def nasty(tree_of):
    """Names that would be marks of HTML."""
    return tree_of(2, 3, feature_names=NASTY, class_names=["<i>no</i>", "</div>yes"], sparse=1.0).clf


def test_fitted_classifier_shows_its_tree_and_another_one_does_not(plane):
    for shown in (html_of(plane.clf), plane.clf._repr_html_()):
        assert shown.count('<div class="s2oct">') == 1
        assert shown.index("sk-top-container") < shown.index('<div class="s2oct">')
    for clf in (S2OCTClassifier(), OCTHClassifier(), clone(plane.clf)):
        assert "sk-top-container" in html_of(clf)
        assert 'class="s2oct"' not in html_of(clf) + clf._repr_html_()


def test_page_shows_rules_and_classes_as_they_are(browser, nasty, tmp_path):
    """What a browser reads is compared with the rules; nothing of a name becomes part of the page."""
    path = tmp_path / "cell.html"
    path.write_text(f"<!doctype html><meta charset=utf-8><title>cell</title>{html_of(nasty)}")
    with browser.page(path, width=900) as page:
        assert page.console_errors == []
        assert page.evaluate("document.title") == "cell"
        assert page.evaluate("document.querySelectorAll('.s2oct script, .s2oct b, .s2oct i').length") == 0
        rules = page.evaluate("document.querySelector('.s2oct pre').textContent")
        classes = page.evaluate("[...document.querySelectorAll('.s2oct .class')].map(leaf => leaf.textContent)")
        boxes = page.evaluate("[...document.querySelectorAll('.s2oct .rule')].map(rule => rule.innerText)")
    assert rules == "\n".join(rule_lines(nasty.tree_, NASTY, nasty.classes_))
    assert classes == [nasty.classes_[leaf.class_index] for leaf in pruned(nasty.tree_).leaves]
    written = [line.strip()[3:-1] for line in rules.split("\n") if line.strip().startswith("if ")]
    assert [" ".join(box.split()) for box in boxes] == written


def test_text_display_shows_text_only(plane):
    with sklearn.config_context(display="text"):
        assert not hasattr(plane.clf, "_repr_html_")
        assert set(plane.clf._repr_mimebundle_()) == {"text/plain"}
        assert "<" not in repr(plane.clf)


def test_classifier_that_is_incomplete_is_still_shown(tree_of):
    fit = tree_of(2, 3)
    fit.clf.encoding_ = plain_encoding(["one name for three features"])
    assert "sk-top-container" in html_of(fit.clf)
    del fit.clf.classes_
    assert "sk-top-container" in fit.clf._repr_html_()


def test_parts_of_other_estimators_are_shown_as_ever(plane):
    for outer in (make_pipeline(StandardScaler(), plane.clf), GridSearchCV(plane.clf, {"depth": [1]})):
        assert "S2OCTClassifier" in html_of(outer)


def test_deep_tree_is_shown_as_text(tree_of):
    clf = tree_of(7, 5, sparse=1.0).clf
    shown = html_of(clf)
    assert '<div class="part' not in shown
    assert "<details open>" in shown


def test_showing_is_quick(tree_of):
    clf = tree_of(5, 30, sparse=1.0).clf

    def seconds():
        began = time.process_time()
        html_of(clf)
        return time.process_time() - began

    assert min(seconds() for _ in range(5)) < 0.2

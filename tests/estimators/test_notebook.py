"""A notebook shows a fitted tree below scikit-learn's own table: escaped, quick, and never in the way."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from s2oct import OCTHClassifier, S2OCTClassifier
from s2oct.export import load, save
from s2oct.looks import class_colour
from s2oct.tables.encoding import plain_encoding
from s2oct.trees.rules import SplitRule, pruned, rule_lines
from tests.legibility import illegible
from tests.stopwatch import processor_seconds

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


@pytest.fixture
def cell(browser, tmp_path):
    """``with cell(clf, width) as page:`` opens a page with nothing but what a notebook shows of a tree."""

    def opened(clf, width=900):
        path = tmp_path / "cell.html"
        head = '<!doctype html><meta charset=utf-8><meta name=viewport content="width=device-width"><title>cell</title>'
        path.write_text(f"{head}{clf._tree_html()}")
        return browser.page(path, width=width)

    return opened


def rows_shown(page):
    return page.evaluate("[...document.querySelectorAll('.s2oct .rows')].map(rows => rows.innerText)")


def rows_counted(clf, X, y):
    """What the leaves of a tree should say of their rows."""
    leaf, is_labeled = clf.apply(X), np.array([label is not None for label in y])
    for part in pruned(clf.tree_).leaves:
        here = np.isin(leaf, part.ids)
        n_rows, n_labeled = int(here.sum()), int((here & is_labeled).sum())
        of_them = f"\n{n_labeled} labeled" if 0 < n_labeled < n_rows else ""
        yield f"{n_rows} row{'' if n_rows == 1 else 's'}{of_them}"


def test_leaves_count_their_rows(cell, plane):
    with cell(plane.clf) as page:
        assert rows_shown(page) == list(rows_counted(plane.clf, plane.X, plane.y))
    y = (plane.X[:, 0] > 0).astype(object)
    supervised = OCTHClassifier(depth=1, solver=None, time_limit=1, random_state=0).fit(plane.X, y)
    with cell(supervised) as page:
        assert rows_shown(page) == list(rows_counted(supervised, plane.X, y))


def test_another_tree_for_the_same_rows_is_counted_anew(cell, plane):
    tree = plane.clf.tree_
    moved = replace(tree, gamma=tree.gamma + np.ptp(plane.X @ tree.omega.T, axis=0) / 4)
    other = plane.clf.with_tree(moved)
    with cell(other) as page:
        assert rows_shown(page) == list(rows_counted(other, plane.X, plane.y))
    assert list(rows_counted(other, plane.X, plane.y)) != list(rows_counted(plane.clf, plane.X, plane.y))


def test_model_from_a_file_shows_its_tree_without_rows(cell, plane, tmp_path):
    save(plane.clf, tmp_path / "model.json")
    with cell(load(tmp_path / "model.json")) as page:
        assert page.evaluate("document.querySelectorAll('.s2oct .class').length") > 1
        assert rows_shown(page) == []


def test_classes_have_the_colours_of_every_picture(cell, tree_of):
    clf = tree_of(2, 3, 4, sparse=1.0).clf
    look = "getComputedStyle(leaf)"
    script = f"[...document.querySelectorAll('.s2oct .class')].map(leaf => [{look}.backgroundColor, leaf.textContent])"
    with cell(clf) as page:
        shown = page.evaluate(script)
    for colour, name in shown:
        wanted = class_colour(clf.classes_.tolist().index(name))
        assert colour == f"rgb({', '.join(str(int(wanted[i : i + 2], 16)) for i in (1, 3, 5))})"


@pytest.mark.parametrize("names", [["no", "yes"], ["neither working nor looking for work", "a", "b", "c"]])
@pytest.mark.parametrize("depth", [1, 2, 3])
def test_tree_starts_at_its_root_and_can_be_read_at_every_width(cell, tree_of, depth, names):
    fit = tree_of(depth, 3, len(names), sparse=1.0, class_names=names)
    for width in (1280, 390):
        with cell(fit.clf, width) as page:
            assert page.overflow() == 0
            assert illegible(page, ".s2oct") == []
            root = "document.querySelector('.rule').getBoundingClientRect()"
            assert page.evaluate(f"Math.max({root}.left, {root}.top)") < 40


def test_large_sets_are_shortened_and_whole_where_the_mouse_is(cell, tree_of, monkeypatch):
    rule = f"county in ({', '.join(f'county {i}' for i in range(14))})"
    monkeypatch.setattr(SplitRule, "parts", lambda _, *, holds=True: (rule,))
    with cell(tree_of(1, 1, sparse=1.0).clf) as page:
        shown, whole = page.evaluate("(rule => [rule.textContent, rule.title])(document.querySelector('.rule'))")
    assert shown == "county in (county 0, county 1, county 2, county 3 and 10 more)"
    assert whole == rule


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

    assert processor_seconds(lambda: html_of(clf), 0.2) < 0.2

"""Another tree beside the fitted one: the one that differs most, counted row by row."""

import copy

import numpy as np
import pytest

from s2oct import ObliqueTree, Topology
from s2oct.estimators.fitted import FittedRows
from s2oct.export import report_html
from s2oct.output.report.trees import describe_alternatives
from s2oct.problem.labels import UNLABELED
from s2oct.trees.features import as_features


def cut(at, feature=0):
    omega = np.zeros((1, 2))
    omega[0, feature] = 1.0
    return ObliqueTree.of(Topology(1), omega, [at])


class Fitted:
    """What the section asks of a classifier."""

    def __init__(self, *trees):
        self.alternatives_ = trees


@pytest.fixture
def rows():
    """Ten rows on a line, the first and the last labeled, and a second feature that runs backwards."""
    X = np.column_stack([np.arange(10.0), np.arange(10.0)[::-1]])
    codes = np.array([0, *[UNLABELED] * 8, 1])
    return FittedRows(cut(4.5), as_features(("x", "y")), ("low", "high"), X, codes)


def test_of_several_trees_the_one_that_differs_on_most_unlabeled_rows_is_shown(rows):
    said = describe_alternatives(Fitted(cut(5.5), cut(7.5), cut(3.5)), rows, range(1, 11))
    assert said["n_alternatives"] == 3
    assert (said["n_rows"], said["share"]) == (3, 3 / 8)
    assert [(line["class_name"], line["other_name"], line["n_rows"]) for line in said["disagreements"]] == [
        ("high", "low", 3)
    ]
    assert [(line["id"], line["class_name"], line["other_name"]) for line in said["rows"]] == [
        ("6", "high", "low"),
        ("7", "high", "low"),
        ("8", "high", "low"),
    ]
    assert "x <= 4.5" in said["fitted_rules"]
    assert "x <= 7.5" in said["other_rules"]
    assert said["only_fitted"] == said["only_other"] == []


def test_features_that_only_one_of_them_asks_for_are_named(rows):
    said = describe_alternatives(Fitted(cut(4.5, feature=1)), rows, range(1, 11))
    assert (said["only_fitted"], said["only_other"]) == (["x"], ["y"])
    assert said["n_rows"] == 8
    assert [line["n_rows"] for line in said["disagreements"]] == [4, 4]


def test_there_is_no_section_without_other_trees_or_unlabeled_rows(rows):
    assert describe_alternatives(Fitted(), rows, range(1, 11)) is None
    known = FittedRows(rows.tree, rows.features, rows.class_names, rows.X, np.zeros(10, dtype=np.int64))
    assert describe_alternatives(Fitted(cut(2.5)), known, range(1, 11)) is None


def test_the_report_shows_both_trees_and_the_rows_they_dispute(labour_force):
    clf = copy.copy(labour_force.clf)
    n_features = clf.n_features_in_
    constant = ObliqueTree.constant(clf.tree_.topology, n_features, right=True)
    clf.alternatives_ = (constant,)
    page = report_html(clf, labour_force.X, labour_force.y, rivals=False)
    free = ~labour_force.is_labeled
    differ = int((clf.tree_.predict(labour_force.rows) != constant.predict(labour_force.rows))[free].sum())
    assert differ > 0
    assert 'href="#alternatives"' in page
    assert f"It assigns {differ} unlabeled rows" in page
    clf.alternatives_ = ()
    assert 'id="alternatives"' not in report_html(clf, labour_force.X, labour_force.y, rivals=False)

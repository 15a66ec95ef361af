"""A report on a table with categories speaks of columns and levels, which are data and never HTML."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from s2oct import ObliqueTree, S2OCTClassifier, Topology
from s2oct.errors import S2OCTWarning
from s2oct.estimators.fitted import FittedRows, read_fit
from s2oct.export import report_html, tree_to_dot
from s2oct.output.report.trees import describe_contradictions, describe_leaves
from s2oct.output.report.wording import with_clean_names
from s2oct.trees.features import ONEHOT, Feature
from s2oct.trees.rules import SplitRule, conditions, pruned

NORTH = "<b>north</b>"


@pytest.fixture(scope="module")
def people():
    """Who lives in the north or went to school for long works; some cells are missing."""
    rng = np.random.default_rng(0)
    region = rng.choice([NORTH, "south", "west"], 120, p=[0.4, 0.4, 0.2])
    school = rng.choice(["none", "some", "much"], 120)
    works = np.where((region == NORTH) | (school == "much"), "yes", "no").astype(object)
    flipped = rng.random(120) < 0.05
    works[flipped] = np.where(works[flipped] == "yes", "no", "yes")
    X = pd.DataFrame({"region": region, "school": pd.Categorical(school, ["none", "some", "much"], ordered=True)})
    X["age"] = rng.integers(18, 70, 120).astype(float)
    X.loc[::9, ["region", "age"]] = None
    y = works.copy()
    y[60:] = None
    totals = {"yes": int((works[60:] == "yes").sum())}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", S2OCTWarning)
        clf = S2OCTClassifier(depth=2, max_features_per_split=1, random_state=0).fit(X, y, totals=totals)
    return clf, X, y


def test_rules_of_one_feature_never_show_an_indicator(people):
    clf, X, y = people
    page = report_html(clf, X, y, rivals=False)
    for text in (clf.rules_, page, clf._repr_html_(), tree_to_dot(clf.tree_, clf._features(), clf.classes_)):
        assert "region=" not in text
    assert f"region is {NORTH}" in clf.rules_ or f"region is not {NORTH}" in clf.rules_
    assert NORTH not in page
    assert "&lt;b&gt;north&lt;/b&gt;" in page


def test_labeled_and_unlabeled_rows_are_compared_by_means_of_numbers_and_shares_of_levels(people):
    clf, X, y = people
    page = report_html(clf, X, y, rivals=False)
    share = (X["region"][:60] == "south").mean()
    assert f'region is south</td><td class="number">{100 * share:.1f}\N{NO-BREAK SPACE}%</td>' in page
    age = X["age"].fillna(X["age"].median())
    assert f'age</td><td class="number">{age[:60].mean():.2f}</td>' in page


def test_columns_are_counted_and_not_their_features(people):
    clf, X, y = people
    assert clf.tree_.n_features > 3
    assert "120 rows, 3 features" in report_html(clf, X, y, rivals=False)


def test_a_leaf_names_the_conditions_that_its_rows_fulfil(people):
    clf, X, y = people
    root = pruned(clf.tree_)
    for leaf, card in zip(root.leaves, describe_leaves(read_fit(clf, X, y)), strict=True):
        for split, right in conditions(root, leaf):
            assert SplitRule.of(clf.tree_, split.node, clf._features()).text(holds=not right) in card["conditions"]
        assert not any("hold" in sentence for sentence in card["sentences"])


def test_of_several_limits_of_one_sum_a_leaf_names_the_narrowest(tree_of):
    fit = tree_of(3, 2, feature_names=["age", "children"])
    omega = np.zeros((7, 2))
    omega[[0, 1, 3]], omega[[2, 4, 5, 6]] = [1.0, 0.0], [1.0, -3.0]
    gamma = np.array([60.0, 40.0, 20.0, 50.0, 10.0, 30.0, 5.0])
    fit.clf.tree_ = ObliqueTree(fit.clf.tree_.topology, omega, gamma, np.arange(8) % 2)
    assert [card["conditions"] for card in describe_leaves(read_fit(fit.clf, fit.X, fit.y))] == [
        ("age <= 40",),
        ("age <= 40", "age > 50"),
        ("age <= 60", "age > 40", "age - 3 * children <= 10"),
        ("age <= 60", "age > 40", "age - 3 * children > 10"),
        ("age > 60", "age - 3 * children <= 20"),
        ("age > 60", "age - 3 * children <= 20", "age - 3 * children > 30"),
        ("age > 60", "age - 3 * children > 20", "age - 3 * children <= 5"),
        ("age > 60", "age - 3 * children > 20"),
    ]


def test_conditions_with_alternatives_stand_in_brackets():
    coast, north = (
        Feature(f"region={level}", "region", ONEHOT, level=level, rest="south") for level in ("coast", "north")
    )
    omega = np.array([[-1.0, -1.0, 0.0], [0.0, 0.0, -1.0], [0.0, 0.0, 1.0]])
    tree = ObliqueTree.of(Topology(2), omega, np.array([-0.5, -27.0, 10.0]))
    X = np.array([[1.0, 0.0, 30.0], [0.0, 1.0, 20.0], [0.0, 0.0, 5.0], [0.0, 0.0, 50.0]])
    rows = FittedRows(
        tree, (coast, north, Feature("age", "age", fill=40.0)), ("no", "yes"), X, np.array([0, 1, -1, -1])
    )
    assert describe_leaves(rows)[0]["conditions"] == ("region in (coast, north)", "(age >= 27 or missing)")


def test_single_rows_show_the_levels_of_their_columns(people):
    clf, X, y = people
    said = describe_contradictions(read_fit(clf, X, y), range(120))
    assert set(said["features"]) <= {"region", "school", "age"}
    assert len(set(said["features"])) == len(said["features"])
    assert said["rows"]
    for line in said["rows"]:
        shown = dict(zip(said["features"], line["cells"], strict=True))
        cell = X.iloc[int(line["id"])]["region"]
        if "region" in shown:
            assert shown["region"] == ("missing" if pd.isna(cell) else cell)


def test_columns_and_levels_that_look_alike_on_a_page_stay_apart(people):
    clf, X, y = people
    levels = [Feature(f"c={level}", "c", ONEHOT, level=level, rest="r") for level in ("a b", "a  b", "a\tb")]
    features = (Feature("x y", "x y"), Feature("x  y", "x  y"), *levels)
    found = with_clean_names(replace(read_fit(clf, X, y), features=features)).features
    assert [feature.column for feature in found] == ["x y", "x y (2)", "c", "c", "c"]
    assert [feature.level for feature in found] == [None, None, "a b", "a b (2)", "a b (3)"]

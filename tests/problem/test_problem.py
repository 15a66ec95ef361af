import numpy as np
import pytest
from hypothesis import given

from s2oct.errors import InvalidProblem
from s2oct.problem.labels import read_labels
from s2oct.problem.problem import DataSummary, Problem
from tests.messages import naming
from tests.preparing import score_of
from tests.strategies import problems_with_trees
from tests.totals import read_targets


def test_labeled_and_unlabeled_rows_are_kept_apart():
    problem = Problem.from_arrays([[1, 2], [3, 4], [5, 6]], ["b", None, "a"], totals={"a": 1})
    assert problem.X_labeled.tolist() == [[1, 2], [5, 6]]
    assert problem.labels.tolist() == [1, 0]
    assert problem.X_unlabeled.tolist() == [[3, 4]]
    assert problem.totals.tolist() == [1, 0]
    assert problem.X.tolist() == [[1, 2], [5, 6], [3, 4]]
    assert (problem.n_labeled, problem.n_unlabeled, problem.n_rows) == (2, 1, 3)
    assert (problem.n_features, problem.n_classes) == (2, 2)
    assert tuple(map(str, problem.features)) == ("x0", "x1")


@pytest.mark.parametrize(
    ("X", "named"),
    [
        ([1.0, 2.0], ("(2,)", "feature", "shape")),
        (np.empty((0, 2)), ("(0, 2)", "feature", "shape")),
        (np.empty((2, 0)), ("(2, 0)", "feature", "shape")),
        ([["a"], ["b"]], ("feature",)),
        ([[np.nan], [1.0]], ("NaN", "finite", "feature")),
        ([[np.inf], [1.0]], ("NaN", "finite", "feature")),
    ],
    ids=["one axis", "no rows", "no features", "text", "NaN", "infinity"],
)
def test_tables_that_are_no_features_are_refused(X, named):
    with pytest.raises(InvalidProblem, match=naming(*named)):
        Problem.from_arrays(X, ["a", None], totals={"a": 0, "b": 1})


def test_names_that_do_not_fit_the_features_are_refused():
    with pytest.raises(InvalidProblem, match=naming(1, 2)):
        Problem.from_arrays([[0.0], [1.0]], ["a", None], totals={"a": 0, "b": 1}, feature_names=["age", "income"])


def test_one_label_per_row_is_required():
    with pytest.raises(InvalidProblem, match=naming(1, 2)):
        Problem.from_arrays([[0.0], [1.0]], ["a"])


@given(problems_with_trees())
def test_merging_equal_rows_changes_no_cost(drawn):
    """Equal rows share their sides and errors, so P2 sees only their number."""
    problem, tree = drawn
    before, after = score_of(problem, tree), score_of(problem.merged(), tree)
    assert after.leaf_error == pytest.approx(before.leaf_error)
    assert after.xi == before.xi
    assert after.n_margin_violations == before.n_margin_violations
    assert after.min_margin == before.min_margin


@given(problems_with_trees())
def test_merged_rows_are_distinct_and_count_for_what_they_replace(drawn):
    problem, _ = drawn
    merged = problem.merged()
    labeled = np.column_stack([merged.X_labeled, merged.labels])
    assert len(np.unique(labeled, axis=0)) == len(labeled)
    assert len(np.unique(merged.X_unlabeled, axis=0)) == merged.n_unlabeled
    assert merged.n_rows == problem.n_rows
    assert merged.labeled_multiplicity.sum() == problem.n_labeled
    assert merged.merged().n_unlabeled == merged.n_unlabeled


def test_rows_of_different_classes_are_never_merged():
    merged = Problem.from_arrays([[1.0], [1.0], [1.0]], ["a", "b", "a"], totals={"a": 0}).merged()
    assert merged.labels.tolist() == [0, 1]
    assert merged.labeled_multiplicity.tolist() == [2.0, 1.0]


def test_zero_and_minus_zero_are_one_value():
    problem = Problem.from_arrays([[1.0], [0.0], [-0.0]], ["a", None, None], totals={"a": 0, "b": 2})
    assert problem.merged().unlabeled_multiplicity.tolist() == [2.0]


def test_summary_recognises_the_data_and_counts_them():
    rows, y = [[1.0], [2.0], [3.0], [4.0]], ["a", "b", None, None]
    summary = DataSummary.of(Problem.from_arrays(rows, y, totals={"a": 1}))
    assert (summary.n_labeled, summary.n_unlabeled, summary.totals) == (2, 2, (1, 1))
    assert summary == DataSummary.of(Problem.from_arrays(np.array(rows), y, totals={"b": 1}))
    for other in (
        Problem.from_arrays([[1.0], [2.0], [3.0], [4.5]], y, totals={"a": 1}),
        Problem.from_arrays(rows, ["b", "a", None, None], totals={"a": 1}),
        Problem.from_arrays(rows, ["a", "c", None, None], totals={"a": 1}),
        Problem.from_arrays(rows, y, totals={"a": 2}),
    ):
        assert DataSummary.of(other).sha256 != summary.sha256


def test_totals_in_weights_are_whole_where_the_weights_add_up_to_whole_numbers():
    """Inside a fit totals are in units of the mean weight, and the way there and back has rounding errors."""
    y = ["a", "b", *[None] * 10]
    labels = read_labels(y)
    weights = np.array([1.0, 1.0, 3, 1, 2, 3, 1, 2, 3, 1, 2, 1])
    for total in range(20):
        targets = read_targets(labels, {"a": total}, None, weights=weights)
        problem = Problem.from_labels(np.arange(12.0)[:, None], labels, targets, weights=weights)
        assert DataSummary.of(problem).totals == (total, 19 - total)
        assert all(isinstance(known, int) for known in DataSummary.of(problem).totals)

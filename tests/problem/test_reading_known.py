import numpy as np
import polars as pl
import pytest

from s2oct.errors import InvalidProblem
from s2oct.problem.known import read_known
from tests.messages import naming

Y = ["a", "b", "c", *[None] * 6]


def read(y, n_rows, totals, **more):
    """Labels and totals of rows whose features do not matter."""
    known = read_known(np.zeros((n_rows, 1)), y, totals, None, **more)
    return known.labels, known.targets


REGION = np.array(["n", "n", "s", *["n", "s"] * 3], dtype=object)


def test_three_classes_with_totals_by_domain_and_weights_are_read():
    totals = pl.DataFrame({"region": ["n", "s"], "a": [2.5, 1.5], "b": [3.0, 0.0]})
    weights = np.array([1.0, 1, 1, 2, 1, 2, 1, 2, 1])
    labels, targets = read(Y, 9, totals, domains={"region": REGION}, sample_weight=weights)
    assert labels.classes.tolist() == ["a", "b", "c"]
    assert targets.low.tolist() == targets.high.tolist() == [2.5, 3, 0.5, 1.5, 0, 1.5]


def test_classes_that_only_totals_name_are_classes():
    labels, targets = read(["a", "b", *[None] * 6], 8, {"a": 1, "b": 2, "c": 1, "d": 2})
    assert labels.classes.tolist() == ["a", "b", "c", "d"]
    assert targets.low.tolist() == [1, 2, 1, 2]


def test_without_totals_three_classes_get_their_shares_in_whole_rows():
    labels, targets = read([*"aaab", *"bbcc", *[None] * 5], 13, None)
    assert targets.is_plain
    assert targets.low.tolist() == [2, 2, 1]
    assert labels.counts().tolist() == [3, 3, 2]


REFUSED = {
    "one class": (["a", "a", None], {"a": 1}, ("'a'", "label", "class")),
    "a marker among the classes": (
        ["a", "b", "?"],
        None,
        (3, "['?', 'a', 'b']", "'?'"),
    ),
    "as many classes as rows": ([f"{k}" for k in range(5000)], None, (4096, 5000)),
    "another number of labels": (["a", "b"], {"a": 1, "b": 0}, (2, 1)),
}


@pytest.mark.parametrize("name", REFUSED)
def test_labels_that_cannot_be_are_refused(name):
    y, totals, named = REFUSED[name]
    n_rows = 1 if name == "another number of labels" else len(y)
    with pytest.raises(InvalidProblem, match=naming(*named)):
        read(y, n_rows, totals)


def test_unlabeled_rows_without_weight_are_refused():
    with pytest.raises(InvalidProblem, match=naming(0, 6)):
        read(Y, 9, {"a": 0}, sample_weight=np.array([1.0] * 3 + [0.0] * 6))

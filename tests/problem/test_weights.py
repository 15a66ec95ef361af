import numpy as np
import pandas as pd
import polars as pl
import pytest

from s2oct.errors import InvalidProblem
from s2oct.problem.known import read_weights, refuse_weightless

FORMS = {
    "list": [1, 0, 2.5],
    "array": np.array([1, 0, 2.5]),
    "pandas": pd.Series([1, 0, 2.5], index=[7, 3, 1]),
    "polars": pl.Series([1.0, 0.0, 2.5]),
}


@pytest.mark.parametrize("weights", FORMS.values(), ids=FORMS)
def test_weights_are_read_in_the_order_of_rows(weights):
    assert read_weights(weights, 3).tolist() == [1, 0, 2.5]


def test_no_weights_are_none_and_one_number_is_the_weight_of_every_row():
    assert read_weights(None, 3) is None
    assert read_weights(2, 3).tolist() == [2, 2, 2]


def test_the_array_of_the_user_is_not_handed_on():
    given = np.ones(3)
    read_weights(given, 3)[0] = 5
    assert given[0] == 1


REFUSED = {
    "too few": ([1, 2], "one weight per row, got 2 weights for 3 rows"),
    "a table": (np.ones((3, 1)), r"one weight per row, got sample_weight of shape \(3, 1\) for 3 rows"),
    "negative": ([1, -1, 2], r"at least 0, got -1\.0 in row 1 and 1 such weight in all"),
    "missing": ([1, None, np.nan], "at least 0, got nan in row 1 and 2 such weights in all"),
    "infinite": ([1, 1, np.inf], "at least 0, got inf in row 2"),
    "text": (["1", "2", "3"], "sample_weight to be numbers, got"),
    "a column name": ("w", "sample_weight to be numbers, got 'w'"),
    "booleans": ([True, False, True], "sample_weight to be numbers, got"),
    "zeros": ([0, 0, 0], "some are positive, got only zeros"),
    "masked": (np.ma.masked_equal([1, 2, 3], 3), "a weight for every row, got masked weights"),
    "ragged": ([[1], [1, 2], 3], "sample_weight to be numbers"),
    "beyond floats": ([10**400, 1, 1], "sample_weight to be numbers"),
}


@pytest.mark.parametrize(("weights", "sentence"), REFUSED.values(), ids=REFUSED)
def test_weights_that_cannot_be_are_refused(weights, sentence):
    with pytest.raises(InvalidProblem, match=sentence):
        read_weights(weights, 3)


@pytest.mark.parametrize(("weights", "which"), [([0, 0, 1, 1], "labeled"), ([1, 1, 0, 0], "unlabeled")], ids=str)
def test_rows_that_all_weigh_nothing_are_refused(weights, which):
    is_labeled = np.array([True, True, False, False])
    with pytest.raises(InvalidProblem, match=rf"at least one {which} row, got weights of 0, or nearly 0, for all 2"):
        refuse_weightless(np.array(weights, dtype=float), is_labeled)
    refuse_weightless(np.array([0.0, 1, 0, 1]), is_labeled)
    refuse_weightless(np.array([0.0, 1]), np.array([True, True]))

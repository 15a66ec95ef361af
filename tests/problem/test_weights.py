import numpy as np
import pandas as pd
import polars as pl
import pytest

from s2oct.errors import InvalidProblem
from s2oct.problem.known import read_weights, refuse_weightless
from tests.messages import naming

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
    "too few": ([1, 2], (2, 3)),
    "a table": (np.ones((3, 1)), ("sample_weight", "(3, 1)", 3)),
    "negative": ([1, -1, 2], (0, "-1.0", 1)),
    "missing": ([1, None, np.nan], (0, "nan", 1, 2)),
    "infinite": ([1, 1, np.inf], (0, "inf", 2)),
    "text": (["1", "2", "3"], ("sample_weight",)),
    "a column name": ("w", ("sample_weight", "'w'")),
    "booleans": ([True, False, True], ("sample_weight",)),
    "zeros": ([0, 0, 0], ("positive", "zero")),
    "masked": (np.ma.masked_equal([1, 2, 3], 3), ("weight", "masked")),
    "ragged": ([[1], [1, 2], 3], ("sample_weight",)),
    "beyond floats": ([10**400, 1, 1], ("sample_weight",)),
}


@pytest.mark.parametrize(("weights", "named"), REFUSED.values(), ids=REFUSED)
def test_weights_that_cannot_be_are_refused(weights, named):
    with pytest.raises(InvalidProblem, match=naming(*named)):
        read_weights(weights, 3)


@pytest.mark.parametrize(("weights", "which"), [([0, 0, 1, 1], "labeled"), ([1, 1, 0, 0], "unlabeled")], ids=str)
def test_rows_that_all_weigh_nothing_are_refused(weights, which):
    is_labeled = np.array([True, True, False, False])
    with pytest.raises(InvalidProblem, match=naming(which, 0, 2)):
        refuse_weightless(np.array(weights, dtype=float), is_labeled)
    refuse_weightless(np.array([0.0, 1, 0, 1]), is_labeled)
    refuse_weightless(np.array([0.0, 1]), np.array([True, True]))

"""The forms of scikit-learn's categorical_features."""

from __future__ import annotations

import numpy as np
import pytest

from s2oct.errors import InvalidProblem
from s2oct.tables.treatment import read_categorical_features

NAMES = ("age", "region", "owner")


@pytest.mark.parametrize(
    ("given", "names"),
    [
        ("from_dtype", None),
        (None, ()),
        ([], ()),
        (["region"], ("region",)),
        (np.array(["owner", "age"]), ("owner", "age")),
        ([1, 2], ("region", "owner")),
        (np.array([0]), ("age",)),
        ([False, True, False], ("region",)),
        (np.array([True, False, True]), ("age", "owner")),
    ],
    ids=str,
)
def test_columns_are_named_by_type_name_position_or_mask(given, names):
    assert read_categorical_features(given, NAMES) == names


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ("auto", "'from_dtype' or a list, got 'auto'"),
        (["land"], "among the columns .*, got 'land'"),
        ([3], "between 0 and 2, the positions of the columns, got 3"),
        ([-1], "between 0 and 2"),
        ([True], "to have 3 entries, one for each column, got 1"),
        ([0, "age"], "a list of names, positions or booleans"),
        ([1.5], "a list of names, positions or booleans"),
        (7, "a list of names, positions or booleans, got 7"),
    ],
    ids=str,
)
def test_other_forms_are_refused(given, sentence):
    with pytest.raises(InvalidProblem, match=sentence):
        read_categorical_features(given, NAMES)

"""The forms of scikit-learn's categorical_features."""

from __future__ import annotations

import numpy as np
import pytest

from s2oct.errors import InvalidProblem
from s2oct.tables.features import read_categorical_features
from tests.messages import naming

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
    ("given", "named"),
    [
        ("auto", ("'from_dtype'", "'auto'")),
        (["land"], ("'land'", "column")),
        ([3], (0, 2, 3)),
        ([-1], (0, 2)),
        ([True], (3, 1)),
        ([0, "age"], ("boolean",)),
        ([1.5], ("boolean",)),
        (7, (7, "boolean")),
    ],
    ids=str,
)
def test_other_forms_are_refused(given, named):
    with pytest.raises(InvalidProblem, match=naming(*named)):
        read_categorical_features(given, NAMES)

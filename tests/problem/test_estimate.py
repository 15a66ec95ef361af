import math

import pytest

from s2oct import Estimate
from s2oct.errors import InvalidProblem


def test_an_estimate_stands_for_its_95_percent_interval():
    assert Estimate(120, se=10).interval == pytest.approx((100.4, 139.6))


def test_an_estimate_without_error_is_a_point():
    assert Estimate(3.5, se=0).interval == (3.5, 3.5)


@pytest.mark.parametrize(
    ("value", "se", "sentence"),
    [
        (math.nan, 1, "value of an estimate to be a finite number, got nan"),
        ("120", 1, "value of an estimate to be a finite number, got '120'"),
        (True, 1, "value of an estimate to be a finite number, got True"),
        (10**400, 1, "value of an estimate to be a finite number"),
        (1, math.inf, "standard error of an estimate to be a finite number, got inf"),
        (1, None, "standard error of an estimate to be a finite number, got None"),
        (1, -0.1, r"standard error of an estimate to be at least 0, got -0\.1"),
    ],
    ids=["NaN", "text", "boolean", "huge", "infinite", "none", "negative"],
)
def test_an_estimate_of_anything_else_is_refused(value, se, sentence):
    with pytest.raises(InvalidProblem, match=sentence):
        Estimate(value, se)

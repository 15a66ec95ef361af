import math

import pytest

from s2oct import Estimate
from s2oct.errors import InvalidProblem
from tests.messages import naming


def test_an_estimate_stands_for_its_95_percent_interval():
    assert Estimate(120, se=10).interval == pytest.approx((100.4, 139.6))


def test_an_estimate_without_error_is_a_point():
    assert Estimate(3.5, se=0).interval == (3.5, 3.5)


@pytest.mark.parametrize(
    ("value", "se", "named"),
    [
        (math.nan, 1, ("nan", "estimate", "finite")),
        ("120", 1, ("'120'", "estimate", "finite")),
        (True, 1, ("True", "estimate", "finite")),
        (10**400, 1, ("estimate", "finite")),
        (1, math.inf, ("inf", "standard error", "estimate")),
        (1, None, ("None", "standard error", "estimate")),
        (1, -0.1, (0, "-0.1")),
    ],
    ids=["NaN", "text", "boolean", "huge", "infinite", "none", "negative"],
)
def test_an_estimate_of_anything_else_is_refused(value, se, named):
    with pytest.raises(InvalidProblem, match=naming(*named)):
        Estimate(value, se)

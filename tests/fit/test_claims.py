"""No certificate says what is not true: tiny problems with totals of every form, against enumeration."""

from __future__ import annotations

import numpy as np
import pytest

from s2oct import Estimate, S2OCTClassifier
from s2oct.errors import InvalidProblem
from tests.claims import false_claims
from tests.random_problems import random_case

# Those of the paper's model are proved within a second; bench/claims.py tests any number of others.
PAPER_SEEDS = [seed for seed in range(60) if seed % 10 in (0, 5, 7)]
BLOCKS = {
    **{f"paper, {first}": ("paper", PAPER_SEEDS[first::2]) for first in range(2)},
    **{f"evidence, {first}": ("evidence", range(first, 240, 6)) for first in range(6)},
}


def claims_of(seeds, model):
    """False claims by seed; the number of problems that were fitted."""
    found, n_fitted = {}, 0
    for seed in seeds:
        case = random_case(seed)
        try:
            false = false_claims(case, model)
        except InvalidProblem:  # totals that no classes can meet
            continue
        n_fitted += 1
        if false:
            found[seed, case.kind] = false
    return found, n_fitted


@pytest.mark.slow
@pytest.mark.parametrize(("model", "seeds"), BLOCKS.values(), ids=BLOCKS)
def test_no_certificate_says_what_enumeration_refutes(model, seeds):
    found, n_fitted = claims_of(seeds, model)
    assert found == {}
    assert n_fitted > len(seeds) / 3


def test_four_classes_whose_leaf_errors_reach_their_bound_are_proved_as_p2_has_them():
    """The model bounds the errors at all leaves; the check of feasibility once looked at leaves of the row's class."""
    assert false_claims(random_case(1652), "paper") == []


def eight(totals, **parameters):
    X = np.array([0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 0.5, 6.5])[:, None]
    clf = S2OCTClassifier(depth=1, random_state=0, **parameters)
    return clf.fit(X, [None] * 8 + ["a", "b"], totals=totals).certificate_


@pytest.mark.parametrize("guide", [None, "auto"])
@pytest.mark.parametrize(
    ("total", "least"),
    [
        (Estimate(2.5, se=0.1), 0.304),
        ((3.03, 3.08), 0.03),
        ((3.93, 3.98), 0.02),
        (Estimate(3.5, se=0.0), 0.5),
        ((2.9, 3.1), 0.0),
    ],
)
def test_bounds_that_no_number_of_rows_meets_are_missed_by_as_little_as_possible(total, least, guide):
    certificate = eight({"a": total}, guide=guide, solver=None)
    assert certificate.xi == pytest.approx(least)
    assert certificate.least_xi == pytest.approx(least)
    assert certificate.lower_bound <= certificate.objective + 1e-9
    assert (certificate.ended == "proved") == certificate.proved_best


def test_a_uniform_weight_that_does_not_divide_the_total_gives_no_false_bound():
    X = np.arange(10.0)[:, None]
    y = ["a", *[None] * 8, "b"]
    certificate = (
        S2OCTClassifier(depth=1, guide=None, solver=None, random_state=0)
        .fit(X, y, totals={"a": 7.0, "b": 9.0}, sample_weight=np.full(10, 2.0))
        .certificate_
    )
    assert certificate.xi == certificate.least_xi == pytest.approx(1.0)
    assert certificate.proved
    assert certificate.ended == "proved"

"""What is kept of a certificate."""

from __future__ import annotations

import dataclasses

import pytest

from s2oct.fit.certificate import Certificate, OCTHCertificate
from s2oct.p2.proof import EVIDENCE, PAPER, PROVED, TIME_LIMIT
from s2oct.study.tasks import certificate_facts

P2 = Certificate(
    objective=2.0,
    lower_bound=0.0,
    feasible=True,
    bound_source="a solver",
    min_margin=1.0,
    seconds=0.5,
    history=(),
    leaf_error=1.0,
    xi=1.0,
    n_margin_violations=0,
    ended=TIME_LIMIT,
    labels=(1, 1),
    n_labeled=2,
    n_unlabeled=2,
    n_contradicted=1,
    n_splits=1,
    n_terms=1,
    totals=(1, 1),
    assigned=(0, 2),
)
GUIDED = dataclasses.replace(
    P2,
    guide_cost=3.0,
    guide_weight=0.5,
    feasible=False,
    ended=PROVED,
    model=EVIDENCE,
    evidence_cost=2.0,
    evidence_bound=2.0,
    proved_among="trees of depth 2 with one feature per split",
)


def test_a_claim_of_p2_keeps_its_costs():
    kept = certificate_facts(P2)
    assert [kept[name] for name in ("objective", "leaf_error", "xi", "n_errors")] == [2.0, 1.0, 1.0, None]
    assert not kept["proved"]
    assert not kept["settled"]


def test_a_claim_of_octh_keeps_its_errors():
    claim = OCTHCertificate(
        0.0, 0.0, True, "a test", 1.0, 0.1, (), n_errors=0, n_coefficients=2, ended=PROVED, labels=(1, 1)
    )
    kept = certificate_facts(claim)
    assert kept["proved"]
    assert kept["settled"]
    assert [kept[name] for name in ("leaf_error", "xi", "n_errors")] == [None, None, 0]


def test_a_fit_of_the_evidence_model_is_settled_when_it_ended_with_a_proof():
    """Its tree need not be feasible for P2, let alone of least cost there."""
    kept = certificate_facts(GUIDED)
    assert not kept["proved"]
    assert kept["settled"]
    assert (kept["guide_cost"], kept["guide_weight"]) == (3.0, 0.5)


@pytest.mark.parametrize(
    "change",
    [{"evidence_bound": 1.0}, {"proved_among": ""}, {"model": PAPER}, {"model": PAPER, "guide_weight": 0.0}],
)
def test_without_such_a_proof_it_is_not_and_a_fit_of_p2_needs_one_of_p2(change):
    assert not certificate_facts(dataclasses.replace(GUIDED, **change))["settled"]

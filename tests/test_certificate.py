"""A certificate is computed from the tree alone: whatever a solver says, it never claims more than is true."""

from dataclasses import fields, replace

import numpy as np
import pytest

from s2oct.fit.certificate import Certificate, certify, certify_octh
from s2oct.fit.context import Incumbent
from s2oct.p2.milp import build_p2, decode_tree, encode_tree
from s2oct.p2.octh_milp import OcthSpec, build_octh, encode_octh, with_majority_classes
from s2oct.p2.prepared import Scaling
from s2oct.p2.proof import ENDINGS, TIME_LIMIT, Bound, FitRecord, Moment, lower_bound
from s2oct.problem.problem import Problem
from s2oct.stopping import Clock
from s2oct.trees.tree import ObliqueTree, Topology
from tests.messages import names
from tests.preparing import cost_of, prepared_as_is
from tests.solvers.watchers import violations

TOLERANCE = 1e-5
"""Gurobi's default for integrality; 1e-5 times M = 4e5 is slack 4 in (BIGM1) and (BIGM2)."""


def record(value: float, source: str = "a bound", seconds: float = 0.0) -> FitRecord:
    """A fit that ran out of time with this lower bound."""
    return FitRecord(Bound(value, source), seconds, TIME_LIMIT)


def false_optimum(position: float):
    """A model with M = 4e5 and a vector that satisfies it within the tolerance at cost 0, but for one row of A.

    Labeled: A at 0, B at 1. Unlabeled: one row at ``position``, which the total wants in A, and one far away in B.
    Values are 2 x - 1, so that the row at ``position`` belongs to A only by a binary that is off by 5e-6.
    """
    far = 39_999.9
    problem = Problem.from_arrays([[0.0], [1.0], [position], [far]], ["A", "B", None, None], totals={"A": 1, "B": 1})
    prepared = prepared_as_is(problem, 1, 10.0)
    assert pytest.approx(4e5) == prepared.bounds.M
    milp = build_p2(prepared)
    tree = ObliqueTree.of(prepared.topology, [[2.0]], [1.0])
    x = encode_tree(milp, problem, tree)
    off = 2.0 * position / prepared.bounds.M
    for block, value in (("z", [off, 1.0]), ("delta", [1.0 - off, 0.0]), ("xi", [off])):
        x[milp.blocks[block].columns] = value
    return prepared, milp, x


@pytest.mark.parametrize("position", [0.5, 0.7, 1.0])
def test_the_false_optimum_passes_for_one_within_the_solvers_tolerance(position):
    """Otherwise the tests below would show nothing."""
    _, milp, x = false_optimum(position)
    assert violations(milp, x, tolerance=TOLERANCE) == {}
    assert milp.c @ x == pytest.approx(0.0, abs=TOLERANCE)


def test_a_false_optimum_is_reported_at_its_true_cost_and_unproved():
    """The solver says cost 0; the row at 1 is of class B for the tree, so the total is missed by 1."""
    prepared, milp, x = false_optimum(1.0)
    tree = decode_tree(milp, x, prepared.topology)
    certificate = certify(prepared, tree, record(float(milp.c @ x), "the solver", 1.0))
    assert certificate.objective == 1.0
    assert certificate.xi == 1.0
    assert certificate.leaf_error == 0.0
    assert certificate.gap == pytest.approx(1.0, abs=TOLERANCE)
    assert certificate.proved is False
    assert certificate.proved_by is None
    assert "not proved" in str(certificate)


@pytest.mark.parametrize("position", [0.5, 0.7])
def test_a_row_too_near_a_hyperplane_keeps_a_cheap_tree_from_being_proved(position):
    """At 0.5 the row is on the hyperplane and counts as A: the cost meets the bound, but P2 forbids the tree."""
    prepared, milp, x = false_optimum(position)
    certificate = certify(prepared, decode_tree(milp, x, prepared.topology), record(0.0, "the solver", 1.0))
    assert certificate.n_margin_violations == 1
    assert certificate.min_margin == pytest.approx(2 * position - 1)
    assert certificate.feasible is False
    assert certificate.proved is False
    assert "not feasible" in str(certificate)


@pytest.mark.parametrize("position", [0.5, 0.7, 1.0])
def test_a_false_optimum_never_becomes_the_incumbent_at_its_claimed_cost(position):
    prepared, milp, x = false_optimum(position)

    def assess(tree: ObliqueTree) -> tuple[ObliqueTree, float] | None:
        cost = cost_of(prepared, tree)
        return None if cost is None else (tree, cost)

    incumbent = Incumbent(Clock(60.0), assess, Bound(lower_bound(prepared.problem, 1.0), "the start"))
    incumbent.offer(ObliqueTree.constant(prepared.topology, 1, right=False))
    incumbent.offer(decode_tree(milp, x, prepared.topology))
    incumbent.raise_bound(float(milp.c @ x), "the solver")
    assert incumbent.best_cost == (1.0 if position == 1.0 else 3.0)
    assert not incumbent.is_decided


def test_a_true_optimum_is_proved(line):
    """The same path, with nothing to find fault with."""
    tree = ObliqueTree.of(line.topology, [[1.0]], [5.0])
    certificate = certify(line.prepared, tree, record(0.0, "a test", 2.0))
    assert (certificate.objective, certificate.gap, certificate.proved) == (0.0, 0.0, True)
    assert certificate.proved_by == "a test"
    assert certificate.min_margin == 3.0
    assert "proved optimal by a test" in str(certificate)


def test_a_positive_cost_is_proved_only_by_a_bound_that_meets_it(line):
    tree = ObliqueTree.constant(line.topology, 1, right=True)
    for value, proved in ((0.0, False), (3.9, False), (4.0, True)):
        certificate = certify(line.prepared, tree, record(value))
        assert certificate.objective == 4.0
        assert certificate.proved is proved


def test_a_bound_above_the_cost_proves_nothing(line):
    """Such a bound is false: the tree itself refutes it."""
    tree = ObliqueTree.constant(line.topology, 1, right=True)
    certificate = certify(line.prepared, tree, record(9.0, "a false bound"))
    assert certificate.proved is False


def test_a_tree_steeper_than_s_is_not_feasible(line):
    prepared = line.prepared
    steep = ObliqueTree.of(prepared.topology, [[prepared.bounds.s * 1.01]], [prepared.bounds.s * 5])
    assert certify(prepared, steep, record(0.0)).proved is False


def test_the_certificate_has_the_fields_of_the_contract():
    names = {field.name for field in fields(Certificate)} | {"gap", "proved", "proved_by"}
    claims = {"objective", "leaf_error", "xi", "lower_bound", "gap", "proved", "proved_by"}
    assert names >= claims | {"min_margin", "seconds", "history"}


SPEC = OcthSpec(min_leaf=2, complexity=0.1, mu=0.2)


@pytest.fixture
def unit_line():
    """Six labeled rows in [0, 1]: A A A B B A from the left."""
    X = [[0.0], [0.1], [0.2], [0.7], [0.8], [1.0]]
    return Problem.from_arrays(X, ["A", "A", "A", "B", "B", "A"], totals={"A": 0})


def octh_tree(omega, gamma, classes=(0, 1)):
    return ObliqueTree(Topology(1), np.array([[omega]]), np.array([gamma]), np.array(classes))


def test_octh_costs_its_errors_over_the_baseline_plus_its_coefficients(unit_line):
    certificate = certify_octh(unit_line, octh_tree(1.0, 0.4), SPEC, record(0.0))
    assert certificate.n_errors == 1
    assert certificate.n_coefficients == 1
    assert certificate.objective == pytest.approx(1 / 2 + 0.1)
    assert certificate.feasible
    assert not certificate.proved
    assert certificate.min_margin == pytest.approx(0.2)
    assert names(str(certificate), "1 label", "misclassified", "time limit")


@pytest.mark.parametrize(
    ("tree", "feasible"),
    [
        (octh_tree(1.0, 0.45), True),
        (octh_tree(-1.0, -0.45, (1, 0)), True),
        (octh_tree(0.0, -1.0), True),
        (octh_tree(1.01, 0.45), False),  # |a|_1 above 1
        (octh_tree(1.0, 0.25), False),  # nearer than mu / 2 to the row at 0.2
        (octh_tree(1.0, 0.9), False),  # one row in the right leaf, two are asked for
    ],
    ids=["in the middle", "turned around", "no split", "too steep", "too near", "small leaf"],
)
def test_octh_is_feasible_where_norm_gap_and_leaf_sizes_are_kept(unit_line, tree, feasible):
    assert certify_octh(unit_line, tree, SPEC, record(0.0)).feasible is feasible


@pytest.mark.parametrize(
    ("omega", "gamma"),
    [([1.0, 0.0, 0.0], [1.2, -0.1, -0.1]), ([0.0, 0.0, 1.0], [-0.1, -0.1, 0.45])],
    ids=["offset beyond 1", "split below a node that does not split"],
)
def test_an_octh_tree_outside_the_model_is_not_called_feasible(unit_line, omega, gamma):
    """OCT-H's own rows (offset_upper, hierarchy) forbid these, so no solver can start from them."""
    topology = Topology(2)
    tree = with_majority_classes(unit_line, ObliqueTree.of(topology, np.array([omega]).T, np.array(gamma)))
    spec = OcthSpec(min_leaf=1, mu=0.2)
    milp = build_octh(unit_line, topology, spec)
    assert violations(milp, encode_octh(milp, unit_line, tree, spec)) != {}
    assert not certify_octh(unit_line, tree, spec, record(0.0)).feasible


def test_octh_is_certified_in_the_users_units_and_bounded_in_those_of_the_model(unit_line):
    """Ten times as wide rows: the hyperplane is steep enough in [0, 1], where its coefficient is 10 times larger."""
    wide = replace(unit_line, X_labeled=10 * unit_line.X_labeled)
    scaling = Scaling.unit(wide.X)
    kept, too_steep = octh_tree(0.1, 0.45), octh_tree(0.101, 0.45)
    assert certify_octh(wide, kept, SPEC, record(0.0), scaling=scaling).feasible
    assert not certify_octh(wide, too_steep, SPEC, record(0.0), scaling=scaling).feasible
    assert certify_octh(wide, too_steep, SPEC, record(0.0)).feasible


@pytest.mark.parametrize("ended", ENDINGS)
def test_a_certificate_repeats_how_the_fit_went(line, unit_line, ended):
    moments = (Moment(0.1, 4.0, 0.0), Moment(0.2, 0.0, 0.0))
    fit = FitRecord(Bound(0.0, "a bound"), 2.5, ended, moments)
    tree = ObliqueTree.of(line.topology, [[1.0]], [5.0])
    certificate = certify(line.prepared, tree, fit)
    for claim in (certificate, certify_octh(unit_line, octh_tree(1.0, 0.45), SPEC, fit)):
        assert (claim.ended, claim.seconds, claim.history, claim.lower_bound) == (ended, 2.5, moments, 0.0)
    assert certificate.coefficient_bound == line.prepared.bounds.s

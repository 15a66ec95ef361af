"""Lower bounds of OCT-H from small parts of the rows."""

from __future__ import annotations

import numpy as np
import pytest

from s2oct import OCTHClassifier
from s2oct.fit.context import Incumbent
from s2oct.fit.octh import SMALL_PARTS, raise_bound_by_parts
from s2oct.p2.octh_milp import OcthSpec, baseline_errors, build_octh
from s2oct.problem.problem import Problem
from s2oct.solvers import load_solver
from s2oct.stopping import Clock, Deadline
from s2oct.trees.tree import Topology
from tests.solvers.watchers import least_cost


def errors_by_parts(problem: Problem, topology: Topology, spec: OcthSpec) -> float:
    """The bound by parts, in errors; no tree is known that could refute it."""
    incumbent = Incumbent(Clock(20.0), lambda tree: None)
    raise_bound_by_parts(problem, topology, spec, incumbent, Deadline.after(20.0))
    return incumbent.bound.value * baseline_errors(problem)


def line(labels: str) -> Problem:
    return Problem.from_arrays(np.linspace(0, 1, len(labels))[:, None], list(labels))


def test_parts_without_common_rows_add_up():
    """Four rows of a line in turn cost one split an error, and so do the next four, far away."""
    X = np.array([0.0, 0.02, 0.04, 0.06, 0.94, 0.96, 0.98, 1.0])[:, None]
    problem = Problem.from_arrays(X, list("ABABABAB"))
    assert errors_by_parts(problem, Topology(1), OcthSpec(min_leaf=1)) == pytest.approx(2.0)


@pytest.mark.parametrize("seed", range(5))
def test_parts_never_exceed_the_optimum(seed):
    rng = np.random.default_rng(seed)
    labels = "".join(rng.choice(["A", "B"], 9)) + "AB"
    problem, depth = line(labels), int(rng.integers(1, 3))
    spec = OcthSpec(min_leaf=int(rng.integers(1, 4)), mu=float(rng.choice([0.005, 0.12])))
    optimum = least_cost(load_solver("highs"), build_octh(problem, Topology(depth), spec))
    assert errors_by_parts(problem, Topology(depth), spec) <= optimum * baseline_errors(problem) + 1e-6


def test_equal_rows_count_by_the_lead_of_their_largest_class():
    """Two rows of B and one of A at each second place: one error each is certain, and one part adds another."""
    X = np.array([0.0, 0.3, 0.3, 0.3, 0.6, 1.0, 1.0, 1.0])[:, None]
    problem = Problem.from_arrays(X, list("ABBAABBA"))
    assert errors_by_parts(problem, Topology(1), OcthSpec(min_leaf=1)) == pytest.approx(3.0)


def test_a_fit_says_that_parts_proved_it(stepping_clock):
    stepping_clock.step = 0.01
    X = np.linspace(0, 1, 4)[:, None]
    clf = OCTHClassifier(depth=1, min_leaf=1, time_limit=20, random_state=0).fit(X, list("ABAB"))
    assert clf.certificate_.n_errors == 1
    assert clf.certificate_.proved_by == SMALL_PARTS

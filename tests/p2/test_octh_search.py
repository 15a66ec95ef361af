"""The search for OCT-H."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from s2oct import OCTHClassifier
from s2oct.fit.certificate import certify_octh
from s2oct.p2.octh_milp import OcthSpec, build_octh, encode_octh
from s2oct.p2.octh_search import OcthSearch
from s2oct.p2.proof import Bound, FitRecord
from s2oct.problem.problem import Problem
from s2oct.trees.tree import Topology
from tests.solvers.watchers import violations


def unit_problem(seed: int, n: int = 30, p: int = 3) -> Problem:
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n, p))
    return Problem.from_arrays(X, ["A", "B", *rng.choice(["A", "B"], n - 2).tolist()])


@given(seed=st.integers(0, 10**5), depth=st.integers(1, 3))
def test_the_standard_form_of_any_tree_satisfies_every_row_of_the_model_but_the_gap(seed, depth):
    """Splits, hierarchy, classes and counts are OCT-H's; only rows within the gap may be left over."""
    problem, topology = unit_problem(seed), Topology(depth)
    rng = np.random.default_rng(seed)
    omega = rng.normal(size=(topology.n_branches, 3)) * (rng.random((topology.n_branches, 1)) < 0.7)
    spec = OcthSpec(min_leaf=1)
    planes = omega, rng.normal(size=topology.n_branches) * 0.3
    tree = OcthSearch(problem, topology, spec, seed=0).standard_form(planes)
    milp = build_octh(problem, topology, spec)
    x = encode_octh(milp, problem, tree, spec)
    assert set(violations(milp, x)) <= {"left", "right"}
    certificate = certify_octh(problem, tree, spec, FitRecord(Bound(0.0, "test"), 0.0, "converged"))
    assert certificate.objective == pytest.approx(milp.c @ x)
    assert certificate.feasible == (not violations(milp, x))


def test_separable_classes_are_proved_without_a_solver():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(90, 4)) * [1, 10, 100, 1000]
    y = np.where((X[:, 0] > 0) ^ (X[:, 1] > 0), "no", "yes")
    clf = OCTHClassifier(depth=2, solver=None, time_limit=20, random_state=0).fit(X, y)
    assert clf.certificate_.proved
    assert (clf.predict(X) == y).all()


def test_three_classes_are_separated_too():
    rng = np.random.default_rng(2)
    X = np.vstack([rng.normal(size=(20, 2)) + centre for centre in ([0, 0], [8, 0], [0, 8])])
    y = np.repeat(["a", "b", "c"], 20)
    clf = OCTHClassifier(depth=2, solver=None, time_limit=20, random_state=0).fit(X, y)
    assert clf.certificate_.proved
    assert clf.score(X, y) == 1.0


@pytest.mark.slow
def test_splits_that_would_leave_too_few_rows_are_taken_out():
    """Three classes along a line: most annealed trees cut off a handful of rows, which no leaf may have."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(200, 2))
    place = X @ [1.0, 0.3]
    y = np.where(place < -1, "a", np.where(place > 1, "c", "b"))
    clf = OCTHClassifier(time_limit=3.0, solver=None, random_state=0).fit(X, y)
    assert clf.certificate_.feasible
    assert clf.certificate_.n_errors <= 10
    leaves, sizes = np.unique(clf.apply(X), return_counts=True)
    assert len(leaves) > 2
    assert sizes.min() >= 10

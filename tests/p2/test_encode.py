"""A tree and its solution vector are two views of one thing, in every model."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from s2oct.fit.certificate import certify_octh
from s2oct.p2.milp import build_lean, build_p2, decode_tree, encode_tree
from s2oct.p2.octh_milp import OcthSpec, build_octh, decode_octh, encode_octh, with_majority_classes
from s2oct.p2.proof import NOT_NEGATIVE, TIME_LIMIT, FitRecord
from s2oct.problem.problem import Problem
from s2oct.trees.tree import ObliqueTree, Topology
from tests.preparing import merged, prepared_as_is, score_of
from tests.solvers.watchers import violations
from tests.strategies import feasible_trees, problems_with_trees


@pytest.mark.parametrize("build", [build_p2, build_lean])
@given(drawn=feasible_trees())
def test_an_encoded_tree_is_feasible_and_costs_its_score(build, drawn):
    """The objective evaluated from the tree is the model's, and every row of the model holds."""
    prepared, tree = drawn
    milp = build(prepared)
    x = encode_tree(milp, prepared.problem, tree)
    assert violations(milp, x) == {}
    assert milp.c @ x == pytest.approx(score_of(prepared.problem, tree, prepared.spec.C).objective)


@given(drawn=feasible_trees())
def test_an_encoded_tree_is_feasible_in_the_lean_model_of_merged_rows(drawn):
    prepared, tree = drawn
    fewer = merged(prepared)
    milp = build_lean(fewer)
    x = encode_tree(milp, fewer.problem, tree)
    assert violations(milp, x) == {}
    assert milp.c @ x == pytest.approx(score_of(prepared.problem, tree, prepared.spec.C).objective)


@pytest.mark.parametrize("build", [build_p2, build_lean])
@given(drawn=problems_with_trees())
def test_decoding_an_encoded_tree_gives_the_tree_back(build, drawn):
    problem, tree = drawn
    milp = build(prepared_as_is(problem, tree.topology.depth, 4.0))
    decoded = decode_tree(milp, encode_tree(milp, problem, tree), tree.topology)
    assert decoded.omega.tolist() == tree.omega.tolist()
    assert decoded.gamma.tolist() == tree.gamma.tolist()
    assert decoded.leaf_classes.tolist() == tree.leaf_classes.tolist()


@given(drawn=problems_with_trees())
def test_encoding_a_decoded_vector_gives_the_vector_back(drawn):
    """z, delta, alpha, beta, y and xi all follow from omega and gamma."""
    problem, tree = drawn
    milp = build_p2(prepared_as_is(problem, tree.topology.depth, 4.0))
    x = encode_tree(milp, problem, tree)
    assert encode_tree(milp, problem, decode_tree(milp, x, tree.topology)).tolist() == x.tolist()


def test_a_decoded_tree_does_not_share_memory_with_the_solvers_vector(corners):
    milp = build_p2(corners.prepared)
    x = np.zeros(milp.n_columns)
    tree = decode_tree(milp, x, corners.topology)
    x[:] = 1.0
    assert not tree.omega.any()


@st.composite
def octh_trees(draw):
    """Rows in the unit square, a tree with |a|_1 <= 1, and mu small enough for the rows nearest to it."""
    depth, n = draw(st.integers(1, 3)), draw(st.integers(2, 8))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    X = rng.uniform(size=(n, 2))
    y = ["A", "B", *rng.choice(["A", "B", "C"], n - 2)]
    problem = Problem.from_arrays(X, y, totals=dict.fromkeys(y, 0))
    topology = Topology(depth)
    omega = rng.normal(size=(topology.n_branches, 2))
    omega /= np.abs(omega).sum(axis=1)[:, None]
    # A node that does not split sends every row to the right, and then its children do not split either.
    for b in topology.branches:
        if rng.uniform() < 0.2 or (b > 1 and not omega[b // 2 - 1].any()):
            omega[b - 1] = 0.0
    offset = np.einsum("bj,bj->b", omega, rng.uniform(size=omega.shape))
    # OCT-H's own offset is gamma + mu / 2, and at most 1.
    gamma = np.where(omega.any(axis=1), np.minimum(offset, 0.95), -1.0)
    tree = with_majority_classes(problem, ObliqueTree.of(topology, omega, gamma))
    mu = min(0.1, 1.9 * float(tree.path_margin(X).min()))
    return problem, tree, OcthSpec(min_leaf=1, complexity=draw(st.sampled_from([0.0, 0.25])), mu=mu)


@given(octh_trees())
def test_an_encoded_octh_tree_is_feasible_and_costs_what_its_certificate_says(drawn):
    problem, tree, spec = drawn
    milp = build_octh(problem, tree.topology, spec)
    x = encode_octh(milp, problem, tree, spec)
    certificate = certify_octh(problem, tree, spec, FitRecord(NOT_NEGATIVE, 0.0, TIME_LIMIT))
    assert certificate.feasible
    assert violations(milp, x) == {}
    assert milp.c @ x == pytest.approx(certificate.objective)


@given(octh_trees())
def test_decoding_an_encoded_octh_tree_gives_the_tree_back(drawn):
    """Nodes that do not split keep their direction only."""
    problem, tree, spec = drawn
    milp = build_octh(problem, tree.topology, spec)
    decoded = decode_octh(milp, encode_octh(milp, problem, tree, spec), problem, tree.topology, spec)
    splits = tree.omega.any(axis=1)
    assert decoded.omega.tolist() == tree.omega.tolist()
    assert decoded.gamma[splits] == pytest.approx(tree.gamma[splits])
    assert (decoded.gamma[~splits] < 0).all()
    assert decoded.leaf_classes.tolist() == tree.leaf_classes.tolist()
    assert decoded.predict(problem.X_labeled).tolist() == tree.predict(problem.X_labeled).tolist()


def test_an_octh_tree_with_a_leaf_below_the_minimum_violates_that_row_only():
    problem = Problem.from_arrays([[0.0], [0.5], [1.0]], ["A", "A", "B"], totals={"A": 0})
    spec = OcthSpec(min_leaf=2, mu=0.1)
    milp = build_octh(problem, Topology(1), spec)
    x = encode_octh(milp, problem, ObliqueTree.of(Topology(1), [[1.0]], [0.75]), spec)
    assert set(violations(milp, x)) == {"min_leaf"}

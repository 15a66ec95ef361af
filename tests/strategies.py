"""What hypothesis draws: small problems and trees whose numbers are multiples of 1/4, so that sums are exact."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import assume
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from s2oct.p2.costs import mended
from s2oct.p2.prepared import Prepared
from s2oct.problem.problem import Problem
from s2oct.problem.totals import Targets
from s2oct.trees.tree import ObliqueTree, Topology
from tests.preparing import feasible_cost, prepared_as_is

quarters = st.integers(-16, 16).map(lambda k: k / 4)
prices = st.sampled_from([0.25, 1.0, 3.0])


def tables(n_rows: st.SearchStrategy[int], n_features: int) -> st.SearchStrategy[np.ndarray]:
    """Feature tables of quarters."""
    return n_rows.flatmap(lambda n: arrays(float, (n, n_features), elements=quarters))


@st.composite
def problems(draw, *, max_labeled: int = 6, max_unlabeled: int = 6) -> Problem:
    """Problems with 1 to 3 features; equal rows and contradictions are common."""
    n, m = draw(st.integers(1, max_labeled)), draw(st.integers(0, max_unlabeled))
    X = draw(tables(st.just(n + m), draw(st.integers(1, 3))))
    y = draw(st.lists(st.sampled_from("AB"), min_size=n, max_size=n)) + [None] * m
    total = draw(st.integers(0, m))
    return Problem.from_arrays(X, y, totals={"A": total, "B": m - total})


@st.composite
def trees(draw, n_features: int, *, max_depth: int = 3) -> ObliqueTree:
    """Trees of any depth up to the given one."""
    topology = Topology(draw(st.integers(1, max_depth)))
    omega = draw(arrays(float, (topology.n_branches, n_features), elements=quarters))
    gamma = draw(arrays(float, topology.n_branches, elements=quarters))
    return ObliqueTree.of(topology, omega, gamma)


@st.composite
def problems_with_trees(draw) -> tuple[Problem, ObliqueTree]:
    """A problem and a tree over its features."""
    problem = draw(problems())
    return problem, draw(trees(problem.n_features))


@st.composite
def feasible_trees(draw) -> tuple[Prepared, ObliqueTree]:
    """A problem and a tree that P2 admits: unlabeled rows nearer than 1 to a hyperplane are left out."""
    problem, tree = draw(problems_with_trees())
    keeps = (np.abs(tree.values(problem.X_unlabeled)) >= 1).all(axis=1)
    m = int(keeps.sum())
    total = min(int(problem.totals[0]), m)
    problem = replace(
        problem,
        X_unlabeled=problem.X_unlabeled[keeps],
        unlabeled_multiplicity=np.ones(m),
        targets=Targets.exact([total, m - total], m),
    )
    prepared = prepared_as_is(problem, tree.topology.depth, 4.0, draw(prices))
    assignment = mended(prepared, tree)
    assume(feasible_cost(prepared, assignment) is not None)
    return prepared, assignment.tree

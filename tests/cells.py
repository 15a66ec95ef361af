"""Problems with several classes, domains, bounds and weights, and what a tree costs there by plain loops."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import assume
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from s2oct.p2.costs import mended
from s2oct.p2.prepared import Prepared
from s2oct.problem.labels import Labels
from s2oct.problem.problem import Problem
from s2oct.problem.totals import Margin, Targets
from s2oct.trees.tree import ObliqueTree, Topology
from tests.oracles import paths, rows_off_by_loops, walk
from tests.preparing import feasible_cost, prepared_as_is
from tests.strategies import prices, quarters


@st.composite
def margins(draw, m: int, n_classes: int, name: str = "region") -> Margin:
    """Totals of 1 to 4 domains: exact ones that may or may not be reached, or bounds."""
    n_domains = draw(st.integers(1, 4))
    codes = np.array(draw(st.lists(st.integers(0, n_domains - 1), min_size=m, max_size=m)), dtype=np.int64)
    low = np.array(
        draw(st.lists(st.integers(0, 4), min_size=n_domains * n_classes, max_size=n_domains * n_classes)), dtype=float
    ).reshape(n_domains, n_classes)
    wider = draw(st.sampled_from([0.0, 0.0, 1.0, 2.0]))
    high = low + wider
    value = low if wider == 0 else np.full_like(low, np.nan)
    return Margin(name, np.arange(n_domains).astype(object), codes, low, high, value, np.zeros_like(low))


@st.composite
def problems_of_cells(draw, n_classes: int, *, max_unlabeled: int = 7, weighted: bool | None = None) -> Problem:
    """Problems with 1 or 2 features, 1 or 2 margins, and sometimes weights of quarters."""
    n, m, p = draw(st.integers(1, 5)), draw(st.integers(1, max_unlabeled)), draw(st.integers(1, 2))
    X = draw(arrays(float, (n + m, p), elements=quarters))
    codes = np.array(draw(st.lists(st.integers(0, n_classes - 1), min_size=n, max_size=n)) + [-1] * m)
    known = [draw(margins(m, n_classes, name)) for name in ("region", "sex")[: draw(st.integers(1, 2))]]
    weights = None
    if draw(st.booleans()) if weighted is None else weighted:
        weights = np.array(draw(st.lists(st.integers(1, 8), min_size=n + m, max_size=n + m))) / 4
    labels = Labels(np.arange(n_classes).astype(object), codes)
    return Problem.from_labels(X, labels, Targets(tuple(known)), weights=weights)


@st.composite
def topologies(draw, n_classes: int, *, max_depth: int = 3) -> Topology:
    """Shapes whose leaves have all sorts of classes: two different ones below every node, in ascending order."""
    depth = draw(st.integers(1 if n_classes == 2 else 2, max_depth))
    if n_classes == 2:
        return Topology(depth)
    pairs = [(a, b) for b in range(n_classes) for a in range(b)]
    chosen = draw(st.lists(st.sampled_from(pairs), min_size=2 ** (depth - 1), max_size=2 ** (depth - 1)))
    # Every class has a leaf, so that every labeled row has one.
    assume(len({k for pair in chosen for k in pair}) == n_classes)
    return Topology(depth, n_classes, tuple(k for pair in chosen for k in pair))


@st.composite
def trees_of_cells(draw, *, max_depth: int = 3, n_classes: int | None = None) -> tuple[Prepared, ObliqueTree]:
    """A problem and a tree that P2 admits: unlabeled rows nearer than 1 to a hyperplane are left out."""
    n_classes = draw(st.integers(2, 4)) if n_classes is None else n_classes
    problem, topology = draw(problems_of_cells(n_classes)), draw(topologies(n_classes, max_depth=max_depth))
    omega = draw(arrays(float, (topology.n_branches, problem.n_features), elements=quarters))
    tree = ObliqueTree.of(topology, omega, draw(arrays(float, topology.n_branches, elements=quarters)))
    keeps = np.flatnonzero((np.abs(tree.values(problem.X_unlabeled)) >= 1).all(axis=1))
    weight = problem.unlabeled_weight
    problem = replace(
        problem,
        X_unlabeled=problem.X_unlabeled[keeps],
        unlabeled_multiplicity=np.ones(len(keeps)),
        unlabeled_weight=None if weight is None else weight[keeps],
        targets=problem.targets.of_rows(keeps),
    )
    prepared = prepared_as_is(problem, topology.depth, 4.0, draw(prices))
    prepared = replace(prepared, topology=topology)
    assignment = mended(prepared, tree)
    assume(feasible_cost(prepared, assignment) is not None)
    return prepared, assignment.tree


def cost_by_loops(problem: Problem, tree: ObliqueTree) -> tuple[float, float]:
    """Errors of the labeled rows, and rows off the totals, by the words of the model."""
    n_leaves = tree.topology.n_leaves
    leaf_error = 0.0
    for x, label, size in zip(problem.X_labeled, problem.labels, problem.labeled_size, strict=True):
        errors = []
        for leaf, path in paths(tree.topology.depth).items():
            if tree.leaf_classes[leaf - n_leaves] != label:
                continue
            values = [float(tree.omega[b - 1] @ x - tree.gamma[b - 1]) for b, _ in path]
            sides = [1.0 if side == "R" else -1.0 for _, side in path]
            errors.append(sum(max(0.0, 1 - s * v) for s, v in zip(sides, values, strict=True)))
        leaf_error += float(size) * min(errors)
    classes = [int(tree.leaf_classes[walk(tree, x) - n_leaves]) for x in problem.X_unlabeled]
    return leaf_error, rows_off_by_loops(problem, classes)

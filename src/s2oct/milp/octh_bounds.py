"""Lower bounds on the errors of OCT-H by counting, which need no solver."""

from __future__ import annotations

from itertools import combinations

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.spatial import KDTree

from s2oct.arrays import FloatArray, IntArray
from s2oct.milp.octh import OcthSpec, baseline_errors
from s2oct.model.problem import Problem, equal_rows
from s2oct.model.proof import Bound
from s2oct.model.score import MARGIN_TOLERANCE
from s2oct.model.topology import Topology

NO_ERRORS = "the least number of errors there is"
TOO_CLOSE = "rows that no split tells apart"
TOO_FEW = "the minimum leaf against the class sizes"
PRICED = "the price of one coefficient"

MOST_CLASSES = 12
"""Classes up to which all sets of classes that own leaves are tried."""

MOST_ROWS = 6_000
"""Distinct rows up to which near rows are looked for. Beyond, only equal rows count as not to be told apart."""


def counting_bound(problem: Problem, topology: Topology, spec: OcthSpec) -> Bound:
    """The least cost that any tree of OCT-H can have, by counting rows; features lie in [0, 1].

    A set of classes owns the leaves. Rows that no split tells apart end in one leaf, so that at most those of one of
    these classes are right. A class that owns a leaf has to fill it with at least N_min rows, and all that it does not
    have itself are errors. The bound is the least, over the sets of classes, of the larger of the two numbers.
    """
    groups = class_counts(problem, inseparable_rows(problem, spec.mu))
    sizes = groups.sum(axis=0)
    n_classes = problem.n_classes
    most_owners = min(topology.n_leaves, max(int(sizes.sum() // max(spec.min_leaf, 1)), 1), n_classes)
    close = float((groups.sum(axis=1) - groups.max(axis=1)).sum())
    errors = close
    if n_classes <= MOST_CLASSES:
        owners = (list(some) for k in range(1, most_owners + 1) for some in combinations(range(n_classes), k))
        errors = min(_errors_of(groups, sizes, some, spec.min_leaf) for some in owners)
    source = NO_ERRORS if errors == 0 else TOO_CLOSE if errors == close else TOO_FEW
    return _priced(problem, spec, errors, source)


def _errors_of(groups: FloatArray, sizes: FloatArray, owners: list[int], min_leaf: int) -> float:
    """The fewest errors of a tree whose leaves belong to given classes, each of which owns one at least."""
    others = float((groups.sum(axis=1) - groups[:, owners].max(axis=1)).sum())
    filled = float(np.maximum(min_leaf - sizes[owners], 0.0).sum())
    return max(others, filled)


def _priced(problem: Problem, spec: OcthSpec, errors: float, source: str) -> Bound:
    """The bound as a cost: a tree with fewer errors than the constant one has a coefficient and pays for it."""
    baseline = baseline_errors(problem)
    counts = np.bincount(problem.labels, weights=problem.labeled_multiplicity)
    constant = float(counts.sum() - counts.max()) / baseline
    with_split = errors / baseline + spec.complexity
    if constant <= with_split:
        return Bound(constant, source if errors / baseline >= constant or constant == 0 else PRICED)
    return Bound(with_split, source if spec.complexity == 0 else PRICED)


def inseparable_rows(problem: Problem, mu: float) -> IntArray:
    """The group of each labeled row: rows of a group end in one leaf of every tree of OCT-H.

    |a . (x - y)| <= |a|_1 max |x_j - y_j|, so a split cannot keep two rows apart that differ by less than mu in every
    feature. With the tolerance of a certificate it can, if they differ by nearly mu. What holds for two rows next to
    each other holds along a chain of such rows.
    """
    first, place = equal_rows(problem.X_labeled)
    reach = separable_width(mu)
    if reach <= 0 or len(first) > MOST_ROWS:
        return place
    pairs = KDTree(problem.X_labeled[first]).query_pairs(reach, p=np.inf, output_type="ndarray")
    links = coo_array((np.ones(len(pairs)), (pairs[:, 0], pairs[:, 1])), shape=(len(first), len(first)))
    return np.asarray(connected_components(links, directed=False)[1], dtype=np.int64)[place]


def separable_width(mu: float) -> float:
    """Rows that differ by less in every feature are in one leaf, also of trees that are feasible within tolerances.

    Each side may be short of its half of the gap by the tolerance, and |a|_1 may exceed 1 by it.
    """
    return mu * (1 - 2 * MARGIN_TOLERANCE) - 4 * MARGIN_TOLERANCE


def class_counts(problem: Problem, group: IntArray) -> FloatArray:
    """Rows of each class in each group, shape (n_groups, n_classes)."""
    n_groups = int(group.max()) + 1
    cell = group * problem.n_classes + problem.labels
    counts = np.bincount(cell, problem.labeled_multiplicity, n_groups * problem.n_classes)
    return np.asarray(counts.reshape(n_groups, problem.n_classes), dtype=float)

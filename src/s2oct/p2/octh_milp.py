"""OCT-H of Bertsimas and Dunn (2017): the supervised tree with hyperplane splits, and bounds without a solver."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.spatial import KDTree

from s2oct.arrays import FloatArray, IntArray
from s2oct.p2.costs import MARGIN_TOLERANCE
from s2oct.p2.milp import Variables
from s2oct.p2.proof import Bound
from s2oct.problem.problem import Problem, equal_rows
from s2oct.solvers.model import Costs, Milp, ModelBuilder, Rows, Terms, linear_rows
from s2oct.trees.tree import ObliqueTree, Topology


@dataclass(frozen=True)
class OcthSpec:
    """The parameters of OCT-H: minimum rows per leaf, price of a coefficient, width of the gap between the sides."""

    min_leaf: int
    complexity: float = 0.0
    mu: float = 0.005


def build_octh(problem: Problem, topology: Topology, spec: OcthSpec) -> Milp:
    """OCT-H over the labeled rows of a problem whose features lie in [0, 1]."""
    builder = ModelBuilder()
    v = _variables(builder, problem, topology)
    costs: Costs = [(v["loss"], 1.0 / baseline_errors(problem)), (v["used"], spec.complexity)]
    return builder.build(costs, _equations(v, problem, topology, spec))


def baseline_errors(problem: Problem) -> float:
    """L-hat: the errors of always predicting the most frequent class, at least 1."""
    counts = np.bincount(problem.labels, weights=problem.labeled_multiplicity)
    return float(max(counts.sum() - counts.max(), 1.0))


def attainable_cost(problem: Problem, spec: OcthSpec, bound: float) -> float:
    """The lowest possible cost at or above a bound; without a price of coefficients, errors are whole numbers."""
    if spec.complexity > 0 or not np.isfinite(bound):
        return bound
    baseline = baseline_errors(problem)
    return float(np.ceil(bound * baseline - 1e-6) / baseline)


def _variables(builder: ModelBuilder, problem: Problem, topology: Topology) -> Variables:
    """The variables of OCT-H. Axes: b branch nodes, t leaves, i rows, j features, k classes."""
    nb, nt, k = topology.n_branches, topology.n_leaves, problem.n_classes
    n, p = problem.n_labeled, problem.n_features
    # (b, j) normal vectors, (b,) offsets, and (b, j) |a|.
    builder.add("a", (nb, p), lower=-1, upper=1)
    builder.add("b", (nb,), lower=-1, upper=1)
    builder.add("size", (nb, p), upper=1)
    # (b,) 1 where a node splits, and (b, j) 1 where a split may use a feature.
    builder.add("d", (nb,), upper=1, integral=True)
    builder.add("used", (nb, p), upper=1, integral=True)
    # (i, t) 1 where a row ends in a leaf, (t,) 1 where a leaf holds rows, and (k, t) 1 for the class of a leaf.
    builder.add("z", (n, nt), upper=1, integral=True)
    builder.add("occupied", (nt,), upper=1, integral=True)
    builder.add("c", (k, nt), upper=1, integral=True)
    # (t,) misclassified rows of a leaf, (t,) its rows, and (k, t) its rows of a class.
    builder.add("loss", (nt,))
    builder.add("n_leaf", (nt,))
    builder.add("n_class", (k, nt))
    return builder.blocks


def _equations(v: Variables, problem: Problem, topology: Topology, spec: OcthSpec) -> Iterator[Rows]:
    yield from loss_rows(v, float(problem.labeled_multiplicity.sum()))
    yield from count_rows(v, problem)
    yield from leaf_rows(v, problem, spec.min_leaf)
    yield from side_rows(v, problem.X_labeled, topology, spec.mu)
    yield from split_rows(v, topology)


def loss_rows(v: Variables, n: float) -> Iterator[Rows]:
    """L_t >= N_t - N_kt - n (1 - c_kt) and L_t <= N_t - N_kt + n c_kt."""
    counts: Terms = [(v["loss"].index, 1.0), (v["n_leaf"].index, -1.0), (v["n_class"].index, 1.0), (v["c"].index, -n)]
    yield linear_rows("loss_lower", v["c"].shape, counts, lower=-n)
    yield linear_rows("loss_upper", v["c"].shape, counts, upper=0.0)


def count_rows(v: Variables, problem: Problem) -> Iterator[Rows]:
    """N_kt = sum of z_it over the rows of class k, and N_t = sum of z_it."""
    counts = problem.labeled_multiplicity
    z = v["z"].index.T
    of_class = (problem.labels[None, :] == np.arange(problem.n_classes)[:, None]) * counts
    terms: Terms = [(z[None, :, :], of_class[:, None, :]), (v["n_class"].index, -1.0)]
    yield linear_rows("class_count", v["c"].shape, terms, lower=0.0, upper=0.0)
    yield linear_rows("leaf_count", v["n_leaf"].shape, [(z, counts), (v["n_leaf"].index, -1.0)], lower=0.0, upper=0.0)


def leaf_rows(v: Variables, problem: Problem, min_leaf: int) -> Iterator[Rows]:
    """One class per occupied leaf; one leaf per row; rows only in occupied leaves, at least N_min in each."""
    yield linear_rows(
        "one_class", v["occupied"].shape, [(v["c"].index.T, 1.0), (v["occupied"].index, -1.0)], lower=0.0, upper=0.0
    )
    yield linear_rows("one_leaf", (v["z"].shape[0],), [(v["z"].index, 1.0)], lower=1.0, upper=1.0)
    yield linear_rows("occupied", v["z"].shape, [(v["z"].index, 1.0), (v["occupied"].index, -1.0)], upper=0.0)
    terms: Terms = [(v["z"].index.T, problem.labeled_multiplicity), (v["occupied"].index, -float(min_leaf))]
    yield linear_rows("min_leaf", v["occupied"].shape, terms, lower=0.0)


def side_rows(v: Variables, X: FloatArray, topology: Topology, mu: float) -> Iterator[Rows]:
    """A . x_i + mu <= b + (2 + mu)(1 - z_it) left of b, and a . x_i >= b - 2 (1 - z_it) right of b."""
    for name, side, sign, big, gap in (("left", 0, 1.0, 2.0 + mu, mu), ("right", 1, -1.0, 2.0, 0.0)):
        leaf, step = np.nonzero(topology.path_sides == side)
        node = topology.path_nodes[leaf, step]
        terms: Terms = [
            (v["a"].index[node][:, None, :], sign * X[None, :, :]),
            (v["b"].index[node][:, None], -sign),
            (v["z"].index.T[leaf], big),
        ]
        yield linear_rows(name, (len(leaf), len(X)), terms, upper=big - gap)


def split_rows(v: Variables, topology: Topology) -> Iterator[Rows]:
    """Sum |a_j| <= d, |a_j| <= used_j <= d, sum used_j >= d, |b| <= d, d <= d of the parent."""
    d = v["d"].index[:, None]
    yield linear_rows("abs_pos", v["a"].shape, [(v["size"].index, 1.0), (v["a"].index, -1.0)], lower=0.0)
    yield linear_rows("abs_neg", v["a"].shape, [(v["size"].index, 1.0), (v["a"].index, 1.0)], lower=0.0)
    yield linear_rows("norm", v["d"].shape, [(v["size"].index, 1.0), (v["d"].index, -1.0)], upper=0.0)
    yield linear_rows("used_pos", v["a"].shape, [(v["a"].index, 1.0), (v["used"].index, -1.0)], upper=0.0)
    yield linear_rows("used_neg", v["a"].shape, [(v["a"].index, 1.0), (v["used"].index, 1.0)], lower=0.0)
    yield linear_rows("used_split", v["a"].shape, [(v["used"].index, 1.0), (d, -1.0)], upper=0.0)
    yield linear_rows("uses_some", v["d"].shape, [(v["used"].index, 1.0), (v["d"].index, -1.0)], lower=0.0)
    yield linear_rows("offset_upper", v["d"].shape, [(v["b"].index, 1.0), (v["d"].index, -1.0)], upper=0.0)
    yield linear_rows("offset_lower", v["d"].shape, [(v["b"].index, 1.0), (v["d"].index, 1.0)], lower=0.0)
    child = np.arange(2, topology.n_leaves)
    terms: Terms = [(v["d"].index[child - 1], 1.0), (v["d"].index[child // 2 - 1], -1.0)]
    yield linear_rows("hierarchy", (len(child),), terms, upper=0.0)


def with_majority_classes(problem: Problem, tree: ObliqueTree) -> ObliqueTree:
    """The tree with the most frequent label of each leaf as its class; an empty leaf inherits an ancestor's class."""
    topology, n_classes = tree.topology, problem.n_classes
    cell = (tree.apply(problem.X_labeled) - topology.n_leaves) * n_classes + problem.labels
    counts = np.bincount(cell, problem.labeled_multiplicity, topology.n_leaves * n_classes)
    classes = np.zeros(1, dtype=np.int64)
    for level in range(topology.depth + 1):
        below = counts.reshape(2**level, -1, n_classes).sum(axis=1)
        inherited = classes if level == 0 else np.repeat(classes, 2)
        classes = np.where(below.any(axis=1), below.argmax(axis=1), inherited)
    return replace(tree, leaf_classes=classes)


def encode_octh(milp: Milp, problem: Problem, tree: ObliqueTree, spec: OcthSpec) -> FloatArray:
    """The complete solution vector of a tree whose leaves have their majority classes."""
    splits = tree.omega.any(axis=1)
    leaf = tree.apply(problem.X_labeled) - tree.topology.n_leaves
    z = np.eye(tree.topology.n_leaves)[leaf]
    counted = z * problem.labeled_multiplicity[:, None]
    n_class = (problem.labels[None, :] == np.arange(problem.n_classes)[:, None]) @ counted
    n_leaf = counted.sum(axis=0)
    occupied = n_leaf > 0
    chosen = (np.arange(problem.n_classes)[:, None] == tree.leaf_classes) & occupied
    values = {
        "a": tree.omega,
        "b": np.where(splits, tree.gamma + spec.mu / 2, 0.0),
        "size": np.abs(tree.omega),
        "d": splits,
        "used": tree.omega != 0,
        "z": z,
        "occupied": occupied,
        "c": chosen,
        "loss": n_leaf - (n_class * chosen).sum(axis=0),
        "n_leaf": n_leaf,
        "n_class": n_class,
    }
    x = np.empty(milp.n_columns)
    for name, value in values.items():
        x[milp.blocks[name].columns] = np.ravel(value)
    return x


def decode_octh(milp: Milp, x: FloatArray, problem: Problem, topology: Topology, spec: OcthSpec) -> ObliqueTree:
    """The tree in a solution vector: its hyperplanes, with classes recounted from the rows."""
    splits = milp.blocks["d"].read(x) > 0.5
    used = milp.blocks["used"].read(x) > 0.5
    omega = np.where(splits[:, None] & used, milp.blocks["a"].read(x), 0.0)
    gamma = np.where(splits, milp.blocks["b"].read(x), 0.0) - spec.mu / 2
    return with_majority_classes(problem, ObliqueTree(topology, omega, gamma, topology.leaf_classes))


NO_ERRORS = "the least number of errors there is"
TOO_CLOSE = "rows that no split tells apart"
TOO_FEW = "the minimum leaf against the class sizes"
PRICED = "the price of one coefficient"

MOST_CLASSES = 12
"""Maximum number of classes for which all sets of classes that own leaves are tried."""

MOST_ROWS = 6_000
"""Maximum number of distinct rows for which near rows are searched. Beyond it, only identical rows are inseparable."""


def counting_bound(problem: Problem, topology: Topology, spec: OcthSpec) -> Bound:
    """A lower bound on the cost of every tree of OCT-H, by counting rows; features lie in [0, 1].

    A set of classes owns the leaves. Rows that no split can separate end in one leaf, so at most those of one class are
    correct. A class that owns a leaf must fill it with at least N_min rows, and rows of other classes in it are errors.
    The bound is the minimum, over the sets of classes, of the larger of the two numbers.
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
    """A lower bound on the errors of a tree whose leaves belong to these classes, at least one leaf to each."""
    others = float((groups.sum(axis=1) - groups[:, owners].max(axis=1)).sum())
    filled = float(np.maximum(min_leaf - sizes[owners], 0.0).sum())
    return max(others, filled)


def _priced(problem: Problem, spec: OcthSpec, errors: float, source: str) -> Bound:
    """The bound as a cost: a tree with fewer errors than the constant tree pays for at least one coefficient."""
    baseline = baseline_errors(problem)
    counts = np.bincount(problem.labels, weights=problem.labeled_multiplicity)
    constant = float(counts.sum() - counts.max()) / baseline
    with_split = errors / baseline + spec.complexity
    if constant <= with_split:
        return Bound(constant, source if errors / baseline >= constant or constant == 0 else PRICED)
    return Bound(with_split, source if spec.complexity == 0 else PRICED)


def inseparable_rows(problem: Problem, mu: float) -> IntArray:
    """The group of each labeled row: rows of a group end in one leaf of every tree of OCT-H.

    |a . (x - y)| <= |a|_1 max |x_j - y_j|, so a split cannot separate two rows that differ by less than mu in every
    feature. With the tolerance of a certificate it can if they differ by nearly mu. The same holds along a chain of
    such rows.
    """
    first, place = equal_rows(problem.X_labeled)
    reach = separable_width(mu)
    if reach <= 0 or len(first) > MOST_ROWS:
        return place
    pairs = KDTree(problem.X_labeled[first]).query_pairs(reach, p=np.inf, output_type="ndarray")
    links = coo_array((np.ones(len(pairs)), (pairs[:, 0], pairs[:, 1])), shape=(len(first), len(first)))
    return np.asarray(connected_components(links, directed=False)[1], dtype=np.int64)[place]


def separable_width(mu: float) -> float:
    """Rows that differ by less in every feature share a leaf, even in trees that are only feasible within tolerances.

    Each side may lack the tolerance in its half of the gap, and |a|_1 may exceed 1 by it.
    """
    return mu * (1 - 2 * MARGIN_TOLERANCE) - 4 * MARGIN_TOLERANCE


def class_counts(problem: Problem, group: IntArray) -> FloatArray:
    """Rows of each class in each group, shape (n_groups, n_classes)."""
    n_groups = int(group.max()) + 1
    cell = group * problem.n_classes + problem.labels
    counts = np.bincount(cell, problem.labeled_multiplicity, n_groups * problem.n_classes)
    return np.asarray(counts.reshape(n_groups, problem.n_classes), dtype=float)

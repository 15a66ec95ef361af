"""P2 as a mixed-integer model: literal and lean, trees as solutions, and its size.

The literal model has every variable and equation under the paper's label. The lean one is smaller and has the same
optimum: merged rows, constants per row, and no redundant parts.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from s2oct.arrays import BoolArray, FloatArray, IntArray
from s2oct.p2.costs import Assignment, branch_errors
from s2oct.p2.prepared import Prepared
from s2oct.problem.problem import Problem
from s2oct.solvers.model import Block, Costs, Milp, ModelBuilder, Rows, Terms, linear_rows
from s2oct.trees.tree import ObliqueTree, Topology

Variables = dict[str, Block]
"""The variables of a model by name, see `add_variables`."""


def build_p2(prepared: Prepared) -> Milp:
    """(P2) with the paper's M and B(s)."""
    builder = ModelBuilder()
    v = add_variables(builder, prepared)
    return builder.build(objective(v, prepared), _equations(v, prepared))


def build_lean(prepared: Prepared) -> Milp:
    """The lean equivalent of (P2)."""
    builder = ModelBuilder()
    paid = _paid_errors(prepared)
    v = add_variables(builder, prepared, paid)
    return builder.build(objective(v, prepared), _lean_equations(v, prepared, paid))


def add_variables(builder: ModelBuilder, prepared: Prepared, paid: BoolArray | None = None) -> Variables:
    """The variables of P2. With ``paid`` (2, b, i), other branch errors are fixed at 0, and delta is continuous.

    Axes: b branch nodes, i rows, j features, k leaves of a row's own class, t leaves of A, c classes, d domains. With
    more than two classes, k and t are all leaves, because the classes of leaves are variables.
    """
    problem, topology, s = prepared.problem, prepared.topology, prepared.bounds.s
    n, m, nb, nt, nc = (
        problem.n_labeled,
        problem.n_unlabeled,
        topology.n_branches,
        topology.n_leaves,
        topology.n_classes,
    )
    n_own, n_domains = len(counted_leaves(topology)), sum(margin.n_domains for margin in problem.targets.margins)
    largest = np.full((2, nb, n), np.inf) if paid is None else np.where(paid, np.inf, 0.0)
    # (b, j) normal vectors, within (boundomega), and (b,) offsets.
    builder.add("omega", (nb, problem.n_features), lower=-s, upper=s)
    builder.add("gamma", (nb,), lower=-np.inf)
    # (b, i) branch errors of a labeled row that should go left or right; (posity).
    builder.add("y_left", (nb, n), upper=largest[0])
    builder.add("y_right", (nb, n), upper=largest[1])
    # (i, k) the leaf error where alpha is 1, else 0; and 1 for the leaf whose error a row pays; (constraintalpha).
    builder.add("beta", (n, n_own))
    builder.add("alpha", (n, n_own), upper=1, integral=True)
    # (b, i) 1 where an unlabeled row goes right; (zbinary).
    builder.add("z", (nb, m), upper=1, integral=True)
    # (t, i) 1 where an unlabeled row ends in leaf t of class A; (endMIO).
    builder.add("delta", (n_own, m), upper=1, integral=paid is None)
    # () rows off the total; (d,) with d domains.
    builder.add("xi", () if n_domains == 1 else (n_domains,))
    if prepared.most_features is not None:
        # (b, j) 1 where a split may have a coefficient.
        builder.add("used", (nb, problem.n_features), upper=1, integral=True)
    if nc > 2:
        # (c, t) 1 for the class of a leaf, and (d, t, c) rows of a domain that end in a leaf of a class.
        builder.add("chosen", (nc, nt), upper=1, integral=True)
        builder.add("counts", (n_domains, nt, nc))
        # (d, c) rows above the upper and below the lower bound of a cell.
        builder.add("over", (n_domains, nc))
        builder.add("under", (n_domains, nc))
    return builder.blocks


def objective(v: Variables, prepared: Prepared) -> Costs:
    """(eqMIOobj): the errors of the labeled rows, and C for each row off the totals."""
    return [(v["beta"], prepared.problem.labeled_size[:, None]), (v["xi"], prepared.spec.C)]


def _equations(v: Variables, prepared: Prepared) -> Iterator[Rows]:
    """The equations in the order of the paper."""
    problem, topology, bounds = prepared.problem, prepared.topology, prepared.bounds
    yield right_error_rows(v, problem.X_labeled)
    yield left_error_rows(v, problem.X_labeled)
    yield one_leaf_rows(v)
    yield beta_at_most_leaf_error_rows(v, problem.labels, topology)
    yield beta_at_least_leaf_error_rows(v, problem.labels, topology, bounds.B)
    yield beta_only_where_chosen_rows(v, bounds.B)
    yield left_margin_rows(v, problem.X_unlabeled, bounds.M)
    yield right_margin_rows(v, problem.X_unlabeled, bounds.M)
    yield from leaf_needs_sides_rows(v, topology)
    yield sides_imply_leaf_rows(v, topology)
    yield from total_equations(v, problem)
    yield from few_features_rows(v, prepared)


def _lean_equations(v: Variables, prepared: Prepared, paid: BoolArray) -> Iterator[Rows]:
    problem, topology = prepared.problem, prepared.topology
    yield _keep(right_error_rows(v, problem.X_labeled), paid[1].ravel())
    yield _keep(left_error_rows(v, problem.X_labeled), paid[0].ravel())
    yield one_leaf_rows(v)
    yield beta_at_least_leaf_error_rows(v, problem.labels, topology, prepared.B_labeled[:, None])
    yield margin_rows(v, problem.X_unlabeled, prepared.M_unlabeled)
    yield from leaf_needs_sides_rows(v, topology)
    yield sides_imply_leaf_rows(v, topology)
    yield from total_equations(v, problem)
    yield from few_features_rows(v, prepared)


def _paid_errors(prepared: Prepared) -> BoolArray:
    """Whether y^L and y^R are on a path to a leaf of the row's own class, shape (2, b, i)."""
    problem, topology = prepared.problem, prepared.topology
    leaves = own_leaves(problem.labels, topology)
    paid = np.zeros((2, topology.n_branches, problem.n_labeled), dtype=bool)
    paid[topology.path_sides[leaves], topology.path_nodes[leaves], np.arange(problem.n_labeled)[:, None, None]] = True
    return paid


def _keep(rows: Rows, kept: BoolArray) -> Rows:
    """The kept rows, renumbered."""
    number = np.cumsum(kept) - 1
    entries = kept[rows.row]
    return replace(
        rows,
        row=number[rows.row[entries]],
        column=rows.column[entries],
        value=rows.value[entries],
        lower=rows.lower[kept],
        upper=rows.upper[kept],
    )


def hyperplane_terms(v: Variables, X: FloatArray, sign: float) -> Terms:
    """Sign * (omega_b . x_i - gamma_b) as terms over rows of shape (b, i)."""
    return [(v["omega"].index[:, None, :], sign * X[None, :, :]), (v["gamma"].index[:, None], -sign)]


def own_leaves(labels: IntArray, topology: Topology) -> IntArray:
    """Position (from the left) of the leaves of each labeled row's class, shape (n, leaves per class).

    With more than two classes the leaves' classes are variables, and a row may choose among all leaves.
    """
    if topology.n_classes > 2:
        return np.tile(np.arange(topology.n_leaves), (len(labels), 1))
    by_class = np.array([np.flatnonzero(topology.leaf_classes == c) for c in range(topology.n_classes)])
    return np.asarray(by_class[labels])


def minus_leaf_error_terms(v: Variables, labels: IntArray, topology: Topology) -> Terms:
    """-LE(x_i, t) as terms over rows of shape (i, k)."""
    leaves = own_leaves(labels, topology)
    nodes, sides = topology.path_nodes[leaves], topology.path_sides[leaves]
    row = np.arange(len(labels))[:, None, None]
    return [(np.where(sides == 1, v["y_right"].index[nodes, row], v["y_left"].index[nodes, row]), -1.0)]


def right_error_rows(v: Variables, X: FloatArray) -> Rows:
    """(constraint1): y^R_bi >= -omega_b . x_i + gamma_b + 1."""
    terms = hyperplane_terms(v, X, 1.0)
    return linear_rows("constraint1", v["y_right"].shape, [*terms, (v["y_right"].index, 1.0)], lower=1.0)


def left_error_rows(v: Variables, X: FloatArray) -> Rows:
    """(constraint2): y^L_bi >= omega_b . x_i - gamma_b + 1."""
    terms = hyperplane_terms(v, X, -1.0)
    return linear_rows("constraint2", v["y_left"].shape, [*terms, (v["y_left"].index, 1.0)], lower=1.0)


def one_leaf_rows(v: Variables) -> Rows:
    """(constraint2alpha): sum_t alpha_it = 1."""
    n = v["alpha"].shape[0]
    return linear_rows("constraint2alpha", (n,), [(v["alpha"].index, 1.0)], lower=1.0, upper=1.0)


def beta_at_most_leaf_error_rows(v: Variables, labels: IntArray, topology: Topology) -> Rows:
    """(boundbeta1): beta_it <= LE(x_i, t)."""
    terms = minus_leaf_error_terms(v, labels, topology)
    return linear_rows("boundbeta1", v["beta"].shape, [*terms, (v["beta"].index, 1.0)], upper=0.0)


def beta_at_least_leaf_error_rows(v: Variables, labels: IntArray, topology: Topology, B: float | FloatArray) -> Rows:
    """(boundbeta2): beta_it >= LE(x_i, t) - B (1 - alpha_it)."""
    terms = minus_leaf_error_terms(v, labels, topology)
    terms += [(v["beta"].index, 1.0), (v["alpha"].index, -np.asarray(B))]
    return linear_rows("boundbeta2", v["beta"].shape, terms, lower=-np.asarray(B))


def beta_only_where_chosen_rows(v: Variables, B: float) -> Rows:
    """(boundbeta3): beta_it <= B alpha_it, on the leaves of the row's own class, where alpha exists."""
    return linear_rows("boundbeta3", v["beta"].shape, [(v["beta"].index, 1.0), (v["alpha"].index, -B)], upper=0.0)


def left_margin_rows(v: Variables, X: FloatArray, M: float) -> Rows:
    """(BIGM1): omega_b . x_i - gamma_b <= M z_bi - 1."""
    terms = hyperplane_terms(v, X, 1.0)
    return linear_rows("BIGM1", v["z"].shape, [*terms, (v["z"].index, -M)], upper=-1.0)


def right_margin_rows(v: Variables, X: FloatArray, M: float) -> Rows:
    """(BIGM2): omega_b . x_i - gamma_b >= -M (1 - z_bi) + 1."""
    terms = hyperplane_terms(v, X, 1.0)
    return linear_rows("BIGM2", v["z"].shape, [*terms, (v["z"].index, -M)], lower=1.0 - M)


def margin_rows(v: Variables, X: FloatArray, M: FloatArray) -> Rows:
    """(BIGM1), (BIGM2): 1 - M_i <= omega_b . x_i - gamma_b - M_i z_bi <= -1."""
    terms = hyperplane_terms(v, X, 1.0)
    return linear_rows("BIGM", v["z"].shape, [*terms, (v["z"].index, -M[None, :])], lower=1.0 - M[None, :], upper=-1.0)


def leaf_needs_sides_rows(v: Variables, topology: Topology) -> Iterator[Rows]:
    """(binarydelta1), (binarydelta2): delta_ti <= z_bi right of b, and <= 1 - z_bi left of b, on the path to t."""
    nodes, sides = _counted_paths(topology)
    m = v["delta"].shape[1]
    for name, side, sign, upper in (("binarydelta1", 1, -1.0, 0.0), ("binarydelta2", 0, 1.0, 1.0)):
        leaf, step = np.nonzero(sides == side)
        delta, z = v["delta"].index[leaf], v["z"].index[nodes[leaf, step]]
        yield linear_rows(name, (len(leaf), m), [(delta, 1.0), (z, sign)], upper=upper)


def sides_imply_leaf_rows(v: Variables, topology: Topology) -> Rows:
    """(binarysum2): delta_ti >= sum_R z_bi + sum_L (1 - z_bi) - (D - 1)."""
    nodes, sides = _counted_paths(topology)
    z = np.moveaxis(v["z"].index[nodes], 1, -1)
    sign = np.where(sides == 1, -1.0, 1.0)[:, None, :]
    n_left = (sides == 0).sum(axis=1)[:, None]
    terms: Terms = [(v["delta"].index, 1.0), (z, sign)]
    return linear_rows("binarysum2", v["delta"].shape, terms, lower=n_left - (topology.depth - 1.0))


def counted_leaves(topology: Topology) -> IntArray:
    """Positions of the leaves whose rows are counted: those of class A, or all of them with more than two classes."""
    return np.arange(topology.n_leaves) if topology.n_classes > 2 else np.flatnonzero(topology.leaf_classes == 0)


def _counted_paths(topology: Topology) -> tuple[IntArray, IntArray]:
    """Nodes and sides on the paths to these leaves, each of shape (leaves, depth)."""
    counted = counted_leaves(topology)
    return topology.path_nodes[counted], topology.path_sides[counted]


def total_equations(v: Variables, problem: Problem) -> Iterator[Rows]:
    """(sumbin): lambda - xi <= sum delta_ti <= lambda + xi over the rows of each domain, weighted by their sizes.

    With two classes, these rows suffice: a domain with too few rows of class A has too many of class B. With more
    classes, `class_equations` replace them.
    """
    if "chosen" in v:
        yield from class_equations(v, problem)
        return
    xi = v["xi"].index.ravel()
    for number, here, low, high in _domains(problem):
        sizes = problem.unlabeled_size[here]
        # Bounds on class B also bound class A: a row that is not in B is in A.
        rows = float(sizes.sum())
        least, most = max(float(low[0]), rows - float(high[1])), min(float(high[0]), rows - float(low[1]))
        counted = np.broadcast_to(sizes, (v["delta"].shape[0], len(here))).ravel()
        delta = v["delta"].index[:, here].ravel()[None, :]
        yield linear_rows("sumbin", (1,), [(delta, counted), (xi[number : number + 1], 1.0)], lower=least)
        yield linear_rows("sumbin", (1,), [(delta, counted), (xi[number : number + 1], -1.0)], upper=most)


def _domains(problem: Problem) -> Iterator[tuple[int, IntArray, FloatArray, FloatArray]]:
    """Number, unlabeled rows, and bounds on the classes of every domain, margin after margin."""
    number = 0
    for margin in problem.targets.margins:
        for domain in range(margin.n_domains):
            yield number, np.flatnonzero(margin.codes == domain), margin.low[domain], margin.high[domain]
            number += 1


def class_equations(v: Variables, problem: Problem) -> Iterator[Rows]:
    """Every leaf has a class, rows of a class choose among its leaves, and cells count the rows of their leaves."""
    n_classes, n_leaves = v["chosen"].shape
    yield linear_rows("oneclass", (n_leaves,), [(v["chosen"].index.T, 1.0)], lower=1.0, upper=1.0)
    pairs = v["chosen"].index.T.reshape(-1, 2, n_classes)
    class_number = np.arange(n_classes, dtype=float)
    terms: Terms = [(pairs[:, 1], class_number), (pairs[:, 0], -class_number)]
    yield linear_rows("ascending", (len(pairs),), terms, lower=1.0)
    own_class = v["chosen"].index[problem.labels]
    yield linear_rows("ownclass", v["alpha"].shape, [(v["alpha"].index, 1.0), (own_class, -1.0)], upper=0.0)
    most = np.zeros(v["counts"].shape)
    for number, here, _, _ in _domains(problem):
        sizes = np.broadcast_to(problem.unlabeled_size[here], (n_leaves, len(here)))
        most[number] = problem.unlabeled_size[here].sum()
        terms = [(v["counts"].index[number], 1.0), (v["delta"].index[:, here], -sizes)]
        yield linear_rows("leafcount", (n_leaves,), terms, lower=0.0, upper=0.0)
    terms = [(v["counts"].index, 1.0), (v["chosen"].index.T[None, :, :], -most)]
    yield linear_rows("countclass", v["counts"].shape, terms, upper=0.0)
    of_cell = np.moveaxis(v["counts"].index, 1, 2)
    low, high = (bounds.reshape(v["over"].shape) for bounds in (problem.targets.low, problem.targets.high))
    yield linear_rows("cellhigh", v["over"].shape, [(of_cell, 1.0), (v["over"].index, -1.0)], upper=high)
    yield linear_rows("celllow", v["under"].shape, [(of_cell, 1.0), (v["under"].index, 1.0)], lower=low)
    xi = v["xi"].index.ravel()
    for name, block in (("over", v["over"]), ("under", v["under"])):
        yield linear_rows(f"rows{name}", xi.shape, [(xi, 1.0), (block.index, -1.0)], lower=0.0)


def few_features_rows(v: Variables, prepared: Prepared) -> Iterator[Rows]:
    """At most k features per split: |omega_bj| <= s used_bj and sum_j used_bj <= k, if there is a limit.

    These equations are not in the paper.
    """
    if prepared.most_features is None:
        return
    s = prepared.bounds.s
    yield linear_rows("used1", v["omega"].shape, [(v["omega"].index, 1.0), (v["used"].index, -s)], upper=0.0)
    yield linear_rows("used2", v["omega"].shape, [(v["omega"].index, 1.0), (v["used"].index, s)], lower=0.0)
    yield linear_rows("fewused", v["gamma"].shape, [(v["used"].index, 1.0)], upper=float(prepared.most_features))


def encode_tree(milp: Milp, problem: Problem, tree: ObliqueTree) -> FloatArray:
    """The complete solution vector of a tree, for both the literal and the lean model."""
    topology, blocks = tree.topology, milp.blocks
    assignment = Assignment.of(problem, tree)
    left, right = branch_errors(assignment.values_labeled)
    own = own_leaves(problem.labels, topology)
    errors = np.take_along_axis(assignment.leaf_errors, own, axis=1)
    payable = np.where(np.take_along_axis(assignment.is_own_leaf, own, axis=1), errors, np.inf)
    alpha = np.zeros_like(errors)
    alpha[np.arange(len(own)), payable.argmin(axis=1)] = 1.0
    counted = topology.n_leaves + counted_leaves(topology)
    unlabeled = assignment.unlabeled_classes, problem.unlabeled_size
    values = {
        "omega": tree.omega,
        "gamma": tree.gamma,
        "y_left": left.T,
        "y_right": right.T,
        "alpha": alpha,
        "beta": alpha * errors,
        "z": tree.goes_right(problem.X_unlabeled).T,
        "delta": assignment.unlabeled_leaves[None, :] == counted[:, None],
        "xi": np.concatenate([margin.rows_off(margin.counts(*unlabeled)) for margin in problem.targets.margins]),
        **({"used": tree.omega != 0} if "used" in blocks else {}),
        **(_class_values(assignment) if "chosen" in blocks else {}),
    }
    x = np.empty(milp.n_columns)
    for name, value in values.items():
        x[blocks[name].columns] = np.ravel(value)
    for name in ("y_left", "y_right"):
        columns = blocks[name].columns
        # The lean model fixes the branch errors that no row pays.
        x[columns] = np.minimum(x[columns], milp.upper[columns])
    return x


def _class_values(assignment: Assignment) -> dict[str, FloatArray]:
    """The values of the additional variables for more than two classes."""
    problem, tree = assignment.problem, assignment.tree
    n_classes, n_leaves = problem.n_classes, tree.topology.n_leaves
    position, classes = assignment.unlabeled_leaves - n_leaves, assignment.unlabeled_classes
    counts, excess = [], []
    for margin in problem.targets.margins:
        by_leaf = np.zeros((margin.n_domains, n_leaves, n_classes))
        np.add.at(by_leaf, (margin.codes, position, classes), problem.unlabeled_size)
        counts.append(by_leaf)
        excess.append(margin.excess(by_leaf.sum(axis=1)))
    off = np.concatenate(excess)
    return {
        "chosen": (tree.leaf_classes[None, :] == np.arange(n_classes)[:, None]).astype(float),
        "counts": np.concatenate(counts),
        "over": np.maximum(off, 0.0),
        "under": np.maximum(-off, 0.0),
    }


def decode_tree(milp: Milp, x: FloatArray, topology: Topology) -> ObliqueTree:
    """The tree in a solution vector: (omega, gamma), and the classes of the leaves if they are variables.

    If the number of features is limited, the coefficient of an unused feature may differ from 0 by the solver's
    tolerance. It becomes 0.
    """
    omega = milp.blocks["omega"].read(x).copy()
    if "used" in milp.blocks:
        omega[milp.blocks["used"].read(x) < 0.5] = 0.0
    gamma = milp.blocks["gamma"].read(x).copy()
    if "chosen" in milp.blocks:
        return ObliqueTree(topology, omega, gamma, milp.blocks["chosen"].read(x).argmax(axis=0))
    return ObliqueTree.of(topology, omega, gamma)


BYTES_PER_ENTRY = 250
"""Bytes per matrix entry to build and solve large models, measured and rounded up."""

ENTRIES_PER_SECOND = 10_000
"""A solver is not worthwhile for a model with more matrix entries per remaining second: the search tries millions of
moves in the time of the root relaxation."""


@dataclass(frozen=True)
class ModelSize:
    """Variables and matrix entries of a model."""

    n_continuous: int
    n_binary: int
    n_entries: int

    @property
    def n_bytes(self) -> int:
        """Approximate memory to build and solve the model."""
        return BYTES_PER_ENTRY * self.n_entries


def p2_size(n_labeled: int, n_unlabeled: int, n_features: int, depth: int, *, few_features: bool = False) -> ModelSize:
    """Size of the literal P2 (Table 2 of the paper); the lean model is smaller.

    With ``few_features``, the number of features per split is limited, which is not in the paper.
    """
    nb, own = 2**depth - 1, 2 ** (depth - 1)
    n, m, p = n_labeled, n_unlabeled, n_features
    used = nb * p if few_features else 0
    rows = 2 * nb * n * (p + 2) + 2 * nb * m * (p + 2) + own * n * (2 * depth + 6) + own * m * (3 * depth + 3)
    return ModelSize(
        n_continuous=nb * p + nb + 2 * nb * n + own * n + 1,
        n_binary=own * n + nb * m + own * m + used,
        n_entries=rows + 5 * used,
    )


def octh_size(n_labeled: int, n_features: int, n_classes: int, depth: int) -> ModelSize:
    """Size of OCT-H (Table 2 of the paper)."""
    nb, nt, k = 2**depth - 1, 2**depth, n_classes
    n, p = n_labeled, n_features
    return ModelSize(
        n_continuous=2 * nb * p + nb + 2 * nt + k * nt,
        n_binary=nb + nb * p + n * nt + nt + k * nt,
        n_entries=depth * nt * n * (p + 2) + (k + 6) * nt * n + 12 * nb * p,
    )

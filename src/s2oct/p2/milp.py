"""P2 as a mixed-integer model: literal and lean, trees as solutions, and its size.

The literal model has every variable and equation under the paper's label. The lean one is smaller and has the same
optimum: merged rows, constants per row, and no redundant parts.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from s2oct.arrays import BoolArray, FloatArray, IntArray
from s2oct.p2.costs import (
    Assignment,
    P2Variables,
    add_class_variables,
    beta_at_least_leaf_error_rows,
    branch_errors,
    hyperplane_terms,
    label_equations,
    left_error_rows,
    one_leaf_rows,
    own_leaves,
    right_error_rows,
    total_equations,
)
from s2oct.p2.prepared import Prepared
from s2oct.problem.problem import Problem
from s2oct.solvers.model import Costs, Milp, ModelBuilder, Rows, Terms, linear_rows
from s2oct.trees.topology import Topology
from s2oct.trees.tree import ObliqueTree


def build_p2(prepared: Prepared) -> Milp:
    """(P2) with the paper's M and B(s)."""
    builder = ModelBuilder()
    v = add_variables(builder, prepared)
    return builder.build(objective(v, prepared), _equations(v, prepared))


def objective(v: P2Variables, prepared: Prepared) -> Costs:
    """(eqMIOobj)."""
    return [cost for term in prepared.terms for cost in term.milp_costs(v, prepared.problem)]


def add_variables(
    builder: ModelBuilder,
    prepared: Prepared,
    *,
    pays_left: BoolArray | bool = True,
    pays_right: BoolArray | bool = True,
    integral_delta: bool = True,
) -> P2Variables:
    """The variables. Branch errors outside ``pays_left`` and ``pays_right`` are fixed at 0."""
    problem, topology, s = prepared.problem, prepared.topology, prepared.bounds.s
    n, m, nb = problem.n_labeled, problem.n_unlabeled, topology.n_branches
    own_leaves = len(counted_leaves(topology))
    n_domains = sum(margin.n_domains for margin in problem.targets.margins)
    return P2Variables(
        omega=builder.add("omega", (nb, problem.n_features), lower=-s, upper=s),  # (boundomega)
        gamma=builder.add("gamma", (nb,), lower=-np.inf),
        y_left=builder.add("y_left", (nb, n), upper=np.where(pays_left, np.inf, 0.0)),  # (posity)
        y_right=builder.add("y_right", (nb, n), upper=np.where(pays_right, np.inf, 0.0)),  # (posity)
        beta=builder.add("beta", (n, own_leaves)),
        alpha=builder.add("alpha", (n, own_leaves), upper=1, integral=True),  # (constraintalpha)
        z=builder.add("z", (nb, m), upper=1, integral=True),  # (zbinary)
        delta=builder.add("delta", (own_leaves, m), upper=1, integral=integral_delta),  # (endMIO)
        xi=builder.add("xi", () if n_domains == 1 else (n_domains,)),
        used=None
        if prepared.most_features is None
        else builder.add("used", (nb, problem.n_features), upper=1, integral=True),
        classes=add_class_variables(builder, problem, topology) if topology.n_classes > 2 else None,
    )


def _equations(v: P2Variables, prepared: Prepared) -> Iterator[Rows]:
    problem, topology, bounds = prepared.problem, prepared.topology, prepared.bounds
    yield from label_equations(v, problem, topology, bounds.B)
    yield left_margin_rows(v, problem.X_unlabeled, bounds.M)
    yield right_margin_rows(v, problem.X_unlabeled, bounds.M)
    yield from leaf_needs_sides_rows(v, topology)
    yield sides_imply_leaf_rows(v, topology)
    yield from total_equations(v, problem, topology)
    yield from few_features_rows(v, prepared)


def few_features_rows(v: P2Variables, prepared: Prepared) -> Iterator[Rows]:
    """At most k features per split: |omega_bj| <= s used_bj and sum_j used_bj <= k, if there is a limit.

    These equations are not in the paper.
    """
    if v.used is None or prepared.most_features is None:
        return
    s = prepared.bounds.s
    yield linear_rows("used1", v.omega.shape, [(v.omega.index, 1.0), (v.used.index, -s)], upper=0.0)
    yield linear_rows("used2", v.omega.shape, [(v.omega.index, 1.0), (v.used.index, s)], lower=0.0)
    yield linear_rows("fewused", v.gamma.shape, [(v.used.index, 1.0)], upper=float(prepared.most_features))


def left_margin_rows(v: P2Variables, X: FloatArray, M: float) -> Rows:
    """(BIGM1): omega_b . x_i - gamma_b <= M z_bi - 1."""
    terms = hyperplane_terms(v, X, 1.0)
    return linear_rows("BIGM1", v.z.shape, [*terms, (v.z.index, -M)], upper=-1.0)


def right_margin_rows(v: P2Variables, X: FloatArray, M: float) -> Rows:
    """(BIGM2): omega_b . x_i - gamma_b >= -M (1 - z_bi) + 1."""
    terms = hyperplane_terms(v, X, 1.0)
    return linear_rows("BIGM2", v.z.shape, [*terms, (v.z.index, -M)], lower=1.0 - M)


def leaf_needs_sides_rows(v: P2Variables, topology: Topology) -> Iterator[Rows]:
    """(binarydelta1), (binarydelta2): delta_ti <= z_bi right of b, and <= 1 - z_bi left of b, on the path to t."""
    nodes, sides = _counted_paths(topology)
    m = v.delta.shape[1]
    for name, side, sign, upper in (("binarydelta1", 1, -1.0, 0.0), ("binarydelta2", 0, 1.0, 1.0)):
        leaf, step = np.nonzero(sides == side)
        delta, z = v.delta.index[leaf], v.z.index[nodes[leaf, step]]
        yield linear_rows(name, (len(leaf), m), [(delta, 1.0), (z, sign)], upper=upper)


def sides_imply_leaf_rows(v: P2Variables, topology: Topology) -> Rows:
    """(binarysum2): delta_ti >= sum_R z_bi + sum_L (1 - z_bi) - (D - 1)."""
    nodes, sides = _counted_paths(topology)
    z = np.moveaxis(v.z.index[nodes], 1, -1)
    sign = np.where(sides == 1, -1.0, 1.0)[:, None, :]
    n_left = (sides == 0).sum(axis=1)[:, None]
    terms: Terms = [(v.delta.index, 1.0), (z, sign)]
    return linear_rows("binarysum2", v.delta.shape, terms, lower=n_left - (topology.depth - 1.0))


def counted_leaves(topology: Topology) -> IntArray:
    """Positions of the leaves whose rows are counted: those of class A, or all of them with more than two classes."""
    return np.arange(topology.n_leaves) if topology.n_classes > 2 else np.flatnonzero(topology.leaf_classes == 0)


def _counted_paths(topology: Topology) -> tuple[IntArray, IntArray]:
    """Nodes and sides on the paths to these leaves, each of shape (leaves, depth)."""
    counted = counted_leaves(topology)
    return topology.path_nodes[counted], topology.path_sides[counted]


def build_lean(prepared: Prepared) -> Milp:
    """The lean equivalent of (P2)."""
    builder = ModelBuilder()
    pays_left, pays_right = _paid_errors(prepared)
    v = add_variables(builder, prepared, pays_left=pays_left, pays_right=pays_right, integral_delta=False)
    return builder.build(objective(v, prepared), _lean_equations(v, prepared, pays_left, pays_right))


def _paid_errors(prepared: Prepared) -> tuple[BoolArray, BoolArray]:
    """Whether y^L and y^R are on a path to a leaf of the row's own class, each of shape (b, i)."""
    problem, topology = prepared.problem, prepared.topology
    leaves = own_leaves(problem.labels, topology)
    nodes, sides = topology.path_nodes[leaves], topology.path_sides[leaves]
    row = np.broadcast_to(np.arange(problem.n_labeled)[:, None, None], nodes.shape)
    paid = np.zeros((2, topology.n_branches, problem.n_labeled), dtype=bool)
    paid[sides, nodes, row] = True
    return paid[0], paid[1]


def _lean_equations(v: P2Variables, prepared: Prepared, pays_left: BoolArray, pays_right: BoolArray) -> Iterator[Rows]:
    problem, topology = prepared.problem, prepared.topology
    yield _keep(right_error_rows(v, problem.X_labeled), pays_right.ravel())
    yield _keep(left_error_rows(v, problem.X_labeled), pays_left.ravel())
    yield one_leaf_rows(v)
    yield beta_at_least_leaf_error_rows(v, problem.labels, topology, prepared.B_labeled[:, None])
    yield margin_rows(v, problem.X_unlabeled, prepared.M_unlabeled)
    yield from leaf_needs_sides_rows(v, topology)
    yield sides_imply_leaf_rows(v, topology)
    yield from total_equations(v, problem, topology)
    yield from few_features_rows(v, prepared)


def margin_rows(v: P2Variables, X: FloatArray, M: FloatArray) -> Rows:
    """(BIGM1), (BIGM2): 1 - M_i <= omega_b . x_i - gamma_b - M_i z_bi <= -1."""
    terms = hyperplane_terms(v, X, 1.0)
    return linear_rows("BIGM", v.z.shape, [*terms, (v.z.index, -M[None, :])], lower=1.0 - M[None, :], upper=-1.0)


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
    values = {
        "omega": tree.omega,
        "gamma": tree.gamma,
        "y_left": left.T,
        "y_right": right.T,
        "alpha": alpha,
        "beta": alpha * errors,
        "z": tree.goes_right(problem.X_unlabeled).T,
        "delta": assignment.unlabeled_leaves[None, :] == counted[:, None],
        "xi": _rows_off_by_domain(assignment),
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


def _rows_off_by_domain(assignment: Assignment) -> FloatArray:
    """Xi of every domain."""
    classes, sizes = assignment.unlabeled_classes, assignment.problem.unlabeled_size
    margins = assignment.problem.targets.margins
    return np.concatenate([margin.rows_off(margin.counts(classes, sizes)) for margin in margins])


def _class_values(assignment: Assignment) -> dict[str, FloatArray]:
    """The values of `ClassVariables`."""
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

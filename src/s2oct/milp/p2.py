"""(P2) of the paper, literally: every variable, every equation, each under the paper's label."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from s2oct.arrays import BoolArray, FloatArray, IntArray
from s2oct.linear.model import Block, Costs, Milp, ModelBuilder, Rows, Terms, linear_rows
from s2oct.model.bounds import Bounds
from s2oct.model.problem import Problem
from s2oct.model.topology import Topology


@dataclass(frozen=True)
class Variables:
    """The variables of P2. Axes: b branch nodes, i rows, j features, k leaves of a row's own class, t leaves of A."""

    omega: Block  # (b, j) normal vectors
    gamma: Block  # (b,)   offsets
    y_left: Block  # (b, i) branch error of a labeled row that should go left
    y_right: Block  # (b, i) branch error of a labeled row that should go right
    beta: Block  # (i, k) the leaf error where alpha is 1, else 0
    alpha: Block  # (i, k) 1 for the leaf whose error a labeled row pays
    z: Block  # (b, i) 1 where an unlabeled row goes right
    delta: Block  # (t, i) 1 where an unlabeled row ends in leaf t of class A
    xi: Block  # ()     rows by which the total is missed


def build_p2(problem: Problem, topology: Topology, bounds: Bounds) -> Milp:
    """(P2) with the paper's M and B(s)."""
    builder = ModelBuilder()
    v = add_variables(builder, problem, topology, bounds)
    return builder.build(objective(v, problem), _equations(v, problem, topology, bounds))


def objective(v: Variables, problem: Problem) -> Costs:
    """(eqMIOobj): leaf errors and C xi; with a guide also theta_i delta_ti and xi, up to `guide_constant`."""
    costs: Costs = [(v.beta, problem.labeled_weights[:, None]), (v.xi, problem.C)]
    guide = problem.guide
    if guide is not None and guide.weight > 0:
        costs.append((v.xi, guide.weight))
        theta = guide.weight * problem.unlabeled_weights * (guide.costs[:, 0] - guide.costs[:, 1])
        costs.append((v.delta, theta[None, :]))
    return costs


def guide_constant(problem: Problem) -> float:
    """What the guide charges with every row in class B: the model's objective leaves it out."""
    guide = problem.guide
    return 0.0 if guide is None else guide.weight * float(problem.unlabeled_weights @ guide.costs[:, 1])


def add_variables(
    builder: ModelBuilder,
    problem: Problem,
    topology: Topology,
    bounds: Bounds,
    *,
    pays_left: BoolArray | bool = True,
    pays_right: BoolArray | bool = True,
    integral_delta: bool = True,
) -> Variables:
    """The variables; ``pays_left`` and ``pays_right`` say which branch errors exist, the others are fixed at 0."""
    n, m, nb = problem.n_labeled, problem.n_unlabeled, topology.n_branches
    own_leaves = topology.n_leaves // 2
    return Variables(
        omega=builder.add("omega", (nb, problem.n_features), lower=-bounds.s, upper=bounds.s),  # (boundomega)
        gamma=builder.add("gamma", (nb,), lower=-np.inf),
        y_left=builder.add("y_left", (nb, n), upper=np.where(pays_left, np.inf, 0.0)),  # (posity)
        y_right=builder.add("y_right", (nb, n), upper=np.where(pays_right, np.inf, 0.0)),  # (posity)
        beta=builder.add("beta", (n, own_leaves)),
        alpha=builder.add("alpha", (n, own_leaves), upper=1, integral=True),  # (constraintalpha)
        z=builder.add("z", (nb, m), upper=1, integral=True),  # (zbinary)
        delta=builder.add("delta", (own_leaves, m), upper=1, integral=integral_delta),  # (endMIO)
        xi=builder.add("xi", ()),
    )


def _equations(v: Variables, problem: Problem, topology: Topology, bounds: Bounds) -> Iterator[Rows]:
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
    yield from total_rows(v, problem)


def own_leaves(labels: IntArray, topology: Topology) -> IntArray:
    """Position (from the left) of the leaves of each labeled row's class, shape (n, leaves per class)."""
    by_class = np.array([np.flatnonzero(topology.leaf_classes == c) for c in range(topology.n_classes)])
    return np.asarray(by_class[labels])


def hyperplane_terms(v: Variables, X: FloatArray, sign: float) -> Terms:
    """Sign * (omega_b . x_i - gamma_b) as terms over rows of shape (b, i)."""
    return [(v.omega.index[:, None, :], sign * X[None, :, :]), (v.gamma.index[:, None], -sign)]


def leaf_error_terms(v: Variables, labels: IntArray, topology: Topology, sign: float) -> Terms:
    """Sign * LE(x_i, t) as terms over rows of shape (i, k)."""
    leaves = own_leaves(labels, topology)
    nodes, sides = topology.path_nodes[leaves], topology.path_sides[leaves]
    row = np.arange(len(labels))[:, None, None]
    return [(np.where(sides == 1, v.y_right.index[nodes, row], v.y_left.index[nodes, row]), sign)]


def right_error_rows(v: Variables, X: FloatArray) -> Rows:
    """(constraint1): y^R_bi >= -omega_b . x_i + gamma_b + 1."""
    terms = hyperplane_terms(v, X, 1.0)
    return linear_rows("constraint1", v.y_right.shape, [*terms, (v.y_right.index, 1.0)], lower=1.0)


def left_error_rows(v: Variables, X: FloatArray) -> Rows:
    """(constraint2): y^L_bi >= omega_b . x_i - gamma_b + 1."""
    terms = hyperplane_terms(v, X, -1.0)
    return linear_rows("constraint2", v.y_left.shape, [*terms, (v.y_left.index, 1.0)], lower=1.0)


def one_leaf_rows(v: Variables) -> Rows:
    """(constraint2alpha): sum_t alpha_it = 1."""
    n = v.alpha.shape[0]
    return linear_rows("constraint2alpha", (n,), [(v.alpha.index, 1.0)], lower=1.0, upper=1.0)


def beta_at_most_leaf_error_rows(v: Variables, labels: IntArray, topology: Topology) -> Rows:
    """(boundbeta1): beta_it <= LE(x_i, t)."""
    terms = leaf_error_terms(v, labels, topology, -1.0)
    return linear_rows("boundbeta1", v.beta.shape, [*terms, (v.beta.index, 1.0)], upper=0.0)


def beta_at_least_leaf_error_rows(v: Variables, labels: IntArray, topology: Topology, B: float | FloatArray) -> Rows:
    """(boundbeta2): beta_it >= LE(x_i, t) - B (1 - alpha_it)."""
    terms = leaf_error_terms(v, labels, topology, -1.0)
    terms += [(v.beta.index, 1.0), (v.alpha.index, -np.asarray(B))]
    return linear_rows("boundbeta2", v.beta.shape, terms, lower=-np.asarray(B))


def beta_only_where_chosen_rows(v: Variables, B: float | FloatArray) -> Rows:
    """(boundbeta3): beta_it <= B alpha_it, on the leaves of the row's own class, where alpha exists."""
    terms: Terms = [(v.beta.index, 1.0), (v.alpha.index, -np.asarray(B))]
    return linear_rows("boundbeta3", v.beta.shape, terms, upper=0.0)


def left_margin_rows(v: Variables, X: FloatArray, M: float) -> Rows:
    """(BIGM1): omega_b . x_i - gamma_b <= M z_bi - 1."""
    terms = hyperplane_terms(v, X, 1.0)
    return linear_rows("BIGM1", v.z.shape, [*terms, (v.z.index, -M)], upper=-1.0)


def right_margin_rows(v: Variables, X: FloatArray, M: float) -> Rows:
    """(BIGM2): omega_b . x_i - gamma_b >= -M (1 - z_bi) + 1."""
    terms = hyperplane_terms(v, X, 1.0)
    return linear_rows("BIGM2", v.z.shape, [*terms, (v.z.index, -M)], lower=1.0 - M)


def leaf_needs_sides_rows(v: Variables, topology: Topology) -> Iterator[Rows]:
    """(binarydelta1), (binarydelta2): delta_ti <= z_bi right of b, and <= 1 - z_bi left of b, on the path to t."""
    nodes, sides = _class_a_paths(topology)
    m = v.delta.shape[1]
    for name, side, sign, upper in (("binarydelta1", 1, -1.0, 0.0), ("binarydelta2", 0, 1.0, 1.0)):
        leaf, step = np.nonzero(sides == side)
        delta, z = v.delta.index[leaf], v.z.index[nodes[leaf, step]]
        yield linear_rows(name, (len(leaf), m), [(delta, 1.0), (z, sign)], upper=upper)


def sides_imply_leaf_rows(v: Variables, topology: Topology) -> Rows:
    """(binarysum2): delta_ti >= sum_R z_bi + sum_L (1 - z_bi) - (D - 1)."""
    nodes, sides = _class_a_paths(topology)
    z = np.moveaxis(v.z.index[nodes], 1, -1)
    sign = np.where(sides == 1, -1.0, 1.0)[:, None, :]
    n_left = (sides == 0).sum(axis=1)[:, None]
    terms: Terms = [(v.delta.index, 1.0), (z, sign)]
    return linear_rows("binarysum2", v.delta.shape, terms, lower=n_left - (topology.depth - 1.0))


def total_rows(v: Variables, problem: Problem) -> Iterator[Rows]:
    """(sumbin): lambda - xi <= sum delta_ti <= lambda + xi, rows counted with their multiplicity."""
    counted = np.broadcast_to(problem.unlabeled_weights, v.delta.shape).ravel()
    wanted = float(problem.totals[0])
    delta = v.delta.index.ravel()[None, :]
    xi = v.xi.index.reshape(1)
    yield linear_rows("sumbin", (1,), [(delta, counted), (xi, 1.0)], lower=wanted)
    yield linear_rows("sumbin", (1,), [(delta, counted), (xi, -1.0)], upper=wanted)


def _class_a_paths(topology: Topology) -> tuple[IntArray, IntArray]:
    """Nodes and sides on the paths to the leaves of class A, each of shape (leaves of A, depth)."""
    of_a = topology.leaf_classes == 0
    return topology.path_nodes[of_a], topology.path_sides[of_a]

"""(P2) of the paper, literally: every variable, every equation, each under the paper's label.

The equations of labels and totals are beside their cost terms, in `s2oct.model.cost_terms`.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from s2oct.arrays import BoolArray, FloatArray, IntArray
from s2oct.linear.model import Costs, Milp, ModelBuilder, Rows, Terms, linear_rows
from s2oct.model.cost_terms import P2Variables, add_class_variables, hyperplane_terms, label_equations, total_equations
from s2oct.model.prepared import Prepared
from s2oct.model.topology import Topology


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
    """The variables; ``pays_left`` and ``pays_right`` say which branch errors exist; the others are fixed at 0."""
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
    """At most k features in a split: |omega_bj| <= s used_bj and sum_j used_bj <= k. No rows without such a limit.

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

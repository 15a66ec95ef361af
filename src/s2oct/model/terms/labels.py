"""Labels: a labeled row costs its least error over the leaves of its class (the first sum of eqMIOobj)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from s2oct.arrays import FloatArray, IntArray
from s2oct.linear.model import Costs, Rows, Terms, linear_rows
from s2oct.model.assignment import Assignment, sum_of_errors
from s2oct.model.problem import Problem
from s2oct.model.terms.base import P2Variables, hyperplane_terms
from s2oct.model.topology import Topology


@dataclass(frozen=True)
class LabelErrors:
    """The errors of the labeled rows. In the kernels: `s2oct.search.compiled.move_costs.labeled_cost`."""

    def value(self, assignment: Assignment) -> float:
        """The sum over the labeled rows of min over t in T_L^c of LE(x, t)."""
        return sum_of_errors(assignment.problem.labeled_size, assignment.label_errors)

    def milp_costs(self, v: P2Variables, problem: Problem) -> Costs:
        """Every beta costs 1, times the size of its row."""
        return [(v.beta, problem.labeled_size[:, None])]

    @property
    def row_off(self) -> float:
        """Nothing: this term is about labeled rows."""
        return 0.0


def label_equations(v: P2Variables, problem: Problem, topology: Topology, B: float) -> Iterator[Rows]:
    """The equations of P2 that make beta the least leaf error, in the order of the paper."""
    yield right_error_rows(v, problem.X_labeled)
    yield left_error_rows(v, problem.X_labeled)
    yield one_leaf_rows(v)
    yield beta_at_most_leaf_error_rows(v, problem.labels, topology)
    yield beta_at_least_leaf_error_rows(v, problem.labels, topology, B)
    yield beta_only_where_chosen_rows(v, B)


def own_leaves(labels: IntArray, topology: Topology) -> IntArray:
    """Position (from the left) of the leaves of each labeled row's class, shape (n, leaves per class).

    With more than two classes the leaves' classes are variables, and a row may choose among all leaves.
    """
    if topology.n_classes > 2:
        return np.tile(np.arange(topology.n_leaves), (len(labels), 1))
    by_class = np.array([np.flatnonzero(topology.leaf_classes == c) for c in range(topology.n_classes)])
    return np.asarray(by_class[labels])


def leaf_error_terms(v: P2Variables, labels: IntArray, topology: Topology, sign: float) -> Terms:
    """Sign * LE(x_i, t) as terms over rows of shape (i, k)."""
    leaves = own_leaves(labels, topology)
    nodes, sides = topology.path_nodes[leaves], topology.path_sides[leaves]
    row = np.arange(len(labels))[:, None, None]
    return [(np.where(sides == 1, v.y_right.index[nodes, row], v.y_left.index[nodes, row]), sign)]


def right_error_rows(v: P2Variables, X: FloatArray) -> Rows:
    """(constraint1): y^R_bi >= -omega_b . x_i + gamma_b + 1."""
    terms = hyperplane_terms(v, X, 1.0)
    return linear_rows("constraint1", v.y_right.shape, [*terms, (v.y_right.index, 1.0)], lower=1.0)


def left_error_rows(v: P2Variables, X: FloatArray) -> Rows:
    """(constraint2): y^L_bi >= omega_b . x_i - gamma_b + 1."""
    terms = hyperplane_terms(v, X, -1.0)
    return linear_rows("constraint2", v.y_left.shape, [*terms, (v.y_left.index, 1.0)], lower=1.0)


def one_leaf_rows(v: P2Variables) -> Rows:
    """(constraint2alpha): sum_t alpha_it = 1."""
    n = v.alpha.shape[0]
    return linear_rows("constraint2alpha", (n,), [(v.alpha.index, 1.0)], lower=1.0, upper=1.0)


def beta_at_most_leaf_error_rows(v: P2Variables, labels: IntArray, topology: Topology) -> Rows:
    """(boundbeta1): beta_it <= LE(x_i, t)."""
    terms = leaf_error_terms(v, labels, topology, -1.0)
    return linear_rows("boundbeta1", v.beta.shape, [*terms, (v.beta.index, 1.0)], upper=0.0)


def beta_at_least_leaf_error_rows(v: P2Variables, labels: IntArray, topology: Topology, B: float | FloatArray) -> Rows:
    """(boundbeta2): beta_it >= LE(x_i, t) - B (1 - alpha_it)."""
    terms = leaf_error_terms(v, labels, topology, -1.0)
    terms += [(v.beta.index, 1.0), (v.alpha.index, -np.asarray(B))]
    return linear_rows("boundbeta2", v.beta.shape, terms, lower=-np.asarray(B))


def beta_only_where_chosen_rows(v: P2Variables, B: float | FloatArray) -> Rows:
    """(boundbeta3): beta_it <= B alpha_it, on the leaves of the row's own class, where alpha exists."""
    terms: Terms = [(v.beta.index, 1.0), (v.alpha.index, -np.asarray(B))]
    return linear_rows("boundbeta3", v.beta.shape, terms, upper=0.0)

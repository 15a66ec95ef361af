"""A leaner model with the optimum of (P2): merged rows, per-row constants, and no redundant parts.

What differs from the literal model, and why the optimum stays:

* equal rows are merged and weighed; they share their sides and errors anyway;
* (BIGM1) and (BIGM2) are one two-sided row per unlabeled row and node, with M_i <= M;
* beta <= LE and beta <= B alpha go: minimisation presses beta down to them;
* delta is continuous: (binarydelta1) to (binarysum2) fix it to 0 or 1 once z is;
* a row pays for one side only at a last-level node, because only one of its children has the row's class.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from s2oct.arrays import BoolArray, FloatArray
from s2oct.linear.model import Milp, ModelBuilder, Rows, linear_rows
from s2oct.milp import p2
from s2oct.model.bounds import Bounds
from s2oct.model.problem import Problem
from s2oct.model.topology import Topology


def build_lean(problem: Problem, topology: Topology, bounds: Bounds) -> Milp:
    """The lean equivalent of (P2); pass a merged problem (`Problem.merged`) with bounds computed from it."""
    builder = ModelBuilder()
    pays_left, pays_right = _paid_errors(problem, topology)
    v = p2.add_variables(
        builder, problem, topology, bounds, pays_left=pays_left, pays_right=pays_right, integral_delta=False
    )
    return builder.build(p2.objective(v, problem), _equations(v, problem, topology, bounds))


def _paid_errors(problem: Problem, topology: Topology) -> tuple[BoolArray, BoolArray]:
    """Which y^L and y^R stand on a path to a leaf of the row's own class, each of shape (b, i)."""
    leaves = p2.own_leaves(problem.labels, topology)
    nodes, sides = topology.path_nodes[leaves], topology.path_sides[leaves]
    row = np.broadcast_to(np.arange(problem.n_labeled)[:, None, None], nodes.shape)
    paid = np.zeros((2, topology.n_branches, problem.n_labeled), dtype=bool)
    paid[sides, nodes, row] = True
    return paid[0], paid[1]


def _equations(v: p2.Variables, problem: Problem, topology: Topology, bounds: Bounds) -> Iterator[Rows]:
    pays_left, pays_right = _paid_errors(problem, topology)
    yield _keep(p2.right_error_rows(v, problem.X_labeled), pays_right.ravel())
    yield _keep(p2.left_error_rows(v, problem.X_labeled), pays_left.ravel())
    yield p2.one_leaf_rows(v)
    yield p2.beta_at_least_leaf_error_rows(v, problem.labels, topology, bounds.B_labeled[:, None])
    yield margin_rows(v, problem.X_unlabeled, bounds.M_unlabeled)
    yield from p2.leaf_needs_sides_rows(v, topology)
    yield p2.sides_imply_leaf_rows(v, topology)
    yield from p2.total_rows(v, problem)


def margin_rows(v: p2.Variables, X: FloatArray, M: FloatArray) -> Rows:
    """(BIGM1), (BIGM2): 1 - M_i <= omega_b . x_i - gamma_b - M_i z_bi <= -1."""
    terms = p2.hyperplane_terms(v, X, 1.0)
    return linear_rows("BIGM", v.z.shape, [*terms, (v.z.index, -M[None, :])], lower=1.0 - M[None, :], upper=-1.0)


def _keep(rows: Rows, kept: BoolArray) -> Rows:
    """Only some of the rows, renumbered."""
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

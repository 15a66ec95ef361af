"""A smaller model with the same optimum as (P2): merged rows, per-row constants, and no redundant parts.

What differs from the literal model, and why the optimum is the same:

* equal rows are merged and counted: they have the same sides and errors;
* (BIGM1) and (BIGM2) are one two-sided row per unlabeled row and node, with M_i <= M;
* beta <= LE and beta <= B alpha are left out: minimisation lowers beta to them;
* delta is continuous: (binarydelta1) to (binarysum2) fix it to 0 or 1 once z is;
* a row pays for one side only at a last-level node, because only one of its children has the row's class; with more
  than two classes it may pay for both.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from s2oct.arrays import BoolArray, FloatArray
from s2oct.linear.model import Milp, ModelBuilder, Rows, linear_rows
from s2oct.milp import p2
from s2oct.model.cost_terms import (
    P2Variables,
    beta_at_least_leaf_error_rows,
    hyperplane_terms,
    left_error_rows,
    one_leaf_rows,
    own_leaves,
    right_error_rows,
    total_equations,
)
from s2oct.model.prepared import Prepared


def build_lean(prepared: Prepared) -> Milp:
    """The lean equivalent of (P2)."""
    builder = ModelBuilder()
    pays_left, pays_right = _paid_errors(prepared)
    v = p2.add_variables(builder, prepared, pays_left=pays_left, pays_right=pays_right, integral_delta=False)
    return builder.build(p2.objective(v, prepared), _equations(v, prepared, pays_left, pays_right))


def _paid_errors(prepared: Prepared) -> tuple[BoolArray, BoolArray]:
    """Which y^L and y^R are on a path to a leaf of the row's own class, each of shape (b, i)."""
    problem, topology = prepared.problem, prepared.topology
    leaves = own_leaves(problem.labels, topology)
    nodes, sides = topology.path_nodes[leaves], topology.path_sides[leaves]
    row = np.broadcast_to(np.arange(problem.n_labeled)[:, None, None], nodes.shape)
    paid = np.zeros((2, topology.n_branches, problem.n_labeled), dtype=bool)
    paid[sides, nodes, row] = True
    return paid[0], paid[1]


def _equations(v: P2Variables, prepared: Prepared, pays_left: BoolArray, pays_right: BoolArray) -> Iterator[Rows]:
    problem, topology = prepared.problem, prepared.topology
    yield _keep(right_error_rows(v, problem.X_labeled), pays_right.ravel())
    yield _keep(left_error_rows(v, problem.X_labeled), pays_left.ravel())
    yield one_leaf_rows(v)
    yield beta_at_least_leaf_error_rows(v, problem.labels, topology, prepared.B_labeled[:, None])
    yield margin_rows(v, problem.X_unlabeled, prepared.M_unlabeled)
    yield from p2.leaf_needs_sides_rows(v, topology)
    yield p2.sides_imply_leaf_rows(v, topology)
    yield from total_equations(v, problem, topology)
    yield from p2.few_features_rows(v, prepared)


def margin_rows(v: P2Variables, X: FloatArray, M: FloatArray) -> Rows:
    """(BIGM1), (BIGM2): 1 - M_i <= omega_b . x_i - gamma_b - M_i z_bi <= -1."""
    terms = hyperplane_terms(v, X, 1.0)
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

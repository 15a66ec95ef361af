"""Trees as solution vectors of P2, and solution vectors as trees."""

from __future__ import annotations

import numpy as np

from s2oct.arrays import FloatArray
from s2oct.linear.model import Milp
from s2oct.model.assignment import Assignment, branch_errors
from s2oct.model.problem import Problem
from s2oct.model.terms.labels import own_leaves
from s2oct.model.terms.totals import rows_off
from s2oct.model.topology import Topology
from s2oct.model.tree import ObliqueTree


def encode_tree(milp: Milp, problem: Problem, tree: ObliqueTree) -> FloatArray:
    """The complete solution vector of a tree, for both the literal and the lean model."""
    topology, blocks = tree.topology, milp.blocks
    assignment = Assignment.of(problem, tree)
    left, right = branch_errors(assignment.values_labeled)
    own = np.take_along_axis(assignment.leaf_errors, own_leaves(problem.labels, topology), axis=1)
    alpha = np.zeros_like(own)
    alpha[np.arange(len(own)), own.argmin(axis=1)] = 1.0
    leaves_of_a = np.asarray(topology.leaves_of(0))
    values = {
        "omega": tree.omega,
        "gamma": tree.gamma,
        "y_left": left.T,
        "y_right": right.T,
        "alpha": alpha,
        "beta": alpha * own,
        "z": tree.goes_right(problem.X_unlabeled).T,
        "delta": assignment.unlabeled_leaves[None, :] == leaves_of_a[:, None],
        "xi": rows_off(assignment),
        **({"used": tree.omega != 0} if "used" in blocks else {}),
    }
    x = np.empty(milp.n_columns)
    for name, value in values.items():
        x[blocks[name].columns] = np.ravel(value)
    for name in ("y_left", "y_right"):
        columns = blocks[name].columns
        # The lean model fixes the branch errors that no row pays.
        x[columns] = np.minimum(x[columns], milp.upper[columns])
    return x


def decode_tree(milp: Milp, x: FloatArray, topology: Topology) -> ObliqueTree:
    """The tree in a solution vector: (omega, gamma), and nothing else that the solver reported.

    Where the number of features is limited, an unused feature may have a tiny coefficient, within the solver's
    tolerance of 0. It becomes 0.
    """
    omega = milp.blocks["omega"].read(x).copy()
    if "used" in milp.blocks:
        omega[milp.blocks["used"].read(x) < 0.5] = 0.0
    return ObliqueTree.of(topology, omega, milp.blocks["gamma"].read(x).copy())

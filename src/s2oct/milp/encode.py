"""Trees as solution vectors of P2, and solution vectors as trees."""

from __future__ import annotations

import numpy as np

from s2oct.arrays import FloatArray
from s2oct.linear.model import Milp
from s2oct.milp.p2 import counted_leaves
from s2oct.model.assignment import Assignment, branch_errors
from s2oct.model.cost_terms import own_leaves
from s2oct.model.problem import Problem
from s2oct.model.topology import Topology
from s2oct.model.tree import ObliqueTree


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
    """The variables of leaf classes: see `s2oct.model.cost_terms`."""
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
    """The tree in a solution vector: (omega, gamma), the classes of leaves if they are variables, and nothing else.

    Where the number of features is limited, an unused feature may have a tiny coefficient, within the solver's
    tolerance of 0. It becomes 0.
    """
    omega = milp.blocks["omega"].read(x).copy()
    if "used" in milp.blocks:
        omega[milp.blocks["used"].read(x) < 0.5] = 0.0
    gamma = milp.blocks["gamma"].read(x).copy()
    if "chosen" in milp.blocks:
        return ObliqueTree(topology, omega, gamma, milp.blocks["chosen"].read(x).argmax(axis=0))
    return ObliqueTree.of(topology, omega, gamma)

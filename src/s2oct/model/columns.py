"""Problems and trees over some of the columns: a spec may name the columns that rules can use.

P2 is then the model of these columns alone, as if the others were not there: rows that differ in other columns only
are equal, and eta, s, M and the lower bound are those of the columns that are left.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from s2oct.arrays import FloatArray
from s2oct.errors import InvalidProblem
from s2oct.model.problem import Problem
from s2oct.model.scaling import Scaling
from s2oct.model.tree import ObliqueTree

Columns = tuple[int, ...] | None
"""The columns that are left, in their order; None for all."""


def narrowed(problem: Problem, columns: Columns) -> Problem:
    """The problem with these columns alone."""
    if columns is None:
        return problem
    if columns[-1] >= problem.n_features:
        raise InvalidProblem(f"Expected columns below {problem.n_features}, got {columns[-1]}.")
    kept = list(columns)
    return replace(
        problem,
        X_labeled=np.ascontiguousarray(problem.X_labeled[:, kept]),
        X_unlabeled=np.ascontiguousarray(problem.X_unlabeled[:, kept]),
        feature_names=tuple(problem.feature_names[j] for j in kept),
    )


def narrowed_tree(tree: ObliqueTree, columns: Columns) -> ObliqueTree:
    """The tree over these columns, for a tree that uses no others."""
    return tree if columns is None else replace(tree, omega=np.ascontiguousarray(tree.omega[:, list(columns)]))


def uses_others(tree: ObliqueTree, columns: Columns) -> bool:
    """Whether a tree over all columns has a coefficient in a column that is not among these."""
    return columns is not None and bool(np.delete(tree.omega, list(columns), axis=1).any())


def widened_tree(tree: ObliqueTree, columns: Columns, n_features: int) -> ObliqueTree:
    """A tree over these columns as a tree over all: the other coefficients are 0, so every value stays the same."""
    if columns is None:
        return tree
    return replace(tree, omega=_widened(tree.omega, columns, np.zeros((len(tree.omega), n_features))))


def widened_scaling(scaling: Scaling, columns: Columns, n_features: int) -> Scaling:
    """A map of these columns as a map of all, which leaves the others as they are."""
    if columns is None:
        return scaling
    return Scaling(
        _widened(scaling.shift, columns, np.zeros(n_features)), _widened(scaling.scale, columns, np.ones(n_features))
    )


def _widened(narrow: FloatArray, columns: tuple[int, ...], wide: FloatArray) -> FloatArray:
    wide[..., list(columns)] = narrow
    return wide

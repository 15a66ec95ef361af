"""Sec. 4.1 of the paper: centring and rescaling, invertible, so that trees come back in the user's units."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from s2oct.arrays import FloatArray
from s2oct.errors import InvalidProblem
from s2oct.model.problem import Problem
from s2oct.model.tree import ObliqueTree

LARGE = 100.0
"""v-bar: a centred coordinate beyond +-100 is mapped onto [-100, 100]."""


@dataclass(frozen=True, eq=False)
class Scaling:
    """The affine map x -> (x - shift) * scale, coordinate by coordinate."""

    shift: FloatArray
    scale: FloatArray

    @classmethod
    def identity(cls, n_features: int) -> Scaling:
        """Leave every coordinate as it is."""
        return cls(np.zeros(n_features), np.ones(n_features))

    @classmethod
    def paper(cls, X: FloatArray) -> Scaling:
        """Centre every coordinate at the middle of its range; map those still beyond +-100 onto [-100, 100]."""
        low, high = X.min(axis=0), X.max(axis=0)
        # Halving before adding keeps columns that span most of the float range finite.
        middle, half_range = 0.5 * low + 0.5 * high, 0.5 * high - 0.5 * low
        scale = np.ones_like(half_range)
        np.divide(LARGE, half_range, out=scale, where=half_range > LARGE)
        return cls(middle, scale)

    @classmethod
    def unit(cls, X: FloatArray) -> Scaling:
        """Map every coordinate onto [0, 1], as OCT-H requires; constant ones become 0."""
        low, high = X.min(axis=0), X.max(axis=0)
        half_range = 0.5 * high - 0.5 * low
        scale = np.ones_like(half_range)
        np.divide(0.5, half_range, out=scale, where=half_range > 0)
        return cls(low, scale)

    def times(self, factor: float) -> Scaling:
        """The same map, followed by a multiplication of every coordinate."""
        return Scaling(self.shift, self.scale * factor)

    def transform(self, X: FloatArray) -> FloatArray:
        """Rows in model units."""
        # Halves are exact, and their difference cannot overflow.
        rows = 0.5 * X
        rows -= 0.5 * self.shift
        rows *= 2 * self.scale
        return np.asarray(rows)

    def scale_problem(self, problem: Problem) -> Problem:
        """The same problem with its rows in model units."""
        return replace(
            problem,
            X_labeled=self.transform(problem.X_labeled),
            X_unlabeled=self.transform(problem.X_unlabeled),
        )

    def to_user(self, tree: ObliqueTree) -> ObliqueTree:
        """A tree over model units as a tree over the user's units; every row keeps its sides."""
        omega = tree.omega * self.scale
        return replace(tree, omega=omega, gamma=tree.gamma + omega @ self.shift)

    def to_model(self, tree: ObliqueTree) -> ObliqueTree:
        """A tree over the user's units as a tree over model units."""
        return replace(tree, omega=tree.omega / self.scale, gamma=tree.gamma - tree.omega @ self.shift)


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

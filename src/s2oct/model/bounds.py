"""The constants of P2 by the paper's rules, and their versions per row."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from s2oct.arrays import FloatArray
from s2oct.model.geometry import diameter, farthest_l1
from s2oct.model.problem import Problem
from s2oct.stopping import NO_DEADLINE, Deadline

LEAST_M = 500.0
"""Sec. 4.2: s is raised until M = eta s sqrt(p) + 1 reaches this."""


@dataclass(frozen=True)
class Bounds:
    """eta, s, M and B(s) of Propositions 1 and 2, in model units.

    Attributes
    ----------
    eta : float
        The largest distance between two rows, or a larger number if that was not found in time: then M is larger, and
        a lower bound on the cost remains one.
    s : float
        The bound on the coefficients.
    least_eta : float, optional
        A distance that two rows have, if ``eta`` is not known to be one. A tree must be feasible with this one.
    """

    depth: int
    n_features: int
    eta: float
    s: float
    least_eta: float | None = None

    @property
    def M(self) -> float:
        """Eta s sqrt(p) + 1, and at least 2: with less, no hyperplane keeps distance 1 under (BIGM1) and (BIGM2)."""
        return float(max(self.eta * self.s * np.sqrt(self.n_features) + 1.0, 2.0))

    @property
    def B(self) -> float:
        """B(s) = D M, the most a leaf error can be."""
        return self.depth * self.M

    @property
    def is_exact(self) -> bool:
        """Whether eta is the distance of two rows."""
        return self.least_eta is None

    def strict(self) -> Bounds:
        """The bounds that a tree must meet, so that it is feasible whatever eta really is."""
        return self if self.least_eta is None else replace(self, eta=self.least_eta, least_eta=None)

    def M_of_rows(self, X: FloatArray) -> FloatArray:
        """M_i <= M of every row; some optimal tree stays feasible with these.

        A hyperplane that separates rows is within s * max_k |x_i - x_k|_1 of each of them. A hyperplane that separates
        nothing can be moved that near.
        """
        return np.minimum(self.s * farthest_l1(X) + 2.0, self.M)


def paper_depth(n_rows: int, n_classes: int = 2) -> int:
    """The paper's rule for D, or more if the classes need more leaves."""
    return max(2 if n_rows < 1000 else 3, math.ceil(math.log2(n_classes)))


def paper_coefficient_bound(n_rows: int, n_features: int, eta: float) -> float:
    """The paper's rule for s; where all rows are equal (eta = 0) only its constant part is defined."""
    least = 10.0 if n_rows < 650 else 20.0 if n_rows < 1500 else 40.0
    return max(least, (LEAST_M - 1) / (eta * np.sqrt(n_features))) if eta > 0 else least


def compute_bounds(
    problem: Problem, depth: int, coefficient_bound: float | None = None, deadline: Deadline = NO_DEADLINE
) -> Bounds:
    """All constants of P2 for a problem in model units; ``coefficient_bound`` overrides the rule for s."""
    found = diameter(problem.X, deadline)
    s = coefficient_bound
    if s is None:
        s = paper_coefficient_bound(problem.n_rows, problem.n_features, found.most)
    least = None if found.least == found.most else found.least
    return Bounds(depth, problem.n_features, found.most, float(s), least)

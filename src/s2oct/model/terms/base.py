"""What every cost term offers, and the parts of a model that terms build on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from s2oct.arrays import FloatArray
from s2oct.linear.model import Block, Costs, Terms
from s2oct.model.assignment import Assignment
from s2oct.model.problem import Problem


@dataclass(frozen=True)
class P2Variables:
    """The variables of P2. Axes: b branch nodes, i rows, j features, k leaves of a row's own class, t leaves of A.

    With more than two classes, k and t are all leaves: which class a leaf has is one of the variables.
    """

    omega: Block  # (b, j) normal vectors
    gamma: Block  # (b,)   offsets
    y_left: Block  # (b, i) branch error of a labeled row that should go left
    y_right: Block  # (b, i) branch error of a labeled row that should go right
    beta: Block  # (i, k) the leaf error where alpha is 1, else 0
    alpha: Block  # (i, k) 1 for the leaf whose error a labeled row pays
    z: Block  # (b, i) 1 where an unlabeled row goes right
    delta: Block  # (t, i) 1 where an unlabeled row ends in leaf t of class A
    xi: Block  # ()     rows by which the total is missed; (d,) with d domains
    used: Block | None = None  # (b, j) 1 where a split may have a coefficient; None if splits may use all features
    classes: ClassVariables | None = None  # which class each leaf has; None for two classes


@dataclass(frozen=True)
class ClassVariables:
    """The variables that only problems of more than two classes have. Axes: c classes, t leaves, d domains."""

    chosen: Block  # (c, t)    1 for the class of a leaf
    counts: Block  # (d, t, c) rows of a domain that end in a leaf of a class
    over: Block  # (d, c)    rows above the upper bound of a cell
    under: Block  # (d, c)    rows that the lower bound of a cell lacks


class CostTerm(Protocol):
    """A part of what a tree costs. The parts add up in the order in which a problem lists them."""

    def value(self, assignment: Assignment) -> float:
        """What the term adds to the cost of a tree, from where the tree puts the rows and from nothing else."""

    def milp_costs(self, v: P2Variables, problem: Problem) -> Costs:
        """What the term's variables cost in the mixed-integer model."""

    @property
    def row_off(self) -> float:
        """What the search pays for each row by which the totals are missed; it counts errors of labels by itself."""


def hyperplane_terms(v: P2Variables, X: FloatArray, sign: float) -> Terms:
    """Sign * (omega_b . x_i - gamma_b) as terms over rows of shape (b, i)."""
    return [(v.omega.index[:, None, :], sign * X[None, :, :]), (v.gamma.index[:, None], -sign)]

"""Totals: every row by which the classes of the unlabeled rows miss their known totals costs C (C xi of eqMIOobj)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from s2oct.linear.model import Costs, Rows, linear_rows
from s2oct.model.assignment import Assignment
from s2oct.model.problem import Problem
from s2oct.model.terms.base import P2Variables


@dataclass(frozen=True)
class TotalMiss:
    """The price of missing the totals. In the kernels: `s2oct.search.kernels.off_totals`."""

    price: float

    def value(self, assignment: Assignment) -> float:
        """C xi."""
        return self.price * rows_off(assignment)

    def milp_costs(self, v: P2Variables, problem: Problem) -> Costs:
        """Xi costs C."""
        return [(v.xi, self.price)]

    @property
    def row_off(self) -> float:
        """A row off the totals costs C."""
        return self.price


def rows_off(assignment: Assignment) -> float:
    """Xi: how many unlabeled rows would have to change class to meet the totals."""
    return float(np.abs(assignment.class_counts - assignment.problem.totals).sum() / 2)


def total_equations(v: P2Variables, problem: Problem) -> Iterator[Rows]:
    """(sumbin): lambda - xi <= sum delta_ti <= lambda + xi, rows counted with their multiplicity."""
    counted = np.broadcast_to(problem.unlabeled_multiplicity, v.delta.shape).ravel()
    wanted = float(problem.totals[0])
    delta = v.delta.index.ravel()[None, :]
    xi = v.xi.index.reshape(1)
    yield linear_rows("sumbin", (1,), [(delta, counted), (xi, 1.0)], lower=wanted)
    yield linear_rows("sumbin", (1,), [(delta, counted), (xi, -1.0)], upper=wanted)

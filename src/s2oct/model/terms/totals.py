"""Totals: every row by which the classes of the unlabeled rows miss their known totals costs C (C xi of eqMIOobj)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from s2oct.linear.model import Costs, Rows, linear_rows
from s2oct.model.assignment import Assignment
from s2oct.model.problem import Problem
from s2oct.model.terms.base import P2Variables
from s2oct.model.terms.leaf_classes import class_equations
from s2oct.model.topology import Topology


@dataclass(frozen=True)
class TotalMiss:
    """The price of missing the totals. In the kernels: `s2oct.search.compiled.cells.off_totals`."""

    price: float

    def value(self, assignment: Assignment) -> float:
        """C xi."""
        return self.price * rows_off(assignment)

    def milp_costs(self, v: P2Variables, problem: Problem) -> Costs:
        """Every xi costs C."""
        return [(v.xi, self.price)]

    @property
    def row_off(self) -> float:
        """A row off the totals costs C."""
        return self.price


def rows_off(assignment: Assignment) -> float:
    """Xi: how many unlabeled rows would have to change class to meet the totals, added up over all domains."""
    return assignment.problem.targets.rows_off(assignment.unlabeled_classes, assignment.problem.unlabeled_size)


def total_equations(v: P2Variables, problem: Problem, topology: Topology) -> Iterator[Rows]:
    """(sumbin): lambda - xi <= sum delta_ti <= lambda + xi over the rows of each domain, each counted with its size.

    Two classes need these rows alone: what a domain lacks of class A it has too much of class B. More classes have
    `class_equations` instead.
    """
    if v.classes is not None:
        yield from class_equations(v, v.classes, problem, topology)
        return
    begin = 0
    for margin in problem.targets.margins:
        for domain in range(margin.n_domains):
            here = np.flatnonzero(margin.codes == domain)
            sizes = problem.unlabeled_size[here]
            # Class B bounds class A as well: what is not in B is in A.
            rows = float(sizes.sum())
            low = max(float(margin.low[domain, 0]), rows - float(margin.high[domain, 1]))
            high = min(float(margin.high[domain, 0]), rows - float(margin.low[domain, 1]))
            counted = np.broadcast_to(sizes, (v.delta.shape[0], len(here))).ravel()
            delta = v.delta.index[:, here].ravel()[None, :]
            xi = v.xi.index.ravel()[begin : begin + 1]
            yield linear_rows("sumbin", (1,), [(delta, counted), (xi, 1.0)], lower=low)
            yield linear_rows("sumbin", (1,), [(delta, counted), (xi, -1.0)], upper=high)
            begin += 1

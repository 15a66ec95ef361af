"""Guide: what another classifier charges for the classes of the unlabeled rows, and for every row off the totals."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from s2oct.linear.model import Costs
from s2oct.model.assignment import Assignment
from s2oct.model.guide import Guide
from s2oct.model.problem import Problem
from s2oct.model.terms.base import P2Variables, SearchPrices
from s2oct.model.terms.totals import rows_off


@dataclass(frozen=True, eq=False)
class GuideCharges:
    """The charges of a guide, times its price. In the kernels: ``NodeView.charge``."""

    guide: Guide

    def value(self, assignment: Assignment) -> float:
        """The charges for the classes in which the unlabeled rows end, and 1 for each row off the totals."""
        return self.guide.price * guide_cost(self.guide, assignment)

    def milp_costs(self, v: P2Variables, problem: Problem) -> Costs:
        """Theta_i delta_ti and xi, up to `milp_constant`: theta is how much more class A costs than class B."""
        guide = self.guide
        if guide.price == 0:
            return []
        theta = guide.price * problem.unlabeled_multiplicity * (guide.charges[:, 0] - guide.charges[:, 1])
        return [(v.xi, guide.price), (v.delta, theta[None, :])]

    def milp_constant(self, problem: Problem) -> float:
        """What the guide charges if every row is in class B."""
        return self.guide.price * float(problem.unlabeled_multiplicity @ self.guide.charges[:, 1])

    def search_prices(self, problem: Problem, unit: float) -> SearchPrices:
        """The charges in the search's unit, and the price of a row off the totals."""
        return SearchPrices(self.guide.price, self.guide.price / unit * self.guide.charges)


def guide_cost(guide: Guide, assignment: Assignment) -> float:
    """What a guide charges for a tree, before its price.

    The guide knows the totals, so a row off them counts as one that is surely in the wrong class.
    """
    assigned = assignment.unlabeled_classes
    charged = guide.charges[np.arange(len(assigned)), assigned]
    return float(assignment.problem.unlabeled_multiplicity @ charged) + rows_off(assignment)

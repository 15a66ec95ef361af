"""What a tree costs: (P1) evaluated directly, from where the tree puts the rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from s2oct.model.assignment import Assignment
from s2oct.model.guide import Guide
from s2oct.model.terms import LabelErrors, TotalMiss
from s2oct.model.terms.totals import rows_off

MARGIN_TOLERANCE = 1e-6
"""An unlabeled row counts as being at distance 1 from a hyperplane down to 1 - 1e-6."""


@dataclass(frozen=True)
class Score:
    """What a tree costs in P2, what the guide charges for it, and whether its unlabeled rows keep their distance.

    Attributes
    ----------
    leaf_error : float
        Errors of the labeled rows.
    xi : float
        Rows by which the totals are missed.
    objective : float
        P2's cost: errors and C xi.
    n_margin_violations : int
        Unlabeled rows that are too near a hyperplane.
    min_margin : float
        Least distance of an unlabeled row from a hyperplane.
    guide_cost : float
        What the guide charges, see `guide_cost`; 0 without a guide.
    """

    leaf_error: float
    xi: float
    objective: float
    n_margin_violations: int
    min_margin: float
    guide_cost: float = 0.0


def score(assignment: Assignment, C: float) -> Score:
    """Evaluate a tree on the rows of a problem."""
    problem, margins = assignment.problem, assignment.margins
    leaf_error = LabelErrors().value(assignment)
    too_near = margins < 1 - MARGIN_TOLERANCE
    return Score(
        leaf_error=leaf_error,
        xi=rows_off(assignment),
        objective=leaf_error + TotalMiss(C).value(assignment),
        n_margin_violations=int(problem.unlabeled_multiplicity[too_near].sum()),
        min_margin=float(margins.min()) if len(margins) else float("inf"),
        guide_cost=0.0 if problem.guide is None else guide_cost(problem.guide, assignment),
    )


def guide_cost(guide: Guide, assignment: Assignment) -> float:
    """What a guide charges for a tree.

    The guide knows the totals, so a row off them counts as one that is surely in the wrong class.
    """
    assigned = assignment.unlabeled_classes
    charged = guide.charges[np.arange(len(assigned)), assigned]
    return float(assignment.problem.unlabeled_size @ charged) + rows_off(assignment)

"""Tiny problems with a name, a depth and, where reasoning alone gives it, their optimum. Units are the model's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from s2oct.p2.prepared import ModelSpec, Prepared
from s2oct.problem.problem import Problem
from s2oct.trees.tree import Topology
from tests.preparing import prepared_as_is

A, B = "A", "B"


@dataclass(frozen=True, eq=False)
class Tiny:
    """A problem, the depth of its tree, and the cost of the best tree (None: no argument gives it away)."""

    problem: Problem
    depth: int
    optimum: float | None
    C: float = 1.0
    coefficient_bound: float | None = None

    @property
    def topology(self) -> Topology:
        return Topology(self.depth)

    @property
    def spec(self) -> ModelSpec:
        return ModelSpec(depth=self.depth, C=self.C, coefficient_bound=self.coefficient_bound)

    @property
    def prepared(self) -> Prepared:
        return prepared_as_is(self.problem, self.depth, self.coefficient_bound, self.C)

    @property
    def merged(self) -> Tiny:
        return Tiny(self.problem.merged(), self.depth, self.optimum, self.C, self.coefficient_bound)


def tiny(
    depth: int,
    labeled: Sequence[tuple[object, str]],
    unlabeled: Sequence[object],
    total_a: int,
    *,
    optimum: float | None,
    C: float = 1.0,
    coefficient_bound: float | None = None,
) -> Tiny:
    """Rows may be numbers, for problems on a line."""
    rows = [x for x, _ in labeled] + list(unlabeled)
    X = np.array(rows, dtype=float).reshape(len(rows), -1)
    y = [label for _, label in labeled] + [None] * len(unlabeled)
    totals = {A: total_a, B: len(unlabeled) - total_a}
    return Tiny(Problem.from_arrays(X, y, totals=totals), depth, optimum, C, coefficient_bound)


TINY = {
    # A | B with room between them.
    "separable_line": tiny(1, [(0, A), (10, B)], [1, 2, 8, 9], 2, optimum=0),
    # No tree gives one place two classes: 2 for the pair, whatever the hyperplane.
    "contradictory_pair": tiny(1, [(0, A), (0, B)], [5, 6], 0, optimum=2),
    # A hyperplane between 5 and 6 is 11 away from the pair at 0: missing the total by 1 is cheaper.
    "contradictory_pair_far_from_the_split": tiny(1, [(0, A), (0, B)], [5, 6], 1, optimum=3),
    # One more level, and the pair has a hyperplane to itself.
    "contradictory_pair_at_depth_2": tiny(2, [(0, A), (0, B)], [5, 6], 1, optimum=2),
    # Two rows of A against one of B at the same place: giving up the one costs 2, all three cost 3.
    "outvoted_row": tiny(1, [(0, A), (0, A), (0, B)], [5, 6], 0, optimum=2),
    # Only A is labeled; the total alone says where B begins.
    "one_class_labels": tiny(1, [(0, A), (1, A)], [2, 3, 8, 9], 2, optimum=0),
    "no_unlabeled_row_is_a": tiny(1, [(0, A), (10, B)], [1, 2, 8, 9], 0, optimum=0),
    "every_unlabeled_row_is_a": tiny(1, [(0, A), (10, B)], [1, 2, 8, 9], 4, optimum=0),
    # The two rows at 8 change class together, so 1 or 3 of class A can be had, not 2.
    "equal_unlabeled_rows": tiny(1, [(0, A), (10, B)], [1, 8, 8], 2, optimum=1),
    # The total wants the unlabeled row to be A where a labeled row says B: C or 2, whichever is less.
    "total_against_label": tiny(1, [(0, A), (4, B)], [4], 1, optimum=1),
    "costly_total_against_label": tiny(1, [(0, A), (4, B)], [4], 1, optimum=2, C=5.0),
    # With |omega| <= 1 the values at 0 and 1 differ by 1 at most, and 2 are needed.
    "steepness_is_bounded": tiny(1, [(0, A), (1, B)], [10], 0, optimum=1, coefficient_bound=1.0),
    # Nothing to split on: 2 for the labeled pair, and the total is missed by 1.
    "all_rows_equal": tiny(1, [(3, A), (3, B)], [3, 3], 1, optimum=3),
    "corners_at_depth_1": tiny(
        1, [((0, 0), A), ((1, 1), A), ((0, 1), B), ((1, 0), B)], [(0.1, 0.2), (0.9, 0.2)], 1, optimum=None
    ),
    # The same corners need two hyperplanes one after the other.
    "corners_at_depth_2": tiny(
        2, [((0, 0), A), ((1, 1), A), ((0, 1), B), ((1, 0), B)], [(0.1, 0.2), (0.9, 0.2), (0.9, 0.9)], 2, optimum=0
    ),
    # Four stretches in turn are exactly what four leaves in turn can say.
    "alternating_line_at_depth_2": tiny(2, [(0, A), (10, B), (20, A), (30, B)], [1, 11, 21, 31], 2, optimum=0),
    # Equal rows at depth 2: one contradiction, and a total out of reach.
    "contradiction_and_parity_at_depth_2": tiny(2, [(0, A), (0, B), (9, B)], [4, 4], 1, optimum=3),
    "alternating_line_at_depth_3": tiny(
        3, [(0, A), (10, B), (20, A), (30, B), (40, A), (50, B)], [1, 41], 2, optimum=0
    ),
}

AT_DEPTH_1 = [name for name, instance in TINY.items() if instance.depth == 1]

"""The cost of a tree, (P1) evaluated directly from the rows in its leaves, and whether the tree is feasible."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from s2oct.arrays import BoolArray, FloatArray, IntArray
from s2oct.p2.prepared import Bounds, ModelSpec, Prepared
from s2oct.problem.problem import Guide, Problem
from s2oct.trees.tree import Distances, ObliqueTree, Topology

MARGIN_TOLERANCE = 1e-6
"""An unlabeled row counts as being at distance 1 from a hyperplane down to 1 - 1e-6."""


@dataclass(frozen=True, eq=False)
class Assignment:
    """A tree and the rows of a problem in the same units, with their distances from all hyperplanes.

    Attributes
    ----------
    labeled, unlabeled : Distances
        Distances of the labeled and of the unlabeled rows from the hyperplanes.
    """

    problem: Problem
    tree: ObliqueTree
    labeled: Distances
    unlabeled: Distances

    @classmethod
    def of(cls, problem: Problem, tree: ObliqueTree) -> Assignment:
        """Compute the distances of all rows once."""
        return cls(problem, tree, tree.distances(problem.X_labeled), tree.distances(problem.X_unlabeled))

    @cached_property
    def values_labeled(self) -> FloatArray:
        """omega_b . x - gamma_b of the labeled rows, shape (n, n_branches)."""
        return self.tree.values(self.problem.X_labeled)

    @cached_property
    def leaf_errors(self) -> FloatArray:
        """Definition 2: LE(x, t) of every labeled row at every leaf, shape (n, n_leaves)."""
        return leaf_errors(self.tree.topology, self.values_labeled)

    @cached_property
    def is_own_leaf(self) -> BoolArray:
        """Whether each leaf has the class of each labeled row, shape (n, n_leaves)."""
        return np.asarray(self.tree.leaf_classes[None, :] == self.problem.labels[:, None])

    @cached_property
    def _cheapest(self) -> tuple[IntArray, FloatArray]:
        return self.tree.cheapest_leaves(self.problem.X_labeled, self.problem.labels)

    @property
    def cheapest_leaf(self) -> IntArray:
        """Position (from the left) of the cheapest leaf of each labeled row's own class, shape (n,)."""
        return self._cheapest[0]

    @property
    def label_errors(self) -> FloatArray:
        """Min over t in T_L^c of LE(x, t) for every labeled row, shape (n,)."""
        return self._cheapest[1]

    @cached_property
    def labeled_classes(self) -> IntArray:
        """Class index that the tree assigns to each labeled row, shape (n,)."""
        return self.tree.predict(self.problem.X_labeled)

    @cached_property
    def unlabeled_leaves(self) -> IntArray:
        """Id of the leaf in which each unlabeled row ends, shape (m,)."""
        return self.tree.apply(self.problem.X_unlabeled)

    @cached_property
    def unlabeled_classes(self) -> IntArray:
        """Class index of each unlabeled row, shape (m,)."""
        return np.asarray(self.tree.leaf_classes[self.unlabeled_leaves - self.tree.topology.n_leaves])

    @cached_property
    def class_counts(self) -> FloatArray:
        """Unlabeled rows in each class, weighted by their sizes, shape (n_classes,)."""
        counted = self.problem.unlabeled_size
        return np.bincount(self.unlabeled_classes, weights=counted, minlength=self.problem.n_classes).astype(float)

    @property
    def margins(self) -> FloatArray:
        """Minimum distance of each unlabeled row from a hyperplane, in units of omega, shape (m,)."""
        return self.unlabeled.of_rows

    def errors_are_within(self, most: float) -> bool:
        """Whether every labeled row's error is at most ``most`` at each leaf that it may choose.

        With two classes these are the leaves of its own class. With more, the classes of the leaves are variables of
        P2, and (boundbeta2) applies to every leaf.
        """
        depth = self.tree.topology.depth
        # A branch error is at most the distance plus 1, so leaf errors are needed only for large distances.
        if depth * (1 + float(self.labeled.largest.max(initial=0.0))) <= most:
            return True
        may_choose = self.is_own_leaf if self.tree.topology.n_classes == 2 else True
        return bool(np.where(may_choose, self.leaf_errors, 0.0).max(initial=0.0) <= most)


def branch_errors(values: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Definition 1: y^L and y^R of every row at every branch node, each of shape (rows, n_branches)."""
    return np.maximum(1 + values, 0), np.maximum(1 - values, 0)


def leaf_errors(topology: Topology, values: FloatArray) -> FloatArray:
    """Definition 2: LE(x, t) of every row at every leaf, shape (rows, n_leaves)."""
    left, right = branch_errors(values)
    errors = np.zeros((len(values), 1))
    for level in range(topology.depth):
        nodes = slice(2**level - 1, 2 ** (level + 1) - 1)
        both = np.stack([errors + left[:, nodes], errors + right[:, nodes]], axis=2)
        errors = both.reshape(len(values), 2 ** (level + 1))
    return errors


def sum_of_errors(sizes: FloatArray, errors: FloatArray) -> float:
    """Sum of the errors of labeled rows, weighted by their sizes.

    A row of size 0 costs nothing, even if no leaf has its class and its error is infinite.
    """
    counts = sizes > 0
    return float(sizes[counts] @ errors[counts])


def rows_off(assignment: Assignment) -> float:
    """Xi: number of unlabeled rows that would have to change class to meet the totals, summed over all domains."""
    return assignment.problem.targets.rows_off(assignment.unlabeled_classes, assignment.problem.unlabeled_size)


@dataclass(frozen=True)
class Score:
    """The cost of a tree in P2, the guide's charge, and whether its unlabeled rows keep their distance.

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
        Minimum distance of an unlabeled row from a hyperplane.
    guide_cost : float
        The guide's charge, see `guide_cost`; 0 without a guide.
    """

    leaf_error: float
    xi: float
    objective: float
    n_margin_violations: int
    min_margin: float
    guide_cost: float = 0.0


def score(assignment: Assignment, spec: ModelSpec) -> Score:
    """Evaluate a tree on the rows of a problem, at the prices of a spec."""
    problem, margins = assignment.problem, assignment.margins
    leaf_error, xi = sum_of_errors(problem.labeled_size, assignment.label_errors), rows_off(assignment)
    too_near = margins < 1 - MARGIN_TOLERANCE
    return Score(
        leaf_error=leaf_error,
        xi=xi,
        objective=leaf_error + spec.C * xi,
        n_margin_violations=int(problem.unlabeled_multiplicity[too_near].sum()),
        min_margin=float(margins.min()) if len(margins) else float("inf"),
        guide_cost=0.0 if problem.guide is None else guide_cost(problem.guide, assignment),
    )


def guide_cost(guide: Guide, assignment: Assignment) -> float:
    """The guide's charge for a tree. The guide knows the totals, so a row off them counts as surely misclassified."""
    assigned = assignment.unlabeled_classes
    charged = guide.charges[np.arange(len(assigned)), assigned]
    return float(assignment.problem.unlabeled_size @ charged) + rows_off(assignment)


_WORTH_MENDING = 0.5
"""A minimum margin below this is not a rounding error. Scaling it up would give a different tree."""


def is_feasible(
    assignment: Assignment,
    bounds: Bounds,
    found: Score,
    scale: FloatArray | float = 1.0,
    most_features: int | None = None,
) -> bool:
    """Whether unlabeled rows keep distance 1 and (boundomega), the far sides of (BIGM1/2) and LE <= B(s) hold.

    The assignment may be in other units than the bounds: ``scale`` is the factor of the features. ``most_features`` is
    the maximum number of nonzero coefficients per split.
    """
    slack, bounds = 1 + MARGIN_TOLERANCE, bounds.strict()
    reach = assignment.unlabeled.largest.max(initial=0.0)
    n_used = np.count_nonzero(assignment.tree.omega, axis=1).max(initial=0)
    return bool(
        found.n_margin_violations == 0
        and (most_features is None or n_used <= most_features)
        and np.abs(assignment.tree.omega / scale).max(initial=0.0) <= bounds.s * slack
        and reach <= (bounds.M - 1) * slack
        and assignment.errors_are_within(bounds.B * slack)
    )


def feasible_score(prepared: Prepared, assignment: Assignment) -> Score | None:
    """The score of a tree in model units, or None if it is not feasible for P2."""
    found = score(assignment, prepared.spec)
    feasible = is_feasible(assignment, prepared.bounds, found, most_features=prepared.most_features)
    return found if feasible else None


def mended(prepared: Prepared, tree: ObliqueTree) -> Assignment:
    """Repair the effects of solver tolerances on a tree, and return its assignment. Every row keeps its side.

    Coefficients are clipped to s, and those of constant features move into the offset. A node with a margin slightly
    below 1 is scaled up as far as s allows. A node with all rows on one side, at distance 1 or more, becomes constant:
    no row pays for that, and every M allows it. No node uses a feature that it did not use before.
    """
    problem, s = prepared.problem, prepared.bounds.s
    omega = np.clip(tree.omega, -s, s)
    # Solvers give arbitrary coefficients to constant features; a large one would swamp the others.
    constant = prepared.spread == 0
    gamma = tree.gamma - omega[:, constant] @ prepared.lowest[constant]
    omega[:, constant] = 0.0
    routed = Assignment.of(problem, replace(tree, omega=omega, gamma=gamma))
    is_idle, goes_right = _idle(routed)
    distance = routed.unlabeled.least
    factor = _lengthening(omega, distance, s, (distance > _WORTH_MENDING) & (distance < 1))
    mended_tree = replace(
        tree,
        omega=np.where(is_idle[:, None], 0.0, omega * factor[:, None]),
        gamma=np.where(is_idle, np.where(goes_right, -1.0, 1.0), gamma * factor),
    )
    if np.array_equal(mended_tree.omega, omega) and np.array_equal(mended_tree.gamma, gamma):
        return replace(routed, tree=mended_tree)
    return Assignment.of(problem, mended_tree)


def _idle(routed: Assignment) -> tuple[BoolArray, BoolArray]:
    """Whether each node has all rows on one side, at distance 1 or more, and whether that is the right side."""
    labeled, unlabeled = routed.labeled, routed.unlabeled
    n_left, n_right = labeled.n_left + unlabeled.n_left, labeled.n_right + unlabeled.n_right
    n_rows = len(labeled.of_rows) + len(unlabeled.of_rows)
    nearest = np.minimum(labeled.least, unlabeled.least)
    return ((n_left == n_rows) | (n_right == n_rows)) & (nearest >= 1 - MARGIN_TOLERANCE), n_right == n_rows


def lengthened(prepared: Prepared, tree: ObliqueTree) -> ObliqueTree:
    """The same hyperplanes, lengthened so that the unlabeled rows are at distance 1 from each, as far as s allows."""
    distance = tree.distances(prepared.problem.X_unlabeled).least
    # Without unlabeled rows, any length will do.
    factor = _lengthening(tree.omega, distance, prepared.bounds.s, np.isfinite(distance))
    return replace(tree, omega=tree.omega * factor[:, None], gamma=tree.gamma * factor)


def _lengthening(omega: FloatArray, distance: FloatArray, s: float, chosen: BoolArray) -> FloatArray:
    """Factors that bring the nearest row of the chosen nodes to distance 1, as far as s allows; 1 for other nodes."""
    largest = np.abs(omega).max(axis=1, initial=0.0)
    with np.errstate(divide="ignore"):
        # Slightly more than needed, so that rounding does not undo it.
        factor = np.minimum((1 + 1e-12) / distance, s / largest)
    return np.where(chosen & (largest > 0), factor, 1.0)

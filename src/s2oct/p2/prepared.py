"""A problem prepared for P2: choices about the model, model units, merged rows, and the constants M and s.

The constants follow the paper's rules. They need the largest distance between two rows.
"""

from __future__ import annotations

import math
import numbers
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.spatial.distance import cdist

from s2oct.arrays import FloatArray, IntArray
from s2oct.errors import InvalidProblem
from s2oct.problem.problem import Guide, Problem, group_means
from s2oct.stopping import NO_DEADLINE, Deadline
from s2oct.trees.tree import ObliqueTree, Topology

_BLOCK, _BOX = 2048, 256
_QUICK_WORK = 5e7
"""Pairs times features up to which the diameter is always computed, in some hundredths of a second."""

_EXACT_L1_WORK = 5e8
"""Pairs times features up to which the largest distance in the 1-norm is exact rather than bounded by the box."""


def diameter(X: FloatArray, deadline: Deadline = NO_DEADLINE) -> tuple[float, float]:
    """Lower and upper bound on eta, the largest Euclidean distance between two rows, without an N x N matrix.

    Rows that cannot be farther apart than a known distance are skipped: first single rows (through the centre, or in
    the farthest corner of the box), then pairs of boxes of neighbouring rows. In many dimensions this skips little.
    Two rows attain the lower bound. The upper bound is larger only after the deadline.
    """
    if len(X) < 2:
        return 0.0, 0.0
    if len(X) ** 2 * X.shape[1] < _QUICK_WORK:
        deadline = NO_DEADLINE
    low, high = X.min(axis=0), X.max(axis=0)
    if deadline.passed:
        widest = X[:, int((0.5 * high - 0.5 * low).argmax())]
        ends = X[[int(widest.argmin()), int(widest.argmax())]]
        return float(np.linalg.norm(ends[1] - ends[0])), float(np.linalg.norm(high - low))
    rows = X - (0.5 * low + 0.5 * high)
    low, high = rows.min(axis=0), rows.max(axis=0)
    radius = np.linalg.norm(rows, axis=1)
    most = min(float(np.linalg.norm(high - low)), 2 * float(radius.max()))
    best = _far_pair(rows, deadline)
    if deadline.passed:
        return best, max(most, best)
    corner = np.linalg.norm(np.maximum(rows - low, high - rows), axis=1)
    rows = rows[np.minimum(radius + radius.max(), corner) > best]
    boxes = [(box, np.einsum("ij,ij->i", box, box)) for box in (rows[group] for group in _neighbours(rows))]
    low, high = np.array([box.min(axis=0) for box, _ in boxes]), np.array([box.max(axis=0) for box, _ in boxes])
    for a in range(len(boxes)):
        apart = np.linalg.norm(np.maximum(high[a:] - low[a], high[a] - low[a:]), axis=1)
        for b in a + np.flatnonzero(apart > best):
            if deadline.passed:
                return best, max(most, best)
            if apart[b - a] > best:
                best = max(best, _largest_distance(*boxes[a], *boxes[b], best))
    return best, best


def _far_pair(rows: FloatArray, deadline: Deadline) -> float:
    """A large distance, found quickly: from several rows, go to the farthest row until the distance stops growing."""
    best = 0.0
    squares = np.einsum("ij,ij->i", rows, rows)
    outer = np.argsort(-squares, kind="stable")[:: max(1, len(rows) // 16)][:16]
    for here in outer.tolist():
        reached = 0.0
        while not deadline.passed:
            # The choice of the farthest row need not be exact, but its distance is computed from differences.
            there = int((squares - 2 * (rows @ rows[here])).argmax())
            distance = float(np.linalg.norm(rows[there : there + 1] - rows[here], axis=1)[0])
            if distance <= reached:
                break
            here, reached = there, distance
        best = max(best, reached)
    return best


def _neighbours(rows: FloatArray) -> list[IntArray]:
    """Row numbers in groups of neighbours: halved along the widest feature until small."""
    pending, groups = [np.arange(len(rows))], []
    while pending:
        group = pending.pop()
        if len(group) <= _BOX:
            if len(group):
                groups.append(group)
            continue
        widest = int(np.ptp(rows[group], axis=0).argmax())
        group = group[np.argsort(rows[group, widest], kind="stable")]
        pending += [group[: len(group) // 2], group[len(group) // 2 :]]
    return groups


def _largest_distance(
    first: FloatArray, first_squares: FloatArray, second: FloatArray, second_squares: FloatArray, best: float
) -> float:
    """Largest distance between two groups of rows if it exceeds the best, recomputed from the differences."""
    squared = first @ second.T
    squared *= -2
    squared += first_squares[:, None]
    squared += second_squares
    # The Gram form loses digits to cancellation: it selects candidate pairs, and the differences decide.
    slack = 1e-9 * float(first_squares.max() + second_squares.max())
    largest = float(squared.max())
    if largest + slack <= best * best:
        return best
    i, k = np.nonzero(squared >= largest - 2 * slack)
    return float(np.linalg.norm(first[i] - second[k], axis=1).max())


def farthest_l1(X: FloatArray) -> FloatArray:
    """max_k |x_i - x_k|_1 for every row; if that is too slow, the distance to the farthest corner of the box."""
    n, p = X.shape
    corner = np.maximum(X - X.min(axis=0), X.max(axis=0) - X).sum(axis=1)
    if n * n * p > _EXACT_L1_WORK:
        return np.asarray(corner)
    farthest = np.zeros(n)
    for start in range(0, n, _BLOCK):
        farthest[start : start + _BLOCK] = cdist(X[start : start + _BLOCK], X, "cityblock").max(axis=1)
    return farthest


LEAST_M = 500.0
"""Sec. 4.2: s is raised until M = eta s sqrt(p) + 1 reaches this."""


@dataclass(frozen=True)
class Bounds:
    """eta, s, M and B(s) of Propositions 1 and 2, in model units.

    Attributes
    ----------
    eta : float
        The largest distance between two rows, or a larger number if there was no time to find it. M is then larger,
        and lower bounds on the cost stay valid.
    s : float
        The bound on the coefficients.
    least_eta : float, optional
        A distance that two rows have, if ``eta`` may be larger. Trees must be feasible with this one.
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
        """B(s) = D M, the largest possible leaf error."""
        return self.depth * self.M

    @property
    def is_exact(self) -> bool:
        """Whether eta is the largest distance, not a bound on it."""
        return self.least_eta is None

    def strict(self) -> Bounds:
        """The bounds that a tree must meet to be feasible for every possible eta."""
        return self if self.least_eta is None else replace(self, eta=self.least_eta, least_eta=None)

    def M_of_rows(self, X: FloatArray) -> FloatArray:
        """M_i <= M of every row; some optimal tree stays feasible with these.

        A hyperplane that separates rows is within s * max_k |x_i - x_k|_1 of each of them. Any other hyperplane can be
        moved that close.
        """
        return np.minimum(self.s * farthest_l1(X) + 2.0, self.M)


def paper_depth(n_rows: int, n_classes: int = 2) -> int:
    """The paper's rule for D, or more if the classes need more leaves."""
    return max(2 if n_rows < 1000 else 3, math.ceil(math.log2(n_classes)))


def paper_coefficient_bound(n_rows: int, n_features: int, eta: float) -> float:
    """The paper's rule for s; if all rows are equal (eta = 0), only its constant part is defined."""
    least = 10.0 if n_rows < 650 else 20.0 if n_rows < 1500 else 40.0
    return max(least, (LEAST_M - 1) / (eta * np.sqrt(n_features))) if eta > 0 else least


def compute_bounds(
    problem: Problem, depth: int, coefficient_bound: float | None = None, deadline: Deadline = NO_DEADLINE
) -> Bounds:
    """All constants of P2 for a problem in model units; ``coefficient_bound`` overrides the rule for s."""
    least, eta = diameter(problem.X, deadline)
    s = coefficient_bound
    if s is None:
        s = paper_coefficient_bound(problem.n_rows, problem.n_features, eta)
    return Bounds(depth, problem.n_features, eta, float(s), None if least == eta else least)


@dataclass(frozen=True)
class ModelSpec:
    """The parameters of the model.

    Parameters
    ----------
    depth : int, optional
        Hyperplanes between root and leaf (the paper's D); the paper's rule if None.
    C : float
        Price of one row by which the totals are missed.
    coefficient_bound : float, optional
        The paper's s, the bound on every coefficient in model units; the paper's rule if None.
    scaled : bool
        Whether the features are centred and rescaled as in Sec. 4.1 of the paper.
    max_features_per_split : int, optional
        Maximum number of features per split; no constraint if None, as in the paper.
    features : tuple of int, optional
        The columns that splits may use, in ascending order; all columns if None.
    """

    depth: int | None = None
    C: float = 1.0
    coefficient_bound: float | None = None
    scaled: bool = True
    max_features_per_split: int | None = None
    features: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        if not _is_positive(self.C):
            raise InvalidProblem(f"Expected C to be a positive number, got {self.C!r}.")
        if self.coefficient_bound is not None and not _is_positive(self.coefficient_bound):
            raise InvalidProblem(
                f"Expected a coefficient bound s between 0 and infinity, got {self.coefficient_bound!r}."
            )
        most = self.max_features_per_split
        if most is not None and not (_is_whole(most) and most >= 1):
            raise InvalidProblem(f"Expected at least 1 feature per split, got {most!r}.")
        columns = self.features
        if columns is not None and not (columns and all(_is_whole(j) and j >= 0 for j in columns)):
            raise InvalidProblem(f"Expected at least one column that splits may use, got {columns!r}.")
        if columns is not None and list(columns) != sorted(set(columns)):
            raise InvalidProblem(f"Expected distinct columns in ascending order, got {columns!r}.")


def _is_positive(value: object) -> bool:
    return isinstance(value, numbers.Real) and not isinstance(value, bool) and 0 < float(value) < float("inf")


def _is_whole(value: object) -> bool:
    return isinstance(value, numbers.Integral) and not isinstance(value, bool)


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
"""Columns that remain, in ascending order; None for all."""


def narrowed(problem: Problem, columns: Columns) -> Problem:
    """The problem with only these columns."""
    if columns is None:
        return problem
    if columns[-1] >= problem.n_features:
        raise InvalidProblem(f"Expected columns below {problem.n_features}, got {columns[-1]}.")
    kept = list(columns)
    return replace(
        problem,
        X_labeled=np.ascontiguousarray(problem.X_labeled[:, kept]),
        X_unlabeled=np.ascontiguousarray(problem.X_unlabeled[:, kept]),
        features=tuple(problem.features[j] for j in kept),
    )


def narrowed_tree(tree: ObliqueTree, columns: Columns) -> ObliqueTree:
    """A tree that uses only these columns as a tree over them."""
    return tree if columns is None else replace(tree, omega=np.ascontiguousarray(tree.omega[:, list(columns)]))


def uses_others(tree: ObliqueTree, columns: Columns) -> bool:
    """Whether a tree over all columns uses a column that is not among these."""
    return columns is not None and bool(np.delete(tree.omega, list(columns), axis=1).any())


def widened_tree(tree: ObliqueTree, columns: Columns, n_features: int) -> ObliqueTree:
    """A tree over these columns as a tree over all columns: the other coefficients are 0, so no value changes."""
    if columns is None:
        return tree
    return replace(tree, omega=_widened(tree.omega, columns, np.zeros((len(tree.omega), n_features))))


def widened_scaling(scaling: Scaling, columns: Columns, n_features: int) -> Scaling:
    """A map of these columns as a map of all columns, which leaves the others unchanged."""
    if columns is None:
        return scaling
    return Scaling(
        _widened(scaling.shift, columns, np.zeros(n_features)), _widened(scaling.scale, columns, np.ones(n_features))
    )


def _widened(narrow: FloatArray, columns: tuple[int, ...], wide: FloatArray) -> FloatArray:
    wide[..., list(columns)] = narrow
    return wide


TINY = 1e-3
"""If the largest distance is below this, all rows are enlarged for the solvers."""

LARGEST_M = 1e10
"""Beyond this M, rounding hides the difference between a distance of 1 and one of 1 - 1e-6."""


@dataclass(frozen=True, eq=False)
class Prepared:
    """Everything about a problem that does not change during a fit.

    Attributes
    ----------
    given : Problem
        The user's problem, with the columns that splits may use.
    problem : Problem
        The same in model units, with identical rows merged.
    groups : ndarray of shape (m,)
        For every unlabeled row of ``given``, its index among the merged rows.
    spec : ModelSpec
        The parameters of the model.
    scaling : Scaling
        The map from the user's units to model units.
    topology : Topology
        The shape of the tree.
    bounds : Bounds
        The constants of P2.
    """

    given: Problem
    problem: Problem
    groups: IntArray
    spec: ModelSpec
    scaling: Scaling
    topology: Topology
    bounds: Bounds

    @property
    def most_features(self) -> int | None:
        """Maximum number of features per split; None if every split may use all."""
        most = self.spec.max_features_per_split
        return None if most is None or most >= self.problem.n_features else most

    @cached_property
    def lowest(self) -> FloatArray:
        """The minimum of each feature, in model units."""
        parts = self.problem.X_labeled, self.problem.X_unlabeled
        return np.asarray(np.min([part.min(axis=0, initial=np.inf) for part in parts], axis=0))

    @cached_property
    def spread(self) -> FloatArray:
        """The range of each feature, in model units; 0 where all rows are the same."""
        parts = self.problem.X_labeled, self.problem.X_unlabeled
        return np.asarray(np.max([part.max(axis=0, initial=-np.inf) for part in parts], axis=0) - self.lowest)

    @cached_property
    def _M_rows(self) -> FloatArray:
        return self.bounds.M_of_rows(self.problem.X)

    @property
    def M_unlabeled(self) -> FloatArray:
        """M_i of the unlabeled rows."""
        return self._M_rows[self.problem.n_labeled :]

    @property
    def B_labeled(self) -> FloatArray:
        """B_i of the labeled rows."""
        return self.bounds.depth * self._M_rows[: self.problem.n_labeled]

    def guided_by(self, guide: Guide) -> Prepared:
        """The same problem with a guide, whose charges are for the rows of ``given``."""
        charges = group_means(self.groups, guide.charges, self.given.unlabeled_size)
        return replace(
            self,
            given=replace(self.given, guide=guide),
            problem=replace(self.problem, guide=replace(guide, charges=charges)),
        )

    def without_guide(self) -> Prepared:
        """The same problem without its guide."""
        return replace(self, given=replace(self.given, guide=None), problem=replace(self.problem, guide=None))

    def with_coefficient_bound(self, s: float) -> Prepared:
        """The same problem with another bound on the coefficients."""
        return replace(self, bounds=replace(self.bounds, s=s))


def prepare(problem: Problem, spec: ModelSpec, *, merge: bool = True, deadline: Deadline = NO_DEADLINE) -> Prepared:
    """Scale a problem, merge its identical rows and compute the constants of P2.

    After the deadline the largest distance between rows is bounded rather than computed, see `Bounds`.

    Solvers drop entries below 1e-9. Multiplying tiny features by a power of 2 and dividing s by it gives the same P2
    with entries that they keep.
    """
    problem = narrowed(problem, spec.features)
    depth = paper_depth(problem.n_rows, problem.n_classes) if spec.depth is None else spec.depth
    topology = Topology(depth, problem.n_classes)
    scaling = Scaling.paper(problem.X) if spec.scaled else Scaling.identity(problem.n_features)
    merged, groups = scaling.scale_problem(problem).merged_groups()
    bounds = compute_bounds(merged, topology.depth, spec.coefficient_bound, deadline)
    if bounds.M > LARGEST_M:
        raise InvalidProblem(
            f"Expected features and a coefficient bound of moderate size, got ones that make M = {bounds.M:.3g}. "
            f"Beyond {LARGEST_M:.0g} a distance of 1 is lost in rounding. Use scaling='paper' or a smaller bound."
        )
    if 0 < bounds.eta < TINY:
        factor = 2.0 ** -math.floor(math.log2(bounds.eta))
        scaling = scaling.times(factor)
        merged, groups = scaling.scale_problem(problem).merged_groups()
        bounds = compute_bounds(merged, topology.depth, bounds.s / factor, deadline)
    if not merge:
        merged, groups = scaling.scale_problem(problem), np.arange(problem.n_unlabeled)
    return Prepared(problem, merged, groups, spec, scaling, topology, bounds)

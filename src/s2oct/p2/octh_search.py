"""The search for OCT-H: annealing and node fits that respect gaps and leaf sizes, from CART and from random splits.

A tree in *standard form* has gaps of width mu, enough rows in every leaf, and no split below a missing one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import NamedTuple

import numpy as np
from sklearn.tree import DecisionTreeClassifier

from s2oct._core import OcthAnnealer
from s2oct.arrays import BoolArray, FloatArray, IntArray
from s2oct.p2.instance import Hyperplanes, Instance, ends, reaches
from s2oct.p2.node_fits import alternating_start, correlated_features, logistic_path, steepness
from s2oct.p2.octh_milp import OcthSpec, with_majority_classes
from s2oct.problem.problem import Problem
from s2oct.problem.totals import Targets
from s2oct.solvers.program import LinearProgram
from s2oct.stopping import NO_DEADLINE, Deadline
from s2oct.trees.tree import ObliqueTree, Topology

WIDER = 1 + 1e-7
"""Gaps are slightly wider than mu, so that rounding does not undo them."""

ROWS_AT_ONCE = 60
"""Rows per side that the linear program of a widest gap starts with and adds at a time."""

_ADJACENT = 1e-7

_NEGLIGIBLE = 1e-9
"""Smaller costs and widths are rounding errors."""


@dataclass(frozen=True)
class OcthSearchParams:
    """Tuning of the search for OCT-H.

    Attributes
    ----------
    starts : tuple of str
        Starts of the rounds, in turn. CART is a good tree, and rounds from the best tree improve it; random splits find
        other trees, and so do node fits, which know only two classes.
    n_visits, fewest_visits, moves : int
        Visits of a round of annealing, and moves per visit.
    work : float
        Visits times rows beyond which a round has fewer visits.
    hot, shallow_hot, again_hot : tuple of float
        Choices of the first temperature of a round, where a misclassified row costs 2: in general, for trees of depth
        1 or 2, and from the best tree. Long hot searches lose their splits, and recover a few of them sooner than many.
    cold : float
        Last temperature.
    settling : tuple of float
        Temperatures of the last third of a round, in which no row may stay in a gap.
    settling_price : float
        Price of a row in the middle of a gap there.
    sparse_prices, dense_prices : tuple of float
        Choices of this price before settling. Dense rows need a higher price to keep gaps free.
    dense : float
        Rows are dense if a gap would contain this number of evenly spread rows.
    refitting : float
        Share of the remaining time for the node fits of one tree.
    promising : float
        A round's tree is refitted if its errors are at most this multiple of those of the best tree.
    n_sweeps : int
        Maximum number of times that all nodes are refitted.
    n_cuts : int
        Number of hyperplanes of a node that are moved into gaps, those with the fewest errors before.
    n_switches : int
        Number of rows on the wrong side of a node, the nearest first, that are tried on its other side.
    clearing_work : int
        Limit on linear programs times features to widen the gap of one split.
    stretch_work : float
        Moves and leaves times rows between two looks at the clock.
    """

    starts: tuple[str, ...] = ("cart", "random", "best", "random", "alternating", "best", "random", "best")
    n_visits: int = 4000
    fewest_visits: int = 400
    moves: int = 100
    work: float = 1.5e6
    hot: tuple[float, ...] = (0.15, 0.3, 0.3, 0.9)
    shallow_hot: tuple[float, ...] = (0.3, 0.9)
    again_hot: tuple[float, ...] = (0.1, 0.2)
    cold: float = 0.05
    settling: tuple[float, float] = (0.1, 0.02)
    settling_price: float = 30.0
    sparse_prices: tuple[float, ...] = (1.0, 2.0, 4.0)
    dense_prices: tuple[float, ...] = (1.0, 2.0, 4.0, 10.0, 30.0)
    dense: float = 1.5
    refitting: float = 0.1
    promising: float = 1.1
    n_sweeps: int = 8
    n_cuts: int = 3
    n_switches: int = 4
    clearing_work: int = 1200
    stretch_work: float = 2e6


DEFAULTS = OcthSearchParams()


@dataclass(frozen=True, eq=False)
class OcthSearch:
    """A search for trees of OCT-H over the labeled rows of a problem whose features lie in [0, 1]."""

    problem: Problem
    topology: Topology
    spec: OcthSpec
    seed: int
    parameters: OcthSearchParams = DEFAULTS

    def first_trees(self, deadline: Deadline) -> Iterator[ObliqueTree]:
        """CART's trees in standard form, and after node fits. The first one has CART's errors if there are gaps."""
        for criterion in ("gini", "entropy"):
            tree = self.standard_form(self.cart_start(criterion, self.seed), deadline)
            yield tree
            yield self.refitted(tree, deadline)

    def run_round(self, number: int, best: ObliqueTree | None, deadline: Deadline) -> ObliqueTree:
        """The tree of one round, in standard form."""
        problem, parameters = self.problem, self.parameters
        # 1. Choose a start by the number of the round.
        rng = np.random.default_rng([self.seed, number])
        kind = parameters.starts[number % len(parameters.starts)]
        planes = self._start(kind, number, best, rng, deadline)
        # 2. Anneal for few errors at a low price of rows in gaps, then at a price that keeps all rows out of them.
        planes = self._annealed(planes, rng, deadline, is_again=kind == "best")
        # 3. Turn the hyperplanes into a tree of OCT-H: annealing does not enforce gaps and leaf sizes.
        tree = self.standard_form(planes, deadline)
        # 4. Refit the nodes of a tree that is nearly as good as the best one: for others the time is wasted.
        if best is not None and errors_of(problem, tree) <= parameters.promising * errors_of(problem, best):
            return self.refitted(tree, deadline)
        return tree

    @cached_property
    def cart_errors(self) -> float:
        """Number of labeled rows that CART misclassifies; its splits need no gaps."""
        tree = ObliqueTree.of(self.topology, *self.cart_start("gini", self.seed))
        return errors_of(self.problem, with_majority_classes(self.problem, tree))

    def _start(
        self, kind: str, number: int, best: ObliqueTree | None, rng: np.random.Generator, deadline: Deadline
    ) -> Hyperplanes:
        if kind == "best" and best is not None:
            return best.omega.copy(), best.gamma.copy()
        if kind == "cart":
            return self.cart_start(("gini", "entropy")[number // len(self.parameters.starts) % 2], number)
        if kind == "alternating" and self.topology.n_classes == 2:
            return alternating_start(self._instance, rng, deadline)
        # A random feature at every node, split between two random rows.
        omega, gamma = self._no_splits()
        for b in range(self.topology.n_branches):
            feature = int(rng.integers(self.problem.n_features))
            first, second = self.problem.X_labeled[rng.integers(self.problem.n_labeled, size=2), feature]
            omega[b, feature] = rng.choice([-1.0, 1.0])
            gamma[b] = omega[b, feature] * 0.5 * (first + second)
        return omega, gamma

    def cart_start(self, criterion: str, seed: int) -> Hyperplanes:
        """The splits of scikit-learn's CART with the same depth and minimum leaf, each in the middle of its gap."""
        X, labels, sizes = self.problem.X_labeled, self.problem.labels, self.problem.labeled_multiplicity
        enough = max(self.spec.min_leaf, 1)
        cart = DecisionTreeClassifier(
            max_depth=self.topology.depth, min_samples_leaf=enough, criterion=criterion, random_state=seed
        )
        tree = cart.fit(X, labels, sample_weight=sizes).tree_
        # CART compares single precision.
        as_cart_sees = X.astype(np.float32)
        omega, gamma = self._no_splits()
        pending = [(0, 1, np.arange(len(X)))]
        while pending:
            node, target, rows = pending.pop()
            if tree.children_left[node] == tree.children_right[node]:
                continue
            feature = int(tree.feature[node])
            right = as_cart_sees[rows, feature] > tree.threshold[node]
            values = X[rows, feature]
            omega[target - 1, feature] = 1.0
            gamma[target - 1] = 0.5 * (values[~right].max() + values[right].min())
            pending.append((int(tree.children_left[node]), 2 * target, rows[~right]))
            pending.append((int(tree.children_right[node]), 2 * target + 1, rows[right]))
        return omega, gamma

    def _no_splits(self) -> Hyperplanes:
        return np.zeros((self.topology.n_branches, self.problem.n_features)), np.zeros(self.topology.n_branches)

    def _annealed(
        self, planes: Hyperplanes, rng: np.random.Generator, deadline: Deadline, *, is_again: bool
    ) -> Hyperplanes:
        """The cheapest hyperplanes of an annealing."""
        problem, parameters, (omega, gamma) = self.problem, self.parameters, planes
        leaf_classes = self._leaf_classes(omega, gamma, rng)
        n_visits = int(np.clip(parameters.work / problem.n_labeled, parameters.fewest_visits, parameters.n_visits))
        heats = parameters.hot if self.topology.depth > 2 else parameters.shallow_hot
        hot = float(rng.choice(parameters.again_hot if is_again else heats))
        is_dense = problem.n_labeled * self.spec.mu > parameters.dense
        in_gap = float(rng.choice(parameters.dense_prices if is_dense else parameters.sparse_prices))
        annealer = OcthAnnealer(
            self._instance.XT,
            problem.labels,
            self._instance.sizes,
            leaf_classes,
            float(self.spec.min_leaf),
            0.5 * self.spec.mu,
            int(rng.integers(1, 2**62)),
        )
        best = np.array(omega, order="C"), np.where(omega.any(axis=1), gamma, 0.0)
        stretch = max(
            int(parameters.stretch_work / ((parameters.moves + self.topology.n_leaves) * problem.n_labeled)), 1
        )
        for n, temperatures, price in (
            (n_visits, (hot, parameters.cold), in_gap),
            (n_visits // 3, parameters.settling, parameters.settling_price),
        ):
            cost = annealer.anneal(
                *best,
                n_visits=n,
                moves_per_visit=parameters.moves,
                heats=temperatures,
                in_gap=price,
                too_few=1.0,
                stretch=stretch,
                stop=lambda: deadline.passed,
            )
            if cost <= _NEGLIGIBLE:
                break
        return best

    def _leaf_classes(self, omega: FloatArray, gamma: FloatArray, rng: np.random.Generator) -> IntArray:
        """The most frequent class of each leaf; if two siblings share one, one of them gets another class."""
        tree = ObliqueTree(self.topology, omega, gamma, self.topology.leaf_classes)
        classes = with_majority_classes(self.problem, tree).leaf_classes.copy()
        for left in range(0, len(classes), 2):
            if classes[left] == classes[left + 1]:
                others = np.delete(np.arange(self.problem.n_classes), classes[left])
                classes[left + int(rng.integers(2))] = rng.choice(others)
        return classes

    @cached_property
    def _instance(self) -> Instance:
        """The labeled rows for the node fits, which ignore gaps and leaf sizes."""
        return Instance(
            topology=self.topology,
            XT=np.ascontiguousarray(self.problem.X_labeled.T),
            labels=self.problem.labels,
            sizes=self.problem.labeled_multiplicity,
            targets=Targets.exact(np.zeros(self.problem.n_classes), 0),
            charges=np.zeros((0, self.problem.n_classes)),
            row_off=1.0,
            s=1.0,
            quanta=np.zeros(self.problem.n_features),
            floor=0.0,
        )

    def standard_form(self, planes: Hyperplanes, deadline: Deadline = NO_DEADLINE) -> ObliqueTree:
        """A tree of OCT-H near the given hyperplanes, built from the top down.

        A split stays as it is if its gap is wide enough and both sides have enough rows. If only the gap is too narrow,
        the direction with the widest gap separates the same rows. If that gap is too narrow, rows next to it change
        sides, or the offset moves to the nearest suitable gap. A node that has all rows on one side, or no such gap, is
        removed: its child on the side of most rows takes its place and gets all its rows.
        """
        problem, n_leaves, (omega, gamma) = self.problem, self.topology.n_leaves, planes
        new_omega, new_gamma = np.zeros_like(omega), np.full_like(gamma, -self.spec.mu / 2)
        pending = [(1, 1, np.arange(problem.n_labeled))]
        while pending:
            source, target, rows = pending.pop()
            if source >= n_leaves or target >= n_leaves:
                continue
            X, sizes = problem.X_labeled[rows], problem.labeled_multiplicity[rows]
            direction, offset = omega[source - 1], float(gamma[source - 1])
            split = split_near(X, sizes, direction, offset, self.spec, deadline, self.parameters.clearing_work)
            if split is None:
                right = X @ omega[source - 1] > gamma[source - 1]
                to_the_right = float(sizes[right].sum()) > 0.5 * float(sizes.sum())
                pending.append((2 * source + int(to_the_right), target, rows))
                continue
            new_omega[target - 1], new_gamma[target - 1] = split.direction, split.offset
            right = X @ split.direction > split.offset
            pending.append((2 * source + 1, 2 * target + 1, rows[right]))
            pending.append((2 * source, 2 * target, rows[~right]))
        return with_majority_classes(problem, ObliqueTree.of(self.topology, new_omega, new_gamma))

    def refitted(self, tree: ObliqueTree, deadline: Deadline) -> ObliqueTree:
        """The tree with its nodes refitted from the bottom up, in a share of the remaining time.

        This is repeated while it removes errors of the whole tree.
        """
        deadline = deadline.within(self.parameters.refitting * deadline.seconds_left)
        fewest = errors_of(self.problem, tree)
        for _ in range(self.parameters.n_sweeps):
            before = fewest
            for node in reversed(self.topology.branches):
                if deadline.passed:
                    return tree
                for planes in self._candidates(tree, node, deadline):
                    if fewest == 0 or deadline.passed:
                        return tree
                    other = self.standard_form(planes, deadline)
                    errors = errors_of(self.problem, other)
                    if errors < fewest:
                        tree, fewest = other, errors
                        break
            if fewest == before:
                break
        return tree

    def _candidates(self, tree: ObliqueTree, node: int, deadline: Deadline) -> Iterator[Hyperplanes]:
        """Hyperplanes of the tree with another one at a node, the most promising first."""
        problem, parameters = self.problem, self.parameters
        right = tree.goes_right(problem.X_labeled).T
        rows = np.flatnonzero(reaches(right, node))
        X, right, labels = problem.X_labeled[rows], right[:, rows], problem.labels[rows]
        on_left, on_right = (ends(tree.leaf_classes, right, 2 * node + side) == labels for side in (0, 1))
        sizes = problem.labeled_multiplicity[rows]
        gain = sizes * (on_right.astype(float) - on_left)
        if not gain.any():
            return
        found = [
            (direction, _best_cut(X @ direction, gain, sizes, self.spec.min_leaf)) for direction in _directions(X, gain)
        ]
        cuts = sorted(((*cut, direction) for direction, cut in found if cut is not None), key=lambda cut: cut[0])
        best_cuts = ((direction, offset) for _, offset, direction in cuts[: parameters.n_cuts])
        # The rows that would gain on the other side, the nearest first.
        distance = X @ tree.omega[node - 1] - tree.gamma[node - 1]
        wrong = np.flatnonzero(np.where(right[node - 1], -gain, gain) > 0)
        wrong = wrong[np.argsort(np.abs(distance[wrong]), kind="stable")][: parameters.n_switches]
        for direction, offset in chain(best_cuts, _switched(X, right[node - 1], wrong, distance, deadline)):
            omega, gamma = tree.omega.copy(), tree.gamma.copy()
            omega[node - 1], gamma[node - 1] = direction, offset
            yield omega, gamma


def errors_of(problem: Problem, tree: ObliqueTree) -> float:
    """Number of labeled rows that a tree misclassifies."""
    wrong = tree.predict(problem.X_labeled) != problem.labels
    return float(problem.labeled_multiplicity[wrong].sum())


class GapSplit(NamedTuple):
    """A hyperplane with |a|_1 = 1 in the middle of a gap, and the width of the gap."""

    direction: FloatArray
    offset: float
    width: float


def split_near(
    X: FloatArray,
    sizes: FloatArray,
    direction: FloatArray,
    offset: float,
    spec: OcthSpec,
    deadline: Deadline,
    clearing_work: int,
) -> GapSplit | None:
    """The nearest split of OCT-H to a hyperplane; None if all rows are on one side of it, or if there is none."""
    size = float(np.abs(direction).sum())
    right = X @ direction > offset
    if size == 0 or right.all() or not right.any():
        return None
    direction, offset = direction / size, offset / size
    values = X @ direction

    def enough(right: BoolArray) -> bool:
        rows_right = float(sizes[right].sum())
        return min(rows_right, float(sizes.sum()) - rows_right) >= max(spec.min_leaf, 1)

    if enough(right):
        low, high = float(values[~right].max()), float(values[right].min())
        if high - low >= spec.mu * WIDER:
            # The offset stays where it is, as far as the rows next to the gap allow.
            return GapSplit(direction, float(np.clip(offset, low + spec.mu / 2, high - spec.mu / 2)), high - low)
        wide = widest_gap(X, right, values - offset, deadline)
        if wide is not None:
            cleared = cleared_gap(X, right, wide, enough, spec.mu * WIDER, deadline, clearing_work)
            if cleared is not None:
                return cleared
    return _nearest_gap(values, sizes, direction, offset, spec)


def _nearest_gap(
    values: FloatArray, sizes: FloatArray, direction: FloatArray, offset: float, spec: OcthSpec
) -> GapSplit | None:
    """The nearest offset in a gap that is mu wide and has enough rows on both sides; None without such a gap."""
    ordered, _, usable = _cuts(values, sizes, spec.min_leaf, spec.mu * WIDER)
    if not len(usable):
        return None
    low, high = ordered[usable], ordered[usable + 1]
    nearest = np.clip(offset, low + spec.mu / 2, high - spec.mu / 2)
    chosen = int(np.abs(nearest - offset).argmin())
    return GapSplit(direction, float(nearest[chosen]), float(high[chosen] - low[chosen]))


def _cuts(
    values: FloatArray, sizes: FloatArray, min_leaf: int, width: float = 0.0
) -> tuple[FloatArray, IntArray, IntArray]:
    """The sorted values, their order, and the cuts at gaps of this width with enough rows on both sides.

    A cut is the position of the last value below it.
    """
    order = np.argsort(values, kind="stable")
    ordered, below = values[order], np.cumsum(sizes[order])[:-1]
    gap, fewest = np.diff(ordered), np.minimum(below, float(sizes.sum()) - below)
    return ordered, order, np.flatnonzero((gap > 0) & (gap >= width) & (fewest >= max(min_leaf, 1)))


def widest_gap(X: FloatArray, right: BoolArray, distance: FloatArray, deadline: Deadline) -> GapSplit | None:
    """The split with the widest gap between the rows on the right and all others on the left; None if there is none.

    A linear program over |a|_1 <= 1. It starts with the rows nearest to a hyperplane, at the given ``distance``, and
    adds others while they are nearer to the new hyperplane.
    """
    n, p = X.shape
    side = np.where(right, 1.0, -1.0)
    # a = a+ - a-, gamma and half the width.
    program = LinearProgram(
        cost=np.append(np.zeros(2 * p + 1), -1.0),
        lower=np.concatenate([np.zeros(2 * p), [-1.0, 0.0]]),
        upper=np.ones(2 * p + 2),
    )
    program.add_rows(np.concatenate([-np.ones(2 * p), [0.0, 0.0]])[None, :], np.array([-1.0]))
    by_distance = np.argsort(np.abs(distance), kind="stable")
    added = np.zeros(n, dtype=bool)
    new = np.concatenate([by_distance[side[by_distance] == s][:ROWS_AT_ONCE] for s in (-1.0, 1.0)])
    while len(new):
        S = side[new, None] * X[new]
        program.add_rows(np.column_stack([S, -S, -side[new], -np.ones(len(new))]), np.zeros(len(new)))
        added[new] = True
        solution = program.solve(deadline)
        if solution is None or solution[-1] <= _NEGLIGIBLE:
            return None
        direction, offset = solution[:p] - solution[p : 2 * p], float(solution[2 * p])
        slack = side * (X @ direction - offset) - solution[-1]
        nearest = np.argsort(np.where(added, np.inf, slack), kind="stable")[: 2 * ROWS_AT_ONCE]
        new = nearest[~added[nearest] & (slack[nearest] < -_NEGLIGIBLE)]
    return _in_the_middle(X, right, direction)


def cleared_gap(
    X: FloatArray,
    right: BoolArray,
    split: GapSplit,
    enough: Callable[[BoolArray], bool],
    width: float,
    deadline: Deadline,
    work: int = DEFAULTS.clearing_work,
) -> GapSplit | None:
    """A split whose gap has the given width, with a few rows on other sides; None if this takes too long.

    The rows next to a widest gap keep it narrow. Each step moves the row whose change of side widens the gap most,
    until the gap is wide enough.
    """
    programs = work // X.shape[1]
    while split.width < width:
        distance = X @ split.direction - split.offset
        adjacent = np.flatnonzero(np.abs(distance) <= 0.5 * split.width + _ADJACENT)
        programs -= len(adjacent)
        if programs < 0 or deadline.passed:
            return None
        best, turned_row = split, -1
        for row in adjacent:
            right[row] ^= True
            other = widest_gap(X, right, distance, deadline) if enough(right) else None
            right[row] ^= True
            if other is not None and other.width > best.width:
                best, turned_row = other, int(row)
        if turned_row < 0:
            return None
        right[turned_row] ^= True
        split = best
    return split


def _in_the_middle(X: FloatArray, right: BoolArray, direction: FloatArray) -> GapSplit | None:
    """A direction as a split, measured on the rows."""
    size = float(np.abs(direction).sum())
    if size == 0:
        return None
    values = X @ (direction / size)
    low, high = float(values[~right].max()), float(values[right].min())
    return GapSplit(direction / size, 0.5 * (low + high), high - low) if high > low else None


def _switched(
    X: FloatArray, right: BoolArray, wrong: IntArray, distance: FloatArray, deadline: Deadline
) -> Iterator[tuple[FloatArray, float]]:
    """For each row on the wrong side, the widest-gap split that moves only this row to the other side."""
    for row in wrong:
        sides = right.copy()
        sides[row] ^= True
        if sides.any() and not sides.all():
            split = widest_gap(X, sides, distance, deadline)
            if split is not None:
                yield split.direction, split.offset


def _directions(X: FloatArray, gain: FloatArray) -> FloatArray:
    """Directions that may separate rows that gain on the right: logistic ones and single features."""
    steep = steepness(X.std(axis=0))
    decided = np.flatnonzero(gain)
    standardised = (X - X.mean(axis=0)) * steep
    features = correlated_features(standardised, decided, gain[decided])
    fitted = np.zeros((0, X.shape[1]))
    if len(np.unique(gain[decided])) > 1:
        path = logistic_path(standardised[np.ix_(decided, features)], gain[decided])
        fitted = np.zeros((len(path), X.shape[1]))
        fitted[:, features] = path * steep[features]
    return np.vstack([fitted, np.eye(X.shape[1])[features], -np.eye(X.shape[1])[features]])


def _best_cut(values: FloatArray, gain: FloatArray, sizes: FloatArray, min_leaf: int) -> tuple[float, float] | None:
    """The errors and the offset of the best cut with enough rows on both sides; None if there is none."""
    ordered, order, usable = _cuts(values, sizes, min_leaf)
    if not len(usable):
        return None
    # The gain that rows on the left would have on the right.
    forgone = np.cumsum(gain[order])
    cut = int(usable[forgone[usable].argmin()])
    return float(forgone[cut]), 0.5 * float(ordered[cut] + ordered[cut + 1])

"""Rounds of the search for OCT-H: starts, node fits, and the nearest tree that is feasible."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import chain

import numpy as np
from sklearn.tree import DecisionTreeClassifier

from s2oct._core import OcthAnnealer
from s2oct.arrays import BoolArray, FloatArray, IntArray
from s2oct.p2.instance import Instance
from s2oct.p2.node_fits import alternating_start, correlated_features, logistic_path
from s2oct.p2.octh_milp import OcthSpec, with_majority_classes
from s2oct.problem.problem import Problem
from s2oct.problem.targets import Targets
from s2oct.solvers.program import LinearProgram
from s2oct.stopping import NO_DEADLINE, Deadline
from s2oct.trees.topology import Topology
from s2oct.trees.tree import ObliqueTree

# Hyperplanes from which the search for OCT-H starts.


def cart_start(
    problem: Problem, topology: Topology, spec: OcthSpec, criterion: str = "gini", seed: int = 0
) -> tuple[FloatArray, FloatArray]:
    """The splits of scikit-learn's CART with the same depth and minimum leaf, each in the middle of its gap."""
    omega, gamma = _no_splits(problem, topology)
    X = problem.X_labeled
    # CART compares single precision.
    as_cart_sees = X.astype(np.float32)
    cart = DecisionTreeClassifier(
        max_depth=topology.depth, min_samples_leaf=max(spec.min_leaf, 1), criterion=criterion, random_state=seed
    )
    tree = cart.fit(X, problem.labels, sample_weight=problem.labeled_multiplicity).tree_
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


def random_start(problem: Problem, topology: Topology, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
    """A random feature at every node, split between two random rows."""
    omega, gamma = _no_splits(problem, topology)
    for b in range(topology.n_branches):
        feature = int(rng.integers(problem.n_features))
        first, second = problem.X_labeled[rng.integers(problem.n_labeled, size=2), feature]
        omega[b, feature] = rng.choice([-1.0, 1.0])
        gamma[b] = omega[b, feature] * 0.5 * (first + second)
    return omega, gamma


def _no_splits(problem: Problem, topology: Topology) -> tuple[FloatArray, FloatArray]:
    return np.zeros((topology.n_branches, problem.n_features)), np.zeros(topology.n_branches)


# Trees in the form that OCT-H needs: gaps of width mu, enough rows in every leaf, no split below a missing one.

ROOM = 1 + 1e-7
"""Gaps are slightly wider than mu, so that rounding does not undo them."""

ROWS_AT_ONCE = 60
"""Rows that the linear program of a widest gap begins with, for each side, and takes in at a time."""

CLEARING_WORK = 1200
"""Linear programs times features that are solved at most to make the gap of one split wide enough."""

_BESIDE = 1e-7

_WORTH = 1e-9


@dataclass(frozen=True, eq=False)
class GapSplit:
    """A hyperplane with |a|_1 = 1 in the middle of a gap, and the width of the gap."""

    direction: FloatArray
    offset: float
    width: float


def standard_form(
    problem: Problem,
    topology: Topology,
    spec: OcthSpec,
    omega: FloatArray,
    gamma: FloatArray,
    deadline: Deadline = NO_DEADLINE,
) -> ObliqueTree:
    """A tree of OCT-H near given hyperplanes, built from the top down.

    A split stays as it is if its gap is wide enough and both sides have enough rows. If only the gap is too narrow, the
    same rows are kept apart by the direction with the widest gap. If that is too narrow, rows beside it change sides,
    or the offset moves to the nearest gap that will do. A node at which all rows go one way, or for which there is no
    such gap, is removed. Its child on the side of most rows takes its place and gets all its rows.
    """
    new_omega = np.zeros_like(omega)
    new_gamma = np.full_like(gamma, -spec.mu / 2)

    def place(source: int, target: int, rows: IntArray) -> None:
        if source >= topology.n_leaves or target >= topology.n_leaves:
            return
        X, sizes = problem.X_labeled[rows], problem.labeled_multiplicity[rows]
        right = X @ omega[source - 1] > gamma[source - 1]
        split = split_near(X, sizes, omega[source - 1], float(gamma[source - 1]), spec, deadline)
        if split is None:
            to_the_right = float(sizes[right].sum()) > 0.5 * float(sizes.sum())
            place(2 * source + int(to_the_right), target, rows)
            return
        new_omega[target - 1], new_gamma[target - 1] = split.direction, split.offset
        right = X @ split.direction > split.offset
        place(2 * source, 2 * target, rows[~right])
        place(2 * source + 1, 2 * target + 1, rows[right])

    place(1, 1, np.arange(problem.n_labeled))
    return with_majority_classes(problem, ObliqueTree(topology, new_omega, new_gamma, topology.leaf_classes))


def split_near(
    X: FloatArray, sizes: FloatArray, direction: FloatArray, offset: float, spec: OcthSpec, deadline: Deadline
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
        if high - low >= spec.mu * ROOM:
            # Within the gap the offset stays where it is, as far as the rows beside it allow.
            return GapSplit(direction, float(np.clip(offset, low + spec.mu / 2, high - spec.mu / 2)), high - low)
        wide = widest_gap(X, right, values - offset, deadline)
        cleared = None if wide is None else cleared_gap(X, right, wide, enough, spec.mu * ROOM, deadline)
        if cleared is not None:
            return cleared
    return _nearest_gap(values, sizes, direction, offset, spec)


def _nearest_gap(
    values: FloatArray, sizes: FloatArray, direction: FloatArray, offset: float, spec: OcthSpec
) -> GapSplit | None:
    """The nearest offset in a gap that is mu wide and has enough rows on both sides; None without such a gap."""
    order = np.argsort(values, kind="stable")
    ordered, below = values[order], np.cumsum(sizes[order])[:-1]
    enough = max(spec.min_leaf, 1)
    wide = np.diff(ordered) >= spec.mu * ROOM
    usable = np.flatnonzero(wide & (below >= enough) & (float(sizes.sum()) - below >= enough))
    if not len(usable):
        return None
    low, high = ordered[usable], ordered[usable + 1]
    nearest = np.clip(offset, low + spec.mu / 2, high - spec.mu / 2)
    chosen = int(np.abs(nearest - offset).argmin())
    return GapSplit(direction, float(nearest[chosen]), float(high[chosen] - low[chosen]))


def widest_gap(X: FloatArray, right: BoolArray, distance: FloatArray, deadline: Deadline) -> GapSplit | None:
    """The split with the widest gap between given rows on the right and all others on the left; None if there is none.

    A linear program over |a|_1 <= 1 that begins with the rows nearest to a hyperplane, at a given ``distance``, and
    takes in others while they are nearer to the new one.
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
        if solution is None or solution[-1] <= _WORTH:
            return None
        direction, offset = solution[:p] - solution[p : 2 * p], float(solution[2 * p])
        room = side * (X @ direction - offset) - solution[-1]
        nearest = np.argsort(np.where(added, np.inf, room), kind="stable")[: 2 * ROWS_AT_ONCE]
        new = nearest[~added[nearest] & (room[nearest] < -_WORTH)]
    return _in_the_middle(X, right, direction)


def cleared_gap(
    X: FloatArray,
    right: BoolArray,
    split: GapSplit,
    enough: Callable[[BoolArray], bool],
    width: float,
    deadline: Deadline,
) -> GapSplit | None:
    """A split whose gap has a given width, with a few rows on other sides than in the widest split of given rows.

    The rows beside a widest gap keep it narrow. The one whose change of side widens it most changes its side, and so on
    until the gap is wide enough. None if this takes too long.
    """
    programs = CLEARING_WORK // X.shape[1]
    while split.width < width:
        distance = X @ split.direction - split.offset
        beside = np.flatnonzero(np.abs(distance) <= 0.5 * split.width + _BESIDE)
        programs -= len(beside)
        if programs < 0 or deadline.passed:
            return None
        best, turned_row = split, -1
        for row in beside:
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


# Alternating node fits for OCT-H: one hyperplane at a time, judged by the errors of the whole tree in OCT-H's form.

SWEEPS = 8
"""How often all nodes are refitted, at most."""

CUTS = 3
"""Hyperplanes of a node that are brought into gaps: those with the fewest errors before."""

SWITCHES = 4
"""Wrong rows at a node, the nearest first, for which the split is tried that has them on the other side."""


def refitted(problem: Problem, spec: OcthSpec, tree: ObliqueTree, deadline: Deadline) -> ObliqueTree:
    """The tree after its nodes were refitted from the bottom up, again and again while this removes errors."""
    fewest = errors_of(problem, tree)
    for _ in range(SWEEPS):
        before = fewest
        for node in reversed(tree.topology.branches):
            if deadline.passed:
                return tree
            for omega, gamma in _candidates(problem, spec, tree, node, deadline):
                if fewest == 0 or deadline.passed:
                    return tree
                other = standard_form(problem, tree.topology, spec, omega, gamma, deadline)
                errors = errors_of(problem, other)
                if errors < fewest:
                    tree, fewest = other, errors
                    break
        if fewest == before:
            break
    return tree


def errors_of(problem: Problem, tree: ObliqueTree) -> float:
    """How many labeled rows a tree misclassifies."""
    wrong = tree.predict(problem.X_labeled) != problem.labels
    return float(problem.labeled_multiplicity[wrong].sum())


def _candidates(
    problem: Problem, spec: OcthSpec, tree: ObliqueTree, node: int, deadline: Deadline
) -> Iterator[tuple[FloatArray, FloatArray]]:
    """Hyperplanes of the tree with another one at a node, the most promising first."""
    X = problem.X_labeled
    right = tree.goes_right(X)
    rows = np.flatnonzero(_reaches(right, node))
    ends = [_ends(tree, right[rows], 2 * node + side) == problem.labels[rows] for side in (0, 1)]
    sizes = problem.labeled_multiplicity[rows]
    gain = sizes * (ends[1].astype(float) - ends[0])
    if not gain.any():
        return
    cuts = [
        (errors, k, direction, offset)
        for k, direction in enumerate(_directions(X[rows], gain))
        for errors, offset in _best_cuts(X[rows] @ direction, gain, sizes, spec.min_leaf)
    ]
    best_cuts = ((direction, offset) for _, _, direction, offset in sorted(cuts, key=lambda cut: cut[:2])[:CUTS])
    for direction, offset in chain(best_cuts, _switched(X[rows], right[rows, node - 1], gain, tree, node, deadline)):
        omega, gamma = tree.omega.copy(), tree.gamma.copy()
        omega[node - 1], gamma[node - 1] = direction, offset
        yield omega, gamma


def _switched(
    X: FloatArray, right: BoolArray, gain: FloatArray, tree: ObliqueTree, node: int, deadline: Deadline
) -> Iterator[tuple[FloatArray, float]]:
    """Splits with the widest gap where one row that is wrong on its side goes to the other side, and all else stays."""
    distance = X @ tree.omega[node - 1] - tree.gamma[node - 1]
    wrong = np.flatnonzero(np.where(right, -gain, gain) > 0)
    for row in wrong[np.argsort(np.abs(distance[wrong]), kind="stable")][:SWITCHES]:
        sides = right.copy()
        sides[row] ^= True
        if sides.any() and not sides.all():
            split = widest_gap(X, sides, distance, deadline)
            if split is not None:
                yield split.direction, split.offset


def _directions(X: FloatArray, gain: FloatArray) -> FloatArray:
    """Directions along which rows that gain on the right may lie beyond the others: logistic ones, single features."""
    spread = X.std(axis=0)
    steep = np.where(spread > 0, 1 / np.where(spread > 0, spread, 1.0), 0.0)
    decided = np.flatnonzero(gain)
    standardised = (X - X.mean(axis=0)) * steep
    features = correlated_features(standardised, decided, gain[decided])
    fitted = np.zeros((0, X.shape[1]))
    if len(np.unique(gain[decided])) > 1:
        path = logistic_path(standardised[np.ix_(decided, features)], gain[decided])
        fitted = np.zeros((len(path), X.shape[1]))
        fitted[:, features] = path * steep[features]
    return np.vstack([fitted, np.eye(X.shape[1])[features], -np.eye(X.shape[1])[features]])


def _best_cuts(values: FloatArray, gain: FloatArray, sizes: FloatArray, min_leaf: int) -> list[tuple[float, float]]:
    """Of all offsets with enough rows on both sides, the one with the fewest errors and how many; none without any."""
    order = np.argsort(values, kind="stable")
    ordered, below = values[order], np.cumsum(sizes[order])[:-1]
    enough = max(min_leaf, 1)
    # What rows on the left would have gained on the right.
    forgone = np.cumsum(gain[order])[:-1]
    usable = np.flatnonzero((np.diff(ordered) > 0) & (below >= enough) & (float(sizes.sum()) - below >= enough))
    if not len(usable):
        return []
    cut = int(usable[forgone[usable].argmin()])
    return [(float(forgone[cut]), 0.5 * float(ordered[cut] + ordered[cut + 1]))]


def _reaches(right: BoolArray, node: int) -> BoolArray:
    """Which rows reach a node."""
    there = np.ones(len(right), dtype=bool)
    while node > 1:
        there &= right[:, node // 2 - 1] == bool(node % 2)
        node //= 2
    return there


def _ends(tree: ObliqueTree, right: BoolArray, node: int) -> IntArray:
    """The class in which rows would end if they started at a node."""
    at = np.full(len(right), node)
    while node < tree.topology.n_leaves:
        at = 2 * at + right[np.arange(len(right)), at - 1]
        node *= 2
    return np.asarray(tree.leaf_classes[at - tree.topology.n_leaves])


# The search for OCT-H: node fits and annealing that know gaps and leaf sizes, from CART and from random splits.

KINDS = ("cart", "random", "best", "random", "alternating", "best", "random", "best")
"""Where the rounds start, in turn."""

VISITS, FEWEST_VISITS, WORK, MOVES = 4000, 400, 1.5e6, 100
"""Visits of a round, fewer where visits times rows are more than the work; and moves of a visit."""

HEATS, SHALLOW_HEATS, COLD = (0.15, 0.3, 0.3, 0.9), (0.3, 0.9), 0.05
"""Temperatures at the start, drawn for every round, in trees of depth 1 or 2 from the second ones; and at the end.
A row in a wrong leaf costs 2. Long hot searches lose their splits, and find few splits again sooner than many."""

SETTLING, SETTLED = (0.1, 0.02), 30.0
"""Temperatures of the last part of a round, and what a row in the middle of a gap costs there: no row may stay."""

AGAIN = (0.1, 0.2)
"""Temperatures at the start from the best tree."""

REFITTING = 0.1
"""Share of the time that is left for the node fits of one tree."""

PROMISING = 1.1
"""A round's tree is refitted if it has at most this many times the errors of the best tree."""

SPARSE, DENSE, DENSE_GAP = (1.0, 2.0, 4.0), (1.0, 2.0, 4.0, 10.0, 30.0), 1.5
"""What a row in the middle of a gap costs, drawn for every round. Where rows that are spread evenly would have this
many in a gap, they are dense, and more is needed to keep gaps free."""

RESTS = 1e-9
"""A cost that is rounding errors."""

STRETCH = 2e6
"""Moves and leaves times rows between two looks at the clock."""


@dataclass(frozen=True, eq=False)
class OcthSearch:
    """A search for trees of OCT-H over the labeled rows of a problem whose features lie in [0, 1]."""

    problem: Problem
    topology: Topology
    spec: OcthSpec
    seed: int

    def first_trees(self, deadline: Deadline) -> Iterator[ObliqueTree]:
        """CART's trees in OCT-H's form, and after node fits. The first one has the errors of CART if there are gaps."""
        for criterion in ("gini", "entropy"):
            tree = self.form(*cart_start(self.problem, self.topology, self.spec, criterion, self.seed), deadline)
            yield tree
            yield self.refitted(tree, deadline)

    @cached_property
    def cart_errors(self) -> float:
        """How many labeled rows CART misclassifies, whose splits need no gaps."""
        omega, gamma = cart_start(self.problem, self.topology, self.spec, seed=self.seed)
        tree = ObliqueTree(self.topology, omega, gamma, self.topology.leaf_classes)
        return errors_of(self.problem, with_majority_classes(self.problem, tree))

    def run_round(self, number: int, best: ObliqueTree | None, deadline: Deadline) -> ObliqueTree:
        """Anneal once from some hyperplanes; the tree in OCT-H's form."""
        rng = np.random.default_rng([self.seed, number])
        omega, gamma = self.start(number, best, rng, deadline)
        tree = self.form(*self.annealed(omega, gamma, number, rng, deadline), deadline)
        if best is not None and errors_of(self.problem, tree) <= PROMISING * errors_of(self.problem, best):
            return self.refitted(tree, deadline)
        return tree

    def refitted(self, tree: ObliqueTree, deadline: Deadline) -> ObliqueTree:
        """The tree after node fits, which get a part of the time that is left."""
        return refitted(self.problem, self.spec, tree, deadline.within(REFITTING * deadline.seconds_left))

    def form(self, omega: FloatArray, gamma: FloatArray, deadline: Deadline) -> ObliqueTree:
        """A tree of OCT-H near given hyperplanes."""
        return standard_form(self.problem, self.topology, self.spec, omega, gamma, deadline)

    def start(
        self, number: int, best: ObliqueTree | None, rng: np.random.Generator, deadline: Deadline
    ) -> tuple[FloatArray, FloatArray]:
        """The hyperplanes from which a round starts."""
        kind = KINDS[number % len(KINDS)]
        if kind == "best" and best is not None:
            return best.omega.copy(), best.gamma.copy()
        if kind == "cart":
            criterion = ("gini", "entropy")[number // len(KINDS) % 2]
            return cart_start(self.problem, self.topology, self.spec, criterion, number)
        if kind == "alternating" and self.topology.n_classes == 2:
            return alternating_start(self.instance, rng, deadline)
        return random_start(self.problem, self.topology, rng)

    def annealed(
        self, omega: FloatArray, gamma: FloatArray, number: int, rng: np.random.Generator, deadline: Deadline
    ) -> tuple[FloatArray, FloatArray]:
        """The cheapest hyperplanes of an annealing, first at a low price of rows in gaps, then at a high one."""
        leaf_classes = self.leaf_classes(omega, gamma, rng)
        n_visits = int(np.clip(WORK / self.problem.n_labeled, FEWEST_VISITS, VISITS))
        heats = HEATS if self.topology.depth > 2 else SHALLOW_HEATS
        hot = float(rng.choice(AGAIN if KINDS[number % len(KINDS)] == "best" else heats))
        is_dense = self.problem.n_labeled * self.spec.mu > DENSE_GAP
        in_gap = float(rng.choice(DENSE if is_dense else SPARSE))
        annealer = OcthAnnealer(
            self.instance.XT,
            self.problem.labels,
            self.instance.sizes,
            leaf_classes,
            float(self.spec.min_leaf),
            0.5 * self.spec.mu,
            int(rng.integers(1, 2**62)),
        )
        best = np.array(omega, order="C"), np.where(omega.any(axis=1), gamma, 0.0)
        stretch = max(int(STRETCH / ((MOVES + self.topology.n_leaves) * self.problem.n_labeled)), 1)
        for n, ends, price in ((n_visits, (hot, COLD), in_gap), (n_visits // 3, SETTLING, SETTLED)):
            cost = annealer.anneal(
                *best,
                n_visits=n,
                moves_per_visit=MOVES,
                heats=ends,
                in_gap=price,
                too_few=1.0,
                stretch=stretch,
                stop=lambda: deadline.passed,
            )
            if cost <= RESTS:
                break
        return best

    def leaf_classes(self, omega: FloatArray, gamma: FloatArray, rng: np.random.Generator) -> IntArray:
        """The most frequent class of each leaf; of two leaves below one node with one class, one gets another class."""
        tree = ObliqueTree(self.topology, omega, gamma, self.topology.leaf_classes)
        classes = with_majority_classes(self.problem, tree).leaf_classes.copy()
        for left in range(0, len(classes), 2):
            if classes[left] == classes[left + 1]:
                others = np.delete(np.arange(self.problem.n_classes), classes[left])
                classes[left + int(rng.integers(2))] = rng.choice(others)
        return classes

    @cached_property
    def instance(self) -> Instance:
        """The labeled rows for the node fits, which know neither gaps nor leaf sizes."""
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

"""Tree alternating optimization: nodes fitted in turn to what each class costs each row."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import expit

from s2oct.arrays import BoolArray, FloatArray, IntArray
from s2oct.p2.instance import Instance, length_factors
from s2oct.stopping import Deadline
from s2oct.trees.topology import Topology

# What each class costs each row: labels, the guide, or a linear classifier that meets the totals.

LABELED_PRICE = 3.0
"""What a labeled row in a wrong class costs; the mean unlabeled row costs 1."""

FEATURES = 60
"""Most features of a fitted direction: those that separate the sides best. Newton steps on more would be slow."""


def class_prices(instance: Instance, rows: FloatArray, rng: np.random.Generator) -> FloatArray:
    """What each class costs each row, multiplicities included, shape (N, n_classes); the cheapest class costs 0.

    ``rows`` are the standardised features.
    """
    n, n_classes = instance.n_labeled, len(instance.totals)
    prices = np.full((instance.n_rows, n_classes), LABELED_PRICE)
    prices[np.arange(n), instance.labels] = 0.0
    if instance.n_rows > n:
        wanted = instance.charges if instance.charges.any() else -_linear_scores(instance, rows, rng)
        shifted = _shifted_to_totals(wanted, instance.sizes[n:], instance.totals)
        mean = float(np.average(shifted.max(axis=1), weights=instance.sizes[n:]))
        # Half of the price grows with how clear a row is; the other half does not, so that doubtful rows count too.
        prices[n:] = 0.5 * shifted / mean + 0.5 * (shifted > 0) if mean > 0 else shifted
    return np.asarray(prices * instance.sizes[:, None])


def _linear_scores(instance: Instance, rows: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Ridge regression scores of every class for the unlabeled rows, from randomly reweighted labeled rows.

    If all labeled rows are of one class, some unlabeled rows are used as examples of the other class.
    """
    n, n_classes = instance.n_labeled, len(instance.totals)
    train = np.arange(n)
    codes = instance.labels
    if len(np.unique(codes)) < 2:
        extra = n + rng.permutation(instance.n_rows - n)[: max(n, 100)]
        other = (int(codes[0]) + 1) % n_classes if n else 0
        train, codes = np.concatenate([train, extra]), np.concatenate([codes, np.full(len(extra), other)])
    targets = np.where(codes[:, None] == np.arange(n_classes), 1.0, -1.0)
    importance = instance.sizes[train] * rng.exponential(size=len(train))
    features = correlated_features(rows, train, importance * targets[:, 0])
    X = np.column_stack([rows[np.ix_(train, features)], np.ones(len(train))])
    gram = X.T @ (importance[:, None] * X)
    strength = float(rng.choice([0.01, 0.1, 1.0])) * float(np.trace(gram)) / len(gram)
    solution = np.linalg.solve(gram + strength * np.eye(len(gram)), X.T @ (importance[:, None] * targets))
    return np.asarray(rows[n:, features] @ solution[:-1])


def _shifted_to_totals(costs: FloatArray, sizes: FloatArray, totals: FloatArray) -> FloatArray:
    """Prices whose cheapest classes meet the totals (nearly, with more than two classes), at least 0."""
    n_classes = costs.shape[1]
    if n_classes < 2:
        return np.zeros_like(costs)
    relative = costs - (costs.sum(axis=1, keepdims=True) - costs) / (n_classes - 1)
    for k in range(n_classes):
        order = np.argsort(relative[:, k], kind="stable")
        filled = int(np.searchsorted(np.cumsum(sizes[order]), totals[k] - 0.5, side="left")) + 1 if totals[k] else 0
        low = relative[order[max(filled - 1, 0)], k]
        high = relative[order[min(filled, len(order) - 1)], k]
        beyond = float(np.ptp(relative[:, k])) + 1.0
        # A class with a total of 0 is cheapest for no row; a class that has all rows is cheapest for every row.
        threshold = low - beyond if filled == 0 else high + beyond if filled >= len(order) else 0.5 * (low + high)
        relative[:, k] -= threshold
    return np.asarray(relative - relative.min(axis=1, keepdims=True))


def correlated_features(rows: FloatArray, chosen: IntArray, gain: FloatArray) -> IntArray:
    """The features that correlate most with what the chosen rows gain, in their order."""
    if rows.shape[1] <= FEATURES:
        return np.arange(rows.shape[1])
    X = rows[chosen]
    covariance = (gain - gain.mean()) @ X
    spread = X.std(axis=0)
    correlation = np.abs(covariance) / np.where(spread > 0, spread, np.inf)
    return np.sort(np.argsort(-correlation, kind="stable")[:FEATURES])


# Directions of few features for a node: forward selection by the logistic loss.

FORWARD_NEWTON_STEPS, RIDGE = 4, 1e-3
"""Newton steps after each feature, and the penalty of squared coefficients per unit of importance."""


def forward_path(X: FloatArray, gain: FloatArray, most: int) -> FloatArray:
    """Directions of 1, 2, ... up to ``most`` features that separate rows by whether they gain on the right.

    Each has one feature more than the one before: the feature in which the weighted logistic loss falls fastest. Then
    all its coefficients are refitted by Newton steps. ``X`` are standardised features of the rows, ``gain`` is what
    each saves on the right.
    """
    importance, is_right = np.abs(gain), gain > 0
    penalty = RIDGE * float(importance.sum())
    chosen: list[int] = []
    beta = np.zeros(1)
    A = np.ones((len(X), 1))
    path = []
    for _ in range(min(most, X.shape[1])):
        pull = np.abs((importance * (is_right - expit(A @ beta))) @ X)
        pull[chosen] = -1.0
        chosen.append(int(pull.argmax()))
        A, beta = np.column_stack([A, X[:, chosen[-1]]]), np.append(beta, 0.0)
        beta = _refitted(A, beta, importance, is_right, penalty)
        direction = np.zeros(X.shape[1])
        direction[chosen] = beta[1:]
        path.append(direction)
    return np.array(path)


def _refitted(
    A: FloatArray, beta: FloatArray, importance: FloatArray, is_right: BoolArray, penalty: float
) -> FloatArray:
    for _ in range(FORWARD_NEWTON_STEPS):
        probability = expit(A @ beta)
        curvature = importance * np.maximum(probability * (1 - probability), 1e-4)
        slope = A.T @ (importance * (probability - is_right)) + penalty * beta
        step = np.linalg.solve(A.T @ (curvature[:, None] * A) + penalty * np.eye(len(beta)), slope)
        beta = beta - step
        if np.abs(step).max() < 1e-2 * np.abs(beta).max():
            break
    return beta


# Alternating node fits: a tree that puts each row into its presumed class.

FEWEST, MOST, SWEEPS = 2, 16, 8
"""How many trees are tried on a sample of the rows, at least and at most; and how often the nodes of one tree are
refitted, at most. The first two trees start from new splits, the others from the best tree with one node perturbed."""

WORK = 8e6
"""Rows times squared features of a Newton step, summed over the trees that are tried: large problems try fewer."""

SAMPLE = 4000
"""Rows from which directions are fitted."""

NEWTON_STEPS = 3
RIDGES = (1e-2, 1e-3, 1e-4)
_WORTH = 1e-9


def alternating_start(
    instance: Instance, rng: np.random.Generator, deadline: Deadline
) -> tuple[FloatArray, FloatArray]:
    """The best of several trees fitted by alternation to the rows' prices, every normal of length s.

    Several trees are fitted on a sample, and the best one once more on all rows. At the deadline the best tree so far
    is returned.
    """
    center, spread = instance.XT.mean(axis=1), instance.XT.std(axis=1)
    # A constant feature does not distinguish rows.
    steep = np.where(spread > 0, 1 / np.where(spread > 0, spread, 1.0), 0.0)
    rows = (instance.XT.T - center) * steep
    prices = class_prices(instance, rows, rng)
    sample = rng.permutation(instance.n_rows)[:SAMPLE]
    width = min(instance.n_features, FEATURES) + 10
    fits: list[_NodeFits] = []
    for number in range(int(np.clip(WORK / (len(sample) * width**2), FEWEST, MOST))):
        if number < FEWEST:
            empty = _NodeFits.empty(instance, rows[sample], prices[sample])
            fit = empty.started(rng, deadline, greedy=number == 0)
        else:
            fit = min(fits, key=lambda fit: fit.cost).perturbed(rng)
        fit.alternate(rng, deadline)
        fits.append(fit)
        if fit.cost <= _WORTH or deadline.passed:
            break
    best = min(fits, key=lambda fit: fit.cost)
    if len(sample) < instance.n_rows and not deadline.passed:
        best = replace(best, rows=rows, prices=prices)
        best.alternate(rng, deadline)
    return _lengthened(instance, best.omega * steep, best.gamma + best.omega @ (center * steep))


@dataclass(eq=False)
class _NodeFits:
    """A tree over standardised rows that changes node by node, and its cost."""

    topology: Topology
    rows: FloatArray
    prices: FloatArray
    omega: FloatArray
    gamma: FloatArray
    most_features: int | None

    def __post_init__(self) -> None:
        self.right: BoolArray = self.rows @ self.omega.T > self.gamma

    @classmethod
    def empty(cls, instance: Instance, rows: FloatArray, prices: FloatArray) -> _NodeFits:
        """No splits."""
        n_branches = instance.topology.n_branches
        omega, gamma = np.zeros((n_branches, rows.shape[1])), np.ones(n_branches)
        return cls(instance.topology, rows, prices, omega, gamma, instance.most_features)

    def started(self, rng: np.random.Generator, deadline: Deadline, *, greedy: bool) -> _NodeFits:
        """The same with splits on single features from the top down: the best splits if greedy, else random ones."""
        fit, topology, rows, prices = self.copied(), self.topology, self.rows, self.prices
        favourite = prices.argmin(axis=1)
        gain = np.where(favourite == 0, -1.0, 1.0) * prices.max(axis=1)
        for node in topology.branches:
            if deadline.passed:
                break
            reached = fit.reached(node)
            if not reached.any():
                continue
            single = rng.permutation(rows.shape[1])[: FEATURES if greedy else 1]
            values = rows[np.ix_(reached, single)]
            if greedy:
                found = [_best_offset(column, gain[reached]) for column in values.T]
                best = min(range(len(found)), key=lambda k: found[k][0])
                sign, offset = found[best][1:]
            else:
                best, sign, offset = 0, 1.0, float(values[int(rng.integers(len(values))), 0])
            direction = np.zeros(rows.shape[1])
            direction[single[best]] = sign
            fit.place(node, direction, offset)
        return fit

    def perturbed(self, rng: np.random.Generator) -> _NodeFits:
        """The same with one node split at random along a difference of two rows, or along a few of its features."""
        fit = self.copied()
        node = int(rng.integers(1, self.topology.n_leaves))
        first, second, third = rng.integers(len(self.rows), size=3)
        direction = self.rows[first] - self.rows[second]
        if self.most_features is not None:
            direction[rng.permutation(len(direction))[self.most_features :]] = 0.0
        fit.place(node, direction, float(self.rows[third] @ direction))
        return fit

    def copied(self) -> _NodeFits:
        """The same with hyperplanes of its own."""
        return replace(self, omega=self.omega.copy(), gamma=self.gamma.copy())

    @property
    def cost(self) -> float:
        """What all rows pay for the classes in which they end."""
        return float(np.take_along_axis(self.prices, self.ends(1)[:, None], axis=1).sum())

    def alternate(self, rng: np.random.Generator, deadline: Deadline) -> None:
        """Refit the nodes from the bottom up; repeat while a refit lowers the cost."""
        sample = len(self.rows) <= SAMPLE
        for _ in range(SWEEPS):
            gained = False
            for node in reversed(self.topology.branches):
                if deadline.passed:
                    return
                gained |= self.refit(node, rng, singles=sample)
            if not gained:
                return

    def refit(self, node: int, rng: np.random.Generator, *, singles: bool) -> bool:
        """Give a node the best hyperplane fitted to the rows it decides about, if that lowers the cost."""
        rows, gain = self.decided(node)
        if not len(rows):
            return False
        present = float(gain[~self.right[rows, node - 1]].sum())
        tried = [_best_offset((self.rows @ self.omega[node - 1])[rows], gain)]
        directions = [self.omega[node - 1]]
        chosen = rng.permutation(len(rows))[:SAMPLE]
        features = correlated_features(self.rows, rows[chosen], gain[chosen])
        X = self.rows[np.ix_(rows, features)]
        if self.most_features is None:
            fitted = logistic_path(X[chosen], gain[chosen])
        else:
            fitted = forward_path(X[chosen], gain[chosen], self.most_features)
        if singles:
            fitted = np.vstack([fitted, np.eye(len(features))])
        for direction, values in zip(fitted, (X @ fitted.T).T, strict=True):
            tried.append(_best_offset(values, gain))
            directions.append(np.zeros(self.rows.shape[1]))
            directions[-1][features] = direction
        best = min(range(len(tried)), key=lambda k: tried[k][0])
        if tried[best][0] >= present - _WORTH:
            return False
        self.place(node, tried[best][1] * directions[best], tried[best][2])
        return True

    def decided(self, node: int) -> tuple[IntArray, FloatArray]:
        """Rows whose price depends on their side at a node, and what each saves on the right."""
        rows = np.flatnonzero(self.reached(node))
        left, right = self.ends(2 * node, rows), self.ends(2 * node + 1, rows)
        gain = self.prices[rows, left] - self.prices[rows, right]
        return rows[gain != 0], gain[gain != 0]

    def reached(self, node: int) -> BoolArray:
        """Which rows reach a node."""
        there = np.ones(len(self.rows), dtype=bool)
        while node > 1:
            there &= self.right[:, node // 2 - 1] == bool(node % 2)
            node //= 2
        return there

    def ends(self, node: int, rows: IntArray | None = None) -> IntArray:
        """The class in which rows would end if they started at a node."""
        right = self.right if rows is None else self.right[rows]
        at = np.full(len(right), node)
        index = np.arange(len(right))
        while node < self.topology.n_leaves:
            at = 2 * at + right[index, at - 1]
            node *= 2
        return np.asarray(self.topology.leaf_classes[at - self.topology.n_leaves])

    def place(self, node: int, direction: FloatArray, offset: float) -> None:
        """Give a node a hyperplane."""
        self.omega[node - 1], self.gamma[node - 1] = direction, offset
        self.right[:, node - 1] = self.rows @ direction > offset


def _best_offset(values: FloatArray, gain: FloatArray) -> tuple[float, float, float]:
    """The best offset along a direction or its reverse.

    Returns what the rows on the left would have saved on the right, the sign of the direction and the offset along it.
    """
    order = np.argsort(values, kind="stable")
    values = values[order]
    forgone = np.cumsum(gain[order])
    everything = float(forgone[-1])
    # All rows on one side, the one with the larger gain.
    outside = (0.0, 1.0, float(values[0]) - 1.0) if everything > 0 else (everything, 1.0, float(values[-1]) + 1.0)
    cuts = np.flatnonzero(np.diff(values) > 1e-9)
    if not len(cuts):
        return outside
    forward, backward = forgone[cuts], everything - forgone[cuts]
    sign, left = (1.0, forward) if forward.min() <= backward.min() else (-1.0, backward)
    least = float(left.min())
    if least >= outside[0]:
        return outside
    ties = cuts[left <= least + _WORTH]
    # Of equally good offsets, the one in the widest gap leaves most room for margins.
    cut = int(ties[np.argmax(values[ties + 1] - values[ties])])
    return least, sign, sign * 0.5 * float(values[cut] + values[cut + 1])


def logistic_path(X: FloatArray, gain: FloatArray) -> FloatArray:
    """Directions of weighted logistic regressions on whether rows gain on the right, one per ridge penalty.

    Each starts from the one before, so that a few Newton steps are enough.
    """
    importance, is_right = np.abs(gain), gain > 0
    A = np.column_stack([X, np.ones(len(X))])
    beta = np.zeros(A.shape[1])
    path = []
    for ridge in RIDGES:
        penalty = np.full(A.shape[1], ridge * float(importance.sum()))
        for _ in range(NEWTON_STEPS):
            probability = expit(A @ beta)
            curvature = importance * np.maximum(probability * (1 - probability), 1e-4)
            slope = A.T @ (importance * (probability - is_right)) + penalty * beta
            step = np.linalg.solve(A.T @ (curvature[:, None] * A) + np.diag(penalty), slope)
            beta = beta - step
            if np.abs(step).max() < 1e-2 * np.abs(beta).max():
                break
        path.append(beta[:-1])
    return np.array(path)


def _lengthened(instance: Instance, omega: FloatArray, gamma: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Every normal scaled up to the bound s: rows keep their sides and gain distance. Normals of 0 stay 0."""
    factor = length_factors(omega, instance.s)
    return omega * factor[:, None], np.where(omega.any(axis=1), gamma * factor, np.sign(gamma))

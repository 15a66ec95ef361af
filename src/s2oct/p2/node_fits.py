"""Tree alternating optimization: nodes are fitted in turn to the price of each class for each row.

The prices come from labels, from the guide, or from a linear classifier that meets the totals. A node is fitted by
weighted logistic regression on the side that each row prefers, and then by the best offset along that direction.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from s2oct.arrays import BoolArray, FloatArray, IntArray
from s2oct.p2.instance import Hyperplanes, Instance, ends, lengthen, reaches
from s2oct.stopping import Deadline

_NEGLIGIBLE = 1e-9
"""A smaller gain is a rounding error."""


@dataclass(frozen=True)
class NodeFitParams:
    """Tuning of alternating node fits.

    Attributes
    ----------
    labeled_price : float
        Price of a misclassified labeled row; the mean unlabeled row costs 1, because its class is only presumed.
    doubtful_share : float
        Share of an unlabeled row's price that does not depend on the certainty of its class: uncertain rows also count.
    score_ridges : tuple of float
        Ridge penalties of the linear classifier, one of which is drawn for each start, so that starts differ.
    n_features : int
        Maximum number of features of a fitted direction, those with the highest correlation: a Newton step takes time
        that grows with their square.
    n_rows : int
        Rows from which directions are fitted: more rows hardly change a direction.
    n_new, n_trees : int
        Number of trees that start from new splits, and maximum number of trees. The others start from the best tree
        with one node perturbed.
    work : float
        Limit on rows times squared features, added up over the trees: large problems try fewer of them.
    n_sweeps : int
        Maximum number of times that the nodes of one tree are refitted.
    ridges, newton_steps : tuple of float, int
        Penalties of a logistic path, and Newton steps for each: every fit starts at the one before, so few are enough.
    forward_ridge, forward_steps : float, int
        The same for forward selection, where every fit has one new feature.
    """

    labeled_price: float = 3.0
    doubtful_share: float = 0.5
    score_ridges: tuple[float, ...] = (0.01, 0.1, 1.0)
    n_features: int = 60
    n_rows: int = 4000
    n_new: int = 2
    n_trees: int = 16
    work: float = 8e6
    n_sweeps: int = 8
    ridges: tuple[float, ...] = (1e-2, 1e-3, 1e-4)
    newton_steps: int = 3
    forward_ridge: float = 1e-3
    forward_steps: int = 4


DEFAULTS = NodeFitParams()


def alternating_start(
    instance: Instance,
    rng: np.random.Generator,
    deadline: Deadline,
    parameters: NodeFitParams = DEFAULTS,
) -> Hyperplanes:
    """The best of several trees fitted by alternation to the rows' prices, every normal of length s.

    At the deadline the best tree so far is returned.
    """
    # 1. Standardise the features, so that one penalty suits all coefficients.
    center, steep = instance.XT.mean(axis=1), steepness(instance.XT.std(axis=1))
    rows = (instance.XT.T - center) * steep
    # 2. Price every class for every row, by labels, guide or a linear classifier.
    prices = class_prices(instance, rows, rng, parameters)
    # 3. Fit several trees on a sample, where a sweep over the nodes is quick.
    sample = rng.permutation(instance.n_rows)[: parameters.n_rows]
    width = min(instance.n_features, parameters.n_features) + 10
    n_trees = int(np.clip(parameters.work / (len(sample) * width**2), parameters.n_new, parameters.n_trees))
    fits: list[_NodeFits] = []
    for number in range(n_trees):
        if number < parameters.n_new:
            fit = _NodeFits(instance, rows[sample], prices[sample], parameters)
            fit.split_single_features(rng, deadline, greedy=number == 0)
        else:
            fit = min(fits, key=lambda fit: fit.cost).copied()
            fit.perturb(rng)
        fit.alternate(rng, deadline)
        fits.append(fit)
        if fit.cost <= _NEGLIGIBLE or deadline.passed:
            break
    best = min(fits, key=lambda fit: fit.cost)
    # 4. Refit the best tree on all rows.
    if len(sample) < instance.n_rows and not deadline.passed:
        best = _NodeFits(instance, rows, prices, parameters, (best.omega, best.gamma))
        best.alternate(rng, deadline)
    # 5. Lengthen every normal up to s: rows keep their sides and gain distance.
    omega, gamma = lengthen((best.omega * steep, best.gamma + best.omega @ (center * steep)), instance.s)
    return omega, np.where(omega.any(axis=1), gamma, np.sign(gamma))


def steepness(spread: FloatArray) -> FloatArray:
    """1 / spread of every feature; 0 for a constant feature, which does not distinguish rows."""
    return np.where(spread > 0, 1 / np.where(spread > 0, spread, 1.0), 0.0)


def class_prices(
    instance: Instance, rows: FloatArray, rng: np.random.Generator, parameters: NodeFitParams = DEFAULTS
) -> FloatArray:
    """Price of each class for each row, times its size, shape (N, n_classes); the cheapest class costs 0.

    ``rows`` are the standardised features.
    """
    n, n_classes = instance.n_labeled, len(instance.totals)
    prices = np.full((instance.n_rows, n_classes), parameters.labeled_price)
    prices[np.arange(n), instance.labels] = 0.0
    if instance.n_rows > n:
        wanted = instance.charges if instance.charges.any() else -_linear_scores(instance, rows, rng, parameters)
        shifted = _shifted_to_totals(wanted, instance.sizes[n:], instance.totals)
        mean = float(np.average(shifted.max(axis=1), weights=instance.sizes[n:]))
        flat = parameters.doubtful_share
        prices[n:] = (1 - flat) * shifted / mean + flat * (shifted > 0) if mean > 0 else shifted
    return np.asarray(prices * instance.sizes[:, None])


def _linear_scores(
    instance: Instance, rows: FloatArray, rng: np.random.Generator, parameters: NodeFitParams
) -> FloatArray:
    """Ridge regression scores of every class for the unlabeled rows, from randomly reweighted labeled rows.

    If all labeled rows have one class, some unlabeled rows serve as examples of another class.
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
    features = correlated_features(rows, train, importance * targets[:, 0], parameters.n_features)
    X = np.column_stack([rows[np.ix_(train, features)], np.ones(len(train))])
    gram = X.T @ (importance[:, None] * X)
    strength = float(rng.choice(parameters.score_ridges)) * float(np.trace(gram)) / len(gram)
    solution = np.linalg.solve(gram + strength * np.eye(len(gram)), X.T @ (importance[:, None] * targets))
    return np.asarray(rows[n:, features] @ solution[:-1])


def _shifted_to_totals(costs: FloatArray, sizes: FloatArray, totals: FloatArray) -> FloatArray:
    """Prices of at least 0 whose cheapest classes meet the totals (approximately, with more than two classes)."""
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
        # A class with a total of 0 must be the cheapest class of no row, and a class with all rows that of every row.
        threshold = low - beyond if filled == 0 else high + beyond if filled >= len(order) else 0.5 * (low + high)
        relative[:, k] -= threshold
    return np.asarray(relative - relative.min(axis=1, keepdims=True))


def correlated_features(
    rows: FloatArray, chosen: IntArray, gain: FloatArray, most: int = DEFAULTS.n_features
) -> IntArray:
    """The features with the highest correlation with the gains of the chosen rows, in ascending order."""
    if rows.shape[1] <= most:
        return np.arange(rows.shape[1])
    X = rows[chosen]
    covariance = (gain - gain.mean()) @ X
    spread = X.std(axis=0)
    correlation = np.abs(covariance) / np.where(spread > 0, spread, np.inf)
    return np.sort(np.argsort(-correlation, kind="stable")[:most])


class _NodeFits:
    """A tree over standardised rows that changes node by node; ``right`` (n_branches, N) has the sides of the rows."""

    def __init__(
        self,
        instance: Instance,
        rows: FloatArray,
        prices: FloatArray,
        parameters: NodeFitParams,
        planes: Hyperplanes | None = None,
    ) -> None:
        self.instance, self.rows, self.prices, self.parameters = instance, rows, prices, parameters
        self.topology, self.most_features = instance.topology, instance.most_features
        n_branches = self.topology.n_branches
        self.omega, self.gamma = planes or (np.zeros((n_branches, rows.shape[1])), np.ones(n_branches))
        self.right: BoolArray = np.ascontiguousarray((rows @ self.omega.T > self.gamma).T)

    def copied(self) -> _NodeFits:
        """The same with hyperplanes of its own."""
        planes = self.omega.copy(), self.gamma.copy()
        return _NodeFits(self.instance, self.rows, self.prices, self.parameters, planes)

    def split_single_features(self, rng: np.random.Generator, deadline: Deadline, *, greedy: bool) -> None:
        """Split on single features from the top down: the best splits if greedy, else random ones."""
        rows, prices = self.rows, self.prices
        gain = np.where(prices.argmin(axis=1) == 0, -1.0, 1.0) * prices.max(axis=1)
        for node in self.topology.branches:
            if deadline.passed:
                break
            reached = reaches(self.right, node)
            if not reached.any():
                continue
            single = rng.permutation(rows.shape[1])[: self.parameters.n_features if greedy else 1]
            values = rows[np.ix_(reached, single)]
            if greedy:
                found = [_best_offset(column, gain[reached]) for column in values.T]
                best = min(range(len(found)), key=lambda k: found[k][0])
                sign, offset = found[best][1:]
            else:
                best, sign, offset = 0, 1.0, float(values[int(rng.integers(len(values))), 0])
            direction = np.zeros(rows.shape[1])
            direction[single[best]] = sign
            self.place(node, direction, offset)

    def perturb(self, rng: np.random.Generator) -> None:
        """Split one node at random along a difference of two rows, or along a few of its features."""
        node = int(rng.integers(1, self.topology.n_leaves))
        first, second, third = rng.integers(len(self.rows), size=3)
        direction = self.rows[first] - self.rows[second]
        if self.most_features is not None:
            direction[rng.permutation(len(direction))[self.most_features :]] = 0.0
        self.place(node, direction, float(self.rows[third] @ direction))

    @property
    def cost(self) -> float:
        """The price of all rows in their present classes."""
        classes = ends(self.topology.leaf_classes, self.right)
        return float(np.take_along_axis(self.prices, classes[:, None], axis=1).sum())

    def alternate(self, rng: np.random.Generator, deadline: Deadline) -> None:
        """Refit the nodes from the bottom up; repeat while a refit lowers the cost."""
        is_sample = len(self.rows) <= self.parameters.n_rows
        for _ in range(self.parameters.n_sweeps):
            gained = False
            for node in reversed(self.topology.branches):
                if deadline.passed:
                    return
                gained |= self.refit(node, rng, singles=is_sample)
            if not gained:
                return

    def refit(self, node: int, rng: np.random.Generator, *, singles: bool) -> bool:
        """Give a node the best hyperplane fitted to the rows whose cost it affects, if that lowers the cost."""
        rows, gain = self.decided(node)
        if not len(rows):
            return False
        present = float(gain[~self.right[node - 1, rows]].sum())
        tried = [_best_offset((self.rows @ self.omega[node - 1])[rows], gain)]
        directions = [self.omega[node - 1]]
        chosen = rng.permutation(len(rows))[: self.parameters.n_rows]
        features = correlated_features(self.rows, rows[chosen], gain[chosen], self.parameters.n_features)
        X = self.rows[np.ix_(rows, features)]
        if self.most_features is None:
            fitted = logistic_path(X[chosen], gain[chosen], self.parameters)
        else:
            fitted = forward_path(X[chosen], gain[chosen], self.most_features, self.parameters)
        if singles:
            fitted = np.vstack([fitted, np.eye(len(features))])
        for direction, values in zip(fitted, (X @ fitted.T).T, strict=True):
            tried.append(_best_offset(values, gain))
            directions.append(np.zeros(self.rows.shape[1]))
            directions[-1][features] = direction
        best = min(range(len(tried)), key=lambda k: tried[k][0])
        if tried[best][0] >= present - _NEGLIGIBLE:
            return False
        self.place(node, tried[best][1] * directions[best], tried[best][2])
        return True

    def decided(self, node: int) -> tuple[IntArray, FloatArray]:
        """Rows whose price depends on their side at a node, and the amount that each saves on the right."""
        rows = np.flatnonzero(reaches(self.right, node))
        left, right = (ends(self.topology.leaf_classes, self.right[:, rows], 2 * node + side) for side in (0, 1))
        gain = self.prices[rows, left] - self.prices[rows, right]
        return rows[gain != 0], gain[gain != 0]

    def place(self, node: int, direction: FloatArray, offset: float) -> None:
        """Give a node a hyperplane."""
        self.omega[node - 1], self.gamma[node - 1] = direction, offset
        self.right[node - 1] = self.rows @ direction > offset


def _best_offset(values: FloatArray, gain: FloatArray) -> tuple[float, float, float]:
    """The best offset along a direction or its reverse.

    Returns the amount that rows on the left would save on the right, the sign of the direction, and the offset.
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
    ties = cuts[left <= least + _NEGLIGIBLE]
    # Of equally good offsets, the one in the widest gap leaves the most space for margins.
    cut = int(ties[np.argmax(values[ties + 1] - values[ties])])
    return least, sign, sign * 0.5 * float(values[cut] + values[cut + 1])


def logistic_path(X: FloatArray, gain: FloatArray, parameters: NodeFitParams = DEFAULTS) -> FloatArray:
    """Directions of weighted logistic regressions on whether rows gain on the right, one per ridge penalty."""
    importance, is_right = np.abs(gain), gain > 0
    A = np.column_stack([X, np.ones(len(X))])
    beta = np.zeros(A.shape[1])
    path = []
    for ridge in parameters.ridges:
        penalty = ridge * float(importance.sum())
        beta = _newton_steps(A, beta, importance, is_right, penalty, parameters.newton_steps)
        path.append(beta[:-1])
    return np.array(path)


def forward_path(X: FloatArray, gain: FloatArray, most: int, parameters: NodeFitParams = DEFAULTS) -> FloatArray:
    """Directions of 1, 2, ... up to ``most`` features that separate rows by whether they gain on the right.

    Each has one feature more than the previous one: the feature in which the weighted logistic loss falls fastest. Then
    all its coefficients are refitted. ``X`` are standardised features, ``gain`` is the amount that each row saves on
    the right.
    """
    importance, is_right = np.abs(gain), gain > 0
    penalty = parameters.forward_ridge * float(importance.sum())
    chosen: list[int] = []
    beta = np.zeros(1)
    A = np.ones((len(X), 1))
    path = []
    for _ in range(min(most, X.shape[1])):
        pull = np.abs((importance * (is_right - expit(A @ beta))) @ X)
        pull[chosen] = -1.0
        chosen.append(int(pull.argmax()))
        A, beta = np.column_stack([A, X[:, chosen[-1]]]), np.append(beta, 0.0)
        beta = _newton_steps(A, beta, importance, is_right, penalty, parameters.forward_steps)
        direction = np.zeros(X.shape[1])
        direction[chosen] = beta[1:]
        path.append(direction)
    return np.array(path)


def _newton_steps(
    A: FloatArray, beta: FloatArray, importance: FloatArray, is_right: BoolArray, penalty: float, n_steps: int
) -> FloatArray:
    """The coefficients after some Newton steps on the weighted logistic loss with a ridge penalty."""
    for _ in range(n_steps):
        probability = expit(A @ beta)
        curvature = importance * np.maximum(probability * (1 - probability), 1e-4)
        slope = A.T @ (importance * (probability - is_right)) + penalty * beta
        step = np.linalg.solve(A.T @ (curvature[:, None] * A) + penalty * np.eye(len(beta)), slope)
        beta = beta - step
        if np.abs(step).max() < 1e-2 * np.abs(beta).max():
            break
    return beta

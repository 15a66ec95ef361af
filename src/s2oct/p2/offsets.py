"""Offsets of all last-level nodes at once: a knapsack.

The directions and the nodes above stay fixed. A last-level node may put its offset into any gap between the unlabeled
rows that is at least 2 wide. Each gap is an offer: a number of rows in class 0, at a price. Every labeled row chooses
the last-level node that is cheapest at present. Costs are then sums over the nodes. For the present offsets the sum is
the cost of the tree. For other offsets the tree costs at most the sum, because rows may choose again. The cheapest
offers for every number of rows are combined node by node (a min-plus convolution). Then the labeled rows choose again,
and so on while the cost decreases.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from s2oct.arrays import BoolArray, FloatArray, IntArray
from s2oct.p2.instance import Instance, tree_cost, values_at_nodes
from s2oct.stopping import Deadline

MOST_OFFERS, COMBINATION_WORK = 2000, 5e7
"""Maximum number of offers of a node, the cheapest ones, and limit on offers times rows: each offer takes one pass over
the possible counts."""

REPEATS = 5
"""Maximum number of combinations for one tree."""

_WORTH = 1e-9


def combine_offsets(
    instance: Instance, omega: FloatArray, gamma: FloatArray, deadline: Deadline
) -> tuple[FloatArray, FloatArray]:
    """Hyperplanes with the best combination of last-level offsets; a node is reversed where that is cheaper.

    The cost of a tree whose last level keeps its margins never increases. With more than two classes, several domains
    or weights, there is no single number of rows to add up: the tree is returned unchanged, as after the deadline.
    """
    if not instance.has_one_number or instance.n_labeled == instance.n_rows:
        return omega, gamma
    for _ in range(REPEATS):
        if deadline.passed:
            break
        level = _LastLevel.of(instance, omega, gamma)
        found = level.best_combination(deadline)
        if found is None:
            return omega, gamma
        new_omega, new_gamma = omega.copy(), gamma.copy()
        for b, (sign, offset) in zip(level.nodes, found, strict=True):
            new_omega[b], new_gamma[b] = sign * omega[b], offset
        if level.keeps_margins and _cost(instance, new_omega, new_gamma) >= level.cost - _WORTH:
            return omega, gamma
        omega, gamma = new_omega, new_gamma
    return omega, gamma


def _cost(instance: Instance, omega: FloatArray, gamma: FloatArray) -> float:
    return tree_cost(instance, values_at_nodes(instance, omega, gamma))


@dataclass(frozen=True, eq=False)
class _LastLevel:
    """The last-level nodes of a tree and the rows that reach them.

    ``nodes`` are their indices in omega and gamma, ``along`` is omega . x (nodes, N), ``h`` is that minus gamma,
    ``above`` has the errors of the labeled rows on the paths there (nodes, n), and ``reached`` the unlabeled rows that
    arrive (nodes, m). ``H`` are the values of all rows at all nodes.
    """

    instance: Instance
    nodes: IntArray
    gamma: FloatArray
    along: FloatArray
    h: FloatArray
    above: FloatArray
    reached: BoolArray
    H: FloatArray

    @classmethod
    def of(cls, instance: Instance, omega: FloatArray, gamma: FloatArray) -> _LastLevel:
        n, topology = instance.n_labeled, instance.topology
        H = values_at_nodes(instance, omega, gamma)
        nodes = np.asarray(topology.last_level) - 1
        # Not h + gamma: its rounding would close gaps that are exactly 2 wide.
        along = omega[nodes] @ instance.XT
        above = np.zeros((len(nodes), n))
        reached = np.ones((len(nodes), instance.n_rows - n), dtype=bool)
        for k, b in enumerate(nodes.tolist()):
            child = b + 1
            while child > 1:
                h = H[child // 2 - 1]
                above[k] += np.maximum(1 - h[:n] if child % 2 else 1 + h[:n], 0)
                reached[k] &= (h[n:] > 0) == bool(child % 2)
                child //= 2
        return cls(instance, nodes, gamma[nodes], along, H[nodes], above, reached, H)

    @cached_property
    def cost(self) -> float:
        """The cost of the present tree."""
        return tree_cost(self.instance, self.H)

    @property
    def errors(self) -> FloatArray:
        """Error of each labeled row if it ends below each node, shape (nodes, n)."""
        n = self.instance.n_labeled
        toward = np.where(self.instance.labels == 1, -1.0, 1.0)
        return np.asarray(self.above + np.maximum(1 + toward * self.h[:, :n], 0))

    @property
    def keeps_margins(self) -> bool:
        """Whether all unlabeled rows are at distance 1 from the last-level hyperplanes."""
        return bool((np.abs(self.h[:, self.instance.n_labeled :]) >= 1 - _WORTH).all())

    def best_combination(self, deadline: Deadline) -> list[tuple[float, float]] | None:
        """Sign of the direction and offset for every node; None if none can be better, or after the deadline."""
        chosen = self.errors.argmin(axis=0) if self.instance.n_labeled else np.empty(0, dtype=int)
        menus = []
        for k in range(len(self.nodes)):
            if deadline.passed:
                return None
            menus.append(self.menu(k, chosen == k))
        least = sum(float(menu.prices.min()) for menu in menus)
        if self.keeps_margins:
            # If an offer and the cheapest offers elsewhere cost more than the present tree, no better tree has it.
            menus = [menu.up_to(self.cost - least + float(menu.prices.min())) for menu in menus]
        if not all(len(menu.prices) for menu in menus):
            return None
        picks = _cheapest_combination(menus, float(self.instance.totals[0]), self.instance.row_off, deadline)
        if picks is None:
            return None
        return [(menu.signs[pick], menu.offsets[pick]) for menu, pick in zip(menus, picks, strict=True)]

    def menu(self, k: int, choosers: BoolArray) -> _Menu:
        """The offers of a node in both directions, given the labeled rows that end below it."""
        n, instance = self.instance.n_labeled, self.instance
        base = float(instance.sizes[:n][choosers] @ self.above[k, choosers])
        offers = [
            _offers(
                sign * self.along[k],
                sign * self.gamma[k],
                np.flatnonzero(choosers),
                self.reached[k],
                instance,
            )
            for sign in (1.0, -1.0)
        ]
        signs = np.concatenate([np.full(len(found[0]), sign) for sign, found in zip((1.0, -1.0), offers, strict=True)])
        counts, prices, offsets = (np.concatenate(parts) for parts in zip(*offers, strict=True))
        return _Menu(counts, prices + base, offsets, signs).pruned(
            min(MOST_OFFERS, int(COMBINATION_WORK / float(instance.sizes[n:].sum())) + 1)
        )


@dataclass(frozen=True, eq=False)
class _Menu:
    """A node's offers: rows to class 0, price, offset and sign of the direction."""

    counts: IntArray
    prices: FloatArray
    offsets: FloatArray
    signs: FloatArray

    def pruned(self, most: int) -> _Menu:
        """Keep the cheapest offer of every count, and at most the ``most`` cheapest of these."""
        order = np.lexsort((self.prices, self.counts))
        first = order[np.append(True, np.diff(self.counts[order]) > 0)]
        return self.take(first[np.argsort(self.prices[first], kind="stable")[:most]])

    def up_to(self, price: float) -> _Menu:
        """The offers that cost no more than a price."""
        return self.take(np.flatnonzero(self.prices <= price + _WORTH))

    def take(self, rows: IntArray) -> _Menu:
        return _Menu(self.counts[rows], self.prices[rows], self.offsets[rows], self.signs[rows])


def _offers(
    values: FloatArray, present: float, choosers: IntArray, reached: BoolArray, instance: Instance
) -> tuple[IntArray, FloatArray, FloatArray]:
    """Counts, prices and offsets of all gaps along a direction; ``values`` are omega . x of all rows."""
    n = instance.n_labeled
    order = np.argsort(values[n:], kind="stable")
    line = values[n:][order]
    sizes = np.where(reached, instance.sizes[n:], 0.0)
    to_left = np.cumsum(np.append(0.0, sizes[order]))
    saved = sizes * (instance.charges[:, 0] - instance.charges[:, 1])
    guide = float(sizes @ instance.charges[:, 1]) + np.cumsum(np.append(0.0, saved[order]))
    low, high = np.append(-np.inf, line + 1), np.append(line - 1, np.inf)
    gaps = np.flatnonzero(low <= high)
    offsets, errors = _best_in_gaps(
        low[gaps], high[gaps], present, values[choosers], instance.labels[choosers], instance.sizes[choosers]
    )
    return np.round(to_left[gaps]).astype(np.int64), errors + guide[gaps], offsets


def _best_in_gaps(
    low: FloatArray, high: FloatArray, present: float, values: FloatArray, labels: IntArray, sizes: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """The best offset in each interval and the error of the labeled rows there.

    The error is convex in the offset: class 0 pays below its value + 1, class 1 above its value - 1. So the best offset
    in an interval is the minimum nearest to the present offset, moved into the interval.
    """
    zero = labels == 0
    bends = np.concatenate([values[zero] + 1, values[~zero] - 1])
    order = np.argsort(bends, kind="stable")
    bends, size = bends[order], np.concatenate([sizes[zero], sizes[~zero]])[order]
    # Left of all bends the slope is minus the size of class 0; each bend adds its row's size.
    slopes = np.append(0.0, np.cumsum(size)) - float(sizes[zero].sum())
    falls, rises = slopes < -_WORTH, slopes > _WORTH
    lowest = bends[int(falls.sum()) - 1] if falls.any() else -np.inf
    highest = bends[len(bends) - int(rises.sum())] if rises.any() else np.inf
    offsets = np.clip(np.clip(present, lowest, highest), low, high)
    is_zero = np.concatenate([np.ones(int(zero.sum()), dtype=bool), np.zeros(int((~zero).sum()), dtype=bool)])[order]
    at = np.searchsorted(bends, offsets)
    above = np.append(np.cumsum((size * is_zero)[::-1])[::-1], 0.0)
    above_sum = np.append(np.cumsum((size * is_zero * bends)[::-1])[::-1], 0.0)
    below = np.append(0.0, np.cumsum(size * ~is_zero))
    below_sum = np.append(0.0, np.cumsum(size * ~is_zero * bends))
    errors = above_sum[at] - above[at] * offsets + below[at] * offsets - below_sum[at]
    return offsets, np.maximum(errors, 0.0)


def _cheapest_combination(menus: list[_Menu], total: float, C: float, deadline: Deadline) -> list[int] | None:
    """One offer per node that minimises prices plus C times the distance of the count from the total.

    None after the deadline.
    """
    size = sum(int(menu.counts.max()) for menu in menus) + 1
    cheapest = np.full(size, np.inf)
    cheapest[0] = 0.0
    reach = 0
    picked = []
    for menu in menus:
        if deadline.passed:
            return None
        grown, pick = np.full(size, np.inf), np.full(size, -1, dtype=np.int64)
        for offer, (count, price) in enumerate(zip(menu.counts.tolist(), menu.prices.tolist(), strict=True)):
            shifted = cheapest[: reach + 1] + price
            target = slice(count, count + reach + 1)
            better = shifted < grown[target]
            grown[target][better] = shifted[better]
            pick[target][better] = offer
        cheapest, reach = grown, reach + int(menu.counts.max())
        picked.append(pick)
    at = int(np.argmin(cheapest + C * np.abs(np.arange(size) - total)))
    choice = []
    for menu, pick in zip(reversed(menus), reversed(picked), strict=True):
        choice.append(int(pick[at]))
        at -= int(menu.counts[choice[-1]])
    return choice[::-1]

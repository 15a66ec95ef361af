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
from typing import NamedTuple

import numpy as np

from s2oct.arrays import BoolArray, FloatArray, IntArray
from s2oct.p2.instance import Hyperplanes, Instance, reaches, tree_cost, values_at_nodes
from s2oct.stopping import Deadline

_NEGLIGIBLE = 1e-9


@dataclass(frozen=True)
class OffsetParams:
    """Effort of the knapsack.

    Attributes
    ----------
    most_offers : int
        Maximum number of offers of a node, the cheapest ones.
    work : float
        Limit on offers times unlabeled rows: each offer takes one pass over the possible counts.
    repeats : int
        Maximum number of combinations for one tree.
    """

    most_offers: int = 2000
    work: float = 5e7
    repeats: int = 5


DEFAULTS = OffsetParams()


class Offers(NamedTuple):
    """Offers of a node, each array of shape (n_offers,)."""

    counts: IntArray  # rows to class 0
    prices: FloatArray
    signs: FloatArray  # of the direction
    offsets: FloatArray

    def take(self, chosen: IntArray | BoolArray) -> Offers:
        """Some of the offers."""
        return Offers(self.counts[chosen], self.prices[chosen], self.signs[chosen], self.offsets[chosen])


def combine_offsets(
    instance: Instance,
    omega: FloatArray,
    gamma: FloatArray,
    deadline: Deadline,
    parameters: OffsetParams = DEFAULTS,
) -> Hyperplanes:
    """Hyperplanes with the best combination of last-level offsets; a node is reversed where that is cheaper.

    The cost of a tree whose last level keeps its margins never increases. With more than two classes, several domains
    or weights, there is no single number of rows to add up: the tree is returned unchanged, as after the deadline.
    """
    n, nodes = instance.n_labeled, np.asarray(instance.topology.last_level) - 1
    if not instance.has_one_number or n == instance.n_rows:
        return omega, gamma
    most_offers = min(parameters.most_offers, int(parameters.work / float(instance.sizes[n:].sum())) + 1)
    for _ in range(parameters.repeats):
        if deadline.passed:
            break
        H = values_at_nodes(instance, omega, gamma)
        # 1. Every labeled row chooses the node that is cheapest at present.
        above, errors = last_level_errors(instance, H)
        chosen = errors.argmin(axis=0) if n else np.empty(0, dtype=int)
        # 2. List the offers of every node. They are measured along its normal, not from H: rounding would close gaps
        #    that are exactly 2 wide.
        along = omega[nodes] @ instance.XT
        menus: list[Offers] = []
        for k, b in enumerate(nodes):
            if deadline.passed:
                return omega, gamma
            choosers, reached = np.flatnonzero(chosen == k), reaches(H[:, n:] > 0, b + 1)
            menu = _offers(instance, along[k], gamma[b], choosers, reached)
            base = float(instance.sizes[choosers] @ above[k, choosers])
            menus.append(_cheapest(menu._replace(prices=menu.prices + base), most_offers))
        # 3. If the present tree keeps its margins, drop offers that cost more even with the cheapest ones elsewhere.
        keeps_margins = (np.abs(H[nodes, n:]) >= 1 - _NEGLIGIBLE).all()
        cost = tree_cost(instance, H) if keeps_margins else np.inf
        least = sum(float(menu.prices.min()) for menu in menus)
        menus = [menu.take(menu.prices <= cost - least + float(menu.prices.min()) + _NEGLIGIBLE) for menu in menus]
        if not all(len(menu.prices) for menu in menus):
            return omega, gamma
        # 4. Combine one offer of each node. The cost can still exceed the sum that was minimised by a rounding error.
        picks = _cheapest_combination(menus, float(instance.totals[0]), instance.row_off, deadline)
        if picks is None:
            return omega, gamma
        new_omega, new_gamma = omega.copy(), gamma.copy()
        for b, menu, pick in zip(nodes, menus, picks, strict=True):
            new_omega[b], new_gamma[b] = menu.signs[pick] * omega[b], menu.offsets[pick]
        if tree_cost(instance, values_at_nodes(instance, new_omega, new_gamma)) >= cost - _NEGLIGIBLE:
            return omega, gamma
        omega, gamma = new_omega, new_gamma
    return omega, gamma


def last_level_errors(instance: Instance, H: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Errors of the labeled rows on the paths to the last-level nodes, and if they end below these, shape (nodes, n).

    ``H`` are the `values_at_nodes`.
    """
    n, topology = instance.n_labeled, instance.topology
    above = np.zeros((len(topology.last_level), n))
    for k, node in enumerate(topology.last_level):
        while node > 1:
            h = H[node // 2 - 1, :n]
            above[k] += np.maximum(1 - h if node % 2 else 1 + h, 0)
            node //= 2
    toward = np.where(instance.labels == 1, -1.0, 1.0)
    return above, above + np.maximum(1 + toward * H[np.asarray(topology.last_level) - 1, :n], 0)


def _offers(instance: Instance, along: FloatArray, present: float, choosers: IntArray, reached: BoolArray) -> Offers:
    """The offers of all gaps in both directions; ``along`` is omega . x of all rows."""
    n = instance.n_labeled
    sizes = np.where(reached, instance.sizes[n:], 0.0)
    saved = sizes * (instance.charges[:, 0] - instance.charges[:, 1])
    both = []
    for sign in (1.0, -1.0):
        values = sign * along
        order = np.argsort(values[n:], kind="stable")
        line = values[n:][order]
        to_left = np.cumsum(np.append(0.0, sizes[order]))
        guide = float(sizes @ instance.charges[:, 1]) + np.cumsum(np.append(0.0, saved[order]))
        low, high = np.append(-np.inf, line + 1), np.append(line - 1, np.inf)
        gaps = np.flatnonzero(low <= high)
        offsets, errors = _best_in_gaps(
            low[gaps],
            high[gaps],
            sign * present,
            values[choosers],
            instance.labels[choosers],
            instance.sizes[choosers],
        )
        counts = np.round(to_left[gaps]).astype(np.int64)
        both.append((counts, errors + guide[gaps], np.full(len(gaps), sign), offsets))
    return Offers(*(np.concatenate(parts) for parts in zip(*both, strict=True)))


def _cheapest(offers: Offers, most: int) -> Offers:
    """Keep the cheapest offer of every count, and at most the ``most`` cheapest of these."""
    order = np.lexsort((offers.prices, offers.counts))
    first = order[np.append(True, np.diff(offers.counts[order]) > 0)]
    return offers.take(first[np.argsort(offers.prices[first], kind="stable")[:most]])


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
    falls, rises = slopes < -_NEGLIGIBLE, slopes > _NEGLIGIBLE
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


def _cheapest_combination(menus: list[Offers], total: float, C: float, deadline: Deadline) -> list[int] | None:
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

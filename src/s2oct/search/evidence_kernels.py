"""Compiled node fits of the evidence model: few features a split, exact best offsets, totals minded.

While one node changes and the others stay, a row that reaches the node has one class on the left and one on the right.
`decided` tabulates what going left instead of right costs each such row. A hyperplane for the node is then a weighted
two-class problem. Its features are selected forward by the score test of a weighted logistic regression; its offset is
the best of all gaps between the rows, found in one pass over the sorted values (`best_cut`).

Rows are columns of ``XT`` (p, N), standardised. This is one module on purpose: numba's cache on disk notices a change
in a function's own file, not in the files of the functions that it calls.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numba as nb
import numpy as np

SCREENED = 48
"""Features that a node fit looks at more closely: those with the largest score statistics."""

NEWTON_STEPS = 3
RIDGE = 1e-3
LOGISTIC_ROWS = 2000
"""Most rows, about, of a logistic regression; of more rows every second, third, ... is taken."""

GAP = 1e-9
"""Values closer than this count as equal: no hyperplane passes between them."""

_WORTH = 1e-9
_FAR = 1e300


class Table(NamedTuple):
    """The rows."""

    XT: Any  # (p, N) standardised features by rows
    order: Any  # (p, N) rows in the order of each feature; (p, 0) where single features are not tried
    cost: Any  # (N, K) what each class costs each row
    size: Any  # (N,) how many rows of the totals a row stands for; 0 for labeled rows
    totals: Any  # (K,) known total of each class
    leaf_classes: Any  # (n_leaves,) class of each leaf from the left


class Splits(NamedTuple):
    """A tree that changes node by node."""

    omega: Any  # (n_branches, p)
    gamma: Any  # (n_branches,)
    right: Any  # (n_branches, N) on which side of each hyperplane each row lies


class Worth(NamedTuple):
    """By what a split is judged."""

    most: int  # features of a split
    term: float  # price of a feature in a split
    row_off: float  # price of a row by which the totals are missed
    class_prices: Any  # (K,) added to what a class costs an unlabeled row


class Effort(NamedTuple):
    """How hard a node fit tries."""

    fresh: bool  # whether other features than the present ones are tried
    tries: int  # random changes of a coefficient


class Found(NamedTuple):
    """The best split of a node so far."""

    numbers: Any  # (3,) cost, sign, offset
    size: Any  # (1,) number of features
    support: Any  # (most + 1,) features
    beta: Any  # (most + 2,) coefficients


class Choice(NamedTuple):
    """The rows that one node decides about."""

    rows: Any  # (n,)
    extra: Any  # (n,) by how much going left costs more than going right
    left: Any  # (n,) class on the left
    right: Any  # (n,) class on the right
    counts: Any  # (K,) rows of each class if all these rows go right


@nb.njit(cache=True)
def end_class(table, splits, node, i):
    """Class in which a row ends that starts at a node."""
    n_leaves = len(table.leaf_classes)
    while node < n_leaves:
        node = 2 * node + (1 if splits.right[node - 1, i] else 0)
    return table.leaf_classes[node - n_leaves]


@nb.njit(cache=True)
def classes_of(table, splits):
    """Class of every row."""
    n = table.XT.shape[1]
    found = np.empty(n, dtype=np.int64)
    for i in range(n):
        found[i] = end_class(table, splits, 1, i)
    return found


@nb.njit(cache=True)
def evidence_of(table, splits):
    """What all rows pay for their classes, and by how many rows the totals are missed."""
    counts = np.zeros(len(table.totals))
    paid = 0.0
    for i in range(table.XT.shape[1]):
        k = end_class(table, splits, 1, i)
        paid += table.cost[i, k]
        counts[k] += table.size[i]
    return paid, rows_off(counts, table.totals)


@nb.njit(cache=True)
def rows_off(counts, totals):
    """Rows that would have to change class to meet the totals."""
    off = 0.0
    for k in range(len(totals)):
        off += abs(counts[k] - totals[k])
    return 0.5 * off


@nb.njit(cache=True)
def decided(table, splits, worth, node):
    """The rows whose class depends on their side at a node."""
    n = table.XT.shape[1]
    n_classes = len(table.totals)
    rows = np.empty(n, dtype=np.int64)
    extra = np.empty(n)
    left = np.empty(n, dtype=np.int64)
    right = np.empty(n, dtype=np.int64)
    counts = np.zeros(n_classes)
    # The steps from the root to the node, as sides.
    depth = 0
    above = node
    while above > 1:
        above //= 2
        depth += 1
    found = 0
    for i in range(n):
        at = 1
        here = True
        for step in range(depth - 1, -1, -1):
            wanted = (node >> step) & 1
            if (1 if splits.right[at - 1, i] else 0) != wanted:
                here = False
                break
            at = 2 * at + wanted
        if not here:
            if table.size[i] > 0:
                counts[end_class(table, splits, 1, i)] += table.size[i]
            continue
        k_left, k_right = end_class(table, splits, 2 * node, i), end_class(table, splits, 2 * node + 1, i)
        counts[k_right] += table.size[i]
        if k_left != k_right:
            rows[found] = i
            left[found] = k_left
            right[found] = k_right
            extra[found] = (
                table.cost[i, k_left]
                - table.cost[i, k_right]
                + table.size[i] * (worth.class_prices[k_left] - worth.class_prices[k_right])
            )
            found += 1
    return Choice(rows[:found].copy(), extra[:found].copy(), left[:found].copy(), right[:found].copy(), counts)


@nb.njit(cache=True)
def all_left(table, choice):
    """Rows of each class if all rows of a choice go left."""
    counts = choice.counts.copy()
    for t in range(len(choice.rows)):
        size = table.size[choice.rows[t]]
        counts[choice.left[t]] += size
        counts[choice.right[t]] -= size
    return counts


@nb.njit(cache=True)
def best_cut(table, choice, values, order, row_off):
    """The best offset along a direction or its reverse, by one pass over the sorted values.

    Returns the cost beyond that of all rows going right without a price for totals, the sign of the direction, and the
    offset along it. Of equally good offsets, the one in the widest gap.
    """
    n = len(order)
    totals = table.totals
    forward = choice.counts.copy()
    backward = all_left(table, choice)
    everything = 0.0
    for t in range(n):
        everything += choice.extra[t]
    passed = 0.0
    best = _FAR
    sign = 1.0
    offset = 0.0
    width = 0.0
    for t in range(n - 1):
        i = order[t]
        size = table.size[choice.rows[i]]
        passed += choice.extra[i]
        if size > 0:
            forward[choice.left[i]] += size
            forward[choice.right[i]] -= size
            backward[choice.left[i]] -= size
            backward[choice.right[i]] += size
        gap = values[order[t + 1]] - values[i]
        if gap <= GAP:
            continue
        here = passed
        there = everything - passed
        if row_off > 0:
            here += row_off * rows_off(forward, totals)
            there += row_off * rows_off(backward, totals)
        if here < best - _WORTH or (here <= best + _WORTH and gap > width):
            best, sign, width = here, 1.0, gap
            offset = 0.5 * values[i] + 0.5 * values[order[t + 1]]
        if there < best - _WORTH or (there <= best + _WORTH and gap > width):
            best, sign, width = there, -1.0, gap
            offset = -(0.5 * values[i] + 0.5 * values[order[t + 1]])
    return best, sign, offset


@nb.njit(cache=True)
def projected(table, choice, support, beta, size):
    """Values of the chosen rows along a direction."""
    n = len(choice.rows)
    values = np.zeros(n)
    for a in range(size):
        j = support[a]
        slope = beta[a]
        for t in range(n):
            values[t] += slope * table.XT[j, choice.rows[t]]
    return values


@nb.njit(cache=True)
def solve_small(H, g, size):
    """Solve H x = g by elimination, in place; H is positive definite."""
    for a in range(size):
        pivot = H[a, a]
        for b in range(a + 1, size):
            factor = H[b, a] / pivot
            if factor != 0.0:
                for c in range(a, size):
                    H[b, c] -= factor * H[a, c]
                g[b] -= factor * g[a]
    for a in range(size - 1, -1, -1):
        for c in range(a + 1, size):
            g[a] -= H[a, c] * g[c]
        g[a] /= H[a, a]


@nb.njit(cache=True)
def newton(table, choice, support, beta, size, stride, steps, slopes):
    """Newton steps of a weighted logistic regression on a support; the last entry of beta is the intercept.

    The derivatives of the loss after the last step are left in ``slopes``: first and second, for every row.
    """
    n = len(choice.rows)
    H = np.empty((size + 1, size + 1))
    g = np.empty(size + 1)
    x = np.empty(size + 1)
    total = 0.0
    for t in range(0, n, stride):
        total += abs(choice.extra[t])
    for step in range(steps + 1):
        H[:] = 0.0
        g[:] = 0.0
        for a in range(size):
            H[a, a] = RIDGE * total
            g[a] = RIDGE * total * beta[a]
        H[size, size] = 1e-9 * total + 1e-300
        u = 0
        for t in range(0, n, stride):
            i = choice.rows[t]
            value = beta[size]
            for a in range(size):
                x[a] = table.XT[support[a], i]
                value += beta[a] * x[a]
            probability = 1.0 / (1.0 + math.exp(-value)) if value > -30 else 0.0
            importance = abs(choice.extra[t])
            slope = importance * (probability - (1.0 if choice.extra[t] > 0 else 0.0))
            bend = importance * max(probability * (1.0 - probability), 1e-3)
            slopes[0, u] = slope
            slopes[1, u] = bend
            u += 1
            if step == steps:
                continue
            x[size] = 1.0
            for a in range(size + 1):
                g[a] += slope * x[a]
                for b in range(a + 1):
                    H[a, b] += bend * x[a] * x[b]
        if step == steps:
            break
        for a in range(size + 1):
            for b in range(a):
                H[b, a] = H[a, b]
        solve_small(H, g, size + 1)
        for a in range(size + 1):
            beta[a] -= g[a]


@nb.njit(cache=True)
def score_statistics(table, choice, features, slopes, stride):
    """How much each feature would lower the loss of a logistic regression, to second order."""
    n = len(choice.rows)
    found = np.zeros(len(features))
    for f in range(len(features)):
        j = features[f]
        slope = 0.0
        first = 0.0
        second = 0.0
        weight = 0.0
        for u, t in enumerate(range(0, n, stride)):
            x = table.XT[j, choice.rows[t]]
            slope += slopes[0, u] * x
            first += slopes[1, u] * x
            second += slopes[1, u] * x * x
            weight += slopes[1, u]
        spread = second - first * first / max(weight, 1e-300)
        if spread > 1e-9 * max(weight, 1e-300):
            found[f] = slope * slope / spread
    return found


@nb.njit(cache=True)
def extended(table, choice, features, support, beta, size, banned, stride, slopes):
    """Add the feature with the largest score statistic to a fitted support and refit; returns whether there was one.

    ``beta`` has the intercept behind the coefficients; ``slopes`` are those of the fit, and then of the new one.
    """
    statistics = score_statistics(table, choice, features, slopes, stride)
    best = -1
    for f in range(len(features)):
        used = features[f] == banned
        for a in range(size):
            used = used or support[a] == features[f]
        if not used and statistics[f] > 0 and (best < 0 or statistics[f] > statistics[best]):
            best = f
    if best < 0:
        return False
    support[size] = features[best]
    beta[size + 1] = beta[size]
    beta[size] = 0.0
    newton(table, choice, support, beta, size + 1, stride, NEWTON_STEPS, slopes)
    return True


@nb.njit(cache=True)
def screened(table, choice, stride, allowed, slopes):
    """The features with the largest score statistics, best first."""
    beta = np.zeros(1)
    support = np.zeros(1, dtype=np.int64)
    newton(table, choice, support, beta, 0, stride, NEWTON_STEPS, slopes)
    statistics = score_statistics(table, choice, allowed, slopes, stride)
    order = np.argsort(-statistics)
    return allowed[order[: min(SCREENED, len(allowed))]]


@nb.njit(cache=True)
def random_unit(state):
    """A number in [0, 1) from a xorshift state of one 64-bit word."""
    word = state[0]
    word ^= word << np.uint64(13)
    word ^= word >> np.uint64(7)
    word ^= word << np.uint64(17)
    state[0] = word
    return (word >> np.uint64(11)) * (1.0 / 9007199254740992.0)


@nb.njit(cache=True)
def place(table, splits, node, direction, offset):
    """Give a node a hyperplane."""
    b = node - 1
    n = table.XT.shape[1]
    splits.omega[b, :] = direction
    splits.gamma[b] = offset
    values = np.zeros(n)
    for j in range(len(direction)):
        if direction[j] != 0.0:
            for i in range(n):
                values[i] += direction[j] * table.XT[j, i]
    for i in range(n):
        splits.right[b, i] = values[i] > offset


@nb.njit(cache=True)
def consider(table, choice, worth, support, beta, size, found):
    """Compare a direction at its best offset with the best split so far."""
    values = projected(table, choice, support, beta, size)
    cost, sign, offset = best_cut(table, choice, values, np.argsort(values), worth.row_off)
    keep(found, cost + worth.term * size, sign, offset, support, beta, size)


@nb.njit(cache=True)
def keep(found, cost, sign, offset, support, beta, size):
    """Keep a split if it is the best so far."""
    if cost < found.numbers[0] - _WORTH:
        found.numbers[0], found.numbers[1], found.numbers[2] = cost, sign, offset
        found.size[0] = size
        found.support[:size] = support[:size]
        found.beta[:size] = beta[:size]


@nb.njit(cache=True)
def consider_no_split(table, choice, worth, found):
    """All rows go right, or all go left."""
    empty = np.zeros(0, dtype=np.int64)
    to_right = worth.row_off * rows_off(choice.counts, table.totals)
    to_left = choice.extra.sum() + worth.row_off * rows_off(all_left(table, choice), table.totals)
    keep(found, to_right, 1.0, -1.0, empty, np.zeros(0), 0)
    keep(found, to_left, 1.0, 1.0, empty, np.zeros(0), 0)


@nb.njit(cache=True)
def consider_singles(table, choice, worth, features, found):
    """Single features at their exact best offsets; returns the best one, or -1."""
    n = len(choice.rows)
    position = np.full(table.XT.shape[1], -1, dtype=np.int64)
    for t in range(n):
        position[choice.rows[t]] = t
    order = np.empty(n, dtype=np.int64)
    values = np.empty(n)
    single = np.zeros(1, dtype=np.int64)
    best, least = -1, _FAR
    for j in features:
        u = 0
        for t in range(table.order.shape[1]):
            i = position[table.order[j, t]]
            if i >= 0:
                order[u] = i
                u += 1
        for t in range(n):
            values[t] = table.XT[j, choice.rows[t]]
        cost, sign, offset = best_cut(table, choice, values, order, worth.row_off)
        single[0] = j
        keep(found, cost + worth.term, sign, offset, single, np.ones(1), 1)
        if cost < least:
            best, least = j, cost
    return best


@nb.njit(cache=True)
def consider_selections(table, choice, worth, features, single, stride, found):
    """Forward selections from nothing, and from the best single feature."""
    support = np.zeros(worth.most + 1, dtype=np.int64)
    beta = np.zeros(worth.most + 2)
    slopes = np.empty((2, len(choice.rows)))
    for start in range(2):
        if start == 1 and (single < 0 or single == support[0]):
            break
        size = start
        beta[:] = 0.0
        if start == 1:
            support[0] = single
        newton(table, choice, support, beta, size, stride, NEWTON_STEPS, slopes)
        while size < worth.most:
            if not extended(table, choice, features, support, beta, size, -1, stride, slopes):
                break
            size += 1
            if size > 1 or single < 0:
                consider(table, choice, worth, support, beta, size, found)


@nb.njit(cache=True)
def consider_exchanges(table, choice, worth, features, stride, found):
    """The best split without one of its features, and with another one instead."""
    support = np.zeros(worth.most + 1, dtype=np.int64)
    beta = np.zeros(worth.most + 2)
    slopes = np.empty((2, len(choice.rows)))
    present, n_present = found.support.copy(), found.size[0]
    if n_present < 2:
        return
    for a in range(n_present):
        size = 0
        for c in range(n_present):
            if c != a:
                support[size] = present[c]
                size += 1
        beta[:] = 0.0
        newton(table, choice, support, beta, size, stride, NEWTON_STEPS, slopes)
        consider(table, choice, worth, support, beta, size, found)
        if extended(table, choice, features, support, beta, size, present[a], stride, slopes):
            consider(table, choice, worth, support, beta, size + 1, found)


@nb.njit(cache=True)
def consider_changes(table, choice, worth, allowed, tries, state, found):
    """Random changes of one coefficient of the best split, large and small; where there is room, of another feature."""
    support = np.zeros(worth.most + 1, dtype=np.int64)
    beta = np.zeros(worth.most + 2)
    for _ in range(tries):
        size = found.size[0]
        if size == 0:
            return
        support[:] = found.support
        beta[:] = found.beta
        largest = 0.0
        for a in range(size):
            largest = max(largest, abs(beta[a]))
        a = min(int(random_unit(state) * size), size - 1)
        if size < worth.most and random_unit(state) < 0.5:
            j = allowed[min(int(random_unit(state) * len(allowed)), len(allowed) - 1)]
            if not (support[:size] == j).any():
                support[size], beta[size] = j, 0.0
                a = size
                size += 1
        beta[a] += largest * (2.0 * random_unit(state) - 1.0) * 10.0 ** (-2.0 * random_unit(state))
        consider(table, choice, worth, support, beta, size, found)


@nb.njit(cache=True)
def present_split(table, splits, worth, choice, node):
    """What a node costs as it is, and its features."""
    counts = choice.counts.copy()
    cost = 0.0
    for t in range(len(choice.rows)):
        i = choice.rows[t]
        if not splits.right[node - 1, i]:
            cost += choice.extra[t]
            counts[choice.left[t]] += table.size[i]
            counts[choice.right[t]] -= table.size[i]
    used = np.flatnonzero(splits.omega[node - 1])
    return cost + worth.row_off * rows_off(counts, table.totals) + worth.term * len(used), used


@nb.njit(cache=True)
def refit(table, splits, worth, node, allowed, effort, state):
    """Give a node the best split found for the rows it decides about, if that is better; returns what it saves."""
    choice = decided(table, splits, worth, node)
    cost, used = present_split(table, splits, worth, choice, node)
    found = Found(
        np.array([_FAR, 1.0, 1.0]),
        np.zeros(1, dtype=np.int64),
        np.zeros(worth.most + 1, dtype=np.int64),
        np.zeros(worth.most + 2),
    )
    consider_no_split(table, choice, worth, found)
    n = len(choice.rows)
    if n > 1:
        if 0 < len(used) <= worth.most:
            consider(table, choice, worth, used, splits.omega[node - 1][used], len(used), found)
        if effort.fresh:
            stride = max(n // LOGISTIC_ROWS, 1)
            features = screened(table, choice, stride, allowed, np.empty((2, n)))
            single = -1
            if table.order.shape[1] > 0:
                single = consider_singles(table, choice, worth, features, found)
            consider_selections(table, choice, worth, features, single, stride, found)
            if effort.tries > 0:
                consider_exchanges(table, choice, worth, features, stride, found)
        consider_changes(table, choice, worth, allowed, effort.tries, state, found)
    if found.numbers[0] >= cost - _WORTH:
        return 0.0
    direction = np.zeros(table.XT.shape[0])
    for a in range(found.size[0]):
        direction[found.support[a]] = found.numbers[1] * found.beta[a]
    place(table, splits, node, direction, found.numbers[2])
    return cost - found.numbers[0]


@nb.njit(cache=True)
def sweep(table, splits, worth, allowed, effort, state):
    """Refit all nodes from the bottom up; returns what that saves."""
    saved = 0.0
    for node in range(len(splits.gamma), 0, -1):
        saved += refit(table, splits, worth, node, allowed, effort, state)
    return saved

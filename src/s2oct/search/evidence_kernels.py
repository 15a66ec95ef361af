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

import numpy as np

from s2oct.caching import kept

SCREENED = 48
"""Features that a node fit looks at more closely: those with the largest score statistics."""

NEWTON_STEPS = 3
RIDGE = 1e-3
LOGISTIC_ROWS = 2000
"""Most rows, about, of a logistic regression; of more rows every second, third, ... is taken."""

PAIRED = 4
"""Classes of which pairs are tried in the leaves below a node: those of most rows."""

GAP = 1e-9
"""Values closer than this count as equal: no hyperplane passes between them."""

_WORTH = 1e-9
_FAR = 1e300

compiled = kept(error_model="numpy")
"""Compiles what this module does. No division here is by 0, so none need be checked."""


class Table(NamedTuple):
    """The rows."""

    XT: Any  # (p, N) standardised features by rows
    order: Any  # (p, N) rows in the order of each feature; (p, 0) where single features are not tried
    cost: Any  # (N, K) what each class costs each row
    size: Any  # (N,) what a row counts towards the totals; 0 for labeled rows
    first: Any  # (n_margins, N) cell of class 0 in the domain of each row; the other classes follow it
    bounds: Any  # (2, n_cells) least and most rows of each cell


class Splits(NamedTuple):
    """A tree that changes node by node."""

    omega: Any  # (n_branches, p)
    gamma: Any  # (n_branches,)
    right: Any  # (n_branches, N) on which side of each hyperplane each row lies
    leaf_classes: Any  # (n_leaves,) class of each leaf from the left


class Worth(NamedTuple):
    """By what a split is judged."""

    most: int  # features of a split
    term: float  # price of a feature in a split
    row_off: float  # price of a row by which the totals are missed
    cell_prices: Any  # (n_cells,) added to what the class of a cell costs an unlabeled row of its domain


class Effort(NamedTuple):
    """How hard a node fit tries."""

    fresh: bool  # whether other features than the present ones are tried
    tries: int  # random changes of a coefficient


class Fit(NamedTuple):
    """A direction on few features, as a logistic regression fits it."""

    size: Any  # (2,) number of features; a feature that must not be added, or -1
    support: Any  # (most + 1,) features
    beta: Any  # (most + 2,) coefficients, then the intercept
    slopes: Any  # (2, n) first and second derivatives of the loss at every row that was looked at
    stride: Any  # (1,) every so many rows are looked at


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
    counts: Any  # (n_cells,) rows of each cell if all these rows go right


@compiled
def end_class(table, splits, start, i):
    """Class in which a row ends that starts at a node."""
    n_leaves = len(splits.leaf_classes)
    node = np.int64(start)
    while node < n_leaves:
        node = 2 * node + (1 if splits.right[node - 1, i] else 0)
    return splits.leaf_classes[node - n_leaves]


@compiled
def classes_of(table, splits):
    """Class of every row."""
    n = table.XT.shape[1]
    found = np.empty(n, dtype=np.int64)
    for i in range(n):
        found[i] = end_class(table, splits, 1, i)
    return found


@compiled
def evidence_of(table, splits):
    """What all rows pay for their classes, and by how many rows the totals are missed."""
    counts = np.zeros(table.bounds.shape[1])
    paid = 0.0
    for i in range(table.XT.shape[1]):
        k = end_class(table, splits, 1, i)
        paid += table.cost[i, k]
        add_row(table, counts, i, k)
    return paid, rows_to_move(table, counts)


@compiled
def add_row(table, counts, i, k):
    """Count a row in a class, in all its domains."""
    for g in range(table.first.shape[0]):
        counts[table.first[g, i] + k] += table.size[i]


@compiled
def off_domain(table, counts, begin):
    """Rows of a domain that would have to change class to be within the bounds; its cells begin there."""
    over, under = 0.0, 0.0
    for c in range(begin, begin + table.cost.shape[1]):
        over += max(counts[c] - table.bounds[1, c], 0.0)
        under += max(table.bounds[0, c] - counts[c], 0.0)
    return max(over, under)


@compiled
def rows_to_move(table, counts):
    """Rows that would have to change class to meet the totals."""
    off = 0.0
    for begin in range(0, len(counts), table.cost.shape[1]):
        off += off_domain(table, counts, begin)
    return off


@compiled
def give_class(table, counts, i, old, new):
    """Give a row another class in the counts; returns by how much the rows off change, with several domains."""
    change = 0.0
    several = len(counts) > table.cost.shape[1]
    for g in range(table.first.shape[0]):
        begin = table.first[g, i]
        if several:
            change -= off_domain(table, counts, begin)
        counts[begin + old] -= table.size[i]
        counts[begin + new] += table.size[i]
        if several:
            change += off_domain(table, counts, begin)
    return change


@compiled
def decided(table, splits, worth, node):
    """The rows whose class depends on their side at a node."""
    n = table.XT.shape[1]
    rows = np.empty(n, dtype=np.int64)
    extra = np.empty(n)
    left = np.empty(n, dtype=np.int64)
    right = np.empty(n, dtype=np.int64)
    counts = np.zeros(table.bounds.shape[1])
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
                add_row(table, counts, i, end_class(table, splits, 1, i))
            continue
        k_left, k_right = end_class(table, splits, 2 * node, i), end_class(table, splits, 2 * node + 1, i)
        add_row(table, counts, i, k_right)
        if k_left != k_right:
            rows[found] = i
            left[found] = k_left
            right[found] = k_right
            extra[found] = (
                table.cost[i, k_left]
                - table.cost[i, k_right]
                + table.size[i] * (added_price(table, worth, i, k_left) - added_price(table, worth, i, k_right))
            )
            found += 1
    return Choice(rows[:found].copy(), extra[:found].copy(), left[:found].copy(), right[:found].copy(), counts)


@compiled
def added_price(table, worth, i, k):
    """What the prices of the cells add to what a class costs a row."""
    price = 0.0
    for g in range(table.first.shape[0]):
        price += worth.cell_prices[table.first[g, i] + k]
    return price


@compiled
def all_left(table, choice):
    """Rows of each cell if all rows of a choice go left."""
    counts = choice.counts.copy()
    several = len(counts) > table.cost.shape[1]
    for t in range(len(choice.rows)):
        if several:
            give_class(table, counts, choice.rows[t], choice.right[t], choice.left[t])
        else:
            size = table.size[choice.rows[t]]
            counts[choice.left[t]] += size
            counts[choice.right[t]] -= size
    return counts


@compiled
def best_cut(table, choice, values, order, row_off):
    """The best offset along a direction or its reverse, by one pass over the sorted values.

    Returns the cost beyond that of all rows going right without a price for totals, the sign of the direction, and the
    offset along it. Of equally good offsets, the one in the widest gap.
    """
    n = len(order)
    forward = choice.counts.copy()
    backward = all_left(table, choice)
    several = len(forward) > table.cost.shape[1]
    off_forward, off_backward = rows_to_move(table, forward), rows_to_move(table, backward)
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
        if size > 0 and several:
            off_forward += give_class(table, forward, choice.rows[i], choice.right[i], choice.left[i])
            off_backward += give_class(table, backward, choice.rows[i], choice.left[i], choice.right[i])
        elif size > 0:
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
            if not several:
                # One domain has few cells: it is quicker to look at all of them where rows differ than at every row.
                off_forward, off_backward = rows_to_move(table, forward), rows_to_move(table, backward)
            here += row_off * off_forward
            there += row_off * off_backward
        if here < best - _WORTH or (here <= best + _WORTH and gap > width):
            best, sign, width = here, 1.0, gap
            offset = 0.5 * values[i] + 0.5 * values[order[t + 1]]
        if there < best - _WORTH or (there <= best + _WORTH and gap > width):
            best, sign, width = there, -1.0, gap
            offset = -(0.5 * values[i] + 0.5 * values[order[t + 1]])
    return best, sign, offset


@compiled
def new_fit(choice, most):
    """A direction on no features."""
    n = len(choice.rows)
    return Fit(
        np.array([0, -1]),
        np.zeros(most + 1, dtype=np.int64),
        np.zeros(most + 2),
        np.empty((2, n)),
        np.array([max(n // LOGISTIC_ROWS, 1)]),
    )


@compiled
def forget(fit):
    """Set all coefficients to 0."""
    for a in range(len(fit.beta)):
        fit.beta[a] = 0.0


@compiled
def in_order(values):
    """Positions of the values, the least first."""
    return np.argsort(values)


@compiled
def projected(table, choice, fit):
    """Values of the chosen rows along a direction."""
    n = len(choice.rows)
    values = np.zeros(n)
    for a in range(fit.size[0]):
        j = fit.support[a]
        slope = fit.beta[a]
        for t in range(n):
            values[t] += slope * table.XT[j, choice.rows[t]]
    return values


@compiled
def solve_positive(H, g):
    """Solve H x = g by elimination, in place; H is positive definite."""
    size = len(g)
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


@compiled
def newton(table, choice, fit):
    """Newton steps of a weighted logistic regression on the support of a fit.

    A row that should go right is a 1, and counts as much as the other side would cost it.
    """
    n, size, stride = len(choice.rows), fit.size[0], fit.stride[0]
    beta, slopes = fit.beta, fit.slopes
    H = np.empty((size + 1, size + 1))
    g = np.empty(size + 1)
    x = np.ones(size + 1)
    total = 0.0
    for t in range(0, n, stride):
        total += abs(choice.extra[t])
    for step in range(NEWTON_STEPS + 1):
        for a in range(size):
            for b in range(size + 1):
                H[a, b] = 0.0
                H[b, a] = 0.0
            H[a, a] = RIDGE * total
            g[a] = RIDGE * total * beta[a]
        g[size] = 0.0
        H[size, size] = 1e-9 * total + 1e-300
        for u, t in enumerate(range(0, n, stride)):
            i = choice.rows[t]
            value = beta[size]
            for a in range(size):
                x[a] = table.XT[fit.support[a], i]
                value += beta[a] * x[a]
            probability = 1.0 / (1.0 + math.exp(-value)) if value > -30 else 0.0
            importance = abs(choice.extra[t])
            slope = importance * (probability - (1.0 if choice.extra[t] > 0 else 0.0))
            bend = importance * max(probability * (1.0 - probability), 1e-3)
            slopes[0, u] = slope
            slopes[1, u] = bend
            for a in range(size + 1):
                g[a] += slope * x[a]
                for b in range(a + 1):
                    H[a, b] += bend * x[a] * x[b]
        if step == NEWTON_STEPS:
            return
        for a in range(size + 1):
            for b in range(a):
                H[b, a] = H[a, b]
        solve_positive(H, g)
        for a in range(size + 1):
            beta[a] -= g[a]


@compiled
def score_statistics(table, choice, features, fit):
    """How much each feature would lower the loss of a logistic regression, to second order."""
    n, stride, slopes = len(choice.rows), fit.stride[0], fit.slopes
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


@compiled
def extended(table, choice, features, fit):
    """Add the feature with the largest score statistic to a fit and refit; returns whether there was one."""
    size = fit.size[0]
    statistics = score_statistics(table, choice, features, fit)
    best = -1
    for f in range(len(features)):
        used = features[f] == fit.size[1]
        for a in range(size):
            used = used or fit.support[a] == features[f]
        if not used and statistics[f] > 0 and (best < 0 or statistics[f] > statistics[best]):
            best = f
    if best < 0:
        return False
    fit.support[size] = features[best]
    fit.beta[size + 1] = fit.beta[size]
    fit.beta[size] = 0.0
    fit.size[0] = size + 1
    newton(table, choice, fit)
    return True


@compiled
def screened(table, choice, allowed):
    """The features with the largest score statistics, best first."""
    fit = new_fit(choice, 1)
    newton(table, choice, fit)
    order = in_order(-score_statistics(table, choice, allowed, fit))
    best = np.empty(min(SCREENED, len(allowed)), dtype=np.int64)
    for f in range(len(best)):
        best[f] = allowed[order[f]]
    return best


@compiled
def next_unit(state):
    """A number in [0, 1) from a xorshift state of one 64-bit word."""
    word = state[0]
    word ^= word << np.uint64(13)
    word ^= word >> np.uint64(7)
    word ^= word << np.uint64(17)
    state[0] = word
    return (word >> np.uint64(11)) * (1.0 / 9007199254740992.0)


@compiled
def set_hyperplane(table, splits, node, direction, offset):
    """Give a node a hyperplane."""
    b = node - 1
    n = table.XT.shape[1]
    splits.gamma[b] = offset
    values = np.zeros(n)
    for j in range(len(direction)):
        splits.omega[b, j] = direction[j]
        if direction[j] != 0.0:
            for i in range(n):
                values[i] += direction[j] * table.XT[j, i]
    for i in range(n):
        splits.right[b, i] = values[i] > offset


@compiled
def consider(table, choice, worth, fit, found):
    """Compare a direction at its best offset with the best split so far."""
    values = projected(table, choice, fit)
    cost, sign, offset = best_cut(table, choice, values, in_order(values), worth.row_off)
    keep(found, cost + worth.term * fit.size[0], sign, offset, fit)


@compiled
def keep(found, cost, sign, offset, fit):
    """Keep a split if it is the best so far."""
    if cost < found.numbers[0] - _WORTH:
        found.numbers[0], found.numbers[1], found.numbers[2] = cost, sign, offset
        found.size[0] = fit.size[0]
        # Loops, because numba takes seconds to compile an assignment to a slice.
        for a in range(fit.size[0]):
            found.support[a] = fit.support[a]
            found.beta[a] = fit.beta[a]


@compiled
def restart(fit, found):
    """Let a fit continue from the best split so far."""
    fit.size[0] = found.size[0]
    for a in range(found.size[0]):
        fit.support[a] = found.support[a]
        fit.beta[a] = found.beta[a]


@compiled
def consider_no_split(table, choice, worth, fit, found):
    """All rows go right, or all go left."""
    fit.size[0] = 0
    to_right = worth.row_off * rows_to_move(table, choice.counts)
    to_left = worth.row_off * rows_to_move(table, all_left(table, choice))
    for t in range(len(choice.rows)):
        to_left += choice.extra[t]
    keep(found, to_right, 1.0, -1.0, fit)
    keep(found, to_left, 1.0, 1.0, fit)


@compiled
def consider_singles(table, choice, worth, features, fit, found):
    """Single features at their exact best offsets; returns the best one, or -1."""
    n = len(choice.rows)
    position = np.full(table.XT.shape[1], -1, dtype=np.int64)
    for t in range(n):
        position[choice.rows[t]] = t
    order = np.empty(n, dtype=np.int64)
    values = np.empty(n)
    best, least = -1, _FAR
    fit.size[0] = 1
    fit.beta[0] = 1.0
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
        fit.support[0] = j
        keep(found, cost + worth.term, sign, offset, fit)
        if cost < least:
            best, least = j, cost
    return best


@compiled
def consider_selections(table, choice, worth, features, single, fit, found):
    """Forward selections from nothing, and from the best single feature."""
    for start in range(2):
        if start == 1 and (single < 0 or single == fit.support[0]):
            break
        fit.size[0] = start
        fit.size[1] = -1
        forget(fit)
        if start == 1:
            fit.support[0] = single
        newton(table, choice, fit)
        while fit.size[0] < worth.most and extended(table, choice, features, fit):
            if fit.size[0] > 1 or single < 0:
                consider(table, choice, worth, fit, found)


@compiled
def consider_exchanges(table, choice, worth, features, fit, found):
    """The best split without one of its features, and with another one instead."""
    present, n_present = found.support.copy(), found.size[0]
    if n_present < 2:
        return
    for a in range(n_present):
        size = 0
        for c in range(n_present):
            if c != a:
                fit.support[size] = present[c]
                size += 1
        fit.size[0] = size
        fit.size[1] = present[a]
        forget(fit)
        newton(table, choice, fit)
        consider(table, choice, worth, fit, found)
        if extended(table, choice, features, fit):
            consider(table, choice, worth, fit, found)


@compiled
def consider_changes(table, choice, worth, allowed, tries, fit, found, state):
    """Random changes of one coefficient of the best split, large and small; where there is room, of another feature."""
    for _ in range(tries):
        restart(fit, found)
        size = fit.size[0]
        if size == 0:
            return
        largest = 0.0
        for a in range(size):
            largest = max(largest, abs(fit.beta[a]))
        a = min(int(next_unit(state) * size), size - 1)
        if size < worth.most and next_unit(state) < 0.5:
            j = allowed[min(int(next_unit(state) * len(allowed)), len(allowed) - 1)]
            known = False
            for c in range(size):
                known = known or fit.support[c] == j
            if not known:
                a = size
                fit.support[a], fit.beta[a] = j, 0.0
                fit.size[0] = size + 1
        fit.beta[a] += largest * (2.0 * next_unit(state) - 1.0) * 10.0 ** (-2.0 * next_unit(state))
        consider(table, choice, worth, fit, found)


@compiled
def present_split(table, splits, worth, choice, node):
    """What a node costs as it is, and how many features it has."""
    counts = choice.counts.copy()
    cost = 0.0
    for t in range(len(choice.rows)):
        i = choice.rows[t]
        if not splits.right[node - 1, i]:
            cost += choice.extra[t]
            give_class(table, counts, i, choice.right[t], choice.left[t])
    size = 0
    for j in range(table.XT.shape[0]):
        size += splits.omega[node - 1, j] != 0.0
    return cost + worth.row_off * rows_to_move(table, counts) + worth.term * size, size


@compiled
def refit(table, splits, worth, node, allowed, effort, state):
    """Give a node the best split found for the rows it decides about, if that is better; returns what it saves.

    With more than two classes, a last-level node also gets the two classes below it with which that is best.
    """
    if table.cost.shape[1] > 2 and effort.fresh and 2 * node >= len(splits.leaf_classes):
        return refit_classes(table, splits, worth, node, allowed, effort, state)
    return refit_split(table, splits, worth, node, allowed, effort, state)


@compiled
def outer_leaves(splits, node):
    """The leftmost leaf on the left of a node and the rightmost one on its right, from the left of the tree."""
    n_leaves = len(splits.leaf_classes)
    left, right = 2 * node, 2 * node + 1
    while left < n_leaves:
        left = 2 * left
        right = 2 * right + 1
    return left - n_leaves, right - n_leaves


@compiled
def common_classes(table, splits, worth, node):
    """The classes that cost the rows at a node least, those of most rows first: at most `PAIRED` of them."""
    n_classes = table.cost.shape[1]
    weight = np.zeros(n_classes)
    for i in range(table.XT.shape[1]):
        if not reaches(splits, node, i):
            continue
        best, least, second = 0, _FAR, _FAR
        for k in range(n_classes):
            price = table.cost[i, k] + table.size[i] * added_price(table, worth, i, k)
            if price < least:
                best, least, second = k, price, least
            elif price < second:
                second = price
        weight[best] += second - least
    order = in_order(-weight)
    return order[: min(PAIRED, n_classes)].copy()


@compiled
def pair_floors(table, splits, worth, node, classes):
    """What all rows pay at least if those at a node end in one of two classes, for each pair of some classes."""
    size = len(classes)
    floors = np.zeros((size, size))
    elsewhere = 0.0
    price = np.empty(size)
    for i in range(table.XT.shape[1]):
        if not reaches(splits, node, i):
            k = end_class(table, splits, 1, i)
            elsewhere += table.cost[i, k] + table.size[i] * added_price(table, worth, i, k)
            continue
        for a in range(size):
            price[a] = table.cost[i, classes[a]] + table.size[i] * added_price(table, worth, i, classes[a])
        for a in range(size):
            for c in range(size):
                floors[a, c] += min(price[a], price[c])
    for a in range(size):
        for c in range(size):
            floors[a, c] += elsewhere
    return floors


@compiled
def reaches(splits, node, i):
    """Whether a row reaches a node."""
    while node > 1:
        above = node // 2
        if splits.right[above - 1, i] != (node % 2 == 1):
            return False
        node = above
    return True


@compiled
def cost_at(table, splits, worth, node):
    """What all rows pay, with the price of rows off and of the terms of one node."""
    counts = np.zeros(table.bounds.shape[1])
    cost = 0.0
    for i in range(table.XT.shape[1]):
        k = end_class(table, splits, 1, i)
        cost += table.cost[i, k] + table.size[i] * added_price(table, worth, i, k)
        add_row(table, counts, i, k)
    for j in range(table.XT.shape[0]):
        cost += worth.term if splits.omega[node - 1, j] != 0.0 else 0.0
    return cost + worth.row_off * rows_to_move(table, counts)


@compiled
def refit_classes(table, splits, worth, node, allowed, effort, state):
    """Refit a node with each pair of common classes in its outer leaves, and keep the best; returns what that saves."""
    b = node - 1
    first, last = outer_leaves(splits, node)
    before = cost_at(table, splits, worth, node)
    best = before - refit_split(table, splits, worth, node, allowed, effort, state)
    kept_classes = (splits.leaf_classes[first], splits.leaf_classes[last])
    omega, gamma, right = splits.omega[b].copy(), splits.gamma[b], splits.right[b].copy()
    started = kept_classes
    classes = common_classes(table, splits, worth, node)
    floors = pair_floors(table, splits, worth, node, classes)
    for a in range(len(classes)):
        for c in range(len(classes)):
            one, other = classes[a], classes[c]
            if one >= other or (one == min(started) and other == max(started)) or floors[a, c] >= best - _WORTH:
                continue
            splits.leaf_classes[first], splits.leaf_classes[last] = one, other
            refit_split(table, splits, worth, node, allowed, effort, state)
            cost = cost_at(table, splits, worth, node)
            if cost < best - _WORTH:
                best, kept_classes = cost, (one, other)
                gamma = splits.gamma[b]
                for j in range(len(omega)):
                    omega[j] = splits.omega[b, j]
                for i in range(len(right)):
                    right[i] = splits.right[b, i]
    splits.leaf_classes[first], splits.leaf_classes[last] = kept_classes
    splits.gamma[b] = gamma
    for j in range(len(omega)):
        splits.omega[b, j] = omega[j]
    for i in range(len(right)):
        splits.right[b, i] = right[i]
    return max(before - best, 0.0)


@compiled
def refit_split(table, splits, worth, node, allowed, effort, state):
    """Give a node the best split found for the rows it decides about, if that is better; returns what it saves."""
    choice = decided(table, splits, worth, node)
    cost, size = present_split(table, splits, worth, choice, node)
    fit = new_fit(choice, worth.most)
    found = Found(np.array([_FAR, 1.0, 1.0]), np.zeros(1, dtype=np.int64), fit.support.copy(), fit.beta.copy())
    consider_no_split(table, choice, worth, fit, found)
    if len(choice.rows) > 1:
        if 0 < size <= worth.most:
            fit.size[0] = 0
            for j in range(table.XT.shape[0]):
                if splits.omega[node - 1, j] != 0.0:
                    fit.support[fit.size[0]] = j
                    fit.beta[fit.size[0]] = splits.omega[node - 1, j]
                    fit.size[0] += 1
            consider(table, choice, worth, fit, found)
        if effort.fresh:
            features = screened(table, choice, allowed)
            single = -1
            if table.order.shape[1] > 0:
                single = consider_singles(table, choice, worth, features, fit, found)
            consider_selections(table, choice, worth, features, single, fit, found)
            if effort.tries > 0:
                consider_exchanges(table, choice, worth, features, fit, found)
        consider_changes(table, choice, worth, allowed, effort.tries, fit, found, state)
    if found.numbers[0] >= cost - _WORTH:
        return 0.0
    direction = np.zeros(table.XT.shape[0])
    for a in range(found.size[0]):
        direction[found.support[a]] = found.numbers[1] * found.beta[a]
    set_hyperplane(table, splits, node, direction, found.numbers[2])
    return cost - found.numbers[0]

"""Compiled moves on one hyperplane of OCT-H at a time, with exact evaluation.

Distances are in half gaps: h = (a . x - gamma) / (mu / 2 |a|_1), so that OCT-H asks for |h| >= 1 of every row that
reaches a node. While node b changes and the others stay, a row pays

    min(left + [1 + h]+, right + [1 - h]+, other, MOST)

where ``left`` and ``right`` are the best violations at all other nodes on the way to a leaf of its class through b, and
``other`` is the best violation on a way that avoids b. A row that is clear of every gap pays 0 in a leaf of its class
and MOST in any other. Rows in the gap of b pay for that, too, and so does every leaf with too few rows. Rows are
columns of ``XT`` (p, n).
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from s2oct.search.compiled.options import inlined, plain
from s2oct.search.compiled.random_numbers import random_below, random_unit
from s2oct.search.compiled.vectors import copy
from s2oct.search.compiled.walks import FAR, end_below

MOST = 2.0
"""What a row in a leaf of another class pays: a gap is two half gaps wide."""

CLEAR = 1.001
"""Where moves put rows: just outside the gap."""

TRIES = 8
"""Draws of a row that pays."""

RESTS = 1e-9


class OcthData(NamedTuple):
    """What does not change during a round."""

    XT: Any  # (p, n) features by rows
    labels: Any  # (n,) class of each row
    sizes: Any  # (n,) how many rows each row stands for
    leaf_classes: Any  # (n_leaves,) class of each leaf from the left
    depth: int
    min_leaf: float
    half_gap: float  # mu / 2


class OcthPlanes(NamedTuple):
    """The hyperplanes of a tree, with the distances of all rows in half gaps."""

    omega: Any  # (n_branches, p)
    gamma: Any  # (n_branches,)
    H: Any  # (n_branches, n)


class OcthView(NamedTuple):
    """What each side of one node means, for the first so many rows to which it means anything."""

    row: Any  # (n,) which row
    left: Any  # (n,) least violation elsewhere on the left
    right: Any  # (n,) the same on the right
    other: Any  # (n,) least violation where the row avoids the node
    leaf_left: Any  # (n,) the leaf in which it ends if it goes left; -1 if it does not reach the node
    leaf_right: Any  # (n,)
    counts: Any  # (n_leaves,) rows of each leaf


class OcthRoom(NamedTuple):
    """Arrays in which the kernels work."""

    seen: OcthView
    best: Any  # (2 n_leaves,) least violation below each node


def new_octh_room(n: int, n_leaves: int) -> OcthRoom:
    """Room for so many rows and leaves."""
    row, leaf_left, leaf_right = np.empty((3, n), dtype=np.int64)
    left, right, other = np.empty((3, n))
    seen = OcthView(row, left, right, other, leaf_left, leaf_right, np.empty(n_leaves))
    return OcthRoom(seen, np.empty(2 * n_leaves))


class OcthCourse(NamedTuple):
    """A stretch of an annealing: which visits of how many, and the prices."""

    visit_from: int
    visit_to: int
    n_visits: int
    moves_per_visit: int
    hot: float
    cold: float
    in_gap: float  # price of a row in the middle of a gap
    too_few: float  # price of a row that a leaf has too few


@inlined
def half_width(data, omega_b):
    """Half the width of the gap in the units of a . x: mu / 2 |a|_1."""
    norm = 0.0
    for coefficient in omega_b:
        norm += abs(coefficient)
    return data.half_gap * norm


@plain
def measure_rows(data, planes, b):
    """Recompute h of every row at node b, so that rounding errors do not add up. Without a normal all go right."""
    h, n = planes.H[b], data.XT.shape[1]
    tau = half_width(data, planes.omega[b])
    if tau == 0.0:
        for i in range(n):
            h[i] = FAR
        return
    for i in range(n):
        h[i] = -planes.gamma[b] / tau
    for j in range(data.XT.shape[0]):
        coefficient = planes.omega[b, j] / tau
        if coefficient != 0.0:
            x = data.XT[j]
            for i in range(n):
                h[i] += coefficient * x[i]


@plain
def look_at_rows(data, H, b, view, best):
    """Tabulate what each side of node b means, into ``view``; returns for how many rows it means anything, and what the
    others pay. ``best`` has room for all nodes and leaves.
    """
    n_leaves = data.leaf_classes.size
    node = b + 1
    n_seen, paid = 0, 0.0
    for i in range(data.labels.size):
        for t in range(n_leaves):
            best[n_leaves + t] = 0.0 if data.leaf_classes[t] == data.labels[i] else MOST
        for at in range(n_leaves - 1, 0, -1):
            h = H[at - 1, i]
            best[at] = min(best[2 * at] + max(1.0 + h, 0.0), best[2 * at + 1] + max(1.0 - h, 0.0))
        above, other, reaches, at = 0.0, MOST, True, node
        while at > 1:
            up, goes_right = at >> 1, at & 1 == 1
            h = H[up - 1, i] if goes_right else -H[up - 1, i]
            reaches = reaches and (H[up - 1, i] > 0.0) == goes_right
            # What was found further down pays for this node, too.
            other = min(other + max(1.0 - h, 0.0), best[at ^ 1] + max(1.0 + h, 0.0))
            above += max(1.0 - h, 0.0)
            at = up
        left, right, other = best[2 * node] + above, best[2 * node + 1] + above, min(other, MOST)
        if not reaches and min(left, right) >= other:
            paid += data.sizes[i] * other
            continue
        view.row[n_seen], view.left[n_seen], view.right[n_seen], view.other[n_seen] = i, left, right, other
        view.leaf_left[n_seen] = end_below(H, i, 2 * node, n_leaves) if reaches else -1
        view.leaf_right[n_seen] = end_below(H, i, 2 * node + 1, n_leaves) if reaches else -1
        n_seen += 1
    return n_seen, paid


@plain
def unseen_cost(data, H, b, prices, counts):
    """What rows in gaps and small leaves cost apart from node b; ``counts`` has room for the rows of each leaf."""
    n_leaves = data.leaf_classes.size
    in_gap, too_few = prices
    cost = 0.0
    for t in range(n_leaves):
        counts[t] = 0.0
    for i in range(data.labels.size):
        at, passed = 1, False
        while at < n_leaves:
            h = H[at - 1, i]
            if at == b + 1:
                passed = True
            else:
                cost += data.sizes[i] * in_gap * max(1.0 - abs(h), 0.0)
            at = 2 * at + (1 if h > 0.0 else 0)
        if not passed:
            counts[at - n_leaves] += data.sizes[i]
    return cost + small_leaves(counts, data.min_leaf, too_few)


@inlined
def small_leaves(counts, min_leaf, price):
    """What leaves with too few rows cost: they can be filled or emptied."""
    cost = 0.0
    for t in range(counts.size):
        if 0.0 < counts[t] < min_leaf:
            cost += price * min(counts[t], min_leaf - counts[t])
    return cost


@plain
def seen_cost(data, view, n_seen, h, x, change, prices, enough):
    """What the rows in view pay with h replaced by scale h + step x - shift; or more than ``enough``, if they do."""
    scale, step, shift = change
    in_gap, too_few = prices
    counts = view.counts
    for t in range(counts.size):
        counts[t] = 0.0
    cost = 0.0
    for r in range(n_seen):
        i = view.row[r]
        v = scale * h[i] + step * x[i] - shift
        pays = min(view.left[r] + max(1.0 + v, 0.0), view.right[r] + max(1.0 - v, 0.0))
        pays = min(pays, view.other[r])
        if view.leaf_left[r] >= 0:
            counts[view.leaf_right[r] if v > 0.0 else view.leaf_left[r]] += data.sizes[i]
            pays += in_gap * max(1.0 - abs(v), 0.0)
        cost += data.sizes[i] * pays
        if cost > enough:
            return cost
    return cost + small_leaves(counts, data.min_leaf, too_few)


@plain
def anneal_octh(data, planes, best_planes, best_cost, random_state, course, room):
    """Anneal for some visits, each of some moves at one node; returns the least cost so far, whose planes are kept."""
    n_branches, (view, best) = planes.gamma.size, room
    prices = (course.in_gap, course.too_few)
    for visit in range(course.visit_from, course.visit_to):
        heat = course.hot * (course.cold / course.hot) ** (visit / max(course.n_visits - 1, 1))
        b = random_below(random_state, n_branches)
        measure_rows(data, planes, b)
        n_seen, unseen = look_at_rows(data, planes.H, b, view, best)
        if n_seen == 0:
            continue
        unseen += unseen_cost(data, planes.H, b, prices, view.counts)
        cost = seen_cost(data, view, n_seen, planes.H[b], data.XT[0], (1.0, 0.0, 0.0), prices, FAR)
        for _ in range(course.moves_per_visit):
            cost = try_move(data, planes, b, view, n_seen, cost, (prices, heat), random_state)
            if cost + unseen < best_cost - RESTS:
                best_cost = cost + unseen
                copy(planes.gamma, best_planes.gamma)
                for k in range(n_branches):
                    copy(planes.omega[k], best_planes.omega[k])
                if best_cost <= RESTS:
                    return best_cost
    return best_cost


@plain
def try_move(data, planes, b, view, n_seen, cost, terms, random_state):
    """Draw a move of node b and accept it or not; returns what the rows in view pay after it."""
    prices, heat = terms
    omega, h = planes.omega[b], planes.H[b]
    tau = half_width(data, omega)
    j, step, shift = draw_move(data, omega, h, tau, view, n_seen, random_state)
    new_tau = tau + data.half_gap * (abs(omega[j] + step) - abs(omega[j]))
    # A normal that nearly vanishes is left with rounding errors.
    if new_tau <= 0.01 * tau:
        return cost
    change = (tau / new_tau, step / new_tau, shift / new_tau)
    enough = cost - heat * math.log(max(random_unit(random_state), 1e-300))
    x = data.XT[j]
    after = seen_cost(data, view, n_seen, h, x, change, prices, enough)
    if after > enough:
        return cost
    omega[j] += step
    planes.gamma[b] += shift
    for i in range(h.size):
        h[i] = change[0] * h[i] + change[1] * x[i] - change[2]
    return after


@inlined
def draw_move(data, omega, h, tau, view, n_seen, random_state):
    """A feature, by how much its coefficient changes, and by how much the offset does.

    Most moves bring one row, preferably one that pays, just out of the gap on some side: by the offset, or by a
    coefficient that turns the hyperplane about another row.
    """
    j = random_below(random_state, data.XT.shape[0])
    x = data.XT[j]
    i, k = paying_row(view, n_seen, h, random_state), view.row[random_below(random_state, n_seen)]
    kind, sign = random_unit(random_state), 1.0 if random_unit(random_state) < 0.5 else -1.0
    goal = sign * CLEAR * (1.0 + 3.0 * random_unit(random_state) ** 4)
    if tau == 0.0:
        return j, sign if x[i] != x[k] else 0.0, sign * 0.5 * (x[i] + x[k])
    if kind < 0.25:
        return j, 0.0, (h[i] - goal) * tau
    if kind < 0.6:
        step = (goal - h[i]) * tau / (x[i] - x[k]) if x[i] != x[k] else 0.0
    elif kind < 0.95:
        step = sign * tau / data.half_gap * 10.0 ** (-3.0 * random_unit(random_state))
    else:
        step = -omega[j]
    return j, step, step * x[k]


@inlined
def paying_row(view, n_seen, h, random_state):
    """A random row in view; one that pays, if some draws find one."""
    i = 0
    for _ in range(TRIES):
        r = random_below(random_state, n_seen)
        i = view.row[r]
        if min(view.left[r] + max(1.0 + h[i], 0.0), view.right[r] + max(1.0 - h[i], 0.0), view.other[r]) > 0.0:
            break
    return i

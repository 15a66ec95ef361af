"""Compiled moves on one hyperplane at a time, with exact evaluation.

While one node b changes and the others stay, a labeled row's cost depends on its value h at b alone,

    min(left + [1 + h]+, right + [1 - h]+, other),

where ``left`` and ``right`` are the best errors at all other nodes of a path through b on that side, and ``other`` is
the best error of a path that avoids b. An unlabeled row that reaches b has one class on each side. `node_view`
tabulates this. A move is then evaluated in one pass over the rows, for any depth.

A move replaces h by scale * h + step * x_j - shift: a new coefficient, a new offset, both, or a longer normal.
Rows are columns of ``XT`` (p, N), labeled ones first, so that a feature's values lie side by side.

This is one long module on purpose: numba's cache on disk notices a change in a function's own file, not in the files
of the functions that it calls.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from s2oct.caching import kept

FAR = 1e30
"""Means "no such leaf", without infinities."""

N_BUCKETS = 10

NEAR_SHARE = 8
"""A move is evaluated from the near rows alone where fewer than one row in this many is near."""

SWAP_SHARE = 0.3
"""Share of moves that exchange a feature for another, where hyperplanes may use few."""

_BLOCK = 256

per_move = kept(_nrt=False)
"""Compiles what runs for every move. It allocates nothing, so numba need not count references to arrays, which
slows searches on few rows."""


class Space(NamedTuple):
    """Where hyperplanes live: the features of all rows, the n labeled ones first, and what coefficients may be."""

    XT: Any  # (p, n + m) features by rows
    quanta: Any  # (p,) steps that keep margins on gridded features; 0 elsewhere
    s: float  # bound on every coefficient
    most: int  # most features that a hyperplane may use; p if it may use all


class Counts(NamedTuple):
    """How rows are counted."""

    sizes: Any  # (n + m,) what each row counts; labeled ones in units of the search's cost
    first: Any  # (n_margins, m) cell of class 0 in the domain of each unlabeled row; the other classes follow it
    bounds: Any  # (2, n_cells) least and most rows of each cell
    n_classes: int


class Data(NamedTuple):
    """What does not change during a search.

    In parts, because compiled functions receive every field of every array by itself: a function that is called for
    every move takes only the part it needs.
    """

    space: Space
    counts: Counts
    spans: Any  # (2, p) least and largest value of every feature
    labels: Any  # (n,) class of each labeled row
    charges: Any  # (m, K) what the guide charges for the class of an unlabeled row
    row_off: float  # price of a row by which the totals are missed
    leaf_classes: Any  # (n_leaves,) class of each leaf from the left
    depth: int


class Planes(NamedTuple):
    """The hyperplanes of a tree."""

    omega: Any  # (n_branches, p)
    gamma: Any  # (n_branches,)


class Ways(NamedTuple):
    """What a labeled row pays elsewhere for each way it can take; see the module's first paragraph."""

    left: Any  # (n,) best error below the node on the left, the node itself aside
    right: Any  # (n,) the same on the right
    other: Any  # (n,) best error where it avoids the node


class NodeView(NamedTuple):
    """What each side of one node means for each row."""

    ways: Ways
    gain: Any  # (K - 1, m) by how much class k grows if an unlabeled row goes right instead of left
    ends: Any  # (2, m) its class on the left and on the right; only where there are several domains
    charge: Any  # (m,) by how much the guide's charge grows then
    base: Any  # (n_cells + 1,) rows of each cell, and the guide's charge, with all rows left of the node


class Prices(NamedTuple):
    """The prices by which a move is judged."""

    row_off: float  # a row by which the totals are missed
    margin: float  # a unit of margin violation
    cap: float  # most that one labeled row can cost


class Move(NamedTuple):
    """Replaces h by scale * h + step * x - shift."""

    x: Any  # (n + m,) values of a feature, or of a direction
    scale: float
    step: float
    shift: float


class Tally(NamedTuple):
    """The cost of a tree in parts: labeled cost, rows off, margin violation at the node in view, guide's charge."""

    parts: Any  # (4,)
    moved: Any  # (n_cells,) by how much the rows on the right make each cell grow


class Near(NamedTuple):
    """The rows that a small move can affect: the first so many of each kind."""

    labeled: Any  # (n,) rows
    n_labeled: int
    unlabeled: Any  # (m,)
    n_unlabeled: int


class Nearest(NamedTuple):
    """Rows by their distance from the hyperplane of the node in view, in buckets."""

    labeled: Any  # (n,) rows
    labeled_ends: Any  # (N_BUCKETS,) where each bucket ends
    unlabeled: Any  # (m,)
    unlabeled_ends: Any  # (N_BUCKETS,)


class Course(NamedTuple):
    """A stretch of an annealing: which visits of how many, and the prices during them."""

    visit_from: int
    visit_to: int
    n_visits: int
    moves_per_visit: int
    hot: float
    cold: float
    row_off: float
    margin_from: float
    margin_to: float
    cap: float
    on_grid: bool


@kept()
def random_unit(state):
    """A number in [0, 1) from a xorshift state of one 64-bit word."""
    x = state[0]
    x ^= x >> np.uint64(12)
    x ^= x << np.uint64(25)
    x ^= x >> np.uint64(27)
    state[0] = x
    return np.float64((x * np.uint64(2685821657736338717)) >> np.uint64(11)) / 9007199254740992.0


@kept()
def random_below(state, n):
    """A whole number below n."""
    return min(int(random_unit(state) * n), n - 1)


@kept()
def copy(source, target):
    """Copy a vector in a plain loop, which compiles several times faster than an array expression."""
    for i in range(source.size):
        target[i] = source[i]


@kept()
def total(values):
    """The sum of a vector."""
    result = 0.0
    for value in values:
        result += value
    return result


@kept()
def node_values(XT, planes, b, H):
    """Recompute h of every row at node b from its hyperplane, so that rounding errors do not add up."""
    p, n_rows = XT.shape
    h = H[b]
    for i in range(n_rows):
        h[i] = -planes.gamma[b]
    for j in range(p):
        coefficient = planes.omega[b, j]
        if coefficient != 0.0:
            x = XT[j]
            for i in range(n_rows):
                h[i] += coefficient * x[i]


@kept()
def new_view(data):
    """An empty view."""
    n, n_rows, n_classes, n_cells = (
        data.labels.size,
        data.space.XT.shape[1],
        data.counts.n_classes,
        cells_of(data.counts),
    )
    return NodeView(
        Ways(np.empty(n), np.empty(n), np.empty(n)),
        np.empty((max(n_classes - 1, 1), n_rows - n)),
        np.zeros((2, n_rows - n if n_cells > n_classes else 0), dtype=np.int64),
        np.empty(n_rows - n),
        np.empty(n_cells + 1),
    )


@kept()
def cells_of(counts):
    """Number of cells."""
    return counts.bounds.shape[1]


@kept()
def node_view(data, H, b, view):
    """Tabulate what each side of node b means for each row, into ``view``."""
    labels, leaf_classes, charges, depth = data.labels, data.leaf_classes, data.charges, data.depth
    sizes, first = data.counts.sizes, data.counts.first
    (left, right, other), gain, ends, charge, base = view
    n, n_rows = labels.size, H.shape[1]
    n_leaves = leaf_classes.size
    node = b + 1
    level = 0
    while (node >> (level + 1)) > 0:
        level += 1
    for i in range(n):
        left[i], right[i], other[i] = FAR, FAR, FAR
        for t in range(n_leaves):
            if leaf_classes[t] != labels[i]:
                continue
            leaf = t + n_leaves
            error = 0.0
            side = -1
            for up in range(depth - 1, -1, -1):
                at = leaf >> (up + 1)
                goes_right = (leaf >> up) & 1
                if at == node:
                    side = goes_right
                else:
                    h = H[at - 1, i]
                    e = 1.0 - h if goes_right == 1 else 1.0 + h
                    if e > 0.0:
                        error += e
            if side == 0:
                left[i] = min(left[i], error)
            elif side == 1:
                right[i] = min(right[i], error)
            else:
                other[i] = min(other[i], error)
    n_classes, n_cells = data.counts.n_classes, base.size - 1
    for k in range(n_cells + 1):
        base[k] = 0.0
    for u in range(n_rows - n):
        i = n + u
        at = 1
        reaches = False
        while at < n_leaves:
            if at == node:
                reaches = True
                break
            at = 2 * at + (1 if H[at - 1, i] > 0.0 else 0)
        for k in range(n_classes - 1):
            gain[k, u] = 0.0
        charge[u] = 0.0
        if not reaches:
            c = leaf_classes[at - n_leaves]
            for g in range(first.shape[0]):
                base[first[g, u] + c] += sizes[i]
            base[n_cells] += sizes[i] * charges[u, c]
            if n_cells > n_classes:
                ends[0, u], ends[1, u] = c, c
            continue
        go = 2 * node
        while go < n_leaves:
            go = 2 * go + (1 if H[go - 1, i] > 0.0 else 0)
        c_left = leaf_classes[go - n_leaves]
        go = 2 * node + 1
        while go < n_leaves:
            go = 2 * go + (1 if H[go - 1, i] > 0.0 else 0)
        c_right = leaf_classes[go - n_leaves]
        for g in range(first.shape[0]):
            base[first[g, u] + c_left] += sizes[i]
        base[n_cells] += sizes[i] * charges[u, c_left]
        if n_cells > n_classes:
            ends[0, u], ends[1, u] = c_left, c_right
        if c_left != c_right:
            if c_left < n_classes - 1:
                gain[c_left, u] -= sizes[i]
            if c_right < n_classes - 1:
                gain[c_right, u] += sizes[i]
            charge[u] = sizes[i] * (charges[u, c_right] - charges[u, c_left])


@per_move
def labeled_cost(v, ways, i, cap):
    """Cost of labeled row i with value v at the node in view."""
    cost = min(ways.left[i] + max(1.0 + v, 0.0), ways.right[i] + max(1.0 - v, 0.0))
    return min(min(cost, ways.other[i]), cap)


@per_move
def off_totals(base, moved, counts):
    """xi: the rows of each domain that would have to change class to be within the bounds, added up."""
    bounds, n_classes = counts.bounds, counts.n_classes
    xi = 0.0
    for begin in range(0, bounds.shape[1], n_classes):
        over, under = 0.0, 0.0
        for c in range(begin, begin + n_classes):
            rows = base[c] + moved[c]
            over += max(rows - bounds[1, c], 0.0)
            under += max(bounds[0, c] - rows, 0.0)
        xi += max(over, under)
    return xi


@per_move
def fill_last(moved, n_classes):
    """What the last class of the only domain gains is what the others lose."""
    last = 0.0
    for k in range(n_classes - 1):
        last -= moved[k]
    moved[n_classes - 1] = last


@per_move
def change_class(counts, ends, u, sign, moved):
    """Move an unlabeled row from its class on the left to that on the right, or back, in all its domains."""
    first = counts.first
    left, right = ends[0, u], ends[1, u]
    if left != right:
        size = sign * counts.sizes[counts.sizes.size - first.shape[1] + u]
        for g in range(first.shape[0]):
            moved[first[g, u] + left] -= size
            moved[first[g, u] + right] += size


@per_move
def priced(parts, prices):
    """What a tree costs: its parts times their prices."""
    return parts[0] + prices.row_off * parts[1] + prices.margin * parts[2] + parts[3]


@kept(fastmath=True, _nrt=False)
def evaluate(h, move, counts, view, prices, stop_above, tally):
    """Cost of the tree after a move at the node in view, from all rows; stops early once it exceeds ``stop_above``."""
    x, scale, step, shift = move
    sizes, n_classes = counts.sizes, counts.n_classes
    ways, gain, ends, charge, base = view
    rho, cap = prices.margin, prices.cap
    parts, moved = tally
    n, n_rows = ways.left.size, h.size
    one_domain = moved.size == n_classes
    labeled = 0.0
    for i in range(n):
        v = scale * h[i] + step * x[i] - shift
        labeled += sizes[i] * labeled_cost(v, ways, i, cap)
    violation = 0.0
    guide = base[moved.size]
    for k in range(moved.size):
        moved[k] = 0.0
    for start in range(n, n_rows, _BLOCK):
        if labeled + rho * violation > stop_above:
            return labeled + rho * violation
        stop = min(start + _BLOCK, n_rows)
        for i in range(start, stop):
            v = scale * h[i] + step * x[i] - shift
            violation += max(1.0 - abs(v), 0.0)
            guide += charge[i - n] if v > 0.0 else 0.0
        if one_domain:
            for k in range(n_classes - 1):
                g = gain[k]
                gained = 0.0
                for i in range(start, stop):
                    v = scale * h[i] + step * x[i] - shift
                    gained += g[i - n] if v > 0.0 else 0.0
                moved[k] += gained
        else:
            for i in range(start, stop):
                if scale * h[i] + step * x[i] - shift > 0.0:
                    change_class(counts, ends, i - n, 1.0, moved)
    if one_domain:
        fill_last(moved, n_classes)
    parts[0], parts[1], parts[2], parts[3] = labeled, off_totals(base, moved, counts), violation, guide
    return priced(parts, prices)


@per_move
def evaluate_near(h, move, counts, view, prices, near, tally, new):
    """The same from the rows near the hyperplane alone; a small move does not change the others.

    ``tally`` has the parts before the move, ``new`` receives those after it.
    """
    x, step, shift = move.x, move.step, move.shift
    ways, gain, ends, charge, base = view
    sizes, n_classes = counts.sizes, counts.n_classes
    n, one_domain = ways.left.size, new.moved.size == n_classes
    labeled, violation, guide = tally.parts[0], tally.parts[2], tally.parts[3]
    for k in range(near.n_labeled):
        i = near.labeled[k]
        v = h[i] + step * x[i] - shift
        after = labeled_cost(v, ways, i, prices.cap)
        labeled += sizes[i] * (after - labeled_cost(h[i], ways, i, prices.cap))
    for k in range(new.moved.size):
        new.moved[k] = tally.moved[k]
    for row in range(near.n_unlabeled):
        i = near.unlabeled[row]
        before = h[i]
        v = before + step * x[i] - shift
        violation += max(1.0 - abs(v), 0.0) - max(1.0 - abs(before), 0.0)
        if (v > 0.0) != (before > 0.0):
            sign = 1.0 if v > 0.0 else -1.0
            guide += sign * charge[i - n]
            if one_domain:
                for k in range(n_classes - 1):
                    new.moved[k] += sign * gain[k, i - n]
            else:
                change_class(counts, ends, i - n, sign, new.moved)
    if one_domain:
        fill_last(new.moved, n_classes)
    xi = off_totals(base, new.moved, counts)
    new.parts[0], new.parts[1], new.parts[2], new.parts[3] = labeled, xi, max(violation, 0.0), guide
    return priced(new.parts, prices)


@kept()
def bucket_of(distance):
    """Rows are sorted by distance into [0, 4], (4, 8], (8, 16], ... and the rest."""
    bucket, edge = 0, 4.0
    while distance > edge and bucket < N_BUCKETS - 1:
        bucket += 1
        edge *= 2.0
    return bucket


@kept()
def sort_by_distance(h, first, stop, order, ends):
    """Rows first .. stop by bucket into ``order``; ``ends[k]`` is where bucket k ends."""
    for k in range(N_BUCKETS):
        ends[k] = 0
    for i in range(first, stop):
        ends[bucket_of(abs(h[i]))] += 1
    end = 0
    for k in range(N_BUCKETS):
        count = ends[k]
        ends[k] = end
        end += count
    for i in range(first, stop):
        k = bucket_of(abs(h[i]))
        order[ends[k]] = i
        ends[k] += 1


@per_move
def pick_row(state, h, ways, nearest):
    """A row for a move to act on: one that pays, one too near the hyperplane, or any row, near rows more often."""
    order_l, order_u, ends_u = nearest.labeled, nearest.unlabeled, nearest.unlabeled_ends
    n = ways.left.size
    what = random_unit(state)
    if what < 0.35:
        for _ in range(8):
            i = random_below(state, n)
            if labeled_cost(h[i], ways, i, FAR) > 1e-9:
                return i
    elif what < 0.6 and ends_u[0] > 0:
        for _ in range(8):
            i = order_u[random_below(state, ends_u[0])]
            if abs(h[i]) < 1.0 - 1e-9:
                return i
    if order_u.size == 0 or random_unit(state) < 0.3:
        u = random_unit(state)
        return order_l[int(n * u * u)]
    u = random_unit(state)
    return order_u[int(order_u.size * u * u * u)]


@per_move
def count_used(omega, b):
    """How many features node b uses."""
    n = 0
    for j in range(omega.shape[1]):
        n += 1 if omega[b, j] != 0.0 else 0
    return n


@per_move
def pick_used(state, omega, b, n_used):
    """One of the features that node b uses."""
    rank = random_below(state, n_used)
    for j in range(omega.shape[1]):
        if omega[b, j] != 0.0:
            if rank == 0:
                return j
            rank -= 1
    return 0


@per_move
def pick_feature(state, space, omega, b):
    """A feature for a move at node b: any feature, or one that the node uses if it may not use another."""
    p = space.XT.shape[0]
    if space.most < p:
        n_used = count_used(omega, b)
        if n_used >= space.most or (n_used > 0 and random_unit(state) < 0.5):
            return pick_used(state, omega, b, n_used)
    return random_below(state, p)


@per_move
def propose(state, space, h, omega, b, on_grid, row, move):
    """Draw a move at node b that brings ``row`` to distance 1; move is (j, scale, step, shift). False if it fails.

    ``on_grid`` keeps every h an odd number: steps are whole multiples of ``quanta`` and turn about a row.
    """
    XT, s, quanta = space.XT, space.s, space.quanta
    p = XT.shape[0]
    kind = random_unit(state)
    target = 1.0 if random_unit(state) < 0.5 else -1.0
    move[0], move[1], move[2], move[3] = 0.0, 1.0, 0.0, 0.0
    if kind < 0.2:  # slide the offset
        move[3] = h[row] - target
        return True
    if kind < 0.28 and not on_grid:  # lengthen or shorten the normal
        largest = 0.0
        for j in range(p):
            largest = max(largest, abs(omega[b, j]))
        if abs(h[row]) < 1e-9 or largest == 0.0:
            return False
        scale = 1.0 / abs(h[row])
        if random_unit(state) < 0.3:
            scale = 1.5 * random_unit(state) + 0.5
        move[1] = min(scale, s / largest)
        return True
    j = pick_feature(state, space, omega, b)
    if on_grid and quanta[j] == 0.0:
        return False
    x = XT[j]
    move[0] = float(j)
    pivot = 0.0
    if on_grid or random_unit(state) < 0.6:  # turn about another row
        pivot = x[random_below(state, x.size)]
    if kind < 0.36:  # drop a coefficient
        if omega[b, j] == 0.0:
            return False
        move[2] = -omega[b, j]
        move[3] = move[2] * pivot
        return True
    lever = x[row] - pivot
    if abs(lever) < 1e-12:
        return False
    step = (target - h[row]) / lever
    if on_grid:
        times = np.floor(step / quanta[j] + random_unit(state))
        if times == 0.0:
            times = 1.0 if random_unit(state) < 0.5 else -1.0
        step = times * quanta[j]
    if abs(omega[b, j] + step) > s * (1.0 + 1e-12):
        return False
    move[2] = step
    move[3] = step * pivot
    return True


@per_move
def propose_joint(state, space, h, omega, b, on_grid, row, change):
    """Draw a move of all coefficients at once, towards ``row`` and about another row, as a perceptron does.

    Where hyperplanes may use few features, only coefficients other than 0 change. Fills ``change``: the change of
    omega, and the change of every h. Returns the change of gamma.
    """
    XT, s, quanta = space.XT, space.s, space.quanta
    direction, slope = change
    p, n_rows = XT.shape
    pivot = random_below(state, n_rows)
    squared = 0.0
    for j in range(p):
        if (on_grid and quanta[j] == 0.0) or (space.most < p and omega[b, j] == 0.0):
            direction[j] = 0.0
        else:
            direction[j] = XT[j, row] - XT[j, pivot]
            squared += direction[j] * direction[j]
    if squared < 1e-12:
        return 0.0, False
    target = 1.0 if random_unit(state) < 0.5 else -1.0
    length = (target - h[row]) / squared * (0.5 + random_unit(state))
    shift = 0.0
    for i in range(n_rows):
        slope[i] = 0.0
    for j in range(p):
        d = direction[j] * length
        if on_grid:
            d = quanta[j] * np.floor(d / quanta[j] + random_unit(state)) if d != 0.0 else 0.0
        if abs(omega[b, j] + d) > s:
            d = 0.0
        direction[j] = d
        if d != 0.0:
            shift += d * XT[j, pivot]
            x = XT[j]
            for i in range(n_rows):
                slope[i] += d * x[i]
    return shift, True


@per_move
def propose_swap(state, space, h, omega, b, on_grid, row, change):
    """Draw a move that gives the place of one feature to another, brings ``row`` to distance 1 and turns about a row.

    Fills ``change`` and returns as `propose_joint` does.
    """
    XT, s, quanta = space.XT, space.s, space.quanta
    direction, slope = change
    p, n_rows = XT.shape
    n_used = count_used(omega, b)
    new = random_below(state, p)
    if n_used == 0 or omega[b, new] != 0.0 or (on_grid and quanta[new] == 0.0):
        return 0.0, False
    old = pick_used(state, omega, b, n_used)
    pivot = random_below(state, n_rows)
    x, gone, coefficient = XT[new], XT[old], omega[b, old]
    lever = x[row] - x[pivot]
    if abs(lever) < 1e-12:
        return 0.0, False
    target = 1.0 if random_unit(state) < 0.5 else -1.0
    step = (target - h[row] + coefficient * (gone[row] - gone[pivot])) / lever
    if on_grid:
        step = quanta[new] * np.floor(step / quanta[new] + random_unit(state))
    if step == 0.0 or abs(step) > s * (1.0 + 1e-12):
        return 0.0, False
    for j in range(p):
        direction[j] = 0.0
    direction[old], direction[new] = -coefficient, step
    for i in range(n_rows):
        slope[i] = step * x[i] - coefficient * gone[i]
    return slope[pivot], True


@kept()
def pick_node(state, violations, rho):
    """A node to visit. If margins have a price, half of the draws are in proportion to violations; else any node."""
    everywhere = total(violations)
    if rho > 0.0 and everywhere > 1e-7 and random_unit(state) < 0.5:
        at = random_unit(state) * everywhere
        for b in range(violations.size):
            at -= violations[b]
            if at <= 0.0:
                return b
    return random_below(state, violations.size)


@kept()
def total_violation(H, n):
    """Sum of margin violations of the unlabeled rows at each node."""
    violations = np.zeros(H.shape[0])
    for b in range(H.shape[0]):
        for i in range(n, H.shape[1]):
            violations[b] += max(1.0 - abs(H[b, i]), 0.0)
    return violations


@kept()
def best_gap(h, data, view, below, moved):
    """Cost of the best gap between the unlabeled rows, if less than ``below``, and the shift of the offset there.

    A gap is at least 2 wide, so that its rows keep distance 1. There is always one beyond the outermost rows. Going
    through the rows in order, one row at a time changes sides. The labeled rows are only evaluated while the cost is
    below the best.
    """
    counts = data.counts
    ways, gain, ends, charge, base = view
    sizes, n, n_classes = counts.sizes, ways.left.size, counts.n_classes
    one_domain = moved.size == n_classes
    order = np.argsort(h[n:])
    guide = base[moved.size]
    for k in range(moved.size):
        moved[k] = 0.0
    if one_domain:
        for k in range(n_classes - 1):
            moved[k] = total(gain[k])
    for u in range(order.size):
        guide += charge[u]
        if not one_domain:
            change_class(counts, ends, u, 1.0, moved)
    best, best_shift = below, 0.0
    low = -FAR
    for rank in range(order.size + 1):
        high = h[n + order[rank]] - 1.0 if rank < order.size else FAR
        if high >= low:
            # The point of the gap nearest to the present offset, 0.
            shift = min(max(0.0, low), high)
            if one_domain:
                fill_last(moved, n_classes)
            cost = guide + data.row_off * off_totals(base, moved, counts)
            i = 0
            while i < n and cost < best:
                cost += sizes[i] * labeled_cost(h[i] - shift, ways, i, FAR)
                i += 1
            if cost < best:
                best, best_shift = cost, shift
        if rank < order.size:
            u = order[rank]
            low = h[n + u] + 1.0
            guide -= charge[u]
            if one_domain:
                for k in range(n_classes - 1):
                    moved[k] -= gain[k, u]
            else:
                change_class(counts, ends, u, -1.0, moved)
    return best, best_shift


@kept(nogil=True)
def clear_node(data, planes, b, n_directions, state):
    """Give node b its best offset clear of all unlabeled rows, in place.

    The node may also take the best of ``n_directions`` random directions.
    """
    p, n_rows = data.space.XT.shape
    H = np.empty((planes.gamma.size, n_rows))
    for k in range(planes.gamma.size):
        node_values(data.space.XT, planes, k, H)
    view, moved = new_view(data), np.zeros(cells_of(data.counts))
    node_view(data, H, b, view)
    best, shift = best_gap(H[b], data, view, FAR, moved)
    planes.gamma[b] += shift
    trial, values = Planes(np.zeros((1, p)), np.zeros(1)), np.zeros((1, n_rows))
    for _ in range(n_directions):
        random_direction(state, data.space, trial.omega[0])
        node_values(data.space.XT, trial, 0, values)
        cost, shift = best_gap(values[0], data, view, best, moved)
        if cost < best:
            best = cost
            copy(trial.omega[0], planes.omega[b])
            planes.gamma[b] = shift


@kept()
def random_direction(state, space, omega):
    """Coefficients of random signs and sizes, some of them 0 and the largest s; no more than a hyperplane may use."""
    s = space.s
    largest = 0.0
    if space.most < omega.size:
        for j in range(omega.size):
            omega[j] = 0.0
        for _ in range(1 + random_below(state, space.most)):
            omega[random_below(state, omega.size)] = 2.0 * random_unit(state) - 1.0
        for j in range(omega.size):
            largest = max(largest, abs(omega[j]))
    else:
        dense = random_unit(state)
        for j in range(omega.size):
            omega[j] = 2.0 * random_unit(state) - 1.0 if random_unit(state) < dense else 0.0
            largest = max(largest, abs(omega[j]))
    if largest == 0.0:
        omega[random_below(state, omega.size)] = s
        return
    for j in range(omega.size):
        omega[j] *= s / largest


@kept()
def new_tally(n_cells):
    """An empty tally."""
    return Tally(np.zeros(4), np.zeros(n_cells))


@kept()
def new_order(n, m):
    """Room for the rows in the order of their distance."""
    return Nearest(
        np.empty(n, dtype=np.int64),
        np.empty(N_BUCKETS, dtype=np.int64),
        np.empty(m, dtype=np.int64),
        np.empty(N_BUCKETS, dtype=np.int64),
    )


@kept(nogil=True)
def anneal_stretch(data, planes, best_planes, best, good_enough, state, course):
    """Anneal a tree in place over a stretch of a course.

    Moves are accepted by the course's prices. The best tree without margin violations, by labeled errors (capped), the
    price of rows off the totals and the guide, is copied to ``best_planes``. Returns its cost.
    """
    space, counts = data.space, data.counts
    XT, omega, gamma = space.XT, planes.omega, planes.gamma
    p, n_rows = XT.shape
    n, n_nodes = data.labels.size, gamma.size
    H = np.empty((n_nodes, n_rows))
    for b in range(n_nodes):
        node_values(XT, planes, b, H)
    violations = total_violation(H, n)
    view = new_view(data)
    tally, new = new_tally(cells_of(counts)), new_tally(cells_of(counts))
    nearest = new_order(n, n_rows - n)
    # Taken out of their tuples once: doing so costs as much as part of a move.
    ways, spans, parts, new_parts = view.ways, data.spans, tally.parts, new.parts
    ends_labeled, ends_unlabeled = nearest.labeled_ends, nearest.unlabeled_ends
    move, direction, slope = np.zeros(4), np.zeros(p), np.zeros(n_rows)
    # A joint move takes as long as about as many ordinary moves as it changes coefficients.
    width = min(p, space.most)
    joint_share = min(0.1, 0.5 / width) if width > 1 else 0.0
    swap_share = SWAP_SHARE if space.most < p else 0.0
    # Beyond this distance a labeled row's capped cost is flat, and an unlabeled row keeps its margin and side.
    flat = max(1.0, course.cap - 1.0)
    for visit in range(course.visit_from, course.visit_to):
        progress = visit / max(course.n_visits - 1, 1)
        temperature = course.hot * (course.cold / course.hot) ** progress
        rho = (
            course.margin_from * (course.margin_to / course.margin_from) ** progress
            if course.margin_from > 0.0
            else 0.0
        )
        prices = Prices(course.row_off, rho, course.cap)
        b = pick_node(state, violations, rho)
        node_values(XT, planes, b, H)
        node_view(data, H, b, view)
        h = H[b]
        elsewhere = total(violations) - violations[b]
        current = evaluate(h, Move(h, 1.0, 0.0, 0.0), counts, view, prices, FAR, tally)
        drift = FAR
        for attempt in range(course.moves_per_visit + 1):
            if attempt > 0:
                # Sorting takes as long as several evaluations; it is worth that only where few rows are near.
                if drift == FAR or (drift > 8.0 and NEAR_SHARE * ends_unlabeled[1] < n_rows - n):
                    sort_by_distance(h, 0, n, nearest.labeled, ends_labeled)
                    sort_by_distance(h, n, n_rows, nearest.unlabeled, ends_unlabeled)
                    drift = 0.0
                row = pick_row(state, h, ways, nearest)
                kind = random_unit(state)
                all_at_once = kind < joint_share + swap_share
                if all_at_once:
                    change = (direction, slope)
                    if kind < joint_share:
                        shift, drawn = propose_joint(state, space, h, omega, b, course.on_grid, row, change)
                    else:
                        shift, drawn = propose_swap(state, space, h, omega, b, course.on_grid, row, change)
                    j, scale, step, x = 0, 1.0, 1.0, slope
                    reach = 0.0
                    for i in range(n_rows):
                        reach = max(reach, abs(slope[i] - shift))
                else:
                    drawn = propose(state, space, h, omega, b, course.on_grid, row, move)
                    j, scale, step, shift = int(move[0]), move[1], move[2], move[3]
                    x = XT[j]
                    reach = max(abs(step * spans[0, j] - shift), abs(step * spans[1, j] - shift))
                if not drawn:
                    continue
                stop_above = current - temperature * math.log(random_unit(state) + 1e-300)
                near_unlabeled = ends_unlabeled[bucket_of(1.0 + reach + drift)]
                if scale == 1.0 and NEAR_SHARE * near_unlabeled < n_rows - n:
                    near_labeled = ends_labeled[bucket_of(flat + reach + drift)]
                    near = Near(nearest.labeled, near_labeled, nearest.unlabeled, near_unlabeled)
                    cost = evaluate_near(h, Move(x, scale, step, shift), counts, view, prices, near, tally, new)
                else:
                    cost = evaluate(h, Move(x, scale, step, shift), counts, view, prices, stop_above, new)
                if cost > stop_above:
                    continue
                current = cost
                copy(new_parts, parts)
                copy(new.moved, tally.moved)
                drift += reach if scale == 1.0 else 1e9
                for i in range(n_rows):
                    h[i] = scale * h[i] + step * x[i] - shift
                if all_at_once:
                    for k in range(p):
                        omega[b, k] += direction[k]
                else:
                    for k in range(p):
                        omega[b, k] *= scale
                    omega[b, j] += step
                gamma[b] = scale * gamma[b] + shift
            violations[b] = parts[2]
            if parts[2] + elsewhere < 1e-7:
                value = parts[0] + data.row_off * parts[1] + parts[3]
                if value < best - 1e-9:
                    best = value
                    copy(gamma, best_planes.gamma)
                    for k in range(n_nodes):
                        copy(omega[k], best_planes.omega[k])
                    if best <= good_enough + 1e-9:
                        return best
    return best

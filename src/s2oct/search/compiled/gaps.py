"""Gaps between the unlabeled rows: the best offset of a node that is clear of all of them."""

from __future__ import annotations

from s2oct.search.compiled.move_costs import cross, labeled_cost, off_after
from s2oct.search.compiled.node_views import compute_values, node_view
from s2oct.search.compiled.options import entered, inlined, plain
from s2oct.search.compiled.orders import put_in_order
from s2oct.search.compiled.random_numbers import random_below, random_unit
from s2oct.search.compiled.vectors import copy, total
from s2oct.search.compiled.walks import FAR


@entered
def clear_node(data, planes, b, n_directions, state, room):
    """Give node b its best offset clear of all unlabeled rows, in place.

    The node may also take the best of ``n_directions`` random directions.
    """
    XT, omega, gamma, direction, values = data.space.XT, planes.omega, planes.gamma, room.direction, room.slope
    view, tally, sorting = room.sides, room.tally, (room.order, room.waiting)
    for k in range(gamma.size):
        compute_values(XT, omega[k], gamma[k], room.H[k])
    node_view(data, room.H, b, view)
    best, shift = best_gap(room.H[b], data, view, FAR, tally, sorting)
    gamma[b] += shift
    for _ in range(n_directions):
        random_direction(state, data.space, direction)
        compute_values(XT, direction, 0.0, values)
        cost, shift = best_gap(values, data, view, best, tally, sorting)
        if cost < best:
            best = cost
            copy(direction, omega[b])
            gamma[b] = shift


@plain
def best_gap(h, data, view, below, tally, sorting):
    """Cost of the best gap between the unlabeled rows, if less than ``below``, and the shift of the offset there.

    A gap is at least 2 wide, so that its rows keep distance 1. There is always one beyond the outermost rows. Going
    through the rows in order, one row at a time changes sides. The labeled rows are only evaluated while the cost is
    below the best.
    """
    counts = data.counts
    ways, gain, ends, charge, base = view
    sizes, n, n_classes = counts.sizes, ways.left.size, counts.n_classes
    moved, (order, waiting) = tally.moved, sorting
    one_domain = moved.size == n_classes
    put_in_order(h[n:], order, waiting)
    guide = base[moved.size]
    for k in range(moved.size):
        moved[k] = 0.0
    if one_domain:
        for k in range(n_classes - 1):
            moved[k] = total(gain[k])
    for u in range(order.size):
        guide += charge[u]
        if not one_domain:
            cross(counts, ends, n + u, 1.0, moved)
    best, best_shift = below, 0.0
    low = -FAR
    for rank in range(order.size + 1):
        high = h[n + order[rank]] - 1.0 if rank < order.size else FAR
        if high >= low:
            # The point of the gap nearest to the present offset, 0.
            shift = min(max(0.0, low), high)
            cost = guide + data.row_off * off_after(counts, base, tally)
            for i in range(n):
                if cost >= best:
                    break
                cost += sizes[i] * labeled_cost(h[i] - shift, ways, i, FAR)
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
                cross(counts, ends, n + u, -1.0, moved)
    return best, best_shift


@inlined
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

"""Moves of one hyperplane, drawn at random; most bring a row to distance 1."""

from __future__ import annotations

import numpy as np

from s2oct.search.compiled.move_costs import labeled_cost
from s2oct.search.compiled.options import inlined, plain
from s2oct.search.compiled.random_numbers import random_below, random_unit
from s2oct.search.compiled.walks import FAR


@plain
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


@plain
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


@plain
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


@plain
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


@inlined
def pick_feature(state, space, omega, b):
    """A feature for a move at node b: any feature, or one that the node uses if it may not use another."""
    p = space.XT.shape[0]
    if space.most < p:
        n_used = count_used(omega, b)
        if n_used >= space.most or (n_used > 0 and random_unit(state) < 0.5):
            return pick_used(state, omega, b, n_used)
    return random_below(state, p)


@inlined
def pick_used(state, omega, b, n_used):
    """One of the features that node b uses."""
    rank = random_below(state, n_used)
    for j in range(omega.shape[1]):
        if omega[b, j] != 0.0:
            if rank == 0:
                return j
            rank -= 1
    return 0


@inlined
def count_used(omega, b):
    """How many features node b uses."""
    n = 0
    for j in range(omega.shape[1]):
        n += 1 if omega[b, j] != 0.0 else 0
    return n

"""A stretch of an annealing of P2: moves at one node after the other, accepted by what they cost."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from s2oct.search.compiled.move_costs import Move, Near, Prices, evaluate, evaluate_near
from s2oct.search.compiled.nearness import bucket_of, sort_by_distance
from s2oct.search.compiled.node_views import compute_values, node_view
from s2oct.search.compiled.options import entered, inlined
from s2oct.search.compiled.proposals import pick_row, propose, propose_joint, propose_swap
from s2oct.search.compiled.random_numbers import random_below, random_unit
from s2oct.search.compiled.vectors import copy, total
from s2oct.search.compiled.walks import FAR

NEAR_SHARE = 8
"""A move is evaluated from the near rows alone where fewer than one row in this many is near."""

SWAP_SHARE = 0.3
"""Share of moves that exchange a feature for another, where hyperplanes may use few."""


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


@entered
def anneal_stretch(data, planes, best_planes, best, good_enough, state, course, room):
    """Anneal a tree in place over a stretch of a course.

    Moves are accepted by the course's prices. The best tree without margin violations, by labeled errors (capped), the
    price of rows off the totals and the guide, is copied to ``best_planes``. Returns its cost.
    """
    space, counts = data.space, data.counts
    XT, omega, gamma = space.XT, planes.omega, planes.gamma
    p, n_rows = XT.shape
    n, n_nodes = data.labels.size, gamma.size
    H, violations, view, tally, new, nearest = room.H, room.violations, room.sides, room.tally, room.new, room.nearest
    for b in range(n_nodes):
        compute_values(XT, omega[b], gamma[b], H[b])
        violations[b] = violation_of(H[b], n)
    # Taken out of their tuples once: doing so costs as much as part of a move.
    ways, spans, parts, new_parts = view.ways, data.spans, tally.parts, new.parts
    ends_labeled, ends_unlabeled = nearest.labeled_ends, nearest.unlabeled_ends
    move, direction, slope = room.move, room.direction, room.slope
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
        compute_values(XT, omega[b], gamma[b], H[b])
        node_view(data, H, b, view)
        h = H[b]
        elsewhere = total(violations) - violations[b]
        current = evaluate(h, Move(h, 1.0, 0.0, 0.0), counts, view, prices, FAR, tally)
        drift = FAR
        for attempt in range(course.moves_per_visit + 1):
            if attempt > 0:
                # Sorting takes as long as several evaluations; it is worth that only where few rows are near.
                if drift == FAR or (drift > 8.0 and NEAR_SHARE * ends_unlabeled[1] < n_rows - n):
                    sort_by_distance(h, np.int64(0), n, nearest.labeled, ends_labeled)
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


@inlined
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


@inlined
def violation_of(h, n):
    """Sum of the margin violations of the unlabeled rows at a node."""
    violation = 0.0
    for i in range(n, h.size):
        violation += max(1.0 - abs(h[i]), 0.0)
    return violation

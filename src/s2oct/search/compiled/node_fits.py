"""The best split of a node: directions on few features, each at its best offset, totals minded."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from s2oct.search.compiled.cells import off_totals
from s2oct.search.compiled.choices import HUGE, WORTHWHILE, all_left, best_cut, decided, present_split
from s2oct.search.compiled.evidence_trees import set_hyperplane
from s2oct.search.compiled.options import allocating, inlined, plain
from s2oct.search.compiled.orders import put_in_order
from s2oct.search.compiled.random_numbers import next_below, next_unit
from s2oct.search.compiled.regressions import extended, forget, new_fit, new_system, newton, project, screened


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


@allocating
def refit_split(table, splits, worth, node, allowed, effort, state):
    """Give a node the best split found for the rows it decides about, if that is better; returns what it saves."""
    choice = decided(table, splits, worth, node)
    cost, size = present_split(table, splits, worth, choice, node)
    fit = new_fit(choice, worth.most)
    found = new_found(worth.most)
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
            features = screened(table.XT, choice, allowed, fit)
            single = -1
            if table.order.shape[1] > 0:
                single = consider_singles(table, choice, worth, features, fit, found)
            consider_selections(table, choice, worth, features, single, fit, found)
            if effort.tries > 0:
                consider_exchanges(table, choice, worth, features, fit, found)
        consider_changes(table, choice, worth, allowed, effort.tries, fit, found, state)
    if found.numbers[0] >= cost - WORTHWHILE:
        return 0.0
    direction = np.zeros(table.XT.shape[0])
    for a in range(found.size[0]):
        direction[found.support[a]] = found.numbers[1] * found.beta[a]
    set_hyperplane(table, splits, node, direction, found.numbers[2])
    return cost - found.numbers[0]


@inlined
def new_found(most):
    """No split so far."""
    numbers = np.ones(3)
    numbers[0] = HUGE
    return Found(numbers, np.zeros(1, dtype=np.int64), np.zeros(most + 1, dtype=np.int64), np.zeros(most + 2))


@inlined
def consider_no_split(table, choice, worth, fit, found):
    """All rows go right, or all go left."""
    fit.size[0] = 0
    to_right = worth.row_off * off_totals(table.counts, choice.cells)
    all_left(table.counts, choice, choice.room[0])
    to_left = worth.row_off * off_totals(table.counts, choice.room[0])
    for t in range(len(choice.rows)):
        to_left += choice.extra[t]
    keep(found, to_right, 1.0, -1.0, fit)
    keep(found, to_left, 1.0, 1.0, fit)


@inlined
def consider_singles(table, choice, worth, features, fit, found):
    """Single features at their exact best offsets; returns the best one, or -1."""
    n = len(choice.rows)
    position = np.full(table.XT.shape[1], -1, dtype=np.int64)
    for t in range(n):
        position[choice.rows[t]] = t
    values, order = fit.room.values, fit.room.order
    best, least = -1, HUGE
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
        cost, sign, offset = best_cut(table.counts, choice, values, order, worth.row_off)
        fit.support[0] = j
        keep(found, cost + worth.term, sign, offset, fit)
        if cost < least:
            best, least = j, cost
    return best


@inlined
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
        newton(table.XT, choice, fit, new_system(fit))
        while fit.size[0] < worth.most and extended(table.XT, choice, features, fit, new_system(fit)):
            if fit.size[0] > 1 or single < 0:
                consider(table, choice, worth, fit, found)


@inlined
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
        newton(table.XT, choice, fit, new_system(fit))
        consider(table, choice, worth, fit, found)
        if extended(table.XT, choice, features, fit, new_system(fit)):
            consider(table, choice, worth, fit, found)


@inlined
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
        a = next_below(state, size)
        if size < worth.most and next_unit(state) < 0.5:
            j = allowed[next_below(state, len(allowed))]
            known = False
            for c in range(size):
                known = known or fit.support[c] == j
            if not known:
                a = size
                fit.support[a], fit.beta[a] = j, 0.0
                fit.size[0] = size + 1
        fit.beta[a] += largest * (2.0 * next_unit(state) - 1.0) * 10.0 ** (-2.0 * next_unit(state))
        consider(table, choice, worth, fit, found)


@plain
def consider(table, choice, worth, fit, found):
    """Compare a direction at its best offset with the best split so far."""
    values, order = fit.room.values, fit.room.order
    project(table.XT, choice, fit, values)
    put_in_order(values, order, fit.room.waiting)
    cost, sign, offset = best_cut(table.counts, choice, values, order, worth.row_off)
    keep(found, cost + worth.term * fit.size[0], sign, offset, fit)


@inlined
def keep(found, cost, sign, offset, fit):
    """Keep a split if it is the best so far."""
    if cost < found.numbers[0] - WORTHWHILE:
        found.numbers[0], found.numbers[1], found.numbers[2] = cost, sign, offset
        found.size[0] = fit.size[0]
        # Loops, because numba takes seconds to compile an assignment to a slice.
        for a in range(fit.size[0]):
            found.support[a] = fit.support[a]
            found.beta[a] = fit.beta[a]


@inlined
def restart(fit, found):
    """Let a fit continue from the best split so far."""
    fit.size[0] = found.size[0]
    for a in range(found.size[0]):
        fit.support[a] = found.support[a]
        fit.beta[a] = found.beta[a]

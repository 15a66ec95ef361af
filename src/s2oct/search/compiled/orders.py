"""Positions of values in ascending order, by a quicksort that splits at the median of three.

The order of equal values decides which tree is found, so it should not depend on the version of numba. Besides, numba's
own sort takes seconds to compile, and makes a list at every call.
"""

from __future__ import annotations

import numpy as np

from s2oct.search.compiled.options import allocating, inlined, plain

FEW = 15
"""Up to so many values are sorted by insertion."""

WAITING = 64
"""Parts that can wait to be sorted. The larger part waits, so this is enough for any number of values."""


@allocating
def in_order(values):
    """Positions of the values, the least first."""
    order, waiting = np.empty(len(values), dtype=np.int64), np.empty((2, WAITING), dtype=np.int64)
    put_in_order(values, order, waiting)
    return order


@plain
def put_in_order(values, order, waiting):
    """Fill ``order`` (n,) with the positions of the values, the least first; ``waiting`` (2, WAITING) is room."""
    for i in range(len(values)):
        order[i] = i
    waiting[0, 0], waiting[1, 0] = 0, len(values) - 1
    n_waiting = 1
    while n_waiting > 0:
        n_waiting -= 1
        low, high = waiting[0, n_waiting], waiting[1, n_waiting]
        while high - low >= FEW:
            middle = divide(values, order, low, high)
            if high - middle > middle - low:
                waiting[0, n_waiting], waiting[1, n_waiting] = middle + 1, high
                high = middle - 1
            else:
                waiting[0, n_waiting], waiting[1, n_waiting] = low, middle - 1
                low = middle + 1
            n_waiting += 1
        insert(values, order, low, high)


@inlined
def divide(values, order, low, high):
    """Put a value of low .. high in its place, smaller ones before it and larger ones behind it; returns the place."""
    mid = (low + high) >> 1
    if values[order[mid]] < values[order[low]]:
        order[low], order[mid] = order[mid], order[low]
    if values[order[high]] < values[order[mid]]:
        order[high], order[mid] = order[mid], order[high]
    if values[order[mid]] < values[order[low]]:
        order[low], order[mid] = order[mid], order[low]
    pivot = values[order[mid]]
    order[high], order[mid] = order[mid], order[high]
    i, j = low, high - 1
    while True:
        while i < high and values[order[i]] < pivot:
            i += 1
        while j >= low and pivot < values[order[j]]:
            j -= 1
        if i >= j:
            break
        order[i], order[j] = order[j], order[i]
        i += 1
        j -= 1
    order[i], order[high] = order[high], order[i]
    return i


@inlined
def insert(values, order, low, high):
    """Sort the positions low .. high by insertion."""
    for i in range(low + 1, high + 1):
        k = order[i]
        j = i
        while j > low and values[k] < values[order[j - 1]]:
            order[j] = order[j - 1]
            j -= 1
        order[j] = k

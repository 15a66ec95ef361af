"""Loops over vectors. They compile several times faster than array expressions and assignments to slices."""

from __future__ import annotations

import numpy as np

from s2oct.search.compiled.options import allocating, plain


@plain
def copy(source, target):
    """Copy a vector."""
    for i in range(source.size):
        target[i] = source[i]


@plain
def total(values):
    """The sum of a vector."""
    result = 0.0
    for value in values:
        result += value
    return result


@allocating
def in_order(values):
    """Positions of the values, the least first."""
    return np.argsort(values)

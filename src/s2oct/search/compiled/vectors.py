"""Loops over vectors. They compile several times faster than array expressions and assignments to slices."""

from __future__ import annotations

from s2oct.search.compiled.options import plain


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

"""Distances between rows and the hyperplanes of a tree."""

from __future__ import annotations

from typing import NamedTuple

from s2oct.arrays import FloatArray, IntArray


class Distances(NamedTuple):
    """How far rows are from the hyperplanes of a tree, in units of omega.

    Attributes
    ----------
    of_rows : ndarray of shape (n_rows,)
        Distance of each row from the nearest hyperplane.
    least, largest : ndarray of shape (n_branches,)
        Distance of the nearest and of the farthest row from each hyperplane; infinity and 0 without rows.
    n_left, n_right : ndarray of shape (n_branches,)
        Rows with a negative and with a positive value at each node.
    """

    of_rows: FloatArray
    least: FloatArray
    largest: FloatArray
    n_left: IntArray
    n_right: IntArray

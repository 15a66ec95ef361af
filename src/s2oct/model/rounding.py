"""A tree as its rules: the shortest decimals that keep every row in its leaf."""

from __future__ import annotations

import math
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

import numpy as np

from s2oct.arrays import BoolArray, FloatArray
from s2oct.model.topology import Topology
from s2oct.model.tree import ObliqueTree

_EXACT = 17
"""Significant digits with which any two floats are written differently."""
_POWERS = 20
"""Powers of ten from the size of two different floats down to one with a multiple between them."""

Hyperplane = tuple[FloatArray, float]
"""Coefficients and offset of a node."""


def as_rules(tree: ObliqueTree, X: FloatArray) -> ObliqueTree:
    """Round a tree to the shortest decimals that keep every row in its leaf.

    A node that splits none of the rows becomes constant. Features that a node does not need to split its rows are left
    out, those of least influence first. A node with one feature left has the coefficient 1 or -1. With several, the
    feature of largest influence has it, and the others have as few significant digits as the rows allow. The offset is
    the shortest decimal between the two sides. A node that no rounding leaves as it splits stays exactly as it is.

    Parameters
    ----------
    tree : ObliqueTree
        The tree, in the units of the features.
    X : ndarray of shape (n_rows, p)
        Rows that must keep their leaves: all rows of the fit.

    Returns
    -------
    ObliqueTree
        The rounded tree, or the tree itself where there are no rows.

    Examples
    --------
    >>> import numpy as np
    >>> from s2oct import ObliqueTree, Topology
    >>> tree = ObliqueTree.of(Topology(1), np.array([[-2.0000001, 8e-15]]), np.array([-53.1]))
    >>> rounded = as_rules(tree, np.array([[26.0, 1.0], [27.0, 3.0], [40.0, 2.0]]))
    >>> rounded.omega.tolist(), rounded.gamma.tolist()
    ([[-1.0, 0.0]], [-27.0])
    """
    if not len(X):
        return tree
    rows, leaf = np.asarray(X, dtype=float), tree.apply(X)
    omega, gamma = tree.omega.astype(float), tree.gamma.astype(float)
    # In the order of the leaves, the rows that reach a node lie side by side: those that go left first.
    order = np.argsort(leaf, kind="stable")
    leaf = leaf[order]
    for node in tree.topology.branches:
        levels_below = tree.topology.depth + 1 - node.bit_length()
        ends = np.array([2 * node, 2 * node + 1, 2 * node + 2]) << (levels_below - 1)
        first, middle, last = np.searchsorted(leaf, ends).tolist()
        if first == middle or middle == last:
            # No rows, or all of them on one side.
            omega[node - 1], gamma[node - 1] = 0.0, -1.0 if middle < last else 1.0
        else:
            exact = omega[node - 1].copy(), float(gamma[node - 1])
            omega[node - 1], gamma[node - 1] = _rounded(exact, _Sides(rows[order[first:last]], middle - first))
    return replace(tree, omega=omega, gamma=gamma)


def _rounded(exact: Hyperplane, sides: _Sides) -> Hyperplane:
    """The shortest hyperplane with the same sides of all rows, or the exact one."""
    # Sums of large numbers are rounded. They may overflow, and then no candidate separates the sides.
    with np.errstate(all="ignore"):
        for omega in (sides.without_noise(exact[0]), exact[0]):
            found = sides.shortest(omega)
            if found is not None:
                return found
    return exact


class _Sides:
    """The rows that reach a node, those of the left side first."""

    def __init__(self, rows: FloatArray, n_left: int) -> None:
        self.rows, self.n_left = rows, n_left
        self.right: BoolArray = np.arange(len(rows)) >= n_left
        self.lowest: FloatArray = rows.min(axis=0)
        self.highest: FloatArray = rows.max(axis=0)

    def gap(self, values: FloatArray) -> tuple[float, float] | None:
        """The largest value of the left side and the smallest of the right, if these are finite and in this order."""
        low, high = float(values[: self.n_left].max()), float(values[self.n_left :].min())
        return (low, high) if -math.inf < low < high < math.inf else None

    def without_noise(self, omega: FloatArray) -> FloatArray:
        """Set coefficients to 0, those of least influence first, as long as some offset separates the sides.

        The values are updated from feature to feature. A gap no wider than what this may round is none.
        """
        kept, values = omega.copy(), self._values(omega)
        used, inexact = np.flatnonzero(omega), self._inexact(omega)
        for j in used[np.argsort(self._influence(omega)[used], kind="stable")][:-1]:
            values -= omega[j] * self.rows[:, j]
            gap = self.gap(values)
            if gap is None or not gap[1] - gap[0] > inexact:
                break
            kept[j] = 0.0
        return kept

    def shortest(self, omega: FloatArray) -> Hyperplane | None:
        """The coefficients in units of the one with most influence, with the fewest digits that separate the sides.

        A gap that may come from the rounding of sums is taken only if there is no other. By hand it does not exist, and
        its offset has all digits of a float.
        """
        used = np.flatnonzero(omega)
        unit = abs(float(omega[used[np.argmax(self._influence(omega)[used])]]))
        narrow = None
        for digits in range(1, _EXACT + 1):
            short = np.zeros_like(omega)
            short[used] = [float(f"{c / unit:.{digits - 1}e}") for c in omega[used]]
            gap = self.gap(self._values(short))
            if gap is None:
                continue
            clear = gap[0], gap[1] - self._inexact(short)
            if clear[0] < clear[1]:
                return self._with_offset(short, clear)
            narrow = narrow or (short, gap)
        return None if narrow is None else self._with_offset(*narrow)

    def _with_offset(self, omega: FloatArray, gap: tuple[float, float]) -> Hyperplane | None:
        found = omega, shortest_between(*gap)
        return found if self._agree(found) else None

    def _inexact(self, omega: FloatArray) -> float:
        """By how much the rounding of sums may move two values of rows apart."""
        largest = np.abs(omega) * np.maximum(np.abs(self.lowest), np.abs(self.highest))
        return float(2 * np.count_nonzero(omega) * np.finfo(float).eps * largest.sum())

    def _influence(self, omega: FloatArray) -> FloatArray:
        """Half of what each feature can change in the value of a row; the whole could be infinite."""
        return np.abs(omega) * (self.highest / 2 - self.lowest / 2)

    def _values(self, omega: FloatArray) -> FloatArray:
        return np.asarray(_alone((omega, 0.0)).values(self.rows)[:, 0])

    def _agree(self, plane: Hyperplane) -> bool:
        """Whether every row goes to its side, as predictions decide it."""
        return bool(((_alone(plane).apply(self.rows) == Topology(1).n_leaves + 1) == self.right).all())


def _alone(plane: Hyperplane) -> ObliqueTree:
    """A tree with this hyperplane alone: it adds up sums in the order in which every tree does."""
    return ObliqueTree.of(Topology(1), plane[0][None, :], np.array([plane[1]]))


def shortest_between(low: float, high: float) -> float:
    """Find the shortest decimal of at least ``low`` and below ``high``.

    Parameters
    ----------
    low, high : float
        Finite, in this order, and different.

    Returns
    -------
    float
        A multiple of the largest power of ten that has one there; of several, the one nearest the middle.

    Examples
    --------
    >>> [shortest_between(*ends) for ends in ((26, 27), (95.5, 105), (-3, 5), (0.1, 0.2), (1.23, 1.27))]
    [26.0, 100.0, 0.0, 0.1, 1.25]
    """
    # As decimals, not as the binary numbers behind them: 0.1 is a decimal between 0.1 and 0.2.
    lower, upper = Fraction(repr(float(low))), Fraction(repr(float(high)))
    largest = Decimal(max(abs(low), abs(high))).adjusted() + 1
    for power in range(largest, largest - _POWERS, -1):
        step = Fraction(10) ** power
        first, last = math.ceil(lower / step), math.ceil(upper / step) - 1
        multiple = min(max(round((lower + upper) / (2 * step)), first), last)
        found = float(f"{multiple}e{power}")
        # A decimal of very many digits may be read as the upper end.
        if first <= last and found < high:
            return found
    return low

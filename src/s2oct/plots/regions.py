"""The regions of a tree in two dimensions, as polygons."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from s2oct.arrays import FloatArray
from s2oct.model.tree import ObliqueTree
from s2oct.plots.view import Plane, View
from s2oct.writers.rules import Leaf, Split, pruned

EDGE = 0.06
"""Part of the rows' range that is shown beyond them."""


@dataclass(frozen=True, eq=False)
class Regions:
    """What a tree makes of a rectangle of the plane.

    Attributes
    ----------
    window : ndarray of shape (4, 2)
        Corners of the rectangle.
    polygons : dict of int to ndarray of shape (corners, 2)
        The region of every part in the rectangle, by node id. They fill the rectangle and do not overlap.
    classes : dict of int to int or None
        Class index of every region; None where its rows are divided further.
    lines : dict of int to ndarray of shape (2, 2)
        The segment of each split's line that divides something, by node id.
    """

    window: FloatArray
    polygons: dict[int, FloatArray] = field(default_factory=dict)
    classes: dict[int, int | None] = field(default_factory=dict)
    lines: dict[int, FloatArray] = field(default_factory=dict)

    @classmethod
    def of(cls, tree: ObliqueTree, view: View) -> Regions:
        """Divide the rectangle around the rows of a view."""
        regions = cls(_window(view.points, with_zero=view.plane is None))
        if view.plane is None:
            regions._quadrants(pruned(tree))
        else:
            regions._cut(tree, pruned(tree), regions.window, view.plane)
        return regions

    def _add(self, node: int, polygon: FloatArray, class_index: int | None) -> None:
        self.polygons[node], self.classes[node] = polygon, class_index

    def _cut(self, tree: ObliqueTree, part: Leaf | Split, polygon: FloatArray, plane: Plane) -> None:
        """Divide a convex polygon of the plane by the splits below a part."""
        if len(polygon) < 3:
            return
        if isinstance(part, Leaf):
            self._add(part.node, polygon, part.class_index)
            return
        origin, a, b = plane
        omega, gamma = tree.omega[part.node - 1], float(tree.gamma[part.node - 1])
        normal = np.array([omega @ a, omega @ b])
        left, right, cut = _halves(polygon, normal, gamma - float(omega @ origin))
        if len(left) >= 3 and len(right) >= 3 and len(cut) == 2:
            self.lines[part.node] = cut
        self._cut(tree, part.left, left, plane)
        self._cut(tree, part.right, right, plane)

    def _quadrants(self, root: Leaf | Split) -> None:
        """Divide the plane of split values: by the first split at 0 across, by the second at 0 up and down."""
        if isinstance(root, Leaf):
            self._add(root.node, self.window, root.class_index)
            return
        left, right, self.lines[root.node] = _halves(self.window, np.array([1.0, 0.0]), 0.0)
        for side, half in ((root.left, left), (root.right, right)):
            if isinstance(side, Leaf):
                self._add(side.node, half, side.class_index)
                continue
            below, above, self.lines[side.node] = _halves(half, np.array([0.0, 1.0]), 0.0)
            for part, quarter in ((side.left, below), (side.right, above)):
                classes = {leaf.class_index for leaf in part.leaves}
                self._add(part.node, quarter, classes.pop() if len(classes) == 1 else None)


def _window(points: FloatArray, *, with_zero: bool) -> FloatArray:
    """The rectangle around the rows, as a polygon."""
    corners = np.vstack([points, np.zeros((1, 2))]) if with_zero or not len(points) else points
    low, high = corners.min(axis=0), corners.max(axis=0)
    size = np.where(high > low, high - low, 1.0)
    low, high = low - EDGE * size, high + EDGE * size
    return np.array([[low[0], low[1]], [high[0], low[1]], [high[0], high[1]], [low[0], high[1]]])


def _halves(polygon: FloatArray, normal: FloatArray, offset: float) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The parts of a convex polygon where normal . x <= offset and where it is not, and the cut between them."""
    value = polygon @ normal - offset
    sides: tuple[list[FloatArray], list[FloatArray]] = ([], [])
    cut: list[FloatArray] = []
    for i, corner in enumerate(polygon):
        nxt = (i + 1) % len(polygon)
        sides[int(value[i] > 0)].append(corner)
        if (value[i] > 0) != (value[nxt] > 0):
            crossing = corner + (polygon[nxt] - corner) * (value[i] / (value[i] - value[nxt]))
            cut.append(crossing)
            sides[0].append(crossing)
            sides[1].append(crossing)
    return np.array(sides[0]), np.array(sides[1]), np.array(cut).reshape(-1, 2)

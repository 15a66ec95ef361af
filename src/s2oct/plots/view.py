"""Where rows stand in two dimensions: by two features, by principal components, or by the values of splits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from s2oct.arrays import FloatArray
from s2oct.errors import InvalidProblem
from s2oct.estimators.fitted import FittedRows
from s2oct.looks import IF_SO, OTHERWISE
from s2oct.writers.rules import Leaf, Split, pruned

Plane = tuple[FloatArray, FloatArray, FloatArray]
"""Origin and two directions in feature space: the point (u, v) of the picture is origin + u a + v b."""


@dataclass(frozen=True, eq=False)
class View:
    """Where rows stand in the picture, and what the picture is a section of.

    Attributes
    ----------
    points : ndarray of shape (rows, 2)
    labels : tuple of str
        Names of the two axes.
    plane : tuple of ndarray or None
        The plane in feature space that is shown; None where both axes are values of splits.
    note : str
        What the regions leave out; empty where they are exact.
    """

    points: FloatArray
    labels: tuple[str, str]
    plane: Plane | None
    note: str = ""


def view_of(rows: FittedRows, features: str | Sequence[int | str] | None) -> View:
    """The view that is asked for: two features, "splits", "pca", or None for the one that suits the rows."""
    p = rows.X.shape[1]
    if features is None:
        features = (0, 1) if p == 2 else "splits"
    if isinstance(features, str):
        if features == "splits":
            return _splits_view(rows)
        if features == "pca":
            return _pca_view(rows)
        raise InvalidProblem(f"Expected features to be two features, 'splits', 'pca' or None, got {features!r}.")
    chosen = [_position(feature, rows.feature_names) for feature in features]
    if len(chosen) != 2 or chosen[0] == chosen[1]:
        raise InvalidProblem(f"Expected two different features, got {list(features)}.")
    first, second = chosen
    origin = np.median(rows.X, axis=0)
    origin[chosen] = 0.0
    directions = np.zeros((2, p))
    directions[0, first] = directions[1, second] = 1.0
    used = np.flatnonzero(rows.tree.omega.any(axis=0))
    held = len(set(used.tolist()) - set(chosen))
    note = ""
    if held:
        others = (
            "feature of the tree has its median" if held == 1 else f"{held} features of the tree have their medians"
        )
        note = f"regions where the other {others}"
    names = rows.features[first].title, rows.features[second].title
    return View(rows.X[:, chosen], names, (origin, directions[0], directions[1]), note)


def _position(feature: int | str, names: Sequence[str]) -> int:
    if isinstance(feature, str):
        if feature in names:
            return list(names).index(feature)
    elif isinstance(feature, (int, np.integer)) and not isinstance(feature, bool) and 0 <= feature < len(names):
        return int(feature)
    raise InvalidProblem(f"Expected features by name or by position below {len(names)}, got {feature!r}.")


def _pca_view(rows: FittedRows) -> View:
    """Principal components of the standardised features; constant ones have no part in them."""
    if rows.X.shape[1] < 2:
        raise InvalidProblem("Expected at least two features for principal components, got one.")
    mean, spread = rows.X.mean(axis=0), np.where(rows.spread > 0, rows.spread, 1.0)
    standard = (rows.X - mean) / spread
    _, sizes, components = np.linalg.svd(standard, full_matrices=False)
    if len(components) < 2:
        raise InvalidProblem("Expected at least two rows for principal components, got one.")
    # The sign of a component is arbitrary; this one is the same on every machine.
    pair = components[:2] * np.sign(components[np.arange(2), np.abs(components[:2]).argmax(axis=1)])[:, None]
    shares = sizes**2 / max(float((sizes**2).sum()), 1e-300)
    labels = (f"1st principal component ({shares[0]:.0%})", f"2nd principal component ({shares[1]:.0%})")
    plane = (mean, pair[0] * spread, pair[1] * spread)
    return View(standard @ pair.T, labels, plane, "regions on the plane of the two components through the mean")


def _splits_view(rows: FittedRows) -> View:
    """Values of the first two splits on each row's way; every row stands in the region it is in."""
    values, root = rows.tree.values(rows.X), pruned(rows.tree)
    if isinstance(root, Leaf):
        across, up = np.zeros(len(rows.X)), np.zeros(len(rows.X))
        return View(np.column_stack([across, up]), ("no split", ""), None, "the tree splits nothing")
    across = values[:, root.node - 1]
    up = np.zeros(len(rows.X))
    sides = ((root.left, across <= 0), (root.right, across > 0))
    for side, here in sides:
        if isinstance(side, Split):
            up[here] = values[here, side.node - 1]
    height = float(np.abs(up).max(initial=0.0)) or 1.0
    for side, here in sides:
        if isinstance(side, Leaf):
            # A side without a further split has no second value; its rows are spread evenly to keep them visible.
            up[here] = np.linspace(-height, height, int(here.sum()))
    seconds = [side.node for side in (root.left, root.right) if isinstance(side, Split)]
    second = f"split{'s' * (len(seconds) > 1)} {' and '.join(map(str, seconds))}"
    deeper = any(len(part.splits) > 1 for part in (root.left, root.right))
    note = "grey regions are divided further by splits that are not shown" if deeper else ""
    names = (f"{IF_SO} ← split {root.node} → {OTHERWISE}", f"{IF_SO} ← {second} → {OTHERWISE}" if seconds else "")
    return View(np.column_stack([_damped(across), _damped(up)]), names, None, note)


def _damped(values: FloatArray) -> FloatArray:
    """Values up to ten times their median size, and by their root beyond: a far row must not hide the rest."""
    far = 10 * float(np.median(np.abs(values))) if len(values) else 0.0
    if far == 0:
        return values
    size = np.abs(values)
    return np.asarray(np.sign(values) * np.where(size <= far, size, far * np.sqrt(size / far)))

"""The regions of a tree in the plane of two features."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from s2oct.arrays import FloatArray, IntArray
from s2oct.errors import InvalidProblem
from s2oct.estimators.fitted import FittedRows, read_fit
from s2oct.looks import IF_SO, OTHERWISE, class_colour
from s2oct.output.plots.style import (
    Display,
    Ink,
    as_function,
    class_marker,
    figure_of,
    fit_text,
    frameless_legend,
    open_frame,
    plain_ticks,
    text_width,
)
from s2oct.trees.rules import Leaf, Split, pruned
from s2oct.trees.tree import ObliqueTree

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Plane = tuple[FloatArray, FloatArray, FloatArray]
"""Origin and two directions in feature space: the point (u, v) of the picture is origin + u a + v b."""

Region = tuple[int, FloatArray, int | None]
"""Node id, corners and class index of a part of the picture; no class if its rows are split further."""

EDGE = 0.06
"""Padding around the rows, as a share of their range."""
DOTS = 20_000
"""Maximum number of unlabeled rows drawn; more dots would add nothing."""
LEGEND_NAME, LEGEND_LINE, LEGEND_GAP = 1.5, 0.2, 0.48
"""Inches for a class name in the legend, for a legend line, and for ticks and label between axes and legend."""
VECTORS = 1_000
"""Above this number of dots, vector files contain an image, since each dot takes a hundred bytes."""


@dataclass(frozen=True, eq=False)
class View:
    """Positions of rows in the picture, and the plane that it shows.

    Attributes
    ----------
    points : ndarray of shape (rows, 2)
    labels : tuple of str
        Names of the two axes.
    plane : tuple of ndarray or None
        The plane in feature space that is shown; None if both axes are values of splits.
    note : str
        A caveat about the regions; empty if they are exact.
    """

    points: FloatArray
    labels: tuple[str, str]
    plane: Plane | None
    note: str = ""


@dataclass(eq=False, repr=False)
class PartitionDisplay(Display):
    """Picture of the regions of a tree in two dimensions.

    It is recommended to use `PartitionDisplay.from_estimator` to make one.

    Parameters
    ----------
    tree : ObliqueTree
        The tree, in the units of the features.
    view : View
        The positions of the rows, and the plane that is shown.
    class_names : sequence of str
        Names of the classes.
    codes : ndarray of shape (rows,)
        Class index of each labeled row, -1 for unlabeled rows.
    predicted : ndarray of shape (rows,)
        Predicted class index of each row.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    regions_ : dict of int to ndarray of shape (corners, 2)
        The region of every visible leaf, by node id. Regions fill the picture and do not overlap.
    lines_ : dict of int to ndarray of shape (2, 2)
        The part of each split's line that separates regions, by node id.

    See Also
    --------
    plot_partition : The same in one call.

    Examples
    --------
    >>> from s2oct import S2OCTClassifier
    >>> from s2oct.export import plot_partition
    >>> X = [[1.0, 3.0], [2.0, 1.0], [8.0, 2.0], [9.0, 4.0], [1.5, 1.5], [3.0, 2.5], [7.0, 3.5], [7.5, 0.5]]
    >>> y = ["no", "no", "yes", "yes", None, None, None, None]
    >>> clf = S2OCTClassifier(depth=1, random_state=0).fit(X, y, totals={"yes": 2})
    >>> display = plot_partition(clf, X, y, feature_names=["age", "education"])
    >>> sorted(display.regions_), sorted(display.lines_)
    ([2, 3], [1])
    >>> import matplotlib.pyplot as plt
    >>> plt.close(display.figure_)
    """

    _size = 6.4, 5.0
    tree: ObliqueTree
    _: KW_ONLY
    view: View
    class_names: Sequence[str]
    codes: IntArray
    predicted: IntArray
    regions_: dict[int, FloatArray] = field(init=False)
    lines_: dict[int, FloatArray] = field(init=False)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any = None,
        *,
        features: str | Sequence[int | str] | None = None,
        feature_names: Sequence[str] | None = None,
        class_names: Sequence[str] | None = None,
        ax: Axes | None = None,
    ) -> PartitionDisplay:
        """Draw the regions of a fitted tree with rows.

        Parameters
        ----------
        estimator : S2OCTClassifier or OCTHClassifier
            A fitted one.
        X : array-like or data frame of shape (n_rows, n_features)
            Rows to show, usually those of the fit.
        y : array-like of shape (n_rows,), optional
            Labels, with markers for unlabeled rows; by default all rows are unlabeled.
        features : pair of int or str, "splits", "pca" or None
            The axes. Two features by position or name: the regions are those of a row whose other features are at
            their medians. "pca": the first two principal components of the standardised features, through the mean.
            "splits": the values of the first and second split on each row's path, so that every row lies in its own
            region, whatever the number of features; later splits are not shown. None uses both features if there are
            two, and "splits" otherwise.
        feature_names, class_names : sequence of str, optional
            Names to show instead of the estimator's.
        ax : matplotlib Axes, optional
            Axes to draw on; by default those of a new figure.

        Returns
        -------
        PartitionDisplay
            The display, drawn.
        """
        rows = read_fit(estimator, X, y, feature_names=feature_names, class_names=class_names)
        return cls.of_rows(rows, features).plot(ax=ax)

    @classmethod
    def of_rows(cls, rows: FittedRows, features: str | Sequence[int | str] | None = None) -> PartitionDisplay:
        """Make the display of rows without drawing it.

        Parameters
        ----------
        rows : FittedRows
            A fitted tree and rows.
        features : pair of int or str, "splits", "pca" or None
            The axes, as in `from_estimator`.

        Returns
        -------
        PartitionDisplay
            The display.
        """
        return cls(
            rows.tree,
            view=_view_of(rows, features),
            class_names=rows.class_names,
            codes=rows.codes,
            predicted=rows.predicted,
        )

    def _draw(self, ax: Axes) -> None:
        ink = Ink.in_force()
        window = _window(self.view.points, with_zero=self.view.plane is None)
        self._fill(ax, ink, window)
        self._rows(ax, ink)
        self._dress(ax, ink, window)

    def _fill(self, ax: Axes, ink: Ink, window: FloatArray) -> None:
        from matplotlib.patches import Polygon

        self.regions_, self.lines_ = {}, {}
        for node, corners, class_index in self._divided(pruned(self.tree), window, 0):
            self.regions_[node] = corners
            colour = ink.faint if class_index is None else class_colour(class_index)
            ax.add_patch(Polygon(corners, facecolor=colour, alpha=0.16, edgecolor="none", linewidth=0, zorder=0))
        for node, ends in self.lines_.items():
            width = 1.6 if node == 1 else 1.1
            ax.plot(*ends.T, color=ink.strong, linewidth=width, solid_capstyle="butt", zorder=2)

    def _divided(self, part: Leaf | Split, polygon: FloatArray, level: int) -> Iterator[Region]:
        """Divide a convex polygon by the splits of a subtree, and keep the lines between its parts."""
        if len(polygon) < 3:
            return
        line = None if isinstance(part, Leaf) else self._line(part.node, level)
        if isinstance(part, Leaf) or line is None:
            classes = {leaf.class_index for leaf in part.leaves}
            yield part.node, polygon, classes.pop() if len(classes) == 1 else None
            return
        left, right, cut = _halves(polygon, *line)
        if len(left) >= 3 and len(right) >= 3 and len(cut) == 2:
            self.lines_[part.node] = cut
        yield from self._divided(part.left, left, level + 1)
        yield from self._divided(part.right, right, level + 1)

    def _line(self, node: int, level: int) -> tuple[FloatArray, float] | None:
        """Return normal vector and offset of a split's line, None if the picture does not show it."""
        if self.view.plane is None:
            # The axes are the values of the first and second split.
            return (np.eye(2)[level], 0.0) if level < 2 else None
        origin, a, b = self.view.plane
        omega = self.tree.omega[node - 1]
        return np.array([omega @ a, omega @ b]), float(self.tree.gamma[node - 1]) - float(omega @ origin)

    def _rows(self, ax: Axes, ink: Ink) -> None:
        """Draw the unlabeled rows as small marks, and the labeled rows above them as large ones."""
        for c, name in enumerate(self.class_names):
            free = np.flatnonzero((self.codes < 0) & (self.predicted == c))
            free = free[:: -(-len(free) // DOTS) or 1]
            small: dict[str, Any] = {"s": 9, "color": class_colour(c), "alpha": 0.55, "linewidths": 0, "zorder": 1}
            self._mark(ax, c, free, f"{fit_text(name, LEGEND_NAME, 9)}, by the tree", small)
        for c, name in enumerate(self.class_names):
            known = np.flatnonzero(self.codes == c)
            large: dict[str, Any] = {"s": 38, "facecolor": class_colour(c), "edgecolor": ink.strong, "linewidths": 1.0}
            self._mark(ax, c, known, f"{fit_text(name, LEGEND_NAME, 9)}, labeled", large | {"zorder": 3})

    def _mark(self, ax: Axes, c: int, rows: IntArray, label: str, look: dict[str, Any]) -> None:
        if len(rows):
            points = self.view.points[rows]
            ax.scatter(*points.T, marker=class_marker(c), label=label, rasterized=len(rows) > VECTORS, **look)

    def _dress(self, ax: Axes, ink: Ink, window: FloatArray) -> None:
        ax.set_xlim(window[:, 0].min(), window[:, 0].max())
        ax.set_ylim(window[:, 1].min(), window[:, 1].max())
        _, labels = ax.get_legend_handles_labels()
        figure, box = figure_of(ax), ax.get_position()
        width, height = figure.get_figwidth() * box.width, figure.get_figheight() * box.height
        n_columns = 2 if 2 * max((text_width(label, 9) for label in labels), default=0.0) + 0.8 <= width else 1
        height -= LEGEND_LINE * -(-len(labels) // n_columns)
        ax.set_xlabel(fit_text(self.view.labels[0], width, 9), fontsize=9, parse_math=False)
        ax.set_ylabel(fit_text(self.view.labels[1], height, 9), fontsize=9, parse_math=False)
        if self.view.plane is None:
            ax.set_xticks([0.0])
            ax.set_yticks([0.0])
        plain_ticks(ax)
        open_frame(ax)
        if self.view.note:
            ax.set_title(self.view.note, fontsize=8.5, color=ink.muted, loc="left", parse_math=False)
        if labels:
            from matplotlib.transforms import ScaledTranslation

            # Inches below the axes, not a share of their height, which would overlap the label of short axes.
            below = ax.transAxes + ScaledTranslation(0, -LEGEND_GAP, figure.dpi_scale_trans)
            place: dict[str, Any] = {"loc": "upper center", "bbox_to_anchor": (0.5, 0.0), "bbox_transform": below}
            frameless_legend(ax, borderaxespad=0.0, handlelength=1.0, ncols=n_columns, **place)


plot_partition = as_function("plot_partition", PartitionDisplay.from_estimator)


def _view_of(rows: FittedRows, features: str | Sequence[int | str] | None) -> View:
    """Return the requested view: two features, "splits", "pca", or None for the one that suits the rows."""
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
    """Return the view of principal components of the standardised features, without constant features."""
    if rows.X.shape[1] < 2:
        raise InvalidProblem("Expected at least two features for principal components, got one.")
    mean, spread = rows.X.mean(axis=0), np.where(rows.spread > 0, rows.spread, 1.0)
    standard = (rows.X - mean) / spread
    _, sizes, components = np.linalg.svd(standard, full_matrices=False)
    if len(components) < 2:
        raise InvalidProblem("Expected at least two rows for principal components, got one.")
    # The sign of a component is arbitrary; this makes it the same on every machine.
    pair = components[:2] * np.sign(components[np.arange(2), np.abs(components[:2]).argmax(axis=1)])[:, None]
    shares = sizes**2 / max(float((sizes**2).sum()), 1e-300)
    labels = (f"1st principal component ({shares[0]:.0%})", f"2nd principal component ({shares[1]:.0%})")
    plane = (mean, pair[0] * spread, pair[1] * spread)
    return View(standard @ pair.T, labels, plane, "regions on the plane of the two components through the mean")


def _splits_view(rows: FittedRows) -> View:
    """Return the view of the first two splits' values on each row's path; every row lies in its own region."""
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
            # A side without a second split has no second value; its rows are spread evenly to stay visible.
            up[here] = np.linspace(-height, height, int(here.sum()))
    seconds = [side.node for side in (root.left, root.right) if isinstance(side, Split)]
    second = f"split{'s' * (len(seconds) > 1)} {' and '.join(map(str, seconds))}"
    deeper = any(len(part.splits) > 1 for part in (root.left, root.right))
    note = "grey regions are divided further by splits that are not shown" if deeper else ""
    names = (f"{IF_SO} ← split {root.node} → {OTHERWISE}", f"{IF_SO} ← {second} → {OTHERWISE}" if seconds else "")
    return View(np.column_stack([_damped(across), _damped(up)]), names, None, note)


def _damped(values: FloatArray) -> FloatArray:
    """Dampen values beyond ten times their median size by a root, so that outliers do not hide the rest."""
    far = 10 * float(np.median(np.abs(values))) if len(values) else 0.0
    if far == 0:
        return values
    size = np.abs(values)
    return np.asarray(np.sign(values) * np.where(size <= far, size, far * np.sqrt(size / far)))


def _window(points: FloatArray, *, with_zero: bool) -> FloatArray:
    """Return the rectangle around the rows, as a polygon."""
    corners = np.vstack([points, np.zeros((1, 2))]) if with_zero or not len(points) else points
    low, high = corners.min(axis=0), corners.max(axis=0)
    size = np.where(high > low, high - low, 1.0)
    low, high = low - EDGE * size, high + EDGE * size
    return np.array([[low[0], low[1]], [high[0], low[1]], [high[0], high[1]], [low[0], high[1]]])


def _halves(polygon: FloatArray, normal: FloatArray, offset: float) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the parts of a convex polygon with normal . x <= offset and without, and the cut between them."""
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

"""The plane as a tree divides it: the paper's Figure 2, for two features or two projections of many."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from s2oct.arrays import FloatArray, IntArray
from s2oct.estimators.fitted import FittedRows, read_fit
from s2oct.looks import class_colour
from s2oct.model.tree import ObliqueTree
from s2oct.plots.display import Display
from s2oct.plots.docstrings import with_sections_of
from s2oct.plots.regions import Regions
from s2oct.plots.style import Ink, class_marker, figure_of, fit_text, new_axes, open_frame, plain_ticks, text_width
from s2oct.plots.view import View, view_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

DOTS = 20_000
"""Unlabeled rows beyond this many are thinned out: more dots show no more."""
LEGEND_NAME, LEGEND_LINE, LEGEND_GAP = 1.5, 0.2, 0.48
"""Inches for the name of a class in the legend, of a line of it, and for ticks and label between axes and legend."""
VECTORS = 1_000
"""More dots than this go into vector files as an image, since each takes a hundred bytes."""


class PartitionDisplay(Display):
    """Picture of the regions of a tree in two dimensions.

    It is recommended to use `PartitionDisplay.from_estimator` to make one.

    Parameters
    ----------
    tree : ObliqueTree
        The tree, in the units of the features.
    view : View
        Where the rows stand, and the plane that is shown.
    class_names : sequence of str
        Names of the classes.
    codes : ndarray of shape (rows,)
        Class index of each labeled row, -1 for an unlabeled one.
    predicted : ndarray of shape (rows,)
        Class index that the tree gives each row.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    regions_ : dict of int to ndarray of shape (corners, 2)
        The region of every leaf that is in the picture, by node id. They fill the picture and do not overlap.
    lines_ : dict of int to ndarray of shape (2, 2)
        The part of each split's line that decides something, by node id.

    See Also
    --------
    plot_partition : The same in one call.
    """

    regions_: dict[int, FloatArray]
    lines_: dict[int, FloatArray]

    def __init__(
        self, tree: ObliqueTree, *, view: View, class_names: Sequence[str], codes: IntArray, predicted: IntArray
    ) -> None:
        self.tree = tree
        self.view = view
        self.class_names = class_names
        self.codes = codes
        self.predicted = predicted

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
        """Draw the regions of a fitted tree with rows in them.

        Parameters
        ----------
        estimator : S2OCTClassifier or OCTHClassifier
            A fitted one.
        X : array-like or data frame of shape (n_rows, n_features)
            Rows to show; usually those of the fit.
        y : array-like of shape (n_rows,), optional
            Labels with the markers for unlabeled rows; without, all rows count as unlabeled.
        features : pair of int or str, "splits", "pca" or None
            What the axes are. Two features by position or name: the regions are those of a row whose other features
            have their medians. "pca": the first two principal components of the standardised features, through the
            mean. "splits": the value of the first split and the value of the second on each row's own way, so
            that every row stands in the region it is in, whatever the number of features; splits further down are
            not shown. None takes both features where there are two and "splits" otherwise.
        feature_names, class_names : sequence of str, optional
            Names to show instead of the estimator's.
        ax : matplotlib Axes, optional
            Where to draw; a new figure otherwise.

        Returns
        -------
        PartitionDisplay
            The display, drawn.
        """
        rows = read_fit(estimator, X, y, feature_names=feature_names, class_names=class_names)
        return cls.of_rows(rows, features).plot(ax=ax)

    @classmethod
    def of_rows(cls, rows: FittedRows, features: str | Sequence[int | str] | None = None) -> PartitionDisplay:
        """Make the display of rows that are already read, without drawing it.

        Parameters
        ----------
        rows : FittedRows
            A fitted tree and rows.
        features : pair of int or str, "splits", "pca" or None
            What the axes are, as in `from_estimator`.

        Returns
        -------
        PartitionDisplay
            The display.
        """
        return cls(
            rows.tree,
            view=view_of(rows, features),
            class_names=rows.class_names,
            codes=rows.codes,
            predicted=rows.predicted,
        )

    def _new_axes(self) -> Axes:
        return new_axes((6.4, 5.0))

    def _draw(self, ax: Axes) -> None:
        ink = Ink.in_force()
        regions = Regions.of(self.tree, self.view)
        self._fill(ax, ink, regions)
        self._rows(ax, ink)
        self._dress(ax, ink, regions.window)
        self.regions_, self.lines_ = regions.polygons, regions.lines

    def _fill(self, ax: Axes, ink: Ink, regions: Regions) -> None:
        from matplotlib.patches import Polygon

        for node, corners in regions.polygons.items():
            class_index = regions.classes[node]
            colour = ink.faint if class_index is None else class_colour(class_index)
            ax.add_patch(
                Polygon(corners, closed=True, facecolor=colour, alpha=0.16, edgecolor="none", linewidth=0, zorder=0)
            )
        for node, ends in regions.lines.items():
            ax.plot(
                ends[:, 0],
                ends[:, 1],
                color=ink.strong,
                linewidth=1.6 if node == 1 else 1.1,
                solid_capstyle="butt",
                zorder=2,
            )

    def _rows(self, ax: Axes, ink: Ink) -> None:
        """Draw the unlabeled rows as small marks, and the labeled rows above them as large ones."""
        for c, name in enumerate(self.class_names):
            free = np.flatnonzero((self.codes < 0) & (self.predicted == c))
            free = free[:: -(-len(free) // DOTS) or 1]
            small: dict[str, Any] = {"s": 9, "color": class_colour(c), "alpha": 0.55, "linewidths": 0, "zorder": 1}
            small["rasterized"] = len(free) > VECTORS
            self._mark(ax, c, free, f"{fit_text(name, LEGEND_NAME, 9)}, by the tree", small)
        for c, name in enumerate(self.class_names):
            known = np.flatnonzero(self.codes == c)
            large: dict[str, Any] = {"s": 38, "facecolor": class_colour(c), "edgecolor": ink.strong, "zorder": 3}
            large["linewidths"] = 1.0
            self._mark(ax, c, known, f"{fit_text(name, LEGEND_NAME, 9)}, labeled", large)

    def _mark(self, ax: Axes, c: int, rows: IntArray, label: str, look: dict[str, Any]) -> None:
        if len(rows):
            points = self.view.points[rows]
            ax.scatter(points[:, 0], points[:, 1], marker=class_marker(c), label=label, **look)

    def _dress(self, ax: Axes, ink: Ink, window: FloatArray) -> None:
        ax.set_xlim(window[:, 0].min(), window[:, 0].max())
        ax.set_ylim(window[:, 1].min(), window[:, 1].max())
        handles, labels = ax.get_legend_handles_labels()
        figure, place = figure_of(ax), ax.get_position()
        width, height = figure.get_figwidth() * place.width, figure.get_figheight() * place.height
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
        if handles:
            from matplotlib.transforms import ScaledTranslation

            # Inches below the axes, whatever their height: a share of it would not clear the label of short ones.
            below = ax.transAxes + ScaledTranslation(0, -LEGEND_GAP, figure.dpi_scale_trans)
            legend = ax.legend(
                handles,
                labels,
                loc="upper center",
                bbox_to_anchor=(0.5, 0.0),
                bbox_transform=below,
                borderaxespad=0.0,
                handlelength=1.0,
                ncols=n_columns,
                frameon=False,
                fontsize=9,
            )
            for text in legend.get_texts():
                text.set_parse_math(False)


@with_sections_of(PartitionDisplay.from_estimator)
def plot_partition(
    estimator: Any,
    X: Any,
    y: Any = None,
    *,
    features: str | Sequence[int | str] | None = None,
    feature_names: Sequence[str] | None = None,
    class_names: Sequence[str] | None = None,
    ax: Axes | None = None,
) -> PartitionDisplay:
    """Draw the regions of a fitted tree in two dimensions, with rows in them.

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
    return PartitionDisplay.from_estimator(
        estimator, X, y, features=features, feature_names=feature_names, class_names=class_names, ax=ax
    )

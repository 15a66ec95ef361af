"""The tree as a picture: a split shows its rule, a leaf its class and its rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

from s2oct.arrays import FloatArray, IntArray
from s2oct.errors import InvalidProblem
from s2oct.estimators.fitted import FittedRows, read_fit
from s2oct.model.features import Feature
from s2oct.model.tree import ObliqueTree
from s2oct.plots.display import Display
from s2oct.plots.docstrings import with_sections_of
from s2oct.plots.shown_tree import ShownTree
from s2oct.plots.style import need_matplotlib, new_axes
from s2oct.plots.tree_layout import TreeLayout
from s2oct.plots.tree_pen import TreePen

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.patches import FancyBboxPatch


class TreeDisplay(Display):
    """Picture of a tree.

    It is recommended to use `TreeDisplay.from_estimator` to make one.

    Parameters
    ----------
    tree : ObliqueTree
        The tree, in the units of the features.
    features : sequence of Feature or str
        Every feature; a name alone is that of a number.
    class_names : sequence of str
        Names of the classes.
    labeled : ndarray of shape (n_leaves, n_classes)
        Labeled rows of each leaf and class.
    unlabeled : ndarray of shape (n_leaves,)
        Unlabeled rows of each leaf.
    spread : ndarray of shape (n_features,)
        Standard deviation of each feature: it decides which terms of a long rule are shown.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    boxes_ : dict of int to matplotlib patch
        The frame of every split and leaf that is shown, by node id.
    titles_ : dict of str to str
        By the id of a text in an SVG file, the whole rule of which it shows a part.

    See Also
    --------
    plot_tree : The same in one call.
    tree_to_text : The tree as nested rules.

    Examples
    --------
    >>> from s2oct import S2OCTClassifier
    >>> from s2oct.export import TreeDisplay
    >>> X = [[1.0], [2.0], [8.0], [9.0], [1.5], [3.0], [7.0], [7.5]]
    >>> y = ["no", "no", "yes", "yes", None, None, None, None]
    >>> clf = S2OCTClassifier(depth=1, random_state=0).fit(X, y, totals={"yes": 2})
    >>> display = TreeDisplay.from_estimator(clf, X, y, feature_names=["age"])
    >>> sorted(display.boxes_)
    [1, 2, 3]
    >>> import matplotlib.pyplot as plt
    >>> plt.close(display.figure_)
    """

    boxes_: dict[int, FancyBboxPatch]
    titles_: dict[str, str]

    def __init__(
        self,
        tree: ObliqueTree,
        *,
        features: Sequence[Feature | str],
        class_names: Sequence[str],
        labeled: IntArray,
        unlabeled: IntArray,
        spread: FloatArray,
    ) -> None:
        self.tree = tree
        self.features = features
        self.class_names = class_names
        self.labeled = labeled
        self.unlabeled = unlabeled
        self.spread = spread

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any = None,
        *,
        feature_names: Sequence[str] | None = None,
        class_names: Sequence[str] | None = None,
        max_features: int = 3,
        ax: Axes | None = None,
    ) -> TreeDisplay:
        """Draw a fitted tree with the rows that end in its leaves.

        Parameters
        ----------
        estimator : S2OCTClassifier or OCTHClassifier
            A fitted one.
        X : array-like or data frame of shape (n_rows, n_features)
            Rows to count in the leaves; usually those of the fit.
        y : array-like of shape (n_rows,), optional
            Labels with the markers for unlabeled rows; without, all rows count as unlabeled.
        feature_names, class_names : sequence of str, optional
            Names to show instead of the estimator's.
        max_features : int
            Terms of a rule that are shown. A longer rule shows those of largest influence and how many were left out.
        ax : matplotlib Axes, optional
            Where to draw; a new figure of fitting size otherwise. The picture shrinks to the size of the axes.

        Returns
        -------
        TreeDisplay
            The display, drawn.
        """
        rows = read_fit(estimator, X, y, feature_names=feature_names, class_names=class_names)
        return cls.of_rows(rows).plot(ax=ax, max_features=max_features)

    @classmethod
    def of_rows(cls, rows: FittedRows) -> TreeDisplay:
        """Make the display of rows that are already read, without drawing it.

        Parameters
        ----------
        rows : FittedRows
            A fitted tree and rows.

        Returns
        -------
        TreeDisplay
            The display.
        """
        return cls(
            rows.tree,
            features=rows.features,
            class_names=rows.class_names,
            labeled=rows.labeled_counts,
            unlabeled=rows.unlabeled_counts,
            spread=rows.spread,
        )

    def plot(self, ax: Axes | None = None, *, max_features: int = 3) -> Self:
        """Draw the tree; see `from_estimator`.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure otherwise.
        max_features : int
            Terms of a rule that are shown.

        Returns
        -------
        self
            The display, with what was drawn in its attributes.
        """
        need_matplotlib()
        self._max_features = max_features
        return super().plot(ax)

    def figsize(self, max_features: int = 3) -> tuple[float, float]:
        """Compute the size at which the letters have their full size.

        Parameters
        ----------
        max_features : int
            Terms of a rule that are shown.

        Returns
        -------
        tuple of float
            Width and height in inches.
        """
        layout = TreeLayout.of(self._shown(max_features))
        return layout.width, layout.height

    def _new_axes(self) -> Axes:
        return new_axes(self.figsize(self._max_features), bare=True)

    def _draw(self, ax: Axes) -> None:
        shown = self._shown(self._max_features)
        pen = TreePen(shown, TreeLayout.of(shown), ax)
        pen.draw()
        self.boxes_, self.titles_ = pen.boxes, pen.titles

    def _shown(self, max_features: int) -> ShownTree:
        if max_features < 1:
            raise InvalidProblem(f"Expected max_features of at least 1, got {max_features}.")
        return ShownTree(
            self.tree,
            features=self.features,
            class_names=self.class_names,
            labeled=self.labeled,
            unlabeled=self.unlabeled,
            spread=self.spread,
            max_features=max_features,
        )


@with_sections_of(TreeDisplay.from_estimator)
def plot_tree(
    estimator: Any,
    X: Any,
    y: Any = None,
    *,
    feature_names: Sequence[str] | None = None,
    class_names: Sequence[str] | None = None,
    max_features: int = 3,
    ax: Axes | None = None,
) -> TreeDisplay:
    """Draw a fitted tree: splits with their rules, leaves with their rows."""
    return TreeDisplay.from_estimator(
        estimator, X, y, feature_names=feature_names, class_names=class_names, max_features=max_features, ax=ax
    )

"""The tree as a picture: a split shows its hyperplane as signed bars, a leaf its class and its rows."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from s2oct.arrays import FloatArray, IntArray
from s2oct.errors import InvalidProblem
from s2oct.estimators.fitted import FittedRows, read_fit
from s2oct.model.tree import ObliqueTree
from s2oct.plots.style import (
    Ink,
    class_colour,
    figure_of,
    fit_text,
    need_matplotlib,
    new_axes,
    plain,
    text_on,
    text_width,
)
from s2oct.writers.rules import Leaf, Split, pruned

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.patches import FancyBboxPatch

POINTS = 9.0
"""Font size at full scale; lengths below are inches at full scale."""
LINE, PAD, GAP, LEVEL_GAP, MARGIN = 0.19, 0.09, 0.2, 0.42, 0.12
LEAF_WIDTH, SPLIT_WIDTH, NARROWEST = (1.3, 2.1), 3.0, 3.6
"""Least and most of a leaf, most of a split, and least of a whole picture."""
NAME_SHARE = 0.56
"""Part of a split's width that is for the names of its features."""
LEGEND = "labeled rows by class"
RULE_CAPTION = "Rows for which a rule holds go left, the others right."
BARS_CAPTION = (
    "Bars weigh the features of a split, per standard deviation: the larger a feature with a bar to the left, the more "
    "it draws a row to the left."
)


class TreeDisplay:
    """Picture of a tree.

    It is recommended to use `TreeDisplay.from_estimator` to make one.

    Parameters
    ----------
    tree : ObliqueTree
        The tree, in the units of the features.
    feature_names, class_names : sequence of str
        Names of the features and of the classes.
    labeled : ndarray of shape (n_leaves, n_classes)
        Labeled rows of each leaf and class.
    unlabeled : ndarray of shape (n_leaves,)
        Unlabeled rows of each leaf.
    spread : ndarray of shape (n_features,)
        Standard deviation of each feature, by which its bars are measured.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    boxes_ : dict of int to matplotlib patch
        The frame of every split and leaf that is shown, by node id.
    bars_ : dict of int to list of matplotlib patches
        The bars of every split over several features, the longest first.

    See Also
    --------
    plot_tree : The same in one call.
    tree_to_text : The tree as rules with coefficients.

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

    ax_: Axes
    figure_: Figure
    boxes_: dict[int, FancyBboxPatch]
    bars_: dict[int, list[FancyBboxPatch]]

    def __init__(
        self,
        tree: ObliqueTree,
        *,
        feature_names: Sequence[str],
        class_names: Sequence[str],
        labeled: IntArray,
        unlabeled: IntArray,
        spread: FloatArray,
    ) -> None:
        self.tree = tree
        self.feature_names = feature_names
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
        max_features: int = 6,
        ax: Axes | None = None,
    ) -> TreeDisplay:
        """Draw a fitted tree with the rows that end in its leaves.

        Parameters
        ----------
        estimator : S2OCTClassifier or OCTHClassifier
            A fitted one.
        X : array-like or data frame of shape (n_rows, n_features)
            Rows to count in the leaves and to measure the features by; usually those of the fit.
        y : array-like of shape (n_rows,), optional
            Labels with the markers for unlabeled rows; without, all rows count as unlabeled.
        feature_names, class_names : sequence of str, optional
            Names to show instead of the estimator's.
        max_features : int
            Bars in a split; the longest are shown, and how many were left out.
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
        """Make the display of rows that are read already, not yet drawn.

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
            feature_names=rows.feature_names,
            class_names=rows.class_names,
            labeled=rows.labeled_counts,
            unlabeled=rows.unlabeled_counts,
            spread=rows.spread,
        )

    def plot(self, ax: Axes | None = None, *, max_features: int = 6) -> TreeDisplay:
        """Draw the tree; see `from_estimator`.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure otherwise.
        max_features : int
            Bars in a split.

        Returns
        -------
        self
            The display, with what was drawn in its attributes.
        """
        need_matplotlib()
        if max_features < 1:
            raise InvalidProblem(f"Expected max_features of at least 1, got {max_features}.")
        if ax is None:
            ax = new_axes(self.figsize(max_features), bare=True)
        layout = self._layout(max_features)
        _Pen(self, layout, ax).draw(pruned(self.tree))
        self.ax_, self.figure_ = ax, figure_of(ax)
        return self

    def figsize(self, max_features: int = 6) -> tuple[float, float]:
        """Tell the size at which the letters have their full size.

        Parameters
        ----------
        max_features : int
            Bars in a split.

        Returns
        -------
        tuple of float
            Width and height in inches.
        """
        layout = self._layout(max_features)
        return layout.width, layout.height

    def _layout(self, max_features: int) -> _Layout:
        return _Layout.of(self, pruned(self.tree), max_features)


def plot_tree(
    estimator: Any,
    X: Any,
    y: Any = None,
    *,
    feature_names: Sequence[str] | None = None,
    class_names: Sequence[str] | None = None,
    max_features: int = 6,
    ax: Axes | None = None,
) -> TreeDisplay:
    """Draw a fitted tree: splits as signed bars, leaves with their rows.

    Parameters
    ----------
    estimator : S2OCTClassifier or OCTHClassifier
        A fitted one.
    X : array-like or data frame of shape (n_rows, n_features)
        Rows to count in the leaves and to measure the features by; usually those of the fit.
    y : array-like of shape (n_rows,), optional
        Labels with the markers for unlabeled rows; without, all rows count as unlabeled.
    feature_names, class_names : sequence of str, optional
        Names to show instead of the estimator's.
    max_features : int
        Bars in a split; the longest are shown, and how many were left out.
    ax : matplotlib Axes, optional
        Where to draw; a new figure of fitting size otherwise. The picture shrinks to the size of the axes.

    Returns
    -------
    TreeDisplay
        The display, which can draw again.
    """
    return TreeDisplay.from_estimator(
        estimator, X, y, feature_names=feature_names, class_names=class_names, max_features=max_features, ax=ax
    )


def leaf_label(leaf: Leaf) -> str:
    """What a leaf is called: by the id that ``apply`` gives its rows, or by the ids that are read as one."""
    if len(leaf.ids) == 1:
        return f"leaf {leaf.ids[0]}"
    separator = "+" if len(leaf.ids) == 2 else "…"
    return f"leaf {leaf.ids[0]}{separator}{leaf.ids[-1]}"


@dataclass(frozen=True)
class _Layout:
    """Sizes of the parts, and where each stands: (centre, top) in inches from the lower left, by node id."""

    width: float
    height: float
    leaf_width: float
    split_width: float
    places: dict[int, tuple[float, float]]
    caption: tuple[str, ...]
    max_features: int

    @classmethod
    def of(cls, display: TreeDisplay, root: Leaf | Split, max_features: int) -> _Layout:
        leaves = root.leaves
        leaf_width = _leaf_width(display, leaves)
        slot = leaf_width + GAP
        width = max(slot * len(leaves) + 2 * MARGIN, NARROWEST)
        inset = (width - slot * len(leaves)) / 2
        # A part stands in the middle of the slots of its leaves and is no wider than they are: nothing can overlap.
        level_of, centre_of = {}, {}
        position = {leaf.node: i for i, leaf in enumerate(leaves)}
        for part, level in _parts(root):
            span = [position[leaf.node] for leaf in part.leaves]
            centre_of[part.node] = inset + slot * (span[0] + span[-1] + 1) / 2
            level_of[part.node] = level
        heights = [0.0] * (max(level_of.values()) + 1)
        for part, level in _parts(root):
            heights[level] = max(heights[level], _height(display, part, max_features))
        caption = _caption(display, root, width - 2 * MARGIN)
        below = MARGIN + LINE * (len(_legend_lines(display, width)) + len(caption)) + 0.1
        height = sum(heights) + LEVEL_GAP * (len(heights) - 1) + MARGIN + below
        tops = [height - MARGIN - sum(heights[:level]) - LEVEL_GAP * level for level in range(len(heights))]
        return cls(
            width=width,
            height=height,
            leaf_width=leaf_width,
            split_width=min(SPLIT_WIDTH, 2 * slot - GAP),
            places={node: (centre, tops[level_of[node]]) for node, centre in centre_of.items()},
            caption=caption,
            max_features=max_features,
        )


def _parts(part: Leaf | Split, level: int = 0) -> list[tuple[Leaf | Split, int]]:
    """Every part with its level, parents first."""
    if isinstance(part, Leaf):
        return [(part, level)]
    return [(part, level), *_parts(part.left, level + 1), *_parts(part.right, level + 1)]


def _leaf_width(display: TreeDisplay, leaves: Sequence[Leaf]) -> float:
    """As much as the widest leaf needs, within limits."""
    wanted = LEAF_WIDTH[0]
    for leaf in leaves:
        counts = [count for count in _labeled(display, leaf) if count]
        squares = sum(text_width(f"{count:,}", POINTS) + 0.22 for count in counts)
        name = text_width(display.class_names[leaf.class_index], POINTS, bold=True) + _label_width(leaf)
        number = text_width(f"{_unlabeled(display, leaf):,}", POINTS)
        label = text_width("unlabeled ", POINTS)
        wanted = max(wanted, 2 * PAD + max(name, label + squares, label + number))
    return min(wanted, LEAF_WIDTH[1])


def _label_width(leaf: Leaf) -> float:
    return text_width(leaf_label(leaf), POINTS - 1.5) + 0.12


def _labeled(display: TreeDisplay, part: Leaf | Split) -> list[int]:
    """Labeled rows of each class below a part."""
    first = display.tree.topology.n_leaves
    return [int(n) for n in display.labeled[[node - first for node in part.ids]].sum(axis=0)]


def _unlabeled(display: TreeDisplay, part: Leaf | Split) -> int:
    first = display.tree.topology.n_leaves
    return int(display.unlabeled[[node - first for node in part.ids]].sum())


def _weights(display: TreeDisplay, split: Split) -> tuple[list[int], FloatArray]:
    """The features a split uses, the weightiest first, and their coefficients per standard deviation.

    A feature that does not vary over the rows weighs nothing, but is still used.
    """
    omega = display.tree.omega[split.node - 1]
    used = np.flatnonzero(omega)
    weight = omega[used] * display.spread[used]
    order = np.argsort(-np.abs(weight), kind="stable")
    return used[order].tolist(), weight[order]


def _height(display: TreeDisplay, part: Leaf | Split, max_features: int) -> float:
    if isinstance(part, Leaf):
        return 3 * LINE + 2 * PAD
    used = len(_weights(display, part)[0])
    lines = 2 if used == 1 else 1 + min(used, max_features) + (used > max_features)
    return lines * LINE + 2 * PAD


def _caption(display: TreeDisplay, root: Leaf | Split, width: float) -> tuple[str, ...]:
    """How to read what is shown, in lines."""
    single = {len(_weights(display, split)[0]) == 1 for split in root.splits}
    text = " ".join([RULE_CAPTION] * (True in single) + [BARS_CAPTION] * (False in single))
    if not text:
        return ()
    per_inch = len(text) / text_width(text, POINTS - 1.5)
    return tuple(textwrap.wrap(text, max(int(0.95 * width * per_inch), 20)))


def _legend_lines(display: TreeDisplay, width: float) -> list[list[int]]:
    """The classes, dealt to as many lines as the width asks for."""
    lines: list[list[int]] = [[]]
    left = start = width - 2 * MARGIN - _legend_indent()
    for index, name in enumerate(display.class_names):
        needed = min(text_width(name, POINTS - 1), 2.0) + 0.38
        if needed > left and lines[-1]:
            lines.append([])
            left = start
        lines[-1].append(index)
        left -= needed
    return lines


def _legend_indent() -> float:
    return text_width(LEGEND, POINTS - 1) + 0.15


class _Pen:
    """Draws the parts of one picture, at the scale the axes allow."""

    def __init__(self, display: TreeDisplay, layout: _Layout, ax: Axes) -> None:
        self.display, self.layout, self.ax = display, layout, ax
        self.ink = Ink.in_force()
        figure = figure_of(ax)
        box = ax.get_position()
        inches = figure.get_figwidth() * box.width, figure.get_figheight() * box.height
        self.scale = min(inches[0] / layout.width, inches[1] / layout.height)
        display.boxes_, display.bars_ = {}, {}

    def draw(self, root: Leaf | Split) -> None:
        self.ax.set_axis_off()
        self.ax.set_xlim(0, self.layout.width)
        self.ax.set_ylim(0, self.layout.height)
        self.ax.set_aspect("equal", adjustable="box")
        n_rows = max(sum(_labeled(self.display, root)) + _unlabeled(self.display, root), 1)
        for part, _ in _parts(root):
            if isinstance(part, Split):
                for child in (part.left, part.right):
                    self._edge(part, child, n_rows)
        for part, _ in _parts(root):
            if isinstance(part, Split):
                self._split(part)
            else:
                self._leaf(part)
        self._legend_and_caption()

    def _edge(self, parent: Split, child: Leaf | Split, n_rows: int) -> None:
        """A line whose width tells the share of rows that go this way."""
        x0, top = self.layout.places[parent.node]
        x1, y1 = self.layout.places[child.node]
        y0 = top - _height(self.display, parent, self.layout.max_features)
        share = (sum(_labeled(self.display, child)) + _unlabeled(self.display, child)) / n_rows
        middle = y1 + (LEVEL_GAP / 2 if y0 - y1 < LEVEL_GAP * 1.5 else LEVEL_GAP)
        self.ax.plot(
            [x0, x0, x1, x1],
            [y0, middle, middle, y1],
            color=self.ink.faint,
            linewidth=(1.0 + 5.0 * share) * self.scale,
            solid_joinstyle="round",
            zorder=1,
        )

    def _box(self, node: int, width: float, height: float, colour: str) -> tuple[float, float]:
        """Frame a part; returns its left edge and its top."""
        from matplotlib.patches import FancyBboxPatch

        centre, top = self.layout.places[node]
        box = FancyBboxPatch(
            (centre - width / 2, top - height),
            width,
            height,
            boxstyle="round,pad=0,rounding_size=0.06",
            facecolor=self.ink.paper,
            edgecolor=colour,
            linewidth=1.1 * self.scale,
            zorder=2,
        )
        self.ax.add_patch(box)
        self.display.boxes_[node] = box
        return centre - width / 2, top

    def _split(self, split: Split) -> None:
        display, width = self.display, self.layout.split_width
        used, weight = _weights(display, split)
        left, top = self._box(split.node, width, _height(display, split, self.layout.max_features), self.ink.muted)
        n_rows = sum(_labeled(display, split)) + _unlabeled(display, split)
        y = top - PAD - LINE / 2
        self._text(left + PAD, y, f"split {split.node}", colour=self.ink.muted, points=POINTS - 1)
        self._text(left + width - PAD, y, f"{n_rows:,} rows", colour=self.ink.muted, points=POINTS - 1, align="right")
        if len(used) == 1:
            self._single_rule(split, used[0], left, y - LINE)
            return
        shown = min(len(used), self.layout.max_features)
        self._bars(split, used[:shown], weight[:shown], left, y - LINE)
        if shown < len(used):
            rest = len(used) - shown
            text = f"and {rest} smaller one{'s' if rest > 1 else ''}"
            self._text(left + PAD, y - LINE * (shown + 1), text, colour=self.ink.muted, points=POINTS - 1)

    def _single_rule(self, split: Split, feature: int, left: float, y: float) -> None:
        """A split over one feature is read as a threshold."""
        omega = float(self.display.tree.omega[split.node - 1, feature])
        threshold = float(self.display.tree.gamma[split.node - 1]) / omega
        relation = f" {'≤' if omega > 0 else '≥'} {threshold:.5g}".replace("-", "\N{MINUS SIGN}")
        room = self.layout.split_width - 2 * PAD - text_width(relation, POINTS, bold=True)
        name = fit_text(self.display.feature_names[feature], room, POINTS, bold=True)
        self._text(left + self.layout.split_width / 2, y, name + relation, align="center", bold=True)

    def _bars(self, split: Split, used: list[int], weight: FloatArray, left: float, y: float) -> None:
        from matplotlib.patches import FancyBboxPatch

        width = self.layout.split_width
        room = NAME_SHARE * width - 2 * PAD
        zero = left + width * (1 + NAME_SHARE) / 2 - PAD / 2
        longest = width * (1 - NAME_SHARE) / 2 - PAD / 2
        largest = float(np.abs(weight).max()) or 1.0
        bars = []
        for j, value in zip(used, weight.tolist(), strict=True):
            self._text(left + PAD, y, fit_text(self.display.feature_names[j], room, POINTS))
            length = longest * value / largest
            bar = FancyBboxPatch(
                (min(zero, zero + length), y - 0.05),
                abs(length),
                0.1,
                boxstyle="square,pad=0",
                facecolor=self.ink.muted,
                edgecolor="none",
                linewidth=0,
                zorder=3,
            )
            self.ax.add_patch(bar)
            bars.append(bar)
            y -= LINE
        self.display.bars_[split.node] = bars
        ends = (y + LINE / 2, y + LINE * (len(used) + 0.5))
        self.ax.plot([zero, zero], ends, color=self.ink.muted, linewidth=0.8 * self.scale, zorder=4)

    def _leaf(self, leaf: Leaf) -> None:
        from matplotlib.patches import Rectangle

        display, width = self.display, self.layout.leaf_width
        colour = class_colour(leaf.class_index)
        left, top = self._box(leaf.node, width, _height(display, leaf, self.layout.max_features), colour)
        head = Rectangle((left, top - PAD / 2 - LINE), width, PAD / 2 + LINE, facecolor=colour, edgecolor="none")
        head.set_zorder(3)
        head.set_clip_path(self.display.boxes_[leaf.node])
        self.ax.add_patch(head)
        room = width - 2 * PAD - _label_width(leaf)
        name = fit_text(display.class_names[leaf.class_index], room, POINTS, bold=True)
        y, letters = top - PAD / 2 - LINE / 2 + 0.02, text_on(colour)
        self._text(left + PAD, y, name, colour=letters, bold=True)
        self._text(left + width - PAD, y, leaf_label(leaf), colour=letters, points=POINTS - 1.5, align="right")
        y = top - PAD - 1.6 * LINE
        self._text(left + PAD, y, "labeled", colour=self.ink.muted)
        self._squares(_labeled(display, leaf), left + width - PAD, y)
        self._text(left + PAD, y - LINE, "unlabeled", colour=self.ink.muted)
        self._text(left + width - PAD, y - LINE, f"{_unlabeled(display, leaf):,}", align="right")

    def _squares(self, counts: list[int], right: float, y: float) -> None:
        """Counts of the classes that occur, each behind a square of its colour, flush right."""
        room = self.layout.leaf_width - 2 * PAD - text_width("labeled ", POINTS)
        occurring = sorted((index for index, count in enumerate(counts) if count), key=lambda index: -counts[index])
        widths = {index: text_width(f"{counts[index]:,}", POINTS) + 0.22 for index in occurring}
        shown = list(occurring)
        while shown and sum(widths[index] for index in shown) + (0.25 if shown != occurring else 0) > room:
            shown.pop()
        if not occurring:
            self._text(right, y, "0", align="right")
        elif shown != occurring:
            rest = sum(counts[index] for index in occurring if index not in shown)
            more = f"+{rest:,}" if shown else f"{rest:,}"
            self._text(right, y, more, align="right", colour=self.ink.muted)
            right -= text_width(more, POINTS) + 0.08
        for index in sorted(shown, reverse=True):
            text = f"{counts[index]:,}"
            self._text(right, y, text, align="right")
            right -= text_width(text, POINTS) + 0.13
            self._square(right, y, index)
            right -= 0.09

    def _square(self, x: float, y: float, index: int) -> None:
        from matplotlib.patches import Rectangle

        side = 0.085
        patch = Rectangle((x, y - side / 2), side, side, facecolor=class_colour(index), edgecolor="none", zorder=4)
        self.ax.add_patch(patch)

    def _legend_and_caption(self) -> None:
        lines = _legend_lines(self.display, self.layout.width)
        y = MARGIN + LINE * (len(lines) + len(self.layout.caption) - 0.5)
        self._text(MARGIN, y, LEGEND, colour=self.ink.muted, points=POINTS - 1)
        for line in lines:
            x = MARGIN + _legend_indent()
            for index in line:
                self._square(x, y, index)
                name = fit_text(self.display.class_names[index], 2.0, POINTS - 1)
                self._text(x + 0.13, y, name, points=POINTS - 1)
                x += text_width(name, POINTS - 1) + 0.38
            y -= LINE
        for text in self.layout.caption:
            self._text(MARGIN, y, text, colour=self.ink.muted, points=POINTS - 1.5)
            y -= LINE

    def _text(
        self,
        x: float,
        y: float,
        text: str,
        *,
        colour: str | None = None,
        points: float = POINTS,
        align: str = "left",
        bold: bool = False,
    ) -> None:
        self.ax.text(
            x,
            y,
            **plain(text),
            color=colour or self.ink.strong,
            fontsize=points * self.scale,
            fontweight="bold" if bold else "normal",
            horizontalalignment=align,
            verticalalignment="center_baseline",
            zorder=5,
        )

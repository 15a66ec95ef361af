"""The picture of a tree: splits with their rules, leaves with their classes and rows."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from s2oct.arrays import FloatArray, IntArray
from s2oct.errors import InvalidProblem
from s2oct.estimators.fitted import FittedRows, read_fit
from s2oct.lazy import import_extra
from s2oct.looks import IF_SO, OTHERWISE, class_colour, short_sets, text_on
from s2oct.output.plots.style import (
    Display,
    Ink,
    as_function,
    figure_of,
    fit_text,
    new_axes,
    plain,
    text_width,
    wrap_text,
)
from s2oct.trees.features import Feature
from s2oct.trees.rules import Leaf, Split, SplitRule, few_digits, pruned, remarks
from s2oct.trees.tree import ObliqueTree
from s2oct.wording import plural

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.patches import FancyBboxPatch
    from matplotlib.text import Text

DIGITS = 5
"""Significant digits of numbers; fitted trees usually have fewer."""

# Lengths are inches at full scale.
POINTS, SMALL = 9.0, 8.25
"""Font sizes at full scale: 12 and 11 pixels on a page."""
LINE, PAD, GAP, LEVEL_GAP, MARGIN = 0.19, 0.09, 0.16, 0.46, 0.12
LEAF_WIDTH, SPLIT_WIDTH, NARROWEST = (1.1, 2.1), (1.5, 3.0), 3.6
"""Minimum and maximum width of a leaf and of a split, and minimum width of the picture."""
SCREEN = 12.75
"""Maximum width of the picture, unless its narrowest leaves need more: it fits a window of 1280 pixels."""
SIGN = 0.17
"""Space for the sign before a term."""
SHORT = 2.2
"""Maximum width of a sum on one line."""
TERM_LINES, NAME_LINES = 3, 2
"""Maximum number of lines of a term, and of a class name in a leaf."""
SQUARE_GAP = 0.09
"""Space between a count and the square of the next one."""
LEGEND = "labeled rows by class"
LEGEND_NAME, LEGEND_MARK = 2.0, 0.38
"""Maximum width of a class name in the legend, and the width of its square with the gaps around it."""
CAPTION_LINES = 4
_RELATIONS = {"<=": "≤", ">=": "≥", "<": "<", ">": ">"}

RuleLine = tuple[str | None, str]
"""A line of a rule: a sign or a relation, and the text after it. The sign is empty on the first line of a sum and on
continuation lines, and None in a rule that is not a sum."""


@dataclass(eq=False, repr=False)
class TreeDisplay(Display):
    """Picture of a tree.

    It is recommended to use `TreeDisplay.from_estimator` to make one.

    Parameters
    ----------
    tree : ObliqueTree
        The tree, in the units of the features.
    features : sequence of Feature or str
        All features; a plain name is a numeric feature.
    class_names : sequence of str
        Names of the classes.
    labeled : ndarray of shape (n_leaves, n_classes)
        Number of labeled rows by leaf and class.
    unlabeled : ndarray of shape (n_leaves,)
        Number of unlabeled rows by leaf.
    spread : ndarray of shape (n_features,)
        Standard deviation of each feature, used to choose the terms of a long rule to show.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    boxes_ : dict of int to matplotlib patch
        The frame of every visible split and leaf, by node id.
    titles_ : dict of str to str
        The complete rules of shortened texts, by the id of the text in an SVG file.

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

    tree: ObliqueTree
    _: KW_ONLY
    features: Sequence[Feature | str]
    class_names: Sequence[str]
    labeled: IntArray
    unlabeled: IntArray
    spread: FloatArray
    boxes_: dict[int, FancyBboxPatch] = field(init=False)
    titles_: dict[str, str] = field(init=False)

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
        """Draw a fitted tree: splits with their rules, leaves with their rows.

        Parameters
        ----------
        estimator : S2OCTClassifier or OCTHClassifier
            A fitted one.
        X : array-like or data frame of shape (n_rows, n_features)
            Rows to count in the leaves, usually those of the fit.
        y : array-like of shape (n_rows,), optional
            Labels, with markers for unlabeled rows; by default all rows are unlabeled.
        feature_names, class_names : sequence of str, optional
            Names to show instead of the estimator's.
        max_features : int
            Maximum number of terms shown per rule. Longer rules show their most influential terms and count the others.
        ax : matplotlib Axes, optional
            Axes to draw on; by default those of a new figure. The picture shrinks to the size of the axes.

        Returns
        -------
        TreeDisplay
            The display, drawn.
        """
        rows = read_fit(estimator, X, y, feature_names=feature_names, class_names=class_names)
        return cls.of_rows(rows).plot(ax=ax, max_features=max_features)

    @classmethod
    def of_rows(cls, rows: FittedRows) -> TreeDisplay:
        """Make the display of rows without drawing it.

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
            Axes to draw on; by default those of a new figure.
        max_features : int
            Maximum number of terms shown per rule.

        Returns
        -------
        self
            The display, with the drawn objects in its attributes.
        """
        self._lay_out(max_features)
        return super().plot(new_axes(self._full_size, bare=True) if ax is None else ax)

    def figsize(self, max_features: int = 3) -> tuple[float, float]:
        """Return the figure size at which text has its full size.

        Parameters
        ----------
        max_features : int
            Maximum number of terms shown per rule.

        Returns
        -------
        tuple of float
            Width and height in inches.
        """
        self._lay_out(max_features)
        return self._full_size

    def _lay_out(self, max_features: int) -> None:
        """Compute the size of each part and its centre and top from the lower left, by node id."""
        if max_features < 1:
            raise InvalidProblem(f"Expected max_features of at least 1, got {max_features}.")
        import_extra("matplotlib", "Pictures")
        self._max_features = max_features
        omega, gamma = (np.vectorize(few_digits)(numbers, DIGITS) for numbers in (self.tree.omega, self.tree.gamma))
        self._rounded = replace(self.tree, omega=omega, gamma=gamma)
        self._root = pruned(self.tree)
        self._parts = _parts(self._root, 0)
        n_leaves = len(self._root.leaves)
        self._leaf_width = self._width_of_leaves()
        slot = self._leaf_width + GAP
        width = max(slot * n_leaves + 2 * MARGIN, NARROWEST)
        self._split_width = self._width_of_splits(2 * slot - GAP)
        self._rules = {split.node: _rule_lines(self._rule(split), self._split_width) for split in self._root.splits}
        self._names = {leaf.node: self._name_lines(leaf) for leaf in self._root.leaves}
        self._counts = {leaf.node: self._count_lines(leaf) for leaf in self._root.leaves}
        n_lines = {node: 1 + len(lines) for node, lines in self._rules.items()}
        n_lines |= {node: len(lines) + 2 + len(self._counts[node]) for node, lines in self._names.items()}
        self._heights = {node: LINE * lines + 2 * PAD for node, lines in n_lines.items()}
        levels = [0.0] * (max(level for _, level in self._parts) + 1)
        for part, level in self._parts:
            levels[level] = max(levels[level], self._heights[part.node])
        self._legend, self._caption = self._legend_lines(width), self._caption_lines(width)
        below = MARGIN + LINE * (len(self._legend) + len(self._caption)) + 0.1
        height = sum(levels) + LEVEL_GAP * (len(levels) - 1) + MARGIN + below
        tops = [height - MARGIN - sum(levels[:level]) - LEVEL_GAP * level for level in range(len(levels))]
        # A part is centred over the slots of its leaves. No part is wider than these, so parts cannot overlap.
        inset, position = (width - slot * n_leaves) / 2, {leaf.node: i for i, leaf in enumerate(self._root.leaves)}
        self._places = {}
        for part, level in self._parts:
            first, last = position[part.leaves[0].node], position[part.leaves[-1].node]
            self._places[part.node] = inset + slot * (first + last + 1) / 2, tops[level]
        self._full_size = width, height

    def _below(self, part: Leaf | Split) -> list[int]:
        return [node - self.tree.topology.n_leaves for node in part.ids]

    def _labeled(self, part: Leaf | Split) -> list[int]:
        """Return the number of labeled rows of each class below a part."""
        return [int(n) for n in self.labeled[self._below(part)].sum(axis=0)]

    def _unlabeled(self, part: Leaf | Split) -> int:
        return int(self.unlabeled[self._below(part)].sum())

    def _rows(self, part: Leaf | Split) -> int:
        return sum(self._labeled(part)) + self._unlabeled(part)

    def _rule(self, split: Split) -> tuple[str, ...]:
        """Return the terms of a split's rule with their signs, then its comparison; large sets are shortened.

        If there are more than ``max_features`` terms, those with the largest coefficient times standard deviation are
        kept. The others are counted; a single one is shown, because it takes no more space than its count.
        """
        rule = SplitRule.of(self._rounded, split.node, self.features)
        parts = tuple(map(short_sets, rule.parts()))
        n_left_out = len(parts) - 1 - self._max_features
        if n_left_out <= 1:
            return parts
        size = np.abs(self.tree.omega[split.node - 1]) * self.spread
        influence = np.array([size[list(term.indices)].max() for term in rule.terms])
        kept = sorted(np.argsort(-influence, kind="stable")[: self._max_features].tolist())
        return (*(parts[i] for i in kept), f"+ {n_left_out} more", parts[-1])

    def _width_of_leaves(self) -> float:
        """Return the width that the widest leaf needs, within limits."""
        least, most = LEAF_WIDTH
        needed = least
        for leaf in self._root.leaves:
            name = text_width(self.class_names[leaf.class_index], POINTS, bold=True)
            title = text_width(f"{leaf_label(leaf)}   {plural(self._rows(leaf), 'row')}", SMALL)
            number = text_width(f"{self._unlabeled(leaf):,}", POINTS)
            squares = sum(_square_width(count) for count in self._labeled(leaf) if count)
            label = text_width("unlabeled ", POINTS)
            needed = max(needed, 2 * PAD + max(name, title, label + squares, label + number))
        share = (SCREEN - 2 * MARGIN) / len(self._root.leaves) - GAP
        return min(needed, most, max(share, least))

    def _width_of_splits(self, most: float) -> float:
        """Return the width that the widest rule needs, within limits."""
        needed = SPLIT_WIDTH[0]
        for split in self._root.splits:
            for sign, text in _unwrapped(self._rule(split), most - 2 * PAD):
                width = text_width(text, POINTS, bold=sign is None)
                needed = max(needed, 2 * PAD + width + (0 if sign is None else SIGN))
        return min(needed, SPLIT_WIDTH[1], most)

    def _name_lines(self, leaf: Leaf) -> list[str]:
        """Wrap the class name of a leaf; the legend has the names that are shortened here."""
        name = self.class_names[leaf.class_index]
        return wrap_text(name, self._leaf_width - 2 * PAD, POINTS, lines=NAME_LINES, bold=True)

    def _count_lines(self, leaf: Leaf) -> list[list[int]]:
        """Wrap the classes of the labeled rows of a leaf."""
        counts = self._labeled(leaf)
        classes = [index for index, count in enumerate(counts) if count]
        room = self._leaf_width - 2 * PAD + SQUARE_GAP
        return _filled(classes, [_square_width(counts[c]) for c in classes], room, text_width("labeled ", POINTS))

    def _legend_lines(self, width: float) -> list[list[int]]:
        """Wrap the classes of the legend."""
        needed = [min(text_width(name, SMALL), LEGEND_NAME) + LEGEND_MARK for name in self.class_names]
        return _filled(range(len(needed)), needed, width - 2 * MARGIN - _legend_indent())

    def _caption_lines(self, width: float) -> list[str]:
        """Wrap the notes on the rules, in as many lines as the picture has space for."""
        nodes = [split.node - 1 for split in self._root.splits]
        is_rounded = (self._rounded.omega[nodes] != self.tree.omega[nodes]).any() or (
            self._rounded.gamma[nodes] != self.tree.gamma[nodes]
        ).any()
        notes = ["Numbers are rounded."] if is_rounded else []
        notes += remarks(self.tree, self._root, self.features)
        return wrap_text(" ".join(notes), width - 2 * MARGIN, SMALL, lines=CAPTION_LINES) if notes else []

    def _draw(self, ax: Axes) -> None:
        """Draw edges, parts, legend and caption."""
        self.ax_, self._ink, self.boxes_, self.titles_ = ax, Ink.in_force(), {}, {}
        figure, box = figure_of(ax), ax.get_position()
        width, height = self._full_size
        self._scale = min(figure.get_figwidth() * box.width / width, figure.get_figheight() * box.height / height)
        ax.set_axis_off()
        ax.set_xlim(0, width)
        ax.set_ylim(0, height)
        ax.set_aspect("equal", adjustable="box")
        for split in self._root.splits:
            for child in (split.left, split.right):
                self._edge(split, child)
        for part, _ in self._parts:
            if isinstance(part, Split):
                self._split(part)
            else:
                self._leaf(part)
        self._legend_and_caption()

    def _edge(self, parent: Split, child: Leaf | Split) -> None:
        """Draw a line whose width shows the share of rows on this branch, and name the branch."""
        x0, top = self._places[parent.node]
        x1, y1 = self._places[child.node]
        y0 = top - self._heights[parent.node]
        share = self._rows(child) / max(self._rows(self._root), 1)
        middle = y1 + (LEVEL_GAP / 2 if y0 - y1 < LEVEL_GAP * 1.5 else LEVEL_GAP)
        self.ax_.plot(
            [x0, x0, x1, x1],
            [y0, middle, middle, y1],
            color=self._ink.faint,
            linewidth=(1.0 + 5.0 * share) * self._scale,
            solid_joinstyle="round",
            zorder=1,
        )
        # Below the bar, where no line crosses it.
        branch, inwards, align = (IF_SO, 0.07, "left") if child is parent.left else (OTHERWISE, -0.07, "right")
        self._text(x1 + inwards, middle - 0.12, branch, colour=self._ink.muted, points=SMALL, align=align)

    def _box(self, node: int, width: float, colour: str) -> tuple[float, float]:
        """Frame a part and return its left edge and its top."""
        from matplotlib.patches import FancyBboxPatch

        centre, top = self._places[node]
        height = self._heights[node]
        box = FancyBboxPatch(
            (centre - width / 2, top - height),
            width,
            height,
            boxstyle="round,pad=0,rounding_size=0.06",
            facecolor=self._ink.paper,
            edgecolor=colour,
            linewidth=1.1 * self._scale,
            zorder=2,
        )
        self.ax_.add_patch(box)
        self.boxes_[node] = box
        return centre - width / 2, top

    def _split(self, split: Split) -> None:
        width = self._split_width
        left, top = self._box(split.node, width, self._ink.muted)
        y = top - PAD - LINE / 2
        self._title(f"split {split.node}", self._rows(split), left, width, y)
        for number, (sign, text) in enumerate(self._rules[split.node]):
            y -= LINE
            gid = f"rule-{split.node}-{number}"
            self.titles_[gid] = SplitRule.of(self.tree, split.node, self.features).text()
            if sign is None:
                self._text(left + width / 2, y, text, align="center", bold=True).set_gid(gid)
                continue
            if sign:
                self._text(left + PAD, y, sign)
            self._text(left + PAD + SIGN, y, text).set_gid(gid)

    def _title(self, name: str, n_rows: int, left: float, width: float, y: float) -> None:
        self._text(left + PAD, y, name, colour=self._ink.muted, points=SMALL)
        rows, room = plural(n_rows, "row"), width - 2 * PAD - text_width(f"{name} ", SMALL)
        if text_width(rows, SMALL) > room:
            rows = f"{n_rows:,}"
        self._text(left + width - PAD, y, rows, colour=self._ink.muted, points=SMALL, align="right")

    def _leaf(self, leaf: Leaf) -> None:
        from matplotlib.patches import Rectangle

        width, lines = self._leaf_width, self._names[leaf.node]
        colour = class_colour(leaf.class_index)
        left, top = self._box(leaf.node, width, colour)
        depth = PAD + LINE * len(lines)
        head = Rectangle((left, top - depth), width, depth, facecolor=colour, edgecolor="none", zorder=3)
        head.set_clip_path(self.boxes_[leaf.node])
        self.ax_.add_patch(head)
        y = top - PAD / 2 - LINE / 2
        for name in lines:
            self._text(left + PAD, y, name, colour=text_on(colour), bold=True)
            y -= LINE
        y -= PAD / 2
        self._title(leaf_label(leaf), self._rows(leaf), left, width, y)
        self._text(left + PAD, y - LINE, "labeled", colour=self._ink.muted)
        counts = self._labeled(leaf)
        for indices in self._counts[leaf.node]:
            y -= LINE
            self._squares({index: counts[index] for index in indices}, left + width - PAD, y)
        y -= LINE
        self._text(left + PAD, y, "unlabeled", colour=self._ink.muted)
        self._text(left + width - PAD, y, f"{self._unlabeled(leaf):,}", align="right")

    def _squares(self, counts: dict[int, int], right: float, y: float) -> None:
        """Draw counts of classes, each after a square of its colour, aligned right."""
        if not counts:
            self._text(right, y, "0", align="right")
        for index in sorted(counts, reverse=True):
            text = f"{counts[index]:,}"
            self._text(right, y, text, align="right")
            right -= text_width(text, POINTS) + 0.13
            self._square(right, y, index)
            right -= SQUARE_GAP

    def _square(self, x: float, y: float, index: int) -> None:
        from matplotlib.patches import Rectangle

        side = 0.085
        patch = Rectangle((x, y - side / 2), side, side, facecolor=class_colour(index), edgecolor="none", zorder=4)
        self.ax_.add_patch(patch)

    def _legend_and_caption(self) -> None:
        y = MARGIN + LINE * (len(self._legend) + len(self._caption) - 0.5)
        self._text(MARGIN, y, LEGEND, colour=self._ink.muted, points=SMALL)
        for line in self._legend:
            x = MARGIN + _legend_indent()
            for index in line:
                self._square(x, y, index)
                name = fit_text(self.class_names[index], LEGEND_NAME, SMALL)
                self._text(x + 0.13, y, name, points=SMALL)
                x += text_width(name, SMALL) + LEGEND_MARK
            y -= LINE
        for text in self._caption:
            self._text(MARGIN, y, text, colour=self._ink.muted, points=SMALL)
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
    ) -> Text:
        return self.ax_.text(
            x,
            y,
            **plain(text),
            color=colour or self._ink.strong,
            fontsize=points * self._scale,
            fontweight="bold" if bold else "normal",
            horizontalalignment=align,
            verticalalignment="center_baseline",
            zorder=5,
        )


plot_tree = as_function("plot_tree", TreeDisplay.from_estimator)


def leaf_label(leaf: Leaf) -> str:
    """Return the name of a leaf: its id in ``apply``, or the ids of the leaves that it joins."""
    if len(leaf.ids) == 1:
        return f"leaf {leaf.ids[0]}"
    separator = "+" if len(leaf.ids) == 2 else "…"
    return f"leaf {leaf.ids[0]}{separator}{leaf.ids[-1]}"


def _parts(part: Leaf | Split, level: int) -> list[tuple[Leaf | Split, int]]:
    """Return every part with its level, parents first."""
    if isinstance(part, Leaf):
        return [(part, level)]
    return [(part, level), *_parts(part.left, level + 1), *_parts(part.right, level + 1)]


def _filled(items: Sequence[int], widths: Sequence[float], room: float, taken: float = 0.0) -> list[list[int]]:
    """Distribute items over lines of a given width; ``taken`` is occupied at the start of the first line."""
    lines: list[list[int]] = [[]]
    left = room - taken
    for item, needed in zip(items, widths, strict=True):
        if needed > left and (lines[-1] or taken):
            lines.append([])
            left = room
        lines[-1].append(item)
        left -= needed
    return lines


def _square_width(count: int) -> float:
    """Return the width of a count after its square, with the gap before the next one."""
    return text_width(f"{count:,}", POINTS) + 0.13 + SQUARE_GAP


def _legend_indent() -> float:
    """Return the width of the legend's title and the gap after it."""
    return text_width(LEGEND, SMALL) + 0.15


def _rule_lines(parts: tuple[str, ...], width: float) -> list[RuleLine]:
    """Wrap a rule."""
    found: list[RuleLine] = []
    for sign, text in _unwrapped(parts, width - 2 * PAD):
        room = width - 2 * PAD - (SIGN if sign is not None else 0)
        first, *rest = wrap_text(text, room, POINTS, lines=TERM_LINES, bold=sign is None)
        found += [(sign, first), *((None if sign is None else "", more) for more in rest)]
    return found


def _unwrapped(parts: tuple[str, ...], room: float) -> list[RuleLine]:
    """Write a rule on one column or a short sum on one line, a longer sum with one term per line."""
    *terms, last = parts
    relation, _, limit = last.partition(" ")
    # A level is shown verbatim, a number with a proper minus sign.
    limit = re.sub(r"^-(?=[\d.])", "\N{MINUS SIGN}", limit)
    comparison = (_RELATIONS[relation], limit) if relation in _RELATIONS else ("", last)
    line = " ".join(filter(None, (*(re.sub(r"^-", "\N{MINUS SIGN}", term) for term in terms), *comparison)))
    if len(terms) < 2 or text_width(line, POINTS, bold=True) <= min(SHORT, room):
        return [(None, line)]
    lines: list[RuleLine] = []
    for term in terms:
        sign = term[0] if term[0] in "+-" else ""
        text = term[1:].strip() if sign else term
        lines.append(("" if sign == "+" and not lines else sign.replace("-", "\N{MINUS SIGN}"), text))
    return [*lines, comparison]

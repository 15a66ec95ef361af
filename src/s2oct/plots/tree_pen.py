"""Draws the parts of a tree at the places of its layout."""

from __future__ import annotations

from typing import TYPE_CHECKING

from s2oct.plots.shown_tree import ShownTree, leaf_label
from s2oct.plots.style import Ink, class_colour, figure_of, fit_text, plain, text_on, text_width
from s2oct.plots.tree_layout import (
    LEGEND,
    LEGEND_MARK,
    LEGEND_NAME,
    LEVEL_GAP,
    LINE,
    MARGIN,
    PAD,
    POINTS,
    SIGN,
    TreeLayout,
    label_width,
    legend_indent,
    square_width,
)
from s2oct.wording import plural
from s2oct.writers.rules import Leaf, Split

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.patches import FancyBboxPatch


class TreePen:
    """Draws one picture, at the scale that the axes allow.

    Attributes
    ----------
    boxes : dict of int to matplotlib patch
        The frame of every part, by node id.
    """

    def __init__(self, shown: ShownTree, layout: TreeLayout, ax: Axes) -> None:
        self.shown, self.layout, self.ax = shown, layout, ax
        self.ink = Ink.in_force()
        figure = figure_of(ax)
        box = ax.get_position()
        inches = figure.get_figwidth() * box.width, figure.get_figheight() * box.height
        self.scale = min(inches[0] / layout.width, inches[1] / layout.height)
        self.boxes: dict[int, FancyBboxPatch] = {}

    def draw(self) -> None:
        """Draw edges, parts, legend and caption."""
        self.ax.set_axis_off()
        self.ax.set_xlim(0, self.layout.width)
        self.ax.set_ylim(0, self.layout.height)
        self.ax.set_aspect("equal", adjustable="box")
        for part, _ in self.shown.parts:
            if isinstance(part, Split):
                for child in (part.left, part.right):
                    self._edge(part, child)
        for part, _ in self.shown.parts:
            if isinstance(part, Split):
                self._split(part)
            else:
                self._leaf(part)
        self._legend_and_caption()

    def _edge(self, parent: Split, child: Leaf | Split) -> None:
        """A line whose width shows the share of rows that go this way, and whether the rule holds for them."""
        x0, top = self.layout.places[parent.node]
        x1, y1 = self.layout.places[child.node]
        y0 = top - self.layout.heights[parent.node]
        share = self.shown.rows_in(child) / max(self.shown.rows_in(self.shown.root), 1)
        middle = y1 + (LEVEL_GAP / 2 if y0 - y1 < LEVEL_GAP * 1.5 else LEVEL_GAP)
        self.ax.plot(
            [x0, x0, x1, x1],
            [y0, middle, middle, y1],
            color=self.ink.faint,
            linewidth=(1.0 + 5.0 * share) * self.scale,
            solid_joinstyle="round",
            zorder=1,
        )
        goes_left = child is parent.left
        inwards = 0.07 if goes_left else -0.07
        answer, align = ("holds", "left") if goes_left else ("fails", "right")
        self._text(x1 + inwards, middle + 0.12, answer, colour=self.ink.muted, points=POINTS - 1, align=align)

    def _box(self, node: int, width: float, colour: str) -> tuple[float, float]:
        """Frame a part; returns its left edge and its top."""
        from matplotlib.patches import FancyBboxPatch

        centre, top = self.layout.places[node]
        height = self.layout.heights[node]
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
        self.boxes[node] = box
        return centre - width / 2, top

    def _split(self, split: Split) -> None:
        width = self.layout.split_width
        left, top = self._box(split.node, width, self.ink.muted)
        y = top - PAD - LINE / 2
        n_rows = plural(self.shown.rows_in(split), "row")
        self._text(left + PAD, y, f"split {split.node}", colour=self.ink.muted, points=POINTS - 1)
        self._text(left + width - PAD, y, n_rows, colour=self.ink.muted, points=POINTS - 1, align="right")
        lines = self.layout.rules[split.node]
        if len(lines) == 1:
            self._text(left + width / 2, y - LINE, lines[0].text, align="center", bold=True)
            return
        for line in lines:
            y -= LINE
            if line.sign:
                self._text(left + PAD, y, line.sign)
            self._text(left + PAD + SIGN, y, line.text)

    def _leaf(self, leaf: Leaf) -> None:
        from matplotlib.patches import Rectangle

        width = self.layout.leaf_width
        colour = class_colour(leaf.class_index)
        left, top = self._box(leaf.node, width, colour)
        head = Rectangle((left, top - PAD / 2 - LINE), width, PAD / 2 + LINE, facecolor=colour, edgecolor="none")
        head.set_zorder(3)
        head.set_clip_path(self.boxes[leaf.node])
        self.ax.add_patch(head)
        room = width - 2 * PAD - label_width(leaf)
        name = fit_text(self.shown.class_names[leaf.class_index], room, POINTS, bold=True)
        y, letters = top - PAD / 2 - LINE / 2 + 0.02, text_on(colour)
        self._text(left + PAD, y, name, colour=letters, bold=True)
        self._text(left + width - PAD, y, leaf_label(leaf), colour=letters, points=POINTS - 1.5, align="right")
        y = top - PAD - 1.6 * LINE
        self._text(left + PAD, y, "labeled", colour=self.ink.muted)
        self._squares(self.shown.labeled_in(leaf), left + width - PAD, y)
        self._text(left + PAD, y - LINE, "unlabeled", colour=self.ink.muted)
        self._text(left + width - PAD, y - LINE, f"{self.shown.unlabeled_in(leaf):,}", align="right")

    def _squares(self, counts: list[int], right: float, y: float) -> None:
        """Counts of the classes that occur, each behind a square of its colour, flush right."""
        room = self.layout.leaf_width - 2 * PAD - text_width("labeled ", POINTS)
        occurring = sorted((index for index, count in enumerate(counts) if count), key=lambda index: -counts[index])
        widths = {index: square_width(counts[index]) for index in occurring}
        kept = list(occurring)
        while kept and sum(widths[index] for index in kept) + (0.25 if kept != occurring else 0) > room:
            kept.pop()
        if not occurring:
            self._text(right, y, "0", align="right")
        elif kept != occurring:
            rest = sum(counts[index] for index in occurring if index not in kept)
            more = f"+{rest:,}" if kept else f"{rest:,}"
            self._text(right, y, more, align="right", colour=self.ink.muted)
            right -= text_width(more, POINTS) + 0.08
        for index in sorted(kept, reverse=True):
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
        y = MARGIN + LINE * (len(self.layout.legend) + len(self.layout.caption) - 0.5)
        self._text(MARGIN, y, LEGEND, colour=self.ink.muted, points=POINTS - 1)
        for line in self.layout.legend:
            x = MARGIN + legend_indent()
            for index in line:
                self._square(x, y, index)
                name = fit_text(self.shown.class_names[index], LEGEND_NAME, POINTS - 1)
                self._text(x + 0.13, y, name, points=POINTS - 1)
                x += text_width(name, POINTS - 1) + LEGEND_MARK
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

"""Draws the parts of a tree at the places of its layout."""

from __future__ import annotations

from typing import TYPE_CHECKING

from s2oct.looks import IF_SO, OTHERWISE, class_colour, text_on
from s2oct.plots.shown_tree import ShownTree, leaf_label
from s2oct.plots.style import Ink, figure_of, fit_text, plain, text_width
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
    SMALL,
    SQUARE_GAP,
    TreeLayout,
    legend_indent,
)
from s2oct.wording import plural
from s2oct.writers.rules import Leaf, Split

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.patches import FancyBboxPatch
    from matplotlib.text import Text


class TreePen:
    """Draws one picture, at the scale that the axes allow.

    Attributes
    ----------
    boxes : dict of int to matplotlib patch
        The frame of every part, by node id.
    titles : dict of str to str
        By the id of a text in the picture, the whole rule of which it shows a part.
    """

    def __init__(self, shown: ShownTree, layout: TreeLayout, ax: Axes) -> None:
        self.shown, self.layout, self.ax = shown, layout, ax
        self.ink = Ink.in_force()
        figure = figure_of(ax)
        box = ax.get_position()
        inches = figure.get_figwidth() * box.width, figure.get_figheight() * box.height
        self.scale = min(inches[0] / layout.width, inches[1] / layout.height)
        self.boxes: dict[int, FancyBboxPatch] = {}
        self.titles: dict[str, str] = {}

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
        # Below the bar, where no line crosses it.
        answer, inwards, align = (IF_SO, 0.07, "left") if child is parent.left else (OTHERWISE, -0.07, "right")
        self._text(x1 + inwards, middle - 0.12, answer, colour=self.ink.muted, points=SMALL, align=align)

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
        self._title(f"split {split.node}", self.shown.rows_in(split), left, width, y)
        for number, line in enumerate(self.layout.rules[split.node]):
            y -= LINE
            gid = f"rule-{split.node}-{number}"
            self.titles[gid] = self.shown.whole_rule(split)
            if line.sign is None:
                self._text(left + width / 2, y, line.text, align="center", bold=True).set_gid(gid)
                continue
            if line.sign:
                self._text(left + PAD, y, line.sign)
            self._text(left + PAD + SIGN, y, line.text).set_gid(gid)

    def _title(self, name: str, n_rows: int, left: float, width: float, y: float) -> None:
        self._text(left + PAD, y, name, colour=self.ink.muted, points=SMALL)
        rows, room = plural(n_rows, "row"), width - 2 * PAD - text_width(f"{name} ", SMALL)
        if text_width(rows, SMALL) > room:
            rows = f"{n_rows:,}"
        self._text(left + width - PAD, y, rows, colour=self.ink.muted, points=SMALL, align="right")

    def _leaf(self, leaf: Leaf) -> None:
        from matplotlib.patches import Rectangle

        width, lines = self.layout.leaf_width, self.layout.leaves[leaf.node]
        colour = class_colour(leaf.class_index)
        left, top = self._box(leaf.node, width, colour)
        depth = PAD + LINE * len(lines.name)
        head = Rectangle((left, top - depth), width, depth, facecolor=colour, edgecolor="none", zorder=3)
        head.set_clip_path(self.boxes[leaf.node])
        self.ax.add_patch(head)
        y = top - PAD / 2 - LINE / 2
        for name in lines.name:
            self._text(left + PAD, y, name, colour=text_on(colour), bold=True)
            y -= LINE
        y -= PAD / 2
        self._title(leaf_label(leaf), self.shown.rows_in(leaf), left, width, y)
        self._text(left + PAD, y - LINE, "labeled", colour=self.ink.muted)
        counts = self.shown.labeled_in(leaf)
        for indices in lines.labeled:
            y -= LINE
            self._squares({index: counts[index] for index in indices}, left + width - PAD, y)
        y -= LINE
        self._text(left + PAD, y, "unlabeled", colour=self.ink.muted)
        self._text(left + width - PAD, y, f"{self.shown.unlabeled_in(leaf):,}", align="right")

    def _squares(self, counts: dict[int, int], right: float, y: float) -> None:
        """Counts of classes, each behind a square of its colour, flush right."""
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
        self.ax.add_patch(patch)

    def _legend_and_caption(self) -> None:
        y = MARGIN + LINE * (len(self.layout.legend) + len(self.layout.caption) - 0.5)
        self._text(MARGIN, y, LEGEND, colour=self.ink.muted, points=SMALL)
        for line in self.layout.legend:
            x = MARGIN + legend_indent()
            for index in line:
                self._square(x, y, index)
                name = fit_text(self.shown.class_names[index], LEGEND_NAME, SMALL)
                self._text(x + 0.13, y, name, points=SMALL)
                x += text_width(name, SMALL) + LEGEND_MARK
            y -= LINE
        for text in self.layout.caption:
            self._text(MARGIN, y, text, colour=self.ink.muted, points=SMALL)
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
        return self.ax.text(
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

"""Where the parts of a tree stand in its picture. Lengths are inches at full scale."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass

from s2oct.plots.shown_tree import ShownTree, leaf_label
from s2oct.plots.style import text_width
from s2oct.writers.rules import Leaf, Split

POINTS = 9.0
"""Font size at full scale."""
LINE, PAD, GAP, LEVEL_GAP, MARGIN = 0.19, 0.09, 0.2, 0.42, 0.12
LEAF_WIDTH, SPLIT_WIDTH, NARROWEST = (1.3, 2.1), 3.0, 3.6
"""Least and most of a leaf, most of a split, and least of a whole picture."""
LEGEND = "labeled rows by class"
LEGEND_NAME, LEGEND_MARK = 2.0, 0.38
"""Most for the name of a class in the legend, and what its square and the gaps around it take."""
RULE_CAPTION = "Rows for which a rule holds go left, the others right."
BARS_CAPTION = (
    "Bars show the coefficients of a split, per standard deviation: the larger a feature with a bar to the left, the "
    "more it draws a row to the left."
)


@dataclass(frozen=True)
class TreeLayout:
    """Sizes of the picture and its parts.

    Attributes
    ----------
    width, height : float
    leaf_width, split_width : float
    places : dict of int to tuple of float
        By node id, the centre and the top of each part, from the lower left.
    heights : dict of int to float
        By node id, the height of each part.
    legend : list of list of int
        The classes of each line of the legend.
    caption : tuple of str
        Lines that say how to read the picture.
    """

    width: float
    height: float
    leaf_width: float
    split_width: float
    places: dict[int, tuple[float, float]]
    heights: dict[int, float]
    legend: list[list[int]]
    caption: tuple[str, ...]

    @classmethod
    def of(cls, shown: ShownTree) -> TreeLayout:
        """Lay out a tree."""
        leaves = shown.root.leaves
        leaf_width = _leaf_width(shown)
        slot = leaf_width + GAP
        width = max(slot * len(leaves) + 2 * MARGIN, NARROWEST)
        heights = {part.node: _height(shown, part) for part, _ in shown.parts}
        levels = [0.0] * (max(level for _, level in shown.parts) + 1)
        for part, level in shown.parts:
            levels[level] = max(levels[level], heights[part.node])
        legend, caption = _legend(shown, width), _caption(shown, width - 2 * MARGIN)
        below = MARGIN + LINE * (len(legend) + len(caption)) + 0.1
        height = sum(levels) + LEVEL_GAP * (len(levels) - 1) + MARGIN + below
        tops = [height - MARGIN - sum(levels[:level]) - LEVEL_GAP * level for level in range(len(levels))]
        centres = _centres(shown, (width - slot * len(leaves)) / 2, slot)
        return cls(
            width=width,
            height=height,
            leaf_width=leaf_width,
            split_width=min(SPLIT_WIDTH, 2 * slot - GAP),
            places={part.node: (centres[part.node], tops[level]) for part, level in shown.parts},
            heights=heights,
            legend=legend,
            caption=caption,
        )


def _leaf_width(shown: ShownTree) -> float:
    """As much as the widest leaf needs, within limits."""
    needed = LEAF_WIDTH[0]
    for leaf in shown.root.leaves:
        squares = sum(square_width(count) for count in shown.labeled_in(leaf) if count)
        name = text_width(shown.class_names[leaf.class_index], POINTS, bold=True) + label_width(leaf)
        number = text_width(f"{shown.unlabeled_in(leaf):,}", POINTS)
        label = text_width("unlabeled ", POINTS)
        needed = max(needed, 2 * PAD + max(name, label + squares, label + number))
    return min(needed, LEAF_WIDTH[1])


def square_width(count: int) -> float:
    """Width of a count behind a square."""
    return text_width(f"{count:,}", POINTS) + 0.22


def label_width(leaf: Leaf) -> float:
    """Width of the name of a leaf and the gap before it."""
    return text_width(leaf_label(leaf), POINTS - 1.5) + 0.12


def _height(shown: ShownTree, part: Leaf | Split) -> float:
    if isinstance(part, Leaf):
        return 3 * LINE + 2 * PAD
    used = len(shown.bars(part)[0])
    lines = 2 if used == 1 else 1 + min(used, shown.max_features) + (used > shown.max_features)
    return lines * LINE + 2 * PAD


def _legend(shown: ShownTree, width: float) -> list[list[int]]:
    """The classes, on as many lines as the width requires."""
    lines: list[list[int]] = [[]]
    left = start = width - 2 * MARGIN - legend_indent()
    for index, name in enumerate(shown.class_names):
        needed = min(text_width(name, POINTS - 1), LEGEND_NAME) + LEGEND_MARK
        if needed > left and lines[-1]:
            lines.append([])
            left = start
        lines[-1].append(index)
        left -= needed
    return lines


def legend_indent() -> float:
    """Width of the legend's title and the gap after it."""
    return text_width(LEGEND, POINTS - 1) + 0.15


def _caption(shown: ShownTree, width: float) -> tuple[str, ...]:
    """How to read what is shown, in lines."""
    kinds = {shown.is_threshold(split) for split in shown.root.splits}
    text = " ".join([RULE_CAPTION] * (True in kinds) + [BARS_CAPTION] * (False in kinds))
    if not text:
        return ()
    per_inch = len(text) / text_width(text, POINTS - 1.5)
    return tuple(textwrap.wrap(text, max(int(0.95 * width * per_inch), 20)))


def _centres(shown: ShownTree, inset: float, slot: float) -> dict[int, float]:
    """The centre of each part, in the middle of the slots of its leaves.

    No part is wider than these slots, so that nothing can overlap.
    """
    position = {leaf.node: i for i, leaf in enumerate(shown.root.leaves)}
    centres = {}
    for part, _ in shown.parts:
        first, last = position[part.leaves[0].node], position[part.leaves[-1].node]
        centres[part.node] = inset + slot * (first + last + 1) / 2
    return centres

"""Where the parts of a tree stand in its picture. Lengths are inches at full scale."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NamedTuple

from s2oct.plots.shown_tree import ShownTree, leaf_label
from s2oct.plots.style import text_width, wrap_text
from s2oct.wording import plural
from s2oct.writers.rules import Leaf, remarks

POINTS, SMALL = 9.0, 8.25
"""Font sizes at full scale: 12 and 11 pixels on a page."""
LINE, PAD, GAP, LEVEL_GAP, MARGIN = 0.19, 0.09, 0.16, 0.46, 0.12
LEAF_WIDTH, SPLIT_WIDTH, NARROWEST = (1.1, 2.1), (1.5, 3.0), 3.6
"""Least and most of a leaf, least and most of a split, and least of a whole picture."""
SCREEN = 12.75
"""Most of a whole picture, unless its narrowest leaves need more: a window of 1280 pixels shows it at full size."""
SIGN = 0.17
"""Room for the sign before a term."""
SHORT = 2.2
"""A sum that is no wider stands on one line."""
TERM_LINES, NAME_LINES = 3, 2
"""Most lines of a term, and of the name of a class in a leaf."""
SQUARE_GAP = 0.09
"""Room between a count and the square of the next one."""
LEGEND = "labeled rows by class"
LEGEND_NAME, LEGEND_MARK = 2.0, 0.38
"""Most for the name of a class in the legend, and what its square and the gaps around it take."""
CAPTION_LINES = 4
ROUNDED_CAPTION = "Numbers are rounded."


_RELATIONS = {"<=": "≤", ">=": "≥", "<": "<", ">": ">"}


class RuleLine(NamedTuple):
    """A line of a rule: a sign or a relation, and what comes after it.

    The sign is empty on the first line of a sum and where a term goes on, and None in a rule that is no sum.
    """

    sign: str | None
    text: str


class LeafLines(NamedTuple):
    """The lines of a leaf: its class, and the classes of its labeled rows."""

    name: list[str]
    labeled: list[list[int]]


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
    rules : dict of int to list of RuleLine
        By node id, the rule of each split.
    leaves : dict of int to LeafLines
        By node id, what is written in each leaf.
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
    rules: dict[int, list[RuleLine]]
    leaves: dict[int, LeafLines]
    legend: list[list[int]]
    caption: tuple[str, ...]

    @classmethod
    def of(cls, shown: ShownTree) -> TreeLayout:
        """Lay out a tree."""
        n_leaves = len(shown.root.leaves)
        leaf_width = _leaf_width(shown)
        slot = leaf_width + GAP
        width = max(slot * n_leaves + 2 * MARGIN, NARROWEST)
        split_width = _split_width(shown, 2 * slot - GAP)
        rules = {split.node: _rule_lines(shown.rule(split), split_width) for split in shown.root.splits}
        leaves = {leaf.node: _leaf_lines(shown, leaf, leaf_width) for leaf in shown.root.leaves}
        n_lines = {node: 1 + len(lines) for node, lines in rules.items()}
        n_lines |= {node: len(lines.name) + 2 + len(lines.labeled) for node, lines in leaves.items()}
        heights = {node: LINE * lines + 2 * PAD for node, lines in n_lines.items()}
        levels = [0.0] * (max(level for _, level in shown.parts) + 1)
        for part, level in shown.parts:
            levels[level] = max(levels[level], heights[part.node])
        legend, caption = _legend(shown, width), _caption(shown, width)
        below = MARGIN + LINE * (len(legend) + len(caption)) + 0.1
        height = sum(levels) + LEVEL_GAP * (len(levels) - 1) + MARGIN + below
        tops = [height - MARGIN - sum(levels[:level]) - LEVEL_GAP * level for level in range(len(levels))]
        centres = _centres(shown, (width - slot * n_leaves) / 2, slot)
        return cls(
            width=width,
            height=height,
            leaf_width=leaf_width,
            split_width=split_width,
            places={part.node: (centres[part.node], tops[level]) for part, level in shown.parts},
            heights=heights,
            rules=rules,
            leaves=leaves,
            legend=legend,
            caption=caption,
        )


def _leaf_width(shown: ShownTree) -> float:
    """As much as the widest leaf needs, within limits."""
    least, most = LEAF_WIDTH
    needed = least
    for leaf in shown.root.leaves:
        name = text_width(shown.class_names[leaf.class_index], POINTS, bold=True)
        title = text_width(f"{leaf_label(leaf)}   {plural(shown.rows_in(leaf), 'row')}", SMALL)
        number = text_width(f"{shown.unlabeled_in(leaf):,}", POINTS)
        squares = sum(square_width(count) for count in shown.labeled_in(leaf) if count)
        label = text_width("unlabeled ", POINTS)
        needed = max(needed, 2 * PAD + max(name, title, label + squares, label + number))
    share = (SCREEN - 2 * MARGIN) / len(shown.root.leaves) - GAP
    return min(needed, most, max(share, least))


def _leaf_lines(shown: ShownTree, leaf: Leaf, width: float) -> LeafLines:
    """What is written in a leaf, in lines that fit; the legend has the names that are cut here."""
    room = width - 2 * PAD
    lines: list[list[int]] = [[]]
    left = room - text_width("labeled ", POINTS) + SQUARE_GAP
    for index, count in enumerate(shown.labeled_in(leaf)):
        needed = square_width(count)
        if count and needed > left:
            lines.append([])
            left = room + SQUARE_GAP
        if count:
            lines[-1].append(index)
            left -= needed
    name = wrap_text(shown.class_names[leaf.class_index], room, POINTS, lines=NAME_LINES, bold=True)
    return LeafLines(name, lines)


def square_width(count: int) -> float:
    """Width of a count behind a square, and the gap before the next one."""
    return text_width(f"{count:,}", POINTS) + 0.13 + SQUARE_GAP


def _split_width(shown: ShownTree, most: float) -> float:
    """As much as the widest rule needs, within limits."""
    needed = SPLIT_WIDTH[0]
    for split in shown.root.splits:
        for line in _unwrapped(shown.rule(split), most - 2 * PAD):
            width = text_width(line.text, POINTS, bold=line.sign is None)
            needed = max(needed, 2 * PAD + width + (0 if line.sign is None else SIGN))
    return min(needed, SPLIT_WIDTH[1], most)


def _rule_lines(parts: tuple[str, ...], width: float) -> list[RuleLine]:
    """A rule in lines that fit."""
    found = []
    for sign, text in _unwrapped(parts, width - 2 * PAD):
        room = width - 2 * PAD - (SIGN if sign is not None else 0)
        first, *rest = wrap_text(text, room, POINTS, lines=TERM_LINES, bold=sign is None)
        found += [RuleLine(sign, first), *(RuleLine(None if sign is None else "", more) for more in rest)]
    return found


def _unwrapped(parts: tuple[str, ...], room: float) -> list[RuleLine]:
    """A rule about one column and a short sum on one line, a longer sum with one term a line."""
    *terms, last = parts
    relation, _, limit = last.partition(" ")
    # A level is shown with its own letters, a number with a proper minus.
    limit = re.sub(r"^-(?=[\d.])", "\N{MINUS SIGN}", limit)
    comparison = RuleLine(_RELATIONS[relation], limit) if relation in _RELATIONS else RuleLine("", last)
    line = " ".join(filter(None, (*(re.sub(r"^-", "\N{MINUS SIGN}", term) for term in terms), *comparison)))
    if len(terms) < 2 or text_width(line, POINTS, bold=True) <= min(SHORT, room):
        return [RuleLine(None, line)]
    lines: list[RuleLine] = []
    for term in terms:
        sign = term[0] if term[0] in "+-" else ""
        text = term[1:].strip() if sign else term
        lines.append(RuleLine("" if sign == "+" and not lines else sign.replace("-", "\N{MINUS SIGN}"), text))
    return [*lines, comparison]


def _legend(shown: ShownTree, width: float) -> list[list[int]]:
    """The classes, on as many lines as the width requires."""
    lines: list[list[int]] = [[]]
    left = start = width - 2 * MARGIN - legend_indent()
    for index, name in enumerate(shown.class_names):
        needed = min(text_width(name, SMALL), LEGEND_NAME) + LEGEND_MARK
        if needed > left and lines[-1]:
            lines.append([])
            left = start
        lines[-1].append(index)
        left -= needed
    return lines


def _caption(shown: ShownTree, width: float) -> tuple[str, ...]:
    """What the rules leave unsaid, in as many lines as it needs and the picture has room for."""
    said = [*([ROUNDED_CAPTION] if shown.rounds else []), *remarks(shown.tree, shown.root, shown.features)]
    return tuple(wrap_text(" ".join(said), width - 2 * MARGIN, SMALL, lines=CAPTION_LINES)) if said else ()


def legend_indent() -> float:
    """Width of the legend's title and the gap after it."""
    return text_width(LEGEND, SMALL) + 0.15


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

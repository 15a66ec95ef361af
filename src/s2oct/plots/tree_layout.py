"""Where the parts of a tree stand in its picture. Lengths are inches at full scale."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NamedTuple

from s2oct.plots.shown_tree import ShownTree, leaf_label
from s2oct.plots.style import text_width, wrap_text
from s2oct.writers.rules import Leaf, remarks

POINTS = 9.0
"""Font size at full scale."""
LINE, PAD, GAP, LEVEL_GAP, MARGIN = 0.19, 0.09, 0.16, 0.46, 0.12
LEAF_WIDTH, SPLIT_WIDTH, NARROWEST = (1.1, 2.1), (1.5, 3.0), 3.6
"""Least and most of a leaf, least and most of a split, and least of a whole picture."""
SCREEN = 15.0
"""Most of a whole picture, unless its narrowest leaves need more: a small screen shows it nearly at full size."""
SIGN = 0.17
"""Room for the sign before a term."""
TERM_LINES = 3
"""Most lines of a term."""
LEGEND = "labeled rows by class"
LEGEND_NAME, LEGEND_MARK = 2.0, 0.38
"""Most for the name of a class in the legend, and what its square and the gaps around it take."""
CAPTION_LINES = 4
ROUNDED_CAPTION = "Numbers are rounded."


_RELATIONS = {"<=": "≤", ">=": "≥", ">": ">"}


class RuleLine(NamedTuple):
    """A line of a rule: a sign, a relation or nothing, and what comes after it."""

    sign: str
    text: str


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
    legend: list[list[int]]
    caption: tuple[str, ...]

    @classmethod
    def of(cls, shown: ShownTree) -> TreeLayout:
        """Lay out a tree."""
        leaves = shown.root.leaves
        leaf_width = _leaf_width(shown)
        slot = leaf_width + GAP
        width = max(slot * len(leaves) + 2 * MARGIN, NARROWEST)
        split_width = _split_width(shown, 2 * slot - GAP)
        rules = {split.node: _rule_lines(shown.rule(split), split_width) for split in shown.root.splits}
        heights = {part.node: LINE * (1 + len(rules.get(part.node, "  "))) + 2 * PAD for part, _ in shown.parts}
        levels = [0.0] * (max(level for _, level in shown.parts) + 1)
        for part, level in shown.parts:
            levels[level] = max(levels[level], heights[part.node])
        legend, caption = _legend(shown, width), _caption(shown, width)
        below = MARGIN + LINE * (len(legend) + len(caption)) + 0.1
        height = sum(levels) + LEVEL_GAP * (len(levels) - 1) + MARGIN + below
        tops = [height - MARGIN - sum(levels[:level]) - LEVEL_GAP * level for level in range(len(levels))]
        centres = _centres(shown, (width - slot * len(leaves)) / 2, slot)
        return cls(
            width=width,
            height=height,
            leaf_width=leaf_width,
            split_width=split_width,
            places={part.node: (centres[part.node], tops[level]) for part, level in shown.parts},
            heights=heights,
            rules=rules,
            legend=legend,
            caption=caption,
        )


def _leaf_width(shown: ShownTree) -> float:
    """As much as the widest leaf needs, within limits; the legend has the names that are cut here."""
    least, most = LEAF_WIDTH
    needed = least
    for leaf in shown.root.leaves:
        squares = sum(square_width(count) for count in shown.labeled_in(leaf) if count)
        name = text_width(shown.class_names[leaf.class_index], POINTS, bold=True) + label_width(leaf)
        number = text_width(f"{shown.unlabeled_in(leaf):,}", POINTS)
        label = text_width("unlabeled ", POINTS)
        needed = max(needed, 2 * PAD + max(name, label + squares, label + number))
    share = (SCREEN - 2 * MARGIN) / len(shown.root.leaves) - GAP
    return min(needed, most, max(share, least))


def square_width(count: int) -> float:
    """Width of a count behind a square."""
    return text_width(f"{count:,}", POINTS) + 0.22


def label_width(leaf: Leaf) -> float:
    """Width of the name of a leaf and the gap before it."""
    return text_width(leaf_label(leaf), POINTS - 1.5) + 0.12


def _split_width(shown: ShownTree, most: float) -> float:
    """As much as the widest rule needs, within limits."""
    needed = SPLIT_WIDTH[0]
    for split in shown.root.splits:
        lines = _signed(shown.rule(split))
        threshold = _on_one_line(lines)
        if threshold:
            needed = max(needed, 2 * PAD + text_width(threshold, POINTS, bold=True))
        else:
            needed = max(needed, 2 * PAD + SIGN + max(text_width(line.text, POINTS) for line in lines))
    return min(needed, SPLIT_WIDTH[1], most)


def _rule_lines(parts: tuple[str, ...], width: float) -> list[RuleLine]:
    """A rule in lines that fit: a threshold on one line if there is room, otherwise one term a line."""
    lines = _signed(parts)
    threshold = _on_one_line(lines)
    if threshold and text_width(threshold, POINTS, bold=True) <= width - 2 * PAD:
        return [RuleLine("", threshold)]
    found = []
    for sign, text in lines:
        first, *rest = wrap_text(text, width - 2 * PAD - SIGN, POINTS, lines=TERM_LINES)
        found += [RuleLine(sign, first), *(RuleLine("", more) for more in rest)]
    return found


def _on_one_line(lines: list[RuleLine]) -> str:
    """A rule about one feature on one line; empty where there are several terms."""
    return " ".join(filter(None, (word for line in lines for word in line))) if len(lines) <= 2 else ""


def _signed(parts: tuple[str, ...]) -> list[RuleLine]:
    """Terms, relation and limit in the letters of the picture, each with its sign apart."""
    if len(parts) == 1:
        return [RuleLine("", parts[0])]
    *terms, comparison = parts
    relation, _, limit = comparison.partition(" ")
    lines: list[RuleLine] = []
    for term in terms:
        sign = term[0] if term[0] in "+-" else ""
        text = term[1:].strip() if sign else term
        lines.append(RuleLine("" if sign == "+" and not lines else sign.replace("-", "\N{MINUS SIGN}"), text))
    return [
        *lines,
        RuleLine(_RELATIONS[relation], limit.replace("-", "\N{MINUS SIGN}") if _is_number(limit) else limit),
    ]


def _is_number(text: str) -> bool:
    """Whether a rule compares with a number; a level is shown with its own letters."""
    return bool(re.fullmatch(r"-?[\d.]+(e[+-]\d+)?", text))


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


def _caption(shown: ShownTree, width: float) -> tuple[str, ...]:
    """What the rules leave unsaid, in as many lines as it needs and the picture has room for."""
    said = [*([ROUNDED_CAPTION] if shown.rounds else []), *remarks(shown.tree, shown.root, shown.features)]
    return tuple(wrap_text(" ".join(said), width - 2 * MARGIN, POINTS - 1.5, lines=CAPTION_LINES)) if said else ()


def legend_indent() -> float:
    """Width of the legend's title and the gap after it."""
    return text_width(LEGEND, POINTS - 1) + 0.15


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

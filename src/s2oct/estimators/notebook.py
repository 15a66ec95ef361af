"""A fitted tree as HTML without any package or script: nested boxes for notebooks and narrow pages, and its rules."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

from s2oct.arrays import IntArray
from s2oct.looks import IF_SO, OTHERWISE, class_colour, short_sets, text_on
from s2oct.model.features import Feature
from s2oct.model.rules import Leaf, Split, pruned, rule_lines
from s2oct.model.split_rules import SplitRule
from s2oct.model.tree import ObliqueTree
from s2oct.wording import plural

STYLE = """
.s2oct { font-family: sans-serif; font-size: 0.85rem; line-height: 1.4; margin: 0.8em 0; text-align: left; }
.s2oct pre { font-size: 0.85rem; line-height: 1.4; margin: 0.4em 0; background: none; overflow-x: auto; }
.s2oct summary { cursor: pointer; }
.s2oct .part { width: fit-content; max-width: 100%; box-sizing: border-box; overflow: hidden; }
.s2oct .part { border: 1px solid rgba(128, 128, 128, 0.6); border-radius: 5px; }
.s2oct .rule, .s2oct .sides { padding: 0.3em 0.5em; }
.s2oct .rule { font-family: monospace; max-width: 24em; overflow-wrap: anywhere; }
.s2oct .sides { display: flex; flex-wrap: wrap; gap: 0.5em; align-items: flex-start; padding-top: 0; }
.s2oct .side { min-width: 0; max-width: 100%; }
.s2oct .way { opacity: 0.75; }
.s2oct .class, .s2oct .rows { padding: 0.15em 0.5em; }
.s2oct .class { font-weight: bold; max-width: 16em; overflow-wrap: anywhere; }
.s2oct .class { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
"""
"""Only classes have colours of their own, so that the rest is readable on light and dark paper. Two sides that are too
wide for the page stand one below the other, so that nothing scrolls sideways."""
SHORT = 28
"""A rule of no more letters stands on one line; of a longer sum, every term has its own."""
MOST_LEAVES = 32
"""Of a tree with more leaves there are only the rules as text."""


def tree_html(
    tree: ObliqueTree, features: Sequence[Feature], classes: Sequence[Any], counts: IntArray | None = None
) -> str:
    """Show a tree as nested boxes, and its rules as text behind a heading; every name is escaped.

    Parameters
    ----------
    tree : ObliqueTree
        The tree, in the units of the features.
    features : sequence of Feature
        Every feature.
    classes : sequence
        Every class.
    counts : ndarray of shape (n_leaves, 2), optional
        Labeled and unlabeled rows of each leaf.

    Returns
    -------
    str
        One element.
    """
    boxes = "" if len(pruned(tree).leaves) > MOST_LEAVES else tree_boxes(tree, features, classes, counts)
    rules = escape("\n".join(rule_lines(tree, features, classes)))
    text = f"<details{'' if boxes else ' open'}><summary>Rules as text</summary><pre>{rules}</pre></details>"
    return f'<div class="s2oct"><style>{STYLE}</style>{boxes}{text}</div>'


def tree_boxes(tree: ObliqueTree, features: Sequence[Feature], classes: Sequence[Any], counts: IntArray | None) -> str:
    """Nested boxes in which a split holds its rule and its two sides, and a leaf its class and its rows."""

    def box(part: Leaf | Split) -> str:
        if isinstance(part, Leaf):
            colour = class_colour(part.class_index)
            look = f"background: {colour}; color: {text_on(colour)}"
            name = f'<div class="class" style="{look}">{escape(str(classes[part.class_index]))}</div>'
            return f'<div class="part" style="border-color: {colour}">{name}{rows(part)}</div>'
        parts = SplitRule.of(tree, part.node, features).parts()
        whole = " ".join(parts)
        lines = [whole] if len(whole) <= SHORT else [*parts[:-2], " ".join(parts[-2:])]
        rule = "<br>".join(escape(short_sets(line)) for line in lines)
        sides = "".join(
            f'<div class="side"><div class="way">{answer}</div>{box(side)}</div>'
            for answer, side in ((IF_SO, part.left), (OTHERWISE, part.right))
        )
        head = f'<div class="rule" title="{escape(whole)}">{rule}</div>'
        return f'<div class="part">{head}<div class="sides">{sides}</div></div>'

    def rows(leaf: Leaf) -> str:
        if counts is None:
            return ""
        labeled, unlabeled = counts[[node - tree.topology.n_leaves for node in leaf.ids]].sum(axis=0).tolist()
        of_them = f"<br>{labeled:,} labeled" if labeled and unlabeled else ""
        return f'<div class="rows">{plural(labeled + unlabeled, "row")}{of_them}</div>'

    return box(pruned(tree))

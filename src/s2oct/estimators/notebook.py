"""A fitted tree in a notebook: nested boxes and the rules as text, as HTML without any package or script."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

from s2oct.model.features import Feature
from s2oct.model.rules import Leaf, Split, pruned, rule_lines
from s2oct.model.split_rules import SplitRule
from s2oct.model.tree import ObliqueTree

STYLE = """
.s2oct { font-family: sans-serif; font-size: 0.85rem; line-height: 1.4; margin: 0.8em 0; overflow-x: auto; }
.s2oct pre { font-size: 0.85rem; line-height: 1.4; margin: 0.4em 0; background: none; }
.s2oct summary { cursor: pointer; }
.s2oct .part { width: max-content; margin: 0 auto; padding: 0.4em 0.5em; }
.s2oct .part { border: 1px solid rgba(128, 128, 128, 0.6); border-radius: 5px; }
.s2oct > .part { margin: 0; }
.s2oct .rule { font-family: monospace; text-align: center; max-width: 20em; overflow-wrap: anywhere; margin: 0 auto; }
.s2oct .sides { display: flex; gap: 0.5em; justify-content: center; }
.s2oct .side { text-align: center; opacity: 0.75; }
.s2oct .class { font-weight: bold; max-width: 16em; overflow-wrap: anywhere; background: rgba(128, 128, 128, 0.15); }
"""
"""Everything takes its colour from the notebook, so that it is readable on light and dark paper."""
MOST_LEAVES = 32
"""Of a tree with more leaves there are only the rules as text."""


def tree_html(tree: ObliqueTree, features: Sequence[Feature], classes: Sequence[Any]) -> str:
    """Show a tree as nested boxes, and its rules as text behind a heading; every name is escaped."""
    root = pruned(tree)
    boxes = "" if len(root.leaves) > MOST_LEAVES else _box(tree, features, classes, root)
    rules = escape("\n".join(rule_lines(tree, features, classes)))
    text = f"<details{'' if boxes else ' open'}><summary>Rules as text</summary><pre>{rules}</pre></details>"
    return f'<div class="s2oct"><style>{STYLE}</style>{boxes}{text}</div>'


def _box(tree: ObliqueTree, features: Sequence[Feature], classes: Sequence[Any], part: Leaf | Split) -> str:
    if isinstance(part, Leaf):
        return f'<div class="part class">{escape(str(classes[part.class_index]))}</div>'
    parts = SplitRule.of(tree, part.node, features).parts()
    lines = [*parts[:-2], " ".join(parts[-2:])]
    rule = "<br>".join(escape(line) for line in lines)
    sides = "".join(
        f'<div><div class="side">{answer}</div>{_box(tree, features, classes, side)}</div>'
        for answer, side in (("holds", part.left), ("fails", part.right))
    )
    return f'<div class="part"><div class="rule">{rule}</div><div class="sides">{sides}</div></div>'

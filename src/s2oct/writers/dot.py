"""A tree as a graph in the DOT language of Graphviz."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from s2oct.looks import IF_SO, OTHERWISE
from s2oct.model.features import Feature
from s2oct.model.tree import ObliqueTree
from s2oct.writers.rules import Leaf, Split, SplitRule, check_names, pruned


def tree_to_dot(tree: ObliqueTree, feature_names: Sequence[Feature | str], classes: Sequence[Any]) -> str:
    r"""Write a tree as a DOT graph: ``dot -Tsvg`` draws it.

    Its rules are those of `tree_to_text`, one feature per line. Splits that decide nothing are left out.

    Parameters
    ----------
    tree : ObliqueTree
        The tree, in the units of the features.
    feature_names : sequence of str or Feature
        Every feature; a name alone is that of a number.
    classes : sequence
        The class labels, in the order of their indices.

    Returns
    -------
    str
        The graph.

    Examples
    --------
    >>> import numpy as np
    >>> from s2oct import ObliqueTree, Topology
    >>> tree = ObliqueTree.of(Topology(1), np.array([[0.5, -0.125]]), np.array([17.25]))
    >>> print(tree_to_dot(tree, ["age", "education"], ["no", "yes"]))
    digraph tree {
        node [shape=box, fontname="sans-serif"];
        edge [fontname="sans-serif"];
        n1 [label="0.5 * age\n- 0.125 * education\n<= 17.25"];
        n2 [label="no", style=rounded];
        n1 -> n2 [label="if so"];
        n3 [label="yes", style=rounded];
        n1 -> n3 [label="otherwise"];
    }
    """
    check_names(tree, feature_names, classes)
    body = "\n".join(f"    {line}" for line in _lines(tree, feature_names, classes, pruned(tree), 1))
    fonts = '    node [shape=box, fontname="sans-serif"];\n    edge [fontname="sans-serif"];\n'
    return f"digraph tree {{\n{fonts}{body}\n}}"


def _lines(
    tree: ObliqueTree, names: Sequence[Feature | str], classes: Sequence[Any], part: Leaf | Split, place: int
) -> Iterator[str]:
    """Nodes and edges below a place; places are numbered like nodes: root 1, children of b 2b and 2b + 1."""
    if isinstance(part, Leaf):
        yield f"n{place} [label={_quoted(str(classes[part.class_index]))}, style=rounded];"
        return
    rule = "\n".join(SplitRule.of(tree, part.node, names).parts())
    yield f"n{place} [label={_quoted(rule)}];"
    for child, side, answer in ((2 * place, part.left, IF_SO), (2 * place + 1, part.right, OTHERWISE)):
        yield from _lines(tree, names, classes, side, child)
        yield f'n{place} -> n{child} [label="{answer}"];'


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'

"""Trees as text and as graphs for Graphviz."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from s2oct.arrays import FloatArray
from s2oct.looks import IF_SO, OTHERWISE
from s2oct.trees.features import Feature
from s2oct.trees.rules import Leaf, Split, SplitRule, check_names, pruned, rule_lines
from s2oct.trees.tree import ObliqueTree


def tree_to_text(
    tree: ObliqueTree,
    feature_names: Sequence[Feature | str],
    classes: Sequence[Any],
    *,
    labeled: FloatArray | None = None,
    unlabeled: FloatArray | None = None,
) -> str:
    """Write a tree as nested rules.

    The rules have exactly the numbers of the tree. They name the levels of a column and the side of missing values. In
    a sum, a term with coefficient 1 comes first; the tree itself adds terms in the order of the features. Splits that
    send all rows to the same side, and splits whose sides have the same class, are omitted.

    Parameters
    ----------
    tree : ObliqueTree
        The tree, in the units of the features.
    feature_names : sequence of str or Feature
        All features; a plain name is a numeric feature.
    classes : sequence
        The class labels, in the order of their indices.
    labeled, unlabeled : ndarray of shape (rows, n_features), optional
        Rows to count in the leaves.

    Returns
    -------
    str
        The rules, one per line.

    Examples
    --------
    >>> import numpy as np
    >>> from s2oct import ObliqueTree, Topology
    >>> tree = ObliqueTree.of(Topology(1), np.array([[0.5, -0.125]]), np.array([17.25]))
    >>> print(tree_to_text(tree, ["age", "education"], ["no", "yes"]))
    if 0.5 * age - 0.125 * education <= 17.25:
        no
    otherwise:
        yes
    """
    kinds = (("labeled", labeled), ("unlabeled", unlabeled))
    ends = [(kind, tree.apply(rows)) for kind, rows in kinds if rows is not None]

    def counts(leaf: Leaf) -> str:
        found = [f"{int(np.isin(end, leaf.ids).sum())} {kind}" for kind, end in ends]
        return f"  ({', '.join(found)})" if found else ""

    return "\n".join(rule_lines(tree, feature_names, classes, counts))


def tree_to_dot(tree: ObliqueTree, feature_names: Sequence[Feature | str], classes: Sequence[Any]) -> str:
    r"""Write a tree as a DOT graph, which ``dot -Tsvg`` draws.

    Its rules are those of `tree_to_text`, one feature per line. Splits without effect are omitted.

    Parameters
    ----------
    tree : ObliqueTree
        The tree, in the units of the features.
    feature_names : sequence of str or Feature
        All features; a plain name is a numeric feature.
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
    """Yield the nodes and edges of a subtree; nodes are numbered: root 1, children of b 2b and 2b + 1."""
    if isinstance(part, Leaf):
        yield f"n{place} [label={_quoted(str(classes[part.class_index]))}, style=rounded];"
        return
    rule = "\n".join(SplitRule.of(tree, part.node, names).parts())
    yield f"n{place} [label={_quoted(rule)}];"
    for child, side, branch in ((2 * place, part.left, IF_SO), (2 * place + 1, part.right, OTHERWISE)):
        yield from _lines(tree, names, classes, side, child)
        yield f'n{place} -> n{child} [label="{branch}"];'


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'

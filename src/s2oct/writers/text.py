"""A tree as indented text: one rule per split, in the user's units and with the user's names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from s2oct.arrays import FloatArray
from s2oct.model.features import Feature
from s2oct.model.tree import ObliqueTree
from s2oct.writers.rules import Leaf, rule_lines


def tree_to_text(
    tree: ObliqueTree,
    feature_names: Sequence[Feature | str],
    classes: Sequence[Any],
    *,
    labeled: FloatArray | None = None,
    unlabeled: FloatArray | None = None,
) -> str:
    """Write a tree as nested rules.

    The rules have exactly the numbers of the tree. They say which levels of a column they are about and where missing
    values go. In a sum, a term with the coefficient 1 comes first; the tree adds up in the order of the features.
    Splits that send every row the same way are left out, and so are splits whose two sides end in the same class.

    Parameters
    ----------
    tree : ObliqueTree
        The tree, in the units of the features.
    feature_names : sequence of str or Feature
        Every feature; a name alone is that of a number.
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

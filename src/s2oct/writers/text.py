"""A tree as indented text: one rule per split, in the user's units and with the user's names."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from s2oct.arrays import FloatArray, IntArray
from s2oct.errors import InvalidProblem
from s2oct.model.tree import ObliqueTree
from s2oct.writers.rules import Leaf, Split, check_names, pruned, signed_sum

INDENT = "    "
_EXACT = 17
"""Significant digits with which any two floats are written differently."""


def tree_to_text(
    tree: ObliqueTree,
    feature_names: Sequence[str],
    classes: Sequence[Any],
    *,
    decimals: int | str = 4,
    labeled: FloatArray | None = None,
    unlabeled: FloatArray | None = None,
    keep: FloatArray | None = None,
) -> str:
    """Write a tree as nested rules.

    Splits that send every row the same way are left out, and so are splits whose two sides end in the same class:
    the rules predict what the tree predicts.

    Parameters
    ----------
    tree : ObliqueTree
        The tree, in the units of the features.
    feature_names : sequence of str
        A name for every feature.
    classes : sequence
        The class labels, in the order of their indices.
    decimals : int or "fewest"
        Digits after the point; numbers below 1 get as many significant digits instead. "fewest" starts from none.
    labeled, unlabeled : ndarray of shape (rows, n_features), optional
        Rows to count in the leaves. A split gets more digits as long as rounding would send one of these rows the
        other way. So the rules, read as written, put every one of these rows into its leaf.
    keep : ndarray of shape (rows, n_features), optional
        Rows that keep their leaves in the same way and are not counted.

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
    check_names(tree, feature_names)
    fewest = decimals == "fewest"
    if not fewest and (isinstance(decimals, bool) or not isinstance(decimals, int) or decimals < 0):
        raise InvalidProblem(f"Expected decimals to be 'fewest' or a whole number of at least 0, got {decimals!r}.")
    if fewest and labeled is None and unlabeled is None and keep is None:
        raise InvalidProblem("Expected rows that keep their leaves with the fewest decimals, got none.")
    rows = [np.empty((0, tree.n_features)) if X is None else X for X in (labeled, unlabeled, keep)]
    ends = [tree.apply(X) for X in rows]
    words = _Words(
        tree=tree,
        names=tuple(feature_names),
        classes=tuple(classes),
        decimals=0 if fewest else int(decimals),
        counted=tuple(
            (kind, leaf)
            for kind, X, leaf in zip(("labeled", "unlabeled"), (labeled, unlabeled), ends[:2], strict=True)
            if X is not None
        ),
        X=np.vstack(rows),
        leaf=np.concatenate(ends),
    )
    return "\n".join(words.lines(pruned(tree), ""))


@dataclass(frozen=True, eq=False)
class _Words:
    """Writes the parts of a tree as text."""

    tree: ObliqueTree
    names: tuple[str, ...]
    classes: tuple[Any, ...]
    decimals: int
    counted: tuple[tuple[str, IntArray], ...]
    X: FloatArray
    leaf: IntArray

    def lines(self, part: Leaf | Split, indent: str) -> Iterator[str]:
        if isinstance(part, Leaf):
            yield f"{indent}{self.classes[part.class_index]}{self._counts(part)}"
            return
        yield f"{indent}if {self._rule(part.node)}:"
        yield from self.lines(part.left, indent + INDENT)
        yield f"{indent}otherwise:"
        yield from self.lines(part.right, indent + INDENT)

    def _counts(self, part: Leaf) -> str:
        counts = [f"{int(np.isin(leaf, part.ids).sum())} {kind}" for kind, leaf in self.counted]
        return f"  ({', '.join(counts)})" if counts else ""

    def _rule(self, node: int) -> str:
        """The rule of a split, with as many digits as its rows need."""
        omega, gamma = self.tree.omega[node - 1], float(self.tree.gamma[node - 1])
        levels_below = self.tree.topology.depth + 1 - node.bit_length()
        here = self.X[self.leaf >> levels_below == node]
        right = self.tree.goes_right(here)[:, node - 1]
        candidates = [_Rule.rounded(omega, gamma, decimals) for decimals in range(self.decimals, _EXACT + 1)]
        for rule in candidates:
            if (rule.goes_left(here) != right).all():
                return rule.text(self.names)
        # All digits and no division: exactly the numbers of the tree.
        return _Rule.exact(omega, gamma).text(self.names)


@dataclass(frozen=True)
class _Rule:
    """A split as it is written: (feature, coefficient) pairs, a relation and a right-hand side, all as text."""

    terms: tuple[tuple[int, str], ...]
    relation: str
    offset: str

    @classmethod
    def rounded(cls, omega: FloatArray, gamma: float, decimals: int) -> _Rule:
        """Round a split; a split over a single feature is divided by its coefficient."""
        used = np.flatnonzero(omega).tolist()
        if len(used) == 1:
            coefficient = float(omega[used[0]])
            return cls(
                ((used[0], "1"),), "<=" if coefficient > 0 else ">=", _number(float(gamma / coefficient), decimals)
            )
        return cls(tuple((j, _number(float(omega[j]), decimals)) for j in used), "<=", _number(gamma, decimals))

    @classmethod
    def exact(cls, omega: FloatArray, gamma: float) -> _Rule:
        """A split with all digits of its coefficients and its offset."""
        used = np.flatnonzero(omega).tolist()
        return cls(tuple((j, repr(float(omega[j]))) for j in used), "<=", repr(gamma))

    def goes_left(self, X: FloatArray) -> Any:
        """Which rows fulfil the rule as written."""
        total = np.zeros(len(X))
        for j, coefficient in self.terms:
            total += float(coefficient) * X[:, j]
        return total <= float(self.offset) if self.relation == "<=" else total >= float(self.offset)

    def text(self, names: Sequence[str]) -> str:
        products = (
            (coefficient.startswith("-"), _product(coefficient.removeprefix("-"), names[j]))
            for j, coefficient in self.terms
        )
        return f"{signed_sum(products)} {self.relation} {self.offset}"


def _product(size: str, name: str) -> str:
    return name if size == "1" else f"{size} * {name}"


def _number(value: float, decimals: int) -> str:
    """A number with that many digits after the point; they are significant digits below 1 and where all are kept."""
    value += 0.0  # no minus before a zero
    if abs(value) < 1 or decimals >= _EXACT:
        return f"{value:.{max(decimals, 1)}g}"
    return f"{value:.{decimals}f}".rstrip("0").rstrip(".") if decimals else f"{value:.0f}"

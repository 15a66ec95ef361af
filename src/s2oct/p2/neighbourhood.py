"""Sub-MIPs: the best hyperplane of one node, where only the rows near it may change sides.

With the other nodes fixed, a labeled row costs min(left + [1 + h]+, right + [1 - h]+, other) for its value h at the
node, and an unlabeled row has one class on each side (`cpp/node_view.h`). The model frees (omega, gamma), the sides of
the unlabeled rows nearest to the hyperplane and the choice of the labeled rows nearest to it; far rows keep theirs.
It never underestimates the cost: in the tree, far labeled rows may have a cheaper choice than the one they keep here.
Where hyperplanes may use few features, the node keeps to those that it uses.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from s2oct._core import NodeView
from s2oct.arrays import BoolArray, FloatArray, IntArray
from s2oct.p2.instance import FAR, Instance
from s2oct.p2.milp import ENTRIES_PER_SECOND
from s2oct.solvers.model import Block, Milp, ModelBuilder, Rows, Terms, linear_rows
from s2oct.stopping import Deadline
from s2oct.trees.tree import ObliqueTree

Minimise = Callable[[Milp, FloatArray, Deadline], FloatArray | None]
"""Solves a small model from a complete start until a deadline; None if nothing was found in time."""

FREE_ROWS = (10, 20, 40, 80)
"""Unlabeled rows, and as many labeled ones, that may change sides: few first."""

REACH = 4.0
"""How far free rows may move from the hyperplane, in distances of the farthest one: small constants, tight models."""

_FIXED_ROWS = 200
"""The model starts with this many fixed unlabeled rows, the nearest; others enter when a solution violates them."""

_PASSES = 4
"""How often rows may enter."""


class Neighbourhoods:
    """A walk over the nodes of the leading tree, with few free rows first; it starts again with every new leader."""

    def __init__(self, instance: Instance, minimise: Minimise) -> None:
        self._instance, self._minimise = instance, minimise
        self._leader: ObliqueTree | None = None
        self._steps: list[tuple[int, int]] = []

    def visited(self, leader: ObliqueTree) -> bool:
        """Whether nothing around this tree is left to search."""
        if leader is not self._leader:
            nodes = [b for b in range(leader.topology.n_branches) if self._is_worth(leader, b)]
            self._leader, self._steps = leader, list(product(FREE_ROWS, nodes))[::-1]
        return not self._steps

    def _is_worth(self, leader: ObliqueTree, b: int) -> bool:
        return (
            bool(leader.omega[b].any()) and _NodeChoices.of(self._instance, leader, b).at_stake(self._instance) > 1e-6
        )

    def step(self, leader: ObliqueTree, deadline: Deadline) -> ObliqueTree | None:
        """The best tree of the next neighbourhood, or None if none was found or all were visited."""
        if self.visited(leader):
            return None
        n_free, b = self._steps.pop()
        n_entries = self._instance.n_features * (self._instance.n_labeled + _FIXED_ROWS)
        if not deadline.allows(n_entries / ENTRIES_PER_SECOND):
            return None
        return refit_node(self._instance, leader, b, n_free, self._minimise, deadline)


def refit_node(
    instance: Instance, tree: ObliqueTree, b: int, n_free: int, minimise: Minimise, deadline: Deadline
) -> ObliqueTree | None:
    """The tree with the model's best hyperplane at node b (counted from 0), or None if none was found in time."""
    view = _NodeChoices.of(instance, tree, b)
    h = view.h[instance.n_labeled :]
    by_distance = np.argsort(np.abs(h), kind="stable")
    free, fixed = by_distance[:n_free], by_distance[n_free:]
    kept, missing = fixed[:_FIXED_ROWS], fixed[_FIXED_ROWS:]
    side = np.where(h > 0, 1.0, -1.0)
    for _ in range(_PASSES):
        model = _NodeModel(instance, view, tree.omega[b], free, kept, n_free)
        start = model.start(tree.omega[b], tree.gamma[b])
        x = minimise(model.milp, start, deadline)
        if x is None:
            return None
        omega, gamma = model.omega.read(x), float(model.gamma.read(x)[0])
        reached = side * (omega @ instance.XT[:, instance.n_labeled :] - gamma)
        violated = missing[reached[missing] < 1 - 1e-9]
        if not len(violated):
            return _replaced(tree, b, omega, gamma)
        if deadline.passed:
            return None
        violated = violated[np.argsort(reached[violated], kind="stable")[:_FIXED_ROWS]]
        kept, missing = np.concatenate([kept, violated]), np.setdiff1d(missing, violated)
    return None


def _replaced(tree: ObliqueTree, b: int, omega: FloatArray, gamma: float) -> ObliqueTree:
    all_omega, all_gamma = tree.omega.copy(), tree.gamma.copy()
    all_omega[b], all_gamma[b] = omega, gamma
    return replace(tree, omega=all_omega, gamma=all_gamma)


@dataclass(frozen=True, eq=False)
class _NodeChoices:
    """What each side of a node means for each row; ``h`` has the values of all rows there, the labeled ones first.

    ``options`` (3, n) is what a labeled row pays at other nodes if it goes left, right, or avoids the node; infinite
    where it cannot or need not. ``gain`` (n_classes, m) and ``charge`` (m,) are the changes if an unlabeled row goes
    right instead of left, and ``counts`` the rows of each class if all go left.
    """

    h: FloatArray
    options: FloatArray
    gain: FloatArray
    charge: FloatArray
    counts: FloatArray

    @classmethod
    def of(cls, instance: Instance, tree: ObliqueTree, b: int) -> _NodeChoices:
        n_classes = len(instance.totals)
        H = tree.omega @ instance.XT - tree.gamma[:, None]
        view = NodeView(instance.data, H, b)
        gain, other = view.gain, view.other
        options = np.array([view.left, view.right, other])
        # A way that costs as much as avoiding the node is never better.
        options[:2][(options[:2] >= other) | (options[:2] >= FAR)] = np.inf
        options[2][other >= FAR] = np.inf
        return cls(H[b], options, np.vstack([gain, -gain.sum(axis=0)])[:n_classes], view.charge, view.base)

    def at_stake(self, instance: Instance) -> float:
        """The most that another hyperplane at this node could save."""
        n = instance.n_labeled
        right = self.h[n:] > 0
        present = float(instance.sizes[:n] @ (self.costs().min(axis=0) - self.options.min(axis=0)))
        off = 0.5 * np.abs(self.counts + self.gain @ right - instance.totals).sum() if self.gain.any() else 0.0
        return (
            present
            + instance.row_off * float(off)
            + float(np.where(right, self.charge, 0.0).sum() - np.minimum(self.charge, 0.0).sum())
        )

    def costs(self) -> FloatArray:
        """What each way costs each labeled row at present, shape (3, n)."""
        h = self.h[: self.options.shape[1]]
        return np.asarray(self.options + np.array([np.maximum(1 + h, 0), np.maximum(1 - h, 0), np.zeros_like(h)]))

    def choice(self) -> IntArray:
        """The way each labeled row goes at present."""
        return np.asarray(self.costs().argmin(axis=0))


class _NodeModel:
    """The model of a node, its variables, and its present hyperplane as a solution."""

    def __init__(
        self,
        instance: Instance,
        view: _NodeChoices,
        present: FloatArray,
        free: IntArray,
        kept: IntArray,
        n_free: int,
    ) -> None:
        self._instance, self._view, self._free = instance, view, free
        n = instance.n_labeled
        self._choice = view.choice()
        self._chooses = self._choosers(n_free)
        # Rows that avoid the node and have no other choice are not in the model.
        self._pays = np.flatnonzero(self._chooses | (self._choice < 2))
        self._reach = REACH * max(1.0, np.abs(view.h[n + free]).max(initial=0.0))
        builder = ModelBuilder()
        usable = (present != 0) | (instance.most_features is None)
        largest = np.where(usable, instance.s, 0.0)
        self.omega = builder.add("omega", (instance.n_features,), lower=-largest, upper=largest)
        self.gamma = builder.add("gamma", (1,), lower=-np.inf)
        self._z = builder.add("z", (len(free),), upper=1.0, integral=True)
        self._error = builder.add("error", (len(self._pays),))
        choosers = np.flatnonzero(self._chooses)
        possible = np.isfinite(view.options[:, choosers])
        self._way = builder.add("way", possible.shape, upper=possible.astype(float), integral=True)
        self._off = builder.add("off", (len(instance.totals),))
        costs: list[tuple[Block, float | FloatArray]] = [
            (self._error, instance.sizes[self._pays]),
            (self._way, instance.sizes[choosers] * np.where(possible, view.options[:, choosers], 0.0)),
            (self._z, view.charge[free]),
            (self._off, 0.5 * instance.row_off),
        ]
        self.milp = builder.build(costs, self._rows(choosers, kept))

    def _choosers(self, n_free: int) -> BoolArray:
        """The nearest labeled rows of those that have a choice; rows that pay come first."""
        view, n = self._view, self._instance.n_labeled
        ambiguous = np.isfinite(view.options).sum(axis=0) > 1
        order = np.lexsort((np.abs(view.h[:n]), view.costs().min(axis=0) <= 1e-9))
        order = order[ambiguous[order]][:n_free]
        chooses = np.zeros(n, dtype=bool)
        chooses[order] = True
        return chooses

    def _rows(self, choosers: IntArray, kept: IntArray) -> Iterator[Rows]:
        instance, view = self._instance, self._view
        n = instance.n_labeled
        X = instance.XT.T
        # Free rows: 1 <= h <= reach on the right, -reach <= h <= -1 on the left.
        M = self._reach + 1.0
        value = self._value(X[n + self._free])
        yield linear_rows("sides", self._z.shape, [*value, (self._z.index, -M)], lower=-self._reach, upper=-1.0)
        side = np.where(view.h[n + kept] > 0, 1.0, -1.0)
        yield linear_rows("kept", (len(kept),), self._value(X[n + kept], side), lower=1.0)
        # Errors of the labeled rows, on the way they keep or on the one they choose.
        position = np.full(n, -1)
        position[choosers] = np.arange(len(choosers))
        for way, sign in ((0, 1.0), (1, -1.0)):
            at = np.flatnonzero(~self._chooses[self._pays] & (self._choice[self._pays] == way))
            rows = self._pays[at]
            terms = self._value(X[rows], np.full(len(rows), -sign))
            yield linear_rows("error", (len(rows),), [*terms, (self._error.index[at], 1.0)], lower=1.0)
            at = np.flatnonzero(self._chooses[self._pays] & np.isfinite(view.options[way, self._pays]))
            rows = self._pays[at]
            largest = 1.0 + REACH * np.maximum(np.abs(view.h[rows]), self._reach)
            terms = self._value(X[rows], np.full(len(rows), -sign))
            chosen = self._way.index[way, position[rows]]
            yield linear_rows(
                "chosen error",
                (len(rows),),
                [*terms, (self._error.index[at], 1.0), (chosen, -largest)],
                lower=1.0 - largest,
            )
        yield linear_rows("one way", (len(choosers),), [(self._way.index.T, 1.0)], lower=1.0, upper=1.0)
        counted = self._fixed_counts()
        short = np.asarray(instance.totals) - counted
        z, off = np.broadcast_to(self._z.index, (len(short), len(self._free))), self._off.index
        gain = view.gain[:, self._free]
        yield linear_rows("totals", short.shape, [(z, gain), (off, 1.0)], lower=short)
        yield linear_rows("totals", short.shape, [(z, gain), (off, -1.0)], upper=short)

    def _value(self, X: FloatArray, sign: FloatArray | None = None) -> Terms:
        """The terms of h of some rows, or of its negative."""
        signs = np.ones(len(X)) if sign is None else sign
        columns = np.broadcast_to(self.omega.index, X.shape)
        return [(columns, signs[:, None] * X), (np.broadcast_to(self.gamma.index, (len(X),)), -signs)]

    def _fixed_counts(self) -> FloatArray:
        """Rows of each class with the free rows on the left and the others on their sides."""
        view = self._view
        right = view.h[self._instance.n_labeled :] > 0
        right[self._free] = False
        return np.asarray(view.counts + view.gain @ right)

    def start(self, omega: FloatArray, gamma: float) -> FloatArray:
        """The present hyperplane as a solution."""
        view, n = self._view, self._instance.n_labeled
        x = np.zeros(self.milp.n_columns)
        x[self.omega.columns], x[self.gamma.columns] = omega, gamma
        z = (view.h[n + self._free] > 0).astype(float)
        x[self._z.columns] = z
        h, choice = view.h[self._pays], self._choice[self._pays]
        x[self._error.columns] = np.where(choice == 2, 0.0, np.maximum(1 + np.where(choice == 0, h, -h), 0.0))
        way = np.arange(3)[:, None] == self._choice[self._chooses][None, :]
        x[self._way.columns] = way.ravel()
        x[self._off.columns] = np.abs(self._fixed_counts() + view.gain[:, self._free] @ z - self._instance.totals)
        return x

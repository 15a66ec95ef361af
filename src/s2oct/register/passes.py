"""What passes over all rows look for, batch by batch: pure functions that can be sent to other processes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from s2oct.arrays import BoolArray, FloatArray, IntArray
from s2oct.model.batches import Batch
from s2oct.model.evidence import unlabeled_costs
from s2oct.model.problem import Guide, rows_mark
from s2oct.model.score import MARGIN_TOLERANCE
from s2oct.model.topology import Topology
from s2oct.model.tree import ObliqueTree

GRAIN = 2.0**-20
"""Costs and sizes of rows are multiples of this, in rows: sums of fewer than 2 ** 33 rows are exact in any order."""


def grained(numbers: FloatArray) -> FloatArray:
    """Numbers rounded to multiples of the grain."""
    return np.asarray(np.round(numbers / GRAIN) * GRAIN)


@dataclass(frozen=True, eq=False)
class Pricing:
    """What classes cost rows that the guide was not fitted to.

    Attributes
    ----------
    probabilities : callable
        What the guide says of rows of features and their domains; can be sent to other processes.
    """

    probabilities: Callable[[FloatArray, IntArray], FloatArray]

    def costs(self, batch: Batch) -> FloatArray:
        """What each class costs the rows of a batch, shape (rows, n_classes)."""
        said = Guide.from_probabilities(self.probabilities(batch.X, batch.domains))
        return grained(unlabeled_costs(said.charges, batch.sizes))


@dataclass(frozen=True)
class Lever:
    """A split between two classes: its node, and the classes on its left and right."""

    node: int
    left: int
    right: int


@dataclass(frozen=True, eq=False)
class Sums:
    """Arrays of numbers that are added up, each with its own shape."""

    parts: tuple[FloatArray, ...]

    def __add__(self, other: Sums) -> Sums:
        return Sums(tuple(one + two for one, two in zip(self.parts, other.parts, strict=True)))


@dataclass(frozen=True, eq=False)
class Marks:
    """A mark of the rows, which depends neither on their order nor on batches, and their number."""

    mark: int
    n_rows: int

    def __add__(self, other: Marks) -> Marks:
        return Marks((self.mark + other.mark) % 2**64, self.n_rows + other.n_rows)


def marks_of(batch: Batch) -> Marks:
    """Mark the rows of a batch."""
    return Marks(rows_mark(batch.X, batch.sizes, batch.domains), len(batch.X))


@dataclass(frozen=True, eq=False)
class CountRungs:
    """Counts the rows between the rungs of nodes, and the rows of each cell.

    Attributes
    ----------
    tree : ObliqueTree
        Routes the rows.
    levers : tuple of Lever
        Splits of which none is above another.
    rungs : tuple of ndarray
        Ascending offsets of each.
    n_domains : int
        Domains of all margins.
    pricing : Pricing or None
        What classes cost rows between two rungs; nothing if None.
    """

    tree: ObliqueTree
    levers: tuple[Lever, ...]
    rungs: tuple[FloatArray, ...]
    n_domains: int
    pricing: Pricing | None

    def __call__(self, batch: Batch) -> Sums:
        """Rows of each cell, then for each node the rows between rungs, those above the last one at the end.

        After the sizes by domain come what they cost on the left more than on the right, and their number.
        """
        leaf = self.tree.apply(batch.X)
        batch = batch._replace(sizes=grained(batch.sizes))
        classes = self.tree.leaf_classes[leaf - self.tree.topology.n_leaves]
        n_classes = self.tree.topology.n_classes
        found = [_by_domain(batch, classes, n_classes, self.n_domains).T]
        for lever, rungs in zip(self.levers, self.rungs, strict=True):
            here = some_of(batch, comes_through(leaf, lever.node))
            place = np.searchsorted(rungs, values_at(self.tree, lever.node, here.X))
            extra = np.zeros(len(place))
            between = (place > 0) & (place < len(rungs))
            extra[between] = _extra(some_of(here, between), lever, self.pricing)
            sizes = _by_domain(here, place, len(rungs) + 1, self.n_domains)
            number = np.bincount(place, minlength=len(sizes))
            found.append(np.column_stack([sizes, np.bincount(place, weights=extra, minlength=len(sizes)), number]))
        return Sums(tuple(found))


def _extra(batch: Batch, lever: Lever, pricing: Pricing | None) -> FloatArray:
    """What rows cost on the left of a split more than on its right."""
    if pricing is None or not len(batch.X):
        return np.zeros(len(batch.X))
    costs = pricing.costs(batch)
    return np.asarray(costs[:, lever.left] - costs[:, lever.right])


def _by_domain(batch: Batch, places: IntArray, n_places: int, n_domains: int) -> FloatArray:
    """Sizes of the rows at each place in each domain, shape (n_places, n_domains)."""
    counts = np.zeros(n_places * n_domains)
    for domains in batch.domains:
        counts += np.bincount(places * n_domains + domains, weights=batch.sizes, minlength=len(counts))
    return counts.reshape(n_places, n_domains)


def some_of(batch: Batch, chosen: BoolArray) -> Batch:
    """Some rows of a batch."""
    return Batch(batch.X[chosen], batch.sizes[chosen], batch.domains[:, chosen])


def comes_through(leaves: IntArray, node: int) -> BoolArray:
    """Whether rows that end in these leaves come through a node."""
    levels = int(leaves[0]).bit_length() - node.bit_length() if len(leaves) else 0
    return np.asarray(leaves >> levels == node)


def values_at(tree: ObliqueTree, node: int, X: FloatArray) -> FloatArray:
    """Omega . x of rows at a node, added up as every tree does: with at most gamma a row goes left."""
    alone = ObliqueTree.of(Topology(1), tree.omega[[node - 1]], np.zeros(1))
    return np.asarray(alone.values(X)[:, 0])


@dataclass(frozen=True, eq=False)
class Neighbours:
    """The distinct values of rows at some nodes, ascending, with the sizes of the rows that have them, by domain.

    The last column of the sizes has what the rows cost on the left more than on the right.
    """

    values: tuple[FloatArray, ...]
    sizes: tuple[FloatArray, ...]

    def __add__(self, other: Neighbours) -> Neighbours:
        pairs = [
            _merged(np.concatenate(values), np.concatenate(sizes))
            for values, sizes in zip(
                zip(self.values, other.values, strict=True), zip(self.sizes, other.sizes, strict=True), strict=True
            )
        ]
        return Neighbours(tuple(values for values, _ in pairs), tuple(sizes for _, sizes in pairs))


def _merged(values: FloatArray, sizes: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Distinct values, and the sizes of equal ones added up."""
    distinct, place = np.unique(values, return_inverse=True)
    added = np.zeros((len(distinct), sizes.shape[1]))
    np.add.at(added, place, sizes)
    return distinct, added


@dataclass(frozen=True, eq=False)
class FindNeighbours:
    """Finds all values of rows near the offsets of nodes.

    Attributes
    ----------
    tree : ObliqueTree
        Routes the rows.
    levers : tuple of Lever
        Splits of which none is above another.
    windows : tuple of (float, float)
        For each, above which value and up to which one.
    n_domains : int
        Domains of all margins.
    pricing : Pricing or None
        What classes cost these rows; nothing if None.
    """

    tree: ObliqueTree
    levers: tuple[Lever, ...]
    windows: tuple[tuple[float, float], ...]
    n_domains: int
    pricing: Pricing | None

    def __call__(self, batch: Batch) -> Neighbours:
        """The values of a batch."""
        leaf = self.tree.apply(batch.X)
        batch = batch._replace(sizes=grained(batch.sizes))
        found = []
        for lever, (low, high) in zip(self.levers, self.windows, strict=True):
            here = some_of(batch, comes_through(leaf, lever.node))
            value = values_at(self.tree, lever.node, here.X)
            near = (value > low) & (value <= high)
            distinct, place = np.unique(value[near], return_inverse=True)
            here = some_of(here, near)
            sizes = _by_domain(here, place, len(distinct), self.n_domains)
            extra = np.bincount(place, weights=_extra(here, lever, self.pricing), minlength=len(distinct))
            found.append((distinct, np.column_stack([sizes, extra])))
        return Neighbours(tuple(values for values, _ in found), tuple(sizes for _, sizes in found))


@dataclass(frozen=True, eq=False)
class Finding:
    """What a tree does with rows: rows of each cell, rows too near a hyperplane, and the least distance from one."""

    counts: FloatArray
    n_near: int
    least: float

    def __add__(self, other: Finding) -> Finding:
        return Finding(self.counts + other.counts, self.n_near + other.n_near, min(self.least, other.least))


@dataclass(frozen=True, eq=False)
class CountClasses:
    """Counts what a tree does with rows, by the classes that it predicts."""

    tree: ObliqueTree
    n_domains: int

    def __call__(self, batch: Batch) -> Finding:
        """What it does with a batch."""
        n_classes = self.tree.topology.n_classes
        counts = _by_domain(batch, self.tree.predict(batch.X), n_classes, self.n_domains).T
        distance = self.tree.distances(batch.X).of_rows
        near = int(np.count_nonzero(distance < 1 - MARGIN_TOLERANCE))
        return Finding(counts, near, float(distance.min(initial=np.inf)))

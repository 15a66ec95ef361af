"""The cost of a tree in P2: the assignment of the rows, and one term for each part of the objective."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from s2oct.arrays import BoolArray, FloatArray, IntArray
from s2oct.problem.problem import Problem
from s2oct.problem.targets import Targets
from s2oct.solvers.model import Block, Costs, ModelBuilder, Rows, Terms, linear_rows
from s2oct.trees.topology import Topology
from s2oct.trees.tree import Distances, ObliqueTree


@dataclass(frozen=True, eq=False)
class Assignment:
    """A tree and the rows of a problem in the same units, with their distances from all hyperplanes.

    Attributes
    ----------
    labeled, unlabeled : Distances
        Distances of the labeled and of the unlabeled rows from the hyperplanes.
    """

    problem: Problem
    tree: ObliqueTree
    labeled: Distances
    unlabeled: Distances

    @classmethod
    def of(cls, problem: Problem, tree: ObliqueTree) -> Assignment:
        """Compute the distances of all rows once."""
        return cls(problem, tree, tree.distances(problem.X_labeled), tree.distances(problem.X_unlabeled))

    @cached_property
    def values_labeled(self) -> FloatArray:
        """omega_b . x - gamma_b of the labeled rows, shape (n, n_branches)."""
        return self.tree.values(self.problem.X_labeled)

    @cached_property
    def leaf_errors(self) -> FloatArray:
        """Definition 2: LE(x, t) of every labeled row at every leaf, shape (n, n_leaves)."""
        return leaf_errors(self.tree.topology, self.values_labeled)

    @cached_property
    def is_own_leaf(self) -> BoolArray:
        """Whether each leaf has the class of each labeled row, shape (n, n_leaves)."""
        return np.asarray(self.tree.leaf_classes[None, :] == self.problem.labels[:, None])

    @cached_property
    def _cheapest(self) -> tuple[IntArray, FloatArray]:
        return self.tree.cheapest_leaves(self.problem.X_labeled, self.problem.labels)

    @property
    def cheapest_leaf(self) -> IntArray:
        """Position (from the left) of the cheapest leaf of each labeled row's own class, shape (n,)."""
        return self._cheapest[0]

    @property
    def label_errors(self) -> FloatArray:
        """Min over t in T_L^c of LE(x, t) for every labeled row, shape (n,)."""
        return self._cheapest[1]

    @cached_property
    def labeled_classes(self) -> IntArray:
        """Class index that the tree assigns to each labeled row, shape (n,)."""
        return self.tree.predict(self.problem.X_labeled)

    @cached_property
    def unlabeled_leaves(self) -> IntArray:
        """Id of the leaf in which each unlabeled row ends, shape (m,)."""
        return self.tree.apply(self.problem.X_unlabeled)

    @cached_property
    def unlabeled_classes(self) -> IntArray:
        """Class index of each unlabeled row, shape (m,)."""
        return np.asarray(self.tree.leaf_classes[self.unlabeled_leaves - self.tree.topology.n_leaves])

    @cached_property
    def class_counts(self) -> FloatArray:
        """Unlabeled rows in each class, weighted by their sizes, shape (n_classes,)."""
        counted = self.problem.unlabeled_size
        return np.bincount(self.unlabeled_classes, weights=counted, minlength=self.problem.n_classes).astype(float)

    @property
    def margins(self) -> FloatArray:
        """Minimum distance of each unlabeled row from a hyperplane, in units of omega, shape (m,)."""
        return self.unlabeled.of_rows

    def errors_are_within(self, most: float) -> bool:
        """Whether every labeled row's error is at most ``most`` at each leaf that it may choose.

        With two classes these are the leaves of its own class. With more, the classes of the leaves are variables of
        P2, and (boundbeta2) applies to every leaf.
        """
        depth = self.tree.topology.depth
        # A branch error is at most the distance plus 1, so leaf errors are needed only for large distances.
        if depth * (1 + float(self.labeled.largest.max(initial=0.0))) <= most:
            return True
        may_choose = self.is_own_leaf if self.tree.topology.n_classes == 2 else True
        return bool(np.where(may_choose, self.leaf_errors, 0.0).max(initial=0.0) <= most)


def branch_errors(values: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Definition 1: y^L and y^R of every row at every branch node, each of shape (rows, n_branches)."""
    return np.maximum(1 + values, 0), np.maximum(1 - values, 0)


def leaf_errors(topology: Topology, values: FloatArray) -> FloatArray:
    """Definition 2: LE(x, t) of every row at every leaf, shape (rows, n_leaves)."""
    left, right = branch_errors(values)
    errors = np.zeros((len(values), 1))
    for level in range(topology.depth):
        nodes = slice(2**level - 1, 2 ** (level + 1) - 1)
        both = np.stack([errors + left[:, nodes], errors + right[:, nodes]], axis=2)
        errors = both.reshape(len(values), 2 ** (level + 1))
    return errors


def sum_of_errors(sizes: FloatArray, errors: FloatArray) -> float:
    """Sum of the errors of labeled rows, weighted by their sizes.

    A row of size 0 costs nothing, even if no leaf has its class and its error is infinite.
    """
    counts = sizes > 0
    return float(sizes[counts] @ errors[counts])


@dataclass(frozen=True)
class P2Variables:
    """The variables of P2. Axes: b branch nodes, i rows, j features, k leaves of a row's own class, t leaves of A.

    With more than two classes, k and t are all leaves, because the classes of leaves are variables.
    """

    omega: Block  # (b, j) normal vectors
    gamma: Block  # (b,)   offsets
    y_left: Block  # (b, i) branch error of a labeled row that should go left
    y_right: Block  # (b, i) branch error of a labeled row that should go right
    beta: Block  # (i, k) the leaf error where alpha is 1, else 0
    alpha: Block  # (i, k) 1 for the leaf whose error a labeled row pays
    z: Block  # (b, i) 1 where an unlabeled row goes right
    delta: Block  # (t, i) 1 where an unlabeled row ends in leaf t of class A
    xi: Block  # ()     rows off the total; (d,) with d domains
    used: Block | None = None  # (b, j) 1 where a split may have a coefficient; None if splits may use all features
    classes: ClassVariables | None = None  # classes of the leaves; None for two classes


@dataclass(frozen=True)
class ClassVariables:
    """Additional variables for more than two classes. Axes: c classes, t leaves, d domains."""

    chosen: Block  # (c, t)    1 for the class of a leaf
    counts: Block  # (d, t, c) rows of a domain that end in a leaf of a class
    over: Block  # (d, c)    rows above the upper bound of a cell
    under: Block  # (d, c)    rows below the lower bound of a cell


class CostTerm(Protocol):
    """A term of the cost of a tree. `Prepared.terms` lists them in the order of summation."""

    def value(self, assignment: Assignment) -> float:
        """The value of the term for a tree, computed from the assignment of the rows alone."""

    def milp_costs(self, v: P2Variables, problem: Problem) -> Costs:
        """The costs of the term's variables in the mixed-integer model."""

    @property
    def row_off(self) -> float:
        """Price of a row off the totals in the search, which computes label errors itself."""


def hyperplane_terms(v: P2Variables, X: FloatArray, sign: float) -> Terms:
    """Sign * (omega_b . x_i - gamma_b) as terms over rows of shape (b, i)."""
    return [(v.omega.index[:, None, :], sign * X[None, :, :]), (v.gamma.index[:, None], -sign)]


@dataclass(frozen=True)
class LabelErrors:
    """The errors of the labeled rows. In the kernels: `cpp/node_view.h`."""

    def value(self, assignment: Assignment) -> float:
        """The sum over the labeled rows of min over t in T_L^c of LE(x, t)."""
        return sum_of_errors(assignment.problem.labeled_size, assignment.label_errors)

    def milp_costs(self, v: P2Variables, problem: Problem) -> Costs:
        """Every beta costs 1, times the size of its row."""
        return [(v.beta, problem.labeled_size[:, None])]

    @property
    def row_off(self) -> float:
        """0: this term concerns labeled rows."""
        return 0.0


def label_equations(v: P2Variables, problem: Problem, topology: Topology, B: float) -> Iterator[Rows]:
    """The equations of P2 that make beta the smallest leaf error, in the order of the paper."""
    yield right_error_rows(v, problem.X_labeled)
    yield left_error_rows(v, problem.X_labeled)
    yield one_leaf_rows(v)
    yield beta_at_most_leaf_error_rows(v, problem.labels, topology)
    yield beta_at_least_leaf_error_rows(v, problem.labels, topology, B)
    yield beta_only_where_chosen_rows(v, B)


def own_leaves(labels: IntArray, topology: Topology) -> IntArray:
    """Position (from the left) of the leaves of each labeled row's class, shape (n, leaves per class).

    With more than two classes the leaves' classes are variables, and a row may choose among all leaves.
    """
    if topology.n_classes > 2:
        return np.tile(np.arange(topology.n_leaves), (len(labels), 1))
    by_class = np.array([np.flatnonzero(topology.leaf_classes == c) for c in range(topology.n_classes)])
    return np.asarray(by_class[labels])


def leaf_error_terms(v: P2Variables, labels: IntArray, topology: Topology, sign: float) -> Terms:
    """Sign * LE(x_i, t) as terms over rows of shape (i, k)."""
    leaves = own_leaves(labels, topology)
    nodes, sides = topology.path_nodes[leaves], topology.path_sides[leaves]
    row = np.arange(len(labels))[:, None, None]
    return [(np.where(sides == 1, v.y_right.index[nodes, row], v.y_left.index[nodes, row]), sign)]


def right_error_rows(v: P2Variables, X: FloatArray) -> Rows:
    """(constraint1): y^R_bi >= -omega_b . x_i + gamma_b + 1."""
    terms = hyperplane_terms(v, X, 1.0)
    return linear_rows("constraint1", v.y_right.shape, [*terms, (v.y_right.index, 1.0)], lower=1.0)


def left_error_rows(v: P2Variables, X: FloatArray) -> Rows:
    """(constraint2): y^L_bi >= omega_b . x_i - gamma_b + 1."""
    terms = hyperplane_terms(v, X, -1.0)
    return linear_rows("constraint2", v.y_left.shape, [*terms, (v.y_left.index, 1.0)], lower=1.0)


def one_leaf_rows(v: P2Variables) -> Rows:
    """(constraint2alpha): sum_t alpha_it = 1."""
    n = v.alpha.shape[0]
    return linear_rows("constraint2alpha", (n,), [(v.alpha.index, 1.0)], lower=1.0, upper=1.0)


def beta_at_most_leaf_error_rows(v: P2Variables, labels: IntArray, topology: Topology) -> Rows:
    """(boundbeta1): beta_it <= LE(x_i, t)."""
    terms = leaf_error_terms(v, labels, topology, -1.0)
    return linear_rows("boundbeta1", v.beta.shape, [*terms, (v.beta.index, 1.0)], upper=0.0)


def beta_at_least_leaf_error_rows(v: P2Variables, labels: IntArray, topology: Topology, B: float | FloatArray) -> Rows:
    """(boundbeta2): beta_it >= LE(x_i, t) - B (1 - alpha_it)."""
    terms = leaf_error_terms(v, labels, topology, -1.0)
    terms += [(v.beta.index, 1.0), (v.alpha.index, -np.asarray(B))]
    return linear_rows("boundbeta2", v.beta.shape, terms, lower=-np.asarray(B))


def beta_only_where_chosen_rows(v: P2Variables, B: float | FloatArray) -> Rows:
    """(boundbeta3): beta_it <= B alpha_it, on the leaves of the row's own class, where alpha exists."""
    terms: Terms = [(v.beta.index, 1.0), (v.alpha.index, -np.asarray(B))]
    return linear_rows("boundbeta3", v.beta.shape, terms, upper=0.0)


def add_class_variables(builder: ModelBuilder, problem: Problem, topology: Topology) -> ClassVariables:
    """The additional variables for more than two classes."""
    n_domains = sum(margin.n_domains for margin in problem.targets.margins)
    n_classes, n_leaves = topology.n_classes, topology.n_leaves
    return ClassVariables(
        chosen=builder.add("chosen", (n_classes, n_leaves), upper=1, integral=True),
        counts=builder.add("counts", (n_domains, n_leaves, n_classes)),
        over=builder.add("over", (n_domains, n_classes)),
        under=builder.add("under", (n_domains, n_classes)),
    )


def class_equations(v: P2Variables, c: ClassVariables, problem: Problem, topology: Topology) -> Iterator[Rows]:
    """Every leaf has a class, rows of a class choose among its leaves, and cells count the rows of their leaves."""
    n_classes, n_leaves = c.chosen.shape
    yield linear_rows("oneclass", (n_leaves,), [(c.chosen.index.T, 1.0)], lower=1.0, upper=1.0)
    pairs = c.chosen.index.T.reshape(-1, 2, n_classes)
    number = np.arange(n_classes, dtype=float)
    yield linear_rows("ascending", (len(pairs),), [(pairs[:, 1], number), (pairs[:, 0], -number)], lower=1.0)
    own_class = c.chosen.index[problem.labels]
    yield linear_rows("ownclass", v.alpha.shape, [(v.alpha.index, 1.0), (own_class, -1.0)], upper=0.0)
    low, high, rows_of_domain = _cells(problem.targets, problem.unlabeled_size)
    yield from _leaf_counts(v, c, problem)
    most = np.broadcast_to(rows_of_domain[:, None, None], c.counts.shape)
    chosen = np.broadcast_to(c.chosen.index.T[None, :, :], c.counts.shape)
    yield linear_rows("countclass", c.counts.shape, [(c.counts.index, 1.0), (chosen, -most)], upper=0.0)
    of_cell = np.moveaxis(c.counts.index, 1, 2)
    yield linear_rows("cellhigh", c.over.shape, [(of_cell, 1.0), (c.over.index, -1.0)], upper=high)
    yield linear_rows("celllow", c.under.shape, [(of_cell, 1.0), (c.under.index, 1.0)], lower=low)
    xi = v.xi.index.ravel()
    for name, block in (("over", c.over), ("under", c.under)):
        yield linear_rows(f"rows{name}", xi.shape, [(xi, 1.0), (block.index, -1.0)], lower=0.0)


def _leaf_counts(v: P2Variables, c: ClassVariables, problem: Problem) -> Iterator[Rows]:
    """The rows of a domain in a leaf, over all classes."""
    begin = 0
    for margin in problem.targets.margins:
        for domain in range(margin.n_domains):
            here = np.flatnonzero(margin.codes == domain)
            sizes = np.broadcast_to(problem.unlabeled_size[here], (c.counts.shape[1], len(here)))
            terms: Terms = [(c.counts.index[begin], 1.0), (v.delta.index[:, here], -sizes)]
            yield linear_rows("leafcount", (c.counts.shape[1],), terms, lower=0.0, upper=0.0)
            begin += 1


def _cells(targets: Targets, sizes: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Bounds of all cells, each of shape (d, c), and the rows of all domains, shape (d,)."""
    low, high = (np.reshape(part, (-1, targets.n_classes)) for part in (targets.low, targets.high))
    rows = [np.bincount(margin.codes, weights=sizes, minlength=margin.n_domains) for margin in targets.margins]
    return low, high, np.concatenate(rows)


@dataclass(frozen=True)
class TotalMiss:
    """The price of missing the totals. In the kernels: `cpp/cells.h`."""

    price: float

    def value(self, assignment: Assignment) -> float:
        """C xi."""
        return self.price * rows_off(assignment)

    def milp_costs(self, v: P2Variables, problem: Problem) -> Costs:
        """Every xi costs C."""
        return [(v.xi, self.price)]

    @property
    def row_off(self) -> float:
        """A row off the totals costs C."""
        return self.price


def rows_off(assignment: Assignment) -> float:
    """Xi: number of unlabeled rows that would have to change class to meet the totals, summed over all domains."""
    return assignment.problem.targets.rows_off(assignment.unlabeled_classes, assignment.problem.unlabeled_size)


def total_equations(v: P2Variables, problem: Problem, topology: Topology) -> Iterator[Rows]:
    """(sumbin): lambda - xi <= sum delta_ti <= lambda + xi over the rows of each domain, weighted by their sizes.

    With two classes, these rows suffice: a domain with too few rows of class A has too many of class B. With more
    classes, `class_equations` replace them.
    """
    if v.classes is not None:
        yield from class_equations(v, v.classes, problem, topology)
        return
    begin = 0
    for margin in problem.targets.margins:
        for domain in range(margin.n_domains):
            here = np.flatnonzero(margin.codes == domain)
            sizes = problem.unlabeled_size[here]
            # Bounds on class B also bound class A: a row that is not in B is in A.
            rows = float(sizes.sum())
            low = max(float(margin.low[domain, 0]), rows - float(margin.high[domain, 1]))
            high = min(float(margin.high[domain, 0]), rows - float(margin.low[domain, 1]))
            counted = np.broadcast_to(sizes, (v.delta.shape[0], len(here))).ravel()
            delta = v.delta.index[:, here].ravel()[None, :]
            xi = v.xi.index.ravel()[begin : begin + 1]
            yield linear_rows("sumbin", (1,), [(delta, counted), (xi, 1.0)], lower=low)
            yield linear_rows("sumbin", (1,), [(delta, counted), (xi, -1.0)], upper=high)
            begin += 1

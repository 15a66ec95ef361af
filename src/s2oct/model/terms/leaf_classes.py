"""Classes of leaves as variables, where there are more than two: which class a leaf has, and how many rows it gets.

The paper has two classes and fixes the classes of the leaves. With more classes, a labeled row may choose a leaf that
has its class, and the rows of a leaf count for its class. The two leaves below a node have different classes, in
ascending order: a node that splits nothing makes up for equal classes, and turning a hyperplane round exchanges them.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from s2oct.arrays import FloatArray
from s2oct.linear.model import ModelBuilder, Rows, Terms, linear_rows
from s2oct.model.problem import Problem
from s2oct.model.targets import Targets
from s2oct.model.terms.base import ClassVariables, P2Variables
from s2oct.model.topology import Topology


def add_class_variables(builder: ModelBuilder, problem: Problem, topology: Topology) -> ClassVariables:
    """The variables."""
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

"""One fit: what it is about, how it runs over all rows or a sample, what it finds, and the margins of rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from threading import Thread
from typing import Any

import numpy as np
from scipy.special import expit, softmax
from sklearn.utils import _safe_indexing

from s2oct.arrays import FloatArray, IntArray
from s2oct.estimators.edge import Edge
from s2oct.evidence.evidence import Evidence, EvidenceSpec
from s2oct.fit.certificate import Certificate
from s2oct.fit.context import Budget, Guidance
from s2oct.fit.register import Register
from s2oct.fit.register_training import RegisterTask, train_register
from s2oct.fit.training import Trained, recertify, train
from s2oct.guides import SelfTrainedForest, ask_guide, runs_on
from s2oct.guides.asking import chance_of_rows, chance_of_votes
from s2oct.guides.known_total import reads_tables
from s2oct.p2.prepared import ModelSpec
from s2oct.p2.proof import CONVERGED, PROVED
from s2oct.problem.batches import rows_of_batch
from s2oct.problem.known import Known, counted_part
from s2oct.problem.problem import Advice, DataSummary, Guide, Problem
from s2oct.stopping import Deadline, now
from s2oct.tables.encoding import Features
from s2oct.tables.features import without_columns
from s2oct.trees.tree import ObliqueTree


@dataclass(frozen=True, eq=False)
class FitTask:
    """The data and the choices of one fit, in a form that can be sent to another process.

    Attributes
    ----------
    features : Features
        All rows of the table as the user passed them, and how they became numbers.
    rows : ndarray of shape (n_rows, p)
        The rows that count, as numbers.
    known : Known
        Labels, totals, domains and weights.
    spec : ModelSpec
        What the user chose about the model.
    budget : Budget
        What the fit may use.
    guide : classifier or None
        The guide, not fitted.
    guide_weight : float
        What an unlabeled row of which the guide is sure counts against a labeled row.
    evidence_spec : EvidenceSpec
        How sparse splits should be.
    advice : Advice or None
        What the guide said of the unlabeled rows, once it has been asked.
    """

    features: Features
    rows: FloatArray
    known: Known
    spec: ModelSpec
    budget: Budget
    guide: Any
    guide_weight: float
    evidence_spec: EvidenceSpec
    advice: Advice | None = None

    @property
    def problem(self) -> Problem:
        """The rows with what is known about them."""
        return Problem.from_known(self.rows, self.known, self.features.encoding.described)

    @property
    def guided_problem(self) -> Problem:
        """The same with what the guide said."""
        said = self.advice
        guide = None if said is None else Guide.from_probabilities(said.probabilities, self.guide_weight)
        return replace(self.problem, guide=guide)

    @property
    def weighs_evidence(self) -> bool:
        """Whether the fit weighs evidence, which a sample can show: P2 is about all rows."""
        return self.guide is not None and self.guide_weight > 0 and not self.known.is_labeled.all()

    def resolved(self, depth: int, share: float = 1.0) -> dict[str, Any]:
        """What "auto" stood for, by the names of the parameters; of a sample, its share makes rows of the whole table.

        Of the evidence model, prices are in rows and features per split are at most so many; P2 has neither.
        """
        guide = None if self.guide is None else type(self.guide).__name__
        found: dict[str, Any] = {"depth": depth, "guide": guide}
        if self.guide is None or self.guide_weight == 0:
            return found | {"max_features_per_split": self.spec.max_features_per_split}
        problem, spec = self.problem, self.evidence_spec
        n_rows = float(problem.labeled_size.sum() + problem.unlabeled_size.sum())
        return found | {
            "guide_weight": self.guide_weight,
            "max_features_per_split": spec.most,
            "term_price": spec.price_of(n_rows) / share,
            "total_price": spec.total_price,
        }

    @property
    def guide_table(self) -> Any:
        """The counted rows in a form that the guide can read: the user's table, or the features as numbers."""
        features = self.features
        if isinstance(self.guide, SelfTrainedForest) or not (features.is_plain or reads_tables(self.guide)):
            return self.rows
        return counted_part(without_columns(features.table, features.left_out), self.known)

    def guidance(self) -> Guidance | None:
        """The guide, asked about the unlabeled rows when the fit wants it; None without a guide."""
        if self.guide is None:
            return None
        left_behind: list[Thread] = []

        def ask(deadline: Deadline) -> Advice | None:
            return ask_guide(self.guide, self.guide_table, self.known.in_rows, deadline, left_behind)

        return Guidance(ask, self.guide_weight, self.evidence_spec, lambda: any(map(runs_on, left_behind)))


@dataclass(frozen=True, eq=False)
class TaskResult:
    """What a fit found.

    Attributes
    ----------
    trained : Trained
        The tree and its certificate.
    fit : FitTask
        The fit with what its guide said; of a register, that of its sample.
    summary : DataSummary
        What identifies the data.
    """

    trained: Trained
    fit: FitTask
    summary: DataSummary


def run_task(fit: FitTask, edge: Edge, began: float) -> TaskResult:
    """Fit a tree to all rows; ``began`` is the moment (of `now`) at which the time limit began."""
    problem, guidance, budget = fit.problem, fit.guidance(), fit.budget
    chance = _chance_of_rows(fit, problem, edge)
    trained = train(problem, fit.spec, budget, guidance, stop=edge.stop, listener=edge.listener, spent=now() - began)
    return _found(trained, fit, problem, chance, DataSummary.of(problem))


def run_register_task(fit: FitTask, register: Register, edge: Edge, began: float) -> TaskResult:
    """Fit a tree to a register, whose sample is the rows of the fit.

    The guide and the questions come from the sample. Passes over all rows then find the tree and its last offsets.
    """
    evidence_spec = fit.evidence_spec
    fit = replace(fit, evidence_spec=fit.evidence_spec.of_sample(register.share))
    problem, guidance = fit.problem, fit.guidance()
    assert guidance is not None  # only evidence is weighed on a sample
    chance = _chance_of_rows(fit, problem, edge)

    def fit_sample(budget: Budget) -> Trained:
        seconds = now() - began
        return train(problem, fit.spec, budget, guidance, stop=edge.stop, listener=edge.listener, spent=seconds)

    task = RegisterTask(register, problem, guidance, fit.spec, evidence_spec)
    trained, summary = train_register(task, fit_sample, fit.budget, edge.stop, began)
    return _found(trained, fit, problem, chance, summary)


def sample_of(fit: FitTask, register: Register) -> FitTask:
    """The fit to the sample of a register in memory."""
    table = fit.features.table
    if table is not register.rows:
        table = _safe_indexing(table, fit.known.positions(register.positions))
    features = replace(fit.features, table=table, rows=register.rows)
    return replace(fit, features=features, rows=register.rows, known=register.known)


def certified_choice(fit: FitTask, tree: ObliqueTree, claimed: Certificate, bound: float) -> Certificate:
    """The certificate of another tree for the rows of a fit; ``bound`` is what every tree costs at least."""
    problem = fit.guided_problem
    found, _ = recertify(problem, tree, claimed, fit.spec, rules=tree)
    if claimed.evidence_cost is not None:
        spec = fit.evidence_spec
        evidence = Evidence.of(problem, tree.topology, fit.guide_weight, spec.total_price)
        cost = evidence.total_cost(evidence.cost_of(tree), spec.price_of(evidence.n_given))
        found = replace(found, evidence_cost=cost, evidence_bound=min(bound, cost))
    is_proved = found.proved_best if claimed.evidence_cost is not None else found.proved
    ended = CONVERGED if found.ended == PROVED and not is_proved else found.ended
    return replace(found, chance=claimed.chance, ended=ended)


def leaves_in_batches(tree: ObliqueTree, rows: FloatArray) -> IntArray:
    """Leaf ids of all rows of a large table, a batch at a time."""
    leaf = np.empty(len(rows), dtype=np.int64)
    step = rows_of_batch(rows.shape[1])
    for first in range(0, len(rows), step):
        part = slice(first, first + step)
        leaf[part] = tree.apply(np.asarray(rows[part], dtype=float))
    return leaf


def _chance_of_rows(fit: FitTask, problem: Problem, edge: Edge) -> float | None:
    """Test the labels against chance before the fit, unless the guide is a forest that does so on its way."""
    if isinstance(fit.guide, SelfTrainedForest) and not fit.known.is_labeled.all():
        return None
    budget = fit.budget
    return chance_of_rows(problem.X_labeled, problem.labels, budget.seed, budget.for_checks(edge.stop))


def _found(trained: Trained, fit: FitTask, problem: Problem, chance: float | None, summary: DataSummary) -> TaskResult:
    """Put together what a fit found; the guide's votes on held-out labels, if it has any, are tested against chance."""
    advice = trained.advice
    if advice is not None and advice.held_out is not None:
        chance = chance_of_votes(advice.held_out, problem.labels)
    # The fitted guide is larger than everything else that a fit keeps.
    advice = None if advice is None else advice._replace(of_rows=None)
    certified = replace(trained, certificate=replace(trained.certificate, chance=chance), advice=None)
    return TaskResult(certified, replace(fit, advice=advice), summary)


_CERTAIN = 64.0
"""With this margin times slope, a probability is 0 or 1 to the last digit."""

_NEAREST = 1e-9
"""Rows nearer to a split than this are on it: whatever the slope is, their probability is about one half."""


def signed_margins(tree: ObliqueTree, witness: ObliqueTree, rows: FloatArray) -> FloatArray:
    """The margin of each row along its path, negative for the first of two classes, shape (n_rows,)."""
    # A row on a hyperplane has margin 0; the smallest number keeps it on the side of its class.
    margin = np.maximum(witness.path_margin(rows), np.finfo(float).tiny)
    return np.where(tree.predict(rows) == 1, margin, -margin)


def class_margins(tree: ObliqueTree, witness: ObliqueTree, rows: FloatArray, n_classes: int) -> FloatArray:
    """The margins of every class, shape (n_rows, n_classes)."""
    own = tree.predict(rows)[:, None] == np.arange(n_classes)
    far = np.maximum(class_distances(witness, rows, n_classes), np.finfo(float).tiny)
    nearest_other = np.where(own, np.inf, far).min(axis=1, keepdims=True)
    return np.where(own, nearest_other, -far)


def class_distances(tree: ObliqueTree, rows: FloatArray, n_classes: int) -> FloatArray:
    """How far each row would have to go at some hyperplane to end in a leaf of each class, shape (n_rows, n_classes).

    It is 0 for the class in which it ends, and infinite for a class that no leaf has.
    """
    topology, values = tree.topology, tree.values(rows)
    values[:, ~tree.omega.any(axis=1)] *= np.inf  # nothing moves a row across a node that does not split
    found = np.full((len(rows), n_classes), np.inf)
    for nodes, sides, k in zip(topology.path_nodes, topology.path_sides, tree.leaf_classes, strict=True):
        wrong = np.where(sides == 1, -values[:, nodes], values[:, nodes])
        found[:, k] = np.minimum(found[:, k], np.maximum(wrong, 0.0).max(axis=1))
    return found


def probabilities_of(margins: FloatArray, slope: float) -> FloatArray:
    """Probabilities of all classes from signed margins, one of two classes or one column for each class."""
    if margins.ndim == 1:
        second = expit(margins * slope)
        return np.column_stack([1 - second, second])
    # The own class counts as 0 away. Infinities are cut: one minus another is no number.
    away = np.minimum(np.maximum(-margins, 0.0) * slope, 1e6)
    return np.asarray(softmax(-away, axis=1))


def slope_for(margins: FloatArray, sizes: FloatArray, totals: FloatArray, xi: float) -> float:
    """The smallest of 1, 2, 4, ... divided by the median margin with which probabilities add up to about the totals."""
    if not len(margins):
        return 1.0
    own = (margins > 0).astype(int) if margins.ndim == 1 else margins.argmax(axis=1)
    distances = np.abs(margins if margins.ndim == 1 else margins.max(axis=1))
    # A tree that splits nothing keeps every row infinitely far from the other classes.
    finite = distances[np.isfinite(distances)]
    slope = 1.0 / max(float(np.median(finite)), 1.0) if len(finite) else 1.0
    steepest = _CERTAIN / max(float(finite.min()), _NEAREST) if len(finite) else 1.0
    assigned = np.bincount(own, weights=sizes, minlength=len(totals))
    # Where only bounds are known, a tree that keeps them may be far from their middle.
    off = np.maximum(np.abs(assigned - totals), xi)
    while slope < steepest and (np.abs(sizes @ probabilities_of(margins, slope) - totals) > off + 0.5).any():
        slope *= 2
    return min(slope, steepest)

"""One fit as an object: its data and choices, and how it runs on all rows or on the sample of a register."""

from __future__ import annotations

from dataclasses import dataclass, replace
from threading import Thread
from typing import Any

import numpy as np
from sklearn.utils import _safe_indexing

from s2oct.arrays import FloatArray, IntArray
from s2oct.evidence.evidence import Evidence, EvidenceSpec
from s2oct.fit.certificate import Certificate
from s2oct.fit.context import Budget, Guidance, Listener
from s2oct.fit.register import Register
from s2oct.fit.register_training import RegisterTask, train_register
from s2oct.fit.training import Trained, recertify, train
from s2oct.guides.asking import ask_guide, chance_of_rows, chance_of_votes, runs_on
from s2oct.guides.forest import SelfTrainedForest
from s2oct.guides.known_total import reads_tables
from s2oct.p2.prepared import ModelSpec
from s2oct.p2.proof import CONVERGED, PROVED
from s2oct.problem.batches import is_large, rows_of_batch
from s2oct.problem.known import Known, counted_part
from s2oct.problem.problem import Advice, DataSummary, Guide, Problem
from s2oct.stopping import Deadline, Stop, never, now
from s2oct.tables.encoding import Features
from s2oct.tables.features import without_columns
from s2oct.trees.tree import ObliqueTree


@dataclass(frozen=True, eq=False)
class FitTask:
    """The data and the choices of one fit, in a form that can be sent to another process.

    Attributes
    ----------
    features : Features
        All rows of the table as the user passed them, and their encoding as numbers.
    rows : ndarray of shape (n_rows, p)
        The rows used by the fit, as numbers.
    known : Known
        Labels, totals, domains and weights.
    spec : ModelSpec
        The user's choices about the model.
    budget : Budget
        Time, threads, seed and solver.
    guide : classifier or None
        The guide, not fitted.
    guide_weight : float
        Weight of an unlabeled row about which the guide is certain, relative to a labeled row.
    evidence_spec : EvidenceSpec
        The user's choices about trees of the evidence model.
    advice : Advice or None
        The guide's probabilities for the unlabeled rows, once it has been asked.
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
        """Rows, labels and totals."""
        return Problem.from_known(self.rows, self.known, self.features.encoding.described)

    @property
    def guided_problem(self) -> Problem:
        """The problem with the guide's advice."""
        guide = None if self.advice is None else Guide.from_probabilities(self.advice.probabilities, self.guide_weight)
        return replace(self.problem, guide=guide)

    @property
    def weighs_evidence(self) -> bool:
        """Whether the fit minimises evidence, which a sample can represent; P2 needs all rows."""
        return self.guide is not None and self.guide_weight > 0 and not self.known.is_labeled.all()

    @property
    def guide_table(self) -> Any:
        """The rows of the fit in a form that the guide can read: the user's table, or the features as numbers."""
        features = self.features
        if isinstance(self.guide, SelfTrainedForest) or not (features.is_plain or reads_tables(self.guide)):
            return self.rows
        return counted_part(without_columns(features.table, features.left_out), self.known)

    def resolved(self, depth: int, share: float = 1.0) -> dict[str, Any]:
        """Values of the parameters that were "auto"; prices are in rows of the whole table.

        ``share`` is the sample's share of the rows. P2 has no prices.
        """
        found: dict[str, Any] = {"depth": depth, "guide": None if self.guide is None else type(self.guide).__name__}
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

    def run(
        self, began: float, register: Register | None = None, stop: Stop = never, listener: Listener | None = None
    ) -> tuple[Trained, FitTask, DataSummary]:
        """Fit a tree to all rows, or to a register whose sample is the rows of this task.

        For a register, guide and questions come from the sample. Passes over all rows then find the tree and its last
        offsets. ``began`` is the time (of `now`) at which the time limit began.

        Returns the tree with its certificate, this task with the guide's advice, and a summary of all rows.
        """
        task = self if register is None else replace(self, evidence_spec=self.evidence_spec.of_sample(register.share))
        problem, guidance = task.problem, task._guidance()
        chance = task._chance_before(problem, stop)

        def fit(budget: Budget) -> Trained:
            spent = now() - began
            return train(problem, task.spec, budget, guidance, stop=stop, listener=listener, spent=spent)

        if register is None:
            trained, summary = fit(task.budget), DataSummary.of(problem)
        else:
            assert guidance is not None  # only the evidence model is fitted to a sample
            whole = RegisterTask(register, problem, guidance, task.spec, self.evidence_spec)
            trained, summary = train_register(whole, fit, task.budget, stop, began)
        advice = trained.advice
        if advice is not None:
            if advice.held_out is not None:
                chance = chance_of_votes(advice.held_out, problem.labels)
            # The fitted guide needs more memory than everything else that a fit keeps.
            advice = advice._replace(of_rows=None)
        trained = replace(trained, certificate=replace(trained.certificate, chance=chance), advice=None)
        return trained, replace(task, advice=advice), summary

    def _guidance(self) -> Guidance | None:
        """The guide, to be asked when the fit needs it; None without a guide."""
        if self.guide is None:
            return None
        left_behind: list[Thread] = []

        def ask(deadline: Deadline) -> Advice | None:
            return ask_guide(self.guide, self.guide_table, self.known.in_rows, deadline, left_behind)

        return Guidance(ask, self.guide_weight, self.evidence_spec, lambda: any(map(runs_on, left_behind)))

    def _chance_before(self, problem: Problem, stop: Stop) -> float | None:
        """Test the labels against chance, unless the guide is a forest, whose held-out votes are tested afterwards."""
        if isinstance(self.guide, SelfTrainedForest) and not self.known.is_labeled.all():
            return None
        return chance_of_rows(problem.X_labeled, problem.labels, self.budget.seed, self.budget.for_checks(stop))

    def register(self) -> Register | None:
        """The rows as a register if there are many and a sample can represent them; None otherwise."""
        if is_large(self.rows) and self.weighs_evidence:
            return Register.of_arrays(self.rows, self.known, self.budget.seed)
        return None

    def on_sample(self, register: Register) -> FitTask:
        """Return the task for the sample of a register in memory."""
        table = self.features.table
        if table is not register.rows:
            table = _safe_indexing(table, self.known.positions(register.positions))
        features = replace(self.features, table=table, rows=register.rows)
        return replace(self, features=features, rows=register.rows, known=register.known)

    def in_memory(self, register: Register | None) -> FitTask:
        """Return the task for the sample of a register, with prices scaled to it; for all rows if there is none."""
        if register is None:
            return replace(self, rows=np.asarray(self.rows, dtype=float))
        return replace(self.on_sample(register), evidence_spec=self.evidence_spec.of_sample(register.share))

    def certify(self, tree: ObliqueTree, claimed: Certificate, bound: float) -> Certificate:
        """Certify another tree on these rows; ``bound`` is a lower bound on the cost of every tree."""
        problem = self.guided_problem
        found, _ = recertify(problem, tree, claimed, self.spec, rules=tree)
        if claimed.evidence_cost is not None:
            spec = self.evidence_spec
            evidence = Evidence.of(problem, tree.topology, self.guide_weight, spec.total_price)
            cost = evidence.total_cost(evidence.cost_of(tree), spec.price_of(evidence.total_size))
            found = replace(found, evidence_cost=cost, evidence_bound=min(bound, cost))
        is_proved = found.proved_best if claimed.evidence_cost is not None else found.proved
        ended = CONVERGED if found.ended == PROVED and not is_proved else found.ended
        return replace(found, chance=claimed.chance, ended=ended)


def leaves_of(tree: ObliqueTree, rows: FloatArray) -> IntArray:
    """Leaf ids of all rows, computed in batches, so that a large table of any number type needs little memory."""
    leaf = np.empty(len(rows), dtype=np.int64)
    step = rows_of_batch(rows.shape[1])
    for first in range(0, len(rows), step):
        part = slice(first, first + step)
        leaf[part] = tree.apply(np.asarray(rows[part], dtype=float))
    return leaf

"""Fits to registers: tables with more rows than a fit looks at together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple, Self

import numpy as np

from s2oct.arrays import FloatArray
from s2oct.estimators.edge import edge_of, warn_of, with_callbacks
from s2oct.estimators.estimating import Estimating
from s2oct.estimators.told import FitTold, ToldFits
from s2oct.fit.context import Budget
from s2oct.fit.listening import Listener
from s2oct.fit.training import Trained, train
from s2oct.inputs import Answers
from s2oct.model.batches import rows_of_batch
from s2oct.model.labels import Labels
from s2oct.model.spec import ModelSpec
from s2oct.register.register import Register
from s2oct.register.training import train_register
from s2oct.stopping import Stop, now
from s2oct.wording import plural


class RegisterTold(NamedTuple):
    """A register, its sample as the user passed it, and what the user chose."""

    register: Register
    X: Any
    spec: ModelSpec
    budget: Budget


class RegisterFits(ToldFits, Estimating):
    """A classifier that fits a sample of a register and meets the totals of all its rows."""

    @with_callbacks
    def fit_register(
        self,
        register: Register,
        feature_names: Sequence[str] | None = None,
        *,
        stop: Stop | None = None,
        listener: Listener | None = None,
    ) -> Self:
        """Fit the tree to a register whose rows come in batches.

        Directions and classes come from the sample of the register. Passes over all rows then move the offsets of the
        last splits until the totals are met. ``stability_`` is about the unlabeled rows of the sample, and there is no
        ``transduction_``, because the rows are not in memory.

        Parameters
        ----------
        register : Register
            A sample, all unlabeled rows in batches, and totals.
        feature_names : sequence of str, optional
            Names of the features.
        stop : callable, optional
            Asked often, from any thread of the fit. Once it returns True the fit ends and keeps its best tree.
        listener : object, optional
            Is informed about stages, costs and bounds, see `s2oct.fit.listening.Listener`.

        Returns
        -------
        self
            The fitted classifier.
        """
        began = now()
        self._checked()
        self._left_out = ()
        self.n_features_in_ = register.rows.shape[1]
        if feature_names is not None:
            self.feature_names_in_ = np.array(feature_names, dtype=object)
        told = RegisterTold(register, register.rows, self._spec(self.n_features_in_), self._budget())
        self._learn_register(told, began, stop, listener)
        warn_of(self.notices_[len(register.answers.doubts) :], self.certificate_, self.classes_)
        return self

    def _can_sample(self, answers: Answers) -> bool:
        """Whether a fit weighs evidence, which a sample can show: P2 is about all rows."""
        return self.guide is not None and self._guide_weight() > 0 and not answers.labels.is_labeled.all()

    def _learn_register(self, told: RegisterTold, began: float, stop: Stop | None, listener: Listener | None) -> None:
        register, spec = told.register, told.spec
        problem = register.problem(self._feature_names())
        sample = FitTold(told.X, register.rows, register.answers, problem, spec, told.budget)
        guidance = self._guidance(sample)
        if guidance.sparsity.term_price is not None:
            # The user's price is in rows of the register.
            price = guidance.sparsity.term_price * register.share
            guidance = replace(guidance, sparsity=replace(guidance.sparsity, term_price=price))
        spent = now() - began
        with edge_of(self, stop, listener) as edge:
            # Compiling is not part of the time limit, reading the data is.
            began = now() - spent
            chance = self._test_rows(sample, edge.stop)

            def fit_sample(budget: Budget) -> Trained:
                seconds = now() - began
                return train(problem, spec, budget, guidance, stop=edge.stop, listener=edge.listener, spent=seconds)

            found = train_register(register, problem, fit_sample, guidance, spec, told.budget, edge.stop, began)
        edge.require_result(found.trained.certificate)
        self._keep(found.trained, sample, edge.notices, self._tested(sample, guidance, chance))
        self._fitted_on = None
        self.data_summary_ = found.summary
        self.contradicted_ = register.positions[register.answers.labels.is_labeled][self._contradicts(problem)]
        self._note_sample(register)

    def _note_sample(self, register: Register) -> None:
        known = f"The stability is known for the {plural(len(self.stability_), 'unlabeled row')} of the sample only."
        if not np.isnan(self.stability_).all():
            self.stability_note_ = f"{known} {self.stability_note_}".strip()

    def _complete(self, rows: FloatArray, labels: Labels, register: Register) -> None:
        """Classes of all rows of a table in memory, a batch at a time."""
        is_unlabeled = ~labels.is_labeled
        codes = np.empty(len(rows), dtype=np.int64)
        step = rows_of_batch(rows.shape[1])
        for first in range(0, len(rows), step):
            part = slice(first, first + step)
            codes[part] = self.tree_.predict(np.asarray(rows[part], dtype=float))
        self.transduction_ = labels.completed(codes[is_unlabeled])
        stability = np.full(len(rows), np.nan)
        stability[register.positions[~register.answers.labels.is_labeled]] = self.stability_
        self.stability_ = stability[is_unlabeled]

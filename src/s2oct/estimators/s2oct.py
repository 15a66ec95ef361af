"""The semi-supervised optimal classification tree as a scikit-learn classifier."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import _safe_indexing

from s2oct.certificate import Certificate
from s2oct.estimators.edge import edge_of, warn_of, with_callbacks
from s2oct.estimators.registers import RegisterFits, RegisterTold
from s2oct.estimators.simpler_trees import SimplerTrees
from s2oct.estimators.told import FitTold
from s2oct.estimators.totals_path import TotalsPaths
from s2oct.fit.listening import Listener
from s2oct.fit.training import train
from s2oct.inputs import read_answers, read_features, text_columns
from s2oct.model.data_summary import DataSummary
from s2oct.model.problem import Problem
from s2oct.model.totals import Totals
from s2oct.register.register import Register, is_large
from s2oct.stopping import Stop, now


class S2OCTClassifier(RegisterFits, SimplerTrees, TotalsPaths):
    """A shallow oblique tree from few labeled rows, many unlabeled ones and known totals.

    The tree weighs evidence about the classes of the rows. A labeled row says its class. A guide says how likely each
    class is for an unlabeled row; it is a classifier that knows the same totals. The tree contradicts as few rows as
    possible, in splits of few features, and meets the totals. ``guide=None`` fits the paper's model P2 instead: the
    errors of the labeled rows plus C for every row by which the number of unlabeled rows assigned to a class misses its
    known total.

    Parameters
    ----------
    depth : int or "auto"
        Hyperplanes between root and leaf; "auto" is the paper's rule, 2 below 1000 rows and 3 otherwise, or more if
        there are more classes than leaves.
    C : float
        Price of one row off the total in P2.
    guide : classifier, "auto" or None
        Says how likely each class is for each unlabeled row. Any scikit-learn classifier with ``predict_proba`` is made
        to meet the totals by `TopTotalClassifier`; "auto" is a `SelfTrainedForest`. A guide that gives no answer within
        80 % of the remaining time is ended, and the fit warns and goes on without it; compiled code inside a guide ends
        only when it returns to Python. None is the paper's P2 and nothing else; of its trees of least cost that were
        found, one with few features.
    guide_weight : float or "auto"
        What an unlabeled row of which the guide is sure counts against a labeled row; "auto" is 1/4. With 0 the paper's
        P2 is solved first, and the guide only chooses among its trees of least cost; if P2 is not solved in time, the
        tree is the best one found for it. Without a guide it has no effect.
    max_features_per_split : int, "auto" or None
        At most so many features have a coefficient in one split; with 1 all splits are ordinary ones, on single
        features. None is no such limit. "auto" is 4, and more only where the totals cannot be met otherwise; in P2,
        that is with ``guide=None`` or ``guide_weight=0``, it is no limit.
    term_price : float or "auto"
        So many rows a feature must save to get into a split; "auto" is 0.2 % of all rows. P2 has no such price.
    features : list of str or of int, or None
        Names or numbers of the columns that the rules may use; None for all. The guide still sees every column: drop a
        column from X to keep it out altogether. P2, its constants and what is proved are about these columns alone.
    coefficient_bound : float or "auto"
        The paper's s, the bound on every coefficient of P2 in model units; "auto" is the paper's rule. With a
        guide of positive weight it changes nothing but the length of ``witness_`` and whether that is feasible for P2.
    scaling : "paper" or None
        Centre and rescale the features as in the paper's Sec. 4.1, or take them as they are.
    solver : {"highs", "scip", "gurobi"} or None
        The solver of P2, used with ``guide=None`` or ``guide_weight=0`` only; with None the search runs alone.
    time_limit : float
        Seconds of wall clock for the whole fit.
    n_jobs : int or None
        Threads; -1 for all cores.
    random_state : int, RandomState or None
        Seed of everything random.
    verbose : int
        1 prints every improvement to standard error.

    Attributes
    ----------
    tree_ : ObliqueTree
        The tree, in the units of the features as they were passed: short decimals that read as rules.
    witness_ : ObliqueTree
        The hyperplanes that the certificate is about. They put every row of the fit into the same leaf as ``tree_``.
    rules_ : str
        The tree as text, with exactly the numbers that predict. Features without names are called x0, x1, ...
    certificate_ : Certificate
        What the tree does in rows, how the fit ended, and what is proved; recomputed from the tree.
    transduction_ : ndarray of shape (n_rows,)
        A label for every training row: the given label, or the tree's class for an unlabeled row.
    contradicted_ : ndarray of int
        Positions of the labeled rows that the tree puts into another class than their own.
    stability_ : ndarray of shape (n_unlabeled,)
        For each unlabeled row, in their order, the share of other trees that are as good and put the row into the
        same class. With a guide of positive weight they meet the totals as well and have at most 1 % of the rows more
        against them. In P2 they are found independently, without the guide, and cost no more: near 1 the labeled rows
        and the totals determine a class, near 1/2 they leave it open. NaN if P2 or a fit that was cut short has no
        such tree.
    alternatives_ : tuple of ObliqueTree
        The distinct ones of these trees, the best starts first. A classifier from a model file has none.
    stability_note_ : str
        Why ``stability_`` is not known, or how many trees it comes from if they are fewer than five; empty otherwise.
    notices_ : tuple of str
        What the user should know of how the fit went; the same sentences are issued as warnings.
    scaling_ : Scaling
        The map from the user's units to those of the model.
    data_summary_ : DataSummary
        Numbers of rows, totals and a hash of the data of the fit.
    classes_ : ndarray of shape (n_classes,)
        The class labels, sorted.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of str
        Names of the features, if the table had any.

    Examples
    --------
    >>> from s2oct import S2OCTClassifier
    >>> X = [[1.0], [2.0], [8.0], [9.0], [1.5], [3.0], [7.0], [7.5]]
    >>> y = ["no", "no", "yes", "yes", None, None, None, None]
    >>> clf = S2OCTClassifier(depth=1, random_state=0).fit(X, y, totals={"yes": 2})
    >>> clf.transduction_.tolist()
    ['no', 'no', 'yes', 'yes', 'no', 'no', 'yes', 'yes']
    >>> clf.certificate_.proved
    True
    """

    certificate_: Certificate

    def __init__(
        self,
        depth: int | str = "auto",
        C: float = 1.0,
        guide: Any = "auto",
        guide_weight: float | str = "auto",
        max_features_per_split: int | str | None = "auto",
        term_price: float | str = "auto",
        features: Any = None,
        coefficient_bound: float | str = "auto",
        scaling: str | None = "paper",
        solver: str | None = "highs",
        time_limit: float = 60.0,
        n_jobs: int | None = 1,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.depth = depth
        self.C = C
        self.guide = guide
        self.guide_weight = guide_weight
        self.max_features_per_split = max_features_per_split
        self.term_price = term_price
        self.features = features
        self.coefficient_bound = coefficient_bound
        self.scaling = scaling
        self.solver = solver
        self.time_limit = time_limit
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    @with_callbacks
    def fit(
        self,
        X: Any,
        y: Any,
        totals: Totals | None = None,
        population_totals: Totals | None = None,
        *,
        domains: Any = None,
        as_shares: bool = False,
        sample_weight: Any = None,
        stop: Stop | None = None,
        listener: Listener | None = None,
    ) -> S2OCTClassifier:
        """Fit the tree.

        Of a table of more than 100,000 rows, guide and tree see a sample: all labeled rows and 50,000 others. The
        offsets of the last splits are then moved until the totals of all rows are met, and the certificate says so. P2
        is about all rows of any table.

        Parameters
        ----------
        X : array-like or data frame of shape (n_rows, n_features)
            Labeled and unlabeled rows together, all numeric and complete.
        y : array-like of shape (n_rows,)
            Labels; NaN, None or NA marks an unlabeled row, and so does -1 where it cannot be a class.
        totals : mapping, series or data frame, optional
            Number of unlabeled rows of each class: a count, bounds ``(low, high)`` or an `Estimate`. One class may be
            left out and follows from the others. With ``domains``, a table with domains as rows and classes as columns,
            a mapping of domains to such mappings, or a long table; with several margins, a list of these.
        population_totals : mapping, series or data frame, optional
            The same for all rows, the labeled ones included.
        domains : array-like of shape (n_rows,), column name of X, or list of these, optional
            The domain of each row, a region say, if totals are known by domain; a list for several margins. A column of
            X that has numbers is a feature as well; one that has text is not.
        as_shares : bool
            Whether totals are shares of the rows instead of counts.
        sample_weight : array-like of shape (n_rows,), optional
            Survey weights: labeled rows weigh in their errors, unlabeled rows count with theirs towards the totals,
            which are then sums of weights. Rows of weight 0 take no part in the fit.
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
        self._left_out = text_columns(X, domains)
        all_rows = read_features(self, X, reset=True, keep_single=is_large(X))
        budget, spec = self._budget(), self._spec(all_rows.shape[1])
        answers = read_answers(
            X, y, totals, population_totals, domains=domains, as_shares=as_shares, sample_weight=sample_weight
        )
        rows = answers.of_counted(all_rows)
        if is_large(rows) and self._can_sample(answers):
            register = Register.of_arrays(rows, answers, budget.seed)
            sample = _safe_indexing(X, answers.positions(register.positions))
            self._learn_register(RegisterTold(register, sample, spec, budget), began, stop, listener)
            self._complete(rows, answers.labels, register)
            self._over_all_rows(answers, X)
            warn_of(self.notices_[len(answers.doubts) :], self.certificate_, self.classes_)
            return self
        rows = np.asarray(rows, dtype=float)
        problem = Problem.from_labels(
            rows, answers.labels, answers.targets, feature_names=self._feature_names(), weights=answers.weights
        )
        told = FitTold(X, rows, answers, problem, spec, budget)
        guidance = None if self.guide is None else self._guidance(told)
        spent = now() - began
        with edge_of(self, stop, listener) as edge:
            # Compiling is not part of the time limit, reading and testing the data is.
            began = now() - spent
            chance, spent = self._test_rows(told, edge.stop), now() - began
            trained = train(problem, spec, budget, guidance, stop=edge.stop, listener=edge.listener, spent=spent)
        edge.require_result(trained.certificate)
        self._keep(trained, told, edge.notices, self._tested(told, guidance, chance))
        self._fitted_on = self._replicable(told, guidance)
        self.data_summary_ = DataSummary.of(problem)
        self.transduction_ = answers.labels.completed(self.tree_.predict(problem.X_unlabeled))
        self.contradicted_ = np.flatnonzero(answers.labels.is_labeled)[self._contradicts(problem)]
        self._over_all_rows(answers, X)
        warn_of(self.notices_[len(answers.doubts) :], self.certificate_, self.classes_)
        return self

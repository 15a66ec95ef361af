"""The semi-supervised optimal classification tree as a scikit-learn classifier."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from s2oct.arrays import FloatArray, IntArray
from s2oct.errors import InvalidProblem
from s2oct.estimates.assessment import LONG_FIT, N_FOLDS, Assessment
from s2oct.estimates.table import REPLICATES, Estimates
from s2oct.estimators.assessing import CrossFit, fit_folds
from s2oct.estimators.base import TreeClassifier, count_leaves
from s2oct.estimators.edge import edge_of, notices_of, warn_of, with_callbacks
from s2oct.estimators.estimating import (
    estimate_by_difference,
    estimate_domains,
    known_of_table,
    read_design_weights,
    read_method,
    refuse_strange,
    refuse_without_table,
)
from s2oct.estimators.fitted import FittedRows, known_to_fit, read_fit
from s2oct.estimators.fitting import (
    FitTask,
    certified_choice,
    class_margins,
    leaves_in_batches,
    probabilities_of,
    run_register_task,
    run_task,
    sample_of,
    signed_margins,
    slope_for,
)
from s2oct.estimators.totals_path import TotalsPath, fit_totals_path
from s2oct.evidence.evidence import AUTO_GUIDE_WEIGHT, AUTO_MOST, AUTO_TOTAL_PRICE, EvidenceSpec
from s2oct.fit.certificate import Certificate
from s2oct.fit.context import Listener
from s2oct.fit.register import Register, is_large
from s2oct.fit.simplicity import SimplicityPath, SimplicityStep, Simplification
from s2oct.guides import SelfTrainedForest
from s2oct.guides.unknown_totals import ESTIMATING_SHARE, with_estimated_totals
from s2oct.p2.prepared import ModelSpec
from s2oct.p2.proof import INTERRUPTED
from s2oct.parameters import whole_from
from s2oct.problem.known import Known, names_of_columns, read_known, refuse_to_estimate
from s2oct.problem.problem import Problem
from s2oct.problem.totals import Totals
from s2oct.stopping import Deadline, Stop, never, now
from s2oct.tables.encoding import Encoding, Features
from s2oct.tables.features import learn_features, read_rule_features, text_columns
from s2oct.trees.tree import ObliqueTree
from s2oct.wording import brief, plural

_OF_SESSION = ("_fit", "_known", "_simplification", "_path", "_cross_fit", "_source")
"""What holds the rows of the fit, and neither a pickle nor a model file keeps."""


class S2OCTClassifier(TreeClassifier):
    """A shallow oblique tree from few labeled rows, many unlabeled ones and known totals.

    The tree weighs evidence about the classes of the rows. A labeled row says its class. A guide says how likely each
    class is for an unlabeled row; it is a classifier that knows the same totals. The tree contradicts as few rows as
    possible and misses the totals by as few as possible, in rules of few terms. ``guide=None`` fits the paper's model
    P2 instead: the errors of the labeled rows plus C for every row by which the number of unlabeled rows assigned to a
    class misses its known total.

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
        What an unlabeled row of which the guide is sure counts against a labeled row; "auto" is 1/2. With 0 the paper's
        P2 is solved first, and the guide only chooses among its trees of least cost; if P2 is not solved in time, the
        tree is the best one found for it. Without a guide it has no effect.
    max_features_per_split : int, "auto" or None
        Maximum number of columns in one split. With 1 all splits are ordinary ones, and the best tree is searched for
        until it is proved best or the time is over. "auto" is one column, and two or three where they pay clearly. None
        is no such limit. In P2, that is with ``guide=None`` or ``guide_weight=0``, "auto" is no limit, and features are
        counted instead of columns.
    term_price : float or "auto"
        Minimum number of rows a term must save to be used in a rule; "auto" is 0.3 % of all rows, and at least 2.1. A
        term of a sum must save 1.3 times as much, and a further level in a set of levels a quarter. P2 has no such
        price.
    total_price : float or "auto"
        Rows that a row off a total costs; "auto" is 1.5. ``float("inf")`` meets the totals at any price. In P2 this
        price is ``C``.
    min_rows_per_leaf : int
        Minimum number of rows in a leaf, labeled and unlabeled ones together. P2 has no such constraint, so more than 1
        is refused with ``guide=None`` and ``guide_weight=0``. Where a fit sees a sample of the rows, it holds in
        proportion for the sample, and only roughly for all rows.
    features : list of str or of int, or None
        Names or numbers of the columns that the rules may use; None for all. The guide still sees every column: drop a
        column from X to keep it out altogether. P2, its constants and what is proved are about these columns alone.
    categorical_features : "from_dtype", list of str or of int, mask, or None
        Columns that hold categories. "from_dtype" takes columns of text and of a categorical type; an ordered type
        keeps its order. Names, numbers or a mask choose other columns, as scikit-learn's estimators do. With None no
        column is one, and text is refused.
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
        same class. With a guide of positive weight they have at most 1 % of the rows more against them, with rows off
        at their price. In P2 they are found independently, without the guide, and cost no more. This is agreement among
        near-optimal trees: `assess` says how many of the rows on which all agree are right. NaN if P2 or a fit that was
        cut short has no such tree.
    alternatives_ : tuple of ObliqueTree
        The distinct ones of these trees, the best starts first. A classifier from a model file has none.
    stability_note_ : str
        Why ``stability_`` is not known, or how many trees it comes from if they are fewer than five; empty otherwise.
    notices_ : tuple of str
        What the user should know of how the fit went; the same sentences are issued as warnings.
    resolved_params_ : dict
        What the parameters that are "auto" stood for: depth, name of the guide and its weight, features per split at
        most, and the prices of a term and of a row off the totals, in rows.
    scaling_ : Scaling
        The map from the user's units to those of the model.
    data_summary_ : DataSummary
        Numbers of rows, totals and a hash of the data of the fit.
    classes_ : ndarray of shape (n_classes,)
        The class labels, sorted.
    encoding_ : Encoding
        How the columns of a table become the features of the tree.
    n_features_in_ : int
        Number of columns of the table, without domains that are text.
    feature_names_in_ : ndarray of str
        Names of these columns, if the table had any.

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
    contradicted_: IntArray
    alternatives_: tuple[ObliqueTree, ...]
    resolved_params_: dict[str, Any]
    _slope: float
    _fit: FitTask | None
    _known: Known
    _simplification: Simplification | None
    _path: SimplicityPath | None
    _cross_fit: CrossFit | None
    _source: tuple[S2OCTClassifier, int | None] | None
    """Of a chosen tree, the classifier whose fit it is from, and its terms; None for the terms of the tree of the fit.
    """

    def __init__(
        self,
        depth: int | str = "auto",
        C: float = 1.0,
        guide: Any = "auto",
        guide_weight: float | str = "auto",
        max_features_per_split: int | str | None = "auto",
        term_price: float | str = "auto",
        total_price: float | str = "auto",
        min_rows_per_leaf: int = 1,
        features: Any = None,
        categorical_features: Any = "from_dtype",
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
        self.total_price = total_price
        self.min_rows_per_leaf = min_rows_per_leaf
        self.features = features
        self.categorical_features = categorical_features
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

        Of a table of more than 100,000 rows, the guide is fitted to a sample: all labeled rows and 50,000 others. It is
        then asked about all rows, and the tree is the best one over all rows, of depth 2 or below the first splits of
        the sample's tree. The certificate says what is proved. P2 is about all rows of any table.

        Parameters
        ----------
        X : array-like or data frame of shape (n_rows, n_features)
            Labeled and unlabeled rows together: numbers or, in a table of pandas, polars or Arrow, also text,
            categories, booleans and missing values.
        y : array-like of shape (n_rows,)
            Labels; NaN, None or NA marks an unlabeled row, and so does -1 where it cannot be a class.
        totals : mapping, series or data frame, optional
            Number of unlabeled rows of each class: a count, bounds ``(low, high)`` or an `Estimate`. One class may be
            left out and follows from the others. With ``domains``, a table with domains as rows and classes as columns,
            a mapping of domains to such mappings, or a long table; with several margins, a list of these.
            ``"estimate"`` in the place of a total, of those of a domain or of all estimates them from the unlabeled
            rows. This assumes that whether a row is labeled depends on its class and on nothing else. Without any
            totals, those of the whole table are estimated, with a warning.
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
            Is informed about stages, costs and bounds, see `s2oct.fit.context.Listener`.

        Returns
        -------
        self
            The fitted classifier.
        """
        began = now()
        self._checked()
        features = learn_features(
            self,
            X,
            categorical=self.categorical_features,
            left_out=text_columns(X, domains),
            sample_weight=sample_weight,
            keep_single=is_large(X),
        )
        known = read_known(
            X, y, totals, population_totals, domains=domains, as_shares=as_shares, sample_weight=sample_weight
        )
        fit = self._planned(features, known)
        fit = replace(fit, known=self._with_estimates(known, fit, began, stop))
        self._known = fit.known
        register = None
        if is_large(fit.rows) and fit.weighs_evidence:
            register = Register.of_arrays(fit.rows, fit.known, fit.budget.seed)
        self._complete(fit, self._run(fit, register, began, stop, listener), register)
        warn_of(self.notices_)
        return self

    def _with_estimates(self, known: Known, fit: FitTask, began: float, stop: Stop | None = None) -> Known:
        """What is known, with estimates in the place of totals that are to be estimated."""
        deadline = Deadline(began + ESTIMATING_SHARE * fit.budget.time_limit, stop or never)
        return with_estimated_totals(known, fit.rows, fit.budget.seed, deadline)

    def _fit_register(
        self, register: Register, encoding: Encoding, stop: Stop | None = None, listener: Listener | None = None
    ) -> S2OCTClassifier:
        """Fit the tree to a register whose rows come in batches, so that there is no ``transduction_``."""
        began = now()
        self._checked()
        features = learn_features(self, Features(register.rows, encoding, register.rows))
        fit = self._planned(features, register.known)
        fitted = self._run(fit, register, began, stop, listener)
        self.contradicted_ = register.positions[register.known.is_labeled][self._contradicts(fitted)]
        self._leaf_counts = None
        return self

    def _planned(self, features: Features, known: Known) -> FitTask:
        """The fit that the parameters ask for, checked."""
        params, budget = self._checked(), self._budget()
        guide, weight = params["guide"], params["guide_weight"]
        if isinstance(guide, str):
            guide = SelfTrainedForest(n_jobs=budget.n_jobs, random_state=budget.seed)
        is_auto, most = isinstance(self.max_features_per_split, str), params["max_features_per_split"]
        return FitTask(
            features=features,
            rows=known.of_counted(features.rows),
            known=known,
            spec=self._spec(names_of_columns(features.table)),
            budget=budget,
            guide=guide,
            guide_weight=AUTO_GUIDE_WEIGHT if weight is None else weight,
            evidence_spec=EvidenceSpec(
                AUTO_MOST if is_auto else most,
                params["term_price"],
                AUTO_TOTAL_PRICE if params["total_price"] is None else params["total_price"],
                params["min_rows_per_leaf"],
            ),
        )

    def _spec(self, names: Sequence[Any] = ()) -> ModelSpec:
        """The model that the parameters ask for; ``names`` are those of all columns, by default of those of the fit."""
        params, names = self._checked(), names or list(getattr(self, "feature_names_in_", ()))
        return ModelSpec(
            depth=params["depth"],
            C=params["C"],
            coefficient_bound=params["coefficient_bound"],
            scaled=params["scaling"] == "paper",
            max_features_per_split=params["max_features_per_split"],
            features=read_rule_features(params["features"], self.encoding_, names),
        )

    def _run(
        self, fit: FitTask, register: Register | None, began: float, stop: Stop | None, listener: Listener | None
    ) -> FitTask:
        """Run a fit, over a sample if there is a register, and keep the tree; returns what it was fitted to."""
        with edge_of(self, stop, listener) as edge:
            if register is None:
                found = run_task(replace(fit, rows=np.asarray(fit.rows, dtype=float)), edge, began)
            else:
                found = run_register_task(sample_of(fit, register), register, edge, began)
        trained, known = found.trained, found.fit.known
        edge.require_result(trained.certificate)
        self.certificate_, self.classes_ = trained.certificate, known.classes
        self.tree_, self.witness_, self.scaling_ = trained.tree, trained.witness, trained.scaling
        self.stability_, self.stability_note_ = trained.stability, trained.stability_note
        self.alternatives_, self.data_summary_ = trained.others, found.summary
        self._simplification, self._path, self._cross_fit, self._source = trained.simplification, None, None, None
        self._fit = found.fit
        self.resolved_params_ = found.fit.resolved(
            self.tree_.topology.depth, 1.0 if register is None else register.share
        )
        self._slope = self._fitted_slope(found.fit.problem)
        doubts = (*fit.features.doubts, *(known.doubts if register is None else register.doubts))
        self.notices_ = notices_of((*doubts, *trained.notices), self.certificate_, self.classes_)
        if register is not None and not np.isnan(self.stability_).all():
            of_sample = plural(len(self.stability_), "unlabeled row")
            note = f"The stability is known for the {of_sample} of the sample only. {self.stability_note_}"
            self.stability_note_ = note.strip()
        return found.fit

    def _complete(self, fit: FitTask, fitted: FitTask, register: Register | None = None) -> None:
        """Keep what the tree says of every row of the table; it was fitted to all rows or to a sample of them."""
        known, free = fit.known, ~fit.known.is_labeled
        leaf = leaves_in_batches(self.tree_, fit.rows)
        self._leaf_counts = count_leaves(self.tree_, leaf, known.is_labeled)
        classes = self.tree_.leaf_classes[leaf[free] - self.tree_.topology.n_leaves]
        self.transduction_ = known.labels.completed(classes)
        if register is None:
            contradicted = np.flatnonzero(~free)[self._contradicts(fitted)]
        else:
            contradicted = register.positions[register.known.is_labeled][self._contradicts(fitted)]
            stability = np.full(len(fit.rows), np.nan)
            stability[register.positions[~register.known.is_labeled]] = self.stability_
            self.stability_ = stability[free]
        all_rows = fit.features.rows
        self.transduction_ = known.completed(
            self.transduction_, lambda rows: np.asarray(self.classes_[self.tree_.predict(all_rows[rows])])
        )
        self._uncounted_classes = known.uncounted_classes
        self.contradicted_ = known.positions(contradicted)
        self.stability_ = known.of_unlabeled(self.stability_)

    def _contradicts(self, fit: FitTask) -> Any:
        """Which labeled rows the tree puts into another class than their own."""
        labeled = fit.known.is_labeled
        return self.tree_.predict(fit.rows[labeled]) != fit.known.labels.codes[labeled]

    def _fitted_slope(self, problem: Problem) -> float:
        """The slope of probabilities with which they add up to the totals of the rows of the fit."""
        rows_off = self.certificate_.xi / problem.unit
        if self.certificate_.n_register is not None:
            # The tree meets the totals of all rows, so that it misses those of the sample.
            rows_off = problem.targets.rows_off(self.tree_.predict(problem.X_unlabeled), problem.unlabeled_size)
        return slope_for(self._margins(problem.X_unlabeled), problem.unlabeled_size, problem.totals, rows_off)

    def _margins(self, rows: FloatArray) -> FloatArray:
        if len(self.classes_) == 2:
            return signed_margins(self.tree_, self.witness_, rows)
        return class_margins(self.tree_, self.witness_, rows, len(self.classes_))

    def decision_function(self, X: Any) -> FloatArray:
        """Signed margin along each row's path: positive for ``classes_[1]``, negative for ``classes_[0]``.

        Its size is the least ``|omega . x - gamma|`` of the hyperplanes of ``witness_`` that led the row to its leaf.
        The unlabeled rows of a fit that is feasible for P2 have at least 1. With more than two classes there is one
        column for each class: minus how far the row would have to go to end in a leaf of the class, and, for its own
        class, how far it would have to go to end in another.

        Parameters
        ----------
        X : array-like or data frame of shape (n_rows, n_features)
            Rows with the features of the fit.

        Returns
        -------
        ndarray of shape (n_rows,) or (n_rows, n_classes)
            Signed margins.
        """
        return self._margins(self._rows(X))

    def predict_proba(self, X: Any) -> FloatArray:
        """Class probabilities: a logistic function of the signed margin.

        Its slope is 1, 2, 4, ... divided by the median margin: the smallest for which the probabilities of the
        unlabeled rows of the fit add up to the known total within half a row (plus the rows by which the tree itself
        misses the total). The probabilities agree with `predict`. They only say how far a row is from the nearest
        split: they are not calibrated on held-out labels. With more than two classes they fall off with the distance
        of the row from the leaves of each class.

        Parameters
        ----------
        X : array-like or data frame of shape (n_rows, n_features)
            Rows with the features of the fit.

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
            Probabilities of the classes, in the order of ``classes_``.
        """
        return probabilities_of(self.decision_function(X), self._slope)

    def estimate(
        self,
        by: Any = None,
        replicates: int | None = None,
        confidence: float = 0.95,
        *,
        method: str = "auto",
        X: Any = None,
        y: Any = None,
        design_weight: Any = None,
        held_out: bool = False,
        replicate_weights: Any = None,
        replicate_scale: float | None = None,
        n_jobs: int | None = None,
        folder: str | Path | None = None,
        progress: Callable[[int, int], None] | None = None,
        **table: Any,
    ) -> Estimates:
        """Estimate how many rows of each class every domain has, with standard errors and intervals.

        Labels that a tree completes look more certain than they are. So the whole fit is replicated: labeled rows are
        drawn anew within their classes, uncertain totals are drawn anew, and guide and tree are fitted again. Labeled
        rows that a replicate did not draw show how often the tree and the guide are wrong; this corrects the counts.
        The standard error has three parts: how far replicates differ, chance in the classes of single rows, and what
        rows of a domain have in common that the features do not show.

        The difference estimator needs ten fits in place of 200. Each holds a tenth of the labels out, and sees at most
        5,000 unlabeled rows. The predictions of all rows are added up and corrected by the errors of the held-out
        labels, and the standard error is a formula. So it also works for a large table and for a tree from a model
        file, if these rows are passed as ``X`` and ``y``.

        Parameters
        ----------
        by : array-like of shape (n_rows,), column name of X, or list of these, optional
            The domain of each row of the fit, or of ``X``, labeled and unlabeled ones; a list for several divisions.
            Without it, the whole table is the only domain. Rows with a missing value form a domain of their own, called
            "missing", or "(missing)" if that is a value.
        replicates : int, optional
            Replicates of the fit; 200 by default.
        confidence : float
            Confidence level of the intervals.
        method : {"auto", "replicates", "difference"}
            "replicates" needs the rows of a fit of this session. "auto" takes it, unless ``X`` or ``design_weight`` is
            given.
        X, y : array-like or data frame, optional
            All rows and their labels, as in ``fit``, if the classifier does not have the rows of its fit: after a fit
            to a sample of a large table, and from a model file or a pickle.
        design_weight : array-like of shape (n_rows,), optional
            If the labeled rows are a probability sample: how many rows each of them stands for, the inverse of its
            probability of being labeled. Other rows are not looked at. Totals are then estimated, too, if none are
            known. Without it, rows of a class count as labeled at random, and totals must be known.
        held_out : bool
            Whether no label in ``y`` took part in the fit of the tree, so that nothing has to be fitted again.
        replicate_weights : array-like or data frame of shape (n_rows, n_replicates), or column names of X, optional
            Replicate weights of a survey, which stand for drawing labeled rows: every column is one replicate. Those of
            unlabeled rows are not looked at; these rows are what the estimates are about. Where some row is in all
            replicates, 20 bootstrap replicates are added that only show mistakes on rows that were held out.
        replicate_scale : float, optional
            What the sum of squared differences from the fit is multiplied with to be a variance. By default 1 over the
            number of replicates, which is right for the bootstrap and balanced half samples; (R - 1) / R is for the
            jackknife of R groups, 4 / R for successive differences.
        n_jobs : int, optional
            Replicates to run at a time through joblib, on the configured backend; -1 for all cores.
        folder : path, optional
            Keeps every replicate as a file there. A run that was interrupted goes on where it ended.
        progress : callable, optional
            Is told how many replicates or folds are done, and of how many.
        **table : object
            What is known about ``X``, as in ``fit``: ``totals`` or ``population_totals``, ``domains``, ``as_shares``
            and ``sample_weight``.

        Returns
        -------
        Estimates
            One row for each domain and class; ``pandas.DataFrame(estimates)`` is a table of them.

        Examples
        --------
        >>> from s2oct import S2OCTClassifier
        >>> from s2oct.datasets import make_labour_force
        >>> survey = make_labour_force(n_people=150, n_labeled=40, seed=2)
        >>> clf = S2OCTClassifier(depth=1, random_state=0).fit(survey.X, survey.y, totals=survey.totals)
        >>> half = [number % 2 for number in range(len(survey.X))]
        >>> found = clf.estimate(by=half, replicates=5)
        >>> [row["domain"] for row in found]
        [0, 0, 1, 1]
        >>> all(row["low"] <= row["estimate"] <= row["high"] for row in found)
        True
        """
        asked, running = (replicates, replicate_weights, replicate_scale), (n_jobs, folder, progress)
        is_given = X is not None or y is not None or design_weight is not None
        if X is None:
            refuse_without_table(y, table, held_out=held_out)
        if read_method(method, asked, is_given=is_given) == REPLICATES:
            fit = self._fit_of_session()
            return estimate_domains(fit, self.tree_, self.alternatives_, by, asked, confidence, running)
        others: tuple[ObliqueTree, ...] = ()
        if X is None:
            fit, others = self._fit_of_session(), self.alternatives_
        else:
            fit = self._task_of(X, y, design_weight, table)
        weights = read_design_weights(design_weight, fit.known, len(fit.features))
        return estimate_by_difference(fit, self.tree_, others, by, weights, confidence, None if held_out else running)

    def _task_of(self, X: Any, y: Any, design_weight: Any, table: dict[str, Any]) -> FitTask:
        """A fit like that of this classifier to rows that it does not have any more."""
        check_is_fitted(self)
        rows = read_fit(self, X, y)
        return self._planned(self._features_of(X, rows), known_of_table(self, rows, X, y, table, design_weight))

    def _features_of(self, X: Any, rows: FittedRows) -> Features:
        """A table with the features of this classifier; further columns are left out."""
        if isinstance(X, Features):
            return X
        own = set(getattr(self, "feature_names_in_", ()))
        left_out = tuple(name for name in names_of_columns(X) if name not in own) if own else ()
        return Features(X, self.encoding_, rows.X, left_out)

    def assess(
        self,
        X: Any = None,
        y: Any = None,
        totals: Totals | None = None,
        population_totals: Totals | None = None,
        *,
        n_folds: int = N_FOLDS,
        stop: Stop | None = None,
        progress: Callable[[int, int], None] | None = None,
        **fit_params: Any,
    ) -> Assessment:
        """Expect how many unlabeled rows the tree classifies correctly, overall and by class.

        Labeled rows are divided into folds. For each fold, guide and tree are fitted again without its labels: its rows
        join the unlabeled ones. Recall comes from the held-out labels of each class, so a sample may have labels of one
        class more often than of another; the known totals say how the classes share the unlabeled rows. Standard errors
        and the interval count few labels, uncertain totals and how far the trees of the folds differ from the tree. The
        fits have a tenth of the labels less than the fit itself, and may be slightly worse. A label that is the only
        one of its class cannot be held out.

        Each fold takes about as long as the fit. Of a fit to a sample of the rows, the sample is assessed.

        Parameters
        ----------
        X, y : array-like, optional
            Rows and labels as in ``fit``, by default those of the fit. A classifier that was not fitted in this
            session, as one from a model file, needs them. It uses the columns of its fit, and no others.
        totals, population_totals : mapping, series or data frame, optional
            Known totals as in ``fit``, with ``X`` and ``y``.
        n_folds : int
            Number of folds, at least 2.
        stop : callable, optional
            Polled often. Once it returns True, `AssessmentStopped`, a KeyboardInterrupt, is raised.
        progress : callable, optional
            Is called with the number of folds that are done, and of all folds.
        **fit_params : object
            Further arguments of ``fit`` that go with ``X`` and ``y``: ``domains``, ``as_shares`` and ``sample_weight``.

        Returns
        -------
        Assessment
            Accuracy, recall and precision with standard errors, and what chance gives; printed, a table and sentences.

        Examples
        --------
        >>> from s2oct import S2OCTClassifier
        >>> from s2oct.datasets import make_labour_force
        >>> survey = make_labour_force(n_people=300, n_labeled=60, seed=1)
        >>> clf = S2OCTClassifier(depth=1, random_state=0).fit(survey.X, survey.y, totals=survey.totals)
        >>> found = clf.assess(n_folds=5)
        >>> found.interval[0] < found.accuracy < found.interval[1]
        True
        >>> [expected.label for expected in found.per_class]
        ['no', 'yes']
        """
        n_folds = whole_from(2).read("n_folds", n_folds)
        given = {"totals": totals, "population_totals": population_totals}
        table = {name: value for name, value in given.items() if value is not None} | fit_params
        refuse_strange(table)
        if X is not None:
            fit = self._task_to_assess(X, y, table, stop)
            return fit_folds(fit, self.tree_, n_folds, stop, progress).assessment
        refuse_without_table(y, table)
        return self._cross_fitted(n_folds, stop, progress).assessment

    def _task_to_assess(self, X: Any, y: Any, table: dict[str, Any], stop: Stop | None) -> FitTask:
        """A fit like that of this classifier to rows and labels, of which a large table has a sample."""
        check_is_fitted(self)
        if y is None:
            raise InvalidProblem("X without y: pass the labels, too, to hold some of them out.")
        began, rows = now(), read_fit(self, X, y)
        fit = self._planned(self._features_of(X, rows), known_to_fit(self, rows, X, y, table))
        known = self._with_estimates(fit.known, fit, began, stop)
        warn_of(known.doubts)
        fit = replace(fit, known=known)
        if is_large(fit.rows) and fit.weighs_evidence:
            register = Register.of_arrays(fit.rows, known, fit.budget.seed)
            fit = sample_of(fit, register)
            fit = replace(fit, evidence_spec=fit.evidence_spec.of_sample(register.share))
        return replace(fit, rows=np.asarray(fit.rows, dtype=float))

    def _cross_fitted(
        self, n_folds: int = N_FOLDS, stop: Stop | None = None, progress: Callable[[int, int], None] | None = None
    ) -> CrossFit:
        """The fits without some of the labels, which assessment, path, report and page share."""
        fit = self._fit_of_session(of_sample=True)
        if self._cross_fit is None or self._cross_fit.n_asked != n_folds:
            if self._source is None:
                self._cross_fit = fit_folds(fit, self.tree_, n_folds, stop, progress)
            else:
                source, n_terms = self._source
                found = source._cross_fitted(n_folds, stop, progress)
                self._cross_fit = found if n_terms is None else found.of_chosen(self.tree_, n_terms, stop or never)
        return self._cross_fit

    def _fit_of_session(self, *, of_sample: bool = False) -> FitTask:
        """The data of the fit, or of its sample if that will do; refuses a classifier that does not have them."""
        check_is_fitted(self)
        fit: FitTask | None = getattr(self, "_fit", None)
        if fit is not None and self.certificate_.n_register is not None and not of_sample:
            raise InvalidProblem(
                f"The fit saw a sample of {self.certificate_.n_sampled:,} of {self.certificate_.n_register:,} rows and "
                "did not keep the others: pass X, y and the totals to estimate, and fit fewer rows for other trees."
            )
        if fit is None:
            raise InvalidProblem(
                "Expected a classifier that was fitted in this session, got one without the rows of its fit: neither "
                "model files nor pickles keep them. Fit it again, or pass X, y and the totals to estimate or assess."
            )
        return fit

    def simplicity_path(
        self,
        *,
        assess: bool = True,
        stop: Stop | None = None,
        progress: Callable[[int, int], None] | None = None,
    ) -> SimplicityPath:
        """Fit trees from the simplest to the richest, assess each, and recommend one.

        The trees are fitted to the rows of the fit at several prices of a feature in a split. A tree is left out if a
        simpler one has no more evidence against it. All trees together have the time limit of one fit. Only a
        classifier that was fitted with a guide in this session has such a path: neither model files nor pickles keep
        the rows. Of a fit to a sample of the rows, the path is about the sample: its trees meet the totals of the
        sample.

        The accuracy of each tree comes from labels held out of guide and tree, as in `assess`. The simplest tree whose
        accuracy is within one standard error of the best is recommended, if it misses the totals by no more than the
        fitted tree and 2 % of the rows.

        Parameters
        ----------
        assess : bool
            Whether to assess the trees, which takes about twenty times as long as the fit. Without it there is no
            recommended tree, unless the trees have been assessed before.
        stop : callable, optional
            Polled often. Once it returns True, `AssessmentStopped`, a KeyboardInterrupt, is raised.
        progress : callable, optional
            Is called with the number of folds of the assessment that are done, and of all folds.

        Returns
        -------
        SimplicityPath
            Trees with their rules, numbers of terms and splits, expected accuracy, agreement with the guide, and the
            rows by which they miss the totals. Its attribute ``fitted`` is the tree of the fit, or the one that was
            chosen from the path, and ``recommended`` the recommended one.

        Examples
        --------
        >>> from s2oct import S2OCTClassifier
        >>> from s2oct.datasets import make_labour_force
        >>> survey = make_labour_force(n_people=200, n_labeled=30, seed=2)
        >>> clf = S2OCTClassifier(depth=2, random_state=0).fit(survey.X, survey.y, totals=survey.totals)
        >>> path = clf.simplicity_path()
        >>> path[0].n_terms < path[-1].n_terms, path[0].agreement < path[-1].agreement
        (True, True)
        >>> path.recommended.n_terms <= path[-1].n_terms
        True
        """
        if not self.has_simplicity_path:
            raise InvalidProblem(
                "Expected a classifier that was fitted with a guide in this session, got one without the rows of its "
                "fit or without a guide."
            )
        assert self._simplification is not None
        if self._source is not None:
            path = self._source[0].simplicity_path(assess=assess, stop=stop, progress=progress)
            own = next((step for step in path.with_fitted if step.tree is self.tree_), path.fitted)
            return SimplicityPath(path.with_fitted, own, path.recommended)
        if self._path is None:
            # A page and a report ask for the same path, which takes longer than the fit.
            self._path = self._simplification.path(self._rules_of, self._agreement_of, Deadline.after(self.time_limit))
        if assess and self._path.recommended is None and self.can_be_assessed:
            cross_fitted = self._cross_fitted(N_FOLDS, stop, progress)
            self._path = cross_fitted.assessed_path(self._path, stop or never)
        return self._path

    def _agreement_of(self, tree: ObliqueTree) -> float:
        """Share of the unlabeled rows on which a tree agrees with the guide, by their weights; NaN without any."""
        problem = self._fit_of_session(of_sample=True).guided_problem
        if problem.guide is None or not len(problem.unlabeled_size):
            return math.nan
        return 1 - float(
            np.average(problem.guide.is_against(tree.predict(problem.X_unlabeled)), weights=problem.unlabeled_size)
        )

    @property
    def can_be_assessed(self) -> bool:
        """Whether the rows of the fit are there, some class has two labels, and ten more fits are not too much.

        Path, report and page leave the assessment out otherwise. Somebody who stops a fit does not want ten more, and
        nobody expects a report to take ten times as long as a fit of `LONG_FIT` seconds. ``assess`` itself always runs.
        """
        check_is_fitted(self)
        fit: FitTask | None = getattr(self, "_fit", None)
        has_labels = fit is not None and int(fit.known.labels.counts().max(initial=0)) > 1
        is_quick = getattr(self, "_cross_fit", None) is not None or self.certificate_.seconds <= LONG_FIT
        return has_labels and is_quick and self.certificate_.ended != INTERRUPTED

    @property
    def has_simplicity_path(self) -> bool:
        """Whether the rows of the fit are still there, and a guide was asked about them."""
        check_is_fitted(self)
        return getattr(self, "_simplification", None) is not None

    def with_tree(self, step: SimplicityStep | ObliqueTree) -> S2OCTClassifier:
        """Choose another tree for the same rows: a simpler or richer one of the path, or an alternative.

        Parameters
        ----------
        step : SimplicityStep or ObliqueTree
            A step of `simplicity_path`, or one of ``alternatives_``.

        Returns
        -------
        S2OCTClassifier
            A fitted classifier with this tree, whose certificate is computed anew. It predicts, saves, reports and
            exports like any other. `assess` judges it by trees of the folds that are as simple. Its ``stability_`` is
            not known. This classifier stays as it is.

        Examples
        --------
        >>> from s2oct import S2OCTClassifier
        >>> from s2oct.datasets import make_labour_force
        >>> survey = make_labour_force(n_people=200, n_labeled=30, seed=2)
        >>> clf = S2OCTClassifier(depth=2, random_state=0).fit(survey.X, survey.y, totals=survey.totals)
        >>> simplest = clf.with_tree(clf.simplicity_path()[0])
        >>> simplest.certificate_.n_terms < clf.certificate_.n_terms
        True
        """
        fit, tree = self._fit_of_session(), step.tree if isinstance(step, SimplicityStep) else step
        if not isinstance(tree, ObliqueTree) or tree.n_features != self.tree_.n_features:
            raise InvalidProblem(f"Expected a step of simplicity_path() or an alternative tree, got {brief(step)}.")
        chosen = copy(self)
        bound = 0.0
        if isinstance(step, SimplicityStep) and step.term_price is not None:
            chosen.term_price, bound = step.term_price, step.evidence_bound
            fit = replace(fit, evidence_spec=replace(fit.evidence_spec, term_price=step.term_price))
        elif self.certificate_.evidence_bound is not None:
            bound = self.certificate_.evidence_bound
        chosen._fit, chosen.tree_, chosen.witness_ = fit, tree, tree
        chosen.resolved_params_ = fit.resolved(tree.topology.depth)
        chosen.certificate_ = certified_choice(fit, tree, self.certificate_, bound)
        chosen.alternatives_ = ()
        chosen.stability_ = np.full(int((~fit.known.is_labeled).sum()), np.nan)
        chosen.stability_note_ = "The stability of a tree that was chosen from others is not known."
        chosen._slope = chosen._fitted_slope(fit.problem)
        doubts = (*fit.features.doubts, *fit.known.doubts)
        chosen.notices_ = notices_of(doubts, chosen.certificate_, chosen.classes_)
        is_of_fit = isinstance(step, SimplicityStep) and step.term_price is None
        n_terms = step.n_terms if isinstance(step, SimplicityStep) else chosen.certificate_.n_terms
        chosen._source = (self._as_source(), None if is_of_fit else n_terms)
        chosen._simplification, chosen._path, chosen._cross_fit = self._simplification, None, None
        chosen._complete(fit, fit)
        return chosen

    def _as_source(self) -> S2OCTClassifier:
        """The classifier whose fit a chosen tree is from, which stays as it is if this one is fitted again."""
        if self._source is not None:
            return self._source[0]
        source = copy(self)
        for name in _OF_SESSION:
            setattr(source, name, getattr(self, name))
        return source

    def totals_path(
        self,
        X: Any,
        y: Any,
        totals: Any = None,
        population_totals: Any = None,
        *,
        of: Any,
        values: Sequence[float] | None = None,
        **fit_params: Any,
    ) -> TotalsPath:
        """Fit the tree at several values of one total, and say how many rows change class.

        Each value is a fit of its own with the same seed, which takes as long as any fit; this classifier itself stays
        as it is. The other classes share the remaining rows in proportion to their known totals. Every fit takes its
        totals as exact, also the one at the known total, with which the others are compared.

        Parameters
        ----------
        X : array-like or data frame of shape (n_rows, n_features)
            Labeled and unlabeled rows together.
        y : array-like of shape (n_rows,)
            Labels, with the markers for unlabeled rows.
        totals, population_totals : mapping, optional
            The known totals of the whole table, as in ``fit``.
        of : object
            The class whose total moves.
        values : sequence of float, optional
            Numbers of unlabeled rows of this class, or their weights. By default nine values: from two standard errors
            below an estimate to two above it, over the interval of bounds, or 20 % either way of an exact total.
        **fit_params : object
            Further arguments of ``fit``: ``as_shares``, ``sample_weight``, ``stop`` and ``listener``.

        Returns
        -------
        TotalsPath
            A sequence of steps, one for each value.

        Examples
        --------
        >>> from s2oct import S2OCTClassifier
        >>> X = [[1.0], [2.0], [8.0], [9.0], [1.5], [3.0], [4.0], [6.0], [7.0], [7.5]]
        >>> y = ["no", "no", "yes", "yes", None, None, None, None, None, None]
        >>> clf = S2OCTClassifier(depth=1, guide=None, solver=None, random_state=0)
        >>> path = clf.totals_path(X, y, totals={"yes": 3}, of="yes", values=[2, 3, 4])
        >>> [step.changed for step in path]
        [1.0, 0.0, 1.0]
        """
        known = read_known(
            X,
            y,
            totals,
            population_totals,
            domains=fit_params.get("domains"),
            as_shares=fit_params.pop("as_shares", False),
            sample_weight=fit_params.get("sample_weight"),
        )
        refuse_to_estimate(known, "totals_path")
        return fit_totals_path(self, X, y, known, of, values, fit_params)

    def __getstate__(self) -> dict[str, Any]:
        """Everything but the rows of the fit."""
        state: dict[str, Any] = super().__getstate__()
        return {name: None if name in _OF_SESSION else value for name, value in state.items()}

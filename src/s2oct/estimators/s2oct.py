"""The semi-supervised optimal classification tree as a scikit-learn classifier."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import expit, softmax
from sklearn.utils.validation import check_is_fitted

from s2oct.arrays import BoolArray, FloatArray, IntArray
from s2oct.errors import InvalidProblem
from s2oct.estimates.assessment import LONG_FIT, N_FOLDS, Assessment
from s2oct.estimates.cross_fit import CrossFit, fit_folds
from s2oct.estimates.difference import weighted_totals
from s2oct.estimates.domains import (
    estimate_by_difference,
    estimate_by_replicates,
    read_design_weights,
    read_method,
)
from s2oct.estimates.table import REPLICATES, Estimates
from s2oct.estimators.base import TreeClassifier, count_leaves
from s2oct.estimators.edge import edge_of, stop_or_ctrl_c, with_callbacks
from s2oct.estimators.fitted import known_of_rows, read_fit
from s2oct.estimators.totals_path import TotalsPath, fit_totals_path
from s2oct.evidence.evidence import AUTO_GUIDE_WEIGHT, AUTO_MOST, AUTO_TOTAL_PRICE, EvidenceSpec
from s2oct.fit.certificate import Certificate
from s2oct.fit.context import Listener
from s2oct.fit.register import Register
from s2oct.fit.simplicity import EvidenceFit, SimplicityPath, SimplicityStep
from s2oct.fit.training import FitTask, leaves_of
from s2oct.guides import SelfTrainedForest
from s2oct.guides.unknown_totals import ESTIMATING_SHARE, with_estimated_totals
from s2oct.p2.prepared import ModelSpec
from s2oct.p2.proof import INTERRUPTED
from s2oct.parameters import whole_from
from s2oct.problem.batches import is_large
from s2oct.problem.known import Known, names_of_columns, read_known, refuse_to_estimate, warn_of_doubts
from s2oct.problem.problem import Problem
from s2oct.problem.totals import Totals
from s2oct.stopping import Deadline, Stop, never, now
from s2oct.tables.encoding import Encoding, Features
from s2oct.tables.features import learn_features, read_rule_features, text_columns
from s2oct.trees.tree import ObliqueTree
from s2oct.wording import brief, listed, plural

_OF_TABLE = ("totals", "population_totals", "domains", "as_shares", "sample_weight")
"""Arguments of ``fit`` that describe a table passed to ``estimate`` or ``assess``."""


@dataclass(frozen=True, eq=False)
class Session:
    """What a classifier keeps of its fit in memory. Neither pickles nor model files have it, because it has the rows.

    Attributes
    ----------
    fit : FitTask
        The fit that was run, to all rows or to a sample.
    known : Known
        Labels, totals, domains and weights of all rows.
    evidence_fit : EvidenceFit or None
        The search for the tree, which can be repeated at other prices of a term; None without a guide.
    source : (S2OCTClassifier, int or None) or None
        For a chosen tree, the classifier that was fitted, and the tree's terms (None for those of the fitted tree).
    path : SimplicityPath or None
        The path, once it has been asked for.
    cross_fit : CrossFit or None
        The fits without some of the labels, once they have been asked for.
    """

    fit: FitTask
    known: Known
    evidence_fit: EvidenceFit | None
    source: tuple[S2OCTClassifier, int | None] | None = None
    path: SimplicityPath | None = None
    cross_fit: CrossFit | None = None


class S2OCTClassifier(TreeClassifier):
    """Fit a short decision tree to few labeled rows, many unlabeled rows and known class totals.

    The tree weighs evidence about the class of each row. The label of a labeled row is evidence. For an unlabeled row,
    the evidence comes from a *guide*: a classifier that knows the same totals and predicts class probabilities. The
    fitted tree contradicts as little evidence as possible, meets the totals as closely as possible, and has rules with
    few terms. With ``guide=None``, the paper's model P2 is fitted instead. It minimises the errors on the labeled rows
    plus C times the number of rows by which the tree misses the totals.

    Parameters
    ----------
    depth : int or "auto"
        Maximum number of splits between root and leaf. "auto" is the paper's rule: 2 below 1000 rows and 3 otherwise,
        or more if there are more classes than leaves.
    C : float
        Price of one row off the total in P2.
    guide : classifier, "auto" or None
        Predicts class probabilities of the unlabeled rows. "auto" is a `SelfTrainedForest`. Any other scikit-learn
        classifier with ``predict_proba`` is wrapped in a `TopTotalClassifier`, so that it meets the totals. A guide
        that takes longer than 80 % of the remaining time is ended; the fit then warns and continues without it.
        Compiled code inside a guide ends only when it returns to Python. None fits the paper's P2; among the cheapest
        trees found, one with few features is returned.
    guide_weight : float or "auto"
        Weight of an unlabeled row about which the guide is certain, relative to a labeled row; "auto" is 1/2. With 0,
        P2 is solved first, and the guide only chooses among its cheapest trees; if P2 is not solved in time, the tree
        is the cheapest one found. Without a guide, this has no effect.
    max_features_per_split : int, "auto" or None
        Maximum number of columns in one split. With 1, each split uses a single column, and the search continues until
        the tree is proved best or the time is up. "auto" allows one column, and two or three where they clearly pay.
        None means no limit. In P2 (``guide=None`` or ``guide_weight=0``), "auto" is no limit, and features are counted
        instead of columns.
    term_price : float or "auto"
        Minimum number of rows a term must save to be used in a rule; "auto" is 0.3 % of all rows, and at least 2.1. A
        term of a sum must save 1.3 times as much, and each further level in a set of levels a quarter. P2 has no such
        price.
    total_price : float or "auto"
        Price of one row off a total, in rows; "auto" is 1.5. ``float("inf")`` meets the totals at any price. In P2,
        ``C`` is this price.
    min_rows_per_leaf : int
        Minimum number of rows in a leaf, labeled and unlabeled. P2 has no such constraint, so values above 1 are
        refused with ``guide=None`` or ``guide_weight=0``. If a fit sees a sample of the rows, the minimum applies in
        proportion to the sample, and only roughly to all rows.
    features : list of str or of int, or None
        Names or numbers of the columns that rules may use; None for all. The guide still uses every column: drop a
        column from X to exclude it altogether. P2, its constants and its proofs refer to these columns only.
    categorical_features : "from_dtype", list of str or of int, mask, or None
        Columns that hold categories. "from_dtype" selects columns of text or of a categorical type; an ordered type
        keeps its order. Names, numbers or a mask select other columns, as in scikit-learn. With None, no column is
        categorical, and text is refused.
    coefficient_bound : float or "auto"
        The paper's s, the bound on every coefficient of P2 in model units; "auto" is the paper's rule. With a guide of
        positive weight, it only affects the length of ``witness_`` and whether ``witness_`` is feasible for P2.
    scaling : "paper" or None
        Whether to centre and rescale the features as in Sec. 4.1 of the paper.
    solver : {"highs", "scip", "gurobi"} or None
        The solver of P2, used only with ``guide=None`` or ``guide_weight=0``. With None, the search runs alone.
    time_limit : float
        Maximum wall-clock time of the whole fit, in seconds.
    n_jobs : int or None
        Number of threads; -1 for all cores.
    random_state : int, RandomState or None
        Seed of all random numbers.
    verbose : int
        1 prints every improvement to standard error.

    Attributes
    ----------
    tree_ : ObliqueTree
        The tree, in the units of the features, with short decimals that read as rules.
    witness_ : ObliqueTree
        The hyperplanes to which the certificate refers. They put every row of the fit into the same leaf as ``tree_``.
    rules_ : str
        The tree as text, with exactly the numbers that predict. Features without names are called x0, x1, ...
    certificate_ : Certificate
        Misclassified labels, rows off the totals, why the fit ended, and what is proved; recomputed from the tree.
    transduction_ : ndarray of shape (n_rows,)
        A label for every training row: the given label, or the tree's class for an unlabeled row.
    contradicted_ : ndarray of int
        Positions of the misclassified labeled rows.
    stability_ : ndarray of shape (n_unlabeled,)
        For each unlabeled row, in row order, the share of near-optimal trees that assign it to the same class. With a
        guide of positive weight, near-optimal trees cost at most 1 % of the rows more, including rows off the totals at
        their price. In P2, they are found independently, without the guide, and cost no more. `assess` estimates the
        accuracy on the rows where all of them agree. NaN if no such tree was found, in P2 or in a fit that was cut
        short.
    alternatives_ : tuple of ObliqueTree
        The distinct near-optimal trees, those from the best starts first. A classifier from a model file has none.
    stability_note_ : str
        Why ``stability_`` is unknown, or on how many trees it is based if fewer than five; empty otherwise.
    notices_ : tuple of str
        Messages about the fit; they are also issued as warnings.
    resolved_params_ : dict
        Values of the parameters that are "auto": depth, name and weight of the guide, maximum number of features per
        split, and the prices of a term and of a row off the totals, in rows.
    scaling_ : Scaling
        The map from the user's units to model units.
    data_summary_ : DataSummary
        Numbers of rows, totals and a hash of the training data.
    classes_ : ndarray of shape (n_classes,)
        The class labels, sorted.
    encoding_ : Encoding
        How the columns of a table become the features of the tree.
    n_features_in_ : int
        Number of columns of the table, without text columns used as domains.
    feature_names_in_ : ndarray of str
        Names of these columns, if the table has names.

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
    _session: Session | None = None

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

        In a table of more than 100,000 rows, the guide is fitted to a sample: all labeled rows and 50,000 others. It
        then predicts all rows, and the tree is the best one over all rows, either of depth 2 or below the first splits
        of the sample's tree. The certificate says what is proved. P2 always uses all rows.

        Parameters
        ----------
        X : array-like or data frame of shape (n_rows, n_features)
            Labeled and unlabeled rows together: numbers, or a pandas, polars or Arrow table that may also have text,
            categories, booleans and missing values.
        y : array-like of shape (n_rows,)
            Labels. NaN, None or NA marks an unlabeled row, and so does -1 where it cannot be a class.
        totals : mapping, series or data frame, optional
            Number of unlabeled rows of each class: a count, bounds ``(low, high)`` or an `Estimate`. One class may be
            omitted; it follows from the others. With ``domains``, a table with domains as rows and classes as columns,
            a mapping of domains to such mappings, or a long table; with several margins, a list of these.
            ``"estimate"`` in place of one total, of a domain's totals or of all totals estimates them from the
            unlabeled rows. This assumes that whether a row is labeled depends only on its class. Without any totals,
            those of the whole table are estimated, with a warning.
        population_totals : mapping, series or data frame, optional
            The same for all rows, including the labeled ones.
        domains : array-like of shape (n_rows,), column name of X, or list of these, optional
            The domain of each row, such as a region, if totals are known by domain; a list for several margins. A
            numeric column of X is also a feature; a text column is not.
        as_shares : bool
            Whether totals are shares of the rows instead of counts.
        sample_weight : array-like of shape (n_rows,), optional
            Survey weights. Errors on labeled rows are weighted, and totals are sums of the weights of unlabeled rows.
            Rows of weight 0 take no part in the fit.
        stop : callable, optional
            Polled often, from any thread. Once it returns True, the fit ends and keeps its best tree.
        listener : object, optional
            Receives stage, cost and bound updates; see `s2oct.fit.context.Listener`.

        Returns
        -------
        self
            The fitted classifier.
        """
        began = now()
        self._checked()
        left_out, is_register = text_columns(X, domains), is_large(X)
        features = learn_features(
            self,
            X,
            categorical=self.categorical_features,
            left_out=left_out,
            sample_weight=sample_weight,
            keep_single=is_register,
        )
        known = read_known(
            X, y, totals, population_totals, domains=domains, as_shares=as_shares, sample_weight=sample_weight
        )
        task = self._with_estimated_totals(self._task(features, known), began, stop)
        register = task.register()
        fitted = self._run(task, register, began, stop, listener)
        self._complete(task, fitted, register)
        warn_of_doubts(self.notices_)
        return self

    def _fit_register(
        self, register: Register, encoding: Encoding, stop: Stop | None = None, listener: Listener | None = None
    ) -> S2OCTClassifier:
        """Fit the tree to a register whose rows come in batches, so there is no ``transduction_``."""
        began = now()
        self._checked()
        features = learn_features(self, Features(register.rows, encoding, register.rows))
        fitted = self._run(self._task(features, register.known), register, began, stop, listener)
        self.contradicted_ = register.positions[register.known.is_labeled][self._is_contradicted(fitted)]
        self._leaf_counts = None
        return self

    def _task(self, features: Features, known: Known) -> FitTask:
        """Return the fit that the parameters specify, after checking them."""
        params, budget = self._checked(), self._budget()
        guide, weight, total_price = params["guide"], params["guide_weight"], params["total_price"]
        if isinstance(guide, str):
            guide = SelfTrainedForest(n_jobs=budget.n_jobs, random_state=budget.seed)
        is_auto = isinstance(self.max_features_per_split, str)
        return FitTask(
            features=features,
            rows=known.of_counted(features.rows),
            known=known,
            spec=self._spec(names_of_columns(features.table)),
            budget=budget,
            guide=guide,
            guide_weight=AUTO_GUIDE_WEIGHT if weight is None else weight,
            evidence_spec=EvidenceSpec(
                AUTO_MOST if is_auto else params["max_features_per_split"],
                params["term_price"],
                AUTO_TOTAL_PRICE if total_price is None else total_price,
                params["min_rows_per_leaf"],
            ),
        )

    def _spec(self, names: Sequence[Any] = ()) -> ModelSpec:
        """Return the model that the parameters specify; ``names`` are the column names, by default those of the fit."""
        params, names = self._checked(), names or list(getattr(self, "feature_names_in_", ()))
        return ModelSpec(
            depth=params["depth"],
            C=params["C"],
            coefficient_bound=params["coefficient_bound"],
            scaled=params["scaling"] == "paper",
            max_features_per_split=params["max_features_per_split"],
            features=read_rule_features(params["features"], self.encoding_, names),
        )

    def _with_estimated_totals(self, task: FitTask, began: float, stop: Stop | None) -> FitTask:
        """Return the task with estimates in place of totals that are to be estimated."""
        if not task.known.needs_estimates:
            return task
        deadline = Deadline(began + ESTIMATING_SHARE * task.budget.time_limit, stop or never)
        return replace(task, known=with_estimated_totals(task.known, task.rows, task.budget.seed, deadline))

    def _run(
        self, task: FitTask, register: Register | None, began: float, stop: Stop | None, listener: Listener | None
    ) -> FitTask:
        """Run a fit, on a sample if there is a register, keep the tree, and return the task that was run."""
        to_run = task.in_memory(None) if register is None else task.on_sample(register)
        with edge_of(self, stop, listener) as edge:
            trained, fitted, summary = to_run.run(began, register, edge.stop, edge.listener)
        edge.require_result(trained.certificate)
        self._session, self.classes_ = Session(fitted, task.known, trained.evidence_fit), fitted.known.classes
        self.tree_, self.witness_, self.scaling_ = trained.tree, trained.witness, trained.scaling
        self.certificate_, self.data_summary_ = trained.certificate, summary
        self.alternatives_, self.stability_, self.stability_note_ = (
            trained.others,
            trained.stability,
            trained.stability_note,
        )
        share = 1.0 if register is None else register.share
        self.resolved_params_ = fitted.resolved(self.tree_.topology.depth, share)
        self._slope = self._fitted_slope(fitted.problem)
        doubts = (*task.features.doubts, *(fitted.known.doubts if register is None else register.doubts))
        self._set_notices((*doubts, *trained.notices))
        if register is not None and not np.isnan(self.stability_).all():
            of_sample = plural(len(self.stability_), "unlabeled row")
            note = f"The stability is known for the {of_sample} of the sample only. {self.stability_note_}"
            self.stability_note_ = note.strip()
        return fitted

    def _complete(self, task: FitTask, fitted: FitTask, register: Register | None = None) -> None:
        """Classify every row of the table with the tree, which was fitted to all rows or to a sample."""
        known, unlabeled = task.known, ~task.known.is_labeled
        leaf = leaves_of(self.tree_, task.rows)
        self._leaf_counts = count_leaves(self.tree_, leaf, known.labels.codes, len(known.classes))
        positions = np.arange(len(task.rows)) if register is None else register.positions
        contradicted = positions[fitted.known.is_labeled][self._is_contradicted(fitted)]
        if register is not None:
            stability = np.full(len(task.rows), np.nan)
            stability[positions[~fitted.known.is_labeled]] = self.stability_
            self.stability_ = stability[unlabeled]
        classes = self.tree_.leaf_classes[leaf[unlabeled] - self.tree_.topology.n_leaves]
        all_rows = task.features.rows
        self.transduction_ = known.completed(
            known.labels.completed(classes),
            lambda rows: np.asarray(self.classes_[self.tree_.predict(all_rows[rows])]),
        )
        self._uncounted_classes = known.uncounted_classes
        self.contradicted_ = known.counted[contradicted]
        self.stability_ = known.of_unlabeled(self.stability_)

    def _is_contradicted(self, task: FitTask) -> BoolArray:
        """Whether the tree misclassifies each labeled row."""
        labeled = task.known.is_labeled
        return np.asarray(self.tree_.predict(task.rows[labeled]) != task.known.labels.codes[labeled])

    def _fitted_slope(self, problem: Problem) -> float:
        """Return the slope for which probabilities add up to the totals of the rows of the fit."""
        rows_off = self.certificate_.xi / problem.unit
        if self.certificate_.n_register is not None:
            # The tree meets the totals of all rows, not those of the sample.
            rows_off = problem.targets.rows_off(self.tree_.predict(problem.X_unlabeled), problem.unlabeled_size)
        margins = margins_of(self.tree_, self.witness_, problem.X_unlabeled, len(self.classes_))
        return slope_for(margins, problem.unlabeled_size, problem.totals, rows_off)

    def decision_function(self, X: Any) -> FloatArray:
        """Return the signed margin along each row's path: positive for ``classes_[1]``, negative for ``classes_[0]``.

        Its size is the minimum of ``|omega . x - gamma|`` over the hyperplanes of ``witness_`` on the row's path. If
        the fit is feasible for P2, it is at least 1 for unlabeled rows of the fit. With more than two classes, there is
        one column per class: minus the distance the row would have to move to end in a leaf of the class, and for its
        own class the distance to a leaf of another class.

        Parameters
        ----------
        X : array-like or data frame of shape (n_rows, n_features)
            Rows with the features of the fit.

        Returns
        -------
        ndarray of shape (n_rows,) or (n_rows, n_classes)
            Signed margins.
        """
        rows = self._rows(X)
        return margins_of(self.tree_, self.witness_, rows, len(self.classes_))

    def predict_proba(self, X: Any) -> FloatArray:
        """Return class probabilities: a logistic function of the signed margin.

        Its slope is 1, 2, 4, ... divided by the median margin: the smallest for which the probabilities of the
        unlabeled rows of the fit add up to the known total within half a row (plus the rows by which the tree itself
        misses the total). The probabilities agree with `predict`. They only measure how far a row is from the nearest
        split, and are not calibrated on held-out labels. With more than two classes, they decrease with the distance of
        the row from the leaves of each class.

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

        Labels completed by a tree look more certain than they are. The method "replicates" therefore repeats the whole
        fit: it redraws labeled rows within their classes, redraws uncertain totals, and fits guide and tree again.
        Labeled rows that a replicate did not draw show how often tree and guide are wrong; the counts are corrected for
        this. The standard error has three parts: the spread of the replicates, chance in the classes of single rows,
        and effects of a domain that the features do not show.

        The method "difference" needs ten fits instead of 200. Each holds out a tenth of the labels and uses at most
        5,000 unlabeled rows. The predictions of all rows are added up and corrected by the errors on held-out labels;
        the standard error is a formula. It also works for large tables and for trees from model files, if the rows are
        passed as ``X`` and ``y``.

        Parameters
        ----------
        by : array-like of shape (n_rows,), column name of X, or list of these, optional
            The domain of each labeled or unlabeled row of the fit, or of ``X``; a list for several divisions. By
            default, the whole table is one domain. Rows with a missing value form a domain of their own, called
            "missing", or "(missing)" if that is a value.
        replicates : int, optional
            Number of replicates; 200 by default.
        confidence : float
            Confidence level of the intervals.
        method : {"auto", "replicates", "difference"}
            "replicates" needs the rows of a fit of this session. "auto" uses it unless ``X`` or ``design_weight`` is
            given.
        X, y : array-like or data frame, optional
            All rows and their labels, as in ``fit``, if the classifier does not have the rows of its fit: after a fit
            to a sample of a large table, or if it comes from a model file or a pickle.
        design_weight : array-like of shape (n_rows,), optional
            If the labeled rows are a probability sample: the number of rows that each of them represents, the inverse
            of its probability of being labeled. Values of unlabeled rows are ignored. If no totals are known, they are
            estimated as well. Without design weights, rows of a class are taken to be labeled at random, and totals
            must be known.
        held_out : bool
            Whether no label in ``y`` took part in the fit of the tree, so that no further fit is needed.
        replicate_weights : array-like or data frame of shape (n_rows, n_replicates), or column names of X, optional
            Replicate weights of a survey, used instead of drawing labeled rows; each column is one replicate. Values of
            unlabeled rows are ignored, because the estimates are about these rows. If some row is in all replicates, 20
            bootstrap replicates are added, only to show mistakes on rows they left out.
        replicate_scale : float, optional
            Factor that turns the sum of squared differences from the fit into a variance. The default, 1 over the
            number of replicates, is right for the bootstrap and for balanced repeated replication; use (R - 1) / R for
            the jackknife with R groups, and 4 / R for successive differences.
        n_jobs : int, optional
            Number of replicates to run at a time through joblib, on the configured backend; -1 for all cores.
        folder : path, optional
            Folder that keeps every replicate as a file, so that an interrupted run can continue.
        progress : callable, optional
            Called with the number of finished replicates or folds, and their total number.
        **table : object
            Known facts about ``X``, as in ``fit``: ``totals`` or ``population_totals``, ``domains``, ``as_shares`` and
            ``sample_weight``.

        Returns
        -------
        Estimates
            One row per domain and class; ``pandas.DataFrame(estimates)`` makes a table of them.

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
        design = {
            "replicates": replicates,
            "replicate_weights": replicate_weights,
            "replicate_scale": replicate_scale,
        }
        running = (n_jobs, folder, progress)
        others: tuple[ObliqueTree, ...] = ()
        if X is None:
            _refuse_without_table(y, table, held_out=held_out)
        is_given = X is not None or y is not None or design_weight is not None
        method = read_method(method, design, is_given=is_given)
        if X is None:
            task, others = self._require_session().fit, self.alternatives_
        else:
            task = self._task_to_estimate(X, y, design_weight, table)
        if method == REPLICATES:
            return estimate_by_replicates(task, self.tree_, others, by, confidence, running, **design)
        weights = read_design_weights(design_weight, task.known, len(task.features))
        return estimate_by_difference(task, self.tree_, others, by, weights, confidence, None if held_out else running)

    def _task_to_estimate(self, X: Any, y: Any, design_weight: Any, table: dict[str, Any]) -> FitTask:
        """Return a fit with these parameters to a table passed to ``estimate``."""
        _refuse_other_arguments(table)
        task = self._task_of(X, y, table)
        known = task.known
        if not known.is_labeled.any():
            raise InvalidProblem("y has no labeled rows: label some, because estimates are corrected by labels.")
        if known.stated.tables:
            return task
        weights = read_design_weights(design_weight, known, len(task.features))
        if weights is None:
            raise InvalidProblem(
                "No totals are known: pass totals or population_totals, or design_weight if the labeled rows are a "
                "probability sample."
            )
        return replace(task, known=replace(known, targets=weighted_totals(known, weights)))

    def _task_of(self, X: Any, y: Any, table: dict[str, Any], *, to_fit: bool = False) -> FitTask:
        """Return a fit with these parameters to other rows, without columns that this fit did not use."""
        check_is_fitted(self)
        rows = read_fit(self, X, y)
        known = known_of_rows(self, rows, X, y, **table, to_fit=to_fit)
        if isinstance(X, Features):
            return self._task(X, known)
        own = set(getattr(self, "feature_names_in_", ()))
        left_out = tuple(name for name in names_of_columns(X) if name not in own) if own else ()
        return self._task(Features(X, self.encoding_, rows.X, left_out), known)

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
        """Estimate how many unlabeled rows the tree classifies correctly, overall and by class.

        The labeled rows are divided into folds. For each fold, guide and tree are fitted again without its labels; its
        rows join the unlabeled ones. The held-out labels of each class give its recall, so classes may be labeled at
        different rates; the known totals weight the classes by their shares of the unlabeled rows. Standard errors and
        the interval account for few labels, uncertain totals and differences between the trees of the folds and the
        tree. With ten folds, each fit has a tenth fewer labels than the fit itself, and may be slightly worse. The only
        label of a class cannot be held out.

        Each fold takes about as long as the fit. If the fit used a sample of the rows, the sample is assessed.

        Parameters
        ----------
        X, y : array-like, optional
            Rows and labels as in ``fit``, by default those of the fit. They are required if the classifier was not
            fitted in this session, for example if it comes from a model file. Only the columns of the fit are used.
        totals, population_totals : mapping, series or data frame, optional
            Known totals as in ``fit``, with ``X`` and ``y``.
        n_folds : int
            Number of folds, at least 2.
        stop : callable, optional
            Polled often. Once it returns True, `AssessmentStopped`, a KeyboardInterrupt, is raised.
        progress : callable, optional
            Called with the number of finished folds, and their total number.
        **fit_params : object
            Further arguments of ``fit`` that go with ``X`` and ``y``: ``domains``, ``as_shares`` and ``sample_weight``.

        Returns
        -------
        Assessment
            Accuracy, recall and precision with standard errors, and the accuracy of chance; prints as a table.

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
        _refuse_other_arguments(table)
        if X is None:
            _refuse_without_table(y, table)
            return self._cross_fitted(n_folds, stop, progress).assessment
        check_is_fitted(self)
        if y is None:
            raise InvalidProblem("X without y: pass the labels, too, to hold some of them out.")
        began = now()
        task = self._with_estimated_totals(self._task_of(X, y, table, to_fit=True), began, stop)
        warn_of_doubts(task.known.doubts)
        task = task.in_memory(task.register())
        with stop_or_ctrl_c(stop) as stopped:
            return fit_folds(task, self.tree_, n_folds, stopped, progress).assessment

    def _cross_fitted(
        self, n_folds: int = N_FOLDS, stop: Stop | None = None, progress: Callable[[int, int], None] | None = None
    ) -> CrossFit:
        """Return the fits without some of the labels, which assessment, path, report and page share."""
        session = self._require_session(of_sample=True)
        found = session.cross_fit
        if found is not None and found.n_asked == n_folds:
            return found
        if session.source is None:
            with stop_or_ctrl_c(stop) as stopped:
                found = fit_folds(session.fit, self.tree_, n_folds, stopped, progress)
        else:
            source, n_terms = session.source
            found = source._cross_fitted(n_folds, stop, progress)
            found = found if n_terms is None else found.of_chosen(self.tree_, n_terms, stop or never)
        self._session = replace(session, cross_fit=found)
        return found

    def _require_session(self, *, of_sample: bool = False) -> Session:
        """Return the session; refuse a classifier without the rows of its fit, or with only a sample of them."""
        check_is_fitted(self)
        if self._session is not None and self.certificate_.n_register is not None and not of_sample:
            raise InvalidProblem(
                f"The fit saw a sample of {self.certificate_.n_sampled:,} of {self.certificate_.n_register:,} rows and "
                "did not keep the others: pass X, y and the totals to estimate, and fit fewer rows for other trees."
            )
        if self._session is None:
            raise InvalidProblem(
                "The classifier was not fitted in this session, and neither model files nor pickles keep the rows of a "
                "fit: fit it again, or pass X, y and the totals to estimate or assess."
            )
        return self._session

    def simplicity_path(
        self,
        *,
        assess: bool = True,
        stop: Stop | None = None,
        progress: Callable[[int, int], None] | None = None,
    ) -> SimplicityPath:
        """Fit trees from the simplest to the richest, assess each, and recommend one.

        The trees are fitted to the rows of the fit at several prices of a term. A tree is omitted if a simpler one has
        no more evidence against it. All trees together have the time limit of one fit. The classifier must have been
        fitted with a guide in this session: neither model files nor pickles keep the rows. If the fit used a sample of
        the rows, the path is about the sample, and its trees meet the totals of the sample.

        The accuracy of each tree is estimated from labels held out of guide and tree, as in `assess`. The simplest tree
        within one standard error of the most accurate is recommended, provided that it misses the totals by at most 2 %
        of the rows more than the fitted tree.

        Parameters
        ----------
        assess : bool
            Whether to assess the trees, which takes about twenty times as long as the fit. If False, no tree is
            recommended unless the trees have been assessed before.
        stop : callable, optional
            Polled often. Once it returns True, `AssessmentStopped`, a KeyboardInterrupt, is raised.
        progress : callable, optional
            Called with the number of finished folds of the assessment, and their total number.

        Returns
        -------
        SimplicityPath
            Trees with their rules, numbers of terms and splits, expected accuracy, agreement with the guide, and rows
            off the totals. Its attribute ``fitted`` is the tree of the fit, or the one chosen from the path, and
            ``recommended`` is the recommended tree.

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
                "The classifier has no simplicity path, because it does not have the rows of its fit or was fitted "
                "without a guide: fit it with a guide in this session."
            )
        session = self._require_session(of_sample=True)
        assert session.evidence_fit is not None
        if session.source is not None:
            found = session.source[0].simplicity_path(assess=assess, stop=stop, progress=progress)
            own = next((step for step in found.with_fitted if step.tree is self.tree_), found.fitted)
            return SimplicityPath(found.with_fitted, own, found.recommended)
        path = session.path
        if path is None:
            path = session.evidence_fit.path(self._rules_of, self._agreement_of, Deadline.after(self.time_limit))
            # A page and a report use the same path, which takes longer than the fit.
            self._session = replace(session, path=path)
        if assess and path.recommended is None and self.can_be_assessed:
            path = self._cross_fitted(N_FOLDS, stop, progress).assessed_path(path, stop or never)
            self._session = replace(self._require_session(of_sample=True), path=path)
        return path

    def _agreement_of(self, tree: ObliqueTree) -> float:
        """Return the weighted share of unlabeled rows on which a tree agrees with the guide; NaN without any."""
        problem = self._require_session(of_sample=True).fit.guided_problem
        if problem.guide is None or not len(problem.unlabeled_size):
            return math.nan
        return 1 - float(
            np.average(problem.guide.is_against(tree.predict(problem.X_unlabeled)), weights=problem.unlabeled_size)
        )

    @property
    def can_be_assessed(self) -> bool:
        """Whether path, report and page assess the tree; ``assess`` itself always runs.

        The rows of the fit must be available, and some class must have two labels. An interrupted fit is not assessed,
        nor is one of more than 20 seconds unless it has been assessed before.
        """
        check_is_fitted(self)
        if self._session is None:
            return False
        has_labels = int(self._session.fit.known.labels.counts().max(initial=0)) > 1
        is_quick = self._session.cross_fit is not None or self.certificate_.seconds <= LONG_FIT
        return has_labels and is_quick and self.certificate_.ended != INTERRUPTED

    @property
    def has_simplicity_path(self) -> bool:
        """Whether the rows of the fit and the guide's predictions for them are available."""
        check_is_fitted(self)
        return self._session is not None and self._session.evidence_fit is not None

    def with_tree(self, step: SimplicityStep | ObliqueTree) -> S2OCTClassifier:
        """Choose another tree for the same rows: a simpler or richer one of the path, or an alternative.

        Parameters
        ----------
        step : SimplicityStep or ObliqueTree
            A step of `simplicity_path`, or one of ``alternatives_``.

        Returns
        -------
        S2OCTClassifier
            A fitted classifier with this tree and a recomputed certificate. It predicts, saves, reports and exports
            like any other. `assess` uses equally simple trees of the folds. Its ``stability_`` is unknown. This
            classifier is not changed.

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
        session = self._require_session()
        task = session.fit
        tree = step.tree if isinstance(step, SimplicityStep) else step
        if not isinstance(tree, ObliqueTree) or tree.n_features != self.tree_.n_features:
            raise InvalidProblem(f"Expected a step of simplicity_path() or an alternative tree, got {brief(step)}.")
        chosen = copy(self)
        bound = self.certificate_.evidence_bound or 0.0
        if isinstance(step, SimplicityStep) and step.term_price is not None:
            chosen.term_price, bound = step.term_price, step.evidence_bound
            task = replace(task, evidence_spec=replace(task.evidence_spec, term_price=step.term_price))
        chosen.tree_, chosen.witness_ = tree, tree
        chosen.resolved_params_ = task.resolved(tree.topology.depth)
        chosen.certificate_ = task.certify(tree, self.certificate_, bound)
        chosen.alternatives_ = ()
        chosen.stability_ = np.full(int((~task.known.is_labeled).sum()), np.nan)
        chosen.stability_note_ = "The stability of a tree that was chosen from others is not known."
        chosen._slope = chosen._fitted_slope(task.problem)
        chosen._set_notices((*task.features.doubts, *task.known.doubts))
        is_of_fit = isinstance(step, SimplicityStep) and step.term_price is None
        n_terms = step.n_terms if isinstance(step, SimplicityStep) else chosen.certificate_.n_terms
        if session.source is None:
            # A copy of the fitted classifier survives another fit of this one.
            fitted = copy(self)
            fitted._session = session
        else:
            fitted = session.source[0]
        source = fitted, None if is_of_fit else n_terms
        chosen._session = Session(task, session.known, session.evidence_fit, source)
        chosen._complete(task, task)
        return chosen

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
        """Fit the tree at several values of one total, and count the rows that change class.

        Each value needs a complete fit, with the same seed; this classifier is not changed. The other classes share the
        remaining rows in proportion to their known totals. Every fit treats its totals as exact, including the one at
        the known total, with which the others are compared.

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
            Numbers of unlabeled rows of this class, or their weights. The default is nine values: up to two standard
            errors on either side of an estimate, between the bounds, or up to 20 % on either side of an exact total.
        **fit_params : object
            Further arguments of ``fit``: ``as_shares``, ``sample_weight``, ``stop`` and ``listener``.

        Returns
        -------
        TotalsPath
            A sequence of steps, one per value.

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
        """Return everything except the rows of the fit."""
        state: dict[str, Any] = super().__getstate__()
        return {**state, "_session": None}


def _refuse_without_table(y: Any, table: dict[str, Any], *, held_out: bool = False) -> None:
    """Refuse arguments about a table if none is passed."""
    given = [*(["y"] if y is not None else []), *table, *(["held_out"] if held_out else [])]
    if given:
        raise InvalidProblem(f"{listed(given)} without X: pass the table as X and y, too, or nothing about it.")


def _refuse_other_arguments(table: dict[str, Any]) -> None:
    """Refuse arguments that are not about a table."""
    others = [name for name in table if name not in _OF_TABLE]
    if others:
        raise InvalidProblem(f"Unknown argument {brief(others[0])}: a table has {listed(_OF_TABLE)}.")


_CERTAIN = 64.0
"""Product of margin and slope at which a probability rounds to 0 or 1."""

_NEAREST = 1e-9
"""Distance below which a row counts as on a split: its probability is about one half for any slope."""


def margins_of(tree: ObliqueTree, witness: ObliqueTree, rows: FloatArray, n_classes: int) -> FloatArray:
    """Return signed margins of rows along their paths: of the second of two classes, or of every class."""
    # A row on a hyperplane has margin 0; the smallest positive number keeps it on the side of its class.
    tiny = np.finfo(float).tiny
    if n_classes == 2:
        margin = np.maximum(witness.path_margin(rows), tiny)
        return np.where(tree.predict(rows) == 1, margin, -margin)
    own = tree.predict(rows)[:, None] == np.arange(n_classes)
    far = np.maximum(_class_distances(witness, rows, n_classes), tiny)
    nearest_other = np.where(own, np.inf, far).min(axis=1, keepdims=True)
    return np.where(own, nearest_other, -far)


def _class_distances(tree: ObliqueTree, rows: FloatArray, n_classes: int) -> FloatArray:
    """Return the distance of each row from the leaves of each class, shape (n_rows, n_classes).

    It is 0 for the row's own class, and infinite for a class without a leaf.
    """
    topology, values = tree.topology, tree.values(rows)
    values[:, ~tree.omega.any(axis=1)] *= np.inf  # nothing moves a row across a node that does not split
    found = np.full((len(rows), n_classes), np.inf)
    for nodes, sides, k in zip(topology.path_nodes, topology.path_sides, tree.leaf_classes, strict=True):
        wrong = np.where(sides == 1, -values[:, nodes], values[:, nodes])
        found[:, k] = np.minimum(found[:, k], np.maximum(wrong, 0.0).max(axis=1))
    return found


def probabilities_of(margins: FloatArray, slope: float) -> FloatArray:
    """Return probabilities of all classes from signed margins."""
    if margins.ndim == 1:
        second = expit(margins * slope)
        return np.column_stack([1 - second, second])
    # The distance to the row's own class is 0. Infinities are clipped, because their difference would be NaN.
    away = np.minimum(np.maximum(-margins, 0.0) * slope, 1e6)
    return np.asarray(softmax(-away, axis=1))


def slope_for(margins: FloatArray, sizes: FloatArray, totals: FloatArray, xi: float) -> float:
    """Return the smallest of 1, 2, 4, ... over the median margin for which probabilities nearly add up to the totals.

    Parameters
    ----------
    margins : ndarray of shape (m,) or (m, n_classes)
        Signed margins of the unlabeled rows.
    sizes : ndarray of shape (m,)
        Weights of these rows.
    totals : ndarray of shape (n_classes,)
        Their totals.
    xi : float
        Rows by which the tree misses the totals.
    """
    if not len(margins):
        return 1.0
    own = (margins > 0).astype(int) if margins.ndim == 1 else margins.argmax(axis=1)
    distances = np.abs(margins if margins.ndim == 1 else margins.max(axis=1))
    # In a tree without splits, every row is infinitely far from the other classes.
    finite = distances[np.isfinite(distances)]
    slope = 1.0 / max(float(np.median(finite)), 1.0) if len(finite) else 1.0
    steepest = _CERTAIN / max(float(finite.min()), _NEAREST) if len(finite) else 1.0
    assigned = np.bincount(own, weights=sizes, minlength=len(totals))
    # If only bounds are known, a tree that respects them may be far from their middle.
    off = np.maximum(np.abs(assigned - totals), xi)
    while slope < steepest and (np.abs(sizes @ probabilities_of(margins, slope) - totals) > off + 0.5).any():
        slope *= 2
    return min(slope, steepest)

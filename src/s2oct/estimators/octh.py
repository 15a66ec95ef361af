"""OCT-H, the supervised baseline, as a scikit-learn classifier."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from s2oct.arrays import FloatArray
from s2oct.errors import InvalidProblem
from s2oct.estimators.base import TreeClassifier, count_leaves
from s2oct.estimators.edge import edge_of, with_callbacks
from s2oct.fit.certificate import OCTHCertificate
from s2oct.fit.context import Listener
from s2oct.fit.octh import train_octh
from s2oct.guides.asking import chance_of_rows
from s2oct.p2.octh_milp import OcthSpec
from s2oct.problem.known import warn_of_column, warn_of_doubts
from s2oct.problem.labels import read_labels
from s2oct.problem.problem import DataSummary, Problem
from s2oct.problem.totals import Targets
from s2oct.stopping import Stop, now
from s2oct.tables.features import learn_features
from s2oct.wording import brief

MIN_LEAF_SHARE = 0.05
"""The paper's minimum leaf size: 5 % of the labeled rows."""


class OCTHClassifier(TreeClassifier):
    """The optimal classification tree with hyperplane splits of Bertsimas and Dunn, fitted to the labeled rows.

    The search starts from CART with the same depth and minimum leaf size. The certificate says which bound proved the
    tree: counting, small parts of the rows, or the solver.

    Unlabeled rows, marked as for `S2OCTClassifier`, are only used to scale the features to [0, 1].

    Parameters
    ----------
    depth : int or "auto"
        Number of hyperplanes between root and leaf; "auto" is the paper's rule, 2 below 1000 rows and 3 otherwise.
    min_leaf : int or "auto"
        Minimum number of labeled rows in a nonempty leaf; "auto" is 5 % of them, rounded up.
    complexity : float
        Price of each nonzero coefficient in a split.
    mu : float
        Width of the gap between the two sides of a split, in scaled features. If labeled rows are dense, a smaller gap
        allows more splits.
    categorical_features : "from_dtype", list of str or of int, mask, or None
        Columns that hold categories, as in `S2OCTClassifier`.
    solver : {"highs", "scip", "gurobi"} or None
        The solver of the MILP; with None, the search runs alone.
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
        The tree, in the units of the features.
    rules_ : str
        The tree as text, with exactly the numbers that predict. Features without names are called x0, x1, ...
    certificate_ : OCTHCertificate
        Cost, bound and what is proved, recomputed from the tree.
    notices_ : tuple of str
        Messages about the fit; they are also issued as warnings.
    scaling_ : Scaling
        The map from the user's units to model units.
    data_summary_ : DataSummary
        Numbers of rows, totals and a hash of the training data.
    classes_ : ndarray of shape (n_classes,)
        The class labels, sorted.

    Examples
    --------
    >>> from s2oct import OCTHClassifier
    >>> X = [[0, 0], [0, 1], [1, 0], [1, 1]]
    >>> clf = OCTHClassifier(depth=2, random_state=0).fit(X, ["no", "yes", "yes", "no"])
    >>> clf.predict(X).tolist()
    ['no', 'yes', 'yes', 'no']
    """

    certificate_: OCTHCertificate

    def __init__(
        self,
        depth: int | str = "auto",
        min_leaf: int | str = "auto",
        complexity: float = 0.0,
        mu: float = 0.005,
        categorical_features: Any = "from_dtype",
        solver: str | None = "highs",
        time_limit: float = 60.0,
        n_jobs: int | None = 1,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.depth = depth
        self.min_leaf = min_leaf
        self.complexity = complexity
        self.mu = mu
        self.categorical_features = categorical_features
        self.solver = solver
        self.time_limit = time_limit
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    @with_callbacks
    def fit(self, X: Any, y: Any, *, stop: Stop | None = None, listener: Listener | None = None) -> OCTHClassifier:
        """Fit the tree to the labeled rows.

        Parameters
        ----------
        X : array-like or data frame of shape (n_rows, n_features)
            Labeled and possibly unlabeled rows, in any form that `S2OCTClassifier` accepts.
        y : array-like of shape (n_rows,)
            Labels, with the markers for unlabeled rows of `S2OCTClassifier`.
        stop : callable, optional
            Polled often. Once it returns True, the fit ends and keeps its best tree.
        listener : object, optional
            Receives stage, cost and bound updates; see `s2oct.fit.context.Listener`.

        Returns
        -------
        self
            The fitted classifier.
        """
        began = now()
        params, budget = self._checked(), self._budget()
        features = learn_features(self, X, categorical=self.categorical_features)
        rows = features.rows
        warn_of_column(y)
        labels = read_labels(y, n_rows=len(rows))
        if len(labels.classes) < 2:
            only = labels.classes.tolist()[0]
            raise InvalidProblem(f"All labels are of one class, {only!r}: a tree needs labels of at least two classes.")
        no_totals = Targets.exact(np.zeros(len(labels.classes)), int((~labels.is_labeled).sum()))
        problem = Problem.from_labels(rows, labels, no_totals, feature_names=self.encoding_.described)
        spec = _octh_spec(params, problem.n_labeled)
        with edge_of(self, stop, listener) as edge:
            chance = chance_of_rows(problem.X_labeled, problem.labels, budget.seed, budget.for_checks(edge.stop))
            spent = now() - began
            trained = train_octh(
                problem, spec, budget, depth=params["depth"], stop=edge.stop, listener=edge.listener, spent=spent
            )
        edge.require_result(trained.certificate)
        self.tree_ = self.witness_ = trained.tree
        self.certificate_ = replace(trained.certificate, chance=chance)
        self.scaling_, self.data_summary_ = trained.scaling, DataSummary.of(problem)
        self.classes_ = labels.classes
        leaf = self.tree_.apply(rows)
        self._leaf_counts = count_leaves(self.tree_, leaf, labels.codes, len(labels.classes))
        labeled = self._leaf_counts[:, :-1].astype(float)
        is_empty = labeled.sum(axis=1) == 0
        labeled[is_empty, self.tree_.leaf_classes[is_empty]] = 1.0
        self._leaf_shares = labeled / labeled.sum(axis=1, keepdims=True)
        self._set_notices((*features.doubts, *trained.notices))
        warn_of_doubts(self.notices_)
        return self

    def predict_proba(self, X: Any) -> FloatArray:
        """Return class shares among the labeled rows of each row's leaf; the leaf's class if it has no labeled rows.

        Parameters
        ----------
        X : array-like or data frame of shape (n_rows, n_features)
            Rows with the features of the fit.

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
            Shares in the order of ``classes_``.
        """
        leaf = self.apply(X) - self.tree_.topology.n_leaves
        return np.asarray(self._leaf_shares[leaf])


def _octh_spec(params: dict[str, Any], n_labeled: int) -> OcthSpec:
    min_leaf = params["min_leaf"]
    if min_leaf is None:
        min_leaf = max(1, math.ceil(MIN_LEAF_SHARE * n_labeled))
    if min_leaf > n_labeled:
        raise InvalidProblem(f"Expected min_leaf of at most {n_labeled}, the labeled rows, got {brief(min_leaf)}.")
    return OcthSpec(min_leaf=min_leaf, complexity=params["complexity"], mu=params["mu"])

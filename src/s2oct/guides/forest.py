"""The default guide: forests that also learn from the unlabeled rows and the known totals.

Top down: `SelfTrainedForest` is the classifier. `SelfTraining` fits four forests to the labeled rows, mixes them, and
fits further forests to the classes that the mix assigns. `Grower` grows one `Forest`, tree by tree, until a deadline.
`Widening` scales the features and adds principal components.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from typing import Any, Literal

import numpy as np
import sklearn
from joblib import Parallel, delayed
from scipy.special import softmax
from sklearn.tree import DecisionTreeRegressor
from sklearn.utils import check_random_state
from sklearn.utils.extmath import randomized_svd
from sklearn.utils.validation import _num_samples, check_is_fitted
from threadpoolctl import ThreadpoolController

from s2oct._core import forest_votes
from s2oct.arrays import BoolArray, Float32Array, FloatArray, IntArray
from s2oct.errors import S2OCTError
from s2oct.guides.known_total import KnownTotalClassifier, with_missing_classes
from s2oct.guides.meeting_totals import log_odds, multipliers_for_new_rows, settle, two_columns
from s2oct.parameters import whole_from
from s2oct.problem.batches import ContentOrder, content_order, marks
from s2oct.problem.known import Known, read_complete_labels, read_weights
from s2oct.problem.totals import Totals
from s2oct.stopping import NO_DEADLINE, Deadline
from s2oct.tables.features import learn_features, read_rows

Splitter = Literal["best", "random"]
"""How a tree chooses a cut of a feature: the best one, as in a random forest, or a random one."""

ROWS_AT_A_TIME = 10_000
"""Number of rows that a forest predicts in one job."""

CELLS_AT_A_TIME = 1_000_000
"""Rows times features read between two checks of the deadline, and used to fit the principal components."""

_LEAST_SPREAD = 1e-6
"""Minimum spread of a feature, as a share of its range; with less, nearly all rows have the same value."""

_FARTHEST = 1e6
"""Values of new rows are clipped to this many ranges from those of the fit, which keeps them finite for the trees."""

_LEAST_PROBABILITY = 1e-3
"""Votes of 0 and 1 count as this probability and its complement, so scores are finite."""


@dataclass(frozen=True)
class ForestParams:
    """Tuning of the forests.

    Attributes
    ----------
    most_cells : dict
        Maximum number of rows in a tree's sample times features that it tries, per splitter, so no tree takes long.
        Random cuts need no sorting and may see more.
    least_tried : int
        A tree that tries fewer features takes about as long as one that tries this many.
    most_depth : int
        Maximum depth of a tree. A tree that separates one row at a time would take long.
    few_rows : int
        Trees on fewer rows are grown one after another, because threads would mostly wait for the interpreter.
    n_components : int
        Principal components added to the features: the directions in which all rows, labeled or not, vary most.
    component_rows : int
        Maximum number of rows, drawn at random, to which the components are fitted. More rows hardly change them.
    most_features : int
        Maximum number of features tried at a split by the forest that tries all of them.
    even_share : float
        Part of the mix shared equally by all forests, because likelihoods of few held-out labels are uncertain.
    labeled_weight, unlabeled_weight : float
        Sample weights in self-training: of a labeled row, and of an unlabeled row about which the forests are certain.
        Labels are facts; assigned classes are not.
    most_unlabeled : int
        Maximum number of unlabeled rows, drawn at random, from which a round of self-training learns.
    least_unseen : float
        Minimum probability of a held-out label, so that one surprise does not decide the mix.
    trees_times_rows : float
        Maximum number of trees times rows of a forest; large tables get fewer trees.
    fewest_trees : int
        Minimum number of trees of a forest of a large table.
    least_trees : int
        Minimum number of trees of a forest that has little time.
    """

    most_cells: dict[Splitter, int] = field(default_factory=lambda: {"best": 30_000, "random": 150_000})
    least_tried: int = 5
    most_depth: int = 40
    few_rows: int = 2000
    n_components: int = 10
    component_rows: int = 4000
    most_features: int = 100
    even_share: float = 0.5
    labeled_weight: float = 3.0
    unlabeled_weight: float = 0.3
    most_unlabeled: int = 8000
    least_unseen: float = 0.02
    trees_times_rows: float = 8e5
    fewest_trees: int = 30
    least_trees: int = 10

    def kinds(self, p: int, width: int) -> tuple[tuple[Splitter, int, int], ...]:
        """Return splitter, columns and features tried at a split of each first forest, for p of ``width`` columns."""
        return (
            ("best", p, math.isqrt(p)),
            ("random", p, math.isqrt(p)),
            ("random", width, math.isqrt(width)),
            ("best", p, min(p, self.most_features)),
        )


DEFAULTS = ForestParams()


class GuideStopped(S2OCTError):
    """The forests were stopped before they were done."""


def require_time(deadline: Deadline) -> None:
    """Raise `GuideStopped` after the deadline."""
    if deadline.passed:
        raise GuideStopped("The guide was stopped.")


class SelfTrainedForest(KnownTotalClassifier):
    """Forests that learn from labeled rows, unlabeled rows and known totals; the default guide.

    Four forests are fitted to the labeled rows: a random forest, extremely randomised trees, extremely randomised trees
    that also use principal components of all rows, and a random forest that tries all features at every split (at most
    100). Labeled rows are drawn so that the classes have their known shares. The forests are mixed: half of the mix is
    even, and half follows the likelihood of the labels under trees that have not seen them.

    Each round of self-training then assigns classes to the unlabeled rows, so that the likeliest rows of each class
    meet its total. Extremely randomised trees are fitted to the labeled rows and, with little weight, to these classes.
    They rank the unlabeled rows again, each row by the trees that were not fitted to it. The next round starts from the
    mean of this ranking and the mix. The result is the mean over the rounds, with probabilities shifted so that the
    likeliest classes meet the known totals in every domain.

    If all labeled rows are of one class, the four forests separate them from the unlabeled rows. If some of three or
    more classes have no labeled rows, they share one minus the largest probability of the labeled classes, so they get
    the rows that resemble no labeled class. If all rows are labeled, the classifier is the mix of the four forests.

    The same seed gives the same result for any number of jobs. In large tables, each tree is fitted to a sample.

    Parameters
    ----------
    n_estimators : int
        Number of trees in each forest. It is reduced so that trees times rows are at most 800,000, but not below 30.
    n_rounds : int
        Number of rounds of self-training. There are none if one class has all unlabeled rows.
    n_jobs : int or None
        Number of trees to fit at a time.
    random_state : int, RandomState or None
        Seed of the forests.

    Attributes
    ----------
    probabilities_ : ndarray of shape (n_unlabeled, n_classes)
        Probabilities of the unlabeled rows, in the order of the rows. The likeliest classes meet the totals, except
        that with one exact total of two classes, rows may be tied at the threshold of 1/2.
    transduction_ : ndarray of shape (n_rows,)
        A label for every training row: the given label, or a class that meets the totals. Exact totals are met exactly
        if rows have equal weights. Ties are broken by the content of the rows.
    classes_ : ndarray of shape (n_classes,)
        The class labels, sorted.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, if all column names of ``X`` are strings.

    Examples
    --------
    >>> from s2oct import SelfTrainedForest
    >>> X = [[1.0], [2.0], [8.0], [9.0], [1.5], [3.0], [7.0], [7.5]]
    >>> y = ["no", "no", "yes", "yes", None, None, None, None]
    >>> forest = SelfTrainedForest(n_estimators=20, random_state=0).fit(X, y, totals={"yes": 2})
    >>> forest.transduction_.tolist()
    ['no', 'no', 'yes', 'yes', 'no', 'no', 'yes', 'yes']
    """

    def __init__(
        self,
        n_estimators: int = 100,
        n_rounds: int = 3,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.n_estimators = n_estimators
        self.n_rounds = n_rounds
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _read(
        self, X: Any, y: Any, totals: Totals | None, population_totals: Totals | None, **others: Any
    ) -> tuple[Known, tuple[str, ...]]:
        if totals is None and population_totals is None:
            n_rows = _num_samples(X)
            labels = read_complete_labels(y, n_rows)
            if labels is not None:
                return Known.complete(labels, read_weights(others["sample_weight"], n_rows)), ()
        return super()._read(X, y, totals, population_totals, **others)

    def _learned_table(self, X: Any, left_out: tuple[str, ...], weights: Any) -> tuple[Any, tuple[str, ...]]:
        features = learn_features(self, X, left_out=left_out, sample_weight=weights)
        return features.rows, features.doubts

    def _fit_known(self, X: FloatArray, known: Known, deadline: Deadline = NO_DEADLINE) -> SelfTrainedForest:
        """Fit to the rows that count; raise `GuideStopped` after the deadline."""
        rows, known = X, known.unless_equal
        params, n_rounds = DEFAULTS, whole_from(0).read("n_rounds", self.n_rounds)
        most_trees = max(params.fewest_trees, params.trees_times_rows / len(rows))
        n_trees = int(min(whole_from(1).read("n_estimators", self.n_estimators), most_trees))
        rng = check_random_state(self.random_state)
        # The order of rows and columns must not change the random draws.
        order = _order_of(rows, known, deadline)
        rows, arranged = order.arranged(rows[order.rows]), known.arranged(order.rows, order.classes)
        widening = Widening.of(rows, rng, deadline, params)
        fitting = SelfTraining(
            widening.transform(rows, np.flatnonzero(arranged.is_labeled), deadline),
            widening.transform(rows, np.flatnonzero(~arranged.is_labeled), deadline),
            rows.shape[1],
            arranged,
            Grower(n_trees, rng, self.n_jobs, deadline, params),
        )
        fitting.run(n_rounds)
        self.classes_ = known.classes
        self._order, self._widening, self._forests = order, widening, tuple(fitting.forests)
        self._multipliers = multipliers_for_new_rows(scores_of(fitting.ranking), arranged, BEYOND)
        classes, probabilities, self._multipliers_of_domains = settled(fitting.ranking, arranged)
        if len(arranged.targets.margins) == 1:
            # A domain without unlabeled rows gets the multipliers of all domains together.
            is_empty = np.bincount(arranged.targets.margins[0].codes, minlength=len(self._multipliers_of_domains)) == 0
            self._multipliers_of_domains[is_empty] = self._multipliers
        labeled, unlabeled = (order.rows[part] for part in (arranged.is_labeled, ~arranged.is_labeled))
        self._held_out = None if fitting.held_out is None else self._by_class(fitting.held_out)[np.argsort(labeled)]
        self.probabilities_ = self._by_class(probabilities)[np.argsort(unlabeled)]
        self.transduction_ = known.labels.completed(order.classes[classes][np.argsort(unlabeled)])
        return self

    def _by_class(self, votes: FloatArray) -> FloatArray:
        """Reorder votes or probabilities to the user's classes; a single column is the second of two classes."""
        if votes.shape[1] > 1:
            return np.ascontiguousarray(votes[:, np.argsort(self._order.classes)])
        return votes if self._order.classes[0] == 0 else 1 - votes

    def predict_proba(self, X: Any) -> FloatArray:
        """Return class probabilities of new rows.

        The first forests and those of the rounds count half each. Probabilities are shifted so that the fit meets the
        totals over all domains. The forests of the rounds have seen the unlabeled rows of the fit: use
        ``probabilities_`` for these.

        Parameters
        ----------
        X : array-like or data frame of shape (n_rows, n_features)
            Rows with the features of the fit.

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
            Probabilities of ``classes_``.
        """
        check_is_fitted(self)
        return self._probabilities_of(read_rows(self, X))

    def _probabilities_of(self, rows: FloatArray, domains: IntArray | None = None) -> FloatArray:
        """Return class probabilities of rows of features.

        ``domains`` are the known domains of each row in each margin, numbered over the domains of all margins.
        """
        wide = self._widening.transform(self._order.arranged(rows))
        votes = np.zeros((len(wide), 1 if len(self.classes_) == 2 else len(self.classes_)))
        for forest in self._forests:
            votes += forest.share * forest.votes(wide, self.n_jobs)
        # One multiplier per class, or one per row and class.
        own = self._multipliers if domains is None else self._multipliers_of_domains[domains].sum(axis=0)
        scores = scores_of(votes)
        if scores.shape[1] > 1:
            return self._by_class(np.asarray(softmax(scores + own, axis=1)))
        return self._by_class(two_columns(scores[:, 0] - (own[..., 0] - own[..., 1])))

    def _predicted_codes(self, X: Any) -> IntArray:
        return np.asarray(self.predict_proba(X).argmax(axis=1))


class SelfTraining:
    """Self-training in progress: ``ranking`` has the current votes on the unlabeled rows.

    ``held_out`` has the mean votes of the first forests on the labeled rows, each by the trees that have not seen it;
    None if only one class is labeled.

    ``labeled`` and ``unlabeled`` are rows of ``n_features`` features and their principal components. The amount of work
    is fixed; only the deadline of ``grower`` ends it sooner, with `GuideStopped`.
    """

    def __init__(
        self, labeled: Float32Array, unlabeled: Float32Array, n_features: int, known: Known, grower: Grower
    ) -> None:
        self.labeled, self.unlabeled, self.n_features = labeled, unlabeled, n_features
        self.known, self.grower, self.n_classes = known, grower, known.targets.n_classes
        self.params = grower.params
        self.missing = known.unlabeled_classes
        self.has_several = int((~self.missing).sum()) > 1
        self.weights = known.known_share_weights()
        self.forests: list[Forest] = []
        self.ranking = np.empty((0, 1 if self.n_classes == 2 else self.n_classes))
        self.held_out: FloatArray | None = None

    def run(self, n_rounds: int) -> None:
        """Fit and mix the first forests, then run the rounds."""
        kinds = self.params.kinds(self.n_features, self.labeled.shape[1])
        forests, rankings, losses, unseen = zip(*(self._first(*kind) for kind in kinds), strict=True)
        self.held_out = np.mean(unseen, axis=0) if self.has_several else None
        shares = _shares(np.array(losses), self.params.even_share)
        opening = [replace(forest, share=float(share)) for forest, share in zip(forests, shares, strict=True)]
        first = (shares @ np.array(rankings).reshape(len(shares), -1)).reshape(rankings[0].shape)
        self.ranking, self.forests = first, opening
        if not self.known.leaves_choice:
            return
        mixed, again = [], []
        for _ in range(n_rounds):
            forest, ranking = self._again()
            again.append(replace(forest, share=0.5 / n_rounds))
            mixed.append(0.5 * first + 0.5 * ranking)
            self.ranking = mixed[-1]
        if again:
            self.ranking = np.mean(mixed, axis=0)
            self.forests = [*again, *(replace(forest, share=0.5 * forest.share) for forest in opening)]

    def _first(self, splitter: Splitter, n_columns: int, n_tried: int) -> tuple[Forest, FloatArray, float, FloatArray]:
        """Grow a forest of the labeled rows; return it, its votes, and its log loss and votes on held-out labels.

        If all labeled rows are of one class, the forest separates labeled from unlabeled rows, which vote evenly for
        all classes without labels; its loss is 0.
        """
        n, rows, weights = len(self.labeled), self.labeled, self.weights
        votes = as_votes(self.known.labeled_codes, self.n_classes)
        if not self.has_several:
            rows = np.concatenate([self.labeled, self.unlabeled])
            others = as_votes(np.flatnonzero(self.missing), self.n_classes).mean(axis=0, keepdims=True)
            votes = np.concatenate([votes, np.repeat(others, len(self.unlabeled), axis=0)])
            weights = np.append(self.known.labeled_weights, self._relative_sizes())
        forest, unseen = self.grower.grow(rows[:, :n_columns], votes, weights, splitter, n_tried)
        if not self.has_several:
            return forest, unseen[n:], 0.0, unseen[:n]
        likely = np.clip(unseen, self.params.least_unseen, 1 - self.params.least_unseen)
        of_label = np.where(votes == 1, likely, 1 - likely)[:, 0] if self.n_classes == 2 else likely[votes == 1]
        forest = replace(forest, missing=self.missing)
        return forest, self._votes(forest), -float(self.weights @ np.log(of_label)), unseen

    def _again(self) -> tuple[Forest, FloatArray]:
        """Grow a forest from labels and the classes that the current votes assign; return it and its votes."""
        n, m = len(self.labeled), len(self.unlabeled)
        classes, probabilities, _ = settled(self.ranking, self.known)
        learned = np.sort(self.grower.rng.permutation(m)[: self.params.most_unlabeled])
        rows = np.concatenate([self.labeled, self.unlabeled[learned]])
        codes = np.append(self.known.labeled_codes, classes[learned])
        certainty = (self._lead(probabilities) * self._relative_sizes())[learned]
        # The small constant keeps rows in the sample about which no tree is certain.
        of_unlabeled = self.params.unlabeled_weight * certainty + 1e-6
        weights = np.append(self.params.labeled_weight * self.known.labeled_weights, of_unlabeled)
        votes = as_votes(codes, self.n_classes)
        forest, unseen = self.grower.grow(rows, votes, weights, "random", math.isqrt(rows.shape[1]))
        if len(learned) == m:
            return forest, unseen[n:]
        ranking = self._votes(forest)
        ranking[learned] = unseen[n:]
        return forest, ranking

    def _votes(self, forest: Forest) -> FloatArray:
        """Return votes of all trees on each unlabeled row."""
        return forest.votes(self.unlabeled, self.grower.n_jobs, self.grower.deadline)

    def _lead(self, probabilities: FloatArray) -> FloatArray:
        """Return the difference between the probabilities of the two likeliest classes of each row."""
        if self.known.n_second is not None:
            return np.abs(2 * probabilities[:, 1] - 1)
        ascending = np.sort(probabilities, axis=1)
        return np.asarray(ascending[:, -1] - ascending[:, -2])

    def _relative_sizes(self) -> FloatArray:
        """Return the weight of each unlabeled row, relative to the mean."""
        sizes = self.known.unlabeled_sizes
        return sizes / sizes.mean() if sizes.any() else sizes


def _shares(losses: FloatArray, even_share: float) -> FloatArray:
    """Return each forest's share in the mix: partly even, partly by the likelihood of held-out labels."""
    likelihood = np.exp(losses.min() - losses)
    return np.asarray(even_share / len(losses) + (1 - even_share) * likelihood / likelihood.sum())


def as_votes(codes: IntArray, n_classes: int) -> FloatArray:
    """Return unanimous votes for the given classes: shares of the second of two classes, or of each class."""
    return codes.astype(float)[:, None] if n_classes == 2 else np.eye(n_classes)[codes]


def scores_of(votes: FloatArray) -> FloatArray:
    """Return log odds of the second of two classes, or log probabilities, in the order of the votes and finite."""
    n_columns = votes.shape[1]
    if n_columns > 1:
        return np.asarray(np.log(_LEAST_PROBABILITY + (1 - n_columns * _LEAST_PROBABILITY) * votes))
    return log_odds(_LEAST_PROBABILITY + (1 - 2 * _LEAST_PROBABILITY) * votes, _LEAST_PROBABILITY)


BEYOND = float(log_odds(1 - _LEAST_PROBABILITY, _LEAST_PROBABILITY)) + 1
"""Log odds higher than those of any row."""


def settled(votes: FloatArray, known: Known) -> tuple[IntArray, FloatArray, FloatArray]:
    """Return classes of the unlabeled rows, by their votes, that meet the totals; see `settle`."""
    return settle(scores_of(votes), known, ranking=votes[:, 0], beyond=BEYOND)


@dataclass(frozen=True, eq=False)
class Forest:
    """Trees whose leaves have shares of classes, in the order in which their votes are added.

    Attributes
    ----------
    trees : tuple
        Trees of scikit-learn.
    n_columns : int
        Number of columns of the votes: one for two classes, the share of the second; otherwise one per class.
    n_features : int
        Number of widened features, from the first, that the trees use.
    share : float
        Share in the votes on a new row.
    missing : ndarray of shape (n_classes,), optional
        Mask of the classes without rows in the forest.
    """

    trees: tuple[Any, ...]
    n_columns: int
    n_features: int
    share: float = 1.0
    missing: BoolArray | None = None

    def votes(self, rows: Float32Array, n_jobs: int | None = None, deadline: Deadline = NO_DEADLINE) -> FloatArray:
        """Return votes on each row, shape (n_rows, n_columns): the mean over all trees."""
        nodes, seen = self._nodes, rows[:, : self.n_features]

        def mean(part: Float32Array) -> FloatArray:
            require_time(deadline)
            return np.asarray(forest_votes(part, *nodes)) / len(self.trees)

        parts = Parallel(n_jobs=n_jobs, require="sharedmem")(
            delayed(mean)(seen[begin : begin + ROWS_AT_A_TIME]) for begin in range(0, len(rows), ROWS_AT_A_TIME)
        )
        votes = np.concatenate(parts) if parts else np.empty((0, self.n_columns))
        return votes if self.missing is None else with_missing_classes(votes, self.missing)

    @cached_property
    def _nodes(self) -> tuple[Any, ...]:
        """Nodes of all trees in sequence: roots, features, thresholds, children and shares.

        Rows are in single precision, so thresholds are rounded down to it without effect. A leaf leads to itself.
        """
        begins = np.cumsum([0, *(tree.node_count for tree in self.trees)])
        is_leaf = np.concatenate([tree.children_left for tree in self.trees]) < 0
        features = np.concatenate([tree.feature for tree in self.trees]).astype(np.int32)
        exact = np.concatenate([tree.threshold for tree in self.trees])
        thresholds = exact.astype(np.float32)
        thresholds = np.where(thresholds > exact, np.nextafter(thresholds, np.float32(-np.inf)), thresholds)
        children = np.concatenate(
            [
                begin + np.column_stack([tree.children_left, tree.children_right])
                for begin, tree in zip(begins, self.trees, strict=False)
            ]
        )
        children[is_leaf] = np.flatnonzero(is_leaf)[:, None]
        features[is_leaf] = 0
        values = np.concatenate([tree.value.reshape(tree.node_count, -1) for tree in self.trees])
        return begins[:-1], features, thresholds, children.astype(np.int32), values


@dataclass(frozen=True, eq=False)
class Grower:
    """Grows forests: number of trees, source of random numbers, and deadline.

    After ``enough``, a forest stops growing once it has `ForestParams.least_trees` trees.
    """

    n_trees: int
    rng: np.random.RandomState
    n_jobs: int | None = None
    deadline: Deadline = NO_DEADLINE
    params: ForestParams = DEFAULTS
    enough: Deadline = NO_DEADLINE

    def grow(
        self,
        rows: Float32Array,
        targets: FloatArray,
        weights: FloatArray,
        splitter: Splitter,
        n_tried: int,
        strata: Sequence[IntArray] | None = None,
    ) -> tuple[Forest, FloatArray]:
        """Fit a forest to votes on its rows; return it, and the votes on each row by the trees that have not seen it.

        ``targets`` and the votes have shape (n_rows, n_columns). A tree is fitted to a sample with replacement, drawn
        by ``weights``; it tries ``n_tried`` features at every split. A row that every tree has seen gets even votes.
        With ``strata``, which are arrays of row numbers, every sample has equally many rows of each stratum.

        With votes of 0 and 1, least squares chooses the same cuts as the Gini index, and a leaf's means are its shares.
        """
        params, n_columns = self.params, targets.shape[1]
        if strata is None:
            strata = [np.arange(len(rows))]
            size = max(min(len(rows), params.most_cells[splitter] // max(n_tried, params.least_tried)), 2)
        else:
            size = max(len(rows) // len(strata), 2)
        cumulated = [np.cumsum(weights[stratum]) for stratum in strata]
        odds = [sums / sums[-1] for sums in cumulated]

        def grown(seed: int) -> tuple[Any, IntArray, FloatArray]:
            """Grow a tree; return it, the rows that it has not seen, and its votes on them."""
            require_time(self.deadline)
            # This generator is created many times faster than ``RandomState(seed)``.
            random = np.random.RandomState(np.random.PCG64(seed))
            drawn = [
                stratum[np.searchsorted(upper, random.random_sample(size), side="right")]
                for stratum, upper in zip(strata, odds, strict=True)
            ]
            times_seen = np.bincount(np.concatenate(drawn), minlength=len(rows)).astype(float)
            tree = DecisionTreeRegressor(
                splitter=splitter, max_features=n_tried, max_depth=params.most_depth, random_state=random
            )
            with sklearn.config_context(skip_parameter_validation=True, assume_finite=True):
                tree.fit(rows, targets, sample_weight=times_seen, check_input=False)
            require_time(self.deadline)
            unseen = np.flatnonzero(times_seen == 0)
            if not len(unseen):
                return tree.tree_, unseen, np.empty((0, n_columns))
            return tree.tree_, unseen, np.asarray(tree.tree_.predict(rows[unseen])).reshape(len(unseen), -1)

        def trees_to_grow() -> Iterator[Any]:
            for number, seed in enumerate(self.rng.randint(2**31 - 1, size=self.n_trees)):
                if number >= params.least_trees and self.enough.passed:
                    return
                yield delayed(grown)(int(seed))

        n_jobs = self.n_jobs if size >= params.few_rows else 1
        found = Parallel(n_jobs=n_jobs, require="sharedmem")(trees_to_grow())
        votes, n_votes = np.zeros(targets.shape), np.zeros((len(rows), 1))
        for _, unseen, shares in found:
            votes[unseen] += shares
            n_votes[unseen] += 1
        forest = Forest(tuple(tree for tree, _, _ in found), n_columns, rows.shape[1])
        return forest, np.where(n_votes > 0, votes / np.maximum(n_votes, 1), 1 / max(n_columns, 2))


@dataclass(frozen=True, eq=False)
class Widening:
    """Maps rows to their features in units of their spread, followed by their principal components.

    ``low`` and ``half_range`` map every feature onto [0, 1] first, because squares of huge values would overflow.
    ``mean`` and ``spread`` are those of the features in [0, 1]; ``components`` has one principal axis in each row.
    """

    low: FloatArray
    half_range: FloatArray
    mean: FloatArray
    spread: FloatArray
    components: FloatArray

    @classmethod
    def of(
        cls,
        rows: FloatArray,
        rng: np.random.RandomState,
        deadline: Deadline = NO_DEADLINE,
        params: ForestParams = DEFAULTS,
    ) -> Widening:
        """Return the map for these rows; spread and components come from a sample if there are many."""
        n, p = rows.shape
        low, high = np.full(p, np.inf), np.full(p, -np.inf)
        for part in _parts(rows, np.arange(n), deadline):
            low, high = np.minimum(low, part.min(axis=0)), np.maximum(high, part.max(axis=0))
        # Halving is exact, and the difference of halves cannot overflow.
        half_range = 0.5 * high - 0.5 * low
        unit = cls(low, np.where(half_range > 0, half_range, 1.0), np.zeros(p), np.ones(p), np.empty((0, p)))
        most = min(max(CELLS_AT_A_TIME // p, 2), params.component_rows)
        sample = unit._standard(rows if n <= most else rows[rng.permutation(n)[:most]])
        mean, spread = sample.mean(axis=0), sample.std(axis=0)
        spread = np.where(spread > _LEAST_SPREAD, spread, 1.0)
        require_time(deadline)
        n_components = min(params.n_components, *sample.shape)
        with _one_thread():
            components = randomized_svd((sample - mean) / spread, n_components, n_iter=4, random_state=rng)[2]
        return cls(unit.low, unit.half_range, mean, spread, components)

    def transform(
        self, rows: FloatArray, chosen: IntArray | None = None, deadline: Deadline = NO_DEADLINE
    ) -> Float32Array:
        """Return features, then components, of all rows or the chosen ones, in the number type of trees."""
        p = len(self.mean)
        chosen = np.arange(len(rows)) if chosen is None else chosen
        wide = np.empty((len(chosen), p + len(self.components)), dtype=np.float32)
        begin = 0
        for part in _parts(rows, chosen, deadline):
            end = begin + len(part)
            wide[begin:end, :p] = standard = self._standard(part)
            with _one_thread():
                wide[begin:end, p:] = standard @ self.components.T
            begin = end
        return wide

    def _standard(self, rows: FloatArray) -> FloatArray:
        # A new row may be arbitrarily far from the others.
        with np.errstate(over="ignore"):
            unit = (0.5 * rows - 0.5 * self.low) / self.half_range
        return np.asarray((np.clip(unit, -_FARTHEST, _FARTHEST) - self.mean) / self.spread)


def _parts(rows: FloatArray, chosen: IntArray, deadline: Deadline) -> Iterator[FloatArray]:
    """Yield the chosen rows in parts, until the deadline."""
    step = max(CELLS_AT_A_TIME // rows.shape[1], 1)
    for begin in range(0, len(chosen), step):
        require_time(deadline)
        yield rows[chosen[begin : begin + step]]


_BLAS_LOCK = threading.Lock()


@contextmanager
def _one_thread() -> Iterator[None]:
    """Run linear algebra in one thread: small products take much longer in several if other programs are busy.

    The setting applies to the process. The lock keeps two fits from restoring it in the wrong order.
    """
    with _BLAS_LOCK, _thread_pools().limit(limits=1, user_api="blas"):
        yield


@cache
def _thread_pools() -> ThreadpoolController:
    # The controller inspects all libraries of the process, which takes some milliseconds.
    return ThreadpoolController()


def _order_of(rows: FloatArray, known: Known, deadline: Deadline) -> ContentOrder:
    """Return the order of rows, columns and classes by their content."""
    domains = np.full((len(rows), len(known.targets.margins)), -1.0)
    domains[~known.is_labeled] = np.transpose([margin.codes for margin in known.targets.margins])
    bounds = np.concatenate([part for margin in known.targets.margins for part in (margin.low, margin.high)])
    labels = known.labels.codes[:, None] == np.arange(len(known.classes))
    order = content_order(rows, marks(known.sizes, domains), marks(bounds.T), labels, deadline)
    require_time(deadline)
    assert order is not None  # the deadline has not passed
    return order

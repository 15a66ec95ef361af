"""The default guide: forests that grow until a deadline and also learn from the unlabeled rows and the known totals."""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import Any, Literal

import numpy as np
import sklearn
from joblib import Parallel, delayed
from sklearn.tree import DecisionTreeRegressor
from sklearn.utils import check_random_state
from sklearn.utils.extmath import randomized_svd
from sklearn.utils.validation import check_is_fitted
from threadpoolctl import ThreadpoolController

from s2oct._core import forest_votes
from s2oct.arrays import BoolArray, Float32Array, FloatArray, IntArray, ObjectArray
from s2oct.errors import S2OCTError
from s2oct.guides.known_total import PartlyLabeledClassifier
from s2oct.guides.meeting_totals import (
    as_votes,
    multipliers_for_new_rows,
    settled,
    shifted_probabilities,
    with_missing_classes,
)
from s2oct.parameters import whole_from
from s2oct.problem.batches import ContentOrder, content_order, marks
from s2oct.problem.known import (
    Known,
    read_complete_labels,
    read_known,
    read_weights,
    refuse_to_estimate,
    warn_of_doubts,
)
from s2oct.problem.totals import Totals
from s2oct.stopping import NO_DEADLINE, Deadline
from s2oct.tables.features import learn_features, read_rows, text_columns


class GuideStopped(S2OCTError):
    """The forests were stopped before they were done."""


def go_on_until(deadline: Deadline) -> None:
    """Raise `GuideStopped` after the deadline."""
    if deadline.passed:
        raise GuideStopped("The guide was stopped.")


Splitter = Literal["best", "random"]
"""How a tree chooses a cut of a feature: the best one, as in a random forest, or one at random."""

MOST_CELLS = {"best": 30_000, "random": 150_000}
"""Rows of a tree's sample times features that it looks at, at most: no tree takes long. Random cuts need no sorting."""

_LEAST_TRIED = 5
"""A tree that looks at fewer features takes about as long as one that looks at this many."""

MOST_DEPTH = 40
"""Depth of a tree, at most. A tree that cuts off row after row would take long."""

FEW_ROWS = 2000
"""Trees on fewer rows are grown one after the other: threads would wait for the interpreter most of the time."""

ROWS_AT_A_TIME = 10_000
"""Rows that a forest predicts in one job."""


@dataclass(frozen=True, eq=False)
class Forest:
    """Trees that each give shares of classes in a leaf, in the order in which their votes are added.

    ``n_columns`` is that of the votes: 1 for two classes, which is the share of the second, or else one a class.
    """

    trees: tuple[Any, ...]
    n_columns: int

    def votes(self, rows: Float32Array, n_jobs: int | None = None, deadline: Deadline = NO_DEADLINE) -> FloatArray:
        """Votes on each row, shape (n_rows, n_columns): the mean over all trees."""
        nodes = self._nodes
        parts = Parallel(n_jobs=n_jobs, require="sharedmem")(
            delayed(self._mean)(nodes, rows[begin : begin + ROWS_AT_A_TIME], deadline)
            for begin in range(0, len(rows), ROWS_AT_A_TIME)
        )
        return np.concatenate(parts) if parts else np.empty((0, self.n_columns))

    def _mean(self, nodes: tuple[Any, ...], rows: Float32Array, deadline: Deadline) -> FloatArray:
        go_on_until(deadline)
        return np.asarray(forest_votes(rows, *nodes)) / len(self.trees)

    @cached_property
    def _nodes(self) -> tuple[Any, ...]:
        """The nodes of all trees one after the other: roots, features, thresholds, children and shares.

        Rows have numbers of single precision, so the next lower one is as good a threshold. A leaf leads to itself.
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
    """How many trees a forest has, where its random numbers come from, and when to stop."""

    n_trees: int
    rng: np.random.RandomState
    n_jobs: int | None = None
    deadline: Deadline = NO_DEADLINE

    def grow(
        self, rows: Float32Array, targets: FloatArray, weights: FloatArray, splitter: Splitter, n_tried: int
    ) -> tuple[Forest, FloatArray]:
        """A forest fitted to votes on its rows, and the votes on each row by the trees that have not seen it.

        ``targets`` and the votes have shape (n_rows, n_columns). A tree is fitted to a sample with replacement, drawn
        by ``weights``; at every split it looks at ``n_tried`` features. A row that every tree has seen gets even votes.
        """
        odds = np.cumsum(weights)
        odds /= odds[-1]
        size = max(min(len(rows), MOST_CELLS[splitter] // max(n_tried, _LEAST_TRIED)), 2)
        grown = Parallel(n_jobs=self.n_jobs if size >= FEW_ROWS else 1, require="sharedmem")(
            delayed(_grow_tree)(rows, targets, odds, size, (splitter, n_tried, int(seed)), self.deadline)
            for seed in self.rng.randint(2**31 - 1, size=self.n_trees)
        )
        votes, n_votes = np.zeros(targets.shape), np.zeros((len(rows), 1))
        for _, unseen, shares in grown:
            votes[unseen] += shares
            n_votes[unseen] += 1
        n_columns = targets.shape[1]
        forest = Forest(tuple(tree for tree, _, _ in grown), n_columns)
        return forest, np.where(n_votes > 0, votes / np.maximum(n_votes, 1), 1 / max(n_columns, 2))


def _grow_tree(
    rows: Float32Array,
    targets: FloatArray,
    odds: FloatArray,
    size: int,
    how: tuple[Splitter, int, int],
    deadline: Deadline,
) -> tuple[Any, IntArray, FloatArray]:
    """A tree, the rows that it has not seen, and the shares of the classes in the leaf of each of them."""
    go_on_until(deadline)
    splitter, n_tried, seed = how
    # This generator is many times faster to make than that of ``RandomState(seed)``.
    random = np.random.RandomState(np.random.PCG64(seed))
    times_seen = np.bincount(np.searchsorted(odds, random.random_sample(size), side="right"), minlength=len(rows))
    # With votes of 0 and 1, least squares chooses the cuts of the Gini index, and a leaf's means are its shares.
    tree = DecisionTreeRegressor(splitter=splitter, max_features=n_tried, max_depth=MOST_DEPTH, random_state=random)
    with sklearn.config_context(skip_parameter_validation=True, assume_finite=True):
        tree.fit(rows, targets, sample_weight=times_seen.astype(float), check_input=False)
    go_on_until(deadline)
    unseen = np.flatnonzero(times_seen == 0)
    return tree.tree_, unseen, _shares_of(tree.tree_, rows[unseen]) if len(unseen) else np.empty((0, targets.shape[1]))


def _shares_of(tree: Any, rows: Float32Array) -> FloatArray:
    """What a tree says about each row, shape (n_rows, n_columns)."""
    return np.asarray(tree.predict(rows)).reshape(len(rows), -1)


N_COMPONENTS = 10
"""Principal components that are added to the features: directions in which all rows, labeled or not, vary most."""

CELLS_AT_A_TIME = 1_000_000
"""Rows times features that are read between two checks of the deadline, and that the components are fitted to."""

MOST_ROWS = 4000
"""Rows that the components are fitted to, at most; if there are more, they are drawn at random."""

_LEAST_SPREAD = 1e-6
"""Features that vary less, as a share of their range, have the same value in nearly all rows."""

_FARTHEST = 1e6
"""Values of new rows are moved to this many ranges from those of the fit; so they are finite for the trees."""


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
    def of(cls, rows: FloatArray, rng: np.random.RandomState, deadline: Deadline = NO_DEADLINE) -> Widening:
        """The map for these rows; if they are too many, some are drawn for the spread and the components."""
        n, p = rows.shape
        low, high = np.full(p, np.inf), np.full(p, -np.inf)
        for part in _parts(rows, np.arange(n), deadline):
            low, high = np.minimum(low, part.min(axis=0)), np.maximum(high, part.max(axis=0))
        # Halves are exact, and their difference cannot overflow.
        half_range = 0.5 * high - 0.5 * low
        unit = cls(low, np.where(half_range > 0, half_range, 1.0), np.zeros(p), np.ones(p), np.empty((0, p)))
        most = min(max(CELLS_AT_A_TIME // p, 2), MOST_ROWS)
        sample = unit._standard(rows if n <= most else rows[rng.permutation(n)[:most]])
        mean, spread = sample.mean(axis=0), sample.std(axis=0)
        spread = np.where(spread > _LEAST_SPREAD, spread, 1.0)
        go_on_until(deadline)
        n_components = min(N_COMPONENTS, *sample.shape)
        with _one_thread():
            components = randomized_svd((sample - mean) / spread, n_components, n_iter=4, random_state=rng)[2]
        return cls(unit.low, unit.half_range, mean, spread, components)

    @property
    def n_features(self) -> int:
        """Number of features, without the components."""
        return len(self.mean)

    def transform(
        self, rows: FloatArray, chosen: IntArray | None = None, deadline: Deadline = NO_DEADLINE
    ) -> Float32Array:
        """Features, then components, of all rows or the chosen ones, in the type of numbers that trees use."""
        p = self.n_features
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
        # A new row may be as far from the others as floats go.
        with np.errstate(over="ignore"):
            unit = (0.5 * rows - 0.5 * self.low) / self.half_range
        return np.asarray((np.clip(unit, -_FARTHEST, _FARTHEST) - self.mean) / self.spread)


_BLAS_LOCK = threading.Lock()


@contextmanager
def _one_thread() -> Iterator[None]:
    """Linear algebra in one thread: small products take much longer in several if other programs are busy.

    The setting is that of the process. The lock keeps two fits from restoring it in the wrong order.
    """
    with _BLAS_LOCK, _thread_pools().limit(limits=1, user_api="blas"):
        yield


@cache
def _thread_pools() -> ThreadpoolController:
    # It looks through all libraries of the process, which takes some milliseconds.
    return ThreadpoolController()


def _parts(rows: FloatArray, chosen: IntArray, deadline: Deadline) -> Iterator[FloatArray]:
    """The chosen rows, some at a time, until the deadline."""
    step = max(CELLS_AT_A_TIME // rows.shape[1], 1)
    for begin in range(0, len(chosen), step):
        go_on_until(deadline)
        yield rows[chosen[begin : begin + step]]


MOST_FEATURES = 100
"""Features that the forest that looks at all of them looks at, at most."""

EVEN_SHARE = 0.5
"""Part of the mix in which all forests count alike: with few labels, held-out likelihoods are uncertain."""

LABELED_WEIGHT, UNLABELED_WEIGHT = 3.0, 0.3
"""Sample weights in self-training: of a labeled row, and of an unlabeled row of which the forest is sure."""

MOST_UNLABELED = 8000
"""Most unlabeled rows that a round of self-training learns from; if there are more, they are drawn at random."""

LEAST_UNSEEN = 0.02
"""Probability of a label that a forest has not seen, at least: one surprise does not decide the mix."""


@dataclass(frozen=True, eq=False)
class Member:
    """A forest, how many of the widened features it sees, and its share in the votes on a new row.

    ``missing`` says which classes the forest knows nothing of.
    """

    forest: Forest
    n_columns: int
    share: float
    missing: BoolArray

    def votes(self, rows: Float32Array, n_jobs: int | None = None, deadline: Deadline = NO_DEADLINE) -> FloatArray:
        """Votes on rows with all widened features."""
        return with_missing_classes(self.forest.votes(rows[:, : self.n_columns], n_jobs, deadline), self.missing)


class SelfTraining:
    """Self-training in progress: ``ranking`` has the present votes on the unlabeled rows.

    ``held_out`` has the mean votes of the first forests on the labeled rows, each by the trees that have not seen it;
    None if one class alone is labeled.

    ``labeled`` and ``unlabeled`` are rows of ``n_features`` features and their principal components. All of it is
    counted work. Only the deadline of ``grower`` ends it sooner, with `GuideStopped`.
    """

    def __init__(
        self, labeled: Float32Array, unlabeled: Float32Array, n_features: int, known: Known, grower: Grower
    ) -> None:
        self.labeled, self.unlabeled, self.n_features = labeled, unlabeled, n_features
        self.known, self.grower, self.n_classes = known, grower, known.targets.n_classes
        self.missing = known.unlabeled_classes
        self.has_several = int((~self.missing).sum()) > 1
        self.weights = known.known_share_weights()
        self.members: list[Member] = []
        self.ranking = np.empty((0, 1 if self.n_classes == 2 else self.n_classes))
        self.held_out: FloatArray | None = None

    def run(self, n_rounds: int) -> None:
        """Fit and mix the first forests, then the rounds."""
        p, n_columns = self.n_features, self.labeled.shape[1]
        kinds: tuple[tuple[Splitter, int, int], ...] = (
            ("best", p, math.isqrt(p)),
            ("random", p, math.isqrt(p)),
            ("random", n_columns, math.isqrt(n_columns)),
            ("best", p, min(p, MOST_FEATURES)),
        )
        rows = self.labeled if self.has_several else np.concatenate([self.labeled, self.unlabeled])
        members, rankings, losses, unseen = zip(*(self._first(rows, *kind) for kind in kinds), strict=True)
        self.held_out = np.mean(unseen, axis=0) if self.has_several else None
        shares = _shares(np.array(losses))
        opening = [replace(member, share=float(share)) for member, share in zip(members, shares, strict=True)]
        first = (shares @ np.array(rankings).reshape(len(shares), -1)).reshape(rankings[0].shape)
        self.ranking, self.members = first, opening
        if not self.known.leaves_choice:
            return
        mixed, again = [], []
        for _ in range(n_rounds):
            forest, ranking = self._again()
            again.append(forest)
            mixed.append(0.5 * first + 0.5 * ranking)
            self.ranking = mixed[-1]
        if again:
            self.ranking = np.mean(mixed, axis=0)
            halved = [replace(member, share=0.5 * member.share) for member in opening]
            knows_all = np.zeros(self.n_classes, dtype=bool)
            self.members = [*(Member(forest, n_columns, 0.5 / n_rounds, knows_all) for forest in again), *halved]

    def _first(
        self, rows: Float32Array, splitter: Splitter, n_columns: int, n_tried: int
    ) -> tuple[Member, FloatArray, float, FloatArray]:
        """A forest of the labeled rows, its votes, its log loss on labels that its trees have not seen, and the votes
        of these trees on the labeled rows.

        If all labeled rows are of one class, it is a forest of labeled against unlabeled rows; its loss is 0.
        """
        codes = self.known.labeled_codes
        if not self.has_several:
            return self._first_of_one_class(rows, splitter, n_columns, n_tried)
        votes = as_votes(codes, self.n_classes)
        forest, unseen = self.grower.grow(rows[:, :n_columns], votes, self.weights, splitter, n_tried)
        likely = np.clip(unseen, LEAST_UNSEEN, 1 - LEAST_UNSEEN)
        of_label = np.where(votes == 1, likely, 1 - likely)[:, 0] if self.n_classes == 2 else likely[votes == 1]
        member = Member(forest, n_columns, 0.0, self.missing)
        return member, self._votes(member), -float(self.weights @ np.log(of_label)), unseen

    def _first_of_one_class(
        self, rows: Float32Array, splitter: Splitter, n_columns: int, n_tried: int
    ) -> tuple[Member, FloatArray, float, FloatArray]:
        """A forest in which the unlabeled rows vote evenly for all classes that no labeled row has."""
        n = len(self.labeled)
        others = as_votes(np.flatnonzero(self.missing), self.n_classes).mean(axis=0, keepdims=True)
        votes = np.concatenate(
            [as_votes(self.known.labeled_codes, self.n_classes), np.repeat(others, len(rows) - n, axis=0)]
        )
        weights = np.append(self.known.labeled_weights, self._relative_sizes())
        forest, unseen = self.grower.grow(rows[:, :n_columns], votes, weights, splitter, n_tried)
        return Member(forest, n_columns, 0.0, np.zeros(self.n_classes, dtype=bool)), unseen[n:], 0.0, unseen[:n]

    def _again(self) -> tuple[Forest, FloatArray]:
        """A forest of the labeled rows and the labels that the present votes give to the others."""
        n, m = len(self.labeled), len(self.unlabeled)
        present = settled(self.ranking, self.known)
        learned = np.sort(self.grower.rng.permutation(m)[:MOST_UNLABELED])
        rows = np.concatenate([self.labeled, self.unlabeled[learned]])
        codes = np.append(self.known.labeled_codes, present.classes[learned])
        sure = (present.sure * self._relative_sizes())[learned]
        # The small constant keeps rows in the sample of which no tree is sure.
        weights = np.append(LABELED_WEIGHT * self.known.labeled_weights, UNLABELED_WEIGHT * sure + 1e-6)
        votes = as_votes(codes, self.n_classes)
        forest, unseen = self.grower.grow(rows, votes, weights, "random", math.isqrt(rows.shape[1]))
        if len(learned) == m:
            return forest, unseen[n:]
        ranking = forest.votes(self.unlabeled, self.grower.n_jobs, self.grower.deadline)
        ranking[learned] = unseen[n:]
        return forest, ranking

    def _votes(self, member: Member) -> FloatArray:
        """Votes on each unlabeled row, by all trees."""
        return member.votes(self.unlabeled, self.grower.n_jobs, self.grower.deadline)

    def _relative_sizes(self) -> FloatArray:
        """What each unlabeled row counts, 1 in the mean."""
        sizes = self.known.unlabeled_sizes
        return sizes / sizes.mean() if sizes.any() else sizes


def _shares(losses: FloatArray) -> FloatArray:
    """Share of each forest in the mix: partly even, partly by the likelihood of labels that it has not seen."""
    likelihood = np.exp(losses.min() - losses)
    return np.asarray(EVEN_SHARE / len(losses) + (1 - EVEN_SHARE) * likelihood / likelihood.sum())


def _order_of(rows: FloatArray, known: Known, deadline: Deadline) -> ContentOrder:
    """The order of rows, columns and classes by what they contain."""
    domains = np.full((len(rows), len(known.targets.margins)), -1.0)
    domains[~known.is_labeled] = np.transpose([margin.codes for margin in known.targets.margins])
    bounds = np.concatenate([part for margin in known.targets.margins for part in (margin.low, margin.high)])
    labels = known.labels.codes[:, None] == np.arange(len(known.classes))
    order = content_order(rows, marks(known.sizes, domains), marks(bounds.T), labels, deadline)
    go_on_until(deadline)
    assert order is not None  # the deadline has not passed
    return order


def _filled_up(multipliers: FloatArray, of_all: FloatArray, known: Known) -> FloatArray:
    """Multipliers of domains: with one margin, a domain that has no unlabeled row gets those of all domains."""
    if len(known.targets.margins) > 1:
        return multipliers
    is_empty = np.bincount(known.targets.margins[0].codes, minlength=len(multipliers)) == 0
    return np.where(is_empty[:, None], of_all, multipliers)


TREES_TIMES_ROWS = 8e5
"""Most trees times rows of a forest: with more rows it has fewer trees than the user asks for, but at least 30."""


class SelfTrainedForest(PartlyLabeledClassifier):
    """Forests that learn from the unlabeled rows and the known totals as well as from the labeled rows.

    Four forests rank the unlabeled rows: a random forest, extremely randomised trees, extremely randomised trees that
    also use principal components of all rows, and a random forest that looks at all features at every split, at 100 of
    them if there are more. Labeled rows are drawn so that the classes have their known shares. The forests are mixed:
    half of the mix is even, the other half follows the likelihood of the labels under the trees that have not seen
    them. The top rows get the class, as many as its total; of several classes, each gets its likeliest rows. Then
    extremely randomised trees are fitted to the labeled rows and, with little weight, to these labels. They rank the
    unlabeled rows again, each row by the trees that were not fitted to it. This ranking and the mix count half each,
    and the next round begins. The result is the mean over the rounds. Probabilities are shifted so that the likeliest
    classes meet the known totals, in every domain.

    If all labeled rows are of one class, the four forests separate them from the unlabeled rows. If some of three or
    more classes have no labeled rows, they share one minus the largest probability of the labeled classes, so they get
    the rows that resemble no labeled class. If all rows are labeled, the classifier is the mix of the four forests.

    The same seed gives the same result, for any number of jobs. With many rows a tree is fitted to a sample of them.

    Parameters
    ----------
    n_estimators : int
        Trees of each forest. If there are more than 800,000 trees times rows, there are fewer trees, but at least 30.
    n_rounds : int
        Rounds of self-training; 0 for none. There are none either if one class has all unlabeled rows.
    n_jobs : int or None
        Trees to fit at a time.
    random_state : int, RandomState or None
        Seed of the forests.

    Attributes
    ----------
    probabilities_ : ndarray of shape (n_unlabeled, n_classes)
        Probabilities of the unlabeled rows, in the order of the rows. The likeliest classes meet the totals; of two
        classes with one exact total, except for rows with equal votes at the threshold of 1/2.
    transduction_ : ndarray of shape (n_rows,)
        A label for every training row, the given ones kept; it meets the totals, exactly if they are exact and rows
        count alike. Ties are broken by what the rows contain.
    classes_ : ndarray of shape (n_classes,)
        The class labels, sorted.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features; only if ``X`` has column names that are all strings.

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

    def fit(
        self,
        X: Any,
        y: Any,
        totals: Totals | None = None,
        population_totals: Totals | None = None,
        domains: Any = None,
        as_shares: bool = False,
        sample_weight: Any = None,
    ) -> SelfTrainedForest:
        """Fit the forests.

        Parameters
        ----------
        X : array-like or data frame of shape (n_rows, n_features)
            Labeled and unlabeled rows together, in any form that `S2OCTClassifier` takes.
        y : array-like of shape (n_rows,)
            Labels; NaN, None or NA marks an unlabeled row, and so does -1 where it cannot be a class. Without totals,
            -1 beside one other label is a class. All rows may be labeled.
        totals : mapping of class to count, table by domain and class, or list of these, optional
            Number of unlabeled rows of a class, in each domain: a count, a pair of bounds or an `Estimate`. All classes
            but one are enough.
        population_totals : mapping of class to count, table by domain and class, or list of these, optional
            The same for all rows, the labeled ones included.
        domains : array-like of shape (n_rows,), column name, or list of these, optional
            The domain of each row, for totals by domain; a list if there are several margins.
        as_shares : bool
            Whether totals are shares of the rows of their domain.
        sample_weight : array-like of shape (n_rows,), optional
            Weight of each row. Trees draw rows by their weights, and unlabeled rows count with them towards the totals.

        Returns
        -------
        self
            The fitted classifier.
        """
        features = learn_features(self, X, left_out=text_columns(X, domains), sample_weight=sample_weight)
        rows = features.rows
        labels = read_complete_labels(y, len(rows)) if totals is None and population_totals is None else None
        known = (
            Known.complete(labels, read_weights(sample_weight, len(rows)))
            if labels is not None
            else read_known(
                X, y, totals, population_totals, domains=domains, as_shares=as_shares, sample_weight=sample_weight
            )
        )
        refuse_to_estimate(known, type(self).__name__)
        warn_of_doubts((*features.doubts, *(known.doubts if labels is None else ())))
        self._fit_rows(known.of_counted(rows), known.unless_equal)
        self._over_all_rows(known, X)
        return self

    def _fit_rows(self, rows: FloatArray, known: Known, deadline: Deadline = NO_DEADLINE) -> SelfTrainedForest:
        """Fit to the rows that count and what is known about them; equal weights are none.

        Raises `GuideStopped` after the deadline.
        """
        n_rounds = whole_from(0).read("n_rounds", self.n_rounds)
        n_trees = int(min(whole_from(1).read("n_estimators", self.n_estimators), max(30, TREES_TIMES_ROWS / len(rows))))
        rng = check_random_state(self.random_state)
        # How the user arranged the table must not change what is drawn at random.
        order = _order_of(rows, known, deadline)
        rows, arranged = order.arranged(rows[order.rows]), known.arranged(order.rows, order.classes)
        widening = Widening.of(rows, rng, deadline)
        fitting = SelfTraining(
            widening.transform(rows, np.flatnonzero(arranged.is_labeled), deadline),
            widening.transform(rows, np.flatnonzero(~arranged.is_labeled), deadline),
            rows.shape[1],
            arranged,
            Grower(n_trees, rng, self.n_jobs, deadline),
        )
        fitting.run(n_rounds)
        self.classes_ = known.classes
        self._order, self._widening, self._members = order, widening, tuple(fitting.members)
        self._multipliers = multipliers_for_new_rows(fitting.ranking, arranged)
        result = settled(fitting.ranking, arranged)
        self._multipliers_of_domains = _filled_up(result.multipliers, self._multipliers, arranged)
        labeled, unlabeled = (order.rows[part] for part in (arranged.is_labeled, ~arranged.is_labeled))
        self._held_out = None if fitting.held_out is None else self._by_class(fitting.held_out)[np.argsort(labeled)]
        self.probabilities_ = self._by_class(result.probabilities)[np.argsort(unlabeled)]
        self.transduction_ = known.labels.completed(order.classes[result.classes][np.argsort(unlabeled)])
        return self

    def _by_class(self, votes: FloatArray) -> FloatArray:
        """Votes or probabilities with the classes as the user has them; of two classes, one column is the second."""
        if votes.shape[1] > 1:
            return np.ascontiguousarray(votes[:, np.argsort(self._order.classes)])
        return votes if self._order.classes[0] == 0 else 1 - votes

    def predict_proba(self, X: Any) -> FloatArray:
        """Class probabilities of new rows.

        They are the mix of the first forests and of the forests of the rounds, half each, shifted so that the totals
        over all domains would be met in the fit. The unlabeled rows of the fit are no new rows for the latter: see
        ``probabilities_``.

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
        """Class probabilities of rows of features.

        ``domains`` are those of each row in each margin, if they are known, counted over the domains of all margins.
        """
        wide = self._widening.transform(self._order.arranged(rows))
        votes = np.zeros((len(wide), 1 if len(self.classes_) == 2 else len(self.classes_)))
        for member in self._members:
            votes += member.share * member.votes(wide, self.n_jobs)
        own = self._multipliers if domains is None else self._multipliers_of_domains[domains].sum(axis=0)
        return self._by_class(shifted_probabilities(votes, own))

    def predict(self, X: Any) -> ObjectArray:
        """Class label of each row.

        Parameters
        ----------
        X : array-like or data frame of shape (n_rows, n_features)
            Rows with the features of the fit.

        Returns
        -------
        ndarray of shape (n_rows,)
            A class label for each row.
        """
        codes = self.predict_proba(X).argmax(axis=1)
        return np.asarray(self.classes_[codes])

"""The immutable data of a fit: rows, labels, totals, weights and a guide; how identical rows merge; a hash of all."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from s2oct.arrays import BoolArray, FloatArray, IntArray, ObjectArray
from s2oct.errors import InvalidProblem
from s2oct.problem.batches import MOST_WHOLE, mixed
from s2oct.problem.known import Known, in_mean_weights
from s2oct.problem.labels import Labels, read_labels
from s2oct.problem.totals import Targets, Totals, read_targets, stated_totals
from s2oct.trees.features import Feature, as_features


def equal_rows(rows: FloatArray) -> tuple[IntArray, IntArray]:
    """The first position of each distinct row, in ascending order, and for each row the number of its distinct row."""
    if not len(rows):
        return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
    hashes = row_hashes(len(rows), rows.T)
    _, first, inverse = np.unique(hashes, return_index=True, return_inverse=True)
    if not (rows == rows[first[inverse.ravel()]]).all():  # different rows share a hash
        _, first, inverse = np.unique(rows + 0.0, axis=0, return_index=True, return_inverse=True)
    order = np.argsort(first)
    position = np.empty_like(order)
    position[order] = np.arange(len(order))
    return first[order], position[inverse.ravel()]


def row_hashes(n_rows: int, columns: Iterable[FloatArray | IntArray]) -> Any:
    """A hash of each row of some columns; sorting hashes is many times faster than sorting rows."""
    found = np.zeros(n_rows, dtype=np.uint64)
    for column in columns:
        # Adding 0.0 turns -0.0, whose bytes differ, into 0.0.
        found = mixed(found ^ np.ascontiguousarray(column + 0.0, dtype="<f8").view(np.uint64))
    return found


def group_sums(group: IntArray, values: FloatArray) -> FloatArray:
    """The sum of the values of each group."""
    return np.bincount(group, weights=values).astype(float)


def group_means(group: IntArray, values: FloatArray, multiplicities: FloatArray) -> FloatArray:
    """The mean of each column of values over each group, rows counted with their multiplicity."""
    sizes = group_sums(group, multiplicities)
    weighted = multiplicities[:, None] * values
    return np.column_stack([group_sums(group, column) / sizes for column in weighted.T])


def feature_matrix(X: Any) -> FloatArray:
    """Rows of finite numbers, at least one row and one feature."""
    try:
        rows = np.ascontiguousarray(X, dtype=float)
    except (TypeError, ValueError) as error:
        raise InvalidProblem(f"Expected numeric features, got values that are not numbers: {error}.") from error
    if rows.ndim != 2 or not rows.shape[0] or not rows.shape[1]:
        raise InvalidProblem(f"Expected a table of rows and features, got shape {rows.shape}.")
    if not np.isfinite(rows).all():
        raise InvalidProblem("Expected finite features, got NaN or infinity.")
    return rows


class Advice(NamedTuple):
    """Predictions of a guide: class probabilities of the unlabeled rows, and held-out votes on the labeled rows.

    ``probabilities`` has shape (m, n_classes). ``held_out`` has a row for each labeled row, from models that were not
    fitted to that row, and is None if the guide has no such votes. ``of_rows`` gives the probabilities of other rows of
    features and their domains, as in a `Batch`; it is None if the guide does not take features.
    """

    probabilities: FloatArray
    held_out: FloatArray | None = None
    of_rows: Callable[[FloatArray, IntArray], FloatArray] | None = None


@dataclass(frozen=True, eq=False)
class Guide:
    """Prices of the classes of the unlabeled rows, set by another classifier.

    Attributes
    ----------
    charges : ndarray of shape (m, n_classes)
        Price of putting a row into a class; at least 0.
    weight : float
        Weight of an unlabeled row of which the guide is certain, relative to a labeled row. With 0 the guide only
        chooses between trees of equal cost in P2.
    """

    charges: FloatArray
    weight: float = 0.0

    @classmethod
    def from_probabilities(cls, probabilities: FloatArray, weight: float = 0.0) -> Guide:
        """Charge for each class the difference between its probability and that of the row's likeliest class."""
        if not np.isfinite(probabilities).all():
            raise InvalidProblem("Expected the guide to give finite probabilities, got NaN or infinity.")
        return cls(probabilities.max(axis=1, keepdims=True) - probabilities, weight)

    def is_against(self, classes: IntArray) -> BoolArray:
        """Whether the guide finds another class likelier than the given one, for each row, shape (m,)."""
        charged = self.charges[np.arange(len(classes)), classes]
        return np.asarray(charged > self.charges.min(axis=1))


@dataclass(frozen=True, eq=False)
class Problem:
    """The data of P2. Rows have multiplicities, because identical rows can be merged.

    Parameters
    ----------
    X_labeled : ndarray of shape (n, p)
        Features of the labeled rows.
    labels : ndarray of shape (n,)
        Class index of each labeled row.
    X_unlabeled : ndarray of shape (m, p)
        Features of the unlabeled rows.
    targets : Targets
        Known totals of the unlabeled rows, in units of ``unit``.
    classes : ndarray of shape (n_classes,)
        Class labels of the user; index 0 is the paper's class A.
    features : tuple of Feature
        The features and the columns that they come from.
    labeled_multiplicity, unlabeled_multiplicity : ndarray
        Multiplicity of each row: the number of rows of the table that it stands for.
    guide : Guide, optional
        Prices of the classes of the unlabeled rows, which are not part of P2.
    labeled_weight, unlabeled_weight : ndarray, optional
        Total survey weight of the rows that each row stands for, in units of ``unit``; None if all weights are equal.
    unit : float
        Mean survey weight of an unlabeled row; 1 without weights. A fit counts everything in this unit.
    """

    X_labeled: FloatArray
    labels: IntArray
    X_unlabeled: FloatArray
    targets: Targets
    classes: ObjectArray
    features: tuple[Feature, ...]
    labeled_multiplicity: FloatArray
    unlabeled_multiplicity: FloatArray
    guide: Guide | None = None
    labeled_weight: FloatArray | None = None
    unlabeled_weight: FloatArray | None = None
    unit: float = 1.0

    @classmethod
    def from_arrays(
        cls,
        X: Any,
        y: Any,
        *,
        totals: Totals | None = None,
        population_totals: Totals | None = None,
        feature_names: Sequence[Feature | str] | None = None,
    ) -> Problem:
        """Validate rows, labels with markers, and totals.

        Parameters
        ----------
        X : array-like of shape (n_rows, p)
            Labeled and unlabeled rows together.
        y : array-like of shape (n_rows,)
            Labels; NaN, None or NA marks an unlabeled row, and so does -1 if it cannot be a class.
        totals : mapping of class to count, optional
            Number of unlabeled rows of a class. One class is enough; several must add up. Without totals, the class
            shares of the labeled rows are used.
        population_totals : mapping of class to count, optional
            The same for all rows, the labeled ones included.
        feature_names : sequence of str or Feature, optional
            Names of the features; x0, x1, ... otherwise.

        Returns
        -------
        Problem
            The problem.
        """
        rows = feature_matrix(X)
        stated = stated_totals(totals, population_totals)
        labels = read_labels(y, n_rows=len(rows), named=stated.classes)
        targets = read_targets(labels, stated)
        return cls.from_labels(rows, labels, targets, feature_names=feature_names)

    @classmethod
    def from_labels(
        cls,
        X: FloatArray,
        labels: Labels,
        targets: Targets,
        *,
        feature_names: Sequence[Feature | str] | None = None,
        weights: FloatArray | None = None,
    ) -> Problem:
        """Make a problem from rows, labels and totals that are already checked.

        Parameters
        ----------
        X : ndarray of shape (n_rows, p)
            Labeled and unlabeled rows together.
        labels : Labels
            Classes and codes.
        targets : Targets
            Known totals of the unlabeled rows, in the units of the weights.
        feature_names : sequence of str or Feature, optional
            Names of the features; x0, x1, ... otherwise.
        weights : ndarray of shape (n_rows,), optional
            Survey weights.

        Returns
        -------
        Problem
            The problem.
        """
        known = labels.is_labeled
        names = feature_names if feature_names is not None else [f"x{j}" for j in range(X.shape[1])]
        if len(names) != X.shape[1]:
            raise InvalidProblem(f"Expected {X.shape[1]} feature names, got {len(names)}.")
        unit, weights = in_mean_weights(weights, known)
        return cls(
            X_labeled=X[known],
            labels=labels.codes[known],
            X_unlabeled=X[~known],
            targets=targets if unit == 1 else targets.over(unit),
            classes=labels.classes,
            features=as_features(names),
            labeled_multiplicity=np.ones(int(known.sum())),
            unlabeled_multiplicity=np.ones(int((~known).sum())),
            labeled_weight=None if weights is None else weights[known],
            unlabeled_weight=None if weights is None else weights[~known],
            unit=unit,
        )

    @classmethod
    def from_known(cls, X: FloatArray, known: Known, feature_names: Sequence[Feature | str] | None = None) -> Problem:
        """Make a problem from the rows that count and what is known about their classes.

        Parameters
        ----------
        X : ndarray of shape (n_rows, p)
            The rows that count, labeled and unlabeled together.
        known : Known
            Labels, totals, domains and weights.
        feature_names : sequence of str or Feature, optional
            Names of the features; x0, x1, ... otherwise.

        Returns
        -------
        Problem
            The problem.
        """
        return cls.from_labels(X, known.labels, known.targets, feature_names=feature_names, weights=known.weights)

    @property
    def n_labeled(self) -> int:
        """Number n of stored labeled rows, each of which may stand for several."""
        return len(self.X_labeled)

    @property
    def n_unlabeled(self) -> int:
        """Number m of stored unlabeled rows."""
        return len(self.X_unlabeled)

    @property
    def n_rows(self) -> int:
        """Number N of rows, counted with their multiplicities."""
        return int(self.labeled_multiplicity.sum() + self.unlabeled_multiplicity.sum())

    @property
    def n_features(self) -> int:
        """Number p of features."""
        return int(self.X_labeled.shape[1])

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self.classes)

    @property
    def totals(self) -> FloatArray:
        """Known total of each class over the whole table, see `Targets.class_totals`."""
        return self.targets.class_totals()

    @property
    def is_weighted(self) -> bool:
        """Whether rows have survey weights that differ."""
        return self.unlabeled_weight is not None

    @property
    def labeled_size(self) -> FloatArray:
        """Weight of each labeled row; its multiplicity without weights."""
        return self.labeled_multiplicity if self.labeled_weight is None else self.labeled_weight

    @property
    def unlabeled_size(self) -> FloatArray:
        """Weight of each unlabeled row; its multiplicity without weights."""
        return self.unlabeled_multiplicity if self.unlabeled_weight is None else self.unlabeled_weight

    @property
    def X(self) -> FloatArray:
        """All rows, labeled rows first."""
        return np.vstack([self.X_labeled, self.X_unlabeled])

    def merged(self) -> Problem:
        """Merge identical rows with the same label and count them.

        Returns
        -------
        Problem
            A smaller problem with multiplicities; P2's costs do not change.
        """
        return self.merged_groups()[0]

    def merged_groups(self) -> tuple[Problem, IntArray]:
        """Merge identical rows, and keep track of the unlabeled ones.

        Returns
        -------
        tuple of Problem and ndarray of shape (m,)
            The merged problem, and for every unlabeled row its place there.
        """
        first, group = equal_rows(np.column_stack([self.X_labeled, self.labels]))
        first_unlabeled, group_unlabeled = equal_rows(self._rows_by_domain())
        guide = self.guide
        if guide is not None:
            charges = group_means(group_unlabeled, guide.charges, self.unlabeled_size)
            guide = replace(guide, charges=charges)
        merged = replace(
            self,
            X_labeled=self.X_labeled[first],
            labels=self.labels[first],
            labeled_multiplicity=group_sums(group, self.labeled_multiplicity),
            X_unlabeled=self.X_unlabeled[first_unlabeled],
            unlabeled_multiplicity=group_sums(group_unlabeled, self.unlabeled_multiplicity),
            labeled_weight=None if self.labeled_weight is None else group_sums(group, self.labeled_weight),
            unlabeled_weight=None
            if self.unlabeled_weight is None
            else group_sums(group_unlabeled, self.unlabeled_weight),
            targets=self.targets.of_rows(first_unlabeled),
            guide=guide,
        )
        return merged, group_unlabeled

    def _rows_by_domain(self) -> FloatArray:
        """The unlabeled rows and their domains: identical rows are merged within a domain."""
        if self.targets.has_one_domain:
            return self.X_unlabeled
        return np.column_stack([self.X_unlabeled, self.targets.first_cells.T])


_DECIMALS = 4
"""Decimals of weights, in units of the mean weight, that enter a hash: the mean depends on the order of the sum."""

_ROUNDING = 1e-12
"""Relative rounding error of a sum of weights that should be whole."""


@dataclass(frozen=True)
class DataSummary:
    """Identifies the data of a fit without revealing them.

    Attributes
    ----------
    sha256 : str
        Hash of the rows, labels, classes and totals of the fit.
    n_labeled, n_unlabeled : int
        Numbers of rows.
    totals : tuple of float
        Known number of unlabeled rows of each class, or their known weight; integers if they are whole.
    """

    sha256: str
    n_labeled: int
    n_unlabeled: int
    totals: tuple[float, ...]

    @classmethod
    def of(cls, problem: Problem) -> DataSummary:
        """Summarise the data of a problem.

        Parameters
        ----------
        problem : Problem
            Rows, labels, totals and weights.

        Returns
        -------
        DataSummary
            Hash, numbers of rows and totals.
        """
        totals = whole_if_whole(problem.unit * problem.totals)
        if problem.n_rows > MOST_WHOLE:
            # Rows in batches, perhaps on several machines, have no common order: each gets a mark of its own.
            sizes, domains = problem.unlabeled_size, problem.targets.first_cells // problem.n_classes
            mark, m = rows_mark(problem.X_unlabeled, sizes, domains), problem.n_unlabeled
            return cls(register_hash(problem, problem.targets, mark, m), problem.n_labeled, m, totals)
        shapes = (problem.X_labeled.shape, problem.X_unlabeled.shape, problem.classes.tolist())
        digest = hashlib.sha256(repr(shapes).encode())
        for array, kind in (
            (problem.X_labeled, "<f8"),
            (problem.X_unlabeled, "<f8"),
            (problem.labels, "<i8"),
            *_known_numbers(problem),
        ):
            digest.update(np.ascontiguousarray(array, dtype=kind).tobytes())
        return cls(digest.hexdigest(), problem.n_labeled, problem.n_unlabeled, totals)


def rows_mark(X: FloatArray, sizes: FloatArray, domains: IntArray) -> int:
    """A hash of rows in any order: the marks of parts of the rows add up to it modulo 2^64."""
    return int(row_hashes(len(X), (*X.T, np.round(sizes, _DECIMALS), *domains)).sum(dtype=np.uint64))


def register_hash(problem: Problem, targets: Targets, mark: int, n_unlabeled: int) -> str:
    """Hash of the labeled rows of a problem, and of unlabeled ones with this mark and these totals."""
    facts = (problem.X_labeled.shape, n_unlabeled, problem.classes.tolist(), mark, problem.labels.tolist())
    digest = hashlib.sha256(repr(facts).encode())
    known = (np.round(part, _DECIMALS) for part in (targets.low, targets.high))
    for array in (problem.X_labeled, *known):
        digest.update(np.ascontiguousarray(array, dtype="<f8").tobytes())
    return digest.hexdigest()


def _known_numbers(problem: Problem) -> list[tuple[FloatArray | IntArray, str]]:
    """Totals, domains and weights with the types in which they are hashed."""
    targets = problem.targets
    if targets.is_plain and not problem.is_weighted and problem.unit == 1:
        return [(problem.totals, "<i8")]
    numbers = (targets.low, targets.high, problem.labeled_size, problem.unlabeled_size, np.array([problem.unit]))
    return [*((part, "<f8") for part in numbers), (targets.first_cells, "<i8")]


def whole_if_whole(values: FloatArray) -> tuple[float, ...]:
    """Numbers, as integers if they are whole up to a rounding error."""
    nearest = np.round(values)
    is_whole = np.abs(values - nearest) <= _ROUNDING * np.abs(nearest)
    return tuple(int(n) if whole else float(value) for value, n, whole in zip(values, nearest, is_whole, strict=True))

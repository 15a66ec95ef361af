"""A fitted tree and rows: their leaves, known totals compared with the tree's, and whether the fit used these rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.validation import check_is_fitted

from s2oct.arrays import BoolArray, FloatArray, IntArray
from s2oct.errors import InvalidProblem
from s2oct.estimators.base import TreeClassifier, count_leaves
from s2oct.fit.certificate import Cell, counted_cells
from s2oct.problem.known import Known, read_domains, read_weights
from s2oct.problem.labels import UNLABELED, Labels, read_labels
from s2oct.problem.problem import DataSummary, Problem
from s2oct.problem.totals import Estimate, EstimatedShare, StatedTotals, Targets, Totals, stated_totals, text_of
from s2oct.tables.features import read_rows
from s2oct.trees.features import Feature, columns_of, renamed
from s2oct.trees.rules import TreeSize
from s2oct.trees.tree import ObliqueTree
from s2oct.wording import amount


@dataclass(frozen=True, eq=False)
class FittedRows:
    """A tree and rows, labeled or not, in the estimator's order of classes.

    Attributes
    ----------
    tree : ObliqueTree
    features : tuple of Feature
    class_names : tuple of str
    X : ndarray of shape (rows, p)
    codes : ndarray of shape (rows,)
        Class index of each labeled row, -1 for an unlabeled one.
    """

    tree: ObliqueTree
    features: tuple[Feature, ...]
    class_names: tuple[str, ...]
    X: FloatArray
    codes: IntArray

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Names of the features."""
        return tuple(feature.name for feature in self.features)

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns of the table from which the features are made."""
        return columns_of(self.features)

    @property
    def is_labeled(self) -> BoolArray:
        """Whether each row is labeled."""
        return np.asarray(self.codes != UNLABELED)

    @property
    def n_classes(self) -> int:
        """Number of classes, including those without rows."""
        return len(self.class_names)

    @cached_property
    def leaf(self) -> IntArray:
        """Id of the leaf of each row."""
        return self.tree.apply(self.X)

    @cached_property
    def predicted(self) -> IntArray:
        """Class index that the tree assigns to each row."""
        return self.tree.predict(self.X)

    @cached_property
    def leaf_counts(self) -> IntArray:
        """Labeled rows of each class, then unlabeled rows, of each leaf, shape (n_leaves, n_classes + 1)."""
        return count_leaves(self.tree, self.leaf, self.codes, self.n_classes)

    @property
    def labeled_counts(self) -> IntArray:
        """Labeled rows of each leaf and class, shape (n_leaves, n_classes)."""
        return self.leaf_counts[:, :-1]

    @property
    def unlabeled_counts(self) -> IntArray:
        """Unlabeled rows of each leaf, shape (n_leaves,)."""
        return self.leaf_counts[:, -1]

    def counted(self, sizes: FloatArray | None = None) -> tuple[IntArray | FloatArray, IntArray | FloatArray]:
        """Count labeled rows by their class and unlabeled rows by the class that the tree assigns.

        Parameters
        ----------
        sizes : ndarray of shape (rows,), optional
            Weight of each row; 1 if None.

        Returns
        -------
        tuple of two ndarrays of shape (n_classes,)
            Counts of labeled rows and of unlabeled rows.
        """
        known = self.is_labeled
        return self._sums(self.codes, known, sizes), self._sums(self.predicted, ~known, sizes)

    def _sums(self, codes: IntArray, rows: BoolArray, sizes: FloatArray | None) -> IntArray | FloatArray:
        counts = np.bincount(codes[rows], minlength=self.n_classes).astype(np.int64)
        if sizes is None or (sizes == 1).all():
            return counts
        return np.bincount(codes[rows], weights=sizes[rows], minlength=self.n_classes).astype(float)

    @cached_property
    def spread(self) -> FloatArray:
        """Standard deviation of each feature over the rows, shape (p,)."""
        return np.asarray(self.X.std(axis=0))


def read_fit(
    estimator: Any,
    X: Any,
    y: Any = None,
    *,
    feature_names: Sequence[str] | None = None,
    class_names: Sequence[str] | None = None,
) -> FittedRows:
    """Read a fitted tree and rows for it; without `y`, all rows are unlabeled."""
    if not isinstance(estimator, TreeClassifier):
        raise InvalidProblem(
            f"Expected a fitted S2OCTClassifier or OCTHClassifier, got {type(estimator).__name__}. "
            "For a pipeline or a search, pass its last step or its best_estimator_."
        )
    check_is_fitted(estimator)
    rows, features = read_rows(estimator, X), estimator._features()
    classes = estimator.classes_.tolist()
    return FittedRows(
        tree=estimator.tree_,
        features=renamed(features, _names("feature", feature_names, columns_of(features))),
        class_names=_names("class", class_names, tuple(str(label) for label in classes)),
        X=rows,
        codes=_codes(y, classes, len(rows), getattr(estimator, "_uncounted_classes", ())),
    )


def _names(kind: str, given: Sequence[str] | None, known: tuple[str, ...]) -> tuple[str, ...]:
    if given is None:
        return known
    if len(given) != len(known):
        raise InvalidProblem(f"Expected {len(known)} {kind} names, got {len(given)}.")
    return tuple(str(name) for name in given)


def _codes(y: Any, classes: list[Any], n_rows: int, uncounted: Sequence[Any]) -> IntArray:
    """Return the class index of each row in the estimator's order; none for classes whose labels have weight 0."""
    if y is None:
        return np.full(n_rows, UNLABELED, dtype=np.int64)
    labels = y.given if isinstance(y, Known) else read_labels(y, n_rows=n_rows, named=classes)
    unknown = [label for label in labels.classes.tolist() if label not in classes and label not in uncounted]
    if unknown:
        raise InvalidProblem(f"The classes of the tree are {classes}, but y has labels {unknown[:10]}.")
    places = [UNLABELED if label in uncounted else classes.index(label) for label in labels.classes.tolist()]
    place = np.array([*places, UNLABELED], dtype=np.int64)
    return np.asarray(place[labels.codes])


@dataclass(frozen=True)
class SeenCell:
    """A known total, with an estimate from the labeled rows of its domain.

    Attributes
    ----------
    cell : Cell
        The known total, and the number of rows that the tree assigns.
    size : float
        Number of unlabeled rows of the domain, or their weight.
    labeled : float or None
        Estimate from the labeled rows of the domain alone: the share of the class among them, times the size of the
        domain. None if the domain has no labeled rows, or if the domains or weights of the rows are unknown.
    given : str
        The total as the user passed it, if it differs from ``cell``; empty for a class that follows from others.
    """

    cell: Cell
    size: float
    labeled: float | None
    given: str = ""


@dataclass(frozen=True, eq=False)
class SeenTotals:
    """All totals of a fit; none if no total is known.

    Attributes
    ----------
    margins : tuple of tuple of SeenCell
        Cells of each margin, ordered by domain.
    sizes : ndarray of shape (n_rows,) or None
        Weight of each row, or 1; None if the fit had weights that are not passed here.
    unit : float
        Mean weight of an unlabeled row; 1 without weights.
    given_of : str
        What the totals counted as the user passed them; empty for counts of the unlabeled rows.
    """

    margins: tuple[tuple[SeenCell, ...], ...]
    sizes: FloatArray | None
    unit: float = 1.0
    given_of: str = ""

    @property
    def is_weighted(self) -> bool:
        """Whether counts are sums of weights."""
        return self.sizes is None or bool((self.sizes != 1).any())

    @property
    def is_plain(self) -> bool:
        """Whether all totals are exact and about the whole table."""
        return all(not seen.cell.domain and seen.cell.low == seen.cell.high and not seen.cell.se for seen in self.cells)

    @property
    def cells(self) -> tuple[SeenCell, ...]:
        """The cells of all margins."""
        return tuple(seen for margin in self.margins for seen in margin)


def known_of_rows(
    estimator: Any,
    rows: FittedRows,
    X: Any,
    y: Any,
    *,
    totals: Totals | None = None,
    population_totals: Totals | None = None,
    domains: Any = None,
    as_shares: bool = False,
    sample_weight: Any = None,
    to_fit: bool = False,
) -> Known:
    """Read labels, totals, domains and weights of rows for a fitted tree, as users pass them to ``fit``.

    ``y`` may already be a `Known`. Totals that are missing or to be estimated are those of the fit, so none are stated;
    with ``to_fit``, another fit to these rows will estimate them.
    """
    if isinstance(y, Known):
        return y
    weights, divided = read_weights(sample_weight, len(rows.X)), read_domains(domains, X, len(rows.X))
    stated = stated_totals(totals, population_totals, y=y, domains=divided, as_shares=as_shares)
    classes = estimator.classes_
    known = Known.without_totals(Labels(classes, rows.codes), weights, divided, named=classes.tolist())
    return known.with_totals(stated) if to_fit or (stated.tables and not stated.wants_estimates) else known


def see_totals(estimator: Any, rows: FittedRows, known: Known, *, is_of_fit: bool = True) -> SeenTotals:
    """Return all totals for some rows: those stated, or those of the fit if the rows are the same."""
    unit = getattr(estimator.certificate_, "unit", 1.0) if hasattr(estimator, "certificate_") else 1.0
    sizes, free = np.zeros(len(rows.X)), ~rows.is_labeled
    sizes[known.counted] = known.sizes
    is_weighted, is_stated = known.weights is not None, bool(known.stated.tables)
    if is_stated:
        unlabeled = known.counted[~known.is_labeled]
        cells = counted_cells(known.targets, rows.predicted[unlabeled], sizes[unlabeled])
    else:
        # OCT-H has no totals.
        cells = getattr(getattr(estimator, "certificate_", None), "known_cells", ()) if is_of_fit else ()
    is_known = is_weighted or unit == 1 or is_stated or not is_of_fit
    domains = [np.full(len(rows.X), "", dtype=object) for _ in known.domains]
    for of_rows, (_, values) in zip(domains, known.domains, strict=True):
        of_rows[known.counted] = [str(value) for value in values]
    given_of = _given_of(known.stated)
    stated = [{text_of(domain): entries for domain, entries in table.items()} for table in known.stated.tables]

    def seen(cell: Cell, place: int, margin: Sequence[Cell]) -> SeenCell:
        """Return one cell, recounted if domains and weights of the rows are known."""
        label = estimator.classes_.tolist()[cell.class_index]
        given = ""
        if given_of:
            given = _as_given(stated[place].get(cell.domain, {}).get(label), as_shares=known.stated.as_shares)
        if not is_known or (cell.domain and place >= len(domains)):
            size = sum(other.assigned for other in margin if other.domain == cell.domain)
            return SeenCell(cell, size, None, given)
        here = domains[place] == cell.domain if cell.domain else np.ones(len(rows.X), dtype=bool)
        size, all_labeled = float(sizes[here & free].sum()), float(sizes[here & ~free].sum())
        assigned = float(sizes[here & free & (rows.predicted == cell.class_index)].sum())
        labeled = float(sizes[here & ~free & (rows.codes == cell.class_index)].sum())
        by_labels = labeled / all_labeled * size if all_labeled else None
        return SeenCell(replace(cell, assigned=assigned), size, by_labels, given)

    return SeenTotals(
        margins=tuple(
            tuple(seen(cell, place, margin) for cell in margin) for place, margin in enumerate(_by_margin(cells))
        ),
        sizes=sizes if is_known else None,
        unit=unit if not is_weighted or not sizes[free].any() else float(sizes[free & (sizes > 0)].mean()),
        given_of=given_of,
    )


def _given_of(stated: StatedTotals) -> str:
    """Say what the totals count; empty for counts of the unlabeled rows, which a tree meets."""
    if not stated.tables:
        return ""
    if stated.as_shares:
        return "shares of all rows" if stated.of_all else "shares of the unlabeled rows"
    return "all rows" if stated.of_all else ""


def _as_given(value: Any, *, as_shares: bool) -> str:
    """Return a stated total as text: a number, an interval or an estimate; empty if there is none."""
    unit, factor = (" %", 100.0) if as_shares else ("", 1.0)

    def number(given: float) -> str:
        return amount(factor * given, 6)

    if isinstance(value, EstimatedShare):
        return f"estimated: {100 * value.value:.3g} ± {100 * value.se:.2g} % of the unlabeled rows"
    if isinstance(value, Estimate):
        return f"{number(value.value)} ± {number(value.se)}{unit}"
    if isinstance(value, (tuple, list)):
        low, high = value
        if low is not None and high is not None:
            return f"{number(low)} to {number(high)}{unit}"
        bound = "" if high is None else f"at most {number(high)}{unit}"
        return bound if low is None else f"at least {number(low)}{unit}"
    return "" if value is None or value != value else f"{number(value)}{unit}"


def _by_margin(cells: Sequence[Cell]) -> list[list[Cell]]:
    """Return the cells of each margin; a margin ends before a class of a domain is repeated."""
    margins: list[list[Cell]] = []
    keys: set[tuple[str, int]] = set()
    for cell in cells:
        key = cell.domain, cell.class_index
        if not margins or key in keys or cell.margin != margins[-1][-1].margin:
            margins.append([])
            keys = set()
        keys.add(key)
        margins[-1].append(cell)
    return margins


def are_data_of_fit(estimator: Any, rows: FittedRows, known: Known) -> bool:
    """Compare data with a classifier's record of its training data.

    The hash decides if all its inputs are available: the totals are given, or they are exact totals of the whole table,
    which the classifier keeps. Otherwise, the numbers of its certificate decide.

    Parameters
    ----------
    estimator : S2OCTClassifier or OCTHClassifier
        A fitted classifier.
    rows : FittedRows
        The rows and labels, already read.
    known : Known
        Labels and, if given, totals, domains and weights.

    Returns
    -------
    bool
        Whether they are the same; also True for a classifier without a record.
    """
    summary: DataSummary | None = getattr(estimator, "data_summary_", None)
    if summary is None:
        return True
    rows = replace(rows, X=known.of_counted(rows.X), codes=known.of_counted(rows.codes))
    n_labeled = int(rows.is_labeled.sum())
    if (n_labeled, len(rows.X) - n_labeled) != (summary.n_labeled, summary.n_unlabeled):
        return False
    if not known.stated.tables:
        if known.weights is not None or not _has_plain_totals(estimator.certificate_):
            return _agrees_with_certificate(estimator.certificate_, rows)
        known = replace(known, targets=Targets.exact(summary.totals, summary.n_unlabeled))
    return DataSummary.of(Problem.from_known(rows.X, known)).sha256 == summary.sha256


def _has_plain_totals(certificate: Any) -> bool:
    """Whether the totals of the fit are exact, of the whole table and without weights; OCT-H has none."""
    cells = getattr(certificate, "known_cells", ())
    return getattr(certificate, "unit", 1.0) == 1 and all(not cell.domain and cell.low == cell.high for cell in cells)


def _agrees_with_certificate(certificate: Any, rows: FittedRows) -> bool:
    """Whether misclassified labels and the rows assigned to each class have the same numbers as in the fit."""
    contradicted = int((rows.predicted != rows.codes)[rows.is_labeled].sum())
    if getattr(certificate, "n_contradicted", None) not in (None, contradicted):
        return False
    cells = getattr(certificate, "known_cells", ())
    if not cells or certificate.unit != 1:
        return True
    _, assigned = rows.counted()
    first = _by_margin(cells)[0]
    expected = [sum(cell.assigned for cell in first if cell.class_index == k) for k in range(rows.n_classes)]
    return bool(np.allclose(assigned, expected))


def tree_size(classifier: Any) -> TreeSize | None:
    """Return the size of a fitted classifier, also inside wrappers and pipelines; None if it is not one tree."""
    if isinstance(getattr(classifier, "tree_", None), ObliqueTree):
        return TreeSize.of_tree(classifier.tree_, classifier._features())
    if isinstance(classifier, DecisionTreeClassifier):
        n_splits = int(np.sum(classifier.tree_.feature >= 0))
        return TreeSize(n_splits, n_splits)
    if isinstance(classifier, Pipeline):
        return tree_size(classifier[-1])
    if hasattr(classifier, "tree_size_"):
        size: TreeSize = classifier.tree_size_
        return size
    # A forest has estimators_, a wrapper has one estimator_; some forests have both.
    if hasattr(classifier, "estimator_") and not hasattr(classifier, "estimators_"):
        return tree_size(classifier.estimator_)
    return None

"""Labels, totals, domains and weights as users pass them, checked and read once into one `Known`.

Commands check files and totals with this module before they load scikit-learn, so functions that only classifiers call
import it themselves.
"""

from __future__ import annotations

import difflib
import math
import sys
import warnings
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from s2oct.arrays import BoolArray, FloatArray, IntArray, ObjectArray, object_array
from s2oct.errors import (
    EstimatedTotalsWarning,
    InvalidProblem,
    Message,
    Notice,
    OpenTotalsWarning,
    Remedy,
    S2OCTWarning,
    UnlabeledScoreWarning,
)
from s2oct.parameters import PARAMETERS
from s2oct.problem.labels import UNLABELED, Labels, marks_missing, read_labels, refuse_unusable_classes
from s2oct.problem.totals import (
    NOTHING_STATED,
    WHOLE,
    Domains,
    Margin,
    StatedTotals,
    Targets,
    Totals,
    read_targets,
    stated_totals,
)
from s2oct.wording import amount, brief, listed, plural

_ROUNDING = 1e-9

_NEGLIGIBLE = 1e-9
"""A row with less than this part of the mean weight does not count: sums of weights are not more exact than that."""

_HIDDEN = 0.1
"""Largest share of held-out rows among the unlabeled rows of a domain at which exact totals hardly reveal their
classes."""

_MIN_LARGEST, _MAX_LARGEST = 1e-100, 1e100
"""Range of the largest weight; sums and ratios of weights outside it overflow or vanish."""

_MIN_REPLICATES = 2

_WEIGHT_RATIOS = (0.5, 2.0)
"""Range of the mean replicate weight relative to the mean weight of the fit: others are factors, not weights."""

_UNRELATED = "The features do not tell the classes apart"


@dataclass(frozen=True, eq=False)
class Known:
    """Labels, totals, domains and weights of the rows that count. Rows of weight 0 do not.

    Attributes
    ----------
    labels : Labels
        Classes and codes of the rows.
    targets : Targets
        What is known about the unlabeled rows, in the units of the weights.
    weights : ndarray of shape (n_rows,) or None
        Survey weights.
    domains : sequence of (str, ndarray of shape (n_rows,))
        For each margin its name and the domain of each row; empty for the whole table.
    counted : ndarray of int
        Positions of these rows in the table.
    given : Labels
        Classes and codes of all rows of the table.
    stated : StatedTotals
        The totals as stated by the user.
    n_unseen : int
        Unlabeled rows of a register that are not among these rows. The targets count them.
    """

    labels: Labels
    targets: Targets
    weights: FloatArray | None
    domains: Domains
    counted: IntArray
    given: Labels
    stated: StatedTotals = NOTHING_STATED
    n_unseen: int = 0

    @classmethod
    def of_rows(
        cls, labels: Labels, targets: Targets, weights: FloatArray | None = None, domains: Domains = ()
    ) -> Known:
        """What is known of rows that all count."""
        return cls(labels, targets, weights, domains, np.arange(len(labels.codes)), labels)

    @classmethod
    def complete(cls, labels: Labels, weights: FloatArray | None = None) -> Known:
        """Labels and weights of a table without unlabeled rows, and therefore without totals."""
        known = cls.without_totals(labels, weights)
        if len(known.classes) < len(labels.classes):
            refuse_unusable_classes(known.classes.tolist())
        return known

    @classmethod
    def without_totals(
        cls, given: Labels, weights: FloatArray | None = None, domains: Domains = (), named: Collection[Any] = ()
    ) -> Known:
        """The rows that count, with no total yet; classes that have no such row and are not named are dropped."""
        counted, labels = counted_rows(weights), given
        if counted is None:
            counted = np.arange(len(given.codes))
        elif weights is not None:
            labels, weights = given.of_rows(counted, named), weights[counted]
            domains = tuple((name, values[counted]) for name, values in domains)
        nothing = Targets.exact(np.zeros(len(labels.classes)), int((~labels.is_labeled).sum()))
        return cls(labels, nothing, weights, domains, counted, given)

    def with_rows(self, labels: Labels, targets: Targets, weights: FloatArray | None, domains: Domains) -> Known:
        """The same totals as stated, for other rows, which all count."""
        return replace(Known.of_rows(labels, targets, weights, domains), stated=self.stated, n_unseen=self.n_unseen)

    def with_totals(self, stated: StatedTotals, unseen: FloatArray | None = None) -> Known:
        """The same with totals; ``unseen`` is the weight of rows of the register that are not among these."""
        targets = read_targets(self.labels, stated, domains=self.domains, weights=self.weights, unseen=unseen)
        return replace(self, targets=targets, stated=stated)

    @property
    def is_labeled(self) -> BoolArray:
        """Whether each row is labeled."""
        return self.labels.is_labeled

    @property
    def needs_estimates(self) -> bool:
        """Whether totals are still to be estimated: those that the user wants estimated, or all if none is given."""
        return not self.is_labeled.all() and (not self.stated.tables or self.stated.wants_estimates)

    @property
    def classes(self) -> ObjectArray:
        """The class labels, sorted."""
        return self.labels.classes

    @property
    def sizes(self) -> FloatArray:
        """What each row counts: its weight, or 1."""
        return np.ones(len(self.labels.codes)) if self.weights is None else self.weights

    @property
    def labeled_codes(self) -> IntArray:
        """Class of each labeled row."""
        return self.labels.codes[self.is_labeled]

    @property
    def labeled_weights(self) -> FloatArray:
        """Weight of each labeled row, 1 in the mean; 1 each if all of them are 0."""
        weights = self.sizes[self.is_labeled]
        mean = float(weights.mean()) if self.weights is not None else 1.0
        return np.asarray(weights / mean) if mean > 0 else np.ones(len(weights))

    @property
    def unlabeled_sizes(self) -> FloatArray:
        """What each unlabeled row counts towards the totals."""
        return np.asarray(self.sizes[~self.is_labeled])

    @property
    def unlabeled_classes(self) -> BoolArray:
        """Whether each class has no labeled row, shape (n_classes,)."""
        return np.asarray(self.labels.counts() == 0)

    @property
    def n_second(self) -> int | None:
        """Rows of the second of two classes, if there is one exact total and all rows count the same; None otherwise.

        Ranking the rows by this class then decides all of them.
        """
        sizes = self.unlabeled_sizes
        if self.targets.n_classes != 2 or not self.targets.is_plain or (sizes != 1).any():
            return None
        first, second = self.targets.low.tolist()
        whole = round(second)
        is_whole = abs(whole - second) < _ROUNDING and abs(first + second - len(sizes)) < _ROUNDING
        return whole if is_whole else None

    @property
    def leaves_choice(self) -> bool:
        """Whether at least two classes can have rows in some domain."""
        can_have = (self.targets.margins[0].high > 0).sum(axis=1)
        return not self.is_labeled.all() and bool((can_have > 1).any())

    def known_share_weights(self) -> FloatArray:
        """Weights that give the labeled rows the known shares of the classes; 1 in the mean."""
        totals, codes, own = self.targets.class_totals(), self.labeled_codes, self.labeled_weights
        if not totals.any():
            return own
        labeled = np.bincount(codes, weights=own, minlength=len(totals))
        # A class with a total of 0 counts as half a row: some weight keeps it in the forest.
        weights = (np.maximum(totals, 0.5) / np.where(labeled > 0, labeled, 1.0))[codes] * own
        return np.asarray(weights / weights.mean())

    @property
    def unit(self) -> float:
        """Mean weight of an unlabeled row; 1 without weights."""
        return in_mean_weights(self.weights, self.is_labeled)[0]

    @cached_property
    def in_rows(self) -> Known:
        """The same in units of the mean weight of an unlabeled row: totals count rows; equal weights are dropped."""
        unit, weights = in_mean_weights(self.weights, self.is_labeled)
        return replace(self, targets=self.targets if unit == 1 else self.targets.over(unit), weights=weights)

    @property
    def unless_equal(self) -> Known:
        """The same without weights, if all of them are equal."""
        is_equal = self.weights is not None and bool((self.weights == self.weights[0]).all())
        return self.in_rows if is_equal else self

    @property
    def doubts(self) -> tuple[Notice, ...]:
        """Warnings for the user: totals that have no effect, or totals that were not given."""
        m = int((~self.is_labeled).sum()) + self.n_unseen
        if m == 0:
            return (Notice("Every row is labeled, so totals have no effect; OCTHClassifier is the supervised tree"),)
        if self.stated.wants_estimates:
            finding = "The time limit left no time to estimate the totals, which stay open"
            return (Notice(finding, Remedy.MORE_TIME, Remedy.GIVE_TOTALS, category=OpenTotalsWarning),)
        if self.stated.is_default:
            return (self._about_estimates(m),)
        if self.stated.is_guess:
            finding = f"{_UNRELATED}, so the estimated totals are a guess: equal shares"
            return (Notice(finding, Remedy.GIVE_TOTALS, category=EstimatedTotalsWarning),)
        if self.stated.tables:
            return ()
        counts = self.targets.class_totals()
        shares = listed([f"{amount(n)} {label!r}" for label, n in zip(self.classes.tolist(), counts, strict=True)])
        finding = f"the class shares of the labeled rows are used, {shares} of {plural(m, 'unlabeled row')}"
        return (
            Notice(f"No totals were given: {finding}. The shares of a biased sample are wrong", Remedy.GIVE_TOTALS),
        )

    def _about_estimates(self, m: int) -> Notice:
        """The totals that the fit estimated because none were given, and what this assumes."""
        (errors,) = self.targets.margins[0].se
        totals = self.targets.class_totals()
        found = [
            f"{count:,.0f} ± {amount(se, 2)} {label!r}"
            for label, count, se in zip(self.classes.tolist(), totals, errors, strict=True)
        ]
        base = plural(m, "unlabeled row") if self.weights is None else f"a weight of {amount(totals.sum())}"
        right_if = "This is right if whether a row is labeled depends on its class and on nothing else"
        worth = f"{_UNRELATED}, so these shares are a guess" if self.stated.is_guess else right_if
        return Notice(
            f"No totals were given: they were estimated as {listed(found)} of {base}. {worth}",
            Remedy.GIVE_TOTALS,
            category=EstimatedTotalsWarning,
        )

    @property
    def counts_all(self) -> bool:
        """Whether all rows of the table count."""
        return len(self.counted) == len(self.given.codes)

    def of_counted(self, rows: Any) -> Any:
        """The rows of an array that count; the array itself if all do, because it may be large."""
        return rows if self.counts_all else rows[self.counted]

    @property
    def uncounted(self) -> IntArray:
        """Positions of the unlabeled rows of the table that do not count."""
        return np.setdiff1d(np.flatnonzero(~self.given.is_labeled), self.counted)

    @property
    def uncounted_classes(self) -> tuple[Any, ...]:
        """Classes whose labels all have weight 0."""
        known = self.classes.tolist()
        return tuple(label for label in self.given.classes.tolist() if label not in known)

    def completed(self, classes: ObjectArray, predict: Callable[[IntArray], ObjectArray]) -> ObjectArray:
        """A label for every row of the table.

        Parameters
        ----------
        classes : ndarray of shape (n_rows,)
            The labels of the rows that count.
        predict : callable
            Takes positions of other rows and returns their labels. A row that has a label keeps it.
        """
        found = np.asarray(self.given.classes[np.maximum(self.given.codes, 0)])
        found[self.counted] = classes
        if len(self.uncounted):
            found[self.uncounted] = predict(self.uncounted)
        return found

    def of_unlabeled(self, values: FloatArray) -> FloatArray:
        """Values of all unlabeled rows of the table, given those of the rows that count; NaN for the others."""
        everywhere = np.full((len(self.given.codes), *values.shape[1:]), np.nan)
        everywhere[self.counted[~self.is_labeled]] = values
        return np.asarray(everywhere[~self.given.is_labeled])

    def arranged(self, rows: IntArray, classes: IntArray) -> Known:
        """The same with rows and classes in another order."""
        place = np.full(len(classes) + 1, UNLABELED)
        place[classes] = np.arange(len(classes))
        rank = np.cumsum(~self.is_labeled) - 1
        return self.with_rows(
            Labels(self.classes[classes], place[self.labels.codes[rows]]),
            self.targets.arranged(rank[rows[~self.is_labeled[rows]]], classes),
            None if self.weights is None else self.weights[rows],
            tuple((name, values[rows]) for name, values in self.domains),
        )

    def without(self, held: IntArray) -> Known:
        """The same with the labels of some rows held out: these rows join the unlabeled ones, and the totals grow.

        If they are more than a tenth of the unlabeled rows of a domain, exact totals would reveal their classes. The
        totals are then intervals that hold for any classes of these rows.
        """
        codes, codes_of_table = self.labels.codes.copy(), self.given.codes.copy()
        codes[held] = codes_of_table[self.counted[held]] = UNLABELED
        divided = [values for _, values in self.domains] or [np.full(len(codes), WHOLE, dtype=object)]
        margins = tuple(self._grown(*pair, held) for pair in zip(self.targets.margins, divided, strict=True))
        given = Labels(self.given.classes, codes_of_table)
        return replace(self, labels=Labels(self.classes, codes), targets=Targets(margins), given=given)

    def _grown(self, margin: Margin, values: ObjectArray, held: IntArray) -> Margin:
        """A margin with the held-out rows among its unlabeled ones."""
        domains = list(dict.fromkeys([*margin.domains.tolist(), *values[held].tolist()]))
        place = {domain: code for code, domain in enumerate(domains)}
        here = np.array([place[value] for value in values[held].tolist()], dtype=np.int64)
        of_classes = np.zeros((len(domains), len(self.classes)))
        np.add.at(of_classes, (here, self.labels.codes[held]), self.sizes[held])
        n_held, n_seen = (np.bincount(codes, minlength=len(domains))[:, None] for codes in (here, margin.codes))
        n_others = n_seen * (1 + self.n_unseen / max(len(margin.codes), 1))
        is_hidden = n_held <= _HIDDEN * (n_others + n_held)
        least = np.where(is_hidden, of_classes, 0.0)
        most = np.where(is_hidden, of_classes, of_classes.sum(axis=1, keepdims=True))
        codes = np.full(len(values), UNLABELED, dtype=np.int64)
        codes[~self.is_labeled], codes[held] = margin.codes, here
        new = np.zeros((len(domains) - margin.n_domains, len(self.classes)))
        grown = margin.mapped(lambda part: np.vstack([part, new]))
        return replace(
            grown,
            domains=object_array(domains),
            codes=codes[codes != UNLABELED],
            low=grown.low + least,
            high=grown.high + most,
            value=grown.value + np.where(is_hidden, of_classes, np.nan),
        )


def known_of(
    y: Any,
    stated: StatedTotals,
    *,
    n_rows: int | None = None,
    domains: Domains = (),
    weights: FloatArray | None = None,
    also: Sequence[Any] = (),
    unseen: FloatArray | None = None,
    n_unseen: int = 0,
) -> Known:
    """Combine labels, totals, domains and weights, and leave out the rows that do not count.

    Parameters
    ----------
    y : array-like of shape (n_rows,)
        Labels, with markers for unlabeled rows.
    stated : StatedTotals
        The totals.
    n_rows : int, optional
        Number of rows; any other number of labels is an error.
    domains : sequence of (str, ndarray of shape (n_rows,))
        For each margin its name and the domain of each row; empty for the whole table.
    weights : ndarray of shape (n_rows,), optional
        Survey weights, checked.
    also : sequence
        Further classes.
    unseen : ndarray of shape (n_rows,), optional
        For each row, the weight of the unlabeled rows of its domains that are in the register but not among these rows.
    n_unseen : int
        Number of these rows of the register.
    """
    named = [*stated.classes, *also]
    labels = read_labels(y, n_rows=n_rows, named=named)
    if weights is not None:
        refuse_weightless(weights if unseen is None else weights + unseen, labels.is_labeled)
    known = Known.without_totals(labels, weights, domains, named)
    refuse_unusable_classes(known.classes.tolist())
    unseen = None if unseen is None else known.of_counted(unseen)
    return replace(known.with_totals(stated, unseen), n_unseen=n_unseen)


def counted_rows(weights: FloatArray | None) -> IntArray | None:
    """Positions of the rows that count; None if all do."""
    if weights is None:
        return None
    counts = _count(weights)
    return None if counts.all() else np.flatnonzero(counts)


def _count(weights: FloatArray) -> BoolArray:
    return np.asarray(weights > _NEGLIGIBLE * weights.mean())


def refuse_weightless(weights: FloatArray, is_labeled: BoolArray) -> None:
    """Refuse a table whose labeled rows, or whose unlabeled rows, all have weight 0."""
    counts = _count(weights)
    for which, rows in (("labeled", is_labeled), ("unlabeled", ~is_labeled)):
        if rows.any() and not counts[rows].any():
            raise InvalidProblem(
                f"At least one {which} row must have a positive weight, but all {int(rows.sum())} of them weigh 0 or "
                "nearly 0."
            )


def in_mean_weights(weights: FloatArray | None, is_labeled: BoolArray) -> tuple[float, FloatArray | None]:
    """The mean weight of an unlabeled row, and the weights in this unit; None for the latter if all are equal."""
    if weights is None:
        return 1.0, None
    if (weights == weights[0]).all():
        return float(weights[0]), None
    counted = weights if is_labeled.all() else weights[~is_labeled]
    unit = math.fsum(counted) / len(counted)  # the same in any order of the rows
    return unit, weights / unit


def read_weights(given: Any, n_rows: int, name: str = "sample_weight") -> FloatArray | None:
    """Read a finite weight of at least 0 for each row, None without weights; a single number is every row's weight."""
    if given is None:
        return None
    if np.ma.is_masked(given):
        raise InvalidProblem("Expected a weight for every row, got masked weights.")
    try:
        if any(isinstance(entry, (str, bytes, bool)) for entry in np.asarray(given, dtype=object).ravel()):
            raise TypeError
        weights = np.array(given, dtype=float)
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidProblem(f"Expected {name} to be numbers, got {brief(given)}.") from error
    if weights.ndim == 0:
        weights = np.full(n_rows, float(weights))
    if weights.shape != (n_rows,):
        got = plural(len(weights), "weight") if weights.ndim == 1 else f"{name} of shape {weights.shape}"
        raise InvalidProblem(f"Expected {name} with one weight per row, got {got} for {plural(n_rows, 'row')}.")
    invalid = np.flatnonzero(~np.isfinite(weights) | (weights < 0))
    if len(invalid):
        raise InvalidProblem(
            f"Weights must be finite and at least 0, but row {invalid[0]} has {weights[invalid[0]]}; "
            f"{plural(len(invalid), 'weight')} in all {'is' if len(invalid) == 1 else 'are'} invalid."
        )
    heaviest = int(np.argmax(weights)) if n_rows else 0
    if n_rows and weights[heaviest] and not _MIN_LARGEST <= weights[heaviest] <= _MAX_LARGEST:
        raise InvalidProblem(
            f"The largest weight must be between {_MIN_LARGEST:g} and {_MAX_LARGEST:g}, got {weights[heaviest]} in row "
            f"{heaviest}: divide all weights by one number, and the totals too."
        )
    if n_rows and not weights.any():
        raise InvalidProblem(f"At least one weight must be positive, but {name} has only zeros.")
    return weights


def read_domains(domains: Any, X: Any, n_rows: int) -> Domains:
    """Read the name of each margin, empty if it has none, and the domain of each row.

    Parameters
    ----------
    domains : array-like of shape (n_rows,), column name of X, list or data frame of several margins, or None
        Lists of column names or of arrays, data frames, mappings of names to arrays and arrays with several columns
        have several margins. A list with one value for each row is one margin.
    X : array-like or data frame of shape (n_rows, n_features)
        The features. A column that is named as a domain is still a feature.
    n_rows : int
        Number of rows.
    """
    if domains is None:
        return ()
    margins = tuple(_margin(name, given, X, n_rows) for name, given in _parts(domains, X, n_rows))
    if not margins:
        raise InvalidProblem(f"Domains must have at least one margin, got {brief(domains)}.")
    return margins


def _parts(domains: Any, X: Any, n_rows: int) -> list[tuple[str, Any]]:
    """The margins as given, each with its name."""
    if isinstance(domains, Mapping):
        return [(str(name), values) for name, values in domains.items()]
    if hasattr(domains, "columns") or hasattr(domains, "column_names"):
        return [(str(name), domains[name]) for name in names_of_columns(domains)]
    if isinstance(domains, np.ndarray) and domains.ndim == 2:
        return [("", column) for column in domains.T]
    if isinstance(domains, (list, tuple)) and _has_several(domains, X, n_rows):
        return [_named(margin) for margin in domains]
    return [_named(domains)]


def _named(given: Any) -> tuple[str, Any]:
    name = given if isinstance(given, str) else getattr(given, "name", None)
    return ("" if name is None else str(name)), given


def _has_several(domains: Sequence[Any], X: Any, n_rows: int) -> bool:
    """Whether a list holds margins rather than the domains of rows."""
    if any(hasattr(entry, "__len__") and not isinstance(entry, (str, bytes)) for entry in domains):
        return True
    known = names_of_columns(X)
    if not domains or not known or not all(isinstance(entry, str) for entry in domains):
        return False
    # Domains of rows repeat; names of columns do not.
    are_columns = all(entry in known for entry in domains) and len(set(domains)) == len(domains)
    return are_columns or len(domains) != n_rows


def names_of_columns(X: Any) -> list[Any]:
    """Names of the columns of a pandas or polars frame or an Arrow table; empty for anything else."""
    if hasattr(X, "schema") and hasattr(X, "column_names"):
        return list(X.column_names)
    return list(X.columns) if hasattr(X, "columns") and hasattr(X, "dtypes") else []


def _margin(name: str, given: Any, X: Any, n_rows: int) -> tuple[str, ObjectArray]:
    found = _as_list(_column(given, X) if isinstance(given, str) else given)
    of_margin = f" of {brief(name)}" if name else ""
    if len(found) != n_rows:
        raise InvalidProblem(f"Expected one domain{of_margin} per row, got {len(found)} domains for {n_rows} rows.")
    for row, domain in enumerate(found):
        if type(domain).__hash__ is None or isinstance(domain, (tuple, Mapping)):
            raise InvalidProblem(
                f"Expected domains{of_margin} that are text or numbers, got {brief(domain)} in row {row}."
            )
    return name, object_array([None if marks_missing(domain) else domain for domain in found])


def _column(name: str, X: Any) -> Any:
    known = names_of_columns(X)
    if not known:
        raise InvalidProblem(f"X has no column names, so domains must be one value per row, got {brief(name)}.")
    if name not in known:
        meant = columns_meant(name, [str(column) for column in known])
        raise InvalidProblem(f"X has no column {brief(name)} for domains; {meant}.")
    return X[name]


def columns_meant(name: str, known: Sequence[str]) -> str:
    """Suggest columns for a name that no column has: those with similar names, or else the first ones."""
    lower = {column.lower(): column for column in known}
    close = [lower[text] for text in difflib.get_close_matches(name.lower(), list(lower))]
    return f"close names are {close}" if close else f"its columns are {[*known[:10], *(['...'] if known[10:] else [])]}"


def _as_list(values: Any) -> list[Any]:
    """The values of all rows as Python objects."""
    if isinstance(values, np.ma.MaskedArray):
        values = values.astype(object)
    for method in ("to_list", "to_pylist", "tolist"):
        if hasattr(values, method):
            found = getattr(values, method)()
            break
    else:
        if isinstance(values, (bytes, Mapping)) or not hasattr(values, "__iter__"):
            raise InvalidProblem(
                f"Expected domains to be one value per row or a column name of X, got {brief(values)}."
            )
        found = list(values)
    if not isinstance(found, list) or any(isinstance(value, list) for value in found):
        raise InvalidProblem("Expected domains with one value per row, got something of another shape.")
    return [value.item() if isinstance(value, np.generic) else value for value in found]


def read_known(
    X: Any,
    y: Any,
    totals: Totals | None,
    population_totals: Totals | None,
    *,
    domains: Any = None,
    as_shares: bool = False,
    sample_weight: Any = None,
) -> Known:
    """Read and check labels, totals, domains and weights; ``y`` may be a `Known` already."""
    if isinstance(y, Known):
        given = {"totals": totals, "population totals": population_totals, "domains": domains, "weights": sample_weight}
        for name, value in given.items():
            if value is not None:
                raise InvalidProblem(f"y already contains {name}: do not pass them again.")
        return y
    from sklearn.utils.validation import _num_samples

    warn_of_column(y)
    n_rows = _num_samples(X)
    weights, divided = read_weights(sample_weight, n_rows), read_domains(domains, X, n_rows)
    stated = stated_totals(totals, population_totals, y=y, domains=divided, as_shares=as_shares)
    known = known_of(y, stated, n_rows=n_rows, domains=divided, weights=weights)
    _refuse_labels_in(X, y)
    return known


def refuse_to_estimate(known: Known, classifier: str) -> None:
    """Refuse totals that are to be estimated by a classifier that does not estimate any."""
    if known.stated.wants_estimates:
        raise InvalidProblem(f"{classifier} cannot estimate totals: pass numbers, or use S2OCTClassifier.")


def _refuse_labels_in(X: Any, y: Any) -> None:
    """Refuse a table with the labels in a column of the same name: its rules would not hold for other rows."""
    name = getattr(y, "name", None)
    if name is None or name not in names_of_columns(X):
        return
    pairs = zip(_as_list(X[name]), _as_list(y), strict=True)
    if all(not marks_missing(value) and value == label for value, label in pairs if not marks_missing(label)):
        raise InvalidProblem(f"Column {name!r} of X has the labels: drop it from X.")


def warn_caller(message: str, category: type[Warning] = S2OCTWarning) -> None:
    """Warn at the line of the user's program: the nearest one outside this package and scikit-learn."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_globals.get("__name__", "").split(".")[0] in ("s2oct", "sklearn"):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)


def warn_of_doubts(doubts: Iterable[str]) -> None:
    """Warn about doubtful input."""
    for doubt in doubts:
        warn_caller(doubt, doubt.category if isinstance(doubt, Message) else S2OCTWarning)


def counted_part(X: Any, known: Known) -> Any:
    """The rows of a table in any form that count."""
    from sklearn.utils import _safe_indexing

    return X if known.counts_all else _safe_indexing(X, known.counted)


def read_complete_labels(y: Any, n_rows: int) -> Labels | None:
    """Labels of two or more classes if every row has one, else None.

    Here -1 is not a marker: without totals it can be a class.
    """
    labels = read_labels(y, n_rows=n_rows, named=[UNLABELED])
    if not labels.counts().all():
        labels = read_labels(y, n_rows=n_rows)  # naming -1 has made it a class, although no row has it
    if not labels.is_labeled.all() or len(labels.classes) < 2 or not labels.counts().all():
        return None
    warn_of_column(y)
    return labels


def warn_of_column(y: Any) -> None:
    """Warn about labels in a table of one column, as scikit-learn does."""
    if getattr(y, "ndim", 1) == 2 and y.shape[1] == 1:
        from sklearn.exceptions import DataConversionWarning

        message = "A column-vector y was passed when a 1d array was expected. Pass y.ravel()."
        warn_caller(message, DataConversionWarning)


def labeled_accuracy(y: Any, predicted: ObjectArray, classes: ObjectArray, sample_weight: Any) -> float:
    """Share of the labeled rows of ``y`` that are predicted correctly; warns if ``y`` has unlabeled rows."""
    labels = read_labels(y, n_rows=len(predicted), named=classes.tolist())
    known = labels.is_labeled
    warn_of_unlabeled(known)
    weights = read_weights(sample_weight, len(predicted))
    truth = labels.classes[labels.codes[known]]
    return float(np.average(truth == predicted[known], weights=None if weights is None else weights[known]))


def warn_of_unlabeled(is_labeled: BoolArray) -> None:
    """Warn if some of the rows to be scored are unlabeled."""
    if not is_labeled.all():
        warn_caller(
            f"{amount((~is_labeled).sum())} of {plural(len(is_labeled), 'row')} to be scored are unlabeled and do not "
            "count. In cross-validation, use LabeledKFold: other splitters take unlabeled rows out of the training "
            "set, and the known totals do not hold for the rest.",
            UnlabeledScoreWarning,
        )


def read_seed(random_state: Any) -> int:
    """Draw a seed from what scikit-learn takes as a random state."""
    from sklearn.utils import check_random_state

    return int(check_random_state(PARAMETERS["random_state"].read(random_state)).randint(2**31 - 1))


def read_replicate_weights(
    given: Any, X: Any, codes: IntArray, classes: ObjectArray, weights: FloatArray | None
) -> FloatArray:
    """Read the factors by which each replicate, a column, multiplies the weights of the labeled rows.

    If the fit has no weights, the mean replicate weight of a row is its weight.

    Parameters
    ----------
    given : array-like, data frame or mapping of shape (n_rows, n_replicates), or list of column names of X
        The replicate weights. Those of unlabeled rows are ignored.
    X : object
        The rows as passed by the user.
    codes : ndarray of shape (n_rows,)
        Class of each labeled row, -1 for the others.
    classes : ndarray of shape (n_classes,)
        Class labels.
    weights : ndarray of shape (n_rows,) or None
        Survey weights of the fit.
    """
    names, table = _table(given, X, len(codes))
    is_labeled = codes != UNLABELED
    labeled = table[is_labeled]
    invalid = np.argwhere(~np.isfinite(labeled) | (labeled < 0)).tolist()
    for row, column in invalid[:1]:
        raise InvalidProblem(
            f"Replicate weights of labeled rows must be finite and at least 0, but row "
            f"{int(np.flatnonzero(is_labeled)[row])} has {labeled[row, column]} in {names[column]}."
        )
    for k, label in enumerate(classes.tolist()):
        empty = np.flatnonzero(~labeled[codes[is_labeled] == k].any(axis=0))
        if len(empty) and (codes == k).any():
            raise InvalidProblem(
                f"Every replicate must keep a label of every class, but {names[empty[0]]} is 0 for all labels of "
                f"{brief(label)}."
            )
    return _factors(labeled, None if weights is None else weights[is_labeled])


def _table(given: Any, X: Any, n_rows: int) -> tuple[list[str], FloatArray]:
    """Names of the replicates, and a table of all rows by all replicates."""
    if isinstance(given, (list, tuple)) and given and all(isinstance(name, str) for name in given):
        missing = [name for name in given if name not in names_of_columns(X)]
        if missing:
            raise InvalidProblem(f"Replicate weights {brief(missing[0])} are not a column of X.")
        given = {name: X[name] for name in given}
    columns = list(given) if isinstance(given, Mapping) else getattr(given, "columns", None)
    try:
        table = np.asarray(
            np.column_stack([np.asarray(part) for part in given.values()]) if isinstance(given, Mapping) else given,
            dtype=float,
        )
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidProblem(f"Expected replicate weights to be numbers, got {brief(given)}.") from error
    if table.ndim != 2 or len(table) != n_rows or table.shape[1] < _MIN_REPLICATES:
        raise InvalidProblem(
            f"Expected replicate weights with {plural(n_rows, 'row')} and at least {_MIN_REPLICATES} columns, one "
            f"for each replicate, got shape {table.shape}."
        )
    names = range(table.shape[1]) if columns is None else columns
    return [f"replicate {brief(name)}" for name in names], table


def _factors(labeled: FloatArray, weights: FloatArray | None) -> FloatArray:
    if weights is None:
        weights = labeled.mean(axis=1)
    else:
        ratio = float(labeled.mean() / weights.mean())
        if not _WEIGHT_RATIOS[0] <= ratio <= _WEIGHT_RATIOS[1]:
            raise InvalidProblem(
                f"Replicate weights must be about as large as the weights of the fit, but are {ratio:.3g} times as "
                "large on average: multiply factors by the weights first."
            )
    return np.asarray(np.divide(labeled, weights[:, None], out=np.zeros_like(labeled), where=weights[:, None] > 0))

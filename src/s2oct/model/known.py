"""What is known about the classes of the rows: labels, totals, domains and weights, read once."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from s2oct.arrays import BoolArray, FloatArray, IntArray, ObjectArray
from s2oct.errors import EstimatedTotalsWarning, InvalidProblem, Notice, OpenTotalsWarning, Remedy
from s2oct.model.labels import UNLABELED, Labels, read_labels, refuse_unusable_classes
from s2oct.model.targets import Margin, Targets
from s2oct.model.totals import NOTHING_STATED, WHOLE, Domains, StatedTotals, read_targets
from s2oct.wording import amount, listed, plural

_ROUNDING = 1e-9

_TELL_NOTHING = "The features do not tell the classes apart"

_NEGLIGIBLE = 1e-9
"""A row with less than this part of the mean weight does not count: sums of weights are no more exact than that."""

_HIDDEN = 0.1
"""Share of the unlabeled rows up to which rows held back are hidden among them: totals hardly say their classes."""


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
    stated : StatedTotals
        The totals as the user stated them.
    counted : ndarray of int or None
        Positions of these rows in the table; None if all its rows count.
    given : Labels or None
        Classes and codes of all rows of the table, if some do not count.
    n_unseen : int
        Unlabeled rows of a register that are not among these rows. The targets count them.
    """

    labels: Labels
    targets: Targets
    weights: FloatArray | None = None
    domains: Domains = ()
    stated: StatedTotals = NOTHING_STATED
    counted: IntArray | None = None
    given: Labels | None = None
    n_unseen: int = 0

    @classmethod
    def complete(cls, labels: Labels, weights: FloatArray | None = None) -> Known:
        """Labels and weights of a table in which every row is labeled, so that there is no total."""
        known = cls.without_totals(labels, weights)
        if known.counted is not None:
            refuse_unusable_classes(known.classes.tolist())
        return known

    @classmethod
    def without_totals(
        cls, given: Labels, weights: FloatArray | None = None, domains: Domains = (), named: Collection[Any] = ()
    ) -> Known:
        """The rows that count, with no total yet; classes that none of them has and that are not named are left out."""
        counted, labels = counted_rows(weights), given
        if counted is not None and weights is not None:
            labels, weights = given.of_rows(counted, named), weights[counted]
            domains = tuple((name, cells[counted]) for name, cells in domains)
        nothing = Targets.exact(np.zeros(len(labels.classes)), int((~labels.is_labeled).sum()))
        return cls(labels, nothing, weights, domains, counted=counted, given=None if counted is None else given)

    def with_totals(self, stated: StatedTotals, unseen: FloatArray | None = None) -> Known:
        """The same with totals; ``unseen`` is what rows of a register count that are not among these."""
        targets = read_targets(self.labels, stated, domains=self.domains, weights=self.weights, unseen=unseen)
        return replace(self, targets=targets, stated=stated)

    @property
    def is_labeled(self) -> BoolArray:
        """Whether each row is labeled."""
        return self.labels.is_labeled

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
        """Rows of the second of two classes if its ranking alone decides: one exact total, and rows count alike."""
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
        # Half a row for a class whose total is 0: some weight keeps it in the forest.
        weights = (np.maximum(totals, 0.5) / np.where(labeled > 0, labeled, 1.0))[codes] * own
        return np.asarray(weights / weights.mean())

    @property
    def unit(self) -> float:
        """Mean weight of an unlabeled row; 1 without weights."""
        return in_mean_weights(self.weights, self.is_labeled)[0]

    @cached_property
    def in_rows(self) -> Known:
        """The same in mean weights of an unlabeled row, so that totals count rows; equal weights are none."""
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
            finding = "The time limit left no time to estimate the totals, so that they are left open"
            return (Notice(finding, Remedy.MORE_TIME, Remedy.GIVE_TOTALS, category=OpenTotalsWarning),)
        if self.stated.is_default:
            return (self._about_estimates(m),)
        if self.stated.is_guess:
            finding = f"{_TELL_NOTHING}, so that the totals to be estimated are a guess: equal shares"
            return (Notice(finding, Remedy.GIVE_TOTALS, category=EstimatedTotalsWarning),)
        if self.stated.tables:
            return ()
        counts = self.targets.class_totals()
        shares = listed([f"{amount(n)} {label!r}" for label, n in zip(self.classes.tolist(), counts, strict=True)])
        finding = f"the class shares of the labeled rows are used, {shares} of {plural(m, 'unlabeled row')}"
        return (Notice(f"No totals were given: {finding}. A biased sample has wrong shares", Remedy.GIVE_TOTALS),)

    def _about_estimates(self, m: int) -> Notice:
        """The totals that the fit has estimated because none were given, and what this assumes."""
        (errors,) = self.targets.margins[0].se
        totals = self.targets.class_totals()
        found = [
            f"{count:,.0f} ± {amount(se, 2)} {label!r}"
            for label, count, se in zip(self.classes.tolist(), totals, errors, strict=True)
        ]
        base = plural(m, "unlabeled row") if self.weights is None else f"a weight of {amount(totals.sum())}"
        right_if = "This is right if whether a row is labeled depends on its class and on nothing else"
        worth = f"{_TELL_NOTHING}, so that these shares are a guess" if self.stated.is_guess else right_if
        return Notice(
            f"No totals were given: they were estimated as {listed(found)} of {base}. {worth}",
            Remedy.GIVE_TOTALS,
            category=EstimatedTotalsWarning,
        )

    def of_counted(self, rows: Any) -> Any:
        """Those rows of an array that count."""
        return rows if self.counted is None else rows[self.counted]

    def positions(self, rows: IntArray) -> IntArray:
        """Where some of the rows are in the table."""
        return rows if self.counted is None else self.counted[rows]

    @property
    def uncounted(self) -> IntArray:
        """Positions of the unlabeled rows of the table that do not count."""
        if self.counted is None or self.given is None:
            return np.empty(0, dtype=np.int64)
        return np.setdiff1d(np.flatnonzero(~self.given.is_labeled), self.counted)

    @property
    def uncounted_classes(self) -> tuple[Any, ...]:
        """Classes of which no row counts: they have labels of weight 0 alone."""
        known = self.classes.tolist()
        return () if self.given is None else tuple(c for c in self.given.classes.tolist() if c not in known)

    def completed(self, classes: ObjectArray, predict: Callable[[IntArray], ObjectArray]) -> ObjectArray:
        """A label for every row of the table.

        Parameters
        ----------
        classes : ndarray of shape (n_rows,)
            The labels of the rows that count.
        predict : callable
            Takes positions of other rows and returns their labels. A row that has a label keeps it.
        """
        if self.counted is None or self.given is None:
            return classes
        found = np.asarray(self.given.classes[np.maximum(self.given.codes, 0)])
        found[self.counted] = classes
        if len(self.uncounted):
            found[self.uncounted] = predict(self.uncounted)
        return found

    def of_unlabeled(self, values: FloatArray) -> FloatArray:
        """Values of all unlabeled rows of the table, given those of the rows that count; NaN for the others."""
        if self.counted is None or self.given is None:
            return values
        everywhere = np.full((len(self.given.codes), *values.shape[1:]), np.nan)
        everywhere[self.counted[~self.is_labeled]] = values
        return np.asarray(everywhere[~self.given.is_labeled])

    def arranged(self, rows: IntArray, classes: IntArray) -> Known:
        """The same with rows and classes in another order."""
        place = np.full(len(classes) + 1, UNLABELED)
        place[classes] = np.arange(len(classes))
        rank = np.cumsum(~self.is_labeled) - 1
        return replace(
            self,
            labels=Labels(self.classes[classes], place[self.labels.codes[rows]]),
            targets=self.targets.arranged(rank[rows[~self.is_labeled[rows]]], classes),
            weights=None if self.weights is None else self.weights[rows],
            domains=tuple((name, cells[rows]) for name, cells in self.domains),
            counted=None,
            given=None,
        )

    def without(self, held: IntArray) -> Known:
        """The same with the labels of some rows held back: these rows join the unlabeled ones, and the totals grow.

        If they are more than a tenth of the unlabeled rows of a domain, exact totals would give their classes away. The
        totals are then intervals that hold whatever classes these rows have.
        """
        codes = self.labels.codes.copy()
        codes[held] = UNLABELED
        divided = [values for _, values in self.domains] or [np.full(len(codes), WHOLE, dtype=object)]
        margins = tuple(self._grown(*pair, held) for pair in zip(self.targets.margins, divided, strict=True))
        return replace(self, labels=Labels(self.classes, codes), targets=Targets(margins))

    def _grown(self, margin: Margin, values: ObjectArray, held: IntArray) -> Margin:
        """A margin with the rows held back among its unlabeled ones."""
        new = [value for value in dict.fromkeys(values[held].tolist()) if value not in margin.domains.tolist()]
        domains = np.array([*margin.domains.tolist(), None], dtype=object)[:-1]
        domains = np.concatenate([domains, np.array([*new, None], dtype=object)[:-1]])
        place = {domain: code for code, domain in enumerate(domains.tolist())}
        here = np.array([place[value] for value in values[held].tolist()], dtype=np.int64)
        of_classes = np.zeros((len(domains), len(self.classes)))
        np.add.at(of_classes, (here, self.labels.codes[held]), self.sizes[held])
        n_held, n_seen = (np.bincount(codes, minlength=len(domains))[:, None] for codes in (here, margin.codes))
        n_others = n_seen * (1 + self.n_unseen / max(len(margin.codes), 1))
        is_hidden = n_held <= _HIDDEN * (n_others + n_held)
        least = np.where(is_hidden, of_classes, 0.0)
        most = np.where(is_hidden, of_classes, of_classes.sum(axis=1, keepdims=True))
        known = np.where(is_hidden, of_classes, np.nan)
        of_rows = np.full(len(values), UNLABELED, dtype=np.int64)
        of_rows[~self.is_labeled], of_rows[held] = margin.codes, here
        low, high, value, se = (
            np.vstack([part, np.zeros((len(new), part.shape[1]))])
            for part in (margin.low, margin.high, margin.value, margin.se)
        )
        codes = of_rows[of_rows != UNLABELED]
        return replace(
            margin, domains=domains, codes=codes, low=low + least, high=high + most, value=value + known, se=se
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
    """Put together what is known about the classes of the rows, and leave out the rows that do not count.

    Parameters
    ----------
    y : array-like of shape (n_rows,)
        Labels, with markers for unlabeled rows.
    stated : StatedTotals
        The totals.
    n_rows : int, optional
        How many rows there are; another number of labels is an error.
    domains : sequence of (str, ndarray of shape (n_rows,))
        For each margin its name and the domain of each row; empty for the whole table.
    weights : ndarray of shape (n_rows,), optional
        Survey weights, checked.
    also : sequence
        Further classes.
    unseen : ndarray of shape (n_rows,), optional
        What unlabeled rows of a register count that are not among these rows, beside one of their domain.
    n_unseen : int
        How many these are.
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
    """Refuse labeled rows, or unlabeled ones, none of which counts."""
    counts = _count(weights)
    for which, rows in (("labeled", is_labeled), ("unlabeled", ~is_labeled)):
        if rows.any() and not counts[rows].any():
            raise InvalidProblem(
                f"Expected a positive weight of at least one {which} row, got weights of 0, or nearly 0, for all "
                f"{int(rows.sum())} of them."
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

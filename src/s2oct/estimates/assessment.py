"""Accuracy of a classifier on the unlabeled rows, from labels held out of the fit and weighted to class shares.

Which rows are labeled may depend on their class. Each class is therefore judged by its own held-out labels, and the
classes are weighted by their shares of the unlabeled rows, which the totals give.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.stats import beta

from s2oct.arrays import BoolArray, FloatArray, IntArray
from s2oct.errors import ChanceLevelWarning, FewLabelsWarning, InvalidProblem, Notice, Remedy
from s2oct.problem.known import Known
from s2oct.problem.labels import FEW_LABELS
from s2oct.problem.totals import Margin
from s2oct.wording import aligned, listed, percentage, plural, printable

N_FOLDS = 10
"""Default number of folds: a fit without one of them has 90 % of the labels."""

LONG_FIT = 20.0
"""Longest fit, in seconds, that a report, page or path repeats for every fold."""

CONFIDENCE = 0.95
"""Confidence level of the interval of the accuracy."""

_LEAST = 2
"""Minimum number of labels of a class for holding one out while another stays."""

_HALF = 0.5
"""Jeffreys' prior: half a right and half a wrong row; otherwise, a small error-free sample would have zero variance."""

_MOST_DISAGREEMENT = 0.2
"""Share of rows beyond which classifiers do not differ by blocks of rows: gains and losses then cancel each other."""


@dataclass(frozen=True)
class ClassAssessment:
    """Expected recall and precision of one class.

    Attributes
    ----------
    label : object
        The class.
    n_labels : int
        Number of its labeled rows; with fewer than 2, none can be held out, and nothing is known.
    share : float
        Its share of the unlabeled rows.
    recall, recall_se : float
        Share of the rows of this class that are assigned to it, and its standard error; NaN if unknown.
    precision, precision_se : float
        Share of the rows assigned to this class that belong to it, and its standard error; NaN if no row is assigned to
        it, or if some class has no held-out row, so that its share of these rows is unknown.
    """

    label: Any
    n_labels: int
    share: float
    recall: float
    recall_se: float
    precision: float
    precision_se: float


@dataclass(frozen=True)
class Assessment:
    """The expected accuracy on the unlabeled rows; prints as a table with sentences.

    Attributes
    ----------
    accuracy, accuracy_se : float
        Expected share of correctly classified unlabeled rows, and its standard error.
    interval : tuple of float
        Confidence interval of the accuracy, at a level of 95 %.
    chance : float
        Accuracy of randomly drawn classes with the same totals.
    per_class : tuple of ClassAssessment
        Recall and precision of each class.
    n_labels, n_folds : int
        Numbers of labeled rows and of folds.
    n_unlabeled : int
        Number of unlabeled rows; with none, the accuracy is that of new rows with the class shares of the labeled ones.
    is_estimated : bool
        Whether the shares of the classes are estimates.
    agreed : float
        Share of rows on which all near-optimal trees agree with the tree; NaN if no such trees are known.
    agreed_accuracy, agreed_accuracy_se : float
        Accuracy on these rows, and its standard error; NaN if unknown.
    """

    accuracy: float
    accuracy_se: float
    interval: tuple[float, float]
    chance: float
    per_class: tuple[ClassAssessment, ...]
    n_labels: int
    n_folds: int
    n_unlabeled: int
    is_estimated: bool
    agreed: float
    agreed_accuracy: float
    agreed_accuracy_se: float

    @property
    def headline(self) -> str:
        """The accuracy in one sentence."""
        low, high = map(percentage, self.interval)
        known = "totals" if self.n_unlabeled else "shares"
        return (
            f"About {percentage(self.accuracy)} of {self._judged_rows} are expected to be classified correctly "
            f"({percentage(CONFIDENCE)} interval {low} to {high}); chance with the same {known} gives "
            f"{percentage(self.chance)}."
        )

    @property
    def _judged_rows(self) -> str:
        return "the unlabeled rows" if self.n_unlabeled else "further rows like the labeled ones"

    @property
    def method(self) -> str:
        """The method, in sentences."""
        weighted = "The classes have their shares among the labels, so that no bias of the sample is corrected."
        if self.n_unlabeled:
            weighted = (
                f"The classes are weighted to their {'estimated' if self.is_estimated else 'known'} shares. This "
                "corrects a sample in which some classes are labeled more often, but no bias within a class."
            )
        return (
            f"{plural(self.n_labels, 'label')} were held out once each, in {plural(self.n_folds, 'fold')}: guide and "
            f"tree were fitted without them. {weighted} The held-out fits have fewer labels than the fit itself, and "
            "may be slightly worse."
        )

    @property
    def cautions(self) -> tuple[Notice, ...]:
        """Limitations, the most serious first."""
        return (*self.new_cautions, *self._few_labels())

    @property
    def new_cautions(self) -> tuple[Notice, ...]:
        """The same without warnings about classes with few labels, which the fit has already issued."""
        return (*self._chance_level(), *self._not_held_out())

    def _chance_level(self) -> tuple[Notice, ...]:
        low, high = self.interval
        if max(found.share for found in self.per_class) == 1:  # chance is always right, and nothing can be better
            return ()
        if self.accuracy <= self.chance:
            finding = "The tree is not better than chance on held-out labels"
        elif low <= self.chance:
            finding = "There are too few labels to tell whether the tree is better than chance"
        else:
            return ()
        interval = f"interval {percentage(low)} to {percentage(high)}"
        numbers = f"accuracy {percentage(self.accuracy)}, {interval}, chance {percentage(self.chance)}"
        return (Notice(f"{finding} ({numbers})", Remedy.MORE_EVIDENCE, category=ChanceLevelWarning),)

    def _not_held_out(self) -> tuple[Notice, ...]:
        alone = [found for found in self.per_class if found.n_labels < _LEAST and found.share > 0]
        if not alone:
            return ()
        share = percentage(sum(found.share for found in alone), 1)
        unknown = f"nothing is known about {share} of {self._judged_rows}"
        finding = f"No label of {_named(alone)} can be held out, so {unknown}"
        return (Notice(finding, Remedy.LABEL_MORE, category=FewLabelsWarning),)

    def _few_labels(self) -> tuple[Notice, ...]:
        few = [found for found in self.per_class if _LEAST <= found.n_labels < FEW_LABELS]
        if not few:
            return ()
        finding = f"Too few labels to assess {_named(few)} reliably"
        return (Notice(finding, Remedy.LABEL_MORE, category=FewLabelsWarning),)

    def __str__(self) -> str:
        return "\n".join([self.text, *self.cautions])

    @property
    def text(self) -> str:
        """The accuracy, a table of the classes, and the method."""
        cells = [
            (
                printable(found.label),
                str(found.n_labels),
                percentage(found.share, 1),
                with_error(found.recall, found.recall_se),
                with_error(found.precision, found.precision_se),
            )
            for found in self.per_class
        ]
        lines = aligned([("class", "labels", "share", "recall", "precision"), *cells])
        agreed = [self.about_agreement] if self.about_agreement else []
        return "\n".join([self.headline, "", *lines, "", *agreed, self.method])

    @property
    def about_agreement(self) -> str:
        """The accuracy on rows where all near-optimal trees agree, in a sentence; empty if unknown."""
        if np.isnan(self.agreed_accuracy):
            return ""
        return (
            f"All near-optimal trees agree on {percentage(self.agreed)} of the held-out rows; "
            f"{percentage(self.agreed_accuracy)} ± {percentage(self.agreed_accuracy_se)} of these are right."
        )


def _named(classes: Sequence[ClassAssessment]) -> str:
    return listed([f"class {found.label!r} ({plural(found.n_labels, 'label')})" for found in classes])


def with_error(value: float, error: float) -> str:
    """Return a share with its standard error, as text, or say that it is unknown."""
    return "not known" if np.isnan(value) else f"{percentage(value, 1)} ± {percentage(error, 1)}"


def held_out_folds(codes: IntArray, n_folds: int = N_FOLDS, seed: int = 0) -> list[IntArray]:
    """Divide labeled rows into folds with about the same number of rows of each class.

    The only label of a class stays in every fit. A class with fewer labels than folds is only in some folds, so that
    every fit keeps most of its labels.

    Parameters
    ----------
    codes : ndarray of shape (n_rows,)
        Class of each row, -1 for unlabeled rows.
    n_folds : int
        Number of folds, at least 2.
    seed : int
        Seed for shuffling the rows of each class.

    Returns
    -------
    list of ndarray
        Row numbers of each fold.
    """
    rng = np.random.default_rng(seed)
    of_classes = [rng.permutation(np.flatnonzero(codes == k)) for k in range(int(codes.max(initial=-1)) + 1)]
    rows = np.concatenate([np.empty(0, dtype=np.int64), *(rows for rows in of_classes if len(rows) >= _LEAST)])
    if not len(rows):
        raise InvalidProblem(
            "No class has two labeled rows, so no label can be held out to assess the tree: label more rows."
        )
    return [np.sort(rows[first::n_folds]) for first in range(min(n_folds, len(rows)))]


def mean_shares(found: Sequence[IntArray], sizes: FloatArray, n_classes: int) -> FloatArray | None:
    """Return the share of each class among rows of these sizes, averaged over classifiers; None without rows."""
    if not len(sizes):
        return None
    return np.asarray(
        np.mean([np.bincount(classes, weights=sizes, minlength=n_classes) for classes in found], axis=0) / sizes.sum()
    )


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Labels and known class shares by which held-out predictions are judged.

    Attributes
    ----------
    known : Known
        Labels, totals and weights.
    rows : ndarray of shape (n_held,)
        Labeled rows that were held out.
    n_folds : int
        Number of folds.
    """

    known: Known
    rows: IntArray
    n_folds: int

    @classmethod
    def of_folds(cls, known: Known, folds: Sequence[IntArray]) -> HeldOut:
        """Return the rows of these folds."""
        return cls(known, np.sort(np.concatenate(folds)), len(folds))

    @property
    def truth(self) -> IntArray:
        """Class of each held-out row."""
        return self.known.labels.codes[self.rows]

    @property
    def shares(self) -> FloatArray:
        """Share of each class among the unlabeled rows, or among the labeled ones if no row is unlabeled."""
        totals = self.known.targets.class_totals()
        counts = totals if totals.sum() > 0 else self.known.labels.counts().astype(float)
        return np.asarray(counts / counts.sum())

    @property
    def weights(self) -> FloatArray:
        """Weight of each held-out row: survey weights within a class, which add up to the share of the class.

        Classes without held-out rows are omitted, and the others keep their proportions.
        """
        sizes, truth = self.known.sizes[self.rows], self.truth
        of_class = np.bincount(truth, weights=sizes, minlength=len(self.shares))
        share = np.where(of_class > 0, self.shares, 0.0)
        if share.sum() == 0:  # only classes without unlabeled rows can be judged
            share = of_class
        return np.asarray((share / share.sum() / np.where(of_class > 0, of_class, 1.0))[truth] * sizes)

    def score(self, right: BoolArray) -> float:
        """Return the share of correctly classified rows, weighted to the known shares."""
        return float(self.weights @ right)

    def difference(self, one: BoolArray, other: BoolArray) -> tuple[float, float]:
        """Return the difference in accuracy between two classifiers, and its standard error, from paired rows."""
        gain = one.astype(float) - other
        variance = 0.0
        for k, share in enumerate(self.shares):
            of_class, n_rows = gain[self.truth == k], self._sizes[k]
            if n_rows:
                # One gain, one loss and one tie are added, so that a small sample without differences has a variance.
                variance += share**2 * float(np.var([*of_class, -1.0, 0.0, 1.0])) / n_rows
        return float(self.weights @ gain), float(np.sqrt(variance))

    def assess(
        self,
        assigned: IntArray,
        agreed: FloatArray | None = None,
        disagreement: float = 0.0,
        assigned_shares: FloatArray | None = None,
    ) -> Assessment:
        """Assess the classes assigned to held-out rows.

        Parameters
        ----------
        assigned : ndarray of shape (n_rows,)
            Class assigned to each labeled row while it was held out.
        agreed : ndarray of shape (n_rows,), optional
            Whether all near-optimal trees assign the row to this class, 1 or 0; NaN if no such trees are known.
        disagreement : float
            Mean share of the unlabeled rows on which the classifier to assess differs from those of the folds.
        assigned_shares : ndarray of shape (n_classes,), optional
            Mean share of the unlabeled rows that the classifiers of the folds assign to each class; by default, that of
            the totals.

        Returns
        -------
        Assessment
            Accuracy, recall and precision, with standard errors.
        """
        shares, rates = self.shares, self._rates(assigned[self.rows])
        n = self._sizes
        recall = np.where(n > 0, np.diag(rates), np.nan)
        center = (np.nan_to_num(recall) * n + _HALF) / (n + 1)
        recall_variance = center * (1 - center) / (n + 2)
        # Nothing is known about a class without held-out rows, except that rows assigned to it that do not belong to
        # other classes are its own. Its variance is that of its prior.
        own = (shares if assigned_shares is None else assigned_shares) - shares @ rates
        implied = np.clip(own / np.where(shares > 0, shares, 1.0), 0.0, 1.0)
        accuracy = float(shares @ np.where(n > 0, np.nan_to_num(recall), implied))
        middle = np.where(n > 0, center, implied)
        # Where it differs from the classifiers of the folds, it may be right more or less often than they are: the gain
        # is uniformly distributed between minus and plus the share of these rows.
        gain_variance = min(disagreement, _MOST_DISAGREEMENT) ** 2 / 3
        variance = float(shares**2 @ recall_variance) + self._variance_of_shares(middle) + gain_variance
        precision = [self._precision(rates, k) for k in range(len(shares))]
        counts = self.known.labels.counts()
        return Assessment(
            accuracy=accuracy,
            accuracy_se=float(np.sqrt(variance)),
            interval=_interval(accuracy, float(shares @ middle), variance),
            chance=float(shares @ shares),
            per_class=tuple(
                ClassAssessment(
                    label=label,
                    n_labels=int(counts[k]),
                    share=float(shares[k]),
                    recall=float(recall[k]),
                    recall_se=float(np.sqrt(recall_variance[k])) if n[k] else np.nan,
                    precision=precision[k][0],
                    precision_se=precision[k][1],
                )
                for k, label in enumerate(self.known.classes.tolist())
            ),
            n_labels=len(self.rows),
            n_folds=self.n_folds,
            n_unlabeled=int((~self.known.is_labeled).sum()) + self.known.n_unseen,
            is_estimated=any(bool((margin.se > 0).any()) for margin in self.known.targets.margins),
            **_agreement(self, assigned, agreed),
        )

    @property
    def _sizes(self) -> FloatArray:
        """Number of held-out rows of each class; with survey weights, Kish's effective sample size."""
        sizes, n_classes = self.known.sizes[self.rows], len(self.known.classes)
        added = np.bincount(self.truth, weights=sizes, minlength=n_classes)
        squares = np.bincount(self.truth, weights=sizes**2, minlength=n_classes)
        return np.asarray(added**2 / np.where(squares > 0, squares, 1.0))

    def _rates(self, assigned: IntArray) -> FloatArray:
        """Return the share of each class assigned to each class, shape (n_classes, n_classes); 0 if unknown."""
        return np.column_stack([self._rate(assigned == k) for k in range(len(self.known.classes))])

    def _rate(self, flags: BoolArray) -> FloatArray:
        """Return the share of flagged rows in each class; 0 for a class without rows."""
        sizes, n_classes = self.known.sizes[self.rows], len(self.known.classes)
        flagged = np.bincount(self.truth, weights=sizes * flags, minlength=n_classes)
        added = np.bincount(self.truth, weights=sizes, minlength=n_classes)
        return np.asarray(flagged / np.where(added > 0, added, 1.0))

    def _precision(self, rates: FloatArray, k: int) -> tuple[float, float]:
        """Return the share of rows assigned to class k that belong to it, and its standard error; NaN if unknown."""
        if not self._sizes[k] or (self.shares[self._sizes == 0] > 0).any():
            return np.nan, np.nan
        is_k = np.arange(len(rates)) == k
        return _ratio(
            self.shares, np.where(is_k, rates[:, k], np.nan), np.where(is_k, np.nan, rates[:, k]), self._sizes
        )

    def _variance_of_shares(self, recall: FloatArray) -> float:
        """Return the variance due to uncertain totals: accuracy depends on shares if recall differs by class."""
        totals = self.known.targets.class_totals()
        if not totals.sum() > 0:
            return 0.0
        if self.known.stated.tables:
            of_classes = _variance_of_totals(self.known.targets.margins[0]) / totals.sum() ** 2
        else:  # the shares are those of the labeled rows
            of_classes = self.shares * (1 - self.shares) / self.known.labels.counts().sum()
        uncertain = of_classes > 0
        k = int(uncertain.sum())
        if k < 2:  # what one class gains, the others lose
            return float(((recall - recall.mean()) ** 2 * of_classes).sum())
        deviation = recall - recall[uncertain].mean()
        # Shares add up to 1: what one of two classes gains, the other loses, which doubles the sum.
        return float(k / (k - 1) * (deviation**2 * of_classes).sum())


def _agreement(held: HeldOut, assigned: IntArray, agreed: FloatArray | None) -> dict[str, float]:
    """Return share and accuracy of the rows on which near-optimal trees agree, from rows with such trees."""
    rows = held.rows[:0] if agreed is None else held.rows[~np.isnan(agreed[held.rows])]
    if agreed is None or not len(rows):
        return {"agreed": np.nan, "agreed_accuracy": np.nan, "agreed_accuracy_se": np.nan}
    found = replace(held, rows=rows)
    alike, right = agreed[rows] == 1, assigned[rows] == found.truth
    accuracy, error = _ratio(found.shares, found._rate(alike & right), found._rate(alike & ~right), found._sizes)
    return {"agreed": found.score(alike), "agreed_accuracy": accuracy, "agreed_accuracy_se": error}


def _variance_of_totals(margin: Margin) -> FloatArray:
    """Return the variance of the total of each class over all domains, shape (n_classes,)."""
    is_open = np.isnan(margin.value)
    spread = (margin.high - margin.low) ** 2 / 12  # of a uniform distribution between the bounds
    # A class that gets the remaining rows is as uncertain as all others together.
    remaining = np.where(is_open, 0.0, margin.se**2).sum(axis=1, keepdims=True)
    is_remainder = is_open & (is_open.sum(axis=1, keepdims=True) == 1)
    of_cells = np.where(is_remainder, remaining, np.where(is_open, spread, margin.se**2))
    return np.asarray(of_cells.sum(axis=0))


def _ratio(shares: FloatArray, hits: FloatArray, misses: FloatArray, n: FloatArray) -> tuple[float, float]:
    """Return hits over hits and misses, summed over classes by share, and the standard error (delta method).

    ``hits`` and ``misses`` are shares of the rows of each class; NaN for classes whose rows can be neither.
    """
    raw_hits, raw_misses = np.nan_to_num(hits), np.nan_to_num(misses)
    among = float(shares @ (raw_hits + raw_misses))
    if among <= 0:
        return np.nan, np.nan
    soft_hits, soft_misses = (np.nan_to_num((rate * n + _HALF) / (n + 1)) for rate in (hits, misses))
    soft = float(shares @ (soft_hits + soft_misses))
    ratio = float(shares @ soft_hits) / soft
    by_hits, by_misses = shares * (1 - ratio) / soft, -shares * ratio / soft
    mean = by_hits * soft_hits + by_misses * soft_misses
    square = by_hits**2 * soft_hits + by_misses**2 * soft_misses
    variance = float((np.maximum(square - mean**2, 0.0) / (n + 2)).sum())
    return float(shares @ raw_hits) / among, float(np.sqrt(variance))


def _interval(accuracy: float, center: float, variance: float) -> tuple[float, float]:
    """Return an interval within 0 and 1, from the beta distribution with this mean and variance."""
    strength = max(center * (1 - center) / variance - 1, 0.1)
    tail = (1 - CONFIDENCE) / 2
    low, high = (float(beta.ppf(part, center * strength, (1 - center) * strength)) for part in (tail, 1 - tail))
    return min(low, accuracy), max(high, accuracy)

"""How often a classifier is right on the unlabeled rows: labels held out of the fit, weighted to class shares.

Which rows are labeled may depend on their class. So each class is judged by its own held-out labels, and the classes
are put together by their shares of the unlabeled rows, which the totals say.
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
from s2oct.problem.targets import Margin
from s2oct.wording import listed, percentage, plural, printable

N_FOLDS = 10
"""Parts into which labeled rows are divided: a fit without one of them has 90 % of the labels."""

LONG_FIT = 20.0
"""Seconds of a fit beyond which no report, page or path repeats it for every fold."""

CONFIDENCE = 0.95
"""Confidence level of the interval of the accuracy."""

_LEAST = 2
"""Labels of a class from which on some can be held out while others stay."""

_HALF = 0.5
"""Jeffreys' prior: half a right and half a wrong row, or a small error-free sample would have no variance."""

_MOST_APART = 0.2
"""Share of rows beyond which classifiers do not differ by blocks of rows: gains and losses then cancel each other."""


@dataclass(frozen=True)
class ClassAssessment:
    """What is expected of one class.

    Attributes
    ----------
    label : object
        The class.
    n_labels : int
        Its labeled rows; with fewer than 2, none can be held out, and nothing is known.
    share : float
        Its share of the unlabeled rows.
    recall, recall_se : float
        Share of the rows of this class that are put into it, and its standard error; NaN if not known.
    precision, precision_se : float
        Share of the rows put into this class that are of it, and its standard error; NaN if there is no such row, or if
        a class has none that was held out: nobody knows how many of its rows are put here.
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
    """The expected accuracy on the unlabeled rows; printed, a table and sentences.

    Attributes
    ----------
    accuracy, accuracy_se : float
        Share of the unlabeled rows whose class is expected to be right, and its standard error.
    interval : tuple of float
        Interval of the accuracy at a confidence level of 95 %.
    chance : float
        Accuracy of classes drawn at random with the same totals.
    per_class : tuple of ClassAssessment
        The same for each class: recall and precision.
    n_labels, n_folds : int
        Labeled rows, and parts into which they were divided.
    n_unlabeled : int
        Unlabeled rows; with none, the accuracy is that of further rows with the shares of the labeled ones.
    is_estimated : bool
        Whether the shares of the classes are estimates.
    agreed : float
        Share of rows on which all near-optimal trees agree with the tree; NaN if no such trees are known.
    agreed_accuracy, agreed_accuracy_se : float
        Accuracy on these rows, and its standard error; NaN if not known.
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
        """How it was found, in sentences."""
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
        """What a reader should know of its limits, the gravest first."""
        return (*self.new_cautions, *self._few_labels())

    @property
    def new_cautions(self) -> tuple[Notice, ...]:
        """The same without classes that have few labels, of which the fit itself has warned."""
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
        named = listed([f"class {found.label!r} ({plural(found.n_labels, 'label')})" for found in alone])
        share = percentage(sum(found.share for found in alone), 1)
        finding = f"No label of {named} can be held out, so nothing is known about {share} of {self._judged_rows}"
        return (Notice(finding, Remedy.LABEL_MORE, category=FewLabelsWarning),)

    def _few_labels(self) -> tuple[Notice, ...]:
        few = [found for found in self.per_class if _LEAST <= found.n_labels < FEW_LABELS]
        if not few:
            return ()
        named = listed([f"class {found.label!r} ({plural(found.n_labels, 'label')})" for found in few])
        finding = f"Too few labels to assess {named} reliably"
        return (Notice(finding, Remedy.LABEL_MORE, category=FewLabelsWarning),)

    def __str__(self) -> str:
        return "\n".join([self.text, *self.cautions])

    @property
    def text(self) -> str:
        """The accuracy, a table of the classes, and how it was found."""
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
        table = [("class", "labels", "share", "recall", "precision"), *cells]
        widths = [max(map(len, column)) for column in zip(*table, strict=True)]
        lines = [
            "  ".join(f"{cell:{'<' if number == 0 else '>'}{width}s}" for number, (cell, width) in enumerate(row))
            for row in (tuple(zip(line, widths, strict=True)) for line in table)
        ]
        agreed = [self.about_agreement] if self.about_agreement else []
        return "\n".join([self.headline, "", *lines, "", *agreed, self.method])

    @property
    def about_agreement(self) -> str:
        """How good the rows are on which all near-optimal trees agree, in a sentence; empty if not known."""
        if np.isnan(self.agreed_accuracy):
            return ""
        return (
            f"All near-optimal trees agree on {percentage(self.agreed)} of the held-out rows; "
            f"{percentage(self.agreed_accuracy)} ± {percentage(self.agreed_accuracy_se)} of these are right."
        )


def with_error(value: float, error: float) -> str:
    """A share with its standard error, or that it is not known."""
    return "not known" if np.isnan(value) else f"{percentage(value, 1)} ± {percentage(error, 1)}"


def held_out_folds(codes: IntArray, n_folds: int = N_FOLDS, seed: int = 0) -> list[IntArray]:
    """Divide labeled rows into parts that have about the same number of rows of each class.

    A label that is the only one of its class stays in every fit. A class with fewer labels than folds is in some folds
    only, so that every fit keeps most of its labels.

    Parameters
    ----------
    codes : ndarray of shape (n_rows,)
        Class of each row, -1 for unlabeled rows.
    n_folds : int
        Number of parts, at least 2.
    seed : int
        Shuffles the rows of each class.

    Returns
    -------
    list of ndarray
        Row numbers of each part.
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
    """Share of each class among rows of these sizes, in the mean of several classifiers; None without rows."""
    if not len(sizes):
        return None
    return np.asarray(
        np.mean([np.bincount(classes, weights=sizes, minlength=n_classes) for classes in found], axis=0) / sizes.sum()
    )


@dataclass(frozen=True, eq=False)
class HeldOut:
    """The labeled rows and what is known of the classes of the unlabeled ones, to judge held-out predictions by.

    Attributes
    ----------
    known : Known
        Labels, totals and weights.
    rows : ndarray of shape (n_held,)
        Labeled rows that were held out.
    n_folds : int
        Folds in which they were.
    """

    known: Known
    rows: IntArray
    n_folds: int

    @classmethod
    def of_folds(cls, known: Known, folds: Sequence[IntArray]) -> HeldOut:
        """The rows of these folds."""
        return cls(known, np.sort(np.concatenate(folds)), len(folds))

    @property
    def truth(self) -> IntArray:
        """Class of each held-out row."""
        return self.known.labels.codes[self.rows]

    @property
    def shares(self) -> FloatArray:
        """Share of each class among the unlabeled rows; among the labeled ones if no row is unlabeled."""
        totals = self.known.targets.class_totals()
        counts = totals if totals.sum() > 0 else self.known.labels.counts().astype(float)
        return np.asarray(counts / counts.sum())

    @property
    def weights(self) -> FloatArray:
        """What each held-out row counts: survey weights within a class, which add up to the share of the class.

        Classes without a held-out row are left out, and the others keep their proportions.
        """
        sizes, truth = self.known.sizes[self.rows], self.truth
        of_class = np.bincount(truth, weights=sizes, minlength=len(self.shares))
        share = np.where(of_class > 0, self.shares, 0.0)
        if share.sum() == 0:  # only classes of which no row is unlabeled can be judged
            share = of_class
        return np.asarray((share / share.sum() / np.where(of_class > 0, of_class, 1.0))[truth] * sizes)

    def score(self, right: BoolArray) -> float:
        """Share of right rows, weighted to the known shares."""
        return float(self.weights @ right)

    def difference(self, one: BoolArray, other: BoolArray) -> tuple[float, float]:
        """How much more often one classifier is right than another, and the standard error, row by row."""
        gain = one.astype(float) - other
        variance = 0.0
        for k, share in enumerate(self.shares):
            of_class, n_rows = gain[self.truth == k], self._sizes[k]
            if n_rows:
                # One gain, one loss and one tie are added: a small sample without a difference has some variance.
                variance += share**2 * float(np.var([*of_class, -1.0, 0.0, 1.0])) / n_rows
        return float(self.weights @ gain), float(np.sqrt(variance))

    def assess(
        self,
        assigned: IntArray,
        agreed: FloatArray | None = None,
        apart: float = 0.0,
        placed: FloatArray | None = None,
    ) -> Assessment:
        """Judge the classes that held-out rows got.

        Parameters
        ----------
        assigned : ndarray of shape (n_rows,)
            Class that each labeled row got while it was held out.
        agreed : ndarray of shape (n_rows,), optional
            Whether all near-optimal trees put it into this class, 1 or 0; NaN where no such trees are known.
        apart : float
            Share of the unlabeled rows on which the classifier to assess differs from those of the folds, in the mean.
        placed : ndarray of shape (n_classes,), optional
            Share of the unlabeled rows that the classifiers of the folds put into each class, in the mean; by default
            that of the totals.

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
        # Nothing is known of a class without a held-out row, except that rows put into it that are not of other classes
        # are its own. It has all the doubt of its prior.
        own = (shares if placed is None else placed) - shares @ rates
        implied = np.clip(own / np.where(shares > 0, shares, 1.0), 0.0, 1.0)
        accuracy = float(shares @ np.where(n > 0, np.nan_to_num(recall), implied))
        middle = np.where(n > 0, center, implied)
        # Where it differs from the classifiers of the folds, it may be right more often than they are, or less often:
        # the gain is between the share of these rows and its negative, each value as likely as any other.
        gain_variance = min(apart, _MOST_APART) ** 2 / 3
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
        """Held-out rows of each class; with survey weights, how many equally weighted rows they are worth (Kish)."""
        sizes, n_classes = self.known.sizes[self.rows], len(self.known.classes)
        added = np.bincount(self.truth, weights=sizes, minlength=n_classes)
        squares = np.bincount(self.truth, weights=sizes**2, minlength=n_classes)
        return np.asarray(added**2 / np.where(squares > 0, squares, 1.0))

    def _rates(self, assigned: IntArray) -> FloatArray:
        """Share of each class that is put into each class, shape (n_classes, n_classes); 0 where nothing is known."""
        n_classes = len(self.known.classes)
        counts = np.zeros((n_classes, n_classes))
        np.add.at(counts, (self.truth, assigned), self.known.sizes[self.rows])
        added = counts.sum(axis=1, keepdims=True)
        return np.asarray(counts / np.where(added > 0, added, 1.0))

    def _precision(self, rates: FloatArray, k: int) -> tuple[float, float]:
        """Share of the rows put into class k that are of it, and its standard error; NaN if nothing is known."""
        if not self._sizes[k] or (self.shares[self._sizes == 0] > 0).any():
            return np.nan, np.nan
        is_k = np.arange(len(rates)) == k
        return _ratio(
            self.shares, np.where(is_k, rates[:, k], np.nan), np.where(is_k, np.nan, rates[:, k]), self._sizes
        )

    def _variance_of_shares(self, recall: FloatArray) -> float:
        """What uncertain totals add: the accuracy changes with the shares where classes differ in their recall."""
        totals = self.known.targets.class_totals()
        if not totals.sum() > 0:
            return 0.0
        if self.known.stated.tables:
            of_classes = _variance_of_totals(self.known.targets.margins[0]) / totals.sum() ** 2
        else:  # the shares are those of the labeled rows
            of_classes = self.shares * (1 - self.shares) / self.known.labels.counts().sum()
        uncertain = of_classes > 0
        k = int(uncertain.sum())
        if k < 2:  # the other classes make up for what one has more
            return float(((recall - recall.mean()) ** 2 * of_classes).sum())
        apart = recall - recall[uncertain].mean()
        # Shares add up to 1: what one of two classes has more, the other lacks, which doubles the sum.
        return float(k / (k - 1) * (apart**2 * of_classes).sum())

    def _rate(self, flags: BoolArray) -> FloatArray:
        """Share of flagged rows in each class."""
        sizes, n_classes = self.known.sizes[self.rows], len(self.known.classes)
        flagged = np.bincount(self.truth, weights=sizes * flags, minlength=n_classes)
        added = np.bincount(self.truth, weights=sizes, minlength=n_classes)
        return np.asarray(flagged / np.where(added > 0, added, 1.0))


def _agreement(held: HeldOut, assigned: IntArray, agreed: FloatArray | None) -> dict[str, float]:
    """Share and accuracy of the rows on which near-optimal trees agree, by the rows for which such trees are known."""
    rows = held.rows[:0] if agreed is None else held.rows[~np.isnan(agreed[held.rows])]
    if agreed is None or not len(rows):
        return {"agreed": np.nan, "agreed_accuracy": np.nan, "agreed_accuracy_se": np.nan}
    found = replace(held, rows=rows)
    alike, right = agreed[rows] == 1, assigned[rows] == found.truth
    accuracy, error = _ratio(found.shares, found._rate(alike & right), found._rate(alike & ~right), found._sizes)
    return {"agreed": found.score(alike), "agreed_accuracy": accuracy, "agreed_accuracy_se": error}


def _variance_of_totals(margin: Margin) -> FloatArray:
    """Variance of the total of each class over all domains, shape (n_classes,)."""
    is_open = np.isnan(margin.value)
    spread = (margin.high - margin.low) ** 2 / 12  # of a number between two bounds, each as likely as any other
    # A class that gets the remaining rows is as uncertain as the others together.
    remaining = np.where(is_open, 0.0, margin.se**2).sum(axis=1, keepdims=True)
    is_remainder = is_open & (is_open.sum(axis=1, keepdims=True) == 1)
    of_cells = np.where(is_remainder, remaining, np.where(is_open, spread, margin.se**2))
    return np.asarray(of_cells.sum(axis=0))


def _ratio(shares: FloatArray, hits: FloatArray, misses: FloatArray, n: FloatArray) -> tuple[float, float]:
    """Hits over hits and misses, added up over classes by their shares, and the standard error (delta method).

    Shares of the rows of each class that are hits or misses; NaN for classes whose rows cannot be either.
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
    """An interval within 0 and 1: that of the beta distribution with this mean and variance."""
    strength = max(center * (1 - center) / variance - 1, 0.1)
    tail = (1 - CONFIDENCE) / 2
    low, high = (float(beta.ppf(part, center * strength, (1 - center) * strength)) for part in (tail, 1 - tail))
    return min(low, accuracy), max(high, accuracy)

"""Counts by domain and class from replicates of a fit, corrected by held-out labels, with standard errors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import stdtrit

from s2oct.arrays import BoolArray, FloatArray, IntArray, ObjectArray
from s2oct.estimates.replicates import BOOTSTRAP, Drawing, Replicate
from s2oct.estimates.table import COLUMNS
from s2oct.problem.known import Known
from s2oct.problem.labels import UNLABELED
from s2oct.problem.targets import Targets
from s2oct.wording import listed

# From predicted classes to probabilities of true classes: what held-out labels show of the tree's mistakes.

PRIOR_ROWS = 1.0
"""Rows of the known shares that are added to the held-out rows of each predicted class: few labels prove little."""

POWERS = (0.0, 0.25, 0.5, 0.75, 1.0)
"""Powers of the guide's probabilities and of the tree's confusion that are tried."""

RAKINGS = 200
"""Passes over the cells in which probabilities are made to add up to the totals, at most."""

LEAST = 1e-3
"""Probabilities are at least this: one surprise among few labels does not decide."""


@dataclass(frozen=True, eq=False)
class Correction:
    """Probabilities of true classes, given the class by the tree and the guide's probabilities.

    Attributes
    ----------
    confusion : ndarray of shape (n_classes, n_classes)
        Probability of each true class (rows) for each class by the tree (columns).
    guide_power, tree_power : float
        How much the guide and the tree count; 1 and 0 is the guide alone.
    """

    confusion: FloatArray
    guide_power: float
    tree_power: float

    def probabilities(self, classes: IntArray, said: FloatArray) -> FloatArray:
        """Probabilities of the true classes of rows, shape (rows, n_classes)."""
        return combined(self.confusion[:, classes].T, said, self.guide_power, self.tree_power)


def combined(by_tree: FloatArray, said: FloatArray, guide_power: float, tree_power: float) -> FloatArray:
    """The product of two sets of probabilities, each to a power, as probabilities."""
    product = np.clip(said, LEAST, None) ** guide_power * np.clip(by_tree, LEAST, None) ** tree_power
    return np.asarray(product / product.sum(axis=1, keepdims=True))


def true_given_predicted(votes: FloatArray, labels: IntArray, weights: FloatArray, shares: FloatArray) -> FloatArray:
    """Probability of each true class for each predicted one, shape (n_classes, n_classes).

    ``votes`` (n, n_classes) are shares of predicted classes of the labeled rows, ``weights`` what the rows count, and
    ``shares`` the known shares of the classes.
    """
    n_classes = votes.shape[1]
    table = np.zeros((n_classes, n_classes))
    for k in range(n_classes):
        rows = labels == k
        total = float(weights[rows].sum())
        if total > 0:
            table[k] = shares[k] * (weights[rows] @ votes[rows]) / total
    # In rows: the prior counts like so many labeled rows in each column.
    table = table * float(weights.sum()) + PRIOR_ROWS * shares[:, None]
    return np.asarray(table / table.sum(axis=0))


def chosen_correction(
    votes: FloatArray, said: FloatArray, labels: IntArray, weights: FloatArray, shares: FloatArray
) -> Correction:
    """The powers with which held-out labels are most likely, each label weighted to the known shares."""
    confusion = true_given_predicted(votes, labels, weights, shares)
    by_tree = votes @ confusion.T
    of_class = np.bincount(labels, weights=weights, minlength=len(shares))
    importance = weights * (shares / np.maximum(of_class, 1e-300))[labels]
    best, least = (0.0, 1.0), np.inf
    for guide_power in POWERS:
        for tree_power in POWERS:
            if guide_power == tree_power == 0:
                continue
            likely = combined(by_tree, said, guide_power, tree_power)[np.arange(len(labels)), labels]
            loss = -float(importance @ np.log(likely))
            # Powers of a guide that finds all classes alike change nothing but rounding: less of it is simpler.
            if not np.isfinite(least) or loss < least - 1e-9 * abs(least):
                best, least = (guide_power, tree_power), loss
    return Correction(confusion, *best)


def raked(probabilities: FloatArray, sizes: FloatArray, targets: Targets) -> FloatArray:
    """Probabilities multiplied by one factor a cell, so that they add up to what is known of every cell.

    Bounds are respected; an estimated total counts as its value.
    """
    found = probabilities
    first = targets.first_cells
    low = np.concatenate(
        [np.where(np.isnan(margin.value), margin.low, margin.value).ravel() for margin in targets.margins]
    )
    high = np.concatenate(
        [np.where(np.isnan(margin.value), margin.high, margin.value).ravel() for margin in targets.margins]
    )
    place = first[:, :, None] + np.arange(targets.n_classes)
    tolerance = 1e-9 * max(float(sizes.sum()), 1.0)
    for _ in range(RAKINGS):
        worst = 0.0
        for cells in place:
            counts = np.bincount(cells.ravel(), (sizes[:, None] * found).ravel(), minlength=len(low))
            wanted = np.clip(counts, low, high)
            # Cells of the other margins have no rows here.
            used = counts > 0
            worst = max(worst, float(np.abs(wanted - counts)[used].max(initial=0.0)))
            factor = np.where(used, wanted / np.maximum(counts, 1e-300), 1.0)
            found = found * factor[cells] + 1e-300
            found = found / found.sum(axis=1, keepdims=True)
        if worst < tolerance:
            break
    return np.asarray(found)


# How far the shares of classes in a domain may be from what single rows suggest.

PRIOR_SPREAD, PRIOR_SLOPE = 0.06, 0.7
"""Mean of the prior of tau: a constant over the root of the number of labels, because more labels leave less to domains
that have nothing to do with the classes, and a part of the spread of the predicted shares over the domains."""

SLOPE_OF_TREE = 2.0
"""The same part where a tree predicts without a guide and without replicates: its few leaves hide more of a domain."""

LABEL_SPREAD, LABEL_SLOPE = 0.1, 3.0
"""Standard deviation of a predicted share from sample to sample, times the root of the number of labels: a constant,
and a multiple of the spread of the shares. Replicates measure it; these are about their means over many populations."""

SPREADS = np.linspace(0.0, 0.5, 51)
"""Values of tau that are weighed against each other."""

LEAST_VARIANCE = 0.02
"""Least variance of a labeled row's error: no row is as sure as a model with few labels may believe."""


@dataclass(frozen=True, eq=False)
class DomainEffects:
    """Errors of the predicted shares of one class, by domain.

    Attributes
    ----------
    shift : ndarray of shape (n_domains,)
        What to add to the predicted share of each domain.
    variance : ndarray of shape (n_domains,)
        Variance that is left after that.
    """

    shift: FloatArray
    variance: FloatArray


def domain_effects(
    errors: FloatArray, variances: FloatArray, spread: float, n_labels: int, slope: float = PRIOR_SLOPE
) -> DomainEffects:
    """Weigh all values of tau by prior and labeled rows.

    Parameters
    ----------
    errors : ndarray of shape (n_domains,)
        Mean error of the labeled rows of each domain: share observed minus share predicted.
    variances : ndarray of shape (n_domains,)
        Its variance if tau were 0; infinite for a domain without labeled rows.
    spread : float
        Spread of the predicted shares over the domains beyond chance.
    n_labels : int
        Labeled rows of the fit.
    slope : float
        Part of the spread in the mean of the prior of tau.

    Returns
    -------
    DomainEffects
        Shift and variance of each domain.
    """
    seen = np.isfinite(variances)
    total = variances[seen, None] + SPREADS**2
    fits = -0.5 * (np.log(total) + errors[seen, None] ** 2 / total).sum(axis=0)
    log_weight = fits - SPREADS / (PRIOR_SPREAD / np.sqrt(n_labels) + slope * spread)
    weight = np.exp(log_weight - log_weight.max())
    weight /= weight.sum()
    believed = np.zeros((len(errors), len(SPREADS)))
    believed[seen] = SPREADS**2 / np.maximum(total, 1e-300)
    left = (1 - believed) * SPREADS**2
    return DomainEffects((believed @ weight) * np.where(seen, errors, 0.0), left @ weight)


def variance_from_labels(spread: float, n_labels: int) -> float:
    """Variance of the predicted share of a domain over samples of so many labels, without replicates."""
    return (LABEL_SPREAD**2 + (LABEL_SLOPE * spread) ** 2) / n_labels


def spread_of_shares(
    probabilities: FloatArray, sizes: FloatArray, squares: FloatArray, codes: IntArray, n_domains: int
) -> float:
    """Standard deviation of the mean probability over the domains, beyond what rows dealt at random would show.

    ``sizes`` is what each row or group of equal rows counts, ``squares`` the sum of the squares of what its rows count.
    """
    rows = np.bincount(codes, weights=sizes, minlength=n_domains)
    used = rows > 0
    if used.sum() < 2:
        return 0.0
    means = np.bincount(codes, weights=sizes * probabilities, minlength=n_domains)[used] / rows[used]
    in_rows = np.bincount(codes, weights=squares, minlength=n_domains)[used] / rows[used] ** 2
    of_rows = float(np.average((probabilities - np.average(probabilities, weights=sizes)) ** 2, weights=sizes))
    return float(np.sqrt(max(means.var(ddof=1) - of_rows * float(np.mean(in_rows)), 0.0)))


def labeled_errors(
    observed: FloatArray, predicted: FloatArray, importance: FloatArray, codes: IntArray, n_domains: int
) -> tuple[FloatArray, FloatArray]:
    """Mean error of the labeled rows of each domain, and its variance; infinite where there are none.

    ``importance`` weights rows to the known shares of their classes. Errors are those beside the mean error of all
    labeled rows, which the known totals put right.
    """
    total = np.bincount(codes, weights=importance, minlength=n_domains)
    off = observed - predicted
    off = off - float(importance @ off) / max(float(importance.sum()), 1e-300)
    error = np.bincount(codes, weights=importance * off, minlength=n_domains)
    row_variance = np.maximum(predicted * (1 - predicted), LEAST_VARIANCE)
    variance = np.bincount(codes, weights=importance**2 * row_variance, minlength=n_domains)
    known = total > 0
    safe = np.where(known, total, 1.0)
    return np.where(known, error / safe, 0.0), np.where(known, variance / safe**2, np.inf)


# Estimates by domain and class from a fit and its replicates.

BALANCINGS = 1000
"""Passes over domains and classes in which estimates are made to add up, at most."""

FEW_LABELS = 10
"""Labels of a class below which its mistakes are hardly known."""

LEAST_FREEDOM = 4
"""Degrees of freedom, at least: with fewer, intervals would say nothing at all."""

ROUNDING = 0.5
"""Half a row on both sides of an interval: counts are whole, and a normal distribution is not."""


class Estimation:
    """What a fit and its replicates say about every row, before it is added up by domain.

    Parameters
    ----------
    known : Known
        Labels, totals and weights of the fit.
    predicted : ndarray of shape (n_rows,)
        Class that the tree gives each row.
    probabilities : ndarray of shape (m, n_classes) or None
        What the guide says of each unlabeled row; None without a guide.
    replicates : sequence of Replicate
        Replicates of the fit.
    others : tuple of ndarray
        Classes of all rows by other trees that are as good.
    drawing : Drawing or None
        How the labeled rows of replicates were drawn; None if replicates only hold rows out, as `Folds` do. Standard
        errors then come from a formula.
    squares : ndarray of shape (m,), optional
        Where unlabeled rows stand for several rows each and weigh as much as these together: for each of them, the sum
        of the squared weights of the rows that it stands for.
    label_weights : ndarray of shape (n_labeled,), optional
        How many unlabeled rows each labeled row stands for, beside the others of its class; its weight by default.
    """

    def __init__(
        self,
        known: Known,
        predicted: IntArray,
        probabilities: FloatArray | None,
        replicates: Sequence[Replicate],
        *,
        others: tuple[IntArray, ...] = (),
        drawing: Drawing | None = BOOTSTRAP,
        squares: FloatArray | None = None,
        label_weights: FloatArray | None = None,
    ) -> None:
        self.known, self.predicted, self.others, self.drawing = known, predicted, others, drawing
        self.codes, self.weights, self.unit = known.labels.codes, known.sizes, known.unit
        self.is_labeled, self.n_classes = known.is_labeled, len(known.classes)
        self.shares = _known_shares(known)
        labeled, unlabeled = self.is_labeled, ~self.is_labeled
        self.labels = self.codes[labeled]
        self.label_weights = self.weights[labeled] if label_weights is None else label_weights
        self.sizes = self.weights[unlabeled]
        self.squares = self.sizes**2 if squares is None else squares
        # What one row counts, in the mean.
        self.row = float(np.mean(self.weights) if squares is None else squares.sum() / max(self.sizes.sum(), 1e-300))
        # Without a guide every class is alike.
        alike = np.full((len(self.codes), self.n_classes), 1 / self.n_classes)
        self.has_guide, self.guide_says = probabilities is not None, alike
        if probabilities is not None:
            alike[unlabeled] = probabilities
        self.votes, self.said = self._held_out(replicates)
        self.correction = chosen_correction(self.votes, self.said, self.labels, self.label_weights, self.shares)
        self.corrected = self.correction.probabilities(predicted[unlabeled], self.guide_says[unlabeled])
        self.unlabeled = raked(self.corrected, self.sizes, known.targets)
        n_varying = 0 if drawing is None else drawing.varying(len(replicates))
        self.replicated = [self._replicated(found) for found in replicates[:n_varying]]
        by_tree = self.votes @ self.correction.confusion.T
        self.labeled = combined(by_tree, self.said, self.correction.guide_power, self.correction.tree_power)

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader of the estimates should know."""
        few = [str(self.known.classes[k]) for k in range(self.n_classes) if (self.labels == k).sum() < FEW_LABELS]
        notes = [self._about_correction()]
        if few:
            notes.append(f"Fewer than {FEW_LABELS} labels of {listed(few)}: what is known of mistakes there is little.")
        return tuple(notes)

    def _about_correction(self) -> str:
        """What the estimates rest on: the combination of guide and tree that held-out labels prefer."""
        guide, tree = self.correction.guide_power, self.correction.tree_power
        if guide and tree:
            return (
                f"The estimates combine the guide's probabilities (weight {guide:g}) and the tree's classes (weight "
                f"{tree:g}), because this combination predicted the held-out labels best."
            )
        alone = "the guide's probabilities" if guide else "the tree's classes"
        return f"The estimates use only {alone}, because these predicted the held-out labels best."

    def _replicated(self, found: Replicate) -> FloatArray:
        """Probabilities of the unlabeled rows by a replicate: its labels, its tree, its guide and its totals."""
        confusion = true_given_predicted(self.votes, self.labels, self.label_weights * found.drawn, self.shares)
        correction = Correction(confusion, self.correction.guide_power, self.correction.tree_power)
        targets = self.known.targets.shifted(self.unit * found.change)
        return raked(correction.probabilities(found.classes, found.probabilities), self.sizes, targets)

    def rows(self, name: str, domains: ObjectArray, codes: IntArray, confidence: float) -> list[dict[str, Any]]:
        """Estimates of all domains of one division of the rows; ``codes`` are the domains of all rows."""
        n_domains, n_classes = len(domains), self.n_classes
        parts = [self._unlabeled_counts(k, codes, n_domains) for k in range(n_classes)]
        known = np.column_stack([self._known_counts(codes, n_domains, k) for k in range(n_classes)])
        is_known = ~np.isnan(known)
        estimates = np.where(is_known, known, np.column_stack([estimate for estimate, _ in parts]))
        variances = np.where(is_known, 0.0, np.column_stack([variance for _, variance in parts]))
        rows_of_domain = np.bincount(codes[~self.is_labeled], self.sizes, minlength=n_domains).astype(float)
        estimates = balanced(estimates, ~is_known, rows_of_domain, self._class_totals())
        found = [
            self._columns(k, codes, n_domains, estimates[:, k], np.sqrt(variances[:, k]), confidence)
            for k in range(n_classes)
        ]
        rows = [
            {
                "domain": domains[d],
                "class": self.known.classes.tolist()[k],
                **{key: float(part[d]) for key, part in found[k].items()},
            }
            for d in range(len(domains))
            for k in range(self.n_classes)
        ]
        return [{key: row.get(key, name) for key in COLUMNS} for row in rows]

    def _class_totals(self) -> FloatArray:
        """Unlabeled rows of each class: the totals, or what raking left where these are bounds."""
        found, totals = self.sizes @ self.unlabeled, self.known.targets.class_totals()
        # Raking ends before the last digits where probabilities are near 0 and 1.
        is_met = not np.isnan(self.known.targets.margins[0].value).any() and np.allclose(found, totals, rtol=0.01)
        return np.asarray(totals * found.sum() / totals.sum() if is_met and totals.sum() > 0 else found)

    def _unlabeled_counts(self, k: int, codes: IntArray, n_domains: int) -> tuple[FloatArray, FloatArray]:
        """Estimate of the unlabeled rows of a class in each domain, by itself, and its variance."""
        q = self.unlabeled[:, k]
        unlabeled, labeled = codes[~self.is_labeled], codes[self.is_labeled]
        rows = np.bincount(unlabeled, weights=self.sizes, minlength=n_domains)
        counts = np.bincount(unlabeled, weights=self.sizes * q, minlength=n_domains)
        spread = spread_of_shares(q, self.sizes, self.squares, unlabeled, n_domains)
        observed = (self.labels == k).astype(float)
        errors = labeled_errors(observed, self.labeled[:, k], self._importance(), labeled, n_domains)
        is_alone = self.drawing is None and not self.has_guide
        effects = domain_effects(*errors, spread, len(self.labels), SLOPE_OF_TREE if is_alone else PRIOR_SLOPE)
        # What one domain gains, the others lose: the total of the class is known.
        rest = 1 - rows / max(float(rows.sum()), 1e-300)
        again = [np.bincount(unlabeled, weights=self.sizes * p[:, k], minlength=n_domains) for p in self.replicated]
        if self.drawing is not None:
            by_labels = self.drawing.variance(np.array(again), counts.astype(float))
        else:
            by_labels = rows**2 * variance_from_labels(spread, len(self.labels)) * rest
            by_labels = by_labels + self._variance_of_totals(k, unlabeled, n_domains)
            by_labels = by_labels + self._variance_of_sample(k, unlabeled, n_domains)
        by_chance = np.bincount(unlabeled, weights=self.squares * q * (1 - q), minlength=n_domains)
        chance_left = 1 - by_chance / max(float(by_chance.sum()), 1e-300)
        variance = by_labels + by_chance * chance_left + rows**2 * effects.variance * rest
        return np.clip(counts + rows * effects.shift, 0.0, rows), variance

    def _variance_of_totals(self, k: int, codes: IntArray, n_domains: int) -> FloatArray:
        """Variance that estimated totals leave in the counts of each domain.

        Where a total moves, raking moves each row in proportion to q (1 - q).
        """
        found, moves = np.zeros(n_domains), self.sizes * self.unlabeled[:, k] * (1 - self.unlabeled[:, k])
        for margin in self.known.targets.margins:
            joint = np.bincount(codes * margin.n_domains + margin.codes, moves, minlength=n_domains * margin.n_domains)
            part = joint.reshape(n_domains, margin.n_domains)
            part = part / np.maximum(part.sum(axis=0), 1e-300)
            found += part**2 @ margin.se[:, k] ** 2
        return found

    def _variance_of_sample(self, k: int, codes: IntArray, n_domains: int) -> FloatArray:
        """Variance from rows that stand for others: these may have other probabilities, as rows of one class have."""
        q, classes = self.unlabeled[:, k], self.predicted[~self.is_labeled]
        spread = np.zeros(self.n_classes)
        for j in np.unique(classes):
            here = classes == j
            mean = np.average(q[here], weights=self.sizes[here])
            spread[j] = np.average((q[here] - mean) ** 2, weights=self.sizes[here])
        others = np.maximum(self.sizes**2 - self.squares, 0.0)
        return np.bincount(codes, weights=others * spread[classes], minlength=n_domains).astype(float)

    def _importance(self) -> FloatArray:
        """Weights of the labeled rows with which the classes have their known shares."""
        of_class = np.bincount(self.labels, weights=self.label_weights, minlength=self.n_classes)
        factor = self.shares / np.maximum(of_class, 1e-300)
        return np.asarray(self.label_weights * factor[self.labels])

    def _columns(
        self, k: int, codes: IntArray, n_domains: int, estimate: FloatArray, se: FloatArray, confidence: float
    ) -> dict[str, FloatArray]:
        labeled = self.is_labeled

        def added_up(rows: BoolArray, values: FloatArray | BoolArray) -> FloatArray:
            return np.bincount(codes[rows], weights=(self.weights * values)[rows], minlength=n_domains).astype(float)

        everything = np.ones(len(codes), dtype=bool)
        rows = added_up(everything, everything)
        observed, known = added_up(labeled, self.codes == k), added_up(labeled, labeled)
        total = observed + estimate
        # A standard error from few labels is itself uncertain. The class with the fewest labels decides.
        fewest = int(np.bincount(self.labels, minlength=self.n_classes).min())
        reach = float(stdtrit(max(fewest - 1, LEAST_FREEDOM), 0.5 + confidence / 2)) * se + np.where(
            se > 0, ROUNDING * self.row, 0
        )
        low, high = np.maximum(total - reach, observed), np.minimum(total + reach, observed + rows - known)
        counts = [observed + added_up(~labeled, classes == k) for classes in (self.predicted, *self.others)]
        safe = np.where(rows > 0, rows, 1.0)
        alone = np.where(known > 0, observed / np.where(known > 0, known, 1.0) * rows, np.nan)
        guided = np.full(n_domains, np.nan)
        if self.has_guide:
            guided = observed + added_up(~labeled, self.guide_says[:, k])
        return {
            "estimate": total, "se": se, "low": low, "high": high,
            "share": total / safe, "share_low": low / safe, "share_high": high / safe,
            "observed": observed, "predicted": estimate, "uncorrected": counts[0],
            "labeled_alone": alone, "guide": guided,
            "least": np.min(counts, axis=0), "most": np.max(counts, axis=0), "rows": rows,
        }  # fmt: skip

    def _held_out(self, replicates: Sequence[Replicate]) -> tuple[FloatArray, FloatArray]:
        """Votes of trees on the labeled rows that they have not seen, and what guides said of them, on average.

        A row that every replicate has drawn has the vote of the fit itself.
        """
        n, n_classes = len(self.labels), self.n_classes
        votes, said, times = np.zeros((n, n_classes)), np.zeros((n, n_classes)), np.zeros(n)
        for found in replicates:
            here = np.flatnonzero(found.held_out_classes != UNLABELED)
            votes[here, found.held_out_classes[here]] += 1
            said[here] += found.held_out_probabilities[here]
            times[here] += 1
        never = times == 0
        votes[~never] /= times[~never, None]
        said[~never] /= times[~never, None]
        votes[never] = np.eye(n_classes)[self.predicted[self.is_labeled][never]]
        said[never] = self.guide_says[self.is_labeled][never]
        return votes, said

    def _known_counts(self, codes: IntArray, n_domains: int, k: int) -> FloatArray:
        """Totals of a class that are known exactly for a domain, as one total or as a sum of several; NaN elsewhere."""
        known = np.full(n_domains, np.nan)
        here = codes[~self.is_labeled]
        for margin in self.known.targets.margins:
            pairs = np.unique(np.column_stack([here, margin.codes]), axis=0)
            spread = np.bincount(pairs[:, 1], minlength=margin.n_domains) > 1
            exact = (margin.low[:, k] == margin.high[:, k]) & (margin.se[:, k] == 0) & ~spread
            for domain in np.unique(pairs[:, 0]):
                places = pairs[pairs[:, 0] == domain, 1]
                if exact[places].all():
                    known[domain] = margin.low[places, k].sum()
        return known


def _known_shares(known: Known) -> FloatArray:
    """Known shares of the classes among the unlabeled rows."""
    totals, n_classes = np.maximum(known.targets.class_totals(), 0.0), len(known.classes)
    return np.asarray(totals / totals.sum()) if totals.sum() > 0 else np.full(n_classes, 1 / n_classes)


def balanced(estimates: FloatArray, free: BoolArray, rows: FloatArray, totals: FloatArray) -> FloatArray:
    """Estimates, domains by classes, scaled so that domains add up to their rows and classes to their totals.

    Only free cells change. Every class is shifted by itself before, so that sums may be off.
    """
    found = np.where(free, np.maximum(estimates, 1e-9), estimates)
    for _ in range(BALANCINGS):
        before = found
        for axis, wanted in ((0, totals), (1, rows)):
            fixed = np.where(free, 0.0, found).sum(axis=axis)
            scalable = np.where(free, found, 0.0).sum(axis=axis)
            factor = np.where(scalable > 0, np.maximum(wanted - fixed, 0.0) / np.maximum(scalable, 1e-300), 1.0)
            found = np.where(free, found * np.expand_dims(factor, axis), found)
        if np.abs(found - before).max(initial=0.0) <= 1e-12 * float(rows.sum()):
            break
    return np.asarray(found)

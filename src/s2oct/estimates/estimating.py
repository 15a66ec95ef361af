"""Counts by domain and class from a fit and its replicates, corrected by held-out labels, with standard errors.

`Estimation` does three things. It learns from held-out labels how often tree and guide are wrong, and turns predicted
classes into probabilities of true classes (`chosen_powers`), raked to the totals (`raked`). It adds them up by
domain, shifted by what the labeled rows of the domain show (`domain_effects`). It adds up three variances: of labels,
of single rows, and of domain effects.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import stdtrit

from s2oct.arrays import BoolArray, FloatArray, IntArray, ObjectArray
from s2oct.estimates.replicates import Drawing, Replicate
from s2oct.estimates.table import COLUMNS
from s2oct.problem.known import Known
from s2oct.problem.labels import UNLABELED
from s2oct.problem.totals import Targets
from s2oct.wording import listed


@dataclass(frozen=True)
class EstimationParams:
    """Tuning of the estimates.

    Attributes
    ----------
    prior_rows : float
        Number of prior rows, with the known shares, added to the held-out rows of each predicted class.
    powers : tuple of float
        Candidate powers of the guide's probabilities and of the tree's confusion.
    prior_spread, prior_slope : float
        Prior mean of tau, the standard deviation of domain effects: a constant over the square root of the number of
        labels, because more labels leave less to domain effects, plus a part of the spread of the predicted shares over
        the domains.
    slope_of_tree : float
        The same part if a tree predicts without a guide and without replicates: its few leaves hide more of a domain.
    most_spread, n_spreads : float, int
        Maximum of tau, and number of values from 0 to it over which the effects are averaged.
    label_spread, label_slope : float
        Standard deviation of a predicted share over samples, times the square root of the number of labels: a constant,
        and a multiple of the spread of the shares. Replicates measure it; these are roughly their means over many
        populations.
    least_variance : float
        Minimum variance of a labeled row's error: a model with few labels is overconfident.
    few_labels : int
        Number of labels of a class below which little is known about its mistakes.
    least_freedom : int
        Minimum degrees of freedom: with fewer, intervals would be too wide to be useful.
    least_probability : float
        Minimum probability, so that one surprise among few labels does not decide.
    most_rakings, most_balancings : int
        Maximum number of passes for raking probabilities to the totals and balancing tables; few are needed.
    rounding : float
        Half a row on both sides of an interval, because counts are whole and a normal distribution is not.
    """

    prior_rows: float = 1.0
    powers: tuple[float, ...] = (0.0, 0.25, 0.5, 0.75, 1.0)
    prior_spread: float = 0.06
    prior_slope: float = 0.7
    slope_of_tree: float = 2.0
    most_spread: float = 0.5
    n_spreads: int = 51
    label_spread: float = 0.1
    label_slope: float = 3.0
    least_variance: float = 0.02
    few_labels: int = 10
    least_freedom: int = 4
    least_probability: float = 1e-3
    most_rakings: int = 200
    most_balancings: int = 1000
    rounding: float = 0.5

    @property
    def spreads(self) -> FloatArray:
        """Values of tau."""
        return np.linspace(0.0, self.most_spread, self.n_spreads)


DEFAULTS = EstimationParams()


class Estimation:
    """Probabilities of the classes of every row by a fit and its replicates, to be added up by domain.

    Parameters
    ----------
    known : Known
        Labels, totals and weights of the fit.
    predicted : ndarray of shape (n_rows,)
        The tree's class of each row.
    probabilities : ndarray of shape (m, n_classes) or None
        The guide's probabilities of each unlabeled row; None without a guide.
    replicates : sequence of Replicate
        Replicates of the fit.
    others : tuple of ndarray
        Classes of all rows by other, equally good trees.
    drawing : Drawing or None
        How the labeled rows of replicates were drawn; None if replicates only hold rows out, as folds do. Standard
        errors then come from a formula.
    squares : ndarray of shape (m,), optional
        If unlabeled rows represent several rows each and have their total weight: the sum of the squared weights of the
        rows that each of them represents.
    label_weights : ndarray of shape (n_labeled,), optional
        How many unlabeled rows each labeled row represents, relative to the others of its class; its weight by default.
    params : EstimationParams
        Tuning.
    """

    def __init__(
        self,
        known: Known,
        predicted: IntArray,
        probabilities: FloatArray | None,
        replicates: Sequence[Replicate],
        *,
        others: tuple[IntArray, ...] = (),
        drawing: Drawing | None = None,
        squares: FloatArray | None = None,
        label_weights: FloatArray | None = None,
        params: EstimationParams = DEFAULTS,
    ) -> None:
        self.params = params
        self.known, self.predicted, self.others, self.drawing = known, predicted, others, drawing
        self.codes, self.weights, self.unit = known.labels.codes, known.sizes, known.unit
        self.is_labeled, self.n_classes = known.is_labeled, len(known.classes)
        self.shares = _known_shares(known)
        labeled, unlabeled = self.is_labeled, ~self.is_labeled
        self.labels = self.codes[labeled]
        self.label_weights = self.weights[labeled] if label_weights is None else label_weights
        self.sizes = self.weights[unlabeled]
        self.squares = self.sizes**2 if squares is None else squares
        # The mean weight of a row.
        self.row = float(np.mean(self.weights) if squares is None else squares.sum() / max(self.sizes.sum(), 1e-300))
        # Without a guide, all classes are equally probable.
        by_guide = np.full((len(self.codes), self.n_classes), 1 / self.n_classes)
        self.has_guide, self.by_guide = probabilities is not None, by_guide
        if probabilities is not None:
            by_guide[unlabeled] = probabilities
        self.votes, self.held_out_by_guide = self._held_out(replicates)
        confusion = self._confusion(self.label_weights)
        by_tree = self.votes @ confusion.T
        self.powers = chosen_powers(
            by_tree, self.held_out_by_guide, self.labels, self.label_weights, self.shares, params
        )
        # The errors on held-out labels correct the predictions of all rows.
        self.labeled = combined(by_tree, self.held_out_by_guide, *self.powers, params)
        self.corrected = combined(confusion[:, predicted[unlabeled]].T, self.by_guide[unlabeled], *self.powers, params)
        self.unlabeled = raked(self.corrected, self.sizes, known.targets, params)
        n_varying = 0 if drawing is None else len(replicates) - drawing.n_added
        self.replicated = [self._replicated(found) for found in replicates[:n_varying]]

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes for readers of the estimates."""
        least = self.params.few_labels
        few = [str(self.known.classes[k]) for k in range(self.n_classes) if (self.labels == k).sum() < least]
        notes = [self._about_powers()]
        if few:
            classes = f"{'Class' if len(few) == 1 else 'Classes'} {listed(few)}"
            have = "has" if len(few) == 1 else "have"
            notes.append(f"{classes} {have} fewer than {least} labels, so errors on these rows are hardly known.")
        return tuple(notes)

    def _about_powers(self) -> str:
        """Describe the combination of guide and tree that predicted held-out labels best, in a sentence."""
        guide, tree = self.powers
        if guide and tree:
            return (
                f"The estimates combine the guide's probabilities (weight {guide:g}) and the tree's classes (weight "
                f"{tree:g}), because this combination predicted the held-out labels best."
            )
        alone = "the guide's probabilities" if guide else "the tree's classes"
        return f"The estimates use only {alone}, because these predicted the held-out labels best."

    def _replicated(self, found: Replicate) -> FloatArray:
        """Return probabilities of the unlabeled rows by a replicate: its labels, tree, guide and totals."""
        confusion = self._confusion(self.label_weights * found.drawn)
        corrected = combined(confusion[:, found.classes].T, found.probabilities, *self.powers, self.params)
        return raked(corrected, self.sizes, self.known.targets.shifted(self.unit * found.change), self.params)

    def _confusion(self, weights: FloatArray) -> FloatArray:
        """Return the probability of each true class for each class of the tree, by labels with these weights."""
        return true_given_predicted(self.votes, self.labels, weights, self.shares, self.params)

    def rows(self, name: str, domains: ObjectArray, codes: IntArray, confidence: float) -> list[dict[str, Any]]:
        """Return estimates of all domains of one division of the rows; ``codes`` are the domains of all rows."""
        n_domains, n_classes = len(domains), self.n_classes
        parts = [self._unlabeled_counts(k, codes, n_domains) for k in range(n_classes)]
        known = np.column_stack([self._known_counts(codes, n_domains, k) for k in range(n_classes)])
        is_known = ~np.isnan(known)
        estimates = np.where(is_known, known, np.column_stack([estimate for estimate, _ in parts]))
        variances = np.where(is_known, 0.0, np.column_stack([variance for _, variance in parts]))
        rows_of_domain = np.bincount(codes[~self.is_labeled], self.sizes, minlength=n_domains).astype(float)
        estimates = balanced(estimates, ~is_known, rows_of_domain, self._class_totals(), self.params)
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
        """Return the number of unlabeled rows of each class: the totals, or the raked sums if totals are bounds."""
        found, totals = self.sizes @ self.unlabeled, self.known.targets.class_totals()
        # With probabilities near 0 and 1, raking stops before the last digits.
        is_met = not np.isnan(self.known.targets.margins[0].value).any() and np.allclose(found, totals, rtol=0.01)
        return np.asarray(totals * found.sum() / totals.sum() if is_met and totals.sum() > 0 else found)

    def _unlabeled_counts(self, k: int, codes: IntArray, n_domains: int) -> tuple[FloatArray, FloatArray]:
        """Return the estimated number of unlabeled rows of a class in each domain, and its variance."""
        q = self.unlabeled[:, k]
        unlabeled, labeled = codes[~self.is_labeled], codes[self.is_labeled]
        rows = np.bincount(unlabeled, weights=self.sizes, minlength=n_domains)
        counts = np.bincount(unlabeled, weights=self.sizes * q, minlength=n_domains)
        spread = spread_of_shares(q, self.sizes, self.squares, unlabeled, n_domains)
        observed = (self.labels == k).astype(float)
        errors = labeled_errors(observed, self.labeled[:, k], self._importance(), labeled, n_domains, self.params)
        is_alone = self.drawing is None and not self.has_guide
        slope = self.params.slope_of_tree if is_alone else self.params.prior_slope
        shift, domain_variance = domain_effects(*errors, spread, len(self.labels), slope, self.params)
        # The total of the class is known, so what one domain gains, the others lose.
        rest = 1 - rows / max(float(rows.sum()), 1e-300)
        again = [np.bincount(unlabeled, weights=self.sizes * p[:, k], minlength=n_domains) for p in self.replicated]
        if self.drawing is not None:
            by_labels = self.drawing.variance(np.array(again), counts.astype(float))
        else:
            by_labels = rows**2 * variance_from_labels(spread, len(self.labels), self.params) * rest
            by_labels = by_labels + self._variance_of_totals(k, unlabeled, n_domains)
            by_labels = by_labels + self._variance_of_sample(k, unlabeled, n_domains)
        by_chance = np.bincount(unlabeled, weights=self.squares * q * (1 - q), minlength=n_domains)
        chance_left = 1 - by_chance / max(float(by_chance.sum()), 1e-300)
        variance = by_labels + by_chance * chance_left + rows**2 * domain_variance * rest
        return np.clip(counts + rows * shift, 0.0, rows), variance

    def _variance_of_totals(self, k: int, codes: IntArray, n_domains: int) -> FloatArray:
        """Return the variance of each domain's count due to estimated totals.

        If a total changes, raking changes each row in proportion to q (1 - q).
        """
        found, moves = np.zeros(n_domains), self.sizes * self.unlabeled[:, k] * (1 - self.unlabeled[:, k])
        for margin in self.known.targets.margins:
            joint = np.bincount(codes * margin.n_domains + margin.codes, moves, minlength=n_domains * margin.n_domains)
            part = joint.reshape(n_domains, margin.n_domains)
            part = part / np.maximum(part.sum(axis=0), 1e-300)
            found += part**2 @ margin.se[:, k] ** 2
        return found

    def _variance_of_sample(self, k: int, codes: IntArray, n_domains: int) -> FloatArray:
        """Return the variance due to rows that represent others, whose probabilities vary like those within a class."""
        q, classes = self.unlabeled[:, k], self.predicted[~self.is_labeled]
        spread = np.zeros(self.n_classes)
        for j in np.unique(classes):
            here = classes == j
            mean = np.average(q[here], weights=self.sizes[here])
            spread[j] = np.average((q[here] - mean) ** 2, weights=self.sizes[here])
        others = np.maximum(self.sizes**2 - self.squares, 0.0)
        return np.bincount(codes, weights=others * spread[classes], minlength=n_domains).astype(float)

    def _importance(self) -> FloatArray:
        """Weights of the labeled rows that give the classes their known shares."""
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
        quantile = float(stdtrit(max(fewest - 1, self.params.least_freedom), 0.5 + confidence / 2))
        reach = quantile * se + np.where(se > 0, self.params.rounding * self.row, 0)
        low, high = np.maximum(total - reach, observed), np.minimum(total + reach, observed + rows - known)
        counts = [observed + added_up(~labeled, classes == k) for classes in (self.predicted, *self.others)]
        safe = np.where(rows > 0, rows, 1.0)
        alone = np.where(known > 0, observed / np.where(known > 0, known, 1.0) * rows, np.nan)
        guided = np.full(n_domains, np.nan)
        if self.has_guide:
            guided = observed + added_up(~labeled, self.by_guide[:, k])
        return {
            "estimate": total, "se": se, "low": low, "high": high,
            "share": total / safe, "share_low": low / safe, "share_high": high / safe,
            "observed": observed, "predicted": estimate, "uncorrected": counts[0],
            "labeled_alone": alone, "guide": guided,
            "least": np.min(counts, axis=0), "most": np.max(counts, axis=0), "rows": rows,
        }  # fmt: skip

    def _held_out(self, replicates: Sequence[Replicate]) -> tuple[FloatArray, FloatArray]:
        """Return mean votes of trees and mean probabilities of guides on the labeled rows that they have not seen.

        A row drawn by every replicate gets the vote of the fit itself.
        """
        n, n_classes = len(self.labels), self.n_classes
        votes, by_guide, times = np.zeros((n, n_classes)), np.zeros((n, n_classes)), np.zeros(n)
        for found in replicates:
            here = np.flatnonzero(found.held_out_classes != UNLABELED)
            votes[here, found.held_out_classes[here]] += 1
            by_guide[here] += found.held_out_probabilities[here]
            times[here] += 1
        never = times == 0
        votes[~never] /= times[~never, None]
        by_guide[~never] /= times[~never, None]
        votes[never] = np.eye(n_classes)[self.predicted[self.is_labeled][never]]
        by_guide[never] = self.by_guide[self.is_labeled][never]
        return votes, by_guide

    def _known_counts(self, codes: IntArray, n_domains: int, k: int) -> FloatArray:
        """Return exactly known totals of a class by domain, each one total or a sum of several; NaN elsewhere."""
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
    """Return the known shares of the classes among the unlabeled rows."""
    totals, n_classes = np.maximum(known.targets.class_totals(), 0.0), len(known.classes)
    return np.asarray(totals / totals.sum()) if totals.sum() > 0 else np.full(n_classes, 1 / n_classes)


def balanced(
    estimates: FloatArray,
    free: BoolArray,
    rows: FloatArray,
    totals: FloatArray,
    params: EstimationParams = DEFAULTS,
) -> FloatArray:
    """Scale estimates (domains by classes) so that domains add up to their rows and classes to their totals.

    Only free cells change. The classes were shifted separately before, so sums may be off.
    """
    found = np.where(free, np.maximum(estimates, 1e-9), estimates)
    for _ in range(params.most_balancings):
        before = found
        for axis, wanted in ((0, totals), (1, rows)):
            fixed = np.where(free, 0.0, found).sum(axis=axis)
            scalable = np.where(free, found, 0.0).sum(axis=axis)
            factor = np.where(scalable > 0, np.maximum(wanted - fixed, 0.0) / np.maximum(scalable, 1e-300), 1.0)
            found = np.where(free, found * np.expand_dims(factor, axis), found)
        if np.abs(found - before).max(initial=0.0) <= 1e-12 * float(rows.sum()):
            break
    return np.asarray(found)


def combined(
    by_tree: FloatArray,
    by_guide: FloatArray,
    guide_power: float,
    tree_power: float,
    params: EstimationParams = DEFAULTS,
) -> FloatArray:
    """Return the normalised product of two sets of probabilities, each raised to a power."""
    least = params.least_probability
    product = np.clip(by_guide, least, None) ** guide_power * np.clip(by_tree, least, None) ** tree_power
    return np.asarray(product / product.sum(axis=1, keepdims=True))


def true_given_predicted(
    votes: FloatArray, labels: IntArray, weights: FloatArray, shares: FloatArray, params: EstimationParams = DEFAULTS
) -> FloatArray:
    """Return the probability of each true class for each predicted one, shape (n_classes, n_classes).

    ``votes`` (n, n_classes) are shares of predicted classes of the labeled rows, ``weights`` their weights, and
    ``shares`` the known shares of the classes.
    """
    n_classes = votes.shape[1]
    table = np.zeros((n_classes, n_classes))
    for k in range(n_classes):
        rows = labels == k
        total = float(weights[rows].sum())
        if total > 0:
            table[k] = shares[k] * (weights[rows] @ votes[rows]) / total
    # The prior counts like additional labeled rows in each column.
    table = table * float(weights.sum()) + params.prior_rows * shares[:, None]
    return np.asarray(table / table.sum(axis=0))


def chosen_powers(
    by_tree: FloatArray,
    by_guide: FloatArray,
    labels: IntArray,
    weights: FloatArray,
    shares: FloatArray,
    params: EstimationParams = DEFAULTS,
) -> tuple[float, float]:
    """Return the powers of guide and tree that maximise the likelihood of held-out labels, weighted to known shares.

    With powers 1 and 0, the guide counts alone.
    """
    of_class = np.bincount(labels, weights=weights, minlength=len(shares))
    importance = weights * (shares / np.maximum(of_class, 1e-300))[labels]
    best, least = (0.0, 1.0), np.inf
    for guide_power in params.powers:
        for tree_power in params.powers:
            if guide_power == tree_power == 0:
                continue
            likely = combined(by_tree, by_guide, guide_power, tree_power, params)[np.arange(len(labels)), labels]
            loss = -float(importance @ np.log(likely))
            # If the guide finds all classes equally probable, its power changes only the rounding: the first one is
            # used.
            if not np.isfinite(least) or loss < least - 1e-9 * abs(least):
                best, least = (guide_power, tree_power), loss
    return best


def raked(
    probabilities: FloatArray, sizes: FloatArray, targets: Targets, params: EstimationParams = DEFAULTS
) -> FloatArray:
    """Multiply probabilities by one factor per cell, so that they add up to the known total of every cell.

    Bounds are respected; an estimated total counts as its value.
    """
    found = probabilities
    values = np.concatenate([margin.value.ravel() for margin in targets.margins])
    low, high = (np.where(np.isnan(values), bounds, values) for bounds in (targets.low, targets.high))
    place = targets.first_cells[:, :, None] + np.arange(targets.n_classes)
    tolerance = 1e-9 * max(float(sizes.sum()), 1.0)
    for _ in range(params.most_rakings):
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


def domain_effects(
    errors: FloatArray,
    variances: FloatArray,
    spread: float,
    n_labels: int,
    slope: float | None = None,
    params: EstimationParams = DEFAULTS,
) -> tuple[FloatArray, FloatArray]:
    """Estimate errors of the predicted shares of a class by domain: an average over tau, by prior and labeled rows.

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
    slope : float, optional
        Part of the spread in the prior mean of tau.

    Returns
    -------
    shift, variance : ndarray of shape (n_domains,)
        Correction of the predicted share of each domain, and the remaining variance.
    """
    seen, taus = np.isfinite(variances), params.spreads
    total = variances[seen, None] + taus**2
    fits = -0.5 * (np.log(total) + errors[seen, None] ** 2 / total).sum(axis=0)
    slope = params.prior_slope if slope is None else slope
    log_weight = fits - taus / (params.prior_spread / np.sqrt(n_labels) + slope * spread)
    weight = np.exp(log_weight - log_weight.max())
    weight /= weight.sum()
    believed = np.zeros((len(errors), len(taus)))
    believed[seen] = taus**2 / np.maximum(total, 1e-300)
    left = (1 - believed) * taus**2
    return (believed @ weight) * np.where(seen, errors, 0.0), left @ weight


def variance_from_labels(spread: float, n_labels: int, params: EstimationParams = DEFAULTS) -> float:
    """Return the variance of a domain's predicted share over samples with this number of labels, by a formula."""
    return (params.label_spread**2 + (params.label_slope * spread) ** 2) / n_labels


def spread_of_shares(
    probabilities: FloatArray, sizes: FloatArray, squares: FloatArray, codes: IntArray, n_domains: int
) -> float:
    """Return the standard deviation of the mean probability over domains, beyond that of randomly assigned rows.

    ``sizes`` are weights of rows or groups of rows, ``squares`` the sums of the squared weights of their rows.
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
    observed: FloatArray,
    predicted: FloatArray,
    importance: FloatArray,
    codes: IntArray,
    n_domains: int,
    params: EstimationParams = DEFAULTS,
) -> tuple[FloatArray, FloatArray]:
    """Return the mean error of the labeled rows of each domain, and its variance; infinite without labeled rows.

    ``importance`` weights rows to the known shares of their classes. Errors are relative to the mean error of all
    labeled rows, which the known totals correct.
    """
    total = np.bincount(codes, weights=importance, minlength=n_domains)
    off = observed - predicted
    off = off - float(importance @ off) / max(float(importance.sum()), 1e-300)
    error = np.bincount(codes, weights=importance * off, minlength=n_domains)
    row_variance = np.maximum(predicted * (1 - predicted), params.least_variance)
    variance = np.bincount(codes, weights=importance**2 * row_variance, minlength=n_domains)
    known = total > 0
    safe = np.where(known, total, 1.0)
    return np.where(known, error / safe, 0.0), np.where(known, variance / safe**2, np.inf)

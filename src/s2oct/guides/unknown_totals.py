"""Estimate unknown totals from the unlabeled rows.

The assumption: whether a row is labeled depends only on its class. Labeled and unlabeled rows of a class then look
alike, and only the shares of the classes differ. Saerens, Latinne and Decaestecker (2002) estimate such shares by
expectation-maximisation over the probabilities of a classifier; Alexandari, Kundaje and Shrikumar (2020) show that
these must be calibrated on held-out labels, with an offset for each class.

Top down: `with_estimated_totals` fills in the totals. `held_out_scores` lets forests vote on rows that they have not
seen, `calibrate` turns votes into likelihoods, and `maximise_shares` finds the shares. All of it is repeated in
bootstrap replicates, from which `OpenMargin` computes standard errors.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from scipy.special import log_softmax, softmax

from s2oct.arrays import BoolArray, Float32Array, FloatArray, IntArray
from s2oct.errors import InvalidProblem
from s2oct.guides.forest import DEFAULTS as FOREST
from s2oct.guides.forest import GuideStopped, Splitter, Widening, fit_tree, require_time
from s2oct.problem.known import Known
from s2oct.problem.labels import UNLABELED
from s2oct.problem.targets import Margin
from s2oct.problem.totals import Cells, Division, EstimatedShare, StatedTotals, is_to_estimate, read_divisions, text_of
from s2oct.stopping import NO_DEADLINE, Deadline
from s2oct.wording import brief, listed

ESTIMATING_SHARE = 0.3
"""Share of a fit's time limit for estimating totals; it usually takes less than a second."""

_FEWEST_TREES = 10
"""Minimum number of trees in each forest, even if time is short."""

_MOST_STEPS, _CONVERGED, _LOOSE = 50, 1e-8, 1e-6
"""Of the calibration: maximum number of Newton steps, step size at convergence, and precision of a flat prior."""

_MOST_ROUNDS, _ENOUGH = 300, 1e-5
"""Of the maximisation: maximum number of rounds, and change of a share at convergence."""

_MOST_RAKINGS = 100
"""Passes in which shares of several margins are raked to the same totals."""

_TINY, _LEAST_SHARE = float(np.finfo(float).tiny), 1e-3
"""Smallest divisor, and smallest share whose logarithm is taken."""

_FEW = 5
"""With fewer replicates than this, an estimate counts no more than its prior."""


@dataclass(frozen=True)
class ShareSpec:
    """How shares are estimated; the defaults were chosen on draws 0 and 1 of ``bench/unknown_totals.py``.

    Attributes
    ----------
    n_trees : int
        Number of trees in each of the four forests.
    most_rows : int
        Maximum number of labeled rows, and of unlabeled rows, that are used; larger tables are sampled.
    least_vote : float
        Amount by which votes of 0 and 1 are moved inwards, so that one overconfident forest does not decide.
    slope_sd : float
        Standard deviation of the prior of the calibration slope around 1.
    pseudo_rows : float
        Rows added to each class in the maximisation, so that no share is exactly 0.
    spread : float
        Standard deviation of the prior of the log odds of two classes around 0: the more uncertain an estimate is, the
        more it is shrunk towards equal shares.
    domain_rows : float
        Rows with the shares of the whole table that are added to every domain: small domains borrow strength.
    n_replicates : int
        Number of bootstrap replicates for the standard errors.
    """

    n_trees: int = 50
    most_rows: int = 5000
    least_vote: float = 0.02
    slope_sd: float = 0.5
    pseudo_rows: float = 1.0
    spread: float = 1.0
    domain_rows: float = 20.0
    n_replicates: int = 50


def with_estimated_totals(
    known: Known,
    rows: FloatArray,
    seed: int,
    deadline: Deadline = NO_DEADLINE,
    unseen: FloatArray | None = None,
    spec: ShareSpec | None = None,
) -> Known:
    """Estimate every total that is to be estimated, or all totals if none is given.

    Parameters
    ----------
    known : Known
        Labels and totals. Totals given as ``"estimate"`` are estimated; all others stay.
    rows : ndarray of shape (n_rows, p)
        Features of the rows that count.
    seed : int
        Seed of forests and replicates.
    deadline : Deadline
        After it, totals that are to be estimated are left open; if no totals are given, the shares of the labels stay.
    unseen : ndarray of shape (n_rows,), optional
        For a register: weight of the unlabeled rows that are not among these rows, assigned to a row of their domain.
    spec : ShareSpec, optional
        How shares are estimated.
    """
    if known.is_labeled.all() or (known.stated.tables and not known.stated.wants_estimates):
        return known
    as_given = known
    if not known.stated.tables:
        known = replace(known, domains=()).with_totals(StatedTotals.by_default(known.classes.tolist()), unseen)
    divisions = read_divisions(known.domains, known.labels, needs_all=False)
    margins = [OpenMargin.of(known, *pair) for pair in enumerate(divisions)]
    if not any(margin.is_open.any() for margin in margins):
        nothing = [np.full((2, *margin.fixed.shape), np.nan) for margin in margins]
        tables = tuple(_filled(*pair, known) for pair in enumerate(nothing))
        return known.with_totals(replace(known.stated, tables=tables), unseen)
    _refuse_unlabeled_classes(known)
    spec, rng = spec or ShareSpec(), np.random.RandomState(seed)
    try:
        scores = held_out_scores(rows, known, rng, spec, deadline)
        found = _replicates(scores, margins, rng, spec, deadline)
    except GuideStopped:
        return as_given
    is_guess = _are_guesses([of[0] for of in found])
    settled = [
        margin.guessed() if is_guess else margin.settled([of[place] for of in found], scores, spec)
        for place, margin in enumerate(margins)
    ]
    tables = tuple(_filled(*pair, known) for pair in enumerate(_agreeing(settled, known)))
    return known.with_totals(replace(known.stated, tables=tables, is_guess=is_guess), unseen)


def _are_guesses(found: list[Shares]) -> bool:
    """Whether features are unrelated to the classes, in the sample or in most of its replicates."""
    first, *others = (of.tell_classes_apart for of in found)
    return not first or 2 * sum(others) < len(others)


def _replicates(
    scores: HeldOutScores, margins: list[OpenMargin], rng: np.random.RandomState, spec: ShareSpec, deadline: Deadline
) -> list[list[Shares]]:
    """Return shares of each margin: the estimates, then those of bootstrap replicates, fewer if time runs out."""
    found: list[list[Shares]] = []
    for number in range(spec.n_replicates + 1):
        try:
            ratios = scores.redrawn(rng if number else None, spec, deadline)
            pairs = zip(margins, found[0] if found else [None] * len(margins), strict=True)
            found.append([margin.shares(ratios, scores, start, spec, deadline) for margin, start in pairs])
        except GuideStopped:
            if not found:
                raise
            break
    return found


def _refuse_unlabeled_classes(known: Known) -> None:
    without = [brief(label) for label in known.classes[known.unlabeled_classes].tolist()]
    if without:
        raise InvalidProblem(
            f"Totals can be estimated only if every class has labeled rows; {listed(without)} "
            f"{'has' if len(without) == 1 else 'have'} none. Give totals instead, or label some rows."
        )


@dataclass(frozen=True, eq=False)
class HeldOutScores:
    """Log votes of forests on rows that they have not seen.

    Attributes
    ----------
    codes, weights : ndarray of shape (n,)
        Class and weight of each labeled row in the sample.
    labeled : ndarray of shape (n, n_classes)
        Log votes on these rows, by the trees that have not seen them.
    sizes : ndarray of shape (m,)
        Weight of each unlabeled row in the sample, relative to the mean.
    unlabeled : ndarray of shape (m, n_classes)
        Log votes on these rows.
    unlabeled_rows : ndarray of shape (m,)
        Their positions among all rows.
    """

    codes: IntArray
    weights: FloatArray
    labeled: FloatArray
    sizes: FloatArray
    unlabeled: FloatArray
    unlabeled_rows: IntArray

    def redrawn(self, rng: np.random.RandomState | None, spec: ShareSpec, deadline: Deadline) -> Ratios:
        """Return likelihoods of the unlabeled rows in a replicate drawn within classes; in the sample if no rng."""
        n_classes, sizes = self.labeled.shape[1], self.sizes
        chosen = np.arange(len(self.codes))
        if rng is not None:
            members = [np.flatnonzero(self.codes == k) for k in range(n_classes)]
            chosen = np.concatenate([of_class[rng.randint(len(of_class), size=len(of_class))] for of_class in members])
            drawn = np.bincount(rng.randint(len(sizes), size=len(sizes)), minlength=len(sizes))
            sizes = sizes * drawn
        drawn_labels = self.labeled[chosen], self.codes[chosen], self.weights[chosen]
        slope, offsets = calibrate(*drawn_labels, spec.slope_sd, deadline)
        return Ratios(slope * self.unlabeled + offsets, sizes)


@dataclass(frozen=True, eq=False)
class Ratios:
    """Log likelihood of each unlabeled row in each class, up to a constant of the row, and the weights of the rows."""

    log: FloatArray
    sizes: FloatArray

    @property
    def tell_classes_apart(self) -> bool:
        """Whether likelihood ratios of the classes differ between rows."""
        return bool(np.ptp(self.log - self.log[:, :1], axis=0).max() > _LOOSE)


def held_out_scores(
    rows: FloatArray,
    known: Known,
    rng: np.random.RandomState,
    spec: ShareSpec | None = None,
    deadline: Deadline = NO_DEADLINE,
) -> HeldOutScores:
    """Grow the four forests of the default guide, with equal numbers of draws from each class, and let them vote.

    Trees draw within classes. If they drew from all rows, the trees that leave out a row of a small class would have
    fewer rows of this class, so the row would look less like its class than an unlabeled row does.
    """
    spec = spec or ShareSpec()
    labeled, unlabeled = (
        np.sort(rng.permutation(np.flatnonzero(which))[: spec.most_rows])
        for which in (known.is_labeled, ~known.is_labeled)
    )
    labeled = np.union1d(labeled, [np.flatnonzero(known.labels.codes == k)[0] for k in range(len(known.classes))])
    widening = Widening.of(rows, rng, deadline)
    seen, others = (widening.transform(rows, chosen, deadline) for chosen in (labeled, unlabeled))
    codes, weights = known.labels.codes[labeled], known.sizes[labeled]
    p, width, n_classes = rows.shape[1], seen.shape[1], len(known.classes)
    kinds = FOREST.kinds(p, width)
    # All forests together have half of the remaining time; each gets its part of that.
    parts = 0.5 / (1 - 0.5 * np.arange(len(kinds)) / len(kinds)) / len(kinds)
    votes = [
        _votes(seen[:, :n], others[:, :n], (codes, weights, n_classes), (kind, n_tried), rng, spec, (deadline, part))
        for (kind, n, n_tried), part in zip(kinds, parts.tolist(), strict=True)
    ]
    # With many classes, votes are moved less: at least half of each vote stays.
    least = min(spec.least_vote, 0.5 / n_classes)
    of_labeled, of_others = (
        np.log(least + (1 - n_classes * least) * np.mean(part, axis=0)) for part in zip(*votes, strict=True)
    )
    sizes = known.sizes[unlabeled]
    return HeldOutScores(codes, weights / weights.mean(), of_labeled, sizes / sizes.mean(), of_others, unlabeled)


def _votes(
    seen: Float32Array,
    others: Float32Array,
    labels: tuple[IntArray, FloatArray, int],
    how: tuple[Splitter, int],
    rng: np.random.RandomState,
    spec: ShareSpec,
    time: tuple[Deadline, float],
) -> tuple[FloatArray, FloatArray]:
    """Return mean votes of one forest on the labeled rows, by trees that have not seen them, and on other rows.

    ``time`` is the deadline, and the part of the remaining time for growing trees; a few are grown in any case.
    """
    deadline, part = time
    until = deadline.within(part * deadline.seconds_left)
    codes, weights, n_classes = labels
    targets, members = np.eye(n_classes)[codes], [np.flatnonzero(codes == k) for k in range(n_classes)]
    odds = [np.cumsum(weights[of_class]) / weights[of_class].sum() for of_class in members]
    size = max(len(codes) // n_classes, 2)
    of_seen, n_unseen, of_others = (
        np.zeros(targets.shape),
        np.zeros((len(codes), 1)),
        np.zeros((len(others), n_classes)),
    )
    n_grown = 0
    for seed in rng.randint(2**31 - 1, size=spec.n_trees):
        require_time(deadline)
        if n_grown >= _FEWEST_TREES and until.passed:
            break
        n_grown += 1
        random = np.random.RandomState(np.random.PCG64(int(seed)))
        times = np.zeros(len(codes))
        for of_class, cumulated in zip(members, odds, strict=True):
            drawn = np.searchsorted(cumulated, random.random_sample(size), side="right")
            times += np.bincount(of_class[np.minimum(drawn, len(of_class) - 1)], minlength=len(codes))
        tree = fit_tree(seen, targets, times, how, random, FOREST.most_depth)
        unseen = np.flatnonzero(times == 0)
        if len(unseen):
            of_seen[unseen] += tree.predict(seen[unseen]).reshape(-1, n_classes)
            n_unseen[unseen] += 1
        of_others += tree.predict(others).reshape(-1, n_classes)
    # A row that every tree has seen gets even votes.
    held_out = np.where(n_unseen > 0, of_seen / np.maximum(n_unseen, 1), 1 / n_classes)
    return held_out, of_others / n_grown


def calibrate(
    scores: FloatArray, codes: IntArray, weights: FloatArray, slope_sd: float, deadline: Deadline = NO_DEADLINE
) -> tuple[float, FloatArray]:
    """Find the slope and offsets that make held-out scores most likely, given the classes.

    The probability of class k is proportional to its share among these rows times ``exp(slope * score_k + offset_k)``.
    The exponential is thus the likelihood of a row in the class, up to a constant of the row. The slope has a normal
    prior around 1. A negative slope means that the scores are uninformative: slope and offsets are then 0.

    Parameters
    ----------
    scores : ndarray of shape (n, n_classes)
        Log votes on held-out rows.
    codes, weights : ndarray of shape (n,)
        Their classes and weights.
    slope_sd : float
        Standard deviation of the prior.
    deadline : Deadline
        `GuideStopped` is raised after it.
    """
    n, n_classes = scores.shape
    shares = np.bincount(codes, weights=weights, minlength=n_classes) / weights.sum()
    # The slope, and the offset of each class but the first.
    prior_mean = np.array([1.0, *np.zeros(n_classes - 1)])
    # A small precision keeps offsets finite if the scores separate the classes.
    precision = np.array([slope_sd**-2, *np.full(n_classes - 1, _LOOSE)])
    given = np.column_stack([scores[np.arange(n), codes], np.eye(n_classes)[codes, 1:]])

    def value(at: FloatArray) -> tuple[float, FloatArray]:
        logs = log_softmax(at[0] * scores + np.array([0.0, *at[1:]]) + np.log(shares), axis=1)
        loss = -weights @ logs[np.arange(n), codes] + 0.5 * precision @ (at - prior_mean) ** 2
        return float(loss), np.exp(logs)

    found = prior_mean
    loss, likely = value(found)
    for _ in range(_MOST_STEPS):
        require_time(deadline)
        scored = likely * scores
        mean = np.column_stack([scored.sum(axis=1), likely[:, 1:]])
        gradient = weights @ (mean - given) + precision * (found - prior_mean)
        hessian = np.diag(precision + weights @ mean)
        hessian[0, 0] = precision[0] + weights @ (scored * scores).sum(axis=1)
        hessian[0, 1:] = hessian[1:, 0] = weights @ scored[:, 1:]
        hessian -= (weights[:, None] * mean).T @ mean
        step = np.linalg.solve(hessian, gradient)
        part, (better, probabilities) = 1.0, value(found - step)
        while not better <= loss + _CONVERGED and part > _LOOSE:
            part /= 2
            better, probabilities = value(found - part * step)
        if not np.isfinite(better):
            break
        found, loss, likely = found - part * step, better, probabilities
        if np.abs(part * step).max() < _CONVERGED:
            break
    if found[0] <= 0:
        return 0.0, np.zeros(n_classes)
    return float(found[0]), np.array([0.0, *found[1:]])


def maximise_shares(
    ratios: Ratios,
    codes: IntArray,
    prior: FloatArray,
    fixed: FloatArray,
    start: FloatArray | None = None,
    deadline: Deadline = NO_DEADLINE,
) -> FloatArray:
    """Find the class shares of each domain that make its rows most likely, shape (n_domains, n_classes).

    Expectation-maximisation: each row is divided among the classes in proportion to share times likelihood, and the new
    shares are the sums over the rows.

    Parameters
    ----------
    ratios : Ratios
        Likelihoods of the rows in the classes.
    codes : ndarray of shape (m,)
        Domain of each row.
    prior : ndarray of shape (n_domains, n_classes)
        Rows that are added to each class.
    fixed : ndarray of shape (n_domains, n_classes)
        Known shares, which stay; NaN where a share is to be estimated.
    start : ndarray of shape (n_domains, n_classes), optional
        Initial shares; those of the prior if None.
    deadline : Deadline
        `GuideStopped` is raised after it.
    """
    likelihoods = np.exp(ratios.log - ratios.log.max(axis=1, keepdims=True))
    is_free = np.isnan(fixed)
    remaining = _remaining_share(fixed)

    def scaled(parts: FloatArray) -> FloatArray:
        free = np.where(is_free, parts, 0.0)
        return np.where(is_free, remaining * free / np.maximum(free.sum(axis=1, keepdims=True), _TINY), fixed)

    shares = scaled(prior if start is None else start)
    for _ in range(_MOST_ROUNDS):
        require_time(deadline)
        joint = likelihoods * shares[codes]
        # A row without any likely class of positive share is uninformative.
        parts = (joint * (ratios.sizes / np.maximum(joint.sum(axis=1), _TINY))[:, None]).T
        got = np.array([np.bincount(codes, weights=part, minlength=len(prior)) for part in parts]).T
        better = scaled(got + prior)
        change, shares = float(np.abs(better - shares).max()), better
        if change < _ENOUGH:
            break
    return shares


def _remaining_share(fixed: FloatArray) -> FloatArray:
    """Return the share of each domain that remains for classes without known shares, shape (n_domains, 1)."""
    return np.asarray(np.maximum(1.0 - np.where(np.isnan(fixed), 0.0, fixed).sum(axis=1, keepdims=True), 0.0))


def _filled(place: int, found: FloatArray, known: Known) -> Cells:
    """Complete the given totals of a margin by shares and standard errors, shape (2, n_domains, n_classes)."""
    table, margin, classes = known.stated.tables[place], known.targets.margins[place], known.classes.tolist()
    of_domain = {text_of(domain): found[:, k] for k, domain in enumerate(margin.domains)}
    nothing = np.full(found[:, 0].shape, np.nan)
    return {
        domain: {
            label: total
            for label, given in stated.items()
            if (total := _total(given, *of_domain.get(text_of(domain), nothing)[:, classes.index(label)])) is not None
        }
        for domain, stated in table.items()
    }


def _agreeing(settled: list[FloatArray], known: Known) -> list[FloatArray]:
    """Make all margins agree on the totals of the classes.

    A class has the total of a margin in which it is known, or else the mean of the margins' estimates. The estimates of
    each margin are raked to these totals: scaled by class and by domain in turn.
    """
    if len(settled) == 1:
        return settled
    counts, is_free, sizes = [], [], []
    for (share, _), margin in zip(settled, known.targets.margins, strict=True):
        value = np.where(np.isnan(margin.value), 0.5 * (margin.low + margin.high), margin.value)
        # The upper bound of a class without known total is the size of its domain.
        rows = np.where(np.isnan(share).any(axis=1), value.sum(axis=1), margin.high.max(axis=1))[:, None]
        counts.append(np.where(np.isnan(share), value, share * rows))
        is_free.append(~np.isnan(share) & np.isnan(margin.value))
        sizes.append(rows)
    totals, is_open = np.array([part.sum(axis=0) for part in counts]), np.array([part.any(axis=0) for part in is_free])
    knows = ~is_open
    aim = np.where(knows.any(axis=0), totals[knows.argmax(axis=0), np.arange(totals.shape[1])], totals.mean(axis=0))
    estimated = is_open.all(axis=0)
    rest = float(sizes[0].sum()) - aim[~estimated].sum()
    aim[estimated] *= max(rest, 0.0) / max(aim[estimated].sum(), _TINY)
    agreed = []
    for (share, se), cells, free, rows in zip(settled, counts, is_free, sizes, strict=True):
        kept, moved = np.where(free, 0.0, cells), np.where(free, cells, 0.0)
        for _ in range(_MOST_RAKINGS):
            moved = moved * np.maximum(aim - kept.sum(axis=0), 0.0) / np.maximum(moved.sum(axis=0), _TINY)
            left = np.maximum(rows - kept.sum(axis=1, keepdims=True), 0.0)
            moved = moved * left / np.maximum(moved.sum(axis=1, keepdims=True), _TINY)
        agreed.append(np.array([np.where(free, moved / np.maximum(rows, _TINY), share), se]))
    return agreed


def _total(given: Any, share: float, se: float) -> Any:
    """Return the given total of a cell, or its estimate; None if it follows from the others."""
    if not is_to_estimate(given):
        return given
    return None if np.isnan(share) else EstimatedShare(float(share), float(se))


def _known_shares(margin: Margin, domain: int, entries: dict[Any, Any], classes: list[Any]) -> FloatArray:
    """Return known shares of the classes of a domain, or the middle of their bounds; NaN for the others."""
    is_known = np.array([label in entries and not is_to_estimate(entries[label]) for label in classes])
    value, middle = margin.value[domain], 0.5 * (margin.low[domain] + margin.high[domain])
    known = np.where(np.isnan(value), middle, value)
    # The upper bound of a class without known total is the size of its domain.
    size = known.sum() if is_known.all() else margin.high[domain][~is_known].max()
    return np.where(is_known, known / size if size > 0 else 0.0, np.nan)


def _places(division: Division, margin: Margin) -> IntArray:
    """Return the domain of each row among those of the margin; -1 if the margin does not have it."""
    place = {text_of(domain): code for code, domain in enumerate(margin.domains.tolist())}
    places = np.array([*(place.get(text_of(domain), UNLABELED) for domain in division.domains), UNLABELED])
    return np.asarray(places[division.codes])


class Shares(NamedTuple):
    """Shares in all open domains together, shape (1, n_classes), and in each; whether features are informative."""

    whole: FloatArray
    by_domain: FloatArray
    tell_classes_apart: bool


@dataclass(frozen=True, eq=False)
class OpenMargin:
    """A margin with totals that are to be estimated.

    Attributes
    ----------
    places : ndarray of shape (n_rows,)
        Domain of each row among those of the margin; -1 if the margin does not have it.
    fixed : ndarray of shape (n_domains, n_classes)
        Known shares; NaN where a share is to be estimated.
    """

    places: IntArray
    fixed: FloatArray

    @classmethod
    def of(cls, known: Known, place: int, division: Division) -> OpenMargin:
        """Return one of the margins."""
        table, margin, classes = known.stated.tables[place], known.targets.margins[place], known.classes.tolist()
        entries = {text_of(domain): given for domain, given in table.items()}
        fixed = [_known_shares(margin, k, entries[text_of(d)], classes) for k, d in enumerate(margin.domains)]
        return cls(_places(division, margin), np.array(fixed))

    @property
    def is_open(self) -> BoolArray:
        """Whether each domain has at least two classes to estimate; a single one follows from the others."""
        return np.asarray(np.isnan(self.fixed).sum(axis=1) > 1)

    def shares(
        self, ratios: Ratios, scores: HeldOutScores, start: Shares | None, spec: ShareSpec, deadline: Deadline
    ) -> Shares:
        """Return the most likely shares of the open domains, shrunk towards those of all together."""
        domains, fixed = np.flatnonzero(self.is_open), self.fixed[self.is_open]
        places = self.places[scores.unlabeled_rows]
        here = np.isin(places, domains)
        tells = ratios.tell_classes_apart
        codes, ratios = np.searchsorted(domains, places[here]), Ratios(ratios.log[here], ratios.sizes[here])
        together = self._together(scores)
        even, nobody = np.full(together.shape, spec.pseudo_rows), np.zeros(len(codes), dtype=np.int64)
        whole = maximise_shares(ratios, nobody, even, together, start and start.whole, deadline)
        by_domain = whole
        if len(domains) > 1:
            prior = np.repeat(spec.domain_rows * whole, len(domains), axis=0)
            by_domain = maximise_shares(ratios, codes, prior, fixed, start and start.by_domain, deadline)
        return Shares(whole, by_domain, tells)

    def settled(self, found: list[Shares], scores: HeldOutScores, spec: ShareSpec) -> FloatArray:
        """Return shares and standard errors, shape (2, n_domains, n_classes); NaN where nothing is to be estimated."""
        n_labels = np.bincount(scores.codes, minlength=self.fixed.shape[1])
        settled, is_open = np.full((2, *self.fixed.shape), np.nan), self.is_open
        if not is_open.any():
            return settled
        whole, by_domain = np.array([of.whole for of in found]), np.array([of.by_domain for of in found])
        of_all = _settled(whole, self._together(scores), n_labels, spec)
        settled[:, is_open] = of_all
        if is_open.sum() > 1:
            settled[:, is_open] = _settled(by_domain, self.fixed[is_open], n_labels, spec, (whole[0], of_all[0]))
        return settled

    def guessed(self) -> FloatArray:
        """Return mean and standard deviation of uniformly distributed shares, in the form of `settled`.

        They are used if features are unrelated to the classes.
        """
        is_free, is_open = np.isnan(self.fixed), self.is_open[:, None]
        n_free = np.maximum(is_free.sum(axis=1, keepdims=True), 1)
        remaining = _remaining_share(self.fixed)
        se = remaining * np.sqrt((n_free - 1) / (n_free + 1)) / n_free
        guessed = np.array([np.where(is_free, remaining / n_free, self.fixed), np.where(is_free, se, 0.0)])
        return np.where(is_open, guessed, np.nan)

    def _together(self, scores: HeldOutScores) -> FloatArray:
        """Return the shares of all open domains together that are known in each of them, shape (1, n_classes)."""
        places = self.places[scores.unlabeled_rows]
        rows_of = np.bincount(places + 1, weights=scores.sizes, minlength=len(self.fixed) + 1)[1:][self.is_open, None]
        fixed = self.fixed[self.is_open]
        return np.asarray((fixed * rows_of).sum(axis=0, keepdims=True) / max(float(rows_of.sum()), _TINY))


def _settled(
    replicates: FloatArray,
    fixed: FloatArray,
    n_labels: IntArray,
    spec: ShareSpec,
    of_all: tuple[FloatArray, FloatArray] | None = None,
) -> FloatArray:
    """Return shares and standard errors, shape (2, n_domains, n_classes), from the estimates of all replicates.

    Log shares are assumed to be normal. Their variance is that of the replicates, plus a term for small numbers of
    labels, which vary too little when redrawn. The prior mean is equal shares. ``of_all`` are the shares of all domains
    together before and after shrinking; each domain shifts as they do.
    """
    is_free = np.isnan(fixed)
    n_free = is_free.sum(axis=1, keepdims=True)
    remaining = _remaining_share(fixed)

    def centred(shares: FloatArray) -> FloatArray:
        logs = np.where(is_free, np.log(np.maximum(shares, _LEAST_SHARE)), 0.0)
        return np.asarray(np.where(is_free, logs - logs.sum(axis=-1, keepdims=True) / n_free, 0.0))

    by_labels = np.where(is_free, 1.0 / np.maximum(n_labels, 1), 0.0)
    # Log shares of n classes with independent errors, minus their mean, have this part of the errors' variance.
    part = 1 - 1 / n_free
    prior = 0.5 * spec.spread**2 * part
    variance = (1 - 2 / n_free) * by_labels + by_labels.sum(axis=1, keepdims=True) / n_free**2
    # With very few replicates, an estimate counts no more than the prior.
    variance += centred(replicates[1:]).var(axis=0) if len(replicates) > _FEW else np.broadcast_to(prior, fixed.shape)
    logs = centred(replicates[0])
    if of_all is None:
        logs = logs * prior / (prior + variance)
    else:
        before, after = of_all
        logs = logs + centred(after) - centred(before)
    shares = softmax(np.where(is_free, logs, -np.inf), axis=1)
    error = variance * prior / (variance + prior) / part
    in_all = (shares**2 * error).sum(axis=1, keepdims=True)
    se = shares * np.sqrt((1 - 2 * shares) * error + in_all)
    return np.array([np.where(is_free, remaining * shares, fixed), np.where(is_free, remaining * se, 0.0)])

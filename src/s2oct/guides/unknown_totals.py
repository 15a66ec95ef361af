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

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import log_softmax, softmax

from s2oct.arrays import BoolArray, FloatArray, IntArray
from s2oct.errors import InvalidProblem
from s2oct.guides.forest import DEFAULTS as FOREST
from s2oct.guides.forest import Grower, GuideStopped, Widening, require_time
from s2oct.problem.known import Known
from s2oct.problem.totals import Cells, EstimatedShare, Margin, StatedTotals, is_to_estimate, text_of
from s2oct.stopping import NO_DEADLINE, Deadline
from s2oct.wording import brief, listed

ESTIMATING_SHARE = 0.3
"""Share of a fit's time limit for estimating totals; it usually takes less than a second."""

_CONVERGED, _LOOSE = 1e-8, 1e-6
"""Of the calibration: step size at convergence, and precision of a flat prior."""

_SETTLED = 1e-5
"""Change of a share at convergence of the maximisation."""

_TINY, _LEAST_SHARE = float(np.finfo(float).tiny), 1e-3
"""Smallest divisor, and smallest share whose logarithm is taken."""


@dataclass(frozen=True)
class ShareParams:
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
    few_replicates : int
        With at most this many estimates, one counts no more than its prior: so few do not show their spread.
    most_steps : int
        Maximum number of Newton steps of the calibration, which usually takes fewer than ten.
    most_rounds : int
        Maximum number of rounds of the maximisation.
    most_rakings : int
        Maximum number of passes in which the shares of several margins are raked to the same totals.
    """

    n_trees: int = 50
    most_rows: int = 5000
    least_vote: float = 0.02
    slope_sd: float = 0.5
    pseudo_rows: float = 1.0
    spread: float = 1.0
    domain_rows: float = 20.0
    n_replicates: int = 50
    few_replicates: int = 5
    most_steps: int = 50
    most_rounds: int = 300
    most_rakings: int = 100


DEFAULTS = ShareParams()


def with_estimated_totals(
    known: Known,
    rows: FloatArray,
    seed: int,
    deadline: Deadline = NO_DEADLINE,
    unseen: FloatArray | None = None,
    params: ShareParams = DEFAULTS,
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
    params : ShareParams
        How shares are estimated.
    """
    if not known.needs_estimates:
        return known
    as_given = known
    if not known.stated.tables:
        known = replace(known, domains=()).with_totals(StatedTotals.by_default(known.classes.tolist()), unseen)
    margins = [OpenMargin.of(known, place) for place in range(len(known.targets.margins))]
    shares, is_guess = [np.full((2, *margin.fixed.shape), np.nan) for margin in margins], False
    if any(margin.is_open.any() for margin in margins):
        _refuse_unlabeled_classes(known)
        rng = np.random.RandomState(seed)
        try:
            scores = held_out_scores(rows, known, rng, params, deadline)
            estimates, are_informative = _replicates(scores, margins, rng, params, deadline)
        except GuideStopped:
            return as_given
        # Features are unrelated to the classes in the sample, or in most of its replicates.
        is_guess = not are_informative[0] or 2 * sum(are_informative[1:]) < len(are_informative) - 1
        shares = [
            margin.guessed() if is_guess else margin.settled(of_margin, scores, params)
            for margin, of_margin in zip(margins, zip(*estimates, strict=True), strict=True)
        ]
        shares = _agreeing(shares, known, params)
    tables = tuple(_filled(*pair, known) for pair in enumerate(shares))
    return known.with_totals(replace(known.stated, tables=tables, is_guess=is_guess), unseen)


Shares = tuple[FloatArray, FloatArray]
"""Shares in all open domains of a margin together, shape (1, n_classes), and in each of them."""


def _replicates(
    scores: HeldOutScores,
    margins: list[OpenMargin],
    rng: np.random.RandomState,
    params: ShareParams,
    deadline: Deadline,
) -> tuple[list[list[Shares]], list[bool]]:
    """Return shares of each margin, and whether the features are informative, in the sample and its replicates.

    There are fewer replicates if time runs out.
    """
    found: list[list[Shares]] = []
    are_informative: list[bool] = []
    for number in range(params.n_replicates + 1):
        try:
            log_likelihoods, sizes = scores.redrawn(rng if number else None, params, deadline)
            starts = found[0] if found else [(None, None)] * len(margins)
            shares = [
                margin.shares(log_likelihoods, sizes, scores, start, params, deadline)
                for margin, start in zip(margins, starts, strict=True)
            ]
        except GuideStopped:
            if not found:
                raise
            break
        found.append(shares)
        ratios = log_likelihoods - log_likelihoods[:, :1]
        are_informative.append(bool(np.ptp(ratios, axis=0).max() > _LOOSE))
    return found, are_informative


def _refuse_unlabeled_classes(known: Known) -> None:
    without = [brief(label) for label in known.classes[known.unlabeled_classes].tolist()]
    if without:
        raise InvalidProblem(
            f"Totals cannot be estimated, because no labeled row is of class {listed(without)}: give totals, or label "
            "some rows."
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
        Their positions among the unlabeled rows.
    """

    codes: IntArray
    weights: FloatArray
    labeled: FloatArray
    sizes: FloatArray
    unlabeled: FloatArray
    unlabeled_rows: IntArray

    def redrawn(
        self, rng: np.random.RandomState | None, params: ShareParams, deadline: Deadline
    ) -> tuple[FloatArray, FloatArray]:
        """Return log likelihoods and weights of the unlabeled rows in a replicate, or in the sample without ``rng``.

        A replicate is drawn within classes. The likelihoods have shape (m, n_classes), up to a constant of the row.
        """
        n_classes, sizes = self.labeled.shape[1], self.sizes
        chosen = np.arange(len(self.codes))
        if rng is not None:
            members = [np.flatnonzero(self.codes == k) for k in range(n_classes)]
            chosen = np.concatenate([of_class[rng.randint(len(of_class), size=len(of_class))] for of_class in members])
            drawn = np.bincount(rng.randint(len(sizes), size=len(sizes)), minlength=len(sizes))
            sizes = sizes * drawn
        slope, offsets = calibrate(self.labeled[chosen], self.codes[chosen], self.weights[chosen], params, deadline)
        return slope * self.unlabeled + offsets, sizes


def held_out_scores(
    rows: FloatArray,
    known: Known,
    rng: np.random.RandomState,
    params: ShareParams = DEFAULTS,
    deadline: Deadline = NO_DEADLINE,
) -> HeldOutScores:
    """Grow the four forests of the default guide, with equal numbers of draws from each class, and let them vote.

    Trees draw within classes. If they drew from all rows, the trees that leave out a row of a small class would have
    fewer rows of this class, so the row would look less like its class than an unlabeled row does.
    """
    labeled, unlabeled = (
        np.sort(rng.permutation(np.flatnonzero(which))[: params.most_rows])
        for which in (known.is_labeled, ~known.is_labeled)
    )
    n_classes = len(known.classes)
    labeled = np.union1d(labeled, [np.flatnonzero(known.labels.codes == k)[0] for k in range(n_classes)])
    widening = Widening.of(rows, rng, deadline)
    seen, others = (widening.transform(rows, chosen, deadline) for chosen in (labeled, unlabeled))
    codes, weights = known.labels.codes[labeled], known.sizes[labeled]
    members = [np.flatnonzero(codes == k) for k in range(n_classes)]
    kinds = FOREST.kinds(rows.shape[1], seen.shape[1])
    # All forests together have half of the remaining time; each gets its part of that.
    parts = 0.5 / (1 - 0.5 * np.arange(len(kinds)) / len(kinds)) / len(kinds)
    votes = []
    for (splitter, n_columns, n_tried), part in zip(kinds, parts.tolist(), strict=True):
        enough = deadline.within(part * deadline.seconds_left)
        grower = Grower(params.n_trees, rng, n_jobs=1, deadline=deadline, enough=enough)
        forest, unseen = grower.grow(seen[:, :n_columns], np.eye(n_classes)[codes], weights, splitter, n_tried, members)
        votes.append((unseen, forest.votes(others, 1, deadline)))
    # With many classes, votes are moved less: at least half of each vote stays.
    least = min(params.least_vote, 0.5 / n_classes)
    of_labeled, of_others = (
        np.log(least + (1 - n_classes * least) * np.mean(part, axis=0)) for part in zip(*votes, strict=True)
    )
    sizes, places = known.sizes[unlabeled], np.searchsorted(np.flatnonzero(~known.is_labeled), unlabeled)
    return HeldOutScores(codes, weights / weights.mean(), of_labeled, sizes / sizes.mean(), of_others, places)


def calibrate(
    scores: FloatArray,
    codes: IntArray,
    weights: FloatArray,
    params: ShareParams = DEFAULTS,
    deadline: Deadline = NO_DEADLINE,
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
    params : ShareParams
        Standard deviation of the prior, and maximum number of steps.
    deadline : Deadline
        `GuideStopped` is raised after it.
    """
    n, n_classes = scores.shape
    shares = np.bincount(codes, weights=weights, minlength=n_classes) / weights.sum()
    # The slope, and the offset of each class but the first.
    prior_mean = np.array([1.0, *np.zeros(n_classes - 1)])
    # A small precision keeps offsets finite if the scores separate the classes.
    precision = np.array([params.slope_sd**-2, *np.full(n_classes - 1, _LOOSE)])
    given = np.column_stack([scores[np.arange(n), codes], np.eye(n_classes)[codes, 1:]])

    def value(at: FloatArray) -> tuple[float, FloatArray]:
        logs = log_softmax(at[0] * scores + np.array([0.0, *at[1:]]) + np.log(shares), axis=1)
        loss = -weights @ logs[np.arange(n), codes] + 0.5 * precision @ (at - prior_mean) ** 2
        return float(loss), np.exp(logs)

    found = prior_mean
    loss, likely = value(found)
    for _ in range(params.most_steps):
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
    log_likelihoods: FloatArray,
    sizes: FloatArray,
    codes: IntArray,
    prior: FloatArray,
    fixed: FloatArray,
    start: FloatArray | None = None,
    params: ShareParams = DEFAULTS,
    deadline: Deadline = NO_DEADLINE,
) -> FloatArray:
    """Find the class shares of each domain that make its rows most likely, shape (n_domains, n_classes).

    Expectation-maximisation: each row is divided among the classes in proportion to share times likelihood, and the new
    shares are the sums over the rows.

    Parameters
    ----------
    log_likelihoods : ndarray of shape (m, n_classes)
        Log likelihood of each row in each class, up to a constant of the row.
    sizes : ndarray of shape (m,)
        Weight of each row.
    codes : ndarray of shape (m,)
        Domain of each row.
    prior : ndarray of shape (n_domains, n_classes)
        Rows that are added to each class.
    fixed : ndarray of shape (n_domains, n_classes)
        Known shares, which stay; NaN where a share is to be estimated.
    start : ndarray of shape (n_domains, n_classes), optional
        Initial shares; those of the prior if None.
    params : ShareParams
        Maximum number of rounds.
    deadline : Deadline
        `GuideStopped` is raised after it.
    """
    likelihoods = np.exp(log_likelihoods - log_likelihoods.max(axis=1, keepdims=True))
    is_free = np.isnan(fixed)
    remaining = _remaining_share(fixed)

    def scaled(parts: FloatArray) -> FloatArray:
        free = np.where(is_free, parts, 0.0)
        return np.where(is_free, remaining * free / np.maximum(free.sum(axis=1, keepdims=True), _TINY), fixed)

    shares = scaled(prior if start is None else start)
    for _ in range(params.most_rounds):
        require_time(deadline)
        joint = likelihoods * shares[codes]
        # A row without any likely class of positive share is uninformative.
        parts = (joint * (sizes / np.maximum(joint.sum(axis=1), _TINY))[:, None]).T
        got = np.array([np.bincount(codes, weights=part, minlength=len(prior)) for part in parts]).T
        better = scaled(got + prior)
        change, shares = float(np.abs(better - shares).max()), better
        if change < _SETTLED:
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


def _agreeing(settled: list[FloatArray], known: Known, params: ShareParams) -> list[FloatArray]:
    """Make all margins agree on the totals of the classes.

    A class has the total of a margin in which it is known, or else the mean of the margins' estimates. The estimates of
    each margin are raked to these totals: scaled by class and by domain in turn.
    """
    if len(settled) == 1:
        return settled
    counts, is_free, sizes = [], [], []
    for (share, _), margin in zip(settled, known.targets.margins, strict=True):
        value = _values(margin)
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
        for _ in range(params.most_rakings):
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
    known = _values(margin)[domain]
    # The upper bound of a class without known total is the size of its domain.
    size = known.sum() if is_known.all() else margin.high[domain][~is_known].max()
    return np.where(is_known, known / size if size > 0 else 0.0, np.nan)


def _values(margin: Margin) -> FloatArray:
    """Return the totals of a margin, or the middle of their bounds, shape (n_domains, n_classes)."""
    return np.where(np.isnan(margin.value), 0.5 * (margin.low + margin.high), margin.value)


@dataclass(frozen=True, eq=False)
class OpenMargin:
    """A margin with totals that are to be estimated.

    Attributes
    ----------
    codes : ndarray of shape (m,)
        Domain of each unlabeled row.
    fixed : ndarray of shape (n_domains, n_classes)
        Known shares; NaN where a share is to be estimated.
    """

    codes: IntArray
    fixed: FloatArray

    @classmethod
    def of(cls, known: Known, place: int) -> OpenMargin:
        """Return one of the margins."""
        table, margin, classes = known.stated.tables[place], known.targets.margins[place], known.classes.tolist()
        entries = {text_of(domain): given for domain, given in table.items()}
        fixed = [_known_shares(margin, k, entries[text_of(d)], classes) for k, d in enumerate(margin.domains)]
        return cls(margin.codes, np.array(fixed))

    @property
    def is_open(self) -> BoolArray:
        """Whether each domain has at least two classes to estimate; a single one follows from the others."""
        return np.asarray(np.isnan(self.fixed).sum(axis=1) > 1)

    def shares(
        self,
        log_likelihoods: FloatArray,
        sizes: FloatArray,
        scores: HeldOutScores,
        start: tuple[FloatArray | None, FloatArray | None],
        params: ShareParams,
        deadline: Deadline,
    ) -> Shares:
        """Return the most likely shares of the open domains, shrunk towards those of all together."""
        domains, fixed = np.flatnonzero(self.is_open), self.fixed[self.is_open]
        codes = self.codes[scores.unlabeled_rows]
        here = np.isin(codes, domains)
        rows = log_likelihoods[here], sizes[here]
        codes, whole_table = np.searchsorted(domains, codes[here]), np.zeros(int(here.sum()), dtype=np.int64)
        together = self._together(scores)
        prior = np.full(together.shape, params.pseudo_rows)
        whole = maximise_shares(*rows, whole_table, prior, together, start[0], params, deadline)
        if len(domains) < 2:
            return whole, whole
        prior = np.repeat(params.domain_rows * whole, len(domains), axis=0)
        return whole, maximise_shares(*rows, codes, prior, fixed, start[1], params, deadline)

    def settled(self, found: Sequence[Shares], scores: HeldOutScores, params: ShareParams) -> FloatArray:
        """Return shares and standard errors, shape (2, n_domains, n_classes); NaN where nothing is to be estimated."""
        n_labels = np.bincount(scores.codes, minlength=self.fixed.shape[1])
        settled, is_open = np.full((2, *self.fixed.shape), np.nan), self.is_open
        if not is_open.any():
            return settled
        whole, by_domain = (np.array(part) for part in zip(*found, strict=True))
        of_all = _settled(whole, self._together(scores), n_labels, params)
        settled[:, is_open] = of_all
        if is_open.sum() > 1:
            settled[:, is_open] = _settled(by_domain, self.fixed[is_open], n_labels, params, (whole[0], of_all[0]))
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
        codes = self.codes[scores.unlabeled_rows]
        rows_of = np.bincount(codes, weights=scores.sizes, minlength=len(self.fixed))[self.is_open, None]
        fixed = self.fixed[self.is_open]
        return np.asarray((fixed * rows_of).sum(axis=0, keepdims=True) / max(float(rows_of.sum()), _TINY))


def _settled(
    replicates: FloatArray,
    fixed: FloatArray,
    n_labels: IntArray,
    params: ShareParams,
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
    prior = 0.5 * params.spread**2 * part
    variance = (1 - 2 / n_free) * by_labels + by_labels.sum(axis=1, keepdims=True) / n_free**2
    # With very few replicates, an estimate counts no more than the prior.
    variance += (
        centred(replicates[1:]).var(axis=0)
        if len(replicates) > params.few_replicates
        else np.broadcast_to(prior, fixed.shape)
    )
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

"""Assign classes to rows so that known totals are met.

Every row gets the class with the highest score plus *multiplier*; each class has one multiplier per domain. There are
four ways to find the classes. A later one is used only if no earlier one is exact:

1. Two classes, one exact total, rows of equal weight: the rows with the highest scores, and `threshold_between` them
   and the others. Sorting is exact and immediate.
2. Everything else starts with `_soft_multipliers`: sweeps that bring the expected counts near the totals. They handle
   any margins, bounds and weights, and take time linear in the number of rows, but leave some rows off.
3. One margin, rows of equal weight: `_Exchange` moves the remaining rows along chains of least loss. This solves the
   assignment problem exactly, and yields multipliers for which no row prefers another class.
4. Several margins or unequal weights: meeting totals is then a hard problem. `_exchange_last_rows` solves a small
   integer program over the rows closest to a change of class.

Two other modules meet totals with something other than whole rows. `s2oct.estimates.estimating` rakes probabilities and
balances tables of estimates, because expected counts need no integers; `s2oct.guides.unknown_totals` rakes estimated
shares, so that all margins agree on the totals of the classes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.special import expit, logit, softmax

from s2oct.arrays import FloatArray, IntArray
from s2oct.problem.known import Known
from s2oct.problem.totals import Margin, Targets, largest_remainder

_ROUNDING = 1e-9
"""Tolerance of sums of floats, in rows."""

_PATH_ROUNDING = 1e-12
"""Differences between losses that count as zero, as a share of the farthest multiplier."""

_AHEAD = 1e-9
"""Lead given to the class of a row if multipliers leave it tied with another class, or behind."""

_LEAST_COUNT = 1e-300
"""Keeps logarithms and quotients of expected counts finite."""


@dataclass(frozen=True)
class MeetingParams:
    """Tuning of `meet_totals`.

    Attributes
    ----------
    temperatures : tuple of float
        Temperatures of the sweeps, in units of the spread of the scores. High ones move all multipliers quickly; the
        last one leaves few rows undecided.
    most_sweeps : int
        Maximum number of sweeps per temperature. More would gain little, because the last rows are exchanged anyway.
    near_enough : float
        Rows by which expected counts may be off before the temperature falls: less than half a row.
    most_rows : int
        Approximate number of rows used for the first sweeps. More rows give nearly the same multipliers.
    spare_rows : int
        Rows per pair of classes and domain that may change class in the integer program, beyond those that must. A few
        let the program trade one weight for another.
    most_nodes : int
        Maximum number of nodes of the integer program. It limits the work without a clock, so results are repeatable.
    """

    temperatures: tuple[float, ...] = (1.0, 0.3, 0.1, 0.03, 0.01)
    most_sweeps: int = 30
    near_enough: float = 0.2
    most_rows: int = 3000
    spare_rows: int = 3
    most_nodes: int = 200


DEFAULTS = MeetingParams()


def settle(
    scores: FloatArray,
    known: Known,
    *,
    ranking: FloatArray | None = None,
    beyond: float | None = None,
    rng: np.random.RandomState | None = None,
) -> tuple[IntArray, FloatArray, FloatArray]:
    """Assign classes to the unlabeled rows, and shift their scores until the likeliest classes meet the totals.

    Parameters
    ----------
    scores : ndarray of shape (m, 1) or (m, n_classes)
        Log odds of the second of two classes, or scores of all classes.
    known : Known
        Totals and weights of the rows.
    ranking : ndarray of shape (m,), optional
        Order of the rows if one exact total of two classes is known; the scores by default. Scores may lose
        differences by rounding.
    beyond : float, optional
        See `threshold_between`.
    rng : RandomState, optional
        Breaks ties at random; otherwise the order of the rows breaks them.

    Returns
    -------
    classes : ndarray of shape (m,)
        Class of each row.
    probabilities : ndarray of shape (m, n_classes)
        Probabilities from the shifted scores.
    multipliers : ndarray of shape (n_domains, n_classes)
        Shift of the scores in the domains of all margins, one margin after the other.
    """
    if known.n_second is not None:
        threshold = threshold_between(scores[:, 0], known.n_second, beyond)
        classes = top_rows(scores[:, 0] if ranking is None else ranking, known.n_second, rng)
        return classes, two_columns(scores[:, 0] - threshold), np.array([[threshold, 0.0]])
    order = np.arange(len(scores)) if rng is None else rng.permutation(len(scores))
    all_scores, sizes = _of_all_classes(scores), known.unlabeled_sizes
    found = meet_totals(all_scores[order], sizes[order], known.targets.of_rows(order))
    back = np.argsort(order)
    probabilities = np.asarray(softmax(found.shifted[back], axis=1))
    return found.classes[back], probabilities, np.concatenate(found.multipliers)


def multipliers_for_new_rows(scores: FloatArray, known: Known, beyond: float | None = None) -> FloatArray:
    """Return one multiplier per class, shape (n_classes,), that meets the totals of all domains together."""
    if known.n_second is not None:
        return np.array([threshold_between(scores[:, 0], known.n_second, beyond), 0.0])
    found = meet_totals(_of_all_classes(scores), known.unlabeled_sizes, overall(known.targets))
    return np.asarray(found.multipliers[0][0])


def threshold_between(scores: FloatArray, n_above: int, beyond: float | None = None) -> float:
    """Return the midpoint of the ``n_above``-th highest score and the next one; 0 without scores.

    A total of 0, or of all rows, needs a threshold outside the scores. If ``beyond`` exceeds the size of any score, it
    is halfway there; otherwise it is the highest score itself, or the largest number below the lowest.
    """
    if not len(scores):
        return 0.0
    descending = np.sort(scores)[::-1]
    if 0 < n_above < len(scores):
        return float(0.5 * descending[n_above - 1] + 0.5 * descending[n_above])
    if beyond is not None:
        return float(0.5 * (descending[0] + beyond) if n_above == 0 else 0.5 * (descending[-1] - beyond))
    return float(descending[0] if n_above == 0 else np.nextafter(descending[-1], -np.inf))


def top_rows(scores: FloatArray, n_above: int, rng: np.random.RandomState | None = None) -> IntArray:
    """Return 1 for the ``n_above`` rows with the highest scores, 0 for others; ties at random, or by row order."""
    order = np.arange(len(scores)) if rng is None else rng.permutation(len(scores))
    codes = np.zeros(len(scores), dtype=np.int64)
    codes[order[np.argsort(-scores[order], kind="stable")[:n_above]]] = 1
    return codes


def two_columns(log_odds_of_second: FloatArray) -> FloatArray:
    """Return probabilities of both classes, from the log odds of the second."""
    second = expit(log_odds_of_second)
    return np.column_stack([1 - second, second])


def log_odds(probability: FloatArray | float, least: float) -> FloatArray:
    """Return log odds, finite because probabilities are clipped to ``least`` and 1 - ``least``."""
    return np.asarray(logit(np.clip(probability, least, 1 - least)))


def _of_all_classes(scores: FloatArray) -> FloatArray:
    """Return scores with a column for each class: log odds of two classes are those of the second against 0."""
    return scores if scores.shape[1] > 1 else np.column_stack([np.zeros(len(scores)), scores])


class Assigned(NamedTuple):
    """Classes that meet the totals, and the scores that lead to them.

    Attributes
    ----------
    classes : ndarray of shape (m,)
        Class of each row.
    multipliers : tuple of ndarray of shape (n_domains, n_classes)
        For each margin, the numbers added to the scores of each class in each domain.
    shifted : ndarray of shape (m, n_classes)
        Scores plus multipliers; each row's class has the highest.
    """

    classes: IntArray
    multipliers: tuple[FloatArray, ...]
    shifted: FloatArray


def meet_totals(scores: FloatArray, sizes: FloatArray, targets: Targets, params: MeetingParams = DEFAULTS) -> Assigned:
    """Assign the classes that maximise the sum of size times score and meet the totals as closely as possible.

    Parameters
    ----------
    scores : ndarray of shape (m, n_classes)
        Log probabilities, or any finite scores.
    sizes : ndarray of shape (m,)
        Weight of each row in the totals.
    targets : Targets
        The totals.
    params : MeetingParams
        Tuning.

    Returns
    -------
    Assigned
        The classes. The order of the rows breaks ties.
    """
    if not len(scores):
        return Assigned(np.empty(0, dtype=np.int64), tuple(np.zeros_like(part.low) for part in targets.margins), scores)
    scores = scores - scores.max(axis=1, keepdims=True)
    count_alike = bool(np.ptp(sizes) == 0) and sizes[0] > 0
    if count_alike:
        sizes, targets = np.ones(len(sizes)), targets.over(float(sizes[0]))
    can_be_met = _meetable(targets, sizes, whole=count_alike)
    multipliers = _soft_multipliers(scores, sizes, can_be_met, params)
    shifted = scores + _multipliers_of_rows(multipliers, can_be_met)
    classes = shifted.argmax(axis=1)
    if count_alike and len(targets.margins) == 1:
        multipliers = (_exchange_by_domain(scores, classes, can_be_met.margins[0]),)
        shifted = scores + _multipliers_of_rows(multipliers, can_be_met)
    elif targets.rows_off(classes, sizes) > 0:
        classes = _exchange_last_rows(shifted, sizes, can_be_met, classes, params)
    return Assigned(classes, multipliers, _with_lead(shifted, classes))


def overall(targets: Targets) -> Targets:
    """Return totals of the classes over all domains of the first margin, for rows whose domain is unknown."""
    margin = targets.margins[0]
    low, high, value = (part.sum(axis=0, keepdims=True) for part in (margin.low, margin.high, margin.value))
    se = np.sqrt((margin.se**2).sum(axis=0, keepdims=True))
    everything = np.array([""], dtype=object)
    codes = np.zeros_like(margin.codes)
    return replace(targets, margins=(Margin("", everything, codes, low, high, value, se),))


def _with_lead(shifted: FloatArray, classes: IntArray) -> FloatArray:
    """Return the scores, with the class of each row just ahead of all others."""
    rows = np.arange(len(classes))
    others = shifted.copy()
    others[rows, classes] = -np.inf
    lead = others.max(axis=1, initial=-np.inf) + _AHEAD
    shifted[rows, classes] = np.maximum(shifted[rows, classes], lead)
    return shifted


def _meetable(targets: Targets, sizes: FloatArray, *, whole: bool) -> Targets:
    """Return the nearest totals that the rows of each domain can meet.

    Bounds that contradict the number of rows of a domain are scaled to it, and implied bounds are made explicit. With
    ``whole``, rows count 1 each and bounds are whole numbers.
    """
    margins = []
    for margin in targets.margins:
        low, high = np.maximum(margin.low, 0.0), np.maximum(margin.high, 0.0)
        rows = np.bincount(margin.codes, weights=sizes, minlength=len(low))
        for domain, n_rows in enumerate(rows):
            low[domain], high[domain] = _bounds(low[domain], high[domain], float(n_rows), whole)
        margins.append(replace(margin, low=low, high=high))
    return replace(targets, margins=tuple(margins))


def _bounds(low: FloatArray, high: FloatArray, n_rows: float, whole: bool) -> tuple[FloatArray, FloatArray]:
    """Return the bounds of one domain, tightened by the minimum and maximum of the other classes."""
    low, high = np.minimum(low, n_rows), np.minimum(high, n_rows)
    if low.sum() >= n_rows - _ROUNDING or high.sum() <= n_rows + _ROUNDING:
        known = low if low.sum() >= n_rows - _ROUNDING else high
        # A domain whose bounds are all 0 has no shares to keep.
        known = known * (n_rows / known.sum()) if known.sum() > 0 else np.full(len(known), n_rows / len(known))
        exact = largest_remainder(known, int(n_rows)).astype(float) if whole else known
        return exact, exact
    if whole:
        # The whole numbers within the bounds, or the nearest one if there are none.
        least, most = np.ceil(low - _ROUNDING), np.floor(high + _ROUNDING)
        middle, is_between = np.round(0.5 * (low + high)), least > most
        low, high = np.where(is_between, middle, least), np.where(is_between, middle, most)
        if low.sum() > n_rows or high.sum() < n_rows:
            return _bounds(low, high, n_rows, whole)
    implied_low, implied_high = n_rows - (high.sum() - high), n_rows - (low.sum() - low)
    return np.maximum(low, implied_low), np.minimum(high, implied_high)


# Step 2: sweeps over the margins at falling temperatures.


def _soft_multipliers(
    scores: FloatArray, sizes: FloatArray, targets: Targets, params: MeetingParams
) -> tuple[FloatArray, ...]:
    """Return one multiplier for each cell, as an array of shape (n_domains, n_classes) for each margin.

    Added to the scores of the rows of a domain, they bring the counts of the likeliest classes near the totals.
    ``scores`` has shape (m, n_classes), ``sizes`` (m,).
    """
    temperatures = (float(np.std(scores - scores.mean(axis=1, keepdims=True))) or 1.0) * np.array(params.temperatures)
    multipliers = tuple(np.zeros_like(margin.low) for margin in targets.margins)
    if len(scores) > params.most_rows:
        multipliers = _soft_multipliers(*_thinned(scores, sizes, targets, params.most_rows), params)
        temperatures = temperatures[-1:]
    # The classes come first: numpy is fast along long last axes.
    by_class, farthest = np.ascontiguousarray(scores.T), _farthest_multiplier(scores)
    near = params.near_enough * float(sizes.mean())

    def sweep(at: int, temperature: float) -> float:
        """Move the multipliers of one margin in place; return by how many rows its worst cell was off before."""
        margin = targets.margins[at]
        shares = by_class.copy()
        for part, of_rows in zip(multipliers, targets.margins, strict=True):
            shares += part.T[:, of_rows.codes] if of_rows.n_domains > 1 else part.T
        shares -= shares.max(axis=0)
        np.exp(shares / temperature, out=shares)
        shares *= sizes / shares.sum(axis=0)
        counts = _expected(shares, margin)
        with np.errstate(divide="ignore"):
            least, most = (
                multipliers[at] + temperature * (np.log(bound) - np.log(np.maximum(counts, _LEAST_COUNT)))
                for bound in (margin.low, margin.high)
            )
        # The value nearest to 0 that brings the expected count of each cell within its bounds.
        multipliers[at][:] = np.clip(np.clip(0.0, least, most), -farthest, farthest)
        return float(np.abs(margin.excess(counts)).max())

    for temperature in temperatures.tolist():
        for _ in range(params.most_sweeps):
            if max([sweep(at, temperature) for at in range(len(multipliers))]) <= near:
                break
    return multipliers


def _expected(shares: FloatArray, margin: Margin) -> FloatArray:
    """Return expected counts of the cells of a margin, given the shares of the classes, shape (n_classes, m)."""
    if margin.n_domains == 1:
        return np.asarray(shares.sum(axis=1)[None, :])
    return np.column_stack(
        [np.bincount(margin.codes, weights=of_class, minlength=len(margin.low)) for of_class in shares]
    )


def _thinned(
    scores: FloatArray, sizes: FloatArray, targets: Targets, most_rows: int
) -> tuple[FloatArray, FloatArray, Targets]:
    """Return some of the rows, and the totals in proportion to the remaining rows of each domain."""
    by_domain = np.lexsort([margin.codes for margin in targets.margins])
    rows: IntArray = by_domain[:: len(scores) // most_rows + 1]
    margins = []
    for margin in targets.margins:
        everything = np.bincount(margin.codes, weights=sizes, minlength=margin.n_domains)
        left = np.bincount(margin.codes[rows], weights=sizes[rows], minlength=margin.n_domains)
        part = (left / np.maximum(everything, _LEAST_COUNT))[:, None]
        margins.append(replace(margin, codes=margin.codes[rows], low=margin.low * part, high=margin.high * part))
    return scores[rows], sizes[rows], Targets(tuple(margins))


def _multipliers_of_rows(multipliers: tuple[FloatArray, ...], targets: Targets) -> FloatArray:
    """Return the sum of the multipliers of all margins for each row, shape (m, n_classes)."""
    return np.asarray(sum(part[margin.codes] for part, margin in zip(multipliers, targets.margins, strict=True)))


def _farthest_multiplier(scores: FloatArray) -> float:
    """Return a multiplier that outweighs every difference between the scores of a row."""
    return 1.0 + 2.0 * float(np.ptp(scores, axis=1).max(initial=0.0))


# Step 3: one margin and rows of equal weight. Chains of single moves reach the optimum.


def _exchange_by_domain(scores: FloatArray, classes: IntArray, margin: Margin) -> FloatArray:
    """Settle the classes of each domain in place, and return its multipliers, shape (n_domains, n_classes).

    The given classes must be optimal for their own counts, as those of the highest scores plus multipliers are.
    """
    farthest = _farthest_multiplier(scores)
    multipliers = np.zeros_like(margin.low)
    order = np.argsort(margin.codes, kind="stable")
    ends = np.cumsum(np.bincount(margin.codes, minlength=margin.n_domains))
    for domain, rows in enumerate(np.split(order, ends[:-1])):
        if not len(rows):
            continue
        low, high, own, here = margin.low[domain], margin.high[domain], scores[rows], classes[rows]
        counts = np.bincount(here, minlength=len(low))
        n_off = int(np.maximum(counts - high, 0).sum() + np.maximum(low - counts, 0).sum())
        near = _nearest(own, here, n_off + 1)
        if len(near) < 0.5 * len(rows):
            # Most moves concern these rows: moving them first avoids searching all rows for every move.
            kept = np.bincount(np.delete(here, near), minlength=len(low))
            here[near] = _Exchange(own[near], here[near], low - kept, high - kept, farthest).run().classes
        exchange = _Exchange(own, here, low, high, farthest).run()
        classes[rows], multipliers[domain] = exchange.classes, exchange.multipliers()
    return multipliers


def _nearest(scores: FloatArray, classes: IntArray, n_rows: int) -> IntArray:
    """Return, for each pair of classes, the ``n_rows`` rows of the first that move to the second at the least loss."""
    chosen = np.zeros(len(classes), dtype=bool)
    for a in range(scores.shape[1]):
        rows = np.flatnonzero(classes == a)
        if len(rows) <= n_rows:
            chosen[rows] = True
            continue
        for b in range(scores.shape[1]):
            if b != a:
                losses = scores[rows, a] - scores[rows, b]
                chosen[rows[losses <= np.partition(losses, n_rows - 1)[n_rows - 1]]] = True
    return np.flatnonzero(chosen)


class _Exchange:
    """Classes of the rows of one domain while rows move; they must be optimal for their own counts.

    ``low`` and ``high`` are whole numbers of rows that the domain can meet. A move that no row can make costs
    ``farthest``.
    """

    def __init__(
        self, scores: FloatArray, classes: IntArray, low: FloatArray, high: FloatArray, farthest: float
    ) -> None:
        self.scores, self.classes, self.low, self.high = scores, classes, low, high
        self.farthest, self.rounding = farthest, _PATH_ROUNDING * farthest
        self.losses = np.full((len(low), len(low)), farthest)
        self.counts = np.bincount(classes, minlength=len(low))
        self._update_losses(range(len(low)))

    def run(self) -> _Exchange:
        """Move rows until all counts are within their bounds, and then while a move gains."""
        while (chain := self._next_chain()) is not None:
            self._move_along(*chain)
        return self

    def multipliers(self) -> FloatArray:
        """Return one multiplier per class under which no row prefers another class: the middle of all such multipliers.

        Classes strictly within their bounds have the multiplier 0. If all counts are at their bounds, the mean is 0.
        """
        could_lose, could_gain = self.counts > self.low, self.counts < self.high
        if not (could_lose.any() or could_gain.any()):
            middle = _middle(self.losses, self.rounding)
            return np.asarray(middle - middle.mean())
        # An additional node represents "no active bound"; classes that could lose or gain rows are compared with it.
        steps = np.zeros((len(self.low) + 1, len(self.low) + 1))
        steps[:-1, :-1] = self.losses
        steps[:-1, -1] = np.where(could_lose, 0.0, np.inf)
        steps[-1, :-1] = np.where(could_gain, 0.0, np.inf)
        middle = _middle(steps, self.rounding)
        return np.asarray(middle[:-1] - middle[-1])

    def _update_losses(self, classes: IntArray | range) -> None:
        """Compute the least loss of moving a row from each of the given classes to each other one."""
        for a in classes:
            rows = self.classes == a
            if rows.any():
                chosen = self.scores[rows]
                self.losses[a] = (chosen[:, [a]] - chosen).min(axis=0)
            else:
                self.losses[a] = self.farthest
            self.losses[a, a] = 0.0

    def _next_chain(self) -> tuple[list[int], int] | None:
        """Return the classes of the next chain of least loss, and the number of rows to move; None at the end."""
        over, under = self.counts > self.high, self.counts < self.low
        sources = over if over.any() else self.counts > self.low
        sinks = under if under.any() else self.counts < self.high
        if not sources.any() or not sinks.any():
            return None
        # No row of an empty class can move.
        steps = np.where((self.counts > 0)[:, None] | np.eye(len(self.low), dtype=bool), self.losses, np.inf)
        distances, following = _shortest(steps, self.rounding)
        open_pairs = sources[:, None] & sinks[None, :] & ~np.eye(len(self.low), dtype=bool)
        a, b = np.unravel_index(int(np.where(open_pairs, distances, np.inf).argmin()), distances.shape)
        is_off = bool(over.any() or under.any())
        if not open_pairs[a, b] or np.isinf(distances[a, b]) or (not is_off and distances[a, b] >= -self.rounding):
            return None
        chain = [int(a)]
        while chain[-1] != b:
            chain.append(int(following[chain[-1], b]))
        above = self.counts[a] - (self.high[a] if over[a] else self.low[a])
        below = (self.low[b] if under[b] else self.high[b]) - self.counts[b]
        return chain, int(min(above, below))

    def _move_along(self, chain: list[int], most: int) -> None:
        """Move the rows of least loss along the chain, all rows of equal loss at once."""
        ready = []
        for a, b in pairwise(chain):
            rows = np.flatnonzero(self.classes == a)
            tied = rows[self.scores[rows, a] - self.scores[rows, b] <= self.losses[a, b]]
            # Among equal rows, the first ones get the higher class, as in a ranking.
            ready.append((tied if b > a else tied[::-1], b))
        n_moved = min(most, *(len(rows) for rows, _ in ready))
        for rows, b in ready:
            self.classes[rows[:n_moved]] = b
        self.counts = np.bincount(self.classes, minlength=len(self.low))
        self._update_losses(np.array(chain))


def _shortest(steps: FloatArray, rounding: float) -> tuple[FloatArray, IntArray]:
    """Return lengths of the shortest chains between all pairs, and the next class on each chain."""
    n = len(steps)
    distances = steps.copy()
    following = np.tile(np.arange(n), (n, 1))
    for middle in range(n):
        through = distances[:, [middle]] + distances[[middle], :]
        # Chains that are shorter only because of rounding could form a cycle.
        shorter = through < distances - rounding
        distances = np.where(shorter, through, distances)
        following = np.where(shorter, following[:, [middle]], following)
    return distances, following


def _middle(steps: FloatArray, rounding: float) -> FloatArray:
    """Return potentials whose differences never exceed the steps: the mean of those from and to each node."""
    distances = _shortest(steps, rounding)[0]
    return np.asarray(0.5 * (distances - distances.T).mean(axis=0))


# Step 4: several margins, or rows of unequal weight. An integer program over the rows closest to a change of class.


def _exchange_last_rows(
    scores: FloatArray, sizes: FloatArray, targets: Targets, classes: IntArray, params: MeetingParams
) -> IntArray:
    """Return classes near the given ones that meet the totals as closely as possible, at little loss.

    ``scores`` has shape (m, n_classes) and includes the multipliers; ``classes`` are the best ones under them. If
    weights differ, a cell may be off by half its largest row.
    """
    rows = _open_rows(scores, sizes, targets, classes, params.spare_rows)
    if not len(rows):
        return classes
    losses = scores[rows].max(axis=1, keepdims=True) - scores[rows]
    kept = sizes.copy()
    kept[rows] = 0.0
    fixed = np.concatenate([margin.counts(classes, kept).ravel() for margin in targets.margins])
    settled = classes.copy()
    settled[rows] = _cheapest(losses, sizes[rows], targets.of_rows(rows), fixed, params.most_nodes)
    return settled if targets.rows_off(settled, sizes) <= targets.rows_off(classes, sizes) else classes


def _open_rows(scores: FloatArray, sizes: FloatArray, targets: Targets, classes: IntArray, spare_rows: int) -> IntArray:
    """Return the rows that may change class: in each domain, those of least loss from each class to each other one."""
    m = len(classes)
    losses = scores[np.arange(m), classes][:, None] - scores
    chosen = np.zeros(m, dtype=bool)
    for margin in targets.margins:
        off = margin.rows_off(margin.counts(classes, sizes))
        n_open = spare_rows + np.ceil(off / max(float(np.median(sizes)), 1e-12)).astype(np.int64)
        for target in range(targets.n_classes):
            order = np.lexsort((losses[:, target], margin.codes * targets.n_classes + classes))
            cells = (margin.codes * targets.n_classes + classes)[order]
            place = np.arange(m) - np.searchsorted(cells, cells)
            chosen[order[place < n_open[margin.codes[order]]]] = True
    return np.flatnonzero(chosen)


def _cheapest(losses: FloatArray, sizes: FloatArray, targets: Targets, fixed: FloatArray, most_nodes: int) -> IntArray:
    """Return the cheapest classes of the open rows; a row off a total costs more than any change of classes.

    ``fixed`` has the counts of all cells by the other rows, in the order of `Targets.low`.
    """
    n_rows, n_classes = losses.shape
    cell_of = (targets.first_cells[:, :, None] + np.arange(n_classes)).reshape(len(targets.margins), -1)
    columns = np.tile(np.arange(n_rows * n_classes), len(cell_of))
    weights = np.tile(np.repeat(sizes, n_classes), len(cell_of))
    counts = sparse.csr_array((weights, (cell_of.ravel(), columns)), shape=(len(fixed), n_rows * n_classes))
    slack = sparse.eye_array(len(fixed), format="csr")
    one_class = sparse.kron(sparse.eye_array(n_rows), np.ones((1, n_classes)))
    spare = _allowance(sizes, targets)
    price = 10.0 * (1.0 + float(losses.max())) * max(float(sizes.max()), 1.0) / float(sizes[sizes > 0].min(initial=1.0))
    n_slack = 2 * len(fixed)
    solved = milp(
        np.concatenate([(losses * sizes[:, None]).ravel(), np.full(n_slack, price)]),
        integrality=np.concatenate([np.ones(losses.size), np.zeros(n_slack)]),
        bounds=Bounds(0.0, np.concatenate([np.ones(losses.size), np.full(n_slack, np.inf)])),
        constraints=[
            LinearConstraint(sparse.hstack([one_class, sparse.csr_array((n_rows, n_slack))], format="csr"), 1.0, 1.0),
            LinearConstraint(
                sparse.hstack([counts, slack, -slack], format="csr"),
                targets.low - fixed - spare,
                targets.high - fixed + spare,
            ),
        ],
        options={"node_limit": most_nodes, "mip_rel_gap": 1e-6},
    )
    if solved.x is None:
        return np.asarray(losses.argmin(axis=1))
    return np.asarray(solved.x[: losses.size].reshape(losses.shape).argmax(axis=1))


def _allowance(sizes: FloatArray, targets: Targets) -> FloatArray:
    """Return half the largest open row of each cell's domain; 0 if all rows have equal weight."""
    if len(sizes) == 0 or float(np.ptp(sizes)) == 0.0:
        return np.zeros(len(targets.low))
    largest = []
    for margin in targets.margins:
        of_domain = np.zeros(margin.n_domains)
        np.maximum.at(of_domain, margin.codes, sizes)
        largest.append(np.repeat(of_domain, targets.n_classes))
    return 0.49 * np.concatenate(largest)

"""Classes for rows such that totals are met: from probabilities or votes to whole rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from scipy import sparse
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.special import expit, logit, softmax

from s2oct.arrays import BoolArray, FloatArray, IntArray
from s2oct.problem.known import Known
from s2oct.problem.targets import Margin, Targets

# Bounds of cells that can be met: within the rows of their domain, and in whole rows where rows count alike.

_ROUNDING = 1e-9
"""Part of a row that sums of floats may be off."""


def meetable(targets: Targets, sizes: FloatArray, *, whole: bool) -> Targets:
    """The nearest totals that the rows of each domain can meet.

    Bounds that a domain's rows contradict, too many or too few, are scaled to its rows. Bounds that others imply are
    made explicit. With ``whole``, rows count 1 each and bounds are whole numbers of rows.
    """
    return replace(targets, margins=tuple(_meetable(margin, sizes, whole) for margin in targets.margins))


def _meetable(margin: Margin, sizes: FloatArray, whole: bool) -> Margin:
    low, high = np.maximum(margin.low, 0.0), np.maximum(margin.high, 0.0)
    rows = np.bincount(margin.codes, weights=sizes, minlength=len(low))
    for domain, n_rows in enumerate(rows):
        low[domain], high[domain] = _bounds(low[domain], high[domain], float(n_rows), whole)
    return replace(margin, low=low, high=high)


def _bounds(low: FloatArray, high: FloatArray, n_rows: float, whole: bool) -> tuple[FloatArray, FloatArray]:
    """The bounds of one domain, tightened by what the other classes must or can have."""
    low, high = np.minimum(low, n_rows), np.minimum(high, n_rows)
    if low.sum() >= n_rows - _ROUNDING or high.sum() <= n_rows + _ROUNDING:
        known = low if low.sum() >= n_rows - _ROUNDING else high
        # A domain without any bound above 0 has no shares to keep.
        known = known * (n_rows / known.sum()) if known.sum() > 0 else np.full(len(known), n_rows / len(known))
        exact = rounded_to(known, int(n_rows)).astype(float) if whole else known
        return exact, exact
    if whole:
        low, high = _whole_bounds(low, high)
        if low.sum() > n_rows or high.sum() < n_rows:
            return _bounds(low, high, n_rows, whole)
    implied_low, implied_high = n_rows - (high.sum() - high), n_rows - (low.sum() - low)
    return np.maximum(low, implied_low), np.minimum(high, implied_high)


def _whole_bounds(low: FloatArray, high: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The whole numbers within the bounds; the nearest one where there are none."""
    least, most = np.ceil(low - _ROUNDING), np.floor(high + _ROUNDING)
    middle = np.round(0.5 * (low + high))
    between = least > most
    return np.where(between, middle, least), np.where(between, middle, most)


def rounded_to(values: FloatArray, total: int) -> IntArray:
    """Whole numbers near the values that add up to ``total``; the largest remainders are rounded up."""
    floors = np.floor(values + _ROUNDING).astype(np.int64)
    order = np.argsort(-(values - floors), kind="stable")
    floors[order[: total - int(floors.sum())]] += 1
    return floors


# Multipliers of cells, settled softly: the share of a class in a domain is nudged until expected counts fit.

TEMPERATURES = (1.0, 0.3, 0.1, 0.03, 0.01)
"""Temperatures in units of the spread of the scores."""

MOST_SWEEPS = 30
"""Sweeps at each temperature, at most: the last rows are settled otherwise."""

NEAR_ENOUGH = 0.2
"""Rows that expected counts may be off before the temperature falls."""

MOST_ROWS = 3000
"""Rows that the multipliers are settled with first, about; if there are more, every so many are taken."""

_LEAST_COUNT = 1e-300


def soft_multipliers(scores: FloatArray, sizes: FloatArray, targets: Targets) -> tuple[FloatArray, ...]:
    """One multiplier for each cell, for each margin of shape (n_domains, n_classes).

    Added to the scores of the rows of a domain, they bring the counts of the likeliest classes near the totals.
    ``scores`` has shape (m, n_classes), ``sizes`` (m,).
    """
    sweeping = _Sweeping(scores, sizes, targets)
    temperatures = (float(np.std(scores - scores.mean(axis=1, keepdims=True))) or 1.0) * np.array(TEMPERATURES)
    if len(scores) <= MOST_ROWS:
        return sweeping.run(temperatures, tuple(np.zeros_like(margin.low) for margin in targets.margins))
    first = soft_multipliers(*_thinned(scores, sizes, targets))
    return sweeping.run(temperatures[-1:], first)


def multipliers_of_rows(multipliers: tuple[FloatArray, ...], targets: Targets) -> FloatArray:
    """What the multipliers add to the scores of each row, shape (m, n_classes): those of all margins together."""
    return np.asarray(sum(part[margin.codes] for part, margin in zip(multipliers, targets.margins, strict=True)))


def farthest_multiplier(scores: FloatArray) -> float:
    """A multiplier that outweighs every difference between the scores of a row."""
    return 1.0 + 2.0 * float(np.ptp(scores, axis=1).max(initial=0.0))


class _Sweeping:
    """Sweeps over the margins; arrays have the classes first, because long axes are fast as the last ones."""

    def __init__(self, scores: FloatArray, sizes: FloatArray, targets: Targets) -> None:
        self.scores, self.sizes, self.targets = np.ascontiguousarray(scores.T), sizes, targets
        self.farthest = farthest_multiplier(scores)

    def run(self, temperatures: FloatArray, multipliers: tuple[FloatArray, ...]) -> tuple[FloatArray, ...]:
        """Sweep at each temperature until the expected counts are near enough; the multipliers change in place."""
        near = NEAR_ENOUGH * float(self.sizes.mean())
        for temperature in temperatures:
            for _ in range(MOST_SWEEPS):
                if max([self._sweep(at, multipliers, float(temperature)) for at in range(len(multipliers))]) <= near:
                    break
        return multipliers

    def _sweep(self, at: int, multipliers: tuple[FloatArray, ...], temperature: float) -> float:
        """Move the multipliers of one margin; returns how many rows its worst cell was off before."""
        margin = self.targets.margins[at]
        shares = self.scores.copy()
        for part, of_rows in zip(multipliers, self.targets.margins, strict=True):
            shares += part.T[:, of_rows.codes] if of_rows.n_domains > 1 else part.T
        shares -= shares.max(axis=0)
        np.exp(shares / temperature, out=shares)
        shares *= self.sizes / shares.sum(axis=0)
        counts = _expected(shares, margin)
        _move(multipliers[at], counts, (margin.low, margin.high), temperature, self.farthest)
        return float(np.abs(margin.excess(counts)).max())


def _expected(shares: FloatArray, margin: Margin) -> FloatArray:
    """Expected counts of the cells of a margin, given the shares of the classes, shape (n_classes, m)."""
    if margin.n_domains == 1:
        return np.asarray(shares.sum(axis=1)[None, :])
    return np.column_stack(
        [np.bincount(margin.codes, weights=of_class, minlength=len(margin.low)) for of_class in shares]
    )


def _move(
    multipliers: FloatArray,
    counts: FloatArray,
    bounds: tuple[FloatArray, FloatArray],
    temperature: float,
    farthest: float,
) -> None:
    """Move each multiplier to the value nearest to 0 that brings the expected count of its cell within its bounds."""
    with np.errstate(divide="ignore"):
        least, most = (
            multipliers + temperature * (np.log(bound) - np.log(np.maximum(counts, _LEAST_COUNT))) for bound in bounds
        )
    multipliers[:] = np.clip(np.clip(0.0, least, most), -farthest, farthest)


def _thinned(scores: FloatArray, sizes: FloatArray, targets: Targets) -> tuple[FloatArray, FloatArray, Targets]:
    """Some of the rows, with the part of the totals that belongs to the rows of each domain that are left."""
    by_domain = np.lexsort([margin.codes for margin in targets.margins])
    rows: IntArray = by_domain[:: len(scores) // MOST_ROWS + 1]
    margins = []
    for margin in targets.margins:
        everything = np.bincount(margin.codes, weights=sizes, minlength=margin.n_domains)
        left = np.bincount(margin.codes[rows], weights=sizes[rows], minlength=margin.n_domains)
        part = (left / np.maximum(everything, _LEAST_COUNT))[:, None]
        margins.append(replace(margin, codes=margin.codes[rows], low=margin.low * part, high=margin.high * part))
    return scores[rows], sizes[rows], Targets(tuple(margins))


# The last rows where a chain of single moves does not do: rows that count differently, or several margins.

SPARE_ROWS = 3
"""Rows of each way out of a cell that may change class beyond those that must."""

MOST_NODES = 200
"""Nodes of the integer program's search, at most: counted work, so that the result depends on no clock."""


def settle_last_rows(scores: FloatArray, sizes: FloatArray, targets: Targets, classes: IntArray) -> IntArray:
    """Classes near the given ones that meet the totals as nearly as possible, at little loss.

    ``scores`` has shape (m, n_classes) and includes the multipliers; ``classes`` are the best ones under them. Where
    rows count differently, a cell may be off by half its largest row.
    """
    rows = _open_rows(scores, sizes, targets, classes)
    if not len(rows):
        return classes
    losses = scores[rows].max(axis=1, keepdims=True) - scores[rows]
    kept = np.ones(len(classes), dtype=bool)
    kept[rows] = False
    settled = classes.copy()
    settled[rows] = _best(losses, sizes[rows], targets.of_rows(rows), _beside(targets, sizes, classes, kept))
    return settled if targets.rows_off(settled, sizes) <= targets.rows_off(classes, sizes) else classes


def _open_rows(scores: FloatArray, sizes: FloatArray, targets: Targets, classes: IntArray) -> IntArray:
    """The rows that may change class: those of least loss on each way from a class to another in each domain."""
    m = len(classes)
    losses = scores[np.arange(m), classes][:, None] - scores
    chosen = np.zeros(m, dtype=bool)
    for margin in targets.margins:
        off = margin.rows_off(margin.counts(classes, sizes))
        n_open = SPARE_ROWS + np.ceil(off / max(float(np.median(sizes)), 1e-12)).astype(np.int64)
        for target in range(targets.n_classes):
            order = np.lexsort((losses[:, target], margin.codes * targets.n_classes + classes))
            cells = (margin.codes * targets.n_classes + classes)[order]
            place = np.arange(m) - np.searchsorted(cells, cells)
            chosen[order[place < n_open[margin.codes[order]]]] = True
    return np.flatnonzero(chosen)


def _beside(targets: Targets, sizes: FloatArray, classes: IntArray, kept: FloatArray) -> FloatArray:
    """Counts of all cells by the rows that keep their class, in the order of `Targets.low`."""
    counts = [margin.counts(classes, np.where(kept, sizes, 0.0)).ravel() for margin in targets.margins]
    return np.concatenate(counts)


def _best(losses: FloatArray, sizes: FloatArray, targets: Targets, beside: FloatArray) -> IntArray:
    """The classes of the open rows that cost least; a row off a total costs more than any change of classes."""
    n_rows, n_classes = losses.shape
    cell_of = (targets.first_cells[:, :, None] + np.arange(n_classes)).reshape(len(targets.margins), -1)
    columns = np.tile(np.arange(n_rows * n_classes), len(cell_of))
    weights = np.tile(np.repeat(sizes, n_classes), len(cell_of))
    counts = sparse.csr_array((weights, (cell_of.ravel(), columns)), shape=(len(beside), n_rows * n_classes))
    slack = sparse.eye_array(len(beside), format="csr")
    one_class = sparse.kron(sparse.eye_array(n_rows), np.ones((1, n_classes)))
    spare = _allowance(sizes, targets)
    price = 10.0 * (1.0 + float(losses.max())) * max(float(sizes.max()), 1.0) / float(sizes[sizes > 0].min(initial=1.0))
    solved = milp(
        np.concatenate([(losses * sizes[:, None]).ravel(), np.full(2 * len(beside), price)]),
        integrality=np.concatenate([np.ones(losses.size), np.zeros(2 * len(beside))]),
        bounds=Bounds(0.0, np.concatenate([np.ones(losses.size), np.full(2 * len(beside), np.inf)])),
        constraints=[
            LinearConstraint(
                sparse.hstack([one_class, sparse.csr_array((n_rows, 2 * len(beside)))], format="csr"), 1.0, 1.0
            ),
            LinearConstraint(
                sparse.hstack([counts, slack, -slack], format="csr"),
                targets.low - beside - spare,
                targets.high - beside + spare,
            ),
        ],
        options={"node_limit": MOST_NODES, "mip_rel_gap": 1e-6},
    )
    if solved.x is None:
        return np.asarray(losses.argmin(axis=1))
    return np.asarray(solved.x[: losses.size].reshape(losses.shape).argmax(axis=1))


def _allowance(sizes: FloatArray, targets: Targets) -> FloatArray:
    """Half the largest open row of each cell's domain; nothing where all rows count alike."""
    if len(sizes) == 0 or float(np.ptp(sizes)) == 0.0:
        return np.zeros(len(targets.low))
    largest = []
    for margin in targets.margins:
        of_domain = np.zeros(margin.n_domains)
        np.maximum.at(of_domain, margin.codes, sizes)
        largest.append(np.repeat(of_domain, targets.n_classes))
    return 0.49 * np.concatenate(largest)


# The best classes of the rows of one domain within bounds on the classes, where all rows count alike.

_PATH_ROUNDING = 1e-12
"""Differences of losses that count as none, as a share of the farthest multiplier."""


@dataclass(frozen=True, eq=False)
class ClassBounds:
    """ClassBounds on the classes of one domain.

    ``low`` and ``high`` are whole numbers of rows that the domain can meet. A move between classes that no row can
    make is charged ``farthest``.
    """

    low: FloatArray
    high: FloatArray
    farthest: float

    def without(self, classes: IntArray) -> ClassBounds:
        """What the bounds leave to the other rows if some rows keep these classes."""
        counts = np.bincount(classes, minlength=len(self.low))
        return replace(self, low=self.low - counts, high=self.high - counts)


def settled_domain(scores: FloatArray, classes: IntArray, bounds: ClassBounds) -> tuple[IntArray, FloatArray]:
    """The best classes within the bounds, and the multipliers of the classes.

    The given classes must be best for their own counts, as those of the highest scores plus multipliers are.
    """
    counts = np.bincount(classes, minlength=len(bounds.low))
    n_off = int(np.maximum(counts - bounds.high, 0).sum() + np.maximum(bounds.low - counts, 0).sum())
    classes = classes.copy()
    near = _nearest(scores, classes, n_off + 1)
    if len(near) < 0.5 * len(classes):
        some = Augmenting(scores[near], classes[near], bounds.without(np.delete(classes, near)))
        some.run()
        classes[near] = some.classes
    settling = Augmenting(scores, classes, bounds)
    settling.run()
    return settling.classes, settling.multipliers()


def _nearest(scores: FloatArray, classes: IntArray, n_rows: int) -> IntArray:
    """The rows of each class that move to each other class at the least loss, so many of each pair at most."""
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


class Augmenting:
    """Classes of the rows of one domain, while they are changed; they must be best for their own counts."""

    def __init__(self, scores: FloatArray, classes: IntArray, bounds: ClassBounds) -> None:
        self.scores, self.classes, self.low, self.high = scores, classes, bounds.low, bounds.high
        self.farthest, self.rounding = bounds.farthest, _PATH_ROUNDING * bounds.farthest
        self.losses = np.full((len(self.low), len(self.low)), self.farthest)
        self.counts = np.bincount(classes, minlength=len(self.low))
        self._renew(range(len(self.low)))

    def run(self) -> None:
        """Move rows until all counts are within their bounds, and then as long as a move gains."""
        while (chain := self._next_chain()) is not None:
            self._move_along(*chain)

    def multipliers(self) -> FloatArray:
        """One multiplier for each class under which no row prefers another class: the middle of all that do so.

        Classes with room on both sides have the multiplier 0. If all counts are at their bounds, the mean is 0.
        """
        could_lose, could_gain = self.counts > self.low, self.counts < self.high
        if not (could_lose.any() or could_gain.any()):
            middle = _middle(self.losses, self.rounding)
            return np.asarray(middle - middle.mean())
        # One more node stands for "no bound in force"; classes that could lose or gain rows are compared with it.
        steps = np.zeros((len(self.low) + 1, len(self.low) + 1))
        steps[:-1, :-1] = self.losses
        steps[:-1, -1] = np.where(could_lose, 0.0, np.inf)
        steps[-1, :-1] = np.where(could_gain, 0.0, np.inf)
        middle = _middle(steps, self.rounding)
        return np.asarray(middle[:-1] - middle[-1])

    def _renew(self, classes: IntArray | range) -> None:
        """Compute the least loss of a move of some row from each of the given classes to each other one."""
        for a in classes:
            rows = self.classes == a
            if rows.any():
                chosen = self.scores[rows]
                self.losses[a] = (chosen[:, [a]] - chosen).min(axis=0)
            else:
                self.losses[a] = self.farthest
            self.losses[a, a] = 0.0

    def _next_chain(self) -> tuple[list[int], int] | None:
        """The classes of the chain of least loss that the bounds ask for, and the rows to move; None at the end."""
        sources, sinks = self._ends()
        if not sources.any() or not sinks.any():
            return None
        # No row of an empty class can move.
        steps = np.where((self.counts > 0)[:, None] | np.eye(len(self.low), dtype=bool), self.losses, np.inf)
        distances, following = _shortest(steps, self.rounding)
        open_pairs = sources[:, None] & sinks[None, :] & ~np.eye(len(self.low), dtype=bool)
        a, b = np.unravel_index(int(np.where(open_pairs, distances, np.inf).argmin()), distances.shape)
        is_off = bool((self.counts > self.high).any() or (self.counts < self.low).any())
        if not open_pairs[a, b] or np.isinf(distances[a, b]) or (not is_off and distances[a, b] >= -self.rounding):
            return None
        chain = [int(a)]
        while chain[-1] != b:
            chain.append(int(following[chain[-1], b]))
        above = self.counts[a] - (self.high[a] if self.counts[a] > self.high[a] else self.low[a])
        below = (self.low[b] if self.counts[b] < self.low[b] else self.high[b]) - self.counts[b]
        return chain, int(min(above, below))

    def _ends(self) -> tuple[BoolArray, BoolArray]:
        """The classes that rows may leave, and those that they may join."""
        over, under = self.counts > self.high, self.counts < self.low
        sources = over if over.any() else self.counts > self.low
        sinks = under if under.any() else self.counts < self.high
        return np.asarray(sources), np.asarray(sinks)

    def _move_along(self, chain: list[int], most: int) -> None:
        """Move rows of least loss along the chain, at once as many as have the same loss."""
        ready = []
        for a, b in pairwise(chain):
            rows = np.flatnonzero(self.classes == a)
            tied = rows[self.scores[rows, a] - self.scores[rows, b] <= self.losses[a, b]]
            # Among equal rows the first ones get the higher class, as a ranking would give it to them.
            ready.append((tied if b > a else tied[::-1], b))
        n_moved = min(most, *(len(rows) for rows, _ in ready))
        for rows, b in ready:
            self.classes[rows[:n_moved]] = b
        self.counts = np.bincount(self.classes, minlength=len(self.low))
        self._renew(np.array(chain))


def _shortest(steps: FloatArray, rounding: float) -> tuple[FloatArray, IntArray]:
    """Lengths of the shortest chains between all pairs, and the next class on each of them."""
    n = len(steps)
    distances = steps.copy()
    following = np.tile(np.arange(n), (n, 1))
    for middle in range(n):
        through = distances[:, [middle]] + distances[[middle], :]
        # Chains that are shorter by rounding alone could make a circle.
        shorter = through < distances - rounding
        distances = np.where(shorter, through, distances)
        following = np.where(shorter, following[:, [middle]], following)
    return distances, following


def _middle(steps: FloatArray, rounding: float) -> FloatArray:
    """Potentials whose differences are nowhere larger than the steps: the mean of those from and to each node."""
    distances = _shortest(steps, rounding)[0]
    return np.asarray(0.5 * (distances - distances.T).mean(axis=0))


# Classes that meet the totals, from scores: a row gets the class of its highest score plus the class's multiplier.

_AHEAD = 1e-9
"""Score by which the class of a row leads where multipliers leave it equal to another one, or behind."""


@dataclass(frozen=True, eq=False)
class Assigned:
    """Classes that meet the totals, and the scores that lead to them.

    Attributes
    ----------
    classes : ndarray of shape (m,)
        Class of each row.
    multipliers : tuple of ndarray of shape (n_domains, n_classes)
        What is added to the scores of each class in each domain, for each margin.
    shifted : ndarray of shape (m, n_classes)
        Scores plus multipliers; each row's class has the highest.
    """

    classes: IntArray
    multipliers: tuple[FloatArray, ...]
    shifted: FloatArray


def meet_totals(scores: FloatArray, sizes: FloatArray, targets: Targets) -> Assigned:
    """Assign the classes that maximise the sum of size times score and meet the totals as nearly as possible.

    Parameters
    ----------
    scores : ndarray of shape (m, n_classes)
        Log probabilities, or any finite scores.
    sizes : ndarray of shape (m,)
        What each row counts towards the totals.
    targets : Targets
        The totals.

    Returns
    -------
    Assigned
        The classes. Among rows with equal scores the order of the rows decides.
    """
    if not len(scores):
        return Assigned(np.empty(0, dtype=np.int64), tuple(np.zeros_like(part.low) for part in targets.margins), scores)
    scores = scores - scores.max(axis=1, keepdims=True)
    count_alike = bool(np.ptp(sizes) == 0) and sizes[0] > 0
    if count_alike:
        sizes, targets = np.ones(len(sizes)), targets.over(float(sizes[0]))
    can_be_met = meetable(targets, sizes, whole=count_alike)
    multipliers = soft_multipliers(scores, sizes, can_be_met)
    shifted = scores + multipliers_of_rows(multipliers, can_be_met)
    classes = shifted.argmax(axis=1)
    if count_alike and len(targets.margins) == 1:
        multipliers = (_settle_domains(scores, classes, can_be_met.margins[0]),)
        shifted = scores + multipliers_of_rows(multipliers, can_be_met)
    elif targets.rows_off(classes, sizes) > 0:
        classes = settle_last_rows(shifted, sizes, can_be_met, classes)
    return Assigned(classes, multipliers, _with_lead(shifted, classes))


def overall(targets: Targets) -> Targets:
    """The totals of the classes over all domains of the first margin: what is known about a row of unknown domain."""
    margin = targets.margins[0]
    low, high, value = (part.sum(axis=0, keepdims=True) for part in (margin.low, margin.high, margin.value))
    se = np.sqrt((margin.se**2).sum(axis=0, keepdims=True))
    everything = np.array([""], dtype=object)
    codes = np.zeros_like(margin.codes)
    return replace(targets, margins=(Margin("", everything, codes, low, high, value, se),))


def _settle_domains(scores: FloatArray, classes: IntArray, margin: Margin) -> FloatArray:
    """Settle the classes of each domain, in place, and return its multipliers, shape (n_domains, n_classes)."""
    farthest = farthest_multiplier(scores)
    multipliers = np.zeros_like(margin.low)
    order = np.argsort(margin.codes, kind="stable")
    ends = np.cumsum(np.bincount(margin.codes, minlength=margin.n_domains))
    for domain, rows in enumerate(np.split(order, ends[:-1])):
        if len(rows):
            bounds = ClassBounds(margin.low[domain], margin.high[domain], farthest)
            classes[rows], multipliers[domain] = settled_domain(scores[rows], classes[rows], bounds)
    return multipliers


def _with_lead(shifted: FloatArray, classes: IntArray) -> FloatArray:
    """The scores, with the class of each row just ahead where it is equal to another one, or behind."""
    rows = np.arange(len(classes))
    others = shifted.copy()
    others[rows, classes] = -np.inf
    lead = others.max(axis=1, initial=-np.inf) + _AHEAD
    shifted[rows, classes] = np.maximum(shifted[rows, classes], lead)
    return shifted


# Votes on classes, their scores, and the probabilities under which the totals are met.


def log_odds(probability: FloatArray | float, least: float) -> FloatArray:
    """Log odds, finite because probabilities are clipped to ``least`` and 1 - ``least``."""
    return np.asarray(logit(np.clip(probability, least, 1 - least)))


def top_rows(scores: FloatArray, n_above: int, rng: np.random.RandomState | None = None) -> IntArray:
    """1 for the ``n_above`` rows with the highest scores, 0 for the others; ties at random, or else by row order."""
    order = np.arange(len(scores)) if rng is None else rng.permutation(len(scores))
    codes = np.zeros(len(scores), dtype=np.int64)
    codes[order[np.argsort(-scores[order], kind="stable")[:n_above]]] = 1
    return codes


_LEAST_PROBABILITY = 1e-3
_BEYOND = float(log_odds(1 - _LEAST_PROBABILITY, _LEAST_PROBABILITY)) + 1
"""Log odds that are higher than those of any row."""


@dataclass(frozen=True, eq=False)
class Settled:
    """Votes on the unlabeled rows, settled so that the totals are met.

    Attributes
    ----------
    classes : ndarray of shape (m,)
        Classes that meet the totals.
    probabilities : ndarray of shape (m, n_classes)
        Probabilities shifted so that the likeliest classes meet the totals.
    sure : ndarray of shape (m,)
        By how much the likeliest class leads.
    multipliers : ndarray of shape (n_domains, n_classes)
        What the scores were shifted by in the domains of all margins, one after the other.
    """

    classes: IntArray
    probabilities: FloatArray
    sure: FloatArray
    multipliers: FloatArray


def as_votes(codes: IntArray, n_classes: int) -> FloatArray:
    """All votes for the given classes."""
    return codes.astype(float)[:, None] if n_classes == 2 else np.eye(n_classes)[codes]


def settled(votes: FloatArray, known: Known) -> Settled:
    """Settle votes: shift their scores by multipliers of the classes until the totals are met."""
    scores = scores_of(votes)
    if known.n_second is not None:
        threshold = score_threshold(scores[:, 0], known.n_second)
        second = expit(scores[:, 0] - threshold)
        classes, multipliers = top_rows(votes[:, 0], known.n_second), np.array([[threshold, 0.0]])
        return Settled(classes, np.column_stack([1 - second, second]), np.abs(2 * second - 1), multipliers)
    assigned = meet_totals(_of_all_classes(scores), known.unlabeled_sizes, known.targets)
    probabilities = np.asarray(softmax(assigned.shifted, axis=1))
    ascending = np.sort(probabilities, axis=1)
    sure = ascending[:, -1] - ascending[:, -2]
    return Settled(assigned.classes, probabilities, sure, np.concatenate(assigned.multipliers))


def multipliers_for_new_rows(votes: FloatArray, known: Known) -> FloatArray:
    """One multiplier for each class, shape (n_classes,), that meets the totals over all domains together."""
    scores = scores_of(votes)
    if known.n_second is not None:
        return np.array([score_threshold(scores[:, 0], known.n_second), 0.0])
    together = meet_totals(_of_all_classes(scores), known.unlabeled_sizes, overall(known.targets))
    return np.asarray(together.multipliers[0][0])


def shifted_probabilities(votes: FloatArray, multipliers: FloatArray) -> FloatArray:
    """Probabilities of all classes, shape (n_rows, n_classes), with the multipliers added to the scores.

    There is one multiplier for each class, or one for each row and class.
    """
    scores = scores_of(votes)
    if scores.shape[1] > 1:
        return np.asarray(softmax(scores + multipliers, axis=1))
    second = expit(scores[:, 0] - (multipliers[..., 0] - multipliers[..., 1]))
    return np.column_stack([1 - second, second])


def with_missing_classes(votes: FloatArray, missing: BoolArray) -> FloatArray:
    """Give classes without labeled rows the votes of rows that resemble no labeled class.

    They share one minus the largest probability; then all is scaled to 1. Without missing classes, or with two classes,
    votes stay as they are.
    """
    if not missing.any() or votes.shape[1] == 1:
        return votes
    filled = votes.copy()
    filled[:, missing] = (1 - votes.max(axis=1, keepdims=True)) / missing.sum()
    return np.asarray(filled / filled.sum(axis=1, keepdims=True))


def scores_of(votes: FloatArray) -> FloatArray:
    """Log odds of the second of two classes, or log probabilities, in the order of the votes and always finite."""
    n_columns = votes.shape[1]
    if n_columns > 1:
        return np.asarray(np.log(_LEAST_PROBABILITY + (1 - n_columns * _LEAST_PROBABILITY) * votes))
    return log_odds(_LEAST_PROBABILITY + (1 - 2 * _LEAST_PROBABILITY) * votes, _LEAST_PROBABILITY)


def score_threshold(scores: FloatArray, n_above: int) -> float:
    """The middle between the ``n_above``-th highest score and the next one; 0 if there are no scores.

    Above the highest and below the lowest score is one that no row has. So a total of 0, or of all rows, is met too.
    """
    descending = np.concatenate([[_BEYOND], np.sort(scores)[::-1], [-_BEYOND]])
    return float(descending[n_above : n_above + 2].mean())


def _of_all_classes(scores: FloatArray) -> FloatArray:
    """Scores with a column for each class: log odds of two classes are those of the second against 0."""
    return scores if scores.shape[1] > 1 else np.column_stack([np.zeros(len(scores)), scores])

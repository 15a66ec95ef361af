"""Dependence of a result on a total: one fit for each of several values."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, overload

import numpy as np
from sklearn.base import clone

from s2oct.arrays import FloatArray, IntArray
from s2oct.errors import InvalidProblem, S2OCTWarning
from s2oct.problem.known import Known, read_seed
from s2oct.problem.targets import Targets
from s2oct.problem.totals import largest_remainder
from s2oct.wording import amount, brief, listed

N_VALUES = 9
"""Default number of values of the total."""
ERRORS_EACH_WAY = 2.0
"""Range of default values on either side of an estimate, in standard errors."""
SHARE_EACH_WAY = 0.2
"""Range of default values on either side of an exact total, as a share of it."""


@dataclass(frozen=True)
class TotalsStep:
    """The fit at one value of a total.

    Attributes
    ----------
    value : float
        The total: number of unlabeled rows of the class, or their weight.
    changed : float
        Number of unlabeled rows whose class differs from the fit at the known total, or their weight.
    n_terms : int
        Number of columns, summed over the splits.
    cost : float
        The minimised cost: evidence against the tree, in rows; without a guide, the cost in P2.
    achieved : float
        Number of unlabeled rows that the tree assigns to the class, or their weight.
    ended : str
        Why the fit ended.
    rules : str
        The tree as text.
    """

    value: float
    changed: float
    n_terms: int
    cost: float
    achieved: float
    ended: str
    rules: str


class TotalsPath(Sequence[TotalsStep]):
    """Fits at several values of a total, in increasing order; prints as a table.

    Attributes
    ----------
    of : object
        The class whose total moves.
    known : float
        Its known total, its estimate, or the middle of its bounds.
    interval : tuple of float
        Bounds of the total, equal if it is exact.
    """

    def __init__(self, steps: Sequence[TotalsStep], of: Any, known: float, interval: tuple[float, float]) -> None:
        self._steps = tuple(steps)
        self.of = of
        self.known = known
        self.interval = interval

    @overload
    def __getitem__(self, index: int) -> TotalsStep: ...
    @overload
    def __getitem__(self, index: slice) -> TotalsPath: ...
    def __getitem__(self, index: int | slice) -> TotalsStep | TotalsPath:
        found = self._steps[index]
        return TotalsPath(found, self.of, self.known, self.interval) if isinstance(found, tuple) else found

    def __len__(self) -> int:
        return len(self._steps)

    def __iter__(self) -> Iterator[TotalsStep]:
        return iter(self._steps)

    def __str__(self) -> str:
        lines = ["   total  achieved  rows changed  terms      cost"]
        lines += [
            f"{amount(step.value):>8}  {amount(step.achieved):>8}  {amount(step.changed):>12}  {step.n_terms:>5}  "
            f"{amount(step.cost, 3):>8}{'  the known total' if step.value == self.known else ''}"
            for step in self._steps
        ]
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"<TotalsPath of class {self.of!r} with {len(self)} totals>"


def fit_totals_path(
    estimator: Any,
    X: Any,
    y: Any,
    known: Known,
    of: Any,
    values: Sequence[float] | None,
    fit_params: Mapping[str, Any],
) -> TotalsPath:
    """Fit copies of a classifier at several values of the total of class ``of``; see its ``totals_path``."""
    classes, targets, free = known.classes.tolist(), known.targets, ~known.is_labeled
    index, sizes = _place_of(of, classes, targets), known.sizes[free]
    moving = _Moving(targets, index, float(sizes.sum()), is_weighted=known.weights is not None)
    seeded = clone(estimator).set_params(random_state=read_seed(estimator.random_state))
    steps, own = [], None
    for value in (moving.known, *(v for v in moving.values(values) if v != moving.known)):
        given = dict(zip(classes, moving.totals_at(value), strict=True))
        fitted = clone(seeded)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", S2OCTWarning)  # each step says how its fit ended
            fitted.fit(X, y, totals=given, **fit_params)
            codes = fitted.tree_.predict(known.of_counted(fitted._rows(X))[free])
        own = codes if own is None else own
        steps.append(_step(fitted, value, index, float(sizes[codes != own].sum())))
    wanted = {moving.known, *moving.values(values)}
    steps = sorted((step for step in steps if step.value in wanted), key=lambda step: step.value)
    return TotalsPath(steps, of, moving.known, moving.interval)


def _place_of(of: Any, classes: list[Any], targets: Targets) -> int:
    if not targets.has_one_domain:
        raise InvalidProblem("Expected totals of the whole table, of which one moves, got totals by domain.")
    if of not in classes:
        known = listed([brief(label) for label in classes])
        raise InvalidProblem(f"Expected of to be one of the classes {known}, got {brief(of)}.")
    return classes.index(of)


def _step(fitted: Any, value: float, index: int, changed: float) -> TotalsStep:
    certificate = fitted.certificate_
    return TotalsStep(
        value=value,
        changed=changed,
        n_terms=certificate.n_terms,
        cost=certificate.minimised[0],
        achieved=certificate.assigned[index],
        ended=certificate.ended,
        rules=fitted.rules_,
    )


class _Moving:
    """Totals of a table: one moves, and the others share the remaining rows."""

    def __init__(self, targets: Targets, index: int, rows: float, *, is_weighted: bool) -> None:
        margin = targets.margins[0]
        self._index, self._rows, self._is_weighted = index, rows, is_weighted
        self._others = np.delete(targets.class_totals(), index)
        self._se = float(margin.se[0, index])
        self.known = self._rounded(float(targets.class_totals()[index]))
        self.interval = float(margin.low[0, index]), float(margin.high[0, index])

    def values(self, given: Sequence[float] | None) -> list[float]:
        """Return the distinct totals to fit."""
        if given is None:
            low, high = self._reach()
            return sorted({self._rounded(float(v)) for v in np.clip(np.linspace(low, high, N_VALUES), 0, self._rows)})
        outside = [value for value in given if not 0 <= value <= self._rows]
        if outside:
            most = amount(self._rows)
            raise InvalidProblem(f"Expected values between 0 and {most} (the unlabeled rows), got {brief(outside[0])}.")
        return sorted({self._rounded(float(value)) for value in given})

    def _reach(self) -> tuple[float, float]:
        if self._se:
            return self.known - ERRORS_EACH_WAY * self._se, self.known + ERRORS_EACH_WAY * self._se
        if self.interval[0] < self.interval[1]:
            return self.interval
        return (1 - SHARE_EACH_WAY) * self.known, (1 + SHARE_EACH_WAY) * self.known

    def totals_at(self, value: float) -> list[float]:
        """Return the total of each class when the moving one has this value."""
        rest = self._rows - value
        shares: FloatArray = self._others if self._others.any() else np.ones_like(self._others)
        parts: FloatArray | IntArray = shares * (rest / shares.sum())
        if not self._is_weighted:
            parts = largest_remainder(np.asarray(parts, dtype=float), round(rest))
        return [*parts[: self._index].tolist(), value, *parts[self._index :].tolist()]

    def _rounded(self, value: float) -> float:
        return value if self._is_weighted else float(round(value))

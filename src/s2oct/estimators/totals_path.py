"""Dependence of a result on a total: one fit for each of several values."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, overload

import numpy as np
from sklearn.base import clone

from s2oct.arrays import FloatArray, IntArray
from s2oct.errors import InvalidProblem, S2OCTWarning
from s2oct.problem.known import Known, read_seed
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
    if not targets.has_one_domain:
        raise InvalidProblem("A path moves a total of the whole table, but these are totals by domain.")
    if of not in classes:
        named = listed([brief(label) for label in classes])
        raise InvalidProblem(f"Expected of to be one of the classes {named}, got {brief(of)}.")
    index, margin, is_weighted = classes.index(of), targets.margins[0], known.weights is not None
    sizes, totals = known.sizes[free], targets.class_totals()
    n_rows, interval = float(sizes.sum()), (float(margin.low[0, index]), float(margin.high[0, index]))

    def in_rows(total: float) -> float:
        return float(total) if is_weighted else float(round(total))

    known_total = in_rows(totals[index])
    if values is None:
        values = _default_values(known_total, interval, float(margin.se[0, index]), n_rows)
    outside = [value for value in values if not 0 <= value <= n_rows]
    if outside:
        raise InvalidProblem(
            f"Expected values between 0 and {amount(n_rows)} (the unlabeled rows), got {brief(outside[0])}."
        )
    seeded = clone(estimator).set_params(random_state=read_seed(estimator.random_state))
    steps, own = [], None
    # The fit at the known total comes first: the others are compared with it.
    for value in (known_total, *sorted({in_rows(value) for value in values} - {known_total})):
        given = dict(zip(classes, totals_at(value, index, totals, n_rows, is_weighted=is_weighted), strict=True))
        fitted = clone(seeded)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", S2OCTWarning)  # each step says how its fit ended
            fitted.fit(X, y, totals=given, **fit_params)
            codes = fitted.tree_.predict(known.of_counted(fitted._rows(X))[free])
        own = codes if own is None else own
        steps.append(_step(fitted, value, index, float(sizes[codes != own].sum())))
    return TotalsPath(sorted(steps, key=lambda step: step.value), of, known_total, interval)


def _default_values(known: float, interval: tuple[float, float], se: float, n_rows: float) -> list[float]:
    """Return values around a known total, as far as its standard error, its bounds or a share of it reach."""
    low, high = interval
    if se:
        low, high = known - ERRORS_EACH_WAY * se, known + ERRORS_EACH_WAY * se
    elif low == high:
        low, high = (1 - SHARE_EACH_WAY) * known, (1 + SHARE_EACH_WAY) * known
    return [float(value) for value in np.clip(np.linspace(low, high, N_VALUES), 0, n_rows)]


def totals_at(value: float, index: int, totals: FloatArray, n_rows: float, *, is_weighted: bool) -> list[float]:
    """Return the total of each class when one has this value and the others share the remaining rows."""
    others, rest = np.delete(totals, index), n_rows - value
    shares = others if others.any() else np.ones_like(others)
    parts: FloatArray | IntArray = shares * (rest / shares.sum())
    if not is_weighted:
        parts = largest_remainder(np.asarray(parts, dtype=float), round(rest))
    return [*parts[:index].tolist(), value, *parts[index:].tolist()]


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

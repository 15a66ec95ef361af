"""How a result depends on a total: one fit for each of several values of it."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, overload

import numpy as np
from sklearn.base import clone

from s2oct.arrays import FloatArray, IntArray
from s2oct.errors import InvalidProblem, S2OCTWarning
from s2oct.estimators.base import TreeClassifier
from s2oct.inputs import read_answers, read_seed
from s2oct.model.targets import Targets
from s2oct.model.total_values import largest_remainder
from s2oct.wording import amount, brief, listed

N_VALUES = 9
"""Values of the total, unless they are given."""
ERRORS_EACH_WAY = 2.0
"""The values of an estimate reach so many standard errors each way."""
SHARE_EACH_WAY = 0.2
"""The values of an exact total reach so much of it each way."""


@dataclass(frozen=True)
class TotalsStep:
    """The fit at one value of a total.

    Attributes
    ----------
    value : float
        Unlabeled rows of the class by the total, or their weight.
    changed : float
        Unlabeled rows whose class differs from the fit at the known total, or their weight.
    n_terms : int
        Features over all splits.
    cost : float
        What the fit minimised: evidence against the tree, in rows; without a guide the cost in P2.
    achieved : float
        Unlabeled rows that the tree puts into the class, or their weight.
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
    """Fits at several values of a total, the smallest first; printed, it is a table.

    Attributes
    ----------
    of : object
        The class whose total moves.
    known : float
        Its known total, the estimate of it, or the middle of its bounds.
    interval : tuple of float
        What is known of it: bounds, which are equal if it is exact.
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


class TotalsPaths(TreeClassifier):
    """A classifier that can be fitted at several values of a total."""

    random_state: Any

    def totals_path(
        self,
        X: Any,
        y: Any,
        totals: Any = None,
        population_totals: Any = None,
        *,
        of: Any,
        values: Sequence[float] | None = None,
        **fit_params: Any,
    ) -> TotalsPath:
        """Fit the tree at several values of one total, and say how many rows change class.

        Each value is a fit of its own with the same seed, which takes as long as any fit; this classifier itself stays
        as it is. The other classes share the remaining rows in proportion to their known totals. Every fit takes its
        totals as exact, also the one at the known total, with which the others are compared.

        Parameters
        ----------
        X : array-like or data frame of shape (n_rows, n_features)
            Labeled and unlabeled rows together.
        y : array-like of shape (n_rows,)
            Labels, with the markers for unlabeled rows.
        totals, population_totals : mapping, optional
            The known totals of the whole table, as in ``fit``.
        of : object
            The class whose total moves.
        values : sequence of float, optional
            Numbers of unlabeled rows of this class, or their weights. By default nine values: from two standard errors
            below an estimate to two above it, over the interval of bounds, or 20 % either way of an exact total.
        **fit_params : object
            Further arguments of ``fit``: ``as_shares``, ``sample_weight``, ``stop`` and ``listener``.

        Returns
        -------
        TotalsPath
            A sequence of steps, one for each value.

        Examples
        --------
        >>> from s2oct import S2OCTClassifier
        >>> X = [[1.0], [2.0], [8.0], [9.0], [1.5], [3.0], [4.0], [6.0], [7.0], [7.5]]
        >>> y = ["no", "no", "yes", "yes", None, None, None, None, None, None]
        >>> clf = S2OCTClassifier(depth=1, guide=None, solver=None, random_state=0)
        >>> path = clf.totals_path(X, y, totals={"yes": 3}, of="yes", values=[2, 3, 4])
        >>> [step.changed for step in path]
        [1.0, 0.0, 1.0]
        """
        answers = read_answers(
            X,
            y,
            totals,
            population_totals,
            domains=fit_params.get("domains"),
            as_shares=fit_params.pop("as_shares", False),
            sample_weight=fit_params.get("sample_weight"),
        )
        classes, targets = answers.labels.classes.tolist(), answers.targets
        index = _place_of(of, classes, targets)
        sizes = np.ones(len(answers.labels.codes)) if answers.weights is None else answers.weights
        free = ~answers.labels.is_labeled
        moving = _Moving(targets, index, float(sizes[free].sum()), is_weighted=answers.weights is not None)
        seeded = clone(self).set_params(random_state=read_seed(self.random_state))
        steps, own = [], None
        for value in (moving.known, *(v for v in moving.values(values) if v != moving.known)):
            given = dict(zip(classes, moving.totals_at(value), strict=True))
            fitted = clone(seeded)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", S2OCTWarning)  # each step says how its fit ended
                fitted.fit(X, y, totals=given, **fit_params)
            codes = fitted.tree_.predict(answers.of_counted(fitted._rows(X))[free])
            own = codes if own is None else own
            steps.append(_step(fitted, value, index, float(sizes[free][codes != own].sum())))
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
    """The totals of a table of which one moves, and the others share what is left."""

    def __init__(self, targets: Targets, index: int, rows: float, *, is_weighted: bool) -> None:
        margin = targets.margins[0]
        self._index, self._rows, self._is_weighted = index, rows, is_weighted
        self._others = np.delete(targets.class_totals(), index)
        self._se = float(margin.se[0, index])
        self.known = self._rounded(float(targets.class_totals()[index]))
        self.interval = float(margin.low[0, index]), float(margin.high[0, index])

    def values(self, given: Sequence[float] | None) -> list[float]:
        """The totals to fit, without repetition."""
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
        """The total of each class, if that of the moving one has this value."""
        rest = self._rows - value
        shares: FloatArray = self._others if self._others.any() else np.ones_like(self._others)
        parts: FloatArray | IntArray = shares * (rest / shares.sum())
        if not self._is_weighted:
            parts = largest_remainder(np.asarray(parts, dtype=float), round(rest))
        return [*parts[: self._index].tolist(), value, *parts[self._index :].tolist()]

    def _rounded(self, value: float) -> float:
        return value if self._is_weighted else float(round(value))

"""A table of estimates: one row for each domain and class."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, overload

from s2oct.wording import aligned, amount, printable

METHODS = AUTO, REPLICATES, DIFFERENCE = "auto", "replicates", "difference"
"""Methods: replicates of the fit, the difference estimator, or an automatic choice."""

COLUMNS = {
    "domain": 'The domain; "all" for the whole table.',
    "class": "The class.",
    "estimate": "How many rows of the class the domain has, labeled and unlabeled ones, with weights if there are any.",
    "se": "Standard error of the estimate.",
    "low": "Lower end of the interval.",
    "high": "Upper end of the interval.",
    "share": "The estimate as a share of the rows of the domain.",
    "share_low": "Lower end of its interval.",
    "share_high": "Upper end of its interval.",
    "observed": "Labeled rows of the class.",
    "predicted": "What the estimate adds for the unlabeled rows.",
    "uncorrected": "Labeled rows of the class and unlabeled rows that the tree assigns to it, without a correction.",
    "labeled_alone": "The share of the class among the labeled rows of the domain, times the rows of the domain.",
    "guide": "Labeled rows of the class, plus the guide's probabilities of the unlabeled rows.",
    "least": "Minimum uncorrected count over the fitted tree and near-optimal trees.",
    "most": "Maximum of these counts.",
    "rows": "All rows of the domain, with weights if there are any.",
    "by": "What divides the rows into domains; empty for the whole table.",
}
"""Columns of a table of estimates, in order, with their meanings."""


class Estimates(Sequence[dict[str, Any]]):
    """Estimates of all domains and classes, one row each; ``pandas.DataFrame(estimates)`` makes a table of them.

    Parameters
    ----------
    rows : sequence of dict
        The estimates; the keys are those of ``columns``.
    confidence : float
        Confidence level of the intervals.
    n_replicates : int
        Number of replicates behind the standard errors; 0 for the difference estimator, which uses a formula.
    notes : tuple of str
        Notes for readers of the estimates.
    """

    def __init__(
        self, rows: Sequence[dict[str, Any]], confidence: float, n_replicates: int, notes: tuple[str, ...] = ()
    ) -> None:
        self._rows = tuple(rows)
        self.confidence, self.n_replicates, self.notes = confidence, n_replicates, notes

    @overload
    def __getitem__(self, index: int) -> dict[str, Any]: ...
    @overload
    def __getitem__(self, index: slice) -> Estimates: ...
    def __getitem__(self, index: int | slice) -> dict[str, Any] | Estimates:
        if isinstance(index, slice):
            return Estimates(self._rows[index], self.confidence, self.n_replicates, self.notes)
        return self._rows[index]

    def __len__(self) -> int:
        return len(self._rows)

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns, in order."""
        return tuple(COLUMNS)

    def __str__(self) -> str:
        cells = [
            (printable(row["domain"]), printable(row["class"]), *(amount(row[name]) for name in ("estimate", "se")))
            for row in self._rows
        ]
        intervals = [f"{amount(row['low'])} to {amount(row['high'])}" for row in self._rows]
        lines = aligned([("domain", "class", "estimate", "se"), *cells], n_left=2)
        ends = [f"{100 * self.confidence:g} % interval", *intervals]
        return "\n".join(f"{line}  {end}" for line, end in zip(lines, ends, strict=True))

    def __repr__(self) -> str:
        how = f"from {self.n_replicates} replicates" if self.n_replicates else "by the difference estimator"
        return f"<Estimates of {len(self._rows)} domains and classes {how}>"

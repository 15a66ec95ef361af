"""Labels that are held back: their rows join the unlabeled ones, and the known totals grow by them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from s2oct.arrays import FloatArray, IntArray, ObjectArray
from s2oct.model.labels import Labels
from s2oct.model.targets import Margin, Targets
from s2oct.model.total_forms import WHOLE


@dataclass(frozen=True, eq=False)
class KnownRows:
    """Everything known of the classes of all rows.

    Parameters
    ----------
    labels : Labels
        Classes and codes of all rows.
    targets : Targets
        What is known of the unlabeled rows, in the units of the weights.
    domains : tuple of (str, ndarray of shape (n_rows,))
        For each margin its name and the domain of each row; empty for the whole table.
    weights : ndarray of shape (n_rows,), optional
        Survey weights.
    """

    labels: Labels
    targets: Targets
    domains: tuple[tuple[str, ObjectArray], ...] = ()
    weights: FloatArray | None = None

    def without(self, held: IntArray) -> tuple[FloatArray, dict[str, Any]]:
        """Class indices with NaN for rows without a label or held back, and the keywords of a fit to them."""
        y = np.where(self.labels.is_labeled, self.labels.codes, np.nan)
        y[held] = np.nan
        whole = np.full(len(y), WHOLE, dtype=object)
        divided = [values for _, values in self.domains] or [whole]
        grown = [self._grown(*pair, held) for pair in zip(self.targets.margins, divided, strict=True)]
        keywords: dict[str, Any] = {"totals": grown if len(grown) > 1 else grown[0]}
        if self.domains:
            keywords["domains"] = dict(self.domains)
        else:
            keywords["totals"] = grown[0][WHOLE]
        if self.weights is not None:
            keywords["sample_weight"] = self.weights
        return y, keywords

    def _grown(self, margin: Margin, values: ObjectArray, held: IntArray) -> dict[Any, dict[int, Any]]:
        """Totals of one margin by domain and class index, with the rows held back."""
        n_classes = len(self.labels.classes)
        bounds = {domain: np.array([margin.low[d], margin.high[d]]) for d, domain in enumerate(margin.domains.tolist())}
        for row in held.tolist():
            cell = bounds.setdefault(values[row], np.zeros((2, n_classes)))
            cell[:, self.labels.codes[row]] += 1.0 if self.weights is None else self.weights[row]
        return {
            domain: {k: self._total(*ends) for k, ends in enumerate(cell.T.tolist())} for domain, cell in bounds.items()
        }

    def _total(self, low: float, high: float) -> Any:
        if low != high:
            return low, high
        return low if self.weights is not None else round(low)

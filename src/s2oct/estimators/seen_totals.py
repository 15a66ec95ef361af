"""Every known total beside what the labeled rows alone say of it and what the tree gives."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from s2oct.arrays import BoolArray, FloatArray
from s2oct.certificate.cell import Cell, counted_cells
from s2oct.estimators.fitted import FittedRows
from s2oct.inputs import read_domains, read_weights
from s2oct.model.labels import read_labels
from s2oct.model.totals import Totals, read_targets


@dataclass(frozen=True, eq=False)
class Known:
    """What is known beside rows and labels, as users pass it to ``fit``.

    Attributes
    ----------
    totals, population_totals : mapping, series or data frame, optional
        Totals; by default those that the estimator was fitted with.
    domains : array-like, column name of X, or list of these, optional
        The domain of each row. Without it, totals by domain have no numbers of labeled rows beside them.
    as_shares : bool
        Whether totals are shares of the rows.
    sample_weight : array-like of shape (n_rows,), optional
        Survey weights.
    """

    totals: Totals | None = None
    population_totals: Totals | None = None
    domains: Any = None
    as_shares: bool = False
    sample_weight: Any = None


@dataclass(frozen=True)
class SeenCell:
    """A known total with what the labeled rows of its domain say.

    Attributes
    ----------
    cell : Cell
        What is known, and what the tree assigns.
    size : float
        Unlabeled rows of the domain, or their weight.
    labeled : float or None
        What the labeled rows of the domain alone say: the share of the class among them, times the size of the domain.
        None without labeled rows in the domain, and where the domains or the weights of the rows are not known.
    """

    cell: Cell
    size: float
    labeled: float | None


@dataclass(frozen=True, eq=False)
class SeenTotals:
    """All totals of a fit; none where no total is known.

    Attributes
    ----------
    cells : tuple of SeenCell
        Margin after margin, domain after domain.
    sizes : ndarray of shape (n_rows,) or None
        What each row counts: 1, or its weight; None where the fit had weights that are not given here.
    unit : float
        Mean weight of an unlabeled row; 1 without weights.
    """

    cells: tuple[SeenCell, ...]
    sizes: FloatArray | None
    unit: float = 1.0

    @property
    def is_weighted(self) -> bool:
        """Whether counts are sums of weights."""
        return self.sizes is None or bool((self.sizes != 1).any())

    @property
    def is_plain(self) -> bool:
        """Whether all totals are exact and about the whole table."""
        return all(not seen.cell.domain and seen.cell.low == seen.cell.high for seen in self.cells)

    @property
    def margins(self) -> tuple[tuple[SeenCell, ...], ...]:
        """The cells of each margin."""
        return tuple(tuple(self.cells[i] for i in part) for part in _by_margin([seen.cell for seen in self.cells]))


def see_totals(estimator: Any, rows: FittedRows, X: Any, y: Any, known: Known) -> SeenTotals:
    """Read all totals, as given here or else as in the fit, for the rows of a fit."""
    given = read_weights(known.sample_weight, len(rows.X))
    unit = getattr(estimator.certificate_, "unit", 1.0) if hasattr(estimator, "certificate_") else 1.0
    free = ~rows.is_labeled
    sizes = np.ones(len(rows.X)) if given is None else given
    domains = read_domains(known.domains, X, len(rows.X))
    has_totals = known.totals is not None or known.population_totals is not None
    if has_totals:
        labels = read_labels(y, named=estimator.classes_.tolist())
        targets = read_targets(
            labels,
            known.totals,
            known.population_totals,
            domains=domains,
            as_shares=known.as_shares,
            weights=given,
        )
        cells = counted_cells(targets, rows.predicted[free], sizes[free])
    else:
        cells = _of_fit(estimator, rows)
    is_known = given is not None or unit == 1 or has_totals
    texts = [np.array([str(value) for value in values]) for _, values in domains]
    seen = _seen(cells, rows, sizes if is_known else None, texts)
    return SeenTotals(
        cells=tuple(seen),
        sizes=sizes if is_known else None,
        unit=unit if given is None or not given[free].any() else float(given[free & (given > 0)].mean()),
    )


def _of_fit(estimator: Any, rows: FittedRows) -> tuple[Cell, ...]:
    """The totals of the fit; of an old model file those of its summary."""
    cells: tuple[Cell, ...] = getattr(getattr(estimator, "certificate_", None), "known_cells", ())
    if cells:
        return cells
    summary = getattr(estimator, "data_summary_", None)
    # OCT-H knows no totals and stores zeros.
    if summary is None or sum(summary.totals) != summary.n_unlabeled:
        return ()
    put = np.bincount(rows.predicted[~rows.is_labeled], minlength=rows.n_classes).tolist()
    return tuple(
        Cell("", "", k, total, total, assigned, total)
        for k, (total, assigned) in enumerate(zip(summary.totals, put, strict=True))
    )


def _seen(
    cells: Sequence[Cell], rows: FittedRows, sizes: FloatArray | None, texts: Sequence[Any]
) -> Iterator[SeenCell]:
    """The cells with the numbers of labeled rows, counted anew where domains and weights of the rows are known."""
    for place, margin in enumerate(_by_margin(cells)):
        for index in margin:
            cell = cells[index]
            size = sum(cells[i].assigned for i in margin if cells[i].domain == cell.domain)
            if sizes is None or (cell.domain and place >= len(texts)):
                yield SeenCell(cell, size, None)
                continue
            here = texts[place] == cell.domain if cell.domain else np.ones(len(rows.X), dtype=bool)
            yield _counted(cell, rows, sizes, here)


def _counted(cell: Cell, rows: FittedRows, sizes: FloatArray, here: BoolArray) -> SeenCell:
    """One cell, counted from the rows of its domain."""
    free, known = here & ~rows.is_labeled, here & rows.is_labeled
    size, all_labeled = float(sizes[free].sum()), float(sizes[known].sum())
    assigned = float(sizes[free & (rows.predicted == cell.class_index)].sum())
    labeled = float(sizes[known & (rows.codes == cell.class_index)].sum())
    return SeenCell(replace(cell, assigned=assigned), size, labeled / all_labeled * size if all_labeled else None)


def _by_margin(cells: Sequence[Cell]) -> list[list[int]]:
    """Places of the cells of each margin: a margin ends where a class of a domain comes again."""
    parts: list[list[int]] = []
    met: set[tuple[str, int]] = set()
    for i, cell in enumerate(cells):
        key = cell.domain, cell.class_index
        if not parts or key in met or cell.margin != cells[i - 1].margin:
            parts.append([])
            met = set()
        met.add(key)
        parts[-1].append(i)
    return parts

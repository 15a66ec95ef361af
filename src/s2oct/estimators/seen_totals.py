"""Every known total beside what the labeled rows alone say of it and what the tree gives."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from s2oct.arrays import BoolArray, FloatArray
from s2oct.certificate.cell import Cell, counted_cells
from s2oct.estimators.fitted import FittedRows
from s2oct.inputs import read_domains, read_weights
from s2oct.model.counted import counted_rows
from s2oct.model.estimate import Estimate
from s2oct.model.labels import Labels
from s2oct.model.total_forms import Domains, read_forms
from s2oct.model.total_tables import text_of
from s2oct.model.totals import Totals, read_targets
from s2oct.wording import amount


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

    @property
    def given_of(self) -> str:
        """What the totals count, unless they are counts of the unlabeled rows, as those that a tree meets."""
        of_all = self.population_totals is not None
        if self.as_shares and (of_all or self.totals is not None):
            return "shares of all rows" if of_all else "shares of the unlabeled rows"
        return "all rows" if of_all else ""


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
    given : str
        The total as the user gave it, if this is not what ``cell`` says; empty for a class that follows from others.
    """

    cell: Cell
    size: float
    labeled: float | None
    given: str = ""


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
    given_of : str
        What the totals counted as the user gave them; empty for counts of the unlabeled rows.
    """

    cells: tuple[SeenCell, ...]
    sizes: FloatArray | None
    unit: float = 1.0
    given_of: str = ""

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


def see_totals(estimator: Any, rows: FittedRows, X: Any, known: Known, *, is_of_fit: bool = True) -> SeenTotals:
    """Read all totals for some rows: as given here or else, if the rows are those of the fit, as in the fit."""
    given = read_weights(known.sample_weight, len(rows.X))
    unit = getattr(estimator.certificate_, "unit", 1.0) if hasattr(estimator, "certificate_") else 1.0
    free = ~rows.is_labeled
    sizes = np.ones(len(rows.X)) if given is None else given
    domains = read_domains(known.domains, X, len(rows.X))
    has_totals = known.totals is not None or known.population_totals is not None
    if has_totals:
        positions = counted_rows(given)
        counted = np.arange(len(rows.X)) if positions is None else positions
        targets = read_targets(
            Labels(estimator.classes_, rows.codes[counted]),
            known.totals,
            known.population_totals,
            domains=tuple((name, values[counted]) for name, values in domains),
            as_shares=known.as_shares,
            weights=None if given is None else given[counted],
        )
        unlabeled = counted[free[counted]]
        cells = counted_cells(targets, rows.predicted[unlabeled], sizes[unlabeled])
    else:
        cells = _of_fit(estimator, rows) if is_of_fit else ()
    is_known = given is not None or unit == 1 or has_totals or not is_of_fit
    texts = [np.array([str(value) for value in values]) for _, values in domains]
    seen = tuple(_seen(cells, rows, sizes if is_known else None, texts))
    return SeenTotals(
        cells=_with_given(seen, known, domains, estimator.classes_.tolist()) if known.given_of else seen,
        sizes=sizes if is_known else None,
        unit=unit if given is None or not given[free].any() else float(given[free & (given > 0)].mean()),
        given_of=known.given_of,
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


def _with_given(seen: tuple[SeenCell, ...], known: Known, domains: Domains, classes: list[Any]) -> tuple[SeenCell, ...]:
    """The cells with the totals as they were given."""
    of_all = known.population_totals is not None
    given, name = (known.population_totals, "population_totals") if of_all else (known.totals, "totals")
    forms = [
        {text_of(domain): entries for domain, entries in form.items()}
        for form in read_forms(given, name, domains, classes)
    ]
    places = {i: place for place, part in enumerate(_by_margin([total.cell for total in seen])) for i in part}
    return tuple(
        replace(total, given=_as_given(forms[places[i]], total.cell, classes, as_shares=known.as_shares))
        for i, total in enumerate(seen)
    )


def _as_given(form: Mapping[str, Mapping[Any, Any]], cell: Cell, classes: list[Any], *, as_shares: bool) -> str:
    """A total as text: a number, an interval or an estimate; empty where nothing was given."""
    value = form.get(cell.domain, {}).get(classes[cell.class_index])
    unit, factor = (" %", 100.0) if as_shares else ("", 1.0)

    def number(given: float) -> str:
        return amount(factor * given, 6)

    if isinstance(value, Estimate):
        return f"{number(value.value)} ± {number(value.se)}{unit}"
    if isinstance(value, (tuple, list)):
        low, high = value
        if low is not None and high is not None:
            return f"{number(low)} to {number(high)}{unit}"
        bound = "" if high is None else f"at most {number(high)}{unit}"
        return bound if low is None else f"at least {number(low)}{unit}"
    return "" if value is None or value != value else f"{number(value)}{unit}"


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
